"""The k largest means inside, the others outside, by looking at all arms in plain loops.

Each of four rows holds minus infinity for the arms that take no part.  Floats are compared as
the whole numbers with the same bits, put in order: so the compiler may look at several arms at
once without being allowed to change any float's value.
"""

import numpy as np

from topk.engine.indices import line
from topk.engine.loop import NOBODY
from topk.engine.ranking import rank

MAGNITUDE = np.int64(0x7FFFFFFFFFFFFFFF)
LEAST = np.int64(-0x7FFFFFFFFFFFFFFF)
WIDTH = 32  # rows are filled up to a multiple of this, so that no arm is looked at alone


def room(bandits, n):
    """Return what a play's state holds for this search.

    ``-mean`` of the arms inside and ``mean`` of those outside; the same for the bounds' fixed
    parts ``low`` and ``high``; and every arm's weight.
    """
    width = -(-n // WIDTH) * WIDTH
    rows = {name: np.full(width, -np.inf) for name in ("inside", "outside", "low", "high")}
    return rows | {"weight": np.zeros(width)}


def setup(s):
    """Fill the rows."""
    for row in (s.inside, s.outside, s.low, s.high):
        row[:] = -np.inf
    ranked = rank(s)
    for place in range(ranked.size):
        enter(s, ranked[place], place < s.k)
    look(s)


def enter(s, arm, inside):
    """Set an arm's columns."""
    low, high, s.weight[arm] = line(s, arm)
    mean = s.sums[arm] / s.pulls[arm]
    if inside:
        s.low[arm], s.inside[arm] = -low, -mean
    else:
        s.high[arm], s.outside[arm] = high, mean


def forget(s, arm):
    """Empty an arm's columns."""
    s.low[arm], s.inside[arm], s.high[arm], s.outside[arm] = -np.inf, -np.inf, -np.inf, -np.inf


def grow(s, scale):
    """Nothing to do: every look is a new one."""


def moved(s, arm):
    """Take over an arm's new line."""
    enter(s, arm, s.inside[arm] > -np.inf)


def mend(s):
    """Look, and exchange until every arm inside ranks above every arm outside."""
    look(s)
    while s.now.kth <= s.now.following:
        last, first = last_of(s.inside), first_of(s.outside)
        if s.now.kth == s.now.following and last < first:
            break
        forget(s, last)
        forget(s, first)
        enter(s, last, False)
        enter(s, first, True)
        look(s)


def leave(s, arm):
    """Take an arm out; if it was inside, the first arm outside takes its place."""
    heir = first_of(s.outside)
    inside = s.inside[arm] > -np.inf
    forget(s, arm)
    if inside and heir != NOBODY:
        forget(s, heir)
        enter(s, heir, True)
    look(s)


def ordered(x):
    """Return a float's bits as a whole number that is ordered as floats are."""
    bits = np.float64(x + 0.0).view(np.int64)
    return bits ^ ((bits >> 63) & MAGNITUDE)


def unordered(bits):
    """Return the float that `ordered` has made a whole number of."""
    return np.int64(bits ^ ((bits >> 63) & MAGNITUDE)).view(np.float64)


def look(s):
    """Find the largest key of each row, and who has those of the bounds."""
    low, high, inside, outside, weight = s.low, s.high, s.inside, s.outside, s.weight
    q, a, b, c, d = s.now.scale, LEAST, LEAST, LEAST, LEAST
    for i in range(weight.size):
        radius = q * weight[i]
        key = ordered(low[i] + radius)
        a = key if key > a else a
        key = ordered(high[i] + radius)
        b = key if key > b else b
        key = ordered(inside[i])
        c = key if key > c else c
        key = ordered(outside[i])
        d = key if key > d else d
    s.now.kth, s.now.following = -unordered(c), unordered(d)
    find(s, unordered(a), unordered(b))


def find(s, lowest, highest):
    """Find who has the keys; of several the arm with the larger weight, then the first."""
    low, high, weight, q = s.low, s.high, s.weight, s.now.scale
    low_hits, low_at, high_hits, high_at = 0, 0, 0, 0
    for i in range(weight.size):
        radius = q * weight[i]
        hit = low[i] + radius == lowest
        low_hits += hit
        low_at += i if hit else 0
        hit = high[i] + radius == highest
        high_hits += hit
        high_at += i if hit else 0
    s.now.lowest = low_at if low_hits == 1 else first_tie(low, weight, q, lowest)
    s.now.highest = high_at if high_hits == 1 else first_tie(high, weight, q, highest)


def first_tie(row, weight, q, top):
    """Return the first of the widest arms whose key is ``top``."""
    if top == -np.inf:
        return NOBODY
    widest, place = -1.0, NOBODY
    for i in range(row.size):
        if row[i] + q * weight[i] == top and weight[i] > widest:
            widest, place = weight[i], i
    return place


def first_of(row):
    """Return the first place of the largest number, `NOBODY` if there is none."""
    top, place = -np.inf, NOBODY
    for i in range(row.size):
        if row[i] > top:
            top, place = row[i], i
    return place


def last_of(row):
    """Return the last place of the largest number, `NOBODY` if there is none."""
    top, place = -np.inf, NOBODY
    for i in range(row.size):
        if row[i] >= top and row[i] > -np.inf:
            top, place = row[i], i
    return place


def lowest(s):
    """Return the arm inside with the lowest lower bound."""
    return s.now.lowest


def highest(s):
    """Return the arm outside with the highest upper bound, `NOBODY` if none is outside."""
    return s.now.highest


def kth(s):
    """Return the k-th largest mean."""
    return s.now.kth


def following(s):
    """Return the k+1-th largest mean, minus infinity if there is none."""
    return s.now.following


def mean_and_weight(s, arm):
    """Return an arm's mean and weight."""
    mean = -s.inside[arm] if s.inside[arm] > -np.inf else s.outside[arm]
    return mean, s.weight[arm]


def lower(s, arm):
    """Return an arm's lower bound; it is inside."""
    return -(s.low[arm] + s.now.scale * s.weight[arm])


def upper(s, arm):
    """Return an arm's upper bound, minus infinity for `NOBODY`; it is outside."""
    return s.high[arm] + s.now.scale * s.weight[arm] if arm != NOBODY else -np.inf
