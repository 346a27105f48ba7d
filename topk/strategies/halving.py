"""Halving: the worse half of the arms is dropped in each round (Kalyanakrishnan and Stone 2010)."""

import math
from dataclasses import dataclass
from typing import Any

from topk._checks import positive
from topk._types import Whole
from topk.rules import BY_RULE, Arms, Rounds, allocates, rank_fresh, reject, rule, whole_pulls


@dataclass(frozen=True)
class Halving(Rounds):
    r"""Drop the worse half of the arms until k remain.

    In round l = 1, 2, ... every remaining arm is pulled

    .. math:: \Big\lceil \frac{2}{\epsilon_l^2}\ln\frac{3k}{\delta_l} \Big\rceil,
       \qquad \epsilon_l = \frac\epsilon4\Big(\frac34\Big)^{l-1},\quad
       \delta_l = \frac{\delta}{2^l},

    times, and the :math:`\max(\lceil|R|/2\rceil, k)` arms of the remaining set R with the largest
    means in this round are kept.  After :math:`\lceil\log_2(n/k)\rceil` rounds k arms remain.

    Parameters
    ----------
    k : int
        Number of arms to select, from 1 to n - 1.
    epsilon : float
        Per-arm tolerance, in (0, 1): with probability 1 - delta the mean of every returned arm is
        at least the k-th largest minus epsilon.
    delta : float
        Failure probability, in (0, 1).
    budget : int, optional
        Maximum number of pulls, at least n.  If it ends the run inside a round, the remaining pulls
        are spread evenly over the remaining arms (one more for the lower indices), and those with
        the largest means of all their pulls are returned.

    See Also
    --------
    SequentialHalving : the rule with a fixed budget.
    LUCB1 : follows the bounds of arms.

    Notes
    -----
    Kalyanakrishnan and Stone (2010); the constants are taken from an independent implementation and
    the proof is ours.  Each round uses only its own rewards, never earlier ones.

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
    budget: Whole | None = None
    certifies = anytime = fresh = True
    checks = Rounds.checks | {"epsilon": positive}

    def state(self, arms: Arms) -> dict[str, Any]:
        """Return ln(6 k / delta)."""
        return {"log_halving": math.log(6 * self.k / self.delta)}

    @rule
    def share(s):
        """Return the round's pulls of each arm, which are fixed in advance."""
        return halving_share(s.epsilon, s.log_halving, s.now.rounds - 1)

    @rule
    @allocates
    def decide(s):
        """Keep the better half by this round's means, but at least k arms."""
        ranked = rank_fresh(s, 1.0)
        for place in range(max((ranked.size + 1) // 2, s.k), ranked.size):
            reject(s, ranked[place])
        if ranked.size <= 2 * s.k:
            s.now.ended = BY_RULE


def halving_share(eta, log_ratio, level):
    """Return the pulls of each arm at level l = 0, 1, ...; eta_l = (eta/4) (3/4)^l sum to eta."""
    precision = max(eta / 4 * 0.75 ** float(level), 1e-100)
    return whole_pulls(2 / (precision * precision) * (log_ratio + level * math.log(2.0)))
