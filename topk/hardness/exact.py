"""Gaps and the measures of exact identification: H1, H2 and their multi-bandit forms."""

import numpy as np

from topk._checks import check_choice, check_k, check_means, check_unit_array

TIES = ("infinite", "distinct")


def inverse_square(x):
    """Return 1 / x**2 elementwise, ``inf`` at 0 and where the result overflows; no warning."""
    with np.errstate(divide="ignore", over="ignore"):
        return np.square(1.0 / x)


def boundary(means, k):
    """Return the k-th and the (k+1)-th largest mean; no checks."""
    ordered = np.sort(means)[::-1]
    return ordered[k - 1], ordered[k]


def gaps(means, k, *, ties="infinite"):
    r"""Distance of every arm's mean from the other side of the boundary.

    With :math:`\theta_1\ge\dots\ge\theta_n` the sorted means,

    .. math:: \Delta_i=\theta_i-\theta_{k+1}\ (i\le k),\qquad
              \Delta_i=\theta_k-\theta_i\ (i>k).

    Parameters
    ----------
    means : array_like, shape (n,)
        True means in [0, 1], in any order.
    k : int
        Arms to select, 1 to n - 1.
    ties : {"infinite", "distinct"}
        What to do when :math:`\theta_k=\theta_{k+1}=v`.  "infinite" is the plain
        definition: arms at v have gap 0 and every H is infinite (hence the name).
        "distinct" gives arms at v the distance to the nearest different mean and the
        others :math:`|\theta_i-v|`.  Without a tie the two agree.

    Returns
    -------
    ndarray, shape (n,)
        The gaps, in the order of ``means``.

    Raises
    ------
    ValueError
        If ``means`` has fewer than two arms or an entry outside [0, 1], if ``k`` is
        not an integer from 1 to n - 1, or if ``ties`` is neither word.

    Notes
    -----
    Published: Chen et al. (2017), equation (2); Bubeck et al. (2013), section 2;
    Kalyanakrishnan et al. (2012) and Gabillon et al. (2012) use the same gaps.  The
    convention "distinct" is ours: four of the six instances of Bubeck et al. tie at
    the boundary for most m, where the paper is silent.  If all means are equal
    "distinct" leaves all gaps 0.

    Examples
    --------
    >>> from topk.hardness import gaps
    >>> gaps([0.5, 1.0, 0.25], 1)
    array([0.5 , 0.5 , 0.75])
    >>> gaps([1.0, 0.5, 0.5, 0.25], 2, ties="distinct")
    array([0.5 , 0.25, 0.25, 0.25])
    """
    means = check_means(means)
    k = check_k(k, means.size)
    check_choice(ties, "ties", TIES)
    kth, following = boundary(means, k)
    if ties == "distinct" and kth == following:
        distance = np.abs(means - kth)
        if distance.any():
            distance[distance == 0] = distance[distance > 0].min()
        return distance
    # theta_k > theta_{k+1}: exactly the k top arms are at least theta_k.  With a tie an arm
    # at the boundary value gets 0 from either line, so membership need not be settled.
    return np.where(means >= kth, means - following, kth - means)


def h1(means, k, *, ties="infinite"):
    r"""Hardness of exact identification, :math:`H_1=\sum_i\Delta_i^{-2}`.

    Parameters
    ----------
    means : array_like, shape (n,)
        True means in [0, 1], in any order.
    k : int
        Arms to select, 1 to n - 1.
    ties : {"infinite", "distinct"}
        As in `gaps`.

    Returns
    -------
    float
        At least n; ``inf`` when the boundary is tied and ``ties`` is "infinite".

    Raises
    ------
    ValueError
        For arguments that `gaps` refuses.

    Notes
    -----
    Published: :math:`H_1^{\langle m\rangle}` of Bubeck et al. (2013), also
    :math:`\tilde H` of Chen et al. (2017).  For k = 1 it is the best-arm measure of
    Audibert et al. (2010), in which the best arm has the gap of the second.

    Examples
    --------
    >>> from topk.hardness import h1
    >>> h1([0.75, 0.5, 0.25, 0.25], 1)
    40.0
    >>> h1([0.75, 0.5, 0.25, 0.25], 3)
    inf
    """
    return float(inverse_square(gaps(means, k, ties=ties)).sum())


def h2(means, k, *, ties="infinite"):
    r"""Hardness of the sorted gaps, :math:`H_2=\max_i i\,\Delta_{(i)}^{-2}`.

    Here :math:`\Delta_{(1)}\le\dots\le\Delta_{(n)}`, and
    :math:`H_2\le H_1\le\ln(2n)\,H_2`.

    Parameters
    ----------
    means : array_like, shape (n,)
        True means in [0, 1], in any order.
    k : int
        Arms to select, 1 to n - 1.
    ties : {"infinite", "distinct"}
        As in `gaps`.

    Returns
    -------
    float
        ``inf`` when the boundary is tied and ``ties`` is "infinite".

    Raises
    ------
    ValueError
        For arguments that `gaps` refuses.

    Notes
    -----
    Published: :math:`H_2^{\langle m\rangle}` and equation (1) of Bubeck et al. (2013).

    Examples
    --------
    >>> from topk.hardness import h2
    >>> h2([0.75, 0.5, 0.25, 0.25], 1)
    32.0
    """
    return _h2_of_gaps(gaps(means, k, ties=ties))


def _h2_of_gaps(all_gaps):
    """Return max over i of i / gap_(i)^2 for gaps in any order."""
    ordered = np.sort(all_gaps, axis=None)
    return float((np.arange(1, ordered.size + 1) * inverse_square(ordered)).max())


def h_multibandit(means, *, ties="infinite"):
    r"""Hardness of finding the best arm of each of M bandits.

    .. math:: H_1^{[M]}=\sum_{m,i}\Delta_i(m)^{-2},\qquad
              H_2^{[M]}=\max_i i\,(\Delta^{[M]}_i)^{-2},

    where :math:`\Delta^{[M]}_1\le\dots\le\Delta^{[M]}_{Mn}` are all gaps, each taken
    inside its own bandit with k = 1.

    Parameters
    ----------
    means : array_like, shape (M, n)
        True means in [0, 1], a row for each bandit; n >= 2.
    ties : {"infinite", "distinct"}
        As in `gaps`, for each row.

    Returns
    -------
    tuple of float
        (H1, H2); both ``inf`` when a row's best arm is tied and ``ties`` is "infinite".

    Raises
    ------
    ValueError
        If ``means`` has not two axes, has fewer than two columns, or has an entry
        outside [0, 1].

    Notes
    -----
    Published: Bubeck et al. (2013), section 4.

    Examples
    --------
    >>> from topk.hardness import h_multibandit
    >>> h_multibandit([[0.75, 0.25], [0.5, 0.25]])
    (40.0, 32.0)
    """
    rows = check_unit_array(means, "means", ndim=2)
    all_gaps = np.array([gaps(row, 1, ties=ties) for row in rows])
    return float(inverse_square(all_gaps).sum()), _h2_of_gaps(all_gaps)
