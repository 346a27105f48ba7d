"""UGapE's candidate sets, by scanning the arms of the bandits that have changed.

With the upper bounds U and the lower bounds L of a bandit's arms, an arm's index B is the k-th
largest U of the other arms minus its own L.  The k arms with the smallest B form the candidate
set J, ties to the lower number; the largest B in J is the index of J.  Let l be the arm in J with
the lowest L, and u the arm outside J with the highest U, ties to the wider bounds.  Of the two the
arm with the wider bounds is pulled next, ties to the lower number.

Indices that are equal by the definition may be rounded differently, since the same numbers are
added in another order.  So B is rounded to a multiple of 2**-34 (`settled`), and such numbers are
compared exactly, as all others are: both searches, in plain Python and compiled, then order the
arms alike.

M bandits of n arms each are one row of M n arms: arm i of bandit m is number ``m * n + i``.
One bandit is the case M = 1.  Decisions within a bandit depend on its own arms only, and change
only when one of them is pulled, or when the scale of all radii changes.  The next pull goes to the
bandit with the largest index.

This search allows all radii of the form ``linear * q + square * q**2``, where q is what the rule
`scale` returns; `ugape_trees` is for one bandit with radii that are multiples of one over the
square root of the pulls.  The loops are simple enough for the compiler to vectorise; an arm that is
not active has the mean minus infinity.
"""

import numpy as np

from topk._marks import allocates, apart, in_loops
from topk.rules import indices
from topk.rules.base import ACTIVE, NO_ARM
from topk.rules.marks import larger, open_function, replaceable
from topk.rules.ranking import precedes
from topk.rules.search.interface import Search

FAR = 1.5 * 2.0**18  # floats between 2**18 and 2**19 are multiples of 2**-34


def settled(index):
    """Return an index, or indices, rounded to a multiple of 2**-34; beyond 2**17 more coarsely."""
    return (index + FAR) - FAR


@open_function
def radius(s, arm):
    """Return the two parts of an arm's radius, the factors of q and of its square."""


def strongest(s):
    """Return the bandit with the largest index; ties go to the lowest number."""
    largest = -np.inf
    for bandit in range(s.bandits):
        largest = max(largest, s.index[bandit])
    for bandit in range(s.bandits):
        if s.index[bandit] == largest:
            return bandit
    return 0


def new_arrays(bandits, n):
    """Return the arrays that the search adds to the state of a run, for M bandits of n arms.

    They follow from the counts.  ``means`` (M n,) and ``parts`` (2, M n) are each arm's mean and
    the two parts of its radius.  ``index`` (M,) is the index of each bandit's J, minus infinity if
    all its arms are in J, and ``favourite`` (M,) the arm that would be pulled in this bandit.
    ``inside`` and ``leading`` (M n,) mark the arms of J and those with the k largest U with 1.0.
    ``looks`` (4, n) is a buffer for one bandit's radii, U, -L and -B.
    """
    found = {"index": np.zeros(bandits), "favourite": np.full(bandits, NO_ARM)}
    found |= {"means": np.zeros(bandits * n), "parts": np.zeros((2, bandits * n))}
    found |= {name: np.zeros(bandits * n) for name in ("inside", "leading")}
    found |= {"stale": np.zeros(bandits, dtype=np.bool_)}  # bandits to be scanned
    return found | {"looks": np.zeros((4, n))}


def setup(s):
    """Set up from the counts: mark k arms of each bandit; `restore_partition` moves the marks."""
    for bandit in range(s.bandits):
        n, missing = s.n // s.bandits, s.k
        for arm in range(bandit * n, (bandit + 1) * n):
            s.means[arm], s.parts[0, arm], s.parts[1, arm] = -np.inf, 0.0, 0.0
            if s.status[arm] == ACTIVE:
                indices.arm_pulled(s, arm)
            s.inside[arm] = s.leading[arm] = 0.0
            if s.status[arm] == ACTIVE and missing > 0:
                s.inside[arm], s.leading[arm], missing = 1.0, 1.0, missing - 1
    indices.restore_partition(s)


def scale_grew(s, scale):
    """Mark all bandits for a scan if the radii have changed."""
    if scale != s.now.scale:
        s.stale[:] = True


def arm_pulled(s, arm):
    """Process the new mean and radius of an arm."""
    s.means[arm] = s.sums[arm] / s.pulls[arm]
    s.parts[0, arm], s.parts[1, arm] = radius(s, arm)
    s.stale[arm // (s.n // s.bandits)] = True


def restore_partition(s):
    """Form the candidate sets of the bandits that have changed."""
    for bandit in range(s.bandits):
        if s.stale[bandit]:
            find_candidates(s, bandit)
            s.stale[bandit] = False


@replaceable
def find_candidates(s, bandit):
    """Form a bandit's candidate set, its index, and the arm that would be pulled.

    The index is minus infinity if all arms of the bandit are in the set.
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
    if best == edge:
        settle_ties(against, edge, s.k, inside)
    low, high = largest_member(below, radii, inside, 1.0), largest_member(upper, radii, inside, 0.0)
    s.index[bandit], s.favourite[bandit] = -np.inf, first + low
    if high != NO_ARM:
        s.index[bandit] = -edge
        if precedes(radii[high] - radii[low], high, low, 0.0):
            s.favourite[bandit] = first + high


@apart
def find_bounds_in_loops(means, linear, square, q, radii, upper, below):
    """Return or do what `find_bounds` does."""
    for i in range(means.size):
        radii[i] = q * (linear[i] + q * square[i])
        upper[i], below[i] = means[i] + radii[i], radii[i] - means[i]


@in_loops(find_bounds_in_loops)
def find_bounds(means, linear, square, q, radii, upper, below):
    """Compute the radius, the upper bound and minus the lower bound of every arm."""
    radii[:] = q * (linear + q * square)
    upper[:], below[:] = means + radii, radii - means


@apart
def exchange_in_loops(values, marked):
    """Return or do what `exchange` does."""
    while True:
        least, largest = -np.inf, -np.inf
        for i in range(values.size):
            least = larger(-values[i] if marked[i] == 1.0 else -np.inf, least)
            largest = larger(values[i] if marked[i] == 0.0 else -np.inf, largest)
        if largest <= -least:
            return -least, largest
        swap(values, marked, -least, 1.0)
        swap(values, marked, largest, 0.0)


@in_loops(exchange_in_loops)
def exchange(values, marked):
    """Move the marks to the largest values; return the least marked and the largest other value.

    With k marks, the plain form of what is returned is ``sorted(values)[-k]`` and
    ``sorted(values)[-k - 1]``, minus infinity if there are no others.  Few marks move from one call
    to the next.
    """
    k, n = int(marked.sum()), values.size
    ranked = np.partition(values, [max(n - k - 1, 0), max(n - k, 0) if k else n - 1])
    least = ranked[n - k] if k else np.inf
    marked[:] = values > least
    tied = (values == least).nonzero()[0]
    marked[tied[: k - int(marked.sum())]] = 1.0
    return least, ranked[n - k - 1] if k < n else -np.inf


def swap(values, marked, value, mark):
    """Change the mark of the first arm with this value and this mark."""
    i = 0
    while values[i] != value or marked[i] != mark:
        i += 1
    marked[i] = 1.0 - mark


@apart
def speak_in_loops(upper, below, kth, following, against):
    """Return or do what `speak` does."""
    for i in range(upper.size):
        against[i] = -settled((following if upper[i] >= kth else kth) + below[i])


@in_loops(speak_in_loops)
def speak(upper, below, kth, following, against):
    """Compute minus the index B of every arm."""
    with np.errstate(invalid="ignore"):
        against[:] = -settled(np.where(upper >= kth, following, kth) + below)


def settle_ties_in_loops(against, edge, k, inside):
    """Return or do what `settle_ties` does."""
    for i in range(against.size):
        inside[i] = 1.0 if against[i] > edge else 0.0
        k -= inside[i]
    for i in range(against.size):
        if k > 0 and against[i] == edge:
            inside[i], k = 1.0, k - 1


@in_loops(settle_ties_in_loops)
def settle_ties(against, edge, k, inside):
    """Form the candidate set if arms outside tie with the k-th arm: the first of them enter."""
    inside[:] = against > edge
    tied = (against == edge).nonzero()[0]
    inside[tied[: max(0, k - int(inside.sum()))]] = 1.0


@apart
def largest_member_in_loops(values, radii, marked, mark):
    """Return or do what `largest_member` does."""
    best, width = -np.inf, -np.inf
    for i in range(values.size):
        best = larger(values[i] if marked[i] == mark else -np.inf, best)
    if best == -np.inf:
        return NO_ARM
    for i in range(values.size):
        tied = marked[i] == mark and values[i] == best
        width = larger(radii[i] if tied else -np.inf, width)
    i = 0
    while marked[i] != mark or values[i] != best or radii[i] != width:
        i += 1
    return i


@in_loops(largest_member_in_loops)
def largest_member(values, radii, marked, mark):
    """Return the arm with the largest value among those with a mark, `NO_ARM` if there is none.

    Ties go to the wider bounds, then to the first arm.  The plain form:

        max(members, key=lambda i: (values[i], radii[i], -i))
    """
    arms = (marked == mark).nonzero()[0]
    best = values[arms].max(initial=-np.inf)
    if best == -np.inf:
        return NO_ARM
    arms = arms[values[arms] == best]
    return arms[radii[arms].argmax()]


@replaceable
def largest_index(s):
    """Return the largest index of the bandits' candidate sets."""
    return s.index[strongest(s)]


@replaceable
def wider(s):
    """Return the arm to be pulled."""
    return s.favourite[strongest(s)]


@replaceable
def index_of(s, bandit):
    """Return the index of a bandit's candidate set."""
    return s.index[bandit]


@replaceable
@allocates
def members(s, first, last):
    """Return whether the arms ``first``, ..., ``last - 1`` are in candidate sets."""
    return s.inside[first:last] == 1.0


def keep_smallest(s):
    """Keep each J whose index is smaller than that of every earlier J of its bandit."""
    for bandit in range(s.bandits):
        if s.now.rounds == 1 or index_of(s, bandit) < s.smallest[bandit]:
            keep(s, bandit)


@allocates
def keep(s, bandit):
    """Store the present J of a bandit in ``s.kept``, and its index in ``s.smallest``."""
    s.smallest[bandit] = max(index_of(s, bandit), -1e300)  # finite even if all arms are inside
    first, last = bandit * (s.n // s.bandits), (bandit + 1) * (s.n // s.bandits)
    s.kept[first:last] = members(s, first, last)


UGAPE_SCAN = Search(
    "ugape_scan",
    new_arrays=new_arrays,
    setup=setup,
    arm_pulled=arm_pulled,
    scale_grew=scale_grew,
    restore_partition=restore_partition,
)
