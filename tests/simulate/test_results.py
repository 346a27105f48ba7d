"""Results of runs: frames, summaries, display and comparison."""

import math
import statistics
from dataclasses import replace
from fractions import Fraction
from pathlib import Path

import numpy as np
import pytest
from processes import fresh
from scipy.stats import binomtest

import topk
from topk import metrics
from topk.simulate import run as simulate
from topk.simulate.results import Summary

BANDIT = topk.BernoulliBandit(np.linspace(0.9, 0.1, 12))
LUCB = topk.LUCB1(3, epsilon=0.1, delta=0.1, budget=500)
MARKS = [20, 100, 400]
PLAIN = ["aggregate_regret", "simple_regret", "precision", "misidentified"]
TOLERANT = ["regret_within", "explore_m", "elementwise_optimal"]


def draw(rng):
    return topk.BernoulliBandit(rng.random(12))


def both(runs=60, bandit=BANDIT, checkpoints=MARKS, epsilon=0.15):
    """Return all plays of a study, and its summary."""
    plays = topk.replicate(LUCB, bandit, runs, 3, checkpoints)
    options = {"keep": "summary", "epsilon": epsilon}
    return plays, topk.replicate(LUCB, bandit, runs, 3, checkpoints, **options)


# Shown and compared


def test_reprs_are_short():
    wide = topk.BernoulliBandit(np.linspace(0, 1, 500))
    outcome = topk.run(topk.SAR(200, budget=3000), wide, rng=0)
    plays, summary = both(50, checkpoints=range(20, 80))
    assert repr(topk.run(topk.Uniform(1, 40), topk.BernoulliBandit([0, 1]), rng=0)) == (
        "Outcome(selected=[1], total_pulls=40, certified=False, stopped='budget')"
    )
    assert all(len(repr(result)) < 200 for result in (outcome, plays, summary))
    assert "runs=50, n=12, k=3" in repr(plays) and "n=12" in repr(summary)
    several = topk.replicate(topk.MultiBanditSAR(60), topk.MultiBandit([[0.9, 0.1]] * 3), 2, seed=0)
    assert "n=(3, 2), k=1" in repr(several)
    sure = topk.replicate(topk.LUCB1(1, 0.9, 0.9), topk.BernoulliBandit([0, 1]), 3, seed=0)
    assert "certified 3 of the runs" in repr(sure)
    shown = plays._repr_html_()
    assert shown.startswith("<pre>Replications(runs=50") and shown.count("<tr") == 12  # and dots
    assert "The first 10:" in shown and "The first 2:" in several._repr_html_()
    each = topk.replicate(topk.Uniform(1, 8), lambda rng: topk.BernoulliBandit(rng.random(3)), 12,
                          seed=0)
    assert each.means.shape == (12, 3) and "The first 10:" in each._repr_html_()


def test_an_outcome_has_means_in_units_of_reward():
    bandit = topk.GaussianBandit([120.0, 90.0, 60.0], sigma=5.0)
    outcome = topk.run(topk.Uniform(1, 300), bandit, rng=1)
    assert np.allclose(outcome.means, bandit.means, atol=3)  # six standard deviations
    assert outcome.means.tolist() == (outcome.sums / outcome.pulls).tolist()
    none = topk.Outcome(np.array([0]), np.array([[2, 0]]), np.array([[1.0, 0.0]]), 2, False, "rule")
    assert np.array_equal(none.means, [[0.5, np.nan]], equal_nan=True)


def test_results_are_equal_when_all_their_numbers_are():
    first, again = (topk.run(LUCB, BANDIT, 1, trace=True) for _ in range(2))
    assert first == again and first != topk.run(LUCB, BANDIT, 1) and first != "that"
    for results in (both(5), both(5, bandit=draw)):
        for result, other in zip(results, both(5), strict=True):
            assert result == result and (result == other) == (results[0].means.ndim == 1)
    plays, summary = both(5)
    assert plays != replace(plays, sums=plays.sums + 1) and plays != summary
    values = summary.values | {"precision": summary.values["precision"] / 2}
    assert summary != replace(summary, values=values)
    with pytest.raises(TypeError, match="unhashable"):
        hash(first)


# Frames and summaries


SEVERAL = topk.MultiBanditUGapEc(2, epsilon=0.3, delta=0.2)
STUDIES = {
    "same": (LUCB, BANDIT),
    "drawn": (LUCB, draw),
    "several": (SEVERAL, topk.MultiBandit([[0.9, 0.5, 0.1], [0.3, 0.8, 0.7]])),
    "several, drawn": (SEVERAL, lambda rng: topk.MultiBandit(rng.random((2, 3)))),
}
each_study = pytest.mark.parametrize("study", STUDIES.values(), ids=STUDIES)
each_marks = pytest.mark.parametrize("marks", [None, [12, 20, 441, 10_000]], ids=["end", "marks"])


def rows_by_hand(reps, epsilon):
    """Yield the rows of a frame: one for each play, checkpoint and bandit."""
    own = reps.means.ndim > reps.selected.ndim - 2
    for play, point, *bandit in np.ndindex(reps.selected.shape[:-1]):
        means = (reps.means[play] if own else reps.means)[tuple(bandit)]
        selected, total = reps.selected[play, point, *bandit], reps.total_pulls[play]
        mark = reps.checkpoints[point] if reps.checkpoints else math.nan
        certified = reps.certified[play] and not total > mark
        row = [play, mark, np.fmin(mark, total), certified, *bandit]
        row += [getattr(metrics, name)(selected, means) for name in PLAIN]
        tolerant = [] if epsilon is None else TOLERANT
        yield row + [getattr(metrics, name)(selected, means, epsilon) for name in tolerant]


@each_study
@each_marks
@pytest.mark.parametrize("epsilon", [None, 0.0, 0.1])
def test_a_frame_has_a_row_for_each_run_checkpoint_and_bandit(study, marks, epsilon):
    reps = topk.replicate(*study, runs=7, seed=1, checkpoints=marks)
    reps = replace(reps, certified=np.arange(7) % 3 > 0)
    frame = reps.frame() if epsilon is None else reps.frame(epsilon=epsilon)
    names = ["run", "checkpoint", "pulls_used", "certified"] + ["bandit"] * (study[0] is SEVERAL)
    names += PLAIN + (TOLERANT if epsilon is not None else [])
    assert frame.columns.tolist() == names
    np.testing.assert_equal(frame.to_numpy(float), np.array([*rows_by_hand(reps, epsilon)], float))
    assert frame["certified"].dtype == bool
    assert frame["certified"].any() and not frame["certified"].all()


@pytest.mark.parametrize("held", [2**18, 1, 7 * (3 * 3 + 2 * 12)])  # all at once, one, seven
@each_study
@each_marks
def test_a_summary_agrees_with_all_runs(study, marks, held, monkeypatch):
    """With several bandits a play's measures are means over them; one of them makes it wrong."""
    monkeypatch.setattr(simulate, "MAX_HELD_VALUES", held)
    given = {"runs": 60, "seed": 3, "checkpoints": marks}
    plays = topk.replicate(*study, **given)
    summary = topk.replicate(*study, **given, keep="summary", epsilon=0.15, chunk=25)
    frame, points = plays.frame(epsilon=0.15), len(marks or [0])
    by_play = {name: frame[name].to_numpy().reshape(60, points, -1) for name in frame}
    assert summary.runs == 60 and summary.checkpoints == tuple(marks or ())
    assert np.array_equal(summary.pulls, plays.pulls.sum(axis=0))
    chosen = plays.selected[..., None] == np.arange(plays.pulls.shape[-1])
    assert np.array_equal(summary.chosen, chosen.sum(axis=(0, -2)))
    shown = summary.frame(quantiles=[0.25]).set_index("measure")
    assert [*shown] == ["checkpoint", "mean", "sd", "least", "q0.25", "most"]
    for measure, kept in summary.values.items():
        values = by_play[measure].astype(float).mean(axis=2)
        assert np.array_equal(kept, values)
        exact = [float(sum(map(Fraction, column.tolist()))) / 60 for column in values.T]
        assert summary.mean(measure).tolist() == exact
        rows = shown.loc[[measure]]
        sd = [statistics.stdev(column.tolist()) for column in values.T]
        assert rows["sd"].tolist() == pytest.approx(sd, rel=1e-12, abs=1e-15)
        assert rows["least"].tolist() == values.min(axis=0).tolist()
        assert rows["most"].tolist() == values.max(axis=0).tolist()
        for share in (0, 0.05, 0.5, 0.95, 1):
            wanted = np.quantile(values, share, axis=0, method="inverted_cdf")
            assert np.array_equal(summary.quantile(measure, share), wanted)
    wrong = {"misidentified": by_play["misidentified"], "uncertified": ~by_play["certified"]}
    wrong |= {f"not {name}": ~by_play[name] for name in TOLERANT}
    failures = summary.failures(level=0.9)
    assert failures["failure"].tolist() == [name for name in wrong for _ in range(points)]
    np.testing.assert_equal(failures["checkpoint"].tolist(), (marks or [math.nan]) * len(wrong))
    counts = np.concatenate([each.any(axis=2).sum(axis=0) for each in wrong.values()])
    assert failures["count"].tolist() == counts.tolist()
    for row in failures.itertuples():
        interval = binomtest(row.count, 60).proportion_ci(0.9, method="exact")
        assert row.share == row.count / 60
        assert (row.low, row.high) == pytest.approx((interval.low, interval.high), abs=1e-12)


def test_without_an_epsilon_nothing_is_within_it():
    plays, summary = both(epsilon=None)
    assert set(summary.failures()["failure"]) == {"misidentified", "uncertified"}
    for epsilon in (-0.1, 1.0, np.nan, "0.1", [0.1], True):
        with pytest.raises(ValueError, match=r"\bepsilon\b"):
            plays.frame(epsilon=epsilon)


def summary_of(values):
    """A summary of plays with these precisions."""
    values = {"precision": np.array(values, dtype=float)[:, None]}
    return Summary(len(values["precision"]), (), None, *np.zeros((3, 1, 1)), values)


def test_a_quantile_is_the_least_value_that_a_share_does_not_exceed():
    for runs in (1, 7, 10, 30, 100, 1000):
        summary = summary_of(np.random.default_rng(runs).permutation(runs))
        for hundredths in range(101):  # .07 of 100 plays are 7, though .07 * 100 is more
            rank = max(1, -(-hundredths * runs // 100))
            assert summary.quantile("precision", hundredths / 100).tolist() == [rank - 1]
    for share in (-0.1, 1.1, math.nan):
        with pytest.raises(ValueError, match="share"):
            summary.quantile("precision", share)
    with pytest.raises(ValueError, match="measure"):
        summary.mean("beauty")


def test_one_run_has_no_spread():
    assert math.isnan(summary_of([0.3]).frame()["sd"][0])


@pytest.mark.slow
@pytest.mark.skipif(not Path("/proc/self/status").exists(), reason="needs Linux to measure memory")
def test_a_summary_takes_at_most_64_bytes_per_run_and_checkpoint():
    """And the portions of a study in one piece are no larger."""
    code = """
import sys, numpy as np, topk
bandit = topk.BernoulliBandit(np.linspace(0.9, 0.1, 100))
for runs in map(int, sys.argv[1:]):
    chunk = None if runs % 3 else runs
    summary = topk.replicate(topk.SAR(10, budget=200), bandit, runs, keep="summary", chunk=chunk)
    print(open("/proc/self/status").read().split("VmHWM:")[1].split()[0])
"""
    peaks, _ = fresh(code, "10000", "110000", "120000")
    few, many, at_once = (1024 * int(peak) for peak in peaks.split())
    assert many - few < 64 * 100_000 + 4e6  # and what the allocator keeps
    assert at_once - many < 64 * 120_000 + 8 * 2**18 * 3
