"""Run code in new processes that can import the library and the tests."""

import os
import subprocess
import sys
from pathlib import Path

import topk
import topk_book

PAGES = Path(topk_book.__file__).resolve().parents[1]
SOURCES = Path(topk.__file__).resolve().parent
TESTS = Path(__file__).resolve().parent


def environment(*paths, **more):
    """Return the environment of a new process; None removes a variable."""
    found = {k: v for k, v in os.environ.items() if not k.startswith(("NUMBA_", "XDG_"))}
    folders = os.pathsep.join(map(str, (*paths, SOURCES.parent, TESTS, PAGES)))
    found |= {"PYTHONPATH": folders} | more
    return {k: v for k, v in found.items() if v is not None}


def python(code, *paths, **more):
    """Run code in a new process with an empty cache; return its output."""
    return fresh(code, cwd=[*paths, TESTS][0], env=environment(*paths, **more))[0]


def running(code, *arguments, **options):
    """Start a process that runs code with arguments."""
    command = [sys.executable, "-P", "-c", code, *map(str, arguments)]
    options = {"env": os.environ | {"PYTHONPATH": environment()["PYTHONPATH"]}} | options
    return subprocess.Popen(command, text=True, stdout=subprocess.PIPE, **options)


def fresh(code, *arguments, **options):
    """Run code in a new process that must not fail; return its output and its errors."""
    with running(code, *arguments, stderr=subprocess.PIPE, **options) as child:
        printed, said = child.communicate(timeout=600)
    assert child.returncode == 0, said[-3000:]
    return printed, said
