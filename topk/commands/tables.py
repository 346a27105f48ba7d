"""Results as a matrix of models by items, in the order in which items are asked."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from topk._types import Floats
from topk.reading.table import Unreadable, as_label, decoded, refuse

if TYPE_CHECKING:
    import pandas

    from topk.leaderboard import Tiers

LARGEST = 1_000_000  # most items


class Matrix(NamedTuple):
    """Results of models on items.

    Attributes
    ----------
    models, items : list of str
        Labels of rows and columns, in the order of first appearance; or items in a given order.
    scores : ndarray of float, shape (n, N)
        Scores, as means over trials; nan where there is none.
    told : ndarray of bool, shape (n, N)
        Cells that the results have, missing scores included.
    """

    models: list[str]
    items: list[str]
    scores: Floats
    told: Any


def read_items(items: str | None) -> list[str] | None:
    """Return the names of ``--items``: a file with a name on each line, or N for 1 to N."""
    if items is None:
        return None
    if items.isdecimal():
        size = int(items)
        if not 1 <= size <= LARGEST:
            allowed = f"a file, or a number from 1 to {LARGEST:,}"
            raise ValueError(f"--items must be {allowed}, got {items}")
        return [str(number) for number in range(1, size + 1)]
    try:
        text = decoded(items, Path(items).read_bytes())
    except OSError as error:
        told = "--items is a file with a name on each line, or a number"
        refuse(items, f": {error.strerror}; {told}")
    names: dict[str, int] = {}
    for line, name in enumerate(text.splitlines(), 1):
        if not name.strip():
            continue
        try:
            label = as_label(name)
        except Unreadable as error:
            refuse(items, f", line {line}: {error}")
        if label in names:
            refuse(items, f", line {line}: item {label!r} is already in line {names[label]}; "
                          "remove one of them")
        names[label] = line
    return [*names]


def as_matrix(frame: pandas.DataFrame, items: list[str] | None) -> Matrix:
    """Return a frame of `topk.read_results` as a matrix; every cell has equally many trials."""
    models = {label: row for row, label in enumerate(dict.fromkeys(frame["model"]))}
    asked = dict.fromkeys(frame["item"]) if items is None else items
    columns = {label: column for column, label in enumerate(asked)}
    if other := next((label for label in frame["item"] if label not in columns), None):
        raise Unreadable(f"item {other!r} has results and is not one of --items; add it there, or "
                         "remove its results")
    a = frame["model"].map(models).to_numpy(dtype=np.int64)
    i = frame["item"].map(columns).to_numpy(dtype=np.int64)
    trials = np.zeros((len(models), len(columns)), dtype=np.int64)
    sums = np.zeros(trials.shape)
    np.add.at(trials, (a, i), 1)
    np.add.at(sums, (a, i), frame["score"].to_numpy(dtype=float))
    told = trials > 0
    most = int(trials.max())
    if (fewer := told & (trials < most)).any():
        row, column = np.argwhere(fewer)[0]
        raise Unreadable(f"model {[*models][row]!r}, item {[*columns][column]!r}: "
                         f"{trials[row, column]} of {most} trials; run the others, or remove it")
    scores = np.full(trials.shape, np.nan)
    scores[told] = sums[told] / trials[told]
    return Matrix([*models], [*columns], scores, told)


def tiers_of(
    matrix: Matrix, delta: float, k: int | None, epsilon: float, new: bool,
    bounds: tuple[float, float], gaps: str,
) -> Tiers:
    """Return what a matrix settles; see `topk.tiers`."""
    import pandas

    from topk.leaderboard import tiers

    table = pandas.DataFrame(matrix.scores, index=matrix.models, columns=matrix.items)
    if new:
        return tiers(table, delta, k, epsilon, "new", bounds, gaps)  # type: ignore[arg-type]
    return tiers(table, delta, k, epsilon, "these", bounds, gaps,  # type: ignore[arg-type]
                 len(matrix.items))
