"""Theorem 2 of Bubeck et al. (2013) on plays."""

import numpy as np

import topk


def test_theorem_2_on_plays():
    # 200 plays, each wrong with probability at most 1e-9: false alarm below 2e-7.
    rows = np.array([[0.9, 0.4, 0.3], [0.2, 0.1, 0.7]])
    budget = 100
    while topk.guarantees.multibandit_sar_error(rows, budget) > 1e-9:
        budget += 100
    reps = topk.replicate(topk.MultiBanditSAR(budget), topk.MultiBandit(rows), runs=200, seed=5)
    assert not topk.metrics.misidentified(reps.selected, rows).any()
