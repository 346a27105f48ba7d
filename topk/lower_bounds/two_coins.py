"""Likelihood ratios, information, and tests that distinguish two means of one arm.

The optimal fixed-size and sequential tests of one Bernoulli arm are computed exactly (Lemma 5.3 of
Zhou et al., 2014); Theorem 5.1 follows from them.
"""

import math
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from topk._checks import (
    as_array,
    as_numbers,
    between,
    check_arms,
    check_integer,
    refuse,
    up_to,
)
from topk._ranges import as_many_as, below_n, integer, one_bandit, smallest_integer, validated
from topk._types import FloatOrFloats, Integers
from topk.hardness.measures import bernoulli_kl

MAX_WORK = 2e10  # maximum number of additions of `sprt`: a minute or two
STEP_WORK = 4000  # additions that take as long as the fixed cost of a step
_NEGLIGIBLE = 1e-13  # probability of continuing at which the sum is truncated


def _above_p(value, name, arguments):
    """Range of q: from p to 1."""
    return between(arguments["p"], 1)(value, name, arguments)


MEANS = {"p": between(0, 1), "q": _above_p}
ERROR = between(0, 0.5)


@validated(n=integer(2))
def totals(arms: ArrayLike, rewards: ArrayLike, n: int) -> tuple[Integers, Integers]:
    """Return the pulls and the reward sum of each arm in a record.

    Parameters
    ----------
    arms : array_like of int, shape (m,)
        Arm of each pull, 0 to n - 1, in order.
    rewards : array_like, shape (m,)
        Reward of each pull, 0 or 1.
    n : int
        Number of arms.

    Returns
    -------
    pulls, sums : ndarray of int64, shape (n,)
        Number of pulls, and of ones, of each arm.

    Raises
    ------
    ValueError
        If an arm does not exist, a reward is neither 0 nor 1, or the lengths differ.

    Notes
    -----
    ``topk.run(..., trace=True).trace`` is such a record.  For Bernoulli arms the totals are
    sufficient statistics: likelihood ratios depend only on them.

    Examples
    --------
    >>> from topk.lower_bounds import totals
    >>> totals([0, 2, 2], [1, 0, 1], 3)
    (array([1, 0, 2]), array([1, 0, 1]))
    """
    arms = check_arms(arms, n)
    rewards = as_array(rewards, "rewards", "made of 0 and 1, one for every pull")
    if rewards.shape != arms.shape:
        refuse("rewards", f"an array of shape {rewards.shape}", f"of shape {arms.shape}")
    other = ~np.isin(rewards, (0, 1))
    if other.any():
        refuse("rewards", rewards[other][0], "0 or 1 for every pull")
    pulls = np.bincount(arms, minlength=n)
    return pulls, np.bincount(arms[rewards == 1], minlength=n)


@validated(means=one_bandit, other=as_many_as("means"))
def log_likelihood_ratio(
    pulls: ArrayLike, sums: ArrayLike, means: ArrayLike, other: ArrayLike,
) -> FloatOrFloats:
    r"""Log likelihood ratio of a record under other means.

    .. math:: \ln\frac{P_{\nu'}(\text{record})}{P_\nu(\text{record})}=\sum_i
              \Bigl(S_i\ln\frac{\nu_i'}{\nu_i}+(N_i-S_i)\ln\frac{1-\nu_i'}{1-\nu_i}\Bigr).

    Parameters
    ----------
    pulls, sums : array_like, shape (..., n)
        N and S: pulls and ones of each arm, from `totals` or from the outcome of a run; leading
        axes are runs.
    means : array_like, shape (n,)
        :math:`\nu`, the means under which the record was made.
    other : array_like, shape (n,)
        :math:`\nu'`.

    Returns
    -------
    float or ndarray, shape (...)
        In nats; ``-inf`` for a record that is impossible under ``other``.

    Raises
    ------
    ValueError
        If shapes differ, a mean is outside [0, 1], a sum is not an integer from 0 to the
        pulls, or a record is impossible under ``means``.

    Notes
    -----
    Plain form: the sum, over the single pulls, of the logarithm of the ratio of the two
    probabilities.  The strategy's choices cancel: given the past, it chooses the next arm with the
    same probability under both.

    Examples
    --------
    >>> from topk.lower_bounds import log_likelihood_ratio
    >>> round(log_likelihood_ratio([2, 1], [2, 0], [0.5, 0.5], [0.75, 0.5]), 6)
    0.81093
    """
    pulls = as_numbers(pulls, "pulls", "an array of numbers of pulls")
    sums = as_numbers(sums, "sums", "an array of sums of 0/1 rewards")
    if pulls.shape != sums.shape or pulls.shape[-1:] != means.shape:
        refuse("pulls", f"shape {pulls.shape}", f"of the shape {sums.shape} of sums, ending in n")
    if not ((sums >= 0) & (sums <= pulls) & (sums == np.floor(sums))).all():
        refuse("sums", sums, "integers from 0 to the pulls")
    with np.errstate(divide="ignore", invalid="ignore"):
        one = np.where(sums > 0, sums * (np.log(other) - np.log(means)), 0.0)
        zeros = pulls - sums
        zero = np.where(zeros > 0, zeros * (np.log1p(-other) - np.log1p(-means)), 0.0)
    if (((sums > 0) & (means == 0)) | ((zeros > 0) & (means == 1))).any():
        refuse("sums", sums, "possible under means")
    value = (one + zero).sum(axis=-1)
    return float(value) if value.ndim == 0 else value


@validated(means=one_bandit, other=as_many_as("means"))
def information(pulls: ArrayLike, means: ArrayLike, other: ArrayLike) -> FloatOrFloats:
    r"""Information of pulls for distinguishing means from others, :math:`\sum_iN_i\,\mathrm{kl}`.

    .. math:: \sum_iN_i\,\mathrm{kl}(\nu_i,\nu_i')

    Parameters
    ----------
    pulls : array_like, shape (..., n)
        N, pulls of each arm.
    means, other : array_like, shape (n,)
        :math:`\nu` and :math:`\nu'`.

    Returns
    -------
    float or ndarray, shape (...)
        In nats.  Its expectation under :math:`\nu` is minus that of
        `log_likelihood_ratio` (Wald's identity).

    Raises
    ------
    ValueError
        If shapes differ, a mean is outside [0, 1] or a pull count is negative.

    Notes
    -----
    The left-hand side of the inequality of Kaufmann, Cappé and Garivier (2016), see
    `change_of_measure`.

    Examples
    --------
    >>> from topk.lower_bounds import information
    >>> round(information([10, 0], [0.5, 0.5], [0.25, 0.5]), 5)
    1.43841
    """
    pulls = as_numbers(pulls, "pulls", "an array of numbers of pulls")
    if pulls.shape[-1:] != means.shape or not (pulls >= 0).all():
        refuse("pulls", f"shape {pulls.shape}", f"non-negative, with a last axis of {means.size}")
    divergence = bernoulli_kl(means, other)
    with np.errstate(invalid="ignore"):  # without pulls an infinite divergence counts as 0
        value = np.where(pulls > 0, pulls * divergence, 0.0).sum(axis=-1)
    return float(value) if value.ndim == 0 else value


@validated(samples=integer(0), **MEANS)
def fixed_test_error(samples: int, p: float, q: float) -> float:
    r"""Smallest possible error on both sides of a test with a fixed number of samples.

    .. math:: \min_\phi\max\bigl(\mathbb E_p\,\phi,\ \mathbb E_q(1-\phi)\bigr),

    over tests :math:`\phi(\text{data})\in[0,1]`, the probability of deciding for q.

    Parameters
    ----------
    samples : int
        Number of samples, at least 0.
    p, q : float
        The two means, 0 < p < q < 1.

    Returns
    -------
    float
        The error; 1/2 without samples, and decreasing in their number.

    See Also
    --------
    fixed_test_samples : the number of samples for a given error.
    sprt : the sequential test.

    Notes
    -----
    Exact, by the Neyman-Pearson lemma: an optimal test decides for q above a threshold for the
    number of ones and for p below it, and randomises at the threshold.  The two errors are linear
    in the probability of the randomisation, and equal at the optimum.

    Examples
    --------
    >>> from topk.lower_bounds import fixed_test_error
    >>> fixed_test_error(0, 0.5, 0.54), round(fixed_test_error(1, 0.5, 0.54), 4)
    (0.5, 0.4808)
    """
    from scipy.stats import binom

    threshold = np.arange(samples + 2)  # decide for q from ``threshold`` ones on
    false_q, false_p = binom.sf(threshold - 1, samples, p), binom.cdf(threshold - 1, samples, q)
    crossing = int(np.argmax(false_q <= false_p))  # first with the errors in this order
    a, b = false_q[[crossing - 1, crossing]], false_p[[crossing - 1, crossing]]
    coin = (a[0] - b[0]) / ((a[0] - b[0]) - (a[1] - b[1]))
    return float(a[0] + coin * (a[1] - a[0]))


@validated(error=ERROR, **MEANS)
def fixed_test_samples(p: float, q: float, error: float) -> int:
    r"""Number of samples that a fixed-size test needs for a given error on both sides.

    Parameters
    ----------
    p, q : float
        The two means, 0 < p < q < 1.
    error : float
        Allowed error probability under each, in (0, 1/2).

    Returns
    -------
    int
        The exact smallest number of samples.

    See Also
    --------
    fixed_test_error : the error for a given number of samples.
    expected_samples_bound : the bound for sequential tests.

    Notes
    -----
    Zhou et al. (2014), Lemma 5.3, states :math:`\Omega(\epsilon^{-2})` for p = 1/2, q = 1/2 + 4
    epsilon and error .49, from Chernoff (1972) and Anthony and Bartlett (1999). The hidden constant
    is small: at epsilon = 0.01 a single sample suffices.

    Examples
    --------
    >>> from topk.lower_bounds import fixed_test_samples
    >>> fixed_test_samples(0.5, 0.54, 0.49), fixed_test_samples(0.5, 0.54, 0.01)
    (1, 3375)
    """
    return smallest_integer(lambda m: fixed_test_error(m, p, q) <= error, 1)


@validated(error=ERROR, **MEANS)
def expected_samples_bound(p: float, q: float, error: float) -> tuple[float, float]:
    r"""Lower bound on the expected samples of any sequential test, under p and under q.

    .. math:: \mathbb E_p[N]\ge\frac{\mathrm{kl}(e,1-e)}{\mathrm{kl}(p,q)},\qquad
              \mathbb E_q[N]\ge\frac{\mathrm{kl}(e,1-e)}{\mathrm{kl}(q,p)}.

    Parameters
    ----------
    p, q : float
        The two means, 0 < p < q < 1.
    error : float
        e, allowed error probability under each, in (0, 1/2).

    Returns
    -------
    tuple of float
        The bounds under p and under q.

    See Also
    --------
    sprt : the test that nearly attains it.

    Notes
    -----
    Wald's bound; with p = 1/2, q = 1/2 + 4 epsilon, e = .49 a *derived* constant for
    Lemma 5.3 of Zhou et al. (2014): about :math:`2.5\cdot10^{-5}/\epsilon^2`.

    Examples
    --------
    >>> from topk.lower_bounds import expected_samples_bound
    >>> [round(bound, 2) for bound in expected_samples_bound(0.5, 0.54, 0.01)]
    [1402.75, 1405.75]
    """
    needed = bernoulli_kl(error, 1 - error)
    return needed / bernoulli_kl(p, q), needed / bernoulli_kl(q, p)


class Sprt(NamedTuple):
    """Exact operating characteristics of a sequential probability ratio test.

    Attributes
    ----------
    threshold : float
        The test stops when the log likelihood ratio of q to p leaves (-threshold, threshold).
    errors : tuple of float
        Probability of deciding for q under p, and for p under q.
    samples : tuple of float
        Expected samples under p and under q.
    """

    threshold: float
    errors: tuple[float, float]
    samples: tuple[float, float]


@validated(threshold=between(0, math.inf), **MEANS)
def sprt(p: float, q: float, threshold: float) -> Sprt:
    r"""Wald's sequential test of p against q, computed exactly.

    Parameters
    ----------
    p, q : float
        The two means, 0 < p < q < 1.
    threshold : float
        Value of the log likelihood ratio at which, or at whose negative, the test stops; positive.

    Returns
    -------
    Sprt
        Errors and expected samples, up to 1e-12 of undecided probability.

    See Also
    --------
    sprt_with_error : the symmetric test that keeps a given error.
    expected_samples_bound : a bound for every test.

    Notes
    -----
    Wald's approximation is not used: the distribution of the number of ones among the samples so
    far is computed step by step, including the overshoot.

    Examples
    --------
    >>> from topk.lower_bounds import sprt
    >>> test = sprt(0.25, 0.75, 1.5 * 1.0986)       # stops when ones and zeros differ by 2
    >>> [round(error, 6) for error in test.errors], round(test.samples[0], 6)
    ([0.1, 0.1], 3.2)
    """
    _check_cost(p, q, threshold, "threshold", threshold)
    up_p, samples_p = _exact_characteristics(p, p, q, threshold)
    up_q, samples_q = _exact_characteristics(q, p, q, threshold)
    return Sprt(threshold, (up_p, 1.0 - up_q), (samples_p, samples_q))


def _check_cost(p, q, threshold, name, value):
    """Refuse a test whose computation takes hours, in terms of one of its arguments.

    The expected number of samples is at most about threshold / divergence, and at each step the
    number of values of the number of ones is limited by the two thresholds.
    """
    up, down = math.log(q / p), math.log((1 - q) / (1 - p))
    least = min(-p * up - (1 - p) * down, q * up + (1 - q) * down)  # both divergences
    steps = threshold / max(least, 1e-300)
    states = min(2 * threshold / (up - down), steps)
    if steps * (STEP_WORK + states) > MAX_WORK:
        allowed = f"less extreme with p = {p} and q = {q}: the exact test for {steps:.0e} samples"
        refuse(name, value, f"{allowed} takes hours")


def _exact_characteristics(mean, p, q, threshold):
    """Return the probability of stopping above and the expected samples for a given mean."""
    up, down = math.log(q / p), math.log((1 - q) / (1 - p))
    law = np.ones(1)  # distribution of the number of ones; law[j] belongs to first + j ones
    first = steps = 0
    above = samples = 0.0
    continuing = 1.0
    while continuing > _NEGLIGIBLE:
        samples += continuing
        steps += 1
        law = np.convolve(law, [1 - mean, mean])
        ones = first + np.arange(law.size)
        ratio = ones * up + (steps - ones) * down
        above += law[ratio >= threshold].sum()
        inside = np.flatnonzero(np.abs(ratio) < threshold)
        if inside.size == 0:
            break
        law, first = law[inside[0] : inside[-1] + 1], first + int(inside[0])
        continuing = law.sum()
    return float(above), float(samples)


@validated(error=ERROR, **MEANS)
def sprt_with_error(p: float, q: float, error: float) -> Sprt:
    r"""The earliest-stopping symmetric sequential test that keeps a given error.

    Parameters
    ----------
    p, q : float
        The two means, 0 < p < q < 1.
    error : float
        Allowed error probability under each, in (0, 1/2).

    Returns
    -------
    Sprt
        The test, with both errors at most ``error``; compare its expected samples with
        `expected_samples_bound`.

    See Also
    --------
    sprt : the test with given limits.
    fixed_test_samples : the test with a fixed number of samples.

    Notes
    -----
    The threshold is found by bisection below :math:`\ln(1/e)`, which always suffices (Ville).  The
    errors are not exactly monotone in it because of the overshoot, so the threshold is only
    approximately the smallest; the errors returned are exact.

    Examples
    --------
    >>> from topk.lower_bounds import sprt_with_error
    >>> test = sprt_with_error(0.5, 0.6, 0.05)
    >>> max(test.errors) <= 0.05, [round(count) for count in test.samples]
    (True, [131, 132])
    """
    _check_cost(p, q, math.log(1 / error), "error", error)
    low, best = 0.0, sprt(p, q, math.log(1 / error))
    for _ in range(12):
        test = sprt(p, q, (low + best.threshold) / 2)
        if max(test.errors) <= error:
            best = test
        else:
            low = test.threshold
    return best


@validated(n=integer(2), k=below_n, epsilon=up_to(0.01))
def theorem_5_1_pulls(n: int, k: int, epsilon: float) -> float:
    r"""Pulls that every algorithm with success probability .8 needs, :math:`\Omega(n/\epsilon^2)`.

    .. math:: \frac n{200}\,\frac{\mathrm{kl}(.49,.51)}
              {\max\{\mathrm{kl}(\frac12,\frac12+4\epsilon),
                     \mathrm{kl}(\frac12+4\epsilon,\frac12)\}} .

    Parameters
    ----------
    n : int
        Number of arms.
    k : int
        Arms to select, 10 to n / 2.
    epsilon : float
        Tolerance on the average regret, in (0, 0.01].

    Returns
    -------
    float
        Expected pulls; about :math:`1.25\cdot10^{-7}n/\epsilon^2`.

    See Also
    --------
    theorem_5_5_pulls : the bound with delta.

    Notes
    -----
    Zhou et al. (2014), Theorem 5.1, states the order (its "n / c^2" is n / epsilon^2). The
    constant is *derived*: Lemma 5.2 gives a test with at most 200 Q / n samples and error
    .49, and Wald's bound (`expected_samples_bound`) replaces Lemma 5.3.

    Examples
    --------
    >>> from topk.lower_bounds import theorem_5_1_pulls
    >>> round(theorem_5_1_pulls(1000, 100, 0.001), 1)
    125.0
    """
    check_integer(k, "k", 10, n // 2)
    return n / 200 * min(expected_samples_bound(0.5, 0.5 + 4 * epsilon, 0.49))
