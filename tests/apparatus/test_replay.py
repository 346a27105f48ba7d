"""Runs of SAR on prepared sums agree with runs that receive single rewards."""

import numpy as np
import pytest

import topk
from topk.strategies.sar import phase_lengths
from topk_book.replay import replay_phases


@pytest.mark.parametrize("layout", [6, (2, 3)])
def test_prepared_sums_agree_with_single_rewards(layout):
    several = isinstance(layout, tuple)
    for number in range(20):
        rng = np.random.default_rng(number)
        budget = int(rng.integers(7, 120))
        strategy = topk.MultiBanditSAR(budget) if several else topk.SAR(2, budget)
        lengths = list(phase_lengths(6, budget))
        rewards = rng.integers(0, 2, (lengths[-1], 6))
        session, used = strategy.start(layout), np.zeros(6, dtype=int)
        while not session.done:  # one reward at a time, from the same lists
            arm = session.ask()[0][-1]
            session.tell([arm], [rewards[used[arm], arm]])
            used[arm] += 1
        sums = np.cumsum(rewards, axis=0)[np.array(lengths) - 1]
        found = replay_phases(strategy, layout, sums)
        assert found.tolist() == session.selected.tolist()
