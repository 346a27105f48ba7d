"""The cache of compiled code: invalidation, damage, permissions, and private options."""

import contextlib
import gc
import io
import json
import os
import re
import shutil
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from unittest import mock

import numpy as np
import pytest
from processes import SOURCES, environment, python
from scale import some
from strategies.registry import ENTRIES, cases

import topk
from topk.engine import jit, seal
from topk.rules import indices, ranking
from topk.rules.base import restore
from topk.rules.marks import Functions, replaceable
from topk.rules.search.ugape_scan import find_bounds
from topk.simulate.play import Play
from topk.strategies.kllucb import published_beta

pytestmark = pytest.mark.usefixtures("compiled")
kept_only = pytest.mark.skipif(not jit.COMPILES, reason="no compiler")

# A function that calls one of the library: its result, hits and misses of the cache, warnings.
SHARE = """
import warnings
import numpy as np
from engine.share import first_share
from topk.engine import jit

with warnings.catch_warnings(record=True) as caught:
    warnings.simplefilter("always")
    compiled = jit.compiled(first_share, None, "test", lean=False)
    share = compiled(np.zeros(3, dtype=np.int64))
stats = compiled.dispatcher.stats
print(share, *(sum(x.values()) for x in (stats.cache_hits, stats.cache_misses)), len(caught))
"""
COMPILED, LOADED, WARNED = [3, 0, 1, 0], [3, 1, 0, 0], [3, 0, 1, 1]


def shared(*paths, **more):
    """Run SHARE without compiled code in memory; with paths, in a separate process."""
    if paths:
        said = python(SHARE, *paths, **more)
    else:
        out = io.StringIO()
        with mock.patch.dict(os.environ), contextlib.redirect_stdout(out):
            os.environ.clear()
            os.environ.update(environment(**more))
            forget()
            exec(SHARE, {"__name__": "share"})
        forget()
        said = out.getvalue()
    return [int(word) for word in said.split()]


def compiled_run(strategy, n):
    """Return the state of a run with the search that is compiled."""
    return strategy.begin(n, search=strategy.search_for(n))


def forget():
    seal.folder.cache_clear()
    jit.compiled.cache_clear()


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


def damages(content):
    """Yield damaged forms of a file's content: empty, other, cut short, one bit turned."""
    yield from (b"", b"junk", content[: len(content) // 2])
    for place in range(0, len(content), max(1, len(content) // 5)):
        yield content[:place] + bytes([content[place] ^ 1]) + content[place + 1 :]


@kept_only
@pytest.mark.slow
@pytest.mark.parametrize("kind", ["nbi", "nbc", "seal"])
def test_a_damaged_file_is_compiled_again(tmp_path, kind):
    """With one warning; afterwards the file is whole."""
    where = {"XDG_CACHE_HOME": str(tmp_path)}
    assert shared(**where) == COMPILED
    (file,) = tmp_path.rglob(f"*.{kind}")
    for content in damages(file.read_bytes()):
        file.write_bytes(content)
        assert shared(**where) == WARNED
        assert shared(**where) == LOADED
        (file,) = tmp_path.rglob(f"*.{kind}")


@kept_only
@pytest.mark.slow
def test_a_file_that_is_gone_or_cannot_be_read_is_compiled_again(tmp_path):
    """A loop without its seal was not stored to the end, which is no damage."""
    where = {"XDG_CACHE_HOME": str(tmp_path)}
    assert shared(**where) == COMPILED
    for kind in ("nbi", "nbc", "seal"):
        (file,) = tmp_path.rglob(f"*.{kind}")
        file.unlink()
        assert shared(**where) == COMPILED
        assert shared(**where) == LOADED
    (file,) = tmp_path.rglob("*.nbc")
    file.unlink()
    file.mkdir()
    assert shared(**where) == WARNED


@kept_only
def test_the_folder_of_numba_is_respected(tmp_path):
    """All is in it, and a damaged file is noticed there."""
    where = {"NUMBA_CACHE_DIR": str(tmp_path), "HOME": "/proc/nowhere"}
    assert shared(SOURCES.parent, **where) == COMPILED
    assert shared(SOURCES.parent, **where) == LOADED
    (file,) = tmp_path.rglob("*.nbc")
    file.write_bytes(file.read_bytes()[::-1])
    assert shared(SOURCES.parent, **where) == WARNED


def raised_by_numba(error):
    """Return a function of numba's, by its module's name, that raises an error."""
    module = {"__name__": "numba.core.caching"}
    exec(f"def fail(*_):\n    raise {error}", module)
    return module["fail"]


@kept_only
def test_what_cannot_be_stored_is_compiled_with_a_warning(tmp_path, monkeypatch):
    """As on a full disk, or where numba finds no place for its files."""
    from numba.core import caching

    where = {"XDG_CACHE_HOME": str(tmp_path)}
    full = raised_by_numba('OSError(28, "No space left on device")')
    monkeypatch.setattr("numba.core.caching.IndexDataCacheFile._save_data", full)
    assert shared(**where) == WARNED
    monkeypatch.undo()
    for locator in caching.CacheImpl._locator_classes:
        monkeypatch.setattr(locator, "from_function", lambda *_: None)
    assert shared(**where)[3] == 1
    monkeypatch.undo()
    assert shared(**where) == COMPILED


@kept_only
def test_what_numba_cannot_load_is_compiled_again(tmp_path, monkeypatch):
    """At once, with a warning; the next process stores it anew."""
    where = {"XDG_CACHE_HOME": str(tmp_path)}
    assert shared(**where) == COMPILED

    unknown = raised_by_numba('AttributeError("no attribute")')
    monkeypatch.setattr("numba.core.caching.IndexDataCacheFile.load", unknown)
    assert shared(**where) == WARNED
    monkeypatch.undo()
    assert [shared(**where) for _ in range(2)] == [COMPILED, LOADED]


@kept_only
@pytest.mark.parametrize("way", ["file", "nowhere", "homeless", "writable", "foreign"])
def test_without_a_cache_folder_the_library_works_with_one_warning(tmp_path, way):
    """Unsafe or unwritable folders are not used; root can write anywhere except below a file."""
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


@kept_only
def test_a_process_leaves_the_file_that_another_has_just_made(tmp_path, monkeypatch):
    """numba takes a loop that is older than this file for stale."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    first = jit.Loop(ranking.means_of, None, "test", lean=True, store=True)
    os.utime(first.path, (1, 1))
    monkeypatch.setattr(Path, "exists", lambda path: False)  # as it was when this one looked
    assert jit.Loop(ranking.means_of, None, "test", lean=True, store=True).path == first.path
    assert first.path.stat().st_mtime == 1


@kept_only
def test_numba_is_told_of_functions_by_one_thread_at_a_time(monkeypatch):
    """It must know a function when another thread needs it."""
    inside, most = [], []

    def told(function, lean):
        inside.append(function)
        time.sleep(0.01)  # room for the others
        most.append(len(inside))
        inside.remove(function)

    monkeypatch.setattr(jit, "make_known", told)
    functions = [ranking.rank, ranking.active_of, ranking.best_of, ranking.means_of]
    with ThreadPoolExecutor(4) as pool:
        list(pool.map(lambda function: jit.prepare(None, [function], False), functions))
    assert most == [1] * 4


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
    loop = jit.compiled_for(play.state, topk.engine.loop.run_batches)
    made.append([sum(loop.dispatcher.stats.cache_hits.values()), play.outcome().pulls.tolist()])
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
def test_the_cache_is_found_after_any_runs_and_imports(tmp_path):
    """This includes a user's strategy with the same name in a module that other processes lack."""
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
        assert session.selected is not None and session.intervals() is not None
    assert "numba" not in sys.modules, entry.name
assert ended > 2 * len(ENTRIES), ended
"""


def test_a_live_session_compiles_nothing():
    """Every strategy of the registry runs from the import to the end."""
    python(LIVE)


def play_some(*names):
    """Make some short runs of the strategies with these names."""
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
WITHOUT = '''
import warnings
from numba.core import options
exec("""
known = TargetOptions.parse_as_flags.__func__
def parse_as_flags(cls, flags, options):  # as numba refuses an option, when it compiles
    if "forceinline" in options:  # not "_nrt", which numba uses itself
        raise KeyError("Unrecognized options: {'forceinline'}")
    return known(cls, flags, options)
TargetOptions.parse_as_flags = classmethod(parse_as_flags)
""", vars(options))  # raised by numba, not by a time limit of this script
warnings.filterwarnings("ignore", "compiled code is slower with this version of numba")
'''
BLOCKED = """
import sys
sys.modules["numba"] = None  # importing it raises ImportError
"""


@pytest.mark.slow
@pytest.mark.parametrize(("names", "before", "more"), [
    (("SAR", "OptMAI", "LUCB1", "MultiBanditUGapEc"), "", {"NUMBA_DISABLE_JIT": "1"}),
    (("SAR", "OptMAI", "LUCB1", "MultiBanditUGapEc"), BLOCKED, {}),
    (("SAR", "LUCB1"), WITHOUT, {}),  # one of each form: code takes long to compile
], ids=["the compiler turned off", "no numba", "a numba without the private options"])
def test_results_are_the_same_with(names, before, more, tmp_path):
    """Without the private options references are counted everywhere."""
    code = before + PLAY_SOME.format(names=names)
    code += "assert not jit.private_options()\n" if before == WITHOUT else ""
    found = json.loads(python(code, NUMBA_CACHE_DIR=str(tmp_path), **more))
    assert len(found) >= 5 * len(names) and found == play_some(*names)
    assert not list(tmp_path.rglob("*.nb?")) or before == WITHOUT


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


@pytest.mark.slow
@kept_only
def test_numba_recognizes_every_state_after_other_runs(monkeypatch):
    """Its quick look at an argument does not see the class of a named tuple.

    It never recognises a generator: the states of rules that draw random numbers, and only
    these, are looked up in Python.
    """
    first = [next(iter(cases(entry, 1000, seed=5)))[:2] for entry in ENTRIES]
    plays = [topk.run(strategy, bandit, rng=0) for strategy, bandit in first]
    slow, quick = [], jit.njit(lambda: 0).typeof_pyval.__func__

    def noted(self, value):
        slow.append(type(value))
        return quick(self, value)

    monkeypatch.setattr(type(jit.njit(lambda: 0)), "typeof_pyval", noted)
    assert [topk.run(strategy, bandit, rng=0) for strategy, bandit in first] == plays
    drawing = {type(Play(strategy, bandit, 0, 0).state.s) for strategy, bandit in first
               if strategy.random}
    assert drawing
    assert {kind for kind in slow if issubclass(kind, tuple)} == drawing
    # not `isinstance`, which raises an error for what a weak reference has lost
    made = [loop.dispatcher for loop in gc.get_objects() if type(loop) is jit.Loop]
    numbers = {len(dispatcher.signatures) for dispatcher in made}
    assert numbers - {0} == {1}  # 0: a loop that another test could not compile


@kept_only
def test_numba_is_left_as_it_was():
    assert json.loads(python(NUMBAS)) == {}


def own_scale(s):
    """Do in a rule what numba allows in any function."""
    print("scale of", s.n, "arms")
    if s.k > 2:
        raise ValueError("k is", s.k)
    return 2.0 if is_even(s.n) else 1.0


def is_even(n):
    return n == 0 or is_odd(n - 1)


def is_odd(n):
    return n != 0 and is_even(n - 1)


def restored(s):
    restore(s)
    return s.now.scale


@dataclass(frozen=True)
class Owned(topk.LUCB1):
    """A rule with functions that call each other in a circle."""

    scale = topk.rule(own_scale)


def begun(strategy, n):
    """Return a run with the search that suits compiled loops."""
    return strategy.begin(n, search=strategy.search_for(n))


@kept_only
def test_a_users_function_below_the_librarys_has_all_that_numba_offers(capfd):
    """It prints, calls another one in a circle, and raises an error with a computed argument."""
    shapes = (1, 4), (1, 5), (3, 4)
    states = {(k, n): compiled_run(Owned(k, 0.1, 0.1), n).s for k, n in shapes}
    for s in states.values():
        s.now.rounds, s.pulls[:] = 1, 1
    for store in (False, True, True):  # not stored, because of the circle
        jit.compiled.cache_clear()
        compiled = jit.compiled(restored, type(states[1, 4]), "test", lean=True, store=store)
        assert (compiled(states[1, 4]), compiled(states[1, 5])) == (2.0, 1.0)
        with pytest.raises(ValueError, match=re.escape("('k is', 3)")):
            compiled(states[3, 4])
        assert capfd.readouterr().out.split("\n")[:2] == ["scale of 4 arms", "scale of 5 arms"]


@kept_only
def test_the_private_options_are_in_use():
    """Otherwise everything is right, and slow."""
    assert jit.private_options()
    assert jit.known_to_numba(jit.INLINED) == jit.INLINED
    assert jit.INLINED["pipeline_class"] is jit.parts()
    assert jit.options_of(indices.update, True) is jit.INLINED
    assert jit.options_of(ranking.rank, True) is jit.COUNTING
    assert jit.options_of(find_bounds.compiled_form, True) is jit.APART
    assert jit.options_of(restored, True) is jit.USERS
    assert jit.options_of(published_beta, True) is jit.INLINED
    assert jit.options_of(published_beta, False) is jit.COUNTING


@kept_only
def test_each_kind_of_rewards_has_a_loop_of_its_own(compiled):
    """All loops of a rule are stored, and none is compiled for the rewards of another."""
    coins, names = topk.BernoulliBandit([0.9, 0.1]), {}
    for own, bandit in (False, coins), (True, coins), (False, topk.BetaBandit([9, 1], [1, 9])):
        strategy = topk.UGapEc(1, 0.5, 0.5, budget=40, variance=own)  # own: two pulls to begin with
        play = Play(strategy, bandit, 0, 0, compiles=True)
        play.finish()
        ending = topk.engine.loop.name_of(play.law)
        made = jit.compiled_for(play.state, topk.engine.loop.run_batches, ending)
        names[ending] = made.name
        assert made.claim(False)
        assert len(made.dispatcher.signatures) == 1
    assert [*names] == ["", "_sums", "_laws"]
    assert len(set(names.values())) == 3


def alive():
    """Return the number of arrays that compiled code holds."""
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
def test_runs_leak_no_array(entry, counted):
    """Code without reference counts must neither free an array too early nor leak one."""
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


@pytest.mark.parametrize("strategy", some([
    topk.SAR(2, 1000), topk.LUCB1(2, epsilon=0.0, delta=0.1, budget=1000),
    topk.UGapEb(2, 1000, epsilon=0.1), topk.CLUCB(2, delta=0.1, budget=1000),
], lambda strategy: isinstance(strategy, topk.SAR | topk.LUCB1)),
    ids=lambda strategy: type(strategy).__name__)
def test_a_run_keeps_no_extra_references(strategy):
    play = Play(strategy, topk.BernoulliBandit([0.9, 0.5, 0.4, 0.3, 0.2]), 0, 0)
    play.warm()
    gc.collect()  # what the compiler left behind
    arrays = [*arrays_of(play.state.s), play.law.first, play.arms, play.counts, play.rewards]
    arrays.append(play.rng)
    counts = [sys.getrefcount(array) for array in arrays]
    play.advance()
    assert play.total > 5
    assert [sys.getrefcount(array) for array in arrays] == counts


@kept_only
def test_the_name_of_a_loop_does_not_depend_on_what_else_is_imported():
    """Modules of other strategies add open functions, which this loop does not call."""
    def name():
        cls = type(compiled_run(topk.LUCB1(1, 0.1, 0.1), 3).s)
        loop = topk.engine.loop.run_batches
        return jit.Loop(loop, cls, "LUCB1", lean=True, store=False).name

    def of_another_strategy(s):
        """Return a number."""
        return 0.0

    before = name()
    try:
        replaceable(of_another_strategy)
        assert name() == before
    finally:
        del Functions._of_another_strategy


class Late(Exception):
    """The error of a time limit, which a signal raises at any moment."""


@kept_only
@pytest.mark.parametrize("error", [Late, TimeoutError])
def test_a_time_limit_passes_through_compilation(error, monkeypatch):
    def late(*_, **__):
        raise error("time is up")

    monkeypatch.setattr(jit, "njit", late)
    with pytest.raises(error, match="time is up"):
        jit.private_options.__wrapped__()
    stored = object.__new__(jit.Loop)
    vars(stored).update(name="LUCB1", path=None, _called=False, _stored=lambda: ["a file"])
    stored.dispatcher = Limited(late)
    with pytest.raises(error, match="time is up"):
        stored._first_call()


class Limited:
    """A dispatcher whose call is interrupted."""

    def __init__(self, call):
        self.call, self.signatures, self.stats = call, [], None

    def __call__(self):
        self.call()


@kept_only
def test_without_a_private_name_of_numba_the_options_are_left_out(monkeypatch):
    from numba.core import typed_passes

    monkeypatch.delattr(typed_passes, "NativeLowering")
    monkeypatch.setattr(jit, "parts", jit.parts.__wrapped__)
    with pytest.warns(topk.TopkWarning, match="compiled code is slower .* 'NativeLowering'"):
        assert not jit.private_options.__wrapped__()


@kept_only
def test_an_option_that_numba_does_not_know_is_no_time_limit(monkeypatch):
    njit = jit.njit
    monkeypatch.setattr(jit, "njit", lambda **_: njit(unknown=True))
    with pytest.warns(topk.TopkWarning, match="compiled code is slower with this version"):
        assert not jit.private_options.__wrapped__()
