"""What a search for the arms at risk is: one value that lists all that it provides."""

import inspect
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from topk.rules import indices


@dataclass(frozen=True, eq=False)
class Search:
    """A way to find the arms at risk, by scanning all arms or by tournaments.

    Parameters
    ----------
    name
        What it is called in messages and in the names of compiled files.
    new_arrays
        ``new_arrays(bandits, n)`` returns what the search adds to the state of a run of
        ``bandits`` bandits with n arms each: name -> array.
    setup, moved, grow, mend, leave
        Take the places of the functions of these names in `topk.rules.indices`: all arms are to
        be looked at; an arm has been pulled; the scale of all radii has grown; every arm is to be
        put into its group; an arm has been withdrawn.  None leaves the default of that module.
    words
        The functions that rules call, and what computes them here: open function -> function.
        They must have the same parameters.
    uses_lines
        Whether the search looks at a rule's own bounds, the function ``line``.

    Raises
    ------
    TypeError
        If what is given is not a function, or has other parameters than what it replaces.
    """

    name: str
    new_arrays: Callable[..., Any]
    setup: Callable[..., Any]
    moved: Callable[..., Any]
    grow: Callable[..., Any] | None = None
    mend: Callable[..., Any] | None = None
    leave: Callable[..., Any] | None = None
    words: Mapping[Callable[..., Any], Callable[..., Any]] = field(default_factory=dict)
    uses_lines: bool = False

    def __post_init__(self):
        for replaced, function in self.provides().items():
            expected, found = (parameters_of(f) for f in (replaced, function))
            if expected != found:
                raise TypeError(
                    f"{function.__name__} of the search {self.name} takes {found}, where "
                    f"{replaced.__name__} takes {expected}"
                )

    def provides(self):
        """Return which function takes the place of which: open or default function -> function."""
        events = {
            indices.setup: self.setup,
            indices.moved: self.moved,
            indices.grow: self.grow,
            indices.mend: self.mend,
            indices.leave: self.leave,
        }
        return {f: g for f, g in events.items() if g is not None} | dict(self.words)

    def __repr__(self):
        return f"<Search {self.name}>"


def parameters_of(function):
    """Return the names of a function's parameters; refuse what is no function."""
    if not inspect.isfunction(function):
        raise TypeError(f"{function!r} is no function")
    return list(inspect.signature(function).parameters)
