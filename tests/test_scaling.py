"""How fast and how small: what `make bench` recorded, held against what is promised.

Nothing is timed here; a test that depends on the clock fails on somebody else's machine.
"""

import json
from pathlib import Path

import pytest

RECORDED = Path(__file__).resolve().parents[1] / "benchmarks/results/replicate_scaling.json"


@pytest.fixture(scope="module")
def recorded():
    return json.loads(RECORDED.read_text())


def test_everything_was_measured_in_peace(recorded):
    parts = set(recorded) - {"machine"}
    assert parts == {
        "bare_overhead",
        "cluster",
        "crowd_study",
        "kept_plays",
        "portion_overhead",
        "sizes",
        "summary_memory",
    }
    assert [part for part in parts if not recorded[part]["undisturbed"]] == []


def test_two_cores_are_worth_1_7(recorded):
    study = recorded["crowd_study"]["result"]
    assert {row["strategy"] for row in study["strategies"]} == {"Uniform", "SAR", "LUCB1", "OptMAI"}
    assert study["seconds_one"] / study["seconds_two"] >= 1.7


def test_replicate_costs_at_most_a_twentieth(recorded):
    rows = [row for row in recorded["bare_overhead"]["result"] if row["play_ms"] >= 10]
    assert len(rows) >= 2
    assert max(row["overhead"] for row in rows) <= 0.05


def test_portions_cost_nothing_beside_their_second(recorded):
    portion = recorded["portion_overhead"]["result"]
    cluster = recorded["cluster"]["result"]["seconds_a_portion"]
    assert max(portion["threads"], portion["processes"], cluster) <= 0.02
    assert min(portion["threads"], portion["processes"], cluster) > 0


def test_a_small_play_costs_less_than_one_of_the_crowd_study(recorded):
    """Measurements of different parts agree."""
    plays = {row["strategy"]: row for row in recorded["crowd_study"]["result"]["strategies"]}
    a_second = plays["Uniform"]["plays_a_second"]["alone"]
    assert recorded["portion_overhead"]["result"]["play"] < 1 / a_second


def test_memory_of_a_summary_is_level(recorded):
    rows = recorded["summary_memory"]["result"]
    level = {row["runs"]: row["megabytes"] for row in rows if row["keep"] == "summary"}
    assert max(level.values()) < 500
    many = [level[runs] for runs in (10_000, 30_000, 100_000, 300_000, 1_000_000, 3_000_000)]
    assert max(many) - min(many) < 10


def test_the_record_names_no_machine(recorded):
    """What kind of machine it was, and nothing that tells which one."""
    assert set(recorded["machine"]) == {"processor", "cores", "python", "numpy", "numba", "topk"}
    assert "/" not in RECORDED.read_text()
