"""What decides a number, described so that two equal descriptions give equal numbers.

The store files results under a digest of such a description, and a cluster compares the
descriptions of driver and worker.  Values are described by themselves, arrays by a digest
of their bytes, and code by what it does:

* A module of this library stands for its source and that of every module of the library
  that it imports, directly or not, without comments and docstrings.
* A function or class of the user's own stands for its compiled code, its defaults, and
  whatever it refers to: global values, enclosing variables, other functions, base classes.
* What belongs to Python or to an installed package stands for its name and version.

Where this is not possible (a module of the user's own, an object with hidden state)
`Unnamed` is raised, and the result is not stored.  What a function does with files, with
the environment or with global random numbers cannot be seen here: the functions given to
`topk.replicate` have to depend on their generator alone.
"""

import ast
import dis
import functools
import hashlib
import json
import platform
import sys
import sysconfig
import types
from abc import ABC
from importlib.metadata import PackageNotFoundError, version
from importlib.util import find_spec
from pathlib import Path

import numpy as np

from topk.kernels.cache import PACKAGE, source_hash

IMPORTED = source_hash()  # of the sources that this process runs
PLAIN = (bool, int, str, type(None))


class Unnamed(Exception):
    """It is not known what decides the result, and the text says why."""


def digest(description):
    """Return the digest of a description, as 64 hexadecimal digits."""
    text = json.dumps(description, sort_keys=True, separators=(",", ":"))
    return hashlib.sha256(text.encode()).hexdigest()


@functools.cache
def versions():
    """Return the versions of what the numbers come from, apart from this library."""
    packages = {name: version(name) for name in ("numba", "numpy", "scipy")}
    python = ".".join(platform.python_version_tuple()[:2])
    return packages | {"python": python, "machine": platform.machine()}


# This library


@functools.cache
def module_code(name):
    """Return a digest of a module of this library and of all that it imports from it.

    Raises
    ------
    Unnamed
        If the sources are no longer those that this process imported.
    """
    if source_hash() != IMPORTED:
        raise Unnamed("the library's sources have changed since they were imported")
    seen, waiting = {}, [_source_of(name)]
    while waiting:
        path = waiting.pop()
        if path not in seen:
            seen[path], imported = _parsed(path)
            waiting += imported
    return digest({path.relative_to(PACKAGE).as_posix(): code for path, code in seen.items()})


@functools.cache
def _parsed(path):
    """Return a digest of a source file and the files of the library that it imports."""
    tree = ast.parse(path.read_bytes())
    imported = []
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            imported += [_source_of(alias.name) for alias in node.names]
        elif isinstance(node, ast.ImportFrom) and node.module:
            names = [f"{node.module}.{alias.name}" for alias in node.names]
            imported += [_source_of(name) or _source_of(node.module) for name in names]
        _drop_docstring(node)
    code = hashlib.sha256(ast.dump(tree).encode()).hexdigest()
    return code, [path for path in imported if path]


def _source_of(name):
    """Return the file of a module of this library, None if there is none of that name."""
    top, *inner = name.split(".")
    if top != "topk":
        return None
    stem = PACKAGE.joinpath(*inner)
    files = [stem / "__init__.py", stem.with_name(f"{stem.name}.py")]
    return next((path for path in files if path.is_file()), None)


def _drop_docstring(node):
    if not isinstance(node, (ast.Module, ast.ClassDef, ast.FunctionDef)):
        return
    first = node.body[0] if node.body else None
    if isinstance(first, ast.Expr) and isinstance(getattr(first.value, "value", None), str):
        node.body.pop(0)


# Values


def describe(value):
    """Describe a value as JSON values.

    Parameters
    ----------
    value : object
        Numbers, strings, arrays, containers of them, functions, classes, and objects that
        are nothing but their attributes.

    Returns
    -------
    object
        Equal descriptions mean equal behaviour.

    Raises
    ------
    Unnamed
        If that cannot be promised.

    Examples
    --------
    >>> describe([1, 0.5])
    {'list': [1, {'float': '0x1.0000000000000p-1'}]}
    """
    return _Describer().of(value)


class _Describer:
    """Describes values; functions and classes that refer to each other only once."""

    def __init__(self):
        self.seen = {}

    def of(self, value):
        if type(value) in PLAIN:
            return value
        if type(value) is float:
            return {"float": value.hex()}
        if type(value) in (complex, bytes, types.EllipsisType):
            return {"constant": repr(value)}
        if isinstance(value, np.generic):
            return {"scalar": self.of(np.asarray(value))}
        if type(value) is np.ndarray:
            return {"array": _array(value)}
        if type(value) in (list, tuple):
            return {type(value).__name__: [self.of(item) for item in value]}
        if type(value) in (set, frozenset):
            return {"set": sorted((self.of(item) for item in value), key=json.dumps)}
        if type(value) is dict:
            pairs = [[self.of(key), self.of(item)] for key, item in value.items()]
            return {"dict": sorted(pairs, key=json.dumps)}
        return self.once(value)

    def once(self, value):
        """Describe what may refer to itself; the second time by a number."""
        if id(value) in self.seen:
            return {"again": self.seen[id(value)][0]}
        self.seen[id(value)] = len(self.seen), value  # kept alive, so that the id stays its own
        if isinstance(value, types.ModuleType):
            return _module(value.__name__)
        cython = type(value).__name__ == "cython_function_or_method"
        if isinstance(value, (types.BuiltinFunctionType, np.ufunc)) or cython:
            return _external(value)
        if hasattr(value, "py_func"):  # compiled by numba
            return {"compiled": self.of(value.py_func)}
        if isinstance(value, types.FunctionType):
            return _known(value) or {"function": self.function(value)}
        if isinstance(value, type):
            return _known(value) or {"class": self.members(value)}
        if isinstance(value, functools.partial):
            return {"partial": [self.of(x) for x in (value.func, value.args, value.keywords)]}
        if isinstance(value, types.MethodType):
            return {"method": [self.of(value.__func__), self.of(value.__self__)]}
        return {"object": [self.of(type(value)), self.attributes(value)]}

    def attributes(self, value):
        """Describe an object that is nothing but its attributes."""
        kind = type(value)
        for base in kind.__mro__:
            known = _is_library(base) or _is_own(base) or base in (object, ABC)
            if not known or vars(base).get("__slots__"):
                raise Unnamed(f"{base.__module__}.{base.__qualname__} may have hidden state")
        described = {}
        for name, item in vars(value).items():
            try:
                described[name] = self.of(item)
            except Unnamed:
                if not (_is_library(kind) and name.startswith("_")):  # there: made from the rest
                    raise
        return described

    def members(self, kind):
        """Describe a class of the user's own."""
        members = {}
        for name, item in vars(kind).items():
            if name in HIDDEN or (name in GENERATED and _is_generated(item)):
                continue
            if isinstance(item, property):
                item = [item.fget, item.fset, item.fdel]
            elif isinstance(item, (staticmethod, classmethod)):
                item = [type(item).__name__, item.__func__]
            elif type(item) is functools.cached_property:
                item = item.func
            elif isinstance(item, types.MemberDescriptorType):
                continue
            members[name] = self.of(item)
        return [[self.of(base) for base in kind.__bases__], members]

    def function(self, function):
        """Describe a function of the user's own, with all that it refers to."""
        used = {}
        for name in sorted(_globals_of(function.__code__)):
            if name in function.__globals__:
                used[name] = self.of(function.__globals__[name])
        cells = [self.of(cell.cell_contents) for cell in function.__closure__ or ()]
        defaults = [self.of(function.__defaults__), self.of(function.__kwdefaults__)]
        modules = [_module(name) for name in sorted(_modules_of(function.__code__))]
        return [self.code(function.__code__), used, cells, defaults, modules]

    def code(self, code):
        """Describe compiled code: its instructions and constants, not its place."""
        constants = [
            self.code(x) if isinstance(x, types.CodeType) else self.of(x) for x in code.co_consts
        ]
        counts = [code.co_argcount, code.co_posonlyargcount, code.co_kwonlyargcount, code.co_flags]
        names = [list(x) for x in (code.co_names, code.co_varnames, code.co_freevars)]
        table = hashlib.sha256(code.co_code + code.co_exceptiontable).hexdigest()
        return [table, constants, counts, names]


HIDDEN = {
    "__abstractmethods__",
    "__annotate__",
    "__annotate_func__",
    "__annotations__",
    "__annotations_cache__",
    "__dataclass_fields__",
    "__dataclass_params__",
    "__dict__",
    "__doc__",
    "__firstlineno__",
    "__match_args__",
    "__module__",
    "__static_attributes__",
    "__weakref__",
    "_abc_impl",
}


GENERATED = {f"__{name}__" for name in "init repr eq hash lt le gt ge setattr delattr".split()}


def _is_generated(item):
    """Tell whether a class member was written by ``dataclasses``, out of the fields."""
    function = getattr(item, "__wrapped__", item)
    return isinstance(function, types.FunctionType) and function.__code__.co_filename == "<string>"


def _array(array):
    if array.dtype.hasobject:
        raise Unnamed("arrays of Python objects are not described")
    content = hashlib.sha256(np.ascontiguousarray(array).data).hexdigest()
    return [array.dtype.descr if array.dtype.names else array.dtype.str, list(array.shape), content]


def _codes(code):
    """Return a code object and those inside it."""
    found = [code]
    for constant in code.co_consts:
        if isinstance(constant, types.CodeType):
            found += _codes(constant)
    return found


def _globals_of(code):
    reads = {"LOAD_GLOBAL", "LOAD_NAME"}
    return {i.argval for c in _codes(code) for i in dis.get_instructions(c) if i.opname in reads}


def _modules_of(code):
    """Return the modules that a function imports when it runs."""
    found = [i for c in _codes(code) for i in dis.get_instructions(c) if i.opname == "IMPORT_NAME"]
    return {instruction.argval for instruction in found}


def _is_library(item):
    return (getattr(item, "__module__", None) or "").split(".")[0] == "topk"


def _is_own(item):
    """Tell whether a function or class is the user's own."""
    return not _is_library(item) and not _is_installed(getattr(item, "__module__", None) or "")


def _known(item):
    """Describe what belongs to this library or to an installed package; None for the rest."""
    if _is_library(item):
        return {"topk": [item.__module__, item.__qualname__, module_code(item.__module__)]}
    return None if _is_own(item) else _external(item)


def _module(name):
    if name == "topk" or name.startswith("topk.") and _source_of(name) is None:
        return {"topk": [name, module_code("topk"), IMPORTED]}  # its names come from anywhere
    if name.startswith("topk."):
        return {"topk": [name, module_code(name)]}
    if not _is_installed(name):
        raise Unnamed(f"it is not known what the module {name} refers to")
    return {"module": [name, _version(name)]}


def _external(item):
    module = getattr(item, "__module__", None) or type(item).__module__
    owner = getattr(item, "__self__", None)  # of a built-in method: an object with a state
    if not _is_installed(module) or not isinstance(owner, (types.ModuleType, type(None))):
        raise Unnamed(f"it is not known what {item!r} depends on")
    name = getattr(item, "__qualname__", getattr(item, "__name__", ""))
    return {"external": [module, name, _version(module)]}


@functools.cache
def _is_installed(module):
    """Tell whether a module is Python's own or lies where packages are installed."""
    top = module.split(".")[0]
    if top == "__main__" or top in sys.stdlib_module_names:
        return top != "__main__"
    try:
        file = find_spec(top).origin
    except (AttributeError, ValueError):  # not found, or without a place
        return False
    places = [Path(sysconfig.get_path(name)).resolve() for name in ("purelib", "platlib")]
    return file is not None and any(place in Path(file).resolve().parents for place in places)


@functools.cache
def _version(module):
    top = module.split(".")[0]
    if top in sys.stdlib_module_names:
        return platform.python_version()
    try:
        return version(top)
    except PackageNotFoundError:
        found = getattr(sys.modules.get(top), "__version__", None)
    if not isinstance(found, str):
        raise Unnamed(f"the version of {top} is not known")
    return found
