r"""An interval for the mean of rewards in [0, 1] from their count, sum and sum of squares.

Rewards :math:`x_1, \ldots, x_u` of an arm with mean :math:`\mu` have the sum S, the sum of squares
Q and the empirical mean :math:`\hat m = S/u`.  A gambler who bets the fraction
:math:`f = o/(1+o)`, with odds o > 0, on a mean above m has the capital

.. math:: K_o(m) = \prod_i\Big(1 - f + f\frac{x_i}m\Big) = \prod_i\frac{1 + o\,x_i/m}{1+o},

a non-negative martingale that begins at 1 if :math:`m = \mu` (Waudby-Smith and Ramdas 2024).

**A bound from three numbers.**  Let :math:`r = Q/S` and :math:`w = S^2/Q \leq u`.  Then

.. math:: \ln K_o(m) \geq B_o(m) = w\ln(1 + o\,r/m) - u\ln(1+o). \tag{1}

*Proof.*  Let p be the parabola with :math:`p(0) = 0` that touches :math:`h(x) = \ln(1+ox/m)` at r.
By Hermite's formula :math:`h(x) - p(x) = h'''(\xi)\,x(x-r)^2/6 \geq 0` for :math:`x \geq 0`, since
:math:`h''' > 0`.  So :math:`\ln K_o + u\ln(1+o) = \sum h(x_i) \geq \sum p(x_i)`, a combination of S
and Q; and :math:`S = wr`, :math:`Q = wr^2`, so that it is :math:`w\,p(r) = w\,h(r)`.

The bound is an equality for rewards that are 0 or r.  It falls with m, is convex in m, falls when Q
grows, and is at most 0 at :math:`m = \hat m` (Jensen's inequality).

**The mixture.**  Odds :math:`o_j = 2^{9-j}` have weights :math:`v_j`: 0.045 each for j < 20, and
then 0.1/((i+1)(i+2)) for j = 20 + i; they add up to 1.  With
:math:`\mathrm{Up} = \sum_j v_j e^{B_{o_j}}`, Down the same for the rewards 1 - x at 1 - m, and KT/L
of `topk.confidence`,

.. math:: C(m) = \tfrac12\,\mathrm{KT}/L(m) + \tfrac14\,\mathrm{Up}(m) + \tfrac14\,\mathrm{Down}(m)
   \tag{2}

is, at :math:`\mu`, at most an average of three supermartingales that begin at 1: by Ville's
inequality it ever reaches 1/d with probability at most d.  C is convex and at most 1 at
:math:`\hat m`: so {m : C(m) < 1/d} is an interval around it.  Below :math:`\hat m` every m at which
a part of C reaches 1/d is a lower bound.  Here the part is KT and eight of the bets on more, those
around the best odds :math:`(\hat m - m)/(r - \hat m)`.

Since C is at least half of KT/L, the interval lies inside that of `topk.confidence.interval`
without squares at d/2.

**As it is computed.**  With :math:`m = \hat m e^{-x}` and :math:`a = (r-\hat m)/\hat m`, the
empirical variance over the squared mean,

.. math:: B_o = \frac u{1+a}\big[\ln(1 + f\,(a + (1+a)(e^x-1))) - a\ln(1+o)\big],

in which nothing large cancels near x = 0.  It falls when a grows: so variances are rounded up.

**Two arms.**  Let :math:`C^- = \mathrm{KT}/(2L) + \mathrm{Up}/4` of an arm a and :math:`C^+ =
\mathrm{KT}/(2L) + \mathrm{Down}/4` of an arm b, with :math:`\hat m_b < \hat m_a + \epsilon`, and

.. math:: Z = \min_x\,[\ln C^-_a(x) + \ln C^+_b(x+\epsilon)]. \tag{3}

If :math:`\mu_b \geq \mu_a + \epsilon`, then :math:`e^Z \leq C_a(\mu_a)\,C_b(\mu_b)`.

*Proof.*  Both functions are log-convex and at most C.  Where :math:`C^-_a` is smallest is at or
above :math:`\hat m_a`, since KT/L is smallest there and Up falls; where :math:`C^+_b` is, at or
below :math:`\hat m_b`.  That point (x, y) has :math:`y < x + \epsilon`; so over all
:math:`y \geq x + \epsilon` the least value lies on :math:`y = x + \epsilon`.  (The whole C in
their place would not do, and x may be outside the two means.)
"""

import math

import numpy as np

from topk.kl import ULPS, kl_term, mixture_cost, mixture_cost_of

GRID = 20  # odds with equal weights, ...
LOG_FIRST = math.log(0.9 / GRID)  # ... of which this is the logarithm
LOG_REST = math.log(0.1)  # the weights of all further ones together
HIGHEST = 9  # odds are powers of two from this one down
TERMS = 8  # odds that are looked at
LOG_2, LOG_4 = math.log(2.0), math.log(4.0)
LEAST = 1e-250  # a sum that is less is taken for 0
ROUNDED = 1e-12  # part of Q by which the sum of squared deviations is rounded up, and ...
UNDERFLOW = 1e-280  # ... how much in any case: squares may be lost
FARTHEST = 100.0  # x; a mean exp(-100) times as large is taken for 0
CLOSE = 1e-6  # so close to the level the search ends
ODDS = 2.0 ** np.arange(HIGHEST, HIGHEST - 2 * GRID, -1)  # that are looked at for two arms
STEPS = 48  # of the search for the least value of a convex function on [0, 1]
OUTWARDS = 1 + 1e-9  # of the level: more than what rounding does to the capital's logarithm


def betting_bounds(u, ones, squares, level):
    """Return the ends of the interval (2) with d = exp(-level), of numbers, for u >= 1 pulls."""
    rest = u - ones
    mean, other = ones / u, rest / u
    # of them there are at most ones * other, where all rewards are 0 or 1
    deviations = max(squares - ones * mean, 0.0) + ROUNDED * squares + UNDERFLOW
    variance = min(deviations, ones * other) / u
    cost, level = mixture_cost_of(u, ones), level * OUTWARDS
    low, high = 0.0, 1.0
    if ones > LEAST:
        x = fall(u, mean, other, variance / mean / mean, cost, level)
        low = mean * math.exp(-x) / ULPS if x < FARTHEST else 0.0
    if rest > LEAST:
        x = fall(u, other, mean, variance / other / other, cost, level)
        high = min((mean - other * math.expm1(-x)) * ULPS, 1.0) if x < FARTHEST else 1.0
    return low, high


def fall(u, mean, other, spread, cost, level):
    """Return an x at which the capital has reached exp(level), by Newton's method.

    Its logarithm is convex and grows: after the first step x is where it has reached the level.
    """
    x = math.sqrt(2 * (level + 4) * spread / u) + (level + 4) / u
    for _ in range(100):
        x = min(x, FARTHEST)
        reached, slope = log_capital(u, mean, other, spread, cost, x)
        if 0 <= reached - level < CLOSE or (x == FARTHEST and reached < level):
            break
        x -= (reached - level) / slope
    while reached < level and x < FARTHEST:  # the terms that are looked at change with x
        x *= 1 + 1e-9
        reached, slope = log_capital(u, mean, other, spread, cost, x)
    return x if reached >= level else FARTHEST


def log_capital(u, mean, other, spread, cost, x):
    """Return ln(KT/(2 L) + Up/4) at mean exp(-x), of Up eight terms, and its derivative by x."""
    lost, grown = -math.expm1(-x), math.expm1(x)
    down = mean * lost
    if other > LEAST:
        top = u * (mean * x - other * math.log1p(down / other)) - cost - LOG_2
    else:
        top = u * x - cost - LOG_2
    total, slope = 1.0, u * down / (other + down)
    odds_of_first = HIGHEST - first_term(lost, spread)
    odds = 2.0**odds_of_first
    for i in range(TERMS):
        share = odds / (1 + odds)
        won = share * (spread + (1 + spread) * grown)
        found = u * (math.log1p(won) - spread * math.log1p(odds)) / (1 + spread)
        found += log_weight(HIGHEST - odds_of_first + i) - LOG_4
        rise = u * share * (1 + grown) / (1 + won)
        if found > top:
            ratio = math.exp(top - found)
            total, slope, top = total * ratio + 1, slope * ratio + rise, found
        elif found > top - 40:
            ratio = math.exp(found - top)
            total, slope = total + ratio, slope + rise * ratio
        odds /= 2
    return top + math.log(total), slope / total


def first_term(lost, spread):
    """Return the j of the first of the terms around the best odds, lost / spread."""
    if spread * 2.0 ** (HIGHEST + TERMS) <= lost:
        return 0
    return int(min(max(HIGHEST - math.log2(lost / spread) - (TERMS - 1) / 2, 0.0), 900.0))


def log_weight(j):
    """Return ln v_j."""
    i = j - GRID
    return LOG_FIRST if i < 0 else LOG_REST - math.log((i + 1.0) * (i + 2.0))



LOG_WEIGHTS = np.array([log_weight(j) for j in range(ODDS.size)])


def betting_interval(pulls, sums, squares, level):
    """Return `betting_bounds` of arrays of one shape, (0, 1) without pulls."""
    found = np.zeros((2, *np.shape(pulls)))
    found[1] = 1.0
    for at in map(tuple, np.argwhere(pulls)):
        seen = float(pulls[at]), float(sums[at]), float(squares[at])
        found[:, *at] = betting_bounds(*seen, level)
    return found[0], found[1]


def betting_separation(a, b, epsilon):
    """Return Z of (3), from below, for arms a and b; -inf where b's mean is larger by epsilon.

    Each is (pulls, sums, squares), arrays that broadcast, with pulls of at least 1.  An arm whose
    rewards are all 0, or all 1 on the other side, has KT alone.
    """
    a, b = moments(*a), moments(b[0], b[0] - b[1], b[0] - 2 * b[1] + b[2])
    shape = np.broadcast_shapes(a[0].shape, b[0].shape)
    low, high, found = np.zeros(shape), np.full(shape, 1 - epsilon), np.full(shape, -np.inf)
    for _ in range(STEPS):
        x = (low + high) / 2
        of_a, rise = log_betting(a, x)
        of_b, fall_of_b = log_betting(b, 1 - epsilon - x)
        slope = rise - fall_of_b
        low, high = np.where(slope > 0, low, x), np.where(slope > 0, x, high)
        found = np.maximum(found, of_a + of_b - abs(slope) * (high - low))  # the tangent's end
    return np.where(1 - b[1] < a[1] + epsilon, found, -np.inf)


def moments(u, ones, squares):
    """Return pulls, mean, the variance over its square, and ln(sup L / KT)."""
    mean, other = ones / u, (u - ones) / u
    deviations = np.maximum(squares - ones * mean, 0) + ROUNDED * squares + UNDERFLOW
    variance = np.minimum(deviations, ones * other) / u
    held = np.maximum(mean, LEAST)
    return u, mean, variance / held / held, mixture_cost(u, ones)


def log_betting(arm, m):
    """Return ln(KT/(2 L) + Up/4) of `moments` at a mean m in (0, 1), and its derivative by m."""
    u, mean, spread, cost = arm
    mixed = u * (kl_term(mean, m - mean) + kl_term(1 - mean, mean - m)) - cost - LOG_2
    slope = u * ((1 - mean) / (1 - m) - mean / m)
    alike, best = u / (1 + spread), mean * (1 + spread)  # as many rewards, of that size
    odds = ODDS.reshape(-1, *[1] * m.ndim)
    found = alike * (np.log1p(odds / (1 + odds) * (best - m) / m) - spread * np.log1p(odds))
    found += LOG_WEIGHTS.reshape(odds.shape) - LOG_4
    found = np.where(mean > LEAST, found, -np.inf)
    terms = np.concatenate([mixed[None], found])
    slopes = np.concatenate([slope[None], -alike * odds * best / (m * (m + odds * best))])
    top = terms.max(axis=0)
    shares = np.exp(terms - top)
    total = shares.sum(axis=0)
    return top + np.log(total), (shares * slopes).sum(axis=0) / total
