"""What a rule reads: constants are in its stamp, global generators and large integers refused."""

import ast
import collections
import dataclasses
import datetime
import enum
import fractions
import functools
import importlib
import inspect
import itertools
import logging
import math
import os
import random
import secrets
import statistics
import textwrap
import time
import uuid
from time import time_ns
from types import ModuleType, SimpleNamespace

import numba
import numpy as np
import pandas as pd
import pytest
import rich.console
from numpy.random import default_rng
from scipy import interpolate, stats
from strategies.registry import ENTRIES

import topk
from topk.engine import loop
from topk.rules import calls
from topk.rules.marks import Functions


class Kind(enum.Enum):
    FIRST = 1


class Level(enum.IntEnum):
    LOW = 1


class Config:
    ARM = 1
    rng = np.random.default_rng(0)


def module(name, package, **values):
    """Return a module, or a package, that is not stored in a file."""
    made = ModuleType(name)
    vars(made).update(values)
    if package:
        made.__path__ = []
    return made


inner = module("settings.inner", False, DEEP=1)
settings = module("settings", True, ARM=1, inner=inner, rng=np.random.default_rng(0))
READERS = {
    "a package": (lambda: settings.ARM, settings, "ARM", 2),
    "a module of a package": (lambda: settings.inner.DEEP, inner, "DEEP", 2),
    "a class": (lambda: Config.ARM, Config, "ARM", 2),
    "an enum": (lambda: Kind.FIRST.value, Kind, "FIRST", enum.Enum("Kind", {"FIRST": 2}).FIRST),
    "a whole enum": (lambda: Level.LOW, Level, "LOW", enum.IntEnum("Level", {"LOW": 2}).LOW),
}


@pytest.mark.parametrize("name", READERS)
def test_a_constant_changes_the_stamp_wherever_it_is_read(name):
    function, owner, attribute, value = READERS[name]
    before, changed = getattr(owner, attribute), module("x", False, **{attribute: value})
    stamp = calls.stamp([function])
    assert stamp == calls.stamp([function])
    if isinstance(owner, enum.EnumMeta):  # whose members cannot be set
        globals()[owner.__name__] = type(value)
    else:
        setattr(owner, attribute, getattr(changed, attribute))
    try:
        assert calls.stamp([function]) != stamp
    finally:
        if isinstance(owner, enum.EnumMeta):
            globals()[owner.__name__] = owner
        else:
            setattr(owner, attribute, before)
    assert calls.stamp([function]) == stamp


generator, pair = np.random.default_rng(0), (1.0, np.random.RandomState(0))  # noqa: NPY002
uniform = stats.uniform(0, 1)
drawn = generator.random


def imports_inside():
    from random import random

    return random()


def imports_numpy_inside():
    from numpy import random

    return random.random()  # noqa: NPY002


def by_default(rng=np.random.default_rng(0)):  # noqa: B008
    return rng.random()


DRAWS = {
    "generator": lambda: generator.random(),
    "drawn": lambda: drawn(),
    "pair": lambda: pair[1].random(),
    "settings.rng": lambda: settings.rng.random(),
    "Config.rng": lambda: Config.rng.random(),
    "uniform": lambda: uniform.rvs(),
    "secrets": lambda: secrets.randbelow(3),
    "np.random": lambda: [np.random.random() for _ in range(3)],  # noqa: NPY002  in the inner code
    "random": imports_inside,
    "numpy.random": imports_numpy_inside,
    "a default, Generator": by_default,
}


@pytest.mark.parametrize("name", DRAWS)
def test_global_generators_of_every_kind_are_refused(name):
    with pytest.raises(TypeError, match=f"draws from {name}.*random = True"):
        calls.check_random([DRAWS[name]])


@dataclasses.dataclass(frozen=True)
class Given:
    """Parameters, of which one may be a generator."""

    rng: object = None
    arms: tuple = (1, 2)


class Slots:
    __slots__ = ("rng",)

    def __init__(self):
        self.rng = generator


class Holder:
    """An object whose methods draw, from what it holds or from a module."""

    def __init__(self, rng=None):
        self.rng, self.arm = rng, 1

    def draw(self):
        return self.rng.random()

    def calls(self):
        return self.inner()

    def inner(self):
        return random.random()

    @property
    def drawn(self):
        return random.random()

    @classmethod
    def of_class(cls):
        return random.random()

    def second(self):
        return self.arm + 1


class Dice:
    def __call__(self):
        return random.random()


class Rolled:
    def __init__(self):
        self.value = random.random()


def use(given):
    return given.rng.random()


def imports_os_inside():
    import os

    return os.urandom(8)


def renames_numpy():
    m = np
    return m.random.random()  # noqa: NPY002


def imports_numpy_by_another_name():
    import numpy as m

    return m.random.random()  # noqa: NPY002


@numba.njit
def compiled():
    return np.random.random()  # noqa: NPY002


vectorized, with_numba = np.vectorize(lambda x: random.random()), numba.vectorize(lambda x: x + 1)
cfg, given, slots = SimpleNamespace(rng=generator, arm=1), Given(generator), Slots()
holder, other, dice = Holder(generator), Holder(), Dice()
bound, partial = holder.draw, functools.partial(random.random)
applied = functools.partial(lambda f: f(), random.random)
cached, remembers = functools.lru_cache(random.random), functools.cache(lambda: random.random())
many, frozen, queue = {generator}, frozenset({generator}), collections.deque([generator])
objects = np.array([generator], dtype=object)
use.rng = generator
REACHED = {
    "cfg.rng": lambda: cfg.rng.random(),
    "cfg": lambda: use(cfg),
    "given.rng": lambda: given.rng.random(),
    "slots": lambda: slots.rng.random(),
    "holder": lambda: holder.draw(),
    "bound": lambda: bound(),
    "random": lambda: other.calls(),
    "random, in a property": lambda: other.drawn,
    "random, in a method of a class": lambda: Holder.of_class(),
    "random, in a call": lambda: dice(),
    "random, in a constructor": lambda: Rolled().value,
    "random, in a cached function": lambda: remembers(),
    "random, in an iterator": lambda: next(iter(random.random, 2.0)),
    "partial": lambda: partial(),
    "applied": lambda: applied(),
    "cached": lambda: cached(),
    "np.random, compiled by numba": lambda: compiled(),
    "random, in a function of arrays": lambda: vectorized(1.0),
    "many": lambda: max(many).random(),
    "frozen": lambda: max(frozen).random(),
    "queue": lambda: queue[0].random(),
    "objects": lambda: objects[0].random(),
    "use.rng": lambda: use.rng.random(),
    "default_rng": lambda: default_rng().random(),
    "uuid": lambda: uuid.uuid4().int,
    "time": lambda: time.time_ns(),
    "time_ns": lambda: time_ns(),
    "os.urandom": lambda: os.urandom(8),
    "os.urandom, imported": imports_os_inside,
    "np.random": renames_numpy,
    "numpy.random": imports_numpy_by_another_name,
    "datetime.datetime.now": lambda: datetime.datetime.now().microsecond,
}


@pytest.mark.parametrize("name", REACHED)
def test_generators_are_refused_however_they_are_reached(name):
    """As what objects hold, and in functions that are called by way of objects."""
    with pytest.raises(TypeError, match=f"draws from {name.partition(',')[0]}, which .*= True"):
        calls.check_random([REACHED[name]])


values, forever = (x for x in (1.0,)), itertools.cycle([1])


@pytest.mark.parametrize(
    ("function", "told"),
    [
        (lambda: next(values), "reads values, an iterator, .* a tuple"),
        (lambda: next(forever), "reads forever, an iterator, .* a tuple"),
        (lambda: __import__("random").random(), "calls __import__, .* write out"),
        (lambda: eval("random.random()"), "calls eval, .* write out"),
        (lambda: exec("x = 1"), "calls exec, .* write out"),
        (lambda: globals()["random"], "calls globals, .* write out"),
        (lambda: importlib.import_module("random"), "calls importlib.*, .* write out"),
    ],
)
def test_iterators_and_hidden_code_are_refused(function, told):
    """The place of an iterator is shared by all runs; in a text no check sees anything."""
    with pytest.raises(TypeError, match=told):
        calls.check_random([function])


log, normal, bandit = logging.getLogger("a rule"), statistics.NormalDist(), topk.BernoulliBandit
plain, named = Given(), collections.namedtuple("Pair", "a b")(1, 2)
pure, root = functools.cache(lambda x: x + 1), functools.partial(math.pow, 2)
spline, console = interpolate.CubicSpline([0, 1], [0, 1]), rich.console.Console()
table = pd.DataFrame({"a": [1, 2]})
two_arms, strategy = bandit([0.1, 0.2]), topk.CLUCB(1, 0.1)
HARMLESS = {
    "a module that has a generator": lambda s: s.rng.random() * settings.ARM,
    "an object that has a generator": lambda s: s.rng.random() * cfg.arm,
    "modules": lambda: math.sqrt(np.float64(4)) + np.log(2.0),
    "parameters": lambda: plain.arms[0],
    "a named tuple": lambda: named.a,
    "a method": lambda: other.second() + holder.arm,
    "enums": lambda: Level.LOW + Kind.FIRST.value,
    "a cached function": lambda: pure(1),
    "a partial function": lambda: root(3),
    "a message": lambda: (log.debug("pulled"), print("pulled")),
    "an error": lambda: ValueError("no arm"),
    "the standard library": lambda: (fractions.Fraction(1, 3), statistics.mean([1])),
    "a distribution": lambda: normal.inv_cdf(0.3),
    "a length of time": lambda: datetime.timedelta(1),
    "a function compiled by numba": lambda: with_numba(1.0),
    "a spline": lambda: spline(0.5),
    "a table": lambda: table["a"].sum(),
    "a console": lambda: console.print("pulled"),
    "a path": lambda: os.path.join("a", "b"),
    "this library": lambda: strategy.delta + two_arms.means[0],
    "a loop": lambda: [x + 1 for x in range(3)] + [*{1, 2}],
}


@pytest.mark.parametrize("name", HARMLESS)
def test_what_is_the_same_in_all_runs_is_not_refused(name):
    calls.check_random([HARMLESS[name]])


HUGE = 2**60
LARGE = {
    "a constant": lambda x: x + 2**62,
    "HUGE": lambda x: x + HUGE,
    "a constant, in a comprehension": lambda x: [y * 2**54 for y in x],
}


@pytest.mark.parametrize("name", LARGE)
def test_integers_that_do_not_fit_are_refused(name):
    with pytest.raises(TypeError, match=f"reads {name.partition(',')[0]}, .*2\\*\\*53"):
        calls.check_whole_numbers([LARGE[name]])
    calls.check_whole_numbers([lambda x: x + 2**53 + 1e300])


ranked = np.argsort


def sorts_by_an_imported_function(x):
    from numpy import argsort

    return argsort(x)


SORTS = {
    "a function": lambda x: np.argsort(x),
    "a method": lambda x: x.argsort(),
    "another name": lambda x: ranked(x),
    "an import": sorts_by_an_imported_function,
    "the kind that is not stable": lambda x: np.argsort(x, kind="quicksort"),
    "the inner one is stable": lambda x: np.argsort(np.argsort(x, kind="mergesort")),
    "a comprehension": lambda x: [np.argsort(y) for y in x],
    "a part": lambda x: np.argpartition(x, 2),
}


@pytest.mark.parametrize("name", SORTS)
def test_sorting_whose_ties_depend_on_the_form_is_refused(name):
    with pytest.raises(TypeError, match='sorts places, .*kind="mergesort"'):
        calls.check_sorting([SORTS[name]])


def test_stable_sorting_is_not_refused():
    """Nor is the sorting of values, of which equal ones are the same."""
    calls.check_sorting([
        lambda x: np.argsort(x, kind="mergesort"),
        lambda x: np.argsort(-x.argsort(kind="stable"), -1, "mergesort"),
        lambda x: ranked(x, kind="mergesort"),
        lambda x: [np.sort(x)[0], np.partition(x, 2)[2], sorted(x)[0], x.argmin()],
    ])  # fmt: skip


def compiled_functions():
    """Return the library's functions that some loop may call, in the form that is compiled."""
    found = {}
    for entry in ENTRIES:
        strategy = entry.draw(np.random.default_rng(1), (2, 4) if entry.several else 8, 1)
        if hasattr(strategy, "own_rule"):
            state = strategy.begin((2, 4) if entry.several else 8, search=strategy.search_for(8))
            assert issubclass(type(state.s), Functions)
            found |= dict.fromkeys(calls.reached([loop.run_batches], type(state.s)))
    return [getattr(function, "compiled_form", function) for function in found]


def test_the_library_s_own_functions_are_not_refused():
    """If they were a user's they would pass as well."""
    calls.check_random(compiled_functions())


def test_no_compiled_function_computes_otherwise_than_plain_python():
    """Of a number squared the last bit may differ, and of numpy's logarithms of arrays.

    Powers are taken of constants that are powers of two, exactly, or to floats.
    """
    functions, bad = compiled_functions(), []
    assert len(functions) > 200
    for function in functions:
        for node in ast.walk(ast.parse(textwrap.dedent(inspect.getsource(function)))):
            if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Pow):
                base, power = node.left, node.right
                exact = isinstance(base, ast.Constant) and math.frexp(base.value)[0] == 0.5
                is_float = isinstance(power, ast.Call) and getattr(power.func, "id", "") == "float"
                bad += [] if exact or is_float else [(function.__name__, ast.unparse(node))]
            if isinstance(node, ast.Call):
                name = ast.unparse(node.func)
                inexact = {f"np.{x}" for x in ("log", "log1p", "exp", "expm1", "power", "sum")}
                bad += [(function.__name__, name)] if name in inexact else []
    assert not {*bad} - {("parts_of", "lead ** 2")}  # of TopTwo with normal rewards
