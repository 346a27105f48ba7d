"""CLUCB and CLUCB-PAC for subsets of fixed size (Chen et al. 2014)."""

import math
from dataclasses import dataclass
from typing import Any

from topk._checks import factor
from topk.rules import Indices, Strategy, rule
from topk.rules.search.clucb_trees import CLUCB_TREES, gain, widest


class Exchanging(Indices):
    """The rule of `CLUCB` and `CLUCBPAC`."""

    epsilon: float
    delta: float
    searches = (CLUCB_TREES,)
    stops_by = "intervals"
    certifies = average = anytime = True
    checks = Strategy.checks | {"R": factor}

    def constants(self, n: int) -> dict[str, Any]:
        """Return k epsilon and ln(4n / delta)."""
        return {"allowed": self.k * self.epsilon, "log_ratio": math.log(4 * n / self.delta)}

    @rule
    def scale(s):
        return s.R * math.sqrt(2 * (s.log_ratio + 3 * math.log(s.now.total)))

    @rule
    def pick(s, arms):
        arms[0] = widest(s)
        return 1

    @rule
    def done(s):
        return gain(s, s.allowed) <= s.allowed


@dataclass(frozen=True)
class CLUCBPAC(Exchanging):
    r"""Pull the most uncertain arm among those that the bounds would exchange.

    After t pulls in all, :math:`T_i` of them of arm i, the radius is

    .. math:: \mathrm{rad}_i = R\sqrt{\frac{2\ln(4nt^3/\delta)}{T_i}}.

    M are the k largest means.  With the lower bounds of M and the upper bounds of the
    others in place of the means, another set would be the best; the play ends when it
    gains at most k epsilon over M, and otherwise the arm with the largest radius among
    those in just one of the two sets is pulled.

    Parameters
    ----------
    k : int
        How many arms are wanted, 1 to n - 1.
    epsilon : float
        Tolerance of the *average*, in [0, 1): with probability 1 - delta the aggregate
        regret of the returned set is at most epsilon.  With 0 and a tie at the boundary
        the play ends only with its budget.
    delta : float
        Probability of failure, in (0, 1).
    R : float
        The rewards are R-sub-Gaussian; 1/2 holds for all rewards in [0, 1].
    budget : int, optional
        The most pulls that may be made, at least n.  When it ends the play, the k largest
        means are returned without a certificate.

    Raises
    ------
    ValueError
        If a parameter is out of range; ``budget`` is compared with n at `start`.

    Notes
    -----
    Chen, Lin, King, Lyu and Chen (2014); we read the algorithm, its radius and the PAC
    rule in independent implementations, not in the paper.  There the tolerance bounds the
    *sum* of the means; here it is multiplied by k.  t counts pulls and the first test is
    at t = n.  An exchange has to gain: of equal bounds M keeps its arm.  Of equal radii
    the arm of lower index is pulled.

    Examples
    --------
    >>> import topk
    >>> bandit = topk.BernoulliBandit([0.9, 0.8, 0.1, 0.2])
    >>> outcome = topk.run(CLUCBPAC(2, epsilon=0.1, delta=0.05), bandit, rng=0)
    >>> outcome.selected.tolist(), outcome.certified
    ([0, 1], True)
    """

    k: int
    epsilon: float
    delta: float
    R: float = 0.5
    budget: int | None = None


@dataclass(frozen=True)
class CLUCB(Exchanging):
    """Exact identification: `CLUCBPAC` that ends when no exchange gains anything.

    Parameters
    ----------
    k, R
        As for `CLUCBPAC`.
    delta : float
        Probability of failure, in (0, 1): otherwise the k best arms are returned.
    budget : int, optional
        The most pulls that may be made, at least n.  With a tie at the boundary the play
        ends only with its budget.

    Raises
    ------
    ValueError
        If a parameter is out of range; ``budget`` is compared with n at `start`.

    Notes
    -----
    Chen, Lin, King, Lyu and Chen (2014); see `CLUCBPAC`.

    Examples
    --------
    >>> import topk
    >>> topk.run(CLUCB(1, delta=0.1), topk.BernoulliBandit([0.9, 0.1]), rng=0).selected.tolist()
    [0]
    """

    k: int
    delta: float
    R: float = 0.5
    budget: int | None = None
    epsilon = 0.0
