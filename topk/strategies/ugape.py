"""UGapE: one rule for a fixed budget and a fixed confidence (Gabillon et al. 2012)."""

import math
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from topk._checks import (
    check_budget,
    check_epsilon,
    check_exploration,
    check_flag,
    check_k,
    check_n,
    check_promise,
    check_real,
)
from topk.kernels.compiling import inlined, kernel, maker
from topk.kernels.duel import (
    BOTH,
    J_ONLY,
    draw_duel,
    forget,
    largest_inside,
    move_duel,
    new_duel,
    note,
    wider,
)
from topk.kernels.filing import ACTIVE, ask_next, best_active, withdraw_status
from topk.kernels.ranking import rank_arms
from topk.kernels.rules import BY_BUDGET, BY_RULE, register
from topk.kernels.tally import Tally, new_tally
from topk.kernels.tournament import GROUP, NOBODY, Tournament, advance
from topk.strategies.duels import ScanState, new_scan, radii
from topk.strategies.protocol import Strategy, clipped_bounds


class DuelStrategy(Strategy):
    """What `UGapEb` and `UGapEc` share."""

    @property
    def uses_squares(self):
        """Whether the strategy looks at sums of squared rewards: in its variance form."""
        return getattr(self, "variance", False)

    def bounds(self, state):
        """Return the confidence bounds at the current time; see `Strategy.bounds`."""
        if isinstance(state, ScanState):
            return clipped_bounds(state.tally, radii(state))
        pulls = np.maximum(state.tally.pulls, 1)
        return clipped_bounds(state.tally, scale(state) / np.sqrt(pulls))


@dataclass(frozen=True)
class UGapEb(DuelStrategy):
    r"""Gap-based exploration with a fixed budget.

    Every arm has the radius :math:`\beta_i = \sqrt{a/T_i}`.  In each step the candidate set
    J(t) is formed from the indices B (see `topk.kernels.duel`), and the wider of the two
    arms that speak against it is pulled.  The J(t) whose largest index was smallest over
    time is returned.

    Parameters
    ----------
    k : int
        How many arms are wanted, 1 to n - 1.
    budget : int
        Q, the pulls in all, at least n; at least 2 n in the variance form.
    epsilon : float
        Per-arm tolerance, in [0, 1).  It enters a only.
    a : float, optional
        Exploration parameter, positive.
    complexity : float, optional
        :math:`H_\epsilon`, positive; then :math:`a = (Q-n)/(4H_\epsilon)`, the choice of
        Theorem 1.  In the variance form :math:`H^\sigma_\epsilon`, see
        `topk.hardness.ugape_complexity` with variances; then
        :math:`a = (Q-2n)/(2H^\sigma_\epsilon)`.  Without ``a`` and ``complexity`` the
        complexity is estimated anew in every step, at a cost that grows with n.
    variance : bool
        Whether the radius follows each arm's sample variance,

        .. math:: \beta_i = \sqrt{\frac{2a\hat\sigma_i^2}{T_i}} + \frac{7a}{3(T_i-1)},

        with divisor :math:`T_i-1` in :math:`\hat\sigma_i^2`.  Every arm is pulled twice
        first, and a step costs time that grows with n.

    Raises
    ------
    ValueError
        If a parameter is out of range, or if both ``a`` and ``complexity`` are given;
        ``budget`` is compared with n at `start`.

    Notes
    -----
    Gabillon, Ghavamzadeh and Lazaric (2012), Figures 1 and 2, for rewards in [0, 1]
    (b = 1).  J(t) is formed before each pull, from t = n + 1 to Q, and once if Q = n.  Ties
    in the index go to the arm of lower number; ties of a bound to the wider arm, as in the
    paper, then to the lower number; of two equally wide arms the lower number is pulled.
    The estimate is ours, in the manner of the authors' earlier GapE: gaps are taken from
    the means, enlarged by :math:`\sqrt{1/(2T_i)}`; in the variance form the sample standard
    deviations are lowered by as much, and not below 0, so that both err on the side of a
    small complexity, that is of exploration.  The variance form is derived here from the
    empirical Bernstein bound of Maurer and Pontil (2009): the paper's own stands in a
    technical report that we have not seen.

    Examples
    --------
    >>> import topk
    >>> bandit = topk.BernoulliBandit([0.9, 0.8, 0.1, 0.2])
    >>> topk.run(UGapEb(2, budget=400, epsilon=0.1, a=2.0), bandit, rng=0).selected.tolist()
    [0, 1]
    """

    k: int
    budget: int
    epsilon: float
    a: float | None = None
    complexity: float | None = None
    variance: bool = False

    def __post_init__(self):
        check_k(self.k)
        check_budget(self.budget)
        check_epsilon(self.epsilon)
        check_flag(self.variance, "variance")
        check_exploration(self.a, self.complexity)

    def begin(self, n):
        """Return the state of a new play with ``n`` arms."""
        n = check_n(n)
        k = check_k(self.k, n)
        budget = check_budget(self.budget, smallest=2 * n if self.variance else n)
        a = self.a
        if self.complexity is not None:
            left = (budget - 2 * n) / 2 if self.variance else (budget - n) / 4
            a = left / self.complexity
        a = -1.0 if a is None else float(a)
        given = {"k": k, "epsilon": self.epsilon, "budget": budget, "fixed_budget": True, "a": a}
        return new_scan(n, variance=True, **given) if self.variance else new_state(n, **given)


@dataclass(frozen=True)
class UGapEc(DuelStrategy):
    r"""Gap-based exploration with a fixed confidence.

    The rule is that of `UGapEb`, with the radius

    .. math:: \beta_i = \sqrt{\frac{c\ln(4n(t-1)^3/\delta)}{T_i}}

    after t - 1 pulls.  The play ends when the largest index B in J(t) is below epsilon.

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
    c : float
        Exploration parameter, positive.  The promise is proved for c = 1/2.
    budget : int, optional
        The most pulls that may be made, at least n; at least 2 n in the variance form.
        When it ends the play, J(t) is returned without a certificate.
    variance : bool
        Whether the radius follows each arm's sample variance: that of `UGapEb` in its
        variance form, with :math:`a = 2c\ln(8nt^3/\delta)`.

    Raises
    ------
    ValueError
        If a parameter is out of range; ``budget`` is compared with n at `start`.

    Notes
    -----
    Gabillon, Ghavamzadeh and Lazaric (2012), Figures 1 and 2, equation (4), for rewards in
    [0, 1] (b = 1).  The first test is at t - 1 = n.  Ties are settled as in `UGapEb`.

    Examples
    --------
    >>> import topk
    >>> bandit = topk.BernoulliBandit([0.9, 0.8, 0.1, 0.2])
    >>> outcome = topk.run(UGapEc(2, epsilon=0.1, delta=0.05), bandit, rng=0)
    >>> outcome.selected.tolist(), outcome.certified
    ([0, 1], True)
    """

    k: int
    epsilon: float
    delta: float
    c: float = 0.5
    budget: int | None = None
    variance: bool = False
    certifies = True
    anytime = True

    def __post_init__(self):
        check_promise(self)
        check_flag(self.variance, "variance")
        check_real(self.c, "c", 0, 1e6, low_open=True)

    def begin(self, n):
        """Return the state of a new play with ``n`` arms."""
        n = check_n(n)
        k = check_k(self.k, n)
        smallest = 2 * n if self.variance else n
        budget = -1 if self.budget is None else check_budget(self.budget, smallest=smallest)
        given = {"k": k, "epsilon": self.epsilon, "budget": budget, "c": float(self.c)}
        if self.variance:
            return new_scan(n, variance=True, log_ratio=math.log(8 * n / self.delta), **given)
        return new_state(n, log_ratio=math.log(4 * n / self.delta), **given)


class UGapEState(NamedTuple):
    """A play of `UGapEb` or `UGapEc`."""

    k: int
    epsilon: float
    budget: int  # -1: none
    fixed_budget: bool
    a: float  # with a fixed budget; -1: estimated
    c: float  # with a fixed confidence
    log_ratio: float  # ln(4 n / delta), with a fixed confidence
    tally: Tally
    status: np.ndarray  # REJECTED for an arm that was withdrawn
    next: np.ndarray  # the arm to be pulled; NOBODY before all arms have been
    smallest: np.ndarray  # the smallest B of a J(t) so far
    journal: np.ndarray  # how J differs from the J(t) that had it, see kernels.duel.note
    chosen: np.ndarray  # the set that was returned, once the play is over
    trees: Tournament  # follows from the rest while the play goes on
    finished: np.ndarray


def new_state(n, *, k, epsilon, budget, fixed_budget=False, a=0.0, c=0.0, log_ratio=0.0):
    """Return the state of a new play."""
    return UGapEState(
        k=k,
        epsilon=float(epsilon),
        budget=budget,
        fixed_budget=fixed_budget,
        a=a,
        c=c,
        log_ratio=log_ratio,
        tally=new_tally(n),
        status=np.zeros(n, dtype=np.int64),
        next=np.full(1, NOBODY),
        smallest=np.full(1, 1e300),
        journal=np.zeros((2, n + 1), dtype=np.int64),
        chosen=np.zeros(k, dtype=np.int64),
        trees=new_duel(n),
        finished=np.zeros(1, dtype=np.int64),
    )


@kernel
def scale(state):
    """Return s: the radius of an arm is s over the square root of its pulls."""
    if not state.fixed_budget:
        t = max(1.0, float(state.tally.total[0]))
        return math.sqrt(state.c * (state.log_ratio + 3 * math.log(t)))
    a = state.a
    if a < 0:
        a = (state.budget - state.status.size) / (4 * estimated_complexity(state))
    return math.sqrt(a)


@maker
def estimated_complexity(state):
    """Estimate the complexity from the means, with gaps enlarged by sqrt(1 / (2 pulls))."""
    tally, k = state.tally, state.k
    alive = np.flatnonzero(state.status == ACTIVE)
    ranked = rank_arms(tally, alive, alive.size, 1.0)
    if alive.size <= k or tally.pulls[ranked[alive.size - 1]] == 0:
        return float(alive.size)
    inside = tally.sums[ranked[k - 1]] / tally.pulls[ranked[k - 1]]
    outside = tally.sums[ranked[k]] / tally.pulls[ranked[k]]
    total = 0.0
    for rank in range(alive.size):
        arm = ranked[rank]
        mean = tally.sums[arm] / tally.pulls[arm]
        gap = mean - outside if rank < k else inside - mean
        gap += math.sqrt(0.5 / tally.pulls[arm])
        total += 1 / max((gap + state.epsilon) / 2, state.epsilon) ** 2
    return total


@inlined
def update(state, m, arms, counts):
    """Form J(t), keep it if it is the best so far, and find the next arm.

    With a fixed budget J is not formed after the last pull.
    """
    first, spent = state.next[0] == NOBODY, state.tally.total[0] == state.budget
    ended = BY_BUDGET if spent else 0
    if first or not (spent and state.fixed_budget):
        form_candidates(state, m, arms, first)
        _, index = largest_inside(state.trees)
        state.next[0] = wider(state.trees)
        if state.fixed_budget:
            keep_smallest(state, index)
        elif index < state.epsilon:
            ended = BY_RULE
    if ended:
        recommend(state, state.chosen)
        state.finished[0] = ended


@kernel
def form_candidates(state, m, arms, first):
    """Bring the trees up to date."""
    if first:
        rebuild(state)
    elif state.fixed_budget and state.a < 0:
        redraw(state)  # the estimate may fall, so that no tournament is of use
    else:
        advance(state.trees, scale(state))
        move_duel(state.trees, state.tally, m, arms, state.journal)


@maker
def redraw(state):
    """Set up the trees anew and note what has changed in J."""
    before = in_candidates(state.trees)
    rebuild(state)
    for arm in np.flatnonzero(before != in_candidates(state.trees)):
        note(state.journal, arm)


@maker
def in_candidates(trees):
    """Return whether each arm is in J."""
    return (trees.line[:, GROUP] == BOTH) | (trees.line[:, GROUP] == J_ONLY)


@kernel
def keep_smallest(state, index):
    """Remember the present J if no earlier one had an index as small."""
    if index < state.smallest[0]:
        state.smallest[0] = max(index, -1e300)  # a number even when nothing speaks against J
        forget(state.journal)


@maker
def in_returned(state):
    """Return whether each arm is in J, or with a fixed budget in the J that is remembered."""
    inside = in_candidates(state.trees)
    if state.fixed_budget:
        inside ^= state.journal[0, : inside.size] == 1
    return inside


@maker
def recommend(state, chosen):
    """J, or with a fixed budget the J with the smallest index so far."""
    if state.finished[0]:
        chosen[:] = state.chosen
        return
    if state.next[0] == NOBODY:
        best_active(state.tally, state.status, chosen)
        return
    chosen[:] = np.flatnonzero(in_returned(state))


@maker
def rebuild(state):
    """Set up the trees from the tally and the time."""
    draw_duel(state.trees, state.tally, state.status, state.k, scale(state))


def withdraw(state, arm, k):
    """Take an arm out and form J anew; sets formed before are forgotten."""
    withdraw_status(state.status, arm, k)
    if state.next[0] != NOBODY:
        rebuild(state)
        if state.fixed_budget:
            forget(state.journal)
            state.smallest[0] = max(largest_inside(state.trees)[1], -1e300)


register(UGapEState, ask_next, update, recommend, withdraw, rebuild)
