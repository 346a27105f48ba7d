"""Logs of inspect_ai, and other JSON files."""

import io
import json
import re
import sys
import zipfile
import zlib
from pathlib import Path
from typing import Any

from topk._checks import in_words
from topk_eval.reading.files import in_short, read_objects
from topk_eval.reading.promptfoo import is_promptfoo, read_promptfoo
from topk_eval.reading.table import (
    LARGEST,
    NoResults,
    RawTable,
    Run,
    Unreadable,
    as_score,
    columns_of,
    decoded,
    loads,
    refuse,
)

# texts as inspect_ai's value_to_float reads them; it reads others as 0, which is refused here
VALUES = {"C": 1.0, "P": 0.5, "I": 0.0, "N": 0.0, "yes": 1.0, "no": 0.0}
ZIP = (b"PK\x03\x04", b"PK\x05\x06")
ZSTANDARD = 93  # the method of compression in a zip archive, which zipfile knows from 3.14 on
MANAGER = "topk"  # of early stopping, by `topk_eval.adapters.inspect_ai.Race`


def read_json(path: object, data: bytes) -> RawTable:
    """Read a JSON file: a list of objects, a log of inspect_ai or results of promptfoo."""
    log = _parsed(path, decoded(path, data))
    if isinstance(log, list):
        return read_objects(path, log)
    if is_promptfoo(log):
        return read_promptfoo(path, log)
    if not isinstance(log, dict) or "eval" not in log:
        raise NoResults(f"{path} is neither a list of objects nor a log of inspect_ai nor results "
                        'of promptfoo; write [{"model": ..., "item": ..., "score": ...}, ...]')
    return _read_log(path, log, log.get("samples"))


def read_eval(path: object, data: bytes) -> RawTable:
    """Read a log of inspect_ai as an archive, ``.eval``; an older one is JSON."""
    if data.startswith(ZIP):
        return _read_log(path, *_archived(path, data))
    return read_json(path, data)


def _read_log(path, log, samples):
    """Return the table of a log from its header and samples."""
    spec = log.get("eval")
    if not isinstance(spec, dict) or not {"model", "task"} <= spec.keys():
        refuse(path, " has no model and task in it; write the log again with inspect_ai")
    for name in ("model", "task"):
        if not isinstance(spec[name], str):
            refuse(path, f": the {name} in its header is {in_words(spec[name])}, not a name; write "
                         "the log again with inspect_ai")
    status = log.get("status", "started")
    if not samples and isinstance(samples, list | None):
        raise NoResults(f"{path} has no samples (status {status!r}), as with log_samples=False; "
                        "run it again with its samples")
    if not isinstance(samples, list):
        refuse(path, " has samples that are no list; write the log again with inspect_ai")
    rows, places, invalid = [], [], 0
    last = _last_runs(path, samples)
    for sample in last:
        places.append(f"sample {sample['id']!r} of epoch {sample['epoch']}")
        scores = _scores(sample)
        if sample.get("invalidation"):
            scores, invalid = dict.fromkeys(scores), invalid + 1
        rows.append({"model": spec["model"], "task": spec["task"], "log": Path(str(path)).stem,
                     "id": sample["id"], "epoch": sample["epoch"]} | scores)
    columns = columns_of(rows, absent=None)
    run = Run((spec["model"], spec["task"], repr(spec["task_id"])), str(spec.get("created")),
              status != "success") if "task_id" in spec else None
    return RawTable(
        str(path), "log of inspect_ai", columns, places,
        usual={"model": "model", "item": "id", "trial": "epoch"},
        scores=[name for name in columns if name.startswith("score_")], known=_known(spec),
        run=run, notes=_notes(path, log, status, (invalid, len(samples) - len(last))))


def _last_runs(path, samples):
    """Return the samples, of those that were run again the last run, as inspect_ai reads them."""
    last: dict[Any, Any] = {}
    for number, sample in enumerate(samples, 1):
        if not isinstance(sample, dict) or not {"id", "epoch"} <= sample.keys():
            refuse(path, f", sample {number}: has no id and epoch; write the log again")
        last[str(sample["id"]), repr(sample["epoch"])] = sample
    return [*last.values()]


def _known(spec):
    """Return the items that a header lists, or None."""
    dataset = spec.get("dataset")
    ids = dataset.get("sample_ids") if isinstance(dataset, dict) else None
    return ids if isinstance(ids, list) and ids else None


def _notes(path, log, status, counts):
    """Return what is to be said about a log; counts are of invalidated and repeated samples."""
    notes = [] if status == "success" else [
        f"{path}: the run has the status {status!r}, so that results may be missing"]
    happened = "invalidated, and failed", "run again, and the last run counts"
    for count, what in zip(counts, happened, strict=True):
        if count:
            notes.append(f"{path}: {count} sample{'s were' if count > 1 else ' was'} {what}")
    results = log.get("results")
    stopping = results.get("early_stopping") if isinstance(results, dict) else None
    if isinstance(stopping, dict) and stopping.get("manager") == MANAGER:
        metadata = stopping.get("metadata")
        said = metadata.get("decided") if isinstance(metadata, dict) else None
        notes += [f"decided during the run: {said}"] if isinstance(said, str) else []
    return notes


def _parsed(path, text):
    """Return the value of a JSON text in a log."""
    try:
        return loads(text)
    except Unreadable as error:
        refuse(path, f": {error}")
    except (ValueError, RecursionError) as error:
        if isinstance(error, json.JSONDecodeError):
            refuse(path, f", line {error.lineno}: is no complete JSON; copy or write it again")
        refuse(path, f"{_line_of_digits(text)}: is no JSON that can be read ({in_short(error)}); "
                     "write it again")


def _line_of_digits(text):
    """Return where a text has the first integer with more digits than Python reads, or ""."""
    text = text.decode() if isinstance(text, bytes) else text
    most = sys.get_int_max_str_digits()
    found = re.search(rf"\d{{{most + 1}}}", text) if most else None
    return "" if found is None else f", line {text.count(chr(10), 0, found.start()) + 1}"


def _scores(sample):
    """Return the scores of a sample by scorer, or by scorer and part; letters as numbers."""
    scores = {}
    found = sample.get("scores")
    for scorer, score in (found if isinstance(found, dict) else {}).items():
        value = score.get("value") if isinstance(score, dict) else None
        named = value if isinstance(value, dict) else {None: value}
        for part, each in named.items():
            name = f"score_{scorer}" if part is None else f"score_{scorer}/{part}"
            scores[name] = _value_of(each)
    return scores


def _value_of(value):
    """Return a letter or a word as a number, and anything else as it is."""
    return VALUES.get(value, VALUES.get(value.lower(), value)) if isinstance(value, str) else value


def number_of(value: Any) -> float:
    """Return the value of a score as a number, nan where it is missing.

    Raises
    ------
    Unreadable
        If it is none; the message begins with "is".
    """
    return as_score(_value_of(value))


def _archived(path, data):
    """Return header and summaries of the samples in an ``.eval`` file."""
    try:
        with zipfile.ZipFile(io.BytesIO(data)) as archive:
            names = set(archive.namelist())
            header = next((name for name in ("header.json", "_journal/start.json")
                           if name in names), None)
            if header is None:
                refuse(path, " is no log of inspect_ai: it has no header.json; copy it again")
            log = _parsed(path, *_unpacked(path, archive, [header]))
            if not isinstance(log, dict):
                refuse(path, " is no log of inspect_ai: its header is no object; copy it again")
            if "summaries.json" in names and not log.get("invalidated"):  # they do not say which
                return log, _parsed(path, *_unpacked(path, archive, ["summaries.json"]))
            parts = sorted(name for name in names if name.startswith("samples/"))
            return log, [_parsed(path, text) for text in _unpacked(path, archive, parts)]
    except Unreadable:
        raise
    except Exception as error:  # every way of unpacking has errors of its own
        reason = str(error).partition("\n")[0] or type(error).__name__
        refuse(path, f" is a damaged archive ({reason}); copy it again")


def _unpacked(path, archive, names):
    """Return an iterator over the texts of members of an archive; refuse what is too large."""
    if sum(archive.getinfo(name).file_size for name in names) > LARGEST:
        refuse(path, f" is more than {LARGEST:,} bytes when it is unpacked; split it")
    return (_member(path, archive, name).decode() for name in names)


def _member(path, archive, name):
    """Return a member of an archive, also where it is compressed with Zstandard."""
    member = archive.getinfo(name)
    try:
        return archive.read(member)
    except NotImplementedError:
        if member.compress_type != ZSTANDARD:
            raise
    try:
        import pyarrow
    except ImportError:
        refuse(path, " is compressed with Zstandard; it needs pyarrow to be read: "
                     "pip install pyarrow")
    member.compress_type = zipfile.ZIP_STORED  # to get at the bytes as they are
    size, member.file_size = member.file_size, member.compress_size
    crc, member.CRC = member.CRC, None
    packed = archive.read(member)
    text = pyarrow.Codec("zstd").decompress(packed, size).to_pybytes()
    if zlib.crc32(text) != crc:
        raise zipfile.BadZipFile(f"Bad CRC-32 for file {name!r}")
    return text
