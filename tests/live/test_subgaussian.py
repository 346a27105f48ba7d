"""The test of sigma: its inequality, false alarms, power, and use in sessions."""

import json
import math
import warnings

import numpy as np
import pytest

import topk
from topk.live.subgaussian import ODDS, SigmaTest

RNG = np.random.default_rng


def mean_of_exponential(values, weights, sigma):
    """E exp((x - mean)**2 / (4 sigma**2)) of a distribution on finitely many values."""
    mean = np.dot(values, weights)
    return np.dot(weights, np.exp((values - mean) ** 2 / (4 * sigma**2)))


def least_sigma(values, weights):
    """The least sigma with E exp(lambda (x - mean)) <= exp(lambda**2 sigma**2 / 2), by a grid."""
    values = values - np.dot(values, weights)
    grid = np.concatenate([-np.geomspace(1e-4, 200, 4000), np.geomspace(1e-4, 200, 4000)])
    logs = grid[:, None] * values + np.log(weights)
    most = logs.max(axis=1)
    log_mean = most + np.log(np.exp(logs - most[:, None]).sum(axis=1))
    return math.sqrt((2 * log_mean / grid**2)[np.abs(grid) > 1e-2].max())


def test_the_inequality_of_the_proof():
    """At most the root of 2 for any sigma-sub-Gaussian reward, and equal to it for a normal one."""
    x = np.linspace(-30, 30, 200_001)
    normal = np.exp(-(x**2) / 2) / math.sqrt(2 * math.pi) * (x[1] - x[0])
    assert mean_of_exponential(x, normal, 1.0) == pytest.approx(math.sqrt(2), rel=1e-6)
    rng = RNG(1)
    for _ in range(300):
        values = np.array([0.0, 1.0, *rng.uniform(0, 1, rng.integers(0, 4))])
        weights = rng.dirichlet(np.full(values.size, rng.choice([0.1, 1.0])))
        weights = (weights + 1e-9) / (weights + 1e-9).sum()
        sigma = least_sigma(values, weights)
        assert 0 < sigma <= 0.5 + 1e-9  # Hoeffding's lemma
        assert mean_of_exponential(values, weights, sigma) <= math.sqrt(2) * (1 + 1e-6)


def exponents(rewards, sigma=1.0):
    """ln exp(SS / (4 sigma**2)) 2**(-u/2) after each reward of walks in rows."""
    u = np.arange(1, rewards.shape[1] + 1)
    spread = np.cumsum(rewards**2, axis=1) - np.cumsum(rewards, axis=1) ** 2 / u
    return spread / (4 * sigma**2) - u * math.log(2) / 2


def test_false_alarms_have_at_most_the_stated_probability():
    """20,000 walks of 300 rewards with the largest variance that sigma allows.

    A level x is reached with probability at most 1/x; by Hoeffding's inequality a share of more
    than 1/x + 0.02 has a probability of exp(-2 * 20,000 * 0.02**2) = 1e-7.
    """
    walks = RNG(2).standard_normal((20_000, 300))
    for rewards in (walks, np.sign(walks)):
        most = exponents(rewards).max(axis=1)
        for level in (1.5, 2.0, 10.0):
            assert (most >= math.log(level)).mean() <= 1 / level + 0.02
        assert not (most >= math.log(ODDS)).any()  # expected: at most 0.02 of them
    assert (exponents(walks).max(axis=1) >= math.log(1.5)).mean() > 0.05  # it does vary


def told(rewards, sigma, n=1):
    test = SigmaTest(n, sigma)
    for x in rewards:
        test.take(0, 1, x)
    return test


def test_the_sums_are_those_of_the_formula():
    rewards = RNG(3).normal(5, 2, 200)
    test = told(rewards, 2.0)
    assert float(test.deviations(0)) == pytest.approx(((rewards - rewards.mean()) ** 2).sum())
    at_once = SigmaTest(1, 2.0)
    at_once.take(0, 200, math.fsum(rewards), math.fsum(rewards**2))
    assert float(at_once.deviations(0)) == pytest.approx(float(test.deviations(0)), rel=1e-9)
    assert told(rewards[::-1], 2.0).sums == test.sums  # exact: in any order
    before = test.deviations(0)
    test.take(0, 0, 0.0, 0.0)  # no rewards
    assert (test.deviations(0), test.counts[0]) == (before, 200)


def test_the_level_is_shared_by_the_arms():
    """The largest sum of squares that (2) allows, for 7 arms."""
    test = told([1.0, 2.0, 4.0], 3.0, n=7)
    level = math.log(1e6 * 7) + 3 * math.log(2) / 2
    assert float(test.most(0)) == pytest.approx(4 * 3.0**2 * level, rel=1e-12)
    assert float(test.most(1)) == pytest.approx(4 * 3.0**2 * math.log(1e6 * 7), rel=1e-12)


def test_what_is_found_and_what_is_not():
    wide = RNG(4).normal(0, 1.5, 3000)
    at = next(u for u in range(1, 3001) if told(wide[:u], 1.0).refuted)
    assert 20 < at < 300 and not told(wide / 1.5, 1.0).refuted
    assert told([0.0, 0.0, 2500.0], 15.0).refuted
    assert not told([2500.0], 15.0).refuted  # its mean may be anything
    assert not told([1e9 + x for x in RNG(5).normal(0, 1, 2000)], 1.0).refuted
    for seed in range(10):  # nothing but rounding is left of the squares, upwards for some seeds
        block, sure = 1e9 + RNG(seed).normal(0, 1, 2000), SigmaTest(1, 1.0)
        sure.take(0, 2000, float(block.sum()), float((block**2).sum()))
        assert not sure.refuted
    for sigma in (1e-200, 1e-160, 1e150):
        assert not told([sigma, -sigma, 0.0], sigma).refuted
        assert told([sigma, 50 * sigma], sigma).refuted


REVENUE = [0.0] * 30 + [180.0]


def test_a_session_ends_and_says_why(tmp_path):
    session = topk.KLLUCB(1, 0.1, 0.05).start(["red", "blue"], sigma=5.0)
    session.observe(["red"] * 30, REVENUE[:30])
    with pytest.warns(UserWarning, match="sigma = 5 is refuted by the rewards of arm red"):
        session.observe(["red", "blue"], [REVENUE[30], 0.0])
    assert (session.stopped, session.certified, session.done) == ("sigma", False, True)
    assert session.ask()[0].size == 0 and session.selected.tolist() == ["red"]
    table = session.report()
    assert table.attrs["status"] == "not certified: the rewards refute sigma"
    assert table.attrs["evidence"] == 1.0 and table.attrs["epsilon"] == math.inf
    assert table.nearest_rival.tolist() == ["blue", "red"] == table.name.tolist()[::-1]
    assert table.attrs["sigma_test"] == "refuted: 32 of 32 rewards were tested"
    assert (table.low == -math.inf).all() and (table.high == math.inf).all()
    session.plot()
    session.save(tmp_path / "study.json")
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        for again in (topk.resume(json.dumps(session.state())), topk.load(tmp_path / "study.json")):
            assert again.stopped == "sigma" and again.state() == session.state()
            again.observe(["red"] * 1000, [0.0] * 1000)  # said once
            assert again.stopped == "sigma"
    with pytest.raises(ValueError, match="^arms: this session is done"):
        session.tell(["red"], [0.0])


def test_late_rewards_take_a_certificate_back():
    session = topk.KLLUCB(1, 10.0, 0.05).start(2, sigma=1.0)
    while not session.done:
        arms, counts = session.ask()
        session.tell(arms, 5.0 * (1 - arms), counts)
    assert session.certified
    with pytest.warns(UserWarning, match="refuted by the rewards of arm 1"):
        session.observe([1] * 4, [0.0, 0.0, 0.0, 60.0])
    assert session.stopped == "sigma" and not session.certified and session.selected.tolist() == [0]


def test_the_state_contains_the_sums_of_the_test():
    session = topk.Uniform(1, 1000).start(2, sigma=5.0).observe([0] * 30, REVENUE[:30])
    again = topk.resume(json.loads(json.dumps(session.state())))
    with pytest.warns(UserWarning, match="refuted"):
        again.observe([0], [REVENUE[30]])


def test_sums_without_squares_cannot_be_tested_and_the_report_says_so():
    sums, squares = math.fsum(REVENUE), math.fsum(x * x for x in REVENUE)
    session = topk.Uniform(1, 1000).start(2, sigma=5.0)
    session.observe([0], sums=[sums], counts=[31]).observe([1], [0.0])
    told = "not refuted: 1 of 32 rewards were tested; "
    told += "sums of several rewards without squares cannot be tested"
    assert session.report().attrs["sigma_test"] == told
    with pytest.warns(UserWarning, match="refuted by the rewards of arm 1"):
        session.observe([1], sums=[sums], counts=[31], squares=[squares])
    for bad in (squares / 1000, math.inf):
        with pytest.raises(ValueError, match="^squares"):
            session.observe([1], sums=[sums], counts=[31], squares=[bad])
    assert "sigma_test" not in topk.Uniform(1, 9).start(2).report().attrs


class Revenue(topk.Bandit):
    def __init__(self):
        super().__init__([1.0, 2.0])

    def sample(self, arm, count, rng):
        return np.full(count, 74.78)


class Summed(Revenue):
    def pull(self, arms, counts, rng):
        return topk.bandits.Rewards(74.78 * np.array(counts), 1.0 * np.array(counts))


@pytest.mark.parametrize("kind", [Revenue, Summed])
def test_the_error_for_a_bandit_without_bounds_names_both_solutions(kind):
    with pytest.raises(ValueError, match=r"\[0, 1\] .*bounds = \(low, high\), or sigma"):
        topk.run(topk.Uniform(1, 10), kind(), rng=0)
    declared = kind()
    declared.bounds = (0, 10)
    with pytest.raises(ValueError, match=r"\[0, 10\], got 74.78"):
        topk.run(topk.Uniform(1, 2), declared, rng=0)
