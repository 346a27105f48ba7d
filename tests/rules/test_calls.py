"""What a rule reads: constants are in its stamp, global generators and large integers refused."""

import ast
import enum
import inspect
import math
import secrets
import textwrap
from types import ModuleType

import numpy as np
import pytest
from scipy import stats
from strategies.registry import ENTRIES

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
    "random.random": imports_inside,
    "numpy.random": imports_numpy_inside,
    "a default, Generator": by_default,
}


@pytest.mark.parametrize("name", DRAWS)
def test_global_generators_of_every_kind_are_refused(name):
    with pytest.raises(TypeError, match=f"draws from {name}.*random = True"):
        calls.check_random([DRAWS[name]])


def test_a_generator_of_the_same_name_is_not_refused():
    """A module that has an ``rng``, of which the rule reads something else."""
    calls.check_random([lambda s: s.rng.random() * settings.ARM + math.sqrt(np.float64(4))])


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
