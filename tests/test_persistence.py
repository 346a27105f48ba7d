"""Stored sessions: plain JSON, small, resumed exactly, and refused by name when broken."""

import copy
import json
import math
import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from strategies.plain import BigBatches, Doubling
from strategies.registry import ENTRIES, cases

import topk
from topk.session import digest

each_strategy = pytest.mark.parametrize("entry", ENTRIES, ids=lambda e: e.name)
PHI = (math.sqrt(5) - 1) / 2


def stored(session):
    """Return the state of a session by way of JSON text, as a file would keep it."""
    return json.loads(json.dumps(session.state(), allow_nan=False))


def answers(arm, begin, count, whole):
    """Return rewards ``begin``, ``begin + 1``, ... of an arm: always the same, no two alike."""
    x = (np.arange(begin, begin + count) * PHI + arm * math.sqrt(2) + 0.1) % 1
    return np.floor(x + arm % 5 / 4) if whole else x


def tell_batch(session, whole=True):
    """Tell all that is wanted, by sums."""
    arms, counts = session.ask()
    assert arms.size and (counts > 0).all(), "a session that is not done asks for something"
    begin = session.pulls.ravel()
    told = [answers(a, begin[a], c, whole) for a, c in zip(arms, counts, strict=True)]
    squares = [math.fsum(x * x) for x in told]
    session.tell(arms, [math.fsum(x) for x in told], counts=counts, squares=squares)


def tell_some(session, rng, whole):
    """Tell up to 20 more rewards of a few of the arms that are wanted, in any order."""
    arms, counts = session.ask()
    for j in rng.permutation(arms.size)[: rng.integers(1, 4)]:
        arm, count = int(arms[j]), int(min(counts[j], rng.integers(1, 20)))
        rewards = answers(arm, session.pulls.flat[arm], count, whole)
        if count > 3:
            squares = [math.fsum(rewards * rewards)]
            session.tell(arm, math.fsum(rewards), counts=[count], squares=squares)
        else:
            session.tell([arm] * count, rewards)
    return session


def finish(session, whole=True, limit=10**6):
    """Play to the end, or for ``limit`` batches; return what came of it."""
    while not session.done and limit:
        tell_batch(session, whole)
        limit -= 1
    return [
        session.done,
        session.stopped,
        session.certified,
        session.selected.tolist(),
        session.pulls.tolist(),
        np.nan_to_num(session.means, nan=-1.0).tolist(),
    ]


def short_plays(entry, count, seed, sizes=(2, 3, 5, 8)):
    """Yield ``count`` pairs of a strategy and what to start it with, for short plays.

    They take at most 2000 pulls and 200 batches.
    """
    found = 0
    for strategy, bandit, _ in cases(entry, 50 * count, seed, sizes):
        session, batches = strategy.start(bandit.layout), 0
        while not session.done and batches < 200 and session.ask()[1].sum() < 2000:
            tell_batch(session)
            batches += 1
        if session.done:
            yield strategy, bandit.layout
            if (found := found + 1) == count:
                return
    pytest.fail(f"only {found} short plays of {entry.strategy.__name__}")


# What a state is


def only_plain(value):
    """Tell whether a value is made of exactly the types that JSON knows."""
    if type(value) is dict:
        return all(type(key) is str and only_plain(item) for key, item in value.items())
    if type(value) is list:
        return all(only_plain(item) for item in value)
    return value is None or type(value) in (str, int, bool) or math.isfinite(value)


@each_strategy
@pytest.mark.parametrize("whole", [True, False], ids=["0/1", "real"])
def test_a_state_is_plain_json_of_less_than_200_bytes_an_arm(entry, whole):
    n, rng = 100, np.random.default_rng(3)
    for number in range(8):
        layout = entry.layout(n // 2) if entry.several else n
        k = min([1, 10, 40, 70][number % 4], entry.most_k(49))
        strategy = entry.draw(np.random.default_rng([9, number]), layout, k)
        session, looks = strategy.start(layout), 0
        while not session.done and looks < 40:
            looks += 1
            if session.ask()[1].sum() > 50_000:  # whole sums, as large as the batch says
                arms, counts = session.ask()
                part = rng.integers(1, counts + 1)
                sums = part * rng.beta(0.5, 0.5, arms.size)
                sums = np.floor(sums) if whole else sums
                session.tell(arms, sums, counts=part, squares=sums * sums / part)
            else:
                tell_some(session, rng, whole)
            state = session.state()
            assert only_plain(state)
            size = len(json.dumps(state))
            assert size < 200 * n, f"{strategy}: {size / n} bytes an arm"
            if looks % 4 == 0 and session.ask()[1].sum() <= 50_000 and not session.done:
                tell_batch(session, whole)


def test_numbers_of_numpy_as_parameters_are_stored_as_plain_ones():
    for strategy in (
        topk.SAR(np.int64(2), np.int32(40)),
        topk.OptMAI(2, np.uint16(60), beta=np.float32(0.8), reuse=np.True_),
        topk.LUCB1(2, epsilon=np.float32(0.5), delta=np.float64(0.1)),
    ):
        session = strategy.start(5)
        assert only_plain(session.state()), strategy
        assert topk.resume(stored(session)).strategy == strategy


@each_strategy
def test_a_state_is_a_snapshot(entry):
    """What the session does later does not reach a state that it gave away, nor back."""
    for strategy, n in short_plays(entry, 5, seed=31, sizes=(3, 5)):
        session = strategy.start(n)
        tell_some(session, np.random.default_rng(0), whole=True)
        state = session.state()
        before, expected = copy.deepcopy(state), finish(topk.resume(stored(session)))
        assert finish(topk.resume(state)) == expected
        assert state == before, "resuming must not change the state"
        assert finish(topk.resume(state)) == expected
        finish(session)
        assert state == before, "playing on must not change a state that was given away"


# Going on


def wander(strategy, n, whole, seed, store):
    """Play in random portions, stored and resumed in between or not; return what came of it."""
    session, rng = strategy.start(n), np.random.default_rng([7, seed])
    for _ in range(400):
        if session.done:
            break
        tell_some(session, rng, whole)
        if rng.random() < 0.3 and store:
            state = stored(session)
            session = topk.resume(state)
            assert session.strategy == strategy
            assert stored(session) == state
    return finish(session, whole)


@each_strategy
@pytest.mark.parametrize("whole", [True, False], ids=["0/1", "real"])
def test_resuming_at_random_points_changes_nothing(entry, whole):
    for number, (strategy, n) in enumerate(short_plays(entry, 25, seed=32)):
        resumed = wander(strategy, n, whole, number, store=True)
        assert resumed == wander(strategy, n, whole, number, store=False)
        if whole:  # then portions add up to what whole batches give, to the last bit
            assert resumed == finish(strategy.start(n))


@each_strategy
def test_a_finished_session_can_be_stored_too(entry):
    for strategy, n in short_plays(entry, 5, seed=33):
        session = strategy.start(n)
        end = finish(session)
        again = topk.resume(stored(session))
        assert finish(again) == end and again.ask()[0].size == 0
        lower, upper = again.bounds()
        assert np.array_equal(lower, session.bounds()[0])
        assert np.array_equal(upper, session.bounds()[1])


def finish_file(path):
    """Finish the sessions whose states are in a file; print what came of them, as JSON."""
    states = json.loads(Path(path).read_text())
    print(json.dumps([finish(topk.resume(state)) for state in states]))


def test_a_new_process_goes_on_exactly(tmp_path):
    states, ends = [], []
    for entry in ENTRIES:
        for number, (strategy, n) in enumerate(short_plays(entry, 5, seed=34, sizes=(3, 5))):
            session = strategy.start(n)
            for _ in range(number):
                if not session.done:
                    tell_some(session, np.random.default_rng(number), whole=True)
            states.append(stored(session))
            ends.append(finish(session))
    path = tmp_path / "states.json"
    path.write_text(json.dumps(states))
    here = Path(__file__).parent
    folders = [here, here.parent, *sys.path]
    process = subprocess.run(
        [sys.executable, "-c", f"import test_persistence as t; t.finish_file({str(path)!r})"],
        env=os.environ | {"PYTHONPATH": os.pathsep.join(map(str, folders))},
        capture_output=True,
        text=True,
        timeout=120,
    )
    assert process.returncode == 0, process.stderr
    assert json.loads(process.stdout) == json.loads(json.dumps(ends))


def test_a_session_goes_on_after_a_withdrawal():
    """With an arm gone before the first complete batch, told or not, and later."""
    for strategy in STRATEGIES:
        if isinstance(strategy, BigBatches):
            continue
        for told in (0, 1, 3):
            session = strategy.start(five(strategy))
            session.tell([4] * min(told, 1), [1.0] * min(told, 1))
            session.withdraw(4)
            for _ in range(max(0, told - 1)):
                if not session.done:
                    tell_batch(session)
            again = topk.resume(stored(session))
            assert again.withdrawn == [4]
            assert stored(again) == stored(session)
            assert finish(again, limit=50) == finish(session, limit=50)


# What is refused

STRATEGIES = [
    topk.Uniform(2, budget=64),
    topk.SuccessiveRejects(2, budget=100),
    topk.SAR(2, budget=100),
    topk.OptMAI(1, budget=100),
    topk.OptMAI(3, budget=100, reuse=False),
    topk.Racing(2, epsilon=0.5, delta=0.1),
    topk.Halving(2, epsilon=0.9, delta=0.5),
    topk.AdaptiveTopK(2, epsilon=0.25, delta=0.5),
    topk.AdaptiveTopK(2, epsilon=0.0, delta=0.5, pull_scale=0.1, budget=200),
    topk.ImprovedTopK(2, epsilon=0.3, delta=0.5),
    topk.ImprovedTopK(1, epsilon=0.5, delta=0.5, budget=10_000),
    topk.LUCB1(2, epsilon=0.3, delta=0.1),
    topk.LUCB1(2, epsilon=0.9, delta=0.1, guard=True),
    topk.GapE(2, budget=60, complexity=10.0),
    topk.UGapEb(2, budget=60, epsilon=0.1),
    topk.UGapEb(2, budget=60, epsilon=0.1, a=1.0),
    topk.UGapEc(2, epsilon=0.3, delta=0.1),
    topk.CLUCB(2, delta=0.1),
    topk.CLUCBPAC(2, epsilon=0.3, delta=0.1, budget=500),
    topk.UGapEb(2, budget=60, epsilon=0.1, variance=True),
    topk.UGapEb(2, budget=60, epsilon=0.1, a=1.0, variance=True),
    topk.UGapEc(2, epsilon=0.3, delta=0.1, variance=True),
    topk.MultiBanditSAR(budget=120),
    topk.MultiBanditGapE(budget=60, complexity=10.0),
    topk.MultiBanditUGapEb(1, budget=60, epsilon=0.1),
    topk.MultiBanditUGapEb(1, budget=60, epsilon=0.1, a=1.0),
    topk.MultiBanditUGapEc(1, epsilon=0.3, delta=0.1),
    BigBatches(2, size=20),
]
_states = {}


def five(strategy):
    """Return what a strategy is started with for 5 arms, or for 2 bandits of 3."""
    return (2, 3) if strategy.several else 5


def middle(strategy, gone=()):
    """Return a stored state from the middle of a play: one batch and part of another."""
    if (strategy, gone) not in _states:
        session = strategy.start(five(strategy))
        for arm in gone:
            session.withdraw(arm)
        while not session.done:
            before = stored(session)
            tell_batch(session)
            if session.pulls.sum() > 30:
                break
        if session.done:  # a play of one batch
            session = topk.resume(before)
        arms, counts = session.ask()
        if counts.sum() > 2:
            session.tell([arms[0], arms[-1]], [1.0, 0.0])
        assert not session.done
        _states[strategy, gone] = stored(session)
    return copy.deepcopy(_states[strategy, gone])


def get(state, path):
    """Return the field at a path."""
    for key in path:
        state = state[key]
    return state


def changed(state, path, value):
    """Return a copy of a state with one field replaced."""
    state = copy.deepcopy(state)
    get(state, path[:-1])[path[-1]] = value
    return state


def without(state, path):
    """Return a copy of a state with one field removed."""
    state = copy.deepcopy(state)
    del get(state, path[:-1])[path[-1]]
    return state


def refused(state, name):
    """Resume a broken state: a ValueError that names the field, and nothing else."""
    before = repr(state)
    with pytest.raises(ValueError, match=rf"\b({name})\b"):
        topk.resume(state)
    assert repr(state) == before


def forged(state):
    """Return a state with the digest that belongs to it."""
    try:
        return state | {"digest": digest({x: y for x, y in state.items() if x != "digest"})}
    except ValueError:  # nothing that JSON could hold
        return None


each_state = pytest.mark.parametrize("strategy", STRATEGIES, ids=repr)


@pytest.mark.parametrize("version", [0, 1, 99, -1, None, "2", 1.5, [], {}, math.nan, 10**400])
def test_an_unknown_version_is_refused_before_anything_is_read(version):
    refused({"format": "topk-session", "version": version, "n": "what it means by it"}, "version")


@pytest.mark.parametrize("value", ["", "topk", "topk-session ", 1, None, [], {}])
def test_an_unknown_format_is_refused_by_name(value):
    refused(changed(middle(STRATEGIES[0]), ("format",), value), "format")


@pytest.mark.parametrize("value", [None, [], "topk-session", 1, b"{}"])
def test_what_is_no_state_at_all_is_refused(value):
    refused(value, "state")


@each_state
def test_an_array_of_a_wrong_kind_is_refused_by_name_even_with_a_digest(strategy):
    state = middle(strategy)
    arrays = [name for name, value in state["play"].items() if value and isinstance(value, list)]
    assert {"pulls", "sums"} <= {*arrays}
    for name in arrays:
        values = state["play"][name]
        if name == "wanted":  # of a strategy in plain Python
            continue
        for wrong in (None, "x", {}, values[:-1], [*values, 0], ["0", *values[1:]]):
            refused(forged(changed(state, ("play", name), wrong)), name)
        for entry in (None, True, 2**53 + 2, -10, [0]) if name == "pulls" else (None, True, 1e301):
            refused(forged(changed(state, ("play", name, 0), entry)), name)


FORGERIES = {
    "n": 6,
    "strategy": "NeverDefined",
    "parameters": {},
    "play": None,
    "batch": {},
    "withdrawn": None,
}


@each_state
@pytest.mark.parametrize("name", FORGERIES)
def test_a_field_of_another_session_is_a_value_error_even_with_a_digest(strategy, name):
    with pytest.raises(ValueError):
        topk.resume(forged(middle(strategy) | {name: FORGERIES[name]}))
    state = middle(strategy)
    del state[name]
    with pytest.raises(ValueError):
        topk.resume(forged(state))


@pytest.mark.parametrize("name", ["Strategy", "Ruled", "Rounds", "Indices", "Candidates", "Phases"])
def test_the_name_of_a_base_class_is_refused(name):
    refused(forged(middle(STRATEGIES[0]) | {"strategy": f"topk.{name}"}), "strategy")


def test_a_strategy_that_is_no_dataclass_is_refused_when_it_is_stored():
    class Bare(topk.Strategy):
        k = 1

        def ask(self, view):
            return ([0], [1]) if view.total == 0 else ([], [])

    with pytest.raises(ValueError, match="strategy must be a dataclass"):
        Bare().start(2).state()


def test_a_strategy_of_ones_own_is_resumed_by_its_class():
    session = Doubling(2, budget=100).start(6)
    tell_batch(session)
    assert isinstance(topk.resume(stored(session)).strategy, Doubling)


@each_strategy
def test_huge_budgets_are_taken_or_refused_by_name(entry):
    """No parameter may be accepted and then break a play."""
    if "budget" not in entry.strategy.__dataclass_fields__:
        return
    others = {"epsilon": 0.5, "delta": 0.1, "complexity": 10.0}
    given = {k: v for k, v in others.items() if k in entry.strategy.__dataclass_fields__}
    for budget in (2**31, 2**53, 2**62, 2**63 - 1, 2**63, 2**64, 10**30):
        given |= {"k": 2} if "k" in entry.strategy.__dataclass_fields__ else {}
        given |= {"variance": True} if entry.form == "-variance" else {}
        try:
            session = entry.strategy(budget=budget, **given).start(entry.layout(5))
        except ValueError as error:
            assert "budget" in str(error) and budget > 2**53
            continue
        arms, counts = session.ask()
        assert (counts > 0).all() and sum(counts.tolist()) <= budget
        topk.resume(stored(session))


VALUES = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(-3, 12),
    st.floats(0, 3),
    st.sampled_from([2**53, 10**400, math.nan, math.inf, 1e300, "", "0", "SAR", "k"]),
    st.lists(st.integers(0, 5), max_size=6),
)


@st.composite
def mutations(draw, state):
    """Draw a change of one field: replaced, removed, added, swapped or moved a little."""
    path, here = (), state
    while isinstance(here, (dict, list)) and here and (not path or draw(st.integers(0, 4))):
        keys = sorted(here) if isinstance(here, dict) else range(len(here))
        path = (*path, draw(st.sampled_from(keys)))
        here = get(state, path)
    kind = draw(st.integers(0, 4))
    if kind == 0:
        return without(state, path)
    if kind == 1 and isinstance(here, (dict, list)):
        key = draw(st.sampled_from(["x", "0", "3"]))
        value = here | {key: 1} if isinstance(here, dict) else [*here, draw(VALUES)]
        return changed(state, path, value)
    if kind == 2 and isinstance(here, list):
        return changed(state, path, draw(st.permutations(here)))
    if kind == 3 and type(here) in (int, float):
        return changed(state, path, here + draw(st.sampled_from([-2, -1, 1, 2, 0.5, 100])))
    return changed(state, path, draw(VALUES))


@each_state
def test_any_change_of_one_field_is_refused(strategy):
    begins = [middle(strategy)]
    if not isinstance(strategy, BigBatches):
        begins.append(middle(strategy, gone=(3,)))

    @settings(max_examples=100)
    @given(st.sampled_from(range(len(begins))), st.data())
    def check(number, data):
        state = data.draw(mutations(begins[number]))
        if forged(state) == state:  # 1.0 is 1
            assert stored(topk.resume(state)) == begins[number]
        else:
            refused(state, "digest|format|version|state")

    check()
