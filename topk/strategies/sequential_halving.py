"""Sequential Halving for the k best arms, with a fixed budget."""

from dataclasses import dataclass

from topk._checks import check_flag
from topk.rules import BY_BUDGET, Rounds, allocates, rank, rank_fresh, reject, rule


@dataclass(frozen=True)
class SequentialHalving(Rounds):
    r"""Spend the same part of the budget in every round, and drop the worse half of the arms.

    There are :math:`R = \lceil\log_2(n/k)\rceil` rounds.  In round r = 1, ..., R each arm of the
    remaining set S is pulled

    .. math:: t_r = \Big\lfloor \frac{Q - Q_{r-1}}{|S|\,(R - r + 1)} \Big\rfloor

    times, where Q is the budget and :math:`Q_{r-1}` what the rounds before have used; then the
    :math:`\max(\lceil|S|/2\rceil, k)` arms with the largest means are kept.  After round R these
    are the k arms returned.

    Parameters
    ----------
    k : int
        How many arms are wanted, 1 to n - 1.
    budget : int
        Q, the most pulls that may be made, at least n.
    reuse : bool
        Whether means are taken over all pulls of an arm, or over those of the round alone.

    Raises
    ------
    ValueError
        If a parameter is out of range; ``budget`` is compared with n at `start`.

    Notes
    -----
    Karnin, Koren and Somekh (2013) state the rule for k = 1: there R is
    :math:`\lceil\log_2 n\rceil` and :math:`t_r = \lfloor Q/(|S| R)\rfloor`.  We read it in
    independent implementations, which differ in whether a round looks back at earlier rewards:
    ``reuse=False`` is the form whose rounds are independent.  The default uses every
    reward, as `SAR` does.

    What is ours: the form for k > 1, which is the same rule stopped at k arms, with R reduced
    to the rounds that this takes; and the whole pulls.  What a round leaves over when it rounds
    down is shared by the later ones, so that in the end fewer pulls are left than the last
    round has arms.  The first round gives every arm at least one pull, whatever the budget, and a
    later round whose share is below one pull an arm decides by the means of all pulls.  Of equal
    means the arm of larger index is dropped.  When arms are withdrawn, R - r + 1 is the number of
    rounds that those that are left need.

    Examples
    --------
    >>> import topk
    >>> bandit = topk.BernoulliBandit([0.1, 0.2, 0.9, 0.3, 0.8, 0.1])
    >>> outcome = topk.run(SequentialHalving(2, budget=400), bandit, rng=0)
    >>> outcome.selected.tolist(), outcome.pulls.tolist()
    ([2, 4], [33, 100, 100, 33, 100, 33])
    """

    k: int
    budget: int
    reuse: bool = True
    checks = Rounds.checks | {"reuse": check_flag}

    fresh = property(lambda self: not self.reuse)  # a round's own rewards decide

    @rule
    def share(s):
        """An equal part of what is left of the budget, for each round that is still to come."""
        size, left = s.now.live, s.budget - s.now.total
        if size <= s.k:
            s.now.ended = BY_BUDGET
            return 0
        pulls = left // (size * halvings(size, s.k))
        return min(1, left // size) if s.now.rounds == 1 and pulls == 0 else pulls

    @rule
    @allocates
    def decide(s):
        """The better half is kept, but no fewer than k."""
        ranked = rank_fresh(s, 1.0) if not s.reuse and s.now.each > 0 else rank(s)
        for place in range(max((ranked.size + 1) // 2, s.k), ranked.size):
            reject(s, ranked[place])
        if ranked.size <= 2 * s.k:
            s.now.ended = BY_BUDGET


def halvings(size, k):
    """Return how often a set is halved, rounded up, until k arms or fewer are left."""
    rounds = 0
    while size > k:
        size, rounds = (size + 1) // 2, rounds + 1
    return rounds
