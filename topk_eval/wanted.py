"""Which cells a table of results wants next, by the rule that judges the table.

The rules are those of `Evaluation`, with the evidence and the level of `topk_eval.tiers`; so ``topk
next``, ``topk plan`` and ``Tiers.next_cells`` want what an evaluation that was told the same would
ask for, and end when ``topk rank`` is decided.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

from topk._types import Flags, Floats
from topk.rules.numbered import Numbered
from topk.rules.numbered_state import NumberedRunState
from topk_eval.graded import FiniteBettingLUCB, GradedTable
from topk_eval.pairs import PairsOfItems, mean_differences

LARGEST = 700.0  # nats, of which e has a float


class JudgedRows(GradedTable):
    """Rows about exactly these items, with ends and means that have been computed.

    Attributes
    ----------
    found : ndarray of float, shape (n,)
        Means of the cells that are known.
    """

    found: Floats

    def means(self) -> Floats:
        """Return the mean of each model's known cells; nan without any."""
        return self.found


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
    rule: Numbered = (PairsOfItems(k, epsilon, delta) if new else
                      FiniteBettingLUCB(k, epsilon, delta, items))
    state = rule.begin(n)
    state.limit(np.full(n, items))
    return state


def next_cells(
    tiers: Any, size: int, handed: Flags | None = None,
) -> tuple[list[tuple[int, int]], str]:
    """Return the next cells, as numbers of models and items, and why there are none if so.

    Parameters
    ----------
    tiers : topk_eval.Tiers
        What the table settles, for one k.
    size : int
        Largest number of cells; with clusters, all items of a cluster are handed out together.
    handed : ndarray of bool, shape (n, N), optional
        Cells that are on their way.

    Returns
    -------
    cells : list of (int, int)
    why : str
        "" if there are cells.
    """
    results, k = tiers.results, tiers.k
    assert k is not None
    if tiers.decided(k):
        return [], f"the {k} best are decided"
    state, groups = _state(tiers), _groups(results)
    absent = results.absent
    if tiers._races:  # these hold it up
        absent = absent | results.blank | results.unfinished
    handed = np.zeros_like(absent) if handed is None else handed & absent
    asked, sent = (_whole(x, groups) for x in (~absent, ~absent | handed))
    flight = (sent & ~asked).sum(axis=1)
    shares = state.shares(flight, (~sent).sum(axis=1), size)
    cells: list[tuple[int, int]] = []
    for arm in np.flatnonzero(shares).tolist():
        for group in np.flatnonzero(~sent[arm])[: shares[arm]].tolist():
            cells += [(arm, i) for i in groups[group]
                      if absent[arm, i] and not handed[arm, i]]
            if len(cells) >= size:
                return cells, ""
    if cells:
        return cells, ""
    if handed.any():
        why = "results are missing"
    elif absent.any():
        why = "the rule asks none of the cells that are left"
    else:
        why = "all items are used up"
    return [], f"{why}, and the {k} best are open"


def _groups(results):
    """Return the items of each cluster, or of each item alone, as lists."""
    place, count = results.cluster_places()
    groups: list[list[int]] = [[] for _ in count]
    for item, group in enumerate(place.tolist()):
        groups[group].append(item)
    return groups


def _whole(cells, groups):
    """Return which models have all items of which groups, (n, M)."""
    if len(groups) == cells.shape[1]:
        return cells
    return np.stack([cells[:, group].all(axis=1) for group in groups], axis=1)


def _state(tiers):
    """Return the state of the rule, with the evidence that `topk_eval.tiers` has computed."""
    results, source = tiers.results, tiers._source
    fills, n = results.fills(), len(results.models)
    epsilon = results.unit_epsilon(tiers.epsilon)
    new = hasattr(source, "counts")
    state = begin(n, fills.low.shape[1], tiers.k, tiers.delta, epsilon, new)
    table: Any = state.table
    if tiers._races:
        table = source.table
    elif new:
        table = replace(state.strategy, claims=source.counts.of_set).table(n, None)
        largest = np.exp(np.minimum(source.tolerant, LARGEST))
        table.judge(fills.low, fills.high, ~fills.absent, largest)
    else:
        table = JudgedRows(state.strategy, n, state.items)
        table.ends = np.stack([source.low, source.high]) / source.size
        table.found = mean_differences(fills.low, fills.high, ~fills.absent)
        table.size = (~fills.absent).sum(axis=1)
        table.missing = (~fills.absent & ~fills.scored).sum(axis=1)
    state.table = table
    return state
