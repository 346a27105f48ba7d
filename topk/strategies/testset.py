"""KL-LUCB on a finite test set: whole numbers of items in place of real means."""

import math
from dataclasses import dataclass

from topk import finite
from topk.finite import ends
from topk.rules import Indices, highest, lower, lowest, rule, upper


@dataclass(frozen=True)
class FiniteKLLUCB(Indices):
    r"""What `topk.KLLUCB` plays where each arm has N 0/1 results, drawn without replacement.

    An arm's bounds L and U are the ends of `topk.confidence.interval` with ``items=N`` at
    delta / n, divided by N.  The play ends when U of l is at most epsilon above L of h; otherwise h
    and l are pulled, but for one whose N results are all known.

    Parameters
    ----------
    k, epsilon, delta, budget
        As for `topk.KLLUCB`.
    items : int
        N.

    Notes
    -----
    With probability :math:`1-\delta` all n arms' true values are within their bounds at all times.
    Then the guarantee holds: if i is returned and j is not,
    :math:`\mu_j \leq U_j \leq U_l \leq L_h + \epsilon \leq L_i + \epsilon \leq \mu_i + \epsilon`.
    If h and l are both known, :math:`L_h` and :math:`U_l` are their true values and the first is at
    least the second, for h is among the k largest means: so it ends after n N pulls at the latest,
    also with ties and epsilon = 0.
    """

    k: int
    epsilon: float
    delta: float
    items: int
    budget: int | None = None
    certifies = anytime = skips_known = True
    stops_by = "intervals"

    def constants(self, n):
        """Return the level, epsilon half a step above the whole items in it, and tables."""
        log_factorials, log_halves = finite.tables(self.items)
        return {
            "log_level": math.log(self.delta / n),
            "margin": (finite.spare(self.epsilon, self.items) + 0.5) / self.items,
            "log_factorials": log_factorials,
            "log_halves": log_halves,
        }

    @rule
    def line(s, arm):
        """Imagined pulls may be more than there are items, and their sum no whole number."""
        t = min(s.pulls[arm], s.items)
        ones = min(int(s.sums[arm] + 0.5), t)
        low, high = ends(t, ones, s.items, s.log_level, s.log_factorials, s.log_halves)
        return low / s.items, high / s.items, 0.0

    @rule
    def pick(s, arms):
        picked = 0
        for arm in (lowest(s), highest(s)):
            if s.pulls[arm] < s.items:
                arms[picked] = arm
                picked += 1
        return picked

    @rule
    def done(s):
        return upper(s, highest(s)) - lower(s, lowest(s)) < s.margin
