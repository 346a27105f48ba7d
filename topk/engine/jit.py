"""The only file that knows numba: its options, some of them private, and its disk cache.

Compiled code counts the references to every array that it hands from function to function,
with an atomic instruction each time; a loop that makes one pull a turn hands on a whole state
some ten times a turn, and the counting would take longer than the rest.  A function that makes
no array and keeps none has nothing to count (``_nrt=False``): its caller holds on to them.  So are
the engine's functions, and a strategy's if it is ``lean``, unless they are marked with `allocates`.

numba optimises every function and makes it run by itself before it becomes part of another one.
What is only called within a loop need not (``Part``): that saves half of the time that a loop takes
to compile, and changes nothing in it.  Functions marked with `apart` are optimised by themselves
all the same: not yet part of another loop, theirs becomes one that looks at several arms at once.

The loops of a strategy are kept on disk in a folder of the library's own, one file for each
strategy, named by a hash of everything that was compiled into it: an edit anywhere begins a new
file, and no two strategies share one.  Whatever goes wrong with the folder or a file, the loop
is compiled again and, once, a warning says so.
"""

import os
import pickle
import stat
import sys
import time
import warnings
from contextlib import suppress
from functools import cache
from hashlib import sha256
from pathlib import Path
from types import FunctionType

import numba
from numba import config, njit, types
from numba.core import event
from numba.extending import intrinsic

from topk.engine.composing import compose, digest, larger, looked_up
from topk.engine.ranking import order, order_by_digits

ENGINE = "topk.engine."  # what makes arrays there is marked
GIVEN = {order: order_by_digits}  # where a loop in plain words is a faster form
BARE = {"no_cpython_wrapper": True, "no_cfunc_wrapper": True}  # never called from Python
SOURCE = sha256(Path(__file__).read_bytes()).hexdigest()[:8]  # how things are compiled
UNUSED = 90 * 24 * 3600  # seconds after which a compiled loop is removed, when another is written

try:  # not documented by numba
    from numba.core.codegen import JITCodeLibrary
    from numba.core.compiler import Compiler, CompileResult
    from numba.core.compiler_machinery import register_pass
    from numba.core.serialize import dumps
    from numba.core.typed_passes import NativeLowering

    class Part(JITCodeLibrary):
        """The code of a function that is optimised, and made to run, only within its caller's."""

        def _optimize_final_module(self):
            """Leave that to the caller's."""

        def _finalize_final_module(self):
            self._finalize_dynamic_globals()
            self._finalized = True  # as far as it goes: it can be linked

    @register_pass(mutates_CFG=True, analysis_only=False)
    class PartLowering(NativeLowering):
        """Writes the code of a function, to be linked to that of others, and leaves it at that."""

        _name = "part_lowering"

        def run_pass(self, state):
            state.library = Part(state.targetctx.codegen(), state.func_id.func_qualname)
            state.flags.no_compile = True  # there is no address to call it at
            super().run_pass(state)
            known = [].append  # what callers find it by: a builtin, equal to no other one
            state.targetctx.insert_user_function(known, state.cr.fndesc, [state.library])
            state.cr = state.cr._replace(cfunc=known)
            return True

    class PartCompiler(Compiler):
        """numba's own, but for `PartLowering` at its end."""

        def define_pipelines(self):
            (pipeline,) = super().define_pipelines()
            at = [step for step, _ in pipeline.passes].index(NativeLowering)
            pipeline.passes[at] = PartLowering, pipeline.passes[at][1]
            pipeline.finalize()
            return [pipeline]

    PART = BARE | {"pipeline_class": PartCompiler}
    _ = njit(_nrt=False, forceinline=True, **PART)(lambda: 0).get_call_template
    PRIVATE = True
except Exception:  # noqa: BLE001  whatever another version of numba raises
    PRIVATE = False


@intrinsic
def larger_float(typing_context, a, b):
    """Compile `topk.engine.composing.larger`: with leave to look at several floats at once."""

    def code(context, builder, signature, arguments):
        flags = ("nnan", "nsz")
        is_larger = builder.fcmp_ordered(">", *arguments, flags=flags)
        return builder.select(is_larger, *arguments, flags=flags)

    return types.float64(types.float64, types.float64), code


def inner(function, lean):
    """Compile a function that becomes part of a loop; nothing of its own goes to disk."""
    if getattr(function, "shared", False):
        return kept(function)
    if function is larger:
        return larger_float
    if not PRIVATE:
        return njit(function, nogil=True)
    counts = has_to_count(function, lean)
    inlined = not counts and not getattr(function, "apart", False)
    way = BARE if getattr(function, "apart", False) else PART
    return by_types(njit(function, _nrt=counts, nogil=True, forceinline=inlined, **way))


def has_to_count(function, lean):
    """Tell whether a function, compiled, has to count references."""
    trusted = lean or function.__module__.startswith(ENGINE)
    return not trusted or getattr(function, "allocates", False)


def by_types(dispatcher):
    """Have a function compiled once for whole numbers, not anew for each constant it is given."""
    find = dispatcher.get_call_template

    def find_by_types(args, kws):
        return find([types.unliteral(arg) for arg in args], kws)

    dispatcher.get_call_template = find_by_types
    return dispatcher


@cache
def kept(function):
    """Compile a function of plain arrays once, for all loops that call it.

    Whether it counts references must not depend on the loop that happens to be the first.
    """
    counts = getattr(function, "allocates", False)
    options = BARE | {"_nrt": counts} if PRIVATE else {}
    whole, made = compose(
        function, GIVEN, lambda f: f if f.__code__ is function.__code__ else inner(f, lean=PRIVATE)
    )
    whole.__qualname__ = f"{function.__name__}_{digest(made)}_{SOURCE}"
    return on_disk(njit(whole, nogil=True, **options))


def compiled(function, given, name, lean, store=True):
    """Return ``function`` compiled with ``given`` in the place of open functions.

    Parameters
    ----------
    function : function
        A loop; see `topk.engine.composing.compose`.
    given : dict
        What takes the place of what.
    name : str
        What its file is called.
    lean : bool
        Whether of the strategy's functions, too, only those marked with `allocates` count.
    store : bool
        Whether to keep it on disk.
    """
    if config.DISABLE_JIT:
        return compose(function, given)[0]
    given = given | GIVEN
    _, made = compose(function, given)
    if lean:
        check_lean(made)
    key = f"{function.__name__}_{name}_{digest(made)}_{SOURCE}"
    if any(getattr(f, "__closure__", None) for f in made):  # the hash does not see what they hold
        return fused(function, given, key, name, lean, store)
    if (key, lean) not in _loops:
        _loops[key, lean] = fused(function, given, key, name, lean, store)
    return _loops[key, lean]


_loops = {}  # a class sent to another process has new functions each time it arrives there


def check_lean(functions):
    """Refuse functions of a rule that would be handed arrays, and never give them back."""
    for f in functions:
        if f.__module__.startswith("topk.") or getattr(f, "allocates", False):
            continue
        for called in map(f.__globals__.get, looked_up(f.__code__)):
            if getattr(called, "allocates", False) and called.__module__.startswith(ENGINE):
                name = f"{f.__qualname__} calls {called.__name__}"
                raise TypeError(f"{name}, which makes arrays: say lean = False in its class")


def fused(function, given, key, name, lean, store):
    """Compile a loop under the name ``key``; on a terminal it is called ``name``."""
    whole, _ = compose(
        function, given, lambda f: f if f.__code__ is function.__code__ else inner(f, lean)
    )
    whole.__qualname__ = key
    _unseen[key] = name
    if not PRIVATE or has_to_count(function, lean):
        return on_disk(njit(whole, nogil=True), store)
    # What Python calls has to count references, or it never gives a generator back.
    loop = njit(whole, nogil=True, _nrt=False, **PART)
    entry = _entries.get(whole.__code__.co_argcount, _call)
    call = FunctionType(entry.__code__, entry.__globals__ | {"loop": loop})
    call.__qualname__ = "call_" + key
    return on_disk(njit(call, nogil=True), store)


class Notice(event.Listener):
    """Says on a terminal, as numba begins to compile a loop, why nothing else is to be seen."""

    def on_start(self, begun):
        name = _unseen.pop(begun.data["dispatcher"].py_func.__qualname__, None)
        if name and sys.stderr.isatty():
            text = f"topk compiles {name.split('_')[0]}: a few seconds, once; see topk.warm"
            print(text, file=sys.stderr)

    def on_end(self, ended):
        """Nothing to say."""


_unseen = {}  # the names of loops that have not been compiled in this process, by their keys
event.register("numba:compile", Notice())


def _call(*arguments):
    return loop(*arguments)  # noqa: F821


# numba looks up the types of arguments that are named a hundred times faster than of ``*arguments``
_entries = {
    6: lambda a, b, c, d, e, f: loop(a, b, c, d, e, f),  # noqa: F821
    9: lambda a, b, c, d, e, f, g, h, i: loop(a, b, c, d, e, f, g, h, i),  # noqa: F821
}


def on_disk(dispatcher, store=True):
    """Keep what ``dispatcher`` compiles, with ``store``, on disk; see `folder`."""
    if PRIVATE:
        dispatcher._cache = Cache(dispatcher.py_func, folder() if store else None)
    elif store:
        try:
            dispatcher.enable_caching()
        except RuntimeError as reason:  # no folder that can be written
            _warn(reason)
    return dispatcher


@cache
def folder():
    """Return the folder of compiled loops, made if need be; None if it cannot be used.

    It is in NUMBA_CACHE_DIR, if that is set.
    """
    base = os.environ.get("NUMBA_CACHE_DIR") or os.environ.get("XDG_CACHE_HOME")
    try:
        path = Path(base or Path.home() / ".cache") / "topk"
        path.mkdir(mode=0o700, parents=True, exist_ok=True)
        found = path.stat()
        if hasattr(os, "getuid") and (found.st_uid != os.getuid() or found.st_mode & stat.S_IWOTH):
            raise OSError("it belongs to another user, or others may write to it")
        if not os.access(path, os.W_OK):
            raise OSError("it cannot be written")
        return path
    except (OSError, RuntimeError) as reason:
        _warn(reason)
        return None


def _warn(reason):
    """Say once a process why nothing is kept."""
    if not _warned:
        _warned.append(reason)
        text = f"topk keeps no compiled code: {type(reason).__name__}: {reason}"
        warnings.warn(text, RuntimeWarning, stacklevel=2)


_warned = []


class Cache:
    """What numba asks of a function's cache; without a folder it keeps nothing.

    Each signature has a file of its own, named by all that its code depends on and written whole:
    of two processes that save at once one overwrites what the other wrote with the same.
    """

    def __init__(self, py_func, folder):
        self.name, self.folder, self.cache_path = py_func.__qualname__, folder, str(folder)

    def file(self, signature, codegen):
        """Return where the code of a signature is."""
        what = signature, codegen.magic_tuple(), numba.__version__, sys.implementation.cache_tag
        return self.folder / f"{self.name}_{sha256(repr(what).encode()).hexdigest()[:16]}.nbc"

    def load_overload(self, signature, target_context):
        """Return what was compiled for a signature, None if that is not known."""
        if self.folder is None:
            return None
        target_context.refresh()
        try:
            stored = self.file(signature, target_context.codegen()).read_bytes()
            return CompileResult._rebuild(target_context, *pickle.loads(stored))
        except FileNotFoundError:
            return None
        except Exception as reason:  # noqa: BLE001  a damaged file can raise anything
            _warn(reason)
            return None

    def save_overload(self, signature, found):
        """Keep what was compiled for a signature, unless it holds addresses of this process.

        Only now do parts have addresses, where they look for what they print or raise.
        """
        for environment in found._find_referenced_environments():
            found.library.codegen.set_env(environment.env_name, environment)
        if self.folder is None or found.lifted or found.library.has_dynamic_globals:
            return
        try:
            file = self.file(signature, found.library.codegen)
            part = file.with_suffix(f".{os.getpid()}.nbc")
            part.write_bytes(dumps(found._reduce()))
            part.replace(file)
            remove_unused()
        except Exception as reason:  # noqa: BLE001  a full disk, a type that cannot be pickled
            _warn(reason)


def remove_unused():
    """Remove files that have not been read for `UNUSED` seconds: of other versions, mostly."""
    for file in folder().glob("*.nb?"):
        with suppress(OSError):  # another process may do the same
            found = file.stat()
            if max(found.st_atime, found.st_mtime) < time.time() - UNUSED:
                file.unlink()
