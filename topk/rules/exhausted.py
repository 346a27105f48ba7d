"""Batches where rewards are drawn without replacement, for rules that ignore that they run out.

An arm with N values has at most N rewards.  A batch is truncated to the results that are left.  An
arm is known when all its items have been drawn; it stays in the run with its exact mean.
"""

import numpy as np

from topk._checks import check_integer, refuse
from topk.rules.forms import Indices
from topk.rules.plain import PlainRunState


def limit_batch(state, items, arms, counts, m):
    """Truncate a batch to the results that each arm has left; return its length.

    Parameters
    ----------
    state : topk.rules.state.RunState or PlainRunState
        The state of the run that asks for the batch.
    items : int
        Number of results of each arm.
    arms, counts : ndarray of int64, shape (n,)
        The batch, in the first ``m`` entries; changed in place.

    Notes
    -----
    If all arms of a round are known, so are the best of them: no pull is needed, and the run ends.
    An index strategy would pick a known arm forever; instead the active unknown arm with the fewest
    results is pulled.
    """
    pulls = state.seen.pulls
    counts[:m] = np.minimum(counts[:m], items - pulls[arms[:m]])
    kept = np.flatnonzero(counts[:m])
    arms[: kept.size], counts[: kept.size] = arms[kept], counts[kept]
    if kept.size or m == 0:
        return kept.size
    if isinstance(state, PlainRunState):
        allowed = f"arms with fewer than {items} results, while there are any"
        refuse("arms of Strategy.ask", arms[:m].tolist(), allowed)
    unknown = np.flatnonzero(state.active & (pulls < items))
    if unknown.size == 0 or not isinstance(state.strategy, Indices):
        state.end()
        return 0
    arms[0], counts[0] = unknown[pulls[unknown].argmin()], 1
    return 1


def check_values(strategy, n, items):
    """Refuse a budget that exceeds the number of values of all arms together."""
    budget = getattr(strategy, "budget", None)
    if budget is not None:
        check_integer(budget, "budget", 1, n * items)
