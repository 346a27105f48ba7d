"""The k best-ranked arms, the others, and the arms of both that bounds put at risk.

Shared by the strategies that look at lower bounds inside and upper bounds outside the set
of the k largest means.  The set is kept, not sorted anew: after a change of a mean, the
worst inside and the best outside are exchanged as long as they are in the wrong order.

With few arms no matches are played: looking at every arm is faster, and `survey` enters the
winners at the trees' roots.
"""

import math

import numpy as np
from numba import njit

from topk.kernels.filing import ACTIVE
from topk.kernels.ranking import rank_arms
from topk.kernels.tournament import (
    GROUP,
    MEAN,
    NOBODY,
    OUT,
    WEIGHT,
    WINNER,
    Tree,
    best,
    build,
    change,
    new_tournament,
    regroup,
)

FEW = 64  # up to so many arms looking at all of them is the faster way
HIGH, LOW = 0, 1  # groups: the k best-ranked arms, and the others
WORST_HIGH, BEST_LOW, LOWEST, HIGHEST = 0, 1, 2, 3  # trees
TREES = (
    Tree((HIGH,), -1.0, 0.0, late=True),  # the last rank inside
    Tree((LOW,), 1.0, 0.0),  # the first rank outside
    Tree((HIGH,), -1.0, 1.0),  # the lowest mean - s * weight inside
    Tree((LOW,), 1.0, 1.0),  # the highest mean + s * weight outside
)


def new_boundary(n, few=None):
    """Return the trees for ``n`` arms, empty until `draw_boundary`.

    ``few`` says whether to look at all arms instead of playing matches; by default up to `FEW`.
    """
    few = n <= FEW if few is None else few
    return new_tournament(n, TREES, leaves=0 if few else None)


@njit(cache=True, nogil=True, inline="always")
def looks(trees):
    """Tell whether every arm is looked at, and no match is played."""
    return trees.todo.size == 0


@njit(cache=True, nogil=True)
def survey(line, node, s):
    """Enter the four winners at the roots, having mended the partition, by looking at all arms.

    Of equal arms the winners are those of the trees: the last rank inside, the first rank
    outside; of equal keys that of the larger weight, then of the lower index.
    """
    while True:
        worst, first, lowest, highest = NOBODY, NOBODY, NOBODY, NOBODY
        low_key, high_key = -np.inf, -np.inf
        for arm in range(line.shape[0]):
            mean, weight, group = line[arm, MEAN], line[arm, WEIGHT], line[arm, GROUP]
            if group == HIGH:
                if worst == NOBODY or mean <= line[worst, MEAN]:
                    worst = arm
                key = s * weight - mean
                if key > low_key or (key == low_key and weight > line[lowest, WEIGHT]):
                    lowest, low_key = arm, key
            elif group == LOW:
                if first == NOBODY or mean > line[first, MEAN]:
                    first = arm
                key = mean + s * weight
                if key > high_key or (key == high_key and weight > line[highest, WEIGHT]):
                    highest, high_key = arm, key
        if worst != NOBODY and first != NOBODY:
            lead = line[worst, MEAN] - line[first, MEAN]
            if lead < 0 or (lead == 0 and worst > first):
                line[worst, GROUP], line[first, GROUP] = LOW, HIGH
                continue
        node[WORST_HIGH, 1, WINNER], node[BEST_LOW, 1, WINNER] = worst, first
        node[LOWEST, 1, WINNER], node[HIGHEST, 1, WINNER] = lowest, highest
        return


@njit(cache=True, nogil=True)
def draw_boundary(trees, tally, status, k, s):
    """Set up the trees from the tally: the k best-ranked of the active arms are ``HIGH``."""
    line = trees.line
    line[:, GROUP] = OUT
    alive = np.flatnonzero(status == ACTIVE)
    ranked = rank_arms(tally, alive, alive.size, 1.0)
    for rank in range(ranked.size):
        arm = ranked[rank]
        line[arm, MEAN] = tally.sums[arm] / tally.pulls[arm]
        line[arm, WEIGHT] = 1 / math.sqrt(tally.pulls[arm])
        line[arm, GROUP] = HIGH if rank < k else LOW
    trees.s[0] = s
    if looks(trees):
        survey(line, trees.node, s)
    else:
        build(trees)


@njit(cache=True, nogil=True, inline="always")
def mend(trees):
    """Exchange across the boundary until every arm inside ranks above every arm outside."""
    while True:
        worst, first = best(trees, WORST_HIGH), best(trees, BEST_LOW)
        if worst == NOBODY or first == NOBODY:
            return
        lead = trees.line[worst, MEAN] - trees.line[first, MEAN]
        if lead > 0 or (lead == 0 and worst < first):
            return
        regroup(trees, worst, LOW)
        regroup(trees, first, HIGH)


@njit(cache=True, nogil=True, inline="always")
def move_lines(trees, tally, m, arms):
    """Take over the new means and weights of a batch's arms, and mend the partition."""
    for j in range(m):
        arm = arms[j]
        group = trees.line[arm, GROUP]
        if group != OUT:
            mean, weight = tally.sums[arm] / tally.pulls[arm], 1 / math.sqrt(tally.pulls[arm])
            if looks(trees):
                trees.line[arm, MEAN], trees.line[arm, WEIGHT] = mean, weight
            else:
                change(trees, arm, mean, weight, group)
    if looks(trees):
        survey(trees.line, trees.node, trees.s[0])
    else:
        mend(trees)


@njit(cache=True, nogil=True)
def leave_boundary(trees, arm):
    """Take an arm out; if it was inside, the first arm outside takes its place."""
    inside, heir = trees.line[arm, GROUP] == HIGH, best(trees, BEST_LOW)
    if looks(trees):
        trees.line[arm, GROUP] = OUT
        if inside and heir != NOBODY:
            trees.line[heir, GROUP] = HIGH
        survey(trees.line, trees.node, trees.s[0])
        return
    regroup(trees, arm, OUT)
    if inside and heir != NOBODY:
        regroup(trees, heir, HIGH)
