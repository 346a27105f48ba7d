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
import threading
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

import topk
from topk._checks import check_json, refuse
from topk.rules.strategy import Strategy

FORMAT, VERSION = "topk-session", 9


def with_guard_apart(old: dict[str, Any]) -> dict[str, Any]:
    """Convert a state of version 8, in which the guard of LUCB1 was one of its parameters."""
    found, now = old | {"version": 9}, old["play"].get("now", {})
    if "guard" in old["parameters"] and "guarded" in now:  # LUCB1, or derived from it
        values = {**old["parameters"]}
        if values.pop("guard"):
            found["strategy"] = "topk.strategies.guarded.GuardedLUCB1"
        else:
            now = {x: y for x, y in now.items() if x != "guarded"}
            found["play"] = old["play"] | {"now": now}
        found["parameters"] = values
    return found


# version -> function that converts a state of that version to a later version; a release that
# changes the format adds a function for the previous version
UPGRADES: dict[int, Callable[[dict[str, Any]], dict[str, Any]]] = {
    7: lambda old: old | {"version": 8, "most_arms": None, "joined": [], "clock": 0},
    8: with_guard_apart,
}


def sealed(strategy: Strategy, stored: dict[str, Any]) -> dict[str, Any]:
    """Return a state: the stored values of a session with strategy, format, version and digest."""
    name = f"{type(strategy).__module__}.{type(strategy).__name__}"
    head = {"format": FORMAT, "version": VERSION, "strategy": name}
    found = parameters(strategy)
    plain = {x: [*y] if isinstance(y, tuple) else y for x, y in found.items()}
    whole = head | {"parameters": {x: check_json(y, x) for x, y in plain.items()}} | stored
    if tuples := [name for name, value in found.items() if isinstance(value, tuple)]:
        whole["tuples"] = tuples  # JSON turns tuples into lists
    return whole | {"digest": digest(whole)}


def opened(state: dict[str, Any] | str) -> tuple[Strategy, dict[str, Any]]:
    """Return the strategy of a state, and the state; refuse a damaged or changed one."""
    if isinstance(state, str):
        state = parsed(state, "state", " (for the path of a file use topk.load)")
    if not isinstance(state, dict):
        refuse("state", type(state).__name__, "a dict made by Session.state")
    if state.get("format") != FORMAT:
        refuse("format", state.get("format"), f"{FORMAT!r}, as Session.state writes it")
    known = [*UPGRADES, VERSION]
    if state.get("version") not in known:
        ways = "load others with the release that wrote them, and pass its report's sums and counts"
        refuse("version", state.get("version"), f"one of {known} ({ways} to `observe`)")
    if state.get("digest") != digest({x: y for x, y in state.items() if x != "digest"}):
        refuse("digest", state.get("digest"), "that of the state: it has been damaged or changed")
    try:
        while state["version"] != VERSION:
            state = UPGRADES[state["version"]](state)
        values = {**state["parameters"]}
        values |= {name: tuple(values[name]) for name in state.get("tuples", [])}
        return named_strategy(state["strategy"], values), state
    except (AttributeError, IndexError, KeyError, TypeError) as reason:
        raise ValueError(f"state: not a state of a session: {reason!r}") from reason


def save(session: "topk.Session", path: str | Path) -> None:
    """Write a session to a file; see `topk.Session.save`."""
    from topk.store import SOURCES, write_file

    with _saving:
        text = json.dumps({"library": SOURCES, "session": session.state()})
        write_file(Path(path), f"{text}\n".encode())


_saving = threading.Lock()  # without it, the older of two states might be written last


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

    Examples
    --------
    >>> import json, topk
    >>> session = topk.Uniform(1, budget=6).start(3).tell([0, 2], [1, 0])
    >>> again = topk.resume(json.loads(json.dumps(session.state())))
    >>> again.ask()[1].tolist()
    [1, 2, 1]
    """
    return topk.Session.from_state(state)


def load(path: str | Path) -> "topk.Session":
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

    Examples
    --------
    >>> import tempfile, topk
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     topk.Uniform(1, budget=6).start(3).tell([0, 2], [1, 0]).save(f"{folder}/study.json")
    ...     topk.load(f"{folder}/study.json").ask()[1].tolist()
    [1, 2, 1]
    """
    from topk.store import SOURCES

    stored = parsed(Path(path).read_text(encoding="utf-8", errors="replace"), "path")
    if not isinstance(stored, dict) or stored.keys() != {"library", "session"}:
        refuse("path", str(path), "a file written by Session.save")
    if stored["library"] != SOURCES:
        told = f"{path} was written by another version of this library's code; its format is known"
        warnings.warn(told, stacklevel=2)
    return resume(stored["session"])


def parsed(text, name, hint=""):
    """Return the value of JSON text; refuse other text, with a hint."""
    try:
        return json.loads(text)
    except (ValueError, RecursionError) as reason:
        raise ValueError(f"{name}: not JSON, or damaged{hint}: {reason}") from reason


def digest(state):
    """Return a hash of JSON values; 1.0 counts as 1, since some JSON writers shorten it."""

    def number(text):
        return int(x) if (x := float(text)).is_integer() else x

    text = json.dumps(check_json(state, "state"))
    plain = json.dumps(json.loads(text, parse_float=number), sort_keys=True)
    return hashlib.sha256(plain.encode()).hexdigest()


def parameters(strategy):
    """Return the parameters of a strategy by name, with NumPy scalars as Python scalars."""
    if not dataclasses.is_dataclass(strategy):
        refuse("strategy", type(strategy).__name__, "a dataclass, for its session to be stored")
    found = {field.name: getattr(strategy, field.name) for field in dataclasses.fields(strategy)}
    return {x: y.item() if isinstance(y, np.generic) else y for x, y in found.items()}


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
