"""The adapter of inspect_ai, run by inspect_ai itself with its mock model."""

import random

import pytest

import topk_eval

inspect_ai = pytest.importorskip("inspect_ai")
from inspect_ai import Task, task_with  # noqa: E402
from inspect_ai.dataset import Sample  # noqa: E402
from inspect_ai.model import ModelOutput, ModelUsage, get_model  # noqa: E402
from inspect_ai.scorer import Score, accuracy, includes, scorer  # noqa: E402

from topk_eval.adapters.inspect_ai import Race  # noqa: E402

SKILL = {"a": .95, "b": .5, "c": .4, "d": .2}
TASKS = {"sums": 40, "words": 40, "facts": 30}


def model(name, broken=()):
    """Return a mock model that knows a share of the answers, chosen at random.

    It raises an error on some questions.
    """
    def answer(messages, tools, tool_choice, config):
        if messages[-1].text in broken:
            raise RuntimeError("no answer")
        known = random.Random(name + messages[-1].text).random() < SKILL[name]
        output = ModelOutput.from_content(name, "yes" if known else "no")
        output.usage = ModelUsage(input_tokens=1, output_tokens=1, total_tokens=2)  # else it counts
        return output

    return get_model(f"mockllm/{name}", custom_outputs=answer)


def task(name, scorer=None):
    samples = [Sample(f"{name} {number}", target="yes", id=number) for number in range(TASKS[name])]
    return Task(samples, name=name, scorer=scorer or includes())


def play(tmp_path, broken=None, scorer=None, **options):
    """Run all tasks; ``broken`` is a model and the questions on which it raises an error."""
    race = Race([f"mockllm/{name}" for name in SKILL], **options)
    at, questions = broken or ("", ())
    tasks = [task_with(task(name, scorer), model=model(each, questions if each == at else ()),
                       early_stopping=race.entry()) for name in TASKS for each in SKILL]
    logs = inspect_ai.eval(tasks, max_tasks=len(tasks), max_samples=4, display="none",
                           log_dir=str(tmp_path), fail_on_error=False)
    assert {log.status for log in logs} == {"success"}
    return race, logs, sum(len(log.samples) for log in logs)


ALL = len(SKILL) * sum(TASKS.values())
SETTLED = {f"mockllm/{name}": "in" if name == "a" else "out" for name in SKILL}


def test_models_that_are_certainly_out_or_in_are_stopped(tmp_path, record):
    race, logs, samples = play(tmp_path, k=1)
    assert race.tier == SETTLED and race.notes == []
    stops = [log.results.early_stopping for log in logs]
    assert {stop.manager for stop in stops} == {"topk"}
    assert sum(len(stop.early_stops) for stop in stops) == ALL - samples
    assert all(stop.metadata["samples_not_run"] == len(stop.early_stops) for stop in stops)
    assert samples < .4 * ALL
    record("inspect_ai", samples=samples, all_samples=ALL)
    results = topk_eval.read_results(tmp_path)  # the logs say the same
    assert int((~results.absent).sum()) == samples
    assert set(race.scores) == {(name, (item.split("/")[0], int(item.split("/")[1])))
                                for name, item in zip(*asked(results), strict=True)}
    said = {log.eval.model: log.results.early_stopping.metadata for log in logs}
    assert {name: metadata["tier"] for name, metadata in said.items()} == SETTLED
    assert said["mockllm/a"]["decided"].startswith(
        "'mockllm/a' is among the 1 best of 4 models, at delta = 0.05 (p = ")
    for name in SETTLED:
        assert results.notes.count(f"decided during the run: {race.decided[name]}") == 1


def asked(results):
    """Return models and items of the cells that were asked."""
    frame = results.frame()
    return frame["model"].tolist(), frame["item"].tolist()


def test_samples_that_errored_hold_nothing_up(tmp_path):
    race, logs, samples = play(tmp_path, ("a", {"sums 2", "words 5"}), k=1)
    assert sum(sample.error is not None for log in logs for sample in log.samples) == 2
    assert race.tier == SETTLED and samples < .5 * ALL and race.notes == []
    results = topk_eval.read_results(tmp_path)
    assert results.failed.sum() == 2 and results.failed[results.models.index("mockllm/a")].any()


@scorer(metrics={"right": [accuracy()], "form": [accuracy()]})
def parts():
    async def score(state, target):
        return Score(value={"right": float(state.output.completion == "yes"), "form": 1.0})
    return score


def test_a_part_of_a_score_counts_if_it_is_named(tmp_path):
    race = Race(["mockllm/a", "mockllm/d"], k=1, scorer="parts/right")
    run(race, tmp_path / "named", parts())
    assert race.tier == {"mockllm/a": "in", "mockllm/d": "out"} and race.notes == []
    results = topk_eval.read_results(tmp_path / "named", score="parts/right")
    assert results.scores[0, 0] in (0, 1)
    with pytest.raises(ValueError, match="'score_parts/right', 'score_parts/form'; name one"):
        topk_eval.read_results(tmp_path / "named")
    race = Race(["mockllm/a", "mockllm/d"], k=1)
    run(race, tmp_path / "unnamed", parts())
    assert race.tier == dict.fromkeys(race.models, "open")  # and not certain at two means of 0
    (note,) = race.notes
    assert note.endswith("it has the parts ['right', 'form']: name one with "
                         "scorer='parts/right'")


def run(race, folder, scorer=None, **options):
    """Run one task with models a and d; return the logs."""
    tasks = [task_with(task("sums", scorer), model=model(name), early_stopping=race.entry(),
                       **options) for name in "ad"]
    logs = inspect_ai.eval(tasks, max_tasks=2, max_samples=2, display="none", log_dir=str(folder),
                           fail_on_error=False)
    assert {log.status for log in logs} == {"success"}
    return logs


@scorer(metrics=[accuracy()])
def points():
    async def score(state, target):
        return Score(value=10.0 * (state.output.completion == "yes"))
    return score


def test_a_hook_never_fails_the_run(tmp_path):
    race = Race(["mockllm/a", "mockllm/d"], k=1)  # scores are outside its bounds
    logs = run(race, tmp_path / "bounds", points())
    assert all(len(log.samples) == TASKS["sums"] for log in logs)
    (note,) = race.notes
    assert "it is 10, outside of the bounds: give those of the scale with bounds=" in note
    assert logs[0].results.early_stopping.metadata["notes"] == [note]
    race = Race(["mockllm/a", "mockllm/d"], k=1, bounds=(0, 10))
    run(race, tmp_path / "scale", points())
    assert race.tier["mockllm/a"] == "in"
    race = Race(["mockllm/a", "mockllm/d"], k=1)
    race.tiers = lambda: 1 / 0
    assert all(len(log.samples) == TASKS["sums"] for log in run(race, tmp_path / "other"))
    assert race.notes == ["complete_sample: division by zero", "look: division by zero"]


def test_epochs_are_one_cell(tmp_path):
    race = Race(["mockllm/a", "mockllm/d"], k=1, every=1)
    run(race, tmp_path, epochs=2)
    assert race.items == dict.fromkeys([("sums", place) for place in range(TASKS["sums"])], 2)
    assert race.tiers().decided(1)
    ran = topk_eval.read_results(tmp_path)
    assert ran.trials == 2


def test_an_entry_is_of_one_task_and_of_a_known_model(tmp_path):
    race = Race(["mockllm/b", "mockllm/c"], k=1)
    other = task_with(task("facts"), model=model("a"), early_stopping=race.entry())
    (log,) = inspect_ai.eval(other, display="none", log_dir=str(tmp_path))
    assert log.status == "success" and len(log.samples) == TASKS["facts"] and race.scores == {}
    (note,) = race.notes
    assert "the model must be one of ['mockllm/b', 'mockllm/c']" in note
    with pytest.raises(ValueError, match="k must be"):
        Race(["mockllm/b", "mockllm/c"], k=2)
