"""Likelihood ratios of recorded plays of Bernoulli arms, and what they are made of."""

import numpy as np

from topk._checks import check_arms, check_means, check_n, refuse
from topk.hardness import bernoulli_kl


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
    if not np.isin(rewards, (0, 1)).all():
        refuse("rewards", rewards[~np.isin(rewards, (0, 1))][0], "0 or 1 for every pull")
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
