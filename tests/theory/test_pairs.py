"""The paired instance for Theorem 3 of Chen et al. (2017); Theorem 7.1 of Zhou et al. (2014)."""

import itertools
import math

import numpy as np
import pytest
from scipy.stats import binom

import topk
from topk import hardness
from topk import lower_bounds as lb


def test_instance_has_gaps_one_half_and_h_4n():
    signs = np.random.default_rng(1).random(50) < 0.5
    means = lb.paired_means(signs)
    assert (hardness.gaps(means, 50) == 0.5).all()
    for epsilon in (0.01, 0.1, 0.3):
        assert hardness.tolerance(means, 50, epsilon) == min(math.floor(100 * epsilon + 1e-9), 49)
        assert hardness.topk_complexity(means, 50, epsilon) == 4 * 100


def test_posterior_odds_are_bayes_rule_on_a_recorded_play():
    signs = np.array([True, False, True])
    bandit = topk.BernoulliBandit(lb.paired_means(signs))
    arms, rewards = topk.run(topk.Uniform(3, budget=60), bandit, rng=1, trace=True).trace
    weights = {}
    for guess in itertools.product((True, False), repeat=3):
        means = lb.paired_means(guess)
        weights[guess] = math.prod(
            means[a] if r else 1 - means[a] for a, r in zip(arms, rewards, strict=True))
    odds = lb.pair_log_odds(arms, rewards, 3)
    for j in range(3):
        first = sum(w for guess, w in weights.items() if guess[j])
        second = sum(w for guess, w in weights.items() if not guess[j])
        assert odds[j] == pytest.approx(math.log(first / second), abs=1e-9)
    # independent given the record: the joint posterior is the product
    total = sum(weights.values())
    share = 1 / (1 + np.exp(-odds))
    for guess, weight in weights.items():
        assert weight / total == pytest.approx(np.prod(np.where(guess, share, 1 - share)))


def test_bayes_error_is_at_least_half_3_to_the_minus_q():
    for q in range(13):
        brute = 0.0
        for walk in itertools.product((1, -1), repeat=q):
            lead = sum(walk)  # evidence for the right order
            chance = 0.75 ** ((q + lead) / 2) * 0.25 ** ((q - lead) / 2)
            brute += chance * (1.0 if lead < 0 else 0.5 if lead == 0 else 0.0)
        assert lb.pair_error(q) == pytest.approx(brute)
        assert lb.pair_error(q) >= 0.5 * 3.0**-q
        # and no adaptive stopping beats 1 / (1 + 3^q), the most certain posterior
        assert 0.5 * 3.0**-q <= 1 / (1 + 3.0**q)


def test_step_i_wrong_guesses_and_regret():
    rng = np.random.default_rng(2)
    for _ in range(200):
        k = int(rng.integers(1, 9))
        signs, selected = rng.random(k) < 0.5, rng.choice(2 * k, k, replace=False)
        counts = lb.pair_counts(selected, signs)
        regret = topk.metrics.aggregate_regret(selected, lb.paired_means(signs))
        assert regret == pytest.approx(counts.missing / (2 * k))
        assert counts.none == counts.both  # k arms in k pairs
        assert counts.none + counts.wrong + counts.both <= 2 * counts.missing


def test_step_iii_success_bound_holds_for_the_best_strategy():
    # Best use of q = Q_0 / K pulls a pair: majority in each pair. The number of wrong pairs
    # is Bin(K, lb.pair_error(q)), and success needs at most 2 epsilon K of them.
    for n, epsilon in [(10_000, 1 / 256), (10_000, 1e-3), (100_000, 1e-4)]:
        k = n // 2
        q = math.floor(lb.theorem_3_pulls(n, epsilon) / k)
        assert lb.theorem_3_pulls(n, epsilon) == pytest.approx(k / 2 * math.log(1 / epsilon, 3))
        success = binom.cdf(math.floor(2 * epsilon * k), k, lb.pair_error(q))
        assert success <= lb.theorem_3_success(n, epsilon)
        # by convexity as many wrong pairs on average, and Chernoff's bound at half of them
        wrong = k / 2 * 3 ** -(lb.theorem_3_pulls(n, epsilon) / k)
        assert 2 * epsilon * k <= wrong / 2
        assert lb.theorem_3_success(n, epsilon) == pytest.approx(math.exp(-wrong / 8))


@pytest.mark.parametrize(("epsilon", "pulls"), [(0.001, 12.0), (0.005, 9.9), (0.02, 5.6)])
def test_pair_sprt_of_the_reference(epsilon, pulls):
    lead, expected = lb.pair_sprt(epsilon)
    assert expected == pytest.approx(pulls, abs=0.05)
    assert 0.5 / (1 + 3**lead) <= epsilon < 0.5 / (1 + 3 ** (lead - 1))
    if epsilon <= 1 / 256:
        assert lb.theorem_3_pulls(1000, epsilon) / 500 < expected


@pytest.mark.parametrize(("n", "k", "pulls"), [(4, 2, 3), (8, 4, 2)])
def test_failure_probability_equals_enumeration(n, k, pulls):
    means = np.where(np.arange(n) < k, 0.9, 0.5)
    low = high = 0.0
    for ones in itertools.product(range(pulls + 1), repeat=n):
        chance = math.prod(math.comb(pulls, c) * p**c * (1 - p) ** (pulls - c)
                           for c, p in zip(ones, means, strict=True))
        for favour_good in (True, False):
            # the k largest, ties for the good or for the bad arms; more than k / 4 good missing
            order = sorted(range(n), key=lambda i: (-ones[i], (i >= k) == favour_good))
            failed = sum(arm >= k for arm in order[:k]) > k / 4
            low += chance * failed * favour_good
            high += chance * failed * (not favour_good)
    assert lb.uniform_failure(n, k, 0.1, pulls) == pytest.approx((low, high))


@pytest.mark.parametrize("k", [1, 4, 10, 40])
def test_theorem_7_1_failure_is_at_least_5_percent_beyond_6000(k):
    n = 6001 * k
    for epsilon in (0.009, 0.003):
        pulls = math.floor(lb.theorem_7_1_pulls(n, k, epsilon))
        assert lb.uniform_failure(n, k, epsilon, pulls)[0] >= 0.05


def test_uniform_sampling_needs_log_n_over_k():
    # Pulls per arm at which the failure probability is 1/20, against n / k.
    needed = []
    for n in (100, 1000, 10_000):
        pulls = 1
        while lb.uniform_failure(n, 10, 0.05, pulls)[0] > 0.05:
            pulls = math.ceil(1.05 * pulls)
        needed.append(pulls)
    steps = np.diff(needed)
    assert (steps > 0).all() and steps[1] > 0.4 * steps[0]
