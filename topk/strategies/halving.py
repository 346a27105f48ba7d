"""Halving (Kalyanakrishnan and Stone 2010)."""

import math
from dataclasses import dataclass

from topk.engine.composing import rule
from topk.engine.loop import BY_RULE
from topk.engine.rounds import rank_fresh, reject, whole_pulls
from topk.engine.strategy import Rounds, positive_epsilon


@dataclass(frozen=True)
class Halving(Rounds):
    r"""Drop the worse half of the arms until k are left.

    In round l = 1, 2, ... every remaining arm is pulled

    .. math:: \Big\lceil \frac{2}{\epsilon_l^2}\ln\frac{3k}{\delta_l} \Big\rceil,
       \qquad \epsilon_l = \frac\epsilon4\Big(\frac34\Big)^{l-1},\quad
       \delta_l = \frac{\delta}{2^l},

    times, and the :math:`\max(\lceil|R|/2\rceil, k)` arms with the largest means of this
    round are kept, until k are left after :math:`\lceil\log_2(n/k)\rceil` rounds.

    Parameters
    ----------
    k : int
        How many arms are wanted, 1 to n - 1.
    epsilon : float
        Per-arm tolerance, in (0, 1): with probability 1 - delta every returned arm has
        a mean of at least the k-th largest minus epsilon.
    delta : float
        Probability of failure, in (0, 1).
    budget : int, optional
        The most pulls that may be made, at least n.  When it ends the play inside a round,
        what is left is spread evenly over the remaining arms (one more for the lower
        indices), and those with the largest means of all their pulls are returned.

    Raises
    ------
    ValueError
        If a parameter is out of range; ``budget`` is compared with n at `start`.

    Notes
    -----
    Kalyanakrishnan and Stone (2010); the constants are read off an independent
    implementation and the proof is ours.  The rule needs the pulls of a round to be fresh:
    earlier rewards are not looked at again.

    Examples
    --------
    >>> import topk
    >>> bandit = topk.BernoulliBandit([0.9, 0.8, 0.1, 0.2])
    >>> topk.run(Halving(2, epsilon=0.3, delta=0.1), bandit, rng=0).selected.tolist()
    [0, 1]
    """

    k: int
    epsilon: float
    delta: float
    budget: int | None = None
    certifies = anytime = fresh = True
    checks = Rounds.checks | {"epsilon": positive_epsilon}

    def constants(self, n):
        """Return ln(3 k / delta)."""
        return {"log_halving": math.log(3 * self.k / self.delta)}

    @rule
    def share(s):
        """The round's pulls are fixed beforehand."""
        return halving_share(s.epsilon, s.log_halving, s.now.rounds)

    @rule
    def decide(s):
        """The better half by this round's means is kept, but no fewer than k."""
        ranked = rank_fresh(s, 1.0)
        for place in range(max((ranked.size + 1) // 2, s.k), ranked.size):
            reject(s, ranked[place])
        if ranked.size <= 2 * s.k:
            s.now.ended = BY_RULE


def halving_share(epsilon, log_ratio, level):
    """Return the pulls of each arm in round l, cut to what stays a whole number."""
    precision = max(epsilon / 4 * 0.75 ** (level - 1), 1e-100)
    return whole_pulls(2 / precision**2 * (log_ratio + level * math.log(2.0)))


def total_pulls(n, k, epsilon, delta):
    """Return the pulls that Halving makes in all; they do not depend on the rewards."""
    total, level, log_ratio = 0, 1, math.log(3 * k / delta)
    while n > k:
        total += int(n * halving_share(epsilon, log_ratio, level))
        n, level = max((n + 1) // 2, k), level + 1
    return total
