"""The recorded runs on scores keep their guarantees, and the first ones are reproduced.

Seeds are fixed, so the tests are deterministic.  With other seeds, each count of a rule with error
at most delta would fail `kept` with probability at most 1e-6.
"""

import json

import numpy as np
import pytest
from evidence import scores
from scale import amount
from scipy.stats import binom

RECORDED = json.loads(scores.RESULT.read_text(encoding="utf-8"))


def kept(wrong, delta, count):
    """Return whether the numbers of wrong runs are consistent with error probabilities delta."""
    return (np.array(wrong) <= binom.isf(1e-6, count, delta)).all()


@pytest.mark.parametrize("row", RECORDED["walks"], ids=lambda row: row["rewards"])
def test_at_most_delta_of_the_walks_leave_their_interval(row):
    assert kept(row["left"], scores.DELTAS, RECORDED["count"])
    assert scores.walks(row["rewards"], scores.FOLLOWED)["left"] == row["first"]


@pytest.mark.parametrize("row", RECORDED["chased"], ids=lambda row: row["rewards"])
def test_the_adversary_succeeds_in_at_most_delta_of_the_runs(row):
    assert kept(row["missed"], scores.DELTAS, RECORDED["plays"])
    assert scores.chased(row["rewards"], scores.FOLLOWED)["missed"] == row["first"]


@pytest.mark.parametrize("name", scores.CERTIFIED)
def test_certified_sets_are_wrong_in_at_most_delta_of_the_runs(name):
    rows = [row for row in RECORDED["certificates"] if row["strategy"] == name]
    assert [row["case"] for row in rows] == [*scores.cases()]
    assert all(kept(row["wrong"], 0.1, RECORDED["runs"]) for row in rows)
    for row in rows[:: amount(2, 1)]:
        again = scores.certificates(name, row["case"], scores.REPLAYED)
        assert again["first"] == row["first"], row


def test_the_file_is_complete():
    assert [row["rewards"] for row in RECORDED["walks"]] == [*scores.REWARDS]
    assert [row["rewards"] for row in RECORDED["chased"]] == [*scores.CHASED]
    assert RECORDED["seed"] == scores.SEED and RECORDED["deltas"] == [*scores.DELTAS]


def test_no_recorded_share_is_above_delta():
    """Stricter than `kept`, but for the recorded seeds only."""
    for key, wrong, count in (("walks", "left", "count"), ("chased", "missed", "plays")):
        for row in RECORDED[key]:
            assert (row[wrong] <= np.array(scores.DELTAS) * RECORDED[count]).all()
    assert all(row["wrong"] <= 0.1 * RECORDED["runs"] for row in RECORDED["certificates"])


def test_a_shorter_interval_would_be_detected():
    """Intervals at delta = .3 fail the test at .02."""
    draw, mean = scores.REWARDS["0/1 at .5"]
    rewards = draw(np.random.default_rng(1), (1000, scores.PULLS))
    left = scores.in_loop(scores.misses_mean)(rewards, mean, -np.log(0.3)).sum()
    assert not kept(left, 0.02, 1000)
