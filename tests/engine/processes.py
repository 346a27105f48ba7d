"""Code that runs in a fresh interpreter, as if nothing had been imported or compiled yet."""

import os
import subprocess
import sys
from pathlib import Path

import topk

SOURCES = Path(topk.__file__).resolve().parent
TESTS = Path(__file__).resolve().parent.parent


def environment(*paths, **more):
    """Return what a fresh process gets; None takes a variable away."""
    found = {k: v for k, v in os.environ.items() if not k.startswith(("NUMBA_", "XDG_"))}
    found |= {"PYTHONPATH": os.pathsep.join(map(str, (*paths, SOURCES.parent, TESTS)))} | more
    return {k: v for k, v in found.items() if v is not None}


def python(code, *paths, **more):
    """Run code in a fresh interpreter; return what it printed."""
    done = subprocess.run(
        [sys.executable, "-P", "-c", code], env=environment(*paths, **more),
        cwd=paths[0] if paths else TESTS, capture_output=True, text=True, timeout=600,
    )
    assert done.returncode == 0, done.stderr[-3000:]
    return done.stdout
