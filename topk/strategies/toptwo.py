"""Top-two sampling of the pair of arms that is the easiest to confuse."""

import math
from dataclasses import dataclass

import numpy as np

from topk.confidence import interval, lack, meeting, shrunk
from topk.confidence import pairs as wrong_pairs
from topk.engine import pairs
from topk.engine.composing import rule
from topk.engine.loop import ACTIVE
from topk.engine.pairs import NEVER, ROUNDING, find_pair
from topk.engine.strategy import Indices

TINY = 1e-280  # less might not be divided by


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
    :math:`Z_{ab} + \frac12\ln(N_aN_b)` is taken, and of it a with probability
    :math:`N_a\,\mathrm{kl}(m_a, x)/Z_{ab}`, else b.  An arm with fewer than
    :math:`\sqrt t - n/2` of all t pulls comes first.

    Parameters
    ----------
    k, epsilon, delta, budget
        As for `KLLUCB`, with the same promise.

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

    The logarithms in the pair's weight are ours.  The promise does not depend on which pair is
    taken; and a good arm with unlucky first rewards has few pulls, and pairs of small Z that hardly
    move: with the logarithms subtracted, as in the stop, such an arm is left alone for long where
    means are near 0 or 1.

    Of rewards in [0, 1] that are not all 0 or 1 the stop knows no more than the sums: `BettingLUCB`
    is the strategy for scores.

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
    memory = {"inside": 0, "outside": 0, "least": 0.0}  # the pair, and its weight
    memory |= {"unsure": 0, "unsure_of": 0}  # the pair that was last found not to be sure
    interfaces = (*Indices.interfaces, pairs)
    roles = (*Indices.roles, "weight")

    def constants(self, n):
        """Return ln(C / delta), and whether rewards are 1/2-sub-Gaussian in place of bounded."""
        log_ratio = math.log(wrong_pairs(n, self.k) / self.delta)
        return {"log_ratio": log_ratio, "normal": int(self.normal)}

    def room(self, search, bandits, n):
        """Return what a search needs, room for pairs, for ln g, and for (ln N)/2."""
        found = super().room(search, bandits, n) | pairs.room(n, not self.normal)
        return found | {"lacks": np.zeros(n), "halves": np.zeros(n)}

    def bounds(self, seen):
        """Return intervals that hold together, at all times, with probability 1 - delta."""
        return interval(seen.pulls, seen.sums, self.delta / seen.n)

    @rule
    def line(s, arm):
        u = s.pulls[arm]
        s.lacks[arm] = math.log1p(u) / 2 if s.normal else lack(u, s.sums[arm])
        s.halves[arm] = math.log(u) / 2
        if not s.normal:  # the largest ln L, and (ln N)/2
            s.height[arm] = divergence(s, arm, 0.5) - u * math.log(2) + s.halves[arm]
        return 0.0, 0.0, 0.0  # no bounds are needed

    @rule
    def done(s):
        find_pair(s)
        return s.now.least == NEVER or all_are_sure(s)

    @rule
    def weight(s, a, b):
        """Z + (ln N_a + ln N_b)/2."""
        of_a, of_b = parts_of(s, a, b)
        return of_a + of_b + (s.halves[a] + s.halves[b])

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


def all_are_sure(s):
    """Tell whether no pair stands against the end; one that does is remembered.

    The plain form looks at all pairs.  This one begins with the pair of the smallest weight, and
    the one that stood against it last.
    """
    if not is_sure(s, s.now.inside, s.now.outside):
        return False
    a, b = s.now.unsure, s.now.unsure_of
    still = s.status[a] == s.status[b] == ACTIVE and s.within[a] and not s.within[b]
    if still and not is_sure(s, a, b):
        return False
    for i in range(s.now.live):
        a = s.active[i]
        for j in range(s.now.live if s.within[a] else 0):
            b = s.active[j]
            if not (s.within[b] or is_sure(s, a, b)):
                s.now.unsure, s.now.unsure_of = a, b
                return False
    return True


def is_sure(s, a, b):
    """Tell whether Z of a pair exceeds ln(C g_a g_b / delta)."""
    of_a, of_b = parts_of(s, a, b)
    return of_a + of_b - (s.lacks[a] + s.lacks[b]) > s.log_ratio


def parts_of(s, a, b):
    """Return what a, and what b, contributes to Z."""
    if s.normal:
        lead = max(s.sums[a] / s.pulls[a] - s.sums[b] / s.pulls[b] + s.epsilon, 0.0)
        w, v = shrunk(s.pulls[a]), shrunk(s.pulls[b])
        z = 2 * lead**2 / (1 / w + 1 / v)
        return z * v / (w + v), z * w / (w + v)
    x = meeting(s.pulls[a], s.sums[a], s.pulls[b], s.sums[b], s.epsilon)
    return divergence(s, a, x), divergence(s, b, x + s.epsilon)


def divergence(s, arm, x):
    """Return N kl(m, x) of an arm."""
    u, ones, zeros = s.pulls[arm], s.sums[arm], s.pulls[arm] - s.sums[arm]
    found = ones * math.log(ones / (u * x)) if ones > TINY else 0.0
    return found + (zeros * math.log(zeros / (u * (1 - x))) if zeros > TINY else 0.0)
