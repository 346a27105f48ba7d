"""Sequential Halving for the k best arms, with a fixed budget."""

from dataclasses import dataclass

from topk._checks import check_flag
from topk._types import Whole
from topk.rules import BY_BUDGET, Rounds, accept, allocates, rank, rank_fresh, reject, rule


@dataclass(frozen=True)
class SequentialHalving(Rounds):
    r"""Spend an equal part of the budget in every round, and drop the worse half of the arms.

    There are :math:`R = \lceil\log_2(n/k)\rceil` rounds.  In round r = 1, ..., R each arm of the
    remaining set S is pulled

    .. math:: t_r = \Big\lfloor \frac{Q - Q_{r-1}}{|S|\,(R - r + 1)} \Big\rfloor

    times, where Q is the budget and :math:`Q_{r-1}` the number of pulls in earlier rounds; then the
    :math:`\max(\lceil|S|/2\rceil, k)` arms with the largest means are kept.  After round R these
    are the k arms returned.

    If 2k > n, the n - k worst arms are sought instead: there are
    :math:`\lceil\log_2(n/(n-k))\rceil` rounds, and each accepts the arms with the largest means
    until :math:`\max(\lceil|S|/2\rceil, n - k)` are left.  After the last round these are dropped.

    Parameters
    ----------
    k : int
        Number of arms to select, from 1 to n - 1.
    budget : int
        Q, the maximum number of pulls, at least n.
    reuse : bool
        Whether means are taken over all pulls of an arm, or over those of the round only.

    See Also
    --------
    SAR : one arm leaves in each round.
    Halving : the rule with fixed confidence.

    Notes
    -----
    Karnin, Koren and Somekh (2013) state the rule for k = 1: there R is
    :math:`\lceil\log_2 n\rceil` and :math:`t_r = \lfloor Q/(|S| R)\rfloor`.  The rule is taken from
    independent implementations, which differ in whether a round uses earlier rewards: with
    ``reuse=False`` the rounds are independent.  The default uses all rewards, as `SAR` does.

    Three things are ours: the form for k > 1, which is the same rule stopped at k arms, with R
    reduced to the rounds that this takes; the form for 2k > n, which halves the smaller side of the
    boundary; and the treatment of whole pulls.  The pulls that a round
    leaves over by rounding down are shared by later rounds, so that the number of unused pulls in
    the end is less than the number of arms in the last round.  The first round gives every arm at
    least one pull, whatever the budget, and a later round whose share is below one pull per arm
    decides by the means of all pulls.  Of equal means the arm with the larger index is dropped,
    and that with the lower index accepted.  When arms are withdrawn, R - r + 1 becomes the number
    of rounds that the remaining arms need, and n - k the number of arms still to be dropped; the
    form stays that of the start.

    Examples
    --------
    >>> import topk
    >>> bandit = topk.BernoulliBandit([0.1, 0.2, 0.9, 0.3, 0.8, 0.1])
    >>> outcome = topk.run(SequentialHalving(2, budget=400), bandit, rng=0)
    >>> outcome.selected.tolist(), outcome.pulls.tolist()
    ([2, 4], [33, 100, 100, 33, 100, 33])
    """

    k: int
    budget: Whole
    reuse: bool = True
    checks = Rounds.checks | {"reuse": check_flag}

    fresh = property(lambda self: not self.reuse)  # decisions use the round's own rewards

    @rule
    def share(s):
        """Divide the remaining budget equally among the remaining rounds."""
        size, left, sought = s.now.n_active, s.budget - s.now.total, sought_of(s)
        if sought <= 0 or size <= sought:
            s.now.ended = BY_BUDGET
            return 0
        pulls = left // (size * halvings(size, sought))
        return min(1, left // size) if s.now.rounds == 1 and pulls == 0 else pulls

    @rule
    @allocates
    def decide(s):
        """Settle half of the arms, but leave at least those that are sought."""
        ranked = rank_fresh(s, 1.0) if not s.reuse and s.now.each > 0 else rank(s)
        sought, size = sought_of(s), ranked.size
        settled = size - max((size + 1) // 2, sought)
        for place in range(settled):
            if 2 * s.k > s.n:
                accept(s, ranked[place])
            else:
                reject(s, ranked[size - 1 - place])
        if size <= 2 * sought:
            s.now.ended = BY_BUDGET


def sought_of(s):
    """Return the size of the set that is sought: the k best, or the arms still to be dropped."""
    return s.now.n_active - s.now.wanted if 2 * s.k > s.n else s.k


def halvings(size, k):
    """Return how often a set must be halved, rounding up, until at most k arms remain."""
    rounds = 0
    while size > k:
        size, rounds = (size + 1) // 2, rounds + 1
    return rounds
