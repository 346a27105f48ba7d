"""The hard instances of the lower bounds, and the steps of the proofs."""

import itertools
import math

import numpy as np
import pytest

from topk import lower_bounds as lb

# The paired instance for Theorem 3 of Chen et al. (2017); Theorem 7.1 of Zhou et al. (2014)


def test_the_bayes_error_of_a_pair_by_counting():
    for q in range(13):
        brute = 0.0
        for walk in itertools.product((1, -1), repeat=q):
            lead = sum(walk)  # evidence for the right order
            chance = 0.75 ** ((q + lead) / 2) * 0.25 ** ((q - lead) / 2)
            brute += chance * (1.0 if lead < 0 else 0.5 if lead == 0 else 0.0)
        assert lb.pair_error(q) == pytest.approx(brute)


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


# Lemma 5.4, Theorems 5.5 and 5.6 of Zhou et al. (2014), and the K = 1 original


SMALL = [1e-6, 1e-3, 0.004, 0.01]  # epsilons of section 5.2
DELTAS = [1e-30, 1e-12, 1e-8, 1e-4, 7e-4, 5e-3, 0.01]
SHAPES = [(2, 1), (2999, 1000), (1000, 10), (7, 3), (10**6, 1)]  # n / k just below 3 is worst


def test_family_has_the_stated_means():
    family = lb.group_family(11, 3, 0.01)
    assert family.shape == (3, 11)
    for j, means in enumerate(family, start=1):
        for arm, mean in enumerate(means):
            group = arm // 3 + 1
            extra = 4 if group == 1 else 8 if group == j else 0
            assert mean == pytest.approx(0.5 + extra * 0.01)


def test_mannor_tsitsiklis_original_is_the_family_of_k_1():
    family = lb.mannor_tsitsiklis_family(5, 0.08)
    assert np.allclose(family, lb.group_family(5, 1, 0.01))
    assert family[0].tolist() == pytest.approx([0.54, 0.5, 0.5, 0.5, 0.5])
    assert family[3].tolist() == pytest.approx([0.54, 0.5, 0.5, 0.58, 0.5])


def test_lemma_5_4_contradiction_on_its_whole_range():
    for (n, k), epsilon, delta in itertools.product(SHAPES, SMALL, DELTAS):
        argument = lb.group_argument(n, k, epsilon, delta)
        assert argument.log_ratio >= argument.log_needed  # the ratio is at least sqrt(delta)
        assert argument.good_event >= 0.25 and argument.contradiction
        assert argument.pulls == pytest.approx(n * math.log(1 / delta) / (20000 * epsilon**2 * k))
        # Markov: some group j0 >= 2 has at most Q / (t - 1) <= 2 Q / t expected pulls
        groups = n // k
        assert argument.pulls / (groups - 1) <= argument.cap / 4 * (1 + 1e-12)
        assert argument.deviation == pytest.approx(math.sqrt(5 * argument.cap))


def test_lemma_5_4_log_ratio_is_the_smallest_within_cap_and_deviation():
    argument = lb.group_argument(1000, 10, 0.01, 0.005)
    for pulls in range(1, math.floor(argument.cap) + 1):
        ones = math.ceil(max(0, (pulls - argument.deviation) / 2))
        assert lb.group_log_ratio(pulls, ones, 0.01) >= argument.log_ratio - 1e-12


def test_printed_split_fails_where_the_reference_says():
    for epsilon in (1e-5, 0.01):
        first, second, goal = lb.printed_split(epsilon, 0.01)
        assert first >= goal > second and 0.063 <= round(second, 3) <= 0.101
    assert lb.printed_split(0.01, 7.5e-4)[0] * lb.printed_split(0.01, 7.5e-4)[1] < math.sqrt(7.5e-4)
    for epsilon, threshold in ((1e-6, 1.24e-8), (0.01, 3.3e-12)):
        assert lb.printed_split(epsilon, 1.1 * threshold)[1] < (1.1 * threshold) ** 0.25
        assert lb.printed_split(epsilon, 0.9 * threshold)[1] >= (0.9 * threshold) ** 0.25


def test_theorem_5_5_repaired_with_the_printed_constant():
    assert 1 / 4 + 1 / 4 + 2 / 5 < 1  # bits that are good in all three ways exist
    for (n, k), epsilon, delta in itertools.product(SHAPES, SMALL, DELTAS):
        argument = lb.randomised_argument(n, k, epsilon, delta)
        assert argument.contradiction and argument.wrong > 4 * delta
        assert argument.pulls == pytest.approx(lb.theorem_5_5_pulls(n, k, epsilon, delta))
        groups = n // k
        # at most 2 Q / t expected pulls, 5/2 of that given the bits, and a cap at four times that
        assert argument.cap == pytest.approx(4 * 5 / 2 * 2 * argument.pulls / groups)
        assert argument.good_event <= 1 - 4 * delta - 1 / 4 - 2 * math.exp(-5 / 2)
    # 40000, which the print reaches after Markov, would not do; nor does the lemma's 20000
    assert not lb.randomised_argument(2999, 1000, 0.01, 0.01, constant=40_000).contradiction


def test_theorem_5_6_takes_the_larger_of_two_bounds():
    bound = lb.theorem_5_6_pulls(1000, 900, 0.001, 0.01)
    parts = lb.theorem_5_1_pulls(1000, 100, 0.009), lb.theorem_5_5_pulls(1000, 100, 0.009, 0.01)
    assert bound == pytest.approx(max(parts))


# Theorem 8 of Kalyanakrishnan et al. (2012): families, lemmas, counting, constant


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
