"""Algorithm B and Theorem 5.1 of Zhou et al. (2014), on real strategies."""

import math

import numpy as np
import pytest

import topk
from topk.lower_bounds import (
    algorithm_b,
    expected_samples_bound,
    smallest_budget,
    theorem_5_1_pulls,
)

N, K, EPSILON = 40, 10, 0.01  # the smallest k and the largest epsilon that Lemma 5.2 covers


def test_lemma_5_2_with_optmai_at_the_budget_of_corollary_4_4_and_starved():
    found = smallest_budget(lambda q: topk.OptMAI(K, q), N, K, EPSILON, plays=1000, seed=1)
    enough = algorithm_b(topk.OptMAI(K, found.budget), N, EPSILON, plays=10_000, seed=2)
    starved = algorithm_b(topk.OptMAI(K, found.budget // 30), N, EPSILON, plays=10_000, seed=3)
    print(
        f"smallest budget {found.budget} = {found.constant:.3f} n/eps^2 (1 + ln 5 / k); "
        f"right with it: {[tuple(round(float(v), 3) for v in r) for r in enough.right]}; "
        f"starved: {[tuple(round(float(v), 3) for v in r) for r in starved.right]}"
    )
    assert enough.reliable.min() > 0.75  # found at .8, on other plays
    assert min(side.low for side in enough.right) > 0.51  # on both sides, at level 1 - 1e-6
    assert min(side.high for side in starved.right) < 0.51
    for result in (enough, starved):
        assert (result.samples <= result.cap).all()
        assert result.cap == 200 * result.pulls / N
    # a test with error .49 cannot do with fewer samples, nor can OptMAI
    assert enough.cap >= min(expected_samples_bound(0.5, 0.5 + 4 * EPSILON, 0.49))
    assert found.budget > theorem_5_1_pulls(N, K, EPSILON)


def test_threshold_falls_with_q_over_n_times_epsilon_squared():
    # The worse side's probability depends on Q / n * epsilon^2, and falls with it.
    worse = {}
    for epsilon in (0.01, 0.02):
        for unit in (0.002, 0.02, 0.2):
            budget = math.ceil(unit * N / epsilon**2)
            result = algorithm_b(topk.OptMAI(K, budget), N, epsilon, plays=1500, seed=4)
            worse[epsilon, unit] = min(side.estimate for side in result.right)
    for epsilon in (0.01, 0.02):
        assert worse[epsilon, 0.002] < 0.51 < worse[epsilon, 0.2]
        assert worse[epsilon, 0.002] < worse[epsilon, 0.02] < worse[epsilon, 0.2]
    for unit in (0.002, 0.02, 0.2):
        assert worse[0.01, unit] == pytest.approx(worse[0.02, unit], abs=0.12)


def test_algorithm_b_with_a_fixed_confidence_strategy():
    strategy = topk.LUCB1(2, epsilon=0.2, delta=0.1)
    result = algorithm_b(strategy, 6, 0.06, plays=300, seed=5)
    assert result.pulls > 6 and result.reliable.min() > 0.8  # Q measured: LUCB1 has no budget
    assert min(side.estimate for side in result.right) > 0.51
    assert result.cap == pytest.approx(200 * result.pulls / 6)


def test_algorithm_b_stops_at_the_cap_and_then_says_high():
    # With Q given absurdly small the cap is one sample: always "high".
    result = algorithm_b(topk.Uniform(2, budget=60), 6, 0.05, plays=50, pulls=6 / 200)
    assert result.cap == 1 and result.capped.tolist() == [1, 1]
    assert [side.estimate for side in result.right] == [0, 1]
    assert result.samples.tolist() == [1, 1]


def test_planting_at_arm_0_equals_planting_anywhere():
    # The paper draws S and the planted arm at random. Same law by the random arm order;
    # each comparison has false alarm below 1e-7.
    n, k, epsilon, plays = 8, 2, 0.1, 2000
    strategy = topk.SAR(k, budget=160)
    fixed = algorithm_b(strategy, n, epsilon, plays, seed=6, level=1 - 1e-7)

    def drawn(rng):
        means = np.full(n, 0.5)
        means[rng.choice(n, k, replace=False)] += 4 * epsilon
        means[np.argmax(means)] = 0.5  # the planted arm: the first of S, of mean 1/2
        return topk.BernoulliBandit(means)

    reps = topk.replicate(strategy, drawn, runs=plays, seed=7)
    # the arm of S left good, and one of n - k + 1 equal arms: is the planted one returned?
    good = reps.means.argmax(axis=1)
    both = (reps.selected[:, -1] == good[:, None]).any(axis=1)
    share = ((2 - both) / (n - 1)).mean()  # chance of the planted one among the equals
    assert fixed.right[0].low <= 1 - share + 0.01 and 1 - share - 0.01 <= fixed.right[0].high


def test_theorem_5_1_constant():
    for n, k, epsilon in [(1000, 10, 0.01), (1000, 500, 0.001)]:
        needed = 0.02 * math.log(0.51 / 0.49)
        kl = -0.5 * math.log(1 - 64 * epsilon**2)  # kl(1/2, 1/2 + 4 eps), the larger
        value = theorem_5_1_pulls(n, k, epsilon)
        assert value == pytest.approx(n / 200 * needed / kl, rel=1e-3)
        assert value * epsilon**2 / n == pytest.approx(1.25e-7, rel=0.02)


def test_smallest_budget_is_the_first_on_its_grid():
    def make(budget):
        return topk.Uniform(2, budget)

    found = smallest_budget(make, 8, 2, 0.05, delta=0.3, plays=400, seed=8, ratio=1.5)
    assert found.reliable.estimate >= 0.7
    unit = 8 / 0.05**2 * (1 + math.log(1 / 0.3) / 2)
    assert found.constant == pytest.approx(found.budget / unit)
    smaller = math.ceil(found.budget / 1.5)
    means = np.where(np.arange(8) < 2, 0.7, 0.5)
    reps = topk.replicate(make(smaller), topk.BernoulliBandit(means), runs=400, seed=8)
    regret = topk.metrics.aggregate_regret(reps.selected[:, -1], means)
    assert (regret <= 0.05 + 1e-12).mean() < 0.7


@pytest.mark.parametrize(
    ("call", "name"),
    [
        (lambda: algorithm_b(topk.Uniform(4, 100), 6, 0.01, 10), "k must"),
        (lambda: algorithm_b(topk.Uniform(2, 100), 6, 0.125, 10), "epsilon"),
        (lambda: algorithm_b(topk.Uniform(2, 100), 6, 0.01, 0), "runs|plays"),
        (lambda: algorithm_b(topk.Uniform(2, 100), 6, 0.01, 10, pulls=0), "pulls"),
        (lambda: smallest_budget(None, 6, 4, 0.01), "k must"),
        (lambda: smallest_budget(None, 6, 2, 0.0), "epsilon"),
        (lambda: smallest_budget(None, 6, 2, 0.1, ratio=1.0), "ratio"),
        (lambda: theorem_5_1_pulls(100, 9, 0.01), "k must"),
        (lambda: theorem_5_1_pulls(100, 10, 0.02), "epsilon"),
    ],
)
def test_bad_arguments_are_refused_by_name(call, name):
    with pytest.raises(ValueError, match=name):
        call()
