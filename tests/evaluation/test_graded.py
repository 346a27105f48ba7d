"""Bets on graded cells without replacement: against a plain transcription and by enumeration."""

import math
from fractions import Fraction
from itertools import combinations_with_replacement, permutations, product

import numpy as np
import pytest

import topk
import topk_eval
from topk_eval.rows import STEPS, Row

VALUES = (0.0, 0.5, 1.0)


def capital(cells, items, total, odds=None):
    """Return Up of the module, from its description; exact for fractions."""
    odds = odds or [Fraction(2) ** (5 - j) for j in range(16)]
    found = Fraction(0)
    for o in odds:
        f, product_, before = o / (1 + o), Fraction(1), Fraction(0)
        for i, x in enumerate(cells):
            left = Fraction(total) - before
            if left < 0 or (left == 0 and x > 0):
                return math.inf
            ratio = Fraction(x) * (items - i) / left if x else 0
            product_ *= 1 - f + f * ratio
            before += Fraction(x)
        found += product_
    return math.inf if total < before else found / len(odds)


def bounds_of(cells, items, delta):
    """Return the lower bound of the total after each of the cells."""
    row, found = Row(items, math.log(1 / delta)), []
    for cell in cells:
        row.extend(np.array([cell]))
        found.append(row.low)
    return found


def test_the_capital_is_that_of_its_description():
    rng = np.random.default_rng(0)
    for items in (1, 3, 20, 45):
        cells = rng.choice([0, 0.25, 0.5, 1], items)
        for size in range(items):
            row = Row(items, 1.0)
            row.add(cells[:size])
            total = float(rng.integers(1, 4 * items + 1)) / 4
            expected = capital(cells[:size].tolist(), items, total)
            if total <= cells[:size].sum():
                assert row.largest_log_capital(total) == math.inf
            else:
                assert row.log_capital(total) == pytest.approx(math.log(expected), abs=1e-9)
                every = [capital(cells[:s].tolist(), items, total) for s in range(size + 1)]
                largest = math.log(max(every))
                assert row.largest_log_capital(total) == pytest.approx(largest, abs=1e-9)


def test_the_bound_is_where_the_capital_reaches_the_level():
    rng = np.random.default_rng(1)
    for delta in (0.05, 0.4):
        cells, items = rng.random(60), 60
        row, worst = Row(items, -math.log(delta)), 0
        for t, cell in enumerate(cells[:-1], 1):
            row.extend(np.array([cell]))
            assert row.low >= max(worst, cells[:t].sum() - 1e-12)
            worst = row.low
            if row.step:
                reached = row.largest_log_capital(row.step / STEPS * items)
                assert reached >= -math.log(delta)
            above = (row.step + 1) / STEPS * items
            assert above < row.total or row.largest_log_capital(above) < -math.log(delta) + 1e-6


@pytest.mark.parametrize("items", [2, 3, 4, 5, 6])
def test_in_at_most_delta_of_all_orders_a_bound_is_ever_wrong(items):
    """All orders of all rows with three values; both sides, since 1 - x is such a row too."""
    worst = dict.fromkeys((0.05, 0.3, 0.9), 0.0)
    for row in combinations_with_replacement(VALUES, items):
        orders = sorted(set(permutations(row)))  # each as likely as the others
        for delta in worst if items < 6 else (0.3,):
            missed = sum(max(bounds_of(x, items, delta)) > sum(row) + 1e-9 for x in orders)
            assert missed <= delta * len(orders), row
            worst[delta] = max(worst[delta], missed / len(orders))
    assert worst[0.9] > 0.2 or items in (2, 3, 6)  # the bound is not far too long


def test_ville_holds_exactly_for_the_capital_at_the_true_total():
    odds = [Fraction(4), Fraction(1, 2)]
    for items in (3, 4):
        for row in combinations_with_replacement((0, Fraction(1, 4), Fraction(1, 2), 1), items):
            total, orders = sum(row), list(permutations(row))
            tops = sorted(max(capital(x[:s], items, total, odds) for s in range(items + 1))
                          for x in orders)
            for at, top in enumerate(tops):
                assert top * (len(tops) - at) <= len(tops)


def test_refuting_a_mean_of_zero_would_refute_exact_ties():
    """At mu = 0 a cell of 0 is possible: 15 of 56 orders would be refuted, wrongly."""
    rows = [(0, 1, 1, 0, 0, 1, 0, 0)]  # zeros at the end leave a mean of 0
    orders = set(permutations(rows[0]))
    wrong = sum(x[-2:] == (0, 0) for x in orders)  # two cells are asked where nothing is left
    assert (wrong, len(orders)) == (20, 56)
    assert all(capital(x, 8, 3) < math.inf for x in orders)


def test_the_capital_depends_on_the_order():
    one = [Fraction(1)]
    assert capital((1, Fraction(1, 2)), 3, 2, one) == Fraction(5, 4)
    assert capital((Fraction(1, 2), 1), 3, 2, one) == Fraction(49, 48)


def test_missing_cells_only_lower_the_bounds():
    for row in product(VALUES, repeat=4):
        whole = bounds_of(row, 5, 0.3)
        for mask in product((0, 1), repeat=4):
            filled = bounds_of([x * m for x, m in zip(row, mask, strict=True)], 5, 0.3)
            assert (np.array(filled) <= np.array(whole) + 1e-12).all()


def test_complete_rows_of_equal_grades_have_equal_bounds_in_every_order():
    rng, ends = np.random.default_rng(3), set()
    grades = rng.random(50).round(2)
    for _ in range(50):
        row = Row(50, 3.0)
        row.add(rng.permutation(grades))
        ends.add(row.low)
    assert len(ends) == 1


def test_exact_ties_of_grades_end_and_are_certified():
    rng = np.random.default_rng(4)
    grades = rng.random(30).round(2)
    models = topk_eval.TestSet([rng.permutation(grades) for _ in range(3)])
    for seed in range(3):
        outcome = topk.run(topk.BettingLUCB(1, 0, 0.3), models, rng=seed)
        assert outcome.certified and outcome.evidence() == 0
        assert outcome.total_pulls >= 60


def test_known_up_to_missing_cells_is_open():
    """Both values are in [1, 2]; whatever is named is wrong for some completion."""
    models = topk_eval.TestSet([[1, np.nan], [1, np.nan]])
    outcome = topk.run(topk.BettingLUCB(1, 0, 0.05), models, rng=0)
    assert (outcome.certified, outcome.stopped, outcome.evidence()) == (False, "open", 1.0)
    found = topk.run(topk.BettingLUCB(1, 0.5, 0.05), models, rng=0)
    assert found.certified and found.stopped == "rule"


def test_certificates_hold_for_every_completion():
    rng = np.random.default_rng(5)
    for seed in range(20):
        cells = np.where(rng.random((3, 20)) < [[0.9], [0.5], [0.3]], 1.0, 0.0)
        gaps = rng.random((3, 20)) < 0.15
        models = topk_eval.TestSet(np.where(gaps, np.nan, cells))
        outcome = topk.run(topk.BettingLUCB(1, 0, 0.2), models, rng=seed)
        worst = np.where(gaps, 0, cells).sum(axis=1)
        best = np.where(gaps, 1, cells).sum(axis=1)
        if outcome.certified and outcome.evidence() == 0:
            rest = np.delete(best, outcome.selected)
            assert worst[outcome.selected].min() >= rest.max()
        assert outcome.stopped in ("rule", "open")


def test_cells_left_out_change_what_is_compared_and_a_warning_says_so():
    cells = np.array([[1, 1, 1, np.nan, 0], [1, 0, 0, 1, 0]])
    with pytest.warns(UserWarning, match="different items"):
        models = topk_eval.TestSet(cells, missing="fixed")
    assert models.means.tolist() == [0.75, 0.4]
    outcome = topk.run(topk.BettingLUCB(1, 0, 0.05), models, rng=0)
    assert outcome.certified and outcome.selected.tolist() == [0]
    assert outcome.pulls.tolist() <= [4, 5]


def test_evidence_knows_which_means_no_completion_has():
    """With 0/1 cells a model's largest possible mean may be the smallest of another one."""
    for run in range(20):
        rng = np.random.default_rng([3, run])
        rates = rng.uniform(0.4, 0.9) + rng.uniform(-0.05, 0.05, 5)
        cells = (rng.random((5, 97)) < rates[:, None]).astype(float)
        outcome = topk.run(topk.BettingLUCB(2, 0, 0.1), topk_eval.TestSet(cells), rng=run)
        assert outcome.certified and outcome.evidence() <= 0.1


def test_certified_implies_evidence_of_at_most_delta():
    rng, small = np.random.default_rng(6), 0
    for seed in range(15):
        grades = rng.beta([[6], [5], [4], [2]], [[2], [3], [4], [5]], (4, 60))
        strategy = topk.BettingLUCB(2, [0.0, 0.05][seed % 2], [0.05, 0.3][seed // 8])
        outcome = topk.run(strategy, topk_eval.TestSet(grades * 10, bounds=(0, 10)), rng=seed)
        assert outcome.certified and outcome.evidence() <= strategy.delta
        small += outcome.evidence() > strategy.delta / 3
        assert outcome.evidence(9.9) <= outcome.evidence()
    assert small > 5  # evidence is about as strong as the rule


def test_grades_cost_far_less_than_asking_everything():
    grades = topk_eval.data.graded_models(rng=0)
    outcome = topk.run(topk.BettingLUCB(3, 0, 0.05), topk_eval.TestSet(grades), rng=0)
    assert outcome.certified and outcome.total_pulls < 0.5 * grades.size


def test_a_strategy_that_does_not_take_the_cells_names_the_one_that_does():
    grades, gaps = topk_eval.TestSet([[0.5, 1], [0, 1]]), topk_eval.TestSet([[1, np.nan], [0, 1]])
    for models in (grades, gaps):
        for strategy in (topk.KLLUCB(1, 0, 0.1), topk.TopTwo(1, 0, 0.1)):
            with pytest.raises(ValueError, match="BettingLUCB"):
                topk.run(strategy, models, rng=0)
        assert topk.run(topk.BettingLUCB(1, 0, 0.1), models, rng=0).total_pulls <= 4
    with pytest.raises(ValueError, match="missing"):
        topk.run(topk.Uniform(1, 4), gaps, rng=0)
    outcome = topk.run(topk.Uniform(1, 4), grades, rng=0)
    with pytest.raises(ValueError, match="BettingLUCB"):
        outcome.evidence()
    with pytest.raises(ValueError, match="bounds"):
        topk_eval.TestSet([[5, 1], [0, 1]])
    assert topk_eval.TestSet([[5, 1], [0, 1]], bounds=(0, 5)).reward_range.graded


def test_zero_one_cells_with_bets_cost_about_as_many_as_with_counts():
    right = (np.random.default_rng(7).random((6, 300)) < np.linspace(0.9, 0.5, 6)[:, None]) * 1
    models, pulls = topk_eval.TestSet(right), {}
    for strategy in (topk.BettingLUCB(2, 0, 0.05), topk.KLLUCB(2, 0, 0.05)):
        reps = topk.replicate(strategy, models, 5, seed=1)
        pulls[type(strategy).__name__] = reps.total_pulls.mean()
    assert 0.8 < pulls["BettingLUCB"] / pulls["KLLUCB"] < 1.2
