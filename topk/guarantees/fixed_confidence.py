"""Fixed confidence: Halving, Direct, UGapEc, CLUCB-PAC, AdaptiveTopK, ImprovedTopK."""

import math

import numpy as np

from topk._checks import check_delta, check_epsilon, check_k, check_n, check_real
from topk.hardness import gaps, psi, tolerance, topk_complexity, ugape_complexity
from topk.hardness.solve import smallest_integer
from topk.kernels.halving import constants


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
    complexity = topk_complexity(means, k, epsilon, t=0)  # checks the arguments
    delta = check_delta(delta)
    R = check_real(R, "R", 0, math.inf, low_open=True, high_open=True)
    if math.isinf(complexity):
        return math.inf
    n = len(means)
    with_half = float(np.sum(np.maximum(gaps(means, k), 2 * epsilon) ** -2.0))
    factor, constant = 32 * R * R * with_half, math.log(4 * n / delta)
    return smallest_integer(lambda t: t > n + factor * (constant + 3 * math.log(t)), 1) - 1


def adaptive_topk_pulls(means, k, epsilon, delta):
    r"""Pulls that AdaptiveTopK exceeds with probability at most delta.

    Arm i is pulled in at most :math:`r_i` rounds, so the total is at most

    .. math:: \sum_i\sum_{r\le r_i}\Bigl\lceil4^r\ln\frac{2nr^2}\delta\Bigr\rceil,\qquad
              4^{r_i}\le\min\Bigl\{\frac{64}{\max(\Delta_i,\Delta_{k-t})^2},
              \frac{16}{\epsilon^2}\Bigr\},

    where t is the one-sided tolerance of Theorem 4.

    Parameters
    ----------
    means : array_like, shape (n,)
        True means in [0, 1], in any order.
    k : int
        Arms to select, 1 to n - 1.
    epsilon : float
        Average regret, in [0, 1).
    delta : float
        In (0, 1).

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
    t = tolerance(means, k, epsilon, sides="top")
    boundary = psi(means, k, 0.0, t=t, sides="top")  # the gap at rank k - t itself
    delta = check_delta(delta)
    if max(boundary, epsilon) < 1e-150:  # zero, or so small that 4^r overflows
        return math.inf
    reach = np.maximum(gaps(means, k), boundary)
    n, r, total = len(means), 0, 0
    while True:
        r += 1
        active = int(np.count_nonzero(reach * 2.0**r <= 8.0)) if 2.0**r * epsilon < 4.0 else 0
        if active == 0:
            return total
        total += active * math.ceil(4**r * math.log(2 * n * r * r / delta))


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
    epsilon = min(check_epsilon(epsilon, positive=True), 0.5)
    complexity = topk_complexity(means, k, epsilon)
    delta = check_delta(delta)
    constant = check_real(constant, "constant", 0, math.inf, low_open=True, high_open=True)
    return constant * complexity * (math.log(1 / epsilon) + math.log(1 / delta))


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
    means : array_like, shape (n,)
        True means in [0, 1], in any order.
    k : int
        Arms to select, 1 to n - 1.
    epsilon : float
        Average regret, in (0, 1); above 1/2 the algorithm runs with 1/2.
    delta : float
        In (0, 1).

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
    epsilon = min(check_epsilon(epsilon, positive=True), 0.5)
    t = tolerance(means, k, epsilon)
    boundary = psi(means, k, 0.0, t=t)
    delta = check_delta(delta)
    R, _, L = constants(k, epsilon, delta)
    p = 2 * math.exp(-L)
    gap = gaps(means, k)
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
    q, beta = math.exp(-0.1), 0.75 * math.exp(0.2)
    quarters = (10 + 4 * few * math.log(16 / (delta * (1 - q)))) / (1 - beta)
    quarters = 4 / (1 - q) ** 2 * (quarters + 0.4 * few * beta / (1 - beta) ** 2) + 1
    last = 8 * (1 + math.log(4) + few * math.log(16 / delta)) + 0.25
    batches = (1.5 * h + 33 * a) * (M + Z + W) + (1.5 * h + 9 * a) * Z_late
    return batches + 24 * (quarters + last) * (largest + Z + W + Z_late)
