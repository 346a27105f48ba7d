"""Items and models: a finite test set, and a pool from which new items are drawn.

In a `TestSet` each arm has fixed results, drawn without replacement; an `ItemPool` simulates new
items, which all arms share.
"""

import warnings
from collections.abc import Hashable, Mapping, Sequence
from typing import Any, Literal, NamedTuple, NoReturn

import numpy as np
from numpy.typing import ArrayLike, NDArray

from topk._checks import (
    Words,
    as_numbers,
    check_choice,
    check_flag,
    in_words,
    refuse,
    refuse_first,
)
from topk._tables import as_labels, cell_of, joined_to, labels_of, read_wide, warn_of_alike
from topk._types import Flags, Floats, Integers
from topk._warnings import TopkWarning
from topk.bandits import Bandit, RewardRange, reward_range_of
from topk.confidence.finite import check_items
from topk.rules.numbered import Numbered
from topk_eval._sources import OWN
from topk_eval.forms import on_new_items, on_these_items, shares_items
from topk_eval.results import Results

ROWS = "a matrix of at least 2 models (rows) by 1 to 1,000,000 items (columns)"


class TestSet(Bandit):
    """n models (prompts, agents, annotators) and N items; each cell is observed at most once.

    In every run each model gets the items in a new uniformly random order, so that the value of an
    arm is known exactly after N pulls.

    Parameters
    ----------
    matrix : topk_eval.Results, array_like of float of shape (n, N), or table
        ``matrix[a, i]`` is the result of model a on item i, for example 1 if it is right; nan if
        the cell is missing; n >= 2.  A table (a pandas or polars DataFrame, or a pyarrow Table) has
        one row per model; its column "model", its index, or its first column if that holds text,
        and its columns give the names of models and items.  The keys of a dict name its rows.  A
        table with a row for each result, trials, clusters or a direction are said by `Results`:
        scores of which smaller ones are better are mirrored within their bounds, and a cluster is
        one item.
    names : sequence of n different values, optional
        Names of the models, in their order; labels that are models of the table are joined.
    shared : bool, optional
        Whether all models get the items in the same order; otherwise each has its own.  By default
        as the strategy wants it: the same order for strategies with a fixed budget.
    bounds : pair of float
        Smallest and largest possible result; left out for `Results`, which have theirs.
    missing : {'worst', 'fixed'}
        What missing cells count as: anything within the bounds, so that the certificate holds for
        whatever the missing results are; or nothing, so that the value of a model is the mean of
        the cells that it has.  With ``'fixed'`` models are compared on different items, and you say
        that it was fixed before any result which cells exist; a warning says so.  Of `Results`, it
        concerns absent cells: failed ones still count as the worst.

    Attributes
    ----------
    matrix : ndarray of int8, or of float64 if a cell is not 0 or 1, shape (n, N)
        The results; read-only.
    items : int
        Number N of items.
    means : ndarray of float, shape (n,)
        The mean result of each model, over the cells that are not missing; read-only.
    absent : ndarray of int64, shape (n,)
        Number of missing cells of each model.
    left_out : ndarray of bool, shape (n, N)
        Missing cells that count as nothing.
    names, item_names : list or None
        Names of the models and items, if given.

    Raises
    ------
    ValueError
        If a cell is out of bounds, a model has no result, or ``names`` does not fit.

    Notes
    -----
    `topk.run` and `topk.replicate` draw the orders once per run from a separate random stream.  The
    certificate of a run is about these N items.  `topk.BettingLUCB` takes any cells, `topk.KLLUCB`
    only complete sets of 0 and 1; a strategy with a fixed budget needs a complete set; other
    strategies raise a ValueError.

    Examples
    --------
    >>> import numpy as np, topk, topk_eval
    >>> right = np.random.default_rng(0).random((4, 200)) < [[0.9], [0.7], [0.5], [0.3]]
    >>> models = topk_eval.TestSet(right, names=["a", "b", "c", "d"])
    >>> outcome = topk.run(topk.KLLUCB(2, epsilon=0, delta=0.05), models, rng=0)
    >>> outcome.selected.tolist(), outcome.certified, outcome.total_pulls < 800
    ([0, 1], True, True)
    >>> grades = np.random.default_rng(0).beta([[9], [7], [5]], [[1], [3], [5]], (3, 200))
    >>> outcome = topk.run(topk.BettingLUCB(1, 0, 0.05), topk_eval.TestSet(grades), rng=0)
    >>> outcome.selected.tolist(), outcome.certified, outcome.total_pulls < 300
    ([0], True, True)
    >>> import pandas
    >>> table = pandas.DataFrame({"model": ["b", "a", "b", "a"], "question": [7, 7, 9, 9],
    ...                           "right": [1, 0, 0, 0]})
    >>> results = topk_eval.Results(table, item="question", score="right")
    >>> models = topk_eval.TestSet(results)
    >>> models.names, models.item_names, models.matrix.tolist()
    (['b', 'a'], [7, 9], [[1, 0], [0, 0]])
    """

    __test__ = False  # not a test for pytest
    version = OWN  # for stored replications: it changes with the code

    matrix: NDArray[np.int8] | Floats
    items: int
    shared: bool | None
    missing: Literal["worst", "fixed"]
    absent: Integers
    names: list[str] | None
    item_names: list[Any] | None

    def __init__(
        self,
        matrix: Any,
        names: Sequence[str] | None = None,
        shared: bool | None = None,
        bounds: Sequence[float] = (0, 1),
        missing: Literal["worst", "fixed"] = "worst",
    ) -> None:
        cells, models, self.item_names, absent, self.bounds = _read(matrix, names, bounds)
        self.items = check_items(cells.shape[1])
        self.shared = None if shared is None else check_flag(shared, "shared")
        self.missing = check_choice(missing, "missing", ("worst", "fixed"))
        self.names = None if models is None else _checked_names(models, len(cells))
        gaps = np.isnan(cells)
        self.absent = gaps.sum(axis=1)
        if (bad := np.flatnonzero(self.absent == self.items)).size:
            name = bad[0] if self.names is None else in_words(self.names[bad[0]])
            refuse("matrix", f"no result of model {name}", f"{ROWS}, with a result of each model")
        super().__init__(np.where(gaps, 0.0, cells).sum(axis=1) / (self.items - self.absent))
        self.left_out = absent if missing == "fixed" else np.zeros_like(absent)
        if self.left_out.any():
            message = "models are compared on different items, those for which each has a result; "
            message += "which results are missing must not depend on what they would have been"
            warnings.warn(message, TopkWarning, stacklevel=2)
        zero_one = self.bounds == [0, 1] and bool(((cells == 0) | (cells == 1)).all())
        self.matrix = cells.astype(np.int8) if zero_one else cells
        self.matrix.setflags(write=False)

    @property
    def reward_range(self) -> RewardRange:
        """The `topk.bandits.RewardRange` of the rewards, drawn without replacement."""
        graded = self.matrix.dtype != np.int8
        return reward_range_of(self.bounds)._replace(items=self.items, graded=graded)

    def form(self, strategy: Any) -> Any:
        """Return the form of a strategy that is valid on these items.

        Raises
        ------
        ValueError
            If there is none, see `topk_eval.forms.on_these_items`.
        """
        form = on_these_items(strategy, self.items, self.reward_range.graded)
        if self.absent.any() and not isinstance(form, Numbered):
            name = type(strategy).__name__
            refuse("bandit", self, f"without missing cells for {name}; BettingLUCB allows them")
        return form

    def deal(self, rng: np.random.Generator) -> "Deal":
        """Return the bandit of one run: the same models, with newly drawn orders.

        Parameters
        ----------
        rng : numpy.random.Generator
            Source of randomness for the orders.

        Returns
        -------
        Deal
            A bandit that records which cells have been observed.

        Raises
        ------
        ValueError
            If ``rng`` is not a generator.

        Examples
        --------
        >>> import numpy as np
        >>> dealt = TestSet([[1, 1, 0], [0, 0, 0]]).deal(np.random.default_rng(0))
        >>> dealt.pull([0, 1], [3, 1], np.random.default_rng(1)).sums.tolist()
        [2.0, 0.0]
        >>> dealt.taken.tolist()
        [3, 1]
        """
        return self._dealt(bool(self.shared), rng)

    def deal_to(self, strategy: Any, rng: np.random.Generator) -> "Deal":
        """Return the bandit of one run of a strategy, with one order if that is as it wants it."""
        shared = shares_items(strategy) if self.shared is None else self.shared
        return self._dealt(shared, rng)

    def _dealt(self, shared, rng):
        """Return the same models with newly drawn orders, or one order for all."""
        if not isinstance(rng, np.random.Generator):
            refuse("rng", rng, "a numpy.random.Generator")
        n, items = self.matrix.shape
        places = np.arange(items, dtype=np.int32)
        if shared:
            order = np.tile(rng.permutation(places), (n, 1))
        else:
            order = rng.permuted(np.tile(places, (n, 1)), axis=1)
        if self.left_out.any():  # the cells that a model has come first
            last = np.take_along_axis(self.left_out, order, axis=1)
            order = np.take_along_axis(order, np.argsort(last, axis=1, kind="stable"), axis=1)
        return Deal(self, order)

    def sample(self, arm: int, count: int, rng: np.random.Generator) -> NoReturn:
        """Raise a ValueError: only the result of `deal` can be pulled."""
        self.pull([arm], [count], rng)

    def pull(self, arms: ArrayLike, counts: ArrayLike, rng: np.random.Generator) -> NoReturn:
        """Raise a ValueError: only the result of `deal` can be pulled."""
        raise ValueError("bandit: a TestSet cannot be pulled; pull the bandit TestSet.deal(rng)")

    def __repr__(self) -> str:
        low, high = self.means.min(), self.means.max()
        return f"TestSet(n={self.n}, items={self.items}, means from {low:.4g} to {high:.4g})"


class Deal(Bandit):
    """A test set with the orders of one run, as returned by `TestSet.deal`.

    Attributes
    ----------
    order : ndarray of int32, shape (n, N)
        ``order[a, t]`` is the (t + 1)-th item of model a.
    results : ndarray of int8 or float64, shape (n, N)
        ``results[a, t]`` is the model's result on it.
    sizes : ndarray of int64, shape (n,)
        Number of each model's cells; less than N if missing ones are dropped.
    taken : ndarray of int64, shape (n,)
        Number of items of each model observed so far.
    """

    order: NDArray[np.integer]
    items: int
    results: NDArray[np.int8] | Floats
    sizes: Integers
    taken: Integers
    drawn_ahead = False

    def __init__(self, cells: TestSet, order: NDArray[np.integer]) -> None:
        super().__init__(cells.means)
        self.names, self._cells = cells.names, cells
        self.order, self.items, self._range = order, cells.items, cells.reward_range
        self.sizes = cells.items - cells.left_out.sum(axis=1)
        matrix: Any = cells.matrix
        self.results = np.take_along_axis(matrix, order, axis=1)
        self.taken = np.zeros(cells.n, dtype=np.int64)

    @property
    def reward_range(self) -> RewardRange:
        """The `topk.bandits.RewardRange` of the test set."""
        return self._range

    @property
    def dealt(self) -> tuple[NDArray[Any], Integers]:  # type: ignore[override]
        """The results and how many of each model's are observed, for the loop that draws them."""
        return self.results, self.taken

    def form(self, strategy: Any) -> Any:
        """Return the form of a strategy that is valid on the test set."""
        return self._cells.form(strategy)

    def sample(self, arm: int, count: int, rng: np.random.Generator) -> Floats:
        """Return the results on the next ``count`` items of one model's order.

        Raises
        ------
        ValueError
            If the model has fewer remaining items.
        """
        self._check_draw(arm, count)
        first, left = self.taken[arm], self.sizes[arm] - self.taken[arm]
        if count > left:
            refuse("counts", count, f"at most the {left} remaining items of arm {arm}")
        self.taken[arm] += count
        return self.results[arm, first : first + count].astype(np.float64)

    def cells(self) -> tuple[Integers, Integers]:
        """Return the observed cells: models and items, both int64 (m,), ordered by model."""
        arms = np.repeat(np.arange(self.n), self.taken)
        asked = np.arange(self.items) < self.taken[:, None]
        return arms, self.order[asked].astype(np.int64)


class ItemPool(Bandit):
    """n models on new items, each drawn from a pool with replacement and shared by all models.

    A simulation of the question which models are best on items *like* these: in every run items are
    drawn independently, in one common order, and each model gets them from the first on.

    Parameters
    ----------
    matrix : topk_eval.Results, array_like of float of shape (n, N), or table
        ``matrix[a, i]`` is the result of model a on item i; n >= 2.  It is read as in `TestSet`.
    names : sequence of n different values, optional
        Names of the models.
    bounds : pair of float
        Smallest and largest possible result.

    Attributes
    ----------
    matrix : ndarray of float64, shape (n, N)
        The results; read-only.
    means : ndarray of float, shape (n,)
        The mean result of each model: its value on new items; read-only.
    names : list or None
        Names of the models, if given.

    Raises
    ------
    ValueError
        If a cell is missing or out of bounds, or ``names`` does not fit.

    Notes
    -----
    Run `topk.PairedBetting` on it.  Strategies that stop by intervals of single arms, such as
    `topk.BettingLUCB`, are valid as well, since each arm's results are independent of each other;
    strategies that compare arms as if they were independent are refused.

    Examples
    --------
    >>> pool = ItemPool([[1, 1, 0, 1], [1, 0, 0, 1]], names=["new", "old"])
    >>> dealt = pool.deal(np.random.default_rng(0))
    >>> rows = [dealt.sample(arm, 6, np.random.default_rng(1)).tolist() for arm in (0, 1)]
    >>> all(new >= old for new, old in zip(*rows))
    True
    """

    matrix: Floats
    names: list[str] | None
    version = OWN

    def __init__(
        self, matrix: Any, names: Sequence[str] | None = None, bounds: Sequence[float] = (0, 1),
    ) -> None:
        cells, models, _, _, self.bounds = _read(matrix, names, bounds)
        if np.isnan(cells).any():
            refuse("matrix", np.nan, f"{ROWS}, without missing cells")
        self.names = None if models is None else _checked_names(models, len(cells))
        super().__init__(cells.mean(axis=1))
        self.matrix = cells
        self.matrix.setflags(write=False)

    aligned = True

    def form(self, strategy: Any) -> Any:
        """Return the strategy itself.

        Raises
        ------
        ValueError
            If it compares models as if their results were independent.
        """
        return on_new_items(strategy, self)

    def deal(self, rng: np.random.Generator) -> "DrawnItems":
        """Return the bandit of one run, with newly drawn items.

        Parameters
        ----------
        rng : numpy.random.Generator
            Source of randomness for the items.

        Raises
        ------
        ValueError
            If ``rng`` is not a generator.
        """
        if not isinstance(rng, np.random.Generator):
            refuse("rng", rng, "a numpy.random.Generator")
        return DrawnItems(self, rng)

    def sample(self, arm: int, count: int, rng: np.random.Generator) -> NoReturn:
        """Raise a ValueError: only the result of `deal` can be pulled."""
        self.pull([arm], [count], rng)

    def pull(self, arms: ArrayLike, counts: ArrayLike, rng: np.random.Generator) -> NoReturn:
        """Raise a ValueError: only the result of `deal` can be pulled."""
        raise ValueError("bandit: an ItemPool cannot be pulled; pull the bandit ItemPool.deal(rng)")

    def __repr__(self) -> str:
        low, high = self.means.min(), self.means.max()
        size = self.matrix.shape[1]
        return f"ItemPool(n={self.n}, pool of {size}, means from {low:.4g} to {high:.4g})"


class DrawnItems(Bandit):
    """A pool with the items of one run, as returned by `ItemPool.deal`.

    Attributes
    ----------
    order : ndarray of int64
        The items drawn so far.
    taken : ndarray of int64, shape (n,)
        Number of items of each model observed so far.
    """

    order: Integers
    taken: Integers
    aligned, drawn_ahead = True, False

    def __init__(self, pool: ItemPool, rng: np.random.Generator) -> None:
        super().__init__(pool.means)
        self.names = pool.names
        self.bounds, self._matrix, self._rng = pool.bounds, pool.matrix, rng
        self.order, self.taken = np.zeros(0, dtype=np.int64), np.zeros(pool.n, dtype=np.int64)

    def sample(self, arm: int, count: int, rng: np.random.Generator) -> Floats:
        """Return the results of one model on its next ``count`` items; ``rng`` is not used."""
        self._check_draw(arm, count)
        first, end = self.taken[arm], self.taken[arm] + count
        while self.order.size < end:
            more = self._rng.integers(self._matrix.shape[1], size=max(64, self.order.size))
            self.order = np.append(self.order, more)
        self.taken[arm] = end
        return self._matrix[arm, self.order[first:end]]


class _Read(NamedTuple):
    """What a table says: cells (n, N), nan if missing, names, which cells are absent, bounds."""

    cells: Floats
    models: Any
    items: list[Any] | None
    absent: Flags
    bounds: list[float]


def _read(table, names, bounds):
    """Return what results, a matrix or a table say."""
    if isinstance(table, Results):
        return _of_results(table, names, bounds)
    items = None
    if not isinstance(table, np.ndarray):
        wide = read_wide(table, "matrix", ROWS, missing=True)
        items, names, table = wide.items, _names_of(wide, names), wide.cells
    cells = _checked_cells(table, bounds)
    return _Read(cells, names, items, np.isnan(cells), [*map(float, _checked_bounds(bounds))])


def _of_results(results, names, bounds):
    """Return what results say, as scores of which larger ones are better."""
    if _checked_bounds(bounds) not in ((0, 1), results.bounds):
        refuse("bounds", bounds, f"left out for results, which have the bounds {results.bounds}")
    fills, (low, high) = results.fills(), results.bounds
    if results.clusters is None:
        cells = low + high - results.scores if results.lower_is_better else results.scores
    else:
        cells = np.where(fills.scored, low + (high - low) * fills.low, np.nan).clip(low, high)
    items = [*dict.fromkeys(results.clusters)] if results.clusters else results.items
    numbered = results.models == [*range(len(cells))]
    models = names if numbered else _names_of(results, names)
    items = None if items == [*range(len(items))] else items
    cells = _checked_cells(cells, results.bounds)
    return _Read(cells, models, items, fills.absent, [*map(float, results.bounds)])


def _checked_bounds(bounds):
    """Return checked bounds of results."""
    reward_range = reward_range_of(bounds)
    return reward_range.low, reward_range.high


def _checked_cells(matrix, bounds):
    """Return a matrix of results within bounds, or nan, as a float64 array (n, N)."""
    low, high = _checked_bounds(bounds)
    allowed = f"{ROWS}, each cell in [{low:g}, {high:g}], or nan if missing"
    cells = np.array(as_numbers(matrix, "matrix", allowed, missing=True), dtype=np.float64)
    if cells.ndim != 2 or cells.shape[0] < 2 or cells.shape[1] < 1:
        refuse("matrix", f"an array of shape {cells.shape}", allowed)
    bad = ~((low <= cells) & (cells <= high) | np.isnan(cells))
    refuse_first("matrix", cells, bad, f"{allowed}; see bounds=", lambda place: cell_of(
        place, cells.shape, None, None))
    return cells


def _names_of(wide, names):
    """Return the names that are given for the models of a table, or those that it has.

    Labels of names that are models of the table are joined.
    """
    if names is None or wide.models is None or isinstance(names, str) or not np.iterable(names):
        return wide.models if names is None else names
    if labels_of(names) is not None and not isinstance(names, Mapping):
        return joined_to(wide.models, "matrix", names=names)[0]
    names = as_labels(names, "names", "different names")
    if names != wide.models and any(name in wide.models for name in names):
        refuse("names", names, f"in the order of the rows {in_words(wide.models)}, or left out")
    return names


def _checked_names(names, n):
    """Return the names of n models as a list."""
    allowed = f"{n} different names"
    if isinstance(names, str) or not np.iterable(names):
        refuse("names", names, allowed)
    names = as_labels(names, "names", allowed)
    if len(names) != n or not all(isinstance(name, Hashable) for name in names):
        refuse("names", names, allowed)
    if len(set(names)) != n:
        twice = next(name for name in names if names.count(name) > 1)
        refuse("names", Words(f"{in_words(twice)} twice"), allowed)
    warn_of_alike("models", names, stacklevel=4)
    return names
