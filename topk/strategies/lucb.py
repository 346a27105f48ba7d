"""LUCB1: lower and upper confidence bounds (Kalyanakrishnan et al. 2012)."""

import math
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from topk._checks import check_budget, check_flag, check_k, check_n, check_promise
from topk.kernels.boundary import (
    HIGHEST,
    LOWEST,
    draw_boundary,
    leave_boundary,
    move_lines,
    new_boundary,
)
from topk.kernels.compiling import inlined, maker
from topk.kernels.filing import (
    ACTIVE,
    ask_active,
    best_active,
    remember,
    withdraw_active,
    withdraw_status,
)
from topk.kernels.rules import BY_BUDGET, BY_RULE, register
from topk.kernels.survey import Survey
from topk.kernels.tally import Tally, new_tally
from topk.kernels.tournament import NOBODY, Tournament
from topk.kernels.winners import advance, best, key
from topk.strategies import halving
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
    guard : bool
        Whether to bound the worst case: LUCB1 is played with delta / 2, and if it has not
        stopped after as many pulls as `Halving` with delta / 2 makes in all, Halving starts
        from scratch.  Needs a positive ``epsilon``.

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
    The guard is the paper's remark on the worst case; that the switch comes when Halving's
    own number of pulls is reached is our choice of its constant.

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
    guard: bool = False
    certifies = True
    anytime = True

    def __post_init__(self):
        check_promise(self, positive=check_flag(self.guard, "guard"))

    def begin(self, n):
        """Return the state of a new play with ``n`` arms."""
        n = check_n(n)
        check_k(self.k, n)
        budget = -1 if self.budget is None else check_budget(self.budget, smallest=n)
        if self.guard:
            return guarded_state(self, n, budget)
        return new_state(self, n, self.delta, budget)

    def bounds(self, state):
        """Return the confidence bounds of the current round; see `Strategy.bounds`.

        After the guard has switched to Halving they are those of LUCB1's last round.
        """
        state = state.lucb if self.guard else state
        pulls = np.maximum(state.tally.pulls, 1)
        return clipped_bounds(state.tally, np.sqrt(log_term(state) / (2 * pulls)))


class LUCB1State(NamedTuple):
    """A play of `LUCB1`."""

    k: int
    epsilon: float
    log_ratio: float  # ln(k_1 n / delta)
    budget: int  # -1: none
    tally: Tally
    status: np.ndarray  # REJECTED for an arm that was withdrawn
    rounds: np.ndarray  # t, 0 before the first test
    trees: Tournament | Survey  # follows from the rest
    finished: np.ndarray


def new_state(strategy, n, delta, budget):
    """Return the state of a new play of LUCB1 itself."""
    return LUCB1State(
        k=int(strategy.k),
        epsilon=float(strategy.epsilon),
        log_ratio=math.log(1.25 * n / delta),
        budget=budget,
        tally=new_tally(n),
        status=np.zeros(n, dtype=np.int64),
        rounds=np.zeros(1, dtype=np.int64),
        trees=new_boundary(n),
        finished=np.zeros(1, dtype=np.int64),
    )


@inlined
def log_term(state):
    """Return ln(k_1 n t^4 / delta), factored so that large t cannot overflow."""
    return state.log_ratio + 4 * math.log(max(1.0, float(state.rounds[0])))


@inlined
def ask(state, arms, counts):
    """Ask for every arm once, then for h and l (h alone if only one pull is left)."""
    if state.finished[0]:
        return 0
    if state.rounds[0] == 0:
        return ask_active(state.status, arms, counts)
    arms[0], arms[1] = best(state.trees, LOWEST), best(state.trees, HIGHEST)
    counts[0], counts[1] = 1, 1
    return 1 if state.tally.total[0] + 1 == state.budget else 2


@inlined
def update(state, m, arms, counts):
    """Find the next pair and test whether the play is over.

    The plain form compares all arms in every round: ``High`` are the first k of the ranked
    arms, h the first arm of High with the lowest ``mean - s / sqrt(u)``, l the first of
    the others with the highest ``mean + s / sqrt(u)``, and s is ``sqrt(log_term / 2)``.
    """
    state.rounds[0] += 1
    trees = state.trees
    if state.rounds[0] == 1:
        rebuild(state)
    else:
        advance(trees, math.sqrt(log_term(state) / 2))
        move_lines(trees, state.tally, m, arms)
    low, high = best(trees, LOWEST), best(trees, HIGHEST)
    # nobody is left outside once arms were withdrawn until k were left
    if high == NOBODY or key(trees, HIGHEST, high) + key(trees, LOWEST, low) < state.epsilon:
        state.finished[0] = BY_RULE
    elif state.tally.total[0] == state.budget:
        state.finished[0] = BY_BUDGET


@maker
def recommend(state, chosen):
    """The k largest means."""
    best_active(state.tally, state.status, chosen)


@maker
def rebuild(state):
    """Set up the trees from the tally and the round."""
    s = math.sqrt(log_term(state) / 2)
    draw_boundary(state.trees, state.tally, state.status, state.k, s)


def withdraw(state, arm, k):
    """Take an arm out, with the arm of the next rank in its place if it was in High."""
    withdraw_status(state.status, arm, k)
    if state.rounds[0] > 0:
        leave_boundary(state.trees, arm)


register(LUCB1State, ask, update, recommend, withdraw, rebuild)


class GuardedState(NamedTuple):
    """A play of `LUCB1` with its guard; both parts share one tally and one end."""

    lucb: LUCB1State
    halving: halving.HalvingState
    patience: int  # pulls after which Halving takes over
    tally: Tally
    status: np.ndarray  # that of the part that is playing
    guarding: np.ndarray  # 1 once Halving has taken over
    finished: np.ndarray


def guarded_state(strategy, n, budget):
    """Return the state of a new play of LUCB1 with its guard."""
    second = halving.Halving(strategy.k, strategy.epsilon, strategy.delta / 2).begin(n)
    first = new_state(strategy, n, strategy.delta / 2, budget)
    shared = {"tally": first.tally, "status": first.status, "finished": first.finished}
    second = second._replace(budget=budget, **shared)
    patience = halving.total_pulls(n, strategy.k, strategy.epsilon, strategy.delta / 2)
    guarding = np.zeros(1, dtype=np.int64)
    return GuardedState(first, second, patience, guarding=guarding, **shared)


@maker
def ask_guarded(state, arms, counts):
    """Ask for what the part that is playing wants."""
    if state.guarding[0]:
        return halving.ask(state.halving, arms, counts)
    return ask(state.lucb, arms, counts)


@maker
def update_guarded(state, m, arms, counts):
    """Move the part that is playing on; let Halving take over when patience is at an end."""
    if state.guarding[0]:
        halving.update(state.halving, m, arms, counts)
        return
    update(state.lucb, m, arms, counts)
    if state.finished[0] == 0 and state.tally.total[0] >= state.patience:
        state.guarding[0] = 1
        alive = np.flatnonzero(state.status == ACTIVE)
        state.halving.alive[: alive.size] = alive
        state.halving.size[0] = alive.size
        remember(state.tally, state.halving.earlier, alive, alive.size)


@maker
def recommend_guarded(state, chosen):
    """What the part that is playing would return."""
    if state.guarding[0]:
        halving.recommend(state.halving, chosen)
    else:
        recommend(state.lucb, chosen)


def rebuild_guarded(state):
    """Set up LUCB1's trees while it is playing."""
    if not state.guarding[0]:
        rebuild(state.lucb)


def withdraw_guarded(state, arm, k):
    """Take an arm out of the part that is playing."""
    if state.guarding[0]:
        withdraw_active(state.halving, arm, k)
    else:
        withdraw(state.lucb, arm, k)


register(
    GuardedState,
    ask_guarded,
    update_guarded,
    recommend_guarded,
    withdraw_guarded,
    rebuild_guarded,
)
