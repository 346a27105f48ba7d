"""Strategies that see single cells: results of arms (models) on items.

Such a strategy keeps a `CellTable` of each arm's counted cells, in plain Python with NumPy.  It is
told cells in the arm's own order, and says of which arms it wants the next ones.  The machine that
runs it is `topk.engine.cells`.
"""

from collections.abc import Sequence
from typing import Any

import numpy as np

from topk._types import Flags, Floats, Integers
from topk.rules.strategy import Strategy

MOST_PAIRS = 4  # pairs that share a batch


class CellTable:
    """The counted cells of a run, and what the rule computes from them.

    Attributes
    ----------
    size : ndarray of int64, shape (n,)
        Number of counted cells of each arm, missing ones included.
    missing : ndarray of int64, shape (n,)
        Number of missing cells among them.
    active : ndarray of bool, shape (n,)
        Which arms have not been withdrawn.
    """

    size: Integers
    missing: Integers
    active: Flags

    def __init__(self, n: int) -> None:
        self.size, self.missing = np.zeros((2, n), dtype=np.int64)
        self.active = np.ones(n, dtype=bool)

    @property
    def n(self) -> int:
        """Number of arms."""
        return self.size.size

    def extend(self, grown: Sequence[tuple[int, Floats]]) -> None:
        """Count further cells: pairs of an arm and its next cells in [0, 1], nan if missing."""
        raise NotImplementedError

    def chosen(self) -> Integers:
        """Return the k arms that would be returned now, best first."""
        raise NotImplementedError

    def decided(self) -> bool:
        """Return whether the guarantee holds for the set that would be returned now."""
        raise NotImplementedError

    def wanted(self) -> Integers:
        """Return arms whose next cells the rule wants, most wanted first, in pairs (2 p,).

        An entry of -1 stands for no arm.
        """
        raise NotImplementedError

    def evidence(self, epsilon: float) -> float:
        """Return an anytime-valid p-value for the hypothesis that `chosen` is wrong by epsilon."""
        raise NotImplementedError

    def withdraw(self, arm: int) -> None:
        """Continue without an arm."""
        raise NotImplementedError

    def shares(self, flight: Integers, left: Integers, size: int) -> Integers:
        """Return how many further cells of each arm to hand out, (n,), at most ``size`` together.

        Parameters
        ----------
        flight, left : ndarray of int64, shape (n,)
            Number of each arm's cells that are in flight, and that can still be handed out.
        size : int
            Number of cells, at least 1.

        Notes
        -----
        No result is imagined.  Until every arm has a cell, numbers of cells are made equal.  Then
        the cells go to the most wanted pairs: one pair for each two cells that are handed out or in
        flight, at most `MOST_PAIRS`; of their arms always the one with the fewest cells on the way.
        """
        shares = np.zeros(self.n, dtype=np.int64)
        if (self.size[self.active] == 0).any():
            wanted, width = np.flatnonzero(self.active), self.n
            ahead = self.size + flight
        else:
            wanted = self.wanted()
            width, ahead = 2 * min(MOST_PAIRS, -(-(size + int(flight.sum())) // 2)), flight.copy()
        for _ in range(size):
            able = [x for x in wanted[:width].tolist() if x >= 0 and left[x] > shares[x]]
            if not able:
                break
            arm = min(able, key=ahead.__getitem__)
            shares[arm] += 1
            ahead[arm] += 1
        return shares


class CellStrategy(Strategy):
    """A strategy that sees single cells, in place of sums of rewards."""

    certifies = anytime = skips_known = True
    bounded = True

    def table(self, n: int, items: Integers | None) -> CellTable:
        """Return an empty table for n arms with ``items`` (n,) cells each; None for no limit."""
        raise NotImplementedError

    def accepts_unsolicited(self, s: Any) -> bool:
        """All cells are counted in the arm's order, whoever asked for them."""
        return True
