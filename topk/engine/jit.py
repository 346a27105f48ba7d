"""The only file that knows numba: its options, some of them private, and its disk cache.

Compiled code counts the references to every array that it hands from function to function,
with an atomic instruction each time; a loop that makes one pull a turn hands on a whole state
some ten times a turn, and the counting would take longer than the rest.  A function that makes
no array and keeps none has nothing to count (``_nrt=False``): its caller holds on to them.  So are
the library's functions, of rules in rounds only the engine's, unless they are marked with
`allocates`.  What Python calls counts, or it would never give a generator back.

The loops of a strategy are kept on disk in a folder of the library's own, one file for each
strategy, named by a hash of everything that was compiled into it: an edit anywhere begins a new
file, and no two strategies share one.  Whatever goes wrong with the folder or a file, the loop
is compiled again and, once, a warning says so.
"""

import os
import pickle
import stat
import sys
import warnings
from functools import cache
from hashlib import sha256
from pathlib import Path

import numba
from numba import config, njit, types
from numba.extending import intrinsic

from topk.engine.composing import compose, digest
from topk.rules.marks import larger
from topk.rules.ranking import order, order_by_digits

GIVEN = {order: order_by_digits}  # where a loop in plain words is a faster form
SOURCE = sha256(Path(__file__).read_bytes()).hexdigest()[:8]  # how things are compiled

try:  # not documented by numba
    from numba.core.compiler import CompileResult
    from numba.core.serialize import dumps

    PART = {"no_cpython_wrapper": True, "no_cfunc_wrapper": True}  # never called from Python
    _ = njit(_nrt=False, forceinline=True, **PART)(lambda: 0).get_call_template  # type: ignore[call-overload]
    PRIVATE = True
except Exception:  # noqa: BLE001  whatever another version of numba raises
    PRIVATE = False


@intrinsic
def larger_float(typing_context, a, b):
    """Compile `topk.rules.marks.larger`: with leave to look at several floats at once."""

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
    trusted = function.__module__.startswith("topk." if lean else ("topk.engine.", "topk.rules."))
    counts = not trusted or getattr(function, "allocates", False)
    inlined = not counts and not getattr(function, "apart", False)
    return by_types(njit(function, _nrt=counts, nogil=True, forceinline=inlined, **PART))


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
    options = PART | {"_nrt": getattr(function, "allocates", False)} if PRIVATE else {}
    return whole(function, GIVEN, "shared", lean=True, store=True, **options)


@cache
def compiled(function, given, name, lean, store=True):
    """Return ``function`` compiled with ``given`` in the place of open functions.

    Parameters
    ----------
    function : function
        A loop; see `topk.engine.composing.compose`.
    given : tuple of pair
        What takes the place of what.
    name : str
        What its file is called: the strategy first, and what tells its loops apart.
    lean : bool
        Whether the library's functions count references only where they are marked.
    store : bool
        Whether to keep it on disk.
    """
    if config.DISABLE_JIT:
        return compose(function, dict(given))[0]
    return whole(function, dict(given) | GIVEN, name, lean, store)


_loops: dict = {}  # a class sent to another process has new functions each time it arrives there


def whole(function, given, name, lean, store, **options):
    """Compile a function that others have become part of; on disk it has a name of its own."""
    copy, made = compose(
        function, given, lambda f: f if f.__code__ is function.__code__ else inner(f, lean)
    )
    copy.__qualname__ = key = f"{function.__name__}_{name}_{digest(made)}_{SOURCE}"
    if key in _loops:
        return _loops[key]
    dispatcher = njit(copy, nogil=True, **options)
    if PRIVATE:
        dispatcher._cache = Cache(key, name, folder() if store else None)
    if not any(getattr(f, "__closure__", None) for f in made):  # whose hash tells too little
        _loops[key] = dispatcher
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


_warned: list = []


class Cache:
    """What numba asks of a function's cache; without a folder it keeps nothing.

    Each signature has a file of its own, named by all that its code depends on and written whole:
    of two processes that save at once one overwrites what the other wrote with the same.
    """

    def __init__(self, key, name, folder):
        self.key, self.name, self.folder, self.cache_path = key, name, folder, str(folder)

    def file(self, signature, codegen):
        """Return where the code of a signature is."""
        what = signature, codegen.magic_tuple(), numba.__version__, sys.implementation.cache_tag
        return self.folder / f"{self.key}_{sha256(repr(what).encode()).hexdigest()[:16]}.nbc"

    def load_overload(self, signature, target_context):
        """Return what was compiled for a signature; else None, and say why it takes a while."""
        target_context.refresh()
        try:
            if self.folder:
                stored = self.file(signature, target_context.codegen()).read_bytes()
                return CompileResult._rebuild(target_context, *pickle.loads(stored))
        except FileNotFoundError:
            pass
        except Exception as reason:  # noqa: BLE001  a damaged file can raise anything
            _warn(reason)
        if sys.stderr.isatty() and self.name != "shared":
            text = f"topk compiles {self.name.split('_')[0]}: a few seconds, once; see topk.warm"
            print(text, file=sys.stderr)

    def save_overload(self, signature, found):
        """Keep what was compiled for a signature, unless it holds addresses of this process."""
        if self.folder is None or found.lifted or found.library.has_dynamic_globals:
            return
        try:
            file = self.file(signature, found.library.codegen)
            part = file.with_suffix(f".{os.getpid()}.nbc")
            part.write_bytes(dumps(found._reduce()))
            part.replace(file)
        except Exception as reason:  # noqa: BLE001  a full disk, a type that cannot be pickled
            _warn(reason)
