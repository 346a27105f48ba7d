"""None and NA where nan is meant, names that no file can hold, and a delta that is none."""

import numpy as np
import pandas as pd
import pytest

import topk
import topk_eval

HALF = "x\ud800y"  # half of a letter, which no encoding has
TIDY = {"model": [HALF, HALF, "b", "b"], "item": [1, 2, 1, 2], "score": [1, 1, 1, 0]}


def strategy():
    return topk.BettingLUCB(1, 0, 0.1)


@pytest.mark.parametrize("missing", [None, pd.NA, pd.NaT, float("nan")])
def test_a_missing_score_has_many_names(missing):
    table = [[1, 0, missing], [0, 1, 1]]
    assert np.isnan(topk_eval.Results(table).scores[0, 2])
    assert topk_eval.TestSet(table).absent.tolist() == [1, 0]
    told, same = (topk_eval.Evaluation(strategy(), ["a", "b"], items=9, rng=0) for _ in range(2))
    for study, failed in ((told, missing), (same, np.nan)):
        study.tell(*study.ask(3), [failed, 0.5, 1])
    assert told.summary() == same.summary()
    trial = topk_eval.Gate().offer("new")
    assert trial.tell([missing, 1], [1, 1], items=trial.start(2)).gain == 0  # the worst: 1 for it
    with pytest.raises(ValueError, match=r"^rewards must .* got .*\(entry 1, arm 'b'\)"):
        strategy().start(["a", "b"]).observe(["a", "b"], [0.5, missing])


@pytest.mark.parametrize("made", [
    lambda: strategy().start([HALF, "b"]),
    lambda: strategy().start(["a", "b"], most_arms=5).with_arms([HALF]),
    lambda: topk_eval.Evaluation(strategy(), [HALF, "b"], items=9),
    lambda: topk_eval.Evaluation(strategy(), ["a", "b"], items=["p", HALF]),
    lambda: topk_eval.Gate(champion=HALF),
    lambda: topk_eval.Gate().offer(HALF),
    lambda: topk_eval.Gate().offer("c").start([HALF]),
    lambda: topk_eval.Gate().offer("c", items=["p", HALF]),
    lambda: topk_eval.TestSet([[1, 0], [0, 1]], names=[HALF, "b"]),
    lambda: topk_eval.Results(pd.DataFrame(TIDY, dtype=object)),
    lambda: topk_eval.Results(pd.DataFrame([[1, 0]] * 2, index=pd.Index([HALF, "b"], dtype=object)))
], ids=range(11))
def test_half_of_a_letter_is_refused_where_it_enters(made):
    """Not where the file is written, after the results have been paid for."""
    told = r"^\w+ must be text that UTF-8 can encode, got 'x\\ud800y'"
    with pytest.raises(ValueError, match=told):
        made()


@pytest.mark.parametrize("asked", [
    lambda: topk_eval.tiers([[1, 0], [0, 1]], delta=0.95), lambda: topk_eval.Gate(delta=0.95),
    lambda: topk.confidence.interval(3, 0.2, 0.95)], ids=["tiers", "Gate", "interval"])
def test_a_probability_of_success_is_not_taken_without_a_word(asked):
    with pytest.warns(topk.TopkWarning, match=r"delta = 0.95 .* did you mean 0.05\?"):
        asked()


def test_a_notebook_shows_a_trial_as_a_table():
    trial = topk_eval.Gate(champion="<b>").offer("new")
    trial.tell([0, 1], [1, 1], items=trial.start(2))
    shown = trial._repr_html_()
    assert "&lt;b&gt;" in shown and "<b>" not in shown
    assert "<td>open</td>" in shown and "<td>0.5</td>" in shown  # status and gain


RATES = [[0.75], [0.75], [0.7], [0.4], [0.2]]


@pytest.mark.parametrize("what", ["clusters", "trials", "empty cells"])
def test_a_race_keeps_what_it_says_when_cells_arrive(what):
    """A regression test: partly run clusters and trials were filled with the worst, and left later.

    A model that is in or out while cells of another are under way stays so once they are there.
    """
    rng, said = np.random.default_rng(0), 0
    step = 1 if what == "empty cells" else 2  # all but the last cell, or parts
    for _ in range(200 if step == 1 else 60):
        whole = (rng.random((5, 40)) < RATES).astype(float)
        late = np.zeros(whole.shape, dtype=bool)
        late[rng.integers(0, 3), 2 * rng.integers(1, 10) + 1 : -1 : step] = True
        before, after = ({
            "clusters": lambda x: topk_eval.Results(
                x, order="columns", cluster=np.arange(40) // 2, empty="absent"),
            "trials": _in_trials,
            "empty cells": lambda x: topk_eval.Results(x, order="columns"),
        }[what](table) for table in (np.where(late, np.nan, whole), whole))
        first, last = (topk_eval.tiers(x, k=1, delta=0.3).frame().set_index("model").tier
                       for x in (before, after))
        stated = first != "open"
        said += int(stated.sum())
        assert (last[stated.index] == first)[stated].all()
    assert said > 20


def test_a_cell_that_lacks_a_trial_holds_a_race_up_and_is_handed_out():
    """As an empty cell; an evaluation that goes on with the results asks both of its trials."""
    table = np.zeros((3, 40))
    table[0], table[1, 5] = 1.0, np.nan
    results = _in_trials(table)
    found = topk_eval.tiers(results, k=1, delta=0.01)
    assert not found.decided(1) and found.next_cells(9) == ([1], [2])
    study = topk_eval.Evaluation(topk.PairedBetting(1, 0, 0.01), results=results)
    assert study.ask(9, plain=True) == ([1, 1], [2, 2])


def _in_trials(table):
    """Return results of 20 items with two trials each; a cell of nan has no row."""
    rows = [(arm, place // 2, place % 2, score) for (arm, place), score in np.ndenumerate(table)
            if score == score]
    frame = pd.DataFrame(rows, columns=["model", "item", "trial", "score"])
    return topk_eval.Results(frame, order=[*range(20)])
