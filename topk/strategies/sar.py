"""SAR: successive accepts and rejects (Bubeck, Wang and Viswanathan 2013)."""

from dataclasses import dataclass
from functools import lru_cache
from typing import NamedTuple

import numpy as np

from topk._checks import as_array, check_budget, check_k, check_n, refuse
from topk.kernels.compiling import maker
from topk.kernels.filing import (
    ACCEPTED,
    REJECTED,
    accepts_first,
    fill_chosen,
    keep_active,
    withdraw_active,
)
from topk.kernels.ranking import rank_arms
from topk.kernels.rules import BY_BUDGET, register
from topk.kernels.tally import Tally, new_tally
from topk.strategies.protocol import Strategy


@dataclass(frozen=True)
class SAR(Strategy):
    r"""Successive accepts and rejects.

    In n - 1 phases every arm that is still active is pulled up to

    .. math:: n_j = \Big\lceil \frac{1}{\overline{\log}(n)} \frac{Q - n}{n + 1 - j} \Big\rceil,
       \qquad \overline{\log}(n) = \frac12 + \sum_{i=2}^n \frac1i,

    times in all; then the one arm whose empirical gap to the boundary is largest is
    accepted or rejected for good.

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
    Bubeck, Wang and Viswanathan (2013), Figure 1.  The paper leaves ties open.  Here arms
    are ranked by mean, then by lower index, and an arm's side of the boundary is decided
    by its rank.  Of equal gaps the larger rank distance from the boundary counts; if that
    is equal too, the last rank is rejected.  Once all remaining arms belong on one side,
    the phases still take place, as in the paper, and file them there.

    Examples
    --------
    >>> import topk
    >>> topk.run(SAR(1, budget=300), topk.BernoulliBandit([0.9, 0.5, 0.1]), rng=0).selected.tolist()
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
        lengths = np.array(phase_lengths(n, check_budget(self.budget, smallest=n + 1)))
        return SARState(
            lengths=lengths,
            tally=new_tally(n),
            alive=np.arange(n, dtype=np.int64),
            status=np.zeros(n, dtype=np.int64),
            size=np.array([n]),
            wanted=np.array([k]),
            finished=np.zeros(1, dtype=np.int64),
        )


@lru_cache(maxsize=256)
def phase_lengths(n, budget, survivors=1):
    r"""Return the pulls that a remaining arm has after each phase of SAR or of SR.

    .. math:: n_j = \Big\lceil \frac1C \frac{Q - n}{n + 1 - j} \Big\rceil,
       \qquad C = \frac{s}{s + 1} + \sum_{i=s+1}^n \frac1i, \qquad j = 1, \dots, n - s.

    Parameters
    ----------
    n : int
        Number of arms, at least 2.
    budget : int
        Q, pulls in all, at least n.
    survivors : int
        s, how many arms are left in the end; 1 for SAR.

    Returns
    -------
    tuple of int
        :math:`n_1, \dots, n_{n-s}`.

    Notes
    -----
    Bubeck, Wang and Viswanathan (2013), Section 3, for s = 1.  A quotient that is a whole
    number in exact arithmetic must not be rounded up to the next one.  C is therefore an
    integer in units of 2**-256, rounded up: a whole quotient stays at or below its value,
    and any other stays above the whole number below it.

    Examples
    --------
    >>> phase_lengths(4, 100)
    (16, 21, 31)
    """
    unit = 1 << 256
    terms = [(survivors, survivors + 1), *((1, i) for i in range(survivors + 1, n + 1))]
    total = sum(-(-unit * over // under) for over, under in terms)
    remaining = range(n, survivors, -1)  # arms in phases 1, ..., n - s
    return tuple(-(-(budget - n) * unit // (total * arms)) for arms in remaining)


def replay_phases(strategy, layout, sums):
    r"""Play SAR, or its form for several bandits, on rewards that are prepared.

    A proof speaks of averages that exist whether or not they are seen. Here all of them
    exist, and the strategy is told those that it asks for.

    Parameters
    ----------
    strategy : SAR or MultiBanditSAR
        What is played; its phases are those of `phase_lengths`.
    layout : int or tuple of int
        n, or (M, n), as in `Strategy.start`; N is n or M n.
    sums : array_like of int, shape (N - 1, N)
        Sum of the first :math:`n_j` rewards of every arm, each 0 or 1, a row for each phase j.

    Returns
    -------
    ndarray of int, shape (k,) or (M, k)
        The arms returned, as in `Session.selected`.

    Raises
    ------
    ValueError
        If ``strategy`` is another one, or if ``sums`` has another shape or is not made of
        integers that rewards of 0 and 1 add up to.

    Notes
    -----
    The infinite lists of rewards in the proofs of Theorems 1 and 2 of Bubeck, Wang and
    Viswanathan (2013).

    Examples
    --------
    >>> phase_lengths(3, 12)
    (3, 4)
    >>> replay_phases(SAR(1, budget=12), 3, [[1, 2, 0], [1, 3, 0]]).tolist()
    [1]
    """
    if type(strategy).__name__ not in ("SAR", "MultiBanditSAR"):
        refuse("strategy", strategy, "SAR or MultiBanditSAR")
    session = strategy.start(layout)
    lengths = phase_lengths(session.n, strategy.budget)
    shape, allowed = (len(lengths), session.n), "integers, a row for each phase"
    sums = as_array(sums, "sums", allowed)
    if sums.shape != shape or sums.dtype.kind not in "iu":
        found = f"{sums.dtype} of shape {sums.shape}"
        refuse("sums", found, f"{allowed}, of shape {shape}")
    added, most = np.diff(sums, axis=0, prepend=0), np.diff(lengths, prepend=0)[:, None]
    if (added < 0).any() or (added > most).any():
        refuse("sums", sums.tolist(), "sums of the first n_j rewards of 0 and 1, for each phase j")
    told = np.zeros(session.n, dtype=np.int64)
    while not session.done:
        arms, counts = session.ask()
        phase = lengths.index(session.pulls.flat[arms[0]] + counts[0])
        session.tell(arms, sums[phase, arms] - told[arms], counts=counts)
        told[arms] = sums[phase, arms]
    return session.selected


class SARState(NamedTuple):
    """A play of `SAR`; phase j + 1 is the one with ``size`` = n - j arms."""

    lengths: np.ndarray  # n_1, ..., n_{n-1}
    tally: Tally
    alive: np.ndarray  # the active arms, in increasing order
    status: np.ndarray  # ACTIVE, ACCEPTED or REJECTED
    size: np.ndarray  # how many are active
    wanted: np.ndarray  # how many are still to be accepted
    finished: np.ndarray


@maker
def phase_length(state):
    """Return the pulls that every active arm has at the end of the current phase.

    Phase j is the one with n + 1 - j active arms; after the last one nothing more is pulled.
    """
    n = state.status.size
    return state.lengths[min(n - state.size[0], state.lengths.size - 1)]


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
    """File one arm for this phase and for each further phase that has no pulls of its own.

    Between two pulls the two arms at the boundary stay the same, so that every gap does:
    the arms to be filed are taken from the two ends of one sorted list.
    """
    if state.size[0] > 1 and state.tally.pulls[state.alive[0]] < phase_length(state):
        return  # an arm was withdrawn: that was this phase's removal, the next one has begun
    ranked = rank_arms(state.tally, state.alive, state.size[0], 1.0)
    sums = state.tally.sums  # all active arms have as many pulls: sums compare as means do
    first, last, wanted = 0, ranked.size - 1, state.wanted[0]
    while first <= last:
        size = last - first + 1
        first_gap, last_gap = 0.0, 0.0
        if 0 < wanted < size:
            first_gap = sums[ranked[first]] - sums[ranked[first + wanted]]
            last_gap = sums[ranked[first + wanted - 1]] - sums[ranked[last]]
        if accepts_first(first_gap, last_gap, wanted, size):
            state.status[ranked[first]] = ACCEPTED
            first, wanted = first + 1, wanted - 1
        else:
            state.status[ranked[last]] = REJECTED
            last -= 1
        phase = state.status.size - size  # of the arm just filed, from 0
        if size > 2 and state.lengths[phase + 1] > state.lengths[phase]:
            break
    state.size[0] = keep_active(state.alive, state.size[0], state.status)
    state.wanted[0] = wanted
    if state.size[0] == 0:
        state.finished[0] = BY_BUDGET


@maker
def recommend(state, chosen):
    """The accepted arms, and the best-ranked active ones while some are still missing."""
    fill_chosen(state.tally, state.alive, state.size[0], state.status, chosen)


register(SARState, ask, update, recommend, withdraw_active)
