"""Rewards of all magnitudes, near 0 and far from it: nothing overflows or is lost in silence."""

from fractions import Fraction

import numpy as np
import pytest

import topk
from topk import confidence
from topk.bandits import reward_range_of, unit_sums

SCALES = [10.0**e for e in (-300, -200, -100, -12, 0, 6, 100, 200, 299)]
OFFSETS = [0, 0.5, -0.5, -1, 1e3, -1e6, 1e8]  # low / width
RANGES = [(offset * scale, offset * scale + scale) for scale in SCALES for offset in OFFSETS
          if abs(offset) * scale <= 1e299]
NEAR = Fraction(1, 10**7)  # relative to the width: an ulp of the largest reward at offset 1e8


def exactly(rewards, reward_range):
    """Return the exact sum, and sum of squares, of rescaled rewards."""
    low, width = Fraction(reward_range.low), Fraction(reward_range.width)
    unit = [(Fraction(x) - low) / width for x in rewards.tolist()]
    return sum(unit), sum(x * x for x in unit)


@pytest.mark.parametrize("bounds", RANGES)
def test_rewards_are_centred_before_they_are_squared(bounds):
    reward_range, rng = reward_range_of(bounds), np.random.default_rng(1)
    low, width = reward_range.low, reward_range.width
    for m in (1, 2, 50):
        rewards = np.clip(low + width * rng.beta(0.5, 0.5, m), *bounds)
        centred, exact = reward_range.centred(rewards), exactly(rewards, reward_range)
        found = unit_sums(reward_range.numbers, m, centred.sum(), (centred * centred).sum())
        for value, true in zip(found, exact, strict=True):
            assert abs(Fraction(float(value)) - true) <= m * NEAR
        sums = reward_range.unit(np.array([m]), np.array([rewards.sum()]))
        assert abs(Fraction(float(sums[0])) - exact[0]) <= m * NEAR
        if max(map(abs, bounds)) > 1e150 or max(map(abs, bounds)) < 1e-140:
            continue  # the squares themselves are no floats
        told = np.array([m]), np.array([rewards.sum()]), np.array([(rewards * rewards).sum()])
        outward = reward_range.unit_squares(*told, sums)[0]
        least = min(exact[1], Fraction(float(sums[0])))
        assert Fraction(float(outward)) >= least * (1 - Fraction(1, 2**45))


@pytest.mark.parametrize("bounds", RANGES)
def test_sessions_of_all_magnitudes_agree_with_the_unit_one(bounds):
    low, width = bounds[0], bounds[1] - bounds[0]
    rng = np.random.default_rng(2)
    unit = rng.integers(0, 2, (3, 40)) * (rng.random((3, 40)) < [[0.9], [0.5], [0.3]])
    for strategy in (topk.KLLUCB(1, 0.1, 0.1), topk.BettingLUCB(1, 0.1, 0.1)):
        scaled = type(strategy)(1, 0.1 * width, 0.1).start(3, bounds=bounds)
        plain = strategy.start(3)
        for arm in range(3):
            scaled.observe([arm] * 40, np.where(unit[arm] == 1, bounds[1], bounds[0]))
            plain.observe([arm] * 40, unit[arm])
        assert scaled.done == plain.done
        assert scaled.evidence() == pytest.approx(plain.evidence(), rel=1e-4)
        assert topk.resume(scaled.state()).state() == scaled.state()
        low_ends = scaled.report().low.to_numpy()
        assert np.allclose(low_ends / width, plain.report().low + low / width, atol=1e-6, rtol=1e-7)


@pytest.mark.parametrize("bounds", [(0, 1), (5.0, 9.0), (1.7e9, 1.7e9 + 1), (-1e6, -1e6 + 0.5)])
def test_rewards_beyond_the_bounds_are_refused(bounds):
    session = topk.KLLUCB(1, 0.1, 0.1).start(2, bounds=bounds)
    width = bounds[1] - bounds[0]
    for reward in (bounds[0] - 1e-4 * width, bounds[1] + 1e-4 * width, np.inf, np.nan):
        with pytest.raises(ValueError, match="^rewards must be"):
            session.observe([0], [reward])
    session.observe([0, 1], bounds)


def test_bounds_between_which_there_are_few_floats_are_refused():
    for bounds in ((1e16, 1e16 + 2), (-1e11, -1e11 + 1), (0, 1e-310), (-1e301, 0)):
        with pytest.raises(ValueError, match="^bounds must be"):
            reward_range_of(bounds)


@pytest.mark.parametrize("bounds", [(-1e6, -1e6 + 0.5), (1e6, 1e6 + 1), (1e8, 1e8 + 1), (0, 10)])
def test_told_squares_leave_no_interval_too_short(bounds):
    """They are taken, or give the interval of rewards whose squares are not known."""
    rng, (low, high) = np.random.default_rng(3), bounds
    for _ in range(20):
        rewards = low + (high - low) * rng.beta(2, 2, (2, 30))
        single = topk.BettingLUCB(1, 0.1 * (high - low), 0.1).start(2, bounds=bounds)
        several = topk.BettingLUCB(1, 0.1 * (high - low), 0.1).start(2, bounds=bounds)
        for arm in range(2):
            single.observe([arm] * 30, rewards[arm])
        several.observe([0, 1], sums=rewards.sum(axis=1), counts=[30, 30],
                        squares=(rewards * rewards).sum(axis=1))
        one, other = single.report().set_index("name"), several.report().set_index("name")
        slack = 1e-7 * (high - low)
        assert (other.low <= one.low + slack).all() and (other.high >= one.high - slack).all()


def test_slacks_are_relative():
    session = topk.BettingLUCB(1, 0, 0.1).start(2)
    with pytest.raises(ValueError, match="^squares must be"):
        session.observe([0], sums=[30], counts=[10**9], squares=[0])
    tiny = topk.KLLUCB(1, 0, 0.1).start(2, bounds=(0, 1e-11))
    tiny.observe([0, 1], means=[5e-13, 9e-12], counts=[100, 100])
    assert tiny.means == pytest.approx([5e-13, 9e-12], rel=1e-12)
    with pytest.raises(ValueError, match="^squares"):
        confidence.interval(26, 0.0, 0.5, squares=-2.6e-9)


class Offset(topk.Bandit):
    """Rewards at the ends of bounds that may be far from 0."""

    def __init__(self, low, width, p=(0.9, 0.1)):
        self.low, self.width, self.p, self.bounds = low, width, p, (low, low + width)
        super().__init__(low + width * np.array(p))

    def sample(self, arm, count, rng):
        return self.low + self.width * (rng.random(count) < self.p[arm])


@pytest.mark.parametrize("strategy", [topk.BettingLUCB(1, 0, 0.05, budget=400),
                                      topk.UGapEc(1, 0.3, 0.1, variance=True)],
                         ids=["betting", "variance"])
def test_simulations_far_from_zero_are_those_at_zero(strategy):
    width = {"rng": 3, "max_pulls": 400}
    near = topk.run(strategy, Offset(0.0, 1.0), **width)
    for low in (1e6, 1e8, -1e8):
        far = topk.run(strategy, Offset(low, 1.0), **width)
        assert far.pulls.tolist() == near.pulls.tolist() and far.certified == near.certified
