"""The search of CLUCB: the k largest means, and the arms that the bounds would exchange.

Let M be the set of the k best-ranked arms.  Give every arm of M its lower bound
``mean - s * weight`` and every other arm its upper bound ``mean + s * weight``, where s is the
scale of all radii.  The set of the k largest of these values differs from M by an exchange: the
arms of M with the lowest lower bounds leave, and as many others with the highest upper bounds
enter, as long as each pair gains.  The plain form sorts the upper bounds outside M decreasingly,
a_1 >= a_2 >= ..., and the lower bounds of M increasingly, b_1 <= b_2 <= ...: the exchange consists
of the pairs with a_j > b_j, and its gain is the sum of their differences.  It is updated in single
steps, each of which compares the winners of two tournaments.  Of equal bounds the wider ones come
first, then those of the lower number.
"""

import numpy as np

from topk.rules import indices
from topk.rules.base import NO_ARM
from topk.rules.marks import replaceable
from topk.rules.ranking import precedes
from topk.rules.search.interface import Search
from topk.rules.search.top_k_trees import INSIDE, OUTSIDE, misplaced
from topk.rules.search.top_k_trees import setup as set_up_ranks
from topk.rules.search.tournament import (
    GROUP,
    MEAN,
    WEIGHT,
    Tree,
    best,
    key,
    new_tournament,
    regroup,
    scale_grew,
)
from topk.rules.search.tournament import arm_pulled as move

NEAR = 1e-9  # relative distance from the allowed gain below which the gain is recomputed

# groups: the rest of M, the rest of the others, and the two parts of the exchange
STAY, AWAY, LEAVE, ENTER = INSIDE, OUTSIDE, 2, 3
LOWEST_STAY, HIGHEST_LEAVE, LOWEST_ENTER, HIGHEST_AWAY, WIDEST = range(2, 7)  # trees
TREES = (
    Tree((STAY, LEAVE), -1.0, 0.0, late=True),  # the last rank of M
    Tree((ENTER, AWAY), 1.0, 0.0),  # the first rank outside M
    Tree((STAY,), -1.0, 1.0),  # the next arm to leave; its key is minus the bound
    Tree((LEAVE,), 1.0, -1.0, late=True),  # the last arm that leaves
    Tree((ENTER,), -1.0, -1.0, late=True),  # the last arm that enters; its key is minus the bound
    Tree((AWAY,), 1.0, 1.0),  # the next arm to enter
    Tree((LEAVE, ENTER), 0.0, 1.0),  # the widest bounds in the exchange
)


def new_arrays(bandits, n):
    """Return the arrays that the search adds to the state of a run.

    The gain of the exchange is ``gained[0] + s * gained[1]``.
    """
    return {"trees": new_tournament(n, TREES), "gained": np.zeros(2)}


def setup(s):
    """Set up the trees from the counts."""
    set_up_ranks(s)
    indices.restore_partition(s)
    add_up(s.trees, s.gained)


def arm_pulled(s, arm):
    """Process the new bounds of an arm."""
    add(s.trees, s.gained, arm, -1.0)
    move(s, arm)
    add(s.trees, s.gained, arm, 1.0)


def restore_partition(s):
    """Move arms until M has the k best ranks and the exchange has the largest gain."""
    order_ranks(s.trees, s.gained)
    order_exchange(s.trees, s.gained)


def add(trees, gained, arm, factor):
    """Add (factor 1) or subtract (factor -1) an arm's part of the exchange's gain."""
    mean, weight, group = trees.line[arm, MEAN], trees.line[arm, WEIGHT], trees.line[arm, GROUP]
    if group == ENTER or group == LEAVE:
        gained[0] += factor * (mean if group == ENTER else -mean)
        gained[1] += factor * weight


def add_up(trees, gained):
    """Recompute the gain, without the rounding errors of its updates."""
    gained[0], gained[1] = 0.0, 0.0
    for arm in range(trees.line.shape[0]):
        add(trees, gained, arm, 1.0)


def place(trees, gained, arm, group):
    """Move an arm to another group, and update the gain."""
    add(trees, gained, arm, -1.0)
    regroup(trees, arm, group)
    add(trees, gained, arm, 1.0)


def order_ranks(trees, gained):
    """Exchange across M's boundary until every arm of M ranks above every other arm.

    The two arms swap groups, so that as many arms enter as leave.
    """
    last, first = misplaced(trees)
    while last != NO_ARM:
        group = trees.line[last, GROUP]
        place(trees, gained, last, trees.line[first, GROUP])
        place(trees, gained, first, group)
        last, first = misplaced(trees)


def order_exchange(trees, gained):
    """Take single steps until none increases the gain of the exchange.

    The first of these steps that applies is taken:

    - an arm that stays in M has a smaller lower bound than one that leaves: swap the two;
    - an arm that stays outside has a larger upper bound than one that enters: swap the two;
    - one more pair gains: add it to the exchange;
    - the last pair does not gain: remove it from the exchange.
    """
    while True:
        stay, leave = best(trees, LOWEST_STAY), best(trees, HIGHEST_LEAVE)
        enter, away = best(trees, LOWEST_ENTER), best(trees, HIGHEST_AWAY)
        low_stay, high_leave = -bound(trees, LOWEST_STAY, stay), bound(trees, HIGHEST_LEAVE, leave)
        low_enter, high_away = -bound(trees, LOWEST_ENTER, enter), bound(trees, HIGHEST_AWAY, away)
        if leave != NO_ARM and comes_first(trees, high_leave - low_stay, stay, leave):
            place(trees, gained, stay, LEAVE)
            place(trees, gained, leave, STAY)
        elif enter != NO_ARM and comes_first(trees, high_away - low_enter, away, enter):
            place(trees, gained, away, ENTER)
            place(trees, gained, enter, AWAY)
        elif high_away > low_stay:
            place(trees, gained, stay, LEAVE)
            place(trees, gained, away, ENTER)
        elif leave != NO_ARM and low_enter <= high_leave:
            place(trees, gained, leave, STAY)
            place(trees, gained, enter, AWAY)
        else:
            return


def comes_first(trees, lead, arm, other):
    """Return whether an arm whose bound leads that of another by ``lead`` is exchanged first."""
    if lead != 0.0:
        return lead > 0.0
    if arm == NO_ARM:
        return False
    return precedes(trees.line[arm, WEIGHT] - trees.line[other, WEIGHT], arm, other, 0.0)


def bound(trees, tree, arm):
    """Return the key of ``arm``, a tree's winner; minus infinity if the tree has none."""
    return key(trees, tree, arm) if arm != NO_ARM else -np.inf


@replaceable
def widest(s):
    """Return the arm of the exchange with the widest bounds, `NO_ARM` if the exchange is empty."""
    return best(s.trees, WIDEST)


@replaceable
def gain(s, allowed):
    """Return the gain of the exchange, recomputed if it is close to ``allowed``."""
    if widest(s) == NO_ARM:
        return 0.0
    if abs(s.gained[0] + s.trees.s[0] * s.gained[1] - allowed) < NEAR * (1.0 + s.gained[1]):
        add_up(s.trees, s.gained)
    return s.gained[0] + s.trees.s[0] * s.gained[1]


CLUCB_TREES = Search(
    "clucb_trees",
    new_arrays=new_arrays,
    setup=setup,
    arm_pulled=arm_pulled,
    scale_grew=scale_grew,
    restore_partition=restore_partition,
)
