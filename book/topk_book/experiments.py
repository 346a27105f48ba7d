"""Simulations for theorems: budgets, change of measure, groups, the k-th best arm.

All functions raise a ValueError if an argument is out of range.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import cache
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from topk._checks import between, check_integer, check_k, check_seed, refuse
from topk._ranges import (
    as_many_as,
    below_n,
    below_one,
    integer,
    one_bandit,
    probability,
    smallest_integer,
    validated,
)
from topk._types import Floats, Integers, Seed
from topk.bandits import Bandit, BernoulliBandit, check_bandit
from topk.hardness.measures import bernoulli_kl
from topk.lower_bounds.groups import group_family
from topk.lower_bounds.two_coins import information, log_likelihood_ratio
from topk.metrics import regret_within
from topk.rules.ranking import largest
from topk.rules.strategy import Strategy
from topk.simulate.algorithm_b import replicate_both, two_level_means
from topk.simulate.results import Replications
from topk.simulate.run import check_strategy, replicate
from topk.stats import Interval, mean_interval, proportion_interval
from topk.strategies.halving import halving_share

if TYPE_CHECKING:
    from distributed import Client


class SmallestBudget(NamedTuple):
    """The smallest budget with which a strategy was found to be reliable.

    Attributes
    ----------
    budget : int
        Total pulls.
    constant : float
        ``budget`` in units of n / epsilon^2 (1 + ln(1/delta) / k), the form of Corollary 4.4.
    reliable : Interval
        Probability of average regret at most epsilon with this budget, and its interval.
    seed : int
        The seed that repeats the simulation.
    """

    budget: int
    constant: float
    reliable: Interval
    seed: int


@validated(
    n=integer(2), k=below_n, epsilon=below_one, delta=probability, plays=integer(1),
    ratio=between(1, math.inf),
)
def smallest_budget(
    make: Callable[[int], Strategy],
    n: int,
    k: int,
    epsilon: float,
    delta: float = 0.2,
    *,
    plays: int = 1000,
    seed: Seed | None = None,
    ratio: float = 1.1,
    jobs: int | Client | str | None = None,
) -> SmallestBudget:
    r"""Find by simulation the smallest budget with which a strategy has regret epsilon.

    The instance is that of Algorithm B: k arms of mean :math:`\frac12+4\epsilon` and n - k arms of
    mean 1/2.

    Parameters
    ----------
    make : callable
        Function of a budget (int) that returns a strategy that selects k arms, such as
        ``lambda budget: topk.OptMAI(10, budget)``.
    n : int
        Number of arms.
    k : int
        Arms to select, 1 to n / 2.
    epsilon : float
        Average regret, in (0, 1/8).
    delta : float
        Allowed failure probability, in (0, 1); Lemma 5.2 assumes 0.2.
    plays : int
        Number of runs for each tested budget.
    seed : int, numpy.random.SeedSequence or numpy.random.Generator, optional
        Seed, the same for each budget.  By default a fresh one is drawn; the result stores it as
        ``seed``.
    ratio : float
        Precision, above 1: the tested budgets are n times powers of this number.
    jobs : int, optional
        As in `topk.replicate`.

    Returns
    -------
    SmallestBudget
        The smallest tested budget for which the measured frequency of success is at least 1 -
        delta. It is found by bisection, which assumes that success increases with the budget.

    Notes
    -----
    Zhou et al. (2014), Corollary 4.4, states an order only; for a proved constant see
    `topk.guarantees.optmai_pulls`.

    Examples
    --------
    >>> import topk
    >>> from topk_book.experiments import smallest_budget
    >>> make = lambda budget: topk.Uniform(2, budget)
    >>> found = smallest_budget(make, 6, 2, 0.1, plays=100, seed=0, ratio=2.0)
    >>> bool(found.reliable.estimate >= 0.8)
    True
    """
    if not callable(make):
        refuse("make", make, "a function of a budget that returns a strategy")
    means, seed = two_level_means(n, k, epsilon), check_seed(seed, "seed")

    def budget(power):
        return int(np.ceil(n * ratio**power))

    if getattr(check_strategy(make(4 * n), "what make returns"), "k", k) != k:
        refuse("make", make, f"a function that returns strategies with k = {k}")

    @cache  # the last one is asked for twice
    def successes(power):
        reps = replicate(make(budget(power)), BernoulliBandit(means), plays, seed=seed, jobs=jobs)
        return int(regret_within(reps.selected[:, -1], means, epsilon).sum())

    power = smallest_integer(lambda power: successes(power) >= (1 - delta) * plays, 0)
    unit = n / epsilon**2 * (1 - np.log(delta) / k)
    reliable = proportion_interval(successes(power), plays)
    return SmallestBudget(budget(power), float(budget(power) / unit), reliable, seed)


class ChangeOfMeasure(NamedTuple):
    r"""Measured values of both sides of the change-of-measure inequality.

    Attributes
    ----------
    information : Interval
        :math:`\sum_i\mathbb E_\nu[N_i]\,\mathrm{kl}(\nu_i,\nu_i')`, estimate and interval.
    events : ndarray, shape (m, 2)
        Frequency of each event under ``nu`` and under ``nu_prime``.
    divergences : ndarray, shape (m, 2)
        :math:`\mathrm{kl}(P_\nu(E),P_{\nu'}(E))` of each event: the estimate, and the
        smallest value that the confidence intervals of the two probabilities allow.
    holds : bool
        Whether the smallest divergence of every event is at most the upper limit of the
        information.
    seed : int
        The seed that repeats the simulation.
    """

    information: Interval
    events: Floats
    divergences: Floats
    holds: bool
    seed: int


@validated(
    nu=one_bandit, nu_prime=as_many_as("nu"), false_alarm=between(0, 1), runs=integer(2),
)
def change_of_measure(
    strategy: Strategy,
    nu: ArrayLike,
    nu_prime: ArrayLike,
    *,
    runs: int = 1000,
    seed: Seed | None = None,
    event: Callable[[Replications], ArrayLike] | None = None,
    false_alarm: float = 1e-6,
    jobs: int | Client | str | None = None,
) -> ChangeOfMeasure:
    r"""Run a strategy on two instances and check the change-of-measure inequality.

    For every event E of the run,

    .. math:: \sum_i\mathbb E_\nu[N_i]\,\mathrm{kl}(\nu_i,\nu_i')\ \ge\
              \mathrm{kl}\bigl(P_\nu(E),P_{\nu'}(E)\bigr).

    Parameters
    ----------
    strategy : topk.Strategy
        Any strategy of the library.
    nu, nu_prime : array_like, shape (n,)
        Means of the two instances, in [0, 1].
    runs : int
        Number of runs on each instance, at least 2.
    seed : int, numpy.random.SeedSequence or numpy.random.Generator, optional
        Seed of the runs on the first instance, from which the seed of the others is derived.  By
        default a fresh one is drawn; the result stores it as ``seed``.
    event : callable, optional
        Function of the `topk.Replications` that returns a boolean array (runs,) or (runs, m), with
        one column per event.  The default events are "arm i is returned", for every arm.
    false_alarm : float
        Bound in (0, 1) on the probability that ``holds`` is false although the inequality is true.
    jobs : int, optional
        As in `topk.replicate`.

    Returns
    -------
    ChangeOfMeasure
        Both sides, and ``holds``.

    Notes
    -----
    Kaufmann, Cappé and Garivier (2016), Lemma 1, as used by Chen, Li and Qiao (2017); it is in none
    of the five papers.  The intervals of the events are those of Clopper and Pearson (exact), that
    of the information is Student's (approximate if the strategy has no budget); ``false_alarm`` is
    divided equally among the 2 m + 1 intervals.

    Examples
    --------
    >>> import topk
    >>> from topk_book.experiments import change_of_measure
    >>> nu, nu_prime = [0.7, 0.3], [0.4, 0.6]
    >>> result = change_of_measure(topk.Uniform(1, budget=40), nu, nu_prime, runs=200, seed=0)
    >>> result.holds, round(float(result.information.estimate), 3)
    (True, 7.351)
    """
    seed = check_seed(seed, "seed")
    plays = replicate_both(strategy, (nu, nu_prime), runs, seed, jobs)
    events_of_runs = [_event_table(rep, event or _selected_arms, runs) for rep in plays]
    level = 1 - false_alarm / (2 * events_of_runs[0].shape[1] + 1)
    carried = mean_interval(information(plays[0].pulls, nu, nu_prime), level)
    under, under_prime = (proportion_interval(h.sum(axis=0), runs, level) for h in events_of_runs)
    events = np.stack([under.estimate, under_prime.estimate], axis=1)
    smallest = _smallest_divergence(under, under_prime)
    divergences = np.stack([bernoulli_kl(*events.T), smallest], axis=1)
    holds = bool((smallest <= carried.high).all())
    return ChangeOfMeasure(carried, events, divergences, holds, seed)


def _selected_arms(reps):
    """Return which arms were returned, shape (runs, n)."""
    arms = np.arange(reps.pulls.shape[1])
    return (reps.selected[:, -1, :, None] == arms).any(axis=1)


def _event_table(reps, event, runs):
    """Return the events of the runs as a boolean array (runs, m)."""
    happened = np.asarray(event(reps))
    if happened.dtype != bool or happened.shape[:1] != (runs,) or happened.ndim > 2:
        refuse("event", f"an array {happened.dtype} {happened.shape}", f"booleans ({runs},) or 2-d")
    return happened.reshape(runs, -1)


def _smallest_divergence(p, q):
    """Return the smallest kl(x, y) with x and y in the two intervals: 0 if they overlap."""
    x = np.clip(q.high, p.low, p.high)  # nearest or common points
    return bernoulli_kl(x, np.clip(x, q.low, q.high))


class GroupPlays(NamedTuple):
    """Results of a strategy under one hypothesis of `group_family`, by group.

    Attributes
    ----------
    pulls, ones : ndarray, shape (runs, t)
        Pulls and ones of each group.
    chosen : ndarray of int, shape (runs, t)
        Number of returned arms of each group; success under the j-th hypothesis requires at least 3
        k / 4 arms of group j (of group 1 under the first).
    log_ratios : ndarray, shape (runs, t)
        Log likelihood ratio of each hypothesis to the first, of the whole record.
    seed : int
        The seed that repeats the simulation.
    """

    pulls: Integers
    ones: Floats
    chosen: Integers
    log_ratios: Floats
    seed: int | None


@validated(n=integer(2), epsilon=between(0, 1 / 16))
def group_plays(
    strategy: Strategy,
    n: int,
    epsilon: float,
    runs: int,
    *,
    hypothesis: int = 1,
    seed: Seed | None = None,
    jobs: int | Client | str | None = None,
) -> GroupPlays:
    r"""Run a strategy under a hypothesis of Lemma 5.4 and summarise the runs by group.

    Parameters
    ----------
    strategy : topk.Strategy
        Any strategy of the library; its ``k`` must be at most n / 2.
    n : int
        Number of arms.
    epsilon : float
        Parameter of the family, in (0, 1/16).
    runs : int
        Number of runs.
    hypothesis : int
        Index of the hypothesis, 1 to t, under which the rewards are drawn.
    seed : int, numpy.random.SeedSequence or numpy.random.Generator, optional
        Seed of the runs.  By default a fresh one is drawn; the result stores it as ``seed``.
    jobs : int, optional
        As in `topk.replicate`.

    Returns
    -------
    GroupPlays
        Pulls, ones, returned arms and log likelihood ratios, by group.

    Notes
    -----
    Under :math:`H_1`, :math:`P_{H_j}(E)=\mathbb E[e^{\text{log ratio}};E]` for every event E of the
    run.

    Examples
    --------
    >>> import topk
    >>> from topk_book.experiments import group_plays
    >>> plays = group_plays(topk.Uniform(2, budget=600), 6, 0.05, runs=4, seed=0)
    >>> plays.pulls[0].tolist(), plays.log_ratios[:, 0].tolist()
    ([200, 200, 200], [0.0, 0.0, 0.0, 0.0])
    """
    check_strategy(strategy)
    family = group_family(n, strategy.k, epsilon)
    groups, k = family.shape[0], strategy.k
    row = check_integer(hypothesis, "hypothesis", 1, groups) - 1
    reps = replicate(strategy, BernoulliBandit(family[row]), runs, seed=seed, jobs=jobs)
    shape = (reps.pulls.shape[0], groups, k)
    chosen = reps.selected[:, -1, :] // k  # arms after the last full group are in no group
    return GroupPlays(reps.pulls[:, : groups * k].reshape(shape).sum(axis=2),
                      reps.sums[:, : groups * k].reshape(shape).sum(axis=2).astype(np.int64),
                      np.stack([(chosen == g).sum(axis=1) for g in range(groups)], axis=1),
                      _ratios_to_first(reps, family, row), reps.seed)


def _ratios_to_first(reps, family, row):
    """Return ln(P_Hj / P_H1) of every run, for runs made under row ``row``."""
    to_played = [log_likelihood_ratio(reps.pulls, reps.sums, family[row], m) for m in family]
    ratios = np.stack(to_played, axis=1)
    return ratios - ratios[:, :1]


class KthArm(NamedTuple):
    """The result of `kth_arm`.

    Attributes
    ----------
    estimate : float
        Estimate of the k-th largest mean.
    candidates : ndarray of int64
        The arms that remain after halving, at most 4k, in increasing order; at least k - slack of
        them have a mean of at least the k-th largest minus eta.
    pulls : ndarray of int64, shape (n,)
        Pulls of each arm.
    seed : int or None
        The value of ``rng`` that repeats the result; None if a generator was given.
    """

    estimate: float
    candidates: Integers
    pulls: Integers
    seed: int | None


@validated(k=integer(1), delta=probability, eta=between(0, 1))
def kth_arm(
    bandit: Bandit,
    k: int,
    eta: float,
    delta: float,
    slack: int = 0,
    rng: Seed | None = None,
) -> KthArm:
    r"""Estimate the k-th largest mean without the factor ln n of a union bound.

    While more than 4k arms remain, each is pulled
    :math:`\lceil\frac2{\eta_l^2}\ln\frac{2^{l+1}}p\rceil` times,
    :math:`\eta_l=\frac\eta4(\frac34)^l`, and the better half is kept.  The remaining arms get
    :math:`\lceil\frac1{2\eta^2}\ln\frac2p\rceil` fresh pulls, and the (k - 2 slack)-th largest mean
    is the estimate.  The number of pulls is of the order :math:`\frac n{\eta^2}\ln\frac1p` with

    .. math:: p=\delta\Big/\Big(4+\frac{5k}{\mathrm{slack}+1}\Big).

    Parameters
    ----------
    bandit : Bandit
        The arms.
    k : int
        The rank, 1 to n.
    eta : float
        Precision, in (0, 1).
    delta : float
        Failure probability, in (0, 1).
    slack : int
        Number of arms that may be wrong in each part, 0 to (k - 1) // 2.  With a slack of the order
        of k, p and hence the number of pulls do not depend on k.
    rng : int, numpy.random.SeedSequence or numpy.random.Generator, optional
        Seed or source of randomness; by default a fresh seed, which the result stores as ``seed``.

    Returns
    -------
    KthArm
        The ``estimate``; with probability at least 1 - delta

        .. math:: \theta_{(k)}-2\eta<\mathrm{estimate}<\theta_{(k-3\,\mathrm{slack})}+\eta

        (no upper bound if that rank does not exist), and at least k - slack of the
        ``candidates`` have a mean of at least :math:`\theta_{(k)}-\eta`.

    Notes
    -----
    Derived, not published: Chen, Chen, Zhang and Zhou (2017) mention such a routine as a by-product
    of ImprovedTopK without stating it.  The failure probabilities are: at some level a quarter of
    the arms is overestimated by :math:`\eta_l/2`, at most 4p in total (Markov); more than ``slack``
    of the k best arms are underestimated, at most :math:`kp/(\mathrm{slack}+1)`; more than
    ``slack`` of the at most 4k last arms are off by eta, at most :math:`4kp/(\mathrm{slack}+1)`.
    `ImprovedTopK` uses the same code in its rounds.

    Examples
    --------
    >>> import topk
    >>> bandit = topk.BernoulliBandit([0.9] * 5 + [0.2] * 95)
    >>> found = kth_arm(bandit, 5, eta=0.2, delta=0.05, rng=0)
    >>> 0.5 < found.estimate < 1.1, found.candidates[:5].tolist()
    (True, [0, 1, 2, 3, 4])
    """
    n = check_bandit(bandit).n
    check_k(k, n)
    slack = check_integer(slack, "slack", 0, (k - 1) // 2)
    seed = None if isinstance(rng, np.random.Generator) else check_seed(rng, "rng")
    rng = np.random.default_rng(rng if seed is None else seed)
    log_ratio = math.log(2 * (4 + 5 * k / (slack + 1))) - math.log(delta)
    order = rng.permutation(n)  # ties go to lower indices, so the order of arms is random
    pulls, pool, level = np.zeros(n, dtype=np.int64), np.arange(n), 0

    def sample(share):
        sums = np.zeros(n)
        sums[pool] = bandit.pull(order[pool], np.full(pool.size, share), rng).sums
        pulls[order[pool]] += share
        return sums

    while pool.size > 4 * k:
        pool = largest(sample(halving_share(eta, log_ratio, level)), pool, (pool.size + 1) // 2)
        level += 1
    share = math.ceil(log_ratio / (2 * eta**2))
    estimate = float(np.sort(sample(share)[pool])[2 * slack - k]) / share
    return KthArm(estimate, np.sort(order[pool]), pulls, seed)
