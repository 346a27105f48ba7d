"""Likelihood ratios as exact changes of measure; Lemma 5.3: the optimal tests of one arm."""

import itertools
import math

import numpy as np
import pytest
from scipy.optimize import linprog
from scipy.stats import binom

import topk
from topk import lower_bounds as lb
from topk.hardness import bernoulli_kl

NU, OTHER = np.array([0.7, 0.55, 0.5, 0.3]), np.array([0.6, 0.65, 0.5, 0.35])


def pull_by_pull(arms, rewards, means, other):
    """ln(P_other / P_means) from the record, one factor a pull, correctly summed."""
    rows = zip(means[arms], other[arms], rewards, strict=True)
    return math.fsum(math.log(q / p if reward else (1 - q) / (1 - p)) for p, q, reward in rows)


@pytest.mark.parametrize("strategy",
                         [topk.LUCB1(2, epsilon=0.1, delta=0.1), topk.SAR(2, budget=900),
                          topk.OptMAI(1, budget=500), topk.AdaptiveTopK(2, epsilon=0.3, delta=0.2)],
                         ids=lambda strategy: type(strategy).__name__)
def test_likelihood_ratio_of_recorded_plays_to_1e_10(strategy):
    for seed in range(3):
        outcome = topk.run(strategy, topk.BernoulliBandit(NU), rng=seed, trace=True)
        arms, rewards = outcome.trace
        pulls, sums = lb.totals(arms, rewards, 4)
        assert np.array_equal(pulls, outcome.pulls) and np.array_equal(sums, outcome.sums)
        got = lb.log_likelihood_ratio(pulls, sums, NU, OTHER)
        assert got == pytest.approx(pull_by_pull(arms, rewards, NU, OTHER), abs=1e-10)


def test_ratio_changes_the_measure_exactly_on_every_record_of_an_adaptive_rule():
    # Pull arm 0 after a one and arm 1 after a zero: all 2^8 records, no sampling.
    p, q = np.array([0.3, 0.8]), np.array([0.6, 0.5])
    weight_p = weight_q = change = carried = log_mean = 0.0
    for rewards in itertools.product((0, 1), repeat=8):
        arms = [0] + [0 if r else 1 for r in rewards[:-1]]
        chance_p = math.prod(p[a] if r else 1 - p[a] for a, r in zip(arms, rewards, strict=True))
        chance_q = math.prod(q[a] if r else 1 - q[a] for a, r in zip(arms, rewards, strict=True))
        pulls, sums = lb.totals(arms, rewards, 2)
        ratio = lb.log_likelihood_ratio(pulls, sums, p, q)
        weight_p, weight_q = weight_p + chance_p, weight_q + chance_q * (sum(rewards) <= 4)
        change += chance_p * math.exp(ratio) * (sum(rewards) > 4)
        carried += chance_p * lb.information(pulls, p, q)
        log_mean += chance_p * ratio
    assert weight_p == pytest.approx(1)
    assert change == pytest.approx(1 - weight_q)  # P_q(E) = E_p[ratio; E]
    assert carried == pytest.approx(-log_mean)  # Wald


def test_many_plays_at_once_and_records_that_are_impossible():
    pulls, sums = np.array([[3, 0], [1, 2]]), np.array([[1, 0], [1, 0]])
    both = lb.log_likelihood_ratio(pulls, sums, [0.5, 0.5], [0.2, 0.9])
    assert both[1] == lb.log_likelihood_ratio(pulls[1], sums[1], [0.5, 0.5], [0.2, 0.9])
    assert lb.log_likelihood_ratio([1, 0], [1, 0], [0.5, 0.5], [0.0, 0.5]) == -math.inf
    assert lb.log_likelihood_ratio([1, 0], [1, 0], [1.0, 0.5], [0.5, 0.5]) == -math.log(2)
    assert lb.information([1, 0], [0.5, 0.5], [0.0, 0.5]) == math.inf
    assert lb.information([0, 1], [0.5, 0.5], [0.0, 0.5]) == 0
    with pytest.raises(ValueError, match="sums"):
        lb.log_likelihood_ratio([1, 0], [1, 0], [0.0, 0.5], [0.5, 0.5])


def test_fixed_test_equals_the_linear_programme_over_all_tests():
    # Minimise e over tests phi(ones) in [0, 1]: E_p phi <= e, E_q (1 - phi) <= e.
    rng = np.random.default_rng(1)
    for _ in range(60):
        samples, (p, q) = int(rng.integers(0, 12)), np.sort(rng.uniform(0.05, 0.95, 2))
        ones = np.arange(samples + 1)
        under_p, under_q = binom.pmf(ones, samples, p), binom.pmf(ones, samples, q)
        rows = np.vstack([np.append(under_p, -1), np.append(-under_q, -1)])
        best = linprog(np.append(np.zeros(samples + 1), 1), A_ub=rows, b_ub=[0, -1],
                       bounds=[(0, 1)] * (samples + 2))
        assert lb.fixed_test_error(samples, p, q) == pytest.approx(best.fun, abs=1e-9)


def test_fixed_test_samples_is_the_smallest():
    for p, q, error in [(0.5, 0.54, 0.49),
                        (0.5, 0.54, 0.05),
                        (0.25, 0.75, 1e-3),
                        (0.5, 0.504, 0.49)]:
        samples = lb.fixed_test_samples(p, q, error)
        assert lb.fixed_test_error(samples, p, q) <= error < lb.fixed_test_error(samples - 1, p, q)


def test_lemma_5_3_needs_order_1_over_epsilon_squared():
    sizes = [lb.fixed_test_samples(0.5, 0.5 + 4 * e, 0.49) * e**2 for e in (2e-3, 1e-3, 5e-4)]
    assert max(sizes) < 1.6 * min(sizes)
    assert lb.fixed_test_samples(0.5, 0.54, 0.49) == 1  # the hidden constant is small
    for epsilon in (0.01, 0.001):
        bound = min(lb.expected_samples_bound(0.5, 0.5 + 4 * epsilon, 0.49))
        assert bound * epsilon**2 == pytest.approx(2.5e-5, rel=0.02)
        assert bound <= lb.fixed_test_samples(0.5, 0.5 + 4 * epsilon, 0.49)


@pytest.mark.parametrize("lead", [1, 2, 5, 9])
def test_sprt_equals_the_gamblers_ruin(lead):
    test = lb.sprt(0.25, 0.75, (lead - 0.5) * math.log(3))
    error = 1 / (1 + 3**lead)
    assert test.errors == pytest.approx((error, error), rel=1e-9)
    assert test.samples == pytest.approx([2 * lead * (1 - 2 * error)] * 2, rel=1e-9)


def test_sprt_equals_a_simulation():
    # Normal bounds at 6 standard errors: false alarm below 1e-8 each.
    p, q, threshold, plays = 0.5, 0.58, 1.7, 20_000
    test, rng = lb.sprt(p, q, threshold), np.random.default_rng(2)
    for side, mean in enumerate((p, q)):
        ratio, samples, active = np.zeros(plays), np.zeros(plays), np.ones(plays, dtype=bool)
        while active.any():
            ones = rng.random(active.sum()) < mean
            ratio[active] += np.where(ones, math.log(q / p), math.log((1 - q) / (1 - p)))
            samples[active] += 1
            active &= np.abs(ratio) < threshold
        wrong = (ratio > 0) if side == 0 else (ratio < 0)
        error = math.sqrt(test.errors[side] / plays)
        assert abs(wrong.mean() - test.errors[side]) < 6 * error
        assert abs(samples.mean() - test.samples[side]) < 6 * samples.std() / math.sqrt(plays)


def test_sprt_keeps_its_error_and_stands_between_walds_bound_and_the_fixed_test():
    for p, q, error in [(0.5, 0.58, 0.05), (0.1, 0.2, 0.2)]:
        test = lb.sprt_with_error(p, q, error)
        assert max(test.errors) <= error
        smaller = lb.sprt(p, q, 0.98 * test.threshold)
        assert max(smaller.errors) > 0.9 * error
        # Wald's identity, exactly: the samples against the drift of the log ratio
        bounds = lb.expected_samples_bound(p, q, error)
        assert all(s >= b for s, b in zip(test.samples, bounds, strict=True))
        assert max(test.samples) < lb.fixed_test_samples(p, q, error)


def test_expected_samples_bound_formula():
    first, second = lb.expected_samples_bound(0.3, 0.4, 0.1)
    needed = 0.8 * math.log(9)
    assert first == pytest.approx(needed / bernoulli_kl(0.3, 0.4))
    assert second == pytest.approx(needed / bernoulli_kl(0.4, 0.3))


def test_theorem_5_1_constant():
    for n, k, epsilon in [(1000, 10, 0.01), (1000, 500, 0.001)]:
        needed = 0.02 * math.log(0.51 / 0.49)
        kl = -0.5 * math.log(1 - 64 * epsilon**2)  # kl(1/2, 1/2 + 4 eps), the larger
        value = lb.theorem_5_1_pulls(n, k, epsilon)
        assert value == pytest.approx(n / 200 * needed / kl, rel=1e-3)
        assert value * epsilon**2 / n == pytest.approx(1.25e-7, rel=0.02)
