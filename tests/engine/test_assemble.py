"""A function and all that it calls, written as one module."""

import importlib.util
import json
import math
import sys
import traceback
from dataclasses import dataclass

import numpy as np
import pytest
from processes import fresh, python

import topk
from topk.engine import jit, loop
from topk.engine.assemble import Assembly, NoSource, names_in, plain_form, source_of
from topk.engine.state import begin_run
from topk.rules import base, indices, ranking
from topk.rules.marks import allocates, apart, larger, open_function
from topk.rules.search.ugape_scan import find_bounds
from topk.strategies.lucb import published_beta

SIZE, WIDTH, TABLE = 2, np.float64(0.5), np.array([1.0, 2.0])


@open_function
def price(x):
    """What x costs."""


def default(x):
    return 1


def added(a, b):
    return a + b  # with a comment


@allocates
def pair(x):
    return [price(x), SIZE]


@apart
def together(x):
    return sum(pair(x)) + added(x, x) + default(x) + larger(float(x), WIDTH)


def by_three(x):
    return 3 * x + default(x)


def test_substituted_functions_replace_the_called_ones():
    """However deep it is called, and with its own calls replaced; the originals stay."""

    def ten(x):
        return 10

    assert plain_form(together, ((price, by_three), (default, ten)))(4) == 12 + 10 + 2 + 8 + 10 + 4
    assert plain_form(together, ((price, by_three),))(4) == 12 + 1 + 2 + 8 + 1 + 4
    assert price(4) is None and default(4) == 1


def test_an_open_function_that_is_not_given_is_named():
    with pytest.raises(TypeError, match="price is not given: What x costs."):
        plain_form(together, ())


MODULE = '''"""A module."""

from topk.rules.marks import larger
import numpy as np

SIZE = 2
WIDTH = np.float64(0.5)


# {here}.together, line {together}
def together(x):
    return sum(pair(x)) + added(x, x) + default(x) + larger(float(x), WIDTH)


# {here}.pair, line {pair}
def pair(x):
    return [by_three(x), SIZE]


# {here}.by_three, line {by_three}
def by_three(x):
    return 3 * x + default(x)


# {here}.default, line {default}
def default(x):
    return 1


# {here}.added, line {added}
def added(a, b):
    return a + b  # with a comment
'''


def test_the_module_has_each_function_once_with_its_origin(tmp_path):
    """It is a program by itself."""
    text = Assembly(together, {price: by_three}).text("A module.")
    lines = {f.__name__: source_of(f).first for f in (together, pair, by_three, default, added)}
    assert text == MODULE.format(here=__name__, **lines)
    file = tmp_path / "written.py"
    file.write_text(text)
    spec = importlib.util.spec_from_file_location("written", file)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    assert module.together(4) == plain_form(together, ((price, by_three),))(4)


def test_functions_that_call_each_other_in_a_circle_are_found():
    def first(n):
        return second(n - 1) if n else 0

    def second(n):
        return third(n)

    def third(n):
        return first(n)

    def itself(n):
        return itself(n - 1) if n else price(1)

    assert all(Assembly(f).calls_in_circle() for f in (first, second, third))
    assert not Assembly(itself, {price: by_three}).calls_in_circle()
    assert not Assembly(together, {price: by_three}).calls_in_circle()


def test_a_name_that_is_local_where_a_function_is_called_is_not_taken():
    other = added

    def call(added, default):
        return other(added, default)

    written = Assembly(call)
    assert list(written.names.values()) == ["call", "test_assemble_added"]
    assert written.execute(written.text(""))(2, 3) == 5


def test_values_of_all_kinds_are_looked_up():
    bound, helper, seen = 3, jit.njit(added), []

    def looks(x=WIDTH):
        seen.append(x)
        return TABLE[bound - SIZE] + math.pi + helper(x, larger.__name__ == "larger")

    assembly = Assembly(looks)
    text = assembly.text("")
    assert "bound = 3\n" in text and "def added(a, b)" in text and "import math\n" in text
    assert "# TABLE is an array, float64 (2,), with the hash " in text
    assert set(assembly.values) == {"TABLE", "seen"}
    assert assembly.execute(text)() == looks() and seen == [0.5, 0.5]


def test_names_are_those_that_are_looked_up_outside():
    def f(s, price):
        inner = [default + 1 for default in s.together]
        return added(inner, price) + s.now.pair

    assert names_in(f) == ["default", "added"]


# Tracebacks


@dataclass(frozen=True)
class Broken(topk.Rounds):
    k: int
    budget: int

    @topk.rule
    def share(s):
        return 1

    @topk.rule
    def decide(s):
        math.sqrt(-s.now.rounds)


def test_a_traceback_shows_the_original_lines():
    session = Broken(1, 60).start(3)
    with pytest.raises(ValueError, match="math domain") as failed:
        session.tell([0, 1, 2], [1, 0, 1])
    shown = traceback.format_tb(failed.value.__traceback__)
    assert "in decide\n    math.sqrt(-s.now.rounds)\n" in shown[-1] and __file__ in shown[-1]
    first = source_of(Broken.decide).first
    assert f"line {first + 1}, " in shown[-1]
    assert f'{topk.rules.rounds.__file__}"' in shown[-2] and "    decide(s)\n" in shown[-2]


@pytest.mark.skipif(not jit.COMPILES, reason="no compiler")
def test_an_error_of_the_compiler_shows_the_original_lines(compiled):
    @dataclass(frozen=True)
    class Unknown(Broken):
        @topk.rule
        def decide(s):
            return s.nothing.here

    with pytest.raises(TypeError, match="cannot be compiled") as failed:
        topk.run(Unknown(1, 60), topk.BernoulliBandit([0.5] * 3))
    first = source_of(Unknown.decide).first
    assert f'{__file__.rpartition("/")[2]}", line {first + 1}:' in str(failed.value.__cause__)


# Functions without source text

OWN = """
import json, warnings
from dataclasses import dataclass
import topk
from topk.rules import BY_BUDGET, end_with, highest, lowest, rank

@dataclass(frozen=True)
class Halves(topk.Rounds):
    k: int
    budget: int
    @topk.rule
    def share(s):
        return s.budget // (2 * s.n)
    @topk.rule
    def decide(s):
        if s.now.rounds == 2:
            end_with(s, rank(s), BY_BUDGET)

@dataclass(frozen=True)
class Pairs(topk.Indices):
    k: int
    budget: int
    @topk.rule
    def scale(s):
        return 1.0
    @topk.rule
    def pick(s):
        return lowest(s), highest(s)

bandit, found = topk.BernoulliBandit([0.2, 0.8, 0.5, 0.4]), []
with warnings.catch_warnings(record=True) as caught:
    warnings.simplefilter("always")
    for strategy in Halves(1, 60), Pairs(1, 60):
        found.append(topk.run(strategy, bandit, rng=3).pulls.tolist())
        session = strategy.start(4)
        while not session.done:
            arms, counts = session.ask()
            session.tell(arms, counts // 2, counts=counts)
        found.append(session.pulls.tolist())
print(json.dumps([found, [str(one.message) for one in caught]]))
"""


@pytest.mark.skipif(sys.version_info >= (3, 13), reason="Python keeps the text")
def test_a_rule_without_source_text_plays_as_plain_python_and_says_so(tmp_path):
    found, said = json.loads(python(OWN, TOPK_COMPILE="always"))
    file = tmp_path / "own.py"
    file.write_text(OWN)
    command = "import runpy, sys; runpy.run_path(sys.argv[1], run_name='__main__')"
    with_text, silent = json.loads(fresh(command, str(file))[0])
    assert found == with_text and silent == []
    assert [text.partition(":")[0] for text in said] == [
        f"topk runs {kind} as plain Python, slowly" for kind in ("Halves", "Pairs")
    ]


def test_a_file_that_has_changed_since_it_was_imported_is_not_read(tmp_path):
    file = tmp_path / "edited.py"
    file.write_text("import math\n\ndef root(x):\n    return math.sqrt(x) + 1\n")
    spec = importlib.util.spec_from_file_location("edited", file)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    file.write_text("import math\n\ndef root(x):\n    return math.sqrt(x) - 1\n")
    with pytest.raises(NoSource, match="changed since it was imported"):
        source_of(module.root)
    file.write_text("import math\n\ndef root(x):\n    return math.sqrt(x) + 1\n")
    assert source_of(module.root).lines[1] == "    return math.sqrt(x) + 1"


def test_the_source_text_goes_with_a_function_to_another_process(tmp_path):
    """A function of a notebook has no file there; joblib and dask send it by value."""
    cloudpickle = pytest.importorskip("cloudpickle")
    space = {"__name__": "__main__", "topk": topk, "dataclass": dataclass}
    own = OWN[OWN.index("@dataclass") : OWN.index("bandit, found")]
    file = tmp_path / "cell.py"
    file.write_text(own)
    exec("from topk.rules import BY_BUDGET, end_with, highest, lowest, rank", space)
    exec(compile(own, str(file), "exec"), space)
    strategy = space["Pairs"](1, 60)
    begin_run(strategy, 4)
    (tmp_path / "sent").write_bytes(cloudpickle.dumps(strategy))
    file.unlink()
    code = """
import pickle, sys, warnings
import topk
warnings.simplefilter("error")
strategy = pickle.loads(open(sys.argv[1], "rb").read())
print(topk.run(strategy, topk.BernoulliBandit([0.2, 0.8, 0.5, 0.4]), rng=3).pulls.tolist())
"""
    there = json.loads(fresh(code, str(tmp_path / "sent"))[0])
    bandit = topk.BernoulliBandit([0.2, 0.8, 0.5, 0.4])
    assert there == topk.run(strategy, bandit, rng=3).pulls.tolist()


# How functions are compiled


def test_functions_that_make_arrays_count_references():
    """And all of users; in rounds those of strategies, too."""
    assert jit.mark_of(default, True) == "of_users"
    assert jit.mark_of(ranking.rank, True) == "counting"
    assert jit.mark_of(published_beta, True) == "inlined"
    assert jit.mark_of(published_beta, False) == "counting"
    assert jit.mark_of(base.count, False) == jit.mark_of(indices.update, True) == "inlined"
    assert jit.mark_of(find_bounds, True) == "apart"


@pytest.mark.skipif(not jit.PRIVATE, reason="another numba")
def test_the_decorators_are_what_they_say():
    options = {name: getattr(jit, name)(lambda: 0).targetoptions
               for name in ("of_users", "counting", "apart", "inlined", "entry")}
    counts = {name: found.get("_nrt", True) for name, found in options.items()}
    assert [name for name, does in counts.items() if does] == ["of_users", "counting", "entry"]
    into = {name: found.get("forceinline", False) for name, found in options.items()}
    assert [name for name, does in into.items() if does] == ["inlined"]


@pytest.mark.skipif(not jit.PRIVATE, reason="another numba")
def test_only_users_functions_and_the_entry_point_are_translated_by_themselves():
    def half(x):
        if x < 0:
            raise ValueError("below zero")
        return 0.5 * x

    for name in ("of_users", "counting", "apart", "inlined"):
        part = getattr(jit, name)(half)
        whole = jit.entry(lambda x, part=part: part(x) + 1)
        assert whole(3.0) == 2.5
        with pytest.raises(ValueError, match="below zero"):
            whole(-1.0)
        (compiled,) = part.overloads.values()
        address = compiled.library.get_pointer_to_function(compiled.fndesc.llvm_func_name)
        assert bool(address) == (name == "of_users")


@pytest.mark.skipif(not jit.PRIVATE, reason="another numba")
def test_a_loop_is_compiled_once_for_whole_numbers():
    """Constants of the library are of type int64, so each function has one signature."""
    state = begin_run(topk.LUCB1(2, 0.1, 0.1), 7)
    text = state.compiled(loop.run_batches).text
    assert "\nNO_ARM = np.int64(-1)\n" in text and "\n@inlined\ndef lowest(s):" in text
    assert "\n@stored_entry\ndef run_batches(" in text

