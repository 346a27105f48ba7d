"""Share the pulls evenly, look now and then, and stop when the evidence suffices.

This is the baseline with a valid stopping rule, which other strategies should undercut.  It is
written in plain Python; a compiled rule (`topk.Rounds`, `topk.Indices`) is submitted in the same
way.
"""

from dataclasses import dataclass, replace

import topk
from topk.confidence import evidence

NAME = "even shares"
SETTINGS = ("0/1", "scores", "test set")


@dataclass(frozen=True)
class Even(topk.Strategy):
    """Raise every arm's pulls by about a tenth at a time, until the p-value is at most delta."""

    k: int
    delta: float
    items: int | None = None  # results of an arm in a finite test set
    certifies = anytime = True

    def without_replacement(self, items):
        return replace(self, items=items)

    def ask(self, view):
        if view.total:
            chosen = self.recommend(view)
            if evidence(view.pulls, view.sums, chosen, items=self.items) <= self.delta:
                return [], []
        return range(view.n), [1 + view.total // (10 * view.n)] * view.n


def make(k, delta):
    """Return the strategy that finds the k best arms with failure probability at most delta."""
    return Even(k, delta)
