"""UGapE's candidate sets, by looking at every arm of the bandits that have changed.

With the upper bounds U and the lower bounds L of a bandit's arms, an arm's index B is the k-th
largest U of the other arms minus its own L.  The k arms with the smallest B form the candidate
set J, ties to the lower number; the largest B in J is the index of J.  Two arms speak against
it: l, of those in J the one with the lowest L, and u, of the others the one with the highest U,
ties to the wider; the wider of the two is pulled next, of equally wide ones the lower number.

M bandits of n arms each are one row of M n arms: arm i of bandit m is number ``m * n + i``.
One bandit is the case M = 1.  What is decided within a bandit looks at its own arms only, and
changes only when one of them is pulled, or when a radius that all arms share does.  The next
pull goes to the bandit of largest index.

This search serves any radii; `candidates_trees` is for one bandit with radii that are multiples
of one over the root of the pulls.
"""

import numpy as np

from topk.engine.composing import allocates, open_function
from topk.engine.loop import ACTIVE, NOBODY

FEW = 50  # arms; so many are kept in order while the others pass
TIE = 1e-12  # indices closer than this are equal: sums of the same numbers, rounded in two orders


@open_function
def radius(s, arm):
    """Return half the width of an arm's bounds at the level ``s.now.level``."""


def strongest(s):
    """Return the bandit with the largest index; of equal ones the lowest number."""
    largest = -np.inf
    for bandit in range(s.bandits):
        largest = max(largest, s.index[bandit])
    for bandit in range(s.bandits):
        if s.index[bandit] >= largest - TIE:
            return bandit
    return 0


def room(bandits, n):
    """Return what a play's state holds for this search, of M bandits of n arms.

    It follows from the counts.  ``means`` and ``radii`` (M n,) are every arm's mean and half the
    width of its bounds; ``index`` (M,) is how much speaks for pulling in this bandit, minus
    infinity if nothing does, ``favourite`` (M,) the arm of it that would be pulled.
    """
    found = {"index": np.zeros(bandits), "favourite": np.full(bandits, NOBODY)}
    found |= {name: np.zeros(bandits * n) for name in ("means", "radii")}
    found |= {"inside": np.zeros(bandits * n, dtype=np.bool_)}  # whether the arm is in J
    found |= {"stale": np.zeros(bandits, dtype=np.bool_)}  # whether the bandit is to be looked at
    return found | {"sorting": np.zeros((3, n))}


def setup(s):
    """Look at all bandits."""
    see_all(s)
    mend(s)


def grow(s, scale):
    """Look at all bandits if the radii have changed."""
    if scale != s.now.scale:
        see_all(s)


def see_all(s):
    """Take over all means and radii."""
    for arm in range(s.n):
        if s.status[arm] == ACTIVE:
            moved(s, arm)


def moved(s, arm):
    """Take over an arm's mean and radius."""
    s.means[arm], s.radii[arm] = s.sums[arm] / s.pulls[arm], radius(s, arm)
    s.stale[arm // (s.n // s.bandits)] = True


def mend(s):
    """Form the candidate sets of the bandits that have changed."""
    for bandit in range(s.bandits):
        if s.stale[bandit]:
            form(s, bandit)
            s.stale[bandit] = False


def form(s, bandit):
    """Form a bandit's candidate set, its index and the arm that would be pulled.

    If all its arms are in the set nothing speaks against it.
    """
    means, radii, inside, n = s.means, s.radii, s.inside, s.n // s.bandits
    upper, index, ordered = s.sorting[0], s.sorting[1], s.sorting[2]
    first, missing = bandit * n, s.k
    for j in range(n):
        arm = first + j
        upper[j] = -(means[arm] + radii[arm]) if s.status[arm] == ACTIVE else np.inf
    kth, following = smallest_two(upper, s.k)
    for j in range(n):
        arm = first + j
        rival = -following if means[arm] + radii[arm] >= -kth else -kth
        active = s.status[arm] == ACTIVE
        index[j] = ordered[j] = rival - (means[arm] - radii[arm]) if active else np.inf
    edge, _ = smallest_two(ordered, s.k)
    for j in range(n):
        missing -= index[j] < edge - TIE
    low, high, largest = NOBODY, NOBODY, -np.inf
    for j in range(n):
        arm = first + j
        inside[arm] = index[j] < edge - TIE
        if s.status[arm] != ACTIVE:
            continue
        if not inside[arm] and missing > 0 and index[j] <= edge + TIE:
            inside[arm], missing = True, missing - 1
        if inside[arm]:
            largest = max(largest, index[j])
            if low == NOBODY or comes_first(means, radii, -1.0, arm, low):
                low = arm
        elif high == NOBODY or comes_first(means, radii, 1.0, arm, high):
            high = arm
    s.index[bandit], s.favourite[bandit] = largest, low
    if high != NOBODY:
        lead = radii[high] - radii[low]
        if lead > TIE or (lead > -TIE and high < low):
            s.favourite[bandit] = high


@allocates
def smallest_two(values, k):
    """Return the k-th and the next smallest of some values; they change places.

    The plain form is ``sorted(values)[k - 1 : k + 1]``, the second infinity if there is none.
    """
    if FEW < k < values.size:
        values = np.partition(values, k)
        return values[:k].max(), values[k]
    for i in range(1, values.size):
        value, place = values[i], min(i, k)
        if i > k and value >= values[k]:
            continue
        while place > 0 and values[place - 1] > value:
            values[place] = values[place - 1]
            place -= 1
        values[place] = value
    return values[k - 1], values[k] if k < values.size else np.inf


def comes_first(means, radii, sign, arm, other):
    """Tell whether an arm's ``sign * mean + radius`` is larger; of equal ones the wider's is."""
    lead = sign * (means[arm] - means[other]) + radii[arm] - radii[other]
    return lead > TIE or (lead > -TIE and radii[arm] > radii[other] + TIE)


def largest_index(s):
    """Return the largest index of a candidate set."""
    return s.index[strongest(s)]


def wider(s):
    """Return the arm to be pulled."""
    return s.favourite[strongest(s)]


def members(s):
    """Return whether each arm is in its bandit's candidate set, (n,)."""
    return s.inside


def keep_smallest(s):
    """Keep in ``s.kept`` each J whose index is smaller than those of its bandit's before."""
    for bandit in range(s.bandits):
        if s.now.rounds == 1 or s.index[bandit] < s.smallest[bandit] - TIE:
            keep(s, bandit)


@allocates
def keep(s, bandit):
    """Keep the present J of a bandit, and its index in ``s.smallest``."""
    s.smallest[bandit] = max(s.index[bandit], -1e300)  # a number even if all are inside
    n = s.n // s.bandits
    s.kept[bandit * n : (bandit + 1) * n] = s.inside[bandit * n : (bandit + 1) * n]
