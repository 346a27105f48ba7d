"""The view of a run that a strategy in plain Python is given."""

from typing import Any

import numpy as np

from topk._types import Floats, Integers
from topk.rules.ranking import means_of


class View:
    """The view of a run that a strategy in plain Python is given.

    Attributes
    ----------
    n : int
        Number of arms.
    pulls, sums : ndarray, shape (n,)
        Pulls of each arm, and the sum of its rewards, rescaled as `topk.Strategy` says; read-only.
    squares : ndarray of float, shape (n,)
        Sum of each arm's squared rewards; read-only, empty without ``uses_squares``.
    means : ndarray of float, shape (n,)
        Mean reward of each arm.
    total : int
        Number of pulls so far.
    memory : dict
        For the strategy's own use.  Only plain JSON values (dicts with strings as keys, lists,
        strings, numbers, True, False, None); `topk.Session.state` refuses others.
    rng : numpy.random.Generator
        Generator for random numbers in ``ask`` and ``update``, stored with a session.  Each run has
        its own stream.  Only for strategies with ``random = True``.
    """

    n: int
    memory: dict[str, Any]
    rng: np.random.Generator

    def __init__(self, counted: Any, rng: np.random.Generator | None = None) -> None:
        self.n, self.memory, self._counted = counted.pulls.size, {}, counted
        if rng is not None:
            self.rng = rng

    # looked up at each access, so that a copy of a view shows the counts of its own run
    @property
    def pulls(self) -> Integers:
        """Pulls of each arm, shape (n,); read-only."""
        return _read_only(self._counted.pulls)

    @property
    def sums(self) -> Floats:
        """Sum of each arm's rewards, shape (n,); read-only."""
        return _read_only(self._counted.sums)

    @property
    def squares(self) -> Floats:
        """Sum of each arm's squared rewards, (n,); read-only, empty without ``uses_squares``."""
        return _read_only(self._counted.squares)

    @property
    def total(self) -> int:
        """Pulls of all arms together."""
        return int(self.pulls.sum())

    @property
    def means(self) -> Floats:
        """Mean reward of each arm, float (n,); nan for an arm without pulls."""
        return means_of(self.pulls, self.sums)


def _read_only(values):
    """Return a view of an array through which it cannot be changed."""
    shown = values.view()
    shown.flags.writeable = False
    return shown
