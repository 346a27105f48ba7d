"""The audit of chapter 28: its record, its streams, and the page's transcriptions on them."""

import importlib.util
import json

import numpy as np
import pytest
from chapters import cells

from benchmarks.audit import __main__ as audit
from benchmarks.audit import streams, tensorzero
from benchmarks.audit.rules import RULES

RECORD = json.loads(audit.RESULT.read_text(encoding="utf-8"))
ROWS = {row["rule"]: row for row in RECORD["rules"]}
SCRIPTS = sorted((audit.ROOT / "book" / "reports").glob("*.py"))
KEPT = [(row["rule"], place) for row in RECORD["rules"] for place in row.get("decisions", {})]


@pytest.fixture(scope="module")
def page():
    space = {"__name__": "__main__"}
    for tags, source in cells.read("28-stopping-rules")[0]:
        if "setup" in tags:
            exec(compile(source, "28-stopping-rules", "exec"), space)
    return space


def test_the_instances_are_the_pages(page):
    assert page["instances"] == streams.INSTANCES and page["LOOKS"] == streams.LOOKS
    assert page["near"] == streams.NEAR


def test_the_record_is_of_these_streams():
    assert RECORD["seed"] == streams.SEED
    assert RECORD["streams"] == {
        place: streams.digest(place) for place in (*streams.INSTANCES, *streams.NEAR)}


def test_scores_have_the_means_of_their_instance():
    for place, (means, daily, spread, _) in streams.INSTANCES.items():
        arms, scores = streams.stream(place, 0)
        assert sorted(arms) == sorted(means) and scores.shape == (len(means), 100 * daily)
        error = 6 * (spread or 0.5) / np.sqrt(100 * daily)  # false alarms in all below 1e-6
        assert np.abs(scores.mean(1) - arms).max() < error


def test_the_record_has_every_rule_as_it_is_declared():
    assert list(ROWS) == [rule.name for rule in RULES]
    for rule in RULES:
        row = ROWS[rule.name]
        assert (row["promise"], row["script"], row["options"], row["gate"], row["level"]) == (
            rule.promise, rule.script, rule.options, rule.gate, rule.level)
        assert len(rule.promise.split()) <= 25
        if "missing" not in row:
            assert set(row["places"]) == set(rule.places)
            assert set(row["decisions"]) == set(rule.keep)
            assert all(x["wrong"] <= x["named"] <= x["runs"] == rule.count(place)
                       for place, x in row["places"].items())
            assert row["version"] or not rule.package
            assert row["source"].rpartition(":")[2].isdigit()


@pytest.mark.parametrize("path", SCRIPTS, ids=lambda path: path.stem)
def test_a_report_is_short_and_belongs_to_a_rule(path):
    source = path.read_text(encoding="utf-8")
    compile(source, path.name, "exec")
    assert len(source.splitlines()) <= 30
    assert path.stem in {rule.script for rule in RULES}


@pytest.mark.parametrize("rule", ["keep if better", "two runs agree"])
def test_a_rule_without_a_package_repeats_its_record(rule):
    path = audit.ROOT / "book" / "reports" / "loops_gates.py"
    spec = importlib.util.spec_from_file_location("loops_gates", path)
    script = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(script)
    for place in ("two nearly equal", "five accuracies"):
        rows = []
        for run in range(1000):
            means, scores = streams.stream(place, run)
            order = np.argsort(-means, kind="stable")
            arm, used = script.decide(scores[order], 0, **ROWS[rule]["options"])
            rows.append([-1 if arm is None else order[arm], used])
        assert audit.counted(place, rows) == ROWS[rule]["places"][place]


def first_look(page, scores, daily, test):
    """Arm and scores of the first look at which a p-value is below 5 %, as the package's."""
    looks = np.arange(daily, scores.shape[2] + 1, daily)
    sums = scores.cumsum(2, dtype=float)[:, :, looks - 1].transpose(0, 2, 1)
    value, leader = test(looks[:, None].astype(float), sums)
    says = value < 0.05
    at = np.where(says.any(1), says.argmax(1), len(looks) - 1)
    arm = np.where(says.any(1), leader[np.arange(len(at)), at], -1)
    return arm, 2 * looks[at]


def transcribed(page, rule, place, scores):
    """Return what the page's transcription decides on the streams: arms and scores used."""
    daily, whose = streams.daily_of(place), np.arange(len(scores))
    if rule == "GrowthBook, sequential test":
        return first_look(page, scores, daily, page["sequential_test"])
    if rule == "GrowthBook, chance to win":
        return first_look(page, scores, daily, lambda n, s: page["chance_to_win"](n, s, s))
    if rule == "msprt, mixture test":
        return first_look(page, scores, daily, page["mixture_test"])
    correct = scores[:, :, :500].astype(np.int8)
    if rule == "AgentOpt, elimination":
        best, _, used = page["eliminate"](correct)
        theirs = np.array(ROWS[rule]["decisions"][place])[:, 0]
        # The package breaks ties of averages by the clock: any arm of the largest one is right.
        return np.where(best[whose, theirs] == best.max(1), theirs, best.argmax(1)), used
    if rule == "Optuna, halving":
        order, used = page["halve"](correct)
        return order[:, 0], used
    if rule == "Optuna, Wilcoxon":
        arm, _, used = page["prune"](correct[:, :, :ROWS[rule]["options"]["size"]])
        return arm, used
    assert rule == "BanditEval, UCB-E"
    return page["explore"](correct, 0.15)


# Where the package's decision differs on some of the 200 streams, for the reason on the page.
DIFFERENT: dict[tuple[str, str], int] = {}


@pytest.mark.parametrize(("rule", "place"), KEPT)
def test_a_transcription_decides_as_the_package(page, rule, place):
    scores = np.array([streams.stream(place, run)[1] for run in range(200)])
    arm, used = transcribed(page, rule, place, scores)
    theirs = np.array(ROWS[rule]["decisions"][place])
    assert theirs.shape == (200, 2)
    different = (theirs[:, 0] != arm) | (theirs[:, 1] != used)
    assert different.sum() == DIFFERENT.get((rule, place), 0)


# TensorZero's evaluator: the record of its own code, and our transcription on some of its runs


class Sequence:
    """A betting confidence sequence as in betting_confidence_sequences.rs."""

    grid, alpha = np.linspace(0, 1, 1001), float(np.float32(0.05))

    def __init__(self):
        self.count, self.mean, self.variance = 0, 0.5, 0.25
        self.low, self.high, self.estimate = 0.0, 1.0, 0.5
        self.wealth = np.ones((2, 1001))

    def update(self, x, weight):
        times = self.count + 1 + np.arange(x.size)
        means = (self.mean * (self.count + 1) + x.cumsum()) / (times + 1)
        squares = ((x - means) ** 2).cumsum()
        variances = (self.variance * (self.count + 1) + squares) / (times + 1)
        lagged = np.append(self.variance, variances[:-1])
        bets = np.sqrt(2 * np.log(2 / self.alpha) / (lagged * times * np.log(times + 1)))
        with np.errstate(divide="ignore"):
            most = np.array([0.5 / self.grid, 0.5 / (1 - self.grid)])
        up, down = np.minimum(bets[:, None, None], most).transpose(1, 0, 2)
        gain = x[:, None] - self.grid
        self.wealth *= [np.prod(1 + up * gain, 0), np.prod(1 - down * gain, 0)]
        hedged = np.maximum(weight * self.wealth[0], (1 - weight) * self.wealth[1])
        inside, least = np.flatnonzero(hedged < 1 / self.alpha), hedged.argmin()
        self.estimate = self.grid[least]
        low = self.grid[max(inside[0] - 1, 0)]
        high = self.grid[min(inside[-1] + 1, 1000)]
        self.low = min(max(low, self.low), self.estimate)
        self.high = max(min(high, self.high), self.estimate)
        self.count, self.mean, self.variance = times[-1], means[-1], variances[-1]


def evaluated(scores):
    """Play the evaluator for the better of two variants; return scores used, variant and ends."""
    both, used, named = [Sequence(), Sequence()], 0, "-"
    for start in range(0, scores.shape[1], 20):
        weights = [0.5, 0.5]
        if start:
            ahead = int(both[1].estimate > both[0].estimate)
            weights[ahead], weights[1 - ahead] = 0.8, 0.2
        for each, x, weight in zip(both, scores[:, start : start + 20], weights, strict=True):
            each.update(x, weight)
            used += x.size
        if both[0].low > both[1].high or both[1].low > both[0].high:
            named = "00" if both[0].low > both[1].high else "01"
            break
    return [str(used), named, *(f"{each.low:.3f}:{each.high:.3f}" for each in both)]


def test_the_record_of_the_evaluator_is_of_these_streams():
    record = json.loads(tensorzero.RESULT.read_text(encoding="utf-8"))
    assert record["commit"] == tensorzero.COMMIT and record["seed"] == tensorzero.SEED
    assert list(record["places"]) == list(tensorzero.PLACES)
    for place, (_, _, _, runs) in tensorzero.PLACES.items():
        counts = record["places"][place]
        assert counts["runs"] == runs and counts["wrong"] <= counts["named"] <= runs


def test_a_transcription_of_the_evaluator_repeats_some_runs():
    record = json.loads(tensorzero.RESULT.read_text(encoding="utf-8"))["first runs"]
    for place in ("two accuracies", "2 equal variants"):
        scores = tensorzero.streams(place, 3)
        assert [" ".join(evaluated(run)) for run in scores] == record[place][:3]


def test_counts_follow_the_tolerance():
    means = [streams.stream("tie of accuracies", run)[0] for run in range(3)]
    worst, middle = int(np.argmin(means[0])), int(np.argsort(means[1])[1])
    counts = audit.counted("tie of accuracies", [[worst, 10], [middle, 20], [-1, 30]])
    assert counts == {"runs": 3, "named": 2, "wrong": 1, "scores": 20.0}
    equal = audit.counted("equal: .01", [[0, 10], [1, 20], [-1, 30]])  # no winner is right
    assert equal == {"runs": 3, "named": 2, "wrong": 2, "scores": 20.0}


def test_what_does_not_install_is_a_row(monkeypatch):
    monkeypatch.setattr(audit, "environment", lambda rule, newest: None)
    row = audit.measured(RULES[0], newest=False)
    assert row["missing"] == "does not install with Python 3.12" and "places" not in row


def test_changes_name_the_rule_and_both_values():
    row = lambda version, wrong: {  # noqa: E731
        "rule": "a", "version": version, "places": {"x": {"wrong": wrong}}}
    assert audit.changes([row("1", 9)], [row("2", 12)]) == ["a: version was 1, is 2"]
    assert audit.changes([row("1", 9)], [row("1", 90)]) == ["a, x: 9 wrong before, 90 now"]
    assert audit.changes([row("1", 0)], [row("1", 0)]) == []
    assert audit.changes([], [row("1", 0)])[1] == "a, x: -1 wrong before, 0 now"
    gone = [{"rule": "a", "missing": "does not run"}]
    assert audit.changes([row("1", 9)], gone)[0] == "a: missing was None, is does not run"
