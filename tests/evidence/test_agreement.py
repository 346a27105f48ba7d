"""Certified runs have evidence of at most delta, in some of the first of 1,000 runs."""

import pytest
from evidence.agreement import BANDITS, FIRST, STRATEGIES, cases, count_doubtful
from scale import amount

import topk

DEAR = {("UGapEc", "scores"), ("CLUCB", "scores"), ("LUCB1", "scores")}  # 100,000 pulls a run


@pytest.mark.parametrize(("name", "title"), [
    pytest.param(*case, marks=[pytest.mark.slow] if case[1] == "scores" else [])
    for case in cases()])
def test_certified_runs_have_evidence(name, title):
    runs = 4 if (name, title) in DEAR else amount(6, FIRST)
    ended, above = count_doubtful(name, title, runs)
    assert ended >= 4 and above == 0


@pytest.mark.parametrize("name", STRATEGIES)
def test_the_evidence_of_an_outcome_is_at_most_delta(name):
    bandit, *parameters = BANDITS["two"]
    for seed in range(5):
        outcome = topk.run(STRATEGIES[name](*parameters), bandit, rng=seed)
        assert outcome.certified and outcome.evidence() <= 0.05


def test_evidence_detects_a_radius_that_is_too_small():
    """UGapEc with a tenth of the proved c stops far too early, with evidence above delta."""
    bandit, found = topk.BernoulliBandit([0.55, 0.5]), []
    for seed in range(20):
        outcome = topk.run(topk.UGapEc(1, 0.01, 0.05, c=0.05), bandit, rng=seed)
        found.append(outcome.certified and outcome.evidence() > 0.05)
    assert sum(found) > 10
