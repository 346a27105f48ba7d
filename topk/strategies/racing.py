"""Hoeffding races for the k best arms."""

import math
from dataclasses import dataclass
from typing import Any

import numpy as np

from topk._types import Floats, Whole
from topk.rules import (
    ACTIVE,
    BY_RULE,
    Arms,
    Rounds,
    accept,
    allocates,
    clipped_intervals,
    end_with,
    first_leaves,
    gaps,
    order,
    rank,
    ranked_by,
    reject,
    rule,
)

ALPHA, K_1 = 1.1, 11.1


@dataclass(frozen=True)
class Racing(Rounds):
    r"""Pull all undecided arms in turn; accept or reject an arm as soon as its bounds allow it.

    After u pulls of every undecided arm the radius is

    .. math:: \beta(u) = \sqrt{\frac{1}{2u}\ln\frac{k_1 n u^\alpha}{\delta}},
       \qquad \alpha = 1.1,\; k_1 = 11.1.

    Let k' be the number of arms still to accept.  An arm whose gap to the boundary (to the
    (k'+1)-th mean if it ranks among the first k', to the k'-th mean otherwise) is more than
    :math:`2\beta(u)` is accepted or rejected, in order of decreasing gap.  When the k'-th and the
    (k'+1)-th mean are more than :math:`2\beta(u) - \epsilon` apart, the k' best-ranked arms are
    accepted and the run ends.

    Parameters
    ----------
    k, epsilon, delta
        As in `LUCB1`.
    budget : int, optional
        Maximum number of pulls, at least n.  If it ends the run, the accepted arms and the
        best-ranked undecided ones are returned without a certificate.

    See Also
    --------
    LUCB1 : pulls two arms at a time.
    Halving : half of the arms leave in each round.

    Notes
    -----
    Hoeffding races are due to Maron and Moore (1993); the radius and its constants are those of
    Kaufmann and Kalyanakrishnan (2013), with Hoeffding's inequality in place of the KL divergence.
    It is our choice that epsilon enters only the last decision: applied to single arms, it could be
    lost once when an arm is accepted and again when one is rejected.  The rule errs only if the
    mean of one of the k best arms is ever underestimated, or that of another arm overestimated, by
    the radius; the probability of this is at most
    :math:`\sum_u n\,\delta/(k_1 n u^\alpha) < 0.96\,\delta`.  In a session with unsolicited
    results the arms' numbers of pulls differ, and each arm has bounds for its own number of pulls.
    It is accepted if its lower bound exceeds the upper bounds of all but k' undecided arms (itself
    included), and rejected if the lower bounds of k' undecided arms exceed its upper bound.  With
    equal numbers of pulls this is the same rule.

    Examples
    --------
    >>> import topk
    >>> bandit = topk.BernoulliBandit([0.9, 0.8, 0.1, 0.2])
    >>> outcome = topk.run(Racing(2, epsilon=0.1, delta=0.05), bandit, rng=0)
    >>> outcome.selected.tolist(), outcome.certified
    ([0, 1], True)
    """

    k: int
    epsilon: float
    delta: float
    budget: Whole | None = None
    certifies = anytime = True
    joins_by = "bounds"

    def state(self, arms: Arms) -> dict[str, Any]:
        """Return ln(k_1 n / delta)."""
        return {"log_ratio": math.log(K_1 * arms.n / self.delta)}

    @rule
    def share(s):
        """Pull all undecided arms in turn."""
        return 1

    @rule
    def decide(s):
        """Settle all arms with gaps above 2 beta, then end the run if the rest are close enough.

        With u pulls of every arm, a gap of means above 2 beta is a gap of sums above 2 u beta.
        Settling an arm does not move the boundary.
        """
        if not is_even(s):
            settle_apart(s, s.active[: s.now.n_active])
            return
        u, boundary, ranked = s.pulls[s.active[0]], s.now.wanted, rank(s)
        width = math.sqrt(2 * u * (s.log_ratio + ALPHA * math.log(u)))  # 2 u beta(u)
        first, last = 0, ranked.size - 1
        while max(gaps(s, s.sums, ranked, first, last)) > width:
            if first_leaves(s, s.sums, ranked, first, last):
                accept(s, ranked[first])
                first += 1
            else:
                reject(s, ranked[last])
                last -= 1
        one_side = s.now.wanted == 0 or s.now.wanted == last - first + 1
        edge = s.sums[ranked[boundary - 1]] - s.sums[ranked[boundary]] if not one_side else 0.0
        if one_side or edge > width - u * s.epsilon:
            end_with(s, ranked[first : last + 1], BY_RULE)

    def accepts_unsolicited(self, s: Any) -> bool:
        """Return True: each arm's bounds are valid after any number of pulls."""
        return True

    def intervals(self, seen: Any) -> tuple[Floats, Floats]:
        """Return every arm's bounds for its own number of pulls; see `topk.Strategy.intervals`."""
        pulls = np.maximum(seen.pulls, 1)
        radius = np.sqrt((seen.log_ratio + ALPHA * np.log(pulls)) / (2 * pulls))
        return clipped_intervals(seen, radius)


def is_even(s):
    """Return whether all undecided arms have the same number of pulls."""
    for j in range(s.now.n_active):
        if s.pulls[s.active[j]] != s.pulls[s.active[0]]:
            return False
    return True


@allocates
def settle_apart(s, arms):
    """Settle arms with unequal numbers of pulls, which occur only in sessions; see `Racing`."""
    low, high, wanted = np.empty(s.n), np.empty(s.n), s.now.wanted
    for arm in range(s.n):
        u = max(s.pulls[arm], 1)
        radius = math.sqrt((s.log_ratio + ALPHA * math.log(u)) / (2 * u))
        low[arm], high[arm] = s.sums[arm] / u - radius, s.sums[arm] / u + radius
    if 0 < wanted < arms.size:
        leave = low[arms[order(-low[arms])[wanted - 1]]]
        enter = high[arms[order(-high[arms])[wanted]]]
        for arm in arms:
            if low[arm] > enter:
                accept(s, arm)
            elif high[arm] < leave:
                reject(s, arm)
    ranked = ranked_by(s.sums, s.pulls, arms[s.status[arms] == ACTIVE], 1.0)
    edge, highest, lowest = s.now.wanted, -np.inf, np.inf
    for place in range(ranked.size):
        if place < edge:
            lowest = min(lowest, low[ranked[place]])
        else:
            highest = max(highest, high[ranked[place]])
    if highest - lowest < s.epsilon:  # one of them is infinite if a side is empty
        end_with(s, ranked, BY_RULE)
