"""Algorithm B on runs of strategies."""

import pytest
from scale import amount

import topk
from topk import lower_bounds as lb
from topk.simulate import algorithm_b as module
from topk.simulate.algorithm_b import algorithm_b
from topk_book.experiments import smallest_budget

N, K, EPSILON = 40, 10, 0.01  # the smallest k and the largest epsilon that Lemma 5.2 covers


def test_lemma_5_2_with_optmai_at_the_budget_of_corollary_4_4_and_starved():
    few, many = amount(200, 500), amount(500, 1500)
    found = smallest_budget(lambda q: topk.OptMAI(K, q), N, K, EPSILON, plays=few, seed=1)
    enough = algorithm_b(topk.OptMAI(K, found.budget), N, EPSILON, plays=many, seed=2)
    starved = algorithm_b(topk.OptMAI(K, found.budget // 30), N, EPSILON, plays=many, seed=3)
    assert enough.reliable.min() > 0.75  # found at .8, on other plays
    assert min(side.low for side in enough.right) > 0.51  # on both sides, at level 1 - 1e-6
    assert min(side.high for side in starved.right) < 0.51
    for result in (enough, starved):
        assert (result.samples <= result.cap).all()
        assert result.cap == 200 * result.pulls / N
    # a test with error .49 cannot do with fewer samples, nor can OptMAI
    assert enough.cap >= min(lb.expected_samples_bound(0.5, 0.5 + 4 * EPSILON, 0.49))
    assert found.budget > lb.theorem_5_1_pulls(N, K, EPSILON)


def test_algorithm_b_with_a_fixed_confidence_strategy():
    strategy = topk.LUCB1(2, epsilon=0.2, delta=0.1)
    result = algorithm_b(strategy, 6, 0.06, plays=300, seed=5)
    assert result.pulls > 6 and result.reliable.min() > 0.8  # Q measured: LUCB1 has no budget
    assert min(side.estimate for side in result.right) > 0.51
    assert result.cap == pytest.approx(200 * result.pulls / 6)


def test_algorithm_b_stops_at_the_cap_and_then_says_high():
    # With Q given absurdly small the cap is one sample: always "high".
    result = algorithm_b(topk.Uniform(2, budget=60), 6, 0.05, plays=50, pulls=6 / 200, seed=0)
    assert result.cap == 1 and result.capped.tolist() == [1, 1]
    assert [side.estimate for side in result.right] == [0, 1]
    assert result.samples.tolist() == [1, 1]


def test_both_instances_are_run_and_neighbouring_seeds_share_no_runs(monkeypatch):
    used, played = [], []

    def replicate(strategy, bandit, runs, *, seed, jobs):
        used.append(seed)
        played.append(bandit.means.tolist())
        return topk.replicate(strategy, bandit, runs, seed=seed, jobs=jobs)

    monkeypatch.setattr(module, "replicate", replicate)
    for seed in range(5):
        algorithm_b(topk.Uniform(2, 60), 4, 0.1, 2, seed=seed)
    assert len(used) == len(set(used)) == 10
    assert played == 5 * [[0.5, 0.9, 0.5, 0.5], [0.9, 0.9, 0.5, 0.5]]
