"""What a strategy written in plain Python sees of its run."""

from typing import Any

import numpy as np

from topk._types import Floats, Integers
from topk.rules.ranking import means_of


class View:
    """What a strategy written in plain Python is shown of its play.

    Attributes
    ----------
    n : int
        Number of arms.
    pulls, sums : ndarray, shape (n,)
        Pulls of each arm, and the sum of its rewards; read-only.
    squares : ndarray of float, shape (n,)
        Sum of each arm's squared rewards; read-only, empty without ``uses_squares``.
    memory : dict
        Free for the strategy's own use.  Plain JSON values only (dicts with texts as keys,
        lists, texts, numbers, True, False, None), or `topk.Session.state` refuses it.
    rng : numpy.random.Generator
        For random numbers in ``ask`` and ``update``, a stream of the play's own, stored with a
        session; only of a strategy with ``random = True``.
    """

    n: int
    memory: dict[str, Any]
    rng: np.random.Generator

    def __init__(self, counted: Any, rng: np.random.Generator | None = None) -> None:
        self.n, self.memory, self._counted = counted.pulls.size, {}, counted
        if rng is not None:
            self.rng = rng

    # looked up each time: a copy of a view shows what its own play has counted
    @property
    def pulls(self) -> Integers:
        return _locked(self._counted.pulls)

    @property
    def sums(self) -> Floats:
        return _locked(self._counted.sums)

    @property
    def squares(self) -> Floats:
        return _locked(self._counted.squares)

    @property
    def total(self) -> int:
        """Pulls of all arms together."""
        return int(self.pulls.sum())

    @property
    def means(self) -> Floats:
        """Mean reward of each arm, float (n,); nan where there is no pull yet."""
        return means_of(self.pulls, self.sums)


def _locked(values):
    """Return a look at an array through which it cannot be changed."""
    shown = values.view()
    shown.flags.writeable = False
    return shown
