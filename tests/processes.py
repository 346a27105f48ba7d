"""Processes of their own that find the library and the tests."""

import os
import subprocess
import sys
from pathlib import Path

TESTS = Path(__file__).resolve().parent
FOUND = {"PYTHONPATH": os.pathsep.join(map(str, (TESTS.parent, TESTS)))}


def running(code, *arguments, stderr=None, **environment):
    """Begin a process that runs code, with arguments and more in its environment."""
    return subprocess.Popen(
        [sys.executable, "-c", code, *arguments], env=os.environ | FOUND | environment,
        text=True, stdout=subprocess.PIPE, stderr=stderr,
    )  # fmt: skip


def fresh(code, *arguments):
    """Run code in a process of its own, without an error; return what it printed, and said."""
    with running(code, *arguments, stderr=subprocess.PIPE) as child:
        printed, said = child.communicate(timeout=600)
    assert child.returncode == 0, said
    return printed, said
