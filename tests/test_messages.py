"""Every refusal of a public callable names its parameter in at most 300 characters and one line.

A table has a right call of each: of every strategy, bandit, formula and measure, and of the methods
of sessions.  Each argument in turn takes values that are wrong or very long.
"""

import dataclasses
import inspect
import math
import re

import numpy as np
import pandas as pd
import pytest
import test_refusals
from strategies.registry import ENTRIES

import topk
from topk import metrics
from topk._checks import LONGEST

LONG = "x" * 10_000
WILD = [None, "", LONG, b"x" * 5000, math.nan, -math.inf, 1e308, 10**400, -1, 0, 2.5, True, 1j, [],
        [LONG], [None] * 300, [[1, 2], [3]], {}, {LONG: LONG}, set("ab"), object(), len,
        np.zeros((3, 3)), np.array([], dtype=object), np.datetime64("2026-01-01"), pd.NA,
        pd.Series([1, None, "x"] * 50), pd.DataFrame({LONG: [1]}), range(3000)]  # fmt: skip
SLOW = {"run", "replicate", "compare", "warm", "graded_models", "beta41", "algorithm_b",
        "change_of_measure", "smallest_budget", "group_plays", "sprt_with_error"}  # they play
# what a message may begin with instead of a parameter: parts of one, or of its contents
PARTS = {"n", "budget", "answers", "format", "arms", "rewards"}
ELSEWHERE = {"path", "rng", "joined"}  # refused by Python or NumPy, and what only files tell
ARMS = ["arm 1", "arm 2"]


def session():
    names = [f"arm {i}" for i in range(9)]
    return topk.BettingLUCB(1, 0.1, 0.1).start(names, bounds=(0, 10), rng=0)


def asked():
    found = session()
    found.ask(20)
    return found


def three():
    return topk.KLLUCB(1, 0, 0.1).start(["a", "b", "c"])


SUMS = {"arms": ARMS, "sums": [3, 4], "counts": [3, 4], "squares": [3, 4]}
METHODS = {
    "tell": (lambda: session().tell, {"arms": ARMS, "rewards": [1, 2]}),
    "observe": (lambda: session().observe, {"arms": ARMS, "rewards": [1, 2]}),
    "observe sums": (lambda: session().observe, SUMS),
    "observe means": (lambda: session().observe, {"arms": ARMS, "means": [1, 2], "counts": [1, 3],
                                                  "squares": [1, 12]}),
    "observe_totals": (lambda: session().observe_totals, SUMS),
    "correct": (lambda: session().correct, {"arm": "arm 1", "sums": 3, "counts": 3}),
    "lost": (lambda: asked().lost, {"arms": ["arm 1"], "counts": [1]}),
    "ask": (lambda: session().ask, {"size": 3}),
    "evidence": (lambda: session().evidence, {}),
    "report": (lambda: session().report, {}),
    "withdraw": (lambda: three().withdraw, {"arm": "a"}),
    "with_arms": (lambda: three().with_arms, {"names": ["d"]}),
    "with_arms without names": (lambda: topk.KLLUCB(1, 0, 0.1).start(3).with_arms, {"names": 1}),
    "resume": (lambda: topk.resume, {"state": session().state()}),
    "from_state": (lambda: topk.Session.from_state, {"state": session().state()}),
}  # fmt: skip


def calls():
    """Return title -> a function that makes the callable, and its right arguments."""
    found = dict(METHODS)
    for function in test_refusals.CALLS:
        alone, _ = test_refusals.SPECIAL.get(function, ({}, {}))
        home = getattr(inspect.getmodule(function), "__name__", "topk.")
        if function.__name__ in SLOW or not home.startswith("topk."):
            continue
        names = [x for x in inspect.signature(function).parameters if x in test_refusals.RIGHT]
        right = {name: test_refusals.RIGHT[name] for name in names} | alone
        found[function.__qualname__] = (lambda function=function: function), right
    for name in metrics.__all__:
        measure = getattr(metrics, name)
        right = {"selected": [0, 1], "means": [0.9, 0.6, 0.3], "epsilon": 0.1}
        right = {x: right[x] for x in inspect.signature(measure).parameters}
        found[f"metrics.{name}"] = (lambda measure=measure: measure), right
    for entry in ENTRIES:
        made = entry.draw(np.random.default_rng(0), entry.layout(5), 1)
        fields = {field.name: getattr(made, field.name) for field in dataclasses.fields(made)}
        title, start = type(made).__name__, {"arms": entry.layout(5)}
        found[title] = (lambda made=made: type(made)), fields
        found[f"{title}.start"] = (lambda made=made: made.start), start
    return found


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize(("make", "right"), calls().values(), ids=[*calls()])
def test_refusals_are_short_and_name_a_parameter(make, right):
    check_refusals(make, right)


def check_refusals(make, right):
    """Call what ``make`` returns with wrong values of each argument."""
    make()(**right)
    refused = 0
    kinds = inspect.Parameter.VAR_KEYWORD, inspect.Parameter.VAR_POSITIONAL
    parameters = inspect.signature(make()).parameters
    names = [x for x, y in parameters.items() if y.kind not in kinds and x not in ELSEWHERE]
    for name in names:
        for value in WILD:
            try:
                make()(**right | {name: value})
            except ValueError as error:
                said, refused = str(error), refused + 1
                assert len(said) <= LONGEST and "\n" not in said, (name, value)
                first = re.match(r"[A-Za-z_]*", said)[0]
                assert first in {*parameters, *PARTS}, (name, value, said)
    assert refused > 5 or not names
