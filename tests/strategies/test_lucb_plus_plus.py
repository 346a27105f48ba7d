"""LUCB++: its radius holds at its level, and its levels suffice."""

import math

import numpy as np
import pytest

import topk
from topk.rules import Arms
from topk.stats import proportion_interval
from topk.strategies.lucb_plus_plus import log_part


def crossing(eta, step):
    """Bound the probability that u (mean - mu) ever exceeds u U(u, eta), over eta.

    From T to T e^step pulls the chord of the curve is below it, and a line a + b u is ever crossed
    with probability at most exp(-8 a b).  The curve's ln ln grows: take it at each part's start.
    """
    power, parts = 1 / math.cosh(step / 4) ** 2, np.arange(2000)
    growth = 1.5 * power  # the part from e^(step j) on counts (1 + step j)^-growth
    last = 1 + step * parts[-1]
    total = ((1 + step * parts) ** -growth).sum() + last ** (1 - growth) / (step * (growth - 1))
    return total * math.exp(-power * log_part(eta) - math.log(eta))


@pytest.mark.parametrize("eta", [0.1, 0.09, 0.05, 0.01, 1e-3, 1e-6, 1e-12, 1e-50, 1e-300])
def test_the_radius_holds_at_its_level(eta):
    assert min(crossing(eta, step) for step in np.arange(0.1, 2.0, 0.05)) < 0.34


def test_a_level_above_a_tenth_is_replaced_by_a_tenth():
    assert log_part(0.45) == log_part(0.1)
    session = topk.LUCBPlusPlus(1, 0.45).start(2)
    session.tell([0, 1], [1.0, 0.0])
    assert np.isfinite(np.concatenate(session.intervals())).all()


def test_both_sides_have_their_own_level():
    """One pull of 0 and of 1: l = 1 + U(1, delta/2k), or 0 - U(1, delta/2(n-k))."""
    strategy = topk.LUCBPlusPlus(2, 0.05)
    found = strategy.state(Arms(10))
    levels = {"log_below": log_part(0.05 / 16), "log_above": log_part(0.05 / 4)}
    assert found == levels | {"shared": 10}  # the number of arms that share delta


def test_a_split_by_square_roots_keeps_the_sum_of_the_levels():
    n, k = 101, 1
    c = 10 / 11  # sqrt(n - k) / (sqrt(k) + sqrt(n - k))
    found = topk.LUCBPlusPlus(k, 0.05, split="sqrt").state(Arms(n))
    levels = {"log_below": log_part((1 - c) * 0.05 / 100), "log_above": log_part(c * 0.05)}
    assert {name: found[name] for name in levels} == pytest.approx(levels)
    later = topk.LUCBPlusPlus(k, 0.05, split="sqrt").state(Arms(n + 9, first=n))
    assert later["log_above"] == found["log_above"] and later["log_below"] > found["log_below"]
    with pytest.raises(ValueError, match="^split must be"):
        topk.LUCBPlusPlus(1, 0.05, split="third")


def test_the_level_is_kept_and_the_set_is_found():
    bandit = topk.BernoulliBandit([0.6, 0.55, 0.35, 0.3, 0.3])
    found = topk.replicate(topk.LUCBPlusPlus(2, 0.2), bandit, runs=400, seed=7)
    assert found.certified.all()
    wrong = (found.selected[:, 0] != [0, 1]).any(axis=1)
    assert proportion_interval(int(wrong.sum()), 400, 1 - 1e-6).low <= 0.2
