"""Top-K for new items: pairs of models are compared on the items that both have answered."""

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from topk._checks import refuse
from topk._types import Floats, Integers, Whole
from topk.confidence.paired import BETS, SLACK, bet, set_count
from topk.rules.numbered import Numbered, RewardTable

FLOOR = 0.25  # of the longest prefix; shorter ones of undecided arms come first
RESERVED = 0.9  # share of delta for neighbours in the ranking; the rest is for withdrawals


@dataclass(frozen=True)
class PairedBetting(Numbered):
    r"""Ask all models the same items in one order, and bet on the differences of their results.

    The promise is about *new* items: the mean of a model is that over the population from which the
    items are independent draws.  Models are usually right and wrong on the same items; then the
    difference of two models varies far less than their results, and far fewer items separate them.

    Each model has answered a prefix of one common order.  For two models a and b,
    :math:`e_{ab}` is the e-value of `topk.confidence.paired`, over their common prefix, that a is
    better, and the largest value so far counts.  High holds the k best scores; the score of a model
    is its mean difference to the model with the longest prefix, over its own prefix.  The run ends
    when :math:`e_{ab}` has reached :math:`C/\delta` for all a in High and all b outside, where
    :math:`C = (n - 1)/0.9` if epsilon is 0 and otherwise :math:`k(n - k)`.  Until then the pair
    with the least e-value gets its next cell: of the two models the one with the shorter prefix,
    or both if they are equal.  An undecided model with less than a quarter of the longest prefix
    comes first.

    Parameters
    ----------
    k : int
        Number of models to select.
    epsilon : float
        Tolerance, in [0, 1), in units of the results: with probability 1 - delta no other model is
        more than epsilon better than a selected one.  With 0 and a tie at the boundary a run ends
        only with its budget or its items.
    delta : float
        Probability of an error, in (0, 1).
    budget : int, optional
        Maximum number of cells, at least n.  If it ends the run, there is no certificate.

    Notes
    -----
    The items must be independent draws of one population; a random order of a finite pool is not
    enough.  The models must not have been made or chosen with results on these items.  How the
    lengths of the prefixes are chosen is free, so batches, late results and models that catch up
    are allowed.  A cell that cannot be had counts as 0 for the model that a claim favours and as 1
    for the other: then the claim holds whatever the reason.  Items that come in clusters, such as
    questions about one document, must be averaged first.

    `topk.confidence.paired` has the proofs.  With epsilon = 0, n - 1 counts the pairs of neighbours
    in the true ranking, and the promise covers every set that is ever named.  These pairs get 0.9
    delta.  If a model is withdrawn, whatever the results so far, others become neighbours; the
    (n - 1)(n - 2)/2 other pairs share the rest of delta, so that from then on
    C = 5 (n - 1)(n - 2).  A session that starts with ``withdrawals=0`` gives these neighbours all
    of delta.  With epsilon > 0 no model can be withdrawn.

    A run ends with probability 1 if all means are different and items do not run out; with ties
    away from the boundary this is not proved.  If items run out first, the set stays open.

    Pairing gains nothing if models err independently of each other, since only the common prefix
    counts: then `BettingLUCB` needs fewer cells.  For exactly these items, see `topk_eval.TestSet`.

    Cost of a cell: 15 n multiplications; memory: 15 n² numbers.

    Examples
    --------
    >>> import numpy as np, topk, topk_eval
    >>> rng = np.random.default_rng(0)
    >>> hard = rng.random(500)
    >>> pool = topk_eval.ItemPool([hard < 0.8, hard < 0.7, hard < 0.6, rng.random(500) < 0.5])
    >>> outcome = topk.run(PairedBetting(2, epsilon=0, delta=0.05), pool, rng=0)
    >>> outcome.selected.tolist(), outcome.certified
    ([0, 1], True)
    """

    k: int
    epsilon: float
    delta: float
    budget: Whole | None = None
    stops_by = "pairs"
    paired = True

    def table(
        self, n: int, items: Integers | None, withdrawals: int | None = None,
    ) -> "PairTable":
        """Return an empty table for n arms."""
        return PairTable(self, n, withdrawals)


class PairTable(RewardTable):
    """The cells of a run of `PairedBetting`.

    Attributes
    ----------
    capitals : ndarray of float, shape (n, n, 15)
        Capital of each bet on "a is better than b", over the common prefix.
    largest : ndarray of float, shape (n, n)
        The largest e-value so far of "a is better than b".
    """

    aligned = True

    def __init__(self, strategy: PairedBetting, n: int, withdrawals: int | None = None) -> None:
        super().__init__(n)
        self.k, self.epsilon, self.delta = strategy.k, strategy.epsilon, strategy.delta
        self.all_stay = withdrawals == 0
        self.capitals, self.largest = np.ones((n, n, BETS.size)), np.ones((n, n))
        self._low = np.zeros((n, 64))  # cells by item, 0 where missing, ...
        self._high = np.zeros((n, 64))  # ... and 1 where missing
        self._sums = np.zeros((n, 65))  # of the cells before each item, 1/2 where missing

    @property
    def count(self) -> float:
        """C, which depends on whether an arm has been withdrawn."""
        n = self.n
        if self.epsilon > 0 or n == 2 or self.all_stay:
            return set_count(n, self.k, self.epsilon)
        return set_count(n, self.k, 0) / RESERVED if self.active.all() else 5 * (n - 1) * (n - 2)

    @property
    def level(self) -> float:
        """The e-value that each claim across the boundary needs."""
        return self.count / self.delta * SLACK

    def extend(self, grown: Sequence[tuple[int, Floats]]) -> None:
        """Count further cells, and bet on each item that both models of a pair now have."""
        before = self.size.copy()
        items: set[int] = set()
        for arm, cells in grown:
            begin, end = int(self.size[arm]), int(self.size[arm]) + cells.size
            self._make_room(end)
            self._low[arm, begin:end] = low = np.nan_to_num(cells, nan=0.0)
            self._high[arm, begin:end] = high = np.nan_to_num(cells, nan=1.0)
            for item, cell in enumerate(((low + high) / 2).tolist(), begin):
                self._sums[arm, item + 1] = self._sums[arm, item] + cell
            self.size[arm] = end
            self.missing[arm] += np.isnan(cells).sum()
            items.update(range(begin, end))
        for item in sorted(items):
            self._bet_on(item, before)

    def _make_room(self, size):
        if size > self._low.shape[1]:
            more = ((0, 0), (0, max(size, 2 * self._low.shape[1]) - self._low.shape[1]))
            self._low, self._high = np.pad(self._low, more), np.pad(self._high, more)
            self._sums = np.pad(self._sums, more)

    def _bet_on(self, item, before):
        """Bet on an item for all pairs of which both have it now, and not both had it before."""
        have = np.flatnonzero(self.size > item)
        new = have[before[have] <= item]
        if new.size == self.n:  # in place, which is faster
            gains = self._low[:, item, None] - self._high[:, item] + self.epsilon
            np.fill_diagonal(gains, 0.0)
            np.maximum(self.largest, bet(self.capitals, gains), out=self.largest)
            np.fill_diagonal(self.largest, 1.0)  # the weights' sum is rounded
            return
        old = have[before[have] > item]
        first, second = np.triu_indices(new.size, 1)  # pairs of two new cells, each once
        a = np.concatenate([np.repeat(new, old.size), new[first]])
        b = np.concatenate([np.tile(old, new.size), new[second]])
        for x, y in ((a, b), (b, a)):
            capitals = self.capitals[x, y]
            gains = self._low[x, item] - self._high[y, item] + self.epsilon
            self.largest[x, y] = np.maximum(self.largest[x, y], bet(capitals, gains))
            self.capitals[x, y] = capitals

    def scores(self) -> Floats:
        """Return each model's mean difference to the longest prefix; nan without cells."""
        arms, size = np.arange(self.n), self.size
        totals = self._sums[arms, size]
        longest = np.where(self.active, size, -1)
        best = np.flatnonzero(longest == longest.max())
        reference = best[totals[best].argmax()]
        found = (totals - self._sums[reference, np.minimum(size, longest.max())])
        return np.where(size > 0, found / np.maximum(size, 1), np.nan)

    def _sides(self):
        """Return High, best first, and the other arms that have not been withdrawn."""
        scores = np.where(self.active, np.nan_to_num(self.scores(), nan=-3.0), -np.inf)
        order = np.argsort(-scores, kind="stable")[: self.active.sum()]
        return order[: self.k], order[self.k :]

    def chosen(self) -> Integers:
        """Return the k arms with the best scores."""
        return self._sides()[0]

    def decided(self) -> bool:
        """Return whether all claims across the boundary have a large enough e-value."""
        return bool((self.largest[np.ix_(*self._sides())] >= self.level).all())

    def stages(self, flight: Integers, left: Integers) -> Iterator[tuple[Integers, Integers]]:
        """Yield the arms below the floor, up to the floor, and then the weakest pairs."""
        inside, outside = self._sides()
        found = self.largest[np.ix_(inside, outside)]
        rows, columns = np.nonzero(found < self.level)
        weakest = np.argsort(found[rows, columns], kind="stable")
        undecided = np.union1d(inside[rows], outside[columns])
        have = self.size + flight
        short = math.ceil(FLOOR * have[self.active].max()) - have
        late = undecided[short[undecided] > 0]
        yield np.column_stack([late, np.full(late.size, -1)]), np.minimum(left, short)
        pairs = np.column_stack([inside[rows[weakest]], outside[columns[weakest]]])
        yield pairs[(left[pairs] > 0).any(axis=1)], left

    def lacking(self) -> Floats:
        """Return ln of the factor by which e-values of pairs across the boundary are too small."""
        found = np.full((self.n, self.n), -np.inf)
        cross = np.ix_(*self._sides())
        found[cross] = np.log(self.level / self.largest[cross])
        found[cross] = np.where(self.largest[cross] >= self.level, -np.inf, found[cross])
        return np.maximum(found, found.T)

    def least_epsilon(self) -> float:
        """Return the strategy's epsilon if the set is decided, otherwise 1."""
        return self.epsilon if self.decided() else 1.0

    def intervals(self, delta: float) -> tuple[Floats, Floats]:
        """Return nan: the cells of pairs are compared, and single means have no intervals."""
        low, high = np.full((2, self.n), np.nan)
        return low, high

    def evidence(self, epsilon: float) -> float:
        """Return C times the largest 1/e over the claims across the boundary, at most 1.

        Raises
        ------
        ValueError
            If epsilon is not the strategy's: capitals are kept for one epsilon.
        """
        if epsilon != self.epsilon:
            refuse("epsilon", epsilon, f"{self.epsilon}, for which evidence has been collected")
        least = self.largest[np.ix_(*self._sides())].min(initial=np.inf)  # none with k arms left
        return float(min(1.0, self.count / least))

    def withdraw(self, arm: int) -> None:
        """Continue without an arm; from now on all claims need larger e-values.

        Raises
        ------
        ValueError
            If epsilon is positive, or if fewer than k arms would be left.
        """
        if self.epsilon > 0:
            raise ValueError(
                "arm: PairedBetting with epsilon > 0 counts the claims across the boundary of one "
                "fixed set of arms, so none can be withdrawn"
            )
        if self.active.sum() <= self.k:
            raise ValueError(f"arm: without it fewer than k = {self.k} arms are left")
        self.active[arm] = False
