"""The searches of the k largest means and of CLUCB for plain Python: NumPy looks at all arms.

Compiled code uses the scans and tournaments of the other files, which make the same decisions:
means, and keys of the form ``fixed + q * weight``, are compared exactly, ties as described there.
An arm's key is minus its lower bound inside and its upper bound outside.
"""

import numpy as np

from topk.rules import indices
from topk.rules.base import NO_ARM
from topk.rules.indices import INSIDE, OUTSIDE, bound, line
from topk.rules.marks import Functions
from topk.rules.ranking import precedes, rank
from topk.rules.search import clucb_trees
from topk.rules.search.clucb_trees import CLUCB_TREES
from topk.rules.search.interface import Search
from topk.rules.search.top_k_scan import TOP_K_SCAN, inside
from topk.rules.search.top_k_trees import TOP_K_TREES
from topk.rules.search.ugape_scan import UGAPE_SCAN
from topk.rules.search.ugape_trees import UGAPE_TREES


def new_arrays(bandits, n):
    """Return the arrays that the search adds to the state of a run.

    Each side has a row of ``near``, minus the mean inside and the mean outside, and of ``fixed``,
    with minus infinity for the arms of the other side.
    """
    return {
        "near": np.full((2, n), -np.inf),
        "fixed": np.full((2, n), -np.inf),
        "weight": np.zeros(n),
        "winner": np.full(2, NO_ARM),  # the arm with the largest key of each side
    }


def enter(s, arm, side):
    """Set an arm's numbers on a side."""
    end, s.weight[arm] = bound(s, arm, side)
    mean = s.sums[arm] / s.pulls[arm]
    s.near[side, arm], s.fixed[side, arm] = (-mean, -end) if side == INSIDE else (mean, end)


def enter_all(s, arms, side):
    """Set the numbers of some arms on a side."""
    if getattr(type(s), line.attribute) is not getattr(Functions, line.attribute):
        for arm in arms:
            enter(s, arm, side)
        return
    means = s.sums[arms] / s.pulls[arms]
    s.weight[arms] = 1 / np.sqrt(s.pulls[arms])
    s.near[side, arms] = s.fixed[side, arms] = -means if side == INSIDE else means


def set_up_sides(s):
    """Fill the rows from the counts."""
    s.near[:], s.fixed[:] = -np.inf, -np.inf
    ranked = rank(s)
    enter_all(s, ranked[: s.k], INSIDE)
    enter_all(s, ranked[s.k :], OUTSIDE)


def arm_pulled(s, arm):
    """Process the new bounds of an arm."""
    enter(s, arm, INSIDE if s.near[INSIDE, arm] > -np.inf else OUTSIDE)


def move_arms(s):
    """Exchange across the boundary until every arm inside ranks above every arm outside."""
    while True:
        last = s.n - 1 - s.near[INSIDE, ::-1].argmax()
        first = s.near[OUTSIDE].argmax()
        if precedes(-s.near[INSIDE, last] - s.near[OUTSIDE, first], last, first, 0.0):
            return
        for side, arm in ((INSIDE, last), (OUTSIDE, first)):
            s.near[side, arm] = s.fixed[side, arm] = -np.inf
            enter(s, arm, 1 - side)


def setup(s):
    """Fill the rows, and find the winners."""
    set_up_sides(s)
    look(s)


def restore_partition(s):
    """Move the arms that are on the wrong side, and find the winners."""
    move_arms(s)
    look(s)


def look(s):
    """Find the winner of each side; ties go to the larger weight, then to the smaller arm."""
    keys = s.fixed + s.now.scale * s.weight
    for side, arm in enumerate(keys.argmax(axis=1)):
        tied = (keys[side] == keys[side, arm]).nonzero()[0]
        if keys[side, arm] == -np.inf:
            arm = NO_ARM
        elif tied.size > 1:
            arm = tied[s.weight[tied].argmax()]
        s.winner[side] = arm


def lowest(s):
    """Return the arm inside with the lowest lower bound."""
    return s.winner[INSIDE]


def highest(s):
    """Return the arm outside with the highest upper bound, `NO_ARM` if none is outside."""
    return s.winner[OUTSIDE]


def lower(s, arm):
    """Return the lower bound of an arm inside."""
    return -(s.fixed[INSIDE, arm] + s.now.scale * s.weight[arm])


def upper(s, arm):
    """Return the upper bound of an arm outside, minus infinity for `NO_ARM`."""
    return s.fixed[OUTSIDE, arm] + s.now.scale * s.weight[arm] if arm != NO_ARM else -np.inf


def exchanged(s):
    """Return the arms that leave and those that enter; see `topk.rules.search.clucb_trees`."""
    keys = s.fixed + s.now.scale * s.weight
    found = []
    for side in (INSIDE, OUTSIDE):
        arms = (keys[side] > -keys[1 - side].max()).nonzero()[0]
        found.append(arms[np.lexsort((-s.weight[arms], -keys[side, arms]))])
    size = min(found[INSIDE].size, found[OUTSIDE].size)
    leave, enter = found[INSIDE][:size], found[OUTSIDE][:size]
    gains = keys[OUTSIDE, enter] > -keys[INSIDE, leave]
    return leave[gains], enter[gains]


def set_up_exchange(s):
    """Fill the rows, and find the exchange."""
    set_up_sides(s)
    restore_exchange(s)


def restore_exchange(s):
    """Move the arms that are on the wrong side, and mark the arms of the exchange."""
    move_arms(s)
    s.exchange[:] = False
    for arms in exchanged(s):
        s.exchange[arms] = True


def widest(s):
    """Return the arm of the exchange with the widest bounds, `NO_ARM` if the exchange is empty."""
    arms = s.exchange.nonzero()[0]
    return arms[s.weight[arms].argmax()] if arms.size else NO_ARM


def gain(s, allowed):
    """Return the gain of the exchange, added up in the order of the arms."""
    arms = s.exchange.nonzero()[0]
    if arms.size == 0:
        return 0.0
    means = s.near[:, arms].max(axis=0)  # minus the means of those that leave
    return means.cumsum()[-1] + s.now.scale * s.weight[arms].cumsum()[-1]


def kth(s):
    """Return the k-th largest mean."""
    return -s.near[INSIDE].max()


def following(s):
    """Return the (k+1)-th largest mean, minus infinity if there is none."""
    return s.near[OUTSIDE].max()


TOP_K_ARRAYS = Search(
    "top_k_arrays",
    new_arrays=new_arrays,
    setup=setup,
    arm_pulled=arm_pulled,
    restore_partition=restore_partition,
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
CLUCB_ARRAYS = Search(
    "clucb_arrays",
    new_arrays=lambda bandits, n: new_arrays(bandits, n) | {"exchange": np.zeros(n, np.bool_)},
    setup=set_up_exchange,
    arm_pulled=arm_pulled,
    restore_partition=restore_exchange,
    words={clucb_trees.widest: widest, clucb_trees.gain: gain},
)
# the search of plain Python, by the search of compiled code; others are used as they are
PLAIN = {
    TOP_K_SCAN: TOP_K_ARRAYS,
    TOP_K_TREES: TOP_K_ARRAYS,
    CLUCB_TREES: CLUCB_ARRAYS,
    UGAPE_TREES: UGAPE_SCAN,
}
