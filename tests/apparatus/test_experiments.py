"""Budgets, change of measure and the groups' hypotheses, on runs of strategies."""

import math
from functools import partial

import numpy as np
import pytest

import topk
from topk import hardness
from topk import lower_bounds as lb
from topk.stats import Interval, proportion_interval
from topk_book import experiments as ex

NU, NU_PRIME = [0.7, 0.5, 0.3], [0.5, 0.7, 0.3]


def test_smallest_budget_is_the_first_on_its_grid():
    make = partial(topk.Uniform, 2)
    found = ex.smallest_budget(make, 8, 2, 0.05, delta=0.3, plays=400, seed=8, ratio=1.5)
    assert found.reliable.estimate >= 0.7
    unit = 8 / 0.05**2 * (1 + math.log(1 / 0.3) / 2)
    assert found.constant == pytest.approx(found.budget / unit)
    smaller = math.ceil(found.budget / 1.5)
    means = np.where(np.arange(8) < 2, 0.7, 0.5)
    reps = topk.replicate(make(smaller), topk.BernoulliBandit(means), runs=400, seed=8)
    regret = topk.metrics.aggregate_regret(reps.selected[:, -1], means)
    assert (regret <= 0.05 + 1e-12).mean() < 0.7


@pytest.mark.parametrize("strategy",
                         [topk.LUCB1(1, epsilon=0.1, delta=0.1), topk.SAR(1, budget=200),
                          topk.AdaptiveTopK(1, epsilon=0.3, delta=0.1)],
                         ids=lambda strategy: type(strategy).__name__)
def test_inequality_holds_in_simulations(strategy):
    result = ex.change_of_measure(strategy, NU, NU_PRIME, runs=400, seed=1)
    assert result.holds and result.events.shape == (3, 2)
    assert (result.divergences[:, 1] <= result.divergences[:, 0] + 1e-12).all()
    assert result.divergences[:, 1].max() > 0.1  # and it is not empty


def test_uniform_sampling_carries_exactly_its_information():
    result = ex.change_of_measure(topk.Uniform(1, budget=60), NU, NU_PRIME, runs=50, seed=0)
    exact = 20 * (hardness.bernoulli_kl(0.7, 0.5) + hardness.bernoulli_kl(0.5, 0.7))
    assert tuple(result.information) == pytest.approx((exact, exact, exact))


def test_it_would_notice_a_violation():
    # An "event" that looks at the instance instead of the play breaks the inequality.
    def cheat(reps):
        return np.repeat(reps.means[0] > 0.6, reps.pulls.shape[0])

    strategy = topk.Uniform(1, budget=3)
    result = ex.change_of_measure(strategy, NU, NU_PRIME, runs=500, event=cheat, seed=0)
    assert not result.holds


def test_own_events_one_or_several():
    def events(reps):
        return np.stack([reps.sums[:, 0] > 10, reps.sums[:, 1] > 10], axis=1)

    strategy = topk.Uniform(1, budget=60)
    played = partial(ex.change_of_measure, strategy, NU, NU_PRIME, runs=100, seed=0)
    several, one = played(event=events), played(event=lambda reps: reps.sums[:, 0] > 10)
    assert several.events.shape == (2, 2) and one.events.shape == (1, 2)
    assert np.array_equal(several.events[0], one.events[0]) and several.holds


def test_smallest_divergence_is_the_minimum_over_the_box():
    rng = np.random.default_rng(2)
    for _ in range(50):
        p, q = np.sort(rng.uniform(0.01, 0.99, 2)), np.sort(rng.uniform(0.01, 0.99, 2))
        x, y = np.meshgrid(np.linspace(*p, 60), np.linspace(*q, 60))
        brute = hardness.bernoulli_kl(x, y).min()
        boxes = (Interval(np.array([v.mean()]), v[:1], v[1:]) for v in (p, q))
        got = float(ex._smallest_divergence(*boxes)[0])
        assert got <= brute + 1e-12 and brute - got < 0.01


@pytest.mark.parametrize(
    "strategy", [topk.SAR(2, budget=400), topk.OptMAI(2, budget=400)], ids=["SAR", "OptMAI"])
def test_the_likelihood_ratio_connects_the_hypotheses_in_simulations(strategy):
    # P_Hj(E) = E_H1[exp(log ratio); E] for E = "an answer right under H1 and few pulls of
    # group j and a small deviation", on which the ratio is bounded: false alarm below 1e-6.
    n, epsilon, runs, level = 6, 0.02, 4000, 1 - 1e-7
    first = ex.group_plays(strategy, n, epsilon, runs, seed=1)
    second = ex.group_plays(strategy, n, epsilon, runs, hypothesis=2, seed=2)

    def event(plays):
        lead = np.abs(2 * plays.ones[:, 1] - plays.pulls[:, 1])
        return (plays.chosen[:, 0] >= 1.5) & (plays.pulls[:, 1] <= 150) & (lead <= 20)

    assert np.allclose(first.log_ratios[:, 0], 0)
    got = lb.group_log_ratio(first.pulls[:, 1], first.ones[:, 1], epsilon)
    assert np.abs(got - first.log_ratios[:, 1]).max() < 1e-10
    values = np.exp(first.log_ratios[:, 1]) * event(first)
    top = math.exp(20 * math.log1p(16 * epsilon))  # ones exceed zeros by at most 20
    half = math.sqrt(math.log(2e7) / (2 * runs)) * top  # Hoeffding for values in [0, top]
    half = min(half, 6 * values.std() / math.sqrt(runs))
    target = proportion_interval(int(event(second).sum()), runs, level)
    assert target.low <= values.mean() + half and values.mean() - half <= target.high
    # pointwise lower bound on the ratio, the step of the proof
    ratios = first.log_ratios[event(first), 1]
    floor = 75 * math.log1p(-256 * epsilon**2) - 20 * math.atanh(16 * epsilon)
    assert ratios.min() >= floor


def test_both_instances_are_run_and_neighbouring_seeds_share_no_runs(monkeypatch):
    used, played = [], []

    def replicate(strategy, bandit, runs, *, seed, jobs):
        used.append(seed)
        played.append(bandit.means.tolist())
        return topk.replicate(strategy, bandit, runs, seed=seed, jobs=jobs)

    monkeypatch.setattr("topk.simulate.algorithm_b.replicate", replicate)  # for both
    for seed in range(5):
        ex.change_of_measure(topk.Uniform(1, 9), NU, NU_PRIME, runs=2, seed=seed)
    assert len(used) == len(set(used)) == 10
    assert played == 5 * [NU, NU_PRIME]
