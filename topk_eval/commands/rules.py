"""The rules behind ``topk next`` and ``topk plan``."""

from __future__ import annotations

from typing import Any


def state_of(n: int, items: int, k: int, delta: float, epsilon: float, new: bool) -> Any:
    """Return the state of a run before its first cell, with the level of `topk_eval.tiers`.

    Parameters
    ----------
    n, items : int
        Numbers of models and of items.
    k, delta, epsilon
        As for `topk_eval.tiers`; epsilon for scores in [0, 1].
    new : bool
        Whether statements are about new items; otherwise they are about these.
    """
    from topk.rules.numbered_state import NumberedRunState
    from topk.strategies.paired import PairedBetting
    from topk_eval.graded import FiniteBettingLUCB
    from topk_eval.ranks import set_counts

    if not new:
        return NumberedRunState(FiniteBettingLUCB(k, epsilon, delta, items), n, items)
    state = NumberedRunState(PairedBetting(k, epsilon, delta), n, items)
    state.table.delta = delta * state.table.count / set_counts(n, k, epsilon)[1]
    return state
