"""The recorded streams and tables keep their guarantees, and the first ones are reproduced.

Seeds are fixed, so the tests are deterministic.  With other seeds, each count of a rule with error
at most delta would fail `kept` with probability at most 1e-6.
"""

import json

import pytest
from evidence import gates
from evidence.test_scores import kept

RECORDED = json.loads(gates.RESULT.read_text(encoding="utf-8"))


@pytest.mark.parametrize("row", RECORDED["gates"], ids=lambda row: row["setting"])
def test_equal_candidates_are_accepted_in_at_most_delta_of_all_streams(row):
    delta = gates.SETTINGS[row["setting"]][0].get("delta", gates.DELTA)
    false = row["streams with a false acceptance"]
    assert kept(false, delta, RECORDED["streams"]) and false <= delta * RECORDED["streams"]
    again = gates.streams_row(row["setting"], gates.FOLLOWED["streams"])
    assert again["first"] == row["first"]


@pytest.mark.parametrize("row", RECORDED["tiers"], ids=lambda row: row["kind"])
def test_tiers_looked_at_after_every_item_are_wrong_in_at_most_delta_of_all_tables(row):
    for wrong in ("ranks or sets wrong", "in or out wrong"):
        assert kept(row[wrong], gates.WIDE_DELTA, RECORDED["plays"])
        assert row[wrong] <= gates.WIDE_DELTA * RECORDED["plays"]
    again = gates.tiers_row(row["kind"], gates.FOLLOWED["tiers"])
    assert again["first"] == row["first"]


def test_the_file_is_complete():
    assert [row["setting"] for row in RECORDED["gates"]] == [*gates.SETTINGS]
    assert [row["kind"] for row in RECORDED["tiers"]] == [*gates.KINDS]
    assert (RECORDED["streams"], RECORDED["plays"]) == (gates.STREAMS, gates.PLAYS)
