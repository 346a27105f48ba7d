"""ImprovedTopK: the bound of Chen, Chen, Zhang and Zhou (2017), Theorem 2, by a derived rule."""

import math
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from topk._checks import check_budget, check_k, check_n, check_promise
from topk.kernels.compiling import maker
from topk.kernels.filing import (
    ACCEPTED,
    REJECTED,
    ask_round,
    fill_chosen,
    keep_active,
    left_of,
    remember,
    since,
    withdraw_active,
)
from topk.kernels.halving import (
    Pool,
    constants,
    fill_pool,
    halve,
    halving_share,
    needs_halving,
    new_pool,
    ranked_sum,
    sorting_share,
    whole_pulls,
)
from topk.kernels.ranking import keep_largest, kth_largest, rank_arms
from topk.kernels.rules import BY_BUDGET, BY_RULE, register
from topk.kernels.tally import Tally, new_tally
from topk.strategies.protocol import Strategy

# what the open batch is for
HALVING, REFERENCE, REJECTING, DECIDING, QUARTERS, UNIFORM = range(6)
FADING = math.exp(-0.1)  # ratio of the tolerances of consecutive quarter eliminations


@dataclass(frozen=True)
class ImprovedTopK(Strategy):
    r"""Accept and reject with a few errors allowed, at a cost without the factor ln n.

    **A derivation, not the authors' text.**  Chen, Chen, Zhang and Zhou (2017) announce an
    algorithm ImprovedTopK with the bound of Theorem 2 and keep it for the full version of
    their paper, which we could not obtain.  The rule below was derived to meet that theorem:
    with probability :math:`1-\delta` the aggregate regret is at most :math:`\epsilon` *and*
    the pulls are :math:`O\big(H^{(t,\epsilon)}(\ln\frac1\epsilon+\ln\frac1\delta)\big)`.

    Round r gives every undecided arm :math:`\lceil\frac12 4^r\ln\frac2p\rceil` fresh pulls,
    where p does not depend on n, so that some arms *are* filed wrongly; how many, is
    controlled by Markov's inequality.  With k' arms still wanted and S undecided:

    * if :math:`|S|\le4k'` (*decide*): arms more than :math:`2\cdot2^{-r}` above the
      :math:`(k'+u+1)`-th largest mean are accepted, largest first and at most k'; then those
      as far below the :math:`(k'-u)`-th largest are rejected;
    * otherwise (*reject only*): the same threshold for rejection is found by a halving
      tournament with pulls of its own, as in `topk.kth_arm`, and nothing is accepted.

    The slack :math:`u=4s_0r` grows from round to round because errors move the ranks.  Rounds
    go on while :math:`2\cdot2^{-r}k'>\epsilon k` and :math:`|S|>k'+u`.  If k' or fewer arms are
    undecided the set is filled from the rejected ones; otherwise what is wanted is found in S
    with the tolerance :math:`\epsilon'=\epsilon k/(2k')` and error :math:`\delta/4`: quarter
    eliminations while :math:`|S|>4k'`, then one batch.

    Parameters
    ----------
    k : int
        How many arms are wanted, 1 to n - 1.
    epsilon : float
        Tolerance of the *average*, in (0, 1): with probability 1 - delta the aggregate
        regret of the returned set is at most epsilon.  Above 1/2 it is taken as 1/2.
    delta : float
        Probability of failure, in (0, 1).
    budget : int, optional
        The most pulls that may be made, at least n.  When it ends the play inside a batch,
        what is left is spread evenly over the batch (one more for the lower indices), and
        the undecided arms with the largest means of all their pulls fill the set.

    Raises
    ------
    ValueError
        If a parameter is out of range; ``budget`` is compared with n at `start`.

    Notes
    -----
    Constants, all of them derived: :math:`R=\lceil\log_2(2/\epsilon)\rceil` bounds the number of
    rounds, :math:`s_0=\lfloor\epsilon k/(40R^2)\rfloor` (often 0) the arms that may be wrong in
    a batch, and :math:`p=\delta\epsilon/(2000R^3)`.  Halving level l gives
    :math:`\lceil\frac2{\eta_l^2}\ln\frac{2^{l+1}}p\rceil` pulls with
    :math:`\eta_l=\frac{2^{-r}}4(\frac34)^l`.  The final quarter eliminations are those of
    Zhou, Chen and Li (2014), Lemma 4.1: level l has the tolerance
    :math:`\epsilon_l=\frac{\epsilon'}2(1-q)q^l`, the error
    :math:`\delta_l=\frac\delta8(1-q)q^l` with :math:`q=e^{-0.1}`, and
    :math:`\lceil\epsilon_l^{-2}(10+\frac4{k'}\ln\frac2{\delta_l})\rceil` pulls of each arm.  The
    last batch is that of their Remark 4.1 with what is left, one half of each or, if there
    were no eliminations, all.  Where any arms of S may fill the set, those with
    the largest means of all their pulls do, and so do the best of the rejected.

    The pulls per arm do not grow with n, those of `AdaptiveTopK` grow like ln n.  While
    :math:`|S|\le4k'` the two cost about the same.  The halving tournaments of the other mode
    cost hundreds of times as much, so that for k much smaller than n the rule is a matter
    of theory.  An arm that is withdrawn is missing from the promise as with `AdaptiveTopK`:
    what is promised is about the arms that were still in the play.

    Examples
    --------
    >>> import topk
    >>> bandit = topk.instances.two_group(n=20, k=10)
    >>> outcome = topk.run(ImprovedTopK(10, epsilon=0.1, delta=0.1), bandit, rng=0)
    >>> outcome.selected.tolist(), outcome.certified
    ([0, 1, 2, 3, 4, 5, 6, 7, 8, 9], True)
    """

    k: int
    epsilon: float
    delta: float
    budget: int | None = None
    certifies = True
    anytime = True

    def __post_init__(self):
        check_promise(self, positive=True)

    def begin(self, n):
        """Return the state of a new play with ``n`` arms."""
        n = check_n(n)
        k = check_k(self.k, n)
        most_rounds, allowance, log_ratio = constants(k, self.epsilon, self.delta)
        state = ImprovedTopKState(
            allowed=min(float(self.epsilon), 0.5) * k,
            log_ratio=log_ratio,
            log_delta=-math.log(self.delta),
            most_rounds=most_rounds,
            allowance=allowance,
            budget=-1 if self.budget is None else check_budget(self.budget, smallest=n),
            tally=new_tally(n),
            earlier=new_tally(n),
            alive=np.arange(n, dtype=np.int64),
            status=np.zeros(n, dtype=np.int64),
            gone=np.zeros(n, dtype=np.int64),
            size=np.array([n]),
            wanted=np.array([k]),
            pool=new_pool(n),
            rounds=np.zeros(1, dtype=np.int64),
            stage=np.zeros(1, dtype=np.int64),
            level=np.zeros(1, dtype=np.int64),
            share=np.zeros(1, dtype=np.int64),
            bar=np.zeros(1),
            finished=np.zeros(1, dtype=np.int64),
        )
        open_round(state)
        return state


class ImprovedTopKState(NamedTuple):
    """A play of `ImprovedTopK`."""

    allowed: float  # epsilon k
    log_ratio: float  # ln(2 / p)
    log_delta: float  # ln(1 / delta)
    most_rounds: int  # R
    allowance: int  # s_0
    budget: int  # -1: none
    tally: Tally
    earlier: Tally  # the tally before this batch
    alive: np.ndarray  # S
    status: np.ndarray
    gone: np.ndarray  # 1 for arms that were withdrawn: they cannot fill the set
    size: np.ndarray
    wanted: np.ndarray  # k' = k - |A|
    pool: Pool  # the arms that are being halved
    rounds: np.ndarray  # r, of the round that is going on
    stage: np.ndarray  # what the batch is for
    level: np.ndarray  # of halving, or of quarter elimination
    share: np.ndarray  # the batch's pulls of each arm
    bar: np.ndarray  # the threshold for rejection, as a sum of ``share`` rewards; 0: none
    finished: np.ndarray


@maker
def slack(state):
    """Return u of the current round."""
    return 4 * state.allowance * min(state.rounds[0], state.most_rounds)


@maker
def ask(state, arms, counts):
    """Ask for the batch's pulls: of the pool, or of all undecided arms."""
    searching = state.stage[0] <= REFERENCE
    size = state.pool.size[0] if searching else state.size[0]
    if state.finished[0] or size == 0:
        return 0
    left = left_of(state.budget, state.tally)
    pulled = state.pool.alive if searching else state.alive
    return ask_round(pulled, size, state.share[0], left, arms, counts)


@maker
def update(state, m, arms, counts):
    """Do what the batch was for, unless the budget has cut it, and open the next one."""
    stage, share = state.stage[0], state.share[0]
    searching = stage <= REFERENCE
    size = state.pool.size[0] if searching else state.size[0]
    if size > 0:  # a pool may be empty if all its arms were withdrawn
        last = state.pool.alive[size - 1] if searching else state.alive[size - 1]
        if state.tally.pulls[last] - state.earlier.pulls[last] < share:
            state.finished[0] = BY_BUDGET
            return
    sums = since(state.tally, state.earlier).sums
    if stage == HALVING:
        halve(state.pool, sums)
        state.level[0] += 1
        open_search(state)
    elif stage == REFERENCE:
        state.bar[0] = ranked_sum(state.pool, sums, state.wanted[0] - slack(state))
        state.pool.size[0] = 0
        state.stage[0] = REJECTING
    elif stage == REJECTING:
        classify(state, sums, np.inf, state.bar[0])
        open_round(state)
    elif stage == DECIDING:
        decide(state, sums)
    elif stage == QUARTERS:
        drop_quarter(state, sums)
        open_final(state)
    else:
        accept_largest(state, sums, state.wanted[0])
        state.size[0] = keep_active(state.alive, state.size[0], state.status)
        state.finished[0] = BY_RULE
    if state.finished[0] == 0:
        if state.tally.total[0] == state.budget:
            state.finished[0] = BY_BUDGET
        remember(state.tally, state.earlier, state.alive, state.size[0])


@maker
def open_round(state):
    """The head of the loop: end the play, pass to the final step, or open a round."""
    size, wanted = state.size[0], state.wanted[0]
    if size <= wanted or wanted == 0:
        settle(state)
        return
    if 2 * 0.5 ** state.rounds[0] * wanted <= state.allowed:
        state.level[0] = 0
        open_final(state)
        return
    state.rounds[0] += 1
    if size <= wanted + slack(state):
        settle(state)
    elif size <= 4 * wanted:
        state.stage[0] = DECIDING
        state.share[0] = sorting_share(0.5 ** state.rounds[0], state.log_ratio)
    else:
        state.level[0] = 0
        fill_pool(state.pool, state.alive, size)
        open_search(state)


@maker
def open_search(state):
    """Halve the pool, or, when it is small enough, read the threshold off its means."""
    eta = 0.5 ** state.rounds[0]
    quota = state.wanted[0] - slack(state) + 2 * state.allowance
    if needs_halving(state.pool, quota):
        state.stage[0] = HALVING
        state.share[0] = halving_share(eta, state.log_ratio, state.level[0])
    else:
        state.stage[0] = REFERENCE
        state.share[0] = sorting_share(eta, state.log_ratio)


@maker
def open_final(state):
    """The final step: quarter eliminations, then one batch."""
    size, wanted, level = state.size[0], state.wanted[0], state.level[0]
    tolerance = state.allowed / (2 * wanted) if wanted > 0 else 1.0
    if size <= wanted or tolerance >= 1:
        settle(state)
    elif size > 4 * wanted:
        fade = (1 - FADING) * FADING**level
        log_error = math.log(16.0) + state.log_delta - math.log(fade)  # ln(2 / delta_l)
        precision = max(tolerance / 2 * fade, 1e-100)
        state.stage[0] = QUARTERS
        state.share[0] = whole_pulls((10 + 4 * log_error / wanted) / precision**2)
    else:
        part = 0.5 if level > 0 else 1.0
        precision = max(tolerance * part, 1e-100)
        log_error = math.log(8 / part) + state.log_delta
        sets = wanted * (1 + math.log(size / wanted))  # ln of the number of sets, or more
        state.stage[0] = UNIFORM
        state.share[0] = whole_pulls(2 * (sets + log_error) / (precision**2 * wanted))


@maker
def settle(state):
    """End the play: any k' undecided arms will do; if there are fewer, rejected ones join.

    The rejected arms come in the order of all their pulls; arms that left do not return.
    """
    state.finished[0] = BY_RULE
    missing = state.wanted[0] - state.size[0]
    if missing < 0:
        return  # `recommend` takes those with the largest means
    for j in range(state.size[0]):
        state.status[state.alive[j]] = ACCEPTED
    if missing > 0:
        rejected = np.flatnonzero((state.status == REJECTED) & (state.gone == 0))
        ranked = rank_arms(state.tally, rejected, rejected.size, 1.0)
        for rank in range(missing):
            state.status[ranked[rank]] = ACCEPTED
    state.size[0] = 0
    state.wanted[0] = 0


@maker
def decide(state, sums):
    """Accept and reject by one batch; ranks are moved by the slack."""
    size, wanted, u = state.size[0], state.wanted[0], slack(state)
    if size <= wanted + u:  # arms have left
        settle(state)
        return
    above = kth_largest(sums, state.alive, size, wanted + u + 1)
    below = kth_largest(sums, state.alive, size, max(1, wanted - u))
    classify(state, sums, above, below)
    open_round(state)


@maker
def classify(state, sums, above, below):
    """Accept what is far above ``above``; then reject what is far below ``below``.

    All arms have as many pulls, so that sums compare as means do.
    """
    beyond = 2 * 0.5 ** state.rounds[0] * state.share[0]
    count = 0
    for j in range(state.size[0]):
        if sums[state.alive[j]] > above + beyond:
            count += 1
    accept_largest(state, sums, min(count, state.wanted[0]))
    for j in range(state.size[0]):
        arm = state.alive[j]
        if state.status[arm] != ACCEPTED and sums[arm] < below - beyond:
            state.status[arm] = REJECTED
    state.size[0] = keep_active(state.alive, state.size[0], state.status)


@maker
def accept_largest(state, sums, count):
    """Mark the ``count`` undecided arms with the largest sums as accepted."""
    best = state.alive[: state.size[0]].copy()
    keep_largest(sums, best, best.size, count)
    for j in range(count):
        state.status[best[j]] = ACCEPTED
    state.wanted[0] -= count


@maker
def drop_quarter(state, sums):
    """Quarter elimination: reject ceil(|S| / 4) arms, unless so many have left meanwhile."""
    size = state.size[0]
    if size > 4 * state.wanted[0]:
        kept = size - (size + 3) // 4
        best = state.alive[:size].copy()
        keep_largest(sums, best, size, kept)
        for j in range(size):
            state.status[state.alive[j]] = REJECTED
        for j in range(kept):
            state.status[best[j]] = 0
        state.size[0] = keep_active(state.alive, size, state.status)
    state.level[0] += 1


@maker
def recommend(state, chosen):
    """The accepted arms, and the undecided ones with the largest means of all their pulls."""
    fill_chosen(state.tally, state.alive, state.size[0], state.status, chosen)


def withdraw(state, arm, k):
    """Take an arm out of the play, of the pool, and of those that might fill the set."""
    withdraw_active(state, arm, k)
    state.gone[arm] = 1
    state.pool.size[0] = keep_active(state.pool.alive, state.pool.size[0], state.status)


register(ImprovedTopKState, ask, update, recommend, withdraw)
