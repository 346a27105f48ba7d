r"""Levels by side: one-sided bounds, and how delta is divided among them.

**A one-sided bound.**  After u pulls of an arm with rewards in [0, 1] and mean :math:`\mu` let L
and KT be as in `topk.confidence.confidence`, :math:`\hat m` the empirical mean,
:math:`g = \sup L/\mathrm{KT}`, and :math:`F(m) = \frac2\pi\arcsin\sqrt m` the distribution function
of the mixture's weights.  Let :math:`U_0 \geq \hat m` solve

.. math:: u\,\mathrm{kl}(\hat m, U_0) = \ln g + \ln\frac1\alpha, \tag{1}

and :math:`U_{i+1}` the same with :math:`\ln(1 + F(U_i)(1/\alpha - 1))` for :math:`\ln(1/\alpha)`.
These decrease with i, and with probability :math:`1-\alpha`, :math:`\mu \leq U_i` for all u at
once.  The bound is :math:`U_2`; it gains :math:`-\ln F(U)` nats, for example 1.6 at U = 0.1.  Lower
bounds are those of the rewards 1 - x.  For 1/2-sub-Gaussian rewards the mixture over the half line
on one side has the mass 1/2 everywhere: :math:`\ln(1/\alpha)` becomes
:math:`\ln((1 + 1/\alpha)/2)`.

**Levels.**  If the arms with the k largest means have upper bounds at :math:`\alpha`, and the other
arms lower bounds at :math:`\beta`, these n bounds suffice for a set of k arms, and they fail with
probability at most :math:`k\alpha + (n-k)\beta`.  A share c of delta goes to the k upper bounds:

.. math:: \alpha = \frac{c\,\delta}k, \quad \beta = \frac{(1-c)\,\delta}{n-k}, \quad
   c = \frac{\sqrt{n-k}}{\sqrt k + \sqrt{n-k}}. \tag{2}

Any c is valid; this one makes the sum of the half widths of a chosen arm and another one, which are
pulled :math:`t/(2k)` and :math:`t/(2(n-k))` times, about as small as possible.

**Withdrawals and joins.**  Of each of the two shares of delta, 0.9 is used as in (2), 0.05 is
reserved for arms that enter or leave the k best, and 0.05 for arms that join.  "Original" arms are
those of the start, n of them; n, k and c remain those of the start.  With

.. math:: q_m(s) = \tfrac12\max\Big(\frac1{s(s+1)}, \frac1m\Big), \tag{3}

whose sum over s = 1, ..., m is at most 1, the levels are

* upper bounds of original arms :math:`0.9\,c\,\delta/k`; once an unsettled arm has been withdrawn,
  at most :math:`0.05\,c\,\delta\,q_{n-k}(w)` after w withdrawals of original arms;
* lower bounds of original arms :math:`0.9\,(1-c)\,\delta/(n-k)`; once j arms have joined, at most
  :math:`0.05\,(1-c)\,\delta\,q_k(\min(j,k))`;
* bounds of the j-th arm that joins :math:`0.05\,c\,\delta/(j(j+1))` above and
  :math:`0.05\,(1-c)\,\delta/(j(j+1))` below, for rewards from after it joined.

An arm is *settled* when it is withdrawn if its upper bound is below the lower bounds of k of the
remaining arms.  Then a certificate for the k best remaining arms is wrong with probability at most
delta, whatever joins or is withdrawn, when, and for whatever reason.

**Evidence** is the least delta at which the same bounds are separated.  At a level d an arm counts
as settled if it was settled at d when it was withdrawn: the least such d is kept with each
withdrawal.

The chapter "KL-LUCB" has the proofs.
"""

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import NamedTuple, TypeVar

import numpy as np

from topk._types import Flags, Floats, Integers
from topk.confidence.kl import TINY, ULPS, mixture_cost_scalar, side_log_ratio_scalar

KEPT, SPARE = 0.9, 0.05  # shares of delta: of the start, and of each of the two reserves
SLACK = 1e-6  # nats by which a rule's level exceeds that of evidence, which is found by search
MAX_LEVEL = 690.0  # largest ln(1/delta) that is tried, and ...
PRECISION = 1e-7  # ... the precision of the search
NEVER = -1.0  # the level of an arm that was withdrawn unsettled

Pair = TypeVar("Pair")


class Ends(NamedTuple):
    """The one-sided bounds of n arms, as functions of their levels ln(1/alpha).

    Parameters
    ----------
    n
        Number of arms.
    low, high
        Functions of arms and a level for each of them, which return the lower, or upper, bounds.
    """

    n: int
    low: Callable[[Integers, Floats], Floats]
    high: Callable[[Integers, Floats], Floats]

    def __call__(self, above: Floats, below: Floats) -> tuple[Floats, Floats]:
        """Return the bounds of all arms, given the levels of their upper and lower bounds."""
        arms = np.arange(self.n)
        return self.low(arms, below), self.high(arms, above)


def share_above(n: int, k: int) -> float:
    """Return c, the share of delta that the upper bounds get."""
    return 1 / (1 + math.sqrt(k / (n - k)))


def reserve_weight(s, m):
    """Return q_m(s); the sum over s = 1, ..., m is at most 1."""
    return max(1 / (s * (s + 1.0)), 1 / m) / 2


@dataclass(frozen=True)
class Levels:
    """How delta is divided among the bounds of the arms that are, or were, in a study.

    Parameters
    ----------
    n
        Number of arms, those that joined or were withdrawn included.
    k
        Number of arms to select.
    first
        Number of arms at the start; the others joined in the order of their numbers.
    withdrawn
        Withdrawn arm -> largest ln(1/d) at which it was settled when it was withdrawn, or `NEVER`.
    """

    n: int
    k: int
    first: int
    withdrawn: dict[int, float]

    def above(self, level: float) -> Floats:
        """Return ln(1/alpha) of the upper bounds at delta = exp(-level), shape (n,)."""
        c = share_above(self.first, self.k)
        found = np.full(self.n, math.log(self.k / (KEPT * c)))
        gone = sum(arm < self.first for arm in self.withdrawn)
        if gone and not self.all_settled(level):
            others = self.first - self.k
            weight = reserve_weight(min(gone, others), others)
            found[:] = np.maximum(found, -math.log(SPARE * c * weight))
        return level + self._with_joined(found, SPARE * c)

    def below(self, level: float) -> Floats:
        """Return ln(1/beta) of the lower bounds at delta = exp(-level), shape (n,)."""
        c, joined = 1 - share_above(self.first, self.k), self.n - self.first
        found = np.full(self.n, math.log((self.first - self.k) / (KEPT * c)))
        if joined:
            weight = reserve_weight(min(joined, self.k), self.k)
            found[:] = np.maximum(found, -math.log(SPARE * c * weight))
        return level + self._with_joined(found, SPARE * c)

    def _with_joined(self, found, share):
        """Write the levels of arms that joined into those of all arms."""
        j = np.arange(1.0, self.n - self.first + 1)
        found[self.first :] = np.log(j * (j + 1) / share)
        return found

    def all_settled(self, level: float) -> bool:
        """Return whether all withdrawn arms were settled at delta = exp(-level)."""
        return all(settled >= level for settled in self.withdrawn.values())


def settled_level(levels: Levels, ends: Ends, arm: int, remaining: Integers) -> float:
    """Return the largest level at which an arm is settled if it is withdrawn now, or `NEVER`.

    Parameters
    ----------
    levels
        Those before the withdrawal.
    ends
        The bounds of the arms.
    arm, remaining
        The arm, and those that remain.
    """
    above, undecided = 0, remaining  # arms that are above at smaller levels, and those that may be

    def settled(level):
        nonlocal above, undecided
        high = ends.high(np.array([arm]), levels.above(level)[[arm]])
        is_above = ends.low(undecided, levels.below(level)[undecided]) > high
        holds = above + is_above.sum() >= levels.k
        if not holds:
            above += is_above.sum()
        undecided = undecided[is_above == holds]  # the search goes up if it holds, otherwise down
        return holds

    return largest_level(settled)


def largest_level(holds: Callable[[float], bool], most: float = MAX_LEVEL) -> float:
    """Return the largest level at which a condition holds that no larger level restores.

    It is `NEVER` if it holds nowhere, and at most ``most``.
    """
    if not holds(0.0):
        return NEVER
    low, high = 0.0, 1.0
    while holds(high):
        if high == most:
            return high
        low, high = high, min(2 * high, most)
    while high - low > PRECISION:
        middle = (low + high) / 2
        low, high = (middle, high) if holds(middle) else (low, middle)
    return low


def level_of_all(
    hardest: Callable[[float], Pair], holds: Callable[[Pair, float], bool], most: float = MAX_LEVEL,
) -> float:
    """Return the `largest_level` at which a condition holds for all pairs of arms.

    It is that of one pair.  A pair that is the hardest at some level is a first guess; the search
    ends when it is the hardest at its own level too.  This looks at all arms only a few times.

    Parameters
    ----------
    hardest
        Returns a pair for which the condition holds at a level only if it holds for all pairs.
    holds
        Whether the condition holds for a pair at a level.
    """
    pair, last = hardest(0.0), math.inf
    while True:  # the level falls each time, also if rounding lets a pair hold at a larger one
        level = largest_level(lambda x: x < last and holds(pair, x), most)  # noqa: B023
        if level == NEVER:
            return level
        pair, last = hardest(level), level
        if holds(pair, level):
            return level


def evidence(
    levels: Levels, ends: Ends, inside: Flags, outside: Flags, epsilon: float,
) -> float:
    """Return the least delta at which the bounds separate a set from the other remaining arms.

    Parameters
    ----------
    levels, ends
        As in `settled_level`.
    inside, outside
        The arms in the set, and the remaining arms outside, shape (n,) each.
    epsilon
        The upper bounds outside may exceed the lower bounds inside by this much.

    Returns
    -------
    float
        At most 1; 0 if there is no arm outside.
    """
    if not outside.any():
        return 0.0

    def low(arms, level):
        return ends.low(arms, levels.below(level)[arms])

    def high(arms, level):
        return ends.high(arms, levels.above(level)[arms])

    def hardest(level):
        chosen, others = np.flatnonzero(inside), np.flatnonzero(outside)
        return chosen[[low(chosen, level).argmin()]], others[[high(others, level).argmax()]]

    def separated(pair, level):
        return bool(high(pair[1], level)[0] <= low(pair[0], level)[0] + epsilon)

    return math.exp(-max(level_of_all(hardest, separated), 0.0))


def mixture_ends(pulls: Floats, sums: Floats) -> Ends:
    """Return the `Ends` of arms with rewards in [0, 1], rounded outwards; (0, 1) without pulls."""
    sums = np.where(sums > TINY, sums, 0.0)

    def end(u, ones, level, lower):
        if u == 0:
            return 0.0 if lower else 1.0
        found = mixture_bound(u, ones, level, lower)
        return found / ULPS if lower else min(found * ULPS, 1.0)

    each = np.vectorize(end, otypes=[float])
    return Ends(
        pulls.size,
        lambda arms, levels: each(pulls[arms], sums[arms], levels, True),
        lambda arms, levels: each(pulls[arms], sums[arms], levels, False),
    )


def normal_ends(pulls: Floats, sums: Floats, sigma: float) -> Ends:
    """Return the `Ends` of arms with sigma-sub-Gaussian rewards, rounded outwards."""
    u = np.maximum(pulls, 1.0)
    mean = sums / u

    def radius(arms, level):
        seen, most = u[arms], 2 * (level + np.log1p(np.expm1(-level) / 2)) + np.log1p(u[arms])
        found = sigma * np.sqrt((seen + 1) * most) / seen * (1 + 1e-12)
        return np.where(pulls[arms] > 0, found + (ULPS - 1) * abs(mean[arms]), np.inf)

    return Ends(
        pulls.size,
        lambda arms, levels: mean[arms] - radius(arms, levels),
        lambda arms, levels: mean[arms] + radius(arms, levels),
    )


def mixture_bound(u, ones, level, lower):
    """Return a bound of one arm with rewards in [0, 1], for numbers; u >= 1.

    It is not rounded outwards: a rule adds `SLACK` to its levels, which is more.
    """
    mean, other, cost = ones / u, (u - ones) / u, mixture_cost_scalar(u, ones)
    if lower:
        return mean * math.exp(-side_log_ratio_scalar(u, mean, other, cost, level))
    return mean - other * math.expm1(-side_log_ratio_scalar(u, other, mean, cost, level))


def normal_bound(u, total, level, lower):
    """Return a bound of one arm with 1/2-sub-Gaussian rewards, for numbers; u >= 1."""
    most = 2 * (level + math.log1p(math.expm1(-level) / 2)) + math.log1p(u)
    radius = math.sqrt((u + 1) * most) / (2 * u)
    return total / u + (-radius if lower else radius)
