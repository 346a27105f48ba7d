"""What functions call and read: found in their code, so that no source text is needed."""

import contextlib
import dis
import itertools
import random
from functools import lru_cache
from hashlib import sha256
from types import CodeType, FunctionType, ModuleType

import numpy as np


def is_own(function):
    """Return whether a function is the library's."""
    return f"{function.__module__}.".startswith("topk.")


def values_read(function):
    """Return the values that a function reads outside its own scope: name -> value.

    Of modules other than `math` and packages, the attributes that it may read are included.
    """
    code, cells, found = function.__code__, function.__closure__ or (), {}
    for name, cell in zip(code.co_freevars, cells, strict=True):
        with contextlib.suppress(ValueError):  # it is not set yet
            found[name] = cell.cell_contents
    read, attributes = _names(code)
    found |= {x: function.__globals__[x] for x in read if x in function.__globals__}
    modules = [(name, value) for name, value in found.items() if isinstance(value, ModuleType)]
    for name, module in modules:
        if not hasattr(module, "__path__") and module.__name__ not in ("math", "cmath"):
            found |= {f"{name}.{x}": getattr(module, x) for x in attributes if hasattr(module, x)}
    return found


@lru_cache(maxsize=4096)
def _names(code):
    """Return the names of the global variables that some code reads, and other names in it."""
    loads = "LOAD_GLOBAL", "LOAD_NAME"
    read = [x.argval for x in dis.get_instructions(code) if x.opname in loads]
    others = [x for x in code.co_names if x not in read]
    for inner in code.co_consts:
        if isinstance(inner, CodeType):
            own, more = _names(inner)
            read, others = [*read, *own], [*others, *more]
    return list(dict.fromkeys(read)), list(dict.fromkeys(others))


@lru_cache(maxsize=4096)
def _attributes(code):
    """Return the names of variables from outside that some code reads, each with what follows."""
    pairs = itertools.pairwise(dis.get_instructions(code))
    loads = "LOAD_GLOBAL", "LOAD_DEREF"
    return [(first.argval, then.argval) for first, then in pairs if first.opname in loads]


def called_by(function):
    """Return the functions written in Python that a function may call: name -> function."""
    found = values_read(getattr(function, "compiled_form", function))
    return {name: value for name, value in found.items() if isinstance(value, FunctionType)}


def reached(functions, cls=None):
    """Return functions and all that they may call, directly or not, in the order of the calls.

    An open function is included, followed by that of the class of states, if one is given.  What
    else has been imported does not matter.
    """
    found, pending = {}, [*functions][::-1]
    while pending:
        function = pending.pop()
        if function not in found:
            found[function] = None
            if not hasattr(function, "attribute"):
                pending += [*called_by(function).values()][::-1]
            elif cls:
                pending.append(getattr(cls, function.attribute))
    return list(found)


def in_circle(functions):
    """Return whether some function calls another one of them that calls it, directly or not."""
    for function in functions:
        others = [x for x in called_by(function).values() if x is not function]
        if function in reached(others):
            return True
    return False


def stamp(functions):
    """Return a hash of the code of some functions, and of the values that they read."""
    found = sha256()
    for function in functions:
        form = getattr(function, "compiled_form", function)
        values = {name: _described(x) for name, x in sorted(values_read(form).items())}
        given = _described((form.__defaults__, form.__kwdefaults__))
        parts = form.__module__, form.__qualname__, _code(form.__code__), given, values
        found.update(repr(parts).encode())
    return found.hexdigest()[:16]


def _code(code):
    """Describe some code, but not where it is."""
    constants = [_code(x) if isinstance(x, CodeType) else _described(x) for x in code.co_consts]
    names = code.co_names, code.co_varnames, code.co_freevars, code.co_argcount
    return code.co_code, constants, names


def _described(value):
    """Describe a value that a function reads."""
    if isinstance(value, np.ndarray):
        return str(value.dtype), value.shape, sha256(value.tobytes()).hexdigest()
    if isinstance(value, frozenset):
        return sorted(map(repr, value))
    if isinstance(value, tuple):
        return [_described(x) for x in value]
    compiled = getattr(value, "py_func", None)  # of a function compiled by numba
    if isinstance(compiled, FunctionType):
        return stamp([compiled])
    if isinstance(value, (int, float, complex, str, bytes, list, dict, np.generic, type(None))):
        return type(value).__name__, repr(value)
    owner = value if hasattr(value, "__qualname__") else type(value)
    return getattr(owner, "__module__", ""), getattr(owner, "__qualname__", "")


def check_random(functions):
    """Refuse functions that draw from a global generator, which a run's seed does not set."""
    for function in functions:
        read = values_read(function)
        for name, value in read.items():
            drawn = getattr(value, "__self__", None)
            if "." not in name and isinstance(drawn, random.Random | np.random.RandomState):
                _refuse_random(function, name)
        for name, attribute in _attributes(function.__code__):
            value = read.get(name)
            if value is np and attribute == "random":
                name, value = f"{name}.random", np.random
            if value is random or value is np.random:
                _refuse_random(function, name)


def _refuse_random(function, name):
    raise TypeError(
        f"{function.__name__} draws from {name}, which no seed of a run sets: declare "
        "random = True and draw from s.rng"
    )
