"""UGapE's candidate sets by looking at every arm of the bandits that have changed.

It serves several bandits, and radii that are no multiples of one over the root of the pulls.
"""

import numpy as np

from topk.engine.candidates import radius
from topk.engine.composing import allocates
from topk.engine.loop import ACTIVE, NOBODY
from topk.engine.several import TIE, new_looks, see, strongest


def room(bandits, n):
    """Return what a play's state holds for this search; see also `several.new_looks`."""
    return new_looks(bandits, n) | {
        "inside": np.zeros(bandits * n, dtype=np.bool_),  # whether the arm is in J
        "stale": np.zeros(bandits, dtype=np.bool_),  # whether the bandit is to be looked at
        "sorting": np.zeros((3, n)),
    }


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
            see(s, arm, radius(s, arm))
    s.stale[:] = True


def moved(s, arm):
    """Take over an arm's mean and radius."""
    see(s, arm, radius(s, arm))
    s.stale[arm // (s.n // s.bandits)] = True


def mend(s):
    """Form the candidate sets of the bandits that have changed."""
    for bandit in range(s.bandits):
        if s.stale[bandit]:
            form(s, bandit)
            s.stale[bandit] = False


def form(s, bandit):
    """Form a bandit's candidate set, its index and the arm that would be pulled."""
    means, radii, inside, sorting = s.means, s.radii, s.inside, s.sorting
    n = s.n // s.bandits
    first, live = bandit * n, 0
    for arm in range(first, first + n):
        inside[arm] = False
        if s.status[arm] == ACTIVE:
            sorting[0, live] = -(means[arm] + radii[arm])
            live += 1
    everybody = live <= s.k  # nothing speaks against this set
    kth, following = smallest_two(sorting[0, :live], 0 if everybody else s.k)
    live = 0
    for arm in range(first, first + n):
        if s.status[arm] == ACTIVE:
            rival = -following if means[arm] + radii[arm] >= -kth else -kth
            sorting[1, live] = sorting[2, live] = rival - (means[arm] - radii[arm])
            live += 1
    edge, _ = smallest_two(sorting[2, :live], 0 if everybody else s.k)
    missing = s.k
    for j in range(live):
        missing -= sorting[1, j] < edge - TIE
    low, high, j, index = NOBODY, NOBODY, -1, -np.inf
    for arm in range(first, first + n):
        if s.status[arm] != ACTIVE:
            continue
        j += 1
        inside[arm] = everybody or sorting[1, j] < edge - TIE
        if not inside[arm] and missing > 0 and sorting[1, j] <= edge + TIE:
            inside[arm], missing = True, missing - 1
        if inside[arm]:
            if not everybody:
                index = max(index, sorting[1, j])
            if low == NOBODY or comes_first(means, radii, -1.0, arm, low):
                low = arm
        elif high == NOBODY or comes_first(means, radii, 1.0, arm, high):
            high = arm
    s.index[bandit], s.favourite[bandit] = index, low
    if high != NOBODY:
        lead = radii[high] - radii[low]
        if lead > TIE or (lead > -TIE and high < low):
            s.favourite[bandit] = high


@allocates  # numba sorts with references
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
    """Keep each J whose index is smaller than those of its bandit's before."""
    for bandit in range(s.bandits):
        if s.now.rounds == 1 or s.index[bandit] < s.smallest[bandit] - TIE:
            keep(s, bandit)


@allocates
def keep(s, bandit):
    """Keep the present J of a bandit, and its index."""
    s.smallest[bandit] = max(s.index[bandit], -1e300)  # a number even if all are inside
    n = s.n // s.bandits
    s.kept[bandit * n : (bandit + 1) * n] = s.inside[bandit * n : (bandit + 1) * n]
