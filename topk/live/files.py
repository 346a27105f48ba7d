"""Sessions in files: plain JSON with a digest, so that damaged or changed files are refused.

A stored session holds the strategy's name and parameters, the fields that its run declares to be
stored, and results that have not been counted yet.  Everything that follows from the counts is
computed again.
"""

import contextlib
import dataclasses
import hashlib
import importlib
import json
import os
import stat
import threading
import uuid
import warnings
import weakref
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

import topk
from topk._checks import check_flag, check_json, in_words, refuse, shortened
from topk._json import from_json, to_json
from topk._warnings import TopkWarning
from topk.rules.strategy import Strategy
from topk.store import SOURCES, write_file  # here: a process that was forked must not import

try:
    import fcntl
except ModuleNotFoundError:  # Windows
    fcntl = None



@dataclasses.dataclass(frozen=True)
class Kind:
    """A kind of stored study.

    Attributes
    ----------
    format, version : str, int
        What its states say that they are.
    noun : str
        What it is, in words.
    writer : str
        The method that makes a state.
    anew : str
        What to do with a state of another version.
    sources : str
        The hash of the code that writes it; a file by other code is read with a warning.
    """

    format: str
    version: int
    noun: str
    writer: str
    anew: str
    sources: str = SOURCES

    @property
    def reader(self) -> str:
        """The function that reads a file."""
        return READERS[self.format]


SESSION = Kind(
    "topk-session", 10, "a session", "Session.state",
    "load it with the sources that wrote it, and pass the sums and counts of its report to "
    "`observe` of a new session",
)
READERS = {"topk-session": "topk.load", "topk-evaluation": "topk_eval.load",
           "topk-gate": "topk_eval.Gate.load"}  # by format
WITH_CELLS = (
    "a session by arms; this one is about models on items, which `topk_eval.Evaluation` runs: "
    "end it with the release that wrote it, since a new one has an order and a delta of its own. "
    "In this state the results are under cells: known has a text for each model, with "
    "a letter for each cell in the model's order (0, 1: the result; = "
    "the next number of values; x: failed; . ? -: none), and values has these numbers"
)


def sealed(kind: Kind, strategy: Strategy, stored: dict[str, Any]) -> dict[str, Any]:
    """Return a state: the stored values of a study with strategy, format, version and digest."""
    name = f"{type(strategy).__module__}.{type(strategy).__name__}"
    head = {"format": kind.format, "version": kind.version, "strategy": name}
    values = parameters(strategy)
    plain = {x: [*y] if isinstance(y, tuple) else y for x, y in values.items()}
    exact = to_json({x: check_json(y, x) for x, y in plain.items()}, exact=True)
    whole: dict[str, Any] = {**head, "parameters": exact, **to_json(stored)}
    if tuples := [name for name, value in values.items() if isinstance(value, tuple)]:
        whole["tuples"] = tuples  # JSON turns tuples into lists
    return whole | {"digest": digest(whole)}


def opened(kind: Kind, state: dict[str, Any] | str) -> tuple[Strategy, dict[str, Any]]:
    """Return the strategy of a state, and the state; refuse a damaged or changed one."""
    if isinstance(state, str):
        state = parsed(state, "state", f" (for the path of a file use {kind.reader})")
    if not isinstance(state, dict):
        refuse("state", type(state).__name__, f"a dict made by {kind.writer}")
    if state.get("format") != kind.format:
        other = READERS.get(str(state.get("format")))
        refuse("format", state.get("format"), f"{kind.format!r}, as {kind.writer} writes it"
               + (f" (for this one use {other})" if other else ""))
    if state.get("version") != kind.version:
        refuse("version", state.get("version"), f"{kind.version} ({kind.anew})")
    if kind is SESSION and "cells" in state:
        raise ValueError(f"state: it must be {WITH_CELLS}")  # longer than refusals may be
    if state.get("digest") != digest({x: y for x, y in state.items() if x != "digest"}):
        refuse("digest", state.get("digest"), "that of the state: it has been damaged or changed")
    try:
        stored = from_json(state)
        values = {**stored["parameters"]}
        values |= {name: tuple(values[name]) for name in stored.get("tuples", [])}
        return named_strategy(stored["strategy"], values), stored
    except (AttributeError, IndexError, KeyError, TypeError) as reason:
        raise ValueError(f"state: not a state of {kind.noun}: {in_words(reason)}") from reason


def save(
    path: str | Path, state: Callable[[], dict[str, Any]], known: set[str], overwrite: bool,
    sources: str = SOURCES,
) -> None:
    """Write a state to a file under a lock; see `topk.Session.save`.

    Parameters
    ----------
    path : str or path
    state : callable
        Function that returns the state; it is called while the file is locked, so that of two
        threads the one that writes last has the latest state.
    known : set of str
        Revisions of files that the session loaded or saved; the new one is added.
    overwrite : bool
        Whether to replace any file.
    sources : str
        The hash of the code that writes the file.
    """
    target = Path(os.path.realpath(path))  # a symbolic link stays one
    refuse_special(path, target)
    try:
        with alone_in(target.parent):
            now, revision = state(), uuid.uuid4().hex
            if not overwrite:
                check_revision(path, target, known, now["digest"])
            whole = {"library": sources, "revision": revision, "session": now}
            # known before it is written: an interrupt in between leaves the study writable
            known.add(revision)
            # one name for each file: what a killed process has left is replaced by the next one
            part = hashlib.sha256(target.name.encode(errors="surrogateescape")).hexdigest()[:32]
            write_file(target, f"{json.dumps(whole)}\n".encode(), part=part)
    except OSError as error:
        raise type(error)(error.errno, error.strerror, str(path)) from error


def refuse_special(path: str | Path, target: Path) -> None:
    """Refuse a device, a pipe or a socket, which a file would replace, or which has no end."""
    with contextlib.suppress(OSError):  # there is no such file, or the writing says what is wrong
        mode = os.stat(target).st_mode
        if not (stat.S_ISREG(mode) or stat.S_ISDIR(mode)):
            refuse("path", shortened(str(path), 80), "that of an ordinary file")


_here = threading.Lock()  # of the threads of this process, where files are locked by `filelock`
_last = threading.local()  # ``lock``, a weak reference to the last `alone_in` of each thread


class alone_in:
    """Hold a lock on a folder, against other threads and processes.

    The folder itself is locked where the system allows it.  Elsewhere (Windows, some network file
    systems) `filelock` locks a file in it, ``.topk.lock``.
    """

    place: int | None = None  # the open folder
    lock: Any = None  # the lock of a file

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    def __enter__(self) -> None:
        last = getattr(_last, "lock", lambda: None)()
        if last is not None:  # an interrupt has prevented its exit, and a traceback keeps it alive
            last.__exit__()
        _last.lock = weakref.ref(self)
        try:
            if not self._lock_folder() and self.folder.is_dir():
                from filelock import FileLock

                _here.acquire()
                self.lock = FileLock(self.folder / ".topk.lock")
                self.lock.acquire()
        except BaseException:
            self.__exit__()
            raise

    def _lock_folder(self) -> bool:
        """Lock the folder; return whether this is possible."""
        if fcntl is None:
            return False
        try:
            self.place = os.open(self.folder, os.O_RDONLY)
            fcntl.flock(self.place, fcntl.LOCK_EX)
            return True
        except OSError:
            self._close()
            return False

    def _close(self) -> None:
        """Unlock the folder at once, even if the process was forked in between."""
        if self.place is not None:
            try:
                with contextlib.suppress(OSError):
                    fcntl.flock(self.place, fcntl.LOCK_UN)
            finally:
                place, self.place = self.place, None  # known until it is unlocked
                os.close(place)

    def __exit__(self, *_: Any) -> None:
        self._close()
        lock, self.lock = self.lock, None
        if lock is not None:
            lock.release()
            _here.release()

    __del__ = __exit__  # if an interrupt has prevented it


STORED = {"library", "revision", "session"}  # the keys of a file


def check_revision(path: str | Path, target: Path, known: set[str], digest_now: str) -> None:
    """Refuse to replace a file that a session neither loaded nor saved, unless they are equal.

    An empty file may be replaced, and otherwise only one with exactly the keys of a study.
    """
    with contextlib.suppress(FileNotFoundError):
        text, revision = target.read_text(encoding="utf-8", errors="replace"), None
        if not text.strip():
            return
        try:
            stored = json.loads(text)
            if stored.keys() == STORED and isinstance(stored["revision"], str):
                revision = stored["revision"]
                if stored["session"]["digest"] == digest_now:
                    return  # nothing is lost
        except (AttributeError, ValueError, LookupError, TypeError, RecursionError):
            revision = None
        if revision not in known:
            found = revision or "none: it is no study, or damaged"
            raise ValueError(
                f"path: {shortened(str(path), 80)} has a revision that this session neither loaded "
                f"nor saved, {shortened(found, 40)}: load it to go on with that study, "
                "choose another path, or replace it by save(path, overwrite=True)"
            )


def resume(state: dict[str, Any] | str) -> "topk.Session":
    """Return a session that continues exactly from a stored state.

    Parameters
    ----------
    state : dict or str
        The state that `Session.state` returned, or its JSON text.  For a strategy of your own,
        its class must have been defined before.

    Returns
    -------
    topk.Session

    Raises
    ------
    ValueError
        If the state has an unknown version, or is damaged or changed.

    See Also
    --------
    load : from a file.

    Examples
    --------
    >>> import json, topk
    >>> session = topk.Uniform(1, budget=6).start(3).tell([0, 2], [1, 0])
    >>> again = topk.resume(json.loads(json.dumps(session.state())))
    >>> again.ask()[1].tolist()
    [1, 2, 1]
    """
    return topk.Session.from_state(state)


def load(path: str | Path, lost: bool = False) -> "topk.Session":
    """Return a session that continues exactly from a file written by `Session.save`.

    Parameters
    ----------
    path : str or path

    Returns
    -------
    topk.Session

    Raises
    ------
    ValueError
        If the file is damaged, or has a format that this release does not read.
    OSError
        If the file cannot be read.

    Warns
    -----
    UserWarning
        If the file was written by a different version of the library's source code, in a format
        that this release reads.

    See Also
    --------
    resume : from a state instead of a file.

    Examples
    --------
    >>> import tempfile, topk
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     topk.Uniform(1, budget=6).start(3).tell([0, 2], [1, 0]).save(f"{folder}/study.json")
    ...     topk.load(f"{folder}/study.json").ask()[1].tolist()
    [1, 2, 1]
    """
    session = loaded(topk.Session, path)
    return session.lose_all() if check_flag(lost, "lost") else session


def loaded(cls: Any, path: str | Path) -> Any:
    """Return a study of a class from a file that its method `save` has written."""
    text, kind = Path(path).read_text(encoding="utf-8", errors="replace"), cls.kind
    stored = parsed(text, "path")
    if isinstance(stored, dict) and stored.keys() == {"library", "session"}:  # without revision
        opened(kind, stored["session"])  # says what to do with an older version
    if not isinstance(stored, dict) or stored.keys() != STORED:
        refuse("path", str(path), f"a file written by {kind.writer.split('.')[0]}.save")
    study = cls.from_state(stored["session"])
    if stored["library"] != kind.sources:
        message = f"{path} was written by another version of this library's code; its format is "
        message += "known"
        warnings.warn(message, TopkWarning, stacklevel=3)
    study.revisions.add(str(stored["revision"]))
    return study


def parsed(text, name, hint=""):
    """Return the value of JSON text; refuse other text, with a hint."""
    try:
        return json.loads(text)
    except (ValueError, RecursionError) as reason:
        raise ValueError(f"{name}: not JSON, or damaged{hint}: {reason}") from reason


def digest(state):
    """Return a hash of JSON values; 1.0 counts as 1, since some JSON writers shorten it."""

    def number(text):  # 1e+20 is written as 100000000000000000000 by some
        x = float(text)
        return int(x) if x.is_integer() else x

    text = json.dumps(check_json(state, "state"))
    plain = json.dumps(json.loads(text, parse_float=number, parse_int=number), sort_keys=True)
    return hashlib.sha256(plain.encode()).hexdigest()


def parameters(strategy):
    """Return the parameters of a strategy by name, with NumPy scalars as Python scalars."""
    if not dataclasses.is_dataclass(strategy):
        refuse("strategy", type(strategy).__name__, "a dataclass, for its session to be stored")
    values = {field.name: getattr(strategy, field.name) for field in dataclasses.fields(strategy)}
    return {x: y.item() if isinstance(y, np.generic) else y for x, y in values.items()}


def named_strategy(full_name, values):
    """Return a strategy, given the full name of its class and its parameters.

    If several classes have the name, the one from the named module is chosen, otherwise the one
    defined last: a class defined in a script has a different module name in every script.
    """
    module, _, name = str(full_name).rpartition(".")
    getattr(topk.strategies, name, None)  # imports the library's strategy if it has the name
    if module.startswith("topk.strategies."):
        with contextlib.suppress(ModuleNotFoundError):
            importlib.import_module(module)
    classes = [Strategy]
    for cls in classes:
        classes += cls.__subclasses__()
    fitting = [x for x in classes if x.__name__ == name and "__dataclass_fields__" in vars(x)]
    if not fitting:
        refuse("strategy", name, "a strategy class; import the module that defines yours first")
    return sorted(fitting, key=lambda cls: cls.__module__ == module)[-1](**values)
