"""A gate and its trial change in one step or not at all; threads, copies, files written before."""

import contextlib
import copy
import gc
import json
import pickle
import sys
import threading
from functools import partial
from pathlib import Path

import numpy as np
import pytest
from interrupts import interrupted, lines_of

import topk_eval
from topk.confidence.paired import BETS, WEIGHTS
from topk.live import drafts

SOURCES = str(Path(topk_eval.__file__).parent), drafts.__file__
LEFT = contextlib.__file__, *SOURCES  # a gate once kept a generator there, which came back later


def calls():
    gate = topk_eval.Gate("a", delta=0.3, smallest_gain=0.2, rng=0)
    gate.offer("b").tell([1, 0], [0.5, 1], items=["p", "q"])
    return gate


def fresh():
    gate = topk_eval.Gate("a", delta=0.3, smallest_gain=0.2, rng=0)
    trial = gate.offer("b")
    trial.start(["p", "q"])
    trial.start(40)
    trial.tell([0.5, 1], [1, 0], items=[1, "p"])
    return gate


def pool():
    gate = topk_eval.Gate("a", delta=0.3, smallest_gain=0.2, rng=0)
    trial = gate.offer("b", items=[*"pqrstu"], champion_results=[0, float("nan"), 1, 0, 0, 1])
    items = trial.start(4)
    trial.tell([float("nan")] * 2, [1, 0.5], items=items[:0:-2])
    return gate


def ended():
    gate = fresh()
    gate.trial.abandon()
    return gate


def told(gate, champion, candidate):
    items = gate.trial.in_flight()
    return gate.trial.tell([champion] * len(items), [candidate] * len(items), items=items)


CHANGES = {
    "offer": (ended, lambda gate: gate.offer("c")),
    "offer a pool": (ended, lambda gate: gate.offer("c", items=5, champion_results=[0] * 5)),
    "tell in calls": (calls, lambda gate: gate.trial.tell([0, 1], [1, 1], items=["r", "s"])),
    "start names": (fresh, lambda gate: gate.trial.start(["r", "s"])),
    "start": (fresh, lambda gate: gate.trial.start(3)),
    "tell": (fresh, lambda gate: gate.trial.tell([0, 1], [1, 1], items=["q", 0])),
    "tell, accepted": (fresh, lambda gate: told(gate, 0, 1)),
    "tell, abandoned": (fresh, lambda gate: told(gate, 1, 0)),
    "abandon": (fresh, lambda gate: gate.trial.abandon()),
    "start in a pool": (pool, lambda gate: gate.trial.start(2)),
    "tell in a pool": (pool, lambda gate: told(gate, float("nan"), 0.5)),
    "abandon a pool": (pool, lambda gate: gate.trial.abandon()),
}


def shown(gate, trial):
    """Return all that a gate and a trial of it know, as text."""
    known = trial and (trial.status, trial.items, trial.gain, trial.e_value, trial.evidence,
                       trial.in_flight())
    return json.dumps(gate._stored()), repr((known, trial, gate.trial and gate.trial.name))


@pytest.mark.parametrize("title", CHANGES)
def test_an_interrupt_at_any_line_changes_nothing_or_everything(title):
    begin, act = CHANGES[title]
    gate = begin()
    before, twin = shown(gate, gate.trial), copy.deepcopy(gate)
    trial = twin.trial
    lines = lines_of(lambda: act(twin), *SOURCES)
    after = shown(twin, trial)
    assert before != after and len(lines) > 20
    twin = copy.deepcopy(gate)
    trial, stopped = twin.trial, {before: 0, after: 0}
    for line, times in lines.items():
        assert interrupted(partial(act, twin), line, times, *SOURCES), line
        now = shown(twin, trial)
        stopped[now] += 1  # a KeyError where a part has changed
        if now == after:
            twin = copy.deepcopy(gate)
            trial = twin.trial
    assert stopped[before] > 20


@pytest.mark.parametrize("title", ["offer", "start names", "tell, accepted", "tell in a pool"])
def test_an_interrupted_gate_goes_on_in_its_file(title, tmp_path):
    begin, act = CHANGES[title]
    first = begin()
    first.save(tmp_path / "gate.json")
    stored = json.loads((tmp_path / "gate.json").read_text())
    stored["session"]["saves"] = True
    del stored["session"]["digest"]
    stored["session"]["digest"] = topk_eval.gate.files.digest(stored["session"])

    def again():
        (tmp_path / "gate.json").write_text(json.dumps(stored))
        gate = topk_eval.Gate.load(tmp_path / "gate.json")
        return gate, shown(gate, gate.trial)

    gate, before = again()
    lines = lines_of(lambda: act(gate), *SOURCES)
    after = gate._stored()
    for line, times in lines.items():
        gate, _ = again()
        trial = gate.trial
        assert interrupted(partial(act, gate), line, times, *SOURCES), line
        if shown(gate, trial) == before:
            act(gate)
        assert gate._stored() == topk_eval.Gate.load(tmp_path / "gate.json")._stored() == after


def test_what_is_told_after_an_interrupt_stays():
    """Also when the error is forgotten, with all that its frames still held."""
    act = CHANGES["tell in calls"][1]
    for line, times in lines_of(partial(act, calls()), *LEFT).items():
        gate = calls()
        error = interrupted(partial(act, gate), line, times, *LEFT)
        trial = gate.trial.tell([0] * 5, [1] * 5, items=range(5))
        before = shown(gate, trial)
        error.__traceback__ = None
        gc.collect(1)
        assert shown(gate, trial) == before


def together(*acts):
    """Run functions in threads that change places often; raise what any of them raised."""
    errors, interval = [], sys.getswitchinterval()

    def kept(act):
        try:
            act()
        except BaseException as error:
            errors.append(error)

    threads = [threading.Thread(target=kept, args=(act,)) for act in acts]
    sys.setswitchinterval(1e-6)
    try:
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join(60)
    finally:
        sys.setswitchinterval(interval)
    assert not any(thread.is_alive() for thread in threads)
    if errors:
        raise errors[0]


@pytest.mark.parametrize("saved", [False, True])
def test_threads_that_tell_at_once_lose_no_item(saved, tmp_path):
    count = 10 if saved else 100
    path = tmp_path / "gate.json" if saved else None
    right = topk_eval.Gate().offer("c").tell([1.0] * 4 * count, [0.0] * 4 * count)
    gate = topk_eval.Gate(path=path)
    trial = gate.offer("c")

    def work(name):
        for item in range(count):
            trial.tell([1.0], [0.0], items=[f"{name}-{item}"])
            if saved and item % 5 == 0:
                gate.save(tmp_path / f"{name}.json")

    together(*(lambda name=name: work(name) for name in "abcd"))
    assert trial.items == 4 * count == len(gate._shown)
    assert trial.e_value == pytest.approx(right.e_value, rel=1e-9)
    if saved:
        assert topk_eval.Gate.load(path)._stored() == gate._stored()


@pytest.mark.parametrize("items", [120, None])
def test_threads_that_start_at_once_have_different_items(items):
    gate, started = topk_eval.Gate("a", most_items=120), []
    trial = gate.offer("b", items=items)

    def work():
        while names := trial.start(2):
            started.extend(names)
            for name in names:
                trial.tell(0.5, 0.5, items=name)

    with contextlib.suppress(ValueError):  # those that start when the trial has ended
        together(*[work] * 4)
    assert sorted(started) == [*range(120)]
    assert trial.status == "abandoned" and trial.items == 120


def test_of_threads_that_offer_at_once_one_is_taken():
    gate, refused = topk_eval.Gate(), []

    def offer(name):
        try:
            gate.offer(name)
        except ValueError:
            refused.append(name)

    together(*(lambda name=name: offer(name) for name in range(8)))
    assert len(refused) == 7 and {*refused} | {gate.trial.name} == {*range(8)}
    assert gate.delta_left == 0.05 * 0.98


def test_a_trial_that_has_ended_stays_as_it_was():
    gate = topk_eval.Gate("a")
    first = gate.offer("b", items=9)
    first.tell([1, 0], [1, 0.5], items=first.start(4)[1:3])
    first.abandon()
    before, results = shown(gate, first)[1], first.candidate_results
    second = gate.offer("c").tell(0, 1)
    assert gate.trial is second and second.status == "open"
    second.abandon()
    third = gate.offer("d")
    assert (gate.trial, second.items, third.items) == (third, 1, 0)
    assert repr((before, results)) == repr(
        (shown(gate, first)[1].replace("'d'", "None"), first.candidate_results))
    for trial in (first, second):
        with pytest.raises(ValueError, match="ended"):
            trial.abandon()


def test_what_is_left_of_delta_can_only_be_read():
    gate = topk_eval.Gate()
    with pytest.raises(AttributeError):
        gate.delta_left = 1
    with pytest.raises(AttributeError):
        gate.trial = None


@pytest.mark.parametrize("copied", [copy.deepcopy, lambda x: pickle.loads(pickle.dumps(x))],
                         ids=["deepcopy", "pickle"])
@pytest.mark.parametrize("begin", [calls, fresh, pool])
def test_copies_share_nothing_that_changes(begin, copied):
    gate = begin()
    before, twin = shown(gate, gate.trial), copied(gate)
    assert shown(twin, twin.trial) == before and twin.lock is not gate.lock
    twin.trial.abandon()
    assert shown(gate, gate.trial) == before and len(twin.history()) == 1


FRESH = """
{"library": "cd85f5ed0f0b784ad164dd3f31cbdcd8831e42cce64755390eee2435129b9f1d", "revision": "0",
"session": {"format": "topk-gate", "version": 1, "champion": "baseline",
"parameters": {"delta": 0.1, "epsilon": 0.0, "spend": 0.02, "bounds": [0.0, 1.0],
"smallest_gain": null, "most_items": null}, "budget": 0.098, "rows": [], "told": ["p", 2, "r"],
"saves": true, "trial": {"name": "new", "level": 0.002, "items": 3, "sum": 1.5,
"most_capital": 1.4431641624023437, "rise": {"$array": [2.755, 2.08, 1.68, 1.40625,
1.2362499999999998, 1.13905, 1.07625, 1.0378124999999998, 1.018072, 1.009018, 1.0045045,
1.0022511250000001, 1.00112528125, 1.0005625703125, 1.000281267578125], "type": "<f8",
"shape": [15]}, "fall": {"$array": [1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1], "type": "<f8",
"shape": [15]}, "ending": false, "pool": null},
"digest": "847713a3a4cf28e850ca34f184e672a21f8aa226f708b8e64c49ebf65a9ccaf4"}}
"""

RISE = np.array(json.loads(FRESH)["session"]["trial"]["rise"]["$array"])
POOL = """
{"library": "cd85f5ed0f0b784ad164dd3f31cbdcd8831e42cce64755390eee2435129b9f1d", "revision": "0",
"session": {"format": "topk-gate", "version": 1, "champion": "b", "parameters": {"delta": 0.2,
"epsilon": 0.1, "spend": 0.25, "bounds": [0.0, 2.0], "smallest_gain": 0.5, "most_items": 40},
"budget": 0.10527850893873769, "rows": [{"candidate": "b", "champion": "a", "pool": null, "items":
12, "gain": 2.0, "evidence": 0.006585546236144647, "level": 0.05, "status": "accepted", "budget":
0.15000000000000002}, {"candidate": 7, "champion": "b", "pool": null, "items": 3, "gain":
-0.8333333333333334, "evidence": 1.0, "level": 0.037500000000000006, "status": "abandoned",
"budget": 0.14037134525165026}], "told": ["r", 3, "s"], "saves": false, "trial": {"name": "c",
"level": 0.035092836312912566, "items": 1, "sum": -0.5, "most_capital": 1.0, "rise": {"$array":
[0.492063492063492, 0.5070028011204482, 0.5343915343915344, 0.5809523809523809, 0.6507936507936508,
0.7380952380952381, 0.8253968253968254, 0.8952380952380952, 0.9417989417989419, 0.969187675070028,
0.9841269841269841, 0.991941391941392, 0.9959394610557402, 0.9979618306466556, 0.9989789288034903,
0.9994889663182346], "type": "<f8", "shape": [16]}, "fall": {"$array": [1.9696969696969697,
1.9411764705882353, 1.8888888888888888, 1.8, 1.6666666666666665, 1.5, 1.3333333333333333, 1.2,
1.1111111111111112, 1.0588235294117647, 1.0303030303030303, 1.0153846153846153, 1.0077519379844961,
1.0038910505836576, 1.0019493177387915, 1.0009756097560976], "type": "<f8", "shape": [16]},
"ending": false, "pool": {"items": ["x", "y", "z", 4], "order": {"$array": [3, 2, 1, 0], "type":
"<i8", "shape": [4]}, "results": {"$array": [0.75, {"$float": "nan"}, 0, 0.5, 0.25, 0.75,
{"$float": "nan"}, {"$float": "nan"}], "type": "<f8", "shape": [2, 4]}, "told": {"$array": [true,
false, true, true, true, true, false, false], "type": "|b1", "shape": [2, 4]}, "flying": {"$array":
[false, true, false, false, false, false, true, false], "type": "|b1", "shape": [2, 4]}, "given":
3}}, "digest": "caf125e0862d41d98e7c7a7def3b69fe92a20420f7aa44863c6c854b659a0a03"}}
"""


def test_a_file_with_fresh_items_of_earlier_code_is_read(tmp_path):
    path = tmp_path / "gate.json"
    path.write_text(FRESH)
    gate = topk_eval.Gate.load(path)
    trial = gate.trial
    assert gate.delta_left == 0.098 and trial.level == 0.002
    assert (trial.items, trial.started, trial.gain, trial.in_flight()) == (3, 3, 0.5, [])
    assert trial.e_value == pytest.approx(1.4431641624023441, rel=1e-14)
    assert trial.evidence == pytest.approx(0.6929218629815221, rel=1e-14)
    with pytest.raises(ValueError, match="items"):
        trial.tell(0, 1, items=[2])
    trial.tell(0, 1)  # as before, without start
    again = topk_eval.Gate.load(path)
    assert again.trial.items == 4 and again.trial.gain == 0.625
    assert again._stored() == gate._stored()
    assert again.trial.e_value == pytest.approx(WEIGHTS @ (RISE * (1 + BETS)), rel=1e-14)
    assert again.trial.start is not None and again._stored()["version"] == 2


def test_a_file_with_a_pool_of_earlier_code_is_read(tmp_path):
    path = tmp_path / "gate.json"
    path.write_text(POOL)
    gate = topk_eval.Gate.load(path)
    trial = gate.trial
    assert gate.delta_left == 0.10527850893873769
    assert (trial.evidence, trial.items, trial.started, trial.gain) == (1.0, 1, 3, -1.0)
    assert trial.in_flight() == ["z", "y"]
    assert gate.history().delta_left.tolist() == [0.15000000000000002, 0.14037134525165026]
    twin = copy.deepcopy(gate)
    trial.abandon()
    assert gate.delta_left == pytest.approx(0.12938044608458996, rel=1e-14)
    trial = twin.trial  # the champion's result on "y" is known, the candidate's on "z"
    trial.tell([2, float("nan")], [float("nan"), 2], items=["z", "y"])
    assert trial.items == 3 and trial.start(5) == ["x"]
    with pytest.raises(ValueError, match="items"):
        trial.start(["r"])
    assert topk_eval.Gate.load(path).delta_left == 0.10527850893873769  # this gate had no file
