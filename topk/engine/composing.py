"""Put a strategy's functions in the place of a shape's open ones: as Python, or compiled.

A shape (`rounds`, `indices`) is ordinary code that calls open functions, such as ``share(s)``.
`compose` copies a function with its globals changed so that it calls the strategy's functions
instead, and does the same to every Python function that it calls by a global name.  The copies
share code objects with the originals: tracebacks, `inspect` and breakpoints work.
"""

import hashlib
from dis import get_instructions
from types import CodeType, FunctionType, ModuleType

import numpy as np

from topk.rules.marks import larger


def compose(function, given, wrap=lambda copy: copy):
    """Return a copy of ``function`` that calls ``given[f]`` wherever it called ``f``.

    Parameters
    ----------
    function : function
        Where to begin; every Python function that it calls by a global name is copied as well.
    given : dict
        Which function takes the place of which.
    wrap : callable, optional
        Applied to every copy, the innermost first.

    Returns
    -------
    copy : function
        The copy, or what ``wrap`` made of it.
    originals : dict
        For each function that takes part what became of it, the innermost first.

    Raises
    ------
    TypeError
        If an open function is called that ``given`` does not hold.
    """
    made = {}

    def copy(f):
        f = given.get(f, f)
        if not isinstance(f, FunctionType):
            return f
        if getattr(f, "open", False):
            raise TypeError(f"{f.__name__} is not given: {f.__doc__}")
        if f not in made:
            found = {x: f.__globals__.get(x) for x in looked_up(f.__code__)}
            names = [x for x, value in found.items() if isinstance(value, FunctionType)]
            changed = {x: copy(f.__globals__[x]) for x in names}
            new = FunctionType(
                f.__code__, f.__globals__ | changed, f.__name__, f.__defaults__, f.__closure__
            )
            new.__dict__.update(f.__dict__)
            new.__qualname__, new.__module__ = f.__qualname__, f.__module__
            whole = f is larger or (f is not function and getattr(f, "shared", False))
            made[f] = wrap(f if whole else new)
        return made[f]

    return copy(function), made


def looked_up(code):
    """Return the global names of some code, in order; its ``co_names`` hold attributes as well."""
    names = (x.argval for x in get_instructions(code) if x.opname == "LOAD_GLOBAL")
    return dict.fromkeys(names)  # a set's order differs from process to process


def digest(functions):
    """Return a hash of some functions' code, marks, defaults, and the constants they look up."""
    found = hashlib.sha256()

    def constant(name, value):
        if isinstance(value, (int, float, str, bool, tuple)):
            found.update(repr((name, value)).encode())
        elif isinstance(value, (np.ndarray, np.generic)):
            found.update(repr((name, value.dtype, value.shape)).encode() + value.tobytes())

    def add(code, names):
        found.update(code.co_code + repr((code.co_names, code.co_varnames)).encode())
        for const in code.co_consts:
            if isinstance(const, CodeType):
                add(const, names)
            else:
                found.update(repr(const).encode())
        for name in code.co_names:
            value = names.get(name)
            constant(name, value)
            if isinstance(value, ModuleType):  # what is looked up in it stands in `co_names` too
                for attribute in code.co_names:
                    constant(f"{name}.{attribute}", vars(value).get(attribute))

    for function in functions:
        found.update(repr(sorted(function.__dict__)).encode())  # how it is to be compiled
        for number, value in enumerate(function.__defaults__ or ()):
            constant(f"default {number}", value)
        add(function.__code__, function.__globals__)
    return found.hexdigest()[:16]
