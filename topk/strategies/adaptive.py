"""AdaptiveTopK (Chen, Chen, Zhang and Zhou 2017), and ImprovedTopK by a derived rule."""

import math
from dataclasses import dataclass

import numpy as np

from topk._checks import factor, positive, refuse
from topk.engine.composing import rule
from topk.engine.loop import ACTIVE, BY_RULE, REJECTED, keep_active
from topk.engine.ranking import kth_largest, largest, ranked_by
from topk.engine.rounds import accept, end_with, fresh_sums, rank_fresh, reject, whole_pulls
from topk.engine.strategy import Rounds


@dataclass(frozen=True)
class AdaptiveTopK(Rounds):
    r"""Accept and reject with a precision that doubles from round to round.

    In round r = 1, 2, ... every undecided arm is pulled

    .. math:: N_r = \Big\lceil s\,4^r\ln\frac{2nr^2}{\delta} \Big\rceil

    times (s is ``pull_scale``).  With k' arms still wanted, an arm is accepted when its
    mean of this round is more than :math:`2\cdot2^{-r}` above the k'+1-th largest, and
    rejected when it is as far below the k'-th.  Rounds go on while
    :math:`2\cdot2^{-r}k' > \epsilon k`; then the k' largest means fill the set.

    Parameters
    ----------
    k : int
        How many arms are wanted, 1 to n - 1.
    epsilon : float
        Tolerance of the *average*, in [0, 1): with probability 1 - delta the aggregate
        regret of the returned set is at most epsilon.  0 needs a ``budget``.
    delta : float
        Probability of failure, in (0, 1).
    pull_scale : float
        s, positive.  The promise is proved for s = 1.
    budget : int, optional
        The most pulls that may be made, at least n.  When it ends the play inside a round,
        what is left is spread evenly over the undecided arms (one more for the lower
        indices), and those with the largest means of all their pulls fill the set.

    Raises
    ------
    ValueError
        If a parameter is out of range, or if ``epsilon`` is 0 without a budget;
        ``budget`` is compared with n at `start`.

    Notes
    -----
    Chen, Chen, Zhang and Zhou (2017), Algorithm 1, with line 5 restored as
    :math:`4^r\ln(2nr^2/\delta)`.  With ``epsilon=0`` and a budget it is the fixed-budget
    form of the paper's experiments.  The pulls of a round are fresh.  The k' best ranks
    are the ones that can be accepted; when only k' arms are left they all are.

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
    budget: int | None = None
    certifies = average = anytime = fresh = True
    checks = Rounds.checks | {"pull_scale": factor}

    def __post_init__(self):
        super().__post_init__()
        if self.budget is None and self.epsilon == 0:
            refuse("epsilon", self.epsilon, "in (0, 1) when there is no budget")

    def constants(self, n):
        """Return ln(2 n / delta) and epsilon k."""
        return {"log_ratio": math.log(2 * n / self.delta), "allowed": self.epsilon * self.k}

    @rule
    def share(s):
        """N_r, cut to what stays a whole number."""
        r = s.now.rounds
        pulls = s.pull_scale * 4.0**r * (s.log_ratio + 2 * math.log(r))
        return whole_pulls(pulls)

    @rule
    def decide(s):
        """Lines 6 to 14 of Algorithm 1, in one pass.

        Accepting the first rank or rejecting the last leaves both boundary arms in place, so
        that the loop of the paper, which takes one arm at a time, compares every arm with the
        same two means.  All arms have as many fresh pulls: sums are compared in place of means.
        """
        sums, ranked, wanted = fresh_sums(s), rank_fresh(s, 1.0), s.now.wanted
        beyond, first, last = 2 * 0.5**s.now.rounds * s.now.each, 0, ranked.size
        while first < wanted and (
            ranked.size == wanted or sums[ranked[first]] - sums[ranked[wanted]] > beyond
        ):
            accept(s, ranked[first])
            first += 1
        while last > wanted and sums[ranked[wanted - 1]] - sums[ranked[last - 1]] > beyond:
            last -= 1
            reject(s, ranked[last])
        one_side = last - first == s.now.wanted
        if one_side or 2 * 0.5**s.now.rounds * s.now.wanted <= s.allowed:
            end_with(s, ranked[first:last], BY_RULE)


# what a round is for
HALVING, REFERENCE, REJECTING, DECIDING, QUARTERS, UNIFORM = range(1, 7)
FADING = math.exp(-0.1)  # ratio of the tolerances of consecutive quarter eliminations


@dataclass(frozen=True)
class ImprovedTopK(Rounds):
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
    certifies = average = anytime = fresh = True
    checks = Rounds.checks | {"epsilon": positive}
    memory = {"stage": 0, "share": 0, "level": 0, "r": 0, "searched": 0, "bar": 0.0}

    def constants(self, n):
        """Return epsilon k, ln(2 / p), ln(1 / delta), R and s_0."""
        names = "most_rounds", "allowance", "log_ratio"
        found = dict(zip(names, constants(self.k, self.epsilon, self.delta), strict=True))
        allowed = min(float(self.epsilon), 0.5) * self.k
        return found | {"allowed": allowed, "log_delta": -math.log(self.delta)}

    def arrays(self, bandits, n):
        """Return room for the arms among which a threshold is searched."""
        return super().arrays(bandits, n) | {"pool": ("arm", n)}

    @rule
    def batch(s):
        """The arms that are searched, or all undecided ones."""
        return searched(s) if s.now.stage <= REFERENCE else s.active[: s.now.live]

    @rule
    def share(s):
        """What the stage says, see the functions ``open_...``."""
        if s.now.stage == 0:
            open_loop(s)
        return s.now.share

    @rule
    def decide(s):
        """Do what the batch was for, and open the next stage."""
        sums = fresh_sums(s)
        if s.now.stage == HALVING:
            search_in(s, largest(sums, searched(s), (s.now.searched + 1) // 2))
            s.now.level += 1
            open_search(s)
        elif s.now.stage == REFERENCE:
            rank = max(1, s.now.wanted - slack(s))
            s.now.bar = 0.0
            if s.now.searched >= rank:
                s.now.bar = kth_largest(sums[searched(s)], rank)
            s.now.searched, s.now.stage = 0, REJECTING
        elif s.now.stage == REJECTING:
            classify(s, sums, np.inf, s.now.bar)
            open_loop(s)
        elif s.now.stage == DECIDING and s.now.live <= s.now.wanted + slack(s):
            settle(s)  # arms have left
        elif s.now.stage == DECIDING:
            own, wanted, u = sums[s.active[: s.now.live]], s.now.wanted, slack(s)
            above = kth_largest(own, wanted + u + 1)
            classify(s, sums, above, kth_largest(own, max(1, wanted - u)))
            open_loop(s)
        elif s.now.stage == QUARTERS:
            drop_quarter(s, sums)
            open_final(s)
        else:
            accept_largest(s, sums, s.now.wanted)
            s.now.ended = BY_RULE

    @rule
    def left(s, arm):
        """Whoever has left is not searched either."""
        arms = searched(s)
        search_in(s, arms[arms != arm])


def slack(s):
    """Return u of the current round."""
    return 4 * s.allowance * min(s.now.r, s.most_rounds)


def searched(s):
    """Return the arms among which the threshold for rejection is searched, in order."""
    return s.pool[: s.now.searched]


def search_in(s, arms):
    """Go on searching among some arms."""
    s.now.searched = arms.size
    s.pool[: arms.size] = arms


def open_loop(s):
    """The head of the loop: end the play, pass to the final step, or open a round."""
    size, wanted = s.now.live, s.now.wanted
    if size <= wanted or wanted == 0:
        settle(s)
        return
    if 2 * 0.5**s.now.r * wanted <= s.allowed:
        s.now.level = 0
        open_final(s)
        return
    s.now.r += 1
    if size <= wanted + slack(s):
        settle(s)
    elif size <= 4 * wanted:
        s.now.stage = DECIDING
        s.now.share = sorting_share(0.5**s.now.r, s.log_ratio)
    else:
        s.now.level = 0
        search_in(s, s.active[:size])
        open_search(s)


def open_search(s):
    """Halve the pool, or, when it is small enough, read the threshold off its means."""
    eta = 0.5**s.now.r
    quota = s.now.wanted - slack(s) + 2 * s.allowance
    if s.now.searched > 4 * quota:
        s.now.stage = HALVING
        s.now.share = halving_share(eta, s.log_ratio, s.now.level)
    else:
        s.now.stage = REFERENCE
        s.now.share = sorting_share(eta, s.log_ratio)


def open_final(s):
    """The final step: quarter eliminations, then one batch."""
    size, wanted, level = s.now.live, s.now.wanted, s.now.level
    tolerance = s.allowed / (2 * wanted) if wanted > 0 else 1.0
    if size <= wanted or tolerance >= 1:
        settle(s)
    elif size > 4 * wanted:
        fade = (1 - FADING) * FADING**level
        log_error = math.log(16.0) + s.log_delta - math.log(fade)  # ln(2 / delta_l)
        precision = max(tolerance / 2 * fade, 1e-100)
        s.now.stage = QUARTERS
        s.now.share = whole_pulls((10 + 4 * log_error / wanted) / precision**2)
    else:
        part = 0.5 if level > 0 else 1.0
        precision = max(tolerance * part, 1e-100)
        log_error = math.log(8 / part) + s.log_delta
        sets = wanted * (1 + math.log(size / wanted))  # ln of the number of sets, or more
        s.now.stage = UNIFORM
        s.now.share = whole_pulls(2 * (sets + log_error) / (precision**2 * wanted))


def settle(s):
    """End the play: any k' undecided arms will do; if there are fewer, rejected ones join.

    The rejected arms come in the order of all their pulls; arms that left do not return.
    """
    s.now.ended = BY_RULE
    missing = s.now.wanted - s.now.live
    if missing < 0:
        return  # `recommend` takes those with the largest means
    for j in range(s.now.live):
        accept(s, s.active[j])
    if missing > 0:
        ranked = ranked_by(s.sums, s.pulls, np.flatnonzero(s.status == REJECTED), 1.0)
        for j in range(missing):
            accept(s, ranked[j])


def classify(s, sums, above, below):
    """Accept what is far above ``above``; then reject what is far below ``below``.

    All arms have as many fresh pulls, so that sums compare as means do.
    """
    beyond = 2 * 0.5**s.now.r * s.now.share
    arms = s.active[: s.now.live].copy()
    far = (sums[arms] > above + beyond).sum()
    accept_largest(s, sums, min(far, s.now.wanted))
    for arm in arms:
        if s.status[arm] == ACTIVE and sums[arm] < below - beyond:
            reject(s, arm)
    keep_active(s)


def accept_largest(s, sums, count):
    """Accept the ``count`` undecided arms with the largest sums."""
    for arm in largest(sums, s.active[: s.now.live], count):
        accept(s, arm)


def drop_quarter(s, sums):
    """Quarter elimination: reject ceil(|S| / 4) arms, unless so many have left meanwhile."""
    size = s.now.live
    if size > 4 * s.now.wanted:
        kept = largest(sums, s.active[:size], size - (size + 3) // 4)
        s.status[s.active[:size]] = REJECTED
        s.status[kept] = ACTIVE
        keep_active(s)
    s.now.level += 1


def sorting_share(eta, log_ratio):
    """Pulls after which a mean is off by eta with probability at most p; ``ln(2/p)`` is given."""
    return whole_pulls(log_ratio / (2 * max(eta, 1e-100) ** 2))


def halving_share(eta, log_ratio, level):
    """Pulls of halving level l: ``(2 / eta_l**2) ln(2**(l + 1) / p)``.

    Here ``eta_l = (eta / 4) (3 / 4)**l``, which adds up to eta, and a mean is too large by
    ``eta_l / 2`` with probability at most ``p / 2**(l + 1)``.
    """
    precision = max(eta / 4 * 0.75**level, 1e-100)
    return whole_pulls(2 / precision**2 * (log_ratio + level * math.log(2.0)))


def constants(k, epsilon, delta):
    """Return R, s_0 and ln(2/p)."""
    epsilon = min(float(epsilon), 0.5)
    most_rounds = math.ceil(1 - math.log2(epsilon))
    allowance = math.floor(epsilon * k / (40 * most_rounds**2))
    log_ratio = math.log(4000 * most_rounds**3) - math.log(epsilon) - math.log(delta)
    return most_rounds, allowance, log_ratio
