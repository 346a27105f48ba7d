"""User-defined distributions: rewards drawn ahead in blocks, from one stream per arm."""

import math
import time

import numpy as np
import pytest

import topk
from topk.engine import jit
from topk.engine.streams import stream
from topk.simulate.buffer import FIRST_BLOCK, LARGEST_BLOCK, BufferedBandit
from topk.simulate.play import Play

STRATEGIES = [
    topk.LUCB1(2, 0.0, 0.1, budget=3001), topk.KLLUCB(2, 0.0, 0.1, budget=1000),
    topk.UGapEc(2, 0.01, 0.1, budget=600, variance=True), topk.Racing(2, 0.01, 0.1, budget=2003),
    topk.SAR(2, 700), topk.SAR(2, 40), topk.AdaptiveTopK(2, 0.1, 0.1, budget=5000),
]  # fmt: skip


class Revenue(topk.Bandit):
    """Rewards that are mostly 0, else up to 100; the class records the numbers of rewards drawn."""

    bounds = 0.0, 100.0

    def __init__(self, rates):
        self.rates, self.asked = np.array(rates), []
        super().__init__(50 * self.rates)

    def sample(self, arm, count, rng):
        self.asked.append((arm, count))
        return np.where(rng.random(count) < self.rates[arm], 100 * rng.random(count), 0.0)


BANDIT = Revenue(np.linspace(0.2, 0.8, 7))


@pytest.mark.parametrize("strategy", STRATEGIES, ids=repr)
def test_a_run_does_not_depend_on_traces_and_checkpoints(strategy):
    """Run, trace, replicate, checkpoints and portions: the same sums, which were two kinds before.

    With a shared stream the t-th reward of an arm depended on all pulls before it.
    """
    one, traced = topk.run(strategy, BANDIT, rng=3), topk.run(strategy, BANDIT, rng=3, trace=True)
    marks = [20, 21, 300, 999] if strategy.anytime else None
    many = topk.replicate(strategy, BANDIT, runs=5, seed=3)
    cut = topk.replicate(strategy, BANDIT, runs=5, seed=3, checkpoints=marks, chunk=2)
    for sums, pulls in ((traced.sums, traced.pulls), (many.sums[0], many.pulls[0])):
        assert one.sums.tolist() == sums.tolist() and one.pulls.tolist() == pulls.tolist()
    assert many.sums.tolist() == cut.sums.tolist()
    arms, rewards = traced.trace
    for arm in range(BANDIT.n):
        assert math.isclose(math.fsum(rewards[arms == arm]), one.sums[arm])


def test_the_rewards_of_an_arm_are_the_same_for_every_strategy_and_order():
    """The t-th reward of an arm in play 0; so two strategies are compared with the same luck."""
    traces = [topk.run(x, BANDIT, rng=8, trace=True).trace for x in STRATEGIES]
    for arm in range(BANDIT.n):
        own = [rewards[arms == arm] for arms, rewards in traces]
        longest = max(own, key=len)
        assert len(longest) > 50
        for each in own:
            assert each.tolist() == longest[: len(each)].tolist()


def test_blocks_grow_as_documented_and_have_streams_of_their_own():
    bandit = Revenue([0.3, 0.6])
    rng, buffered = np.random.default_rng(0), BufferedBandit(bandit, 5, 2)
    for count in (1, 15, 1, 40, 3 * LARGEST_BLOCK):
        buffered.pull([1], [count], rng)
    sizes = [size for _, size in bandit.asked]
    assert sizes[:5] == [16, 16, 32, 64, 128] and FIRST_BLOCK == 16
    assert sizes == [min(max(16, sum(sizes[:j])), 2**16) for j in range(len(sizes))]
    own = np.random.default_rng(np.random.SeedSequence(5, spawn_key=(2, 6, 1)))
    blocks = np.concatenate([bandit.sample(1, size, own) for size in sizes])
    assert BufferedBandit(bandit, 5, 2).rewards(1, 5000).tolist() == blocks[:5000].tolist()
    assert rng.random() == np.random.default_rng(0).random()  # no other stream is touched
    others = {stream(5, 2, purpose).random() for purpose in range(7)}
    others |= {np.random.default_rng(np.random.SeedSequence(5, spawn_key=(2, 6, arm))).random()
               for arm in range(3)}
    assert len(others) == 10


def test_the_buffer_moves_and_loses_nothing():
    """Single rewards in a random order of the arms, through many moves."""
    bandit, rng = Revenue(np.full(30, 0.5)), np.random.default_rng(1)
    buffered, found = BufferedBandit(bandit, 1, 0), [[] for _ in range(30)]
    for _ in range(3000):
        arm, count = int(rng.integers(30)), int(rng.integers(1, 4))
        if count < 3:
            buffered.fill(np.array([arm]), np.array([count]))
            law = buffered.law(np.arange(30)).other
            found[arm] += law.values[law.start[arm] : law.start[arm] + count].tolist()
            law.start[arm] += count
        else:
            found[arm] += buffered.rewards(arm, count).tolist()
    for arm, rewards in enumerate(found):
        assert rewards == BufferedBandit(bandit, 1, 0).rewards(arm, len(rewards)).tolist()
    assert buffered.buffer.size < 40 * sum(map(len, found)) / 10


class Doubled(topk.BernoulliBandit):
    """Bernoulli rewards with other probabilities than the declared means."""

    def sample(self, arm, count, rng):
        return np.full(count, float(arm == 1))


class Checked(topk.BernoulliBandit):
    def rewards(self, arm, count, rng):
        return np.full(count, float(arm == 1))


class Chosen(topk.MultiBandit):
    def sample(self, arm, count, rng):
        return np.full(count, float(arm % 2))


@pytest.mark.parametrize("kind", [Doubled, Checked])
def test_a_sampler_of_a_subclass_is_always_used(kind):
    """A regression test: runs silently drew from the means instead."""
    bandit = kind([0.5, 0.5])
    for strategy in (topk.Uniform(1, 200), topk.LUCB1(1, 0.1, 0.1, budget=200)):
        for trace in (True, False):
            assert topk.run(strategy, bandit, rng=0, trace=trace).means.tolist() == [0.0, 1.0]
        found = topk.replicate(strategy, bandit, 3, seed=0)
        assert found.sums.tolist() == (found.pulls * [0, 1]).tolist()
    assert bandit.pull([0, 1], [5, 5], np.random.default_rng(0)).sums.tolist() == [0, 5]


def test_a_sampler_of_several_bandits_is_always_used():
    found = topk.run(topk.MultiBanditSAR(budget=60), Chosen([[0.5, 0.5], [0.5, 0.5]]), rng=0)
    assert found.means.tolist() == [[0.0, 1.0], [0.0, 1.0]]


def test_bernoulli_arms_declare_no_other_bounds():
    """Their sums were [1500, 4100] by `run` and [15, 41] by a trace and by `replicate`."""
    class Big(topk.BernoulliBandit):
        bounds = 0.0, 100.0

    class Wild(topk.BernoulliBandit):
        sigma = 2.0

    for name, bandit in (("bounds", Big([0.2, 0.8])), ("sigma", Wild([0.2, 0.8]))):
        for act in (lambda b: topk.run(topk.Uniform(1, 100), b, rng=0),
                    lambda b: topk.run(topk.LUCB1(1, 0.1, 0.1), b, rng=0, trace=True),
                    lambda b: topk.replicate(topk.Uniform(1, 100), b, 2, seed=0)):
            with pytest.raises(ValueError, match=f"^{name} must be left out for Bernoulli arms"):
                act(bandit)

    class Same(topk.BernoulliBandit):
        bounds = 0, 1

    bandits = Same([0.2, 0.8]), topk.BernoulliBandit([0.2, 0.8])
    one, other = (topk.run(topk.Uniform(1, 100), each, rng=0).sums.tolist() for each in bandits)
    assert one == other

    class Own(Big):
        def sample(self, arm, count, rng):
            return np.full(count, 100.0 * arm)

    assert topk.run(topk.Uniform(1, 100), Own([0.2, 0.8]), rng=0).sums.tolist() == [0.0, 5000.0]


def test_a_reward_out_of_bounds_is_refused_before_it_is_counted():
    class Wrong(Revenue):
        def sample(self, arm, count, rng):
            return np.full(count, 101.0)

    for strategy in STRATEGIES:
        with pytest.raises(ValueError, match=r"^a reward of arm \d must be in \[0, 100\]"):
            topk.run(strategy, Wrong(np.full(7, 0.5)), rng=0)


@pytest.mark.parametrize("bandit", [
    topk.GaussianBandit(np.linspace(0.1, 0.9, 9), 0.3),
    topk.ReplayBandit([np.arange(arm, arm + 7) / 20 for arm in range(9)]),
    topk.BetaBandit(np.arange(1, 10.0), np.arange(10, 1, -1.0)), BANDIT,
], ids=repr)
def test_racing_is_one_compiled_loop_with_the_same_run(bandit):
    """A record keeps every reward: there each batch is drawn by the bandit in Python."""
    for budget in (None, 1003):
        strategy = topk.Racing(2, 0.2 * bandit.reward_range.width, 0.1, budget=budget)
        assert Play(strategy, bandit, 0, 0).fused
        for seed in range(3):
            drawn, asked = (topk.run(strategy, bandit, seed, trace=x) for x in (False, True))
            for name in ("selected", "pulls", "sums", "stopped"):
                assert np.array_equal(getattr(drawn, name), getattr(asked, name)), name


@pytest.mark.skipif(not jit.COMPILES, reason="loops are not compiled")
def test_a_pull_costs_little(compiled):
    """34 µs a pull before; the bound has room for a slow machine under load."""
    strategy, seconds = topk.LUCB1(2, 0.0, 0.1), []
    topk.run(strategy, BANDIT, rng=0, max_pulls=100)  # compiles
    for seed in range(3):
        begin = time.process_time()
        topk.run(strategy, BANDIT, rng=seed, max_pulls=50_000)
        seconds.append(time.process_time() - begin)
    assert min(seconds) < 4e-6 * 50_000


@pytest.mark.parametrize("strategy", [topk.LUCB1(1, 0.3, 0.1, budget=60), topk.SAR(1, 60)])
@pytest.mark.parametrize("name", ["pull", "sample"])
def test_methods_of_one_bandit_are_used(name, strategy):
    """Not only those of a class: rewards of known distributions are otherwise drawn in the loop."""
    def own(*given):
        raise LookupError

    for bandit in (topk.BernoulliBandit([0.6, 0.4, 0.2]), topk.BetaBandit([2, 3, 4], [2, 2, 2]),
                   topk.GaussianBandit([0, 1, 2], 1.0), topk.ReplayBandit([[0, 1], [1], [0]])):
        setattr(bandit, name, own)
        with pytest.raises(LookupError):
            topk.run(strategy, bandit, rng=0)
