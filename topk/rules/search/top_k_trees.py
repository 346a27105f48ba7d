"""The k largest means inside, the others outside, by tournaments: O(log n) a pull.

The set is kept, not sorted anew: after a change of a mean, the worst inside and the best
outside are exchanged as long as they are in the wrong order.
"""

import numpy as np

from topk.rules import indices
from topk.rules.base import NOBODY
from topk.rules.marks import allocates
from topk.rules.ranking import rank
from topk.rules.search import tournament
from topk.rules.search.interface import Search
from topk.rules.search.tournament import (
    GROUP,
    HIGH,
    LOW,
    MEAN,
    OUT,
    Tree,
    best,
    build,
    enter,
    key,
    regroup,
)

INSIDE, OUTSIDE = 0, 1  # groups
LAST, FIRST, LOWEST, HIGHEST = 0, 1, 2, 3  # trees
TREES = (
    Tree((INSIDE,), -1.0, 0.0, late=True),  # the last rank inside
    Tree((OUTSIDE,), 1.0, 0.0),  # the first rank outside
    Tree((INSIDE,), -1.0, 1.0, of=LOW),  # the lowest lower bound inside
    Tree((OUTSIDE,), 1.0, 1.0, of=HIGH),  # the highest upper bound outside
)


def room(bandits, n):
    """Return what a play's state holds for this search."""
    return {"trees": tournament.new_tournament(n, TREES)}


@allocates
def setup(s):
    """Set up the trees from the counts."""
    lines = s.trees.line
    lines[:, GROUP] = OUT
    ranked = rank(s)
    for place in range(ranked.size):
        arm = ranked[place]
        enter(s, arm)
        lines[arm, GROUP] = INSIDE if place < s.k else OUTSIDE
    s.trees.s[0] = s.now.scale
    build(s.trees)


def mend(s):
    """Exchange across the boundary until every arm inside ranks above every arm outside."""
    last, first = misplaced(s.trees)
    while last != NOBODY:
        regroup(s.trees, last, OUTSIDE)
        regroup(s.trees, first, INSIDE)
        last, first = misplaced(s.trees)


def misplaced(trees):
    """Return the last rank inside and the first outside, if the second ranks above the first."""
    last, first = best(trees, LAST), best(trees, FIRST)
    if last == NOBODY or first == NOBODY:
        return NOBODY, NOBODY
    lead = trees.line[last, MEAN] - trees.line[first, MEAN]
    return (last, first) if lead < 0 or (lead == 0 and first < last) else (NOBODY, NOBODY)


def leave(s, arm):
    """Take an arm out; if it was inside, the first arm outside takes its place."""
    inside, heir = s.trees.line[arm, GROUP] == INSIDE, best(s.trees, FIRST)
    regroup(s.trees, arm, OUT)
    if inside and heir != NOBODY:
        regroup(s.trees, heir, INSIDE)


def inside(s, arm):
    """Tell whether an arm is one of the k largest means."""
    return s.trees.line[arm, GROUP] == INSIDE


def lowest(s):
    """Return the arm inside with the lowest lower bound."""
    return best(s.trees, LOWEST)


def highest(s):
    """Return the arm outside with the highest upper bound, `NOBODY` if none is outside."""
    return best(s.trees, HIGHEST)


def kth(s):
    """Return the k-th largest mean."""
    return s.trees.line[best(s.trees, LAST), MEAN]


def following(s):
    """Return the k+1-th largest mean, minus infinity if there is none."""
    first = best(s.trees, FIRST)
    return s.trees.line[first, MEAN] if first != NOBODY else -np.inf


def lower(s, arm):
    """Return an arm's lower bound."""
    return -key(s.trees, LOWEST, arm)


def upper(s, arm):
    """Return an arm's upper bound, minus infinity for `NOBODY`."""
    return key(s.trees, HIGHEST, arm) if arm != NOBODY else -np.inf


TOP_K_TREES = Search(
    "top_k_trees",
    new_arrays=room,
    setup=setup,
    moved=tournament.moved,
    grow=tournament.grow,
    mend=mend,
    leave=leave,
    words={
        indices.inside: inside,
        indices.lowest: lowest,
        indices.highest: highest,
        indices.kth: kth,
        indices.following: following,
        indices.lower: lower,
        indices.upper: upper,
    },
    uses_lines=True,
)
