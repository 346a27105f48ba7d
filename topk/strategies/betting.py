"""LUCB with an interval that follows the variance of bounded rewards."""

import math
from dataclasses import dataclass
from typing import Any

from topk.betting import betting_bounds
from topk.rules import rule, shared
from topk.strategies.lucb import Floored

shared(betting_bounds)  # compiled once, with all that it calls


@dataclass(frozen=True)
class BettingLUCB(Floored):
    r"""Pull the pair of `KLLUCB`, with bounds that follow the variance of rewards in [0, 1].

    For grades, ratings, times and other rewards that are not all 0 or 1.  The interval of an arm
    is that of `topk.confidence.interval` with squares, at delta / n: it needs the number of the
    arm's rewards, their sum, and the sum of their squares.  The smaller the variance the shorter
    it is; of 0/1 rewards it is about as long as that of `KLLUCB`.

    Let h be the arm with the lowest lower bound of the k largest means and l the one with the
    highest upper bound of the others.  The run ends when :math:`U_l - L_h < \epsilon`; otherwise
    both are pulled.  If epsilon is 0, an arm with fewer than :math:`\sqrt t - n/2` of all t pulls
    is pulled in place of the pair, the one with the fewest first.

    Parameters
    ----------
    k, epsilon, delta, budget
        As for `KLLUCB`, with the same guarantee.

    Raises
    ------
    ValueError
        If a parameter is out of range; ``budget`` is compared with n at `start`.  With rewards
        that have no bounds.

    Notes
    -----
    The bets are those of Waudby-Smith and Ramdas (2024); that a bound on their capital follows from
    three numbers is shown in `topk.betting`.  All intervals hold at all times with probability
    1 - delta, whichever rule says which arm is pulled, and whatever is withdrawn; the proof of the
    guarantee is that of `KLLUCB`.  So is the proof that a run ends with probability 1 if epsilon
    is positive or the boundary is not tied, since the interval lies inside `KLLUCB`'s at delta / 2.

    In a session a single reward is told as it is; with a sum of several that are not all 0 or 1
    ``squares`` is needed, the sum of their squares.

    Examples
    --------
    >>> import topk
    >>> bandit = topk.BetaBandit([57, 54, 48, 43], [38, 41, 47, 52])  # of standard deviation .05
    >>> outcome = topk.run(BettingLUCB(2, epsilon=0, delta=0.05), bandit, rng=0)
    >>> outcome.selected.tolist(), outcome.certified
    ([0, 1], True)
    """

    k: int
    epsilon: float
    delta: float
    budget: int | None = None
    uses_squares = bounded = True

    def constants(self, n: int) -> dict[str, Any]:
        """Return ln(n / delta), and whether there is a floor."""
        return {"level": math.log(n / self.delta), "floored": int(self.epsilon == 0)}

    @rule
    def line(s, arm):
        return *betting_bounds(float(s.pulls[arm]), s.sums[arm], s.squares[arm], s.level), 0.0
