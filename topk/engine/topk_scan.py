"""The k largest means inside, the others outside, by looking at all arms in plain loops.

Each of four rows holds minus infinity for the arms that take no part.  The last rank inside and
the first outside are known until one of them falls behind; who has the lowest and the highest
bound is looked for in every round, in loops so plain that the compiler looks at several arms
at once.
"""

import numpy as np

from topk.engine.composing import allocates, apart, larger
from topk.engine.indices import line
from topk.engine.loop import NOBODY
from topk.engine.ranking import rank

WIDTH = 32  # rows are filled up to a multiple of this, so that no arm has to be looked at alone
BLOCK = 128  # arms; only blocks with the largest key are looked at a second time


def room(bandits, n):
    """Return what a play's state holds for this search.

    ``-mean`` of the arms inside and ``mean`` of those outside; the same for the bounds' fixed
    parts ``low`` and ``high``; and every arm's weight.
    """
    width = -(-n // WIDTH) * WIDTH
    rows = {name: np.full(width, -np.inf) for name in ("inside", "outside", "low", "high")}
    return rows | {"weight": np.zeros(width)}


@allocates
def setup(s):
    """Fill the rows."""
    for row in (s.inside, s.outside, s.low, s.high):
        row[:] = -np.inf
    ranked = rank(s)
    for place in range(ranked.size):
        enter(s, ranked[place], place < s.k)
    find_boundary(s)
    look(s)


def enter(s, arm, inside):
    """Set an arm's columns."""
    low, high, s.weight[arm] = line(s, arm)
    mean = s.sums[arm] / s.pulls[arm]
    if inside:
        s.low[arm], s.inside[arm] = -low, -mean
    else:
        s.high[arm], s.outside[arm] = high, mean


def clear(s, arm):
    """Empty an arm's columns."""
    s.low[arm], s.inside[arm], s.high[arm], s.outside[arm] = -np.inf, -np.inf, -np.inf, -np.inf


def moved(s, arm):
    """Take over an arm's new line; the last inside and the first outside are known again."""
    last, first = s.now.last, s.now.next
    if s.inside[arm] > -np.inf:
        before = s.inside[arm]
        enter(s, arm, True)
        if arm == last and s.inside[arm] < before:
            s.now.last = top(s.inside, s.weight, 0.0)[1]
        elif s.inside[arm] > s.inside[last] or (s.inside[arm] == s.inside[last] and arm > last):
            s.now.last = arm
    else:
        before = s.outside[arm]
        enter(s, arm, False)
        if arm == first and s.outside[arm] < before:
            s.now.next = top(s.outside, s.weight, 0.0)[0]
        elif s.outside[arm] > s.outside[first] or (
            s.outside[arm] == s.outside[first] and arm < first
        ):
            s.now.next = arm


def mend(s):
    """Exchange until every arm inside ranks above every arm outside, and look."""
    while s.now.next != NOBODY:
        last, first = s.now.last, s.now.next
        lead = -s.inside[last] - s.outside[first]
        if lead > 0 or (lead == 0 and last < first):
            break
        clear(s, last)
        clear(s, first)
        enter(s, last, False)
        enter(s, first, True)
        find_boundary(s)
    look(s)


def find_boundary(s):
    """Find the last rank inside and the first outside."""
    s.now.last = top(s.inside, s.weight, 0.0)[1]
    s.now.next = top(s.outside, s.weight, 0.0)[0]


def look(s):
    """Find the arms with the lowest and the highest bound."""
    s.now.lowest = widest_top(s.low, s.weight, s.now.scale)
    s.now.highest = widest_top(s.high, s.weight, s.now.scale)


@apart
def widest_top(row, weight, q):
    """Return the place of the largest ``row + q * weight``, `NOBODY` if all are minus infinity.

    Of equal keys the larger weight wins, then the first.  The plain form:

        max(members, key=lambda i: (row[i] + q * weight[i], weight[i], -i))
    """
    first, last = top(row, weight, q)
    if first == last:
        return first
    key = row[first] + q * weight[first]
    widest = largest_weight(row[first : last + 1], weight[first : last + 1], q, key)
    while weight[first] != widest or row[first] + q * weight[first] != key:
        first += 1
    return first


@apart
def top(row, weight, q):
    """Return the first and the last place of the largest ``row + q * weight``.

    Both are `NOBODY` if all are minus infinity.
    """
    key, begin, end = -np.inf, 0, 0
    for start in range(0, row.size, BLOCK):
        stop = min(start + BLOCK, row.size)
        here = largest_key(row[start:stop], weight[start:stop], q)
        if here > key:
            key, begin, end = here, start, stop
        elif here == key:
            end = stop
    if key == -np.inf:
        return NOBODY, NOBODY
    first, last = places(row[begin:end], weight[begin:end], q, key)
    return begin + first, begin + last


@apart
def largest_key(row, weight, q):
    """Return the largest ``row + q * weight``."""
    key = -np.inf
    for i in range(row.size):
        key = larger(row[i] + q * weight[i], key)
    return key


@apart
def places(row, weight, q, key):
    """Return the first and the last place where ``row + q * weight`` is ``key``."""
    first, last = row.size, -1
    for i in range(row.size):
        hit = row[i] + q * weight[i] == key
        first = min(first, i if hit else row.size)
        last = max(last, i if hit else -1)
    return first, last


@apart
def largest_weight(row, weight, q, key):
    """Return the largest weight where ``row + q * weight`` is ``key``."""
    widest = -1.0
    for i in range(row.size):
        widest = larger(weight[i] if row[i] + q * weight[i] == key else -1.0, widest)
    return widest


def lowest(s):
    """Return the arm inside with the lowest lower bound."""
    return s.now.lowest


def highest(s):
    """Return the arm outside with the highest upper bound, `NOBODY` if none is outside."""
    return s.now.highest


def kth(s):
    """Return the k-th largest mean."""
    return -s.inside[s.now.last]


def following(s):
    """Return the k+1-th largest mean, minus infinity if there is none."""
    return s.outside[s.now.next] if s.now.next != NOBODY else -np.inf


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
