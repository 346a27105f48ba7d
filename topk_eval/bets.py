r"""The bets of a gate: for a candidate, against it, on fresh items and on those of a pool.

With d = candidate - champion on an item, in [-1, 1], and an edge c, bets on the claim "the mean of
d is larger than c" begin with a capital of 1, which is split among the rates :math:`\lambda_j`.
With :math:`y = (1+d)/2` the capital after t items is

.. math:: e_t = \sum_j w_j\prod_{i\leq t}\Big(1+\lambda_j\Big(\frac{y_i}{\nu_i}-1\Big)\Big), \tag{1}

where :math:`\nu_i` is the largest mean that :math:`y_i` can have, given the items before, if the
claim is false.  Then each factor has a conditional mean of at most 1, none is negative, and e is a
supermartingale that starts at 1.

**Fresh items** are independent draws, so that :math:`\nu_i = (1+c)/2`, and a factor is
:math:`1+\lambda_j(d_i-c)/(1+c)`.  The rates and weights are those of `topk.confidence.paired`.

**These N items** are taken in a uniformly random order, which is drawn after the candidate is
fixed.  With :math:`S_i` the sum of the first i results y,

.. math:: \nu_{i+1} = \frac{N(1+c)/2-S_i}{N-i}, \tag{2}

and a factor with :math:`\nu = 0` is :math:`1-\lambda_j`.  The rates are the fractions of
`topk_eval.rows`, of equal weight.

**Acceptance** bets on d with c = epsilon, where a result that is not known is the worst for the
candidate.  **Futility** bets on -d with c = -g, where it is the best: for a candidate that is
better by at least the gain g it reaches 10 with probability at most 1/10.  Factors rise with y, and
so does :math:`1/\nu` after it; an e that is filled so is therefore at most the one of all results.

Capitals are kept as logarithms, which are added item by item: they neither overflow nor vanish, and
are the same however the results are cut into calls.  The chapter "A gate for a stream of
candidates" has the proofs.
"""

from __future__ import annotations

import copy
from typing import Any, Self

import numpy as np

from topk._types import Floats
from topk.confidence.paired import BETS, WEIGHTS
from topk_eval.rows import FRACTIONS

EXACT = 1e-9  # part of the items: totals closer to the edge may be equal but for rounding errors
SHARES = np.full(FRACTIONS.size, 1 / FRACTIONS.size)


class Bets:
    """Bets on a claim about the mean of d, after some items; never changed in place.

    Parameters
    ----------
    edge : float
        c in (-1, 1).
    size : int or None
        Number N of items of a pool; None for fresh items.

    Attributes
    ----------
    logs : ndarray of float, shape (bets,)
        The logarithm of what each bet has made of a capital of 1.
    count : int
        Number of items.
    sum : float
        The sum of their y.
    """

    def __init__(self, edge: float, size: int | None) -> None:
        self.edge, self.size = edge, size
        self.rates: Floats
        self.weights: Floats
        self.rates, self.weights = (BETS, WEIGHTS) if size is None else (FRACTIONS.ravel(), SHARES)
        self.logs: Floats = np.zeros(self.rates.size)
        self.count, self.sum = 0, 0.0

    def after(self, d: Floats, kept: int) -> tuple[Self, Floats]:
        """Bet on the next items.

        Parameters
        ----------
        d : ndarray of float, shape (m,)
            Their differences, in their order.
        kept : int
            How many of them, from the first on, are entered for good.

        Returns
        -------
        bets : Bets
            The bets after the first ``kept`` of them.
        log_e : ndarray of float, shape (m,)
            The logarithm of (1) after each of the m items.
        """
        y = (1 + d) / 2
        sums = np.concatenate([[self.sum], y]).cumsum()
        gains = np.multiply.outer(self._ratios(y, sums[:-1]) - 1, self.rates)
        logs = np.concatenate([self.logs[None], np.log1p(gains)]).cumsum(axis=0)
        after = copy.copy(self)
        after.logs, after.sum, after.count = logs[kept], float(sums[kept]), self.count + kept
        return after, mixed(logs[1:], self.weights)

    def _ratios(self, y, before):
        """Return y / nu (m,), given the sums of y before; 0 where nu is 0 but for rounding."""
        if self.size is None:
            return y / ((1 + self.edge) / 2)
        rest = self.size * (1 + self.edge) / 2 - before
        left = self.size - self.count - np.arange(y.size)
        return np.divide(y * left, rest, out=np.zeros(y.size), where=rest > EXACT * self.size)

    def log_e(self) -> float:
        """Return the logarithm of (1) after the items so far."""
        return float(mixed(self.logs[None], self.weights)[0])

    def dump(self) -> dict[str, Any]:
        """Return what is stored."""
        return {"logs": self.logs, "count": self.count, "sum": self.sum}

    @classmethod
    def load(cls, edge: float, size: int | None, stored: dict[str, Any]) -> Self:
        """Return bets from what was stored."""
        bets = cls(edge, size)
        bets.logs, bets.count, bets.sum = stored["logs"], stored["count"], float(stored["sum"])
        return bets


def mixed(logs: Floats, weights: Floats) -> Floats:
    """Return the logarithms of weighted means (m,) of capitals, from their logarithms (m, bets)."""
    top = logs.max(axis=1)
    return top + np.log((np.exp(logs - top[:, None]) * weights).sum(axis=1))
