"""Live sessions: results in any order and any parts, with refused calls, give the same run."""

import copy
import json
import math
from dataclasses import dataclass

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scale import amount
from strategies.plain import BigBatches, Doubling
from strategies.registry import cases, each_strategy, one_by_one, shown, start
from strategies.tapes import Tapes

import topk


def told_in_portions(strategy, bandit, tapes, rng, look):
    """Tell the same rewards in parts, in any order, one by one or as sums."""
    session = start(strategy, bandit.layout)
    while not session.done:
        wanted = rng.permutation(np.repeat(*session.ask()))
        for part in np.array_split(wanted, min(wanted.size, int(rng.integers(1, 40)))):
            look(session, tapes)
            if rng.random() < 0.5:
                session.tell(part, [tapes.take(arm, 1)[0] for arm in part])
            else:
                tapes.tell(session, *np.unique(part, return_counts=True))
    look(session, tapes)
    return session


def wrong_tells(session):
    """Yield things that a session must refuse: (name of the parameter, arguments)."""
    n, (arms, counts) = session.n, session.ask()
    if session.done:
        yield "arms", ([0], [1.0])
        yield "arms", ([0], [1.0], [1])
        return
    arm, count = int(arms[0]), int(counts[0])
    last, most = int(arms[-1]), int(counts[-1])
    for unknown in ([n], [-1], [0.0], ["0"], [None], [[0]], [True], [[0], [0, 0]], [np.nan]):
        yield "arms", (unknown, [1.0])
    yield "arms", ([arm, n], [1.0, 1.0])  # the first is fine: nothing of it may stay
    for other in sorted(set(range(n)) - set(arms.tolist()))[:1]:
        yield "arms", ([arm, other], [0.0, 1.0])
    wrong = np.nan, np.inf, -np.inf, 1 + 1e-9, -1e-300, None, [0.5, 0.5], 1j, "1", b"1"
    for bad in (*wrong, np.datetime64("2020-01-01")):
        yield "rewards", ([last, arm], [1.0, bad]) if arm != last else ([arm], [bad])
    for bad in ([], [1.0, 1.0], [[1.0]], None, np.ma.array([1.0], mask=[True])):
        yield "rewards", ([arm], bad)
    yield "arms", ([arm], [count + 1.0], [count + 1])  # more than was asked for
    yield "arms", ([arm] * (count + 1), [1.0] * (count + 1)) if count < 50 else ([n], [1.0])
    if arm != last:
        yield "arms", ([last, arm, arm], [0.0, 0.0, 1.0], [most, count, 1])
    yield "arms", ([arm] * 1024, [1.0] * 1024, [2**53] * 1024)  # adds up to -2**63 in 64 bits
    for bad in ([-1], [0.5], ["1"], [1, 1], [], [[1]], [True], [np.nan], [[1], [1, 1]]):
        yield "counts", ([arm], [0.0], bad)
    yield "arms|counts", ([arm], [0.0], [2**62])
    for bad, of in ((1.5, 1), (count + 0.5, count), (-0.5, count), (np.nan, count), (0.5, 0)):
        yield "sums|rewards", ([arm], [bad], [of])
    yield "sums|rewards", ([arm, arm], [0.5], [1, 1])
    yield "squares", ([arm], [0.5], [1], [0.6])  # above the sum
    yield "squares", ([arm], [0.5], [1], [0.1])  # below the square of the only reward
    for bad in ([-1.0], [np.nan], [1.0, 1.0], ["x"]):
        yield "squares", ([arm], [1.0], [1], bad)


def refused(session, name, arguments):
    """An invalid call raises a ValueError that names the parameter, and changes nothing."""
    before = shown(session)
    with pytest.raises(ValueError, match=rf"\b({name})\b"):
        session.tell(*arguments)
    assert shown(session) == before, arguments


def test_more_than_is_wanted_is_counted():
    with pytest.raises(ValueError, match=r"1000 reward\(s\) of arm 1 were told, but 1 are wanted"):
        topk.Racing(1, epsilon=0.1, delta=0.1).start(3).tell([1, 1], sums=[400, 0], counts=[999, 1])


def check_shown(session, tapes, n, k):
    """Compare pulls, means, set and bounds with the rewards that were told."""
    pulls, shape = np.array(tapes.used), n if isinstance(n, tuple) else (n,)
    sums = np.array([x[:used].sum() for x, used in zip(tapes.rewards, tapes.used, strict=True)])
    assert session.pulls.shape == session.means.shape == shape
    assert session.pulls.ravel().tolist() == pulls.tolist()
    seen, means = pulls > 0, session.means.ravel()
    assert np.array_equal(means[seen], sums[seen] / pulls[seen]) and np.isnan(means[~seen]).all()
    lower, upper = session.intervals()
    assert lower.shape == upper.shape == shape
    assert ((lower >= 0) & (lower <= upper) & (upper <= 1)).all()
    if seen.all() or session.done:
        assert session.selected.shape == (*shape[:-1], k) and (np.diff(session.selected) > 0).all()
    else:
        assert session.selected is None
    arms, counts = session.ask()
    assert (arms.size == 0) == session.done and (counts > 0).all()
    assert np.unique(arms).size == arms.size and session.certified == (session.stopped == "rule")
    assert session.stopped in (("rule", "budget") if session.done else (None,))


@each_strategy
def test_interleavings_end_like_the_straight_run(entry):
    done, wanted = 0, amount(50, 200)
    for strategy, bandit, rng in cases(entry, 2000, seed=11, sizes=(2, 3, 5)):
        pulls = [topk.run(strategy, bandit, rng=seed).pulls for seed in range(2)]
        if pulls[0].sum() > (3000 if done % 10 == 0 else 200):
            continue
        if (done := done + 1) > wanted:
            break

        def look(session, tapes, bandit=bandit, strategy=strategy, rng=rng):
            check_shown(session, tapes, bandit.layout, strategy.k)
            if rng.random() < 0.3:
                wrong = list(wrong_tells(session))
                refused(session, *wrong[rng.integers(len(wrong))])

        tapes = Tapes(bandit, rng, 3 * int(np.max(pulls)) + 5000)
        plain, used = one_by_one(strategy, bandit, tapes), tapes.used
        tapes.rewind()
        mixed = told_in_portions(strategy, bandit, tapes, rng, look)
        assert tapes.used == used, strategy
        assert shown(plain) == shown(mixed), strategy
    assert done > wanted


def test_sums_are_correctly_rounded_whatever_the_order():
    """1 + 2**-53 + 2**-106 is just above the middle of two floats; adding up gives 1."""
    rewards = [1.0, 2.0**-53, 2.0**-106]
    session = topk.Uniform(1, budget=7).start(2)
    session.tell([0, 0, 0], rewards)
    session.tell([1, 1], rewards[:0:-1])
    session = topk.resume(session.state()).tell(1, 1.0)
    assert sum(rewards) == 1.0
    assert session.means.tolist() == [(1 + 2.0**-52) / 3] * 2
    session.tell(0, 0.0)
    assert session.done and session.means.tolist() == [(1 + 2.0**-52) / 4, (1 + 2.0**-52) / 3]


def test_a_session_shares_no_arrays_with_its_caller():
    for told in ([], [0], [0, 1], [0, 1, 2]):
        session = topk.LUCB1(1, epsilon=0.5, delta=0.1).start(3)
        told, rewards, counts = np.array(told, int), np.ones(len(told)), np.ones(len(told), int)
        session.tell(told, rewards, counts)
        before = shown(session)
        for array in (*session.ask(), session.pulls, session.means, *session.intervals()):
            array[:] = 7
        if len(told) == 3:
            session.selected[:] = 0
        told[:], rewards[:], counts[:] = 0, 0.5, 0
        assert shown(session) == before
        session.tell([0, 1, 2], sums=[0.0, 0.0, 0.0], counts=[0, 0, 0])  # allowed, and does nothing
        session.tell([], [])
        assert shown(session) == before


@pytest.mark.parametrize("strategy", [topk.OptMAI(1, 60), Doubling(1, 60)], ids=repr)
def test_sessions_of_one_strategy_and_copies_share_no_state(strategy):
    one, other = strategy.start(5), strategy.start(5)
    twin, before = copy.deepcopy(one), shown(other)
    while not one.done:
        arms, counts = one.ask()
        one.tell(arms, sums=counts * 0.2 * arms, counts=counts)
    assert shown(other) == shown(twin) == before
    while not twin.done:
        arms, counts = twin.ask()
        twin.tell(arms, sums=counts * 0.2 * arms, counts=counts)
    assert shown(twin) == shown(one)


def test_a_strategy_that_needs_squares_asks_for_them_with_sums():
    session = BigBatches(1, size=10).start(2)
    session.tell([0, 1], [0.5, 1.0])  # one reward each: their squares are known
    arms, counts = session.ask()
    before = shown(session)
    with pytest.raises(ValueError, match="squares .*of zeros and ones they are the sums"):
        session.tell(arms, sums=counts / 2, counts=counts)
    assert shown(session) == before
    session.tell(arms, sums=counts, counts=counts)  # all ones are their own squares
    plain = topk.LUCB1(1, epsilon=0.5, delta=0.1).start(2)
    plain.tell([0], sums=[0.5], counts=[1])  # the others do not look


def test_a_recommendation_that_raises_leaves_the_tally_as_it_was():
    @dataclass(frozen=True)
    class Broken(topk.Strategy):
        k: int = 1

        def ask(self, view):
            return [0, 1], [2, 2]

        def recommend(self, view):
            raise RuntimeError("no idea")

    session = Broken().start(2).tell([0, 1], [1, 0])
    before = session.pulls.tolist()
    with pytest.raises(RuntimeError, match="no idea"):
        _ = session.selected
    assert session.pulls.tolist() == before


BOTTOMLESS = []
BOTTOMLESS.append(BOTTOMLESS)


@dataclass(frozen=True)
class Greedy(topk.Strategy):
    """Request ``each`` pulls of both arms repeatedly, regardless of the budget."""

    k: int = 1
    budget: int = 10
    each: int = 2

    def ask(self, view):
        return [0, 1], [self.each, self.each]


@dataclass(frozen=True)
class Squared(Greedy):
    uses_squares = True


@given(st.lists(st.floats(0, 1), min_size=9, max_size=9), st.permutations(range(9)))
def test_the_order_of_tells_cannot_matter_for_real_rewards(rewards, order):
    one, other = (Squared(each=9, budget=60).start(2) for _ in range(2))
    one.tell([0] * 9, rewards).tell([1] * 9, rewards)
    for place in order:
        other.tell([1, 0], [rewards[place]] * 2)
    assert shown(one) == shown(other) and one.pulls.sum() == 18


def test_requests_never_exceed_the_budget():
    with pytest.raises(ValueError, match=r"^counts of Strategy.ask must be at most the 10 pulls"):
        Greedy(each=6).start(2)
    session = Greedy().start(2).tell([0, 1], [1, 1], [2, 2])
    with pytest.raises(ValueError, match=r"at most the 2 pulls that are left of budget = 10"):
        session.tell([0, 1], [1, 1], [2, 2])
    assert Greedy(budget=4).start(2).ask()[1].tolist() == [2, 2]
    for budget in ("10", [], math.nan, 0):
        with pytest.raises(ValueError, match="^budget must be an integer"):
            Greedy(budget=budget).start(2)


@pytest.mark.parametrize("name", ["pulls", "sums", "squares"])
def test_a_strategy_cannot_change_what_it_is_shown(name):
    class Forger(Greedy):
        def update(self, view):
            getattr(view, name)[...] = 0

    with pytest.raises(ValueError, match="read-only"):
        Forger().start(2).tell([0, 1], [1, 1], [2, 2])


@pytest.mark.parametrize(
    "memory",
    [{0: 1}, {"a": (1,)}, {"a": {1}}, {"a": np.zeros(2)}, {"a": math.nan}, [1], {"a": BOTTOMLESS}],
    ids=str,
)
def test_a_memory_that_json_would_change_is_refused_when_it_is_stored(memory):
    session = Greedy().start(2)
    session.engine.view.memory = memory
    with pytest.raises(ValueError, match="^memory must be a dict of plain JSON values"):
        session.state()


def test_a_memory_of_plain_values_is_stored_and_stays_apart():
    session = Greedy().start(2)
    session.engine.view.memory["seen"] = [1, {"a": None, "b": 0.5}]
    stored = session.state()
    session.engine.view.memory["seen"].append(2)
    assert stored["play"]["memory"] == {"seen": [1, {"a": None, "b": 0.5}]}
    assert topk.resume(stored).engine.view.memory == {"seen": [1, {"a": None, "b": 0.5}]}


def test_ask_gives_plain_values_on_request():
    """What json.dumps takes; handing out or not, as without."""
    session = topk.KLLUCB(1, 0.1, 0.1).start(["a", "b"])
    numbered = topk.SAR(1, 1e2).start(3)
    for one in (session, numbered):
        arms, counts = one.ask()
        assert one.ask(plain=True) == (arms.tolist(), counts.tolist())
        assert json.loads(json.dumps(one.ask(plain=True))) == [arms.tolist(), counts.tolist()]
    assert json.dumps(dict(zip(*session.ask(3, plain=True), strict=True))) == '{"a": 2, "b": 1}'
    assert session.in_flight.tolist() == [2, 1]
    with pytest.raises(ValueError, match="plain must be True or False, got 1"):
        session.ask(3, plain=1)
    assert session.in_flight.tolist() == [2, 1]


def test_a_size_may_be_written_as_a_float():
    first, second = (topk.LUCB1(1, 0.1, 0.1).start(3) for _ in range(2))
    assert [x.tolist() for x in first.ask(1e2)] == [x.tolist() for x in second.ask(100)]
