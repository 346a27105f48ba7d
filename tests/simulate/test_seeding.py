"""Every run has its own random streams."""

import itertools

import numpy as np
import pytest
from scale import some

import topk
from topk.engine.streams import INSTANCE, ORDER, REWARDS, RULE, SPLIT, stream
from topk.simulate.many import run_together
from topk.simulate.run import Study
from topk.simulate.seeding import generator_memory, generator_state, generator_states, generators


def test_the_streams_are_children_of_one_seed_sequence():
    """Play r owns the children (r, purpose) of SeedSequence(seed): written out by hand."""
    for seed, play, n in itertools.product((0, 1, 2**40), (0, 1, 999), (2, 5)):
        order, rng = topk.streams(seed, play, n)
        children = np.random.SeedSequence(seed, spawn_key=(play,)).spawn(2)
        expected = np.random.default_rng(children[0]).permutation(n)
        assert order.tolist() == expected.tolist() and order.dtype == np.int64
        assert rng.random(3).tolist() == np.random.default_rng(children[1]).random(3).tolist()


def test_no_two_streams_coincide():
    purposes = ORDER, REWARDS, INSTANCE, SPLIT, RULE
    assert len(set(purposes)) == 5
    seen = set()
    for seed, play, purpose in itertools.product(range(5), range(50), purposes):
        seen.add(stream(seed, play, purpose).integers(2**62).item())
    # 1250 numbers below 2**62: two of them agree by chance with probability 1.7e-13
    assert len(seen) == 5 * 50 * 5


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


@pytest.mark.parametrize("seed", [0, 1, 2**32 - 1, 2**32, 2**63, 2**127, 2**128, 2**200 + 7])
def test_generators_of_many_runs_are_numpys(seed):
    first, last = range(3), range(2**32 - 3, 2**32)
    for purpose, numbers in itertools.product((ORDER, REWARDS), (first, last)):
        for play, rng in zip(numbers, generators(seed, numbers, purpose), strict=True):
            assert rng.bit_generator.state == stream(seed, play, purpose).bit_generator.state
        plain = [generator_state(rng) for rng in generators(seed, numbers, purpose)]
        assert generator_states(seed, numbers, purpose).tolist() == plain


@pytest.mark.parametrize("kind", [np.random.SFC64, np.random.MT19937])
def test_a_number_that_is_no_pointer_is_not_followed(kind):
    """These store their state where PCG64 has a pointer: following it ends the process."""
    for seed in range(50):
        assert generator_memory(np.random.Generator(kind(seed))) is None
    rng = np.random.default_rng(0)
    memory = generator_memory(rng)
    rng.random(7)
    assert memory.tolist() == generator_state(rng)


SEVERAL = topk.MultiBandit([[0.9, 0.5, 0.1], [0.2, 0.3, 0.7]])
DRAWN = [topk.instances.unif01(20, np.random.default_rng(r)) for r in range(25)]
TOGETHER = [
    (topk.LUCB1(3, epsilon=0.2, delta=0.1), [topk.instances.uniform(20)]),
    (topk.LUCB1(3, epsilon=0.0, delta=0.1, budget=3000), [topk.instances.uniform(300)]),
    (topk.GapE(3, budget=2000, complexity=100.0), DRAWN),
    (topk.CLUCB(2, delta=0.3, budget=5000), [topk.instances.uniform(20)]),
    (topk.AdaptiveTopK(3, epsilon=0.3, delta=0.1), DRAWN),
    (topk.SAR(3, 300), DRAWN),
    (topk.MultiBanditSAR(600), [SEVERAL]),
    (topk.OptMAI(3, budget=500), DRAWN),
    (topk.UGapEc(3, epsilon=0.3, delta=0.1), [topk.instances.uniform(20)]),
    (topk.MultiBanditUGapEc(1, epsilon=0.4, delta=0.1), [SEVERAL]),
]
# of the indices, of the rounds, and of the rules that do not recommend by means
QUICK = topk.LUCB1, topk.SAR, topk.MultiBanditUGapEc


@pytest.mark.parametrize(
    "case", some(TOGETHER, lambda case: isinstance(case[0], QUICK)),
    ids=[str(case[0]) for case in TOGETHER],
)
def test_runs_made_together_agree_with_runs_made_one_by_one(case, compiled):
    """With a rule that ends early or late, of one bandit and of several, with arms drawn anew."""
    strategy, bandit = case
    study = Study(strategy, bandit[0] if len(bandit) == 1 else bandit, 3)
    together = run_together(strategy, bandit, 3, range(5, 30))
    alone = study._one_by_one(bandit, range(5, 30))
    assert together.keys() == alone.keys()
    for name, values in alone.items():
        assert values.dtype == together[name].dtype
        assert values.shape == together[name].shape
        assert values.tolist() == together[name].tolist()


def test_runs_of_rules_that_draw_random_numbers_are_made_one_by_one(compiled):
    top_two = topk.TopTwo(3, epsilon=0.2, delta=0.1)
    assert run_together(top_two, DRAWN, 3, range(5, 30)) is None
