"""Write the .ipynb of each chapter with jupytext, but refuse where that would lose an edit.

``jupytext --sync`` takes the newer file, so that after a checkout, or an edit in VS Code, it can
silently undo the edits of the other one. Here the .ipynb counts as edited unless its content is
what was written last or what git has. Sources are kept in the form that jupytext writes: a save in
JupyterLab, or ``jupytext --sync``, changes only the bytes that the user edited.
"""

from __future__ import annotations

import difflib
import hashlib
import json
import subprocess
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import jupytext
import nbformat

from book.execution import name_cells, write_atomic

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


# The cell that installs the packages on Colab, in an .ipynb of a published repository alone.
COLAB = "colab"
INSTALL = """\
if "google.colab" in str(get_ipython()):
    %pip install -q "topk-arms[pages,cluster] @ git+{0}" "topk-book @ git+{0}#subdirectory=book\""""
RECORD = ".pairs.json"  # name -> hash of the .ipynb that was written last; not committed


@dataclass(frozen=True)
class EditedPair:
    """A pair whose files differ, and whose .ipynb is not as `sync` wrote it or git has it."""

    notebook: Path
    difference: tuple[str, ...]  # from the .md to the .ipynb, as lines of a unified diff
    both: bool  # whether the .md was edited as well


def read(source: str) -> nbformat.NotebookNode:
    """Parse a MyST source into a notebook with the metadata of every pair."""
    return _with_metadata(jupytext.reads(source, fmt="md:myst"))


def canonical(source: str) -> str:
    """Return a MyST source in the form that jupytext writes; the text of cells is unchanged."""
    return _written(read(source))


def ipynb_text(source: str, url: str = "") -> str:
    """Return the text of the .ipynb of a MyST source: the same cells, without outputs.

    With the address of a repository a cell before the first one with code installs from there.
    """
    notebook = read(source)
    if url:
        first = [cell.cell_type for cell in notebook.cells].index("code")
        cell = nbformat.v4.new_code_cell(INSTALL.format(url), metadata={"tags": [COLAB]})
        notebook.cells.insert(first, cell)
    name_cells(notebook)
    return nbformat.writes(notebook, indent=1) + "\n"


def sync(folder: Path, keep: str = "", url: str = "") -> tuple[list[Path], list[EditedPair]]:
    """Normalize the sources of a folder, and write the .ipynb of each.

    Return the changed files, and the pairs that are left unchanged because their cells differ and
    the .ipynb was edited. With `keep` "md" its edits are undone; with "ipynb" they replace the
    cells of the source, unless that was edited as well. `url` is the repository's address.
    """
    changed, unsynced, record = [], [], _record(folder)
    untouched = _untouched(folder, record)
    for path in sorted(folder.glob("*.md")):
        source, target = path.read_text(encoding="utf-8"), path.with_suffix(".ipynb")
        edited = _with_cells_of(target, source)
        if edited != canonical(source) and keep != "md" and not untouched(target):
            both = not untouched(path)
            if keep != "ipynb" or both:
                unsynced.append(EditedPair(target, _difference(source, edited), both))
                continue
            source = edited
        for file, text in ((path, canonical(source)), (target, ipynb_text(source, url))):
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


def _with_cells_of(target: Path, source: str) -> str:
    """Return the source with its cells replaced by those of the .ipynb, if that can be read."""
    notebook = read(source)
    try:
        cells = nbformat.reads(target.read_text(encoding="utf-8"), as_version=4).cells
        notebook.cells = [x for x in cells if COLAB not in x.metadata.get("tags", [])]
    except (OSError, ValueError, nbformat.ValidationError):  # there is none, or a merge broke it
        pass
    return _written(_with_metadata(notebook))


def _difference(source: str, edited: str) -> tuple[str, ...]:
    """Return the changed lines between a source and the text of an edited .ipynb."""
    _, _, *lines = difflib.unified_diff(canonical(source).splitlines(), edited.splitlines(), n=0)
    return tuple(line for line in lines if not line.startswith("@@"))


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
