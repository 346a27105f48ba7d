"""Kaufmann, Cappe and Garivier's inequality, checked on plays of a real strategy."""

from typing import NamedTuple

import numpy as np

from topk._checks import check_means, check_real, refuse
from topk.bandits import BernoulliBandit
from topk.claims import Interval, mean_interval, proportion_interval
from topk.hardness import bernoulli_kl
from topk.lower_bounds.likelihood import information
from topk.simulate import replicate


class ChangeOfMeasure(NamedTuple):
    r"""Both sides of the inequality, as measured.

    Attributes
    ----------
    information : Interval
        :math:`\sum_i\mathbb E_\nu[N_i]\,\mathrm{kl}(\nu_i,\nu_i')`, estimate and interval.
    events : ndarray, shape (m, 2)
        Frequency of each event under the means and under the others.
    divergences : ndarray, shape (m, 2)
        :math:`\mathrm{kl}(P_\nu(E),P_{\nu'}(E))` of each event: the estimate, and the
        smallest value that the confidence intervals of the two probabilities allow.
    holds : bool
        Whether no event's smallest divergence exceeds the information's upper limit.
    """

    information: Interval
    events: np.ndarray
    divergences: np.ndarray
    holds: bool


def change_of_measure(
    strategy, nu, nu_prime, *, runs=1000, seed=0, event=None, false_alarm=1e-6, jobs=None
):
    r"""Play a strategy on two instances and check the change-of-measure inequality.

    For every event E of the play,

    .. math:: \sum_i\mathbb E_\nu[N_i]\,\mathrm{kl}(\nu_i,\nu_i')\ \ge\
              \mathrm{kl}\bigl(P_\nu(E),P_{\nu'}(E)\bigr).

    Parameters
    ----------
    strategy : topk.Strategy
        Any strategy of the library.
    nu, nu_prime : array_like, shape (n,)
        The two instances' means in [0, 1].
    runs : int
        Plays on each instance, at least 2.
    seed : int
        Plays on the first instance use ``seed``, those on the second ``seed + 1``.
    event : callable, optional
        Takes the `topk.Replications` of the plays and returns a boolean array
        (runs,) or (runs, m), a column for each event.  Unless given: "arm i is returned",
        for every arm.
    false_alarm : float
        Probability, in (0, 1), of ``holds`` being false although the inequality holds.
    jobs : int, optional
        As in `topk.replicate`.

    Returns
    -------
    ChangeOfMeasure
        Both sides, and the verdict ``holds``.

    Raises
    ------
    ValueError
        If an argument is outside its range.

    Notes
    -----
    Kaufmann, Cappe and Garivier (2016), Lemma 1, as used by Chen et al. (2017b); in none of
    the five papers.  The events' intervals are Clopper and Pearson's (exact), that of the
    information is Student's (approximate, for a strategy without a budget); each of the
    2 m + 1 has its share of ``false_alarm``.

    Examples
    --------
    >>> import topk
    >>> from topk.lower_bounds import change_of_measure
    >>> result = change_of_measure(topk.Uniform(1, budget=40), [0.7, 0.3], [0.4, 0.6], runs=200)
    >>> result.holds, round(float(result.information.estimate), 3)
    (True, 7.351)
    """
    nu = check_means(nu, "nu")
    nu_prime = check_means(nu_prime, "nu_prime")
    if nu.size != nu_prime.size:
        refuse("nu_prime", f"{nu_prime.size} entries", f"an array of {nu.size} entries")
    false_alarm = check_real(false_alarm, "false_alarm", 0, 1, low_open=True, high_open=True)
    if isinstance(runs, (int, np.integer)) and runs < 2:
        refuse("runs", runs, "an integer of at least 2")
    plays = [
        replicate(strategy, BernoulliBandit(means), runs, seed=seed + i, jobs=jobs)
        for i, means in enumerate((nu, nu_prime))
    ]
    happened = [_happened(rep, event or _returned, runs) for rep in plays]
    level = 1 - false_alarm / (2 * happened[0].shape[1] + 1)
    carried = mean_interval(information(plays[0].pulls, nu, nu_prime), level)
    under, under_prime = (proportion_interval(h.sum(axis=0), runs, level) for h in happened)
    estimate = bernoulli_kl(under.estimate, under_prime.estimate)
    smallest = _smallest_divergence(under, under_prime)
    return ChangeOfMeasure(
        carried,
        np.stack([under.estimate, under_prime.estimate], axis=1),
        np.stack([estimate, smallest], axis=1),
        bool((smallest <= carried.high).all()),
    )


def _returned(reps):
    """Return which arms were returned, shape (runs, n)."""
    arms = np.arange(reps.pulls.shape[1])
    return (reps.selected[:, -1, :, None] == arms).any(axis=1)


def _happened(reps, event, runs):
    """Return the events of the plays as a boolean array (runs, m)."""
    happened = np.asarray(event(reps))
    if happened.dtype != bool or happened.shape[:1] != (runs,) or happened.ndim > 2:
        refuse("event", f"an array {happened.dtype} {happened.shape}", f"booleans ({runs},) or 2-d")
    return happened.reshape(runs, -1)


def _smallest_divergence(p, q):
    """Return the smallest kl(x, y) with x and y in the two intervals: 0 if they overlap."""
    apart_above, apart_below = p.low > q.high, p.high < q.low
    x = np.where(apart_above, p.low, np.where(apart_below, p.high, 0.5))
    y = np.where(apart_above, q.high, np.where(apart_below, q.low, 0.5))
    return bernoulli_kl(x, y)
