"""Logs of lm-evaluation-harness: a file of samples for each model and task."""

import json
import re
from pathlib import Path
from typing import Any

from topk_eval.reading.files import read_json_lines
from topk_eval.reading.table import RawTable, columns_of, refuse

SAMPLES = re.compile(r"samples_(?P<task>.*?)(_(?P<time>\d{4}-\d\d-\d\dT[\d.-]+))?\.jsonl")


def is_lm_eval(path: object) -> bool:
    """Return whether a file has the name of a log of lm-evaluation-harness."""
    return SAMPLES.fullmatch(Path(str(path)).name) is not None


def read_lm_eval(path: object, data: bytes) -> RawTable:
    """Read samples of lm-evaluation-harness; scores are named ``metric,filter``, as it does.

    The model is that of the file of results of the same time; without one it is the folder.
    """
    plain = read_json_lines(path, data)
    lines = [dict(zip(plain.columns, values, strict=True))
             for values in zip(*plain.columns.values(), strict=True)]
    if not all({"doc_id", "metrics"} <= plain.columns.keys() and isinstance(line["metrics"], list)
               for line in lines):
        return plain  # another file of this name
    file = Path(str(path)).absolute()
    match = SAMPLES.fullmatch(file.name)
    task, time = (match["task"], match["time"]) if match else ("", None)
    model = _named_model(file.parent / f"results_{time}.json") or file.parent.name
    rows: dict[Any, dict[str, Any]] = {}
    places: dict[Any, Any] = {}
    scores: dict[str, None] = {}
    for line, place in zip(lines, plain.places, strict=True):
        key = repr(line["doc_id"])
        row = rows.setdefault(key, {"model": model, "task": task, "log": file.stem,
                                    "doc_id": line["doc_id"]})
        places.setdefault(key, place)
        for metric in line["metrics"]:
            if not isinstance(metric, str):
                refuse(path, f", line {place}: the metric {metric!r} is no text; write the log "
                             "again with lm-evaluation-harness")
            name = f"{metric},{line.get('filter', 'none')}"
            if name in row:
                refuse(path, f", line {place}: {name!r} of doc_id {line['doc_id']!r} occurs "
                             "twice; remove one of the lines")
            row[name] = line.get(metric)
            scores[name] = None
    columns = columns_of(list(rows.values()), absent=None)
    return RawTable(str(path), "log of lm-evaluation-harness", columns, list(places.values()),
                    usual={"model": "model", "item": "doc_id"}, scores=[*scores])


def _named_model(path):
    """Return the name of the model in a file of results, or None if there is none."""
    try:
        found = json.loads(path.read_bytes())
    except (OSError, ValueError, RecursionError):
        return None
    name = found.get("model_name") if isinstance(found, dict) else None
    return name if isinstance(name, str) and name.strip() else None
