"""Kaufmann, Cappe and Garivier's inequality on plays of real strategies."""

import numpy as np
import pytest

import topk
from topk import hardness
from topk.lower_bounds import change_of_measure
from topk.lower_bounds.change_of_measure import _smallest_divergence

NU, NU_PRIME = [0.7, 0.5, 0.3], [0.5, 0.7, 0.3]


@pytest.mark.parametrize(
    "strategy",
    [
        topk.LUCB1(1, epsilon=0.1, delta=0.1),
        topk.SAR(1, budget=200),
        topk.AdaptiveTopK(1, epsilon=0.3, delta=0.1),
    ],
    ids=lambda strategy: type(strategy).__name__,
)
def test_inequality_holds_on_plays(strategy):
    result = change_of_measure(strategy, NU, NU_PRIME, runs=400, seed=1)
    assert result.holds and result.events.shape == (3, 2)
    assert (result.divergences[:, 1] <= result.divergences[:, 0] + 1e-12).all()
    assert result.divergences[:, 1].max() > 0.1  # and it is not empty


def test_delta_correct_strategy_pays_the_characteristic_time():
    # P(arm 0 returned) is at least 1 - delta against at most delta, so the information is at
    # least kl(delta, 1 - delta); hence pulls >= T* kl(delta, 1 - delta).
    delta, means = 0.05, [0.8, 0.4, 0.3]
    reps = topk.replicate(topk.LUCB1(1, epsilon=0, delta=delta), topk.BernoulliBandit(means), 100)
    needed = hardness.characteristic_time(means, 1).lower * hardness.bernoulli_kl(delta, 1 - delta)
    assert reps.total_pulls.mean() > needed


def test_uniform_sampling_carries_exactly_its_information():
    result = change_of_measure(topk.Uniform(1, budget=60), NU, NU_PRIME, runs=50)
    exact = 20 * (hardness.bernoulli_kl(0.7, 0.5) + hardness.bernoulli_kl(0.5, 0.7))
    assert tuple(result.information) == pytest.approx((exact, exact, exact))


def test_it_would_notice_a_violation():
    # An "event" that looks at the instance instead of the play breaks the inequality.
    def cheat(reps):
        return np.repeat(reps.means[0] > 0.6, reps.pulls.shape[0])

    result = change_of_measure(topk.Uniform(1, budget=3), NU, NU_PRIME, runs=500, event=cheat)
    assert not result.holds


def test_own_events_one_or_several():
    def events(reps):
        return np.stack([reps.sums[:, 0] > 10, reps.sums[:, 1] > 10], axis=1)

    strategy = topk.Uniform(1, budget=60)
    several = change_of_measure(strategy, NU, NU_PRIME, runs=100, event=events)
    one = change_of_measure(
        strategy, NU, NU_PRIME, runs=100, event=lambda reps: reps.sums[:, 0] > 10
    )
    assert several.events.shape == (2, 2) and one.events.shape == (1, 2)
    assert np.array_equal(several.events[0], one.events[0]) and several.holds


def test_smallest_divergence_is_the_minimum_over_the_box():
    from topk.claims import Interval

    rng = np.random.default_rng(2)
    for _ in range(50):
        p, q = np.sort(rng.uniform(0.01, 0.99, 2)), np.sort(rng.uniform(0.01, 0.99, 2))
        x, y = np.meshgrid(np.linspace(*p, 60), np.linspace(*q, 60))
        brute = hardness.bernoulli_kl(x, y).min()
        boxes = (Interval(np.array([v.mean()]), v[:1], v[1:]) for v in (p, q))
        got = float(_smallest_divergence(*boxes)[0])
        assert got <= brute + 1e-12 and brute - got < 0.01


@pytest.mark.parametrize(
    ("kwargs", "name"),
    [
        ({"nu": [0.5, 1.5, 0.1]}, "nu must"),
        ({"nu_prime": [0.5, 0.5]}, "nu_prime"),
        ({"runs": 1}, "runs"),
        ({"false_alarm": 0}, "false_alarm"),
        ({"event": lambda reps: reps.sums}, "event"),
    ],
)
def test_bad_arguments_are_refused_by_name(kwargs, name):
    arguments = {"nu": NU, "nu_prime": NU_PRIME, "runs": 10} | kwargs
    with pytest.raises(ValueError, match=name):
        change_of_measure(topk.Uniform(1, budget=9), **arguments)
