"""The checks of every page pass, and each fails when it is altered."""

from pathlib import Path

import pytest
import yaml
from chapters import cells

BREAKS = yaml.safe_load((Path(__file__).parent / "breaks.yml").read_text(encoding="utf-8"))
PAGES = [path.stem for path in cells.SOURCES if cells.checks(path.stem)]


@pytest.mark.parametrize(
    ("name", "check"), [(name, check) for name in PAGES for check in cells.checks(name)])
def test_a_check_passes(name, check):
    cells.run(name, check)


@pytest.mark.parametrize(
    ("name", "check", "old", "new"), [(name, *row) for name in BREAKS for row in BREAKS[name]])
def test_a_broken_check_fails(name, check, old, new):
    with pytest.raises(AssertionError):
        cells.run(name, check, old, new)


@pytest.mark.parametrize("name", PAGES)
def test_every_check_is_broken_somehow(name):
    assert {check for check, *_ in BREAKS[name]} == set(cells.checks(name))
