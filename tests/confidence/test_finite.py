"""Intervals and evidence of a finite test set: against exact enumeration and exact numbers."""

import itertools
import math
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from topk.confidence import confidence, finite

# Large ones, too: exact statements hold for all.
pytestmark = pytest.mark.filterwarnings("ignore:delta = .* is the probability of failure")


def falling(x, j):
    """x (x - 1) ... (x - j + 1)."""
    return math.prod(range(x - j + 1, x + 1))


def likelihood(k, t, ones, items):
    """Return the exact probability of one sequence of t results with this number of ones."""
    return Fraction(falling(k, ones) * falling(items - k, t - ones), falling(items, t))


def mixture(t, ones):
    """Return KT exactly, as the product of Krichevsky and Trofimov's estimates."""
    found, seen = Fraction(1), [0, 0]
    for result in [1] * ones + [0] * (t - ones):
        found *= (seen[result] + Fraction(1, 2)) / (sum(seen) + 1)
        seen[result] += 1
    return found


def set_of(t, ones, items, delta):
    """Return every k in the interval, by its definition in exact numbers."""
    least = delta * mixture(t, ones)
    return [k for k in range(ones, items - (t - ones) + 1)
            if likelihood(k, t, ones, items) >= least]


SMALL = [(t, ones, items) for items in (1, 2, 3, 5, 8, 13, 21) for t in range(items + 1)
         for ones in range(t + 1)]


@pytest.mark.parametrize("delta", [Fraction(1, 1000), Fraction(1, 20), Fraction(3, 10),
                                   Fraction(9, 10)])
def test_the_interval_agrees_with_exact_likelihoods(delta):
    for t, ones, items in SMALL:
        inside = set_of(t, ones, items, delta)
        assert inside == list(range(inside[0], inside[-1] + 1))  # neighbours
        low, high = confidence.interval(t, ones, float(delta), items=items)
        assert (low, high) == (inside[0], inside[-1])
        if t == items:
            assert low == high == ones


def test_an_end_exactly_at_the_level_is_inside():
    """Rounding widens the interval: k stays in it at the level delta = P_k / KT."""
    for t, ones, items in SMALL:
        for k in range(ones, items - (t - ones) + 1):
            delta = likelihood(k, t, ones, items) / mixture(t, ones)
            if delta < 1:
                low, high = confidence.interval(t, ones, float(delta), items=items)
                assert low <= k <= high


def walks(k, items):
    """Yield every order of k ones among N results; all are equally likely."""
    for places in itertools.combinations(range(items), k):
        yield np.isin(np.arange(items), places).astype(np.int64)


@pytest.mark.parametrize("items", range(1, 7))
@pytest.mark.parametrize("delta", [0.02, 0.05, 0.1, 0.2, 0.3, 0.5, 0.7, 0.9])
def test_over_all_orders_the_interval_ever_misses_with_probability_delta_at_most(items, delta):
    pulls = np.arange(items + 1)
    for k in range(items + 1):
        missed = []
        for results in walks(k, items):
            low, high = confidence.interval(pulls, np.append(0, results.cumsum()), delta,
                                            items=items)
            missed.append((low > k).any() or (high < k).any())
        assert Fraction(sum(missed), len(missed)) <= Fraction(delta)


def test_over_all_orders_the_evidence_of_two_arms_is_wrong_with_probability_delta_at_most():
    """Both arms' orders, independent, and every pair of prefixes that a rule might look at."""
    items, pulls = 4, np.arange(5)
    for first, second in [(1, 2), (2, 3), (0, 1), (3, 4), (1, 3)]:
        least = []  # over all looks, of the evidence for the worse arm
        for a, b in itertools.product(walks(first, items), walks(second, items)):
            sums = np.append(0, a.cumsum()), np.append(0, b.cumsum())
            least.append(min(confidence.evidence([t, u], [sums[0][t], sums[1][u]], [0],
                                                 items=items)
                             for t in pulls[1:] for u in pulls[1:]))
        for delta in (0.05, 0.1, 0.2, 0.3, 0.5, 0.8):
            assert np.mean(np.array(least) <= delta) <= delta


def states(items):
    """A strategy for (pulls, ones) of a number of items."""
    return st.integers(0, items).flatmap(lambda t: st.tuples(st.just(t), st.integers(0, t)))


@given(st.integers(1, 2000).flatmap(lambda n: st.tuples(st.just(n), states(n))),
       st.floats(1e-12, 0.99))
def test_the_interval_is_between_what_is_known_to_be_right_and_not_known_to_be_wrong(given_, delta):
    items, (t, ones) = given_
    low, high = confidence.interval(t, ones, delta, items=items)
    assert ones <= low <= high <= items - (t - ones)


def test_many_items_stay_exact_at_the_ends():
    """A million items: a point in the end, and intervals that shrink about the mean before."""
    items = 10**6
    with pytest.raises(ValueError, match="^items must be an integer from 1 to 1000000, got"):
        confidence.interval(1, 1, 0.05, items=items + 1)
    t = np.array([0, 1, 1000, items // 2, items - 1, items])
    low, high = confidence.interval(t, t // 3, 0.05, items=items)
    assert (low[0], high[0]) == (0, items) and low[-1] == high[-1] == items // 3
    assert (np.diff(high - low) < 0).all() and (high - low)[-2] == 1
    assert (low <= t // 3 + (items - t)).all() and (high >= t // 3).all()


@given(st.data())
def test_evidence_is_the_least_delta_at_which_the_intervals_part(data):
    items = data.draw(st.integers(2, 40))
    n, k = data.draw(st.sampled_from([(2, 1), (4, 1), (5, 2)]))
    told = [data.draw(states(items)) for _ in range(n)]
    pulls, sums = (np.array(x) for x in zip(*((max(t, 1), s) for t, s in told), strict=True))
    chosen = np.argsort(-sums / pulls)[:k]
    epsilon = data.draw(st.sampled_from([0.0, 0.1, 0.25]))
    gone = data.draw(st.sets(st.integers(0, n - 1), max_size=1)) - {*chosen.tolist()}
    gone = gone if len(gone) < n - k else set()
    p = confidence.evidence(pulls, sums, chosen, epsilon, sorted(gone), items=items)

    def parted(delta):
        low, high = confidence.interval(pulls, sums, delta / n, items=items)
        others = [b for b in range(n) if b not in chosen and b not in gone]
        allowed = finite.tolerated_items(epsilon, items)
        return max(high[b] for b in others) <= low[chosen].min() + allowed

    if p < 1:
        assert parted(min(p * (1 + 1e-9) + 1e-250, 0.999999))
    if 1e-200 < p:
        assert not parted(p * (1 - 1e-9))


def test_evidence_is_rounded_to_the_safe_side():
    items = 12
    for (t, ones), (u, others) in itertools.product([(7, 7), (9, 8), (12, 10)], [(6, 0), (11, 3)]):
        inside, outside = ({k: likelihood(k, pulls, sums, items) / mixture(pulls, sums)
                            for k in range(sums, items - (pulls - sums) + 1)}
                           for pulls, sums in ((t, ones), (u, others)))
        exact = 2 * max(min(max((r for k, r in inside.items() if k <= x), default=0),
                            max((r for k, r in outside.items() if k > x), default=0))
                        for x in range(items))
        found = confidence.evidence([t, u], [ones, others], [0], items=items)
        assert exact < Fraction(found) < exact * (1 + Fraction(1, 10**12)) or found == exact == 0


def test_spare_items_are_not_lost_to_rounding():
    for items in range(1, 400):
        for whole in range(items):
            assert finite.tolerated_items(whole / items, items) == whole
    assert finite.tolerated_items(0.29, 100) == 29 and finite.tolerated_items(0.2899, 100) == 28


def test_impossible_values_are_refused_by_name():
    right = {"pulls": [3, 4], "sums": [1, 4], "delta": 0.1, "items": 5}
    wrong = {"pulls": [[6, 4], [1.5, 4], [-1, 4]], "sums": [[0.5, 4], [4, 4], [-1, 4]],
             "items": [0, -1, 2.0, "5", True, finite.MAX_ITEMS + 1], "delta": [0, 1]}
    for name, values in wrong.items():
        for value in values:
            with pytest.raises(ValueError, match=f"{name}|sums"):
                confidence.interval(**right | {name: value})
    with pytest.raises(ValueError, match="items"):
        confidence.interval([3], [1], 0.1, sigma=1.0, items=5)
    with pytest.raises(ValueError, match="items"):
        confidence.evidence([[3, 4], [2, 2]], [[1, 4], [0, 1]], [[1], [1]], items=5)
