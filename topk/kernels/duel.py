"""What UGapE looks at: its candidate set J and the two arms that speak against it.

With ``U = mean + s * weight`` and ``L = mean - s * weight``, an arm's index B is the m-th
largest U of the other arms minus its own L.  The m arms with the smallest B form J.  Let
Top be the m arms with the largest U.  The m-th largest U of the others is the first U
outside Top for an arm of Top, and the last U inside Top for any other arm: so within Top,
and within the rest, B is ordered as L is, and J is found by comparing the two.

The four groups are the arms in both sets, in J only, in Top only, and in neither.
"""

import math

import numpy as np

from topk.kernels.compiling import kernel, maker
from topk.kernels.filing import ACTIVE
from topk.kernels.tournament import (
    GROUP,
    MEAN,
    NOBODY,
    OUT,
    WEIGHT,
    Tree,
    new_tournament,
)
from topk.kernels.winners import best, build, change, key, regroup

TIE = 1e-12  # indices closer than this are equal: sums of the same numbers, rounded in two orders

BOTH, J_ONLY, TOP_ONLY, NEITHER = 0, 1, 2, 3
LAST_TOP, FIRST_REST, WORST_BOTH, WORST_J_ONLY, BEST_TOP_ONLY, BEST_NEITHER = range(6)
LOWEST_J, HIGHEST_REST = 6, 7
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


def new_duel(n):
    """Return the trees for ``n`` arms, empty until `draw_duel`."""
    return new_tournament(n, TREES)


@kernel
def mend_top(trees):
    """Exchange arms between Top and the rest until every U inside is at least every U outside.

    Among equal U it does not matter which of them are inside.
    """
    while True:
        last, first = best(trees, LAST_TOP), best(trees, FIRST_REST)
        if last == NOBODY or first == NOBODY:
            return
        if key(trees, FIRST_REST, first) <= -key(trees, LAST_TOP, last):
            return
        regroup(trees, last, J_ONLY if trees.line[last, GROUP] == BOTH else NEITHER)
        regroup(trees, first, BOTH if trees.line[first, GROUP] == J_ONLY else TOP_ONLY)


@kernel
def largest_inside(trees):
    """Return the arm of J with the largest B (the last of several), and that B."""
    first_rest, last_top = best(trees, FIRST_REST), best(trees, LAST_TOP)
    arm, index = NOBODY, -np.inf
    if best(trees, WORST_BOTH) != NOBODY and first_rest != NOBODY:
        arm = best(trees, WORST_BOTH)
        index = key(trees, FIRST_REST, first_rest) + key(trees, WORST_BOTH, arm)
    other = best(trees, WORST_J_ONLY)
    if other != NOBODY:
        value = -key(trees, LAST_TOP, last_top) + key(trees, WORST_J_ONLY, other)
        if value > index + TIE or (value > index - TIE and other > arm):
            arm, index = other, value
    return arm, index


@kernel
def smallest_outside(trees):
    """Return the arm outside J with the smallest B (the first of several), and that B."""
    first_rest, last_top = best(trees, FIRST_REST), best(trees, LAST_TOP)
    arm, index = NOBODY, np.inf
    if best(trees, BEST_TOP_ONLY) != NOBODY:
        arm = best(trees, BEST_TOP_ONLY)
        index = key(trees, FIRST_REST, first_rest) - key(trees, BEST_TOP_ONLY, arm)
    other = best(trees, BEST_NEITHER)
    if other != NOBODY:
        value = -key(trees, LAST_TOP, last_top) - key(trees, BEST_NEITHER, other)
        if value < index - TIE or (value < index + TIE and other < arm):
            arm, index = other, value
    return arm, index


@kernel
def mend_candidates(trees, journal):
    """Exchange arms between J and the rest until every B inside is at most every B outside."""
    while True:
        inside, worst = largest_inside(trees)
        outside, smallest = smallest_outside(trees)
        if inside == NOBODY or outside == NOBODY:
            return
        lead = worst - smallest  # one difference, so that an exchange is never undone
        if lead < -TIE or (lead <= TIE and outside > inside):
            return
        regroup(trees, inside, TOP_ONLY if trees.line[inside, GROUP] == BOTH else NEITHER)
        regroup(trees, outside, BOTH if trees.line[outside, GROUP] == TOP_ONLY else J_ONLY)
        note(journal, inside)
        note(journal, outside)


@kernel
def note(journal, arm):
    """Note that an arm has entered or left J.

    ``journal`` (2, n + 1) remembers, at the cost of its changes only, an earlier J:
    ``journal[0, arm]`` is 1 if the arm's membership differs from then (2 if it has differed
    and is the same again), ``journal[1, :journal[1, n]]`` are the arms where it may.
    """
    n = journal.shape[1] - 1
    if journal[0, arm] == 0:
        journal[1, journal[1, n]] = arm
        journal[1, n] += 1
        journal[0, arm] = 1
    else:
        journal[0, arm] = 3 - journal[0, arm]


@maker
def draw_duel(trees, tally, status, k, s):
    """Set up the trees from the tally, with J and Top as their definitions say."""
    line = trees.line
    line[:, GROUP] = OUT
    trees.s[0] = s
    alive = np.flatnonzero(status == ACTIVE)
    minus_upper = np.empty(alive.size)
    for j in range(alive.size):
        arm = alive[j]
        line[arm, MEAN] = tally.sums[arm] / tally.pulls[arm]
        line[arm, WEIGHT] = 1 / math.sqrt(tally.pulls[arm])
        minus_upper[j] = -(line[arm, MEAN] + s * line[arm, WEIGHT])
    by_upper = np.argsort(minus_upper, kind="mergesort")
    index = np.empty(alive.size)
    for rank in range(alive.size):
        j = by_upper[rank]
        rival = k if rank < k else k - 1  # the rank of the k-th largest U of the others
        lower = line[alive[j], MEAN] - s * line[alive[j], WEIGHT]
        # with no arm outside Top nothing speaks against the set
        index[j] = -minus_upper[by_upper[rival]] - lower if rival < alive.size else -np.inf
    for rank in range(alive.size):
        line[alive[by_upper[rank]], GROUP] = TOP_ONLY if rank < k else NEITHER
    for j in np.argsort(index, kind="mergesort")[:k]:
        arm = alive[j]
        line[arm, GROUP] = BOTH if line[arm, GROUP] == TOP_ONLY else J_ONLY
    build(trees)
    mend_candidates(trees, np.zeros((2, line.shape[0] + 1), dtype=np.int64))  # equal indices


@kernel
def forget(journal):
    """Make the present J the one that is remembered."""
    n = journal.shape[1] - 1
    for j in range(journal[1, n]):
        journal[0, journal[1, j]] = 0
    journal[1, n] = 0


@kernel
def move_duel(trees, tally, m, arms, journal):
    """Take over the new means and weights of a batch's arms; mend Top and J."""
    for j in range(m):
        arm = arms[j]
        group = trees.line[arm, GROUP]
        if group != OUT:
            mean = tally.sums[arm] / tally.pulls[arm]
            change(trees, arm, mean, 1 / math.sqrt(tally.pulls[arm]), group)
    mend_top(trees)
    mend_candidates(trees, journal)


@kernel
def wider(trees):
    """Return the arm to be pulled: of u and l the one with the wider bounds."""
    low, high = best(trees, LOWEST_J), best(trees, HIGHEST_REST)
    if high == NOBODY:
        return low
    weight_low, weight_high = trees.line[low, WEIGHT], trees.line[high, WEIGHT]
    if weight_high > weight_low or (weight_high == weight_low and high < low):
        return high
    return low
