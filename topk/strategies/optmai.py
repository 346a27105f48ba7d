"""Uniform sampling, and OptMAI: quartile elimination, then accept-reject (Zhou et al. 2014)."""

import math
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np

from topk._checks import between, check_choice, check_flag
from topk._types import Whole
from topk.rules import (
    ACCEPTED,
    BY_BUDGET,
    EVERYTHING,
    REJECTED,
    Arms,
    Rounds,
    allocates,
    first_leaves,
    fresh_sums,
    rank_fresh,
    ranked_by,
    rule,
)

FINALS = ("accept-reject", "uniform")


@dataclass(frozen=True)
class Uniform(Rounds):
    """Pull every arm equally often and return the k largest means.

    Parameters
    ----------
    k : int
        Number of arms to select, from 1 to n - 1.
    budget : int
        Total number of pulls, at least n.  Each arm gets ``budget // n``; the arms with the lowest
        indices get one of the remaining pulls each.

    See Also
    --------
    SAR : spends the same budget by elimination.
    OptMAI : spends it in a few rounds, with a bound on aggregate regret.

    Notes
    -----
    The baseline of Zhou, Chen and Li (2014), Remark 4.2.  The whole budget is one batch.

    Examples
    --------
    >>> import topk
    >>> topk.run(Uniform(1, budget=7), topk.BernoulliBandit([1, 0, 0]), rng=0).pulls.sum()
    np.int64(7)
    """

    k: int
    budget: Whole

    @rule
    def share(s):
        """Spend the whole budget in one round."""
        return EVERYTHING

    @rule
    def decide(s):
        """End the run; the arms with the largest means are returned."""
        s.now.ended = BY_BUDGET  # the best of the active arms fill the set


@dataclass(frozen=True)
class OptMAI(Rounds):
    r"""Optimal multiple arm identification.

    Round r = 0, 1, ... shares :math:`\beta^r(1-\beta)Q'` pulls evenly among the active arms S.
    While :math:`|S|\ge 4K` the worst quarter is dropped (quartile elimination, QE); after that a
    quarter of S leaves in each round, accepted or rejected by its empirical gap to the
    boundary (accept-reject, AR), until K arms are accepted.

    Parameters
    ----------
    k : int
        K, the number of arms to select, from 1 to n.  With k = n no arm is pulled.
    budget : int
        Q, the maximum number of pulls, at least n.
    beta : float
        Ratio of the budgets of consecutive rounds, in (3/4, 1).  The theorems use
        exp(0.2) * 3/4 = 0.916, the paper's experiments 0.8 and 0.9.
    reuse : bool
        Whether means are taken over all pulls of an arm, as in the paper's experiments
        (Section 6), or over those of the round alone, as in its analysis (Section 3).
    final : {"accept-reject", "uniform"}
        What follows quartile elimination: the AR rounds, or one batch with the rest of the budget,
        after which the K largest means are returned (Remark 4.1).

    See Also
    --------
    SAR : for the probability of an error.
    AdaptiveTopK : with fixed confidence.

    Notes
    -----
    Zhou, Chen and Li (2014), Algorithms 1 to 3; the practical variant is that of Section
    6: :math:`Q'=Q/(1-\beta^{\ln n/\ln(4/3)})`, so that nearly Q pulls are used.

    * :math:`K\ge n/2` (Theorem 4.5): the n - K worst arms are sought, with rewards 1 - x, and the
      others are returned.
    * Whole pulls: a round's share is rounded down to whole pulls per arm, and the remainder is
      carried over to the next round.  The first round gives every arm at least one pull, whatever
      the budget, and no round exceeds the budget.  A round whose share is below one pull per arm
      decides by the means of all pulls so far.
    * QE drops exactly the :math:`\lceil|S|/4\rceil` last ranks.  In AR an arm's rank decides on
      which side of the boundary it lies; ties are broken as in `SAR`.

    Examples
    --------
    >>> import topk
    >>> bandit = topk.BernoulliBandit([0.9, 0.9, 0.1, 0.1, 0.1])
    >>> topk.run(OptMAI(2, budget=500), bandit, rng=0).selected.tolist()
    [0, 1]
    """

    k: int
    budget: Whole
    beta: float = 0.8
    reuse: bool = True
    final: Literal["accept-reject", "uniform"] = "accept-reject"
    checks = Rounds.checks | {
        "beta": between(0.75, 1),
        "reuse": check_flag,
        "final": lambda x, name: check_choice(x, name, FINALS),
    }

    fresh = property(lambda self: not self.reuse)  # decisions use the round's own rewards

    def most_k(self, n: int) -> int:
        """Return the largest admissible k: all arms may be selected."""
        return n

    def state(self, arms: Arms) -> dict[str, Any]:
        """Return which side is sought, the K best or the n - K worst, the final stage, and Q'."""
        n = arms.n
        target = self.k if 2 * self.k < n else n - self.k
        return {
            "sign": 1.0 if 2 * self.k < n else -1.0,
            "uniform": self.final == "uniform",
            "target": target,
            "inflated": self.budget / (1 - self.beta ** (math.log(n) / math.log(4 / 3))),
            "now": {"wanted": target, "carried": 0.0},  # pulls left over by rounding down
        }

    @rule
    def share(s):
        """Return the round's pulls of each arm; what rounding down leaves over is carried on."""
        size, left = s.now.n_active, s.budget - s.now.total
        if s.now.wanted == 0:  # all arms are selected
            s.now.ended = BY_BUDGET
            return 0
        if s.uniform and size < 4 * s.target:
            return EVERYTHING
        due = s.beta ** float(s.now.rounds - 1) * (1 - s.beta) * s.inflated + s.now.carried
        pulls = int(due / size + 1e-9)  # rounding errors must not cost a whole pull
        if s.now.rounds == 1 and pulls == 0:
            pulls = 1
        # due is not positive if the first round took pulls from later ones
        pulls = max(0, min(pulls, left // size))
        s.now.carried = due - pulls * size
        return pulls

    @rule
    def decide(s):
        """Settle a quarter of the arms: the last ranks (QE), or the largest gaps (AR)."""
        sums, ranked = look_at_round(s)
        first, last = 0, ranked.size - 1
        if s.now.each == EVERYTHING:
            while s.now.wanted > 0:
                take(s, ranked[first])
                first += 1
        while s.now.wanted > 0 and 4 * (last - first + 1) > 3 * ranked.size:
            if ranked.size < 4 * s.target and first_leaves(s, sums, ranked, first, last):
                take(s, ranked[first])
                first += 1
            else:
                drop(s, ranked[last])
                last -= 1
        if s.now.wanted == 0:
            s.now.ended = BY_BUDGET

    @rule
    def recommend(s, chosen):  # type: ignore[override]
        """Choose the accepted and the best-ranked active arms; if K >= n/2, all but the worst."""
        inside = s.status == ACCEPTED
        ranked = ranked_by(s.sums, s.pulls, s.active[: s.now.n_active], s.sign)
        for place in range(s.now.wanted, ranked.size) if s.sign < 0 else range(s.now.wanted):
            inside[ranked[place]] = True
        chosen[:] = np.flatnonzero(inside)

    @rule
    def on_withdraw(s, arm):
        """Count a withdrawn arm as one of the worst arms, if these are sought."""
        if s.sign < 0:
            s.now.wanted -= 1


def take(s, arm):
    """Settle an arm on the side that is sought."""
    s.status[arm] = ACCEPTED if s.sign > 0 else REJECTED
    s.now.wanted -= 1


def drop(s, arm):
    """Settle an arm on the side that is not sought."""
    s.status[arm] = REJECTED if s.sign > 0 else ACCEPTED


@allocates
def look_at_round(s):
    """Return the sums, times ``sign``, and the ranked arms that the round's decision uses.

    They cover all pulls, or with ``reuse=False`` the round's own, unless some arm was not pulled
    in this round for lack of budget.
    """
    arms = s.active[: s.now.n_active]
    if not s.reuse and (s.pulls[arms] > s.earlier_pulls[arms]).all():
        return s.sign * fresh_sums(s), rank_fresh(s, s.sign)
    return s.sign * s.sums, ranked_by(s.sums, s.pulls, arms, s.sign)
