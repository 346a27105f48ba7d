"""The paired bets: what is computed, and what it promises, by enumeration."""

import itertools
import math
from fractions import Fraction

import numpy as np
import pytest

from topk.confidence.paired import BETS, ROUNDING, WEIGHTS, bet, log_e_values


def test_the_weights_sum_to_one_and_no_bet_can_lose_everything():
    assert math.isclose(WEIGHTS.sum(), 1) and (WEIGHTS > 0).all()
    assert (BETS > 0).all() and (BETS < 1).all() and (np.diff(BETS) < 0).all()


@pytest.mark.parametrize("epsilon", [0.0, 0.1])
def test_the_e_values_of_a_table_are_those_of_its_items_one_by_one(epsilon):
    rng = np.random.default_rng(1)
    results, counted = rng.random((4, 300)), rng.random((4, 300)) < 0.8
    found = log_e_values(results, counted, epsilon)
    for a, b in itertools.permutations(range(4), 2):
        capitals, e = np.ones(BETS.size), 1.0
        for x, y in results[[a, b]].T[counted[[a, b]].all(axis=0)]:
            e = bet(capitals, x - y + epsilon)
        assert math.log(e) - 2 * ROUNDING * 300 <= found[a, b] <= math.log(e)
    assert (np.diag(found) <= 0).all()


def test_cells_that_do_not_count_are_not_looked_at():
    rng = np.random.default_rng(2)
    results, counted = rng.random((3, 40)), rng.random((3, 40)) < 0.5
    other = np.where(counted, results, np.nan)
    assert (log_e_values(results, counted) == log_e_values(other, counted)).all()


@pytest.mark.parametrize("values", [(-1, 1), (-1, 0, 1), (-0.5, -0.5, 1), (-1, 0.5, 0.5)])
def test_a_false_claim_reaches_a_level_with_at_most_its_probability(values):
    """All sequences of 8 equally likely differences with mean 0."""
    paths = np.array(list(itertools.product(values, repeat=8)))
    capitals, largest = np.ones((len(paths), BETS.size)), np.ones(len(paths))
    for d in paths.T:
        largest = np.maximum(largest, bet(capitals, d))
    for level in sorted({*largest.tolist()}):
        assert (largest >= level * (1 - 1e-12)).mean() <= 1 / level + 1e-12
    assert math.isclose((capitals @ WEIGHTS).mean(), 1)


def test_a_random_order_of_a_finite_pool_is_not_a_sample_of_a_population():
    """Five differences with sum 0, bet 1: the level 500/349 is reached in 7 of 10 orders."""
    pool, level = [Fraction(x, 349) for x in (151, 151, 151, -349, -104)], Fraction(500, 349)
    assert sum(pool) == 0
    orders = [*itertools.permutations(pool)]
    reached = sum(
        any(math.prod(1 + d for d in order[:t]) >= level for t in range(6)) for order in orders
    )
    assert Fraction(reached, len(orders)) == Fraction(7, 10) > 1 / level


def test_items_chosen_by_a_result_of_one_model_prove_what_is_false():
    """Equal models; b is asked only where a was wrong: pairs need a choice that ignores results."""
    rng, wrong = np.random.default_rng(3), 0
    for _ in range(50):
        results = (rng.random((2, 200)) < 0.5).astype(float)
        counted = np.array([np.ones(200, dtype=bool), results[0] == 0])
        wrong += log_e_values(results, counted)[1, 0] >= math.log(1 / 0.05)
    assert wrong == 50


def chance_of_a_wrong_set(level, first, second):
    """Return the exact probability that a wrong set is ever named, models a, b, c all equal.

    Each phase has three items on which its claims win or lose together; a claim doubles its whole
    capital or loses it.  A phase has two sides that win in turn, or one: wins of the other are
    harmless.
    """

    def phase(sides):
        """Return the probability that a side with wrong claims reaches the level."""
        flips = [*itertools.product((1, -1), repeat=3)]
        reached = sum(
            any(2**t >= level and all(x == side for x in flip[:t])
                for side in sides for t in (1, 2, 3))
            for flip in flips
        )
        return Fraction(reached, len(flips))

    return 1 - (1 - phase(first)) * (1 - phase(second))


def test_models_that_leave_or_join_make_other_models_neighbours():
    """The cut theorem's n - 1 is for models that are there all the time; delta = 1/2, n = 3.

    Leaving by plan: first b differs from a = c (naming {b} is wrong, and so is {a, c}), then b
    leaves, and a and c differ ({c} is wrong).  Joining by plan: first a and c, then b between them.
    """
    delta, both, one = Fraction(1, 2), (1, -1), (1,)
    assert chance_of_a_wrong_set(2 / delta, both, one) == Fraction(5, 8) > delta
    assert chance_of_a_wrong_set(2 / delta, one, both) == Fraction(5, 8) > delta
    assert chance_of_a_wrong_set(3 / delta, both, one) == Fraction(11, 32) <= delta
    assert chance_of_a_wrong_set(3 / delta, one, both) == Fraction(11, 32) <= delta
