"""Marks of functions: part of a rule, open, and how to compile them."""

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    rule = staticmethod  # type checkers know only this name for methods without self
else:

    class rule(staticmethod):
        """Marks the functions of a strategy's rule: plain Python in a session, else compiled.

        Such a function takes the state ``s`` of a run in place of ``self``; `topk.Rounds` and
        `topk.Indices` explain which functions a rule has, and what ``s`` contains.
        """

        def __reduce__(self):
            """Send a class of a script or a notebook to other processes by value."""
            return rule, (self.__func__,)


def open_function(function):
    """Mark a function that a strategy or a search must provide."""
    function.open = True
    return function


def allocates(function):
    """Mark a function that makes arrays; compiled, it counts references."""
    function.allocates = True
    return function


def apart(function):
    """Mark a function with a loop that is optimised only if it is not inlined."""
    function.apart = True
    return function


def in_arrays(form, unless=None):
    """Mark a function that has a second form, which works on whole arrays with NumPy.

    Both forms agree bit for bit.  Compiled code uses the marked function, with its plain
    loops; plain Python uses ``form``, which is many times faster there if there are many arms.

    Parameters
    ----------
    form : function
        The second form, with the same parameters.
    unless : function, optional
        A function for whose default ``form`` was written: if a rule replaces this function by its
        own, plain Python uses the marked function, too.
    """

    def mark(function):
        function.in_arrays = form, unless
        return function

    return mark


def larger(a, b):
    """Return the larger of two floats, neither of which is nan; of two zeros either one.

    Compiles to an instruction that the compiler can vectorise.
    """
    return a if a > b else b
