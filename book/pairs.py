"""The two files of a chapter: the Markdown source, and the .ipynb that is written from it.

A source has the form in which jupytext itself writes it. So whatever opens a chapter and saves it,
JupyterLab or ``jupytext --sync``, leaves every byte of the source that its user did not change.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path

import jupytext
import nbformat

from book.execution import cell_name, name_cells, write_atomic

# Without the first two jupytext drops the description and the preview's parameters at every save;
# with the others every release of jupytext would change every file.
FRONT_MATTER = (
    "myst,topk,-jupytext.text_representation.format_version,"
    "-jupytext.text_representation.jupytext_version"
)
CELLS = "tags,mystnb,-all"  # what a click in JupyterLab adds, such as a folded cell, stays out
JUPYTEXT = {
    "cell_metadata_filter": CELLS,
    "default_lexer": "ipython3",
    "formats": "ipynb,md:myst",
    "notebook_metadata_filter": FRONT_MATTER,
}
# What JupyterLab writes for the kernel of the environment.
KERNEL = {"display_name": "Python 3 (ipykernel)", "language": "python", "name": "python3"}


@dataclass(frozen=True)
class Edited:
    """A pair whose .ipynb has cells that the source lacks and `sync` did not write."""

    notebook: Path
    cells: tuple[str, ...]  # how each begins


def read(source: str) -> nbformat.NotebookNode:
    """Return the notebook of a MyST source, with the metadata that every pair has."""
    return _with_metadata(jupytext.reads(source, fmt="md:myst"))


def canonical(source: str) -> str:
    """Return a MyST source in jupytext's own form; the text of its cells stays as it is."""
    return _written(read(source))


def paired(source: str) -> str:
    """Return the text of the .ipynb that belongs to a MyST source: same cells, no outputs."""
    notebook = read(source)
    name_cells(notebook)
    return nbformat.writes(notebook, indent=1) + "\n"


def sync(folder: Path, keep: str = "") -> tuple[list[Path], list[Edited]]:
    """Put the sources of a folder in their form, and write the .ipynb beside each.

    Returns the files that changed and the pairs that were left alone, because that would lose what
    somebody wrote into the .ipynb only. With `keep` "md" that is dropped, with "ipynb" it is taken
    into the source.
    """
    changed, left = [], []
    for path in sorted(folder.glob("*.md")):
        source, target = path.read_text(encoding="utf-8"), path.with_suffix(".ipynb")
        edited = edits(target, source)
        if edited and keep == "ipynb":
            source = _taken_over(target, source)
        elif edited and keep != "md":
            left.append(edited)
            continue
        for file, text in ((path, canonical(source)), (target, paired(source))):
            if not file.exists() or file.read_text(encoding="utf-8") != text:
                write_atomic(file, text)
                changed.append(file)
    return changed, left


def edits(target: Path, source: str) -> Edited | None:
    """Return what somebody wrote into an .ipynb only, if it is there and anybody did.

    `sync` names each cell after its text; a cell whose name is not that was edited since or is new.
    """
    if not target.exists():
        return None
    there = {cell.source.strip() for cell in read(source).cells}
    own = [
        cell.source.strip().partition("\n")[0]
        for cell in _cells(target)
        if cell.source.strip() and cell.source.strip() not in there
        and re.sub(r"-\d+$", "", cell.get("id", "")) != cell_name(cell.source)
    ]
    return Edited(target, tuple(own)) if own else None


def _cells(target: Path) -> list[nbformat.NotebookNode]:
    """Return the cells of an .ipynb, or none where a merge left it unreadable."""
    try:
        return nbformat.reads(target.read_text(encoding="utf-8"), as_version=4).cells
    except (ValueError, nbformat.ValidationError):
        return []


def _taken_over(target: Path, source: str) -> str:
    """Return the source of a pair with the cells of its .ipynb."""
    notebook = read(source)
    notebook.cells = _cells(target)
    return _written(notebook)


def _with_metadata(notebook: nbformat.NotebookNode) -> nbformat.NotebookNode:
    """Give a notebook the metadata of every pair, and captions the form of one paragraph."""
    own = {name: notebook.metadata[name] for name in ("myst", "topk") if name in notebook.metadata}
    shared = {"jupytext": dict(JUPYTEXT), "kernelspec": dict(KERNEL)}
    notebook.metadata = nbformat.from_dict(shared | own)
    notebook.nbformat, notebook.nbformat_minor = 4, 5
    for cell in notebook.cells:
        figure = cell.metadata.get("mystnb", {}).get("figure", {})
        if "caption" in figure:  # jupytext writes a line break as an empty line
            figure["caption"] = " ".join(figure["caption"].split())
    return notebook


def _written(notebook: nbformat.NotebookNode) -> str:
    """Return a notebook as jupytext writes it from an .ipynb, in which names are sorted."""
    stored = nbformat.reads(nbformat.writes(notebook), as_version=4)
    text = jupytext.writes(stored, fmt="md:myst")
    return text if text.endswith("\n") else text + "\n"
