"""``topk next``: which cells to run next, as a function of files alone."""

from __future__ import annotations

import csv
import io
import math
from pathlib import Path
from typing import Annotated, Any

import numpy as np
import typer

from topk_eval import wanted
from topk_eval.commands import options, output
from topk_eval.commands.tables import Matrix, as_matrix, read_items, read_names, tiers_of
from topk_eval.reading import read_results
from topk_eval.reading.files import read_csv
from topk_eval.reading.results import READERS
from topk_eval.reading.table import Unreadable, as_label, refuse


def next_cells(
    files: options.Files,
    k: Annotated[int, typer.Option("-k", metavar="K", help="How many models are wanted.")],
    items: Annotated[str, typer.Option(
        metavar="FILE|N", help="The items in the order in which they are asked: a file with a name "
        "on each line, or a number N for the names 1 to N.")],
    size: Annotated[int, typer.Option("-n", metavar="N", help="Most cells to hand out.")] = 100,
    out: Annotated[Path | None, typer.Option(
        "-o", metavar="FILE", help="File for the cells; by default standard output.",
        show_default=False)] = None,
    todo: Annotated[list[Path] | None, typer.Option(
        metavar="FILE", help="Cells that are handed out: an earlier output of this command. It may "
        "be repeated.", show_default=False)] = None,
    models: Annotated[str | None, typer.Option(
        metavar="FILE|A,B,...", help="All models: a file with a name on each line, or names with "
        "commas; by default those with results.", show_default=False)] = None,
    delta: options.Delta = 0.05,
    epsilon: options.Epsilon = 0.0,
    bounds: options.Bounds = (0.0, 1.0),
    new: options.New = True,
    shuffle: options.Shuffle = False,
    seed: options.Seed = 0,
    model: options.ModelColumn = None,
    item: options.ItemColumn = None,
    score: options.ScoreColumn = None,
    trial: options.TrialColumn = None,
) -> None:
    """Write which cells to run next: models and items, to be appended with their scores.

    Repeat it until `topk rank` with the same options is decided.  Results of cells in any order, or
    of none of them, may be appended; a cell that failed is given a score, or an empty one.  The
    cells depend on the files and the options only.  An empty list means that all is decided or run.
    """
    if size < 1:
        raise ValueError(f"-n must be at least 1, got {size}")
    if out is not None:
        inputs = [items, models, *(todo or [])]
        _check_output(out, files, [Path(path) for path in inputs if path is not None])
    names = None if models is None else read_names(models, "--models")
    asked = read_items(items, seed if shuffle else None) or []
    matrix = _matrix(files, asked, names, (model, item, score, trial))
    if not 1 <= k < (n := len(matrix.models)):
        raise ValueError(f"-k must be from 1 to {n - 1}, less than the number of models, got {k}")
    if not (new or shuffle or matrix.told.any()):
        typer.echo("topk: the items are asked in the order of --items, which must be random and "
                   "drawn before any result; --shuffle draws one", err=True)
    handed = _handed_out(todo or [], matrix)
    cells, why = choose(matrix, handed, size, k, delta, epsilon, bounds, new)
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(["model", "item"])
    writer.writerows((matrix.models[a], matrix.items[i]) for a, i in cells)
    if out is None:
        typer.echo(text.getvalue(), nl=False)
    else:
        try:
            out.write_text(text.getvalue(), encoding="utf-8")
        except OSError as error:
            refuse(out, f": {error.strerror}; name a file that can be written with -o")
    typer.echo(f"topk: {why}", err=True)


def _check_output(out, files, others):
    """Refuse a file for cells that is read as well: what is in it would be lost."""
    place = out.resolve()
    among = [path for path in files if path.resolve() == place or (
        path.resolve() in place.parents and place.suffix.lower() in READERS)]
    if among or place in [path.resolve() for path in others]:
        refuse(out, " is read as well, and would be replaced; name another file with -o")


def _matrix(files, asked, names, columns):
    """Return the results so far; there may be none yet if the models are given."""
    if names is not None and not any(_has_rows(path) for path in files):
        none = np.zeros((len(names), len(asked)), dtype=bool)
        return Matrix(names, asked, np.full(none.shape, math.nan), none)
    return as_matrix(read_results(files, *columns), asked, names)


def _has_rows(path):
    """Return whether a file has more than a header; a folder and a file in binary have."""
    if not path.is_file() or path.suffix.lower() not in (".csv", ".jsonl", ".ndjson"):
        return path.exists()
    lines = sum(bool(line.strip()) for line in path.read_bytes().splitlines()[:9])
    return lines > (path.suffix.lower() == ".csv")


def _handed_out(paths, matrix):
    """Return which cells earlier outputs have, (n, N)."""
    rows = {label: row for row, label in enumerate(matrix.models)}
    columns = {label: column for column, label in enumerate(matrix.items)}
    handed = np.zeros(matrix.told.shape, dtype=bool)
    for path in paths:
        try:
            data = path.read_bytes()
        except OSError as error:
            refuse(path, f": {error.strerror}; name a file of earlier cells with --todo")
        if data.strip() == b"model,item":
            continue
        table = read_csv(path, data)
        if not {"model", "item"} <= table.columns.keys():
            refuse(path, " has no columns 'model' and 'item'; name an output of topk next")
        for row, pair in enumerate(zip(table.columns["model"], table.columns["item"], strict=True)):
            for name, label, known in zip(("model", "item"), pair, (rows, columns), strict=True):
                try:
                    is_known = as_label(label) in known
                except Unreadable as error:
                    refuse(table.where(row, name), f": {error}")
                if not is_known:
                    refuse(table.where(row, name), f": {label!r} is none of the {name}s; correct "
                                                   "it, or add it there")
            handed[rows[as_label(pair[0])], columns[as_label(pair[1])]] = True
    return handed


def choose(
    matrix: Matrix, handed: Any, size: int, k: int, delta: float, epsilon: float,
    bounds: tuple[float, float], new: bool,
) -> tuple[list[tuple[int, int]], str]:
    """Return the next cells, as numbers of models and items, and what is to be said.

    The shares of the models are those of a session's rule, in the state that the complete prefixes
    give it; what was handed out, or waits behind a gap, is on the way.  The level is that of
    `topk_eval.tiers`, which decides when all is over.
    """
    tiers = tiers_of(matrix, delta, k, epsilon, new, bounds, "prefix")
    if tiers.decided(k):
        return [], f"nothing is left to run: the {k} best are decided"
    n, width = len(matrix.models), bounds[1] - bounds[0]
    unit = ((matrix.scores - bounds[0]) / width).clip(0, 1)
    prefix = np.logical_and.accumulate(matrix.told, axis=1).sum(axis=1)
    grown = [(arm, unit[arm, :end]) for arm, end in enumerate(prefix.tolist()) if end]
    state = wanted.begin(n, len(matrix.items), k, delta, epsilon / width, new)
    taken = matrix.told | handed
    flight, left = taken.sum(axis=1) - prefix, (~taken).sum(axis=1)
    shares = wanted.shares(state, grown, flight, left, size)
    cells = [(arm, item) for arm in range(n)
             for item in np.flatnonzero(~taken[arm])[: shares[arm]].tolist()]
    if not cells:
        ways = "results are missing" if (handed & ~matrix.told).any() else "all items are used up"
        return [], f"nothing is left to run: {ways}, and the {k} best are open"
    number = output.quantity(int((shares > 0).sum()), "model")
    return cells, f"{output.quantity(len(cells), 'cell')} of {number}; p = {tiers.evidence(k):.2g}"
