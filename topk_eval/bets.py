r"""The bets of a gate: for a candidate, against it, and on the items of a pool.

With d = candidate - champion on an item, in [-1, 1], the capital of the claim "better by more than
epsilon" is

.. math:: e_t = \sum_j w_j\prod_{i\leq t}\Big(1 + \frac{\lambda_j}{1+\epsilon}(d_i-\epsilon)\Big),
   \tag{1}

with the bets :math:`\lambda_j` and weights :math:`w_j` of `topk.confidence.paired`.  If the items
are independent draws and the candidate is not better by more than epsilon, e is a supermartingale
that starts at 1.

**Futility.**  The bets

.. math:: \sum_j w_j\prod_{i\leq t}\big(1+\lambda_j(g-d_i)\big) \tag{2}

reach 10 with probability at most 1/10 if the candidate is better by at least g.

**These N items.**  The items are taken in a uniformly random order, drawn after the candidate is
fixed.  With :math:`y = (1+d)/2`, and :math:`S_i` the sum of the first i of them, the bets are those
of `topk_eval.rows`,

.. math:: e_t = \frac1{16}\sum_j\prod_{i<t}\Big(1-f_j+f_j\frac{y_{i+1}}{\nu_i}\Big), \qquad
   \nu_i = \frac{T - S_i}{N-i}, \tag{3}

with :math:`T = N(1+\epsilon)/2`, where a factor with :math:`\nu_i = 0` is :math:`1-f_j`.  Against
the gain g they are the same with 1 - y for y and :math:`T = N(1-g)/2`.

The chapter "A gate for a stream of candidates" has the proofs.
"""

import math

import numpy as np

from topk._types import Floats
from topk.confidence.paired import BETS, MOST
from topk_eval.rows import FRACTIONS

EXACT = 1e-9  # part of the items: totals closer to the edge may be equal but for rounding errors


def gains_for(d: Floats, epsilon: float) -> Floats:
    """Return the relative gains of the bets (1) on differences (t,), of shape (t, 15)."""
    return np.multiply.outer(d - epsilon, BETS / (1 + epsilon))


def gains_against(d: Floats, gain: float) -> Floats:
    """Return the relative gains of the bets (2) on differences (t,), of shape (t, 15)."""
    return np.multiply.outer(gain - d, BETS)


def gains_to(items: int, total: float, y: Floats, start: int) -> Floats:
    """Return the relative gains of the bets (3) on results drawn without replacement.

    Parameters
    ----------
    items : int
        Number N of results.
    total : float
        The sum of all N against which is bet.
    y : ndarray of float, shape (t,)
        The first results, in [0, 1].
    start : int
        The first result for which gains are returned.

    Returns
    -------
    ndarray of float, shape (t - start, 16)
        f (y / nu - 1), where nu is the mean of those that are left if the sum is ``total``.  Where
        nu is 0, up to rounding errors, the bet is lost: a result of 0 is no evidence.
    """
    known = math.fsum(y[:start].tolist())
    before = known + np.concatenate([[0.0], y[start:].cumsum()])[: y.size - start]
    rest, left = total - before, items - np.arange(start, y.size)
    some = rest > EXACT * items
    ratio = np.divide(y[start:] * left, rest, out=np.zeros(left.size), where=some)
    return np.multiply.outer(ratio - 1, FRACTIONS.ravel())


def grown(capitals: Floats, gains: Floats, weights: Floats) -> tuple[Floats, Floats]:
    """Return the weighted capital after each of m results, (m,), and the capitals at the end.

    ``gains`` are relative, of shape (m, bets).
    """
    with np.errstate(over="ignore", under="ignore"):
        path = np.minimum(capitals * (1 + gains).cumprod(axis=0), MOST)
        return path @ weights, path[-1] if len(path) else capitals
