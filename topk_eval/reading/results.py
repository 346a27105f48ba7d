"""`read_results`: which columns are model, item, score and trial, and what is wrong with a file."""

import os
from collections.abc import Iterable
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from topk._checks import in_words
from topk_eval.reading.files import read_csv, read_json_lines, read_parquet
from topk_eval.reading.harness import is_lm_eval, read_inspect, read_lm_eval
from topk_eval.reading.table import (
    Absent,
    RawTable,
    Reader,
    Unreadable,
    as_label,
    as_score,
    refuse,
)

if TYPE_CHECKING:
    import pandas

READERS: dict[str, Reader] = {
    ".csv": read_csv, ".jsonl": read_json_lines, ".ndjson": read_json_lines,
    ".json": read_inspect, ".eval": read_inspect, ".parquet": read_parquet, ".pq": read_parquet,
}
USUAL = {  # names of columns, in small letters and without signs
    "model": "model modelname modelid arm system candidate agent variant llm submission annotator",
    "item": "item itemid sample sampleid question questionid task taskid instance instanceid docid "
            "example exampleid problem problemid prompt promptid query queryid id",
    "score": "score result correct right reward value accuracy acc exactmatch resolved passed pass "
             "success rating grade preference",
    "trial": "trial trialid epoch run runid repeat repetition replicate attempt",
}
SHOWN = 8  # most names in a message


@dataclass
class Found:
    """The results of one file, and what is wrong with them.

    Attributes
    ----------
    table : RawTable
        The file.
    columns : dict
        Name of the column of each role; a word in parentheses for what has no column.
    cells : list of tuple
        Model, item, score and trial of each result.
    places : list of str
        Where each one stands.
    problems : list of str
        What is wrong, a line for each value or row.
    """

    table: RawTable
    columns: dict[str, str]
    cells: list[tuple[str, str, float, str]] = field(default_factory=list)
    places: list[str] = field(default_factory=list)
    problems: list[str] = field(default_factory=list)

    def in_words(self) -> str:
        """Return which columns were taken."""
        taken = ", ".join(f"{role} from {name}" for role, name in self.columns.items())
        return f"{self.table.path}: {self.table.kind}, {len(self.cells)} results; {taken}"


def read_results(
    paths: str | os.PathLike[str] | Iterable[str | os.PathLike[str]],
    model: str | None = None,
    item: str | None = None,
    score: str | None = None,
    trial: str | None = None,
) -> "pandas.DataFrame":
    """Read the results of models on items from files of any of six formats.

    Parameters
    ----------
    paths : path, or sequence of paths
        Files in CSV (``.csv``, with commas and in UTF-8), JSON lines (``.jsonl``, ``.ndjson``),
        JSON (``.json``, a list of objects), Parquet (``.parquet``; needs pyarrow), logs of
        inspect_ai (``.eval``, ``.json``) or of lm-evaluation-harness (``samples_*.jsonl``).  A
        folder stands for all of these in it.  A table has a row for each result; or it is wide,
        with a row for each model and a column for each item, or the reverse.
    model, item, score, trial : str, optional
        Names of the columns, where there is more than one choice, or none with a usual name.

    Returns
    -------
    pandas.DataFrame
        A row for each result, in the order of the files: ``model``, ``item`` and ``trial`` (labels
        as text; ``"1"`` without trials), and ``score`` (float, nan where it is missing).
        ``attrs["notes"]`` has sentences on the columns that were taken, on missing scores and on
        models that have different items.

    Raises
    ------
    ValueError
        If a file cannot be read without a guess, or if a value is no number or no name, or if two
        rows are the same model, item and trial.  The message is one line that names file, row and
        column and says what to do; ``topk check`` lists all of them.

    Examples
    --------
    >>> import pathlib, tempfile
    >>> path = pathlib.Path(tempfile.mkdtemp(), "results.csv")
    >>> _ = path.write_text("model,question,correct\\na,7,1\\nb,7,0\\n")
    >>> read_results(path)
      model item  score trial
    0     a    7    1.0     1
    1     b    7    0.0     1
    """
    per_file = find_results(paths, model, item, score, trial)
    problems = [problem for each in per_file for problem in each.problems]
    if problems:
        more = len(problems) - 1
        raise Unreadable(problems[0] + (f" (and {more} more: see topk check)" if more else ""))
    return as_frame(per_file)


def find_results(
    paths: Any, model: Any = None, item: Any = None, score: Any = None, trial: Any = None,
) -> list[Found]:
    """Read files, and note what is wrong with their rows; see `read_results`.

    Raises
    ------
    Unreadable
        If a file as a whole cannot be read, or its columns are not clear.
    """
    asked = {"model": model, "item": item, "score": score, "trial": trial}
    for role, name in asked.items():
        if name is not None and not isinstance(name, str):
            raise ValueError(f"{role} must be the name of a column, got {in_words(name)}")
        if name is not None and [*asked.values()].count(name) > 1:
            raise ValueError(f"{role} must be the name of a column of its own, got {name!r} twice")
    tables = [_opened(path) for path in _files(paths)]
    tasks = {task for table in tables for task in table.columns.get("task", []) if table.usual}
    per_file = [_found(_with_tasks(table, len(tasks) > 1), asked) for table in tables]
    _mark_twice(per_file)
    return per_file


def _files(paths):
    """Return the files that are meant, those of a folder in the order of their names."""
    one = isinstance(paths, str | os.PathLike | bytes) or not isinstance(paths, Iterable)
    listed: list[Any] = [paths] if one else list(paths)
    files: list[Path] = []
    for path in listed:
        if not isinstance(path, str | os.PathLike):
            raise ValueError(f"paths must be a path, or a sequence of paths, got {in_words(path)}")
    for path in map(Path, listed):
        if path.is_dir():
            inside = sorted(each for each in path.rglob("*")
                            if each.suffix.lower() in READERS and not _is_summary(each))
            if not inside:
                refuse(path, f" is a folder without files in {', '.join(READERS)}; name a file")
            files += inside
        else:
            files.append(path)
    if not files:
        raise ValueError("paths must be at least one file, got none")
    return files


def _is_summary(path):
    """Return whether a file of lm-evaluation-harness has totals instead of samples."""
    return path.name.startswith("results_") and path.suffix == ".json"


def _opened(path):
    """Return the columns of one file."""
    reader = READERS.get(path.suffix.lower())
    if reader is None:
        refuse(path, f": the ending {path.suffix!r} is not known; use {', '.join(READERS)}")
    try:
        data = path.read_bytes()
    except OSError as error:
        refuse(path, f": {error.strerror or error}; name a file that can be read")
    return (read_lm_eval if is_lm_eval(path) else reader)(path, data)


def _with_tasks(table, several):
    """Name the items of a log ``task/item`` where there are logs of several tasks."""
    if table.usual and several:
        column = table.usual["item"]
        table.columns[column] = [f"{task}/{label}" for task, label in zip(
            table.columns["task"], table.columns[column], strict=True)]
    return table


def _plain(name):
    """Return the name of a column in small letters and without signs."""
    return "".join(letter for letter in str(name).lower() if letter.isalnum())


def _column(table, role, asked, scores):
    """Return the column of a role, or None if there is none; refuse to choose among several.

    ``asked`` are the columns that were named; none of them has another role.
    """
    names = list(table.columns)
    if asked[role] is not None:
        if asked[role] not in names:
            refuse(table.path, f": there is no column {asked[role]!r} for the {role}; choose one "
                               f"of {_listed(names)}")
        return asked[role]
    names = [name for name in names if name not in asked.values()]
    if role in table.usual:
        return table.usual[role]
    fit = scores if table.usual and role == "score" else [
        name for name in names if _plain(name) in USUAL[role].split()]
    fit = [name for name in fit if name == role] or fit
    if len(fit) > 1:
        refuse(table.path, f": the {role} may be any of the columns {_listed(fit)}; name one with "
                           f"{role}= or --{role}")
    return fit[0] if fit else None


def _listed(names):
    """Return names in words, at most some of them."""
    more = len(names) - SHOWN
    return ", ".join(map(repr, names[:SHOWN])) + (f" and {more} more" if more > 0 else "")


def _found(table, asked):
    """Return the results of one file."""
    scores = [name for name in table.columns if name not in {*table.usual.values(), "task", "log"}]
    roles = {role: _column(table, role, asked, scores) for role in USUAL}
    if roles["score"] is None and (roles["model"] is None) != (roles["item"] is None):
        return _wide(table, roles)
    for role in ("model", "item", "score"):
        if roles[role] is None:
            refuse(table.path, f": no column has a usual name of the {role}; name one of "
                               f"{_listed(list(table.columns))} with {role}= or --{role}")
    results = Found(table, {role: f"column {name!r}" for role, name in roles.items() if name})
    raw = [table.columns[name] if name else None for name in roles.values()]
    for row in range(len(table.places)):
        values = [None if column is None else column[row] for column in raw]
        _add(results, row, values, list(roles.values()), table.where(row))
    return results


def _wide(table, roles):
    """Return the results of a table with a row for each model and a column for each item."""
    across = "item" if roles["item"] is None else "model"
    down = "model" if across == "item" else "item"
    names = [name for name in table.columns if name not in (roles[down], roles["trial"])]
    columns = {down: f"column {roles[down]!r}",
               across: f"the names of the {len(names)} other columns", "score": "their values"}
    results = Found(table, columns)
    labels = {}
    for name in names:
        try:
            labels[name] = as_label(name)
        except Unreadable as error:
            refuse(table.path, f": the name of a column {error}")
    for row in range(len(table.places)):
        trial = table.columns[roles["trial"]][row] if roles["trial"] else None
        here = table.columns[roles[down]][row]
        for name in names:
            value = table.columns[name][row]
            pair = (here, labels[name]) if across == "item" else (labels[name], here)
            _add(results, row, [*pair, None if value is Absent else value, trial],
                 [roles["model"] or name, roles["item"] or name, name, roles["trial"]],
                 table.where(row, name))
    return results


def _add(results, row, values, columns, place):
    """Add a result, or what is wrong with it."""
    cell: list[Any] = []
    column = None
    try:
        for value, column, convert in zip(values, columns, _CONVERT, strict=True):
            if column is None:  # no column of trials
                cell.append("1")
            else:
                cell.append(convert(value))
    except Unreadable as error:
        results.problems.append(f"{results.table.where(row, column)}: {error}")
    else:
        results.cells.append(tuple(cell))
        results.places.append(place)


_CONVERT = (as_label, as_label, as_score, as_label)


def _mark_twice(per_file):
    """Note every result that is told a second time."""
    first: dict[Any, str] = {}
    for each in per_file:
        for (model, item, _, trial), place in zip(each.cells, each.places, strict=True):
            key = model, item, trial
            if key in first:
                has_trial = "trial" in each.columns
                which_trial = f", trial {trial!r}" if has_trial else ""
                hint = ("remove one of the rows" if has_trial else
                        "remove one of the rows, or number them in a column 'trial'")
                if each.table.usual:
                    hint = "remove one of the logs, or tell them apart with --model log"
                each.problems.append(f"{place}: model {model!r}, item {item!r}{which_trial} is "
                                     f"already in {first[key]}; {hint}")
            else:
                first[key] = place


def as_frame(per_file: list[Found]) -> "pandas.DataFrame":
    """Return the results of files as a data frame with notes."""
    import pandas

    cells = [cell for each in per_file for cell in each.cells]
    frame = pandas.DataFrame(cells, columns=["model", "item", "score", "trial"])
    frame.attrs["notes"] = [each.in_words() for each in per_file]
    frame.attrs["notes"] += [note for each in per_file for note in each.table.notes]
    frame.attrs["notes"] += counted(cells)
    return frame


def counted(cells: list[tuple[str, str, float, str]]) -> list[str]:
    """Return sentences on missing scores and on models that have different items."""
    notes = []
    if missing := sum(score != score for _, _, score, _ in cells):
        notes.append(f"{missing} of {len(cells)} scores are missing")
    items: dict[str, set[str]] = {}
    for model, item, _, _ in cells:
        items.setdefault(model, set()).add(item)
    union = set().union(*items.values())
    if less := [model for model, its_items in items.items() if len(its_items) < len(union)]:
        fewest = min(len(items[model]) for model in less)
        notes.append(f"{len(less)} of {len(items)} models have results on less than all "
                     f"{len(union)} items, the least {fewest}: {_listed(less)}")
    return notes
