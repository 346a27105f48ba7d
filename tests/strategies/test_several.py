"""Strategies for several bandits: agreement for one bandit, and shared budgets and errors."""

import numpy as np
import pytest

import topk

PAIRS = [
    (topk.SAR(1, 80), topk.MultiBanditSAR(80)),
    (topk.GapE(1, 80, 30.0), topk.MultiBanditGapE(80, 30.0)),
    (topk.UGapEb(3, 80, 0.1), topk.MultiBanditUGapEb(3, 80, 0.1)),
    (topk.UGapEc(2, 0.2, 0.3, budget=80), topk.MultiBanditUGapEc(2, 0.2, 0.3, budget=80)),
]


@pytest.mark.parametrize(("one", "several"), PAIRS, ids=lambda s: type(s).__name__)
def test_one_bandit_is_run_as_by_the_strategy_for_one(one, several):
    sessions, rng = (one.start(6), several.start((1, 6))), np.random.default_rng(41)
    while not sessions[0].done:
        (arms, counts), (same, as_often) = (session.ask() for session in sessions)
        assert (arms.tolist(), counts.tolist()) == (same.tolist(), as_often.tolist())
        sums = rng.binomial(counts, arms / 10).astype(float)
        for session in sessions:
            session.tell(arms, sums=sums, counts=counts)
        for plain, row in zip(*(session.intervals() for session in sessions), strict=True):
            np.testing.assert_allclose(row[0], plain, atol=1e-12)
    assert sessions[1].done and sessions[1].stopped == sessions[0].stopped
    assert sessions[1].selected.tolist() == [sessions[0].selected.tolist()]


def test_the_guarantee_of_ugape_for_several_bandits_holds():
    """Errors are far rarer than delta: more than 20 in 200 have probability below 1e-9."""
    strategy = topk.MultiBanditUGapEc(2, epsilon=0.2, delta=0.02)
    draw = lambda rng: topk.MultiBandit(rng.random((3, 4)))  # noqa: E731
    frame = topk.replicate(strategy, draw, runs=200, seed=6).frame(epsilon=0.2)
    assert frame["certified"].all()
    assert (~frame.groupby("run")["explore_m"].all()).sum() <= 20


def test_the_variance_radius_covers():
    """The empirical Bernstein bound 4 exp(-a), for one arm, at fixed numbers of pulls."""
    strategy, rng = topk.UGapEb(1, 10**6, 0.1, a=3.0, variance=True), np.random.default_rng(7)
    failed, runs, mean = 0, 4000, 0.2
    for pulls in (2, 5, 30, 200):
        state = strategy.start(2).tell([0, 1], [1, 1], [2, 2], squares=[1, 1]).engine.s
        for _ in range(runs):
            ones = rng.binomial(pulls, mean)
            state.pulls[:], state.sums[:], state.squares[:] = pulls, ones, ones
            lower, upper = strategy.intervals(state)
            failed += not lower[0] <= mean <= upper[0]
    # 16000 trials of at most 4 exp(-3) = 0.199: 3400 is beyond 6.6 standard deviations
    assert failed < 3400
