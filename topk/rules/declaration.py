"""What a strategy declares besides its parameters: the state of its rule."""

from typing import Any, NamedTuple


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
