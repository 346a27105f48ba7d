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

        Notes
        -----
        Both forms compute alike, and refuse alike what has no value: where a function of `math`
        raises an error (the logarithm of 0, the root of a negative number), and in a division of
        numbers by 0, the run ends with an ArithmeticError.  Whole numbers beyond 2**53 are refused
        in code, constants and parameters, and so is ``argsort`` without ``kind="mergesort"``, since
        the order of equal keys would differ.  Elsewhere both forms agree if a rule is written so,
        for a whole number t, a real number x, and arrays a and b:

        * ``float(t) ** 1.5``, not ``t ** 1.5``: the last bit of NumPy's powers of whole numbers
          such as ``s.now.rounds`` differs;
        * ``x ** 3.0`` or ``math.pow(x, 3.0)``, not ``x ** 3`` or ``math.pow(x, 3)``: the compiler
          multiplies, and the last bit differs.  The powers 2, -1 and 0.5 are best written
          ``x * x``, ``1 / x`` and ``math.sqrt(x)``;
        * ``math.exp(x)``, not ``np.exp(x)``, and so for logarithms and the like: the last bit of
          NumPy's differs, as does that of ``math.gamma``, ``math.lgamma`` and ``math.hypot``;
        * ``sum(a)``, not ``a.sum()``, ``np.mean(a)`` or ``np.std(a)``, unless all sums are whole
          numbers: NumPy adds in another order;
        * ``int(min(x, 2.0**53))``, not ``int(x)``, where x may be large, and so for ``round``,
          ``math.floor`` and ``math.ceil``: compiled, a whole number has 64 bits;
        * ``float(np.float32(x)) * 1e7``, not ``np.float32(x) * 1e7``: compiled, the product has 64
          bits;
        * ``a // np.maximum(b, 1)``, not ``a // b``: only plain Python raises an error if an array
          contains a 0;
        * ``1 << min(t, 62)``, not ``1 << t``, and so for ``>>``: compiled, a shift by 64 is one by
          0.

        What else compiled code does not notice has to be guarded: an intermediate whole number
        beyond 64 bits (write ``float(t) ** 3.0``), a negative power of a whole number (write ``1 /
        x``), and an operator or a function of numpy whose result is infinite or not a number (``x *
        1e300``, ``0.0 ** -1``, ``np.log(0)``).  Plain Python, as in a session, raises an error
        there if a number is numpy's.
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
