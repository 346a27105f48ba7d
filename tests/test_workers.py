"""Who plays, and in what portions, does not matter; and every worker can be stopped."""

import os
import signal
import subprocess
import sys
import threading
import time
from dataclasses import dataclass
from functools import cache, partial
from pathlib import Path

import numpy as np
import pytest

import topk
from topk import workers
from topk.workers import Pacer, Portion, helpers

ROOT = Path(__file__).resolve().parents[1]
COLUMNS = ("selected", "pulls", "sums", "total_pulls", "certified", "means")


@pytest.fixture(autouse=True)
def no_store(monkeypatch):
    monkeypatch.setenv("TOPK_STORE", "off")


@dataclass(frozen=True)
class Alternate(topk.Strategy):
    """A strategy in plain Python: every arm in turn."""

    k: int
    budget: int

    def ask(self, view):
        if view.total >= self.budget:
            return [], []
        return [view.total % view.n], [1]


RTE = topk.instances.rte_workers()
STUDIES = {
    "sar": (topk.SAR(20, budget=1640), RTE, {}),
    "lucb": (topk.LUCB1(20, epsilon=0.1, delta=0.1, budget=900), RTE, {"checkpoints": [200, 850]}),
    "drawn": (topk.Uniform(3, budget=500), partial(topk.instances.unif01, 30), {}),
    "plain": (Alternate(2, budget=30), topk.BetaBandit([1, 2, 3, 4], [4, 3, 2, 1]), {}),
    "given": (
        topk.SAR(2, budget=90),
        [topk.BernoulliBandit(np.roll(np.linspace(0, 1, 8), i)) for i in range(23)],
        {},
    ),
}


@cache
def reference(name):
    strategy, bandit, options = STUDIES[name]
    return topk.replicate(strategy, bandit, 23, seed=4, jobs=1, **options)


def assert_same(reps, wanted):
    for name in COLUMNS:
        a, b = getattr(reps, name), getattr(wanted, name)
        assert a.dtype == b.dtype and np.array_equal(a, b)


@pytest.mark.parametrize("name", STUDIES)
@pytest.mark.parametrize("chunk", [1, 7, None])
@pytest.mark.parametrize("kind", ["alone", "threads", "processes"])
def test_same_arrays(monkeypatch, name, kind, chunk):
    asked, wanted = [], reference(name)
    if kind != "alone":
        monkeypatch.setattr(workers, "helpers", lambda *_: asked.append(kind) or kind)
    strategy, bandit, options = STUDIES[name]
    jobs = 1 if kind == "alone" else 2
    reps = topk.replicate(strategy, bandit, 23, seed=4, jobs=jobs, chunk=chunk, **options)
    assert_same(reps, wanted)
    assert kind == "alone" or asked == [kind]


def test_same_summary(monkeypatch):
    strategy, bandit, options = STUDIES["lucb"]
    frames = []
    for kind, chunk in ((None, 1), (None, 7), ("threads", 1), ("processes", 7), ("threads", None)):
        monkeypatch.setattr(workers, "helpers", lambda *_, kind=kind: kind)
        found = topk.replicate(
            strategy,
            bandit,
            23,
            seed=4,
            jobs=2,
            chunk=chunk,
            keep="summary",
            epsilon=0.1,
            **options,
        )
        arrays = [found.pulls.tolist(), found.chosen.tolist()]
        frames.append(
            (found.frame().to_json(double_precision=15), found.failures().to_json(), arrays)
        )
    assert frames[1:] == frames[:-1]


# Portions


class Clock:
    """Portions that take ``rate(begin)`` seconds a play."""

    def __init__(self, rate):
        self.rate = rate

    def play(self, span):
        seconds = sum(self.rate(play) for play in range(*span))
        return Portion(*span, {}, seconds, 0.0)


@pytest.mark.parametrize("lanes", [1, 2, 16])
@pytest.mark.parametrize("scale", [1e-5, 1e-3, 0.3, 20.0])
def test_portions_cover_everything_once(lanes, scale):
    rng = np.random.default_rng(1)
    missing = [(0, 1), (5, 300), (300, 301), (1000, 9000)]
    clock = Clock(lambda play: scale * rng.exponential())
    pacer, seen = Pacer(missing), []
    pacer.lanes = lanes
    while pacer.left:
        span = pacer.take()
        seen += range(*span)
        pacer.note(clock.play(span))
    assert seen == [play for span in missing for play in range(*span)]


@pytest.mark.parametrize("seconds", [1e-4, 0.01, 0.1, 3.0])
def test_portions_take_about_a_second(seconds):
    """After the first few, and before the last few, which are smaller so that all end together."""
    pacer, sizes = Pacer([(0, int(60 / seconds))]), []
    pacer.lanes = 2
    while pacer.left:
        span = pacer.take()
        sizes.append(span[1] - span[0])
        pacer.note(Clock(lambda play: seconds).play(span))
    wanted = max(1, round(1 / seconds))
    assert sizes[0] == 1 and max(sizes) <= wanted
    assert sum(size >= wanted - 1 for size in sizes) * wanted * seconds >= 50
    assert min(sizes[:-1]) * seconds >= 0.049 or sizes.index(min(sizes)) < 6
    for before, size in zip(sizes, sizes[1:], strict=False):
        assert size <= 8 * max(before, max(sizes[:6]))


def test_fixed_portions():
    pacer, spans = Pacer([(3, 20), (21, 22)], chunk=7), []
    while pacer.left:
        spans.append(pacer.take())
    assert spans == [(3, 10), (10, 17), (17, 20), (21, 22)]


@pytest.mark.parametrize(
    "jobs, rate, unlocked, left, wanted",
    [
        (1, 1.0, 1.0, 1000, None),
        (2, 0.1, 0.0999, 1000, "threads"),  # almost all of it in compiled code
        (2, 0.1, 0.05, 1000, "processes"),
        (8, 0.1, 0.098, 1000, "processes"),  # eight would wait for one another
        (2, 0.1, 0.0999, 0, None),  # nothing left to do
        (2, 1e-4, 5e-5, 1000, None),  # a tenth of a second is left: not worth starting processes
        (2, 1e-4, 5e-5, 100_000, "processes"),
    ],
)
def test_who_plays(jobs, rate, unlocked, left, wanted):
    pacer = Pacer([(0, left)])
    pacer.rate, pacer.spent, pacer.unlocked = rate, 1.0, unlocked / rate
    assert helpers(pacer, jobs) == wanted


# Arguments


@pytest.mark.parametrize("jobs", [0, -1, 1.5, True, "two", object()])
def test_bad_jobs_are_refused(jobs):
    with pytest.raises(ValueError, match="jobs"):
        topk.replicate(topk.Uniform(1, budget=9), topk.BernoulliBandit([0, 1]), 2, jobs=jobs)


def test_jobs_of_the_environment(monkeypatch):
    monkeypatch.setenv("TOPK_JOBS", "3")
    assert workers.check_jobs(None) == 3 and workers.check_jobs(2) == 2
    monkeypatch.setenv("TOPK_JOBS", "")
    assert workers.check_jobs(None) == 1
    monkeypatch.setenv("TOPK_JOBS", "many")
    with pytest.raises(ValueError, match="jobs"):
        workers.check_jobs(None)


@pytest.mark.parametrize("options", [{"chunk": 0}, {"chunk": 1.5}, {"keep": "nothing"}])
def test_bad_arguments_are_refused(options):
    with pytest.raises(ValueError, match=next(iter(options))):
        topk.replicate(topk.Uniform(1, budget=9), topk.BernoulliBandit([0, 1]), 2, **options)


def test_nothing_of_a_cluster_is_imported_without_one():
    code = """
import sys, topk
bandit = topk.BernoulliBandit([0, 1])
topk.replicate(topk.Uniform(1, budget=9), bandit, 9)
print(sorted({"dask", "distributed", "pandas", "matplotlib"} & set(sys.modules)))
"""
    environment = os.environ | {"PYTHONPATH": str(ROOT)}
    found = subprocess.run(
        [sys.executable, "-c", code], env=environment, capture_output=True, text=True, check=True
    )
    assert "distributed" not in found.stdout and "dask" not in found.stdout


# Errors and interruption


def broken(rng):
    if rng.random() < 0.2:
        raise ArithmeticError("this instance cannot be made")
    return topk.BernoulliBandit([0.2, 0.8])


@pytest.mark.parametrize("kind", ["threads", "processes"])
def test_errors_of_workers_reach_the_caller(monkeypatch, kind):
    monkeypatch.setattr(workers, "helpers", lambda *_: kind)
    strategy = topk.Uniform(1, budget=9)
    with pytest.raises(ArithmeticError, match="cannot be made"):
        topk.replicate(strategy, broken, 50, jobs=2, chunk=2)
    two = topk.BernoulliBandit([0.2, 0.8])
    assert topk.replicate(strategy, two, 5, jobs=2, chunk=1).pulls.sum() == 45


# Plays without an end, but for the first; each says which process plays it as it begins. A shell's
# background jobs, and with them their children, begin with Ctrl-C ignored.
ENDLESS = """
import os, signal, sys, topk
signal.signal(signal.SIGINT, signal.default_int_handler)
from topk import workers
from topk.streams import INSTANCE, stream
kind, jobs = sys.argv[1], 1 if sys.argv[1] == "alone" else 2
workers.helpers = lambda *_: None if kind == "alone" else kind
strategy = topk.LUCB1(1, epsilon=0, delta=0.1)  # two equal arms: it never stops
tied = topk.BernoulliBandit([0.5, 0.5, 0.1])
topk.run(topk.LUCB1(1, epsilon=0, delta=0.1, budget=100), tied)

def draw(rng):
    if rng.random() == stream(0, 0, INSTANCE).random():  # also drawn by who looks at the arms
        return topk.BernoulliBandit([1.0, 0.0, 0.0])
    os.write(1, b"%d\\n" % os.getpid())
    return tied

try:
    topk.replicate(strategy, draw, 50, seed=0, jobs=jobs)
except KeyboardInterrupt:
    print("stopped", flush=True)
"""


def start_endless(kind):
    return subprocess.Popen(
        [sys.executable, "-c", ENDLESS, kind],
        env=os.environ | {"PYTHONPATH": str(ROOT)},
        text=True,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
    )


def players(child, count):
    """Wait until so many plays without an end have begun; return the processes that play them."""
    return [int(child.stdout.readline()) for _ in range(count)]


@pytest.mark.parametrize("kind", ["alone", "threads", "processes"])
def test_ctrl_c(kind):
    """Without it these plays would go on for ever."""
    with start_endless(kind) as child:
        try:
            players(child, 1 if kind == "alone" else 2)
            time.sleep(1.0)  # inside compiled code, unless the machine is very busy
            child.send_signal(signal.SIGINT)
            assert child.communicate(timeout=60)[0] == "stopped\n" and child.returncode == 0
        finally:
            child.kill()


def test_processes_end_with_a_killed_driver():
    """Nothing is left behind that would hold memory for ever."""
    psutil = pytest.importorskip("psutil")
    with start_endless("processes") as child:
        try:
            helping = [psutil.Process(pid) for pid in players(child, 2)]
        finally:
            child.kill()
    assert len({process.pid for process in helping} | {child.pid}) == 3
    assert psutil.wait_procs(helping, timeout=60)[1] == []


def test_processes_that_have_not_begun_can_be_given_up(monkeypatch):
    """Ctrl-C may come before a pool's own thread is there, which cannot be waited for then."""

    class Pool:
        def shutdown(self, kill_workers):
            threading.Thread().join()

    monkeypatch.setattr(workers, "_pools", {2: Pool()})
    workers._close_pools()
    assert workers._pools == {}
