"""Write a function and all that it calls as one module, with a strategy's functions substituted.

A form (`rounds`, `indices`) is ordinary code that calls open functions, such as ``share(s)``.  An
`Assembly` collects the functions that are needed, each once, replaces the open ones by the
strategy's, and writes the text of one module: a file that can be read, and whose machine code can
be cached.  When the module is executed, each function keeps its original file and line, so
tracebacks and breakpoints show the original source.
"""

import __future__

import ast
import builtins
import dis
import inspect
import itertools
import random
import sys
import textwrap
from functools import cache
from hashlib import sha256
from types import CodeType, FunctionType, ModuleType
from typing import NamedTuple

import numpy as np

from topk.rules.marks import larger

FUTURE = __future__.annotations.compiler_flag  # annotations are not evaluated
MISSING = object()
LARGER = "from topk.rules.marks import larger"


class NoSource(Exception):
    """The source text of a function cannot be found."""


class Source(NamedTuple):
    """The text of a function.

    Attributes
    ----------
    lines : list of str
        The lines from ``def`` on, without indentation.
    first : int
        Number of the line of ``def`` in the file.
    indent : int
        Number of columns by which the text is indented there.
    """

    lines: list
    first: int
    indent: int


def source_of(function):
    """Return the `Source` of a function.

    The result is stored as an attribute of the function.  Attributes are sent to other processes
    with the function; there, a function of a notebook has no file.

    Raises
    ------
    NoSource
        If there is no text, or if the text has changed since the function was defined.
    """
    if "source" not in vars(function):
        function.source = _read(function)
    return Source(*function.source)


def _read(function):
    """Find the text of a function in its file; see `source_of`."""
    try:
        lines, first = inspect.getsourcelines(function)
        indent = len(lines[0]) - len(lines[0].lstrip())
        lines = textwrap.dedent("".join(lines)).split("\n")
        (node,) = ast.parse("\n".join(lines)).body
        if not isinstance(node, ast.FunctionDef):
            raise NoSource("it is not made by `def`")
        lines = lines[node.lineno - 1 : node.end_lineno]
        module = compile("\n".join(lines), "", "exec", FUTURE, dont_inherit=True)
    except (OSError, TypeError, SyntaxError, ValueError) as reason:
        raise NoSource(str(reason)) from None
    made = next(x for x in module.co_consts if isinstance(x, CodeType))
    if not function.__closure__ and _operations(made) != _operations(function.__code__):
        raise NoSource("the file has changed since it was imported")
    return lines, first + node.lineno - 1, indent


def _operations(code):
    """Return the instructions of some code, except what depends on the imports of its file.

    A call ``x.f()`` is compiled in another way if ``x`` is imported at the top of the file, and the
    text of a function is compiled here without that import.
    """
    vague = {*dis.hasjrel, *dis.hasjabs, dis.EXTENDED_ARG, dis.opmap["PUSH_NULL"]}
    found = (x for x in dis.get_instructions(code) if x.opcode not in vague)
    return [(x.opname.replace("METHOD", "ATTR"), x.argval) for x in found
            if not isinstance(x.argval, CodeType)]


def names_in(function):
    """Return the names that a function looks up outside its own scope, in the order of its text.

    Raises
    ------
    NoSource
        If the function has no source text.
    """
    (node,) = ast.parse("\n".join(source_of(function).lines)).body
    own = {*function.__code__.co_varnames, *function.__code__.co_cellvars}
    own |= {x.arg for x in ast.walk(node) if isinstance(x, ast.arg)}
    return list(dict.fromkeys(x.id for x in _names(node) if x.id not in own))


def _names(node):
    """Return the nodes of the names in a function's body and defaults, in the order of the text."""
    parts = [*node.args.defaults, *(x for x in node.args.kw_defaults if x), *node.body]
    found = (x for part in parts for x in ast.walk(part) if isinstance(x, ast.Name))
    return sorted(found, key=lambda x: (x.lineno, x.col_offset))


def value_of(function, name):
    """Return the value of a name in a function, ``MISSING`` if it is a builtin or unknown."""
    code, cells = function.__code__, function.__closure__ or ()
    enclosed = dict(zip(code.co_freevars, cells, strict=True))
    if name in enclosed:
        return enclosed[name].cell_contents
    return function.__globals__.get(name, MISSING)


def check_random(function):
    """Refuse a function that draws from a global generator, which a run's seed does not set."""
    operations = list(dis.get_instructions(function.__code__))
    for first, then in itertools.pairwise(operations):
        if first.opname not in ("LOAD_GLOBAL", "LOAD_DEREF"):
            continue
        name, value = first.argval, value_of(function, first.argval)
        if value is np and then.argval == "random":
            name, value = f"{name}.random", np.random
        if value is random or value is np.random:
            raise TypeError(
                f"{function.__name__} draws from {name}, which no seed of a run sets: declare "
                "random = True and draw from s.rng"
            )


class Assembly:
    """A function and all that it calls.

    Parameters
    ----------
    function : function
        The entry point.  Every Python function that it calls by name is included, recursively.
    substitutions : dict
        function -> function that replaces it.
    arrays : bool
        Whether functions are replaced by their forms for arrays, see `topk.rules.marks.in_arrays`.

    Attributes
    ----------
    names : dict
        function -> its name in the module, for the included functions in the order of their first
        calls.
    without_source : dict
        function -> reason, for the included functions that have no source text.
    values : dict
        name -> value, for the values that no line of source text can define.

    Raises
    ------
    TypeError
        If an open function is called that ``substitutions`` does not replace, or if a function
        draws random numbers from ``random`` or ``numpy.random``.
    """

    def __init__(self, function, substitutions=(), arrays=False):
        self.substitutions, self.arrays = dict(substitutions), arrays
        self.names, self.without_source, self.values = {}, {}, {}
        self._called = {}  # function -> name in it -> the function that it calls
        self._renamed = {}  # function -> name in it -> a different name in the module
        self._lines = {}  # name in the module -> import or constant
        self._whole = set()  # names of constants of type int
        self.entry = self._collect(function)
        self._name_functions()

    def _collect(self, function):
        """Include a function and what it calls; return the function or its replacement."""
        function = self._in_arrays(self.substitutions.get(function, function))
        if function in self._called:
            return function
        if getattr(function, "open", False):
            raise TypeError(f"{function.__name__} is not given: {function.__doc__}")
        check_random(function)
        self._called[function], self._renamed[function] = {}, {}
        try:
            names = names_in(function)
        except NoSource as reason:
            self.without_source[function] = str(reason)
            names = [*_names_of(function.__code__)]
        for name in names:
            value = value_of(function, name)
            value = getattr(value, "py_func", value)  # of a function compiled by numba
            if value is larger:
                self._lines[name] = LARGER
            elif isinstance(value, FunctionType):
                self._called[function][name] = self._collect(value)
            elif value is not MISSING and function not in self.without_source:
                self._define(function, name, value)
        return function

    def _in_arrays(self, function):
        """Return the form of a function that is to be included; see `topk.rules.marks`."""
        form, unless = getattr(function, "in_arrays", (function, None))
        return form if self.arrays and unless not in self.substitutions else function

    def _define(self, function, name, value):
        """Record a value that is not a function: its import, its definition, or a comment on it."""
        own = name
        while hasattr(builtins, name) or self._lines.get(name) not in (None, _line_of(name, value)):
            name = f"{_module_of(function)}_{name}"  # defined differently in another module
        if name != own:
            self._renamed[function][own] = name
        self._lines[name] = line = _line_of(name, value)
        if type(value) is int and function.__module__.startswith("topk."):
            self._whole.add(name)
        if line.startswith("#"):
            self.values[name] = value

    def calls_in_circle(self):
        """Return whether some function calls another one that calls it, directly or not."""
        for function, called in self._called.items():
            seen, pending = set(), [other for other in called.values() if other is not function]
            while pending:
                other = pending.pop()
                if other is function:
                    return True
                if other not in seen:
                    seen.add(other)
                    pending += self._called[other].values()
        return False

    def _name_functions(self):
        """Give each function a unique name that no local variable of its callers has."""
        taken = {*self._lines, *dir(builtins)}
        for function in self._called:
            callers = [f for f in self._called if function in self._called[f].values()]
            local = {x for f in callers for x in f.__code__.co_varnames}
            short = function.__name__
            ways = itertools.chain(
                [short, f"{_module_of(function)}_{short}"],
                (f"{short}_{number}" for number in itertools.count(2)),
            )
            self.names[function] = next(x for x in ways if x not in taken | local)
            taken.add(self.names[function])
        for function, called in self._called.items():
            names = {x: self.names[f] for x, f in called.items()}
            self._renamed[function] |= {x: name for x, name in names.items() if x != name}

    def text(self, title, marks=None):
        """Return the text of the module.

        Parameters
        ----------
        title : str
            The docstring of the module.
        marks : function, optional
            ``marks(f)`` is the name of the decorator of f.  Without it the module is plain Python.

        Notes
        -----
        numba compiles a function again for each constant of type int that is passed to it, but
        only once for all integers of type int64.  The library's integers are written as int64.
        """
        imports = {x for x in self._lines.values() if x.startswith(("import ", "from "))}
        others = {x: line for x, line in sorted(self._lines.items()) if line not in imports}
        for name in self._whole if marks else ():
            others[name] = f"{name} = np.int64({others[name].partition(' = ')[2]})"
        if any("= np." in line for line in others.values()):
            imports.add("import numpy as np")
        if marks:
            used = sorted({marks(f) for f in self.names})
            if LARGER in imports:
                imports.remove(LARGER)
                used.append("larger_float as larger")
            imports.add(f"from topk.engine.jit import {', '.join(used)}")
        head = f'"""{title}"""', "\n".join(sorted(imports)), "\n".join(others.values())
        parts = ["\n\n".join(part for part in head if part)]
        for function, name in self.names.items():
            if function not in self.without_source:
                mark = [f"@{marks(function)}"] if marks else []
                lines = [_origin(function), *mark, *self._renamed_lines(function, name)]
                parts.append("\n".join(lines))
        return "\n\n\n".join(parts) + "\n"

    def _renamed_lines(self, function, name):
        """Return the lines of a function, with its names replaced by those in the module."""
        lines, renamed = [*source_of(function).lines], self._renamed[function]
        (node,) = ast.parse("\n".join(lines)).body
        for x in reversed([x for x in _names(node) if x.id in renamed]):
            line = lines[x.lineno - 1].encode()
            line = line[: x.col_offset] + renamed[x.id].encode() + line[x.end_col_offset :]
            lines[x.lineno - 1] = line.decode()
        lines[0] = lines[0].replace(f"def {function.__name__}", f"def {name}", 1)
        return lines

    def execute(self, text, file=None):
        """Execute the text of the module, and return its entry point.

        Parameters
        ----------
        text : str
            The result of `text`.
        file : path, optional
            The file that contains the text.  The entry point is located in this file, beside which
            numba stores machine code; the other functions keep their original locations.  Without
            a file all functions keep them.
        """
        space = {"__name__": self.entry.__module__, **self.values}
        functions = {name: f for f, name in self.names.items()}
        for node in ast.parse(text).body:
            function, name = None, str(file)
            if isinstance(node, ast.FunctionDef):
                function = functions[node.name]
            if function and not (file and function is self.entry):
                name = function.__code__.co_filename
                _move(node, source_of(function))
            code = compile(ast.Module([node], []), name, "exec", FUTURE, dont_inherit=True)
            exec(code, space)
        for function in self.without_source:
            space[self.names[function]] = self._as_it_is(function, space)
        return space[self.names[self.entry]]

    def _as_it_is(self, function, space):
        """Return a function without source text, with the functions that it calls replaced."""
        called = {x: space[self.names[f]] for x, f in self._called[function].items()}
        names, defaults = function.__globals__ | called, function.__defaults__
        return FunctionType(
            function.__code__, names, function.__name__, defaults, function.__closure__
        )


@cache
def plain_form(function, given):
    """Return a function as plain Python, with substitutions: pairs (function, replacement).

    Where a function has a form for arrays, that form is used.
    """
    assembly = Assembly(function, given, arrays=True)
    return assembly.execute(assembly.text(function.__name__))


def _names_of(code):
    """Return all names in a code object, including those of attributes."""
    inner = (x for x in code.co_consts if isinstance(x, CodeType))
    return dict.fromkeys([*code.co_names, *(x for part in inner for x in _names_of(part))])


def _module_of(function):
    """Return the last part of the name of a function's module, without underscores around it."""
    return function.__module__.rpartition(".")[2].strip("_")


def _origin(function):
    """Return a comment with the origin of a function."""
    where = f"{function.__module__}.{function.__qualname__}".replace(".<locals>", "")
    return f"# {where}, line {source_of(function).first}"


def _line_of(name, value):
    """Return the line of a module that defines a name, or a comment if no line can define it."""
    if isinstance(value, ModuleType):
        return f"import {value.__name__}" + f" as {name}" * (value.__name__ != name)
    text = _literal(value)
    if text:
        return f"{name} = {text}"
    owner, own = getattr(value, "__module__", None), getattr(value, "__qualname__", "")
    if owner != "__main__" and getattr(sys.modules.get(owner), own, MISSING) is value:
        return f"from {owner} import {own}" + f" as {name}" * (own != name)
    if isinstance(value, np.ndarray):
        digest = sha256(value.tobytes()).hexdigest()[:16]
        return f"# {name} is an array, {value.dtype} {value.shape}, with the hash {digest}"
    return f"# {name} is an object, {type(value).__name__} {id(value)}"


def _literal(value):
    """Return the source text of a constant; None if the value is not a constant."""
    if isinstance(value, np.generic):
        inner = _literal(value.item())
        return inner and f"np.{type(value).__name__}({inner})"
    if isinstance(value, float) and not np.isfinite(value):
        return f"float({str(value)!r})"
    if isinstance(value, tuple):
        parts = [_literal(x) for x in value] if type(value) is tuple else [None]
        return None if None in parts else f"({', '.join(parts)}{',' * (len(parts) == 1)})"
    if type(value) in (int, float, bool, str, complex, type(None)):
        return repr(value)
    return None


def _move(node, source):
    """Change the lines and columns of a function in a module to those of its original text."""
    down = source.first - node.lineno
    for x in ast.walk(node):
        if hasattr(x, "lineno"):
            x.lineno += down
            x.end_lineno += down
            x.col_offset += source.indent
            x.end_col_offset += source.indent
