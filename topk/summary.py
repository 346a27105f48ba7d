"""Many plays in little room: what `topk.replicate` keeps with ``keep="summary"``.

Everything here is a sum of exact numbers or a count, so that it does not matter in which
order, or in what portions, the plays come in.
"""

import math
from dataclasses import dataclass, field
from fractions import Fraction

import numpy as np

from topk import metrics
from topk._checks import check_choice, check_epsilon, check_real
from topk.results import at_checkpoints
from topk.stats import proportion_interval

MEASURES = ("pulls_used", "aggregate_regret", "simple_regret", "precision")
PROMISES = ("regret_within", "explore_m", "elementwise_optimal")  # with epsilon
DISTINCT = 4096  # different values of a measure that are told apart
KEPT_BITS = 10  # of a float's 52 bits, once there are more
UNIT = 1074  # every float is a whole multiple of 2**-UNIT


@dataclass(frozen=True)
class Measures:
    """What is measured of every play for a summary.

    Parameters
    ----------
    epsilon : float or None
        Tolerance of the measures that have one.
    """

    epsilon: float | None = None

    @property
    def failures(self):
        """The names of what may go wrong in a play."""
        promises = () if self.epsilon is None else PROMISES
        return ("misidentified", "uncertified", *(f"not {name}" for name in promises))

    def of(self, rows, means, checkpoints):
        """Return the measures of some plays.

        Parameters
        ----------
        rows : dict of ndarray
            As `topk.study.Study.play` makes them when all is kept.
        means : ndarray of float, shape (n,) or (plays, n)
            The arms' means; of several bandits with an axis M before the last.
        checkpoints : tuple of int
            When the sets were reported.

        Returns
        -------
        dict of ndarray
            As `layout` says.
        """
        selected = rows["selected"]
        means = means if means.ndim == selected.ndim - 2 else means[:, None]
        used, certified = at_checkpoints(rows["total_pulls"], rows["certified"], checkpoints)
        measured = {"pulls_used": used.astype(np.float64)}
        bandits = tuple(range(2, selected.ndim - 1))  # the axis of several bandits, or none
        for name in MEASURES[1:]:
            measured[name] = getattr(metrics, name)(selected, means).mean(axis=bandits)
        failed = [metrics.misidentified(selected, means).any(axis=bandits), ~certified]
        if self.epsilon is not None:
            kept = [getattr(metrics, p)(selected, means, self.epsilon) for p in PROMISES]
            failed += [~promise.all(axis=bandits) for promise in kept]
        shape = rows["pulls"].shape[1:]
        first = np.arange(0, math.prod(shape), shape[-1])  # of each bandit, in one row of arms
        numbers = selected + first[:, None] if bandits else selected
        chosen = [
            np.bincount(numbers[:, point].ravel(), minlength=math.prod(shape))
            for point in range(selected.shape[1])
        ]
        counted = {
            "pulls": rows["pulls"].sum(axis=0),
            "chosen": np.array(chosen).reshape(-1, *shape),
            "failed": np.array([failure.sum(axis=0) for failure in failed]),
        }
        return measured | counted

    def joined(self, parts):
        """Return what `of` would have returned for the plays of all parts together."""
        columns = {name: [part[name] for part in parts] for name in parts[0]}
        return {
            name: np.concatenate(each) if name in MEASURES else np.sum(each, axis=0)
            for name, each in columns.items()
        }

    def layout(self, count, points, shape):
        """Return the dtype and shape of each array for ``count`` plays."""
        layout = dict.fromkeys(MEASURES, ("<f8", (count, points)))
        return layout | {
            "pulls": ("<i8", shape),
            "chosen": ("<i8", (points, *shape)),
            "failed": ("<i8", (len(self.failures), points)),
        }


@dataclass(frozen=True)
class Summary:
    """What many plays came to, without the plays.

    With several bandits a play's regrets and precision are means over its bandits, and it has
    gone wrong if one of its bandits has; every n below is then two axes, M and n.

    Attributes
    ----------
    runs : int
        How many plays there were.
    checkpoints : tuple of int
        The pull counts that were asked for; empty if none.
    epsilon : float or None
        Tolerance of the measures that have one.
    pulls : ndarray of int64, shape (n,)
        Pulls of each arm, over all plays.
    chosen : ndarray of int64, shape (number of checkpoints or 1, n)
        In how many plays each arm was in the recommended set.
    failed : ndarray of int64, shape (number of failures, number of checkpoints or 1)
        In how many plays it went wrong; see `failures`.
    distributions : dict of (str, list of Distribution)
        For ``pulls_used``, ``aggregate_regret``, ``simple_regret`` and ``precision``, one
        entry a checkpoint.
    """

    runs: int
    checkpoints: tuple
    epsilon: float | None
    pulls: np.ndarray
    chosen: np.ndarray
    failed: np.ndarray
    distributions: dict

    def failures(self, level=0.95):
        """Return how often something went wrong, with exact confidence intervals.

        Parameters
        ----------
        level : float
            Confidence, in (0, 1).

        Returns
        -------
        pandas.DataFrame
            A row for each failure and checkpoint: ``failure``, ``checkpoint`` (nan if none
            was asked for), ``count``, ``share``, and ``low`` and ``high``, the interval of
            Clopper and Pearson for the probability.  A play is ``misidentified``, or
            ``uncertified`` when it was not ended by its own rule before the checkpoint;
            with epsilon it may also fail `topk.metrics.regret_within`, ``explore_m`` and
            ``elementwise_optimal``.
        """
        import pandas

        names = Measures(self.epsilon).failures
        found = proportion_interval(self.failed, self.runs, level)
        columns = {
            "failure": np.repeat(names, self.failed.shape[1]),
            "checkpoint": np.tile(self._marks(), len(names)),
            "count": self.failed.ravel(),
        }
        ends = {"share": found.estimate, "low": found.low, "high": found.high}
        return pandas.DataFrame(columns | {name: end.ravel() for name, end in ends.items()})

    def frame(self, quantiles=(0.05, 0.5, 0.95)):
        """Return how each measure is distributed over the plays.

        Parameters
        ----------
        quantiles : sequence of float
            Each in [0, 1]; see `quantile`.

        Returns
        -------
        pandas.DataFrame
            A row for each measure and checkpoint: ``measure``, ``checkpoint``, ``mean``,
            ``sd`` (divisor runs - 1; nan for one play), ``least``, a column ``q...`` for
            each quantile, and ``most``.
        """
        import pandas

        rows = []
        for measure, found in self.distributions.items():
            for mark, values in zip(self._marks(), found, strict=True):
                row = {"measure": measure, "checkpoint": mark, "mean": values.mean()}
                row |= {"sd": values.sd(), "least": values.least}
                row |= {f"q{share:g}": values.quantile(share) for share in quantiles}
                rows.append(row | {"most": values.most})
        return pandas.DataFrame(rows)

    def mean(self, measure):
        """Return the mean of a measure at each checkpoint, each correctly rounded.

        Parameters
        ----------
        measure : str
            A key of ``distributions``.

        Returns
        -------
        ndarray of float, shape (number of checkpoints or 1,)
        """
        return np.array([values.mean() for values in self._of(measure)])

    def quantile(self, measure, share):
        """Return a quantile of a measure at each checkpoint.

        Parameters
        ----------
        measure : str
            A key of ``distributions``.
        share : float
            In [0, 1].

        Returns
        -------
        ndarray of float, shape (number of checkpoints or 1,)
            The least value that at least this share of the plays does not exceed: exact
            while a measure takes at most 4,096 different values, and otherwise too small
            by at most a part in 1,024.
        """
        return np.array([values.quantile(share) for values in self._of(measure)])

    def _of(self, measure):
        return self.distributions[check_choice(measure, "measure", tuple(self.distributions))]

    def _marks(self):
        return np.array(self.checkpoints or (np.nan,), dtype=np.float64)


@dataclass
class Distribution:
    """The values of one measure: how many there are, their exact sums, and a histogram.

    Attributes
    ----------
    count : int
        How many values there are.
    least, most : float
        The smallest and the largest.
    values, counts : ndarray
        The histogram: different values in increasing order, and how often each occurred.
    exact : bool
        Whether ``values`` are the values themselves.  With more than 4,096 different ones
        they are rounded towards zero to 11 significant bits; so the histogram never grows
        beyond the number of those between ``least`` and ``most``.
    """

    count: int = 0
    least: float = math.inf
    most: float = -math.inf
    values: np.ndarray = field(default_factory=lambda: np.zeros(0))
    counts: np.ndarray = field(default_factory=lambda: np.zeros(0, dtype=np.int64))
    exact: bool = True
    total: int = 0  # the sum, in units of 2**-UNIT
    squares: int = 0  # the sum of squares, in units of 4**-UNIT

    def add(self, values):
        """Add values, each finite and not negative."""
        new, counts = np.unique(values, return_counts=True)
        self.count += int(counts.sum())
        self.least, self.most = min(self.least, float(new[0])), max(self.most, float(new[-1]))
        for value, count in zip(new.tolist(), counts.tolist(), strict=True):
            units = whole(value)
            self.total += count * units
            self.squares += count * units * units
        self._merge(new, counts)

    def _merge(self, values, counts):
        values, counts = np.append(self.values, values), np.append(self.counts, counts)
        while True:
            if not self.exact:
                values = coarse(values)
            self.values, where = np.unique(values, return_inverse=True)
            if not self.exact or self.values.size <= DISTINCT:
                break
            self.exact = False
        self.counts = np.zeros(self.values.size, dtype=np.int64)
        np.add.at(self.counts, where, counts)

    def mean(self):
        """Return the mean, correctly rounded."""
        return self.total / (self.count << UNIT)

    def sd(self):
        """Return the standard deviation, divisor count - 1; nan for one value."""
        if self.count < 2:
            return math.nan
        spread = self.count * self.squares - self.total**2  # never negative: it is exact
        return math.sqrt(Fraction(spread, self.count * (self.count - 1) << 2 * UNIT))

    def quantile(self, share):
        """Return the least value that at least this share of the values does not exceed."""
        share = check_real(share, "share", 0, 1)
        rank = max(1, math.ceil(Fraction(repr(share)) * self.count))  # 0.1 means a tenth
        return float(self.values[np.searchsorted(np.cumsum(self.counts), rank)])


def whole(value):
    """Return a float as a whole multiple of 2**-1074, exactly.

    Examples
    --------
    >>> whole(0.5) == 2**1073
    True
    """
    over, under = value.as_integer_ratio()
    return over << UNIT + 1 - under.bit_length()


def coarse(values):
    """Round floats towards zero to 1 + ``KEPT_BITS`` significant bits.

    Examples
    --------
    >>> coarse(np.array([0.0, 0.1, 2047.0, 2049.0])).tolist()
    [0.0, 0.0999755859375, 2047.0, 2048.0]
    """
    mask = np.uint64(2**64 - 2 ** (52 - KEPT_BITS))
    return (np.ascontiguousarray(values).view(np.uint64) & mask).view(np.float64)


class Summing:
    """A summary in the making.

    Parameters
    ----------
    study : Study
        The study, with its ``measures``.
    """

    def __init__(self, study):
        self.study, self.runs = study, 0
        self.counted = dict.fromkeys(("pulls", "chosen", "failed"), 0)
        self.distributions = {
            name: [Distribution() for _ in range(study.points)] for name in MEASURES
        }

    def add(self, begin, end, rows):
        """Add the measures of some plays."""
        self.runs += end - begin
        for name in self.counted:
            self.counted[name] = self.counted[name] + rows[name]
        for name, points in self.distributions.items():
            for values, point in zip(rows[name].T, points, strict=True):
                point.add(values)

    def result(self):
        """Return the summary of what was added."""
        epsilon = self.study.measures.epsilon
        return Summary(
            self.runs,
            self.study.checkpoints,
            epsilon,
            **self.counted,
            distributions=self.distributions,
        )


def check_measures(keep, epsilon):
    """Return the measures that ``keep`` and ``epsilon`` ask for; None to keep every play."""
    if check_choice(keep, "keep", ("plays", "summary")) == "plays":
        if epsilon is not None:
            raise ValueError(
                f"epsilon must be left out with keep='plays', got {epsilon!r}; "
                "give it to Replications.frame"
            )
        return None
    return Measures(None if epsilon is None else check_epsilon(epsilon))
