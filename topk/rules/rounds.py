"""Strategies in rounds, which pull all active arms equally often, then accept or reject some."""

import math

import numpy as np

from topk._marks import allocates
from topk.rules.base import ACCEPTED, BY_BUDGET, REJECTED, WRONG, equal_shares, keep_active
from topk.rules.marks import open_function, replaceable
from topk.rules.ranking import ranked_by

EMPTY = 1000  # rounds without pulls after which a rule is considered invalid
EVERYTHING = -1  # a share: the rest of the budget, divided evenly


@open_function
def share(s):
    """Return the number of pulls of each arm in the round; called once, when a round begins."""


@open_function
def decide(s):
    """Accept and reject arms, or end the run; called when a round is complete."""


@replaceable
@allocates
def batch(s):
    """Return the arms that the round pulls; by default all active ones."""
    return s.active[: s.now.n_active]


@allocates
def ask(s, arms, counts):
    """Ask for the pulls of the round, as far as the budget allows."""
    if s.now.ended:
        return 0
    pulled, pulls = batch(s), s.budget - s.now.total
    for j in range(pulled.size):  # assigning arrays would take longer to compile
        arms[j], counts[j] = pulled[j], s.now.each
    if not s.now.cut:
        return pulled.size
    equal_shares(pulls, pulled.size, counts)
    return min(pulled.size, pulls)


@allocates  # as `settle_round`: otherwise `decide` would be compiled twice, see topk.engine.jit
def update(s, m, arms):
    """Decide, unless the budget has truncated the round, and open the next one."""
    if s.now.cut and s.now.each != EVERYTHING:
        s.now.ended = BY_BUDGET
        return
    decide(s)
    open_round(s)


def open_play(s):
    """Open the first round, with all arms; no counts precede it."""
    settle_round(s)


@allocates
def open_round(s):
    """Determine the arms and the pulls of the next round."""
    keep_active(s)
    remember(s)
    settle_round(s)


@allocates
def settle_round(s):
    """Determine the pulls of the next round; a round without pulls is decided at once.

    At most n + `EMPTY` such rounds may follow each other.
    """
    for _ in range(s.n + EMPTY):
        if s.now.wanted < 0 and s.bandits == 1:  # with several bandits the rule itself counts
            s.now.ended = WRONG
        if s.now.ended:
            return
        if s.now.n_active == 0 or 0 <= s.budget <= s.now.total:
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
    """Nothing to rebuild: decisions depend on the counts alone."""


def remember(s):
    """Store the active arms' counts before the round, for rules with ``fresh = True``."""
    if s.earlier_pulls.size > 0:
        for j in range(s.now.n_active):
            arm = s.active[j]
            s.earlier_pulls[arm] = s.pulls[arm]
            s.earlier_sums[arm] = s.sums[arm]


@allocates
def fresh_sums(s):
    """Return the sum of this round's rewards for every arm."""
    return s.sums - s.earlier_sums


@allocates
def rank_fresh(s, sign):
    """Rank the arms of the round by ``sign`` (1.0 or -1.0) times their mean in this round.

    Requires ``fresh = True``.
    """
    return ranked_by(s.sums - s.earlier_sums, s.pulls - s.earlier_pulls, batch(s), sign)


def check_arm(s, arm):
    """Refuse what is not a number of an arm; compiled code would write elsewhere in memory."""
    if arm < 0 or arm >= s.n:
        raise IndexError("a rule accepts or rejects an arm that does not exist")


def accept(s, arm):
    """Accept an arm: it will be in the returned set."""
    check_arm(s, arm)
    s.status[arm] = ACCEPTED
    s.now.wanted -= 1


def reject(s, arm):
    """Reject an arm: it will not be in the returned set."""
    check_arm(s, arm)
    s.status[arm] = REJECTED


def end_with(s, ranked, why):
    """End the run: accept the first ``s.now.wanted`` of the ranked arms, reject the others."""
    for j in range(ranked.size):
        if s.now.wanted > 0:
            accept(s, ranked[j])
        else:
            reject(s, ranked[j])
    s.now.ended = why


def whole_pulls(pulls):
    """Round up to an integer; numbers beyond any budget are capped at 2**53."""
    return np.int64(math.ceil(min(pulls, 2.0**53)))


def gaps(s, sums, ranked, first, last):
    """Return the gaps of the first and the last remaining rank to the boundary.

    All active arms have the same number of pulls, so sums are compared instead of means.  Both
    gaps are 0 if one side of the boundary is empty.
    """
    wanted, size = s.now.wanted, last - first + 1
    if wanted == 0 or wanted == size:
        return 0.0, 0.0
    above = sums[ranked[first]] - sums[ranked[first + wanted]]
    return above, sums[ranked[first + wanted - 1]] - sums[ranked[last]]


def first_leaves(s, sums, ranked, first, last):
    """Return whether the rank ``first``, rather than ``last``, is decided next.

    The larger gap decides; if the gaps are equal, the larger distance in rank from the boundary;
    if these are equal, too, the last rank is rejected.
    """
    wanted, size = s.now.wanted, last - first + 1
    above, below = gaps(s, sums, ranked, first, last)
    if wanted == 0 or wanted == size:
        return wanted == size
    if above != below:
        return above > below
    return wanted > size - wanted
