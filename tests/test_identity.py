"""Descriptions: what changes the numbers changes the description, and comments do not."""

import functools
import math
import shutil
import textwrap
from dataclasses import dataclass

import numpy as np
import pytest

import topk
from topk import identity
from topk.identity import Unnamed, describe, digest

# Code of this library


@pytest.fixture
def library(tmp_path, monkeypatch):
    """A copy of the library's sources; gives a function that digests a module there."""
    copy = tmp_path / "topk"
    shutil.copytree(identity.PACKAGE, copy, ignore=shutil.ignore_patterns("__pycache__"))
    monkeypatch.setattr(identity, "PACKAGE", copy)

    def code(name="topk.study"):
        identity.module_code.cache_clear()
        identity._parsed.cache_clear()
        return identity.module_code(name)

    yield copy, code
    code()


def edit(path, old, new):
    text = path.read_text()
    assert text.count(old) >= 1
    path.write_text(text.replace(old, new, 1))


def test_comments_and_docstrings_change_nothing(library):
    copy, code = library
    before = code()
    edit(copy / "play.py", "class Play:\n", "class Play:  # one of them\n\n")
    edit(copy / "kernels/tally.py", '"""Add a batch of ``m`` entries', '"""Note ``m`` entries')
    edit(copy / "streams.py", '"""Random streams', '"""Streams')
    assert code() == before


@pytest.mark.parametrize(
    "file, old, new",
    [
        ("kernels/drawing.py", "counts[j] == 1", "counts[j] <= 1"),
        ("kernels/tally.py", "tally.total[0] += counts[j]", "tally.total[0] += 1"),
        ("kernels/rules.py", "m == 0", "m <= 0"),
        ("streams.py", "REWARDS, INSTANCE, SPLIT = 0, 1", "REWARDS, INSTANCE, SPLIT = 1, 0"),
        ("bandits.py", "math.fsum(rewards)", "sum(rewards)"),
        ("session.py", "tally.sums[arms] = sums", "tally.sums[arms] = 0"),
        ("play.py", "np.sort(self.order[chosen])", "self.order[chosen]"),
        ("study.py", '== "rule"', '!= "rule"'),
    ],
)
def test_every_edit_of_deciding_code_counts(library, file, old, new):
    copy, code = library
    before = code()
    edit(copy / file, old, new)
    assert code() != before


def test_strategies_stand_for_themselves(library):
    """An edit of one strategy leaves what is kept of another, unless it uses the same code."""
    copy, code = library
    names = ("topk.strategies.sar", "topk.strategies.uniform", "topk.study")
    before = [code(name) for name in names]
    edit(copy / "strategies/sar.py", "wanted - 1", "wanted - 0")
    assert [code(name) == old for name, old in zip(names, before, strict=True)] == [
        False,
        True,
        True,
    ]
    edit(copy / "kernels/filing.py", "first_gap > last_gap", "first_gap >= last_gap")
    assert code(names[1]) != before[1]


def test_all_imports_are_followed():
    """Relative imports and ``import *`` would not be; the library has none."""
    for path in identity.PACKAGE.rglob("*.py"):
        text = path.read_text()
        assert "from ." not in text and "import *" not in text
    public = [*topk.NAMES, "topk.instances"]
    reached, waiting = set(), [identity._source_of(home) for home in public]
    while waiting:
        path = waiting.pop()
        if path not in reached:
            reached.add(path)
            waiting += identity._parsed(path)[1]
    used = {path.relative_to(identity.PACKAGE).as_posix() for path in reached}
    assert {"bandits.py", "instances.py", "play.py", "streams.py", "session.py"} <= used
    assert {f"kernels/{name}.py" for name in ("drawing", "filing", "ranking", "rules")} <= used
    assert {f"strategies/{name}.py" for name in ("lucb", "optmai", "sar", "uniform")} <= used


# Values


def f(x, y=1):
    return x + y


def g(x, y=2):
    return x + y


SCALE = 1.0


def scaled(x):
    return SCALE * f(x)


@dataclass(frozen=True)
class Alternate(topk.Strategy):
    k: int
    budget: int

    def ask(self, view):
        return self.helper(view.n), [1]

    def helper(self, n):
        return [n - 1]


def test_different_values_have_different_descriptions():
    values = [
        None, True, False, 0, 1, -1, 0.0, -0.0, 1.0, math.inf, "0", "", b"", 1j, ...,
        [], [1], [[1]], [1, 2], [2, 1], (), (1,), {}, {"a": 1}, {"a": 2}, {1: "a"}, {1}, {1, 2},
        np.zeros(2), np.zeros(3), np.zeros((2, 1)), np.zeros(2, dtype=int), np.float64(0),
        np.int64(0), f, g, scaled, lambda: 0, lambda: 1, lambda x: 0, [f, f], [f, g],
        math.log, math.exp, np.log, np.random.default_rng, topk.run, topk.instances.unif01,
        functools.partial(f, 1), functools.partial(f, 2), functools.partial(f, y=1),
        math, np, topk, Alternate, Alternate(1, 2), Alternate(2, 1), Alternate(1, 2).helper,
        topk.SAR, topk.SAR(1, 10), topk.SAR(1, 11), topk.Uniform(1, 10),
    ]  # fmt: skip
    found = [digest(describe(value)) for value in values]
    assert len(set(found)) == len(found)
    assert found == [digest(describe(value)) for value in values]


def run(source):
    names = {"__name__": "__main__", "topk": topk, "np": np, "dataclass": dataclass}
    exec(textwrap.dedent(source), names)
    return names["it"]


BASE = """
def inner(x, c=1):
    '''What it does.'''
    return x * c

LIMIT = 5

def outer(factor):
    def it(rng):
        import math
        return [inner(x) * factor for x in range(LIMIT)] + [math.pi]
    return it

it = outer(2)
"""


@pytest.mark.parametrize(
    "old, new",
    [
        ("x * c", "x + c"),
        ("c=1", "c=2"),
        ("LIMIT = 5", "LIMIT = 6"),
        ("outer(2)", "outer(3)"),
        ("range(LIMIT)", "range(LIMIT, 9)"),
        ("[math.pi]", "[math.e]"),
    ],
)
def test_what_a_function_refers_to_counts(old, new):
    assert describe(run(BASE)) == describe(run(BASE))
    assert describe(run(BASE)) == describe(run("\n\n# moved\n" + BASE))
    assert describe(run(BASE)) != describe(run(BASE.replace(old, new)))


CLASS = """
@dataclass(frozen=True)
class Base(topk.Strategy):
    k: int
    certifies = False

    @property
    def size(self):
        return self.k

@dataclass(frozen=True)
class Own(Base):
    budget: int = 3

    def ask(self, view):
        return self.more(view)

    @staticmethod
    def more(view):
        return [], []

it = Own(1)
"""


@pytest.mark.parametrize(
    "old, new",
    [
        ("return [], []", "return [0], [0]"),
        ("certifies = False", "certifies = True"),
        ("return self.k", "return 1"),
        ("Own(1)", "Own(2)"),
        ("budget: int = 3", "budget: int = 4"),
        ("@staticmethod", "@classmethod"),
    ],
)
def test_what_a_class_consists_of_counts(old, new):
    assert describe(run(CLASS)) == describe(run(CLASS))
    assert describe(run(CLASS)) != describe(run(CLASS.replace(old, new)))


def test_recursion_ends():
    source = "def it(n):\n    return other(n)\ndef other(n):\n    return it(n - 1) if n else it"
    assert describe(run(source)) == describe(run(source))
    assert describe(run(source)) != describe(run(source.replace("n - 1", "n - 2")))


class Slots:
    __slots__ = ("x",)


class Grown(list):
    pass


@pytest.mark.parametrize(
    "value",
    [
        np.random.default_rng(0),
        np.random.default_rng(0).random,
        np.array([object()]),
        Slots(),
        Grown([1]),
        iter([1]),
    ],
)
def test_what_may_hide_a_state_is_refused(value):
    with pytest.raises(Unnamed):
        describe(value)
    with pytest.raises(Unnamed):
        describe([lambda: value])


def test_modules_of_ones_own_are_refused(tmp_path, monkeypatch):
    (tmp_path / "helpers_of_mine.py").write_text("def f(x):\n    return x\n")
    monkeypatch.syspath_prepend(tmp_path)
    for source in (
        "import helpers_of_mine\nit = lambda rng: helpers_of_mine.f(rng)",
        "def it(rng):\n    import helpers_of_mine\n    return helpers_of_mine.f(rng)",
    ):
        with pytest.raises(Unnamed, match="helpers_of_mine"):
            describe(run(source))
    # its functions, imported by name, are looked into
    describe(run("from helpers_of_mine import f\nit = lambda rng: f(rng)"))
