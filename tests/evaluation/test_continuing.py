"""Evaluations that go on with known results: what counts, in which order, and who refuses."""

import itertools
import math

import numpy as np
import pandas as pd
import pytest

import topk
import topk_eval
from topk_eval import Evaluation, Results
from topk_eval.pairs import PairsOfItems, Told
from topk_eval.rows import Row

NAN = np.nan


def tidy_of(scores, models=None, items=None):
    """Return a table with a row for each score that is not nan."""
    stacked = pd.DataFrame(scores, models, items).stack().rename("score")
    return stacked.rename_axis(["model", "item"]).dropna().reset_index()


def table(n=4, items=30, seed=0):
    """Return scores of models (n, N), the best first, with failed and absent cells."""
    rng = np.random.default_rng(seed)
    scores = (rng.random((n, items)) < np.linspace(0.9, 0.3, n)[:, None]).astype(float)
    tidy = tidy_of(scores, list("abcdefgh"[:n]), [f"q{i}" for i in range(items)])
    tidy.loc[rng.random(len(tidy)) < 0.05, "score"] = NAN
    return tidy[rng.random(len(tidy)) < 0.8]


def asked(results):
    """Return the cells of results that were asked, by names."""
    arms, items = np.nonzero(~results.absent)
    return {(results.models[a], results.items[i]) for a, i in zip(arms, items, strict=True)}


def test_an_order_goes_on_and_further_items_are_drawn():
    order = [f"q{i}" for i in np.random.default_rng(1).permutation(30)]
    results = Results(table(), order=order)
    more = [f"r{i}" for i in range(40)]
    study = Evaluation(topk.PairedBetting(2, 0, 0.05), results=results, items=more, rng=3)
    again = Evaluation(topk.PairedBetting(2, 0, 0.05), results=results, items=more[::-1], rng=3)
    names = [study.item_names[i] for i in study._cells.order[0]]
    assert names[:30] == order and sorted(names[30:]) == sorted(more) != names[30:]
    assert names == [again.item_names[i] for i in again._cells.order[0]]
    assert study.pulls.sum() == (~results.absent & ~results.failed).sum()
    models, items = study.ask(400, plain=True)
    cells = [*zip(models, items, strict=True)]
    assert not {*cells} & asked(results)
    first = [item for model, item in cells if model == "a"]
    holes = [x for x in order if ("a", x) not in asked(results)]
    assert first[: len(holes)] == holes  # they come first
    found = topk_eval.tiers(results, k=2)
    assert math.isclose(found.evidence(2), study.evidence(), rel_tol=1e-9)


def test_without_an_order_all_items_that_were_asked_are_a_first_block():
    tidy = table()
    shuffled = tidy.sample(frac=1, random_state=3)
    more = [f"r{i}" for i in range(40)]
    strategy = topk.PairedBetting(2, 0, 0.05)
    studies = [Evaluation(strategy, results=Results(x), items=more, rng=3)
               for x in (tidy, shuffled)]
    results = Results(tidy)
    for study in studies:
        assert study.engine.strategy.first == 30
        found = topk_eval.tiers(results, k=2)
        assert math.isclose(found.evidence(2), study.evidence(), rel_tol=1e-9)
        assert "no order of the first 30 items" in study.summary()
        assert {*study.ask(500, plain=True)[1]} & {*more}
    of_a = [[x.item_names[i] for i in x._cells.order[0]] for x in studies]
    assert of_a[0] == of_a[1]


def test_for_one_model_pairs_are_compared_without_an_order_and_a_race_goes_on_with_one():
    tidy = table()
    pairs = Evaluation(topk.PairedBetting(1, 0, 0.05), results=Results(tidy), items=["r0", "r1"])
    assert pairs.engine.table.race is None
    race = Evaluation(topk.PairedBetting(1, 0, 0.05),
                      results=Results(tidy, order=[f"q{i}" for i in range(30)]))
    assert race.engine.table.race.rounds == topk_eval.tiers(
        Results(tidy, order=[f"q{i}" for i in range(30)]), k=1)._source.race.rounds


def test_an_empty_cell_of_a_wide_table_can_be_asked_in_a_race_and_has_failed_elsewhere():
    wide = pd.DataFrame([["1", "", "1"], ["0", "1", "1"], ["0", "1", "0"]], list("abc"),
                        list("xyz"))
    results = Results.from_list(topk_eval.results.Listed(
        [m for m in "abc" for _ in "xyz"], [*"xyz"] * 3,
        np.array([1, NAN, 1, 0, 1, 1, 0, 1, 0.0]), empty=(wide == "").to_numpy().ravel()),
        order="columns")
    assert results.blank[0, 1] and results.failed[0, 1]
    race = Evaluation(topk.PairedBetting(1, 0, 0.05), results=results)
    assert [*zip(*race.ask(9, plain=True), strict=True)] == [("a", "y")]
    other = Evaluation(topk.PairedBetting(1, 0.1, 0.05), results=results)
    assert other.done and other.stopped == "open" and other.report().failed.sum() == 1


@pytest.mark.parametrize("name", ["PairedBetting", "BettingLUCB"])
def test_a_study_ends_with_what_is_there_and_what_it_asks(name, tmp_path):
    rng, items = np.random.default_rng(2), 200
    x = (rng.random((4, items)) < [[0.9], [0.7], [0.5], [0.3]]).astype(float)
    known = np.where(rng.random(x.shape) < 0.3, x, NAN)
    tidy = tidy_of(known, list("abcd"))
    results = Results(tidy, order=range(items)) if name == "PairedBetting" else Results(tidy)
    study = Evaluation(getattr(topk, name)(2, 0, 0.05), results=results, rng=4)
    before = study.pulls.sum()
    assert before == results.scores.size - results.absent.sum()
    while not study.done:
        models, items = study.ask(7)
        assert models.size
        study.save(tmp_path / "study.json", overwrite=True)
        again = topk_eval.load(tmp_path / "study.json")
        assert again.state() == study.state() and again.evidence() == study.evidence()
        study = again
        study.tell(models, items, x[[*map("abcd".index, models)], items])
    assert study.certified and study.selected.tolist() == ["a", "b"] and study.evidence() <= 0.05
    assert study.pulls.sum() < 800


def test_complete_rows_are_exact_and_told_cells_are_known_values():
    x = np.array([[1, 0.5, 1, 1, 0.0, NAN], [0.0, 0.5, 0, 0, 0, 1], [0.25, NAN, NAN, NAN, 0, NAN]])
    tidy = tidy_of(x)
    study = Evaluation(topk.BettingLUCB(1, 0, 0.1), results=Results(tidy), rng=0)
    low, high = study.engine.table.ends
    assert low[1] == high[1] == 0.25
    assert low[0] == 3.5 / 6 and abs(high[0] - 4.5 / 6) < 1e-12  # known, and one cell in [0, 1]
    assert (low[2], high[2]) == (0.25 / 6, 4.25 / 6)
    assert study.pulls.tolist() == [5, 6, 2]
    models, items = study.ask(20, plain=True)
    assert {*zip(models, items, strict=True)} <= {(0, 5), (2, 1), (2, 2), (2, 3), (2, 5)}
    failed = Results([[1, NAN, 0], [0.5, 0, 1.0]])  # of a matrix: asked
    study = Evaluation(topk.BettingLUCB(1, 0, 0.1), results=failed)
    assert study.stopped == "open" and study.report().failed.tolist() == [1, 0]


def test_known_values_and_draws_without_replacement_hold_exactly():
    """Whatever is known, bounds of the mean are wrong in at most delta of all orders of the rest.

    The known cells are chosen by their results, which is allowed: the order of the rest is new.
    """
    row, delta, level = np.array([1, 0.5, 0, 1, 0, 0.5]), 0.5, None
    for size in (1, 2, 3):
        known = np.sort(row)[-size:]  # the best
        rest = np.sort(row)[:-size]
        wrong = []
        for order in itertools.permutations(rest):
            table = topk_eval.graded.FiniteBettingLUCB(1, 0, delta, row.size).begin(2).table
            level = table.rows[0][0].level
            table.know(0, known, known)
            missed = False
            for cell in order:
                table.put(0, np.array([cell]), np.array([cell]))
                missed |= table.ends[0, 0] > row.mean() + 1e-9
            wrong.append(missed)
        assert level == math.log(2 / delta) and np.mean(wrong) <= delta / 2
    bare = Row(4, math.log(2 / delta))
    bare.extend(np.array([1.0, 1, 1]))
    table = topk_eval.graded.FiniteBettingLUCB(1, 0, delta, 6).begin(2).table
    table.know(0, np.array([1, 0.5]), np.array([1, 1.0]))
    table.put(0, *np.ones((2, 3)))
    assert table.ends[0, 0] == (1.5 + bare.low) / 6


def test_a_drawn_order_goes_on_with_one_delta():
    rng = np.random.default_rng(5)
    order, x = rng.permutation(60).tolist(), rng.random((3, 60)).round(2)
    told = pd.DataFrame([(a, i, x[a, i]) for a in range(3) for i in order[:20]],
                        columns=["model", "item", "score"])
    study = Evaluation(topk.BettingLUCB(1, 0, 0.1), results=Results(told, order=order, drawn=True))
    row = Row(60, math.log(3 / 0.1))
    row.extend(x[0, order[:20]])
    assert study.engine.table.rows[0][0].step == row.step
    models, items = study.ask(9, plain=True)
    assert items[: models.count(0)] == order[20 : 20 + models.count(0)] or models.count(0) == 0
    again = Evaluation.from_state(study.state())
    assert again.state() == study.state() and again.evidence() == study.evidence()


def test_counts_take_known_cells_when_their_turn_comes():
    x = (np.random.default_rng(6).random((3, 50)) < [[0.9], [0.5], [0.4]]).astype(int)
    tidy = tidy_of(x)
    study = Evaluation(topk.KLLUCB(1, 0, 0.1), results=Results(tidy.sample(75, random_state=1)))
    told = study.pulls.sum() + study.waiting.sum()
    assert told == 75
    while not study.done:
        models, items = study.ask(5)
        study.tell(models, items, x[models, items])
        study = Evaluation.from_state(study.state())
    assert study.certified and study.selected.tolist() == [0]
    with pytest.raises(ValueError, match="BettingLUCB"):
        Evaluation(topk.KLLUCB(1, 0, 0.1), results=Results(x * 1.0 / 2))


def test_trials_and_direction_are_those_of_the_results():
    told = pd.DataFrame({"model": [*"aaabbb"], "item": [*"xxyxxy"], "trial": [1, 2, 1] * 2,
                         "score": [4, 3, 0, 1, NAN, 2.0]})
    results = Results(told, order=[*"xyz"], bounds=(0, 4), lower_is_better=True)
    study = Evaluation(topk.PairedBetting(1, 0.5, 0.1), results=results)
    fills, mine = results.fills(), study.engine.table
    assert study.trials == 2 and study.lower_is_better
    np.testing.assert_allclose(mine.low[:, :2], fills.low[:, :2], atol=1e-12)
    np.testing.assert_allclose(mine.high[:, :2], fills.high[:, :2], atol=1e-12)
    assert (mine.told == ~fills.absent).all()
    assert study.report().set_index("name")["mean"]["a"] == 3.5
    models, items = study.ask(9, plain=True)
    assert sorted(zip(models, items, strict=True)) == [("a", "z"), ("a", "z"), ("b", "z"),
                                                       ("b", "z")]


def test_refusals_name_what_helps():
    results = Results(table())
    drawn = Results([[1, 0, 1], [0, 1, 0]], order="columns", drawn=True)
    pairs = topk.PairedBetting(2, 0, 0.1)
    for call, words in [
        (lambda: Evaluation(pairs), "^models must be .*results=Results"),
        (lambda: Evaluation(topk.KLLUCB(2, 0, 0.1), 3), "^items must be .*results=Results"),
        (lambda: Evaluation(pairs, results=table()), "^results must be .*Results.table"),
        (lambda: Evaluation(pairs, 4, results=results), "^models must be left out"),
        (lambda: Evaluation(pairs, results=results, bounds=(0, 2)), "^bounds must be left out"),
        (lambda: Evaluation(pairs, results=results, trials=2), "^trials must be left out"),
        (lambda: Evaluation(pairs, results=results, items=["q3"]), "^items must .*disjoint"),
        (lambda: Evaluation(pairs, results=results, items=9), "^items must .*names"),
        (lambda: Evaluation(topk.BettingLUCB(1, 0, 0.1), results=drawn, items=3),
         "^items must .*without drawn=True"),
        (lambda: Evaluation(pairs, results=Results(
            table(), cluster={f"q{i}": i // 2 for i in range(30)})), "^results .*topk next"),
    ]:
        with pytest.raises(ValueError, match=words):
            call()
    two = Results([[1, 0], [0, 1.0]])
    numbered = Evaluation(topk.PairedBetting(1, 0, 0.1), results=two, items=3)
    assert numbered.items == 5 and numbered.item_names is None


# Evidence with holes is a function of the table


def told_at_random(strategy, scores, order, rng):
    """Return an evaluation told all of a table in random batches, loaded in between, and its cells.

    Cells that are not told stay in flight, are lost, or are never asked.
    """
    n, items = scores.shape
    study = Evaluation(strategy, n, items, withdrawals=None, rng=1)
    cells = [(a, i) for a in range(n) for i in range(items)]
    cells = [cells[j] for j in rng.permutation(len(cells))[: int(rng.integers(1, len(cells) + 1))]]
    told = []
    for part in np.array_split(np.array(cells), rng.integers(1, 9)):
        if not study.done and rng.random() < 0.5:
            out = study.ask(int(rng.integers(1, 9)))
            if rng.random() < 0.5:
                study.lost(*out)
        if not part.size:
            continue
        study.tell(*part.T, scores[tuple(part.T)])
        told += [] if study.engine.late else part.tolist()
        if rng.random() < 0.3:
            study = Evaluation.from_state(study.state())
    return study, told


@pytest.mark.filterwarnings("ignore::topk.TopkWarning")
@pytest.mark.parametrize("k", [1, 2, 3])
@pytest.mark.parametrize("epsilon", [0.0, 0.1])
def test_evidence_is_that_of_the_cells_told_in_order_bit_for_bit(k, epsilon):
    for seed in range(12):
        rng = np.random.default_rng([seed, k])
        scores = rng.choice([0, 0.5, 1, NAN], (4, 40), p=[0.3, 0.1, 0.5, 0.1])
        scores[:k] = np.where(rng.random((k, 40)) < 0.5, 1, scores[:k])
        strategy = topk.PairedBetting(k, epsilon, 0.05)
        study, told = told_at_random(strategy, scores, None, rng)
        assert study.engine.ended == 0 or study.engine.late == [] or study.certified
        table = PairsOfItems(k, epsilon, 0.05).table(4, np.full(4, 40))
        for arm, item in sorted(told, key=lambda cell: cell[::-1]):  # item by item
            x = scores[arm, [item]]
            table.put([Told(arm, np.array([item]), np.nan_to_num(x, nan=0.0),
                            np.nan_to_num(x, nan=1.0))])
        mine = study.engine.table
        if study.done and not study.engine.late or not study.done:
            assert np.array_equal(table.largest, mine.largest)
            assert np.array_equal(table.chosen(), mine.chosen())
            assert table.evidence(epsilon) == mine.evidence(epsilon)
            assert table.decided() == mine.decided()
        if study.certified:
            assert study.evidence() <= 0.05
        if not study.done:
            rows = [{"model": a, "item": i, "score": scores[a, i]} for a, i in told]
            if len({row["model"] for row in rows}) == 4:
                results = Results(pd.DataFrame(rows), order=range(40)).with_models(range(4))
                found = topk_eval.tiers(results, k=k, epsilon=epsilon)
                assert math.isclose(found.evidence(k), study.evidence(), rel_tol=1e-9)
                assert found.decided(k) == study.certified


@pytest.mark.parametrize(("items", "holes"), [(1, (2, 3)), (2, (2, 3)), (3, (2,)), (4, (2,))])
def test_no_pattern_of_holes_raises_evidence(items, holes):
    """All tables of two models with the scores 0 and 1, and all holes, absent (2) or failed (3).

    Whatever an adversary who sees all results makes a hole, no e(s) is above the true one; so the
    largest over all patterns is at most the true maximum.
    """
    rule = PairsOfItems(1, 0, 0.3, race=False)

    def largest(cells):
        table = rule.table(2, np.full(2, items))
        rows = np.array(cells).reshape(2, items)
        table.put([Told(arm, np.flatnonzero(row != 2), *(
            np.where(row == 3, fill, row)[row != 2] for fill in (0.0, 1.0)))
            for arm, row in enumerate(rows)])
        return table.largest

    found = {cells: largest(cells) for cells in itertools.product((0, 1, *holes), repeat=2 * items)}
    reached = np.zeros((2, 2))
    for table in itertools.product((0, 1), repeat=2 * items):
        patterns = itertools.product(*((score, *holes) for score in table))
        assert all((found[cells] <= found[table]).all() for cells in patterns)
        reached += found[table] >= 1 / 0.3
    assert (reached <= 0.3 * 4**items).all()  # equal models, all tables as likely
