"""The store of runs: correctness, interruption, damage and keys."""

import io
import os
import signal
import time
import warnings
from dataclasses import astuple, dataclass
from functools import partial
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest
from processes import environment, running

import topk
from topk import store
from topk.simulate.run import Study
from topk.store import (
    Info,
    StoreWarning,
    UnknownBehaviour,
    clear,
    description_of,
    info,
    json_digest,
)

BANDIT = topk.BernoulliBandit(np.linspace(0.9, 0.1, 12))
LUCB = topk.LUCB1(3, epsilon=0.1, delta=0.1, budget=500)


@pytest.fixture(autouse=True)
def folder(tmp_path, monkeypatch):
    """A private store that keeps studies of any length."""
    monkeypatch.setenv("TOPK_STORE", str(tmp_path / "store"))
    monkeypatch.setattr(store, "MIN_SECONDS", 0.0)
    return tmp_path / "store"


@pytest.fixture
def played(monkeypatch):
    """Return the ranges of runs that were made rather than read."""
    ranges, make = [], Study.make
    monkeypatch.setattr(Study, "make", lambda self, *span: ranges.append(span) or make(self, *span))
    return ranges


def study(runs, seed=1, strategy=LUCB, bandit=BANDIT, **options):
    options = {"checkpoints": [60, 200], "chunk": 7} | options
    return topk.replicate(strategy, bandit, runs, seed, **options)


def files(folder):
    return sorted(path for path in folder.rglob("*") if path.is_file())


# Stored runs equal new ones


@pytest.mark.parametrize("keep", ["plays", "summary"])
def test_stored_runs_are_not_made_again(played, keep, folder):
    """Nothing, the longer end, what was cut otherwise, and a gap."""
    unstored = {runs: study(runs, keep=keep, store=False) for runs in (10, 20, 25)}
    assert not folder.exists()
    for runs, chunk, wanted in (
        (10, 7, [(0, 7), (7, 10)]),
        (10, 3, []),
        (25, 9, [(10, 19), (19, 25)]),
        (20, 20, [] if keep == "plays" else [(19, 20)]),  # a part of a sum is no sum
    ):
        played.clear()
        assert study(runs, keep=keep, chunk=chunk) == unstored[runs]
        assert played == wanted
    next(folder.rglob("*-000000010.npz")).unlink()
    played.clear()
    assert study(25, keep=keep) == unstored[25]
    assert played == [(7, 10)]
    assert {a.dtype for a in vars(study(10)).values() if isinstance(a, np.ndarray)} == {
        np.dtype(name) for name in ("int64", "float64", "bool")
    }


@pytest.mark.parametrize("keep", ["plays", "summary"])
def test_overlapping_portions_are_used_once(played, keep):
    """Two drivers that cut differently leave such portions."""
    own = Study(LUCB, BANDIT, 1, (60, 200), keep, shape=(12,))
    for span in ((0, 6), (4, 17), (12, 20)):
        store.StudyFiles(own, None).add(*span, own.make(*span), 1.0)
    played.clear()
    found = study(20, keep=keep)
    assert played == ([] if keep == "plays" else [(6, 12)])  # a part of a sum is no sum
    assert found == study(20, keep=keep, store=False)


def test_real_rewards_and_given_bandits_are_kept_exactly(played):
    for kind in (topk.BetaBandit, topk.TruncatedNormalBandit):
        scale = 0.3 if kind is topk.TruncatedNormalBandit else BANDIT.means + 0.1
        bandits = [kind(np.roll(BANDIT.means, i), scale) for i in range(9)]
        played.clear()
        first, again = (study(9, bandit=bandits) for _ in range(2))
        assert len(played) == 2 and first == again == study(9, bandit=bandits, store=False)
        assert not (again.sums == np.round(again.sums)).all()


def test_moments_of_work_leave_no_files_and_a_large_portion_none(folder, monkeypatch):
    monkeypatch.setattr(store, "MIN_SECONDS", 1e6)
    study(20)
    monkeypatch.setattr(store, "MIN_SECONDS", 0.0)
    monkeypatch.setattr(store, "MAX_BYTES", 100)
    study(20)
    assert files(folder) == []


def test_where_the_store_is(folder, tmp_path, monkeypatch):
    other = tmp_path / "other"
    study(7, store=str(other))
    assert astuple(info(other))[:3] == (other, 1, 1) and info() == Info(folder, 0, 0, 0)
    assert info(True).path == folder and info(False).path is None
    for text in ("off", ""):
        monkeypatch.setenv("TOPK_STORE", text)
        assert info() == Info(None, 0, 0, 0)
        study(7)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    study(7, store=True)
    assert astuple(info(True))[:3] == (tmp_path / "topk" / "store", 1, 1)
    assert not folder.exists()
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv("TOPK_STORE", "~/runs")
    assert info().path == info("~/runs").path == tmp_path / "runs"


def test_clear_removes_only_what_is_its_own(folder):
    study(7)
    path = files(folder)[0]
    part = path.with_name(f".{'0' * 32}.part")
    mine = [folder / "notes.txt", folder / "0-1.npz", path.with_name("0-1.npz.txt")]
    for file in (*mine, part):
        file.write_text("")
    assert info().bytes == path.stat().st_size
    clear()
    assert files(folder) == sorted(mine)
    for file in mine:
        file.unlink()
    study(7, seed=2)
    clear()
    assert info().files == 0 and len(list(folder.iterdir())) == 1  # where a file of mine was


# Interruption


DRIVER = """
import os, time, numpy as np, topk
from topk import store
from topk.simulate import run as simulate
from topk.engine.streams import INSTANCE, stream
store.MIN_SECONDS, simulate.TRIAL_SECONDS = 0.0, 0.0
simulate.choose_workers = lambda *_: "processes"
marks = [int(stream(5, play, INSTANCE).integers(2**62)) for play in range(60)]

def draw(rng):
    '''Draw an instance, and leave a note that tells which play this was.'''
    play = marks.index(int(rng.integers(2**62)))
    with open(os.environ["PLAYED"], "ab", buffering=0) as file:
        file.write(b"%d\\n" % play)
    if play >= int(os.environ["ENDLESS"]):
        time.sleep(1000)
    return topk.BernoulliBandit(rng.random(8))

draw.version = 1
reps = topk.replicate(topk.SAR(2, budget=100), draw, 60, seed=5, jobs=JOBS, chunk=5)
np.save(os.environ["RESULT"], reps.sums)
"""


def start_driver(tmp_path, name, jobs, endless=60):
    """Start a program that plays a study of 60 plays; those from ``endless`` on do not end."""
    played, result = str(tmp_path / "played"), str(tmp_path / f"{name}.npy")
    code = DRIVER.replace("JOBS", str(jobs))
    more = environment(PLAYED=played, RESULT=result, ENDLESS=str(endless))
    return running(code, env=more)


@pytest.mark.slow
@pytest.mark.parametrize("jobs", [1, 2])
def test_a_killed_driver_repeats_no_finished_run_and_two_share_a_store(folder, tmp_path, jobs):
    with start_driver(tmp_path, "first", jobs, endless=40) as first:
        try:
            while info().files < 7:
                assert first.poll() is None
                time.sleep(0.01)
        finally:
            first.kill()  # SIGKILL: nothing can be tidied up
    assert first.wait() == -signal.SIGKILL
    spans = [path.stem.split("-") for path in files(folder) if path.suffix == ".npz"]
    finished = [play for begin, end in spans for play in range(int(begin), int(end))]
    assert len(finished) == len(set(finished)) >= 35
    assert max(finished) < 40
    drivers = [start_driver(tmp_path, name, jobs) for name in ("second", "third")]
    for driver in drivers:
        with driver:
            assert driver.wait(timeout=100) == 0
    notes = (tmp_path / "played").read_text().split()
    for play in finished:  # play 0 is drawn once more by each driver, which counts the arms
        assert notes.count(str(play)) == 1 or play == 0
    clear()
    with start_driver(tmp_path, "undisturbed", jobs) as driver:
        assert driver.wait(timeout=100) == 0
    sums = [np.load(tmp_path / f"{n}.npy") for n in ("second", "third", "undisturbed")]
    assert np.array_equal(sums[0], sums[2]) and np.array_equal(sums[1], sums[2])


# Damage


def test_every_single_bit_counts(folder):
    study(3, chunk=3)
    stored = store.StudyFiles(Study(LUCB, BANDIT, 1, (60, 200), shape=(12,)), None)
    (path,) = files(folder)
    content = bytearray(path.read_bytes())
    assert stored._read(0, 3).keys() == {"selected", "pulls", "sums", "total_pulls", "certified"}
    for place in range(len(content)):
        content[place] ^= 1 << place % 8
        path.write_bytes(content)
        assert stored._read(0, 3) is None
        content[place] ^= 1 << place % 8
    for other in (path.with_name("000000003-000000006.npz"), folder / ("0" * 64) / path.name):
        assert store.file_digest(other, content) != store.file_digest(path, content)


class Bomb:
    def __init__(self, place):
        self.place = place

    def __reduce__(self):
        return os.mkdir, (str(self.place),)


def damage(kind, path, tmp_path):
    """Replace a file by something else."""
    content, buffer = path.read_bytes(), io.BytesIO()
    path.unlink()
    np.savez(buffer, **{"pulls.int64": np.array([Bomb(tmp_path / "executed")], dtype=object)})
    if kind == "FIFO":
        os.mkfifo(path)
    elif kind == "device":
        path.symlink_to("/dev/zero")
    elif kind == "folder":
        path.mkdir()
    elif kind == "pickle":
        path.write_bytes(buffer.getvalue() + store.file_digest(path, buffer.getvalue()))
    else:
        path.write_bytes(content)
        os.truncate(path, 2**30 + 1 if kind == "large" else 99)


UNOPENED = ("large", "FIFO", "device", "folder")


@pytest.mark.parametrize("kind", ["cut", "pickle", *UNOPENED])
def test_files_not_written_by_the_store_are_ignored(folder, played, tmp_path, monkeypatch, kind):
    """Nothing in it is executed; neither a FIFO nor an endless device is opened."""
    cold, path, opened, read = study(20), files(folder)[1], [], Path.read_bytes
    damage(kind, path, tmp_path)
    played.clear()
    with monkeypatch.context() as patch, warnings.catch_warnings():
        warnings.simplefilter("error" if kind != "folder" else "ignore")
        patch.setattr(Path, "read_bytes", lambda self: opened.append(self) or read(self))
        assert study(20) == cold and played == [(7, 14)]
        assert (path in opened) == (kind not in UNOPENED)
        assert not (tmp_path / "executed").exists()
        played.clear()
        assert study(20) == cold
    assert played == ([(7, 14)] if kind == "folder" else [])  # replaced by what it should be


def test_an_unwritable_store_and_a_full_disk_are_reported_once(folder, tmp_path, monkeypatch):
    (tmp_path / "file").write_text("")
    with pytest.warns(StoreWarning, match="not stored") as caught:
        assert study(20, store=tmp_path / "file" / "store") == study(20, store=False)
    assert len(caught) == 1

    def fail(*_):
        raise OSError(28, "No space left on device")

    for module, step in ((store, "open"), (os, "replace")):
        with monkeypatch.context() as patch:
            patch.setattr(module, step, fail, raising=False)
            with pytest.warns(StoreWarning, match="No space left"):
                study(20)
        assert files(folder) == []


# The key of a study


@dataclass(frozen=True)
class Alternate(topk.Strategy):
    """A strategy in plain Python that pulls the arms in turn."""

    k: int
    budget: int

    def ask(self, view):
        if view.total >= self.budget:
            return [], []
        return [view.total % view.n], [1]


class Versioned(Alternate):
    version = "1"


def draw(rng):
    return BANDIT


def test_all_inputs_of_a_study_are_part_of_the_key(monkeypatch):
    means = BANDIT.means

    def key(strategy=LUCB, bandit=BANDIT, seed=1, checkpoints=(60,), keep="plays", epsilon=None):
        described = Study(strategy, bandit, seed, checkpoints, keep, epsilon).description()
        return json_digest(described | store.versions())

    many = [topk.BernoulliBandit(np.roll(means, shift)) for shift in range(3)]
    keys = [
        key(),
        key(topk.LUCB1(3, epsilon=0.1, delta=0.1)),
        key(topk.LUCB1(3, epsilon=np.nextafter(0.1, 1), delta=0.1, budget=500)),
        key(topk.SAR(3, budget=500)),
        key(topk.Uniform(3, budget=500)),
        key(Versioned(3, budget=500)),
        *(key(bandit=topk.BernoulliBandit(row)) for row in (np.nextafter(means, 1), means[::-1])),
        key(bandit=topk.MultiBandit([means])),
        *(key(bandit=topk.ReplayBandit([[m] * count for m in means])) for count in (1, 2)),
        key(bandit=topk.BetaBandit(means, 1 - means)),
        *(key(bandit=topk.TruncatedNormalBandit(means, scale)) for scale in (0.1, 0.2)),
        key(bandit=many),
        key(bandit=many[::-1]),
        *(key(bandit=partial(topk.instances.unif01, n)) for n in (12, 13)),
        key(seed=2),
        key(checkpoints=()),
        key(checkpoints=(60, 61)),
        key(keep="summary"),
        key(keep="summary", epsilon=0.1),
    ]
    for version in (1, 2):
        monkeypatch.setattr(draw, "version", version, raising=False)
        monkeypatch.setattr(Versioned, "version", str(version + 1))
        keys += [key(bandit=draw), key(Versioned(3, budget=500))]
    for name in ("topk", "numpy", "numba"):
        changed = store.versions() | {name: "0"}
        monkeypatch.setattr(store, "versions", lambda changed=changed: changed)
        keys.append(key())
    assert len(set(keys)) == len(keys)
    monkeypatch.undo()
    assert key() == keys[0] and key(bandit=topk.BernoulliBandit(means.copy())) == keys[0]


def closure(n, module=__name__):
    def draw(rng):
        return topk.instances.unif01(n, rng)

    draw.__module__ = module
    return draw


@pytest.mark.parametrize("given", [
    {"strategy": Alternate(2, budget=30)},
    {"bandit": closure(12)},
    {"bandit": partial(closure(12))},
    {"bandit": closure(12, "topk.instances")},
    {"bandit": type("Own", (topk.BernoulliBandit,), {})(BANDIT.means)},
], ids=["strategy", "function", "partial", "closure", "bandit"])  # fmt: skip
def test_studies_without_a_key_are_run_and_not_stored(folder, given):
    assert study(7, **{"checkpoints": None} | given).pulls.shape == (7, 12)
    assert files(folder) == []
    with pytest.raises(UnknownBehaviour):
        description_of(next(iter(given.values())))


def test_ones_own_strategy_with_a_version_is_kept(played):
    for _ in range(2):
        study(7, strategy=Versioned(2, budget=30), checkpoints=None)
    assert played == [(0, 7)]


def test_an_edit_of_the_library_is_another_digest(tmp_path):
    for name, text in (("a.py", "x = 1"), ("b/c.py", "y = 1")):
        path = tmp_path / name
        path.parent.mkdir(exist_ok=True)
        path.write_text(text)
    digests = [store.sources_of(tmp_path, {"aside"})]
    (tmp_path / "b/c.py").write_text("y = 2")
    digests.append(store.sources_of(tmp_path, {"aside"}))
    (tmp_path / "b/c.py").rename(tmp_path / "b/d.py")
    digests.append(store.sources_of(tmp_path, {"aside"}))
    assert len(set(digests)) == 3
    assert store.versions()["topk"] not in digests  # of what was imported, not of what lies there


# Who can write to a store

posix_only = pytest.mark.skipif(not hasattr(os, "getuid"), reason="no owners and modes")


def refusal(path):
    """Return the message with which a study with this store is refused."""
    with pytest.raises(ValueError, match=r"^store must be a folder that only you") as caught:
        study(10, store=path)
    return str(caught.value)


@posix_only
@pytest.mark.parametrize("mode", [0o777, 0o757, 0o733])
def test_a_store_to_which_others_can_write_refusal(folder, mode, played):
    study(10)
    folder.chmod(mode)
    played.clear()
    assert f"chmod go-w {folder}" in refusal(folder)
    with pytest.raises(ValueError, match=r"^TOPK_STORE must be a folder that only you"):
        study(10)
    (inner,) = folder.iterdir()
    folder.chmod(0o700)
    inner.chmod(mode)
    assert f"chmod go-w {inner}" in refusal(folder)
    assert played == []
    inner.chmod(mode & 0o755)
    study(10)
    assert played == []


@posix_only
def test_a_sticky_folder_and_readers_are_harmless(folder):
    folder.mkdir()
    for mode in (0o1777, 0o755, 0o500 | 0o200):
        folder.chmod(mode)
        assert study(10) == study(10, store=False)


@posix_only
@pytest.mark.skipif(getattr(os, "getuid", lambda: 1)() != 0, reason="only root gives folders away")
def test_a_store_of_another_user_refusal(folder):
    folder.mkdir()
    os.chown(folder, 65534, 65534)
    assert "belongs to another user (uid 65534)" in refusal(folder)
    assert info(folder).files == 0  # looking and clearing are harmless
    clear(folder)


@posix_only
@pytest.mark.parametrize(
    ("group", "members", "primary", "safe"),
    [
        ("ann", [], 7, True),
        ("ann", ["ann"], 7, True),
        ("ann", ["ann", "bob"], 7, False),
        ("staff", [], 7, False),
        ("ann", [], 8, False),
        (None, [], 7, False),
    ],
)
def test_a_private_group_may_write(folder, monkeypatch, group, members, primary, safe):
    import grp
    import pwd

    def group_of(number):
        if group is None:
            raise KeyError(number)
        return SimpleNamespace(gr_name=group, gr_mem=members)

    folder.mkdir()
    folder.chmod(0o775)
    monkeypatch.setattr(grp, "getgrgid", group_of)
    ann = SimpleNamespace(pw_name="ann", pw_gid=folder.stat().st_gid + primary - 7)
    monkeypatch.setattr(pwd, "getpwuid", lambda number: ann)
    if safe:
        assert study(10) == study(10, store=False)
        folder.chmod(0o777)
    refusal(folder)


@posix_only
def test_the_store_makes_folders_for_its_owner_only(folder, tmp_path, monkeypatch):
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    before = os.umask(0)
    try:
        study(10)
        monkeypatch.delenv("TOPK_STORE")
        study(10, store=True)
    finally:
        os.umask(before)
    cache = tmp_path / "topk" / "store"
    made = [folder, *folder.iterdir(), cache.parent, cache, *cache.iterdir()]
    assert [path.stat().st_mode & 0o777 for path in made] == 5 * [0o700]


def test_nothing_is_checked_where_there_are_no_owners(folder, monkeypatch):
    study(10)
    folder.chmod(0o777)
    monkeypatch.delattr(os, "getuid", raising=False)
    assert study(10) == study(10, store=False)
