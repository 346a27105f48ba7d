"""Arms with a reward law, pulled in batches.

A bandit knows its arms' means and answers one question: if arm ``arms[j]`` is
pulled ``counts[j]`` times, what do the rewards add up to?  Sums, and sums of
squares, are all that any strategy of this library looks at.
"""

import math
from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from itertools import chain
from typing import TYPE_CHECKING, Any, NamedTuple, Self

import numpy as np
from numpy.typing import ArrayLike

from topk._checks import (
    as_numbers,
    as_vector,
    check_arms,
    check_counts,
    check_means,
    check_real,
    refuse,
    up_to,
)
from topk._types import Flags, Floats, Integers

if TYPE_CHECKING:
    import pandas

PORTION = 2**18  # rewards that are drawn or summed up at a time: some hundredths of a second
check_sigma = up_to(1e150)
UNDECLARED = "or declare others: bounds = (low, high), or sigma for unbounded sub-Gaussian ones"


class Scale(NamedTuple):
    """What rewards are like: within bounds, or sub-Gaussian; strategies see them as `to_unit` does.

    Rewards x in [low, low + width] become (x - low) / width in [0, 1].  Those that are
    sigma-sub-Gaussian become x / (2 sigma), which is 1/2-sub-Gaussian, as rewards in [0, 1] are.

    Attributes
    ----------
    low, width : float
        The least reward and the range; 0 and 2 sigma for sub-Gaussian rewards.
    bounded : bool
        Whether rewards have bounds.
    items : int or None
        The rewards of an arm are 0 or 1 and drawn without replacement from so many.
    """

    low: float = 0.0
    width: float = 1.0
    bounded: bool = True
    items: int | None = None

    @property
    def sigma(self) -> float | None:
        """That of sub-Gaussian rewards on the strategies' scale, 1/2; None of bounded ones."""
        return None if self.bounded else 0.5

    def unit_epsilon(self, epsilon: float) -> float:
        """Return a tolerance, in the user's units, on the strategies' scale; or refuse it."""
        if not self.bounded:
            return check_real(epsilon, "epsilon", 0, 1e150) / self.width
        epsilon = check_real(epsilon, "epsilon", 0, self.width, high_open=True)
        return min(epsilon / self.width, 1 - 2**-53)

    def to_unit(self, counts: Any, sums: Any, squares: Any) -> tuple[Any, Any]:
        """Return the sums and sums of squares that the rewards have on the strategies' scale."""
        return (sums, squares) if self == UNIT else unit_sums(self.numbers, counts, sums, squares)

    @property
    def numbers(self) -> tuple[float, float, float, float, bool]:
        """What `unit_sums` looks at."""
        return self.low, self.width, self.low**2, self.width**2, self.bounded

    def from_unit(self, pulls: Any, sums: Any) -> Any:
        """Return the sums of rewards in the user's units."""
        return sums if self == UNIT else sums * self.width + pulls * self.low

    def refused(self, sums: Floats, counts: Floats | Integers | int) -> Flags:
        """Return where sums of so many rewards cannot be, an array of bool."""
        if not self.bounded:
            return ~np.isfinite(sums)
        slack = 1e-9 * np.maximum(counts, 1) * max(self.width, abs(self.low)) * (self != UNIT)
        low, high = counts * self.low, counts * (self.low + self.width)
        return ~((sums >= low - slack) & (sums <= high + slack))  # nan counts as bad

    def __str__(self) -> str:
        if not self.bounded:
            return "finite"
        return f"in [{self.low:g}, {self.low + self.width:g}]"


UNIT = Scale()


def unit_sums(numbers, counts, sums, squares):
    """Return what `Scale.to_unit` does; of numbers, in compiled code, or of arrays."""
    low, width, low_squared, width_squared, bounded = numbers
    shifted = squares - 2 * low * sums + counts * low_squared
    sums = (sums - counts * low) / width
    if bounded:  # rounding may leave [0, counts]
        sums = np.minimum(np.maximum(sums, 0.0), counts)
    return sums, np.maximum(shifted / width_squared, 0.0)


def scale_of(bounds: Sequence[float] | None = None, sigma: float | None = None) -> Scale:
    """Return the scale that ``bounds=(low, high)`` or ``sigma=`` declares, [0, 1] without both.

    Raises
    ------
    ValueError
        If both are given, or they are not within 1e150 of 0 with low < high, or 0 < sigma.
    """
    if sigma is not None:
        if bounds is not None:
            refuse("bounds", bounds, "left out where sigma is given")
        return Scale(0.0, 2 * check_sigma(sigma, "sigma"), bounded=False)
    if bounds is None:
        return UNIT
    allowed = "a pair (low, high) of numbers from -1e150 to 1e150, low < high"
    pair = as_numbers(bounds, "bounds", allowed)
    if pair.shape != (2,) or not -1e150 <= pair[0] < pair[1] <= 1e150:
        refuse("bounds", bounds, allowed)
    low, high = pair.tolist()
    return Scale(low, high - low)


class Rewards(NamedTuple):
    """What a batch of pulls returned.

    Attributes
    ----------
    sums : ndarray of float, shape (m,)
        ``sums[j]`` is the sum of the ``counts[j]`` rewards of arm ``arms[j]``.
    squares : ndarray of float, shape (m,)
        The sums of the squared rewards, in the same order.
    """

    sums: Floats
    squares: Floats


class Bandit(ABC):
    """n arms, each with a law of its own, on [0, 1] unless declared otherwise.

    A new kind of arm has to provide ``means`` and `sample`; `pull` then follows.  Rewards that are
    not in [0, 1] need ``bounds = (low, high)`` or, if they are sub-Gaussian, ``sigma``, as
    attributes of the class or of the object: the strategies' promises rest on it.

    A `pull` of your own has to draw from ``rng`` as `sample` does, unless rewards are 0 or 1 and it
    derives from `BernoulliBandit`: traces and checkpoints inside a batch look at single rewards.

    Attributes
    ----------
    means : ndarray of float, shape (n,) or (M, n)
        The arms' expected rewards; read-only.  Two axes mean M bandits of n arms each, see
        `MultiBandit`; arm i of bandit m is then number ``m * n + i`` of ``M * n``.
    """

    means: Floats
    bounds: Sequence[float] | None = None
    sigma: float | None = None

    def __init__(self, means: ArrayLike) -> None:
        self.means = np.ascontiguousarray(means, dtype=np.float64)
        self.means.setflags(write=False)

    @property
    def n(self) -> int:
        """The number of arms, of all bandits together."""
        return self.means.size

    @property
    def layout(self) -> int | tuple[int, ...]:
        """What a strategy is started with: the number n of arms, or the pair (M, n)."""
        return self.means.shape if self.means.ndim > 1 else self.means.size

    @property
    def units(self) -> Scale:
        """The `Scale` of the rewards, from ``bounds`` or ``sigma``."""
        return scale_of(self.bounds, self.sigma)

    @property
    def allowed(self) -> str:
        """What is said of rewards when one is refused, and how others are declared."""
        if self.bounds is not None or self.sigma is not None:
            return str(self.units)
        return f"{self.units} ({UNDECLARED})"

    @abstractmethod
    def sample(self, arm: int, count: int, rng: np.random.Generator) -> Floats:
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
            The rewards, each within the declared bounds.
        """

    def pull(self, arms: ArrayLike, counts: ArrayLike, rng: np.random.Generator) -> Rewards:
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
            If an arm does not exist, a count is negative, or `sample` returns another number of
            rewards or one out of bounds.
        """
        arms, counts = self._checked(arms, counts, rng)
        sums, squares = np.zeros(arms.size), np.zeros(arms.size)
        for j, (arm, count) in enumerate(zip(arms.tolist(), counts.tolist(), strict=True)):
            rewards = self.rewards(arm, count, rng)
            sums[j], squares[j] = exact_sum(rewards), exact_sum(rewards * rewards)
        return Rewards(sums, squares)

    def rewards(self, arm: int, count: int, rng: np.random.Generator) -> Floats:
        """Return what `sample` does, drawn in portions, between which Ctrl-C is heard; checked."""
        portions = range(0, max(count, 1), PORTION)
        drawn = [self.sample(arm, min(PORTION, count - x), rng) for x in portions]
        rewards = np.asarray(drawn[0]) if len(drawn) == 1 else np.concatenate(drawn)
        if rewards.shape != (count,):
            refuse(f"sample of arm {arm}", f"an array of shape {rewards.shape}", f"{count} rewards")
        bad = self.units.refused(rewards, 1)
        if np.any(bad):
            refuse(f"a reward of arm {arm}", float(rewards[bad][0]), self.allowed)
        return rewards

    def _checked(self, arms: Any, counts: Any, rng: Any) -> tuple[Integers, Integers]:
        if not isinstance(rng, np.random.Generator):
            refuse("rng", rng, "a numpy.random.Generator")
        arms = check_arms(arms, self.n)
        return arms, check_counts(counts, arms.size)

    def __repr__(self) -> str:
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

    def __init__(self, means: ArrayLike) -> None:
        super().__init__(check_means(means))

    def sample(self, arm: int, count: int, rng: np.random.Generator) -> Floats:
        """Return ``count`` rewards, each 0.0 or 1.0; see `Bandit.sample`."""
        return (rng.random(count) < self.means.flat[arm]).astype(np.float64)

    def pull(self, arms: ArrayLike, counts: ArrayLike, rng: np.random.Generator) -> Rewards:
        """Pull a batch; one binomial draw an arm. See `Bandit.pull`."""
        arms, counts = self._checked(arms, counts, rng)
        sums = np.zeros(arms.size)
        if (counts != 1).all():  # the plain form, ten times as fast at once
            sums[:] = rng.binomial(counts, self.means.ravel()[arms])
        else:
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

    def __init__(self, means: ArrayLike) -> None:
        Bandit.__init__(self, check_means(means, ndim=2))


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

    a: Floats
    b: Floats

    def __init__(self, a: ArrayLike, b: ArrayLike) -> None:
        self.a = as_vector(a, "a", positive=True)
        self.b = as_vector(b, "b", positive=True)
        if self.a.shape != self.b.shape:
            refuse("b", f"an array of shape {self.b.shape}", f"of a's shape {self.a.shape}")
        super().__init__(self.a / (self.a + self.b))

    def sample(self, arm: int, count: int, rng: np.random.Generator) -> Floats:
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

    loc: Floats
    scale: float

    def __init__(self, loc: ArrayLike, scale: float) -> None:
        from scipy.stats import truncnorm

        self.loc = check_means(loc, "loc")
        self.scale = up_to(1e6)(scale, "scale")
        law = truncnorm(-self.loc / self.scale, (1 - self.loc) / self.scale, self.loc, self.scale)
        super().__init__(np.clip(law.mean(), 0.0, 1.0))

    def sample(self, arm: int, count: int, rng: np.random.Generator) -> Floats:
        """Return ``count`` rewards of one arm; see `Bandit.sample`."""
        from scipy.special import ndtr, ndtri

        low, high = ndtr((np.array([0.0, 1.0]) - self.loc[arm]) / self.scale)
        rewards = self.loc[arm] + self.scale * ndtri(low + (high - low) * rng.random(count))
        return np.clip(rewards, 0.0, 1.0)


class GaussianBandit(Bandit):
    """Arms whose rewards follow normal laws with a known standard deviation.

    Parameters
    ----------
    means : array_like of float, shape (n,), n >= 2
        Each finite.
    sigma : float
        The standard deviation, positive.

    Raises
    ------
    ValueError
        If a mean is not finite or ``sigma`` is not positive and finite.

    Examples
    --------
    >>> import topk
    >>> bandit = GaussianBandit([120.0, 100.0, 80.0], sigma=15.0)
    >>> topk.run(topk.SAR(1, budget=60), bandit, rng=0).selected.tolist()
    [0]
    """

    sigma: float

    def __init__(self, means: ArrayLike, sigma: float) -> None:
        self.sigma = check_sigma(sigma, "sigma")
        super().__init__(as_vector(means, "means"))

    def sample(self, arm: int, count: int, rng: np.random.Generator) -> Floats:
        """Return ``count`` rewards of one arm; see `Bandit.sample`."""
        return rng.normal(self.means[arm], self.sigma, size=count)


class ReplayBandit(Bandit):
    """Arms that replay recorded rewards, drawn with replacement.

    Parameters
    ----------
    answers : sequence of n array_like of float, or dict of them by name, n >= 2
        The recorded rewards of each arm, at least one, each within the bounds.
    bounds : pair of float, optional
        The least and the largest reward that there can be; (0, 1) unless given.

    Attributes
    ----------
    names : list or None
        What the arms are called, if the records have names.

    Raises
    ------
    ValueError
        If an arm has no record or a reward lies outside the bounds.

    Notes
    -----
    Drawing with replacement makes an arm's mean the average of its record and lets a
    simulated study ask more of a worker than the worker ever answered.

    Examples
    --------
    >>> ReplayBandit([[1, 1, 0, 1], [0, 1]]).means.tolist()
    [0.75, 0.5]
    """

    names: list[Any] | None = None
    answers: list[Floats]
    bounds: Sequence[float] | None

    def __init__(
        self,
        answers: Sequence[ArrayLike] | Mapping[Any, ArrayLike],
        bounds: Sequence[float] | None = None,
    ) -> None:
        allowed = "a list with the rewards of each of at least 2 arms, or a dict of them by name"
        if type(answers).__module__.partition(".")[0] == "pandas":
            seen = f"a pandas {type(answers).__name__}"
            refuse("answers", seen, f"{allowed} (of a table see ReplayBandit.from_frame)")
        if isinstance(answers, dict):
            self.names, answers = list(answers), list(answers.values())
        if not hasattr(answers, "__len__") or len(answers) < 2:
            refuse("answers", answers, allowed)
        self.bounds, scale = bounds, scale_of(bounds)
        allowed = f"a vector of at least one number, each {scale}"
        self.answers = [as_numbers(record, "answers", allowed) for record in answers]
        for arm, record in zip(self.names or range(len(answers)), self.answers, strict=True):
            if record.ndim != 1 or record.size == 0:
                refuse(f"answers of arm {arm!r}", f"an array of shape {record.shape}", allowed)
            if (bad := scale.refused(record, 1)).any():
                refuse(f"answers of arm {arm!r}", float(record[bad][0]), allowed)
        super().__init__([math.fsum(record) / record.size for record in self.answers])

    @classmethod
    def from_frame(
        cls,
        frame: "pandas.DataFrame",
        arm: Any = "arm",
        reward: Any = "reward",
        bounds: Sequence[float] | None = None,
    ) -> Self:
        """Return the bandit of a table with a row for each reward.

        Parameters
        ----------
        frame : pandas.DataFrame
            One row a reward.
        arm, reward : str
            The columns that hold the arm and its reward.
        bounds : pair of float, optional
            The least and the largest reward that there can be; (0, 1) unless given.

        Returns
        -------
        ReplayBandit
            Its arms come in the order in which the table first mentions them; ``names`` is the
            list of what the table calls them.

        Raises
        ------
        ValueError
            If ``frame`` is no data frame, a column does not exist, a reward is no number, or an
            arm or a reward is missing (nan).

        Examples
        --------
        >>> import pandas
        >>> table = pandas.DataFrame({"page": ["b", "a", "b"], "sold": [1, 0, 0]})
        >>> bandit = ReplayBandit.from_frame(table, arm="page", reward="sold")
        >>> bandit.names, bandit.means.tolist()
        (['b', 'a'], [0.5, 0.0])
        """
        if not hasattr(frame, "columns"):
            refuse("frame", type(frame).__name__, "a pandas DataFrame")
        columns = list(frame.columns)
        for name, column in (("arm", arm), ("reward", reward)):
            if np.ndim(column) or columns.count(column) != 1:
                refuse(name, column, f"the name of one of the columns {columns}")
            if frame[column].isna().any():
                refuse(name, f"column {column!r} with missing values", "a column without any")
        if frame[reward].dtype.kind not in "fiub":
            refuse("reward", f"column {reward!r} of {frame[reward].dtype}", "a column of numbers")
        groups = frame[reward].groupby(frame[arm], sort=False, observed=True)
        return cls({name: record.to_numpy() for name, record in groups}, bounds)

    def sample(self, arm: int, count: int, rng: np.random.Generator) -> Floats:
        """Return ``count`` recorded rewards of one arm; see `Bandit.sample`."""
        record = self.answers[arm]
        return record[rng.integers(record.size, size=count)]


def check_bandit(bandit: Any) -> Bandit:
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
        else:  # of no pull it draws nothing
            sums[j] = rng.binomial(counts[j], means[arms[j]])
