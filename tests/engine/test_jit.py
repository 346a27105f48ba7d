"""What is compiled and kept: new when code changes, never in the way, nobody else's business."""

import contextlib
import gc
import io
import json
import os
import shutil
import sys
from concurrent.futures import ThreadPoolExecutor
from unittest import mock

import numpy as np
import pytest
from processes import SOURCES, environment, python
from strategies.registry import ENTRIES, cases

import topk
from topk.engine import jit
from topk.simulate.play import Play

kept_only = pytest.mark.skipif(not jit.PRIVATE, reason="another numba")

# A function that calls one of the library: its result, hits and misses of the cache, warnings.
SHARE = """
import warnings
import numpy as np
from topk.engine import jit
from topk.rules.base import equal_shares

def first_share(counts):
    equal_shares(7, 3, counts)
    return counts[0]

with warnings.catch_warnings(record=True) as caught:
    warnings.simplefilter("always")
    first_share = jit.compiled(first_share, (), "test", lean=False)
    share = first_share(np.zeros(3, dtype=np.int64))
stats = first_share.stats
print(share, *(sum(x.values()) for x in (stats.cache_hits, stats.cache_misses)),
      sum("topk keeps no compiled code" in str(one.message) for one in caught))
"""
COMPILED, LOADED, WARNED = [3, 0, 1, 0], [3, 1, 0, 0], [3, 0, 1, 1]


def shared(*paths, **more):
    """Run SHARE as if nothing had been compiled yet; with paths in a process apart."""
    if paths:
        said = python(SHARE, *paths, **more)
    else:
        out, jit_as_new = io.StringIO(), mock.patch.multiple(jit, _loops={}, _warned=[])
        with mock.patch.dict(os.environ), jit_as_new, contextlib.redirect_stdout(out):
            os.environ.clear()
            os.environ.update(environment(**more))
            jit.folder.cache_clear()
            exec(SHARE, {"__name__": "share"})
        jit.folder.cache_clear()
        said = out.getvalue()
    return [int(word) for word in said.split()]


@kept_only
def test_an_edited_callee_takes_effect_in_the_next_process(tmp_path):
    shutil.copytree(SOURCES, tmp_path / "topk", ignore=shutil.ignore_patterns("__pycache__"))
    where = {"XDG_CACHE_HOME": str(tmp_path / "cache")}
    assert shared(tmp_path, **where) == COMPILED
    edited = tmp_path / "topk" / "rules" / "base.py"
    before = edited.read_text()
    after = before.replace("= pulls // size + ", "= 2 + pulls // size + ")
    assert after != before, "this test edits a line of equal_shares that is no longer there"
    edited.write_text(after)
    assert shared(tmp_path, **where) == [5, 0, 1, 0]
    edited.write_text(before)
    assert shared(tmp_path, **where) == LOADED  # the old file is still good, and was looked at


@kept_only
@pytest.mark.slow
def test_a_damaged_file_is_compiled_again(tmp_path):
    """With one warning; afterwards the file is whole."""
    where = {"NUMBA_CACHE_DIR": str(tmp_path)}  # respected
    assert shared(**where) == COMPILED
    (file,) = (tmp_path / "topk").iterdir()
    whole = file.read_bytes()
    for content in (b"", b"junk", whole[: len(whole) // 2]):
        file.write_bytes(content)
        assert shared(**where) == WARNED
        assert shared(**where) == LOADED


@kept_only
@pytest.mark.parametrize("way", ["file", "nowhere", "homeless", "writable", "foreign"])
def test_without_a_folder_of_its_own_the_library_plays_with_one_warning(tmp_path, way):
    """Nothing goes where others could put code; root may write anywhere but below a file."""
    (tmp_path / "file").touch()
    folder = tmp_path / "cache" / "topk"
    folder.mkdir(mode=0o700, parents=True)
    where = {"XDG_CACHE_HOME": str(tmp_path / "cache")}
    if way == "file":
        where = {"HOME": str(tmp_path / "file")}
    elif way == "nowhere":
        where = {"HOME": None, "XDG_CACHE_HOME": "/proc/nowhere"}
    elif way == "homeless":
        where = {"NUMBA_CACHE_DIR": str(tmp_path / "file"), "HOME": None}
    elif way == "writable":
        folder.chmod(0o777)
    elif os.getuid() == 0:
        os.chown(folder, 65534, 65534)
    else:
        pytest.skip("only root can give a folder away")
    assert shared(**where) == WARNED
    assert not list(folder.iterdir())


@kept_only
def test_two_processes_compile_at_once(tmp_path):
    with ThreadPoolExecutor(2) as pool:
        paths = [SOURCES.parent] * 2  # in a process each
        found = list(pool.map(lambda path: shared(path, XDG_CACHE_HOME=str(tmp_path)), paths))
    assert all(one in (COMPILED, LOADED) for one in found)
    assert shared(SOURCES.parent, XDG_CACHE_HOME=str(tmp_path)) == LOADED


# Plays by two forms of one class; what is kept may not depend on which was first.
PLAY = """
import json, warnings
warnings.simplefilter("error")
import topk
from topk.simulate.play import Play

made = []
bandit = topk.BernoulliBandit([0.9, 0.5, 0.1])
for strategy in {strategies}:
    play = Play(strategy, bandit, 0, 0)
    play.advance()
    loop = play.state.compiled(topk.engine.loop.play)
    made.append([sum(loop.stats.cache_hits.values()), play.outcome().pulls.tolist()])
print(json.dumps(made))
"""
FORMS = "topk.Uniform(1, 30)", "topk.SAR(1, 30)"
USERS = """
from dataclasses import dataclass
import topk

@dataclass(frozen=True)
class SAR(topk.SAR):
    "A user's own, by the rule of the library's."
"""


@kept_only
@pytest.mark.slow
def test_what_is_kept_is_found_whatever_was_played_and_imported(tmp_path):
    """A user's strategy of the same name, from a module that later processes lack, as well."""
    where = {"XDG_CACHE_HOME": str(tmp_path / "cache")}
    (tmp_path / "users.py").write_text(USERS)
    mine = "import users\n" + PLAY.format(strategies=f"[users.SAR(1, 30), {', '.join(FORMS)}]")
    first = json.loads(python(mine, tmp_path, **where))
    (tmp_path / "users.py").unlink()
    again = PLAY.format(strategies=f"[{', '.join(FORMS[::-1])}]")
    later = json.loads(python(again, **where))
    assert [hits for hits, _ in first] == [0, 0, 0] and [hits for hits, _ in later] == [1, 1]
    pulls = [pulls for _, pulls in first]
    assert pulls[1:] == [pulls for _, pulls in later[::-1]] and pulls[0] == pulls[2]


LIVE = """
import sys
import numpy as np
from strategies.registry import ENTRIES, cases

ended = 0
for entry in ENTRIES:
    for strategy, bandit, rng in cases(entry, 3, seed=4, sizes=(3, 5)):
        session = strategy.start(bandit.layout)
        while not session.done and session.pulls.sum() < 2000:
            arms, counts = session.ask()
            ones = rng.binomial(counts, bandit.means.ravel()[arms]).astype(float)
            session.tell(arms, ones, counts=counts, squares=ones)
        ended += session.done
        assert session.selected is not None and session.bounds() is not None
    assert "numba" not in sys.modules, entry.name
assert ended > 2 * len(ENTRIES), ended
"""


def test_a_live_session_compiles_nothing():
    """Every strategy of the registry, from the import to its end."""
    python(LIVE)


def play_some(*names):
    """Play some short plays of the strategies with these names."""
    out = []
    for entry in (entry for entry in ENTRIES if entry.name in names):
        plays = [(s, bandit, rng) for s, bandit, rng in cases(entry, 40, 21, sizes=(2, 5, 9))
                 if (getattr(s, "budget", 1) or 10**9) <= 2000]  # others take long as plain Python
        for strategy, bandit, rng in plays[:6]:
            outcome = topk.run(strategy, bandit, rng=rng)
            out.append([entry.name, repr(strategy), outcome.selected.tolist(),
                        outcome.pulls.tolist(), outcome.sums.tolist(), outcome.stopped])
    return out


PLAY_SOME = "import json\nfrom engine.test_jit import *\nprint(json.dumps(play_some(*{names})))\n"
WITHOUT = """
import numba.core.serialize
kept = numba.core.serialize.dumps
del numba.core.serialize.dumps
import topk.engine.jit
numba.core.serialize.dumps = kept
"""


@pytest.mark.slow
@pytest.mark.parametrize(("names", "before", "more"), [
    (("SAR", "OptMAI", "LUCB1", "MultiBanditUGapEc"), "", {"NUMBA_DISABLE_JIT": "1"}),
    (("SAR", "LUCB1"), WITHOUT, {}),  # one of each shape: code takes long to compile
], ids=["no compiler", "a numba without the private names"])
def test_results_are_the_same_with(names, before, more, tmp_path):
    """Without the private names references are counted everywhere, and nothing is kept."""
    code = before + PLAY_SOME.format(names=names) + "assert not jit.PRIVATE"
    found = json.loads(python(code, NUMBA_CACHE_DIR=str(tmp_path), **more))
    assert len(found) >= 5 * len(names) and found == play_some(*names)
    assert not list(tmp_path.rglob("*.nb?"))


NUMBAS = """
import json
import numba
from numba import config
from numba.core import caching, dispatcher

def look():
    found = {k: repr(v) for k, v in vars(config).items() if k.isupper()}
    for module in (caching, dispatcher):
        for name, cls in vars(module).items():
            if isinstance(cls, type):
                found |= {f"{name}.{x}": repr(v) for x, v in vars(cls).items() if x != "_abc_impl"}
    return found

before = look()
import topk
topk.run(topk.Uniform(1, 30), topk.BernoulliBandit([0.9, 0.5, 0.1]))
after = look()
assert "IndexDataCacheFile.save" in before and "CACHE_DIR" in before
print(json.dumps({k: [v, after.get(k)] for k, v in before.items() if after.get(k) != v}))
"""


@kept_only
def test_numba_knows_every_state_again_whatever_was_played_before(monkeypatch):
    """Its quick look at an argument does not see the class of a named tuple.

    It never recognises a generator: the states of rules that draw random numbers, and only
    these, are looked up in Python.
    """
    first = [next(iter(cases(entry, 1000, seed=5)))[:2] for entry in ENTRIES]
    plays = [topk.run(strategy, bandit) for strategy, bandit in first]
    slow, quick = [], jit.njit(lambda: 0).typeof_pyval.__func__

    def noted(self, value):
        slow.append(type(value))
        return quick(self, value)

    monkeypatch.setattr(type(jit.njit(lambda: 0)), "typeof_pyval", noted)
    assert [topk.run(strategy, bandit) for strategy, bandit in first] == plays
    drawing = {type(Play(strategy, bandit, 0, 0).state.s) for strategy, bandit in first
               if strategy.random}
    assert drawing
    assert {kind for kind in slow if issubclass(kind, tuple)} == drawing


def test_numba_is_left_as_it_was():
    assert json.loads(python(NUMBAS)) == {}


def alive():
    """Return how many arrays compiled code has made, or taken in, and not let go."""
    from numba.core.runtime import rtsys

    gc.collect()
    stats = rtsys.get_allocation_stats()
    return stats.mi_alloc - stats.mi_free


@pytest.fixture
def counted():
    from numba.core.runtime import _nrt_python

    _nrt_python.memsys_enable_stats()
    yield
    _nrt_python.memsys_disable_stats()


@pytest.mark.slow
@pytest.mark.parametrize("entry", ENTRIES, ids=lambda entry: entry.name)
def test_plays_leave_no_array_behind(entry, counted):
    """Code that counts no references must neither lose an array nor hold on to one."""
    plays, left = list(cases(entry, 6, seed=2)), []
    for _ in range(3):  # the first time compiles
        for strategy, bandit, _ in plays:
            topk.run(strategy, bandit, rng=3)
        left.append(alive())
    assert left[1] == left[2]


def arrays_of(state):
    for value in state:
        if isinstance(value, np.ndarray):
            yield value
        elif isinstance(value, tuple):
            yield from arrays_of(value)


@pytest.mark.parametrize("strategy", [
    topk.SAR(2, 1000), topk.LUCB1(2, epsilon=0.0, delta=0.1, budget=1000),
    topk.UGapEb(2, 1000, epsilon=0.1), topk.CLUCB(2, delta=0.1, budget=1000),
], ids=lambda strategy: type(strategy).__name__)
def test_a_play_gives_back_what_it_was_lent(strategy):
    play = Play(strategy, topk.BernoulliBandit([0.9, 0.5, 0.4, 0.3, 0.2]), 0, 0)
    play.warm()
    gc.collect()  # what the compiler left behind
    arrays = [*arrays_of(play.state.s), play.means, play.arms, play.counts, play.rewards, play.rng]
    counts = [sys.getrefcount(array) for array in arrays]
    play.advance()
    assert play.total > 5
    assert [sys.getrefcount(array) for array in arrays] == counts
