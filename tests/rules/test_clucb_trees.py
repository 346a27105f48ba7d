"""CLUCB's exchange, updated step by step, against sorting all bounds."""

import math
from fractions import Fraction

import numpy as np
import pytest
from engine.searching import BATCHES, active_of, begin, counted, tell, tell_random
from hypothesis import given
from hypothesis import strategies as st

from topk.rules.base import NO_ARM
from topk.rules.search.clucb_trees import AWAY, CLUCB_TREES, ENTER, LEAVE, STAY, gain, widest
from topk.rules.search.tournament import GROUP, MEAN, OUT, WEIGHT


def check(play, s):
    """Compare with the plain form of the module."""
    active, k = active_of(play), play.strategy.k
    pulls, sums = play.s.pulls, play.s.sums
    mean = {arm: sums[arm] / pulls[arm] for arm in active}
    weight = {arm: 1 / math.sqrt(pulls[arm]) for arm in active}
    ranked = sorted(active, key=lambda arm: (-Fraction(int(sums[arm]), int(pulls[arm])), arm))
    inside = sorted(ranked[:k], key=lambda arm: (mean[arm] - s * weight[arm], arm))
    outside = sorted(ranked[k:], key=lambda arm: (-mean[arm] - s * weight[arm], arm))
    leave, enter, gains = [], [], []
    for out, into in zip(inside, outside, strict=False):
        if mean[into] + s * weight[into] > mean[out] - s * weight[out]:
            leave.append(out)
            enter.append(into)
            gains.append(mean[into] + s * weight[into] - mean[out] + s * weight[out])
    line = play.s.trees.line
    stay, away = set(inside) - set(leave), set(outside) - set(enter)
    out = set(range(pulls.size)) - set(active)
    for name, arms in ((LEAVE, leave), (ENTER, enter), (STAY, stay), (AWAY, away), (OUT, out)):
        assert np.flatnonzero(line[:, GROUP] == name).tolist() == sorted(arms)
    for arm in active:
        assert line[arm, MEAN] == mean[arm] and line[arm, WEIGHT] == weight[arm]
    wanted = min(leave + enter, key=lambda arm: (-weight[arm], arm), default=NO_ARM)
    assert widest(play.s) == wanted
    for found, right in zip(play.s.gained, (
        math.fsum(mean[arm] for arm in enter) - math.fsum(mean[arm] for arm in leave),
        math.fsum(weight[arm] for arm in enter + leave),
    ), strict=True):
        assert abs(found - right) < 1e-12 * max(1, len(enter), right)
    right = math.fsum(gains)
    assert gain(play.s, 1e9) == pytest.approx(right, rel=1e-12, abs=1e-12)
    play.s.gained[0] += 1e-10 * bool(enter)  # as if by rounding; close to what is allowed ...
    assert gain(play.s, right) == pytest.approx(right, rel=1e-14, abs=1e-14)  # ... exact


@given(counted(), st.sampled_from([0.0, 0.3, 1.1]), BATCHES, st.data())
def test_the_exchange_is_that_of_sorted_bounds(arms, s, batches, data):
    """From all arms exchanged to none, with many equal lines."""
    play = begin(CLUCB_TREES, *arms, s)
    for now in tell_random([play], data, batches, s):
        check(play, now)


@pytest.mark.parametrize(
    ("n", "k", "steps", "every"), [(2, 1, 300, 1), (40, 6, 800, 4), (40, 35, 800, 4)]
)
def test_long_runs(n, k, steps, every):
    """The widest arm is pulled, s grows; the gain does not drift away from its exact sum."""
    rng = np.random.default_rng(n + k)
    means = np.sort(rng.random(n))
    play = begin(CLUCB_TREES, [1] * n, rng.random(n) < means, k, 1.0)
    for t in range(1, steps):
        arm, s = widest(play.s), max(1.0, 0.5 * math.sqrt(2 * (1 + math.log(t))))
        if arm == NO_ARM or t % 7 == 0:
            arm = rng.integers(n)
        tell(play, [arm], [1], [rng.random() < means[arm]], s)
        if t % every == 0:
            check(play, s)
