"""UGapE's candidate sets, by looking at every arm of the bandits that have changed.

With the upper bounds U and the lower bounds L of a bandit's arms, an arm's index B is the k-th
largest U of the other arms minus its own L.  The k arms with the smallest B form the candidate
set J, ties to the lower number; the largest B in J is the index of J.  Two arms speak against
it: l, of those in J the one with the lowest L, and u, of the others the one with the highest U,
ties to the wider; the wider of the two is pulled next, of equally wide ones the lower number.

M bandits of n arms each are one row of M n arms: arm i of bandit m is number ``m * n + i``.
One bandit is the case M = 1.  What is decided within a bandit looks at its own arms only, and
changes only when one of them is pulled, or when a radius that all arms share does.  The next
pull goes to the bandit of largest index.

This search serves any radii that are a part times q plus another times the square of q, where q
is what the rule `scale` returns; `candidates_trees` is for one bandit with radii that are
multiples of one over the root of the pulls.  Its loops are so plain that the compiler looks at
several arms at once: an arm that takes no part has the mean minus infinity.
"""

import numpy as np

from topk.rules.base import ACTIVE, NOBODY
from topk.rules.marks import allocates, apart, larger, open_function
from topk.rules.search.interface import Search

TIE = 1e-12  # indices closer than this are equal: sums of the same numbers, rounded in two orders


@open_function
def radius(s, arm):
    """Return the parts of half the width of an arm's bounds: times q, and times its square."""


def strongest(s):
    """Return the bandit with the largest index; of equal ones the lowest number."""
    largest = -np.inf
    for bandit in range(s.bandits):
        largest = max(largest, s.index[bandit])
    for bandit in range(s.bandits):
        if s.index[bandit] >= largest - TIE:
            return bandit
    return 0


def room(bandits, n):
    """Return what a play's state holds for this search, of M bandits of n arms.

    It follows from the counts.  ``means`` (M n,) and ``parts`` (2, M n) are each arm's mean and the
    two parts of its radius; ``index`` (M,) is how much speaks for pulling in this bandit, minus
    infinity if nothing does, ``favourite`` (M,) the arm of it that would be pulled.  In ``inside``
    and ``leading`` (M n,) the arms of J and those with the k largest U are marked with a 1;
    ``looks`` (4, n) is room for one bandit's radii, U, -L and -B.
    """
    found = {"index": np.zeros(bandits), "favourite": np.full(bandits, NOBODY)}
    found |= {"means": np.zeros(bandits * n), "parts": np.zeros((2, bandits * n))}
    found |= {name: np.zeros(bandits * n) for name in ("inside", "leading")}
    found |= {"stale": np.zeros(bandits, dtype=np.bool_)}  # whether the bandit is to be looked at
    return found | {"looks": np.zeros((4, n))}


def setup(s):
    """Look at all arms; any k of a bandit are in J at first, and any k lead."""
    for bandit in range(s.bandits):
        n, missing = s.n // s.bandits, s.k
        for arm in range(bandit * n, (bandit + 1) * n):
            s.means[arm], s.parts[0, arm], s.parts[1, arm] = -np.inf, 0.0, 0.0
            if s.status[arm] == ACTIVE:
                moved(s, arm)
            s.inside[arm] = s.leading[arm] = 0.0
            if s.status[arm] == ACTIVE and missing > 0:
                s.inside[arm], s.leading[arm], missing = 1.0, 1.0, missing - 1
    mend(s)


def grow(s, scale):
    """Have all bandits looked at if the radii have changed."""
    if scale != s.now.scale:
        s.stale[:] = True


def moved(s, arm):
    """Take over an arm's mean and radius."""
    s.means[arm] = s.sums[arm] / s.pulls[arm]
    s.parts[0, arm], s.parts[1, arm] = radius(s, arm)
    s.stale[arm // (s.n // s.bandits)] = True


def mend(s):
    """Form the candidate sets of the bandits that have changed."""
    for bandit in range(s.bandits):
        if s.stale[bandit]:
            form(s, bandit)
            s.stale[bandit] = False


def form(s, bandit):
    """Form a bandit's candidate set, its index and the arm that would be pulled.

    If all its arms are in the set nothing speaks against it.
    """
    n = s.n // s.bandits
    first, last = bandit * n, (bandit + 1) * n
    inside, leading = s.inside[first:last], s.leading[first:last]
    radii, upper, below, against = s.looks[0], s.looks[1], s.looks[2], s.looks[3]
    linear, square = s.parts[0, first:last], s.parts[1, first:last]
    find_bounds(s.means[first:last], linear, square, s.now.scale, radii, upper, below)
    kth, following = exchange(upper, leading)
    speak(upper, below, kth, following, against)
    edge, best = exchange(against, inside)
    if best >= edge - TIE:
        settle_ties(against, edge, s.k, inside)
    low, high = widest(below, radii, inside, 1.0), widest(upper, radii, inside, 0.0)
    s.index[bandit], s.favourite[bandit] = -np.inf, first + low
    if high != NOBODY:
        s.index[bandit], lead = -edge, radii[high] - radii[low]
        if lead > TIE or (lead > -TIE and high < low):
            s.favourite[bandit] = first + high


@apart
def find_bounds(means, linear, square, q, radii, upper, below):
    """Write every arm's radius, upper bound and minus its lower bound."""
    for i in range(means.size):
        radii[i] = q * (linear[i] + q * square[i])
        upper[i], below[i] = means[i] + radii[i], radii[i] - means[i]


@apart
def exchange(values, marked):
    """Move marks to the largest values; return the least one marked and the largest of the others.

    The plain form is ``sorted(values)[-k], sorted(values)[-k - 1]`` for k marks; minus infinity
    if there are no others.
    """
    while True:
        least, largest = -np.inf, -np.inf
        for i in range(values.size):
            least = larger(-values[i] if marked[i] == 1.0 else -np.inf, least)
            largest = larger(values[i] if marked[i] == 0.0 else -np.inf, largest)
        if largest <= -least:
            return -least, largest
        swap(values, marked, -least, 1.0)
        swap(values, marked, largest, 0.0)


def swap(values, marked, value, mark):
    """Change the mark of the first arm with a value."""
    i = 0
    while values[i] != value or marked[i] != mark:
        i += 1
    marked[i] = 1.0 - mark


@apart
def speak(upper, below, kth, following, against):
    """Write minus every arm's index."""
    for i in range(upper.size):
        against[i] = -((following if upper[i] >= kth else kth) + below[i])


def settle_ties(against, edge, k, inside):
    """Form the candidate set if arms outside tie with the one that is k-th."""
    for i in range(against.size):
        inside[i] = 1.0 if against[i] > edge + TIE else 0.0
        k -= inside[i]
    for i in range(against.size):
        if k > 0 and abs(against[i] - edge) <= TIE:
            inside[i], k = 1.0, k - 1


@apart
def widest(values, radii, marked, mark):
    """Return who of those with a mark has the largest value, `NOBODY` if none takes part.

    Of equal ones it is the wider, then the first.  The plain form, without rounding:

        max(members, key=lambda i: (values[i], radii[i], -i))
    """
    best, width = -np.inf, -np.inf
    for i in range(values.size):
        best = larger(values[i] if marked[i] == mark else -np.inf, best)
    if best == -np.inf:
        return NOBODY
    for i in range(values.size):
        tied = marked[i] == mark and values[i] >= best - TIE
        width = larger(radii[i] if tied else -np.inf, width)
    i = 0
    while marked[i] != mark or values[i] < best - TIE or radii[i] < width - TIE:
        i += 1
    return i


def largest_index(s):
    """Return the largest index of a candidate set."""
    return s.index[strongest(s)]


def wider(s):
    """Return the arm to be pulled."""
    return s.favourite[strongest(s)]


@allocates
def members(s):
    """Return whether each arm is in its bandit's candidate set, (n,)."""
    return s.inside == 1.0


def keep_smallest(s):
    """Keep in ``s.kept`` each J whose index is smaller than those of its bandit's before."""
    for bandit in range(s.bandits):
        if s.now.rounds == 1 or s.index[bandit] < s.smallest[bandit] - TIE:
            keep(s, bandit)


@allocates
def keep(s, bandit):
    """Keep the present J of a bandit, and its index in ``s.smallest``."""
    s.smallest[bandit] = max(s.index[bandit], -1e300)  # a number even if all are inside
    n = s.n // s.bandits
    s.kept[bandit * n : (bandit + 1) * n] = s.inside[bandit * n : (bandit + 1) * n] == 1.0


UGAPE_SCAN = Search(
    "ugape_scan", new_arrays=room, setup=setup, moved=moved, grow=grow, mend=mend
)
