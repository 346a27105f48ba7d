"""The state of a run of a strategy in plain Python, with the methods of `RunState`."""

import copy
from types import SimpleNamespace

import numpy as np

from topk._checks import check_arms, check_budget, check_counts, check_json, refuse
from topk._json import from_json, restore_arrays, to_json, to_json_list
from topk.rules.base import BY_BUDGET, BY_RULE, RUNNING
from topk.rules.view import View


class PlainRunState:
    """A run of a strategy in plain Python, with the methods of `topk.rules.state.RunState`."""

    accepts_unsolicited = active = False  # only the strategy knows which arms are still in the run

    def __init__(self, strategy, shape, rng=None):
        bandits, n = strategy.check_shape(shape)
        self.strategy, self.bandits, size = strategy, bandits, bandits * n
        pulls, squares = np.zeros(size, dtype=np.int64), np.zeros(size * strategy.uses_squares)
        self.seen = SimpleNamespace(pulls=pulls, sums=np.zeros(size), squares=squares)
        rng = (rng or np.random.default_rng()) if strategy.random else None
        self.view = View(self.seen, rng)
        self.ended = RUNNING
        self._plan()

    def copy(self):
        """Return a copy of the run, which may continue on its own."""
        return copy.deepcopy(self, {id(self.strategy): self.strategy})

    @property
    def total(self):
        """Pulls of all arms together."""
        return self.view.total

    def _plan(self):
        """Ask the strategy for the next batch; refuse an invalid one."""
        answer = self.strategy.ask(self.view)
        if not isinstance(answer, tuple | list | np.ndarray) or len(answer) != 2:
            refuse("what Strategy.ask returns", answer, "a pair (arms, counts)")
        arms, counts = answer
        arms = check_arms(np.asarray(arms), self.view.n, "arms of Strategy.ask")
        counts = check_counts(np.asarray(counts), arms.size, "counts of Strategy.ask")
        if np.unique(arms).size != arms.size:
            refuse("arms of Strategy.ask", arms.tolist(), "free of duplicates")
        if arms.size and not counts.any():
            refuse("counts of Strategy.ask", counts.tolist(), "positive for at least one arm")
        budget = getattr(self.strategy, "budget", None)
        if budget is not None and self.total + counts.sum() > check_budget(budget):
            left = f"at most the {budget - self.total} pulls that are left of budget = {budget}"
            refuse("counts of Strategy.ask", f"{counts.sum()} pulls", left)
        self.wanted = arms[counts > 0], counts[counts > 0]
        if arms.size == 0:
            self.ended = BY_RULE if self.strategy.certifies else BY_BUDGET

    def ask(self, arms, counts):
        """Write the next batch into ``arms`` and ``counts`` (n,); return its length."""
        m = len(self.wanted[0])
        arms[:m], counts[:m] = self.wanted
        return m

    def count(self, arms, counts, sums, squares):
        """Add a batch to the counts."""
        for total, more in zip(vars(self.seen).values(), (counts, sums, squares), strict=True):
            if total.size:
                np.add.at(total, arms, more)

    def update(self, arms, surplus=False):
        """Update the strategy after a whole batch has been counted, and plan the next one."""
        self.strategy.update(self.view)
        self._plan()

    def agrees(self):
        """Return True: a strategy in plain Python is not asked again whether it is done."""
        return True

    def recommend(self):
        """Return the set that is recommended now, sorted."""
        k = self.bandits * self.strategy.k
        found = np.asarray(self.strategy.recommend(self.view))
        arms = check_arms(found, self.view.n, "Strategy.recommend")
        if arms.size != k or np.unique(arms).size != k:
            refuse("Strategy.recommend", arms.tolist(), f"{k} different arms")
        return np.sort(arms)

    def withdraw(self, arm):
        """Withdraw an arm from the run, if the strategy supports it."""
        self.strategy.withdraw(self.view, arm)

    def dump(self):
        """Return the state as JSON values; refuse a memory that JSON would alter."""
        memory, allowed = self.view.memory, "a dict of plain JSON values with text as keys"
        if not isinstance(memory, dict):
            refuse("memory", memory, allowed)
        counted = {name: to_json_list(array) for name, array in vars(self.seen).items()}
        kept = to_json(check_json(memory, "memory", allowed), exact=True)
        kept = {"memory": kept, "ended": self.ended}
        if self.strategy.random:
            kept["rng"] = self.view.rng.bit_generator.state
        return counted | kept | {"wanted": [part.tolist() for part in self.wanted]}

    def load(self, stored):
        """Replace the present state by a stored one."""
        restore_arrays(self.seen, {"pulls": "count", "sums": "real", "squares": "real"}, stored)
        self.view.memory, self.ended = from_json(stored["memory"]), stored["ended"]
        arms = check_arms(stored["wanted"][0], self.view.n, "wanted")
        self.wanted = arms, check_counts(stored["wanted"][1], arms.size, "wanted")
        if self.strategy.random:
            self.view.rng.bit_generator.state = stored["rng"]
