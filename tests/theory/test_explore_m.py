"""Theorem 8 of Kalyanakrishnan et al. (2012): families, lemmas, counting, constant."""

import itertools
import math

import numpy as np
import pytest
from scipy.stats import binom

from topk import lower_bounds as lb


def test_every_instance_has_exactly_one_right_answer():
    n, m, epsilon = 7, 3, 0.1
    for size in (m - 1, m):
        for members in lb.explore_m_families(n, m, size):
            means = lb.explore_m_means(n, members, epsilon)
            mth_best = np.sort(means)[-m]
            near = frozenset(np.flatnonzero(means >= mth_best - epsilon).tolist())
            assert near == lb.explore_m_optimal(members, m) and len(near) == m


@pytest.mark.parametrize(("n", "m"), [(2, 1), (4, 2), (5, 2), (6, 3), (8, 3), (9, 4)])
def test_section_4_2_2_counting_is_exact(n, m):
    step = lb.count_pairs(n, m)
    assert step.larger == math.comb(n - 1, m)
    assert step.pairs == math.comb(n - 1, m - 1) * (n - m) == m * step.larger
    assert step.per_member == (m, m) and step.disjoint
    delta = 0.1  # half the pairs at 2 delta / m add up to delta for each J
    assert step.pairs / 2 * 2 * delta / m == pytest.approx(delta * math.comb(n - 1, m))


def test_theorem_8_constant_is_1_over_18375():
    assert 1 / lb.theorem_8_constant() == pytest.approx(18374.93, abs=0.01)
    assert math.ceil(1 / lb.theorem_8_constant()) == 18375


def test_lemma_12_condition_on_the_whole_range_of_theorem_8():
    for m in (6, 7, 50, 10**6):
        for delta in (0.25, 0.1, 1e-3, 1e-30):
            for epsilon in (math.sqrt(1 / 32), 0.1, 1e-3):
                argument = lb.explore_m_argument(m, epsilon, delta)
                assert argument.log_term >= math.log(3) * (1 - 1e-12) and argument.holds
                assert argument.stated_log_ratio < argument.exact_log_ratio < 0
                assert argument.factor == pytest.approx(8 * delta / m)
                limit = lb.theorem_8_constant(argument.log_term)
                assert lb.explore_m_argument(m, epsilon, delta, 0.999 * limit).holds
                assert not lb.explore_m_argument(m, epsilon, delta, 1.001 * limit).holds


def brute_lemma_10(horizon, mean):
    total = 0.0
    for rewards in itertools.product((0, 1), repeat=horizon):
        sums = np.cumsum(rewards) - np.arange(1, horizon + 1) * mean
        if (sums <= -math.sqrt(horizon)).any():
            ones = sum(rewards)
            total += mean**ones * (1 - mean) ** (horizon - ones)
    return total


def test_lemma_10_exact_probability_is_at_most_a_quarter():
    for epsilon in (0.01, 0.1, 0.17):
        for horizon in (1, 4, 9, 10):
            brute = brute_lemma_10(horizon, 0.5 - 2 * epsilon)
            assert lb.lemma_10_probability(horizon, epsilon) == pytest.approx(brute, abs=1e-12)
        for horizon in (1, 7, 100, 1500):
            assert lb.lemma_10_probability(horizon, epsilon) <= 0.25


def test_lemmas_11_and_12_on_every_outcome_of_one_arm():
    # A run pulls arm j exactly T times; W is the worst set of outcomes, the one that loses
    # most when j becomes good: those with few ones first (Neyman and Pearson).
    m, epsilon, delta = 6, 0.01, 1e-6
    argument = lb.explore_m_argument(m, epsilon, delta)
    low, high = 0.5 - 2 * epsilon, 0.5 + 2 * epsilon
    for pulls in (1, 20, int(argument.horizon)):
        ones = np.arange(pulls + 1)
        log_ratio = (2 * ones - pulls) * math.log(high / low)
        near = ones >= pulls / 2 - argument.deviation
        assert (log_ratio[near] >= argument.exact_log_ratio).all()
        assert (log_ratio[near] > argument.stated_log_ratio).all()
        before, after = binom.cdf(ones, pulls, low), binom.cdf(ones, pulls, high)
        assert (after > (before - 0.5) * argument.factor).all()


def test_theorem_8_pulls():
    value = lb.theorem_8_pulls(40, 10, 0.1, 0.05)
    assert value == pytest.approx(40 / 18375 / 0.01 * math.log(10 / 0.4))
