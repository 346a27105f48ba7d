"""AdaptiveTopK (Chen, Chen, Zhang and Zhou 2017)."""

import math
from dataclasses import dataclass

import numpy as np

from topk._checks import check_real, refuse
from topk.engine.composing import rule
from topk.engine.loop import BY_RULE
from topk.engine.rounds import accept, end_with, fresh_sums, rank_fresh, reject
from topk.engine.ruled import Rounds


def check_scale(value, name):
    """Return a factor in (0, 1e6]."""
    return check_real(value, name, 0, 1e6, low_open=True)


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
    certifies = anytime = fresh = True
    checks = Rounds.checks | {"pull_scale": check_scale}

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
        return np.int64(math.ceil(min(pulls, 2.0**53)))

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
