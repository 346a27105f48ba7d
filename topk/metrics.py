r"""Measures of the quality of a chosen set of K arms.

There are six measures from the literature, and `regret_within`.  Write
:math:`\theta_{(1)}\ge\dots\ge\theta_{(n)}` for the sorted means of all arms and
:math:`\theta_{T(1)}\ge\dots\ge\theta_{T(K)}` for the sorted means of the chosen set T.  All
functions depend only on these two sorted lists, so exchanging arms of equal mean changes nothing:
arms are compared *by value*, never by index.

``selected`` has the chosen arms along its last axis and any leading axes (runs, checkpoints,
bandits); ``means`` has the arms along its last axis, and its leading axes are broadcast against
those of ``selected`` by NumPy's rules.  If each run has its own means, ``selected`` (runs,
checkpoints, k) is combined with ``means[:, None, :]``.  If ``means`` is a pandas Series with
labels, ``selected`` holds labels.
"""

import numpy as np
from numpy.typing import ArrayLike

from topk._checks import as_finite, check_epsilon, check_integers, common_shape, refuse
from topk._tables import places_among
from topk._types import Flags, Floats, Integers

__all__ = [
    "aggregate_regret",
    "elementwise_optimal",
    "explore_m",
    "misidentified",
    "precision",
    "regret_within",
    "simple_regret",
]


def __dir__() -> list[str]:
    return __all__

SLACK = 2.0**-48
"""Allowance for rounding (about 3.6e-15) in comparisons with a positive epsilon.

It is multiplied by the largest absolute mean if that exceeds 1.  Means such as 0.3 and 0.4 are
stored rounded, and 0.4 - 0.3 exceeds 0.1 in the last bit.  All definitions here allow an arm
exactly epsilon below the boundary, so the comparison must tolerate rounding errors.  With
``epsilon=0`` nothing is subtracted, and there is no allowance.
"""


def aggregate_regret(selected: ArrayLike, means: ArrayLike) -> Floats:
    r"""Loss of mean reward per chosen arm compared with the K best arms.

    .. math::
        \mathcal L_T=\frac1K\Bigl(\sum_{i=1}^K\theta_{(i)}-\sum_{i\in T}\theta_i\Bigr)
        =\frac1K\sum_{i=1}^K\bigl(\theta_{(i)}-\theta_{T(i)}\bigr)

    Parameters
    ----------
    selected : array_like of int, shape (..., k)
        Chosen arms, distinct along the last axis, each from 0 to n - 1.
    means : array_like of float, shape (..., n)
        The arms' means, each finite.

    Returns
    -------
    ndarray of float, shape (...)
        The regret, at least 0 and in units of reward; a scalar when there are no leading axes.

    Raises
    ------
    ValueError
        If an arm is not an integer, out of range or chosen twice, if a mean is not finite, or if
        the leading axes cannot be broadcast.

    Notes
    -----
    Zhou, Chen and Li (2014), equation (1).  The second form is computed.  Its terms are
    non-negative, because the i-th best arm of a subset is at most the i-th best of all; hence the
    result is never negative, and it is exactly 0.0 for every optimal set, whichever of several tied
    arms it contains.

    Examples
    --------
    >>> float(aggregate_regret([0, 3], [0.75, 0.5, 0.5, 0.25]))
    0.125
    >>> float(aggregate_regret([0, 2], [0.75, 0.5, 0.5, 0.25]))
    0.0
    """
    chosen, best = _sorted_means(selected, means)
    return (best - chosen).sum(axis=-1) / chosen.shape[-1]


def simple_regret(selected: ArrayLike, means: ArrayLike) -> Floats:
    r"""Distance of the worst chosen arm below the K-th best arm.

    .. math:: r_T=\theta_{(K)}-\min_{i\in T}\theta_i=\theta_{(K)}-\theta_{T(K)}

    Parameters
    ----------
    selected, means
        As in `aggregate_regret`.

    Returns
    -------
    ndarray of float, shape (...)
        The simple regret, at least 0 and in units of reward.

    Raises
    ------
    ValueError
        As in `aggregate_regret`.

    Notes
    -----
    Gabillon, Ghavamzadeh and Lazaric (2012), equation (2).  It cannot be negative and is
    not clipped: at most K - 1 arms have a mean above :math:`\theta_{(K)}`, so K distinct
    arms include one at or below it.

    Examples
    --------
    >>> float(simple_regret([0, 3], [0.75, 0.5, 0.5, 0.25]))
    0.25
    """
    chosen, best = _sorted_means(selected, means)
    return best[..., -1] - chosen[..., -1]


def precision(selected: ArrayLike, means: ArrayLike) -> Floats:
    r"""Fraction of the chosen arms that are among the K best.

    .. math:: \frac1K\,\bigl|\{i\in T:\theta_i\ge\theta_{(K)}\}\bigr|

    Parameters
    ----------
    selected, means
        As in `aggregate_regret`.

    Returns
    -------
    ndarray of float, shape (...)
        A fraction in [0, 1].

    Raises
    ------
    ValueError
        As in `aggregate_regret`.

    Notes
    -----
    Used in Figure 2 of Zhou, Chen and Li (2014) as :math:`|T\cap[K]|/K`.  The two agree if the
    boundary is not tied, :math:`\theta_{(K)}>\theta_{(K+1)}`.  With a tie, counting by value does
    not penalise a choice among equally good arms, but more than K arms count as right: precision 1
    then does not imply that the set is best.  (It is always 1 for a best set; `misidentified` is
    exact in both cases.)

    Examples
    --------
    >>> float(precision([0, 3], [0.75, 0.5, 0.5, 0.25]))
    0.5
    """
    chosen, best = _sorted_means(selected, means)
    return (chosen >= best[..., -1:]).mean(axis=-1)


def misidentified(selected: ArrayLike, means: ArrayLike) -> Flags:
    r"""Whether the chosen set is not a best set of K arms.

    .. math::
        \sum_{i\in T}\theta_i<\sum_{i=1}^K\theta_{(i)},\quad\text{equivalently}\quad
        \theta_{T(i)}<\theta_{(i)}\text{ for some }i\le K

    Parameters
    ----------
    selected, means
        As in `aggregate_regret`.

    Returns
    -------
    ndarray of bool, shape (...)
        True where the set's sum of means is below the largest possible one.

    Raises
    ------
    ValueError
        As in `aggregate_regret`.

    Notes
    -----
    Bubeck, Wang and Viswanathan (2013) bound the probability of this event; they assume distinct
    means, for which the best set is unique.  With ties every best set counts as identified.  The
    two conditions agree because :math:`\theta_{T(i)}\le\theta_{(i)}` for every i.  With a tie at
    the boundary it does not suffice to compare the worst chosen arm: for means 1, 0, 0 and the last
    two arms it is as good as the second best, although the best arm is missing.

    Examples
    --------
    >>> bool(misidentified([0, 3], [0.75, 0.5, 0.5, 0.25]))
    True
    """
    chosen, best = _sorted_means(selected, means)
    return np.any(chosen < best, axis=-1)


def explore_m(selected: ArrayLike, means: ArrayLike, epsilon: float) -> Flags:
    r"""Whether every chosen arm is within epsilon of the K-th best.

    .. math:: \theta_i\ge\theta_{(K)}-\epsilon\quad\text{for all }i\in T

    Parameters
    ----------
    selected, means
        As in `aggregate_regret`.
    epsilon : float
        Tolerance per arm, in [0, 1).

    Returns
    -------
    ndarray of bool, shape (...)
        True where the set passes.

    Raises
    ------
    ValueError
        As in `aggregate_regret`, or if ``epsilon`` is outside [0, 1).

    Notes
    -----
    Kalyanakrishnan and Stone (2010) call the task Explore-m and such arms
    :math:`(\epsilon,m)`-optimal; the condition is equivalent to a `simple_regret` of at most
    epsilon.

    Examples
    --------
    >>> bool(explore_m([1, 2], [0.75, 0.5, 0.25, 0.25], epsilon=0.25))
    True
    """
    return simple_regret(selected, means) <= _with_slack(epsilon, means)


def elementwise_optimal(selected: ArrayLike, means: ArrayLike, epsilon: float) -> Flags:
    r"""Whether the i-th best chosen arm is within epsilon of the i-th best arm, for every i.

    .. math:: \theta_{T(i)}\ge\theta_{(i)}-\epsilon\quad\text{for }i=1,\dots,K

    Parameters
    ----------
    selected, means
        As in `aggregate_regret`.
    epsilon : float
        Tolerance per rank, in [0, 1).

    Returns
    -------
    ndarray of bool, shape (...)
        True where the set passes.

    Raises
    ------
    ValueError
        As in `aggregate_regret`, or if ``epsilon`` is outside [0, 1).

    Notes
    -----
    The notion of Chen, Gupta and Li (2016) for bases of matroids, applied to sets of K arms.  It
    implies both `explore_m` (its case i = K) and `aggregate_regret` at most epsilon (the average of
    its K inequalities).

    Examples
    --------
    >>> bool(elementwise_optimal([1, 2], [0.75, 0.5, 0.25, 0.25], epsilon=0.25))
    True
    >>> bool(elementwise_optimal([2, 3], [0.75, 0.5, 0.25, 0.25], epsilon=0.25))
    False
    """
    chosen, best = _sorted_means(selected, means)
    return (best - chosen).max(axis=-1) <= _with_slack(epsilon, means)


def regret_within(selected: ArrayLike, means: ArrayLike, epsilon: float) -> Flags:
    r"""Whether the aggregate regret is at most epsilon.

    .. math:: \mathcal L_T\le\epsilon

    Parameters
    ----------
    selected, means
        As in `aggregate_regret`.
    epsilon : float
        Tolerance on average, in [0, 1).

    Returns
    -------
    ndarray of bool, shape (...)
        True where the set is epsilon-optimal.

    Raises
    ------
    ValueError
        As in `aggregate_regret`, or if ``epsilon`` is outside [0, 1).

    Notes
    -----
    This is success in Zhou, Chen and Li (2014) and Chen et al. (2017).  Use it instead of
    ``aggregate_regret(...) <= epsilon``: on instances such as :math:`\theta_i=1-i/n` the regret
    often equals epsilon, and the result of a comparison then depends on rounding errors.

    Examples
    --------
    >>> means = [0.4, 0.3]
    >>> bool(aggregate_regret([1], means) <= 0.1), bool(regret_within([1], means, 0.1))
    (False, True)
    """
    return aggregate_regret(selected, means) <= _with_slack(epsilon, means)


def _with_slack(epsilon: float, means: ArrayLike) -> float | Floats:
    epsilon = check_epsilon(epsilon)
    size = np.maximum(1.0, np.abs(as_finite(means, "means")).max(axis=-1))
    return epsilon + SLACK * size if epsilon > 0 else 0.0


def _sorted_means(selected: ArrayLike, means: ArrayLike) -> tuple[Floats, Floats]:
    """Return the chosen and the k best means, each (..., k) and in decreasing order."""
    selected = places_among(selected, "selected", means, "means")
    means = as_finite(means, "means")
    selected = _check_selected(selected, means.shape[-1])
    lead = common_shape("means", selected[..., 0], means[..., 0])
    k = selected.shape[-1]
    best = np.broadcast_to(-np.sort(-means, axis=-1)[..., :k], (*lead, k))
    values = np.broadcast_to(means, (*lead, means.shape[-1]))
    chosen = np.take_along_axis(values, np.broadcast_to(selected, (*lead, k)), axis=-1)
    return -np.sort(-chosen, axis=-1), best


def _check_selected(selected: ArrayLike, n: int) -> Integers:
    allowed = f"an array (..., k) of distinct integers from 0 to {n - 1}"
    arms = check_integers(selected, "selected", n - 1, ndim=None, allowed=allowed)
    if arms.ndim == 0 or arms.shape[-1] == 0:
        refuse("selected", selected, allowed)
    ordered = np.sort(arms, axis=-1)
    twice = ordered[..., 1:] == ordered[..., :-1]
    if twice.any():
        refuse("selected", f"arm {int(ordered[..., 1:][twice][0])} twice", allowed)
    return arms
