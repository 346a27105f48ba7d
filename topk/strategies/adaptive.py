"""AdaptiveTopK (Chen, Chen, Zhang and Zhou 2017), and ImprovedTopK with a rule derived here."""

import math
from dataclasses import dataclass
from typing import Any

import numpy as np

from topk._checks import factor, positive, refuse
from topk._ranges import improved_topk_constants
from topk._types import Whole
from topk.rules import (
    ACCEPTED,
    ACTIVE,
    BY_RULE,
    REJECTED,
    Arms,
    Rounds,
    Stored,
    accept,
    batch,
    end_with,
    fresh_sums,
    keep_active,
    rank_fresh,
    reject,
    rule,
    whole_pulls,
)
from topk.strategies.halving import halving_share


@dataclass(frozen=True)
class AdaptiveTopK(Rounds):
    r"""Accept and reject arms with a precision that doubles from round to round.

    In round r = 1, 2, ... every undecided arm is pulled

    .. math:: N_r = \Big\lceil s\,4^r\ln\frac{2nr^2}{\delta} \Big\rceil

    times, where s is ``pull_scale``.  With k' arms still to accept, an arm is accepted if its mean
    in this round exceeds the (k'+1)-th largest by more than :math:`2\cdot2^{-r}`, and rejected if
    it is more than that below the k'-th largest.  Rounds continue while
    :math:`2\cdot2^{-r}k' > \epsilon k`; then the k' largest means fill the set.

    Parameters
    ----------
    k : int
        Number of arms to select, from 1 to n - 1.
    epsilon : float
        Tolerance of the *average*, in [0, 1): with probability 1 - delta the aggregate regret of
        the returned set is at most epsilon.  With 0 a ``budget`` is required.
    delta : float
        Failure probability, in (0, 1).
    pull_scale : float
        s, positive.  The guarantee is proved for s = 1.
    budget : int, optional
        Maximum number of pulls, at least n.  If it ends the run inside a round, the remaining pulls
        are spread evenly over the undecided arms (one more for the lower indices), and those with
        the largest means of all their pulls fill the set.

    Raises
    ------
    ValueError
        If ``epsilon`` is 0 and there is no budget.

    See Also
    --------
    ImprovedTopK : a bound without the factor ln n.
    OptMAI : with a fixed budget.

    Notes
    -----
    Chen, Chen, Zhang and Zhou (2017), Algorithm 1, with line 5 restored as
    :math:`4^r\ln(2nr^2/\delta)`.  With ``epsilon=0`` and a budget this is the fixed-budget form of
    the paper's experiments.  Each round uses only its own rewards.  Only the k' best-ranked arms
    can be accepted; when only k' arms remain, all of them are.

    Examples
    --------
    >>> import topk
    >>> bandit = topk.instances.two_group(n=20, k=5)
    >>> outcome = topk.run(AdaptiveTopK(5, epsilon=0.1, delta=0.1), bandit, rng=0)
    >>> outcome.selected.tolist(), outcome.certified
    ([0, 1, 2, 3, 4], True)
    """

    k: int
    epsilon: float
    delta: float
    pull_scale: float = 1.0
    budget: Whole | None = None
    certifies = average = anytime = fresh = True
    checks = Rounds.checks | {"pull_scale": factor}

    def __post_init__(self):
        super().__post_init__()
        if self.budget is None and self.epsilon == 0:
            refuse("epsilon", self.epsilon, "in (0, 1) when there is no budget")

    def state(self, arms: Arms) -> dict[str, Any]:
        """Return ln(2 n / delta) and epsilon k."""
        return {"log_ratio": math.log(2 * arms.n / self.delta), "allowed": self.epsilon * self.k}

    @rule
    def share(s):
        """Return N_r, capped at the largest admissible number of pulls."""
        r = s.now.rounds
        pulls = s.pull_scale * 4.0**r * (s.log_ratio + 2 * math.log(r))
        return whole_pulls(pulls)

    @rule
    def decide(s):
        """Apply lines 6 to 14 of Algorithm 1 in one pass.

        Accepting the first rank or rejecting the last one leaves both boundary arms in place.
        The paper's loop, which takes one arm at a time, therefore compares every arm with the
        same two means.  All arms have the same number of fresh pulls, so sums replace means.
        """
        sums, ranked, wanted = fresh_sums(s), rank_fresh(s, 1.0), s.now.wanted
        beyond = 2 * 0.5**s.now.rounds * s.now.each
        above = sums[ranked[wanted]] if wanted < ranked.size else -np.inf
        ranked = settle_outside(s, sums, ranked, above + beyond, sums[ranked[wanted - 1]] - beyond)
        if ranked.size == s.now.wanted or 2 * 0.5**s.now.rounds * s.now.wanted <= s.allowed:
            end_with(s, ranked, BY_RULE)


def settle_outside(s, sums, ranked, high, low):
    """Accept at most k' arms above ``high``, best first; reject other arms below ``low``.

    Return the ranked arms that are still undecided.
    """
    first, last, wanted = 0, ranked.size, s.now.wanted
    while first < wanted and sums[ranked[first]] > high:
        accept(s, ranked[first])
        first += 1
    while last > first and sums[ranked[last - 1]] < low:
        last -= 1
        reject(s, ranked[last])
    return ranked[first:last]


HALVING, REFERENCE, SORTING, QUARTERS, UNIFORM = range(1, 6)  # purposes of a batch


@dataclass(frozen=True)
class ImprovedTopK(Rounds):
    r"""Accept and reject arms with a few errors allowed, at a cost without the factor ln n.

    **A derivation, not the authors' text.**  Chen, Chen, Zhang and Zhou (2017) announce an
    algorithm ImprovedTopK with the bound of Theorem 2 and defer it to the full version of their
    paper, which we could not obtain.  The rule below was derived to meet that theorem: with
    probability :math:`1-\delta` the aggregate regret is at most :math:`\epsilon` *and* the pulls
    are :math:`O\big(H^{(t,\epsilon)}(\ln\frac1\epsilon+\ln\frac1\delta)\big)`.

    Round r gives every undecided arm :math:`\lceil\frac12 4^r\ln\frac2p\rceil` fresh pulls, where p
    does not depend on n.  Some arms *are* therefore classified wrongly; Markov's inequality bounds
    their number.  With k' arms still to accept and S the set of undecided arms:

    * if :math:`|S|\le4k'` (*decide*): arms more than :math:`2\cdot2^{-r}` above the
      :math:`(k'+u+1)`-th largest mean are accepted, largest first and at most k'; then those more
      than that below the :math:`(k'-u)`-th largest are rejected;
    * otherwise (*reject only*): the same threshold for rejection is found by a halving tournament
      with its own pulls, as in `topk_book.experiments.kth_arm`, and no arm is accepted.

    The slack :math:`u=4s_0r` grows from round to round because errors shift the ranks.  Rounds
    continue while :math:`2\cdot2^{-r}k'>\epsilon k` and :math:`|S|>k'+u`.  If at most k' arms are
    undecided, the set is filled with rejected arms; otherwise the remaining k' arms are found in S
    with the tolerance :math:`\epsilon'=\epsilon k/(2k')` and failure probability :math:`\delta/4`:
    quarter eliminations while :math:`|S|>4k'`, then one batch.

    Parameters
    ----------
    k : int
        Number of arms to select, from 1 to n - 1.
    epsilon : float
        Tolerance of the *average*, in (0, 1): with probability 1 - delta the aggregate regret of
        the returned set is at most epsilon.  Values above 1/2 are replaced by 1/2.
    delta : float
        Failure probability, in (0, 1).
    budget : int, optional
        Maximum number of pulls, at least n.  If it ends the run inside a batch, the remaining pulls
        are spread evenly over the batch (one more for the lower indices), and the undecided arms
        with the largest means of all their pulls fill the set.

    See Also
    --------
    AdaptiveTopK : the algorithm of the paper, whose bound has a factor ln n.

    Notes
    -----
    All constants are derived here: :math:`R=\lceil\log_2(2/\epsilon)\rceil` bounds the number of
    rounds; :math:`s_0=\lfloor\epsilon k/(40R^2)\rfloor` (often 0) is the number of arms that may be
    wrong in a batch, and :math:`p=\delta\epsilon/(2000R^3)`.  Level l of the halving tournament
    gives :math:`\lceil\frac2{\eta_l^2}\ln\frac{2^{l+1}}p\rceil` pulls with
    :math:`\eta_l=\frac{2^{-r}}4(\frac34)^l`.  The final quarter eliminations are those of Zhou,
    Chen and Li (2014), Lemma 4.1: level l has the tolerance
    :math:`\epsilon_l=\frac{\epsilon'}2(1-q)q^l`, the failure probability
    :math:`\delta_l=\frac\delta8(1-q)q^l` with :math:`q=e^{-0.1}`, and
    :math:`\lceil\epsilon_l^{-2}(10+\frac4{k'}\ln\frac2{\delta_l})\rceil` pulls of each arm.  The
    last batch is that of their Remark 4.1 with the rest of both: one half
    of each, or all if there were no eliminations.  Where any arms of S may fill the set, those with
    the largest means of all their pulls do; the same holds for rejected arms. In the proof a
    wrongly accepted or rejected arm costs at most 1/k: with ``sigma=`` the guarantee is proved if
    all means lie within 2 sigma of each other.

    The pulls per arm do not grow with n; those of `AdaptiveTopK` grow like ln n.  While
    :math:`|S|\le4k'` the two cost about the same.  The halving tournaments of the other mode cost
    hundreds of times as much, so that for k much smaller than n the rule is of theoretical interest
    only.  As with `AdaptiveTopK`, the guarantee does not cover an arm that was withdrawn: it is
    about the remaining arms.

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
    budget: Whole | None = None
    certifies = average = anytime = fresh = True
    checks = Rounds.checks | {"epsilon": positive}

    def state(self, arms: Arms) -> dict[str, Any]:
        """Return epsilon k, s_0, ln(2 / p), ln(1 / delta), and what the rule changes."""
        _, allowance, log_ratio = constants(self.k, self.epsilon, self.delta)
        return {
            "allowed": min(float(self.epsilon), 0.5) * self.k,
            "allowance": allowance,
            "log_ratio": log_ratio,
            "log_delta": -math.log(self.delta),
            # the last round in whose tournament each arm was eliminated
            "beaten": Stored("count", arms.n),
            "now": {"stage": 0, "r": 1, "level": 0, "bar": 0.0},
        }

    @rule
    def batch(s):
        """Return all undecided arms, or those still in the round's tournament."""
        arms = s.active[: s.now.n_active]
        return arms[s.beaten[arms] < s.now.r] if s.now.stage <= REFERENCE else arms

    @rule
    def share(s):
        """Return the pulls that make errors of the batch rare enough."""
        if s.now.stage == 0:
            open_batch(s)
        if s.now.stage == HALVING:
            return halving_share(0.5**s.now.r, s.log_ratio, s.now.level)
        return ending(s) if s.now.stage > SORTING else whole_pulls(s.log_ratio * 4.0**s.now.r / 2)

    @rule
    def decide(s):
        """Evaluate the batch according to its purpose, and open the next one."""
        sums, ranked, wanted = fresh_sums(s), rank_fresh(s, 1.0), s.now.wanted
        size, u = ranked.size, 4 * s.allowance * s.now.r
        if s.now.stage == HALVING:
            s.beaten[ranked[(size + 1) // 2 :]] = s.now.r
            s.now.level += 1
        elif s.now.stage == REFERENCE:  # no arm is below it if most of V were withdrawn
            s.now.bar = sums[ranked[wanted - u - 1]] if size >= wanted - u else -1e300
        elif s.now.stage == SORTING and size > wanted + u:  # unless arms were withdrawn
            above, below, beyond = np.inf, s.now.bar, 2 * 0.5**s.now.r * s.now.each
            if size <= 4 * wanted:
                above, below = sums[ranked[wanted + u]], sums[ranked[wanted - u - 1]]
            settle_outside(s, sums, ranked, above + beyond, below - beyond)
            s.now.r += 1
        elif s.now.stage == QUARTERS and size > 4 * wanted:  # the same
            s.status[ranked[size - (size + 3) // 4 :]] = REJECTED
            s.now.level += 1
        elif s.now.stage == UNIFORM:
            end_with(s, ranked, BY_RULE)
        keep_active(s)
        open_batch(s)


def open_batch(s):
    """Choose the purpose of the next batch, or end the run: steps 2.1 to 2.5 and 3 in the book."""
    size, wanted, u = s.now.n_active, s.now.wanted, 4 * s.allowance * s.now.r
    last = 4 * 0.5**s.now.r * wanted <= s.allowed  # 2.2: leave the loop
    if size < wanted:  # 2.1: all of S and the best of B
        s.status[s.active[:size]] = ACCEPTED
        s.status[s.status == REJECTED] = ACTIVE
    if size <= wanted or (s.allowed >= 2 * wanted if last else size <= wanted + u):
        s.now.ended = BY_RULE  # the best of the active arms fill the set
    elif last:  # 3
        s.now.stage = QUARTERS if size > 4 * wanted else UNIFORM
    elif size <= 4 * wanted or s.now.stage == REFERENCE:  # 2.4, or the end of 2.5
        s.now.stage, s.now.level = SORTING, 0
    else:  # 2.5
        s.now.stage = HALVING if batch(s).size > 4 * (wanted - u + 2 * s.allowance) else REFERENCE


def ending(s):
    """Return the pulls of Zhou et al. (2014), Lemmas 4.1 and 6.1, for a part of each error."""
    q, wanted, uniform = math.exp(-0.1), s.now.wanted, s.now.stage == UNIFORM
    part = (0.5 if s.now.level > 0 else 1.0) if uniform else (1 - q) * q ** float(s.now.level) / 2
    log_error = (math.log(8 / part) + s.log_delta) / wanted
    log_share = math.log(s.now.n_active / wanted)
    pulls = 2 * (1 + log_share + log_error) if uniform else 10 + 4 * log_error
    share = part * s.allowed / (2 * wanted)
    return whole_pulls(pulls / (share * share))


def constants(k, epsilon, delta):
    """Return R, s_0 and ln(2/p)."""
    epsilon = min(float(epsilon), 0.5)
    most_rounds, log_ratio = improved_topk_constants(epsilon, delta)
    return most_rounds, math.floor(epsilon * k / (40 * most_rounds**2)), log_ratio
