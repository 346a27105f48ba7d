"""The weakest pair of an arm inside and one outside, against the weights of all pairs."""

import numpy as np
import pytest

import topk
from topk.bandits import UNIT_RANGE, reward_range_of
from topk.rules.search.weakest_pair import NEVER, weight


@pytest.mark.parametrize("normal", [False, True])
@pytest.mark.parametrize("epsilon", [0.0, 0.1])
def test_the_pair_has_the_smallest_of_all_weights(epsilon, normal):
    """In runs of few pulls, in which arms change sides all the time."""
    for seed in range(25):
        rng = np.random.default_rng([7, seed])
        n = int(rng.integers(3, 9))
        k = int(rng.integers(1, n - 1))
        strategy = topk.TopTwo(k, epsilon, 1e-9)
        play = strategy.begin(n, reward_range_of(None, 0.5) if normal else UNIT_RANGE)
        arms = np.arange(n)
        for _ in range(60):
            ones = (rng.random(arms.size) < 0.5).astype(float)
            play.count(arms, np.ones(arms.size, dtype=np.int64), ones, np.zeros(arms.size))
            play.update(arms)
            s = play.s
            inside, all_arms = play.recommend().tolist(), range(n)
            weights = {(a, b): weight(s, a, b) for a in inside for b in all_arms if b not in inside}
            least = min(weights.values())
            assert s.now.least == pytest.approx(least, abs=1e-10) and least < NEVER
            assert weights[s.now.inside, s.now.outside] == pytest.approx(least, abs=1e-10)
            arms = rng.permutation(n)[: rng.integers(1, 3)]
