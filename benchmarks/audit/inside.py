"""Run one script of book/reports on streams; this file runs in the environment of the package."""

import importlib
import importlib.metadata
import inspect
import json
import sys
import warnings
from functools import reduce
from pathlib import Path

import numpy as np


def main(task: Path) -> None:
    """Read the task, run the script's `decide` on every stream, and write arms and scores used."""
    warnings.simplefilter("ignore")
    told = json.loads(task.read_text())
    sys.path[:0] = [told["reports"], told["sources"], str(Path(__file__).resolve().parents[2])]
    from benchmarks.audit import streams

    decide = importlib.import_module(told["script"]).decide
    found = {}
    for place, count in told["runs"].items():
        daily = streams.daily_of(place)
        rows = []
        for run in range(count):
            means, scores = streams.stream(place, run)
            order = np.argsort(-means, kind="stable") if told["gate"] else np.arange(means.size)
            arm, used = decide(scores[order], daily, **told["options"])
            rows.append([-1 if arm is None else int(order[arm]), int(used)])
        found[place] = rows
    name, _, path = told["source"].partition(":")
    module = importlib.import_module(name)
    code = reduce(getattr, path.split("."), module)
    line = inspect.getsourcelines(code)[1]
    file = Path(inspect.getsourcefile(code)).name
    package = told["package"]
    version = importlib.metadata.version(package) if package else ""
    task.with_suffix(".out").write_text(json.dumps({
        "rows": found, "version": version, "numpy": np.__version__,
        "python": ".".join(map(str, sys.version_info[:2])),
        "source": f"{name.rpartition('.')[0].replace('.', '/')}/{file}:{line}".lstrip("/")}))


if __name__ == "__main__":
    main(Path(sys.argv[1]))
