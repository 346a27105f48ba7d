"""Invalid parameters of all strategies in the registry, including new ones.

Wrong values are listed in test_refusals.py, which tries them on functions and bandits, too.
"""

import dataclasses
import json
from decimal import Decimal
from fractions import Fraction

import numpy as np
import pytest
from strategies.registry import ENTRIES
from test_refusals import NO_COUNT, NO_FLAG, NOT_REAL

import topk

pytestmark = pytest.mark.filterwarnings("ignore:delta = 0.9")
N = 6  # arms in these tests
BANDIT = topk.BernoulliBandit([0.1, 0.9, 0.5, 0.4, 0.3, 0.2])


def refused(name, act, *arguments, **keywords):
    """Call something that must raise a ValueError with the given name."""
    with pytest.raises(ValueError, match=rf"\b{name}\b"):
        act(*arguments, **keywords)
        pytest.fail(f"{arguments} {keywords} are not refused")


NO_CHOICE = [None, "", "Uniform", "accept", 0, True, [], ["uniform"], b"uniform", np.nan,
             np.array(["uniform", "uniform"]), {"uniform"}]  # fmt: skip
NOT_POSITIVE = [*NOT_REAL, 0]
WRONG = {  # whatever the number of arms is, and with N arms; nothing is right for another name
    "k": (NO_COUNT, [N + 1]),
    "patience": (NO_COUNT, []),
    "budget": ([*NO_COUNT[:3], *NO_COUNT[4:], 2**53 + 1, 2**63, 10**30, 1e30], [N - 1, N - 1.0]),
    "epsilon": (NOT_REAL, [1, 1 + 1e-15, 2, np.float32(1.5)]),
    "delta": ([*NOT_POSITIVE, 1, 1 + 1e-15], []),
    "beta": ([*NOT_POSITIVE, 0.5, 0.75, 1], []),
    "final": (NO_CHOICE, []),
} | dict.fromkeys(("reuse", "variance"), (NO_FLAG, []))
WRONG |= dict.fromkeys(("pull_scale", "complexity", "c", "a", "R"), (NOT_POSITIVE, []))
ANOTHER = [[], {}, object(), 1j, len, np.nan], []


def right(entry, **given):
    """Return the strategy with valid parameters, except for those given."""
    strategy = entry.draw(np.random.default_rng(0), entry.layout(N), 2)
    roomy = {"budget": 500} if hasattr(strategy, "budget") else {}
    return dataclasses.replace(strategy, **roomy | given)


OWN = [e for e in ENTRIES if issubclass(e.strategy, (topk.Rounds, topk.Indices)) and not e.form]
CASES = [(e, field) for e in OWN for field in dataclasses.fields(e.strategy)]


@pytest.mark.parametrize(
    ("entry", "field"), CASES, ids=[f"{e.strategy.__name__}-{field.name}" for e, field in CASES]
)
def test_wrong_parameters_of_strategies(entry, field):
    always, here = WRONG.get(field.name, ANOTHER)
    for value in always:
        if value is not None or field.default is not None:  # which is "not given"
            refused(field.name, right, entry, **{field.name: value})
    here = [*here, N] if field.name == "k" and entry.most_k(N) < N else here
    for value in here:
        wrong = right(entry, **{field.name: value})  # may be fine elsewhere
        refused(field.name, wrong.start, entry.layout(N))


@pytest.mark.parametrize("entry", OWN, ids=lambda e: e.name)
def test_the_edges_of_the_allowed_ranges_are_allowed(entry):
    quarters = [Decimal("0.25"), np.longdouble(0.25), np.array(0.25)]
    edges = {"k": [1, N - 1, np.int64(2), np.uint8(2)], "variance": [True, np.False_],
             "budget": [2 * N + 1, np.int32(40), 2**31, 2**53], "delta": [0.999, Fraction(1, 9)],
             "epsilon": [0.999, np.float32(0.5), Fraction(1, 3), *quarters],
             "beta": [0.7501, 0.9999], "final": ["accept-reject"],
             "reuse": [False, np.True_]}  # fmt: skip
    strategy = right(entry)
    for name in edges.keys() & vars(strategy).keys():
        for value in edges[name]:
            strategy = right(entry, **{name: value})
            session = strategy.start(entry.layout(N))
            assert 0 < session.ask()[1].sum() <= (vars(strategy).get("budget") or 2**53)
            assert {*map(type, vars(strategy).values())} <= {int, float, bool, str, type(None)}
            assert topk.resume(json.loads(json.dumps(session.state()))).strategy == strategy
    assert entry.strategy(*dataclasses.astuple(strategy)) == strategy  # also by position


@pytest.mark.parametrize("entry", OWN, ids=lambda e: e.name)
def test_the_smallest_budget_is_the_smallest_that_is_taken(entry):
    if "budget" not in entry.strategy.__dataclass_fields__:
        return
    bandit = topk.MultiBandit([BANDIT.means] * 2) if entry.several else BANDIT
    least = entry.starts * bandit.n + entry.spare
    for budget in range(1, least):
        with pytest.raises(ValueError, match=rf"budget.*\b{least}\b.*\b{budget}\b"):
            right(entry, budget=budget).start(bandit.layout)
    refused("budget", topk.run, right(entry, budget=least - 1), bandit)
    for budget in range(least, 2 * bandit.n + 3):
        outcome = topk.run(right(entry, budget=budget), bandit, rng=0)
        assert outcome.total_pulls <= budget and outcome.selected.shape[-1] == right(entry).k


@pytest.mark.parametrize("entry", OWN, ids=lambda e: e.name)
def test_wrong_numbers_of_arms(entry):
    strategy = right(entry, k=1) if "k" in entry.strategy.__dataclass_fields__ else right(entry)
    strange = ["a", "a", "b"], ["a"], ["a", 1], "ab", [1, 2, 2], np.array("ab")
    pairs = N, (0, N), (-1, N), (1.0, N), (1, 1), (1, 2.5), (1, N, N), (), [[1, N]]
    for wrong in (*NO_COUNT, 1, *strange, *(pairs if entry.several else [(2, N)])):
        if entry.several or not isinstance(wrong, np.ndarray) or wrong.ndim == 0:
            refused("(n|arms)", strategy.start, wrong)  # a list of integers may be arms' names


def test_adaptive_top_k_needs_a_budget_for_epsilon_0_and_halving_a_positive_epsilon():
    refused("epsilon", topk.AdaptiveTopK, 2, epsilon=0, delta=0.1)
    refused("delta", topk.AdaptiveTopK, 2, epsilon=0.1, delta=1e-301)
    refused("epsilon", topk.Halving, 2, epsilon=0, delta=0.1, budget=100)
    refused("epsilon", topk.ImprovedTopK, 2, epsilon=0, delta=0.1, budget=100)
    assert topk.AdaptiveTopK(2, epsilon=0, delta=0.1, budget=100).start(4)


@pytest.mark.parametrize("make", [topk.LUCB1, topk.Racing, topk.AdaptiveTopK])
def test_a_huge_budget_is_allowed(make):
    assert topk.run(make(2, epsilon=0.9, delta=0.9, budget=2**53), BANDIT, rng=0).certified


@pytest.mark.parametrize("epsilon", [1e-5, 1e-9, 1e-12, 1e-150, 5e-324])
def test_tiny_tolerances_ask_for_many_pulls_never_for_negative_ones(epsilon):
    """2 / eps**2 ln(...) passes the largest integer: cut it, or say so."""
    for make in (topk.Halving, topk.AdaptiveTopK, topk.ImprovedTopK, topk.LUCB1, topk.Racing):
        strategy = make(2, epsilon=epsilon, delta=0.1, budget=1000)
        counts = strategy.start(N).ask()[1]
        assert (counts > 0).all() and counts.sum() <= 1000, strategy
        assert topk.run(strategy, BANDIT, rng=0).total_pulls == 1000


def test_invalid_arguments_are_refused_before_any_work():
    """Nothing is drawn when something else is wrong, neither a bandit nor a reward."""
    for name, wrong in {"runs": {"runs": 0}, "seed": {"seed": -1}, "strategy": {}}.items():
        strategy = topk.SAR(2, 60) if wrong else None
        refused(name, topk.replicate, strategy, pytest.fail, **{"runs": 2} | wrong)
    rng = np.random.default_rng(0)
    for bandit in (BANDIT, topk.BetaBandit(np.ones(N), np.ones(N))):
        refused("arms", bandit.pull, [0, N], [1, 1], rng)
        refused("counts", bandit.pull, [0, 1], [1, -1], rng)
    assert rng.random() == np.random.default_rng(0).random()
