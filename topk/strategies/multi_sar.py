"""SAR for several bandits at once (Bubeck, Wang and Viswanathan 2013)."""

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from topk._checks import check_budget
from topk.kernels.compiling import maker
from topk.kernels.filing import ACCEPTED, REJECTED, keep_active, withdraw_active
from topk.kernels.ranking import rank_arms
from topk.kernels.rules import BY_BUDGET, register
from topk.kernels.scan import active_of
from topk.kernels.tally import Tally, new_tally
from topk.strategies.sar import phase_length, phase_lengths
from topk.strategies.several import SeveralBandits, check_several


@dataclass(frozen=True)
class MultiBanditSAR(SeveralBandits):
    r"""Successive accepts and rejects for the best arm of each of several bandits.

    In M n - 1 phases every arm that is still active, of whatever bandit, is pulled up to

    .. math:: n_j = \Big\lceil \frac{1}{\overline{\log}(Mn)} \frac{Q - Mn}{Mn + 1 - j} \Big\rceil,
       \qquad \overline{\log}(Mn) = \frac12 + \sum_{i=2}^{Mn} \frac1i,

    times in all; then one arm leaves.  If some bandit has a single active arm, that arm is
    accepted; otherwise the arm that is farthest below the best arm of its own bandit is
    rejected.  The best arm of each bandit is wanted (k = 1).

    Parameters
    ----------
    budget : int
        Q, the pulls in all, at least M n + 1.

    Raises
    ------
    ValueError
        If ``budget`` is no number of pulls; it is compared with M n at `start`.

    Notes
    -----
    Bubeck, Wang and Viswanathan (2013), Section 4.  The paper leaves ties open.  Here arms
    are ranked within their bandit by mean, then by lower number.  Of equal gaps the arm of
    the larger rank is rejected; if those are equal too, that of the higher number.  Of
    several bandits with a single active arm the lowest number is accepted first, which no
    later decision depends on.  For one bandit this is `SAR` with k = 1.

    Examples
    --------
    >>> import topk
    >>> bandit = topk.MultiBandit([[0.9, 0.5, 0.1], [0.2, 0.3, 0.7]])
    >>> topk.run(MultiBanditSAR(600), bandit, rng=0).selected.tolist()
    [[0], [2]]
    """

    budget: int
    k = 1

    def __post_init__(self):
        check_budget(self.budget)

    def begin(self, n):
        """Return the state of a new play with ``n`` = (M, n): M bandits of n arms."""
        bandits, n = check_several(n)
        size = bandits * n
        budget = check_budget(self.budget, smallest=size + 1)
        return MultiSARState(
            bandits=bandits,
            lengths=np.array(phase_lengths(size, budget)),
            tally=new_tally(size),
            alive=np.arange(size, dtype=np.int64),
            status=np.zeros(size, dtype=np.int64),
            size=np.array([size]),
            finished=np.zeros(1, dtype=np.int64),
        )


class MultiSARState(NamedTuple):
    """A play of `MultiBanditSAR`; phase j + 1 is the one with ``size`` = M n - j arms."""

    bandits: int
    lengths: np.ndarray  # n_1, ..., n_{Mn-1}
    tally: Tally
    alive: np.ndarray  # the active arms, in increasing order
    status: np.ndarray  # ACTIVE, ACCEPTED or REJECTED
    size: np.ndarray  # how many are active
    finished: np.ndarray


@maker
def ask(state, arms, counts):
    """Ask for the pulls that bring every active arm up to the phase's length."""
    if state.finished[0]:
        return 0
    size = state.size[0]
    arms[:size] = state.alive[:size]
    counts[:size] = phase_length(state) - state.tally.pulls[state.alive[0]]
    return size


@maker
def update(state, m, arms, counts):
    """File one arm for this phase and for each further phase that has no pulls of its own."""
    if state.size[0] > 1 and state.tally.pulls[state.alive[0]] < phase_length(state):
        return  # an arm was withdrawn: that was this phase's removal, the next one has begun
    while state.size[0] > 0:
        length = phase_length(state)
        file_one(state)
        state.size[0] = keep_active(state.alive, state.size[0], state.status)
        if state.size[0] > 1 and phase_length(state) > length:
            return
    state.finished[0] = BY_BUDGET


@maker
def file_one(state):
    """Accept the only active arm of a bandit, or reject the arm with the largest gap.

    All active arms have as many pulls: sums compare as means do.
    """
    n, sums = state.status.size // state.bandits, state.tally.sums
    gap, rank, rejected, j = -1.0, 0, 0, 0
    while j < state.size[0]:  # the active arms of one bandit after the other
        best, worst, last, begin = state.alive[j], state.alive[j], state.alive[j] // n * n + n, j
        while j < state.size[0] and state.alive[j] < last:
            arm = state.alive[j]
            if sums[arm] > sums[best]:
                best = arm
            if sums[arm] <= sums[worst]:
                worst = arm
            j += 1
        if j == begin + 1:
            state.status[best] = ACCEPTED
            return
        own = sums[best] - sums[worst]
        if own > gap or (own == gap and j - begin >= rank):
            gap, rank, rejected = own, j - begin, worst
    state.status[rejected] = REJECTED


@maker
def recommend(state, chosen):
    """The accepted arms, and the best-ranked active arm of every other bandit."""
    n = state.status.size // state.bandits
    for p in range(state.bandits):
        accepted = p * n + np.flatnonzero(state.status[p * n : (p + 1) * n] == ACCEPTED)
        if accepted.size:
            chosen[p] = accepted[0]
        else:
            alive = active_of(state.status, p * n, n)
            chosen[p] = rank_arms(state.tally, alive, alive.size, 1.0)[0]


def withdraw(state, arm, k):
    """Take an arm out of the active ones, as `topk.kernels.filing.withdraw_active` does."""
    withdraw_active(state, arm, k, state.bandits)


register(MultiSARState, ask, update, recommend, withdraw)
