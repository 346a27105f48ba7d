"""When a strategy stops of its own accord, evidence is at most delta: the first of 1,000 runs."""

import pytest
from evidence.agreement import BANDITS, FIRST, STRATEGIES, cases, doubtful

import topk

DEAR = {("UGapEc", "scores"), ("CLUCB", "scores"), ("LUCB1", "scores")}  # 100,000 pulls a run


@pytest.mark.parametrize(("name", "title"), [*cases()])
def test_certified_runs_have_evidence(name, title):
    ended, above = doubtful(name, title, 4 if (name, title) in DEAR else FIRST)
    assert ended >= 4 and above == 0


@pytest.mark.parametrize("name", STRATEGIES)
def test_an_outcome_says_the_same(name):
    bandit, *parameters = BANDITS["two"]
    for seed in range(5):
        outcome = topk.run(STRATEGIES[name](*parameters), bandit, rng=seed)
        assert outcome.certified and outcome.evidence() <= 0.05


def test_a_radius_below_what_is_proved_is_found_out():
    """UGapEc with a tenth of the proved c stops far too early, and evidence says so."""
    bandit, found = topk.BernoulliBandit([0.55, 0.5]), []
    for seed in range(20):
        outcome = topk.run(topk.UGapEc(1, 0.01, 0.05, c=0.05), bandit, rng=seed)
        found.append(outcome.certified and outcome.evidence() > 0.05)
    assert sum(found) > 10
