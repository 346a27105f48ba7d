"""Top-two sampling of the pair of arms that is the easiest to confuse."""

import math
from dataclasses import dataclass
from typing import Any

import numpy as np

from topk._types import Floats
from topk.confidence import interval, shrunk
from topk.confidence import pairs as wrong_pairs
from topk.kl import TINY, mixture_cost_of, pair_minimiser
from topk.rules import ACTIVE, Indices, rule
from topk.rules.search import weakest_pair as pairs
from topk.rules.search.interface import Search
from topk.rules.search.weakest_pair import NEVER, ROUNDING, find_pair


@dataclass(frozen=True)
class TopTwo(Indices):
    r"""Pull one of the two arms whose order is the least sure; stop when all pairs are sure.

    Arms a are the k largest means m, arms b the others, N are pulls.  What speaks against b being
    epsilon better than a, and what the mixture of an arm's likelihoods lacks (see
    `topk.confidence`), are

    .. math:: Z_{ab} = \min_x N_a\,\mathrm{kl}(m_a, x) + N_b\,\mathrm{kl}(m_b, x+\epsilon),
       \qquad g_a = \sup_p L_a(p) / \mathrm{KT}_a \leq 2\sqrt{N_a}.

    The play ends when :math:`Z_{ab} > \ln(C g_a g_b/\delta)` for all pairs, with
    :math:`C = (n-k)(n+k-1)/2`.  Until then the pair with the smallest
    :math:`Z_{ab} + \frac12\ln(N_a N_b)` is taken, and of it a with probability
    :math:`N_a\,\mathrm{kl}(m_a, x)/Z_{ab}`, else b.  An arm with fewer than
    :math:`\sqrt t - n/2` of all t pulls comes first.

    Parameters
    ----------
    k, epsilon, delta, budget
        As for `KLLUCB`, with the same guarantee.

    Raises
    ------
    ValueError
        If a parameter is out of range; ``budget`` is compared with n at `start`.

    Notes
    -----
    The field calls so what takes a leader and its challenger and tosses a coin between them
    (Russo 2016); here both come from the likelihood ratio of Garivier and Kaufmann (2016), and the
    coin, for k = 1 and epsilon = 0, is the information-directed one of You, Qin, Wang and Yang
    (2023).  For larger k no fixed coin is optimal (see also Qin and You).  With epsilon > 0 the
    promise holds, and no optimality is claimed.

    Which pair is sampled decides nothing about the error.  The logarithm of the pulls favours pairs
    of which an arm has few: without it, at small rates, a good arm with unlucky first rewards is
    pulled too seldom, and some runs take ten times as long as the median.  For scores that are not
    0 or 1 `BettingLUCB` needs far fewer pulls.

    If :math:`\mu_b \geq \mu_a + \epsilon`, then :math:`e^{Z_{ab}} \leq g_a g_b M_a M_b`, and
    :math:`M_a M_b` is a non-negative supermartingale that begins at 1, since pulls come one by
    one.  C counts the pairs that can make a set wrong, see `topk.confidence.pairs`: whatever arms
    are withdrawn, the promise stays as it is, about those that are left.  (If none ever were, C
    could be k(n - k).)  With rewards that are sigma-sub-Gaussian Z and g are those of the normal
    mixture, see `topk.confidence.evidence`.  Of equal weights the pair, and of equal pulls the
    arm, of lower index comes first.

    A pull costs less than a microsecond with tens of arms and several with a thousand; above 2,000,
    where nothing is kept of pairs, some ten times that.

    Examples
    --------
    >>> import topk
    >>> bandit = topk.BernoulliBandit([0.9, 0.8, 0.1, 0.2])
    >>> outcome = topk.run(TopTwo(2, epsilon=0.1, delta=0.05), bandit, rng=0)
    >>> outcome.selected.tolist(), outcome.certified
    ([0, 1], True)
    """

    k: int
    epsilon: float
    delta: float
    budget: int | None = None
    certifies = anytime = random = True
    stops_by = "pairs"
    memory = {"inside": 0, "outside": 0, "least": 0.0}  # the pair, and its weight
    memory |= {"doubtful": 0}  # an arm of a pair that was not sure
    roles = Indices.roles | {"weight": pairs.weight}

    def constants(self, n: int) -> dict[str, Any]:
        """Return ln(C / delta), and whether rewards are 1/2-sub-Gaussian in place of bounded."""
        log_ratio = math.log(wrong_pairs(n, self.k) / self.delta)
        return {"log_ratio": log_ratio, "normal": int(self.normal)}

    def room(self, search: Search | None, bandits: int, n: int) -> dict[str, Any]:
        """Return what a search needs, room for pairs, and for ln g of each arm."""
        found = super().room(search, bandits, n) | pairs.room(n, not self.normal)
        return found | {"lacks": np.zeros(n)}  # ln g

    def bounds(self, seen: Any) -> tuple[Floats, Floats]:
        """Return intervals that hold together, at all times, with probability 1 - delta."""
        return interval(seen.pulls, seen.sums, self.delta / seen.n)

    @rule
    def line(s, arm):
        u = s.pulls[arm]
        s.lacks[arm] = math.log1p(u) / 2 if s.normal else mixture_cost_of(u, s.sums[arm])
        if not s.normal:  # the largest ln L, and what the weight adds
            s.height[arm] = divergence(s, arm, 0.5) - u * math.log(2) + math.log(u) / 2
        return 0.0, 0.0, 0.0  # no bounds are needed

    @rule
    def done(s):
        find_pair(s)  # there may be no arm left outside
        return s.now.least == NEVER or (is_sure(s, s.now.inside, s.now.outside) and are_sure(s))

    @rule
    def weight(s, a, b):
        """Z + (ln N_a + ln N_b) / 2."""
        of_a, of_b = parts_of(s, a, b)
        return of_a + of_b + math.log(float(s.pulls[a]) * s.pulls[b]) / 2

    @rule
    def pick(s, arms):
        a, b, least = s.now.inside, s.now.outside, s.active[0]
        for j in range(s.now.live):
            least = s.active[j] if s.pulls[s.active[j]] < s.pulls[least] else least
        of_a, of_b = parts_of(s, a, b)
        if of_a + of_b < ROUNDING:  # (nearly) equal means: the limit
            of_a, of_b = s.pulls[b], s.pulls[a]
        heads = s.rng.random() * (of_a + of_b) < of_a
        late = s.pulls[least] < math.sqrt(s.now.total) - s.now.live / 2
        arms[0] = least if late else a if heads else b
        return 1


def is_sure(s, a, b):
    """Tell whether Z exceeds ln(C g_a g_b / delta)."""
    of_a, of_b = parts_of(s, a, b)
    return of_a + of_b - (s.lacks[a] + s.lacks[b]) > s.log_ratio


def are_sure(s):
    """Tell whether all pairs are sure, beginning with those of the arm in doubt the last time."""
    for i in range(-1, s.now.live):
        a = s.active[i] if i >= 0 else s.now.doubtful
        for j in range(s.now.live if s.within[a] and s.status[a] == ACTIVE else 0):
            if not s.within[s.active[j]] and not is_sure(s, a, s.active[j]):
                s.now.doubtful = a
                return False
    return True


def parts_of(s, a, b):
    """Return what a, and what b, contributes to Z."""
    if s.normal:
        lead = max(s.sums[a] / s.pulls[a] - s.sums[b] / s.pulls[b] + s.epsilon, 0.0)
        w, v = shrunk(s.pulls[a]), shrunk(s.pulls[b])
        z = 2 * lead**2 / (1 / w + 1 / v)
        return z * v / (w + v), z * w / (w + v)
    x = pair_minimiser(s.pulls[a], s.sums[a], s.pulls[b], s.sums[b], s.epsilon)
    return divergence(s, a, x), divergence(s, b, x + s.epsilon)


def divergence(s, arm, x):
    """Return N kl(m, x) of an arm."""
    u, ones, zeros = s.pulls[arm], s.sums[arm], s.pulls[arm] - s.sums[arm]
    found = ones * math.log(ones / (u * x)) if ones > TINY else 0.0
    return found + (zeros * math.log(zeros / (u * (1 - x))) if zeros > TINY else 0.0)
