"""Every notebook is a pair: a Markdown source and the .ipynb that `make sync` writes from it."""

import json
import os
import shutil
from unittest import mock

import jupytext
import pytest
from chapters.cells import SOURCES

from book import build, execution, pairs, publishing
from book.build import ROOT
from book.dependencies import Library


def test_every_notebook_has_both_files():
    made = sorted((ROOT / "notebooks").glob("*.ipynb"))
    assert [path.stem for path in SOURCES] == [path.stem for path in made]
    assert SOURCES


@pytest.mark.parametrize("source", SOURCES, ids=lambda path: path.stem)
def test_pair_agrees(source):
    """Files equal the output of `make sync`, without outputs and with distinct cell ids."""
    made = source.with_suffix(".ipynb").read_text(encoding="utf-8")
    assert made == pairs.ipynb_text(source.read_text(encoding="utf-8"), publishing.address(ROOT)), (
        "run `make sync`")
    cells = json.loads(made)["cells"]
    code = [cell for cell in cells if cell["cell_type"] == "code"]
    assert all(cell["outputs"] == [] and cell["execution_count"] is None for cell in code)
    assert len({cell["id"] for cell in cells}) == len(cells)


@pytest.mark.parametrize("source", SOURCES, ids=lambda path: path.stem)
def test_front_matter_and_parameters(source):
    """Every page has a description and a seed; a preview sets only declared parameters."""
    text = source.read_text(encoding="utf-8")
    notebook = jupytext.reads(text, fmt="md:myst")
    assert len(notebook.metadata["myst"]["html_meta"]["description"]) > 30
    assert isinstance(execution.seed_of(text), int)
    tagged = [cell for cell in notebook.cells if "parameters" in cell.metadata.get("tags", [])]
    assert len(tagged) == 1
    names: dict = {}
    exec(tagged[0].source, names)
    assert set(execution.read_notebook(source, preview=True).parameters) <= set(names)


EDITS = {
    "new text": (lambda cells: cells[3].update(source=["x = 1"]), "+x = 1"),
    "deleted": (lambda cells: cells.pop(5), "-"),
    "swapped": (lambda cells: cells.insert(4, cells.pop(6)), "-"),
    "copied": (lambda cells: cells.insert(3, cells[5] | {"id": "abcdef12"}), "+"),
    "tagged": (lambda cells: cells[5]["metadata"].update(tags=["x"]), '++++ {"tags": ["x"]'),
}


def copied_pair(folder, edit):
    """Copy a pair into a folder, as `sync` leaves it, and edit its .ipynb; return its two files."""
    shutil.copy(SOURCES[5], folder)
    pairs.sync(folder)
    source = folder / SOURCES[5].name
    target = source.with_suffix(".ipynb")
    book = json.loads(target.read_text(encoding="utf-8"))
    edit(book["cells"])
    target.write_text(json.dumps(book), encoding="utf-8")
    return source, target


@pytest.mark.parametrize("title", EDITS)
def test_every_difference_is_shown_and_nothing_is_undone(title, tmp_path):
    edit, line = EDITS[title]
    source, target = copied_pair(tmp_path, edit)
    before = source.read_bytes(), target.read_bytes()
    changed, (listed,) = pairs.sync(tmp_path)
    shown = [found for found in listed.difference if found.startswith(line)]
    assert changed == [] and listed.notebook == target and shown and not listed.both
    assert (source.read_bytes(), target.read_bytes()) == before
    pairs.sync(tmp_path, keep="md")
    assert source.read_bytes() == before[0]
    assert target.read_text(encoding="utf-8") == pairs.ipynb_text(source.read_text("utf-8"))
    target.write_bytes(before[1])
    assert pairs.sync(tmp_path, keep="ipynb")[1] == []  # the source is as it was written
    assert pairs.sync(tmp_path) == ([], []) and source.read_bytes() != before[0]


def test_edits_of_both_files_are_not_overwritten(tmp_path):
    source, target = copied_pair(tmp_path, EDITS["new text"][0])
    text = source.read_text(encoding="utf-8") + "\n+++\n\nA paragraph of my own.\n"
    source.write_text(text, encoding="utf-8")
    before = source.read_bytes(), target.read_bytes()
    for keep in ("", "ipynb"):
        changed, (listed,) = pairs.sync(tmp_path, keep=keep)
        assert changed == [] and (source.read_bytes(), target.read_bytes()) == before
        assert listed.both and {"-A paragraph of my own.", "+x = 1"} <= {*listed.difference}
    pairs.sync(tmp_path, keep="md")
    assert "A paragraph of my own." in target.read_text(encoding="utf-8")


def test_a_key_covers_the_files_that_a_page_names(tmp_path):
    for path in ("notebooks/a.md", "tests/evidence/recorded.json", "benchmarks/lucb.py",
                 "requirements.lock"):
        (tmp_path / path).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / path).write_text("reads recorded.json\n")
    note, library = execution.read_notebook(tmp_path / "notebooks/a.md"), Library(tmp_path)
    before = execution.cache_key(note, library, tmp_path)
    (tmp_path / "benchmarks/lucb.py").write_text("other")
    assert execution.cache_key(note, library, tmp_path) == before
    (tmp_path / "tests/evidence/recorded.json").write_text("other")
    assert execution.cache_key(note, library, tmp_path) != before


def test_a_parameter_that_no_cell_has_fails_the_page(tmp_path):
    cell = "```{code-cell} ipython3\n:tags: [parameters]\nruns = 1000\n```\n"
    note = execution.Notebook("a", cell, {"rnus": 3})
    with mock.patch.dict(os.environ):  # which the process of a page keeps
        assert "rnus" in execution.run_one(note, tmp_path, True, 1).failure


def test_a_second_build_of_a_folder_is_refused(tmp_path):
    pytest.importorskip("fcntl")
    with build.alone(tmp_path), pytest.raises(BlockingIOError), build.alone(tmp_path):
        pass
    with build.alone(tmp_path):
        pass


def test_colab_installs_first_and_the_source_knows_nothing_of_it(tmp_path):
    shutil.copy(SOURCES[5], tmp_path)
    source = tmp_path / SOURCES[5].name
    before = source.read_text(encoding="utf-8")
    pairs.sync(tmp_path, url="https://github.com/someone/topk")
    cells = json.loads(source.with_suffix(".ipynb").read_text(encoding="utf-8"))["cells"]
    first = next(cell for cell in cells if cell["cell_type"] == "code")
    assert first["metadata"]["tags"] == ["colab"]
    line = 'topk-arms[pages,cluster] @ git+https://github.com/someone/topk"'
    assert line in "".join(first["source"])
    assert pairs.sync(tmp_path, url="https://github.com/someone/topk") == ([], [])
    assert source.read_text(encoding="utf-8") == before
    changed, unsynced = pairs.sync(tmp_path)
    assert changed == [source.with_suffix(".ipynb")] and unsynced == []
