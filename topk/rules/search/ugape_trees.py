"""UGapE's candidate set J of one bandit, with tournaments: O(log n) per pull.

With ``U = mean + s * weight`` and ``L = mean - s * weight``, let Top be the k arms with the
largest U.  For an arm of Top, the k-th largest U of the other arms is the largest U outside Top;
for any other arm it is the smallest U inside Top.  So the order of B is the reverse of that of L
within Top, and within the rest, and J is found by comparing the two.  The four groups are the arms
in both sets, in J only, in Top only, and in neither.  Arms with different L may have the same
rounded B (`topk.rules.search.ugape_scan`): of these the lowest or highest number is looked for in
the tree, whose leaves are in the order of the arms, but only if some match was close.
"""

import numpy as np

from topk._marks import allocates
from topk.rules import indices
from topk.rules.base import NO_ARM
from topk.rules.ranking import precedes
from topk.rules.search import ugape_scan
from topk.rules.search.interface import Search
from topk.rules.search.top_k_trees import INSIDE, OUTSIDE
from topk.rules.search.top_k_trees import setup as set_up_ranks
from topk.rules.search.tournament import (
    GROUP,
    UNTIL,
    WEIGHT,
    Tree,
    arm_pulled,
    best,
    comparison,
    contender,
    key,
    new_tournament,
    regroup,
    scale_grew,
)
from topk.rules.search.ugape_scan import settled

BOTH, NEITHER, J_ONLY, TOP_ONLY = INSIDE, OUTSIDE, 2, 3  # groups
LAST_TOP, FIRST_REST, WORST_BOTH, WORST_J_ONLY, BEST_TOP_ONLY, BEST_NEITHER = range(6)  # trees
LOWEST_J, HIGHEST_REST = 6, 7
WIDE = 1000.0  # bounds up to which keys that differ by `EARLY` give different rounded B
TREES = (
    Tree((BOTH, TOP_ONLY), -1.0, -1.0),  # the smallest U inside Top
    Tree((J_ONLY, NEITHER), 1.0, 1.0),  # the largest U outside Top
    Tree((BOTH,), -1.0, 1.0, late=True),  # the largest B inside J ...
    Tree((J_ONLY,), -1.0, 1.0, late=True),
    Tree((TOP_ONLY,), 1.0, -1.0),  # the smallest B outside J ...
    Tree((NEITHER,), 1.0, -1.0),
    Tree((BOTH, J_ONLY), -1.0, 1.0),  # l: the lowest L inside J
    Tree((TOP_ONLY, NEITHER), 1.0, 1.0),  # u: the highest U outside J
)


def new_arrays(bandits, n):
    """Return the arrays that the search adds to the state of a run."""
    return {"trees": new_tournament(n, TREES)}


def setup(s):
    """Set up the trees from the counts; then find Top and J by exchanges."""
    set_up_ranks(s)
    indices.restore_partition(s)


def restore_partition(s):
    """Exchange arms until Top and J agree with their definitions."""
    order_top(s.trees)
    order_candidates(s.trees)


def order_top(trees):
    """Exchange arms between Top and the rest until every U inside is at least every U outside.

    Among arms with equal U it does not matter which of them are inside.
    """
    while True:
        last, first = best(trees, LAST_TOP), best(trees, FIRST_REST)
        if last == NO_ARM or first == NO_ARM:
            return
        if key(trees, FIRST_REST, first) <= -key(trees, LAST_TOP, last):
            return
        regroup(trees, last, J_ONLY if trees.line[last, GROUP] == BOTH else NEITHER)
        regroup(trees, first, BOTH if trees.line[first, GROUP] == J_ONLY else TOP_ONLY)


def order_candidates(trees):
    """Exchange arms between J and the rest until every B inside is at most every B outside."""
    while True:
        inside, worst = extreme(trees, WORST_BOTH, WORST_J_ONLY, 1.0)
        outside, smallest = extreme(trees, BEST_TOP_ONLY, BEST_NEITHER, -1.0)
        if inside == NO_ARM or outside == NO_ARM:
            return
        if not precedes(worst - smallest, outside, inside, 0.0):
            return
        regroup(trees, inside, TOP_ONLY if trees.line[inside, GROUP] == BOTH else NEITHER)
        regroup(trees, outside, BOTH if trees.line[outside, GROUP] == TOP_ONLY else J_ONLY)


def extreme(trees, top, rest, sign):
    """Return the arm with the largest ``sign * B``, and its B.

    It is one of the tree ``top``, whose arms are in Top, or of the tree ``rest``, whose arms are
    not.  If ``sign`` is 1, it is the arm of J that leaves first, and ties go to the last arm; if it
    is -1, it is the arm that enters J first, and ties go to the first arm.
    """
    first_rest, last_top = best(trees, FIRST_REST), best(trees, LAST_TOP)
    arm, index = NO_ARM, -sign * np.inf
    if best(trees, top) != NO_ARM and first_rest != NO_ARM:
        arm, index = extreme_of(trees, top, key(trees, FIRST_REST, first_rest), sign)
    if best(trees, rest) != NO_ARM:
        other, found = extreme_of(trees, rest, -key(trees, LAST_TOP, last_top), sign)
        if precedes(sign * (found - index), -sign * other, -sign * arm, 0.0):
            arm, index = other, found
    return arm, index


def extreme_of(trees, tree, rival, sign):
    """Return the arm of a tree with the largest ``sign * B``, and its B; ties as in `extreme`.

    B is the U of the arms' rival minus the arm's L.
    """
    arm = best(trees, tree)
    own = key(trees, tree, arm)
    index = settled(rival + sign * own)
    if trees.node[tree, 1, UNTIL] > trees.s[0] and abs(rival) + abs(own) < WIDE:
        return arm, index  # all matches were clear, or between equal lines
    place, how = 1, comparison(trees.spec, tree)
    while place < trees.todo.size:
        place = 2 * place + (1 if sign > 0 else 0)
        one, _ = contender(trees, tree, place, how)
        if one[0] == NO_ARM or settled(rival + sign * one[3]) != index:
            place ^= 1
    return place - trees.todo.size, index


def largest_index(s):
    """Return the largest index in J."""
    return index_of(s, 0)


def index_of(s, bandit):
    """Return the largest index in J, the candidate set of the only bandit."""
    return extreme(s.trees, WORST_BOTH, WORST_J_ONLY, 1.0)[1]


def wider(s):
    """Return the arm to be pulled."""
    trees = s.trees
    low, high = best(trees, LOWEST_J), best(trees, HIGHEST_REST)
    if high == NO_ARM:
        return low
    weight_low, weight_high = trees.line[low, WEIGHT], trees.line[high, WEIGHT]
    return high if precedes(weight_high - weight_low, high, low, 0.0) else low


@allocates
def members(s, first, last):
    """Return whether the arms ``first``, ..., ``last - 1`` are in J."""
    group = s.trees.line[first:last, GROUP]
    return (group == BOTH) | (group == J_ONLY)


UGAPE_TREES = Search(
    "ugape_trees",
    new_arrays=new_arrays,
    setup=setup,
    arm_pulled=arm_pulled,
    scale_grew=scale_grew,
    restore_partition=restore_partition,
    words={
        ugape_scan.largest_index: largest_index,
        ugape_scan.wider: wider,
        ugape_scan.index_of: index_of,
        ugape_scan.members: members,
    },
)
