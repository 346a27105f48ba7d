"""Every play has streams of its own, whatever else is played."""

import itertools
import math

import numpy as np
import pytest

import topk
from topk.play import INSTANCE, ORDER, REWARDS, SPLIT, stream


@pytest.mark.parametrize("n", [1, 2, 7, 1000])
def test_the_order_is_a_permutation_of_integers(n):
    order, rng = topk.streams(3, 5, n)
    assert isinstance(rng, np.random.Generator)
    assert order.dtype == np.int64 and sorted(order.tolist()) == list(range(n))


def test_the_streams_are_children_of_one_seed_sequence():
    """Play r owns the children (r, purpose) of SeedSequence(seed): written out by hand."""
    for seed, play, n in itertools.product((0, 1, 2**40), (0, 1, 999), (2, 5)):
        order, rng = topk.streams(seed, play, n)
        children = np.random.SeedSequence(seed, spawn_key=(play,)).spawn(2)
        expected = np.random.default_rng(children[0]).permutation(n)
        assert order.tolist() == expected.tolist()
        assert rng.random(3).tolist() == np.random.default_rng(children[1]).random(3).tolist()


def test_no_two_streams_coincide():
    purposes = ORDER, REWARDS, INSTANCE, SPLIT
    assert len(set(purposes)) == 4
    seen = set()
    for seed, play, purpose in itertools.product(range(5), range(50), purposes):
        seen.add(stream(seed, play, purpose).integers(2**62).item())
    # 1000 numbers below 2**62: two of them agree by chance with probability 1.1e-13
    assert len(seen) == 5 * 50 * 4


def test_drawing_from_one_stream_moves_no_other():
    order, rng = topk.streams(1, 0, 10)
    rng.random(1000)
    stream(1, 0, SPLIT).random(1000)
    assert topk.streams(1, 0, 10)[0].tolist() == order.tolist()
    assert topk.streams(1, 1, 10)[0].tolist() != order.tolist()


def test_orders_of_different_plays_are_uniform():
    """All 6 orders of 3 arms equally often; false alarm below 1e-7 by Hoeffding."""
    runs, orders = 3000, list(itertools.permutations(range(3)))
    counts = dict.fromkeys(orders, 0)
    for play in range(runs):
        counts[tuple(topk.streams(7, play, 3)[0].tolist())] += 1
    slack = math.sqrt(math.log(2 * len(orders) / 1e-7) / (2 * runs))
    assert max(abs(count / runs - 1 / 6) for count in counts.values()) < slack


def test_several_bandits_are_put_in_a_random_order_and_so_are_their_arms():
    orders = np.array([topk.streams(3, play, (3, 4))[0] for play in range(600)]).reshape(-1, 3, 4)
    assert (orders // 4 == orders[:, :, :1] // 4).all()  # bandits stay together
    assert (np.sort(orders.reshape(600, -1)) == np.arange(12)).all()
    # each of 57 shares is off by 0.12 with probability below 2 exp(-17), Hoeffding
    for bandit in range(3):
        first = np.bincount(orders[:, bandit, 0] // 4, minlength=3) / 600
        assert np.abs(first - 1 / 3).max() < 0.12
        for place in range(4):
            share = np.bincount(orders[:, bandit, place] % 4, minlength=4) / 600
            assert np.abs(share - 1 / 4).max() < 0.12


def test_a_generator_as_rng_is_asked_for_a_seed():
    bandit, strategy = topk.BernoulliBandit([0.3, 0.6, 0.5]), topk.Uniform(1, budget=300)
    sums = [topk.run(strategy, bandit, rng=np.random.default_rng(4)).sums for _ in range(2)]
    assert sums[0].tolist() == sums[1].tolist()
    rng = np.random.default_rng(4)
    first, second = (topk.run(strategy, bandit, rng=rng).sums for _ in range(2))
    assert first.tolist() == sums[0].tolist() != second.tolist()


def test_the_global_generator_is_neither_used_nor_moved():
    bandit, strategy = topk.BernoulliBandit([0.3, 0.6, 0.5]), topk.SAR(1, budget=300)
    results = []
    for seed in (1, 2):
        np.random.seed(seed)  # noqa: NPY002
        before = np.random.get_state()[1].tolist()  # noqa: NPY002
        results.append(topk.replicate(strategy, bandit, runs=3, seed=5).sums.tolist())
        assert np.random.get_state()[1].tolist() == before  # noqa: NPY002
    assert results[0] == results[1]
