"""Gaps, the papers' measures of hardness, and evenly spread arms."""

import math
from typing import Literal, NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from topk._checks import (
    as_numbers,
    as_vector,
    between,
    check_integer,
    check_real,
    check_unit_array,
    refuse,
)
from topk._ranges import (
    above_zero,
    any_unit,
    below_means,
    below_one,
    integer,
    inverse_square,
    means_up_to_b,
    one_bandit,
    one_of,
    up_to_b,
    up_to_half,
    validated,
)
from topk._types import FloatOrFloats, Floats
from topk.confidence.kl import kl_of_step
from topk.metrics import SLACK


@validated(
    means=lambda value, name, arguments: as_vector(value, name), k=below_means,
    ties=one_of("infinite", "distinct"),
)
def gaps(means: ArrayLike, k: int, *, ties: Literal["infinite", "distinct"] = "infinite") -> Floats:
    r"""Distance of every arm's mean from the other side of the boundary.

    With :math:`\theta_1\ge\dots\ge\theta_n` the sorted means,

    .. math:: \Delta_i=\theta_i-\theta_{k+1}\ (i\le k),\qquad
              \Delta_i=\theta_k-\theta_i\ (i>k).

    Parameters
    ----------
    means : array_like, shape (n,)
        True means, each finite, in any order.
    k : int
        Arms to select, 1 to n - 1.
    ties : {"infinite", "distinct"}
        Convention for ties at the boundary, :math:`\theta_k=\theta_{k+1}=v`.  "infinite" is the
        plain definition: arms at v have gap 0, and every H is infinite.  With "distinct" the gap of
        arms at v is the distance to the nearest different mean, and that of the others
        :math:`|\theta_i-v|`.  Without a tie the two conventions agree.

    Returns
    -------
    ndarray, shape (n,)
        The gaps, in the order of ``means``.

    Raises
    ------
    ValueError
        If ``means`` has fewer than two arms or an entry that is not finite, or another argument is
        outside its range.

    See Also
    --------
    h1 : the sum of their inverse squares.
    h2 : the largest product of rank and inverse square.

    Notes
    -----
    Published: Chen et al. (2017), equation (2); Bubeck et al. (2013), section 2; Kalyanakrishnan et
    al. (2012) and Gabillon et al. (2012) use the same gaps.  The convention "distinct" is ours:
    four of the six instances of Bubeck et al. have a tie at the boundary for most m, a case that
    the paper does not discuss.  If all means are equal, all gaps are 0 with "distinct" as well.

    Examples
    --------
    >>> from topk.hardness import gaps
    >>> gaps([0.5, 1.0, 0.25], 1)
    array([0.5 , 0.5 , 0.75])
    >>> gaps([12.0, -3.0, 7.0], 1)
    array([ 5., 15.,  5.])
    >>> gaps([1.0, 0.5, 0.5, 0.25], 2, ties="distinct")
    array([0.5 , 0.25, 0.25, 0.25])
    """
    following, kth = np.sort(means)[[-k - 1, -k]]
    if ties == "distinct" and kth == following:
        distance = np.abs(means - kth)
        if distance.any():
            distance[distance == 0] = distance[distance > 0].min()
        return distance
    # If theta_k > theta_{k+1}, exactly the k top arms are at least theta_k.  With a tie both
    # formulas give 0 at the boundary value, so the sides need not be distinguished.
    return np.where(means >= kth, means - following, kth - means)


def h1(means: ArrayLike, k: int, *, ties: Literal["infinite", "distinct"] = "infinite") -> float:
    r"""Hardness of exact identification, :math:`H_1=\sum_i\Delta_i^{-2}`.

    Parameters
    ----------
    means, k
        As in `gaps`.
    ties : {"infinite", "distinct"}
        As in `gaps`.

    Returns
    -------
    float
        At least n with means in [0, 1]; ``inf`` when the boundary is tied and ``ties`` is
        "infinite".

    See Also
    --------
    h2 : the hardness in terms of sorted gaps.
    h_multibandit : the hardness for several bandits.
    characteristic_time : the exact cost per unit of confidence.

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


def h2(means: ArrayLike, k: int) -> float:
    r"""Hardness in terms of the sorted gaps, :math:`H_2=\max_i i\,\Delta_{(i)}^{-2}`.

    Here :math:`\Delta_{(1)}\le\dots\le\Delta_{(n)}`, and
    :math:`H_2\le H_1\le\ln(2n)\,H_2`.

    Parameters
    ----------
    means, k
        As in `gaps`.

    Returns
    -------
    float
        ``inf`` when the boundary is tied.

    See Also
    --------
    h1 : the sum over arms.

    Notes
    -----
    Published: :math:`H_2^{\langle m\rangle}` and equation (1) of Bubeck et al. (2013).

    Examples
    --------
    >>> from topk.hardness import h2
    >>> h2([0.75, 0.5, 0.25, 0.25], 1)
    32.0
    """
    return _h2_of_gaps(gaps(means, k))


def _h2_of_gaps(all_gaps):
    """Return max over i of i / gap_(i)^2 for gaps in any order."""
    ordered = np.sort(all_gaps, axis=None)
    return float((np.arange(1, ordered.size + 1) * inverse_square(ordered)).max())


def h_multibandit(means: ArrayLike) -> tuple[float, float]:
    r"""Hardness of finding the best arm of each of M bandits.

    .. math:: H_1^{[M]}=\sum_{m,i}\Delta_i(m)^{-2},\qquad
              H_2^{[M]}=\max_i i\,(\Delta^{[M]}_i)^{-2},

    where :math:`\Delta^{[M]}_1\le\dots\le\Delta^{[M]}_{Mn}` are the gaps of all arms, each within
    its own bandit with k = 1.

    Parameters
    ----------
    means : array_like, shape (M, n)
        True means in [0, 1], one row per bandit; n >= 2.

    Returns
    -------
    tuple of float
        (H1, H2); both ``inf`` when a row's best arm is tied.

    Raises
    ------
    ValueError
        If ``means`` does not have two axes, or has fewer than two columns or an entry outside [0,
        1].

    See Also
    --------
    h1 : the hardness for one bandit.

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
    all_gaps = np.array([gaps(row, 1) for row in rows])
    return float(inverse_square(all_gaps).sum()), _h2_of_gaps(all_gaps)


@validated(means=one_bandit, k=below_means, epsilon=below_one)
def lucb_complexity(means: ArrayLike, k: int, epsilon: float) -> float:
    r"""Complexity of LUCB, :math:`H^{\epsilon/2}=\sum_i\max(\Delta_i,\epsilon/2)^{-2}`.

    Parameters
    ----------
    means, k
        As in `gaps`.
    epsilon : float
        Tolerance per arm, in [0, 1).

    Returns
    -------
    float
        Between n and :math:`4n/\epsilon^2`; ``inf`` when epsilon is 0 and the boundary
        is tied.

    See Also
    --------
    ugape_complexity : the complexity of UGapE.
    characteristic_time : the exact cost per unit of confidence.

    Notes
    -----
    Published: Kalyanakrishnan et al. (2012), section 2 and Theorem 6.

    Examples
    --------
    >>> from topk.hardness import lucb_complexity
    >>> lucb_complexity([0.75, 0.5, 0.25], 1, epsilon=0.5)
    36.0
    """
    return float(inverse_square(np.maximum(gaps(means, k), epsilon / 2)).sum())


@validated(b=above_zero, means=means_up_to_b, k=below_means, epsilon=up_to_b)
def ugape_complexity(
    means: ArrayLike, k: int, epsilon: float, b: float = 1.0, *, variances: ArrayLike | None = None,
) -> float:
    r"""Complexity of UGapE, in its Hoeffding or its variance form.

    With :math:`m_i=\max(\frac{\Delta_i+\epsilon}2,\epsilon)`,

    .. math:: H_\epsilon=\sum_i\frac{b^2}{m_i^2},\qquad
              H^\sigma_\epsilon=\sum_i
              \frac{\bigl(\sigma_i+\sqrt{\sigma_i^2+\frac{13}3bm_i}\bigr)^2}{m_i^2}.

    Parameters
    ----------
    means : array_like, shape (n,) or (M, n)
        True means in [0, b]; two axes describe M bandits, whose terms are summed.
    k : int
        Arms to select in each bandit, 1 to n - 1.
    epsilon : float
        Tolerance per arm, in [0, b).
    b : float
        Upper end of the rewards' range [0, b], positive; 1 for the library's bandits.
    variances : array_like, same shape as ``means``, optional
        True variances in [0, b^2]; if given, the variance form is returned.

    Returns
    -------
    float
        ``inf`` when epsilon is 0 and a boundary is tied.

    Raises
    ------
    ValueError
        If an argument is outside its range, or ``variances`` does not have the shape of ``means``.

    See Also
    --------
    lucb_complexity : the complexity of LUCB.

    Notes
    -----
    :math:`H_\epsilon` is published: Gabillon et al. (2012), equation (6).  The variance form and
    the sum over bandits are derived here (chapter "UGapE: one rule for fixed budget and fixed
    confidence"): the original is in a technical report that was not available to us.

    Examples
    --------
    >>> from topk.hardness import ugape_complexity
    >>> ugape_complexity([0.75, 0.5, 0.25], 1, epsilon=0.25)
    39.111111111111114
    >>> ugape_complexity([[0.75, 0.25], [0.5, 0.0]], 1, epsilon=0.5)
    16.0
    >>> ugape_complexity([1.5, 1.0, 0.5], 1, epsilon=0.5, b=2)
    39.111111111111114
    """
    delta = np.array([gaps(row, k) for row in np.atleast_2d(means)])  # in units of b
    m = np.maximum((delta + epsilon) / 2, epsilon)
    if variances is None:
        return float(inverse_square(m).sum())
    variance = as_numbers(variances, "variances", "an array of numbers from 0 to b^2") / b**2
    variance = check_unit_array(variance, "variances", ndim=means.ndim)
    if variance.shape != means.shape:
        refuse("variances", f"an array of shape {variance.shape}", f"of shape {means.shape}")
    variance = np.atleast_2d(variance)
    root = np.sqrt(variance) + np.sqrt(variance + 13 / 3 * m)
    with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
        terms = np.square(root / m)
    return float(np.where(m > 0, terms, np.inf).sum())


@validated(means=one_bandit, k=below_means, epsilon=below_one, sides=one_of("both", "top"))
def tolerance(
    means: ArrayLike, k: int, epsilon: float, *, sides: Literal["both", "top"] = "both",
) -> int:
    r"""Number of boundary arms that may be wrong at a given average regret, :math:`t(\epsilon,k)`.

    The largest :math:`t\in\{0,\dots,\min(k-1,n-k-1)\}` with

    .. math:: t\,\Delta_{k-t}\le k\epsilon\quad\text{and}\quad t\,\Delta_{k+t+1}\le k\epsilon.

    Parameters
    ----------
    means, k
        As in `gaps`.
    epsilon : float
        Tolerance on the average regret, in [0, 1).
    sides : {"both", "top"}
        "top" keeps only the first condition (and the cap k - 1), as Theorem 4 does.

    Returns
    -------
    int
        t; 0 when k = 1.

    Notes
    -----
    Chen et al. (2017), equation (3), restored (the products are garbled in our copy); the cap
    :math:`n-k-1`, beyond which rank k + t + 1 does not exist, is ours.  Both products are
    nondecreasing in t, so the condition holds exactly up to the answer.  With a positive
    epsilon the comparison has the slack of `topk.metrics` (about 3.6e-15), because t times a gap
    *equals* k epsilon on many textbook instances, whose decimals are stored rounded.

    Examples
    --------
    >>> from topk.hardness import tolerance
    >>> tolerance([0.7] * 4 + [0.3] * 4, 4, epsilon=0.25)
    2
    """
    above, below = _sorted_gaps(means, k, sides)
    products = np.arange(above.size) * np.maximum(above, below)
    allowed = k * (epsilon + SLACK) if epsilon > 0 else 0.0
    return int(np.count_nonzero(products <= allowed)) - 1


def _sorted_gaps(means, k, sides):
    """Return the gaps at ranks k - t and k + t + 1 for t = 0, 1, ... while both exist.

    With sides="top" the second array repeats the first, and t goes to k - 1.
    """
    ordered = np.sort(means)[::-1]
    above = (ordered[:k] - ordered[k])[::-1]
    below = above if sides == "top" else ordered[k - 1] - ordered[k:]
    length = min(above.size, below.size)
    return above[:length], below[:length]


@validated(means=one_bandit, k=below_means, epsilon=below_one, sides=one_of("both", "top"))
def psi(
    means: ArrayLike,
    k: int,
    epsilon: float,
    *,
    t: int | None = None,
    sides: Literal["both", "top"] = "both",
) -> float:
    r"""Level at which gaps are truncated from below, :math:`\Psi_t^\epsilon=\max(\epsilon,\Psi_t)`.

    .. math:: \Psi_t=\min(\Delta_{k-t},\Delta_{k+t+1}).

    Parameters
    ----------
    means, k
        As in `gaps`.
    epsilon : float
        Tolerance on the average regret, in [0, 1).
    t : int, optional
        0 to min(k, n - k) - 1 (to k - 1 if sides="top"); `tolerance` by default.
    sides : {"both", "top"}
        "top" takes :math:`\Psi_t=\Delta_{k-t}`, as Theorem 4 does.

    Returns
    -------
    float
        In [0, 1].

    See Also
    --------
    topk_complexity : the complexity that uses it.

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
    t = tolerance(means, k, epsilon, sides=sides) if t is None else t
    t = check_integer(t, "t", 0, above.size - 1)
    return float(max(epsilon, min(above[t], below[t])))


def topk_complexity(
    means: ArrayLike,
    k: int,
    epsilon: float,
    t: int | None = None,
    *,
    sides: Literal["both", "top"] = "both",
) -> float:
    r"""Complexity of top-k with average regret, :math:`H^{(t,\epsilon)}`.

    .. math:: H^{(t,\epsilon)}=\sum_i\min\{\Delta_i^{-2},(\Psi_t^\epsilon)^{-2}\}.

    Parameters
    ----------
    means, k
        As in `gaps`.
    epsilon : float
        Tolerance on the average regret, in [0, 1).
    t : int, optional
        0 to min(k, n - k) - 1 (to k - 1 if sides="top"); `tolerance` by default.  With t = 0 this
        is :math:`H^{(0,\epsilon)}=\sum_i\min\{\Delta_i^{-2},\epsilon^{-2}\}`, the complexity of
        CLUCB-PAC.
    sides : {"both", "top"}
        "top" gives the (smaller or equal) sum of Theorem 4.

    Returns
    -------
    float
        Between n and :math:`n/\epsilon^2`; ``inf`` when epsilon is 0 and
        :math:`\Psi_t=0`.

    See Also
    --------
    psi : the level at which its gaps are truncated.
    spread_bounds : its size for arms that are spread.

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


@validated(p=any_unit, q=any_unit)
def bernoulli_kl(p: ArrayLike, q: ArrayLike) -> FloatOrFloats:
    r"""Kullback-Leibler divergence of Bernoulli(p) from Bernoulli(q), in nats.

    .. math:: \mathrm{kl}(p,q)=p\ln\frac pq+(1-p)\ln\frac{1-p}{1-q},\qquad 0\ln0=0.

    Parameters
    ----------
    p, q : float or array_like
        Means in [0, 1]; broadcast against each other.

    Returns
    -------
    float or ndarray
        The divergence; ``inf`` where ``p`` puts mass on a value that ``q`` forbids.

    Notes
    -----
    Computed as :math:`p\,e(\frac{q-p}p)+(1-p)\,e(\frac{p-q}{1-p})` with
    :math:`e(r)=r-\ln(1+r)\ge0`, so that no digits cancel when p and q are close.

    Examples
    --------
    >>> from topk.hardness import bernoulli_kl
    >>> round(bernoulli_kl(0.5, 0.25), 6)
    0.143841
    >>> bernoulli_kl(0.5, 0.0)
    inf
    """
    value = np.maximum(kl_of_step(p, q, 1.0 - q, q - p), 0.0)
    return float(value) if value.ndim == 0 else value


@validated(means=one_bandit)
def spread_constant(means: ArrayLike) -> float:
    r"""Smallest c for which the arms are c-spread.

    Arms with sorted means :math:`\theta_1\ge\dots\ge\theta_n` are c-spread, c >= 1, if

    .. math:: \frac{|i-j|}{cn}\le|\theta_i-\theta_j|\le\frac{c\,|i-j|}n
              \quad\text{for all }i,j.

    Parameters
    ----------
    means : array_like, shape (n,)
        True means in [0, 1], in any order.

    Returns
    -------
    float
        At least 1; ``inf`` if two means are equal.  The arms are c-spread if and only if c is at
        least this value.

    See Also
    --------
    spread_bounds : the bounds for this constant.

    Notes
    -----
    Chen et al. (2017), Definition 1, restored (the bracket is garbled in our copy).
    Plain form: the largest of 1, :math:`n|\theta_i-\theta_j|/|i-j|` and its inverse over
    all pairs.  Neighbouring ranks suffice: the slope between two ranks is the average of
    the slopes of the steps between them.

    Examples
    --------
    >>> from topk.hardness import spread_constant
    >>> spread_constant([1.0, 0.75, 0.25, 0.0])
    2.0
    """
    steps = abs(np.diff(np.sort(means))) * len(means)  # 0 and -0 are equal
    with np.errstate(divide="ignore", over="ignore"):  # equal means rightly give inf
        return float(max(1.0, steps.max(), 1 / steps.min()))


class SpreadBounds(NamedTuple):
    """The bounds of Lemma 1 for c-spread arms.

    Attributes
    ----------
    tolerance : int
        Lower bound on t(epsilon, k).
    psi : float
        Lower bound on Psi_t.
    upper : float
        Upper bound on H^(t, epsilon), of the order n / sqrt(epsilon).
    lower : float
        Lower bound on H^(0, epsilon), of the order n / epsilon.
    """

    tolerance: int
    psi: float
    upper: float
    lower: float


@validated(n=integer(2), k=up_to_half, epsilon=between(0, 1))
def spread_bounds(n: int, k: int, epsilon: float, c: float) -> SpreadBounds:
    r"""Lemma 1 with explicit constants: bounds for all c-spread arms.

    With :math:`\gamma=k/n\le\frac12` and cap :math:`\tau=\min(k-1,n-k-1)`,

    .. math:: t\ge\min\Bigl(\bigl\lfloor n\sqrt{\tfrac{\gamma\epsilon}{2c}}\bigr\rfloor,
              \tau\Bigr),\quad \Psi_t\ge\sqrt{\tfrac{\gamma\epsilon}{2c^3}}
              \ \bigl(\text{or }\tfrac{\tau+1}{cn}\text{ at the cap}\bigr),\quad
              H^{(t,\epsilon)}\le\frac{4cn}{\max(\Psi_t,\epsilon)},

    .. math:: H^{(0,\epsilon)}\ge\epsilon^{-2}\bigl(\min(d,k)+\min(d,n-k)\bigr),
              \qquad d=\lfloor\epsilon n/c\rfloor.

    Parameters
    ----------
    n : int
        Number of arms, at least 2.
    k : int
        Arms to select, 1 to n / 2.
    epsilon : float
        Tolerance on the average regret, in (0, 1).
    c : float
        Spread constant, at least 1 and finite.

    Returns
    -------
    SpreadBounds
        ``tolerance``, ``psi``, ``upper`` and ``lower``; the last is at least n, as is every H.

    See Also
    --------
    topk_complexity : what is bounded.
    spread_constant : the smallest constant of the condition.

    Notes
    -----
    Chen et al. (2017), Lemma 1, states the orders :math:`O(n/\sqrt\epsilon)` and
    :math:`\Omega(n/\epsilon)` for constant c and :math:`\gamma`; its proof is in a full version
    that was not available to us.  The constants are derived here, in the chapter
    "AdaptiveTopK: sample complexity that adapts to the instance".

    Examples
    --------
    >>> from topk.hardness import spread_bounds
    >>> bounds = spread_bounds(1000, 500, epsilon=0.01, c=1.0)
    >>> bounds.tolerance, round(bounds.psi, 3), round(bounds.upper), round(bounds.lower)
    (50, 0.05, 80000, 200000)
    """
    c = check_real(c, "c", 1, math.inf, high_open=True)
    largest = min(k - 1, n - k - 1)
    tolerated = math.floor(n * math.sqrt(k / n * epsilon / (2 * c)))
    level = math.sqrt(k / n * epsilon / (2 * c**3))
    if tolerated > largest:
        level = (largest + 1) / (c * n)
    neighbours = math.floor(epsilon * n / c)
    lower = max(n, (min(neighbours, k) + min(neighbours, n - k)) / epsilon**2)
    return SpreadBounds(min(tolerated, largest), level, 4 * c * n / max(level, epsilon), lower)
