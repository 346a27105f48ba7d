"""Strategies as a user would write them: in plain Python, and rules of both shapes."""

import math
from dataclasses import dataclass

import topk
from topk._checks import check_integer
from topk.rules.base import BY_BUDGET, NOBODY
from topk.rules.indices import highest, lowest
from topk.rules.ranking import rank
from topk.rules.rounds import end_with
from topk.rules.strategy import positive


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


@dataclass(frozen=True)
class Settled(topk.Rounds):
    """Pull all arms alike until the same k have led for some rounds."""

    k: int
    budget: int
    patience: int
    checks = topk.Rounds.checks | {"patience": lambda value, name: check_integer(value, name, 1)}
    memory = {"same": 0}

    def constants(self, n):
        return {"each": 3 + n // 4}

    def arrays(self, bandits, n):
        return super().arrays(bandits, n) | {"leading": ("flag", n)}

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
    """Toss a coin for the side of the boundary on which to pull."""

    k: int
    budget: int
    a: float
    checks = topk.Indices.checks | {"a": positive}
    random = True

    @topk.rule
    def scale(s):
        return math.sqrt(s.a)

    @topk.rule
    def pick(s, arms):
        heads = s.rng.random() < 0.5
        arms[0] = highest(s) if heads and highest(s) != NOBODY else lowest(s)
        return 1
