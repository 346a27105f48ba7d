"""Error measures of a set: against plain transcriptions and each other."""

from fractions import Fraction
from functools import partial

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from topk import metrics

TOLERANT = [metrics.explore_m, metrics.elementwise_optimal, metrics.regret_within]
MEASURES = {passes.__name__: partial(passes, epsilon=0.1) for passes in TOLERANT}
MEASURES |= {name: getattr(metrics, name) for name in
               ("aggregate_regret", "simple_regret", "precision", "misidentified")}


@st.composite
def choices(draw, levels):
    """Draw means of some levels and k distinct arms."""
    means = draw(st.lists(levels, min_size=2, max_size=9))
    k = draw(st.integers(1, len(means)))
    return draw(st.permutations(range(len(means))))[:k], means


EIGHTHS = st.sampled_from(np.linspace(0, 1, 9).tolist())  # ties are common
FLOATS = st.floats(0, 1) | st.sampled_from([0.1, 0.2, 0.3, 1 / 3, 0.7])


@given(choices(EIGHTHS) | choices(FLOATS))
def test_the_definitions_in_rational_arithmetic(choice):
    """Where means are eighths to the last bit; else a regret is 0 for the best sets alone."""
    selected, means = choice
    k, exact = len(selected), [Fraction(mean) for mean in means]
    best = sorted(exact, reverse=True)[:k]
    chosen = sorted((exact[arm] for arm in selected), reverse=True)
    regret = metrics.aggregate_regret(selected, means)
    assert 0 <= regret <= 1 and (regret == 0.0) == (sum(chosen) == sum(best))
    assert metrics.simple_regret(selected, means) == float(best[-1] - min(chosen))
    assert metrics.precision(selected, means) == sum(mean >= best[-1] for mean in chosen) / k
    assert metrics.misidentified(selected, means) == (sum(chosen) < sum(best))
    if any(mean * 8 % 1 for mean in means):
        return
    assert regret == float((sum(best) - sum(chosen)) / k)
    for epsilon in (0.0, 0.125, 0.25, 0.5):
        tolerance = Fraction(epsilon)
        assert metrics.explore_m(selected, means, epsilon) == all(
            mean >= best[-1] - tolerance for mean in chosen)
        assert metrics.elementwise_optimal(selected, means, epsilon) == all(
            a >= b - tolerance for a, b in zip(chosen, best, strict=True))
        assert metrics.regret_within(selected, means, epsilon) == (
            sum(best) - sum(chosen) <= k * tolerance)


def test_an_arm_exactly_epsilon_below_is_allowed():
    assert 0.4 - 0.3 > 0.1  # the trap
    assert all(passes([1], [0.4, 0.3], 0.1) for passes in TOLERANT)
    assert all(passes([1], [1000.4, 1000.3], 0.1) for passes in TOLERANT)  # in other units
    means = (1000 - np.arange(1, 1001)) / 1000
    for k in (100, 250, 500):  # moving every chosen arm down by ten ranks costs exactly .01
        shifted = np.arange(10, 10 + k)
        assert metrics.regret_within(shifted, means, 0.01)
        assert not metrics.regret_within(shifted, means, 0.01 - 1e-9)


@pytest.mark.parametrize("passes", TOLERANT)
def test_epsilon_zero_forgives_nothing(passes):
    above = np.nextafter(0.5, 1)
    assert not passes([0], [0.5, above], 0.0)
    assert passes([1], [0.5, above], 0.0) and passes([0], [0.5, 0.5], 0.0)


def test_the_explore_k_example_of_zhou_et_al_section_2():
    k, epsilon = 10, 0.01
    means = [0.9] * (k - 1) + [0.1] + [0.095] * k + [0.0] * 5
    worst = np.arange(k, 2 * k)
    assert metrics.explore_m(worst, means, epsilon)
    assert metrics.aggregate_regret(worst, means) == pytest.approx((9 * 0.805 + 0.005) / 10)
    assert not metrics.elementwise_optimal(worst, means, epsilon)


@pytest.mark.parametrize("name", MEASURES)
def test_leading_axes(name):
    measure, rng = MEASURES[name], np.random.default_rng(0)
    means = rng.integers(0, 5, size=(6, 7)) / 4
    plays = np.array([[rng.permutation(7)[:3] for _ in range(4)] for _ in range(6)])
    # one instance for all, one a play, several bandits, and one set held against many instances
    for selected, of in ((plays, means[0]), (plays, means[:, None]), (plays[:, 0], means),
                         (plays[0, 0], means)):
        shape = np.broadcast_shapes(selected.shape[:-1], of.shape[:-1])
        found = measure(selected, of)
        assert found.shape == shape
        for place in np.ndindex(shape):
            arms, here = np.broadcast_to(selected, (*shape, 3)), np.broadcast_to(of, (*shape, 7))
            assert found[place] == measure(arms[place], here[place])
    assert np.ndim(measure([0, 1], means[0])) == 0


CHOICES = [[0, 0], [0, 3], [-1, 0], [0.0, 1.0], [True, False], [], 0, [[0, 1], [2, 2]],
           [[0], [1, 2]], "01", None]
MEANS = [[np.nan, 0.2], [np.inf, 0.0], [], "ab", [[0.1], [0.2, 0.3]]]
REFUSED = [(selected, [0.1, 0.2, 0.3], "selected must be .*distinct integers from 0 to 2, got")
           for selected in CHOICES] + [([0], means, "means must be ") for means in MEANS]
REFUSED += [(np.zeros((3, 1), dtype=int), np.zeros((4, 2)), "means must be broadcastable")]


@pytest.mark.parametrize("name", MEASURES)
@pytest.mark.parametrize("selected, means, said", REFUSED, ids=repr)
def test_bad_choices_and_means_are_refused(name, selected, means, said):
    with pytest.raises(ValueError, match=said):
        MEASURES[name](selected, means)


@pytest.mark.parametrize("passes", TOLERANT)
@pytest.mark.parametrize("epsilon", [-0.1, 1, 1.5, np.nan, "0.1", None, True])
def test_bad_epsilon_is_refused(passes, epsilon):
    with pytest.raises(ValueError, match=r"epsilon must be a number in \[0, 1\), got"):
        passes([0], [0.1, 0.2], epsilon)
