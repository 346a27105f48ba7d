"""Compilation by numba, and the compiled loops on disk; no other file depends on numba.

A loop is a function such as `topk.engine.loop.run_batches` for one class of states.  It calls open
functions, such as ``pick(s)``.  For each of them numba is told, by `numba.extending.overload`, to
compile the function of that name that the state's class has, which is what the call does in plain
Python, too (`topk.rules.marks`).  Other functions of the library are made known to numba as they
are, as `numba.extending.register_jitable` does.  Functions of users are copied first, with
everything that they read, so that a later change makes another loop and does not alter this one.

numba's own cache stores a loop.  It is named by the class of the states and by a *stamp*: the hash
of the code of all functions that the loop may call, and of the constants and arrays that they read.
An edit therefore leads to another file.  That cache does not detect damage.  So a *seal*, the
digests of numba's files, is written when a loop is stored, and compared before it is loaded.

What is private in numba
------------------------
Compiled code counts the references to each array that it passes to a function, with an atomic
instruction each time.  A loop that makes one pull per step passes a whole state to some ten
functions per step, and LUCB1 takes 60 times as long if references are counted.  The first two of
these options avoid this; the third saves an eighth of the time that compiling takes:

* ``_nrt=False``, numba's own example of an option of `register_jitable`: a function that neither
  makes nor stores an array counts no references.  The library's functions are compiled this way
  unless they are marked with `allocates`.  The functions of users' strategies, and of the library's
  strategies in rounds, always count references.  So does the entry point, which Python calls.
* ``forceinline=True``: such a function is inlined into its caller, unless marked with `apart`.
* ``no_cfunc_wrapper=True``: there is no second entry to such a function, for C to call it.

numba makes machine code of each function, with all that it calls, as soon as it has compiled it, so
that a function is optimised once more for each function between it and the entry point.  The fourth
option, ``pipeline_class``, leaves a function as it is (`parts`): only the entry point, with all its
parts, is optimised and becomes machine code.  So compiling takes about half of the time.

If numba does not know one of them, all are left out, with a warning (`private_options`); the
results are the same, but runs are slower.  Without numba everything runs as plain Python.

How long compiling takes
------------------------
Each array of a state costs about 1 % of a loop's compilation, since numba passes its address,
shape and strides one by one to every function.  A function is compiled once for the callers that
count references and once for the others, and once more if it is called both by its own name and
as an open function.  Rules and searches avoid both.
"""

import math
import sys
import threading
import time
import traceback
from contextlib import nullcontext, suppress
from functools import cache
from hashlib import sha256
from pathlib import Path
from pickle import PicklingError
from types import BuiltinFunctionType, CellType, FunctionType, ModuleType
from typing import Any

import numpy as np

from topk.engine.seal import folder, remove, seal, unsealed, warn
from topk.engine.tiering import Tier
from topk.rules.calls import called_by, in_circle, is_own, reached, stamp
from topk.rules.marks import Functions, larger

try:
    import numba
    from llvmlite import __version__ as llvmlite_version  # type: ignore[import-untyped]
    from llvmlite import binding
    from numba import types
    from numba.extending import intrinsic, overload

    config: Any = numba.config
    njit: Any = numba.njit
    COMPILES = not config.DISABLE_JIT
except ImportError:
    COMPILES = False

PATIENCE = 1.0  # seconds; a longer compilation is announced
BUSY = 120.0  # seconds after which a process that has begun to compile is thought to have ended

# How functions are compiled.  Options that are left out would be inherited from the first caller.
USERS: Any = {"_nrt": True, "forceinline": False, "boundscheck": True, "no_cfunc_wrapper": False}
COUNTING: Any = {"_nrt": True, "forceinline": False, "no_cfunc_wrapper": True}
APART: Any = {"_nrt": False, "forceinline": False, "no_cfunc_wrapper": True}
INLINED: Any = {"_nrt": False, "forceinline": True, "no_cfunc_wrapper": True}


MACHINE = {"topk", "numba", "llvmlite", *sys.stdlib_module_names}  # whose errors are understood


def let_pass(error):
    """Raise an error again that neither numba nor the system has raised, such as a time limit.

    A signal may call a function at any moment, and its error must reach whoever has set the limit.
    """
    frames = traceback.walk_tb(error.__traceback__)
    raised = [frame.f_globals.get("__name__", "") for frame, _ in frames][-1]
    if isinstance(error, TimeoutError) or raised.partition(".")[0] not in MACHINE:
        raise error


@cache
def parts():
    """Return numba's compiler with another last pass, whose functions become a `Part`."""
    from numba.core import codegen, compiler, compiler_machinery, typed_passes

    class Part(codegen.JITCodeLibrary):
        """The code of a function that becomes machine code only as a part of its callers."""

        def add_ir_module(self, ir_module):
            """Mark functions that are not to be inlined: LLVM would copy them to each caller."""
            for function in ir_module.functions:
                if not (function.is_declaration or "alwaysinline" in function.attributes):
                    function.attributes.add("noinline")
            super().add_ir_module(ir_module)

        def _optimize_final_module(self):
            """Leave that to the entry point."""

        def _finalize_final_module(self):
            """Make no machine code."""
            self._finalized = True

    @compiler_machinery.register_pass(mutates_CFG=True, analysis_only=False)
    class LowerPart(typed_passes.NativeLowering):
        """Do what numba's own pass does, for a `Part`."""

        _name = "lower_part"

        def run_pass(self, state):
            """Lower a function; callers know it by an entry for Python, which nothing calls."""
            state.library = Part(state.targetctx.codegen(), state.func_id.func_qualname)
            state.flags.no_compile, entry = True, [].append
            super().run_pass(state)
            state.targetctx.insert_user_function(entry, state.cr.fndesc, [state.library])
            state.cr = state.cr._replace(cfunc=entry)
            return True

    class Parts(compiler.CompilerBase):
        """numba's compiler."""

        def define_pipelines(self):
            """Exchange the pass."""
            made = compiler.DefaultPassBuilder.define_nopython_pipeline(self.state)
            made.passes = [(LowerPart if one is typed_passes.NativeLowering else one, why)
                           for one, why in made.passes]
            made._finalized = False
            made.finalize()
            return [made]

    return Parts


@cache
def private_options():
    """Return whether numba knows the private options.

    It checks the options of a function when it compiles it, so one is compiled with all of them.
    """

    def one():
        """Return 1."""
        return 1

    try:
        for options in COUNTING, APART, INLINED:  # not `USERS`: a print, for example, needs more
            options["pipeline_class"] = parts()
        overload(one, jit_options=INLINED)(lambda: one)
        return njit(lambda: one())() == 1
    except Exception as reason:  # what another numba raises is not known
        let_pass(reason)
        warn(f"compiled code is slower with this version of numba: {reason!r}")
        return False


def options_of(function, lean):
    """Return how a function of a loop is compiled; for ``lean`` see `compiled`."""
    name = f"{function.__module__}."
    if not is_own(function):
        return USERS
    if getattr(function, "allocates", False) or (name.startswith("topk.strategies.") and not lean):
        return COUNTING
    return APART if getattr(function, "apart", False) else INLINED


def known_to_numba(options):
    """Return options without those that numba does not know."""
    if private_options():
        return options
    return {name: on for name, on in options.items() if name not in INLINED}


# What numba compiles in the place of a function


_telling = threading.Lock()  # numba is told of a function by one thread before another needs it
_known: set = set()  # functions that numba has been told of
_forms: dict = {}  # (class of states, attribute) -> function that is compiled and its options


def make_known(function, lean):
    """Tell numba of a function of the library."""
    if function in _known:
        return
    _known.add(function)
    if function is larger:
        overload(larger)(lambda a, b: lambda a, b: larger_float(a, b))
    elif hasattr(function, "attribute"):
        _make_open(function)
    else:
        form = getattr(function, "compiled_form", function)
        options = known_to_numba(options_of(form, lean))
        overload(function, jit_options=options, strict=False)(lambda *_, **__: form)


def _make_open(function):
    """Tell numba of an open function: a call compiles that of the state's class, with its options.

    Each way of compiling is an overload of its own, which applies to the classes that need it.
    """
    for options in USERS, COUNTING, APART, INLINED:

        def typed(s, *_, options=options):
            form, own = _forms.get((s.instance_class, function.attribute), (None, None))
            return form if own is options else None

        overload(function, jit_options=known_to_numba(options), strict=False)(typed)


def copies_of(functions):
    """Return the copies of functions of users, and of those that they call: function -> copy.

    The functions that they call are compiled in numba's own way, those of `math` strictly.
    """
    copies, jitted = {}, {}

    def copy(function):
        if function not in copies:
            cells = tuple(CellType(cell.cell_contents) for cell in function.__closure__ or ())
            space, code = dict(function.__globals__), function.__code__
            made = FunctionType(code, space, function.__name__, function.__defaults__, cells)
            made.__module__, made.__qualname__ = function.__module__, function.__qualname__
            made.__kwdefaults__ = function.__kwdefaults__
            copies[function] = made
            jitted[function] = njit(**known_to_numba(USERS))(made)
            own = dict(zip(code.co_freevars, cells, strict=True))
            calls = {name: value for name, value in called_by(function).items()
                     if not is_own(value)}
            for value in calls.values():
                copy(value)
            replaced = {name: jitted[value] for name, value in calls.items()}
            for name, value in {**function.__globals__, **closure_of(function)}.items():
                if value is math:
                    replaced[name] = strict_math()
                elif isinstance(value, BuiltinFunctionType) and value.__self__ is math:
                    replaced[name] = getattr(strict_math(), value.__name__)
            for name, value in replaced.items():
                if name in own:
                    own[name].cell_contents = value
                else:
                    space[name] = value

    for function in functions:
        copy(function)
    return copies


def closure_of(function):
    """Return the values from the scopes around a function: name -> value."""
    cells = zip(function.__code__.co_freevars, function.__closure__ or (), strict=True)
    return {name: cell.cell_contents for name, cell in cells}


# functions of `math` that raise errors for some numbers: of one, of two, and to whole numbers
ONE = ("acos acosh asin atanh cos cosh exp expm1 gamma lgamma log log10 log1p log2 sin sinh sqrt "
       "tan")  # fmt: skip
TWO, WHOLE = "fmod hypot pow", "ceil floor trunc"


@cache
def strict_math():
    """Return a module like `math` whose functions, compiled, raise errors where `math` does.

    numba's own return nan and infinity there.
    """
    made = ModuleType("math")
    vars(made).update({x: y for x, y in vars(math).items() if not x.startswith("_")})
    for names, strict in (ONE, strict_of_one), (TWO, strict_of_two), (WHOLE, strict_whole):
        for name in names.split():
            function = strict(getattr(math, name))
            setattr(made, name, njit(**known_to_numba(USERS))(function))
    return made


def strict_of_one(function):
    """Return a function of one number that raises an error for a result that is none."""

    def strict(x):
        found = function(x)
        if (math.isnan(found) and not math.isnan(x)) or (math.isinf(found) and math.isfinite(x)):
            raise ValueError("math domain error")
        return found

    return strict


def strict_of_two(function):
    """Return a function of two numbers that raises an error for a result that is none."""

    def strict(x, y):
        found = function(x, y)
        if not math.isfinite(found) and math.isfinite(x) and math.isfinite(y):
            raise ValueError("math domain error")
        return found

    return strict


def strict_whole(function):
    """Return a rounding function that raises an error where there is no whole number."""

    def strict(x):
        if not math.isfinite(x):
            raise ValueError("math domain error")
        return function(x)

    return strict


def functions_of(cls):
    """Return the functions of a class of states: attribute -> function."""
    names = vars(Functions) if cls else ()
    found = {name: getattr(cls, name) for name in names}
    return {name: form for name, form in found.items() if isinstance(form, FunctionType)}


def prepare(cls, functions, lean):
    """Tell numba of all functions that a loop may call."""
    given = functions_of(cls)
    with _telling:
        users = copies_of([form for form in given.values() if not is_own(form)])
        for attribute, form in given.items():
            own = options_of(getattr(form, "compiled_form", form), lean)
            _forms[cls, attribute] = users.get(form, getattr(form, "compiled_form", form)), own
        for function in functions:
            if is_own(function):
                make_known(function, lean)


if COMPILES:

    @intrinsic
    def larger_float(typing_context, a, b):
        """Compile `topk.rules.marks.larger` to an instruction that can be vectorised."""

        def code(context, builder, signature, arguments):
            flags = ("nnan", "nsz")
            is_larger = builder.fcmp_ordered(">", *arguments, flags=flags)
            return builder.select(is_larger, *arguments, flags=flags)

        return types.float64(types.float64, types.float64), code


@cache
def compiled(function, cls, name, lean, store=True):
    """Return a loop: a function compiled for the states of a class.

    Parameters
    ----------
    function : function
        The entry point, such as `topk.engine.loop.run_batches`.
    cls : type or None
        The class of the states; None if the function calls no open function.
    name : str
        The first part of its file's name: the strategy, and what distinguishes its loops.
    lean : bool
        Whether the library's strategies count references only in functions marked with `allocates`.
    store : bool
        Whether to store the loop on disk, unless numba cannot load it again.

    Returns
    -------
    callable
        A `Loop`, or ``function`` itself if there is no compiler.
    """
    return Loop(function, cls, name, lean, store) if COMPILES else function


def compiled_for(state, function, rewards=""):
    """Return `topk.engine.loop.run_batches` or ``step`` compiled for the class of a run's state.

    Parameters
    ----------
    state : topk.rules.state.RunState
        The run.
    function : function
        The entry point; without a compiler it is returned as plain Python.
    rewards : str
        What tells its loops for several laws apart; see `topk.engine.loop.name_of`.
    """
    cls, search = type(state.strategy), state.search.name if state.search else "none"
    name = f"{cls.__name__}_{search}_{type(state.s).__name__}{rewards}"
    return compiled(function, type(state.s), name, state.strategy.by_indices, is_importable(cls))


def is_importable(cls):
    """Return whether another process can import a class by its name."""
    found = getattr(sys.modules.get(cls.__module__), cls.__qualname__, None)
    return found is cls and cls.__module__ != "__main__"


def environment():
    """Return a name for the folder: all that machine code depends on except its source."""
    features = config.CPU_FEATURES or binding.get_host_cpu_features().flatten()
    cpu = config.CPU_NAME or binding.get_host_cpu_name(), features
    found = sha256(repr((cpu, np.__version__, llvmlite_version)).encode()).hexdigest()[:12]
    return f"{sys.implementation.cache_tag}-numba-{numba.__version__}-{found}"


class Announced:
    """Announce on standard error a compilation that takes longer than `PATIENCE`.

    Nothing is printed if a notebook or a test captures standard error as output.
    """

    def __init__(self, loop):
        self.loop, self.timer = loop, threading.Timer(PATIENCE, self.say)
        self.timer.daemon = True

    def say(self):
        """Print the announcement, unless the loop runs by now."""
        captured = sys.stderr is not sys.__stderr__ or sys.stderr is None
        if not (captured or self.loop.dispatcher.signatures):
            kind = self.loop.name.partition("_")[0]
            print(f"topk compiles {kind}: some seconds, once; see topk.warm", file=sys.stderr)

    def __enter__(self):
        self.timer.start()

    def __exit__(self, *_):
        self.timer.cancel()
        self.timer.join()  # a fork of the process needs a single thread


class Loop:
    """A compiled function and its seal.

    Parameters
    ----------
    function, cls, name, lean, store
        As for `compiled`.

    Attributes
    ----------
    name : str
        The name of its files.
    path : path or None
        A file beside which numba stores the loop; None if nothing is stored.
    dispatcher
        The entry point as compiled by numba.
    """

    def __init__(self, function, cls, name, lean, store):
        functions = reached([function], cls)
        users = [one for one in functions if not is_own(one)]
        strict = (strict_of_one, strict_of_two, strict_whole) if users else ()
        self.name = f"{name}_{function.__name__}_{stamp([*functions, *strict])}"
        self._called = False
        # numba crashes when it loads stored functions that call each other in a circle
        place = folder(environment()) if store and not in_circle(users) else None
        self.path = place and place / f"{self.name}.txt"
        prepare(cls, functions, lean)
        form = getattr(function, "compiled_form", function)
        self._function = form if is_own(form) else copies_of([form])[form]
        self._open()

    def _open(self):
        """Make the entry point, which has a file of its own if it is stored."""
        code, name = self._function.__code__, self._function.__name__
        if self.path:
            code = code.replace(co_filename=str(self.path))
        entry = FunctionType(code, self._function.__globals__, name)
        entry.__module__ = self._function.__module__
        try:
            if self.path:
                with suppress(FileExistsError):  # numba compares its time: another process's stays
                    self.path.open("x").close()
            self.dispatcher = njit(nogil=True, cache=bool(self.path))(entry)
        except (OSError, RuntimeError) as reason:  # numba finds no place for its files
            let_pass(reason)
            self._keep_nothing(reason)

    def __call__(self, *arguments):
        """Call the function; the first call loads or compiles it."""
        return self.dispatcher(*arguments) if self._called else self._first_call(*arguments)

    def claim(self, compiles):
        """Return whether the loop can be loaded or, if ``compiles``, is compiled by this process.

        It is not if another process has begun to compile it in the last `BUSY` seconds.
        """
        if self._called or self._stored():
            return True
        if not (compiles and self.path):
            return compiles
        with suppress(FileNotFoundError):  # no mark yet
            if time.time() - self._mark.stat().st_mtime < BUSY:
                return False
        with suppress(FileNotFoundError):  # the folder has gone: nothing can be stored there
            self._mark.touch()
        return True

    @property
    def _mark(self):
        """The file that says that a process is compiling the loop."""
        return self.path.with_suffix(".busy")

    @property
    def _seal_path(self):
        return self.path.with_suffix(".seal")

    def _files(self):
        """Return the files in which numba stores the loop."""
        if not self.path:
            return []
        return sorted(Path(self.dispatcher.stats.cache_path).glob(f"{self.name}.*.nb?"))

    def _stored(self):
        """Return the files with the stored loop, after removing damaged ones."""
        found = self._files()
        try:
            if self.path and unsealed(self._seal_path, found):
                if self._seal_path.exists():  # otherwise another process is about to write it
                    warn(f"topk compiles {self.name} again: its files are damaged")
                remove([*found, self._seal_path])
                self._open()
                found = []
        except OSError as reason:  # a file cannot be read, or another process has just removed it
            let_pass(reason)
            self._keep_nothing(reason)
            found = []
        return found

    def _first_call(self, *arguments):
        """Load or compile the function and call it; seal the files that numba has stored."""
        stored, begin = self._stored(), time.thread_time()
        try:
            with nullcontext() if stored else Announced(self):
                return self.dispatcher(*arguments)
        except Exception as reason:
            let_pass(reason)
            made = bool(self.dispatcher.signatures)
            if made and isinstance(reason, OSError | PicklingError):  # it was not stored
                warn(f"topk keeps no compiled code: {reason!r}")
            elif stored and not made:  # it was not loaded
                remove([*stored, self._seal_path])
                self._keep_nothing(reason)
            else:
                raise
            return self.dispatcher(*arguments)
        finally:
            self._called = bool(self.dispatcher.signatures)
            if self._called and not stored:
                Tier.costs[0] = time.thread_time() - begin
            if self.path and self.dispatcher.stats.cache_misses:
                self._seal()
                self._mark.unlink(missing_ok=True)

    def _seal(self):
        """Seal the stored files."""
        try:
            seal(self._seal_path, self._files())
        except FileNotFoundError:  # another process is compiling the loop again and will seal it
            pass
        except OSError as reason:
            let_pass(reason)
            warn(f"topk keeps no compiled code: {reason!r}")

    def _keep_nothing(self, reason):
        """Warn, and compile in memory only."""
        warn(f"topk keeps no compiled code: {type(reason).__name__}: {reason}")
        self.path = None
        self._open()
