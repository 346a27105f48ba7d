r"""Results of a finite test set, drawn without replacement: intervals and evidence at all times.

An arm has N items, of which k are right, and they come in a uniformly random order.  The first t
results, S of them right, are one particular 0/1 sequence, whose probability is

.. math:: P_k = \frac{(k)_S\,(N-k)_{t-S}}{(N)_t}, \qquad (x)_j = x(x-1)\cdots(x-j+1).

Let KT be the probability of the same sequence under the mixture of Krichevsky and Trofimov (1981),
:math:`\mathrm{KT} = \Gamma(S+\frac12)\Gamma(t-S+\frac12)/(\pi\,t!)`.  It is a distribution of
infinite sequences, so given what was seen the mean of the next :math:`\mathrm{KT}/P_k` is the sum
of KT over the results that are possible, divided by the present :math:`P_k`, and that is at most
the present ratio: a non-negative supermartingale that begins at 1.  By Ville's inequality it ever
reaches :math:`1/\delta` with probability at most :math:`\delta`.  So with probability
:math:`1-\delta` the true k is at all times among those with :math:`P_k \geq \delta\,\mathrm{KT}`
(Waudby-Smith and Ramdas 2020 have such prior-posterior ratios).

These k are neighbours: :math:`\ln P_k` is concave, as sums of logarithms of :math:`k-i` and
:math:`N-k-i` are.  :math:`P_{k+1} \geq P_k` if and only if :math:`k + 1 \leq S(N+1)/t`, so the
largest is at :math:`\lfloor S(N+1)/t \rfloor`; it is among them, for KT is a mean of the
:math:`P_k`.  At t = N only k = S is left.

Nothing is said of how arms depend on each other: two may have one order or each its own, since each
arm's interval is about its own order alone.
"""

import math
from functools import lru_cache
from typing import Any

import numpy as np

from topk._checks import check_integer, refuse
from topk._types import Floats, Integers

MOST = 10**6  # items: tables of so many numbers are at hand at once
ROUNDING = 4e-15  # of ln N!, more than the logarithms of a likelihood are wrong by


def check_items(items: Any, name: str = "items") -> int:
    """Return a number of items, 1 to ``MOST``."""
    return check_integer(items, name, 1, MOST)


@lru_cache(maxsize=8)
def tables(items):
    """Return ln(j!) and ln Gamma(j + 1/2) for j = 0 to ``items``, (items + 1,) each."""
    from scipy.special import gammaln

    whole = np.arange(items + 1.0)
    return gammaln(whole + 1), gammaln(whole + 0.5)


def log_likelihood(k, t, ones, items, log_factorials):
    """Return ln P_k of k from ``ones`` to ``items - (t - ones)``; of numbers or of arrays."""
    wrong, f = items - k, log_factorials
    found = f[k] - f[k - ones] + f[wrong] - f[wrong - (t - ones)]
    return found - (f[items] - f[items - t])


def log_mixture(t, ones, log_factorials, log_halves):
    """Return ln KT; of numbers or of arrays."""
    return log_halves[ones] + log_halves[t - ones] - log_factorials[t] - math.log(math.pi)


def ends(t, ones, items, log_delta, log_factorials, log_halves):
    """Return the least and the largest k with P_k >= delta KT, as numbers; see `interval`.

    The likelihood grows up to the mode and falls from there: each end is found by bisection.
    """
    least = log_mixture(t, ones, log_factorials, log_halves) + log_delta
    least -= ROUNDING * (1 + log_factorials[items])  # rounded outwards
    first, last = ones, items - (t - ones)
    mode = min(max(ones * (items + 1) // max(t, 1), first), last)
    outside, low = first - 1, mode
    while low - outside > 1:
        middle = (outside + low) // 2
        if log_likelihood(middle, t, ones, items, log_factorials) >= least:
            low = middle
        else:
            outside = middle
    outside, high = last + 1, mode
    while outside - high > 1:
        middle = (outside + high) // 2
        if log_likelihood(middle, t, ones, items, log_factorials) >= least:
            high = middle
        else:
            outside = middle
    return low, high


def interval(
    pulls: Integers, sums: Integers, items: int, delta: float,
) -> tuple[Integers, Integers]:
    """Return what `ends` does, of arrays of int64; see `topk.confidence.interval`.

    Parameters
    ----------
    pulls, sums : ndarray of int64, of one shape
        Results of each arm, 0 to ``items``, and how many of them are right.
    items : int
        N.
    delta : float
        In (0, 1).

    Returns
    -------
    low, high : ndarray of int64
        The least and the largest number of right results among all N.
    """
    log_factorials, log_halves = tables(items)
    least = log_mixture(pulls, sums, log_factorials, log_halves) + math.log(delta)
    least -= ROUNDING * (1 + log_factorials[items])
    first, last = sums, items - (pulls - sums)
    mode = np.clip(sums * (items + 1) // np.maximum(pulls, 1), first, last)

    def fits(k):
        return log_likelihood(k, pulls, sums, items, log_factorials) >= least

    outside, low = first - 1, mode
    while (low - outside > 1).any():
        middle = (outside + low + 1) // 2  # at the end it is ``low``, which stays
        inside = fits(middle)
        outside, low = np.where(inside, outside, middle), np.where(inside, middle, low)
    outside, high = last + 1, mode
    while (outside - high > 1).any():
        middle = (outside + high) // 2
        inside = fits(middle)
        outside, high = np.where(inside, outside, middle), np.where(inside, middle, high)
    return np.asarray(low), np.asarray(high)


def spare(epsilon: float, items: int) -> int:
    """Return epsilon N rounded down to whole items, past what a float lacks of a whole number."""
    return math.floor(epsilon * items + 1e-9)


def evidence(
    pulls: Integers, sums: Integers, chosen: Integers, others: Integers, epsilon: float, items: int,
) -> float:
    r"""Return the least delta with U_b <= L_a + epsilon N for all a chosen and all b not.

    Parameters
    ----------
    pulls, sums : ndarray of int64, shape (n,)
        Results of each arm, and how many of them are right.
    chosen, others : ndarray of int64
        The arms of the set, and those that are left outside.
    epsilon : float
        In [0, 1).
    items : int
        N.

    Returns
    -------
    float
        At most 1; U and L are the ends at the level delta / n.

    Notes
    -----
    Let :math:`e = \lfloor \epsilon N \rfloor`.  The condition fails at the level :math:`\delta` if
    and only if for some x an a has :math:`L_a \leq x` and a b has :math:`U_b > x + e`.  Now
    :math:`L_a \leq x` holds as long as :math:`\delta/n` is at most the largest
    :math:`P_k/\mathrm{KT}` of a over :math:`k \leq x`, and in the same way for U: so the least
    delta is n times the largest over x of the smaller of the two.  If the set is wrong, some a and
    b have :math:`k_b > k_a + e`, and at :math:`x = k_a` one of both ratios, at the true values, is
    at most the evidence divided by n.  By Ville's inequality and n arms an evidence of delta or
    less then has probability at most delta.
    """
    log_factorials, log_halves = tables(items)

    def ratios(arm):
        """Return ln(P_k / KT) of k = 0 to N; minus infinity where k cannot be."""
        t, ones = int(pulls[arm]), int(sums[arm])
        found, k = np.full(items + 1, -np.inf), np.arange(ones, items - (t - ones) + 1)
        found[k] = log_likelihood(k, t, ones, items, log_factorials)
        return found - log_mixture(t, ones, log_factorials, log_halves)

    inside, outside = np.full((2, items + 1), -np.inf)
    for arm in chosen:
        inside = np.maximum(inside, ratios(arm))
    for arm in others:
        outside = np.maximum(outside, ratios(arm))
    low = np.maximum.accumulate(inside)  # of the k up to x
    high = np.maximum.accumulate(outside[::-1])[::-1]  # of the k from x on
    beyond = spare(epsilon, items) + 1
    worst = np.minimum(low[: items + 1 - beyond], high[beyond:]).max(initial=-np.inf)
    worst += ROUNDING * (1 + log_factorials[items])  # as the intervals are rounded
    return float(min(1.0, pulls.size * math.exp(min(worst, 0.0))))


def checked(pulls: Floats, sums: Floats, items: int) -> tuple[Integers, Integers]:
    """Return pulls and sums of 0/1 results as int64 arrays, or refuse them by name."""
    allowed = f"whole numbers from 0 to the pulls, which are at most items = {items}"
    if (pulls > items).any():
        refuse("pulls", pulls[pulls > items][0].item(), f"at most items = {items}")
    if (sums != np.floor(sums)).any():
        refuse("sums", sums[sums != np.floor(sums)][0].item(), allowed)
    return pulls.astype(np.int64), sums.astype(np.int64)
