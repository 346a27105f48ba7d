"""UGapE for several bandits at once (Gabillon et al. 2012)."""

import math
from dataclasses import dataclass

from topk._checks import (
    check_budget,
    check_epsilon,
    check_exploration,
    check_k,
    check_promise,
    check_real,
)
from topk.strategies.duels import new_scan, radii
from topk.strategies.protocol import clipped_bounds
from topk.strategies.several import SeveralBandits, check_several


class SeveralDuels(SeveralBandits):
    """What `MultiBanditUGapEb` and `MultiBanditUGapEc` share."""

    def bounds(self, state):
        """Return the confidence bounds at the current time; see `Strategy.bounds`."""
        return clipped_bounds(state.tally, radii(state))


@dataclass(frozen=True)
class MultiBanditUGapEb(SeveralDuels):
    r"""UGapE with one fixed budget for several bandits.

    In each bandit the candidate set, its index and the arm to be pulled are those of
    `UGapEb`, with :math:`\beta_i=\sqrt{a/T_i}`.  Each pull goes to the bandit whose index is
    largest.  Of every bandit the candidate set whose index was smallest over time is
    returned.

    Parameters
    ----------
    k : int
        How many arms of each bandit are wanted, 1 to n - 1.
    budget : int
        Q, the pulls in all, at least M n.
    epsilon : float
        Per-arm tolerance, in [0, 1).  It enters a only.
    complexity : float, optional
        :math:`H_\epsilon`, positive, over all bandits (`topk.hardness.ugape_complexity` of
        the M x n means); then :math:`a = (Q-Mn)/(4H_\epsilon)`.  Without ``a`` and
        ``complexity`` it is estimated anew in every step, at a cost that grows with M n.
    a : float, optional
        Exploration parameter, positive.

    Raises
    ------
    ValueError
        If a parameter is out of range, or if both ``a`` and ``complexity`` are given;
        ``budget`` is compared with M n at `start`.

    Notes
    -----
    Gabillon, Ghavamzadeh and Lazaric (2012) say that such an extension exists; this rule is
    derived here, as the paper's own stands in a technical report that we have not seen.
    Its promise is :math:`\Pr[\text{some returned set misses }\epsilon]\le2MnQe^{-2a}`, see
    `topk.guarantees.ugapeb_error`.  Ties between bandits go to the lower number, others are
    settled, and the complexity is estimated, as in `UGapEb`.

    Examples
    --------
    >>> import topk
    >>> bandit = topk.MultiBandit([[0.9, 0.8, 0.1, 0.2], [0.1, 0.7, 0.2, 0.8]])
    >>> strategy = MultiBanditUGapEb(2, budget=800, epsilon=0.1, a=2.0)
    >>> topk.run(strategy, bandit, rng=0).selected.tolist()
    [[0, 1], [1, 3]]
    """

    k: int
    budget: int
    epsilon: float
    complexity: float | None = None
    a: float | None = None

    def __post_init__(self):
        check_k(self.k)
        check_budget(self.budget)
        check_epsilon(self.epsilon)
        check_exploration(self.a, self.complexity)

    def begin(self, n):
        """Return the state of a new play with ``n`` = (M, n): M bandits of n arms."""
        bandits, n = check_several(n)
        budget = check_budget(self.budget, smallest=bandits * n)
        a = self.a
        if self.complexity is not None:
            a = (budget - bandits * n) / (4 * self.complexity)
        return new_scan(
            n,
            bandits=bandits,
            k=check_k(self.k, n),
            epsilon=self.epsilon,
            budget=budget,
            fixed_budget=True,
            a=-1.0 if a is None else float(a),
        )


@dataclass(frozen=True)
class MultiBanditUGapEc(SeveralDuels):
    r"""UGapE with one fixed confidence for several bandits.

    The rule is that of `MultiBanditUGapEb`, with the radius

    .. math:: \beta_i = \sqrt{\frac{c\ln(4Mn(t-1)^3/\delta)}{T_i}}

    after t - 1 pulls.  The play ends when the largest index of all bandits is below epsilon.

    Parameters
    ----------
    k : int
        How many arms of each bandit are wanted, 1 to n - 1.
    epsilon : float
        Per-arm tolerance, in [0, 1): with probability 1 - delta every returned arm has
        a mean of at least the k-th largest of its bandit minus epsilon.  With 0 and a tie
        at a boundary the play ends only with its budget.
    delta : float
        Probability of failure in any of the bandits, in (0, 1).
    c : float
        Exploration parameter, positive.  The promise is proved for c = 1/2.
    budget : int, optional
        The most pulls that may be made, at least M n.  When it ends the play, the candidate
        sets are returned without a certificate.

    Raises
    ------
    ValueError
        If a parameter is out of range; ``budget`` is compared with M n at `start`.

    Notes
    -----
    Derived here, as `MultiBanditUGapEb` is.  The first test is at t - 1 = M n.

    Examples
    --------
    >>> import topk
    >>> bandit = topk.MultiBandit([[0.9, 0.8, 0.1, 0.2], [0.1, 0.7, 0.2, 0.8]])
    >>> outcome = topk.run(MultiBanditUGapEc(2, epsilon=0.3, delta=0.1), bandit, rng=0)
    >>> outcome.selected.tolist(), outcome.certified
    ([[0, 1], [1, 3]], True)
    """

    k: int
    epsilon: float
    delta: float
    c: float = 0.5
    budget: int | None = None
    certifies = True
    anytime = True

    def __post_init__(self):
        check_promise(self)
        check_real(self.c, "c", 0, 1e6, low_open=True)

    def begin(self, n):
        """Return the state of a new play with ``n`` = (M, n): M bandits of n arms."""
        bandits, n = check_several(n)
        size, budget = bandits * n, -1
        if self.budget is not None:
            budget = check_budget(self.budget, smallest=size)
        return new_scan(
            n,
            bandits=bandits,
            k=check_k(self.k, n),
            epsilon=self.epsilon,
            budget=budget,
            c=float(self.c),
            log_ratio=math.log(4 * size / self.delta),
        )
