"""Strategies in plain Python, for whoever wants to write one without a shape."""

import copy
import json
import reprlib
from types import SimpleNamespace

import numpy as np

from topk._checks import check_arms, check_budget, check_counts, refuse
from topk.engine.deciding import checked, plain
from topk.engine.loop import BY_BUDGET, BY_RULE, RUNNING
from topk.engine.strategy import means_of


class View:
    """What a strategy written in plain Python is shown of its play.

    Attributes
    ----------
    memory : dict
        Free for the strategy's own use.  Plain JSON values only (dicts with texts as keys,
        lists, texts, numbers, True, False, None), or `topk.Session.state` refuses it.
    """

    def __init__(self, counted):
        self._counted, self.memory = counted, {}

    @property
    def n(self):
        """Number of arms."""
        return self._counted.pulls.size

    @property
    def pulls(self):
        """Pulls of each arm, int (n,); read-only."""
        return _locked(self._counted.pulls)

    @property
    def sums(self):
        """Sum of each arm's rewards, float (n,); read-only."""
        return _locked(self._counted.sums)

    @property
    def squares(self):
        """Sum of each arm's squared rewards, float (n,); read-only.

        Empty without ``uses_squares``.
        """
        return _locked(self._counted.squares)

    @property
    def total(self):
        """Pulls of all arms together."""
        return int(self._counted.pulls.sum())

    @property
    def means(self):
        """Mean reward of each arm, float (n,); nan where there is no pull yet."""
        return means_of(self._counted)


def _locked(values):
    """Return a look at an array through which it cannot be changed."""
    shown = values.view()
    shown.flags.writeable = False
    return shown


class PlainPlay:
    """A play of a strategy in plain Python; the same face as `topk.engine.deciding.RuledPlay`."""

    def __init__(self, strategy, shape, rng=None):
        bandits, n = strategy.check_shape(shape)
        self.strategy, self.bandits, size = strategy, bandits, bandits * n
        squares = np.zeros(size if strategy.uses_squares else 0)
        pulls = np.zeros(size, dtype=np.int64)
        self.seen = SimpleNamespace(pulls=pulls, sums=np.zeros(size), squares=squares)
        self.view = View(self.seen)
        self.ended = RUNNING
        self._plan()

    @property
    def total(self):
        """Pulls of all arms together."""
        return self.view.total

    def _plan(self):
        """Ask the strategy for the next batch; refuse what cannot be."""
        arms, counts = self.strategy.ask(self.view)
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
        if self.ended:
            return 0
        m = len(self.wanted[0])
        arms[:m], counts[:m] = self.wanted
        return m

    def count(self, arms, counts, sums, squares):
        """Add a batch to what has been seen."""
        for total, more in zip(vars(self.seen).values(), (counts, sums, squares), strict=True):
            if total.size:
                np.add.at(total, arms, more)

    def update(self, arms):
        """Take note that a whole batch has been counted."""
        self.strategy.update(self.view)
        self._plan()

    def recommend(self):
        """Return the set that would be returned now, sorted."""
        k = self.bandits * self.strategy.k
        found = np.asarray(self.strategy.recommend(self.view))
        arms = check_arms(found, self.view.n, "Strategy.recommend")
        if np.unique(arms).size != k:
            refuse("Strategy.recommend", arms.tolist(), f"{k} different arms")
        return np.sort(arms)

    def withdraw(self, arm):
        """Take an arm out of the play, if the strategy says how."""
        self.strategy.withdraw(self.view, arm)

    def dump(self):
        """Return the state as JSON values; refuse a memory that JSON would change."""
        memory = self.view.memory
        try:
            stored = json.loads(json.dumps(memory, allow_nan=False))
        except (TypeError, ValueError, RecursionError):
            stored = None
        if not isinstance(memory, dict) or stored != memory:
            allowed = "a dict of plain JSON values with text as keys"
            raise ValueError(f"memory must be {allowed}, got {reprlib.repr(memory)}")
        counted = {name: plain(array) for name, array in vars(self.seen).items()}
        wanted = [part.tolist() for part in self.wanted]
        return counted | {"memory": stored, "wanted": wanted, "ended": self.ended}

    def load(self, stored):
        """Put a stored state in place of the present one."""
        for name, kind in (("pulls", "count"), ("sums", "real"), ("squares", "real")):
            array = getattr(self.seen, name)
            array[:] = checked(stored.get(name), name, kind, array.size)
        self.view.memory = copy.deepcopy(stored["memory"])
        arms = check_arms(np.array(stored["wanted"][0], dtype=np.int64), self.view.n, "wanted")
        counts = np.array(stored["wanted"][1], dtype=np.int64)
        self.wanted = arms, check_counts(counts, arms.size, "wanted")
        self.ended = stored["ended"]

