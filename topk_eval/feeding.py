"""How results of cells reach a rule: one by one, or as counts of 0/1 results.

An `Evaluation` keeps the cells, and one of these two classes passes them on.  `BySingles` is for
rules that see single results (`topk.BettingLUCB`, `topk.PairedBetting`), `ByCounts` for rules that
see sums (`topk.KLLUCB`, fixed budgets).  A ``study`` is the `Evaluation` itself, or its draft.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from topk._checks import check_integer, refuse
from topk._types import Integers
from topk.live.told import MOST
from topk.rules.allocation import spread
from topk.rules.exhausted import check_values, limit_batch

Grown = list[tuple[int, Any]]  # models with newly counted cells, and their scores; nan if failed


class BySingles:
    """The rule sees single results, within bounds or failed."""

    zero_one = False  # whether results are 0 or 1
    takes_failed = True

    @staticmethod
    def order(strategy: Any, has_names: bool) -> str:
        """Return the kind of order of the items; see `topk_eval.cells.Cells`."""
        if not strategy.paired:
            return "own"
        return "drawn" if has_names else "given"

    @staticmethod
    def check(study: Any, trials: int) -> None:
        """Tell the run how many cells each model has, and of how many trials."""
        study.engine.limit(np.full(study.n, study.items), trials=trials)

    @staticmethod
    def open_batch(study: Any) -> None:
        """Ask the rule for nothing: it says which cells come next when they are asked for."""
        none = np.empty(0, dtype=np.int64)
        study._arrivals.open(none, none, study._capacity)

    @staticmethod
    def shares(study: Any, size: int) -> Integers:
        """Return how many of the next ``size`` trials each model gets, (n,)."""
        engine, cells = study.engine, study._cells
        if study.done:
            return np.zeros(study.n, dtype=np.int64)
        budget = getattr(study.strategy, "budget", None) or MOST
        size = min(size, budget - engine.total, budget - int((cells.known + cells.out).sum()))
        return engine.shares(cells.out, cells.left, max(size, 0))

    @staticmethod
    def expect(study: Any) -> None:
        """Note nothing: the cells say what is in flight."""

    @staticmethod
    def count(study: Any, grown: Grown) -> None:
        """Pass newly counted cells to the rule."""
        engine = study._own("engine")
        engine.spent = int(study._cells.known.sum())
        if not study.done:
            engine.extend(on_unit_scale(study, grown))

    @staticmethod
    def load(study: Any, grown: Grown, stored: Any) -> None:
        """Let the rule count the cells of a stored evaluation."""
        study.engine.spent = int(study._cells.known.sum())
        study.engine.load(stored, on_unit_scale(study, grown), study._withdrawn)

    @staticmethod
    def dropped(study: Any, arm: int) -> None:
        """Process the withdrawal of a model: nothing waits for it."""


class ByCounts:
    """The rule sees how many results there are, and how many of them are 1."""

    zero_one = True
    takes_failed = False

    @staticmethod
    def order(strategy: Any, has_names: bool) -> str:
        """Return the kind of order of the items; see `topk_eval.cells.Cells`."""
        return "own"

    @staticmethod
    def check(study: Any, trials: int) -> None:
        """Refuse trials, which are for rules that see single results, and too large budgets."""
        name = type(study.strategy).__name__
        if not study.engine.strategy.skips_known:
            check_values(study.strategy, study.n, study.items)
        if trials > 1:
            refuse("trials", trials, f"1 for {name}; BettingLUCB takes means of trials")

    @staticmethod
    def open_batch(study: Any) -> None:
        """Take the next batch from the strategy, as far as its models have items left."""
        arms, counts = np.empty((2, study.n), dtype=np.int64)
        m = study.engine.ask(arms, counts)
        if not study.engine.strategy.skips_known:
            m = limit_batch(study.engine, study.items, arms, counts, m)
        study._arrivals.open(arms[:m], counts[:m], study._capacity)

    @staticmethod
    def shares(study: Any, size: int) -> Integers:
        """Return how many of the next ``size`` cells each model gets, (n,)."""
        return study._next(size, study._cells.left)

    @staticmethod
    def expect(study: Any) -> None:
        """Set the results that are expected: of withdrawn models, only cells in flight."""
        flight, gone = study._arrivals.flight, study._withdrawn
        flight[:] = study._cells.uncounted
        flight[gone] = study._cells.in_flight[gone]

    @staticmethod
    def count(study: Any, grown: Grown) -> None:
        """Pass newly counted cells to the rule."""
        for arm, scores in grown:
            parts = [[scores.size, int(scores.sum())]]  # if the rule uses all results, or none
            if not study.engine.accepts_unsolicited:
                parts = [[1, int(x)] for x in scores]
            for count, right in parts:
                study._arrivals.take(arm, [count, right, right], study._capacity(arm))
        study._go_on()

    @staticmethod
    def load(study: Any, grown: Grown, stored: Any) -> None:
        """Restore the state of the rule, which has counted the cells."""
        study.engine.load(stored)

    @staticmethod
    def dropped(study: Any, arm: int) -> None:
        """Process the withdrawal of a model: its results count, and no others are needed."""
        study._credit(np.array([arm]))
        study._arrivals.drop(arm)


Feed = type[BySingles] | type[ByCounts]


def on_unit_scale(study: Any, grown: Grown) -> Grown:
    """Return counted cells with scores in [0, 1]."""
    scale = study._reward_range
    return [(arm, np.clip((x - scale.low) / scale.width, 0, 1)) for arm, x in grown]


def blocked(study: Any, size: int) -> Integers:
    """Return the number of cells to hand out of models whose next cell was lost, (n,).

    Only models of the batch without cells in flight are concerned.  The results that wait behind
    such a gap may use up all that the rule or its budget allows, so that `ByCounts.shares` returns
    zeros.
    """
    cells = study._cells
    idle = np.where(cells.in_flight == 0, cells.left, 0)
    most = np.minimum(study._arrivals.left, idle)
    return spread(np.zeros_like(most), most, size)


def checked_trials(trials: Any) -> int:
    """Return a checked number of trials of each cell."""
    return check_integer(trials, "trials", 1, 10_000)
