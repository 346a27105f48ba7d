"""Arms with a reward law, pulled in batches.

A bandit knows its arms' means and answers one question: if arm ``arms[j]`` is
pulled ``counts[j]`` times, what do the rewards add up to?  Sums, and sums of
squares, are all that any strategy of this library looks at.
"""

import math
from abc import ABC, abstractmethod
from itertools import chain
from typing import NamedTuple

import numpy as np

from topk._checks import (
    as_numbers,
    check_arms,
    check_counts,
    check_means,
    check_real,
    check_unit_array,
    refuse,
)

PORTION = 2**18  # rewards that are drawn or summed up at a time: some hundredths of a second


class Rewards(NamedTuple):
    """What a batch of pulls returned.

    Attributes
    ----------
    sums : ndarray of float, shape (m,)
        ``sums[j]`` is the sum of the ``counts[j]`` rewards of arm ``arms[j]``.
    squares : ndarray of float, shape (m,)
        The sums of the squared rewards, in the same order.
    """

    sums: np.ndarray
    squares: np.ndarray


class Bandit(ABC):
    """n arms, each with its own law on [0, 1].

    A new kind of arm has to provide ``means`` and `sample`; `pull` then follows.

    Attributes
    ----------
    means : ndarray of float, shape (n,) or (M, n)
        The arms' expected rewards; read-only.  Two axes mean M bandits of n arms each, see
        `MultiBandit`; arm i of bandit m is then number ``m * n + i`` of ``M * n``.
    """

    means: np.ndarray

    def __init__(self, means):
        self.means = np.ascontiguousarray(means, dtype=np.float64)
        self.means.setflags(write=False)

    @property
    def n(self):
        """The number of arms, of all bandits together."""
        return self.means.size

    @property
    def layout(self):
        """What a strategy is started with: the number n of arms, or the pair (M, n)."""
        return self.means.shape if self.means.ndim > 1 else self.means.size

    @abstractmethod
    def sample(self, arm, count, rng):
        """Return ``count`` independent rewards of one arm.

        Parameters
        ----------
        arm : int
            Which arm, from 0 to n - 1.
        count : int
            How many rewards.
        rng : numpy.random.Generator
            Where the randomness comes from.

        Returns
        -------
        ndarray of float, shape (count,)
            The rewards, each in [0, 1].
        """

    def pull(self, arms, counts, rng):
        """Pull a batch of arms, in the order given.

        Parameters
        ----------
        arms : array_like of int, shape (m,)
            Which arms, each from 0 to n - 1.
        counts : array_like of int, shape (m,)
            How often each of them is pulled; 0 is allowed.
        rng : numpy.random.Generator
            Where the randomness comes from.

        Returns
        -------
        Rewards
            ``sums`` and ``squares``, each of shape (m,).  Sums are correctly
            rounded (`math.fsum`), so they do not depend on the order of rewards.

        Raises
        ------
        ValueError
            If an arm does not exist or a count is negative.
        """
        arms, counts = self._checked(arms, counts, rng)
        sums, squares = np.zeros(arms.size), np.zeros(arms.size)
        for j, (arm, count) in enumerate(zip(arms.tolist(), counts.tolist(), strict=True)):
            rewards = self.rewards(arm, count, rng)
            sums[j], squares[j] = exact_sum(rewards), exact_sum(rewards * rewards)
        return Rewards(sums, squares)

    def rewards(self, arm, count, rng):
        """Return what `sample` does, drawn in portions, between which Ctrl-C is heard."""
        if count <= PORTION:
            return self.sample(arm, count, rng)
        portions = range(0, count, PORTION)
        return np.concatenate([self.sample(arm, min(PORTION, count - x), rng) for x in portions])

    def _checked(self, arms, counts, rng):
        if not isinstance(rng, np.random.Generator):
            refuse("rng", rng, "a numpy.random.Generator")
        arms = check_arms(arms, self.n)
        return arms, check_counts(counts, arms.size)

    def __repr__(self):
        low, high = self.means.min(), self.means.max()
        return f"{type(self).__name__}(n={self.n}, means from {low:.4g} to {high:.4g})"


class BernoulliBandit(Bandit):
    """Arms whose rewards are 0 or 1.

    Parameters
    ----------
    means : array_like of float, shape (n,), n >= 2
        Probability of a reward of 1, each in [0, 1].

    Raises
    ------
    ValueError
        If ``means`` has fewer than two entries or one outside [0, 1].

    Notes
    -----
    An arm pulled c times is one binomial draw with c trials; for c = 1 it is the
    comparison of one uniform number with the mean, which is the same law and costs
    a twentieth.

    Examples
    --------
    >>> import numpy as np
    >>> bandit = BernoulliBandit([0.9, 0.5, 0.0])
    >>> bandit.pull([0, 2], [100, 100], np.random.default_rng(0)).sums.tolist()
    [89.0, 0.0]
    """

    def __init__(self, means):
        super().__init__(check_means(means))

    def sample(self, arm, count, rng):
        """Return ``count`` rewards, each 0.0 or 1.0; see `Bandit.sample`."""
        return (rng.random(count) < self.means[arm]).astype(np.float64)

    def pull(self, arms, counts, rng):
        """Pull a batch; one binomial draw an arm. See `Bandit.pull`."""
        arms, counts = self._checked(arms, counts, rng)
        sums = np.zeros(arms.size)
        draw_bernoulli(self.means.ravel(), arms, counts, arms.size, rng, sums)
        return Rewards(sums, sums.copy())


class MultiBandit(BernoulliBandit):
    """Several bandits at once, all of whose arms have rewards 0 or 1.

    A strategy for several bandits (`MultiBanditSAR`, `MultiBanditGapE`, `MultiBanditUGapEb`,
    `MultiBanditUGapEc`) shares its pulls out among the bandits and chooses k arms of each.

    Parameters
    ----------
    means : array_like of float, shape (M, n), n >= 2
        Probability of a reward of 1, each in [0, 1]; a row for each bandit.

    Raises
    ------
    ValueError
        If ``means`` has not two axes, fewer than two columns, or an entry outside [0, 1].

    Notes
    -----
    Wherever arms are named by one number, in `pull`, in a live session's ``ask`` and
    ``tell`` and in a trace, arm i of bandit m is ``m * n + i``.  Chosen sets are given by
    the numbers 0 to n - 1 of each bandit's own arms: ``selected`` is (M, k), ``pulls`` and
    ``sums`` are (M, n).

    Examples
    --------
    >>> import topk
    >>> bandit = MultiBandit([[0.9, 0.5, 0.1], [0.2, 0.3, 0.7]])
    >>> bandit.n, bandit.layout
    (6, (2, 3))
    >>> outcome = topk.run(topk.MultiBanditSAR(budget=600), bandit, rng=0)
    >>> outcome.selected.tolist(), outcome.pulls.shape
    ([[0], [2]], (2, 3))
    """

    def __init__(self, means):
        rows = check_unit_array(means, "means", ndim=2)
        if rows.shape[1] < 2:
            refuse("means", f"an array of shape {rows.shape}", "an array of at least 2 columns")
        Bandit.__init__(self, rows)

    def sample(self, arm, count, rng):
        """Return ``count`` rewards, each 0.0 or 1.0; see `Bandit.sample`."""
        return (rng.random(count) < self.means.flat[arm]).astype(np.float64)


class BetaBandit(Bandit):
    """Arms whose rewards follow Beta laws.

    Parameters
    ----------
    a, b : array_like of float, shape (n,), n >= 2
        The two shape parameters of each arm, positive; the mean is a / (a + b).

    Raises
    ------
    ValueError
        If the shapes differ in size or one of them is not positive and finite.
    """

    def __init__(self, a, b):
        self.a, self.b = _positive(a, "a"), _positive(b, "b")
        if self.a.shape != self.b.shape:
            refuse("b", f"an array of shape {self.b.shape}", f"of a's shape {self.a.shape}")
        super().__init__(self.a / (self.a + self.b))

    def sample(self, arm, count, rng):
        """Return ``count`` rewards of one arm; see `Bandit.sample`."""
        return rng.beta(self.a[arm], self.b[arm], size=count)


class TruncatedNormalBandit(Bandit):
    """Arms whose rewards follow a normal law cut to [0, 1].

    Parameters
    ----------
    loc : array_like of float, shape (n,), n >= 2
        Centre of each arm's normal law before it is cut; the arm's mean lies
        between ``loc`` and 1/2.
    scale : float
        Its standard deviation before it is cut, positive.

    Raises
    ------
    ValueError
        If ``loc`` has an entry outside [0, 1] or ``scale`` is not positive and finite.
    """

    def __init__(self, loc, scale):
        from scipy.stats import truncnorm

        loc = check_means(loc, "loc")
        self.scale = check_real(scale, "scale", 0, 1e6, low_open=True)
        law = truncnorm(-loc / self.scale, (1 - loc) / self.scale, loc, self.scale)
        self.loc = loc
        super().__init__(np.clip(law.mean(), 0.0, 1.0))

    def sample(self, arm, count, rng):
        """Return ``count`` rewards of one arm; see `Bandit.sample`."""
        from scipy.special import ndtr, ndtri

        low, high = ndtr((np.array([0.0, 1.0]) - self.loc[arm]) / self.scale)
        rewards = self.loc[arm] + self.scale * ndtri(low + (high - low) * rng.random(count))
        return np.clip(rewards, 0.0, 1.0)


class ReplayBandit(Bandit):
    """Arms that replay recorded rewards, drawn with replacement.

    Parameters
    ----------
    answers : sequence of n array_like of float, n >= 2
        The recorded rewards of each arm, at least one, each in [0, 1].

    Raises
    ------
    ValueError
        If an arm has no record or a reward lies outside [0, 1].

    Notes
    -----
    Drawing with replacement makes an arm's mean the average of its record and lets a
    simulated study ask more of a worker than the worker ever answered.

    Examples
    --------
    >>> ReplayBandit([[1, 1, 0, 1], [0, 1]]).means.tolist()
    [0.75, 0.5]
    """

    def __init__(self, answers):
        if not hasattr(answers, "__len__") or len(answers) < 2:
            refuse("answers", answers, "a sequence of the records of at least 2 arms")
        self.answers = [check_unit_array(record, "answers") for record in answers]
        super().__init__([math.fsum(record) / record.size for record in self.answers])

    def sample(self, arm, count, rng):
        """Return ``count`` recorded rewards of one arm; see `Bandit.sample`."""
        record = self.answers[arm]
        return record[rng.integers(record.size, size=count)]


def check_bandit(bandit):
    """Return ``bandit`` if it is one."""
    if not isinstance(bandit, Bandit):
        refuse("bandit", bandit, "a topk.Bandit")
    return bandit


def exact_sum(rewards):
    """Return the correctly rounded sum of an array, taken in portions as well."""
    portions = range(0, len(rewards), PORTION)
    return math.fsum(chain.from_iterable(rewards[x : x + PORTION].tolist() for x in portions))


def draw_bernoulli(means, arms, counts, m, rng, sums):
    """Fill ``sums[:m]`` with the rewards of a batch, drawn in the order given.

    The plain form is ``sums[j] = rng.binomial(counts[j], means[arms[j]])``.  A single pull
    compares one uniform number with the mean instead: the same law for a twentieth of the
    time.

    Parameters
    ----------
    means : ndarray of float, shape (n,)
        Reward probabilities.
    arms, counts : ndarray of int, shape (at least m,)
        Which arms, and how often each is pulled.
    m : int
        Length of the batch.
    rng : numpy.random.Generator
        Its stream is the same compiled and interpreted.
    sums : ndarray of float, shape (at least m,)
        Filled in place.
    """
    for j in range(m):
        if counts[j] == 1:
            sums[j] = 1.0 if rng.random() < means[arms[j]] else 0.0
        elif counts[j] > 0:
            sums[j] = rng.binomial(counts[j], means[arms[j]])
        else:
            sums[j] = 0.0


def _positive(values, name):
    allowed = "a vector of at least 2 positive, finite numbers"
    array = as_numbers(values, name, allowed)
    if array.ndim != 1 or array.size < 2 or not (np.isfinite(array) & (array > 0)).all():
        refuse(name, values, allowed)
    return array
