"""KL-LUCB: lower and upper bounds by the Kullback-Leibler divergence."""

import math
from dataclasses import dataclass

from topk._checks import check_choice
from topk.engine import indices
from topk.engine.composing import rule
from topk.engine.indices import moved
from topk.strategies.lucb import Pair

RATES = ("mixture", "published")
TINY = 1e-280  # less might not be divided by


@dataclass(frozen=True)
class KLLUCB(Pair):
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
    rate: str = "mixture"
    checks = Pair.checks | {"rate": lambda value, name: check_choice(value, name, RATES)}

    @property
    def bounded(self):
        """Whether the promise needs bounded rewards."""
        return self.rate == "published"

    def constants(self, n):
        """Return the part of beta that never changes, and which rate it is."""
        published = int(self.rate == "published")
        factor = 405.5 if published else 1 if self.normal else 2
        log_ratio = math.log(factor * n / self.delta)
        return {"log_ratio": log_ratio, "published": published, "normal": int(self.normal)}

    def given(self, search):
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
        low = mean * math.exp(-fall(mean, other, level))
        return low, mean - other * math.expm1(-fall(other, mean, level)), 0.0


def published_beta(s):
    """Return the published beta in this round."""
    log = s.log_ratio + 1.1 * math.log(max(s.now.rounds, s.now.most))
    return log + math.log(log)


def renew(s, scale):
    """Take over new bounds of all arms."""
    for j in range(s.now.live):
        moved(s, s.active[j])


def fall(mean, other, level):
    """Return x with kl(mean, mean exp(-x)) = level, where other is 1 - mean.

    The divergence f is a convex function of x, and its derivative is concave and begins at 0: so
    f f'' is at most half the square of f', and Halley's step has no pole and stays above 0.
    """
    if mean < TINY or other < TINY:
        return level
    x = math.sqrt(2 * level * other / mean) + level * (2 + other / mean) / 3  # by f's first terms
    for _ in range(50):
        down = -mean * math.expm1(-x)
        slope = down / (other + down)
        bend = other * (mean - down) / (other + down) ** 2
        newton = (mean * x - other * math.log1p(down / other) - level) / slope
        step = newton / (1 - newton * bend / slope / 2)
        x -= step
        if abs(step) < 1e-5 * x:  # what is wrong is of the order of its cube
            break
    return x
