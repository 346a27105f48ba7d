"""LUCB1 and KL-LUCB, which differ in their bounds, and Halving."""

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Literal

from topk._checks import check_choice, positive, refuse
from topk._types import Whole
from topk.kl import kl_log_ratio_scalar
from topk.rules import (
    BY_RULE,
    NO_ARM,
    Arms,
    Indices,
    Rounds,
    allocates,
    arm_pulled,
    clock,
    highest,
    indices,
    lower,
    lowest,
    rank_fresh,
    reject,
    rule,
    upper,
    whole_pulls,
)
from topk.rules.search.interface import Search
from topk.rules.strategy import Ruled

RATES = ("mixture", "published")


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
    """The rule of `Pair` with a floor on each arm's pulls if `floor_state` says so."""

    @rule
    def pick(s):
        if s.floored and s.now.fewest < floor(s):
            arm = least_pulled(s)
            s.now.fewest = s.pulls[arm]
            if s.now.fewest < floor(s):
                return arm, NO_ARM
        return lowest(s), highest(s)


def floor_state(floored):
    """Return what `Floored` needs: whether there is a floor, and a bound on all numbers of pulls.

    ``fewest`` is a lower bound on the pulls of every arm.
    """
    return {"floored": int(floored), "now": {"fewest": 0}}


def floor(s):
    """Return the number of pulls below which an arm is pulled instead of the pair."""
    return math.sqrt(s.now.total) - s.n / 2


def least_pulled(s):
    """Return the arm with the fewest pulls, the first one in case of a tie."""
    arm = s.active[0]
    for j in range(s.now.n_active):
        if s.pulls[s.active[j]] < s.pulls[arm]:
            arm = s.active[j]
    return arm


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

    After u pulls of an arm with mean reward m its bounds are the smallest and the largest q with
    :math:`u\,\mathrm{kl}(m, q) \leq \beta`, where kl is the divergence of Bernoulli distributions
    and

    .. math:: \beta = \ln\frac{2n\sqrt u}{\delta} \quad\text{(mixture)}, \qquad
       \beta = \ln x + \ln\ln x,\; x = \frac{405.5\,n\,t^{1.1}}{\delta} \quad\text{(published)}

    in round t.  ``High`` holds the k largest means, h is its arm with the lowest lower bound, l the
    arm outside with the highest upper bound.  The run ends when the upper bound of l is less than
    epsilon above the lower bound of h; otherwise both are pulled.  If epsilon is 0, the rate is the
    mixture, and some arm has fewer than :math:`\sqrt t - n/2` of all t pulls, the arm with the
    fewest pulls is pulled instead.

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
        The beta that is used.  The published one needs two to three times as many pulls, and
        changes the bounds of all arms in every round.

    Notes
    -----
    The rule and the published beta are those of Kaufmann and Kalyanakrishnan (2013).  The mixture's
    beta is valid for all u at once because :math:`\sup_p L(p) \leq 2\sqrt u\,\mathrm{KT}`, see
    `topk.confidence`: with probability 1 - delta every arm's mean is within its bounds at all
    times.  Then the guarantee holds: if i is returned and j is not,
    :math:`\mu_j \leq U_j \leq U_l < L_h + \epsilon \leq L_i + \epsilon \leq \mu_i + \epsilon`.  The
    two bounds of an arm together fail with probability at most delta / n, so the guarantee remains
    valid for the remaining arms when arms are withdrawn.  (With one-sided bounds, such as the
    published ones, up to n + w bounds are used after w withdrawals: delta becomes delta (1 + w/n).)
    With sigma-sub-Gaussian instead of bounded rewards the bounds are those of the normal mixture,
    :math:`m \pm \frac\sigma u\sqrt{(u+1)(2\ln\frac n\delta + \ln(1+u))}`; the published rate does
    not allow them.  On a finite test set of N items (`topk.TestSet`, or ``start(..., items=N)``)
    the bounds are those of `topk.confidence.interval` with ``items=N`` at delta / n, and the run
    ends when the upper bound of l is at most epsilon above the lower bound of h; an arm whose N
    results are all known is not pulled again.  Such a run always ends, after at most n N pulls, and
    ties are certified.  The certificate is about these N items, not about a population from which
    they come.  Ties go to the arm with the lower index.  If a pair would exceed the budget, only h
    is pulled.

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
    checks = Pair.checks | {"rate": lambda value, name: check_choice(value, name, RATES)}

    # the published bounds are one-sided
    joins_by = property(
        lambda self: "intervals" if self.rate == "mixture" else "bounds"
    )

    @property
    def bounded(self) -> bool:  # type: ignore[override]
        """Whether the guarantee requires bounded rewards."""
        return self.rate == "published"

    def without_replacement(self, items: int) -> Ruled:
        """Return the rule for a finite test set, which the published rate does not allow."""
        from topk.strategies.testset import FiniteKLLUCB

        if self.rate == "published":
            refuse("items", items, "left out with the published rate of KLLUCB")
        return FiniteKLLUCB(self.k, self.epsilon, self.delta, items, self.budget)

    def state(self, arms: Arms) -> dict[str, Any]:
        """Return the constant part of beta, which rate it is, and what `Floored` needs."""
        published = int(self.rate == "published")
        factor = 405.5 if published else 1 if self.normal else 2
        log_ratio = math.log(factor * arms.n / self.delta)
        found = {"published": published, "normal": int(self.normal), "log_ratio": log_ratio}
        return found | floor_state(self.epsilon == 0 and not published)

    def substitutions(self, search: Search | None) -> dict[Callable[..., Any], Callable[..., Any]]:
        """Return the functions that replace those of the form, by the replaced function."""
        renewed = {indices.scale_grew: renew} if self.rate == "published" else {}
        return super().substitutions(search) | renewed

    @rule
    def interval(s, arm):
        u, ones = s.pulls[arm], s.sums[arm]
        mean, other = ones / u, (u - ones) / u
        if s.normal:  # 1/2-sub-Gaussian rewards
            radius = math.sqrt((u + 1) * (2 * s.log_ratio + math.log1p(u))) / (2 * u)
            return mean - radius, mean + radius
        level = (published_beta(s) if s.published else s.log_ratio + math.log(u) / 2) / u
        low = mean * math.exp(-kl_log_ratio_scalar(mean, other, level))
        return low, mean - other * math.expm1(-kl_log_ratio_scalar(other, mean, level))


def published_beta(s):
    """Return the published beta of this round."""
    log = s.log_ratio + 1.1 * math.log(clock(s))
    return log + math.log(log)


def renew(s, scale):
    """Update the search after the bounds of all arms have changed."""
    for j in range(s.now.n_active):
        arm_pulled(s, s.active[j])


