"""LUCB with two kinds of bounds, LUCB1 and KL-LUCB, and Halving, which can guard LUCB1."""

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Literal

from topk._checks import check_choice, check_flag, positive, refuse
from topk.kl import kl_fall_of
from topk.rules import (
    BY_RULE,
    Indices,
    Rounds,
    allocates,
    base,
    highest,
    indices,
    lower,
    lowest,
    moved,
    rank_fresh,
    reject,
    rounds,
    rule,
    upper,
    whole_pulls,
)
from topk.rules.indices import ask as ask_pair
from topk.rules.indices import left as left_pair
from topk.rules.indices import restore as restore_pair
from topk.rules.indices import update as update_pair
from topk.rules.rounds import ask as ask_round
from topk.rules.rounds import open_round
from topk.rules.rounds import update as update_round
from topk.rules.search.interface import Search
from topk.rules.strategy import Ruled

RATES = ("mixture", "published")


@dataclass(frozen=True)
class Halving(Rounds):
    r"""Drop the worse half of the arms until k are left.

    In round l = 1, 2, ... every remaining arm is pulled

    .. math:: \Big\lceil \frac{2}{\epsilon_l^2}\ln\frac{3k}{\delta_l} \Big\rceil,
       \qquad \epsilon_l = \frac\epsilon4\Big(\frac34\Big)^{l-1},\quad
       \delta_l = \frac{\delta}{2^l},

    times, and the :math:`\max(\lceil|R|/2\rceil, k)` arms with the largest means of this
    round are kept, until k are left after :math:`\lceil\log_2(n/k)\rceil` rounds.

    Parameters
    ----------
    k : int
        How many arms are wanted, 1 to n - 1.
    epsilon : float
        Per-arm tolerance, in (0, 1): with probability 1 - delta every returned arm has
        a mean of at least the k-th largest minus epsilon.
    delta : float
        Probability of failure, in (0, 1).
    budget : int, optional
        The most pulls that may be made, at least n.  When it ends the play inside a round,
        what is left is spread evenly over the remaining arms (one more for the lower
        indices), and those with the largest means of all their pulls are returned.

    Raises
    ------
    ValueError
        If a parameter is out of range; ``budget`` is compared with n at `start`.

    Notes
    -----
    Kalyanakrishnan and Stone (2010); the constants are read off an independent
    implementation and the proof is ours.  The rule needs the pulls of a round to be fresh:
    earlier rewards are not looked at again.

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
    budget: int | None = None
    certifies = anytime = fresh = True
    checks = Rounds.checks | {"epsilon": positive}

    def constants(self, n: int) -> dict[str, Any]:
        """Return ln(6 k / delta)."""
        return {"log_halving": math.log(6 * self.k / self.delta)}

    @rule
    def share(s):
        """The round's pulls are fixed beforehand."""
        return halving_share(s.epsilon, s.log_halving, s.now.rounds - 1)

    @rule
    @allocates
    def decide(s):
        """The better half by this round's means is kept, but no fewer than k."""
        ranked = rank_fresh(s, 1.0)
        for place in range(max((ranked.size + 1) // 2, s.k), ranked.size):
            reject(s, ranked[place])
        if ranked.size <= 2 * s.k:
            s.now.ended = BY_RULE


def halving_share(eta, log_ratio, level):
    """Pulls of each arm at level l = 0, 1, ...; the eta_l = (eta/4) (3/4)^l add up to eta."""
    precision = max(eta / 4 * 0.75**level, 1e-100)
    return whole_pulls(2 / precision**2 * (log_ratio + level * math.log(2.0)))


class Pair(Indices):
    """The rule of `LUCB1` and `KLLUCB`, whatever their bounds."""

    certifies = anytime = True
    stops_by = "intervals"

    @rule
    def pick(s, arms):
        arms[0], arms[1] = lowest(s), highest(s)
        return 2

    @rule
    def done(s):
        return upper(s, highest(s)) - lower(s, lowest(s)) < s.epsilon


class Floored(Pair):
    """The rule of `Pair`, with a floor on the arms' pulls; a constant ``floored`` turns it on."""

    memory = {"fewest": 0}  # no arm has fewer pulls

    @rule
    def pick(s, arms):
        if s.floored and s.now.fewest < floor(s):
            arms[0] = least_pulled(s)
            s.now.fewest = s.pulls[arms[0]]
            if s.now.fewest < floor(s):
                return 1
        arms[0], arms[1] = lowest(s), highest(s)
        return 2


def floor(s):
    """Return the number of pulls below which an arm is pulled in place of the pair."""
    return math.sqrt(s.now.total) - s.n / 2


def least_pulled(s):
    """Return the arm with the fewest pulls, of equal ones the first."""
    arm = s.active[0]
    for j in range(s.now.live):
        if s.pulls[s.active[j]] < s.pulls[arm]:
            arm = s.active[j]
    return arm


@dataclass(frozen=True)
class LUCB1(Pair):
    r"""Pull the two arms that are most easily confused across the boundary.

    In round t, with :math:`u_a` pulls of arm a, the radius is

    .. math:: \beta(u, t) = \sqrt{\frac{1}{2u}\ln\frac{k_1 n t^4}{\delta}},
       \qquad k_1 = \tfrac54.

    ``High`` holds the k largest means.  Let h be the arm of High with the lowest lower
    bound and l the arm outside with the highest upper bound.  The play ends when the
    upper bound of l is less than epsilon above the lower bound of h; otherwise both are
    pulled.

    Parameters
    ----------
    k : int
        How many arms are wanted, 1 to n - 1.
    epsilon : float
        Per-arm tolerance, in [0, 1): with probability 1 - delta every returned arm has
        a mean of at least the k-th largest minus epsilon.  With 0 and a tie at the
        boundary the play ends only with its budget.
    delta : float
        Probability of failure, in (0, 1).
    budget : int, optional
        The most pulls that may be made, at least n.  When it ends the play, the k largest
        means are returned without a certificate.
    guard : bool
        Whether to bound the worst case: LUCB1 is played with delta / 2, and if it has not
        stopped after as many pulls as `Halving` with delta / 2 makes in all, Halving starts
        from scratch.  Needs a positive ``epsilon``.

    Raises
    ------
    ValueError
        If a parameter is out of range; ``budget`` is compared with n at `start`.

    Notes
    -----
    Kalyanakrishnan, Tewari, Auer and Stone (2012), Section 3; the radius and
    :math:`k_1` are restored from an independent implementation, the formula being lost in
    the text that we read.  t counts rounds; the first test is at t = 1, after one pull of
    every arm.  In a session that has taken in other data t is at least the largest number of
    pulls of an arm.  Ties go to the arm of lower index.  A pair that would exceed the budget
    pulls h only.
    The guard is the paper's remark on the worst case; that the switch comes when Halving's
    own number of pulls is reached is our choice of its constant.

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
    budget: int | None = None
    guard: bool = False
    memory = {"guarded": 0}  # LUCB1's rounds when the guard took over
    checks = Indices.checks | {"guard": check_flag}

    def __post_init__(self):
        super().__post_init__()
        if self.guard:
            positive(self.epsilon, "epsilon")

    def pools(self, s: Any) -> bool:
        """Halving looks at exactly what it asked for."""
        return not s.now.guarded

    def constants(self, n: int) -> dict[str, Any]:
        """Return ln(k_1 n / delta), and for the guard when it begins and what Halving needs."""
        if not self.guard:
            return {"log_ratio": math.log(1.25 * n / self.delta)}
        from topk.guarantees.lucb import halving_pulls

        delta = self.delta / 2
        patience = min(halving_pulls(n, self.k, self.epsilon, delta), 2**62)
        halving = Halving(self.k, self.epsilon, delta).constants(n)
        return {"log_ratio": math.log(1.25 * n / delta), "patience": patience} | halving

    def arrays(self, bandits: int, n: int) -> dict[str, tuple[str, int | tuple[int, ...]]]:
        """Return room for the pair, and for what Halving has to remember."""
        found = super().arrays(bandits, n)
        own = Rounds.arrays(Halving, bandits, n)  # type: ignore[arg-type]
        return found | own if self.guard else found

    def given(self, search: Search | None) -> dict[Callable[..., Any], Callable[..., Any]]:
        """Return which function takes the place of which open one."""
        found = super().given(search)
        if self.guard:
            found |= {rounds.share: Halving.share, rounds.decide: Halving.decide}
            found |= {base.ask: ask_guarded, base.update: update_guarded}
            found |= {base.left: left_guarded, base.restore: restore_guarded}
        return found

    @rule
    def scale(s):
        return scale_in_round(s, max(s.now.rounds, s.now.most))


def scale_in_round(s, t):
    """Return the radius of an arm that has been pulled once; factored so that t may be large."""
    return math.sqrt((s.log_ratio + 4 * math.log(t)) / 2)


def ask_guarded(s, arms, counts):
    """Ask for LUCB1's pair, or for Halving's round once the guard has taken over."""
    return ask_round(s, arms, counts) if s.now.guarded else ask_pair(s, arms, counts)


def update_guarded(s, m, arms):
    """Move on; let Halving start from scratch when patience is at an end."""
    if s.now.guarded:
        update_round(s, m, arms)
        return
    update_pair(s, m, arms)
    if not s.now.ended and s.now.total >= s.patience:
        s.now.guarded, s.now.rounds = max(s.now.rounds, s.now.most), 0
        open_round(s)


def left_guarded(s, arm):
    """Go on without an arm; Halving's rounds look at the active arms only."""
    if not s.now.guarded:
        left_pair(s, arm)


def restore_guarded(s):
    """Set up the search for the pair, or the bounds as LUCB1 left them."""
    if s.now.guarded:
        s.now.scale = scale_in_round(s, s.now.guarded)
    else:
        restore_pair(s)


@dataclass(frozen=True)
class KLLUCB(Floored):
    r"""`LUCB1` with bounds by the Kullback-Leibler divergence: far fewer pulls near 0 and 1.

    After u pulls of an arm with mean reward m its bounds are the smallest and the largest q with
    :math:`u\,\mathrm{kl}(m, q) \leq \beta`, where kl is the divergence of Bernoulli laws and

    .. math:: \beta = \ln\frac{2n\sqrt u}{\delta} \quad\text{(mixture)}, \qquad
       \beta = \ln x + \ln\ln x,\; x = \frac{405.5\,n\,t^{1.1}}{\delta} \quad\text{(published)}

    in round t.  ``High`` holds the k largest means, h is its arm with the lowest lower bound, l
    the arm outside with the highest upper bound.  The play ends when the upper bound of l is less
    than epsilon above the lower bound of h; otherwise both are pulled.

    Parameters
    ----------
    k, delta, budget
        As for `LUCB1`.
    epsilon : float
        Tolerance, in [0, 1): with probability 1 - delta no arm that is left out is more than
        epsilon better than a returned one.  So every returned arm has a mean of at least the
        k-th largest minus epsilon, and on average they are at most epsilon below the k best.
        With 0 and a tie at the boundary the play ends only with its budget.
    rate : {'mixture', 'published'}
        Which beta.  The published one costs two to three times the pulls, and its bounds of all
        arms change in every round.

    Raises
    ------
    ValueError
        If a parameter is out of range; ``budget`` is compared with n at `start`.

    Notes
    -----
    The rule, and the published beta, are those of Kaufmann and Kalyanakrishnan (2013).  The
    mixture's holds for all u at once because
    :math:`\sup_p L(p) \leq 2\sqrt u\,\mathrm{KT}`, see `topk.confidence`: with probability
    1 - delta every arm's mean is within its bounds at all times.  Then the promise holds: if i is
    returned and j is not,
    :math:`\mu_j \leq U_j \leq U_l < L_h + \epsilon \leq L_i + \epsilon \leq \mu_i + \epsilon`.
    Both bounds of an arm fail together with probability delta / n; so the promise stays as it is,
    about the arms that are left, when arms are withdrawn.  (Of one-sided bounds, such as the
    published ones, up to n + w are used when w arms have been: delta becomes delta (1 + w/n).)
    With rewards that are sigma-sub-Gaussian, in place of bounded ones, the bounds are those of the
    normal mixture, :math:`m \pm \frac\sigma u\sqrt{(u+1)(2\ln\frac n\delta + \ln(1+u))}`; the
    published rate refuses them.
    On a finite test set of N items (`topk.TestSet`, or ``start(..., items=N)``) the bounds are
    those of `topk.confidence.interval` with ``items=N`` at delta / n, and the play ends when the
    upper bound of l is at most epsilon above the lower bound of h; an arm whose N results are all
    known is not pulled again.  It always ends, after n N pulls at the latest, and ties are
    certified.  The certificate is about these N items, not about a population behind them.
    Ties go to the arm of lower index.  A pair that would exceed the budget pulls h only.

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
    budget: int | None = None
    rate: Literal["mixture", "published"] = "mixture"
    checks = Pair.checks | {"rate": lambda value, name: check_choice(value, name, RATES)}

    @property
    def bounded(self) -> bool:  # type: ignore[override]
        """Whether the promise needs bounded rewards."""
        return self.rate == "published"

    def without_replacement(self, items: int) -> Ruled:
        """Return the rule for a finite test set; the published rate refuses one."""
        from topk.strategies.testset import FiniteKLLUCB

        if self.rate == "published":
            refuse("items", items, "left out with the published rate of KLLUCB")
        return FiniteKLLUCB(self.k, self.epsilon, self.delta, items, self.budget)

    def constants(self, n: int) -> dict[str, Any]:
        """Return the part of beta that never changes, and which rate it is."""
        published = int(self.rate == "published")
        factor = 405.5 if published else 1 if self.normal else 2
        log_ratio = math.log(factor * n / self.delta)
        floored = int(self.epsilon == 0 and not published)
        found = {"published": published, "normal": int(self.normal), "floored": floored}
        return found | {"log_ratio": log_ratio}

    def given(self, search: Search | None) -> dict[Callable[..., Any], Callable[..., Any]]:
        """Return which function takes the place of which open one."""
        renewed = {indices.grow: renew} if self.rate == "published" else {}
        return super().given(search) | renewed

    @rule
    def line(s, arm):
        u, ones = s.pulls[arm], s.sums[arm]
        mean, other = ones / u, (u - ones) / u
        if s.normal:  # 1/2-sub-Gaussian rewards
            radius = math.sqrt((u + 1) * (2 * s.log_ratio + math.log1p(u))) / (2 * u)
            return mean - radius, mean + radius, 0.0
        level = (published_beta(s) if s.published else s.log_ratio + math.log(u) / 2) / u
        low = mean * math.exp(-kl_fall_of(mean, other, level))
        return low, mean - other * math.expm1(-kl_fall_of(other, mean, level)), 0.0


def published_beta(s):
    """Return the published beta in this round."""
    log = s.log_ratio + 1.1 * math.log(max(s.now.rounds, s.now.most))
    return log + math.log(log)


def renew(s, scale):
    """Take over new bounds of all arms."""
    for j in range(s.now.live):
        moved(s, s.active[j])


