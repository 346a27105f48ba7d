"""The k best-ranked arms, the others, and the arms of both that bounds put at risk.

Shared by the strategies that look at lower bounds inside and upper bounds outside the set
of the k largest means.  The set is kept, not sorted anew: after a change of a mean, the
worst inside and the best outside are exchanged as long as they are in the wrong order.
"""

import math

import numpy as np

from topk.kernels.compiling import inlined, maker
from topk.kernels.filing import ACTIVE
from topk.kernels.ranking import rank_arms
from topk.kernels.tournament import GROUP, MEAN, NOBODY, OUT, WEIGHT, Tree
from topk.kernels.winners import best, build, change, new_winners, regroup

HIGH, LOW = 0, 1  # groups: the k best-ranked arms, and the others
WORST_HIGH, BEST_LOW, LOWEST, HIGHEST = 0, 1, 2, 3  # trees
TREES = (
    Tree((HIGH,), -1.0, 0.0, late=True),  # the last rank inside
    Tree((LOW,), 1.0, 0.0),  # the first rank outside
    Tree((HIGH,), -1.0, 1.0),  # the lowest mean - s * weight inside
    Tree((LOW,), 1.0, 1.0),  # the highest mean + s * weight outside
)


def new_boundary(n, looks=None):
    """Return the trees for ``n`` arms, empty until `draw_boundary`.

    ``looks`` says whether to look at all arms or to play matches; by default the faster.
    """
    return new_winners(n, TREES, looks)


@maker
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
    build(trees)


@inlined
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


@inlined
def move_lines(trees, tally, m, arms):
    """Take over the new means and weights of a batch's arms, and mend the partition."""
    for j in range(m):
        arm = arms[j]
        group = trees.line[arm, GROUP]
        if group != OUT:
            mean = tally.sums[arm] / tally.pulls[arm]
            change(trees, arm, mean, 1 / math.sqrt(tally.pulls[arm]), group)
    mend(trees)


@maker
def leave_boundary(trees, arm):
    """Take an arm out; if it was inside, the first arm outside takes its place."""
    inside, heir = trees.line[arm, GROUP] == HIGH, best(trees, BEST_LOW)
    regroup(trees, arm, OUT)
    if inside and heir != NOBODY:
        regroup(trees, heir, HIGH)
