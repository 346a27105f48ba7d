"""Bandits: arms with reward distributions, pulled in batches.

A bandit stores the means of its arms, and returns the sum of the rewards and the sum of their
squares if arm ``arms[j]`` is pulled ``counts[j]`` times.  No strategy of this library uses more.
"""

import math
from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from itertools import chain
from typing import Any, NamedTuple, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray

from topk._checks import (
    ULP,
    as_numbers,
    as_vector,
    check_arms,
    check_counts,
    check_integer,
    check_means,
    check_real,
    refuse,
    refuse_first,
    roundings,
    up_to,
)
from topk._marks import apart
from topk._tables import as_labels, is_table, joined, read_tidy
from topk._types import Flags, Floats, Integers

CHUNK_SIZE = 2**18  # rewards drawn or summed at a time, which takes some hundredths of a second
check_sigma = up_to(1e150)
NARROW = 2.0**-32  # smallest ratio of the width to the largest absolute bound
LARGE = 1e150  # bounds beyond this are multiplied by nothing
HOW_TO_DECLARE = "or declare others: bounds = (low, high), or sigma for unbounded sub-Gaussian ones"


class RewardRange(NamedTuple):
    """The range of rewards, bounded or sub-Gaussian, and their rescaling for the strategies.

    Rewards x in [low, low + width] become (x - low) / width in [0, 1].  Sigma-sub-Gaussian rewards
    become x / (2 sigma), which are 1/2-sub-Gaussian like rewards in [0, 1].

    Attributes
    ----------
    low, width : float
        The smallest reward and the length of the range; 0 and 2 sigma for sub-Gaussian rewards.
    bounded : bool
        Whether rewards have bounds.
    items : int or None
        If given, the rewards of an arm are drawn without replacement from this number of results.
    graded : bool
        Whether such results may be other than 0 or 1, or missing: nan.
    top : float or None
        The largest reward where ``low + width`` is another number because of rounding.
    """

    low: float = 0.0
    width: float = 1.0
    bounded: bool = True
    items: int | None = None
    graded: bool = False
    top: float | None = None

    @property
    def sigma(self) -> float | None:
        """Sub-Gaussian parameter after rescaling: 1/2, or None for bounded rewards."""
        return None if self.bounded else 0.5

    def unit_epsilon(self, epsilon: float, name: str = "epsilon") -> float:
        """Return a rescaled tolerance, given in units of reward; refuse one out of range."""
        if not self.bounded:
            return check_real(epsilon, name, 0, 1e150) / self.width
        epsilon = check_real(epsilon, name, 0, self.width, high_open=True)
        return min(epsilon / self.width, 1 - 2**-53)

    def to_unit(self, counts: Any, sums: Any, squares: Any) -> tuple[Any, Any]:
        """Return the sums, and sums of squares, of the rescaled rewards.

        The squares are those of `unit_squares`.
        """
        if self == UNIT_RANGE:
            return sums, squares
        rescaled = self.unit(counts, sums)
        return rescaled, self.unit_squares(counts, sums, squares, rescaled)

    def centred(self, rewards: Any) -> Any:
        """Return (x - low) / 2^e of rewards x, with 2^e near the width.

        Rewards are squared only after this: squares of rewards far from 0 lose the digits that
        distinguish them, and squares of very large or small ones overflow or vanish.  The power of
        two causes no rounding.
        """
        return (rewards - self.low) * self.power

    @property
    def power(self) -> float:
        """The factor 2^-e of `centred`."""
        return math.ldexp(1.0, 1 - math.frexp(self.width)[1])

    @property
    def numbers(self) -> tuple[float, float, float, float, bool]:
        """The argument ``numbers`` of `unit_sums`."""
        width = self.width * self.power
        return self.low, self.power, width, width**2, self.bounded

    def unit_squares(self, counts: Any, sums: Any, squares: Any, rescaled: Any) -> Any:
        """Return sums of squares of rescaled rewards that are at least the true ones.

        Parameters
        ----------
        counts, sums, squares : ndarray, shape (m,)
            Numbers of rewards, their sums, and the sums of their squares.
        rescaled : ndarray, shape (m,)
            The sums of the rescaled rewards.

        Notes
        -----
        If bounds are far from 0, the squares have lost digits.  The largest value is returned that
        they leave possible; it is at most ``rescaled``, which belongs to rewards at the bounds.
        """
        power, width = self.power, self.width * self.power
        found = squares * power * power / width**2
        if not self.bounded:
            return found
        if self.low:
            low = self.low / self.width
            slack = roundings(counts) * found + 4 * ULP * low * low * counts
            found = found - 2 * low * (sums * power / width) + low * low * counts + slack
        least = rescaled * rescaled / np.maximum(counts, 1)
        return np.minimum(np.maximum(found, least), np.maximum(rescaled, least))

    def from_unit(self, pulls: Any, sums: Any) -> Any:
        """Return the sums of the original rewards, given those of the rescaled ones."""
        return sums if self == UNIT_RANGE else sums * self.width + pulls * self.low

    @property
    def high(self) -> float:
        """The largest bounded reward."""
        return self.low + self.width if self.top is None else self.top

    def unit(self, counts: Any, sums: Any) -> Any:
        """Return the sums of the rescaled rewards."""
        if self == UNIT_RANGE:
            return sums
        if max(abs(self.low), self.width) > LARGE:  # products of these would overflow
            sums = sums / self.width - counts * (self.low / self.width)
        else:
            sums = (sums - counts * self.low) / self.width
        return np.minimum(np.maximum(sums, 0.0), counts) if self.bounded else sums

    def impossible(self, sums: Floats, counts: Floats | Integers | int) -> Flags:
        """Return, as an array of bool, which sums of ``counts`` rewards are impossible.

        Sums may have the rounding errors of floats that were added one by one, at most 1e-9 of the
        largest absolute reward each; those of rewards in [0, 1] must be within [0, counts].
        """
        if self == UNIT_RANGE:
            return ~((sums >= 0) & (sums <= counts))  # a nan is refused
        wrong = ~np.isfinite(sums)
        if not self.bounded:
            return wrong
        most = np.maximum(counts, 1)
        slack = roundings(most) * most
        scale = max(abs(self.low), abs(self.high))  # divided by it, nothing overflows
        low, high, found = counts * (self.low / scale), counts * (self.high / scale), sums / scale
        possible = (found >= low - slack) & (found <= high + slack)
        return (wrong | ~possible) & ~(np.isnan(sums) & self.graded)

    def __str__(self) -> str:
        if not self.bounded:
            return "finite"
        return f"in [{self.low:g}, {self.high:g}]"


UNIT_RANGE = RewardRange()


def unit_sums(numbers, counts, sums, squares):
    """Return sums, and sums of squares, of rescaled rewards, for `RewardRange.centred` ones.

    Parameters
    ----------
    numbers : tuple
        `RewardRange.numbers`.
    counts : int, or ndarray of int
        Numbers of rewards.
    sums, squares : float, or ndarray of float
        Sums of centred rewards, and of their squares.
    """
    _, _, width, width_squared, bounded = numbers
    sums = sums / width
    if bounded:  # rounding may leave [0, counts]
        sums = np.minimum(np.maximum(sums, 0.0), counts)
    return sums, squares / width_squared


def reward_range_of(
    bounds: Sequence[float] | None = None, sigma: float | None = None,
) -> RewardRange:
    """Return the range declared by ``bounds=(low, high)`` or ``sigma=``, by default [0, 1].

    Raises
    ------
    ValueError
        If both are given, if low and high are not increasing numbers from -1e300 to 1e300, if they
        are so close to each other, and far from 0, that floats between them are few, or if sigma is
        not in (0, 1e150].
    """
    if sigma is not None:
        if bounds is not None:
            refuse("bounds", bounds, "left out where sigma is given")
        return RewardRange(0.0, 2 * check_sigma(sigma, "sigma"), bounded=False)
    if bounds is None:
        return UNIT_RANGE
    allowed = "a pair (low, high) of numbers from -1e300 to 1e300, low < high"
    pair = as_numbers(bounds, "bounds", allowed)
    if pair.shape != (2,) or not -1e300 <= pair[0] < pair[1] <= 1e300:
        refuse("bounds", bounds, allowed)
    if pair[1] - pair[0] < max(NARROW * abs(pair).max(), 1e-300):
        far = "further apart: floats between them are too few; subtract low from all rewards"
        refuse("bounds", bounds, far)
    low, high = pair.tolist()
    width = high - low
    return RewardRange(low, width, top=None if low + width == high else high)


class Rewards(NamedTuple):
    """The rewards of a batch of pulls.

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
    """n arms with one reward distribution each, on [0, 1] unless declared otherwise.

    A subclass must provide ``means`` and `sample`; `pull` uses them.  If rewards are not in [0, 1],
    the class or the object must also have an attribute ``bounds = (low, high)`` or, for
    sub-Gaussian rewards, ``sigma``: the strategies' guarantees depend on it.

    `topk.run` and `topk.replicate` draw the rewards of a subclass ahead of their use: `sample` is
    called for 16 rewards of an arm, then each time for as many as have been drawn so far, at most
    65,536, with a separate random generator for each arm.  The t-th reward of an arm in replication
    r with a given seed is therefore the same for every strategy, with or without a trace,
    checkpoints and workers.  The result of `sample` must depend only on its arguments.

    If a subclass overrides `pull`, that method is called instead, with one generator for all arms.
    It must draw from ``rng`` as `sample` does, unless rewards are 0 or 1 and the class derives from
    `BernoulliBandit`: traces and checkpoints inside a batch need single rewards.

    Attributes
    ----------
    means : ndarray of float, shape (n,) or (M, n)
        Expected rewards of the arms; read-only.  An array with two axes describes M bandits of n
        arms each, see `MultiBandit`; arm i of bandit m then has the number ``m * n + i``.
    """

    means: Floats
    bounds: Sequence[float] | None = None
    sigma: float | None = None
    sizes: Integers | None = None  # number of rewards that each arm has, if they are limited
    aligned: bool = False  # whether the i-th rewards of all arms belong together
    drawn_ahead: bool = True  # whether `sample` is called for blocks, see above; not inherited
    # rewards (n, N), of which `sample` gives the next, and how many are gone (n,); not inherited
    dealt: tuple[NDArray[Any], Integers] | None = None

    def __init__(self, means: ArrayLike) -> None:
        self.means = np.ascontiguousarray(means, dtype=np.float64)
        self.means.setflags(write=False)

    @property
    def n(self) -> int:
        """The total number of arms of all bandits."""
        return self.means.size

    @property
    def layout(self) -> int | tuple[int, ...]:
        """The argument of `Strategy.start`: the number n of arms, or the pair (M, n)."""
        return self.means.shape if self.means.ndim > 1 else self.means.size

    def form(self, strategy: Any) -> Any:
        """Return the strategy that plays on these arms: by default its form for independent ones.

        A bandit overrides this where another form of the rule is valid, for example because
        rewards are drawn without replacement, or to refuse what is not.

        Parameters
        ----------
        strategy : topk.Strategy
            The strategy that was chosen.
        """
        return strategy.on_arms()

    def deal(self, rng: np.random.Generator) -> "Bandit":
        """Return the bandit of one run: by default the bandit itself.

        A bandit overrides this where a run draws more than rewards, such as an order.

        Parameters
        ----------
        rng : numpy.random.Generator
            Source of randomness for what is drawn; a stream of its own in each run.
        """
        return self

    def deal_to(self, strategy: Any, rng: np.random.Generator) -> "Bandit":
        """Return the bandit of one run of a strategy: by default that of `deal`."""
        return self.deal(rng)

    @property
    def reward_range(self) -> RewardRange:
        """The `RewardRange` of the rewards, from ``bounds`` or ``sigma``."""
        return reward_range_of(self.bounds, self.sigma)

    @property
    def allowed(self) -> str:
        """The allowed rewards, and how to declare others, for error messages."""
        if self.bounds is not None or self.sigma is not None:
            return str(self.reward_range)
        return f"{self.reward_range} ({HOW_TO_DECLARE})"

    @abstractmethod
    def sample(self, arm: int, count: int, rng: np.random.Generator) -> Floats:
        """Return ``count`` independent rewards of one arm.

        Parameters
        ----------
        arm : int
            The arm, from 0 to n - 1.
        count : int
            Number of rewards.
        rng : numpy.random.Generator
            Source of randomness.

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
            The arms, each from 0 to n - 1.
        counts : array_like of int, shape (m,)
            Number of pulls of each of them; 0 is allowed.
        rng : numpy.random.Generator
            Source of randomness.

        Returns
        -------
        Rewards
            ``sums`` and ``squares``, each of shape (m,).  Sums are correctly
            rounded (`math.fsum`), so they do not depend on the order of rewards.

        Raises
        ------
        ValueError
            If an arm does not exist, a count is negative, or `sample` returns a wrong number of
            rewards or one out of bounds.
        """
        arms, counts = self._check_batch(arms, counts, rng)
        sums, squares = np.zeros(arms.size), np.zeros(arms.size)
        for j, (arm, count) in enumerate(zip(arms.tolist(), counts.tolist(), strict=True)):
            rewards = self.rewards(arm, count, rng)
            sums[j], squares[j] = exact_sum(rewards), exact_sum(rewards * rewards)
        return Rewards(sums, squares)

    def rewards(self, arm: int, count: int, rng: np.random.Generator) -> Floats:
        """Return rewards of `sample`, checked and drawn in portions, so that Ctrl-C interrupts.

        Raises
        ------
        ValueError
            If the arm does not exist, ``count`` is not from 0 to 2**31 (rewards are held in
            memory), or `sample` returns a wrong number of rewards or one out of bounds.
        """
        self._check_draw(arm, count)
        rewards = np.empty(count)
        for begin in range(0, max(count, 1), CHUNK_SIZE):
            size = min(CHUNK_SIZE, count - begin)
            some = as_numbers(self.sample(arm, size, rng), f"sample of arm {arm}", self.allowed)
            if some.shape != (size,):
                refuse(f"sample of arm {arm}", f"an array of shape {some.shape}", f"{size} rewards")
            bad = self.reward_range.impossible(some, 1)
            if np.any(bad):
                refuse(f"a reward of arm {arm}", float(some[bad][0]), self.allowed)
            rewards[begin : begin + size] = some
        return rewards

    def _check_draw(self, arm: Any, count: Any) -> None:
        check_integer(arm, "arm", 0, self.n - 1)
        check_integer(count, "count", 0, 2**31)

    def _check_batch(self, arms: Any, counts: Any, rng: Any) -> tuple[Integers, Integers]:
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
    The sum of c rewards of an arm is one binomial draw with c trials.  For c = 1 a uniform number
    is compared with the mean, which gives the same distribution in a twentieth of the time.

    Examples
    --------
    >>> import numpy as np
    >>> bandit = BernoulliBandit([0.9, 0.5, 0.0])
    >>> bandit.pull([0, 2], [100, 100], np.random.default_rng(0)).sums.tolist()
    [89.0, 0.0]
    """

    def __init__(self, means: ArrayLike) -> None:
        super().__init__(check_means(means))

    @property
    def reward_range(self) -> RewardRange:
        """The `RewardRange` of 0/1 rewards; other bounds, or sigma, require another `sample`."""
        reward_range = reward_range_of(self.bounds, self.sigma)
        if reward_range != UNIT_RANGE and is_coin(self):
            name = "bounds" if self.sigma is None else "sigma"
            allowed = "left out for Bernoulli arms: their rewards are 0 or 1. For others derive "
            refuse(name, getattr(self, name), f"{allowed}from topk.Bandit, with a `sample`")
        return reward_range

    def sample(self, arm: int, count: int, rng: np.random.Generator) -> Floats:
        """Return ``count`` rewards, each 0.0 or 1.0; see `Bandit.sample`."""
        self._check_draw(arm, count)
        return (rng.random(count) < self.means.flat[arm]).astype(np.float64)

    def pull(self, arms: ArrayLike, counts: ArrayLike, rng: np.random.Generator) -> Rewards:
        """Pull a batch with one binomial draw per arm; see `Bandit.pull`."""
        if not is_coin(self):  # a subclass has another distribution
            return super().pull(arms, counts, rng)
        arms, counts = self._check_batch(arms, counts, rng)
        sums = np.zeros(arms.size)
        if (counts != 1).all():  # the plain form; one call for all arms is ten times as fast
            sums[:] = rng.binomial(counts, self.means.ravel()[arms])
        else:
            draw_bernoulli(self.means.ravel(), arms, counts, arms.size, rng, sums)
        return Rewards(sums, sums.copy())


class MultiBandit(BernoulliBandit):
    """Several bandits at once, with 0/1 rewards.

    A strategy for several bandits (`MultiBanditSAR`, `MultiBanditGapE`, `MultiBanditUGapEb`,
    `MultiBanditUGapEc`) distributes its pulls among the bandits and selects k arms of each.

    Parameters
    ----------
    means : array_like of float, shape (M, n), n >= 2
        Probability of a reward of 1, each in [0, 1]; one row per bandit.

    Raises
    ------
    ValueError
        If ``means`` does not have two axes, or has fewer than two columns or an entry outside [0,
        1].

    Notes
    -----
    Wherever one number denotes an arm (in `pull`, in ``ask`` and ``tell`` of a session, and in a
    trace), arm i of bandit m is ``m * n + i``.  Selected sets use the numbers 0 to n - 1 within
    each bandit: ``selected`` is (M, k), ``pulls`` and ``sums`` are (M, n).

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
    """Arms with Beta-distributed rewards.

    Parameters
    ----------
    a, b : array_like of float, shape (n,), n >= 2
        The two shape parameters of each arm, positive; the mean is a / (a + b).

    Raises
    ------
    ValueError
        If ``a`` and ``b`` differ in size, or an entry is not positive and finite.
    """

    drawn_ahead = False

    a: Floats
    b: Floats

    def __init__(self, a: ArrayLike, b: ArrayLike) -> None:
        a, b = joined(a=a, b=b)
        self.a = as_vector(a, "a", positive=True)
        self.b = as_vector(b, "b", positive=True)
        if self.a.shape != self.b.shape:
            refuse("b", f"an array of shape {self.b.shape}", f"of a's shape {self.a.shape}")
        super().__init__(self.a / (self.a + self.b))

    def sample(self, arm: int, count: int, rng: np.random.Generator) -> Floats:
        """Return ``count`` rewards of one arm; see `Bandit.sample`."""
        self._check_draw(arm, count)
        return rng.beta(self.a[arm], self.b[arm], size=count)


class TruncatedNormalBandit(Bandit):
    """Arms with rewards from normal distributions truncated to [0, 1].

    Parameters
    ----------
    loc : array_like of float, shape (n,), n >= 2
        Mean of each arm's normal distribution before truncation; the arm's mean lies between
        ``loc`` and 1/2.
    scale : float
        Standard deviation before truncation, in (0, 1e6].

    Raises
    ------
    ValueError
        If ``loc`` has fewer than two entries or one outside [0, 1], or ``scale`` is out of range.
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
        self._check_draw(arm, count)
        from scipy.special import ndtr, ndtri

        low, high = ndtr((np.array([0.0, 1.0]) - self.loc[arm]) / self.scale)
        rewards = self.loc[arm] + self.scale * ndtri(low + (high - low) * rng.random(count))
        return np.clip(rewards, 0.0, 1.0)


class GaussianBandit(Bandit):
    """Arms with normally distributed rewards of a known standard deviation.

    Parameters
    ----------
    means : array_like of float, shape (n,), n >= 2
        Mean rewards, each finite.
    sigma : float
        The standard deviation, in (0, 1e150].

    Raises
    ------
    ValueError
        If there are fewer than two means or one is not finite, or ``sigma`` is out of range.

    Examples
    --------
    >>> import topk
    >>> bandit = GaussianBandit([120.0, 100.0, 80.0], sigma=15.0)
    >>> topk.run(topk.SAR(1, budget=60), bandit, rng=0).selected.tolist()
    [0]
    """

    drawn_ahead = False

    sigma: float

    def __init__(self, means: ArrayLike, sigma: float) -> None:
        self.sigma = check_sigma(sigma, "sigma")
        super().__init__(as_vector(means, "means"))

    def sample(self, arm: int, count: int, rng: np.random.Generator) -> Floats:
        """Return ``count`` rewards of one arm; see `Bandit.sample`."""
        self._check_draw(arm, count)
        return rng.normal(self.means[arm], self.sigma, size=count)


class ReplayBandit(Bandit):
    """Arms that replay recorded rewards, drawn with replacement.

    Parameters
    ----------
    answers : sequence of n array_like of float, or dict of them by name, n >= 2
        The recorded rewards of each arm, at least one per arm, each within the bounds.
    bounds : pair of float, optional
        The smallest and the largest possible reward; (0, 1) by default.

    Attributes
    ----------
    names : list or None
        Names of the arms, if ``answers`` is a dict.

    Raises
    ------
    ValueError
        If an arm has no record or a reward lies outside the bounds.

    Notes
    -----
    Since rewards are drawn with replacement, an arm's mean is the average of its record, and a
    simulation may pull an arm more often than it has recorded rewards.

    Examples
    --------
    >>> ReplayBandit([[1, 1, 0, 1], [0, 1]]).means.tolist()
    [0.75, 0.5]
    """

    drawn_ahead = False

    names: list[Any] | None = None
    answers: list[Floats]
    bounds: Sequence[float] | None

    def __init__(
        self,
        answers: Sequence[ArrayLike] | Mapping[Any, ArrayLike],
        bounds: Sequence[float] | None = None,
    ) -> None:
        allowed = "a list with the rewards of each of at least 2 arms, or a dict of them by name"
        module = type(answers).__module__.partition(".")[0]
        if module == "pandas" or is_table(answers):
            seen = f"a {module} {type(answers).__name__}"
            refuse("answers", seen, f"{allowed} (for a table use ReplayBandit.from_frame)")
        if isinstance(answers, Mapping):
            self.names, answers = as_labels(answers, "answers", allowed), list(answers.values())
        ordered = hasattr(answers, "__len__") and not isinstance(answers, set | frozenset)
        if not ordered or getattr(answers, "ndim", 1) == 0 or len(answers) < 2:
            refuse("answers", answers, allowed)
        reward_range = reward_range_of(bounds)
        self.bounds = None if bounds is None else tuple(bounds)  # a list may change
        allowed = f"a vector of at least one number, each {reward_range}"
        arms = self.names or range(len(answers))
        self.answers = [as_numbers(record, f"answers of arm {arm!r}", allowed)
                        for arm, record in zip(arms, answers, strict=True)]
        for arm, record in zip(arms, self.answers, strict=True):
            if record.ndim != 1 or record.size == 0:
                refuse(f"answers of arm {arm!r}", f"an array of shape {record.shape}", allowed)
            bad = reward_range.impossible(record, 1)
            refuse_first(f"answers of arm {arm!r}", record, bad, allowed)
        super().__init__([math.fsum(record) / record.size for record in self.answers])

    @classmethod
    def from_frame(
        cls,
        frame: Any,
        arm: Any = "arm",
        reward: Any = "reward",
        bounds: Sequence[float] | None = None,
    ) -> Self:
        """Make a bandit from a table with one row per reward.

        Parameters
        ----------
        frame : pandas or polars DataFrame, or pyarrow Table
            The table, with one row per reward.
        arm, reward : str
            Names of the columns with the arm and its reward.
        bounds : pair of float, optional
            The smallest and the largest possible reward; (0, 1) by default.

        Returns
        -------
        ReplayBandit
            The bandit.  Its arms are in order of first appearance in the table; ``names`` lists
            their names.

        Raises
        ------
        ValueError
            If ``frame`` is no table, a column does not exist, a reward is not a number, or
            an arm or a reward is missing (nan).

        Examples
        --------
        >>> import pandas
        >>> table = pandas.DataFrame({"page": ["b", "a", "b"], "sold": [1, 0, 0]})
        >>> bandit = ReplayBandit.from_frame(table, arm="page", reward="sold")
        >>> bandit.names, bandit.means.tolist()
        (['b', 'a'], [0.5, 0.0])
        """
        found = read_tidy(frame, {"arm": arm}, {"reward": reward})
        groups: dict[Any, list[float]] = {}
        for name, value in zip(found["arm"], found["reward"].tolist(), strict=True):
            groups.setdefault(name, []).append(value)
        return cls(groups, bounds)

    def sample(self, arm: int, count: int, rng: np.random.Generator) -> Floats:
        """Return ``count`` recorded rewards of one arm; see `Bandit.sample`."""
        self._check_draw(arm, count)
        record = self.answers[arm]
        return record[rng.integers(record.size, size=count)]


def is_coin(bandit: Any) -> bool:
    """Return whether rewards are drawn by `BernoulliBandit` itself, not by an override."""
    own = getattr(bandit.sample, "__func__", None), getattr(bandit.rewards, "__func__", None)
    return isinstance(bandit, BernoulliBandit) and own == (BernoulliBandit.sample, Bandit.rewards)


def check_bandit(bandit: Any) -> Bandit:
    """Return ``bandit`` if it is a `Bandit`."""
    if not isinstance(bandit, Bandit):
        refuse("bandit", bandit, "a topk.Bandit")
    return bandit


def exact_sum(rewards):
    """Return the correctly rounded sum of an array, converted in portions."""
    chunks = range(0, len(rewards), CHUNK_SIZE)
    return math.fsum(chain.from_iterable(rewards[x : x + CHUNK_SIZE].tolist() for x in chunks))


@apart
def draw_bernoulli(means, arms, counts, m, rng, sums):
    """Fill ``sums[:m]`` with the rewards of a batch, drawn in the order given.

    The plain form is ``sums[j] = rng.binomial(counts[j], means[arms[j]])``.  A single pull compares
    one uniform number with the mean instead, which gives the same distribution in a twentieth of
    the time.

    Parameters
    ----------
    means : ndarray of float, shape (n,)
        Reward probabilities.
    arms, counts : ndarray of int, shape (at least m,)
        The arms, and the number of pulls of each.
    m : int
        Length of the batch.
    rng : numpy.random.Generator
        Source of randomness, whose stream is the same in compiled and interpreted code.
    sums : ndarray of float, shape (at least m,)
        Overwritten with the sums.
    """
    for j in range(m):
        if counts[j] == 1:
            sums[j] = 1.0 if rng.random() < means[arms[j]] else 0.0
        else:  # a count of 0 consumes no random numbers
            sums[j] = rng.binomial(counts[j], means[arms[j]])
