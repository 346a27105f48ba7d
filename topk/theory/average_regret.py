"""What OptMAI, uniform sampling, CLUCB-PAC, AdaptiveTopK and ImprovedTopK promise.

All five bound the average regret of the chosen set.
"""

import math

import numpy as np

from topk._checks import (
    check_budget,
    check_delta,
    check_epsilon,
    check_flag,
    check_integer,
    check_k,
    check_n,
    check_real,
    check_sizes,
)
from topk.theory.hardness import gaps, psi, smallest_integer, tolerance, topk_complexity

BETA = 0.75 * math.exp(0.2)  # OptMAI's ratio of budgets in the theorems


def qe_regret(size, k, pulls, delta):
    r"""Loss of one quartile elimination, as a bound on the fall of the k best arms' average.

    .. math:: \mathrm{val}_k(V)\ge\mathrm{val}_k(S)-\epsilon,\qquad
              \epsilon=\sqrt{\frac{|S|}Q\Bigl(10+\frac{4\ln(2/\delta)}k\Bigr)}
              \quad\text{with probability }1-\delta.

    Parameters
    ----------
    size : int
        :math:`|S|`, arms at the start of the round, at least 4 k.
    k : int
        Arms to select.
    pulls : int
        Q, pulls of the round in all, at least ``size``.
    delta : float
        In (0, 1).

    Returns
    -------
    float
        :math:`\epsilon`; above 1 it says nothing.

    Raises
    ------
    ValueError
        If an argument is outside its range.

    Notes
    -----
    Constant published: Zhou et al. (2014), Lemma 4.1.  Its proof in the supplement misses
    a factor 2 in one exponent; the constant stands.

    Examples
    --------
    >>> from topk.guarantees import qe_regret
    >>> round(qe_regret(100, 10, pulls=100_000, delta=0.1), 4)
    0.1058
    """
    k = check_k(k)
    size = check_integer(size, "size", 4 * k)
    pulls = check_budget(pulls, "pulls", smallest=size)
    delta = check_delta(delta)
    return math.sqrt(size / pulls * (10 + 4 * math.log(2 / delta) / k))


def ar_regret(size, k, pulls, delta, *, published=False):
    r"""Loss of one accept-reject round, as a bound on the fall of the best attainable average.

    .. math:: \epsilon=\sqrt{\frac{|S|}Q\Bigl(32+\frac{8\ln(2/\delta)}k\Bigr)}
              \ \text{(repaired)},\qquad
              \epsilon=\sqrt{\frac{|S|}Q\Bigl(4+\frac{\ln(2/\delta)}k\Bigr)}
              \ \text{(published)}.

    Parameters
    ----------
    size : int
        :math:`|S|`, arms at the start of the round, 1 to 4 k.
    k : int
        Arms to select.
    pulls : int
        Q, pulls of the round in all, at least ``size``.
    delta : float
        In (0, 1).
    published : bool
        Give the printed constant, which the printed proof does not reach.

    Returns
    -------
    float
        :math:`\epsilon`, holding with probability 1 - delta; above 1 it says nothing.

    Raises
    ------
    ValueError
        If an argument is outside its range.

    Notes
    -----
    Zhou et al. (2014), Lemma 4.2.  The printed proof loses a factor 8: the supplement's
    union bound needs :math:`\epsilon^2Q_0k\ge8|S|+8\ln(2/\delta)`; hence the *repaired*
    constant.  The published constant is nevertheless true, by a
    *derived* argument: the loss is at most :math:`\theta(G)-\theta(H)` for sets of equal size
    inside and outside the true top with :math:`\hat\theta(G)\le\hat\theta(H)`, so that it
    exceeds :math:`\epsilon k` with probability at most :math:`2^{|S|}e^{-\epsilon^2Q_0k}`,
    if the round decides by rank.  Theorem 4.3 is not affected.

    Examples
    --------
    >>> from topk.guarantees import ar_regret
    >>> round(ar_regret(40, 10, pulls=100_000, delta=0.1), 4)
    0.1173
    """
    k = check_k(k)
    size = check_integer(size, "size", 1, 4 * k)
    pulls = check_budget(pulls, "pulls", smallest=size)
    factor = 1 if check_flag(published, "published") else 8
    delta = check_delta(delta)
    return math.sqrt(factor * size / pulls * (4 + math.log(2 / delta) / k))


def _optmai_loss(n, k, delta, beta):
    """Return c with regret <= c / sqrt(Q): the sum of the rounds' losses, see `optmai_regret`."""
    loss, share, size, log = 0.0, 1 - beta, n, math.log(2 / delta / (1 - math.exp(-0.1)))
    while size > 0:
        if size >= 4 * k:
            constant = 10 + 4 * log / k
        else:
            constant = 8 * (size * math.log(2) + log) / k
        loss += math.sqrt(size / share * constant)
        share, size, log = share * beta, size - math.ceil(size / 4), log + 0.1
    return loss


def _complement(n, k, epsilon):
    """Return (k, epsilon) of the problem that is sampled: the smaller side, by 1 - reward."""
    return (k, epsilon) if 2 * k <= n else (n - k, epsilon * k / (n - k))


def optmai_regret(n, k, budget, delta, beta=BETA):
    r"""Average regret that OptMAI guarantees with probability 1 - delta.

    .. math:: \epsilon=\sum_r\sqrt{\frac{s_r}{\beta^r(1-\beta)Q}\,c_r},\qquad
              c_r=10+\frac{4\ln(2/\delta_r)}k\ (s_r\ge4k),\quad
              c_r=\frac8k\Bigl(s_r\ln2+\ln\frac2{\delta_r}\Bigr)\ (s_r<4k),

    with :math:`s_0=n`, :math:`s_{r+1}=s_r-\lceil s_r/4\rceil` down to 0, and
    :math:`\delta_r=e^{-r/10}(1-e^{-1/10})\,\delta`.

    Parameters
    ----------
    n : int
        Number of arms.
    k : int
        Arms to select, 1 to n - 1. For k > n / 2 the worst n - k arms are sought
        instead (Theorem 4.5), and the loss is spread over the k arms.
    budget : int
        Q, total pulls, at least n.
    delta : float
        In (0, 1).
    beta : float
        Ratio of consecutive rounds' budgets, in (3/4, 1).

    Returns
    -------
    float
        :math:`\epsilon`; above 1 it says nothing.

    Raises
    ------
    ValueError
        If an argument is outside its range.

    Notes
    -----
    Zhou et al. (2014), Theorem 4.3 and 4.5, state the order
    :math:`O(\sqrt{\frac nQ(1+\frac{\ln(1/\delta)}k)})`.  The constant is *derived* here by
    adding up Lemma 4.1 and the repaired Lemma 4.2 (with :math:`2^{|S|}` kept) over the
    rounds, for fresh samples in every round and pulls that divide evenly; it is far from
    tight.

    Examples
    --------
    >>> from topk.guarantees import optmai_regret
    >>> round(optmai_regret(1000, 100, budget=10**9, delta=0.1), 4)
    0.0845
    """
    n, k = check_sizes(n, k)
    budget = check_budget(budget, smallest=n)
    delta = check_delta(delta)
    beta = check_real(beta, "beta", 0.75, 1, low_open=True, high_open=True)
    side, spread = _complement(n, k, 1.0)
    return _optmai_loss(n, side, delta, beta) / math.sqrt(budget) / spread


def optmai_pulls(n, k, epsilon, delta, beta=BETA):
    r"""Budget with which OptMAI guarantees average regret epsilon.

    The Q at which the sum of `optmai_regret` is epsilon; of the order
    :math:`\frac n{\epsilon^2}\bigl(1+\frac{\ln(1/\delta)}k\bigr)`.

    Parameters
    ----------
    n : int
        Number of arms.
    k : int
        Arms to select, 1 to n - 1. For k > n / 2 the problem is turned round:
        n - k arms at :math:`\epsilon k/(n-k)` (Theorem 4.5).
    epsilon : float
        Average regret, in (0, 1).
    delta : float
        In (0, 1).
    beta : float
        Ratio of consecutive rounds' budgets, in (3/4, 1).

    Returns
    -------
    int
        Total pulls, at least n.

    Raises
    ------
    ValueError
        If an argument is outside its range.

    Notes
    -----
    The shape is published (Zhou et al. (2014), Corollary 4.4 and Theorem 4.5); the constant
    is *derived* here, as in `optmai_regret`.  What suffices in practice is several orders of
    magnitude smaller.

    Examples
    --------
    >>> from topk.guarantees import optmai_pulls
    >>> optmai_pulls(1000, 100, epsilon=0.1, delta=0.1)
    714323497
    """
    n, k = check_sizes(n, k)
    epsilon = check_epsilon(epsilon, positive=True)
    delta = check_delta(delta)
    beta = check_real(beta, "beta", 0.75, 1, low_open=True, high_open=True)
    side, epsilon = _complement(n, k, epsilon)
    return max(n, math.ceil((_optmai_loss(n, side, delta, beta) / epsilon) ** 2))


def optmai_arm_pulls(n, budget, beta=BETA):
    r"""Most pulls that OptMAI can spend on one arm.

    .. math:: \sum_r\frac{\beta^r(1-\beta)Q}{s_r},\qquad s_0=n,\quad
              s_{r+1}=s_r-\lceil s_r/4\rceil .

    Parameters
    ----------
    n : int
        Number of arms.
    budget : int
        Q, total pulls, at least n.
    beta : float
        Ratio of consecutive rounds' budgets, in (3/4, 1).

    Returns
    -------
    float
        For an arm that stays to the last possible round; of the order
        :math:`Qn^{-.3}` for the theorem's beta and
        :math:`Qn^{\ln(4\beta/3)/\ln(4/3)-1}` in general.

    Raises
    ------
    ValueError
        If an argument is outside its range.

    Notes
    -----
    Zhou et al. (2014), Theorem 4.3, states :math:`O(Q/n^{0.3})`.  The sum is *derived*: a
    round removes exactly :math:`\lceil s/4\rceil` arms, and pulls divide evenly.

    Examples
    --------
    >>> from topk.guarantees import optmai_arm_pulls
    >>> round(optmai_arm_pulls(1000, 20_000))
    902
    """
    n = check_n(n)
    budget = check_budget(budget, smallest=n)
    beta = check_real(beta, "beta", 0.75, 1, low_open=True, high_open=True)
    total, share, size = 0.0, (1 - beta) * budget, n
    while size > 0:
        total += share / size
        share, size = share * beta, size - math.ceil(size / 4)
    return total


def uniform_pulls(n, k, epsilon, delta):
    r"""Pulls with which uniform sampling guarantees average regret epsilon.

    .. math:: nQ_0,\qquad Q_0=\Bigl\lceil\frac{2}{\epsilon^2}
              \Bigl(\ln\frac{en}k+\frac{\ln(2/\delta)}k\Bigr)\Bigr\rceil .

    Parameters
    ----------
    n : int
        Number of arms.
    k : int
        Arms to select, 1 to n - 1.
    epsilon : float
        Average regret, in (0, 1).
    delta : float
        In (0, 1).

    Returns
    -------
    int
        Total pulls, the same number for each arm.

    Raises
    ------
    ValueError
        If an argument is outside its range.

    Notes
    -----
    Constant published: Lemma 6.1 of the supplement of Zhou et al. (2014), applied to all n
    arms (its proof does not use :math:`n\le4k`); Remark 4.2 states the order.

    Examples
    --------
    >>> from topk.guarantees import uniform_pulls
    >>> uniform_pulls(1000, 100, epsilon=0.1, delta=0.1)
    667000
    """
    n, k = check_sizes(n, k)
    epsilon = check_epsilon(epsilon, positive=True)
    delta = check_delta(delta)
    each = 2 / epsilon**2 * (math.log(math.e * n / k) + math.log(2 / delta) / k)
    return n * math.ceil(each)


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


def improved_topk_constants(epsilon, delta):
    """Return R and L = ln(2/p) of `topk.ImprovedTopK`, for epsilon at most 1/2."""
    most_rounds = math.ceil(1 - math.log2(epsilon))
    return most_rounds, math.log(4000 * most_rounds**3) - math.log(epsilon) - math.log(delta)


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
    R, L = improved_topk_constants(epsilon, delta)
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
