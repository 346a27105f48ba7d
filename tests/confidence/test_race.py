"""The race for the best arm: exact small cases, and that it is a function of the rows alone."""

import itertools
import math

import numpy as np
import pytest

from topk.confidence.paired import BETS, SLACK, bet
from topk.confidence.race import Race, prefixes, race_of

TABLES = [
    [[1, 1, 1, 0], [1, 1, 0, 1], [0, 0, 1, 1]],
    [[1, 1, 1, 1], [1, 0, 1, 0], [0, 0, 0, 0]],
    [[1, 0.5, 0.5, 0], [0.5, 0.5, 0.5, 0.5], [0, 0, 0.5, 1]],
]


def all_races(means, delta, rows):
    """Return the states of a race of independent coins after some rows: (probability, race)."""
    found, over = [(1.0, Race(len(means), delta))], []
    for _ in range(rows):
        after = {}
        for chance, race in found:
            for row in itertools.product((0.0, 1.0), repeat=len(means)):
                one = race.copy()
                table = np.repeat(np.array(row)[:, None], rows, axis=1)
                one.count(table, table, np.full(len(means), race.rounds + 1))
                more = math.prod(p if x else 1 - p for p, x in zip(means, row, strict=True))
                sums = one.sums[1] - one.sums[1][one.left].min()  # what decides from now on
                parts = one.left, one.used, one.capitals[one.left].round(12), sums[one.left]
                key = tuple(x.tobytes() for x in parts)
                after[key] = after.get(key, (0.0,))[0] + chance * more, one
        found = [x for x in after.values() if not x[1].over]
        over += [x for x in after.values() if x[1].over]
    return found + over


@pytest.mark.parametrize(
    ("means", "delta", "expected"),
    [
        ((0.5, 0.5, 0.5), 0.5, (0.0625, 0.020447, 0.015686, 14.824707)),
        ((0.5, 0.5, 0.5), 0.9, (0.490234, 0.542664, 0.320557, 9.070557)),
        ((0.75, 0.5, 0.25), 0.5, (0.007640, 0.163445, 0.160685, 14.164196)),
        ((0.75, 0.5, 0.25), 0.9, (0.237630, 0.858889, 0.691799, 6.583495)),
    ],
)
def test_three_coins_and_five_rows(means, delta, expected):
    """P(arm 0 has left), P(one is left), P(it is arm 0), and the mean number of cells."""
    chances, races = zip(*all_races(means, delta, 5), strict=True)
    facts = [
        (not x.left[0], x.left.sum() == 1, x.left.tolist() == [1, 0, 0], x.used.sum())
        for x in races
    ]
    assert np.allclose(np.array(chances) @ np.array(facts, dtype=float), expected, atol=6e-7)


@pytest.mark.parametrize(
    ("table", "delta", "expected"),
    [
        (TABLES[0], 0.5, (0, 0, 11.5)), (TABLES[0], 0.9, (12, 18, 6.5)),
        (TABLES[1], 0.5, (0, 24, 8.6667)), (TABLES[1], 0.9, (0, 24, 4.3333)),
        (TABLES[2], 0.5, (0, 0, 11.8333)), (TABLES[2], 0.9, (12, 16, 6.4167)),
    ],
)
def test_all_orders_of_four_items(monkeypatch, table, delta, expected):
    """Orders with the best gone, with one left, mean cells; before sums are known at the end."""
    monkeypatch.setattr(Race, "_settle", lambda *_: None)
    races = []
    for order in itertools.permutations(range(4)):
        rows = np.array(table, dtype=float)[:, order]
        races.append(race_of(rows, rows, delta, items=4))
    assert sum(not x.left[0] for x in races) == expected[0]
    assert sum(x.left.sum() == 1 for x in races) == expected[1]
    assert np.mean([x.used.sum() for x in races]) == pytest.approx(expected[2], abs=6e-5)


def test_the_better_one_of_two_rows_leaves_in_few_orders():
    """All pairs of rows of up to four items; the largest probabilities at delta .3, .5 and .9."""
    largest = np.zeros(3)
    for values, size in (((0, 0.5, 1), 2), ((0, 0.5, 1), 3), ((0, 1), 4)):
        columns = itertools.product(values, repeat=2)
        for rows in itertools.combinations_with_replacement(columns, size):
            if sum(x for x, _ in rows) < sum(y for _, y in rows):
                continue
            orders = [np.array(x, dtype=float).T for x in itertools.permutations(rows)]
            e = np.array([race_of(x, x, 1e-9, items=size).largest[0] for x in orders])
            largest = np.maximum(largest, [np.mean(e >= 1 / d) for d in (0.3, 0.5, 0.9)])
    assert np.allclose(largest, [0, 1 / 6, 2 / 3])


@pytest.mark.parametrize(
    ("rows", "chances", "depth", "expected"),
    [
        ([*itertools.product((0, 1), repeat=3)], [1 / 8] * 8, 5, (0.0117, 0.0625, 0.4961)),
        ([(1, 0, 0), (0, 1, 0), (0, 0, 1)], [1 / 3] * 3, 6, (0.0425, 0.1125, 0.5418)),
    ],
)
def test_any_opponents_chosen_beforehand_are_valid(rows, chances, depth, expected):
    """Three equal models, and the opponents at every step that are the worst for the first."""

    def reached(capitals, left, level, known):
        key = tuple(capitals.round(12)), left
        if left and key not in known:
            worst = 0.0
            for rival in (1, 2):
                total = 0.0
                for row, chance in zip(rows, chances, strict=True):
                    after = capitals.copy()
                    leaves = bet(after, row[rival] - row[0]) >= level
                    total += chance * (1 if leaves else reached(after, left - 1, level, known))
                worst = max(worst, total)
            known[key] = worst
        return known[key] if left else 0.0

    for delta, chance in zip((0.3, 0.5, 0.9), expected, strict=True):
        found = reached(np.ones(BETS.size), depth, SLACK / delta, {})
        assert found == pytest.approx(chance, abs=6e-5)
        assert found <= delta


def test_the_second_best_of_three_can_bet_for_the_best():
    """A race for two arms needs more: means .9, .5, .1, and the best is the second's opponent."""
    assert 1 + 1 * (0.9 - 0.5) == pytest.approx(7 / 5)
    rows = np.repeat([[0.9], [0.5], [0.1]], 40, axis=1)
    assert race_of(rows, rows, 0.05).left.tolist() == [True, False, False]


def equal(one, two):
    """Return whether two races have the same state, to the last bit."""
    return all(np.array_equal(x, vars(two)[name]) for name, x in vars(one).items())


def table(rng, kind):
    """Return random rows of three to five arms: 0/1 results or others."""
    means = rng.random((rng.integers(3, 6), 1))
    rows = rng.random((means.size, 150))
    return (rows < means).astype(float) if kind else rows * means


@pytest.mark.parametrize("ahead", [False, True])
def test_the_order_in_which_cells_come_changes_nothing(ahead):
    rng = np.random.default_rng(0)
    for kind in range(8):
        rows = table(rng, kind % 2)
        n, width = rows.shape
        whole = Race(n, 0.3, 0.9, ahead=ahead)
        whole.count(rows, rows, np.full(n, width))
        one, size = Race(n, 0.3, 0.9, ahead=ahead), np.zeros(n, dtype=np.int64)
        for arm in rng.permutation(np.repeat(np.arange(n), width)):
            size[arm] += 1
            known = np.where(np.arange(width) < size[:, None], rows, np.nan)
            one.count(known, known, size)
        assert equal(one, whole)
        assert (one.left.sum() == 1) == one.over
        assert ahead or equal(whole, race_of(rows, rows, 0.3, 0.9))


def test_the_leader_reads_on():
    """Of 17 arms the leader reads 4 results, then it is the one with the largest mean."""
    rows = np.tile([0.0, 1.0, 1.0, 1.0, 0.0, 1.0], (17, 1))
    race = Race(17, 0.05, ahead=True)
    assert race.needs().tolist() == [4] + [1] * 16
    assert race.holding(np.full(17, 3)).tolist() == [0]
    assert race.count(rows, rows, np.array([4] + [1] * 16)) == 1
    assert race.used.tolist() == [4] + [1] * 16 and race.leaders() == (0, 1)
    expected = [bet(np.ones(BETS.size), d) for d in (0 - 0.75, 0.75 - 0.0)]
    assert race.largest[:2] == pytest.approx([1.0, expected[1]]) and expected[0] < 1


def test_the_race_for_the_worst_is_that_of_the_mirrored_results():
    rng = np.random.default_rng(1)
    for items in (None, 150):
        for _ in range(10):
            rows, failed = table(rng, 1), rng.random(150) < 0.1
            low, high = np.where(failed, 0, rows), np.where(failed, 1, rows)
            worst = race_of(low, high, 0.3, worst=True, items=items)
            best = race_of(1 - high, 1 - low, 0.3, items=items)
            assert worst.leaders() == best.leaders() and worst.rounds == best.rounds
            assert (worst.left_at == best.left_at).all() and (worst.largest == best.largest).all()


def test_a_cell_that_has_not_come_stops_the_race():
    """Holes chosen by looking at the whole table choose no opponents.

    Ten equal arms and delta .3: in each of 200 tables, holes hit whoever leads before its misses.
    The race is that of the whole rows before the first hole of an arm that is left, so that the
    first arm leaves only if it would without holes.
    """
    rng, gone = np.random.default_rng(2), 0
    for _ in range(200):
        rows = (rng.random((10, 60)) < 0.5).astype(float)
        absent = (rng.random((10, 60)) < 0.02) & (rows < rows[0])
        race, size = race_of(rows, rows, 0.3, absent=absent), prefixes(absent)
        full = race_of(rows[:, : race.rounds], rows[:, : race.rounds], 0.3)
        assert equal(race, full)
        held = race.holding(size)
        assert race.over or race.rounds == 60 or (
            race.left[held].all() and absent[held, race.rounds].all() and held.size > 0)
        gone += not race.left[0]
    assert gone <= 93  # 200 times at most .3: more has probability below 1e-6


def test_holes_of_arms_that_have_left_are_not_looked_at():
    rows = np.array([[1.0] * 40, [1.0, 0.0] * 20, [0.0] * 40])
    whole = race_of(rows, rows, 0.05)
    assert whole.left.tolist() == [True, False, False] and whole.left_at.tolist()[0] == -1
    absent = np.arange(40) >= np.array([40, whole.left_at[1], whole.left_at[2]])[:, None]
    assert absent.any() and equal(race_of(rows, rows, 0.05, absent=absent), whole)


def test_a_failed_cell_is_the_worst_for_the_bet_and_a_half_in_the_sums():
    low, high = np.array([[1.0, 0], [1, 1], [0, 1]]), np.array([[1.0, 1], [1, 1], [0, 1]])
    race = race_of(low, high, 0.05)  # on the second item arm 0 failed; it leads with 1
    capitals = np.ones((3, BETS.size))
    for arm, gains in enumerate([(0, 0), (0, -1), (1, -1)]):
        for gain in gains:
            bet(capitals[arm], gain)
    assert np.allclose(race.capitals, capitals, rtol=1e-14)
    assert race.leaders() == (1, 0) and race.sums[1].tolist() == [1.5, 2.0, 1.0]


def test_absent_cells_of_a_pattern_that_was_fixed_are_left_out():
    rng = np.random.default_rng(3)
    rows, absent = table(rng, 1), rng.random(150) < 0.3
    absent = absent & (np.arange(len(rows)) > 0)[:, None]
    race = race_of(rows, rows, 1e-200, absent=absent, fixed=True)
    n, width = rows.shape
    capitals, largest = np.ones((n, BETS.size)), np.ones(n)
    for i in range(race.rounds):
        there = ~absent[:, :i]
        means = [x[t].mean() if t.any() else -1 for x, t in zip(rows[:, :i], there, strict=True)]
        first, second = np.argsort(-np.array(means), kind="stable")[:2]
        for b in range(n):
            rival = second if b == first else first
            if not (absent[b, i] or absent[rival, i]):
                largest[b] = max(largest[b], bet(capitals[b], rows[rival, i] - rows[b, i]))
    assert race.left.all() and race.rounds == width
    assert np.allclose(race.largest, largest, rtol=1e-12)


def test_evidence_is_at_most_delta_when_one_is_left_and_only_then():
    rng, ended = np.random.default_rng(4), 0
    for kind in range(60):
        rows = table(rng, kind % 2)
        race = race_of(rows, rows, 0.2, 0.9)
        assert (race.evidence() * SLACK <= 0.2 * (1 + 1e-15)) == (race.left.sum() == 1)
        assert race.left[race.leaders()[0]]
        ended += race.left.sum() == 1
    assert 10 < ended < 60


def test_if_all_would_leave_at_once_the_first_one_stays():
    """Two arms that exchange the lead and leave together, at a level that a single win reaches."""
    rows = np.array([[1.0, 0.0], [0.0, 1.0]])
    race = Race(2, 0.9)
    race.capitals *= 3  # as after an error, which is rare
    race.count(rows, rows, np.array([1, 1]))
    assert race.left.tolist() == [True, False] and race.over and race.leaders() == (0, -1)


def test_at_the_end_of_these_items_sums_decide_as_far_as_failed_cells_allow():
    rows = np.array([[1.0, 0, 1, 0], [0, 1, 0, 1], [0, 1, 0, 0]])
    race = race_of(rows, rows, 0.05, items=4)  # a tie goes to the first
    assert race.left.tolist() == [True, False, False] and race.evidence() == 0
    low, high = rows.copy(), rows.copy()
    high[1, 0] = 1  # failed
    assert race_of(low, high, 0.05, items=4).left.tolist() == [True, True, False]
    low[0, 1] = high[0, 1] = 1
    assert race_of(low, high, 0.05, items=4).left.tolist() == [True, False, False]
