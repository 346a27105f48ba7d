"""Index strategies: bounds put some arms at risk, and these are pulled, one or two at a time.

The arms are parted in groups, the k largest means and the others for most rules.  A search for
winners (a *partition*: `topk_scan`, `topk_trees`, ...) knows who is at risk.  An arm's bounds are
``low - s * weight`` and ``high + s * weight``: by default low and high are the mean, weight is
one over the square root of the pulls, and s is what the rule ``scale`` returns, never falling.
"""

import math

from topk.rules.base import ACTIVE, BY_BUDGET, BY_RULE, WRONG
from topk.rules.marks import open_function


def scale(s):
    """Return s; called once a round."""
    return 0.0


def line(s, arm):
    """Return an arm's low, high and weight; called when the arm has been pulled."""
    mean = s.sums[arm] / s.pulls[arm]
    return mean, mean, 1 / math.sqrt(s.pulls[arm])


@open_function
def pick(s, arms):
    """Write the arms to be pulled next, once each, and return how many."""


def done(s):
    """Tell whether the play's promise holds now."""
    return False


def setup(s):
    """Partition: look at all arms."""


def moved(s, arm):
    """Partition: an arm has been pulled."""


def grow(s, scale):
    """Partition: a new s."""


def mend(s):
    """Partition: put every arm back into its group."""


def leave(s, arm):
    """Partition: an arm has been withdrawn."""
    setup(s)


def ask(s, arms, counts):
    """Ask for every arm once (or as often as the strategy says), then for those of `pick`."""
    if s.now.ended:
        return 0
    if s.now.rounds == 0:
        for j in range(s.now.live):
            arms[j], counts[j] = s.active[j], s.first
        return s.now.live
    for j in range(s.now.picked):
        arms[j], counts[j] = s.picked[j], 1
    return s.now.picked


def update(s, m, arms):
    """Bring the partition up to date, test for the end, and find who is pulled next."""
    take_note(s, m, arms)
    if done(s):
        s.now.ended = BY_RULE
    elif 0 <= s.budget <= s.now.total:
        s.now.ended = BY_BUDGET
    else:  # here and not in `ask`, which may be called twice
        s.now.picked = pick(s, s.picked)
        if not are_active(s, s.picked, s.now.picked):
            s.now.ended = WRONG
        if s.budget >= 0:  # a pair that would exceed the budget pulls its first arm only
            s.now.picked = min(s.now.picked, s.budget - s.now.total)


def take_note(s, m, arms):
    """Bring the partition up to date."""
    s.now.rounds += 1
    grown = scale(s)
    if s.now.rounds == 1:
        s.now.scale = grown
        setup(s)
    else:
        grow(s, grown)
        s.now.scale = grown
        for j in range(m):
            moved(s, arms[j])
        mend(s)


def imagine(s, m, arms):
    """Find who is pulled next, as `update` does; what is only imagined does not end a play."""
    take_note(s, m, arms)
    done(s)  # in which a rule may find out what `pick` looks at
    s.now.picked = pick(s, s.picked)
    if not are_active(s, s.picked, s.now.picked):
        s.now.picked = 0


def are_active(s, arms, m):
    """Tell whether the first m of ``arms``, one or two, are different arms that can be pulled."""
    if m < 1 or m > 2 or (m == 2 and arms[0] == arms[1]):
        return False
    for j in range(m):
        if arms[j] < 0 or arms[j] >= s.n or s.status[arms[j]] != ACTIVE:
            return False
    return True


def left(s, arm):
    """Go on without an arm."""
    if s.now.rounds > 0:
        leave(s, arm)


def restore(s):
    """Set up the partition from the counts."""
    if s.now.rounds > 0:
        s.now.scale = scale(s)
        setup(s)


@open_function
def inside(s, arm):
    """Partition by rank k: tell whether an arm is one of the k largest means."""


@open_function
def lowest(s):
    """Partition by rank k: return the arm inside with the lowest lower bound."""


@open_function
def highest(s):
    """Partition by rank k: return the arm outside with the highest upper bound, or `NOBODY`."""


@open_function
def kth(s):
    """Partition by rank k: return the k-th largest mean."""


@open_function
def following(s):
    """Partition by rank k: return the k+1-th largest mean."""


@open_function
def lower(s, arm):
    """Partition by rank k: return an arm's lower bound."""


@open_function
def upper(s, arm):
    """Partition by rank k: return an arm's upper bound, minus infinity for `NOBODY`."""
