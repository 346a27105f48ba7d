"""What is promised for the exact set (SAR) or for every arm (UGapE, LUCB1, Halving, Direct).

Bubeck et al. (2013), Gabillon et al. (2012) with UGapE's step in the plain form, and the chain of
lemmas behind LUCB1, repaired where needed: Kalyanakrishnan et al. (2012), with what Halving and
Direct pay after Kalyanakrishnan and Stone (2010).
"""

import math
from typing import NamedTuple

import numpy as np
from scipy.special import zeta

from topk._checks import (
    as_array,
    as_numbers,
    check_budget,
    check_delta,
    check_epsilon,
    check_flag,
    check_integer,
    check_k,
    check_means,
    check_n,
    check_real,
    check_unit_array,
    refuse,
)
from topk.theory.hardness import (
    gaps,
    h2,
    h_multibandit,
    lucb_complexity,
    smallest_integer,
    ugape_complexity,
)

K1 = 1.25  # the constant k_1 of the radius beta_1

# Lemma 5's T_1^*: 146 follows from Lemma 4 at 4 u_1^* as published; a proof needs 16 u_1^*.
PUBLISHED, REPAIRED = 146, 705


# Bubeck et al. (2013)


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
    return 0.5 + float(np.sum(1.0 / np.arange(2, check_n(n, smallest=1) + 1)))


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
    means = check_means(means)
    return 2 * means.size**2 * math.exp(-sar_exponent(means, k, budget))


def sar_budget(means, k, delta):
    r"""Smallest budget at which SAR's bound promises error at most delta.

    Solves Theorem 1: :math:`Q=n+8\,\overline{\log}(n)\,H_2\ln(2n^2/\delta)`, rounded up.

    Parameters
    ----------
    means : array_like, shape (n,)
        True means in [0, 1], in any order.
    k : int
        Arms to select, 1 to n - 1.
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
    means = check_means(means)
    hardness = h2(means, k)
    delta = check_delta(delta)
    if math.isinf(hardness):
        return math.inf
    n = means.size
    return math.ceil(n + 8 * log_bar(n) * hardness * math.log(2 * n * n / delta))


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
    rows = check_unit_array(means, "means", ndim=2)
    return 2 * rows.size**2 * math.exp(-sar_exponent(rows, 1, budget))


def _one_or_several(means, k):
    """Return means as (n,), or as (M, n) if they have two axes; then k must be 1."""
    means = as_array(means, "means", "an array of means")
    if means.ndim < 2:
        return check_means(means)
    check_k(k, largest=1)
    return check_unit_array(means, "means", ndim=2)


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
    means = _one_or_several(means, k)
    hardness = h2(means, k) if means.ndim == 1 else h_multibandit(means)[1]
    budget = check_budget(budget, smallest=means.size)
    return (budget - means.size) / (8 * log_bar(means.size) * hardness)


def sar_windows(means, k, part=0.25):
    r"""How far an average may be off after each phase of SAR, on the event of its proof.

    .. math:: \tfrac14\Delta_{(N)},\ \tfrac14\Delta_{(N-1)},\ \dots,\ \tfrac14\Delta_{(2)}
              \qquad\text{after phases }1,\dots,N-1,

    where :math:`\Delta_{(1)}\le\dots\le\Delta_{(N)}` are the gaps of all :math:`N=n` arms of
    one bandit, or of all :math:`N=Mn` arms of M bandits, each inside its own.

    Parameters
    ----------
    means : array_like, shape (n,) or (M, n)
        True means in [0, 1], in any order; two axes mean M bandits.
    k : int
        Arms to select, 1 to n - 1; 1 for several bandits.
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
    means = _one_or_several(means, k)
    part = check_real(part, "part", 0, 1, low_open=True)
    widest_first = np.sort([gaps(row, k) for row in np.atleast_2d(means)], axis=None)[::-1]
    return part * widest_first[:-1]


def _from_0_to_1(values, name):
    """Return a number or an array of numbers, of any shape, in [0, 1]."""
    ndim = np.ndim(as_array(values, name, "numbers in [0, 1]"))
    return check_unit_array(values, name, ndim=ndim) if ndim else check_real(values, name, 0, 1)


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

    mean, off = _from_0_to_1(mean, "mean"), _from_0_to_1(off, "off")
    slack = check_real(slack, "slack", 0, 1)
    pulls = as_array(pulls, "pulls", "integers of at least 1")
    if pulls.dtype.kind not in "iu" or (pulls < 1).any():
        refuse("pulls", pulls.tolist(), "integers of at least 1")
    shapes = [np.shape(values) for values in (mean, pulls, off)]
    try:
        np.broadcast_shapes(*shapes)
    except ValueError:
        refuse("off", f"the shapes {shapes}", "of a shape that goes with those of mean and pulls")
    low = np.ceil(pulls * (mean - off - slack))
    high = np.floor(pulls * (mean + off + slack))
    return binom.cdf(low - 1, pulls, mean) + binom.sf(high, pulls, mean)


# Gabillon et al. (2012)


class UGapEStep(NamedTuple):
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

    index: np.ndarray
    candidates: np.ndarray
    best_outside: int
    worst_inside: int
    pulled: int
    index_of_set: float
    between: float


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
    means, radii = as_numbers(means, "means", "numbers"), as_numbers(radii, "radii", "numbers")
    if means.ndim != 1 or not np.isfinite(means).all():
        refuse("means", means.tolist(), "finite numbers, shape (n,)")
    if radii.shape != means.shape or not (radii > 0).all():
        refuse("radii", radii.tolist(), "positive numbers, one for each of the means")
    check_k(k, means.size)
    upper, lower = means + radii, means - radii
    by_upper = np.argsort(-upper, kind="stable")
    others = np.full(means.size, upper[by_upper[k - 1]])  # the k-th largest U of the others
    others[by_upper[:k]] = upper[by_upper[k]]
    index = others - lower
    inside = np.zeros(means.size, dtype=bool)
    inside[np.argsort(index, kind="stable")[:k]] = True
    candidates, rest = np.flatnonzero(inside), np.flatnonzero(~inside)
    u = rest[np.lexsort((-radii[rest], -upper[rest]))[0]]
    worst = candidates[np.lexsort((-radii[candidates], lower[candidates]))[0]]
    first, second = min(u, worst), max(u, worst)
    pulled = first if radii[first] >= radii[second] else second
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


def ugapeb_error(means, k, budget, epsilon, a=None, b=1.0, *, variances=None):
    r"""Bound on the probability that UGapEb's arms are not all within epsilon.

    .. math:: \tilde\delta\le2nQ\,e^{-2a}\quad\text{for}\quad0<a\le\frac{Q-n}{4H_\epsilon},
              \qquad\text{at best}\quad2nQ\exp\Bigl(-\frac{Q-n}{2H_\epsilon}\Bigr).

    Parameters
    ----------
    means : array_like, shape (n,) or (M, n)
        True means in [0, 1]; two axes mean M bandits, and n above is then M n.
    k : int
        Arms to select in each bandit, 1 to n - 1.
    budget : int
        Q, total pulls, above n (above 2 n with ``variances``).
    epsilon : float
        Tolerance per arm, in [0, 1).
    a : float, optional
        Exploration parameter of the radius; the largest that is covered unless given.
    b : float
        Rewards lie in [0, b].
    variances : array_like, same shape as ``means``, optional
        True variances; then the bound of UGapEb-V at its best a,
        :math:`5nQ\exp(-\frac{Q-2n}{2H^\sigma_\epsilon})`, is returned.

    Returns
    -------
    float
        The bound as it stands; above 1 it says nothing. (The bound multiplies by Q, so
        it first rises with the budget.)

    Raises
    ------
    ValueError
        For arguments that `topk.hardness.ugape_complexity` refuses, a budget that is too
        small, ``a`` not positive or above the theorem's range, or ``a`` given together
        with ``variances``.

    Notes
    -----
    Constant published: Gabillon et al. (2012), Theorem 1, read with
    :math:`\tilde\delta=\Pr[r>\epsilon]` (the text prints :math:`\ge`, a slip).  The
    variance form and several bandits are derived here.

    Examples
    --------
    >>> from topk.guarantees import ugapeb_error
    >>> round(ugapeb_error([0.9, 0.5, 0.1], 1, budget=1_000, epsilon=0.1), 6)
    0.008263
    """
    complexity = ugape_complexity(means, k, epsilon, b, variances=variances)
    arms = np.size(means)
    starts = 1 if variances is None else 2  # the variance form pulls every arm twice first
    budget = check_budget(budget, smallest=starts * arms + 1)
    if variances is not None:
        if a is not None:
            refuse("a", a, "left out when variances are given")
        return 5 * arms * budget * math.exp(-(budget - 2 * arms) / (2 * complexity))
    largest = (budget - arms) / (4 * complexity)
    if a is None:
        return 2 * arms * budget * math.exp(-2 * largest)
    return 2 * arms * budget * math.exp(-2 * check_real(a, "a", 0, largest, low_open=True))


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
    complexity = ugape_complexity(means, k, epsilon)
    delta = check_delta(delta)
    if math.isinf(complexity):
        return math.inf
    arms = np.size(means)
    # (q - n) / (2 H) - ln q is convex, and too small at q = n + 1 since H >= n: one crossing.
    constant = math.log(2 * arms / delta)
    enough = lambda q: constant + math.log(q) <= (q - arms) / (2 * complexity)  # noqa: E731
    return smallest_integer(enough, arms + 1)


def ugapec_pulls(means, k, epsilon, delta, b=1.0):
    r"""Pulls that UGapEc exceeds with probability at most delta.

    The largest integer :math:`\tilde n` with

    .. math:: \tilde n\le2H_\epsilon\ln\frac{4n(\tilde n-1)^3}\delta+n .

    Parameters
    ----------
    means : array_like, shape (n,) or (M, n)
        True means in [0, 1]; two axes mean M bandits, and n above is then M n.
    k : int
        Arms to select in each bandit, 1 to n - 1.
    epsilon : float
        Tolerance per arm, in [0, 1).
    delta : float
        In (0, 1).
    b : float
        Rewards lie in [0, b].

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
    complexity = ugape_complexity(means, k, epsilon, b)
    delta = check_delta(delta)
    if math.isinf(complexity):
        return math.inf
    arms = np.size(means)
    constant = math.log(4 * arms / delta)
    # The right-hand side minus x is concave and not negative at x = 2: one last crossing.
    beyond = smallest_integer(
        lambda x: x > 2 * complexity * (constant + 3 * math.log(x - 1)) + arms, 2
    )
    return beyond - 1


# Kalyanakrishnan et al. (2012), Kalyanakrishnan and Stone (2010)


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
    n = check_n(n)
    delta = check_delta(delta)
    tail = 0.0 if horizon is None else zeta(3, check_integer(horizon, "horizon", 0) + 1)
    return float((zeta(3) - tail) / K1 * delta / n)


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
    t = check_integer(t, "t", 1)
    return check_delta(delta) / (K1 * t**3)


def lucb1_needy(means, k, epsilon, delta, t):
    r"""Probability that an arm is still needy in round t although sampled long enough.

    .. math:: \Pr\{\exists a:\ u_a^t>16u_1^*(a,t)\wedge\mathrm{NEEDY}_a^t\}
              \le\frac{4\delta H^{\epsilon/2}}{k_1nt^4},\qquad
              u_1^*(a,t)=\Bigl\lceil\frac{1}{2\max(\Delta_a,\epsilon/2)^2}
              \ln\frac{k_1nt^4}\delta\Bigr\rceil .

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
    complexity = lucb_complexity(means, k, epsilon)
    delta = check_delta(delta)
    t = check_integer(t, "t", 1)
    return 4 * delta * complexity / (K1 * len(means) * t**4)


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
    complexity = lucb_complexity(means, k, epsilon)
    delta = check_delta(delta)
    constant = PUBLISHED if check_flag(published, "published") else REPAIRED
    rounds = constant * complexity * math.log(complexity / delta)
    return math.ceil(rounds) if math.isfinite(rounds) else math.inf


def lucb1_overrun(means, k, epsilon, delta, rounds, *, published=False):
    r"""Probability that LUCB1 has not stopped after T rounds, :math:`4\delta/T^2`.

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
    rounds : int
        T, at least :math:`T_1^*` (see `lucb1_rounds`).
    published : bool
        Accept T from the published :math:`T_1^*` on.

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
    Published: Kalyanakrishnan et al. (2012), Lemma 5; :math:`T_1^*` *repaired* unless
    ``published``.  The repaired proof even gives :math:`2\delta/T^2`.

    Examples
    --------
    >>> from topk.guarantees import lucb1_overrun
    >>> round(lucb1_overrun([0.75, 0.25], 1, 0.0, 0.1, rounds=50_000) * 1e9, 6)
    0.16
    """
    first = lucb1_rounds(means, k, epsilon, delta, published=published)
    return 4 * delta / check_real(rounds, "rounds", first, math.inf, high_open=True) ** 2


def lucb1_expected_pulls(means, k, epsilon, delta, *, published=False):
    r"""Bound on the expected number of pulls of LUCB1.

    .. math:: n+2\Bigl(T_1^*+\sum_{t\ge T_1^*}\frac{4\delta}{t^2}\Bigr)
              =O\Bigl(H^{\epsilon/2}\ln\frac{H^{\epsilon/2}}\delta\Bigr).

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
        Use the published constant 146 in :math:`T_1^*` instead of the repaired 705.

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
    rounds = lucb1_rounds(means, k, epsilon, delta, published=published)
    if math.isinf(rounds):
        return math.inf
    return float(len(means) + 2 * (rounds + 4 * delta * zeta(2, rounds)))


def lucb1_likely_pulls(means, k, epsilon, delta, *, published=False):
    r"""Pulls that LUCB1 exceeds with probability at most delta, :math:`n+2T_1^*`.

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
        Use the published constant 146 in :math:`T_1^*` instead of the repaired 705.

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
    rounds = lucb1_rounds(means, k, epsilon, delta, published=published)
    return len(means) + 2 * rounds


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
    n = check_n(n)
    k = check_k(k, n, largest=n)
    epsilon = check_epsilon(epsilon, positive=True)
    delta = check_delta(delta)
    total, size, level, failure = 0, n, epsilon / 4, delta / 2
    rounds = 0
    while k << rounds < n:  # ceil(log2(n / k)), in integers
        total += size * math.ceil(2 / level**2 * math.log(3 * k / failure))
        size, level, failure = max((size + 1) // 2, k), 0.75 * level, failure / 2
        rounds += 1
    return total


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
    n = check_n(n)
    epsilon = check_epsilon(epsilon, positive=True)
    delta = check_delta(delta)
    return n * math.ceil(2 / epsilon**2 * math.log(n / delta))
