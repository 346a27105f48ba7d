"""Compiled code against its plain form, with and without the compiler, old and new."""

import json
import multiprocessing
import os
import shutil
import subprocess
import sys
import textwrap
from concurrent.futures import ProcessPoolExecutor, ThreadPoolExecutor
from fractions import Fraction
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from strategies.registry import ENTRIES, cases

import topk
from topk.kernels import drawing, filing, ranking
from topk.kernels.tally import Tally, credit, new_tally

ROOT = Path(__file__).resolve().parent.parent


@given(
    st.lists(st.tuples(st.sampled_from([0.0, 1.0, 0.5, 0.3, 1e-12, 1 - 1e-12, 0.9]),
                       st.sampled_from([0, 1, 2, 3, 29, 31, 1000, 10**6, 2**40])), max_size=12),
    st.integers(0, 2**32),
)
def test_draws_are_numpys(batch, seed):
    """One uniform number for one pull, a binomial one for more, none for none."""
    means = np.array([p for p, _ in batch] + [0.5])
    counts = np.array([c for _, c in batch] + [1])
    arms, sums = np.arange(means.size), np.full(means.size, -1.0)
    rng, twin = np.random.default_rng(seed), np.random.default_rng(seed)
    drawing.draw_bernoulli(means, arms, counts, arms.size, rng, sums)
    for p, count, total in zip(means, counts, sums, strict=True):
        if count == 1:
            assert total == (twin.random() < p)
        else:
            assert total == (twin.binomial(count, p) if count else 0)
        if p in (0.0, 1.0):
            assert total == count * p
    assert rng.bit_generator.state == twin.bit_generator.state


@given(st.integers(1, 12), st.data())
def test_ranks_are_those_of_exact_fractions(n, data):
    pulls = np.array(data.draw(st.lists(st.integers(0, 6), min_size=n, max_size=n)))
    sums = np.array([data.draw(st.integers(0, int(p))) for p in pulls], dtype=float)
    alive = np.array(sorted(data.draw(st.sets(st.integers(0, n - 1), min_size=1))))
    tally = Tally(pulls, sums, np.zeros(0), np.array([pulls.sum()]))
    for sign in (1, -1):

        def key(arm, sign=sign):
            unseen = pulls[arm] == 0
            return unseen, 0 if unseen else -sign * Fraction(int(sums[arm]), int(pulls[arm])), arm

        ranked = ranking.rank_arms(tally, alive, alive.size, float(sign))
        assert ranked.tolist() == sorted(alive.tolist(), key=key)
    chosen = np.empty(n, dtype=np.int64)
    filing.fill_chosen(tally, alive, alive.size, np.zeros(n, np.int64), chosen[: alive.size])
    assert chosen[: alive.size].tolist() == alive.tolist()


@given(st.integers(1, 90_000_000), st.integers(1, 90_000_000), st.data())
def test_rounded_quotients_order_close_fractions_as_exact_ones_do(pulls, more, data):
    """The claim of the module: fractions of denominators below 9.4e7, the closest ones too."""
    ones = data.draw(st.integers(0, pulls))
    near = ones * more // pulls + data.draw(st.integers(-1, 1))
    if not 0 <= near <= more:
        return
    tally = Tally(
        np.array([pulls, more]), np.array([ones, near], float), np.zeros(0), np.array([0])
    )
    first, second = Fraction(ones, pulls), Fraction(near, more)
    ranked = ranking.rank_arms(tally, np.arange(2), 2, 1.0)
    assert ranked.tolist() == ([0, 1] if first >= second else [1, 0])


@given(st.lists(st.tuples(st.integers(0, 4), st.integers(0, 9)), max_size=8), st.booleans())
def test_a_tally_is_a_sum_of_batches(batch, squares):
    tally = new_tally(5, squares=squares)
    arms, counts = (np.array([pair[i] for pair in batch], dtype=np.int64) for i in (0, 1))
    for repeat in (1, 2):
        credit(tally, arms.size, arms, counts, counts / 2, counts / 4)
        assert tally.pulls.tolist() == (repeat * np.bincount(arms, counts, 5)).tolist()
        assert tally.sums.tolist() == (repeat * np.bincount(arms, counts / 2, 5)).tolist()
        if squares:
            assert tally.squares.tolist() == (repeat * np.bincount(arms, counts / 4, 5)).tolist()
        assert tally.total[0] == repeat * counts.sum()


PLAY_ALL = """
import json, sys
from strategies.registry import ENTRIES, cases
import topk

out = []
for entry in ENTRIES:
    done = 0
    for strategy, bandit, rng in cases(entry, 40, seed=21, sizes=(2, 5, 9)):
        if getattr(strategy, "budget", 1) is None:
            continue  # too long without the compiler
        seed = int(rng.integers(2**32))
        outcome = topk.run(strategy, bandit, rng=seed)
        if outcome.total_pulls > 20_000:
            continue
        traced = topk.run(strategy, bandit, rng=seed, trace=True)
        reps = topk.replicate(strategy, bandit, runs=2, seed=seed)
        out.append([repr(strategy), outcome.selected.tolist(), outcome.pulls.tolist(),
                    outcome.sums.tolist(), outcome.stopped, reps.pulls.tolist(),
                    reps.selected.tolist(), traced.trace[0].tolist(), traced.trace[1].tolist()])
        if (done := done + 1) == 12:
            break
print(json.dumps(out))
"""


def python(code, path, **environment):
    """Run code in a fresh interpreter; return what it printed."""
    inherited = {k: v for k, v in os.environ.items() if not k.startswith("NUMBA_")}
    inherited["PYTHONPATH"] = os.pathsep.join(map(str, path))
    done = subprocess.run(
        [sys.executable, "-c", textwrap.dedent(code)],
        env=inherited | environment, cwd=path[0], capture_output=True, text=True, timeout=300,
    )
    assert done.returncode == 0, done.stderr[-3000:]
    return done.stdout


def test_results_are_the_same_without_the_compiler():
    package = Path(topk.__file__).resolve().parent.parent
    paths = package, ROOT / "tests"
    plain = json.loads(python(PLAY_ALL, paths, NUMBA_DISABLE_JIT="1"))
    compiled = json.loads(python(PLAY_ALL, paths))
    assert len(plain) >= 10 * len(ENTRIES)
    for one, other in zip(plain, compiled, strict=True):
        assert one == other, one[0]


CHOOSE = """
import numpy as np
import topk
from topk.kernels.tally import Tally
from topk.strategies import uniform

state = topk.Uniform(1, budget=10).begin(3)
state.tally.pulls[:] = 10
state.tally.sums[:] = [1, 9, 5]
chosen = np.empty(1, dtype=np.int64)
uniform.recommend(state, chosen)
stats = uniform.recommend.stats
print(chosen[0], sum(stats.cache_hits.values()), sum(stats.cache_misses.values()))
"""


def test_an_edited_callee_takes_effect_in_the_next_process(tmp_path):
    """Numba notices an edit of a cached function's own file only; the cache folder's name
    has to do the rest."""
    source = Path(topk.__file__).resolve().parent
    copy = tmp_path / "topk"
    shutil.copytree(source, copy, ignore=shutil.ignore_patterns("__pycache__"))
    where = {"XDG_CACHE_HOME": str(tmp_path / "cache")}

    def choice():
        return [int(word) for word in python(CHOOSE, [tmp_path], **where).split()]

    assert choice() == [1, 0, 1]  # compiled
    assert choice() == [1, 1, 0]  # from the cache, so that the next line means something
    edited = copy / "kernels" / "ranking.py"
    before = edited.read_text()
    after = before.replace("= -sign * ", "= sign * ")
    assert after != before, "this test edits a line of rank_arms that is no longer there"
    edited.write_text(after)
    assert choice() == [0, 0, 1]
    edited.write_text(before)
    assert choice() == [1, 1, 0]  # the old folder is still good


@pytest.fixture(scope="module")
def small_plays():
    """A few plays of every strategy, each with its result in this thread."""
    plays = []
    for entry in ENTRIES:
        for strategy, bandit, rng in cases(entry, 4, seed=22, sizes=(4, 9)):
            plays.append((strategy, bandit, int(rng.integers(2**32))))
    return [(play, fingerprint(*play)) for play in plays]


def fingerprint(strategy, bandit, seed):
    outcome = topk.run(strategy, bandit, rng=seed)
    return outcome.selected.tolist(), outcome.pulls.tolist(), outcome.sums.tolist()


def test_results_are_the_same_in_threads(small_plays):
    jobs = small_plays * 5
    with ThreadPoolExecutor(4) as pool:
        found = list(pool.map(lambda job: fingerprint(*job[0]), jobs))
    assert found == [expected for _, expected in jobs]


def test_results_are_the_same_in_processes(small_plays):
    with ProcessPoolExecutor(2, mp_context=multiprocessing.get_context("spawn")) as pool:
        found = list(pool.map(fingerprint, *zip(*(play for play, _ in small_plays), strict=True)))
    assert found == [expected for _, expected in small_plays]


def test_two_processes_that_keep_code_at_once_do_not_mix_it_up(tmp_path, monkeypatch):
    """Numba gives both the same file, and one signature the code of the other."""
    from numba.core.caching import IndexDataCacheFile

    one, two = (IndexDataCacheFile(str(tmp_path), "play", "stamp") for _ in range(2))
    one.save("a", "code of a")
    before, save = two._load_index(), one._save_data

    def slowly(name, data):
        with monkeypatch.context() as patch:
            patch.setattr(two, "_load_index", lambda: dict(before))  # as it was a moment ago
            two.save("c", "code of c")
        save(name, data)

    monkeypatch.setattr(one, "_save_data", slowly)
    one.save("b", "code of b")
    for key in "abc":
        assert one.load(key) in (None, f"code of {key}")
    assert one.load("a") == "code of a"


def test_a_folder_that_another_process_removes_is_no_error(tmp_path, monkeypatch):
    from topk.kernels import cache

    for number in range(cache.KEPT + 3):
        (tmp_path / str(number)).mkdir()
    listed = sorted(tmp_path.iterdir())
    listed[0].rmdir()
    monkeypatch.setattr(type(tmp_path), "iterdir", lambda self: iter(listed))
    cache._remove_old(tmp_path)
    assert sum(folder.is_dir() for folder in listed) == cache.KEPT
