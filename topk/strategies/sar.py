"""Successive accepts and rejects for one or several bandits (Bubeck et al. 2013)."""

from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import numpy as np

from topk._types import Whole
from topk.rules import (
    BY_BUDGET,
    Arms,
    Rounds,
    accept,
    end_with,
    first_leaves,
    keep_active,
    rank,
    reject,
    rule,
)


@lru_cache(maxsize=256)
def phase_lengths(n, budget, survivors=1):
    r"""Return the number of pulls of a remaining arm after each phase of SAR or SR.

    .. math:: n_j = \Big\lceil \frac1C \frac{Q - n}{n + 1 - j} \Big\rceil,
       \qquad C = \frac{s}{s + 1} + \sum_{i=s+1}^n \frac1i, \qquad j = 1, \dots, n - s.

    Parameters
    ----------
    n : int
        Number of arms, at least 2.
    budget : int
        Q, the total number of pulls, at least n.
    survivors : int
        s, the number of arms that remain in the end; 1 for SAR.

    Returns
    -------
    tuple of int
        :math:`n_1, \dots, n_{n-s}`.

    Notes
    -----
    Bubeck, Wang and Viswanathan (2013), Section 3, for s = 1.  A quotient that is an integer in
    exact arithmetic must not be rounded up to the next one.  C is therefore represented in units of
    2**-256, rounded up: an integer quotient does not increase, and any other quotient stays above
    its floor.

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


class Phases(Rounds):
    """The phases of SAR and SR: one arm is settled in each, and their lengths are fixed."""

    budget: Whole
    extra_budget = 1
    survivors: int = 1

    def state(self, arms: Arms) -> dict[str, Any]:
        """Return n_1, n_2, ...: the pulls of an active arm after each phase."""
        return {"lengths": np.array(phase_lengths(arms.n, self.budget, self.survivors))}

    @rule
    def share(s):
        """Return the pulls that bring every active arm up to the phase's length."""
        return phase_length(s, s.now.n_active) - s.pulls[s.active[0]]


def phase_length(s, size):
    """Return the length of the phase with ``size`` active arms; the last one if there is none."""
    return s.lengths[min(s.n - size, s.lengths.size - 1)]


@dataclass(frozen=True)
class SAR(Phases):
    r"""Accept or reject the arm with the largest empirical gap, in n - 1 phases of fixed length.

    In n - 1 phases every arm that is still active is pulled up to

    .. math:: n_j = \Big\lceil \frac{1}{\overline{\log}(n)} \frac{Q - n}{n + 1 - j} \Big\rceil,
       \qquad \overline{\log}(n) = \frac12 + \sum_{i=2}^n \frac1i,

    times in total; then the arm with the largest empirical gap to the boundary is accepted or
    rejected for good.

    Parameters
    ----------
    k : int
        Number of arms to select, from 1 to n - 1.
    budget : int
        Q, the total number of pulls, at least n + 1 (with fewer the first phase has no pull).

    See Also
    --------
    SuccessiveRejects : rejects only.
    SequentialHalving : half of the arms leave in each round.
    MultiBanditSAR : the rule for several bandits.

    Notes
    -----
    Bubeck, Wang and Viswanathan (2013), Figure 1.  The paper leaves ties open.  Here arms are
    ranked by mean, then by lower index, and an arm's side of the boundary is decided by its rank.
    If gaps are equal, the arm whose rank is farther from the boundary goes first; if these
    distances are equal too, the last rank is rejected.  Once all remaining arms belong to one side,
    the remaining phases still take place, as in the paper, and settle them there.

    Examples
    --------
    >>> import topk
    >>> topk.run(SAR(1, budget=300), topk.BernoulliBandit([0.9, 0.5, 0.1]), rng=0).selected.tolist()
    [0]
    """

    k: int
    budget: Whole

    @rule
    def decide(s):
        """Settle the arm with the largest gap, once for each phase that ends here.

        Without new pulls the two arms at the boundary, and hence all gaps, stay the same: the
        next arm is always at one of the two ends of the sorted list.
        """
        ranked = rank(s)
        first, last = 0, ranked.size - 1
        while first <= last and phase_length(s, last - first + 1) == s.pulls[ranked[0]]:
            if first_leaves(s, s.sums, ranked, first, last):
                accept(s, ranked[first])
                first += 1
            else:
                reject(s, ranked[last])
                last -= 1


@dataclass(frozen=True)
class SuccessiveRejects(Phases):
    r"""Reject the arm with the smallest mean, in n - k phases of fixed length.

    In n - k phases every remaining arm is pulled up to

    .. math:: n_j = \Big\lceil \frac1C \frac{Q - n}{n + 1 - j} \Big\rceil,
       \qquad C = \frac{k}{k + 1} + \sum_{i=k+1}^n \frac1i,

    times in total; then the arm with the smallest mean is dropped.  The k remaining arms are
    returned.

    Parameters
    ----------
    k : int
        Number of arms to select, from 1 to n - 1.
    budget : int
        Q, the total number of pulls, at least n + 1 (with fewer the first phase has no pull).

    See Also
    --------
    SAR : accepts arms as well.
    SequentialHalving : half of the arms leave in each round.

    Notes
    -----
    The algorithm of Audibert, Bubeck and Munos (2010), stopped early as in the experiments of
    Bubeck, Wang and Viswanathan (2013), Section 5.  The paper speaks of K - m - 1 phases; since
    each drops one arm, K - m are needed.  The constant C is ours: it spends the whole budget and
    equals the original one for k = 1.  Of equal means the arm with the larger index is dropped.

    Examples
    --------
    >>> import topk
    >>> bandit = topk.BernoulliBandit([0.9, 0.5, 0.1])
    >>> topk.run(SuccessiveRejects(1, budget=300), bandit, rng=0).selected.tolist()
    [0]
    """

    k: int
    budget: Whole

    survivors = property(lambda self: self.k)  # number of arms that remain in the end

    @rule
    def decide(s):
        """Reject the last rank, once for each phase that ends here."""
        ranked = rank(s)
        size = ranked.size
        while size > s.k and phase_length(s, size) == s.pulls[ranked[0]]:
            size -= 1
            reject(s, ranked[size])
        if size == s.k:
            end_with(s, ranked[:size], BY_BUDGET)


@dataclass(frozen=True)
class MultiBanditSAR(Phases):
    r"""Find the best arm of each of several bandits by successive accepts and rejects.

    In M n - 1 phases every active arm of every bandit is pulled up to

    .. math:: n_j = \Big\lceil \frac{1}{\overline{\log}(Mn)} \frac{Q - Mn}{Mn + 1 - j} \Big\rceil,
       \qquad \overline{\log}(Mn) = \frac12 + \sum_{i=2}^{Mn} \frac1i,

    times in total; then one arm is settled.  If some bandit has a single active arm, that arm is
    accepted; otherwise the arm farthest below the best arm of its own bandit is rejected.  The best
    arm of each bandit is selected (k = 1).

    Parameters
    ----------
    budget : int
        Q, the total number of pulls, at least M n + 1.

    See Also
    --------
    SAR : the rule for one bandit.
    MultiBanditGapE : another rule for several.

    Notes
    -----
    Bubeck, Wang and Viswanathan (2013), Section 4.  The paper leaves ties open.  Here arms are
    ranked within their bandit by mean, then by lower number.  If gaps are equal, the arm with the
    larger rank is rejected; if ranks are equal too, the one with the higher number.  If several
    bandits have a single active arm, the one with the lowest number is accepted first; no later
    decision depends on this.  For one bandit this is `SAR` with k = 1.

    Examples
    --------
    >>> import topk
    >>> bandit = topk.MultiBandit([[0.9, 0.5, 0.1], [0.2, 0.3, 0.7]])
    >>> topk.run(MultiBanditSAR(600), bandit, rng=0).selected.tolist()
    [[0], [2]]
    """

    budget: Whole
    k = 1
    several = True

    @rule
    def decide(s):
        """Settle one arm for each phase that ends here."""
        while s.now.n_active > 0 and phase_length(s, s.now.n_active) == s.pulls[s.active[0]]:
            settle_one(s)
            keep_active(s)


def settle_one(s):
    """Accept the only active arm of a bandit, or reject the arm with the largest gap.

    All active arms have the same number of pulls, so sums replace means.
    """
    n, gap, size, worst_of_all, j = s.n // s.bandits, -1.0, 0, 0, 0
    while j < s.now.n_active:  # the active arms of one bandit after another
        first, best, worst = j, s.active[j], s.active[j]
        end = best // n * n + n
        while j < s.now.n_active and s.active[j] < end:
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
