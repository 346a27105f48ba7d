"""CLUCB and CLUCB-PAC for subsets of fixed size (Chen et al. 2014)."""

import math
from dataclasses import dataclass
from typing import Any

from topk._checks import factor
from topk._types import Whole
from topk.rules import NO_ARM, Arms, Indices, Strategy, rule
from topk.rules.search.clucb_trees import CLUCB_TREES, gain, widest


class Exchanging(Indices):
    """The rule shared by `CLUCB` and `CLUCBPAC`."""

    epsilon: float
    delta: float
    searches = (CLUCB_TREES,)  # compiled, for any number of arms; in plain Python arrays
    stops_by = joins_by = "intervals"
    certifies = average = anytime = True
    checks = Strategy.checks | {"R": factor}

    def state(self, arms: Arms) -> dict[str, Any]:
        """Return k epsilon and ln(4n / delta)."""
        return {"allowed": self.k * self.epsilon, "log_ratio": math.log(4 * arms.n / self.delta)}

    @rule
    def scale(s):
        return s.R * math.sqrt(2 * (s.log_ratio + 3 * math.log(s.now.total)))

    @rule
    def pick(s):
        return widest(s), NO_ARM

    @rule
    def done(s):
        return gain(s, s.allowed) <= s.allowed


@dataclass(frozen=True)
class CLUCBPAC(Exchanging):
    r"""Pull the most uncertain arm among those that the bounds would exchange.

    After t pulls in total, :math:`T_i` of them of arm i, the radius is

    .. math:: \mathrm{rad}_i = R\sqrt{\frac{2\ln(4nt^3/\delta)}{T_i}}.

    Let M be the set of the k largest means.  Replace the means in M by lower bounds and the others
    by upper bounds, and let M' be the best set for these values.  The run ends when M' gains at
    most k epsilon over M; otherwise the arm with the largest radius in exactly one of M and M' is
    pulled.

    Parameters
    ----------
    k : int
        Number of arms to select, from 1 to n - 1.
    epsilon : float
        Tolerance of the *average*, in [0, 1): with probability 1 - delta the aggregate regret of
        the returned set is at most epsilon.  With 0 and a tie at the boundary the run ends only
        when the budget is spent.
    delta : float
        Failure probability, in (0, 1).
    R : float
        Sub-Gaussian parameter of the rewards; 1/2 holds for all rewards in [0, 1].
    budget : int, optional
        Maximum number of pulls, at least n.  If it ends the run, the k largest means are returned
        without a certificate.

    See Also
    --------
    CLUCB : for the exact set.
    LUCB1 : another choice of the pair.

    Notes
    -----
    Chen, Lin, King, Lyu and Chen (2014); the algorithm, its radius and the PAC rule are taken from
    independent implementations, not from the paper.  There the tolerance is on the *sum* of the
    means; here it is multiplied by k.  t counts pulls, and the first test is at t = n.  If bounds
    are equal, M keeps its arm; if radii are equal, the arm with the lower index is pulled.

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
    budget: Whole | None = None


@dataclass(frozen=True)
class CLUCB(Exchanging):
    """`CLUCBPAC` for the exact set: the run ends when no exchange gains anything.

    Parameters
    ----------
    k, R
        As in `CLUCBPAC`.
    delta : float
        Failure probability, in (0, 1): with probability 1 - delta the k best arms are returned.
    budget : int, optional
        Maximum number of pulls, at least n.  With a tie at the boundary the run ends only when the
        budget is spent, or by an error.

    See Also
    --------
    CLUCBPAC : with a tolerance.
    LUCB1 : another choice of the pair.

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
    budget: Whole | None = None
    epsilon = 0.0
