"""A session changes as a whole or not at all: interrupts at every line, errors, warnings, forks."""

import os
import sys
import threading
import time
import warnings
from dataclasses import dataclass
from functools import partial
from pathlib import Path

import numpy as np
import pytest

import topk
from topk.live import session as module

LIVE = str(Path(module.__file__).parents[1])


class Stop(KeyboardInterrupt):
    """Ctrl-C."""


def traced(act, where=None):
    """Call ``act``; return the library's lines that it reaches, or whether it stops at one of them.

    A line is interrupted when it is reached for the last time, since its first time may be a check.
    """
    lines, left = {}, where and where[1]

    def trace(frame, event, argument):
        nonlocal left
        if not frame.f_code.co_filename.startswith(LIVE):
            return None
        if event == "line":
            line = frame.f_code.co_filename, frame.f_lineno
            lines[line] = lines.get(line, 0) + 1
            if where and line == where[0]:
                left -= 1
                if left == 0:
                    sys.settrace(None)
                    raise Stop
        return trace

    before = sys.gettrace()
    try:
        sys.settrace(trace)
        act()
    except Stop:
        return True
    finally:
        sys.settrace(before)
    return lines if where is None else False


@dataclass(frozen=True)
class Draws(topk.Rounds):
    """A rule that draws at random."""

    k: int
    budget: int
    random = True

    @topk.rule
    def share(s):
        return 1 if s.rng.random() < 0.5 else 2

    @topk.rule
    def decide(s):
        pass


@dataclass(frozen=True)
class Plain(topk.Strategy):
    """A strategy in plain Python with a memory."""

    k: int

    def ask(self, view):
        view.memory.setdefault("asked", []).append(view.total)
        return range(view.n), [1] * view.n


def simple(strategy, **more):
    return strategy.start(3, rng=1, **more).tell([0, 1, 2], [1.0, 0.0, 1.0]), [0, 1, 2]


def changes():
    """Yield a title, a session, and a call that changes it."""
    rules = {
        "betting": topk.BettingLUCB(1, 0, 0.05), "kl": topk.KLLUCB(1, 0, 0.05, budget=90),
        "sar": topk.SAR(1, 60), "racing": topk.Racing(1, 0.1, 0.1), "two": topk.TopTwo(1, 0, 0.1),
        "random": Draws(1, 60), "plain": Plain(1),
    }  # fmt: skip
    for name, strategy in rules.items():
        session, arms = simple(strategy)
        asked = session.ask()[0]
        yield f"tell {name}", session, lambda s, a=asked: s.tell(a, [1.0] * len(a))
        yield f"observe {name}", session, lambda s, a=arms: s.observe(a * 3, [0, 0.5, 1] * 3)
        yield f"ask {name}", topk.resume(session.state()), lambda s: s.ask(4)
        session.ask(5)
        yield f"lost {name}", session, lambda s: s.lost(range(3), s.in_flight)
        if name not in ("plain",):
            yield f"withdraw {name}", session, lambda s: s.withdraw(1)
    session, arms = simple(topk.KLLUCB(1, 0.1, 0.1), sigma=0.1)
    yield "sigma", session, lambda s: s.observe([0, 1], [3.0, -3.0])
    cells = topk.KLLUCB(1, 0, 0.1).start(["a", "b"], items=9, rng=1)
    asked = cells.ask_cells(5)
    yield "tell_cells", cells, lambda s, a=asked: s.tell_cells(*a, [1, 0, 1, 0, 1])
    yield "lost_cells", cells, lambda s, a=asked: s.lost_cells(*a)
    yield "ask_cells", cells, lambda s: s.ask_cells(3)
    yield "lose_all", cells, lambda s: s.lose_all()
    session, arms = simple(rules["kl"])
    day = {"sums": [2, 1, 2], "counts": [3, 2, 2], "squares": [2, 1, 2]}
    yield "batch", session, lambda s: s.observe(range(3), **day, batch="day 1")
    yield "totals", session, lambda s: s.observe_totals(range(3), **day)
    totals = topk.resume(session.state()).observe_totals(arms, **day)
    yield "correct", totals, lambda s: s.correct(0, 1, 2)
    some = {"graded": (rules["betting"], 1), "pairs": (topk.PairedBetting(1, 0, 0.1), None)}
    for name, (strategy, most) in some.items():
        cells = strategy.start(["a", "b", "c"], items=9, rng=1, withdrawals=most)
        asked = cells.ask_cells(5)
        yield f"void_cells {name}", cells, lambda s, a=asked: s.void_cells(*a)
        yield f"tell_cells {name}", cells, lambda s, a=asked: s.tell_cells(*a, [1, 0, 0.5, 0, 1])
        yield f"withdraw cells {name}", cells, lambda s: s.withdraw("b")


def known(session):
    """Return all that a session knows, as text."""
    return repr(session.state())


@pytest.mark.filterwarnings("ignore::topk.TopkWarning")
@pytest.mark.parametrize(("session", "act"), [x[1:] for x in changes()],
                         ids=[x[0] for x in changes()])
def test_an_interrupt_at_any_line_changes_nothing_or_everything(session, act):
    state, before = session.state(), known(session)
    act(topk.resume(state))  # fills caches
    session = topk.resume(state)
    lines = traced(lambda: act(session))
    after = known(session)
    assert before != after and len(lines) > 20
    session = topk.resume(state)
    for line in lines.items():
        assert traced(partial(act, session), line), line
        assert known(session) in (before, after), line
        if known(session) == after:  # interrupted after the step
            session = topk.resume(state)


def test_a_warning_made_an_error_changes_nothing():
    means = topk.LUCB1(1, 0.1, 0.1).start(3)
    scale = topk.LUCB1(1, 0.1, 0.1).start(3, sigma=1.0).tell([0, 1, 2], [0, 0, 0])
    for session, told in ((means, ([0, 1, 2], [0.5, 0.25, 0.75], [10, 10, 10])),
                          (scale, ([0, 1, 2], [100.0, -50.0, 3.0]))):
        before = known(session)
        with pytest.raises(topk.TopkWarning):
            session.observe(*told)
        assert known(session) == before
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            session.observe(*told)
        assert session.pulls.sum() > 3


def test_an_error_of_a_rule_changes_nothing():
    @dataclass(frozen=True)
    class Fails(topk.Strategy):
        k: int

        def ask(self, view):
            if view.total > 3:
                raise ZeroDivisionError("in the rule")
            return range(view.n), [1] * view.n

    session = Fails(1).start(3).tell([0, 1, 2], [0, 1, 0])
    before = known(session)
    with pytest.raises(ZeroDivisionError):
        session.tell([0, 1, 2], [1, 1, 1])
    assert known(session) == before
    assert session.tell([0], [1]).pulls.tolist() == [2, 1, 1]


needs_fork = pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork here")


def joined(child):
    """Return whether a child ended by itself within ten seconds."""
    for _ in range(1000):
        pid, code = os.waitpid(child, os.WNOHANG)
        if pid:
            return code == 0
        time.sleep(0.01)
    os.kill(child, 9)
    os.waitpid(child, 0)
    return False


@needs_fork
def test_two_threads_fork_while_a_third_is_inside_a_session():
    sessions = [topk.LUCB1(1, 0.1, 0.1).start(3) for _ in range(3)]
    inside, free = threading.Event(), threading.Event()

    def busy():
        with sessions[0].lock:
            inside.set()
            free.wait(10)

    def forks():
        child = os.fork()
        if child == 0:
            ok = all(session.lock.acquire(timeout=5) for session in sessions)
            os._exit(not ok)
        assert joined(child)

    threads = [threading.Thread(target=x) for x in (busy, forks, forks)]
    threads[0].start()
    inside.wait(10)
    for thread in threads[1:]:
        thread.start()
    for thread in threads[1:]:
        thread.join(20)
    free.set()
    threads[0].join(20)
    assert not any(thread.is_alive() for thread in threads)
    assert all(session.lock.acquire(timeout=5) for session in sessions)


@needs_fork
def test_a_fork_while_another_thread_saves_and_begins_sessions(tmp_path):
    mine, other = topk.LUCB1(1, 0.1, 0.1).start(3), topk.LUCB1(1, 0.1, 0.1).start(100)
    end = threading.Event()

    def works():
        while not end.is_set():
            other.save(tmp_path / "a.json")
            topk.LUCB1(1, 0.1, 0.1).start(3)

    thread = threading.Thread(target=works)
    thread.start()
    try:
        for number in range(5):
            child = os.fork()
            if child == 0:
                mine.save(tmp_path / f"b{number}.json")
                os._exit(0)
            assert joined(child)
    finally:
        end.set()
        thread.join(20)
    assert topk.load(tmp_path / "b4.json").state() == mine.state()


def test_copies_share_nothing_that_changes():
    session, arms = simple(topk.SAR(1, 60))
    twin = topk.resume(session.state())
    session.observe(np.array([0] * 30), np.ones(30))
    assert twin.pulls.tolist() == [1, 1, 1] and session.pulls.tolist() == [31, 1, 1]
