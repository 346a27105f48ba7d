"""Hoeffding races for the k best arms."""

import math
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from topk._checks import check_budget, check_k, check_n, check_promise
from topk.kernels.compiling import maker
from topk.kernels.filing import (
    ACCEPTED,
    REJECTED,
    accepts_first,
    ask_round,
    fill_chosen,
    keep_active,
    left_of,
    withdraw_active,
)
from topk.kernels.ranking import rank_arms
from topk.kernels.rules import BY_BUDGET, BY_RULE, register
from topk.kernels.tally import Tally, new_tally
from topk.strategies.protocol import Strategy, clipped_bounds

ALPHA, K_1 = 1.1, 11.1  # k_1 > 1 + 1 / (alpha - 1), Kaufmann and Kalyanakrishnan (2013)


@dataclass(frozen=True)
class Racing(Strategy):
    r"""Pull all undecided arms in turn; decide an arm as soon as its bounds allow.

    After u pulls of every undecided arm the radius is

    .. math:: \beta(u) = \sqrt{\frac{1}{2u}\ln\frac{k_1 n u^\alpha}{\delta}},
       \qquad \alpha = 1.1,\; k_1 = 11.1.

    Let k' arms be still wanted.  An arm whose gap to the boundary (to the k'+1-th mean if
    it ranks among the first k', to the k'-th mean otherwise) is more than
    :math:`2\beta(u)` is accepted or rejected, the largest gap first.  When the k'-th and
    the k'+1-th mean are more than :math:`2\beta(u) - \epsilon` apart, the k' best-ranked
    arms are accepted and the play ends.

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
        The most pulls that may be made, at least n.  When it ends the play, the accepted
        arms and the best-ranked undecided ones are returned without a certificate.

    Raises
    ------
    ValueError
        If a parameter is out of range; ``budget`` is compared with n at `start`.

    Notes
    -----
    Hoeffding races for subsets are the baseline of Gabillon, Ghavamzadeh and Lazaric
    (2012); radius and constants are those of Kaufmann and Kalyanakrishnan (2013), with
    Hoeffding's distance in place of the KL divergence.  That epsilon enters only the last
    decision is our choice: used for single arms, it could be lost once at an acceptance
    and once more at a rejection.  A top arm must not be underestimated nor another one
    overestimated by the radius, at any time: this fails with probability at most
    :math:`\sum_u n\,\delta/(k_1 n u^\alpha) < 0.96\,\delta`.

    Examples
    --------
    >>> import topk
    >>> bandit = topk.BernoulliBandit([0.9, 0.8, 0.1, 0.2])
    >>> outcome = topk.run(Racing(2, epsilon=0.1, delta=0.05), bandit, rng=0)
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
        check_promise(self)

    def begin(self, n):
        """Return the state of a new play with ``n`` arms."""
        n = check_n(n)
        k = check_k(self.k, n)
        return RacingState(
            epsilon=float(self.epsilon),
            log_ratio=math.log(K_1 * n / self.delta),
            budget=-1 if self.budget is None else check_budget(self.budget, smallest=n),
            tally=new_tally(n),
            alive=np.arange(n, dtype=np.int64),
            status=np.zeros(n, dtype=np.int64),
            size=np.array([n]),
            wanted=np.array([k]),
            finished=np.zeros(1, dtype=np.int64),
        )

    def bounds(self, state):
        """Return the bounds of every arm at its own number of pulls; see `Strategy.bounds`."""
        pulls = np.maximum(state.tally.pulls, 1)
        radius = np.sqrt((state.log_ratio + ALPHA * np.log(pulls)) / (2 * pulls))
        return clipped_bounds(state.tally, radius)


class RacingState(NamedTuple):
    """A play of `Racing`."""

    epsilon: float
    log_ratio: float  # ln(k_1 n / delta)
    budget: int  # -1: none
    tally: Tally
    alive: np.ndarray
    status: np.ndarray
    size: np.ndarray
    wanted: np.ndarray  # k'
    finished: np.ndarray


@maker
def ask(state, arms, counts):
    """Ask for one pull of every undecided arm."""
    if state.finished[0]:
        return 0
    left = left_of(state.budget, state.tally)
    return ask_round(state.alive, state.size[0], 1, left, arms, counts)


@maker
def update(state, m, arms, counts):
    """Decide the arms whose bounds allow it, and end the play if the rest is close enough."""
    tally, size, wanted = state.tally, state.size[0], state.wanted[0]
    u = tally.pulls[state.alive[size - 1]]  # less than that of the others in a cut round
    if u == tally.pulls[state.alive[0]]:
        # with all arms at u pulls, a gap of means above 2 beta is one of sums above 2 u beta
        width = math.sqrt(2 * u * (state.log_ratio + ALPHA * math.log(u)))
        ranked = rank_arms(tally, state.alive, size, 1.0)
        file_beyond(state, ranked, width)
        if settled(state, ranked, wanted, width - u * state.epsilon):
            state.finished[0] = BY_RULE
            return
    if tally.total[0] == state.budget:
        state.finished[0] = BY_BUDGET


@maker
def file_beyond(state, ranked, width):
    """File the arms whose gap exceeds ``width``, the largest gap first."""
    sums, wanted = state.tally.sums, state.wanted[0]
    first, last = 0, ranked.size - 1
    while first <= last and 0 < wanted < last - first + 1:
        first_gap = sums[ranked[first]] - sums[ranked[first + wanted]]
        last_gap = sums[ranked[first + wanted - 1]] - sums[ranked[last]]
        if max(first_gap, last_gap) <= width:
            break
        if accepts_first(first_gap, last_gap, wanted, last - first + 1):
            state.status[ranked[first]] = ACCEPTED
            first, wanted = first + 1, wanted - 1
        else:
            state.status[ranked[last]] = REJECTED
            last -= 1
    state.wanted[0] = wanted
    state.size[0] = keep_active(state.alive, ranked.size, state.status)


@maker
def settled(state, ranked, boundary, width):
    """Accept what is still wanted if nothing else is left or the boundary's gap is wide enough.

    ``boundary`` is the rank of the first arm on the far side before this round's filing:
    filing moves no arm across it.
    """
    wanted, size = state.wanted[0], state.size[0]
    if 0 < wanted < size:
        sums = state.tally.sums
        if sums[ranked[boundary - 1]] - sums[ranked[boundary]] <= width:
            return False
    for rank in range(boundary):
        state.status[ranked[rank]] = ACCEPTED
    for rank in range(boundary, ranked.size):
        state.status[ranked[rank]] = REJECTED
    state.wanted[0] = 0
    state.size[0] = 0
    return True


@maker
def recommend(state, chosen):
    """The accepted arms, and the best-ranked undecided ones while some are still missing."""
    fill_chosen(state.tally, state.alive, state.size[0], state.status, chosen)


register(RacingState, ask, update, recommend, withdraw_active)
