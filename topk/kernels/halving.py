"""RobustHalve: halving that looks at no quantile which a few wrong means can move.

Shared by `topk.ImprovedTopK`, which needs the value of the k-th best arm in every round with
many arms, and by `topk.kth_arm`.  With a precision eta and an error p for each arm and batch:

* while more than 4k arms are in the pool, each gets `halving_share` fresh pulls, and the half
  with the larger means stays;
* then each gets `sorting_share` fresh pulls, and the mean that is looked for is read off.
"""

import math
from typing import NamedTuple

import numpy as np

from topk.kernels.compiling import maker
from topk.kernels.ranking import keep_largest, kth_largest


class Pool(NamedTuple):
    """The arms that are being halved.

    Attributes
    ----------
    alive : ndarray of int64, shape (n,)
        ``alive[: size[0]]`` are the arms, in increasing order.
    size : ndarray of int64, shape (1,)
        How many there are.
    """

    alive: np.ndarray
    size: np.ndarray


def constants(k, epsilon, delta):
    """Return R, s_0 and ln(2/p) of `topk.ImprovedTopK`."""
    epsilon = min(float(epsilon), 0.5)
    most_rounds = math.ceil(1 - math.log2(epsilon))
    allowance = math.floor(epsilon * k / (40 * most_rounds**2))
    log_ratio = math.log(4000 * most_rounds**3) - math.log(epsilon) - math.log(delta)
    return most_rounds, allowance, log_ratio


def new_pool(n):
    """Return an empty pool with room for ``n`` arms."""
    return Pool(np.zeros(n, dtype=np.int64), np.zeros(1, dtype=np.int64))


@maker
def fill_pool(pool, alive, size):
    """Put the arms ``alive[:size]`` into the pool."""
    pool.alive[:size] = alive[:size]
    pool.size[0] = size


@maker
def whole_pulls(pulls):
    """Round up; numbers that no budget reaches are cut so as to stay whole numbers."""
    return np.int64(math.ceil(min(pulls, 2.0**53)))


@maker
def sorting_share(eta, log_ratio):
    """Pulls after which a mean is off by eta with probability at most p; ``ln(2/p)`` is given."""
    return whole_pulls(log_ratio / (2 * max(eta, 1e-100) ** 2))


@maker
def halving_share(eta, log_ratio, level):
    """Pulls of halving level l: ``(2 / eta_l**2) ln(2**(l + 1) / p)``.

    Here ``eta_l = (eta / 4) (3 / 4)**l``, which adds up to eta, and a mean is too large by
    ``eta_l / 2`` with probability at most ``p / 2**(l + 1)``.
    """
    precision = max(eta / 4 * 0.75**level, 1e-100)
    return whole_pulls(2 / precision**2 * (log_ratio + level * math.log(2.0)))


@maker
def needs_halving(pool, k):
    """Tell whether the pool has more than 4k arms."""
    return pool.size[0] > 4 * k


@maker
def halve(pool, sums):
    """Keep the half of the pool, rounded up, with the largest sums of equally many pulls."""
    half = (pool.size[0] + 1) // 2
    keep_largest(sums, pool.alive, pool.size[0], half)
    pool.size[0] = half


@maker
def ranked_sum(pool, sums, rank):
    """Return the ``rank``-th largest sum in the pool, 0 if there are fewer arms."""
    if pool.size[0] < rank:
        return 0.0
    return kth_largest(sums, pool.alive, pool.size[0], max(1, rank))
