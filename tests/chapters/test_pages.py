"""The checks of every page pass, and each fails when it is altered."""

import re
from pathlib import Path

import pytest
import yaml
from chapters import cells

BREAKS = yaml.safe_load((Path(__file__).parent / "breaks.yml").read_text(encoding="utf-8"))
# These take most of the time; `make book` runs them, too, as it runs all.
DEAR = {("21-one-rule", "several"), ("21-one-rule", "theorem-1"), ("21-one-rule", "theorem-2"),
        ("22-adaptive-top-k", "clucb"), ("26-any-bounded-reward", "interval"),
        ("26-any-bounded-reward", "products"), ("32-planted-arm", "lemma-5-2"),
        ("37-after-the-five-papers", "stops")}
PAGES = [path.stem for path in cells.SOURCES if cells.checks(path.stem)]


@pytest.mark.parametrize(("name", "check"), [
    pytest.param(name, check, marks=[pytest.mark.slow] if (name, check) in DEAR else [])
    for name in PAGES for check in cells.checks(name)])
def test_a_check_passes(name, check):
    cells.run(name, check)


@pytest.mark.parametrize(
    ("name", "check", "old", "new"), [(name, *row) for name in BREAKS for row in BREAKS[name]])
def test_a_broken_check_fails(name, check, old, new):
    with pytest.raises(AssertionError):
        cells.run(name, check, old, new)


@pytest.mark.parametrize("path", cells.SOURCES, ids=lambda path: path.stem)
def test_the_cell_of_parameters_defines_nothing_else(path):
    """Papermill takes every assignment of this cell for a parameter, also within a function."""
    for tags, source in cells.read(path.stem)[0]:
        if "parameters" in tags:
            assert not re.search(r"^\s*(@|def |class |for |with )", source, re.M)
            assert set(cells.read(path.stem)[1]) <= set(cells.parameters(path.stem))


@pytest.mark.parametrize("path", cells.SOURCES, ids=lambda path: path.stem)
def test_the_cell_of_parameters_says_what_the_preview_costs(path):
    """And names the values that the preview has, in the order of the front matter."""
    (source,) = [source for tags, source in cells.read(path.stem)[0] if "parameters" in tags]
    said = " ".join(re.search(r"^# The preview .*\n(#.*\n)*", source, re.M)[0].split("\n# "))
    values = ", ".join(f"{name} = {x!r}" for name, x in cells.read(path.stem)[1].items())
    took = r"takes about \d+ (s|minutes) on one core; with smaller values, checks may fail\."
    assert re.fullmatch(rf"# The preview \({re.escape(values)}\) {took}", said.strip())


@pytest.mark.slow
@pytest.mark.parametrize("name", [path.stem for path in cells.SOURCES if cells.read(path.stem)[1]])
def test_a_page_runs_with_other_parameters(name, monkeypatch):
    """Those that a reader may choose: neither the page's own nor a preview's."""
    monkeypatch.chdir(cells.NOTEBOOKS)
    assert cells.others(name) not in (cells.parameters(name), cells.read(name)[1])
    cells.run_all(name, cells.others(name))


def test_the_checks_that_are_left_to_the_book_exist():
    assert DEAR <= {(name, check) for name in PAGES for check in cells.checks(name)}


@pytest.mark.parametrize("name", PAGES)
def test_every_check_is_broken_somehow(name):
    assert {check for check, *_ in BREAKS[name]} == set(cells.checks(name))
