"""Where compiled kernels are kept between processes.

Numba's disk cache notices an edit of a kernel's own file, but not of a kernel that it
calls in another file.  Naming the cache folder after a hash of every source file of the
library makes any edit start a fresh folder, so that no stale code can be served.
"""

import hashlib
import os
import shutil
import uuid
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

    _name_files_apart()
    if os.environ.get("NUMBA_CACHE_DIR"):
        return
    folder = cache_root() / source_hash()
    if not folder.is_dir():
        _remove_old(folder.parent)
    numba.config.CACHE_DIR = str(folder)


def _name_files_apart():
    """Let no two processes keep the code of different signatures in one file.

    Numba gives the code of a function's next signature the next free number.  Two processes that
    do so at the same moment take the same one, and from then on the index may name, for one
    signature, the code of the other.
    """
    from numba.core.caching import IndexDataCacheFile

    def save(self, key, data):
        name = self._load_index().get(key) or self._data_name(uuid.uuid4().int >> 64)
        self._save_data(name, data)  # before the index names it
        self._save_index(self._load_index() | {key: name})

    IndexDataCacheFile.save = save


def _last_use(folder):
    try:
        return folder.stat().st_mtime
    except OSError:  # another process has just removed it
        return 0.0


def _remove_old(root):
    """Keep only the most recently used folders; another process may be doing the same."""
    if not root.is_dir():
        return
    folders = sorted(root.iterdir(), key=_last_use, reverse=True)
    for folder in folders[KEPT:]:
        shutil.rmtree(folder, ignore_errors=True)
