"""Finished plays, kept on disk, so that an interrupted study goes on where it stopped.

`topk.replicate` keeps the plays that it has finished in files, one for each portion, in a
folder that is named by a digest of everything that decides the plays (`topk.identity`).
The next time it reads what is there and plays the rest.

A file is a line of text, a line of JSON and the bytes of plain arrays, followed by a
checksum of it all; nothing in it is ever executed.  It is written under another name and
put in its place in one move.  A file that is not what was written is reported, removed
and computed again.  If the folder cannot be written, a warning says so and the work goes
on without it.  Files that were not used for longest are removed when all of them together
pass a limit.

The folder is ``_build/store`` in a source checkout and ``topk/store`` in the user's cache
folder otherwise.  The environment variable ``TOPK_STORE`` names another one, or is ``off``.

Examples
--------
>>> import topk
>>> topk.store.info().limit
2147483648
"""

import contextlib
import hashlib
import json
import logging
import math
import os
import re
import time
import uuid
import warnings
from pathlib import Path
from typing import NamedTuple

import numpy as np

from topk._checks import check_integer, refuse
from topk.identity import Unnamed, digest
from topk.kernels.cache import cache_root

MAGIC = b"topk plays 1\n"
CHECKSUM = 32  # bytes of a SHA-256
LEAST = 0.05  # seconds; what took less in all is not worth a file
NAME = re.compile(r"(\d+)-(\d+)\.topk")
ABANDONED = 3600  # seconds after which a half-written file is certainly nobody's
NARROW = ("|u1", "<u2", "<u4")
WIDE = ("<i8", "<f8", "|b1")
LOG = logging.getLogger("topk.store")

_settings = {"path": "default", "limit": 2 * 1024**3}


class StoreWarning(UserWarning):
    """Something about the store that does not concern the results."""


class Info(NamedTuple):
    """What the store holds.

    Attributes
    ----------
    path : pathlib.Path or None
        Its folder; None when it is off.
    limit : int
        The most bytes that it may hold.
    studies, files, bytes : int
        How much there is.
    """

    path: Path | None
    limit: int
    studies: int
    files: int
    bytes: int


def configure(path=None, limit=None):
    """Say where finished plays are kept, and how much of them; what is left out stays.

    Parameters
    ----------
    path : path-like, optional
        The folder, made when it is needed; ``"off"`` to keep nothing, ``"default"`` for
        that of ``TOPK_STORE`` or, without it, the default one.
    limit : int, optional
        The most bytes that the folder may hold, at least 1; 2 GiB at first.

    Raises
    ------
    ValueError
        If ``limit`` is no positive integer or ``path`` no path.
    """
    if limit is not None:
        _settings["limit"] = check_integer(limit, "limit", 1)
    if path is not None:
        try:
            _settings["path"] = path if path in ("off", "default") else Path(path)
        except TypeError:
            refuse("path", path, "the path of a folder, 'off' or 'default'")
    _unmeasured.clear()


def folder():
    """Return the folder, None when the store is off."""
    place = _settings["path"]
    if place == "default":
        place = os.environ.get("TOPK_STORE") or cache_root().parent / "store"
    return None if place == "off" else Path(place).absolute()


def info():
    """Say where the store is and how much it holds.

    Returns
    -------
    Info
    """
    files = _files(folder())
    studies = {path.parent for path, _ in files}
    total = sum(status.st_size for _, status in files)
    return Info(folder(), _settings["limit"], len(studies), len(files), total)


def clear():
    """Remove everything that is kept; other files in the folder stay."""
    _remove(path for path, _ in _files(folder()))
    _remove_abandoned(older_than=0)


class Shelf:
    """The kept portions of one study.

    Parameters
    ----------
    study : Study
        Which study.
    """

    def __init__(self, study):
        self.study = study
        self.description = json.loads(json.dumps(study.description()))
        self.folder = folder() / digest(self.description)
        self.waiting, self.seconds, self.works = [], 0.0, True

    def found(self, runs):
        """Yield ``(begin, end, rows)`` of kept plays below ``runs``; no play comes twice."""
        broken, reached = [], 0
        divisible = self.study.measures is None
        for begin, end in self._ranges():
            first = max(begin, reached) if divisible else begin
            last = min(end, runs) if divisible else end
            if first < reached or last > runs or first >= last:
                continue
            path = self._path(begin, end)
            try:
                rows = self._read(path, begin, end)
            except FileNotFoundError:  # another process has just removed it
                continue
            except Exception:  # whatever somebody may have written there
                broken.append(path)
                continue
            reached = last
            yield first, last, _slice(rows, first - begin, last - begin) if divisible else rows
        if broken:
            _remove(broken)
            _warn(f"{len(broken)} file(s) in {self.folder} were damaged; they are computed again")

    def keep(self, begin, end, rows, seconds):
        """Keep some plays, as soon as the study's plays so far have taken ``LEAST``."""
        if self.works:
            self.waiting.append((begin, end, rows))
            self.seconds += seconds
        if self.seconds >= LEAST:
            waiting, self.waiting = self.waiting, []
            for portion in waiting:
                self.works = self.works and self._write(*portion)

    def _ranges(self):
        """Return the kept ranges of plays, by their beginning, the longest first."""
        try:
            names = [NAME.fullmatch(name) for name in os.listdir(self.folder)]
        except OSError:
            return []
        ranges = [(int(name[1]), int(name[2])) for name in names if name]
        return sorted(ranges, key=lambda span: (span[0], -span[1]))

    def _path(self, begin, end):
        return self.folder / f"{begin:09d}-{end:09d}.topk"

    def _header(self, begin, end):
        return {"study": self.description, "plays": [begin, end]}

    def _read(self, path, begin, end):
        with open(path, "rb") as file:
            content = file.read()
        rows = unpack(content, self._header(begin, end), self.study.layout(end - begin))
        with contextlib.suppress(OSError):
            os.utime(path)  # used just now
        return rows

    def _write(self, begin, end, rows):
        """Write a file; tell whether that worked."""
        content = pack(rows, self._header(begin, end))
        if len(content) > _settings["limit"]:
            return True  # too large to be kept, which is nobody's fault
        for attempt in range(3):
            try:
                self.folder.mkdir(parents=True, exist_ok=True)
                write_whole(self._path(begin, end), content)
                break
            except OSError as error:
                # another process may have removed the folder while it was empty
                if attempt == 2 or not isinstance(error, FileNotFoundError):
                    text = f"finished plays are not kept in {folder()}: {error.strerror}"
                    _warn(text, once=True)
                    return False
        _make_room(len(content))
        return True


class NoShelf:
    """Keeps nothing."""

    def found(self, runs):
        return ()

    def keep(self, begin, end, rows, seconds):
        pass


def shelf_for(study):
    """Return where the study's plays are kept, if they are."""
    if folder() is None:
        return NoShelf()
    try:
        return Shelf(study)
    except Unnamed as reason:
        LOG.info("plays are not kept: %s", reason)
        return NoShelf()


# Files


def pack(rows, header):
    """Return arrays and a JSON header as bytes, with a checksum at the end."""
    packed = {name: _narrowed(array) for name, array in rows.items()}
    layout = [[name, array.dtype.str, list(array.shape)] for name, array in packed.items()]
    line = json.dumps(header | {"arrays": layout}, sort_keys=True).encode() + b"\n"
    content = b"".join([MAGIC, line, *(array.tobytes() for array in packed.values())])
    return content + hashlib.sha256(content).digest()


def unpack(content, header, layout):
    """Return the arrays that `pack` put into ``content``.

    Parameters
    ----------
    content : bytes
        A whole file.
    header : dict
        What it has to say of itself.
    layout : dict of (str, tuple)
        The dtype and the shape that each array has to have.

    Returns
    -------
    dict of ndarray

    Raises
    ------
    ValueError
        If this is not what was written.
    """
    body = content[:-CHECKSUM]
    if hashlib.sha256(body).digest() != content[-CHECKSUM:] or not body.startswith(MAGIC):
        raise ValueError("content does not agree with its checksum")
    start = body.index(b"\n", len(MAGIC)) + 1
    found = json.loads(body[len(MAGIC) : start])
    arrays = found.pop("arrays")
    if found != header or [name for name, _, _ in arrays] != list(layout):
        raise ValueError("content belongs to another study")
    rows = {}
    for name, dtype, shape in arrays:
        wanted, size = layout[name]
        if tuple(shape) != size or dtype not in (wanted, *NARROW):
            raise ValueError(f"{name} has not the shape that it should have")
        count = math.prod(shape)
        array = np.frombuffer(body, dtype, count, start).reshape(shape)
        rows[name] = array.astype(wanted)
        start += array.nbytes
    return rows


def _narrowed(array):
    """Return whole numbers in the narrowest type that holds them all."""
    array = np.ascontiguousarray(array)
    if array.dtype.str not in WIDE:
        refuse("dtype", array.dtype.str, f"one of {', '.join(WIDE)}")
    if array.dtype.kind == "b" or array.size == 0 or np.signbit(array).any():
        return array
    for dtype in NARROW:
        if array.max() <= np.iinfo(dtype).max:
            narrow = array.astype(dtype)
            return narrow if (narrow == array).all() else array
    return array


def _slice(rows, first, last):
    return {name: array[first:last] for name, array in rows.items()}


def write_whole(path, content):
    """Write a file so that nobody, whatever happens, ever sees a part of it."""
    part = path.with_name(f".{path.name}.{uuid.uuid4().hex}.part")
    try:
        with open(part, "xb") as file:
            file.write(content)
            file.flush()
            os.fsync(file.fileno())
        os.replace(part, path)
    except BaseException:
        with contextlib.suppress(OSError):
            part.unlink()
        raise


# All files of the store


_unmeasured = {}  # folder: bytes written since this process last measured it


def _files(root):
    """Return ``(path, status)`` of every kept file, the one used longest ago first."""
    return _matching(root, NAME.fullmatch)


def _matching(root, wanted):
    found = []
    for study in _entries(root):
        if re.fullmatch("[0-9a-f]{64}", study.name):
            for entry in _entries(study.path):
                if wanted(entry.name):
                    with contextlib.suppress(OSError):
                        found.append((Path(entry.path), entry.stat(follow_symlinks=False)))
    return sorted(found, key=lambda item: item[1].st_mtime)


def _entries(path):
    if path is None:
        return []
    try:
        with os.scandir(path) as entries:
            return list(entries)
    except OSError:
        return []


def _make_room(size):
    """Remove the files used longest ago once the limit is passed."""
    root, limit = folder(), _settings["limit"]
    _unmeasured[root] = _unmeasured.get(root, math.inf) + size
    if _unmeasured[root] < limit / 50:
        return  # so much may be above the limit for a moment
    files = _files(root)
    total = sum(status.st_size for _, status in files)
    if total > limit - limit / 50:
        # more than is needed now, so that not every file from here on has all others measured
        for path, status in files[:-1]:
            if total <= limit - limit / 10:
                break
            _remove([path])
            total -= status.st_size
    _unmeasured[root] = 0
    _remove_abandoned(ABANDONED)


def _remove(paths):
    for path in paths:
        with contextlib.suppress(OSError):
            path.unlink()
        with contextlib.suppress(OSError):
            path.parent.rmdir()  # only if it is empty


def _remove_abandoned(older_than):
    """Remove what killed processes left half written."""
    now = time.time()
    parts = _matching(folder(), lambda name: name.endswith(".part"))
    _remove(path for path, status in parts if now - status.st_mtime >= older_than)


_said = set()


def _warn(text, once=False):
    if not once or text not in _said:
        warnings.warn(text, StoreWarning, stacklevel=2)
    _said.add(text)
