"""Several bandits at once, and UGapE's duel by looking at every arm.

M bandits of n arms each are one row of M n arms: arm i of bandit m is number ``m * n + i``.
One bandit is the case M = 1.  What is decided within a bandit looks at its own arms only,
and changes only when one of them is pulled, or when a radius that all arms share does.

`look` does by one scan what `topk.kernels.duel` does with tournaments: it serves radii that
are no multiple of one over the square root of the pulls, and several bandits.
"""

from typing import NamedTuple

import numpy as np
from numba import njit

from topk.kernels.duel import TIE
from topk.kernels.filing import ACTIVE
from topk.kernels.ranking import rank_arms
from topk.kernels.tournament import NOBODY


class Looks(NamedTuple):
    """What was last seen of each bandit; it follows from the tally and the time.

    Attributes
    ----------
    radius : ndarray of float, shape (M n,)
        Half the width of each arm's bounds.
    inside : ndarray of bool, shape (M n,)
        Whether the arm is in its bandit's candidate set.
    index : ndarray of float, shape (M,)
        How much speaks for pulling in this bandit; minus infinity if nothing does.
    pick : ndarray of int64, shape (M,)
        The arm that the bandit would have pulled.
    """

    radius: np.ndarray
    inside: np.ndarray
    index: np.ndarray
    pick: np.ndarray


def new_looks(bandits, size):
    """Return room for ``bandits`` bandits with ``size`` arms together."""
    return Looks(
        np.zeros(size),
        np.zeros(size, dtype=np.bool_),
        np.zeros(bandits),
        np.full(bandits, NOBODY),
    )


@njit(cache=True, nogil=True)
def active_of(status, first, n):
    """Return the arms from ``first`` to ``first + n - 1`` that are active, in order."""
    return first + np.flatnonzero(status[first : first + n] == ACTIVE)


@njit(cache=True, nogil=True)
def best_of_each(tally, status, bandits, chosen):
    """Fill ``chosen`` with the best-ranked active arms of each bandit, as many of each."""
    n, k = status.size // bandits, chosen.size // bandits
    for p in range(bandits):
        alive = active_of(status, p * n, n)
        chosen[p * k : (p + 1) * k] = np.sort(rank_arms(tally, alive, alive.size, 1.0)[:k])


@njit(cache=True, nogil=True)
def strongest(looks):
    """Return the bandit with the largest index; of equal ones the lowest number."""
    largest = looks.index.max()
    for p in range(looks.index.size):
        if looks.index[p] >= largest - TIE:
            return p
    return 0


@njit(cache=True, nogil=True)
def precedes(value, width, other, other_width):
    """Tell whether the larger ``value`` comes first; of equal ones the larger width does."""
    return value > other + TIE or (value > other - TIE and width > other_width + TIE)


@njit(cache=True, nogil=True)
def look(tally, status, looks, p, k):
    """Form bandit p's candidate set J, its index B_J and the arm that it would have pulled.

    The plain form: B of an arm is the k-th largest upper bound of the bandit's other arms
    less the arm's lower bound; J are the k arms with the smallest B, ties to the lower
    number.  u is the arm outside J with the largest upper bound, l the one inside with the
    smallest lower bound, ties to the wider; the wider of u and l is pulled.
    """
    n = status.size // looks.index.size
    looks.inside[p * n : (p + 1) * n] = False
    alive = active_of(status, p * n, n)
    mean = tally.sums[alive] / tally.pulls[alive]
    radius = looks.radius[alive]
    upper, lower = mean + radius, mean - radius
    low = 0  # l among the positions of ``alive``, if all of them are inside
    if alive.size <= k:
        looks.inside[alive] = True
        looks.index[p] = -np.inf
        for j in range(1, alive.size):
            if precedes(-lower[j], radius[j], -lower[low], radius[low]):
                low = j
        looks.pick[p] = alive[low]
        return
    ordered = np.sort(-upper)
    index = np.where(upper >= -ordered[k - 1], -ordered[k], -ordered[k - 1]) - lower
    edge = np.sort(index)[k - 1]
    missing = k - (index < edge - TIE).sum()
    low, high, largest = NOBODY, NOBODY, -np.inf
    for j in range(alive.size):
        inside = index[j] < edge - TIE
        if not inside and missing > 0 and index[j] <= edge + TIE:
            inside, missing = True, missing - 1
        if inside:
            looks.inside[alive[j]] = True
            largest = max(largest, index[j])
            if low == NOBODY or precedes(-lower[j], radius[j], -lower[low], radius[low]):
                low = j
        elif high == NOBODY or precedes(upper[j], radius[j], upper[high], radius[high]):
            high = j
    looks.index[p] = largest
    wider = radius[high] > radius[low] + TIE or (radius[high] > radius[low] - TIE and high < low)
    looks.pick[p] = alive[high] if wider else alive[low]
