"""Explore-m: the families and the argument of Theorem 8 of Kalyanakrishnan et al. (2012)."""

import math
from collections.abc import Iterable, Iterator
from itertools import combinations
from typing import NamedTuple

import numpy as np

from topk._checks import (
    check_choice,
    check_integer,
    refuse,
    up_to,
)
from topk._ranges import above_zero, below_one, integer, probability, up_to_half, validated
from topk._types import Floats

PUBLISHED_CONSTANT = 1 / 18375
EXPLORE_M_EPSILON = up_to(math.sqrt(1 / 32))


def _horizon(value, name, arguments):
    """Range of the number of pulls for which a distribution is computed step by step."""
    return check_integer(value, name, 1, 100_000)


def _members(value, name, arguments):
    """Range of a set of arms."""
    if isinstance(value, str | bytes) or not np.iterable(value):
        refuse(name, value, "different arms")
    return [check_integer(arm, name, 1) for arm in value]


@validated(n=integer(2), m=up_to_half)
def explore_m_families(n: int, m: int, size: int) -> Iterator[tuple[int, ...]]:
    r"""Iterate over the index sets of a family of instances: subsets of the arms 1, ..., n - 1.

    Parameters
    ----------
    n : int
        Number of arms; they are 0, ..., n - 1.
    m : int
        Arms to select, 1 to n / 2.
    size : int
        m - 1 or m, for the family :math:`\mathcal I_{m-1}` or :math:`\mathcal I_m`.

    Returns
    -------
    iterator of tuple of int
        Its :math:`\binom{n-1}{size}` members, each increasing.

    See Also
    --------
    explore_m_means : the means of an index set.

    Notes
    -----
    Kalyanakrishnan et al. (2012), section 4.1.

    Examples
    --------
    >>> from topk.lower_bounds import explore_m_families
    >>> list(explore_m_families(4, 2, 1))
    [(1,), (2,), (3,)]
    """
    check_choice(size, "size", (m - 1, m))
    return combinations(range(1, n), size)


@validated(n=integer(2), epsilon=EXPLORE_M_EPSILON, members=_members)
def explore_m_means(n: int, members: Iterable[int], epsilon: float) -> Floats:
    r"""Means of the instance :math:`B_I`.

    Arm 0 has mean 1/2, the arms in I have :math:`\frac12+2\epsilon`, and all others
    :math:`\frac12-2\epsilon`.

    Parameters
    ----------
    n : int
        Number of arms.
    members : iterable of int
        I, different arms from 1 to n - 1.
    epsilon : float
        Tolerance per arm, in (0, sqrt(1/32)].

    Returns
    -------
    ndarray, shape (n,)
        The means.

    See Also
    --------
    explore_m_families : the index sets of the construction.
    explore_m_optimal : its correct answer.
    mannor_tsitsiklis_family : the construction for one arm.

    Notes
    -----
    Kalyanakrishnan et al. (2012), section 4.1; the display is lost in our copy and restored.

    Examples
    --------
    >>> from topk.lower_bounds import explore_m_means
    >>> explore_m_means(4, (2,), 0.125)
    array([0.5 , 0.25, 0.75, 0.25])
    """
    arms = [check_integer(arm, "members", 1, n - 1) for arm in members]
    if len(set(arms)) != len(arms):
        refuse("members", tuple(arms), "different arms")
    means = np.full(n, 0.5 - 2 * epsilon)
    means[0], means[arms] = 0.5, 0.5 + 2 * epsilon
    return means


@validated(m=integer(1), members=_members)
def explore_m_optimal(members: Iterable[int], m: int) -> frozenset[int]:
    r"""The only correct answer on :math:`B_I`: the m arms within epsilon of the m-th best.

    Parameters
    ----------
    members : iterable of int
        I, with m - 1 or m arms.
    m : int
        Arms to select, at least 1.

    Returns
    -------
    frozenset of int
        :math:`I\cup\{0\}` if :math:`|I|=m-1`, and I if :math:`|I|=m`.

    See Also
    --------
    explore_m_means : the means of the instance.

    Notes
    -----
    Kalyanakrishnan et al. (2012), section 4.1: arm 0 belongs to the answer in one family and not in
    the other, and an algorithm can distinguish the families only by sampling the other arms.

    Examples
    --------
    >>> from topk.lower_bounds import explore_m_optimal
    >>> sorted(explore_m_optimal((2, 5), 3)), sorted(explore_m_optimal((2, 5), 2))
    ([0, 2, 5], [2, 5])
    """
    members = frozenset(members)
    if len(members) not in (m - 1, m):
        refuse("members", sorted(members), f"a set of {m - 1} or {m} arms")
    return members | {0} if len(members) == m - 1 else members


class CountingStep(NamedTuple):
    """The numbers that section 4.2.2 counts.

    Attributes
    ----------
    pairs : int
        Pairs (I, j) with I of m - 1 arms and j not in I, excluding arm 0.
    larger : int
        Members of the family of size m.
    per_member : tuple of int
        Smallest and largest number of pairs with I united with {j} equal to a given J;
        both are m.
    disjoint : bool
        Whether the answers I united with {0} of these pairs differ from each other and from J, so
        that their probabilities add up to an error probability.
    """

    pairs: int
    larger: int
    per_member: tuple[int, int]
    disjoint: bool


@validated(n=integer(2), m=up_to_half)
def count_pairs(n: int, m: int) -> CountingStep:
    r"""Check the counting step in the proof of Theorem 8 by enumeration.

    .. math:: \sum_{J\in\mathcal I_m}P_J\{S\ne J\}\ \ge\
              \sum_{I\in\mathcal I_{m-1}}\sum_{j\notin I}P_{I\cup\{j\}}\{S=I\cup\{0\}\}

    holds because each J arises from exactly m pairs, whose answers are wrong and distinct.  If half
    of the j of every I satisfy (13), the right-hand side exceeds
    :math:`\binom{n-1}{m-1}\frac{n-m}2\frac{2\delta}m=\delta\binom{n-1}m`.

    Parameters
    ----------
    n : int
        Number of arms; the list has :math:`m\binom{n-1}m` entries, at most 10,000,000.
    m : int
        Arms to select, 1 to n / 2.

    Returns
    -------
    CountingStep
        ``pairs`` = m times ``larger``.

    Notes
    -----
    Kalyanakrishnan et al. (2012), section 4.2.2.

    Examples
    --------
    >>> from topk.lower_bounds import count_pairs
    >>> count_pairs(6, 2)
    CountingStep(pairs=20, larger=10, per_member=(2, 2), disjoint=True)
    """
    if m * math.comb(n - 1, m) > 10**7:
        refuse("n", n, f"small enough for a list of {m} times {n - 1} over {m} pairs")
    answers: dict[frozenset[int], list[frozenset[int]]] = {}
    for members in explore_m_families(n, m, m - 1):
        right = explore_m_optimal(members, m)
        for j in {*range(1, n)} - {*members}:
            answers.setdefault(explore_m_optimal({*members, j}, m), []).append(right)
    counts = [len(found) for found in answers.values()]
    # J and the answers, which are wrong under J, are distinct sets of m arms
    disjoint = all(len({joined, *found}) == len(found) + 1 and {len(each) for each in found} == {m}
                   for joined, found in answers.items())
    larger = sum(1 for _ in explore_m_families(n, m, m))
    return CountingStep(sum(counts), larger, (min(counts), max(counts)), disjoint)


class ExploreMArgument(NamedTuple):
    r"""The quantities of Lemmas 10 to 12 for one choice of the constant C.

    Attributes
    ----------
    log_term : float
        :math:`L=\ln\frac m{8\delta}`.
    horizon : float
        :math:`T^*=\frac{16C}{\epsilon^2}L`: the pulls of an arm j with few expected pulls stay
        below it with probability 3/4.
    deviation : float
        :math:`\Delta^*=2\epsilon T^*+\sqrt{T^*}`, the shortfall of ones of Lemma 10.
    exact_log_ratio : float
        :math:`-4\Delta^*\,\mathrm{artanh}(4\epsilon)`, the smallest log likelihood ratio of a run
        within horizon and deviation if arm j becomes good.
    stated_log_ratio : float
        :math:`-32\epsilon\Delta^*`, Lemma 11's.
    factor : float
        :math:`\frac{8\delta}m=e^{-L}`: Lemma 12 turns probability P into more than
        (P - 1/2) times this.
    holds : bool
        Whether :math:`32\epsilon\Delta^*<L`, which Lemma 12 needs.
    """

    log_term: float
    horizon: float
    deviation: float
    exact_log_ratio: float
    stated_log_ratio: float
    factor: float
    holds: bool


@validated(epsilon=EXPLORE_M_EPSILON, delta=up_to(0.25), constant=above_zero, m=integer(6))
def explore_m_argument(
    m: int, epsilon: float, delta: float, constant: float = PUBLISHED_CONSTANT,
) -> ExploreMArgument:
    r"""Evaluate Lemmas 10 to 12 of the proof of Theorem 8.

    Parameters
    ----------
    m : int
        Arms to select, at least 6.
    epsilon : float
        Tolerance per arm, in (0, sqrt(1/32)].
    delta : float
        In (0, 1/4].
    constant : float
        C in the assumed sample complexity :math:`C\frac n{\epsilon^2}\ln\frac m{8\delta}`.

    Returns
    -------
    ExploreMArgument
        The quantities; the contradiction follows if and only if ``holds``.

    Notes
    -----
    Kalyanakrishnan et al. (2012), Assumption 9, (12), Lemmas 10 to 12.  The displays are
    lost in our copy; these constants are *derived* and pinned by 1/18375.

    Examples
    --------
    >>> from topk.lower_bounds import explore_m_argument
    >>> argument = explore_m_argument(6, 0.1, 0.25)
    >>> argument.holds, round(argument.log_term, 3)
    (True, 1.099)
    """
    log_term = math.log(m / (8 * delta))
    horizon = 16 * constant / epsilon**2 * log_term
    deviation = 2 * epsilon * horizon + math.sqrt(horizon)
    stated = -32 * epsilon * deviation
    exact = -4 * deviation * math.atanh(4 * epsilon)
    factor = math.exp(-log_term)
    return ExploreMArgument(log_term, horizon, deviation, exact, stated, factor, -stated < log_term)


@validated(log_term=above_zero)
def theorem_8_constant(log_term: float = 1.0) -> float:
    r"""The largest C for which Lemma 12 holds.

    The root of :math:`32\epsilon\Delta^*=L`, from which epsilon cancels:

    .. math:: 1024\,C+128\sqrt{C/L}=1,\qquad
              C=\frac L{1024\,(2+\sqrt{4+L})^2},\qquad L=\ln\frac m{8\delta}.

    Parameters
    ----------
    log_term : float
        L, positive; at least ln 3 on the range of the theorem.

    Returns
    -------
    float
        For L = 1, 1 / 18374.93: the published constant 1 / 18375.

    Notes
    -----
    Kalyanakrishnan et al. (2012), Theorem 8.  For L = ln 3, the smallest on its range, the
    same proof gives about 1 / 16900.

    Examples
    --------
    >>> from topk.lower_bounds import theorem_8_constant
    >>> round(1 / theorem_8_constant(), 2)
    18374.93
    """
    return log_term / (1024 * (2 + math.sqrt(4 + log_term)) ** 2)


@validated(n=integer(2), epsilon=below_one, delta=probability, constant=above_zero, m=up_to_half)
def theorem_8_pulls(
    n: int, m: int, epsilon: float, delta: float, constant: float = PUBLISHED_CONSTANT,
) -> float:
    r"""Lower bound on the worst-case sample complexity of every Explore-m algorithm.

    .. math:: C\,\frac n{\epsilon^2}\ln\frac m{8\delta}.

    Parameters
    ----------
    n : int
        Number of arms, at least 2 m.
    m, epsilon, delta
        As in `explore_m_argument`.
    constant : float
        C; published 1 / 18375.

    Returns
    -------
    float
        Pulls.

    See Also
    --------
    theorem_8_constant : the largest constant.
    theorem_5_5_pulls : the bound for an average regret.

    Notes
    -----
    Constant published: Kalyanakrishnan et al. (2012), Theorem 8.

    Examples
    --------
    >>> from topk.lower_bounds import theorem_8_pulls
    >>> round(theorem_8_pulls(1000, 100, 0.1, 0.1), 1)
    26.3
    """
    log_term = explore_m_argument(m, epsilon, delta, constant).log_term
    return constant * n / epsilon**2 * log_term


@validated(epsilon=EXPLORE_M_EPSILON, horizon=_horizon)
def lemma_10_probability(horizon: int, epsilon: float) -> float:
    r"""Exact probability that the ones of an arm fall short of their mean within the horizon.

    .. math:: \Pr\Bigl\{\min_{t\le T^*}\bigl(K(t)-t(\tfrac12-2\epsilon)\bigr)
              \le-\sqrt{T^*}\Bigr\}\le\tfrac14,

    where K(t) counts the ones in t pulls of an arm of mean :math:`\frac12-2\epsilon`.  The
    event of Lemma 10 is contained in it, since there
    :math:`K\le\frac T2-\Delta^*\le T(\frac12-2\epsilon)-\sqrt{T^*}`.

    Parameters
    ----------
    horizon : int
        :math:`T^*`, from 1 to 100,000; the time grows with its square.
    epsilon : float
        Tolerance per arm, in (0, sqrt(1/32)].

    Returns
    -------
    float
        The probability; at most 1/4 by Kolmogorov's inequality, the variance :math:`T^*/4` over
        :math:`T^*`.

    Notes
    -----
    Kalyanakrishnan et al. (2012), Lemma 10; the exact value, computed from the distribution of K(t)
    with an absorbing barrier, is ours.

    Examples
    --------
    >>> from topk.lower_bounds import lemma_10_probability
    >>> round(lemma_10_probability(100, 0.05), 4)
    0.0378
    """
    mean = 0.5 - 2 * epsilon
    law, hit = np.ones(1), 0.0
    for t in range(1, horizon + 1):
        law = np.convolve(law, [1 - mean, mean])
        short = np.arange(law.size) - t * mean <= -math.sqrt(horizon)
        hit += law[short].sum()
        law[short] = 0.0
    return float(hit)
