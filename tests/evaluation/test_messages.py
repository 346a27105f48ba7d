"""Every refusal of a public callable names its parameter in at most 300 characters and one line."""

import pandas as pd
import pytest
from test_messages import check_refusals

import topk
import topk_eval

TABLE = [[0, 1, 1], [1, 0, 0]]


def evaluation(asked=0):
    study = topk_eval.Evaluation(topk.BettingLUCB(1, 0, 0.1), ["a", "b"], items=9, rng=0)
    if asked:
        study.ask(asked)
    return study


def counts():
    return topk_eval.Evaluation(topk.KLLUCB(1, 0, 0.1), ["a", "b", "c"], items=9, rng=0)


def arms():
    study = topk_eval.Evaluation(topk.PairedBetting(1, 0, 0.1), ["a", "b", "c"], rng=0)
    study.ask(9)
    return study


def gate():
    found = topk_eval.Gate("base").offer("new", items=5)
    found.start(5)
    return found


CALLS = {
    "Evaluation": (lambda: topk_eval.Evaluation, {
        "strategy": topk.BettingLUCB(1, 0, 0.1), "models": 3, "items": 5, "bounds": (0, 10),
        "trials": 2, "withdrawals": 1}),
    "ask": (lambda: evaluation().ask, {"size": 3}),
    "tell": (lambda: evaluation().tell, {"models": ["a", "b"], "items": [0, 1], "scores": [1, 0]}),
    "Evaluation of arms": (lambda: topk_eval.Evaluation, {
        "strategy": topk.PairedBetting(1, 0, 0.1), "models": 3, "bounds": (0, 10)}),
    "tell arms": (lambda: arms().tell, {"models": ["a", "b"], "items": [0, 1], "scores": [1, 0]}),
    "tell_counts": (lambda: arms().tell_counts, {"arms": ["a", "b"], "sums": [1, 0],
                                                 "counts": [2, 1]}),
    "lost": (lambda: evaluation(18).lost, {"models": ["a"], "items": [0]}),
    "evidence": (lambda: counts().evidence, {}),
    "report": (lambda: evaluation().report, {}),
    "withdraw": (lambda: counts().withdraw, {"model": "a"}),
    "with_models": (lambda: counts().with_models, {"names": ["d"]}),
    "from_state": (lambda: topk_eval.Evaluation.from_state, {"state": counts().state()}),
    "TestSet": (lambda: topk_eval.TestSet, {"matrix": TABLE}),
    "ItemPool": (lambda: topk_eval.ItemPool, {"matrix": TABLE}),
    "TestSet of results": (lambda: topk_eval.TestSet, {
        "matrix": topk_eval.Results(pd.DataFrame({"model": ["a", "b"], "item": [1, 1],
                                                  "score": [1, 0]}))}),
    "Evaluation of results": (lambda: topk_eval.Evaluation, {
        "strategy": topk.PairedBetting(1, 0, 0.1), "results": topk_eval.Results(TABLE),
        "items": 9}),
    "tiers": (lambda: topk_eval.tiers, {"results": TABLE}),
    "tiers.evidence": (lambda: topk_eval.tiers(TABLE).evidence, {"k": 1}),
    "tiers.decided": (lambda: topk_eval.tiers(TABLE).decided, {"k": 1}),
    "Gate": (lambda: topk_eval.Gate, {"champion": "base"}),
    "Gate.offer": (lambda: topk_eval.Gate("base").offer, {"candidate": "new"}),
    "Trial.tell": (lambda: topk_eval.Gate("base").offer("new").tell, {"champion": [1],
                                                                 "candidate": [0]}),
    "Trial.tell a pool": (lambda: gate().tell, {"champion": [1], "candidate": [0], "items": [3]}),
    "Trial.start": (lambda: topk_eval.Gate("base").offer("new").start, {"items": ["p", 3]}),
    "Trial.start a pool": (lambda: topk_eval.Gate("base").offer("new", 5).start, {"items": 3}),
}  # fmt: skip


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize(("make", "right"), CALLS.values(), ids=[*CALLS])
def test_refusals_are_short_and_name_a_parameter(make, right):
    check_refusals(make, right)
