r"""Anytime-valid intervals and evidence for a finite test set, drawn without replacement.

An arm has N results, of which k are ones, in a uniformly random order.  The first t results, with S
ones, are one particular 0/1 sequence, whose probability is

.. math:: P_k = \frac{(k)_S\,(N-k)_{t-S}}{(N)_t}, \qquad (x)_j = x(x-1)\cdots(x-j+1). \tag{1}

Let KT be the probability of the same sequence under the mixture of Krichevsky and Trofimov (1981),
:math:`\mathrm{KT} = \Gamma(S+\frac12)\Gamma(t-S+\frac12)/(\pi\,t!)`.  With probability
:math:`1-\delta` the true k always satisfies

.. math:: P_k \geq \delta\,\mathrm{KT} \tag{2}

(such prior-posterior ratios are used by Waudby-Smith and Ramdas 2020).  These k are consecutive,
and around the maximum of :math:`P_k`, at :math:`\lfloor S(N+1)/t \rfloor`.  At t = N only k = S
remains.

**One-sided bounds** (see `topk.confidence.sides`).  KT is the average of the :math:`P_k` with the
weights :math:`w_k = \Gamma(k+\frac12)\Gamma(N-k+\frac12)/(\pi\,k!\,(N-k)!)`; let :math:`B_k` be the
sum of the weights below k.  With probability :math:`1-\alpha` the true k is never above the maximum
with

.. math:: \mathrm{KT}/P_k > 1 + B_k\Big(\frac1\alpha - 1\Big). \tag{3}

The largest k that remains with 1 in place of :math:`B_k` is :math:`U_0`; with :math:`B_{U_i}`,
which is at least :math:`B_k` for all :math:`k \leq U_i`, it is :math:`U_{i+1}`.  The bound is
:math:`U_2`; the lower bound is the mirror image.

The arms may be dependent: they may have a common order or separate ones, since each arm's interval
depends only on the distribution of its own order.

The chapter "KL-LUCB on a finite test set: sampling without replacement" proves (2) and (3).
"""

import math
from functools import lru_cache
from typing import Any

import numpy as np

from topk._checks import check_integer, refuse
from topk._types import Floats, Integers
from topk.confidence.sides import Ends

MAX_ITEMS = 10**6  # maximum number of items, limited by the size of the tables
SIDE_STEPS = 2  # improvements of a one-sided bound, as in `topk.confidence.kl`
ROUNDING = 4e-15  # relative to ln N!, larger than rounding errors of a log likelihood


def check_items(items: Any) -> int:
    """Return a checked number of items, 1 to ``MAX_ITEMS``."""
    return check_integer(items, "items", 1, MAX_ITEMS)


@lru_cache(maxsize=8)
def log_tables(items):
    """Return ln(j!) and ln Gamma(j + 1/2) for j = 0 to ``items``, (items + 1,) each."""
    from scipy.special import gammaln

    integers = np.arange(items + 1.0)
    return gammaln(integers + 1), gammaln(integers + 0.5)


def log_likelihood(k, t, ones, items, log_factorials):
    """Return ln P_k for k from ``ones`` to ``items - (t - ones)``; for numbers or arrays."""
    wrong, f = items - k, log_factorials
    found = f[k] - f[k - ones] + f[wrong] - f[wrong - (t - ones)]
    return found - (f[items] - f[items - t])


def log_mixture(t, ones, log_factorials, log_halves):
    """Return ln KT; for numbers or arrays."""
    return log_halves[ones] + log_halves[t - ones] - log_factorials[t] - math.log(math.pi)


def item_range(t, ones, items, log_delta, log_factorials, log_halves):
    """Return the smallest and the largest k with P_k >= delta KT, as numbers."""
    threshold = log_mixture(t, ones, log_factorials, log_halves) + log_delta
    threshold -= ROUNDING * (1 + log_factorials[items])  # rounded outwards
    low = likely_low(t, ones, items, threshold, log_factorials)
    return low, likely_high(t, ones, items, threshold, log_factorials)


def likely_low(t, ones, items, threshold, log_factorials):
    """Return the smallest k with ln P_k >= threshold, as a number.

    The likelihood increases up to the mode and then decreases: bisection finds each end.
    """
    outside, low = ones - 1, mode(t, ones, items)
    while low - outside > 1:
        middle = (outside + low) // 2
        if log_likelihood(middle, t, ones, items, log_factorials) >= threshold:
            low = middle
        else:
            outside = middle
    return low


def likely_high(t, ones, items, threshold, log_factorials):
    """Return the largest k with ln P_k >= threshold, as a number."""
    outside, high = items - (t - ones) + 1, mode(t, ones, items)
    while outside - high > 1:
        middle = (outside + high) // 2
        if log_likelihood(middle, t, ones, items, log_factorials) >= threshold:
            high = middle
        else:
            outside = middle
    return high


def mode(t, ones, items):
    """Return the k with the largest likelihood, as a number."""
    return min(max(ones * (items + 1) // max(t, 1), ones), items - (t - ones))


@lru_cache(maxsize=8)
def prior_below(items):
    """Return the sum of the weights of all numbers of ones below k, for k = 0 to items + 1."""
    log_factorials, log_halves = log_tables(items)
    half = log_halves - log_factorials
    weights = np.exp(half + half[::-1] - math.log(math.pi))
    return np.append(0.0, np.cumsum(weights))


def side_low(t, ones, items, level, log_factorials, log_halves, prior):
    """Return the one-sided lower bound on the number of ones, as a number.

    Parameters
    ----------
    level : float
        ln(1/alpha).
    prior : ndarray of float, shape (items + 2,)
        See `prior_below`.
    """
    rounding = ROUNDING * (1 + log_factorials[items])
    mixed = log_mixture(t, ones, log_factorials, log_halves) - rounding
    low, share = ones, 1.0
    for _ in range(SIDE_STEPS + 1):
        low = likely_low(t, ones, items, mixed - needed(level, share), log_factorials)
        share = min(prior[items - low] * (1 + rounding), 1.0)
    return low


def side_high(t, ones, items, level, log_factorials, log_halves, prior):
    """Return the one-sided upper bound on the number of ones; see `side_low`."""
    rounding = ROUNDING * (1 + log_factorials[items])
    mixed = log_mixture(t, ones, log_factorials, log_halves) - rounding
    high, share = ones, 1.0
    for _ in range(SIDE_STEPS + 1):
        high = likely_high(t, ones, items, mixed - needed(level, share), log_factorials)
        share = min(prior[high] * (1 + rounding), 1.0)
    return high


def needed(level, share):
    """Return ln(1 + share (e^level - 1))."""
    return level + math.log(share + (1 - share) * math.exp(-level))


def side_ends(pulls: Integers, sums: Integers, items: int) -> Ends:
    """Return the `topk.confidence.sides.Ends` of arms, in whole items, as floats."""
    tables = [memoryview(x) for x in (*log_tables(items), prior_below(items))]  # read as floats

    def end(t, ones, level, lower):
        return (side_low if lower else side_high)(t, ones, items, level, *tables)

    each = np.vectorize(end, otypes=[float])
    return Ends(
        pulls.size,
        lambda arms, levels: each(pulls[arms], sums[arms], levels, True),
        lambda arms, levels: each(pulls[arms], sums[arms], levels, False),
    )


def interval(
    pulls: Integers, sums: Integers, items: int, delta: float,
) -> tuple[Integers, Integers]:
    """Return the smallest and the largest number of ones that are likely, for arrays.

    Parameters
    ----------
    pulls, sums : ndarray of int64, of one shape
        Number of results of each arm, 0 to ``items``, and the number of ones among them.
    items : int
        N.
    delta : float
        In (0, 1).

    Returns
    -------
    low, high : ndarray of int64
        The ends of (2).
    """
    tables, log_delta = [memoryview(x) for x in log_tables(items)], math.log(delta)

    def ends(t, ones):
        return item_range(t, ones, items, log_delta, *tables)

    return np.vectorize(ends, otypes=[np.int64] * 2)(pulls, sums)


def tolerated_items(epsilon: float, items: int) -> int:
    """Return epsilon N rounded down to whole items, with an allowance for rounding errors."""
    return math.floor(epsilon * items + 1e-9)


def evidence(
    pulls: Integers, sums: Integers, chosen: Integers, others: Integers, epsilon: float, items: int,
) -> float:
    r"""Return the smallest delta with U_b <= L_a + epsilon N for all chosen a and all other b.

    Parameters
    ----------
    pulls, sums : ndarray of int64, shape (n,)
        Number of results of each arm, and the number of ones among them.
    chosen, others : ndarray of int64
        The arms in the set, and the remaining arms outside.
    epsilon : float
        In [0, 1).
    items : int
        N.

    Returns
    -------
    float
        The evidence, at most 1; U and L are the ends at level delta / n.

    Notes
    -----
    Let :math:`e = \lfloor \epsilon N \rfloor`.  The condition fails at the level :math:`\delta` if
    and only if for some x some a has :math:`L_a \leq x` and some b has :math:`U_b > x + e`.  Now
    :math:`L_a \leq x` holds if and only if :math:`\delta/n` is at most the maximum of
    :math:`P_k/\mathrm{KT}` of a over :math:`k \leq x`, and similarly for U.  The smallest delta is
    thus n times the maximum over x of the minimum of the two.  If the set is wrong,
    :math:`k_b > k_a + e` for some a and b, and at :math:`x = k_a` one of the two ratios, at the
    true values, is at most the evidence divided by n.  By Ville's inequality and a union bound over
    n arms, the probability that the evidence is ever at most delta is at most delta.
    """
    log_factorials, log_halves = log_tables(items)

    def ratios(arm):
        """Return ln(P_k / KT) for k = 0 to N; minus infinity for impossible k."""
        t, ones = int(pulls[arm]), int(sums[arm])
        found, k = np.full(items + 1, -np.inf), np.arange(ones, items - (t - ones) + 1)
        found[k] = log_likelihood(k, t, ones, items, log_factorials)
        return found - log_mixture(t, ones, log_factorials, log_halves)

    inside, outside = np.full((2, items + 1), -np.inf)
    for arm in chosen:
        inside = np.maximum(inside, ratios(arm))
    for arm in others:
        outside = np.maximum(outside, ratios(arm))
    low = np.maximum.accumulate(inside)  # over k up to x
    high = np.maximum.accumulate(outside[::-1])[::-1]  # over k from x on
    beyond = tolerated_items(epsilon, items) + 1
    worst = np.minimum(low[: items + 1 - beyond], high[beyond:]).max(initial=-np.inf)
    worst += ROUNDING * (1 + log_factorials[items])  # rounded like the intervals
    return float(min(1.0, pulls.size * math.exp(min(worst, 0.0))))


def check_results(pulls: Floats, sums: Floats, items: int) -> tuple[Integers, Integers]:
    """Return pulls and sums of 0/1 results as int64 arrays, or refuse them by name."""
    allowed = f"whole numbers from 0 to the pulls, which are at most items = {items}"
    if (pulls > items).any():
        refuse("pulls", pulls[pulls > items][0].item(), f"at most items = {items}")
    if (sums != np.floor(sums)).any():
        refuse("sums", sums[sums != np.floor(sums)][0].item(), allowed)
    return pulls.astype(np.int64), sums.astype(np.int64)
