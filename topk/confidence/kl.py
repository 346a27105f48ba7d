"""Kullback-Leibler divergences and mixtures of likelihoods, computed without cancellation.

Functions with names ending in ``_scalar``, and `pair_minimiser`, take numbers: rules call them in
compiled loops, reports in a loop over arms.  The other functions take arrays.  Only `mixture_cost`
has both forms, since the evidence of many pairs, or of many looks, needs millions of its values.
"""

import math

import numpy as np

ULPS = 1 + 2**-50  # factor by which bounds are moved outwards, larger than rounding errors
TINY = 1e-280  # division by smaller numbers may overflow
SIDE_STEPS = 2  # of the iteration for a one-sided bound; more would gain less than 0.01 nats
SIDE_ROUNDING = 1 + 1e-9  # factor of its level, larger than errors of the solver
STIRLING = (-31 / 40320, 7 / 2880, -1 / 24)  # see `log_gamma_half`

# For smaller |r|, r - log(1 + r) loses more than three digits; the series loses none.
_SERIES_BELOW = 0.05


def x_minus_log(r, ratio):
    """Return r - log(ratio) >= 0, where ratio = 1 + r, without cancellation near r = 0.

    With s = r / (2 + r), log(1 + r) = 2 artanh(s), so that
    r - log(1 + r) = s (r - 2 s^2 (1/3 + s^2/5 + s^4/7 + ...)).
    """
    small = np.abs(r) < _SERIES_BELOW
    near = np.where(small, r, 0.0)
    s = near / (2.0 + near)
    s2 = s * s
    tail = 1 / 3 + s2 * (1 / 5 + s2 * (1 / 7 + s2 * (1 / 9 + s2 * (1 / 11 + s2 / 13))))
    with np.errstate(divide="ignore"):  # inf is correct for ratio 0
        return np.where(small, s * (near - 2.0 * s2 * tail), r - np.log(ratio))


def kl_of_step(mean, point, copoint, step):
    """Return kl(mean, point) given copoint = 1 - point and step = point - mean; no checks.

    Plain form: ``bernoulli_kl(mean, point)``.  All three are arguments because the caller can
    compute each of them without cancellation; the result then has full relative accuracy even for
    almost equal means or a point close to 0 or 1.
    """
    inner_up, inner_down = mean > 0, mean < 1
    safe_up = np.where(inner_up, mean, 1.0)
    safe_down = np.where(inner_down, 1.0 - mean, 1.0)
    up = mean * x_minus_log(step / safe_up, np.where(inner_up, point / safe_up, 1.0))
    down = safe_down * x_minus_log(
        -step / safe_down, np.where(inner_down, copoint / safe_down, 1.0)
    )
    # The linear terms step and -step of the two parts cancel; a mean at 0 or 1 has one part.
    return np.where(inner_up, up, step) + np.where(inner_down, down, -step)


def kl_term(share, step):
    """Return share * (y - ln(1 + y)) for y = step / share, and step if share is 0.

    kl(m, m + step) is kl_term(m, step) + kl_term(1 - m, -step), both positive, so there is no
    cancellation.
    """
    y = np.maximum(step / np.where(share > 0, share, 1), 2.0**-52 - 1)
    return np.where(share > 0, share * x_minus_log(y, 1 + y), step)


def kl_log_ratio_scalar(mean, other, level):
    """Return x with kl(mean, mean exp(-x)) = level, where other is 1 - mean; any x at mean 0.

    The divergence f is a convex function of x with a concave derivative that is 0 at 0.  Hence f
    f'' is at most half the square of f', and Halley's step has no pole and stays above 0.
    """
    if mean < TINY or other < TINY:
        return level
    x = math.sqrt(2 * level * other / mean) + level * (2 + other / mean) / 3  # by f's first terms
    for _ in range(50):
        down = -mean * math.expm1(-x)
        slope = down / (other + down)
        curvature = other * (mean - down) / ((other + down) * (other + down))
        newton = (mean * x - other * math.log1p(down / other) - level) / slope
        step = newton / (1 - newton * curvature / slope / 2)
        x -= step
        if abs(step) < 1e-5 * x:  # the error is of the order of its cube
            break
    return x


def kl_interval_scalar(u, ones, level):
    """Return the two means q at which u kl(ones / u, q) is ``level``, for u > 0."""
    mean, other = ones / u, (u - ones) / u
    low = mean * math.exp(-kl_log_ratio_scalar(mean, other, level / u))
    return low, mean - other * math.expm1(-kl_log_ratio_scalar(other, mean, level / u))


def normal_interval_scalar(u, total, log_ratio):
    """Return the normal mixture's two-sided bounds of a mean, for 1/2-sub-Gaussian rewards.

    The radius is sqrt((u + 1) (2 log_ratio + ln(1 + u))) / (2 u).
    """
    radius = math.sqrt((u + 1) * (2 * log_ratio + math.log1p(u))) / (2 * u)
    return total / u - radius, total / u + radius


def side_log_ratio_scalar(u, mean, other, cost, level):
    """Return x such that mean exp(-x) is the one-sided lower bound of `topk.confidence.sides`.

    For an upper bound, exchange mean and other: then x is that of 1 minus the bound.

    Parameters
    ----------
    u, mean, other, cost, level : float
        Pulls, the mean and 1 minus it, ln(sup L / KT), and ln(1/alpha), alpha < 1.
    """
    x = kl_log_ratio_scalar(mean, other, (cost + level) / u)
    for _ in range(SIDE_STEPS):
        above = math.sqrt(min(other - mean * math.expm1(-x), 1.0))
        share = 2 / math.pi * math.atan2(above, math.sqrt(mean * math.exp(-x)))
        most = cost + level + math.log(share + (1 - share) * math.exp(-level))
        x = kl_log_ratio_scalar(mean, other, most * SIDE_ROUNDING / u)
    return x


def pair_minimiser(u, ones, v, others, epsilon):
    """Return the minimiser x in Z for two arms: the zero of the derivative times x(1-x)y(1-y)."""
    p, q = ones / u, others / v
    if epsilon == 0:
        return (ones + others) / (u + v)
    low, high = max(q - epsilon, 0.0), min(p, 1 - epsilon)
    x = (u * low + v * high) / (u + v)
    for _ in range(100):  # Newton's method within a bracket
        y = x + epsilon
        value = u * (x - p) * y * (1 - y) + v * (y - q) * x * (1 - x)
        low, high = (low, x) if value > 0 else (x, high)
        slope = u * (y * (1 - y) + (x - p) * (1 - 2 * y))
        slope += v * (x * (1 - x) + (y - q) * (1 - 2 * x))
        before, x = x, x - value / slope if slope > 0 else low
        x = x if low < x < high else (low + high) / 2
        if abs(x - before) <= 1e-9 * min(x, 1 - y):
            break
    return x


def mixture_cost(pulls, sums):
    """Return ln(sup L / KT), the cost of the mixture against the best p: 0.69 to ln(2 sqrt(u))."""
    whole = np.log(np.pi / 2 * pulls) / 2 + (pulls + 0.5) * np.log1p(0.5 / pulls) - 0.5
    return whole + log_gamma_half(pulls + 0.5) - log_gamma_half(sums) - log_gamma_half(pulls - sums)


def mixture_cost_scalar(u, ones):
    """Compute `mixture_cost` for numbers."""
    found = math.log(math.pi / 2 * u) / 2 + (u + 0.5) * math.log1p(0.5 / u) - 0.5
    found = found + log_gamma_half_scalar(u + 0.5) - log_gamma_half_scalar(ones)
    return found - log_gamma_half_scalar(u - ones)


def log_gamma_half(x):
    """Return ln Gamma(x + 1/2) - x ln x + x - ln(2 pi)/2, by Stirling's series for x >= 30."""
    from scipy.special import gammaln, xlogy

    near, far = gammaln(x + 0.5) - xlogy(x, x) + x - math.log(2 * math.pi) / 2, np.maximum(x, 30.0)
    return np.where(x < 30, near, np.polyval(STIRLING, far**-2) / far)


def log_gamma_half_scalar(x):
    """Compute `log_gamma_half` for a number."""
    y, product = x, 1.0
    while y < 30:
        product *= y + 0.5
        y += 1
    series = ((-31 / 40320 / (y * y) + 7 / 2880) / (y * y) - 1 / 24) / y
    near = math.log(product) + (x * math.log(x) if x > 0 else 0.0)
    return series + y * math.log(y) - (y - x) - near if y > x else series
