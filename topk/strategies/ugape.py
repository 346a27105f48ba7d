"""UGapE: one rule for a fixed budget and a fixed confidence (Gabillon et al. 2012)."""

import math
from dataclasses import dataclass
from typing import Any

import numpy as np

from topk._checks import check_flag, factor, positive, refuse
from topk._marks import in_loops
from topk._types import Floats, Whole
from topk.rules import (
    NO_ARM,
    Arms,
    Indices,
    Stored,
    Strategy,
    allocates,
    clipped_intervals,
    ranked_by,
    rule,
)
from topk.rules.indices import scale, setup
from topk.rules.ranking import active_of, recommend_best
from topk.rules.search import ugape_scan
from topk.rules.search.interface import Search
from topk.rules.search.ugape_scan import (
    UGAPE_SCAN,
    keep,
    keep_smallest,
    largest_index,
    members,
    wider,
)
from topk.rules.search.ugape_trees import UGAPE_TREES


class Candidates(Indices):
    """The rule common to all forms: Figure 1 of Gabillon, Ghavamzadeh and Lazaric (2012).

    All radii are computed from a common level a; q is its square root.
    """

    # compiled trees for any number of arms, a scan where `search_for` says so; in plain Python the
    # scan, with NumPy; see benchmarks/speed.py, searches
    searches = UGAPE_SCAN, UGAPE_TREES
    scan_up_to = 0
    roles = Indices.roles | {"radius": ugape_scan.radius}
    variance = estimated = False
    checks = Strategy.checks | {"a": positive, "c": factor, "complexity": positive}
    checks |= {"variance": check_flag}

    uses_squares = bounded = property(lambda self: self.variance)
    initial_pulls = property(lambda self: 2 if self.variance else 1)  # a variance needs two rewards

    def search_for(self, n: float) -> Search | None:
        """Return trees for one bandit with radii s / sqrt(pulls), s monotone; else the scan."""
        if self.several or self.variance or self.estimated:
            return UGAPE_SCAN
        return super().search_for(n)

    def intervals(self, seen: Any) -> tuple[Floats, Floats]:
        """Return the confidence bounds at the current time; see `topk.Strategy.intervals`."""
        if not (self.several or self.variance) or seen.now.rounds == 0:
            return super().intervals(seen)
        q, parts = seen.now.scale, [Candidates.radius(seen, arm) for arm in range(seen.n)]
        return clipped_intervals(seen, np.array(parts) @ (q, q * q))

    @rule
    def radius(s, arm):
        """Return two parts: the radius is q times the first plus a times the second."""
        pulls = max(1, s.pulls[arm])
        if not s.variance:
            return 1 / math.sqrt(pulls), 0.0
        return math.sqrt(2 * sample_variance(s, arm) / pulls), 7 / (3 * max(pulls - 1, 1))

    @rule
    def pick(s):
        return wider(s), NO_ARM

    @rule
    def recommend(s, chosen):  # type: ignore[override]
        """Return J, or with a fixed budget the stored J."""
        if s.now.rounds == 0:
            recommend_best(s, chosen)
        else:
            chosen[:] = np.flatnonzero(s.kept if s.kept.any() else members(s, 0, s.n))


class FixedBudget(Candidates):
    """UGapEb's rule, which returns the J with the smallest index over time.

    J is formed before each pull but not after the last one, and once if there are no pulls
    after the first ones.
    """

    budget: Whole
    a: float | None
    complexity: float | None

    def __post_init__(self):
        super().__post_init__()
        if self.a is not None and self.complexity is not None:
            refuse("complexity", self.complexity, "None when a is given")

    # whether the complexity is re-estimated in every step; a may then decrease
    estimated = property(lambda self: self.a is None and self.complexity is None)

    def state(self, arms: Arms) -> dict[str, Any]:
        """Return a (-1 if it is to be estimated), and each bandit's stored J and its index."""
        a = self.a
        if self.complexity is not None:
            pulls, unit = self.budget - self.initial_pulls * arms.n, 2 if self.variance else 4
            a = pulls / (unit * self.complexity)
        return {
            # a is finite for every complexity; with the same names all forms are compiled only once
            "a": -1.0 if a is None else min(a, 1e300),
            "complexity": 0.0,
            "variance": self.variance,
            "kept": Stored("flag", arms.n),
            "smallest": Stored("real", arms.bandits),
        }

    @rule
    def scale(s):
        if s.a < 0:
            pulls, unit = s.budget - s.initial_pulls * s.n, 2 if s.variance else 4
            return math.sqrt(pulls / (unit * estimated_complexity(s)))
        return math.sqrt(s.a)

    @rule
    def pick(s):
        keep_smallest(s)
        return wider(s), NO_ARM

    @rule
    def arm_withdrawn(s, arm):
        """Withdraw an arm, and discard the earlier sets of its bandit."""
        s.now.scale = scale(s)
        setup(s)
        keep(s, arm // (s.n // s.bandits))


class FixedConfidence(Candidates):
    """UGapEc's rule, which stops when the index of J is below epsilon."""

    delta: float
    certifies = anytime = True
    stops_by = joins_by = "intervals"

    def state(self, arms: Arms) -> dict[str, Any]:
        """Return ln(4n / delta), or ln(8n / delta) with variances; no J is stored."""
        log_ratio = math.log((8 if self.variance else 4) * arms.n / self.delta)
        return {"log_ratio": log_ratio, "variance": self.variance, "kept": Stored("flag", 0)}

    @rule
    def scale(s):
        if s.variance:
            return math.sqrt(2 * s.c * (s.log_ratio + 3 * math.log(s.now.total + 1.0)))
        return math.sqrt(s.c * (s.log_ratio + 3 * math.log(s.now.total)))

    @rule
    def done(s):
        return largest_index(s) < s.epsilon


def sample_variance(s, arm):
    """Return the variance of an arm's rewards, with divisor T - 1; 0 for one reward."""
    pulls = s.pulls[arm]
    # whole numbers for rewards 0 and 1, so that equal variances are equal floats
    spread = pulls * s.squares[arm] - s.sums[arm] * s.sums[arm]
    return max(0.0, spread) / max(float(pulls) * (pulls - 1), 1.0)


@allocates
def estimated_complexity_in_loops(s):
    """Return or do what `estimated_complexity` does."""
    total = 0.0
    for bandit in range(s.bandits):
        ranked = ranked_by(s.sums, s.pulls, active_of(s, bandit), 1.0)
        if ranked.size <= s.k or s.pulls[ranked[ranked.size - 1]] == 0:
            total += ranked.size
            continue
        inside = s.sums[ranked[s.k - 1]] / s.pulls[ranked[s.k - 1]]
        outside = s.sums[ranked[s.k]] / s.pulls[ranked[s.k]]
        for place in range(ranked.size):
            arm = ranked[place]
            mean, doubt = s.sums[arm] / s.pulls[arm], math.sqrt(0.5 / s.pulls[arm])
            gap = (mean - outside if place < s.k else inside - mean) + doubt
            margin, root = max((gap + s.epsilon) / 2, s.epsilon), 1.0
            if s.variance:
                sd = max(0.0, math.sqrt(sample_variance(s, arm)) - doubt)
                root = sd + math.sqrt(sd * sd + 13 / 3 * margin)
            total += (root / margin) * (root / margin)
    return total


@in_loops(estimated_complexity_in_loops)
def estimated_complexity(s):
    """Estimate the complexity, erring on the side of a small value.

    Gaps are increased by sqrt(1 / (2 pulls)), and with variances the standard deviations are
    decreased by the same amount.
    """
    parts = [np.zeros(1)]
    for bandit in range(s.bandits):
        ranked = ranked_by(s.sums, s.pulls, active_of(s, bandit), 1.0)
        pulls = s.pulls[ranked]
        if ranked.size <= s.k or pulls[-1] == 0:
            parts.append(np.array([float(ranked.size)]))
            continue
        means, doubt = s.sums[ranked] / pulls, np.sqrt(0.5 / pulls)
        gap = np.where(np.arange(ranked.size) < s.k, means - means[s.k], means[s.k - 1] - means)
        margin = np.maximum((gap + doubt + s.epsilon) / 2, s.epsilon)
        root = np.ones(ranked.size)
        if s.variance:
            spread = s.squares[ranked] - s.sums[ranked] * s.sums[ranked] / pulls
            spread = np.maximum(0.0, spread) / np.maximum(pulls - 1, 1)
            sd = np.maximum(0.0, np.sqrt(spread) - doubt)
            root = sd + np.sqrt(sd * sd + 13 / 3 * margin)
        parts.append((root / margin) * (root / margin))
    return np.concatenate(parts).cumsum()[-1]


@dataclass(frozen=True)
class UGapEb(FixedBudget):
    r"""Gap-based exploration (UGapE) with a fixed budget.

    Every arm has the radius :math:`\beta_i = \sqrt{a/T_i}`.  In each step the candidate set J(t) is
    formed from the indices B (see `topk.rules.search.ugape_scan`), and of the two arms that
    determine its index the one with the wider interval is pulled.  The J(t) with the smallest
    maximal index over time is returned.

    Parameters
    ----------
    k : int
        Number of arms to select, from 1 to n - 1.
    budget : int
        Q, the total number of pulls, at least n; at least 2 n in the variance form.
    epsilon : float
        Per-arm tolerance, in [0, 1).  It affects only a.
    a : float, optional
        Exploration parameter, positive.
    complexity : float, optional
        :math:`H_\epsilon`, positive; then :math:`a = (Q-n)/(4H_\epsilon)`, the choice of Theorem 1.
        In the variance form :math:`H^\sigma_\epsilon`, see `topk.hardness.ugape_complexity` with
        variances; then :math:`a = (Q-2n)/(2H^\sigma_\epsilon)`.  Without ``a`` and ``complexity``
        the complexity is re-estimated from all arms in every step: a pull then takes many times as
        long as with a given ``a``, the more the more arms there are.
    variance : bool
        Whether the radius uses each arm's sample variance,

        .. math:: \beta_i = \sqrt{\frac{2a\hat\sigma_i^2}{T_i}} + \frac{7a}{3(T_i-1)},

        with divisor :math:`T_i-1` in :math:`\hat\sigma_i^2`.  Every arm is first pulled twice, and
        the time of a step grows with n.

    Raises
    ------
    ValueError
        If both ``a`` and ``complexity`` are given.

    See Also
    --------
    UGapEc : the rule with fixed confidence.
    GapE : its predecessor.
    MultiBanditUGapEb : the rule for several bandits.

    Notes
    -----
    Gabillon, Ghavamzadeh and Lazaric (2012), Figures 1 and 2, for rewards in [0, 1] (b = 1).  J(t)
    is formed before each pull, from t = n + 1 to Q, and once if Q = n.  Ties in the index go to the
    arm with the lower number; ties between bounds to the wider interval, as in the paper, then to
    the lower number; of two equally wide intervals the arm with the lower number is pulled.  The
    estimate of the complexity is ours, in the manner of the authors' earlier GapE: gaps of the
    sample means are increased by :math:`\sqrt{1/(2T_i)}`; in the variance form the sample standard
    deviations are decreased by the same amount, but not below 0.  Both err on the side of a small
    complexity, that is, of more exploration.  The variance form is derived here from the empirical
    Bernstein bound of Maurer and Pontil (2009); the paper's own form is in a technical report that
    was not available to us.

    Examples
    --------
    >>> import topk
    >>> bandit = topk.BernoulliBandit([0.9, 0.8, 0.1, 0.2])
    >>> topk.run(UGapEb(2, budget=400, epsilon=0.1, a=2.0), bandit, rng=0).selected.tolist()
    [0, 1]
    """

    k: int
    budget: Whole
    epsilon: float
    a: float | None = None
    complexity: float | None = None
    variance: bool = False


@dataclass(frozen=True)
class UGapEc(FixedConfidence):
    r"""Gap-based exploration (UGapE) with a fixed confidence.

    The rule is that of `UGapEb`, with the radius

    .. math:: \beta_i = \sqrt{\frac{c\ln(4n(t-1)^3/\delta)}{T_i}}

    after t - 1 pulls.  The run ends when the largest index B in J(t) is below epsilon.

    Parameters
    ----------
    k, epsilon, delta
        As in `LUCB1`.
    c : float
        Exploration parameter, positive.  The guarantee is proved for c = 1/2.
    budget : int, optional
        Maximum number of pulls, at least n; at least 2 n in the variance form.  If it ends the run,
        J(t) is returned without a certificate.
    variance : bool
        Whether the radius uses each arm's sample variance: that of `UGapEb` in its variance form,
        with :math:`a = 2c\ln(8nt^3/\delta)`.

    See Also
    --------
    UGapEb : the rule with a fixed budget.
    LUCB1 : another choice of the pair.
    MultiBanditUGapEc : the rule for several bandits.

    Notes
    -----
    Gabillon, Ghavamzadeh and Lazaric (2012), Figures 1 and 2, equation (4), for rewards in [0, 1]
    (b = 1).  The first test is at t - 1 = n.  Ties are broken as in `UGapEb`.

    Examples
    --------
    >>> import topk
    >>> bandit = topk.BernoulliBandit([0.9, 0.8, 0.1, 0.2])
    >>> outcome = topk.run(UGapEc(2, epsilon=0.1, delta=0.05), bandit, rng=0)
    >>> outcome.selected.tolist(), outcome.certified
    ([0, 1], True)
    """

    k: int
    epsilon: float
    delta: float
    c: float = 0.5
    budget: Whole | None = None
    variance: bool = False


@dataclass(frozen=True)
class MultiBanditUGapEb(FixedBudget):
    r"""UGapE with a common fixed budget for several bandits.

    In each bandit the candidate set, its index and the arm to pull are those of `UGapEb`, with
    :math:`\beta_i=\sqrt{a/T_i}`.  Each pull goes to the bandit with the largest index.  For every
    bandit the candidate set with the smallest index over time is returned.

    Parameters
    ----------
    k : int
        Number of arms to select in each bandit, from 1 to n - 1.
    budget : int
        Q, the total number of pulls, at least M n.
    epsilon : float
        Per-arm tolerance, in [0, 1).  It affects only a.
    complexity : float, optional
        :math:`H_\epsilon`, positive, over all bandits (`topk.hardness.ugape_complexity` of the M x
        n means); then :math:`a = (Q-Mn)/(4H_\epsilon)`.  Without ``a`` and ``complexity`` it is
        re-estimated in every step, which takes time that grows with M n.
    a : float, optional
        Exploration parameter, positive.

    Raises
    ------
    ValueError
        If both ``a`` and ``complexity`` are given.

    See Also
    --------
    UGapEb : the rule for one bandit.
    MultiBanditUGapEc : with fixed confidence.

    Notes
    -----
    Gabillon, Ghavamzadeh and Lazaric (2012) say that such an extension exists; this rule is derived
    here, since the paper's own is in a technical report that was not available to us.  Its
    guarantee is :math:`\Pr[\text{some returned set misses }\epsilon]\le2MnQe^{-2a}`, see
    `topk.guarantees.ugapeb_error`.  Ties between bandits go to the lower number; other ties are
    broken, and the complexity is estimated, as in `UGapEb`.

    Examples
    --------
    >>> import topk
    >>> bandit = topk.MultiBandit([[0.9, 0.8, 0.1, 0.2], [0.1, 0.7, 0.2, 0.8]])
    >>> strategy = MultiBanditUGapEb(2, budget=800, epsilon=0.1, a=2.0)
    >>> topk.run(strategy, bandit, rng=0).selected.tolist()
    [[0, 1], [1, 3]]
    """

    k: int
    budget: Whole
    epsilon: float
    complexity: float | None = None
    a: float | None = None
    several = True


@dataclass(frozen=True)
class MultiBanditUGapEc(FixedConfidence):
    r"""UGapE with a common fixed confidence for several bandits.

    The rule is that of `MultiBanditUGapEb`, with the radius

    .. math:: \beta_i = \sqrt{\frac{c\ln(4Mn(t-1)^3/\delta)}{T_i}}

    after t - 1 pulls.  The run ends when the largest index of all bandits is below epsilon.

    Parameters
    ----------
    k : int
        Number of arms to select in each bandit, from 1 to n - 1.
    epsilon : float
        Per-arm tolerance, in [0, 1): with probability 1 - delta the mean of every returned arm is
        at least the k-th largest of its bandit minus epsilon.  With 0 and a tie at a boundary the
        run ends only when the budget is spent, or by an error.
    delta : float
        Probability of failing in any of the bandits, in (0, 1).
    c : float
        Exploration parameter, positive.  The guarantee is proved for c = 1/2.
    budget : int, optional
        Maximum number of pulls, at least M n.  If it ends the run, the candidate sets are returned
        without a certificate.

    See Also
    --------
    UGapEc : the rule for one bandit.
    MultiBanditUGapEb : with a fixed budget.

    Notes
    -----
    The rule is derived here, like that of `MultiBanditUGapEb`.  The first test is at t - 1 = M n.

    Examples
    --------
    >>> import topk
    >>> bandit = topk.MultiBandit([[0.9, 0.8, 0.1, 0.2], [0.1, 0.7, 0.2, 0.8]])
    >>> outcome = topk.run(MultiBanditUGapEc(2, epsilon=0.3, delta=0.1), bandit, rng=0)
    >>> outcome.selected.tolist(), outcome.certified
    ([[0, 1], [1, 3]], True)
    """

    k: int
    epsilon: float
    delta: float
    c: float = 0.5
    budget: Whole | None = None
    several = True
