"""Live sessions of many arms: work on whole arrays gives what the plain loops give."""

import json
import math
from fractions import Fraction
from types import SimpleNamespace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import topk
from topk.live.arrivals import Arrivals
from topk.live.exact import FEW, ExactSums
from topk.rules import base, forms, ranking

NUMBERS = st.one_of(
    st.integers(-5, 5).map(float),
    st.floats(-2, 2),
    st.sampled_from([0.1, 1e-300, 5e-324, 2.0**52, -(2.0**52), 2.0**53, 1e300]),
)


def same_bits(one, other):
    return np.array_equal(one.view(np.int64), other.view(np.int64))


def test_ranks_of_all_arms_at_once():
    rng = np.random.default_rng(1)
    for _ in range(100):
        n = int(rng.integers(1, 100))
        pulls = rng.integers(0, 4, n) if rng.random() < 0.7 else np.full(n, 3)
        sums = rng.integers(0, pulls + 1) * rng.choice([1.0, 0.3])
        arms = np.flatnonzero(rng.random(n) < 0.9)
        for sign in (1.0, -1.0):
            expected = sorted(
                arms.tolist(),
                key=lambda a: (-sign * sums[a] / pulls[a] if pulls[a] else math.inf, a),
            )
            for form in (ranking.ranked_by, ranking.ranked_by.compiled_form):
                assert form(sums, pulls, arms, sign).tolist() == expected


def counted(n, squares):
    now = SimpleNamespace(total=0, n_active=n)
    arrays = {"sums": np.zeros(n), "squares": np.zeros(n if squares else 0)}
    status = np.zeros(n, dtype=np.int64)
    return SimpleNamespace(
        now=now, active=np.arange(n), status=status, pulls=np.zeros(n, dtype=np.int64), **arrays
    )


@pytest.mark.parametrize("squares", [False, True])
def test_batches_are_counted_at_once(squares):
    rng, seen = np.random.default_rng(2), [counted(9, squares), counted(9, squares)]
    for _ in range(30):
        size = int(rng.integers(0, 20))
        batch = rng.integers(0, 9, size), rng.integers(0, 5, size), *rng.random((2, size))
        m = int(rng.integers(0, size + 1))
        for s, form in zip(seen, (base.add_batch, base.add_batch.compiled_form), strict=True):
            form(s, m, *batch)
        for name in ("pulls", "sums", "squares"):
            assert same_bits(*(getattr(s, name) for s in seen))
        assert seen[0].now.total == seen[1].now.total == seen[0].pulls.sum()


def test_active_arms_are_kept_at_once():
    rng, seen = np.random.default_rng(3), [counted(50, False), counted(50, False)]
    while seen[0].now.n_active > 1:
        gone = rng.choice(50, 6)
        for s, form in zip(seen, (base.keep_active, base.keep_active.compiled_form), strict=True):
            s.status[gone] = rng.choice([base.ACCEPTED, base.REJECTED, base.WITHDRAWN])
            form(s)
        live = seen[0].now.n_active
        assert live == seen[1].now.n_active == (seen[0].status == base.ACTIVE).sum()
        assert seen[0].active[:live].tolist() == seen[1].active[:live].tolist()


@pytest.mark.parametrize("form", [base.least_pulled, base.least_pulled.compiled_form])
def test_of_equally_pulled_arms_the_first_is_the_least_pulled(form):
    rng, s = np.random.default_rng(4), counted(20, False)
    for _ in range(60):
        s.pulls[:], s.active = rng.integers(0, 4, 20), rng.permutation(20)
        s.now.n_active = int(rng.integers(1, 21))
        active = s.active[: s.now.n_active].tolist()
        assert form(s) == min(active, key=lambda arm: s.pulls[arm])


@pytest.mark.parametrize(
    "strategy",
    [
        topk.LUCB1(k=10, epsilon=0.05, delta=0.05),
        topk.KLLUCB(k=10, epsilon=0.05, delta=0.05),
        topk.CLUCB(k=10, delta=0.05),
        topk.UGapEc(k=10, epsilon=0.05, delta=0.05),
    ],
    ids=lambda strategy: type(strategy).__name__,
)
def test_a_session_of_many_arms_is_that_of_the_tournaments(strategy, monkeypatch):
    n, rng = 3500, np.random.default_rng(4)
    rewards = (rng.random(n) < rng.random(n)).astype(float)
    sessions = [strategy.start(n)]
    monkeypatch.setattr(forms, "PLAIN", {})
    sessions.append(strategy.start(n))
    assert sessions[0].engine.search is not sessions[1].engine.search
    for session, parts in zip(sessions, (1, 7), strict=True):
        for part in np.array_split(rng.permutation(n), parts):
            session.tell(part, rewards[part])
    for _ in range(10):
        asked = [session.ask(plain=True) for session in sessions]
        assert asked[0] == asked[1] and asked[0][0]
        for session in sessions:
            session.tell(asked[0][0], [0.25] * len(asked[0][0]))
    assert json.dumps(sessions[0].state()) == json.dumps(sessions[1].state())


def in_fractions(entries):
    found = {}
    for arm, number in entries:
        found[arm] = found.get(arm, 0) + Fraction(number)
    return found


@given(st.lists(st.lists(st.tuples(st.integers(0, 20), NUMBERS), max_size=3 * FEW), max_size=5))
def test_sums_are_exact_in_any_batches(batches):
    sums, entries = ExactSums(21), [entry for batch in batches for entry in batch]
    for batch in batches:
        arms, numbers = (np.array([entry[i] for entry in batch]) for i in (0, 1))
        sums.add(arms.astype(np.int64), numbers.astype(float))
    expected, rounded = in_fractions(entries), sums.rounded()
    for arm in range(21):
        exact = expected.get(arm, Fraction(0))
        assert sums.exact(arm) == exact
        assert rounded[arm] == float(exact) and np.signbit(rounded[arm]) == (exact < 0)
        assert sums.texts(np.array([arm])) == [str(exact)]
    again = ExactSums(30)
    again.go_on(sums)
    assert again.exact(3) == sums.exact(3) and again.exact(25) == 0
    sums.clear(np.arange(21))
    assert not sums.rounded().any() and not sums.fractions


def test_many_numbers_of_one_arm_are_added_exactly():
    sums = ExactSums(3)
    sums.add(np.tile(np.arange(3), FEW), np.tile([0.1, 0.7, 1 / 3], FEW))
    assert [sums.exact(arm) for arm in range(3)] == [FEW * Fraction(x) for x in (0.1, 0.7, 1 / 3)]


def test_a_sum_beyond_all_floats_is_exact():
    sums = ExactSums(2)
    for numbers in ([1e308, 1.0], [1e308, 1.0], [-1e308, 0.5]):
        sums.add(np.array([0, 1]), np.array(numbers))
    assert sums.exact(0) == Fraction(1e308) and sums.exact(1) == Fraction(5, 2)


def take_one_by_one(arrivals, arms, counts, sums, squares, room):
    """Count results in the plain form of `Arrivals.take_all`."""
    for arm, count, *more in zip(*(x.tolist() for x in (arms, counts, sums, squares)), strict=True):
        if count:
            arrivals.flight[arm] -= min(count, arrivals.flight[arm])
            arrivals.take(arm, [count, *more], room(arm))


@pytest.mark.parametrize(
    "strategy",
    [
        topk.SAR(2, budget=600),
        topk.Racing(2, 0.1, 0.1),
        topk.KLLUCB(2, 0.1, 0.1),
        topk.BettingLUCB(2, 0.1, 0.1),
    ],
    ids=lambda strategy: type(strategy).__name__,
)
def test_results_counted_at_once_or_one_by_one_give_the_same_session(strategy, monkeypatch):
    """Repeated arms, real rewards, sums that are split, and rewards for later batches."""
    rng, batches = np.random.default_rng(6), []
    for size in (60, 3, 40, 1, 90):
        arms, counts = rng.integers(0, 12, size), rng.integers(0, 4, size)
        ones, real = rng.integers(0, counts + 1), counts * rng.random(size)
        sums = np.where(rng.random(size) < 0.6, ones, real)
        squares = np.where(sums == ones, sums, sums**2 / np.maximum(counts, 1))
        batches.append((arms, sums, counts, squares))
    states = []
    for take_all in (Arrivals.take_all, take_one_by_one):
        monkeypatch.setattr(Arrivals, "take_all", take_all)
        session = strategy.start(12, rng=1)
        session.ask(5)
        for arms, sums, counts, squares in batches:
            session.observe(arms, sums=sums, counts=counts, squares=squares)
            if not session.done:
                session.ask(7)
        states.append(json.dumps(session.state()))
        assert json.dumps(topk.resume(session.state()).state()) == states[-1]
    assert states[0] == states[1]
