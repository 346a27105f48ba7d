r"""Bets on a finite test set with graded cells, drawn without replacement.

A model has N fixed cells x in [0, 1], asked in a uniformly random order that is drawn independently
of everything that decides.  Let :math:`S_i` be the sum of the first i cells.  If the sum of all N
is T, the mean of those that are left after i cells is :math:`\mu_i(T) = (T - S_i)/(N - i)`.

**The capital.**  A bet with fraction f in [0, 1) on larger cells multiplies the capital by
:math:`1 - f + f x/\mu_i(T)` when cell i + 1 turns out to be x.  The fractions are
:math:`f_j = o_j/(1 + o_j)` with odds :math:`o_j = 2^{5-j}`, j = 0 to 15, and

.. math:: \mathrm{Up}_t(T) = \frac1{16}\sum_j \prod_{i<t} \Big(1 - f_j + f_j\frac{x_{i+1}}
   {\mu_i(T)}\Big). \tag{1}

:math:`\mathrm{Up}(T)` is infinite for :math:`T < S_t`, which is impossible; where :math:`\mu_i(T) =
0` and the cell is 0, the factor is 1 - f.

**A lower bound.**  With probability 1 - d, T is at all times at least :math:`L_t`, the infimum of
all T' that satisfy :math:`\mathrm{Up}_s(T') < 1/d` for all :math:`s \leq t`.

*Proof.*  The order is uniform, so at the true T the next cell has conditional mean
:math:`\mu_i(T)`.  Hence each product in (1) is a non-negative martingale (where :math:`\mu_i(T) =
0` a supermartingale) that starts at 1, and so is their average.  By Ville's inequality it ever
reaches 1/d with probability at most d.  Each factor falls when T' grows, since x is non-negative
and :math:`\mu_i` increases; so Up falls, and all T' that are excluded at some time are smaller than
T, except with that probability.

**An upper bound** is N minus the lower bound for the cells 1 - x.  The orders of different models
may depend on each other in any way, because each bound is about one row.

**Missing cells.**  A cell that cannot be had counts as 0 for the lower bound, and as 1 for the
upper one (which is 0 for 1 - x).  The bounds then hold for every completion, however the missing
cells came about: if :math:`y_i \leq x_i` for all i, every factor of Up at T is at most as large for
y as for x, because :math:`S_i` is smaller and :math:`\mu_i(T)` larger.

**Computation.**  The bound that is returned is a multiple of :math:`N/2^{17}` at which the computed
capital has reached the level, moved outward by 1e-9 N; the level is raised by
:math:`10^{-9}(1 + t/1000)`, which exceeds the rounding errors of sums of t terms.  After all N
cells the bound is their sum, correctly rounded, so that equal rows have equal bounds.  There is no
statistic that does not depend on the order of the cells: after (1, 1/2) and after (1/2, 1), with N
= 3, T = 2 and f = 1/2, the capital is 1.25 and 1.0208.

The bets are those of Waudby-Smith and Ramdas (2024, doi:10.1093/jrsssb/qkad009), who also bet
without replacement.
"""

import copy
import math
from typing import Self

import numpy as np

from topk._types import Floats

ODDS = 2.0 ** np.arange(5, -11, -1)
FRACTIONS = (ODDS / (1 + ODDS))[:, None]
BLOCK = 16  # factors that are multiplied before a logarithm is taken
STEPS = 2**17  # number of totals, equally spaced from 0 to N, that can be a bound
OUTWARD = 1e-9  # fraction of N by which bounds are moved outward


class Row:
    """The cells of a model on one side, in the order asked, and the lower bound of their total.

    Parameters
    ----------
    items : int
        Number N of cells.
    level : float
        ln(1/d).

    Attributes
    ----------
    size : int
        Number t of cells so far.
    total : float
        Sum of the cells so far; correctly rounded if all are known.
    step : int
        The bound that bets have reached, in units of ``items / STEPS``.
    """

    def __init__(self, items: int, level: float) -> None:
        self.items, self.level = items, level
        self._cells, self._before = np.zeros((2, 64))  # cells, and the sum of those before each
        self.size, self.total, self.step = 0, 0.0, 0

    @property
    def cells(self) -> Floats:
        """The cells so far, (t,)."""
        return self._cells[: self.size]

    @property
    def complete(self) -> bool:
        """Whether all cells are known."""
        return self.size == self.items

    @property
    def low(self) -> float:
        """The lower bound of the total."""
        if self.complete:
            return self.total
        return max(self.total, (self.step / STEPS - OUTWARD) * self.items)

    def copy(self) -> Self:
        """Return a copy, which may change."""
        other = copy.copy(self)
        other._cells, other._before = self._cells.copy(), self._before.copy()
        return other

    def extend(self, cells: Floats) -> None:
        """Add cells (m,), each in [0, 1], and update the bound after each of them."""
        for cell in cells:
            self.add(cell[None])
            if not self.complete:
                self.step = self.last_step(self.step, self.level)

    def add(self, cells: Floats) -> None:
        """Add cells (m,) without updating the bound."""
        end = self.size + cells.size
        if end > self._cells.size:
            room = np.zeros((2, min(max(end, 2 * self._cells.size), self.items)))
            room[:, : self.size] = self._cells[: self.size], self._before[: self.size]
            self._cells, self._before = room
        for cell in cells.tolist():
            self._cells[self.size], self._before[self.size] = cell, self.total
            self.size, self.total = self.size + 1, self.total + cell
        if self.complete:
            self.total = math.fsum(self.cells.tolist())

    def reaches(self, step: int, level: float) -> bool:
        """Return whether the present capital at a total of ``step`` units is at least e^level."""
        total = step / STEPS * self.items
        if total <= self.total:
            return True
        return self.log_capital(total) >= level + 1e-9 * (1 + self.size / 1000)

    def log_capital(self, total: float) -> float:
        """Return ln Up of (1) at a total that is larger than the sum of the cells."""
        return float(log_mean_exp(self._log_factors(total).sum(axis=1)))

    def largest_log_capital(self, total: float) -> float:
        """Return the largest value of `log_capital` so far; infinite up to the sum of the cells."""
        if total <= self.total:
            return math.inf
        factors = 1 + FRACTIONS * (self._ratios(total) - 1)
        return max(0.0, float(np.max(log_mean_exp(np.log(factors).cumsum(axis=1)), initial=0.0)))

    def _ratios(self, total):
        """Return the cells divided by their conditional means, (t,)."""
        left = self.items - np.arange(self.size)
        return self.cells * left / (total - self._before[: self.size])

    def _log_factors(self, total):
        """Return the logarithms of products of at most BLOCK factors each, (16, blocks)."""
        blocks = -(-self.size // BLOCK)
        ratios = np.ones(blocks * BLOCK)  # a factor of 1 fills the last block
        ratios[: self.size] = self._ratios(total)
        factors = FRACTIONS * (ratios - 1)
        factors += 1
        return np.log(factors.reshape(FRACTIONS.size, blocks, BLOCK).prod(axis=2))

    def last_step(self, start: int, level: float) -> int:
        """Return the largest number of steps at which the present capital has reached e^level.

        At least ``start``, from which the search gallops: the bound moves little with one cell.
        """
        top = math.ceil((self.total + self.items - self.size) / self.items * STEPS)
        low = max(start, math.floor(self.total / self.items * STEPS))
        if low >= top or not self.reaches(low + 1, level):
            return start
        low, width = low + 1, 1
        while low + width < top and self.reaches(low + width, level):
            low, width = low + width, 4 * width
        high = min(low + width, top)
        while high - low > 1:
            middle = (low + high) // 2
            low, high = (middle, high) if self.reaches(middle, level) else (low, middle)
        return low


def log_mean_exp(logs: Floats) -> Floats:
    """Return ln of the mean over the first axis of e^logs."""
    top = logs.max(axis=0)
    return top + np.log(np.exp(logs - top).mean(axis=0))
