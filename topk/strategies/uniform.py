"""Uniform sampling: the same number of pulls for every arm."""

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from topk._checks import check_budget, check_k, check_n
from topk.kernels.compiling import maker
from topk.kernels.filing import fill_chosen, spread_evenly, withdraw_active
from topk.kernels.rules import BY_BUDGET, register
from topk.kernels.tally import Tally, new_tally
from topk.strategies.protocol import Strategy


@dataclass(frozen=True)
class Uniform(Strategy):
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

    def __post_init__(self):
        check_k(self.k)
        check_budget(self.budget)

    def begin(self, n):
        """Return the state of a new play with ``n`` arms."""
        n = check_n(n)
        check_k(self.k, n)
        budget = check_budget(self.budget, smallest=n)
        return UniformState(
            budget=budget,
            tally=new_tally(n),
            alive=np.arange(n, dtype=np.int64),
            status=np.zeros(n, dtype=np.int64),
            size=np.array([n]),
            finished=np.zeros(1, dtype=np.int64),
        )


class UniformState(NamedTuple):
    """A play of `Uniform`."""

    budget: int
    tally: Tally
    alive: np.ndarray  # all arms, but for those that were withdrawn
    status: np.ndarray
    size: np.ndarray
    finished: np.ndarray


@maker
def ask(state, arms, counts):
    """Ask for the whole budget at once."""
    if state.finished[0]:
        return 0
    n = state.tally.pulls.size
    arms[:n] = np.arange(n)
    spread_evenly(state.budget, n, counts)
    return n


@maker
def update(state, m, arms, counts):
    """One batch is all there is."""
    state.finished[0] = BY_BUDGET


@maker
def recommend(state, chosen):
    """The k largest means."""
    fill_chosen(state.tally, state.alive, state.size[0], state.status, chosen)


register(UniformState, ask, update, recommend, withdraw_active)
