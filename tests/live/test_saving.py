"""Files of studies: JSON for any reader, one writer at a time, work in flight after a crash."""

import json
import os
import shutil
import stat
import subprocess
import sys
import threading

import numpy as np
import pytest

import topk
from topk._json import LARGEST, from_json, to_json
from topk.live import files
from topk.live.files import digest

STRATEGIES = [topk.KLLUCB(1, 0, 0.1), topk.TopTwo(1, 0, 0.1), topk.BettingLUCB(1, 0, 0.1),
              topk.SAR(1, 60), topk.Racing(1, 0.1, 0.1), topk.UGapEc(1, 0.1, 0.1, variance=True)]


def study(strategy=STRATEGIES[0]):
    session = strategy.start(["a", "b"], rng=2**62 + 1)
    session.tell(*session.ask(2)[:1], [0.1, 0.7])
    session.ask(3)
    return session


SESSIONS = [*map(study, STRATEGIES)]


def numbers(value):
    """Yield all numbers in JSON values."""
    if isinstance(value, dict | list):
        for item in value.values() if isinstance(value, dict) else value:
            yield from numbers(item)
    elif isinstance(value, int | float) and not isinstance(value, bool):
        yield value


@pytest.mark.parametrize("session", SESSIONS, ids=lambda x: type(x.strategy).__name__)
def test_readers_whose_numbers_are_floats_change_no_state(session):
    state = session.state()
    assert all(abs(x) <= LARGEST for x in numbers(state) if isinstance(x, int))
    text = json.dumps(state)
    floats = json.dumps(json.loads(text, parse_int=float))
    sorted_keys = json.dumps(json.loads(text), sort_keys=True, indent=2)
    for back in (floats, sorted_keys):
        assert topk.resume(back).state() == state


@pytest.mark.skipif(not shutil.which("node"), reason="no JavaScript here")
def test_javascript_changes_no_state():
    read = "let t='';process.stdin.on('data',d=>t+=d).on('end',()=>"
    read += "console.log(JSON.stringify(JSON.parse(t))))"
    for session in SESSIONS:
        text = json.dumps(session.state())
        back = subprocess.run(["node", "-e", read], input=text, capture_output=True, text=True)
        assert topk.resume(back.stdout).state() == session.state()


def test_numbers_and_arrays_survive_json():
    value = {"a": 2**64, "b": [1, -(2**70), 0.1, float("inf"), True, None, "2"], "$x": {"$y": 1},
             "c": np.arange(6).reshape(2, 3), "d": np.array([[0.5, np.nan]]), "e": np.int64(2**60),
             "f": np.zeros((0, 2)), "g": np.array([2**62])}  # fmt: skip
    back = from_json(json.loads(json.dumps(to_json(value), allow_nan=False)))
    assert all(np.array_equal(back[x], value[x], equal_nan=True) for x in "cdfg")
    assert [back[x].shape for x in "cdf"] == [(2, 3), (1, 2), (0, 2)]
    for name in "abe":
        assert back[name] == value[name]
    assert back["$x"] == {"$y": 1} and digest(to_json(value)) == digest(to_json(back))


# One writer


def test_a_file_that_another_session_saved_is_not_replaced(tmp_path):
    path = tmp_path / "study.json"
    study().save(path)
    first, second = topk.load(path), topk.load(path)
    first.observe(["a", "b"], [1, 0]).save(path)
    with pytest.raises(ValueError, match="^path: .*neither loaded nor saved"):
        second.observe(["a", "b"], [1, 1]).save(path)
    assert topk.load(path).state() == first.state()
    first.observe(["a"], [1]).save(path)  # and again
    with pytest.raises(ValueError, match="overwrite"):
        study().save(path)
    second.save(path, overwrite=True)
    assert topk.load(path).state() == second.state()
    topk.resume(second.state()).save(path)  # equal, so that nothing is lost
    second = topk.load(path)
    again = topk.load(path).with_arms(["c"])
    again.save(path)
    assert topk.load(path).n == 3


def test_other_files_are_not_replaced_and_empty_ones_are(tmp_path):
    path = tmp_path / "notes.txt"
    path.write_text("mine")
    with pytest.raises(ValueError, match="^path: "):
        study().save(path)
    assert path.read_text() == "mine"
    study().save(path, overwrite=True)
    path.write_text("")
    study().save(path)
    with pytest.raises(ValueError, match="^overwrite must be"):
        study().save(path, overwrite=1)


def test_of_many_writers_one_wins(tmp_path):
    """Without a lock some of them would read the revision before another one has replaced it."""
    path = tmp_path / "study.json"
    study().save(path)
    sessions = [topk.load(path).observe(["a"], [x / 8]) for x in range(8)]
    refused = []

    def save(session):
        try:
            session.save(path)
        except ValueError as error:
            refused.append(error)

    threads = [threading.Thread(target=save, args=[session]) for session in sessions]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(refused) == 7 and [*tmp_path.iterdir()] == [path]


FOREIGN = ['{"revision": null, "precious": 1}', '{"revision": null}', "[]", "null", '"text"',
           '{"library": "x", "revision": null, "session": {}}', "a,b\n", "\x00\xff",
           '{"library": "x", "revision": "r", "session": {}, "more": 1}']


@pytest.mark.parametrize("text", FOREIGN)
def test_a_file_is_replaced_only_if_it_has_exactly_the_keys_of_a_study(text, tmp_path):
    path = tmp_path / "settings.json"
    path.write_text(text, encoding="utf-8")
    with pytest.raises(ValueError, match="it is no study, or damaged"):
        study().save(path)
    assert path.read_text(encoding="utf-8") == text


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="pipes of Unix")
@pytest.mark.parametrize("overwrite", [False, True])
def test_a_pipe_is_neither_read_nor_replaced(overwrite, tmp_path):
    path = tmp_path / "pipe"
    os.mkfifo(path)
    with pytest.raises(ValueError, match="path must be that of an ordinary file"):
        study().save(path, overwrite=overwrite)
    assert stat.S_ISFIFO(path.stat().st_mode) and [*tmp_path.iterdir()] == [path]


KILLED = """
import os, sys, topk
from topk import store
session = topk.load(sys.argv[1])
store.os.replace = lambda *_: os._exit(9)  # as if killed before the file is in its place
session.observe(["a"], [1]).save(sys.argv[1])
"""


def test_what_a_killed_process_leaves_goes_with_the_next_save(tmp_path):
    path, session = tmp_path / "study.json", study()
    session.save(path)
    for _ in range(2):
        assert subprocess.run([sys.executable, "-c", KILLED, str(path)]).returncode == 9
    assert len([*tmp_path.iterdir()]) == 2 and topk.load(path).state() == session.state()
    session.observe(["a"], [1]).save(path)
    assert [*tmp_path.iterdir()] == [path]


@pytest.mark.parametrize("can_lock_folders", [True, False])
def test_one_process_at_a_time_has_the_lock(can_lock_folders, tmp_path, monkeypatch):
    """Where folders cannot be locked, as on Windows, a file in the folder is."""
    code = "import sys; from pathlib import Path; from topk.live import files\n"
    if not can_lock_folders:
        pytest.importorskip("filelock")
        monkeypatch.setattr(files, "fcntl", None)
        code += "files.fcntl = None\n"
    code += "with files.alone_in(Path(sys.argv[1])): print('in')"
    with files.alone_in(tmp_path):
        other = subprocess.Popen([sys.executable, "-c", code, str(tmp_path)],
                                 stdout=subprocess.PIPE, text=True)  # fmt: skip
        with pytest.raises(subprocess.TimeoutExpired):
            other.wait(3)
    assert other.communicate(timeout=60)[0] == "in\n"


def test_an_interrupt_while_the_lock_is_taken_leaves_it_open(tmp_path, monkeypatch):
    def interrupted(*_):
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr(files.fcntl, "flock", interrupted)
        with pytest.raises(KeyboardInterrupt), files.alone_in(tmp_path):
            pass
    study().save(tmp_path / "study.json")  # does not wait
    assert topk.load(tmp_path / "study.json").state()["digest"]


@pytest.mark.skipif(os.name == "nt", reason="modes and links of Unix")
def test_mode_and_link_stay(tmp_path):
    path, link, session = tmp_path / "real.json", tmp_path / "link.json", study()
    session.save(path)
    path.chmod(0o600)
    link.symlink_to(path)
    session.observe(["a"], [1]).save(link)
    assert link.is_symlink() and stat.S_IMODE(path.stat().st_mode) == 0o600
    assert topk.load(path).state() == session.state()


def test_errors_name_the_path_that_was_given(tmp_path):
    path = tmp_path / "missing" / "study.json"
    with pytest.raises(FileNotFoundError) as caught:
        study().save(path)
    assert str(path) in str(caught.value) and ".part" not in str(caught.value)


# After a crash


@pytest.mark.parametrize(
    "strategy", [topk.SAR(1, 60), topk.OptMAI(1, 60), topk.KLLUCB(1, 0.1, 0.1, budget=60)],
    ids=lambda x: type(x).__name__,
)
def test_pulls_in_flight_are_given_back(strategy, tmp_path):
    session = strategy.start(["a", "b", "c"], rng=0)
    session.ask(60)
    session.save(tmp_path / "study.json")
    again = topk.load(tmp_path / "study.json")
    assert again.ask(5)[0].size == 0
    assert "60 in flight" in again.summary() and "lost" in again.summary()
    again.lost(again.names, again.in_flight)
    both = [again, topk.load(tmp_path / "study.json", lost=True)]
    assert both[0].state() == both[1].state()
    for one in both:
        assert "lost" not in one.summary()
        while not one.done:
            arms, counts = one.ask(5)
            one.tell(arms, sums=counts * (arms == "a"), counts=counts)
        assert one.selected.tolist() == ["a"]
