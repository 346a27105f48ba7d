"""Ranks, selection, gaps, counts and draws, against plain implementations."""

from fractions import Fraction
from functools import cache
from types import SimpleNamespace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import topk
from topk.engine import jit, loop
from topk.rules import ranking

FORMS = pytest.mark.parametrize("form", ["plain", "compiled"])


@cache
def formed(form, function):
    plain = form == "plain"
    return function if plain else jit.compiled(function, None, "test", lean=False, store=False)


@FORMS
@given(
    batch=st.lists(
        st.tuples(
            st.sampled_from([0.0, 1.0, 0.5, 0.3, 1e-12, 1 - 1e-12, 0.9]),
            st.sampled_from([0, 1, 2, 3, 29, 31, 1000, 10**6, 2**40]),
        ),
        max_size=12,
    ),
    seed=st.integers(0, 2**32),
)
def test_draws_are_numpys(form, batch, seed):
    """One pull takes a uniform number, several a binomial one, zero none.

    Pulled from a bandit the batch is the same, also if no count is 1: numpy draws it in one call.
    """
    means = np.array([p for p, _ in batch] + [0.5, 0.5])
    arms, counts = np.arange(len(batch)), np.array([c for _, c in batch], dtype=np.int64)
    rng, twin, third = (np.random.default_rng(seed) for _ in range(3))
    sums = np.full(arms.size, -1.0)
    formed(form, loop.draw_bernoulli)(means, arms, counts, arms.size, rng, sums)
    assert topk.BernoulliBandit(means).pull(arms, counts, third).sums.tolist() == sums.tolist()
    for p, count, total in zip(means[arms], counts, sums, strict=True):
        if count == 1:
            assert total == (twin.random() < p)
        else:
            assert total == (twin.binomial(count, p) if count else 0)
        if p in (0.0, 1.0):
            assert total == count * p
    states = [one.bit_generator.state for one in (rng, twin, third)]
    assert states[0] == states[1] == states[2]


@given(
    arms=st.lists(
        st.tuples(st.sampled_from([0, 0, 0, 1, -1]), st.integers(0, 3), st.integers(0, 3)),
        min_size=2,
        max_size=12,
    ),
    data=st.data(),
)
def test_the_best_are_the_first_of_all_in_order(arms, data):
    """Accepted arms first, then larger means, then arms without pulls; ties by index."""
    status, sums, pulls = np.array(arms).T
    sums = np.minimum(sums, pulls) * 1.0
    accepted, left = (status == 1).sum(), (status >= 0).sum()
    if left:
        k = data.draw(st.integers(max(1, accepted), left))
        means = sums / np.maximum(pulls, 1)
        order = sorted(
            np.flatnonzero(status >= 0), key=lambda a: (-status[a], pulls[a] == 0, -means[a], a)
        )
        found = ranking.best_of(status, sums, pulls, 1, k)
        assert found.tolist() == sorted(order[:k])
        twice = [np.tile(values, (2, 1)) for values in (status, sums, pulls)]
        assert ranking.best_of(*twice, 1, k).tolist() == [sorted(order[:k])] * 2  # two runs
        of_both = ranking.best_of(*map(np.ravel, twice), 2, k)  # two bandits
        assert of_both.tolist() == [*found, *found + status.size]


def test_the_active_arms_of_a_bandit():
    state = SimpleNamespace(n=9, bandits=3, status=np.array([0, 1, 0, -1, 0, 0, -2, 0, 1]))
    found = [ranking.active_of(state, bandit).tolist() for bandit in range(3)]
    assert found == [[0, 2], [4, 5], [7]]


@pytest.mark.filterwarnings("ignore:overflow encountered in scalar subtract")  # wraps, as meant
@FORMS
@given(
    values=st.lists(st.one_of(st.floats(allow_nan=False), st.integers(-3, 3)), max_size=8),
    times=st.sampled_from([1, 30]),
    seed=st.integers(0, 2**32),
)
def test_digits_put_keys_in_order(form, values, times, seed):
    """Sorting is stable for few and many keys, including infinities and both zeros."""
    keys = np.random.default_rng(seed).permutation(np.array(values * times, dtype=float))
    before = keys.copy()
    found = formed(form, ranking.order_by_digits)(keys)
    assert found.tolist() == sorted(range(keys.size), key=keys.tolist().__getitem__)
    assert keys.tolist() == before.tolist()


@FORMS
@pytest.mark.parametrize("n", [ranking.FEW, ranking.FEW + 1])
def test_as_many_keys_as_are_sorted_by_insertion_and_one_more(form, n):
    keys = np.random.default_rng(n).integers(0, 20, n) / 4
    found = formed(form, ranking.order_by_digits)(keys)
    assert found.tolist() == sorted(range(n), key=keys.tolist().__getitem__)


@FORMS
@given(
    n=st.integers(1, 12), times=st.sampled_from([1, 10]),
    unequal=st.booleans(), data=st.data(),
)
def test_ranks_are_those_of_exact_fractions(form, n, times, unequal, data):
    """Few arms and more than `FEW`, with equal pulls, for which sums are compared, and others."""
    given = data.draw(st.lists(st.integers(0, 6), min_size=n, max_size=n))
    pulls = np.array(given if unequal else [given[0]] * n)
    sums = np.array([data.draw(st.integers(0, int(p))) for p in pulls], dtype=float)
    pulls, sums = np.tile(pulls, times), np.tile(sums, times)
    gone = data.draw(st.sets(st.integers(0, n - 1), max_size=n - 1))
    arms = np.array([arm for arm in range(n * times) if arm not in gone])
    for sign in (1, -1):

        def key(arm, sign=sign):
            unseen = pulls[arm] == 0
            return unseen, 0 if unseen else -sign * Fraction(int(sums[arm]), int(pulls[arm])), arm

        ranked = formed(form, ranking.ranked_by)(sums, pulls, arms, float(sign))
        assert ranked.tolist() == sorted(arms.tolist(), key=key)


@given(st.integers(1, 90_000_000), st.integers(1, 90_000_000), st.data())
def test_rounded_quotients_order_close_fractions_as_exact_ones_do(pulls, more, data):
    """The claim of the module: fractions of denominators below 9.4e7, the closest ones too."""
    ones = data.draw(st.integers(0, pulls))
    near = min(more, max(0, ones * more // pulls + data.draw(st.integers(-1, 1))))
    sums, counts = np.array([ones, near], float), np.array([pulls, more])
    ranked = ranking.ranked_by(sums, counts, np.arange(2), 1.0)
    in_order = Fraction(ones, pulls) >= Fraction(near, more)
    assert ranked.tolist() == ([0, 1] if in_order else [1, 0])


@FORMS
@given(values=st.lists(st.integers(0, 4), min_size=1, max_size=12), data=st.data())
def test_the_largest_of_some_values(form, values, data):
    """With many ties, lower indices are preferred."""
    values, n = np.array(values, dtype=float), len(values)
    arms = np.array(sorted(data.draw(st.sets(st.integers(0, n - 1), min_size=1))))
    count = data.draw(st.integers(-1, n + 1))
    in_order = sorted(range(n), key=lambda place: (values[place], place))
    assert ranking.order(values).tolist() == in_order
    wanted = sorted(sorted(arms.tolist(), key=lambda arm: (-values[arm], arm))[: max(count, 0)])
    assert formed(form, ranking.largest)(values, arms, count).tolist() == wanted
