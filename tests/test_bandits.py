"""Reward distributions.  Statistical tests state their false-alarm probabilities."""

import math

import numpy as np
import pytest
from scipy import stats

import topk
from topk import bandits

N = 20_000
# Dvoretzky-Kiefer-Wolfowitz with Massart's constant, valid for every law:
# P(sup |F_N - F| > x) <= 2 exp(-2 N x^2), here 1e-9
BAND = math.sqrt(math.log(2 / 1e-9) / (2 * N))

BANDITS = {
    "bernoulli": topk.BernoulliBandit([0.0, 0.03, 0.5, 0.9, 1.0]),
    "beta": topk.BetaBandit([4, 0.3, 1, 50], [1, 0.2, 1, 70]),
    "normal": topk.TruncatedNormalBandit([0.5, 0.0, 1.0, 0.9], 0.2),
    "wide": topk.TruncatedNormalBandit([0.5, 0.0, 0.8], 30.0),
    "narrow": topk.TruncatedNormalBandit([0.5, 0.0, 1.0, 0.3], 1e-6),
    "replay": topk.ReplayBandit([[0, 1, 1, 0.25], [0.5], [1, 1, 1], [0.1, 0.2, 0.2]]),
}


def law(bandit, arm):
    """Return an arm's distribution function, from the name of the distribution alone."""
    if isinstance(bandit, topk.BetaBandit):
        return stats.beta(bandit.a[arm], bandit.b[arm]).cdf
    if isinstance(bandit, topk.TruncatedNormalBandit):
        normal = stats.norm(bandit.loc[arm], bandit.scale)
        low, high = normal.cdf([0.0, 1.0])
        return lambda x: np.clip((normal.cdf(x) - low) / (high - low), 0, 1)
    if isinstance(bandit, topk.ReplayBandit):
        record = np.sort(bandit.answers[arm])
        return lambda x: np.searchsorted(record, x, side="right") / record.size
    p = bandit.means[arm]
    return lambda x: np.where(x < 0, 0.0, np.where(x < 1, 1 - p, 1.0))


@pytest.mark.parametrize("name", BANDITS)
def test_single_rewards_follow_the_distribution(name):
    """22 arms in all, each failing with probability 1e-9."""
    bandit = BANDITS[name]
    for arm in range(bandit.n):
        rewards = np.sort(bandit.sample(arm, N, np.random.default_rng(arm)))
        assert rewards.shape == (N,) and rewards.dtype == np.float64
        assert rewards[0] >= 0 and rewards[-1] <= 1
        points = np.unique(rewards)
        found = np.searchsorted(rewards, points, side="right") / N
        assert np.abs(found - law(bandit, arm)(points)).max() <= BAND


@pytest.mark.parametrize("name", BANDITS)
def test_the_stated_means_are_the_expectations(name):
    bandit, points = BANDITS[name], np.linspace(0, 1, 400_001)
    for arm in range(bandit.n):
        expectation = np.trapezoid(1 - law(bandit, arm)(points), points)  # E X
        assert abs(bandit.means[arm] - expectation) < 2e-5


@pytest.mark.parametrize("name", [name for name in BANDITS if name != "bernoulli"])
def test_other_pulls_add_up_the_samples_exactly_and_in_order(name, monkeypatch):
    """Drawn in portions or at once."""
    monkeypatch.setattr(bandits, "CHUNK_SIZE", 4000)
    bandit = BANDITS[name]
    arms, counts = [1, 0, 1, *range(bandit.n)], [3, 0, 1, *[9_000] * bandit.n]
    sums, squares = bandit.pull(arms, counts, np.random.default_rng(2))
    twin = np.random.default_rng(2)
    for j, (arm, count) in enumerate(zip(arms, counts, strict=True)):
        rewards = bandit.sample(arm, count, twin)
        assert sums[j] == math.fsum(rewards)
        assert squares[j] == math.fsum(x * x for x in rewards)


@pytest.mark.parametrize("name", BANDITS)
def test_a_batch_may_be_empty_or_a_list(name):
    bandit = BANDITS[name]
    sums, squares = bandit.pull([], [], np.random.default_rng(0))
    assert sums.shape == squares.shape == (0,)
    one = bandit.pull([1, 0], [2, 1], np.random.default_rng(1))
    two = bandit.pull(np.array([1, 0]), np.array([2, 1]), np.random.default_rng(1))
    assert one.sums.tolist() == two.sums.tolist()
    assert name != "bernoulli" or one.squares.tolist() == one.sums.tolist()


@pytest.mark.parametrize("name", BANDITS)
def test_a_bandit_is_immutable(name):
    bandit = BANDITS[name]
    assert bandit.n == bandit.means.size
    with pytest.raises(ValueError, match="read-only"):
        bandit.means[0] = 0.5
    assert type(bandit).__name__ in repr(bandit) and str(bandit.n) in repr(bandit)


def test_a_bandit_does_not_look_at_the_callers_array_again():
    means, a, record = np.array([0.2, 0.4]), np.array([1.0, 2.0]), np.array([0.0, 1.0])
    bandits = topk.BernoulliBandit(means), topk.BetaBandit(a, a), topk.ReplayBandit([record] * 2)
    before = [bandit.means.tolist() for bandit in bandits]
    means[:], a[:], record[:] = 0.9, [1, 9], 1.0
    assert [bandit.means.tolist() for bandit in bandits] == before
    assert means.flags.writeable and record.flags.writeable
    sums = [b.pull([0], [1000], np.random.default_rng(0)).sums[0] for b in bandits]
    assert all(abs(s / 1000 - b.means[0]) < 0.12 for s, b in zip(sums, bandits, strict=True))
    # each fails with probability 2 exp(-2 * 1000 * 0.0144) < 1e-12


def test_a_bandit_of_ones_own_needs_means_and_sample_only():
    class Coin(topk.Bandit):
        def sample(self, arm, count, rng):
            return rng.integers(0, 2, count) * self.means[arm] * 2

    outcome = topk.run(topk.SAR(1, budget=4000), Coin([0.1, 0.5, 0.2]), rng=0)
    assert outcome.selected.tolist() == [1]
    heads = outcome.sums / (2 * np.array([0.1, 0.5, 0.2]))
    assert np.allclose(heads, heads.round(), rtol=0, atol=1e-9)


@pytest.mark.parametrize("drawn", [lambda n: 0.5, lambda n: [0.5] * (n + 1), lambda n: [[0.5] * n]])
def test_a_bandit_that_returns_another_number_of_rewards_is_refused(drawn):
    class Wrong(topk.Bandit):
        def sample(self, arm, count, rng):
            return drawn(count)

    with pytest.raises(ValueError, match=r"^sample of arm \d must be \d+ rewards, got 'an array"):
        topk.run(topk.SAR(1, budget=60), Wrong([0.1, 0.5, 0.2]), rng=0)


@pytest.mark.parametrize("module, make", [
    ("pandas", "DataFrame"), ("polars", "DataFrame"), ("pyarrow", "table")])
def test_a_table_of_rewards_is_referred_to_from_frame(module, make):
    """A regression test: columns were taken for arms without names, or `zip` said what is wrong."""
    table = getattr(pytest.importorskip(module), make)
    for columns in ({"a": [1, 0], "b": [0, 0]}, {"a": [1, 0, 1], "b": [0, 0, 1]}):
        with pytest.raises(ValueError, match="^answers must be .*from_frame.*, got 'a " + module):
            bandits.ReplayBandit(table(columns))


def test_a_recorded_reward_that_is_none_is_named_with_its_arm():
    for bad in ("x", None, 2, np.nan):
        with pytest.raises(ValueError, match="^answers of arm 'b' must be .*, got .*entry 1"):
            bandits.ReplayBandit({"a": [1, 0], "b": [1, bad]})


MADE = {
    "masked": lambda count: np.ma.array(np.ones(count), mask=np.ones(count)),
    "complex": lambda count: np.full(count, 0.5 + 3j),
    "text": lambda count: np.array(["1"] * count),
    "dates": lambda count: np.zeros(count, "datetime64[s]"),
    "objects": lambda count: np.array([None] * count),
}


@pytest.mark.parametrize("name", MADE)
@pytest.mark.parametrize("method", ["sample", "pull"])
def test_rewards_of_own_bandits_are_numbers(name, method):
    class Own(topk.Bandit):
        def sample(self, arm, count, rng):
            return MADE[name](count)

    if method == "pull":
        Own.pull = lambda self, arms, counts, rng: topk.bandits.Rewards(
            MADE[name](counts.size), np.ones(counts.size))
    with pytest.raises(ValueError, match=f"{method}.* must be"):
        topk.run(topk.Uniform(1, 30), Own([0.5, 0.4, 0.3]), rng=0)
