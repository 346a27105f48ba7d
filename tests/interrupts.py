"""Changes that are interrupted at every line of the library, and of contextlib."""

import contextlib
import sys
from functools import partial
from pathlib import Path

import topk

LIBRARY = str(Path(topk.__file__).parents[1] / "topk")  # and topk_eval
PLACES = LIBRARY, contextlib.__file__  # a context manager may be interrupted on its way in or out


class Stop(KeyboardInterrupt):
    """Ctrl-C."""


def check_each_line(study, act):
    """Interrupt a change of a study at each line: it changes nothing or everything."""
    cls, state, before = type(study), study.state(), known(study)
    act(cls.from_state(state))  # fills caches
    study = cls.from_state(state)
    lines = lines_of(lambda: act(study), *PLACES)
    after = known(study)
    assert before != after and len(lines) > 20
    study = cls.from_state(state)
    for line, times in lines.items():
        assert interrupted(partial(act, study), line, times, *PLACES), line
        assert known(study) in (before, after), line
        if known(study) == after:  # interrupted after the step
            study = cls.from_state(state)


def known(study):
    """Return all that a study knows, as text."""
    return repr(study.state())


def lines_of(act, *places):
    """Call ``act``; return how often it reaches each line of the files whose path starts so.

    In contextlib also each return: the caller has not yet taken what is returned.
    """
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
        file = frame.f_code.co_filename
        if not file.startswith(places):
            return None
        if event == "line" or (event == "return" and file == contextlib.__file__):
            see((file, frame.f_lineno, event))
        return trace

    before = sys.gettrace()
    try:
        sys.settrace(trace)
        act()
    finally:
        sys.settrace(before)
