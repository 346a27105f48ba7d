"""The k largest means inside, the others outside, by tournaments of bounds that stay as they are.

Where an arm's bounds change only when it is pulled, no clock is needed: each node of a tree holds
the winner of the two below it, and a pull plays again the matches on the arm's way to the root.
An arm takes part in two of the four trees: its mean and one of its bounds.
"""

import numpy as np

from topk.engine.composing import allocates
from topk.engine.indices import line
from topk.engine.loop import NOBODY
from topk.engine.ranking import rank

LAST, LOWEST, FIRST, HIGHEST = 0, 1, 2, 3  # trees; two of the arms inside, two of those outside


def room(bandits, n):
    """Return what a play's state holds for this search.

    ``keys`` (4, leaves) of each tree's members, minus infinity for who is none; ``winners``
    (4, 2 leaves) of each node: 1 is the root, 2j and 2j + 1 are the children of j, and
    ``leaves + arm`` is an arm; ``lows`` and ``highs`` (n,), the bounds.
    """
    leaves = 1 << (n - 1).bit_length()
    arms = np.tile(np.arange(2 * leaves) % leaves, (4, 1))
    keys = np.full((4, leaves), -np.inf)
    return {"keys": keys, "winners": arms, "lows": np.zeros(n), "highs": np.zeros(n)}


@allocates
def setup(s):
    """Set up the trees from the counts."""
    s.keys[:] = -np.inf
    ranked = rank(s)
    for place in range(ranked.size):
        arm = ranked[place]
        s.lows[arm], s.highs[arm], _ = line(s, arm)
        put(s, arm, place < s.k)
    for tree in range(4):
        for node in range(s.keys.shape[1] - 1, 0, -1):
            s.winners[tree, node] = winner(s.keys[tree], s.winners[tree], node, tree == LAST)


def put(s, arm, within):
    """Set an arm's keys; its bounds are known."""
    mean, none = s.sums[arm] / s.pulls[arm], -np.inf
    s.keys[LAST, arm], s.keys[LOWEST, arm] = (-mean, -s.lows[arm]) if within else (none, none)
    s.keys[FIRST, arm], s.keys[HIGHEST, arm] = (none, none) if within else (mean, s.highs[arm])


def winner(keys, winners, node, late):
    """Return the better of a node's two; of equal ones the first, or the last if ``late``."""
    left, right = winners[2 * node], winners[2 * node + 1]
    ahead = keys[right] - keys[left] if keys[left] > -np.inf else 1.0
    return right if ahead > 0 or (ahead == 0 and late) else left


def climb(s, tree, arm):
    """Play again the matches above an arm whose key is another one."""
    keys, winners, node = s.keys[tree], s.winners[tree], (s.keys.shape[1] + arm) >> 1
    while node > 0:
        before = winners[node]
        winners[node] = winner(keys, winners, node, tree == LAST)
        if winners[node] == before and before != arm:
            break
        node >>= 1


def moved(s, arm):
    """Take over an arm's new mean and bounds."""
    s.lows[arm], s.highs[arm], _ = line(s, arm)
    put(s, arm, inside(s, arm))
    climb(s, LAST if inside(s, arm) else FIRST, arm)
    climb(s, LOWEST if inside(s, arm) else HIGHEST, arm)


def mend(s):
    """Exchange across the boundary until every arm inside ranks above every arm outside."""
    first = root(s, FIRST)
    while first != NOBODY:
        last = root(s, LAST)
        lead = -s.keys[LAST, last] - s.keys[FIRST, first]
        if lead > 0 or (lead == 0 and last < first):
            break
        put(s, last, False)
        put(s, first, True)
        for tree in range(4):
            climb(s, tree, last)
            climb(s, tree, first)
        first = root(s, FIRST)


def inside(s, arm):
    """Tell whether an arm is one of the k largest means."""
    return s.keys[LAST, arm] > -np.inf


def root(s, tree):
    """Return the winner of a tree, `NOBODY` if it has no members."""
    arm = s.winners[tree, 1]
    return arm if s.keys[tree, arm] > -np.inf else NOBODY


def lowest(s):
    """Return the arm inside with the lowest lower bound."""
    return root(s, LOWEST)


def highest(s):
    """Return the arm outside with the highest upper bound, `NOBODY` if none is outside."""
    return root(s, HIGHEST)


def kth(s):
    """Return the k-th largest mean."""
    return -s.keys[LAST, root(s, LAST)]


def following(s):
    """Return the k+1-th largest mean, minus infinity if there is none."""
    return s.keys[FIRST, s.winners[FIRST, 1]]


def mean_and_weight(s, arm):
    """Return an arm's mean and weight."""
    return s.sums[arm] / s.pulls[arm], 0.0


def lower(s, arm):
    """Return an arm's lower bound."""
    return s.lows[arm]


def upper(s, arm):
    """Return an arm's upper bound, minus infinity for `NOBODY`."""
    return s.highs[arm] if arm != NOBODY else -np.inf
