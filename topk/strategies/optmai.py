"""Uniform sampling, and OptMAI: quartile elimination, then accept-reject (Zhou et al. 2014)."""

import math
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np

from topk._checks import between, check_choice, check_flag
from topk.rules import (
    ACCEPTED,
    BY_BUDGET,
    EVERYTHING,
    REJECTED,
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
        How many arms are wanted, 1 to n - 1.
    budget : int
        Pulls in all, at least n.  Each arm gets ``budget // n``; what is left goes one
        by one to the arms of lowest index.

    Raises
    ------
    ValueError
        If a parameter is out of range; ``budget`` is compared with n at `start`.

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
    budget: int

    @rule
    def share(s):
        """One round with the whole budget."""
        return EVERYTHING

    @rule
    def decide(s):
        """The largest means are returned."""
        s.now.ended = BY_BUDGET  # the best of the active arms fill the set


@dataclass(frozen=True)
class OptMAI(Rounds):
    r"""Optimal multiple arm identification.

    Round r shares :math:`\beta^r(1-\beta)Q'` pulls evenly among the active arms S.  While
    :math:`|S|\ge 4K` the worst quarter is dropped (quartile elimination, QE); after that a
    quarter of S leaves in each round, accepted or rejected by its empirical gap to the
    boundary (accept-reject, AR), until K arms are accepted.

    Parameters
    ----------
    k : int
        K, how many arms are wanted, 1 to n.  With k = n nothing is pulled.
    budget : int
        Q, the most pulls that may be made, at least n.
    beta : float
        Ratio of the budgets of consecutive rounds, in (3/4, 1).  The theorems use
        exp(0.2) * 3/4 = 0.916, the paper's experiments 0.8 and 0.9.
    reuse : bool
        Whether means are taken over all pulls of an arm, as in the paper's experiments
        (Section 6), or over those of the round alone, as in its analysis (Section 3).
    final : {"accept-reject", "uniform"}
        What follows quartile elimination: the AR rounds, or one batch with all that is
        left of the budget after which the K largest means are returned (Remark 4.1).

    Raises
    ------
    ValueError
        If a parameter is out of range; ``budget`` is compared with n at `start`.

    Notes
    -----
    Zhou, Chen and Li (2014), Algorithms 1 to 3; the practical variant is that of Section
    6: :math:`Q'=Q/(1-\beta^{\ln n/\ln(4/3)})`, so that nearly Q pulls are used.

    * :math:`K\ge n/2` (Theorem 4.5): the n - K worst arms are looked for, with rewards
      1 - x, and the others returned.
    * Whole pulls: what a round's share leaves over when it is rounded down to whole pulls
      per arm is carried to the next round.  The first round gives every arm at least one
      pull, whatever the budget, and no round exceeds the budget.  A round whose share is
      below one pull an arm decides by the means that it finds (of all pulls).
    * QE drops exactly :math:`\lceil|S|/4\rceil` last ranks.  In AR the ranks decide on
      which side of the boundary an arm lies; ties are settled as in `SAR`.

    Examples
    --------
    >>> import topk
    >>> bandit = topk.BernoulliBandit([0.9, 0.9, 0.1, 0.1, 0.1])
    >>> topk.run(OptMAI(2, budget=500), bandit, rng=0).selected.tolist()
    [0, 1]
    """

    k: int
    budget: int
    beta: float = 0.8
    reuse: bool = True
    final: Literal["accept-reject", "uniform"] = "accept-reject"
    checks = Rounds.checks | {
        "beta": between(0.75, 1),
        "reuse": check_flag,
        "final": lambda x, name: check_choice(x, name, FINALS),
    }
    memory = {"carried": 0.0}  # pulls left over by rounding down

    fresh = property(lambda self: not self.reuse)  # a round's own rewards decide

    def most_k(self, n: int) -> int:
        """All arms may be wanted."""
        return n

    def target(self, n: int) -> int:
        """K of the best are looked for, or n - K of the worst."""
        return self.k if 2 * self.k < n else n - self.k

    def constants(self, n: int) -> dict[str, Any]:
        """Return which side is looked for, how, and Q'."""
        return {
            "sign": 1.0 if 2 * self.k < n else -1.0,
            "uniform": self.final == "uniform",
            "target": self.target(n),
            "inflated": self.budget / (1 - self.beta ** (math.log(n) / math.log(4 / 3))),
        }

    @rule
    def share(s):
        """The round's part of the budget, in whole pulls; the rest is carried on."""
        size, left = s.now.live, s.budget - s.now.total
        if s.now.wanted == 0:  # as many arms as there are are wanted
            s.now.ended = BY_BUDGET
            return 0
        if s.uniform and size < 4 * s.target:
            return EVERYTHING
        due = s.beta ** (s.now.rounds - 1) * (1 - s.beta) * s.inflated + s.now.carried
        pulls = int(due / size + 1e-9)  # rounding errors must not cost a whole pull
        if s.now.rounds == 1 and pulls == 0:
            pulls = 1
        # the first round may have borrowed from later ones, so that nothing or less is due
        pulls = max(0, min(pulls, left // size))
        s.now.carried = due - pulls * size
        return pulls

    @rule
    def decide(s):
        """A quarter leaves: the last ranks (QE), or those with the largest gaps (AR)."""
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
        """The arms taken and the best-ranked active ones, or all but those, if K >= n/2."""
        inside = s.status == ACCEPTED
        ranked = ranked_by(s.sums, s.pulls, s.active[: s.now.live], s.sign)
        for place in range(s.now.wanted, ranked.size) if s.sign < 0 else range(s.now.wanted):
            inside[ranked[place]] = True
        chosen[:] = np.flatnonzero(inside)

    @rule
    def left(s, arm):
        """Where the worst arms are looked for, one that is withdrawn counts as one of them."""
        if s.sign < 0:
            s.now.wanted -= 1


def take(s, arm):
    """An arm of the side that is looked for is found."""
    s.status[arm] = ACCEPTED if s.sign > 0 else REJECTED
    s.now.wanted -= 1


def drop(s, arm):
    """An arm is none of the side that is looked for."""
    s.status[arm] = REJECTED if s.sign > 0 else ACCEPTED


@allocates
def look_at_round(s):
    """Return what the round's decision looks at: sums times sign, and the ranked arms.

    They are of all pulls, or (``reuse=False``) of the round's own; of all pulls as well if the
    budget did not give every arm a pull in this round.
    """
    arms = s.active[: s.now.live]
    if not s.reuse and (s.pulls[arms] > s.earlier_pulls[arms]).all():
        return s.sign * fresh_sums(s), rank_fresh(s, s.sign)
    return s.sign * s.sums, ranked_by(s.sums, s.pulls, arms, s.sign)
