"""`read_results`: files of results as one table, and what is wrong with them."""

from __future__ import annotations

import gzip
import io
import os
import zlib
from codecs import BOM_UTF8
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from topk._checks import in_words
from topk._tables import as_labels as as_list
from topk.bandits import reward_range_of
from topk_eval.reading.columns import Asked, Found, found_in, listed
from topk_eval.reading.files import read_csv, read_json_lines, read_parquet
from topk_eval.reading.inspect_logs import read_eval, read_json
from topk_eval.reading.lm_eval import is_lm_eval, read_lm_eval
from topk_eval.reading.table import (
    LARGEST,
    NoResults,
    NoRows,
    RawTable,
    Reader,
    Unreadable,
    as_labels,
    bytes_of,
    named,
    refuse,
)
from topk_eval.results import Listed, Results, names_alike, say_of_columns

GZIP = b"\x1f\x8b"
READERS: dict[str, Reader] = {
    ".csv": read_csv, ".tsv": read_csv, ".jsonl": read_json_lines, ".ndjson": read_json_lines,
    ".json": read_json, ".eval": read_eval, ".parquet": read_parquet, ".pq": read_parquet,
}


class Read(NamedTuple):
    """What files hold.

    Attributes
    ----------
    found : list of Found
        The results of each file.
    notes : list of str
        What was read, and from which files nothing was.
    known : list of str or None
        The items in the headers of logs, in their order, those of several tasks in turn; or those
        of wide tables, as they stand there.
    """

    found: list[Found]
    notes: list[str]
    known: list[str] | None

    @property
    def problems(self) -> list[str]:
        """What is wrong, a line for each value or row."""
        return [problem for each in self.found for problem in each.problems]

    def listed(self) -> Listed:
        """Return all results."""
        wide = any(each.empty is not None for each in self.found)
        blank = [np.zeros(len(each.models), dtype=bool) if each.empty is None else each.empty
                 for each in self.found]
        of_wide = [np.full(len(each.models), each.empty is not None) for each in self.found]
        return Listed(
            _chained(each.models for each in self.found),
            _chained(each.items for each in self.found),
            np.concatenate([each.scores for each in self.found]), self._column("trials", "1"),
            self._column("clusters", None), np.concatenate(blank) if wide else None, self.known,
            np.concatenate(of_wide))

    def warn(self, clustered: bool, lower_is_better: bool) -> None:
        """Warn of columns of clusters that are not used, and of scores named like errors."""
        seen = {(each.score, () if each.empty is not None else tuple(each.table.columns)): None
                for each in self.found}
        for score, names in seen:
            say_of_columns(score, names, clustered, lower_is_better)

    def _column(self, name, fill):
        """Return trials or clusters of all results, or None if no file has them."""
        if all(getattr(each, name) is None for each in self.found):
            return None
        return _chained([fill] * len(each.models) if getattr(each, name) is None
                        else getattr(each, name) for each in self.found)


def read_results(
    paths: str | os.PathLike[str] | Iterable[str | os.PathLike[str]],
    model: str | None = None,
    item: str | None = None,
    score: str | None = None,
    trial: str | None = None,
    cluster: str | None = None,
    bounds: Sequence[float] = (0, 1),
    lower_is_better: bool = False,
    order: Any = None,
    drawn: bool = False,
    empty: str = "auto",
    columns: Sequence[str] | None = None,
    drop: Sequence[str] | None = None,
) -> Results:
    """Read the results of models on items from files.

    Parameters
    ----------
    paths : path, or sequence of paths
        Files in CSV (``.csv``, ``.tsv``, in UTF-8), JSON lines (``.jsonl``, ``.ndjson``), JSON
        (``.json``, a list of objects), Parquet (``.parquet``; needs pyarrow), logs of inspect_ai
        (``.eval``, ``.json``) or of lm-evaluation-harness (``samples_*.jsonl``), or results of
        promptfoo (``.json``), each also with ``.gz``; or ``"-"``, standard input.  A folder stands
        for all of these in it.  A table has a row for each result; or it is wide, with a row for
        each model and a column for each item, or the reverse.  An empty cell of a wide table may
        stand in another file, with what became of it.
    model, item, score, trial, cluster : str, optional
        Names of the columns, where there is more than one choice, or none with a usual name.
        ``"evaluation.score"`` is an entry of an object, and ``"grader/part"`` a part of a score of
        inspect_ai.  A cluster is never taken without being named.
    bounds, lower_is_better, order, drawn, empty
        As for `Results`.  ``"columns"`` and ``"names"`` are orders of wide tables, and of logs
        whose header lists all items.
    columns, drop : sequence of str, optional
        Columns of a wide table that are its models or items, by default all beside the names; and
        columns that are not read.

    Returns
    -------
    Results
        Its ``notes`` say which columns were taken, which files have none, and what is missing.

    Raises
    ------
    ValueError
        If a file cannot be read without a guess, or a value is no number, no name or outside the
        bounds, or two rows are the same model, item and trial.  The message is one line that names
        file, row and column and says what to do; ``topk check`` lists the first 20 such rows.

    Warns
    -----
    topk.TopkWarning
        If a column names clusters and is not used, or scores are named like errors or costs.

    Examples
    --------
    >>> import pathlib, tempfile
    >>> path = pathlib.Path(tempfile.mkdtemp(), "results.csv")
    >>> _ = path.write_text("model,question,correct\\na,7,1\\nb,7,0\\na,8,\\n")
    >>> results = read_results(path)
    >>> results
    Results(2 models, 2 items, 1 cell failed, 1 absent)
    >>> results.scores.tolist()
    [[1.0, nan], [0.0, nan]]
    """
    asked = Asked({"model": model, "item": item, "score": score, "trial": trial,
                   "cluster": cluster}, columns, drop)
    read = find_results(paths, asked, bounds, empty)
    if problems := read.problems:
        more = len(problems) - 1
        raise Unreadable(problems[0] + (f" (and {more} more: see topk check)" if more else ""))
    read.warn(cluster is not None, lower_is_better)
    if isinstance(order, str) and order in ("columns", "names"):
        _check_known(read, order)
    return as_results(read, bounds, lower_is_better, order, drawn, empty)


def _check_known(read, order):
    """Refuse the columns of wide tables as an order of items that are no columns."""
    known = {*(read.known or ())}
    for each in read.found:
        if each.empty is not None:
            continue
        if read.known is None:
            refuse(each.table.path, f" has a row for each result; what it has depends on what has "
                                    f"arrived, so that {order!r} is no order: give a list of all "
                                    "items")
        if other := [at for at, item in enumerate(each.items) if item not in known]:
            refuse(each.where(other[0]), f": item {each.items[other[0]]!r} stands in no wide table "
                                         f"or header of a log, so that {order!r} is no order of "
                                         "all items: give a list of them")


def as_results(
    read: Read, bounds: Sequence[float], lower_is_better: bool = False, order: Any = None,
    drawn: bool = False, empty: str = "auto",
) -> Results:
    """Return what files hold as results, with notes on what is missing."""
    results = Results.from_list(read.listed(), bounds, lower_is_better, order, drawn, empty)
    wide = all(each.empty is not None for each in read.found)
    ends = _early(results) if wide and order is None else []
    results.notes = [*_not_shared(results), *ends, *read.notes, *names_alike(results),
                     *results.notes, *_missing(results)]
    return results


def find_results(
    paths: Any, asked: Asked, bounds: Sequence[float] = (0, 1), empty: str = "auto",
) -> Read:
    """Read files, and note what is wrong with their rows; see `read_results`.

    Raises
    ------
    Unreadable
        If a file as a whole cannot be read, or its columns are not clear.
    """
    scale = reward_range_of(bounds)
    asked = _checked(asked)
    tables, notes = tables_in(paths)
    if missing := [name for name in asked.drop or ()
                   if not any(name in table.columns for table in tables)]:
        raise ValueError(f"drop must be made of names of columns, got {missing[0]!r}, which no "
                         "file has")
    tasks = [task for table in tables if table.usual for task in table.columns.get("task", [])]
    several = len({*tasks}) > 1
    scored = any(table.scores for table in tables)
    known, why = _known(tables, several)
    found = [found_in(_with_tasks(table, several), asked, scored, scale) for table in tables]
    said = [each.in_words() for each in found]
    said += [note for each in found for note in each.table.notes]
    if len(found) > 1 and any(each.empty is not None for each in found):
        known = [*dict.fromkeys(_chained(x.items for x in found if x.empty is not None))]
        said += _fill_holes(found, empty)
    _mark_twice(found)
    return Read(found, [*dict.fromkeys([*said, *notes, *why])], known)


def _checked(asked):
    """Return what is asked for with lists of names; refuse what names no columns."""
    for role, name in asked.roles.items():
        if name is not None and not isinstance(name, str):
            raise ValueError(f"{role} must be the name of a column, got {in_words(name)}")
        if name is not None and [*asked.roles.values()].count(name) > 1:
            raise ValueError(f"{role} must be the name of a column of its own, got {name!r} twice")
    columns, drop = (
        None if names is None else as_list(names, param, "a sequence of names of columns")
        for param, names in (("columns", asked.columns), ("drop", asked.drop)))
    if columns is not None and not columns:
        raise ValueError("columns must be at least one name, got none")
    return Asked(asked.roles, columns and [*dict.fromkeys(columns)], drop)


def tables_in(paths: Any) -> tuple[list[RawTable], list[str]]:
    """Return the tables of files and folders, each once, and notes on files without results."""
    one = isinstance(paths, str | os.PathLike | bytes) or not isinstance(paths, Iterable)
    given: list[Any] = [paths] if one else list(paths)
    for path in given:
        if not isinstance(path, str | os.PathLike) or path == "":  # which is no folder
            raise ValueError(f"paths must be a path, or a sequence of paths, got {in_words(path)}")
    if not given:
        raise ValueError("paths must be at least one file, got none")
    files: dict[Path, tuple[Path, bool]] = {}  # a file is read once
    for path in map(Path, given):
        inside = _files_in(path) if path.is_dir() else [path]
        for each in inside:
            files.setdefault(each.resolve(), (each, path.is_dir()))
    tables, without, begun = [], [], []
    for path, in_folder in files.values():
        try:
            tables.append(opened(path))
        except NoResults:
            if not in_folder:
                raise
            without.append(path)
        except NoRows as error:
            begun.append(error)
    if not tables and begun:
        raise begun[0]
    if not tables:
        refuse(without[0], " and the other files of the folder have no results; name a file")
    notes = [str(error).rpartition(";")[0] for error in begun]
    if without:
        notes.append(f"{len(without):,} file{'s' * (len(without) > 1)} of folders without results: "
                     + listed([path.name for path in without]))
    return _latest(tables, notes), notes


def _files_in(folder):
    """Return the files of a folder that may hold results, in the order of their names."""
    inside = sorted(
        path for path in folder.rglob("*") if _ending(path) in READERS and path.is_file()
        and not any(part.startswith(".") for part in path.relative_to(folder).parts)
        and not (path.name.startswith("results_") and path.suffix == ".json"))  # totals
    if not inside:
        refuse(folder, f" is a folder without files in {', '.join(READERS)}; name a file")
    return inside


def _latest(tables, notes):
    """Return the tables without logs of runs that broke off and were repeated, which are noted."""
    last: dict[Any, str] = {}
    for run in (table.run for table in tables if table.run):
        last[run.name] = max(last.get(run.name, ""), run.began)
    kept = []
    for table in tables:
        if table.run and table.run.broken and table.run.began < last[table.run.name]:
            notes.append(f"{table.path}: the run broke off and was repeated; it is not read")
        else:
            kept.append(table)
    return kept


def opened(path: Path) -> RawTable:
    """Return the columns of one file, or of standard input if it is called ``-``."""
    if str(path) == "-":
        return of_any_kind(named(path), bytes_of(path))
    reader = READERS.get(_ending(path))
    if reader is None and not path.is_dir() and not path.exists():
        refuse(path, ": No such file or directory; name a file that can be read")
    if reader is None:
        refuse(path, f": the ending {path.suffix!r} is not known; use {', '.join(READERS)}, also "
                     "with .gz")
    try:
        data = path.read_bytes()
    except OSError as error:
        refuse(path, f": {error.strerror or error}; name a file that can be read")
    if path.suffix.lower() == ".gz":
        data = _gunzipped(path, data)
        path = path.with_suffix("") if is_lm_eval(path.with_suffix("")) else path
    return (read_lm_eval if is_lm_eval(path) else reader)(path, data)


def _ending(path):
    """Return the ending of the name of a file in small letters, without .gz."""
    path = path.with_suffix("") if path.suffix.lower() == ".gz" else path
    return path.suffix.lower()


def _gunzipped(path, data):
    """Return what is compressed with gzip; refuse what is damaged or too large."""
    try:
        found = gzip.GzipFile(fileobj=io.BytesIO(data)).read(LARGEST + 1)
    except (OSError, EOFError, zlib.error) as error:
        refuse(path, f" is damaged ({error}); copy or write it again")
    if len(found) > LARGEST:
        refuse(path, f" is more than {LARGEST:,} bytes when it is unpacked; split it")
    if found.startswith(GZIP):
        refuse(path, " is compressed with gzip twice; unpack it once")
    return found


def of_any_kind(path: object, data: bytes) -> RawTable:
    """Return the columns of a file whose name tells nothing: its first bytes tell the format."""
    if data.startswith(GZIP):
        data = _gunzipped(path, data)
    for mark, reader in ((b"PAR1", read_parquet), (b"PK\x03\x04", read_eval)):
        if data.startswith(mark):
            return reader(path, data)
    text = data.removeprefix(BOM_UTF8).lstrip()
    if text.startswith(b"["):
        return read_json(path, data)
    first, _, rest = text.partition(b"\n")
    if not first.startswith(b"{"):
        return read_csv(path, data)
    is_line = first.rstrip().endswith(b"}") and rest.lstrip()[:1] in (b"", b"{")
    return read_json_lines(path, data) if is_line else read_json(path, data)


def _with_tasks(table, several):
    """Name the items of a log ``task/item`` where there are logs of several tasks."""
    if table.usual and several and "task" in table.columns:
        column = table.usual["item"]
        table.columns[column] = [f"{task}/{label}" for task, label in zip(
            table.columns["task"], table.columns[column], strict=True)]
    return table


def _known(tables, several):
    """Return all items in the headers of logs, or None, and notes.

    The longest list of a task has to have all items of the others.
    """
    longest: dict[Any, list[Any]] = {}
    for table in tables:
        if table.known is None:
            return None, []
        task = table.columns["task"][0]
        if len(table.known) > len(longest.get(task, ())):
            longest[task] = table.known
    for table in tables:
        task = table.columns["task"][0]
        if not {*map(repr, table.known)} <= {*map(repr, longest[task])}:
            return None, [f"{table.path}: its header lists other items than those of other logs, "
                          "so that they give no order"]
    turns = sorted((place, turn, f"{task}/{item}" if several else item)
                   for turn, (task, items) in enumerate(longest.items())
                   for place, item in enumerate(items))
    labels, flaws = as_labels([item for *_, item in turns], lines=True)
    return (None if flaws else labels), []


def _fill_holes(found, empty):
    """Leave out each empty cell of a wide table that another file has as well; return notes.

    Of cells that are empty in several tables the first one stays.  A score for a cell that is said
    to have failed is a problem.
    """
    holes: dict[Any, int] = {}
    for file, each in enumerate(found):
        if each.empty is not None:
            for place in np.flatnonzero(each.empty).tolist():
                holes.setdefault(each.key(place), file)
    told: dict[Any, int] = {}  # the file that has more than an empty cell
    for file, each in enumerate(found):
        for place, key in enumerate(each.keys()) if holes else ():
            if key in holes and (each.empty is None or not each.empty[place]):
                told[key] = file
                if empty == "failed" and not np.isnan(each.scores[place]):
                    each.problems.append(
                        f"{each.where(place)}: model {key[0]!r}, item {key[1]!r} has a score here "
                        f"and an empty cell in {found[holes[key]].table.path}, which failed by "
                        "empty='failed' (--empty failed); leave out one of the two")
    notes = []
    for file, each in enumerate(found):
        if each.empty is None or not each.empty.any():
            continue
        stays = np.ones(len(each.models), dtype=bool)
        for place in np.flatnonzero(each.empty).tolist():
            key = each.key(place)
            stays[place] = told.get(key, holes[key]) == file
        if stays.all():
            continue
        each.keep(stays)
        number = int((~stays).sum())
        notes.append(f"{each.table.path}: {number:,} empty cell{'s' * (number > 1)} "
                     f"{'stand' if number > 1 else 'stands'} in another file, which counts")
    return notes


def _mark_twice(found):
    """Note every result that is told a second time."""
    if len(found) == 1 and found[0].once:
        return
    size = sum(len(each.models) for each in found)
    codes: dict[str, dict[Any, int]] = {"models": {}, "items": {}, "trials": {}}
    keys = np.zeros(size, dtype=np.int64)
    for name, known in codes.items():
        column = _chained(["1"] * len(each.models) if (x := getattr(each, name)) is None else x
                          for each in found)
        known.update((label, place) for place, label in enumerate(dict.fromkeys(column)))
        keys = keys * max(len(known), 1) + np.fromiter(map(known.__getitem__, column), np.int64,
                                                       size)
    ordered = np.sort(keys)
    if (ordered[1:] != ordered[:-1]).all():
        return
    begins = np.cumsum([0, *(len(each.models) for each in found)])
    logs = [log for each in found for log in {*each.table.columns.get("log", ())}]
    apart = len({*logs}) == len(logs)
    first: dict[int, tuple[Found, int]] = {}
    for each, begin in zip(found, begins.tolist(), strict=False):
        for result, key in enumerate(keys[begin : begin + len(each.models)].tolist()):
            if key not in first:
                first[key] = each, result
                continue
            other, earlier = first[key]
            wide = each.empty is None and other.empty is not None
            each.problems.append(_told_twice(each, result, other.where(earlier), apart, wide))


def _told_twice(each, result, where, apart, wide):
    """Return in words that a result is told again.

    For logs with different names if ``apart``, for a row beside a wide table if ``wide``.
    """
    told = f"model {each.models[result]!r}, item {each.items[result]!r}"
    told += f", trial {each.trials[result]!r}" if each.trials is not None else ""
    hint = ("remove one of the rows" if each.trials is not None else
            "remove one of the rows; if both are results, number them in a column 'trial'")
    if wide:
        hint = "empty that cell, or remove the row here"
    if "log" in each.table.columns:
        hint = "remove one of the logs" + ", or tell them apart with --model log" * apart
    return f"{each.where(result)}: {told} is already in {where}; {hint}"


def _chained(lists):
    """Return the entries of lists one after another."""
    lists = [*lists]
    return lists[0] if len(lists) == 1 else [entry for each in lists for entry in each]


def _not_shared(results):
    """Return a note on models that share no item with any other."""
    asked = ~results.absent
    shared = (asked & (asked.sum(axis=0) > 1)).any(axis=1)
    alone = [name for name, its in zip(results.models, shared.tolist(), strict=True) if not its]
    if not alone or len(results.models) == 1:
        return []
    if len(alone) == len(results.models):
        return ["no two models share an item, so that nothing can be compared: if each has items "
                "of its own, use topk.KLLUCB or topk.BettingLUCB, as the page 'Your data' does"]
    return [f"{listed(alone)} share{'s' * (len(alone) == 1)} no item with any other model, and "
            "cannot be compared"]


def _early(results):
    """Return a note on models of a wide table that end before its last item."""
    early = [name for name, its in zip(results.models, results.absent[:, -1].tolist(), strict=True)
             if its]
    if not early:
        return []
    return [f"{listed(early)} end{'s' * (len(early) == 1)} before the last item; if the items have "
            "an order that was fixed before any result, say so with order='columns' (--order "
            "columns): then any number of first items counts, and not only all together"]


def _missing(results):
    """Return notes on failed and absent cells."""
    notes = [results.holes()] if results.holes() else []
    fewer = results.absent.sum(axis=1)
    less = [name for name, its in zip(results.models, fewer.tolist(), strict=True) if its]
    if less:
        size = len(results.items)
        notes.append(f"{len(less)} of {len(results.models)} models have results on less than all "
                     f"{size:,} items, the least {size - int(fewer.max()):,}: {listed(less)}")
    return notes
