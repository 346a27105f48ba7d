"""The functions run, replicate, trace and a session make the same run."""

import dataclasses
import pickle

import numpy as np
import pytest
from scale import amount
from strategies.registry import cases, each_strategy, numbers, real_bandit, start, zero_one_bandit

import topk
from topk.engine.streams import RULE, stream
from topk.simulate.buffer import BufferedBandit, needs_buffer


def by_hand(strategy, bandit, seed, play=0):
    """Run a session on a bandit with the streams of a run; return the arms in order."""
    order, rng = topk.streams(seed, play, bandit.layout)
    bandit = BufferedBandit(bandit, seed, play) if needs_buffer(bandit) else bandit
    session, asked = start(strategy, bandit.layout, stream(seed, play, RULE)), []
    sums = np.zeros(bandit.n)
    while not session.done:
        arms, counts = session.ask()
        rewards = bandit.pull(order[arms], counts, rng)
        session.tell(arms, sums=rewards.sums, counts=counts, squares=rewards.squares)
        asked.append(np.repeat(order[arms], counts))
        sums[order[arms]] += rewards.sums
    selected = sorted(order[numbers(session.selected, bandit.layout)].tolist())
    asked = np.concatenate(asked or [np.zeros(0, int)])
    return selected, asked, sums.reshape(bandit.means.shape), session


def check_trace(traced, asked, whole):
    """A trace lists the pulls in order, and its rewards add up to the sums."""
    arms, rewards = traced.trace
    assert np.array_equal(arms, asked) and ((rewards >= 0) & (rewards <= 1)).all()
    found = np.bincount(arms, rewards, minlength=traced.sums.size)
    np.testing.assert_allclose(found, traced.sums.ravel(), rtol=1e-12, atol=0)
    assert not whole or set(np.unique(rewards)) <= {0.0, 1.0}


@each_strategy
def test_run_replicate_a_trace_and_a_session_driven_by_hand_agree(entry):
    """Every other instance has real rewards."""
    plays = cases(entry, amount(24, 40), seed=3, sizes=(2, 3, 5, 9, 25))
    for number, (strategy, bandit, rng) in enumerate(plays):
        if number % 2:
            bandit = real_bandit(bandit.layout, rng)
        seed, shape = int(rng.integers(2**32)), bandit.means.shape
        outcome = topk.run(strategy, bandit, rng=seed)
        reps = topk.replicate(strategy, bandit, runs=2, seed=seed)
        if strategy.random or reps.total_pulls[1] < 500:  # the streams are those of the play
            assert by_hand(strategy, bandit, seed, 1)[2].tolist() == reps.sums[1].tolist()
        selected, asked, sums, session = by_hand(strategy, bandit, seed)
        assert outcome.selected.shape == (*shape[:-1], strategy.k)
        assert outcome.selected.tolist() == reps.selected[0, 0].tolist()
        assert numbers(outcome.selected, bandit.layout) == selected, strategy
        assert outcome.pulls.tolist() == reps.pulls[0].tolist()
        pulls = np.bincount(asked, minlength=bandit.n)
        assert outcome.pulls.tolist() == pulls.reshape(shape).tolist(), strategy
        assert outcome.sums.tolist() == reps.sums[0].tolist() == sums.tolist(), strategy
        assert outcome.selected.dtype.kind == outcome.pulls.dtype.kind == "i"
        assert outcome.total_pulls == reps.total_pulls[0] == len(asked)
        assert outcome.certified == reps.certified[0] == session.certified
        assert outcome.stopped == session.stopped == ("rule" if outcome.certified else "budget")
        assert outcome.trace is None
        if len(asked) < 10_000:
            traced = [topk.run(strategy, bandit, rng=seed, trace=True) for _ in range(2)]
            assert np.array_equal(traced[0].trace, traced[1].trace)
            check_trace(traced[0], asked, whole=number % 2 == 0)
            for name in ("selected", "pulls", "sums"):
                assert getattr(traced[0], name).tolist() == getattr(outcome, name).tolist()


@each_strategy
def test_a_strategy_is_a_frozen_hashable_picklable_value(entry):
    for strategy, bandit, _ in cases(entry, 5, seed=7):
        again = pickle.loads(pickle.dumps(strategy))
        assert again == strategy and hash(again) == hash(strategy)
        with pytest.raises(dataclasses.FrozenInstanceError):
            strategy.k = 3
        before = dict(vars(strategy))
        topk.run(strategy, bandit, rng=0)
        assert vars(strategy) == before


@each_strategy
def test_nothing_leaks_through_the_order_of_the_arms(entry):
    """Equal arms are chosen equally often; false alarm below 1e-6 by Hoeffding's inequality."""
    runs, n = amount(200, 600), 3
    strategy, like, _ = next(c for c in cases(entry, 100, seed=8, sizes=(n,)) if c[0].k == 1)
    for mean in (0.0, 0.5):
        bandit = zero_one_bandit(np.full(like.means.shape, mean))
        reps = topk.replicate(strategy, bandit, runs=runs, seed=9)
        # of several bandits the first
        rates = np.bincount(reps.selected.reshape(runs, -1)[:, 0], minlength=n) / runs
        # 2 n exp(-2 runs x^2) = 1e-7 for each of the two bandits
        slack = np.sqrt(np.log(2 * n / 1e-7) / (2 * runs))
        assert np.abs(rates - 1 / n).max() < slack, rates


def test_a_trace_of_many_slices_is_that_of_one(monkeypatch):
    """Each slice records its own pulls; the budget cuts the last pair."""
    strategy, bandit = topk.LUCB1(1, 0.0, 0.1, budget=3_001), topk.BernoulliBandit([0.5] * 4)
    whole = topk.run(strategy, bandit, rng=5, trace=True).trace
    monkeypatch.setattr(topk.simulate.play, "FIRST_SLICE", 0)
    monkeypatch.setattr(topk.simulate.play, "SLICE_SECONDS", 0.0)  # none gets longer
    assert np.array_equal(whole, topk.run(strategy, bandit, rng=5, trace=True).trace)
    assert whole[0].size == 3_001
