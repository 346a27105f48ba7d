"""Execute notebooks with papermill, and remember the result by content.

A notebook is its MyST Markdown source, ``notebooks/NN-name.md``. Its executed form is kept in
``_build/cache`` under a key that covers everything a cell can depend on, so that an unchanged
notebook is never executed twice and a changed library never leaves an old figure behind.
"""

from __future__ import annotations

import ast
import hashlib
import json
import os
import platform
import re
import shutil
import subprocess
import sys
import tempfile
import threading
import time
import traceback
from concurrent.futures import ProcessPoolExecutor, as_completed
from dataclasses import dataclass, field
from multiprocessing import get_context, parent_process
from pathlib import Path

import jupytext
import nbformat
from traitlets.config import Config

from book import progress

# Part of every key: raise it when a change to this file changes what an executed notebook holds.
FORMAT = 1

# Everything outside the sources that could reach a figure is fixed here, for every kernel.
KERNEL_ENVIRONMENT = {
    "JUPYTER_PREFER_ENV_PATH": "1",
    "LC_ALL": "C.UTF-8",
    "MKL_NUM_THREADS": "1",
    "NUMBA_NUM_THREADS": "1",
    "OMP_NUM_THREADS": "1",
    "OPENBLAS_NUM_THREADS": "1",
    "PYTHONHASHSEED": "0",
    "SOURCE_DATE_EPOCH": "1767225600",  # 2026-01-01, for dates inside SVG and PDF files
    "TQDM_DISABLE": "1",
    "TZ": "UTC",
}

# Kernels that run side by side share no file that each of them would write: a history that another
# one has locked is complained about in the middle of a page.
KERNEL_ARGUMENTS = ["--IPKernelApp.log_level=CRITICAL", "--HistoryManager.enabled=False"]


_events = None  # in a process that executes pages: where it says which cell it is at


@dataclass(frozen=True)
class Notebook:
    """A notebook as its author wrote it, and the parameters this build gives it."""

    name: str
    source: str
    parameters: dict = field(default_factory=dict)


@dataclass(frozen=True)
class Result:
    """What came of executing a notebook: `executed`, or the text of a `failure`."""

    name: str
    executed: dict | None
    seconds: float
    failure: str | None = None
    cells: tuple[float, ...] = ()  # seconds of each code cell


def read(path: Path, preview: bool = False) -> Notebook:
    """Read a MyST notebook and its ``topk:`` front matter."""
    source = path.read_text(encoding="utf-8")
    options = jupytext.reads(source, fmt="md:myst").metadata.get("topk", {})
    parameters = dict(options.get("preview", {})) if preview else {}
    return Notebook(path.stem, source, parameters)


def seed(source: str) -> int | None:
    """Return the value of ``seed = ...`` in the cell tagged ``parameters``, if there is one."""
    for cell in jupytext.reads(source, fmt="md:myst").cells:
        if cell.cell_type == "code" and "parameters" in cell.metadata.get("tags", []):
            for node in ast.parse(cell.source).body:
                if isinstance(node, ast.Assign) and getattr(node.targets[0], "id", "") == "seed":
                    return ast.literal_eval(node.value)
    return None


def cell_name(source: str) -> str:
    """Return the id that is made from a cell's text."""
    return hashlib.sha256(source.encode()).hexdigest()[:12]


def name_cells(notebook: dict) -> None:
    """Give every cell an id made from its text, so that ids are stable and diffs are small."""
    seen: dict[str, int] = {}
    for cell in notebook["cells"]:
        digest = cell_name(cell["source"])
        seen[digest] = seen.get(digest, 0) + 1
        cell["id"] = digest if seen[digest] == 1 else f"{digest}-{seen[digest]}"


# The cache


def write_atomic(path: Path, text: str) -> None:
    """Write a file so that nobody, however the writer ends, ever sees half of it."""
    path.parent.mkdir(parents=True, exist_ok=True)
    part = path.with_name(f".{path.name}.{os.getpid()}")
    with open(part, "w", encoding="utf-8") as file:
        file.write(text)
        file.flush()
        os.fsync(file.fileno())
    os.replace(part, path)


def library_digest(root: Path) -> str:
    """Hash what every notebook may depend on: the library, the lock, recorded benchmarks."""
    files = [root / "requirements.lock", *root.glob("benchmarks/results/*.json")]
    read = {".py", ".csv", ".mplstyle"}
    files += [path for path in root.glob("topk/**/*") if path.suffix in read]
    return digest(files, root)


def digest(files, folder: Path, known: str = "") -> str:
    """Hash files, by their paths in a folder and their contents, and what else is known."""
    found = hashlib.sha256(known.encode())
    for path in sorted(files):
        content = hashlib.sha256(path.read_bytes()).hexdigest()
        found.update(f"{path.relative_to(folder).as_posix()} {content}\n".encode())
    return found.hexdigest()


def key(notebook: Notebook, library: str) -> str:
    """Return the cache key: notebook, parameters, library, Python and this program's format.

    The number of cores is not part of it, because results do not depend on it.
    """
    parts = [FORMAT, platform.python_version(), library, notebook.source, notebook.parameters]
    return hashlib.sha256(json.dumps(parts, sort_keys=True).encode()).hexdigest()


def checksum(entry: dict) -> str:
    """Hash a cache entry, apart from the checksum it carries."""
    return hashlib.sha256(json.dumps(entry, sort_keys=True).encode()).hexdigest()


def store(path: Path, result: Result) -> None:
    """Keep an executed notebook, with its seconds and a checksum in its metadata."""
    entry = json.loads(json.dumps(result.executed))
    entry["metadata"]["build"] = {"seconds": result.seconds, "cells": result.cells}
    entry["metadata"]["build"]["sha256"] = checksum(entry)
    write_atomic(path, json.dumps(entry, indent=1, sort_keys=True) + "\n")


def load(path: Path, name: str) -> Result | None:
    """Return a kept notebook, or None where there is none or it is not what was written."""
    try:
        entry = json.loads(path.read_text(encoding="utf-8"))
        written = entry["metadata"]["build"].pop("sha256")
        intact = written == checksum(entry) and "cells" in entry["metadata"]["build"]
    except (OSError, ValueError, KeyError, TypeError, AttributeError):
        return None
    if not intact:
        return None
    kept = entry["metadata"].pop("build")
    return Result(name, entry, kept["seconds"], cells=tuple(kept["cells"]))


# Execution


def kernel_environment(root: Path) -> dict[str, str]:
    """Return what is fixed for every kernel, with folders in place of the user's own settings.

    Finished plays are kept, so that an interrupted build goes on where it stopped; `TOPK_STORE`
    of the caller has precedence.
    """
    plays = os.environ.get("TOPK_STORE") or str(plays_folder(root, library_digest(root)))
    homes = {"TOPK_STORE": plays}
    for variable in ("IPYTHONDIR", "MPLCONFIGDIR"):
        home = root / "_build/home" / variable.lower()
        home.mkdir(parents=True, exist_ok=True)
        homes[variable] = str(home)
    return KERNEL_ENVIRONMENT | homes


def plays_folder(root: Path, library: str) -> Path:
    """Return where a build keeps finished plays of this version of the library."""
    return root / "_build/store" / library[:16]


def forget_other_plays(root: Path, library: str) -> None:
    """Remove the plays of other versions of the library, which nobody will ask for."""
    for folder in root.glob("_build/store/*"):
        if folder != plays_folder(root, library):
            shutil.rmtree(folder, ignore_errors=True)


def find_fonts(root: Path) -> None:
    """Let Matplotlib list the fonts before any page does.

    Where that takes more than five seconds it says so on standard error, which fails a page.
    """
    command = [sys.executable, "-c", "import matplotlib.font_manager"]
    subprocess.run(command, env=os.environ | kernel_environment(root), check=True)


def cores() -> int:
    """Return the number of cores this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def execute(notebooks: list[Notebook], root: Path, preview: bool = False) -> dict[str, Result]:
    """Return the result of every notebook, from the cache where it is there.

    The others run with all cores as one budget, as many at once as there are cores, those that
    took longest first: they leave no core waiting in the end. A failure does not stop the rest,
    and is printed when it happens.
    """
    library = library_digest(root)
    forget_other_plays(root, library)
    entries = {book.name: root / f"_build/cache/{key(book, library)}.ipynb" for book in notebooks}
    results = {book.name: load(entries[book.name], book.name) for book in notebooks}
    missing = [book for book in notebooks if results[book.name] is None]
    known = {} if preview else progress.recorded(root)
    expected = {
        book.name: progress.match(known.get(book.name, {}), code_cells(book)) for book in missing
    }
    missing.sort(key=lambda book: -sum(expected[book.name]))
    print(f"{len(notebooks) - len(missing)} notebooks from the cache, {len(missing)} to execute")
    if missing and not preview:
        print("(make preview executes a fraction of the scale, for whoever cannot wait)")
    at_once, events = min(cores(), max(1, len(missing))), get_context("spawn").Queue()
    state = progress.Progress(expected, at_once, pages=len(notebooks), timed=bool(known))
    with progress.told(state, events):
        for result in _pool(missing, root, preview, at_once, events):
            results[result.name] = result
            events.put((result.name, None))
            if result.executed is None:
                report(result)
            else:
                store(entries[result.name], result)
    return results


def code_cells(notebook: Notebook) -> list[str]:
    """Return the ids of the cells of a notebook that will be executed."""
    source = jupytext.reads(notebook.source, fmt="md:myst")
    name_cells(source)
    injected = ["parameters"] if notebook.parameters else []
    return injected + [cell["id"] for cell in source.cells if cell.cell_type == "code"]


def _pool(books: list[Notebook], root: Path, preview: bool, at_once: int, events):
    """Execute notebooks, `at_once` at a time; yield the results as they come."""
    if not books:
        return
    context, jobs = get_context("spawn"), cores() // at_once
    start = {"mp_context": context, "initializer": _begin_worker, "initargs": (events,)}
    with ProcessPoolExecutor(at_once, **start) as pool:
        running = {pool.submit(run_one, book, root, preview, jobs): book for book in books}
        for future in as_completed(running):
            try:
                yield future.result()
            except Exception as error:  # the worker itself died
                yield Result(running[future].name, None, 0.0, f"the worker ended: {error!r}")


def _begin_worker(events) -> None:
    """Let this worker, and with it its kernel, end as soon as the build does, even by kill -9.

    `events` is where it says which cell it executes.
    """
    global _events
    _events = events

    def wait() -> None:
        parent_process().join()
        os._exit(1)

    threading.Thread(target=wait, daemon=True).start()


class Stopwatch:
    """The hooks of one notebook's execution: time its code cells, and say which one runs."""

    def __init__(self, page: str):
        """Begin before the first cell."""
        self.page, self.seconds = page, []

    def begin(self, **_) -> None:
        """Note that a code cell begins."""
        if _events is not None:
            _events.put((self.page, len(self.seconds)))
        self.begun = time.perf_counter()

    def end(self, **_) -> None:
        """Note that it has ended."""
        self.seconds.append(round(time.perf_counter() - self.begun, 2))


def run_one(notebook: Notebook, root: Path, preview: bool, jobs: int) -> Result:
    """Execute one notebook in this process's kernel, in the folder ``notebooks``."""
    import papermill  # here, so that a build served from the cache starts at once

    os.environ.update(kernel_environment(root))
    os.environ["TOPK_JOBS"] = str(jobs)
    os.environ["TOPK_PREVIEW"] = "1" if preview else ""
    node = jupytext.reads(notebook.source, fmt="md:myst")
    start, failure, watch = time.perf_counter(), None, Stopwatch(notebook.name)
    try:
        # A kernel is told the numbers of free ports and opens them seconds later, when another
        # program may have them; a folder of its own for its sockets is nobody else's.
        with tempfile.TemporaryDirectory(prefix="topk-") as folder:
            executed = papermill.execute_notebook(
                node,
                None,
                parameters=notebook.parameters,
                kernel_name="python3",
                cwd=root / "notebooks",
                progress_bar=False,
                on_cell_execute=watch.begin,
                on_cell_executed=watch.end,
                start_timeout=180,
                execution_timeout=None,
                iopub_timeout=120,
                extra_arguments=KERNEL_ARGUMENTS,
                config=Config(KernelManager={"transport": "ipc", "ip": f"{folder}/kernel"}),
            )
        failure = warnings(executed)
    except papermill.PapermillExecutionError as error:
        failure = f"cell {error.cell_index + 1}:\n{indent(error.source)}\n{plain(error.traceback)}"
    except Exception:
        failure = traceback.format_exc()
    seconds = time.perf_counter() - start
    if failure:
        return Result(notebook.name, None, seconds, failure)
    return Result(notebook.name, tidy(executed), seconds, cells=tuple(watch.seconds))


def indent(text: str) -> str:
    """Set a cell's text off from what is said about it."""
    return "\n".join(f"    {line}" for line in text.splitlines())


def plain(lines: list[str]) -> str:
    """Join a traceback and take the colours out of it."""
    return re.sub(r"\x1b\[[0-9;]*m", "", "\n".join(lines))


def warnings(executed: dict) -> str | None:
    """Name the cells that wrote to standard error: a finished book has no warnings left."""
    found = [
        f"cell {number} wrote to standard error:\n{indent(cell['source'])}\n{output['text']}"
        for number, cell in enumerate(executed["cells"], start=1)
        for output in cell.get("outputs", [])
        if output.get("name") == "stderr"
    ]
    return "\n".join(found) or None


def tidy(executed: dict) -> dict:
    """Take out of an executed notebook what differs from one execution or machine to another."""
    notebook = json.loads(nbformat.writes(executed))
    notebook["nbformat"], notebook["nbformat_minor"] = 4, 5
    for name in ("papermill", "jupytext", "topk", "widgets"):
        notebook["metadata"].pop(name, None)
    notebook["metadata"]["language_info"] = {"name": "python", "pygments_lexer": "ipython3"}
    for cell in notebook["cells"]:
        cell["source"] = "".join(cell["source"])
        cell["metadata"].pop("papermill", None)
        cell["metadata"].pop("execution", None)
        if "outputs" in cell:
            cell["outputs"] = _merge_streams([out for out in cell["outputs"] if not _widget(out)])
            for output in cell["outputs"]:
                _drop_addresses(output.get("data", {}))
    name_cells(notebook)
    return notebook


def _widget(output: dict) -> bool:
    """Whether an output is a live widget, such as a progress bar, which a page cannot show."""
    return "application/vnd.jupyter.widget-view+json" in output.get("data", {})


def _drop_addresses(data: dict) -> None:
    """Take the address in memory out of the plain text of an object that has nothing else."""
    if "text/plain" in data:
        data["text/plain"] = re.sub(r" at 0x[0-9a-f]+>", ">", "".join(data["text/plain"]))


def _merge_streams(outputs: list[dict]) -> list[dict]:
    """Join neighbouring pieces of one stream: where it was cut depends on timing."""
    merged: list[dict] = []
    for output in outputs:
        if output["output_type"] != "stream":
            merged.append(output)
        elif merged and merged[-1].get("name") == output["name"]:
            merged[-1]["text"] += "".join(output["text"])
        else:
            merged.append({**output, "text": "".join(output["text"])})
    return merged


def report(failed: Result) -> None:
    """Print a failure, with notebook, cell and traceback."""
    print(f"\n=== notebooks/{failed.name}.md\n{failed.failure}", file=sys.stderr, flush=True)
