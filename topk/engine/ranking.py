"""Ranks of arms: by mean, then by lower index.

Means are quotients sum/pulls, rounded once.  Two different fractions whose denominators are
below 9.4e7 differ by more than the rounding error at 1, and rounding never turns an order
around; so comparing the rounded quotients of integral sums decides exactly as comparing the
cross-multiplied integers, ties included.
"""

import numpy as np

from topk.engine.composing import allocates, shared


@shared
@allocates
def order(keys):
    """Return the places of some keys from the smallest to the largest; equal ones in order."""
    return np.argsort(keys, kind="mergesort")


@allocates
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
    keys = np.empty(arms.size)
    for j in range(arms.size):
        arm = arms[j]
        keys[j] = -sign * (sums[arm] / pulls[arm]) if pulls[arm] > 0 else np.inf
    return arms[order(keys)]


@allocates
def rank(s):
    """Return the active arms, best mean first."""
    return ranked_by(s.sums, s.pulls, s.active[: s.now.live], 1.0)


@allocates
def active_of(s, bandit):
    """Return the active arms of one of several bandits, in order."""
    n = s.n // s.bandits
    return bandit * n + np.flatnonzero(s.status[bandit * n : (bandit + 1) * n] == 0)


def recommend_best(s, chosen):
    """Fill ``chosen`` with each bandit's accepted arms and then its best-ranked active ones."""
    chosen[:] = best_of(s.status, s.sums, s.pulls, s.bandits, chosen.size // s.bandits)


def best_of(status, sums, pulls, bandits, k):
    """Return for ``recommend_best`` the arms (..., M k) of one play or more; plain Python only."""
    each = *status.shape[:-1], bandits, -1
    status, sums, pulls = (array.reshape(each) for array in (status, sums, pulls))
    accepted = status == 1
    if (accepted.sum(axis=-1) == k).all():
        places = accepted.nonzero()[-1].reshape(*accepted.shape[:-1], k)
    else:
        keys = np.where(pulls > 0, -(sums / np.maximum(pulls, 1)), np.inf)
        keys[accepted] = -np.inf
        keys[status < 0] = np.nan  # sorted after infinity
        places = np.argsort(keys, axis=-1, kind="stable")[..., :k]
    first = np.arange(bandits) * status.shape[-1]
    return (places + first[:, None]).reshape(*each[:-2], -1)


@shared
@allocates
def kth_largest(values, rank):
    """Return the ``rank``-th largest (1 is the largest) of some values, unsorted.

    The plain form is ``sorted(values)[-rank]``.
    """
    return np.partition(values, values.size - rank)[values.size - rank]


@allocates
def largest(values, arms, count):
    """Return the ``count`` arms of largest value, in increasing order.

    Of equal values the lower indices are taken.

    Parameters
    ----------
    values : ndarray of float, shape (n,)
        The value of every arm.
    arms : ndarray of int64, shape (m,)
        In increasing order.
    count : int
        How many; all of them if that is more than m.
    """
    taken = np.zeros(values.size, np.bool_)
    taken[arms[order(-values[arms])[: max(count, 0)]]] = True
    return np.flatnonzero(taken)
