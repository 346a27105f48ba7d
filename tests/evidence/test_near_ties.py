"""The recorded runs near ties, and against adversaries, keep delta; the first ones are reproduced.

Seeds are fixed, so the tests are deterministic.
"""

import json

import pytest
from evidence import near_ties
from evidence.near_ties import DELTA, MADE, RUNS, SEED, SESSIONS, STRATEGIES
from scale import amount
from scipy.stats import binom

RECORDED = json.loads(near_ties.RESULT.read_text(encoding="utf-8"))


def test_the_file_is_complete():
    assert RECORDED | {"seed": SEED, "runs": RUNS, "sessions": SESSIONS, "delta": DELTA} == RECORDED
    rows = [(row["strategy"], row["instance"], row["delta"]) for row in RECORDED["ties"]]
    assert rows == near_ties.tie_rows() and len(rows) * RUNS == 100_000
    rows = [(row["strategy"], row["way"]) for row in RECORDED["adversaries"]]
    assert rows == near_ties.adversary_rows()


@pytest.mark.parametrize("name", STRATEGIES)
def test_certificates_near_ties_are_wrong_in_at_most_delta_of_the_runs(name):
    rows = [row for row in RECORDED["ties"] if row["strategy"] == name]
    assert all(row["wrong"] <= row["delta"] * RUNS for row in rows)
    assert sum(row["certified"] for row in rows) > 0.8 * RUNS * len(rows)
    assert sum(row["wrong"] for row in rows) > 0  # so that the instances can tell
    for row in rows[:: amount(5, 1)]:
        again = near_ties.tie_row(name, row["instance"], row["delta"], near_ties.REPLAYED)
        assert again["first"] == row["first"], row


@pytest.mark.parametrize("name", MADE)
def test_adversaries_gain_nothing_from_looking(name):
    """And would without a reserve, in more than delta of the sessions beyond any doubt."""
    for row in (row for row in RECORDED["adversaries"] if row["strategy"] == name):
        if name == "no reserve":
            assert binom.sf(row["wrong"] - 1, SESSIONS, DELTA) < 1e-6
        else:
            assert MADE[name](1, 0.0, DELTA).cost_of_joining(2, 2 + near_ties.JOINS) == 0
            assert row["wrong"] <= DELTA * SESSIONS
        again = near_ties.adversary_row(name, row["way"], near_ties.FOLLOWED)
        assert again["first"] == row["first"], row
