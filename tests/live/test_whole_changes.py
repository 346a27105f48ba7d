"""A session changes as a whole or not at all: interrupts at every line, errors, warnings, forks."""

import contextlib
import os
import threading
import time
import warnings
from dataclasses import dataclass
from functools import partial

import numpy as np
import pytest
from interrupts import PLACES, check_each_line, interrupted, known, lines_of

import topk


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
    session, arms = simple(rules["kl"])
    day = {"sums": [2, 1, 2], "counts": [3, 2, 2], "squares": [2, 1, 2]}
    yield "batch", session, lambda s: s.observe(range(3), **day, batch="day 1")
    yield "totals", session, lambda s: s.observe_totals(range(3), **day)
    totals = topk.resume(session.state()).observe_totals(arms, **day)
    yield "correct", totals, lambda s: s.correct(0, 1, 2)
    session, arms = simple(rules["kl"])
    session.ask(5)
    yield "lose_all", session, lambda s: s.lose_all()


@pytest.mark.filterwarnings("ignore::topk.TopkWarning")
@pytest.mark.parametrize(("session", "act"), [x[1:] for x in changes()],
                         ids=[x[0] for x in changes()])
def test_an_interrupt_at_any_line_changes_nothing_or_everything(session, act):
    check_each_line(session, act)


def test_a_file_is_the_old_or_the_new_one_wherever_saving_is_interrupted(tmp_path):
    path, (session, arms) = tmp_path / "study.json", simple(topk.KLLUCB(1, 0, 0.05))
    session.save(path)
    old, before = path.read_text(), known(session)
    session.observe(arms, [1, 0, 1])
    after, state = known(session), session.state()

    def again():
        path.write_text(old)
        return topk.load(path).observe(arms, [1, 0, 1])

    again().save(path)  # fills caches
    lines = lines_of(partial(again().save, path), *PLACES)
    assert len(lines) > 20 and any(contextlib.__file__ in line for line in lines)
    for line in lines:  # for the first time: later ones may be of what is thrown away
        session = again()
        error = interrupted(partial(session.save, path), line, 1, *PLACES)  # with its frames
        assert error is not None, line
        assert known(topk.load(path)) in (before, after) and session.state() == state, line
        session.save(path, overwrite=True)
        assert known(topk.load(path)) == after, line
    assert [x.name for x in tmp_path.iterdir()] == ["study.json"]


def test_a_warning_made_an_error_changes_nothing():
    means = topk.LUCB1(1, 0.1, 0.1).start(3)
    scale = topk.LUCB1(1, 0.1, 0.1).start(3, sigma=1.0).tell([0, 1, 2], [0, 0, 0])
    for session, told in ((means, ([0, 1, 2], [0.5, 0.25, 0.75], [10, 10, 10])),
                          (scale, ([0, 1, 2], [100.0, -50.0, 3.0]))):
        before = known(session)
        with warnings.catch_warnings(), pytest.raises(topk.TopkWarning):
            warnings.simplefilter("error")
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
