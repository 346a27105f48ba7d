"""What a strategy declares: the types of its parameters, and the state of its rule."""

import dataclasses
from functools import cache
from typing import Any, NamedTuple

import numpy as np

from topk._checks import as_number, check_flag, check_integer, refuse


class Arms(NamedTuple):
    """The arms of a run, for which a strategy declares its state.

    Attributes
    ----------
    n : int
        Number of arms, in all bandits together.
    bandits : int
        Number of bandits.
    first : int or None
        Number of arms at the start, if others have joined since.
    most : int or None
        Maximum number of arms, those that join included, if it was given at the start.
    normal : bool
        Whether rewards are 1/2-sub-Gaussian instead of bounded.
    withdrawals : int or None
        Maximum number of withdrawals, if it was given at the start.
    """

    n: int
    bandits: int = 1
    first: int | None = None
    most: int | None = None
    normal: bool = False
    withdrawals: int | None = None


class Stored(NamedTuple):
    """An array that a rule changes and that is stored with a session; all zeros at first.

    Attributes
    ----------
    kind : {'count', 'arm', 'flag', 'real'}
        Its entries: whole numbers from 0, numbers of arms (-1 is none), whole numbers from -9 to
        9, or finite numbers from -1e300 to 1e300.
    shape : int or tuple of int
        Its shape.
    """

    kind: str
    shape: int | tuple[int, ...]


class Declaration(NamedTuple):
    """The state that a strategy declares, grouped by where the rule finds it.

    Attributes
    ----------
    constants : dict
        Numbers that never change, and arrays that are not stored: ``s.name``.
    stored : dict
        Arrays that are stored: name -> `Stored`, ``s.name``.
    now : dict
        First values of numbers that change: ``s.now.name``.
    """

    constants: dict[str, Any]
    stored: dict[str, Stored]
    now: dict[str, int | float]


def sorted_out(state: dict[str, Any]) -> Declaration:
    """Return the result of `topk.rules.forms.Ruled.state` as a `Declaration`."""
    constants = {name: value for name, value in state.items() if name != "now"}
    stored = {name: value for name, value in constants.items() if isinstance(value, Stored)}
    for name in stored:
        del constants[name]
    return Declaration(constants, stored, dict(state.get("now", {})))


@cache
def annotated(cls):
    """Return the names and types of the numeric parameters.

    In a module with postponed evaluation an annotation is text, so each type is also listed under
    its text.
    """
    kinds: dict[Any, Any] = {kind: kind for kind in (int, float, bool)}
    kinds |= {kind | None: kind for kind in kinds}  # an optional number
    kinds |= {getattr(form, "__name__", str(form)): kind for form, kind in kinds.items()}
    found = {field.name: kinds.get(field.type) for field in dataclasses.fields(cls)}
    return tuple((name, kind) for name, kind in found.items() if kind)


def as_declared(value, name, kind):
    """Return a parameter that no check of its strategy has seen, an int, a float or a bool."""
    if kind is bool:
        return check_flag(value, name)
    if kind is int:
        return check_integer(value, name, -(2**53), 2**53)
    if isinstance(value, bool | np.bool_):
        refuse(name, value, "a number")
    return as_number(value, name, "a number", "")
