"""The k largest means inside, the others outside, by scanning all arms in plain loops.

Each side has rows of numbers, with minus infinity for the arms of the other side.  An arm's key is
``fixed + q * weight``, where q is the scale of all radii, ``s.now.scale``: minus its lower bound
inside, its upper bound outside.  The winner of a side is the arm with the largest key.

The loops are simple enough for the compiler to vectorise, and most scans are skipped.  The arms at
the boundary matter only where the means of the sides may overlap.  A side's winner stays the winner
while its key exceeds an upper bound on the other keys, which follows from the last scan.

With many arms a scan also lists the arms with large keys.  Later scans are restricted to the list,
as long as its largest key exceeds the keys that the other arms have at some larger scale, up to
which the list is valid.  This is exact, because keys grow with the scale and rounding is monotone.
"""

import numpy as np

from topk._marks import apart
from topk.rules import indices
from topk.rules.base import NO_ARM
from topk.rules.indices import INSIDE, OUTSIDE, bound
from topk.rules.marks import larger
from topk.rules.ranking import precedes
from topk.rules.search.interface import Search

WIDTH = 32  # rows are padded to a multiple of this, so that vectorised loops have no remainder
ROUNDING = 1e-14  # bound on the errors of keys, in units of one plus a bound's width
FEW = 128  # arms; no list is made up to this number
AHEAD = 96  # rounds for which a new list is planned to be valid
LONGER = 96  # arms that may be appended to a list before a new one is made
PART = 16  # arms; the threshold of a list is the mean of the largest keys of such parts, ...
ENOUGH = 0.6  # ... if more than this share of the parts is not empty; otherwise all arms are listed
LEAST = -1e300  # below every finite key

# What a search knows of a side: one record, since each array of a state takes time to compile.
SIDE = np.dtype((np.record, [
    ("edge", np.float64),  # upper bound on ``near`` ...
    ("at_edge", np.int64),  # ... and the arm that has set it
    ("winner", np.int64),  # the arm with the largest key
    ("others", np.float64),  # upper bound on the other keys ...
    ("since", np.float64),  # ... at this scale
    ("heaviest", np.float64),  # upper bound on the weights
    ("until", np.float64),  # the scale up to which the list is valid
    ("beyond", np.float64),  # upper bound on the keys of unlisted arms up to that scale
    ("list_size", np.int64),
    ("longest", np.int64),  # the list size at which a new list is made
]))  # fmt: skip


def new_arrays(bandits, n):
    """Return the arrays that the search adds to the state of a run.

    An arm's ``near`` is ``-mean`` inside and ``mean`` outside: the larger it is, the nearer the arm
    is to the other side.
    """
    width = -(-n // WIDTH) * WIDTH
    lists = 2, 0 if n <= FEW else width
    return {
        "listed": np.zeros(lists),  # the arms in a side's list; the next two rows are theirs
        "list_fixed": np.full(lists, -np.inf),
        "list_weight": np.zeros(lists),
        "place": np.full(lists, NO_ARM),  # each arm's place in its side's list
        "growth": np.zeros(1),  # of the scale in the last round
        "near": np.full((2, width), -np.inf),
        "fixed": np.full((2, width), -np.inf),
        "weight": np.zeros(width),
        "arms": np.arange(width, dtype=np.float64),
        "sides": np.zeros(2, SIDE),
    }


def setup(s):
    """Fill the rows from the counts: k arms inside; `restore_partition` exchanges them."""
    s.near[:], s.fixed[:] = -np.inf, -np.inf
    for side in (INSIDE, OUTSIDE):
        own = s.sides[side]
        own.edge, own.heaviest, own.others, own.until = -np.inf, 0.0, np.inf, -np.inf
    for place in range(s.now.n_active):
        enter(s, s.active[place], INSIDE if place < s.k else OUTSIDE)
    indices.restore_partition(s)


def enter(s, arm, side):
    """Set an arm's numbers on a side, and raise the upper bounds that they exceed."""
    end, weight = bound(s, arm, side)
    mean = s.sums[arm] / s.pulls[arm]
    near, fixed = (-mean, -end) if side == INSIDE else (mean, end)
    s.near[side, arm], s.fixed[side, arm], s.weight[arm] = near, fixed, weight
    own = s.sides[side]
    own.heaviest = max(own.heaviest, weight)
    if near >= own.edge:
        own.edge, own.at_edge = near, arm
    if arm != own.winner:
        own.others = max(own.others, fixed + own.since * weight)
    if s.place.size > 0:
        relist(s, side, arm)


def relist(s, side, arm):
    """Update an arm in the list of a side; append it if its key may exceed ``beyond``."""
    own, place, fixed, weight = s.sides[side], s.place[side, arm], s.fixed[side, arm], s.weight[arm]
    if place == NO_ARM:
        if own.until == -np.inf or fixed + own.until * weight <= own.beyond:
            return  # without a valid list, all arms are looked at
        place = own.list_size
        own.list_size += 1
        s.place[side, arm], s.listed[side, place] = place, arm
        if place >= own.longest:
            own.until = -np.inf
    s.list_fixed[side, place], s.list_weight[side, place] = fixed, weight


def scale_grew(s, scale):
    """Store the increase of the scale."""
    s.growth[0] = scale - s.now.scale


def arm_pulled(s, arm):
    """Process the new bounds of an arm."""
    enter(s, arm, INSIDE if inside(s, arm) else OUTSIDE)


def restore_partition(s):
    """Exchange arms until all inside rank above all outside; then find the winners."""
    while s.sides[INSIDE].edge + s.sides[OUTSIDE].edge >= 0:  # otherwise no arm is misplaced
        lead = kth(s) - following(s)
        last, first = s.sides[INSIDE].at_edge, s.sides[OUTSIDE].at_edge
        if lead == 0:  # the last and the first of those with equal means
            last, first = top(s.near[INSIDE], s.arms, 1.0), top(s.near[OUTSIDE], s.arms, -1.0)
        if precedes(lead, last, first, 0.0):
            break
        for side in (INSIDE, OUTSIDE):
            arm = last if side == INSIDE else first
            s.near[side, arm], s.fixed[side, arm] = -np.inf, -np.inf
            if s.place.size > 0:
                relist(s, side, arm)
            enter(s, arm, 1 - side)
    look(s)


def look(s):
    """Find the winner of each side, unless it is certain to be the same as before.

    Since the last scan no key has grown by more than the increase of the scale times ``heaviest``.
    """
    q = s.now.scale
    for side in (INSIDE, OUTSIDE):
        own = s.sides[side]
        most = own.others + (q - own.since) * own.heaviest
        if key(s, side, own.winner) <= most + ROUNDING * (1 + q * own.heaviest):
            if s.place.size > 0:
                look_at_list(s, side)
            else:
                find(s, side, s.fixed[side], s.weight, s.arms, -np.inf)


def key(s, side, arm):
    """Return an arm's key on its side."""
    return s.fixed[side, arm] + s.now.scale * s.weight[arm]


def look_at_list(s, side):
    """Find a side's winner in its list; if that is not certain, make a new list."""
    own = s.sides[side]
    if s.now.scale <= own.until:
        find_listed(s, side)
        if key(s, side, own.winner) > own.beyond:
            return
    own.until = s.now.scale + AHEAD * s.growth[0]
    own.list_size, own.beyond = fill_list(
        s.fixed[side], s.weight, s.now.scale, own.until, s.listed[side], s.list_fixed[side],
        s.list_weight[side], s.place[side], own.list_size,
    )  # fmt: skip
    own.longest = own.list_size + LONGER
    find_listed(s, side)


def find_listed(s, side):
    """Find the winner of a side among the arms in its list."""
    own = s.sides[side]
    size = -(-max(1, own.list_size) // WIDTH) * WIDTH
    fixed, weight, arms = s.list_fixed[side], s.list_weight[side], s.listed[side]
    find(s, side, fixed[:size], weight[:size], arms[:size], own.beyond)


def find(s, side, fixed, weight, arms, beyond):
    """Find the winner of a side among some arms, and an upper bound on the side's other keys.

    ``beyond`` is an upper bound on the keys of the side's arms that are not among them.
    """
    arm, second = largest_arm(fixed, weight, arms, s.now.scale)
    own = s.sides[side]
    own.winner, own.others, own.since = arm, max(beyond, second), s.now.scale


def edge(s, side):
    """Return the largest ``near`` of a side, from a scan if the arm that set it has changed."""
    own = s.sides[side]
    if s.near[side, own.at_edge] != own.edge:
        own.at_edge = top(s.near[side], s.arms, 1.0)
        own.edge = s.near[side, own.at_edge]
    return own.edge


@apart
def largest_arm(row, weight, arms, q):
    """Return the arm with the largest ``row + q * weight``, and the largest such key of the others.

    Ties go to the larger weight, then to the smaller arm.  Where there is none, the arm is
    `NO_ARM` and a key minus infinity.  The plain form, for arms with a finite ``row``:

        keys = {i: row[i] + q * weight[i] for i in members}
        arm = max(members, key=lambda i: (keys[i], weight[i], -arms[i]))
        return arm, max(keys[i] for i in members if i != arm)
    """
    key = largest_key(row, weight, q)
    if key == -np.inf:
        return NO_ARM, key
    # over the arms with this key: the first and the last one; over the others: the largest key.
    # Those left out are moved away: the compiler does not vectorise a choice of what to compare.
    first, last, second = -np.inf, -np.inf, -np.inf
    for i in range(row.size):
        value = row[i] + q * weight[i]
        away, off = (0.0, np.inf) if value == key else (np.inf, 0.0)
        first = larger(-arms[i] - away, first)
        last = larger(arms[i] - away, last)
        second = larger(value - off, second)
    if last == -first:
        return int(last), second
    return heaviest(row, weight, arms, q, key, int(-first)), key


@apart
def heaviest(row, weight, arms, q, key, first):
    """Return the arm with the largest weight of those whose key is ``key``, beginning at ``first``.

    Ties go to the smaller arm.
    """
    most, least, arm = -np.inf, -np.inf, -np.inf
    for i in range(row.size):
        away = 0.0 if row[i] + q * weight[i] == key else np.inf
        most, least = larger(weight[i] - away, most), larger(-weight[i] - away, least)
    if most == -least:  # the weights are equal
        return first
    for i in range(row.size):
        away = 0.0 if row[i] + q * weight[i] == key and weight[i] == most else np.inf
        arm = larger(-arms[i] - away, arm)
    return int(-arm)


@apart
def fill_list(row, weight, q, until, listed, fixed, weights, place, size):
    """List the arms with large keys; return their number, and the largest other key at ``until``.

    ``listed``, ``fixed`` and ``weights`` are the columns of the list, which has ``size`` arms
    before; ``place`` is each arm's place in it.  The plain form, for arms with a finite ``row``:

        keys = {i: row[i] + q * weight[i] for i in members}
        largest = [max(keys[i] for i in part) for part in parts]  # PART successive arms each
        few = len(largest) * PART <= ENOUGH * row.size
        enough = -inf if few else mean(largest)
        listed = [i for i in members if keys[i] >= enough]
        return len(listed), max(row[i] + until * weight[i] for i in members if i not in listed)
    """
    # empty the old list
    for j in range(size):
        place[int(listed[j])], fixed[j] = NO_ARM, -np.inf
    # the threshold: the mean of the largest keys of the parts that are not empty
    best, total, parts, size = -np.inf, 0.0, 0, 0
    for start in range(0, row.size, PART):
        most = largest_key(row[start : start + PART], weight[start : start + PART], q)
        if most > -np.inf:
            best, total, parts = max(best, most), total + most, parts + 1
    if parts == 0:
        return 0, -np.inf
    # the rounded mean of equal keys may exceed them, so it is capped by the largest one
    enough = min(best, total / parts) if parts * PART > ENOUGH * row.size else LEAST
    # the new list, without a branch: an arm below the threshold is overwritten by the next one
    for i in range(row.size):
        listed[size] = i
        size += row[i] + q * weight[i] >= enough
    # copy the listed arms' numbers, and hide them in ``row`` from the scan of the others
    for j in range(size):
        arm = int(listed[j])
        fixed[j], weights[j], place[arm], row[arm] = row[arm], weight[arm], j, -np.inf
    others = largest_key(row, weight, until)
    for j in range(size):
        row[int(listed[j])] = fixed[j]
    return size, others


@apart
def top(row, arms, sign):
    """Return the arm with the largest entry, `NO_ARM` if none is finite.

    ``arms`` is 0, 1, 2, ...; ties go to the first arm if ``sign`` is -1, to the last if it is 1.
    """
    key, arm = -np.inf, -np.inf
    for i in range(row.size):
        key = larger(row[i], key)
    if key == -np.inf:
        return NO_ARM
    for i in range(row.size):
        arm = larger(sign * arms[i] - (0.0 if row[i] == key else np.inf), arm)
    return int(sign * arm)


@apart
def largest_key(row, weight, q):
    """Return the largest ``row + q * weight``."""
    key = -np.inf
    for i in range(row.size):
        key = larger(row[i] + q * weight[i], key)
    return key


def inside(s, arm):
    """Return whether an arm has one of the k largest means."""
    return s.near[INSIDE, arm] > -np.inf


def lowest(s):
    """Return the arm inside with the lowest lower bound."""
    return s.sides[INSIDE].winner


def highest(s):
    """Return the arm outside with the highest upper bound, `NO_ARM` if none is outside."""
    return s.sides[OUTSIDE].winner


def kth(s):
    """Return the k-th largest mean."""
    return -edge(s, INSIDE)


def following(s):
    """Return the (k+1)-th largest mean, minus infinity if there is none."""
    return edge(s, OUTSIDE)


def lower(s, arm):
    """Return the lower bound of an arm inside."""
    return -key(s, INSIDE, arm)


def upper(s, arm):
    """Return the upper bound of an arm outside, minus infinity for `NO_ARM`."""
    return key(s, OUTSIDE, arm) if arm != NO_ARM else -np.inf


TOP_K_SCAN = Search(
    "top_k_scan",
    new_arrays=new_arrays,
    setup=setup,
    arm_pulled=arm_pulled,
    scale_grew=scale_grew,
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
