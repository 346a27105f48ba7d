"""UGapE: its step in the plain form, and what it promises for a budget and for a confidence."""

import math
from typing import NamedTuple

import numpy as np

from topk._checks import check_budget, check_delta, check_k, check_real, refuse
from topk.theory.hardness import smallest_integer, ugape_complexity


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
    means, radii = np.asarray(means, dtype=float), np.asarray(radii, dtype=float)
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
    return UGapEStep(
        index,
        candidates,
        int(u),
        int(worst),
        int(pulled),
        float(index[candidates].max()),
        float(upper[u] - lower[worst]),
    )


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
    return smallest_integer(
        lambda q: constant + math.log(q) <= (q - arms) / (2 * complexity), arms + 1
    )


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
