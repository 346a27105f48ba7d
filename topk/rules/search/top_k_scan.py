"""The k largest means inside, the others outside, by looking at all arms in plain loops.

Each side has rows that hold minus infinity for the arms that are not on it.  The loops are so
plain that the compiler looks at several arms at once, and most looks are not made: the arms at
the boundary matter where the sides may overlap, and who has the lowest or the highest bound
keeps it while its key exceeds what the others' can have become since they were looked at.

Of many arms a look also lists those at the top.  The next looks are at the list alone, as long as
its best key exceeds what the other arms' keys are at a later s, up to which the list is good:
keys grow with s, and rounding is monotone, so that this is exact.
"""

import numpy as np

from topk.rules import indices
from topk.rules.base import NOBODY
from topk.rules.indices import line
from topk.rules.marks import allocates, apart, larger
from topk.rules.ranking import rank
from topk.rules.search.interface import Search

WIDTH = 32  # rows are filled up to a multiple of this, so that no arm has to be looked at alone
ROUNDING = 1e-14  # of keys, in units of the larger of one and a bound's width
INSIDE, OUTSIDE = 0, 1  # sides
FEW = 128  # arms; of so few no list is made
AHEAD = 96  # rounds for which a list is meant to be good
LONGER = 96  # arms; so many join a list before it is made anew
PART = 16  # arms; listed is who reaches the mean of the parts' largest keys, ...
ENOUGH = 0.6  # ... if more than that share of the parts is not empty
LEAST = -1e300  # below the key of every arm that takes part


def room(bandits, n):
    """Return what a play's state holds for this search.

    The higher an arm's ``near``, ``-mean`` inside and ``mean`` outside, the nearer it is to the
    other side; the lower its bound inside, or the higher outside, the larger its key
    ``fixed + s * weight``.
    """
    width = -(-n // WIDTH) * WIDTH
    lists = 2, 0 if n <= FEW else width
    return {
        "listed": np.zeros(lists),
        "list_fixed": np.full(lists, -np.inf),
        "list_weight": np.zeros(lists),
        "place": np.full(lists, NOBODY),  # of every arm in a side's list
        "list_size": np.zeros(2, dtype=np.int64),
        "longest": np.zeros(2),  # arms in a list; one more, and a new one is made
        "until": np.full(2, -np.inf),  # the s up to which a list is good
        "beyond": np.zeros(2),  # what the keys of arms not listed do not exceed until then
        "growth": np.zeros(1),  # of s in the last round
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
    s.others[:], s.until[:] = np.inf, -np.inf
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
    if s.place.size > 0:
        relist(s, side, arm)


def relist(s, side, arm):
    """Take an arm's columns over into the list of a side, if it is or should be there."""
    place, fixed, weight = s.place[side, arm], s.fixed[side, arm], s.weight[arm]
    if place == NOBODY:
        if fixed + s.until[side] * weight <= s.beyond[side]:
            return
        place = s.list_size[side]
        s.list_size[side] += 1
        s.place[side, arm], s.listed[side, place] = place, arm
        if place >= s.longest[side]:
            s.until[side] = -np.inf
    s.list_fixed[side, place], s.list_weight[side, place] = fixed, weight


def grow(s, scale):
    """Remember by how much s grows."""
    s.growth[0] = scale - s.now.scale


def moved(s, arm):
    """Take over an arm's new line."""
    enter(s, arm, INSIDE if inside(s, arm) else OUTSIDE)


def mend(s):
    """Exchange until every arm inside ranks above every arm outside, and look."""
    while s.edge[INSIDE] + s.edge[OUTSIDE] >= 0:  # else nobody is misplaced
        lead = kth(s) - following(s)
        if lead > 0:
            break
        last, first = s.at_edge[INSIDE], s.at_edge[OUTSIDE]
        if lead == 0:  # of equal means the first arms are inside
            last, first = top(s.near[INSIDE], s.arms, 1.0), top(s.near[OUTSIDE], s.arms, -1.0)
            if last < first:
                break
        for side in (INSIDE, OUTSIDE):
            arm = last if side == INSIDE else first
            s.near[side, arm], s.fixed[side, arm] = -np.inf, -np.inf
            if s.place.size > 0:
                relist(s, side, arm)
            enter(s, arm, 1 - side)
    look(s)


def look(s):
    """Find the arms with the lowest and the highest bound, if they may be others than before."""
    q = s.now.scale
    for side in (INSIDE, OUTSIDE):
        most = s.others[side] + (q - s.since[side]) * s.heaviest[0]
        if key(s, side, s.winner[side]) <= most + ROUNDING * (1 + q * s.heaviest[0]):
            if s.place.size > 0:
                look_at_list(s, side)
            else:
                find(s, side, s.fixed[side], s.weight, s.arms, -np.inf)


def key(s, side, arm):
    """Return an arm's key on its side."""
    return s.fixed[side, arm] + s.now.scale * s.weight[arm]


def look_at_list(s, side):
    """Find a side's winner in its list, or in a new one."""
    if s.now.scale <= s.until[side]:
        find_listed(s, side)
        if key(s, side, s.winner[side]) > s.beyond[side]:
            return
    s.until[side] = s.now.scale + AHEAD * s.growth[0]
    s.list_size[side], s.beyond[side] = fill_list(
        s.fixed[side], s.weight, s.now.scale, s.until[side], s.listed[side], s.list_fixed[side],
        s.list_weight[side], s.place[side], s.list_size[side],
    )  # fmt: skip
    s.longest[side] = s.list_size[side] + LONGER
    find_listed(s, side)


def find_listed(s, side):
    """Find the winner among the arms in a list."""
    size = -(-max(1, s.list_size[side]) // WIDTH) * WIDTH
    fixed, weight, arms = s.list_fixed[side], s.list_weight[side], s.listed[side]
    find(s, side, fixed[:size], weight[:size], arms[:size], s.beyond[side])


def find(s, side, fixed, weight, arms, beyond):
    """Find the winner of some arms, and what the keys of a side's other arms do not exceed.

    Those that are not among them do not exceed ``beyond``.
    """
    q, arm = s.now.scale, widest(fixed, weight, arms, s.now.scale)
    place = s.place[side, arm] if s.place.size > 0 else arm
    own, fixed[place] = fixed[place], -np.inf  # to look at the others alone
    s.others[side], s.since[side] = max(beyond, largest_key(fixed, weight, q)), q
    fixed[place], s.winner[side] = own, arm


def edge(s, side):
    """Return the largest ``near`` of a side."""
    if s.near[side, s.at_edge[side]] != s.edge[side]:
        s.at_edge[side] = top(s.near[side], s.arms, 1.0)
        s.edge[side] = s.near[side, s.at_edge[side]]
    return s.edge[side]


@apart
def widest(row, weight, arms, q):
    """Return the arm with the largest ``row + q * weight``, `NOBODY` if none is finite.

    Of equal keys the larger weight wins, then the smaller arm.  The plain form:

        max(members, key=lambda i: (row[i] + q * weight[i], weight[i], -arms[i]))
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
def fill_list(row, weight, q, until, listed, fixed, weights, place, size):
    """List the arms at the top; return how many, and the largest key of the others at ``until``.

    The list has ``size`` arms before.
    """
    for j in range(size):
        place[int(listed[j])], fixed[j] = NOBODY, -np.inf
    best, total, parts, size = -np.inf, 0.0, 0, 0
    for start in range(0, row.size, PART):
        most = largest_key(row[start : start + PART], weight[start : start + PART], q)
        if most > -np.inf:
            best, total, parts = max(best, most), total + most, parts + 1
    if parts == 0:
        return 0, -np.inf
    # rounded, the mean of equal keys may exceed them
    enough = min(best, total / parts) if parts * PART > ENOUGH * row.size else LEAST
    for i in range(row.size):
        listed[size] = i  # the next one takes its place unless its key is large enough
        size += row[i] + q * weight[i] >= enough
    for j in range(size):
        arm = int(listed[j])
        fixed[j], weights[j], place[arm], row[arm] = row[arm], weight[arm], j, -np.inf
    others = largest_key(row, weight, until)
    for j in range(size):
        row[int(listed[j])] = fixed[j]
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
    return -key(s, INSIDE, arm)


def upper(s, arm):
    """Return an arm's upper bound, minus infinity for `NOBODY`; it is outside."""
    return key(s, OUTSIDE, arm) if arm != NOBODY else -np.inf


TOP_K_SCAN = Search(
    "top_k_scan",
    new_arrays=room,
    setup=setup,
    moved=moved,
    grow=grow,
    mend=mend,
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
