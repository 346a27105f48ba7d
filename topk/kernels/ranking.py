"""Ranks of arms: by mean, then by lower index.

Means are quotients sum/pulls, rounded once.  Two different fractions whose
denominators are below 9.4e7 differ by more than the rounding error at 1, and rounding
never turns an order around; so comparing the rounded quotients of integral sums decides
exactly as comparing the cross-multiplied integers, ties included.
"""

import numpy as np

from topk.kernels.compiling import maker


@maker
def rank_arms(tally, alive, size, sign):
    """Sort the arms ``alive[:size]`` by decreasing mean, ties by increasing index.

    The plain form is ``sorted(alive[:size], key=lambda a: (-sign * sums[a] / pulls[a], a))``;
    arms without pulls come last.

    Parameters
    ----------
    tally : Tally
        What has been seen.
    alive : ndarray of int64, shape (at least size,)
        Arms in increasing order.
    size : int
        How many of them there are.
    sign : float
        1.0 ranks by the mean, -1.0 by one minus the mean.

    Returns
    -------
    ndarray of int64, shape (size,)
        The arms, best first.
    """
    keys = np.empty(size)
    for j in range(size):
        arm = alive[j]
        if tally.pulls[arm] > 0:
            keys[j] = -sign * (tally.sums[arm] / tally.pulls[arm])
        else:
            keys[j] = np.inf
    return alive[:size][np.argsort(keys, kind="mergesort")]


@maker
def best_arms(tally, chosen):
    """Fill ``chosen`` (k,) with the k best-ranked of all arms, in increasing order."""
    ranked = rank_arms(tally, np.arange(tally.pulls.size), tally.pulls.size, 1.0)
    chosen[:] = np.sort(ranked[: chosen.size])


@maker
def kth_largest(values, arms, size, rank):
    """Return the ``rank``-th largest (1 is the largest) of ``values[arms[:size]]``, unsorted.

    The plain form is ``sorted(values[arms[:size]])[size - rank]``.
    """
    return np.partition(values[arms[:size]], size - rank)[size - rank]


@maker
def keep_largest(values, arms, size, count):
    """Keep in ``arms[:count]`` the ``count`` arms of largest value, in increasing order.

    Of equal values the lower indices are kept; nothing is sorted.

    Parameters
    ----------
    values : ndarray of float, shape (n,)
        The value of every arm.
    arms : ndarray of int64, shape (at least size,)
        Arms in increasing order; changed in place.
    size, count : int
        How many there are, and how many of them are kept, at most ``size``.
    """
    if count >= size or count < 1:
        return
    cut = kth_largest(values, arms, size, count)
    ties = count
    for j in range(size):
        if values[arms[j]] > cut:
            ties -= 1
    kept = 0
    for j in range(size):
        value = values[arms[j]]
        if value > cut or (value == cut and ties > 0):
            if value == cut:
                ties -= 1
            arms[kept] = arms[j]
            kept += 1
