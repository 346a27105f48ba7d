"""Theorem 8 of Kalyanakrishnan et al. (2012): families, lemmas, counting, constant."""

import itertools
import math

import numpy as np
import pytest

from topk import lower_bounds as lb


def test_every_instance_has_exactly_one_right_answer():
    n, m, epsilon = 7, 3, 0.1
    for size in (m - 1, m):
        for members in lb.explore_m_families(n, m, size):
            means = lb.explore_m_means(n, members, epsilon)
            mth_best = np.sort(means)[-m]
            near = frozenset(np.flatnonzero(means >= mth_best - epsilon).tolist())
            assert near == lb.explore_m_optimal(members, m) and len(near) == m


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


def test_lemma_10_probability_by_counting():
    for epsilon in (0.01, 0.1, 0.17):
        for horizon in (1, 4, 9, 10):
            brute = brute_lemma_10(horizon, 0.5 - 2 * epsilon)
            assert lb.lemma_10_probability(horizon, epsilon) == pytest.approx(brute, abs=1e-12)


def test_theorem_8_pulls():
    value = lb.theorem_8_pulls(40, 10, 0.1, 0.05)
    assert value == pytest.approx(40 / 18375 / 0.01 * math.log(10 / 0.4))
