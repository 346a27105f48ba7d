"""Replications: independent of workers, chunks and other options."""

import math
import os
import signal
import time
from dataclasses import dataclass
from fractions import Fraction
from functools import cache, partial

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from processes import fresh, running
from strategies.plain import BigBatches, Coin, Doubling
from strategies.registry import ENTRIES, cases, each_strategy, real_bandit, sweep, zero_one_bandit

import topk
from topk.rules import lowest, state
from topk.rules.allocation import water_fill
from topk.rules.search.top_k_scan import TOP_K_SCAN
from topk.rules.search.top_k_trees import TOP_K_TREES
from topk.simulate import run as simulate
from topk.simulate.play import DONE, Play
from topk.simulate.run import Chunks
from topk.simulate.workers import each

ARRAYS = "selected", "pulls", "sums", "total_pulls", "certified", "means"
TWO = topk.BernoulliBandit([0.3, 0.6])


def short(entry, seed, sizes=(3, 6)):
    """Return a strategy, a bandit and a generator, for a run of at most 20,000 pulls."""
    for strategy, bandit, rng in cases(entry, 1000, seed=seed, sizes=sizes):
        pulls = topk.run(strategy, bandit, rng=0).total_pulls
        if 2 * strategy.initial_pulls * bandit.n < pulls < 20_000:
            return strategy, bandit, rng
    raise AssertionError("no short play")


def played_by(kind, monkeypatch):
    """Let workers of one kind (None: no workers) make all but the first chunk."""
    monkeypatch.setattr(simulate, "TRIAL_SECONDS", 0)
    monkeypatch.setattr(simulate, "choose_workers", lambda *_: kind)


# Shapes, independence of runs


@each_strategy
def test_run_r_is_the_same_in_any_study_any_chunk_and_in_threads(entry, monkeypatch):
    strategy, bandit, rng = short(entry, 32)
    shape, k = bandit.means.shape, strategy.k
    many = topk.replicate(strategy, bandit, 13, 2**63, jobs=1)
    arrays = [getattr(many, name) for name in ARRAYS[:-1]]
    shapes = (13, 1, *shape[:-1], k), (13, *shape), (13, *shape), (13,), (13,)
    assert tuple(array.shape for array in arrays) == shapes and many.checkpoints == ()
    dtypes = [array.dtype for array in arrays]
    assert dtypes == [np.int64, np.int64, np.float64, np.int64, np.bool_]
    assert many.total_pulls.tolist() == many.pulls.reshape(13, -1).sum(axis=1).tolist()
    assert (np.diff(many.selected) > 0).all() and many.means.tolist() == bandit.means.tolist()
    for runs, chunk in [(1, None), (7, 3), (12, 100)]:
        few = topk.replicate(strategy, bandit, runs, 2**63, chunk=chunk)
        assert all(np.array_equal(getattr(few, x), getattr(many, x)[:runs]) for x in ARRAYS[:-1])
    if not strategy.anytime:
        with pytest.raises(ValueError, match=r"^checkpoints must be None: the rule of"):
            topk.replicate(strategy, bandit, 1, checkpoints=[bandit.n], seed=0)
    played_by("threads", monkeypatch)
    assert many == topk.replicate(strategy, bandit, 13, 2**63, jobs=3, chunk=2)
    for arms in (real_bandit(bandit.layout, rng, 0.2, 1), zero_one_bandit(np.full(shape, 0.5))):
        alone = topk.replicate(strategy, arms, 9, 7, jobs=1)
        assert alone == topk.replicate(strategy, arms, 9, 7, jobs=3, chunk=2)
        assert len({row.tobytes() for row in alone.sums}) > 1  # runs differ, and so do studies
        assert not np.array_equal(alone.sums, topk.replicate(strategy, arms, 9, 8).sums)


# Workers

RTE = topk.instances.rte_workers()
STUDIES = {
    "sar": (topk.SAR(20, budget=1640), RTE, {}),
    "lucb": (topk.LUCB1(20, epsilon=0.1, delta=0.1, budget=900), RTE, {"checkpoints": [200, 850]}),
    "random": (Coin(2, budget=200, a=0.5), RTE, {}),
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
def test_workers_do_not_change_the_arrays(monkeypatch, kind, chunk, name, keep):
    wanted, asked = reference(name, keep), []
    strategy, bandit, options = STUDIES[name]
    played_by(kind, monkeypatch)
    helped = simulate._run_by_workers
    monkeypatch.setattr(simulate, "_run_by_workers", lambda *a: asked.append(a[-1]) or helped(*a))
    reps = topk.replicate(strategy, bandit, 23, seed=4, jobs=2, chunk=chunk, keep=keep, **options)
    assert reps == wanted and asked == ([kind] if kind else [])


@pytest.mark.parametrize("workers", [1, 2, 16])
@pytest.mark.parametrize("seconds", [1e-5, 1e-3, 0.3, 20.0])
def test_chunks_cover_everything_once_and_take_about_a_second(workers, seconds):
    plays, taken = int(60 / seconds) + workers, []
    missing = [(0, 1), (5, 5), (5, 300), (300, 301), (1000, 1000 + plays)]
    chunks, seen = Chunks(missing, None, workers), []
    for begin, end in chunks:
        seen.append((begin, end))
        taken.append((end - begin) * seconds)
        chunks.adapt(end - begin, taken[-1])
    assert chunks.remaining == 0
    covered = [play for span in missing for play in range(*span)]
    assert [play for span in seen for play in range(*span)] == covered
    sizes = [end - begin for begin, end in seen]
    assert sizes[0] == 1 and max(taken) <= max(1.0, seconds)
    assert all(size <= 8 * before for before, size in zip(sizes, sizes[1:], strict=False))
    if workers == 1 and seconds < 1:
        assert sum(time for time in taken if time > 0.6) > 50
    if workers > 1:  # they end together
        assert taken[-1] <= max(0.1, seconds)
    assert [*Chunks([(3, 20), (21, 22)], 7, workers)] == [(3, 10), (10, 17), (17, 20), (21, 22)]


@pytest.mark.parametrize("fused, seconds, left, wanted", [
    (True, 0.01, 1000, "threads"),
    (True, 0.01, 9, None),  # not worth a pool
    (True, 1e-4, 100_000, "processes"),  # threads would wait for one another
    (False, 0.01, 1000, "processes"),
    (False, 0.01, 100, None),  # a second is left: not worth starting processes
    (True, 0.01, 0, None),
])  # fmt: skip
def test_the_kind_of_workers(fused, seconds, left, wanted):
    assert simulate.choose_workers(fused, seconds, left) == wanted


def test_topk_jobs_is_the_default_of_jobs(monkeypatch):
    for text, jobs in (("3", 3), ("", 1)):
        monkeypatch.setenv("TOPK_JOBS", text)
        assert simulate.check_jobs(None) == jobs and simulate.check_jobs(2) == 2
    for wrong in ("0", "-2", "many", "1.5"):
        monkeypatch.setenv("TOPK_JOBS", wrong)
        with pytest.raises(ValueError, match=r"\bjobs\b"):
            topk.replicate(topk.Uniform(1, budget=100), TWO, runs=3, seed=0)


def test_a_bar_changes_nothing(capsys):
    strategy = topk.Uniform(1, budget=100)
    silent = topk.replicate(strategy, TWO, runs=5, seed=0)
    assert capsys.readouterr().err == ""  # no terminal, no bar
    assert silent == topk.replicate(strategy, TWO, runs=5, progress=True, seed=0)
    assert "5/5" in capsys.readouterr().err


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


def deadly(driver, rng):
    if os.getpid() != driver:
        os.kill(os.getpid(), signal.SIGKILL)
    return TWO


@pytest.mark.parametrize("kind, draw, error, message", [
    ("threads", broken, ArithmeticError, "cannot be made"),
    ("processes", broken, ArithmeticError, "cannot be made"),
    ("processes", partial(deadly, os.getpid()), RuntimeError, "was killed.*fewer jobs.*store"),
], ids=["error in a thread", "error in a process", "killed process"])  # fmt: skip
def test_errors_of_workers_reach_the_caller_and_the_next_study_runs(
    monkeypatch, kind, draw, error, message
):
    played_by(kind, monkeypatch)
    strategy = topk.Uniform(1, budget=9)
    with pytest.raises(error, match=message):
        topk.replicate(strategy, draw, 50, jobs=2, chunk=2, seed=0)
    assert topk.replicate(strategy, TWO, 5, jobs=2, chunk=1, seed=0).pulls.sum() == 45


# Plays without an end, but for the first; each says which process plays it as it begins. A shell's
# background jobs, and with them their children, begin with Ctrl-C ignored.
ENDLESS = """
import os, signal, sys, threading, time, topk
signal.signal(signal.SIGINT, signal.default_int_handler)
from topk.simulate import run as simulate
from topk.simulate.play import Play
from topk.engine.streams import INSTANCE, stream
kind, jobs = sys.argv[1], 1 if sys.argv[1] == "alone" else 2
simulate.TRIAL_SECONDS, simulate.choose_workers = 0, lambda *_: kind
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
    with running(ENDLESS, kind) as child:
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
    with running(ENDLESS, "processes") as child:
        try:
            helping = [psutil.Process(int(child.stdout.readline())) for _ in range(2)]
        finally:
            child.kill()
    assert len({process.pid for process in helping} | {child.pid}) == 3
    assert psutil.wait_procs(helping, timeout=60)[1] == []


class Interrupt(Exception):
    pass


@pytest.mark.filterwarnings("ignore:the means at the boundary")
@pytest.mark.parametrize("law, options", [
    (topk.BernoulliBandit([0.5] * 40), None),
    (topk.BernoulliBandit([0.5] * 40), {}),
    (topk.BetaBandit([1, 1], [1, 1]), None),
    (topk.BetaBandit([1, 1], [1, 1]), {"checkpoints": [10**7]}),
], ids=["run", "replicate", "huge batch", "inside a huge batch"])  # fmt: skip
def test_an_endless_run_can_be_interrupted(law, options, compiled):
    """A tie at the boundary has no end: compiled code has to come back.  So has a huge batch.

    Signal handlers run when it does.  Times are the process's own, so that other work on
    the machine does not count.
    """
    strategy = topk.LUCB1(1, epsilon=0, delta=0.1)
    if isinstance(law, topk.BetaBandit):
        strategy = BigBatches(1, size=10**7)
    else:
        topk.run(topk.LUCB1(1, epsilon=0, delta=0.1, budget=100), law, rng=0)  # compile
    begin, back = time.process_time(), []

    def interrupt(number, frame):
        back.append(time.process_time() - begin)
        if back[-1] > 1.2:
            signal.setitimer(signal.ITIMER_REAL, 0)  # or the next comes while this one is handled
            raise Interrupt

    old = signal.signal(signal.SIGALRM, interrupt)
    try:
        signal.setitimer(signal.ITIMER_REAL, 0.01, 0.01)
        with pytest.raises(Interrupt):
            if options is None:
                topk.run(strategy, law, rng=0)
            else:
                topk.replicate(strategy, law, 2, **options, seed=0)
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, old)
    # 0.2 s are promised; the first entry is the first time that the clock is looked at
    assert max(np.diff(back)) < 0.3


# A bandit for each run


def test_every_run_may_have_its_own_bandit():
    one, several = topk.SAR(1, budget=60), topk.MultiBanditSAR(60)
    for strategy, layout in ((one, 3), (several, (2, 3)), (Doubling(1, 60), 3)):
        draw = lambda rng, layout=layout: zero_one_bandit(rng.random(layout))  # noqa: E731
        reps = topk.replicate(strategy, draw, 6, seed=9)
        assert len(np.unique(reps.means)) == reps.means.size  # drawn for each run
        more = topk.replicate(strategy, draw, 8, seed=9)
        assert more.means[:6].tolist() == reps.means.tolist()
        assert more.sums[:6].tolist() == reps.sums.tolist()
        given = tuple(zero_one_bandit(means) for means in reps.means)
        assert reps == topk.replicate(strategy, given, 6, seed=9, chunk=1)
        for play, own in enumerate(given):  # the rewards do not depend on how it came about
            row = topk.replicate(strategy, own, play + 1, seed=9)
            for name in ARRAYS[:-1]:
                assert np.array_equal(getattr(row, name)[play], getattr(reps, name)[play])


# Checkpoints

ANYTIME = [entry for entry in ENTRIES if entry.strategy.anytime]


@sweep(ANYTIME)
def test_checkpoints_never_change_a_run(entry):
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


def best(k, means, order):
    """The k largest means; ties to the lower index in the strategy's own order."""
    place = np.argsort(order)  # arm order[j] of the bandit is the strategy's arm j
    return sorted(sorted(range(len(means)), key=lambda arm: (-means[arm], place[arm]))[:k])


def test_sets_at_checkpoints_are_those_of_a_literal_replay():
    """LUCB1: rewards one by one from the trace, up to the checkpoint; then the k best."""
    entry = next(entry for entry in ENTRIES if entry.strategy is topk.LUCB1)
    compared = 0
    for strategy, bandit, rng in cases(entry, 80, seed=37, sizes=(2, 3, 6)):
        seed, n = int(rng.integers(2**32)), bandit.n
        arms, rewards = topk.run(strategy, bandit, rng=seed, trace=True).trace
        marks = list(range(n, min(arms.size, n + 150) + 1))
        reps = topk.replicate(strategy, bandit, runs=1, seed=seed, checkpoints=marks)
        order, _ = topk.streams(seed, 0, n)
        for j, mark in enumerate(marks):
            pulls = np.bincount(arms[:mark], minlength=n)
            sums = np.bincount(arms[:mark], rewards[:mark], minlength=n)
            means = [Fraction(int(s), int(u)) for s, u in zip(sums, pulls, strict=True)]
            assert reps.selected[0, j].tolist() == best(strategy.k, means, order), mark
            compared += 1
    assert compared > 1000


@given(st.lists(st.integers(0, 9), min_size=1, max_size=8), st.integers(1, 2**36), st.data())
def test_water_fill_hands_out_one_pull_at_a_time(counts, scale, data):
    pulls = data.draw(st.integers(0, sum(counts)))
    part, left = [0] * len(counts), pulls
    while left:  # the plain form: round and round, in order
        for j, room in enumerate(counts):
            if left and part[j] < room:
                part[j] += 1
                left -= 1
    assert water_fill(np.array(counts), pulls).tolist() == part
    large = scale * np.array(counts)
    pulls = data.draw(st.integers(0, int(large.sum())))
    part = water_fill(large, pulls)
    assert part.sum() == pulls and (part >= 0).all() and (part <= large).all()
    assert np.array_equal(large, scale * np.array(counts))
    short = part < large  # an entry that got less than its count is at the water level
    assert part.max() <= part[short].min(initial=2**60) + 1


LOOKED = {}


@dataclass(frozen=True)
class Looking(BigBatches):
    """Writes down what it is shown whenever a set is asked for: total -> pulls and sums."""

    def recommend(self, view):
        LOOKED[view.total] = view.pulls.copy(), view.sums.copy()
        return super().recommend(view)


def batches_by_hand(strategy, bandit, seed):
    """Yield each batch of a play: pulls and sums before it, arms, counts, rewards, and a twin.

    The twin is a generator that would draw the same rewards again.
    """
    order, stream = topk.streams(seed, 0, bandit.n)
    session, pulls, sums = strategy.start(bandit.n), np.zeros(bandit.n, int), np.zeros(bandit.n)
    while not session.done:
        arms, counts = session.ask()
        twin = np.random.Generator(np.random.PCG64())
        twin.bit_generator.state = stream.bit_generator.state
        rewards = bandit.pull(order[arms], counts, stream)
        yield pulls, sums, arms, counts, rewards, lambda: [  # noqa: B023
            bandit.sample(order[a], c, twin) for a, c in zip(arms, counts, strict=True)  # noqa: B023
        ]
        session.tell(arms, sums=rewards.sums, counts=counts, squares=rewards.squares)
        pulls[arms] += counts
        sums[arms] += rewards.sums


@pytest.mark.parametrize("law", ["bernoulli", "beta"])
def test_a_checkpoint_inside_a_batch_shows_an_even_part_of_it(law):
    for seed in range(12):
        rng = np.random.default_rng(seed)
        n = int(rng.integers(2, 7))
        bandit = topk.BernoulliBandit(rng.random(n))
        if law == "beta":
            bandit = topk.BetaBandit(0.2 + rng.random(n), 0.2 + rng.random(n))
        strategy = Looking(1, size=int(rng.integers(5, 60)), batches=3)
        total = topk.replicate(strategy, bandit, runs=1, seed=seed, jobs=1).total_pulls[0]
        marks = sorted({*rng.integers(n, total + 1, 8).tolist()})
        LOOKED.clear()
        topk.replicate(strategy, bandit, runs=1, seed=seed, checkpoints=marks, jobs=1)
        assert set(marks) <= set(LOOKED)
        for pulls, sums, arms, counts, rewards, again in batches_by_hand(strategy, bandit, seed):
            singles, previous = again(), (0, 0)
            for mark in (m for m in marks if pulls.sum() < m < pulls.sum() + counts.sum()):
                part = water_fill(counts, mark - pulls.sum())
                shown_pulls, shown_sums = LOOKED[mark]
                assert (shown_pulls[arms] - pulls[arms]).tolist() == part.tolist()
                gained = shown_sums[arms] - sums[arms]
                if law == "beta":
                    first = [math.fsum(x[:c]) for x, c in zip(singles, part, strict=True)]
                    assert shown_sums[arms].tolist() == (sums[arms] + first).tolist()
                else:  # parts grow: no reward is taken back, none counted twice
                    more = part - previous[0]
                    assert ((gained >= previous[1]) & (gained <= previous[1] + more)).all()
                    assert (gained <= rewards.sums).all()
                    assert (part - gained <= counts - rewards.sums).all()
                previous = part, gained


def test_the_part_of_a_batch_that_a_checkpoint_shows_is_a_random_one():
    """Sums of parts are hypergeometric given those of the batch.

    400 plays; the part's successes less their expectation are a sum of 400 independent
    terms in [-10, 10]: it passes the limit with probability 1e-9 (Hoeffding).
    """
    runs, size, part = 400, 30, 10
    strategy, bandit = Looking(1, size=size - 1, batches=2), topk.BernoulliBandit([0.5, 0.5])
    off = np.zeros((runs, 2))
    for seed in range(runs):
        LOOKED.clear()
        # the second batch: 30 pulls of arm 1, then 15 of arm 0, of which 2 * 10 are shown
        topk.replicate(strategy, bandit, runs=1, seed=seed, checkpoints=[2 + 2 * part], jobs=1)
        *_, (_, sums, arms, counts, rewards, _) = batches_by_hand(strategy, bandit, seed)
        before = sums[arms] - rewards.sums  # the generator has added the last batch
        off[seed, arms] = LOOKED[2 + 2 * part][1][arms] - before - part * rewards.sums / counts
    assert np.abs(off.sum(axis=0)).max() < math.sqrt(2 * runs * 100 * math.log(2 / 1e-9))
    # taking the ones first, or the zeros first, would shift every play by about 3
    assert (off**2).mean() < 4


# Every run ends


@each_strategy
def test_max_pulls_ends_a_run_as_a_budget_does_without_other_effects(entry):
    strategy, bandit, rng = short(entry, 41)
    plain = topk.replicate(strategy, bandit, 4, seed=6)
    totals, most = plain.total_pulls, int(plain.total_pulls.max())
    assert topk.replicate(strategy, bandit, 4, seed=6, max_pulls=most) == plain
    for limit in sorted({bandit.n, int(rng.integers(bandit.n, most)), most - 1}):
        reps = topk.replicate(strategy, bandit, 4, seed=6, max_pulls=limit)
        assert reps.total_pulls.tolist() == np.minimum(totals, limit).tolist()
        assert reps.certified.tolist() == (plain.certified & (totals <= limit)).tolist()
        assert reps.pulls.reshape(4, -1).sum(axis=1).tolist() == reps.total_pulls.tolist()
        for play in np.flatnonzero(totals <= limit):
            for name in ARRAYS[:-1]:
                assert np.array_equal(getattr(reps, name)[play], getattr(plain, name)[play])
        one = topk.run(strategy, bandit, rng=6, max_pulls=limit, trace=True)
        assert one.pulls.tolist() == reps.pulls[0].tolist() and len(one.trace[0]) == totals.clip(
            max=limit)[0]
        assert one.sums.tolist() == reps.sums[0].tolist()
        assert one.selected.tolist() == reps.selected[0, 0].tolist()
        assert one.stopped == ("budget" if totals[0] > limit else
                               topk.run(strategy, bandit, rng=6).stopped)


@pytest.mark.parametrize("bandit", [
    topk.BernoulliBandit(np.linspace(0.2, 0.8, 7)), real_bandit(7, np.random.default_rng(2)),
], ids=["zero-one", "real"])  # fmt: skip
def test_of_the_last_batch_an_even_part_is_pulled_and_checkpoints_look_at_it(bandit):
    """Of a round of 20 pulls an arm seven arms get 3 and 4; then the best means are named."""
    strategy = topk.Uniform(2, 140)
    end = topk.run(strategy, bandit, rng=3, max_pulls=24)
    assert sorted(end.pulls.tolist()) == [3, 3, 3, 3, 4, 4, 4] and end.stopped == "budget"
    order, _ = topk.streams(3, 0, 7)
    assert end.selected.tolist() == best(2, end.means, order)
    racing = topk.Racing(2, 0.0, 0.01)
    marks, limit = [10, 31, 50, 80], 40
    reps = topk.replicate(racing, bandit, 3, seed=3, checkpoints=marks, max_pulls=limit)
    plain = topk.replicate(racing, bandit, 3, seed=3, max_pulls=limit)
    for name in ARRAYS[1:]:
        assert np.array_equal(getattr(reps, name), getattr(plain, name))
    assert np.array_equal(reps.selected[:, 2:], np.repeat(plain.selected, 2, axis=1))
    free = topk.replicate(racing, bandit, 3, seed=3, checkpoints=marks[:2])
    assert np.array_equal(reps.selected[:, :1], free.selected[:, :1])


@dataclass(frozen=True)
class Endless(topk.Strategy):
    """A faulty rule that never ends, with three pulls at a time."""

    k: int

    def ask(self, view):
        return range(view.n), [3] * view.n


def test_a_rule_that_never_stops_comes_to_an_end():
    ended = topk.run(Endless(1), TWO, rng=None, max_pulls=1000)
    assert (ended.total_pulls, ended.stopped, ended.certified) == (1000, "budget", False)
    tied = topk.BernoulliBandit([0.5, 0.5])
    reps = topk.replicate(topk.LUCB1(1, 0.0, 0.1), tied, 20, seed=None, max_pulls=500, jobs=1)
    assert (reps.total_pulls == 500).all() and not reps.certified.any()


def test_no_seed_is_another_one_each_time():
    """Two plays of 100 fair pulls an arm agree in both sums with probability below 0.01."""
    half = topk.BernoulliBandit([0.5] * 2)
    for play in (partial(topk.run, rng=None), partial(topk.replicate, runs=1, seed=None)):
        sums = {tuple(play(topk.Uniform(1, 200), half).sums.ravel()) for _ in range(6)}
        assert len(sums) > 1  # all six agree with probability below 1e-10
    with pytest.raises(ValueError, match="seed"):
        topk.replicate(topk.Uniform(1, 200), half, 1, seed=np.random.RandomState(1))


# Compiling


def test_warm_compiles_the_first_run_in_advance(monkeypatch, capsys):
    """Once for few arms and once for many, or for the bandit that is given."""
    calls = []
    monkeypatch.setattr(Play, "_call", lambda play, function, *_: calls.append(
        (type(play.strategy).__name__, function.__name__, play.state.search)) or DONE)
    topk.warm([topk.LUCB1(3, 0.1, 0.1), topk.SAR(2, 60), Endless(1)])
    assert sorted(calls, key=str) == [
        ("LUCB1", "run_batches", TOP_K_SCAN), ("LUCB1", "run_batches", TOP_K_TREES),
        ("SAR", "run_batches", None)]
    calls.clear()
    topk.warm(topk.MultiBanditSAR(60))
    topk.warm(topk.LUCB1(1, 0.1, 0.1), topk.GaussianBandit([1.0, 2.0], sigma=1.0))
    assert calls == [("MultiBanditSAR", "run_batches", None),
                     ("LUCB1", "run_batches", TOP_K_SCAN)]
    calls.clear()
    topk.warm()
    assert {name for name, _, _ in calls} == set(topk.strategies.__all__)
    with pytest.raises(ValueError, match="^strategy must be a topk.Strategy"):
        topk.warm([topk.LUCB1])
    calls.clear()
    monkeypatch.setenv("TOPK_COMPILE", "never")
    topk.warm()
    assert calls == []


FIRST_PLAY = """
import sys, topk
from dataclasses import dataclass
from topk.engine import jit
from topk.rules.base import BY_BUDGET
from topk.rules.ranking import rank
from topk.rules.rounds import end_with

@dataclass(frozen=True)
class Once(topk.Rounds):
    k: int
    budget: int

    @topk.rule
    def share(s):
        return s.budget // s.n

    @topk.rule
    def decide(s):
        end_with(s, rank(s), BY_BUDGET)

jit.PATIENCE = float(sys.argv[1])
for _ in range(2):
    topk.run(Once(1, 60), topk.BernoulliBandit([0.2, 0.8]))
"""
CAPTURED = "import io\nsys.stderr = io.StringIO()\n"  # as a notebook does
SAYS = "print(end=sys.stderr.getvalue())"


@pytest.mark.slow
@pytest.mark.parametrize("where", ["on a pipe", "on a pipe, soon done", "captured"])
def test_a_compilation_that_takes_long_says_so_once(where, tmp_path):
    """Also where standard error is no terminal, but not where it is captured."""
    said = "topk compiles Once: some seconds, once; see topk.warm\n" * (where == "on a pipe")
    code = "import os; os.environ['TOPK_COMPILE'] = 'always'" + FIRST_PLAY
    if where == "captured":
        code = code.replace("jit.P", f"{CAPTURED}jit.P") + SAYS
    file = tmp_path / "first_play.py"
    file.write_text(code)
    script = f"import runpy; runpy.run_path({str(file)!r}, run_name='__main__')"
    patience = 1e6 if where == "on a pipe, soon done" else 0
    assert fresh(script, patience) == ("", said)


# Strategies in plain Python


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


NOTHING, NONSENSE = ((), ()), [
    ([0, 0], [1, 1]), ([3], [1]), ([-1], [1]), ([0], [-1]), ([0], [0]), ([0], [1, 1]),
    ([0.5], [1]), ([0], [1.5]), ([0, 1], [1]), (["a"], [1]), ([[0]], [[1]]),
    3, None, [(0, 1)], ([0],), ([0], [1], [2]), {0: 3},
]  # fmt: skip


@pytest.mark.parametrize("name, answers", [
    *(("ask", (wanted,)) for wanted in NONSENSE),
    *(("recommend", (NOTHING, chosen)) for chosen in ((), (0, 1), (0, 0), (3,), (-1,), (0.5,))),
])  # fmt: skip
def test_an_invalid_answer_of_a_plain_python_strategy_is_refused(name, answers):
    strategy, bandit = Answers(1, *answers), topk.BernoulliBandit([0.5] * 3)
    plays = [partial(topk.run, strategy, bandit), partial(topk.replicate, strategy, bandit, 1)]
    if name == "ask":
        plays.append(partial(strategy.start, 3))
    for play in plays:
        with pytest.raises(ValueError, match=rf"Strategy\.{name}"):
            play()


@dataclass(frozen=True)
class InThrees(topk.Strategy):
    """Asks for three pulls of the arm 1 at a time, and names the arm 0 without pulls of it."""

    k: int
    budget: int

    def ask(self, view):
        return ([0, 1], [0, 3]) if view.total < self.budget else ([], [])


def test_a_plain_python_strategy_asks_for_no_more_than_its_budget():
    session = InThrees(1, budget=8).start(2).tell([1], sums=[1.0], counts=[3])
    assert [part.tolist() for part in session.ask()] == [[1], [3]]
    with pytest.raises(ValueError, match=r"^counts of Strategy\.ask must be at most the 2 pulls"):
        session.tell([1], sums=[1.0], counts=[3])
    with pytest.raises(ValueError, match=r"^counts of Strategy\.ask"):
        topk.run(InThrees(1, budget=8), topk.BernoulliBandit([0.1, 0.9]), rng=0)
    fits = topk.run(InThrees(1, budget=9), topk.BernoulliBandit([0.1, 0.9]), rng=0)
    assert sorted(fits.pulls.tolist()) == [0, 9] and fits.selected.tolist() == [fits.pulls.argmax()]
    assert fits.stopped == "budget" and not fits.certified

    @dataclass(frozen=True)
    class Sure(InThrees):
        certifies = True

    sure = topk.run(Sure(1, budget=9), topk.BernoulliBandit([0.1, 0.9]), rng=0)
    assert sure.stopped == "rule" and sure.certified


class Undressed(topk.Strategy):
    """Not a dataclass."""

    k: int = 1


@dataclass(frozen=True)
class Mute(topk.Strategy):
    k: int


@dataclass(frozen=True)
class Speechless(topk.Indices):
    k: int

    @topk.rule
    def pick(s):
        lowest(s)  # without `return`


class Own(topk.Indices):
    """No dataclass either, and it does not notice."""

    def __init__(self, k):
        self.k = k


@dataclass
class Thawed(topk.Indices):
    k: int


@pytest.mark.parametrize("act, error, text", [
    (Undressed, TypeError, "Undressed is not a frozen dataclass: put"),
    (lambda: Undressed(k=1), TypeError, "Undressed is not a frozen dataclass: put"),
    (lambda: topk.run(Own(1), TWO, rng=0), TypeError, "Own is not a frozen dataclass: put"),
    (lambda: topk.run(Thawed(1), TWO, rng=0), TypeError, "Thawed is not a frozen dataclass: put"),
    (lambda: topk.LUCB1(2, 0.1, 0.1, eps=1), TypeError, "LUCB1.* unexpected .* 'eps'"),
    (lambda: topk.LUCB1(2), TypeError, "missing .* 'epsilon' and 'delta'"),
    (lambda: topk.run(topk.LUCB1, TWO, 0), ValueError, "strategy must be .*, with its parameters"),
    (lambda: topk.run(Mute(1), TWO, rng=0), NotImplementedError, "Mute needs a method ask"),
])  # fmt: skip
def test_the_error_for_an_invalid_strategy_is_helpful(act, error, text):
    with pytest.raises(error, match=text):
        act()


def test_a_live_rule_without_a_return_value_raises_a_helpful_error():
    with pytest.raises(TypeError) as raised:
        Speechless(1).start(2).tell([0, 1], [1, 0])
    assert "`pick` two arms (the second may be NO_ARM)" in raised.value.__notes__[0]


@pytest.mark.parametrize("strategy", [topk.LUCB1(2, 0.1, 0.1, budget=100), topk.SAR(2, 100)])
def test_the_state_of_a_short_run_is_built_once(strategy, monkeypatch):
    """The check of the parameters and all runs begin with copies of one state."""
    monkeypatch.setenv("TOPK_COMPILE", "never")  # an earlier test may have compiled the loop
    built, new_state = [], state.new_state
    monkeypatch.setattr(state, "new_state", lambda *given: built.append(given) or new_state(*given))
    state.cached_state.cache_clear()
    topk.replicate(strategy, topk.BernoulliBandit(np.linspace(0.2, 0.8, 21)), 5, seed=1)
    assert len(built) == 1


def test_a_run_without_an_end_says_so(monkeypatch):
    tie, clear = topk.BernoulliBandit([0.5, 0.5, 0.2]), topk.BernoulliBandit([0.5, 0.4, 0.2])
    monkeypatch.setattr(topk.simulate.run, "played", lambda *_, **__: None)  # it would not end
    for strategy in (topk.LUCB1(1, 0, 0.05), topk.CLUCB(1, 0.05), topk.LUCBPlusPlus(1, 0.05)):
        with pytest.warns(topk.TopkWarning, match="max_pulls=, a budget or an epsilon"):
            topk.run(strategy, tie, rng=0)
        with pytest.warns(topk.TopkWarning, match="max_pulls=, a budget or an epsilon"):
            topk.simulate.run.study_of(strategy, tie, 3, 0)
        topk.run(strategy, clear, rng=0)
        topk.run(strategy, tie, rng=0, max_pulls=100)
    for strategy in (topk.LUCB1(2, 0, 0.05), topk.LUCB1(1, 0.1, 0.05), topk.Uniform(1, 30),
                     topk.LUCB1(1, 0, 0.05, budget=99)):
        topk.run(strategy, tie, rng=0)
