"""Comparison of several strategies on the same arms: as a table, a frame and a figure."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from html import escape
from itertools import product
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, overload

import numpy as np

from topk import plots
from topk._checks import (
    check_choice,
    check_increasing,
    check_integer,
    check_seed,
    refuse,
)
from topk._types import Seed
from topk.bandits import Bandit, BernoulliBandit, GaussianBandit, MultiBandit
from topk.rules.strategy import Strategy
from topk.simulate.results import MEASURES, Replications
from topk.simulate.run import replicate, study_of
from topk.stats import mean_interval, paired_difference, proportion_interval
from topk.store import NO_SEED, warn_once

if TYPE_CHECKING:
    import pandas
    from distributed import Client
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

COSTS = (*(name for name in MEASURES if name != "precision"), "pulls_used")
LEVEL = 0.95
Measure = Literal["aggregate_regret", "simple_regret", "misidentified", "pulls_used"]


Arms = Bandit | Sequence[Bandit] | Callable[[np.random.Generator], Bandit]


@overload
def compare(
    strategies: Mapping[str, Strategy],
    bandit: Arms,
    runs: int = 100,
    seed: Seed | None = None,
    budgets: Sequence[float] | None = None,
    checkpoints: Sequence[float] | None = None,
    jobs: int | Client | str | None = None,
    store: str | Path | bool | None = None,
    max_pulls: float | None = None,
) -> Comparison: ...


@overload
def compare(
    strategies: Mapping[str, Strategy],
    bandit: Mapping[Any, Arms],
    runs: int = 100,
    seed: Seed | None = None,
    budgets: Sequence[float] | None = None,
    checkpoints: Sequence[float] | None = None,
    jobs: int | Client | str | None = None,
    store: str | Path | bool | None = None,
    max_pulls: float | None = None,
) -> Comparisons: ...


def compare(
    strategies: Mapping[str, Strategy],
    bandit: Arms | Mapping[Any, Arms],
    runs: int = 100,
    seed: Seed | None = None,
    budgets: Sequence[float] | None = None,
    checkpoints: Sequence[float] | None = None,
    jobs: int | Client | str | None = None,
    store: str | Path | bool | None = None,
    max_pulls: float | None = None,
) -> Comparison | Comparisons:
    """Run several strategies on the same arms, with the same random streams in each replication.

    Parameters
    ----------
    strategies : dict of str to Strategy
        The strategies, by the name under which each is shown.
    bandit : Bandit, sequence of ``runs`` Bandits, function, or dict of these
        The arms, as in `topk.replicate`.  With a dict every strategy is run on each of several
        instances, whose keys are strings or numbers, such as the number of arms.
    runs, seed, jobs, store, max_pulls
        As in `topk.replicate`, with at least two runs.  All instances have the same seed, and each
        combination of strategy, instance and budget is stored separately.
    budgets : increasing sequence of int, optional
        Budgets that replace the strategies' own; every strategy is run with each of them.
    checkpoints : sequence of int, optional
        Pull counts at which the sets of the strategies are recorded; only for strategies that do
        not depend on a budget.  Not allowed with ``budgets``.

    Returns
    -------
    Comparison or Comparisons
        The latter for a dict of bandits.

    Raises
    ------
    ValueError
        If there is no strategy or no bandit, a value of ``strategies`` is not a strategy, or has no
        budget although ``budgets`` are given, if both ``budgets`` and ``checkpoints`` are given, or
        in the cases of `topk.replicate`; always before the first run.

    See Also
    --------
    replicate : many runs of one strategy.

    Examples
    --------
    >>> import topk
    >>> bandit = topk.BernoulliBandit([0.8, 0.6, 0.4, 0.2])
    >>> pair = {"SAR": topk.SAR(2, 100), "uniform": topk.Uniform(2, 100)}
    >>> found = compare(pair, bandit, runs=20, seed=1)
    >>> found.table().columns.tolist()
    ['strategy', 'pulls', 'mean', 'low', 'high', 'worse_by', 'worse_low', 'worse_high']

    >>> sizes = {n: topk.instances.two_group(n, 2) for n in (5, 10)}
    >>> compare(pair, sizes, runs=20, seed=1).table()["instance"].tolist()
    [5, 5, 10, 10]
    """
    if not isinstance(strategies, Mapping) or not strategies:
        refuse("strategies", strategies, "a dict of strategies by name, at least one")
    if not all(isinstance(each, Strategy) for each in strategies.values()):
        refuse("strategies", strategies, "made of strategies")
    if budgets is not None and checkpoints is not None:
        refuse("checkpoints", checkpoints, "omitted if budgets are given")
    if isinstance(bandit, Mapping) and not bandit:
        refuse("bandit", bandit, "a bandit, or a dict of at least one")
    runs = check_integer(runs, "runs", 2, floats=True)
    versions = {name: [x] for name, x in strategies.items()}
    points = () if budgets is None else check_increasing(budgets, "budgets", 1)
    if seed is None and store:
        warn_once(NO_SEED)
    seed, points_of = check_seed(seed, "seed"), {}
    instances: Mapping[Any, Any] = bandit if isinstance(bandit, Mapping) else {None: bandit}
    for name, strategy in strategies.items():
        if points and not hasattr(strategy, "budget"):
            refuse("strategies", name, "made of strategies with a budget if budgets are given")
        if points:
            versions[name] = [replace(strategy, budget=budget) for budget in points]
        for each, (key, arms) in product(versions[name], instances.items()):  # before the first run
            study, _ = study_of(each, arms, runs, seed, checkpoints, max_pulls)
            points_of[key] = points or study.checkpoints
    parts = {}
    for key, arms in instances.items():
        replications = {
            name: [replicate(each, arms, runs, seed, checkpoints, jobs=jobs, store=store,
                             max_pulls=max_pulls) for each in of_name]
            for name, of_name in versions.items()
        }
        parts[key] = Comparison(dict(strategies), arms, replications, points_of[key])
    return Comparisons(parts) if isinstance(bandit, Mapping) else parts[None]


class Plottable:
    """Results that can be drawn in a new figure or in given axes."""

    @overload
    def plot(self, measure: Measure | None = None, ax: None = None) -> Figure: ...

    @overload
    def plot(self, measure: Measure | None = None, *, ax: Axes) -> Axes: ...

    def plot(self, measure: Measure | None = None, ax: Axes | None = None) -> Figure | Axes:
        """Draw a measure with 95 % intervals.

        For one bandit, the mean of the measure is drawn against the budgets or checkpoints.
        Without these its empirical distribution function is drawn.  For pulls to stop on Bernoulli
        or normal arms a line shows the lower bound T* kl(delta, 1 - delta) of exact strategies, for
        the largest delta of the strategies; it is omitted if a strategy cannot certify or has a
        positive epsilon. For several bandits, the mean of each strategy is drawn against the
        bandits' keys if they are numbers, otherwise side by side; with budgets or checkpoints, at
        the last of them.

        Parameters
        ----------
        measure : str, optional
            As in `Comparison.table`.
        ax : matplotlib.axes.Axes, optional
            Axes to draw in; by default those of a new figure.

        Returns
        -------
        matplotlib.figure.Figure, or matplotlib.axes.Axes if ``ax`` is given
        """
        measure = self._measure(measure)
        figure, ax = plots.figure_or(ax)
        self._draw(measure, ax)
        ax.legend()
        return figure or ax

    def _measure(self, measure: Measure | None) -> Measure:
        """Return the measure, by default one that suits the strategies."""
        raise NotImplementedError

    def _draw(self, measure: Measure, ax: Axes) -> None:
        """Draw a measure."""
        raise NotImplementedError


@dataclass(frozen=True, eq=False, repr=False)
class Comparison(Plottable):
    """The results of several strategies on the same arms, as returned by `compare`.

    Attributes
    ----------
    strategies : dict of str to Strategy
        The strategies, by name.
    bandit : Bandit, sequence of Bandits, or function
        The arms.
    replications : dict of str to list of Replications
        The replications: one study for each budget, or a single one.
    points : tuple of int
        The budgets or checkpoints; empty if there are none.
    """

    strategies: dict[str, Strategy]
    bandit: Arms
    replications: dict[str, list[Replications]]
    points: tuple[int, ...]

    @property
    def seed(self) -> int | None:
        """The seed with which `compare` repeats the comparison."""
        return next(iter(self.replications.values()))[0].seed

    def __repr__(self) -> str:
        reps = next(iter(self.replications.values()))[0]
        points = f", points={self.points}" if self.points else ""
        return f"Comparison({list(self.strategies)}, runs={len(reps.pulls)}{points})"

    def _repr_html_(self):
        return f"<pre>{escape(repr(self))}</pre>{self.table().to_html(escape=True, max_rows=40)}"

    def frame(self, epsilon: float | None = None) -> pandas.DataFrame:
        """Return one row for each strategy, replication and budget or checkpoint.

        Parameters
        ----------
        epsilon : float, optional
            As in `topk.Replications.frame`.

        Returns
        -------
        pandas.DataFrame
            ``strategy``, ``pulls`` (budget or checkpoint, nan if there are neither), and the
            columns of `topk.Replications.frame` without ``checkpoint``.
        """
        import pandas

        frames = []
        for name, studies in self.replications.items():
            for budget, reps in zip(self.points or (np.nan,), studies, strict=False):
                rows = reps.frame(epsilon)
                pulls = rows.pop("checkpoint").fillna(budget).astype(int if self.points else float)
                rows.insert(0, "strategy", name)
                rows.insert(1, "pulls", pulls)
                frames.append(rows)
        return pandas.concat(frames, ignore_index=True)

    def table(self, measure: Measure | None = None) -> pandas.DataFrame:
        """Return the mean of a measure, and how much worse each strategy is than the best.

        Parameters
        ----------
        measure : {"aggregate_regret", "simple_regret", "misidentified", "pulls_used"}, optional
            The measure; smaller is better.  The default is the number of pulls to stop if there are
            no budgets or checkpoints and every strategy can certify, otherwise the aggregate
            regret.  With several bandits a run's set is misidentified if that of one of its bandits
            is, and its regrets are means over its bandits.

        Returns
        -------
        pandas.DataFrame
            One row for each strategy and budget or checkpoint: ``strategy``, ``pulls``, ``mean``
            with its 95 % confidence interval ``low`` to ``high``, and ``worse_by``, the mean paired
            difference to the strategy with the smallest mean there, with its confidence interval
            ``worse_low`` to ``worse_high``.  The intervals of all strategies at one budget or
            checkpoint have a joint confidence level of 95 % (Bonferroni).
        """
        import pandas

        rows = []
        is_share = self._measure(measure) == "misidentified"
        for pulls, values in self._values(measure):
            best = values[min(values, key=lambda name: values[name].mean())]
            level = 1 - (1 - LEVEL) / max(1, len(values) - 1)
            for name, each in values.items():
                own = (proportion_interval(int(each.sum()), each.size, LEVEL) if is_share
                       else mean_interval(each, LEVEL))
                rows.append([name, pulls, *own, *paired_difference(each, best, level)])
        columns = "strategy pulls mean low high worse_by worse_low worse_high".split()
        return pandas.DataFrame(rows, columns=columns)

    def _draw(self, measure, ax):
        """Draw means with 95 % bands, or empirical distribution functions."""
        import seaborn

        title = measure.replace("_", " ").replace("pulls used", "pulls to stop")
        points = [values for _, values in self._values(measure)]
        for name, style in self._styles():
            values = np.stack([of_point[name] for of_point in points], axis=-1)
            if self.points:
                strategy = self.strategies[name]
                label = plots.plain_text(name)
                plots.curve_with_band(ax, self.points, values, strategy, label=label, floor=0)
                ax.lines[-1].set_linestyle(style.linestyle)
            else:
                seaborn.ecdfplot(x=values[:, 0], color=style.color, linestyle=style.linestyle,
                                 label=plots.plain_text(name), ax=ax)
        x, y = ("pulls", title) if self.points else (title, "share of runs")
        ax.set(xlabel=x, ylabel=y)
        if measure == "pulls_used" and not self.points:
            used = [*points[0].values()]
            if np.max(used) > 10 * np.min(used):
                ax.set_xscale("log")
            if np.isfinite(bound := self._lower_bound()):
                ax.axvline(bound, color=plots.GREY, linestyle=":", label="T* kl(δ, 1 - δ)")

    def _styles(self):
        """Yield each strategy's name and style; within a class line styles differ."""
        before = Counter()
        for name, strategy in self.strategies.items():
            # the styles of new rules differ only in their labels
            style = plots.style(strategy)._replace(label="")
            line = ("-", "--", ":", "-.")[before[style] % 4]
            yield name, style._replace(linestyle=line) if before[style] else style
            before[style] += 1

    def _lower_bound(self):
        """Return T* kl(delta, 1 - delta); infinity if it is unknown or some epsilon is positive."""
        from topk.hardness import bernoulli_kl
        from topk.hardness.characteristic import characteristic_time

        strategies, bandit = self.strategies.values(), self.bandit
        exact = self._all_certify() and not any(getattr(x, "epsilon", 0) > 0 for x in strategies)
        ks, normal = {strategy.k for strategy in strategies}, isinstance(bandit, GaussianBandit)
        coins = isinstance(bandit, BernoulliBandit) and not isinstance(bandit, MultiBandit)
        if len(ks) > 1 or not exact or not (coins or normal):
            return np.inf
        law, delta = ("gaussian", bandit.sigma), max(strategy.delta for strategy in strategies)
        time = characteristic_time(bandit.means, *ks, *(law if normal else ())).value
        return time * bernoulli_kl(delta, 1 - delta)

    def _measure(self, measure):
        if measure is not None:
            return check_choice(measure, "measure", COSTS)
        return "pulls_used" if self._all_certify() and not self.points else "aggregate_regret"

    def _all_certify(self):
        return all(strategy.certifies for strategy in self.strategies.values())

    def _values(self, measure):
        """Yield each point with every strategy's values (runs,), of all its bandits together."""
        measure = self._measure(measure)
        rows = self.frame().groupby(["pulls", "strategy", "run"], dropna=False)[measure]
        whole = rows.max() if measure == "misidentified" else rows.mean()
        for pulls, of_point in whole.groupby(level="pulls", dropna=False):
            names = of_point.groupby(level="strategy")
            yield pulls, {name: names.get_group(name).to_numpy(float) for name in self.strategies}


@dataclass(frozen=True, eq=False, repr=False)
class Comparisons(Plottable, Mapping[Any, Comparison]):
    """The results of several strategies on several instances, as returned by `compare`.

    The object is a mapping: ``found[key]`` is the `Comparison` on that instance.

    Attributes
    ----------
    parts : dict
        The comparisons, by the instances' keys.
    """

    parts: dict[Any, Comparison]

    def __getitem__(self, key: Any) -> Comparison:
        return self.parts[key]

    def __iter__(self) -> Iterator[Any]:
        return iter(self.parts)

    def __len__(self) -> int:
        return len(self.parts)

    @property
    def seed(self) -> int | None:
        """The seed with which `compare` repeats the comparison."""
        return next(iter(self.parts.values())).seed

    def __repr__(self) -> str:
        return f"Comparisons({list(self.parts)}, {next(iter(self.parts.values()))!r} each)"

    def frame(self, epsilon: float | None = None) -> pandas.DataFrame:
        """Return the rows of `Comparison.frame` for all instances, after a column ``instance``."""
        return self._with_instances(part.frame(epsilon) for part in self.parts.values())

    def table(self, measure: Measure | None = None) -> pandas.DataFrame:
        """Return the rows of `Comparison.table` for all instances, after a column ``instance``."""
        return self._with_instances(part.table(measure) for part in self.parts.values())

    def _with_instances(self, tables):
        import pandas

        frames = []
        for key, rows in zip(self.parts, tables, strict=True):
            rows.insert(0, "instance", [key] * len(rows))
            frames.append(rows)
        return pandas.concat(frames, ignore_index=True)

    def _measure(self, measure):
        return next(iter(self.parts.values()))._measure(measure)

    def _draw(self, measure, ax):
        """Draw the mean on each instance with its 95 % interval."""
        first, rows = next(iter(self.parts.values())), self.table(measure)
        keys = list(self.parts)
        numbers = all(isinstance(key, int | float | np.number) for key in keys)
        places = keys if numbers else range(len(keys))
        for name, style in first._styles():
            own = rows[rows["strategy"] == name].groupby("instance", sort=False).last()
            means, low, high = (own[x].to_numpy(float) for x in ("mean", "low", "high"))
            label = plots.plain_text(name)
            ax.errorbar(places, means, [means - low, high - means], color=style.color, capsize=3,
                        marker=style.marker, linestyle=style.linestyle, label=label)
        if not numbers:
            ax.set_xticks(places, [plots.plain_text(key) for key in keys])
        ax.set(xlabel="instance", ylabel=measure.replace("_", " "))
