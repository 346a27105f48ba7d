"""Strategies as a user would write them: in plain Python, and rules of both forms."""

import math
from dataclasses import dataclass

import topk
from topk._checks import check_integer
from topk.rules import Stored
from topk.rules.base import BY_BUDGET, NO_ARM
from topk.rules.indices import highest, lowest
from topk.rules.ranking import rank
from topk.rules.rounds import end_with
from topk.rules.strategy import positive


@dataclass(frozen=True)
class Doubling(topk.Strategy):
    """Pull the active arms 1, 2, 4, ... times, and reject the worse half each time."""

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
    """Batches with unequal counts; stops by its own rule after some of them."""

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


@dataclass(frozen=True)
class Settled(topk.Rounds):
    """Pull all arms equally often until the same k have led for some rounds."""

    k: int
    budget: int
    patience: int
    checks = topk.Rounds.checks | {"patience": lambda value, name: check_integer(value, name, 1)}

    def state(self, arms):
        leading = Stored("flag", arms.n)
        return {"each": 3 + arms.n // 4, "leading": leading, "now": {"same": 0}}

    @topk.rule
    def share(s):
        return s.each

    @topk.rule
    def decide(s):
        ranked = rank(s)
        s.now.same += 1
        for arm in ranked[: s.k]:
            if s.leading[arm] == 0:
                s.now.same = 0
        s.leading[:] = 0
        s.leading[ranked[: s.k]] = 1
        if s.now.same == s.patience:
            end_with(s, ranked, BY_BUDGET)


@dataclass(frozen=True)
class Coin(topk.Indices):
    """Pull on a random side of the boundary."""

    k: int
    budget: int
    a: float
    checks = topk.Indices.checks | {"a": positive}
    random = True

    @topk.rule
    def scale(s):
        return math.sqrt(s.a)

    @topk.rule
    def pick(s):
        heads = s.rng.random() < 0.5
        return highest(s) if heads and highest(s) != NO_ARM else lowest(s), NO_ARM
