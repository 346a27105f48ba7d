"""Intervals and comparisons, against SciPy and by simulation."""

import numpy as np
import pytest
import scipy.stats
from hypothesis import given
from hypothesis import strategies as st

from topk import stats


def test_mean_interval_is_students():
    values = np.random.default_rng(0).random((30, 4))
    found = stats.mean_interval(values, level=0.9)
    expected = scipy.stats.ttest_1samp(values, 0).confidence_interval(0.9)
    assert found.low == pytest.approx(expected.low)
    assert found.high == pytest.approx(expected.high)
    assert found.estimate == pytest.approx(values.mean(axis=0))


def test_paired_difference_is_the_interval_of_differences():
    rng = np.random.default_rng(1)
    a, b = rng.random(40), rng.random(40)
    expected = scipy.stats.ttest_rel(a, b).confidence_interval(0.95)
    found = stats.paired_difference(a, b)
    assert (found.low, found.high) == (pytest.approx(expected.low), pytest.approx(expected.high))


@given(st.integers(1, 400).flatmap(lambda m: st.tuples(st.integers(0, m), st.just(m))),
       st.sampled_from([0.8, 0.95, 0.999]))
def test_proportion_interval_is_clopper_and_pearsons(counts, level):
    successes, trials = counts
    expected = scipy.stats.binomtest(successes, trials).proportion_ci(level, method="exact")
    found = stats.proportion_interval(successes, trials, level)
    assert found.low == pytest.approx(expected.low, rel=1e-9, abs=1e-12)
    assert found.high == pytest.approx(expected.high, rel=1e-9, abs=1e-12)
    assert 0 <= found.low <= found.estimate <= found.high <= 1


def test_compare_counts_points():
    noise = np.random.default_rng(2).normal(0, 0.01, size=(50, 6))
    a = np.array([0.1, 0.1, 0.1, 0.1, 0.5, 0.3]) + noise
    b = np.array([0.3, 0.3, 0.3, 0.3, 0.3, 0.3]) + noise[::-1]
    found = stats.compare(a, b)
    assert found == (4, 1, 1) and found.undecided == 1 and not found.every()
    assert str(found) == "better at 4, worse at 1, undecided at 1 of 6"


def test_compare_holds_one_against_several_rivals():
    a = np.array([[0.1], [0.11], [0.12]])
    rivals = np.array([[0.5, 0.6], [0.5, 0.7], [0.52, 0.6]])
    assert stats.compare(a, rivals) == (2, 0, 0)
    assert stats.compare(a, rivals).every()
    assert stats.compare(a[:, 0], rivals[:, 0]) == (1, 0, 0)


def test_equal_runs_are_undecided():
    same = np.full((10, 4), 0.2)
    assert stats.compare(same, same) == (0, 0, 4)
