"""What every format of file is read into: columns of raw values, and where each row stands."""

import json
import math
import re
import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from decimal import Decimal
from pathlib import Path
from typing import Any, NamedTuple, NoReturn

import numpy as np

from topk._types import Floats

LARGEST = 2**30  # most bytes that are unpacked
CLUSTERS = ("cluster", "group", "document")  # columns that name clusters of items


class Unreadable(ValueError):
    """A file, or a row of it, that is refused; the message is one line that says what to do."""


class NoResults(Unreadable):
    """A file that is intact and has no results, such as a manifest: folders may hold it."""


class NoRows(Unreadable):
    """A table that has no rows yet."""


Labels = list[str | None]  # None where there is none; what is wrong is said apart
Flaws = list[tuple[int, str]]  # rows, and what is wrong with a value of theirs


class Run(NamedTuple):
    """What a log is of: a name that repetitions share, when it began, and whether it broke off."""

    name: Any
    began: str
    broken: bool


@dataclass
class RawTable:
    """The columns of one file.

    Attributes
    ----------
    path : str
        The file, as it was given.
    kind : str
        The format, for messages.
    columns : dict
        Raw values by name of the column, in lists or arrays of equal length; text in a CSV file.
    places : sequence of int or str
        Where each row stands: numbers of what ``unit`` says, or words.
    unit : str
        ``"line"``, ``"row"`` or ``"object"``.
    usual : dict
        The columns of a known log that are the model, item and trial, by role.
    scores : list of str
        The columns of a known log that may be the score.
    known : list or None
        The raw items of a log's header, in their order.
    run : Run or None
        Which run a log is of.
    notes : list of str
        What is to be said about the file.
    """

    path: str
    kind: str
    columns: dict[str, Any]
    places: Sequence[int | str]
    unit: str = "line"
    usual: dict[str, str] = field(default_factory=dict)
    scores: list[str] = field(default_factory=list)
    known: list[Any] | None = None
    run: Run | None = None
    notes: list[str] = field(default_factory=list)

    def where(self, row: int, column: object = None) -> str:
        """Return the file, row and column of a value in words."""
        place = self.places[row]
        place = f"{self.unit} {place}" if isinstance(place, int) else place
        return f"{self.path}, {place}" + ("" if column is None else f", column {column!r}")

    def names_of(self, name: str) -> list[str]:
        """Return the columns that a name may mean.

        They are the column itself; scores of a log without the words around their name; or what
        stands inside of objects, by names with dots.
        """
        if name in self.columns:
            return [name]
        if fit := [score for score in self.scores
                   if name in (score.removeprefix("score_"), score.rpartition(",")[0])]:
            return fit
        return [name] if _split(self.columns, name) else []

    def values(self, name: str) -> Any:
        """Return the raw values of a column, also of one inside of objects."""
        if name in self.columns:
            return self.columns[name]
        outer, path = _split(self.columns, name)
        return [_inside(value, path) for value in self.columns[outer]]


def _split(columns, name):
    """Return column and path of a name with dots, or None if no such column has objects."""
    parts = name.split(".")
    for size in range(len(parts) - 1, 0, -1):
        outer, path = ".".join(parts[:size]), parts[size:]
        if any(_inside(value, path) is not Absent for value in columns.get(outer, ())):
            return outer, path
    return None


def _inside(value, path):
    """Return the entry of nested objects at a path, or that it is absent."""
    for name in path:
        if not isinstance(value, dict) or name not in value:
            return Absent
        value = value[name]
    return value


def refuse(path: object, message: str) -> NoReturn:
    """Refuse a file."""
    raise Unreadable(f"{path}{message}")


def named(path: Path) -> str:
    """Return the name of a file for messages."""
    return "standard input" if str(path) == "-" else str(path)


def bytes_of(path: Path) -> bytes:
    """Return what is in a file, or in standard input if it is called ``-``."""
    if str(path) != "-":
        return path.read_bytes()
    if sys.stdin is None:
        refuse(named(path), " is closed; send it a file, or name one")
    return sys.stdin.buffer.read()


def no_number(value: object) -> str:
    """Return what is wrong with a value that is no number, and what to do."""
    if isinstance(value, str) and THOUSANDS.fullmatch(value.strip()):
        plain = value.strip().replace(",", "")
        return (f"is {value!r}, with a comma; write {plain} if it separates thousands, or a "
                "decimal point if it is a decimal comma")
    if isinstance(value, str) and re.fullmatch(r"\s*[+-]?[\d.]*,\d+\s*", value):
        return f"is {value!r}, with a decimal comma; write a decimal point"
    if isinstance(value, str) and value.strip().endswith("%"):
        return f"is {value!r}; write a number without the percent sign"
    if isinstance(value, float) and math.isinf(value):
        return "is infinite; write a finite number, or leave it empty if it is missing"
    if isinstance(value, dict):
        return f"is an object; name what is meant in it, with a dot, such as {_example(value)}"
    if isinstance(value, str | int | float | bool):
        return f"is {value!r}, not a number; write a number, or leave it empty if it is missing"
    return f"is a {type(value).__name__}, not a number; name another column for the score"


def _example(value):
    """Return the dotted name of an entry of an object."""
    return f"'....{next(iter(value), 'name')}'"


THOUSANDS = re.compile(r"[+-]?[1-9]\d{0,2}(,\d{3})+(\.\d+)?", re.ASCII)
NUMBER = re.compile(r"[+-]?(\d+(\.\d*)?|\.\d+)([eE][+-]?\d+)?", re.ASCII)
MISSING = {"", "na", "n/a", "#n/a", "<na>", "nan", "null", "none", "failed"}
TRUTH = {"true": 1.0, "false": 0.0}


def as_score(value: Any) -> float:
    """Return a raw value as a score, nan where it is missing.

    Raises
    ------
    Unreadable
        If it is no finite number; the message begins with "is".
    """
    if isinstance(value, str):
        value = value.strip()
        if not NUMBER.fullmatch(value):
            value = math.nan if value.lower() in MISSING else TRUTH.get(value.lower(), value)
        else:
            value = float(value)
    if value is Absent:
        raise Unreadable("is not there; write null if the score is missing")
    if value is None:
        return math.nan
    if not isinstance(value, int | float | Decimal) or (value == value and abs(value) == math.inf):
        raise Unreadable(no_number(value))
    try:
        return float(value)
    except OverflowError:
        raise Unreadable(no_number(math.inf)) from None


# What a spreadsheet would run, or write in another way, if it stood in a cell: all but -5
FORMULA = re.compile(r"[=+@]|-(?!\d+(\.\d+)?\Z)", re.ASCII)
BAD_LETTERS = re.compile("[\x00-\x1f\x7f-\x9f\ufeff\ufffd\ud800-\udfff]")
LINE_ENDS = re.compile("[\t\n\v\f\r\x85]")


def as_label(value: Any, lines: bool = False) -> str:
    """Return the label of a model, an item or a trial as text; spaces around it do not count.

    With ``lines`` it may have line ends and tabs, as a prompt in JSON has.

    Raises
    ------
    Unreadable
        If there is none, or if it is no text and no integer; the message begins with "is".
    """
    if isinstance(value, float) and value.is_integer():
        value = int(value)
    if value is Absent:
        raise Unreadable("is not there; write it in every row")
    if value is None or value != value or (isinstance(value, str) and not value.strip()):
        raise Unreadable("is empty; write a name, or remove the row")
    if isinstance(value, dict):
        raise Unreadable("is an object; name what is meant in it, with a dot, such as "
                         + _example(value))
    if isinstance(value, bool) or not isinstance(value, str | int):
        raise Unreadable(f"is {value!r}, not a name; write text or an integer")
    label = str(value).strip()
    if label.startswith("'") and FORMULA.match(label[1:]):  # as `topk next` writes it
        label = label[1:]
    if BAD_LETTERS.search(label):
        by_line_ends = not BAD_LETTERS.search(LINE_ENDS.sub("", label))
        if by_line_ends and lines:
            return label
        meant = "; if line ends are meant, write JSON lines" * by_line_ends
        raise Unreadable(f"is {label!r}, with a letter that no name has: a quotation mark is not "
                         f"closed, or the encoding is wrong; save the file as UTF-8{meant}")
    return label


def as_labels(values: Any, lines: bool = False) -> tuple[Labels, Flaws]:
    """Return a column as labels, and what is wrong with it; see `as_label`."""
    values = values.tolist() if isinstance(values, np.ndarray) else values
    known: dict[Any, str | None] = {}
    flaws: Flaws = []
    if len({*map(type, values)}) == 1 and type(values[0]) in (str, int):
        wrong = {}
        for value in dict.fromkeys(values):  # equal values of one type have one label
            try:
                known[value] = as_label(value, lines)
            except Unreadable as error:
                known[value], wrong[value] = None, str(error)
        if wrong:
            flaws = [(row, wrong[value]) for row, value in enumerate(values) if value in wrong]
        return [known[value] for value in values], flaws
    labels: Labels = []
    for row, value in enumerate(values):
        try:
            labels.append(as_label(value, lines))
        except Unreadable as error:
            labels.append(None)
            flaws.append((row, str(error)))
    return labels, flaws


PLAIN = re.compile(r"[\d.+\-eE]*", re.ASCII)


def as_scores(values: Any) -> tuple[Floats, Flaws]:
    """Return a column as scores, nan where one is missing or wrong; see `as_score`."""
    kinds = {values.dtype.type} if isinstance(values, np.ndarray) else {*map(type, values)}
    if isinstance(values, np.ndarray) or kinds <= {int, float, bool}:
        try:
            scores = np.asarray(values, dtype=float)
        except OverflowError:
            pass
        else:
            if not np.isinf(scores).any():
                return scores, []
        values = values.tolist() if isinstance(values, np.ndarray) else values
    if kinds == {str} and PLAIN.fullmatch("".join(values)):
        try:
            scores = np.array([float(value) if value else math.nan for value in values])
        except ValueError:  # as with two points
            pass
        else:
            if not np.isinf(scores).any():
                return scores, []
    known: dict[Any, float] = {}
    flaws: Flaws = []
    found = []
    for row, value in enumerate(values):
        key = value if type(value) is str else None
        if key is not None and key in known:
            found.append(known[key])
            continue
        try:
            score = as_score(value)
        except Unreadable as error:
            score = math.nan
            flaws.append((row, str(error)))
        else:
            if key is not None:
                known[key] = score
        found.append(score)
    return np.array(found, dtype=float), flaws


def loads(text: str | bytes) -> Any:
    """Return the value of a JSON text; a name that occurs twice in an object is refused."""
    return json.loads(text, object_pairs_hook=_once)


def _once(pairs):
    """Return the entries of a JSON object as a dict."""
    entries = dict(pairs)
    if len(entries) < len(pairs):
        names = [name for name, _ in pairs]
        twice = next(name for name in names if names.count(name) > 1)
        raise Unreadable(f"the name {twice!r} occurs twice in an object; remove one of the two")
    return entries


def decoded(path: object, data: bytes) -> str:
    """Return the text of a file in UTF-8, with or without a mark at its start."""
    for mark, message in (
        (b"\x1f\x8b", "is compressed with gzip; give it the ending .gz"),
        (b"PK\x03\x04", "is a zip archive, as Excel writes; save it as CSV"),
        (b"PK\x05\x06", "is an empty zip archive; write it again"),
        (b"PAR1", "is a Parquet file; give it the ending .parquet"),
        (b"\xff\xfe", "is in UTF-16; save it as UTF-8"),
        (b"\xfe\xff", "is in UTF-16; save it as UTF-8"),
    ):
        if data.startswith(mark):
            refuse(path, f" {message}")
    try:
        text = data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = data[: error.start].count(b"\n") + 1
        refuse(path, f", line {line}: is not in UTF-8; save the file as UTF-8")
    if not text.strip():
        refuse(path, " is empty; write a header and a row for each result")
    if "\0" in text:
        line = text[: text.index("\0")].count("\n") + 1
        refuse(path, f", line {line}: has a NUL byte, as in UTF-16; save the file as UTF-8")
    return text


class Absent:
    """What stands in a column for a row that has no entry of that name."""


def columns_of(rows: list[dict[str, Any]], absent: Any = Absent) -> dict[str, list[Any]]:
    """Return the columns of rows that may have different names."""
    names = dict.fromkeys(name for row in rows for name in row)
    return {name: [row.get(name, absent) for row in rows] for name in names}


Reader = Callable[[Any, bytes], RawTable]
