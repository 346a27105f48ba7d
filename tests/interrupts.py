"""Interrupt a call at any line, as Ctrl-C does."""

import sys


class Stop(KeyboardInterrupt):
    """Ctrl-C."""


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
