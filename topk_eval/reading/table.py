"""What every format of file is read into: columns of raw values, and where each row stands."""

import json
import math
import re
from collections.abc import Callable
from dataclasses import dataclass, field
from decimal import Decimal
from typing import Any, NoReturn


class Unreadable(ValueError):
    """A file, or a row of it, that is refused; the message is one line that says what to do."""


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
        Raw values by name of the column, in lists of equal length; text in a CSV file.
    places : list of str or int
        Where each row stands, such as ``"line 7"``; a number is that of a line.
    usual : dict
        The columns of a known log that are the model, item and trial, by role.
    notes : list of str
        What is to be said about the file.
    """

    path: str
    kind: str
    columns: dict[str, list[Any]]
    places: list[Any]
    usual: dict[str, str] = field(default_factory=dict)
    notes: list[str] = field(default_factory=list)

    def where(self, row: int, column: object = None) -> str:
        """Return the file, row and column of a value in words."""
        place = self.places[row]
        place = f"line {place}" if isinstance(place, int) else place
        return f"{self.path}, {place}" + ("" if column is None else f", column {column!r}")


def refuse(path: object, message: str) -> NoReturn:
    """Refuse a file."""
    raise Unreadable(f"{path}{message}")


def no_number(value: object) -> str:
    """Return what is wrong with a value that is no number, and what to do."""
    if isinstance(value, str) and re.fullmatch(r"\s*[+-]?[\d.]*,\d+\s*", value):
        return f"is {value!r}, with a decimal comma; write a decimal point"
    if isinstance(value, str) and value.strip().endswith("%"):
        return f"is {value!r}; write a number without the percent sign"
    if isinstance(value, float) and math.isinf(value):
        return "is infinite; write a finite number, or leave it empty if it is missing"
    if isinstance(value, str | int | float | bool):
        return f"is {value!r}, not a number; write a number, or leave it empty if it is missing"
    return f"is a {type(value).__name__}, not a number; name another column for the score"


NUMBER = re.compile(r"[+-]?(\d+(\.\d*)?|\.\d+)([eE][+-]?\d+)?", re.ASCII)
MISSING = {"", "na", "n/a", "#n/a", "<na>", "nan", "null", "none"}
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


BAD_LETTERS = re.compile("[\x00-\x1f\x7f-\x9f\ufeff\ufffd\ud800-\udfff]")


def as_label(value: Any) -> str:
    """Return the label of a model, an item or a trial as text; spaces around it do not count.

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
    if isinstance(value, bool) or not isinstance(value, str | int):
        raise Unreadable(f"is {value!r}, not a name; write text or an integer")
    label = str(value).strip()
    if BAD_LETTERS.search(label):
        raise Unreadable(f"is {label!r}, with a letter that no name has: a quotation mark is not "
                         "closed, or the encoding is wrong; save the file as UTF-8")
    return label


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
        (b"\x1f\x8b", "is compressed with gzip; unpack it"),
        (b"PK", "is a zip archive, as Excel writes; save it as CSV"),
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
