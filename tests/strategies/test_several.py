"""Several bandits at once: one of them is nothing new, and what is shared is shared."""

import numpy as np
import pytest
from strategies.registry import draw_budget, draw_means

import topk

PAIRS = {
    "SAR": (
        lambda rng, n, budget: topk.SAR(1, budget),
        lambda one: topk.MultiBanditSAR(one.budget),
    ),
    "GapE": (
        lambda rng, n, budget: topk.GapE(1, budget, 10 ** rng.uniform(0, 4)),
        lambda one: topk.MultiBanditGapE(one.budget, one.complexity, one.c),
    ),
    "UGapEb": (
        lambda rng, n, budget: topk.UGapEb(
            int(rng.integers(1, n)), budget, 0.1, [None, 2.0][rng.integers(2)]
        ),
        lambda one: topk.MultiBanditUGapEb(one.k, one.budget, one.epsilon, a=one.a),
    ),
    "UGapEc": (
        lambda rng, n, budget: topk.UGapEc(int(rng.integers(1, n)), 0.2, 0.3, budget=budget),
        lambda one: topk.MultiBanditUGapEc(one.k, one.epsilon, one.delta, one.c, one.budget),
    ),
}


@pytest.mark.parametrize("name", PAIRS)
def test_one_bandit_is_played_as_by_the_strategy_for_one(name):
    make, several = PAIRS[name]
    for number in range(150):
        rng = np.random.default_rng([41, number])
        n = int(rng.integers(2, 12))
        one, means = make(rng, n, draw_budget(rng, n, n + 1, 40 * n)), draw_means(rng, n)
        sessions = one.start(n), several(one).start((1, n))
        while not sessions[0].done:
            (arms, counts), (same, as_often) = (session.ask() for session in sessions)
            assert (arms.tolist(), counts.tolist()) == (same.tolist(), as_often.tolist()), one
            sums = rng.binomial(counts, means[arms]).astype(float)
            for session in sessions:
                session.tell(arms, sums, counts=counts)
        assert sessions[1].done and sessions[1].stopped == sessions[0].stopped
        assert sessions[1].selected.tolist() == [sessions[0].selected.tolist()], one
        if name != "SAR" and name != "GapE":
            for plain, row in zip(sessions[0].bounds(), sessions[1].bounds(), strict=True):
                np.testing.assert_allclose(row[0], plain, atol=1e-12)


def test_pulls_of_multi_bandit_sar_are_those_of_sar_with_as_many_arms():
    means = np.random.default_rng(5).random((4, 5))
    for budget in (21, 100, 3001):
        several = topk.run(topk.MultiBanditSAR(budget), topk.MultiBandit(means), rng=1)
        one = topk.run(topk.SAR(1, budget), topk.BernoulliBandit(means.ravel()), rng=1)
        assert sorted(several.pulls.flat) == sorted(one.pulls), budget


@pytest.mark.parametrize(
    "strategy",
    [
        topk.MultiBanditSAR(6000),
        topk.MultiBanditGapE(6000, complexity=1700.0),
        topk.MultiBanditUGapEb(1, 6000, 0.0, complexity=6800.0),
        topk.MultiBanditUGapEb(1, 6000, 0.0),
        topk.MultiBanditUGapEc(1, 0.1, 0.1),
    ],
    ids=repr,
)
def test_the_hard_bandit_gets_most_of_the_pulls(strategy):
    means = [[0.9, 0.1, 0.1, 0.1], [0.5, 0.45, 0.1, 0.1], [0.8, 0.1, 0.2, 0.1]]
    reps = topk.replicate(strategy, topk.MultiBandit(means), runs=10, seed=2)
    shares = reps.pulls.sum(axis=(0, 2)) / reps.pulls.sum()
    assert shares[1] > 0.5 and np.argmax(shares) == 1


def test_the_promise_of_ugape_for_several_bandits_is_kept():
    """Errors are far rarer than delta: more than 20 in 200 have probability below 1e-9."""
    strategy = topk.MultiBanditUGapEc(2, epsilon=0.2, delta=0.02)
    draw = lambda rng: topk.MultiBandit(rng.random((3, 4)))  # noqa: E731
    frame = topk.replicate(strategy, draw, runs=200, seed=6).frame(epsilon=0.2)
    assert frame["certified"].all()
    assert (~frame.groupby("run")["explore_m"].all()).sum() <= 20


def test_the_variance_form_looks_harder_at_arms_that_vary():
    """Two arms near 1 and two near 1/2, the same gaps: the noisy pair is pulled more."""
    means = [0.98, 0.5, 0.93, 0.45]
    bandit = topk.BernoulliBandit(means)
    strategy = topk.UGapEb(2, 4000, 0.02, a=2.0, variance=True)
    pulls = topk.replicate(strategy, bandit, runs=20, seed=3).pulls.sum(axis=0)
    assert pulls[1] > 2 * pulls[0]


def test_the_variance_form_asks_for_squares_of_real_rewards():
    for strategy in (
        topk.UGapEb(1, 60, 0.1, variance=True),
        topk.UGapEc(1, 0.1, 0.1, variance=True),
    ):
        assert strategy.uses_squares
        session = strategy.start(3)
        with pytest.raises(ValueError, match="squares"):
            session.tell([0, 1, 2], [1.2, 0.5, 0.7], counts=[2, 2, 2])
        session.tell([0, 1, 2], [1.2, 0.5, 0.7], counts=[2, 2, 2], squares=[0.8, 0.2, 0.4])
        assert session.pulls.sum() == 6
    assert not topk.UGapEb(1, 60, 0.1).uses_squares
    assert not topk.UGapEc(1, 0.1, 0.1).uses_squares


def test_the_variance_radius_covers():
    """The empirical Bernstein bound 4 exp(-a), for one arm, at fixed numbers of pulls."""
    strategy, rng = topk.UGapEb(1, 10**6, 0.1, a=3.0, variance=True), np.random.default_rng(7)
    failed, runs, mean = 0, 4000, 0.2
    for pulls in (2, 5, 30, 200):
        state = strategy.start(2).tell([0, 1], [1, 1], [2, 2], squares=[1, 1])._play.s
        for _ in range(runs):
            ones = rng.binomial(pulls, mean)
            state.pulls[:], state.sums[:], state.squares[:] = pulls, ones, ones
            lower, upper = strategy.bounds(state)
            failed += not lower[0] <= mean <= upper[0]
    # 16000 trials of at most 4 exp(-3) = 0.199: 3400 is beyond 6.6 standard deviations
    assert failed < 3400
