"""Stored sessions: plain JSON, small, resumed exactly, and refused by name when broken."""

import copy
import faulthandler
import json
import math
import os
import re
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from strategies.plain import BigBatches, Doubling
from strategies.registry import ENTRIES, cases, numbers

import topk

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


def paths(value, path=()):
    """Yield the path of every field of a state, but for what a strategy keeps in its memory."""
    for key in value if isinstance(value, dict) else ():
        yield (*path, key)
        if key != "memory":
            yield from paths(value[key], (*path, key))


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


def names(path):
    """Return what a message about a field may call it."""
    if path[0] == "batch" and path[-1].isdecimal():
        return path[1]  # one arm's entry in a table of sums
    return "|".join(path[-2:]) if path[0] == "parameters" else path[-1]


def refused(state, name, what=""):
    """Resume a broken state: a ValueError that names the field, and nothing else."""
    before = repr(state)
    try:
        topk.resume(state)
    except ValueError as error:
        assert re.search(rf"\b({name})\b", str(error)), f"{what} not by the name {name}: {error}"
    else:
        pytest.fail(f"{what} must be refused by the name of {name}")
    assert repr(state) == before


each_state = pytest.mark.parametrize("strategy", STRATEGIES, ids=repr)


@pytest.mark.parametrize("version", [0, 2, 99, -1, None, "1", 1.5, [], {}, math.nan, 10**400])
def test_an_unknown_version_is_refused_by_name(version):
    refused(changed(middle(STRATEGIES[0]), ("version",), version), "version")


@pytest.mark.parametrize("value", ["", "topk", "topk-session ", 1, None, [], {}])
def test_an_unknown_format_is_refused_by_name(value):
    refused(changed(middle(STRATEGIES[0]), ("format",), value), "format")


@pytest.mark.parametrize("value", [None, [], "topk-session", 1, b"{}"])
def test_what_is_no_state_at_all_is_refused(value):
    refused(value, "state")


def test_a_version_that_is_not_known_is_refused_before_anything_is_read():
    refused({"format": "topk-session", "version": 2, "n": "what version 2 means by it"}, "version")


@each_state
def test_every_missing_field_is_refused_by_name(strategy):
    state = middle(strategy)
    for path in paths(state):
        refused(without(state, path), names(path), f"{path} missing")


WRONG = ["x", {"x": 1}, [None], -1.5, math.nan, math.inf, -(10**400), 10**400]


@each_state
def test_every_field_of_a_wrong_type_is_refused_by_name(strategy):
    state = middle(strategy)
    for path in paths(state):
        if path[0] == "parameters" and isinstance(strategy, BigBatches):
            continue  # a strategy that does not check its own
        for value in WRONG if path[0] == "parameters" else [None, True, *WRONG]:
            if path[-1] == "memory" and isinstance(value, dict) or value == get(state, path):
                continue  # a memory may hold anything; True is 1
            name = names(path) + "|missing" * isinstance(value, dict)
            refused(changed(state, path, value), name, f"{path} = {value!r:.40}")


@each_state
def test_every_list_with_a_wrong_entry_or_length_is_refused_by_name(strategy):
    state = middle(strategy)
    for path in paths(state):
        values = get(state, path)
        if not isinstance(values, list) or path == ("withdrawn",):
            continue
        if path == ("state", "wanted") and isinstance(strategy, BigBatches):
            for value in ([], [[]], [[0], [1], [2]], [0, 1], [[0, 1], [1]], [[5], [1]]):
                refused(changed(state, path, value), "wanted|batch", f"{path} = {value}")
            continue
        for wrong in (None, "0", True, [0], {}, -3, math.nan, math.inf, -(10**400), 10**400):
            if wrong == -3 and path[-1] in ("carried", "smallest"):
                continue  # numbers that may be negative
            for place in {0, len(values) - 1} if values else ():
                if values[place] == wrong:
                    continue  # True is 1
                broken = [*values[:place], wrong, *values[place + 1 :]]
                refused(changed(state, path, broken), names(path), f"{path} = {broken!r:.60}")
        if path[0] != "batch" or path[1] in ("counts", "left"):
            refused(changed(state, path, [*values, 0]), names(path), f"{path} longer")
            if values:
                refused(changed(state, path, values[:-1]), names(path), f"{path} shorter")


def test_withdrawn_arms_are_checked():
    state = middle(topk.SAR(2, budget=100))
    for wrong in ([5], [-1], [0.0], ["0"], [True], [None], [[0]], {}, "0", 0, None):
        refused(changed(state, ("withdrawn",), wrong), "withdrawn")


CONTRADICTIONS = {
    "arms that left and are still in the play": (
        topk.SAR(2, budget=100), ("withdrawn",), [3], "withdrawn|status"),
    "an arm that left twice": (
        topk.SAR(2, budget=100), ("withdrawn",), [3, 3], "withdrawn"),
    "a sum above the pulls": (
        topk.SAR(2, budget=100), ("state", "tally", "sums", 0), 1000, "sums"),
    "a total that is not the sum of the pulls": (
        topk.SAR(2, budget=100), ("state", "tally", "total", 0), 3, "total"),
    "pulls that do not add up to the total": (
        topk.SAR(2, budget=100), ("state", "tally", "pulls", 4), 50, "total|pulls"),
    "phases of another budget": (
        topk.SAR(2, budget=100), ("state", "lengths", 3), 10**6, "lengths"),
    "a phase shorter than the one before": (
        topk.SAR(2, budget=100), ("state", "lengths", 3), 0, "lengths"),
    "phases of another budget, successive rejects": (
        topk.SuccessiveRejects(2, budget=100), ("state", "lengths", 2), 10**6, "lengths"),
    "more active arms than the list has": (
        topk.SAR(2, budget=100), ("state", "size", 0), 5, "alive|size|status"),
    "more active arms than there are arms": (
        topk.Racing(2, epsilon=0.5, delta=0.1), ("state", "size", 0), 7, "alive|size|status"),
    "a record of changes that leads to no set": (
        topk.UGapEb(2, budget=60, epsilon=0.1, a=1.0),
        ("state", "journal"), [1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1], "journal"),
    "a record of changes of arms that are not marked": (
        topk.UGapEb(2, budget=60, epsilon=0.1, a=1.0),
        ("state", "journal"), [0, 0, 0, 0, 0, 0, 3, 3, 0, 0, 0, 5], "journal"),
    "an active arm that is not listed": (
        topk.SAR(2, budget=100), ("state", "alive"), [0, 0, 0, 0, 0], "alive"),
    "all arms accepted": (
        topk.SAR(2, budget=100), ("state", "status"), [1, 1, 1, 1, 1], "status|alive"),
    "more arms wanted than are missing": (
        topk.SAR(2, budget=100), ("state", "wanted", 0), 0, "wanted"),
    "an arm accepted that nobody accepted": (
        topk.OptMAI(1, budget=100), ("state", "accepted", 0), 1, "accepted"),
    "a share that no round has": (
        topk.OptMAI(1, budget=100), ("state", "share", 0), 10**6, "share|batch"),
    "a round before the first": (
        topk.AdaptiveTopK(2, epsilon=0.25, delta=0.5), ("state", "rounds", 0), 0, "rounds|batch"),
    "earlier pulls that are not in the tally": (
        topk.AdaptiveTopK(2, epsilon=0.25, delta=0.5),
        ("state", "earlier", "pulls", 1), 10**6, "earlier"),
    "an earlier sum above the earlier pulls": (
        topk.AdaptiveTopK(2, epsilon=0.25, delta=0.5),
        ("state", "earlier", "sums", 1), 10**6, "earlier|sums"),
    "an arm that left without leaving": (
        topk.ImprovedTopK(2, epsilon=0.3, delta=0.5), ("state", "gone", 1), 1, "gone"),
    "another stage": (
        topk.ImprovedTopK(2, epsilon=0.3, delta=0.5), ("state", "stage", 0), 0, "stage|batch"),
    "fewer arms in the pool": (
        topk.ImprovedTopK(1, epsilon=0.5, delta=0.5, budget=10_000),
        ("state", "pool", "size", 0), 2, "pool|batch"),
    "a budget that has been exceeded": (
        topk.LUCB1(2, epsilon=0.3, delta=0.1), ("parameters", "budget"), 10, "budget"),
    "a budget that has been exceeded, in a race": (
        topk.Racing(2, epsilon=0.5, delta=0.1), ("parameters", "budget"), 10, "budget"),
    "another number of arms": (
        topk.LUCB1(2, epsilon=0.3, delta=0.1), ("n",), 6, "n|pulls"),
    "far too many arms": (
        topk.LUCB1(2, epsilon=0.3, delta=0.1), ("n",), 2**60, "n|pulls"),
    "another k": (
        topk.Racing(2, epsilon=0.5, delta=0.1), ("parameters", "k"), 3, "k|wanted|status"),
    "an end in the middle of a batch": (
        topk.SAR(2, budget=100), ("state", "finished", 0), 2, "batch|finished"),
    "no end although no arm is left": (
        topk.SAR(2, budget=100), ("batch", "arms"), [], "batch|counts"),
    "an arm twice in one batch": (
        topk.SAR(2, budget=100), ("batch", "arms"), [0, 0, 1, 2, 3], "arms"),
    "more missing than was asked for": (
        topk.SAR(2, budget=100), ("batch", "left", 0), 1000, "left"),
    "a complete batch that was not closed": (
        topk.Uniform(2, budget=64), ("batch", "left"), [0, 0, 0, 0, 0], "batch|left"),
    "a batch that the state does not ask for": (
        topk.Uniform(2, budget=64), ("batch", "counts", 0), 14, "batch"),
    "a sum of rewards that were not told": (
        topk.Uniform(2, budget=64), ("batch", "sums"), {"0": [1], "2": [1], "4": [0]}, "sums"),
    "rewards that were told and have no sum": (
        topk.Uniform(2, budget=64), ("batch", "sums"), {}, "sums"),
    "a sum of an arm that does not exist": (
        topk.Uniform(2, budget=64), ("batch", "sums"), {"0": [1], "4": [0], "5": [0]}, "sums"),
    "a sum above the count": (
        topk.Uniform(2, budget=64), ("batch", "sums", "0"), [2], "sums"),
    "parts of a sum that no computer can add": (
        topk.Uniform(2, budget=64), ("batch", "sums", "0"), [1e308, 1e308, -1e308], "sums"),
    "a strategy that does not exist": (
        topk.Uniform(2, budget=64), ("strategy",), "Unheard", "strategy"),
    "the base class as a strategy": (
        topk.Uniform(2, budget=64), ("strategy",), "Strategy", "strategy"),
    "parameters of another strategy": (
        topk.Uniform(2, budget=64), ("strategy",), "LUCB1", "parameters"),
    "a wish for arms that do not exist": (
        BigBatches(2, size=20), ("state", "wanted"), [[7], [1]], "wanted"),
}


@pytest.mark.parametrize("case", CONTRADICTIONS)
def test_a_contradiction_is_refused_by_name(case):
    strategy, path, value, name = CONTRADICTIONS[case]
    if path[0] == "state" and path[1] not in middle(strategy)["state"]:
        return  # what follows from the rest need not be stored
    state = changed(middle(strategy), path, value)
    assert state != middle(strategy), "the case must change something"
    refused(state, name)


# after a withdrawal the open batch is no longer what the state would ask for
CONTRADICTIONS_AFTER = {
    "a batch that asks for an arm that left": (
        topk.SAR(2, budget=100), ("batch", "arms", 2), 3, "arms|batch|withdrawn"),
    "a batch that exceeds the budget": (
        topk.Halving(2, epsilon=0.9, delta=0.5), ("parameters", "budget"), 50, "budget"),
    "more pulls than phases of another k have": (
        topk.SuccessiveRejects(2, budget=100), ("parameters", "k"), 1, "k|pulls|batch|budget"),
    "more pulls than phases of another budget have": (
        topk.SAR(2, budget=100), ("parameters", "budget"), 60, "budget|pulls|batch"),
}


@pytest.mark.parametrize("case", CONTRADICTIONS_AFTER)
def test_a_contradiction_is_refused_after_a_withdrawal_too(case):
    strategy, path, value, name = CONTRADICTIONS_AFTER[case]
    state = middle(strategy, gone=(3,))
    assert changed(state, path, value) != state and 3 not in state["batch"]["arms"]
    refused(changed(state, path, value), name)


@pytest.mark.parametrize("strategy", [topk.SAR(2, budget=100), topk.OptMAI(3, budget=100)])
def test_an_arm_that_is_to_be_returned_cannot_have_left(strategy):
    session, settled = strategy.start(5), []
    while not settled:
        tell_batch(session)
        settled = sorted(set(session.selected.tolist()) - set(session.ask()[0].tolist()))
    for arm in settled:  # no longer asked for, and selected
        refused(changed(stored(session), ("withdrawn",), [arm]), "withdrawn|status")


def test_a_strategy_of_ones_own_is_resumed_by_its_class():
    session = Doubling(2, budget=100).start(6)
    tell_batch(session)
    state = stored(session)
    assert isinstance(topk.resume(state).strategy, Doubling)
    state["strategy"] = "NeverDefined"
    refused(state, "strategy")


@each_strategy
def test_huge_budgets_are_taken_or_refused_by_name(entry):
    """No parameter may be accepted and then break the kernels."""
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


# Anything at all

NUMBERS = st.one_of(
    st.integers(-3, 12),
    st.sampled_from([2**31, 2**53, 2**53 + 1, 2**62, 2**63, 2**70, 10**400]),
    st.floats(0, 3),
    st.sampled_from([math.nan, math.inf, -math.inf, -0.0, 1e-320, 1e18, 1e300, -0.5]),
)
VALUES = st.recursive(
    st.one_of(st.none(), st.booleans(), NUMBERS, st.sampled_from(["", "0", "²", "SAR", "k"])),
    lambda inner: st.one_of(
        st.lists(inner, max_size=6),
        st.dictionaries(st.sampled_from(["0", "1", "٣", "k", "", "state"]), inner, max_size=3),
    ),
    max_leaves=8,
)


@st.composite
def mutations(draw, state):
    """Draw a change of one field: replaced, removed, added, swapped or moved a little."""
    path, here = (), state
    while isinstance(here, (dict, list)) and here and (not path or draw(st.integers(0, 4))):
        keys = sorted(here) if isinstance(here, dict) else range(len(here))
        path = (*path, draw(st.sampled_from(keys)))
        here = get(state, path)
    kind = draw(st.integers(0, 5))
    if kind == 0:
        return without(state, path)
    if kind == 1 and isinstance(here, dict):
        return changed(state, (*path, draw(st.sampled_from(["x", "0", "3", "7"]))), draw(VALUES))
    if kind == 1 and isinstance(here, list):
        return changed(state, path, [*here, draw(VALUES)])
    if kind == 2 and isinstance(here, list):
        return changed(state, path, draw(st.permutations(here)))
    if kind in (3, 4) and type(here) in (int, float):
        return changed(state, path, here + draw(st.sampled_from([-2, -1, 1, 2, 0.5, 100])))
    if path == ("n",):  # numbers that could really be allocated would only take time
        return changed(state, path, draw(st.sampled_from([0, 1, 4, 6, 2**60, "5", None, 5.0])))
    return changed(state, path, draw(VALUES))


def sound(session):
    """Play on for some batches; all that a session promises has to be true."""
    n, most = session.n, getattr(session.strategy, "budget", None)
    chosen_of = lambda sets: set(numbers(sets, session.layout))  # noqa: E731
    for _ in range(12):
        arms, counts = session.ask()
        assert session.done == (arms.size == 0), "not done, and nothing is asked"
        assert len(set(arms.tolist())) == arms.size and set(arms.tolist()) <= set(range(n))
        assert (counts > 0).all()
        assert most is None or session.pulls.sum() + sum(counts.tolist()) <= max(most, n)
        assert (session.pulls >= 0).all()
        chosen = session.selected
        in_all = session.strategy.k * (session.layout[0] if session.strategy.several else 1)
        assert chosen is None or len(chosen_of(chosen)) == in_all
        assert chosen is None or not chosen_of(chosen) & set(session.withdrawn)
        lower, upper = session.bounds()
        assert ((lower >= 0) & (lower <= upper) & (upper <= 1)).all()
        json.dumps(session.state(), allow_nan=False)
        if session.done or counts.sum() > 10**5:
            break
        tell_batch(session)


@each_state
def test_any_change_of_one_field_is_refused_or_harmless(strategy):
    begins = [middle(strategy)]
    if not isinstance(strategy, BigBatches):
        begins.append(middle(strategy, gone=(3,)))

    @settings(max_examples=250)
    @given(st.sampled_from(begins).flatmap(mutations))
    def check(state):
        if isinstance(strategy, BigBatches):  # it does not check its parameters and its memory
            whole, inner = middle(strategy), state.get("state")
            assume(state.get("parameters") == whole["parameters"])
            if isinstance(inner, dict) and "memory" in inner:
                assume(inner["memory"] == whole["state"]["memory"])
        try:
            session = topk.resume(state)
        except ValueError as error:
            assert str(error)
            return
        sound(session)

    # kernels do not hear Ctrl-C: if one hangs, end the process with a traceback
    faulthandler.dump_traceback_later(120, exit=True)
    try:
        check()
    finally:
        faulthandler.cancel_dump_traceback_later()
