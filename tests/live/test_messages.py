"""No message of a refusal is longer than 300 characters, and each begins with a name.

The messages of live sessions, tables and intervals, for values that are wrong or very long.
"""

import math
import re

import numpy as np
import pandas as pd
import pytest

import topk
from topk import confidence
from topk._checks import LONGEST

LONG = "x" * 10_000
WILD = [None, "", LONG, b"x" * 5000, math.nan, math.inf, -math.inf, 1e308, 10**400, -1, 0, 2.5,
        True, 1j, [], [LONG], [None] * 3000, [[1, 2], [3]], {}, {LONG: LONG}, set("ab"), object(),
        len, np.zeros((3, 3)), np.array([], dtype=object), np.datetime64("2026-01-01"), pd.NA,
        pd.Series([1, None, "x"] * 500), pd.DataFrame({LONG: [1]}), range(10**6), [math.nan] * 2]


def session():
    return topk.BettingLUCB(1, 0.1, 0.1).start([f"arm {i}" for i in range(40)], bounds=(0, 10))


def cells():
    return topk.KLLUCB(1, 0, 0.1).start(["a", "b"], items=9)


ARMS = ["arm 1", "arm 2"]
CALLS = {
    "start.arms": lambda x: topk.KLLUCB(1, 0.1, 0.1).start(x),
    "start.bounds": lambda x: topk.KLLUCB(1, 0.1, 0.1).start(3, bounds=x),
    "start.sigma": lambda x: topk.KLLUCB(1, 0.1, 0.1).start(3, sigma=x),
    "start.items": lambda x: topk.KLLUCB(1, 0, 0.1).start(3, items=x),
    "start.method": lambda x: topk.KLLUCB(1, 0, 0.1).start(3, method=x),
    "tell.arms": lambda x: session().tell(x, [1, 2]),
    "tell.rewards": lambda x: session().tell(ARMS, x),
    "observe.sums": lambda x: session().observe(ARMS, sums=x, counts=[3, 4], squares=[3, 4]),
    "observe.means": lambda x: session().observe(ARMS, means=x, counts=[3, 4]),
    "observe.counts": lambda x: session().observe(ARMS, sums=[3, 4], counts=x),
    "observe.squares": lambda x: session().observe(ARMS, sums=[3, 4], counts=[3, 4], squares=x),
    "observe.batch": lambda x: session().observe(ARMS, [1, 2], batch=x),
    "observe_totals": lambda x: session().observe_totals(ARMS, x, [3, 4]),
    "correct.arm": lambda x: session().correct(x, 3, 4),
    "correct.sums": lambda x: session().correct("arm 1", x, 4),
    "lost.arms": lambda x: session().lost(x),
    "lost.counts": lambda x: session().lost(["arm 1"], x),
    "ask.size": lambda x: session().ask(x),
    "withdraw": lambda x: session().withdraw(x),
    "with_arms": lambda x: session().with_arms(x),
    "tell_cells.items": lambda x: cells().tell_cells(["a", "b"], x, [0, 1]),
    "tell_cells.results": lambda x: cells().tell_cells(["a", "b"], [0, 1], x),
    "lost_cells": lambda x: cells().lost_cells(x, x),
    "resume": topk.resume,
    "TestSet": topk.TestSet,
    "TestSet.names": lambda x: topk.TestSet([[0, 1], [1, 0]], names=x),
    "TestSet.from_frame": topk.TestSet.from_frame,
    "TestSet.from_frame.arm": lambda x: topk.TestSet.from_frame(
        pd.DataFrame({"arm": ["a"], "item": [1], "reward": [1]}), arm=x),
    "ReplayBandit": topk.ReplayBandit,
    "ReplayBandit.from_frame": topk.ReplayBandit.from_frame,
    "interval.pulls": lambda x: confidence.interval(x, 1, 0.1),
    "interval.sums": lambda x: confidence.interval([3, 4], x, 0.1),
    "interval.squares": lambda x: confidence.interval([3, 4], [1, 2], 0.1, squares=x),
    "evidence.chosen": lambda x: confidence.evidence([3, 4], [1, 2], x),
}


@pytest.mark.filterwarnings("ignore::topk.TopkWarning")
@pytest.mark.parametrize("name", CALLS)
def test_no_message_is_long(name):
    refused = 0
    for value in WILD:
        try:
            CALLS[name](value)
        except ValueError as error:
            refused += 1
            assert len(str(error)) <= LONGEST, (value, str(error))
            assert re.match(r"[a-z][a-z_ ]*", str(error)), (value, str(error))
            assert "\n" not in str(error)
    assert refused > 5
