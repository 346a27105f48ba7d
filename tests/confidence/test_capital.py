"""The exact capital of bets: products, batches, bounds, and that they are crossed rarely."""

import json
import math
from fractions import Fraction

import numpy as np
import pytest

import topk
from topk.confidence import betting, capital, sides

RNG = np.random.default_rng(52)


def products_of(rewards, order=None):
    found = capital.Products()
    x = np.asarray(rewards, dtype=float)[order if order is not None else slice(None)]
    found.add(np.zeros(x.size, int), np.ones(x.size, int), x, x * x)
    return found


def logs_of(found):
    return capital.log_products(*found.of([0]))


@pytest.mark.parametrize("rewards", [[0.3], [0.0, 1.0], [0.25, 0.5, 0.0625] * 20, [1.0] * 60],
                         ids=["one", "two", "some", "ones"])
def test_products_are_those_of_the_rewards(rewards):
    """Held to fractions; the mantissas overflow several times."""
    logs = logs_of(products_of(rewards))[0]
    for j in (0, 7, 20, 29):
        c = Fraction(2) ** (20 - j)
        for place, side in ((j, rewards), (30 + j, [1 - x for x in rewards])):
            exact = math.prod(1 + c * Fraction(x) for x in side)
            shift = max(exact.numerator.bit_length() - exact.denominator.bit_length(), 0)
            expected = math.log(exact / Fraction(2) ** shift) + shift * math.log(2)
            assert logs[place] == pytest.approx(expected, rel=1e-12, abs=len(rewards) * 2.0**-51)


def test_products_do_not_depend_on_the_order_and_two_studies_multiply():
    x = RNG.beta(2, 3, 500)
    one, other = products_of(x), products_of(x, RNG.permutation(500))
    assert np.abs(logs_of(one) - logs_of(other)).max() <= 500 * 2.0**-50
    first, second = products_of(x[:200]), products_of(x[200:])
    both = first.of([0])
    capital.multiply_arms(*both, [0], *second.of([0]))
    assert np.abs(capital.log_products(*both) - logs_of(one)).max() <= 500 * 2.0**-50
    again = capital.Products()
    again.load(json.loads(json.dumps(first.dump())))
    assert (logs_of(again) == logs_of(first)).all()
    huge = np.full((1, 60), 2.0**511), np.full((1, 60), 3)
    capital.multiply_arms(*huge, [0], huge[0] * 2.0**20, huge[1].copy())
    logs = capital.log_products(*huge)
    assert np.isfinite(logs).all()
    assert logs[0, 0] == pytest.approx((511 + 531 + 6 * 512) * math.log(2))


def test_a_copy_of_products_shares_no_change():
    found = products_of([0.3])
    other = found.copy()
    before = logs_of(found)
    other.add([0, 2], [1, 1], [0.5, 0.5], [0.25, 0.25])
    assert (logs_of(found) == before).all() and (logs_of(other) > before).all()
    assert [part.shape for part in other.taken([])] == [(0, 60), (0, 60)]
    other.taken([0])
    assert [*other.rows] == [2] and not logs_of(other).any()


@pytest.mark.parametrize("law", ["beta", "coins", "constant", "grades"])
def test_a_batch_counts_less_than_its_rewards(law):
    """The least product that count, sum and squares allow; exact for zeros and ones."""
    for size in (2, 5, 60):
        x = {"beta": RNG.beta(3, 2, size), "coins": RNG.integers(0, 2, size) * 1.0,
             "constant": np.full(size, 0.4), "grades": RNG.integers(0, 11, size) / 10}[law]
        batch = capital.batch_log_products(*np.array([[size], [x.sum()], [(x * x).sum()]]))
        exact = logs_of(products_of(x))
        assert (batch <= exact + 1e-10 * size).all()
        if law in ("coins", "constant"):
            assert np.allclose(batch, exact, rtol=1e-6, atol=1e-6)


STATES = {
    "ones": np.ones(1000), "halves": np.full(1000, 0.5), "one reward": np.array([0.3]),
    "small variance": RNG.beta(57, 38, 300), "zeros and a one": np.append(np.zeros(999), 1.0),
    "coins": (RNG.random(500) < 0.3) * 1.0, "uniform": RNG.random(200),
    "small": RNG.random(300) / 1e4,
}  # fmt: skip


@pytest.mark.parametrize("name", STATES)
def test_a_rules_bounds_contain_those_of_all_terms(name):
    """Hence evidence, which uses all terms, is at most delta when the rule stops."""
    x = STATES[name]
    found, state = products_of(x).of([0]), (float(x.size), x.sum(), (x * x).sum())
    logs = capital.log_products(*found)
    u, ones = np.array([state[0]]), np.array([state[1]])
    for level in (1.0, math.log(120), 40.0):
        levels = np.array([level])
        low, high = capital.capital_ends(u, ones, logs)(levels, levels)
        more = level + sides.SLACK

        def bounds(terms):
            given = *state, *found, 0, more, terms  # noqa: B023
            return capital.capital_low(*given), capital.capital_high(*given)

        mine = bounds(np.zeros(30))
        assert mine[0] <= low[0] <= state[1] / state[0] <= high[0] <= mine[1]
        if level > 2 and name != "zeros and a one":
            assert mine[1] - mine[0] <= 1.1 * (high[0] - low[0])
        assert bounds(np.ones(30)) == mine  # a function of the state
        within = sides.mixture_ends(u, ones)(levels + math.log(2), levels + math.log(2))
        assert low[0] >= within[0][0] - 1e-9 and high[0] <= within[1][0] + 1e-9
        two = capital.capital_interval(u, ones, logs, level)
        three = betting.betting_bounds(*state, level)
        assert two[0][0] >= three[0] - 0.02 * state[1] / state[0]  # its bets have other weights
        assert two[0][0] <= low[0] + 1e-9 and two[1][0] >= high[0] - 1e-9


@pytest.mark.parametrize("law", ["coins", "three values", "beta", "rare"])
def test_bounds_are_crossed_no_more_often_than_their_level_says(law):
    """W at the mean of 200 walks of 100 rewards; of 200 at level 0.3 more than 101 are too many.

    A binomial number with n = 200 and p = 0.3 exceeds 101 with probability below 1e-9.
    """
    draw = {"coins": (lambda: (RNG.random((200, 100)) < 0.2) * 1.0, 0.2),
            "three values": (lambda: RNG.integers(0, 3, (200, 100)) / 2, 0.5),
            "beta": (lambda: RNG.beta(0.1, 0.9, (200, 100)), 0.1),
            "rare": (lambda: np.where(RNG.random((200, 100)) < 0.05, 1.0, 0.3), 0.335)}[law]
    x, mean = draw[0](), draw[1]
    levels, alive = np.full(200, -math.log(0.3)), np.ones((2, 200), dtype=bool)
    logs, sums = np.zeros((200, 60)), np.zeros(200)
    for t in range(100):
        ones = x[:, t]
        sides_of_x = np.outer(ones, capital.ODDS), np.outer(1 - ones, capital.ODDS)
        logs += np.log1p(np.hstack(sides_of_x))
        sums += ones
        if t % 3 == 0:
            ends = capital.capital_ends(np.full(200, t + 1.0), sums, logs)(levels, levels)
            alive &= np.array([ends[0] <= mean, ends[1] >= mean])
    assert (~alive).sum(axis=1).max() <= 101


def test_a_session_counts_single_rewards_exactly_and_says_what_three_numbers_cost():
    x = RNG.beta(57, 38, (2, 200)) * [[1.0], [0.9]]
    single = topk.BettingLUCB(1, 0.0, 0.05).start(2).observe(np.repeat([0, 1], 200), x.ravel())
    sums, squares = x.sum(axis=1), (x * x).sum(axis=1)
    pooled = topk.BettingLUCB(1, 0.0, 0.05).start(2)
    pooled.observe([0, 1], sums=sums, counts=[200, 200], squares=squares)
    ends = [session.snapshot().deciding_ends() for session in (single, pooled)]
    widths = [(high - low).mean() for low, high in ends]
    assert 1.2 * widths[0] < widths[1] < 2.5 * widths[0]
    assert (single.snapshot().log_products >= pooled.snapshot().log_products - 1e-9).all()
    assert topk.resume(single.state()).evidence() == single.evidence()
    assert topk.confidence.evidence([200, 200], sums, [0], squares=squares, method="sides") \
        == pytest.approx(pooled.evidence(), rel=0.2)
