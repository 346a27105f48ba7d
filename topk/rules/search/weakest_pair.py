"""The weakest pair of an arm among the k largest means and one of the other arms.

A strategy gives each pair a weight, which changes when one of the two arms is pulled.  An old
weight still gives a lower bound if each arm has a ``height`` such that
``weight - height[a] - height[b]`` never decreases.  With the likelihoods L of rewards in [0, 1],
the weight H_a + H_b - max over x of [ln L_a(x) + ln L_b(x + epsilon)] is of this kind.  The heights
are H, any function of an arm's own counts, and the difference never decreases, since a reward
multiplies a likelihood by at most 1.
"""

import numpy as np

from topk.rules.base import ACTIVE
from topk.rules.indices import inside
from topk.rules.marks import open_function

MANY = 2000  # arms; nothing is stored for pairs above this number
NEVER, ROUNDING = 1e300, 1e-11  # above all weights; bound on the rounding errors of weights
SHORT, PART = 1e-9, 1e-13  # a stored weight is reduced by both, more than rounding errors


@open_function
def weight(s, a, b):
    """Return the weight of the pair of an arm a inside and an arm b outside."""


def new_arrays(n, has_heights):
    """Return the arrays that the search adds to the state of a run.

    ``least_weight`` (n, n) is a lower bound on each pair's weight minus both heights.  ``floor``
    (n,) is a lower bound on the weights of all pairs of an arm inside, minus that arm's height.
    ``seen`` and ``within`` (n,) are the pulls and the sides for which the floors were computed.
    """
    size = n if n <= MANY and has_heights else 0
    found = {"least_weight": np.full((size, size), -np.inf)}
    found |= {"height": np.zeros(n), "has_heights": np.array([has_heights])}
    found |= {"floor": np.full(n, -np.inf), "seen": np.zeros(n, dtype=np.int64)}
    return found | {"within": np.zeros(n, dtype=np.bool_)}


def find_pair(s):
    """Find the pair with the smallest weight; ties go to the first pair.

    It is stored in ``s.now``: ``inside``, ``outside``, and its weight ``least``.  The plain form
    computes the weights of all pairs; this one begins with the present weight of the last pair
    found, and skips the pairs whose weights are known to be larger.
    """
    lower_floors(s)
    a, b, s.now.least = s.now.inside, s.now.outside, NEVER
    if s.status[a] == s.status[b] == ACTIVE and s.within[a] and not s.within[b]:
        s.now.least = weight(s, a, b) + 2 * ROUNDING  # so that this pair or an earlier one is found
    for i in range(s.now.n_active):
        a = s.active[i]
        if s.within[a] and s.floor[a] + s.height[a] < s.now.least - ROUNDING:
            look_at_pairs(s, a)


def lower_floors(s):
    """Lower the floors for the arms that have been pulled or have changed sides."""
    for i in range(s.now.n_active):
        arm = s.active[i]
        if s.within[arm] != inside(s, arm):
            s.within[arm], s.seen[arm] = inside(s, arm), 0
            s.floor[arm] = -np.inf
    for i in range(s.now.n_active):
        arm = s.active[i]
        if s.pulls[arm] != s.seen[arm]:
            s.seen[arm] = s.pulls[arm]
            if s.within[arm] and not s.has_heights[0]:
                s.floor[arm] = -np.inf
            for j in range(0 if s.within[arm] else s.now.n_active):
                a = s.active[j]
                if s.within[a] and s.floor[a] > -np.inf:
                    s.floor[a] = min(s.floor[a], at_least(s, a, arm))


def look_at_pairs(s, a):
    """Compute the weights of an arm's pairs that may be the weakest, and the arm's floor."""
    s.floor[a] = NEVER
    for j in range(s.now.n_active):
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
    """Return a lower bound on the weight of a pair, minus the height of a."""
    if s.least_weight.size > 0:
        return s.least_weight[a, b] + s.height[b]
    return weight(s, a, b) - s.height[a]
