"""Results: `Outcome` of one run, `Replications` or `Summary` of many."""

from __future__ import annotations

import math
import reprlib
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from html import escape
from typing import TYPE_CHECKING, Any, ClassVar, Literal

import numpy as np
from numpy.typing import NDArray

from topk import metrics
from topk._checks import as_numbers, check_choice, check_real, refuse
from topk._types import Flags, Floats, Integers
from topk.bandits import UNIT_RANGE, RewardRange
from topk.confidence import confidence
from topk.confidence.capital import capital_ends
from topk.confidence.sides import Levels
from topk.confidence.sides import evidence as evidence_by_sides
from topk.rules.numbered import RewardTable
from topk.rules.ranking import means_of
from topk.stats import proportion_interval

if TYPE_CHECKING:
    import pandas

MEASURES = ("aggregate_regret", "simple_regret", "precision", "misidentified")
CRITERIA = ("regret_within", "explore_m", "elementwise_optimal")  # with epsilon
FAILURES = ("misidentified", "uncertified", *(f"not {name}" for name in CRITERIA))
SUMMED = ("pulls", "chosen", "failed")  # fields of a summary that are counts over all replications
VALUES = ("pulls_used", *MEASURES[:3])  # those stored for every replication
SHOWN = 10  # rows of the table that a notebook shows


class _ArrayFields:
    """Dataclasses with arrays, equal if all fields are; arrays are compared entry by entry."""

    __hash__: ClassVar[None] = None  # type: ignore[assignment]

    def __eq__(self, other: object) -> bool:
        return type(other) is type(self) and _all_equal(vars(self), vars(other))


def _all_equal(a, b):
    if isinstance(a, dict):
        return a.keys() == b.keys() and all(_all_equal(a[name], b[name]) for name in a)
    return np.array_equal(a, b)


@dataclass(frozen=True, eq=False, repr=False)
class Outcome(_ArrayFields):
    """The result of one run.

    Attributes
    ----------
    selected : ndarray of int64, shape (k,) or (M, k)
        The selected arms, sorted; for several bandits one row per bandit.
    pulls : ndarray of int64, shape (n,) or (M, n)
        Number of pulls of each arm.
    sums : ndarray of float, shape (n,) or (M, n)
        Each arm's sum of rewards.
    total_pulls : int
        Total number of pulls.
    certified : bool
        Whether the strategy's own stopping rule ended the run, so that its guarantee holds.
    stopped : {'rule', 'budget', 'open'}
        What ended the run; ``'open'``: missing cells, or too few items, leave the set undecided.
    trace : tuple of ndarray or None
        ``(arms, rewards)``, both (total_pulls,), in order, if requested.  For several bandits arm i
        of bandit m is ``m * n + i``.
    epsilon : float
        The strategy's tolerance if its guarantee is per arm; otherwise 0.
    reward_range : topk.bandits.RewardRange
        The range of the bandit's rewards: their bounds, or their sub-Gaussian parameter.
    method : {'pairs', 'sides', 'intervals'}
        The form of evidence that fits the strategy's stopping rule, see `topk.confidence.evidence`.
    unit_squares : ndarray of float, shape (n,) or (M, n), or None
        Each arm's sum of squared rewards, of rewards rescaled to [0, 1], if the strategy uses
        squares.
    log_products : ndarray of float, shape (n, 60), or None
        Logarithms of the products of `topk.confidence.capital`, if the strategy uses them.
    by_pairs : bool
        Whether the strategy's own rule stops by pairs.
    seed : int or None
        The value of ``rng`` that repeats the run.
    table : topk.rules.numbered.RewardTable or None
        The cells of a strategy that sees single cells, in the random order of the run's arms.
    names : list or None
        Names of the bandit's arms, if it has any.
    """

    selected: Integers
    pulls: Integers
    sums: Floats
    total_pulls: int
    certified: bool
    stopped: Literal["rule", "budget", "open"]
    trace: tuple[Integers, Floats] | None = None
    epsilon: float = 0.0
    reward_range: RewardRange = UNIT_RANGE
    method: Literal["pairs", "sides", "intervals"] = "pairs"
    unit_squares: Floats | None = None
    log_products: Floats | None = None
    by_pairs: bool = False
    seed: int | None = None
    table: RewardTable | None = field(default=None, compare=False)
    names: list[Any] | None = None

    @property
    def means(self) -> Floats:
        """Mean reward of each arm, float (n,) or (M, n); nan for an arm without pulls."""
        return means_of(self.pulls, self.sums)

    @property
    def selected_names(self) -> NDArray[Any]:
        """Names of the selected arms, in the shape of ``selected``; their numbers without names."""
        return named(self.selected, self.names)

    def evidence(self, epsilon: float | None = None) -> float:
        """Return a p-value for the hypothesis that ``selected`` is wrong by epsilon.

        Parameters
        ----------
        epsilon : float, optional
            Tolerance in units of reward, as in `Session.evidence`; by default that of the outcome.

        Returns
        -------
        float
            The p-value of `Session.evidence` at the end of a session, with squares only if the
            strategy uses them: otherwise an outcome does not store them.

        Raises
        ------
        ValueError
            If epsilon is out of range.
        """
        epsilon = self.reward_range.unit_epsilon(self.epsilon if epsilon is None else epsilon)
        if self.table is not None:
            return self.table.evidence(epsilon)
        if self.reward_range.graded:
            allowed = "0 or 1 for evidence of this strategy; BettingLUCB has evidence for grades"
            refuse("cells", "grades", allowed)
        sums = self.reward_range.unit(self.pulls, self.sums)
        if self.log_products is not None:
            inside = np.isin(np.arange(self.pulls.size), self.selected)
            levels = Levels(inside.size, self.selected.size, inside.size, {})
            ends = capital_ends(self.pulls.astype(float), sums, self.log_products)
            return evidence_by_sides(levels, ends, inside, ~inside, epsilon)
        zero_one = self.reward_range.items is not None
        squares = self.unit_squares if self.reward_range.bounded and not zero_one else None
        form = None
        if self.by_pairs:
            count = confidence.pair_multiplier(sums.size, self.selected.size, epsilon, 0)
            bounded = self.reward_range.bounded
            share = confidence.prior_share(epsilon) if bounded else 1.0
            form = confidence.PairForm(count, share)
        return confidence.found_evidence(
            self.pulls, sums, self.selected, epsilon, sigma=self.reward_range.sigma,
            squares=squares, items=self.reward_range.items, method=self.method, form=form,
        )

    def __repr__(self) -> str:
        return (
            f"Outcome(selected={reprlib.repr(self.selected.tolist())}, "
            f"total_pulls={self.total_pulls}, certified={self.certified}, "
            f"stopped={self.stopped!r})"
        )


@dataclass(frozen=True, eq=False, repr=False)
class Replications(_ArrayFields):
    """The results of many replications; row r belongs to replication r.

    With several bandits every n below stands for two axes, M and n, and ``selected`` has an axis M
    before its last one.

    Attributes
    ----------
    selected : ndarray of int64, shape (runs, number of checkpoints or 1, k)
        The recommended set at each checkpoint, or at the end.
    pulls : ndarray of int64, shape (runs, n)
        Number of pulls of each arm in the whole run.
    sums : ndarray of float, shape (runs, n)
        Each arm's sum of rewards.
    total_pulls : ndarray of int64, shape (runs,)
        Total number of pulls.
    certified : ndarray of bool, shape (runs,)
        Whether the strategy's own stopping rule ended the run.
    means : ndarray of float, shape (n,) or (runs, n)
        The arms' means; one row per replication if each has its own bandit.
    checkpoints : tuple of int
        The requested checkpoints; empty if there are none.
    seed : int or None
        The seed that repeats the replications.
    names : list or None
        Names of the arms, if all replications have one bandit and it has names.
    """

    selected: Integers
    pulls: Integers
    sums: Floats
    total_pulls: Integers
    certified: Flags
    means: Floats
    checkpoints: tuple[int, ...] = ()
    seed: int | None = None
    names: list[Any] | None = None

    @property
    def selected_names(self) -> NDArray[Any]:
        """Names of the selected arms, in the shape of ``selected``; their numbers without names."""
        return named(self.selected, self.names)

    def __repr__(self) -> str:
        return (
            f"Replications(runs={len(self.pulls)}, n={_arms(self.pulls.shape[1:])}, "
            f"k={self.selected.shape[-1]}, checkpoints={reprlib.repr(self.checkpoints)}, "
            f"mean pulls {self.total_pulls.mean():.6g}, "
            f"certified {self.certified.sum()} of the runs)"
        )

    def _repr_html_(self):
        """Show the first runs only: the table of a large study takes long to make."""
        runs = slice(SHOWN)
        first = {name: getattr(self, name)[runs]
                 for name in ("selected", "pulls", "sums", "total_pulls", "certified")}
        if self.means.ndim == self.pulls.ndim:
            first["means"] = self.means[runs]
        table = replace(self, **first).frame().to_html(escape=True, max_rows=SHOWN)
        return f"<pre>{escape(repr(self))}</pre><p>The first {len(first['pulls'])}:</p>{table}"

    def frame(self, epsilon: float | None = None) -> pandas.DataFrame:
        """Return a tidy data frame with one row per replication and checkpoint, and all metrics.

        With several bandits there is one row per replication, checkpoint and bandit, with a
        column ``bandit``; pulls and certificate are those of the whole run.  A run fails if it
        fails on one of its bandits: ``frame.groupby("run").misidentified.any()``.

        Parameters
        ----------
        epsilon : float, optional
            Tolerance in [0, 1), in units of reward, of those metrics that need one; they are
            omitted if it is not given.  Compare larger tolerances with ``simple_regret`` and
            ``aggregate_regret``.

        Returns
        -------
        pandas.DataFrame
            Columns ``run``, ``checkpoint`` (nan if there are none), ``pulls_used``, ``certified``
            (at that checkpoint), ``aggregate_regret``, ``simple_regret``, ``precision``,
            ``misidentified`` and, with ``epsilon``, ``regret_within``, ``explore_m`` and
            ``elementwise_optimal``.
        """
        import pandas

        found = _all_measures(vars(self), self.means, self.checkpoints, epsilon)
        run, point, *bandit = np.indices(self.selected.shape[:-1])
        columns = {"run": run, "checkpoint": _checkpoint_column(self.checkpoints)[point]}
        columns |= {name: found.pop(name) for name in ("pulls_used", "certified")}
        columns |= dict(zip(["bandit"], bandit, strict=False)) | found
        return pandas.DataFrame({name: each.ravel() for name, each in columns.items()})


@dataclass(frozen=True, eq=False, repr=False)
class Summary(_ArrayFields):
    """A summary of many replications, without the selected sets and the pulls of each run.

    With several bandits the regrets and the precision of a run are means over its bandits, and it
    fails if it fails on one of its bandits; every n below then stands for two axes, M and n.

    Attributes
    ----------
    runs : int
        Number of replications.
    checkpoints : tuple of int
        The requested checkpoints; empty if there are none.
    epsilon : float or None
        Tolerance of the measures that need one.
    pulls : ndarray of int64, shape (n,)
        Number of pulls of each arm, summed over all replications.
    chosen : ndarray of int64, shape (number of checkpoints or 1, n)
        Number of replications in which each arm was in the recommended set.
    failed : ndarray of int64, shape (number of failures, number of checkpoints or 1)
        Number of replications with each kind of failure; see `failures`.
    values : dict of ndarray of float, each of shape (runs, number of checkpoints or 1)
        ``pulls_used``, ``aggregate_regret``, ``simple_regret`` and ``precision`` of each
        replication.
    seed : int or None
        The seed that repeats the replications.
    """

    runs: int
    checkpoints: tuple[int, ...]
    epsilon: float | None
    pulls: Integers
    chosen: Integers
    failed: Integers
    values: dict[str, Floats]
    seed: int | None = None

    def __repr__(self) -> str:
        return (
            f"Summary(runs={self.runs}, n={_arms(self.pulls.shape)}, "
            f"checkpoints={reprlib.repr(self.checkpoints)}, epsilon={self.epsilon})"
        )

    def failures(self, level: float = 0.95) -> pandas.DataFrame:
        """Return the frequency of each kind of failure, with exact confidence intervals.

        Parameters
        ----------
        level : float
            Confidence level, in (0, 1).

        Returns
        -------
        pandas.DataFrame
            One row for each kind of failure and checkpoint: ``failure``, ``checkpoint`` (nan if
            there are none), ``count``, ``share``, and ``low`` and ``high``, the Clopper-Pearson
            interval for the probability.  A run is ``misidentified`` if its set is not the set of
            the k best arms, and ``uncertified`` if its own stopping rule did not end it before the
            checkpoint; with epsilon it may also fail `topk.metrics.regret_within`, ``explore_m``
            and ``elementwise_optimal``.
        """
        import pandas

        names, points = FAILURES[: len(self.failed)], _checkpoint_column(self.checkpoints)
        found = proportion_interval(self.failed, self.runs, level)
        columns = {"failure": np.repeat(names, points.size), "checkpoint": [*points] * len(names)}
        columns |= {"count": self.failed.ravel(), "share": found.estimate.ravel()}
        columns |= {"low": found.low.ravel(), "high": found.high.ravel()}
        return pandas.DataFrame(columns)

    def frame(self, quantiles: Sequence[float] = (0.05, 0.5, 0.95)) -> pandas.DataFrame:
        """Return the distribution of each measure over the replications.

        Parameters
        ----------
        quantiles : sequence of float
            Each in [0, 1]; see `quantile`.

        Returns
        -------
        pandas.DataFrame
            One row for each measure and checkpoint: ``measure``, ``checkpoint``, ``mean``, ``sd``
            (divisor runs - 1; nan for one replication), ``least``, a column ``q...`` for each
            quantile, and ``most``.
        """
        import pandas

        quantiles = as_numbers(quantiles, "quantiles", "numbers in [0, 1]").ravel().tolist()
        frames = []
        for measure, values in self.values.items():
            mean = self.mean(measure)
            squares = [math.fsum(column) for column in ((values - mean) ** 2).T]
            points = _checkpoint_column(self.checkpoints)
            columns = {"measure": measure, "checkpoint": points, "mean": mean}
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
            The means.
        """
        return np.array([math.fsum(column) for column in self._values_of(measure).T]) / self.runs

    def quantile(self, measure: str, share: float) -> Floats:
        """Return a quantile of a measure at each checkpoint.

        Parameters
        ----------
        measure : str
            A key of ``values``.
        share : float
            Probability of the quantile, in [0, 1].

        Returns
        -------
        ndarray of float, shape (number of checkpoints or 1,)
            The smallest value that at least this share of the replications does not exceed.
        """
        share = check_real(share, "share", 0, 1)
        # the rank is 7 for 0.07 of 100 runs, though 0.07 * 100 is slightly more
        rank = max(1, math.ceil(share * self.runs * (1 - 1e-12)))
        return np.partition(self._values_of(measure), rank - 1, axis=0)[rank - 1]

    def _values_of(self, measure):
        return self.values[check_choice(measure, "measure", tuple(self.values))]


def summary_part(rows, means, checkpoints, epsilon):
    """Return the part of a summary that covers some replications.

    Parameters
    ----------
    rows : dict of ndarray
        ``selected``, ``pulls``, ``total_pulls`` and ``certified``, as in `Replications`.
    means : ndarray of float, shape (n,) or (runs, n)
        The arms' means; for several bandits with an axis M before the last.
    checkpoints : tuple of int
        Pull counts at which the sets were recorded.
    epsilon : float or None
        Tolerance of the measures that need one.

    Returns
    -------
    dict of ndarray
        One row per replication for each of `VALUES`, and the counts `SUMMED`.
    """
    selected = rows["selected"]
    found = _all_measures(rows, means, checkpoints, epsilon)
    wrong = [found["misidentified"], ~found["certified"]]
    wrong += [~found[name] for name in CRITERIA if name in found]
    bandits = tuple(range(2, selected.ndim - 1))  # the axis of bandits, or none
    _, *place, _ = np.indices(selected.shape, sparse=True)  # checkpoint (and bandit)
    chosen = np.zeros((selected.shape[1], *rows["pulls"].shape[1:]), dtype=np.int64)
    np.add.at(chosen, (*place, selected), 1)
    return {name: found[name].mean(axis=bandits) for name in VALUES} | {
        "pulls": rows["pulls"].sum(axis=0),
        "chosen": chosen,
        "failed": np.array([each.any(axis=bandits).sum(axis=0) for each in wrong]),
    }


def _all_measures(rows, means, checkpoints, epsilon):
    """Return every measure of some replications, of the shape of ``selected`` without k."""
    selected, total = rows["selected"], rows["total_pulls"]
    shape = selected.shape[:-1]
    once = (-1, *(1 for _ in shape[1:]))  # shape of values that a run has once
    points = np.array(checkpoints or (np.inf,)).reshape(1, -1, *once[2:])
    used = np.broadcast_to(np.minimum(total.reshape(once), points).astype(np.int64), shape)
    certified = rows["certified"].reshape(once) & (used == total.reshape(once))
    if means.ndim > selected.ndim - 2:
        means = means[:, None]  # one row per replication
    found = {"pulls_used": used, "certified": certified}
    found |= {name: getattr(metrics, name)(selected, means) for name in MEASURES}
    criteria = () if epsilon is None else CRITERIA
    return found | {name: getattr(metrics, name)(selected, means, epsilon) for name in criteria}


def _checkpoint_column(checkpoints):
    return np.array(checkpoints or (np.nan,), dtype=np.float64)


def named(arms: Integers, names: list[Any] | None) -> NDArray[Any]:
    """Return the names of arms in the same shape, or their numbers if there are no names."""
    if names is None:
        return arms
    labels = np.empty(len(names), dtype=object)
    labels[:] = names
    return labels[arms]


def _arms(shape):
    return shape[0] if len(shape) == 1 else shape
