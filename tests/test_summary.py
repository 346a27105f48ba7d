"""Summaries: exact, whatever the order and the portions, and small, however many the plays."""

import math
import os
import statistics
import subprocess
import sys
from fractions import Fraction
from pathlib import Path

import numpy as np
import pytest
from scipy.stats import binomtest

import topk
from topk import metrics
from topk.summary import DISTINCT, MEASURES, Distribution, Measures, coarse, whole

ROOT = Path(__file__).resolve().parents[1]
BANDIT = topk.BernoulliBandit(np.linspace(0.9, 0.1, 12))
LUCB = topk.LUCB1(3, epsilon=0.1, delta=0.1, budget=500)
MARKS = [20, 100, 400]


@pytest.fixture(autouse=True)
def no_store(monkeypatch):
    monkeypatch.setenv("TOPK_STORE", "off")


def both(runs=60, strategy=LUCB, bandit=BANDIT, checkpoints=MARKS, epsilon=0.15):
    """Return all plays of a study, and its summary."""
    plays = topk.replicate(strategy, bandit, runs, 3, checkpoints)
    options = {"keep": "summary", "epsilon": epsilon}
    return plays, topk.replicate(strategy, bandit, runs, 3, checkpoints, **options)


def draw(rng):
    return topk.BernoulliBandit(rng.random(12))


@pytest.mark.parametrize("bandit", [BANDIT, draw], ids=["same", "drawn"])
@pytest.mark.parametrize("checkpoints", [None, MARKS])
def test_agrees_with_all_plays(bandit, checkpoints):
    plays, summary = both(bandit=bandit, checkpoints=checkpoints)
    frame, points = plays.frame(epsilon=0.15), len(checkpoints or [0])
    assert summary.runs == 60 and summary.checkpoints == tuple(checkpoints or ())
    assert np.array_equal(summary.pulls, plays.pulls.sum(axis=0))
    for point in range(points):
        chosen = np.bincount(plays.selected[:, point].ravel(), minlength=12)
        assert np.array_equal(summary.chosen[point], chosen)
    for measure in MEASURES:
        values = frame[measure].to_numpy(float).reshape(60, points)
        exact = [sum(map(Fraction, column.tolist())) / 60 for column in values.T]
        assert summary.mean(measure).tolist() == [float(mean) for mean in exact]
        for share in (0, 0.05, 0.5, 0.95, 1):
            wanted = np.quantile(values, share, axis=0, method="inverted_cdf")
            assert np.array_equal(summary.quantile(measure, share), wanted)


@pytest.mark.parametrize("bandit", [BANDIT, draw], ids=["same", "drawn"])
def test_how_many_plays_are_measured_at_once_does_not_matter(bandit, monkeypatch):
    found = []
    for numbers in (2**18, 1, 7 * (3 * 3 + 2 * 12)):  # all plays, one by one, seven by seven
        monkeypatch.setattr(topk.study, "MEASURED_AT_ONCE", numbers)
        found.append(both(bandit=bandit)[1])
    for other in found[1:]:
        for name in ("pulls", "chosen", "failed"):
            assert np.array_equal(getattr(other, name), getattr(found[0], name))
        assert other.frame().equals(found[0].frame())


def test_few_plays_are_held_until_they_are_measured(monkeypatch):
    """However many plays a portion has."""
    held, whole_portion = [], Measures.of
    monkeypatch.setattr(topk.study, "MEASURED_AT_ONCE", 2**10)

    def of(self, rows, *rest):
        held.append(sum(rows[name].size for name in ("selected", "pulls", "sums")))
        return whole_portion(self, rows, *rest)

    monkeypatch.setattr(Measures, "of", of)
    topk.replicate(topk.SAR(3, budget=200), BANDIT, 500, keep="summary", chunk=500)
    assert 2**9 < max(held) <= 2**10


def test_failures_are_counted_with_exact_intervals():
    plays, summary = both()
    frame, failures = plays.frame(epsilon=0.15), summary.failures(level=0.9)
    within = metrics.regret_within(plays.selected, plays.means, 0.15)
    wanted = {
        "misidentified": frame["misidentified"],
        "uncertified": ~frame["certified"],
        "not regret_within": ~within.ravel(),
        "not explore_m": ~frame["explore_m"],
        "not elementwise_optimal": ~frame["elementwise_optimal"],
    }
    assert failures["failure"].tolist() == [name for name in wanted for _ in MARKS]
    assert failures["checkpoint"].tolist() == MARKS * len(wanted)
    counts = np.concatenate([np.reshape(v, (60, 3)).sum(axis=0) for v in wanted.values()])
    assert failures["count"].tolist() == counts.tolist() and len(set(counts)) > 5
    for row in failures.itertuples():
        interval = binomtest(row.count, 60).proportion_ci(0.9, method="exact")
        assert row.share == row.count / 60
        assert (row.low, row.high) == pytest.approx((interval.low, interval.high), abs=1e-12)


def test_frame():
    plays, summary = both()
    frame = summary.frame(quantiles=[0.25])
    assert list(frame) == ["measure", "checkpoint", "mean", "sd", "least", "q0.25", "most"]
    row = frame[(frame["measure"] == "pulls_used") & (frame["checkpoint"] == 400)].iloc[0]
    used = plays.frame().query("checkpoint == 400")["pulls_used"]
    assert (row["least"], row["most"]) == (used.min(), used.max())
    assert row["sd"] == pytest.approx(used.std(), rel=1e-15)


def test_without_epsilon_the_measures_that_need_one_are_left_out():
    _, summary = both(epsilon=None)
    assert set(summary.failures()["failure"]) == {"misidentified", "uncertified"}
    assert summary.epsilon is None


def test_bad_arguments_are_refused_by_name():
    strategy = topk.Uniform(1, budget=20)
    for options, name in (
        ({"keep": "summary", "epsilon": 1.0}, "epsilon"),
        ({"keep": "summary", "epsilon": "small"}, "epsilon"),
        ({"epsilon": 0.1}, "epsilon"),
        ({"keep": "plays", "epsilon": 0.1}, "epsilon"),
        ({"keep": "none"}, "keep"),
    ):
        with pytest.raises(ValueError, match=name):
            topk.replicate(strategy, BANDIT, 5, **options)
    summary = topk.replicate(strategy, BANDIT, 5, keep="summary")
    with pytest.raises(ValueError, match="measure"):
        summary.mean("beauty")
    for share in (-0.1, 1.1, math.nan):
        with pytest.raises(ValueError, match="share"):
            summary.quantile("precision", share)


# Distributions


def distribution(values, sizes):
    found, begin = Distribution(), 0
    for size in sizes:
        found.add(values[begin : begin + size])
        begin += size
    assert begin == len(values)
    return found


def parts(found):
    arrays = found.values.tolist(), found.counts.tolist()
    return found.count, found.least, found.most, found.exact, found.total, found.squares, arrays


VALUES = {
    "few": lambda rng: rng.integers(0, 7, 20_000) / 8,
    "tenths": lambda rng: rng.integers(0, 30, 20_000) / 10,
    "many": lambda rng: rng.random(20_000) ** 9,
    "wide": lambda rng: 10.0 ** rng.uniform(-300, 15, 20_000),
    "large": lambda rng: rng.integers(2**52, 2**53, 20_000).astype(float),
    "close": lambda rng: 1e9 + rng.random(20_000) * 1e-6,
}


@pytest.mark.parametrize("kind", VALUES)
def test_order_and_portions_do_not_matter(kind):
    rng = np.random.default_rng(7)
    values = VALUES[kind](rng)
    whole_at_once = parts(distribution(values, [20_000]))
    assert whole_at_once == parts(distribution(np.sort(values), [20_000]))
    assert whole_at_once == parts(distribution(values[::-1], [1, 7, 4000, 5000, 10_992]))
    assert whole_at_once == parts(distribution(rng.permutation(values), [500] * 40))


@pytest.mark.parametrize("kind", VALUES)
def test_moments_are_exact(kind):
    values = VALUES[kind](np.random.default_rng(8))[:3000]
    found, exact = distribution(values, [1000, 2000]), [Fraction(x) for x in values.tolist()]
    mean = sum(exact) / 3000
    assert found.mean() == float(mean)
    assert found.sd() == math.sqrt(sum((x - mean) ** 2 for x in exact) / 2999)
    assert found.sd() == pytest.approx(statistics.stdev(values.tolist()), rel=1e-12)


@pytest.mark.parametrize("kind", VALUES)
def test_quantiles_are_as_good_as_promised(kind):
    values = VALUES[kind](np.random.default_rng(9))
    found = distribution(values, [9_000, 11_000])
    assert found.exact == (np.unique(values).size <= DISTINCT)
    for share in (0.0, 1e-4, 0.1, 1 / 3, 0.5, 0.999, 1.0):
        true = np.quantile(values, share, method="inverted_cdf")
        got = found.quantile(share)
        assert got == true if found.exact else true * (1 - 2**-10) < got <= true


def test_room_does_not_grow_with_the_plays():
    rng, found, sizes = np.random.default_rng(1), Distribution(), []
    for _ in range(60):
        found.add(0.125 + 0.875 * rng.random(5000))
        sizes.append(found.values.size)
    assert sizes[-1] == max(sizes) == 3 * 1024  # three binary orders of magnitude
    assert found.total.bit_length() < 1200 and found.count == 300_000


def test_one_value():
    found = distribution(np.array([0.3]), [1])
    assert (found.mean(), found.quantile(0), found.quantile(1)) == (0.3, 0.3, 0.3)
    assert math.isnan(found.sd())


def test_whole_and_coarse():
    for value in (0.0, 5e-324, 0.1, 1.0, 1e300):
        assert Fraction(whole(value), 2**1074) == Fraction(value)
    values = np.random.default_rng(2).random(1000)
    assert len({x.hex()[4:] for x in coarse(values)}) <= 1000
    assert (coarse(values) <= values).all() and (coarse(values) > values * (1 - 2**-10)).all()
    assert np.array_equal(coarse(np.arange(2048.0)), np.arange(2048.0))


# Memory


@pytest.mark.skipif(not Path("/proc/self/status").exists(), reason="needs Linux to measure memory")
def test_a_hundred_thousand_plays_stay_small(tmp_path):
    """Uniform sampling and SAR with 100 arms, with a store, below 500 MB."""
    code = '''
import resource
import numpy as np, topk

def peaks_of_driver_and_workers():
    """Kilobytes; a process's own ru_maxrss would begin with that of the program that started it."""
    with open("/proc/self/status") as file:
        own = int(file.read().split("VmHWM:")[1].split()[0])
    return own, resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss

bandit = topk.BernoulliBandit(np.linspace(0.9, 0.1, 100))
peaks = []
for runs in (5000, 100_000):
    for strategy in (topk.Uniform(10, budget=200), topk.SAR(10, budget=200)):
        summary = topk.replicate(strategy, bandit, runs, keep="summary", epsilon=0.1, jobs=2)
        assert summary.runs == runs and summary.mean("pulls_used")[0] <= 200
    peaks.append(peaks_of_driver_and_workers())
print(*np.array(peaks).ravel(), topk.store.info().files)
'''
    environment = os.environ | {"PYTHONPATH": str(ROOT), "TOPK_STORE": str(tmp_path)}
    found = subprocess.run(
        [sys.executable, "-c", code], env=environment, capture_output=True, text=True, check=True
    )
    few, _, many, children, files = map(int, found.stdout.split())
    assert many < 500_000 and children < 500_000  # kilobytes
    assert many - few < 50_000 and files > 0
