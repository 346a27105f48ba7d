"""Hoeffding races for the k best arms."""

import math
from dataclasses import dataclass
from typing import Any

import numpy as np

from topk._types import Floats
from topk.rules import (
    ACTIVE,
    BY_RULE,
    Rounds,
    accept,
    allocates,
    clipped_bounds,
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
    r"""Pull all undecided arms in turn; decide an arm as soon as its bounds allow.

    After u pulls of every undecided arm the radius is

    .. math:: \beta(u) = \sqrt{\frac{1}{2u}\ln\frac{k_1 n u^\alpha}{\delta}},
       \qquad \alpha = 1.1,\; k_1 = 11.1.

    Let k' arms be still wanted.  An arm whose gap to the boundary (to the k'+1-th mean if
    it ranks among the first k', to the k'-th mean otherwise) is more than
    :math:`2\beta(u)` is accepted or rejected, the largest gap first.  When the k'-th and
    the k'+1-th mean are more than :math:`2\beta(u) - \epsilon` apart, the k' best-ranked
    arms are accepted and the play ends.

    Parameters
    ----------
    k, epsilon, delta
        As for `LUCB1`.
    budget : int, optional
        The most pulls that may be made, at least n.  When it ends the play, the accepted
        arms and the best-ranked undecided ones are returned without a certificate.

    Raises
    ------
    ValueError
        If a parameter is out of range; ``budget`` is compared with n at `start`.

    Notes
    -----
    Hoeffding races are Maron and Moore's (1993); radius and constants are those of Kaufmann and
    Kalyanakrishnan (2013), with Hoeffding's distance in place of the KL divergence.  That
    epsilon enters only the last decision is our choice: used for single arms, it could be lost
    once at an acceptance and once more at a rejection.  A top arm must not be underestimated nor
    another one overestimated by the radius, at any time: this fails with probability at most
    :math:`\sum_u n\,\delta/(k_1 n u^\alpha) < 0.96\,\delta`.  In a session that has taken in
    other data the arms' pulls differ: then each arm has the bounds of its own pulls, and is
    accepted when its lower one exceeds the upper bounds of all but k' of the undecided arms,
    itself among these, or rejected when the lower bounds of k' exceed its upper one; that is the
    same where pulls are equal.

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
    budget: int | None = None
    certifies = anytime = True

    def constants(self, n: int) -> dict[str, Any]:
        """Return ln(k_1 n / delta)."""
        return {"log_ratio": math.log(K_1 * n / self.delta)}

    @rule
    def share(s):
        """All undecided arms in turn."""
        return 1

    @rule
    def decide(s):
        """Who is more than 2 beta away leaves, the largest gap first; the rest may be close enough.

        With u pulls of every arm, a gap of means above 2 beta is one of sums above 2 u beta.
        No arm that leaves moves the boundary.
        """
        if not is_even(s):
            settle_apart(s, s.active[: s.now.live])
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

    def pools(self, s: Any) -> bool:
        """Each arm's bounds hold after any number of its pulls."""
        return True

    def bounds(self, seen: Any) -> tuple[Floats, Floats]:
        """Return the bounds of every arm at its own number of pulls; see `topk.Strategy.bounds`."""
        pulls = np.maximum(seen.pulls, 1)
        radius = np.sqrt((seen.log_ratio + ALPHA * np.log(pulls)) / (2 * pulls))
        return clipped_bounds(seen, radius)


def is_even(s):
    """Tell whether all undecided arms have as many pulls."""
    for j in range(s.now.live):
        if s.pulls[s.active[j]] != s.pulls[s.active[0]]:
            return False
    return True


@allocates
def settle_apart(s, arms):
    """Decide between arms with unequal pulls, which occur live only; see `Racing`."""
    pulls, wanted = np.maximum(s.pulls, 1), s.now.wanted
    radius = np.sqrt((s.log_ratio + ALPHA * np.log(pulls)) / (2 * pulls))
    low, high = s.sums / pulls - radius, s.sums / pulls + radius
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
