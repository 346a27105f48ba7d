"""What plays came to: of one, `Outcome`; of many, `Replications` or `Summary`."""

from __future__ import annotations

import math
import reprlib
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar, Literal

import numpy as np

from topk import confidence, metrics
from topk._checks import check_choice, check_real
from topk._types import Flags, Floats, Integers
from topk.bandits import UNIT, Scale
from topk.rules.ranking import means_of
from topk.stats import proportion_interval

if TYPE_CHECKING:
    import pandas

MEASURES = ("aggregate_regret", "simple_regret", "precision", "misidentified")
PROMISES = ("regret_within", "explore_m", "elementwise_optimal")  # with epsilon
FAILURES = ("misidentified", "uncertified", *(f"not {name}" for name in PROMISES))
SUMMED = ("pulls", "chosen", "failed")  # fields of a summary that are counts over all plays
VALUES = ("pulls_used", *MEASURES[:3])  # those that are kept of every play


class _Arrays:
    """Equal when all fields are, arrays entry by entry."""

    __hash__: ClassVar[None] = None  # type: ignore[assignment]

    def __eq__(self, other: object) -> bool:
        return type(other) is type(self) and _equal(vars(self), vars(other))


def _equal(a, b):
    if isinstance(a, dict):
        return a.keys() == b.keys() and all(_equal(a[name], b[name]) for name in a)
    return np.array_equal(a, b)


@dataclass(frozen=True, eq=False, repr=False)
class Outcome(_Arrays):
    """What one play came to.

    Attributes
    ----------
    selected : ndarray of int64, shape (k,) or (M, k)
        The chosen arms, sorted; of several bandits a row for each.
    pulls : ndarray of int64, shape (n,) or (M, n)
        Pulls of each arm.
    sums : ndarray of float, shape (n,) or (M, n)
        Each arm's sum of rewards.
    total_pulls : int
        Pulls of all arms.
    certified : bool
        Whether the strategy's own rule ended the play, so that its promise holds.
    stopped : {'rule', 'budget'}
        What ended it.
    trace : tuple of ndarray or None
        ``(arms, rewards)``, both (total_pulls,), in order, if asked for.  Of several bandits
        arm i of bandit m is ``m * n + i``.
    epsilon : float
        The strategy's, if its promise is about every arm; else 0.
    units : Scale
        What the bandit says of its rewards: their bounds, or that they are sub-Gaussian.
    method : {'pairs', 'intervals'}
        The form of evidence that fits the strategy's own stop, see `topk.confidence.evidence`.
    unit_squares : ndarray of float, shape (n,) or (M, n), or None
        Each arm's sum of squared rewards, rescaled to [0, 1], if the strategy looks at squares.
    """

    selected: Integers
    pulls: Integers
    sums: Floats
    total_pulls: int
    certified: bool
    stopped: Literal["rule", "budget"]
    trace: tuple[Integers, Floats] | None = None
    epsilon: float = 0.0
    units: Scale = UNIT
    method: Literal["pairs", "intervals"] = "pairs"
    unit_squares: Floats | None = None

    @property
    def means(self) -> Floats:
        """Mean reward of each arm, float (n,) or (M, n); nan for an arm without pulls."""
        return means_of(self.pulls, self.sums)

    def evidence(self, epsilon: float | None = None) -> float:
        """Return a p-value for ``selected`` not being right up to epsilon.

        Parameters
        ----------
        epsilon : float, optional
            In units of reward, as in `Session.evidence`; by default that of the outcome.

        Returns
        -------
        float
            That of `Session.evidence` at the end of a session, with squares only if the strategy
            looks at them: an outcome keeps no others.

        Raises
        ------
        ValueError
            If epsilon is out of range.
        """
        epsilon = self.units.unit_epsilon(self.epsilon if epsilon is None else epsilon)
        sums, _ = self.units.to_unit(self.pulls, self.sums, self.sums)
        zero_one = self.units.items is not None
        squares = self.unit_squares if self.units.bounded and not zero_one else None
        return confidence.evidence(
            self.pulls, sums, self.selected, epsilon, sigma=self.units.sigma,
            squares=squares, items=self.units.items, method=self.method,
        )

    def __repr__(self) -> str:
        return (
            f"Outcome(selected={reprlib.repr(self.selected.tolist())}, "
            f"total_pulls={self.total_pulls}, certified={self.certified}, "
            f"stopped={self.stopped!r})"
        )


@dataclass(frozen=True, eq=False, repr=False)
class Replications(_Arrays):
    """What many plays came to; play r is row r.

    With several bandits every n below is two axes, M and n, and ``selected`` has an axis M
    before its last one.

    Attributes
    ----------
    selected : ndarray of int64, shape (runs, number of checkpoints or 1, k)
        The set that was recommended at each checkpoint, or in the end.
    pulls : ndarray of int64, shape (runs, n)
        Pulls of each arm in the whole play.
    sums : ndarray of float, shape (runs, n)
        Each arm's sum of rewards.
    total_pulls : ndarray of int64, shape (runs,)
        Pulls of all arms.
    certified : ndarray of bool, shape (runs,)
        Whether the strategy's own rule ended the play.
    means : ndarray of float, shape (n,) or (runs, n)
        The arms' means; a row a play if every play had a bandit of its own.
    checkpoints : tuple of int
        The pull counts that were asked for; empty if none.
    """

    selected: Integers
    pulls: Integers
    sums: Floats
    total_pulls: Integers
    certified: Flags
    means: Floats
    checkpoints: tuple[int, ...] = ()

    def __repr__(self) -> str:
        return (
            f"Replications(runs={len(self.pulls)}, n={_size(self.pulls.shape[1:])}, "
            f"k={self.selected.shape[-1]}, checkpoints={reprlib.repr(self.checkpoints)}, "
            f"mean pulls {self.total_pulls.mean():.6g}, "
            f"certified {self.certified.sum()} of the plays)"
        )

    def frame(self, epsilon: float | None = None) -> pandas.DataFrame:
        """Return a tidy data frame: a row per play and checkpoint, with every metric.

        With several bandits there is a row per play, checkpoint and bandit, told apart by a
        column ``bandit``; pulls and certificate are those of the whole play.  A play has
        gone wrong if one of its bandits has: ``frame.groupby("run").misidentified.any()``.

        Parameters
        ----------
        epsilon : float, optional
            Tolerance in [0, 1), in units of reward, of the metrics that have one; without it they
            are left out.  Hold ``simple_regret`` and ``aggregate_regret`` against a larger one.

        Returns
        -------
        pandas.DataFrame
            Columns ``run``, ``checkpoint`` (nan if none was asked for), ``pulls_used``,
            ``certified`` (at that checkpoint), ``aggregate_regret``, ``simple_regret``,
            ``precision``, ``misidentified`` and, with ``epsilon``, ``regret_within``,
            ``explore_m`` and ``elementwise_optimal``.
        """
        import pandas

        found = _measured(vars(self), self.means, self.checkpoints, epsilon)
        run, point, *bandit = np.indices(self.selected.shape[:-1])
        columns = {"run": run, "checkpoint": _marks(self.checkpoints)[point]}
        columns |= {name: found.pop(name) for name in ("pulls_used", "certified")}
        columns |= dict(zip(["bandit"], bandit, strict=False)) | found
        return pandas.DataFrame({name: each.ravel() for name, each in columns.items()})


@dataclass(frozen=True, eq=False, repr=False)
class Summary(_Arrays):
    """What many plays came to, without their sets and the pulls of their arms.

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
    values : dict of ndarray of float, each of shape (runs, number of checkpoints or 1)
        ``pulls_used``, ``aggregate_regret``, ``simple_regret`` and ``precision`` of each play.
    """

    runs: int
    checkpoints: tuple[int, ...]
    epsilon: float | None
    pulls: Integers
    chosen: Integers
    failed: Integers
    values: dict[str, Floats]

    def __repr__(self) -> str:
        return (
            f"Summary(runs={self.runs}, n={_size(self.pulls.shape)}, "
            f"checkpoints={reprlib.repr(self.checkpoints)}, epsilon={self.epsilon})"
        )

    def failures(self, level: float = 0.95) -> pandas.DataFrame:
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

        names, marks = FAILURES[: len(self.failed)], _marks(self.checkpoints)
        found = proportion_interval(self.failed, self.runs, level)
        columns = {"failure": np.repeat(names, marks.size), "checkpoint": [*marks] * len(names)}
        columns |= {"count": self.failed.ravel(), "share": found.estimate.ravel()}
        columns |= {"low": found.low.ravel(), "high": found.high.ravel()}
        return pandas.DataFrame(columns)

    def frame(self, quantiles: Sequence[float] = (0.05, 0.5, 0.95)) -> pandas.DataFrame:
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

        frames = []
        for measure, values in self.values.items():
            mean = self.mean(measure)
            squares = [math.fsum(column) for column in ((values - mean) ** 2).T]
            columns = {"measure": measure, "checkpoint": _marks(self.checkpoints), "mean": mean}
            freedom = self.runs - 1 or np.nan
            columns |= {"sd": np.sqrt(np.divide(squares, freedom)), "least": values.min(axis=0)}
            columns |= {f"q{share:g}": self.quantile(measure, share) for share in quantiles}
            frames.append(pandas.DataFrame(columns | {"most": values.max(axis=0)}))
        return pandas.concat(frames, ignore_index=True)

    def mean(self, measure: str) -> Floats:
        """Return the mean of a measure at each checkpoint, from a correctly rounded sum.

        Parameters
        ----------
        measure : str
            A key of ``values``.

        Returns
        -------
        ndarray of float, shape (number of checkpoints or 1,)
        """
        return np.array([math.fsum(column) for column in self._of(measure).T]) / self.runs

    def quantile(self, measure: str, share: float) -> Floats:
        """Return a quantile of a measure at each checkpoint.

        Parameters
        ----------
        measure : str
            A key of ``values``.
        share : float
            In [0, 1].

        Returns
        -------
        ndarray of float, shape (number of checkpoints or 1,)
            The least value that at least this share of the plays does not exceed.
        """
        share = check_real(share, "share", 0, 1)
        # 0.07 of 100 plays are 7, though 0.07 * 100 is a little more
        rank = max(1, math.ceil(share * self.runs * (1 - 1e-12)))
        return np.partition(self._of(measure), rank - 1, axis=0)[rank - 1]

    def _of(self, measure):
        return self.values[check_choice(measure, "measure", tuple(self.values))]


def summed(rows, means, checkpoints, epsilon):
    """Return what a summary keeps of some plays.

    Parameters
    ----------
    rows : dict of ndarray
        ``selected``, ``pulls``, ``total_pulls`` and ``certified``, as in `Replications`.
    means : ndarray of float, shape (n,) or (plays, n)
        The arms' means; of several bandits with an axis M before the last.
    checkpoints : tuple of int
        When the sets were reported.
    epsilon : float or None
        Tolerance of the measures that have one.

    Returns
    -------
    dict of ndarray
        A row a play for each of `VALUES`, and the counts `SUMMED`.
    """
    selected = rows["selected"]
    found = _measured(rows, means, checkpoints, epsilon)
    wrong = [found["misidentified"], ~found["certified"]]
    wrong += [~found[name] for name in PROMISES if name in found]
    bandits = tuple(range(2, selected.ndim - 1))  # the axis of several bandits, or none
    _, *place, _ = np.indices(selected.shape, sparse=True)  # checkpoint, and bandit of several
    chosen = np.zeros((selected.shape[1], *rows["pulls"].shape[1:]), dtype=np.int64)
    np.add.at(chosen, (*place, selected), 1)
    return {name: found[name].mean(axis=bandits) for name in VALUES} | {
        "pulls": rows["pulls"].sum(axis=0),
        "chosen": chosen,
        "failed": np.array([each.any(axis=bandits).sum(axis=0) for each in wrong]),
    }


def _measured(rows, means, checkpoints, epsilon):
    """Return every measure of some plays, of the shape of ``selected`` without k."""
    selected, total = rows["selected"], rows["total_pulls"]
    shape = selected.shape[:-1]
    once = (-1, *(1 for _ in shape[1:]))  # the shape of what a play has once
    marks = np.array(checkpoints or (np.inf,)).reshape(1, -1, *once[2:])
    used = np.broadcast_to(np.minimum(total.reshape(once), marks).astype(np.int64), shape)
    certified = rows["certified"].reshape(once) & (used == total.reshape(once))
    if means.ndim > selected.ndim - 2:
        means = means[:, None]  # a row a play
    found = {"pulls_used": used, "certified": certified}
    found |= {name: getattr(metrics, name)(selected, means) for name in MEASURES}
    promises = () if epsilon is None else PROMISES
    return found | {name: getattr(metrics, name)(selected, means, epsilon) for name in promises}


def _marks(checkpoints):
    return np.array(checkpoints or (np.nan,), dtype=np.float64)


def _size(shape):
    return shape[0] if len(shape) == 1 else shape
