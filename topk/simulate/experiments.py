"""What plays for a theorem: Algorithm B, budgets, change of measure, groups, the k-th best arm."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from topk._checks import between, check_integer, check_k, check_real, refuse
from topk._ranges import RANGES, as_many_as, checked, half, integer, smallest_integer
from topk._types import Floats, Integers, Seed
from topk.bandits import Bandit, BernoulliBandit, check_bandit
from topk.hardness.measures import bernoulli_kl
from topk.lower_bounds.groups import group_family
from topk.lower_bounds.two_coins import information, log_likelihood_ratio
from topk.metrics import regret_within
from topk.rules.ranking import largest
from topk.rules.strategy import Strategy
from topk.simulate.results import Replications
from topk.simulate.run import replicate
from topk.stats import Interval, mean_interval, proportion_interval
from topk.strategies.lucb import halving_share

if TYPE_CHECKING:
    from distributed import Client


class AlgorithmB(
    NamedTuple(
        "AlgorithmB",
        [
            ("pulls", float),
            ("cap", float),
            ("right", tuple[Interval, Interval]),
            ("samples", Floats),
            ("capped", Floats),
            ("reliable", Floats),
        ],
    )
):
    """What Algorithm B achieved; index 0 is for mean 1/2, index 1 for 1/2 + 4 epsilon.

    Attributes
    ----------
    pulls : float
        Q: the subroutine's budget, or its largest mean number of pulls over the two.
    cap : float
        200 Q / n: Algorithm B never samples its arm more often.
    right : tuple of Interval
        Probability of the right decision, with confidence intervals.
    samples : ndarray, shape (2,)
        Mean samples of the arm, cut off at the cap.
    capped : ndarray, shape (2,)
        How often the cap was reached.
    reliable : ndarray, shape (2,)
        How often the subroutine's own answer had average regret at most epsilon; the lemma
        assumes at least .8.
    """


def algorithm_b(
    strategy: Strategy,
    n: int,
    epsilon: float,
    plays: int,
    *,
    seed: int = 0,
    pulls: float | None = None,
    level: float = 1 - 1e-6,
    jobs: int | Client | str | None = None,
) -> AlgorithmB:
    r"""Decide whether one Bernoulli arm has mean 1/2 or 1/2 + 4 epsilon, with a strategy.

    The arm is planted as arm 0 among n: k - 1 arms of mean :math:`\frac12+4\epsilon` share
    its set S, n - k arms of mean 1/2 do not.  The decision is 1/2 if the strategy
    does not return the arm and has sampled it fewer than 200 Q / n times, and
    :math:`\frac12+4\epsilon` otherwise.

    Parameters
    ----------
    strategy : topk.Strategy
        Any strategy of the library with k at most n / 2, of fixed budget or fixed confidence.
    n : int
        Number of arms.
    epsilon : float
        In (0, 1/8); the lemma has epsilon <= .01 and k >= 10.
    plays : int
        Plays with each of the two means.
    seed : int
        Of the plays with mean 1/2; the others have a seed drawn from it.
    pulls : float, optional
        Q, a bound on the strategy's expected pulls. Unless given: its ``budget``, or the
        measured mean number of pulls, the larger of the two.
    level : float
        Confidence of each interval, in (0, 1).
    jobs : int, optional
        As in `topk.replicate`.

    Returns
    -------
    AlgorithmB
        Measured probabilities of a right decision, and the samples they took.

    Raises
    ------
    ValueError
        If an argument is outside its range.

    Notes
    -----
    Zhou et al. (2014), Algorithm 4 and Lemma 5.2: if the strategy has regret at most epsilon
    with probability .8, the decision is right with probability at least .51 on either
    side.  The paper draws S and the arm at random; `topk.replicate` presents the arms in a
    fresh random order in every play, which is the same.

    Examples
    --------
    >>> import topk
    >>> from topk.simulate.experiments import algorithm_b
    >>> result = algorithm_b(topk.Uniform(5, budget=20_000), 20, 0.05, plays=50)
    >>> bool(result.right[0].estimate > 0.9), bool(result.right[1].estimate > 0.9), result.cap
    (True, True, 200000.0)
    """
    good = _good_arms(n, strategy.k, epsilon)
    means = np.stack([good, good])
    means[0, 0] = 0.5
    reps = _both(strategy, means, plays, seed, jobs)
    if pulls is None:
        measured = max(float(rep.total_pulls.mean()) for rep in reps)
        pulls = getattr(strategy, "budget", None) or measured
    pulls = check_real(pulls, "pulls", 0, np.inf, low_open=True, high_open=True)
    cap = 200 * pulls / n
    own = np.stack([rep.pulls[:, 0] for rep in reps])
    returned = np.stack([(rep.selected[:, -1] == 0).any(axis=1) for rep in reps])
    says_high = returned | (own >= cap)
    right = (
        proportion_interval(plays - int(says_high[0].sum()), plays, level),
        proportion_interval(int(says_high[1].sum()), plays, level),
    )
    samples, capped = np.minimum(own, cap).mean(axis=1), (own >= cap).mean(axis=1)
    reliable = [regret_within(rep.selected[:, -1], row, epsilon).mean()
                for rep, row in zip(reps, means, strict=True)]
    return AlgorithmB(pulls, cap, right, samples, capped, np.array(reliable))


@checked(k=half, epsilon=between(0, 1 / 8))
def _good_arms(n, k, epsilon):
    """Return the means of k arms that are 4 epsilon better than the other n - k."""
    return np.where(np.arange(n) < k, 0.5 + 4 * epsilon, 0.5)


def _both(strategy, instances, runs, seed, jobs):
    """Play on two instances; no play of either is one of another seed's."""
    child = np.random.SeedSequence(check_integer(seed, "seed", 0)).spawn(1)[0]
    seeds = seed, int(child.generate_state(1, np.uint64)[0])
    return [replicate(strategy, BernoulliBandit(means), runs, seed=each, jobs=jobs)
            for means, each in zip(instances, seeds, strict=True)]


class SmallestBudget(
    NamedTuple("SmallestBudget", [("budget", int), ("constant", float), ("reliable", Interval)])
):
    """The smallest budget found to make a strategy reliable.

    Attributes
    ----------
    budget : int
        Total pulls.
    constant : float
        ``budget`` in units of n / epsilon^2 (1 + ln(1/delta) / k), the form of Corollary 4.4.
    reliable : Interval
        Probability of average regret at most epsilon with it, and its interval.
    """


@checked(plays=integer(1), ratio=between(1, math.inf))
def smallest_budget(
    make: Callable[[int], Strategy],
    n: int,
    k: int,
    epsilon: float,
    delta: float = 0.2,
    *,
    plays: int = 1000,
    seed: int = 0,
    ratio: float = 1.1,
    jobs: int | Client | str | None = None,
) -> SmallestBudget:
    r"""Find by simulation the smallest budget at which a strategy has regret epsilon.

    Measured on the instance of Algorithm B, k arms of mean :math:`\frac12+4\epsilon` among
    n - k of mean 1/2.

    Parameters
    ----------
    make : callable
        Turns a budget (int) into a strategy that selects k arms, such as
        ``lambda budget: topk.OptMAI(10, budget)``.
    n : int
        Number of arms.
    k : int
        Arms to select, 1 to n / 2.
    epsilon : float
        Average regret, in (0, 1/8).
    delta : float
        Failure probability allowed, in (0, 1); .2 is what Lemma 5.2 assumes.
    plays : int
        Plays for each budget tried.
    seed : int
        The same for each budget.
    ratio : float
        Precision: the budgets tried are n times powers of this number, above 1.
    jobs : int, optional
        As in `topk.replicate`.

    Returns
    -------
    SmallestBudget
        The smallest tried budget at which the measured frequency of success is at least
        1 - delta, found by bisection, hence assuming that success grows with the budget.

    Raises
    ------
    ValueError
        If an argument is outside its range.

    Notes
    -----
    Zhou et al. (2014), Corollary 4.4, hides this constant in an O; for the constant that a
    proof gives see `topk.guarantees.optmai_pulls`.

    Examples
    --------
    >>> import topk
    >>> from topk.simulate.experiments import smallest_budget
    >>> make = lambda budget: topk.Uniform(2, budget)
    >>> found = smallest_budget(make, 6, 2, 0.1, plays=100, ratio=2.0)
    >>> bool(found.reliable.estimate >= 0.8)
    True
    """
    means = _good_arms(n, k, epsilon)

    def budget(power):
        return int(np.ceil(n * ratio**power))

    def successes(power):
        reps = replicate(make(budget(power)), BernoulliBandit(means), plays, seed=seed, jobs=jobs)
        return int(regret_within(reps.selected[:, -1], means, epsilon).sum())

    power = smallest_integer(lambda power: successes(power) >= (1 - delta) * plays, 0)
    unit = n / epsilon**2 * (1 - np.log(delta) / k)
    reliable = proportion_interval(successes(power), plays)
    return SmallestBudget(budget(power), float(budget(power) / unit), reliable)


class ChangeOfMeasure(
    NamedTuple(
        "ChangeOfMeasure",
        [
            ("information", Interval),
            ("events", Floats),
            ("divergences", Floats),
            ("holds", bool),
        ],
    )
):
    r"""Both sides of the inequality, as measured.

    Attributes
    ----------
    information : Interval
        :math:`\sum_i\mathbb E_\nu[N_i]\,\mathrm{kl}(\nu_i,\nu_i')`, estimate and interval.
    events : ndarray, shape (m, 2)
        Frequency of each event under the means and under the others.
    divergences : ndarray, shape (m, 2)
        :math:`\mathrm{kl}(P_\nu(E),P_{\nu'}(E))` of each event: the estimate, and the
        smallest value that the confidence intervals of the two probabilities allow.
    holds : bool
        Whether no event's smallest divergence exceeds the information's upper limit.
    """


@checked(nu=RANGES["means"], nu_prime=as_many_as("nu"), false_alarm=between(0, 1), runs=integer(2))
def change_of_measure(
    strategy: Strategy,
    nu: ArrayLike,
    nu_prime: ArrayLike,
    *,
    runs: int = 1000,
    seed: int = 0,
    event: Callable[[Replications], ArrayLike] | None = None,
    false_alarm: float = 1e-6,
    jobs: int | Client | str | None = None,
) -> ChangeOfMeasure:
    r"""Play a strategy on two instances and check the change-of-measure inequality.

    For every event E of the play,

    .. math:: \sum_i\mathbb E_\nu[N_i]\,\mathrm{kl}(\nu_i,\nu_i')\ \ge\
              \mathrm{kl}\bigl(P_\nu(E),P_{\nu'}(E)\bigr).

    Parameters
    ----------
    strategy : topk.Strategy
        Any strategy of the library.
    nu, nu_prime : array_like, shape (n,)
        The two instances' means in [0, 1].
    runs : int
        Plays on each instance, at least 2.
    seed : int
        Of the plays on the first instance; those on the second have a seed drawn from it.
    event : callable, optional
        Takes the `topk.Replications` of the plays and returns a boolean array
        (runs,) or (runs, m), a column for each event.  Unless given: "arm i is returned",
        for every arm.
    false_alarm : float
        Probability, in (0, 1), of ``holds`` being false although the inequality holds.
    jobs : int, optional
        As in `topk.replicate`.

    Returns
    -------
    ChangeOfMeasure
        Both sides, and the verdict ``holds``.

    Raises
    ------
    ValueError
        If an argument is outside its range.

    Notes
    -----
    Kaufmann, Cappé and Garivier (2016), Lemma 1, as used by Chen, Li and Qiao (2017); in none of
    the five papers.  The events' intervals are Clopper and Pearson's (exact), that of the
    information is Student's (approximate, for a strategy without a budget); each of the
    2 m + 1 has its share of ``false_alarm``.

    Examples
    --------
    >>> import topk
    >>> from topk.simulate.experiments import change_of_measure
    >>> result = change_of_measure(topk.Uniform(1, budget=40), [0.7, 0.3], [0.4, 0.6], runs=200)
    >>> result.holds, round(float(result.information.estimate), 3)
    (True, 7.351)
    """
    plays = _both(strategy, (nu, nu_prime), runs, seed, jobs)
    happened = [_happened(rep, event or _returned, runs) for rep in plays]
    level = 1 - false_alarm / (2 * happened[0].shape[1] + 1)
    carried = mean_interval(information(plays[0].pulls, nu, nu_prime), level)
    under, under_prime = (proportion_interval(h.sum(axis=0), runs, level) for h in happened)
    events = np.stack([under.estimate, under_prime.estimate], axis=1)
    smallest = _smallest_divergence(under, under_prime)
    divergences = np.stack([bernoulli_kl(*events.T), smallest], axis=1)
    return ChangeOfMeasure(carried, events, divergences, bool((smallest <= carried.high).all()))


def _returned(reps):
    """Return which arms were returned, shape (runs, n)."""
    arms = np.arange(reps.pulls.shape[1])
    return (reps.selected[:, -1, :, None] == arms).any(axis=1)


def _happened(reps, event, runs):
    """Return the events of the plays as a boolean array (runs, m)."""
    happened = np.asarray(event(reps))
    if happened.dtype != bool or happened.shape[:1] != (runs,) or happened.ndim > 2:
        refuse("event", f"an array {happened.dtype} {happened.shape}", f"booleans ({runs},) or 2-d")
    return happened.reshape(runs, -1)


def _smallest_divergence(p, q):
    """Return the smallest kl(x, y) with x and y in the two intervals: 0 if they overlap."""
    x = np.clip(q.high, p.low, p.high)  # the intervals' nearest points; one point if they meet
    return bernoulli_kl(x, np.clip(x, q.low, q.high))


class GroupPlays(
    NamedTuple(
        "GroupPlays",
        [
            ("pulls", Integers),
            ("ones", Floats),
            ("chosen", Integers),
            ("log_ratios", Floats),
        ],
    )
):
    """Plays of a strategy under one hypothesis of `group_family`.

    Attributes
    ----------
    pulls, ones : ndarray, shape (runs, t)
        Pulls and ones of each group.
    chosen : ndarray of int, shape (runs, t)
        How many of the group's arms were returned; success under the j-th hypothesis needs
        at least 3 k / 4 arms of group j (of group 1 under the first).
    log_ratios : ndarray, shape (runs, t)
        Log likelihood ratio of each hypothesis to the first, of the whole record.
    """


@checked(epsilon=between(0, 1 / 16))
def group_plays(
    strategy: Strategy,
    n: int,
    epsilon: float,
    runs: int,
    *,
    hypothesis: int = 1,
    seed: int = 0,
    jobs: int | Client | str | None = None,
) -> GroupPlays:
    r"""Play a strategy under a hypothesis of Lemma 5.4 and summarise the plays by group.

    Parameters
    ----------
    strategy : topk.Strategy
        Any strategy of the library; its ``k`` must be at most n / 2.
    n : int
        Number of arms.
    epsilon : float
        Of the family, in (0, 1/16).
    runs : int
        Number of plays.
    hypothesis : int
        Under which of :math:`H_1,\dots,H_t` to play.
    seed : int
        Of the plays.
    jobs : int, optional
        As in `topk.replicate`.

    Returns
    -------
    GroupPlays
        Pulls, ones, returned arms and log likelihood ratios, by group.

    Raises
    ------
    ValueError
        If an argument is outside its range.

    Notes
    -----
    Under :math:`H_1`, :math:`P_{H_j}(E)=\mathbb E[e^{\text{log ratio}};E]` for every event E
    of the play, which ties the families' members together.

    Examples
    --------
    >>> import topk
    >>> from topk.simulate.experiments import group_plays
    >>> plays = group_plays(topk.Uniform(2, budget=600), 6, 0.05, runs=4)
    >>> plays.pulls[0].tolist(), plays.log_ratios[:, 0].tolist()
    ([200, 200, 200], [0.0, 0.0, 0.0, 0.0])
    """
    family = group_family(n, strategy.k, epsilon)
    groups, k = family.shape[0], strategy.k
    row = check_integer(hypothesis, "hypothesis", 1, groups) - 1
    reps = replicate(strategy, BernoulliBandit(family[row]), runs, seed=seed, jobs=jobs)
    shape = (reps.pulls.shape[0], groups, k)
    chosen = reps.selected[:, -1, :] // k  # arms beyond the last full group are in none
    return GroupPlays(reps.pulls[:, : groups * k].reshape(shape).sum(axis=2),
                      reps.sums[:, : groups * k].reshape(shape).sum(axis=2).astype(np.int64),
                      np.stack([(chosen == g).sum(axis=1) for g in range(groups)], axis=1),
                      _ratios_to_first(reps, family, row))


def _ratios_to_first(reps, family, row):
    """Return ln(P_Hj / P_H1) of every play, for plays made under row ``row``."""
    to_played = [log_likelihood_ratio(reps.pulls, reps.sums, family[row], m) for m in family]
    ratios = np.stack(to_played, axis=1)
    return ratios - ratios[:, :1]


class KthArm(
    NamedTuple("KthArm", [("estimate", float), ("candidates", Integers), ("pulls", Integers)])
):
    """What `kth_arm` found.

    Attributes
    ----------
    estimate : float
        The value of the k-th best arm, about.
    candidates : ndarray of int64
        The arms that were left after halving, at most 4k of them, in increasing
        order; at least k - slack of them have a mean of at least the k-th largest
        minus eta.
    pulls : ndarray of int64, shape (n,)
        Pulls of each arm.
    """


@checked(k=integer(1), eta=between(0, 1))
def kth_arm(
    bandit: Bandit, k: int, eta: float, delta: float, slack: int = 0, rng: Seed = 0,
) -> KthArm:
    r"""Estimate the k-th largest mean without the factor ln n of a union bound.

    While more than 4k arms are in the play each is pulled
    :math:`\lceil\frac2{\eta_l^2}\ln\frac{2^{l+1}}p\rceil` times,
    :math:`\eta_l=\frac\eta4(\frac34)^l`, and the better half stays.  The arms that are left get
    :math:`\lceil\frac1{2\eta^2}\ln\frac2p\rceil` fresh pulls, and the (k - 2 slack)-th largest
    mean is the estimate.  The order is :math:`\frac n{\eta^2}\ln\frac1p` pulls with

    .. math:: p=\delta\Big/\Big(4+\frac{5k}{\mathrm{slack}+1}\Big).

    Parameters
    ----------
    bandit : Bandit
        The arms.
    k : int
        Which of the ranks, 1 to n.
    eta : float
        Precision, in (0, 1).
    delta : float
        Probability of failure, in (0, 1).
    slack : int
        How many arms may go wrong in each part, 0 to (k - 1) // 2.  A slack of the order of
        k makes p, and so the pulls, independent of k.
    rng : int or numpy.random.Generator
        Where the randomness comes from.

    Returns
    -------
    KthArm
        The ``estimate``; with probability at least 1 - delta

        .. math:: \theta_{(k)}-2\eta<\mathrm{estimate}<\theta_{(k-3\,\mathrm{slack})}+\eta

        (no upper bound if that rank does not exist), and at least k - slack of the
        ``candidates`` have a mean of at least :math:`\theta_{(k)}-\eta`.

    Raises
    ------
    ValueError
        If an argument is out of range.

    Notes
    -----
    Derived, not published: Chen, Chen, Zhang and Zhou (2017) mention such a routine as a
    by-product of ImprovedTopK and do not print it.  The failures: at some level a quarter of
    the arms is overestimated by :math:`\eta_l/2`, at most 4p in all (Markov); more than
    ``slack`` of the k best arms are underestimated, at most :math:`kp/(\mathrm{slack}+1)`;
    more than ``slack`` of the at most 4k last arms are off by eta, at most
    :math:`4kp/(\mathrm{slack}+1)`.  `ImprovedTopK` runs the same code in its rounds.

    Examples
    --------
    >>> import topk
    >>> bandit = topk.BernoulliBandit([0.9] * 5 + [0.2] * 95)
    >>> found = topk.kth_arm(bandit, 5, eta=0.2, delta=0.05)
    >>> 0.5 < found.estimate < 1.1, found.candidates[:5].tolist()
    (True, [0, 1, 2, 3, 4])
    """
    n = check_bandit(bandit).n
    check_k(k, n)
    slack = check_integer(slack, "slack", 0, (k - 1) // 2)
    if not isinstance(rng, np.random.Generator):
        rng = np.random.default_rng(check_integer(rng, "rng", 0))
    log_ratio = math.log(2 * (4 + 5 * k / (slack + 1))) - math.log(delta)
    order = rng.permutation(n)  # ties go to lower indices: these must not depend on the writing
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
    return KthArm(estimate, np.sort(order[pool]), pulls)
