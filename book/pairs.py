"""Keep the two files of a chapter in step: the Markdown source and the .ipynb written from it.

Sources are kept in the form that jupytext writes. A save in JupyterLab, or ``jupytext --sync``,
therefore changes only the bytes that the user edited.
"""

from __future__ import annotations

import hashlib
import json
import re
import subprocess
from collections.abc import Callable
from dataclasses import dataclass
from itertools import zip_longest
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


RECORD = ".pairs.json"  # name -> hash of the .ipynb that was written last; not committed


@dataclass(frozen=True)
class EditedPair:
    """A pair whose files differ, and whose .ipynb is not as `sync` wrote it or git has it."""

    notebook: Path
    cells: tuple[str, ...]  # what differs: the first line of each cell


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

    Return the changed files, and the pairs that are left unchanged because their cells differ and
    the .ipynb was edited. With `keep` "md" its edits are undone; with "ipynb" they replace the
    cells of the source, unless the source has edits of its own.
    """
    changed, unsynced, record = [], [], _record(folder)
    untouched = _untouched(folder, record)
    for path in sorted(folder.glob("*.md")):
        source, target = path.read_text(encoding="utf-8"), path.with_suffix(".ipynb")
        edited = edited_cells(target, source)
        if edited and keep != "md" and not untouched(target):
            own = () if untouched(path) else only_in_source(target, source)
            if keep != "ipynb" or own:
                unsynced.append(EditedPair(target, own) if own and keep else edited)
                continue
            source = _with_cells_of(target, source)
        for file, text in ((path, canonical(source)), (target, ipynb_text(source))):
            if not file.exists() or file.read_text(encoding="utf-8") != text:
                write_atomic(file, text)
                changed.append(file)
            record[file.name] = hashlib.sha256(text.encode()).hexdigest()
    write_atomic(folder / RECORD, json.dumps(record, indent=1, sort_keys=True) + "\n")
    return changed, unsynced


def _record(folder: Path) -> dict[str, str]:
    """Return the hashes of the files that were written last."""
    try:
        return dict(json.loads((folder / RECORD).read_text(encoding="utf-8")))
    except (OSError, ValueError):
        return {}


def _untouched(folder: Path, record: dict[str, str]) -> Callable[[Path], bool]:
    """Return a function that tells whether a file is as `sync` wrote it, or as git has it."""
    command = ["git", "-C", str(folder), "ls-tree", "HEAD", "."]
    try:
        listed = subprocess.run(command, capture_output=True, text=True, check=True).stdout
    except (OSError, subprocess.CalledProcessError):  # no git, or no checkout
        listed = ""
    blobs = {line.split("\t")[1]: line.split()[2] for line in listed.splitlines()}
    known = dict(record)

    def as_known(path: Path) -> bool:
        content = path.read_bytes()
        blob = hashlib.sha1(b"blob %d\0" % len(content) + content, usedforsecurity=False)
        own = hashlib.sha256(content).hexdigest()
        return own == known.get(path.name) or blob.hexdigest() == blobs.get(path.name)

    return as_known


def edited_cells(target: Path, source: str) -> EditedPair | None:
    """Return how the cells of an existing .ipynb differ from those of its source, or None.

    Cells are edited, added, deleted, moved, copied, or have other tags. `sync` sets the id of each
    cell to a hash of its text; an editor keeps the ids.
    """
    if not target.exists():
        return None
    here, there = _cells(target), read(source).cells
    if [_key(cell) for cell in here] == [_key(cell) for cell in there]:
        return None
    texts = {cell.source.strip() for cell in there}
    found = [_first(cell) for cell in here
             if cell.source.strip() and cell.source.strip() not in texts]
    if not found:
        ids, own = _ids(here), {cell.source.strip() for cell in here}
        found = [f"deleted: {_first(cell)}" for cell in there if cell.source.strip() not in own
                 and cell_name(cell.source) not in ids]
    if not found:
        pairs = zip_longest(here, there)
        found = [f"moved, copied or tagged: {_first(a or b)}" for a, b in pairs
                 if a is None or b is None or _key(a) != _key(b)]
    return EditedPair(target, tuple(found))


def only_in_source(target: Path, source: str) -> tuple[str, ...]:
    """Return the cells of a source that its .ipynb never had, as text and by their ids."""
    here = _cells(target)
    texts, ids = {cell.source.strip() for cell in here}, _ids(here)
    return tuple(f"only in the .md: {_first(cell)}" for cell in read(source).cells
                 if cell.source.strip() not in texts and cell_name(cell.source) not in ids)


def _key(cell: nbformat.NotebookNode) -> tuple[str, str, str]:
    """Return what `sync` writes of a cell."""
    kept = {name: cell.metadata[name] for name in ("mystnb", "tags") if cell.metadata.get(name)}
    return cell.cell_type, cell.source.strip(), json.dumps(kept, sort_keys=True)


def _first(cell: nbformat.NotebookNode) -> str:
    """Return the first line of a cell."""
    return cell.source.strip().partition("\n")[0]


def _ids(cells: list[nbformat.NotebookNode]) -> set[str]:
    """Return the ids of cells, without the numbers of equal ones."""
    return {re.sub(r"-\d+$", "", cell.get("id", "")) for cell in cells}


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
