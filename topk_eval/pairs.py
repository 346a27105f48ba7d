r"""Pairs of models on a table of shared items that has holes.

The claim "a is better than b" is supported by the e-value of `topk.confidence.paired` over the
first s items of one order, for any s, with each hole filled by the worst for the claim: 0 for a and
1 for b.

**Evidence with holes.**  *With probability at least 1 - d no false claim ever reaches 1/d,
whichever cells are missing, for whatever reason, whenever one looks.*

*Proof.*  Factors of (1) in `topk.confidence.paired` are not negative and rise with :math:`d_i`,
which a filling only lowers.  So each :math:`e(s)` with holes is at most the true one, which depends
on the infinite table of results and not on who asks.  Its maximum over s and all looks is at most
that of one supermartingale, to which Ville's inequality applies.

Holes that are filled later only raise e: the largest value over s of today's table is at least that
of every earlier look, and nothing needs to be remembered.  **Without an order** only e over all
items of the table counts.  The fills are the same, and the proof holds if every item that any model
was asked is in the table, and none was chosen by results on it, or by its content once there were
results.

`PairsOfItems` is the rule of `topk.PairedBetting` on such a table, for an `Evaluation`, for tables
and for ``topk next``: one rule, and one level.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal, NamedTuple, Self

import numpy as np

from topk._checks import check_choice
from topk._types import Flags, Floats, Integers
from topk.bandits import UNIT_RANGE, RewardRange
from topk.confidence.paired import BETS, ROUNDING, WEIGHTS, bet
from topk.rules.base import BY_BUDGET, BY_RULE, OPEN, RUNNING
from topk.rules.numbered_state import NumberedRunState
from topk.strategies.paired import PairedBetting, PairTable

Missing = Literal["worst", "fixed"]  # what an absent cell is
BLOCK = 128  # items multiplied before a logarithm: 2 ** 128 and 0.1 ** 128 are representable
MANY = 1e8  # n^2 N, above which e is computed after every 128th item and the last


class Told(NamedTuple):
    """Further cells of a model: their places in the order, and both fills in [0, 1]."""

    arm: int
    places: Integers
    low: Floats
    high: Floats

    def those(self, its: Flags) -> Told:
        """Return some of the cells."""
        return Told(self.arm, self.places[its], self.low[its], self.high[its])


def mean_differences(low: Floats, high: Floats, asked: Flags, alive: Flags | None = None) -> Floats:
    """Return each model's mean difference to the one with most cells, on cells of both.

    Parameters
    ----------
    low, high : ndarray of float, shape (n, N)
        Fills of the cells; their middle counts.
    asked : ndarray of bool, shape (n, N)
        Cells that were asked.
    alive : ndarray of bool, shape (n,), optional
        Models among which the reference is, by default all.

    Returns
    -------
    ndarray of float, shape (n,)
        nan for a model without cells.  A model that shares no item with the reference is compared
        by its own mean: means over different items mix in how hard the items are.
    """
    middle = (low + high) / 2
    size, total = asked.sum(axis=1), (middle * asked).sum(axis=1)
    most = np.where(True if alive is None else alive, size, -1)
    best = np.flatnonzero(most == most.max())
    reference = best[total[best].argmax()]
    both = asked & asked[reference]
    common = both.sum(axis=1)
    found = ((middle - middle[reference]) * both).sum(axis=1) / np.maximum(common, 1)
    own = total / np.maximum(size, 1)
    found = np.where(common > 0, found, own - own[reference])
    return np.where(size > 0, found, np.nan)


class HoledPairs(PairTable):
    """The cells of a run of `PairsOfItems`, told in any order.

    Parameters
    ----------
    strategy : topk.PairedBetting
        The rule.
    n : int
        Number of models.
    withdrawals : int, optional
        Maximum number of withdrawals.
    size : int
        Number of items.
    first : int
        Number of items of the first block, of which only the whole counts: e over s items counts
        for s of at least ``first``.
    missing : {'worst', 'fixed'}
        What an absent cell is: filled by the worst, or no result of either model of a pair.
    claims : float, optional
        The number that shares delta, if it is not that of `topk.PairedBetting`.

    Attributes
    ----------
    low, high : ndarray of float, shape (n, N)
        Fills of the cells; 0 and 1 where they are absent.  Of independent arms N grows.
    told : ndarray of bool, shape (n, N)
        Cells that are known or have failed.
    """

    def __init__(
        self, strategy: PairedBetting, n: int, withdrawals: int | None = None, size: int = 0,
        first: int = 0, missing: Missing = "worst",
        claims: float | None = None,
    ) -> None:
        super().__init__(strategy, n, withdrawals)
        self.independent = strategy.independent  # arms, which are compared by their own means
        self.first, self.fixed, self.claims = first, missing == "fixed", claims
        if self.race is not None:
            self.race.fixed = self.fixed
        self.low, self.high = np.zeros((n, size)), np.ones((n, size))
        self.told = np.zeros((n, size), dtype=bool)
        self.whole, self.ends = np.zeros(n, dtype=np.int64), np.full(n, first)
        self._done, self._settled = np.zeros((n, n), dtype=np.int64), np.ones((n, n))
        self._scores: Floats | None = None

    def put(self, cells: Sequence[Told]) -> None:
        """Record cells, and update the evidence of all pairs that they concern."""
        changed = []
        for arm, places, low, high in cells:
            if not places.size:
                continue
            self._make_room(int(places.max()) + 1)
            self.low[arm, places], self.high[arm, places] = low, high
            self.told[arm, places] = True
            rest = self.told[arm, self.whole[arm]:]
            self.whole[arm] += rest.size if rest.all() else int(rest.argmin())
            self.ends[arm] = max(self.ends[arm], int(places.max()) + 1)
            self.size[arm] = int(self.told[arm].sum())
            self.missing[arm] = int((self.told[arm] & (self.low[arm] < self.high[arm])).sum())
            changed.append(arm)
        self._scores = None
        if changed:
            self._bet_again(np.unique(changed))

    def _make_room(self, size):
        if (more := room_for(size, self.told.shape[1])):
            self.low, self.high, self.told = (
                np.pad(x, ((0, 0), (0, more)), constant_values=fill)
                for x, fill in ((self.low, 0.0), (self.high, 1.0), (self.told, False)))

    def _bet_again(self, changed):
        """Compute the evidence of all pairs with a changed model, as far as it is new.

        Up to the end of what both models have without a hole the capitals are final; beyond it
        they are computed again with the present fills.  Where a race decides, it reads further
        rows, and pairs need no evidence.
        """
        if self.deciding is not None:
            self._race_on()
            return
        if changed.size == self.n:
            x, y = np.nonzero(~np.eye(self.n, dtype=bool))
        else:
            others = [np.delete(np.arange(self.n), arm) for arm in changed]
            x = np.concatenate([np.repeat(changed, self.n - 1), *others])
            y = np.concatenate([*others, np.repeat(changed, self.n - 1)])
        begin, end = self._done[x, y], np.minimum(self.whole[x], self.whole[y])
        capitals, settled = self.capitals[x, y], self._settled[x, y]
        self._follow(x, y, begin, end, capitals, settled)
        self.capitals[x, y], self._settled[x, y], self._done[x, y] = capitals, settled, end
        self._follow(x, y, end, np.minimum(self.ends[x], self.ends[y]), capitals, settled)
        self.largest[x, y] = settled

    def _race_on(self):
        """Let the race read the rows that are complete."""
        low, high, size = self.low, self.high, self.whole
        if self.fixed:
            low, high = (np.where(self.told, x, np.nan) for x in (low, high))
            size = np.full(self.n, self.told.shape[1])
        self.race.count(low, high, size)

    def _follow(self, x, y, begin, end, capitals, largest):
        """Bet the capitals of pairs on items from ``begin`` to before ``end``, all (P,), in place.

        ``largest`` becomes the largest e-value of those that count.
        """
        live = begin < end
        if not live.any():
            return
        for item in range(int(begin[live].min()), int(end[live].max())):
            now = (begin <= item) & (item < end)
            if self.fixed:
                now &= self.told[x, item] & self.told[y, item]
            its = np.flatnonzero(now)
            part = capitals[its]
            found = bet(part, self.low[x[its], item] - self.high[y[its], item] + self.epsilon)
            capitals[its] = part
            if item + 1 >= self.first:
                largest[its] = np.maximum(largest[its], found)

    def scores(self) -> Floats:
        """Return each model's mean difference to the one with most cells; nan without cells.

        Of independent arms it is their own mean.
        """
        if self._scores is None and self.independent:
            sums = ((self.low + self.high) / 2 * self.told).sum(axis=1)
            self._scores = np.where(self.size > 0, sums / np.maximum(self.size, 1), np.nan)
        elif self._scores is None:
            self._scores = mean_differences(self.low, self.high, self.told, self.active)
        return self._scores

    def extend(self, grown: Sequence[tuple[int, Floats]]) -> None:
        """Count the next cells of models, nan if they failed."""
        told = []
        for arm, cells in grown:
            begin = int(self.size[arm])
            places = np.arange(begin, begin + cells.size)
            told.append(Told(arm, places, np.nan_to_num(cells, nan=0.0),
                             np.nan_to_num(cells, nan=1.0)))
        self.put(told)

    def restore_withdrawals(self, withdrawn: Sequence[int], kept: Sequence[int]) -> None:
        """Continue without models that were withdrawn in a stored run."""
        self.active[[*withdrawn]] = False
        self.void, self._scores = any(kept), None
        if self.race is not None and self.deciding is None:
            self._bet_again(np.arange(self.n))

    def judge(self, low: Floats, high: Floats, told: Flags, largest: Floats) -> None:
        """Take over a table whose e-values have been computed."""
        self.low, self.high, self.told, self.largest = low, high, told, largest
        self.size = told.sum(axis=1)
        self._scores = None

    @property
    def count(self) -> float:
        """The number that shares delta in claims across the boundary."""
        claims = self.claims if self.active.all() else None
        return super().count if claims is None else claims

    def withdraw(self, arm: int) -> None:
        """Continue without a model; see `topk.strategies.paired.PairTable.withdraw`."""
        raced = self.deciding is not None
        super().withdraw(arm)
        self._scores = None
        if raced and self.deciding is None:
            self._bet_again(np.arange(self.n))

    def copy(self) -> Self:
        """Return a copy, which may change."""
        other = super().copy()
        other._scores = None
        return other


class PairsRunState(NumberedRunState):
    """A run of `PairsOfItems`, which is told cells in any order.

    Attributes
    ----------
    late : list of tuple
        Model and place of each cell that was told after the run had ended, and does not count.
    """

    table: HoledPairs

    def limit(self, items: Integers | None, trials: int = 1) -> None:
        """Begin anew, for models with ``items`` (n,) cells each; None for no limit."""
        super().limit(items, trials)
        self.late: list[tuple[int, int]] = []

    def put(self, cells: Sequence[Told]) -> None:
        """Count cells; once the run has ended they are only noted."""
        if self.ended != RUNNING:
            self.late += [(arm, place) for arm, places, _, _ in cells for place in places.tolist()]
            return
        self.table.put(cells)
        self._sum([arm for arm, *_ in cells])
        self._end()

    def _sum(self, arms):
        """Set numbers and sums of known results, which do not depend on the order of arrival."""
        table = self.table
        for arm in {*arms}:
            known = table.told[arm] & (table.low[arm] == table.high[arm])
            self.seen.pulls[arm] = int(known.sum())
            self.seen.sums[arm] = math.fsum(table.low[arm, known].tolist())

    def extend(self, grown: Sequence[tuple[int, Floats]]) -> None:
        """Count the next cells of models, nan if they failed."""
        self.table.extend(grown)
        self._sum([arm for arm, _ in grown])
        self._end()

    def copy(self) -> PairsRunState:
        """Return a copy of the run, which may continue on its own."""
        other = super().copy()
        other.late = [*self.late]
        return other

    def dump(self) -> dict[str, Any]:
        """Return as JSON values what does not follow from the cells."""
        late = [[*cell] for cell in self.late]
        return {"ended": self.ended, "late": late, "kept": self.table.kept()}

    def load(
        self, stored: dict[str, Any], cells: Sequence[Told], withdrawn: Sequence[int]
    ) -> None:
        """Count the cells that a stored run had counted, of all those that are known."""
        self.late = [(int(arm), int(place)) for arm, place in stored["late"]]
        late = {*self.late}
        counted = [told.those(np.array([(told.arm, place) not in late
                                        for place in told.places.tolist()], dtype=bool))
                   for told in cells]
        self.table.put(counted)
        self.table.restore_withdrawals(withdrawn, stored["kept"])
        self._sum([arm for arm, *_ in counted])
        self.ended = check_choice(stored["ended"], "ended", (RUNNING, BY_RULE, BY_BUDGET, OPEN))


@dataclass(frozen=True)
class PairsOfItems(PairedBetting):
    """`topk.PairedBetting` on shared items, told in any order, with holes.

    Parameters
    ----------
    first, missing, claims
        As for `HoledPairs`.
    """

    first: int = 0
    missing: Missing = "worst"
    claims: float | None = None

    def table(
        self, n: int, items: Integers | None, withdrawals: int | None = None,
    ) -> HoledPairs:
        """Return an empty table for n models with ``items`` (n,) cells each."""
        size = 0 if items is None else int(items.max())
        return HoledPairs(self, n, withdrawals, size, self.first, self.missing, self.claims)

    def races(self, n: int) -> bool:
        """Return whether n models race for the best one, or for the worst.

        Of two models the race is the pair's own claim, which may fill absent cells.
        """
        return super().races(n) and n > 2 and self.first == 0 and self.claims is None

    def begin(
        self,
        n: int | tuple[int, int],
        reward_range: RewardRange = UNIT_RANGE,
        *,
        reserve: Literal[1] | tuple[int, int | None] = 1,
        withdrawals: int | None = None,
        normal: bool | None = None,
        rng: np.random.Generator | None = None,
    ) -> PairsRunState:
        """Return the state of a run that begins; see `topk.Strategy.begin`."""
        return PairsRunState(self.on(reward_range), n, withdrawals)


@dataclass(frozen=True)
class PairsOfPulls(PairsOfItems):
    """`topk.PairedBetting` on independent arms, whose rewards are told by number in any order."""

    independent = True


def room_for(size: int, width: int) -> int:
    """Return how many columns a table of ``width`` gets to have ``size``: at least, powers of 2.

    So the width depends on the largest number and not on the order in which numbers came.
    """
    return max(64, 1 << (size - 1).bit_length()) - width if size > width else 0


def log_e_values(
    low: Floats, high: Floats, ends: Integers, epsilon: float = 0.0, asked: Flags | None = None,
    largest: bool = False,
) -> Floats:
    """Return ln e for all ordered pairs of models, rounded down.

    Parameters
    ----------
    low, high : ndarray of float, shape (n, N)
        Fills of the cells.
    ends : ndarray of int64, shape (n,)
        Number of items that count for each model; a pair uses those that count for both.
    epsilon : float
        In [0, 1).
    asked : ndarray of bool, shape (n, N), optional
        Cells that count; by default all up to the ends, as they are filled.
    largest : bool
        Whether the largest value after 128, 256, ... items and at the end is returned, in place of
        that at the end.

    Returns
    -------
    ndarray of float, shape (n, n)
        ``[a, b]`` is for the claim "a is better than b"; 0 on the diagonal.
    """
    n, items = low.shape
    below, above = (np.ascontiguousarray(x.T) for x in (low, high))  # items first: rows are long
    counts = np.arange(items)[:, None] < ends
    counts &= True if asked is None else asked.T
    found = np.zeros((n, n))
    for a in range(n - 1):
        logs = np.zeros((2, BETS.size, n - 1 - a))
        top = np.full((2, n - 1 - a), -np.inf)
        for start in range(0, items, BLOCK):
            rows = slice(start, start + BLOCK)
            both = counts[rows, a : a + 1] & counts[rows, a + 1 :]
            if not both.any():
                continue
            for way, gains in enumerate((below[rows, a : a + 1] - above[rows, a + 1 :],
                                         below[rows, a + 1 :] - above[rows, a : a + 1])):
                gains += epsilon
                gains *= both
                factor = np.empty_like(gains)
                for j, rate in enumerate(BETS):
                    np.multiply(gains, rate, out=factor)
                    factor += 1
                    logs[way, j] += np.log(np.multiply.reduce(factor, axis=0))
            if largest:
                np.maximum(top, _mixed(logs), out=top)
        end = np.maximum(top, 0.0) if largest else _mixed(logs)
        found[a, a + 1 :], found[a + 1 :, a] = end
    return found - ROUNDING * items


def _mixed(logs):
    """Return ln of the weighted sum of capitals, (2, m), of their logarithms (2, J, m)."""
    top = logs.max(axis=1)
    return top + np.log(np.einsum("j,djb->db", WEIGHTS, np.exp(logs - top[:, None])))
