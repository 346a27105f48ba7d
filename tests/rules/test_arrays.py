"""The searches of plain Python make the decisions of those of compiled code."""

from dataclasses import dataclass

import numpy as np
import pytest
from engine.searching import begin, call

import topk
from topk.rules.indices import following, highest, inside, kth, lower, lowest, upper
from topk.rules.search import clucb_trees
from topk.rules.search.arrays import PLAIN
from topk.rules.search.clucb_trees import CLUCB_TREES
from topk.rules.search.top_k_scan import TOP_K_SCAN
from topk.rules.search.top_k_trees import TOP_K_TREES
from topk.rules.search.ugape_scan import members
from topk.rules.search.ugape_trees import UGAPE_TREES
from topk.strategies.kllucb import imbalance

CASES = [
    (topk.LUCB1(3, epsilon=0.0, delta=0.1), TOP_K_SCAN),
    (topk.LUCB1(3, epsilon=0.0, delta=0.1), TOP_K_TREES),
    (topk.KLLUCB(3, epsilon=0.0, delta=0.1), TOP_K_SCAN),
    (topk.GapE(3, budget=10**6, complexity=9.0), TOP_K_TREES),
    (topk.CLUCB(3, delta=0.1), CLUCB_TREES),
    (topk.UGapEc(3, epsilon=0.0, delta=0.1), UGAPE_TREES),
]


def found(play):
    """Return what rules ask of a search."""
    if play.search in (CLUCB_TREES, PLAIN[CLUCB_TREES]):
        gain = call(play, clucb_trees.gain, 0.0)
        return [call(play, clucb_trees.widest), gain <= 0.0], gain
    if play.search in (UGAPE_TREES, PLAIN[UGAPE_TREES]):
        return call(play, members, 0, play.s.n).tolist(), 0.0
    low, high = call(play, lowest), call(play, highest)
    bounds = [call(play, lower, low), call(play, upper, high), call(play, kth)]
    sides = [call(play, inside, arm) for arm in range(play.s.n)]
    return [low, high, *bounds, call(play, following), *sides], 0.0


@pytest.mark.parametrize(("strategy", "search"), CASES)
def test_the_same_is_found_with_ties_many_pulls_and_withdrawn_arms(strategy, search):
    rng, n = np.random.default_rng(3), 12
    for number in range(30):
        plays = [strategy.begin(n, search=x) for x in (search, PLAIN[search])]
        arms, active = np.arange(n), set(range(n))
        for step in range(25):
            counts = rng.integers(1, (2, 5)[number % 2], arms.size)
            sums = rng.integers(0, counts + 1).astype(float)
            for play in plays:
                play.count(arms, counts, sums, np.zeros(arms.size))
                play.update(arms)
            results = [found(play) for play in plays]
            assert results[0][0] == results[1][0]
            assert results[0][1] == pytest.approx(results[1][1], abs=1e-9)
            pairs = [play.s.picked[: play.s.now.picked].tolist() for play in plays]
            assert pairs[0] == pairs[1]
            if step == 12:
                active.remove(int(arms[0]))
                for play in plays:
                    play.withdraw(arms[0])
            left = sorted(active)
            arms = rng.choice(left, 2, replace=False) if step % 3 else np.array(
                [arm for arm in pairs[0] if arm in active] or left[:1])


@pytest.mark.parametrize("search", [CLUCB_TREES, TOP_K_SCAN, TOP_K_TREES], ids=repr)
def test_the_same_is_found_where_unequal_arms_have_equal_bounds(search):
    """Quarters of a mean and bounds of width 1/2, 1/4 and 1/8 meet all the time."""
    rng = np.random.default_rng(6)
    for _ in range(300):
        n, k = 9, int(rng.integers(1, 9))
        pulls = rng.choice([1, 4, 16], n)
        sums = pulls * rng.integers(0, 9, n) / 8
        results = [found(begin(x, pulls, sums, k, 0.5)) for x in (search, PLAIN[search])]
        assert results[0] == results[1]


def test_the_imbalance_of_pulls_is_added_up_in_the_order_of_the_arms():
    rng = np.random.default_rng(4)
    for n in (2, 3, 30):
        session = topk.KLLUCB(1, epsilon=0.0, delta=0.1).start(n)
        counts = rng.integers(1, 1000, n)
        session.observe(range(n), sums=counts // 2, counts=counts)
        if n > 2:
            session.withdraw(int(session.selected[0]))
        s = session.engine.s
        for arm in s.active[: s.now.n_active]:
            assert imbalance(s, arm) == imbalance.compiled_form(s, arm)


@pytest.mark.parametrize("kind", [topk.KLLUCB, topk.BettingLUCB])
def test_a_derived_class_has_its_own_interval(kind):
    @dataclass(frozen=True)
    class Wider(kind):
        """Bounds that never separate the arms."""

        @topk.rule
        def interval(s, arm):
            return 0.0, 1.0

    bandit = topk.BernoulliBandit([0.9, 0.1])
    assert topk.run(kind(1, 0.0, 0.1, budget=200), bandit, rng=0).certified
    assert not topk.run(Wider(1, 0.0, 0.1, budget=200), bandit, rng=0).certified


@pytest.mark.parametrize("kind", [topk.KLLUCB, topk.BettingLUCB])
@pytest.mark.parametrize("levels", ["sides", "arms"])
def test_a_derived_class_has_its_own_withdrawal(kind, levels):
    @dataclass(frozen=True)
    class Noting(kind):
        """Notes the arm that leaves."""

        def state(self, arms):
            return super().state(arms) | {"left": topk.rules.Stored("count", 1)}

        @topk.rule
        def on_withdraw(s, arm):
            s.left[0] = arm

    session = Noting(1, 0.0, 0.1, levels=levels).start(3).withdraw(2)
    assert session.engine.s.left.tolist() == [2]
