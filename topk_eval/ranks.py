r"""What a table of results settles: rank intervals, tiers, and p-values for the K best.

Models are ranked by their true values, ties by their place in the table.  The *claim* (a, b) says
that a is before b in this ranking; of n models exactly n (n - 1)/2 claims are false, one of each
pair.

**Ranks, for all K at once.**  Claim (a, b) if :math:`e_{ab} \geq n(n-1)/\delta`, that is, the
number of false claims divided by :math:`\delta/2`, with the e-values of `topk.confidence.paired`,
and add all claims that follow.  With probability at least :math:`1-\delta/2` all agree with the
ranking, so a model's rank is at least 1 + (number of models before it) and at most n - (number of
models after it).  The other half of delta is for sets: for each K the K first models are supported
by the cut theorem (`topk.confidence.paired`), for all K at once, and each set that is settled adds
its claims to the others.

**One K, fixed beforehand.**  A model is *in* if it has claims over at least n - K others, and *out*
if at least K others have claims over it.  With claims at :math:`e_{ab} \geq M/\delta`,

.. math:: M = \min\Big(K(n-K),\ \sum_{v=1}^{\min(K,n-K)}\frac{n+1-2v}v + n - H_K - H_{n-K}\Big),
   \qquad H_m = 1 + \tfrac12 + \dots + \tfrac1m, \tag{1}

all these statements are right with probability at least :math:`1-\delta`.

Half of delta is for these statements and half for the set, unless :math:`M \leq 2(n-1)`: then M
with all of delta serves both, since claims across the whole boundary make every model in or out.
With ``epsilon`` > 0 the K (n - K) claims across the boundary share delta.

**These items.**  The ends of single rows, drawn without replacement (`topk_eval.rows`), at
:math:`\delta/(2n)` on each side hold together; (a, b) is claimed if the lower end of a exceeds the
upper end of b, or they are equal and a is before b in the table.  For one K only n of the 2 n ends
can make a statement wrong: the lower ends of models outside the K best and the upper ends of those
inside, at :math:`\delta/n` each.

The chapter "New questions: comparing models on shared items" has the proofs.
"""

from __future__ import annotations

import math
from html import escape
from typing import TYPE_CHECKING, Any, Literal, NamedTuple

import numpy as np

from topk import plots
from topk._checks import (
    check_choice,
    check_delta,
    check_integer,
    check_k,
    in_words,
    refuse,
)
from topk._tables import cell_means, cell_of, columns_of, is_table, read_tidy, read_wide, row
from topk._types import Flags, Floats
from topk.bandits import RewardRange, reward_range_of
from topk.confidence.paired import log_e_values
from topk_eval.rows import OUTWARD, Row

if TYPE_CHECKING:
    import pandas
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

__all__ = ["Tiers", "tiers", "member_count", "set_counts"]

TIDY = ("model", "item", "score")  # columns of a table with one row per result
ALLOWED = "a table or matrix of models (rows) by items (columns), or with the columns " + ", ".join(
    map(repr, TIDY)
)
HALVINGS = 40  # steps of the search for the p-value about these items
SLACK = 1e-6  # nats, more than the rounding errors of this search
COLORS = {"in": plots.BLUE, "out": plots.GREY, "open": plots.RED}


def tiers(
    table: Any,
    delta: float = 0.05,
    k: int | None = None,
    epsilon: float = 0.0,
    items: Literal["new", "these"] = "new",
    bounds: tuple[float, float] = (0, 1),
    gaps: Literal["prefix", "fixed"] = "prefix",
    n_items: int | None = None,
) -> Tiers:
    r"""Return which ranks, tiers and sets of best models a table of results settles.

    All statements hold at all times: the table may be looked at, and be continued, as often as you
    like, and the models that are run next may be chosen by looking.

    Parameters
    ----------
    table : DataFrame, pyarrow Table or array_like
        Results of n models on shared items: a matrix (n, N) or a table with one row per model and
        one column per item, where nan is a cell without a result; or a table with the columns
        model, item and score, one row per result.  With a column trial, each cell has equally many
        rows with different trials, and their mean counts.  Models and items are ordered as in the
        table.
    delta : float
        Bound in (0, 1) on the probability that anything stated is ever wrong.
    k : int, optional
        If given, all of delta is spent on the K best models, and no ranks are stated.  Fix it
        before looking at results.
    epsilon : float
        Tolerance in units of score; if positive, ``k`` must be given.
    items : {'new', 'these'}
        Whether statements are about the population from which the items were drawn independently,
        or about the mean over exactly these N items.
    bounds : pair of float
        The smallest and the largest possible score.
    gaps : {'prefix', 'fixed'}
        Which cells count.  With 'prefix', a model's cells up to its first gap, in the order of the
        items.  With 'fixed' all cells: you say that which cells exist was fixed before any result
        was known.  Cells that are still on their way are not such a pattern: with them, equal
        models are declared different in a third of all tables.
    n_items : int, optional
        Number N of items for ``items="these"``, at least the number of items in the table, which is
        the default.

    Returns
    -------
    Tiers
        The statements, as a table, text and figure.

    Raises
    ------
    ValueError
        If an argument is out of range, a score is outside the bounds, or the table has no such form
        (with the model, item and value).

    Notes
    -----
    *New items.*  The items are independent draws from the population; a random order of a finite
    pool is not enough, unless the pool is such a sample itself.  No model was made or chosen with
    results on these items.  Items that come in clusters (several questions about one document) are
    one item, with the mean score.  Which items a model is run on must not depend on results on
    them; in particular, cells that failed are given a score, not left out.

    *These items.*  The order of the items is uniformly random, drawn before any result; it does not
    matter for models with all N cells.

    200 models and 10,000 items take some seconds, and memory of about five times the table.

    The statements are those of `topk_eval.ranks`, with the e-values of `topk.confidence.paired`
    (new items) and the bounds of `topk_eval.rows` (these items).

    References
    ----------
    .. [1] Waudby-Smith and Ramdas (2024), Estimating means of bounded random variables by betting,
       Journal of the Royal Statistical Society B 86, doi:10.1093/jrsssb/qkad009.

    Examples
    --------
    >>> import numpy as np, topk, topk_eval
    >>> right = np.random.default_rng(0).random((4, 500)) < [[0.9], [0.7], [0.68], [0.3]]
    >>> found = topk_eval.tiers(right)
    >>> found.frame()[["model", "rank_low", "rank_high", "tier"]].to_numpy().tolist()
    [[0, 1, 1, 1], [1, 2, 3, 2], [2, 2, 3, 2], [3, 4, 4, 3]]
    >>> found.decided(1), found.decided(2), found.decided(3)
    (True, False, True)
    """
    delta = check_delta(delta)
    scale = reward_range_of(bounds)
    epsilon = scale.unit_epsilon(epsilon)
    check_choice(items, "items", ("new", "these"))
    check_choice(gaps, "gaps", ("prefix", "fixed"))
    if epsilon > 0 and k is None:
        refuse("k", None, "given if epsilon is positive: ranks and several K need epsilon = 0")
    if n_items is not None and items == "new":
        refuse("n_items", n_items, 'omitted unless items="these"')
    results = read(table, scale, gaps)
    n, seen_items = results.values.shape
    k = None if k is None else check_k(k, n - 1)
    if items == "new":
        return Tiers(results, _NewItems(results, k, epsilon, delta), delta, k, scale)
    size = seen_items if n_items is None else check_integer(n_items, "n_items", seen_items)
    return Tiers(results, _TheseItems(results, k, epsilon, delta, size), delta, k, scale)


class Results(NamedTuple):
    """A table of results.

    Attributes
    ----------
    values : ndarray of float, shape (n, N)
        Results rescaled to [0, 1]; 0 where a cell does not count.
    counted : ndarray of bool, shape (n, N)
        Cells that count.
    names : list
        Names of the models.
    ignored : int
        Number of results that do not count.
    """

    values: Floats
    counted: Flags
    names: list[Any]
    ignored: int


def read(table: Any, scale: RewardRange, gaps: str) -> Results:
    """Return the results of a table, tidy or wide; see `tiers`."""
    columns = columns_of(table, "table") if is_table(table) else []
    index = {*getattr(getattr(table, "index", None), "names", [])} & {*TIDY}
    if index and {*TIDY} <= {*columns} | index:  # as after grouping
        table = table.reset_index()
        columns = list(table.columns)
    if set(TIDY) <= set(columns):
        cells, names, items = _tidy(table, "trial" in columns)
    else:
        cells, names, items = read_wide(table, "table", ALLOWED, missing=True)
    if cells.ndim != 2 or 0 in cells.shape:
        refuse("table", f"an array of shape {cells.shape}", ALLOWED)
    names = [*range(len(cells))] if names is None else names
    if len(set(names)) < len(names):
        twice = next(name for name in names if names.count(name) > 1)
        refuse("table", f"two rows of the model {in_words(twice)}", "a table with different models")
    present = ~np.isnan(cells)
    unit = (cells - scale.low) / scale.width
    if (bad := present & ~((cells >= scale.low) & (cells <= scale.high))).any():
        place = int(np.flatnonzero(bad)[0])
        where = cell_of(place, cells.shape, names, items)
        refuse("table", float(cells.flat[place]), f"made of scores {scale}, or other bounds", where)
    counted = np.logical_and.accumulate(present, axis=1) if gaps == "prefix" else present
    values = np.where(counted, unit, 0.0).clip(0, 1)
    return Results(values, counted, names, int(present.sum() - counted.sum()))


def _tidy(table, repeated):
    """Return cells (n, N), models and items of a table with one row per result."""
    labels = {name: name for name in (*TIDY[:2], "trial")[: 2 + repeated]}
    columns = read_tidy(table, labels, {"score": "score"}, "table", missing=True)
    if repeated:
        _check_trials(*(columns[name] for name in labels))
    models, items = ({x: i for i, x in enumerate(dict.fromkeys(columns[y]))} for y in TIDY[:2])
    a = np.array([models[x] for x in columns["model"]], dtype=np.int64)
    i = np.array([items[x] for x in columns["item"]], dtype=np.int64)
    shape = len(models), len(items)
    trials, means = cell_means(a, i, columns["score"], shape)
    sizes = trials[trials > 0]
    if sizes.size and (other := (trials > 0) & (trials != (sizes.max() if repeated else 1))).any():
        place = int(np.flatnonzero(other)[0])
        where = cell_of(place, shape, [*models], [*items])
        if not repeated:
            refuse("table", int(trials.flat[place]), "a table with 1 row per cell, or with a column"
                   " 'trial'", where)
        refuse("table", int(trials.flat[place]), f"a table with {sizes.max()} trials of each cell: "
               "their number is fixed before any result", where)
    return means, [*models], [*items]


def _check_trials(models, items, trials):
    """Refuse a table in which a trial of a cell has several rows."""
    seen = set()
    for place, key in enumerate(zip(models, items, trials, strict=True)):
        if key in seen:
            where = f"{row(place)}, model {in_words(key[0])}, item {in_words(key[1])}"
            refuse("table", key[2], "a table with different trials in the rows of a cell", where)
        seen.add(key)


def member_count(n: int, k: int) -> float:
    """Return M of (1): the number that shares delta in statements about single models.

    Parameters
    ----------
    n, k : int
        Number of models, and size of the set, 1 to n - 1.

    Returns
    -------
    float
        From n - 1, for k = 1, to about n ln n.
    """
    weights = sum((n + 1 - 2 * v) / v for v in range(1, min(k, n - k) + 1))
    weights += n - sum(1 / v for v in range(1, k + 1)) - sum(1 / v for v in range(1, n - k + 1))
    return min(float(k * (n - k)), weights)


def set_counts(n: int, k: int | None, epsilon: float) -> tuple[float, float]:
    """Return the counts for single models (ranks if k is None), and for sets.

    A claim is made, or p is at most delta, where e is at least the count divided by delta.
    """
    if k is None:
        return float(n * (n - 1)), 2.0 * (n - 1)
    if epsilon > 0:
        return float(k * (n - k)), float(k * (n - k))
    count = member_count(n, k)
    return (count, count) if count <= 2 * (n - 1) else (2 * count, 2.0 * (n - 1))


class _NewItems:
    """Claims and p-values about the population of the items."""

    def __init__(self, results, k, epsilon, delta):
        self.n = len(results.values)
        self.of_claim, self.of_set = set_counts(self.n, k, epsilon)
        logs = log_e_values(results.values, results.counted)
        self.tolerant = log_e_values(results.values, results.counted, epsilon) if epsilon else logs
        self.claims = logs >= math.log(max(self.of_claim, 1) / delta)
        self.delta, self.order = delta, by_score(results)
        self.about = f"new items like these {results.values.shape[1]:,}"

    def log_p(self, inside, outside):
        """Return ln p of the hypothesis that the set is wrong."""
        return math.log(self.of_set) - self.tolerant[np.ix_(inside, outside)].min()

    def strength(self, inside, outside):
        """Return how well each claim of a inside over b outside is supported."""
        return self.tolerant[np.ix_(inside, outside)]

    def decided(self, inside, outside):
        """Return whether the set is settled."""
        return self.log_p(inside, outside) <= math.log(self.delta)


class _TheseItems:
    """Claims and p-values about the mean over N items; a row's cells are in random order."""

    def __init__(self, results, k, epsilon, delta, size):
        self.n, self.size = len(results.values), size
        self.count = self.n * (2 if k is None else 1)
        self.delta, self.margin = delta, epsilon * size
        level = math.log(self.count / delta)
        rows = [(x[c], Row(size, level), Row(size, level))
                for x, c in zip(results.values, results.counted, strict=True)]
        for cells, low, high in rows:
            for side, values in ((low, cells), (high, 1 - cells)):
                side.add(values)
                if not side.complete:
                    side.step = side.last_step(0, level)
        self.rows = [(low, high) for _, low, high in rows]
        self.low = np.array([low.low for low, _ in self.rows])
        self.high = np.array([low.low if low.complete else size - high.low
                              for low, high in self.rows])
        label = np.arange(self.n)
        self.earlier = label[:, None] < label
        self.claims = self._over(0.0)
        means = [low.total / low.size if low.size else -1.0 for low, _ in self.rows]
        self.order = sorted(range(self.n), key=lambda a: (-means[a], a))
        self.about = f"exactly these {size:,} items"

    def _over(self, margin):
        """Return which a are before b, up to a margin of the total."""
        low, high = self.low[:, None] + margin, self.high
        return (low > high) | ((low == high) & (self.earlier | (margin > 0)))

    def strength(self, inside, outside):
        """Return how well each claim of a inside over b outside is supported."""
        return (self.low[:, None] - self.high)[np.ix_(inside, outside)]

    def decided(self, inside, outside):
        """Return whether the set is settled."""
        return bool(self._over(self.margin)[np.ix_(inside, outside)].all())

    def log_p(self, inside, outside):
        """Return ln of the least delta at which the ends of the rows settle the set.

        Those inside have lower ends of at least x, and those outside upper ends of at most x +
        margin, at the level that the smaller of their capitals at x reaches: the first falls and
        the second grows with x.
        """
        level, best = math.log(self.count / self.delta), 0.0
        low, high = 0.0, float(self.size)
        x = (self.low[inside].min() + self.high[outside].max() - self.margin) / 2
        for _ in range(HALVINGS):
            falling, growing = self._capitals(x, inside, outside)
            best = max(best, min(falling, growing) - SLACK)
            low, high = (x, high) if falling > growing else (low, x)
            x = (low + high) / 2
        reached = self.decided(inside, outside)
        best = max(best, level) if reached else min(best, level - SLACK)
        return math.log(self.count) - best

    def _capitals(self, x, inside, outside):
        """Return the smallest log capitals against totals up to x inside, and from x outside."""
        above = (_log_capital(self.rows[a][0], x, self.low[a] >= x) for a in inside)
        below = (_log_capital(self.rows[b][1], self.size - x - self.margin,
                              self.high[b] <= x + self.margin) for b in outside)
        return min(above), min(below)


def _log_capital(row, total, beyond):
    """Return the log capital against totals of a row up to ``total``, moved outward.

    If all cells are known, ``beyond`` says whether their sum is at least that.
    """
    if row.complete:
        return math.inf if beyond else -math.inf
    total += OUTWARD * row.items
    return math.inf if total <= row.total else row.log_capital(total)


def by_score(results: Results) -> list[int]:
    """Return the models by their mean difference to the model with most results, ties by place.

    A pair is compared on common items: means over own items would mix in how hard the items are.
    """
    sizes = results.counted.sum(axis=1)
    sums = [math.fsum(row.tolist()) for row in results.values]
    reference = max(range(len(sums)), key=lambda a: (sizes[a], sums[a], -a))
    base, common = results.values[reference], results.counted & results.counted[reference]
    scores = []
    for a, both in enumerate(common):
        size = int(both.sum())
        if size:
            total, base_total = (math.fsum(row[both].tolist()) for row in (results.values[a], base))
            scores.append((total - base_total) / size)
        else:
            scores.append(sums[a] / sizes[a] - sums[reference] / sizes[reference] if sizes[a]
                          else -2.0)
    return sorted(range(len(sums)), key=lambda a: (-scores[a], a))


def closure(claims: Flags) -> Flags:
    """Return all claims that follow from claims (n, n), except those that contradict each other."""
    closed = claims.copy()
    for middle in range(len(closed)):
        closed |= closed[:, [middle]] & closed[middle]
    return closed & ~closed.T


class Tiers:
    """Ranks, tiers and sets of best models that a table settles; made by `topk_eval.tiers`.

    Attributes
    ----------
    delta : float
        Bound on the probability that anything stated is ever wrong.
    k : int or None
        The size for which models are stated to be in or out; None if ranks are stated.
    names : list
        The models in rank order: by mean difference to the model with most results, on common
        items; ties in the order of the table.
    """

    delta: float
    k: int | None
    names: list[Any]

    def __init__(
        self, results: Results, source: Any, delta: float, k: int | None, scale: RewardRange,
    ) -> None:
        self.delta, self.k, self._source = delta, k, source
        self._order, n = np.array(source.order), len(source.order)
        self.names = [results.names[a] for a in self._order]
        cells = results.counted.sum(axis=1)[self._order]
        sums = np.array([math.fsum(results.values[a].tolist()) for a in self._order])
        means = np.full(n, np.nan)
        np.divide(sums, cells, out=means, where=cells > 0)
        self._cells, self._means = cells, scale.low + means * scale.width
        self._ignored = results.ignored
        claims = source.claims[np.ix_(self._order, self._order)]
        for size in range(1, n) if k is None else [k]:
            if source.decided(self._order[:size], self._order[size:]):
                claims[:size, size:] = True
        np.fill_diagonal(claims, False)
        if k is None:
            self._over = over = closure(claims)
            self._low, self._high = 1 + over.sum(axis=0), n - over.sum(axis=1)
            self._tier: list[Any] = components(over)
        else:
            self._over, losses = claims, claims.sum(axis=0)
            inside = np.where(claims.sum(axis=1) >= n - k, "in", "open")
            self._tier = np.where(losses >= k, "out", inside).tolist()
            place = {"in": (1, k), "out": (k + 1, n), "open": (1, n)}
            self._low, self._high = np.array([place[tier] for tier in self._tier]).T

    def _sides(self, k):
        """Return the k first models, and the others; refuse another k than that stated."""
        k = check_k(k, len(self._order) - 1)
        if self.k not in (None, k):
            refuse("k", k, f"{self.k}, for which all of delta was spent")
        return self._order[:k], self._order[k:]

    def frame(self) -> pandas.DataFrame:
        """Return a table with one row per model in rank order.

        Returns
        -------
        pandas.DataFrame
            Columns: model; cells, the number of results that count; mean, over these; rank_low and
            rank_high, between which the rank of the true value is (missing if ``k`` was given);
            tier: a number, 1 for the best, or for a given ``k`` "in", "out" or "open".  Every model
            of a tier is better than every model of the next one.
        """
        import pandas

        ranks = {name: pandas.array(ends if self.k is None else [None] * len(ends), dtype="Int64")
                 for name, ends in (("rank_low", self._low), ("rank_high", self._high))}
        return pandas.DataFrame({"model": self.names, "cells": self._cells, "mean": self._means,
                                 **ranks, "tier": self._tier})

    def evidence(self, k: int) -> float:
        """Return an anytime-valid p-value for the hypothesis that the k first are not the k best.

        Parameters
        ----------
        k : int
            1 to n - 1; if ``k`` was given to `topk_eval.tiers`, this one.

        Returns
        -------
        float
            With probability at least 1 - delta it is never at most delta for a wrong set, of any
            size; with epsilon, a set that misses a model better by more than epsilon.
        """
        p_value = math.exp(min(0.0, self._source.log_p(*self._sides(k))))
        return min(p_value, self.delta) if self.decided(k) else p_value

    def decided(self, k: int) -> bool:
        """Return whether the k first models are settled as the k best: evidence is at most delta.

        Parameters
        ----------
        k : int
            As for `evidence`.
        """
        self._sides(k)
        return bool(self._over[:k, k:].all())

    def undecided(self, k: int) -> list[tuple[Any, Any]]:
        """Return the pairs (one of the k first, another model) that are not settled, weakest first.

        Parameters
        ----------
        k : int
            As for `evidence`.

        Returns
        -------
        list of pairs of names
        """
        inside, outside = self._sides(k)
        still = ~self._over[:k, k:]
        strength = self._source.strength(inside, outside)[still]
        pairs = sorted(zip(strength, *np.nonzero(still), strict=True))
        return [(self.names[a], self.names[b + k]) for _, a, b in pairs]

    def summary(self) -> str:
        """Return in a few lines what is settled."""
        n, sure = len(self.names), f"{1 - self.delta:g}"
        lines = [f"{_quantity(n, 'model')}, {_quantity(int(self._cells.sum()), 'result')}",
                 f"about {self._source.about}, with probability {sure} for all together:"]
        if self._ignored:
            lines.append(f"{_quantity(self._ignored, 'result')} after a model's first gap "
                         "not counted")
        if self.k is None:
            first = [name for name, low in zip(self.names, self._low, strict=True) if low == 1]
            settled = [k for k in range(1, n) if self.decided(k)]
            lines.append(f"{_quantity(max(self._tier), 'tier')}; rank 1 is possible for "
                         f"{_some(first)}")
            lines.append(f"settled: the best {', '.join(map(str, settled))}" if settled else
                         "settled: no set of best models")
            return "\n".join(lines)
        for tier in ("in", "open", "out"):
            named = [x for x, y in zip(self.names, self._tier, strict=True) if y == tier]
            lines.append(f"{tier}: {_some(named)}" if named else f"{tier}: none")
        whether = "settled" if self.decided(self.k) else "not settled"
        lines.append(f"the {self.k} best {whether}: p = {self.evidence(self.k):.2g}")
        return "\n".join(lines)

    def __repr__(self) -> str:
        what = "" if self.k is None else f", k={self.k}"
        return f"Tiers({_quantity(len(self.names), 'model')}{what}, delta={self.delta:g})"

    def _repr_html_(self) -> str:
        frame = self.frame()
        frame = frame.drop(columns=["rank_low", "rank_high"]) if self.k is not None else frame
        return f"<pre>{escape(self.summary())}</pre>{frame.to_html(escape=True, max_rows=60)}"

    def plot(self, ax: Axes | None = None) -> Figure | Axes:
        """Draw for each model the ranks that are possible, and the tiers as bands.

        Parameters
        ----------
        ax : matplotlib.axes.Axes, optional
            Axes to draw in; by default those of a new figure.

        Returns
        -------
        matplotlib.figure.Figure or matplotlib.axes.Axes
            The new figure, or ``ax`` if given.  The dot is the rank in the table.  For a given
            ``k`` the dashed line separates the k best ranks: models in and out are on one side.

        Raises
        ------
        ModuleNotFoundError
            If matplotlib is missing, which ``pip install ".[plot]"`` installs.
        """
        n = len(self.names)
        figure, ax = plots.figure_or(ax, height=min(1.1 + 0.19 * n, 12.0))
        for place, (low, high, tier) in enumerate(zip(self._low, self._high, self._tier,
                                                      strict=True)):
            color = COLORS.get(tier, plots.BLUE)
            ax.plot([low, high], [place, place], color=color, linewidth=3, solid_capstyle="round",
                    alpha=0.7)
            ax.plot(place + 1, place, "o", color=color, markersize=4)
        if self.k is None:
            for tier in range(2, max(self._tier) + 1, 2):
                band = [place for place, its in enumerate(self._tier) if its == tier]
                ax.axhspan(band[0] - 0.5, band[-1] + 0.5, color="#DDE6EE", zorder=0)
        else:
            ax.axvline(self.k + 0.5, color="#333333", linestyle="--", linewidth=1)
        step = 1 + (n - 1) // 60
        shown = range(0, n, step)
        ax.set_yticks(shown, [plots.plain_text(self.names[place], 32) for place in shown])
        ax.set(ylim=(n - 0.5, -0.5), xlim=(0.5, n + 0.5),
               xlabel=f"possible ranks, {1 - self.delta:.0%} for all together")
        width = next(x for x in (1, 2, 5, 10, 20, 50, 10**9) if n <= 12 * x)
        ax.set_xticks([1, *range(width, n + 1, width)] if width > 1 else range(1, n + 1))
        ax.grid(False, axis="y")
        return figure or ax


def components(over: Flags) -> list[int]:
    """Return the tier of each model, from 1, for claims (n, n) that are closed, in rank order.

    A tier ends where every model so far has claims over all later ones.
    """
    n, tier_of, tier = len(over), [], 1
    for place in range(n):
        tier_of.append(tier)
        tier += bool(place + 1 < n and over[: place + 1, place + 1 :].all())
    return tier_of


def _quantity(number, noun):
    return f"{number:,} {noun}{'' if number == 1 else 's'}"


def _some(names):
    """Return names in words, of many the first ones and their number."""
    most = 8
    words = [*map(str, names[:most])]
    named = ("; " if any("," in word for word in words) else ", ").join(words)
    return named if len(names) <= most else f"{named} and {len(names) - most} others"
