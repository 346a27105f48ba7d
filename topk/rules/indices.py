"""Index strategies: one or two arms at a time are pulled, chosen by their confidence bounds.

The arms are partitioned into groups, for most rules the k largest means and the others.  A search
(`top_k_scan`, `top_k_trees`, ...) finds the arms with the extreme bounds.  An arm's bounds are
straight lines in the scale, ``low - scale * weight`` and ``high + scale * weight``: by default low
and high are the mean, weight is one over the square root of the pulls, and scale, which the rule
returns, never decreases.  With a rule's own `interval` the weight is 0.
"""

import math

import numpy as np

from topk.rules.base import ACTIVE, BY_BUDGET, BY_RULE, NO_ARM, WRONG
from topk.rules.marks import open_function, replaceable

INSIDE, OUTSIDE = 0, 1  # sides of the boundary


@replaceable
def scale(s):
    """Return the factor of all radii; called once per round."""
    return 0.0


@replaceable
def line(s, arm):
    """Return low, high and weight of an arm; called when the arm has been pulled."""
    mean = s.sums[arm] / s.pulls[arm]
    return mean, mean, 1 / math.sqrt(s.pulls[arm])


@open_function
def interval(s, arm):
    """Return an arm's bounds, low and high; called when the arm has been pulled."""


def line_of_interval(s, arm):
    """Return low, high and weight of an arm whose bounds do not depend on the scale."""
    low, high = interval(s, arm)
    return low, high, 0.0


@replaceable
def bound(s, arm, side):
    """Return an arm's bound that its side needs, and its weight: the lower bound `INSIDE`.

    A rule whose two bounds are dear computes only this one.
    """
    low, high, weight = line(s, arm)
    return (low if side == INSIDE else high), weight


@replaceable
def pulled(s, arm):
    """Process the pull of an arm, before the search does, and before `done` and `pick`."""


@open_function
def pick(s):
    """Return the two arms to be pulled next, once each; `NO_ARM` in place of a second one."""


def clock(s):
    """Return the time t of a round: the number of rounds, or of an arm's pulls if that is larger.

    In a session with unsolicited results an arm may have more pulls than there were rounds.
    """
    return max(s.now.rounds, s.now.most)


@replaceable
def done(s):
    """Return whether the guarantee holds now."""
    return False


@replaceable
def setup(s):
    """Search: set up from all arms."""


@replaceable
def arm_pulled(s, arm):
    """Search: process the new bounds of an arm that has been pulled."""


@replaceable
def scale_grew(s, scale):
    """Search: process a larger scale."""


@replaceable
def restore_partition(s):
    """Search: restore the partition, so that every arm is in its group."""


@replaceable
def arm_withdrawn(s, arm):
    """Search: process the withdrawal of an arm."""
    setup(s)


def ask(s, arms, counts):
    """Ask for every arm ``s.initial_pulls`` times, then for the arms that `pick` chooses."""
    if s.now.ended:
        return 0
    if s.now.rounds == 0:
        for j in range(s.now.n_active):
            arms[j], counts[j] = s.active[j], s.initial_pulls
        return s.now.n_active
    for j in range(s.now.picked):
        arms[j], counts[j] = s.picked[j], 1
    return s.now.picked


def update(s, m, arms):
    """Update the search, test for the end, and pick the next arms."""
    take_note(s, m, arms)
    if done(s):
        s.now.ended = BY_RULE
    elif 0 <= s.budget <= s.now.total:
        s.now.ended = BY_BUDGET
    else:  # here and not in `ask`, which may be called twice
        choose(s)
        if not are_active(s, s.picked, s.now.picked):
            s.now.ended = WRONG
        if s.budget >= 0:  # a pair that would exceed the budget pulls its first arm only
            s.now.picked = min(s.now.picked, s.budget - s.now.total)


def take_note(s, m, arms):
    """Update the search after a batch."""
    s.now.rounds += 1
    grown = scale(s)
    if s.now.rounds == 1:
        s.now.scale = grown
        rebuild(s)
    else:
        for j in range(m):
            pulled(s, arms[j])
        scale_grew(s, grown)
        s.now.scale = grown
        for j in range(m):
            arm_pulled(s, arms[j])
        restore_partition(s)


def rebuild(s):
    """Set up the rule's and the search's own parts of the state from the counts."""
    for j in range(s.now.n_active):
        pulled(s, s.active[j])
    setup(s)


def choose(s):
    """Write the arms that `pick` returns into ``s.picked``, and their number."""
    s.picked[0], s.picked[1] = pick(s)
    s.now.picked = 1 if s.picked[1] == NO_ARM else 2


def imagine(s, m, arms):
    """Pick the next arms as `update` does; imagined pulls do not end a run."""
    take_note(s, m, arms)
    done(s)  # `done` may compute values that `pick` uses
    choose(s)
    if not are_active(s, s.picked, s.now.picked):
        s.now.picked = 0


def without_withdrawn(s, axes):
    """Return the state of a run of the remaining arms, renumbered (plain Python only).

    ``axes`` names the arrays with an entry per arm, and their axes of arms: name -> tuple of bool.
    These arrays are restricted to the remaining arms; ``s.now`` stays the same object.
    """
    kept = s.active[: s.now.n_active]
    cut = {name: getattr(s, name)[_places(s, name, kept, axes)] for name in axes}
    return s._replace(**cut | {"n": kept.size, "active": np.arange(kept.size)})


def with_withdrawn(s, seen, axes):
    """Copy changes back into ``s`` from the state that `without_withdrawn` returned."""
    kept = s.active[: s.now.n_active]
    for name in axes:
        if getattr(s, name).flags.writeable:
            getattr(s, name)[_places(s, name, kept, axes)] = getattr(seen, name)
    known = (seen.picked >= 0) & (seen.picked < kept.size)
    s.picked[:] = np.where(known, kept[np.where(known, seen.picked, 0)], seen.picked)


def _places(s, name, kept, axes):
    """Return the index of the arms ``kept`` along the axes of arms of an array."""
    sizes = getattr(s, name).shape
    along = zip(sizes, axes[name], strict=True)
    return np.ix_(*(kept if of_arms else np.arange(size) for size, of_arms in along))


def are_active(s, arms, m):
    """Return whether the first m of ``arms``, one or two, are distinct active arms."""
    if m < 1 or m > 2 or (m == 2 and arms[0] == arms[1]):
        return False
    for j in range(m):
        if arms[j] < 0 or arms[j] >= s.n or s.status[arms[j]] != ACTIVE:
            return False
    return True


def on_withdraw(s, arm):
    """Continue without an arm."""
    if s.now.rounds > 0:
        arm_withdrawn(s, arm)


def restore(s):
    """Set up the search from the counts."""
    if s.now.rounds > 0:
        s.now.scale = scale(s)
        rebuild(s)


@open_function
def inside(s, arm):
    """Return whether an arm has one of the k largest means; not with ``searches = ()``."""


@open_function
def lowest(s):
    """Return the arm inside with the lowest lower bound; not with ``searches = ()``."""


@open_function
def highest(s):
    """Return the arm outside with the highest upper bound; not with ``searches = ()``.

    It is `NO_ARM` when all arms outside have been withdrawn.
    """


@open_function
def kth(s):
    """Return the k-th largest mean; not with ``searches = ()``."""


@open_function
def following(s):
    """Return the (k+1)-th largest mean; not with ``searches = ()``."""


@open_function
def lower(s, arm):
    """Return an arm's lower bound; not with ``searches = ()``."""


@open_function
def upper(s, arm):
    """Return an arm's upper bound, minus infinity for `NO_ARM`; not with ``searches = ()``."""
