"""SAR: successive accepts and rejects, of one or several bandits (Bubeck et al. 2013)."""

from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import numpy as np

from topk._checks import as_integers, refuse
from topk.rules import (
    BY_BUDGET,
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


class Phases(Rounds):
    """What SAR and SR share: one arm leaves in each phase, and the phases' lengths are fixed."""

    budget: int
    spare = 1
    survivors: int = 1

    def constants(self, n: int) -> dict[str, Any]:
        """Return n_1, n_2, ...: the pulls that an active arm has after each phase."""
        return {"lengths": np.array(phase_lengths(n, self.budget, self.survivors))}

    @rule
    def share(s):
        """Every active arm is pulled up to the phase's length."""
        return phase_length(s, s.now.live) - s.pulls[s.active[0]]


def phase_length(s, size):
    """Return the length of the phase with ``size`` active arms; no phase follows the last one."""
    return s.lengths[min(s.n - size, s.lengths.size - 1)]


@dataclass(frozen=True)
class SAR(Phases):
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

    @rule
    def decide(s):
        """The arm with the largest gap leaves, one for each phase that ends here.

        Between two pulls the two arms at the boundary stay the same, so that every gap does:
        whoever leaves is taken from the two ends of one sorted list.
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
    r"""Successive rejects for the k best arms.

    In n - k phases every remaining arm is pulled up to

    .. math:: n_j = \Big\lceil \frac1C \frac{Q - n}{n + 1 - j} \Big\rceil,
       \qquad C = \frac{k}{k + 1} + \sum_{i=k+1}^n \frac1i,

    times in all; then the arm with the smallest mean is dropped.  The k arms that are
    left are returned.

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
    The algorithm of Audibert, Bubeck and Munos (2010), cut short as in the experiments of
    Bubeck, Wang and Viswanathan (2013), Section 5.  The paper's text says that K - m - 1
    phases are run; with one arm dropped in each, K - m are needed.  C is ours: it spends
    the whole budget and is the original constant for k = 1.  Of equal means the arm of
    larger index is dropped.

    Examples
    --------
    >>> import topk
    >>> bandit = topk.BernoulliBandit([0.9, 0.5, 0.1])
    >>> topk.run(SuccessiveRejects(1, budget=300), bandit, rng=0).selected.tolist()
    [0]
    """

    k: int
    budget: int

    survivors = property(lambda self: self.k)  # how many arms are left in the end

    @rule
    def decide(s):
        """The last rank leaves, one for each phase that ends here."""
        ranked = rank(s)
        size = ranked.size
        while size > s.k and phase_length(s, size) == s.pulls[ranked[0]]:
            size -= 1
            reject(s, ranked[size])
        if size == s.k:
            end_with(s, ranked[:size], BY_BUDGET)


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
        integers, or an arm is told what rewards of 0 and 1 cannot add up to.

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
    if not isinstance(strategy, (SAR, MultiBanditSAR)):
        refuse("strategy", strategy, "SAR or MultiBanditSAR")
    session = strategy.start(layout)
    lengths = phase_lengths(session.n, strategy.budget)
    sums = as_integers(sums, "sums", 0)
    if sums.shape != (len(lengths), session.n):
        refuse("sums", sums.shape, f"of shape {len(lengths), session.n}: a row for each phase")
    told = np.zeros(session.n, dtype=np.int64)
    while not session.done:
        arms, counts = session.ask()
        phase = lengths.index(session.pulls.flat[arms[0]] + counts[0])
        session.tell(arms, sums[phase, arms] - told[arms], counts=counts)
        told[arms] = sums[phase, arms]
    return session.selected
