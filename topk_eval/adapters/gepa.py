"""Accept a candidate in GEPA only when it is certainly better, and stop paying when it is not."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from gepa.strategies.eval_policy import EvaluationPolicy

import topk_eval


class GatePolicy(EvaluationPolicy):
    """``val_evaluation_policy`` in which the best program changes only through a `topk_eval.Gate`.

    A new program is compared with the best one on the validation set in a fresh random order,
    until it is accepted or abandoned.  With probability 1 - delta no program is ever accepted that
    is not better on the mean of this set.  A cell is paid once.

    Parameters
    ----------
    evaluate : callable
        The method `evaluate` of GEPA's adapter.
    batch : int
        Number of items that are started at a time.
    **options
        Of `topk_eval.Gate`.  Without ``smallest_gain`` only the last item ends the trial of a
        program that is no better.
    """

    def __init__(self, evaluate: Callable[..., Any], batch: int = 10, **options: Any) -> None:
        self.evaluate, self.batch = evaluate, batch
        self.gate, self.judged = topk_eval.Gate(champion=0, **options), 1
        self.loader: Any = None

    def get_seed_eval_batch(self, loader):
        """Return the items of the first program, which has nothing to be compared with."""
        self.loader = loader
        return list(loader.all_ids())[: self.batch]

    def get_eval_batch(self, loader, state, target_program_idx=None):
        """Offer the next program, which exists but is not in the state yet, and start its items.

        Of several programs that are evaluated at once, the others wait for `get_best_program`.
        """
        self.get_best_program(state)
        program = len(state.program_candidates)
        if self.gate.trial is not None or target_program_idx not in (None, program):
            return []
        return self._offer(program, state).start(self.batch)

    def get_best_program(self, state):
        while self.judged < len(state.program_candidates):
            self._try(self.judged, state)
            self.judged += 1
        return self.gate.champion

    def get_valset_score(self, program_idx, state):
        self.get_best_program(state)
        return state.get_program_average_val_subset(program_idx)[0]

    def _offer(self, program, state):
        """Return the trial of a program on the whole validation set."""
        ids, known = list(self.loader.all_ids()), state.prog_candidate_val_subscores
        champion = [known[self.gate.champion].get(item, np.nan) for item in ids]
        return self.gate.offer(program, ids, champion)

    def _try(self, program, state):
        """Compare a program with the best one until the trial ends."""
        trial, known = self.gate.trial, state.prog_candidate_val_subscores
        if trial is not None and not {*trial.in_flight()} <= known[program].keys():
            trial.abandon()  # it was begun for a program whose evaluation failed
        trial = self.gate.trial or self._offer(program, state)
        while trial.status == "open":
            items = trial.in_flight() or trial.start(self.batch)
            models = self.gate.champion, program
            for name in models:
                self._run(name, [item for item in items if item not in known[name]], state)
            champion, candidate = ([known[name][item] for item in items] for name in models)
            trial.tell(champion, candidate, items=items)

    def _run(self, program, items, state):
        """Run cells of a program, and enter them as GEPA does: scores, Pareto front, budget."""
        if items:
            batch = self.evaluate(self.loader.fetch(items), state.program_candidates[program])
            for item, score, output in zip(items, batch.scores, batch.outputs, strict=True):
                state.prog_candidate_val_subscores[program][item] = score
                state._update_pareto_front_for_val_id(
                    item, score, program, output, None, state.i + 1)
            state.increment_evals(len(items))
