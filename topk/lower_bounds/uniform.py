"""Uniform sampling's own lower bound: Theorem 7.1 of the supplement of Zhou et al. (2014)."""

import math

import numpy as np
from scipy.stats import binom

from topk._checks import check_integer, check_k, check_n, check_real


def theorem_7_1_pulls(n, k, epsilon):
    r"""Pulls per arm at which uniform sampling still fails.

    .. math:: Q_0=\frac1{400\,\epsilon^2}\ln\frac nk .

    Parameters
    ----------
    n : int
        Number of arms.
    k : int
        Arms to select, 1 to n / 2.
    epsilon : float
        Tolerance on the average regret, in (0, 0.01).

    Returns
    -------
    float
        Q_0. With it, and n / k above 6,000, the failure probability is at least .05.

    Raises
    ------
    ValueError
        If an argument is outside its range.

    Notes
    -----
    Constant published: supplement of Zhou et al. (2014), Theorem 7.1, first part.
    `uniform_failure` gives the exact probability on the theorem's instance.

    Examples
    --------
    >>> from topk.lower_bounds import theorem_7_1_pulls
    >>> round(theorem_7_1_pulls(100_000, 10, 0.005), 1)
    921.0
    """
    n = check_n(n)
    k = check_k(k, largest=n // 2)
    epsilon = check_real(epsilon, "epsilon", 0, 0.01, low_open=True, high_open=True)
    return math.log(n / k) / (400 * epsilon**2)


def uniform_failure(n, k, epsilon, pulls):
    r"""Exact failure probability of uniform sampling on the instance of Theorem 7.1.

    k arms have mean :math:`\frac12+4\epsilon`, the others 1/2; every arm is pulled equally
    often and the k largest means are returned.  The set fails when its average regret
    exceeds epsilon, that is, when more than k / 4 good arms are missing.

    Parameters
    ----------
    n : int
        Number of arms.
    k : int
        Arms to select, 1 to n / 2.
    epsilon : float
        Tolerance on the average regret, in (0, 1/8].
    pulls : int
        Pulls of each arm, at least 1.

    Returns
    -------
    tuple of float
        The probability when ties of the means are broken for the good arms, and when they
        are broken for the bad ones. Any other rule lies between.

    Raises
    ------
    ValueError
        If an argument is outside its range.

    Notes
    -----
    *Derived*: at least m bad arms are returned exactly when the m-th best bad mean beats
    the m-th worst good one, and the two are independent.

    Examples
    --------
    >>> from topk.lower_bounds import uniform_failure
    >>> [round(bound, 4) for bound in uniform_failure(100, 10, 0.01, pulls=400)]
    [0.9694, 0.9816]
    """
    n = check_n(n)
    k = check_k(k, largest=n // 2)
    epsilon = check_real(epsilon, "epsilon", 0, 1 / 8, low_open=True)
    pulls = check_integer(pulls, "pulls", 1)
    m = k // 4 + 1
    ones = np.arange(pulls + 1)
    # P(m-th worst good <= v), P(m-th best bad >= v)
    worst_good = binom.sf(m - 1, k, binom.cdf(ones, pulls, 0.5 + 4 * epsilon))
    best_bad = binom.sf(m - 1, n - k, binom.sf(ones - 1, pulls, 0.5))
    law = np.diff(worst_good, prepend=0.0)
    above = np.append(best_bad[1:], 0.0)
    return float(law @ above), float(law @ best_bad)
