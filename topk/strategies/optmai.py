"""OptMAI: quartile elimination, then accept-reject (Zhou, Chen and Li 2014)."""

import math
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from topk._checks import check_budget, check_choice, check_flag, check_k, check_n, check_real
from topk.kernels.compiling import maker
from topk.kernels.filing import (
    ACCEPTED,
    ACTIVE,
    REJECTED,
    accepts_first,
    keep_active,
    remember,
    since,
    spread_evenly,
    withdraw_active,
)
from topk.kernels.ranking import rank_arms
from topk.kernels.rules import BY_BUDGET, register
from topk.kernels.tally import Tally, new_tally
from topk.strategies.protocol import Strategy

FINALS = ("accept-reject", "uniform")


@dataclass(frozen=True)
class OptMAI(Strategy):
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
    final: str = "accept-reject"

    def __post_init__(self):
        check_k(self.k)
        check_budget(self.budget)
        check_real(self.beta, "beta", 0.75, 1, low_open=True, high_open=True)
        check_flag(self.reuse, "reuse")
        check_choice(self.final, "final", FINALS)

    def begin(self, n):
        """Return the state of a new play with ``n`` arms."""
        n = check_n(n)
        k = check_k(self.k, n, largest=n)
        budget = check_budget(self.budget, smallest=n)
        complement = 2 * k >= n
        state = OptMAIState(
            target=n - k if complement else k,
            sign=-1.0 if complement else 1.0,
            beta=float(self.beta),
            reuse=bool(self.reuse),
            uniform=self.final == "uniform",
            budget=budget,
            inflated=budget / (1 - self.beta ** (math.log(n) / math.log(4 / 3))),
            tally=new_tally(n),
            earlier=new_tally(n),
            alive=np.arange(n, dtype=np.int64),
            status=np.zeros(n, dtype=np.int64),
            size=np.array([n]),
            accepted=np.zeros(1, dtype=np.int64),
            round=np.zeros(1, dtype=np.int64),
            share=np.zeros(1, dtype=np.int64),
            carried=np.zeros(1),
            finished=np.array([BY_BUDGET if k == n else 0]),
        )
        if k < n:
            plan_round(state)
        return state


class OptMAIState(NamedTuple):
    """A play of `OptMAI`; ``target`` arms of largest ``sign`` times mean are looked for."""

    target: int
    sign: float
    beta: float
    reuse: bool
    uniform: bool
    budget: int
    inflated: float  # Q'
    tally: Tally
    earlier: Tally  # the tally before this round's pulls
    alive: np.ndarray
    status: np.ndarray  # ACTIVE, ACCEPTED or REJECTED (of the looked-for side)
    size: np.ndarray
    accepted: np.ndarray
    round: np.ndarray  # r
    share: np.ndarray  # this round's pulls per arm; -1: the final batch
    carried: np.ndarray  # pulls left over by rounding down
    finished: np.ndarray


@maker
def plan_round(state):
    """Settle how many pulls each active arm gets in this round."""
    size, left = state.size[0], state.budget - state.tally.total[0]
    if state.uniform and size < 4 * state.target:
        state.share[0] = -1
        return
    due = state.beta ** state.round[0] * (1 - state.beta) * state.inflated + state.carried[0]
    share = np.int64(due / size + 1e-9)  # rounding errors must not cost a whole pull
    if state.round[0] == 0 and share == 0:
        share = np.int64(1)
    # the first round may have borrowed from later ones, so that nothing or less is due
    share = max(np.int64(0), min(share, left // size))
    state.share[0] = share
    state.carried[0] = due - share * size


@maker
def ask(state, arms, counts):
    """Ask for the round's share, or for all that is left in the uniform final stage."""
    if state.finished[0]:
        return 0
    size = state.size[0]
    arms[:size] = state.alive[:size]
    if state.share[0] >= 0:
        counts[:size] = state.share[0]
    else:
        spread_evenly(state.budget - state.tally.total[0], size, counts)
    return size


@maker
def update(state, m, arms, counts):
    """Eliminate or accept and reject; go on until a round has pulls or the play is over."""
    while True:
        ranked = rank_round(state)
        if state.share[0] < 0:
            file_ranks(state, ranked, 0, state.target - state.accepted[0])
        elif state.size[0] >= 4 * state.target:
            drop_quarter(state, ranked)
        else:
            accept_reject(state, ranked)
        state.size[0] = keep_active(state.alive, state.size[0], state.status)
        if state.accepted[0] == state.target or state.size[0] == 0:
            state.finished[0] = BY_BUDGET
            return
        state.round[0] += 1
        remember(state.tally, state.earlier, state.alive, state.size[0])
        plan_round(state)
        if state.share[0] != 0 and state.budget > state.tally.total[0]:
            return


@maker
def round_tally(state):
    """Return what this round's decision looks at: all pulls, or (``reuse=False``) its own.

    All pulls as well if the budget did not give every arm a pull in this round.
    """
    if state.reuse:
        return state.tally
    own = since(state.tally, state.earlier)
    for j in range(state.size[0]):
        if own.pulls[state.alive[j]] == 0:
            return state.tally
    return own


@maker
def rank_round(state):
    """Return the active arms, best first."""
    return rank_arms(round_tally(state), state.alive, state.size[0], state.sign)


@maker
def drop_quarter(state, ranked):
    """QE: reject the last ceil(size / 4) ranks."""
    for rank in range(ranked.size - (ranked.size + 3) // 4, ranked.size):
        state.status[ranked[rank]] = REJECTED


@maker
def file_ranks(state, ranked, first, last):
    """Accept the ranks from ``first`` up to, not including, ``last``."""
    for rank in range(first, last):
        state.status[ranked[rank]] = ACCEPTED
    state.accepted[0] += last - first


@maker
def accept_reject(state, ranked):
    """AR: a quarter of the arms leaves, largest gap first, with gaps computed once.

    All active arms have as many pulls, so that sums compare as means do.
    """
    sums, size = round_tally(state).sums, ranked.size
    wanted = state.target - state.accepted[0]
    first, last = 0, size - 1
    while first < wanted and 4 * (last - first + 1) > 3 * size:
        first_gap, last_gap = 0.0, 0.0
        if first < wanted <= last:
            first_gap = state.sign * (sums[ranked[first]] - sums[ranked[wanted]])
            last_gap = state.sign * (sums[ranked[wanted - 1]] - sums[ranked[last]])
        if accepts_first(first_gap, last_gap, wanted - first, last - first + 1):
            first += 1
        else:
            state.status[ranked[last]] = REJECTED
            last -= 1
    file_ranks(state, ranked, 0, first)


@maker
def recommend(state, chosen):
    """The accepted arms and the best-ranked active ones, or all but those, if K >= n/2."""
    inside = state.status == ACCEPTED
    ranked = rank_arms(state.tally, state.alive, state.size[0], state.sign)
    for rank in range(state.target - state.accepted[0]):
        inside[ranked[rank]] = True
    have = 0
    for arm in range(inside.size):
        if inside[arm] == (state.sign > 0):
            chosen[have] = arm
            have += 1


def withdraw(state, arm, k):
    """Take an arm out; where the worst arms are looked for, it counts as one of them."""
    if state.sign > 0:
        withdraw_active(state, arm, k)
        return
    if state.status[arm] == REJECTED:
        raise ValueError(f"arm: {arm} has been settled as one of the {k} to be returned")
    if state.status[arm] == ACTIVE:
        if state.accepted[0] == state.target:
            raise ValueError(f"arm: without {arm} fewer than k = {k} arms are left to choose from")
        state.status[arm] = ACCEPTED
        state.accepted[0] += 1
        state.size[0] = keep_active(state.alive, state.size[0], state.status)


register(OptMAIState, ask, update, recommend, withdraw)
