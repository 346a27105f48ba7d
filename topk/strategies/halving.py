"""Halving (Kalyanakrishnan and Stone 2010)."""

import math
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from topk._checks import check_budget, check_k, check_n, check_promise
from topk.kernels.compiling import maker
from topk.kernels.filing import (
    REJECTED,
    ask_round,
    fill_chosen,
    keep_active,
    left_of,
    remember,
    since,
    withdraw_active,
)
from topk.kernels.ranking import rank_arms
from topk.kernels.rules import BY_BUDGET, BY_RULE, register
from topk.kernels.tally import Tally, new_tally
from topk.strategies.protocol import Strategy


@dataclass(frozen=True)
class Halving(Strategy):
    r"""Drop the worse half of the arms until k are left.

    In round l = 1, 2, ... every remaining arm is pulled

    .. math:: \Big\lceil \frac{2}{\epsilon_l^2}\ln\frac{3k}{\delta_l} \Big\rceil,
       \qquad \epsilon_l = \frac\epsilon4\Big(\frac34\Big)^{l-1},\quad
       \delta_l = \frac{\delta}{2^l},

    times, and the :math:`\max(\lceil|R|/2\rceil, k)` arms with the largest means of this
    round are kept, until k are left after :math:`\lceil\log_2(n/k)\rceil` rounds.

    Parameters
    ----------
    k : int
        How many arms are wanted, 1 to n - 1.
    epsilon : float
        Per-arm tolerance, in (0, 1): with probability 1 - delta every returned arm has
        a mean of at least the k-th largest minus epsilon.
    delta : float
        Probability of failure, in (0, 1).
    budget : int, optional
        The most pulls that may be made, at least n.  When it ends the play inside a round,
        what is left is spread evenly over the remaining arms (one more for the lower
        indices), and those with the largest means of all their pulls are returned.

    Raises
    ------
    ValueError
        If a parameter is out of range; ``budget`` is compared with n at `start`.

    Notes
    -----
    Kalyanakrishnan and Stone (2010); the constants are read off an independent
    implementation and the proof is ours.  The rule needs the pulls of a round to be fresh:
    earlier rewards are not looked at again.

    Examples
    --------
    >>> import topk
    >>> bandit = topk.BernoulliBandit([0.9, 0.8, 0.1, 0.2])
    >>> topk.run(Halving(2, epsilon=0.3, delta=0.1), bandit, rng=0).selected.tolist()
    [0, 1]
    """

    k: int
    epsilon: float
    delta: float
    budget: int | None = None
    certifies = True
    anytime = True

    def __post_init__(self):
        check_promise(self, positive=True)

    def begin(self, n):
        """Return the state of a new play with ``n`` arms."""
        n = check_n(n)
        k = check_k(self.k, n)
        return HalvingState(
            k=k,
            epsilon=float(self.epsilon),
            log_ratio=math.log(3 * k / self.delta),
            budget=-1 if self.budget is None else check_budget(self.budget, smallest=n),
            tally=new_tally(n),
            earlier=new_tally(n),
            alive=np.arange(n, dtype=np.int64),
            status=np.zeros(n, dtype=np.int64),
            size=np.array([n]),
            rounds=np.zeros(1, dtype=np.int64),
            finished=np.zeros(1, dtype=np.int64),
        )


def total_pulls(n, k, epsilon, delta):
    """Return the pulls that Halving makes in all; they do not depend on the rewards."""
    state, total = Halving(k, epsilon, delta).begin(n), 0
    while state.size[0] > k:
        total += int(state.size[0] * round_share(state))
        state.size[0] = max((state.size[0] + 1) // 2, k)
        state.rounds[0] += 1
    return total


class HalvingState(NamedTuple):
    """A play of `Halving`."""

    k: int
    epsilon: float
    log_ratio: float  # ln(3 k / delta)
    budget: int  # -1: none
    tally: Tally
    earlier: Tally  # the tally before this round's pulls
    alive: np.ndarray
    status: np.ndarray
    size: np.ndarray
    rounds: np.ndarray  # rounds completed, l - 1
    finished: np.ndarray


@maker
def round_share(state):
    """Return the pulls of each arm in the current round, cut to what stays a whole number."""
    done = state.rounds[0]
    epsilon = max(state.epsilon / 4 * 0.75**done, 1e-100)
    share = 2 / epsilon**2 * (state.log_ratio + (done + 1) * math.log(2.0))
    return np.int64(math.ceil(min(share, 2.0**53)))


@maker
def ask(state, arms, counts):
    """Ask for the round's pulls."""
    if state.finished[0]:
        return 0
    left = left_of(state.budget, state.tally)
    return ask_round(state.alive, state.size[0], round_share(state), left, arms, counts)


@maker
def update(state, m, arms, counts):
    """Keep the better half, unless the budget has cut the round."""
    last = state.alive[state.size[0] - 1]  # the first to miss a pull in a cut round
    if state.tally.pulls[last] - state.earlier.pulls[last] < round_share(state):
        state.finished[0] = BY_BUDGET
        return
    ranked = rank_arms(since(state.tally, state.earlier), state.alive, state.size[0], 1.0)
    for rank in range(max((ranked.size + 1) // 2, state.k), ranked.size):
        state.status[ranked[rank]] = REJECTED
    state.size[0] = keep_active(state.alive, ranked.size, state.status)
    remember(state.tally, state.earlier, state.alive, state.size[0])
    state.rounds[0] += 1
    if state.size[0] == state.k:
        state.finished[0] = BY_RULE
    elif state.tally.total[0] == state.budget:
        state.finished[0] = BY_BUDGET


@maker
def recommend(state, chosen):
    """The remaining arms with the largest means of all their pulls."""
    fill_chosen(state.tally, state.alive, state.size[0], state.status, chosen)


register(HalvingState, ask, update, recommend, withdraw_active)
