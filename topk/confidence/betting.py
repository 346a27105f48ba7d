r"""Confidence intervals for the mean of rewards in [0, 1] from their count, sum and squares.

Let the rewards :math:`x_1, \ldots, x_u` of an arm with mean :math:`\mu` have the sum S, the sum of
squares Q and the empirical mean :math:`\hat m = S/u`.  The capital of a gambler who bets the
fraction :math:`f = o/(1+o)`, with odds o > 0, on a mean above m is

.. math:: K_o(m) = \prod_i\Big(1 - f + f\frac{x_i}m\Big) = \prod_i\frac{1 + o\,x_i/m}{1+o},

a non-negative martingale that starts at 1 if :math:`m = \mu` (Waudby-Smith and Ramdas 2024).

**A bound from three numbers.**  Let :math:`r = Q/S` and :math:`w = S^2/Q \leq u`.  Then

.. math:: \ln K_o(m) \geq B_o(m) = w\ln(1 + o\,r/m) - u\ln(1+o). \tag{1}

The bound is an equality for rewards that are 0 or r.  It is decreasing and convex in m, decreasing
in Q, and at most 0 at :math:`m = \hat m` (Jensen's inequality).

**The mixture.**  The odds :math:`o_j = 2^{9-j}` have weights :math:`v_j`: 0.045 each for j < 20,
and 0.1/((i+1)(i+2)) for j = 20 + i; these sum to 1.  With
:math:`\mathrm{Up} = \sum_j v_j e^{B_{o_j}}`, Down the same for the rewards 1 - x at 1 - m, and KT/L
of `topk.confidence.confidence`,

.. math:: C(m) = \tfrac12\,\mathrm{KT}/L(m) + \tfrac14\,\mathrm{Up}(m) + \tfrac14\,\mathrm{Down}(m)
   \tag{2}

ever reaches 1/d at :math:`\mu` with probability at most d, and {m : C(m) < 1/d} is an interval
around :math:`\hat m`, contained in that of `topk.confidence.interval` without squares at d/2.
Below :math:`\hat m` every m at which some terms of C already sum to 1/d is a lower bound.  The
terms used here are KT and eight of the bets on a larger mean, those around the best odds
:math:`(\hat m - m)/(r - \hat m)`.

**Computation.**  With :math:`m = \hat m e^{-x}` and :math:`a = (r-\hat m)/\hat m`, the empirical
variance over the squared mean,

.. math:: B_o = \frac u{1+a}\big[\ln(1 + f\,(a + (1+a)(e^x-1))) - a\ln(1+o)\big],

without cancellation near x = 0.  The bound decreases in a, so variances are rounded up.

**Two arms.**  Let :math:`C^- = \mathrm{KT}/(2L) + \mathrm{Up}/4` of an arm a and :math:`C^+ =
\mathrm{KT}/(2L) + \mathrm{Down}/4` of an arm b, with :math:`\hat m_b < \hat m_a + \epsilon`, and

.. math:: Z = \min_x\,[\ln C^-_a(x) + \ln C^+_b(x+\epsilon)]. \tag{3}

If :math:`\mu_b \geq \mu_a + \epsilon`, then :math:`e^Z \leq C_a(\mu_a)\,C_b(\mu_b)`.

*Proof.*  Both functions are log-convex and at most C.  The minimiser x of :math:`C^-_a` is at least
:math:`\hat m_a`, since KT/L is minimal there and Up decreases; the minimiser y of :math:`C^+_b` is
at most :math:`\hat m_b`.  For this point :math:`y < x + \epsilon`, so the minimum over all
:math:`y \geq x + \epsilon` is attained on :math:`y = x + \epsilon`.  (The argument fails for C
itself, and the minimiser in (3) may be outside the two means.)

The chapter "BettingLUCB: confidence intervals for any bounded reward" proves (1) and (2).
"""

import math

import numpy as np

from topk._marks import apart
from topk.confidence.kl import ULPS, kl_term, mixture_cost, mixture_cost_scalar

GRID = 20  # number of odds with equal weights, ...
LOG_FIRST = math.log(0.9 / GRID)  # ... and the logarithm of these weights
LOG_REST = math.log(0.1)  # logarithm of the total weight of all smaller odds
HIGHEST = 9  # the largest odds are 2**9; the others are smaller powers of two
TERMS = 8  # number of odds used for one interval
LOG_2, LOG_4 = math.log(2.0), math.log(4.0)
MIN_SUM = 1e-250  # smaller sums are treated as 0
DEVIATION_SLACK = 1e-12  # fraction of Q by which the sum of squared deviations is rounded up, ...
UNDERFLOW = 1e-280  # ... plus this much, since squares may underflow
MAX_LOG_RATIO = 100.0  # largest x; means exp(-100) times as large are treated as 0
LEVEL_PRECISION = 1e-6  # distance to the level at which the search ends
ODDS = 2.0 ** np.arange(HIGHEST, HIGHEST - 2 * GRID, -1)  # odds used for two arms
SEARCH_STEPS = 48  # steps of the search for the minimum of a convex function on [0, 1]
LEVEL_SLACK = 1 + 1e-9  # factor of the level, larger than rounding errors of the log capital


@apart
def betting_bounds(u, ones, squares, level):
    """Return the ends of the interval (2) with d = exp(-level) for u >= 1 pulls, as numbers."""
    mean, other, variance = mean_and_variance(u, ones, squares)
    cost, level = mixture_cost_scalar(u, ones), level * LEVEL_SLACK
    low, high = 0.0, 1.0
    if ones > MIN_SUM:
        x = solve_log_ratio(u, mean, other, variance / mean / mean, cost, level)
        low = mean * math.exp(-x) / ULPS if x < MAX_LOG_RATIO else 0.0
    if u - ones > MIN_SUM:
        x = solve_log_ratio(u, other, mean, variance / other / other, cost, level)
        high = min((mean - other * math.expm1(-x)) * ULPS, 1.0) if x < MAX_LOG_RATIO else 1.0
    return low, high


def mean_and_variance(u, ones, squares):
    """Return mean, 1 - mean and the variance, or a little more, as numbers."""
    mean, other = ones / u, (u - ones) / u
    # the sum of squared deviations is at most ones * other, as for 0/1 rewards
    deviations = max(squares - ones * mean, 0.0) + DEVIATION_SLACK * squares + UNDERFLOW
    return mean, other, min(deviations, ones * other) / u


def solve_log_ratio(u, mean, other, relative_variance, cost, level):
    """Return an x at which the capital has reached exp(level), by Newton's method.

    The log capital is convex and increasing, so it is at least the level after the first step.
    """
    x = math.sqrt(2 * (level + 4) * relative_variance / u) + (level + 4) / u
    for _ in range(100):
        x = min(x, MAX_LOG_RATIO)
        reached, slope = log_capital(u, mean, other, relative_variance, cost, x)
        if 0 <= reached - level < LEVEL_PRECISION or (x == MAX_LOG_RATIO and reached < level):
            break
        x -= (reached - level) / slope
    while reached < level and x < MAX_LOG_RATIO:  # the selected terms change with x
        x *= 1 + 1e-9
        reached, slope = log_capital(u, mean, other, relative_variance, cost, x)
    return x if reached >= level else MAX_LOG_RATIO


def log_capital(u, mean, other, relative_variance, cost, x):
    """Return ln(KT/(2 L) + Up/4) at mean exp(-x), with 8 terms of Up, and its derivative in x."""
    lost, grown = -math.expm1(-x), math.expm1(x)
    down = mean * lost
    if other > MIN_SUM:
        top = u * (mean * x - other * math.log1p(down / other)) - cost - LOG_2
    else:
        top = u * x - cost - LOG_2
    total, slope = 1.0, u * down / (other + down)
    odds_of_first = HIGHEST - first_term(lost, relative_variance)
    odds = 2.0**odds_of_first
    for i in range(TERMS):
        share = odds / (1 + odds)
        won = share * (relative_variance + (1 + relative_variance) * grown)
        gain = math.log1p(won) - relative_variance * math.log1p(odds)
        log_term = u * gain / (1 + relative_variance)
        log_term += log_weight(HIGHEST - odds_of_first + i) - LOG_4
        term_slope = u * share * (1 + grown) / (1 + won)
        if log_term > top:
            ratio = math.exp(top - log_term)
            total, slope, top = total * ratio + 1, slope * ratio + term_slope, log_term
        elif log_term > top - 40:
            ratio = math.exp(log_term - top)
            total, slope = total + ratio, slope + term_slope * ratio
        odds /= 2
    return top + math.log(total), slope / total


def first_term(lost, relative_variance):
    """Return the index of the first of the terms around the best odds, lost / relative_variance."""
    if relative_variance * 2.0 ** (HIGHEST + TERMS) <= lost:
        return 0
    best = HIGHEST - math.log2(lost / relative_variance)  # an index, not rounded
    return int(min(max(best - (TERMS - 1) / 2, 0.0), 900.0))


def log_weight(j):
    """Return ln v_j."""
    i = j - GRID
    return LOG_FIRST if i < 0 else LOG_REST - math.log((i + 1.0) * (i + 2.0))


LOG_WEIGHTS = np.array([log_weight(j) for j in range(ODDS.size)])


def betting_pair_statistic(a, b, epsilon):
    """Return a lower bound on Z of (3) for arms a and b; -inf where b's mean is larger by epsilon.

    Each arm is given as (pulls, sums, squares), arrays to be broadcast, with at least 1 pull.  If
    the rewards of a are all 0, or those of b all 1, only KT is used for that arm.
    """
    a, b = moments(*a), moments(b[0], b[0] - b[1], b[0] - 2 * b[1] + b[2])
    shape = np.broadcast_shapes(a[0].shape, b[0].shape)
    low, high, found = np.zeros(shape), np.full(shape, 1 - epsilon), np.full(shape, -np.inf)
    for _ in range(SEARCH_STEPS):
        x = (low + high) / 2
        of_a, slope_a = log_capital_at(a, x)
        of_b, slope_b = log_capital_at(b, 1 - epsilon - x)
        slope = slope_a - slope_b
        low, high = np.where(slope > 0, low, x), np.where(slope > 0, x, high)
        found = np.maximum(found, of_a + of_b - abs(slope) * (high - low))  # end of the tangent
    return np.where(1 - b[1] < a[1] + epsilon, found, -np.inf)


def moments(u, ones, squares):
    """Return pulls, mean, the variance over the squared mean, and ln(sup L / KT)."""
    mean, _, variance = np.vectorize(mean_and_variance, otypes=[float] * 3)(u, ones, squares)
    positive_mean = np.maximum(mean, MIN_SUM)
    return u, mean, variance / positive_mean / positive_mean, mixture_cost(u, ones)


def log_capital_at(arm, m):
    """Return ln(KT/(2 L) + Up/4) for `moments` at a mean m in (0, 1), and its derivative in m.

    It has its own form, in arrays, since evidence compares all pairs of arms: up to 250,000 pairs
    of 1,000 arms.
    """
    u, mean, relative_variance, cost = arm
    mixed = u * (kl_term(mean, m - mean) + kl_term(1 - mean, mean - m)) - cost - LOG_2
    slope = u * ((1 - mean) / (1 - m) - mean / m)
    w, r = u / (1 + relative_variance), mean * (1 + relative_variance)  # of (1)
    odds = ODDS.reshape(-1, *[1] * m.ndim)
    log_terms = w * (np.log1p(odds / (1 + odds) * (r - m) / m) - relative_variance * np.log1p(odds))
    log_terms += LOG_WEIGHTS.reshape(odds.shape) - LOG_4
    log_terms = np.where(mean > MIN_SUM, log_terms, -np.inf)
    terms = np.concatenate([mixed[None], log_terms])
    slopes = np.concatenate([slope[None], -w * odds * r / (m * (m + odds * r))])
    top = terms.max(axis=0)
    shares = np.exp(terms - top)
    total = shares.sum(axis=0)
    return top + np.log(total), (shares * slopes).sum(axis=0) / total
