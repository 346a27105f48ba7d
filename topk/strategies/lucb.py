"""LUCB1 and KL-LUCB, which differ in their bounds, and Halving."""

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np

from topk._checks import check_choice, positive, refuse
from topk._types import Floats, Whole
from topk.confidence.confidence import interval
from topk.confidence.kl import kl_interval_scalar, normal_interval_scalar
from topk.confidence.sides import mixture_bound, mixture_ends, normal_bound, normal_ends
from topk.rules import (
    BY_RULE,
    NO_ARM,
    Arms,
    Indices,
    Rounds,
    allocates,
    arm_pulled,
    base,
    clock,
    highest,
    indices,
    inside,
    least_pulled,
    lower,
    lowest,
    rank_fresh,
    reject,
    rule,
    upper,
    whole_pulls,
)
from topk.rules.indices import INSIDE, OUTSIDE
from topk.rules.indices import on_withdraw as withdraw_from_pair
from topk.rules.marks import in_loops
from topk.rules.search.interface import Search
from topk.rules.strategy import Ruled
from topk.strategies.by_sides import level_of, note_withdrawal, sides_state

RATES, LEVELS = ("mixture", "published"), ("sides", "arms")


@dataclass(frozen=True)
class Halving(Rounds):
    r"""Drop the worse half of the arms until k remain.

    In round l = 1, 2, ... every remaining arm is pulled

    .. math:: \Big\lceil \frac{2}{\epsilon_l^2}\ln\frac{3k}{\delta_l} \Big\rceil,
       \qquad \epsilon_l = \frac\epsilon4\Big(\frac34\Big)^{l-1},\quad
       \delta_l = \frac{\delta}{2^l},

    times, and the :math:`\max(\lceil|R|/2\rceil, k)` arms of the remaining set R with the largest
    means in this round are kept.  After :math:`\lceil\log_2(n/k)\rceil` rounds k arms remain.

    Parameters
    ----------
    k : int
        Number of arms to select, from 1 to n - 1.
    epsilon : float
        Per-arm tolerance, in (0, 1): with probability 1 - delta the mean of every returned arm is
        at least the k-th largest minus epsilon.
    delta : float
        Failure probability, in (0, 1).
    budget : int, optional
        Maximum number of pulls, at least n.  If it ends the run inside a round, the remaining pulls
        are spread evenly over the remaining arms (one more for the lower indices), and those with
        the largest means of all their pulls are returned.

    Notes
    -----
    Kalyanakrishnan and Stone (2010); the constants are taken from an independent implementation and
    the proof is ours.  Each round uses only its own rewards, never earlier ones.

    Examples
    --------
    >>> import topk
    >>> bandit = topk.BernoulliBandit([0.9, 0.8, 0.1, 0.2])
    >>> topk.run(Halving(2, epsilon=0.3, delta=0.1), bandit, rng=0).selected.tolist()
    [0, 1]
    """

    k: int
    epsilon: float
    delta: float
    budget: Whole | None = None
    certifies = anytime = fresh = True
    checks = Rounds.checks | {"epsilon": positive}

    def state(self, arms: Arms) -> dict[str, Any]:
        """Return ln(6 k / delta)."""
        return {"log_halving": math.log(6 * self.k / self.delta)}

    @rule
    def share(s):
        """Return the round's pulls of each arm, which are fixed in advance."""
        return halving_share(s.epsilon, s.log_halving, s.now.rounds - 1)

    @rule
    @allocates
    def decide(s):
        """Keep the better half by this round's means, but at least k arms."""
        ranked = rank_fresh(s, 1.0)
        for place in range(max((ranked.size + 1) // 2, s.k), ranked.size):
            reject(s, ranked[place])
        if ranked.size <= 2 * s.k:
            s.now.ended = BY_RULE


def halving_share(eta, log_ratio, level):
    """Return the pulls of each arm at level l = 0, 1, ...; eta_l = (eta/4) (3/4)^l sum to eta."""
    precision = max(eta / 4 * 0.75**level, 1e-100)
    return whole_pulls(2 / precision**2 * (log_ratio + level * math.log(2.0)))


class Pair(Indices):
    """The sampling and stopping rule of `LUCB1`; with a floor, `Floored`, that of `KLLUCB`."""

    certifies = anytime = True
    stops_by = "intervals"

    @rule
    def pick(s):
        return lowest(s), highest(s)

    @rule
    def done(s):
        return upper(s, highest(s)) - lower(s, lowest(s)) < s.epsilon


class Floored(Pair):
    """The rule of `KLLUCB` and `BettingLUCB`, as `floor_state` and `sides_state` say.

    With ``floored`` there is a floor on each arm's pulls.  With ``by_sides`` the bounds are those
    of `topk.confidence.sides`, and an arm of the pair whose pull helps little is left out.
    """

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
class LUCB1(Pair):
    r"""Pull the two arms that are most easily confused across the boundary.

    In round t, with :math:`u_a` pulls of arm a, the radius is

    .. math:: \beta(u, t) = \sqrt{\frac{1}{2u}\ln\frac{k_1 n t^4}{\delta}},
       \qquad k_1 = \tfrac54.

    ``High`` holds the k largest means.  Let h be the arm of High with the lowest lower bound and l
    the arm outside with the highest upper bound.  The run ends when the upper bound of l is less
    than epsilon above the lower bound of h; otherwise both are pulled.

    Parameters
    ----------
    k : int
        Number of arms to select, from 1 to n - 1.
    epsilon : float
        Per-arm tolerance, in [0, 1): with probability 1 - delta the mean of every returned arm is
        at least the k-th largest minus epsilon.  With 0 and a tie at the boundary the run ends only
        when the budget is spent.
    delta : float
        Failure probability, in (0, 1).
    budget : int, optional
        Maximum number of pulls, at least n.  If it ends the run, the k largest means are returned
        without a certificate.

    Notes
    -----
    Kalyanakrishnan, Tewari, Auer and Stone (2012), Section 3; the radius and :math:`k_1` are
    restored from an independent implementation because the formula is lost in our copy of the text.
    t counts rounds; the first test is at t = 1, after one pull of every arm.  In a session with
    unsolicited results, t is at least the largest number of pulls of an arm.  Ties go to the arm
    with the lower index.  If a pair would exceed the budget, only h is pulled.

    Examples
    --------
    >>> import topk
    >>> bandit = topk.BernoulliBandit([0.9, 0.8, 0.1, 0.2])
    >>> outcome = topk.run(LUCB1(2, epsilon=0.1, delta=0.05), bandit, rng=0)
    >>> outcome.selected.tolist(), outcome.certified
    ([0, 1], True)
    """

    k: int
    epsilon: float
    delta: float
    budget: Whole | None = None
    joins_by = "bounds"

    def state(self, arms: Arms) -> dict[str, Any]:
        """Return ln(k_1 n / delta)."""
        return {"log_ratio": math.log(1.25 * arms.n / self.delta)}

    @rule
    def scale(s):
        return scale_in_round(s, clock(s))


def scale_in_round(s, t):
    """Return the radius of an arm after one pull; factored so that large t do not overflow."""
    return math.sqrt((s.log_ratio + 4 * math.log(t)) / 2)


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

    Notes
    -----
    The rule and the published beta are those of Kaufmann and Kalyanakrishnan (2013).  By sides one
    arm of the pair is left out if 2k is at most n, h has more pulls than l, and the sum of
    :math:`N^{3/2}` over the numbers of pulls N of the chosen arms exceeds that over the others; if
    2k is above n, the roles are exchanged.  If epsilon is 0, the rate is the mixture, and some arm
    has fewer than :math:`\frac12\sqrt{t/n}` of all t pulls (by arms :math:`\sqrt t - n/2`), the arm
    with the fewest pulls is pulled instead.

    By sides the guarantee holds whatever is withdrawn or joins, when and for whatever reason: a
    tenth of delta is reserved for it (`topk.confidence.sides`).  The first withdrawal of an arm that is not
    clearly worse than k others lowers the level of the upper bounds; that of any other arm changes
    nothing.  By arms the two bounds of an arm together fail with probability at most delta / n, so
    the guarantee remains valid when arms are withdrawn: if i is returned and j is not,
    :math:`\mu_j \leq U_j \leq U_l < L_h + \epsilon \leq L_i + \epsilon \leq \mu_i + \epsilon`.
    (With the published bounds, which are one-sided, up to n + w are used after w withdrawals: delta
    becomes delta (1 + w/n).)

    With sigma-sub-Gaussian instead of bounded rewards the bounds are those of normal mixtures: by
    sides :math:`m \pm \frac\sigma u\sqrt{(u+1)(2\ln\frac{1 + 1/\alpha}2 + \ln(1+u))}`, by arms
    with :math:`n/\delta` in place of :math:`(1 + 1/\alpha)/2`; the published rate does not allow
    them.  On a finite test set of N items (`topk_eval.TestSet`, or ``start(..., items=N)``) the bounds
    are those of `topk.confidence.finite`, and the run ends when the upper bound of l is at most epsilon above
    the lower bound of h; an arm whose N results are all known is not pulled again.  Such a run
    always ends, after at most n N pulls, and ties are certified.  The certificate is about these N
    items, not about a population from which they come.  Ties go to the arm with the lower index.
    If a pair would exceed the budget, only h is pulled.

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

    def bounds(self, seen: Any) -> tuple[Floats, Floats]:
        """Return two-sided bounds, all valid at all times with probability 1 - delta."""
        if self.stops_by == "sides":
            return interval(seen.pulls, seen.sums, self.delta / seen.n)
        return super().bounds(seen)

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


