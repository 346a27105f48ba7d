"""The state of a run of a strategy that sees single rewards, with the methods of `RunState`."""

import copy
from types import SimpleNamespace

import numpy as np

from topk._checks import check_choice, check_integers, refuse
from topk.rules.allocation import spread
from topk.rules.base import BY_BUDGET, BY_RULE, OPEN, RUNNING

MANY = 2**40  # rewards of an arm where they do not run out
MOST_PAIRS = 4  # pairs that share a batch


class NumberedRunState:
    """A run of a `topk.rules.numbered.Numbered`, with the methods of `RunState`.

    Parameters
    ----------
    strategy : topk.rules.numbered.Numbered
        The strategy.
    n : int
        Number of arms.
    withdrawals : int, optional
        Maximum number of withdrawals, if it was given at the start.

    Attributes
    ----------
    table : topk.rules.numbered.RewardTable
        The counted rewards.
    seen : object
        ``pulls`` and ``sums``, (n,): the number of each arm's counted rewards, without missing
        ones, and their sum.
    items : ndarray of int64, shape (n,)
        Number of rewards that each arm has.
    trials : int
        Number of trials of which each reward is the mean.
    spent : int
        Number of trials so far, if it is not that of the counted rewards.
    """

    accepts_unsolicited = True
    bandits = 1

    def __init__(self, strategy, n, withdrawals=None):
        self.strategy, self.withdrawals, (_, n) = strategy, withdrawals, strategy.check_shape(n)
        items = getattr(strategy, "items", None)
        self._begin(n, None if items is None else np.full(n, items), 1)

    def limit(self, items, trials=1):
        """Begin anew, for arms with ``items`` (n,) rewards, each the mean of some trials."""
        self._begin(self.table.n, items, trials)

    def _begin(self, n, items, trials):
        """Begin with an empty table."""
        self.trials, self.spent = trials, 0
        self.items = np.full(n, MANY) if items is None else items
        self.table = self.strategy.table(n, items, self.withdrawals)
        self.seen = SimpleNamespace(
            pulls=np.zeros(n, dtype=np.int64), sums=np.zeros(n), squares=np.zeros(0)
        )
        self.ended, self.new = RUNNING, []

    @property
    def total(self):
        """Number of counted rewards, missing ones included."""
        return int(self.table.size.sum())

    @property
    def active(self):
        """Whether each arm has not been withdrawn, (n,)."""
        return self.table.active

    @property
    def spare(self):
        """Number of trials that the budget leaves."""
        budget = getattr(self.strategy, "budget", None)
        return MANY if budget is None else budget - max(self.spent, self.trials * self.total)

    def ask(self, arms, counts):
        """Write which arms come next, one pull each, into ``arms`` and ``counts``; return how many.

        A pair needs two rewards; at first every arm needs one.
        """
        if self.ended != RUNNING:
            return 0
        begins = (self.table.size == 0).any()
        size = min(self.table.n if begins else 2, self.spare)
        wanted = np.flatnonzero(self.shares(np.zeros_like(self.items), self._left(), size))
        arms[: wanted.size], counts[: wanted.size] = wanted, 1
        return wanted.size

    def shares(self, flight, left, size):
        """Return how many trials of each arm to hand out next, (n,), at most ``size`` together.

        Parameters
        ----------
        flight, left : ndarray of int64, shape (n,)
            Number of each arm's trials that are in flight, and that can still be handed out.
        size : int
            Number of trials.

        Notes
        -----
        No reward is imagined.  Until every arm has one, numbers of rewards are made equal.  Then
        the most wanted pairs get theirs in turn: one pair for each two that are handed out or in
        flight, at most `MOST_PAIRS`.  Of a pair the arm with the fewest rewards on the way is next
        or, where pairs are `aligned`, the one with the fewest altogether.
        """
        shares = self._shares(flight, left, size)
        if (shares > left).any() or shares.sum() > size:
            raise RuntimeError(f"{shares.tolist()} trials are handed out of {left.tolist()}")
        return shares

    def _shares(self, flight, left, size):
        """Return what `shares` returns, which checks it."""
        table, active = self.table, self.table.active
        shares = np.zeros(table.n, dtype=np.int64)
        if (table.size[active] == 0).any():
            have = self.trials * table.size + flight
            return shares + spread(have, np.where(active, left, 0), size)
        width = min(MOST_PAIRS, -(-(size + int(flight.sum())) // 2))
        ahead = (flight + self.trials * table.size * table.aligned).tolist()
        for pairs, most in table.stages(flight // self.trials, left):
            room = np.minimum(most, left - shares).tolist()  # an earlier stage has given some
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
        """Add a batch with one reward of each arm; `update` passes it to the rule."""
        self.new += zip(arms.tolist(), np.array(sums)[:, None], strict=True)

    def update(self, arms=None, surplus=False):
        """Let the rule count new rewards, and determine whether the run has ended."""
        grown, self.new = self.new, []
        self.extend(grown)

    def extend(self, grown):
        """Count further rewards: pairs of an arm and its next ones in [0, 1], nan if missing."""
        self._add(grown)
        self.table.extend(grown)
        self._end()

    def _add(self, grown):
        """Add rewards to pulls and sums."""
        for arm, rewards in grown:
            present = rewards[~np.isnan(rewards)]
            self.seen.pulls[arm] += present.size
            for reward in present.tolist():
                self.seen.sums[arm] += reward

    def _end(self):
        """Set ``ended``: by the rule, by the budget, or open if no reward can change anything."""
        table = self.table
        if self.ended != RUNNING:
            return
        if (table.size[table.active] > 0).all() and table.decided():
            self.ended = BY_RULE
        elif self.spare <= 0:
            self.ended = BY_BUDGET
        elif not self.shares(np.zeros_like(self.items), self._left(), 1).any():
            self.ended = OPEN

    def copy(self):
        """Return a copy of the run, which may continue on its own."""
        other = copy.copy(self)
        pulls, sums = self.seen.pulls.copy(), self.seen.sums.copy()
        other.seen = SimpleNamespace(pulls=pulls, sums=sums, squares=self.seen.squares)
        other.table, other.new = self.table.copy(), [*self.new]
        return other

    def dump(self):
        """Return as JSON values what does not follow from the rewards."""
        return {"size": self.table.size.tolist(), "ended": self.ended, "kept": self.table.kept()}

    def load(self, stored, grown, withdrawn):
        """Count the rewards that a stored run had counted, of all those that are known."""
        size = check_integers(stored["size"], "size", MANY, self.table.n)
        for arm in withdrawn:
            self.table.withdraw(arm)
        counted = {arm: found[: size[arm]] for arm, found in grown}
        if [counted.get(arm, size[:0]).size for arm in range(self.table.n)] != size.tolist():
            refuse("size", size.tolist(), "numbers of known results")
        grown = [*counted.items()]
        self._add(grown)
        self.table.restore(grown, stored["kept"])
        self.ended = check_choice(stored["ended"], "ended", (RUNNING, BY_RULE, BY_BUDGET, OPEN))

    def agrees(self):
        """Return True: whether a run has ended is determined from its rewards."""
        return True

    def recommend(self):
        """Return the set that is recommended now, sorted."""
        return np.sort(self.table.chosen())

    def withdraw(self, arm):
        """Withdraw an arm from the run."""
        self.table.withdraw(arm)
        self._end()
