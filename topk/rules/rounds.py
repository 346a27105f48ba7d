"""Strategies in rounds: all active arms are pulled alike, then some of them are settled."""

import math

import numpy as np

from topk.rules.base import ACCEPTED, BY_BUDGET, REJECTED, WRONG, equal_shares, keep_active
from topk.rules.marks import allocates, open_function
from topk.rules.ranking import ranked_by

EMPTY = 1000  # rounds without pulls after which the rule is taken to be wrong
EVERYTHING = -1  # a share: all that the budget has left, spread evenly


@open_function
def share(s):
    """Return the pulls that each arm of the round gets; called once, as a round opens."""


@open_function
def decide(s):
    """Accept and reject arms, or end the play; called when a round is complete."""


@allocates
def batch(s):
    """Return the arms that the round pulls; by default all active ones."""
    return s.active[: s.now.live]


@allocates
def ask(s, arms, counts):
    """Ask for the round's pulls, or for what the budget has left of them."""
    if s.now.ended:
        return 0
    pulled, pulls = batch(s), s.budget - s.now.total
    for j in range(pulled.size):  # an assignment of arrays takes a second more to compile
        arms[j], counts[j] = pulled[j], s.now.each
    if not s.now.cut:
        return pulled.size
    equal_shares(pulls, pulled.size, counts)
    return min(pulled.size, pulls)


def update(s, m, arms):
    """Decide, unless the budget has cut the round, and open the next one."""
    if s.now.cut and s.now.each != EVERYTHING:
        s.now.ended = BY_BUDGET
        return
    decide(s)
    open_round(s)


def open_play(s):
    """Open the first round, of all arms, before which there is nothing to remember."""
    settle_round(s)


def open_round(s):
    """Settle what the next round pulls, and of whom."""
    keep_active(s)
    remember(s)
    settle_round(s)


@allocates
def settle_round(s):
    """Settle what the next round pulls; a round without pulls is decided at once.

    There may be as many in a row as there are arms, and `EMPTY` more.
    """
    for _ in range(s.n + EMPTY):
        if s.now.wanted < 0 and s.bandits == 1:  # of several a rule counts for itself
            s.now.ended = WRONG
        if s.now.ended:
            return
        if s.now.live == 0 or 0 <= s.budget <= s.now.total:
            s.now.ended = BY_BUDGET
            return
        s.now.rounds += 1
        s.now.each = share(s)
        if s.now.each < EVERYTHING:
            s.now.ended = WRONG
            return
        size, pulls = batch(s).size, s.budget - s.now.total
        too_many = s.budget >= 0 and s.now.each > pulls // max(size, 1)
        s.now.cut = too_many or s.now.each == EVERYTHING
        if s.now.ended or (s.now.each != 0 and size > 0):
            return
        decide(s)
        keep_active(s)
        remember(s)
    if not s.now.ended:
        s.now.ended = WRONG


def restore(s):
    """Nothing but counts decides."""


def remember(s):
    """Keep the active arms' counts as they are before the round, for strategies in need of them."""
    if s.earlier_pulls.size > 0:
        for j in range(s.now.live):
            arm = s.active[j]
            s.earlier_pulls[arm] = s.pulls[arm]
            s.earlier_sums[arm] = s.sums[arm]


@allocates
def fresh_sums(s):
    """Return every arm's sum of this round's rewards."""
    return s.sums - s.earlier_sums


@allocates
def rank_fresh(s, sign):
    """Return the round's arms by ``sign`` (1.0 or -1.0) times the means of its rewards, best first.

    It needs ``fresh = True``.
    """
    return ranked_by(s.sums - s.earlier_sums, s.pulls - s.earlier_pulls, batch(s), sign)


def accept(s, arm):
    """Take an arm into the set for good."""
    s.status[arm] = ACCEPTED
    s.now.wanted -= 1


def reject(s, arm):
    """Leave an arm out of the set for good."""
    s.status[arm] = REJECTED


def end_with(s, ranked, why):
    """End the play: accept the first ``wanted`` of the ranked arms, reject the others."""
    for j in range(ranked.size):
        if s.now.wanted > 0:
            accept(s, ranked[j])
        else:
            reject(s, ranked[j])
    s.now.ended = why


def whole_pulls(pulls):
    """Round up; numbers that no budget reaches are cut so as to stay whole numbers."""
    return np.int64(math.ceil(min(pulls, 2.0**53)))


def gaps(s, sums, ranked, first, last):
    """Return the gaps to the boundary of the ranks ``first`` and ``last``, both ends of the rest.

    All active arms have as many pulls: sums compare as means do.  Where one side of the
    boundary is empty there are no gaps.
    """
    wanted, size = s.now.wanted, last - first + 1
    if wanted == 0 or wanted == size:
        return 0.0, 0.0
    above = sums[ranked[first]] - sums[ranked[first + wanted]]
    return above, sums[ranked[first + wanted - 1]] - sums[ranked[last]]


def first_leaves(s, sums, ranked, first, last):
    """Tell whether the rank ``first`` is settled next, rather than the rank ``last``.

    The larger gap decides; of equal ones the larger rank distance from the boundary; if that
    is equal too, the last rank leaves.
    """
    wanted, size = s.now.wanted, last - first + 1
    above, below = gaps(s, sums, ranked, first, last)
    if wanted == 0 or wanted == size:
        return wanted == size
    if above != below:
        return above > below
    return wanted > size - wanted
