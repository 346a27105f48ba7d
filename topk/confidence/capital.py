r"""One-sided bounds from the exact capital of bets, for rewards in [0, 1].

For :math:`c > 0` the capital of the bet with the odds c m on a mean above m (see
`topk.confidence.betting`) is, after u rewards,

.. math:: K_c(m) = \prod_i\frac{1 + c\,x_i}{1 + c\,m} = \frac{P_c}{(1 + c\,m)^u}, \qquad
   P_c = \prod_i (1 + c\,x_i), \tag{1}

and :math:`\bar P_c` is the product for the rewards 1 - x.  A product does not depend on the order
of the rewards, and the products of two studies multiply.  With the 30 odds :math:`c_j = 2^{20-j}`,
j = 0, ..., 29, let

.. math:: W(m) = \tfrac12\,\mathrm{KT}^+(m) + \tfrac12\sum_j \tfrac1{30}\,K_{c_j}(m),
   \qquad \mathrm{KT}^+ = \frac{\mathrm{KT}/L - F}{1 - F} \ \text{where this is positive}, \tag{2}

with KT, L and F of `topk.confidence.sides`.  Every m up to the empirical mean at which some terms
of W sum to :math:`1/\beta` is a lower bound at level :math:`\beta`; the upper bound is the mirror
image.  The bounds lie inside those of `topk.confidence.sides` at half of the level.

A rule sums the largest terms only, evidence and reports sum all of them: these bounds lie inside
those of the rule, so that evidence is at most delta when a rule stops.

The bound from count, sum and squares in `topk.confidence.betting` is, for each c, the least capital
that these three numbers allow: it gives away what the products keep, most where the standard
deviation is 0.05 to 0.1.

**Sums.**  A batch of rewards told as a sum S with the sum of squares Q multiplies :math:`P_c` by
:math:`(1 + c\,r)^{S/r}`, r = Q/S, which is at most its true factor, by (1) of
`topk.confidence.betting`.

**Numerics.**  A product is a mantissa and a power of :math:`2^{512}`.  Each factor and each
multiplication together have a relative error of at most :math:`2^{-51}`, so the error of
:math:`\ln P_c` is at most :math:`u\,2^{-51}`, whatever c: :math:`u\,2^{-46}` is deducted, which
covers the other terms too.  (A sum of logarithms would lose more, since its rounding grows with the
sum.)

The chapter "BettingLUCB: confidence intervals for any bounded reward" has the proofs.
"""

import math

import numpy as np

from topk._marks import apart
from topk.confidence.betting import DEVIATION_SLACK, MIN_SUM, UNDERFLOW, mean_and_variance
from topk.confidence.kl import mixture_cost_scalar
from topk.confidence.sides import Ends

COUNT, HIGHEST = 30, 20  # number of odds c; the largest is 2**20
TERMS, FALL = 12, 6.0  # most odds that a rule uses for one bound, and see `choose_terms`
LOG_WEIGHT = math.log(COUNT)
BIG, SMALL, LOG_BIG = 2.0**512, 2.0**-512, 512 * math.log(2.0)
ROUNDING = 2.0**-46  # deducted from ln P, for each reward
BATCH_ROUNDING = 1 - 2.0**-50  # factor of the logarithm of a batch's product
LOG_2, LOG_4 = math.log(2.0), math.log(4.0)
FARTHEST = 200.0  # largest s; means exp(-200) times as large are treated as 0
ACCEPTED = 1e-4  # distance above the level at which a rule's search ends, and ...
PRECISION = 1e-9  # ... that of other searches, which is increased by the rounding error
ODDS = 2.0 ** np.arange(HIGHEST, HIGHEST - COUNT, -1)


@apart
def multiply(mantissas, exponents, arm, count, total, squares):
    """Multiply the products of an arm by those of ``count`` rewards with a sum and squares.

    A single reward whose squares are larger than its square stands for an imagined one.

    Parameters
    ----------
    mantissas, exponents : ndarray, shape (n, 60)
        The products are ``mantissas * BIG**exponents``, of `COUNT` odds on larger means, then on
        smaller ones.  A mantissa of 0 stands for a product of 1, as in a new state.
    """
    if count == 1 and squares <= total * total:
        multiply_one(mantissas, exponents, arm, 0, total)
        multiply_one(mantissas, exponents, arm, COUNT, 1 - total)
    elif count > 0:
        rest = count - total
        others = max(count - 2 * total + squares + DEVIATION_SLACK * count, rest * rest / count)
        largest = max(squares * (1 + DEVIATION_SLACK), total * total / count)
        multiply_batch(mantissas, exponents, arm, 0, total, largest)
        multiply_batch(mantissas, exponents, arm, COUNT, rest, others)


def multiply_one(mantissas, exponents, arm, first, reward):
    """Multiply the products from place ``first`` on by those of one reward."""
    c = 2.0**HIGHEST
    for j in range(first, first + COUNT):
        product = (mantissas[arm, j] or 1.0) * (1 + c * reward)
        if product > BIG:
            product *= SMALL
            exponents[arm, j] += 1
        mantissas[arm, j] = product
        c /= 2


def multiply_batch(mantissas, exponents, arm, first, total, squares):
    """Multiply the products from place ``first`` on by those of rewards with a sum and squares."""
    if total <= MIN_SUM:
        return
    reward = min((squares + UNDERFLOW) / total, 1.0)
    c = 2.0**HIGHEST
    for j in range(first, first + COUNT):
        log = total / reward * math.log1p(c * reward) * BATCH_ROUNDING
        multiply_by_log(mantissas, exponents, arm, j, log)
        c /= 2


def multiply_by_log(mantissas, exponents, arm, j, log):
    """Multiply a product by exp(log), log >= 0."""
    powers = math.floor(log / LOG_BIG)
    product = (mantissas[arm, j] or 1.0) * math.exp(log - powers * LOG_BIG)
    if product > BIG:
        product *= SMALL
        powers += 1
    mantissas[arm, j] = product
    exponents[arm, j] += powers


@apart
def capital_low(u, ones, squares, mantissas, exponents, arm, level, terms):
    """Return the lower bound of an arm with u >= 1 rewards at level ln(1/beta), numbers.

    The variance only guides the search, so the bound is valid whatever it is.  ``terms`` (30,) is
    overwritten.
    """
    if ones <= MIN_SUM:
        return 0.0
    mean, other, variance = mean_and_variance(u, ones, squares)
    spread, cost = variance / mean / mean, mixture_cost_scalar(u, ones)
    s = capital_log_ratio(u, mean, other, spread, cost, mantissas, exponents, arm, 0, level, terms)
    return mean * math.exp(-s) if s < FARTHEST else 0.0


@apart
def capital_high(u, ones, squares, mantissas, exponents, arm, level, terms):
    """Return the upper bound of an arm at level ln(1/alpha); see `capital_low`."""
    if u - ones <= MIN_SUM:
        return 1.0
    mean, other, variance = mean_and_variance(u, ones, squares)
    spread, cost = variance / other / other, mixture_cost_scalar(u, ones)
    s = capital_log_ratio(
        u, other, mean, spread, cost, mantissas, exponents, arm, COUNT, level, terms
    )
    return mean - other * math.expm1(-s) if s < FARTHEST else 1.0


def capital_log_ratio(u, mean, other, spread, cost, mantissas, exponents, arm, first, level, terms):
    """Return s such that terms of W reach exp(level) at mean exp(-s); `FARTHEST` if none is found.

    ``terms`` (30,) is overwritten.  The result depends on the arm's state only, not on ``terms``.
    """
    s = guess(u, spread, level)
    start, end = choose_terms(u, mean, spread, mantissas, exponents, arm, first, s, terms)
    return reaching(u, mean, other, cost, start, end, s, level, terms, ACCEPTED, True)


def guess(u, spread, level):
    """Return about the s at which the best odds reach the level, by the first two moments."""
    return math.sqrt(2 * (level + 3) * spread / u) + (level + 3) / u / 2


def reaching(u, mean, other, cost, start, end, s, level, terms, accepted, one_sided):
    """Return s such that terms of W exceed level by less than ``accepted``, starting from s.

    It is a larger s, up to `FARTHEST`, if none is found.
    """
    near, far = 0.0, FARTHEST
    for _ in range(100):  # Newton's method within a bracket
        reached, slope = log_capital(u, mean, other, cost, start, end, s, terms, one_sided)
        excess = reached - level
        if 0 <= excess < accepted:
            return s
        if excess < 0:
            near = s
        else:
            far = s
        s -= (excess - accepted / 2) / slope
        if not near < s < far:
            s = (near + far) / 2 if far < FARTHEST else min(2 * near, FARTHEST)
        if far - near <= 1e-14 * far:
            break
    return far


def choose_terms(u, mean, spread, mantissas, exponents, arm, first, s, terms):
    """Choose the odds whose capital at mean exp(-s) is the largest, and write their ln P.

    The capital has one maximum as a function of c.  From near it, the two sides are followed until
    the capital is less than exp(-`FALL`) of the maximum.
    """
    lost, m = -math.expm1(-s), mean * math.exp(-s)
    better = spread * mean + lost * (mean * lost - m)  # the best c, by the first two moments
    odds = lost / better if better > 0 else 2.0**HIGHEST
    best = int(min(max(HIGHEST - math.log2(odds), 0.0), COUNT - 1.0))
    found = write_term(u, m, mantissas, exponents, arm, first, best, terms)
    for step in (-1, 1):
        while 0 <= best + step < COUNT:
            other = write_term(u, m, mantissas, exponents, arm, first, best + step, terms)
            if other <= found:
                break
            best, found = best + step, other
    start, end = best, best + 1
    while start > 0 and end - start < TERMS:
        if write_term(u, m, mantissas, exponents, arm, first, start - 1, terms) < found - FALL:
            break
        start -= 1
    while end < COUNT and end - start < TERMS:
        if write_term(u, m, mantissas, exponents, arm, first, end, terms) < found - FALL:
            break
        end += 1
    return start, end


def write_term(u, m, mantissas, exponents, arm, first, j, terms):
    """Write ln P of one of the odds into ``terms``; return the log capital at m."""
    terms[j] = math.log(mantissas[arm, first + j] or 1.0) + LOG_BIG * exponents[arm, first + j]
    return terms[j] - u * math.log1p(2.0 ** (HIGHEST - j) * m)


def log_capital(u, mean, other, cost, start, end, s, terms, one_sided):
    """Return the logarithm of terms of W at mean exp(-s), and its derivative in s.

    W is (2), or if it is not ``one_sided`` the part of (2) of `topk.confidence.betting` that bets
    on a larger mean, with these odds.
    """
    m, down = mean * math.exp(-s), -mean * math.expm1(-s)
    mixed = mean * s - (other * math.log1p(down / other) if other > MIN_SUM else 0.0)
    mixed = u * mixed - cost
    top, total, slope = -1e300, 0.0, 0.0
    below = 2 / math.pi * math.atan2(math.sqrt(m), math.sqrt(other + down)) if one_sided else 0.0
    kept = 1 - math.exp(-mixed) * below if mixed > -40 else 0.0
    if kept > 0:
        top = mixed + math.log(kept / (1 - below)) - LOG_2
        total, slope = 1.0, u * down / (other + down) / kept
    odds = 2.0 ** (HIGHEST - start)
    fixed = LOG_WEIGHT + (LOG_2 if one_sided else LOG_4) + u * ROUNDING
    for j in range(start, end):
        log_term = terms[j] - u * math.log1p(odds * m) - fixed
        own = u * odds * m / (1 + odds * m)
        if log_term > top:
            ratio = math.exp(top - log_term)
            total, slope, top = total * ratio + 1, slope * ratio + own, log_term
        elif log_term > top - 20:
            ratio = math.exp(log_term - top)
            total, slope = total + ratio, slope + ratio * own
        odds /= 2
    return top + math.log(total), slope / total


def log_products(mantissas, exponents):
    """Return ln P for arrays of mantissas and exponents, of one shape."""
    return np.log(np.where(mantissas == 0, 1.0, mantissas)) + LOG_BIG * exponents


def multiply_arms(own, own_exponents, arms, mantissas, exponents):
    """Multiply the products of different arms by others, shape (m, 60) each, in place."""
    first, second = (np.where(x == 0, 1.0, x) for x in (own[arms], mantissas))
    found = first * 2.0**-256 * (second * 2.0**-256)  # neither overflows
    small = found < 1
    own[arms] = found * np.where(small, BIG, 1.0)
    own_exponents[arms] += exponents + ~small


def has_products(seen):
    """Return whether a rule, given its state, uses products."""
    return getattr(seen, "mantissas", np.zeros(0)).size > 0


class Products:
    """The products of the rewards of some arms, outside a rule's state.

    Attributes
    ----------
    rows : dict of int to tuple of ndarray
        Mantissas and exponents of an arm, shape (60,) each, see `multiply`.  They are replaced and
        never changed, so that a copy shares them.
    """

    def __init__(self):
        self.rows = {}

    def add(self, arms, counts, sums, squares):
        """Multiply by the products of results, shape (m,) each; an arm may occur several times."""
        for arm, *result in zip(arms, counts, sums, squares, strict=True):
            mantissas, exponents = (row.reshape(1, -1).copy() for row in self.row(arm))
            multiply(mantissas, exponents, 0, *result)
            self.rows[int(arm)] = mantissas[0], exponents[0]

    def row(self, arm):
        """Return mantissas and exponents of an arm."""
        return self.rows.get(int(arm)) or (np.zeros(2 * COUNT), np.zeros(2 * COUNT, dtype=np.int64))

    def copy(self):
        """Return a copy."""
        other = Products()
        other.rows = dict(self.rows)
        return other

    def of(self, arms):
        """Return mantissas and exponents of some arms, (m, 60) each."""
        found = np.zeros((len(arms), 2 * COUNT)), np.zeros((len(arms), 2 * COUNT), dtype=np.int64)
        for place, arm in enumerate(arms):
            found[0][place], found[1][place] = self.row(arm)
        return found

    def taken(self, arms):
        """Return mantissas and exponents of some arms, (m, 60) each, and set them to 1."""
        found = self.of(arms)
        for arm in arms:
            self.rows.pop(int(arm), None)
        return found

    def dump(self):
        """Return the products as JSON values."""
        return [[arm, *(part.tolist() for part in self.rows[arm])] for arm in sorted(self.rows)]

    def load(self, stored):
        """Restore stored products."""
        for arm, mantissas, exponents in stored:
            self.rows[arm] = np.array(mantissas), np.array(exponents, dtype=np.int64)


def batch_log_products(pulls, sums, squares):
    """Return lower bounds (n, 60) on ln P of arms that are given as one batch each, (n,)."""
    found = Products()
    found.add(range(pulls.size), pulls, sums, squares)
    return log_products(*found.of(range(pulls.size)))


def capital_ends(pulls, sums, logs):
    """Return the `topk.confidence.sides.Ends` of arms, from all terms of W.

    Parameters
    ----------
    pulls, sums : ndarray of float, shape (n,)
    logs : ndarray of float, shape (n, 60)
        See `log_products`.
    """
    return ends_of_all_terms(pulls, sums, logs, one_sided=True)


def capital_interval(pulls, sums, logs, level):
    """Return a two-sided interval for each arm at delta = exp(-level), (n,) each.

    It is that of `topk.confidence.betting`, (2), with the exact capital of these bets.
    """
    return ends_of_all_terms(pulls, sums, logs, one_sided=False)(level, level)


def ends_of_all_terms(pulls, sums, logs, one_sided):
    """Return the `Ends` of arms for `capital_ends`, or for `capital_interval`."""
    seen, ones, zeros = pulls.tolist(), sums.tolist(), (pulls - sums).tolist()  # of plain floats
    rows = logs.reshape(-1, 2, COUNT).tolist()

    def low(arm, level):
        return lowest(seen[arm], ones[arm], rows[arm][0], level, one_sided)

    def high(arm, level):
        return 1 - lowest(seen[arm], zeros[arm], rows[arm][1], level, one_sided)

    return Ends(pulls.size, *(np.vectorize(end, otypes=[float]) for end in (low, high)))


def lowest(u, ones, terms, level, one_sided):
    """Return the largest mean below ones / u at which all terms of W reach exp(level)."""
    if ones <= MIN_SUM:
        return 0.0
    c = 2.0 ** (HIGHEST - COUNT + 1)
    squares = max(2 * (c * ones - terms[-1]) / c**2, 0.0)  # nearly: ln P_c = c S - c**2 Q/2 + ...
    mean, other, variance = mean_and_variance(u, ones, squares)  # which only guides the search
    s, cost = guess(u, variance / mean / mean, level), mixture_cost_scalar(u, ones)
    s, accepted = min(s, FARTHEST / 2), PRECISION + u * ROUNDING / 4
    s = reaching(u, mean, other, cost, 0, COUNT, s, level, terms, accepted, one_sided)
    return mean * math.exp(-s) if s < FARTHEST else 0.0
