"""``Evaluation(..., withdrawals=)``: what is gained if no model can leave, and what it costs."""

import copy
import functools
import itertools
import math
import pickle
from collections import Counter

import numpy as np
import pytest

import topk
import topk_eval
from topk.confidence.paired import BETS, WEIGHTS
from topk.rules.base import BY_RULE
from topk_eval import Evaluation

# Pairs


def test_exact_probability_that_paired_bets_name_a_wrong_set():
    """Three equal models, one of which is right on each item: the ranking is that of labels.

    All sequences of 16 items are summed up by their counts and by the claims that have reached the
    level at some time.
    """
    delta, pairs = 0.5, [*itertools.permutations(range(3), 2)]
    study = Evaluation(topk.PairedBetting(1, 0, delta), 3, items=16, withdrawals=0)
    table = study.engine.table
    assert table.count == 2 and table.level == pytest.approx(2 / delta)

    @functools.cache
    def reached(won, lost):
        return WEIGHTS @ ((1 + BETS) ** won * (1 - BETS) ** lost) >= table.level

    @functools.cache
    def is_wrong(claims):
        return any(
            all((a, b) in claims for a in chosen for b in range(3) if b not in chosen)
            for chosen in [(1,), (2,), (0, 2), (1, 2)]
        )

    now, wrong = {((0, 0, 0), frozenset()): 1.0}, 0.0
    for _ in range(16):
        later = Counter()
        for (counts, claims), probability in now.items():
            for model in range(3):
                more = tuple(x + (i == model) for i, x in enumerate(counts))
                found = claims | {(a, b) for a, b in pairs if reached(more[a], more[b])}
                later[more, found] += probability / 3
        wrong += sum(x for (_, claims), x in later.items() if is_wrong(claims))
        now = {key: x for key, x in later.items() if not is_wrong(key[1])}
    assert 0.01 < wrong <= delta


def test_pairedbetting_gives_all_of_delta_to_neighbours():
    strategy = topk.PairedBetting(2, 0, 0.05)
    free, fixed = (Evaluation(strategy, 4, items=9, withdrawals=x).engine.table
                   for x in (None, 0))
    assert (free.count, fixed.count) == (3 / 0.9, 3)


@pytest.mark.parametrize("strategy", [topk.PairedBetting(1, 0, 0.1), topk.BettingLUCB(1, 0, 0.1)],
                         ids=lambda x: type(x).__name__)
def test_no_model_leaves_or_joins_and_copies_know_it(strategy, tmp_path):
    study = Evaluation(strategy, ["a", "b", "c"], items=5, withdrawals=0, rng=1)
    study.save(tmp_path / "study.json")
    for twin in (study, topk_eval.load(tmp_path / "study.json"),
                 Evaluation.from_state(study.state()),
                 pickle.loads(pickle.dumps(study)), copy.deepcopy(study)):
        before = twin.state()
        with pytest.raises(ValueError, match="^model: .*withdrawals=0"):
            twin.withdraw("b")
        with pytest.raises(ValueError, match="^names: .*withdrawals=0"):
            twin.with_models(["d"])
        assert twin.state() == before == study.state() and twin.withdrawals == 0
        assert twin.engine.withdrawals == 0


@pytest.mark.parametrize(("strategy", "withdrawals"), [
    (topk.KLLUCB(1, 0, 0.1), 1), (topk.SAR(1, 20), 0), (topk.BettingLUCB(1, 0, 0.1), 1.5),
    (topk.BettingLUCB(1, 0, 0.1), -1), (topk.PairedBetting(1, 0, 0.1), 1),
])
def test_refused_where_delta_does_not_depend_on_it(strategy, withdrawals):
    with pytest.raises(ValueError, match="^withdrawals must be "):
        Evaluation(strategy, 3, items=9, withdrawals=withdrawals)


# Rows of a finite test set


def rows(rng, n, size):
    """Return nearly equal rows of grades."""
    return np.clip(rng.choice([0, 0.25, 1], (n, size)) + rng.normal(0, 0.02, (n, 1)), 0, 1)


def test_graded_rows_use_both_sides_if_arms_may_leave(tmp_path):
    strategy = topk.BettingLUCB(2, 0, 0.1)
    one, two = (Evaluation(strategy, 4, 60, rng=2, withdrawals=x) for x in (None, 3))
    levels = [study.engine.table.rows[0][0].level for study in (one, two)]
    assert levels == pytest.approx([math.log(4 / 0.1), math.log(8 / 0.1)])
    scores = rows(np.random.default_rng(0), 4, 60)
    for study in (one, two):
        models, items = study.ask(100)
        study.tell(models, items, scores[models, items])
    assert two.evidence() == pytest.approx(min(2 * one.evidence(), 1))
    table = two.engine.table
    low, high = table.intervals(0.1)  # at the same level, from the cells that are known now
    assert (low <= table.ends[0] + 1e-4).all() and (table.ends[1] <= high + 1e-4).all()
    with pytest.raises(ValueError, match="withdrawals="):
        one.withdraw(0)
    two.withdraw(1)
    two.save(tmp_path / "study.json")
    again = topk_eval.load(tmp_path / "study.json")
    assert again.withdrawals == 3 and again.withdrawn == [1]
    assert again.state() == two.state() and again.evidence() == two.evidence()
    with pytest.raises(ValueError, match="^names: .*withdrawals=3"):
        two.with_models(1)
    assert again.withdraw(2).certified and again.selected.tolist() == [0, 3]  # all that are left
    assert again.evidence() == 0 and again.summary() and not again.report().undecided_with.any()
    with pytest.raises(ValueError, match="^model: "):
        again.withdraw(0)
    with pytest.raises(ValueError, match="fewer than k = 2"):
        Evaluation(strategy, 3, items=9, withdrawals=3).withdraw(0).withdraw(1)
    with pytest.raises(ValueError, match="^model: .*withdrawals=1"):
        Evaluation(strategy, 5, items=9, withdrawals=1).withdraw(0).withdraw(1)


def test_withdrawals_by_looking_keep_delta():
    """The leader leaves now and then; of 100 plays at delta = 1/2 at most 75 may be wrong.

    More have a probability below 3e-7.
    """
    wrong = left = 0
    strategy = topk.BettingLUCB(1, 0, 0.5)
    for seed in range(100):
        rng = np.random.default_rng(seed)
        cells = rng.permuted(rows(rng, 4, 12), axis=1)
        state = Evaluation(strategy, 4, items=12, withdrawals=2).engine
        arms, counts = np.empty((2, 4), dtype=np.int64)
        while m := state.ask(arms, counts):
            asked = arms[:m].tolist()
            state.extend([(a, cells[a, [state.table.size[a]]]) for a in asked])
            if not state.ended and state.active.sum() > 2 and rng.random() < 0.2:
                state.withdraw(int(state.table.chosen()[0]))
                left += 1
        assert state.ended == BY_RULE and state.table.evidence(0.0) <= 0.5
        means = cells.mean(axis=1)
        wrong += means[state.table.chosen()[0]] < means[state.active].max() - 1e-9
    assert wrong <= 75 and left > 50


def test_a_pair_that_is_left_with_k_models_is_certified():
    study = Evaluation(topk.PairedBetting(1, 0, 0.1), 2, items=5)
    study.tell([0, 1], [0, 0], [1, 0])
    study.withdraw(0)
    assert study.certified and study.selected.tolist() == [1] and study.evidence() == 0
