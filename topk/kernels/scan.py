"""Several bandits at once, and UGapE's duel by looking at every arm.

M bandits of n arms each are one row of M n arms: arm i of bandit m is number ``m * n + i``.
One bandit is the case M = 1.  What is decided within a bandit looks at its own arms only,
and changes only when one of them is pulled, or when a radius that all arms share does.

`look` does by one scan what `topk.kernels.duel` does with tournaments: it serves radii that
are no multiple of one over the square root of the pulls, and several bandits.
"""

from typing import NamedTuple

import numpy as np

from topk.kernels.compiling import inlined, kernel, maker
from topk.kernels.duel import TIE
from topk.kernels.filing import ACTIVE
from topk.kernels.ranking import rank_arms
from topk.kernels.tournament import NOBODY


class Looks(NamedTuple):
    """What was last seen of each bandit; it follows from the tally and the time.

    Attributes
    ----------
    mean, radius : ndarray of float, shape (M n,)
        Each arm's mean, and half the width of its bounds.
    inside : ndarray of bool, shape (M n,)
        Whether the arm is in its bandit's candidate set.
    index : ndarray of float, shape (M,)
        How much speaks for pulling in this bandit; minus infinity if nothing does.
    pick : ndarray of int64, shape (M,)
        The arm that the bandit would have pulled.
    room : ndarray of float, shape (3, n)
        For sorting.
    """

    mean: np.ndarray
    radius: np.ndarray
    inside: np.ndarray
    index: np.ndarray
    pick: np.ndarray
    room: np.ndarray


def new_looks(bandits, size):
    """Return room for ``bandits`` bandits with ``size`` arms together."""
    return Looks(
        np.zeros(size),
        np.zeros(size),
        np.zeros(size, dtype=np.bool_),
        np.zeros(bandits),
        np.full(bandits, NOBODY),
        np.zeros((3, size // bandits)),
    )


@inlined
def see(tally, looks, arm, radius):
    """Take over an arm's mean and radius."""
    looks.mean[arm] = tally.sums[arm] / tally.pulls[arm]
    looks.radius[arm] = radius


@maker
def active_of(status, first, n):
    """Return the arms from ``first`` to ``first + n - 1`` that are active, in order."""
    return first + np.flatnonzero(status[first : first + n] == ACTIVE)


@maker
def best_of_each(tally, status, bandits, chosen):
    """Fill ``chosen`` with the best-ranked active arms of each bandit, as many of each."""
    n, k = status.size // bandits, chosen.size // bandits
    for p in range(bandits):
        alive = active_of(status, p * n, n)
        chosen[p * k : (p + 1) * k] = np.sort(rank_arms(tally, alive, alive.size, 1.0)[:k])


@kernel
def strongest(looks):
    """Return the bandit with the largest index; of equal ones the lowest number."""
    largest = largest_index(looks)
    for p in range(looks.index.size):
        if looks.index[p] >= largest - TIE:
            return p
    return 0


@kernel
def largest_index(looks):
    """Return the largest index of a bandit."""
    largest = -np.inf
    for p in range(looks.index.size):
        largest = max(largest, looks.index[p])
    return largest


@kernel
def comes_first(mean, radius, sign, arm, other):
    """Tell whether an arm's ``sign * mean + radius`` is larger; of equal ones the wider's is."""
    lead = sign * (mean[arm] - mean[other]) + radius[arm] - radius[other]
    return lead > TIE or (lead > -TIE and radius[arm] > radius[other] + TIE)


@maker
def smallest_two(values, k):
    """Return the k-th and the next smallest of some values, sorting them if need be."""
    if k == 0:
        return -np.inf, -np.inf
    if k > 1:
        values.sort()
        return values[k - 1], values[k] if k < values.size else np.inf
    least, following = np.inf, np.inf
    for value in values:
        if value < least:
            least, following = value, least
        elif value < following:
            following = value
    return least, following


@kernel
def look(status, looks, p, k):
    """Form bandit p's candidate set J, its index B_J and the arm that it would have pulled.

    The plain form: B of an arm is the k-th largest upper bound of the bandit's other arms
    less the arm's lower bound; J are the k arms with the smallest B, ties to the lower
    number.  u is the arm outside J with the largest upper bound, l the one inside with the
    smallest lower bound, ties to the wider; the wider of u and l is pulled.
    """
    n = status.size // looks.index.size
    mean, radius, inside, room = looks.mean, looks.radius, looks.inside, looks.room
    first, alive = p * n, 0
    for arm in range(first, first + n):
        inside[arm] = False
        if status[arm] == ACTIVE:
            room[0, alive] = -(mean[arm] + radius[arm])
            alive += 1
    everybody = alive <= k  # nothing speaks against this set
    kth, following = smallest_two(room[0, :alive], 0 if everybody else k)
    alive = 0
    for arm in range(first, first + n):
        if status[arm] == ACTIVE:
            rival = -following if mean[arm] + radius[arm] >= -kth else -kth
            room[1, alive] = room[2, alive] = rival - (mean[arm] - radius[arm])
            alive += 1
    edge, _ = smallest_two(room[2, :alive], 0 if everybody else k)
    missing = k
    for j in range(alive):
        missing -= room[1, j] < edge - TIE
    low, high, j = NOBODY, NOBODY, -1
    looks.index[p] = -np.inf
    for arm in range(first, first + n):
        if status[arm] != ACTIVE:
            continue
        j += 1
        inside[arm] = everybody or room[1, j] < edge - TIE
        if not inside[arm] and missing > 0 and room[1, j] <= edge + TIE:
            inside[arm], missing = True, missing - 1
        if inside[arm]:
            if not everybody:
                looks.index[p] = max(looks.index[p], room[1, j])
            if low == NOBODY or comes_first(mean, radius, -1.0, arm, low):
                low = arm
        elif high == NOBODY or comes_first(mean, radius, 1.0, arm, high):
            high = arm
    looks.pick[p] = low
    if high != NOBODY:
        lead = radius[high] - radius[low]
        if lead > TIE or (lead > -TIE and high < low):
            looks.pick[p] = high
