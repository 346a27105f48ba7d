"""The weakest pair: of an arm among the k largest means and one of the others.

A strategy gives each pair a weight, which changes when one of the two is pulled.
"""

import numpy as np

from topk.engine.composing import open_function
from topk.engine.indices import inside
from topk.engine.loop import ACTIVE

NEVER, ROUNDING = 1e300, 1e-11  # a weight that no pair has; what may tell equal weights apart


@open_function
def weight(s, a, b):
    """Return the weight of the pair of an arm a inside and an arm b outside."""


def room(n):
    """Return what a play's state holds for the search.

    ``floor`` (n,) is what no pair of an arm inside falls below; ``seen`` and ``within`` (n,) are
    the pulls and the sides of which the floors take note.
    """
    found = {"floor": np.full(n, -np.inf), "seen": np.zeros(n, dtype=np.int64)}
    return found | {"within": np.zeros(n, dtype=np.bool_)}


def find_pair(s):
    """Find the pair of the smallest weight; of equal ones the first.

    It is in ``s.now``: ``inside``, ``outside``, and its weight ``least``.  The plain form looks at
    all pairs; this one begins with what the last one found weighs now, and passes over the arms
    inside whose pairs are known to weigh more.
    """
    lower_floors(s)
    a, b, s.now.least = s.now.inside, s.now.outside, NEVER
    if s.status[a] == s.status[b] == ACTIVE and s.within[a] and not s.within[b]:
        s.now.least = weight(s, a, b) + 2 * ROUNDING  # so that it is found, or one before it
    for i in range(s.now.live):
        a = s.active[i]
        if s.within[a] and s.floor[a] < s.now.least - ROUNDING:
            look_at_pairs(s, a)


def lower_floors(s):
    """Lower the floors to what the arms that have been pulled, or changed sides, weigh now."""
    for i in range(s.now.live):
        arm = s.active[i]
        if s.within[arm] != inside(s, arm):
            s.within[arm], s.seen[arm] = inside(s, arm), 0
    for i in range(s.now.live):
        arm = s.active[i]
        if s.pulls[arm] != s.seen[arm]:
            s.seen[arm] = s.pulls[arm]
            if s.within[arm]:
                s.floor[arm] = -np.inf
            for j in range(0 if s.within[arm] else s.now.live):
                a = s.active[j]
                if s.within[a] and s.floor[a] > -np.inf:
                    s.floor[a] = min(s.floor[a], weight(s, a, arm))


def look_at_pairs(s, a):
    """Look at all pairs of an arm inside."""
    s.floor[a] = NEVER
    for j in range(s.now.live):
        b = s.active[j]
        if not s.within[b]:
            found = weight(s, a, b)
            s.floor[a] = min(s.floor[a], found)
            if found < s.now.least - ROUNDING:
                s.now.inside, s.now.outside, s.now.least = a, b, found
