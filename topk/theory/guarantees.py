"""What the papers promise: right-hand sides of the upper bounds, and a table that lines them up.

For the exact set: Bubeck et al. (2013).  For every arm: Gabillon et al. (2012) with UGapE's step in
the plain form, and the chain of lemmas behind LUCB1, repaired where needed: Kalyanakrishnan et al.
(2012), with what Halving and Direct pay after Kalyanakrishnan and Stone (2010).  For the average
regret: OptMAI, uniform sampling, CLUCB-PAC, AdaptiveTopK and ImprovedTopK.
"""

import math
from collections import namedtuple

import numpy as np
from scipy.special import zeta

from topk._checks import as_integers, as_vector, check_budget, check_integer, check_real, refuse
from topk.theory import (
    any_unit,
    between,
    checked,
    hardness,
    improved_topk_constants,
    integer,
    inverse_square,
    one_or_several,
    several,
    smallest_integer,
    up_to,
    up_to_all,
)

K1 = 1.25  # the constant k_1 of the radius beta_1

# Lemma 5's T_1^*: 146 follows from Lemma 4 at 4 u_1^* as published; a proof needs 16 u_1^*.
PUBLISHED, REPAIRED = 146, 705


# Bubeck et al. (2013)


@checked(n=integer(1))
def log_bar(n):
    r"""Return the constant of SAR's schedule.

    .. math:: \overline{\log}(n)=\frac12+\sum_{i=2}^n\frac1i.

    Parameters
    ----------
    n : int
        Number of arms, at least 1.

    Returns
    -------
    float

    Raises
    ------
    ValueError
        If ``n`` is no positive integer.

    Notes
    -----
    Bubeck et al. (2013), Figure 1.

    Examples
    --------
    >>> from topk.guarantees import log_bar
    >>> log_bar(2), round(log_bar(100), 3)
    (1.0, 4.687)
    """
    return 0.5 + float(np.sum(1.0 / np.arange(2, n + 1)))


@checked()
def sar_error(means, k, budget):
    r"""Bound on the probability that SAR misses one of the k best arms.

    .. math:: e_Q\le2n^2\exp\Bigl(-\frac{Q-n}{8\,\overline{\log}(n)\,H_2}\Bigr),
              \qquad\overline{\log}(n)=\tfrac12+\sum_{i=2}^n\tfrac1i.

    Parameters
    ----------
    means : array_like, shape (n,)
        True means in [0, 1], in any order.
    k : int
        Arms to select, 1 to n - 1.
    budget : int
        Q, total pulls, at least n. (`topk.SAR` itself needs n + 1: at n it makes no pull,
        and the bound is 2 n^2.)

    Returns
    -------
    float
        The bound as it stands; above 1 it says nothing. 2 n^2 when the boundary is tied.

    Raises
    ------
    ValueError
        For bad ``means`` or ``k``, or a budget below n.

    Notes
    -----
    Constant published: Bubeck et al. (2013), Theorem 1.  At the budgets of the paper's own
    experiments the value is above 5 for every m: there it promises nothing.

    Examples
    --------
    >>> from topk.guarantees import sar_error
    >>> round(sar_error([0.9, 0.5, 0.1], 1, budget=1_000), 4)
    0.0102
    """
    return 2 * means.size**2 * math.exp(-sar_exponent(means, k, budget))


@checked()
def sar_budget(means, k, delta):
    r"""Smallest budget at which SAR's bound promises error at most delta.

    Solves Theorem 1: :math:`Q=n+8\,\overline{\log}(n)\,H_2\ln(2n^2/\delta)`, rounded up.

    Parameters
    ----------
    means, k
        As for `sar_error`.
    delta : float
        Probability of error allowed, in (0, 1).

    Returns
    -------
    int or float
        Total pulls; ``inf`` when the boundary is tied.

    Raises
    ------
    ValueError
        For bad ``means``, ``k`` or ``delta``.

    Notes
    -----
    Constant published: Bubeck et al. (2013), Theorem 1, solved for the budget.

    Examples
    --------
    >>> from topk.guarantees import sar_budget, sar_error
    >>> budget = sar_budget([0.9, 0.5, 0.1], 1, delta=0.05)
    >>> budget, sar_error([0.9, 0.5, 0.1], 1, budget) <= 0.05
    (788, True)
    """
    n = means.size
    budget = n + 8 * log_bar(n) * hardness.h2(means, k) * math.log(2 * n * n / delta)
    return math.ceil(budget) if math.isfinite(budget) else math.inf


@checked(means=several)
def multibandit_sar_error(means, budget):
    r"""Bound on the probability that multi-bandit SAR misses the best arm of some bandit.

    .. math:: e_Q\le2M^2n^2\exp\Bigl(-\frac{Q-Mn}{8\,\overline{\log}(Mn)\,H_2^{[M]}}\Bigr).

    Parameters
    ----------
    means : array_like, shape (M, n)
        True means in [0, 1], a row for each bandit.
    budget : int
        Q, total pulls over all bandits, at least M n. (`topk.MultiBanditSAR` itself needs
        one more: at M n it makes no pull.)

    Returns
    -------
    float
        The bound as it stands; above 1 it says nothing.

    Raises
    ------
    ValueError
        For bad ``means`` or a budget below M n.

    Notes
    -----
    Constant published: Bubeck et al. (2013), Theorem 2.

    Examples
    --------
    >>> from topk.guarantees import multibandit_sar_error
    >>> round(multibandit_sar_error([[0.9, 0.1], [0.2, 0.8]], budget=500), 4)
    0.0608
    """
    return 2 * means.size**2 * math.exp(-sar_exponent(means, 1, budget))


def _k_of_sar(value, name, given):
    """Range of k: of several bandits the best arms are sought."""
    return check_integer(value, name, 1, given["means"].size - 1 if given["means"].ndim == 1 else 1)


@checked(means=one_or_several, k=_k_of_sar)
def sar_exponent(means, k, budget):
    r"""Exponent of SAR's bound, for one bandit or several; both theorems share its form.

    .. math:: \frac{Q-N}{8\,\overline{\log}(N)\,H_2},

    with :math:`N=n` and the :math:`H_2` of one bandit, or :math:`N=Mn` and
    :math:`H_2^{[M]}` for M bandits.

    Parameters
    ----------
    means : array_like, shape (n,) or (M, n)
        True means in [0, 1], in any order; two axes mean M bandits.
    k : int
        Arms to select, 1 to n - 1; 1 for several bandits.
    budget : int
        Q, total pulls, at least N.

    Returns
    -------
    float
        At least 0; 0 when a boundary is tied.

    Raises
    ------
    ValueError
        For bad ``means`` or ``k``, or a budget below N.

    See Also
    --------
    sar_error : the bound for one bandit.
    multibandit_sar_error : the bound for several.

    Notes
    -----
    Constant published: Bubeck et al. (2013), Theorems 1 and 2.

    Examples
    --------
    >>> from topk.guarantees import sar_exponent
    >>> round(sar_exponent([0.9, 0.5, 0.1], 1, budget=1_000), 3)
    7.478
    >>> round(sar_exponent([[0.9, 0.1], [0.2, 0.8]], 1, budget=500), 3)
    6.265
    """
    h = hardness.h2(means, k) if means.ndim == 1 else hardness.h_multibandit(means)[1]
    return (budget - means.size) / (8 * log_bar(means.size) * h)


@checked(means=one_or_several, k=_k_of_sar, part=up_to(1))
def sar_windows(means, k, part=0.25):
    r"""How far an average may be off after each phase of SAR, on the event of its proof.

    .. math:: \tfrac14\Delta_{(N)},\ \tfrac14\Delta_{(N-1)},\ \dots,\ \tfrac14\Delta_{(2)}
              \qquad\text{after phases }1,\dots,N-1,

    where :math:`\Delta_{(1)}\le\dots\le\Delta_{(N)}` are the gaps of all :math:`N=n` arms of
    one bandit, or of all :math:`N=Mn` arms of M bandits, each inside its own.

    Parameters
    ----------
    means, k
        As for `sar_exponent`.
    part : float
        In (0, 1]: the part of a gap that is allowed; a quarter in the proof.

    Returns
    -------
    ndarray, shape (N - 1,)
        The widest first.

    Raises
    ------
    ValueError
        If an argument is outside its range.

    Notes
    -----
    Constant published: Bubeck et al. (2013), the event :math:`\xi` in the proofs of
    Theorems 1 and 2.

    Examples
    --------
    >>> from topk.guarantees import sar_windows
    >>> sar_windows([1.0, 0.5, 0.0], 1)
    array([0.25 , 0.125])
    >>> sar_windows([[1.0, 0.0], [0.0, 0.5]], 1)
    array([0.25 , 0.25 , 0.125])
    """
    widest_first = np.sort([hardness.gaps(row, k) for row in np.atleast_2d(means)], axis=None)[::-1]
    return part * widest_first[:-1]


@checked(mean=any_unit, off=any_unit)
def average_off(mean, pulls, off, slack=1e-9):
    r"""Exact probability that an average of Bernoulli rewards is off by more than allowed.

    .. math:: \Pr\{|\hat\theta_s-\theta|>x\}\le2e^{-2sx^2}

    by Hoeffding's inequality, which this is to be compared with. Arrays are broadcast.

    Parameters
    ----------
    mean : float or array_like
        :math:`\theta`, in [0, 1].
    pulls : int or array_like of int
        s, how many rewards are averaged, at least 1.
    off : float or array_like
        x, in [0, 1].
    slack : float
        In [0, 1]: an average that is off by at most x + ``slack`` is not counted, so that
        rounding does not decide about an average at the very end.

    Returns
    -------
    float or ndarray

    Raises
    ------
    ValueError
        If an argument is outside its range.

    Notes
    -----
    What the proofs of Theorems 1 and 2 of Bubeck et al. (2013) bound by Hoeffding's
    inequality.

    Examples
    --------
    >>> from topk.guarantees import average_off
    >>> float(average_off(0.5, 2, 0.25)), float(average_off(0.5, 2, 0.5))
    (0.5, 0.0)
    """
    from scipy.stats import binom

    slack = check_real(slack, "slack", 0, 1)
    pulls = as_integers(pulls, "pulls", 1)
    low = np.ceil(pulls * (mean - off - slack))
    high = np.floor(pulls * (mean + off + slack))
    return binom.cdf(low - 1, pulls, mean) + binom.sf(high, pulls, mean)


# Gabillon et al. (2012)


_STEP_FIELDS = "index candidates best_outside worst_inside pulled index_of_set between"


class UGapEStep(namedtuple("UGapEStep", _STEP_FIELDS)):
    """What UGapE computes in one step.

    Attributes
    ----------
    index : ndarray of float, shape (n,)
        B: the k-th largest upper bound of the other arms minus the arm's own lower bound.
    candidates : ndarray of int, shape (k,)
        J: the arms with the smallest index, in increasing order.
    best_outside : int
        u: the arm outside J with the largest upper bound.
    worst_inside : int
        l: the arm inside J with the smallest lower bound.
    pulled : int
        The wider of the two.
    index_of_set : float
        The largest index in J, which decides when UGapEc stops.
    between : float
        U of ``best_outside`` minus L of ``worst_inside``; never below ``index_of_set``.
    """


def ugape_step(means, radii, k):
    r"""Choose the arm to pull as UGapE does, from means and confidence radii.

    .. math:: B_i=\max^{k}_{j\ne i}U_j-L_i,\qquad U_i=\hat\theta_i+\beta_i,\quad
              L_i=\hat\theta_i-\beta_i .

    Parameters
    ----------
    means : array_like of float, shape (n,)
        Empirical means, finite.
    radii : array_like of float, shape (n,)
        Radii of the confidence intervals, positive.
    k : int
        Arms to select, 1 to n - 1.

    Returns
    -------
    UGapEStep

    Raises
    ------
    ValueError
        If the arrays are not of one shape (n,), a radius is not positive, or ``k`` is out
        of range.

    Notes
    -----
    Gabillon et al. (2012), Figure 2.  Ties of a bound go to the wider arm, as there; all
    other ties to the lower number.  This is the plain form, with a sort a step, of what
    `topk.UGapEb` and `topk.UGapEc` keep up to date.

    Examples
    --------
    >>> from topk.guarantees import ugape_step
    >>> step = ugape_step([0.75, 0.5, 0.25], [0.25, 0.125, 0.125], 1)
    >>> step.index.tolist(), step.candidates.tolist(), step.pulled
    ([0.125, 0.625, 0.875], [0], 0)
    """
    means, radii = as_vector(means, "means"), as_vector(radii, "radii", positive=True)
    if radii.size != means.size:
        refuse("radii", f"{radii.size} numbers", f"as many as means, {means.size}")
    check_integer(k, "k", 1, means.size - 1)
    upper, lower = means + radii, means - radii
    by_upper = np.argsort(-upper, kind="stable")
    others = np.full(means.size, upper[by_upper[k - 1]])  # the k-th largest U of the others
    others[by_upper[:k]] = upper[by_upper[k]]
    index = others - lower
    by_index = np.argsort(index, kind="stable")
    candidates, rest = np.sort(by_index[:k]), np.sort(by_index[k:])
    u = rest[np.lexsort((-radii[rest], -upper[rest]))[0]]
    worst = candidates[np.lexsort((-radii[candidates], lower[candidates]))[0]]
    pulled = min(u, worst, key=lambda arm: (-radii[arm], arm))
    index_of_set, between = float(index[candidates].max()), float(upper[u] - lower[worst])
    return UGapEStep(index, candidates, int(u), int(worst), int(pulled), index_of_set, between)


def ugape_ceiling(gap, radius):
    r"""Bound of Lemma 2 on the index of UGapE's set, from the arm that is pulled.

    .. math:: B_{J(t)}(t)\le\min(0,-\Delta+2\beta)+2\beta .

    Parameters
    ----------
    gap : float or array_like
        Gap of the pulled arm to the boundary, at least 0.
    radius : float or array_like
        Its radius before the pull, positive.

    Returns
    -------
    float or ndarray

    Raises
    ------
    ValueError
        If ``gap`` is negative or ``radius`` not positive.

    Notes
    -----
    Gabillon et al. (2012), Lemma 2, equation (8); it holds when every mean lies within its
    radius.

    Examples
    --------
    >>> from topk.guarantees import ugape_ceiling
    >>> ugape_ceiling([0.5, 0.5], [0.125, 0.5]).tolist()
    [0.0, 1.0]
    """
    gap, radius = np.asarray(gap, dtype=float), np.asarray(radius, dtype=float)
    if not (gap >= 0).all():
        refuse("gap", gap.tolist(), "at least 0")
    if not (radius > 0).all():
        refuse("radius", radius.tolist(), "positive")
    return (np.minimum(0, 2 * radius - gap) + 2 * radius)[()]


@checked(means=one_or_several)
def ugapeb_error(means, k, budget, epsilon, a=None):
    r"""Bound on the probability that UGapEb's arms are not all within epsilon.

    .. math:: \tilde\delta\le2nQ\,e^{-2a}\quad\text{for}\quad0<a\le\frac{Q-n}{4H_\epsilon},
              \qquad\text{at best}\quad2nQ\exp\Bigl(-\frac{Q-n}{2H_\epsilon}\Bigr).

    Parameters
    ----------
    means, k, epsilon
        As for `ugapeb_budget`.
    budget : int
        Q, total pulls, above n.
    a : float, optional
        Exploration parameter of the radius; the largest that is covered unless given.

    Returns
    -------
    float
        The bound as it stands; above 1 it says nothing. (The bound multiplies by Q, so
        it first rises with the budget.)

    Raises
    ------
    ValueError
        For arguments that `topk.hardness.ugape_complexity` refuses, a budget that is too
        small, or ``a`` not positive or above the theorem's range.

    Notes
    -----
    Constant published: Gabillon et al. (2012), Theorem 1, read with
    :math:`\tilde\delta=\Pr[r>\epsilon]` (the text prints :math:`\ge`, a slip).  Several
    bandits are derived here.

    Examples
    --------
    >>> from topk.guarantees import ugapeb_error
    >>> round(ugapeb_error([0.9, 0.5, 0.1], 1, budget=1_000, epsilon=0.1), 6)
    0.008263
    """
    complexity = hardness.ugape_complexity(means, k, epsilon)
    budget = check_budget(budget, smallest=means.size + 1)
    largest = (budget - means.size) / (4 * complexity)
    a = largest if a is None else check_real(a, "a", 0, largest, low_open=True)
    return 2 * means.size * budget * math.exp(-2 * a)


@checked(means=one_or_several)
def ugapeb_budget(means, k, epsilon, delta):
    r"""Smallest budget from which on UGapEb's bound promises error at most delta.

    Solves :math:`2nQ\exp(-(Q-n)/(2H_\epsilon))\le\delta` for Q.

    Parameters
    ----------
    means : array_like, shape (n,) or (M, n)
        True means in [0, 1]; two axes mean M bandits.
    k : int
        Arms to select in each bandit, 1 to n - 1.
    epsilon : float
        Tolerance per arm, in [0, 1).
    delta : float
        Probability of error allowed, in (0, 1).

    Returns
    -------
    int or float
        Total pulls; ``inf`` when epsilon is 0 and a boundary is tied.

    Raises
    ------
    ValueError
        For bad ``means``, ``k``, ``epsilon`` or ``delta``.

    Notes
    -----
    Constant published: Gabillon et al. (2012), Theorem 1, solved for the budget.

    Examples
    --------
    >>> from topk.guarantees import ugapeb_budget
    >>> ugapeb_budget([0.9, 0.5, 0.1], 1, epsilon=0.1, delta=0.05)
    856
    """
    n, factor = means.size, 2 * hardness.ugape_complexity(means, k, epsilon)
    constant = math.log(2 * n / delta)
    # (q - n) / (2 H) - ln q is convex, and too small at q = n + 1 since H >= n: one crossing.
    return smallest_integer(lambda q: constant + math.log(q) <= (q - n) / factor, n + 1)


@checked(means=one_or_several)
def ugapec_pulls(means, k, epsilon, delta):
    r"""Pulls that UGapEc exceeds with probability at most delta.

    The largest integer :math:`\tilde n` with

    .. math:: \tilde n\le2H_\epsilon\ln\frac{4n(\tilde n-1)^3}\delta+n .

    Parameters
    ----------
    means, k, epsilon, delta
        As for `ugapeb_budget`.

    Returns
    -------
    int or float
        Total pulls; ``inf`` when epsilon is 0 and a boundary is tied.

    Raises
    ------
    ValueError
        For arguments that `topk.hardness.ugape_complexity` refuses, or bad ``delta``.

    Notes
    -----
    Gabillon et al. (2012), Theorem 2: the implicit bound of its proof, solved; the printed
    step has lost the factor 4 inside the logarithm.  Several bandits are *derived* here.

    Examples
    --------
    >>> from topk.guarantees import ugapec_pulls
    >>> ugapec_pulls([0.9, 0.5, 0.1], 1, epsilon=0.1, delta=0.05)
    2103
    """
    n, factor = means.size, 2 * hardness.ugape_complexity(means, k, epsilon)
    constant = math.log(4 * n / delta)
    # The right-hand side minus x is concave and not negative at x = 2: one last crossing.
    return smallest_integer(lambda x: x > factor * (constant + 3 * math.log(x - 1)) + n, 2) - 1


# Kalyanakrishnan et al. (2012), Kalyanakrishnan and Stone (2010)


@checked(horizon=integer(0))
def lucb1_coverage(n, delta, horizon=None):
    r"""Probability that some confidence interval of LUCB1 ever fails, on one side of one arm.

    .. math:: \sum_{t\ge1}\sum_{u=1}^te^{-2u\beta_1(u,t)^2}
              =\frac{\zeta(3)}{k_1}\frac\delta n\approx0.962\,\frac\delta n\le\frac\delta n .

    Parameters
    ----------
    n : int
        Number of arms.
    delta : float
        In (0, 1).
    horizon : int, optional
        Add up only rounds t up to here; all of them unless given.

    Returns
    -------
    float
        The left-hand side of condition (4) for :math:`\beta_1`, which Theorem 1 needs to be
        at most :math:`\delta/n`.

    Raises
    ------
    ValueError
        If an argument is outside its range.

    Notes
    -----
    Kalyanakrishnan et al. (2012), (4) and Theorem 1.  The formula is lost in our copy; the
    restored inner sum stops at u = t (for :math:`\beta_1` an infinite one diverges).  The
    terms of a round are all :math:`\delta/(k_1nt^4)`.

    Examples
    --------
    >>> from topk.guarantees import lucb1_coverage
    >>> round(lucb1_coverage(10, 0.1) / 0.01, 3)
    0.962
    """
    tail = 0.0 if horizon is None else zeta(3, horizon + 1)
    return float((zeta(3) - tail) / K1 * delta / n)


@checked(t=integer(1))
def lucb1_crossing(t, delta):
    r"""Probability that any arm has crossed in round t, :math:`\delta/(k_1t^3)`.

    Parameters
    ----------
    t : int
        Round, at least 1.
    delta : float
        In (0, 1).

    Returns
    -------
    float
        The bound.

    Raises
    ------
    ValueError
        If an argument is outside its range.

    Notes
    -----
    Kalyanakrishnan et al. (2012), Lemma 3; the formula is lost in our copy and *derived*
    here as :math:`\sum_a\sum_{u\le t}\delta/(k_1nt^4)`.

    Examples
    --------
    >>> from topk.guarantees import lucb1_crossing
    >>> lucb1_crossing(10, 0.1)
    8e-05
    """
    return delta / (K1 * t**3)


@checked(t=integer(1))
def lucb1_needy(means, k, epsilon, delta, t):
    r"""Probability that an arm is still needy in round t although sampled long enough.

    .. math:: \Pr\{\exists a:\ u_a^t>16u_1^*(a,t)\wedge\mathrm{NEEDY}_a^t\}
              \le\frac{4\delta H^{\epsilon/2}}{k_1nt^4},\qquad
              u_1^*(a,t)=\Bigl\lceil\frac{1}{2\max(\Delta_a,\epsilon/2)^2}
              \ln\frac{k_1nt^4}\delta\Bigr\rceil .

    Parameters
    ----------
    means, k, epsilon, delta
        As for `lucb1_rounds`.
    t : int
        Round, at least 1.

    Returns
    -------
    float
        The bound; ``inf`` when epsilon is 0 and the boundary is tied.

    Raises
    ------
    ValueError
        For bad ``means``, ``k``, ``epsilon``, ``delta`` or ``t``.

    Notes
    -----
    *Repaired*.  Lemma 4 of Kalyanakrishnan et al. (2012) speaks of
    :math:`4u_1^*`; its formula is lost in our copy.  For :math:`u_1^*` as the words describe
    it no vanishing bound can hold at 4: there the radius of arms k and k + 1 equals their
    distance from the middle, and they are needy about half the time.

    Examples
    --------
    >>> from topk.guarantees import lucb1_needy
    >>> round(lucb1_needy([0.75, 0.25], 1, 0.0, 0.1, t=100) * 1e9, 9)
    12.8
    """
    return 4 * delta * hardness.lucb_complexity(means, k, epsilon) / (K1 * len(means) * t**4)


@checked()
def lucb1_rounds(means, k, epsilon, delta, *, published=False):
    r"""Rounds after which LUCB1 has very probably stopped.

    .. math:: T_1^*=\Bigl\lceil C\,H^{\epsilon/2}\ln\frac{H^{\epsilon/2}}\delta\Bigr\rceil,
              \qquad C=705\text{ (repaired)},\quad C=146\text{ (published)}.

    Parameters
    ----------
    means : array_like, shape (n,)
        True means in [0, 1], in any order.
    k : int
        Arms to select, 1 to n - 1.
    epsilon : float
        Tolerance per arm, in [0, 1).
    delta : float
        In (0, 1).
    published : bool
        Give the published constant, whose proof in our reading fails at Lemma 4.

    Returns
    -------
    int or float
        Rounds (two pulls each, after one pull of every arm); ``inf`` when epsilon is 0 and
        the boundary is tied.

    Raises
    ------
    ValueError
        For bad ``means``, ``k``, ``epsilon``, ``delta`` or ``published``.

    Notes
    -----
    Kalyanakrishnan et al. (2012), Lemma 5, with the constant of the *repaired* Lemma 4 (see
    `lucb1_needy`): :math:`T\ge T_1^*` implies :math:`T>2+32\sum_au_1^*(a,T)`.  In our
    simulations LUCB1 stops 20 to 110 times earlier than even the published value.

    Examples
    --------
    >>> from topk.guarantees import lucb1_rounds
    >>> means = [0.75, 0.25]
    >>> lucb1_rounds(means, 1, 0.0, 0.1), lucb1_rounds(means, 1, 0.0, 0.1, published=True)
    (24715, 5119)
    """
    complexity = hardness.lucb_complexity(means, k, epsilon)
    rounds = (PUBLISHED if published else REPAIRED) * complexity * math.log(complexity / delta)
    return math.ceil(rounds) if math.isfinite(rounds) else math.inf


def lucb1_overrun(means, k, epsilon, delta, rounds):
    r"""Probability that LUCB1 has not stopped after T rounds, :math:`4\delta/T^2`.

    Parameters
    ----------
    means, k, epsilon, delta
        As for `lucb1_rounds`.
    rounds : int
        T, at least :math:`T_1^*` (see `lucb1_rounds`).

    Returns
    -------
    float
        The bound.

    Raises
    ------
    ValueError
        For arguments that `lucb1_rounds` refuses, or a T that Lemma 5 does not cover.

    Notes
    -----
    Published: Kalyanakrishnan et al. (2012), Lemma 5; :math:`T_1^*` *repaired*.  The repaired
    proof even gives :math:`2\delta/T^2`.

    Examples
    --------
    >>> from topk.guarantees import lucb1_overrun
    >>> round(lucb1_overrun([0.75, 0.25], 1, 0.0, 0.1, rounds=50_000) * 1e9, 6)
    0.16
    """
    first = lucb1_rounds(means, k, epsilon, delta)
    return 4 * delta / check_real(rounds, "rounds", first, math.inf, high_open=True) ** 2


def lucb1_expected_pulls(means, k, epsilon, delta):
    r"""Bound on the expected number of pulls of LUCB1.

    .. math:: n+2\Bigl(T_1^*+\sum_{t\ge T_1^*}\frac{4\delta}{t^2}\Bigr)
              =O\Bigl(H^{\epsilon/2}\ln\frac{H^{\epsilon/2}}\delta\Bigr).

    Parameters
    ----------
    means, k, epsilon, delta
        As for `lucb1_rounds`.

    Returns
    -------
    float
        Pulls; ``inf`` when epsilon is 0 and the boundary is tied.

    Raises
    ------
    ValueError
        For arguments that `lucb1_rounds` refuses.

    Notes
    -----
    Kalyanakrishnan et al. (2012), Theorem 6, states the order (the formula is lost in our
    copy); the explicit form is *derived* from Lemma 5, with the n first pulls counted.

    Examples
    --------
    >>> from topk.guarantees import lucb1_expected_pulls
    >>> round(lucb1_expected_pulls([0.75, 0.25], 1, 0.0, 0.1))
    49432
    """
    rounds = lucb1_rounds(means, k, epsilon, delta)
    return float(len(means) + 2 * (rounds + 4 * delta * zeta(2, rounds)))


def lucb1_likely_pulls(means, k, epsilon, delta):
    r"""Pulls that LUCB1 exceeds with probability at most delta, :math:`n+2T_1^*`.

    Parameters
    ----------
    means, k, epsilon, delta
        As for `lucb1_rounds`.

    Returns
    -------
    int or float
        Pulls; ``inf`` when epsilon is 0 and the boundary is tied.

    Raises
    ------
    ValueError
        For arguments that `lucb1_rounds` refuses.

    Notes
    -----
    Kalyanakrishnan et al. (2012), Corollary 7, states the order; the explicit form is
    *derived*: :math:`4\delta/(T_1^*)^2\le\delta`.

    Examples
    --------
    >>> from topk.guarantees import lucb1_likely_pulls
    >>> lucb1_likely_pulls([0.75, 0.25], 1, 0.0, 0.1)
    49432
    """
    return 2 * lucb1_rounds(means, k, epsilon, delta) + len(means)


@checked(k=lambda k, name, given: check_integer(k, name, 1, given["n"]), epsilon=between(0, 1))
def halving_pulls(n, k, epsilon, delta):
    r"""Pulls of Halving: its schedule is fixed in advance.

    .. math:: \sum_{l=1}^{\lceil\log_2(n/k)\rceil}|R_l|
              \Bigl\lceil\frac2{\epsilon_l^2}\ln\frac{3k}{\delta_l}\Bigr\rceil,\quad
              \epsilon_l=\tfrac\epsilon4\bigl(\tfrac34\bigr)^{l-1},\quad
              \delta_l=\delta2^{-l},\quad|R_{l+1}|=\max(\lceil|R_l|/2\rceil,k).

    Parameters
    ----------
    n : int
        Number of arms.
    k : int
        Arms to select, 1 to n.
    epsilon : float
        Tolerance per arm, in (0, 1).
    delta : float
        In (0, 1).

    Returns
    -------
    int
        Exactly the pulls made, at most
        :math:`\frac n{\epsilon^2}(288\ln\frac{6k}\delta+1598)` plus the rounding.

    Raises
    ------
    ValueError
        If an argument is outside its range.

    Notes
    -----
    Kalyanakrishnan and Stone (2010), whose paper we have not seen: the schedule is
    *recovered* from independent code, its analysis and the closed form *derived*;
    :math:`O(\frac n{\epsilon^2}\ln\frac k\delta)` is published.

    Examples
    --------
    >>> from topk.guarantees import halving_pulls
    >>> halving_pulls(8, 2, epsilon=0.5, delta=0.1)
    9896
    """
    total, size, level, failure = 0, n, epsilon / 4, delta / 2
    while size > k:  # ceil(log2(n / k)) times
        total += size * math.ceil(2 / max(level, 1e-100) ** 2 * math.log(3 * k / failure))
        size, level, failure = max((size + 1) // 2, k), 0.75 * level, failure / 2
    return total


@checked(epsilon=between(0, 1))
def direct_pulls(n, epsilon, delta):
    r"""Pulls of the direct method, :math:`n\lceil\frac2{\epsilon^2}\ln\frac n\delta\rceil`.

    Parameters
    ----------
    n : int
        Number of arms.
    epsilon : float
        Tolerance per arm, in (0, 1).
    delta : float
        In (0, 1).

    Returns
    -------
    int
        Total pulls, the same number for each arm; the k largest means are returned.

    Raises
    ------
    ValueError
        If an argument is outside its range.

    Notes
    -----
    *Recalled*: the baseline of Kalyanakrishnan and Stone (2010).  Each mean is off by
    :math:`\epsilon/2` on one side with probability at most :math:`\delta/n`.

    Examples
    --------
    >>> from topk.guarantees import direct_pulls
    >>> direct_pulls(1000, epsilon=0.1, delta=0.1)
    1843000
    """
    return n * math.ceil(2 / epsilon**2 * math.log(n / delta))


BETA = 0.75 * math.exp(0.2)  # OptMAI's ratio of budgets in the theorems


@checked(k=integer(1))
def qe_regret(size, k, pulls, delta):
    r"""Loss of one quartile elimination, as a bound on the fall of the k best arms' average.

    .. math:: \mathrm{val}_k(V)\ge\mathrm{val}_k(S)-\epsilon,\qquad
              \epsilon=\sqrt{\frac{|S|}Q\Bigl(10+\frac{4\ln(2/\delta)}k\Bigr)}
              \quad\text{with probability }1-\delta.

    Parameters
    ----------
    size : int
        :math:`|S|`, arms at the start of the round, at least 4 k.
    k : int
        Arms to select.
    pulls : int
        Q, pulls of the round in all, at least ``size``.
    delta : float
        In (0, 1).

    Returns
    -------
    float
        :math:`\epsilon`; above 1 it says nothing.

    Raises
    ------
    ValueError
        If an argument is outside its range.

    Notes
    -----
    Constant published: Zhou et al. (2014), Lemma 4.1.  Its proof in the supplement misses
    a factor 2 in one exponent; the constant stands.

    Examples
    --------
    >>> from topk.guarantees import qe_regret
    >>> round(qe_regret(100, 10, pulls=100_000, delta=0.1), 4)
    0.1058
    """
    size = check_integer(size, "size", 4 * k)
    pulls = check_budget(pulls, "pulls", size)
    return math.sqrt(size / pulls * (10 + 4 * math.log(2 / delta) / k))


@checked(k=integer(1))
def ar_regret(size, k, pulls, delta, *, published=False):
    r"""Loss of one accept-reject round, as a bound on the fall of the best attainable average.

    .. math:: \epsilon=\sqrt{\frac{|S|}Q\Bigl(32+\frac{8\ln(2/\delta)}k\Bigr)}
              \ \text{(repaired)},\qquad
              \epsilon=\sqrt{\frac{|S|}Q\Bigl(4+\frac{\ln(2/\delta)}k\Bigr)}
              \ \text{(published)}.

    Parameters
    ----------
    size : int
        :math:`|S|`, arms at the start of the round, 1 to 4 k.
    k, delta
        As for `qe_regret`.
    pulls : int
        Q, pulls of the round in all, at least ``size``.
    published : bool
        Give the printed constant, which the printed proof does not reach.

    Returns
    -------
    float
        :math:`\epsilon`, holding with probability 1 - delta; above 1 it says nothing.

    Raises
    ------
    ValueError
        If an argument is outside its range.

    Notes
    -----
    Zhou et al. (2014), Lemma 4.2.  The printed proof loses a factor 8: the supplement's
    union bound needs :math:`\epsilon^2Q_0k\ge8|S|+8\ln(2/\delta)`; hence the *repaired*
    constant.  The published constant is nevertheless true, by a
    *derived* argument: the loss is at most :math:`\theta(G)-\theta(H)` for sets of equal size
    inside and outside the true top with :math:`\hat\theta(G)\le\hat\theta(H)`, so that it
    exceeds :math:`\epsilon k` with probability at most :math:`2^{|S|}e^{-\epsilon^2Q_0k}`,
    if the round decides by rank.  Theorem 4.3 is not affected.

    Examples
    --------
    >>> from topk.guarantees import ar_regret
    >>> round(ar_regret(40, 10, pulls=100_000, delta=0.1), 4)
    0.1173
    """
    size = check_integer(size, "size", 1, 4 * k)
    pulls = check_budget(pulls, "pulls", size)
    factor = 1 if published else 8
    return math.sqrt(factor * size / pulls * (4 + math.log(2 / delta) / k))


def _optmai_loss(n, k, delta, beta):
    """Return c with regret <= c / sqrt(Q): the sum of the rounds' losses, see `optmai_regret`."""
    loss, share, size, log = 0.0, 1 - beta, n, math.log(2 / delta / (1 - math.exp(-0.1)))
    while size > 0:
        constant = 10 + 4 * log / k if size >= 4 * k else 8 * (size * math.log(2) + log) / k
        loss += math.sqrt(size / share * constant)
        share, size, log = share * beta, size - math.ceil(size / 4), log + 0.1
    return loss


def _complement(n, k, epsilon):
    """Return (k, epsilon) of the problem that is sampled: the smaller side, by 1 - reward."""
    return (k, epsilon) if 2 * k <= n else (n - k, epsilon * k / (n - k))


@checked()
def optmai_regret(n, k, budget, delta, beta=BETA):
    r"""Average regret that OptMAI guarantees with probability 1 - delta.

    .. math:: \epsilon=\sum_r\sqrt{\frac{s_r}{\beta^r(1-\beta)Q}\,c_r},\qquad
              c_r=10+\frac{4\ln(2/\delta_r)}k\ (s_r\ge4k),\quad
              c_r=\frac8k\Bigl(s_r\ln2+\ln\frac2{\delta_r}\Bigr)\ (s_r<4k),

    with :math:`s_0=n`, :math:`s_{r+1}=s_r-\lceil s_r/4\rceil` down to 0, and
    :math:`\delta_r=e^{-r/10}(1-e^{-1/10})\,\delta`.

    Parameters
    ----------
    n : int
        Number of arms.
    k : int
        Arms to select, 1 to n - 1. For k > n / 2 the worst n - k arms are sought
        instead (Theorem 4.5), and the loss is spread over the k arms.
    budget : int
        Q, total pulls, at least n.
    delta : float
        In (0, 1).
    beta : float
        Ratio of consecutive rounds' budgets, in (3/4, 1).

    Returns
    -------
    float
        :math:`\epsilon`; above 1 it says nothing.

    Raises
    ------
    ValueError
        If an argument is outside its range.

    Notes
    -----
    Zhou et al. (2014), Theorem 4.3 and 4.5, state the order
    :math:`O(\sqrt{\frac nQ(1+\frac{\ln(1/\delta)}k)})`.  The constant is *derived* here by
    adding up Lemma 4.1 and the repaired Lemma 4.2 (with :math:`2^{|S|}` kept) over the
    rounds, for fresh samples in every round and pulls that divide evenly; it is far from
    tight.

    Examples
    --------
    >>> from topk.guarantees import optmai_regret
    >>> round(optmai_regret(1000, 100, budget=10**9, delta=0.1), 4)
    0.0845
    """
    side, spread = _complement(n, k, 1.0)
    return _optmai_loss(n, side, delta, beta) / math.sqrt(budget) / spread


@checked(epsilon=between(0, 1), k=up_to_all)
def optmai_pulls(n, k, epsilon, delta, beta=BETA):
    r"""Budget with which OptMAI guarantees average regret epsilon.

    The Q at which the sum of `optmai_regret` is epsilon; of the order
    :math:`\frac n{\epsilon^2}\bigl(1+\frac{\ln(1/\delta)}k\bigr)`.

    Parameters
    ----------
    n, delta, beta
        As for `optmai_regret`.
    k : int
        Arms to select, 1 to n; with k = n nothing has to be found out.
    epsilon : float
        Average regret, in (0, 1).

    Returns
    -------
    int
        Total pulls, at least n; 0 for k = n.

    Raises
    ------
    ValueError
        If an argument is outside its range.

    Notes
    -----
    The shape is published (Zhou et al. (2014), Corollary 4.4 and Theorem 4.5); the constant
    is *derived* here, as in `optmai_regret`.  What suffices in practice is several orders of
    magnitude smaller.

    Examples
    --------
    >>> from topk.guarantees import optmai_pulls
    >>> optmai_pulls(1000, 100, epsilon=0.1, delta=0.1)
    714323497
    """
    if k == n:
        return 0
    side, epsilon = _complement(n, k, epsilon)
    return max(n, math.ceil((_optmai_loss(n, side, delta, beta) / epsilon) ** 2))


@checked()
def optmai_arm_pulls(n, budget, beta=BETA):
    r"""Most pulls that OptMAI can spend on one arm.

    .. math:: \sum_r\frac{\beta^r(1-\beta)Q}{s_r},\qquad s_0=n,\quad
              s_{r+1}=s_r-\lceil s_r/4\rceil .

    Parameters
    ----------
    n : int
        Number of arms.
    budget : int
        Q, total pulls, at least n.
    beta : float
        Ratio of consecutive rounds' budgets, in (3/4, 1).

    Returns
    -------
    float
        For an arm that stays to the last possible round; of the order
        :math:`Qn^{-.3}` for the theorem's beta and
        :math:`Qn^{\ln(4\beta/3)/\ln(4/3)-1}` in general.

    Raises
    ------
    ValueError
        If an argument is outside its range.

    Notes
    -----
    Zhou et al. (2014), Theorem 4.3, states :math:`O(Q/n^{0.3})`.  The sum is *derived*: a
    round removes exactly :math:`\lceil s/4\rceil` arms, and pulls divide evenly.

    Examples
    --------
    >>> from topk.guarantees import optmai_arm_pulls
    >>> round(optmai_arm_pulls(1000, 20_000))
    902
    """
    total, share, size = 0.0, (1 - beta) * budget, n
    while size > 0:
        total += share / size
        share, size = share * beta, size - math.ceil(size / 4)
    return total


@checked(epsilon=between(0, 1))
def uniform_pulls(n, k, epsilon, delta):
    r"""Pulls with which uniform sampling guarantees average regret epsilon.

    .. math:: nQ_0,\qquad Q_0=\Bigl\lceil\frac{2}{\epsilon^2}
              \Bigl(\ln\frac{en}k+\frac{\ln(2/\delta)}k\Bigr)\Bigr\rceil .

    Parameters
    ----------
    n : int
        Number of arms.
    k : int
        Arms to select, 1 to n - 1.
    epsilon : float
        Average regret, in (0, 1).
    delta : float
        In (0, 1).

    Returns
    -------
    int
        Total pulls, the same number for each arm.

    Raises
    ------
    ValueError
        If an argument is outside its range.

    Notes
    -----
    Constant published: Lemma 6.1 of the supplement of Zhou et al. (2014), applied to all n
    arms (its proof does not use :math:`n\le4k`); Remark 4.2 states the order.

    Examples
    --------
    >>> from topk.guarantees import uniform_pulls
    >>> uniform_pulls(1000, 100, epsilon=0.1, delta=0.1)
    667000
    """
    each = 2 / epsilon**2 * (math.log(math.e * n / k) + math.log(2 / delta) / k)
    return n * math.ceil(each)


@checked()
def clucb_pac_pulls(means, k, epsilon, delta, R=0.5):
    r"""Pulls that CLUCB-PAC exceeds with probability at most delta, for top-k.

    The largest integer t with

    .. math:: t\le n+32R^2\ln\frac{4nt^3}\delta\sum_i
              \min\Bigl\{\Delta_i^{-2},\frac1{4\epsilon^2}\Bigr\}
              =O\bigl(H^{(0,\epsilon)}\ln(H^{(0,\epsilon)}/\delta)\bigr).

    Parameters
    ----------
    means : array_like, shape (n,)
        True means in [0, 1], in any order.
    k : int
        Arms to select, 1 to n - 1.
    epsilon : float
        Average regret, in [0, 1); the stopping threshold on the sum is k epsilon.
    delta : float
        In (0, 1).
    R : float
        Sub-Gaussian scale of the rewards; 1/2 for rewards in [0, 1]. Positive.

    Returns
    -------
    int or float
        Total pulls; ``inf`` when epsilon is 0 and the boundary is tied.

    Raises
    ------
    ValueError
        For bad ``means``, ``k``, ``epsilon``, ``delta`` or ``R``.

    Notes
    -----
    The order is published (quoted by Chen et al. (2017)); the constant is *derived* here
    for size-k subsets: a pulled arm's radius is at least
    :math:`\max(\Delta/4,\epsilon/2)`; proved in "Adaptive top-K".  The general theorem of Chen
    et al. (2014) is only recalled.

    Examples
    --------
    >>> from topk.guarantees import clucb_pac_pulls
    >>> clucb_pac_pulls([0.9, 0.5, 0.1], 1, epsilon=0.1, delta=0.05)
    3359
    """
    with_half = float(inverse_square(np.maximum(hardness.gaps(means, k), 2 * epsilon)).sum())
    n, factor, constant = len(means), 32 * R * R * with_half, math.log(4 * len(means) / delta)
    return smallest_integer(lambda t: t > n + factor * (constant + 3 * math.log(t)), 1) - 1


@checked()
def adaptive_topk_pulls(means, k, epsilon, delta):
    r"""Pulls that AdaptiveTopK exceeds with probability at most delta.

    Arm i is pulled in at most :math:`r_i` rounds, so the total is at most

    .. math:: \sum_i\sum_{r\le r_i}\Bigl\lceil4^r\ln\frac{2nr^2}\delta\Bigr\rceil,\qquad
              4^{r_i}\le\min\Bigl\{\frac{64}{\max(\Delta_i,\Delta_{k-t})^2},
              \frac{16}{\epsilon^2}\Bigr\},

    where t is the one-sided tolerance of Theorem 4.

    Parameters
    ----------
    means, k, delta
        As for `clucb_pac_pulls`.
    epsilon : float
        Average regret, in [0, 1).

    Returns
    -------
    int or float
        Total pulls; ``inf`` when epsilon is 0 and :math:`\Delta_{k-t}=0`.

    Raises
    ------
    ValueError
        For bad ``means``, ``k``, ``epsilon`` or ``delta``.

    Notes
    -----
    The order :math:`(\ln\ln\frac1\epsilon+\ln n+\ln\frac1\delta)H^{(t,\epsilon)}` is
    published (Chen et al. (2017), Theorems 1 and 4).  The explicit sum is *derived* from
    Lemmas 6 and 7; it is at most :math:`\frac{256}3\ln(2nr_*^2/\delta)` times the sum of
    Theorem 4, plus the rounding up.

    Examples
    --------
    >>> from topk.guarantees import adaptive_topk_pulls
    >>> adaptive_topk_pulls([0.9, 0.5, 0.1], 1, epsilon=0.1, delta=0.05)
    5573
    """
    t = hardness.tolerance(means, k, epsilon, sides="top")
    boundary = hardness.psi(means, k, 0.0, t=t, sides="top")  # the gap at rank k - t itself
    if max(boundary, epsilon) < 1e-150:  # zero, or so small that 4^r overflows
        return math.inf
    reach = np.maximum(hardness.gaps(means, k), boundary)
    n, r, total = len(means), 1, 0
    while 2.0**r * epsilon < 4.0 and (active := int(np.sum(reach * 2.0**r <= 8.0))):
        total += active * math.ceil(4**r * math.log(2 * n * r * r / delta))
        r += 1
    return total


@checked(epsilon=between(0, 1))
def improved_topk_order(means, k, epsilon, delta, constant=1.0):
    r"""Order of the pulls of ImprovedTopK; `improved_topk_pulls` has a proved constant.

    .. math:: C\,H^{(t,\epsilon)}\Bigl(\ln\frac1\epsilon+\ln\frac1\delta\Bigr).

    Parameters
    ----------
    means : array_like, shape (n,)
        True means in [0, 1], in any order.
    k : int
        Arms to select, 1 to n - 1.
    epsilon : float
        Average regret, in (0, 1); above 1/2 the algorithm runs with 1/2.
    delta : float
        In (0, 1).
    constant : float
        C, positive.

    Returns
    -------
    float
        With the default constant 1 an order of magnitude, not a number of pulls.

    Raises
    ------
    ValueError
        For bad ``means``, ``k``, ``epsilon``, ``delta`` or ``constant``.

    Notes
    -----
    Chen et al. (2017), Theorem 2, which hides C; its algorithm has not been recovered.  For
    the algorithm derived in its place (`topk.ImprovedTopK`) the proof's C is astronomical
    and the measured one is some tens for k = n / 2 and 10^4 for k much smaller than n.

    Examples
    --------
    >>> from topk.guarantees import improved_topk_order
    >>> round(improved_topk_order([0.9, 0.5, 0.1], 1, epsilon=0.1, delta=0.05), 1)
    74.5
    """
    epsilon = min(epsilon, 0.5)
    logs = math.log(1 / epsilon) + math.log(1 / delta)
    return constant * hardness.topk_complexity(means, k, epsilon) * logs


@checked(epsilon=between(0, 1))
def improved_topk_pulls(means, k, epsilon, delta):
    r"""Pulls that `topk.ImprovedTopK` exceeds with probability at most delta.

    With :math:`L=\ln\frac2p`, :math:`c_r=\#\{i:5\cdot2^{-(r-1)}\ge\Delta_i\}` (all arms for
    r = 1), :math:`\rho` the largest :math:`r\le R` with :math:`2^r<40/\Psi_t`,
    :math:`M=\sum_{r\le\rho}4^rc_r` and small corrections
    :math:`Z,W,Z'=O(\frac\epsilon{R^3}H)`, the bound is

    .. math:: \Bigl(\frac32h+33a\Bigr)(M+Z+W)+\Bigl(\frac32h+9a\Bigr)Z'
              +24\varphi\bigl(\max_{r\le\rho}4^rc_r+Z+W+Z'\bigr),

    where :math:`a=\frac L2+\frac14` pays for a batch of S, :math:`h=360L+2880\ln2+\frac58`
    for a halving tournament and :math:`\varphi=O(1+\ln\frac1\delta)` for the final step.

    Parameters
    ----------
    means, k, epsilon, delta
        As for `improved_topk_order`.

    Returns
    -------
    float
        Pulls; of the order of `improved_topk_order`, with a constant above 10^7.

    Raises
    ------
    ValueError
        For bad ``means``, ``k``, ``epsilon`` or ``delta``.

    Notes
    -----
    *Derived* with the algorithm, in "Improved top-K": its proof, with every constant
    kept.  That the regret is at most epsilon is part of the same event.

    Examples
    --------
    >>> from topk.guarantees import improved_topk_pulls
    >>> f"{improved_topk_pulls([0.9, 0.5, 0.1], 1, epsilon=0.1, delta=0.05):.1e}"
    '3.0e+09'
    """
    epsilon = min(epsilon, 0.5)
    boundary = hardness.psi(means, k, 0.0, t=hardness.tolerance(means, k, epsilon))
    R, L = improved_topk_constants(epsilon, delta)
    p = 2 * math.exp(-L)
    gap = hardness.gaps(means, k)
    rounds = 2.0 ** np.arange(1, R + 1)
    # r_i, R + 1 where it is larger: the first r with 5 / 2^r below the gap
    first = 1 + np.count_nonzero(5 / rounds[:, None] >= gap, axis=0)
    reach = rounds * boundary < 40
    size = np.array([np.count_nonzero(first >= r) for r in range(1, R + 1)])
    weights = rounds**2 * size * reach
    M, largest = float(weights.sum()), float(weights.max())
    late = (gap >= boundary) & (first < R)
    M_late = float(np.sum(4.0 ** first[late])) if not reach.all() else 0.0
    Z, Z_late = 40 * p / delta * M, 40 * p / delta * M_late
    W = 240 * p / delta * M * (1 + 5 * p) / (1 - 30 * p)
    a, h = L / 2 + 0.25, 360 * L + 2880 * math.log(2) + 0.625
    few = min(1.0, 2 / (epsilon * k))  # at least 1 / k' in the final step
    q, beta = math.exp(-0.1), BETA
    quarters = (10 + 4 * few * math.log(16 / (delta * (1 - q)))) / (1 - beta)
    quarters = 4 / (1 - q) ** 2 * (quarters + 0.4 * few * beta / (1 - beta) ** 2) + 1
    last = 8 * (1 + math.log(4) + few * math.log(16 / delta)) + 0.25
    batches = (1.5 * h + 33 * a) * (M + Z + W) + (1.5 * h + 9 * a) * Z_late
    return batches + 24 * (quarters + last) * (largest + Z + W + Z_late)


# The table


@checked(epsilon=between(0, 1))
def plan(n, k, epsilon, delta, means=None):
    r"""Table of the pulls that each theorem asks for, smallest first.

    Parameters
    ----------
    n : int
        Number of arms.
    k : int
        Arms to select, 1 to n - 1.
    epsilon : float
        Tolerance, in (0, 1): on the average regret or on every arm, as ``goal`` says.
    delta : float
        Probability of failure allowed, in (0, 1).
    means : array_like, shape (n,), optional
        True (or guessed) means in [0, 1]. Without them the bounds that depend on the
        instance are taken at their worst, where all means are equal.

    Returns
    -------
    pandas.DataFrame
        Columns ``strategy``; ``theorem``, an id of the book or, for a
        result outside it, its source; ``goal``: "average regret",
        "every arm" within epsilon, or "exact set"; ``pulls``; ``holds``: "always" (a fixed
        schedule), "with probability 1 - delta" or "in expectation"; ``constant``:
        "published", "repaired", "derived", "recalled" or "order only".  Rows that are an
        order only come last, whatever their size.

    Raises
    ------
    ValueError
        If an argument is outside its range, or ``means`` has not n entries.

    Notes
    -----
    A bound says what is *enough*, and these differ by orders of magnitude in how far they
    are from what happens: compare strategies by simulation, and use the table to see
    which theorem would let you sign a promise.  SAR and UGapEb appear with the budgets that
    their error bounds need.  For rewards from low to high give (means - low) / (high - low) and
    epsilon / (high - low).

    Examples
    --------
    >>> from topk.guarantees import plan
    >>> table = plan(100, 10, epsilon=0.1, delta=0.05)
    >>> table.loc[0, "strategy"], int(table.loc[0, "pulls"])
    ('Uniform', 73500)
    """
    import pandas

    means = np.full(n, 0.5) if means is None else means
    if means.size != n:
        refuse("means", f"{means.size} entries", f"an array of n = {n} entries")
    columns = ["strategy", "theorem", "goal", "pulls", "holds", "constant"]
    rows = [row for row in _rows(n, k, epsilon, delta, means) if math.isfinite(row[3])]
    rows.sort(key=lambda row: (row[5] == "order only", row[3]))
    table = pandas.DataFrame(rows, columns=columns)
    return table.assign(pulls=np.ceil(table["pulls"]).astype("int64"))


def _rows(n, k, epsilon, delta, means):
    """Return the table's rows, in no particular order."""
    sizes, here = (n, k, epsilon, delta), (means, k, epsilon, delta)
    always, likely, expected = "always", "with probability 1 - delta", "in expectation"
    older = "Kalyanakrishnan and Stone (2010)"
    theorem_6, corollary_7 = "kalyanakrishnan2012/theorem-6", "kalyanakrishnan2012/corollary-7"
    by_goal = {
        "average regret": [
            ("Uniform", "zhou2014/remark-4.2", uniform_pulls(*sizes), always, "published"),
            ("OptMAI", "zhou2014/corollary-4.4", optmai_pulls(*sizes), always, "derived"),
            ("AdaptiveTopK", "chen2017/theorem-4", adaptive_topk_pulls(*here), likely, "derived"),
            ("ImprovedTopK", "chen2017/theorem-2", improved_topk_order(*here), likely,
             "order only"),
            ("CLUCB-PAC", "Chen et al. (2014)", clucb_pac_pulls(*here), likely, "derived")],
        "every arm": [
            ("Direct", older, direct_pulls(n, epsilon, delta), always, "recalled"),
            ("Halving", older, halving_pulls(*sizes), always, "derived"),
            ("LUCB1", theorem_6, lucb1_expected_pulls(*here), expected, "repaired"),
            ("LUCB1", corollary_7, lucb1_likely_pulls(*here), likely, "repaired"),
            ("UGapEb", "gabillon2012/theorem-1", ugapeb_budget(*here), always, "published"),
            ("UGapEc", "gabillon2012/theorem-2", ugapec_pulls(*here), likely, "published")],
        "exact set": [("SAR", "bubeck2013/theorem-1", sar_budget(means, k, delta), always,
                       "published")]}  # fmt: skip
    return [(*row[:2], goal, *row[2:]) for goal, rows in by_goal.items() for row in rows]
