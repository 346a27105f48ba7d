"""About how good is the k-th best arm? (the by-product of ImprovedTopK)"""

import math
from typing import NamedTuple

import numpy as np

from topk._checks import check_delta, check_integer, check_k, check_real
from topk.bandits import check_bandit
from topk.kernels.halving import (
    fill_pool,
    halve,
    halving_share,
    needs_halving,
    new_pool,
    ranked_sum,
    sorting_share,
)


class KthArm(NamedTuple):
    """What `kth_arm` found.

    Attributes
    ----------
    estimate : float
        The value of the k-th best arm, about.
    candidates : ndarray of int64
        The arms that were left after halving, at most max(4k, ...) of them, in
        increasing order; at least k - slack of them have a mean of at least the
        k-th largest minus eta.
    pulls : ndarray of int64, shape (n,)
        Pulls of each arm.
    """

    estimate: float
    candidates: np.ndarray
    pulls: np.ndarray


def kth_arm(bandit, k, eta, delta, slack=0, rng=0):
    r"""Estimate the k-th largest mean without the factor ln n of a union bound.

    While more than 4k arms are in the play each is pulled
    :math:`\lceil\frac2{\eta_l^2}\ln\frac{2^{l+1}}p\rceil` times,
    :math:`\eta_l=\frac\eta4(\frac34)^l`, and the better half stays.  The arms that are left get
    :math:`\lceil\frac1{2\eta^2}\ln\frac2p\rceil` fresh pulls, and the (k - 2 slack)-th largest
    mean is the estimate.  The order is :math:`\frac n{\eta^2}\ln\frac1p` pulls with

    .. math:: p=\delta\Big/\Big(4+\frac{5k}{\mathrm{slack}+1}\Big).

    Parameters
    ----------
    bandit : Bandit
        The arms.
    k : int
        Which of the ranks, 1 to n.
    eta : float
        Precision, in (0, 1).
    delta : float
        Probability of failure, in (0, 1).
    slack : int
        How many arms may go wrong in each part, 0 to (k - 1) // 2.  A slack of the order of
        k makes p, and so the pulls, independent of k.
    rng : int or numpy.random.Generator
        Where the randomness comes from.

    Returns
    -------
    KthArm
        The ``estimate``; with probability at least 1 - delta

        .. math:: \theta_{(k)}-2\eta<\mathrm{estimate}<\theta_{(k-3\,\mathrm{slack})}+\eta

        (no upper bound if that rank does not exist), and at least k - slack of the
        ``candidates`` have a mean of at least :math:`\theta_{(k)}-\eta`.

    Raises
    ------
    ValueError
        If an argument is out of range.

    Notes
    -----
    Derived, not published: Chen, Chen, Zhang and Zhou (2017) mention such a routine as a
    by-product of ImprovedTopK and do not print it.  The failures: at some level a quarter of
    the arms is overestimated by :math:`\eta_l/2`, at most 4p in all (Markov); more than
    ``slack`` of the k best arms are underestimated, at most :math:`kp/(\mathrm{slack}+1)`;
    more than ``slack`` of the at most 4k last arms are off by eta, at most
    :math:`4kp/(\mathrm{slack}+1)`.  `ImprovedTopK` runs the same code in its rounds.

    Examples
    --------
    >>> import topk
    >>> bandit = topk.BernoulliBandit([0.9] * 5 + [0.2] * 95)
    >>> found = topk.kth_arm(bandit, 5, eta=0.2, delta=0.05)
    >>> 0.5 < found.estimate < 1.1, found.candidates[:5].tolist()
    (True, [0, 1, 2, 3, 4])
    """
    check_bandit(bandit)
    n = bandit.n
    k = check_k(k, n, largest=n)
    eta = check_real(eta, "eta", 0, 1, low_open=True, high_open=True)
    delta = check_delta(delta)
    slack = check_integer(slack, "slack", 0, (k - 1) // 2)
    if not isinstance(rng, np.random.Generator):
        rng = np.random.default_rng(check_integer(rng, "rng", 0))
    log_ratio = math.log(2 * (4 + 5 * k / (slack + 1))) - math.log(delta)
    order = rng.permutation(n)  # ties go to lower indices: these must not depend on the writing
    pulls, pool, level = np.zeros(n, dtype=np.int64), new_pool(n), 0
    fill_pool(pool, np.arange(n), n)

    def sample(share):
        sums, arms = np.zeros(n), pool.alive[: pool.size[0]]
        sums[arms] = bandit.pull(order[arms], np.full(arms.size, share), rng).sums
        pulls[order[arms]] += share
        return sums

    while needs_halving(pool, k):
        halve(pool, sample(halving_share(eta, log_ratio, level)))
        level += 1
    share = int(sorting_share(eta, log_ratio))
    estimate = float(ranked_sum(pool, sample(share), k - 2 * slack)) / share
    return KthArm(estimate, np.sort(order[pool.alive[: pool.size[0]]]), pulls)
