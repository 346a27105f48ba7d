"""The adapter of inspect_ai on a stub of its protocol, which tells of no sample that errored."""

import asyncio
import importlib
import random
import sys
import types
from types import SimpleNamespace as Plain

import pytest

MODELS = ["m/a", "m/b", "m/c"]


@pytest.fixture
def adapter(monkeypatch):
    """Return the adapter, loaded with a module that stands for inspect_ai."""
    util = types.ModuleType("inspect_ai.util")
    util.EarlyStopping, util.EarlyStop = object, Plain
    monkeypatch.setitem(sys.modules, "inspect_ai", types.ModuleType("inspect_ai"))
    monkeypatch.setitem(sys.modules, "inspect_ai.util", util)
    monkeypatch.delitem(sys.modules, "inspect_ai.hooks", raising=False)
    monkeypatch.delitem(sys.modules, "topk_eval.adapters.inspect_ai", raising=False)
    yield importlib.import_module("topk_eval.adapters.inspect_ai")
    sys.modules.pop("topk_eval.adapters.inspect_ai", None)


async def begin(race, items=300, task="t", epochs=1):
    entries = {model: race.entry() for model in MODELS}
    for model in MODELS:
        await entries[model].start_task(Plain(model=model, task=task),
                                        [Plain(id=i) for i in range(items)], epochs)
    return entries


def scores(value):
    return {"s": Plain(score=Plain(value=value))}


def play(adapter, lost=(), twice=(), **options):
    """Return the number of samples that ran, of 900, and the race."""
    rng, ran = random.Random(1), 0
    race = adapter.Race(MODELS, **{"k": 1} | options)

    async def go():
        nonlocal ran
        entries = await begin(race)
        for i in range(300):
            for model, p in zip(MODELS, (.95, .4, .3), strict=True):
                right = rng.random() < p
                if await entries[model].schedule_sample(i, 1) is None:
                    ran += 1
                    for _ in range(0 if (model, i) in lost else 2 if (model, i) in twice else 1):
                        await entries[model].complete_sample(i, 1, scores(float(right)))

    asyncio.run(go())
    return ran, race


def test_a_sample_that_never_comes_back_does_not_hold_the_race_up(adapter):
    none, race = play(adapter)
    assert none <= 60 and race.tier == {"m/a": "in", "m/b": "out", "m/c": "out"}
    one, race = play(adapter, lost={("m/a", 3)})
    assert one < 2 * none and race.tier["m/a"] == "in"
    assert [cell for cell, its in race.scores.items() if its[0] != its[0]] == [("m/a", ("t", 3))]
    two, race = play(adapter, twice={("m/a", 3)})
    assert two == none and race.scores["m/a", ("t", 3)] in ([0.0], [1.0])


def test_with_more_than_one_model_wanted_nothing_is_held_up_either(adapter):
    none, race = play(adapter, k=2, delta=.3)
    one, other = play(adapter, k=2, delta=.3, lost={("m/c", 3)})
    assert race.tier["m/a"] == other.tier["m/a"] == "in" and one <= none + 60


def test_a_sample_that_is_taken_for_failed_stays_failed(adapter):
    race = adapter.Race(MODELS, k=1, every=1000)

    async def go():
        entry = (await begin(race))["m/a"]
        for i in range(30):
            await entry.schedule_sample(i, 1)
            if i != 2:
                await entry.complete_sample(i, 1, scores(1))
        await entry.complete_sample(2, 1, scores(1))

    asyncio.run(go())
    (failed,) = race.scores["m/a", ("t", 2)]
    assert failed != failed and len(race.scores) == 30


def test_items_are_in_turns_of_tasks_and_late_ones_come_last(adapter):
    race = adapter.Race(MODELS, k=1)

    async def go():
        entries = await begin(race, 2, "t")
        await begin(race, 3, "u")
        assert [*race.items] == [("t", 0), ("u", 0), ("t", 1), ("u", 1), ("u", 2)]
        await entries["m/a"].complete_sample(0, 1, scores(1))
        await begin(race, 2, "a")
        assert [*race.items][5:] == [("a", 0), ("a", 1)]

    asyncio.run(go())
    assert race.tiers().frame().set_index("model")["cells"].to_dict() == {
        "m/a": 1, "m/b": 0, "m/c": 0}


def test_a_cell_counts_with_all_its_epochs(adapter):
    race = adapter.Race(MODELS, k=1, scorer="s/part")

    async def go():
        entry = (await begin(race, epochs=2))["m/a"]
        for i, epoch, value in ((0, 1, "C"), (1, 1, "no"), (1, 2, True), (2, 1, .5), (2, 2, [1])):
            await entry.complete_sample(i, epoch, scores({"part": value}))

    asyncio.run(go())
    assert race.scores["m/a", ("t", 0)] == [1] and race.scores["m/a", ("t", 1)] == [0, 1]
    frame = race.tiers().frame().set_index("model")
    assert frame.loc["m/a", "cells"] == 1 and frame.loc["m/a", "failed"] == 1
    assert race.notes == ["a score is not taken, and its sample has failed: it is a list, not a "
                          "number"]
