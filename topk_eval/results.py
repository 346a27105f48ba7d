"""Results of models on items, with what is known of their order, scale and missing cells.

A *cell* is a model on an item.  It is *scored*; or it has *failed*: it was asked, and there will
be no score, as with an empty score, nan, NA, null or an error; or it is *absent*: nobody has asked
it, or its result is still to come.
What is not known is bounded by the worst: a cell has two fills, ``low`` and ``high``, the smallest
and the largest score that it may have.  Only what was fixed before any result may be used to do
better, as an order of the items.
"""

from __future__ import annotations

import copy
import os
import re
import warnings
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple, Self

import numpy as np

from topk._checks import Words, check_choice, check_flag, in_words, refuse
from topk._tables import (
    as_labels,
    cell_of,
    columns_of,
    is_table,
    labels_of,
    read_tidy,
    read_wide,
    row,
    told_alike,
)
from topk._types import Flags, Floats, Integers
from topk._warnings import TopkWarning
from topk.bandits import RewardRange, reward_range_of

if TYPE_CHECKING:
    import pandas

__all__ = ["Results", "Fills", "as_results"]

TIDY = ("model", "item", "score")  # usual columns of a table with one row per result
FALLING = ("wer", "cer", "loss", "error", "latency", "cost", "perplexity")  # better if smaller
ALLOWED = "a table or matrix of models (rows) by items (columns), or with the columns " + ", ".join(
    map(repr, TIDY)
)
TOLD = "of the scale, not of the results at hand"


class Fills(NamedTuple):
    """The results as statements use them: 1 is best, in the order of the items or clusters.

    Attributes
    ----------
    low, high : ndarray of float, shape (n, N)
        The smallest and the largest value of each cell, in [0, 1]; 0 and 1 where it is absent.
    absent : ndarray of bool, shape (n, N)
        Cells that nobody has asked.
    empty : ndarray of bool, shape (n, N)
        Cells of a wide table that are empty, of which it is not said whether they failed.
    partial : ndarray of bool, shape (n, N)
        Cells of which a part has not been asked: items of a cluster, or trials.
    """

    low: Floats
    high: Floats
    absent: Flags
    empty: Flags
    partial: Flags

    @property
    def to_come(self) -> Flags:
        """Cells that may be filled, or filled further, in a later look, (n, N)."""
        return self.absent | self.empty | self.partial

    @property
    def scored(self) -> Flags:
        """Cells whose value is known, (n, N)."""
        return ~self.absent & (self.low == self.high)

    @property
    def ends(self) -> Integers:
        """Number of items up to the last one that each model has been asked, (n,)."""
        asked = ~self.absent
        last = asked.shape[1] - asked[:, ::-1].argmax(axis=1)
        return np.where(asked.any(axis=1), last, 0)


class Listed(NamedTuple):
    """One entry per result, as files have them.

    Attributes
    ----------
    models, items, trials : list
        Labels; trials are None where nothing numbers them.
    scores : ndarray of float
        nan where there is none.
    clusters : list or None
        The cluster of the item in each entry.
    empty : ndarray of bool
        Entries that are empty cells of a wide table.
    known : list or None
        All items in an order that was fixed before the run, as the header of a log has them; or
        those of the wide tables, as they stand there.
    wide : ndarray of bool
        Entries of wide tables.
    """

    models: list[Any]
    items: list[Any]
    scores: Floats
    trials: list[Any] | None = None
    clusters: list[Any] | None = None
    empty: Flags | None = None
    known: list[Any] | None = None
    wide: Flags | None = None


class _Cells(NamedTuple):
    """A matrix of cells as a table has them, (n, N) each.

    Attributes
    ----------
    here : ndarray of bool
        Cells that the table has.
    scores : ndarray of float
        nan where there is none.
    blank, wide : ndarray of bool
        Empty cells of a wide table, and all cells that come from one.
    """

    here: Flags
    scores: Floats
    blank: Flags
    wide: Flags


class Results:
    """A table of results of models on items, with what statements about it may assume.

    What is not known is bounded by the worst.  Only what was fixed before any result was known is
    used to do better: an order of the items, which cells exist, and the scale of the scores.

    Parameters
    ----------
    table : DataFrame, pyarrow Table or array_like
        A matrix (n, N) or a table with a row for each model and a column for each item; or a table
        with a row for each result and the columns model, item and score.
    model, item, score, trial, cluster : str, optional
        Names of columns of a table with a row for each result, if they are not the usual ones.
        Each cell has equally many ``trial`` rows, a number fixed beforehand; their mean counts.
        The items of a ``cluster``, such as the questions about one document, are one item, with
        their mean; for a matrix, a sequence of N labels or a dict from items to labels.  Claims
        are then about the mean over clusters.
    bounds : pair of float
        The smallest and the largest score of the scale, not of the results at hand.
    lower_is_better : bool
        Whether smaller scores are better, as with errors and costs.
    order : sequence, path, 'columns' or 'names', optional
        All items that any model may be asked, up to the last that counts, in an order that was
        fixed before any result was known; an item without a result is a missing one of all models.
        A path names a file with an item on each line.  ``'columns'`` and ``'names'`` take the order
        of a table that has every asked item, and to which no item is added between looks.  By
        default there is no order: then only all items together count.
    drawn : bool
        Whether that order is a random order of all N items, drawn before any result was known.
    empty : {'auto', 'failed', 'absent'}
        What an empty cell of a wide table is: one that failed, one that nobody has asked, or, by
        default, failed if its model has a score for a later item of a wide table, in the order that
        is given, and otherwise absent.

    Attributes
    ----------
    models, items : list
        Names of rows and columns; items in their order.
    low, high : ndarray of float, shape (n, N)
        The smallest and the largest score that each cell may have.
    scores : ndarray of float, shape (n, N)
        Their common value; nan where they differ.
    failed, absent : ndarray of bool, shape (n, N)
        Cells that were asked and have no score, or lack that of a trial; cells that nobody asked.
    blank : ndarray of bool, shape (n, N)
        Empty cells of a wide table of which nobody has said that they failed; in a race they stand
        for cells that are not there yet.
    unfinished : ndarray of bool, shape (n, N)
        Cells that have rows of some trials only.
    order : {None, 'given', 'drawn'}
        Where the order of the items comes from.
    named : {None, 'list', 'columns', 'names'}
        How it was given.
    bounds : tuple of float
        The scale.
    lower_is_better : bool
        Whether smaller scores are better.
    clusters : list or None
        The cluster of each item.
    trials : int
        Number of trials of each cell.
    notes : list of str
        Sentences on what was read.

    Raises
    ------
    ValueError
        If the table has no such form, a score is outside the bounds (with model, item and value),
        a cell has two rows without trials, or the order lacks an item that has a result.

    Warns
    -----
    topk.TopkWarning
        If a column names clusters and is not used, or scores are named like errors or costs.

    Examples
    --------
    >>> results = Results([[1, 0, float("nan"), 1], [0, 1, 1, float("nan")]], order="columns")
    >>> results
    Results(2 models, 4 items in the order of the columns, 1 cell failed, 1 absent)
    >>> results.low.tolist(), results.high.tolist()
    ([[1.0, 0.0, 0.0, 1.0], [0.0, 1.0, 1.0, 0.0]], [[1.0, 0.0, 1.0, 1.0], [0.0, 1.0, 1.0, 1.0]])
    """

    models: list[Any]
    items: list[Any]
    low: Floats
    high: Floats
    failed: Flags
    absent: Flags
    blank: Flags
    unfinished: Flags
    order: str | None
    named: str | None
    bounds: tuple[float, float]
    lower_is_better: bool
    clusters: list[Any] | None
    trials: int
    notes: list[str]

    def __init__(
        self,
        table: Any,
        model: str | None = None,
        item: str | None = None,
        score: str | None = None,
        trial: str | None = None,
        cluster: Any = None,
        bounds: Sequence[float] = (0, 1),
        lower_is_better: bool = False,
        order: Any = None,
        drawn: bool = False,
        empty: str = "auto",
    ) -> None:
        columns = {"model": model, "item": item, "score": score, "trial": trial}
        listed = _listed(table, columns, cluster, lower_is_better)
        self._scale(bounds, lower_is_better)
        if listed is not None:
            self._from_list(listed, order, drawn, empty)
            self.notes += names_alike(self)
            return
        if (given := next((name for name, its in columns.items() if its is not None), None)):
            refuse(given, columns[given], "left out for a matrix or a wide table")
        cells, models, items = read_wide(table, "table", ALLOWED, missing=True)
        if cells.ndim != 2 or 0 in cells.shape:
            refuse("table", f"an array of shape {cells.shape}", ALLOWED)
        models, items = (
            [*range(size)] if names is None else names
            for names, size in zip((models, items), cells.shape, strict=True)
        )
        if len({*models}) < len(models):
            twice = next(name for name in models if models.count(name) > 1)
            refuse("table", Words(f"two rows of the model {in_words(twice)}"),
                   "a table with different models")
        here = np.ones(cells.shape, dtype=bool)
        listed_items = self._order_of(order, drawn, items, wide=True)
        self._fill(models, items, _Cells(here, cells, np.isnan(cells), here), empty, listed_items)
        self._put_in(listed_items)
        self._set_clusters(cluster)
        self.notes += names_alike(self)

    @classmethod
    def from_list(
        cls, listed: Listed, bounds: Sequence[float] = (0, 1), lower_is_better: bool = False,
        order: Any = None, drawn: bool = False, empty: str = "auto",
        notes: Sequence[str] = (),
    ) -> Self:
        """Return results from one entry per result; see `topk_eval.read_results`."""
        results = cls.__new__(cls)
        results._scale(bounds, lower_is_better)
        results._from_list(listed, order, drawn, empty)
        results.notes = [*notes, *results.notes]
        return results

    @classmethod
    def without_any(
        cls, models: Sequence[Any], items: Sequence[Any], bounds: Sequence[float] = (0, 1),
        lower_is_better: bool = False, drawn: bool = False,
    ) -> Self:
        """Return a table of which every cell is absent, with an order of its items."""
        results = cls.__new__(cls)
        results._scale(bounds, lower_is_better)
        results._set([*models], [*items], *results._blank(len(models), len(items)), None)
        results.order, results.named = "drawn" if drawn else "given", "list"
        return results

    def with_models(self, models: Sequence[Any]) -> Self:
        """Return the results with the models of a list, in its order; new ones have no cells.

        Raises
        ------
        ValueError
            If a model with results is not in the list.
        """
        listed = {*models}
        if lacking := [name for name in self.models if name not in listed]:
            refuse("models", Words(f"no model {in_words(lacking[0])}, which has results"),
                   "a list of all models")
        place = {name: row for row, name in enumerate(self.models)}
        other = copy.copy(self)
        cells = self._blank(len(models), len(self.items))
        whole = *cells, np.zeros_like(cells[2]), np.zeros_like(cells[2])
        known = [(row, place[name]) for row, name in enumerate(models) if name in place]
        for row_, mine in known:
            for found, now in zip(whole, (self.low, self.high, self.absent, self.failed, self.blank,
                                          self.unfinished), strict=True):
                found[row_] = now[mine]
        other._set([*models], self.items, *whole)
        return other

    def _blank(self, n: int, size: int) -> tuple[Floats, Floats, Flags, Flags]:
        """Return fills of absent cells, and that they are absent and have not failed."""
        low, high = (np.full((n, size), bound) for bound in self.bounds)
        none = np.zeros((n, size), dtype=bool)
        return low, high, ~none, none.copy()

    def _scale(self, bounds, lower_is_better):
        """Set the scale of the scores."""
        self._range: RewardRange = reward_range_of(bounds)
        self.bounds = self._range.low, self._range.high
        self.lower_is_better = check_flag(lower_is_better, "lower_is_better")
        self.notes, self.clusters, self.trials = [], None, 1

    def _from_list(self, listed, order, drawn, empty):
        """Set the cells from one entry per result."""
        wide = listed.empty is not None
        known = (listed.known or []) if wide else []
        models, items = ([*dict.fromkeys(x)] for x in (listed.models, [*known, *listed.items]))
        if not models:
            refuse("table", Words("no rows"), ALLOWED)
        rows, columns = ({x: place for place, x in enumerate(y)} for y in (models, items))
        a = np.array([rows[x] for x in listed.models], dtype=np.int64)
        i = np.array([columns[x] for x in listed.items], dtype=np.int64)
        self._check_rows(listed, a * len(items) + i, models, items)
        listed_items = self._order_of(order, drawn, items, wide, listed.known)
        self._fill_rows(models, items, a, i, listed, empty, listed_items)
        self._put_in(listed_items)
        if listed.clusters is not None:
            self._set_clusters(_clusters_of(listed.items, listed.clusters))

    def _check_rows(self, listed, cells, models, items):
        """Refuse two rows of one trial of a cell."""
        trials = listed.trials or [None]
        codes = {trial: code for code, trial in enumerate(dict.fromkeys(trials))}
        ordered = np.sort(cells * len(codes) + [codes[trial] for trial in trials])
        if (ordered[1:] != ordered[:-1]).all():
            return
        keys = cells if listed.trials is None else [*zip(cells.tolist(), listed.trials,
                                                         strict=True)]
        seen: set[Any] = set()
        for place, key in enumerate(keys if isinstance(keys, list) else keys.tolist()):
            if key in seen:
                cell = key if listed.trials is None else key[0]
                where = f"{row(place)}, {cell_of(cell, (0, len(items)), models, items)}"
                if listed.trials is None:
                    refuse("table", Words("two rows of a cell"), "a table with 1 row per cell, or "
                           "with a column 'trial'", where)
                refuse("table", key[1], "a table with different trials in the rows of a cell",
                       where)
            seen.add(key)

    def _fill_rows(self, models, items, a, i, listed, empty, listed_items):
        """Set the cells as means of their trials; those that are missing are bounded."""
        shape, scores = (len(models), len(items)), listed.scores
        check_choice(empty, "empty", ("auto", "failed", "absent"))
        flat = a * shape[1] + i
        size = shape[0] * shape[1]
        rows = np.bincount(flat, minlength=size).reshape(shape)
        most = int(rows.max())
        if most == 1:
            cells = np.full(size, np.nan)
            cells[flat] = scores
            blank, wide = np.zeros((2, size), dtype=bool)
            if listed.empty is not None:
                blank[flat], wide[flat] = listed.empty, True if listed.wide is None else listed.wide
            found = (x.reshape(shape) for x in (cells, blank, wide))
            self._fill(models, items, _Cells(rows > 0, *found), empty, listed_items)
            return
        self._check_scale(scores, lambda x: f"{row(x)}, model {in_words(models[a[x]])}, item "
                                            f"{in_words(items[i[x]])}")
        blank = np.zeros(size, dtype=bool)
        if listed.empty is not None:
            failed = _failed_trials(listed, flat, shape, items, empty, listed_items)
            blank[flat[failed]] = empty == "auto"
            stays = ~listed.empty | failed
            flat, scores = flat[stays], scores[stays]
            rows = np.bincount(flat, minlength=size).reshape(shape)
        known = np.flatnonzero(~np.isnan(scores))
        known = known[np.argsort(scores[known], kind="stable")]  # sums do not depend on the order
        told = np.bincount(flat[known], minlength=size).reshape(shape)
        sums = np.zeros(size)
        np.add.at(sums, flat[known], scores[known])
        lack, self.trials = most - told, most
        low, high = filled_means(sums.reshape(shape), lack, most, self.bounds)
        unfinished = (rows > 0) & (rows < most)
        self._set(models, items, low, high, rows == 0, (rows > 0) & (lack > 0),
                  blank.reshape(shape), unfinished)
        fewer = int(unfinished.sum())
        if fewer:
            self.notes.append(f"{_cells(fewer)} with less than {most} trials; each missing trial "
                              "is bounded by the worst")

    def _fill(self, models, items, cells, empty, listed_items):
        """Set the cells from a matrix of scores, with all items in their order, or None."""
        here, scores, blank, wide = cells
        self._check_scale(scores, lambda x: cell_of(x, scores.shape, models, items))
        check_choice(empty, "empty", ("auto", "failed", "absent"))
        missing = np.isnan(scores)
        scored = ~missing & here
        if empty == "auto":
            blank = blank & ~_before_another(scored & wide, items, listed_items)
        failed = missing & here & ~(blank & (empty != "failed"))
        absent = ~scored & ~failed
        low, high = (np.where(missing, bound, scores) for bound in self.bounds)
        self._set(models, items, low, high, absent, failed,
                  failed & cells.blank if empty == "auto" else None)

    def _check_scale(self, scores, where):
        """Refuse the first score that is outside the bounds."""
        low, high = self.bounds
        bad = (scores < low) | (scores > high)
        if bad.any():
            place = int(np.flatnonzero(bad)[0])
            span = f"from {np.nanmin(scores):g} to {np.nanmax(scores):g}"
            refuse("table", float(scores.flat[place]), f"made of scores {self._range}; they are "
                   f"{span}: give the bounds {TOLD}, as Results(table, bounds=(0, 10)) or "
                   "--bounds 0 10", where(place))

    def _set(self, models, items, low, high, absent, failed, blank=None, unfinished=None):
        self.models, self.items = models, items
        self.low, self.high, self.absent, self.failed = low, high, absent, failed
        none = np.zeros_like(failed)
        self.blank = none if blank is None else blank
        self.unfinished = none if unfinished is None else unfinished

    def _order_of(self, order, drawn, items, wide, known=None):
        """Return all items in the order that is given, with the labels of ``items``, or None."""
        self.order = self.named = None
        if order is None:
            if check_flag(drawn, "drawn"):
                refuse("drawn", True, "left out without an order")
            return None
        if isinstance(order, str) and order in ("columns", "names"):
            self.named = order
            if not wide and known is None:
                refuse("order", order, "a list or file of all items that may be asked, for a table "
                       "or log with a row for each result: what it has depends on what has arrived")
            listed = items if known is None else known
            listed = [*listed] if order == "columns" else sorted(listed, key=str)
        else:
            self.named, listed = "list", read_order(order)
        self.order = "drawn" if check_flag(drawn, "drawn") else "given"
        own, known = {*items}, {*listed}
        if not own <= known:
            texts = {str(label): label for label in items}  # a file has texts
            listed = [texts.get(label, label) for label in listed]
            known = {*listed}
        if other := [label for label in items if label not in known]:
            refuse("order", Words(f"no item {in_words(other[0])}, which the table has"),
                   "a list of all items that any model may be asked")
        return [*listed]

    def _put_in(self, listed):
        """Put the items in the order of a list of all; those without a result are absent."""
        if listed is None:
            return
        places = {label: place for place, label in enumerate(self.items)}
        here = np.array([places.get(label, -1) for label in listed], dtype=np.int64)
        none = here < 0

        def put(cells, fill):
            found = cells[:, here]
            found[:, none] = fill
            return found

        self._set([*self.models], listed, put(self.low, self.bounds[0]),
                  put(self.high, self.bounds[1]), put(self.absent, True), put(self.failed, False),
                  put(self.blank, False), put(self.unfinished, False))

    def _set_clusters(self, cluster):
        """Set the cluster of each item."""
        if cluster is None:
            return
        if (labels := labels_of(cluster)) is not None and not isinstance(cluster, Mapping):
            if len({*labels}) < len(labels):
                refuse("cluster", Words("two clusters of one item"), "a cluster for each item")
            cluster = dict(zip(labels, as_labels(cluster, "cluster", "labels"), strict=True))
        if isinstance(cluster, Mapping):
            lacking = [item for item in self.items if item not in cluster]
            if lacking and self.named != "list":
                refuse("cluster", Words(f"none of item {in_words(lacking[0])}"),
                       "a cluster for each item")
            if lacking:
                refuse("order", Words(f"item {in_words(lacking[0])} without a cluster"),
                       "a list of items whose clusters are known")
            self.clusters = [cluster[item] for item in self.items]
            return
        labels = as_labels(cluster, "cluster", f"{len(self.items)} labels, one for each item")
        if len(labels) != len(self.items):
            refuse("cluster", Words(f"{len(labels)} labels"), f"{len(self.items)} labels, one for "
                   "each item")
        self.clusters = labels

    @property
    def scores(self) -> Floats:
        """Scores, nan where the two fills differ, (n, N)."""
        return np.where(self.low == self.high, self.low, np.nan)

    def unit_epsilon(self, epsilon: float) -> float:
        """Return a tolerance in units of score as one of values in [0, 1]."""
        return self._range.unit_epsilon(epsilon)

    def fills(self) -> Fills:
        """Return the results as statements use them; see `Fills`."""
        low, high = unit_fills(self.low, self.high, self._range, self.lower_is_better)
        low, high = np.where(self.absent, 0.0, low), np.where(self.absent, 1.0, high)
        if self.clusters is None:
            return Fills(low, high, self.absent, self.blank, self.unfinished)
        place, count = self.cluster_places()
        total = np.zeros((3, len(self.models), count.size))
        for found, cells in zip(total, (low, high, self.absent), strict=True):
            np.add.at(found.T, place, cells.T)
        low, high = total[0] / count, total[1] / count

        def some(cells):
            found = np.zeros(low.shape, dtype=bool)
            np.logical_or.at(found.T, place, cells.T)
            return found

        high, absent = np.where(some(self.low != self.high), high, low), total[2] == count
        return Fills(low.clip(0, 1), high.clip(0, 1), absent, some(self.blank),
                     some(self.absent | self.unfinished) & ~absent)

    def cluster_places(self) -> tuple[Integers, Integers]:
        """Return the place of each item's cluster, (N,), and the size of each cluster, (M,).

        A cluster stands where its first item stands.
        """
        labels = range(len(self.items)) if self.clusters is None else self.clusters
        places: dict[Any, int] = {}
        found = [places.setdefault(label, len(places)) for label in labels]
        place = np.array(found, dtype=np.int64)
        return place, np.bincount(place, minlength=len(places))

    def frame(self) -> pandas.DataFrame:
        """Return a row for each cell that was asked, in the order of the items.

        Returns
        -------
        pandas.DataFrame
            The columns model, item and score, nan where the cell failed.
        """
        import pandas

        i, a = np.nonzero(~self.absent.T)
        columns = {"model": [self.models[x] for x in a.tolist()],
                   "item": [self.items[x] for x in i.tolist()], "score": self.scores[a, i]}
        return pandas.DataFrame(columns)

    def holes(self) -> str:
        """Return in words what is missing, or "" if nothing is."""
        failed, absent = int(self.failed.sum()), int(self.absent.sum())
        words = [f"{failed:,} cell{'s' * (failed > 1)} failed"] if failed else []
        words += [f"{absent:,} absent" if failed else f"{_cells(absent)} absent"] if absent else []
        return ", ".join(words)

    def __repr__(self) -> str:
        size = f"{_count(len(self.models), 'model')}, {_count(len(self.items), 'item')}"
        where = {None: "", "list": " in a given order", "columns": " in the order of the columns",
                 "names": " in the order of their names"}[self.named]
        if self.order == "drawn":
            where += " drawn at random"
        if self.clusters is not None:
            size += f" in {_count(len({*self.clusters}), 'cluster')}"
        parts = [size + where, self.holes()]
        if self.bounds != (0, 1):
            parts.append(f"bounds {self.bounds[0]:g} to {self.bounds[1]:g}")
        if self.lower_is_better:
            parts.append("lower is better")
        return f"Results({', '.join(filter(None, parts))})"


def as_results(results: Any) -> Results:
    """Return results as they are, and a table or matrix as `Results` with its defaults."""
    if isinstance(results, Results):
        return results
    try:
        return Results(results)
    except ValueError as reason:  # the parameter has another name there
        raise ValueError(re.sub(r"^table\b", "results", str(reason))) from None


def filled_means(
    sums: Floats, lack: Integers, trials: int, bounds: tuple[float, float]
) -> tuple[Floats, Floats]:
    """Return both fills of means of trials, from the sums of those that are known.

    Parameters
    ----------
    sums, lack : ndarray
        Sums of the known trials of each cell, and the number of trials that have failed.
    trials : int
        Number of trials of each cell.
    bounds : pair of float
        Smallest and largest score.
    """
    low, high = (((sums + lack * bound) / trials).clip(*bounds) for bound in bounds)
    return low, np.where(lack == 0, low, high)


def unit_fills(
    low: Floats, high: Floats, scale: RewardRange, lower_is_better: bool
) -> tuple[Floats, Floats]:
    """Return both fills in [0, 1], where 1 is best."""
    low, high = (((x - scale.low) / scale.width).clip(0, 1) for x in (low, high))
    return (1 - high, 1 - low) if lower_is_better else (low, high)


def _failed_trials(listed, flat, shape, items, empty, listed_items):
    """Return which entries are empty cells of a wide table with trials that count as failed, (m,).

    Parameters
    ----------
    listed : Listed
    flat : ndarray of int64, shape (m,)
        The cell of each entry.
    shape : tuple of int
        Numbers of models and items.
    items, listed_items : list
        The items as they stand, and in the order that is given, or None.
    empty : str
        What an empty cell is; see `Results`.
    """
    if empty != "auto":
        return listed.empty & (empty == "failed")
    scored = np.zeros(shape[0] * shape[1], dtype=bool)
    scored[flat[~np.isnan(listed.scores) & (True if listed.wide is None else listed.wide)]] = True
    return listed.empty & _before_another(scored.reshape(shape), items, listed_items).ravel()[flat]


def _before_another(scored, items, listed):
    """Return which cells come before a scored one of their row, in an order of all items or None.

    Parameters
    ----------
    scored : ndarray of bool, shape (n, N)
    items : list
        Names of the columns.
    listed : list or None
        All of them in their order; by default that of the columns.
    """
    place = {label: at for at, label in enumerate(items if listed is None else listed)}
    ranks = np.array([place[label] for label in items], dtype=np.int64)
    last = np.where(scored, ranks, -1).max(axis=1, initial=-1)
    return ranks < last[:, None]


def names_alike(results: Results) -> list[str]:
    """Return notes on different models, and on different items, whose names read alike."""
    told = told_alike("models", results.models), told_alike("items", results.items)
    return [note for note in told if note is not None]


def read_order(order: Any) -> list[Any]:
    """Return the items of an order: a sequence, or a file with an item on each line."""
    if isinstance(order, str | os.PathLike):
        from topk_eval.reading.names import names_in  # which imports readers

        return names_in(Path(order), "order is 'columns', 'names', a list of items, or a file with "
                        "an item on each line")
    names = as_labels(order, "order", "a sequence of all items, a file, 'columns' or 'names'")
    if len({*names}) < len(names):
        twice = next(name for name in names if names.count(name) > 1)
        refuse("order", Words(f"{in_words(twice)} twice"), "a sequence of different items")
    return names


def _listed(table, columns, cluster, lower_is_better):
    """Return the entries of a table with one row per result, or None if it has another form."""
    names = columns_of(table, "table") if is_table(table) else []
    index = {*getattr(getattr(table, "index", None), "names", [])} & {*TIDY}
    if index and {*TIDY} <= {*names} | index:  # as after grouping
        table = table.reset_index()
        names = list(table.columns)
    roles = {role: name if name is not None else role for role, name in columns.items()}
    asked = any(columns[role] is not None for role in TIDY)
    if not (asked or {*TIDY} <= {*names}):
        return None
    labels = {role: roles[role] for role in ("model", "item")}
    trials = roles["trial"] if columns["trial"] is not None or "trial" in names else None
    groups = cluster if isinstance(cluster, str) else None
    for role, name in (("trial", trials), ("cluster", groups)):
        if name is not None:
            labels[role] = name
    found = read_tidy(table, labels, {"score": roles["score"]}, "table", missing=True)
    say_of_columns(roles["score"], names, cluster is not None, lower_is_better)
    groups = found.get("cluster")
    if cluster is not None and groups is None:
        groups = _labels_of(found["item"], cluster)
    return Listed(found["model"], found["item"], found["score"], found.get("trial"), groups)


def say_of_columns(
    score: Any, columns: Sequence[Any], clustered: bool, lower_is_better: bool,
) -> None:
    """Warn of a score that is named like an error, and of clusters that are not used."""
    from topk_eval.reading.table import CLUSTERS  # its package imports this module

    clusters = [name for name in columns if name in CLUSTERS]
    if clusters and not clustered:
        warnings.warn(f"column {clusters[0]!r} is not used: if it names clusters of items that "
                      f"belong together, give cluster={clusters[0]!r} (--cluster {clusters[0]}); "
                      "their mean is then one result", TopkWarning, stacklevel=4)
    falling = [word for word in FALLING if word in str(score).lower().replace("-", "_").split("_")]
    if falling and not lower_is_better:
        warnings.warn(f"the score is the column {score!r}, and larger is taken for better; if "
                      "smaller is better, give lower_is_better=True (--lower-is-better)",
                      TopkWarning, stacklevel=4)


def _labels_of(items, cluster):
    """Return the cluster of each entry by a dict from items to clusters."""
    if not isinstance(cluster, Mapping):
        refuse("cluster", cluster, "the name of a column, or a dict from items to clusters")
    if lacking := [item for item in items if item not in cluster]:
        refuse("cluster", Words(f"none of item {in_words(lacking[0])}"), "a cluster for each item")
    return [cluster[item] for item in items]


def _clusters_of(items, clusters):
    """Return item -> cluster; refuse an item that is in two clusters."""
    found: dict[Any, Any] = {}
    for place, (item, cluster) in enumerate(zip(items, clusters, strict=True)):
        if found.setdefault(item, cluster) != cluster:
            refuse("cluster", cluster, f"that of item {in_words(item)} in earlier rows, "
                   f"{in_words(found[item])}", row(place))
    return found


def _count(number, noun):
    return f"{number:,} {noun}{'' if number == 1 else 's'}"


def _cells(number):
    return _count(number, "cell")
