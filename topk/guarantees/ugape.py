"""The step of UGapE in its plain form, and the two bounds between which its index lies."""

from typing import NamedTuple

import numpy as np

from topk._checks import check_k, refuse


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
