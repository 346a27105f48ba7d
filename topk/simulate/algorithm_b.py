"""Algorithm B of Zhou et al. (2014): a strategy that decides between two means of one arm."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from topk._checks import between, check_integer, check_real, check_seed
from topk._ranges import integer, up_to_half, validated
from topk._types import Floats, Seed
from topk.bandits import BernoulliBandit
from topk.metrics import regret_within
from topk.rules.strategy import Strategy
from topk.simulate.run import check_strategy, replicate
from topk.stats import Interval, proportion_interval

if TYPE_CHECKING:
    from distributed import Client


class AlgorithmB(NamedTuple):
    """Results of Algorithm B; index 0 is for mean 1/2, index 1 for 1/2 + 4 epsilon.

    Attributes
    ----------
    pulls : float
        Q: the subroutine's budget, or its largest mean number of pulls over the two.
    cap : float
        200 Q / n: Algorithm B never samples its arm more often.
    right : tuple of Interval
        Probability of the right decision, with confidence intervals.
    samples : ndarray, shape (2,)
        Mean number of samples of the arm, truncated at the cap.
    capped : ndarray, shape (2,)
        Frequency with which the cap was reached.
    reliable : ndarray, shape (2,)
        Frequency with which the subroutine's answer had average regret at most epsilon; the lemma
        assumes at least 0.8.
    seed : int
        The seed that repeats the simulation.
    """

    pulls: float
    cap: float
    right: tuple[Interval, Interval]
    samples: Floats
    capped: Floats
    reliable: Floats
    seed: int


def algorithm_b(
    strategy: Strategy,
    n: int,
    epsilon: float,
    plays: int,
    *,
    seed: Seed | None = None,
    pulls: float | None = None,
    level: float = 1 - 1e-6,
    jobs: int | Client | str | None = None,
) -> AlgorithmB:
    r"""Decide whether one Bernoulli arm has mean 1/2 or 1/2 + 4 epsilon, with a strategy.

    The arm is arm 0 of n: k - 1 arms of mean :math:`\frac12+4\epsilon` form its set S together with
    it, and n - k arms have mean 1/2.  The decision is 1/2 if the strategy does not return the arm
    and has sampled it fewer than 200 Q / n times, and :math:`\frac12+4\epsilon` otherwise.

    Parameters
    ----------
    strategy : topk.Strategy
        Any strategy of the library with k at most n / 2, of fixed budget or fixed confidence.
    n : int
        Number of arms.
    epsilon : float
        Tolerance in (0, 1/8); the lemma assumes epsilon <= 0.01 and k >= 10.
    plays : int
        Number of runs with each of the two means.
    seed : int, numpy.random.SeedSequence or numpy.random.Generator, optional
        Seed of the runs with mean 1/2, from which the seed of the others is derived.  By default a
        fresh one is drawn; the result stores it as ``seed``.
    pulls : float, optional
        Q, a bound on the strategy's expected pulls.  The default is its ``budget`` or, if there is
        none, the larger of the two measured mean numbers of pulls.
    level : float
        Confidence level of each interval, in (0, 1).
    jobs : int, optional
        As in `topk.replicate`.

    Returns
    -------
    AlgorithmB
        Measured probabilities of a right decision, and numbers of samples.

    Notes
    -----
    Zhou et al. (2014), Algorithm 4 and Lemma 5.2: if the strategy has regret at most epsilon with
    probability 0.8, the decision is right with probability at least 0.51 under each mean.  The
    paper draws S and the arm at random; this is equivalent to the random order in which
    `topk.replicate` presents the arms in every run.

    Examples
    --------
    >>> import topk
    >>> from topk.simulate.algorithm_b import algorithm_b
    >>> result = algorithm_b(topk.Uniform(5, budget=20_000), 20, 0.05, plays=50, seed=0)
    >>> bool(result.right[0].estimate > 0.9), bool(result.right[1].estimate > 0.9), result.cap
    (True, True, 200000.0)
    """
    check_strategy(strategy)
    good, plays = two_level_means(n, strategy.k, epsilon), check_integer(plays, "plays", 1)
    means = np.stack([good, good])
    means[0, 0] = 0.5
    seed = check_seed(seed, "seed")
    reps = replicate_both(strategy, means, plays, seed, jobs)
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
    return AlgorithmB(pulls, cap, right, samples, capped, np.array(reliable), seed)


@validated(n=integer(2), k=up_to_half, epsilon=between(0, 1 / 8))
def two_level_means(n, k, epsilon):
    """Return the means of k arms that are 4 epsilon better than the other n - k."""
    return np.where(np.arange(n) < k, 0.5 + 4 * epsilon, 0.5)


def replicate_both(strategy, instances, runs, seed, jobs):
    """Replicate on two instances, with independent seeds derived from one."""
    child = np.random.SeedSequence(seed).spawn(1)[0]
    seeds = seed, int(child.generate_state(1, np.uint64)[0])
    return [replicate(strategy, BernoulliBandit(means), runs, seed=each, jobs=jobs)
            for means, each in zip(instances, seeds, strict=True)]
