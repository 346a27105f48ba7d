"""KL-LUCB's rule on a finite test set with graded cells, which are drawn without replacement."""

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Literal, Self

import numpy as np

from topk._checks import check_choice, check_integers, refuse
from topk._types import Floats, Integers, Whole
from topk.bandits import UNIT_RANGE, RewardRange
from topk.rules.base import BY_BUDGET, BY_RULE, OPEN, RUNNING
from topk.rules.numbered import Numbered, RewardTable
from topk.rules.numbered_state import MANY, NumberedRunState
from topk_eval.pairs import Told
from topk_eval.rows import STEPS, Row

ROUNDING = 1e-12  # of epsilon, against rounding errors of differences of means


@dataclass(frozen=True)
class FiniteBettingLUCB(Numbered):
    r"""The rule of `topk.BettingLUCB` if each arm has N cells in [0, 1], each asked at most once.

    An arm's bounds L and U are those of `topk_eval.rows` with :math:`d = \delta/n` on each side,
    divided by N; :math:`d = \delta/(2n)` in a session that permits withdrawals.  High holds the k
    largest means of cells asked so far, h is its arm with the lowest L, l the arm outside with the
    highest U.  The run ends when :math:`U_l \leq L_h + \epsilon`; otherwise h and l get their next
    cells, unless all their cells are known.

    Parameters
    ----------
    k, epsilon, delta, budget
        As for `topk.BettingLUCB`.
    items : int
        N.

    Notes
    -----
    One side of each row suffices.  Let T* be the true set, ties in favour of the arm with the
    smaller index.  If all lower bounds of arms outside T* and all upper bounds of arms in T* hold,
    which are n events of probability at least :math:`1 - \delta/n` each, then a returned i outside
    T* and a j in T* that is not returned satisfy :math:`\mu_j \leq U_j \leq U_l \leq L_h + \epsilon
    \leq L_i + \epsilon \leq \mu_i + \epsilon`; and every returned i in T* has at least the mean of
    every arm outside T*, so its comparison with a j outside needs no bound, and one with a j in T*
    follows from that of an i outside T*, of which there is one.  Therefore the set is right.  If
    arms may be withdrawn by looking at results, T* is the set of the best arms that are left, and
    which side of a row it needs depends on them: both sides, 2n events, share delta.

    If h and l are known completely, without missing cells, their bounds are their values, and
    :math:`L_h \geq U_l` because h has one of the k largest means: ties are certified, and a run
    without missing cells ends after at most n N cells.  Sums of complete rows are correctly
    rounded, so that equal rows have equal sums whatever their order.  If h and l are known up to
    missing cells and not separated, the run ends undecided ("open").
    """

    k: int
    epsilon: float
    delta: float
    items: int
    budget: Whole | None = None
    stops_by = "intervals"

    def table(
        self, n: int, items: Integers | None, withdrawals: int | None = None,
    ) -> "GradedTable":
        """Return an empty table for n arms with ``items`` (n,) cells each."""
        assert items is not None
        return GradedTable(self, n, items, withdrawals)

    def begin(
        self,
        n: int | tuple[int, int],
        reward_range: RewardRange = UNIT_RANGE,
        *,
        reserve: Literal[1] | tuple[int, int | None] = 1,
        withdrawals: int | None = None,
        normal: bool | None = None,
        rng: np.random.Generator | None = None,
    ) -> "GradedRunState":
        """Return the state of a run that begins; see `topk.Strategy.begin`."""
        return GradedRunState(self.on(reward_range), n, withdrawals)


class GradedTable(RewardTable):
    """The cells of a run of `FiniteBettingLUCB`.

    Attributes
    ----------
    rows : list of pair of Row
        For each arm the row of the lower fills of its cells, and that of 1 minus the upper fills,
        without the cells in ``known``.
    known : list of pair of ndarray
        For each arm the same numbers of the cells that were known at the start and are no draws.
    items : ndarray of int64, shape (n,)
        Number of cells of each arm.
    """

    def __init__(
        self, strategy: FiniteBettingLUCB, n: int, items: Integers, withdrawals: int | None = None,
    ) -> None:
        super().__init__(n)
        self.k, self.epsilon, self.delta = strategy.k, strategy.epsilon, strategy.delta
        self.sides = 2 if withdrawals else 1  # of each row that share delta
        self.items, self._level = items, math.log(self.sides * n / self.delta)
        none = np.zeros(0)
        self.known = [(none, none) for _ in range(n)]
        self.rows = [self._new_rows(arm) for arm in range(n)]
        self.ends = np.zeros((2, n))  # lower and upper bounds of the means
        self.ends[1] = 1.0

    def _new_rows(self, arm):
        """Return both rows of an arm without a draw."""
        size = int(self.items[arm]) - self.known[arm][0].size
        return Row(size, self._level), Row(size, self._level)

    def know(self, arm: int, low: Floats, high: Floats) -> None:
        """Begin an arm with cells that are known and no draws: the others are drawn."""
        self.known[arm] = low, 1 - high
        self.rows[arm] = self._new_rows(arm)
        self._note(arm, low, high)
        self._set_ends(arm)

    def extend(self, grown: Sequence[tuple[int, Floats]]) -> None:
        """Count further cells, nan if they are missing."""
        for arm, cells in grown:
            self.put(arm, np.nan_to_num(cells, nan=0.0), np.nan_to_num(cells, nan=1.0))

    def put(self, arm: int, low: Floats, high: Floats) -> None:
        """Count further cells by both fills, and update the bounds after each of them."""
        self._extend_row(arm, low, high, Row.extend)
        self._set_ends(arm)

    def _extend_row(self, arm, low, high, how):
        """Add cells to both rows of an arm; rows of a copied table are copied first."""
        self.rows[arm] = (self.rows[arm][0].copy(), self.rows[arm][1].copy())
        for row, side in zip(self.rows[arm], (low, 1 - high), strict=True):
            how(row, side)
        self._note(arm, low, high)

    def _note(self, arm, low, high):
        """Add cells to the numbers of those that are told, and of those that have failed."""
        self.size[arm] += low.size
        self.missing[arm] += (low < high).sum()

    def copy(self) -> Self:
        """Return a copy, which may change."""
        other = super().copy()
        other.rows, other.known = [*self.rows], [*self.known]
        return other

    def kept(self) -> list[int]:
        """Return the bound of each row in steps."""
        return [row.step for rows in self.rows for row in rows]

    def restore_fills(
        self, cells: Sequence[tuple[int, Floats, Floats]], kept: Sequence[int]
    ) -> None:
        """Count the cells of a stored run by both fills, with its bounds."""
        steps = check_integers(kept, "kept", STEPS, 2 * self.n).reshape(-1, 2)
        for arm, low, high in cells:
            self._extend_row(arm, low, high, Row.add)
        for arm, rows in enumerate(self.rows):
            for row, step in zip(rows, steps[arm].tolist(), strict=True):
                row.step = step
            self._set_ends(arm)

    def _total(self, arm, side):
        """Return the sum of all cells of an arm so far; correctly rounded if all are known."""
        row, known = self.rows[arm][side], self.known[arm][side]
        if not known.size:
            return row.total
        if row.complete:
            return math.fsum([*known.tolist(), *row.cells.tolist()])
        return self._before(arm, side) + row.total

    def _before(self, arm, side):
        """Return the sum of the cells of an arm that are no draws."""
        return math.fsum(self.known[arm][side].tolist())

    def _set_ends(self, arm):
        """Compute the bounds of an arm's mean; if they have crossed, both are in the middle."""
        items = int(self.items[arm])
        low, other = (self._total(arm, side) if row.complete else self._before(arm, side) + row.low
                      for side, row in enumerate(self.rows[arm]))
        ends = low, items - other
        if self.is_known(arm):
            ends = low, low
        elif ends[0] > ends[1]:
            ends = (sum(ends) / 2,) * 2
        self.ends[:, arm] = ends[0] / items, ends[1] / items

    def is_known(self, arm: int) -> bool:
        """Return whether all cells of an arm are known, and none is missing."""
        return bool(self.size[arm] == self.items[arm] and self.missing[arm] == 0)

    def means(self) -> Floats:
        """Return the mean of each arm's cells, in the middle of their fills; nan without cells."""
        low, high = np.array([[self._total(arm, side) for side in (0, 1)]
                              for arm in range(self.n)]).T
        size = np.maximum(self.size, 1)
        means = np.where(self.missing > 0, (low + self.size - high) / 2, low) / size
        return np.where(self.size > 0, means, np.nan)

    def _sides(self):
        """Return High and the other arms that have not been withdrawn, those at risk first."""
        means = np.where(self.active, np.nan_to_num(self.means(), nan=-1.0), -np.inf)
        order = np.argsort(-means, kind="stable")[: self.active.sum()]
        inside, outside = order[: self.k], order[self.k :]
        inside = inside[np.argsort(self.ends[0, inside], kind="stable")]
        return inside, outside[np.argsort(-self.ends[1, outside], kind="stable")]

    def chosen(self) -> Integers:
        """Return the k arms with the largest means."""
        return self._sides()[0]

    def _excess(self, low, high, epsilon):
        """Return by how much upper bounds exceed lower ones plus epsilon."""
        return self.ends[1, high] - self.ends[0, low] - epsilon - ROUNDING * (epsilon > 0)

    def decided(self) -> bool:
        """Return whether U of l is at most epsilon above L of h, or both are known."""
        inside, outside = self._sides()
        if not outside.size:
            return True
        h, low = inside[0], outside[0]
        known = self.is_known(h) and self.is_known(low)
        return bool(known or self._excess(h, low, self.epsilon) <= 0)

    def stages(self, flight: Integers, left: Integers) -> Iterator[tuple[Integers, Integers]]:
        """Yield h and l, and the next arms at risk, without those that are complete.

        Nothing is wanted if h and l are complete: missing cells leave the set open.
        """
        inside, outside = self._sides()
        h, low = inside[0], outside[0]
        full = self.size >= self.items
        if full[h] and full[low]:
            return
        inside = inside[self._excess(inside, low, self.epsilon) > 0]
        outside = outside[self._excess(h, outside, self.epsilon) > 0]
        pairs = np.full((max(inside.size, outside.size), 2), -1)
        pairs[: inside.size, 0] = np.where(full[inside], -1, inside)
        pairs[: outside.size, 1] = np.where(full[outside], -1, outside)
        yield pairs, left

    def lacking(self) -> Floats:
        """Return by how much bounds of pairs across the boundary overlap beyond epsilon."""
        lacking = np.full((self.n, self.n), -np.inf)
        inside, outside = self._sides()
        excess = self._excess(inside[:, None], outside, self.epsilon)
        known = np.array([self.is_known(arm) for arm in range(self.n)])
        excess = np.where(known[inside][:, None] & known[outside], -np.inf, excess)
        lacking[np.ix_(inside, outside)] = excess
        return np.maximum(lacking, lacking.T)

    def least_epsilon(self) -> float:
        """Return by how much the bounds of l and h overlap, at least 0."""
        inside, outside = self._sides()
        if not outside.size or (self.is_known(inside[0]) and self.is_known(outside[0])):
            return 0.0
        return float(max(self._excess(inside[0], outside[0], 0.0), 0.0))

    def intervals(self, delta: float) -> tuple[Floats, Floats]:
        """Return two-sided intervals of the means from all cells so far, 1 - ``delta`` jointly."""
        level, ends = math.log(2 * self.n / delta), self.ends.copy()
        for arm, rows in enumerate(self.rows):
            if self.size[arm] < self.items[arm]:
                items, left = int(self.items[arm]), rows[0].items
                low, high = (self._before(arm, side) + max(
                    row.total, row.last_step(0, level) / STEPS * left - 1e-9 * left)
                    for side, row in enumerate(rows))
                ends[:, arm] = low / items, 1 - high / items
        return ends[0], ends[1]

    def evidence(self, epsilon: float) -> float:
        r"""Return the smallest delta at which the intervals separate the set up to epsilon.

        Notes
        -----
        If the set is wrong by epsilon, some i outside T* is returned, some j in T* is not, and
        :math:`\mu_j > \mu_i + \epsilon`.  Let f(x) be the smallest capital, over the returned arms
        and times so far, against a mean of less than x, and g(x) the same, over the other arms,
        against a mean of more than :math:`x + \epsilon`.  For every x, i has a mean of less than x
        or j one of more than :math:`x + \epsilon`, or :math:`x = \mu_i`, where the capital against
        :math:`\mu_i` counts.  So one of n supermartingales has reached max over x of min(f, g), and
        n divided by it is a p-value; 2n if arms may be withdrawn.
        """
        inside, outside = self._sides()
        if not outside.size:
            return 0.0

        def at(x):
            """Return ln f and ln g at a mean x."""
            low = min(self._log_capital(arm, 0, x) for arm in inside.tolist())
            return low, min(self._log_capital(arm, 1, x + epsilon) for arm in outside.tolist())

        low, high = sorted((self.ends[0, inside[0]], self.ends[1, outside[0]] - epsilon))
        tried = [at(low), at(high)]
        for _ in range(30):
            middle = (low + high) / 2
            tried.append(at(middle))
            if tried[-1][0] == tried[-1][1] or high - low < 1e-9:
                break
            low, high = (middle, high) if tried[-1][0] > tried[-1][1] else (low, middle)
        best = max(map(min, tried))
        return float(min(1.0, self.sides * self.n * math.exp(-best)))

    def _log_capital(self, arm, side, mean):
        """Return ln of the largest capital so far against all means below ``mean``, or above it.

        It is infinite if no completion of the arm's cells has such a mean.
        """
        row, items, known = self.rows[arm][side], int(self.items[arm]), self.is_known(arm)
        total = self._total(arm, side)
        if side == 0:
            x, none = mean, mean <= total / items or known and mean <= self.ends[0, arm]
        else:
            x, none = 1 - mean, mean >= (items - total) / items
            none = none or known and mean >= self.ends[1, arm]
        if none:
            return math.inf
        return 0.0 if x > 1 else row.largest_log_capital(x * items - self._before(arm, side))

    def withdraw(self, arm: int) -> None:
        """Continue without an arm.

        Raises
        ------
        ValueError
            If one side of each row is used, which suffices only if all arms stay, or if fewer than
            k arms would be left.
        """
        if self.sides == 1:
            raise ValueError(
                "arm: BettingLUCB on a finite test set uses one side of each row, which is valid "
                "only if all arms stay; see withdrawals= of topk_eval.Evaluation"
            )
        if self.active.sum() <= self.k:
            raise ValueError(f"arm: without it fewer than k = {self.k} arms are left")
        self.active[arm] = False


class GradedRunState(NumberedRunState):
    """A run of `FiniteBettingLUCB`, which is told both fills of a cell."""

    table: GradedTable

    def put(self, cells: Sequence[Told]) -> None:
        """Count the next cells of arms; nothing is counted once the run has ended."""
        if self.ended != RUNNING:
            return
        for arm, _, low, high in cells:
            self._sum(arm, low, high)
            self.table.put(arm, low, high)
        self._end()

    def know(self, cells: Sequence[Told]) -> None:
        """Begin with cells that are known and no draws."""
        for arm, _, low, high in cells:
            self._sum(arm, low, high)
            self.table.know(arm, low, high)

    def _sum(self, arm, low, high):
        """Add cells that are known to pulls and sums."""
        self._add([(arm, np.where(low == high, low, np.nan))])

    def load(self, stored: dict[str, Any], cells: Sequence[Told], withdrawn: Sequence[int]) -> None:
        """Count the cells that a stored run had counted, of all those that are known."""
        size = check_integers(stored["size"], "size", MANY, self.table.n) - self.table.size
        for arm in withdrawn:
            self.table.withdraw(arm)
        told = {arm: (low[: size[arm]], high[: size[arm]]) for arm, _, low, high in cells}
        if [told[arm][0].size if arm in told else 0 for arm in range(size.size)] != size.tolist():
            refuse("size", size.tolist(), "numbers of known results")
        for arm, fills in told.items():
            self._sum(arm, *fills)
        self.table.restore_fills([(arm, *fills) for arm, fills in told.items()], stored["kept"])
        self.ended = check_choice(stored["ended"], "ended", (RUNNING, BY_RULE, BY_BUDGET, OPEN))
