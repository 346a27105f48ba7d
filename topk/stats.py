"""Intervals for means and proportions, and pointwise comparisons of two samples of runs."""

from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from topk._checks import as_finite, between, check_integer, check_integers, common_shape, refuse
from topk._tables import joined
from topk._types import FloatOrFloats, Floats

__all__ = ["Interval", "Tally", "compare", "mean_interval", "paired_difference",
           "proportion_interval"]


def __dir__() -> list[str]:
    return __all__


_level = between(0, 1)


class Interval(NamedTuple):
    """An estimate with a confidence interval; floats, or arrays for several points.

    Attributes
    ----------
    estimate, low, high : float or ndarray of float
        ``low <= estimate <= high``.
    """

    estimate: FloatOrFloats
    low: FloatOrFloats
    high: FloatOrFloats


def mean_interval(values: ArrayLike, level: float = 0.95) -> Interval:
    r"""Mean over replications, with Student's interval.

    .. math:: \bar x\pm t_{m-1,(1+\gamma)/2}\,\frac{s}{\sqrt m}

    Parameters
    ----------
    values : array_like of float, shape (runs, ...), runs >= 2
        One value per replication, along the first axis.
    level : float, optional
        Confidence level :math:`\gamma`, in (0, 1).

    Returns
    -------
    Interval
        Of shape (...), for m independent and identically distributed replications; s is their
        standard deviation with divisor m - 1.

    Raises
    ------
    ValueError
        If there are fewer than two replications, a value is not finite or ``level`` is out of
        range.

    Notes
    -----
    The interval is exact for normal values, and the usual approximation for the 100 or more
    replications of the book.  For zero-one values use `proportion_interval`, which is exact.

    Examples
    --------
    >>> low = mean_interval([0.0, 0.1, 0.2]).low
    >>> round(float(low), 4)
    -0.1484
    """
    from scipy.special import stdtrit

    values, level = _check_runs(values, "values"), _level(level, "level")
    runs = values.shape[0]
    mean = values.mean(axis=0)
    half_width = stdtrit(runs - 1, (1 + level) / 2) * values.std(axis=0, ddof=1) / np.sqrt(runs)
    return Interval(mean, mean - half_width, mean + half_width)


def paired_difference(a: ArrayLike, b: ArrayLike, level: float = 0.95) -> Interval:
    r"""Mean of a - b over replications, with Student's interval of the paired differences.

    Parameters
    ----------
    a, b : array_like of float, shape (runs, ...), runs >= 2
        One value per replication, along the first axis.  Replication r of a is paired with
        replication r of b; the other axes are broadcast.
    level : float, optional
        Confidence level, in (0, 1).

    Returns
    -------
    Interval
        The mean difference and its interval.

    Raises
    ------
    ValueError
        If the numbers of replications differ or are less than two, or a value is not finite.

    Notes
    -----
    The differences are independent whether or not the two replications of a pair are dependent, so
    pairing is always valid; it is useful if both have the same instance.

    Examples
    --------
    >>> difference = paired_difference([0.3, 0.2, 0.4], [0.1, 0.1, 0.1])
    >>> round(float(difference.estimate), 3)
    0.2
    """
    a, b = joined(a=a, b=b)
    a, b = _check_runs(a, "a"), _check_runs(b, "b")
    if a.shape[0] != b.shape[0]:
        refuse("b", f"{b.shape[0]} runs", f"with as many runs as a ({a.shape[0]})")
    common_shape("b", a, b)
    return mean_interval(a - b, level)


def proportion_interval(successes: ArrayLike, trials: ArrayLike, level: float = 0.95) -> Interval:
    r"""Proportion of successes, with the exact interval of Clopper and Pearson.

    Parameters
    ----------
    successes : array_like of int
        Number of successes, from 0 to ``trials``.
    trials : array_like of int
        Number of independent trials, at least 1; broadcast.
    level : float, optional
        Confidence level, in (0, 1).

    Returns
    -------
    Interval
        The lower end is 0 without successes, the upper end 1 without failures.

    Raises
    ------
    ValueError
        If a count is not an integer or out of range.

    Notes
    -----
    The lower end is the (1 - level)/2 quantile of Beta(s, m - s + 1), the upper end the (1 +
    level)/2 quantile of Beta(s + 1, m - s).  Its coverage is at least ``level`` for every success
    probability.

    Examples
    --------
    >>> interval = proportion_interval(0, 100)
    >>> round(float(interval.high), 4)
    0.0362
    """
    from scipy.special import betaincinv

    level = _level(level, "level")
    successes, trials = joined(successes=successes, trials=trials)
    trials = check_integers(trials, "trials", smallest=1, ndim=None)
    successes = check_integers(successes, "successes", ndim=None)
    if (successes > trials).any():
        refuse("successes", successes, "at most trials")
    tail, failures = (1 - level) / 2, trials - successes
    low = betaincinv(np.maximum(successes, 1), failures + 1, tail)
    high = betaincinv(successes + 1, np.maximum(failures, 1), 1 - tail)
    low, high = np.where(successes == 0, 0.0, low), np.where(failures == 0, 1.0, high)
    return Interval(successes / trials, low[()], high[()])  # type: ignore[arg-type]


class Tally(NamedTuple):
    """Numbers of points at which a comparison was won, lost or undecided; see `compare`.

    Attributes
    ----------
    wins, losses, undecided : int
        Numbers of points.
    """

    wins: int
    losses: int
    undecided: int

    def every(self) -> bool:
        """Return whether every point is won."""
        return self.wins == sum(self)

    def __str__(self) -> str:
        return (f"better at {self.wins}, worse at {self.losses}, "
                f"undecided at {self.undecided} of {sum(self)}")


def compare(a: ArrayLike, b: ArrayLike) -> Tally:
    r"""Count the points where the losses of a are smaller than those of b, each at 95 %.

    Parameters
    ----------
    a, b : array_like of float, shape (runs, points) or (runs,)
        One loss per replication and point, such as the regret for each K; broadcast, so that ``a``
        (runs, 1) can be compared with several rivals ``b`` (runs, rivals) at once.

    Returns
    -------
    Tally
        A point is *won* if the interval of `paired_difference` is entirely below zero, *lost* if it
        is entirely above zero, and *undecided* otherwise.

    Raises
    ------
    ValueError
        As in `paired_difference`.

    Notes
    -----
    The tally is not a verdict (see `topk_book.verdicts`): there is no correction for the number of
    points, and without any difference one point in twenty is decided on average.

    Examples
    --------
    >>> a = [[0.10, 0.50], [0.11, 0.52], [0.12, 0.51]]
    >>> b = [[0.30, 0.51], [0.32, 0.50], [0.31, 0.52]]
    >>> print(compare(a, b))
    better at 1, worse at 0, undecided at 1 of 2
    """
    interval = paired_difference(a, b)
    wins, losses = np.sum(interval.high < 0), np.sum(interval.low > 0)
    return Tally(int(wins), int(losses), int(np.size(interval.estimate) - wins - losses))


def _check_runs(values: ArrayLike, name: str) -> Floats:
    array = as_finite(values, name, "an array (runs, ...) of finite numbers")
    check_integer(array.shape[0], f"the number of runs in {name}", 2)
    return array
