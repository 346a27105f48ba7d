"""Where compiled kernels are kept between processes.

Numba's disk cache notices an edit of a kernel's own file, but not of a kernel that it
calls in another file.  Naming the cache folder after a hash of every source file of the
library makes any edit start a fresh folder, so that no stale code can be served.
"""

import hashlib
import os
import shutil
from pathlib import Path

PACKAGE = Path(__file__).resolve().parent.parent
KEPT = 4  # older folders, of earlier versions of the sources, are removed


def source_hash():
    """Return a short hash of every ``.py`` file of the library."""
    digest = hashlib.sha256()
    for path in sorted(PACKAGE.rglob("*.py")):
        digest.update(path.relative_to(PACKAGE).as_posix().encode() + b"\0")
        digest.update(path.read_bytes() + b"\0")
    return digest.hexdigest()[:16]


def cache_root():
    """Return ``_build/numba`` in a source checkout, the user's cache folder elsewhere."""
    if (PACKAGE.parent / "pyproject.toml").is_file():
        return PACKAGE.parent / "_build" / "numba"
    base = os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache"
    return Path(base) / "topk" / "numba"


def use_hashed_cache():
    """Point numba's cache at this version's folder, unless ``NUMBA_CACHE_DIR`` is set."""
    import numba

    if os.environ.get("NUMBA_CACHE_DIR"):
        return
    folder = cache_root() / source_hash()
    if not folder.is_dir():
        _remove_old(folder.parent)
    numba.config.CACHE_DIR = str(folder)


def _remove_old(root):
    """Keep only the most recently used folders; another process may be doing the same."""
    if not root.is_dir():
        return
    folders = sorted(root.iterdir(), key=lambda path: path.stat().st_mtime, reverse=True)
    for folder in folders[KEPT:]:
        shutil.rmtree(folder, ignore_errors=True)
