"""LUCB1: lower and upper confidence bounds (Kalyanakrishnan et al. 2012)."""

import math
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numba import njit

from topk._checks import check_budget, check_delta, check_epsilon, check_k, check_n
from topk.kernels.filing import fill_chosen, withdraw_active
from topk.kernels.rules import BY_BUDGET, BY_RULE, register
from topk.kernels.tally import Tally, new_tally
from topk.strategies.protocol import Strategy, clipped_bounds


@dataclass(frozen=True)
class LUCB1(Strategy):
    r"""Pull the two arms that are most easily confused across the boundary.

    In round t, with :math:`u_a` pulls of arm a, the radius is

    .. math:: \beta(u, t) = \sqrt{\frac{1}{2u}\ln\frac{k_1 n t^4}{\delta}},
       \qquad k_1 = \tfrac54.

    ``High`` holds the k largest means.  Let h be the arm of High with the lowest lower
    bound and l the arm outside with the highest upper bound.  The play ends when the
    upper bound of l is less than epsilon above the lower bound of h; otherwise both are
    pulled.

    Parameters
    ----------
    k : int
        How many arms are wanted, 1 to n - 1.
    epsilon : float
        Per-arm tolerance, in [0, 1): with probability 1 - delta every returned arm has
        a mean of at least the k-th largest minus epsilon.  With 0 and a tie at the
        boundary the play ends only with its budget.
    delta : float
        Probability of failure, in (0, 1).
    budget : int, optional
        The most pulls that may be made, at least n.  When it ends the play, the k largest
        means are returned without a certificate.

    Raises
    ------
    ValueError
        If a parameter is out of range; ``budget`` is compared with n at `start`.

    Notes
    -----
    Kalyanakrishnan, Tewari, Auer and Stone (2012), Section 3; the radius and k_1 are
    restored from an independent implementation, the formula being lost in the text that
    we read.  t counts rounds; the first test is at t = 1, after one pull of every arm.
    Ties go to the arm of lower index.  A pair that would exceed the budget pulls h only.

    Examples
    --------
    >>> import topk
    >>> bandit = topk.BernoulliBandit([0.9, 0.8, 0.1, 0.2])
    >>> outcome = topk.run(LUCB1(2, epsilon=0.1, delta=0.05), bandit, rng=0)
    >>> outcome.selected.tolist(), outcome.certified
    ([0, 1], True)
    """

    k: int
    epsilon: float
    delta: float
    budget: int | None = None
    certifies = True
    anytime = True

    def __post_init__(self):
        check_k(self.k)
        check_epsilon(self.epsilon)
        check_delta(self.delta)
        if self.budget is not None:
            check_budget(self.budget)

    def begin(self, n):
        """Return the state of a new play with ``n`` arms."""
        n = check_n(n)
        check_k(self.k, n)
        unlimited = self.budget is None
        return LUCB1State(
            epsilon=float(self.epsilon),
            log_ratio=math.log(1.25 * n / self.delta),
            budget=-1 if unlimited else check_budget(self.budget, smallest=n),
            tally=new_tally(n),
            alive=np.arange(n, dtype=np.int64),
            status=np.zeros(n, dtype=np.int64),
            size=np.array([n]),
            high=np.zeros(n, dtype=np.bool_),
            chosen=np.zeros(self.k, dtype=np.int64),
            rounds=np.zeros(1, dtype=np.int64),
            pair=np.zeros(2, dtype=np.int64),
            finished=np.zeros(1, dtype=np.int64),
        )

    def bounds(self, state):
        """Return the confidence bounds of the current round; see `Strategy.bounds`."""
        pulls = np.maximum(state.tally.pulls, 1)
        return clipped_bounds(state.tally, np.sqrt(log_term(state) / (2 * pulls)))


class LUCB1State(NamedTuple):
    """A play of `LUCB1`."""

    epsilon: float
    log_ratio: float  # ln(k_1 n / delta)
    budget: int  # -1: none
    tally: Tally
    alive: np.ndarray  # all arms, but for those that were withdrawn
    status: np.ndarray
    size: np.ndarray
    high: np.ndarray  # whether an arm is among the k largest means
    chosen: np.ndarray  # room for a set
    rounds: np.ndarray  # t, 0 before the first test
    pair: np.ndarray  # h and l
    finished: np.ndarray


@njit(cache=True, nogil=True)
def log_term(state):
    """Return ln(k_1 n t^4 / delta), factored so that large t cannot overflow."""
    return state.log_ratio + 4 * math.log(max(1.0, float(state.rounds[0])))


@njit(cache=True, nogil=True)
def ask(state, arms, counts):
    """Ask for every arm once, then for h and l (h alone if only one pull is left)."""
    if state.finished[0]:
        return 0
    if state.rounds[0] == 0:
        size = state.size[0]
        arms[:size] = state.alive[:size]
        counts[:size] = 1
        return size
    arms[:2] = state.pair
    counts[:2] = 1
    return 1 if state.tally.total[0] + 1 == state.budget else 2


@njit(cache=True, nogil=True)
def update(state, m, arms, counts):
    """Find the next pair and test whether the play is over."""
    if state.rounds[0] == 0:
        partition(state)
    else:
        mend_partition(state)
    state.rounds[0] += 1
    if closest_pair(state) < state.epsilon:
        state.finished[0] = BY_RULE
    elif state.tally.total[0] == state.budget:
        state.finished[0] = BY_BUDGET


@njit(cache=True, nogil=True)
def partition(state):
    """Mark the k best-ranked arms as ``high``."""
    fill_chosen(state.tally, state.alive, state.size[0], state.status, state.chosen)
    state.high[:] = False
    for arm in state.chosen:
        state.high[arm] = True


@njit(cache=True, nogil=True)
def mend_partition(state):
    """Exchange worst inside for best outside until ``high`` holds the k best-ranked arms.

    Ranks are by mean, then by lower index.  Two means have changed, so that at most two
    exchanges are made.
    """
    tally = state.tally
    while True:
        worst, best = -1, -1
        worst_mean, best_mean = np.inf, -np.inf
        for arm in state.alive[: state.size[0]]:
            mean = tally.sums[arm] / tally.pulls[arm]
            if state.high[arm]:
                if mean <= worst_mean:  # of equal means the later arm ranks lower
                    worst, worst_mean = arm, mean
            elif mean > best_mean:
                best, best_mean = arm, mean
        if best_mean < worst_mean or (best_mean == worst_mean and worst < best):
            return
        state.high[worst], state.high[best] = False, True


@njit(cache=True, nogil=True)
def closest_pair(state):
    """Set the pair (h, l) and return the upper bound of l minus the lower bound of h."""
    tally, width = state.tally, math.sqrt(log_term(state) / 2)
    lowest, highest = np.inf, -np.inf
    for arm in state.alive[: state.size[0]]:
        mean, radius = tally.sums[arm] / tally.pulls[arm], width / math.sqrt(tally.pulls[arm])
        if state.high[arm]:
            if mean - radius < lowest:
                lowest, state.pair[0] = mean - radius, arm
        elif mean + radius > highest:
            highest, state.pair[1] = mean + radius, arm
    return highest - lowest


@njit(cache=True, nogil=True)
def recommend(state, chosen):
    """The k largest means."""
    fill_chosen(state.tally, state.alive, state.size[0], state.status, chosen)


def withdraw(state, arm, k):
    """Take an arm out, with the arm of the next rank in its place if it was ``high``."""
    withdraw_active(state, arm, k)
    if state.rounds[0] > 0:
        partition(state)


register(LUCB1State, ask, update, recommend, withdraw)
