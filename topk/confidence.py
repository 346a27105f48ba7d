r"""Confidence that fits the data: intervals for one arm, evidence for a set, valid at all times.

After u pulls of an arm with rewards in [0, 1] and sum S let :math:`L(p) = p^S(1-p)^{u-S}`, and let
:math:`\mathrm{KT}` be its mean under the law Beta(1/2, 1/2) of p, the mixture of Krichevsky and
Trofimov (1981).  For x in [0, 1] the function :math:`(p/\mu)^x((1-p)/(1-\mu))^{1-x}` of x is
convex, so its mean over a reward of mean :math:`\mu` is at most :math:`p + (1-p) = 1`: the ratio
:math:`M = \mathrm{KT}/L(\mu)` is a non-negative supermartingale that begins at 1, whichever rule
says which arm is pulled when.  By Ville's inequality it ever reaches :math:`1/\delta` with
probability at most :math:`\delta` (Robbins 1970; Howard, Ramdas, McAuliffe and Sekhon 2021).

For :math:`u \geq 1`, :math:`\sup_p L(p) \leq 2\sqrt u\,\mathrm{KT}`.  As a function of S, the
logarithm of :math:`\mathrm{KT}/\sup_p L` is :math:`\varphi(S) + \varphi(u-S)` plus a constant,
:math:`\varphi(x) = \ln\Gamma(x+\frac12) - x\ln x`.  That is concave: :math:`\varphi''(x) =
\psi'(x+\frac12) - \frac1x < 0`, for :math:`\psi'(x+\frac12) = \sum_j (x+j+\frac12)^{-2} <
\sum_j [\frac1{x+j} - \frac1{x+j+1}] = \frac1x`.  So the ratio is smallest at S = 0 and S = u, where
it is :math:`c_u = \Gamma(u+\frac12)/(\sqrt\pi\,\Gamma(u+1))`; and :math:`2\sqrt u\,c_u` is 1 at
u = 1 and grows, since :math:`(u+\frac12)/\sqrt{u(u+1)} > 1`.
"""

import math

import numpy as np

from topk import finite
from topk._checks import as_integers, as_numbers, check_delta, check_real, common_shape, refuse

SLACK = 1 + 1e-12  # of the level, and
ULPS = 1 + 2**-50  # of a bound: what rounding does is less
SERIES = [(-1.0) ** k / k for k in range(12, 1, -1)]  # of (x - ln(1 + x)) / x**2
HALF = (-31 / 40320, 7 / 2880, -1 / 24)  # see `half`


def interval(pulls, sums, delta, sigma=None, *, items=None):
    r"""Return an interval for an arm's mean that holds after all numbers of pulls at once.

    Parameters
    ----------
    pulls : array_like of int
        Number u of pulls, 0 to 2**53.
    sums : array_like of float
        Sum S of the rewards, which lie in [0, 1]; with ``sigma`` any finite number.
        Broadcast against ``pulls``.
    delta : float
        Probability, in (0, 1), that the interval of an arm ever misses its mean.  With
        delta / n the intervals of n arms hold all together with probability 1 - delta.
    sigma : float, optional
        The rewards are sigma-sub-Gaussian, such as normal ones of that standard deviation;
        positive.
    items : int, optional
        The results are 0 or 1 and drawn without replacement from so many of the arm's, N, 1 to
        1,000,000, in a uniformly random order.  Then the interval is about the number of ones
        among all N, and its ends are whole numbers.  Not together with ``sigma``.

    Returns
    -------
    low, high : ndarray of float, of the shape of both
        Rounded outwards.  Without pulls (0, 1), with ``sigma`` (-inf, inf).  With ``items``
        ndarray of int64: of the arm's N results at least ``low`` and at most ``high`` are 1;
        without pulls (0, N), and after all N both are S.

    Raises
    ------
    ValueError
        If something is out of range.

    Notes
    -----
    All :math:`\mu` with :math:`\mathrm{KT}/L(\mu) \leq 1/\delta`, that is,
    :math:`u\,\mathrm{kl}(S/u, \mu) \leq \ln(1/\delta) + \ln(\sup_p L(p)/\mathrm{KT})`: the mixture
    itself, where `topk.KLLUCB` has the bound :math:`\ln(2\sqrt u)` for the last term.  With sigma
    the mixture over p is normal with variance :math:`\sigma^2`,
    :math:`M = (1+u)^{-1/2}\exp((S-u\mu)^2/(2\sigma^2(u+1)))`.

    The mean of a reward, given all that was counted before and the fact that this one is counted
    next, has to be the arm's mean: results may be late or lost, but not because of their values.

    With items, all k with :math:`P_k \geq \delta\,\mathrm{KT}`, where :math:`P_k` is the
    probability of the sequence of results if k of the N are 1 (`topk.finite`); the first u items
    of the order have to be those that are counted.

    Examples
    --------
    >>> low, high = interval([0, 10, 10], [0, 0, 7], delta=0.05)
    >>> low.round(3).tolist(), high.round(3).tolist()
    ([0.0, 0.0, 0.252], [1.0, 0.377, 0.967])
    >>> low, high = interval([0, 500, 797], [0, 300, 461], delta=0.05, items=797)
    >>> low.tolist(), high.tolist()
    ([0, 439, 461], [797, 516, 461])
    """
    delta = check_delta(delta)
    if items is not None:
        return finite.interval(*checked_items(pulls, sums, sigma, items), delta)
    pulls, sums = checked(pulls, sums, bounded=sigma is None)
    seen = np.maximum(pulls, 1)
    if sigma is not None:
        sigma = check_real(sigma, "sigma", 0, 1e300, low_open=True)
        mean, level = sums / seen, np.log1p(seen) - 2 * math.log(delta)
        radius = sigma * np.sqrt((seen + 1) * level) / seen * SLACK + (ULPS - 1) * abs(mean)
        radius = np.where(pulls > 0, radius, np.inf)
        return mean - radius, mean + radius
    sums = np.where(sums > 1e-280, sums, 0.0)  # less might not be divided by
    mean = sums / seen
    level = (mixture_cost(seen, sums) - math.log(delta)) / seen * SLACK
    other = (seen - sums) / seen  # more exact than 1 - mean
    low = mean * np.exp(-fall(mean, other, level)) / ULPS
    high = (mean - other * np.expm1(-fall(other, mean, level))) * ULPS
    return np.where(pulls > 0, low, 0.0), np.where(pulls > 0, np.minimum(high, 1), 1.0)


def evidence(pulls, sums, chosen, epsilon=0.0, withdrawn=(), sigma=None, *, items=None):
    r"""Return a p-value, valid at all times, for the chosen set's not being right up to epsilon.

    Parameters
    ----------
    pulls, sums : array_like, shape (n,) or (M, n)
        Number of pulls of each arm, and the sum of its rewards, which lie in [0, 1]; with
        ``sigma`` any finite number.
    chosen : array_like of int, shape (k,) or (M, k)
        The set, of several bandits a row for each.
    epsilon : float
        In [0, 1), with ``sigma`` at least 0: the set is right if no other arm that is left has a
        mean of more than epsilon above that of a chosen one.
    withdrawn : sequence of int
        Arms that have left; arm i of bandit m is m n + i.
    sigma, items : optional
        As for `interval`; ``items`` for a single bandit, and then epsilon N is rounded down.

    Returns
    -------
    float
        1.0 as long as an arm that is left has no pull.

    Raises
    ------
    ValueError
        If something is out of range.

    Notes
    -----
    For a in the set, b outside and N pulls let :math:`Z_{ab}` be the least of
    :math:`N_a\,\mathrm{kl}(m_a, x) + N_b\,\mathrm{kl}(m_b, x+\epsilon)` over x, and 0 if
    :math:`m_b \geq m_a+\epsilon`; let :math:`g = \sup_p L(p)/\mathrm{KT} \leq 2\sqrt N`.  If
    :math:`\mu_b \geq \mu_a + \epsilon`, then :math:`e^{Z_{ab}} \leq g_a g_b M_a M_b`, where
    :math:`M_a M_b` is a non-negative supermartingale that begins at 1, when pulls come one by one
    under any rule, or those of a batch are independent given the past.  So

    .. math:: p = \min(1,\, C \max_{ab} g_a g_b e^{-Z_{ab}}),

    with C the number of `pairs` (of all bandits), is at most delta at some time at which the set
    named then is wrong, with probability at most delta: under every strategy and every way of
    looking.  The set may change from time to time; the smallest p so far belongs to one set.
    Where rewards have a say in which of two arms' results is counted next, as when late ones are
    counted in the order of their pulls, :math:`p\,(1+\ln\frac Cp)` is still valid, if the arms are
    independent: each M alone reaches 1/x with probability at most x, and so their largest values'
    product does with probability at most :math:`x(1+\ln\frac1x)`, with p = C x.

    With sigma, :math:`M = (1+N)^{-1/2}\exp(w(m-\mu)^2/(2\sigma^2))` with w = N²/(N+1), see
    `interval`.  Where :math:`\mu_b \geq \mu_a + \epsilon` the sum of both exponents is at least
    :math:`Z_{ab} = \max(0, m_a-m_b+\epsilon)^2\,w_aw_b/(2\sigma^2(w_a+w_b))`, its least value over
    all such means; so the same holds with this Z and :math:`g = \sqrt{1+N}`.

    Examples
    --------
    >>> round(evidence([100, 100, 100], [80, 50, 40], chosen=[0]), 4)
    0.0188
    """
    epsilon = check_real(epsilon, "epsilon", 0, 1 if sigma is None else 1e300, high_open=True)
    if sigma is not None:
        sigma = check_real(sigma, "sigma", 0, 1e300, low_open=True)
    if items is not None:
        *given, items = checked_items(pulls, sums, sigma, items)
        pulls, sums = (np.atleast_2d(x) for x in given)
    else:
        pulls, sums = (np.atleast_2d(x) for x in checked(pulls, sums, bounded=sigma is None))
    size, n = pulls.shape
    if items is not None and size > 1:
        refuse("items", items, "left out where there are several bandits")
    arms = as_integers(np.ravel(chosen), "chosen", 0, n - 1)
    k, (inside, left) = arms.size // size, np.zeros((2, size, n), dtype=bool)
    np.put_along_axis(inside, arms[: size * k].reshape(size, k), True, axis=1)
    if inside.sum() < max(1, arms.size):
        refuse("chosen", chosen, f"{size} row(s) of as many different arms")
    left.flat[as_integers(list(withdrawn), "withdrawn", 0, pulls.size - 1)] = True
    if (pulls == 0)[~left].any():
        return 1.0
    if items is not None:
        outside = np.flatnonzero(~inside[0] & ~left[0])
        return finite.evidence(pulls[0], sums[0], arms, outside, epsilon, items)
    lacks = np.log1p(pulls) / 2 if sigma else mixture_cost(np.maximum(pulls, 1), sums)
    worst = -np.inf
    for u, ones, lack, ins, outs in zip(pulls, sums, lacks, inside, ~inside & ~left, strict=True):
        b = np.flatnonzero(outs)
        for a in np.array_split(np.flatnonzero(ins)[:, None], 1 + arms.size * n // 2**20):
            z = separation(u[a], ones[a], u[b], ones[b], epsilon, sigma)
            worst = max(worst, (lack[a] + lack[b] - z).max(initial=-np.inf))
    return float(min(1.0, size * pairs(n, k) * np.exp(min(worst, 0.0))))


def separation(u, ones, v, others, epsilon, sigma=None):
    """Return Z of arms a with ``ones`` of u and b with ``others`` of v; arrays that broadcast."""
    p, q = ones / u, others / v
    if sigma is not None:
        lead = np.maximum(p - q + epsilon, 0) / sigma
        return lead**2 / (1 / shrunk(u) + 1 / shrunk(v)) / 2
    low, high = np.maximum(q - epsilon, 0.0), np.minimum(p, 1 - epsilon)
    if epsilon == 0:
        low = high = (ones + others) / (u + v)
    for _ in range(64 if epsilon else 0):  # the derivative times x(1-x)y(1-y) changes its sign once
        x, y = (low + high) / 2, (low + high) / 2 + epsilon
        above = u * (x - p) * y * (1 - y) + v * (y - q) * x * (1 - x) > 0
        low, high = np.where(above, low, x), np.where(above, x, high)
    x, y = (low + high) / 2, (low + high) / 2 + epsilon
    z = u * (part(p, x - p) + part(1 - p, p - x)) + v * (part(q, y - q) + part(1 - q, q - y))
    return np.where(q < p + epsilon, z, 0.0)


def shrunk(u):
    """Return u**2 / (u + 1): as many pulls the normal mixture makes of u, at least one."""
    return u * (u / (u + 1))


def pairs(n, k):
    """Return how many pairs of arms may make a set wrong, whichever others are withdrawn.

    With arms in the order of their means, a wrong set holds an arm a of a rank above k, and lacks
    an arm b before a, among those that are left; so a has a rank j > k from the start, and b one
    of the j - 1 before it.
    """
    return (n - k) * (n + k - 1) // 2


def checked(pulls, sums, bounded=True):
    """Return pulls and sums as float arrays of one shape, or refuse them by name."""
    allowed = "numbers, each from 0 to the pulls it stands for" if bounded else "finite numbers"
    pulls, sums = as_integers(pulls, "pulls", 0), as_numbers(sums, "sums", allowed)
    common_shape("sums", pulls, sums)
    pulls, sums = np.broadcast_arrays(pulls.astype(float), sums)
    bad = ~((sums >= 0) & (sums <= pulls)) if bounded else ~np.isfinite(sums)
    if bad.any():
        refuse("sums", sums[bad][0].item(), allowed)
    return pulls, sums


def checked_items(pulls, sums, sigma, items):
    """Return pulls and sums of 0/1 results as int64 arrays of one shape, and items; or refuse."""
    if sigma is not None:
        refuse("items", items, "left out where sigma is given")
    items = finite.check_items(items)
    return *finite.checked(*checked(pulls, sums), items), items


def mixture_cost(pulls, sums):
    """Return ln(sup L / KT), what the mixture lacks of the best p: 0.69 to ln(2 sqrt(u))."""
    whole = np.log(np.pi / 2 * pulls) / 2 + (pulls + 0.5) * np.log1p(0.5 / pulls) - 0.5
    return whole + half(pulls + 0.5) - half(sums) - half(pulls - sums)


def half(x):
    """Return ln Gamma(x + 1/2) - x ln x + x - ln(2 pi)/2, by Stirling's series from 30 on."""
    from scipy.special import gammaln, xlogy

    near, far = gammaln(x + 0.5) - xlogy(x, x) + x - math.log(2 * math.pi) / 2, np.maximum(x, 30.0)
    return np.where(x < 30, near, np.polyval(HALF, far**-2) / far)


def fall(mean, other, level):
    """Return x with kl(mean, mean exp(-x)) = level, where other is 1 - mean; any x at mean 0.

    As a function of x the divergence is convex and grows: from the left Newton's method steps to
    the right of the solution, and then comes down to it.
    """
    mean, other = np.where(mean > 0, mean, 1), np.where(mean > 0, other, 0)
    x = np.maximum(level, np.sqrt(2 * level * other / mean))  # both are on the left
    for _ in range(100):
        x = np.minimum(x, 800)  # where exp(-x) is 0
        down = -mean * np.expm1(-x)
        here = np.where(x < 1, excess(np.expm1(-np.minimum(x, 1))), x + np.expm1(-x))
        ahead = (level - mean * here - part(other, down)) * (other + down) / down
        x = x + ahead
        if (abs(ahead) < 1e-9 * x).all():
            break
    return x


def part(share, step):
    """Return share * (y - ln(1 + y)) for y = step / share, and step if share is 0.

    kl(m, m + step) is part(m, step) + part(1 - m, -step), both positive: nothing cancels.
    """
    y = np.maximum(step / np.where(share > 0, share, 1), 2.0**-52 - 1)
    return np.where(share > 0, share * excess(y), step)


def excess(x):
    """Return x - ln(1 + x), exactly near 0 as well."""
    near = np.clip(x, -0.03, 0.03)
    return np.where(near == x, np.polyval(SERIES, near) * near**2, x - np.log1p(x))


def meeting(u, ones, v, others, epsilon):
    """Return the x of Z of two arms, as numbers: where the derivative times x(1-x)y(1-y) is 0."""
    p, q = ones / u, others / v
    if epsilon == 0:
        return (ones + others) / (u + v)
    low, high = max(q - epsilon, 0.0), min(p, 1 - epsilon)
    x = (u * low + v * high) / (u + v)
    for _ in range(100):  # Newton's method, between places to both sides
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


def lack(u, ones):
    """Return ln g = ln(sup L / KT); as `mixture_cost` does, of numbers."""
    found = math.log(math.pi / 2 * u) / 2 + (u + 0.5) * math.log1p(0.5 / u) - 0.5
    return found + half_of(u + 0.5) - half_of(ones) - half_of(u - ones)


def half_of(x):
    """Return what `half` does, of a number."""
    y, product = x, 1.0
    while y < 30:
        product *= y + 0.5
        y += 1
    series = ((-31 / 40320 / y**2 + 7 / 2880) / y**2 - 1 / 24) / y
    near = math.log(product) + (x * math.log(x) if x > 0 else 0.0)
    return series + y * math.log(y) - (y - x) - near if y > x else series
