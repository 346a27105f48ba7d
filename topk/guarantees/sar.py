"""Guarantees of SAR for the exact set: Bubeck et al. (2013)."""

import math

import numpy as np
from numpy.typing import ArrayLike

from topk import hardness
from topk._checks import (
    check_integer,
    up_to,
)
from topk._ranges import (
    below_means,
    integer,
    one_bandit,
    one_or_several,
    probability,
    pulls_of_means,
    several,
    validated,
)
from topk._types import Floats, Whole


@validated(n=integer(1))
def log_bar(n: int) -> float:
    r"""Return the constant of SAR's schedule.

    .. math:: \overline{\log}(n)=\frac12+\sum_{i=2}^n\frac1i.

    Parameters
    ----------
    n : int
        Number of arms, at least 1.

    Returns
    -------
    float
        The constant.

    Notes
    -----
    Bubeck et al. (2013), Figure 1.

    Examples
    --------
    >>> from topk.guarantees import log_bar
    >>> log_bar(2), round(log_bar(100), 3)
    (1.0, 4.687)
    """
    return 0.5 + float(np.sum(1.0 / np.arange(2, n + 1)))


@validated(means=one_bandit, k=below_means, budget=pulls_of_means)
def sar_error(means: ArrayLike, k: int, budget: Whole) -> float:
    r"""Bound on the probability that SAR misses one of the k best arms.

    .. math:: e_Q\le2n^2\exp\Bigl(-\frac{Q-n}{8\,\overline{\log}(n)\,H_2}\Bigr),
              \qquad\overline{\log}(n)=\tfrac12+\sum_{i=2}^n\tfrac1i.

    Parameters
    ----------
    means : array_like, shape (n,)
        True means in [0, 1], in any order.
    k : int
        Arms to select, 1 to n - 1.
    budget : int
        Q, total pulls, at least n. (`topk.SAR` itself needs n + 1: with n it makes no pull, and the
        bound is 2 n^2.)

    Returns
    -------
    float
        The bound as it stands; vacuous above 1. 2 n^2 when the boundary is tied.

    See Also
    --------
    topk.SAR : the strategy.
    sar_budget : the budget for a given error.
    multibandit_sar_error : the bound for several bandits.

    Notes
    -----
    Constant published: Bubeck et al. (2013), Theorem 1.  For the budgets of the paper's own
    experiments the value is above 5 for every m, so the bound is vacuous there.

    Examples
    --------
    >>> from topk.guarantees import sar_error
    >>> round(sar_error([0.9, 0.5, 0.1], 1, budget=1_000), 4)
    0.0102
    """
    return 2 * means.size**2 * math.exp(-sar_exponent(means, k, budget))


@validated(means=one_bandit, k=below_means, delta=probability)
def sar_budget(means: ArrayLike, k: int, delta: float) -> int | float:
    r"""Smallest budget for which SAR's bound guarantees a failure probability of at most delta.

    Solves Theorem 1: :math:`Q=n+8\,\overline{\log}(n)\,H_2\ln(2n^2/\delta)`, rounded up.

    Parameters
    ----------
    means, k
        As in `sar_error`.
    delta : float
        Allowed failure probability, in (0, 1).

    Returns
    -------
    int or float
        Total pulls; ``inf`` when the boundary is tied.

    See Also
    --------
    topk.SAR : the strategy.
    sar_error : the error with a given budget.

    Notes
    -----
    Constant published: Bubeck et al. (2013), Theorem 1, solved for the budget.

    Examples
    --------
    >>> from topk.guarantees import sar_budget, sar_error
    >>> budget = sar_budget([0.9, 0.5, 0.1], 1, delta=0.05)
    >>> budget, sar_error([0.9, 0.5, 0.1], 1, budget) <= 0.05
    (788, True)
    """
    n = means.size
    budget = n + 8 * log_bar(n) * hardness.h2(means, k) * math.log(2 * n * n / delta)
    return math.ceil(budget) if math.isfinite(budget) else math.inf


@validated(means=several, budget=pulls_of_means)
def multibandit_sar_error(means: ArrayLike, budget: Whole) -> float:
    r"""Bound on the probability that multi-bandit SAR misses the best arm of some bandit.

    .. math:: e_Q\le2M^2n^2\exp\Bigl(-\frac{Q-Mn}{8\,\overline{\log}(Mn)\,H_2^{[M]}}\Bigr).

    Parameters
    ----------
    means : array_like, shape (M, n)
        True means in [0, 1], one row per bandit.
    budget : int
        Q, total pulls over all bandits, at least M n. (`topk.MultiBanditSAR` itself needs one more:
        with M n it makes no pull.)

    Returns
    -------
    float
        The bound as it stands; vacuous above 1.

    See Also
    --------
    topk.MultiBanditSAR : the strategy.
    sar_error : the bound for one bandit.

    Notes
    -----
    Constant published: Bubeck et al. (2013), Theorem 2.

    Examples
    --------
    >>> from topk.guarantees import multibandit_sar_error
    >>> round(multibandit_sar_error([[0.9, 0.1], [0.2, 0.8]], budget=500), 4)
    0.0608
    """
    return 2 * means.size**2 * math.exp(-sar_exponent(means, 1, budget))


def _k_of_sar(value, name, arguments):
    """Range of k; it is 1 for several bandits."""
    means = arguments["means"]
    return check_integer(value, name, 1, means.size - 1 if means.ndim == 1 else 1)


@validated(means=one_or_several, k=_k_of_sar, budget=pulls_of_means)
def sar_exponent(means: ArrayLike, k: int, budget: Whole) -> float:
    r"""Exponent of SAR's bound, for one bandit or several; both theorems share its form.

    .. math:: \frac{Q-N}{8\,\overline{\log}(N)\,H_2},

    with :math:`N=n` and the :math:`H_2` of one bandit, or :math:`N=Mn` and
    :math:`H_2^{[M]}` for M bandits.

    Parameters
    ----------
    means : array_like, shape (n,) or (M, n)
        True means in [0, 1], in any order; two axes describe M bandits.
    k : int
        Arms to select, 1 to n - 1; 1 for several bandits.
    budget : int
        Q, total pulls, at least N.

    Returns
    -------
    float
        At least 0; 0 when a boundary is tied.

    See Also
    --------
    sar_error : the bound for one bandit.
    multibandit_sar_error : the bound for several.

    Notes
    -----
    Constant published: Bubeck et al. (2013), Theorems 1 and 2.

    Examples
    --------
    >>> from topk.guarantees import sar_exponent
    >>> round(sar_exponent([0.9, 0.5, 0.1], 1, budget=1_000), 3)
    7.478
    >>> round(sar_exponent([[0.9, 0.1], [0.2, 0.8]], 1, budget=500), 3)
    6.265
    """
    h = hardness.h2(means, k) if means.ndim == 1 else hardness.h_multibandit(means)[1]
    return (budget - means.size) / (8 * log_bar(means.size) * h)


@validated(means=one_or_several, k=_k_of_sar, part=up_to(1))
def sar_windows(means: ArrayLike, k: int, part: float = 0.25) -> Floats:
    r"""Maximum deviation of an average after each phase of SAR, on the event of its proof.

    .. math:: \tfrac14\Delta_{(N)},\ \tfrac14\Delta_{(N-1)},\ \dots,\ \tfrac14\Delta_{(2)}
              \qquad\text{after phases }1,\dots,N-1,

    where :math:`\Delta_{(1)}\le\dots\le\Delta_{(N)}` are the gaps of all :math:`N=n` arms of one
    bandit, or of all :math:`N=Mn` arms of M bandits, each within its own bandit.

    Parameters
    ----------
    means, k
        As in `sar_exponent`.
    part : float
        Allowed fraction of a gap, in (0, 1]; a quarter in the proof.

    Returns
    -------
    ndarray, shape (N - 1,)
        The deviations, the largest first.

    Notes
    -----
    Constant published: Bubeck et al. (2013), the event :math:`\xi` in the proofs of
    Theorems 1 and 2.

    Examples
    --------
    >>> from topk.guarantees import sar_windows
    >>> sar_windows([1.0, 0.5, 0.0], 1)
    array([0.25 , 0.125])
    >>> sar_windows([[1.0, 0.0], [0.0, 0.5]], 1)
    array([0.25 , 0.25 , 0.125])
    """
    widest_first = np.sort([hardness.gaps(row, k) for row in np.atleast_2d(means)], axis=None)[::-1]
    return part * widest_first[:-1]
