"""What rules with levels by side share: the levels of the arms, and what withdrawals change."""

import math

import numpy as np

from topk.confidence.sides import NEVER, SLACK, SPARE, Levels, settled_level, share_above
from topk.rules import Stored
from topk.rules.base import WITHDRAWN
from topk.rules.indices import INSIDE, rebuild


def sides_state(arms, k, delta, by_sides):
    """Return what bounds by side need: the levels of the arms, and when an arm was settled.

    Levels are logarithms of 1 / alpha, with `topk.confidence.sides.SLACK` added.  That of the upper
    bounds of the arms of the start changes with withdrawals; ``spare`` plus ln(j (j + 1)) is that
    of the j-th arm that has joined.
    """
    first, level = arms.first or arms.n, SLACK - math.log(delta)
    found = {"by_sides": int(by_sides), "first": first, "log_level": level}
    if not by_sides:
        return found | {"below": 0.0, "spare_above": 0.0, "spare_below": 0.0,
                        "settled": Stored("real", 0), "now": {"above": 0.0}}
    start, c = Levels(arms.n, k, first, {}), share_above(first, k)
    return found | {
        "below": float(start.below(level)[0]),
        "spare_above": level - math.log(SPARE * c),
        "spare_below": level - math.log(SPARE * (1 - c)),
        # withdrawn arm -> the largest level at which it was settled then, or `NEVER`
        "settled": Stored("real", arms.n),
        "now": {"above": float(start.above(level)[0])},
    }


def level_above(s, arm):
    """Return ln(1/alpha) of an arm's upper bound."""
    j = arm - s.first + 1.0
    return s.now.above if j <= 0 else s.spare_above + math.log(j * (j + 1))


def level_below(s, arm):
    """Return ln(1/beta) of an arm's lower bound."""
    j = arm - s.first + 1.0
    return s.below if j <= 0 else s.spare_below + math.log(j * (j + 1))


def level_of(s, arm, side):
    """Return the level of an arm's bound on a side: its lower bound `INSIDE`."""
    return level_below(s, arm) if side == INSIDE else level_above(s, arm)


def levels_of(s, arms):
    """Return the `Levels` of a run in which ``arms`` have been withdrawn (plain Python only)."""
    return Levels(s.n, s.k, s.first, {int(arm): float(s.settled[arm]) for arm in arms})


def note_withdrawal(s, arm, ends):
    """Update levels and bounds after a withdrawal (plain Python only).

    Whether the arm was settled, and up to which level, is noted in ``s.settled``.
    """
    gone = np.flatnonzero(s.status == WITHDRAWN)
    if s.settled[arm] == 0:  # otherwise it was withdrawn before others joined
        before = levels_of(s, gone[gone != arm])
        remaining = s.active[: s.now.n_active]
        s.settled[arm] = settled_level(before, ends, arm, remaining) or NEVER
    s.now.above = levels_of(s, gone).above(s.log_level)[0]
    if s.now.rounds > 0:
        rebuild(s)
