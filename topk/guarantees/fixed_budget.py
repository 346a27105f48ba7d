"""Fixed budget: what SAR, UGapEb, OptMAI and uniform sampling promise."""

import math

import numpy as np
from scipy.stats import binom

from topk._checks import (
    as_array,
    check_budget,
    check_delta,
    check_epsilon,
    check_flag,
    check_integer,
    check_k,
    check_means,
    check_n,
    check_real,
    check_unit_array,
    refuse,
)
from topk.hardness import gaps, h2, h_multibandit, ugape_complexity
from topk.hardness.solve import smallest_integer

BETA = 0.75 * math.exp(0.2)  # OptMAI's ratio of budgets in the theorems


def log_bar(n):
    r"""Return the constant of SAR's schedule.

    .. math:: \overline{\log}(n)=\frac12+\sum_{i=2}^n\frac1i.

    Parameters
    ----------
    n : int
        Number of arms, at least 1.

    Returns
    -------
    float

    Raises
    ------
    ValueError
        If ``n`` is no positive integer.

    Notes
    -----
    Bubeck et al. (2013), Figure 1.

    Examples
    --------
    >>> from topk.guarantees import log_bar
    >>> log_bar(2), round(log_bar(100), 3)
    (1.0, 4.687)
    """
    return 0.5 + float(np.sum(1.0 / np.arange(2, check_n(n, smallest=1) + 1)))


def sar_error(means, k, budget):
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
        Q, total pulls, at least n. (`topk.SAR` itself needs n + 1: at n it makes no pull,
        and the bound is 2 n^2.)

    Returns
    -------
    float
        The bound as it stands; above 1 it says nothing. 2 n^2 when the boundary is tied.

    Raises
    ------
    ValueError
        For bad ``means`` or ``k``, or a budget below n.

    Notes
    -----
    Constant published: Bubeck et al. (2013), Theorem 1.  At the budgets of the paper's own
    experiments the value is above 5 for every m: there it promises nothing.

    Examples
    --------
    >>> from topk.guarantees import sar_error
    >>> round(sar_error([0.9, 0.5, 0.1], 1, budget=1_000), 4)
    0.0102
    """
    means = check_means(means)
    return 2 * means.size**2 * math.exp(-sar_exponent(means, k, budget))


def sar_budget(means, k, delta):
    r"""Smallest budget at which SAR's bound promises error at most delta.

    Solves Theorem 1: :math:`Q=n+8\,\overline{\log}(n)\,H_2\ln(2n^2/\delta)`, rounded up.

    Parameters
    ----------
    means : array_like, shape (n,)
        True means in [0, 1], in any order.
    k : int
        Arms to select, 1 to n - 1.
    delta : float
        Probability of error allowed, in (0, 1).

    Returns
    -------
    int or float
        Total pulls; ``inf`` when the boundary is tied.

    Raises
    ------
    ValueError
        For bad ``means``, ``k`` or ``delta``.

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
    means = check_means(means)
    hardness = h2(means, k)
    delta = check_delta(delta)
    if math.isinf(hardness):
        return math.inf
    n = means.size
    return math.ceil(n + 8 * log_bar(n) * hardness * math.log(2 * n * n / delta))


def multibandit_sar_error(means, budget):
    r"""Bound on the probability that multi-bandit SAR misses the best arm of some bandit.

    .. math:: e_Q\le2M^2n^2\exp\Bigl(-\frac{Q-Mn}{8\,\overline{\log}(Mn)\,H_2^{[M]}}\Bigr).

    Parameters
    ----------
    means : array_like, shape (M, n)
        True means in [0, 1], a row for each bandit.
    budget : int
        Q, total pulls over all bandits, at least M n. (`topk.MultiBanditSAR` itself needs
        one more: at M n it makes no pull.)

    Returns
    -------
    float
        The bound as it stands; above 1 it says nothing.

    Raises
    ------
    ValueError
        For bad ``means`` or a budget below M n.

    Notes
    -----
    Constant published: Bubeck et al. (2013), Theorem 2.

    Examples
    --------
    >>> from topk.guarantees import multibandit_sar_error
    >>> round(multibandit_sar_error([[0.9, 0.1], [0.2, 0.8]], budget=500), 4)
    0.0608
    """
    rows = check_unit_array(means, "means", ndim=2)
    return 2 * rows.size**2 * math.exp(-sar_exponent(rows, 1, budget))


def _one_or_several(means, k):
    """Return means as (n,), or as (M, n) if they have two axes; then k must be 1."""
    means = as_array(means, "means", "an array of means")
    if means.ndim < 2:
        return check_means(means)
    check_k(k, largest=1)
    return check_unit_array(means, "means", ndim=2)


def sar_exponent(means, k, budget):
    r"""Exponent of SAR's bound, for one bandit or several; both theorems share its form.

    .. math:: \frac{Q-N}{8\,\overline{\log}(N)\,H_2},

    with :math:`N=n` and the :math:`H_2` of one bandit, or :math:`N=Mn` and
    :math:`H_2^{[M]}` for M bandits.

    Parameters
    ----------
    means : array_like, shape (n,) or (M, n)
        True means in [0, 1], in any order; two axes mean M bandits.
    k : int
        Arms to select, 1 to n - 1; 1 for several bandits.
    budget : int
        Q, total pulls, at least N.

    Returns
    -------
    float
        At least 0; 0 when a boundary is tied.

    Raises
    ------
    ValueError
        For bad ``means`` or ``k``, or a budget below N.

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
    means = _one_or_several(means, k)
    hardness = h2(means, k) if means.ndim == 1 else h_multibandit(means)[1]
    budget = check_budget(budget, smallest=means.size)
    return (budget - means.size) / (8 * log_bar(means.size) * hardness)


def sar_windows(means, k, part=0.25):
    r"""How far an average may be off after each phase of SAR, on the event of its proof.

    .. math:: \tfrac14\Delta_{(N)},\ \tfrac14\Delta_{(N-1)},\ \dots,\ \tfrac14\Delta_{(2)}
              \qquad\text{after phases }1,\dots,N-1,

    where :math:`\Delta_{(1)}\le\dots\le\Delta_{(N)}` are the gaps of all :math:`N=n` arms of
    one bandit, or of all :math:`N=Mn` arms of M bandits, each inside its own.

    Parameters
    ----------
    means : array_like, shape (n,) or (M, n)
        True means in [0, 1], in any order; two axes mean M bandits.
    k : int
        Arms to select, 1 to n - 1; 1 for several bandits.
    part : float
        In (0, 1]: the part of a gap that is allowed; a quarter in the proof.

    Returns
    -------
    ndarray, shape (N - 1,)
        The widest first.

    Raises
    ------
    ValueError
        If an argument is outside its range.

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
    means = _one_or_several(means, k)
    part = check_real(part, "part", 0, 1, low_open=True)
    widest_first = np.sort([gaps(row, k) for row in np.atleast_2d(means)], axis=None)[::-1]
    return part * widest_first[:-1]


def _from_0_to_1(values, name):
    """Return a number or an array of numbers, of any shape, in [0, 1]."""
    ndim = np.ndim(as_array(values, name, "numbers in [0, 1]"))
    return check_unit_array(values, name, ndim=ndim) if ndim else check_real(values, name, 0, 1)


def average_off(mean, pulls, off, slack=1e-9):
    r"""Exact probability that an average of Bernoulli rewards is off by more than allowed.

    .. math:: \Pr\{|\hat\theta_s-\theta|>x\}\le2e^{-2sx^2}

    by Hoeffding's inequality, which this is to be compared with. Arrays are broadcast.

    Parameters
    ----------
    mean : float or array_like
        :math:`\theta`, in [0, 1].
    pulls : int or array_like of int
        s, how many rewards are averaged, at least 1.
    off : float or array_like
        x, in [0, 1].
    slack : float
        In [0, 1]: an average that is off by at most x + ``slack`` is not counted, so that
        rounding does not decide about an average at the very end.

    Returns
    -------
    float or ndarray

    Raises
    ------
    ValueError
        If an argument is outside its range.

    Notes
    -----
    What the proofs of Theorems 1 and 2 of Bubeck et al. (2013) bound by Hoeffding's
    inequality.

    Examples
    --------
    >>> from topk.guarantees import average_off
    >>> float(average_off(0.5, 2, 0.25)), float(average_off(0.5, 2, 0.5))
    (0.5, 0.0)
    """
    mean, off = _from_0_to_1(mean, "mean"), _from_0_to_1(off, "off")
    slack = check_real(slack, "slack", 0, 1)
    pulls = as_array(pulls, "pulls", "integers of at least 1")
    if pulls.dtype.kind not in "iu" or (pulls < 1).any():
        refuse("pulls", pulls.tolist(), "integers of at least 1")
    shapes = [np.shape(values) for values in (mean, pulls, off)]
    try:
        np.broadcast_shapes(*shapes)
    except ValueError:
        refuse("off", f"the shapes {shapes}", "of a shape that goes with those of mean and pulls")
    low = np.ceil(pulls * (mean - off - slack))
    high = np.floor(pulls * (mean + off + slack))
    return binom.cdf(low - 1, pulls, mean) + binom.sf(high, pulls, mean)


def ugapeb_error(means, k, budget, epsilon, a=None, b=1.0, *, variances=None):
    r"""Bound on the probability that UGapEb's arms are not all within epsilon.

    .. math:: \tilde\delta\le2nQ\,e^{-2a}\quad\text{for}\quad0<a\le\frac{Q-n}{4H_\epsilon},
              \qquad\text{at best}\quad2nQ\exp\Bigl(-\frac{Q-n}{2H_\epsilon}\Bigr).

    Parameters
    ----------
    means : array_like, shape (n,) or (M, n)
        True means in [0, 1]; two axes mean M bandits, and n above is then M n.
    k : int
        Arms to select in each bandit, 1 to n - 1.
    budget : int
        Q, total pulls, above n (above 2 n with ``variances``).
    epsilon : float
        Tolerance per arm, in [0, 1).
    a : float, optional
        Exploration parameter of the radius; the largest that is covered unless given.
    b : float
        Rewards lie in [0, b].
    variances : array_like, same shape as ``means``, optional
        True variances; then the bound of UGapEb-V at its best a,
        :math:`5nQ\exp(-\frac{Q-2n}{2H^\sigma_\epsilon})`, is returned.

    Returns
    -------
    float
        The bound as it stands; above 1 it says nothing. (The bound multiplies by Q, so
        it first rises with the budget.)

    Raises
    ------
    ValueError
        For arguments that `topk.hardness.ugape_complexity` refuses, a budget that is too
        small, ``a`` not positive or above the theorem's range, or ``a`` given together
        with ``variances``.

    Notes
    -----
    Constant published: Gabillon et al. (2012), Theorem 1, read with
    :math:`\tilde\delta=\Pr[r>\epsilon]` (the text prints :math:`\ge`, a slip).  The
    variance form and several bandits are derived here.

    Examples
    --------
    >>> from topk.guarantees import ugapeb_error
    >>> round(ugapeb_error([0.9, 0.5, 0.1], 1, budget=1_000, epsilon=0.1), 6)
    0.008263
    """
    complexity = ugape_complexity(means, k, epsilon, b, variances=variances)
    arms = np.size(means)
    starts = 1 if variances is None else 2  # the variance form pulls every arm twice first
    budget = check_budget(budget, smallest=starts * arms + 1)
    if variances is not None:
        if a is not None:
            refuse("a", a, "left out when variances are given")
        return 5 * arms * budget * math.exp(-(budget - 2 * arms) / (2 * complexity))
    largest = (budget - arms) / (4 * complexity)
    if a is None:
        return 2 * arms * budget * math.exp(-2 * largest)
    return 2 * arms * budget * math.exp(-2 * check_real(a, "a", 0, largest, low_open=True))


def ugapeb_budget(means, k, epsilon, delta):
    r"""Smallest budget from which on UGapEb's bound promises error at most delta.

    Solves :math:`2nQ\exp(-(Q-n)/(2H_\epsilon))\le\delta` for Q.

    Parameters
    ----------
    means : array_like, shape (n,) or (M, n)
        True means in [0, 1]; two axes mean M bandits.
    k : int
        Arms to select in each bandit, 1 to n - 1.
    epsilon : float
        Tolerance per arm, in [0, 1).
    delta : float
        Probability of error allowed, in (0, 1).

    Returns
    -------
    int or float
        Total pulls; ``inf`` when epsilon is 0 and a boundary is tied.

    Raises
    ------
    ValueError
        For bad ``means``, ``k``, ``epsilon`` or ``delta``.

    Notes
    -----
    Constant published: Gabillon et al. (2012), Theorem 1, solved for the budget.

    Examples
    --------
    >>> from topk.guarantees import ugapeb_budget
    >>> ugapeb_budget([0.9, 0.5, 0.1], 1, epsilon=0.1, delta=0.05)
    856
    """
    complexity = ugape_complexity(means, k, epsilon)
    delta = check_delta(delta)
    if math.isinf(complexity):
        return math.inf
    arms = np.size(means)
    # (q - n) / (2 H) - ln q is convex, and too small at q = n + 1 since H >= n: one crossing.
    constant = math.log(2 * arms / delta)
    return smallest_integer(
        lambda q: constant + math.log(q) <= (q - arms) / (2 * complexity), arms + 1
    )


def qe_regret(size, k, pulls, delta):
    r"""Loss of one quartile elimination, as a bound on the fall of the k best arms' average.

    .. math:: \mathrm{val}_k(V)\ge\mathrm{val}_k(S)-\epsilon,\qquad
              \epsilon=\sqrt{\frac{|S|}Q\Bigl(10+\frac{4\ln(2/\delta)}k\Bigr)}
              \quad\text{with probability }1-\delta.

    Parameters
    ----------
    size : int
        :math:`|S|`, arms at the start of the round, at least 4 k.
    k : int
        Arms to select.
    pulls : int
        Q, pulls of the round in all, at least ``size``.
    delta : float
        In (0, 1).

    Returns
    -------
    float
        :math:`\epsilon`; above 1 it says nothing.

    Raises
    ------
    ValueError
        If an argument is outside its range.

    Notes
    -----
    Constant published: Zhou et al. (2014), Lemma 4.1.  Its proof in the supplement misses
    a factor 2 in one exponent; the constant stands.

    Examples
    --------
    >>> from topk.guarantees import qe_regret
    >>> round(qe_regret(100, 10, pulls=100_000, delta=0.1), 4)
    0.1058
    """
    k = check_k(k)
    size = check_integer(size, "size", 4 * k)
    pulls = check_budget(pulls, "pulls", smallest=size)
    delta = check_delta(delta)
    return math.sqrt(size / pulls * (10 + 4 * math.log(2 / delta) / k))


def ar_regret(size, k, pulls, delta, *, published=False):
    r"""Loss of one accept-reject round, as a bound on the fall of the best attainable average.

    .. math:: \epsilon=\sqrt{\frac{|S|}Q\Bigl(32+\frac{8\ln(2/\delta)}k\Bigr)}
              \ \text{(repaired)},\qquad
              \epsilon=\sqrt{\frac{|S|}Q\Bigl(4+\frac{\ln(2/\delta)}k\Bigr)}
              \ \text{(published)}.

    Parameters
    ----------
    size : int
        :math:`|S|`, arms at the start of the round, 1 to 4 k.
    k : int
        Arms to select.
    pulls : int
        Q, pulls of the round in all, at least ``size``.
    delta : float
        In (0, 1).
    published : bool
        Give the printed constant, which the printed proof does not reach.

    Returns
    -------
    float
        :math:`\epsilon`, holding with probability 1 - delta; above 1 it says nothing.

    Raises
    ------
    ValueError
        If an argument is outside its range.

    Notes
    -----
    Zhou et al. (2014), Lemma 4.2.  The printed proof loses a factor 8: the supplement's
    union bound needs :math:`\epsilon^2Q_0k\ge8|S|+8\ln(2/\delta)`; hence the *repaired*
    constant.  The published constant is nevertheless true, by a
    *derived* argument: the loss is at most :math:`\theta(G)-\theta(H)` for sets of equal size
    inside and outside the true top with :math:`\hat\theta(G)\le\hat\theta(H)`, so that it
    exceeds :math:`\epsilon k` with probability at most :math:`2^{|S|}e^{-\epsilon^2Q_0k}`,
    if the round decides by rank.  Theorem 4.3 is not affected.

    Examples
    --------
    >>> from topk.guarantees import ar_regret
    >>> round(ar_regret(40, 10, pulls=100_000, delta=0.1), 4)
    0.1173
    """
    k = check_k(k)
    size = check_integer(size, "size", 1, 4 * k)
    pulls = check_budget(pulls, "pulls", smallest=size)
    factor = 1 if check_flag(published, "published") else 8
    delta = check_delta(delta)
    return math.sqrt(factor * size / pulls * (4 + math.log(2 / delta) / k))


def _optmai_loss(n, k, delta, beta):
    """Return c with regret <= c / sqrt(Q): the sum of the rounds' losses, see `optmai_regret`."""
    loss, share, size, log = 0.0, 1 - beta, n, math.log(2 / delta / (1 - math.exp(-0.1)))
    while size > 0:
        if size >= 4 * k:
            constant = 10 + 4 * log / k
        else:
            constant = 8 * (size * math.log(2) + log) / k
        loss += math.sqrt(size / share * constant)
        share, size, log = share * beta, size - math.ceil(size / 4), log + 0.1
    return loss


def _complement(n, k, epsilon):
    """Return (k, epsilon) of the problem that is sampled: the smaller side, by 1 - reward."""
    return (k, epsilon) if 2 * k <= n else (n - k, epsilon * k / (n - k))


def optmai_regret(n, k, budget, delta, beta=BETA):
    r"""Average regret that OptMAI guarantees with probability 1 - delta.

    .. math:: \epsilon=\sum_r\sqrt{\frac{s_r}{\beta^r(1-\beta)Q}\,c_r},\qquad
              c_r=10+\frac{4\ln(2/\delta_r)}k\ (s_r\ge4k),\quad
              c_r=\frac8k\Bigl(s_r\ln2+\ln\frac2{\delta_r}\Bigr)\ (s_r<4k),

    with :math:`s_0=n`, :math:`s_{r+1}=s_r-\lceil s_r/4\rceil` down to 0, and
    :math:`\delta_r=e^{-r/10}(1-e^{-1/10})\,\delta`.

    Parameters
    ----------
    n : int
        Number of arms.
    k : int
        Arms to select, 1 to n - 1. For k > n / 2 the worst n - k arms are sought
        instead (Theorem 4.5), and the loss is spread over the k arms.
    budget : int
        Q, total pulls, at least n.
    delta : float
        In (0, 1).
    beta : float
        Ratio of consecutive rounds' budgets, in (3/4, 1).

    Returns
    -------
    float
        :math:`\epsilon`; above 1 it says nothing.

    Raises
    ------
    ValueError
        If an argument is outside its range.

    Notes
    -----
    Zhou et al. (2014), Theorem 4.3 and 4.5, state the order
    :math:`O(\sqrt{\frac nQ(1+\frac{\ln(1/\delta)}k)})`.  The constant is *derived* here by
    adding up Lemma 4.1 and the repaired Lemma 4.2 (with :math:`2^{|S|}` kept) over the
    rounds, for fresh samples in every round and pulls that divide evenly; it is far from
    tight.

    Examples
    --------
    >>> from topk.guarantees import optmai_regret
    >>> round(optmai_regret(1000, 100, budget=10**9, delta=0.1), 4)
    0.0845
    """
    n = check_n(n)
    k = check_k(k, n)
    budget = check_budget(budget, smallest=n)
    delta = check_delta(delta)
    beta = check_real(beta, "beta", 0.75, 1, low_open=True, high_open=True)
    side, spread = _complement(n, k, 1.0)
    return _optmai_loss(n, side, delta, beta) / math.sqrt(budget) / spread


def optmai_pulls(n, k, epsilon, delta, beta=BETA):
    r"""Budget with which OptMAI guarantees average regret epsilon.

    The Q at which the sum of `optmai_regret` is epsilon; of the order
    :math:`\frac n{\epsilon^2}\bigl(1+\frac{\ln(1/\delta)}k\bigr)`.

    Parameters
    ----------
    n : int
        Number of arms.
    k : int
        Arms to select, 1 to n - 1. For k > n / 2 the problem is turned round:
        n - k arms at :math:`\epsilon k/(n-k)` (Theorem 4.5).
    epsilon : float
        Average regret, in (0, 1).
    delta : float
        In (0, 1).
    beta : float
        Ratio of consecutive rounds' budgets, in (3/4, 1).

    Returns
    -------
    int
        Total pulls, at least n.

    Raises
    ------
    ValueError
        If an argument is outside its range.

    Notes
    -----
    The shape is published (Zhou et al. (2014), Corollary 4.4 and Theorem 4.5); the constant
    is *derived* here, as in `optmai_regret`.  What suffices in practice is several orders of
    magnitude smaller.

    Examples
    --------
    >>> from topk.guarantees import optmai_pulls
    >>> optmai_pulls(1000, 100, epsilon=0.1, delta=0.1)
    714323497
    """
    n = check_n(n)
    k = check_k(k, n)
    epsilon = check_epsilon(epsilon, positive=True)
    delta = check_delta(delta)
    beta = check_real(beta, "beta", 0.75, 1, low_open=True, high_open=True)
    side, epsilon = _complement(n, k, epsilon)
    return max(n, math.ceil((_optmai_loss(n, side, delta, beta) / epsilon) ** 2))


def optmai_arm_pulls(n, budget, beta=BETA):
    r"""Most pulls that OptMAI can spend on one arm.

    .. math:: \sum_r\frac{\beta^r(1-\beta)Q}{s_r},\qquad s_0=n,\quad
              s_{r+1}=s_r-\lceil s_r/4\rceil .

    Parameters
    ----------
    n : int
        Number of arms.
    budget : int
        Q, total pulls, at least n.
    beta : float
        Ratio of consecutive rounds' budgets, in (3/4, 1).

    Returns
    -------
    float
        For an arm that stays to the last possible round; of the order
        :math:`Qn^{-.3}` for the theorem's beta and
        :math:`Qn^{\ln(4\beta/3)/\ln(4/3)-1}` in general.

    Raises
    ------
    ValueError
        If an argument is outside its range.

    Notes
    -----
    Zhou et al. (2014), Theorem 4.3, states :math:`O(Q/n^{0.3})`.  The sum is *derived*: a
    round removes exactly :math:`\lceil s/4\rceil` arms, and pulls divide evenly.

    Examples
    --------
    >>> from topk.guarantees import optmai_arm_pulls
    >>> round(optmai_arm_pulls(1000, 20_000))
    902
    """
    n = check_n(n)
    budget = check_budget(budget, smallest=n)
    beta = check_real(beta, "beta", 0.75, 1, low_open=True, high_open=True)
    total, share, size = 0.0, (1 - beta) * budget, n
    while size > 0:
        total += share / size
        share, size = share * beta, size - math.ceil(size / 4)
    return total


def uniform_pulls(n, k, epsilon, delta):
    r"""Pulls with which uniform sampling guarantees average regret epsilon.

    .. math:: nQ_0,\qquad Q_0=\Bigl\lceil\frac{2}{\epsilon^2}
              \Bigl(\ln\frac{en}k+\frac{\ln(2/\delta)}k\Bigr)\Bigr\rceil .

    Parameters
    ----------
    n : int
        Number of arms.
    k : int
        Arms to select, 1 to n - 1.
    epsilon : float
        Average regret, in (0, 1).
    delta : float
        In (0, 1).

    Returns
    -------
    int
        Total pulls, the same number for each arm.

    Raises
    ------
    ValueError
        If an argument is outside its range.

    Notes
    -----
    Constant published: Lemma 6.1 of the supplement of Zhou et al. (2014), applied to all n
    arms (its proof does not use :math:`n\le4k`); Remark 4.2 states the order.

    Examples
    --------
    >>> from topk.guarantees import uniform_pulls
    >>> uniform_pulls(1000, 100, epsilon=0.1, delta=0.1)
    667000
    """
    n = check_n(n)
    k = check_k(k, n)
    epsilon = check_epsilon(epsilon, positive=True)
    delta = check_delta(delta)
    each = 2 / epsilon**2 * (math.log(math.e * n / k) + math.log(2 / delta) / k)
    return n * math.ceil(each)
