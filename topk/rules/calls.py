"""What functions call and read: found in their code, so that no source text is needed."""

import builtins
import contextlib
import datetime
import dis
import enum
import gc
import importlib
import io
import os
import random
import sys
import sysconfig
from functools import lru_cache
from hashlib import sha256
from inspect import getattr_static
from types import BuiltinFunctionType, CodeType, FunctionType, MethodType, ModuleType
from weakref import ProxyTypes

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
    """Return the names from outside that some code reads, each with the attributes that follow.

    A local name that is given such a value stands for it: ``m = np`` or ``import os``.
    """
    found, alias, loads = [], {}, ("LOAD_GLOBAL", "LOAD_NAME", "LOAD_DEREF", "LOAD_CLASSDEREF")
    for x in dis.get_instructions(code):
        names = x.argval if isinstance(x.argval, tuple) else (x.argval,)  # two of some instructions
        if x.opname in loads:
            found.append([x.argval])
        elif x.opname in ("LOAD_ATTR", "LOAD_METHOD", "IMPORT_FROM") and found:
            found[-1].append(x.argval)
        elif x.opname == "IMPORT_NAME":
            found.append([f"import {x.argval}"])
        elif x.opname.startswith("STORE_FAST"):
            alias[names[0]] = found[-1]
            found.append([*alias.get(names[-1], [""])] if names[1:] else [""])
        elif x.opname.startswith("LOAD_FAST"):
            found += [[*alias.get(name, [""])] for name in names]
        elif x.opname != "EXTENDED_ARG":
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


# modules whose values differ in runs with equal seeds, and such functions of other modules
SOURCES = "random.", "numpy.random.", "secrets.", "time.", "uuid."
FUNCTIONS = {os.urandom, getattr(os, "getrandom", os.urandom), datetime.datetime.now,
             datetime.datetime.utcnow, datetime.datetime.today, datetime.date.today}  # fmt: skip
GENERATORS = (random.Random, np.random.RandomState, np.random.Generator,
              np.random.BitGenerator)  # fmt: skip
HIDING = {eval, exec, globals, __import__, importlib.import_module}  # what they read is not seen
PLAIN = int, float, complex, str, bytes, type(None), np.generic
HOLDERS = "builtins", "collections", "functools", "numpy", "types"  # have containers, wrappers
INSTALLED = tuple({sysconfig.get_path(x) for x in ("stdlib", "platstdlib", "purelib", "platlib")})


def _is_installed(module):
    """Return whether a module of some name belongs to Python or to an installed package."""
    return (getattr(sys.modules.get(module), "__file__", None) or "").startswith(INSTALLED)


def check_random(functions):
    """Refuse functions that draw from a global generator, which a run's seed does not set.

    It may be a module, a generator, an iterator, a method of one or what holds one: an object, a
    container, a partial or a cached function; read by its name, as an attribute, or as a default of
    a parameter.  Functions that are called in one of these ways are checked as well, installed ones
    only if they are called by their names.
    """
    pending, seen = [(function, None) for function in functions], set()
    while pending:
        function, cls = pending.pop()
        if (function, cls) in seen:
            continue
        seen.add((function, cls))
        for name, value, owner in _read(function, cls):
            for held, its in _held(value, owner):
                if fault := _fault(held):
                    raise TypeError(f"{function.__name__} " + fault.format(name))
                if isinstance(held, FunctionType) and not is_own(held):
                    by_name = held is value and owner is None
                    if by_name or not _is_installed(held.__module__):
                        pending.append((held, its))


def _read(function, cls):
    """Yield what a function reads outside its own scope: (name, value, class of a method or None).

    Parameters
    ----------
    function : function
        A function written in Python.
    cls : type or None
        The class of which it is a method, whose other methods it may call.
    """
    values = values_read(function)
    for value in (*(function.__defaults__ or ()), *(function.__kwdefaults__ or {}).values()):
        yield f"a default, {type(value).__name__}", value, None
    for first, *attributes in _chains(function.__code__):
        name = first.removeprefix("import ")
        if name != first:
            value = sys.modules.get(name, ModuleType(name))
        else:
            value = values.get(name, getattr(builtins, name, None))
        yield from _along(name, value, attributes)
    for name, value in values.items():
        if isinstance(value, FunctionType):
            yield name, value, None
    for name in _names(function.__code__)[1] if cls else ():
        yield name, getattr_static(cls, name, None), cls


def _along(name, value, attributes):
    """Yield what a chain of attributes reads, as `_read` does; of an object what it holds."""
    method = None
    for attribute in attributes:
        if not isinstance(value, ModuleType | type):
            if attribute not in getattr(value, "__dict__", ()):  # a method may use all of them
                method = getattr_static(type(value), attribute, None)
                break
        elif _fault(value):
            break
        name, value = f"{name}.{attribute}", getattr(value, attribute, None)
    yield name, value, None
    yield name, method, type(value)
    if isinstance(value, type):  # to call it makes an object
        for method in ("__new__", "__init__"):
            yield name, getattr(value, method), value


def _held(value, owner=None):
    """Yield a value and all that it holds, directly or not, each with the class of a method.

    Of what an object of an installed package holds only generators are yielded: others may read
    the clock or count for their own purposes.
    """
    pending, seen = [(value, owner, True)], {}
    while pending:
        one, owner, whole = pending.pop()
        if type(one) in ProxyTypes or isinstance(one, PLAIN) or id(one) in seen:
            continue
        seen[id(one)] = one
        if whole or isinstance(one, GENERATORS):
            yield one, owner
        if isinstance(one, FunctionType | ModuleType | type | io.IOBase):
            continue
        if isinstance(one, MethodType):
            owner = one.__self__ if isinstance(one.__self__, type) else type(one.__self__)
        module = type(one).__module__
        whole = whole and (module in HOLDERS or not _is_installed(module))
        pending += [(part, owner, whole) for part in _parts(one)]
        pending += [(getattr(one, name, None), owner, True) for name in ("py_func", "__wrapped__")]
        pending.append((getattr_static(type(one), "__call__", None), type(one), whole))


def _parts(value):
    """Return what an object holds itself; of a function compiled by numba nothing but its own."""
    if isinstance(value, np.ndarray):
        return value.ravel().tolist() if value.dtype == object else []
    return [] if hasattr(value, "py_func") else gc.get_referents(value)


def _fault(value):
    """Return why equal seeds may give different runs if a function reads a value, or None."""
    name = value.__name__ if isinstance(value, ModuleType) else getattr(value, "__module__", "")
    from_source = callable(value) or isinstance(value, ModuleType)
    from_source = from_source and f"{name}.".startswith(SOURCES)
    function = value if isinstance(value, BuiltinFunctionType | FunctionType) else None
    if isinstance(value, GENERATORS) or from_source or function in FUNCTIONS:
        return (
            "draws from {}, which no seed of a run sets: declare random = True and draw from s.rng"
        )
    if function in HIDING:
        return "calls {}, in which random numbers cannot be seen: write out what it does"
    if hasattr(type(value), "__next__") and not isinstance(value, io.IOBase):
        return "reads {}, an iterator, whose place all runs would share: read a tuple of its values"
    return None


LARGEST = 2**53  # of an integer in a rule: sums of a few such numbers fit into 64 bits


def check_whole_numbers(functions):
    """Refuse integers beyond 2**53: with them 64 bits may overflow, which compiled code hides."""
    for function in functions:
        values = values_read(function)
        found = [("a constant", x) for code in _codes(function.__code__) for x in code.co_consts]
        for name, value in found + list(values.items()):
            whole = isinstance(value, int | np.integer) and not isinstance(value, bool)
            if whole and abs(int(value)) > LARGEST:
                raise TypeError(
                    f"{function.__name__} reads {name}, {in_words(int(value))}: whole numbers "
                    "beyond 2**53 are refused, since compiled code computes with 64 bits; write "
                    "a float, such as 1e18"
                )


SORTING = {"argsort": np.argsort, "argpartition": np.argpartition}
STABLE = "mergesort", "stable"


def check_sorting(functions):
    """Refuse `argsort` and `argpartition` unless a function names a stable kind each time."""
    for function in functions:
        if _is_installed(function.__module__):  # compiled code does not call it
            continue
        values, sorts, kinds = values_read(function), 0, 0
        for attribute, name in _words(function.__code__):
            value = name if attribute else values.get(name, name)
            sorts += attribute and value in SORTING or any(value is x for x in SORTING.values())
            kinds += not attribute and isinstance(value, str) and value in STABLE
        if sorts > kinds:
            raise TypeError(
                f"{function.__name__} sorts places, and the order of equal keys would not be the "
                'same in compiled code: write np.argsort(keys, kind="mergesort")'
            )


@lru_cache(maxsize=4096)
def _words(code):
    """Return what some code reads by name, and its texts: (whether it is an attribute, word)."""
    attributes = "LOAD_ATTR", "LOAD_METHOD", "IMPORT_FROM"
    read = [x for inner in _codes(code) for x in dis.get_instructions(inner)]
    return [(x.opname in attributes, x.argval) for x in read if isinstance(x.argval, str)]


def _codes(code):
    """Yield some code and that of the functions inside, such as comprehensions."""
    yield code
    for inner in code.co_consts:
        if isinstance(inner, CodeType):
            yield from _codes(inner)
