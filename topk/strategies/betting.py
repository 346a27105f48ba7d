"""LUCB with intervals that adapt to the variance of bounded rewards."""

import math
from dataclasses import dataclass
from typing import Any

from topk._types import Whole
from topk.betting import betting_bounds
from topk.rules import Arms, Strategy, apart, rule
from topk.strategies.lucb import Floored, floor_state

apart(betting_bounds)


@dataclass(frozen=True)
class BettingLUCB(Floored):
    r"""Pull the pair of `KLLUCB`, with bounds that adapt to the variance of rewards in [0, 1].

    The strategy is meant for grades, ratings, times and other rewards that are not all 0 or 1.  The
    interval of an arm is that of `topk.confidence.interval` with squares, at delta / n: it depends
    on the number of the arm's rewards, their sum, and the sum of their squares.  The smaller
    the variance, the shorter it is; for 0/1 rewards it is about as long as that of `KLLUCB`.

    Let h be the arm with the lowest lower bound among the k largest means, and l the arm with the
    highest upper bound among the others.  The run ends when :math:`U_l - L_h < \epsilon`; otherwise
    both are pulled.  If epsilon is 0 and some arm has fewer than :math:`\sqrt t - n/2` of all t
    pulls, the arm with the fewest pulls is pulled instead of the pair.

    Parameters
    ----------
    k, epsilon, delta, budget
        As in `KLLUCB`, with the same guarantee.

    Raises
    ------
    ValueError
        By `start` if the rewards are not bounded.

    Notes
    -----
    The bets are those of Waudby-Smith and Ramdas (2024); `topk.betting` shows that the three
    numbers give a bound on the capital.  All intervals are valid at all times with probability 1 -
    delta, whatever the sampling rule and the withdrawals; the proof of the guarantee is that of
    `KLLUCB`.  A run ends with probability 1 if epsilon is positive or there is no tie at the
    boundary, since the interval lies inside that of `KLLUCB` at delta / 2.

    A session takes a single reward as it is; a sum of several rewards that are not all 0 or 1 must
    come with ``squares``, the sum of their squares.

    Examples
    --------
    >>> import topk
    >>> bandit = topk.BetaBandit([57, 54, 48, 43], [38, 41, 47, 52])  # standard deviation 0.05
    >>> outcome = topk.run(BettingLUCB(2, epsilon=0, delta=0.05), bandit, rng=0)
    >>> outcome.selected.tolist(), outcome.certified
    ([0, 1], True)
    """

    k: int
    epsilon: float
    delta: float
    budget: Whole | None = None
    uses_squares = bounded = True
    joins_by = "intervals"

    def without_replacement(self, items: int) -> Strategy:
        """Return the rule for a finite test set, with cells of any kind."""
        from topk.strategies.graded import FiniteBettingLUCB

        return FiniteBettingLUCB(self.k, self.epsilon, self.delta, items, self.budget)

    on_grades = without_replacement

    def state(self, arms: Arms) -> dict[str, Any]:
        """Return ln(n / delta), and what `Floored` needs."""
        return {"level": math.log(arms.n / self.delta)} | floor_state(self.epsilon == 0)

    @rule
    def interval(s, arm):
        return betting_bounds(float(s.pulls[arm]), s.sums[arm], s.squares[arm], s.level)
