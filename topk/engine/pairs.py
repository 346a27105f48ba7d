"""The weakest pair: of an arm among the k largest means and one of the others.

A strategy gives each pair a weight, which changes when one of the two is pulled.
"""

import numpy as np

from topk.engine.composing import open_function
from topk.engine.indices import inside

MANY = 2000  # arms; of more the weights of pairs are not kept
NEVER, ROUNDING = 1e300, 1e-11  # a weight that no pair has; what may tell equal weights apart


@open_function
def weight(s, a, b):
    """Return the weight of the pair of an arm a inside and an arm b outside."""


def room(n):
    """Return what a play's state holds for the search: weights, of how many pulls each is, ...

    ... what no pair of an arm inside falls below, and of what that takes note: pulls and sides.
    """
    size = n if n <= MANY else 0
    found = {"weights": np.zeros((size, size)), "of_pulls": np.zeros((size, size))}
    found |= {"floor": np.full(n, -np.inf), "seen": np.zeros(n, dtype=np.int64)}
    return found | {"within": np.zeros(n, dtype=np.bool_)}


def find_pair(s):
    """Find the pair of the smallest weight; of equal ones the first.

    It is in ``s.now``: ``inside``, ``outside``, and its weight ``least``.  The plain form looks at
    all pairs; this one passes over an arm inside whose ``floor`` shows that none of its pairs wins.
    """
    lower_floors(s)
    s.now.least = NEVER
    for i in range(s.now.live):
        a = s.active[i]
        if inside(s, a) and s.floor[a] < s.now.least - ROUNDING:
            look_at_pairs(s, a)


def lower_floors(s):
    """Lower the floors to what the arms that have been pulled, or changed sides, weigh now."""
    for i in range(s.now.live):
        arm = s.active[i]
        if s.within[arm] != inside(s, arm):
            s.within[arm] = inside(s, arm)
            s.floor[:] = -np.inf
    for i in range(s.now.live):
        arm = s.active[i]
        if s.pulls[arm] != s.seen[arm]:
            s.seen[arm] = s.pulls[arm]
            if s.within[arm]:
                s.floor[arm] = -np.inf
            for j in range(0 if s.within[arm] else s.now.live):
                a = s.active[j]
                if s.within[a] and s.floor[a] > -np.inf:
                    s.floor[a] = min(s.floor[a], known_weight(s, a, arm))


def look_at_pairs(s, a):
    """Look at all pairs of an arm inside."""
    s.floor[a] = NEVER
    for j in range(s.now.live):
        b = s.active[j]
        if not inside(s, b):
            found = known_weight(s, a, b)
            s.floor[a] = min(s.floor[a], found)
            if found < s.now.least - ROUNDING:
                s.now.inside, s.now.outside, s.now.least = a, b, found


def known_weight(s, a, b):
    """Return the weight of a pair, anew if one of the two has been pulled or none is kept."""
    if s.weights.size == 0:
        return weight(s, a, b)
    both = s.pulls[a] + s.pulls[b]
    if s.of_pulls[a, b] != both:
        s.of_pulls[a, b], s.weights[a, b] = both, weight(s, a, b)
    return s.weights[a, b]
