"""The table that a command is about: files of results, with the order of their items."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from topk_eval.commands import options, output
from topk_eval.reading import read_results
from topk_eval.reading.names import names_in
from topk_eval.results import Results

LARGEST = 1_000_000  # most items


def table_of(
    files: Sequence[str], columns: dict[str, Any], items: str | None, order: options.Order | None,
    drawn: bool, shuffle: bool, seed: int | None, models: Sequence[str] | None = None,
) -> Results | None:
    """Return the results in files, or None if there are none yet and the models are not given.

    Parameters
    ----------
    files : sequence of str
    columns : dict
        Options of `topk_eval.read_results` on columns, scale and empty cells.
    items, order, drawn, shuffle, seed
        The options of the command line.
    models : sequence of str, optional
        All models; by default those with results, sorted.
    """
    if items is not None and order is not None:
        raise ValueError("--items and --order exclude each other; choose one of them")
    if shuffle and items is None:
        raise ValueError("--shuffle needs --items, whose order it replaces")
    if drawn and items is None and order is None:
        raise ValueError("--drawn needs --items or --order, of which it says that it was drawn")
    if shuffle and seed is None:
        raise ValueError("--shuffle needs --seed; choose one that was not used on these items")
    if seed is not None and not shuffle:
        raise ValueError("--seed is the seed of --shuffle; give both, or none of them")
    listed: Any = order and order.value
    if items is not None:
        listed = read_items(items, seed if shuffle else None)
    random = drawn or shuffle
    if items is not None and not any(has_rows(Path(path)) for path in files):
        scale = {name: columns[name] for name in ("bounds", "lower_is_better")}
        return None if models is None else Results.without_any(models, listed, drawn=random,
                                                               **scale)
    results = read_results(files, order=listed, drawn=random, **columns)
    return results.with_models(sorted(results.models) if models is None else models)


def note_of_empty(results: Results) -> None:
    """Say which empty cells of a wide table are taken for failed, as the file does not say it."""
    if number := int(results.blank.sum()):
        output.note(f"taken for failed: {output.quantity(number, 'empty cell')} before a later "
                    "score of the same model; --empty absent if they have not been run, or "
                    "will be run again")


def read_items(items: str, seed: int | None = None) -> list[str]:
    """Return the names of ``--items``: a file with a name on each line, or N for 1 to N.

    With a seed they are in a random order.
    """
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
    names.sort()  # the order is a function of the seed and the names
    # NumPy guarantees the stream of random numbers, but not its shuffles
    order = np.random.PCG64(seed).random_raw(len(names)).argsort(kind="stable")
    return [names[place] for place in order.tolist()]


def has_rows(path: Path) -> bool:
    """Return whether a file has more than a header; all others are left to the reader."""
    if not path.is_file() or path.suffix.lower() not in (".csv", ".jsonl", ".ndjson"):
        return True
    lines = sum(bool(line.strip()) for line in path.read_bytes().splitlines()[:9])
    return lines > (path.suffix.lower() == ".csv")
