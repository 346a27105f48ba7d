"""The recorded runs on cells keep their guarantees, and the first ones are reproduced.

Seeds are fixed, so the tests are deterministic.  With other seeds, each count of a rule with error
at most delta would fail `kept` with probability at most 1e-6.
"""

import json

import pytest
from evidence import cells
from scipy.stats import binom

RECORDED = json.loads(cells.RESULT.read_text(encoding="utf-8"))


@pytest.mark.parametrize("row", RECORDED["rows"], ids=lambda row: f"{row['rule']}, {row['kind']}")
def test_wrong_sets_are_at_most_delta_of_the_runs(row):
    most = binom.isf(1e-6, row["runs"], RECORDED["delta"])
    assert max(row["wrong"], row["ever"]) <= most
    assert max(row["wrong"], row["ever"]) <= RECORDED["delta"] * row["runs"]
    assert cells.count(row["rule"], row["kind"], cells.REPLAYED)["first"] == row["first"]


def test_the_file_is_complete():
    assert [(row["rule"], row["kind"]) for row in RECORDED["rows"]] == [
        (rule, kind) for rule in cells.RULES for kind in cells.KINDS
    ]
    assert all(row["runs"] == cells.RUNS[row["rule"]] for row in RECORDED["rows"])
    assert (RECORDED["seed"], RECORDED["delta"]) == (cells.SEED, cells.DELTA)
