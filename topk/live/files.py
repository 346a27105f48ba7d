"""Sessions in files: plain JSON with a digest, so that what was damaged or changed is refused.

A stored session holds the strategy's name and parameters, what its play declares to be stored, and
what has come in and not been counted yet.  What follows from the counts is computed again.
"""

import dataclasses
import hashlib
import json
import threading
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np

import topk
from topk._checks import check_json, refuse
from topk.rules.strategy import Strategy

FORMAT, VERSION = "topk-session", 7


def state(session: "topk.Session") -> dict[str, Any]:
    """Return everything needed to go on with a session; see `topk.Session.state`."""
    strategy = session.strategy
    stored = {
        "format": FORMAT,
        "version": VERSION,
        "strategy": f"{type(strategy).__module__}.{type(strategy).__name__}",
        "parameters": parameters(strategy),
        "n": list(session.layout) if strategy.several else session.names or session.n,
        "scale": session._scale,
        "play": session._play.dump(),
        "withdrawn": list(session._withdrawn),
        "short": [[arm, str(exact)] for arm, exact in sorted(session._short.items())],
        "sigma_test": session._sigma_test and session._sigma_test.dump(),
    }
    stored |= session._arrivals.dump()
    if session._cells:
        stored["cells"] = session._cells.dump()
    return stored | {"digest": digest(stored)}


def save(session: "topk.Session", path: str | Path) -> None:
    """Write a session to a file; see `topk.Session.save`."""
    from topk.store import SOURCES, put

    with _saving:
        text = json.dumps({"library": SOURCES, "session": session.state()})
        put(Path(path), f"{text}\n".encode())


_saving = threading.Lock()  # or the older of two states might be written last


def resume(state: dict[str, Any] | str) -> "topk.Session":
    """Go on with a stored session exactly where it stopped.

    Parameters
    ----------
    state : dict or str
        What `Session.state` returned, or JSON text of it.  The session of a strategy of your
        own can be resumed once its class has been defined.

    Returns
    -------
    topk.Session

    Raises
    ------
    ValueError
        If the state is of an unknown version, damaged or changed.

    Examples
    --------
    >>> import json, topk
    >>> session = topk.Uniform(1, budget=6).start(3).tell([0, 2], [1, 0])
    >>> again = topk.resume(json.loads(json.dumps(session.state())))
    >>> again.ask()[1].tolist()
    [1, 2, 1]
    """
    if isinstance(state, str):
        state = parsed(state, "state")
    if not isinstance(state, dict):
        refuse("state", type(state).__name__, "a dict made by Session.state")
    for name, right in (("format", FORMAT), ("version", VERSION)):
        if state.get(name) != right:
            refuse(name, state.get(name), f"{right!r}, the one that this release reads")
    if state.get("digest") != digest({x: y for x, y in state.items() if x != "digest"}):
        refuse("digest", state.get("digest"), "that of the state: it has been damaged or changed")
    try:
        strategy = named_strategy(state["strategy"], state["parameters"])
        session = topk.Session(strategy, state["n"], **state["scale"])
        session._play.load(state["play"])
        session._withdrawn = list(state["withdrawn"])
        session._short = {arm: Fraction(exact) for arm, exact in state["short"]}
        if session._sigma_test:
            session._sigma_test.load(state["sigma_test"])
        session._arrivals.load(state)
        if session._cells:
            session._cells.load(state["cells"])
    except (AttributeError, IndexError, KeyError, TypeError) as reason:
        raise ValueError(f"state: a session cannot hold this: {reason!r}") from reason
    return session


def load(path: str | Path) -> "topk.Session":
    """Go on with a session that `Session.save` has written, exactly where it stopped.

    Parameters
    ----------
    path : str or path

    Returns
    -------
    topk.Session

    Raises
    ------
    ValueError
        If the file is damaged, or was written by other sources of this library.
    OSError
        If it cannot be read.

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
        refuse("path", str(path), "a file that Session.save has written")
    if stored["library"] != SOURCES:
        refuse("path", str(path), "a file written by the same sources of this library")
    return resume(stored["session"])


def parsed(text, name):
    """Return what JSON text holds."""
    try:
        return json.loads(text)
    except (ValueError, RecursionError) as reason:
        raise ValueError(f"{name}: this is no JSON, or damaged: {reason}") from reason


def digest(state):
    """Return a hash of JSON values; 1.0 is 1 for some writers of JSON, and so it is here."""

    def number(text):
        return int(x) if (x := float(text)).is_integer() else x

    text = json.dumps(check_json(state, "state"))
    plain = json.dumps(json.loads(text, parse_float=number), sort_keys=True)
    return hashlib.sha256(plain.encode()).hexdigest()


def parameters(strategy):
    """Return a strategy's parameters as JSON values; refuse what JSON would change."""
    if not dataclasses.is_dataclass(strategy):
        refuse("strategy", type(strategy).__name__, "a dataclass, for its session to be stored")
    found = {field.name: getattr(strategy, field.name) for field in dataclasses.fields(strategy)}
    plain = {x: y.item() if isinstance(y, np.generic) else y for x, y in found.items()}
    return {name: check_json(value, name) for name, value in plain.items()}


def named_strategy(full_name, values):
    """Return the strategy of that name.

    If several classes have it, the one of its module, or else the one defined last: a
    class of a script has another module in another script.
    """
    module, _, name = str(full_name).rpartition(".")
    getattr(topk.strategies, name, None)  # one of the library may not have been imported yet
    classes = [Strategy]
    for cls in classes:
        classes += cls.__subclasses__()
    fitting = [x for x in classes if x.__name__ == name and "__dataclass_fields__" in vars(x)]
    if not fitting:
        refuse("strategy", name, "a strategy class; import the module of your own before")
    return sorted(fitting, key=lambda cls: cls.__module__ == module)[-1](**values)
