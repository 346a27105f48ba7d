"""Sequential Halving: its rounds and their pulls."""

import math

import pytest

import topk
from topk.strategies.sequential_halving import halvings


@pytest.mark.parametrize("n", range(2, 70))
def test_the_rounds_are_as_many_as_the_logarithm_says(n):
    for k in range(1, n):
        assert halvings(n, k) == next(r for r in range(9) if k * 2**r >= n)


@pytest.mark.parametrize("k", [1, 3, 8])
def test_with_a_budget_that_divides_evenly_rounds_are_karnins(k):
    """floor(Q / (|S| R)) pulls of every arm in each of R rounds."""
    n, rounds = 8 * k, 3
    budget = n * rounds * 5
    session = topk.SequentialHalving(k, budget).start(n)
    for r in range(rounds):
        arms, counts = session.ask()
        assert arms.size == n // 2**r
        assert set(counts.tolist()) == {budget // (arms.size * rounds)}
        session.tell(arms, sums=counts * 1.0, counts=counts)
    assert session.done and session.pulls.sum() == budget


@pytest.mark.parametrize("reuse", [True, False])
def test_no_more_is_left_over_than_an_arm_of_the_last_round_could_share(reuse):
    for n in (2, 5, 13, 40):
        for k in range(1, n, 3):
            for budget in (n, n + 1, 7 * n + 3, 100 * n - 1):
                session = topk.SequentialHalving(k, budget, reuse).start(n)
                while not session.done:
                    arms, counts = session.ask()
                    session.tell(arms, sums=counts * 0.5, counts=counts)
                last = n
                while math.ceil(last / 2) > k:
                    last = math.ceil(last / 2)
                assert budget - last < session.pulls.sum() <= budget
