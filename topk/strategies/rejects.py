"""Successive rejects, stopped early so that the m best arms remain."""

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from topk._checks import check_budget, check_k, check_n
from topk.kernels.compiling import maker
from topk.kernels.filing import REJECTED, fill_chosen, keep_active, withdraw_active
from topk.kernels.ranking import rank_arms
from topk.kernels.rules import BY_BUDGET, register
from topk.kernels.tally import Tally, new_tally
from topk.strategies.protocol import Strategy
from topk.strategies.sar import phase_length, phase_lengths


@dataclass(frozen=True)
class SuccessiveRejects(Strategy):
    r"""Successive rejects for the k best arms.

    In n - k phases every remaining arm is pulled up to

    .. math:: n_j = \Big\lceil \frac1C \frac{Q - n}{n + 1 - j} \Big\rceil,
       \qquad C = \frac{k}{k + 1} + \sum_{i=k+1}^n \frac1i,

    times in all; then the arm with the smallest mean is dropped.  The k arms that are
    left are returned.

    Parameters
    ----------
    k : int
        How many arms are wanted, 1 to n - 1.
    budget : int
        Q, the pulls in all, at least n + 1 (below that the first phase has no pull).

    Raises
    ------
    ValueError
        If a parameter is out of range; ``budget`` is compared with n at `start`.

    Notes
    -----
    The algorithm of Audibert, Bubeck and Munos (2010), cut short as in the experiments of
    Bubeck, Wang and Viswanathan (2013), Section 5.  The paper's text says that K - m - 1
    phases are run; with one arm dropped in each, K - m are needed.  C is ours: it spends
    the whole budget and is the original constant for k = 1.  Of equal means the arm of
    larger index is dropped.

    Examples
    --------
    >>> import topk
    >>> bandit = topk.BernoulliBandit([0.9, 0.5, 0.1])
    >>> topk.run(SuccessiveRejects(1, budget=300), bandit, rng=0).selected.tolist()
    [0]
    """

    k: int
    budget: int

    def __post_init__(self):
        check_k(self.k)
        check_budget(self.budget)

    def begin(self, n):
        """Return the state of a new play with ``n`` arms."""
        n = check_n(n)
        k = check_k(self.k, n)
        budget = check_budget(self.budget, smallest=n + 1)
        return SuccessiveRejectsState(
            lengths=np.array(phase_lengths(n, budget, k)),
            tally=new_tally(n),
            alive=np.arange(n, dtype=np.int64),
            status=np.zeros(n, dtype=np.int64),
            size=np.array([n]),
            finished=np.zeros(1, dtype=np.int64),
        )


class SuccessiveRejectsState(NamedTuple):
    """A play of `SuccessiveRejects`; phase j is the one with ``size`` = n + 1 - j arms."""

    lengths: np.ndarray  # n_1, ..., n_{n-k}
    tally: Tally
    alive: np.ndarray
    status: np.ndarray
    size: np.ndarray
    finished: np.ndarray


@maker
def ask(state, arms, counts):
    """Ask for the pulls that bring every remaining arm up to the phase's length."""
    if state.finished[0]:
        return 0
    size = state.size[0]
    arms[:size] = state.alive[:size]
    counts[:size] = phase_length(state) - state.tally.pulls[state.alive[0]]
    return size


@maker
def update(state, m, arms, counts):
    """Drop one arm for this phase and for each further phase that has no pulls of its own."""
    survivors = state.status.size - state.lengths.size
    pulled = state.tally.pulls[state.alive[0]]
    ranked = rank_arms(state.tally, state.alive, state.size[0], 1.0)
    while state.size[0] > survivors and phase_length(state) == pulled:
        state.size[0] -= 1
        state.status[ranked[state.size[0]]] = REJECTED
    keep_active(state.alive, ranked.size, state.status)
    if state.size[0] == survivors:
        state.finished[0] = BY_BUDGET


@maker
def recommend(state, chosen):
    """The best-ranked of the remaining arms."""
    fill_chosen(state.tally, state.alive, state.size[0], state.status, chosen)


register(SuccessiveRejectsState, ask, update, recommend, withdraw_active)
