"""CLUCB's exchange, kept by single steps, against sorting all bounds anew."""

import math
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from topk.kernels.exchange import (
    AWAY,
    ENTER,
    LEAVE,
    STAY,
    WIDEST,
    draw_exchange,
    move_exchange,
    new_exchange,
)
from topk.kernels.filing import ACTIVE, REJECTED
from topk.kernels.tally import Tally
from topk.kernels.tournament import GROUP, MEAN, NOBODY, OUT, WEIGHT, advance, best


def new_tally(pulls, ones):
    pulls, ones = np.array(pulls, dtype=np.int64), np.array(ones, dtype=np.float64)
    return Tally(pulls, ones, np.zeros(0), np.array([pulls.sum()]))


def check(trees, gain, tally, status, k, s):
    """Compare with the plain form of `topk.strategies.clucb.update`."""
    active = np.flatnonzero(status == ACTIVE).tolist()
    mean = {arm: tally.sums[arm] / tally.pulls[arm] for arm in active}
    weight = {arm: 1 / math.sqrt(tally.pulls[arm]) for arm in active}
    exact = {arm: Fraction(int(tally.sums[arm]), int(tally.pulls[arm])) for arm in active}
    ranked = sorted(active, key=lambda arm: (-exact[arm], arm))
    inside = sorted(ranked[:k], key=lambda arm: (mean[arm] - s * weight[arm], arm))
    outside = sorted(ranked[k:], key=lambda arm: (-mean[arm] - s * weight[arm], arm))
    leave, enter = [], []
    for out, into in zip(inside, outside, strict=False):
        if mean[into] + s * weight[into] > mean[out] - s * weight[out]:
            leave.append(out)
            enter.append(into)
    group = trees.line[:, GROUP]
    away = set(range(status.size)) - set(active)
    for name, arms in ((LEAVE, leave), (ENTER, enter), (STAY, set(inside) - set(leave)),
                       (AWAY, set(outside) - set(enter)), (OUT, away)):
        assert np.flatnonzero(group == name).tolist() == sorted(arms)
    for arm in active:
        assert trees.line[arm, MEAN] == mean[arm] and trees.line[arm, WEIGHT] == weight[arm]
    widest = min(leave + enter, key=lambda arm: (-weight[arm], arm), default=NOBODY)
    assert best(trees, WIDEST) == widest
    right = math.fsum(mean[arm] for arm in enter) - math.fsum(mean[arm] for arm in leave)
    weights = math.fsum(weight[arm] for arm in enter + leave)
    assert abs(gain[0] - right) < 1e-12 * max(1, len(enter))
    assert abs(gain[1] - weights) < 1e-12 * max(1, weights)
    pairs = [mean[a] + s * weight[a] - mean[b] + s * weight[b]
             for a, b in zip(enter, leave, strict=True)]
    assert gain[0] + s * gain[1] == pytest.approx(math.fsum(pairs), rel=1e-12, abs=1e-12)


batches = st.lists(
    st.lists(st.tuples(st.integers(0, 11), st.integers(1, 300), st.integers(0, 300)),
             min_size=1, max_size=3, unique_by=lambda entry: entry[0]),
    max_size=25,
)


@given(st.integers(2, 12), st.data(), batches)
def test_the_exchange_is_that_of_sorted_bounds(n, data, batches):
    """From all arms exchanged to none, with many equal lines."""
    k = data.draw(st.integers(1, n - 1))
    few = data.draw(st.lists(st.tuples(st.integers(1, 4), st.integers(0, 4)), min_size=1))
    pulls = [few[arm % len(few)][0] for arm in range(n)]
    tally = new_tally(pulls, [min(few[arm % len(few)][1], pulls[arm]) for arm in range(n)])
    status = np.full(n, ACTIVE)
    trees, gain, s = new_exchange(n), np.zeros(2), data.draw(st.sampled_from([0.0, 0.3, 1.1]))
    draw_exchange(trees, gain, tally, status, k, s)
    check(trees, gain, tally, status, k, s)
    for batch in batches:
        arms = []
        for arm, count, ones in batch:
            if arm < n and status[arm] == ACTIVE:
                tally.pulls[arm] += count
                tally.sums[arm] += min(ones, count)
                arms.append(arm)
        s += data.draw(st.sampled_from([0.0, 0.01, 0.3]))
        advance(trees, s)
        move_exchange(trees, gain, tally, len(arms), np.array(arms, dtype=np.int64))
        check(trees, gain, tally, status, k, s)
        if (status == ACTIVE).sum() > k and data.draw(st.integers(0, 7)) == 0:
            status[data.draw(st.sampled_from(np.flatnonzero(status == ACTIVE).tolist()))] = REJECTED
            draw_exchange(trees, gain, tally, status, k, s)  # as a withdrawal does
            check(trees, gain, tally, status, k, s)


@pytest.mark.parametrize(("n", "k", "steps", "every"), [
    (2, 1, 500, 1), (40, 6, 8000, 4), (40, 35, 8000, 4), (400, 200, 20_000, 100),
])
def test_long_plays(n, k, steps, every):
    """The widest arm is pulled, s grows; the gain does not drift away from its exact sum."""
    rng = np.random.default_rng(n + k)
    means = np.sort(rng.random(n))
    status, trees, gain = np.full(n, ACTIVE), new_exchange(n), np.zeros(2)
    tally = new_tally(np.ones(n), rng.random(n) < means)
    draw_exchange(trees, gain, tally, status, k, 1.0)
    for t in range(1, steps):
        s = 0.5 * math.sqrt(2 * (1 + math.log(t)))
        arm = best(trees, WIDEST)
        if arm == NOBODY or t % 7 == 0:
            arm = rng.integers(n)
        tally.pulls[arm] += 1
        tally.sums[arm] += rng.random() < means[arm]
        advance(trees, max(1.0, s))
        move_exchange(trees, gain, tally, 1, np.array([arm]))
        if t % every == 0:
            check(trees, gain, tally, status, k, max(1.0, s))


def test_a_new_drawing_is_the_kept_one():
    rng, n, k = np.random.default_rng(3), 40, 11
    tally = new_tally(np.ones(n), rng.integers(0, 2, n))
    status, trees, gain = np.full(n, ACTIVE), new_exchange(n), np.zeros(2)
    draw_exchange(trees, gain, tally, status, k, 0.7)
    for _ in range(1500):
        arms = rng.choice(n, 3, replace=False)
        tally.pulls[arms] += 1
        tally.sums[arms] += rng.integers(0, 2, 3)
        move_exchange(trees, gain, tally, 3, arms)
    again, gain_again = new_exchange(n), np.zeros(2)
    draw_exchange(again, gain_again, tally, status, k, 0.7)
    assert np.array_equal(trees.line, again.line)
    assert gain == pytest.approx(gain_again, abs=1e-12)
