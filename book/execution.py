"""Execute notebooks with papermill, and cache the results by content.

The source of a notebook is ``notebooks/NN-name.md``, in MyST Markdown. The executed notebook is
stored in ``_build/cache`` under a key that covers everything its cells can depend on: an unchanged
notebook is not executed again, and a change of the library executes the notebooks that can run it.
"""

from __future__ import annotations

import ast
import hashlib
import json
import logging
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

from book.dependencies import Library, files_digest, notebook_of

# Part of every key. Increase it when a change to this file changes the executed notebooks.
FORMAT = 1

# Environment variables that could change an output, fixed for every kernel.
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

# Kernels run at the same time must not write to a shared file: a locked history file would put a
# warning into a page.
KERNEL_ARGUMENTS = ["--IPKernelApp.log_level=CRITICAL", "--HistoryManager.enabled=False"]

# The pages that take longest, by their seconds. They begin first, so that no core is idle at the
# end, and compile each loop before its first run: plain Python would only delay what pays there.
LONG = ("13-optimal-pulls-figures", "23-adaptive-figures", "40-which-algorithm",
        "02-hiring-a-crowd", "37-after-the-five-papers", "10-accept-and-reject",
        "38-a-gate-for-a-stream", "39-pairs-and-evidence", "21-one-rule", "07-promises",
        "36-upper-meets-lower", "15-crowd-forensics", "03-your-own-arms", "27-finite-test-set")


@dataclass(frozen=True)
class Notebook:
    """The source of a notebook, and the parameters that this build injects."""

    name: str
    source: str
    parameters: dict = field(default_factory=dict)
    root: Path | None = None  # of the files that it reads


@dataclass(frozen=True)
class Result:
    """Result of executing a notebook: the notebook `executed`, or the text of a `failure`."""

    name: str
    executed: dict | None
    seconds: float
    failure: str | None = None


def read_notebook(path: Path, preview: bool = False) -> Notebook:
    """Read a MyST notebook and its ``topk:`` front matter."""
    source = path.read_text(encoding="utf-8")
    options = notebook_of(source).metadata.get("topk", {})
    parameters = dict(options.get("preview", {})) if preview else {}
    return Notebook(path.stem, source, parameters, path.resolve().parent.parent)


def seed_of(source: str) -> int | None:
    """Return the value of ``seed = ...`` in the cell tagged ``parameters``, if there is one."""
    for cell in notebook_of(source).cells:
        if cell.cell_type == "code" and "parameters" in cell.metadata.get("tags", []):
            for node in ast.parse(cell.source).body:
                if isinstance(node, ast.Assign) and getattr(node.targets[0], "id", "") == "seed":
                    return ast.literal_eval(node.value)
    return None


def cell_name(source: str) -> str:
    """Return a cell's id, a hash of its text."""
    return hashlib.sha256(source.encode()).hexdigest()[:12]


def name_cells(notebook: dict) -> None:
    """Set every cell's id to a hash of its text, so that ids are stable and diffs are small."""
    seen: dict[str, int] = {}
    for cell in notebook["cells"]:
        digest = cell_name(cell["source"])
        seen[digest] = seen.get(digest, 0) + 1
        cell["id"] = digest if seen[digest] == 1 else f"{digest}-{seen[digest]}"


# The cache


def write_atomic(path: Path, text: str) -> None:
    """Write a file atomically: readers see the old or the new content, even after a crash."""
    path.parent.mkdir(parents=True, exist_ok=True)
    part = path.with_name(f".{path.name}.{os.getpid()}")
    with open(part, "w", encoding="utf-8") as file:
        file.write(text)
        file.flush()
        os.fsync(file.fileno())
    os.replace(part, path)


def named_files(notebook: Notebook) -> list[Path]:
    """Return the records and benchmarks that a notebook names, which it may read."""
    if notebook.root is None:
        return []
    found = (path for place in ("benchmarks", "tests/evidence")
             for path in notebook.root.glob(f"{place}/**/*.*"))
    return [path for path in found if path.name in notebook.source and path.is_file()]


def cache_key(notebook: Notebook, library: Library, root: Path) -> str:
    """Return the cache key of a page: a hash of all that its outputs can depend on.

    That is its source and parameters, the code of the library that it can run, the files that it
    names, the lock, the Python version and `FORMAT`.  The number of cores is left out, because
    results do not depend on it.
    """
    files = files_digest(named_files(notebook), notebook.root or Path())
    lock = files_digest([root / "requirements.lock"], root)
    parts = [FORMAT, platform.python_version(), library.digest(notebook.source), lock, files]
    parts += [notebook.source, notebook.parameters]
    return hashlib.sha256(json.dumps(parts, sort_keys=True).encode()).hexdigest()


def checksum(entry: dict) -> str:
    """Hash a cache entry without its checksum."""
    return hashlib.sha256(json.dumps(entry, sort_keys=True).encode()).hexdigest()


def store_result(path: Path, result: Result) -> None:
    """Store an executed notebook, with its seconds and a checksum in its metadata."""
    entry = json.loads(json.dumps(result.executed))
    entry["metadata"]["build"] = {"seconds": result.seconds}
    entry["metadata"]["build"]["sha256"] = checksum(entry)
    write_atomic(path, json.dumps(entry, indent=1, sort_keys=True) + "\n")


def load_result(path: Path, name: str) -> Result | None:
    """Return a stored notebook, or None if the file is missing or damaged."""
    try:
        entry = json.loads(path.read_text(encoding="utf-8"))
        written = entry["metadata"]["build"].pop("sha256")
        intact = written == checksum(entry)
    except (OSError, ValueError, KeyError, TypeError, AttributeError):
        return None
    if not intact:
        return None
    return Result(name, entry, entry["metadata"].pop("build")["seconds"])


# Execution


def kernel_environment(root: Path) -> dict[str, str]:
    """Return the environment of every kernel, with folders that replace the user's settings."""
    homes = {}
    for variable in ("IPYTHONDIR", "MPLCONFIGDIR"):
        home = root / "_build/home" / variable.lower()
        home.mkdir(parents=True, exist_ok=True)
        homes[variable] = str(home)
    return KERNEL_ENVIRONMENT | homes


def runs_folder(root: Path, page: str) -> Path:
    """Return the folder in which the finished runs of a page are stored until it is executed.

    So an interrupted build continues where it stopped, and a complete one leaves no runs.
    """
    return root / "_build/store" / page


def find_fonts(root: Path) -> None:
    """Let Matplotlib build its list of fonts before any page needs it.

    If that takes more than five seconds, Matplotlib warns on standard error, which fails a page.
    """
    command = [sys.executable, "-c", "import matplotlib.font_manager"]
    subprocess.run(command, env=os.environ | kernel_environment(root), check=True)


def cores() -> int:
    """Return the number of cores this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def execute(notebooks: list[Notebook], root: Path, preview: bool = False) -> dict[str, Result]:
    """Return the result of every notebook, from the cache if possible.

    The others are executed, one per core at a time, the longest first so that no core is idle at
    the end. A failure is printed at once and does not stop the rest.
    """
    library, cache = Library(root), root / "_build/cache"
    entries = {book.name: cache / f"{cache_key(book, library, root)}.ipynb" for book in notebooks}
    results = {book.name: load_result(entries[book.name], book.name) for book in notebooks}
    missing = [book for book in notebooks if results[book.name] is None]
    missing.sort(key=lambda book: LONG.index(book.name) if book.name in LONG else len(LONG))
    print(f"{len(notebooks) - len(missing)} notebooks from the cache, {len(missing)} to execute")
    if missing and not preview:
        print("(make preview is faster: it runs a fraction of the scale)")
    for number, result in enumerate(_pool(missing, root, preview), start=1):
        results[result.name] = result
        print(f"{number} of {len(missing)}: {result.name}, {result.seconds:.0f} s", flush=True)
        if result.executed is None:
            print_failure(result)
        else:
            store_result(entries[result.name], result)
            shutil.rmtree(runs_folder(root, result.name), ignore_errors=True)
    return results


def _pool(books: list[Notebook], root: Path, preview: bool):
    """Execute notebooks, one per core at a time; yield the results in order of completion."""
    if not books:
        return
    at_once = min(cores(), len(books))
    context, jobs = get_context("spawn"), cores() // at_once
    with ProcessPoolExecutor(at_once, mp_context=context, initializer=_end_with_build) as pool:
        running = {pool.submit(run_one, book, root, preview, jobs): book for book in books}
        for future in as_completed(running):
            try:
                yield future.result()
            except Exception as error:  # the worker itself died
                yield Result(running[future].name, None, 0.0, f"the worker ended: {error!r}")


def _end_with_build() -> None:
    """Make this worker and its kernel exit when the build ends, even if it is killed by SIGKILL."""
    def wait() -> None:
        parent_process().join()
        os._exit(1)

    threading.Thread(target=wait, daemon=True).start()


def run_one(notebook: Notebook, root: Path, preview: bool, jobs: int) -> Result:
    """Execute one notebook in a kernel of its own, in the folder ``notebooks``."""
    import papermill  # here, so that a build from the cache does not wait for the import

    # papermill warns of every parameter line with two equal signs.
    logging.getLogger("papermill").setLevel(logging.ERROR)
    os.environ.update(kernel_environment(root))
    os.environ["TOPK_STORE"] = str(runs_folder(root, notebook.name))
    os.environ["TOPK_COMPILE"] = "always" if notebook.name in LONG else "auto"
    os.environ["TOPK_JOBS"] = str(jobs)
    os.environ["TOPK_PREVIEW"] = "1" if preview else ""
    node = jupytext.reads(notebook.source, fmt="md:myst")
    if unknown := unknown_parameters(node, notebook.parameters):
        failure = f"the front matter sets parameters that the page does not have: {unknown}"
        return Result(notebook.name, None, 0.0, failure)
    start, failure = time.perf_counter(), None
    try:
        # With TCP, a free port may be taken by another program before the kernel opens it.
        # Sockets in a private folder avoid this race.
        with tempfile.TemporaryDirectory(prefix="topk-") as folder:
            executed = papermill.execute_notebook(
                node,
                None,
                parameters=notebook.parameters,
                kernel_name="python3",
                cwd=root / "notebooks",
                progress_bar=False,
                start_timeout=180,
                execution_timeout=None,
                iopub_timeout=120,
                extra_arguments=KERNEL_ARGUMENTS,
                config=Config(KernelManager={"transport": "ipc", "ip": f"{folder}/kernel"}),
            )
        failure = text_on_stderr(executed)
    except papermill.PapermillExecutionError as error:
        raised = without_colours(error.traceback)
        failure = f"cell {error.cell_index + 1}:\n{indent(error.source)}\n{raised}"
    except Exception:
        failure = traceback.format_exc()
    seconds = time.perf_counter() - start
    if failure:
        return Result(notebook.name, None, seconds, failure)
    return Result(notebook.name, tidy(executed), seconds)


def unknown_parameters(node: nbformat.NotebookNode, parameters: dict) -> list[str]:
    """Return the names of parameters that no cell tagged ``parameters`` assigns."""
    assigned = {
        getattr(target, "id", "")
        for cell in node.cells if "parameters" in cell.metadata.get("tags", [])
        for part in ast.parse(cell.source).body if isinstance(part, ast.Assign | ast.AnnAssign)
        for target in (part.targets if isinstance(part, ast.Assign) else [part.target])
    }
    return sorted({*parameters} - assigned)


def indent(text: str) -> str:
    """Indent a cell's text by four spaces."""
    return "\n".join(f"    {line}" for line in text.splitlines())


def without_colours(lines: list[str]) -> str:
    """Join the lines of a traceback and remove its colour codes."""
    return re.sub(r"\x1b\[[0-9;]*m", "", "\n".join(lines))


def text_on_stderr(executed: dict) -> str | None:
    """Return the cells that wrote to standard error, with the text, or None if none did."""
    found = [
        f"cell {number} wrote to standard error:\n{indent(cell['source'])}\n{output['text']}"
        for number, cell in enumerate(executed["cells"], start=1)
        for output in cell.get("outputs", [])
        if output.get("name") == "stderr"
    ]
    return "\n".join(found) or None


def tidy(executed: dict) -> dict:
    """Remove from an executed notebook whatever varies between executions or machines."""
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
    """Return whether an output is a live widget, such as a progress bar."""
    return "application/vnd.jupyter.widget-view+json" in output.get("data", {})


def _drop_addresses(data: dict) -> None:
    """Remove memory addresses from an output's plain text, such as default reprs have."""
    if "text/plain" in data:
        data["text/plain"] = re.sub(r" at 0x[0-9a-f]+>", ">", "".join(data["text/plain"]))


def _merge_streams(outputs: list[dict]) -> list[dict]:
    """Join consecutive pieces of one stream, because where it is split depends on timing."""
    merged: list[dict] = []
    for output in outputs:
        if output["output_type"] != "stream":
            merged.append(output)
        elif merged and merged[-1].get("name") == output["name"]:
            merged[-1]["text"] += "".join(output["text"])
        else:
            merged.append({**output, "text": "".join(output["text"])})
    return merged


def print_failure(failed: Result) -> None:
    """Print the failure of a notebook: its name, the cell and the traceback."""
    print(f"\n=== notebooks/{failed.name}.md\n{failed.failure}", file=sys.stderr, flush=True)
