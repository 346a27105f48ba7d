"""The second stage of the ledger: its record, the pages that read it, and a sample of its runs."""

import json
import re

import numpy as np
import pytest
from chapters import cells

from benchmarks.second_stage import __main__ as stage
from topk_book import verdicts

RECORD = json.loads(stage.RESULT.read_text(encoding="utf-8"))
ROWS = RECORD["rows"]


@pytest.fixture
def there(monkeypatch):
    monkeypatch.chdir(cells.NOTEBOOKS)


def test_the_record_has_the_rows_that_are_fixed_in_the_code():
    assert RECORD["seed"] == stage.SEED and {*RECORD["versions"]} == {*stage.versions()}
    assert [*ROWS] == [name for name in stage.ROWS if name in ROWS]
    for name in ROWS:
        row = stage.ROWS[name]
        assert {*row.count} <= {*cells.parameters(row.page)} and row.named < 2000
        assert (ROWS[name]["page"], ROWS[name]["named"]) == (row.page, row.named)
        assert ROWS[name]["runs"] in (row.named, 2 * row.named)


@pytest.mark.parametrize("name", ROWS)
def test_a_page_reads_its_row(name):
    text = (cells.NOTEBOOKS / f"{ROWS[name]['page']}.md").read_text(encoding="utf-8")
    assert "../benchmarks/results/second_stage.json" in text
    assert re.search(rf'"({name}|{name.partition("/")[2]})"', text)
    for points in verdicts.recorded(stage.RESULT, name).values():
        assert points.sign.shape == points.p.shape and len(points.visible) == len(points.sign)
        assert ((points.p >= 0) & (points.p <= 1)).all() and {*points.sign.flat} <= {-1, 0, 1}


def test_the_seed_is_of_no_page():
    assert stage.SEED not in [cells.parameters(path.stem).get("seed") for path in cells.SOURCES]


def test_a_sample_is_what_was_recorded(there):
    """The first six points of Remark 4.1: means 0.6 and 0.5, Q = 20n, six values of K."""
    name = "zhou2014/remark-4.1-ar-better"
    space = stage.definitions(stage.VARIANTS, stage.ROWS[name].count | {"seed": stage.SEED})
    whole = space["wanted"]
    space["heads"], space["wanted"] = space["heads"][:1], whole[:6]
    found = verdicts.paired(*(space["regret_of"]("0.6/0.5", final).reshape(ROWS[name]["runs"], -1)
                              for final in space["finals"]))
    kept = verdicts.recorded(stage.RESULT, name)[""]
    assert (found.sign == kept.sign[:6]).all()
    np.testing.assert_allclose(found.p, kept.p[:6], rtol=1e-4)


def test_only_what_is_compared_is_played(there):
    """Lazily, so that a row of chapter 13 does not cost what the chapter costs."""
    space = stage.definitions(stage.FIGURES, {"n": 120, "largest": 100, "heads": [3, 4, 5],
                                              "runs": 3, "variant_runs": 3, "step": 40})
    found = stage.on_a_thousand_arms(stage.small_k)(space)
    families = {family for family, _ in space["records"]}
    names = {name.partition(",")[0] for record in space["records"].values() for name in record}
    assert families == {"unif", "two"} and names == {"OptMAI(0.8)", "OptMAI(0.9)"}
    assert {len(points.sign) for points in found.values()} and "rounded up" in found
