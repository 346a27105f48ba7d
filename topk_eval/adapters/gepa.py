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
    batch, seed : int
        Number of cells that are run at a time, and seed of the orders.
    **options
        Of `topk_eval.Gate`.  Without ``smallest_gain`` only the last item ends the trial of a
        program that is no better.
    """

    def __init__(
        self, evaluate: Callable[..., Any], batch: int = 10, seed: int = 0, **options: Any,
    ) -> None:
        self.evaluate, self.batch, self.seed = evaluate, batch, seed
        self.gate, self.judged = topk_eval.Gate(champion=0, **options), 1
        self.loader: Any = None

    def _order(self, program):
        return np.random.default_rng([self.seed, program])

    def get_seed_eval_batch(self, loader, program=0):
        """Return the first items of the order in which a program is tried."""
        self.loader, ids = loader, list(loader.all_ids())
        return [ids[place] for place in self._order(program).permutation(len(ids))[: self.batch]]

    def get_eval_batch(self, loader, state, target_program_idx=None):
        return self.get_seed_eval_batch(loader, len(state.program_candidates))

    def get_best_program(self, state):
        while self.judged < len(state.program_candidates):
            self._try(self.judged, state)
            self.judged += 1
        return self.gate.champion

    def get_valset_score(self, program_idx, state):
        return state.get_program_average_val_subset(program_idx)[0]

    def _try(self, program, state):
        """Offer a program to the gate, and run the cells that are asked for."""
        ids, known = list(self.loader.all_ids()), state.prog_candidate_val_subscores
        champion = [known[self.gate.champion].get(item, np.nan) for item in ids]
        trial = self.gate.offer(program, ids, champion, self._order(program))
        while trial.status == "open":
            programs, items = trial.ask_cells(self.batch)
            cells = list(zip(programs, items, strict=True))
            for name in {*programs}:
                self._run(name, [i for each, i in cells if each == name and i not in known[each]],
                          state)
            trial.tell_cells(programs, items, [known[each][i] for each, i in cells])

    def _run(self, program, items, state):
        """Run cells of a program, and enter them as GEPA does: scores, Pareto front, budget."""
        if items:
            batch = self.evaluate(self.loader.fetch(items), state.program_candidates[program])
            for item, score, output in zip(items, batch.scores, batch.outputs, strict=True):
                state.prog_candidate_val_subscores[program][item] = score
                state._update_pareto_front_for_val_id(
                    item, score, program, output, None, state.i + 1)
            state.increment_evals(len(items))
