"""Changes that are interrupted at every line of the library."""

import sys
from functools import partial
from pathlib import Path

import topk

LIBRARY = str(Path(topk.__file__).parents[1] / "topk")  # and topk_eval


class Stop(KeyboardInterrupt):
    """Ctrl-C."""


def traced(act, where=None):
    """Call ``act``; return the library's lines that it reaches, or whether it stops at one of them.

    A line is interrupted when it is reached for the last time, since its first time may be a check.
    """
    lines, left = {}, where and where[1]

    def trace(frame, event, argument):
        nonlocal left
        if not frame.f_code.co_filename.startswith(LIBRARY):
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


def check_each_line(study, act):
    """Interrupt a change of a study at each line: it changes nothing or everything."""
    cls, state, before = type(study), study.state(), known(study)
    act(cls.from_state(state))  # fills caches
    study = cls.from_state(state)
    lines = traced(lambda: act(study))
    after = known(study)
    assert before != after and len(lines) > 20
    study = cls.from_state(state)
    for line in lines.items():
        assert traced(partial(act, study), line), line
        assert known(study) in (before, after), line
        if known(study) == after:  # interrupted after the step
            study = cls.from_state(state)


def known(study):
    """Return all that a study knows, as text."""
    return repr(study.state())


def lines_of(act, *places):
    """Call ``act``; return how often it reaches each line of the files whose path starts so."""
    lines = {}

    def count(line):
        lines[line] = lines.get(line, 0) + 1

    _traced(act, places, count)
    return lines


def interrupted(act, line, times, *places):
    """Call ``act`` and stop it when it reaches a line so often; return the error, or None.

    A line is best interrupted when it is reached for the last time, since its first time may be a
    check.
    """
    left = times

    def stop(reached):
        nonlocal left
        if reached == line:
            left -= 1
            if left == 0:
                sys.settrace(None)
                raise Stop

    try:
        _traced(act, places, stop)
    except Stop as error:
        return error
    return None


def _traced(act, places, see):
    def trace(frame, event, argument):
        if not frame.f_code.co_filename.startswith(places):
            return None
        if event == "line":
            see((frame.f_code.co_filename, frame.f_lineno))
        return trace

    before = sys.gettrace()
    try:
        sys.settrace(trace)
        act()
    finally:
        sys.settrace(before)
