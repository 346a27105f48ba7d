"""Is one Bernoulli arm's mean p or q? The two best tests, computed exactly (Lemma 5.3)."""

import math
from typing import NamedTuple

import numpy as np
from scipy.stats import binom

from topk._checks import check_integer, check_real, refuse
from topk.hardness import bernoulli_kl
from topk.hardness.solve import smallest_integer

_MASS = 1e-13  # probability of going on at which the sequential test's sum is cut off


def _check_pair(p, q):
    """Return 0 < p < q < 1."""
    p = check_real(p, "p", 0, 1, low_open=True, high_open=True)
    q = check_real(q, "q", 0, 1, low_open=True, high_open=True)
    if not p < q:
        refuse("q", q, f"above p = {p}")
    return p, q


def _check_error(error):
    return check_real(error, "error", 0, 0.5, low_open=True, high_open=True)


def fixed_test_error(samples, p, q):
    r"""Smallest error that a test with a fixed number of samples can have on both sides.

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
        1/2 without samples, and falling.

    Raises
    ------
    ValueError
        If an argument is outside its range.

    Notes
    -----
    Exact, by Neyman and Pearson: an optimal test decides for q above a number of ones, for
    p below it and tosses a coin at it.  The two errors are linear in the coin, and equal
    at the optimum.

    Examples
    --------
    >>> from topk.lower_bounds import fixed_test_error
    >>> fixed_test_error(0, 0.5, 0.54), round(fixed_test_error(1, 0.5, 0.54), 4)
    (0.5, 0.4808)
    """
    samples = check_integer(samples, "samples", 0)
    p, q = _check_pair(p, q)
    cut = np.arange(samples + 2)  # decide for q from ``cut`` ones on
    false_q, false_p = binom.sf(cut - 1, samples, p), binom.cdf(cut - 1, samples, q)
    after = int(np.argmax(false_q <= false_p))  # the first cut with the errors in this order
    a, b = false_q[[after - 1, after]], false_p[[after - 1, after]]
    coin = (a[0] - b[0]) / ((a[0] - b[0]) - (a[1] - b[1]))
    return float(a[0] + coin * (a[1] - a[0]))


def fixed_test_samples(p, q, error):
    r"""Samples that a fixed-size test needs for a given error on both sides.

    Parameters
    ----------
    p, q : float
        The two means, 0 < p < q < 1.
    error : float
        Probability of error allowed under either, in (0, 1/2).

    Returns
    -------
    int
        The smallest number of samples, exactly.

    Raises
    ------
    ValueError
        If an argument is outside its range.

    Notes
    -----
    Zhou et al. (2014), Lemma 5.3, states :math:`\Omega(\epsilon^{-2})` for p = 1/2,
    q = 1/2 + 4 epsilon and error .49, from Chernoff (1972) and Anthony and Bartlett (1999).
    The hidden constant is small: at epsilon = .01 a single sample is enough.

    Examples
    --------
    >>> from topk.lower_bounds import fixed_test_samples
    >>> fixed_test_samples(0.5, 0.54, 0.49), fixed_test_samples(0.5, 0.54, 0.01)
    (1, 3375)
    """
    p, q = _check_pair(p, q)
    error = _check_error(error)
    return smallest_integer(lambda m: fixed_test_error(m, p, q) <= error, 1)


def expected_samples_bound(p, q, error):
    r"""Lower bound on the expected samples of any sequential test, under p and under q.

    .. math:: \mathbb E_p[N]\ge\frac{\mathrm{kl}(e,1-e)}{\mathrm{kl}(p,q)},\qquad
              \mathbb E_q[N]\ge\frac{\mathrm{kl}(e,1-e)}{\mathrm{kl}(q,p)}.

    Parameters
    ----------
    p, q : float
        The two means, 0 < p < q < 1.
    error : float
        e, probability of error allowed under either, in (0, 1/2).

    Returns
    -------
    tuple of float
        The bounds under p and under q.

    Raises
    ------
    ValueError
        If an argument is outside its range.

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
    p, q = _check_pair(p, q)
    error = _check_error(error)
    needed = bernoulli_kl(error, 1 - error)
    return needed / bernoulli_kl(p, q), needed / bernoulli_kl(q, p)


class Sprt(NamedTuple):
    """Exact operating characteristics of a sequential probability ratio test.

    Attributes
    ----------
    threshold : float
        It stops when the log likelihood ratio of q to p leaves (-threshold, threshold).
    errors : tuple of float
        Probability of deciding for q under p, and for p under q.
    samples : tuple of float
        Expected samples under p and under q.
    """

    threshold: float
    errors: tuple
    samples: tuple


def sprt(p, q, threshold):
    r"""Wald's sequential test of p against q, computed exactly.

    Parameters
    ----------
    p, q : float
        The two means, 0 < p < q < 1.
    threshold : float
        Positive: the test stops when the log likelihood ratio reaches it or its negative.

    Returns
    -------
    Sprt
        Errors and expected samples, up to 1e-12 of undecided probability.

    Raises
    ------
    ValueError
        If an argument is outside its range.

    Notes
    -----
    Not Wald's approximation: the law of the number of ones among the samples taken so far
    is followed step by step, with the overshoot.

    Examples
    --------
    >>> from topk.lower_bounds import sprt
    >>> test = sprt(0.25, 0.75, 1.5 * 1.0986)       # stops when ones and zeros differ by 2
    >>> [round(error, 6) for error in test.errors], round(test.samples[0], 6)
    ([0.1, 0.1], 3.2)
    """
    p, q = _check_pair(p, q)
    threshold = check_real(threshold, "threshold", 0, math.inf, low_open=True, high_open=True)
    up_p, samples_p = _follow(p, p, q, threshold)
    up_q, samples_q = _follow(q, p, q, threshold)
    return Sprt(threshold, (up_p, 1.0 - up_q), (samples_p, samples_q))


def _follow(mean, p, q, threshold):
    """Return the probability of ending above and the expected samples when the mean is given."""
    up, down = math.log(q / p), math.log((1 - q) / (1 - p))
    law = np.ones(1)  # of the number of ones; law[j] belongs to first + j ones
    first = steps = 0
    above = samples = 0.0
    going = 1.0
    while going > _MASS:
        samples += going
        steps += 1
        law = np.convolve(law, [1 - mean, mean])
        ones = first + np.arange(law.size)
        ratio = ones * up + (steps - ones) * down
        above += law[ratio >= threshold].sum()
        inside = np.flatnonzero(np.abs(ratio) < threshold)
        if inside.size == 0:
            break
        law, first = law[inside[0] : inside[-1] + 1], first + int(inside[0])
        going = law.sum()
    return float(above), float(samples)


def sprt_with_error(p, q, error):
    r"""The earliest-stopping symmetric sequential test that keeps a given error.

    Parameters
    ----------
    p, q : float
        The two means, 0 < p < q < 1.
    error : float
        Probability of error allowed under either, in (0, 1/2).

    Returns
    -------
    Sprt
        With both errors at most ``error``; its expected samples stand beside
        `expected_samples_bound`.

    Raises
    ------
    ValueError
        If an argument is outside its range.

    Notes
    -----
    The threshold is found by bisection below :math:`\ln(1/e)`, which always suffices
    (Ville).  The errors are not exactly monotone in it because of the overshoot, so it is
    the smallest up to that; the errors returned are exact.

    Examples
    --------
    >>> from topk.lower_bounds import sprt_with_error
    >>> test = sprt_with_error(0.5, 0.6, 0.05)
    >>> max(test.errors) <= 0.05, [round(count) for count in test.samples]
    (True, [131, 132])
    """
    p, q = _check_pair(p, q)
    error = _check_error(error)
    low, best = 0.0, sprt(p, q, math.log(1 / error))
    for _ in range(12):
        test = sprt(p, q, (low + best.threshold) / 2)
        if max(test.errors) <= error:
            best = test
        else:
            low = test.threshold
    return best
