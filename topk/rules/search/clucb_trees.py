"""What CLUCB looks at: the k largest means, and the arms that the bounds would exchange.

Let M be the k best-ranked arms.  Give every arm of M its lower bound ``mean - s * weight``
and every other arm its upper bound ``mean + s * weight``.  The k largest of these values
differ from M by an exchange: the arms of M with the lowest lower bounds leave, as many
others with the highest upper bounds enter, as long as each pair gains.  The plain form sorts
the upper bounds outside M decreasingly, a_1 >= a_2 >= ..., and the lower bounds of M
increasingly, b_1 <= b_2 <= ...: the exchange are the pairs with a_j > b_j, and it gains the
sum of their differences.  It is kept up to date by single steps, each of which compares the
winners of two tournaments.
"""

import numpy as np

from topk.rules.base import NOBODY
from topk.rules.marks import allocates
from topk.rules.search.interface import Search
from topk.rules.search.top_k_trees import INSIDE, OUTSIDE, misplaced
from topk.rules.search.top_k_trees import setup as set_up_ranks
from topk.rules.search.tournament import (
    GROUP,
    MEAN,
    WEIGHT,
    Tree,
    best,
    grow,
    key,
    new_tournament,
    regroup,
)
from topk.rules.search.tournament import moved as move

NEAR = 1e-9  # closer than this to what is allowed the gain is added up anew

# groups: M but for LEAVE, the others but for ENTER, and the exchange
STAY, AWAY, LEAVE, ENTER = INSIDE, OUTSIDE, 2, 3
LOWEST_STAY, HIGHEST_LEAVE, LOWEST_ENTER, HIGHEST_AWAY, WIDEST = range(2, 7)  # trees
TREES = (
    Tree((STAY, LEAVE), -1.0, 0.0, late=True),  # the last rank of M
    Tree((ENTER, AWAY), 1.0, 0.0),  # the first rank outside M
    Tree((STAY,), -1.0, 1.0),  # the next that would leave; its key is minus the bound
    Tree((LEAVE,), 1.0, -1.0, late=True),  # the last that leaves
    Tree((ENTER,), -1.0, -1.0, late=True),  # the last that enters; its key is minus the bound
    Tree((AWAY,), 1.0, 1.0),  # the next that would enter
    Tree((LEAVE, ENTER), 0.0, 1.0),  # the widest bounds in the exchange
)


def room(bandits, n):
    """Return what a play's state holds for this search.

    What the exchange gains is ``gained[0] + s * gained[1]``.
    """
    return {"trees": new_tournament(n, TREES), "gained": np.zeros(2)}


@allocates
def setup(s):
    """Set up the trees from the counts."""
    set_up_ranks(s)
    order_exchange(s.trees, s.gained)
    add_up(s.trees, s.gained)


def moved(s, arm):
    """Take over an arm's new line."""
    add(s.trees, s.gained, arm, -1.0)
    move(s, arm)
    add(s.trees, s.gained, arm, 1.0)


def mend(s):
    """Exchange until M are the k best ranks and the exchange is the one that gains most."""
    order_ranks(s.trees, s.gained)
    order_exchange(s.trees, s.gained)


def add(trees, gained, arm, factor):
    """Add (factor 1) or take away (factor -1) an arm's part of the exchange's gain."""
    mean, weight, group = trees.line[arm, MEAN], trees.line[arm, WEIGHT], trees.line[arm, GROUP]
    if group == ENTER or group == LEAVE:
        gained[0] += factor * (mean if group == ENTER else -mean)
        gained[1] += factor * weight


def add_up(trees, gained):
    """Set what is gained anew, free of what rounding has left behind."""
    gained[0], gained[1] = 0.0, 0.0
    for arm in range(trees.line.shape[0]):
        add(trees, gained, arm, 1.0)


def place(trees, gained, arm, group):
    """Move an arm to another group."""
    add(trees, gained, arm, -1.0)
    regroup(trees, arm, group)
    add(trees, gained, arm, 1.0)


def order_ranks(trees, gained):
    """Exchange across M's boundary until every arm of M ranks above every other arm.

    The two arms trade groups, so that as many arms enter as leave.
    """
    last, first = misplaced(trees)
    while last != NOBODY:
        group = trees.line[last, GROUP]
        place(trees, gained, last, trees.line[first, GROUP])
        place(trees, gained, first, group)
        last, first = misplaced(trees)


def order_exchange(trees, gained):
    """Take single steps until none makes the exchange gain more.

    First those that leave have the lowest bounds of M, and those that enter the highest of the
    others; then each pair gains, and no further one would.
    """
    while True:
        stay, leave = best(trees, LOWEST_STAY), best(trees, HIGHEST_LEAVE)
        enter, away = best(trees, LOWEST_ENTER), best(trees, HIGHEST_AWAY)
        low_stay, high_leave = -bound(trees, LOWEST_STAY, stay), bound(trees, HIGHEST_LEAVE, leave)
        low_enter, high_away = -bound(trees, LOWEST_ENTER, enter), bound(trees, HIGHEST_AWAY, away)
        if leave != NOBODY and comes_before(high_leave - low_stay, stay, leave):
            place(trees, gained, stay, LEAVE)
            place(trees, gained, leave, STAY)
        elif enter != NOBODY and comes_before(high_away - low_enter, away, enter):
            place(trees, gained, away, ENTER)
            place(trees, gained, enter, AWAY)
        elif high_away > low_stay:
            place(trees, gained, stay, LEAVE)
            place(trees, gained, away, ENTER)
        elif leave != NOBODY and low_enter <= high_leave:
            place(trees, gained, leave, STAY)
            place(trees, gained, enter, AWAY)
        else:
            return


def bound(trees, tree, arm):
    """Return the key of a tree's winner, minus infinity if it has none."""
    return key(trees, tree, arm) if arm != NOBODY else -np.inf


def comes_before(lead, arm, other):
    """Tell whether an arm that leads by so much comes before another: equal ones in order."""
    return lead > 0 or (lead == 0 and arm < other)


def widest(s):
    """Return the arm of the exchange with the widest bounds, `NOBODY` if none is exchanged."""
    return best(s.trees, WIDEST)


def gain(s, allowed):
    """Return what the exchange gains, exactly where rounding could put it across ``allowed``."""
    if widest(s) == NOBODY:
        return 0.0
    if abs(s.gained[0] + s.trees.s[0] * s.gained[1] - allowed) < NEAR * (1.0 + s.gained[1]):
        add_up(s.trees, s.gained)
    return s.gained[0] + s.trees.s[0] * s.gained[1]


CLUCB_TREES = Search(
    "clucb_trees", new_arrays=room, setup=setup, moved=moved, grow=grow, mend=mend
)
