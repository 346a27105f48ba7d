"""KL-LUCB on a finite test set, where values are whole numbers of items."""

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np

from topk._types import Whole
from topk.confidence import finite
from topk.confidence.finite import item_range, side_high, side_low
from topk.rules import NO_ARM, Arms, Indices, base, highest, lower, lowest, rule, upper
from topk.rules.indices import on_withdraw as withdraw_from_pair
from topk.rules.search.interface import Search
from topk.strategies.by_sides import level_above, level_below, note_withdrawal, sides_state


@dataclass(frozen=True)
class FiniteKLLUCB(Indices):
    r"""The rule of `topk.KLLUCB` if each arm has N 0/1 results, drawn without replacement.

    An arm's bounds L and U are the one-sided ones of `topk.confidence.finite`, at the levels of
    `topk.confidence.sides`, divided by N; with ``levels="arms"`` the ends of
    `topk.confidence.interval` with ``items=N`` at delta / n.  The run ends when U of l is at most
    epsilon above L of h; otherwise h and l are pulled, except an arm whose N results are all known.

    Parameters
    ----------
    k, epsilon, delta, budget, levels
        As for `topk.KLLUCB`.
    items : int
        N.

    Notes
    -----
    The guarantee is that of `topk.confidence.sides`, whose proof allows the bounds to touch.  If
    all results of h and l are known, :math:`L_h` and :math:`U_l` are their true values, and
    :math:`L_h \geq U_l` since h is among the k largest means.  Hence a run ends after at most n N
    pulls, also with ties and epsilon = 0.
    """

    k: int
    epsilon: float
    delta: float
    items: int
    budget: Whole | None = None
    levels: Literal["sides", "arms"] = "sides"
    certifies = anytime = skips_known = True
    carries = ("settled",)
    stops_by = joins_by = property(
        lambda self: "sides" if self.levels == "sides" else "intervals"
    )

    def state(self, arms: Arms) -> dict[str, Any]:
        """Return the levels, epsilon rounded down to whole items plus half an item, and tables."""
        log_factorials, log_halves = finite.log_tables(self.items)
        by_sides = self.levels == "sides"
        return sides_state(arms, self.k, self.delta, by_sides) | {
            "level": math.log(self.delta / arms.n),
            "margin": (finite.tolerated_items(self.epsilon, self.items) + 0.5) / self.items,
            "log_factorials": log_factorials,
            "log_halves": log_halves,
            "prior": finite.prior_below(self.items) if by_sides else np.zeros(2),
        }

    @rule
    def interval(s, arm):
        """Hypothetical pulls may exceed the number of items, and their sum may be fractional."""
        t = min(s.pulls[arm], s.items)
        ones = min(int(s.sums[arm] + 0.5), t)
        if s.by_sides:
            tables = s.log_factorials, s.log_halves, s.prior
            low = side_low(t, ones, s.items, level_below(s, arm), *tables)
            high = side_high(t, ones, s.items, level_above(s, arm), *tables)
        else:
            low, high = item_range(t, ones, s.items, s.level, s.log_factorials, s.log_halves)
        return low / s.items, high / s.items

    def substitutions(self, search: Search | None) -> dict[Callable[..., Any], Callable[..., Any]]:
        """Return the functions that replace those of the form, by the replaced function."""
        found = super().substitutions(search)
        # a derived class may have its own function
        if self.levels == "arms" and found[base.on_withdraw] is FiniteKLLUCB.on_withdraw:
            found[base.on_withdraw] = withdraw_from_pair
        return found

    @rule
    def on_withdraw(s, arm):
        sums = np.rint(s.sums).astype(np.int64)
        note_withdrawal(s, arm, finite.side_ends(s.pulls, sums, s.items))

    @rule
    def pick(s):
        """Return the arms of the pair that are not known completely."""
        low, high = lowest(s), highest(s)
        if s.pulls[high] >= s.items:
            high = NO_ARM
        return (high, NO_ARM) if s.pulls[low] >= s.items else (low, high)

    @rule
    def done(s):
        return upper(s, highest(s)) - lower(s, lowest(s)) < s.margin
