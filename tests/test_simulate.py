"""Many plays: each its own, whoever plays it, whatever else is asked for."""

import math
import os
import signal
import subprocess
import sys
import time
from collections import Counter
from dataclasses import dataclass
from fractions import Fraction
from functools import cache, partial
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from strategies.plain import BigBatches, Doubling
from strategies.registry import ENTRIES, cases, random_bandit, real_bandit, zero_one_bandit

import topk
from topk import simulate
from topk.play import water_fill
from topk.simulate import Cut, each

ROOT = Path(topk.__file__).parents[1]
each_strategy = pytest.mark.parametrize("entry", ENTRIES, ids=lambda e: e.name)
ARRAYS = "selected", "pulls", "sums", "total_pulls", "certified", "means"
TWO = topk.BernoulliBandit([0.3, 0.6])


def short(entry, seed, sizes=(3, 6)):
    """Return a strategy, a bandit and a generator, for a play of at most 20,000 pulls."""
    for strategy, bandit, rng in cases(entry, 1000, seed=seed, sizes=sizes):
        least = 2 * entry.starts * bandit.n
        if least < topk.run(strategy, bandit).total_pulls < 20_000:
            return strategy, bandit, rng
    raise AssertionError("no short play")


def played_by(kind, monkeypatch):
    """Let others play all but the first portion, however short the study; None for nobody."""
    monkeypatch.setattr(simulate, "TRIAL", 0)
    monkeypatch.setattr(simulate, "helpers", lambda *_: kind)


# Shapes, independence of plays


@each_strategy
def test_the_arrays_of_replications(entry):
    strategy, bandit, _ = short(entry, 31)
    reps = topk.replicate(strategy, bandit, runs=6, seed=3)
    shape = bandit.means.shape
    assert reps.selected.shape == (6, 1, *shape[:-1], strategy.k)
    assert reps.pulls.shape == reps.sums.shape == (6, *shape)
    assert reps.total_pulls.shape == reps.certified.shape == (6,)
    dtypes = [getattr(reps, name).dtype for name in ARRAYS]
    assert dtypes == [np.int64, np.int64, np.float64, np.int64, np.bool_, np.float64]
    assert reps.total_pulls.tolist() == reps.pulls.reshape(6, -1).sum(axis=1).tolist()
    assert (np.diff(reps.selected) > 0).all() and reps.checkpoints == ()
    assert reps.means.tolist() == bandit.means.tolist()


@each_strategy
def test_play_r_does_not_depend_on_how_many_there_are_nor_on_portions(entry):
    strategy, bandit, _ = short(entry, 32)
    many = topk.replicate(strategy, bandit, runs=13, seed=5)
    for runs, chunk in [(1, None), (4, 1), (7, 3), (12, 100)]:
        few = topk.replicate(strategy, bandit, runs=runs, seed=5, chunk=chunk)
        for name in ARRAYS[:-1]:
            assert np.array_equal(getattr(few, name), getattr(many, name)[:runs])
    other = topk.replicate(strategy, bandit, runs=13, seed=6)
    assert not np.array_equal(many.sums, other.sums) or set(bandit.means.flat) <= {0.0, 1.0}


@each_strategy
def test_play_0_is_run_and_plays_differ(entry):
    strategy, bandit, _ = short(entry, 33)
    bandit = zero_one_bandit(np.full((*bandit.means.shape[:-1], 6), 0.5))
    reps = topk.replicate(strategy, bandit, runs=5, seed=2**63)
    outcome = topk.run(strategy, bandit, rng=2**63)
    assert outcome.sums.tolist() == reps.sums[0].tolist()
    assert outcome.selected.tolist() == reps.selected[0, 0].tolist()
    assert len({row.tobytes() for row in reps.sums}) == 5


# Who plays


@each_strategy
def test_threads_play_the_same(entry, monkeypatch):
    strategy, bandit, rng = short(entry, 34)
    played_by("threads", monkeypatch)
    for arms in (bandit, real_bandit(bandit.layout, rng, low=0.2, scale=1)):
        alone = topk.replicate(strategy, arms, runs=9, seed=7, jobs=1)
        assert alone == topk.replicate(strategy, arms, runs=9, seed=7, jobs=3, chunk=2)


RTE = topk.instances.rte_workers()
STUDIES = {
    "sar": (topk.SAR(20, budget=1640), RTE, {}),
    "lucb": (topk.LUCB1(20, epsilon=0.1, delta=0.1, budget=900), RTE, {"checkpoints": [200, 850]}),
    "drawn": (topk.Uniform(3, budget=500), partial(topk.instances.unif01, 30), {}),
    "plain": (Doubling(2, budget=30), topk.BetaBandit([1, 2, 3, 4], [4, 3, 2, 1]), {}),
    "given": (
        topk.SAR(2, budget=90),
        [topk.BernoulliBandit(np.roll(np.linspace(0, 1, 8), i)) for i in range(23)],
        {},
    ),
}


@cache
def reference(name, keep):
    strategy, bandit, options = STUDIES[name]
    return topk.replicate(strategy, bandit, 23, seed=4, jobs=1, keep=keep, **options)


@pytest.mark.parametrize("keep", ["plays", "summary"])
@pytest.mark.parametrize("name", STUDIES)
@pytest.mark.parametrize("chunk", [1, 7, None])
@pytest.mark.parametrize("kind", [None, "threads", "processes"])
def test_same_arrays_whoever_plays(monkeypatch, kind, chunk, name, keep):
    wanted, asked = reference(name, keep), []
    strategy, bandit, options = STUDIES[name]
    played_by(kind, monkeypatch)
    helped = simulate._helped
    monkeypatch.setattr(simulate, "_helped", lambda *a: asked.append(a[-1]) or helped(*a))
    reps = topk.replicate(
        strategy, bandit, 23, seed=4, jobs=2, chunk=chunk, keep=keep, **options
    )
    assert reps == wanted and asked == ([kind] if kind else [])


@pytest.mark.parametrize("lanes", [1, 2, 16])
@pytest.mark.parametrize("seconds", [1e-5, 1e-3, 0.3, 20.0])
def test_portions_cover_everything_once_and_take_about_a_second(lanes, seconds):
    plays, taken = int(60 / seconds) + lanes, []
    missing = [(0, 1), (5, 5), (5, 300), (300, 301), (1000, 1000 + plays)]
    cut, seen = Cut(missing, None, lanes), []
    for begin, end in cut:
        seen.append((begin, end))
        taken.append((end - begin) * seconds)
        cut.note(end - begin, taken[-1])
    assert cut.left == 0
    covered = [play for span in missing for play in range(*span)]
    assert [play for span in seen for play in range(*span)] == covered
    sizes = [end - begin for begin, end in seen]
    assert sizes[0] == 1 and max(taken) <= max(1.0, seconds)
    assert all(size <= 8 * before for before, size in zip(sizes, sizes[1:], strict=False))
    if lanes == 1 and seconds < 1:
        assert sum(time for time in taken if time > 0.6) > 50
    if lanes > 1:  # they end together
        assert taken[-1] <= max(0.1, seconds)


def test_portions_of_a_given_size():
    assert [*Cut([(3, 20), (21, 22)], 7, 4)] == [(3, 10), (10, 17), (17, 20), (21, 22)]


@pytest.mark.parametrize("fused, seconds, left, wanted", [
    (True, 0.01, 1000, "threads"),
    (True, 0.01, 9, None),  # not worth a pool
    (True, 1e-4, 100_000, "processes"),  # threads would wait for one another
    (False, 0.01, 1000, "processes"),
    (False, 0.01, 100, None),  # a second is left: not worth starting processes
    (True, 0.01, 0, None),
])  # fmt: skip
def test_who_helps(fused, seconds, left, wanted):
    assert simulate.helpers(fused, seconds, left) == wanted


def test_topk_jobs_stands_in_for_jobs(monkeypatch):
    for text, jobs in (("3", 3), ("", 1)):
        monkeypatch.setenv("TOPK_JOBS", text)
        assert simulate.check_jobs(None) == jobs and simulate.check_jobs(2) == 2
    for wrong in ("0", "-1", "many", "1.5"):
        monkeypatch.setenv("TOPK_JOBS", wrong)
        with pytest.raises(ValueError, match=r"\bjobs\b"):
            topk.replicate(topk.Uniform(1, budget=100), TWO, runs=3)


@pytest.mark.parametrize("options", [
    *({"jobs": jobs} for jobs in (0, -1, 1.5, True, "two", object())),
    {"chunk": 0}, {"chunk": 1.5}, {"keep": "nothing"}, {"store": ""}, {"store": 3},
    {"epsilon": 0.1}, {"epsilon": 1.0, "keep": "summary"}, {"epsilon": "small", "keep": "summary"},
], ids=str)  # fmt: skip
def test_bad_arguments_are_refused_by_name(options):
    with pytest.raises(ValueError, match=rf"\b{next(iter(options))}\b"):
        topk.replicate(topk.Uniform(1, budget=9), TWO, 2, **options)


def test_a_bar_changes_nothing(capsys):
    strategy = topk.Uniform(1, budget=100)
    silent = topk.replicate(strategy, TWO, runs=5)
    assert capsys.readouterr().err == ""  # no terminal, no bar
    assert silent == topk.replicate(strategy, TWO, runs=5, progress=True)
    assert "5/5" in capsys.readouterr().err


def python(code, *arguments, **options):
    """Start Python with this library on its path."""
    environment = os.environ | {"PYTHONPATH": str(ROOT)}
    command = [sys.executable, "-c", code, *arguments]
    return subprocess.Popen(command, env=environment, text=True, stdout=subprocess.PIPE, **options)


def test_nothing_of_a_cluster_is_imported_without_one():
    code = """
import sys, topk
topk.replicate(topk.Uniform(1, budget=9), topk.BernoulliBandit([0, 1]), 9)
print({"dask", "distributed"} & set(sys.modules))
"""
    assert python(code).communicate()[0] == "set()\n"


def one_study(k, seed):
    return topk.replicate(topk.SAR(k, 60), topk.BernoulliBandit([0.8, 0.5, 0.2]), 9, seed, jobs=1)


@pytest.mark.parametrize("jobs", ["1", "2"])
def test_many_short_studies_side_by_side(jobs, monkeypatch):
    monkeypatch.setenv("TOPK_JOBS", jobs)
    items = [(k, seed) for seed in range(4) for k in (1, 2)]
    assert each(one_study, items) == [one_study(*item) for item in items]
    with pytest.raises(ValueError, match="^task"):
        each("play", [(1,)])


# Errors and interruption


def broken(rng):
    if rng.random() < 0.2:
        raise ArithmeticError("this instance cannot be made")
    return TWO


@pytest.mark.parametrize("kind", ["threads", "processes"])
def test_errors_of_helpers_reach_the_caller(monkeypatch, kind):
    played_by(kind, monkeypatch)
    strategy = topk.Uniform(1, budget=9)
    with pytest.raises(ArithmeticError, match="cannot be made"):
        topk.replicate(strategy, broken, 50, jobs=2, chunk=2)
    assert topk.replicate(strategy, TWO, 5, jobs=2, chunk=1).pulls.sum() == 45


def deadly(driver, rng):
    if os.getpid() != driver:
        os.kill(os.getpid(), signal.SIGKILL)
    return TWO


@pytest.mark.slow
def test_a_killed_process_is_reported_and_the_next_study_plays(monkeypatch):
    played_by("processes", monkeypatch)
    strategy = topk.Uniform(1, budget=9)
    with pytest.raises(RuntimeError, match="was killed.*fewer jobs.*store"):
        topk.replicate(strategy, partial(deadly, os.getpid()), 50, jobs=2, chunk=2)
    assert topk.replicate(strategy, TWO, 5, jobs=2, chunk=1).pulls.sum() == 45


# Plays without an end, but for the first; each says which process plays it as it begins. A shell's
# background jobs, and with them their children, begin with Ctrl-C ignored.
ENDLESS = """
import os, signal, sys, threading, time, topk
signal.signal(signal.SIGINT, signal.default_int_handler)
from topk import simulate
from topk.streams import INSTANCE, stream
kind, jobs = sys.argv[1], 1 if sys.argv[1] == "alone" else 2
simulate.TRIAL, simulate.helpers = 0, lambda *_: kind
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
    deadline = time.monotonic() + 30  # nobody plays on behind the caller's back
    while any("worker" in t.name for t in threading.enumerate()) and time.monotonic() < deadline:
        time.sleep(0.1)
    print("stopped" if time.monotonic() < deadline else "still playing", flush=True)
"""


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["alone", "threads", "processes"])
def test_ctrl_c(kind):
    """Without it these plays would go on for ever."""
    with python(ENDLESS, kind, stderr=subprocess.DEVNULL) as child:
        try:
            for _ in range(1 if kind == "alone" else 2):
                child.stdout.readline()
            time.sleep(1.0)  # inside compiled code, unless the machine is very busy
            child.send_signal(signal.SIGINT)
            assert child.communicate(timeout=60)[0] == "stopped\n" and child.returncode == 0
        finally:
            child.kill()


@pytest.mark.slow
def test_processes_end_with_a_killed_driver():
    """Nothing is left behind that would play for ever."""
    psutil = pytest.importorskip("psutil")
    with python(ENDLESS, "processes", stderr=subprocess.DEVNULL) as child:
        try:
            helping = [psutil.Process(int(child.stdout.readline())) for _ in range(2)]
        finally:
            child.kill()
    assert len({process.pid for process in helping} | {child.pid}) == 3
    assert psutil.wait_procs(helping, timeout=60)[1] == []


class Interrupt(Exception):
    pass


@pytest.mark.parametrize("form", ["run", "replicate"])
def test_an_endless_play_can_be_interrupted(form):
    """epsilon = 0 and a tie at the boundary: no end; compiled code has to come back.

    Signal handlers run when it does.  Times are the process's own, so that other work on
    the machine does not count.
    """
    strategy, bandit = topk.LUCB1(1, epsilon=0, delta=0.1), topk.BernoulliBandit([0.5] * 40)
    topk.run(topk.LUCB1(1, epsilon=0, delta=0.1, budget=100), bandit)  # compile
    begin, back = time.process_time(), []

    def interrupt(number, frame):
        back.append(time.process_time() - begin)
        if back[-1] > 1.2:
            raise Interrupt

    old = signal.signal(signal.SIGALRM, interrupt)
    try:
        signal.setitimer(signal.ITIMER_REAL, 0.01, 0.01)
        with pytest.raises(Interrupt):
            if form == "run":
                topk.run(strategy, bandit)
            else:
                topk.replicate(strategy, bandit, runs=2)
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, old)
    # 0.2 s are promised; the first entry is the first time that the clock is looked at
    assert max(np.diff(back)) < 0.3


# A bandit for each play


def three_arms(rng):
    return topk.BernoulliBandit(rng.random(3))


@each_strategy
def test_a_sequence_of_bandits_is_one_for_each_play(entry):
    strategy, bandit, rng = short(entry, 35)
    bandits = [random_bandit(bandit.layout, rng) for _ in range(4)]
    reps = topk.replicate(strategy, bandits, runs=4, seed=8)
    assert reps.means.tolist() == [b.means.tolist() for b in bandits]
    for play, own in enumerate(bandits):
        row = topk.replicate(strategy, own, runs=play + 1, seed=8)
        assert row.pulls[play].tolist() == reps.pulls[play].tolist()
        assert row.sums[play].tolist() == reps.sums[play].tolist()
        assert row.selected[play].tolist() == reps.selected[play].tolist()
    assert reps == topk.replicate(strategy, tuple(bandits), runs=4, seed=8, chunk=1)


def test_a_function_draws_a_fresh_bandit_for_each_play():
    strategy = topk.SAR(1, budget=60)
    reps = topk.replicate(strategy, three_arms, runs=6, seed=9)
    assert reps.means.shape == (6, 3) and len(np.unique(reps.means)) == 18
    more = topk.replicate(strategy, three_arms, runs=8, seed=9)
    assert more.means[:6].tolist() == reps.means.tolist()
    assert more.sums[:6].tolist() == reps.sums.tolist()
    given = [topk.BernoulliBandit(means) for means in reps.means]
    assert reps == topk.replicate(strategy, given, runs=6, seed=9)  # rewards do not depend on it


# Checkpoints

ANYTIME = [entry for entry in ENTRIES if entry.strategy.anytime]


@pytest.mark.parametrize("entry", ANYTIME, ids=lambda e: e.name)
def test_checkpoints_never_change_a_play(entry):
    done = 0
    for strategy, bandit, rng in cases(entry, 60, seed=36, sizes=(2, 3, 6)):
        if done % 3 == 2:
            bandit = real_bandit(bandit.layout, rng, low=0.2, scale=1)
        seed = int(rng.integers(2**32))
        plain = topk.replicate(strategy, bandit, runs=2, seed=seed)
        if plain.total_pulls.max() > 50_000:
            continue
        done += 1
        marks = rng.integers(bandit.n, plain.total_pulls.max() + 20, rng.integers(1, 6))
        marks = sorted({bandit.n, *marks.tolist()})
        reps = topk.replicate(strategy, bandit, runs=2, seed=seed, checkpoints=marks)
        assert reps.selected.shape == (2, len(marks), *bandit.means.shape[:-1], strategy.k)
        assert reps.checkpoints == tuple(marks)
        for name in ARRAYS[1:]:
            assert np.array_equal(getattr(reps, name), getattr(plain, name))
        for play, total in enumerate(plain.total_pulls):
            for j, mark in enumerate(marks):
                if mark >= total:  # after the end the final set is repeated
                    assert reps.selected[play, j].tolist() == plain.selected[play, 0].tolist()
        one = topk.replicate(strategy, bandit, runs=2, seed=seed, checkpoints=marks[-1:])
        if not isinstance(bandit, topk.BernoulliBandit) or reps.total_pulls.max() <= marks[-1]:
            # other marks draw nothing that this one needs
            assert one.selected[:, 0].tolist() == reps.selected[:, -1].tolist()
    assert done >= 30


def best(k, pulls, sums, order):
    """The k largest means; ties to the lower index in the strategy's own order."""
    place = np.argsort(order)  # arm order[j] of the bandit is the strategy's arm j
    keys = {a: (-Fraction(int(sums[a]), int(pulls[a])), place[a]) for a in range(pulls.size)}
    return sorted(sorted(keys, key=keys.get)[:k])


def test_sets_at_checkpoints_are_those_of_a_literal_replay():
    """LUCB1: rewards one by one from the trace, up to the checkpoint; then the k best."""
    entry = next(entry for entry in ENTRIES if entry.strategy is topk.LUCB1)
    compared = 0
    for strategy, bandit, rng in cases(entry, 60, seed=37, sizes=(2, 3, 6)):
        seed, n = int(rng.integers(2**32)), bandit.n
        arms, rewards = topk.run(strategy, bandit, rng=seed, trace=True).trace
        marks = list(range(n, min(arms.size, n + 150) + 1))
        reps = topk.replicate(strategy, bandit, runs=1, seed=seed, checkpoints=marks)
        order, _ = topk.streams(seed, 0, n)
        for j, mark in enumerate(marks):
            pulls = np.bincount(arms[:mark], minlength=n)
            sums = np.bincount(arms[:mark], rewards[:mark], minlength=n)
            assert reps.selected[0, j].tolist() == best(strategy.k, pulls, sums, order), mark
            compared += 1
    assert compared > 1000


@given(st.lists(st.integers(0, 9), min_size=1, max_size=8), st.data())
def test_water_fill_hands_out_one_pull_at_a_time(counts, data):
    pulls = data.draw(st.integers(0, sum(counts)))
    part, left = [0] * len(counts), pulls
    while left:  # the plain form: round and round, in order
        for j, room in enumerate(counts):
            if left and part[j] < room:
                part[j] += 1
                left -= 1
    assert water_fill(np.array(counts), pulls).tolist() == part


@given(st.lists(st.integers(0, 2**40), min_size=1, max_size=8), st.data())
def test_water_fill_of_large_batches_is_even(counts, data):
    counts = np.array(counts)
    pulls = data.draw(st.integers(0, int(counts.sum())))
    before = counts.copy()
    part = water_fill(counts, pulls)
    assert part.sum() == pulls and (part >= 0).all() and (part <= counts).all()
    assert np.array_equal(counts, before)
    short = part < counts  # an entry that got less than its count is at the water level
    if short.any():
        assert part.max(initial=0) <= part[short].min() + 1


LOOKED = []


@dataclass(frozen=True)
class Looking(BigBatches):
    """Writes down what it is shown whenever a set is asked for."""

    def recommend(self, view):
        LOOKED.append((view.total, view.pulls.copy(), view.sums.copy()))
        return super().recommend(view)


@pytest.mark.parametrize("law", ["bernoulli", "beta"])
def test_a_checkpoint_inside_a_batch_shows_an_even_part_of_it(law):
    for seed in range(12):
        rng = np.random.default_rng(seed)
        n = int(rng.integers(2, 7))
        bandit = topk.BernoulliBandit(rng.random(n))
        if law == "beta":
            bandit = topk.BetaBandit(0.2 + rng.random(n), 0.2 + rng.random(n))
        strategy = Looking(1, size=int(rng.integers(5, 60)), batches=3)
        LOOKED.clear()
        plain = topk.replicate(strategy, bandit, runs=1, seed=seed, jobs=1)
        marks = sorted({*rng.integers(n, plain.total_pulls[0] + 1, 8).tolist()})
        LOOKED.clear()
        reps = topk.replicate(strategy, bandit, runs=1, seed=seed, checkpoints=marks, jobs=1)
        same_but_sets = [name for name in ARRAYS if name != "selected"]
        assert all(
            np.array_equal(getattr(reps, x), getattr(plain, x)) for x in same_but_sets
        )
        order, stream = topk.streams(seed, 0, n)
        seen = {total: (pulls, sums) for total, pulls, sums in LOOKED}
        assert set(marks) <= set(seen)
        # the same play by hand, batch by batch, keeping single rewards where there are any
        session = strategy.start(n)
        pulls, sums = np.zeros(n, int), np.zeros(n)
        while not session.done:
            arms, counts = session.ask()
            state = stream.bit_generator.state
            rewards = bandit.pull(order[arms], counts, stream)
            inside = [m for m in marks if pulls.sum() < m < pulls.sum() + counts.sum()]
            previous = np.zeros(arms.size, int), np.zeros(arms.size)
            for mark in inside:
                part = water_fill(counts, mark - pulls.sum())
                shown_pulls, shown_sums = seen[mark]
                assert (shown_pulls[arms] - pulls[arms]).tolist() == part.tolist()
                gained = shown_sums[arms] - sums[arms]
                more = part - previous[0]
                if law == "bernoulli":
                    # parts grow: no reward is taken back, none counted twice
                    assert ((gained >= previous[1]) & (gained <= previous[1] + more)).all()
                    assert (gained <= rewards.sums).all()
                    assert (part - gained <= counts - rewards.sums).all()
                else:
                    twin = np.random.Generator(np.random.PCG64())
                    twin.bit_generator.state = state
                    singles = [
                        bandit.sample(order[a], c, twin)
                        for a, c in zip(arms, counts, strict=True)
                    ]
                    first = [math.fsum(x[:c]) for x, c in zip(singles, part, strict=True)]
                    assert shown_sums[arms].tolist() == (sums[arms] + first).tolist()
                previous = part, gained
            session.tell(arms, rewards.sums, counts=counts, squares=rewards.squares)
            pulls[arms] += counts
            sums[arms] += rewards.sums


def test_the_part_of_a_batch_that_a_checkpoint_shows_is_a_random_one():
    """Sums of parts are hypergeometric given those of the batch.

    400 plays; the part's successes less their expectation are a sum of 400 independent
    terms in [-10, 10]: it passes the limit with probability 1e-9 (Hoeffding).
    """
    runs, size, part = 400, 30, 10
    strategy, bandit = Looking(1, size=size - 1, batches=2), topk.BernoulliBandit([0.5, 0.5])
    total = Counter()
    for seed in range(runs):
        LOOKED.clear()
        # the second batch: 30 pulls of arm 1, then 15 of arm 0, of which 2 * 10 are shown
        topk.replicate(strategy, bandit, runs=1, seed=seed, checkpoints=[2 + 2 * part], jobs=1)
        shown = next(sums for mark, _, sums in LOOKED if mark == 2 + 2 * part)
        order, stream = topk.streams(seed, 0, 2)
        first = bandit.pull(order, [1, 1], stream).sums
        session = strategy.start(2).tell([0, 1], first)
        arms, counts = session.ask()
        batch = bandit.pull(order[arms], counts, stream).sums
        for arm, count, ones in zip(arms, counts, batch, strict=True):
            gained = shown[arm] - first[arm]
            total[int(arm)] += gained - part * ones / count
            total["spread"] += (gained - part * ones / count) ** 2
    limit = math.sqrt(2 * runs * 100 * math.log(2 / 1e-9))
    assert max(abs(total[0]), abs(total[1])) < limit
    # taking the ones first, or the zeros first, would shift every play by about 3
    assert total["spread"] / (2 * runs) < 4


@pytest.mark.parametrize(
    "checkpoints",
    [[3], [0], [-5], [9, 9], [9, 8], [5, 7, 6], [], [9.0], [9.5], ["9"], [None], [True],
     "9", [[9, 10]], [np.nan], [[9], [10, 11]], [2**63], [10**30], 9.5],
    ids=str,
)  # fmt: skip
def test_wrong_checkpoints_are_refused_before_any_work(checkpoints):
    strategy = topk.LUCB1(1, epsilon=0.9, delta=0.9)
    bandit = topk.BernoulliBandit([0.9, 0.1, 0.5, 0.4])
    with pytest.raises(ValueError, match=r"\bcheckpoints\b"):
        topk.replicate(strategy, bandit, runs=2, checkpoints=checkpoints)


@each_strategy
def test_checkpoints_need_a_strategy_that_does_not_depend_on_its_budget(entry):
    strategy, bandit, _ = short(entry, 38)
    if strategy.anytime:
        topk.replicate(strategy, bandit, runs=1, checkpoints=[bandit.n])
    else:
        with pytest.raises(ValueError, match=r"\bcheckpoints\b"):
            topk.replicate(strategy, bandit, runs=1, checkpoints=[bandit.n])


def test_checkpoints_may_be_any_integers():
    strategy, bandit = topk.LUCB1(1, 0.9, 0.9), topk.BernoulliBandit([0.9, 0.1])
    plain = topk.replicate(strategy, bandit, runs=2, checkpoints=[4, 6])
    for marks in ((4, 6), np.array([4, 6]), np.array([4, 6], dtype=np.uint8), range(4, 7, 2)):
        assert plain == topk.replicate(strategy, bandit, runs=2, checkpoints=marks)


def test_several_bandits_are_put_in_a_random_order_and_so_are_their_arms():
    orders = np.array([topk.streams(3, play, (3, 4))[0] for play in range(600)]).reshape(-1, 3, 4)
    assert (orders // 4 == orders[:, :, :1] // 4).all()  # bandits stay together
    assert (np.sort(orders.reshape(600, -1)) == np.arange(12)).all()
    # each of 57 shares is off by 0.12 with probability below 2 exp(-17), Hoeffding
    for bandit in range(3):
        first = np.bincount(orders[:, bandit, 0] // 4, minlength=3) / 600
        assert np.abs(first - 1 / 3).max() < 0.12
        for place in range(4):
            share = np.bincount(orders[:, bandit, place] % 4, minlength=4) / 600
            assert np.abs(share - 1 / 4).max() < 0.12


def test_strategies_and_bandits_must_suit_each_other():
    one, two = topk.BernoulliBandit([0.9, 0.1]), topk.MultiBandit([[0.9, 0.1], [0.2, 0.3]])
    for strategy, wrong in ((topk.SAR(1, 60), two), (topk.MultiBanditSAR(60), one)):
        for play in (
            lambda s=strategy, b=wrong: topk.run(s, b),
            lambda s=strategy, b=wrong: topk.replicate(s, b, runs=2),
            lambda s=strategy, b=wrong: topk.replicate(s, [b] * 2, runs=2),
        ):
            with pytest.raises(ValueError, match=r"\bbandit\b"):
                play()
    with pytest.raises(ValueError, match=r"\bbandit\b"):
        topk.replicate(topk.MultiBanditSAR(60), [two, topk.MultiBandit([[0.9, 0.1]])], runs=2)


# Strategies in plain Python


def test_a_plain_python_strategy_runs_everywhere():
    bandit, strategy = topk.BernoulliBandit([0.1, 0.9, 0.2, 0.8]), Doubling(2, budget=2000)
    assert topk.run(strategy, bandit).selected.tolist() == [1, 3]
    reps = topk.replicate(strategy, bandit, runs=3, jobs=2)
    assert reps.selected[:, 0].tolist() == [[1, 3]] * 3
    session = strategy.start(4)
    while not session.done:
        arms, counts = session.ask()
        session.tell(arms, counts * (arms % 2), counts=counts)
    assert session.selected.tolist() == [1, 3]


@dataclass(frozen=True)
class Answers(topk.Strategy):
    """Asks and recommends what it was told to."""

    k: int
    wanted: tuple
    chosen: tuple = (0,)

    def ask(self, view):
        return self.wanted

    def recommend(self, view):
        return list(self.chosen)


@pytest.mark.parametrize(
    "wanted",
    [([0, 0], [1, 1]), ([3], [1]), ([-1], [1]), ([0], [-1]), ([0], [0]), ([0], [1, 1]),
     ([0.5], [1]), ([0], [1.5]), ([0, 1], [1]), (["a"], [1]), ([[0]], [[1]])],
    ids=str,
)  # fmt: skip
def test_a_plain_python_strategy_that_asks_nonsense_is_told_so(wanted):
    bandit = topk.BernoulliBandit([0.5, 0.5, 0.5])
    for play in (
        lambda: topk.run(Answers(1, wanted), bandit),
        lambda: topk.replicate(Answers(1, wanted), bandit, runs=1),
        lambda: Answers(1, wanted).start(3),
    ):
        with pytest.raises(ValueError, match=r"Strategy\.ask"):
            play()


@pytest.mark.parametrize("chosen", [(), (0, 1), (3,), (-1,), (0.5,)], ids=str)
def test_a_plain_python_strategy_that_recommends_nonsense_is_told_so(chosen):
    with pytest.raises(ValueError, match=r"Strategy\.recommend"):
        topk.run(Answers(1, ((), ()), chosen), topk.BernoulliBandit([0.5, 0.5, 0.5]))


def test_what_a_plain_python_strategy_remembers_stays_in_its_play():
    bandit, strategy = topk.BernoulliBandit([0.1, 0.9, 0.2, 0.8]), Doubling(1, budget=200)
    first = topk.replicate(strategy, bandit, runs=4, seed=3)
    assert first == topk.replicate(strategy, bandit, runs=4, seed=3)
    assert (first.total_pulls > 4).all()
