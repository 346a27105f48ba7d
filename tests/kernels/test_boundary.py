"""The kept partition and the two arms at risk, against ranking all arms anew."""

import math
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from topk.kernels.boundary import (
    BEST_LOW,
    HIGH,
    HIGHEST,
    LOW,
    LOWEST,
    WORST_HIGH,
    draw_boundary,
    leave_boundary,
    move_lines,
    new_boundary,
)
from topk.kernels.filing import ACTIVE, REJECTED
from topk.kernels.tally import Tally
from topk.kernels.tournament import GROUP, NOBODY, OUT
from topk.kernels.winners import advance, best, key


def new_tally(pulls, ones):
    pulls, ones = np.array(pulls, dtype=np.int64), np.array(ones, dtype=np.float64)
    return Tally(pulls, ones, np.zeros(0), np.array([pulls.sum()]))


def ranked(tally, status):
    """Return the active arms by exact mean, then index."""

    def rank(arm):
        return -Fraction(int(tally.sums[arm]), int(tally.pulls[arm])), arm

    return sorted(np.flatnonzero(status == ACTIVE).tolist(), key=rank)


def check(trees, tally, status, k, s):
    """Compare groups and winners with the definitions."""
    order = ranked(tally, status)
    inside, outside = order[:k], order[k:]
    group = trees.line[:, GROUP]
    assert np.flatnonzero(group == HIGH).tolist() == sorted(inside)
    assert np.flatnonzero(group == LOW).tolist() == sorted(outside)
    assert np.flatnonzero(group == OUT).tolist() == np.flatnonzero(status != ACTIVE).tolist()

    def radius(arm):
        return s * (1 / math.sqrt(tally.pulls[arm]))

    def mean(arm):
        return tally.sums[arm] / tally.pulls[arm]

    def lower(arm):  # of equal bounds the one with fewer pulls, then the lower index
        return mean(arm) - radius(arm), tally.pulls[arm], arm

    def upper(arm):
        return -(mean(arm) + radius(arm)), tally.pulls[arm], arm

    assert best(trees, WORST_HIGH) == inside[-1]
    assert best(trees, LOWEST) == min(inside, key=lower)
    assert key(trees, LOWEST, best(trees, LOWEST)) == -min(map(lower, inside))[0]
    if not outside:
        assert best(trees, BEST_LOW) == best(trees, HIGHEST) == NOBODY
        return
    assert best(trees, BEST_LOW) == outside[0]
    assert best(trees, HIGHEST) == min(outside, key=upper)
    assert key(trees, HIGHEST, best(trees, HIGHEST)) == -min(map(upper, outside))[0]


batches = st.lists(
    st.lists(st.tuples(st.integers(0, 11), st.integers(1, 4), st.integers(0, 4)),
             min_size=1, max_size=3, unique_by=lambda entry: entry[0]),
    max_size=25,
)


@given(st.integers(2, 12), st.data(), batches)
def test_the_partition_is_that_of_exact_fractions(n, data, batches):
    """Few pulls, so that means tie all the time; arms may leave."""
    k = data.draw(st.integers(1, n - 1))
    pulls = data.draw(st.lists(st.integers(1, 4), min_size=n, max_size=n))
    tally = new_tally(pulls, [data.draw(st.integers(0, count)) for count in pulls])
    status = np.full(n, ACTIVE)
    trees = new_boundary(n, looks=data.draw(st.booleans()))
    s = data.draw(st.sampled_from([0.0, 0.7, 3.0]))
    draw_boundary(trees, tally, status, k, s)
    check(trees, tally, status, k, s)
    for batch in batches:
        arms = []
        for arm, count, ones in batch:
            if arm < n and status[arm] == ACTIVE:
                tally.pulls[arm] += count
                tally.sums[arm] += min(ones, count)
                arms.append(arm)
        s += data.draw(st.sampled_from([0.0, 0.01, 0.5]))
        advance(trees, s)
        move_lines(trees, tally, len(arms), np.array(arms, dtype=np.int64))
        check(trees, tally, status, k, s)
        if (status == ACTIVE).sum() > k and data.draw(st.integers(0, 7)) == 0:
            arm = data.draw(st.sampled_from(np.flatnonzero(status == ACTIVE).tolist()))
            status[arm] = REJECTED
            leave_boundary(trees, arm)
            check(trees, tally, status, k, s)


@pytest.mark.parametrize("looks", [True, False])
@pytest.mark.parametrize(("n", "k", "rounds"), [(2, 1, 300), (50, 7, 2000), (300, 299, 300)])
def test_long_plays(n, k, rounds, looks):
    """As the strategies use it: single pulls, s growing like the root of a logarithm."""
    rng = np.random.default_rng(n)
    means = rng.choice([0.0, 0.2, 0.5, 0.52, 1.0], n)
    status, trees = np.full(n, ACTIVE), new_boundary(n, looks)
    tally = new_tally(np.ones(n), rng.random(n) < means)
    s = 1.0
    draw_boundary(trees, tally, status, k, s)
    for t in range(2, rounds):
        s = math.sqrt(1 + math.log(t))
        arms = np.array([best(trees, LOWEST), best(trees, HIGHEST)])
        if t % 5 == 0:
            arms = rng.choice(n, 2, replace=False)
        tally.pulls[arms] += 1
        tally.sums[arms] += rng.random(2) < means[arms]
        advance(trees, s)
        move_lines(trees, tally, 2, arms)
        check(trees, tally, status, k, s)


@pytest.mark.parametrize("looks", [True, False])
def test_a_new_drawing_is_the_kept_one(looks):
    """What a stored play is resumed with is what it was stopped with."""
    rng, n, k = np.random.default_rng(3), 40, 11
    tally = new_tally(np.ones(n), rng.integers(0, 2, n))
    status, trees = np.full(n, ACTIVE), new_boundary(n, looks)
    draw_boundary(trees, tally, status, k, 2.0)
    for _ in range(500):
        arms = rng.choice(n, 3, replace=False)
        tally.pulls[arms] += 1
        tally.sums[arms] += rng.integers(0, 2, 3)
        move_lines(trees, tally, 3, arms)
    again = new_boundary(n, looks)
    draw_boundary(again, tally, status, k, 2.0)
    assert np.array_equal(trees.line, again.line)
    assert [best(trees, tree) for tree in range(4)] == [best(again, tree) for tree in range(4)]
