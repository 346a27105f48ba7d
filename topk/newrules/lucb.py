"""LUCB1: lower and upper confidence bounds (Kalyanakrishnan et al. 2012)."""

import math
from dataclasses import dataclass

from topk.engine.composing import rule
from topk.engine.indices import highest, lower, lowest, upper
from topk.engine.ruled import Indices


@dataclass(frozen=True)
class LUCB1(Indices):
    r"""Pull the two arms that are most easily confused across the boundary.

    In round t, with :math:`u_a` pulls of arm a, the radius is

    .. math:: \beta(u, t) = \sqrt{\frac{1}{2u}\ln\frac{k_1 n t^4}{\delta}},
       \qquad k_1 = \tfrac54.

    ``High`` holds the k largest means.  Let h be the arm of High with the lowest lower
    bound and l the arm outside with the highest upper bound.  The play ends when the
    upper bound of l is less than epsilon above the lower bound of h; otherwise both are
    pulled.

    Parameters
    ----------
    k : int
        How many arms are wanted, 1 to n - 1.
    epsilon : float
        Per-arm tolerance, in [0, 1): with probability 1 - delta every returned arm has
        a mean of at least the k-th largest minus epsilon.  With 0 and a tie at the
        boundary the play ends only with its budget.
    delta : float
        Probability of failure, in (0, 1).
    budget : int, optional
        The most pulls that may be made, at least n.  When it ends the play, the k largest
        means are returned without a certificate.
    guard : bool
        Whether to bound the worst case: LUCB1 is played with delta / 2, and if it has not
        stopped after as many pulls as `Halving` with delta / 2 makes in all, Halving starts
        from scratch.  Needs a positive ``epsilon``.

    Raises
    ------
    ValueError
        If a parameter is out of range; ``budget`` is compared with n at `start`.

    Notes
    -----
    Kalyanakrishnan, Tewari, Auer and Stone (2012), Section 3; the radius and k_1 are
    restored from an independent implementation, the formula being lost in the text that
    we read.  t counts rounds; the first test is at t = 1, after one pull of every arm.
    Ties go to the arm of lower index.  A pair that would exceed the budget pulls h only.
    The guard is the paper's remark on the worst case; that the switch comes when Halving's
    own number of pulls is reached is our choice of its constant.

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
    budget: int | None = None
    certifies = anytime = True

    def constants(self, n):
        return {"log_ratio": math.log(1.25 * n / self.delta)}

    @rule
    def scale(s):
        return math.sqrt((s.log_ratio + 4 * math.log(s.now.rounds)) / 2)

    @rule
    def pick(s, arms):
        arms[0], arms[1] = lowest(s), highest(s)
        return 2

    @rule
    def done(s):
        return upper(s, highest(s)) - lower(s, lowest(s)) < s.epsilon
