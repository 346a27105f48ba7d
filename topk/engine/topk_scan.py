"""The k largest means inside, the others outside, by looking at all arms in plain loops.

Each side has rows that hold minus infinity for the arms that are not on it.  The loops are so
plain that the compiler looks at several arms at once, and most looks are not made: the arms at
the boundary matter where the sides may overlap, and who has the lowest or the highest bound
keeps it while its key exceeds what the others' can have become since they were looked at.
"""

import numpy as np

from topk.engine.composing import allocates, apart, larger
from topk.engine.indices import line
from topk.engine.loop import NOBODY
from topk.engine.ranking import rank

WIDTH = 32  # rows are filled up to a multiple of this, so that no arm has to be looked at alone
ROUNDING = 1e-14  # of keys, in units of the larger of one and a bound's width
INSIDE, OUTSIDE = 0, 1  # sides


def room(bandits, n):
    """Return what a play's state holds for this search.

    The higher an arm's ``near``, ``-mean`` inside and ``mean`` outside, the nearer it is to the
    other side; the lower its bound inside, or the higher outside, the larger its key
    ``fixed + s * weight``.
    """
    width = -(-n // WIDTH) * WIDTH
    return {
        "near": np.full((2, width), -np.inf),
        "fixed": np.full((2, width), -np.inf),
        "weight": np.zeros(width),
        "heaviest": np.zeros(1),  # no arm has a larger weight
        "arms": np.arange(width, dtype=np.float64),
        "edge": np.full(2, np.inf),  # what no ``near`` of a side exceeds ...
        "at_edge": np.full(2, NOBODY),  # ... and the arm whose it was
        "winner": np.full(2, NOBODY),  # who has the largest key of a side
        "others": np.full(2, np.inf),  # what no other key of it exceeded ...
        "since": np.zeros(2),  # ... at this s
    }


@allocates
def setup(s):
    """Fill the rows."""
    s.near[:], s.fixed[:], s.edge[:] = -np.inf, -np.inf, -np.inf
    s.heaviest[0] = 0.0
    ranked = rank(s)
    for place in range(ranked.size):
        enter(s, ranked[place], INSIDE if place < s.k else OUTSIDE)
    s.others[:] = np.inf
    look(s)


def enter(s, arm, side):
    """Set an arm's columns, and take note of how far they may reach."""
    low, high, weight = line(s, arm)
    mean = s.sums[arm] / s.pulls[arm]
    near, fixed = (-mean, -low) if side == INSIDE else (mean, high)
    s.near[side, arm], s.fixed[side, arm], s.weight[arm] = near, fixed, weight
    s.heaviest[0] = max(s.heaviest[0], weight)
    if near >= s.edge[side]:
        s.edge[side], s.at_edge[side] = near, arm
    if arm != s.winner[side]:
        s.others[side] = max(s.others[side], fixed + s.since[side] * weight)


def moved(s, arm):
    """Take over an arm's new line."""
    enter(s, arm, INSIDE if inside(s, arm) else OUTSIDE)


def mend(s):
    """Exchange until every arm inside ranks above every arm outside, and look."""
    while s.edge[INSIDE] + s.edge[OUTSIDE] >= 0:  # else nobody is misplaced
        last, first = top(s.near[INSIDE], s.arms, 1.0), top(s.near[OUTSIDE], s.arms, -1.0)
        lead = kth(s) - following(s)
        if lead > 0 or (lead == 0 and last < first):
            break
        for side in (INSIDE, OUTSIDE):
            arm = last if side == INSIDE else first
            s.near[side, arm], s.fixed[side, arm] = -np.inf, -np.inf
            enter(s, arm, 1 - side)
    look(s)


def look(s):
    """Find the arms with the lowest and the highest bound, if they may be others than before."""
    q = s.now.scale
    for side in (INSIDE, OUTSIDE):
        arm, most = s.winner[side], s.others[side] + (q - s.since[side]) * s.heaviest[0]
        if s.fixed[side, arm] + q * s.weight[arm] <= most + ROUNDING * (1 + q * s.heaviest[0]):
            arm = widest(s.fixed[side], s.weight, s.arms, q)
            fixed, s.fixed[side, arm] = s.fixed[side, arm], -np.inf  # to look at the others alone
            s.others[side], s.since[side] = largest_key(s.fixed[side], s.weight, q), q
            s.fixed[side, arm], s.winner[side] = fixed, arm


def edge(s, side):
    """Return the largest ``near`` of a side."""
    if s.near[side, s.at_edge[side]] != s.edge[side]:
        s.at_edge[side] = top(s.near[side], s.arms, 1.0)
        s.edge[side] = s.near[side, s.at_edge[side]]
    return s.edge[side]


@apart
def widest(row, weight, arms, q):
    """Return the arm with the largest ``row + q * weight``, `NOBODY` if none is finite.

    Of equal keys the larger weight wins, then the first.  ``arms`` is 0, 1, 2, ...  The plain form:

        max(members, key=lambda i: (row[i] + q * weight[i], weight[i], -i))
    """
    key = largest_key(row, weight, q)
    if key == -np.inf:
        return NOBODY
    most, least, arm = -np.inf, -np.inf, -np.inf
    for i in range(row.size):
        hit = row[i] + q * weight[i] == key
        most = larger(weight[i] if hit else -np.inf, most)
        least = larger(-weight[i] if hit else -np.inf, least)
        arm = larger(-arms[i] if hit else -np.inf, arm)
    if most > -least:
        arm = -np.inf
        for i in range(row.size):
            hit = row[i] + q * weight[i] == key and weight[i] == most
            arm = larger(-arms[i] if hit else -np.inf, arm)
    return int(-arm)


@apart
def top(row, arms, sign):
    """Return the arm with the largest entry, `NOBODY` if none is finite; of equals the first.

    ``arms`` is 0, 1, 2, ...; if ``sign`` is 1 and not -1, it is the last of equals.
    """
    key, arm = -np.inf, -np.inf
    for i in range(row.size):
        key = larger(row[i], key)
    if key == -np.inf:
        return NOBODY
    for i in range(row.size):
        arm = larger(sign * arms[i] if row[i] == key else -np.inf, arm)
    return int(sign * arm)


@apart
def largest_key(row, weight, q):
    """Return the largest ``row + q * weight``."""
    key = -np.inf
    for i in range(row.size):
        key = larger(row[i] + q * weight[i], key)
    return key


def inside(s, arm):
    """Tell whether an arm is one of the k largest means."""
    return s.near[INSIDE, arm] > -np.inf


def lowest(s):
    """Return the arm inside with the lowest lower bound."""
    return s.winner[INSIDE]


def highest(s):
    """Return the arm outside with the highest upper bound, `NOBODY` if none is outside."""
    return s.winner[OUTSIDE]


def kth(s):
    """Return the k-th largest mean."""
    return -edge(s, INSIDE)


def following(s):
    """Return the k+1-th largest mean, minus infinity if there is none."""
    return edge(s, OUTSIDE)


def lower(s, arm):
    """Return an arm's lower bound; it is inside."""
    return -(s.fixed[INSIDE, arm] + s.now.scale * s.weight[arm])


def upper(s, arm):
    """Return an arm's upper bound, minus infinity for `NOBODY`; it is outside."""
    return s.fixed[OUTSIDE, arm] + s.now.scale * s.weight[arm] if arm != NOBODY else -np.inf
