"""Likelihood ratios: recomputed pull by pull, and as exact changes of measure."""

import itertools
import math

import numpy as np
import pytest

import topk
from topk.lower_bounds import information, log_likelihood_ratio, totals

NU, OTHER = np.array([0.7, 0.55, 0.5, 0.3]), np.array([0.6, 0.65, 0.5, 0.35])


def pull_by_pull(arms, rewards, means, other):
    """ln(P_other / P_means) from the record, one factor a pull, correctly summed."""
    terms = []
    for arm, reward in zip(arms, rewards, strict=True):
        p, q = float(means[arm]), float(other[arm])
        terms.append(math.log(q / p) if reward else math.log((1 - q) / (1 - p)))
    return math.fsum(terms)


@pytest.mark.parametrize(
    "strategy",
    [
        topk.LUCB1(2, epsilon=0.1, delta=0.1),
        topk.SAR(2, budget=900),
        topk.OptMAI(1, budget=500),
        topk.AdaptiveTopK(2, epsilon=0.3, delta=0.2),
    ],
    ids=lambda strategy: type(strategy).__name__,
)
def test_likelihood_ratio_of_recorded_plays_to_1e_10(strategy):
    for seed in range(3):
        outcome = topk.run(strategy, topk.BernoulliBandit(NU), rng=seed, trace=True)
        arms, rewards = outcome.trace
        pulls, sums = totals(arms, rewards, 4)
        assert np.array_equal(pulls, outcome.pulls) and np.array_equal(sums, outcome.sums)
        got = log_likelihood_ratio(pulls, sums, NU, OTHER)
        assert got == pytest.approx(pull_by_pull(arms, rewards, NU, OTHER), abs=1e-10)


def test_ratio_changes_the_measure_exactly_on_every_record_of_an_adaptive_rule():
    # Pull arm 0 after a one and arm 1 after a zero: all 2^8 records, no sampling.
    p, q = np.array([0.3, 0.8]), np.array([0.6, 0.5])
    weight_p = weight_q = change = carried = log_mean = 0.0
    for rewards in itertools.product((0, 1), repeat=8):
        arms = [0] + [0 if r else 1 for r in rewards[:-1]]
        chance_p = math.prod(p[a] if r else 1 - p[a] for a, r in zip(arms, rewards, strict=True))
        chance_q = math.prod(q[a] if r else 1 - q[a] for a, r in zip(arms, rewards, strict=True))
        pulls, sums = totals(arms, rewards, 2)
        ratio = log_likelihood_ratio(pulls, sums, p, q)
        weight_p, weight_q = weight_p + chance_p, weight_q + chance_q
        change += chance_p * math.exp(ratio) * (sum(rewards) > 4)
        carried += chance_p * information(pulls, p, q)
        log_mean += chance_p * ratio
        if sum(rewards) > 4:
            weight_q -= chance_q
    assert weight_p == pytest.approx(1)
    assert change == pytest.approx(1 - weight_q)  # P_q(E) = E_p[ratio; E]
    assert carried == pytest.approx(-log_mean)  # Wald


def test_many_plays_at_once_and_records_that_are_impossible():
    pulls, sums = np.array([[3, 0], [1, 2]]), np.array([[1, 0], [1, 0]])
    both = log_likelihood_ratio(pulls, sums, [0.5, 0.5], [0.2, 0.9])
    assert both[1] == log_likelihood_ratio(pulls[1], sums[1], [0.5, 0.5], [0.2, 0.9])
    assert log_likelihood_ratio([1, 0], [1, 0], [0.5, 0.5], [0.0, 0.5]) == -math.inf
    assert log_likelihood_ratio([1, 0], [1, 0], [1.0, 0.5], [0.5, 0.5]) == -math.log(2)
    assert information([1, 0], [0.5, 0.5], [0.0, 0.5]) == math.inf
    assert information([0, 1], [0.5, 0.5], [0.0, 0.5]) == 0
    with pytest.raises(ValueError, match="sums"):
        log_likelihood_ratio([1, 0], [1, 0], [0.0, 0.5], [0.5, 0.5])


@pytest.mark.parametrize(
    ("call", "name"),
    [
        (lambda: totals([0, 2], [0, 1], 2), "arms"),
        (lambda: totals([0, 1], [0], 2), "rewards"),
        (lambda: totals([0, 1], [0, 0.5], 2), "rewards"),
        (lambda: log_likelihood_ratio([1, 1], [2, 0], [0.5, 0.5], [0.5, 0.5]), "sums"),
        (lambda: log_likelihood_ratio([1, 1], [0.5, 0], [0.5, 0.5], [0.5, 0.5]), "sums"),
        (lambda: log_likelihood_ratio([1], [1], [0.5, 0.5], [0.5, 0.5]), "pulls"),
        (lambda: log_likelihood_ratio([1, 1], [1, 0], [0.5, 0.5], [0.5] * 3), "other"),
        (lambda: information([1, -1], [0.5, 0.5], [0.5, 0.6]), "pulls"),
    ],
)
def test_bad_arguments_are_refused_by_name(call, name):
    with pytest.raises(ValueError, match=name):
        call()
