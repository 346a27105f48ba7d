"""Which cells a table of results wants next, by the rule that judges the table.

The rules are those of `Evaluation`, at the level of `topk_eval.tiers`: a table has no earlier
looks, so evidence counts as it is now, and it is decided when `tiers` says so.  `topk next` and
`topk plan` use them.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from topk._types import Floats, Integers
from topk.confidence.paired import ROUNDING, WEIGHTS
from topk.rules.numbered_state import NumberedRunState
from topk.strategies.paired import PairedBetting, PairTable
from topk_eval.graded import FiniteBettingLUCB, GradedTable
from topk_eval.ranks import set_counts


@dataclass(frozen=True)
class PairsOfTable(PairedBetting):
    """`topk.PairedBetting` at the level of `topk_eval.tiers` for K best models on new items."""

    def table(
        self, n: int, items: Integers | None, withdrawals: int | None = None,
    ) -> JudgedPairs:
        """Return an empty table for n models."""
        return JudgedPairs(self, n, withdrawals)


class JudgedPairs(PairTable):
    """The cells of a table of results about new items."""

    @property
    def count(self) -> float:
        """The number that shares delta for the set, as in `topk_eval.tiers`."""
        return set_counts(self.n, self.k, self.epsilon)[1]

    @property
    def level(self) -> float:
        """The e-value that each claim needs; at it, `tiers`, which rounds down, is decided."""
        return super().level * math.exp(2 * ROUNDING * int(self.size.max()))

    def forget(self) -> None:
        """Let evidence count as it is now: a table knows no earlier times."""
        self.largest = self.capitals @ WEIGHTS


@dataclass(frozen=True)
class RowsOfTable(FiniteBettingLUCB):
    """The rule of `topk.BettingLUCB` on exactly the items of a table of results."""

    def table(
        self, n: int, items: Integers | None, withdrawals: int | None = None,
    ) -> JudgedRows:
        """Return an empty table for n models with ``items`` (n,) cells each."""
        assert items is not None
        return JudgedRows(self, n, items, withdrawals)


class JudgedRows(GradedTable):
    """The cells of a table of results about its items."""

    def forget(self) -> None:
        """Let the bounds be those of now: a table knows no earlier times."""
        for arm, rows in enumerate(self.rows):
            for row in rows:
                row.step = 0 if row.complete else row.last_step(0, row.level)
            self._set_ends(arm)


def begin(
    n: int, items: int, k: int, delta: float, epsilon: float, new: bool,
) -> NumberedRunState:
    """Return the state of a run before its first cell.

    Parameters
    ----------
    n, items : int
        Numbers of models and of items.
    k, delta, epsilon
        As for `topk_eval.tiers`; epsilon for scores in [0, 1].
    new : bool
        Whether statements are about new items; otherwise they are about these.
    """
    rule = PairsOfTable(k, epsilon, delta) if new else RowsOfTable(k, epsilon, delta, items)
    state = rule.begin(n)
    state.limit(np.full(n, items))
    return state


def shares(
    state: NumberedRunState, grown: Sequence[tuple[int, Floats]], flight: Integers, left: Integers,
    size: int,
) -> Integers:
    """Return how many of the next cells each model gets, (n,), at most ``size`` together.

    Parameters
    ----------
    state : NumberedRunState
        The state that `begin` returns.
    grown : sequence of pair
        Models, and their results in [0, 1] up to the first cell without one; nan if it failed.
    flight, left : ndarray of int64, shape (n,)
        Number of each model's cells that are on the way, and that can still be handed out.
    size : int
        Number of cells.
    """
    table: Any = state.table
    state.extend(grown)
    table.forget()
    return state.shares(flight, left, size)
