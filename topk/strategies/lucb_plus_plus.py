"""LUCB++: the two sides of the boundary have confidence levels of their own."""

import math
from dataclasses import dataclass

import numpy as np

from topk.rules import Indices, clipped_bounds, highest, lower, lowest, rule, upper

LARGEST = 0.1  # the level up to which the radius is proved


@dataclass(frozen=True)
class LUCBPlusPlus(Indices):
    r"""`LUCB1` for the exact set, with a level of its own on each side of the boundary.

    With u pulls of an arm and an error :math:`\eta` the radius of a one-sided bound is

    .. math:: U(u, \eta) = \sqrt{\frac{\ln\frac1\eta + 3\ln\ln\frac1\eta
       + \frac32\ln\ln(eu)}{2u}}.

    ``High`` holds the k largest means.  Let h be the arm of High with the lowest lower bound, of
    radius :math:`U(u, \delta/(2(n-k)))`, and l the arm outside with the highest upper bound, of
    radius :math:`U(u, \delta/(2k))`.  The play ends when the upper bound of l is less than the
    lower bound of h; otherwise both are pulled.

    Parameters
    ----------
    k : int
        How many arms are wanted, 1 to n - 1.
    delta : float
        Probability of failure, in (0, 1): otherwise the k best arms are returned.
    budget : int, optional
        The most pulls that may be made, at least n.  When it ends the play, the k largest
        means are returned without a certificate.  With a tie at the boundary the play ends only
        with its budget.

    Raises
    ------
    ValueError
        If a parameter is out of range; ``budget`` is compared with n at `start`.

    Notes
    -----
    Simchowitz, Jamieson and Recht (2017).  We could not read their pseudo-code itself: the pair,
    both levels and the radius are read off the implementation that belongs to Yang, Ramdas,
    Jamieson and Wainwright (2017).

    Only k upper bounds, those of the k best arms, and n - k lower bounds, those of the others,
    have to hold: if another set were returned, one of the others, j, would be in it in the place
    of one of the best, i, and :math:`\mu_j \geq L_j \geq L_h > U_l \geq U_i \geq \mu_i`.  This is
    why delta is divided by 2k and by 2(n - k), not by 2n twice.

    The radius is proved here (chapter 20) for :math:`\eta \leq 0.1`, for rewards in [0, 1] and for
    all 1/2-sub-Gaussian ones; a larger :math:`\eta`, which needs delta > 0.2, is replaced by 0.1.
    Ties go to the arm of lower index.  A pair that would exceed the budget pulls h only.

    When w arms have been withdrawn, up to k + w arms may have been among the k best that were
    left: the probability of failure is at most :math:`\delta(1 + w/(2k))`.  The bounds that a
    session shows are two-sided and hold together with probability 1 - delta; they have
    :math:`\eta = \delta/(2n)`.

    Examples
    --------
    >>> import topk
    >>> bandit = topk.BernoulliBandit([0.9, 0.8, 0.1, 0.2])
    >>> outcome = topk.run(LUCBPlusPlus(2, delta=0.05), bandit, rng=0)
    >>> outcome.selected.tolist(), outcome.certified
    ([0, 1], True)
    """

    k: int
    delta: float
    budget: int | None = None
    certifies = anytime = True
    stops_by = "intervals"
    epsilon = 0.0

    def constants(self, n):
        """Return the part of the radius that never changes, for lower and for upper bounds."""
        below, above = self.delta / (2 * (n - self.k)), self.delta / (2 * self.k)
        return {"log_below": log_part(below), "log_above": log_part(above)}

    @rule
    def line(s, arm):
        u = s.pulls[arm]
        mean, growth = s.sums[arm] / u, 1.5 * math.log1p(math.log(u))
        below = math.sqrt((s.log_below + growth) / (2 * u))
        return mean - below, mean + math.sqrt((s.log_above + growth) / (2 * u)), 0.0

    @rule
    def pick(s, arms):
        arms[0], arms[1] = lowest(s), highest(s)
        return 2

    @rule
    def done(s):
        return upper(s, highest(s)) < lower(s, lowest(s))

    def bounds(self, seen):
        """Return two-sided bounds that hold together, at all times, with probability 1 - delta."""
        pulls = np.maximum(seen.pulls, 1)
        beta = log_part(self.delta / (2 * seen.n)) + 1.5 * np.log1p(np.log(pulls))
        return clipped_bounds(seen, np.sqrt(beta / (2 * pulls)))


def log_part(eta):
    """Return ln(1/eta) + 3 ln ln(1/eta), for a level of at most 0.1."""
    z = -math.log(min(eta, LARGEST))
    return z + 3 * math.log(z)
