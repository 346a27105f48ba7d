"""The store: what is kept is what was played, whoever is killed and whatever is broken."""

import json
import logging
import os
import pickle
import signal
import subprocess
import sys
import time
import warnings
from dataclasses import dataclass
from functools import partial
from pathlib import Path

import numpy as np
import pytest

import topk
from topk import identity, store
from topk.streams import INSTANCE, stream
from topk.study import SameBandit, Study
from topk.summary import Measures

ROOT = Path(__file__).resolve().parents[1]
COLUMNS = ("selected", "pulls", "sums", "total_pulls", "certified", "means")
BANDIT = topk.BernoulliBandit(np.linspace(0.9, 0.1, 12))
LUCB = topk.LUCB1(3, epsilon=0.1, delta=0.1, budget=500)


@pytest.fixture(autouse=True)
def folder(tmp_path, monkeypatch):
    """A store of the test's own, which keeps studies of any length."""
    monkeypatch.setenv("TOPK_STORE", str(tmp_path / "store"))
    monkeypatch.setattr(store, "LEAST", 0.0)
    yield tmp_path / "store"
    store.configure(path="default", limit=2 * 1024**3)


@pytest.fixture
def played(monkeypatch):
    """The ranges of plays that were played rather than read."""
    ranges, play = [], Study.play
    monkeypatch.setattr(
        Study, "play", lambda self, b, e, stop=None: ranges.append((b, e)) or play(self, b, e, stop)
    )
    return ranges


def study(runs, seed=1, strategy=LUCB, bandit=BANDIT, **options):
    options = {"checkpoints": [60, 200], "chunk": 7} | options
    return topk.replicate(strategy, bandit, runs, seed, **options)


def same(a, b):
    return all(np.array_equal(getattr(a, name), getattr(b, name)) for name in COLUMNS)


def unstored(*args, **options):
    """The same study without the store."""
    before = os.environ["TOPK_STORE"]
    os.environ["TOPK_STORE"] = "off"
    try:
        return study(*args, **options)
    finally:
        os.environ["TOPK_STORE"] = before


def files(folder):
    return sorted(folder.rglob("*.topk"))


# What is kept is what was played


def test_warm_store_gives_the_same_arrays_without_playing(played):
    cold = study(20)
    assert played == [(0, 7), (7, 14), (14, 20)]
    played.clear()
    warm = study(20)
    assert played == [] and same(cold, warm) and same(cold, unstored(20))
    for name in COLUMNS:
        assert getattr(cold, name).dtype == getattr(warm, name).dtype


def test_larger_study_begins_with_a_smaller_one(played):
    study(10)
    played.clear()
    assert same(study(25, chunk=9), unstored(25))
    assert played[:2] == [(10, 19), (19, 25)]


def test_smaller_study_is_cut_from_a_larger_one(played):
    study(25)
    played.clear()
    smaller = study(10)
    assert played == [] and same(smaller, unstored(10))


def test_gap_in_the_middle_is_filled(folder, played):
    study(20)
    files(folder)[1].unlink()
    played.clear()
    again = study(20)
    assert played == [(7, 14)] and same(again, unstored(20))


def test_overlapping_portions_are_used_once(played):
    """Two drivers that cut differently leave such portions."""
    study(20, chunk=6)
    shelf = store.Shelf(Study(LUCB, SameBandit(BANDIT), 1, (60, 200)))
    rows, _ = shelf.study.play(4, 17)
    shelf.keep(4, 17, rows, 1.0)
    played.clear()
    again = study(20)
    assert played == [] and same(again, unstored(20))


def test_overlapping_portions_of_a_summary_are_used_once():
    options = {"keep": "summary", "epsilon": 0.1}
    study(20, chunk=6, **options)
    shelf = store.Shelf(Study(LUCB, SameBandit(BANDIT), 1, (60, 200), Measures(0.1)))
    rows, _ = shelf.study.play(4, 17)
    shelf.keep(4, 17, rows, 1.0)
    for runs in (20, 16, 5):
        assert study(runs, **options).pulls.tolist() == unstored(runs).pulls.sum(axis=0).tolist()


def test_own_rewards_and_drawn_instances_are_kept_exactly(played):
    def draw(rng):
        return topk.BetaBandit(1 + rng.random(6), 1 + rng.random(6))

    for _ in range(2):
        again = study(9, bandit=draw)
    assert len(played) == 2 and same(again, unstored(9, bandit=draw))
    assert not (again.sums == np.round(again.sums)).all()


def test_moments_of_work_leave_no_files(folder, monkeypatch):
    monkeypatch.setattr(store, "LEAST", 1e6)
    few = study(20)
    assert files(folder) == [] and same(few, unstored(20))


def test_plays_before_the_first_file_are_kept_with_it(folder, monkeypatch):
    monkeypatch.setattr(store, "LEAST", 1.0)
    shelf = store.Shelf(Study(LUCB, SameBandit(BANDIT), 1))
    for begin, seconds in ((0, 0.4), (5, 0.4), (10, 0.4), (15, 0.1)):
        rows, _ = shelf.study.play(begin, begin + 5)
        shelf.keep(begin, begin + 5, rows, seconds)
        assert len(files(folder)) == {0: 0, 5: 0, 10: 3, 15: 4}[begin]


def test_off(folder, monkeypatch):
    monkeypatch.setenv("TOPK_STORE", "off")
    study(20)
    assert store.info().path is None and not folder.exists()


# Interruption


DRIVER = """
import os, time, numpy as np, topk
from topk import store, workers
store.LEAST = 0.0
if {jobs} > 1:  # whatever the clock says about so short a study
    workers.helpers = lambda *_: "processes"

def draw(rng):
    '''Draw an instance, and leave a mark that tells which play this was.'''
    mark = int(rng.integers(2**62))
    with open(os.environ["PLAYED"], "ab", buffering=0) as file:
        file.write(b"%d\\n" % mark)
    time.sleep(0.01)
    if str(mark) in os.environ["ENDLESS"].split():
        time.sleep(1000)
    while str(mark) == os.environ["MEETING"]:  # until two drivers are there
        with open(os.environ["PLAYED"]) as file:
            if file.read().split().count(str(mark)) == 2:
                break
        time.sleep(0.01)
    return topk.BernoulliBandit(rng.random(8))

reps = topk.replicate(topk.SAR(2, budget=100), draw, {runs}, seed=5, jobs={jobs}, chunk=5)
np.savez(os.environ["RESULT"], **{{name: getattr(reps, name) for name in {columns}}})
"""


def mark_of(play):
    return int(stream(5, play, INSTANCE).integers(2**62))


def start_driver(tmp_path, name="result", runs=120, jobs=1, endless=(), meeting=None):
    """Start a program that plays a study; it notes every play as it begins.

    The plays in ``endless`` do not end; the play ``meeting`` waits for another driver.
    """
    code = DRIVER.format(runs=runs, jobs=jobs, columns=COLUMNS)
    environment = os.environ | {
        "PYTHONPATH": str(ROOT),
        "PLAYED": str(tmp_path / "played"),
        "RESULT": str(tmp_path / f"{name}.npz"),
        "ENDLESS": " ".join(str(mark_of(play)) for play in endless),
        "MEETING": "" if meeting is None else str(mark_of(meeting)),
    }
    return subprocess.Popen([sys.executable, "-c", code], env=environment)


def wait_for(condition, process, seconds=100):
    deadline = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < deadline and process.poll() is None
        time.sleep(0.01)


def marks_of(path):
    return [int(line) for line in path.read_text().split()]


@pytest.mark.parametrize("jobs", [1, 2])
def test_killed_driver_repeats_no_finished_play(folder, tmp_path, jobs):
    first = start_driver(tmp_path, jobs=jobs, endless=range(60, 120))
    try:
        wait_for(lambda: len(files(folder)) >= 8, first)
    finally:
        first.kill()  # SIGKILL: nothing can be tidied up
    assert first.wait() == -signal.SIGKILL
    finished = [tuple(map(int, path.stem.split("-"))) for path in files(folder)]
    plays = [play for span in finished for play in range(*span)]
    assert len(plays) == len(set(plays)) and 40 <= len(plays) < 120
    assert not (tmp_path / "result.npz").exists()

    assert start_driver(tmp_path, jobs=jobs).wait(timeout=100) == 0
    marks = marks_of(tmp_path / "played")
    for play in plays:
        # play 0 is drawn once more by each driver, which looks at the number of arms
        assert marks.count(mark_of(play)) == 1 or play == 0
    assert len(set(marks)) == 120
    assert start_driver(tmp_path, "undisturbed").wait(timeout=100) == 0
    ours, other = (np.load(tmp_path / f"{n}.npz") for n in ("result", "undisturbed"))
    assert all(np.array_equal(ours[name], other[name]) for name in COLUMNS)


def test_two_drivers_on_one_store(folder, tmp_path):
    both = [start_driver(tmp_path, name, runs=60, meeting=20) for name in ("one", "two")]
    try:
        assert [driver.wait(timeout=100) for driver in both] == [0, 0]
    finally:
        for driver in both:
            driver.kill()
    store.clear()
    assert start_driver(tmp_path, "alone", runs=60).wait(timeout=100) == 0
    alone, *results = (np.load(tmp_path / f"{n}.npz") for n in ("alone", "one", "two"))
    for result in results:
        assert all(np.array_equal(alone[name], result[name]) for name in COLUMNS)


# Damage


def truncate(content):
    return content[: len(content) // 2]


def flip_a_bit(content):
    middle = len(content) * 2 // 3
    return content[:middle] + bytes([content[middle] ^ 4]) + content[middle + 1 :]


@pytest.mark.parametrize("damage", [truncate, flip_a_bit, lambda content: b""])
def test_damaged_file_is_reported_once_and_computed_again(folder, played, damage):
    cold = study(20)
    path = files(folder)[1]
    path.write_bytes(damage(path.read_bytes()))
    played.clear()
    with pytest.warns(store.StoreWarning, match="1 file.* damaged") as caught:
        again = study(20)
    assert len(caught) == 1 and played == [(7, 14)] and same(cold, again)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert same(cold, study(20))


def test_every_single_bit_counts(folder):
    study(3)
    content = bytearray(files(folder)[0].read_bytes())
    shelf = store.Shelf(Study(LUCB, SameBandit(BANDIT), 1, (60, 200)))
    header, layout = shelf._header(0, 3), shelf.study.layout(3)
    assert set(store.unpack(bytes(content), header, layout)) == set(layout)
    for place in range(len(content)):
        content[place] ^= 1 << place % 8
        with pytest.raises(ValueError):
            store.unpack(bytes(content), header, layout)
        content[place] ^= 1 << place % 8


def test_file_of_another_study_is_not_taken(folder, played):
    """Its checksum is right; what it says of itself is not."""
    study(7, seed=2)
    content = files(folder)[0].read_bytes()
    store.clear()
    study(7)
    files(folder)[0].write_bytes(content)
    with pytest.warns(store.StoreWarning):
        assert same(study(7), unstored(7))


@pytest.mark.parametrize("dtype", ["|O", "<U9", "<f8", "nonsense"])
def test_nothing_in_a_file_is_executed(folder, tmp_path, dtype):
    """A file with a right checksum and a pickle where the array should be."""
    study(7)
    path = files(folder)[0]
    shelf = store.Shelf(Study(LUCB, SameBandit(BANDIT), 1, (60, 200)))
    arrays = [[name, dtype, list(shape)] for name, (_, shape) in shelf.study.layout(7).items()]
    line = json.dumps(shelf._header(0, 7) | {"arrays": arrays}).encode() + b"\n"

    class Bomb:
        def __reduce__(self):
            return os.mkdir, (str(tmp_path / "executed"),)

    content = store.MAGIC + line + pickle.dumps(Bomb()) * 1000
    path.write_bytes(content + store.hashlib.sha256(content).digest())
    with pytest.warns(store.StoreWarning):
        assert same(study(7), unstored(7))
    assert not (tmp_path / "executed").exists()


def test_nested_header_does_no_harm(folder):
    study(7)
    content = store.MAGIC + b"[" * 200_000 + b"\n"
    files(folder)[0].write_bytes(content + store.hashlib.sha256(content).digest())
    with pytest.warns(store.StoreWarning):
        assert same(study(7), unstored(7))


# Full and unwritable disks


def test_unwritable_store_is_reported_once(tmp_path):
    (tmp_path / "file").write_text("")
    store.configure(path=tmp_path / "file" / "store")
    with pytest.warns(store.StoreWarning, match="not kept") as caught:
        assert same(study(20), unstored(20))
        assert same(study(20), unstored(20))
    assert len(caught) == 1


def test_full_disk(folder, tmp_path):
    """The kernel cuts every file off after 1,000 bytes, in the middle of a write."""
    code = """
import resource, warnings, numpy as np, topk
topk.store.LEAST = 0.0
topk.run(topk.Uniform(1, budget=2), topk.BernoulliBandit([0, 1]))  # compiled from here on
resource.setrlimit(resource.RLIMIT_FSIZE, (1000, 1000))
with warnings.catch_warnings(record=True) as caught:
    warnings.simplefilter("always")
    bandit = topk.BernoulliBandit(np.linspace(0.9, 0.1, 50))
    for _ in range(2):
        reps = topk.replicate(topk.Uniform(3, budget=10_000), bandit, 40, chunk=20)
print(int(reps.sums.sum()), len(caught), caught[0].message)
"""
    environment = os.environ | {"PYTHONPATH": str(ROOT)}
    result = subprocess.run(
        [sys.executable, "-c", code], env=environment, capture_output=True, text=True, check=True
    )
    bandit = topk.BernoulliBandit(np.linspace(0.9, 0.1, 50))
    total, count, message = result.stdout.split(maxsplit=2)
    assert int(count) == 1 and "File too large" in message
    assert [path for path in folder.rglob("*") if path.is_file()] == []
    reps = topk.replicate(topk.Uniform(3, budget=10_000), bandit, 40)
    assert int(total) == reps.sums.sum()


def test_failure_in_the_middle_of_a_write_leaves_nothing(folder, monkeypatch):
    def fail(*_):
        raise OSError(28, "No space left on device")

    for step in ("fsync", "replace"):
        with monkeypatch.context() as patch:
            patch.setattr(os, step, fail)
            store._said.clear()
            with pytest.warns(store.StoreWarning, match="No space left"):
                assert same(study(20), unstored(20))
        assert [path for path in folder.rglob("*") if path.is_file()] == []


def test_half_written_file_is_never_read(folder, played):
    study(7)
    path = files(folder)[0]
    path.rename(path.with_name(f".{path.name}.{'0' * 32}.part"))
    played.clear()
    assert same(study(7), unstored(7)) and played[0] == (0, 7)


def test_folder_removed_by_another_process(folder, monkeypatch):
    """Between making the folder and writing into it; it is made again."""
    write, calls = store.write_whole, []

    def disturbed(path, content):
        calls.append(path)
        if len(calls) == 1:
            path.parent.rmdir()
        write(path, content)

    monkeypatch.setattr(store, "write_whole", disturbed)
    study(7)
    assert len(calls) == 2 and len(files(folder)) == 1


# Size


def test_what_was_not_used_for_longest_is_removed(folder):
    for seed in range(6):
        study(7, seed)
        path = max(files(folder), key=lambda path: path.stat().st_mtime_ns)
        os.utime(path, (1000 + seed, 1000 + seed))
    study(7, 0)  # reading is using
    before = store.info()
    assert before.files == before.studies == 6
    store.configure(limit=before.bytes * 4 // 6)
    study(7, 6)
    left = store.info()
    assert left.bytes <= left.limit and left.files >= 3
    kept = {json.loads(p.read_bytes().split(b"\n")[1])["study"]["seed"] for p in files(folder)}
    assert {0, 6} <= kept and not {1, 2, 3} & kept
    assert len(list(folder.iterdir())) == left.studies  # no empty folders


def test_limit_holds_while_a_study_runs(folder):
    store.configure(limit=30_000)
    for seed in range(20):
        assert same(study(50, seed, chunk=5), unstored(50, seed))
        assert store.info().bytes <= 1.05 * 30_000


def test_a_full_store_is_seldom_measured(folder, monkeypatch):
    """At the limit, too: every measurement looks at all files."""
    measured = []
    find = store._files
    monkeypatch.setattr(store, "_files", lambda root: measured.append(root) or find(root))
    store.configure(limit=300_000)
    for seed in range(300):  # three files each, a kilobyte a file
        topk.replicate(LUCB, BANDIT, runs=10, seed=seed, chunk=4)
    assert store.info().bytes <= 300_000 * 1.02
    assert len(measured) < 200


def test_file_above_the_limit_is_not_kept(folder):
    store.configure(limit=100)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert same(study(7), unstored(7))
    assert files(folder) == []


def test_clear_removes_only_what_is_its_own(folder):
    study(7)
    part = files(folder)[0].with_name(".x.part")
    mine = [folder / "notes.txt", folder / ("0" * 64) / "0-1.topk.txt", part.with_name("data")]
    for path in [*mine, part]:
        path.parent.mkdir(exist_ok=True)
        path.write_text("")
    store.clear()
    assert sorted(path for path in folder.rglob("*") if path.is_file()) == sorted(mine)
    assert store.info().files == 0


def test_bad_settings_are_refused_by_name():
    for limit in (0, -1, 1.5, "many", True):
        with pytest.raises(ValueError, match="limit"):
            store.configure(limit=limit)
    with pytest.raises(ValueError, match="path"):
        store.configure(path=3)


def test_default_folder(monkeypatch, tmp_path):
    monkeypatch.delenv("TOPK_STORE")
    assert store.folder() == ROOT / "_build" / "store"
    monkeypatch.setattr("topk.kernels.cache.PACKAGE", tmp_path / "site-packages" / "topk")
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    assert store.folder() == tmp_path / "topk" / "store"


# What a study is filed under


def test_everything_that_decides_is_part_of_the_key(monkeypatch):
    means = BANDIT.means

    def key(strategy=LUCB, bandits=None, seed=1, checkpoints=(60,), measures=None):
        bandits = bandits or SameBandit(BANDIT)
        return identity.digest(Study(strategy, bandits, seed, checkpoints, measures).description())

    higher = np.nextafter(means, 1)
    keys = [
        key(),
        key(topk.LUCB1(3, epsilon=0.1, delta=0.1)),
        key(topk.LUCB1(3, epsilon=0.2, delta=0.1, budget=500)),
        key(topk.SAR(3, budget=500)),
        key(topk.Uniform(3, budget=500)),
        key(bandits=SameBandit(topk.BernoulliBandit(higher))),
        key(bandits=SameBandit(topk.BernoulliBandit(means[::-1]))),
        key(bandits=SameBandit(topk.ReplayBandit([[m] for m in means]))),
        key(bandits=SameBandit(topk.ReplayBandit([[m, m] for m in means]))),
        key(bandits=SameBandit(topk.BetaBandit(means, 1 - means))),
        key(bandits=SameBandit(topk.TruncatedNormalBandit(means, 0.1))),
        key(bandits=SameBandit(topk.TruncatedNormalBandit(means, 0.2))),
        key(seed=2),
        key(checkpoints=()),
        key(checkpoints=(60, 61)),
        key(measures=Measures()),
        key(measures=Measures(0.1)),
    ]
    for name in ("numpy", "numba"):
        monkeypatch.setattr("topk.study.versions", lambda n=name: identity.versions() | {n: "0"})
        keys.append(key())
    monkeypatch.setattr("topk.study.module_code", lambda name: "other")
    keys.append(key())
    assert len(set(keys)) == len(keys)
    monkeypatch.undo()
    assert key() == keys[0]


def test_studies_of_bandits_of_all_kinds_do_not_mix(played):
    """What is read is compared with what is played, for each kind of `bandit`."""
    many = [topk.BernoulliBandit(np.roll(BANDIT.means, shift)) for shift in range(9)]
    kinds = [BANDIT, many, many[::-1], partial(topk.instances.unif01, 12), lambda rng: BANDIT]
    wanted = [unstored(9, bandit=bandit) for bandit in kinds]
    played.clear()
    for _ in range(2):
        for bandit, reps in zip(kinds, wanted, strict=True):
            assert same(study(9, bandit=bandit), reps)
    assert len(played) == 2 * len(kinds)  # two portions each, the first time only


def test_what_cannot_be_named_is_not_kept(folder, caplog):
    class Hidden(topk.BernoulliBandit):
        def __init__(self, means):
            super().__init__(means)
            self.rng = np.random.default_rng(0)

    with caplog.at_level(logging.INFO, "topk.store"):
        assert same(study(7, bandit=Hidden(BANDIT.means)), unstored(7))
    assert "not kept" in caplog.text and files(folder) == []


@dataclass(frozen=True)
class Alternate(topk.Strategy):
    """A strategy in plain Python: every arm in turn."""

    k: int
    budget: int

    def ask(self, view):
        if view.total >= self.budget:
            return [], []
        return [view.total % view.n], [1]


def test_plain_strategy_of_ones_own_is_kept(folder, played):
    for _ in range(2):
        study(7, strategy=Alternate(2, budget=30), checkpoints=None)
    assert played == [(0, 7)]


def test_changed_sources_are_noticed(folder, monkeypatch, caplog):
    """The process runs the old sources; their plays are not filed under the new ones."""
    monkeypatch.setattr(identity, "IMPORTED", "other")
    identity.module_code.cache_clear()
    with caplog.at_level(logging.INFO, "topk.store"):
        study(7)
    assert "sources have changed" in caplog.text and files(folder) == []
