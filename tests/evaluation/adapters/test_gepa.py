"""The policy for GEPA, run by GEPA itself with a scripted model and scripted proposals."""

import random

import pytest

gepa = pytest.importorskip("gepa")
from gepa.core.adapter import EvaluationBatch  # noqa: E402

from topk_eval.adapters.gepa import GatePolicy  # noqa: E402

ITEMS = 200
SKILL = {"first": .5, "worse": .3, "lucky": .5, "better": .75, "same": .75, "best": .95}


def score(prompt, item):
    """Return 1 if the scripted model is right on an item with a prompt."""
    if prompt == "same":
        prompt = "better"
    return float(random.Random(f"{prompt} {item}").random() < SKILL[prompt])


class Scripted:
    """A system whose prompt decides how often it is right; it counts its calls."""

    def __init__(self):
        self.calls, self.cells = 0, set()
        self.proposals = iter(list(SKILL)[1:])

    def evaluate(self, batch, candidate, capture_traces=False):
        self.calls += len(batch)
        scores = [score(candidate["prompt"], item) for item in batch]
        if batch[0] >= 0:  # items of the training set are negative
            cells = {(candidate["prompt"], item) for item in batch}
            assert not cells & self.cells  # paid once
            self.cells |= cells
        traces = [{"item": item} for item in batch] if capture_traces else None
        return EvaluationBatch(outputs=scores, scores=scores, trajectories=traces)

    def make_reflective_dataset(self, candidate, batch, components):
        return {name: [{"Feedback": "be right"}] for name in components}

    def propose_new_texts(self, candidate, reflective_dataset, components):
        return {"prompt": next(self.proposals)}


def optimize(policy, system):
    return gepa.optimize(
        seed_candidate={"prompt": "first"}, trainset=[-1 - item for item in range(8)],
        valset=list(range(ITEMS)), adapter=system, reflection_lm=lambda prompt: "",
        acceptance_criterion=Always(), candidate_selection_strategy="current_best",
        skip_perfect_score=False, val_evaluation_policy=policy, stop_callbacks=[Stop()], seed=0)


class Always:
    """Every proposal is tried on the validation set."""

    def should_accept(self, proposal, state):
        return True


class Stop:
    """Stop after the last proposal."""

    def __call__(self, state):
        return len(state.program_candidates) == len(SKILL)


def test_only_better_programs_are_accepted_and_few_cells_are_paid(record):
    system = Scripted()
    policy = GatePolicy(system.evaluate, smallest_gain=.1, delta=.05, spend=.2, rng=0)
    result = optimize(policy, system)
    history = policy.gate.history()
    names = [candidate["prompt"] for candidate in result.candidates]
    accepted = [names[i] for i in history.candidate[history.status == "accepted"]]
    assert accepted == ["better", "best"] and names[policy.gate.champion] == "best"
    assert result.best_candidate["prompt"] == "best"
    cells = sum(len(scores) for scores in result.val_subscores)
    assert cells == len(system.cells) < .8 * len(SKILL) * ITEMS
    record("gepa", cells=cells, all_cells=len(SKILL) * ITEMS)
    for program, scores in enumerate(result.val_subscores):
        assert scores == {item: score(names[program], item) for item in scores}
    for item, front in result.per_val_instance_best_candidates.items():
        best = max(scores.get(item, -1) for scores in result.val_subscores)
        assert front == {i for i, scores in enumerate(result.val_subscores)
                         if scores.get(item) == best}


class Items:
    """A validation set of 60 items."""

    def all_ids(self):
        return range(60)

    def fetch(self, ids):
        return list(ids)


class State:
    """What GEPA knows of its programs, as far as the policy looks at it."""

    i = 0

    def __init__(self, scores):
        self.program_candidates = [{"prompt": "first"}]
        self.prog_candidate_val_subscores = [scores]

    def add(self, prompt, scores):
        self.program_candidates.append({"prompt": prompt})
        self.prog_candidate_val_subscores.append(scores)

    def _update_pareto_front_for_val_id(self, *update):
        pass

    def increment_evals(self, count):
        pass


def scores(prompt, items):
    return {item: score(prompt, item) for item in items}


def test_of_programs_evaluated_at_once_each_is_tried_in_its_own_order():
    """The first gets the items that were started; the other, and one after a failure, wait."""
    system, items = Scripted(), Items()
    policy = GatePolicy(system.evaluate, batch=5, smallest_gain=.2, spend=.2, rng=0)
    state = State(scores("first", policy.get_seed_eval_batch(items)))
    shown = policy.get_eval_batch(items, state)
    assert len(shown) == 5 and policy.get_eval_batch(items, state) == []
    assert policy.gate.trial.in_flight() == shown and policy.gate.trial.name == 1
    state.add("worse", scores("worse", shown))
    state.add("best", {})
    assert policy.get_best_program(state) == 2
    assert policy.gate.history().candidate.tolist() == [1, 2]
    assert policy.get_eval_batch(items, state, target_program_idx=1) == []
    lost = policy.get_eval_batch(items, state)  # of a program whose evaluation fails
    assert policy.get_eval_batch(items, state) == []
    state.add("same", {})
    assert policy.get_best_program(state) == 2
    history = policy.gate.history()
    assert history.candidate.tolist() == [1, 2, 3, 3] and history["items"].tolist()[2] == 0
    assert {*lost} != {*list(state.prog_candidate_val_subscores[3])[:5]}
