"""Levels by side: one-sided bounds, their numerics, and how delta is divided."""

import json
import math
from decimal import Decimal, localcontext
from pathlib import Path

import numpy as np
import pytest

import topk
from topk.confidence import finite, kl, sides
from topk.confidence.sides import NEVER, Levels

RNG = np.random.default_rng(52)


# rows of u, S, level, 1 - U and L: the bounds after two improvements, found with 80 digits by
# mpmath from KT/L(U) = 1 + F(U) (1/alpha - 1)
REFERENCE = json.loads(Path(__file__).with_name("side_bounds.json").read_text(encoding="utf-8"))


@pytest.mark.parametrize("row", REFERENCE, ids=lambda row: "{:g} of {:g}, {:g}".format(*row[:3]))
def test_bounds_are_outside_the_exact_ones_and_close_to_them(row):
    """Up to 10**12 pulls, all or no ones, means down to 1e-12; also at levels above ln(1e300)."""
    u, ones, level = map(float, row[:3])
    levels = np.full(1, level)
    low, high = (x[0] for x in sides.mixture_ends(np.array([u]), np.array([ones]))(levels, levels))
    with localcontext() as context:
        context.prec = 60
        mean, exact, below = Decimal(ones) / Decimal(u), 1 - Decimal(row[3]), Decimal(row[4])
        assert Decimal(high) >= exact and Decimal(low) <= below
        slack = Decimal(1e-14)
        assert Decimal(high) - exact <= (exact - mean) * Decimal(1e-6) + slack
        assert below - Decimal(low) <= (mean - below) * Decimal(1e-6) + slack
    mine = [sides.mixture_bound(u, ones, level + 1e-6, lower) for lower in (True, False)]
    assert mine[0] <= low * (1 + 1e-9) and mine[1] >= high - 1e-9 * (high - ones / u) - 1e-15


@pytest.mark.parametrize("mean", [0.02, 0.3, 0.5, 0.7, 0.98])
def test_a_bound_is_crossed_no_more_often_than_its_level_says(mean):
    """Exactly, by dynamic programming over the number of ones; 100 pulls."""
    for alpha in (0.05, 0.3, 0.9):
        weights, crossed = np.ones(1), 0.0
        for u in range(1, 101):
            weights = np.append(weights * (1 - mean), 0) + np.append(0, weights * mean)
            ones = np.arange(u + 1.0)
            share = 2 / math.pi * np.arcsin(np.sqrt(mean))
            log_l = ones * math.log(mean) + (u - ones) * math.log(1 - mean)
            best = kl.mixture_cost(np.full(u + 1, float(u)), ones)
            p = ones / u
            with np.errstate(divide="ignore", invalid="ignore"):
                sup = np.nan_to_num(ones * np.log(p)) + np.nan_to_num((u - ones) * np.log(1 - p))
            beyond = sup - best - log_l >= math.log(1 + share * (1 / alpha - 1))
            out = beyond & (p < mean)  # then every bound of the iteration is below the mean
            levels = np.full(u + 1, -math.log(alpha))
            _, high = sides.mixture_ends(np.full(u + 1, float(u)), ones)(levels, levels)
            assert not ((high < mean) & ~out).any()
            crossed += weights[high < mean].sum()
            weights = np.where(high < mean, 0.0, weights)
        assert crossed <= alpha
        assert crossed >= alpha / 8 or mean != 0.5  # and it is not loose


def test_the_mixture_on_one_side_increases():
    """The lemma, numerically: E(m) of the alternatives below m, on all of (0, 1)."""
    for u, ones in [(1, 0), (3, 2), (40, 1), (500, 499), (77, 30)]:
        q = (np.arange(4000) + 0.5) / 4000  # E is the average of L(p)/L(m) with F(p) = q F(m)
        found = []
        for m in np.linspace(0.001, 0.999, 400):
            p = np.sin(q * math.asin(math.sqrt(m))) ** 2
            log = ones * np.log(p / m) + (u - ones) * np.log((1 - p) / (1 - m))
            found.append(np.logaddexp.reduce(log) - math.log(q.size))
        assert (np.diff(found) >= -1e-6).all()


@pytest.mark.parametrize("items", [1, 2, 5, 6, 13])
def test_bounds_of_a_finite_set_are_crossed_no_more_often_than_their_level_says(items):
    """Exactly, over all orders: the number of ones among the first t is a Markov chain."""
    for alpha in (0.05, 0.3, 0.9):
        level = np.full(1, -math.log(alpha))
        for k in range(items + 1):
            weights, missed = {0: 1.0}, [0.0, 0.0]
            alive = {0: (1.0, 1.0)}
            for t in range(1, items + 1):
                more = {}
                for ones, pair in alive.items():
                    right = (k - ones) / (items - t + 1)
                    for x, chance in ((1, right), (0, 1 - right)):
                        if chance > 0:
                            old = more.get(ones + x, (0.0, 0.0))
                            both = zip(old, pair, strict=True)
                            more[ones + x] = tuple(a + chance * b for a, b in both)
                alive = {}
                for ones, pair in more.items():
                    low, high = finite.side_ends(*np.array([[t], [ones]]), items)(level, level)
                    bad = low[0] > k, high[0] < k
                    missed = [m + b * w for m, b, w in zip(missed, bad, pair, strict=True)]
                    alive[ones] = tuple(0.0 if b else w for b, w in zip(bad, pair, strict=True))
            assert weights and max(missed) <= alpha
        ends = finite.side_ends(*np.array([[items], [k]]), items)(level, level)
        assert ends[0][0] == ends[1][0] == k  # of a known arm


def first_levels(arms):
    """Return the level of a bisection at which each of some arms fails, by definition."""
    rng = np.random.default_rng(8)
    return rng.integers(0, 20, arms).astype(float) + rng.random(arms)


@pytest.mark.parametrize("k", [1, 3, 11, 12, 13])
def test_an_arm_is_settled_up_to_the_level_at_which_k_others_are_above_it(k):
    """Lower bounds 10 - level + limit, the arm's upper bound 10: above it below their limit."""
    limits = first_levels(12)
    ends = sides.Ends(
        13, lambda arms, levels: np.append(limits, 0.0)[arms] + 10 - levels,
        lambda arms, levels: np.full(arms.size, 10.0),
    )

    class Plain(Levels):
        """The same level for all bounds."""

        above = below = lambda self, level: np.full(self.n, level)  # noqa: E731

    found = sides.settled_level(Plain(13, k, 13, {}), ends, 12, np.arange(12))
    wanted = np.sort(limits)[-k] if k <= 12 else NEVER
    assert found == pytest.approx(wanted, abs=2 * sides.PRECISION)


def test_one_pair_has_the_level_of_all():
    """The same number, to the last bit, as a search that looks at all pairs at every level."""
    rng = np.random.default_rng(9)
    for _ in range(200):
        slopes, limits = rng.uniform(0.1, 9, 30), rng.uniform(-0.05, 1, 30)
        limits *= 10 ** rng.uniform(0, 3)

        def excess(level):
            return slopes * (level - limits)  # noqa: B023

        found = sides.level_of_all(
            lambda level: excess(level).argmax(),  # noqa: B023
            lambda pair, level: excess(level)[pair] <= 0,  # noqa: B023
        )
        assert found == sides.largest_level(lambda level: excess(level).max() <= 0)  # noqa: B023


def spent(n, k, first, withdrawn, level=3.0):
    """The levels in force of all arms, as shares of delta: above and below."""
    levels = Levels(n, k, first, withdrawn)
    return [np.exp(level - ends(level)) for ends in (levels.above, levels.below)]


def test_all_levels_that_are_ever_needed_sum_to_at_most_delta():
    """Of the proof's event G: ranks up to k, k + s, k - r + 1 of the start, arms that join."""
    for first, k in [(2, 1), (5, 2), (9, 8), (200, 1), (40, 20)]:
        above, below = spent(first, k, first, {})
        total = k * above[0] + (first - k) * below[0]
        gone = [dict.fromkeys(range(w), NEVER) for w in range(1, first - k + 1)]
        total += sum(spent(first, k, first, some)[0][0] for some in gone)
        joins = 400
        total += sum(spent(first + j, k, first, {})[1][0] for j in range(1, k + 1))
        above, below = spent(first + joins, k, first, {})
        total += above[first:].sum() + below[first:].sum()
        assert 0.9 < total <= 1


def test_settled_arms_are_free_and_levels_never_rise_again():
    n, k, level = 9, 2, math.log(20)
    settled = Levels(n, k, n, {3: level, 4: level + 1}).above(level)[0]
    assert settled == Levels(n, k, n, {}).above(level)[0]
    assert Levels(n, k, n, {3: level, 4: level + 1}).above(level + 0.5)[0] > settled + 0.5
    before = settled
    for w in range(1, 8):
        gone = dict.fromkeys(range(w), NEVER)
        now = Levels(n, k, n, gone).above(level)[0]
        assert now >= before
        before = now
    joined = [Levels(n + j, k, n, {}).below(level)[0] for j in range(6)]
    assert (np.diff(joined) >= 0).all()


def test_a_certificate_says_what_evidence_says_after_withdrawals_and_joins():
    """Evidence is at most delta as soon as the rule stops, for all forms."""
    rng, ended = np.random.default_rng(3), 0
    for trial in range(9):
        epsilon, delta = float(rng.choice([0.0, 0.1])), float(rng.choice([0.05, 0.3, 0.8]))
        make = topk.KLLUCB if trial % 3 else topk.BettingLUCB
        with pytest.warns(match="delta") if delta > 0.5 else np.errstate():
            session = make(int(rng.integers(1, 3)), epsilon, delta).start(5)
        means = np.array([0.95, 0.8, 0.3, 0.2, 0.05, 0.5, 0.9])
        for step in range(3000):
            if session.done:
                break
            arms, _ = session.ask()
            session.tell(arms, (rng.random(arms.size) < means[arms]).astype(float))
            if step in (10, 40) and not session.done and session.n < 7:
                session = session.with_arms(1)
            elif step in (25, 60) and not session.done:
                present = np.setdiff1d(range(session.n), session.withdrawn)
                if present.size > session.strategy.k + 1:
                    session.withdraw(int(rng.choice(present)))
        ended += session.certified
        if session.certified:
            assert session.evidence() <= delta
            assert session.report().undecided_with.sum() == 0
            assert topk.resume(session.state()).evidence() == session.evidence()
    assert ended > 5
