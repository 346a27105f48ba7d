"""AdaptiveTopK (Chen, Chen, Zhang and Zhou 2017)."""

import math
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from topk._checks import check_budget, check_k, check_n, check_promise, check_real, refuse
from topk.kernels.compiling import maker
from topk.kernels.filing import (
    ACCEPTED,
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
class AdaptiveTopK(Strategy):
    r"""Accept and reject with a precision that doubles from round to round.

    In round r = 1, 2, ... every undecided arm is pulled

    .. math:: N_r = \Big\lceil s\,4^r\ln\frac{2nr^2}{\delta} \Big\rceil

    times (s is ``pull_scale``).  With k' arms still wanted, an arm is accepted when its
    mean of this round is more than :math:`2\cdot2^{-r}` above the k'+1-th largest, and
    rejected when it is as far below the k'-th.  Rounds go on while
    :math:`2\cdot2^{-r}k' > \epsilon k`; then the k' largest means fill the set.

    Parameters
    ----------
    k : int
        How many arms are wanted, 1 to n - 1.
    epsilon : float
        Tolerance of the *average*, in [0, 1): with probability 1 - delta the aggregate
        regret of the returned set is at most epsilon.  0 needs a ``budget``.
    delta : float
        Probability of failure, in (0, 1).
    pull_scale : float
        s, positive.  The promise is proved for s = 1.
    budget : int, optional
        The most pulls that may be made, at least n.  When it ends the play inside a round,
        what is left is spread evenly over the undecided arms (one more for the lower
        indices), and those with the largest means of all their pulls fill the set.

    Raises
    ------
    ValueError
        If a parameter is out of range, or if ``epsilon`` is 0 without a budget;
        ``budget`` is compared with n at `start`.

    Notes
    -----
    Chen, Chen, Zhang and Zhou (2017), Algorithm 1, with line 5 restored as
    :math:`4^r\ln(2nr^2/\delta)`.  With ``epsilon=0`` and a budget it is the fixed-budget
    form of the paper's experiments.  The pulls of a round are fresh.  The k' best ranks
    are the ones that can be accepted; when only k' arms are left they all are.

    Examples
    --------
    >>> import topk
    >>> bandit = topk.instances.two_group(n=20, k=5)
    >>> outcome = topk.run(AdaptiveTopK(5, epsilon=0.1, delta=0.1), bandit, rng=0)
    >>> outcome.selected.tolist(), outcome.certified
    ([0, 1, 2, 3, 4], True)
    """

    k: int
    epsilon: float
    delta: float
    pull_scale: float = 1.0
    budget: int | None = None
    certifies = True
    anytime = True

    def __post_init__(self):
        check_promise(self)
        check_real(self.pull_scale, "pull_scale", 0, 1e6, low_open=True)
        if self.budget is None and self.epsilon == 0:
            refuse("epsilon", self.epsilon, "in (0, 1) when there is no budget")

    def begin(self, n):
        """Return the state of a new play with ``n`` arms."""
        n = check_n(n)
        k = check_k(self.k, n)
        return AdaptiveTopKState(
            allowed=float(self.epsilon) * k,
            log_ratio=math.log(2 * n / self.delta),
            pull_scale=float(self.pull_scale),
            budget=-1 if self.budget is None else check_budget(self.budget, smallest=n),
            tally=new_tally(n),
            earlier=new_tally(n),
            alive=np.arange(n, dtype=np.int64),
            status=np.zeros(n, dtype=np.int64),
            size=np.array([n]),
            wanted=np.array([k]),
            rounds=np.ones(1, dtype=np.int64),
            finished=np.zeros(1, dtype=np.int64),
        )


class AdaptiveTopKState(NamedTuple):
    """A play of `AdaptiveTopK`."""

    allowed: float  # epsilon k
    log_ratio: float  # ln(2 n / delta)
    pull_scale: float
    budget: int  # -1: none
    tally: Tally
    earlier: Tally  # the tally before this round's pulls
    alive: np.ndarray
    status: np.ndarray
    size: np.ndarray
    wanted: np.ndarray  # k' = k - |A|
    rounds: np.ndarray  # r, of the round that is going on
    finished: np.ndarray


@maker
def round_share(state):
    """Return N_r; numbers that no budget reaches are cut so as to stay whole numbers."""
    r = state.rounds[0]
    share = state.pull_scale * 4.0**r * (state.log_ratio + 2 * math.log(r))
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
    """Accept and reject by this round's means, unless the budget has cut the round."""
    last = state.alive[state.size[0] - 1]  # the first to miss a pull in a cut round
    share = round_share(state)
    if state.tally.pulls[last] - state.earlier.pulls[last] < share:
        state.finished[0] = BY_BUDGET
        return
    own = since(state.tally, state.earlier)
    classify(state, own.sums, rank_arms(own, state.alive, state.size[0], 1.0), share)
    if 2 * 0.5 ** state.rounds[0] * state.wanted[0] <= state.allowed:
        fill_from(state, own)
        state.finished[0] = BY_RULE
    elif state.tally.total[0] == state.budget:
        state.finished[0] = BY_BUDGET
    else:
        remember(state.tally, state.earlier, state.alive, state.size[0])
        state.rounds[0] += 1


@maker
def classify(state, sums, ranked, share):
    """Lines 6 to 12 of Algorithm 1 in one pass.

    Accepting the first rank or rejecting the last leaves both boundary arms in place, so
    that the loop of the paper, which takes one arm at a time, compares every arm with the
    same two means.  All arms have ``share`` pulls: sums are compared in place of means.
    """
    wanted, size = state.wanted[0], ranked.size
    beyond = 2 * 0.5 ** state.rounds[0] * share
    for rank in range(min(wanted, size)):
        if size == wanted or sums[ranked[rank]] - sums[ranked[wanted]] > beyond:
            state.status[ranked[rank]] = ACCEPTED
            state.wanted[0] -= 1
    for rank in range(wanted, size):
        if sums[ranked[wanted - 1]] - sums[ranked[rank]] > beyond:
            state.status[ranked[rank]] = REJECTED
    state.size[0] = keep_active(state.alive, size, state.status)
    if state.size[0] == state.wanted[0]:  # there is no k'+1-th arm left
        for j in range(state.size[0]):
            state.status[state.alive[j]] = ACCEPTED
        state.wanted[0] = 0
        state.size[0] = 0


@maker
def fill_from(state, own):
    """Line 14: accept the k' largest means of the last round."""
    ranked = rank_arms(own, state.alive, state.size[0], 1.0)
    for rank in range(state.wanted[0]):
        state.status[ranked[rank]] = ACCEPTED
    state.wanted[0] = 0
    state.size[0] = keep_active(state.alive, ranked.size, state.status)


@maker
def recommend(state, chosen):
    """The accepted arms, and the undecided ones with the largest means of all their pulls."""
    fill_chosen(state.tally, state.alive, state.size[0], state.status, chosen)


register(AdaptiveTopKState, ask, update, recommend, withdraw_active)
