"""Evenly spread arms: Definition 1 and Lemma 1 of Chen et al. (2017), with constants."""

import math
from typing import NamedTuple

import numpy as np

from topk._checks import check_epsilon, check_k, check_means, check_n, check_real


def spread_constant(means):
    r"""Smallest c for which the arms are c-spread.

    Arms with sorted means :math:`\theta_1\ge\dots\ge\theta_n` are c-spread, c >= 1, if

    .. math:: \frac{|i-j|}{cn}\le|\theta_i-\theta_j|\le\frac{c\,|i-j|}n
              \quad\text{for all }i,j.

    Parameters
    ----------
    means : array_like, shape (n,)
        True means in [0, 1], in any order.

    Returns
    -------
    float
        At least 1; ``inf`` when two means are equal. The arms are c-spread exactly for
        every c from here on.

    Raises
    ------
    ValueError
        If ``means`` has fewer than two arms or an entry outside [0, 1].

    Notes
    -----
    Chen et al. (2017), Definition 1, restored (the bracket is garbled in our copy).
    Plain form: the largest of 1, :math:`n|\theta_i-\theta_j|/|i-j|` and its inverse over
    all pairs.  Neighbouring ranks suffice: the slope between two ranks is the average of
    the slopes of the steps between them.

    Examples
    --------
    >>> from topk.hardness import spread_constant
    >>> spread_constant([1.0, 0.75, 0.25, 0.0])
    2.0
    """
    steps = -np.diff(np.sort(check_means(means))[::-1]) * len(means)
    if steps.min() == 0:
        return math.inf
    with np.errstate(over="ignore"):
        return float(max(1.0, steps.max(), 1 / steps.min()))


class SpreadBounds(NamedTuple):
    """What Lemma 1 promises of c-spread arms.

    Attributes
    ----------
    tolerance : int
        Lower bound on t(epsilon, k).
    psi : float
        Lower bound on Psi_t.
    upper : float
        Upper bound on H^(t, epsilon), of the order n / sqrt(epsilon).
    lower : float
        Lower bound on H^(0, epsilon), of the order n / epsilon.
    """

    tolerance: int
    psi: float
    upper: float
    lower: float


def spread_bounds(n, k, epsilon, c):
    r"""Lemma 1 with its constants: bounds that hold for all c-spread arms.

    With :math:`\gamma=k/n\le\frac12` and cap :math:`\tau=\min(k-1,n-k-1)`,

    .. math:: t\ge\min\Bigl(\bigl\lfloor n\sqrt{\tfrac{\gamma\epsilon}{2c}}\bigr\rfloor,
              \tau\Bigr),\quad \Psi_t\ge\sqrt{\tfrac{\gamma\epsilon}{2c^3}}
              \ \bigl(\text{or }\tfrac{\tau+1}{cn}\text{ at the cap}\bigr),\quad
              H^{(t,\epsilon)}\le\frac{4cn}{\max(\Psi_t,\epsilon)},

    .. math:: H^{(0,\epsilon)}\ge\epsilon^{-2}\bigl(\min(d,k)+\min(d,n-k)\bigr),
              \qquad d=\lfloor\epsilon n/c\rfloor.

    Parameters
    ----------
    n : int
        Number of arms, at least 2.
    k : int
        Arms to select, 1 to n / 2.
    epsilon : float
        Tolerance on the average regret, in (0, 1).
    c : float
        Spread constant, at least 1 and finite.

    Returns
    -------
    SpreadBounds
        ``tolerance``, ``psi``, ``upper``, ``lower``; the last is at least n, which
        every H is.

    Raises
    ------
    ValueError
        If an argument is outside its range.

    Notes
    -----
    Chen et al. (2017), Lemma 1, states the orders :math:`O(n/\sqrt\epsilon)` and
    :math:`\Omega(n/\epsilon)` for constant c and :math:`\gamma`; its proof stands in a
    full version that we have not seen.  The constants are derived here, in the
    chapter "Adaptive top-K".

    Examples
    --------
    >>> from topk.hardness import spread_bounds
    >>> bounds = spread_bounds(1000, 500, epsilon=0.01, c=1.0)
    >>> bounds.tolerance, round(bounds.psi, 3), round(bounds.upper), round(bounds.lower)
    (50, 0.05, 80000, 200000)
    """
    n = check_n(n)
    k = check_k(k, largest=n // 2)
    epsilon = check_epsilon(epsilon, positive=True)
    c = check_real(c, "c", 1, math.inf, high_open=True)
    cap = min(k - 1, n - k - 1)
    free = math.floor(n * math.sqrt(k / n * epsilon / (2 * c)))
    level = math.sqrt(k / n * epsilon / (2 * c**3)) if free <= cap else (cap + 1) / (c * n)
    close = math.floor(epsilon * n / c)
    lower = max(n, (min(close, k) + min(close, n - k)) / epsilon**2)
    return SpreadBounds(min(free, cap), level, 4 * c * n / max(level, epsilon), lower)
