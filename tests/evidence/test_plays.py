"""The recorded runs of ``make evidence`` keep their guarantees, and the first ones are reproduced.

Seeds are fixed, so the tests are deterministic.
"""

import json
import math

import numpy as np
import pytest
from evidence import plays
from evidence.plays import DELTAS, REPLAYED, RESULT, watch, wrong_evidence
from scale import ALL, amount

import topk
from topk.rules.base import WITHDRAWN
from topk.rules.ranking import best_of
from topk.simulate.play import Play

RECORDED = json.loads(RESULT.read_text(encoding="utf-8"))
CASES = {case[0]: case for case in plays.cases()}


def test_the_file_is_complete():
    made = {"seed": plays.SEED, "plays": 10_000, "failure_plays": 10_000}
    made |= {"replayed": REPLAYED, "deltas": [*DELTAS]}
    assert RECORDED | made == RECORDED
    rows = [(row["strategy"], row["case"]) for row in RECORDED["failures"]]
    assert rows == [(name, title) for name in ("KLLUCB", "TopTwo") for title in CASES]
    rows = [(row["strategy"], row["instance"], row["way"]) for row in RECORDED["watched"]]
    assert rows == plays.watched_rows()


@pytest.mark.parametrize("name", ["KLLUCB", "TopTwo"])
def test_guarantees_fail_in_at_most_delta_of_the_runs(name):
    rows = [row for row in RECORDED["failures"] if row["strategy"] == name]
    for row in rows:
        allowed = row["delta"] * RECORDED["failure_plays"]
        assert row["failures"] <= allowed and row["pulls"] <= 3000
    for row in rows[:: amount(48, 1)]:
        again = plays.failures(name, CASES[row["case"]], REPLAYED)
        assert (again["epsilon"], again["delta"]) == (row["epsilon"], row["delta"])
        assert again["first"] == row["first"], row


@pytest.mark.parametrize("name", [*plays.WATCHED, "in turn"])
def test_watched_evidence_for_a_wrong_set_is_rarely_small(name):
    rows = [row for row in RECORDED["watched"] if row["strategy"] == name]
    for row in rows:
        within = row["counts"] <= np.array(DELTAS) * RECORDED["plays"]
        if row["way"] == "late zeros":  # delays must not depend on the reward
            assert row["instance"] != "two alike" or not within.any()
        else:
            assert within.all(), row
    repeated = ALL or name in ("KLLUCB", "SAR", "in turn")  # each strategy needs a compiled loop
    for row in rows[:: amount(24, 1)] if repeated else []:
        again = plays.watched_row(name, row["instance"], row["way"], REPLAYED)
        assert again["first"] == row["first"], row


def test_a_smaller_threshold_is_detected():
    for name in ("KLLUCB", "TopTwo"):
        rows = [row for row in RECORDED["shrunk"] if row["strategy"] == name]
        assert [row["factor"] for row in rows] == [*plays.FACTORS] and rows[-1]["noticed"] > 0


@pytest.mark.parametrize("way", ["alone", "an arm leaves", "in batches"])
@pytest.mark.parametrize("name", plays.WATCHED)
def test_the_compiled_evidence_is_that_of_the_current_set(name, way):
    """`watch` agrees with `topk.confidence.evidence` and `topk.metrics` after every reward."""
    looked = []

    def plainly(u, ones, status, means, k, taken):
        gone = np.flatnonzero(status == WITHDRAWN)
        if (np.delete(u, gone) == 0).any():
            return 2.0
        chosen = np.sort(best_of(status, ones, u, 1, k))
        others = np.delete(means, [*chosen, *gone])
        if others.max(initial=-1) <= means[chosen].min():
            return 2.0
        looked.append(topk.confidence.evidence(u, ones, chosen, 0.0, gone))
        return looked[-1]

    for means, k in plays.INSTANCES.values():
        found = []
        for form in (wrong_evidence, plainly):
            with pytest.MonkeyPatch.context() as patch:  # before rules divide their budget
                patch.setattr(plays, "HORIZON", 300)
                strategy = plays.WATCHED[name](k)
            play = Play(strategy, topk.BernoulliBandit(means), 3, 0, compiles=False)
            n, leaves = len(means), 150 if way == "an arm leaves" else math.inf
            room = play.arms, play.counts, play.rewards[0], np.zeros(n, np.int64), np.zeros(n)
            room += np.zeros(n, np.bool_), np.zeros(301, np.int64), 1 + 9 * (way == "in batches")
            with pytest.MonkeyPatch.context() as patch:
                patch.setattr(plays, "HORIZON", 300)
                patch.setattr(plays, "wrong_evidence", form)
                found.append(watch(play.state.s, play.law.first, play.rng, *room, leaves))
        assert found[0] == pytest.approx(found[1], rel=1e-9)
    assert len(looked) > 30
