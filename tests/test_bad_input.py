"""Every wrong parameter of a strategy is refused by a ValueError that names it.

Those of functions and bandits are in test_refusals.py.  The parameters of strategies are read off
their fields, so that a new one is covered as soon as it is in the registry; a line in `KINDS` tests
a parameter of a new name more sharply.
"""

import dataclasses
import json
from decimal import Decimal
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from strategies.registry import ENTRIES

import topk

N = 6  # arms in these tests
BANDIT = topk.BernoulliBandit([0.1, 0.9, 0.5, 0.4, 0.3, 0.2])


def refused(name, act, *arguments, **keywords):
    """Do something that must be refused by a name (or one of several: 'arms|sums')."""
    with pytest.raises(ValueError, match=rf"\b({name})\b"):
        act(*arguments, **keywords)


# Wrong values, by kind

NEITHER = [None, "2", "", b"2", [], [1], (2,), {}, {1}, object(), 1j, np.array([1, 2]), len]
NOTHING = st.sampled_from([[], {}, object(), 1j, len, np.nan])  # right for no parameter
NO_NUMBER = [*NEITHER, True, False, np.True_]
floats = st.floats(allow_nan=True, allow_infinity=True)


def integers_outside(low, high=None):
    """Everything that is not an integer from ``low`` to ``high``."""
    numbers = st.integers(max_value=low - 1)
    if high is not None:
        numbers |= st.integers(min_value=high + 1)
    rounded = st.sampled_from([low - 1, np.int64(low - 1), float(low), low + 0.5, Fraction(low)])
    return numbers | rounded | st.sampled_from(NO_NUMBER) | floats


def reals_outside(inside):
    """Everything that is not a finite number for which ``inside`` holds."""
    wrong = st.sampled_from([np.nan, np.inf, -np.inf, Decimal("nan"), 10**400, -(10**400)])
    near = st.sampled_from([-1e-300, 1 + 1e-15, -1, 2, Fraction(-1, 3), np.float32(1.5)])
    return wrong | st.sampled_from(NO_NUMBER) | (floats | near).filter(
        lambda x: not (np.isfinite(float(x)) and inside(x))
    )


NO_FLAG = st.sampled_from([None, 0, 1, 0.0, 1.0, "True", "yes", "", [], np.int64(1), np.nan])
NO_CHOICE = st.sampled_from(
    [None, "", "Uniform", "accept", 0, True, [], ["uniform"], b"uniform", np.nan,
     np.array(["uniform", "uniform"]), {"uniform"}]
)  # fmt: skip
TOO_LARGE = st.sampled_from([2**53 + 1, 2**63, 2**64, 10**30])  # beyond any count of pulls

positive = reals_outside(lambda x: x > 0)
QUARTERS = [Decimal("0.25"), np.longdouble(0.25), np.array(0.25)]
KINDS = {  # of parameters: a right value for N arms, and everything else
    "k": (2, integers_outside(1, N - 1)),
    "patience": (3, integers_outside(1)),
    "budget": (500, integers_outside(N) | TOO_LARGE),
    "epsilon": (0.3, reals_outside(lambda x: 0 <= x < 1)),
    "delta": (0.1, reals_outside(lambda x: 0 < x < 1)),
    "beta": (0.8, reals_outside(lambda x: 0.75 < x < 1) | st.sampled_from([0.75, 0, 0.5, 1])),
    "final": ("uniform", NO_CHOICE),
    "reuse": (True, NO_FLAG),
    "variance": (False, NO_FLAG),
    "guard": (False, NO_FLAG),
    "pull_scale": (1.0, positive),
    "complexity": (30.0, positive),
    "c": (1.0, positive),
    "a": (1.0, positive),
    "R": (0.5, positive),
}


def bandit_of(entry):
    """Return N arms; of a strategy for several bandits the same in each."""
    return topk.MultiBandit([BANDIT.means] * 2) if entry.several else BANDIT


def right(entry):
    """Return right values of a strategy's parameters; what may be left out is left out."""
    fields = dataclasses.fields(entry.strategy)
    given = [f.name for f in fields if f.default is not None or f.name == "budget"]
    return {name: good(entry, name) for name in given}


def good(entry, name):
    """Return a right value of a parameter; of one with a new name what the registry draws."""
    if name in KINDS:
        return KINDS[name][0]
    return getattr(entry.draw(np.random.default_rng(0), entry.layout(N), 2), name)


OWN = [e for e in ENTRIES if issubclass(e.strategy, (topk.Rounds, topk.Indices)) and not e.form]
CASES = [(e, f.name) for e in OWN for f in dataclasses.fields(e.strategy)]


@pytest.mark.parametrize(
    ("entry", "name"), CASES, ids=[f"{e.strategy.__name__}-{name}" for e, name in CASES]
)
@settings(max_examples=60)
@given(data=st.data())
def test_wrong_parameters_of_strategies(entry, name, data):
    fields = {field.name: field for field in dataclasses.fields(entry.strategy)}
    value = data.draw(KINDS[name][1] if name in KINDS else NOTHING)
    if value is None and fields[name].default is None:
        return  # "not given"
    if name == "k" and isinstance(value, int) and value == N == entry.most_k(N):
        return  # k = n is allowed here
    parameters = right(entry) | {name: value}

    def start(**parameters):
        return entry.strategy(**parameters).start(entry.layout(N))

    refused(name, start, **parameters)
    if isinstance(value, (int, np.integer)) and not isinstance(value, bool) and value > 0:
        return  # may be fine until n is known
    if name == "epsilon" and isinstance(value, (float, np.floating)) and 1 <= float(value) <= 1e300:
        return  # may be fine until the scale is known
    refused(name, entry.strategy, **parameters)


@pytest.mark.parametrize("entry", OWN, ids=lambda e: e.name)
@pytest.mark.filterwarnings("ignore:delta = 0.999")
def test_the_edges_of_the_allowed_ranges_are_allowed(entry):
    fields = {field.name for field in dataclasses.fields(entry.strategy)}
    least = bandit_of(entry).n + 1
    edges = {"k": [1, N - 1, np.int64(2), np.uint8(2)], "variance": [True, np.False_],
             "budget": [least, np.int32(40), 2**31, 2**53], "delta": [0.999, Fraction(1, 9)],
             "epsilon": [0.999, np.float32(0.5), Fraction(1, 3), *QUARTERS],
             "beta": [0.7501, 0.9999], "final": ["accept-reject"],
             "reuse": [False, np.True_]}  # fmt: skip
    for name in fields & edges.keys():
        for value in edges[name]:
            strategy = entry.strategy(**right(entry) | {name: value})
            session = strategy.start(entry.layout(N))
            assert 0 < session.ask()[1].sum() <= (vars(strategy).get("budget") or 2**53)
            assert {*map(type, vars(strategy).values())} <= {int, float, bool, str, type(None)}
            assert topk.resume(json.loads(json.dumps(session.state()))).strategy == strategy
    given = {f.name: good(entry, f.name) for f in dataclasses.fields(entry.strategy)}
    both = {"a", "complexity"} & given.keys()  # only one of them may be given
    given |= {"a": None} if len(both) == 2 else {}
    assert entry.strategy(*given.values()) == entry.strategy(**given)  # also by position


@pytest.mark.parametrize("entry", OWN, ids=lambda e: e.name)
def test_the_smallest_budget_is_the_smallest_that_is_taken(entry):
    fields = {field.name for field in dataclasses.fields(entry.strategy)}
    if "budget" not in fields:
        return
    make = lambda budget: entry.strategy(**right(entry) | {"budget": budget})  # noqa: E731
    taken, bandit = [], bandit_of(entry)
    for budget in range(1, 2 * bandit.n + 3):
        try:
            make(budget).start(bandit.layout)
        except ValueError as error:
            assert "budget" in str(error) and str(budget) in str(error)
            assert not taken
            refused("budget", topk.run, make(budget), bandit)
            refused("budget", topk.replicate, make(budget), bandit, 2)
        else:
            taken.append(budget)
            outcome = topk.run(make(budget), bandit)
            assert outcome.total_pulls <= budget and outcome.selected.shape[-1] == make(budget).k
    assert bandit.n <= taken[0] <= 2 * bandit.n + 1
    # the message says which is the smallest
    with pytest.raises(ValueError, match=rf"\b{taken[0]}\b"):
        make(taken[0] - 1).start(bandit.layout)


@pytest.mark.parametrize("entry", OWN, ids=lambda e: e.name)
@settings(max_examples=40)
@given(n=integers_outside(2))
def test_wrong_numbers_of_arms(entry, n):
    own = right(entry) | ({"k": 1} if "k" in right(entry) else {})
    for wrong in (n, ["a", "a", "b"], ["a"], ["a", 1], "ab", [1, 2, 3], np.array("ab")):
        refused("n", entry.strategy(**own).start, wrong)
    if entry.several:
        for wrong in (N, (0, N), (-1, N), (1.0, N), (1, n), (1, N, N), (), [[1, N]]):
            refused("n", entry.strategy(**own).start, wrong)
    else:
        refused("n", entry.strategy(**own).start, (2, N))


def test_adaptive_top_k_needs_a_budget_for_epsilon_0_and_halving_a_positive_epsilon():
    refused("epsilon", topk.AdaptiveTopK, 2, epsilon=0, delta=0.1)
    refused("delta", topk.AdaptiveTopK, 2, epsilon=0.1, delta=1e-301)
    refused("epsilon", topk.Halving, 2, epsilon=0, delta=0.1, budget=100)
    refused("epsilon", topk.ImprovedTopK, 2, epsilon=0, delta=0.1, budget=100)
    assert topk.AdaptiveTopK(2, epsilon=0, delta=0.1, budget=100).start(4)


def test_a_budget_so_far_away_that_no_play_reaches_it_is_fine():
    for strategy in (topk.LUCB1(2, epsilon=0.9, delta=0.9, budget=2**53),
                     topk.Racing(2, epsilon=0.9, delta=0.9, budget=2**53),
                     topk.AdaptiveTopK(2, epsilon=0.9, delta=0.9, budget=2**53)):
        assert topk.run(strategy, BANDIT).certified


@pytest.mark.parametrize("epsilon", [1e-5, 1e-9, 1e-12, 1e-150, 5e-324])
def test_tiny_tolerances_ask_for_many_pulls_never_for_negative_ones(epsilon):
    """2 / eps**2 ln(...) passes the largest integer: cut it, or say so."""
    for make in (topk.Halving, topk.AdaptiveTopK, topk.ImprovedTopK, topk.LUCB1, topk.Racing):
        strategy = make(2, epsilon=epsilon, delta=0.1, budget=1000)
        counts = strategy.start(N).ask()[1]
        assert (counts > 0).all() and counts.sum() <= 1000, strategy
        assert topk.run(strategy, BANDIT).total_pulls == 1000


def test_what_is_wrong_is_refused_before_any_work():
    """A function that draws bandits is not called when something else is wrong."""
    calls = []

    def draw(rng):
        calls.append(rng)
        return BANDIT

    strategy = topk.SAR(2, 60)
    refused("runs", topk.replicate, strategy, draw, 0)
    refused("seed", topk.replicate, strategy, draw, 2, seed=-1)
    refused("strategy", topk.replicate, None, draw, 2)
    assert not calls
    rng = np.random.default_rng(0)
    for bandit in (BANDIT, topk.BetaBandit(np.ones(N), np.ones(N))):
        refused("arms", bandit.pull, [0, N], [1, 1], rng)
        refused("counts", bandit.pull, [0, 1], [1, -1], rng)
    assert rng.random() == np.random.default_rng(0).random()  # nothing was drawn
