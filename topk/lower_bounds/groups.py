"""Groups of arms: Mannor and Tsitsiklis (2004), and section 5.2 of Zhou et al. (2014)."""

import math
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from topk._checks import (
    as_numbers,
    between,
    check_integer,
    check_real,
    refuse,
    up_to,
)
from topk._ranges import above_zero, below_n, below_one, integer, probability, up_to_half, validated
from topk._types import FloatOrFloats, Floats
from topk.lower_bounds.two_coins import theorem_5_1_pulls

# Constants C of the bound n ln(1/delta) / (C epsilon^2 K), as published.
LEMMA_5_4, THEOREM_5_5 = 20_000, 100_000


SMALL = up_to(0.01)  # the range of epsilon, and mostly of delta


@validated(n=integer(2), k=up_to_half, epsilon=up_to(1 / 16))
def group_family(n: int, k: int, epsilon: float) -> Floats:
    r"""The hypotheses :math:`H_1,\dots,H_t`, one row of means each.

    The arms form :math:`t=\lfloor n/k\rfloor` groups of k.  Under :math:`H_1` group 1 has mean
    :math:`\frac12+4\epsilon` and all other arms 1/2; under :math:`H_j` group j has mean
    :math:`\frac12+8\epsilon` in addition.

    Parameters
    ----------
    n : int
        Number of arms.
    k : int
        Arms to select, 1 to n / 2.
    epsilon : float
        Tolerance on the average regret, in (0, 1/16].

    Returns
    -------
    ndarray, shape (t, n)
        Row j - 1 contains the means under :math:`H_j`; group g consists of arms (g - 1) k to g k -
        1.

    See Also
    --------
    group_log_ratio : the likelihood ratio of two hypotheses.
    paired_means : the construction of pairs.

    Notes
    -----
    Supplement of Zhou et al. (2014), Lemma 5.4 (which needs epsilon <= .01).

    Examples
    --------
    >>> from topk.lower_bounds import group_family
    >>> group_family(4, 2, 0.0625)
    array([[0.75, 0.75, 0.5 , 0.5 ],
           [0.75, 0.75, 1.  , 1.  ]])
    """
    groups = n // k
    family = np.full((groups, n), 0.5)
    family[:, :k] += 4 * epsilon
    for j in range(1, groups):
        family[j, j * k : (j + 1) * k] += 8 * epsilon
    return family


@validated(n=integer(2), epsilon=up_to(0.5))
def mannor_tsitsiklis_family(n: int, epsilon: float) -> Floats:
    r"""The original family for one best arm.

    Under :math:`H_0` arm 0 has mean :math:`\frac{1+\epsilon}2` and the others 1/2; under
    :math:`H_l` arm l has mean :math:`\frac12+\epsilon` in addition.

    Parameters
    ----------
    n : int
        Number of arms.
    epsilon : float
        Tolerance, in (0, 1/2].

    Returns
    -------
    ndarray, shape (n, n)
        Row l holds the means under :math:`H_l`.

    See Also
    --------
    explore_m_means : the construction for m arms.
    group_family : hypotheses that differ in groups of arms.

    Notes
    -----
    Mannor and Tsitsiklis (2004), *recalled*; the same as `group_family` with k = 1 at
    epsilon / 8.

    Examples
    --------
    >>> from topk.lower_bounds import mannor_tsitsiklis_family
    >>> mannor_tsitsiklis_family(3, 0.5)
    array([[0.75, 0.5 , 0.5 ],
           [0.75, 1.  , 0.5 ],
           [0.75, 0.5 , 1.  ]])
    """
    return group_family(n, 1, epsilon / 8)


@validated(epsilon=between(0, 1 / 16))
def group_log_ratio(pulls: ArrayLike, ones: ArrayLike, epsilon: float) -> FloatOrFloats:
    r"""Log likelihood ratio of :math:`H_j` to :math:`H_1`: only group j's rewards matter.

    .. math:: \tilde u_1\ln(1+16\epsilon)+\tilde u_0\ln(1-16\epsilon)
              =\frac{\tilde q}2\ln(1-256\epsilon^2)
              +\frac{\tilde u_0-\tilde u_1}2\ln\frac{1-16\epsilon}{1+16\epsilon},

    for :math:`\tilde q` pulls of the group, :math:`\tilde u_1` ones and :math:`\tilde u_0`
    zeros.

    Parameters
    ----------
    pulls, ones : array_like
        :math:`\tilde q` and :math:`\tilde u_1`, of one shape.
    epsilon : float
        In (0, 1/16).

    Returns
    -------
    float or ndarray
        In nats.

    Raises
    ------
    ValueError
        If there are more ones than pulls, or the shapes differ.

    Notes
    -----
    Supplement of Zhou et al. (2014), proof of Lemma 5.4.

    Examples
    --------
    >>> from topk.lower_bounds import group_log_ratio
    >>> round(group_log_ratio(10, 5, 0.01), 5)
    -0.12967
    """
    pulls = as_numbers(pulls, "pulls", "finite numbers of at least 0")
    ones = as_numbers(ones, "ones", "of the shape of pulls and between 0 and the pulls")
    if not ((pulls >= 0) & (pulls < np.inf)).all():
        refuse("pulls", pulls, "finite numbers of at least 0")
    if pulls.shape != ones.shape or not ((ones >= 0) & (ones <= pulls)).all():
        refuse("ones", ones, "of the shape of pulls and between 0 and the pulls")
    value = ones * math.log1p(16 * epsilon) + (pulls - ones) * math.log1p(-16 * epsilon)
    return float(value) if value.ndim == 0 else value


class GroupArgument(NamedTuple):
    r"""The quantities in the proof of Lemma 5.4 or Theorem 5.5, for an algorithm with few pulls.

    Attributes
    ----------
    pulls : float
        :math:`Q=\frac{n\ln(1/\delta)}{C\epsilon^2K}`, the expected pulls assumed.
    cap : float
        :math:`Q_0=8Q/t`, which some group's pulls exceed with probability at most 1/4; with
        fixed bits :math:`20Q/t`.
    deviation : float
        :math:`\sqrt{5Q_0}`, which the group's ones minus zeros, stopped at the cap, exceed
        with probability at most 2 exp(-5/2) < 1/4.
    log_ratio : float
        The smallest log likelihood ratio within cap and deviation.
    log_needed : float
        :math:`\frac12\ln\delta`.
    good_event : float
        :math:`\frac12-\delta`: lower bound, under :math:`H_1`, on the probability of success, cap
        and deviation together; with fixed bits :math:`\frac12-4\delta`.
    wrong : float
        ``good_event`` times the ratio: lower bound on the probability, under :math:`H_{j_0}`, of an
        answer that is right under :math:`H_1`, hence wrong.
    contradiction : bool
        Whether ``wrong`` exceeds delta, with fixed bits 4 delta: no such algorithm exists.
    """

    pulls: float
    cap: float
    deviation: float
    log_ratio: float
    log_needed: float
    good_event: float
    wrong: float
    contradiction: bool


@validated(n=integer(2), k=up_to_half, epsilon=SMALL, delta=up_to(0.02), constant=above_zero)
def group_argument(
    n: int, k: int, epsilon: float, delta: float, constant: float = LEMMA_5_4,
) -> GroupArgument:
    r"""Evaluate the contradiction of Lemma 5.4.

    Parameters
    ----------
    n : int
        Number of arms.
    k : int
        Arms to select, 1 to n / 2.
    epsilon : float
        Tolerance on the average regret, in (0, 0.01].
    delta : float
        Failure probability of the algorithm, in (0, 0.02]; the lemma assumes at most 0.01.
    constant : float
        C in the assumed pulls; published 20000.

    Returns
    -------
    GroupArgument
        With ``contradiction`` true, every deterministic algorithm that is right with
        probability 1 - delta needs more than ``pulls`` pulls in expectation.

    Notes
    -----
    Zhou et al. (2014), Lemma 5.4, and its proof in the supplement.  The supplement's last
    chain (see `printed_split`) fails for most delta; the exact ratio used here is at
    least :math:`\sqrt\delta` on the whole range.

    Examples
    --------
    >>> from topk.lower_bounds import group_argument
    >>> argument = group_argument(1000, 10, 0.01, 0.01)
    >>> argument.contradiction, argument.log_ratio >= argument.log_needed
    (True, True)
    """
    return _contradiction(n, k, epsilon, delta, constant, cap=8, failure=delta)


def _contradiction(n, k, epsilon, delta, constant, cap, failure):
    """Evaluate the argument with Q_0 = cap Q / t, for an algorithm of this failure probability."""
    pulls = n * math.log(1 / delta) / (constant * epsilon**2 * k)
    cap *= pulls / (n // k)
    deviation = math.sqrt(5 * cap)
    # ones - zeros = -deviation is the worst case at the cap
    log_ratio = group_log_ratio(cap, (cap - min(cap, deviation)) / 2, epsilon)
    good_event = 0.5 - failure
    wrong = good_event * math.exp(log_ratio)
    return GroupArgument(pulls, cap, deviation, log_ratio, math.log(delta) / 2, good_event, wrong,
                         wrong > failure)


@validated(epsilon=SMALL, delta=SMALL)
def printed_split(epsilon: float, delta: float) -> tuple[float, float]:
    r"""The two factors of the likelihood ratio in the supplement, and their claimed bound.

    .. math:: (1-256\epsilon^2)^{\frac{\ln(1/\delta)}{2500\epsilon^2}},\qquad
              (1-32\epsilon)^{\frac{\sqrt{\ln(1/\delta)}}{30\epsilon}},\qquad\delta^{1/4}.

    Parameters
    ----------
    epsilon : float
        In (0, 0.01].
    delta : float
        In (0, 0.01].

    Returns
    -------
    tuple of float
        First factor, second factor, and :math:`\delta^{1/4}`, which both factors are claimed to
        exceed.

    Notes
    -----
    The claim of the supplement of Zhou et al. (2014), p. 13, is false in general: the second factor
    exceeds :math:`\delta^{1/4}` only if
    :math:`\sqrt{\ln\frac1\delta}> \frac{2}{15\epsilon}\ln\frac1{1-32\epsilon}`, that is, for delta
    below 3.3e-12 at epsilon = .01 and below 1.2e-8 however small epsilon is.  The lemma remains
    true, see `group_argument`.

    Examples
    --------
    >>> from topk.lower_bounds import printed_split
    >>> [round(factor, 3) for factor in printed_split(0.01, 0.01)]
    [0.62, 0.063, 0.316]
    """
    log = math.log(1 / delta)
    first = math.exp(log / (2500 * epsilon**2) * math.log1p(-256 * epsilon**2))
    second = math.exp(math.sqrt(log) / (30 * epsilon) * math.log1p(-32 * epsilon))
    return first, second, delta**0.25


@validated(n=integer(2), k=up_to_half, epsilon=SMALL, delta=SMALL, constant=above_zero)
def randomised_argument(
    n: int, k: int, epsilon: float, delta: float, constant: float = THEOREM_5_5,
) -> GroupArgument:
    r"""The step of Theorem 5.5 from randomised to deterministic algorithms, in numbers.

    Take an algorithm with random bits, of expected pulls
    :math:`Q\le\frac{n\ln(1/\delta)}{C\epsilon^2K}`, that fails with probability at most delta on
    every instance, and the group g that gets the fewest expected pulls under :math:`H_1`, at most
    :math:`\frac{2Q}t`.  By Markov's inequality some bits fail with probability at most
    :math:`4\delta` under :math:`H_1` and under :math:`H_g`, and pull group g at most
    :math:`\frac{5Q}t` times in expectation, as :math:`\frac14+\frac14+\frac25<1`.  With these
    bits the algorithm is deterministic, and the argument of Lemma 5.4 excludes it.

    Parameters
    ----------
    n, k
        As in `group_argument`.
    epsilon : float
        Tolerance on the average regret, in (0, 0.01].
    delta : float
        In (0, 0.01].
    constant : float
        C; published 100000.

    Returns
    -------
    GroupArgument
        With cap :math:`20Q/t`, at failure :math:`4\delta`.

    Notes
    -----
    Zhou et al. (2014), Theorem 5.5.  The printed proof fixes bits that are good for one instance
    and applies Lemma 5.4, which assumes success on all instances; here the group is chosen before
    the bits (*repaired*), and the printed constant remains valid.

    Examples
    --------
    >>> from topk.lower_bounds import randomised_argument
    >>> randomised_argument(1000, 10, 0.01, 0.01).contradiction
    True
    >>> randomised_argument(1000, 10, 0.01, 0.01, constant=20_000).contradiction
    False
    """
    return _contradiction(n, k, epsilon, delta, constant, cap=20, failure=4 * delta)


@validated(n=integer(2), k=up_to_half, epsilon=SMALL, delta=SMALL)
def theorem_5_5_pulls(n: int, k: int, epsilon: float, delta: float) -> float:
    r"""Expected pulls that every algorithm needs: :math:`\frac{n\ln(1/\delta)}{C\epsilon^2K}`.

    Parameters
    ----------
    n, k, epsilon, delta
        As in `randomised_argument`.

    Returns
    -------
    float
        Pulls, on the worst of the instances of `group_family`.

    See Also
    --------
    theorem_5_6_pulls : the bound for k of at least n/2.
    theorem_5_1_pulls : the bound for a fixed probability.

    Notes
    -----
    Zhou et al. (2014), Theorem 5.5 (stated as an order); C = 100000 from its proof.

    Examples
    --------
    >>> from topk.lower_bounds import theorem_5_5_pulls
    >>> round(theorem_5_5_pulls(1000, 1, 0.01, 0.01), 1)
    460.5
    """
    return n * math.log(1 / delta) / (THEOREM_5_5 * epsilon**2 * k)


@validated(n=integer(2), k=below_n, epsilon=between(0, math.inf))
def complement_epsilon(n: int, k: int, epsilon: float) -> float:
    r"""Tolerance of the complementary problem, :math:`\epsilon'=\frac k{n-k}\epsilon`.

    The worst n - k arms are the best n - k of :math:`1-X`, and the two sums of losses are
    equal: a set T with regret epsilon has a complement with regret :math:`\epsilon'`.

    Parameters
    ----------
    n : int
        Number of arms.
    k : int
        Arms to select, 1 to n - 1.
    epsilon : float
        Tolerance on the average regret, positive.

    Returns
    -------
    float
        :math:`\epsilon'`.

    Notes
    -----
    Zhou et al. (2014), Theorems 4.5 and 5.6.

    Examples
    --------
    >>> from topk.lower_bounds import complement_epsilon
    >>> complement_epsilon(1000, 800, 0.01)
    0.04
    """
    return k * epsilon / (n - k)


@validated(n=integer(2), k=below_n, epsilon=below_one, delta=probability)
def theorem_5_6_pulls(n: int, k: int, epsilon: float, delta: float) -> float:
    r"""Expected pulls that every algorithm needs for :math:`k\ge n/2`, by the reduction.

    The larger of Theorem 5.1's and Theorem 5.5's bounds for n - k arms at
    :math:`\epsilon'=\frac k{n-k}\epsilon`; of the order
    :math:`\frac{n-k}k\frac n{\epsilon^2}\bigl(\frac{n-k}k+\frac{\ln(1/\delta)}k\bigr)`.

    Parameters
    ----------
    n : int
        Number of arms.
    k : int
        Arms to select, n / 2 to n - 1.
    epsilon : float
        Tolerance on the average regret, positive and at most .01 (n - k) / k.
    delta : float
        In (0, 0.01].

    Returns
    -------
    float
        Pulls. For n - k < 10, where Theorem 5.1 does not apply, the bound of Theorem 5.5 alone.

    See Also
    --------
    theorem_5_5_pulls : the bound for smaller k.

    Notes
    -----
    Zhou et al. (2014), Theorem 5.6, allows every epsilon up to .01, but the theorems that it
    reduces to cover only :math:`\epsilon'\le.01`, hence the range here.

    Examples
    --------
    >>> from topk.lower_bounds import theorem_5_6_pulls
    >>> round(theorem_5_6_pulls(1000, 999, 1e-5, 0.01), 1)
    461.4
    """
    check_integer(k, "k", (n + 1) // 2, n - 1)
    check_real(epsilon, "epsilon", 0, 0.01 * (n - k) / k, low_open=True)
    complement = min(complement_epsilon(n, k, epsilon), 0.01)  # guards against rounding errors
    bound = theorem_5_5_pulls(n, n - k, complement, delta)
    return max(bound, theorem_5_1_pulls(n, n - k, complement)) if n - k >= 10 else bound
