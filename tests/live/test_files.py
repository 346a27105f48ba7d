"""Stored sessions: small plain JSON, exact resumption, and errors that name a broken field.

That it is resumed exactly in the middle of anything, `test_withdraw.wander` shows.
"""

import copy
import json
import math
from functools import cache
from pathlib import Path

import numpy as np
import pytest
from processes import fresh
from scale import amount
from strategies.plain import BigBatches, Doubling
from strategies.registry import ENTRIES, each_strategy, start

import topk
from topk.confidence.capital import has_products
from topk.live.files import digest, named_strategy


def stored(session):
    """Return the state of a session after a round trip through JSON."""
    return json.loads(json.dumps(session.state(), allow_nan=False))


def tell(session, rng=None, whole=False):
    """Tell all that is wanted, each arm's mean; or with a generator a part, anything."""
    arms, counts = session.ask()
    means = arms * math.sqrt(2) % 1
    if rng is not None:
        if rng.random() < 0.7:
            some = rng.permutation(arms.size)[: rng.integers(1, 4)]
            arms, counts = arms[some], np.minimum(counts[some], rng.integers(1, 20))
        means = rng.beta(0.5, 0.5, arms.size)
    sums = np.floor(counts * means) if whole else counts * means
    session.tell(arms, sums=sums, counts=counts, squares=sums * sums / counts)


def finish(session):
    """Run to the end; return the results."""
    while not session.done:
        tell(session)
    shown = session.stopped, session.selected.tolist(), session.pulls.tolist(), stored(session)
    return json.loads(json.dumps(shown))


# What a state is


def only_plain(value):
    """Return whether a value consists of exactly the types of JSON."""
    if type(value) is dict:
        return all(type(key) is str and only_plain(item) for key, item in value.items())
    if type(value) is list:
        return all(only_plain(item) for item in value)
    return value is None or type(value) in (str, int, bool) or math.isfinite(value)


@each_strategy
def test_a_state_is_plain_json_of_less_than_200_bytes_an_arm(entry):
    """Besides the 60 products of bets, each a float and a small integer."""
    n = 100
    for number in range(8):
        layout, rng = (2, n // 2) if entry.several else n, np.random.default_rng([9, number])
        strategy = entry.draw(rng, layout, min([1, 10, 40, 48][number % 4], entry.most_k(49)))
        session = start(strategy, layout)
        for _ in range(40):
            if not session.done:
                tell(session, rng, whole=number % 2)
                state = session.state()
                assert only_plain(state)
                size = len(json.dumps(state))
                most = 200 + has_products(session.engine.seen) * 60 * 30
                assert size < most * n, f"{strategy}: {size / n} bytes an arm"


@each_strategy
def test_a_state_is_a_snapshot(entry):
    """A state is independent of later changes of its session, and vice versa."""
    session = topk.resume(middle(entry))
    state = session.state()
    before, end = copy.deepcopy(state), finish(topk.resume(stored(session)))
    for one in (topk.resume(state), topk.resume(state), session):
        assert finish(one) == end
        assert state == before


def finish_file(path):
    """Finish the sessions with states in a file; print their results as JSON."""
    states = json.loads(Path(path).read_text())
    print(json.dumps([finish(topk.resume(state)) for state in states]))


def test_a_new_process_goes_on_exactly(tmp_path):
    states = [middle(entry) for entry in ENTRIES]
    path = tmp_path / "states.json"
    path.write_text(json.dumps(states))
    printed, _ = fresh(f"from live import test_files as t; t.finish_file({str(path)!r})")
    assert json.loads(printed) == [finish(topk.resume(state)) for state in states]


# What is refused


def middle(entry, gone=()):
    """Return a stored state from the middle of a play: one batch and part of another."""
    return copy.deepcopy(_middle(entry, gone))


@cache
def _middle(entry, gone):
    for seed in range(40):
        layout, rng = (2, 3) if entry.several else 5, np.random.default_rng(seed)
        session = start(entry.draw(rng, layout, min(2, entry.most_k(3))), layout)
        batches = 0
        for arm in gone:
            session.withdraw(arm)
        before = session
        while not session.done and batches < 8:
            before, batches = copy.deepcopy(session), batches + 1
            tell(session)
        if batches > 2:  # there are strategies with one batch only
            break
    arms, counts = before.ask()
    if counts.sum() > 2:
        before.tell([arms[0], arms[-1]], [1.0, 0.0])
    before.ask(5)
    assert not before.done
    return stored(before)


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
    """Resuming a broken state raises a ValueError that names the field."""
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


NO_STATE = [("state", value) for value in (None, [], "topk-session", 1, b"{}")]
NO_STATE += [("format", {}), ("version", {"format": "topk-session", "version": 99, "n": "what?"})]


@pytest.mark.parametrize(("name", "state"), NO_STATE, ids=str)
def test_invalid_states_and_those_of_another_release_are_refused_first(name, state):
    refused(state, name)


@each_strategy
def test_an_array_of_a_wrong_kind_is_refused_by_name_even_with_a_digest(entry):
    state = middle(entry)
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
    "batch": [[0]],
    "withdrawn": None,
    "flight": [[0]],
    "sums": [[0]],
    "kept": [[0, 1]],
}


@each_strategy
@pytest.mark.parametrize("name", FORGERIES)
def test_a_field_of_another_session_is_a_value_error_even_with_a_digest(entry, name):
    with pytest.raises(ValueError):
        topk.resume(forged(middle(entry) | {name: FORGERIES[name]}))
    state = middle(entry)
    del state[name]
    with pytest.raises(ValueError):
        topk.resume(forged(state))


def test_the_numbers_of_a_state_are_these_for_ever():
    """Stored sessions of later releases mean the same by them."""
    session = topk.SAR(1, 60).start(4).withdraw(3)
    finish(session)
    play = session.state()["play"]
    assert play["status"] == [-1, -1, 1, -2] and play["now"]["ended"] == 2
    session = topk.LUCB1(1, 0.5, 0.1).start(2)
    finish(session)
    assert session.state()["play"]["now"]["ended"] == 1 and session.certified


@pytest.mark.parametrize("name", ["Strategy", "Ruled", "Rounds", "Indices", "Candidates", "Phases"])
def test_the_name_of_a_base_class_is_refused(name):
    refused(forged(middle(ENTRIES[0]) | {"strategy": f"topk.{name}"}), "strategy")


STORED_IN_LUCB = [topk.LUCB1(1, 0.1, 0.1), topk.KLLUCB(1, 0.1, 0.1), topk.Halving(1, 0.1, 0.1)]


@pytest.mark.parametrize("strategy", STORED_IN_LUCB, ids=lambda strategy: type(strategy).__name__)
def test_a_strategy_is_found_in_whatever_file_of_the_library_it_was(strategy):
    name = f"topk.strategies.lucb.{type(strategy).__name__}"  # a file that is no more
    given = vars(strategy)
    assert named_strategy(name, given) == strategy
    assert type(named_strategy(name, given)) is type(strategy)


@pytest.mark.parametrize("strategy", STORED_IN_LUCB, ids=lambda strategy: type(strategy).__name__)
def test_a_session_that_names_a_file_that_is_no_more_goes_on(strategy):
    session = strategy.start(3)
    tell(session)
    state = stored(session)
    name = f"topk.strategies.lucb.{type(strategy).__name__}"
    again = topk.resume(forged(state | {"strategy": name}))
    assert finish(again) == finish(topk.resume(state))


def test_storing_a_strategy_that_is_not_a_dataclass_is_refused():
    class Bare(topk.Strategy):
        k = 1

        def __init__(self):
            """Take no parameters."""

        def ask(self, view):
            return ([0], [1]) if view.total == 0 else ([], [])

    with pytest.raises(ValueError, match="strategy must be a dataclass"):
        Bare().start(2).state()


def paths(value, path=()):
    """Yield the path of every part of some JSON values."""
    if path:
        yield path
    names = value if isinstance(value, dict) else range(len(value)) if type(value) is list else ()
    for name in names:
        yield from paths(value[name], (*path, name))


def of_each_kind():
    """Return one entry for each set of fields that the states of strategies have."""
    kinds = {}
    for entry in ENTRIES:
        fields = ((name, type(value)) for name, value in middle(entry)["play"].items())
        kinds.setdefault((entry.several, frozenset(fields)), entry)
    return list(kinds.values())


def test_any_change_of_one_field_is_refused():
    """Fields are replaced, removed, extended, reversed or perturbed."""
    kinds = of_each_kind()
    assert len(kinds) > 5
    begins = [middle(entry) for entry in kinds]
    begins += [middle(entry, gone=(3,)) for entry in kinds
               if entry.strategy not in (BigBatches, Doubling)]
    step = amount(8, 1)
    for number, state in enumerate(begins):
        for path in [*paths(state)][number % step :: step]:
            here = get(state, path)
            others = [None, True, -1, 0.5, 10**400, math.nan, "", "0", [], {}]
            others += [here + 1, here - 0.5] if type(here) in (int, float) else []
            others += [[*here, 0], here[::-1]] if type(here) is list else []
            others += [here | {"x": 1}] if type(here) is dict else []
            for broken in [without(state, path), *(changed(state, path, x) for x in others)]:
                if forged(broken) == broken:  # the same, or 1 for 1.0
                    assert stored(topk.resume(broken)) == state
                else:
                    refused(broken, "digest|format|version|state")
