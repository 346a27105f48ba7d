"""Marks of functions: which belong to a rule, which are open, how they are compiled."""

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    rule = staticmethod  # by this name alone do type checkers know that there is no self
else:

    class rule(staticmethod):
        """Marks the functions of a strategy's rule: plain Python in a session, else compiled."""


def open_function(function):
    """Mark a function that a strategy, or a search for winners, has to give."""
    function.open = True
    return function


def allocates(function):
    """Mark a function that makes arrays: compiled, it has to count references."""
    function.allocates = True
    return function


def apart(function):
    """Mark a function with a loop that the compiler makes fast by itself, not inside another."""
    function.apart = True
    return function


def larger(a, b):
    """Return the larger of two floats, neither of which is a nan; of two zeros either one.

    Compiled, it is an instruction of which the compiler may make many at once.
    """
    return a if a > b else b


def shared(function):
    """Mark a function of plain arrays: with all that it calls it is compiled once for all loops."""
    function.shared = True
    return function
