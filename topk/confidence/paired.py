r"""Paired bets: e-values from shared items, for claims that one model is better than another.

Items are independent draws from a population.  Models a and b, run on the same item, have the
results :math:`x_a, x_b` in [0, 1], and :math:`d = x_a - x_b`, which may depend on the item in any
way.  A gambler who claims "a is better than b" splits a capital of 1 into the parts :math:`w_j`
(`WEIGHTS`) and bets each part at its own rate :math:`\lambda_j` (`BETS`).  After s common items

.. math:: e_{ab} = \sum_j w_j\prod_{i\leq s}\big(1 + \lambda_j(d_i+\epsilon)\big). \tag{1}

**It is a test supermartingale.**  If :math:`\mu_a \leq \mu_b - \epsilon`, each factor has the
conditional mean :math:`1 + \lambda_j(\mu_a-\mu_b+\epsilon) \leq 1`, and no factor is negative,
since :math:`\lambda_j(1-\epsilon) \leq 1`.  By Ville's inequality e ever reaches C with probability
at most 1/C (bets of this kind: Waudby-Smith and Ramdas 2024).

**Prefixes of one order.**  The values (1) for s = 1, 2, ... are a property of the infinite table of
results, before anyone looks.  So each model may be run on a prefix of one common order of the
items, of any length, chosen by looking at everything; a pair uses its common prefix.

**A set (the cut theorem).**  Rank all n models by their means, ties by label.  Let a set be named
only if every claim (a, b), a in the set, b outside, has at some time had
:math:`e_{ab} \geq (n-1)/\delta` with :math:`\epsilon = 0`.  With probability at least
:math:`1-\delta` every set ever named, of whatever size, consists of the best models.

*Proof.*  Let x directly follow y in the ranking: (x, y) is false, and there are n - 1 such pairs of
neighbours.  With probability :math:`1-\delta` none of these claims ever reaches
:math:`(n-1)/\delta`.  If a named set is not the beginning of the ranking, some member x directly
follows a y outside, and the claim (x, y) has reached it.

**Independent arms.**  The i-th rewards of arms whose rewards are independent draws are such a
table: draw every arm's rewards beforehand, and let its i-th pull read the i-th of them.  Whatever
decides about pulls, the joint law of all that is seen is the same.

**A run ends** with probability 1 if the means differ at the boundary, and no arm ever has fewer
than a number f(t) of all t results, with f unbounded.  *Proof.*  If it does not end, every arm gets
results without end, and from some time on High holds the best arms, by the law of large numbers.
From then on the claims across the boundary are fixed and their common prefixes grow; the logarithm
of a part of (1), divided by s, tends to
:math:`E\ln(1+\lambda d) \geq \lambda E d - \lambda^2 E d^2/(2(1-\lambda))`.  This is positive
for the smallest bet unless the gap is below :math:`10^{-4}E d^2`, so each claim reaches its level.
Ties elsewhere do not matter.

With :math:`\epsilon > 0` two neighbours may be closer than :math:`\epsilon`, and the argument
fails; for one K fixed beforehand the K (n - K) claims across the boundary share delta.

`bet` updates capitals by one item, and `log_e_values` computes those of a whole table.
"""

import numpy as np

__all__ = ["BETS", "WEIGHTS", "MOST", "SLACK", "bet", "log_e_values", "set_count"]

BETS = np.array([0.9, 0.6, 0.4, 0.25, 0.15, 0.09, 0.05, 0.025, *(0.012 / 2.0 ** np.arange(7))])
WEIGHTS = np.array([0.1] * 9 + [0.1 / 6] * 6)  # the smaller bets find small differences
for array in (BETS, WEIGHTS):
    array.setflags(write=False)
MOST = 1e250  # capitals are cut off here, and may underflow to 0: both are on the safe side
SLACK = 1 + 1e-9  # factor of a level, larger than rounding errors of a capital
BLOCK = 128  # items multiplied before a logarithm: 2 ** 128 and 0.1 ** 128 are representable
ROUNDING = 1e-12  # per item, in nats: more than the rounding errors of a factor and of a product


def bet(capitals, gains):
    """Bet the capitals of some claims on an item each, and return the sums of the capitals.

    Parameters
    ----------
    capitals : ndarray of float, shape (..., J)
        Capitals, 1 at the start; changed in place.
    gains : float or ndarray of float, shape (...)
        d + epsilon of (1), from -1 to 1 + epsilon; 0 where there is nothing to bet on.

    Returns
    -------
    float or ndarray of float, shape (...)
        e of (1).
    """
    capitals *= 1 + np.multiply.outer(gains, BETS)
    np.minimum(capitals, MOST, out=capitals)
    return (capitals * WEIGHTS).sum(axis=-1)  # the same to the last bit for any number of claims


def log_e_values(results, counted, epsilon=0.0):
    """Return ln e of (1) for all ordered pairs of models, rounded down.

    Parameters
    ----------
    results : ndarray of float, shape (n, N)
        Results in [0, 1]; entries that are not counted are ignored, whatever they are.
    counted : ndarray of bool, shape (n, N)
        Cells that count; a pair uses the items on which both of its cells count.
    epsilon : float
        In [0, 1).

    Returns
    -------
    ndarray of float, shape (n, n)
        ``[a, b]`` is for the claim "a is better than b"; 0 on the diagonal.
    """
    n, items = results.shape
    values = np.ascontiguousarray(np.where(counted, results, 0.0).T)  # items first: rows are long
    present = np.ascontiguousarray(counted.T)
    found = np.zeros((n, n))
    for a in range(n - 1):
        logs = np.zeros((2, BETS.size, n - 1 - a))
        for start in range(0, items, BLOCK):
            rows = slice(start, start + BLOCK)
            both = present[rows, a : a + 1] & present[rows, a + 1 :]
            d = values[rows, a : a + 1] - values[rows, a + 1 :]
            for direction, gains in enumerate((d + epsilon, epsilon - d)):
                gains *= both
                factor = np.empty_like(gains)
                for j, rate in enumerate(BETS):
                    np.multiply(gains, rate, out=factor)
                    factor += 1
                    logs[direction, j] += np.log(np.multiply.reduce(factor, axis=0))
        top = logs.max(axis=1)
        mixed = top + np.log(np.einsum("j,djb->db", WEIGHTS, np.exp(logs - top[:, None])))
        found[a, a + 1 :], found[a + 1 :, a] = mixed
    return found - ROUNDING * items


def set_count(n, k, epsilon):
    """Return C, for which C max 1/e over the claims across a set's boundary is a p-value.

    With ``epsilon`` = 0 it is valid for all sizes k at once, otherwise for one k fixed beforehand.
    """
    return n - 1 if epsilon == 0 else k * (n - k)
