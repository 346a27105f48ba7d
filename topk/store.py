"""A store of finished replications on disk, so that interrupted studies can be continued.

With ``topk.replicate(..., store=path)``, or with the environment variable ``TOPK_STORE``, finished
replications of a study are written to ``.npz`` files, one for each chunk.  Their folder is named by
a digest of everything that determines them: the library's sources, the versions of its
dependencies, and the arguments.  When the study is repeated, stored replications are read, and only
the others are made.

A complete file is moved to its place in one step, and reading it executes no code.  It ends with a
digest; a file with a wrong digest is ignored, and its replications are made again.

The digest detects damage, not forged files.  Therefore a folder to which other users can write, or
that belongs to another user, is refused (not on Windows).  Folders made by the store are writable
for their owner only; one that you make yourself may also be writable for a group that has your name
and no other members, as with the usual umask of Debian.
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
from collections.abc import Collection
from dataclasses import dataclass
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

import numpy as np

from topk._checks import refuse
from topk._folders import exposed
from topk._warnings import TopkWarning

__all__ = ["Info", "StoreWarning", "clear", "info"]


def __dir__() -> list[str]:
    return __all__

MIN_SECONDS = 0.05  # shorter studies are not stored
MAX_BYTES = 2**30  # of a file
DIGEST_SIZE = hashlib.sha256().digest_size  # bytes of the digest at the end of a file
CHUNK_FILE = re.compile(r"(\d+)-(\d+)\.npz")
OWN_FILE = re.compile(r"[0-9a-f]{64}/(\d+-\d+\.npz|\.[0-9a-f]{32}\.part)")


# Parts that decide nothing about a run or a session: an edit there leaves what is stored as it is.
ASIDE = {"guarantees", "hardness", "lower_bounds", "plots.py", "__init__.py"}


def sources_of(root: Path, aside: Collection[str]) -> str:
    """Return a hash of the sources of a package, without some files and folders in its root."""
    found = hashlib.sha256()
    for path in sorted(root.rglob("*.py")):
        if path.relative_to(root).parts[0] in aside:
            continue
        content = hashlib.sha256(path.read_bytes()).hexdigest()
        found.update(f"{path.relative_to(root).as_posix()} {content}\n".encode())
    return found.hexdigest()


# As imported by this process, whatever is edited later
SOURCES = sources_of(Path(__file__).parent, ASIDE)


class StoreWarning(TopkWarning):
    """Replications are not stored; the results of the study are not affected."""


@dataclass(frozen=True)
class Info:
    """The contents of a store.

    Attributes
    ----------
    path : pathlib.Path or None
        Folder of the store; None if there is none.
    studies, files, bytes : int
        Number of studies and files, and their total size.
    """

    path: Path | None
    studies: int
    files: int
    bytes: int


def info(store: str | Path | bool | None = None) -> Info:
    """Return the location and the size of a store.

    Parameters
    ----------
    store : path, bool or None
        As in `topk.replicate`.

    Returns
    -------
    Info
        The folder, and the numbers of studies, files and bytes.

    Raises
    ------
    ValueError
        If ``store`` is none of these.
    """
    root = folder_of(store)
    files = [path for path in _own_files(root) if path.suffix == ".npz"]
    size = sum(path.lstat().st_size for path in files)
    return Info(root, len({path.parent for path in files}), len(files), size)


def clear(store: str | Path | bool | None = None) -> None:
    """Remove all files of a store; other files in its folder are not touched.

    Parameters
    ----------
    store : path, bool or None
        As in `topk.replicate`.

    Raises
    ------
    ValueError
        If ``store`` is none of these.
    """
    for path in _own_files(folder_of(store)):
        with contextlib.suppress(OSError):
            path.unlink()
            path.parent.rmdir()  # only if it is empty


def _own_files(root):
    found = root.glob("*/*") if root else ()
    return [path for path in found if OWN_FILE.fullmatch(path.relative_to(root).as_posix())]


def folder_of(store: str | Path | bool | None = None) -> Path | None:
    """Return the folder given by ``store`` or the environment; None if there is none."""
    if store is False:
        return None
    if store is None or store is True:
        named = os.environ.get("TOPK_STORE") or "off"
        if named != "off":
            return _path(named, "TOPK_STORE")
        try:
            return in_cache() if store else None
        except RuntimeError as error:
            refuse("store", store, f"the path of a folder, since there is no cache ({error})")
    if not isinstance(store, str | Path) or not str(store).strip() or "\0" in str(store):
        refuse("store", store, "the path of a folder, True, False or None")
    return _path(store, "store")


def _path(named, name):
    """Return the path of a folder; ~ is the home folder."""
    try:
        path = Path(named).expanduser().absolute()
        path.exists()  # raises if the name is too long
    except (OSError, RuntimeError) as error:
        refuse(name, named, f"the path of a folder ({error})")
    return path


def check_safe(path: Path, name: str) -> None:
    """Refuse a folder of stored runs in which other users could put false ones."""
    with contextlib.suppress(OSError):  # an unreadable folder, or none: nothing is read from it
        if reason := exposed(path):
            # in full, whatever the length of the path: the advice is a command to be copied
            raise ValueError(f"{name} must be a folder that only you can change ({reason})")


def in_cache() -> Path:
    """Return the folder in the user's cache."""
    cache = os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache"
    return Path(cache).absolute() / "topk" / "store"


class StudyFiles:
    """The stored chunks of one study.

    Parameters
    ----------
    study : topk.simulate.run.Study
        The study; its ``description()`` determines its replications.
    store : path, bool or None
        As in `topk.replicate`.
    reusable : bool
        Whether the same replications can be requested again; false if the seed was drawn at random.

    Raises
    ------
    ValueError
        If other users can change the folder; see `topk._folders.exposed`.
    """

    def __init__(self, study, store, reusable=True):
        self.divisible = study.keep == "plays"  # summed chunks cannot be divided
        self.folder, self.pending, self.seconds = folder_of(store), [], 0.0
        if self.folder:
            try:
                self.folder /= json_digest(study.description() | versions())
                for path in self.folder.parent, self.folder:
                    check_safe(path, "TOPK_STORE" if store is None else "store")
                if store and not reusable:
                    warn_once(NO_SEED)
            except UnknownBehaviour as error:
                self.folder = None
                if store:
                    warn_once(f"store= is not used: {error} is not part of topk. Give it an "
                              "attribute `version` that changes with its behaviour")

    def stored(self, runs):
        """Yield ``(begin, end, rows)`` of stored replications below ``runs``, each at most once."""
        names = os.listdir(self.folder) if self.folder and self.folder.is_dir() else ()
        matches = filter(None, map(CHUNK_FILE.fullmatch, names))
        spans = [tuple(map(int, match.groups())) for match in matches]
        reached = 0
        for begin, end in sorted(spans, key=lambda span: (span[0], -span[1])):
            first, last = (max(begin, reached), min(end, runs)) if self.divisible else (begin, end)
            if reached <= first < last <= runs and (rows := self._read(begin, end)):
                reached = last
                part = slice(first - begin, last - begin) if self.divisible else ...
                yield first, last, {name: array[part] for name, array in rows.items()}

    def _path(self, begin, end):
        return self.folder / f"{begin:09d}-{end:09d}.npz"

    def _read(self, begin, end):
        """Return the arrays of a file; None if it is missing or damaged."""
        path = self._path(begin, end)
        with contextlib.suppress(Exception):  # the file may have any content
            status = path.stat()
            if stat.S_ISREG(status.st_mode) and status.st_size <= MAX_BYTES:
                content = memoryview(path.read_bytes())
                if content[-DIGEST_SIZE:] == file_digest(path, content[:-DIGEST_SIZE]):
                    with np.load(io.BytesIO(content[:-DIGEST_SIZE]), allow_pickle=False) as arrays:
                        rows = dict(arrays)
                    narrow = {x: a.astype(np.int64) for x, a in rows.items() if a.dtype.kind == "u"}
                    return rows | narrow
        return None

    def add(self, begin, end, rows, seconds):
        """Store some replications, once the study has taken ``MIN_SECONDS``."""
        if self.folder:
            self.pending.append((begin, end, rows))
            self.seconds += seconds
        while self.folder and self.seconds >= MIN_SECONDS and self.pending:
            try:
                self._write(*self.pending.pop(0))
            except OSError as error:
                text = f"finished runs are not stored in {self.folder.parent}: {error.strerror}"
                warnings.warn(text, StoreWarning, stacklevel=3)
                self.folder = None

    def _write(self, begin, end, rows):
        """Write a file, with integers in the narrowest sufficient type."""
        content, path, kept = io.BytesIO(), self._path(begin, end), dict(rows)
        for name in (name for name, array in rows.items() if array.dtype.kind == "i"):
            kept[name] = rows[name].astype(np.min_scalar_type(rows[name].max(initial=0)))
        np.savez(content, **kept)
        if content.tell() + DIGEST_SIZE > MAX_BYTES:
            return
        content.write(file_digest(path, content.getbuffer()))
        root = self.folder.parent
        for part in *([root.parent] if root == in_cache() else []), root, self.folder:
            part.mkdir(mode=0o700, parents=True, exist_ok=True)
        write_file(path, content.getbuffer(), durable=False)


NO_SEED = (
    "store= is useless without seed=: the next study draws another seed. Pass the `seed` of the "
    "result"
)


def warn_once(text):
    """Warn that a store is useless, once per process and text."""
    if text not in _warned:
        _warned.add(text)
        warnings.warn(text, StoreWarning, stacklevel=5)


_warned: set[str] = set()


def write_file(path, content, durable=True, part=None):
    """Write a file, and move it to its place in one step when it is complete.

    Until then it is called ``.{part}.part``; by default the name is new.  A name that only one
    process uses at a time may be given, so that what a killed one has left is replaced.

    A file that is not ``durable`` may be found empty or truncated after a power failure: stored
    runs have a digest that detects this, and waiting for the disk takes longer than many runs.
    """
    given, part = part, path.with_name(f".{part or uuid.uuid4().hex}.part")
    if given:
        part.unlink(missing_ok=True)
    try:
        with open(part, "xb") as file:
            file.write(content)
            if durable:
                file.flush()
                os.fsync(file.fileno())  # otherwise a power failure might leave an empty file
        with contextlib.suppress(FileNotFoundError):  # the mode of the file that is replaced
            os.chmod(part, stat.S_IMODE(os.stat(path).st_mode))
        os.replace(part, path)
    finally:
        with contextlib.suppress(OSError):
            part.unlink()  # if it still exists


def file_digest(path, content):
    """Return the digest of a file's content, its study and its range of replications."""
    found = hashlib.sha256(f"{path.parent.name} {path.name} ".encode())
    found.update(content)
    return found.digest()


# What determines a replication


class UnknownBehaviour(Exception):
    """The behaviour of an object is not known."""


@functools.cache
def versions():
    """Return the digest of the library's sources, and the versions of its dependencies."""
    packages = {name: _version(name) for name in ("numba", "numpy", "scipy")}
    python = ".".join(platform.python_version_tuple()[:2])
    return packages | {"topk": SOURCES, "python": python, "machine": platform.machine()}


def _version(name):
    """Return the version of a package, None if it is not installed."""
    try:
        return version(name)
    except PackageNotFoundError:
        return None


def json_digest(description):
    """Return the digest of JSON values, as 64 hexadecimal digits."""
    return hashlib.sha256(json.dumps(description, sort_keys=True).encode()).hexdigest()


def description_of(value):
    """Describe a value as JSON values, so that equal descriptions mean equal behaviour.

    Parameters
    ----------
    value : object
        Numbers, strings, arrays, lists, and objects and functions of this library; others only if
        they have an attribute ``version``, which must change with their behaviour.

    Returns
    -------
    object
        The description.

    Raises
    ------
    UnknownBehaviour
        If ``value`` is anything else.

    Examples
    --------
    >>> description_of([1, 0.5])
    ['1', '0.5']
    """
    if value is None or isinstance(value, bool | int | float | str | np.generic):
        return repr(value)
    if isinstance(value, np.ndarray) and value.dtype.kind in "biuf":
        return [value.dtype.str, value.shape, hashlib.sha256(value.tobytes()).hexdigest()]
    if isinstance(value, list | tuple):
        return [description_of(item) for item in value]
    if isinstance(value, functools.partial):
        call = value.func, value.args, [*value.keywords.items()]
        return ["partial", *map(description_of, call)]
    kind = value if isinstance(value, types.FunctionType) else type(value)
    own = kind.__module__.startswith("topk.") and "<locals>" not in kind.__qualname__
    if not (own or hasattr(value, "version")) or not hasattr(value, "__dict__"):
        raise UnknownBehaviour(kind.__qualname__)
    attributes = {name: description_of(item) for name, item in sorted(vars(value).items())}
    return [kind.__module__, kind.__qualname__, repr(getattr(value, "version", None)), attributes]
