r"""Levels by side: one-sided bounds, and how delta is divided among them.

**A one-sided bound.**  After u pulls of an arm with rewards in [0, 1] and mean :math:`\mu` let L,
KT and :math:`M = \mathrm{KT}/L` be as in `topk.confidence`, :math:`\hat m` the empirical mean, w
the density of Beta(1/2, 1/2) and :math:`F(m) = \frac2\pi\arcsin\sqrt m` its distribution function.
The mixture of the alternatives below m,

.. math:: E(m) = \frac1{F(m)}\int_0^m \frac{L(p)}{L(m)}\,w(p)\,dp, \qquad 0 < m < 1,

is at :math:`m = \mu` an average of supermartingales that start at 1.  It increases with m.
Indeed, with :math:`F(p) = q\,F(m)` it is the average of :math:`L(p)/L(m)` over q in (0, 1), and

.. math:: \frac d{dm}\ln\frac{L(p)}{L(m)} = \frac{u\,w(m)}{F(m)}
   \big[(\hat m-p)\,G(p) - (\hat m-m)\,G(m)\big], \qquad G = \frac F{w\,p\,(1-p)}.

With :math:`p = \sin^2 t`, :math:`G = 2t/(\sin t\cos t)` increases and :math:`(1-p)\,G = 2t\cot t`
decreases.  For :math:`p < m` the bracket is non-negative: if :math:`\hat m \leq p`, since both
factors of :math:`(p-\hat m)\,G(p)` increase; if :math:`p < \hat m \leq m`, since neither term is
negative there; and if :math:`m < \hat m`, since :math:`(\hat m-p)\,G(p)` is the product of
:math:`(\hat m-p)/(1-p)` and :math:`(1-p)\,G(p)`, which both decrease and are positive.

For :math:`m \geq \hat m` the likelihood decreases on [m, 1], so the mixture of the alternatives
above m is at most 1, and :math:`E(m) \geq 1 + (M-1)/F(m)`.  Hence, at every :math:`U \geq \hat m`
with

.. math:: M(U) \geq 1 + F(U)\,(1/\alpha - 1), \tag{1}

E is at least :math:`1/\alpha`, and so it is at all larger m: by Ville's inequality, with
probability :math:`1-\alpha`, :math:`\mu \leq U` for all u at once.  With :math:`g = \sup L/\mathrm
{KT}` let :math:`U_0` solve :math:`u\,\mathrm{kl}(\hat m, U_0) = \ln g + \ln(1/\alpha)`, and
:math:`U_{i+1}` the same with :math:`\ln(1 + F(U_i)(1/\alpha - 1))` for :math:`\ln(1/\alpha)`.
Since F increases, :math:`U_{i+1} \leq U_i`, and each of them satisfies (1).  The bound is
:math:`U_2`; it gains :math:`-\ln F(U)` nats, for example 1.6 at U = 0.1.  Lower bounds are those of
the rewards 1 - x.  For 1/2-sub-Gaussian rewards the mixture over the half line on one side of m has
the mass 1/2 everywhere: :math:`\ln(1/\alpha)` becomes :math:`\ln((1 + 1/\alpha)/2)`.

**Why n one-sided bounds suffice.**  Rank the arms by their means, ties by index; let T be the first
k.  Let the upper bounds of the arms in T hold with levels :math:`\alpha`, and the lower bounds of
the others with levels :math:`\beta`; these are n statements, which fail with probability at most
:math:`k\alpha + (n-k)\beta`.  Suppose that all of them hold and that the returned set A lacks an
arm y with :math:`\mu_y > \mu_x + \epsilon` for some x in A.  Then A is not T; its last-ranked arm a
is outside T, the first-ranked arm b outside A is in T, and

.. math:: \mu_b \leq U_b \leq U_l < L_h + \epsilon \leq L_a + \epsilon \leq \mu_a + \epsilon
   \leq \mu_x + \epsilon < \mu_y \leq \mu_b,

a contradiction.  (This is the idea of LUCB++.)  A share c of delta goes to the k upper bounds, 1 -
c to the n - k lower ones: :math:`\alpha = c\,\delta/k`, :math:`\beta = (1-c)\,\delta/(n-k)`.  Any c
is valid; :math:`c = \sqrt{n-k}/(\sqrt k + \sqrt{n-k})` makes the sum of the half widths of a chosen
arm and another one, which are pulled :math:`t/(2k)` and :math:`t/(2(n-k))` times, about as small as
possible.

**Withdrawals and joins.**  Of each of the two shares of delta, 0.9 is used as above, 0.05 is
reserved for arms that enter or leave the k best, and 0.05 for arms that join.  "Original" arms are
those of the start, n of them; n, k and c remain those of the start.  With :math:`q_m(s) = \frac12
\max(\frac1{s(s+1)}, \frac1m)`, whose sum over s = 1, ..., m is at most 1, the levels are

* upper bounds of original arms :math:`0.9\,c\,\delta/k`; once an unsettled arm has been withdrawn,
  at most :math:`0.05\,c\,\delta\,q_{n-k}(w)` after w withdrawals of original arms;
* lower bounds of original arms :math:`0.9\,(1-c)\,\delta/(n-k)`; once j arms have joined, at most
  :math:`0.05\,(1-c)\,\delta\,q_k(\min(j,k))`;
* bounds of the j-th arm that joins :math:`0.05\,c\,\delta/(j(j+1))` above and
  :math:`0.05\,(1-c)\,\delta/(j(j+1))` below, for rewards from after it joined.

An arm x is *settled* when it is withdrawn if its upper bound is below the lower bounds of k of the
remaining arms.  *Then a certificate for the k best remaining arms is wrong with probability at most
delta, whatever joins or is withdrawn, when, and for whatever reason.*

*Proof.*  Let T' be the k best arms that are present.  The original arms in T' are the best ones
that are present, at least k - j of them: an original arm in T' has one of the first k + w ranks of
the originals, and one outside T' a rank above k - j.  Let G be the event that the upper bounds of
the ranks up to k hold at the first level above, that of rank k + s, s = 1, ..., n - k, at
:math:`0.05\,c\,\delta\,q_{n-k}(s)`, the lower bounds of ranks above k at their first level, that of
rank k - r + 1 at :math:`0.05\,(1-c)\,\delta\,q_k(r)`, and both bounds of all arms that join.  It
fails with probability at most delta.  The levels in force are never larger than those in G when a
bound is needed, and a bound that fails at a smaller level fails at the larger; it remains to show
that no upper bound of a rank above k is needed before an unsettled withdrawal.  On G a settled arm
x is not in T': otherwise one of the k arms, a, is not in T', and :math:`\mu_x \leq U_x < L_a \leq
\mu_a \leq \mu_x`.  So settled withdrawals leave T' as it is, and joins only remove originals from
it.  For the levels in force the argument above applies to the arms present.

**Evidence** is the least delta at which the same bounds are separated.  At a level d an arm counts
as settled if it was settled at d when it was withdrawn: the least such d is kept with each
withdrawal.
"""

import math
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from topk._types import Flags, Floats, Integers
from topk.confidence.kl import (
    TINY,
    ULPS,
    mixture_cost,
    mixture_cost_scalar,
    side_log_ratio,
    side_log_ratio_scalar,
)

KEPT, SPARE = 0.9, 0.05  # shares of delta: of the start, and of each of the two reserves
SLACK = 1e-6  # nats by which a rule's level exceeds that of evidence, which is found by search
MAX_LEVEL = 690.0  # largest ln(1/delta) that is tried, and ...
PRECISION = 1e-7  # ... the precision of the search
NEVER = -1.0  # the level of an arm that was withdrawn unsettled

Ends = Callable[[Floats, Floats], tuple[Floats, Floats]]


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
        ``ends(above, below)`` returns the arms' bounds (n,) at the levels (n,) of each.
    arm, remaining
        The arm, and those that remain.
    """
    if remaining.size < levels.k:
        return NEVER

    def settled(level):
        low, high = ends(levels.above(level), levels.below(level))
        return high[arm] < np.partition(low[remaining], -levels.k)[-levels.k]

    return largest_level(settled)


def largest_level(holds: Callable[[float], bool]) -> float:
    """Return the largest level at which a condition holds that no larger level restores.

    It is `NEVER` if it holds nowhere, and at most `MAX_LEVEL`.
    """
    if not holds(0.0):
        return NEVER
    low, high = 0.0, 1.0
    while holds(high):
        if high == MAX_LEVEL:
            return high
        low, high = high, min(2 * high, MAX_LEVEL)
    while high - low > PRECISION:
        middle = (low + high) / 2
        low, high = (middle, high) if holds(middle) else (low, middle)
    return low


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

    def separated(level):
        low, high = ends(levels.above(level), levels.below(level))
        return high[outside].max() <= low[inside].min() + epsilon

    return math.exp(-max(largest_level(separated), 0.0))


def mixture_ends(pulls: Floats, sums: Floats) -> Ends:
    """Return the function `Ends` of arms with rewards in [0, 1]; (0, 1) without pulls."""
    u, ones = np.maximum(pulls, 1.0), np.where(sums > TINY, sums, 0.0)
    mean, other, cost = ones / u, (u - ones) / u, mixture_cost(u, ones)

    def ends(above, below):
        low = mean * np.exp(-side_log_ratio(u, mean, other, cost, below)) / ULPS
        high = (mean - other * np.expm1(-side_log_ratio(u, other, mean, cost, above))) * ULPS
        return np.where(pulls > 0, low, 0.0), np.where(pulls > 0, np.minimum(high, 1.0), 1.0)

    return ends


def normal_ends(pulls: Floats, sums: Floats, sigma: float) -> Ends:
    """Return the function `Ends` of arms with sigma-sub-Gaussian rewards."""
    u = np.maximum(pulls, 1.0)
    mean = sums / u

    def radius(level):
        most = 2 * (level + np.log1p(np.expm1(-level) / 2)) + np.log1p(u)
        found = sigma * np.sqrt((u + 1) * most) / u * (1 + 1e-12) + (ULPS - 1) * abs(mean)
        return np.where(pulls > 0, found, np.inf)

    return lambda above, below: (mean - radius(below), mean + radius(above))


def mixture_bound(u, ones, level, lower):
    """Return a bound of one arm for numbers, as `mixture_ends` does for arrays; u >= 1.

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
