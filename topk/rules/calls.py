"""What functions call and read: found in their code, so that no source text is needed."""

import contextlib
import dis
import enum
import random
from functools import lru_cache
from hashlib import sha256
from types import CodeType, FunctionType, ModuleType

import numpy as np

from topk._checks import in_words


def is_own(function):
    """Return whether a function is the library's."""
    return f"{function.__module__}.".startswith("topk.")


KNOWN = "math", "cmath", "numpy"  # modules whose values do not change


def values_read(function):
    """Return the values that a function reads outside its own scope: name -> value.

    The attributes that it may read of modules and classes are included, except those of `math` and
    numpy.
    """
    code, cells, found = function.__code__, function.__closure__ or (), {}
    for name, cell in zip(code.co_freevars, cells, strict=True):
        with contextlib.suppress(ValueError):  # it is not set yet
            found[name] = cell.cell_contents
    read, attributes = _names(code)
    found |= {x: function.__globals__[x] for x in read if x in function.__globals__}
    pending, seen = list(found.items()), set()
    while pending:
        name, owner = pending.pop()
        if not isinstance(owner, ModuleType | type) or id(owner) in seen or not _changes(owner):
            continue
        seen.add(id(owner))
        more = {f"{name}.{x}": getattr(owner, x) for x in attributes if hasattr(owner, x)}
        found |= more
        pending += more.items()
    return found


def _changes(owner):
    """Return whether a module or a class may have values that are set elsewhere."""
    is_module = isinstance(owner, ModuleType)
    root = (owner.__name__ if is_module else owner.__module__).partition(".")[0]
    if root == "topk":  # it may call functions of its modules
        return is_module and not hasattr(owner, "__path__")
    return root not in (*KNOWN, "builtins")


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
def _chains(code):
    """Return the names from outside that some code reads, each with the attributes that follow."""
    found, loads = [], ("LOAD_GLOBAL", "LOAD_NAME", "LOAD_DEREF", "LOAD_CLASSDEREF")
    for x in dis.get_instructions(code):
        if x.opname in loads:
            found.append([x.argval])
        elif x.opname in ("LOAD_ATTR", "LOAD_METHOD", "IMPORT_FROM") and found:
            found[-1].append(x.argval)
        elif x.opname == "IMPORT_NAME":
            found.append([f"import {x.argval}"])
        else:
            found.append([""])  # what follows is of something else
    found = [tuple(names) for names in found if names[0]]
    for inner in code.co_consts:
        found += _chains(inner) if isinstance(inner, CodeType) else []
    return list(dict.fromkeys(found))


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
    if isinstance(value, enum.Enum):
        return type(value).__qualname__, value.name, _described(value.value)
    if isinstance(value, (int, float, complex, str, bytes, list, dict, np.generic, type(None))):
        return type(value).__name__, repr(value)
    owner = value if hasattr(value, "__qualname__") else type(value)
    return getattr(owner, "__module__", ""), getattr(owner, "__qualname__", "")


SOURCES = "random", "numpy.random", "secrets"  # modules of random numbers


def check_random(functions):
    """Refuse functions that draw from a global generator, which a run's seed does not set.

    It may be a module, a generator, a method of one or an object that holds one; read by its name,
    as an attribute or from a container, or as a default of a parameter.
    """
    for function in functions:
        values, defaults = values_read(function), function.__defaults__ or ()
        for value in (*defaults, *(function.__kwdefaults__ or {}).values()):
            if _draws(value):
                _refuse_random(function, f"a default, {type(value).__name__}")
        for first, *attributes in _chains(function.__code__):
            imported = ".".join([first, *attributes]).removeprefix("import ")
            if first.startswith("import ") and imported.startswith(SOURCES):
                _refuse_random(function, imported)
            value, name = values.get(first), first
            if _draws(value):
                _refuse_random(function, name)
            for attribute in attributes:
                if not isinstance(value, ModuleType | type):
                    break
                value, name = getattr(value, attribute, None), f"{name}.{attribute}"
                if _draws(value):
                    _refuse_random(function, name)
        compiled = [getattr(value, "py_func", None) for value in values.values()]  # by numba
        check_random([one for one in compiled if isinstance(one, FunctionType)])


def _draws(value):
    """Return whether a value is, or holds, a generator of random numbers."""
    if isinstance(value, tuple | list):
        return any(map(_draws, value))
    if isinstance(value, dict):
        return any(map(_draws, value.values()))
    owner = getattr(value, "__self__", value)
    generators = (random.Random, np.random.RandomState, np.random.Generator,
                  np.random.BitGenerator)  # fmt: skip
    held = getattr(owner, "random_state", None)  # of a distribution of scipy
    if isinstance(owner, ModuleType):
        return owner.__name__ in SOURCES
    return isinstance(owner, generators) or isinstance(held, generators)


def _refuse_random(function, name):
    raise TypeError(
        f"{function.__name__} draws from {name}, which no seed of a run sets: declare "
        "random = True and draw from s.rng"
    )


LARGEST = 2**53  # of an integer in a rule: sums of a few such numbers fit into 64 bits


def check_whole_numbers(functions):
    """Refuse integers beyond 2**53: with them 64 bits may overflow, which compiled code hides."""
    for function in functions:
        values, pending = values_read(function), [function.__code__]
        found = [("a constant", value) for value in pending[0].co_consts] + list(values.items())
        while pending:
            for value in pending.pop().co_consts:
                if isinstance(value, CodeType):
                    pending.append(value)
                    found += [("a constant", inner) for inner in value.co_consts]
        for name, value in found:
            whole = isinstance(value, int | np.integer) and not isinstance(value, bool)
            if whole and abs(int(value)) > LARGEST:
                raise TypeError(
                    f"{function.__name__} reads {name}, {in_words(int(value))}: whole numbers "
                    "beyond 2**53 are refused, since compiled code computes with 64 bits; write "
                    "a float, such as 1e18"
                )
