"""Plain tables: CSV, JSON lines and Parquet."""

import csv
import io
import json
import re
import sys
from collections import Counter
from pathlib import Path
from typing import Any

import numpy as np

from topk_eval.reading.table import (
    NoRows,
    RawTable,
    Unreadable,
    columns_of,
    decoded,
    loads,
    refuse,
)

EXAMPLE = 'write {"model": ..., "item": ..., "score": ...}'


def read_csv(path: object, data: bytes) -> RawTable:
    """Read a table in UTF-8 whose first line names the columns.

    Fields are separated by commas, or by the one of semicolons, tabs and bars that is in a header
    without commas.  Before it there may be comments (# and a blank) and a line such as ``sep=;``.
    """
    text, mark = _begun(decoded(path, data), ".tsv" in Path(str(path)).suffixes)
    before = csv.field_size_limit(sys.maxsize)  # long answers may stand beside scores
    try:
        names, fields, places, end = _csv_rows(path, text, mark)
    finally:
        csv.field_size_limit(before)
    last = {len(field) for field in fields[len(names) - 1 :: len(names)]}
    if not text.endswith(("\n", "\r")) and (len(last) > 1 or len(places) < SURE):
        refuse(path, f", line {end}: the last line does not end, so the file may be cut off; add a "
                     "line end if it is complete")
    if not places:
        raise NoRows(f"{path} has a header and no rows; write a row for each result")
    columns = {name: fields[place :: len(names)] for place, name in enumerate(names)}
    return RawTable(str(path), "CSV", columns, places)


SURE = 20  # rows whose last fields are equally long, as 0 and 1 are: the last one is not cut off
BEFORE = re.compile(r"(?:(?:#[ \t][^\r\n]*|sep=(?P<mark>[,;\t|])|)(?:\r\n|\n|\r))*")


def _begun(text, tabs):
    """Return a text without comments before its header, as many lines long, and the separator."""
    before = BEFORE.match(text)
    assert before is not None  # it matches nothing, too
    begin = before.end()
    header = next(iter(text[begin : begin + csv.field_size_limit()].splitlines()), "")
    marks = [sign for sign in ";\t|" if sign in header and "," not in header]
    mark = "\t" if tabs else before["mark"] or (marks[0] if len(marks) == 1 else ",")
    return re.sub(r"[^\r\n]", "", before[0]) + text[begin:], mark


def _csv_rows(path, text, mark):
    """Return names of columns, the fields of all rows, where each begins, and the last line."""
    lines = csv.reader(io.StringIO(text, newline=""), delimiter=mark, strict=True)
    try:
        names = [name.strip() for name in next(row for row in lines if row)]
        _check_header(path, names, lines.line_num)
        fields, places = [], []  # one list, since many short ones take long
        size, first = len(names), names[0]
        begin = lines.line_num + 1
        for row in lines:
            if row:
                if len(row) != size or row[0].strip() == first:
                    _check_row(path, begin, row, names)
                fields += row
                places.append(begin)
            begin = lines.line_num + 1
    except csv.Error as error:
        refuse(path, f", line {lines.line_num}: {error}; close the quotation mark, or complete "
                     "the file if it is cut off")
    return names, fields, places, lines.line_num


def _check_header(path, names, line):
    """Refuse a first line that names no columns, or one of them twice."""
    if len(names) == 1:
        refuse(path, f", line {line}: there is one column, {names[0]!r}; separate columns by "
                     "commas, and write decimal points")
    if (twice := _twice(names)) is not None:
        refuse(path, f", line {line}: column {twice!r} occurs twice; rename or remove one")


def _twice(names):
    """Return the first name that occurs twice, or None."""
    counts = Counter(names)
    return next((name for name in names if counts[name] > 1), None)


def _check_row(path, line, row, names):
    """Refuse a row that has too many or too few fields, or that repeats the header."""
    if [field.strip() for field in row] == names:
        refuse(path, f", line {line}: the header occurs again, as when files are joined; remove "
                     "the line")
    if len(row) != len(names):
        flaw = ("a comma is missing, or the file is cut off" if len(row) < len(names) else
                "it has a comma too many, or decimal commas, or two lines in one")
        refuse(path, f", line {line}: {len(row)} fields for {len(names)} columns: {flaw}; correct "
                     "the line")


def read_json_lines(path: object, data: bytes) -> RawTable:
    """Read a file with a JSON object on each line."""
    rows: list[dict[str, Any]] = []
    places = []
    for line, text in enumerate(decoded(path, data).split("\n"), 1):
        if not text.strip():
            continue
        try:
            row = loads(text)
        except Unreadable as error:
            refuse(path, f", line {line}: {error}")
        except (ValueError, RecursionError) as error:
            refuse(path, f", line {line}: is no JSON object ({in_short(error)}); correct the line, "
                         "or complete it if the file is cut off")
        if not isinstance(row, dict):
            refuse(path, f", line {line}: is no JSON object; {EXAMPLE} on each line")
        rows.append(row)
        places.append(line)
    return RawTable(str(path), "JSON lines", columns_of(rows), places)


def in_short(error: Exception) -> str:
    """Return what a JSON parser found, without the text."""
    if isinstance(error, RecursionError):
        return "nested too deeply"
    return error.msg if isinstance(error, json.JSONDecodeError) else "a number has too many digits"


def read_objects(path: object, rows: list[Any]) -> RawTable:
    """Read the rows of a JSON file that is a list of objects."""
    for number, row in enumerate(rows, 1):
        if not isinstance(row, dict):
            refuse(path, f", object {number}: is no object; {EXAMPLE}")
    if not rows:
        refuse(path, " is an empty list; write an object for each result")
    return RawTable(str(path), "JSON", columns_of(rows), range(1, len(rows) + 1), "object")


def read_parquet(path: object, data: bytes) -> RawTable:
    """Read a Parquet file with pyarrow; checksums of its pages are compared where it has any."""
    if not data:
        refuse(path, " is empty; write it again")
    if not (data.startswith(b"PAR1") and data.endswith(b"PAR1")):
        refuse(path, " is no complete Parquet file; copy or write it again")
    try:
        import pyarrow
        from pyarrow import parquet
    except ImportError:
        refuse(path, " needs pyarrow to be read: pip install pyarrow")
    try:
        table = parquet.ParquetFile(
            pyarrow.BufferReader(data), page_checksum_verification=True).read()
        table.validate(full=True)
        names, values = table.column_names, [_values(column) for column in table.columns]
    except (pyarrow.ArrowException, OSError, ValueError, MemoryError) as error:
        reason = str(error).partition("\n")[0] or type(error).__name__
        refuse(path, f" is damaged ({reason}); copy or write it again")
    if (twice := _twice(names)) is not None:
        refuse(path, f": column {twice!r} occurs twice; rename or remove one")
    if not table.num_rows:
        raise NoRows(f"{path} has no rows; write a row for each result")
    columns = dict(zip(names, values, strict=True))
    return RawTable(str(path), "Parquet", columns, range(1, table.num_rows + 1), "row")


def _values(column):
    """Return a column of a Parquet file: an array of numbers, or a list, None where it is null."""
    numbers = ("bool", "float", "double", "int8", "int16", "int32", "int64")
    if column.null_count or str(column.type) not in numbers:
        return column.to_pylist()
    return np.asarray(column)
