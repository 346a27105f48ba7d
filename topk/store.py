"""Finished plays, kept on disk if asked for, so that an interrupted study goes on where it stopped.

With ``topk.replicate(..., store=path)``, or with the environment variable ``TOPK_STORE``, the
plays of a study are written to ``.npz`` files as they finish, a portion of plays in each, in a
folder that is named by a digest of everything that decides them: the library's sources, the
versions of what it computes with, and the arguments.  The next time what is there is read, and
the rest is played.

A file is put in its place in one move when it is complete, and nothing in it is executed when
it is read.  Its last bytes are a digest; one that is not what was written is passed over, and its
plays are made again.
"""

import contextlib
import functools
import hashlib
import io
import json
import os
import platform
import re
import stat
import types
import uuid
import warnings
from dataclasses import dataclass
from importlib.metadata import version
from pathlib import Path

import numpy as np

from topk._checks import refuse

__all__ = ["Info", "StoreWarning", "clear", "info"]

LEAST = 0.05  # seconds; what took less in all is not worth a file
LARGEST = 2**30  # bytes of a file that is written or read
SEAL = hashlib.sha256().digest_size  # bytes at a file's end
NAME = re.compile(r"(\d+)-(\d+)\.npz")
OWN = re.compile(r"[0-9a-f]{64}/(\d+-\d+\.npz|\.[0-9a-f]{32}\.part)")


def _sources():
    root, found = Path(__file__).parent, hashlib.sha256()
    for path in sorted(root.rglob("*.py")):
        content = hashlib.sha256(path.read_bytes()).hexdigest()
        found.update(f"{path.relative_to(root).as_posix()} {content}\n".encode())
    return found.hexdigest()


SOURCES = _sources()  # of what this process has imported, whatever is edited later


class StoreWarning(UserWarning):
    """Plays are not kept; the results are none the worse for it."""


@dataclass(frozen=True)
class Info:
    """What a store holds.

    Attributes
    ----------
    path : pathlib.Path or None
        Its folder; None if there is none.
    studies, files, bytes : int
        How much there is.
    """

    path: Path | None
    studies: int
    files: int
    bytes: int


def info(store: str | Path | bool | None = None) -> Info:
    """Say where a store is and how much it holds.

    Parameters
    ----------
    store : path, bool or None
        As for `topk.replicate`.

    Returns
    -------
    Info

    Raises
    ------
    ValueError
        If ``store`` is none of these.
    """
    root = folder(store)
    files = [path for path in _own(root) if path.suffix == ".npz"]
    size = sum(path.lstat().st_size for path in files)
    return Info(root, len({path.parent for path in files}), len(files), size)


def clear(store: str | Path | bool | None = None) -> None:
    """Remove everything that a store holds; other files in its folder stay.

    Parameters
    ----------
    store : path, bool or None
        As for `topk.replicate`.

    Raises
    ------
    ValueError
        If ``store`` is none of these.
    """
    for path in _own(folder(store)):
        with contextlib.suppress(OSError):
            path.unlink()
            path.parent.rmdir()  # only if it is empty


def _own(root):
    found = root.glob("*/*") if root else ()
    return [path for path in found if OWN.fullmatch(path.relative_to(root).as_posix())]


def folder(store: str | Path | bool | None = None) -> Path | None:
    """Return the folder that ``store`` or the environment names; None if there is none."""
    if store is False:
        return None
    if store is None or store is True:
        named = os.environ.get("TOPK_STORE") or "off"
        if named != "off":
            return Path(named).absolute()
        cache = os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache"
        return Path(cache).absolute() / "topk" / "store" if store else None
    if not isinstance(store, str | Path) or not str(store).strip():
        refuse("store", store, "the path of a folder, True, False or None")
    return Path(store).absolute()


class Shelf:
    """The kept portions of one study.

    Parameters
    ----------
    study : topk.simulate.Study
        Which study; its ``description()`` says what decides its plays.
    store : path, bool or None
        As for `topk.replicate`.
    """

    def __init__(self, study, store):
        self.divisible = study.keep == "plays"  # a part of a sum is no sum
        self.folder, self.waiting, self.seconds = folder(store), [], 0.0
        if self.folder:
            try:
                self.folder /= digest(study.description() | made_by())
            except Unknown:
                self.folder = None

    def found(self, runs):
        """Yield ``(begin, end, rows)`` of kept plays below ``runs``; no play comes twice."""
        names = os.listdir(self.folder) if self.folder and self.folder.is_dir() else ()
        spans = [tuple(map(int, name.groups())) for name in map(NAME.fullmatch, names) if name]
        reached = 0
        for begin, end in sorted(spans, key=lambda span: (span[0], -span[1])):
            first, last = (max(begin, reached), min(end, runs)) if self.divisible else (begin, end)
            if reached <= first < last <= runs and (rows := self._read(begin, end)):
                reached = last
                cut = slice(first - begin, last - begin) if self.divisible else ...
                yield first, last, {name: array[cut] for name, array in rows.items()}

    def _path(self, begin, end):
        return self.folder / f"{begin:09d}-{end:09d}.npz"

    def _read(self, begin, end):
        """Return the arrays of a file; None if it is not what was written."""
        path = self._path(begin, end)
        with contextlib.suppress(Exception):  # whatever somebody may have written there
            status = path.stat()
            if stat.S_ISREG(status.st_mode) and status.st_size <= LARGEST:
                content = memoryview(path.read_bytes())
                if content[-SEAL:] == seal(path, content[:-SEAL]):
                    with np.load(io.BytesIO(content[:-SEAL]), allow_pickle=False) as arrays:
                        rows = dict(arrays)
                    narrow = {x: a.astype(np.int64) for x, a in rows.items() if a.dtype.kind == "u"}
                    return rows | narrow
        return None

    def keep(self, begin, end, rows, seconds):
        """Keep some plays, as soon as the study's plays so far have taken ``LEAST``."""
        if self.folder:
            self.waiting.append((begin, end, rows))
            self.seconds += seconds
        while self.folder and self.seconds >= LEAST and self.waiting:
            try:
                self._write(*self.waiting.pop(0))
            except OSError as error:
                text = f"finished plays are not kept in {self.folder.parent}: {error.strerror}"
                warnings.warn(text, StoreWarning, stacklevel=3)
                self.folder = None

    def _write(self, begin, end, rows):
        """Write a file, whole numbers in the narrowest type that holds them all."""
        content, path, kept = io.BytesIO(), self._path(begin, end), dict(rows)
        for name in (name for name, array in rows.items() if array.dtype.kind == "i"):
            kept[name] = rows[name].astype(np.min_scalar_type(rows[name].max(initial=0)))
        np.savez(content, **kept)
        if content.tell() + SEAL > LARGEST:
            return
        content.write(seal(path, content.getbuffer()))
        self.folder.mkdir(parents=True, exist_ok=True)
        put(path, content.getbuffer())


def put(path, content):
    """Write a file, and put it in its place in one move when it is complete."""
    part = path.with_name(f".{uuid.uuid4().hex}.part")
    try:
        with open(part, "xb") as file:
            file.write(content)
            file.flush()
            os.fsync(file.fileno())  # else a power cut might leave an empty file in its place
        os.replace(part, path)
    finally:
        with contextlib.suppress(OSError):
            part.unlink()  # if it is still there


def seal(path, content):
    """Return the digest of a file's content, and of which plays of which study they are."""
    found = hashlib.sha256(f"{path.parent.name} {path.name} ".encode())
    found.update(content)
    return found.digest()


# What decides a play


class Unknown(Exception):
    """It is not known what an object does."""


@functools.cache
def made_by():
    """Return what plays are made by: the digest of the library's sources, and versions."""
    packages = {name: version(name) for name in ("numba", "numpy", "scipy")}
    python = ".".join(platform.python_version_tuple()[:2])
    return packages | {"topk": SOURCES, "python": python, "machine": platform.machine()}


def digest(description):
    """Return the digest of JSON values, as 64 hexadecimal digits."""
    return hashlib.sha256(json.dumps(description, sort_keys=True).encode()).hexdigest()


def described(value):
    """Describe a value as JSON values, so that equal descriptions mean equal behaviour.

    Parameters
    ----------
    value : object
        Numbers, strings, arrays, lists, and this library's objects and functions; those of
        somebody else if they have an attribute ``version``, to be changed with what they do.

    Returns
    -------
    object

    Raises
    ------
    Unknown
        If it is none of these.

    Examples
    --------
    >>> described([1, 0.5])
    ['1', '0.5']
    """
    if value is None or isinstance(value, bool | int | float | str | np.generic):
        return repr(value)
    if isinstance(value, np.ndarray) and value.dtype.kind in "biuf":
        return [value.dtype.str, value.shape, hashlib.sha256(value.tobytes()).hexdigest()]
    if isinstance(value, list | tuple):
        return [described(item) for item in value]
    if isinstance(value, functools.partial):
        return ["partial", *map(described, (value.func, value.args, [*value.keywords.items()]))]
    kind = value if isinstance(value, types.FunctionType) else type(value)
    own = kind.__module__.startswith("topk.") and "<locals>" not in kind.__qualname__
    if not (own or hasattr(value, "version")) or not hasattr(value, "__dict__"):
        raise Unknown(kind.__qualname__)
    attributes = {name: described(item) for name, item in sorted(vars(value).items())}
    return [kind.__module__, kind.__qualname__, repr(getattr(value, "version", None)), attributes]
