"""The adapter of inspect_ai, run by inspect_ai itself with its mock model."""

import random

import pytest

import topk_eval

inspect_ai = pytest.importorskip("inspect_ai")
from inspect_ai import Task, task_with  # noqa: E402
from inspect_ai.dataset import Sample  # noqa: E402
from inspect_ai.model import ModelOutput, ModelUsage, get_model  # noqa: E402
from inspect_ai.scorer import includes  # noqa: E402

from topk_eval.adapters.inspect_ai import Race  # noqa: E402

SKILL = {"a": .95, "b": .5, "c": .4, "d": .2}
TASKS = {"sums": 40, "words": 40, "facts": 30}


def model(name):
    """Return a mock model that knows a share of the answers, chosen at random."""
    def answer(messages, tools, tool_choice, config):
        known = random.Random(name + messages[-1].text).random() < SKILL[name]
        output = ModelOutput.from_content(name, "yes" if known else "no")
        output.usage = ModelUsage(input_tokens=1, output_tokens=1, total_tokens=2)  # else it counts
        return output

    return get_model(f"mockllm/{name}", custom_outputs=answer)


def task(name):
    samples = [Sample(f"{name} {number}", target="yes", id=number) for number in range(TASKS[name])]
    return Task(samples, name=name, scorer=includes())


def play(tmp_path, **options):
    race = Race([f"mockllm/{name}" for name in SKILL], **options)
    tasks = [task_with(task(name), model=model(each), early_stopping=race.entry())
             for name in TASKS for each in SKILL]
    logs = inspect_ai.eval(tasks, max_tasks=len(tasks), max_samples=4, display="none",
                           log_dir=str(tmp_path))
    assert {log.status for log in logs} == {"success"}
    return race, logs, sum(len(log.samples) for log in logs)


def test_models_that_are_certainly_out_or_in_are_stopped(tmp_path, record):
    race, logs, samples = play(tmp_path, k=1)
    all_samples = len(SKILL) * sum(TASKS.values())
    assert race.tier == {f"mockllm/{name}": "in" if name == "a" else "out" for name in SKILL}
    stops = [log.results.early_stopping for log in logs]
    assert {stop.manager for stop in stops} == {"topk"}
    assert sum(len(stop.early_stops) for stop in stops) == all_samples - samples
    assert all(stop.metadata["samples_not_run"] == len(stop.early_stops) for stop in stops)
    assert samples < .75 * all_samples
    record("inspect_ai", samples=samples, all_samples=all_samples)
    frame = topk_eval.read_results(tmp_path)  # the logs say the same
    assert len(frame) == samples
    wide = frame.pivot(index="model", columns="item", values="score")
    assert found_means(race) == pytest.approx(
        {name: wide.loc[name, items].mean() for name, items in counted(race).items()})


def found_means(race):
    frame = race.tiers().frame()
    return dict(zip(frame["model"], frame["mean"], strict=True))


def counted(race):
    """Return the names of the items of each model that count."""
    frame, items = race.tiers().frame(), [f"{name}/{place}" for place, name in sorted(race.items)]
    return {row.model: items[: row.cells] for row in frame.itertuples()}


def test_epochs_are_one_cell(tmp_path):
    race = Race(["mockllm/a", "mockllm/d"], k=1, every=1)
    tasks = [task_with(task("facts"), model=model(name), early_stopping=race.entry(), epochs=2)
             for name in "ad"]
    inspect_ai.eval(tasks, max_tasks=2, max_samples=2, display="none", log_dir=str(tmp_path))
    assert race.items == dict.fromkeys([(place, "facts") for place in range(30)], 2)
    assert race.tiers().decided(1)


def test_an_entry_is_of_one_task_and_of_a_known_model(tmp_path):
    race = Race(["mockllm/b"], k=1)
    other = task_with(task("facts"), model=model("a"), early_stopping=race.entry())
    (log,) = inspect_ai.eval(other, display="none", log_dir=str(tmp_path))
    assert log.status == "error" and "must be one of ['mockllm/b']" in log.error.message
