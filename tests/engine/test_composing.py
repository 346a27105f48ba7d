"""A strategy's functions in the place of open ones."""

from types import ModuleType

import numpy as np
import pytest

from topk.engine import composing, jit
from topk.engine.composing import compose, digest
from topk.rules import base, ranking
from topk.rules.marks import allocates, apart, larger, open_function, shared
from topk.rules.search.ugape_scan import find_bounds
from topk.strategies.lucb import published_beta

SIZE = 2


@open_function
def price(x):
    """What x costs."""


def default(x):
    return 1


def added(a, b):
    return a + b


@shared
def doubled(x):
    return added(x, x)


@allocates
def pair(x):
    return [price(x), SIZE]


@apart
def together(x):
    return sum(pair(x)) + doubled(default(x)) + larger(float(x), 0.5)


def by_three(x):
    return 3 * x + default(x)


def test_what_is_given_takes_the_place_of_what_is_called():
    """However deep it is called, and with its own calls replaced; the originals stay."""
    copy, made = compose(together, {price: by_three, default: lambda x: 10})
    assert copy(4) == (12 + 10) + SIZE + 20 + 4
    assert compose(together, {price: by_three})[0](4) == (12 + 1) + SIZE + 2 + 4
    assert price(4) is None and default(4) == 1
    assert copy.__code__ is together.__code__ and copy.__qualname__ == "together"
    assert list(made)[-1] is together and set(made) >= {pair, by_three, doubled, added, larger}


def test_an_open_function_that_is_not_given_is_named():
    with pytest.raises(TypeError, match="price is not given: What x costs."):
        compose(together, {})


def test_marks_stay_with_the_copies_and_shared_functions_are_not_copied():
    seen = {}

    def wrap(f):
        seen[f.__name__] = f
        return f

    compose(together, {price: by_three}, wrap)
    assert seen["pair"].allocates and seen["together"].apart
    assert seen["doubled"] is doubled and seen["pair"] is not pair
    order = list(seen)  # the innermost first
    assert order.index("default") < order.index("by_three") < order.index("pair")
    assert order[-1] == "together"


@pytest.mark.skipif(not jit.PRIVATE, reason="another numba")
def test_functions_that_make_arrays_count_references():
    """And all of users, but no others of the library; what is shared is compiled once."""

    def options(function, lean):
        return jit.inner(function, lean).targetoptions

    assert options(default, True)["_nrt"] and options(ranking.rank, True)["_nrt"]
    assert not options(base.count, False)["_nrt"] and not options(published_beta, True)["_nrt"]
    assert options(published_beta, False)["_nrt"]  # in rounds
    assert options(base.count, True)["forceinline"]
    assert not options(find_bounds, True)["forceinline"]
    assert jit.inner(doubled, lean=True) is jit.inner(doubled, lean=False)


def of_constants():
    return added(1, 2) + added(3, 4)


@pytest.mark.skipif(not jit.PRIVATE, reason="another numba")
def test_a_function_is_compiled_once_for_all_constants():
    parts = []

    def wrap(f):
        if f.__code__ is of_constants.__code__:
            return f
        parts.append(jit.inner(f, lean=True))
        return parts[-1]

    assert jit.njit(compose(of_constants, {}, wrap)[0])() == 10
    assert len(parts[0].signatures) == 1


def made(source, **names):
    """Return the function ``f`` that a text defines, with global names."""
    exec(source, names)
    return names["f"]


@pytest.mark.parametrize(
    ("source", "names"),
    [
        ("def f(x): return x + 1", lambda c: {}),
        ("def f(x): return [y + 1 for y in x]", lambda c: {}),
        ("def f(x=1): return x", lambda c: {}),
        ("def f(): return C", lambda c: {"C": c}),
        ("def f(): return C", lambda c: {"C": np.int64(c)}),
        ("def f(): return C", lambda c: {"C": np.array([1, c])}),
        ("def f(): return C", lambda c: {"C": np.ones(2, dtype=("i8", "f8")[c - 1])}),
        ("def f(): return C", lambda c: {"C": np.ones((2, 2) if c == 1 else (1, 4))}),
        ("def f(): return m.C", lambda c: {"m": SimpleModule(c)}),
    ],
)
def test_the_digest_sees_code_and_what_a_function_finds_elsewhere(source, names):
    before, other = made(source, **names(1)), source.replace("+ 1", "- 1").replace("=1", "=2")
    assert digest([made(source, **names(1))]) == digest([before])
    assert digest([made(other, **names(2))]) != digest([before])
    assert digest([before, by_three]) != digest([by_three, before])
    unmarked = digest([before])
    assert digest([apart(before)]) != unmarked


class SimpleModule(ModuleType):
    """A module with one number."""

    def __init__(self, number):
        super().__init__("m")
        self.C = number


def test_attributes_are_no_global_names():
    """``now.price`` is not the function price."""
    code = (lambda s: s.price).__code__
    assert composing.looked_up(code) == {}
