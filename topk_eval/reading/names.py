"""Lists of names in files."""

import csv
import io
import os
from pathlib import Path

from topk_eval.reading.columns import USUAL, plain
from topk_eval.reading.table import Unreadable, as_label, bytes_of, decoded, named, refuse

HEADERS = frozenset("item itemid items question questionid id docid model models name".split())


def names_in(path: Path, hint: str) -> list[str]:
    """Return the names in a file, one on each line; blank lines do not count.

    The file ``-`` is standard input.  A ``.csv`` file has fields, of which one may be a name, in
    quotation marks or not.  If its first line has a usual name of a column of models or items, that
    column has the names.
    """
    try:
        data = bytes_of(path)
    except OSError as error:
        refuse(path, f": {error.strerror}; {hint}")
    file, is_table = named(path), path.suffix.lower() == ".csv"
    if path.suffix.lower() in (".json", ".jsonl", ".ndjson"):
        refuse(file, " is JSON; write a file with a name on each line, or a .csv file")
    text = decoded(file, data)
    names: dict[str, int] = {}
    for line, name in _fields(file, text) if is_table else _lines(file, text):
        if not name.strip():
            continue
        try:
            label = as_label(name, lines=is_table)
        except Unreadable as error:
            refuse(file, f", line {line}: {error}")
        if label in names:
            refuse(file, f", line {line}: {label!r} is already in line {names[label]}; remove one "
                         "of them")
        names[label] = line
    return [*names]


def read_names(words: str, option: str) -> list[str]:
    """Return different names: those in a file, one on each line, or words with commas."""
    if words == "-" or os.path.isfile(words):  # False for words that are too long for a path
        return names_in(Path(words), f"{option} is a file with a name on each line, or names with "
                                     "commas")
    names = [as_label(word) for word in words.split(",") if word.strip()]
    if len(set(names)) < len(names) or not names:
        raise ValueError(f"{option} must be a file, or different names with commas, got {words!r}")
    return names


def _lines(path, text):
    """Return number and text of each line; a letter such as U+2028 ends none."""
    lines = text.replace("\r\n", "\n").replace("\r", "\n").split("\n")
    if plain(lines[0]) in HEADERS:
        refuse(path, f", line 1: {lines[0].strip()!r} is the name of a column; remove the line, or "
                     "give a table the ending .csv")
    return enumerate(lines, 1)


def _fields(path, text):
    """Return line and name of each row of a CSV file."""
    reader = csv.reader(io.StringIO(text, newline=""), strict=True)
    try:
        rows = [(reader.line_num, row) for row in reader if row]
    except csv.Error as error:
        refuse(path, f", line {reader.line_num}: {error}; close the quotation mark")
    header = [plain(name) for name in rows[0][1]]
    fit = [place for place, name in enumerate(header)
           if name in HEADERS or name in (*USUAL["item"], *USUAL["model"])]
    if len(fit) > 1 or (len(header) > 1 and not fit):
        refuse(path, f", line 1: the names may be in any of the columns {rows[0][1]}; write a file "
                     "with one column")
    place = fit[0] if fit else 0
    for line, row in rows:
        if len(row) != len(header):
            refuse(path, f", line {line}: {len(row)} fields, and {len(header)} in the first line; "
                         "write a name with a comma in quotation marks")
    return [(line, row[place]) for line, row in rows[1 if fit else 0:]]
