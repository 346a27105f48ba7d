"""The state of a run of a strategy that sees single cells, with the methods of `RunState`."""

from types import SimpleNamespace

import numpy as np

from topk.engine.allocation import spread
from topk.rules.base import BY_BUDGET, BY_RULE, OPEN, RUNNING

MANY = 2**40  # cells of an arm that can be asked where items do not run out
MOST_PAIRS = 4  # pairs that share a batch


class CellRunState:
    """A run of a `topk.rules.cells.CellStrategy`, with the methods of `RunState`.

    Parameters
    ----------
    strategy : topk.rules.cells.CellStrategy
        The strategy.
    n : int
        Number of arms.
    items : int, or ndarray of int64, shape (n,), optional
        Number of items, or of each arm's cells; None if items do not run out.

    Attributes
    ----------
    table : topk.rules.cells.CellTable
        The counted cells.
    seen : object
        ``pulls`` and ``sums``, (n,): the number of each arm's counted results, without missing
        cells, and their sum.
    """

    accepts_unsolicited = True
    bandits = 1

    def __init__(self, strategy, n, items=None):
        self.strategy, (_, n) = strategy, strategy.check_shape(n)
        self.limit(None if items is None else np.broadcast_to(items, n).astype(np.int64), n)

    def limit(self, items, n=None):
        """Begin with an empty table, for arms with ``items`` (n,) cells each."""
        n = n or self.seen.pulls.size
        self.items = np.full(n, MANY) if items is None else items
        self.table = self.strategy.table(n, items)
        self.seen = SimpleNamespace(
            pulls=np.zeros(n, dtype=np.int64), sums=np.zeros(n), squares=np.zeros(0)
        )
        self.ended, self.new = RUNNING, []

    @property
    def total(self):
        """Number of counted cells, missing ones included."""
        return int(self.table.size.sum())

    @property
    def active(self):
        """Whether each arm has not been withdrawn, (n,)."""
        return self.table.active

    @property
    def spare(self):
        """Number of cells that the budget leaves."""
        budget = getattr(self.strategy, "budget", None)
        return MANY if budget is None else budget - self.total

    def ask(self, arms, counts):
        """Write the next cells, one of an arm, into ``arms`` and ``counts``; return their number.

        A pair needs two cells; at first every arm needs one.
        """
        if self.ended != RUNNING:
            return 0
        begins = (self.table.size == 0).any()
        size = min(self.table.n if begins else 2, self.spare)
        wanted = np.flatnonzero(self.shares(np.zeros_like(self.items), self._left(), size))
        arms[: wanted.size], counts[: wanted.size] = wanted, 1
        return wanted.size

    def shares(self, flight, left, size):
        """Return how many further cells of each arm to hand out, (n,), at most ``size`` together.

        Parameters
        ----------
        flight, left : ndarray of int64, shape (n,)
            Number of each arm's cells that are in flight, and that can still be handed out.
        size : int
            Number of cells, at least 1.

        Notes
        -----
        No result is imagined.  Until every arm has a cell, numbers of cells are made equal.  Then
        the most wanted pairs get cells in turn: one pair for each two cells that are handed out or
        in flight, at most `MOST_PAIRS`.  Of a pair the arm with the fewest cells on the way is
        next or, where pairs are `aligned`, the one with the fewest cells altogether.
        """
        table, active = self.table, self.table.active
        shares = np.zeros(table.n, dtype=np.int64)
        if (table.size[active] == 0).any():
            return shares + spread(table.size + flight, np.where(active, left, 0), size)
        width = min(MOST_PAIRS, -(-(size + int(flight.sum())) // 2))
        ahead = (flight + table.size * table.aligned).tolist()
        for pairs, most in table.stages(flight, left):
            room = most.tolist()
            able = [[arm for arm in pair if arm >= 0] for pair in pairs[:width].tolist()]
            while size > 0 and able:
                able = [found for pair in able if (found := [arm for arm in pair if room[arm] > 0])]
                for pair in able[:size]:
                    arm = min(pair, key=ahead.__getitem__)
                    if room[arm] > 0:
                        shares[arm] += 1
                        ahead[arm] += 1
                        room[arm] -= 1
                        size -= 1
        return shares

    def _left(self):
        return self.items - self.table.size

    def count(self, arms, counts, sums, squares):
        """Add a batch with one cell of each arm; `update` passes it to the rule."""
        self.new += zip(arms.tolist(), np.array(sums)[:, None], strict=True)

    def update(self, arms=None, surplus=False):
        """Let the rule count new cells, and determine whether the run has ended."""
        grown, self.new = self.new, []
        self.extend(grown)

    def extend(self, grown):
        """Count further cells: pairs of an arm and its next cells in [0, 1], nan if missing."""
        for arm, cells in grown:
            present = cells[~np.isnan(cells)]
            self.seen.pulls[arm] += present.size
            for cell in present.tolist():
                self.seen.sums[arm] += cell
        self.table.extend(grown)
        self._end()

    def _end(self):
        """Set ``ended``: by the rule, by the budget, or open if no cell can change anything."""
        table = self.table
        if self.ended != RUNNING:
            return
        if (table.size[table.active] > 0).all() and table.decided():
            self.ended = BY_RULE
        elif self.spare <= 0:
            self.ended = BY_BUDGET
        elif not self.shares(np.zeros_like(self.items), self._left(), 1).any():
            self.ended = OPEN

    def agrees(self):
        """Return True: whether a run has ended is determined from its cells."""
        return True

    def recommend(self):
        """Return the set that is recommended now, sorted."""
        return np.sort(self.table.chosen())

    def withdraw(self, arm):
        """Withdraw an arm from the run."""
        self.table.withdraw(arm)
        self._end()
