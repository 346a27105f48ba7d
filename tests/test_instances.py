"""Every instance against the numbers printed in its paper."""

import pickle
from functools import partial

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from topk import instances


def test_uniform():
    np.testing.assert_allclose(instances.uniform(1000).means, 1 - np.arange(1, 1001) / 1000,
                               rtol=0, atol=1e-15)
    assert instances.uniform(1000).means[899] == 0.1  # the nearest float, not one beside it


@pytest.mark.parametrize("k", [100, 250, 500])
def test_synthetic_at_p_1_is_uniform(k):
    np.testing.assert_allclose(instances.synthetic(1, 1000, k).means,
                               instances.uniform(1000).means, rtol=0, atol=1e-15)


@given(st.floats(0.01, 100), st.integers(2, 60), st.data())
def test_synthetic_is_sorted_and_its_boundary_is_where_it_belongs(p, n, data):
    k = data.draw(st.integers(1, n - 1))
    means = instances.synthetic(p, n, k).means
    assert (np.diff(means) <= 1e-15).all()
    assert means[k - 1] == pytest.approx(1 - k / n, abs=1e-15)
    assert means[-1] == 0.0


@pytest.mark.parametrize("k", [100, 250, 500])
def test_synthetic_crowds_the_boundary_as_p_grows(k):
    gaps = {p: np.abs(instances.synthetic(p, 1000, k).means - (1 - k / 1000)) for p in (0.5, 1, 6)}
    assert (gaps[0.5] >= gaps[1] - 1e-15).all()
    assert (gaps[1] >= gaps[6] - 1e-15).all()
    assert gaps[6].sum() < gaps[1].sum() < gaps[0.5].sum()


SAR_MEANS = {
    1: [0.5] + 19 * [0.4],
    2: [0.5] + 5 * [0.42] + 14 * [0.38],
    3: [0.5, 0.3631, 0.449347, 0.48125839],
    4: [0.5, 0.42, 0.4, 0.4, 0.35, 0.35],
    5: [0.5, 0.45, 0.425, 0.4, 0.375, 0.35, 0.325, 0.3, 0.275, 0.25, 0.225, 0.2, 0.175, 0.15,
        0.125],
    6: [0.5] + 5 * [0.45] + 14 * [0.43] + 10 * [0.38]}


SAR_BUDGETS = {1: 2_000, 2: 12_000, 3: 6_000, 4: 8_000, 5: 4_000, 6: 50_000}


@pytest.mark.parametrize("number", range(1, 7))
def test_sar_experiments_as_printed(number):
    assert instances.sar_budget(number) == SAR_BUDGETS[number]
    np.testing.assert_allclose(instances.sar_experiment(number).means, SAR_MEANS[number],
                               rtol=0, atol=1e-12)


def test_rte_workers():
    means = np.sort(instances.rte_workers().means)[::-1]
    assert (means.size, (means == 1).sum(), len(np.unique(means))) == (164, 13, 32)
    assert (means.min(), np.median(means)) == (0.4, 0.85)
    assert means.mean() == pytest.approx(0.8370, abs=5e-5)
    for k, average in {10: 1.0, 20: 0.9825, 30: 0.9717, 50: 0.9475, 100: 0.9116}.items():
        assert means[:k].mean() == pytest.approx(average, abs=5e-5)
    for k in (10, 20, 30, 50, 82, 100):
        assert means[k - 1] == means[k]


LAWS = {instances.unif01: stats.uniform(),
        instances.truncated_normal: stats.truncnorm(-2.5, 2.5, 0.5, 0.2),
        instances.beta41: stats.beta(4, 1)}


@pytest.mark.parametrize("draw", LAWS, ids=lambda draw: draw.__name__)
def test_drawn_means_follow_their_distribution(draw):
    means = draw(20_000, np.random.default_rng(1)).means
    assert stats.kstest(means, LAWS[draw].cdf).pvalue > 1e-3
    assert abs(np.corrcoef(means[1:], means[:-1])[0, 1]) < 0.03


@pytest.mark.parametrize("draw", LAWS, ids=lambda draw: draw.__name__)
def test_drawn_means_depend_on_the_generator_alone(draw):
    first = draw(50, np.random.default_rng(7)).means
    assert np.array_equal(first, draw(50, 7).means)
    assert not np.array_equal(first, draw(50, 8).means)
    rng, after = np.random.default_rng(7), np.random.default_rng(7)
    draw(50, rng)
    after.random(50)
    assert rng.random() == after.random()  # one uniform number an arm, as documented
    fresh = pickle.loads(pickle.dumps(partial(draw, 50)))
    assert np.array_equal(fresh(np.random.default_rng(7)).means, first)
