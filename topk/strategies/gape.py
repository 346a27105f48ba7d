"""Gap-E: gap-based exploration with a fixed budget (Gabillon et al. 2011, Bubeck et al. 2013)."""

import math
from dataclasses import dataclass
from typing import Any

import numpy as np

from topk._checks import factor, positive
from topk._types import Whole
from topk.rules import (
    ACTIVE,
    NO_ARM,
    Arms,
    Indices,
    Strategy,
    following,
    highest,
    kth,
    lowest,
    rule,
)
from topk.rules.search import ugape_scan
from topk.rules.search.ugape_scan import UGAPE_SCAN, settled, wider

ROUNDING = 1e-15  # largest rounding error of a difference of two means


class Gaps(Indices):
    """The parameters and constants shared by `GapE` and `MultiBanditGapE`."""

    budget: Whole
    complexity: float
    c: float
    intervals = Strategy.intervals
    checks = Strategy.checks | {"complexity": positive, "c": factor}

    def state(self, arms: Arms) -> dict[str, Any]:
        """Return c sqrt(Q / H)."""
        return {"spread": self.c * math.sqrt(self.budget / self.complexity)}


@dataclass(frozen=True)
class GapE(Gaps):
    r"""Pull the arm with the largest index: minus its empirical gap plus a radius.

    After one pull of every arm, each further pull goes to the arm with the largest

    .. math:: -\hat\Delta_i + c\sqrt{\frac{Q / H}{T_i}},

    where the empirical gap is the distance to the (k+1)-th mean for the k best-ranked arms and to
    the k-th mean for the others, and :math:`T_i` is the number of pulls of arm i.

    Parameters
    ----------
    k : int
        Number of arms to select, from 1 to n - 1.
    budget : int
        Q, the total number of pulls, at least n.
    complexity : float
        H, positive; the true ``topk.hardness.h1`` in the paper's experiments.
    c : float
        Exploration constant, positive; 2 in the paper's experiments.

    See Also
    --------
    UGapEb : with two-sided bounds, and a tolerance.
    MultiBanditGapE : the rule for several bandits.

    Notes
    -----
    Bubeck, Wang and Viswanathan (2013), Figure 3, for the k best arms.  For k = 1 it differs from
    UCB-E in that the gap of the best arm is subtracted, too.  The k arms with the largest means are
    returned; ties go to the arm with the lower index.

    Examples
    --------
    >>> import topk
    >>> bandit = topk.BernoulliBandit([0.9, 0.5, 0.1])
    >>> strategy = GapE(1, budget=300, complexity=topk.hardness.h1(bandit.means, 1))
    >>> topk.run(strategy, bandit, rng=0).selected.tolist()
    [0]
    """

    k: int
    budget: Whole
    complexity: float
    c: float = 2.0
    # compiled a scan of the k largest means up to 1,000 arms, then trees, since arms change sides
    # often and each change costs a scan; in plain Python arrays; see benchmarks/speed.py, searches
    scan_up_to = 1000

    @rule
    def scale(s):
        return s.spread

    @rule
    def pick(s):
        """Compare the lowest lower bound inside with the highest upper bound outside."""
        low, high = lowest(s), highest(s)
        return (high if prefers_high(s, low, high) else low), NO_ARM


def prefers_high(s, low, high):
    """Return whether the arm outside has the larger index, or an equal one and a lower number.

    The two arms at the boundary have the same gap, and more arms may have it by chance.  Equal
    gaps of means with different denominators can differ by rounding errors: if two arms have
    equally many pulls, gaps closer than ``ROUNDING`` count as equal.
    """
    if high == NO_ARM:
        return False
    low_weight, high_weight = 1 / math.sqrt(s.pulls[low]), 1 / math.sqrt(s.pulls[high])
    low_gap = s.sums[low] / s.pulls[low] - following(s)
    high_gap = kth(s) - s.sums[high] / s.pulls[high]
    if low_weight == high_weight and abs(low_gap - high_gap) < ROUNDING:
        return high < low
    return s.spread * high_weight - high_gap > s.spread * low_weight - low_gap


@dataclass(frozen=True)
class MultiBanditGapE(Gaps):
    r"""Pull the arm, of all bandits, with the largest index: minus its empirical gap plus a radius.

    After one pull of every arm, each further pull goes to the arm with the largest

    .. math:: -\hat\Delta_i + c\sqrt{\frac{Q / H}{T_i}},

    where :math:`T_i` is the number of pulls of arm i.  The empirical gap of the best-ranked arm of
    a bandit is the distance to the bandit's second mean; that of any other arm is the distance to
    the best mean.  The best arm of each bandit is selected (k = 1).

    Parameters
    ----------
    budget : int
        Q, the total number of pulls, at least M n.
    complexity : float
        H, positive; the true :math:`H_1^{[M]}` of ``topk.hardness.h_multibandit`` in
        experiments.
    c : float
        Exploration constant, positive.

    See Also
    --------
    GapE : the rule for one bandit.
    MultiBanditUGapEb : with a tolerance.

    Notes
    -----
    Gabillon, Ghavamzadeh, Lazaric and Bubeck (2011); the constants are written as in Bubeck, Wang
    and Viswanathan (2013), Figure 3, so that for one bandit this is `GapE` with k = 1.  The largest
    mean of each bandit is returned; ties go to the arm with the lower number.  A bandit with a
    single remaining arm is not pulled any more.

    Examples
    --------
    >>> import topk
    >>> bandit = topk.MultiBandit([[0.9, 0.5, 0.1], [0.2, 0.3, 0.7]])
    >>> strategy = MultiBanditGapE(600, topk.hardness.h_multibandit(bandit.means)[0])
    >>> topk.run(strategy, bandit, rng=0).selected.tolist()
    [[0], [2]]
    """

    budget: Whole
    complexity: float
    c: float = 2.0
    k = 1
    several = True
    searches = (UGAPE_SCAN,)  # of the bandits that have changed; with `find_candidates` below
    roles = Indices.roles | {
        "radius": ugape_scan.radius, "find_candidates": ugape_scan.find_candidates,
    }

    @rule
    def radius(s, arm):
        return s.spread / math.sqrt(s.pulls[arm]), 0.0

    @rule
    def find_candidates(s, bandit):
        """Find the arm of a bandit with the largest index; ties go to the lowest number."""
        begin, end = bandit * (s.n // s.bandits), (bandit + 1) * (s.n // s.bandits)
        first, best, second = NO_ARM, -np.inf, -np.inf  # the best-ranked arm, the two best means
        for arm in range(begin, end):
            if s.status[arm] == ACTIVE:
                mean = s.means[arm]
                if mean > best:
                    first, best, second = arm, mean, best
                elif mean > second:
                    second = mean
        largest, favourite = -np.inf, first
        for arm in range(begin, end):
            if s.status[arm] == ACTIVE and second > -np.inf:
                other = second if arm == first else s.means[arm]
                index = settled(s.parts[0, arm] - best + other)
                if index > largest:
                    largest, favourite = index, arm
        s.index[bandit], s.favourite[bandit] = largest, favourite

    @rule
    def pick(s):
        return wider(s), NO_ARM
