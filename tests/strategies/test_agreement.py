"""One decision, written once: run, replicate and a session make the same play."""

import numpy as np
import pytest
from strategies.registry import ENTRIES, cases, numbers, real_bandit, zero_one_bandit

import topk


def by_hand(strategy, bandit, seed):
    """Drive a session against a bandit, with the streams of play 0."""
    order, rng = topk.streams(seed, 0, bandit.layout)
    session = strategy.start(bandit.layout)
    pulls, sums = np.zeros(bandit.n, dtype=int), np.zeros(bandit.n)
    while not session.done:
        arms, counts = session.ask()
        rewards = bandit.pull(order[arms], counts, rng)
        session.tell(arms, rewards.sums, counts=counts, squares=rewards.squares)
        pulls[order[arms]] += counts
        sums[order[arms]] += rewards.sums
    assert np.array_equal(session.pulls.ravel(), pulls[order])
    selected = sorted(order[numbers(session.selected, bandit.layout)].tolist())
    return selected, pulls, sums, session


@pytest.mark.parametrize("kind", ["bernoulli", "beta"])
@pytest.mark.parametrize("entry", ENTRIES, ids=lambda entry: entry.name)
def test_run_replicate_and_a_session_driven_by_hand_agree(entry, kind):
    for strategy, bandit, rng in cases(entry, 50, seed=3, sizes=(2, 3, 5, 9, 25)):
        if kind == "beta":
            bandit = real_bandit(bandit.layout, rng)
        seed = int(rng.integers(2**32))
        outcome = topk.run(strategy, bandit, rng=seed)
        reps = topk.replicate(strategy, bandit, runs=1, seed=seed)
        selected, pulls, sums, session = by_hand(strategy, bandit, seed)
        assert outcome.selected.tolist() == reps.selected[0, 0].tolist()
        assert numbers(outcome.selected, bandit.layout) == selected, strategy
        assert outcome.pulls.tolist() == reps.pulls[0].tolist()
        assert outcome.pulls.ravel().tolist() == pulls.tolist(), strategy
        assert outcome.sums.tolist() == reps.sums[0].tolist()
        assert outcome.sums.ravel().tolist() == sums.tolist(), strategy
        assert outcome.total_pulls == reps.total_pulls[0] == pulls.sum()
        assert outcome.certified == reps.certified[0] == session.certified
        assert outcome.stopped == session.stopped


@pytest.mark.parametrize("entry", ENTRIES, ids=lambda entry: entry.name)
def test_the_shape_of_an_outcome(entry):
    for strategy, bandit, rng in cases(entry, 20, seed=4):
        outcome = topk.run(strategy, bandit, rng=rng)
        shape = bandit.means.shape
        assert outcome.selected.shape == (*shape[:-1], strategy.k)
        assert (np.diff(outcome.selected) > 0).all()
        assert outcome.selected.min() >= 0 and outcome.selected.max() < shape[-1]
        assert outcome.pulls.shape == outcome.sums.shape == shape
        assert outcome.selected.dtype.kind == outcome.pulls.dtype.kind == "i"
        assert (outcome.sums >= 0).all() and (outcome.sums <= outcome.pulls).all()
        assert outcome.stopped == ("rule" if outcome.certified else "budget")
        assert outcome.trace is None


@pytest.mark.parametrize("entry", ENTRIES, ids=lambda entry: entry.name)
def test_a_trace_changes_nothing_and_adds_up(entry):
    for number, (strategy, bandit, rng) in enumerate(cases(entry, 30, seed=5, sizes=(2, 4, 7))):
        if number % 3 == 0:
            bandit = real_bandit(bandit.layout, rng)
        seed = int(rng.integers(2**32))
        plain, traced = (topk.run(strategy, bandit, rng=seed, trace=t) for t in (False, True))
        assert plain.selected.tolist() == traced.selected.tolist()
        assert plain.pulls.tolist() == traced.pulls.tolist()
        assert plain.sums.tolist() == traced.sums.tolist()
        arms, rewards = traced.trace
        assert arms.shape == rewards.shape == (traced.total_pulls,)
        assert np.bincount(arms, minlength=bandit.n).tolist() == traced.pulls.ravel().tolist()
        np.testing.assert_allclose(
            np.bincount(arms, rewards, minlength=bandit.n), traced.sums.ravel(), rtol=1e-12, atol=0
        )
        assert ((rewards >= 0) & (rewards <= 1)).all()
        if number % 3:
            assert set(np.unique(rewards)) <= {0.0, 1.0}
        again = topk.run(strategy, bandit, rng=seed, trace=True)
        assert np.array_equal(again.trace, traced.trace)


@pytest.mark.parametrize("entry", ENTRIES, ids=lambda entry: entry.name)
def test_a_trace_lists_the_pulls_in_the_order_in_which_they_were_asked_for(entry):
    for strategy, bandit, rng in cases(entry, 10, seed=6, sizes=(3, 6)):
        seed = int(rng.integers(2**32))
        arms = topk.run(strategy, bandit, rng=seed, trace=True).trace[0]
        order, stream = topk.streams(seed, 0, bandit.layout)
        session, asked = strategy.start(bandit.layout), []
        while not session.done:
            wanted, counts = session.ask()
            rewards = bandit.pull(order[wanted], counts, stream)
            session.tell(wanted, rewards.sums, counts=counts, squares=rewards.squares)
            asked += np.repeat(order[wanted], counts).tolist()
        assert arms.tolist() == asked


@pytest.mark.parametrize("entry", ENTRIES, ids=lambda entry: entry.name)
def test_a_strategy_is_a_frozen_hashable_picklable_value(entry):
    import dataclasses
    import pickle

    for strategy, bandit, _ in cases(entry, 5, seed=7):
        again = pickle.loads(pickle.dumps(strategy))
        assert again == strategy and hash(again) == hash(strategy)
        with pytest.raises(dataclasses.FrozenInstanceError):
            strategy.k = 3
        before = dict(vars(strategy))
        topk.run(strategy, bandit)
        assert vars(strategy) == before


@pytest.mark.parametrize("entry", ENTRIES, ids=lambda entry: entry.name)
def test_nothing_leaks_through_the_order_of_the_arms(entry):
    """Equal arms are chosen equally often; false alarm below 1e-6 by Hoeffding's inequality."""
    runs, n = 600, 3
    strategy, like, _ = next(c for c in cases(entry, 100, seed=8, sizes=(n,)) if c[0].k == 1)
    for mean in (0.0, 0.5):
        bandit = zero_one_bandit(np.full(like.means.shape, mean))
        reps = topk.replicate(strategy, bandit, runs=runs, seed=9)
        # of several bandits the first
        rates = np.bincount(reps.selected.reshape(runs, -1)[:, 0], minlength=n) / runs
        # 2 n exp(-2 runs x^2) = 1e-7 for each of the two bandits
        slack = np.sqrt(np.log(2 * n / 1e-7) / (2 * runs))
        assert np.abs(rates - 1 / n).max() < slack, rates
