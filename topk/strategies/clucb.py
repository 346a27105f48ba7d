"""CLUCB and CLUCB-PAC for subsets of fixed size (Chen et al. 2014)."""

import math
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from topk._checks import check_budget, check_k, check_n, check_promise, check_real
from topk.kernels.compiling import inlined, kernel, maker
from topk.kernels.exchange import (
    WIDEST,
    add_up,
    draw_exchange,
    move_exchange,
    new_exchange,
)
from topk.kernels.filing import ask_active, best_active, withdraw_status
from topk.kernels.rules import BY_BUDGET, BY_RULE, register
from topk.kernels.tally import Tally, new_tally
from topk.kernels.tournament import NOBODY, Tournament, advance, best
from topk.strategies.protocol import Strategy, clipped_bounds

NEAR = 1e-9  # closer than this to the threshold the sum is added up anew


class ExchangeStrategy(Strategy):
    """What `CLUCB` and `CLUCBPAC` share."""

    certifies = True
    anytime = True

    def __post_init__(self):
        check_promise(self)
        check_real(self.R, "R", 0, 1e6, low_open=True)

    def begin(self, n):
        """Return the state of a new play with ``n`` arms."""
        n = check_n(n)
        k = check_k(self.k, n)
        return CLUCBState(
            k=k,
            allowed=k * float(self.epsilon),
            R=float(self.R),
            log_ratio=math.log(4 * n / self.delta),
            budget=-1 if self.budget is None else check_budget(self.budget, smallest=n),
            tally=new_tally(n),
            status=np.zeros(n, dtype=np.int64),
            begun=np.zeros(1, dtype=np.int64),
            gain=np.zeros(2),
            trees=new_exchange(n),
            finished=np.zeros(1, dtype=np.int64),
        )

    def bounds(self, state):
        """Return the confidence bounds at the current time; see `Strategy.bounds`."""
        return clipped_bounds(state.tally, scale(state) / np.sqrt(np.maximum(state.tally.pulls, 1)))


@dataclass(frozen=True)
class CLUCBPAC(ExchangeStrategy):
    r"""Pull the most uncertain arm among those that the bounds would exchange.

    After t pulls in all, T_i of them of arm i, the radius is

    .. math:: \mathrm{rad}_i = R\sqrt{\frac{2\ln(4nt^3/\delta)}{T_i}}.

    M are the k largest means.  With the lower bounds of M and the upper bounds of the
    others in place of the means, another set would be the best; the play ends when it
    gains at most k epsilon over M, and otherwise the arm with the largest radius among
    those in just one of the two sets is pulled.

    Parameters
    ----------
    k : int
        How many arms are wanted, 1 to n - 1.
    epsilon : float
        Tolerance of the *average*, in [0, 1): with probability 1 - delta the aggregate
        regret of the returned set is at most epsilon.  With 0 and a tie at the boundary
        the play ends only with its budget.
    delta : float
        Probability of failure, in (0, 1).
    R : float
        The rewards are R-sub-Gaussian; 1/2 holds for all rewards in [0, 1].
    budget : int, optional
        The most pulls that may be made, at least n.  When it ends the play, the k largest
        means are returned without a certificate.

    Raises
    ------
    ValueError
        If a parameter is out of range; ``budget`` is compared with n at `start`.

    Notes
    -----
    Chen, Lin, King, Lyu and Chen (2014); we read the algorithm, its radius and the PAC
    rule in independent implementations, not in the paper.  There the tolerance bounds the
    *sum* of the means; here it is multiplied by k.  t counts pulls and the first test is
    at t = n.  An exchange has to gain: of equal bounds M keeps its arm.  Of equal radii
    the arm of lower index is pulled.

    Examples
    --------
    >>> import topk
    >>> bandit = topk.BernoulliBandit([0.9, 0.8, 0.1, 0.2])
    >>> outcome = topk.run(CLUCBPAC(2, epsilon=0.1, delta=0.05), bandit, rng=0)
    >>> outcome.selected.tolist(), outcome.certified
    ([0, 1], True)
    """

    k: int
    epsilon: float
    delta: float
    R: float = 0.5
    budget: int | None = None


@dataclass(frozen=True)
class CLUCB(ExchangeStrategy):
    """Exact identification: `CLUCBPAC` that ends when no exchange gains anything.

    Parameters
    ----------
    k : int
        How many arms are wanted, 1 to n - 1.
    delta : float
        Probability of failure, in (0, 1): otherwise the k best arms are returned.
    R : float
        The rewards are R-sub-Gaussian; 1/2 holds for all rewards in [0, 1].
    budget : int, optional
        The most pulls that may be made, at least n.  With a tie at the boundary the play
        ends only with its budget.

    Raises
    ------
    ValueError
        If a parameter is out of range; ``budget`` is compared with n at `start`.

    Notes
    -----
    Chen, Lin, King, Lyu and Chen (2014); see `CLUCBPAC`.

    Examples
    --------
    >>> import topk
    >>> topk.run(CLUCB(1, delta=0.1), topk.BernoulliBandit([0.9, 0.1]), rng=0).selected.tolist()
    [0]
    """

    k: int
    delta: float
    R: float = 0.5
    budget: int | None = None
    epsilon = 0.0


class CLUCBState(NamedTuple):
    """A play of `CLUCB` or `CLUCBPAC`."""

    k: int
    allowed: float  # k epsilon
    R: float
    log_ratio: float  # ln(4 n / delta)
    budget: int  # -1: none
    tally: Tally
    status: np.ndarray  # REJECTED for an arm that was withdrawn
    begun: np.ndarray  # 1 once all arms have been pulled
    gain: np.ndarray  # of the exchange, see kernels.exchange.weigh; follows from the rest
    trees: Tournament  # follows from the rest
    finished: np.ndarray


@inlined
def scale(state):
    """Return s: the radius of an arm is s over the square root of its pulls."""
    t = max(1.0, float(state.tally.total[0]))
    return state.R * math.sqrt(2 * (state.log_ratio + 3 * math.log(t)))


@inlined
def ask(state, arms, counts):
    """Ask for every arm once, then for the widest arm of the exchange."""
    if state.finished[0]:
        return 0
    if state.begun[0] == 0:
        return ask_active(state.status, arms, counts)
    arms[0], counts[0] = best(state.trees, WIDEST), 1
    return 1


@inlined
def update(state, m, arms, counts):
    """Mend the exchange and test whether it gains little enough.

    The plain form sorts the upper bounds outside M decreasingly, a_1 >= a_2 >= ..., and
    the lower bounds of M increasingly, b_1 <= b_2 <= ...: the exchange are the pairs with
    a_j > b_j and it gains the sum of their differences.
    """
    if state.begun[0] == 0:
        state.begun[0] = 1
        rebuild(state)
    else:
        advance(state.trees, scale(state))
        move_exchange(state.trees, state.gain, state.tally, m, arms)
    if gains(state.trees, state.gain, state.allowed) <= state.allowed:
        state.finished[0] = BY_RULE
    elif state.tally.total[0] == state.budget:
        state.finished[0] = BY_BUDGET


@kernel
def gains(trees, gain, allowed):
    """Return what the exchange gains; added up anew where rounding could decide."""
    if best(trees, WIDEST) == NOBODY:
        return 0.0
    if abs(gain[0] + trees.s[0] * gain[1] - allowed) < NEAR * (1.0 + gain[1]):
        add_up(trees.line, gain)
    return gain[0] + trees.s[0] * gain[1]


@maker
def recommend(state, chosen):
    """The k largest means."""
    best_active(state.tally, state.status, chosen)


@maker
def rebuild(state):
    """Set up the trees from the tally and the time."""
    draw_exchange(state.trees, state.gain, state.tally, state.status, state.k, scale(state))


def withdraw(state, arm, k):
    """Take an arm out and look for the exchange anew."""
    withdraw_status(state.status, arm, k)
    if state.begun[0]:
        rebuild(state)


register(CLUCBState, ask, update, recommend, withdraw, rebuild)
