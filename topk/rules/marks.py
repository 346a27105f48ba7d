"""Functions of a rule, and open functions, for which a class of states has its own.

`topk._marks` has the marks that say how functions are compiled.
"""

import functools
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


class Functions:
    """The open functions and their defaults; the base class of all states of runs.

    The state of a run of a strategy belongs to a class of its own, whose attributes are the
    functions of the strategy, its form and its search.
    """

    __slots__ = ()


def open_function(function):
    """Make a function that a form, a strategy or a search must provide.

    ``pick(s)`` calls the function of this name that the class of the state s has; numba does the
    same when it compiles the call, see `topk.engine.jit`.
    """

    def missing(s, *rest):
        raise TypeError(f"{function.__name__} is not given: {function.__doc__}")

    return _dispatched(function, missing)


def replaceable(function):
    """Make a function that a form, a strategy or a search may replace; see `open_function`."""
    return _dispatched(function, function)


def _dispatched(function, default):
    """Return a function that calls that of the state's class."""
    name = f"_{function.__name__}"
    if name in vars(Functions):
        raise TypeError(f"there are two open functions called {function.__name__}")
    setattr(Functions, name, staticmethod(default))

    def call(s, *rest):
        return getattr(type(s), name)(s, *rest)

    call.attribute = name  # type: ignore[attr-defined]
    return functools.update_wrapper(call, function)


def larger(a, b):
    """Return the larger of two floats, neither of which is nan; of two zeros either one.

    Compiles to an instruction that the compiler can vectorise.
    """
    return a if a > b else b
