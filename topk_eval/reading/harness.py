"""Logs of evaluation harnesses: inspect_ai and lm-evaluation-harness."""

import io
import json
import re
import zipfile
import zlib
from pathlib import Path
from typing import Any

from topk_eval.reading.files import read_json_lines, read_objects
from topk_eval.reading.table import RawTable, Unreadable, columns_of, decoded, loads, refuse

LETTERS = {"C": 1.0, "P": 0.5, "I": 0.0, "N": 0.0}  # as inspect_ai's value_to_float reads them
ZSTANDARD = 93  # the method of compression in a zip archive, which zipfile knows from 3.14 on


def read_inspect(path: object, data: bytes) -> RawTable:
    """Read a log of inspect_ai, ``.eval`` (a zip archive) or ``.json``."""
    if data.startswith(b"PK"):
        log, samples = _archived(path, data)
    else:
        log = _parsed(path, decoded(path, data))
        if isinstance(log, list):
            return read_objects(path, log)
        if not isinstance(log, dict) or "eval" not in log:
            refuse(path, " is neither a list of objects nor a log of inspect_ai; write "
                         "[{\"model\": ..., \"item\": ..., \"score\": ...}, ...]")
        samples = log.get("samples")
    spec = log.get("eval")
    if not isinstance(spec, dict) or not {"model", "task"} <= spec.keys():
        refuse(path, " has no model and task in it; write the log again with inspect_ai")
    if not isinstance(samples, list) or not samples:
        refuse(path, " has no samples, as with log_samples=False; run it again with its samples")
    rows, places = [], []
    for number, sample in enumerate(samples, 1):
        if not isinstance(sample, dict) or not {"id", "epoch"} <= sample.keys():
            refuse(path, f", sample {number}: has no id and epoch; write the log again")
        places.append(f"sample {sample['id']!r} of epoch {sample['epoch']}")
        rows.append({"model": spec["model"], "task": spec["task"], "log": Path(str(path)).stem,
                     "id": sample["id"], "epoch": sample["epoch"]} | _scores(path, sample))
    usual = {"model": "model", "item": "id", "trial": "epoch"}
    columns = columns_of(rows, absent=None)
    status = log.get("status", "started")
    notes = [] if status == "success" else [
        f"{path}: the run has the status {status!r}, so that results may be missing"]
    return RawTable(str(path), "log of inspect_ai", columns, places, usual=usual, notes=notes)


def _parsed(path, text):
    """Return the value of a JSON text in a log."""
    try:
        return loads(text)
    except Unreadable as error:
        refuse(path, f": {error}")
    except (ValueError, RecursionError) as error:
        line = f", line {error.lineno}" if isinstance(error, json.JSONDecodeError) else ""
        refuse(path, f"{line}: is no complete JSON; copy or write it again")


def _scores(path, sample):
    """Return the scores of a sample by scorer, letters and truth values as numbers."""
    scores = {}
    for scorer, score in (sample.get("scores") or {}).items():
        value = score.get("value") if isinstance(score, dict) else None
        named = value if isinstance(value, dict) else {None: value}
        for part, each in named.items():
            name = f"score_{scorer}" if part is None else f"score_{scorer}_{part}"
            scores[name] = LETTERS.get(each, each) if isinstance(each, str) else each
    return scores


def _archived(path, data):
    """Return header and summaries of the samples in an ``.eval`` file."""
    try:
        with zipfile.ZipFile(io.BytesIO(data)) as archive:
            names = set(archive.namelist())
            header = next((name for name in ("header.json", "_journal/start.json")
                           if name in names), None)
            if header is None:
                refuse(path, " is no log of inspect_ai: it has no header.json; copy it again")
            log = _parsed(path, _unpacked(path, archive, header).decode())
            if not isinstance(log, dict):
                refuse(path, " is no log of inspect_ai: its header is no object; copy it again")
            if "summaries.json" in names:
                return log, _parsed(path, _unpacked(path, archive, "summaries.json").decode())
            parts = [name for name in names if name.startswith("samples/")]
            return log, [_parsed(path, _unpacked(path, archive, name).decode())
                         for name in sorted(parts)]
    except Unreadable:
        raise
    except Exception as error:  # every way of unpacking has errors of its own
        reason = str(error).partition("\n")[0] or type(error).__name__
        refuse(path, f" is a damaged archive ({reason}); copy it again")


def _unpacked(path, archive, name):
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
                     "pip install 'topk-arms[parquet]'")
    member.compress_type = zipfile.ZIP_STORED  # to get at the bytes as they are
    size, member.file_size = member.file_size, member.compress_size
    crc, member.CRC = member.CRC, None
    packed = archive.read(member)
    text = pyarrow.Codec("zstd").decompress(packed, size).to_pybytes()
    if zlib.crc32(text) != crc:
        raise zipfile.BadZipFile(f"Bad CRC-32 for file {name!r}")
    return text


SAMPLES = re.compile(r"samples_(?P<task>.*?)(_\d{4}-\d\d-\d\dT[\d.-]+)?\.jsonl")


def is_lm_eval(path: object) -> bool:
    """Return whether a file has the name of a log of lm-evaluation-harness."""
    return SAMPLES.fullmatch(Path(str(path)).name) is not None


def read_lm_eval(path: object, data: bytes) -> RawTable:
    """Read samples of lm-evaluation-harness; the folder that they are in names the model.

    With several filters a document has a line for each; then the scores are named
    ``metric,filter``, as the harness names them, and otherwise ``metric``.
    """
    plain = read_json_lines(path, data)
    lines = [dict(zip(plain.columns, values, strict=True))
             for values in zip(*plain.columns.values(), strict=True)]
    if not all({"doc_id", "metrics"} <= plain.columns.keys() and isinstance(line["metrics"], list)
               for line in lines):
        return plain  # another file of this name
    match = SAMPLES.fullmatch(Path(str(path)).name)
    model, task = Path(str(path)).absolute().parent.name, match["task"] if match else ""
    several = len({str(line.get("filter")) for line in lines}) > 1
    rows: dict[Any, dict[str, Any]] = {}
    places: dict[Any, Any] = {}
    for line, place in zip(lines, plain.places, strict=True):
        key = repr(line["doc_id"]), *([] if several else [place])
        row = rows.setdefault(key, {"model": model, "task": task, "doc_id": line["doc_id"]})
        places.setdefault(key, place)
        for metric in line["metrics"]:
            name = f"{metric},{line.get('filter')}" if several else str(metric)
            if name in row:
                refuse(path, f", line {place}: {name!r} of doc_id {line['doc_id']!r} occurs "
                             "twice; remove one of the lines")
            row[name] = line.get(metric)
    usual = {"model": "model", "item": "doc_id"}
    columns = columns_of(list(rows.values()), absent=None)
    return RawTable(str(path), "log of lm-evaluation-harness", columns, list(places.values()),
                    usual=usual)
