"""SAR for several bandits at once (Bubeck, Wang and Viswanathan 2013)."""

from dataclasses import dataclass

from topk.engine.composing import rule
from topk.engine.loop import keep_active
from topk.engine.rounds import accept, reject
from topk.strategies.sar import Phases, phase_length


@dataclass(frozen=True)
class MultiBanditSAR(Phases):
    r"""Successive accepts and rejects for the best arm of each of several bandits.

    In M n - 1 phases every arm that is still active, of whatever bandit, is pulled up to

    .. math:: n_j = \Big\lceil \frac{1}{\overline{\log}(Mn)} \frac{Q - Mn}{Mn + 1 - j} \Big\rceil,
       \qquad \overline{\log}(Mn) = \frac12 + \sum_{i=2}^{Mn} \frac1i,

    times in all; then one arm leaves.  If some bandit has a single active arm, that arm is
    accepted; otherwise the arm that is farthest below the best arm of its own bandit is
    rejected.  The best arm of each bandit is wanted (k = 1).

    Parameters
    ----------
    budget : int
        Q, the pulls in all, at least M n + 1.

    Raises
    ------
    ValueError
        If ``budget`` is no number of pulls; it is compared with M n at `start`.

    Notes
    -----
    Bubeck, Wang and Viswanathan (2013), Section 4.  The paper leaves ties open.  Here arms
    are ranked within their bandit by mean, then by lower number.  Of equal gaps the arm of
    the larger rank is rejected; if those are equal too, that of the higher number.  Of
    several bandits with a single active arm the lowest number is accepted first, which no
    later decision depends on.  For one bandit this is `SAR` with k = 1.

    Examples
    --------
    >>> import topk
    >>> bandit = topk.MultiBandit([[0.9, 0.5, 0.1], [0.2, 0.3, 0.7]])
    >>> topk.run(MultiBanditSAR(600), bandit, rng=0).selected.tolist()
    [[0], [2]]
    """

    budget: int
    k = 1
    several = True

    @rule
    def decide(s):
        """One arm leaves for each phase that ends here."""
        while s.now.live > 0 and phase_length(s, s.now.live) == s.pulls[s.active[0]]:
            settle_one(s)
            keep_active(s)


def settle_one(s):
    """Accept the only active arm of a bandit, or reject the arm with the largest gap.

    All active arms have as many pulls: sums compare as means do.
    """
    n, gap, size, worst_of_all, j = s.n // s.bandits, -1.0, 0, 0, 0
    while j < s.now.live:  # the active arms of one bandit after the other
        first, best, worst = j, s.active[j], s.active[j]
        end = best // n * n + n
        while j < s.now.live and s.active[j] < end:
            arm = s.active[j]
            if s.sums[arm] > s.sums[best]:
                best = arm
            if s.sums[arm] <= s.sums[worst]:
                worst = arm
            j += 1
        if j == first + 1:
            accept(s, best)
            return
        own = s.sums[best] - s.sums[worst]
        if own > gap or (own == gap and j - first >= size):
            gap, size, worst_of_all = own, j - first, worst
    reject(s, worst_of_all)
