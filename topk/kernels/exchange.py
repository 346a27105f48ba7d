"""What CLUCB looks at: the k largest means, and the arms that the bounds would exchange.

Let M be the k best-ranked arms.  Give every arm of M its lower bound ``mean - s * weight``
and every other arm its upper bound ``mean + s * weight``.  The k largest of these values
differ from M by an exchange: the arms of M with the lowest lower bounds go out, as many
others with the highest upper bounds come in, as long as each pair gains.  The exchange is
kept up to date by single steps, each of which is a comparison of two winners of trees.
"""

import math

import numpy as np

from topk.kernels.compiling import inlined, kernel, maker
from topk.kernels.filing import ACTIVE
from topk.kernels.ranking import rank_arms
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

STAY, LEAVE, ENTER, AWAY = 0, 1, 2, 3  # groups: M but for LEAVE, the exchange, the others
WORST_IN, FIRST_OUT, LOWEST_STAY, HIGHEST_LEAVE, LOWEST_ENTER, HIGHEST_AWAY, WIDEST = range(7)
TREES = (
    Tree((STAY, LEAVE), -1.0, 0.0, late=True),  # the last rank of M
    Tree((ENTER, AWAY), 1.0, 0.0),  # the first rank outside M
    Tree((STAY,), -1.0, 1.0),  # the next that would leave
    Tree((LEAVE,), 1.0, -1.0, late=True),  # the last that leaves
    Tree((ENTER,), -1.0, -1.0, late=True),  # the last that enters
    Tree((AWAY,), 1.0, 1.0),  # the next that would enter
    Tree((LEAVE, ENTER), 0.0, 1.0),  # the widest bounds in the exchange
)


def new_exchange(n):
    """Return the trees for ``n`` arms, empty until `draw_exchange`."""
    return new_tournament(n, TREES)


@inlined
def weigh(line, gain, arm, factor):
    """Add (factor 1) or take away (factor -1) an arm's part of the exchange's gain.

    What the exchange gains is ``gain[0] + s * gain[1]``.
    """
    if line[arm, GROUP] == ENTER:
        gain[0] += factor * line[arm, MEAN]
        gain[1] += factor * line[arm, WEIGHT]
    elif line[arm, GROUP] == LEAVE:
        gain[0] -= factor * line[arm, MEAN]
        gain[1] += factor * line[arm, WEIGHT]


@kernel
def add_up(line, gain):
    """Set ``gain`` anew, free of what rounding has left behind."""
    gain[0], gain[1] = 0.0, 0.0
    for arm in range(line.shape[0]):
        weigh(line, gain, arm, 1.0)


@kernel
def place(trees, gain, arm, group):
    """Move an arm to another group."""
    weigh(trees.line, gain, arm, -1.0)
    regroup(trees, arm, group)
    weigh(trees.line, gain, arm, 1.0)


@kernel
def mend_members(trees, gain):
    """Exchange across M's boundary until every arm of M ranks above every other arm.

    The two arms trade groups, so that as many arms enter as leave.
    """
    while True:
        worst, first = best(trees, WORST_IN), best(trees, FIRST_OUT)
        if worst == NOBODY or first == NOBODY:
            return
        lead = trees.line[worst, MEAN] - trees.line[first, MEAN]
        if lead > 0 or (lead == 0 and worst < first):
            return
        group = trees.line[worst, GROUP]
        place(trees, gain, worst, trees.line[first, GROUP])
        place(trees, gain, first, group)


@kernel
def mend_exchange(trees, gain):
    """Take single steps until no step improves the exchange.

    Keys of LOWEST_STAY and LOWEST_ENTER are the negative bounds.
    """
    while True:
        stay, leave = best(trees, LOWEST_STAY), best(trees, HIGHEST_LEAVE)
        enter, away = best(trees, LOWEST_ENTER), best(trees, HIGHEST_AWAY)
        if stay != NOBODY and leave != NOBODY and out_of_order(trees, stay, leave):
            place(trees, gain, stay, LEAVE)
            place(trees, gain, leave, STAY)
        elif away != NOBODY and enter != NOBODY and out_of_order_outside(trees, away, enter):
            place(trees, gain, away, ENTER)
            place(trees, gain, enter, AWAY)
        elif stay != NOBODY and away != NOBODY and (
            key(trees, HIGHEST_AWAY, away) > -key(trees, LOWEST_STAY, stay)
        ):
            place(trees, gain, stay, LEAVE)
            place(trees, gain, away, ENTER)
        elif leave != NOBODY and (
            -key(trees, LOWEST_ENTER, enter) <= key(trees, HIGHEST_LEAVE, leave)
        ):
            place(trees, gain, leave, STAY)
            place(trees, gain, enter, AWAY)
        else:
            return


@kernel
def out_of_order(trees, stay, leave):
    """Tell whether an arm that stays has a lower lower bound than one that leaves."""
    lead = key(trees, HIGHEST_LEAVE, leave) + key(trees, LOWEST_STAY, stay)
    return lead > 0 or (lead == 0 and stay < leave)


@kernel
def out_of_order_outside(trees, away, enter):
    """Tell whether an arm that stays away has a higher upper bound than one that enters."""
    lead = key(trees, HIGHEST_AWAY, away) + key(trees, LOWEST_ENTER, enter)
    return lead > 0 or (lead == 0 and away < enter)


@maker
def draw_exchange(trees, gain, tally, status, k, s):
    """Set up the trees from the tally."""
    line = trees.line
    line[:, GROUP] = OUT
    alive = np.flatnonzero(status == ACTIVE)
    ranked = rank_arms(tally, alive, alive.size, 1.0)
    for rank in range(ranked.size):
        arm = ranked[rank]
        line[arm, MEAN] = tally.sums[arm] / tally.pulls[arm]
        line[arm, WEIGHT] = 1 / math.sqrt(tally.pulls[arm])
        line[arm, GROUP] = STAY if rank < k else AWAY
    trees.s[0] = s
    build(trees)
    mend_exchange(trees, gain)
    add_up(line, gain)


@kernel
def move_exchange(trees, gain, tally, m, arms):
    """Take over the new means and weights of a batch's arms; mend M and the exchange."""
    for j in range(m):
        arm = arms[j]
        group = trees.line[arm, GROUP]
        if group != OUT:
            mean = tally.sums[arm] / tally.pulls[arm]
            weigh(trees.line, gain, arm, -1.0)
            change(trees, arm, mean, 1 / math.sqrt(tally.pulls[arm]), group)
            weigh(trees.line, gain, arm, 1.0)
    mend_members(trees, gain)
    mend_exchange(trees, gain)
