"""Ranks of arms: by decreasing mean, ties by increasing index.

Means are quotients sum/pulls, rounded once.  Rounding is monotone, and two different fractions
with denominators below 9.4e7 differ by more than the rounding error at 1.  So for integral sums
the rounded quotients have the same order, ties included, as the exact fractions.
"""

import numpy as np

from topk._marks import allocates, in_loops

LARGEST = np.int64(2**63 - 1)
UNKNOWN = 1e300  # instead of minus the mean of an arm without pulls
FEW = 40  # largest number of keys for which insertion sort is faster


def precedes(lead, arm, other, tie):
    """Return whether an arm that leads another by ``lead`` comes first.

    Leads of at most ``tie`` count as none, and then the lower number comes first.  All searches,
    in plain Python and compiled, compare two arms by this function.
    """
    return lead > tie or (lead >= -tie and arm < other)


@allocates
def order_by_digits(keys):
    """Return `order`, by insertion sort of few keys, else by radix sort.

    Compiled, it is faster than a sort by comparisons, and compiles faster.
    """
    bits, places, n = (keys + 0.0).view(np.int64), np.arange(keys.size), keys.size  # no -0.0
    least, differ = LARGEST, 0
    for i in range(n):  # integers in the same order as the keys
        bits[i] ^= bits[i] >> 63 & LARGEST
        least = min(least, bits[i])
    for i in range(n):
        bits[i] -= least  # may wrap around; the digits are those of the unsigned difference
        differ |= bits[i]
    for i in range(1, n if n <= FEW else 0):
        j = i
        while j > 0 and keys[places[j - 1]] > keys[i]:
            places[j] = places[j - 1]
            j -= 1
        places[j] = i
    others, starts = np.empty(n, np.int64), np.empty(256, np.int64)
    for shift in range(0, 64, 8):
        if n <= FEW or differ >> shift & 255 == 0:
            continue
        starts[:] = 0
        for i in range(n):
            starts[bits[i] >> shift & 255] += 1
        start = 0
        for digit in range(256):
            starts[digit], start = start, start + starts[digit]
        for i in range(n):
            digit = bits[places[i]] >> shift & 255
            others[starts[digit]] = places[i]
            starts[digit] += 1
        places, others = others, places
    return places


@in_loops(order_by_digits)
@allocates
def order(keys):
    """Return the indices that sort keys in increasing order; equal keys keep their order.

    Keys contain no nan.  Compiled code uses `order_by_digits` instead.
    """
    return np.argsort(keys, kind="mergesort")


@allocates
def ranked_by_in_loops(sums, pulls, arms, sign):
    """Return or do what `ranked_by` does."""
    keys, alike = np.empty(arms.size), True  # integral sums with equal pulls: fast to sort
    for j in range(arms.size):
        arm = arms[j]
        alike = alike and pulls[arm] == pulls[arms[0]] and sums[arm] == int(sums[arm])
        keys[j] = -sign * (sums[arm] / pulls[arm]) if pulls[arm] > 0 else np.inf
    if alike and arms.size > FEW:
        keys = -sign * sums[arms]
    return arms[order(keys)]


@in_loops(ranked_by_in_loops)
def ranked_by(sums, pulls, arms, sign):
    """Sort some arms by decreasing mean, ties by increasing index.

    The plain form is ``sorted(arms, key=lambda a: (-sign * sums[a] / pulls[a], a))``; arms
    without pulls come last.

    Parameters
    ----------
    sums : ndarray of float, shape (n,)
    pulls : ndarray of int64, shape (n,)
    arms : ndarray of int64, shape (m,)
        In increasing order.
    sign : float
        1.0 ranks by the mean, -1.0 by one minus the mean.

    Returns
    -------
    ndarray of int64, shape (m,)
        The arms, best first.
    """
    sums, pulls = sums[arms], pulls[arms]
    alike = (pulls == pulls[:1]).all() and (sums == np.floor(sums)).all()
    keys = -sign * sums
    if not alike or arms.size <= FEW:
        means = np.divide(sums, pulls, out=np.full(arms.size, -sign * np.inf), where=pulls > 0)
        keys = -sign * means
    return arms[order(keys)]


@allocates
def rank(s):
    """Return the active arms, best mean first."""
    return ranked_by(s.sums, s.pulls, s.active[: s.now.n_active], 1.0)


@allocates
def active_of(s, bandit):
    """Return the active arms of one of several bandits, in order."""
    n = s.n // s.bandits
    return bandit * n + np.flatnonzero(s.status[bandit * n : (bandit + 1) * n] == 0)


def recommend_best(s, chosen):
    """Fill ``chosen`` with the accepted arms of each bandit and its best active ones."""
    chosen[:] = best_of(s.status, s.sums, s.pulls, s.bandits, chosen.size // s.bandits)


def best_of(status, sums, pulls, bandits, k):
    """Return the arms (..., M k) for ``recommend_best``, for one run or several; plain Python only.

    The plain form takes the first k of ``argsort(keys, kind="stable")`` of each bandit, sorted.
    """
    each = *status.shape[:-1], bandits, -1
    status, sums, pulls = (array.reshape(each) for array in (status, sums, pulls))
    keys = np.divide(-sums, pulls, out=np.full(pulls.shape, UNKNOWN), where=pulls > 0)
    keys[status == 1], keys[status < 0] = -np.inf, np.inf
    edge = np.partition(keys, k - 1, axis=-1)[..., k - 1 : k]
    before, at = keys < edge, keys == edge
    at &= at.cumsum(axis=-1) <= k - before.sum(axis=-1, keepdims=True)  # the first of them
    places = (before | at).nonzero()[-1].reshape(*keys.shape[:-1], k)
    first = np.arange(bandits) * status.shape[-1]
    return (places + first[:, None]).reshape(*each[:-2], -1)


@allocates
def largest(values, arms, count):
    """Return the ``count`` arms with the largest values, in increasing order of their indices.

    Ties go to the lower index.

    Parameters
    ----------
    values : ndarray of float, shape (n,)
        Value of each arm.
    arms : ndarray of int64, shape (m,)
        In increasing order.
    count : int
        Number of arms to return; all of them if it exceeds m.
    """
    taken = np.zeros(values.size, np.bool_)
    taken[arms[order(-values[arms])[: max(count, 0)]]] = True
    return np.flatnonzero(taken)


def means_of(pulls, sums):
    """Return the mean reward of each arm, nan without pulls."""
    return np.divide(sums, pulls, out=np.full(pulls.shape, np.nan), where=pulls > 0)
