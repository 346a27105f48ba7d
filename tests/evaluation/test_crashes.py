"""Evaluations whose process dies again and again: none is stuck, and none loses a result."""

import numpy as np
import pytest
from live.test_crashes import STUDIES

import topk
import topk_eval
from topk_eval import Evaluation

pytestmark = pytest.mark.filterwarnings("ignore::topk.TopkWarning")


def crashes(study, path, lost):
    """Save, and load as another process does after a crash of the workers."""
    study.save(path, overwrite=True)
    again = topk_eval.load(path, lost=lost)
    return again if lost else again.lost(*again.in_flight())


@pytest.mark.parametrize("strategy", [topk.KLLUCB(1, 0, 0.1), topk.SAR(1, 40), topk.Uniform(1, 30),
                                      topk.BettingLUCB(1, 0, 0.1)], ids=lambda x: type(x).__name__)
def test_no_evaluation_is_stuck(strategy, tmp_path):
    for seed in range(STUDIES):
        rng = np.random.default_rng([seed, 8])
        study = Evaluation(strategy, ["a", "b", "c"], items=15, rng=seed)
        right = rng.random((3, 15)) < rng.random((3, 1))
        for step in range(400):
            if study.done:
                break
            models, items = study.ask(int(rng.integers(1, 12)))
            assert models.size or study.in_flight()[0].size, "nothing to do, and nothing is out"
            some = rng.random(models.size) < 0.7
            numbers = [study.names.index(model) for model in models[some]]
            study.tell(models[some], items[some], right[numbers, items[some]])
            if step % 3 == 2:
                study = crashes(study, tmp_path / "study.json", bool(rng.integers(2)))
        assert study.done
        assert (study.pulls + study.waiting <= 15).all()
