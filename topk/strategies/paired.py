"""Top-K by pairs: arms are compared by their i-th rewards, models by the items that both had."""

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Self

import numpy as np

from topk._checks import refuse
from topk._types import Floats, Integers, Whole
from topk.confidence.paired import BETS, SLACK, bet, set_count
from topk.confidence.race import Race
from topk.rules.numbered import Numbered, RewardTable
from topk.strategies.paired_loops import FLOOR, play_pairs, play_race

MOST_ARMS = 200  # independent ones; memory grows with the square of their number
RESERVED = 0.9  # share of delta for neighbours in the ranking; the rest is for withdrawals


@dataclass(frozen=True)
class PairedBetting(Numbered):
    r"""Compare the i-th rewards of arms with each other, and bet on their differences.

    On a bandit, the i-th rewards of its arms are a row of a table.  On models that are asked the
    same items in one order, the results on an item are; such models are usually right and wrong
    together, and then the difference of two models varies far less than their results.  The
    promise about models is one about *new* items: the mean of a model is that over the population
    from which the items are independent draws.

    For two arms a and b, :math:`e_{ab}` is the e-value of `topk.confidence.paired`, over the rows
    that both have, that a is better, and the largest value so far counts.  High holds the k best
    arms, by their means; for models, by the mean difference to the model with the longest prefix.
    The run ends when :math:`e_{ab}` has reached :math:`C/\delta` for all a in High and all b
    outside, where :math:`C = (n - 1)/0.9` if epsilon is 0 (1 if n is 2) and otherwise
    :math:`k(n - k)`.  Until then the pair with the least e-value gets its next reward: of the two
    arms the one with fewer of them, or both if they are equal.  With t rewards in all, an arm with
    fewer than :math:`\frac12\sqrt{t/n}` comes first, and then an undecided one with less than a
    quarter of the most rewards.

    With k = 1 or n - 1 and epsilon = 0 the arms race for the best one, or for the worst: see
    `topk.confidence.race`, at 0.9 delta.  All arms that are left in the race get the same number of
    rewards, on a bandit the leader some more, and the run ends when a single one is left.

    Parameters
    ----------
    k : int
        Number of arms to select.
    epsilon : float
        Tolerance, in [0, 1), in units of the rewards: with probability 1 - delta no other arm is
        more than epsilon better than a selected one.  With 0 and a tie at the boundary a run ends
        only with its budget or its items.
    delta : float
        Probability of an error, in (0, 1).
    budget : int, optional
        Maximum number of rewards, at least n.  If it ends the run, there is no certificate.
    race : bool
        Whether arms race where k is 1 or n - 1 and epsilon is 0; otherwise pairs decide there, too.

    See Also
    --------
    KLLUCB : for rewards 0 and 1 without numbers.
    BettingLUCB : for other rewards without numbers.

    Notes
    -----
    *On a bandit* rewards of an arm must be independent draws, and arms independent of each other:
    then which of them are drawn, and when, changes nothing about their table.  (Pairs, not the
    race, remain valid for arms whose i-th rewards depend on each other.)  What counts is the number
    of a reward, not the order in which results arrive; so `topk.Session`, which counts results as
    they arrive, refuses this strategy.  For 0/1 rewards :math:`e_{ab}` depends on how often only a
    and how often only b is 1: it is a test of two proportions (Wald 1947), in which the common
    height of the means costs nothing.  On ladders of 8 to 50 arms `KLLUCB` needs about twice as
    many pulls; it needs no numbers of rewards.  Where pairs decide, a run with a gap of
    more than 0.0001 at the boundary (rewards in [0, 1]) ends with probability 1
    (`topk.confidence.paired`); a race may stay open if the best arm has left it, which has
    probability at most 0.9 delta.  A bandit may have 200 arms.

    *On models* the items must be independent draws of one population; a random order of a finite
    pool is not enough.  The models must not have been made or chosen with results on these items.
    How the lengths of the prefixes are chosen is free, so batches, late results and models that
    catch up are allowed.  A cell that cannot be had counts as 0 for the model that a claim favours
    and as 1 for the other: then the claim holds whatever the reason; in a race the reason must not
    depend on results of later items.  Items that come in clusters, such as questions about one
    document, must be averaged first.

    `topk.confidence.paired` has the proofs.  With epsilon = 0, n - 1 counts the pairs of neighbours
    in the true ranking, and the promise covers every set that is ever named.  These pairs get 0.9
    delta.  If a model is withdrawn, whatever the results so far, others become neighbours; the
    (n - 1)(n - 2)/2 other pairs share the rest of delta, so that from then on
    C = 5 (n - 1)(n - 2).  A race goes on if the model has left it; otherwise all n (n - 1)/2 false
    claims of pairs share the rest of delta, C = 5 n (n - 1), and decide from then on.  A study that
    starts with ``withdrawals=0`` gives neighbours, or the race, all of delta.  With epsilon > 0 no
    model can be withdrawn.

    If items run out before a set is decided, it stays open.  Pairing gains nothing if models err
    independently of each other and many items have been answered by one of them only, since only
    the common prefix counts: then `BettingLUCB` may need fewer cells.  For exactly these items, see
    `topk_eval.TestSet`.

    Cost of a reward: 30 n multiplications, or 15 in a race; memory: 15 n² numbers.

    Examples
    --------
    >>> import numpy as np, topk, topk_eval
    >>> rng = np.random.default_rng(0)
    >>> hard = rng.random(500)
    >>> pool = topk_eval.ItemPool([hard < 0.8, hard < 0.7, hard < 0.6, rng.random(500) < 0.5])
    >>> outcome = topk.run(PairedBetting(2, epsilon=0, delta=0.05), pool, rng=0)
    >>> outcome.selected.tolist(), outcome.certified
    ([0, 1], True)
    >>> coins = topk.BernoulliBandit([0.9, 0.7, 0.5, 0.3])
    >>> outcome = topk.run(PairedBetting(1, epsilon=0, delta=0.05), coins, rng=0)
    >>> outcome.selected.tolist(), outcome.certified
    ([0], True)
    """

    k: int
    epsilon: float
    delta: float
    budget: Whole | None = None
    race: bool = True
    stops_by = "pairs"
    paired = True

    def check_shape(self, shape: int | tuple[int, ...]) -> tuple[int, int]:
        """Return (1, n); refuse many independent arms."""
        bandits, n = super().check_shape(shape)
        if self.independent and n > MOST_ARMS:
            refuse("n", n, f"at most {MOST_ARMS} arms for PairedBetting; KLLUCB takes more")
        return bandits, n

    def races(self, n: int) -> bool:
        """Return whether n arms race for the best one, or for the worst."""
        return bool(self.race) and self.epsilon == 0 and self.k in (1, n - 1)

    def on_arms(self) -> "PairedBetting":
        """Return the strategy for arms whose rewards are independent draws."""
        return PairsOfArms(self.k, self.epsilon, self.delta, self.budget, self.race)

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
    race : topk.confidence.race.Race or None
        The race for the best arm or for the worst, if the rule is one.
    """

    aligned = True

    def __init__(self, strategy: PairedBetting, n: int, withdrawals: int | None = None) -> None:
        super().__init__(n)
        self.k, self.epsilon, self.delta = strategy.k, strategy.epsilon, strategy.delta
        self.all_stay, self.void = withdrawals == 0, False
        self.race: Any = None  # a `Race`, if the rule is one
        if strategy.races(n):
            share = 1.0 if self.all_stay or n == 2 else RESERVED
            self.race = Race(n, self.delta, share, worst=self.k > 1, ahead=strategy.independent)
        self.capitals, self.largest = np.ones((n, n, BETS.size)), np.ones((n, n))
        self._low = np.zeros((n, 64))  # cells by item, 0 where missing, ...
        self._high = np.zeros((n, 64))  # ... and 1 where missing
        self._sums = np.zeros((n, 65))  # of the cells before each item, 1/2 where missing

    @property
    def deciding(self) -> Race | None:
        """The race if it decides; None once an arm that was left in it has been withdrawn."""
        return self.race if not self.void and (self.k == 1 or self.active.all()) else None

    @property
    def count(self) -> float:
        """C, which depends on whether an arm has been withdrawn."""
        n = self.n
        if self.epsilon > 0 or n == 2 or self.all_stay:
            return set_count(n, self.k, self.epsilon)
        if self.race is not None:  # pairs have a tenth of delta
            return 5 * n * (n - 1)
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
        if (race := self.deciding) is not None:
            race.count(self._low, self._high, self.size)

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
        if (race := self.deciding) is not None:
            others = np.flatnonzero(self.active)
            others = others[others != (first := race.leaders()[0])]
            return (np.array([first]), others) if self.k == 1 else (others, np.array([first]))
        scores = np.where(self.active, np.nan_to_num(self.scores(), nan=-3.0), -np.inf)
        order = np.argsort(-scores, kind="stable")[: self.active.sum()]
        return order[: self.k], order[self.k :]

    def chosen(self) -> Integers:
        """Return the k arms with the best scores."""
        return self._sides()[0]

    def decided(self) -> bool:
        """Return whether one arm is left, or all claims have a large enough e-value."""
        if (race := self.deciding) is not None:
            return bool(race.left.sum() == 1)
        return bool((self.largest[np.ix_(*self._sides())] >= self.level).all())

    def stages(self, flight: Integers, left: Integers) -> Iterator[tuple[Integers, Integers]]:
        """Yield the arms below a floor, up to the floor, and then the weakest pairs.

        All arms have at least half the root of the mean number of cells, so that the run ends;
        undecided ones have at least a quarter of the longest prefix, so that it ends soon.
        """
        inside, outside = self._sides()
        found = self.largest[np.ix_(inside, outside)]
        rows, columns = np.nonzero(found < self.level)
        weakest = np.argsort(found[rows, columns], kind="stable")
        undecided = np.union1d(inside[rows], outside[columns])
        have = self.size + flight
        present = have[self.active]
        short = math.ceil(math.sqrt(present.sum() / present.size) / 2) - have
        short[undecided] = np.maximum(
            short[undecided], math.ceil(FLOOR * present.max()) - have[undecided])
        late = np.flatnonzero((short > 0) & self.active)
        yield np.column_stack([late, np.full(late.size, -1)]), np.minimum(left, short)
        pairs = np.column_stack([inside[rows[weakest]], outside[columns[weakest]]])
        yield pairs[(left[pairs] > 0).any(axis=1)], left

    def lacking(self) -> Floats:
        """Return ln of the factor by which e-values of pairs across the boundary are too small."""
        found = np.full((self.n, self.n), -np.inf)
        cross = np.ix_(*self._sides())
        e, level = self.largest[cross], self.level
        if (race := self.deciding) is not None:
            others = self.active.copy()
            others[race.leaders()[0]] = False
            e, level = race.largest[others].reshape(e.shape), race.level
        found[cross] = np.where(e >= level, -np.inf, np.log(level / e))
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
        if (race := self.deciding) is not None:
            return race.evidence()
        least = self.largest[np.ix_(*self._sides())].min(initial=np.inf)  # none with k arms left
        return float(min(1.0, self.count / least))

    def withdraw(self, arm: int) -> None:
        """Continue without an arm; from now on all claims need larger e-values.

        In a race this is so only if the arm is left in it: then the claims of pairs decide.

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
        race = self.deciding
        self.void = self.void or (race is not None and bool(race.left[arm]))
        self.active[arm] = False

    def wanted(
        self, flight: Integers, left: Integers, size: int, trials: int,
    ) -> Integers | None:
        """Return whose trials complete the next rounds of a race; None without one."""
        if (race := self.deciding) is None:
            return None
        return race.wanted(trials * self.size + flight, left, size, trials)

    @property
    def step(self) -> int:
        """The number of cells that a round of a race needs, or a pair."""
        if (race := self.deciding) is None:
            return 2
        return max(1, int(np.maximum(race.needs() - self.size, 0).sum()))

    def copy(self) -> Self:
        """Return a copy, which may change."""
        other = super().copy()
        other.race = None if self.race is None else self.race.copy()
        return other

    def kept(self) -> list[int]:
        """Return whether a race no longer decides, which depends on when an arm was withdrawn."""
        return [] if self.race is None else [int(self.void)]

    def restore(self, grown: Sequence[tuple[int, Floats]], kept: list[int]) -> None:
        """Count the cells of a stored run, in an empty table."""
        self.void = any(kept)
        self.extend(grown)


@dataclass(frozen=True)
class PairsOfArms(PairedBetting):
    """`topk.PairedBetting` for arms whose rewards are independent draws."""

    independent = True

    def table(
        self, n: int, items: Integers | None, withdrawals: int | None = None,
    ) -> "ArmTable":
        """Return an empty table for n arms."""
        return ArmTable(self, n, withdrawals)


class ArmTable(PairTable):
    """The rewards of a run of `PairsOfArms`, of which some may have been drawn ahead.

    Attributes
    ----------
    known : ndarray of int64, shape (n,)
        Number of rewards of each arm that have been drawn.
    totals : ndarray of float, shape (n,)
        Sum of each arm's counted rewards.
    """

    def __init__(
        self, strategy: PairedBetting, n: int, withdrawals: int | None = None,
    ) -> None:
        super().__init__(strategy, n, withdrawals)
        self.known, self.totals = np.zeros(n, dtype=np.int64), np.zeros(n)
        self._order = np.arange(n)  # by means, see `play_pairs`

    def scores(self) -> Floats:
        """Return each arm's own mean; nan without rewards."""
        means = np.full(self.n, np.nan)
        return np.divide(self._totals(), self.size, out=means, where=self.size > 0)

    def _totals(self):
        """Return the sums of counted rewards, told one by one or drawn ahead."""
        return self.totals if self.known.any() else self._sums[np.arange(self.n), self.size]

    def draw_ahead(self, arm: int, rewards: Floats) -> None:
        """Add rewards of an arm, in [0, 1], to those that have been drawn."""
        end = int(self.known[arm]) + rewards.size
        if end > self._low.shape[1]:
            more = max(end, 2 * self._low.shape[1]) - self._low.shape[1]
            self._low = self._high = np.pad(self._low, ((0, 0), (0, more)))
        self._low[arm, self.known[arm] : end] = rewards
        self.known[arm] = end

    @property
    def loop(self) -> Callable[..., int]:
        """The loop that `play` calls."""
        return play_pairs if self.race is None else play_race

    def play(self, run: Callable[..., int], until: int, steps: int, made: Integers) -> int:
        """Make at most ``steps`` pulls of arms whose rewards have been drawn.

        Parameters
        ----------
        run : callable
            What calls the loop, or its compiled form: ``run(loop, *arguments)``.
        until : int
            Total number of pulls at which to stop.
        steps : int
            Most rounds of a race, or pulls.
        made : ndarray of int64, shape (p,)
            Where the arms that are pulled are written by their place in the run; may be empty.

        Returns
        -------
        int
            ``DECIDED``, ``REACHED``, ``GOES_ON``, or the arm that needs a further reward.
        """
        drawn = self._low, self.known, self.size, self.totals
        if (race := self.race) is None:
            pairs = self.capitals, self.largest, self._order
            numbers = self.k, float(self.epsilon), self.level
            return run(self.loop, *drawn, *pairs, *numbers, until, steps, made)
        now = np.array([race.rounds])
        parts = race.used, race.sums, race.capitals, race.largest, race.left, race.left_at, now
        found = run(self.loop, *drawn, *parts, race.worst, race.level, until, steps, made)
        race.rounds, race.counts[:] = int(now[0]), race.used
        return found
