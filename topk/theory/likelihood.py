"""Divergence, likelihood ratios, and what it takes to tell one arm's mean from another.

The two best tests of one Bernoulli arm are computed exactly (Lemma 5.3 of Zhou et al., 2014);
Theorem 5.1 follows from them.
"""

import math
from typing import NamedTuple

import numpy as np

from topk._checks import (
    check_arms,
    check_epsilon,
    check_integer,
    check_means,
    check_n,
    check_real,
    check_unit_array,
    refuse,
)
from topk.theory.hardness import smallest_integer

# Below this size r - log(1 + r) loses more than three digits; the series keeps them all.
_SERIES_BELOW = 0.05
_MASS = 1e-13  # probability of going on at which the sequential test's sum is cut off


def _excess(r, ratio):
    """Return r - log(ratio) >= 0, where ratio = 1 + r, without cancellation near r = 0.

    With s = r / (2 + r), log(1 + r) = 2 artanh(s), so that
    r - log(1 + r) = s (r - 2 s^2 (1/3 + s^2/5 + s^4/7 + ...)).
    """
    small = np.abs(r) < _SERIES_BELOW
    near = np.where(small, r, 0.0)
    s = near / (2.0 + near)
    s2 = s * s
    tail = 1 / 3 + s2 * (1 / 5 + s2 * (1 / 7 + s2 * (1 / 9 + s2 * (1 / 11 + s2 / 13))))
    with np.errstate(divide="ignore"):  # ratio 0 rightly gives inf
        return np.where(small, s * (near - 2.0 * s2 * tail), r - np.log(ratio))


def kl_of_step(mean, point, copoint, step):
    """Return kl(mean, point) given copoint = 1 - point and step = point - mean; no checks.

    Plain form: ``bernoulli_kl(mean, point)``.  The caller passes all three because it
    knows each of them without cancellation, and the result then has full relative
    accuracy even when two arms almost tie or a point is almost 0 or 1.
    """
    inner_up, inner_down = mean > 0, mean < 1
    safe_up = np.where(inner_up, mean, 1.0)
    safe_down = np.where(inner_down, 1.0 - mean, 1.0)
    up = mean * _excess(step / safe_up, np.where(inner_up, point / safe_up, 1.0))
    down = safe_down * _excess(-step / safe_down, np.where(inner_down, copoint / safe_down, 1.0))
    # The linear terms step and -step of the two parts cancel; a mean at 0 or 1 has one part.
    return np.where(inner_up, up, step) + np.where(inner_down, down, -step)


def bernoulli_kl(p, q):
    r"""Divergence of Bernoulli(p) from Bernoulli(q), in nats.

    .. math:: \mathrm{kl}(p,q)=p\ln\frac pq+(1-p)\ln\frac{1-p}{1-q},\qquad 0\ln0=0.

    Parameters
    ----------
    p, q : float or array_like
        Means in [0, 1]; broadcast against each other.

    Returns
    -------
    float or ndarray
        The divergence; ``inf`` where ``p`` puts mass on a value that ``q`` forbids.

    Raises
    ------
    ValueError
        If an entry is NaN or outside [0, 1].

    Notes
    -----
    Computed as :math:`p\,e(\frac{q-p}p)+(1-p)\,e(\frac{p-q}{1-p})` with
    :math:`e(r)=r-\ln(1+r)\ge0`, so that no digits cancel when p and q are close.

    Examples
    --------
    >>> from topk.hardness import bernoulli_kl
    >>> round(bernoulli_kl(0.5, 0.25), 6)
    0.143841
    >>> bernoulli_kl(0.5, 0.0)
    inf
    """
    shape = np.broadcast_shapes(np.shape(p), np.shape(q))
    p = np.broadcast_to(check_unit_array(np.ravel(p), "p").reshape(np.shape(p)), shape)
    q = np.broadcast_to(check_unit_array(np.ravel(q), "q").reshape(np.shape(q)), shape)
    value = np.maximum(kl_of_step(p, q, 1.0 - q, q - p), 0.0)
    return float(value) if shape == () else value


def totals(arms, rewards, n):
    """Pulls and reward sums of each arm in a record.

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
        How often each arm was pulled, and how many ones it gave.

    Raises
    ------
    ValueError
        If an arm is out of range, a reward is neither 0 nor 1, or the lengths differ.

    Notes
    -----
    ``topk.run(..., trace=True).trace`` is such a record.  For Bernoulli arms the totals are
    sufficient: likelihood ratios depend on nothing else.

    Examples
    --------
    >>> from topk.lower_bounds import totals
    >>> totals([0, 2, 2], [1, 0, 1], 3)
    (array([1, 0, 2]), array([1, 0, 1]))
    """
    arms = check_arms(arms, check_n(n))
    rewards = np.asarray(rewards)
    if rewards.shape != arms.shape:
        refuse("rewards", f"an array of shape {rewards.shape}", f"of shape {arms.shape}")
    other = ~np.isin(rewards, (0, 1))
    if other.any():
        refuse("rewards", rewards[other][0], "0 or 1 for every pull")
    pulls = np.bincount(arms, minlength=n)
    return pulls, np.bincount(arms[rewards == 1], minlength=n)


def log_likelihood_ratio(pulls, sums, means, other):
    r"""Logarithm of how much likelier a record is under other means.

    .. math:: \ln\frac{P_{\nu'}(\text{record})}{P_\nu(\text{record})}=\sum_i
              \Bigl(S_i\ln\frac{\nu_i'}{\nu_i}+(N_i-S_i)\ln\frac{1-\nu_i'}{1-\nu_i}\Bigr).

    Parameters
    ----------
    pulls, sums : array_like, shape (..., n)
        N and S: pulls and ones of each arm, from `totals` or from the outcome of a play;
        leading axes are plays.
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
    Plain form: the sum over the pulls, one by one, of the logarithm of the two
    probabilities' ratio.  What the strategy does cancels: given the past, it chooses the
    next arm with the same probability under both.

    Examples
    --------
    >>> from topk.lower_bounds import log_likelihood_ratio
    >>> round(log_likelihood_ratio([2, 1], [2, 0], [0.5, 0.5], [0.75, 0.5]), 6)
    0.81093
    """
    means = check_means(means)
    other = _same_size(other, means)
    pulls, sums = np.asarray(pulls, dtype=float), np.asarray(sums, dtype=float)
    if pulls.shape != sums.shape or pulls.shape[-1:] != means.shape:
        refuse("pulls", f"shape {pulls.shape}", f"of the shape {sums.shape} of sums, ending in n")
    if not ((sums >= 0) & (sums <= pulls) & (sums == np.floor(sums))).all():
        refuse("sums", sums, "integers from 0 to the pulls")
    with np.errstate(divide="ignore", invalid="ignore"):
        one = np.where(sums > 0, sums * (np.log(other) - np.log(means)), 0.0)
        zeros = pulls - sums
        nought = np.where(zeros > 0, zeros * (np.log1p(-other) - np.log1p(-means)), 0.0)
    if (((sums > 0) & (means == 0)) | ((zeros > 0) & (means == 1))).any():
        refuse("sums", sums, "possible under means")
    value = (one + nought).sum(axis=-1)
    return float(value) if value.ndim == 0 else value


def information(pulls, means, other):
    r"""Information that pulls carry about means against others, :math:`\sum_iN_i\,\mathrm{kl}`.

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
    The left-hand side of the inequality of Kaufmann, Cappe and Garivier (2016), see
    `change_of_measure`.

    Examples
    --------
    >>> from topk.lower_bounds import information
    >>> round(information([10, 0], [0.5, 0.5], [0.25, 0.5]), 5)
    1.43841
    """
    means = check_means(means)
    other = _same_size(other, means)
    pulls = np.asarray(pulls, dtype=float)
    if pulls.shape[-1:] != means.shape or not (pulls >= 0).all():
        refuse("pulls", f"shape {pulls.shape}", f"non-negative, with a last axis of {means.size}")
    divergence = bernoulli_kl(means, other)
    with np.errstate(invalid="ignore"):  # no pulls of an arm carry nothing, even at infinity
        value = np.where(pulls > 0, pulls * divergence, 0.0).sum(axis=-1)
    return float(value) if value.ndim == 0 else value


def _same_size(other, means):
    """Return ``other`` checked as means, of the same size."""
    other = check_means(other, "other")
    if other.size != means.size:
        refuse("other", f"{other.size} entries", f"an array of {means.size} entries")
    return other


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
    from scipy.stats import binom

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


def theorem_5_1_pulls(n, k, epsilon):
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

    Raises
    ------
    ValueError
        If an argument is outside its range.

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
    n = check_n(n)
    check_integer(k, "k", 10, n // 2)
    epsilon = check_epsilon(check_real(epsilon, "epsilon", 0, 0.01, low_open=True))
    return n / 200 * min(expected_samples_bound(0.5, 0.5 + 4 * epsilon, 0.49))
