"""Both searches for the top k, against ranking all arms."""

import math
from fractions import Fraction

import numpy as np
import pytest
from engine.searching import BATCHES, active_of, begin, call, counted, tell, tell_random
from hypothesis import given, settings
from hypothesis import strategies as st

from topk.engine import jit
from topk.rules import base
from topk.rules.base import NO_ARM
from topk.rules.indices import following, highest, kth, lower, lowest, upper
from topk.rules.search import top_k_scan as scan
from topk.rules.search import top_k_trees as trees
from topk.rules.search.top_k_scan import TOP_K_SCAN
from topk.rules.search.top_k_trees import TOP_K_TREES
from topk.rules.search.tournament import GROUP, OUT

SEARCHES = pytest.mark.parametrize("search", [TOP_K_SCAN, TOP_K_TREES])


def groups(play):
    """Return the sets of arms inside and outside."""
    s = play.s
    if play.search == TOP_K_SCAN:
        return [np.flatnonzero(row > -np.inf).tolist() for row in s.near]
    group = s.trees.line[:, GROUP]
    assert ((group == OUT) == (s.status != base.ACTIVE)).all()
    return [np.flatnonzero(group == name).tolist() for name in (trees.INSIDE, trees.OUTSIDE)]


def check(play, s):
    """Compare groups, winners and bounds with the definitions; means are exact fractions."""
    pulls, sums, k = play.s.pulls, play.s.sums, play.strategy.k
    order = sorted(active_of(play), key=lambda a: (-Fraction(int(sums[a]), int(pulls[a])), a))
    inside, outside = order[:k], order[k:]
    assert groups(play) == [sorted(inside), sorted(outside)]
    mean = {arm: sums[arm] / pulls[arm] for arm in order}
    low = {arm: mean[arm] - s * (1 / math.sqrt(pulls[arm])) for arm in inside}
    high = {arm: mean[arm] + s * (1 / math.sqrt(pulls[arm])) for arm in outside}
    # of equal bounds the one with fewer pulls, then the lower index
    at_risk = min(inside, key=lambda arm: (low[arm], pulls[arm], arm))
    threat = min(outside, key=lambda arm: (-high[arm], pulls[arm], arm), default=NO_ARM)
    assert (call(play, lowest), call(play, highest)) == (at_risk, threat)
    assert call(play, kth) == mean[inside[-1]]
    assert call(play, following) == (mean[outside[0]] if outside else -np.inf)
    assert call(play, lower, at_risk) == low[at_risk]
    assert call(play, upper, threat) == high.get(threat, -np.inf)


@settings(max_examples=300)
@given(counted(), st.sampled_from([0.0, 0.7, 3.0]), BATCHES, st.data())
def test_the_partition_is_that_of_exact_fractions(arms, s, batches, data):
    plays = [begin(search, *arms, s) for search in (TOP_K_SCAN, TOP_K_TREES)]
    for now in tell_random(plays, data, batches, s):
        for play in plays:
            check(play, now)


@SEARCHES
@pytest.mark.parametrize(
    ("n", "k", "rounds"), [(2, 1, 200), (50, 7, 500), (300, 299, 60), (160, 60, 400)])
def test_long_runs(n, k, rounds, search):
    """As the strategies use it: single pulls, s growing like the root of a logarithm."""
    rng = np.random.default_rng(n)
    means = rng.choice([0.0, 0.2, 0.5, 0.52, 1.0], n)
    play = begin(search, [1] * n, rng.random(n) < means, k, 1.0)
    for t in range(2, rounds):
        s, arms = math.sqrt(1 + math.log(t)), [call(play, lowest), call(play, highest)]
        if t % 5 == 0:
            arms = rng.choice(n, 2, replace=False)
        tell(play, arms, [1, 1], rng.random(2) < means[arms], s)
        check(play, s)


@pytest.mark.parametrize("form", ["plain", "compiled"])
def test_looks_at_many_equals_are_the_plain_form(form):
    """Few distinct means and weights, so that winners tie within and between blocks."""
    rng = np.random.default_rng(6)
    looks = scan.largest_arm, scan.top
    if form == "compiled":
        looks = [jit.compiled(look, None, "test", lean=True, store=False) for look in looks]
    for number in range(1200 if form == "compiled" else 40):
        n = (32, 128, 160, 1024)[number % 4]
        row = rng.choice([0.25, 0.5, 0.75, -np.inf], n, p=[0.2, 0.2, 0.01, 0.59])
        weight, q = rng.choice([0.125, 0.25], n), rng.choice([0.0, 2.0])
        if rng.random() < 0.2:  # one finite entry, or none
            row[rng.permutation(n)[number % 2 :]] = -np.inf
        members = np.flatnonzero(row > -np.inf).tolist()
        arms = np.arange(n, dtype=np.float64)
        ends = (looks[1](row, arms, sign) for sign in (-1.0, 1.0))
        found = *looks[0](row, weight, arms, q), *ends
        keys = {i: row[i] + q * weight[i] for i in members}
        arm = max(members, default=NO_ARM, key=lambda i: (keys[i], weight[i], -i))
        wanted = (
            arm,
            max((keys[i] for i in members if i != arm), default=-np.inf),
            max(members, default=NO_ARM, key=lambda i: (row[i], -i)),
            max(members, default=NO_ARM, key=lambda i: (row[i], i)),
        )
        assert found == wanted


@pytest.mark.parametrize("form", ["plain", "compiled"])
def test_a_list_has_the_arms_of_the_plain_form(form):
    """Full, half-empty and empty sides; the row is as before, and the old list is gone."""
    rng, fill = np.random.default_rng(7), scan.fill_list
    if form == "compiled":
        fill = jit.compiled(fill, None, "test", lean=True, store=False)
    for number in range(900 if form == "compiled" else 30):
        n = (160, 192, 256)[number % 3]
        row = np.where(rng.random(n) < (1.0, 0.05, 0.0)[number // 3 % 3], rng.random(n), -np.inf)
        weight, q = rng.random(n), rng.choice([0.0, 0.5])
        listed, fixed = np.full(n, -1.0), np.full(n, -np.inf)
        weights, place = np.zeros(n), np.full(n, NO_ARM)
        old = rng.choice(n, rng.integers(0, 9), replace=False)
        listed[: old.size], fixed[: old.size], place[old] = old, 0.5, np.arange(old.size)
        before = row.copy()
        size, others = fill(row, weight, q, 2 * q, listed, fixed, weights, place, old.size)
        members = np.flatnonzero(row > -np.inf).tolist()
        keys = {i: row[i] + q * weight[i] for i in members}
        parts = [range(start, start + scan.PART) for start in range(0, n, scan.PART)]
        largest = [max(keys[i] for i in part if i in keys) for part in parts if {*part} & {*keys}]
        few = len(largest) * scan.PART <= scan.ENOUGH * n
        enough = -np.inf if few else np.cumsum(largest)[-1] / len(largest)
        wanted = [i for i in members if keys[i] >= enough]
        rest = (row[i] + 2 * q * weight[i] for i in members if i not in wanted)
        assert (listed[:size].tolist(), others) == (wanted, max(rest, default=-np.inf))
        assert np.array_equal(row, before) and np.array_equal(fixed[:size], row[wanted])
        assert np.array_equal(weights[:size], weight[wanted]) and (fixed[size:] == -np.inf).all()
        assert np.flatnonzero(place != NO_ARM).tolist() == wanted
        assert place[wanted].tolist() == list(range(size))
