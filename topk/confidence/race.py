r"""A race for the best arm: every arm bets against itself, for an opponent chosen beforehand.

Rows are results of n arms, numbers in [0, 1], and are read one after the other.  Before a row is
read, each arm b that is left gets an opponent o among the others that are left, from earlier rows
alone: the arm with the largest mean, or for this leader itself the second.  With the bets and
weights of `topk.confidence.paired`, the row multiplies the parts of b's capital by

.. math:: 1 + \lambda_j (x_o - x_b), \tag{1}

and b leaves for good when :math:`e_b`, the sum of its capital, reaches :math:`1/\delta`.

**Statement.**  Let the arms have a fixed order, y before x, such that the conditional mean of
:math:`x_x - x_y` given earlier rows is never positive: the order of the means, ties by label, if
rows are independent draws.  With probability :math:`1-\delta` the first arm never leaves.  So at
all times the arms that are left are a confidence set for the best one, and a single one is it.

*Proof.*  Let b be the first arm of the order.  All its opponents come after it; so, whichever was
chosen, (1) has a conditional mean of at most 1 given the rows before, and it is not negative.
:math:`e_b` is a non-negative supermartingale that starts at 1, and Ville's inequality applies.
Capitals of other arms do not matter: a single hypothesis is true, so delta is not divided.  (For
the two best this fails: the second best may bet for the best.)

**Order of arrival.**  The race is a function of the rows, which exist before anyone looks.  A row
is read as soon as all arms that are left have their cells of it, whatever the order in which
these came, and whatever cells arms have that have left.  A cell that has not come stops the race:
were it filled, those who choose which cells come would choose the opponents.

**Failed cells.**  A cell that can never be had lies between two fills, 0 and 1: in (1) it counts as
the lower one for the opponent and as the upper one for b, and as their mean in the sums that
choose opponents.  This is valid if whether a cell fails does not depend on results of later rows.

**Cells that were never asked for.**  If it was fixed before any result which cells there are, the
factor (1) is 1 where one of its two cells is absent, means are those of what is there, and an
absent cell does not stop the race (``fixed=True``).

**The worst arm.**  On 1 - x the same race is one for the worst arm (``worst=True``).

**Independent arms.**  If rewards of each arm are independent draws, and arms are independent of
each other, every arm may read its own sequence on.  In a round the leader reads its next r
rewards, r being the square root, rounded, of the number of the others that are left, and every
other arm its next one; the leader's mean replaces its result in (1) (``ahead=True``).  The proof is
the same, round for row.

**Exactly these N items.**  Let the rows be N fixed ones in a uniformly random order, and S sums
over the first t.  If b's total is the larger one, or equal, :math:`x_o - x_b` on the next row has a
conditional mean of at most :math:`u = (S_b - S_o)/(N - t)`, and with :math:`v = \min(u, 1)`

.. math:: 1 + \lambda_j \frac{x_o - x_b - v}{1 + v} \tag{2}

replaces (1); the least possible difference is -1, so it is not negative.  If u < -1, or u = -1 and
the next difference is larger, o has certainly the larger total, and b leaves; at the end sums are
known.  Failed cells count in u as the upper fill for b and as the lower one for o
(``items=N``).  It needs fewer cells than (1) for arms that err together and are not nearly tied.
"""

import copy
import math
from typing import Self

import numpy as np

from topk._types import Flags, Floats, Integers
from topk.confidence.paired import BETS, MOST, SLACK, WEIGHTS

__all__ = ["Race", "prefixes", "race_of"]

NEAR = 1e-9  # per item: sums that differ by less are taken for equal
BLOCK, MANY = 64, 2**62  # rows that are read together; rows where they do not run out


class Race:
    """A race for the best arm, which reads rows as they become complete.

    Parameters
    ----------
    n : int
        Number of arms, at least 2.
    delta : float
        Probability of an error, in (0, 1).
    share : float
        Part of delta that the race may use, in (0, 1].
    worst : bool
        Whether it is a race for the worst arm.
    fixed : bool
        Whether it was fixed before any result which cells there are; then cells are nan where
        absent.
    ahead : bool
        Whether arms are independent, so that the leader reads more results than the others.
    items : int, optional
        Number of rows, if the statement is about exactly these and their order is random.

    Attributes
    ----------
    left : ndarray of bool, shape (n,)
        Which arms are left.
    largest : ndarray of float, shape (n,)
        The largest e-value of each arm so far, inf if it is certainly not the best.
    left_at : ndarray of int64, shape (n,)
        Number of rounds after which each arm has left, -1 if it is left.
    rounds : int
        Number of rounds so far, which are rows unless ``ahead``.
    used : ndarray of int64, shape (n,)
        Number of cells of each arm that have been read.
    """

    left: Flags
    largest: Floats
    left_at: Integers
    used: Integers

    def __init__(
        self,
        n: int,
        delta: float,
        share: float = 1.0,
        *,
        worst: bool = False,
        fixed: bool = False,
        ahead: bool = False,
        items: int | None = None,
    ) -> None:
        self.delta, self.share = delta, share
        self.items, self.finite = items or MANY, items is not None
        self.worst, self.fixed, self.ahead = worst, fixed, ahead
        self.left, self.left_at = np.ones(n, dtype=bool), np.full(n, -1)
        self.capitals, self.largest, self.rounds = np.ones((n, BETS.size)), np.ones(n), 0
        self.used, self.counts = np.zeros((2, n), dtype=np.int64)  # the latter without absent ones
        self.sums = np.zeros((3, n))  # of the lower fills, of their means, and of the upper fills

    @property
    def level(self) -> float:
        """The e-value at which an arm leaves."""
        return SLACK / (self.share * self.delta)

    @property
    def over(self) -> bool:
        """Whether no further row is read: one arm is left, or all items have been read."""
        return bool(self.left.sum() == 1 or self.rounds == self.items)

    def leaders(self) -> tuple[int, int]:
        """Return the arm that is first by the rows so far, and the second (-1 if it is alone)."""
        arms = np.flatnonzero(self.left)
        if arms.size == 1:
            return int(arms[0]), -1
        found = leaders(self.sums[1, arms, None], self.counts[arms, None])
        return int(arms[found[0][0]]), int(arms[found[1][0]])

    def needs(self) -> Integers:
        """Return how many cells each arm must have for the next round, (n,)."""
        if self.over:
            return self.used.copy()
        needed = self.used + self.left
        if self.ahead:
            needed[self.leaders()[0]] += self._reads() - 1
        return needed

    def _reads(self):
        """Return how many cells the leader reads in the next round."""
        return round(math.sqrt(self.left.sum() - 1)) if self.ahead else 1

    def holding(self, size: Integers) -> Integers:
        """Return the arms whose next cells the race waits for, if arms have ``size`` (n,) cells."""
        return np.flatnonzero(self.needs() > size)

    def count(self, low: Floats, high: Floats, size: Integers) -> int:
        """Read the rounds that are complete, and return their number.

        Parameters
        ----------
        low, high : ndarray of float, shape (n, m)
            Both fills, in [0, 1], of all cells of each arm from its first one on; equal for a
            result.  With ``fixed`` they are nan where a cell is absent.
        size : ndarray of int64, shape (n,)
            How many of these the arm has.  Nothing behind them is looked at.
        """
        before = self.rounds
        while not (self.over or self.holding(size).size):
            arms = np.flatnonzero(self.left)
            if self.ahead:
                self._read(arms, self._round(arms, low, high))
            else:
                end = min(int(size[arms].min()), self.rounds + BLOCK, self.items)
                rows = slice(self.rounds, end)
                self._read(arms, np.array([low[arms, rows], high[arms, rows]]))
            if self.rounds == self.items and self.left.sum() > 1:
                self._settle(low, high)
        return self.rounds - before

    def _round(self, arms, low, high):
        """Return both fills of a round, (2, m, 1): of the leader the means of what it reads."""
        at = self.used[arms]
        fills = np.array([low[arms, at], high[arms, at]])
        first, reads = self.leaders()[0], self._reads()
        cells = slice(self.used[first], self.used[first] + reads)
        read = np.array([low[first, cells], high[first, cells]])
        fills[:, arms == first] = np.add.accumulate(read, axis=1)[:, -1:] / reads
        return fills[..., None]

    def _read(self, arms, fills):
        """Read rows of the arms that are left, (2, m, rows), up to the first that makes one leave.

        Each row is treated as if it came alone, in the same order of operations.
        """
        fills = 1 - fills[::-1] if self.worst else fills
        there, reads = ~np.isnan(fills[0]), np.ones(arms.size, dtype=np.int64)
        if self.ahead:
            reads[arms == self.leaders()[0]] = self._reads()
        added = np.where(there, np.array([fills[0], fills.sum(axis=0) / 2, fills[1]]), 0.0)
        sums = self._before(self.sums[:, arms], added * reads[:, None])
        counts = self._before(self.counts[arms], there * reads[:, None])
        rows = np.arange(there.shape[1])
        first, second = leaders(sums[1, :, :-1], counts[:, :-1])
        rivals = np.where(np.arange(arms.size)[:, None] == first, second, first)
        gains = fills[0][rivals, rows] - fills[1]
        sure = np.zeros(gains.shape, dtype=bool)
        if self.finite:
            gains, sure = self._without_replacement(gains, sums[..., :-1], rivals, rows)
        gains[~(there & there[rivals, rows])] = 0.0
        capitals = 1 + np.multiply.outer(gains, BETS)
        capitals[:, 0] *= self.capitals[arms]
        np.multiply.accumulate(capitals, axis=1, out=capitals)
        e = np.add.accumulate(capitals * WEIGHTS, axis=-1)[..., -1]  # as in compiled loops
        e = np.where(sure, np.inf, e)
        leaves = e >= self.level
        end = int(leaves.any(axis=0).argmax()) if leaves.any() else rows.size - 1
        self.capitals[arms] = np.minimum(capitals[:, end], MOST)
        self.largest[arms] = np.maximum(self.largest[arms], e[:, : end + 1].max(axis=1))
        self.sums[:, arms], self.counts[arms] = sums[..., end + 1], counts[:, end + 1]
        self.used[arms] += reads * (end + 1)
        self.rounds += end + 1
        self._leave(arms[leaves[:, end]])

    @staticmethod
    def _before(start, added):
        """Return the sums before each row and after the last one, added up one by one."""
        return np.add.accumulate(np.concatenate([start[..., None], added], axis=-1), axis=-1)

    def _without_replacement(self, gains, sums, rivals, rows):
        """Return the gains of (2) from differences, and where an arm is certainly not the best."""
        left, near = self.items - self.rounds - rows, NEAR * self.items
        lead = sums[2] - sums[0][rivals, rows]
        v = np.clip(lead / left, -1.0, 1.0)
        edge = lead <= near - left  # all that is left goes to the rival, or it is too late
        sure = (lead < -left - near) | (edge & (gains > 2 * near - 1))
        gains = np.divide(gains - v, 1 + v, out=np.zeros_like(gains), where=~edge)
        return np.maximum(gains, -1.0), sure

    def _leave(self, arms):
        """Let arms leave; if none would be left, the first of them stays."""
        self.left[arms] = False
        self.left_at[arms] = self.rounds
        if not self.left.any():
            self.left[arms] = True
            stays = self.leaders()[0]
            self.left[arms] = False
            self.left[stays], self.left_at[stays] = True, -1

    def _settle(self, low, high):
        """Let arms leave whose totals are certainly smaller, or equal with a later label."""
        arms = np.flatnonzero(self.left)
        fills = [[math.fsum(x[arm, : self.items]) for arm in arms] for x in (low, high)]
        low, high = np.array(fills) if not self.worst else self.items - np.array(fills[::-1])
        earlier = arms[:, None] < arms
        beaten = ((low[:, None] > high) | ((low[:, None] == high) & earlier)).any(axis=0)
        self.largest[arms[beaten]] = np.inf
        self.left[arms[beaten]] = False
        self.left_at[arms[beaten]] = self.rounds

    def evidence(self) -> float:
        """Return an anytime-valid p-value for the hypothesis that the leader is not the best.

        The probability that it is ever at most alpha while this holds is at most alpha, for every
        alpha: then the best arm is one of the others, and its e-value has reached 1/(share alpha).
        """
        others = np.delete(self.largest, self.leaders()[0])
        return float(min(1.0, 1 / (self.share * others.min())))

    def wanted(self, have: Integers, left: Integers, size: int, trials: int = 1) -> Integers:
        """Return how many trials of each arm to hand out next, (n,), at most ``size`` together.

        They complete the next round, then further ones that would follow if the same arm led.

        Parameters
        ----------
        have, left : ndarray of int64, shape (n,)
            Number of each arm's trials that are known or on the way, and that are left.
        size : int
            Number of trials.
        trials : int
            Number of trials of which each cell is the mean.
        """
        needed, shares = self.needs(), np.zeros_like(have)
        step = needed - self.used
        while size > 0 and step.any():
            missing = np.maximum(trials * needed - have - shares, 0)
            if (shares + missing > left).any():
                break
            if missing.sum() > size:
                order = np.argsort(have + shares - trials * needed, kind="stable")
                cut = np.minimum(np.cumsum(missing[order]), size)
                missing[order] = np.diff(cut, prepend=0)
            shares, size, needed = shares + missing, size - int(missing.sum()), needed + step
        return shares

    def copy(self) -> Self:
        """Return a copy, which may go on by itself."""
        other = copy.copy(self)
        for name, value in vars(self).items():
            if isinstance(value, np.ndarray):
                setattr(other, name, value.copy())
        return other


def leaders(sums, counts):
    """Return who is first and who is second in each column of sums, by means; ties by label."""
    means = np.divide(sums, counts, out=np.full(sums.shape, -1.0), where=counts > 0)
    first = means.argmax(axis=0)
    np.put_along_axis(means, first[None], -2.0, axis=0)
    return first, means.argmax(axis=0)


def prefixes(absent: Flags) -> Integers:
    """Return how many cells each row of ``absent`` (n, N) has before the first absent one, (n,)."""
    ended = np.pad(absent, ((0, 0), (0, 1)), constant_values=True)
    return ended.argmax(axis=1)


def race_of(
    low: Floats,
    high: Floats,
    delta: float,
    share: float = 1.0,
    *,
    absent: Flags | None = None,
    worst: bool = False,
    fixed: bool = False,
    items: int | None = None,
) -> Race:
    """Return the race of a whole table, read as far as it can be.

    Parameters
    ----------
    low, high : ndarray of float, shape (n, N)
        Both fills of each cell, in [0, 1]: equal for a result, 0 and 1 for a failed cell.
    delta, share, worst, fixed, items
        As in `Race`.
    absent : ndarray of bool, shape (n, N), optional
        Which cells were not asked for.  Unless ``fixed``, the first one that is needed ends the
        race; ``race.holding(prefixes(absent))`` are the arms that hold it up.

    Returns
    -------
    Race
        The same as one that has read the rows one by one.
    """
    n, width = low.shape
    absent = np.zeros((n, width), dtype=bool) if absent is None else absent
    race = Race(n, delta, share, worst=worst, fixed=fixed, items=items)
    size = np.full(n, width) if fixed else prefixes(absent)
    race.count(np.where(absent, np.nan, low), np.where(absent, np.nan, high), size)
    return race
