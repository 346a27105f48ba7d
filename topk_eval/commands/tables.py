"""Results as a matrix of models by items, in the order in which items are asked."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from topk._tables import cell_means
from topk._types import Floats
from topk_eval.reading.table import Unreadable, as_label, decoded, refuse

if TYPE_CHECKING:
    import pandas

    from topk_eval.ranks import Tiers

LARGEST = 1_000_000  # most items


class Matrix(NamedTuple):
    """Results of models on items.

    Attributes
    ----------
    models, items : list of str
        Labels of rows and columns: models by name, or as given; items in the order of first
        appearance, or as given.
    scores : ndarray of float, shape (n, N)
        Scores, as means over trials; nan where there is none.
    told : ndarray of bool, shape (n, N)
        Cells that the results have, missing scores included.
    """

    models: list[str]
    items: list[str]
    scores: Floats
    told: Any


def read_items(items: str | None, seed: int | None = None) -> list[str] | None:
    """Return the names of ``--items``: a file with a name on each line, or N for 1 to N.

    With a seed they are in a random order.
    """
    if items is None:
        return None
    if items.isdecimal():
        if not 1 <= int(items) <= LARGEST:
            allowed = f"a file, or a number from 1 to {LARGEST:,}"
            raise ValueError(f"--items must be {allowed}, got {items}")
        names = [str(number) for number in range(1, int(items) + 1)]
    else:
        names = names_in(Path(items), "--items is a file with a name on each line, or a number")
    if seed is None:
        return names
    if seed < 0:
        raise ValueError(f"--seed must be at least 0, got {seed}")
    # NumPy guarantees the stream of random numbers, but not its shuffles
    order = np.random.PCG64(seed).random_raw(len(names)).argsort(kind="stable")
    return [names[place] for place in order.tolist()]


def read_names(words: str, option: str) -> list[str]:
    """Return different names: those in a file, one on each line, or words with commas."""
    if os.path.isfile(words):  # False for words that are too long for a path
        return names_in(Path(words), "")
    names = [as_label(word) for word in words.split(",") if word.strip()]
    if len(set(names)) < len(names) or not names:
        raise ValueError(f"{option} must be a file, or different names with commas, got {words!r}")
    return names


def names_in(path: Path, hint: str) -> list[str]:
    """Return the names in a file, one on each line; blank lines do not count."""
    try:
        text = decoded(path, path.read_bytes())
    except OSError as error:
        refuse(path, f": {error.strerror}; {hint}")
    names: dict[str, int] = {}
    for line, name in enumerate(text.splitlines(), 1):
        if not name.strip():
            continue
        try:
            label = as_label(name)
        except Unreadable as error:
            refuse(path, f", line {line}: {error}")
        if label in names:
            refuse(path, f", line {line}: {label!r} is already in line {names[label]}; remove one "
                         "of them")
        names[label] = line
    return [*names]


def as_matrix(
    frame: pandas.DataFrame, items: list[str] | None, models: list[str] | None = None,
) -> Matrix:
    """Return a frame of `read_results` as a matrix; every cell has equally many trials."""
    known = sorted(set(frame["model"])) if models is None else models
    rows = {label: row for row, label in enumerate(known)}
    if other := next((label for label in frame["model"] if label not in rows), None):
        raise Unreadable(f"model {other!r} has results and is not one of --models; add it there, "
                         "or remove its results")
    asked = dict.fromkeys(frame["item"]) if items is None else items
    columns = {label: column for column, label in enumerate(asked)}
    if other := next((label for label in frame["item"] if label not in columns), None):
        raise Unreadable(f"item {other!r} has results and is not one of --items; add it there, or "
                         "remove its results")
    a = frame["model"].map(rows).to_numpy(dtype=np.int64)
    i = frame["item"].map(columns).to_numpy(dtype=np.int64)
    shape = len(rows), len(columns)
    trials, scores = cell_means(a, i, frame["score"].to_numpy(dtype=float), shape)
    told = trials > 0
    most = int(trials.max())
    if (fewer := told & (trials < most)).any():
        row, column = np.argwhere(fewer)[0]
        raise Unreadable(f"model {known[row]!r}, item {[*columns][column]!r}: "
                         f"{trials[row, column]} of {most} trials; run the others, or remove it")
    return Matrix(known, [*columns], scores, told)


def tiers_of(
    matrix: Matrix, delta: float, k: int | None, epsilon: float, new: bool,
    bounds: tuple[float, float], gaps: str,
) -> Tiers:
    """Return what a matrix settles; see `topk_eval.tiers`."""
    import pandas

    from topk_eval.ranks import tiers

    frame = pandas.DataFrame(matrix.scores, index=matrix.models, columns=matrix.items)
    if new:
        return tiers(frame, delta, k, epsilon, "new", bounds, gaps)  # type: ignore[arg-type]
    return tiers(frame, delta, k, epsilon, "these", bounds, gaps,  # type: ignore[arg-type]
                 len(matrix.items))
