"""LUCB with intervals that adapt to the variance of bounded rewards."""

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np

from topk._checks import check_choice
from topk._types import Floats, Whole
from topk.confidence import capital
from topk.confidence.betting import betting_bounds
from topk.confidence.capital import (
    capital_ends,
    capital_high,
    capital_interval,
    capital_low,
    log_products,
    multiply,
)
from topk.rules import Arms, Stored, base, indices, rule
from topk.rules.indices import INSIDE, OUTSIDE
from topk.rules.indices import on_withdraw as withdraw_from_pair
from topk.rules.search.interface import Search
from topk.strategies.by_sides import level_of, note_withdrawal, sides_state
from topk.strategies.kllucb import LEVELS, Floored, floor_state


@dataclass(frozen=True)
class BettingLUCB(Floored):
    r"""Pull the pair of `KLLUCB`, with bounds that adapt to the variance of rewards in [0, 1].

    The strategy is meant for grades, ratings, times and other rewards that are not all 0 or 1.  An
    arm's bounds come from the exact capital of 30 bets on a larger and 30 on a smaller mean, of
    which an arm keeps the products of its rewards' factors, see `topk.confidence.capital`.  The
    smaller the variance, the closer they are; for 0/1 rewards they are about those of `KLLUCB`.

    Let h be the arm with the lowest lower bound among the k largest means, and l the arm with the
    highest upper bound among the others.  The run ends when :math:`U_l - L_h < \epsilon`; otherwise
    both are pulled, as far as this helps, with the floor of `KLLUCB` if epsilon is 0.

    Parameters
    ----------
    k, epsilon, delta, budget
        As in `KLLUCB`, with the same guarantee.
    levels : {'sides', 'arms'}
        As in `KLLUCB`.  By arms the interval of an arm is that of `topk.confidence.interval` with
        squares, at delta / n: it depends on the number of the arm's rewards, their sum, and the sum
        of their squares, and needs about 1.8 times as many pulls at standard deviations of 0.05 to
        0.1.

    Raises
    ------
    ValueError
        By `start` if the rewards are not bounded.

    See Also
    --------
    KLLUCB : for rewards 0 and 1.
    PairedBetting : compares the i-th rewards of arms with each other.

    Notes
    -----
    The bets are those of Waudby-Smith and Ramdas (2024).  The proof of the guarantee is that of
    `KLLUCB`.  A run ends with probability 1 if epsilon is positive or there is no tie at the
    boundary, since the bounds lie inside those of `KLLUCB` at delta / 2.

    A session takes a single reward as it is; a sum of several rewards that are not all 0 or 1 must
    come with ``squares``, the sum of their squares, and then counts as the least capital that
    count, sum and squares allow.

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
    levels: Literal["sides", "arms"] = "sides"
    uses_squares = bounded = True
    carries = ("settled", "mantissas", "exponents")
    stops_by = joins_by = property(
        lambda self: "sides" if self.levels == "sides" else "intervals"
    )
    checks = Floored.checks | {"levels": lambda value, name: check_choice(value, name, LEVELS)}

    def state(self, arms: Arms) -> dict[str, Any]:
        """Return the levels, what `Floored` needs, and the products of each arm."""
        by_sides = self.levels == "sides"
        found = sides_state(arms, self.k, self.delta, by_sides)
        floored = floor_state(self.epsilon == 0)
        shape = arms.n if by_sides else 0, 2 * capital.COUNT
        return found | floored | {
            "level": math.log(arms.n / self.delta),
            "mantissas": Stored("real", shape),
            "exponents": Stored("count", shape),
            "terms": np.zeros(capital.COUNT),
            "now": found["now"] | floored["now"],
        }

    def intervals(self, seen: Any) -> tuple[Floats, Floats]:
        """Return two-sided bounds, all valid at all times with probability 1 - delta."""
        if self.levels == "arms":
            return super().intervals(seen)
        pulls, logs = seen.pulls.astype(np.float64), log_products(seen.mantissas, seen.exponents)
        return capital_interval(pulls, seen.sums, logs, math.log(seen.n / self.delta))

    @rule
    def rewarded(s, m, arms, counts, sums, squares):
        if s.by_sides:
            for j in range(m):
                multiply(s.mantissas, s.exponents, arms[j], counts[j], sums[j], squares[j])

    def substitutions(self, search: Search | None) -> dict[Callable[..., Any], Callable[..., Any]]:
        """Return the functions that replace those of the form, by the replaced function."""
        found, by_sides = super().substitutions(search), self.levels == "sides"
        # a derived class may have its own functions
        if by_sides and found[indices.interval] is BettingLUCB.interval:
            found[indices.bound] = bound_by_side
        if not by_sides and found[base.on_withdraw] is BettingLUCB.on_withdraw:
            found[base.on_withdraw] = withdraw_from_pair
        return found

    @rule
    def on_withdraw(s, arm):
        pulls, logs = s.pulls.astype(np.float64), log_products(s.mantissas, s.exponents)
        note_withdrawal(s, arm, capital_ends(pulls, s.sums, logs))

    @rule
    def interval(s, arm):
        if s.by_sides:
            return bound_by_side(s, arm, INSIDE)[0], bound_by_side(s, arm, OUTSIDE)[0]
        return betting_bounds(float(s.pulls[arm]), s.sums[arm], s.squares[arm], s.level)


def bound_by_side(s, arm, side):
    """Return the bound of `BettingLUCB` that an arm's side needs, and its weight."""
    counts = float(s.pulls[arm]), s.sums[arm], s.squares[arm]
    rest = s.mantissas, s.exponents, arm, level_of(s, arm, side), s.terms
    if side == INSIDE:
        return capital_low(*counts, *rest), 0.0
    return capital_high(*counts, *rest), 0.0
