r"""Anytime-valid inference: confidence intervals for single arms, p-values for sets of arms.

After u pulls of an arm with rewards in [0, 1] and sum S let :math:`L(p) = p^S(1-p)^{u-S}`, and let
:math:`\mathrm{KT}` be its mean if p has the distribution Beta(1/2, 1/2), the mixture of Krichevsky
and Trofimov (1981).  On [0, 1] the function :math:`(p/\mu)^x((1-p)/(1-\mu))^{1-x}` of x is convex,
so its expectation for a reward x with mean :math:`\mu` is at most :math:`p + (1-p) = 1`.  Hence the
ratio :math:`M = \mathrm{KT}/L(\mu)` is a non-negative supermartingale that starts at 1, under every
sampling rule.  By Ville's inequality the probability that it ever reaches :math:`1/\delta` is at
most :math:`\delta` (Robbins 1970; Howard, Ramdas, McAuliffe and Sekhon 2021).

For :math:`u \geq 1`, :math:`\sup_p L(p) \leq 2\sqrt u\,\mathrm{KT}`.  As a function of S, the
logarithm of :math:`\mathrm{KT}/\sup_p L` is :math:`\varphi(S) + \varphi(u-S)` plus a constant,
:math:`\varphi(x) = \ln\Gamma(x+\frac12) - x\ln x`.  This is concave:
:math:`\varphi''(x) = \psi'(x+\frac12) - \frac1x < 0`, since :math:`\psi'(x+\frac12) =
\sum_j (x+j+\frac12)^{-2} < \sum_j [\frac1{x+j} - \frac1{x+j+1}] = \frac1x`.
Hence the ratio is smallest at S = 0 and S = u, where it is
:math:`c_u = \Gamma(u+\frac12)/(\sqrt\pi\,\Gamma(u+1))`; and :math:`2\sqrt u\,c_u` equals 1 at u = 1
and increases with u, since :math:`(u+\frac12)/\sqrt{u(u+1)} > 1`.
"""

import math
from collections.abc import Iterable
from functools import lru_cache
from typing import Any, Literal, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from topk._checks import (
    as_array,
    as_numbers,
    check_choice,
    check_delta,
    check_integers,
    check_real,
    common_shape,
    refuse,
    refuse_first,
    roundings,
)
from topk._tables import as_labels, joined, labels_of, places_among
from topk._types import Flags, Floats, Integers
from topk._warnings import warn_of_failure
from topk.confidence import capital, finite, sides
from topk.confidence.betting import betting_bounds, betting_pair_statistic
from topk.confidence.kl import (
    TINY,
    ULPS,
    kl_interval_scalar,
    kl_term,
    mixture_cost,
    mixture_cost_scalar,
)
from topk.confidence.paired import set_count

__all__ = ["evidence", "interval"]


def __dir__() -> list[str]:
    return __all__

LEVEL_SLACK = 1 + 1e-12  # factor of the level, larger than rounding errors
METHODS = ("pairs", "sides", "intervals")  # forms of `evidence`


@np.errstate(under="ignore")
def interval(
    pulls: ArrayLike,
    sums: ArrayLike,
    delta: float,
    sigma: float | None = None,
    *,
    squares: ArrayLike | None = None,
    items: int | None = None,
) -> tuple[NDArray[Any], NDArray[Any]]:
    r"""Return a confidence interval for an arm's mean that is valid at all times simultaneously.

    Parameters
    ----------
    pulls : array_like of int
        Number u of pulls, 0 to 2**53.
    sums : array_like of float
        Sum S of the rewards, which are in [0, 1]; with ``sigma`` any finite number. It is broadcast
        against ``pulls``.
    delta : float
        Bound in (0, 1) on the probability that the interval ever misses the arm's mean.  With delta
        / n the intervals of n arms are all valid with probability 1 - delta.
    sigma : float, optional
        Sub-Gaussian parameter of the rewards, such as the standard deviation of normal rewards;
        positive.
    squares : array_like of float, optional
        Sum of the squared rewards, between S**2 / u and S; broadcast.  If given, the interval
        adapts to the variance of the rewards, see Notes.  Not allowed with ``sigma``.
    items : int, optional
        Number N of 0/1 results of the arm, 1 to 1,000,000, from which the rewards are drawn without
        replacement in a uniformly random order.  The interval is then for the number of ones among
        all N, and its ends are integers.  Not allowed with ``sigma``.

    Returns
    -------
    low, high : ndarray of float, of the broadcast shape
        The ends, rounded outwards; without pulls (0, 1), or (-inf, inf) with ``sigma``.  With
        ``items`` ndarrays of int64: at least ``low`` and at most ``high`` of the arm's N results
        are 1; without pulls (0, N), and after all N pulls both ends are S.

    Raises
    ------
    ValueError
        If an argument is out of range, or arguments are given that exclude each other.

    See Also
    --------
    evidence : a p-value for a chosen set.

    Notes
    -----
    The interval contains all :math:`\mu` with :math:`\mathrm{KT}/L(\mu) \leq 1/\delta`, that is,
    :math:`u\,\mathrm{kl}(S/u, \mu) \leq \ln(1/\delta) + \ln(\sup_p L(p)/\mathrm{KT})`.  The last
    term is exact here; `topk.KLLUCB` bounds it by :math:`\ln(2\sqrt u)`.  With sigma the mixture
    over p is normal with variance :math:`\sigma^2`, and
    :math:`M = (1+u)^{-1/2}\exp((S-u\mu)^2/(2\sigma^2(u+1)))`.

    Assumption: conditionally on everything counted so far and on which reward is counted next, the
    expectation of that reward is the arm's mean.  Results may be delayed or lost, but not because
    of their values.

    With squares the interval comes from a mixture of KT and of bets (Waudby-Smith and Ramdas 2024),
    whose capital is bounded in terms of u, S and the sum of squares; see `topk.confidence.betting`
    for the derivation.  `topk.BettingLUCB` uses this interval.  It is never longer than the one
    without squares at delta / 2, and far shorter if the variance is small.

    With items the interval contains all k with :math:`P_k \geq \delta\,\mathrm{KT}`, where
    :math:`P_k` is the probability of the observed sequence if k of the N results are 1
    (`topk.confidence.finite`); the counted items must be the first u of the order.

    Examples
    --------
    >>> low, high = interval([0, 10, 10], [0, 0, 7], delta=0.05)
    >>> low.round(3).tolist(), high.round(3).tolist()
    ([0.0, 0.0, 0.252], [1.0, 0.377, 0.967])

    A hundred grades with mean 0.7 and standard deviation 0.05, without and with their squares:

    >>> [end.round(3).tolist() for end in interval(100, 70, 0.05)]
    [0.537, 0.834]
    >>> [end.round(3).tolist() for end in interval(100, 70, 0.05, squares=49.25)]
    [0.651, 0.731]

    Draws from 797 items without replacement:

    >>> low, high = interval([0, 500, 797], [0, 300, 461], delta=0.05, items=797)
    >>> low.tolist(), high.tolist()
    ([0, 439, 461], [797, 516, 461])
    """
    warn_of_failure(check_delta(delta), 2)
    return _interval(pulls, sums, delta, sigma, squares=squares, items=items)


def _interval(pulls, sums, delta, sigma=None, *, squares=None, items=None):
    """Return what `interval` returns."""
    delta = check_delta(delta)
    pulls, sums, squares = joined(pulls=pulls, sums=sums, squares=squares)
    if items is not None:
        if squares is not None:
            refuse("squares", "given", "omitted if items is given")
        pulls, sums, items = check_item_counts(pulls, sums, sigma, items)
        return finite.interval(pulls, sums, items, delta)
    pulls, sums = check_sums(pulls, sums, bounded=sigma is None)
    if squares is not None:
        pulls, sums, squares = check_squares(pulls, sums, squares, sigma)
    seen, level = np.maximum(pulls, 1), -math.log(delta)
    if sigma is not None:
        sigma = check_real(sigma, "sigma", 0, 1e300, low_open=True)
        mean, most = sums / seen, np.log1p(seen) + 2 * level
        radius = sigma * np.sqrt((seen + 1) * most) / seen * LEVEL_SLACK + (ULPS - 1) * abs(mean)
        radius = np.where(pulls > 0, radius, np.inf)
        return mean - radius, mean + radius
    if squares is None:
        low, high = np.vectorize(mixture_interval, otypes=[float] * 2)(seen, sums, level)
    else:
        low, high = np.vectorize(betting_bounds, otypes=[float] * 2)(seen, sums, squares, level)
    return np.where(pulls > 0, low, 0.0), np.where(pulls > 0, high, 1.0)


@lru_cache(maxsize=2**12)  # the many states of a simulation, or of a table, are often the same
def mixture_interval(u, ones, level):
    """Return the interval of an arm at delta = exp(-level), as numbers, rounded outwards; u >= 1.

    Parameters
    ----------
    u, ones
        Pulls, and the sum of the rewards, which are in [0, 1].
    """
    ones = ones if ones > TINY else 0.0
    low, high = kl_interval_scalar(u, ones, (mixture_cost_scalar(u, ones) + level) * LEVEL_SLACK)
    return low / ULPS, min(high * ULPS, 1.0)


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
    method: Literal["pairs", "sides", "intervals"] = "pairs",
) -> float:
    r"""Return an anytime-valid p-value for the hypothesis that the chosen set is wrong by epsilon.

    Parameters
    ----------
    pulls, sums : array_like, shape (n,) or (M, n)
        Number of pulls of each arm, and the sum of its rewards, which are in [0, 1]; with ``sigma``
        any finite number.
    chosen : array_like of int, shape (k,) or (M, k)
        The set; for several bandits one row per bandit.  For ``method="sides"``, and for pairs
        with epsilon > 0, its size k must be fixed before the data are seen, because delta is
        divided by k: the smallest of p-values for several k is not a p-value.  If ``pulls`` or
        ``sums`` is a dict or a pandas Series with other labels than 0, 1, 2, ..., the labels of
        arms, also in ``withdrawn``.
    epsilon : float
        Tolerance in [0, 1), with ``sigma`` any number of at least 0.  The set is right if no other
        remaining arm has a mean more than epsilon above that of a chosen arm.
    withdrawn : sequence of int
        Withdrawn arms; arm i of bandit m is m n + i.
    sigma, items : optional
        As in `interval`; ``items`` for a single bandit only, and epsilon N is rounded down.
    squares : array_like of float, of the shape of ``sums``, optional
        As in `interval`.
    method : {'pairs', 'sides', 'intervals'}
        What is compared across the boundary of the set: pairs of arms, the one-sided bounds of
        `topk.confidence.sides` (for a single bandit), or the joint intervals of single arms.  The
        choice must not depend on the data: the smaller of two is not a p-value.  With ``items``
        pairs are replaced by intervals.

    Returns
    -------
    float
        The p-value; 1.0 while some remaining arm has no pull.

    Raises
    ------
    ValueError
        If an argument is out of range, or arguments are given that exclude each other.

    See Also
    --------
    interval : bounds on the mean of one arm.

    Notes
    -----
    For a in the set, b outside and numbers of pulls N let :math:`Z_{ab}` be the minimum of
    :math:`N_a\,\mathrm{kl}(m_a, x) + N_b\,\mathrm{kl}(m_b, x+\epsilon)` over x, and 0 if
    :math:`m_b \geq m_a+\epsilon`; let :math:`g = \sup_p L(p)/\mathrm{KT} \leq 2\sqrt N`.  If
    :math:`\mu_b \geq \mu_a + \epsilon`, then :math:`e^{Z_{ab}} \leq g_a g_b M_a M_b`, where
    :math:`M_a M_b` is a non-negative supermartingale that starts at 1 if arms are pulled one at a
    time by any rule, or if the rewards of a batch are independent given the past.  Hence

    .. math:: p = \min(1,\, C \max_{ab} g_a g_b e^{-Z_{ab}}),

    with C the number `pair_count` (of all bandits; `topk.TopTwo` and its sessions use the smaller
    `pair_multiplier`): the probability that ever :math:`p \leq \delta`
    while the current set is wrong is at most :math:`\delta`, for every strategy and every stopping
    time.  The set may change over time; the smallest p so far belongs to one set.  If rewards
    influence which of two arms' results is counted next, for example when delayed results are
    counted in the order of their pulls, :math:`p\,(1+\ln\frac Cp)` is still valid for independent
    arms: each M alone reaches 1/x with probability at most x, hence the product of their maxima
    does so with probability at most :math:`x(1+\ln\frac1x)`, with p = C x.

    With sigma, :math:`M = (1+N)^{-1/2}\exp(w(m-\mu)^2/(2\sigma^2))` with w = N²/(N+1), see
    `interval`.  If :math:`\mu_b \geq \mu_a + \epsilon`, the sum of both exponents is at least
    :math:`Z_{ab} = \max(0, m_a-m_b+\epsilon)^2\,w_aw_b/(2\sigma^2(w_a+w_b))`, its minimum over all
    such means, so the same holds with this Z and :math:`g = \sqrt{1+N}`.

    With ``method="sides"`` p is the smallest :math:`\delta` at which the one-sided bounds of
    `topk.confidence.sides` separate the set: the stop of `topk.KLLUCB`.  When an arm was withdrawn
    is not known here, so each withdrawal counts as that of an unsettled arm; a session knows
    better.

    With ``method="intervals"`` p is the smallest :math:`\delta` at which those of `interval` at
    :math:`\delta/n` (n counts all arms of all bandits) are separated: no upper end outside the set
    is more than epsilon above a lower end inside.  The intervals shrink as :math:`\delta` grows.
    If p is at most :math:`\delta` while some :math:`\mu_b > \mu_a + \epsilon`, the intervals at
    :math:`\delta/n` are separated, hence the mean of a or of b is outside its interval; the
    probability that this ever happens to any arm is at most :math:`\delta`.  Each arm is treated
    separately here: the order in which the results of different arms are counted and withdrawals do
    not matter, and arms may be dependent.  Pairs need fewer pulls if all arms have similar numbers
    of pulls, intervals if most pulls went to the arms at the boundary, as in LUCB.

    With squares M is the mixture of KT and bets of `topk.confidence.betting`, and for pairs
    :math:`p = \min(1, C\max_{ab} e^{-Z_{ab}})` with the Z of (3) there.

    Examples
    --------
    >>> round(evidence([100, 100, 100], [80, 50, 40], chosen=[0]), 4)
    0.0188
    >>> round(evidence([100, 100, 100], [80, 50, 40], chosen=[0], method="sides"), 4)
    0.129
    >>> round(evidence([100, 100, 100], [80, 50, 40], chosen=[0], method="intervals"), 4)
    0.2361
    """
    return found_evidence(
        pulls, sums, chosen, epsilon, withdrawn, sigma, squares=squares, items=items, method=method
    )


@np.errstate(under="ignore")  # terms that vanish beside 1 are harmless
def found_evidence(pulls, sums, chosen, epsilon=0.0, withdrawn=(), sigma=None, *, squares=None,
                   items=None, method="pairs", form=None):  # fmt: skip
    """Return `evidence`, for `PairForm` pairs of `topk.TopTwo` if ``form`` is given."""
    check_choice(method, "method", METHODS)
    columns = {"pulls": pulls, "sums": sums, "squares": squares}
    labelled = next(((x, name) for name, x in columns.items() if labels_of(x) is not None),
                    (None, "pulls"))
    if not isinstance(withdrawn, set | frozenset):
        withdrawn = as_labels(withdrawn, "withdrawn", "a list of numbers of arms")
    chosen = places_among(chosen, "chosen", *labelled)
    withdrawn = places_among(list(withdrawn), "withdrawn", *labelled)
    pulls, sums, squares = joined(pulls=pulls, sums=sums, squares=squares)
    epsilon = check_real(epsilon, "epsilon", 0, 1 if sigma is None else 1e300, high_open=True)
    if sigma is not None:
        sigma = check_real(sigma, "sigma", 0, 1e300, low_open=True)
    if items is not None:
        if squares is not None:
            refuse("squares", "given", "omitted if items is given")
        *given, items = check_item_counts(pulls, sums, sigma, items)
        pulls, sums = (np.atleast_2d(x) for x in given)
    else:
        pulls, sums = (np.atleast_2d(x) for x in check_sums(pulls, sums, bounded=sigma is None))
    size, n = pulls.shape
    if items is not None and size > 1:
        refuse("items", items, "omitted for several bandits")
    arms = np.ravel(as_array(chosen, "chosen", "numbers of arms"))
    arms = check_integers(arms, "chosen", n - 1, ndim=None)
    k, (inside, withdrawn_arms) = arms.size // size, np.zeros((2, size, n), dtype=bool)
    np.put_along_axis(inside, arms[: size * k].reshape(size, k), True, axis=1)
    if inside.sum() < max(1, arms.size):
        refuse("chosen", chosen, f"{size} row(s) of different arms, equally many in each")
    gone = check_integers(list(withdrawn), "withdrawn", pulls.size - 1, ndim=None)
    withdrawn_arms.flat[gone] = True
    if (pulls == 0)[~withdrawn_arms].any():
        return 1.0
    outside = ~inside & ~withdrawn_arms
    if squares is not None:
        squares = np.atleast_2d(as_array(squares, "squares", "an array of numbers"))
        *_, squares = check_squares(pulls, sums, squares, sigma)
    if method == "sides":
        if size > 1:
            refuse("method", method, "'pairs' or 'intervals' for several bandits")
        unsettled = dict.fromkeys(np.flatnonzero(withdrawn_arms).tolist(), sides.NEVER)
        levels = sides.Levels(n, k, n, unsettled)
        squared = None if squares is None else squares[0]
        ends = side_ends(pulls[0], sums[0], sigma, squared, items)
        allowed = epsilon if items is None else finite.tolerated_items(epsilon, items)
        return sides.evidence(levels, ends, inside[0], outside[0], allowed)
    if items is not None:
        others = np.flatnonzero(outside[0])
        return finite.evidence(pulls[0], sums[0], arms, others, epsilon, items)
    if method == "intervals":
        return by_intervals(pulls, sums, inside, outside, epsilon, sigma, squares)
    found = by_pairs(pulls, sums, inside, outside, epsilon, sigma, squares, form)
    worst = max((log_p.max(initial=-np.inf) for *_, log_p in found), default=-np.inf)
    return float(np.exp(min(worst, 0.0)))


def side_ends(pulls, sums, sigma=None, squares=None, items=None):
    """Return the `topk.confidence.sides.Ends` of arms, in whole items if these are given."""
    if items is not None:
        return finite.side_ends(pulls.astype(np.int64), np.rint(sums).astype(np.int64), items)
    if sigma is not None:
        return sides.normal_ends(pulls, sums, sigma)
    if squares is not None:
        return capital.capital_ends(pulls, sums, capital.batch_log_products(pulls, sums, squares))
    return sides.mixture_ends(pulls, sums)


def by_pairs(pulls, sums, inside, outside, epsilon, sigma=None, squares=None, form=None):
    """Yield bandit, arms a inside (m, 1), arms b outside, and ln p of each pair (m, ...).

    The pairs come in parts that fit into memory; arguments are checked arrays (M, n).  ``form``, a
    `PairForm`, is that of `topk.TopTwo`.
    """
    size, n = pulls.shape
    costs = np.log1p(pulls) / 2 if sigma else mixture_cost(np.maximum(pulls, 1), sums)
    many = 2**20 if squares is None else 2**14  # pairs at a time
    for m, (u, ones, cost) in enumerate(zip(pulls, sums, costs, strict=True)):
        a, b = np.flatnonzero(inside[m])[:, None], np.flatnonzero(outside[m])
        known = math.log(size * pair_count(n, a.size)) if b.size else 0.0
        for part in np.array_split(a, 1 + a.size * n // many):
            if squares is not None:
                seen = np.array([u, ones, squares[m]])
                z = betting_pair_statistic(seen[:, part], seen[:, b], epsilon)
            else:
                z = pair_statistic(u[part], ones[part], u[b], ones[b], epsilon, sigma)
                z = z - cost[part] - cost[b]
            yield m, part, b, known - z if form is None else form.log_p(z)


class PairForm(NamedTuple):
    """How `topk.TopTwo` turns V = Z - ln(g_a g_b) of the pairs into p-values.

    Parameters
    ----------
    multiplier
        See `pair_multiplier`.
    share
        The prior probability that p_b < p_a + epsilon, see `prior_share`; 1 does without it.
    late
        Whether rewards may have influenced which of two arms' results was counted next.
    """

    multiplier: float
    share: float = 1.0
    late: bool = False

    def log_p(self, v):
        """Return ln p for values V."""
        seen, share = np.maximum(v, 0.0), 1.0 if self.late else self.share
        found = math.log(self.multiplier) - seen
        if self.late:
            found = found + np.log1p(seen)
        else:
            with np.errstate(divide="ignore"):
                found = found + math.log(share) - np.log1p((share - 1) * np.exp(-seen))
        return np.where(v > 0, found, max(math.log(self.multiplier), 0.0))


@lru_cache(maxsize=64)
def prior_share(epsilon):
    r"""Return Pr(q < p + epsilon) for independent p and q of Beta(1/2, 1/2), rounded up.

    With p = sin^2 t, t is uniform: an average over t, by the midpoint rule.
    """
    t = (np.arange(20_000) + 0.5) * math.pi / 40_000
    below = np.minimum(np.sin(t) ** 2 + epsilon, 1.0)
    return min(float(np.mean(2 / math.pi * np.arcsin(np.sqrt(below)))) + 1e-6, 1.0)


def pair_multiplier(n, k, epsilon, absent):
    r"""Return C, by which `topk.TopTwo` multiplies the p-value of a pair.

    Parameters
    ----------
    n : int
        Number of arms on the list that was fixed at the start.
    k : int
        Number of arms to select.
    epsilon : float
        Tolerance.
    absent : int or None
        How many arms of the list are not present: withdrawn, or announced and not yet joined.  None
        if it is agreed at the start that all stay and none joins: then nothing is reserved.

    Notes
    -----
    *Without a tolerance.*  Rank all arms of the list by their means, ties by index.  If a chosen
    set is not the first k of those present, then somewhere in the order of those present an arm
    that is not chosen is directly followed by a chosen one.  All claims across the boundary of the
    set are tested, hence also the false claim about these two.  While all arms are present they are
    neighbours in the ranking: n - 1 pairs, each of which gets 0.9 delta / (n - 1).  Otherwise they
    may be any two arms: the other (n - 1)(n - 2)/2 pairs share 0.1 delta.

    *With a tolerance* this fails, since neighbours may be closer than epsilon.  A wrong set
    contains an arm that is not among the k best, and lacks one of these: k (n - k) pairs share 0.9
    delta.
    After w withdrawals the arm that is lacking may have the rank k + s, s = 1, ..., w, and the
    other one any of the n - k - s later ranks: such a pair gets
    :math:`0.05\,\delta\max(\frac1{(n-k-s)\,s\,(s+1)}, \frac2{(n-k)(n-k-1)})`.
    """
    if absent is None:
        return float(set_count(n, k, epsilon))
    if epsilon == 0:
        return (n - 1) / 0.9 if absent == 0 else max(5.0 * (n - 1) * (n - 2), (n - 1) / 0.9)
    found, others = k * (n - k) / 0.9, n - k
    for s in range(1, min(absent, others - 1) + 1):
        one, each = 1 / ((others - s) * s * (s + 1.0)), 2 / (others * (others - 1.0))
        found = max(found, 20 / max(one, each))
    return found


def by_intervals(pulls, sums, inside, outside, epsilon, sigma=None, squares=None):
    """Return the smallest delta at which the intervals at delta/n are separated.

    It is 0 if there is no arm outside.  Otherwise it is at least n exp(-`sides.MAX_LEVEL`), since
    smaller values are not tried.
    """
    if not outside.any():
        return 0.0
    size = pulls.size
    u, ones = pulls.astype(np.int64).ravel(), sums.ravel()

    def ends(level, at):
        """Return the ends of some arms, shape (2, ...)."""
        q = None if squares is None else squares.flat[at]
        return np.array(_interval(u[at], ones[at], math.exp(-level) / size, sigma, squares=q))

    def hardest(level):
        """Return the arms inside and outside of the bandit whose ends overlap the most."""
        low, high = ends(level, slice(None)).reshape(2, *pulls.shape)
        m = overlap(low, high, inside, outside).argmax()
        a = np.where(inside[m], low[m], np.inf).argmin()
        b = np.where(outside[m], high[m], -np.inf).argmax()
        return m * pulls.shape[1] + np.array([a, b])

    def separated(pair, level):
        (low, _), (_, high) = ends(level, pair).T
        return bool(high - low <= epsilon)

    level = sides.level_of_all(hardest, separated, sides.MAX_LEVEL - math.log(size))
    return math.exp(-max(level, 0.0))


def overlap(low: Floats, high: Floats, inside: Flags, outside: Flags) -> Floats:
    """Return, per bandit, how far the highest end outside is above the lowest end inside."""
    highest = np.where(outside, high, -np.inf).max(axis=-1)
    return highest - np.where(inside, low, np.inf).min(axis=-1)


def pair_statistic(u, ones, v, others, epsilon, sigma=None):
    """Return Z of arms a (sum ``ones``, u pulls) and b (``others``, v); arrays are broadcast."""
    p, q = ones / u, others / v
    if sigma is not None:
        lead = np.maximum(p - q + epsilon, 0) / sigma
        return lead**2 / (1 / effective_pulls(u) + 1 / effective_pulls(v)) / 2
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


def effective_pulls(u):
    """Return u**2 / (u + 1), the effective number of pulls under the normal mixture, for u >= 1."""
    return u * (u / (u + 1))


def pair_count(n, k):
    """Return the number of pairs of arms that can make a set wrong, whatever is withdrawn.

    Rank all arms by their means.  Among the remaining arms, a wrong set contains an arm a that is
    not one of the k best and lacks a better arm b.  So a has a rank j > k among all arms, and b is
    one of the j - 1 arms before it.
    """
    return (n - k) * (n + k - 1) // 2


def check_sums(pulls: ArrayLike, sums: ArrayLike, bounded: bool = True) -> tuple[Floats, Floats]:
    """Return pulls and sums as float arrays of one shape, or refuse them by name."""
    allowed = "numbers, each from 0 to the number of pulls" if bounded else "finite numbers"
    pulls, sums = check_integers(pulls, "pulls", ndim=None), as_numbers(sums, "sums", allowed)
    common_shape("sums", pulls, sums)
    pulls, sums = np.broadcast_arrays(pulls.astype(float), sums)
    bad = ~((sums >= 0) & (sums <= pulls)) if bounded else ~np.isfinite(sums)
    refuse_first("sums", sums, bad, allowed)
    return pulls, sums


def check_squares(
    pulls: ArrayLike, sums: ArrayLike, squares: ArrayLike, sigma: float | None = None,
) -> tuple[Floats, Floats, Floats]:
    """Return pulls, sums and squares as float arrays of one shape, or refuse the squares."""
    if sigma is not None:
        refuse("squares", squares, "omitted if sigma is given")
    allowed = "numbers, each between sums**2 / pulls and sums"
    squares = as_numbers(squares, "squares", allowed)
    common_shape("squares", pulls, squares)
    pulls, sums, squares = np.broadcast_arrays(pulls, sums, squares)
    least, share = sums * sums / np.maximum(pulls, 1), roundings(pulls)
    bad = ~((squares >= least * (1 - share)) & (squares <= sums * (1 + share)))
    refuse_first("squares", squares, bad, allowed)
    return pulls, sums, np.clip(squares, least, np.maximum(sums, least))


def check_item_counts(
    pulls: ArrayLike, sums: ArrayLike, sigma: float | None, items: Any,
) -> tuple[Integers, Integers, int]:
    """Return pulls and sums of 0/1 results as int64 arrays of one shape, and items; or refuse."""
    if sigma is not None:
        refuse("items", items, "omitted if sigma is given")
    items = finite.check_items(items)
    pulls, sums = check_sums(pulls, sums)
    pulls, sums = finite.check_results(pulls, sums, items)
    return pulls, sums, items
