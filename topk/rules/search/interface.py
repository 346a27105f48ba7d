"""The interface of a search for the arms at risk: one value that lists all its functions."""

import inspect
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Any

from topk.rules import indices


@dataclass(frozen=True, eq=False)
class Search:
    """A search for the arms at risk, by scanning all arms or with tournaments.

    Parameters
    ----------
    name
        The name in messages and in the names of compiled files.
    new_arrays
        ``new_arrays(bandits, n)`` returns what the search adds to the state of a run of
        ``bandits`` bandits with n arms each: name -> array.
    setup, arm_pulled, scale_grew, restore_partition, arm_withdrawn
        Replacements of the functions with these names in `topk.rules.indices`: set up the search
        from all arms; process the pull of an arm; process a larger scale of all radii; put every
        arm into its group; process the withdrawal of an arm.  None keeps the default there.
    words
        open function -> function, for the functions that rules call.  Both must have the same
        parameters.
    uses_lines
        Whether the search uses a rule's own bounds, the function ``line``.

    Raises
    ------
    TypeError
        If an argument is not a function, or has other parameters than the function it replaces.
    """

    name: str
    new_arrays: Callable[..., Any]
    setup: Callable[..., Any]
    arm_pulled: Callable[..., Any]
    scale_grew: Callable[..., Any] | None = None
    restore_partition: Callable[..., Any] | None = None
    arm_withdrawn: Callable[..., Any] | None = None
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
        """Return the substitutions: open or default function -> function."""
        events = {
            indices.setup: self.setup,
            indices.arm_pulled: self.arm_pulled,
            indices.scale_grew: self.scale_grew,
            indices.restore_partition: self.restore_partition,
            indices.arm_withdrawn: self.arm_withdrawn,
        }
        return {f: g for f, g in events.items() if g is not None} | dict(self.words)

    def __repr__(self):
        return f"<Search {self.name}>"


@lru_cache(maxsize=4096)  # a study asks for those of its rule in every run
def parameters_of(function):
    """Return the names of a function's parameters; refuse anything but a function."""
    if not inspect.isfunction(function):
        raise TypeError(f"{function!r} is not a function")
    return list(inspect.signature(function).parameters)
