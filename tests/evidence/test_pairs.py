"""The recorded runs of pairs and races near ties keep delta, and the first ones are reproduced.

Seeds are fixed, so the tests are deterministic.  With other seeds, a rule whose error is at most
delta would fail one of them with probability at most 1e-6.
"""

import json

import pytest
from evidence import pairs
from scipy.stats import binom

RECORDED = json.loads(pairs.RESULT.read_text(encoding="utf-8"))
LEVEL = 1e-6 / (2 * len(pairs.KINDS))  # of each of the comparisons


def test_the_file_is_complete():
    assert [row["kind"] for row in RECORDED["rows"]] == [*pairs.KINDS]
    given = {"seed": pairs.SEED, "runs": pairs.RUNS, "delta": pairs.DELTA,
             "budgets": [pairs.PAIRS_BUDGET, pairs.RACE_BUDGET]}
    assert RECORDED | given == RECORDED
    assert all(row["wrong"] > 0 for row in RECORDED["rows"])  # so that the kinds can tell


@pytest.mark.parametrize("row", RECORDED["rows"], ids=lambda row: row["kind"])
def test_errors_are_at_most_delta_of_the_runs(row):
    assert row["wrong"] <= binom.isf(LEVEL, pairs.RUNS, pairs.DELTA)
    assert row["gone"] <= binom.isf(LEVEL, pairs.RUNS, 0.9 * pairs.DELTA)
    assert pairs.begun(row["kind"]) == row["first"]
