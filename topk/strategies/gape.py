"""Gap-E: gap-based exploration with a fixed budget (Gabillon et al. 2011, Bubeck et al. 2013)."""

import math
from dataclasses import dataclass
from typing import Any

import numpy as np

from topk._checks import factor, positive
from topk.rules import ACTIVE, NOBODY, Indices, Strategy, following, highest, kth, lowest, rule
from topk.rules.search import ugape_scan as candidates
from topk.rules.search.ugape_scan import TIE, UGAPE_SCAN, wider

ROUNDING = 1e-15  # of a difference of two means


class Gaps(Indices):
    """What `GapE` and `MultiBanditGapE` share."""

    budget: int
    complexity: float
    c: float
    bounds = Strategy.bounds
    checks = Strategy.checks | {"complexity": positive, "c": factor}

    def constants(self, n: int) -> dict[str, Any]:
        """Return c sqrt(Q / H)."""
        return {"spread": self.c * math.sqrt(self.budget / self.complexity)}


@dataclass(frozen=True)
class GapE(Gaps):
    r"""Pull the arm with the largest index of minus its gap plus a radius.

    After one pull of every arm, each further pull goes to the arm with the largest

    .. math:: -\hat\Delta_i + c\sqrt{\frac{Q / H}{T_i}},

    where the empirical gap is the distance to the k+1-th mean for the k best-ranked arms
    and to the k-th mean for the others, and :math:`T_i` are the pulls of arm i.

    Parameters
    ----------
    k : int
        How many arms are wanted, 1 to n - 1.
    budget : int
        Q, the pulls in all, at least n.
    complexity : float
        H, positive; the true ``topk.hardness.h1`` in the paper's experiments.
    c : float
        Exploration constant, positive; 2 in the paper's experiments.

    Raises
    ------
    ValueError
        If a parameter is out of range; ``budget`` is compared with n at `start`.

    Notes
    -----
    Bubeck, Wang and Viswanathan (2013), Figure 3, for the k best arms; for k = 1 it stands
    beside UCB-E, from which it differs in that the best arm, too, is charged its gap.  The
    returned set are the k largest means; ties go to the arm of lower index.

    Examples
    --------
    >>> import topk
    >>> bandit = topk.BernoulliBandit([0.9, 0.5, 0.1])
    >>> strategy = GapE(1, budget=300, complexity=topk.hardness.h1(bandit.means, 1))
    >>> topk.run(strategy, bandit, rng=0).selected.tolist()
    [0]
    """

    k: int
    budget: int
    complexity: float
    c: float = 2.0
    few = 1000  # of more arms trees are faster: sides change often, and every change costs a look

    @rule
    def scale(s):
        return s.spread

    @rule
    def pick(s, arms):
        """The largest index has the lowest lower bound inside or the highest upper one outside."""
        low, high = lowest(s), highest(s)
        arms[0] = high if prefers_high(s, low, high) else low
        return 1


def prefers_high(s, low, high):
    """Tell whether the arm outside has the larger index, or the same and a lower number.

    The two arms at the boundary share one gap, and more arms may do so by chance.  Equal
    gaps of means with different denominators can differ by rounding: gaps of arms with as
    many pulls that are closer than ``ROUNDING`` count as equal.
    """
    if high == NOBODY:
        return False
    low_weight, high_weight = 1 / math.sqrt(s.pulls[low]), 1 / math.sqrt(s.pulls[high])
    low_gap = s.sums[low] / s.pulls[low] - following(s)
    high_gap = kth(s) - s.sums[high] / s.pulls[high]
    if low_weight == high_weight and abs(low_gap - high_gap) < ROUNDING:
        return high < low
    return s.spread * high_weight - high_gap > s.spread * low_weight - low_gap


@dataclass(frozen=True)
class MultiBanditGapE(Gaps):
    r"""Pull, over several bandits, the arm with the largest index of minus gap plus radius.

    After one pull of every arm, each further pull goes to the arm with the largest

    .. math:: -\hat\Delta_i + c\sqrt{\frac{Q / H}{T_i}},

    where the empirical gap is the distance to its bandit's second mean for the best-ranked
    arm of each bandit and to the best mean for the others, and :math:`T_i` are the pulls of arm i.
    The best arm of each bandit is wanted (k = 1).

    Parameters
    ----------
    budget : int
        Q, the pulls in all, at least M n.
    complexity : float
        H, positive; the true :math:`H_1^{[M]}` of ``topk.hardness.h_multibandit`` in
        experiments.
    c : float
        Exploration constant, positive.

    Raises
    ------
    ValueError
        If a parameter is out of range; ``budget`` is compared with M n at `start`.

    Notes
    -----
    Gabillon, Ghavamzadeh, Lazaric and Bubeck (2011); the constants are written as in
    Bubeck, Wang and Viswanathan (2013), Figure 3, so that for one bandit this is `GapE`
    with k = 1.  The largest mean of each bandit is returned; ties go to the arm of lower
    number.  A bandit of which a single arm is left is pulled no more.

    Examples
    --------
    >>> import topk
    >>> bandit = topk.MultiBandit([[0.9, 0.5, 0.1], [0.2, 0.3, 0.7]])
    >>> strategy = MultiBanditGapE(600, topk.hardness.h_multibandit(bandit.means)[0])
    >>> topk.run(strategy, bandit, rng=0).selected.tolist()
    [[0], [2]]
    """

    budget: int
    complexity: float
    c: float = 2.0
    k = 1
    several, searches = True, (UGAPE_SCAN,)
    roles = Indices.roles | {"radius": candidates.radius, "form": candidates.form}

    @rule
    def radius(s, arm):
        return s.spread / math.sqrt(s.pulls[arm]), 0.0

    @rule
    def form(s, bandit):
        """Find the arm of a bandit with the largest index; of equal ones the lowest number."""
        begin, end = bandit * (s.n // s.bandits), (bandit + 1) * (s.n // s.bandits)
        first, best, second = NOBODY, -np.inf, -np.inf  # the best-ranked arm, the two best means
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
                index = s.parts[0, arm] - best + (second if arm == first else s.means[arm])
                if index > largest + TIE:
                    largest, favourite = index, arm
        s.index[bandit], s.favourite[bandit] = largest, favourite

    @rule
    def pick(s, arms):
        arms[0] = wider(s)
        return 1
