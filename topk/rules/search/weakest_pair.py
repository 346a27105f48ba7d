"""The weakest pair: of an arm among the k largest means and one of the others.

A strategy gives each pair a weight, which changes when one of the two is pulled.  An old weight
still says something if each arm has a ``height`` for which ``weight - height[a] - height[b]`` never
falls.  With likelihoods L of 0/1 rewards (or of rewards between), a weight
H_a + H_b - max over x of [ln L_a(x) + ln L_b(x + epsilon)] is of this kind: the heights are H, any
function of an arm's own counts, and what is left never falls, since a reward multiplies a
likelihood by at most 1.
"""

import numpy as np

from topk.rules.base import ACTIVE
from topk.rules.indices import inside
from topk.rules.marks import open_function

MANY = 2000  # arms; of more nothing is kept of pairs
NEVER, ROUNDING = 1e300, 1e-11  # a weight that no pair has; what may tell equal weights apart
SHORT, PART = 1e-9, 1e-13  # so much less, and such a part, is kept of a weight: rounding is less


@open_function
def weight(s, a, b):
    """Return the weight of the pair of an arm a inside and an arm b outside."""


def room(n, has_heights):
    """Return what a play's state holds for the search.

    ``least_weight`` (n, n) is what the pairs at least weigh, both heights apart; ``floor`` (n,)
    what no pair of an arm inside falls below, its own height apart; ``seen`` and ``within`` (n,)
    are the pulls and the sides of which the floors take note.
    """
    size = n if n <= MANY and has_heights else 0
    found = {"least_weight": np.full((size, size), -np.inf)}
    found |= {"height": np.zeros(n), "has_heights": np.array([has_heights])}
    found |= {"floor": np.full(n, -np.inf), "seen": np.zeros(n, dtype=np.int64)}
    return found | {"within": np.zeros(n, dtype=np.bool_)}


def find_pair(s):
    """Find the pair of the smallest weight; of equal ones the first.

    It is in ``s.now``: ``inside``, ``outside``, and its weight ``least``.  The plain form looks at
    all pairs; this one begins with what the last one found weighs now, and passes over all that
    is known to weigh more.
    """
    lower_floors(s)
    a, b, s.now.least = s.now.inside, s.now.outside, NEVER
    if s.status[a] == s.status[b] == ACTIVE and s.within[a] and not s.within[b]:
        s.now.least = weight(s, a, b) + 2 * ROUNDING  # so that it is found, or one before it
    for i in range(s.now.live):
        a = s.active[i]
        if s.within[a] and s.floor[a] + s.height[a] < s.now.least - ROUNDING:
            look_at_pairs(s, a)


def lower_floors(s):
    """Lower the floors to what the arms that have been pulled, or changed sides, weigh now."""
    for i in range(s.now.live):
        arm = s.active[i]
        if s.within[arm] != inside(s, arm):
            s.within[arm], s.seen[arm] = inside(s, arm), 0
            s.floor[arm] = -np.inf
    for i in range(s.now.live):
        arm = s.active[i]
        if s.pulls[arm] != s.seen[arm]:
            s.seen[arm] = s.pulls[arm]
            if s.within[arm] and not s.has_heights[0]:
                s.floor[arm] = -np.inf
            for j in range(0 if s.within[arm] else s.now.live):
                a = s.active[j]
                if s.within[a] and s.floor[a] > -np.inf:
                    s.floor[a] = min(s.floor[a], at_least(s, a, arm))


def look_at_pairs(s, a):
    """Look at all pairs of an arm inside that may be the weakest."""
    s.floor[a] = NEVER
    for j in range(s.now.live):
        b = s.active[j]
        if s.within[b]:
            continue
        found = at_least(s, a, b)
        if found + s.height[a] < s.now.least - ROUNDING:
            exact = weight(s, a, b)
            if exact < s.now.least - ROUNDING:
                s.now.inside, s.now.outside, s.now.least = a, b, exact
            found = exact - s.height[a]
            if s.least_weight.size > 0:
                s.least_weight[a, b] = (found - s.height[b]) * (1 - PART) - SHORT
        s.floor[a] = min(s.floor[a], found)


def at_least(s, a, b):
    """Return what the weight of a pair is not below, the height of a apart."""
    if s.least_weight.size > 0:
        return s.least_weight[a, b] + s.height[b]
    return weight(s, a, b) - s.height[a]
