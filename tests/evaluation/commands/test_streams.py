"""The streams of a command: closed, full, interrupted, or in place of files."""

import json
import os
import signal
import subprocess
import sys
import time

import pytest

ROWS = [{"model": m, "item": str(i), "score": int(m == "a")} for i in range(1, 41) for m in "ab"]
TABLE = "model,item,score\n" + "".join(f"{x['model']},{x['item']},{x['score']}\n" for x in ROWS)
RANK = ["rank", "r.csv", "-k", "1"]
COMMAND = [sys.executable, "-m", "topk_eval"]


@pytest.fixture
def folder(tmp_path, monkeypatch):
    (tmp_path / "r.csv").write_text(TABLE)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("PYTHONPATH", os.pathsep.join(sys.path))
    return tmp_path


def shell(command):
    """Run a command line of a POSIX shell, in which ``topk`` stands for the command."""
    if os.name != "posix" or not os.path.exists("/dev/full"):
        pytest.skip("the system has no /dev/full")
    words = command.replace("topk", " ".join(COMMAND), 1)
    return subprocess.run(words, shell=True, capture_output=True, text=True)


@pytest.mark.parametrize(("command", "code", "told"), [
    ("topk rank - -k 1 <&-", 2, "topk: standard input is closed; send it a file, or name one\n"),
    ("topk rank r.csv -k 1 >&-", 2,
     "topk: standard output is closed; send it to a file, or to /dev/null\n"),
    ("topk rank none.csv 2>/dev/full", 2, ""), ("topk rank --wrong 2>/dev/full", 2, ""),
    ("topk rank r.csv -k 1 >/dev/full 2>/dev/full", 2, ""),
])
def test_a_stream_that_is_closed_or_full_is_a_line_at_most(folder, command, code, told):
    done = shell(command)
    assert (done.returncode, done.stdout, done.stderr) == (code, "", told)


@pytest.mark.parametrize("there", ["2>/dev/full", "2>&-"])
def test_a_note_that_cannot_be_written_does_not_take_the_answer(folder, there):
    done = shell(f"topk rank r.csv -k 1 {there}")
    assert done.returncode == 0 and "the 1 best settled" in done.stdout


def heeding_interrupts():
    """Let a new program heed Ctrl-C, which one that is started in the background ignores."""
    signal.signal(signal.SIGINT, signal.SIG_DFL)


@pytest.mark.skipif(os.name != "posix", reason="no signals")
def test_an_interrupt_is_no_traceback(folder):
    """Also while the libraries are imported, which is most of the time of a small file."""
    code = """if True:
        import os, signal, sys
        class Interrupts:  # as a finger on the keys would, when numpy is imported
            def find_spec(self, name, path=None, target=None):
                if name == "numpy":
                    os.kill(os.getpid(), signal.SIGINT)
        sys.meta_path.insert(0, Interrupts())
        from topk_eval.commands import main
        sys.argv = ["topk", "rank", "r.csv"]
        main()
    """
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True,
                          preexec_fn=heeding_interrupts)
    assert (done.returncode, done.stdout, done.stderr) == (130, "", "")


@pytest.mark.skipif(os.name != "posix", reason="no signals")
def test_an_interrupt_during_the_work_is_no_traceback(folder):
    os.mkfifo("pipe.csv")  # a file that has no end
    with subprocess.Popen([*COMMAND, "rank", "pipe.csv"], stderr=subprocess.PIPE,
                          preexec_fn=heeding_interrupts) as running:
        with open("pipe.csv", "w"):
            time.sleep(0.1)
            running.send_signal(signal.SIGINT)
            assert running.wait(timeout=60) == 130 and running.stderr.read() == b""


def test_a_fault_of_the_library_is_one_line(line, folder, monkeypatch):
    def fail(*args):
        raise LookupError("no such\nthing")

    monkeypatch.setattr("topk_eval.commands.check.find_results", fail)
    said = line("check", "r.csv")
    assert said.code == 2 and said.err.count("\n") == 1
    assert said.err.startswith("topk: a fault of topk: LookupError: no such\\nthing (test_stream")
    assert "please report it" in said.err
    for end in (KeyboardInterrupt, SystemExit(5)):  # these are none
        def leave(*args, end=end):
            raise end
        monkeypatch.setattr("topk_eval.commands.check.find_results", leave)
        assert line("check", "r.csv").code == (130 if end is KeyboardInterrupt else 5)


class Standard:
    """Standard input with bytes."""

    def __init__(self, data):
        self.buffer = self
        self.data = data

    def read(self):
        data, self.data = self.data, b""
        return data


@pytest.mark.parametrize("data", [
    b"\xef\xbb\xbf" + json.dumps(ROWS).encode(), b"\n \n" + json.dumps(ROWS).encode(),
    b"\xef\xbb\xbf\n" + "".join(json.dumps(row) + "\n" for row in ROWS).encode(),
    b"\xef\xbb\xbf" + TABLE.encode(),
])
def test_the_format_of_standard_input_is_that_of_its_first_letter(line, folder, monkeypatch, data):
    monkeypatch.setattr("sys.stdin", Standard(data))
    assert line("rank", "-", "-k", 1).out == line(*RANK).out != ""


def test_lists_come_from_standard_input_too(line, folder, monkeypatch):
    def given(text, *words):
        monkeypatch.setattr("sys.stdin", Standard(text.encode()))
        return line(*words)

    items = "".join(f"{number}\n" for number in range(1, 51))
    want = line(*RANK, "--items", 50).out
    assert given(items, *RANK, "--items", "-").out == want
    assert given("a\nb\n", *RANK, "--models", "-").out == line(*RANK).out
    said = given("a\na\n", *RANK, "--models", "-")
    assert said.err == ("topk: standard input, line 2: 'a' is already in line 1; remove one of "
                        "them\n")
    words = ["next", "r.csv", "-k", 1, "--items", 50, "--delta", 1e-20, "-n", 2]
    todo = line(*words).out
    assert given(todo, *words, "--todo", "-").out not in ("", todo)


def test_a_dash_is_standard_output(line, folder):
    words = ["next", "r.csv", "-k", 1, "--items", 50, "--delta", 1e-20, "-n", 2]
    assert line(*words, "-o", "-").out == line(*words).out != "" and not os.path.exists("-")
