"""The rules behind ``topk next`` and ``topk plan``."""

from __future__ import annotations

from typing import Any


def state_of(n: int, items: int, k: int, delta: float, epsilon: float, new: bool) -> Any:
    """Return the state of a run before its first cell, with the level of `topk.tiers`.

    Parameters
    ----------
    n, items : int
        Numbers of models and of items.
    k, delta, epsilon
        As for `topk.tiers`; epsilon for scores in [0, 1].
    new : bool
        Whether statements are about new items; otherwise they are about these.
    """
    from topk.engine.cells import CellRunState
    from topk.leaderboard import set_counts
    from topk.strategies.graded import FiniteBettingLUCB
    from topk.strategies.paired import PairedBetting

    if not new:
        return CellRunState(FiniteBettingLUCB(k, epsilon, delta, items), n, items)
    state = CellRunState(PairedBetting(k, epsilon, delta), n, items)
    state.table.delta = delta * state.table.count / set_counts(n, k, epsilon)[1]
    return state
