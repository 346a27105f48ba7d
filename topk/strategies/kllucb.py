"""KL-LUCB, and what it shares with BettingLUCB: a floor on pulls, and pairs without one arm."""

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np

from topk._checks import check_choice, refuse
from topk._marks import in_loops
from topk._types import Floats, Whole
from topk.confidence.confidence import interval
from topk.confidence.kl import kl_interval_scalar, normal_interval_scalar
from topk.confidence.sides import mixture_bound, mixture_ends, normal_bound, normal_ends
from topk.rules import (
    NO_ARM,
    Arms,
    arm_pulled,
    base,
    clock,
    highest,
    indices,
    inside,
    least_pulled,
    lowest,
    rule,
)
from topk.rules.forms import Ruled
from topk.rules.indices import INSIDE, OUTSIDE
from topk.rules.indices import on_withdraw as withdraw_from_pair
from topk.rules.search.interface import Search
from topk.strategies.by_sides import level_of, note_withdrawal, sides_state
from topk.strategies.lucb1 import Pair

RATES, LEVELS = ("mixture", "published"), ("sides", "arms")


class Floored(Pair):
    """The rule of `KLLUCB` and `BettingLUCB`, as `floor_state` and `sides_state` say.

    With ``floored`` there is a floor on each arm's pulls.  With ``by_sides`` the bounds are those
    of `topk.confidence.sides`, and an arm of the pair whose pull helps little is left out.
    """

    # the searches of `Pair`

    @rule
    def pick(s):
        if s.floored and s.now.fewest < floor(s):
            arm = least_pulled(s)
            s.now.fewest = s.pulls[arm]
            if s.now.fewest < floor(s):
                return arm, NO_ARM
        low, high = lowest(s), highest(s)
        return useful(s, low, high) if s.by_sides else (low, high)


def floor_state(floored):
    """Return what the floor of `Floored` needs: whether there is one, and a bound on all pulls.

    ``fewest`` is a lower bound on the pulls of every arm.
    """
    return {"floored": int(floored), "now": {"fewest": 0}}


def useful(s, low, high):
    """Return the pair without its arm on the smaller side, if that one has been pulled enough.

    For a given sum of the half widths of l and h, the pulls are fewest if N**1.5 has the same sum
    over the chosen arms as over the others: an arm beyond this, with more pulls, is left out.
    """
    arm, other = (low, high) if 2 * s.k <= s.n else (high, low)
    if high == NO_ARM or s.pulls[arm] <= s.pulls[other] or imbalance(s, arm) <= 0:
        return low, high
    return other, NO_ARM


def imbalance_in_loops(s, arm):
    """Return what `imbalance` does: its plain form."""
    same, opposite, side = 0.0, 0.0, inside(s, arm)
    for j in range(s.now.n_active):
        u = float(s.pulls[s.active[j]])
        if inside(s, s.active[j]) == side:
            same += u * math.sqrt(u)
        else:
            opposite += u * math.sqrt(u)
    return same - opposite


@in_loops(imbalance_in_loops)
def imbalance(s, arm):
    """Return the sum of N**1.5 over an arm's side of the boundary minus that over the other.

    Both forms add up the counts in the order of the arms, and so are rounded alike.
    """
    arms = s.active[: s.now.n_active]
    u = s.pulls[arms].astype(np.float64)
    same = inside(s, arms) == inside(s, arm)
    sums = np.where([same, ~same], u * np.sqrt(u), 0.0).cumsum(axis=1)[:, -1]
    return sums[0] - sums[1]


def floor(s):
    """Return the number of pulls below which an arm is pulled instead of the pair."""
    if s.by_sides:
        return math.sqrt(s.now.total / s.n) / 2
    return math.sqrt(s.now.total) - s.n / 2


@dataclass(frozen=True)
class KLLUCB(Floored):
    r"""`LUCB1` with Kullback-Leibler bounds, which need far fewer pulls near 0 and 1.

    ``High`` holds the k largest means, h is its arm with the lowest lower bound L, l the arm
    outside with the highest upper bound U.  The run ends when :math:`U_l - L_h < \epsilon`;
    otherwise both are pulled, as far as this helps.  After u pulls of an arm with mean reward m,

    .. math:: u\,\mathrm{kl}(m, U) = \ln\frac{\sup_p L(p)}{\mathrm{KT}}
       + \ln\Big(1 + F(U')\Big(\frac1\alpha - 1\Big)\Big),
       \qquad \alpha = 0.9\,\frac{c\,\delta}k, \qquad
       c = \frac{\sqrt{n-k}}{\sqrt k + \sqrt{n-k}},

    where kl is the divergence of Bernoulli distributions, F the arcsine distribution, and U' the
    bound with 1 in place of F, improved once; the lower bound is the mirror image, at the level
    :math:`0.9\,(1-c)\,\delta/(n-k)`.  See `topk.confidence.sides`.

    Parameters
    ----------
    k, delta, budget
        As in `LUCB1`.
    epsilon : float
        Tolerance, in [0, 1): with probability 1 - delta no other arm is more than epsilon better
        than a returned one.  Hence the mean of every returned arm is at least the k-th largest
        minus epsilon, and on average the returned arms are at most epsilon below the k best.  With
        0 and a tie at the boundary the run ends only when the budget is spent, or by an error.
    rate : {'mixture', 'published'}
        The bounds that are used: those above, or :math:`u\,\mathrm{kl}(m, q) \leq \beta` with
        :math:`\beta = \ln x + \ln\ln x`, :math:`x = 405.5\,n\,t^{1.1}/\delta`, in round t.  The
        published bounds need several times as many pulls, and change with every round.
    levels : {'sides', 'arms'}
        How the mixture divides delta: among one-sided bounds, those of the chosen arms and those of
        the others, as above, or equally among two-sided intervals, with
        :math:`\beta = \ln(2n\sqrt u/\delta)` on both sides.

    See Also
    --------
    BettingLUCB : for rewards that are not 0 or 1.
    PairedBetting : compares the i-th rewards of arms with each other.
    TopTwo : compares pairs of arms by their likelihoods.
    LUCB1 : the same choice of the pair, with Hoeffding's bounds.

    Notes
    -----
    The rule and the published beta are those of Kaufmann and Kalyanakrishnan (2013).  By sides one
    arm of the pair is left out if 2k is at most n, h has more pulls than l, and the sum of
    :math:`N^{3/2}` over the numbers of pulls N of the chosen arms exceeds that over the others; if
    2k is above n, the roles are exchanged.  If epsilon is 0, the rate is the mixture, and some arm
    has fewer than :math:`\frac12\sqrt{t/n}` of all t pulls (by arms :math:`\sqrt t - n/2`), the arm
    with the fewest pulls is pulled instead.

    By sides the guarantee holds whatever is withdrawn or joins, when and for whatever reason: a
    tenth of delta is reserved for it (`topk.confidence.sides`).  The first withdrawal of an arm
    that is not clearly worse than k others lowers the level of the upper bounds; that of any other
    arm changes nothing.  By arms the two bounds of an arm together fail with probability at most
    delta / n, so the guarantee remains valid when arms are withdrawn: if i is returned and j not,
    :math:`\mu_j \leq U_j \leq U_l < L_h + \epsilon \leq L_i + \epsilon \leq \mu_i + \epsilon`.
    (With the published bounds, which are one-sided, up to n + w are used after w withdrawals: delta
    becomes delta (1 + w/n).)

    With sigma-sub-Gaussian instead of bounded rewards the bounds are those of normal mixtures: by
    sides :math:`m \pm \frac\sigma u\sqrt{(u+1)(2\ln\frac{1 + 1/\alpha}2 + \ln(1+u))}`, by arms
    with :math:`n/\delta` in place of :math:`(1 + 1/\alpha)/2`; the published rate does not allow
    them.  On a finite test set of N items (`topk_eval.TestSet`, or ``start(..., items=N)``) the
    bounds are those of `topk.confidence.finite`, and the run ends when the upper bound of l is at
    most epsilon above the lower bound of h; an arm whose N results are all known is not pulled
    again.  Such a run always ends, after at most n N pulls, and ties are certified.  The
    certificate is about these N items, not about a population from which they come.  Ties go to the
    arm with the lower index.  If a pair would exceed the budget, only h is pulled.

    Examples
    --------
    >>> import topk
    >>> bandit = topk.BernoulliBandit([0.9, 0.8, 0.1, 0.2])
    >>> outcome = topk.run(KLLUCB(2, epsilon=0.1, delta=0.05), bandit, rng=0)
    >>> outcome.selected.tolist(), outcome.certified
    ([0, 1], True)
    """

    k: int
    epsilon: float
    delta: float
    budget: Whole | None = None
    rate: Literal["mixture", "published"] = "mixture"
    levels: Literal["sides", "arms"] = "sides"
    carries = ("settled",)
    checks = Pair.checks | {
        "rate": lambda value, name: check_choice(value, name, RATES),
        "levels": lambda value, name: check_choice(value, name, LEVELS),
    }

    # the published bounds are one-sided
    joins_by = property(
        lambda self: "bounds" if self.rate == "published" else self.stops_by
    )
    stops_by = property(
        lambda self: "sides" if self.rate == "mixture" and self.levels == "sides" else "intervals"
    )

    @property
    def bounded(self) -> bool:  # type: ignore[override]
        """Whether the guarantee requires bounded rewards."""
        return self.rate == "published"

    def without_replacement(self, items: int) -> Ruled:
        """Return the rule for a finite test set, which the published rate does not allow."""
        from topk.strategies.finite_kllucb import FiniteKLLUCB

        if self.rate == "published":
            refuse("items", items, "left out with the published rate of KLLUCB")
        return FiniteKLLUCB(self.k, self.epsilon, self.delta, items, self.budget, self.levels)

    def state(self, arms: Arms) -> dict[str, Any]:
        """Return the constant part of beta, which rate it is, and what `Floored` needs."""
        published = int(self.rate == "published")
        factor = 405.5 if published else 1 if arms.normal else 2
        log_ratio = math.log(factor * arms.n / self.delta)
        found = {"published": published, "normal": int(arms.normal), "log_ratio": log_ratio}
        found |= sides_state(arms, self.k, self.delta, self.stops_by == "sides")
        floored = floor_state(self.epsilon == 0 and not published)
        return found | floored | {"now": found["now"] | floored["now"]}

    def substitutions(self, search: Search | None) -> dict[Callable[..., Any], Callable[..., Any]]:
        """Return the functions that replace those of the form, by the replaced function."""
        found, by_sides = super().substitutions(search), self.stops_by == "sides"
        if self.rate == "published":
            found[indices.scale_grew] = renew
        # a derived class may have its own functions
        if by_sides and found[indices.interval] is KLLUCB.interval:
            found[indices.bound] = bound_by_side
        if not by_sides and found[base.on_withdraw] is KLLUCB.on_withdraw:
            found[base.on_withdraw] = withdraw_from_pair
        return found

    def intervals(self, seen: Any) -> tuple[Floats, Floats]:
        """Return two-sided bounds, all valid at all times with probability 1 - delta."""
        if self.stops_by == "sides":
            return interval(seen.pulls, seen.sums, self.delta / seen.n)
        return super().intervals(seen)

    @rule
    def on_withdraw(s, arm):
        pulls = s.pulls.astype(np.float64)
        ends = normal_ends(pulls, s.sums, 0.5) if s.normal else mixture_ends(pulls, s.sums)
        note_withdrawal(s, arm, ends)

    @rule
    def interval(s, arm):
        if s.by_sides:
            return bound_by_side(s, arm, INSIDE)[0], bound_by_side(s, arm, OUTSIDE)[0]
        u, ones = s.pulls[arm], s.sums[arm]
        if s.normal:
            return normal_interval_scalar(u, ones, s.log_ratio)
        level = published_beta(s) if s.published else s.log_ratio + math.log(u) / 2
        return kl_interval_scalar(u, ones, level)


def bound_by_side(s, arm, side):
    """Return the bound of `KLLUCB` that an arm's side needs, and its weight."""
    u, ones, level = s.pulls[arm], s.sums[arm], level_of(s, arm, side)
    if s.normal:
        return normal_bound(u, ones, level, side == INSIDE), 0.0
    return mixture_bound(u, ones, level, side == INSIDE), 0.0


def published_beta(s):
    """Return the published beta of this round."""
    log = s.log_ratio + 1.1 * math.log(clock(s))
    return log + math.log(log)


def renew(s, scale):
    """Update the search after the bounds of all arms have changed."""
    for j in range(s.now.n_active):
        arm_pulled(s, s.active[j])
