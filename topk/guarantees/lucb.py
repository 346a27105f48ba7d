"""The lemmas behind LUCB1, repaired where necessary, and the pulls of Halving and Direct.

Kalyanakrishnan et al. (2012); Kalyanakrishnan and Stone (2010).
"""

import math

from numpy.typing import ArrayLike
from scipy.special import zeta

from topk import hardness
from topk._checks import (
    between,
    check_real,
)
from topk._ranges import (
    below_means,
    below_one,
    flag,
    integer,
    one_bandit,
    probability,
    up_to_all,
    validated,
)

# Lemma 5's T_1^*: 146 follows from Lemma 4 at 4 u_1^* as published; a proof needs 16 u_1^*.
PUBLISHED, REPAIRED = 146, 705

K1 = 1.25  # the constant k_1 of the radius beta_1


@validated(n=integer(2), delta=probability, horizon=integer(0))
def lucb1_coverage(n: int, delta: float, horizon: int | None = None) -> float:
    r"""Probability that some confidence interval of LUCB1 ever fails, on one side of one arm.

    .. math:: \sum_{t\ge1}\sum_{u=1}^te^{-2u\beta_1(u,t)^2}
              =\frac{\zeta(3)}{k_1}\frac\delta n\approx0.962\,\frac\delta n\le\frac\delta n .

    Parameters
    ----------
    n : int
        Number of arms.
    delta : float
        In (0, 1).
    horizon : int, optional
        Last round t of the sum; by default all rounds are summed.

    Returns
    -------
    float
        The left-hand side of condition (4) for :math:`\beta_1`, which Theorem 1 needs to be
        at most :math:`\delta/n`.

    Notes
    -----
    Kalyanakrishnan et al. (2012), (4) and Theorem 1.  The formula is lost in our copy; the
    restored inner sum stops at u = t (for :math:`\beta_1` an infinite one diverges).  The
    terms of a round are all :math:`\delta/(k_1nt^4)`.

    Examples
    --------
    >>> from topk.guarantees import lucb1_coverage
    >>> round(lucb1_coverage(10, 0.1) / 0.01, 3)
    0.962
    """
    tail = 0.0 if horizon is None else zeta(3, horizon + 1)
    return float((zeta(3) - tail) / K1 * delta / n)


@validated(delta=probability, t=integer(1))
def lucb1_crossing(t: int, delta: float) -> float:
    r"""Probability that any arm has crossed in round t, :math:`\delta/(k_1t^3)`.

    Parameters
    ----------
    t : int
        Round, at least 1.
    delta : float
        In (0, 1).

    Returns
    -------
    float
        The bound.

    Notes
    -----
    Kalyanakrishnan et al. (2012), Lemma 3; the formula is lost in our copy and *derived*
    here as :math:`\sum_a\sum_{u\le t}\delta/(k_1nt^4)`.

    Examples
    --------
    >>> from topk.guarantees import lucb1_crossing
    >>> lucb1_crossing(10, 0.1)
    8e-05
    """
    return delta / (K1 * t**3)


@validated(means=one_bandit, k=below_means, epsilon=below_one, delta=probability, t=integer(1))
def lucb1_needy(means: ArrayLike, k: int, epsilon: float, delta: float, t: int) -> float:
    r"""Probability that some arm is needy in round t in spite of sufficiently many pulls.

    .. math:: \Pr\{\exists a:\ u_a^t>16u_1^*(a,t)\wedge\mathrm{NEEDY}_a^t\}
              \le\frac{4\delta H^{\epsilon/2}}{k_1nt^4},\qquad
              u_1^*(a,t)=\Bigl\lceil\frac{1}{2\max(\Delta_a,\epsilon/2)^2}
              \ln\frac{k_1nt^4}\delta\Bigr\rceil .

    Parameters
    ----------
    means, k, epsilon, delta
        As in `lucb1_rounds`.
    t : int
        Round, at least 1.

    Returns
    -------
    float
        The bound; ``inf`` when epsilon is 0 and the boundary is tied.

    Notes
    -----
    *Repaired*.  Lemma 4 of Kalyanakrishnan et al. (2012) speaks of :math:`4u_1^*`; its formula is
    lost in our copy.  For :math:`u_1^*` as described in the text no vanishing bound can hold with
    the factor 4: the radii of arms k and k + 1 then equal their distance from the middle, and they
    are needy about half the time.

    Examples
    --------
    >>> from topk.guarantees import lucb1_needy
    >>> round(lucb1_needy([0.75, 0.25], 1, 0.0, 0.1, t=100) * 1e9, 9)
    12.8
    """
    return 4 * delta * hardness.lucb_complexity(means, k, epsilon) / (K1 * len(means) * t**4)


@validated(means=one_bandit, k=below_means, epsilon=below_one, delta=probability, published=flag)
def lucb1_rounds(
    means: ArrayLike, k: int, epsilon: float, delta: float, *, published: bool = False,
) -> int | float:
    r"""Rounds after which LUCB1 has stopped with high probability.

    .. math:: T_1^*=\Bigl\lceil C\,H^{\epsilon/2}\ln\frac{H^{\epsilon/2}}\delta\Bigr\rceil,
              \qquad C=705\text{ (repaired)},\quad C=146\text{ (published)}.

    Parameters
    ----------
    means : array_like, shape (n,)
        True means in [0, 1], in any order.
    k : int
        Arms to select, 1 to n - 1.
    epsilon : float
        Tolerance per arm, in [0, 1).
    delta : float
        In (0, 1).
    published : bool
        Whether to use the published constant, whose proof fails at Lemma 4 in our reading.

    Returns
    -------
    int or float
        Rounds (two pulls each, after one pull of every arm); ``inf`` when epsilon is 0 and
        the boundary is tied.

    Notes
    -----
    Kalyanakrishnan et al. (2012), Lemma 5, with the constant of the *repaired* Lemma 4 (see
    `lucb1_needy`): :math:`T\ge T_1^*` implies :math:`T>2+32\sum_au_1^*(a,T)`.  In our
    simulations LUCB1 stops 20 to 110 times earlier than even the published value.

    Examples
    --------
    >>> from topk.guarantees import lucb1_rounds
    >>> means = [0.75, 0.25]
    >>> lucb1_rounds(means, 1, 0.0, 0.1), lucb1_rounds(means, 1, 0.0, 0.1, published=True)
    (24715, 5119)
    """
    complexity = hardness.lucb_complexity(means, k, epsilon)
    rounds = (PUBLISHED if published else REPAIRED) * complexity * math.log(complexity / delta)
    return math.ceil(rounds) if math.isfinite(rounds) else math.inf


def lucb1_overrun(means: ArrayLike, k: int, epsilon: float, delta: float, rounds: int) -> float:
    r"""Probability that LUCB1 has not stopped after T rounds, :math:`4\delta/T^2`.

    Parameters
    ----------
    means, k, epsilon, delta
        As in `lucb1_rounds`.
    rounds : int
        T, at least :math:`T_1^*` (see `lucb1_rounds`).

    Returns
    -------
    float
        The bound.

    Raises
    ------
    ValueError
        If T is less than :math:`T_1^*`: Lemma 5 does not cover it.

    Notes
    -----
    Published: Kalyanakrishnan et al. (2012), Lemma 5; :math:`T_1^*` *repaired*.  The repaired
    proof even gives :math:`2\delta/T^2`.

    Examples
    --------
    >>> from topk.guarantees import lucb1_overrun
    >>> round(lucb1_overrun([0.75, 0.25], 1, 0.0, 0.1, rounds=50_000) * 1e9, 6)
    0.16
    """
    first = lucb1_rounds(means, k, epsilon, delta)
    least = check_real(rounds, "rounds", first, math.inf, high_open=True)
    return 4 * delta / least / least


def lucb1_expected_pulls(means: ArrayLike, k: int, epsilon: float, delta: float) -> float:
    r"""Bound on the expected number of pulls of LUCB1.

    .. math:: n+2\Bigl(T_1^*+\sum_{t\ge T_1^*}\frac{4\delta}{t^2}\Bigr)
              =O\Bigl(H^{\epsilon/2}\ln\frac{H^{\epsilon/2}}\delta\Bigr).

    Parameters
    ----------
    means, k, epsilon, delta
        As in `lucb1_rounds`.

    Returns
    -------
    float
        Pulls; ``inf`` when epsilon is 0 and the boundary is tied.

    See Also
    --------
    topk.LUCB1 : the strategy.
    lucb1_likely_pulls : the bound that holds with high probability.

    Notes
    -----
    Kalyanakrishnan et al. (2012), Theorem 6, states the order (the formula is lost in our copy);
    the explicit form is *derived* from Lemma 5, including the n initial pulls.

    Examples
    --------
    >>> from topk.guarantees import lucb1_expected_pulls
    >>> round(lucb1_expected_pulls([0.75, 0.25], 1, 0.0, 0.1))
    49432
    """
    rounds = lucb1_rounds(means, k, epsilon, delta)
    return float(len(means) + 2 * (rounds + 4 * delta * zeta(2, rounds)))


def lucb1_likely_pulls(means: ArrayLike, k: int, epsilon: float, delta: float) -> int | float:
    r"""Pulls that LUCB1 exceeds with probability at most delta, :math:`n+2T_1^*`.

    Parameters
    ----------
    means, k, epsilon, delta
        As in `lucb1_rounds`.

    Returns
    -------
    int or float
        Pulls; ``inf`` when epsilon is 0 and the boundary is tied.

    See Also
    --------
    topk.LUCB1 : the strategy.
    lucb1_expected_pulls : the bound on the mean.

    Notes
    -----
    Kalyanakrishnan et al. (2012), Corollary 7, states the order; the explicit form is
    *derived*: :math:`4\delta/(T_1^*)^2\le\delta`.

    Examples
    --------
    >>> from topk.guarantees import lucb1_likely_pulls
    >>> lucb1_likely_pulls([0.75, 0.25], 1, 0.0, 0.1)
    49432
    """
    return 2 * lucb1_rounds(means, k, epsilon, delta) + len(means)


@validated(n=integer(2), k=up_to_all, epsilon=between(0, 1), delta=probability)
def halving_pulls(n: int, k: int, epsilon: float, delta: float) -> int:
    r"""Pulls of Halving, whose schedule is fixed in advance.

    .. math:: \sum_{l=1}^{\lceil\log_2(n/k)\rceil}|R_l|
              \Bigl\lceil\frac2{\epsilon_l^2}\ln\frac{3k}{\delta_l}\Bigr\rceil,\quad
              \epsilon_l=\tfrac\epsilon4\bigl(\tfrac34\bigr)^{l-1},\quad
              \delta_l=\delta2^{-l},\quad|R_{l+1}|=\max(\lceil|R_l|/2\rceil,k).

    Parameters
    ----------
    n : int
        Number of arms.
    k : int
        Arms to select, 1 to n.
    epsilon : float
        Tolerance per arm, in (0, 1).
    delta : float
        In (0, 1).

    Returns
    -------
    int
        The exact number of pulls, at most :math:`\frac n{\epsilon^2}(288\ln\frac{6k}\delta+1598)`
        plus the rounding.

    See Also
    --------
    topk.Halving : the strategy.
    direct_pulls : the direct method.

    Notes
    -----
    Kalyanakrishnan and Stone (2010), whose paper was not available to us: the schedule is
    *recovered* from independent code, its analysis and the closed form are *derived*;
    :math:`O(\frac n{\epsilon^2}\ln\frac k\delta)` is published.

    Examples
    --------
    >>> from topk.guarantees import halving_pulls
    >>> halving_pulls(8, 2, epsilon=0.5, delta=0.1)
    9896
    """
    total, size, level, failure = 0, n, epsilon / 4, delta / 2
    while size > k:  # ceil(log2(n / k)) times
        total += size * math.ceil(2 / max(level, 1e-100) ** 2 * math.log(3 * k / failure))
        size, level, failure = max((size + 1) // 2, k), 0.75 * level, failure / 2
    return total


@validated(n=integer(2), epsilon=between(0, 1), delta=probability)
def direct_pulls(n: int, epsilon: float, delta: float) -> int:
    r"""Pulls of the direct method, :math:`n\lceil\frac2{\epsilon^2}\ln\frac n\delta\rceil`.

    Parameters
    ----------
    n : int
        Number of arms.
    epsilon : float
        Tolerance per arm, in (0, 1).
    delta : float
        In (0, 1).

    Returns
    -------
    int
        Total pulls, the same number for each arm; the k largest means are returned.

    See Also
    --------
    halving_pulls : the bound of Halving.
    uniform_pulls : the bound for an average regret.

    Notes
    -----
    *Recalled*: the baseline of Kalyanakrishnan and Stone (2010).  Each mean is off by
    :math:`\epsilon/2` on one side with probability at most :math:`\delta/n`.

    Examples
    --------
    >>> from topk.guarantees import direct_pulls
    >>> direct_pulls(1000, epsilon=0.1, delta=0.1)
    1843000
    """
    return n * math.ceil(2 / epsilon**2 * math.log(n / delta))
