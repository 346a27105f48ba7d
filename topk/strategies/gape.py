"""Gap-E: gap-based exploration with a fixed budget (Gabillon et al. 2011, Bubeck et al. 2013)."""

import math
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from topk._checks import check_budget, check_k, check_n, check_real
from topk.kernels.boundary import (
    BEST_LOW,
    HIGHEST,
    LOWEST,
    WORST_HIGH,
    draw_boundary,
    leave_boundary,
    move_lines,
    new_boundary,
)
from topk.kernels.compiling import inlined, maker
from topk.kernels.filing import ask_next, best_active, withdraw_status
from topk.kernels.rules import BY_BUDGET, register
from topk.kernels.tally import Tally, new_tally
from topk.kernels.tournament import MEAN, NOBODY, WEIGHT, Tournament
from topk.kernels.winners import best
from topk.strategies.protocol import Strategy

ROUNDING = 1e-15  # of a difference of two means


@dataclass(frozen=True)
class GapE(Strategy):
    r"""Pull the arm with the largest index of minus its gap plus a radius.

    After one pull of every arm, each further pull goes to the arm with the largest

    .. math:: -\hat\Delta_i + c\sqrt{\frac{Q / H}{T_i}},

    where the empirical gap is the distance to the k+1-th mean for the k best-ranked arms
    and to the k-th mean for the others, and T_i are the pulls of arm i.

    Parameters
    ----------
    k : int
        How many arms are wanted, 1 to n - 1.
    budget : int
        Q, the pulls in all, at least n.
    complexity : float
        H, positive; the true ``topk.hardness.h1`` in the paper's experiments.
    c : float
        Exploration constant, positive; 2 in the paper's experiments.

    Raises
    ------
    ValueError
        If a parameter is out of range; ``budget`` is compared with n at `start`.

    Notes
    -----
    Bubeck, Wang and Viswanathan (2013), Figure 3, for the k best arms; for k = 1 it stands
    beside UCB-E, from which it differs in that the best arm, too, is charged its gap.  The
    returned set are the k largest means; ties go to the arm of lower index.

    Examples
    --------
    >>> import topk
    >>> bandit = topk.BernoulliBandit([0.9, 0.5, 0.1])
    >>> strategy = GapE(1, budget=300, complexity=topk.hardness.h1(bandit.means, 1))
    >>> topk.run(strategy, bandit, rng=0).selected.tolist()
    [0]
    """

    k: int
    budget: int
    complexity: float
    c: float = 2.0

    def __post_init__(self):
        check_k(self.k)
        check_budget(self.budget)
        check_real(self.complexity, "complexity", 0, 1e300, low_open=True)
        check_real(self.c, "c", 0, 1e6, low_open=True)

    def begin(self, n):
        """Return the state of a new play with ``n`` arms."""
        n = check_n(n)
        k = check_k(self.k, n)
        budget = check_budget(self.budget, smallest=n)
        return GapEState(
            k=k,
            s=self.c * math.sqrt(budget / self.complexity),
            budget=budget,
            tally=new_tally(n),
            status=np.zeros(n, dtype=np.int64),
            next=np.full(1, NOBODY),
            trees=new_boundary(n, looks=False),
            finished=np.zeros(1, dtype=np.int64),
        )


class GapEState(NamedTuple):
    """A play of `GapE`."""

    k: int
    s: float  # c sqrt(Q / H)
    budget: int
    tally: Tally
    status: np.ndarray  # REJECTED for an arm that was withdrawn
    next: np.ndarray  # the arm to be pulled; NOBODY before all arms have been
    trees: Tournament  # follows from the rest
    finished: np.ndarray


@inlined
def update(state, m, arms, counts):
    """Find the arm with the largest index.

    Among the k best-ranked arms it is the one with the lowest ``mean - s / sqrt(u)``, among
    the others the one with the highest ``mean + s / sqrt(u)``: their indices are compared.
    """
    trees = state.trees
    if state.next[0] == NOBODY:
        rebuild(state)
    else:
        move_lines(trees, state.tally, m, arms)
    low, high = best(trees, LOWEST), best(trees, HIGHEST)
    state.next[0] = high if prefers_high(trees, state.s, low, high) else low
    if state.tally.total[0] == state.budget:
        state.finished[0] = BY_BUDGET


@inlined
def prefers_high(trees, s, low, high):
    """Tell whether the arm outside has the larger index, or the same and a lower number.

    The two arms at the boundary share one gap, and more arms may do so by chance.  Equal
    gaps of means with different denominators can differ by rounding: gaps of arms with as
    many pulls that are closer than ``ROUNDING`` count as equal.
    """
    if high == NOBODY:
        return False
    line = trees.line
    low_gap = line[low, MEAN] - line[best(trees, BEST_LOW), MEAN]
    high_gap = line[best(trees, WORST_HIGH), MEAN] - line[high, MEAN]
    if line[low, WEIGHT] == line[high, WEIGHT] and abs(low_gap - high_gap) < ROUNDING:
        return high < low
    return s * line[high, WEIGHT] - high_gap > s * line[low, WEIGHT] - low_gap


@maker
def recommend(state, chosen):
    """The k largest means."""
    best_active(state.tally, state.status, chosen)


@maker
def rebuild(state):
    """Set up the trees from the tally."""
    draw_boundary(state.trees, state.tally, state.status, state.k, state.s)


def withdraw(state, arm, k):
    """Take an arm out, with the arm of the next rank in its place if it was inside."""
    withdraw_status(state.status, arm, k)
    if state.next[0] != NOBODY:
        leave_boundary(state.trees, arm)


register(GapEState, ask_next, update, recommend, withdraw, rebuild)
