"""Compiled code that counts no references must neither lose an array nor let go of one."""

import gc
import sys

import numpy as np
import pytest
from numba.core.runtime import _nrt_python, rtsys
from strategies.registry import ENTRIES, cases

import topk
from topk.play import Play


def alive():
    """Return how many arrays compiled code has made, or taken in, and not let go."""
    gc.collect()
    stats = rtsys.get_allocation_stats()
    return stats.mi_alloc - stats.mi_free


@pytest.fixture
def counted():
    _nrt_python.memsys_enable_stats()
    yield
    _nrt_python.memsys_disable_stats()


@pytest.mark.parametrize("entry", ENTRIES, ids=lambda entry: entry.name)
def test_plays_leave_no_array_behind(entry, counted):
    plays, left = list(cases(entry, 6, seed=2)), []
    for _ in range(3):  # the first time compiles
        for strategy, bandit, _ in plays:
            topk.run(strategy, bandit, rng=3)
        left.append(alive())
    assert left[1] == left[2]


def arrays_of(state):
    for value in state:
        if isinstance(value, np.ndarray):
            yield value
        elif isinstance(value, tuple):
            yield from arrays_of(value)


@pytest.mark.parametrize("strategy", [
    topk.SAR(2, 1000), topk.LUCB1(2, epsilon=0.0, delta=0.1, budget=1000),
    topk.UGapEb(2, 1000, epsilon=0.1), topk.CLUCB(2, delta=0.1, budget=1000),
], ids=lambda strategy: type(strategy).__name__)
def test_a_play_gives_back_what_it_was_lent(strategy):
    play = Play(strategy, topk.BernoulliBandit([0.9, 0.5, 0.4, 0.3, 0.2]), 0, 0)
    arrays = [*arrays_of(play.state), play.means, play.arms, play.counts, play.sums]
    counts = [sys.getrefcount(array) for array in arrays]
    play.advance()
    assert play.total > 5
    assert [sys.getrefcount(array) for array in arrays] == counts
