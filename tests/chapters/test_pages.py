"""The checks of every page pass, and each fails when it is broken on purpose."""

import runpy
from pathlib import Path

import pytest
from chapters import cells

FILES = sorted((Path(__file__).parent / "breaks").glob("*.py"))
BREAKS = {path.stem: runpy.run_path(str(path))["BREAKS"] for path in FILES}
PAGES = sorted(path.stem for path in cells.NOTEBOOKS.glob("*.md") if cells.checks(path.stem))


@pytest.mark.parametrize(
    ("name", "check"), [(name, check) for name in PAGES for check in cells.checks(name)]
)
def test_a_check_passes(name, check):
    cells.run(name, check)


@pytest.mark.parametrize(
    ("name", "check", "old", "new"), [(name, *row) for name in BREAKS for row in BREAKS[name]]
)
def test_a_broken_check_fails(name, check, old, new):
    with pytest.raises(AssertionError):
        cells.run(name, check, old, new)


@pytest.mark.parametrize("name", PAGES)
def test_every_check_is_broken_somehow(name):
    assert {check for check, *_ in BREAKS[name]} == set(cells.checks(name))
