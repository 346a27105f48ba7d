"""A finite test set: every arm's results are known 0s and 1s, drawn without replacement."""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, NoReturn, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray

from topk._checks import as_numbers, check_flag, refuse
from topk._types import Floats, Integers
from topk.bandits import Bandit, Scale
from topk.finite import check_items

if TYPE_CHECKING:
    import pandas

CELLS = "a matrix of at least 2 models (rows) by 1 to 1,000,000 items (columns), each cell 0 or 1"


class TestSet(Bandit):
    """n models (prompts, agents, annotators) and N items, each cell 0 or 1 and asked at most once.

    In every run each model meets the items in a uniformly random order of the run's own, so that
    after N pulls of an arm its value is known exactly.

    Parameters
    ----------
    matrix : array_like of 0 and 1, shape (n, N), or pandas.DataFrame
        ``matrix[a, i]`` is 1 if model a is right on item i; n >= 2.  A DataFrame has a row for each
        model; its index and columns are their names and the items'.
    names : sequence of n different values, optional
        What the models are called.
    shared : bool
        Whether all models meet the items in one order; else each has its own.

    Attributes
    ----------
    matrix : ndarray of int8, shape (n, N)
        Read-only.
    items : int
        N.
    means : ndarray of float, shape (n,)
        The share of items on which each model is right; read-only.
    names, item_names : list or None
        What models and items are called, if they have names.

    Raises
    ------
    ValueError
        If a cell is not 0 or 1 (a missing judgement included), or names do not fit.

    Notes
    -----
    `topk.run` and `topk.replicate` deal the orders, once a run, from a stream of the run's own.
    On a test set play `topk.KLLUCB`, whose set is then certified about these N items, and the
    strategies with a fixed budget; others refuse.

    Examples
    --------
    >>> import numpy as np, topk
    >>> right = np.random.default_rng(0).random((4, 200)) < [[0.9], [0.7], [0.5], [0.3]]
    >>> models = topk.TestSet(right, names=["a", "b", "c", "d"])
    >>> outcome = topk.run(topk.KLLUCB(2, epsilon=0, delta=0.05), models, rng=0)
    >>> outcome.selected.tolist(), outcome.certified, outcome.total_pulls < 800
    ([0, 1], True, True)
    """

    __test__ = False  # or pytest takes it for a test

    matrix: NDArray[np.int8]
    items: int
    shared: bool
    names: list[str] | None
    item_names: list[Any] | None

    def __init__(
        self, matrix: Any, names: Sequence[str] | None = None, shared: bool = False,
    ) -> None:
        self.item_names = None
        if hasattr(matrix, "columns"):
            names = _labels(matrix.index) if names is None else names
            self.item_names, matrix = _labels(matrix.columns), matrix.to_numpy()
        cells = as_numbers(matrix, "matrix", CELLS)
        if cells.ndim != 2 or cells.shape[0] < 2 or cells.shape[1] < 1:
            refuse("matrix", f"an array of shape {cells.shape}", CELLS)
        if (bad := ~((cells == 0) | (cells == 1))).any():  # nan counts as bad
            refuse("matrix", cells[bad][0].item(), CELLS)
        self.items, self.shared = check_items(cells.shape[1]), check_flag(shared, "shared")
        self.names = None if names is None else _checked_names(names, len(cells))
        super().__init__(cells.mean(axis=1))
        self.matrix = cells.astype(np.int8)
        self.matrix.setflags(write=False)

    @classmethod
    def from_frame(
        cls,
        frame: "pandas.DataFrame",
        arm: Any = "arm",
        item: Any = "item",
        reward: Any = "reward",
        shared: bool = False,
    ) -> Self:
        """Return the test set of a table with a row for each cell.

        Parameters
        ----------
        frame : pandas.DataFrame
            One row a cell, each cell once.
        arm, item, reward : str
            The columns that hold the model, the item and the result.
        shared : bool
            As for `TestSet`.

        Returns
        -------
        TestSet
            Models and items come in the order in which the table first mentions them.

        Raises
        ------
        ValueError
            If ``frame`` is no data frame, a column does not exist, a value or a cell is missing, a
            cell has two rows, or a result is not 0 or 1.

        Examples
        --------
        >>> import pandas
        >>> table = pandas.DataFrame({"model": ["b", "a", "b", "a"], "question": [7, 7, 9, 9],
        ...                           "right": [1, 0, 0, 0]})
        >>> models = TestSet.from_frame(table, arm="model", item="question", reward="right")
        >>> models.names, models.item_names, models.matrix.tolist()
        (['b', 'a'], [7, 9], [[1, 0], [0, 0]])
        """
        if not hasattr(frame, "columns"):
            refuse("frame", type(frame).__name__, "a pandas DataFrame")
        columns = list(frame.columns)
        for name, column in (("arm", arm), ("item", item), ("reward", reward)):
            if np.ndim(column) or columns.count(column) != 1:
                refuse(name, column, f"the name of one of the columns {columns}")
            if frame[column].isna().any():
                refuse(name, f"column {column!r} with missing values", "a column without any")
        if (twice := frame.duplicated([arm, item])).any():
            row = frame.loc[twice, [arm, item]].iloc[0].tolist()
            refuse("frame", f"two rows of the cell {row}", "a table with one row for each cell")
        arms, items = (list(dict.fromkeys(frame[column].tolist())) for column in (arm, item))
        if len(frame) != len(arms) * len(items):
            missing = f"{len(arms) * len(items) - len(frame)} of {len(arms)} x {len(items)} missing"
            refuse("frame", f"a table with {missing}", "a table with one row for each cell")
        wide = frame.pivot(index=arm, columns=item, values=reward)
        found = cls(wide.loc[arms, items].to_numpy(), arms, shared)
        found.item_names = items
        return found

    @property
    def units(self) -> Scale:
        """The `topk.bandits.Scale` of the rewards: 0 or 1, drawn without replacement."""
        return Scale(items=self.items)

    def deal(self, rng: np.random.Generator) -> "Deal":
        """Return the bandit of one run: the same models, with orders drawn for it.

        Parameters
        ----------
        rng : numpy.random.Generator
            Where the orders come from.

        Returns
        -------
        Deal
            A bandit that remembers which cells have been asked.

        Raises
        ------
        ValueError
            If ``rng`` is no generator.

        Examples
        --------
        >>> import numpy as np
        >>> dealt = TestSet([[1, 1, 0], [0, 0, 0]]).deal(np.random.default_rng(0))
        >>> dealt.pull([0, 1], [3, 1], np.random.default_rng(1)).sums.tolist()
        [2.0, 0.0]
        >>> dealt.taken.tolist()
        [3, 1]
        """
        if not isinstance(rng, np.random.Generator):
            refuse("rng", rng, "a numpy.random.Generator")
        n, items = self.matrix.shape
        places = np.arange(items, dtype=np.int32)
        if self.shared:
            return Deal(self, np.tile(rng.permutation(places), (n, 1)))
        return Deal(self, rng.permuted(np.tile(places, (n, 1)), axis=1))

    def sample(self, arm: int, count: int, rng: np.random.Generator) -> NoReturn:
        """Refuse: an order has to be dealt first; see `deal`."""
        self.pull([arm], [count], rng)

    def pull(self, arms: ArrayLike, counts: ArrayLike, rng: np.random.Generator) -> NoReturn:
        """Refuse: an order has to be dealt first; see `deal`."""
        raise ValueError("bandit: of a TestSet the bandit of one run is pulled, TestSet.deal(rng)")

    def __repr__(self) -> str:
        low, high = self.means.min(), self.means.max()
        return f"TestSet(n={self.n}, items={self.items}, means from {low:.4g} to {high:.4g})"


class Deal(Bandit):
    """A test set with the orders of one run; made by `TestSet.deal`.

    Attributes
    ----------
    order : ndarray of int32, shape (n, N)
        ``order[a, t]`` is the item that model a meets after t others.
    results : ndarray of int8, shape (n, N)
        ``results[a, t]`` is the model's result on it.
    taken : ndarray of int64, shape (n,)
        How many items each model has met so far.
    """

    order: NDArray[np.integer]
    items: int
    results: NDArray[np.int8]
    taken: Integers

    def __init__(self, cells: TestSet, order: NDArray[np.integer]) -> None:
        super().__init__(cells.means)
        self.order, self.items, self.units = order, cells.items, cells.units
        self.results = np.take_along_axis(cells.matrix, order, axis=1)
        self.taken = np.zeros(cells.n, dtype=np.int64)

    units: Scale = None  # type: ignore[assignment]  # that of the test set

    def sample(self, arm: int, count: int, rng: np.random.Generator) -> Floats:
        """Return the results on the next ``count`` items of one model's order.

        Raises
        ------
        ValueError
            If the model has fewer left.
        """
        first, left = self.taken[arm], self.items - self.taken[arm]
        if count > left:
            refuse("counts", count, f"at most the {left} items that arm {arm} has left")
        self.taken[arm] += count
        return self.results[arm, first : first + count].astype(np.float64)

    def cells(self) -> tuple[Integers, Integers]:
        """Return the cells that have been asked: models and items, both int64 (m,), by model."""
        arms = np.repeat(np.arange(self.n), self.taken)
        asked = np.arange(self.items) < self.taken[:, None]
        return arms, self.order[asked].astype(np.int64)


def _labels(index):
    """Return what an index of a DataFrame calls its entries, None if it only numbers them."""
    numbered = type(index).__name__ == "RangeIndex" and index.start == 0 and index.step == 1
    return None if numbered else index.tolist()


def _checked_names(names, n):
    """Return the names of n models in a list."""
    allowed = f"{n} different names"
    if isinstance(names, str) or not np.iterable(names):
        refuse("names", names, allowed)
    names = list(names)
    if len(names) != n or len(set(names)) != n:
        refuse("names", names, allowed)
    return names
