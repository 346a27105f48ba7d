"""Guarantees of UGapE for every arm, and its step in plain form: Gabillon et al. (2012)."""

import math
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from topk import hardness
from topk._checks import (
    as_numbers,
    as_vector,
    check_budget,
    check_integer,
    check_integers,
    check_real,
    common_shape,
    refuse,
)
from topk._ranges import (
    any_unit,
    below_means,
    below_one,
    one_or_several,
    probability,
    pulls_of_means,
    smallest_integer,
    validated,
)
from topk._tables import joined_columns
from topk._types import FloatOrFloats, Floats, Integers, Whole


@validated(mean=any_unit, off=any_unit)
def average_off(
    mean: ArrayLike, pulls: ArrayLike, off: ArrayLike, slack: float = 1e-9,
) -> FloatOrFloats:
    r"""Exact probability that an average of Bernoulli rewards deviates by more than allowed.

    .. math:: \Pr\{|\hat\theta_s-\theta|>x\}\le2e^{-2sx^2}

    by Hoeffding's inequality, with which the exact value can be compared.  Arrays are broadcast.

    Parameters
    ----------
    mean : float or array_like
        :math:`\theta`, in [0, 1].
    pulls : int or array_like of int
        s, the number of rewards, at least 1.
    off : float or array_like
        x, in [0, 1].
    slack : float
        In [0, 1]; deviations of at most x + ``slack`` are allowed, so that rounding errors do not
        matter for an average at an end of the interval.

    Returns
    -------
    float or ndarray
        The probability.

    Notes
    -----
    The proofs of Theorems 1 and 2 of Bubeck et al. (2013) bound this probability by Hoeffding's
    inequality.

    Examples
    --------
    >>> from topk.guarantees import average_off
    >>> float(average_off(0.5, 2, 0.25)), float(average_off(0.5, 2, 0.5))
    (0.5, 0.0)
    """
    from scipy.stats import binom

    slack = check_real(slack, "slack", 0, 1)
    pulls = check_integers(pulls, "pulls", smallest=1, ndim=None)
    low = np.ceil(pulls * (mean - off - slack))
    high = np.floor(pulls * (mean + off + slack))
    return binom.cdf(low - 1, pulls, mean) + binom.sf(high, pulls, mean)


class UGapEStep(NamedTuple):
    """The quantities that UGapE computes in one step.

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
        The one of the two with the wider interval.
    index_of_set : float
        The largest index in J, which determines when UGapEc stops.
    between : float
        U of ``best_outside`` minus L of ``worst_inside``; never below ``index_of_set``.
    """

    index: Floats  # type: ignore[assignment]  # not the method of a tuple
    candidates: Integers
    best_outside: int
    worst_inside: int
    pulled: int
    index_of_set: float
    between: float


def ugape_step(means: ArrayLike, radii: ArrayLike, k: int) -> UGapEStep:
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
        The index of every arm, the set J, and the arm to pull.

    Raises
    ------
    ValueError
        If the arrays are not of one shape (n,), a radius is not positive, or ``k`` is out
        of range.

    Notes
    -----
    Gabillon et al. (2012), Figure 2.  Ties between bounds go to the wider interval, as there; all
    other ties to the lower number.  This plain form sorts in every step; `topk.UGapEb` and
    `topk.UGapEc` update the same quantities incrementally.

    Examples
    --------
    >>> from topk.guarantees import ugape_step
    >>> step = ugape_step([0.75, 0.5, 0.25], [0.25, 0.125, 0.125], 1)
    >>> step.index.tolist(), step.candidates.tolist(), step.pulled
    ([0.125, 0.625, 0.875], [0], 0)
    """
    means, radii = joined_columns(means=means, radii=radii)
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


def ugape_ceiling(gap: ArrayLike, radius: ArrayLike) -> FloatOrFloats:
    r"""Bound of Lemma 2 on the index of UGapE's set in terms of the pulled arm.

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
        The bound.

    Notes
    -----
    Gabillon et al. (2012), Lemma 2, equation (8); it holds if every mean is within its radius.

    Examples
    --------
    >>> from topk.guarantees import ugape_ceiling
    >>> ugape_ceiling([0.5, 0.5], [0.125, 0.5]).tolist()
    [0.0, 1.0]
    """
    gap = as_numbers(gap, "gap", "numbers of at least 0")
    radius = as_numbers(radius, "radius", "positive numbers")
    if not ((gap >= 0) & (gap < np.inf)).all():
        refuse("gap", gap.tolist(), "numbers of at least 0")
    if not ((radius > 0) & (radius < np.inf)).all():
        refuse("radius", radius.tolist(), "positive numbers")
    common_shape("radius", gap, radius)
    return (np.minimum(0, 2 * radius - gap) + 2 * radius)[()]


@validated(means=one_or_several, k=below_means, epsilon=below_one, budget=pulls_of_means)
def ugapeb_error(
    means: ArrayLike, k: int, budget: Whole, epsilon: float, a: float | None = None,
) -> float:
    r"""Bound on the probability that not all arms returned by UGapEb are within epsilon.

    .. math:: \tilde\delta\le2nQ\,e^{-2a}\quad\text{for}\quad0<a\le\frac{Q-n}{4H_\epsilon},
              \qquad\text{at best}\quad2nQ\exp\Bigl(-\frac{Q-n}{2H_\epsilon}\Bigr).

    Parameters
    ----------
    means, k, epsilon
        As in `ugapeb_budget`.
    budget : int
        Q, total pulls, above n.
    a : float, optional
        Exploration parameter of the radius; by default the largest that the theorem covers.

    Returns
    -------
    float
        The bound as it stands; vacuous above 1. (The bound multiplies by Q, so it first rises with
        the budget.)

    Raises
    ------
    ValueError
        If the budget is at most n, or ``a`` is not positive or above the theorem's range.

    See Also
    --------
    topk.UGapEb : the strategy.
    ugapeb_budget : the budget for a given error.

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


@validated(means=one_or_several, k=below_means, epsilon=below_one, delta=probability)
def ugapeb_budget(means: ArrayLike, k: int, epsilon: float, delta: float) -> int | float:
    r"""Smallest budget from which UGapEb's bound on the failure probability is at most delta.

    Solves :math:`2nQ\exp(-(Q-n)/(2H_\epsilon))\le\delta` for Q.

    Parameters
    ----------
    means : array_like, shape (n,) or (M, n)
        True means in [0, 1]; two axes describe M bandits.
    k : int
        Arms to select in each bandit, 1 to n - 1.
    epsilon : float
        Tolerance per arm, in [0, 1).
    delta : float
        Allowed failure probability, in (0, 1).

    Returns
    -------
    int or float
        Total pulls; ``inf`` when epsilon is 0 and a boundary is tied.

    See Also
    --------
    topk.UGapEb : the strategy.
    ugapeb_error : the error with a given budget.

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


@validated(means=one_or_several, k=below_means, epsilon=below_one, delta=probability)
def ugapec_pulls(means: ArrayLike, k: int, epsilon: float, delta: float) -> int | float:
    r"""Pulls that UGapEc exceeds with probability at most delta.

    The largest integer :math:`\tilde n` with

    .. math:: \tilde n\le2H_\epsilon\ln\frac{4n(\tilde n-1)^3}\delta+n .

    Parameters
    ----------
    means, k, epsilon, delta
        As in `ugapeb_budget`.

    Returns
    -------
    int or float
        Total pulls; ``inf`` when epsilon is 0 and a boundary is tied.

    See Also
    --------
    topk.UGapEc : the strategy.
    ugapeb_budget : the budget of the other form.

    Notes
    -----
    Gabillon et al. (2012), Theorem 2: the implicit bound of its proof, solved; the printed step
    omits the factor 4 inside the logarithm.  Several bandits are *derived* here.

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
