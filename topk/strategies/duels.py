"""UGapE by looking at the arms: its variance form, and several bandits at once."""

import math
from typing import NamedTuple

import numpy as np

from topk.kernels.compiling import inlined, kernel, maker
from topk.kernels.duel import TIE
from topk.kernels.filing import ACTIVE, withdraw_status
from topk.kernels.ranking import rank_arms
from topk.kernels.rules import BY_BUDGET, BY_RULE, register
from topk.kernels.scan import (
    Looks,
    active_of,
    best_of_each,
    largest_index,
    look,
    new_looks,
    see,
    strongest,
)
from topk.kernels.tally import Tally, new_tally
from topk.kernels.tournament import NOBODY


class ScanState(NamedTuple):
    """A play of UGapE in its variance form, or with several bandits."""

    k: int
    epsilon: float
    bandits: int
    budget: int  # -1: none
    fixed_budget: bool
    variance: bool
    a: float  # with a fixed budget; -1: estimated
    c: float  # with a fixed confidence
    log_ratio: float  # of ln(ratio * time^3), with a fixed confidence
    tally: Tally
    status: np.ndarray  # REJECTED for an arm that was withdrawn
    next: np.ndarray  # the arm to be pulled; NOBODY before all arms have been
    smallest: np.ndarray  # with a fixed budget: the smallest B of a J(t) so far, each bandit's
    kept: np.ndarray  # with a fixed budget: the J(t) that had it, each bandit's
    looks: Looks  # follows from the rest
    finished: np.ndarray


def new_scan(
    n,
    *,
    k,
    epsilon,
    budget,
    bandits=1,
    fixed_budget=False,
    variance=False,
    a=0.0,
    c=0.0,
    log_ratio=0.0,
):
    """Return the state of a new play with ``bandits`` bandits of ``n`` arms each."""
    size = bandits * n
    return ScanState(
        k=k,
        epsilon=float(epsilon),
        bandits=bandits,
        budget=budget,
        fixed_budget=fixed_budget,
        variance=variance,
        a=min(a, 1e300),  # finite, whatever the complexity
        c=c,
        log_ratio=log_ratio,
        tally=new_tally(size, squares=variance),
        status=np.zeros(size, dtype=np.int64),
        next=np.full(1, NOBODY),
        smallest=np.full(bandits, 1e300),
        kept=np.zeros(bandits * k, dtype=np.int64),
        looks=new_looks(bandits, size),
        finished=np.zeros(1, dtype=np.int64),
    )


@kernel
def level(state):
    """Return a: what the radii of all arms have in common."""
    if not state.fixed_budget:
        if state.variance:
            time = state.tally.total[0] + 1.0
            return 2 * state.c * (state.log_ratio + 3 * math.log(time))
        time = max(1.0, float(state.tally.total[0]))
        return state.c * (state.log_ratio + 3 * math.log(time))
    if state.a >= 0:
        return state.a
    size = state.status.size
    if state.variance:
        return (state.budget - 2 * size) / (2 * estimated_complexity(state))
    return (state.budget - size) / (4 * estimated_complexity(state))


@kernel
def sample_variance(tally, arm):
    """Return the variance of an arm's rewards, with divisor T - 1; 0 for one reward."""
    pulls = tally.pulls[arm]
    spread = tally.squares[arm] - tally.sums[arm] * tally.sums[arm] / max(pulls, 1)
    return max(0.0, spread) / max(pulls - 1, 1)


@kernel
def radius_of(state, arm, a):
    """Return half the width of an arm's bounds, for an arm with pulls."""
    pulls = max(1, state.tally.pulls[arm])
    if not state.variance:
        return math.sqrt(a / pulls)
    variance = sample_variance(state.tally, arm)
    return math.sqrt(2 * a * variance / pulls) + 7 * a / (3 * max(pulls - 1, 1))


@maker
def radii(state):
    """Return half the width of every arm's bounds."""
    found, a = np.empty(state.status.size), level(state)
    for arm in range(found.size):
        found[arm] = radius_of(state, arm, a)
    return found


@maker
def estimated_complexity(state):
    """Estimate the complexity, each term on the small side by sqrt(1 / (2 pulls)).

    Gaps are enlarged by that much, and in the variance form standard deviations lowered.
    """
    tally, k, n = state.tally, state.k, state.status.size // state.bandits
    total = 0.0
    for p in range(state.bandits):
        alive = active_of(state.status, p * n, n)
        ranked = rank_arms(tally, alive, alive.size, 1.0)
        if alive.size <= k or tally.pulls[ranked[alive.size - 1]] == 0:
            total += alive.size
            continue
        inside = tally.sums[ranked[k - 1]] / tally.pulls[ranked[k - 1]]
        outside = tally.sums[ranked[k]] / tally.pulls[ranked[k]]
        for rank in range(alive.size):
            arm = ranked[rank]
            mean = tally.sums[arm] / tally.pulls[arm]
            doubt = math.sqrt(0.5 / tally.pulls[arm])
            gap = (mean - outside if rank < k else inside - mean) + doubt
            margin = max((gap + state.epsilon) / 2, state.epsilon)
            root = 1.0
            if state.variance:
                sd = max(0.0, math.sqrt(sample_variance(tally, arm)) - doubt)
                root = sd + math.sqrt(sd * sd + 13 / 3 * margin)
            total += (root / margin) ** 2
    return total


@inlined
def ask(state, arms, counts):
    """Ask for every arm once (twice where variances count), then for one arm at a time."""
    if state.finished[0]:
        return 0
    if state.next[0] != NOBODY:
        arms[0], counts[0] = state.next[0], 1
        return 1
    m = 0
    for arm in range(state.status.size):
        if state.status[arm] == ACTIVE:
            arms[m], counts[m] = arm, 2 if state.variance else 1
            m += 1
    return m


@inlined
def update(state, m, arms, counts):
    """Form J(t) of each bandit, keep it if it is its best so far, and find the next arm.

    With a fixed budget J is not formed after the last pull.
    """
    first, spent = state.next[0] == NOBODY, state.tally.total[0] == state.budget
    ended = BY_BUDGET if spent else 0
    if first or not (spent and state.fixed_budget):
        if first or not state.fixed_budget or state.a < 0:
            rebuild(state)
        else:  # nothing has changed but what was pulled
            for j in range(m):
                see(state.tally, state.looks, arms[j], radius_of(state, arms[j], state.a))
                p = arms[j] // (state.status.size // state.bandits)
                look(state.status, state.looks, p, state.k)
        state.next[0] = state.looks.pick[strongest(state.looks)]
        if state.fixed_budget:
            for p in range(state.bandits):
                if state.looks.index[p] < state.smallest[p] - TIE:
                    keep(state, p)
        elif largest_index(state.looks) < state.epsilon:
            ended = BY_RULE
    if ended:
        state.finished[0] = ended


@maker
def keep(state, p):
    """Remember the present J of a bandit, and its index."""
    n = state.status.size // state.bandits
    state.smallest[p] = max(state.looks.index[p], -1e300)  # a number even if all are inside
    inside = np.flatnonzero(state.looks.inside[p * n : (p + 1) * n])
    state.kept[p * state.k : (p + 1) * state.k] = p * n + inside


@maker
def recommend(state, chosen):
    """J of each bandit, or with a fixed budget the J with the smallest index so far."""
    if state.next[0] == NOBODY:
        best_of_each(state.tally, state.status, state.bandits, chosen)
    elif state.fixed_budget:
        chosen[:] = state.kept
    else:
        chosen[:] = np.flatnonzero(state.looks.inside)


@maker
def rebuild(state):
    """Look at all bandits."""
    a = level(state)
    for arm in range(state.status.size):
        if state.status[arm] == ACTIVE:
            see(state.tally, state.looks, arm, radius_of(state, arm, a))
    for p in range(state.bandits):
        look(state.status, state.looks, p, state.k)


def withdraw(state, arm, k):
    """Take an arm out and form its bandit's J anew; sets formed there before are forgotten."""
    withdraw_status(state.status, arm, k, state.bandits)
    if state.next[0] != NOBODY:
        rebuild(state)
        if state.fixed_budget:
            keep(state, arm // (state.status.size // state.bandits))


register(ScanState, ask, update, recommend, withdraw, rebuild)
