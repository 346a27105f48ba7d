"""`Snapshot`: the data of a live study at one moment, with intervals and evidence."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from topk._types import Floats, Integers
from topk.bandits import RewardRange
from topk.confidence import confidence, sides
from topk.confidence.capital import capital_ends, capital_interval
from topk.live.told import named
from topk.rules.ranking import means_of
from topk.rules.strategy import Strategy


@dataclass(frozen=True, eq=False)
class Moment:
    """A copy of a study's data at one moment.

    Arms have numbers 0 to n - 1 here, one bandit after the other.  Rewards and intervals are on
    the strategy's scale: ``reward_range.from_unit(1, x)`` gives the user's units.

    Attributes
    ----------
    strategy, names, layout
        As in `topk.Session`.
    reward_range
        Range of the rewards: their bounds or their sigma.
    delta
        Failure probability of intervals and evidence: the strategy's delta, or 0.05.
    pulls, sums
        Number and sum of all rewards told, shape (n,) each.
    squares
        Upper bounds on the sums of squares, shape (n,); None if evidence does not use squares.
    reward_squares
        Sums of squares in the user's units, shape (n,).  If a sum of several rewards was told
        without squares, the largest possible; with sigma nan.
    counted
        Pulls that the rule has used, shape (n,): ``pulls`` without surplus.
    settled
        Whether the rule has accepted or rejected the arm, or the arm has been withdrawn, shape
        (n,); False for a strategy in plain Python, which keeps no such status.
    in_flight, surplus
        As in `topk.Session`, shape (n,) each.
    withdrawn
        Withdrawn arms, in the order of their withdrawal.
    chosen
        The set that would be returned now, shape (k,) or (M, k), each bandit's own numbers; None
        until every remaining arm has a pull.
    stopped
        ``'rule'``, ``'budget'``, ``'sigma'``, ``'corrected'``, or None while the run continues.
    sigma_test
        Result of the test of sigma, in words; None without sigma.
    most_arms
        Maximum number of arms, those that join included, if given at the start.
    joined
        Number of arms before each join.
    corrections
        As in `topk.Session`.
    log_products
        Logarithms of the products of `topk.confidence.capital`, shape (n, 60), if the strategy uses
        them.
    stops_by
        As in `topk.Strategy`, of the rule for these rewards.
    late
        Whether results that the rule has not asked for have been counted.
    when_settled
        Withdrawn arm -> the level at which it was settled, for rules by sides; see
        `topk.confidence.sides.Levels`.
    withdrawals
        As in `topk.Session`.
    """

    strategy: Strategy
    names: list[str] | None
    layout: int | tuple[int, int]
    reward_range: RewardRange
    delta: float
    pulls: Integers
    sums: Floats
    squares: Floats | None
    reward_squares: Floats
    counted: Integers
    settled: NDArray[np.bool_]
    in_flight: Integers
    surplus: Integers
    withdrawn: tuple[int, ...]
    chosen: Integers | None
    stopped: str | None  # as in `Session`
    sigma_test: str | None
    most_arms: int | None = None
    joined: tuple[int, ...] = ()
    corrections: tuple[tuple[Any, int, float, int, float], ...] = ()
    log_products: Floats | None = None
    stops_by: str | None = None
    late: bool = False
    when_settled: Mapping[int, float] = field(default_factory=dict)
    withdrawals: int | None = None

    @property
    def n(self) -> int:
        """Number of arms, in all bandits together."""
        return self.pulls.size

    @property
    def certified(self) -> bool:
        """Whether the strategy's own rule ended the run, so that its guarantee holds."""
        return self.stopped == "rule"

    @property
    def refuted(self) -> bool:
        """Whether the rewards refute the declared sigma."""
        return self.stopped == "sigma"

    @property
    def void(self) -> bool:
        """Whether nothing is certified any more: sigma is refuted, or results were corrected."""
        return self.stopped in ("sigma", "corrected")

    @property
    def by_intervals(self) -> bool:
        """Whether evidence compares intervals, as the stopping rule does, and not pairs of arms."""
        return self.stops_by == "intervals"

    @property
    def by_sides(self) -> bool:
        """Whether evidence compares one-sided bounds, as the stopping rule does."""
        return self.stops_by == "sides"

    @property
    def shared(self) -> int:
        """Number of arms among which delta is divided."""
        return self.most_arms or self.n

    @cached_property
    def means(self) -> Floats:
        """Mean reward of each arm in the user's units, shape (n,); nan without rewards."""
        return self.reward_range.from_unit(1, means_of(self.pulls, self.sums))

    @property
    def reward_sums(self) -> Floats:
        """Sum of the rewards of each arm in the user's units, shape (n,)."""
        return self.reward_range.from_unit(self.pulls, self.sums)

    def named(self, arms: Integers) -> NDArray[Any]:
        """Return the names of arms, or their numbers if arms have no names."""
        return named(self.names, arms)


@dataclass(frozen=True, eq=False)
class Snapshot(Moment):
    """The data of a session at one moment, with intervals and evidence; see `Moment`.

    `topk.Session.snapshot` makes it.
    """

    give_back: ClassVar[str] = "session.lost(session.names, session.in_flight)"

    @property
    def error(self) -> float:
        """Upper bound on the failure probability, even if joining depended on rewards."""
        if self.most_arms or self.by_sides:
            return self.delta
        costs = map(self.strategy.cost_of_joining, self.joined, (*self.joined[1:], self.n))
        return self.delta * (1 + sum(costs))

    @property
    def interval_error(self) -> float:
        """Upper bound on the probability that one of `intervals` ever misses its mean.

        It holds even if joining depended on rewards.  The intervals of the first arms are at delta
        / n for the n of the start, and those of arms that join at delta / n for the n after that.
        """
        if self.most_arms:
            return self.delta
        after = (*self.joined[1:], self.n)
        pairs = zip(self.joined, after, strict=False)
        return self.delta * (1 + sum((new - old) / new for old, new in pairs))

    @property
    def log_reserve(self) -> float:
        """Increase of the logarithm of a p-value by arms that may still join."""
        if self.most_arms is None or self.by_sides or self.stops_by == "pairs":
            return 0.0
        if self.by_intervals:
            return math.log(self.most_arms / self.n)
        k = self.strategy.k
        now, at_most = (confidence.pair_count(n, k) for n in (self.n, self.most_arms))
        return math.log(at_most / now)

    def pair_form(self, epsilon: float) -> confidence.PairForm | None:
        """Return how a rule by pairs turns them into p-values; None for other rules."""
        if self.stops_by != "pairs":
            return None
        k, listed = self.strategy.k, self.most_arms or self.n
        absent = None if self.withdrawals == 0 else listed - self.n + len(self.withdrawn)
        count = confidence.pair_multiplier(listed, k, epsilon, absent)
        if self.most_arms and epsilon > 0:
            count = confidence.pair_count(listed, k)
        by_counts = self.reward_range.bounded and self.squares is None
        share = confidence.prior_share(epsilon) if by_counts else 1.0
        return confidence.PairForm(count, share, self.late)

    def intervals(self, delta: float | None = None) -> Floats:
        """Return lower and upper confidence bounds of the means, shape (2, n).

        With probability 1 - delta all of them hold at all times; if arms have joined for reasons
        that depend on rewards, see `interval_error`.  They come from `topk.confidence.interval` at
        delta / n (with ``most_arms`` in place of n, if given), and evidence by intervals uses them.

        Parameters
        ----------
        delta
            Failure probability, between 0 and 1; by default the snapshot's.
        """
        if self.void:
            ends = [[0.0], [1.0]] if self.reward_range.bounded else [[-np.inf], [np.inf]]
            return np.full((2, self.n), ends)
        level = (delta or self.delta) / self.shared
        if self.log_products is not None:
            results = self.pulls.astype(float), self.sums, self.log_products
            return np.array(capital_interval(*results, -math.log(level)))
        return np.array(confidence.interval(
            self.pulls, self.sums, level, self.reward_range.sigma, squares=self.squares
        ))

    @cached_property
    def levels(self) -> sides.Levels:
        """How delta is divided among one-sided bounds."""
        gone = {arm: self.when_settled.get(arm, sides.NEVER) for arm in self.withdrawn}
        return sides.Levels(self.n, self.strategy.k, (*self.joined, self.n)[0], gone)

    @cached_property
    def side_ends(self) -> sides.Ends:
        """The arms' one-sided bounds as a function of their levels."""
        pulls = self.pulls.astype(float)
        if self.log_products is not None:
            return capital_ends(pulls, self.sums, self.log_products)
        return confidence.side_ends(pulls, self.sums, self.reward_range.sigma)

    def deciding_ends(self, delta: float | None = None) -> Floats:
        """Return the lower and upper bounds that decide whether two arms are separated, (2, n).

        They are the `intervals`, or the one-sided bounds if the rule stops by these.
        """
        if not self.by_sides or self.void:
            return self.intervals(delta)
        level = -math.log(delta or self.delta)
        return np.array(self.side_ends(self.levels.above(level), self.levels.below(level)))

    def evidence(self, epsilon: float | None = None) -> float:
        """Return a p-value for the hypothesis that ``chosen`` is wrong by epsilon.

        See `topk.Session.evidence`.
        """
        allowed = self.strategy.tolerance if epsilon is None else epsilon
        epsilon = self.reward_range.unit_epsilon(allowed)
        if self.chosen is None or self.void:
            return 1.0
        if self.by_sides:
            return self.evidence_by_sides(epsilon)
        squares = None if self.squares is None else self.squares.reshape(self.layout)
        pulls, sums = self.pulls.reshape(self.layout), self.sums.reshape(self.layout)
        p_value = confidence.found_evidence(
            pulls, sums, self.chosen, epsilon, [*self.withdrawn], self.reward_range.sigma,
            squares=squares, method="intervals" if self.by_intervals else "pairs",
            form=self.pair_form(epsilon),
        )  # fmt: skip
        return min(1.0, p_value * math.exp(self.log_reserve))

    def evidence_by_sides(self, epsilon: float) -> float:
        """Return `evidence` from one-sided bounds, for epsilon on the strategy's scale."""
        inside, outside = np.zeros((2, self.n), dtype=bool)
        inside[self.chosen] = True
        outside[~inside] = True
        outside[[*self.withdrawn]] = False
        if (self.pulls == 0)[inside | outside].any():
            return 1.0
        return sides.evidence(self.levels, self.side_ends, inside, outside, epsilon)

    @property
    def margin(self) -> float:
        """Tolerance of the strategy's rule, on its scale."""
        return self.reward_range.unit_epsilon(self.strategy.tolerance)

    def lacking(self) -> Floats | None:
        """Return what each pair lacks to be separated, (n, n); None if their bounds decide."""
        return None

    def least_epsilon(self) -> float | None:
        """Return the smallest epsilon that is reached, in units of reward; None if it is searched.
        """
        return None

    def more_columns(self) -> dict[str, Any]:
        """Return further columns of a report: name -> values."""
        return {}

    def notes(self) -> list[str]:
        """Return further lines of a summary."""
        return []
