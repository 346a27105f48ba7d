"""Batches on a finite test set, of strategies that do not know that an arm's items run out.

An arm with N items has at most N results.  What a batch wants beyond that is left out of it, and an
arm that is known completely goes on with its exact mean.
"""

import numpy as np

from topk._checks import check_integer, refuse


def limit_batch(play, items, arms, counts, m):
    """Cut a batch to what each arm has left; return its length.

    Parameters
    ----------
    play : topk.engine.state.RuledPlay or PlainPlay
        What has asked for the batch.
    items : int
        How many results an arm has.
    arms, counts : ndarray of int64, shape (n,)
        The batch, in the first ``m`` entries; changed in place.

    Notes
    -----
    When all arms of a round are known, the best of them are, too: nothing is left to be pulled, and
    the play ends.  A strategy that picks its arms one by one would pick a known arm for ever: in
    its place the arm with the fewest results is pulled that is not known yet and still in the play.
    """
    pulls = play.seen.pulls
    counts[:m] = np.minimum(counts[:m], items - pulls[arms[:m]])
    kept = np.flatnonzero(counts[:m])
    arms[: kept.size], counts[: kept.size] = arms[kept], counts[kept]
    if kept.size or m == 0:
        return kept.size
    if not hasattr(play, "end"):
        allowed = f"of arms with fewer than {items} results, while there are any"
        refuse("arms of Strategy.ask", arms[:m].tolist(), allowed)
    unknown = np.flatnonzero(play.active & (pulls < items))
    if unknown.size == 0 or not hasattr(play.strategy, "pick"):
        play.end()
        return 0
    arms[0], counts[0] = unknown[pulls[unknown].argmin()], 1
    return 1


def check_cells(strategy, n, items):
    """Refuse a budget of more pulls than the test set has cells."""
    budget = getattr(strategy, "budget", None)
    if budget is not None:
        check_integer(budget, "budget", 1, n * items)
