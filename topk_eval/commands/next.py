"""``topk next``: which cells to run next, as a function of files alone."""

from __future__ import annotations

import csv
import io
from pathlib import Path
from typing import Annotated

import numpy as np
import typer

from topk_eval import wanted
from topk_eval.commands import options, output
from topk_eval.commands.tables import table_of
from topk_eval.ranks import tiers
from topk_eval.reading.files import read_csv
from topk_eval.reading.names import read_names
from topk_eval.reading.results import READERS
from topk_eval.reading.table import Unreadable, as_label, refuse


def next_cells(
    files: options.Files,
    k: Annotated[int, typer.Option("-k", metavar="K", help="How many models are wanted.")],
    items: options.Items = None,
    order: options.OrderOption = None,
    size: Annotated[int, typer.Option("-n", metavar="N", help="Most cells to hand out.")] = 100,
    out: Annotated[Path | None, typer.Option(
        "-o", metavar="FILE", help="File for the cells; by default standard output.",
        show_default=False)] = None,
    todo: Annotated[list[Path] | None, typer.Option(
        metavar="FILE", help="Earlier output of this command, whose cells are still being run and "
        "are not handed out again. The option may be repeated.", show_default=False)] = None,
    models: options.Models = None,
    delta: options.Delta = 0.05,
    epsilon: options.Epsilon = 0.0,
    new: options.New = True,
    drawn: options.Drawn = False,
    shuffle: options.Shuffle = False,
    seed: options.Seed = None,
    most_models: options.MostModels = None,
    bounds: options.Bounds = (0.0, 1.0),
    lower_is_better: options.Lower = False,
    empty: options.EmptyOption = options.Empty.auto,
    model: options.ModelColumn = None,
    item: options.ItemColumn = None,
    score: options.ScoreColumn = None,
    trial: options.TrialColumn = None,
    cluster: options.ClusterColumn = None,
    columns: options.Columns = None,
    drop: options.Drop = None,
) -> None:
    """Write which cells to run next: models and items, to be appended with their scores.

    Repeat it until `topk rank`, with the same models, items and scale, is decided.  You may append
    results in any order, and of only some of the cells; a cell that failed is appended with an
    empty score, and counts as the worst.  The cells depend on the files and the options only.  An
    empty list means that all is decided or run.
    """
    if size < 1:
        raise ValueError(f"-n must be at least 1, got {size}")
    if items is None and order is None:
        raise ValueError("--items is missing: name all items that any model may be asked, in their "
                         "order; for a wide table that has all of them, --order columns")
    if out is not None:
        inputs = [items, models, *(todo or [])]
        _check_output(out, files, [Path(path) for path in inputs if path is not None])
    names = None if models is None else read_names(models, "--models")
    taken, dropped = options.wide(columns, drop)
    reading = {"model": model, "item": item, "score": score, "trial": trial, "cluster": cluster,
               "bounds": bounds, "lower_is_better": lower_is_better, "empty": empty.value,
               "columns": taken, "drop": dropped}
    results = table_of(files, reading, items, order, drawn, shuffle, seed, names)
    if results is None:
        raise ValueError("there are no results yet; name all models with --models")
    if not 1 <= k < (n := len(results.models)):
        raise ValueError(f"-k must be from 1 to {n - 1}, less than the number of models, got {k}")
    if not new and results.order != "drawn":
        typer.echo("topk: about these items, a model with missing cells is known only between its "
                   "worst and its best case, unless the order was drawn at random beforehand "
                   "(--drawn, or --shuffle --seed N)", err=True)
    if order is not None and (blank := int(results.absent.sum())):
        typer.echo(f"topk: {output.quantity(blank, 'empty cell')} after the last score of a model "
                   "are taken for not run; --empty failed says that they failed", err=True)
    handed = _handed_out(todo or [], results)
    about = "new" if new else "these"
    found = tiers(results, delta, k, epsilon, about, most_models=most_models)  # type: ignore[arg-type]
    cells, why = wanted.next_cells(found, size, handed)
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(["model", "item"])
    writer.writerows((results.models[a], results.items[i]) for a, i in cells)
    if out is None:
        typer.echo(text.getvalue(), nl=False)
    else:
        try:
            out.write_text(text.getvalue(), encoding="utf-8")
        except OSError as error:
            refuse(out, f": {error.strerror}; name a file that can be written with -o")
    if cells:
        number = output.quantity(len({arm for arm, _ in cells}), "model")
        why = (f"{output.quantity(len(cells), 'cell')} of {number}; "
               f"p = {found.evidence(k):.2g}")
    else:
        why = f"nothing is left to run: {why}"
    typer.echo(f"topk: {why}", err=True)


def _check_output(out, files, others):
    """Refuse a file for cells that is read as well: what is in it would be lost."""
    place = out.resolve()
    among = [path for path in files if path.resolve() == place or (
        path.resolve() in place.parents and place.suffix.lower() in READERS)]
    if among or place in [path.resolve() for path in others]:
        refuse(out, " is read as well, and would be replaced; name another file with -o")


def _handed_out(paths, results):
    """Return which cells earlier outputs have, (n, N)."""
    rows = {label: row for row, label in enumerate(results.models)}
    columns = {label: column for column, label in enumerate(results.items)}
    handed = np.zeros(results.absent.shape, dtype=bool)
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
