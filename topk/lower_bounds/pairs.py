"""Paired arms, and the failure of uniform sampling.

The pairs are derived here for Theorem 3 of Chen et al. (2017); the instance on which uniform
sampling fails is that of Theorem 7.1 of Zhou et al. (2014).
"""

import math
from itertools import count
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from topk._checks import (
    as_array,
    between,
    check_arms,
    check_integer,
    refuse,
    up_to,
)
from topk._ranges import integer, up_to_half, validated
from topk._types import Floats
from topk.lower_bounds.two_coins import totals

GOOD, BAD = 0.75, 0.25


def _bits(value, name, arguments):
    """Range of bits; a boolean array (k,)."""
    array = as_array(value, name, "a vector of k booleans")
    if array.ndim != 1 or array.size == 0 or not np.isin(array, (0, 1)).all():
        refuse(name, value, "a vector of k booleans (or zeros and ones)")
    return array.astype(bool)


@validated(signs=_bits)
def paired_means(signs: ArrayLike) -> Floats:
    r"""Means of the paired instance: in each pair one arm is 3/4, the other 1/4.

    Parameters
    ----------
    signs : array_like of bool, shape (k,)
        Whether the first arm of pair j, arm 2 j, is the good one.  In the theorem these are
        independent fair bits.

    Returns
    -------
    ndarray, shape (2 k,)
        Exactly k good arms; every gap is 1/2, so that :math:`H^{(t,\epsilon)}=4n` for every
        :math:`\epsilon\le1/2`.

    See Also
    --------
    pair_error : the error of a guess of one pair.
    group_family : the construction of groups.

    Notes
    -----
    Construction and proof are *derived* here; the instance of Chen et al. (2017), Theorem 3, is in
    a full version that was not available to us.

    Examples
    --------
    >>> from topk.lower_bounds import paired_means
    >>> paired_means([True, False])
    array([0.75, 0.25, 0.25, 0.75])
    """
    return np.where(np.stack([signs, ~signs], axis=1), GOOD, BAD).ravel()


@validated(k=integer(1))
def pair_log_odds(arms: ArrayLike, rewards: ArrayLike, k: int) -> Floats:
    r"""Posterior log odds that the first arm of each pair is the good one.

    Every pull changes the log odds of its pair by :math:`\pm\ln3`: up after a one of the first arm
    or a zero of the second, down otherwise.  The prior is uniform.

    Parameters
    ----------
    arms : array_like of int, shape (m,)
        Arm of each pull, 0 to 2 k - 1.
    rewards : array_like, shape (m,)
        Reward of each pull, 0 or 1.
    k : int
        Number of pairs.

    Returns
    -------
    ndarray, shape (k,)
        Log odds in nats.  Given the record the bits are independent with these odds, whatever the
        strategy.

    Notes
    -----
    *Derived* here.

    Examples
    --------
    >>> from topk.lower_bounds import pair_log_odds
    >>> pair_log_odds([0, 0, 3], [1, 1, 1], 2) / np.log(3)
    array([ 2., -1.])
    """
    pulls, sums = totals(arms, rewards, 2 * k)
    for_its_arm = (2 * sums - pulls).reshape(k, 2)  # ones minus zeros
    return math.log(3) * (for_its_arm[:, 0] - for_its_arm[:, 1])


@validated(pulls=integer(0))
def pair_error(pulls: int) -> float:
    r"""Smallest probability of a wrong guess of one bit after q pulls of its pair.

    .. math:: \Pr\{\mathrm{Bin}(q,\tfrac14)>\tfrac q2\}
              +\tfrac12\Pr\{\mathrm{Bin}(q,\tfrac14)=\tfrac q2\}\ \ge\ \tfrac12\,3^{-q}.

    Parameters
    ----------
    pulls : int
        q, at least 0.

    Returns
    -------
    float
        Error of the majority guess, which is Bayes optimal, for a fixed q.

    Notes
    -----
    *Derived* here.  The bound also holds for adaptive numbers
    of pulls, as no record of q pulls is more than :math:`3^q` times likelier under one order.

    Examples
    --------
    >>> from topk.lower_bounds import pair_error
    >>> [pair_error(q) for q in (0, 1, 3)]
    [0.5, 0.25, 0.15625]
    """
    from scipy.stats import binom

    tie = 0.0 if pulls % 2 else binom.pmf(pulls / 2, pulls, 0.25)
    return float(binom.sf(pulls / 2, pulls, 0.25) + 0.5 * tie)


class PairCounts(NamedTuple):
    """Numbers of pairs by the chosen arms in them.

    Attributes
    ----------
    none, wrong, both : int
        Pairs of which no arm, only the bad arm, or both arms are chosen.
    missing : int
        Good arms not chosen, none + wrong; the average regret is missing / (2 k).
    """

    none: int
    wrong: int
    both: int
    missing: int


@validated(signs=_bits)
def pair_counts(selected: ArrayLike, signs: ArrayLike) -> PairCounts:
    r"""Count the pairs that a chosen set gets wrong, by kind.

    If the bits are guessed from the set, the guess is wrong for W pairs,
    :math:`W\le c_0+c_1+c_2\le2m`, where m good arms are missing.

    Parameters
    ----------
    selected : array_like of int, shape (k,)
        Chosen arms, 0 to 2 k - 1, without repetition.
    signs : array_like of bool, shape (k,)
        The bits, as in `paired_means`.

    Returns
    -------
    PairCounts
        ``none``, ``wrong``, ``both``, ``missing``.

    Notes
    -----
    *Derived* here: regret at most epsilon means
    :math:`m\le2\epsilon k`, hence :math:`W\le4\epsilon k`.

    Examples
    --------
    >>> from topk.lower_bounds import pair_counts
    >>> pair_counts([0, 1], [True, True])
    PairCounts(none=1, wrong=0, both=1, missing=1)
    """
    arms = check_arms(selected, 2 * signs.size, "selected")
    if arms.shape != signs.shape or np.unique(arms).size != arms.size:
        refuse("selected", selected, f"{signs.size} different arms")
    first, second = np.isin(np.arange(2 * signs.size), arms).reshape(-1, 2).T
    good, bad = np.where(signs, first, second), np.where(signs, second, first)
    none, wrong = int((~good & ~bad).sum()), int((~good & bad).sum())
    return PairCounts(none, wrong, int((good & bad).sum()), none + wrong)


def _even(value, name, arguments):
    """Range of an even number of arms."""
    n = check_integer(value, name, 2)
    if n % 2:
        refuse(name, n, "even")
    return n


@validated(n=_even, epsilon=up_to(1 / 256))
def theorem_3_pulls(n: int, epsilon: float) -> float:
    r"""Pulls below which no algorithm succeeds with probability 0.9 on the paired instance.

    .. math:: Q_0=\frac n{4\ln3}\ln\frac1\epsilon\approx0.2276\,n\ln\frac1\epsilon .

    Parameters
    ----------
    n : int
        Number of arms, even.
    epsilon : float
        Tolerance on the average regret, in (0, 1/256].

    Returns
    -------
    float
        For every algorithm there are bits on which it makes more than these pulls with
        probability at least 0.9 - `theorem_3_success`.

    See Also
    --------
    theorem_3_success : the probability of success with a given number of pulls.

    Notes
    -----
    Chen et al. (2017), Theorem 3, states :math:`\Omega(n\ln\frac1\epsilon)` for
    :math:`\epsilon=\Omega(1/n)`; constant and proof are *derived* here.  The instance must depend
    on the algorithm: one that always returns the right set of a fixed instance needs no pull on it.

    Examples
    --------
    >>> from topk.lower_bounds import theorem_3_pulls
    >>> round(theorem_3_pulls(1000, 0.001), 1)
    1571.9
    """
    return n / (4 * math.log(3)) * math.log(1 / epsilon)


@validated(n=_even, epsilon=up_to(1 / 256))
def theorem_3_success(n: int, epsilon: float) -> float:
    r"""Largest probability of success with at most `theorem_3_pulls` pulls, for random bits.

    .. math:: \Pr[\mathcal L_T\le\epsilon]\le e^{-K\sqrt\epsilon/16},\qquad K=n/2 .

    Parameters
    ----------
    n, epsilon
        As in `theorem_3_pulls`.

    Returns
    -------
    float
        The bound; below 0.9 only for n above about :math:`3.4/\sqrt\epsilon`.

    See Also
    --------
    theorem_3_pulls : the number of pulls.

    Notes
    -----
    *Derived* here, by convexity and Chernoff's bound.

    Examples
    --------
    >>> from topk.lower_bounds import theorem_3_success
    >>> round(theorem_3_success(10_000, 0.001), 6)
    5.1e-05
    """
    return math.exp(-n / 2 * math.sqrt(epsilon) / 16)


@validated(epsilon=between(0, 1))
def pair_sprt(epsilon: float) -> tuple[int, float]:
    r"""Pulls of a sequential test on every pair for an expected regret of at most epsilon.

    The test of a pair stops when the evidence for one order leads by a pulls.  Its error is
    :math:`1/(1+3^a)`, half of which is the expected regret, and its expected number of pulls is
    :math:`2a\frac{3^a-1}{3^a+1}`.

    Parameters
    ----------
    epsilon : float
        Allowed expected average regret, in (0, 1).

    Returns
    -------
    lead : int
        The smallest sufficient a.
    pulls : float
        Expected pulls per pair, to be compared with `theorem_3_pulls` / k.

    Notes
    -----
    *Derived*: gambler's ruin for a random walk that steps in the right direction with probability
    3/4.

    Examples
    --------
    >>> from topk.lower_bounds import pair_sprt
    >>> lead, pulls = pair_sprt(0.001)
    >>> lead, round(pulls, 1)
    (6, 12.0)
    """
    lead = next(a for a in count() if 0.5 / (1 + 3**a) <= epsilon)
    return lead, 2 * lead * (3**lead - 1) / (3**lead + 1)


@validated(n=integer(2), k=up_to_half, epsilon=between(0, 0.01))
def theorem_7_1_pulls(n: int, k: int, epsilon: float) -> float:
    r"""Pulls per arm at which uniform sampling still fails.

    .. math:: Q_0=\frac1{400\,\epsilon^2}\ln\frac nk .

    Parameters
    ----------
    n : int
        Number of arms.
    k : int
        Arms to select, 1 to n / 2.
    epsilon : float
        Tolerance on the average regret, in (0, 0.01).

    Returns
    -------
    float
        :math:`Q_0`. With these pulls per arm, and n / k above 6,000, the failure probability is at
        least 0.05.

    See Also
    --------
    uniform_failure : the exact failure probability.

    Notes
    -----
    Constant published: supplement of Zhou et al. (2014), Theorem 7.1, first part.
    `uniform_failure` gives the exact probability on the theorem's instance.

    Examples
    --------
    >>> from topk.lower_bounds import theorem_7_1_pulls
    >>> round(theorem_7_1_pulls(100_000, 10, 0.005), 1)
    921.0
    """
    return math.log(n / k) / (400 * epsilon**2)


@validated(n=integer(2), k=up_to_half, epsilon=up_to(1 / 8), pulls=integer(1))
def uniform_failure(n: int, k: int, epsilon: float, pulls: int) -> tuple[float, float]:
    r"""Exact failure probability of uniform sampling on the instance of Theorem 7.1.

    k arms have mean :math:`\frac12+4\epsilon`, the others 1/2; every arm is pulled equally
    often and the k largest means are returned.  The set fails when its average regret
    exceeds epsilon, that is, when more than k / 4 good arms are missing.

    Parameters
    ----------
    n : int
        Number of arms.
    k : int
        Arms to select, 1 to n / 2.
    epsilon : float
        Tolerance on the average regret, in (0, 1/8].
    pulls : int
        Pulls of each arm, at least 1.

    Returns
    -------
    tuple of float
        The probability if ties of the means are broken in favour of the good arms, and if they are
        broken in favour of the bad ones.  For any other rule it lies in between.

    See Also
    --------
    theorem_7_1_pulls : the bound that it illustrates.

    Notes
    -----
    *Derived*: at least m bad arms are returned exactly when the m-th best bad mean beats
    the m-th worst good one, and the two are independent.

    Examples
    --------
    >>> from topk.lower_bounds import uniform_failure
    >>> [round(bound, 4) for bound in uniform_failure(100, 10, 0.01, pulls=400)]
    [0.9694, 0.9816]
    """
    from scipy.stats import binom

    m = k // 4 + 1
    ones = np.arange(pulls + 1)
    # P(m-th worst good <= v), P(m-th best bad >= v)
    worst_good = binom.sf(m - 1, k, binom.cdf(ones, pulls, 0.5 + 4 * epsilon))
    best_bad = binom.sf(m - 1, n - k, binom.sf(ones - 1, pulls, 0.5))
    law = np.diff(worst_good, prepend=0.0)
    return float(law @ np.append(best_bad[1:], 0.0)), float(law @ best_bad)
