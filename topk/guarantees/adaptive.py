"""Guarantees of CLUCB-PAC, AdaptiveTopK and ImprovedTopK: Chen et al. (2014, 2017)."""

import math

import numpy as np
from numpy.typing import ArrayLike

from topk import hardness
from topk._checks import (
    between,
)
from topk._ranges import (
    above_zero,
    below_means,
    below_one,
    improved_topk_constants,
    inverse_square,
    one_bandit,
    probability,
    smallest_integer,
    validated,
)
from topk.guarantees.optmai import BETA


@validated(means=one_bandit, k=below_means, epsilon=below_one, delta=probability, R=above_zero)
def clucb_pac_pulls(
    means: ArrayLike, k: int, epsilon: float, delta: float, R: float = 0.5,
) -> int | float:
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
        Sub-Gaussian parameter of the rewards, positive; 1/2 for rewards in [0, 1].

    Returns
    -------
    int or float
        Total pulls; ``inf`` when epsilon is 0 and the boundary is tied.

    See Also
    --------
    topk.CLUCBPAC : the strategy.
    lucb1_likely_pulls : the bound of LUCB1.

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
    complexity = float(inverse_square(np.maximum(hardness.gaps(means, k), 2 * epsilon)).sum())
    n, factor, constant = len(means), 32 * R * R * complexity, math.log(4 * len(means) / delta)
    return smallest_integer(lambda t: t > n + factor * (constant + 3 * math.log(t)), 1) - 1


@validated(means=one_bandit, k=below_means, epsilon=below_one, delta=probability)
def adaptive_topk_pulls(means: ArrayLike, k: int, epsilon: float, delta: float) -> int | float:
    r"""Pulls that AdaptiveTopK exceeds with probability at most delta.

    Arm i is pulled in at most :math:`r_i` rounds, so the total is at most

    .. math:: \sum_i\sum_{r\le r_i}\Bigl\lceil4^r\ln\frac{2nr^2}\delta\Bigr\rceil,\qquad
              4^{r_i}\le\min\Bigl\{\frac{64}{\max(\Delta_i,\Delta_{k-t})^2},
              \frac{16}{\epsilon^2}\Bigr\},

    where t is the one-sided tolerance of Theorem 4.

    Parameters
    ----------
    means, k, delta
        As in `clucb_pac_pulls`.
    epsilon : float
        Average regret, in [0, 1).

    Returns
    -------
    int or float
        Total pulls; ``inf`` when epsilon is 0 and :math:`\Delta_{k-t}=0`.

    See Also
    --------
    topk.AdaptiveTopK : the strategy.
    improved_topk_pulls : the bound of ImprovedTopK.

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


@validated(
    means=one_bandit, k=below_means, epsilon=between(0, 1), delta=probability, constant=above_zero,
)
def improved_topk_order(
    means: ArrayLike, k: int, epsilon: float, delta: float, constant: float = 1.0,
) -> float:
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
        An order of magnitude with the default constant 1, not a number of pulls.

    Notes
    -----
    Chen et al. (2017), Theorem 2, which hides C; its algorithm has not been recovered.  For the
    algorithm derived here instead (`topk.ImprovedTopK`), the C of the proof is astronomical; the
    measured C is some tens for k = n / 2 and 10^4 for k much smaller than n.

    Examples
    --------
    >>> from topk.guarantees import improved_topk_order
    >>> round(improved_topk_order([0.9, 0.5, 0.1], 1, epsilon=0.1, delta=0.05), 1)
    74.5
    """
    epsilon = min(epsilon, 0.5)
    logs = math.log(1 / epsilon) + math.log(1 / delta)
    return constant * hardness.topk_complexity(means, k, epsilon) * logs


@validated(means=one_bandit, k=below_means, epsilon=between(0, 1), delta=probability)
def improved_topk_pulls(means: ArrayLike, k: int, epsilon: float, delta: float) -> float:
    r"""Pulls that `topk.ImprovedTopK` exceeds with probability at most delta.

    With :math:`L=\ln\frac2p`, :math:`c_r=\#\{i:5\cdot2^{-(r-1)}\ge\Delta_i\}` (all arms for
    r = 1), :math:`\rho` the largest :math:`r\le R` with :math:`2^r<40/\Psi_t`,
    :math:`M=\sum_{r\le\rho}4^rc_r` and small corrections
    :math:`Z,W,Z'=O(\frac\epsilon{R^3}H)`, the bound is

    .. math:: \Bigl(\frac32h+33a\Bigr)(M+Z+W)+\Bigl(\frac32h+9a\Bigr)Z'
              +24\varphi\bigl(\max_{r\le\rho}4^rc_r+Z+W+Z'\bigr),

    where :math:`a=\frac L2+\frac14` bounds the cost of a batch of S,
    :math:`h=360L+2880\ln2+\frac58` for a halving tournament and
    :math:`\varphi=O(1+\ln\frac1\delta)` for the final step.

    Parameters
    ----------
    means, k, epsilon, delta
        As in `improved_topk_order`.

    Returns
    -------
    float
        Pulls; of the order of `improved_topk_order`, with a constant above 10^7.

    See Also
    --------
    topk.ImprovedTopK : the strategy.
    adaptive_topk_pulls : the bound of AdaptiveTopK.

    Notes
    -----
    *Derived* with the algorithm in the chapter "ImprovedTopK: removing the factor ln n", with
    explicit constants.  On the same event the regret is at most epsilon.

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
    per_arm = min(1.0, 2 / (epsilon * k))  # at least 1 / k' in the final step
    q, beta = math.exp(-0.1), BETA
    quarters = (10 + 4 * per_arm * math.log(16 / (delta * (1 - q)))) / (1 - beta)
    quarters = 4 / (1 - q) ** 2 * (quarters + 0.4 * per_arm * beta / (1 - beta) ** 2) + 1
    last = 8 * (1 + math.log(4) + per_arm * math.log(16 / delta)) + 0.25
    batches = (1.5 * h + 33 * a) * (M + Z + W) + (1.5 * h + 9 * a) * Z_late
    return batches + 24 * (quarters + last) * (largest + Z + W + Z_late)
