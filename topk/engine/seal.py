"""The folder of compiled loops, and the seals of its files.

A seal is a file with a line for each file of a loop: its digest and its name.  It is written after
the loop has been stored and compared before the loop is loaded.  Lines are only appended: if two
processes store the same loop at once, the seal has the lines of both and fits whichever files
remain.
"""

import contextlib
import os
import warnings
from functools import cache
from hashlib import sha256
from pathlib import Path

from topk._folders import exposed
from topk._warnings import SlowWarning


@cache
def folder(environment):
    """Return the folder of the loops for an environment; create it if necessary.

    Parameters
    ----------
    environment : str
        The name of the folder; it stands for all that machine code depends on except its source.

    Returns
    -------
    path or None
        A folder in ``NUMBA_CACHE_DIR``, or else in the user's cache; None if it is unusable.
    """
    base = os.environ.get("NUMBA_CACHE_DIR") or os.environ.get("XDG_CACHE_HOME")
    try:
        path = Path(base or Path.home() / ".cache") / "topk"
        for part in path, path / environment:
            part.mkdir(mode=0o700, parents=True, exist_ok=True)
            _check_folder(part)
        return path / environment
    except (OSError, RuntimeError) as reason:
        warn(f"topk keeps no compiled code: {type(reason).__name__}: {reason}")
        return None


def _check_folder(path):
    """Refuse a folder to which other users can write code, or this user cannot write."""
    if reason := exposed(path):
        raise OSError(reason)
    if not os.access(path, os.W_OK):
        raise OSError("it is not writable")


def warn(text):
    """Warn of a loss of speed that changes no result."""
    warnings.warn(text, SlowWarning, stacklevel=2)


def seal(path, files):
    """Add the digests of some files to the seal at ``path``."""
    lines = [_line(file) for file in files]
    with path.open("a", encoding="utf-8") as out:
        out.write("".join(f"{line}\n" for line in lines))


def unsealed(path, files):
    """Return the files that have changed since they were sealed.

    Returns
    -------
    list of path
        All files if there is no seal.
    """
    if not files:
        return []
    known = path.read_bytes().split(b"\n") if path.exists() else []
    return [file for file in files if _line(file).encode() not in known]


def _line(file):
    """Return the line for a file in a seal."""
    return f"{sha256(file.read_bytes()).hexdigest()} {file.name}"


def remove(files):
    """Remove files, some of which another process may have removed already."""
    for file in files:
        with contextlib.suppress(FileNotFoundError):
            file.unlink()
