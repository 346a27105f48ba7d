r"""The instances of the papers, named as there.

Arms are numbered from 0; arm 0 is arm 1 of the paper.  If a paper lists the means, the arms are in
its order; `topk.run` and `topk.replicate` shuffle them in every run.  Three functions draw the
*means* at random and keep the arms in the order drawn; used as a bandit,
``functools.partial(topk.instances.unif01, 1000)`` gives every replication a fresh instance.  All
functions raise a ValueError if an argument is out of range.
"""

import numpy as np

from topk._checks import as_generator, check_integer, check_real, check_sizes
from topk._types import Seed
from topk.bandits import BernoulliBandit
from topk.data import rte_counts

__all__ = [
    "beta41",
    "rte_workers",
    "sar_budget",
    "sar_experiment",
    "synthetic",
    "truncated_normal",
    "two_group",
    "two_point",
    "unif01",
    "uniform",
]


def __dir__() -> list[str]:
    return __all__

_SAR_EXPERIMENTS = {
    1: ([0.5] + [0.4] * 19, 2_000),
    2: ([0.5] + [0.42] * 5 + [0.38] * 14, 12_000),
    3: ([0.5] + [0.5 - 0.37**i for i in (2, 3, 4)], 6_000),
    4: ([0.5, 0.42, 0.4, 0.4, 0.35, 0.35], 8_000),
    5: ([0.5] + [0.5 - 0.025 * i for i in range(2, 16)], 4_000),
    6: ([0.5] + [0.45] * 5 + [0.43] * 14 + [0.38] * 10, 50_000),
}


def two_group(n: int, k: int) -> BernoulliBandit:
    r"""K good arms of mean 0.7 and n - K poor arms of mean 0.3.

    Parameters
    ----------
    n : int
        Number of arms, at least 2.
    k : int
        Number of good arms, from 1 to n - 1.

    Returns
    -------
    BernoulliBandit
        The good arms come first.

    Notes
    -----
    TWOGROUP of Chen et al. (2017), section 3.

    Examples
    --------
    >>> two_group(4, 1).means.tolist()
    [0.7, 0.3, 0.3, 0.3]
    """
    return _two_levels(n, k, 0.7, 0.3)


def two_point(n: int, k: int) -> BernoulliBandit:
    r"""K arms of mean 0.6 among n - K arms of mean 0.5.

    Parameters
    ----------
    n, k
        As in `two_group`.

    Returns
    -------
    BernoulliBandit
        The good arms come first.

    Notes
    -----
    Zhou, Chen and Li (2014), section 6.1, Figure 1(d)-(f).

    Examples
    --------
    >>> two_point(4, 3).means.tolist()
    [0.6, 0.6, 0.6, 0.5]
    """
    return _two_levels(n, k, 0.6, 0.5)


def uniform(n: int) -> BernoulliBandit:
    r"""Evenly spaced means :math:`\theta_i=1-i/n`, :math:`i=1,\dots,n`.

    Parameters
    ----------
    n : int
        Number of arms, at least 2.

    Returns
    -------
    BernoulliBandit
        The best arm comes first; the last has mean 0.

    Notes
    -----
    UNIFORM of Chen et al. (2017), section 3.

    Examples
    --------
    >>> uniform(4).means.tolist()
    [0.75, 0.5, 0.25, 0.0]
    """
    n = _size(n)
    return BernoulliBandit((n - np.arange(1, n + 1)) / n)


def synthetic(p: float, n: int, k: int) -> BernoulliBandit:
    r"""Means that concentrate at the boundary (p > 1) or away from it (p < 1).

    .. math::
        \theta_i=\Bigl(1-\frac Kn\Bigr)+\frac Kn\Bigl(1-\frac iK\Bigr)^p\ (i\le K),\qquad
        \theta_i=\frac{n-K}n\Bigl(1-\Bigl(\frac{i-K}{n-K}\Bigr)^p\Bigr)\ (i>K)

    Parameters
    ----------
    p : float
        The exponent, in (0, 100]; the paper uses 0.5, 1 and 6.
    n : int
        Number of arms, at least 2.
    k : int
        Number of arms with means of at least the boundary :math:`1-K/n`, the mean of arm K; 1 to n
        - 1.

    Returns
    -------
    BernoulliBandit
        The best arm comes first.

    Notes
    -----
    SYNTHETIC-p of Chen et al. (2017), section 3.  *A reconstruction*: the formula is lost in our
    copy of the text.  The one used here has all properties stated in the text: it equals `uniform`
    at p = 1, spans [0, 1], and moves the arms towards the boundary as p grows.

    Examples
    --------
    >>> synthetic(2, 4, 2).means.tolist()
    [0.625, 0.5, 0.375, 0.0]
    """
    p = check_real(p, "p", 0, 100, low_open=True)
    n, k = check_sizes(_size(n), k)
    above = (n - k) / n + k / n * ((k - np.arange(1, k + 1)) / k) ** p
    below = (n - k) / n * (1 - (np.arange(1, n - k + 1) / (n - k)) ** p)
    return BernoulliBandit(np.concatenate([above, below]))


def sar_experiment(number: int) -> BernoulliBandit:
    r"""One of the six experiments of the SAR paper.

    ====== ============================================ ==== ======
    number means                                        arms budget
    ====== ============================================ ==== ======
    1      .5; 19 of .4                                 20   2,000
    2      .5; 5 of .42; 14 of .38                      20   12,000
    3      .5; :math:`.5-.37^i`, i = 2, 3, 4            4    6,000
    4      .5; .42; 2 of .4; 2 of .35                   6    8,000
    5      .5; :math:`.5-.025i`, i = 2, ..., 15         15   4,000
    6      .5; 5 of .45; 14 of .43; 10 of .38           30   50,000
    ====== ============================================ ==== ======

    Parameters
    ----------
    number : int
        Number of the experiment, from 1 to 6.

    Returns
    -------
    BernoulliBandit
        The arms in the order of the paper, which is unsorted in experiment 3.

    See Also
    --------
    sar_budget : the budget of the experiment in the paper.

    Notes
    -----
    Bubeck, Wang and Viswanathan (2013), section 5.

    Examples
    --------
    >>> [round(float(mean), 4) for mean in sar_experiment(3).means]
    [0.5, 0.3631, 0.4493, 0.4813]
    """
    return BernoulliBandit(_SAR_EXPERIMENTS[check_integer(number, "number", 1, 6)][0])


def sar_budget(number: int) -> int:
    r"""The budget of one of the six experiments of the SAR paper.

    Parameters
    ----------
    number : int
        Number of the experiment, from 1 to 6.

    Returns
    -------
    int
        The budget of Figure 4: roughly the largest complexity
        :math:`\max_m H_1^{\langle m\rangle}` of the instance.

    Notes
    -----
    Bubeck, Wang and Viswanathan (2013), section 5 and Figure 4.

    Examples
    --------
    >>> [sar_budget(number) for number in range(1, 7)]
    [2000, 12000, 6000, 8000, 4000, 50000]
    """
    return _SAR_EXPERIMENTS[check_integer(number, "number", 1, 6)][1]


def rte_workers() -> BernoulliBandit:
    r"""The workers of a real labelling task as 164 arms.

    Returns
    -------
    BernoulliBandit
        The mean of arm i is the proportion of correct answers of worker i + 1 in
        ``topk/data/rte_workers.csv``.

    Notes
    -----
    Zhou, Chen and Li (2014), section 6.2, with the answers of Snow et al. (2008).  There are only
    32 different accuracies, so for most K the boundary is tied.

    See Also
    --------
    topk.data.rte_counts : the two counts.

    Examples
    --------
    >>> import numpy as np
    >>> crowd = rte_workers()
    >>> crowd.n, round(float(crowd.means.mean()), 3), len(np.unique(crowd.means))
    (164, 0.837, 32)
    """
    answers, correct = rte_counts()
    return BernoulliBandit(correct / answers)


def unif01(n: int, rng: Seed) -> BernoulliBandit:
    r"""Means drawn uniformly from [0, 1].

    Parameters
    ----------
    n : int
        Number of arms, at least 2.
    rng : numpy.random.Generator or int
        Source of randomness; one uniform number is drawn per arm.

    Returns
    -------
    BernoulliBandit
        The arms in the order drawn.

    Notes
    -----
    Zhou, Chen and Li (2014), section 6.1, Figure 1(a)-(c).

    Examples
    --------
    >>> unif01(5, rng=0).n
    5
    """
    return BernoulliBandit(_uniform_draws(n, rng))


def truncated_normal(n: int, rng: Seed) -> BernoulliBandit:
    r"""Means drawn from a normal distribution with mean 0.5 and sd 0.2, truncated to [0, 1].

    Parameters
    ----------
    n, rng
        As in `unif01`.

    Returns
    -------
    BernoulliBandit
        The arms in the order drawn.

    Notes
    -----
    TN(0.5, 0.2) of the supplement of Zhou, Chen and Li (2014).  The truncation is symmetric, so the
    mean is 0.5 before and after it.  We take 0.2 as the standard deviation *before* truncation; it
    is 0.191 afterwards.

    Examples
    --------
    >>> truncated_normal(5, rng=0).n
    5
    """
    from scipy.special import ndtr, ndtri

    low, high = ndtr(-2.5), ndtr(2.5)
    draws = 0.5 + 0.2 * ndtri(low + (high - low) * _uniform_draws(n, rng))
    return BernoulliBandit(np.clip(draws, 0.0, 1.0))


def beta41(n: int, rng: Seed) -> BernoulliBandit:
    r"""Means drawn from the Beta(4, 1) distribution: most arms are good, as in a crowd of workers.

    Parameters
    ----------
    n, rng
        As in `unif01`.

    Returns
    -------
    BernoulliBandit
        The arms in the order drawn.

    Notes
    -----
    The supplement of Zhou, Chen and Li (2014).  The distribution function is :math:`x^4`, the mean
    0.8.

    Examples
    --------
    >>> beta41(5, rng=0).n
    5
    """
    return BernoulliBandit(_uniform_draws(n, rng) ** 0.25)


def _two_levels(n, k, high, low):
    n, k = check_sizes(_size(n), k)
    return BernoulliBandit(np.repeat([high, low], [k, n - k]))


def _size(n):
    """Return the number of arms, limited because their means are held in memory."""
    return check_integer(n, "n", 2, 10**9)


def _uniform_draws(n, rng):
    n = _size(n)
    return as_generator(rng, "a numpy Generator or a non-negative integer seed").random(n)
