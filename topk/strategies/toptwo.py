"""Top-two sampling of the pair of arms that is easiest to confuse."""

import math
from dataclasses import dataclass
from typing import Any

import numpy as np

from topk._types import Floats, Whole
from topk.confidence.confidence import (
    effective_pulls,
    interval,
    pair_count,
    pair_multiplier,
    prior_share,
)
from topk.confidence.kl import TINY, mixture_cost_scalar, pair_minimiser
from topk.rules import ACTIVE, NO_ARM, WITHDRAWN, Arms, Indices, least_pulled, rule
from topk.rules.indices import on_withdraw as withdraw_from_pairs
from topk.rules.search import weakest_pair
from topk.rules.search.interface import Search
from topk.rules.search.weakest_pair import NEVER, ROUNDING, find_pair

FEW = 20  # arms; up to this number the floor is the one that suits few arms
PART = 4  # the most pulls of an arm, divided by those that an arm of an undecided pair has


@dataclass(frozen=True)
class TopTwo(Indices):
    r"""Pull one arm of the pair with the least evidence; stop when all pairs have enough.

    Arms a have the k largest means m, arms b are the others; N denotes numbers of pulls.  The
    evidence against b being epsilon better than a, and the factor by which an arm's mixture of
    likelihoods falls short of the maximum (see `topk.confidence`), are

    .. math:: Z_{ab} = \min_x N_a\,\mathrm{kl}(m_a, x) + N_b\,\mathrm{kl}(m_b, x+\epsilon),
       \qquad g_a = \sup_p L_a(p) / \mathrm{KT}_a \leq 2\sqrt{N_a}.

    The run ends when for all pairs :math:`V_{ab} = Z_{ab} - \ln(g_a g_b)` satisfies

    .. math:: e^{V_{ab}} > 1 + \pi\Big(\frac C\delta - 1\Big), \qquad
       C = \frac{n-1}{0.9} \ (\epsilon = 0), \quad C = \frac{k(n-k)}{0.9} \ (\epsilon > 0),

    where :math:`\pi`, 1/2 for :math:`\epsilon = 0`, is the probability that :math:`q < p +
    \epsilon` for independent p and q of Beta(1/2, 1/2).  Until then the pair with the smallest
    :math:`Z_{ab} + \frac12\ln(N_a N_b)` is sampled: a with probability
    :math:`N_a\,\mathrm{kl}(m_a, x)/Z_{ab}`, otherwise b.  An arm with fewer than
    :math:`\sqrt t - n/2` of all t pulls takes precedence, where n counts the remaining arms; with
    more than 20 arms at the start, n of them, one with fewer than :math:`\frac12\sqrt{t/n}`, and
    then one of a pair that lacks evidence, if it has less than a quarter of the most pulls.

    Parameters
    ----------
    k, epsilon, delta, budget
        As in `KLLUCB`, with the same guarantee.

    See Also
    --------
    KLLUCB : bounds of single arms.
    PairedBetting : compares the i-th rewards of arms with each other.

    Notes
    -----
    A top-two rule determines a leader and a challenger and tosses a coin between them (Russo 2016).
    Here both come from the likelihood ratio of Garivier and Kaufmann (2016), and the coin, for k =
    1 and epsilon = 0, is the information-directed one of You, Qin, Wang and Yang (2023).  For
    larger k no fixed coin is optimal (see also Qin and You).  With epsilon > 0 the guarantee holds,
    and no optimality is claimed.

    The failure probability does not depend on which pair is sampled.  The logarithm favours pairs
    with a rarely pulled arm: without it, at small means, a good arm with unlucky first rewards is
    pulled too seldom, and the number of pulls has a heavy tail.  So it has, with many arms, without
    the last precedence: two equal arms can remain the weakest pair while an arm with unlucky
    rewards waits.  For rewards other than 0 and 1
    `BettingLUCB` needs far fewer pulls.

    If :math:`\mu_b \geq \mu_a + \epsilon`, then :math:`e^{V_{ab}} \leq M_a M_b`, a non-negative
    supermartingale that starts at 1, since arms are pulled one at a time.  So it does if the
    product of the arms' priors is restricted to :math:`R = \{p_b < p_a + \epsilon\}`, of mass
    :math:`\pi`; call the ratio then E.  The alternatives outside R add at most :math:`1 - \pi` to
    :math:`\pi E`, in units of the largest likelihood that the hypothesis allows, hence
    :math:`E \geq 1 + (e^{V} - 1)/\pi`.  If results arrive that the rule has not asked for, the
    order in which they are counted may depend on them: then :math:`V - \ln(1+V) >
    \ln(C/\delta)` is required instead (`topk.confidence.evidence`).

    C counts the pairs that can make a set wrong, see `topk.confidence.pair_multiplier`; it becomes
    larger once an arm is withdrawn, whatever the reason.  A session that starts with
    ``withdrawals=0`` does without the 0.9.  With sigma-sub-Gaussian rewards Z and g
    are those of the normal mixture, see `topk.confidence.evidence`, and :math:`\pi` is 1.  Below
    k/n of about 1/10 `KLLUCB` needs fewer pulls: each pair pays for both of its arms, even if
    one is already known precisely.  Ties between pairs, and between numbers of pulls, go to
    the lower index.

    A pull takes the longer the more arms there are; above 2,000 arms, where no pairs are cached,
    many times as long.

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
    budget: Whole | None = None
    # the searches of `Indices` for the k largest means, and `weakest_pair` for the pair, everywhere
    certifies = anytime = random = True
    stops_by = joins_by = "pairs"
    roles = Indices.roles | {"weight": weakest_pair.weight}

    def state(self, arms: Arms) -> dict[str, Any]:
        """Return ln(C / delta), whether rewards are 1/2-sub-Gaussian, n, ln g, and the pair."""
        listed = arms.most or arms.n
        fixed = pair_count(listed, self.k) if arms.most and self.epsilon > 0 else 0.0
        absent = None if arms.withdrawals == 0 else listed - arms.n
        count = fixed or pair_multiplier(listed, self.k, self.epsilon, absent)
        share = 1.0 if arms.normal else prior_share(self.epsilon)
        return {
            "fixed_count": fixed,
            "on_list": listed,
            "share": share,
            "log_delta": math.log(self.delta),
            "normal": int(arms.normal),
            "shared": arms.n,
            "costs": np.zeros(arms.n),  # ln g of each arm
            # the totals at which an arm's pairs were found to have enough evidence, and at which
            # its counts or its side changed, and that side
            "settled": np.full(arms.n, -1),
            "changed": np.zeros(arms.n, dtype=np.int64),
            "side": np.zeros(arms.n, dtype=np.bool_),
            # the pair and its weight, and an arm of a pair that lacked evidence
            "now": {
                "inside": 0, "outside": 0, "least": 0.0, "doubtful": 0,
                "log_ratio": math.log(count / self.delta),
            },
        }

    def search_arrays(self, search: Search | None, arms: Arms) -> dict[str, Any]:
        """Return the arrays of the search, and those for pairs."""
        found = super().search_arrays(search, arms)
        return found | weakest_pair.new_arrays(arms.n, not arms.normal)

    def intervals(self, seen: Any) -> tuple[Floats, Floats]:
        """Return intervals, all valid at all times with probability 1 - delta."""
        return interval(seen.pulls, seen.sums, self.delta / seen.shared)

    @rule
    def pulled(s, arm):
        u = s.pulls[arm]
        s.changed[arm] = s.now.total
        s.costs[arm] = math.log1p(u) / 2 if s.normal else mixture_cost_scalar(u, s.sums[arm])
        if not s.normal:  # the largest ln L, and the term that the weight adds
            s.height[arm] = divergence(s, arm, 0.5) - u * math.log(2) + math.log(u) / 2

    @rule
    def done(s):
        find_pair(s)  # there may be no arm outside
        return s.now.least == NEVER or (is_sure(s, s.now.inside, s.now.outside) and are_sure(s))

    @rule
    def on_withdraw(s, arm):
        present = 0
        for i in range(s.n):
            present += s.status[i] != WITHDRAWN
        count = s.fixed_count or pair_multiplier(s.on_list, s.k, s.epsilon, s.on_list - present)
        s.now.log_ratio = math.log(count) - s.log_delta
        s.settled[:] = -1
        withdraw_from_pairs(s, arm)

    @rule
    def weight(s, a, b):
        """Z + (ln N_a + ln N_b) / 2."""
        of_a, of_b = parts_of(s, a, b)
        return of_a + of_b + math.log(float(s.pulls[a]) * s.pulls[b]) / 2

    @rule
    def pick(s):
        a, b, least = s.now.inside, s.now.outside, least_pulled(s)
        of_a, of_b = parts_of(s, a, b)
        if of_a + of_b < ROUNDING:  # (nearly) equal means: the limit
            of_a, of_b = s.pulls[b], s.pulls[a]
        heads = s.rng.random() * (of_a + of_b) < of_a
        total, n = s.now.total, s.now.n_active
        floor = math.sqrt(total) - n / 2 if s.n <= FEW else math.sqrt(total / s.n) / 2
        if s.pulls[least] < floor:
            return least, NO_ARM
        late = least_of_open(s) if s.n > FEW else NO_ARM
        return (late if late != NO_ARM else a if heads else b), NO_ARM


def is_sure(s, a, b):
    """Return whether V = Z - ln(g_a g_b) suffices, see `topk.confidence.PairForm`."""
    of_a, of_b = parts_of(s, a, b)
    v = of_a + of_b - (s.costs[a] + s.costs[b])
    if s.now.most > 0:  # results that the rule has not asked for may be late
        return v > 0 and v - math.log1p(v) > s.now.log_ratio
    return v > s.now.log_ratio + math.log(s.share + (1 - s.share) * math.exp(-s.now.log_ratio))


def are_sure(s):
    """Return whether all pairs have enough evidence, starting with the last arm that lacked it."""
    for i in range(-1, s.now.n_active):
        a = s.active[i] if i >= 0 else s.now.doubtful
        for j in range(s.now.n_active if s.within[a] and s.status[a] == ACTIVE else 0):
            if not s.within[s.active[j]] and not is_sure(s, a, s.active[j]):
                s.now.doubtful = a
                return False
    return True


def least_of_open(s):
    """Return the least pulled arm far behind that is in a pair that lacks evidence, or NO_ARM."""
    most = 0
    for i in range(s.now.n_active):
        arm = s.active[i]
        most = max(most, s.pulls[arm])
        if s.side[arm] != s.within[arm]:
            s.side[arm], s.changed[arm] = s.within[arm], s.now.total
    found = NO_ARM
    for i in range(s.now.n_active):
        arm = s.active[i]
        if PART * s.pulls[arm] < most and (found == NO_ARM or s.pulls[arm] < s.pulls[found]):
            if is_open(s, arm):
                found = arm
    return found


def is_open(s, arm):
    """Return whether some pair of an arm lacks evidence.

    Only those are computed that have changed since all were found to have enough.
    """
    since = -1 if s.now.most > 0 or s.changed[arm] > s.settled[arm] else s.settled[arm]
    for i in range(s.now.n_active):
        other = s.active[i]
        if s.within[other] != s.within[arm] and s.changed[other] > since:
            a, b = (arm, other) if s.within[arm] else (other, arm)
            if not is_sure(s, a, b):
                return True
    s.settled[arm] = s.now.total
    return False


def parts_of(s, a, b):
    """Return the contributions of a and of b to Z."""
    if s.normal:
        lead = max(s.sums[a] / s.pulls[a] - s.sums[b] / s.pulls[b] + s.epsilon, 0.0)
        w, v = effective_pulls(s.pulls[a]), effective_pulls(s.pulls[b])
        z = 2 * (lead * lead) / (1 / w + 1 / v)
        return z * v / (w + v), z * w / (w + v)
    x = pair_minimiser(s.pulls[a], s.sums[a], s.pulls[b], s.sums[b], s.epsilon)
    return divergence(s, a, x), divergence(s, b, x + s.epsilon)


def divergence(s, arm, x):
    """Return N kl(m, x) of an arm."""
    u, ones, zeros = s.pulls[arm], s.sums[arm], s.pulls[arm] - s.sums[arm]
    found = ones * math.log(ones / (u * x)) if ones > TINY else 0.0
    return found + (zeros * math.log(zeros / (u * (1 - x))) if zeros > TINY else 0.0)
