"""Several strategies on the same arms: one table, one frame, one figure."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Literal

import numpy as np

from topk._checks import check_choice, check_increasing, check_integer, refuse
from topk.bandits import Bandit, BernoulliBandit, GaussianBandit, MultiBandit
from topk.rules.strategy import Strategy
from topk.simulate.results import MEASURES, Replications
from topk.simulate.run import replicate, study_of
from topk.stats import mean_interval, paired_difference, proportion_interval

if TYPE_CHECKING:
    import pandas
    from distributed import Client
    from matplotlib.figure import Figure

COSTS = (*(name for name in MEASURES if name != "precision"), "pulls_used")
LEVEL = 0.95
Measure = Literal["aggregate_regret", "simple_regret", "misidentified", "pulls_used"]


def compare(
    strategies: Mapping[str, Strategy],
    bandit: Bandit | Sequence[Bandit] | Callable[[np.random.Generator], Bandit],
    runs: int = 100,
    seed: int | None = 1,
    budgets: Sequence[int] | None = None,
    checkpoints: Sequence[int] | None = None,
    jobs: int | Client | str | None = None,
    store: str | Path | bool | None = None,
    max_pulls: int | None = None,
) -> Comparison:
    """Play several strategies on the same arms, play by play with the same streams.

    Parameters
    ----------
    strategies : dict of str to Strategy
        What to play, by the name it is shown with.
    bandit, runs, seed, jobs, store, max_pulls
        As in `topk.replicate`; at least two runs.
    budgets : increasing sequence of int, optional
        Every strategy is played once with each of these in place of its own budget.
    checkpoints : sequence of int, optional
        Every strategy is played once, and its set looked at after so many pulls; only for
        strategies whose rule does not depend on a budget.  Not together with ``budgets``.

    Returns
    -------
    Comparison

    Raises
    ------
    ValueError
        If there is no strategy, one is none or takes no budget where ``budgets`` are given, both
        ``budgets`` and ``checkpoints`` are, or as `topk.replicate` does.

    Examples
    --------
    >>> import topk
    >>> bandit = topk.BernoulliBandit([0.8, 0.6, 0.4, 0.2])
    >>> found = compare({"SAR": topk.SAR(2, 100), "uniform": topk.Uniform(2, 100)}, bandit, runs=20)
    >>> found.table().columns.tolist()
    ['strategy', 'pulls', 'mean', 'low', 'high', 'worse_by', 'worse_low', 'worse_high']
    """
    if not isinstance(strategies, dict) or not strategies:
        refuse("strategies", strategies, "a dict of strategies by name, at least one")
    if not all(isinstance(each, Strategy) for each in strategies.values()):
        refuse("strategies", strategies, "made of strategies")
    if budgets is not None and checkpoints is not None:
        refuse("checkpoints", checkpoints, "left out where budgets are given")
    runs, versions = check_integer(runs, "runs", 2), {name: [x] for name, x in strategies.items()}
    points = () if budgets is None else check_increasing(budgets, "budgets", 1)
    for name, strategy in strategies.items():
        if points and not hasattr(strategy, "budget"):
            refuse("strategies", name, "made of strategies with a budget, where budgets are given")
        if points:
            versions[name] = [replace(strategy, budget=budget) for budget in points]
        for each in versions[name]:  # all of them before any is played, and with one seed
            study, _ = study_of(each, bandit, runs, seed, checkpoints, max_pulls)
            seed = study.seed
    played = {
        name: [replicate(each, bandit, runs, seed, checkpoints, jobs=jobs, store=store,
                         max_pulls=max_pulls) for each in of_name]
        for name, of_name in versions.items()
    }
    return Comparison(dict(strategies), bandit, played, points or study.checkpoints)


@dataclass(frozen=True, eq=False, repr=False)
class Comparison:
    """What several strategies came to on the same arms; made by `compare`.

    Attributes
    ----------
    strategies : dict of str to Strategy
        What was played.
    bandit : Bandit, sequence of Bandits, or function
        On which arms.
    replications : dict of str to list of Replications
        The plays: a study for each budget, or a single one.
    points : tuple of int
        The budgets or checkpoints; empty if there are none.
    """

    strategies: dict[str, Strategy]
    bandit: Bandit | Sequence[Bandit] | Callable[[np.random.Generator], Bandit]
    replications: dict[str, list[Replications]]
    points: tuple[int, ...]

    def __repr__(self) -> str:
        reps = next(iter(self.replications.values()))[0]
        points = f", points={self.points}" if self.points else ""
        return f"Comparison({list(self.strategies)}, runs={len(reps.pulls)}{points})"

    def frame(self, epsilon: float | None = None) -> pandas.DataFrame:
        """Return a row for each strategy, play and budget or checkpoint.

        Parameters
        ----------
        epsilon : float, optional
            As in `topk.Replications.frame`.

        Returns
        -------
        pandas.DataFrame
            ``strategy``, ``pulls`` (budget or checkpoint, nan without either), and the columns of
            `topk.Replications.frame` without ``checkpoint``.
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
        """Return the mean of a measure, and by how much each strategy is worse than the best.

        Parameters
        ----------
        measure : {"aggregate_regret", "simple_regret", "misidentified", "pulls_used"}, optional
            Of what; less is better.  Unless given the pulls to stop, if there are no budgets or
            checkpoints and every strategy has a promise, else the aggregate regret.

        Returns
        -------
        pandas.DataFrame
            A row for each strategy and budget or checkpoint: ``strategy``, ``pulls``, ``mean``
            with its 95 % interval ``low`` to ``high``, and ``worse_by``, the mean difference to
            the strategy with the least mean there, play by play, with ``worse_low`` and
            ``worse_high``: 95 % for all of a point together (Bonferroni).
        """
        import pandas

        rows = []
        share = self._measure(measure) == "misidentified"
        for pulls, values in self._values(measure):
            best = values[min(values, key=lambda name: values[name].mean())]
            level = 1 - (1 - LEVEL) / max(1, len(values) - 1)
            for name, each in values.items():
                own = (proportion_interval(int(each.sum()), each.size, LEVEL) if share
                       else mean_interval(each, LEVEL))
                rows.append([name, pulls, *own, *paired_difference(each, best, level)])
        columns = "strategy pulls mean low high worse_by worse_low worse_high".split()
        return pandas.DataFrame(rows, columns=columns)

    def plot(self, measure: Measure | None = None) -> Figure:
        """Draw the measure against the budgets or checkpoints, or how it is distributed.

        Parameters
        ----------
        measure : str, optional
            As in `table`.

        Returns
        -------
        matplotlib.figure.Figure
            Means with 95 % bands; without budgets or checkpoints the share of plays with at most so
            much, and for pulls to stop of a single bandit with Bernoulli or normal arms a line at
            what no exact strategy can do without, T* kl(delta, 1 - delta), for the largest delta
            that was played; none if an epsilon allows less than the best set.
        """
        import seaborn

        from topk import plots

        measure = self._measure(measure)
        figure, (ax,) = plots.panels(1, 1, height=3.2)
        figure.set_layout_engine("constrained")
        label = measure.replace("_", " ").replace("pulls used", "pulls to stop")
        points = [values for _, values in self._values(measure)]
        for name, look in self._looks():
            values = np.stack([of_point[name] for of_point in points], axis=-1)
            if self.points:
                strategy = self.strategies[name]
                plots.curve_with_band(ax, self.points, values, strategy, label=name, floor=0)
                ax.lines[-1].set_linestyle(look.linestyle)
            else:
                seaborn.ecdfplot(x=values[:, 0], color=look.color, linestyle=look.linestyle,
                                 label=name, ax=ax)
        x, y = ("pulls", label) if self.points else (label, "share of plays")
        ax.set(xlabel=x, ylabel=y)
        if measure == "pulls_used" and not self.points:
            used = [*points[0].values()]
            if np.max(used) > 10 * np.min(used):
                ax.set_xscale("log")
            if np.isfinite(needed := self._needed()):
                ax.axvline(needed, color=plots.GREY, linestyle=":", label="T* kl(δ, 1 - δ)")
        ax.legend()
        return figure

    def _looks(self):
        """Yield each strategy's name and style; forms of one class differ in their lines."""
        from topk import plots

        before = Counter()
        for name, strategy in self.strategies.items():
            look = plots.style(strategy)._replace(label="")  # two own rules differ in that alone
            line = ("-", "--", ":", "-.")[before[look] % 4]
            yield name, look._replace(linestyle=line) if before[look] else look
            before[look] += 1

    def _needed(self):
        """Return T* kl(delta, 1 - delta), infinite where it is not known, or with an epsilon."""
        from topk.hardness import bernoulli_kl
        from topk.hardness.characteristic import characteristic_time

        strategies, bandit = self.strategies.values(), self.bandit
        exact = self._promised() and not any(getattr(x, "epsilon", 0) > 0 for x in strategies)
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
        return "pulls_used" if self._promised() and not self.points else "aggregate_regret"

    def _promised(self):
        return all(strategy.certifies for strategy in self.strategies.values())

    def _values(self, measure):
        """Yield each point with every strategy's values (runs,); means over several bandits."""
        rows = self.frame().groupby(["pulls", "strategy", "run"], dropna=False)
        means = rows[self._measure(measure)].mean()
        for pulls, of_point in means.groupby(level="pulls", dropna=False):
            names = of_point.groupby(level="strategy")
            yield pulls, {name: names.get_group(name).to_numpy(float) for name in self.strategies}
