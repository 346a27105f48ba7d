"""Divergences and mixtures agree with their definitions."""

import math

import numpy as np
import pytest

from topk.confidence import kl
from topk.hardness import bernoulli_kl

RNG = np.random.default_rng(20)
SHARES = np.concatenate([RNG.random(500), 10.0 ** -RNG.uniform(0, 12, 500)])
LEVELS = 10.0 ** RNG.uniform(-9, 1, 1000)


def test_a_fall_is_where_the_divergence_reaches_its_level():
    points = zip(SHARES, LEVELS, strict=True)
    log_ratios = np.array([kl.kl_log_ratio_scalar(m, 1 - m, level) for m, level in points])
    near = log_ratios < 600  # beyond the point is almost 0
    means, levels, log_ratios = SHARES[near], LEVELS[near], log_ratios[near]
    points = means * np.exp(-log_ratios)
    reached = kl.kl_of_step(means, points, 1 - points, means * np.expm1(-log_ratios))
    assert near.sum() > 500 and np.allclose(reached, levels, rtol=1e-6)


def test_the_two_forms_of_the_mixtures_cost_agree():
    pulls = np.floor(10.0 ** RNG.uniform(0, 12, 1000))
    sums = np.floor(pulls * SHARES)
    costs = [kl.mixture_cost_scalar(u, s) for u, s in zip(pulls, sums, strict=True)]
    assert np.allclose(kl.mixture_cost(pulls, sums), costs, rtol=1e-9, atol=1e-9)
    halves = [kl.log_gamma_half_scalar(x) for x in sums]
    assert np.allclose(kl.log_gamma_half(sums), halves, rtol=1e-9, atol=1e-9)


def test_x_minus_log_is_exact_where_its_terms_cancel():
    for x in (1e-12, -1e-9, 0.01, 0.049, 0.051, 3.0, -0.9):
        assert kl.x_minus_log(x, 1 + x) == pytest.approx(x - math.log1p(x), rel=1e-4, abs=1e-20)
    assert kl.x_minus_log(1e-6, 1 + 1e-6) == pytest.approx(5e-13 - 1e-18 / 3, rel=1e-12)


def test_a_divergence_is_the_sum_of_its_two_terms():
    points = RNG.random(1000)
    terms = kl.kl_term(SHARES, points - SHARES) + kl.kl_term(1 - SHARES, SHARES - points)
    assert np.allclose(terms, bernoulli_kl(SHARES, points), rtol=1e-9, atol=1e-15)


@pytest.mark.parametrize("epsilon", [0.0, 0.01, 0.2])
def test_the_minimiser_of_a_pair_beats_its_neighbours(epsilon):
    for u, ones, v, others in [(10, 7, 20, 3), (1000, 600, 50, 10), (5, 5, 5, 0), (300, 9, 7, 1)]:
        if others / v >= ones / u + epsilon:
            continue
        x = kl.pair_minimiser(u, ones, v, others, epsilon)

        def z(x, u=u, ones=ones, v=v, others=others):
            return u * bernoulli_kl(ones / u, x) + v * bernoulli_kl(others / v, x + epsilon)

        inside = [y for y in (x - 1e-4, x + 1e-4) if 0 <= y <= 1 - epsilon]
        assert all(z(x) <= z(y) + 1e-12 for y in inside)


def test_the_gamma_function_is_exact_where_its_series_begins():
    for x in (30.0, 31.5, 60.0):
        exact = math.lgamma(x + 0.5) - x * math.log(x) + x - math.log(2 * math.pi) / 2
        assert kl.log_gamma_half_scalar(x) == pytest.approx(exact, abs=2e-12)
        assert kl.log_gamma_half(np.array([x]))[0] == pytest.approx(exact, abs=2e-12)


def test_without_epsilon_the_minimiser_is_the_common_mean():
    assert kl.pair_minimiser(10, 7.0, 30, 9.0, 0.0) == 0.4
