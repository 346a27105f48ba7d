"""Guarantees of OptMAI and of uniform sampling for the average regret: Zhou et al. (2014)."""

import math

from topk._checks import (
    between,
    check_budget,
    check_integer,
)
from topk._ranges import below_n, flag, integer, probability, pulls_of_n, up_to_all, validated
from topk._types import Whole

BETA = 0.75 * math.exp(0.2)  # OptMAI's ratio of budgets in the theorems


@validated(k=integer(1), delta=probability)
def qe_regret(size: int, k: int, pulls: int, delta: float) -> float:
    r"""Loss of one quartile elimination: bound on the decrease of the k best arms' average.

    .. math:: \mathrm{val}_k(V)\ge\mathrm{val}_k(S)-\epsilon,\qquad
              \epsilon=\sqrt{\frac{|S|}Q\Bigl(10+\frac{4\ln(2/\delta)}k\Bigr)}
              \quad\text{with probability }1-\delta.

    Parameters
    ----------
    size : int
        :math:`|S|`, arms at the start of the round, at least 4 k.
    k : int
        Arms to select.
    pulls : int
        Q, total pulls of the round, at least ``size``.
    delta : float
        In (0, 1).

    Returns
    -------
    float
        :math:`\epsilon`; vacuous above 1.

    Notes
    -----
    Constant published: Zhou et al. (2014), Lemma 4.1.  Its proof in the supplement misses a factor
    2 in one exponent; the constant is correct.

    Examples
    --------
    >>> from topk.guarantees import qe_regret
    >>> round(qe_regret(100, 10, pulls=100_000, delta=0.1), 4)
    0.1058
    """
    size = check_integer(size, "size", 4 * k)
    pulls = check_budget(pulls, "pulls", size)
    return math.sqrt(size / pulls * (10 + 4 * math.log(2 / delta) / k))


@validated(k=integer(1), delta=probability, published=flag)
def ar_regret(size: int, k: int, pulls: int, delta: float, *, published: bool = False) -> float:
    r"""Loss of one accept-reject round: bound on the decrease of the best attainable average.

    .. math:: \epsilon=\sqrt{\frac{|S|}Q\Bigl(32+\frac{8\ln(2/\delta)}k\Bigr)}
              \ \text{(repaired)},\qquad
              \epsilon=\sqrt{\frac{|S|}Q\Bigl(4+\frac{\ln(2/\delta)}k\Bigr)}
              \ \text{(published)}.

    Parameters
    ----------
    size : int
        :math:`|S|`, arms at the start of the round, 1 to 4 k.
    k, delta
        As in `qe_regret`.
    pulls : int
        Q, total pulls of the round, at least ``size``.
    published : bool
        Whether to use the printed constant, which the printed proof does not establish.

    Returns
    -------
    float
        :math:`\epsilon`, valid with probability 1 - delta; vacuous above 1.

    Notes
    -----
    Zhou et al. (2014), Lemma 4.2.  The printed proof loses a factor 8: the supplement's
    union bound needs :math:`\epsilon^2Q_0k\ge8|S|+8\ln(2/\delta)`; hence the *repaired*
    constant.  The published constant is nevertheless true, by a
    *derived* argument: the loss is at most :math:`\theta(G)-\theta(H)` for sets of equal size
    inside and outside the true top with :math:`\hat\theta(G)\le\hat\theta(H)`, so that it
    exceeds :math:`\epsilon k` with probability at most :math:`2^{|S|}e^{-\epsilon^2Q_0k}`,
    if the round decides by rank.  Theorem 4.3 is not affected.

    Examples
    --------
    >>> from topk.guarantees import ar_regret
    >>> round(ar_regret(40, 10, pulls=100_000, delta=0.1), 4)
    0.1173
    """
    size = check_integer(size, "size", 1, 4 * k)
    pulls = check_budget(pulls, "pulls", size)
    factor = 1 if published else 8
    return math.sqrt(factor * size / pulls * (4 + math.log(2 / delta) / k))


def _optmai_loss(n, k, delta, beta):
    """Return c with regret <= c / sqrt(Q): the sum of the rounds' losses, see `optmai_regret`."""
    loss, share, size, log = 0.0, 1 - beta, n, math.log(2 / delta / (1 - math.exp(-0.1)))
    while size > 0:
        constant = 10 + 4 * log / k if size >= 4 * k else 8 * (size * math.log(2) + log) / k
        loss += math.sqrt(size / share * constant)
        share, size, log = share * beta, size - math.ceil(size / 4), log + 0.1
    return loss


def _complement(n, k, epsilon):
    """Return (k, epsilon) of the smaller side; with k > n / 2 the worst arms are sought."""
    return (k, epsilon) if 2 * k <= n else (n - k, epsilon * k / (n - k))


@validated(n=integer(2), k=below_n, delta=probability, budget=pulls_of_n, beta=between(0.75, 1))
def optmai_regret(n: int, k: int, budget: Whole, delta: float, beta: float = BETA) -> float:
    r"""Average regret that OptMAI guarantees with probability 1 - delta.

    .. math:: \epsilon=\sum_r\sqrt{\frac{s_r}{\beta^r(1-\beta)Q}\,c_r},\qquad
              c_r=10+\frac{4\ln(2/\delta_r)}k\ (s_r\ge4k),\quad
              c_r=\frac8k\Bigl(s_r\ln2+\ln\frac2{\delta_r}\Bigr)\ (s_r<4k),

    with :math:`s_0=n`, :math:`s_{r+1}=s_r-\lceil s_r/4\rceil` down to 0, and
    :math:`\delta_r=e^{-r/10}(1-e^{-1/10})\,\delta`.

    Parameters
    ----------
    n : int
        Number of arms.
    k : int
        Arms to select, 1 to n - 1. For k > n / 2 the worst n - k arms are sought
        instead (Theorem 4.5), and the loss is spread over the k arms.
    budget : int
        Q, total pulls, at least n.
    delta : float
        In (0, 1).
    beta : float
        Ratio of consecutive rounds' budgets, in (3/4, 1).

    Returns
    -------
    float
        :math:`\epsilon`; vacuous above 1.

    See Also
    --------
    topk.OptMAI : the strategy.
    optmai_pulls : the budget for a given regret.

    Notes
    -----
    Zhou et al. (2014), Theorem 4.3 and 4.5, state the order
    :math:`O(\sqrt{\frac nQ(1+\frac{\ln(1/\delta)}k)})`.  The constant is *derived* here by summing
    Lemma 4.1 and the repaired Lemma 4.2 (keeping :math:`2^{|S|}`) over the rounds, for fresh
    samples in every round and pulls that divide evenly; it is far from tight.

    Examples
    --------
    >>> from topk.guarantees import optmai_regret
    >>> round(optmai_regret(1000, 100, budget=10**9, delta=0.1), 4)
    0.0845
    """
    side, factor = _complement(n, k, 1.0)
    return _optmai_loss(n, side, delta, beta) / math.sqrt(budget) / factor


@validated(
    n=integer(2), k=up_to_all, epsilon=between(0, 1), delta=probability, beta=between(0.75, 1),
)
def optmai_pulls(n: int, k: int, epsilon: float, delta: float, beta: float = BETA) -> int:
    r"""Budget with which OptMAI guarantees average regret epsilon.

    The Q at which the sum of `optmai_regret` is epsilon; of the order
    :math:`\frac n{\epsilon^2}\bigl(1+\frac{\ln(1/\delta)}k\bigr)`.

    Parameters
    ----------
    n, delta, beta
        As in `optmai_regret`.
    k : int
        Arms to select, 1 to n; with k = n no pulls are needed.
    epsilon : float
        Average regret, in (0, 1).

    Returns
    -------
    int
        Total pulls, at least n; 0 for k = n.

    See Also
    --------
    topk.OptMAI : the strategy.
    optmai_regret : the regret with a given budget.
    uniform_pulls : the bound of uniform sampling.

    Notes
    -----
    The shape is published (Zhou et al. (2014), Corollary 4.4 and Theorem 4.5); the constant is
    *derived* here, as in `optmai_regret`.  In practice budgets several orders of magnitude smaller
    suffice.

    Examples
    --------
    >>> from topk.guarantees import optmai_pulls
    >>> optmai_pulls(1000, 100, epsilon=0.1, delta=0.1)
    714323497
    """
    if k == n:
        return 0
    side, epsilon = _complement(n, k, epsilon)
    return max(n, math.ceil((_optmai_loss(n, side, delta, beta) / epsilon) ** 2))


@validated(n=integer(2), budget=pulls_of_n, beta=between(0.75, 1))
def optmai_arm_pulls(n: int, budget: Whole, beta: float = BETA) -> float:
    r"""Maximum number of pulls that OptMAI can spend on one arm.

    .. math:: \sum_r\frac{\beta^r(1-\beta)Q}{s_r},\qquad s_0=n,\quad
              s_{r+1}=s_r-\lceil s_r/4\rceil .

    Parameters
    ----------
    n : int
        Number of arms.
    budget : int
        Q, total pulls, at least n.
    beta : float
        Ratio of consecutive rounds' budgets, in (3/4, 1).

    Returns
    -------
    float
        The pulls of an arm that remains until the last possible round; of the order
        :math:`Qn^{-.3}` for the theorem's beta and :math:`Qn^{\ln(4\beta/3)/\ln(4/3)-1}` in
        general.

    Notes
    -----
    Zhou et al. (2014), Theorem 4.3, states :math:`O(Q/n^{0.3})`.  The sum is *derived*: a
    round removes exactly :math:`\lceil s/4\rceil` arms, and pulls divide evenly.

    Examples
    --------
    >>> from topk.guarantees import optmai_arm_pulls
    >>> round(optmai_arm_pulls(1000, 20_000))
    902
    """
    total, share, size = 0.0, (1 - beta) * budget, n
    while size > 0:
        total += share / size
        share, size = share * beta, size - math.ceil(size / 4)
    return total


@validated(n=integer(2), k=below_n, epsilon=between(0, 1), delta=probability)
def uniform_pulls(n: int, k: int, epsilon: float, delta: float) -> int:
    r"""Pulls with which uniform sampling guarantees average regret epsilon.

    .. math:: nQ_0,\qquad Q_0=\Bigl\lceil\frac{2}{\epsilon^2}
              \Bigl(\ln\frac{en}k+\frac{\ln(2/\delta)}k\Bigr)\Bigr\rceil .

    Parameters
    ----------
    n : int
        Number of arms.
    k : int
        Arms to select, 1 to n - 1.
    epsilon : float
        Average regret, in (0, 1).
    delta : float
        In (0, 1).

    Returns
    -------
    int
        Total pulls, the same number for each arm.

    See Also
    --------
    topk.Uniform : the strategy.
    optmai_pulls : the bound of OptMAI.

    Notes
    -----
    Constant published: Lemma 6.1 of the supplement of Zhou et al. (2014), applied to all n
    arms (its proof does not use :math:`n\le4k`); Remark 4.2 states the order.

    Examples
    --------
    >>> from topk.guarantees import uniform_pulls
    >>> uniform_pulls(1000, 100, epsilon=0.1, delta=0.1)
    667000
    """
    each = 2 / epsilon**2 * (math.log(math.e * n / k) + math.log(2 / delta) / k)
    return n * math.ceil(each)
