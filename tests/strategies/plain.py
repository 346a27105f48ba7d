"""Strategies in plain Python, as a user would write them."""

from dataclasses import dataclass

import topk


@dataclass(frozen=True)
class Doubling(topk.Strategy):
    """Pull the active arms 1, 2, 4, ... times; each time the worse half of them leaves."""

    k: int
    budget: int

    def ask(self, view):
        active = view.memory.setdefault("active", list(range(view.n)))
        count = 2 ** view.memory.setdefault("round", 0)
        if len(active) <= self.k or view.total + count * len(active) > self.budget:
            return [], []
        return active, [count] * len(active)

    def update(self, view):
        means = view.means
        ranked = sorted(view.memory["active"], key=lambda arm: (-means[arm], arm))
        view.memory["active"] = sorted(ranked[: max(self.k, (len(ranked) + 1) // 2)])
        view.memory["round"] += 1

    def recommend(self, view):
        means = view.means
        active = view.memory.get("active", range(view.n))
        return sorted(active, key=lambda arm: (-means[arm], arm))[: self.k]


@dataclass(frozen=True)
class BigBatches(topk.Strategy):
    """Batches of unequal counts, any number of times: ends by its own rule after some."""

    k: int
    size: int
    batches: int = 4
    certifies = True
    anytime = True
    uses_squares = True

    def ask(self, view):
        if view.memory.setdefault("batch", 0) >= self.batches:
            return [], []
        arms = list(range(view.n))
        if view.memory["batch"] == 0:
            return arms, [1] * view.n
        # not in increasing order, and some arms not at all
        arms = arms[::-1][: max(1, view.n - view.memory["batch"] + 1)]
        return arms, [1 + (self.size * (arm + 1)) // view.n for arm in arms]

    def update(self, view):
        view.memory["batch"] += 1
