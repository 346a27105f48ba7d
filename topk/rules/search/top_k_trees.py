"""The k largest means inside, the others outside, with tournaments: O(log n) per pull.

The sets are updated, not sorted again: after a change of a mean, the last-ranked arm inside and
the first-ranked one outside are exchanged as long as they are in the wrong order.
"""

import numpy as np

from topk._marks import allocates
from topk.rules import indices
from topk.rules.base import NO_ARM
from topk.rules.ranking import precedes, rank
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
    enter_all,
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


def new_arrays(bandits, n):
    """Return the arrays that the search adds to the state of a run."""
    return {"trees": tournament.new_tournament(n, TREES)}


@allocates
def setup(s):
    """Set up the trees from the counts."""
    ranked, group = rank(s), s.trees.line[:, GROUP]
    enter_all(s, ranked)
    group[:] = OUT
    group[ranked[: s.k]], group[ranked[s.k :]] = INSIDE, OUTSIDE
    s.trees.s[0] = s.now.scale
    build(s.trees)


def restore_partition(s):
    """Exchange across the boundary until every arm inside ranks above every arm outside."""
    last, first = misplaced(s.trees)
    while last != NO_ARM:
        regroup(s.trees, last, OUTSIDE)
        regroup(s.trees, first, INSIDE)
        last, first = misplaced(s.trees)


def misplaced(trees):
    """Return the last-ranked arm inside and the first-ranked one outside if they are in the wrong
    order, `NO_ARM` twice if no arm is misplaced."""
    last, first = best(trees, LAST), best(trees, FIRST)
    if last == NO_ARM or first == NO_ARM:
        return NO_ARM, NO_ARM
    lead = trees.line[last, MEAN] - trees.line[first, MEAN]
    return (NO_ARM, NO_ARM) if precedes(lead, last, first, 0.0) else (last, first)


def arm_withdrawn(s, arm):
    """Remove an arm; if it was inside, the first-ranked arm outside takes its place."""
    inside, heir = s.trees.line[arm, GROUP] == INSIDE, best(s.trees, FIRST)
    regroup(s.trees, arm, OUT)
    if inside and heir != NO_ARM:
        regroup(s.trees, heir, INSIDE)


def inside(s, arm):
    """Return whether an arm has one of the k largest means."""
    return s.trees.line[arm, GROUP] == INSIDE


def lowest(s):
    """Return the arm inside with the lowest lower bound."""
    return best(s.trees, LOWEST)


def highest(s):
    """Return the arm outside with the highest upper bound, `NO_ARM` if none is outside."""
    return best(s.trees, HIGHEST)


def kth(s):
    """Return the k-th largest mean."""
    return s.trees.line[best(s.trees, LAST), MEAN]


def following(s):
    """Return the (k+1)-th largest mean, minus infinity if there is none."""
    first = best(s.trees, FIRST)
    return s.trees.line[first, MEAN] if first != NO_ARM else -np.inf


def lower(s, arm):
    """Return an arm's lower bound."""
    return -key(s.trees, LOWEST, arm)


def upper(s, arm):
    """Return an arm's upper bound, minus infinity for `NO_ARM`."""
    return key(s.trees, HIGHEST, arm) if arm != NO_ARM else -np.inf


TOP_K_TREES = Search(
    "top_k_trees",
    new_arrays=new_arrays,
    setup=setup,
    arm_pulled=tournament.arm_pulled,
    scale_grew=tournament.scale_grew,
    restore_partition=restore_partition,
    arm_withdrawn=arm_withdrawn,
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
