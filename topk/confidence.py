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
from collections.abc import Iterable
from typing import Any, Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray

from topk import finite
from topk._checks import (
    as_integers,
    as_numbers,
    check_choice,
    check_delta,
    check_real,
    common_shape,
    refuse,
)
from topk._types import Flags, Floats, Integers
from topk.kl import ULPS, kl_fall, kl_term, mixture_cost

__all__ = ["evidence", "interval"]

SLACK = 1 + 1e-12  # of the level: what rounding does is less
METHODS = ("pairs", "intervals")  # forms of `evidence`
FAR = 690.0  # ln(1/delta) up to which `evidence` looks for intervals that are apart, and ...
CLOSE = 1e-7  # ... how exactly


def interval(
    pulls: ArrayLike,
    sums: ArrayLike,
    delta: float,
    sigma: float | None = None,
    *,
    squares: ArrayLike | None = None,
    items: int | None = None,
) -> tuple[NDArray[Any], NDArray[Any]]:
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
    squares : array_like of float, optional
        Sum of the squared rewards, between S**2 / u and S; broadcast.  With it the interval
        follows the rewards' variance, see Notes.  Not together with ``sigma``.
    items : int, optional
        The results are 0 or 1 and drawn without replacement from so many of the arm's, N, 1 to
        1,000,000, in a uniformly random order.  Then the interval is about the number of ones
        among all N, and its ends are whole numbers.  Not together with ``sigma``.

    Returns
    -------
    low, high : ndarray of float, of the shape of all
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

    With squares the interval is that of a mixture of KT and of bets (Waudby-Smith and Ramdas 2024)
    of which a bound needs no more than u, S and the sum of squares; `topk.betting` derives it.  It
    is the interval of `topk.BettingLUCB`.  It is never longer than the one without squares at
    delta / 2, and far shorter where the variance is small.

    With items, all k with :math:`P_k \geq \delta\,\mathrm{KT}`, where :math:`P_k` is the
    probability of the sequence of results if k of the N are 1 (`topk.finite`); the first u items
    of the order have to be those that are counted.

    Examples
    --------
    >>> low, high = interval([0, 10, 10], [0, 0, 7], delta=0.05)
    >>> low.round(3).tolist(), high.round(3).tolist()
    ([0.0, 0.0, 0.252], [1.0, 0.377, 0.967])

    A hundred grades with mean .7 and standard deviation .05, without and with their squares:

    >>> [end.round(3).tolist() for end in interval(100, 70, 0.05)]
    [0.537, 0.834]
    >>> [end.round(3).tolist() for end in interval(100, 70, 0.05, squares=49.25)]
    [0.651, 0.731]

    Of 797 items without replacement:

    >>> low, high = interval([0, 500, 797], [0, 300, 461], delta=0.05, items=797)
    >>> low.tolist(), high.tolist()
    ([0, 439, 461], [797, 516, 461])
    """
    delta = check_delta(delta)
    if items is not None:
        if squares is not None:
            refuse("squares", "given", "left out where items are given")
        pulls, sums, items = checked_items(pulls, sums, sigma, items)
        return finite.interval(pulls, sums, items, delta)
    pulls, sums = checked(pulls, sums, bounded=sigma is None)
    if squares is not None:
        from topk.betting import betting_interval

        pulls, sums, squares = checked_squares(pulls, sums, squares, sigma)
        return betting_interval(pulls, sums, squares, -math.log(delta))
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
    low = mean * np.exp(-kl_fall(mean, other, level)) / ULPS
    high = (mean - other * np.expm1(-kl_fall(other, mean, level))) * ULPS
    return np.where(pulls > 0, low, 0.0), np.where(pulls > 0, np.minimum(high, 1), 1.0)


def evidence(
    pulls: ArrayLike,
    sums: ArrayLike,
    chosen: ArrayLike,
    epsilon: float = 0.0,
    withdrawn: Iterable[int] = (),
    sigma: float | None = None,
    *,
    squares: ArrayLike | None = None,
    items: int | None = None,
    method: Literal["pairs", "intervals"] = "pairs",
) -> float:
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
    squares : array_like of float, of the shape of ``sums``, optional
        As for `interval`.
    method : {'pairs', 'intervals'}
        What is compared across the boundary of the set: pairs of arms, or the joint intervals of
        single arms.  Choose it before looking at the data: the smaller of both is no p-value.

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

    By intervals p is the least :math:`\delta` at which those of `interval` at :math:`\delta/n` (of
    all n arms of all bandits) are apart: no upper end outside the set is more than epsilon above a
    lower end inside.  The intervals shrink as :math:`\delta` grows.  So if p is at most
    :math:`\delta` while some :math:`\mu_b > \mu_a + \epsilon`, the intervals at
    :math:`\delta/n` are apart, and a or b has left its own, which some arm ever does with
    probability at most :math:`\delta`.  Each arm stands for itself here: neither which of two arms'
    results is counted next nor a withdrawal changes anything, and arms may depend on each other.
    Pairs want fewer pulls where all arms have about as many, intervals where pulls went to the arms
    at the boundary, as in LUCB.

    With squares M is the mixture of KT and bets of `topk.betting`, and by pairs
    :math:`p = \min(1, C\max_{ab} e^{-Z_{ab}})` with the Z of (3) there.

    Examples
    --------
    >>> round(evidence([100, 100, 100], [80, 50, 40], chosen=[0]), 4)
    0.0188
    >>> round(evidence([100, 100, 100], [80, 50, 40], chosen=[0], method="intervals"), 4)
    0.2361
    """
    check_choice(method, "method", METHODS)
    epsilon = check_real(epsilon, "epsilon", 0, 1 if sigma is None else 1e300, high_open=True)
    if sigma is not None:
        sigma = check_real(sigma, "sigma", 0, 1e300, low_open=True)
    if items is not None:
        if squares is not None:
            refuse("squares", "given", "left out where items are given")
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
        others = np.flatnonzero(~inside[0] & ~left[0])
        return finite.evidence(pulls[0], sums[0], arms, others, epsilon, items)
    outside = ~inside & ~left
    if squares is not None:
        *_, squares = checked_squares(pulls, sums, np.atleast_2d(squares), sigma)
    if method == "intervals":
        return by_intervals(pulls, sums, inside, outside, epsilon, sigma, squares)
    found = by_pairs(pulls, sums, inside, outside, epsilon, sigma, squares)
    worst = max((doubt.max(initial=-np.inf) for *_, doubt in found), default=-np.inf)
    return float(np.exp(min(worst, 0.0)))


def by_pairs(pulls, sums, inside, outside, epsilon, sigma=None, squares=None):
    """Yield bandit, arms a (m, 1) inside, arms b outside, and ln of the p of each pair (m, ...).

    All pairs, in parts that memory holds; arrays (M, n), checked.
    """
    from topk.betting import betting_separation

    size, n = pulls.shape
    lacks = np.log1p(pulls) / 2 if sigma else mixture_cost(np.maximum(pulls, 1), sums)
    many = 2**20 if squares is None else 2**14  # pairs at a time
    for m, (u, ones, lack) in enumerate(zip(pulls, sums, lacks, strict=True)):
        a, b = np.flatnonzero(inside[m])[:, None], np.flatnonzero(outside[m])
        known = math.log(size * pairs(n, a.size)) if b.size else 0.0
        for part in np.array_split(a, 1 + a.size * n // many):
            if squares is not None:
                seen = np.array([u, ones, squares[m]])
                z = betting_separation(seen[:, part], seen[:, b], epsilon)
            else:
                z = separation(u[part], ones[part], u[b], ones[b], epsilon, sigma)
                z = z - lack[part] - lack[b]
            yield m, part, b, known - z


def by_intervals(pulls, sums, inside, outside, epsilon, sigma=None, squares=None):
    """Return the least delta, from exp(-FAR) on, at which the intervals at delta/n are apart."""
    if not outside.any():
        return 0.0
    pulls = pulls.astype(np.int64)
    nearest = FAR - math.log(pulls.size)

    def apart(level):
        delta = math.exp(-level) / pulls.size
        lows, highs = interval(pulls, sums, delta, sigma, squares=squares)
        return overlap(lows, highs, inside, outside).max() <= epsilon

    if not apart(0.0):
        return 1.0
    low, high = 0.0, 1.0
    while apart(min(high, nearest)):
        if high >= nearest:
            return math.exp(-nearest)
        low, high = high, 2 * high
    while high - low > CLOSE:
        middle = (low + high) / 2
        low, high = (middle, high) if apart(middle) else (low, middle)
    return math.exp(-low)  # at which they are apart


def overlap(low: Floats, high: Floats, inside: Flags, outside: Flags) -> Floats:
    """Return how far the highest end outside is above the lowest end inside; of each bandit."""
    most = np.where(outside, high, -np.inf).max(axis=-1)
    return most - np.where(inside, low, np.inf).min(axis=-1)


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
    z = u * (kl_term(p, x - p) + kl_term(1 - p, p - x))
    z = z + v * (kl_term(q, y - q) + kl_term(1 - q, q - y))
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


def checked(pulls: ArrayLike, sums: ArrayLike, bounded: bool = True) -> tuple[Floats, Floats]:
    """Return pulls and sums as float arrays of one shape, or refuse them by name."""
    allowed = "numbers, each from 0 to the pulls it stands for" if bounded else "finite numbers"
    pulls, sums = as_integers(pulls, "pulls", 0), as_numbers(sums, "sums", allowed)
    common_shape("sums", pulls, sums)
    pulls, sums = np.broadcast_arrays(pulls.astype(float), sums)
    bad = ~((sums >= 0) & (sums <= pulls)) if bounded else ~np.isfinite(sums)
    if bad.any():
        refuse("sums", sums[bad][0].item(), allowed)
    return pulls, sums


def checked_squares(
    pulls: ArrayLike, sums: ArrayLike, squares: ArrayLike, sigma: float | None = None,
) -> tuple[Floats, Floats, Floats]:
    """Return pulls, sums and squares as float arrays of one shape, or refuse the squares."""
    if sigma is not None:
        refuse("squares", squares, "left out where there is a sigma")
    allowed = "numbers, each between sums**2 / pulls and sums"
    squares = as_numbers(squares, "squares", allowed)
    common_shape("squares", pulls, squares)
    pulls, sums, squares = np.broadcast_arrays(pulls, sums, squares)
    slack = 1e-9 * pulls
    bad = ~((squares >= sums * sums / np.maximum(pulls, 1) - slack) & (squares <= sums + slack))
    if bad.any():
        refuse("squares", squares[bad][0].item(), allowed)
    return pulls, sums, squares


def checked_items(
    pulls: ArrayLike, sums: ArrayLike, sigma: float | None, items: Any,
) -> tuple[Integers, Integers, int]:
    """Return pulls and sums of 0/1 results as int64 arrays of one shape, and items; or refuse."""
    if sigma is not None:
        refuse("items", items, "left out where sigma is given")
    items = finite.check_items(items)
    pulls, sums = checked(pulls, sums)
    pulls, sums = finite.checked(pulls, sums, items)
    return pulls, sums, items


