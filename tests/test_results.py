"""What plays came to: frames, summaries, and how they are shown and compared."""

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
from topk import metrics, simulate
from topk.results import Summary

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


def test_what_is_shown_is_short():
    wide = topk.BernoulliBandit(np.linspace(0, 1, 500))
    outcome = topk.run(topk.SAR(200, budget=3000), wide)
    plays, summary = both(50, checkpoints=range(20, 80))
    assert repr(topk.run(topk.Uniform(1, 40), topk.BernoulliBandit([0, 1]))) == (
        "Outcome(selected=[1], total_pulls=40, certified=False, stopped='budget')"
    )
    assert all(len(repr(result)) < 200 for result in (outcome, plays, summary))
    assert "runs=50, n=12, k=3" in repr(plays) and "n=12" in repr(summary)
    several = topk.replicate(topk.MultiBanditSAR(60), topk.MultiBandit([[0.9, 0.1]] * 3), 2)
    assert "n=(3, 2), k=1" in repr(several)
    sure = topk.replicate(topk.LUCB1(1, 0.9, 0.9), topk.BernoulliBandit([0, 1]), 3)
    assert "certified 3 of the plays" in repr(sure)


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


# Frames


@pytest.mark.parametrize("bandit", [BANDIT, draw], ids=["same", "drawn"])
@pytest.mark.parametrize("epsilon", [None, 0.0, 0.1])
def test_a_frame_has_a_row_for_each_play_and_checkpoint(bandit, epsilon):
    marks = [12, 20, 441, 10_000]
    reps = topk.replicate(LUCB, bandit, runs=7, seed=1, checkpoints=marks)
    reps = replace(reps, certified=reps.total_pulls < np.median(reps.total_pulls) + 1)
    frame = reps.frame() if epsilon is None else reps.frame(epsilon=epsilon)
    tolerant = [] if epsilon is None else TOLERANT
    names = ["run", "checkpoint", "pulls_used", "certified", *PLAIN, *tolerant]
    assert frame.columns.tolist() == names and len(frame) == 28
    assert frame["certified"].dtype == bool
    for row in frame.itertuples():
        play, point = divmod(row.Index, 4)
        means = reps.means if bandit is BANDIT else reps.means[play]
        selected, total = reps.selected[play, point], reps.total_pulls[play]
        assert row.run == play and row.checkpoint == marks[point]
        assert row.pulls_used == min(marks[point], total)
        assert row.certified == (reps.certified[play] and total <= marks[point])
        for name in PLAIN:
            assert getattr(row, name) == getattr(metrics, name)(selected, means)
        for name in tolerant:
            assert getattr(row, name) == getattr(metrics, name)(selected, means, epsilon)
    assert frame["certified"].any() and not frame["certified"].all()


def test_a_frame_without_checkpoints_has_a_row_for_each_play():
    reps = topk.replicate(topk.SAR(1, 60), topk.BernoulliBandit([0.9, 0.5, 0.1]), runs=5)
    frame = reps.frame()
    assert len(frame) == 5 and frame["checkpoint"].isna().all()
    assert frame["pulls_used"].tolist() == reps.total_pulls.tolist()
    for epsilon in (-0.1, 1.0, np.nan, "0.1", [0.1], True):
        with pytest.raises(ValueError, match=r"\bepsilon\b"):
            reps.frame(epsilon=epsilon)


def test_frames_and_summaries_of_several_bandits():
    """A frame has a row for each bandit; a summary counts plays, wrong if one bandit is."""
    means = np.array([[0.9, 0.5, 0.1], [0.3, 0.8, 0.7]])
    strategy, marks = topk.MultiBanditUGapEc(2, epsilon=0.3, delta=0.2), [6, 20, 10_000]
    for arms in (topk.MultiBandit(means), lambda rng: topk.MultiBandit(rng.random((2, 3)))):
        given = {"runs": 40, "seed": 1, "checkpoints": marks}
        reps = topk.replicate(strategy, arms, **given)
        frame = reps.frame(epsilon=0.1)
        assert frame["bandit"].tolist() == [0, 1] * 120
        for row in frame.itertuples():
            play, point = row.Index // 6, row.Index // 2 % 3
            own = (reps.means if reps.means.ndim == 2 else reps.means[play])[row.bandit]
            selected = reps.selected[play, point, row.bandit]
            assert (row.run, row.checkpoint) == (play, marks[point])
            assert row.simple_regret == metrics.simple_regret(selected, own)
            assert row.misidentified == metrics.misidentified(selected, own)
            assert row.explore_m == metrics.explore_m(selected, own, 0.1)
        found = topk.replicate(strategy, arms, keep="summary", epsilon=0.1, chunk=7, **given)
        plays = frame.groupby(["checkpoint", "run"])
        regret = plays.aggregate_regret.mean().groupby("checkpoint").mean()
        np.testing.assert_allclose(found.mean("aggregate_regret"), regret)
        failures = found.failures().set_index(["failure", "checkpoint"])["count"]
        wrong = plays.misidentified.any().groupby("checkpoint").sum()
        assert failures["misidentified"].tolist() == wrong.tolist()
        missed = (~plays.explore_m.all()).groupby("checkpoint").sum()
        assert failures["not explore_m"].tolist() == missed.tolist()
        assert found.pulls.tolist() == reps.pulls.sum(axis=0).tolist()
        counts = (reps.selected[..., None] == np.arange(3)).sum(axis=(0, 3))
        assert found.chosen.tolist() == counts.tolist()


# Summaries


@pytest.mark.parametrize("held", [2**18, 1, 7 * (3 * 3 + 2 * 12)])  # all at once, one, seven
@pytest.mark.parametrize("bandit", [BANDIT, draw], ids=["same", "drawn"])
@pytest.mark.parametrize("checkpoints", [None, MARKS])
def test_a_summary_agrees_with_all_plays(bandit, checkpoints, held, monkeypatch):
    monkeypatch.setattr(simulate, "HELD", held)
    plays, summary = both(bandit=bandit, checkpoints=checkpoints)
    frame, points = plays.frame(epsilon=0.15), len(checkpoints or [0])
    assert summary.runs == 60 and summary.checkpoints == tuple(checkpoints or ())
    assert np.array_equal(summary.pulls, plays.pulls.sum(axis=0))
    chosen = (plays.selected[..., None] == np.arange(12)).sum(axis=(0, 2))
    assert np.array_equal(summary.chosen, chosen)
    shown = summary.frame(quantiles=[0.25]).set_index("measure")
    assert [*shown] == ["checkpoint", "mean", "sd", "least", "q0.25", "most"]
    for measure, kept in summary.values.items():
        values = frame[measure].to_numpy(float).reshape(60, points)
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


def test_failures_are_counted_with_exact_intervals():
    plays, summary = both()
    frame, failures = plays.frame(epsilon=0.15), summary.failures(level=0.9)
    wanted = {"misidentified": frame["misidentified"], "uncertified": ~frame["certified"]}
    wanted |= {f"not {name}": ~frame[name] for name in TOLERANT}
    assert failures["failure"].tolist() == [name for name in wanted for _ in MARKS]
    assert failures["checkpoint"].tolist() == MARKS * len(wanted)
    counts = np.concatenate([np.reshape(v, (60, 3)).sum(axis=0) for v in wanted.values()])
    assert failures["count"].tolist() == counts.tolist() and len(set(counts)) > 5
    for row in failures.itertuples():
        interval = binomtest(row.count, 60).proportion_ci(0.9, method="exact")
        assert row.share == row.count / 60
        assert (row.low, row.high) == pytest.approx((interval.low, interval.high), abs=1e-12)
    without = both(epsilon=None)[1]
    assert set(without.failures()["failure"]) == {"misidentified", "uncertified"}


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


def test_one_play_has_no_spread():
    assert math.isnan(summary_of([0.3]).frame()["sd"][0])


@pytest.mark.slow
@pytest.mark.skipif(not Path("/proc/self/status").exists(), reason="needs Linux to measure memory")
def test_a_summary_takes_at_most_64_bytes_a_play_and_checkpoint():
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
