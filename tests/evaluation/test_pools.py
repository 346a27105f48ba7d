"""Runs on a pool of items that all models share: choices by new items."""

import numpy as np
import pytest
from strategies.test_paired_betting import pool

import topk
import topk_eval
from topk import PairedBetting


@pytest.mark.parametrize("budget", [5, 6, 7, 50, 51])
def test_a_budget_is_spent_to_the_last_cell(budget):
    strategy = PairedBetting(2, 0, 1e-9, budget)
    assert topk.run(strategy, topk_eval.ItemPool(pool()), rng=0).total_pulls == budget


def test_certified_sets_have_evidence_of_at_most_delta():
    models = topk_eval.ItemPool(pool(), names=list("abcde"))
    for seed in range(4):
        for strategy in (PairedBetting(1, 0, 0.1), PairedBetting(2, 0.05, 0.1)):
            outcome = topk.run(strategy, models, rng=seed)
            assert outcome.certified and outcome.evidence() <= 0.1
            assert outcome == topk.run(strategy, models, rng=seed)
    with pytest.raises(ValueError, match="epsilon"):
        outcome.evidence(0.2)


def test_fewer_cells_than_without_pairs_where_models_err_together():
    models = topk_eval.ItemPool(pool())
    paired, single = (topk.replicate(strategy(1, 0.0, 0.05), models, 4, seed=2).total_pulls.mean()
                      for strategy in (topk.PairedBetting, topk.BettingLUCB))
    assert paired < single / 2


def test_a_pool_is_for_new_items_only():
    models = topk_eval.ItemPool(pool(), bounds=(0, 1))
    for strategy in (topk.TopTwo(1, 0.1, 0.1), topk.Uniform(1, 100)):
        with pytest.raises(ValueError, match="ReplayBandit"):
            topk.run(strategy, models, rng=0)
    with pytest.raises(ValueError, match="ItemPool"):
        topk.run(PairedBetting(1, 0, 0.1), topk_eval.TestSet([[1, 0], [0, 0]]), rng=0)
    with pytest.raises(ValueError, match="deal"):
        models.pull([0], [1], np.random.default_rng(0))
    with pytest.raises(ValueError, match="matrix"):
        topk_eval.ItemPool([[1, np.nan], [0, 0]])
    with pytest.raises(ValueError, match="rng"):
        models.deal(1)
    scaled = topk_eval.ItemPool(10 * pool(), bounds=(0, 10))
    given = (0.02, models), (0.2, scaled)
    runs = [topk.run(PairedBetting(1, x, 0.1), y, rng=3) for x, y in given]
    assert runs[0].pulls.tolist() == runs[1].pulls.tolist()
    assert runs[1].means == pytest.approx(10 * runs[0].means)
