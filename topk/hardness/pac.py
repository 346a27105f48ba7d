"""The measures of approximate identification: LUCB's, UGapE's and AdaptiveTopK's."""

import math

import numpy as np

from topk._checks import (
    check_choice,
    check_epsilon,
    check_integer,
    check_k,
    check_means,
    check_real,
    check_unit_array,
    refuse,
)
from topk.hardness.exact import gaps, inverse_square
from topk.metrics import SLACK

SIDES = ("both", "top")


def lucb_complexity(means, k, epsilon):
    r"""Complexity of LUCB, :math:`H^{\epsilon/2}=\sum_i\max(\Delta_i,\epsilon/2)^{-2}`.

    Parameters
    ----------
    means : array_like, shape (n,)
        True means in [0, 1], in any order.
    k : int
        Arms to select, 1 to n - 1.
    epsilon : float
        Tolerance per arm, in [0, 1).

    Returns
    -------
    float
        Between n and :math:`4n/\epsilon^2`; ``inf`` when epsilon is 0 and the boundary
        is tied.

    Raises
    ------
    ValueError
        For bad ``means`` or ``k`` (see `gaps`) or ``epsilon`` outside [0, 1).

    Notes
    -----
    Published: Kalyanakrishnan et al. (2012), section 2 and Theorem 6.

    Examples
    --------
    >>> from topk.hardness import lucb_complexity
    >>> lucb_complexity([0.75, 0.5, 0.25], 1, epsilon=0.5)
    36.0
    """
    epsilon = check_epsilon(epsilon)
    return float(inverse_square(np.maximum(gaps(means, k), epsilon / 2)).sum())


def ugape_complexity(means, k, epsilon, b=1.0, *, variances=None):
    r"""Complexity of UGapE, in its Hoeffding or its variance form.

    With :math:`m_i=\max(\frac{\Delta_i+\epsilon}2,\epsilon)`,

    .. math:: H_\epsilon=\sum_i\frac{b^2}{m_i^2},\qquad
              H^\sigma_\epsilon=\sum_i
              \frac{\bigl(\sigma_i+\sqrt{\sigma_i^2+\frac{13}3bm_i}\bigr)^2}{m_i^2}.

    Parameters
    ----------
    means : array_like, shape (n,) or (M, n)
        True means in [0, 1]; two axes mean M bandits, whose terms are added.
    k : int
        Arms to select in each bandit, 1 to n - 1.
    epsilon : float
        Tolerance per arm, in [0, 1).
    b : float
        Rewards lie in [0, b]; 1 for the library's bandits. Positive.
    variances : array_like, same shape as ``means``, optional
        True variances in [0, 1]; when given, the variance form is returned.

    Returns
    -------
    float
        ``inf`` when epsilon is 0 and a boundary is tied.

    Raises
    ------
    ValueError
        For bad ``means`` or ``k`` (see `gaps`), ``epsilon`` outside [0, 1), ``b`` not
        positive, or ``variances`` of another shape or outside [0, 1].

    Notes
    -----
    :math:`H_\epsilon` is published: Gabillon et al. (2012), equation (6).  The variance
    form and the sum over bandits are derived here (chapter "One rule for both settings"): the
    original stands in a technical report that we have not seen.

    Examples
    --------
    >>> from topk.hardness import ugape_complexity
    >>> ugape_complexity([0.75, 0.5, 0.25], 1, epsilon=0.25)
    39.111111111111114
    >>> ugape_complexity([[0.75, 0.25], [0.5, 0.0]], 1, epsilon=0.5)
    16.0
    """
    rows = np.array(means, dtype=object)
    rows = check_unit_array(means, "means", ndim=2 if rows.ndim == 2 else 1)
    epsilon = check_epsilon(epsilon)
    b = check_real(b, "b", 0, math.inf, low_open=True, high_open=True)
    delta = np.array([gaps(row, k) for row in np.atleast_2d(rows)])
    m = np.maximum((delta + epsilon) / 2, epsilon)
    if variances is None:
        return float(b * b * inverse_square(m).sum())
    variance = check_unit_array(variances, "variances", ndim=rows.ndim)
    if variance.shape != rows.shape:
        refuse("variances", f"an array of shape {variance.shape}", f"of shape {rows.shape}")
    variance = np.atleast_2d(variance)
    root = np.sqrt(variance) + np.sqrt(variance + 13 / 3 * b * m)
    with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
        terms = np.square(root / m)
    return float(np.where(m > 0, terms, np.inf).sum())


def tolerance(means, k, epsilon, *, sides="both"):
    r"""How many boundary arms the average regret lets go wrong, :math:`t(\epsilon,k)`.

    The largest :math:`t\in\{0,\dots,\min(k-1,n-k-1)\}` with

    .. math:: t\,\Delta_{k-t}\le k\epsilon\quad\text{and}\quad t\,\Delta_{k+t+1}\le k\epsilon.

    Parameters
    ----------
    means : array_like, shape (n,)
        True means in [0, 1], in any order.
    k : int
        Arms to select, 1 to n - 1.
    epsilon : float
        Tolerance on the average regret, in [0, 1).
    sides : {"both", "top"}
        "top" keeps only the first condition (and the cap k - 1), as Theorem 4 does.

    Returns
    -------
    int
        t; 0 when k = 1.

    Raises
    ------
    ValueError
        For bad ``means`` or ``k`` (see `gaps`), ``epsilon`` outside [0, 1), or ``sides``
        neither word.

    Notes
    -----
    Chen et al. (2017), equation (3), restored (the products are garbled in our copy);
    the cap :math:`n-k-1`, where rank k + t + 1 would not exist, is ours.  Both products
    are nondecreasing in t, so the condition holds exactly up to the answer.  A positive
    epsilon is compared with the slack of `topk.metrics` (about 3.6e-15), because
    t times a gap *equals* k epsilon on many textbook instances, whose decimals are
    stored rounded.

    Examples
    --------
    >>> from topk.hardness import tolerance
    >>> tolerance([0.7] * 4 + [0.3] * 4, 4, epsilon=0.25)
    2
    """
    above, below = _sorted_gaps(means, k, sides)
    epsilon = check_epsilon(epsilon)
    products = np.arange(above.size) * np.maximum(above, below)
    allowed = k * (epsilon + SLACK) if epsilon > 0 else 0.0
    return int(np.count_nonzero(products <= allowed)) - 1


def _sorted_gaps(means, k, sides):
    """Return the gaps at ranks k - t and k + t + 1 for t = 0, 1, ... while both exist.

    With sides="top" the second array repeats the first, and t goes to k - 1.
    """
    means = check_means(means)
    k = check_k(k, means.size)
    check_choice(sides, "sides", SIDES)
    ordered = np.sort(means)[::-1]
    above = (ordered[:k] - ordered[k])[::-1]
    below = above if sides == "top" else ordered[k - 1] - ordered[k:]
    length = min(above.size, below.size)
    return above[:length], below[:length]


def psi(means, k, epsilon, *, t=None, sides="both"):
    r"""Where the hardness sum is cut off, :math:`\Psi_t^\epsilon=\max(\epsilon,\Psi_t)`.

    .. math:: \Psi_t=\min(\Delta_{k-t},\Delta_{k+t+1}).

    Parameters
    ----------
    means : array_like, shape (n,)
        True means in [0, 1], in any order.
    k : int
        Arms to select, 1 to n - 1.
    epsilon : float
        Tolerance on the average regret, in [0, 1).
    t : int, optional
        0 to min(k, n - k) - 1 (to k - 1 if sides="top"); `tolerance` unless given.
    sides : {"both", "top"}
        "top" takes :math:`\Psi_t=\Delta_{k-t}`, as Theorem 4 does.

    Returns
    -------
    float
        In [0, 1].

    Raises
    ------
    ValueError
        For arguments that `tolerance` refuses, or ``t`` out of range.

    Notes
    -----
    Published: Chen et al. (2017), equations (4) and (5), and Theorem 4 for the top side.

    Examples
    --------
    >>> from topk.hardness import psi
    >>> psi([0.75] * 4 + [0.25] * 4, 4, epsilon=0.25)
    0.5
    """
    above, below = _sorted_gaps(means, k, sides)
    epsilon = check_epsilon(epsilon)
    if t is None:
        t = tolerance(means, k, epsilon, sides=sides)
    t = check_integer(t, "t", 0, above.size - 1)
    return float(max(epsilon, min(above[t], below[t])))


def topk_complexity(means, k, epsilon, t=None, *, sides="both"):
    r"""Complexity of top-k with average regret, :math:`H^{(t,\epsilon)}`.

    .. math:: H^{(t,\epsilon)}=\sum_i\min\{\Delta_i^{-2},(\Psi_t^\epsilon)^{-2}\}.

    Parameters
    ----------
    means : array_like, shape (n,)
        True means in [0, 1], in any order.
    k : int
        Arms to select, 1 to n - 1.
    epsilon : float
        Tolerance on the average regret, in [0, 1).
    t : int, optional
        0 to min(k, n - k) - 1 (to k - 1 if sides="top"); `tolerance` unless given.
        With t = 0 this is :math:`H^{(0,\epsilon)}=\sum_i\min\{\Delta_i^{-2},\epsilon^{-2}\}`,
        the complexity of CLUCB-PAC.
    sides : {"both", "top"}
        "top" gives the (smaller or equal) sum of Theorem 4.

    Returns
    -------
    float
        Between n and :math:`n/\epsilon^2`; ``inf`` when epsilon is 0 and
        :math:`\Psi_t=0`.

    Raises
    ------
    ValueError
        For arguments that `psi` refuses.

    Notes
    -----
    Published: Chen et al. (2017), equation (6).  Their introduction prints "H is always
    Omega(n / epsilon^2)"; that is probably a misprint for O, as used there.

    Examples
    --------
    >>> from topk.hardness import topk_complexity
    >>> topk_complexity([0.75] * 4 + [0.25] * 4, 4, epsilon=0.25)
    32.0
    """
    level = psi(means, k, epsilon, t=t, sides=sides)
    return float(inverse_square(np.maximum(gaps(means, k), level)).sum())
