"""KL-LUCB on a finite test set, where values are whole numbers of items."""

import math
from dataclasses import dataclass
from typing import Any

from topk import finite
from topk._types import Whole
from topk.finite import item_range
from topk.rules import NO_ARM, Arms, Indices, highest, lower, lowest, rule, upper


@dataclass(frozen=True)
class FiniteKLLUCB(Indices):
    r"""The rule of `topk.KLLUCB` if each arm has N 0/1 results, drawn without replacement.

    An arm's bounds L and U are the ends of `topk.confidence.interval` with ``items=N`` at delta /
    n, divided by N.  The run ends when U of l is at most epsilon above L of h; otherwise h and l
    are pulled, except an arm whose N results are all known.

    Parameters
    ----------
    k, epsilon, delta, budget
        As for `topk.KLLUCB`.
    items : int
        N.

    Notes
    -----
    With probability :math:`1-\delta` the true values of all n arms are within their bounds at all
    times. Then the guarantee holds: if i is returned and j is not,
    :math:`\mu_j \leq U_j \leq U_l \leq L_h + \epsilon \leq L_i + \epsilon \leq \mu_i + \epsilon`.
    If all results of h and l are known, :math:`L_h` and :math:`U_l` are their true values, and
    :math:`L_h \geq U_l` since h is among the k largest means.  Hence a run ends after at most n N
    pulls, also with ties and epsilon = 0.
    """

    k: int
    epsilon: float
    delta: float
    items: int
    budget: Whole | None = None
    certifies = anytime = skips_known = True
    stops_by = joins_by = "intervals"

    def state(self, arms: Arms) -> dict[str, Any]:
        """Return the level, epsilon rounded down to whole items plus half an item, and tables."""
        log_factorials, log_halves = finite.log_tables(self.items)
        return {
            "log_level": math.log(self.delta / arms.n),
            "margin": (finite.tolerated_items(self.epsilon, self.items) + 0.5) / self.items,
            "log_factorials": log_factorials,
            "log_halves": log_halves,
        }

    @rule
    def interval(s, arm):
        """Hypothetical pulls may exceed the number of items, and their sum may be fractional."""
        t = min(s.pulls[arm], s.items)
        ones = min(int(s.sums[arm] + 0.5), t)
        low, high = item_range(t, ones, s.items, s.log_level, s.log_factorials, s.log_halves)
        return low / s.items, high / s.items

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
