"""Gap-E for several bandits at once (Gabillon et al. 2011)."""

import math
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from topk._checks import check_budget, check_real
from topk.kernels.compiling import inlined, maker
from topk.kernels.duel import TIE
from topk.kernels.filing import ACTIVE, ask_next, withdraw_status
from topk.kernels.rules import BY_BUDGET, register
from topk.kernels.scan import Looks, best_of_each, new_looks, see, strongest
from topk.kernels.tally import Tally, new_tally
from topk.kernels.tournament import NOBODY
from topk.strategies.several import SeveralBandits, check_several


@dataclass(frozen=True)
class MultiBanditGapE(SeveralBandits):
    r"""Pull, over several bandits, the arm with the largest index of minus gap plus radius.

    After one pull of every arm, each further pull goes to the arm with the largest

    .. math:: -\hat\Delta_i + c\sqrt{\frac{Q / H}{T_i}},

    where the empirical gap is the distance to its bandit's second mean for the best-ranked
    arm of each bandit and to the best mean for the others, and T_i are the pulls of arm i.
    The best arm of each bandit is wanted (k = 1).

    Parameters
    ----------
    budget : int
        Q, the pulls in all, at least M n.
    complexity : float
        H, positive; the true :math:`H_1^{[M]}` of ``topk.hardness.h_multibandit`` in
        experiments.
    c : float
        Exploration constant, positive.

    Raises
    ------
    ValueError
        If a parameter is out of range; ``budget`` is compared with M n at `start`.

    Notes
    -----
    Gabillon, Ghavamzadeh, Lazaric and Bubeck (2011); the constants are written as in
    Bubeck, Wang and Viswanathan (2013), Figure 3, so that for one bandit this is `GapE`
    with k = 1.  The largest mean of each bandit is returned; ties go to the arm of lower
    number.  A bandit of which a single arm is left is pulled no more.

    Examples
    --------
    >>> import topk
    >>> bandit = topk.MultiBandit([[0.9, 0.5, 0.1], [0.2, 0.3, 0.7]])
    >>> strategy = MultiBanditGapE(600, topk.hardness.h_multibandit(bandit.means)[0])
    >>> topk.run(strategy, bandit, rng=0).selected.tolist()
    [[0], [2]]
    """

    budget: int
    complexity: float
    c: float = 2.0
    k = 1

    def __post_init__(self):
        check_budget(self.budget)
        check_real(self.complexity, "complexity", 0, 1e300, low_open=True)
        check_real(self.c, "c", 0, 1e6, low_open=True)

    def begin(self, n):
        """Return the state of a new play with ``n`` = (M, n): M bandits of n arms."""
        bandits, n = check_several(n)
        size = bandits * n
        budget = check_budget(self.budget, smallest=size)
        return MultiGapEState(
            bandits=bandits,
            s=self.c * math.sqrt(budget / self.complexity),
            budget=budget,
            tally=new_tally(size),
            status=np.zeros(size, dtype=np.int64),
            next=np.full(1, NOBODY),
            looks=new_looks(bandits, size),
            finished=np.zeros(1, dtype=np.int64),
        )


class MultiGapEState(NamedTuple):
    """A play of `MultiBanditGapE`."""

    bandits: int
    s: float  # c sqrt(Q / H)
    budget: int
    tally: Tally
    status: np.ndarray  # REJECTED for an arm that was withdrawn
    next: np.ndarray  # the arm to be pulled; NOBODY before all arms have been
    looks: Looks  # follows from the rest
    finished: np.ndarray


@inlined
def update(state, m, arms, counts):
    """Look at the bandits that were pulled, and find the arm with the largest index."""
    if state.next[0] == NOBODY:
        rebuild(state)
    else:
        for j in range(m):
            look_at(state, arms[j])
            find_largest(state, arms[j] // (state.status.size // state.bandits))
    state.next[0] = state.looks.pick[strongest(state.looks)]
    if state.tally.total[0] == state.budget:
        state.finished[0] = BY_BUDGET


@inlined
def look_at(state, arm):
    """Take over an arm's mean and radius."""
    see(state.tally, state.looks, arm, state.s / math.sqrt(state.tally.pulls[arm]))


@inlined
def find_largest(state, p):
    """Find the arm of bandit p with the largest index; of equal ones the lowest number."""
    looks, n = state.looks, state.status.size // state.bandits
    first, best, second = NOBODY, -np.inf, -np.inf  # the best-ranked arm, the two best means
    for arm in range(p * n, (p + 1) * n):
        if state.status[arm] == ACTIVE:
            mean = looks.mean[arm]
            if mean > best:
                first, best, second = arm, mean, best
            elif mean > second:
                second = mean
    looks.index[p], looks.pick[p] = -np.inf, first
    for arm in range(p * n, (p + 1) * n):
        if state.status[arm] == ACTIVE and second > -np.inf:
            index = looks.radius[arm] - best + (second if arm == first else looks.mean[arm])
            if index > looks.index[p] + TIE:
                looks.index[p], looks.pick[p] = index, arm


@maker
def recommend(state, chosen):
    """The largest mean of each bandit."""
    best_of_each(state.tally, state.status, state.bandits, chosen)


@maker
def rebuild(state):
    """Look at all bandits."""
    for arm in range(state.status.size):
        if state.status[arm] == ACTIVE:
            look_at(state, arm)
    for p in range(state.bandits):
        find_largest(state, p)


def withdraw(state, arm, k):
    """Take an arm out; gaps are taken to the others."""
    withdraw_status(state.status, arm, k, state.bandits)
    if state.next[0] != NOBODY:
        rebuild(state)


register(MultiGapEState, ask_next, update, recommend, withdraw, rebuild)
