"""The betting interval from count, sum and squares: definition, KT mixture, extreme numbers."""

import math

import numpy as np
import pytest

import topk
from topk.confidence import confidence
from topk.confidence.betting import betting_bounds
from topk.engine import jit

J = np.arange(400)
WEIGHTS = np.where(J < 20, 0.9 / 20, 0.1 / ((J - 19.0).clip(1) * (J - 18.0).clip(2)))
ODDS = 2.0 ** (9 - J)


def log_up(m, u, ones, squares):
    """ln of the mixture of bets on more than m, of all odds, as defined."""
    r = squares / ones
    terms = np.log(WEIGHTS) + ones / r * np.log1p(ODDS * r / m) - u * np.log1p(ODDS)
    return np.logaddexp.reduce(terms)


def log_mixture(m, u, ones, squares):
    """ln C(m), equation (2)."""
    kt = math.lgamma(ones + 0.5) + math.lgamma(u - ones + 0.5) - math.lgamma(u + 1)
    kt -= math.log(math.pi) + ones * math.log(m) + (u - ones) * math.log1p(-m)
    down = log_up(1 - m, u, u - ones, u - 2 * ones + squares)
    parts = kt - math.log(2), log_up(m, u, ones, squares) - math.log(4), down - math.log(4)
    return np.logaddexp.reduce(parts)


def rewards(rng):
    """Rewards of one of eight kinds, some tens or thousands of them."""
    n = int(10 ** rng.uniform(0.3, 3.5))
    kinds = (
        lambda: rng.random(n), lambda: rng.beta(*rng.uniform(0.2, 200, 2), n),
        lambda: (rng.random(n) < rng.random()).astype(float), lambda: np.full(n, rng.random()),
        lambda: rng.random(n) ** 9, lambda: rng.choice([0.0, 0.5, 1.0], n),
        lambda: np.where(rng.random(n) < 0.01, 1.0, 0.3), lambda: rng.random(n) * 1e-6,
    )
    return kinds[rng.integers(len(kinds))]()


def test_the_ends_are_on_the_safe_side_of_the_definition_and_close_to_it():
    rng = np.random.default_rng(1)
    for _ in range(400):
        x, level = rewards(rng), rng.uniform(2, 12)
        u, ones, squares = x.size, x.sum(), (x * x).sum()
        low, high = betting_bounds(float(u), ones, squares, level)
        assert 0 <= low <= ones / u <= high <= 1
        for end in (low, high):
            if 1e-9 < end < 1 - 1e-9 and 0 < ones < u:
                assert log_mixture(end, u, ones, squares) >= level - 1e-6
        inner = low + 0.06 * (high - low), high - 0.06 * (high - low)
        for m in inner:
            if 0 < ones < u and 0 < m < 1 and (x * (1 - x)).sum() > 0:
                assert log_mixture(m, u, ones, squares) < level + 1e-9
        wide = confidence.interval(u, ones, math.exp(-level) / 2)
        assert low >= wide[0] - 1e-9 and high <= wide[1] + 1e-9


def test_compiled_and_plain_bounds_agree():
    """On 10,000 random states, those at the edges among them."""
    rng = np.random.default_rng(2)
    compiled = jit.compiled(betting_bounds, None, "test", lean=True, store=False)
    pulls = np.floor(10 ** rng.uniform(0, 12, 10_000))
    ones = pulls * rng.choice([0.0, 1.0, 0.5, 1e-9, rng.random()], 10_000) * rng.random(10_000)
    ones[:2000] = np.where(rng.random(2000) < 0.5, pulls[:2000], 0.0)
    squares = ones * np.where(rng.random(10_000) < 0.3, 1.0, rng.uniform(ones / pulls, 1))
    squares[rng.random(10_000) < 0.1] = 0  # below what is possible: rounded up to it
    squares = np.maximum(squares, ones * ones / pulls)
    low, high = np.vectorize(betting_bounds)(pulls, ones, squares, 3.0)
    found = np.array([compiled(u, s, q, 3.0) for u, s, q in
                      zip(pulls, ones, squares, strict=True)])
    assert np.allclose(found[:, 0], low, rtol=1e-9, atol=1e-300)
    assert np.allclose(found[:, 1], high, rtol=1e-9)
    assert (low <= ones / pulls).all() and (ones / pulls <= high).all()


@pytest.mark.parametrize(
    "u, ones, squares, low, high",
    [
        (1, 0.5, 0.25, (0.0, 0.5), (0.5, 1.0)),
        (1000, 0.0, 0.0, (0.0, 0.0), (0.0, 0.02)),
        (1000, 1000.0, 1000.0, (0.98, 1.0), (1.0, 1.0)),
        (1000, 500.0, 250.0, (0.49, 0.5), (0.5, 0.51)),
        (10**12, 5e11, 2.6e11, (0.4999, 0.5), (0.5, 0.5001)),
        (100, 1e-198, 1e-398, (0.0, 1e-200), (0.0, 0.2)),
        (1000, 1e-320, 0.0, (0.0, 1e-300), (0.0, 0.02)),
    ],
)
def test_edges(u, ones, squares, low, high):
    found = betting_bounds(float(u), ones, squares, math.log(120))
    assert low[0] <= found[0] <= low[1] and high[0] <= found[1] <= high[1]


def test_an_arm_without_pulls_has_the_whole_interval():
    low, high = confidence.interval([0, 1000, 0], [0.0, 500.0, 0.0], 0.05, squares=[0, 250.0, 0])
    assert (low[[0, 2]] == 0).all() and (high[[0, 2]] == 1).all()
    assert 0.49 < low[1] < 0.5 < high[1] < 0.51


def test_squares_rounded_upwards_only_widen_the_interval():
    rng = np.random.default_rng(3)
    for _ in range(200):
        x = rewards(rng)
        u, ones, squares = float(x.size), x.sum(), (x * x).sum()
        if not 0 < ones < u:
            continue
        low, high = betting_bounds(u, ones, squares, 4.0)
        wider = betting_bounds(u, ones, min(ones, squares * 1.1), 4.0)
        assert wider[0] <= low + 1e-6 * low and wider[1] >= high - 1e-6


def test_incompatible_arguments_are_refused():
    for squares in (24.0, 51.0, math.nan):
        with pytest.raises(ValueError, match="^squares must be"):
            confidence.interval(100, 50, 0.05, squares=squares)
    with pytest.raises(ValueError, match="^squares must be omitted"):
        confidence.interval(100, 50, 0.05, sigma=1.0, squares=30)
    with pytest.raises(ValueError, match="^squares must be omitted"):
        confidence.interval(100, 50, 0.05, squares=50, items=200)


def test_a_session_wants_squares_of_sums_that_are_not_all_0_or_1():
    session = topk.BettingLUCB(1, 0.0, 0.1).start(3)
    session.tell([0, 1, 2], [0.5, 0.25, 1.0])  # single rewards have their squares
    with pytest.raises(ValueError, match="squares"):
        session.observe([0], sums=[1.5], counts=[4])
    session.observe([0, 1], sums=[1.5, 2.0], counts=[4, 2], squares=[0.8, 2.0])
    assert session.pulls.tolist() == [5, 3, 1]
    with pytest.raises(ValueError, match="^sigma must be"):
        topk.BettingLUCB(1, 0.0, 0.1).start(3, sigma=1.0)
    with pytest.raises(ValueError):
        topk.BettingLUCB(1, 0.0, 0.1).start((2, 3))


def test_bounds_rescale_squares_exactly():
    """Rewards from 0 to 10 give the same run as their tenths."""
    rng, grades = np.random.default_rng(4), [7.0, 6.0, 5.0]
    tenths = topk.BettingLUCB(1, 0.05, 0.1).start(3)
    whole = topk.BettingLUCB(1, 0.5, 0.1).start(3, bounds=(0, 10))
    while not whole.done:
        arms, counts = whole.ask()
        assert arms.tolist() == tenths.ask()[0].tolist()
        x = [np.clip(rng.normal(grades[arm], 1, count).round(), 0, 10)
             for arm, count in zip(arms, counts, strict=True)]
        sums, squares = [float(y.sum()) for y in x], [float((y * y).sum()) for y in x]
        whole.tell(arms, sums=sums, counts=counts, squares=squares)
        tenths.tell(arms, sums=np.array(sums) / 10, counts=counts, squares=np.array(squares) / 100)
    assert tenths.done and whole.selected.tolist() == tenths.selected.tolist() == [0]
    assert np.allclose(whole.intervals(), np.array(tenths.intervals()) * 10)


@pytest.mark.slow
def test_error_and_pulls_on_scores():
    """Near ties of four kinds of rewards: at most delta of certificates are wrong.

    With an error probability of at most .02, 33 errors or more in 600 runs have a probability
    below 1e-6.
    """
    beta = topk.BetaBandit([108, 106, 100, 90], [92, 94, 100, 110])
    rare = topk.ReplayBandit([[0.3] * 99 + [1.0], [0.3] * 100, [0.3] * 98 + [0.0] * 2])
    three = topk.ReplayBandit([[0.0, 0.5, 1.0], [0.0, 0.5, 0.9], [0.0, 0.5, 0.7]])
    for bandit in (beta, rare, three):
        strategy = topk.BettingLUCB(1, 0.0, 0.02)
        reps = topk.replicate(strategy, bandit, 600, seed=5, max_pulls=200_000)
        wrong = reps.certified & (reps.selected[:, 0, 0] != 0)
        assert wrong.sum() <= 32 and reps.certified.mean() > 0.9
