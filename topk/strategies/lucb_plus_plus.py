"""LUCB++, which uses a different confidence level on each side of the boundary."""

import math
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np

from topk._checks import check_choice
from topk._types import Floats, Whole
from topk.confidence.sides import share_above
from topk.rules import Arms, Indices, clipped_intervals, highest, lower, lowest, rule, upper

SPLITS = ("half", "sqrt")
LARGEST = 0.1  # the largest eta for which the radius is proved


@dataclass(frozen=True)
class LUCBPlusPlus(Indices):
    r"""`LUCB1` for the exact set, with a different confidence level on each side of the boundary.

    After u pulls of an arm, a one-sided bound of failure probability :math:`\eta` has the radius

    .. math:: U(u, \eta) = \sqrt{\frac{\ln\frac1\eta + 3\ln\ln\frac1\eta
       + \frac32\ln\ln(eu)}{2u}}.

    ``High`` holds the k largest means.  Let h be the arm of High with the lowest lower bound, of
    radius :math:`U(u, (1-c)\,\delta/(n-k))`, and l the arm outside with the highest upper bound, of
    radius :math:`U(u, c\,\delta/k)`, where c is 1/2.  The run ends when the upper bound of l is
    less than the lower bound of h; otherwise both are pulled.

    Parameters
    ----------
    k : int
        Number of arms to select, from 1 to n - 1.
    delta : float
        Failure probability, in (0, 1): with probability 1 - delta the k best arms are returned.
    budget : int, optional
        Maximum number of pulls, at least n.  If it ends the run, the k largest means are returned
        without a certificate.  With a tie at the boundary the run ends only when the budget is
        spent, or by an error.
    split : {'half', 'sqrt'}
        The share c of delta that the upper bounds get: 1/2, as published, or
        :math:`\sqrt{n-k}/(\sqrt k + \sqrt{n-k})`, which needs fewer pulls if k is far from n/2.

    See Also
    --------
    KLLUCB : narrower bounds.
    LUCB1 : one level for all arms.

    Notes
    -----
    The pair and both levels are those of Simchowitz, Jamieson and Recht (2017), Algorithm 1, which
    leaves the constants of the radius open: these are those of the implementation that accompanies
    Yang, Ramdas, Jamieson and Wainwright (2017).

    Only k upper bounds, those of the k best arms, and n - k lower bounds, those of the others, have
    to hold: if another set were returned, it would contain one of the others, j, instead of one of
    the best, i, and :math:`\mu_j \geq L_j \geq L_h > U_l \geq U_i \geq \mu_i`, a contradiction.
    This is why delta is divided by 2k and by 2(n - k), not by 2n twice; any other c is valid, too.

    The chapter "Racing, Halving and LUCB1 compared" proves the radius for :math:`\eta \leq 0.1`,
    for rewards in [0, 1] and for all 1/2-sub-Gaussian ones; a larger :math:`\eta`, which needs
    delta > 0.2 (or delta > 0.1 with the other split), is replaced by 0.1.  Ties go to the arm with
    the lower index.  If a pair would exceed the budget, only h is pulled.

    After w withdrawals, up to k + w arms may have been among the k best remaining ones: the failure
    probability is at most :math:`\delta(1 + c\,w/k)`.  The bounds that a session shows are
    two-sided, with :math:`\eta = \delta/(2n)`, and all hold simultaneously with probability 1 -
    delta.

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
    budget: Whole | None = None
    split: Literal["half", "sqrt"] = "half"
    checks = Indices.checks | {"split": lambda value, name: check_choice(value, name, SPLITS)}
    # the searches of `Indices`: compiled a scan up to 3,000 arms, then trees; else arrays
    certifies = anytime = True
    stops_by = "intervals"
    joins_by = "bounds"
    epsilon = 0.0

    def state(self, arms: Arms) -> dict[str, Any]:
        """Return the constant part of the radius, for lower and for upper bounds, and n."""
        return self._levels(arms.first or arms.n, arms.n, self.k)

    def reserved_state(self, arms: Arms) -> dict[str, Any]:
        """Return `state`; with arms that join, up to k + most - n are ever among the k best."""
        assert arms.first is not None and arms.most is not None
        return self._levels(arms.first, arms.most, self.k + arms.most - arms.first)

    def _levels(self, first, most, best):
        """Return the levels for ``first`` arms at the start: most - k and ``best`` bounds."""
        c = 0.5 if self.split == "half" else share_above(first, self.k)
        below, above = (1 - c) * self.delta / (most - self.k), c * self.delta / best
        return {"log_below": log_part(below), "log_above": log_part(above), "shared": most}

    def cost_of_joining(self, before: int, after: int) -> float:
        """Return how much a join may add to the failure probability, in multiples of delta.

        It adds a lower bound of each arm that joins, and an upper bound of each that is then among
        the k best.  The shares are those of the start, when there were k + 1 arms or more, at most
        ``before``.
        """
        before, after = self._check_joining(before, after)
        joining, k = after - before, self.k
        least, c = 0.5, 0.5
        if self.split == "sqrt":
            least, c = share_above(k + 1, k), share_above(before, k)
        return (1 - least) * joining / (after - k) + c * min(joining, k) / k

    @rule
    def interval(s, arm):
        u = s.pulls[arm]
        mean, growth = s.sums[arm] / u, 1.5 * math.log1p(math.log(u))
        below = math.sqrt((s.log_below + growth) / (2 * u))
        return mean - below, mean + math.sqrt((s.log_above + growth) / (2 * u))

    @rule
    def pick(s):
        return lowest(s), highest(s)

    @rule
    def done(s):
        return upper(s, highest(s)) < lower(s, lowest(s))

    def intervals(self, seen: Any) -> tuple[Floats, Floats]:
        """Return two-sided bounds, all valid at all times with probability 1 - delta."""
        pulls = np.maximum(seen.pulls, 1)
        beta = log_part(self.delta / (2 * seen.shared)) + 1.5 * np.log1p(np.log(pulls))
        return clipped_intervals(seen, np.sqrt(beta / (2 * pulls)))


def log_part(eta):
    """Return ln(1/eta) + 3 ln ln(1/eta), with eta capped at 0.1."""
    z = -math.log(min(eta, LARGEST))
    return z + 3 * math.log(z)
