"""Every notebook is a pair: a Markdown source and the .ipynb that `make sync` writes from it."""

import json

import jupytext
import pytest
from chapters.cells import SOURCES

from book import execution, pairs
from book.build import ROOT


def test_every_notebook_has_both_files():
    made = sorted((ROOT / "notebooks").glob("*.ipynb"))
    assert [path.stem for path in SOURCES] == [path.stem for path in made]
    assert SOURCES


@pytest.mark.parametrize("source", SOURCES, ids=lambda path: path.stem)
def test_pair_agrees(source):
    """Files equal the output of `make sync`, without outputs and with distinct cell ids."""
    made = source.with_suffix(".ipynb").read_text(encoding="utf-8")
    assert made == pairs.ipynb_text(source.read_text(encoding="utf-8")), "run `make sync`"
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
