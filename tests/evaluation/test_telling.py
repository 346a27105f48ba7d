"""What is told of cells: labels, refusals in the user's units, failed and lost cells."""

import itertools

import numpy as np
import pandas as pd
import pytest
from live.test_telling import NAMES, refusal

import topk
from topk_eval import Evaluation

BETTING = topk.BettingLUCB(1, 0, 0.1)


@pytest.mark.parametrize("labelled", [dict, lambda x: pd.Series([*x.values()], [*x])])
def test_labels_from_0_to_n_are_items_and_not_places(labelled):
    """A regression test: keys 0, 1, 2 were taken for the numbers of rows, whatever the items."""
    scores, study = labelled({0: 0, 1: 0.5, 2: 1}), Evaluation(BETTING, 3, items=3)
    assert study.tell([0] * 3, [0, 1, 2], scores).means[0] == 0.5
    assert "another order" in refusal(study.tell, [1] * 3, [2, 0, 1], scores)


def test_masked_items_are_refused():
    """A regression test: what was hidden by a mask was counted."""
    hidden, study = np.ma.array([1, 2], mask=[False, True]), Evaluation(BETTING, 2, items=5)
    for items in (hidden, hidden.astype(float)):
        assert refusal(study.tell, [0, 1], items, [1, 0]).startswith("items must be")
    study.tell([0, 1], np.ma.array([1, 2]), [1, 0])


@pytest.mark.parametrize("names", [[2**63, 2**63 + 1, 5], [2**63 + 1, 2**53 + 1, -1]])
def test_integers_beyond_those_of_numpy_stay_names(names):
    """A regression test: numpy rounded them to floats, and results went to another item."""
    assert {*Evaluation(BETTING, ["a", "b"], items=names).ask(6)[1].tolist()} == {*names}


def test_an_unknown_name_is_told_from_its_neighbour():
    study = Evaluation(BETTING, ["a", "b"], items=["p", "q"])
    for given, words in {
        ("b ", "p"): "^models must be made of the models' names, .*blanks at an end",
        ("c", "p"): "^models must be .*: new models join by Evaluation.with_models",
        ("a", "r"): "^items must be made of the items' names, .*: items are fixed at the start",
    }.items():
        with pytest.raises(ValueError, match=words):
            study.tell([given[0]], [given[1]], [1])


@pytest.mark.parametrize("order", [*itertools.permutations(range(3))])
def test_columns_of_a_table_are_joined_by_its_rows(order):
    study = Evaluation(topk.KLLUCB(1, 0, 0.1), NAMES, items=5, rng=0)
    models, items = study.ask(3)
    told = pd.DataFrame({"model": models, "item": items, "right": (models == "red").astype(int)})
    scores = told["right"].iloc[[*order]]  # sorted in another way
    study.tell(told["model"], told["item"], scores)
    while not study.done:
        models, items = study.ask(4)
        study.tell(models, items, models == "red")
    assert study.selected.tolist() == ["red"]


@pytest.mark.parametrize("order", [*itertools.permutations(range(3))])
def test_scores_of_cells_are_joined_by_whichever_labels_they_have(order):
    def told(arms, items, results, names=NAMES):
        session = Evaluation(topk.BettingLUCB(1, 0, 0.1), names, items=["p", "q", "r"], rng=0)
        cells = session.tell(arms, items, results)._cells
        return {(names[a], "pqr"[cells.order[a, t]]): cells.values[a, t]
                for a, t in zip(*np.nonzero(cells.status >= 0), strict=True)}

    items, grades = ["p", "q", "r"], [0.5, 0, 1]
    want = {("red", item): x for item, x in zip(items, grades, strict=True)}
    by_item = pd.Series(grades, items).iloc[[*order]]
    for results in (by_item, dict(by_item), pd.Series(grades)):
        assert told(["red"] * 3, items, results) == want
        assert told(iter(["red"] * 3), iter(items), results) == want
    by_cell = pd.Series(grades, pd.MultiIndex.from_tuples([*want])).iloc[[*order]]
    assert told(["red"] * 3, items, by_cell) == want
    by_arm = pd.Series(grades, NAMES).iloc[[*order]]
    assert told(NAMES, ["q"] * 3, by_arm) == {
        (arm, "q"): x for arm, x in zip(NAMES, grades, strict=True)}
    session = Evaluation(topk.BettingLUCB(1, 0, 0.1), NAMES, items=items)
    arms = ["red", "red", NAMES[2]]
    for labels in (["q", "q", "p"], ["q", "p", "x"]):
        assert "labelled" in refusal(session.tell, arms, ["p", "q", "q"], pd.Series(
            grades, labels))
    numbers = Evaluation(topk.BettingLUCB(1, 0, 0.1), 3, items=5)
    assert "another order" in refusal(numbers.tell, [0, 0, 1], [3, 4, 3], pd.Series(
        grades, [4, 3, 3]))


@pytest.mark.parametrize(("strategy", "way"), [
    (topk.KLLUCB(1, 0, 0.1), "if that counts as a failure, tell 0"),
    (topk.BettingLUCB(1, 0, 0.1), "has failed: tell nan"),
])
def test_a_cell_that_is_lost_again_and_again_is_named(strategy, way):
    session = Evaluation(strategy, ["a", "b"], items=9, rng=0)
    for time in range(4):
        cells = session.ask(1)
        if time < 2:
            session.lost(*cells)
            session = Evaluation.from_state(session.state())
        else:
            match = f"'{cells[0][0]}' and item {cells[1][0]} {time + 1} times: .*{way}$"
            with pytest.warns(topk.TopkWarning, match=match):
                session.lost(*cells)


def test_trials_that_are_lost_together_are_one_loss(recwarn):
    session = Evaluation(topk.BettingLUCB(1, 0, 0.1), 2, items=1, trials=3)
    assert len(session.ask(6)[0]) == 6
    session.lose_all()
    assert not recwarn.list and not session.in_flight()[0].size
