"""Compilation by numba, and the compiled loops on disk; no other file depends on numba.

A loop is compiled from a module that `topk.engine.assemble` writes.  The module lies in a folder of
the library's own and is named by the hash of its text, which ends with the named tuples among the
arguments; numba's ordinary cache keeps the machine code beside it.  An edit of a function or of a
named tuple therefore leads to another file.  That cache does not detect damaged files.  Therefore a
*seal*, the digests of numba's files, is written when a loop is stored and compared before it is
loaded.  If the folder or a file is unusable, a warning is issued and the loop is compiled again.

What is private in numba
------------------------
Compiled code counts the references to each array that it passes to a function, with an atomic
instruction each time.  A loop that makes one pull per step passes a whole state to some ten
functions per step, and LUCB1 takes 60 times as long if references are counted.  Two options
avoid this:

* ``_nrt=False``: a function that neither makes nor stores an array counts no references.  The
  library's functions are compiled this way unless they are marked with `allocates`.  The functions
  of users' strategies, and of the library's strategies in rounds, always count references.  So does
  the entry point, which Python calls; otherwise the generator would leak.
* ``forceinline=True``: such a function is inlined into its caller, unless marked with `apart`.

``no_cpython_wrapper`` and ``no_cfunc_wrapper`` change no code that runs: they leave out the form of
each function for calls from Python or C.  They save compilation: without them the first compiled
run of CLUCB takes a third more processor time (24 s instead of 18).  If numba does not know one of
the options, all are left out (`PRIVATE` is False); the results are the same, but runs are slower.

numba links each function with all that it calls, optimizes the result and translates it to machine
code.  Only loops call the library's functions, so that of all this only the entry point's code ever
runs.  Therefore the functions are only linked (`compiler_of_parts`), and optimized and translated
once, with the entry point: a first run takes a fifth to a half less processor time.  The functions
of users' strategies are compiled in numba's way, since they may call each other in a circle, print,
or make objects of Python.

Without numba everything runs as plain Python.
"""

import sys
import threading
import time
from contextlib import contextmanager, nullcontext
from functools import cache
from hashlib import sha256
from pathlib import Path
from pickle import PicklingError
from typing import Any

import numpy as np

from topk.engine.assemble import Assembly, plain_form
from topk.engine.seal import folder, is_text, remove, seal, unsealed, warn, write
from topk.engine.tiering import Tier
from topk.rules.ranking import order, order_by_digits

try:
    import numba
    from llvmlite import __version__ as llvmlite_version  # type: ignore[import-untyped]
    from llvmlite import binding
    from numba import types
    from numba.extending import intrinsic

    config: Any = numba.config
    njit: Any = numba.njit
    COMPILES = not config.DISABLE_JIT
except ImportError:
    COMPILES = False

GIVEN = {order: order_by_digits}  # the second is faster when compiled
PATIENCE = 1.0  # seconds; a longer compilation is announced
BUSY = 120.0  # seconds after which a process that has begun to compile is thought to have ended
SOURCE = sha256(Path(__file__).read_bytes()).hexdigest()[:8]  # identifies the way of compiling

# The decorators of a written module: how each function of a loop is compiled


def compiler_of_parts():
    """Return numba's compiler with one change: functions are linked and not translated."""
    from numba.core.codegen import JITCodeLibrary
    from numba.core.compiler import CompilerBase, DefaultPassBuilder

    class Part(JITCodeLibrary):
        """The code of a function that only a loop calls."""

        def finalize(self):
            """Link all that the function calls; the loop links the result, and optimizes it."""
            self._raise_if_finalized()
            for library in dict.fromkeys(self._linking_libraries):
                self._reload_init.update(library._reload_init)
                self._final_module.link_in(library._get_module_for_linking(), preserve=True)
            self._finalized = True

        def get_pointer_to_function(self, name):
            """Return 0: the function has no address of its own."""
            self._ensure_finalized()
            return 0

        @property
        def codegen(self):
            """What numba tells of the function's environment; see `set_env`."""
            return self

        def set_env(self, name, environment):
            """Do nothing, as code that is not translated has no place for an environment.

            Only printing and the creation of Python objects need one, and the functions of a loop
            that was loaded from disk have none in any case.
            """

    class Compiler(CompilerBase):
        """A compiler that is told where to put the code."""

        def define_pipelines(self):
            codegen, name = self.state.targetctx.codegen(), self.state.func_id.func_qualname
            self.state.library = Part(codegen, name)
            return [DefaultPassBuilder.define_nopython_pipeline(self.state)]

    return Compiler


PRIVATE = False
if COMPILES:
    options: list[dict[str, Any]] = [{}, {}, {}, {}]
    try:  # an option that is left out would be inherited from the first caller
        bare = {"no_cpython_wrapper": True, "no_cfunc_wrapper": True}  # only a loop calls it
        part = bare | {"pipeline_class": compiler_of_parts()}
        private = [bare | {"_nrt": True, "forceinline": False},
                   part | {"_nrt": True, "forceinline": False},
                   part | {"_nrt": False, "forceinline": False},
                   part | {"_nrt": False, "forceinline": True}]
        for one in private:
            njit(**one)(lambda: 0)
        options, PRIVATE = private, True
    except Exception:  # noqa: BLE001  whatever another version of numba raises
        pass

    entry = njit(nogil=True)  # the function that Python calls
    stored_entry = njit(nogil=True, cache=True)
    of_users, counting, apart, inlined = (njit(**one) for one in options)

    @intrinsic
    def larger_float(typing_context, a, b):
        """Compile `topk.rules.marks.larger` to an instruction that can be vectorised."""

        def code(context, builder, signature, arguments):
            flags = ("nnan", "nsz")
            is_larger = builder.fcmp_ordered(">", *arguments, flags=flags)
            return builder.select(is_larger, *arguments, flags=flags)

        return types.float64(types.float64, types.float64), code


def mark_of(function, lean):
    """Return the name of the decorator of a function in a loop; for ``lean`` see `compiled`."""
    name = f"{function.__module__}."
    if not name.startswith("topk."):
        return "of_users"
    if getattr(function, "allocates", False) or (name.startswith("topk.strategies.") and not lean):
        return "counting"
    return "apart" if getattr(function, "apart", False) else "inlined"


@cache
def compiled(function, given, name, lean, store=True):
    """Return a function compiled with the substitutions ``given``.

    Parameters
    ----------
    function : function
        The entry point, such as `topk.engine.loop.run_batches`.
    given : tuple of pair
        (function, replacement); see `topk.engine.assemble.Assembly`.
    name : str
        The first part of its file's name: the strategy, and what distinguishes its loops.
    lean : bool
        Whether the library's strategies count references only in functions marked with `allocates`.
    store : bool
        Whether to store the loop on disk, unless numba cannot load it again.

    Returns
    -------
    callable
        A `Loop`; the function as plain Python if there is no compiler, or if an included function
        has no source text.
    """
    if not COMPILES:
        return plain_form(function, given)
    assembly = Assembly(function, dict(given) | GIVEN)
    for part, reason in assembly.without_source.items():
        how = f"topk runs {name.partition('_')[0]} as plain Python, slowly"
        warn(f"{how}: the source text of {part.__qualname__} cannot be read ({reason})")
        return plain_form(function, given)
    # numba crashes when it loads stored functions that call each other in a circle
    storable = not (assembly.values or assembly.calls_in_circle())
    loop = Loop(assembly, name, lean, store and storable)
    return _loops.setdefault(loop.text, loop)


_loops: dict = {}  # by text: a class sent to another process has new functions at each arrival


def environment():
    """Return a name for the folder: all that machine code depends on except its source."""
    features = config.CPU_FEATURES or binding.get_host_cpu_features().flatten()
    cpu = config.CPU_NAME or binding.get_host_cpu_name(), features
    found = sha256(repr((cpu, np.__version__, llvmlite_version)).encode()).hexdigest()[:12]
    return f"{sys.implementation.cache_tag}-numba-{numba.__version__}-{found}"


class Loop:
    """A compiled function, with its module and its seal.

    Parameters
    ----------
    assembly : topk.engine.assemble.Assembly
        The included functions.
    name, lean, store
        As for `compiled`.

    Attributes
    ----------
    text : str
        The text of the module.
    path : path or None
        The file of the module; None before the first call, or if nothing is stored.
    dispatcher
        The entry point as compiled by numba; None before the first call.
    """

    def __init__(self, assembly, name, lean, store):
        self._assembly, self._name, self._lean = assembly, name, lean
        self._folder = folder(environment()) if store else None
        self.text, self.path, self.dispatcher = self._written(), None, None
        self._sealed, self._called = 0, False  # number of sealed signatures; whether it has run

    def _written(self):
        """Return the text of the module."""
        first, begin = "stored_entry" if self._folder else "entry", self._assembly.entry
        title = f"The function {begin.__name__} of {self._name}, as topk compiles it.\n\n"
        title += f"Written by topk.engine.assemble, for topk.engine.jit ({SOURCE}).\n"
        return self._assembly.text(title, lambda f: first if f is begin else mark_of(f, self._lean))

    def __call__(self, *arguments):
        """Call the function; the first call loads or compiles it."""
        if not self._called:
            return self._first_call(*arguments)
        found = self.dispatcher(*arguments)
        if self.path and len(self.dispatcher.signatures) != self._sealed:
            self._seal()
        return found

    def claim(self, arguments, compiles):
        """Return whether the loop can be loaded or, if ``compiles``, is compiled by this process.

        It is not if another process has begun to compile it in the last `BUSY` seconds.
        """
        if self._called or self._stored(arguments):
            return True
        if not (compiles and self.path):
            return compiles
        try:
            if time.time() - self._mark.stat().st_mtime < BUSY:
                return False
        except FileNotFoundError:
            pass
        self._mark.touch()
        return True

    @property
    def _mark(self):
        """The file that says that a process is compiling the loop."""
        return self.path and self.path.with_suffix(".busy")

    def _stored(self, arguments):
        """Return the files with the stored loop, after writing the module."""
        try:
            return self._open(arguments)
        except (OSError, RuntimeError) as reason:  # numba finds no place for its files
            self._keep_nothing(reason)
            return []

    def _first_call(self, *arguments):
        """Load or compile the function and call it; seal the files that numba has stored."""
        stored, begin = self._stored(arguments), time.thread_time()
        try:
            with nullcontext() if stored else self._announced():
                return self.dispatcher(*arguments)
        except Exception as reason:
            compiled = bool(self.dispatcher.signatures)
            if compiled and isinstance(reason, OSError | PicklingError):  # it was not stored
                warn(f"topk keeps no compiled code: {reason!r}")
            elif stored and not compiled:  # it was not loaded
                remove([*stored, self._seal_path])
                self._keep_nothing(reason)
            else:
                raise
            return self.dispatcher(*arguments)
        finally:
            if self.path and self.dispatcher.stats.cache_misses:
                self._seal()
                self._mark.unlink(missing_ok=True)
            self._called = True
            if not stored:
                Tier.costs[0] = time.thread_time() - begin
            self._sealed = len(self.dispatcher.signatures)

    @contextmanager
    def _announced(self):
        """Announce on standard error a compilation that takes longer than `PATIENCE`.

        Nothing is printed if a notebook or a test captures standard error as output.
        """
        kind = self._name.partition("_")[0]

        def say():
            captured = sys.stderr is not sys.__stderr__ or sys.stderr is None
            if not (captured or self.dispatcher.signatures):  # otherwise it runs
                print(f"topk compiles {kind}: a few seconds, once; see topk.warm", file=sys.stderr)

        timer = threading.Timer(PATIENCE, say)
        timer.daemon = True
        timer.start()
        try:
            yield
        finally:
            timer.cancel()
            timer.join()  # a fork of the process needs a single thread

    def _open(self, arguments):
        """Write the module, check its seal, and return the files with its machine code."""
        name = f"{self._name}_{self._assembly.entry.__name__}"
        if self._folder:
            tuples = sorted(set(_named_tuples(arguments)))
            text = "\n".join([self.text, "", "# Among its arguments:", *tuples, ""])
            found = sha256(text.encode()).hexdigest()[:16]
            self.path = self._folder / f"{name}_{found}.py"
            if not is_text(self.path, text):
                write(self.path, text)
        dispatcher = self._assembly.execute(self.text, self.path)
        stored = self._files(dispatcher)
        if unsealed(self._seal_path, stored):
            if self._seal_path.exists():  # otherwise another process is about to write it
                warn(f"topk compiles {name} again: its files in {self._folder} are damaged")
            remove([*stored, self._seal_path])
            stored = []
        self.dispatcher = dispatcher
        return stored

    @property
    def _seal_path(self):
        return self.path and self.path.with_suffix(".seal")

    def _files(self, dispatcher):
        """Return the files in which numba stores the loop."""
        if not self.path:
            return []
        return sorted(Path(dispatcher.stats.cache_path).glob(f"{self.path.stem}.*.nb?"))

    def _seal(self):
        """Seal the stored files."""
        self._sealed = len(self.dispatcher.signatures)
        try:
            seal(self._seal_path, self._files(self.dispatcher))
        except FileNotFoundError:  # another process is compiling the loop again and will seal it
            pass
        except OSError as reason:
            warn(f"topk keeps no compiled code: {reason!r}")

    def _keep_nothing(self, reason):
        """Warn, and compile in memory only."""
        warn(f"topk keeps no compiled code: {type(reason).__name__}: {reason}")
        self._folder = self.path = None
        self.text = self._written()
        self.dispatcher = self._assembly.execute(self.text)


def _named_tuples(values):
    """Yield a comment for each named tuple among some values: its class and its fields.

    Stored machine code refers to these classes by name, so numba cannot load it if one of them has
    been renamed.
    """
    for value in values:
        if isinstance(value, tuple):
            yield from _named_tuples(value)
            if hasattr(value, "_fields"):
                cls = type(value)
                yield f"# {cls.__module__}.{cls.__qualname__}({', '.join(value._fields)})"
