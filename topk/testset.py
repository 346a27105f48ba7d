"""A finite test set: each arm has fixed 0/1 results, drawn without replacement."""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, NoReturn, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray

from topk._checks import as_numbers, check_flag, refuse
from topk._types import Floats, Integers
from topk.bandits import Bandit, RewardRange
from topk.finite import check_items

if TYPE_CHECKING:
    import pandas

CELLS = "a matrix of at least 2 models (rows) by 1 to 1,000,000 items (columns), each cell 0 or 1"


class TestSet(Bandit):
    """n models (prompts, agents, annotators) and N items; each 0/1 cell is observed at most once.

    In every run each model gets the items in a new uniformly random order, so that the value of an
    arm is known exactly after N pulls.

    Parameters
    ----------
    matrix : array_like of 0 and 1, shape (n, N), or pandas.DataFrame
        ``matrix[a, i]`` is 1 if model a is right on item i; n >= 2.  A DataFrame has one row per
        model; its index and columns give the names of models and items.
    names : sequence of n different values, optional
        Names of the models.
    shared : bool
        Whether all models get the items in the same order; otherwise each has its own.

    Attributes
    ----------
    matrix : ndarray of int8, shape (n, N)
        The results; read-only.
    items : int
        Number N of items.
    means : ndarray of float, shape (n,)
        The proportion of items on which each model is right; read-only.
    names, item_names : list or None
        Names of the models and items, if given.

    Raises
    ------
    ValueError
        If a cell is not 0 or 1 (or is missing), or ``names`` does not fit.

    Notes
    -----
    `topk.run` and `topk.replicate` draw the orders once per run from a separate random stream. On a
    test set run `topk.KLLUCB`, whose certificate is then about these N items, or a strategy with a
    fixed budget; other strategies raise a ValueError.

    Examples
    --------
    >>> import numpy as np, topk
    >>> right = np.random.default_rng(0).random((4, 200)) < [[0.9], [0.7], [0.5], [0.3]]
    >>> models = topk.TestSet(right, names=["a", "b", "c", "d"])
    >>> outcome = topk.run(topk.KLLUCB(2, epsilon=0, delta=0.05), models, rng=0)
    >>> outcome.selected.tolist(), outcome.certified, outcome.total_pulls < 800
    ([0, 1], True, True)
    """

    __test__ = False  # not a test for pytest

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
        if (bad := ~((cells == 0) | (cells == 1))).any():  # a nan is refused
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
        """Make a test set from a table with one row per cell.

        Parameters
        ----------
        frame : pandas.DataFrame
            The table, with exactly one row per cell.
        arm, item, reward : str
            Names of the columns with the model, the item and the result.
        shared : bool
            As in `TestSet`.

        Returns
        -------
        TestSet
            The test set, with models and items in order of first appearance in the table.

        Raises
        ------
        ValueError
            If ``frame`` is not a data frame, a column does not exist, a value or a cell is missing,
            a cell has two rows, or a result is not 0 or 1.

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
    def reward_range(self) -> RewardRange:
        """The `topk.bandits.RewardRange` of the rewards: 0 or 1, drawn without replacement."""
        return RewardRange(items=self.items)

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
        if not isinstance(rng, np.random.Generator):
            refuse("rng", rng, "a numpy.random.Generator")
        n, items = self.matrix.shape
        places = np.arange(items, dtype=np.int32)
        if self.shared:
            return Deal(self, np.tile(rng.permutation(places), (n, 1)))
        return Deal(self, rng.permuted(np.tile(places, (n, 1)), axis=1))

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
    results : ndarray of int8, shape (n, N)
        ``results[a, t]`` is the model's result on it.
    taken : ndarray of int64, shape (n,)
        Number of items of each model observed so far.
    """

    order: NDArray[np.integer]
    items: int
    results: NDArray[np.int8]
    taken: Integers

    def __init__(self, cells: TestSet, order: NDArray[np.integer]) -> None:
        super().__init__(cells.means)
        self.order, self.items = order, cells.items
        self.results = np.take_along_axis(cells.matrix, order, axis=1)
        self.taken = np.zeros(cells.n, dtype=np.int64)

    @property
    def reward_range(self) -> RewardRange:
        """The `topk.bandits.RewardRange` of the test set."""
        return RewardRange(items=self.items)

    def sample(self, arm: int, count: int, rng: np.random.Generator) -> Floats:
        """Return the results on the next ``count`` items of one model's order.

        Raises
        ------
        ValueError
            If the model has fewer remaining items.
        """
        self._check_draw(arm, count)
        first, left = self.taken[arm], self.items - self.taken[arm]
        if count > left:
            refuse("counts", count, f"at most the {left} remaining items of arm {arm}")
        self.taken[arm] += count
        return self.results[arm, first : first + count].astype(np.float64)

    def cells(self) -> tuple[Integers, Integers]:
        """Return the observed cells: models and items, both int64 (m,), ordered by model."""
        arms = np.repeat(np.arange(self.n), self.taken)
        asked = np.arange(self.items) < self.taken[:, None]
        return arms, self.order[asked].astype(np.int64)


def _labels(index):
    """Return the labels in an index of a DataFrame; None if it is a default range."""
    numbered = type(index).__name__ == "RangeIndex" and index.start == 0 and index.step == 1
    return None if numbered else index.tolist()


def _checked_names(names, n):
    """Return the names of n models as a list."""
    allowed = f"{n} different names"
    if isinstance(names, str) or not np.iterable(names):
        refuse("names", names, allowed)
    names = list(names)
    if len(names) != n or len(set(names)) != n:
        refuse("names", names, allowed)
    return names
