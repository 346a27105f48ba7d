"""The k largest means inside, the others outside, by looking at all arms in plain loops.

Each of four rows holds minus infinity for the arms that take no part.  The last rank inside and
the first outside are known until one of them falls behind; who has the lowest and the highest
bound is looked for in every round, in loops so plain that the compiler looks at several arms
at once.

Of many arms a look at all of them also lists those at the top.  The next looks are at the list
alone, as long as its best key exceeds what the other arms have at a later s, up to which the
list is good: their keys grow with s, and rounding is monotone, so that this is exact.
"""

import numpy as np

from topk.engine.composing import allocates, apart, larger
from topk.engine.indices import line
from topk.engine.loop import NOBODY
from topk.engine.ranking import rank

WIDTH = 32  # rows are filled up to a multiple of this, so that no arm has to be looked at alone
FEW = 128  # arms; of so many no list is made
PART = 16  # arms; listed is who reaches the mean of the parts' largest keys, ...
ENOUGH = 0.6  # ... if more than that share of the parts is not empty
LONGER = 96  # arms; so many join a list before it is made anew
LEAST = -1e300  # below the key of every arm that takes part
AHEAD = 96  # rounds for which a list is meant to be good
SMALL = 8  # arms inside; so few are looked at one by one
ROUNDING = 1e-14  # of keys, in units of the larger of one and a bound's width
LOW, HIGH = 0, 1  # the two lists: of arms inside, of arms outside


def room(bandits, n):
    """Return what a play's state holds for this search.

    ``-mean`` of the arms inside and ``mean`` of those outside; the same for the bounds' fixed
    parts ``low`` and ``high``; and every arm's weight.
    """
    width = -(-n // WIDTH) * WIDTH
    rows = {name: np.full(width, -np.inf) for name in ("inside", "outside", "low", "high")}
    width_of_lists = 0 if n <= FEW else width
    return rows | {
        "weight": np.zeros(width),
        "arms": np.arange(width, dtype=np.float64),
        "listed": np.zeros((2, width_of_lists)),
        "list_key": np.full((2, width_of_lists), -np.inf),
        "list_weight": np.zeros((2, width_of_lists)),
        "place": np.full((2, width_of_lists), NOBODY),  # of every arm in a list
        "list_size": np.zeros(2, dtype=np.int64),
        "longest": np.zeros(2),  # arms in a list; one more, and a new one is made
        "list_until": np.full(2, -np.inf),  # the s up to which a list is good
        "others": np.zeros(2),  # what the keys of arms not listed do not exceed until then
        "growth": np.zeros(1),  # of s in the last round
        "looked_at": np.full(2, np.nan),  # the s at which a side's winner was known, if it is still
        "held": np.full(2, np.inf),  # what the others' keys did not exceed ...
        "held_at": np.zeros(2),  # ... at this s
        "heaviest": np.zeros(1),  # no arm has a larger weight
        "insiders": np.full(SMALL, NOBODY),  # the arms inside, if they are no more than that
        "edge": np.full(2, np.inf),  # what no arm exceeds: of -mean inside, and of mean outside
    }


@allocates
def setup(s):
    """Fill the rows."""
    for row in (s.inside, s.outside, s.low, s.high):
        row[:] = -np.inf
    s.heaviest[0] = 0.0
    ranked = rank(s)
    for place in range(ranked.size):
        enter(s, ranked[place], place < s.k)
        if place < s.k <= SMALL:
            s.insiders[place] = ranked[place]
    forget_boundary(s)
    forget_lists(s)
    s.held[:], s.looked_at[:] = np.inf, np.nan
    look(s)


def enter(s, arm, within):
    """Set an arm's columns."""
    low, high, weight = line(s, arm)
    s.weight[arm], s.heaviest[0] = weight, max(s.heaviest[0], weight)
    mean = s.sums[arm] / s.pulls[arm]
    if within:
        s.low[arm], s.inside[arm] = -low, -mean
        hold(s, LOW, arm == s.now.lowest, -low, weight)
    else:
        s.high[arm], s.outside[arm] = high, mean
        hold(s, HIGH, arm == s.now.highest, high, weight)


def hold(s, side, wins, key, weight):
    """Take note of an arm's new line: by it the winner is known or others may exceed it."""
    s.looked_at[side] = np.nan
    if not wins:
        s.held[side] = max(s.held[side], key + s.held_at[side] * weight)


def clear(s, arm):
    """Empty an arm's columns."""
    s.low[arm], s.inside[arm], s.high[arm], s.outside[arm] = -np.inf, -np.inf, -np.inf, -np.inf
    s.looked_at[:] = np.nan


def grow(s, scale):
    """Remember by how much s grows."""
    s.growth[0] = scale - s.now.scale


def moved(s, arm):
    """Take over an arm's new line; who is at the boundary may no longer be known."""
    within = inside(s, arm)
    enter(s, arm, within)
    relist(s, arm)
    if within:
        s.now.last, s.edge[LOW] = at_edge(s.inside, arm, s.now.last, s.edge[LOW], arm > s.now.last)
    else:
        s.now.next, s.edge[HIGH] = at_edge(
            s.outside, arm, s.now.next, s.edge[HIGH], arm < s.now.next
        )


def at_edge(row, arm, known, edge, first):
    """Return who has a row's largest entry, `NOBODY` if that is not known, and what none exceeds.

    They were ``known`` and ``edge`` before the entry of ``arm`` changed; of two equal entries it is
    that of ``arm`` if it comes ``first``.
    """
    if row[arm] > edge or (row[arm] == edge and known != NOBODY and first):
        return arm, row[arm]
    return known if arm != known or row[arm] == edge else NOBODY, edge


def mend(s):
    """Exchange until every arm inside ranks above every arm outside, and look."""
    while s.edge[LOW] + s.edge[HIGH] >= 0:  # or whoever is at the boundary, nobody is misplaced
        find_boundary(s)
        last, first = s.now.last, s.now.next
        lead = -s.edge[LOW] - s.edge[HIGH]
        if lead > 0 or (lead == 0 and last < first):
            break
        clear(s, last)
        clear(s, first)
        enter(s, last, False)
        enter(s, first, True)
        for j in range(s.k if s.k <= SMALL else 0):
            s.insiders[j] = first if s.insiders[j] == last else s.insiders[j]
        relist(s, last)
        relist(s, first)
        forget_boundary(s)
    look(s)


def forget_boundary(s):
    """Have the arms at the boundary found when they are asked for."""
    s.now.last, s.now.next, s.edge[:] = NOBODY, NOBODY, np.inf


def find_boundary(s):
    """Find the last rank inside and the first outside, if there is any, unless they are known."""
    if s.now.last == NOBODY:
        s.now.last = top(s.inside, s.arms, 1.0)
        s.edge[LOW] = s.inside[s.now.last]
    if s.now.next == NOBODY:
        s.now.next = top(s.outside, s.arms, -1.0)
        s.edge[HIGH] = s.outside[s.now.next] if s.now.next != NOBODY else -np.inf


def look(s):
    """Find the arms with the lowest and the highest bound."""
    if not known(s, LOW, s.now.lowest, s.low):
        s.now.lowest = look_at(s, LOW, s.low)
        note(s, LOW, s.now.lowest, s.low)
    if not known(s, HIGH, s.now.highest, s.high):
        s.now.highest = look_at(s, HIGH, s.high)
        note(s, HIGH, s.now.highest, s.high)


def known(s, side, arm, row):
    """Tell whether ``arm``, found in the last look, still has the largest key of its side.

    So it is if nothing has changed, or if its key exceeds what the others' keys did not exceed
    then, by more than any of them can have grown since, and rounding.
    """
    q = s.now.scale
    if s.looked_at[side] == q:
        return True
    most = s.held[side] + (q - s.held_at[side]) * s.heaviest[0]
    if row[arm] + q * s.weight[arm] > most + ROUNDING * (1 + q * s.heaviest[0]):
        s.looked_at[side] = q
        return True
    return False


def note(s, side, arm, row):
    """Take note of what a look has found."""
    q = s.now.scale
    s.looked_at[side], s.held_at[side] = q, q
    s.held[side] = row[arm] + q * s.weight[arm] if arm != NOBODY else np.inf


def look_at(s, side, row):
    """Return the arm with the largest key on one side."""
    if side == LOW and s.k <= SMALL:
        return lowest_of_few(s)
    if s.place.size > 0:
        return top_listed(s, side, row)
    return widest(row, s.weight, s.arms, s.now.scale, -np.inf)


def lowest_of_few(s):
    """Return the arm inside that `widest` finds."""
    winner, best = s.insiders[0], -np.inf
    for j in range(s.k):
        arm = s.insiders[j]
        key, lead = s.low[arm] + s.now.scale * s.weight[arm], s.weight[arm] - s.weight[winner]
        if key > best or (key == best and (lead > 0 or (lead == 0 and arm < winner))):
            winner, best = arm, key
    return winner


def forget_lists(s):
    """Have the next look made at all arms."""
    s.list_until[:] = -np.inf


def relist(s, arm):
    """Take an arm's new columns over into the lists in which it is or should be."""
    if s.place.size == 0:
        return
    relist_side(s, LOW, arm, s.low[arm])
    relist_side(s, HIGH, arm, s.high[arm])


def relist_side(s, side, arm, key):
    """Do so on one side, where the arm has the fixed part ``key``."""
    place = s.place[side, arm]
    if place == NOBODY:
        if key + s.list_until[side] * s.weight[arm] <= s.others[side]:
            return
        place = s.list_size[side]
        s.list_size[side] += 1
        if place >= s.longest[side]:
            s.list_until[side] = -np.inf
        s.place[side, arm], s.listed[side, place] = place, arm
    s.list_key[side, place], s.list_weight[side, place] = key, s.weight[arm]


def top_listed(s, side, row):
    """Return the arm that `widest` finds among all, from a list that is good or a new one."""
    q = s.now.scale
    if q <= s.list_until[side]:
        arm = first_listed(s, side, s.others[side])
        if arm != NOBODY:
            return arm
    until = q + AHEAD * s.growth[0]
    s.list_size[side], s.others[side] = fill_list(
        row, s.weight, q, until, s.listed[side], s.list_key[side], s.list_weight[side],
        s.place[side], s.list_size[side],
    )  # fmt: skip
    s.list_until[side], s.longest[side] = until, s.list_size[side] + LONGER
    return first_listed(s, side, -np.inf)


def first_listed(s, side, others):
    """Return the winner of a list, `NOBODY` if its key does not exceed ``others``."""
    size = -(-s.list_size[side] // WIDTH) * WIDTH
    keys, weight, listed = s.list_key[side], s.list_weight[side], s.listed[side]
    return widest(keys[:size], weight[:size], listed[:size], s.now.scale, others)


@apart
def widest(row, weight, arms, q, others):
    """Return who of ``arms`` has the largest ``row + q * weight``, `NOBODY` if none exceeds others.

    Of equal keys the larger weight wins, then the smaller arm.  The plain form:

        max(members, key=lambda i: (row[i] + q * weight[i], weight[i], -arms[i]))
    """
    key = largest_key(row, weight, q)
    if key <= others:
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
def fill_list(row, weight, q, until, listed, keys, weights, place, size):
    """List the arms at the top; return how many, and the largest key of the others at ``until``.

    The list has ``size`` arms before.
    """
    for j in range(size):
        place[int(listed[j])], keys[j] = NOBODY, -np.inf
    best, total, parts, size = -np.inf, 0.0, 0, 0
    for start in range(0, row.size, PART):
        key = largest_key(row[start : start + PART], weight[start : start + PART], q)
        if key > -np.inf:
            best, total, parts = max(best, key), total + key, parts + 1
    if parts == 0:
        return 0, -np.inf
    # rounded, the mean of equal keys may exceed them
    enough = min(best, total / parts) if parts * PART > ENOUGH * row.size else LEAST
    for i in range(row.size):
        listed[size] = i  # the next one takes its place unless its key is large enough
        size += row[i] + q * weight[i] >= enough
    for j in range(size):
        arm = int(listed[j])
        keys[j], weights[j], place[arm], row[arm] = row[arm], weight[arm], j, -np.inf
    others = largest_key(row, weight, until)
    for j in range(size):
        row[int(listed[j])] = keys[j]
    return size, others


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
    return s.inside[arm] > -np.inf


def lowest(s):
    """Return the arm inside with the lowest lower bound."""
    return s.now.lowest


def highest(s):
    """Return the arm outside with the highest upper bound, `NOBODY` if none is outside."""
    return s.now.highest


def kth(s):
    """Return the k-th largest mean."""
    find_boundary(s)
    return -s.edge[LOW]


def following(s):
    """Return the k+1-th largest mean, minus infinity if there is none."""
    find_boundary(s)
    return s.edge[HIGH]


def lower(s, arm):
    """Return an arm's lower bound; it is inside."""
    return -(s.low[arm] + s.now.scale * s.weight[arm])


def upper(s, arm):
    """Return an arm's upper bound, minus infinity for `NOBODY`; it is outside."""
    return s.high[arm] + s.now.scale * s.weight[arm] if arm != NOBODY else -np.inf
