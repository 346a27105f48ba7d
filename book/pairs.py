"""Keep the two files of a chapter in step: the Markdown source and the .ipynb written from it.

Sources are kept in the form that jupytext writes. A save in JupyterLab, or ``jupytext --sync``,
therefore changes only the bytes that the user edited.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path

import jupytext
import nbformat

from book.execution import cell_name, name_cells, write_atomic

# Without the first two, jupytext would drop the description and the preview's parameters at every
# save; without the exclusions, every release of jupytext would change every file.
FRONT_MATTER = (
    "myst,topk,-jupytext.text_representation.format_version,"
    "-jupytext.text_representation.jupytext_version"
)
CELLS = "tags,mystnb,-all"  # without JupyterLab's own metadata, such as collapsed cells
JUPYTEXT = {
    "cell_metadata_filter": CELLS,
    "default_lexer": "ipython3",
    "formats": "ipynb,md:myst",
    "notebook_metadata_filter": FRONT_MATTER,
}
# As JupyterLab writes it for the environment's kernel.
KERNEL = {"display_name": "Python 3 (ipykernel)", "language": "python", "name": "python3"}


@dataclass(frozen=True)
class EditedPair:
    """A pair whose .ipynb has cells that were edited or added after `sync` wrote it."""

    notebook: Path
    cells: tuple[str, ...]  # first line of each


def read(source: str) -> nbformat.NotebookNode:
    """Parse a MyST source into a notebook with the metadata of every pair."""
    return _with_metadata(jupytext.reads(source, fmt="md:myst"))


def canonical(source: str) -> str:
    """Return a MyST source in the form that jupytext writes; the text of cells is unchanged."""
    return _written(read(source))


def ipynb_text(source: str) -> str:
    """Return the text of the .ipynb of a MyST source: the same cells, without outputs."""
    notebook = read(source)
    name_cells(notebook)
    return nbformat.writes(notebook, indent=1) + "\n"


def sync(folder: Path, keep: str = "") -> tuple[list[Path], list[EditedPair]]:
    """Normalize the sources of a folder, and write the .ipynb of each.

    Return the changed files, and the pairs that are left unchanged because their .ipynb has cells
    that the source lacks. With `keep` "md" these cells are deleted; with "ipynb" they replace those
    of the source.
    """
    changed, unsynced = [], []
    for path in sorted(folder.glob("*.md")):
        source, target = path.read_text(encoding="utf-8"), path.with_suffix(".ipynb")
        edited = edited_cells(target, source)
        if edited and keep == "ipynb":
            source = _with_cells_of(target, source)
        elif edited and keep != "md":
            unsynced.append(edited)
            continue
        for file, text in ((path, canonical(source)), (target, ipynb_text(source))):
            if not file.exists() or file.read_text(encoding="utf-8") != text:
                write_atomic(file, text)
                changed.append(file)
    return changed, unsynced


def edited_cells(target: Path, source: str) -> EditedPair | None:
    """Return the cells that only the existing .ipynb has, or None if there are none.

    `sync` sets the id of each cell to a hash of its text, so a cell with any other id was edited or
    added afterwards.
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
    return EditedPair(target, tuple(own)) if own else None


def _cells(target: Path) -> list[nbformat.NotebookNode]:
    """Return the cells of an .ipynb, or an empty list if a merge left it unreadable."""
    try:
        return nbformat.reads(target.read_text(encoding="utf-8"), as_version=4).cells
    except (ValueError, nbformat.ValidationError):
        return []


def _with_cells_of(target: Path, source: str) -> str:
    """Return the source with its cells replaced by those of the .ipynb."""
    notebook = read(source)
    notebook.cells = _cells(target)
    return _written(notebook)


def _with_metadata(notebook: nbformat.NotebookNode) -> nbformat.NotebookNode:
    """Set the metadata that every pair has, and join the lines of each caption."""
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
    """Return a notebook as jupytext writes it from an .ipynb, which has its keys sorted."""
    stored = nbformat.reads(nbformat.writes(notebook), as_version=4)
    text = jupytext.writes(stored, fmt="md:myst")
    return text if text.endswith("\n") else text + "\n"
