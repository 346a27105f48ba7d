"""Scores within bounds of the user's."""

import numpy as np
import pytest

import topk
import topk_eval


@pytest.mark.parametrize("bounds", [(-0.6, 1.2), (-0.7, 0.3), (0.1, 0.7), (-1e-9, 3.3)])
def test_scores_at_the_bounds_are_possible(bounds):
    low, high = bounds
    table = [[low, high], [high, high]]
    assert topk_eval.TestSet(table, bounds=bounds).means[1] == high
    found = topk_eval.tiers(topk_eval.Results(table, bounds=bounds))
    assert found.frame()["mean"].tolist()[0] == pytest.approx(high)
    trial = topk_eval.Gate(bounds=bounds).offer("new", items=2, champion_results=[low, high])
    assert trial.tell(None, [high, high], items=trial.start(2)).candidate_results.max() <= high
    study = topk_eval.Evaluation(topk.BettingLUCB(1, 0, 0.1), 2, items=2, bounds=bounds)
    assert study.tell([0, 0, 1, 1], [0, 1, 0, 1], np.ravel(table)).certified
