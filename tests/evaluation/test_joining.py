"""Models that join an evaluation: what is taken over, and who refuses."""

import numpy as np
import pytest

import topk
from topk._json import from_json
from topk_eval import Evaluation
from topk_eval.cells import drawn_orders


def test_a_finite_study_keeps_the_orders_of_its_models():
    """Cells that are in flight come back after the join; those that wait wait."""
    study = Evaluation(topk.KLLUCB(1, 0, 0.05), ["a", "b"], items=30, rng=4)
    models, items = study.ask(12)
    of_a = np.flatnonzero(models == "a")
    study.tell(models[of_a[1:]], items[of_a[1:]], np.ones(of_a.size - 1))
    study.lost(models[-1:], items[-1:])
    joined = study.with_models(["c"])
    assert joined.waiting.tolist() == [of_a.size - 1, 0, 0]
    assert {*zip(*joined.in_flight(), strict=True)} == {*zip(*study.in_flight(), strict=True)}
    seed = from_json(joined.state()["cells"]["seed"])
    assert seed == from_json(study.state()["cells"]["seed"])
    assert (joined._cells.order[:2] == study._cells.order).all()
    assert (joined._cells.order == drawn_orders(seed, [["a"], ["b"], ["c"]], 30)).all()
    joined.tell(models[:-1], items[:-1], (models == "a")[:-1])
    assert joined.pulls.tolist() == [of_a.size, 12 - of_a.size - 1, 0]
    seen = {*zip(models.tolist(), items.tolist(), strict=True)} - {(models[-1], items[-1])}
    joined = Evaluation.from_state(joined.state())
    while not joined.done:
        models, items = joined.ask(5)
        cells = {*zip(models.tolist(), items.tolist(), strict=True)}
        assert cells and not cells & seen
        seen |= cells
        joined.tell(models, items, models == "c")
    assert joined.selected.tolist() in (["a"], ["c"]) and joined.certified


@pytest.mark.parametrize("strategy", [
    topk.SAR(1, 18), topk.BettingLUCB(1, 0, 0.1), topk.PairedBetting(1, 0, 0.1),
], ids=lambda x: type(x).__name__)
def test_others_refuse_and_say_why(strategy):
    study = Evaluation(strategy, ["a", "b"], items=9, rng=0)
    before = study.state()
    why = "on items, which divides delta among the models of the start"
    if isinstance(strategy, topk.SAR):
        why = "which divides a budget among the initial models"
    with pytest.raises(ValueError, match=f"^names: no model can join .*{why}; all that may be"):
        study.with_models(["c"])
    assert study.state() == before


def test_names_are_checked():
    study = Evaluation(topk.KLLUCB(1, 0, 0.1), ["a", "b"], items=9)
    for names in ("a", ["c", "c"], [], [3], None):
        with pytest.raises(ValueError, match="^names must be one new str .* of the models' names"):
            study.with_models(names)
    numbered = Evaluation(topk.KLLUCB(1, 0, 0.1), 3, items=9)
    with pytest.raises(ValueError, match="number of new models .models of this evaluation have no"):
        numbered.with_models("a")
