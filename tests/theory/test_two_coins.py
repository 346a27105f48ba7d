"""Likelihood ratios of many runs; Lemma 5.3: the optimal tests of one arm."""

import math

import numpy as np
import pytest
from scipy.optimize import linprog
from scipy.stats import binom

from topk import lower_bounds as lb


def test_many_runs_at_once_and_impossible_records():
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
