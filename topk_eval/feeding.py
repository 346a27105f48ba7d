"""How results of cells reach a rule: one by one, or as counts of 0/1 results.

An `Evaluation` keeps the cells, and one of these two classes passes them on.  `BySingles` is for
rules that see single results (`topk.BettingLUCB`, `topk.PairedBetting`), `ByCounts` for rules that
see sums (`topk.KLLUCB`, fixed budgets).  A ``study`` is the `Evaluation` itself, or its draft.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from topk._checks import refuse
from topk._types import Integers
from topk.live.told import MOST
from topk.rules.allocation import spread
from topk.rules.exhausted import check_values, limit_batch
from topk_eval.pairs import Told
from topk_eval.results import unit_fills


class BySingles:
    """The rule sees single results, within bounds or failed."""

    zero_one = False  # whether results are 0 or 1
    takes_failed = True

    @staticmethod
    def check(study: Any, trials: int) -> None:
        """Tell the run how many cells each model has, and of how many trials."""
        items = None if study.items is None else np.full(study.n, study.items)
        study.engine.limit(items, trials=trials)

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
    def begin(study: Any, told: list[Told]) -> None:
        """Pass the cells that were known at the start to the rule."""
        study.engine.spent = int(study._cells.known.sum())
        values, draws = known_values(study, told)
        if values:
            study.engine.know(values)
        study.engine.put(draws)

    @staticmethod
    def count(study: Any, told: list[Told]) -> None:
        """Pass newly counted cells to the rule."""
        engine = study._own("engine")
        engine.spent = int(study._cells.known.sum())
        engine.put(on_unit_scale(study, told))

    @staticmethod
    def load(study: Any, told: list[Told], stored: Any) -> None:
        """Let the rule count the cells of a stored evaluation."""
        study.engine.spent = int(study._cells.known.sum())
        values, draws = known_values(study, told)
        if values:
            study.engine.know(values)
        study.engine.load(stored, draws, study._withdrawn)

    @staticmethod
    def dropped(study: Any, arm: int) -> None:
        """Process the withdrawal of a model: nothing waits for it."""


class ByCounts:
    """The rule sees how many results there are, and how many of them are 1."""

    zero_one = True
    takes_failed = False

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

    @classmethod
    def begin(cls, study: Any, told: list[Told]) -> None:
        """Pass the cells that were known at the start to the rule."""
        cls.expect(study)
        cls.count(study, told)

    @staticmethod
    def count(study: Any, told: list[Told]) -> None:
        """Pass newly counted cells to the rule."""
        for arm, _, right, _ in on_unit_scale(study, told):
            parts = [[right.size, int(right.sum())]]  # if the rule uses all results, or none
            if not study.engine.accepts_unsolicited:
                parts = [[1, int(x)] for x in right]
            for count, ones in parts:
                study._arrivals.take(arm, [count, ones, ones], study._capacity(arm))
        study._go_on()

    @staticmethod
    def load(study: Any, told: list[Told], stored: Any) -> None:
        """Restore the state of the rule, which has counted the cells."""
        study.engine.load(stored)

    @staticmethod
    def dropped(study: Any, arm: int) -> None:
        """Process the withdrawal of a model: its results count, and no others are needed."""
        study._credit(np.array([arm]))
        study._arrivals.drop(arm)


Feed = type[BySingles] | type[ByCounts]


def on_unit_scale(study: Any, told: list[Told]) -> list[Told]:
    """Return counted cells with both fills in [0, 1], where 1 is best."""
    scale, falls = study._reward_range, study.lower_is_better
    return [Told(arm, places, *unit_fills(low, high, scale, falls))
            for arm, places, low, high in told]


def known_values(study: Any, told: list[Told]) -> tuple[list[Told], list[Told]]:
    """Return the cells that were known at the start and are no draws, and the others."""
    told, given = on_unit_scale(study, told), study._cells.given
    if given is None:
        return [], told
    known = [x.places < len(given[x.arm]) for x in told]
    pairs = [*zip(told, known, strict=True)]
    return [x.those(its) for x, its in pairs], [x.those(~its) for x, its in pairs]


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
