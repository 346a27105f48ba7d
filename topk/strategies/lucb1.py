"""LUCB1, and the pair of arms that it and other rules pull (Kalyanakrishnan et al. 2012)."""

import math
from dataclasses import dataclass
from typing import Any

from topk._types import Whole
from topk.rules import Arms, Indices, clock, highest, lower, lowest, rule, upper


class Pair(Indices):
    """The sampling and stopping rule of `LUCB1`; with a floor, `Floored`, that of `KLLUCB`."""

    # the searches of `Indices`: compiled a scan of the k largest means up to 3,000 arms, then
    # trees; in plain Python arrays
    certifies = anytime = True
    stops_by = "intervals"

    @rule
    def pick(s):
        return lowest(s), highest(s)

    @rule
    def done(s):
        return upper(s, highest(s)) - lower(s, lowest(s)) < s.epsilon


@dataclass(frozen=True)
class LUCB1(Pair):
    r"""Pull the two arms that are most easily confused across the boundary.

    In round t, with :math:`u_a` pulls of arm a, the radius is

    .. math:: \beta(u, t) = \sqrt{\frac{1}{2u}\ln\frac{k_1 n t^4}{\delta}},
       \qquad k_1 = \tfrac54.

    ``High`` holds the k largest means.  Let h be the arm of High with the lowest lower bound and l
    the arm outside with the highest upper bound.  The run ends when the upper bound of l is less
    than epsilon above the lower bound of h; otherwise both are pulled.

    Parameters
    ----------
    k : int
        Number of arms to select, from 1 to n - 1.
    epsilon : float
        Per-arm tolerance, in [0, 1): with probability 1 - delta the mean of every returned arm is
        at least the k-th largest minus epsilon.  With 0 and a tie at the boundary the run ends only
        when the budget is spent.
    delta : float
        Failure probability, in (0, 1).
    budget : int, optional
        Maximum number of pulls, at least n.  If it ends the run, the k largest means are returned
        without a certificate.

    See Also
    --------
    KLLUCB : the same choice of the pair, with narrower bounds.
    LUCBPlusPlus : other levels for the chosen arms and for the rest.
    Racing : pulls all arms that are left.

    Notes
    -----
    Kalyanakrishnan, Tewari, Auer and Stone (2012), Section 3; the radius and :math:`k_1` are
    restored from an independent implementation because the formula is lost in our copy of the text.
    t counts rounds; the first test is at t = 1, after one pull of every arm.  In a session with
    unsolicited results, t is at least the largest number of pulls of an arm.  Ties go to the arm
    with the lower index.  If a pair would exceed the budget, only h is pulled.

    Examples
    --------
    >>> import topk
    >>> bandit = topk.BernoulliBandit([0.9, 0.8, 0.1, 0.2])
    >>> outcome = topk.run(LUCB1(2, epsilon=0.1, delta=0.05), bandit, rng=0)
    >>> outcome.selected.tolist(), outcome.certified
    ([0, 1], True)
    """

    k: int
    epsilon: float
    delta: float
    budget: Whole | None = None
    joins_by = "bounds"

    def state(self, arms: Arms) -> dict[str, Any]:
        """Return ln(k_1 n / delta)."""
        return {"log_ratio": math.log(1.25 * arms.n / self.delta)}

    @rule
    def scale(s):
        return scale_in_round(s, clock(s))


def scale_in_round(s, t):
    """Return the radius of an arm after one pull; factored so that large t do not overflow."""
    return math.sqrt((s.log_ratio + 4 * math.log(t)) / 2)
