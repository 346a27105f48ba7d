"""Algorithm B: a set-selection strategy, used to tell what one arm's mean is (Lemma 5.2)."""

from typing import NamedTuple

import numpy as np

from topk import metrics
from topk._checks import check_delta, check_epsilon, check_integer, check_k, check_n, check_real
from topk.bandits import BernoulliBandit
from topk.claims import Interval, proportion_interval
from topk.lower_bounds.one_arm import expected_samples_bound
from topk.simulate import replicate


class AlgorithmB(NamedTuple):
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

    pulls: float
    cap: float
    right: tuple
    samples: np.ndarray
    capped: np.ndarray
    reliable: np.ndarray


def algorithm_b(strategy, n, epsilon, plays, *, seed=0, pulls=None, level=1 - 1e-6, jobs=None):
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
        Plays with mean 1/2 use ``seed``, the others ``seed + 1``.
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
    >>> from topk.lower_bounds import algorithm_b
    >>> result = algorithm_b(topk.Uniform(5, budget=20_000), 20, 0.05, plays=50)
    >>> bool(result.right[0].estimate > 0.9), bool(result.right[1].estimate > 0.9), result.cap
    (True, True, 200000.0)
    """
    n = check_n(n)
    k = check_k(strategy.k, largest=n // 2)
    epsilon = check_real(epsilon, "epsilon", 0, 1 / 8, low_open=True, high_open=True)
    means = np.full((2, n), 0.5)
    means[:, 1:k] += 4 * epsilon
    means[1, 0] += 4 * epsilon
    reps = [
        replicate(strategy, BernoulliBandit(row), plays, seed=seed + i, jobs=jobs)
        for i, row in enumerate(means)
    ]
    if pulls is None:
        measured = max(float(rep.total_pulls.mean()) for rep in reps)
        pulls = getattr(strategy, "budget", None) or measured
    pulls = check_real(pulls, "pulls", 0, np.inf, low_open=True, high_open=True)
    cap = 200 * pulls / n
    own = np.stack([rep.pulls[:, 0] for rep in reps])
    returned = np.stack([(rep.selected[:, -1] == 0).any(axis=1) for rep in reps])
    says_high = returned | (own >= cap)
    successes = [plays - int(says_high[0].sum()), int(says_high[1].sum())]
    regret = [
        metrics.aggregate_regret(rep.selected[:, -1], row)
        for rep, row in zip(reps, means, strict=True)
    ]
    return AlgorithmB(
        pulls,
        cap,
        tuple(proportion_interval(count, plays, level) for count in successes),
        np.minimum(own, cap).mean(axis=1),
        (own >= cap).mean(axis=1),
        np.array([(r <= epsilon + metrics.SLACK).mean() for r in regret]),
    )


class SmallestBudget(NamedTuple):
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

    budget: int
    constant: float
    reliable: Interval


def smallest_budget(make, n, k, epsilon, delta=0.2, *, plays=1000, seed=0, ratio=1.1, jobs=None):
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
    >>> from topk.lower_bounds import smallest_budget
    >>> make = lambda budget: topk.Uniform(2, budget)
    >>> found = smallest_budget(make, 6, 2, 0.1, plays=100, ratio=2.0)
    >>> bool(found.reliable.estimate >= 0.8)
    True
    """
    n = check_n(n)
    k = check_k(k, largest=n // 2)
    epsilon = check_real(epsilon, "epsilon", 0, 1 / 8, low_open=True, high_open=True)
    delta = check_delta(delta)
    plays = check_integer(plays, "plays", 1)
    ratio = check_real(ratio, "ratio", 1, np.inf, low_open=True, high_open=True)
    means = np.where(np.arange(n) < k, 0.5 + 4 * epsilon, 0.5)

    def successes(power):
        strategy = make(_budget(n, ratio, power))
        reps = replicate(strategy, BernoulliBandit(means), plays, seed=seed, jobs=jobs)
        regret = metrics.aggregate_regret(reps.selected[:, -1], means)
        return int((regret <= epsilon + metrics.SLACK).sum())

    enough = (1 - delta) * plays
    low, high = -1, 1
    while successes(high) < enough:
        low, high = high, 2 * high
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (low, middle) if successes(middle) >= enough else (middle, high)
    budget = _budget(n, ratio, high)
    unit = n / epsilon**2 * (1 - np.log(delta) / k)
    return SmallestBudget(budget, float(budget / unit), proportion_interval(successes(high), plays))


def _budget(n, ratio, power):
    """Return n * ratio**power, rounded up."""
    return int(np.ceil(n * ratio**power))


def theorem_5_1_pulls(n, k, epsilon):
    r"""Pulls that every algorithm with success probability .8 needs, :math:`\Omega(n/\epsilon^2)`.

    .. math:: \frac n{200}\,\frac{\mathrm{kl}(.49,.51)}
              {\max\{\mathrm{kl}(\frac12,\frac12+4\epsilon),
                     \mathrm{kl}(\frac12+4\epsilon,\frac12)\}} .

    Parameters
    ----------
    n : int
        Number of arms.
    k : int
        Arms to select, 10 to n / 2.
    epsilon : float
        Tolerance on the average regret, in (0, 0.01].

    Returns
    -------
    float
        Expected pulls; about :math:`1.25\cdot10^{-7}n/\epsilon^2`.

    Raises
    ------
    ValueError
        If an argument is outside its range.

    Notes
    -----
    Zhou et al. (2014), Theorem 5.1, states the order (its "n / c^2" is n / epsilon^2). The
    constant is *derived*: Lemma 5.2 gives a test with at most 200 Q / n samples and error
    .49, and Wald's bound (`expected_samples_bound`) replaces Lemma 5.3.

    Examples
    --------
    >>> from topk.lower_bounds import theorem_5_1_pulls
    >>> round(theorem_5_1_pulls(1000, 100, 0.001), 1)
    125.0
    """
    n = check_n(n)
    check_integer(k, "k", 10, n // 2)
    epsilon = check_epsilon(check_real(epsilon, "epsilon", 0, 0.01, low_open=True))
    return n / 200 * min(expected_samples_bound(0.5, 0.5 + 4 * epsilon, 0.49))
