"""Run single cells of a notebook, to test that the checks of a page can fail.

A cell that executes a numbered result is tagged ``check-<name>``. It may use what cells tagged
``parameters`` or ``setup`` define, and nothing else, so that it runs without the experiments.
"""

import ast
import contextlib
import functools
import io
import linecache
import os
import warnings
from unittest import mock

import jupytext
import matplotlib.pyplot as plt

from book.build import ROOT

plt.switch_backend("Agg")
NOTEBOOKS = ROOT / "notebooks"
SOURCES = sorted(NOTEBOOKS.glob("*.md"))


@functools.cache
def parsed(name):
    """Return a notebook, which is not to be changed."""
    return jupytext.reads((NOTEBOOKS / f"{name}.md").read_text(encoding="utf-8"), "md:myst")


@functools.cache
def read(name):
    """Return the code cells of a notebook as (tags, source), and its preview parameters."""
    notebook = parsed(name)
    cells = [(tuple(cell.metadata.get("tags", ())), cell.source) for cell in notebook.cells
             if cell.cell_type == "code"]
    return cells, dict(options(name).get("preview", {}))


def options(name):
    """Return what the front matter of a notebook says under ``topk``."""
    return parsed(name).metadata.get("topk", {})


def compile_cell(source, file):
    """Compile a cell; its lines are found again, as those of a notebook are."""
    linecache.cache[file] = len(source), None, source.splitlines(keepends=True), file
    return compile(source, file, "exec")


def parameters(name):
    """Return the parameters of a notebook as papermill sees them, name -> default."""
    found = {}
    for tags, source in read(name)[0]:
        for node in ast.parse(source).body if "parameters" in tags else ():
            if isinstance(node, ast.Assign) and isinstance(node.targets[0], ast.Name):
                with contextlib.suppress(ValueError):  # not a literal
                    found[node.targets[0].id] = ast.literal_eval(node.value)
    return found


def others(name):
    """Return parameters that are neither those of the page nor of its preview.

    The page's front matter may name them, under ``other``; else each number of runs is a little
    above that of the preview.
    """
    page, preview = parameters(name), read(name)[1]
    found = {x: y + max(1, abs(page[x] - y) // 20) if isinstance(y, int) else y
             for x, y in preview.items()}
    return found | options(name).get("other", {})


def checks(name):
    """Return the names of all checks of a notebook, in order."""
    tags = [tag for tags, _ in read(name)[0] for tag in tags if tag.startswith("check-")]
    return [tag.removeprefix("check-") for tag in dict.fromkeys(tags)]


def run(name, check, old=None, new=None):
    """Run a check as the page does, after replacing ``old`` by ``new`` in its cell or the setup.

    The text to be replaced must be there, exactly once, in the check or in a setup cell.
    """
    cells, parameters = read(name)
    chosen = [(t, s) for t, s in cells if {"parameters", "setup", f"check-{check}"} & set(t)]
    # Not assertions: a test that expects a broken check to fail must not take these for it.
    if not any(f"check-{check}" in tags for tags, _ in chosen):
        raise LookupError(f"{name} has no check {check}")
    if old is not None:
        if sum(source.count(old) for _, source in chosen) != 1:
            raise LookupError(f"{old!r} is not there once")
        chosen = [(tags, source.replace(old, new)) for tags, source in chosen]
    execute(name, chosen, parameters)


def run_all(name, given=None):
    """Run all cells of a notebook with the parameters ``given``, by default those of a preview."""
    cells, preview = read(name)
    execute(name, cells, preview if given is None else given)


def execute(name, chosen, parameters):
    """Execute cells in their order; ``parameters`` replace those of the page."""
    space = {"__name__": "__main__", "display": lambda *shown: None}
    preview = mock.patch.dict(os.environ, TOPK_PREVIEW="1")
    try:
        with preview, contextlib.redirect_stdout(io.StringIO()), warnings.catch_warnings():
            for tags, source in chosen:
                exec(compile_cell(source, f"{name}:{tags}"), space)
                if "parameters" in tags:
                    space.update(parameters)
    finally:
        plt.close("all")
