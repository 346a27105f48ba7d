"""Theorem 7.1 of the supplement of Zhou et al. (2014): uniform sampling's own bound."""

import itertools
import math

import numpy as np
import pytest

import topk
from topk.claims import proportion_interval
from topk.lower_bounds import theorem_7_1_pulls, uniform_failure


def test_failure_probability_equals_enumeration():
    n, k, epsilon, pulls = 4, 2, 0.1, 3
    means = np.array([0.9, 0.9, 0.5, 0.5])
    low = high = 0.0
    for ones in itertools.product(range(pulls + 1), repeat=n):
        chance = math.prod(
            math.comb(pulls, c) * p**c * (1 - p) ** (pulls - c)
            for c, p in zip(ones, means, strict=True)
        )
        for favour_good in (True, False):
            # the k largest, ties for the good or for the bad arms; failing = a good one missing
            order = sorted(range(n), key=lambda i: (-ones[i], (i >= k) == favour_good))
            failed = any(arm >= k for arm in order[:k])
            low += chance * failed * favour_good
            high += chance * failed * (not favour_good)
    assert uniform_failure(n, k, epsilon, pulls) == pytest.approx((low, high))


def test_failure_probability_brackets_the_real_strategy():
    n, k, epsilon, pulls, runs = 60, 6, 0.05, 100, 3000
    bandit = topk.BernoulliBandit(np.where(np.arange(n) < k, 0.5 + 4 * epsilon, 0.5))
    reps = topk.replicate(topk.Uniform(k, n * pulls), bandit, runs=runs, seed=2)
    regret = topk.metrics.aggregate_regret(reps.selected[:, -1], bandit.means)
    measured = proportion_interval(int((regret > epsilon + 1e-12).sum()), runs, 1 - 1e-7)
    low, high = uniform_failure(n, k, epsilon, pulls)
    assert measured.low <= high and low <= measured.high and high - low < 0.15


@pytest.mark.parametrize("k", [1, 4, 10, 40])
def test_theorem_7_1_failure_is_at_least_5_percent_beyond_6000(k):
    n = 6001 * k
    for epsilon in (0.009, 0.003):
        pulls = math.floor(theorem_7_1_pulls(n, k, epsilon))
        assert uniform_failure(n, k, epsilon, pulls)[0] >= 0.05


def test_uniform_sampling_needs_log_n_over_k():
    # Pulls per arm at which the failure probability is 1/20, against n / k.
    needed = []
    for n in (100, 1000, 10_000):
        pulls = 1
        while uniform_failure(n, 10, 0.05, pulls)[0] > 0.05:
            pulls = math.ceil(1.05 * pulls)
        needed.append(pulls)
    steps = np.diff(needed)
    assert (steps > 0).all() and steps[1] > 0.4 * steps[0]


@pytest.mark.parametrize(
    ("call", "name"),
    [
        (lambda: theorem_7_1_pulls(10, 6, 0.005), "k must"),
        (lambda: theorem_7_1_pulls(10, 5, 0.01), "epsilon"),
        (lambda: uniform_failure(10, 5, 0.2, 10), "epsilon"),
        (lambda: uniform_failure(10, 5, 0.1, 0), "pulls"),
    ],
)
def test_bad_arguments_are_refused_by_name(call, name):
    with pytest.raises(ValueError, match=name):
        call()
