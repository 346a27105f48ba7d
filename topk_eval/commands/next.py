"""``topk next``: which cells to run next, as a function of files alone."""

from __future__ import annotations

import csv
import io
import json
import os
import sys
from enum import StrEnum
from pathlib import Path
from typing import Annotated

import numpy as np
import typer

from topk.store import write_file
from topk_eval import wanted
from topk_eval.commands import options, output
from topk_eval.commands.tables import note_of_empty, table_of
from topk_eval.ranks import tiers
from topk_eval.reading.lm_eval import SAMPLES
from topk_eval.reading.names import read_names
from topk_eval.reading.results import READERS, of_any_kind
from topk_eval.reading.table import FORMULA, Unreadable, as_label, bytes_of, named, refuse


class Form(StrEnum):
    """What cells are written as."""

    csv = "csv"
    json = "json"
    lm_eval = "lm-eval"
    inspect = "inspect"


def next_cells(
    files: options.Files,
    k: Annotated[int, typer.Option("-k", metavar="K", help="How many models are wanted.")],
    items: options.Items = None,
    order: options.OrderOption = None,
    size: Annotated[int, typer.Option("-n", metavar="N", help="Most cells to hand out.")] = 100,
    out: Annotated[str | None, typer.Option(
        "-o", metavar="FILE", help="File for the cells; by default, or as -, standard output.",
        show_default=False)] = None,
    form: Annotated[Form | None, typer.Option(
        "--format", help="CSV or JSON of models and items; or items alone, for all models, as "
        "lm-eval's --samples or inspect's --sample-id.",
        show_default="csv", rich_help_panel=options.WRITTEN)] = None,
    as_json: Annotated[bool, typer.Option(
        "--json", help="Write JSON, as --format json.", rich_help_panel=options.WRITTEN)] = False,
    todo: Annotated[list[str] | None, typer.Option(
        metavar="FILE", help="Earlier output, whose cells are still being run; may be repeated.",
        show_default=False)] = None,
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
    missing: Annotated[options.Missing, typer.Option(hidden=True)] = options.Missing.worst,
) -> None:
    """Write which cells to run next: models and items, to be appended with their scores.

    Example: topk next results.csv -k 3 -n 100 --items items.txt -o todo.csv

    Repeat it until `topk rank`, with the same options, is decided.  Append results in any order, a
    cell that failed with an empty score; beside a wide table write them to a second file.  An empty
    list means that all is decided or run.
    """
    if missing is options.Missing.fixed:
        raise ValueError("--missing fixed says that which cells exist was fixed before any result; "
                         "this command chooses them by results, so that absent ones count as the "
                         "worst: leave it out, here and in topk rank")
    if size < 1:
        raise ValueError(f"-n must be at least 1, got {size}")
    if items is None and order is None:
        raise ValueError("--items is missing: name all items that any model may be asked, in their "
                         "order; for a wide table that has all of them, --order columns")
    if as_json and form not in (None, Form.json):
        raise ValueError(f"--json and --format {form} exclude each other; choose one of them")
    if out == "":
        raise ValueError("-o must be the name of a file, or - for standard output, got ''")
    if out is not None and out != "-":
        inputs = [items, models, *(todo or [])]
        _check_output(Path(out), [*map(Path, files)],
                      [Path(path) for path in inputs if path is not None])
    names = None if models is None else read_names(models, "--models")
    taken, dropped = options.wide(columns, drop)
    reading = {"model": model, "item": item, "score": score, "trial": trial, "cluster": cluster,
               "bounds": bounds, "lower_is_better": lower_is_better, "empty": empty.value,
               "columns": taken, "drop": dropped}
    results = table_of(files, reading, items, order, drawn, shuffle, seed, names)
    if results is None:
        raise ValueError("there are no results yet; name all models with --models")
    options.check_k(k, results.models, "model")
    if not new and results.order != "drawn":
        output.note("about these items, a model with missing cells is known only between its "
                    "worst and its best case, unless the order was drawn at random beforehand "
                    "(--drawn, or --shuffle --seed N)")
    if order is not None and empty is options.Empty.auto and (left := int(results.absent.sum())):
        output.note(f"taken for not run: {output.quantity(left, 'empty cell')} after the last "
                    "score of a model; --empty failed if they failed")
    handed = _handed_out(todo or [], results)
    about = "new" if new else "these"
    found = tiers(results, delta, k, epsilon, about, most_models=most_models)  # type: ignore[arg-type]
    if not found._races:  # in a race an empty cell is one that is not there yet
        note_of_empty(results)
    cells, why = wanted.next_cells(found, size, handed)
    pairs = [(results.models[a], results.items[i]) for a, i in cells]
    text = FORMATS[Form.json if as_json else form or Form.csv](pairs, files)
    if out is not None and out != "-":
        _written(Path(out), text)
    else:
        text.encode(sys.stdout.encoding or "utf-8")  # a name with other letters is another one
        typer.echo(text, nl=False)
    if cells:
        number = output.quantity(len({arm for arm, _ in cells}), "model")
        why = (f"{output.quantity(len(cells), 'cell')} of {number}; "
               f"p = {found.evidence(k):.2g}")
    else:
        on = "" if found.decided(k) or handed.any() else _way_on(
            results, grows=new and not shuffle)
        why = f"nothing is left to run: {why}{on}"
    output.note(why)


def _way_on(results, grows):
    """Return what can be done if no cell is left and the set is open.

    With ``grows`` there may be more items: later ones do not change the order.
    """
    ways = []
    if number := int(results.blank.sum()):
        ways.append(f"--empty absent offers {output.quantity(number, 'empty cell')} again")
    if grows and results.named == "list":
        ways.append("new items may be appended to the list of --items")
    elif grows:
        ways.append("for new items give a list of all with --items, these first")
    return "".join(f"; {way}" for way in ways)


def _as_csv(pairs, files):
    """Return cells as CSV; what a spreadsheet takes for a formula is quoted, see `as_label`."""
    quoted = [["'" * bool(FORMULA.match(name)) + name for name in pair] for pair in pairs]
    return "".join(map(_as_line, [["model", "item"], *quoted]))


def _as_line(fields):
    """Return fields as a row of CSV; what ends a row is quoted, also where it ends no line here."""
    text = io.StringIO()
    csv.writer(text, lineterminator="\r\n").writerow(fields)
    return text.getvalue().removesuffix("\r\n") + "\n"


def _as_json(pairs, files):
    """Return cells as a list of objects."""
    return json.dumps([{"model": model, "item": item} for model, item in pairs], indent=1) + "\n"


def _as_samples(pairs, files):
    """Return what lm-evaluation-harness takes as ``--samples``: documents by task.

    An item is task/doc_id, or doc_id where the files are logs of one task.
    """
    paths = [each for path in map(Path, files)
             for each in (path.rglob("*") if path.is_dir() else [path])]
    logs = {match["task"] for path in paths if (match := SAMPLES.fullmatch(path.name))}
    tasks: dict[str, list[int]] = {}
    for item in dict.fromkeys(item for _, item in pairs):
        task, _, number = item.rpartition("/")
        task = task or (min(logs) if len(logs) == 1 else "")
        if not task or not number.isdecimal():
            raise ValueError(f"--format lm-eval needs items task/doc_id, got {item!r}")
        tasks.setdefault(task, []).append(int(number))
    return json.dumps(tasks) + "\n"


def _as_ids(pairs, files):
    """Return what inspect takes as ``--sample-id``: items with commas."""
    names = [*dict.fromkeys(item for _, item in pairs)]
    if bad := [name for name in names if "," in name]:
        raise ValueError(f"--format inspect needs items without commas, got {bad[0]!r}")
    return ",".join(names) + "\n"


FORMATS = {Form.csv: _as_csv, Form.json: _as_json, Form.lm_eval: _as_samples, Form.inspect: _as_ids}


def _written(path, text):
    """Write a file beside its place first, so that a full disk leaves what was there."""
    target = Path(os.path.realpath(path))  # a symbolic link stays one
    try:
        if target.exists() and not target.is_file():  # such as a device
            target.write_text(text, encoding="utf-8")
        else:
            write_file(target, text.encode())
    except OSError as error:
        refuse(path, f": {error.strerror}; name a file that can be written with -o")


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
    for path in map(Path, paths):
        try:
            data = bytes_of(path)
        except OSError as error:
            refuse(path, f": {error.strerror}; name a file of earlier cells with --todo")
        if data.strip() in (b"model,item", b"[]"):
            continue
        table = of_any_kind(named(path), data)
        if not {"model", "item"} <= table.columns.keys():
            refuse(path, " has no columns 'model' and 'item'; name an output of topk next")
        for row, pair in enumerate(zip(table.columns["model"], table.columns["item"], strict=True)):
            place = []
            for name, value, known in zip(("model", "item"), pair, (rows, columns), strict=True):
                try:
                    label = as_label(value, lines=True)
                except Unreadable as error:
                    refuse(table.where(row, name), f": {error}")
                if label not in known:
                    refuse(table.where(row, name), f": {value!r} is none of the {name}s; correct "
                                                   "it, or add it there")
                place.append(known[label])
            handed[tuple(place)] = True
    return handed
