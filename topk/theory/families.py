"""The hard instances behind the lower bounds, and what the proofs make of them.

Pairs of arms (derived here for Theorem 3 of Chen et al. 2017) and what uniform sampling misses;
groups of arms (Mannor and Tsitsiklis; Lemma 5.4 of Zhou et al. 2014); Explore-m (Theorem 8 of
Kalyanakrishnan et al. 2012).
"""

import math
from collections import namedtuple
from itertools import combinations, count

import numpy as np

from topk._checks import as_array, check_arms, check_choice, check_integer, check_real, refuse
from topk.theory import between, checked, half, integer, up_to
from topk.theory.likelihood import theorem_5_1_pulls, totals

GOOD, BAD = 0.75, 0.25
# Constants C of the bound n ln(1/delta) / (C epsilon^2 K), as published.
LEMMA_5_4, THEOREM_5_5 = 20_000, 100_000
PUBLISHED_CONSTANT = 1 / 18375
EXPLORE_M_EPSILON = up_to(math.sqrt(1 / 32))


# Pairs: Theorem 3 of Chen et al. (2017); uniform sampling: Theorem 7.1 of Zhou et al. (2014)


def _bits(value, name, given):
    """Range of bits; a boolean array (k,)."""
    array = as_array(value, name, "a vector of k booleans")
    if array.ndim != 1 or array.size == 0 or not np.isin(array, (0, 1)).all():
        refuse(name, value, "a vector of k booleans (or zeros and ones)")
    return array.astype(bool)


@checked(signs=_bits)
def paired_means(signs):
    r"""Means of the paired instance: in each pair one arm is 3/4, the other 1/4.

    Parameters
    ----------
    signs : array_like of bool, shape (k,)
        Whether the first arm of pair j, arm 2 j, is the good one. For the theorem they
        are independent fair bits.

    Returns
    -------
    ndarray, shape (2 k,)
        Exactly k good arms; every gap is 1/2, so that :math:`H^{(t,\epsilon)}=4n` for every
        :math:`\epsilon\le1/2`.

    Raises
    ------
    ValueError
        If ``signs`` is not a vector of bits.

    Notes
    -----
    Construction and proof are *derived* here; the instance of Chen et
    al. (2017), Theorem 3, stands in a full version that we have not seen.

    Examples
    --------
    >>> from topk.lower_bounds import paired_means
    >>> paired_means([True, False])
    array([0.75, 0.25, 0.25, 0.75])
    """
    return np.where(np.stack([signs, ~signs], axis=1), GOOD, BAD).ravel()


@checked(k=integer(1))
def pair_log_odds(arms, rewards, k):
    r"""Posterior log odds that the first arm of each pair is the good one.

    Every pull changes those of its pair by :math:`\pm\ln3`: up for a one of the first
    arm or a zero of the second.  The prior is even.

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
        In nats. Given the record the bits are independent with these odds, whatever
        strategy made it.

    Raises
    ------
    ValueError
        If an argument is outside its range.

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


@checked(pulls=integer(0))
def pair_error(pulls):
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
        Error of the majority guess, which is Bayes'; for a fixed q.

    Raises
    ------
    ValueError
        If ``pulls`` is negative.

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


class PairCounts(namedtuple("PairCounts", "none wrong both missing")):
    """How a chosen set meets the pairs.

    Attributes
    ----------
    none, wrong, both : int
        Pairs with no arm chosen, with only the bad arm, with both arms.
    missing : int
        Good arms not chosen, none + wrong; the average regret is missing / (2 k).
    """


@checked(signs=_bits)
def pair_counts(selected, signs):
    r"""Count the pairs that a chosen set gets wrong, and how.

    A guess of the bits from the set errs on W pairs,
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

    Raises
    ------
    ValueError
        If an argument is not as described.

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


def _even(value, name, given):
    """Range of an even number of arms."""
    n = check_integer(value, name, 2)
    if n % 2:
        refuse(name, n, "even")
    return n


@checked(n=_even, epsilon=up_to(1 / 256))
def theorem_3_pulls(n, epsilon):
    r"""Pulls below which no algorithm is right with probability .9 on the paired instance.

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

    Raises
    ------
    ValueError
        If ``n`` is odd or ``epsilon`` is outside the range that is proved.

    Notes
    -----
    Chen et al. (2017), Theorem 3, states :math:`\Omega(n\ln\frac1\epsilon)` for
    :math:`\epsilon=\Omega(1/n)`; constant and proof are *derived* here.  "There
    is an instance" must be read for each algorithm: one that always prints the right set of
    one instance needs no pull on it.

    Examples
    --------
    >>> from topk.lower_bounds import theorem_3_pulls
    >>> round(theorem_3_pulls(1000, 0.001), 1)
    1571.9
    """
    return n / (4 * math.log(3)) * math.log(1 / epsilon)


@checked(n=_even, epsilon=up_to(1 / 256))
def theorem_3_success(n, epsilon):
    r"""Largest probability of success with at most `theorem_3_pulls` pulls, random bits.

    .. math:: \Pr[\mathcal L_T\le\epsilon]\le e^{-K\sqrt\epsilon/16},\qquad K=n/2 .

    Parameters
    ----------
    n, epsilon
        As for `theorem_3_pulls`.

    Returns
    -------
    float
        The bound; below .9 only for n above about :math:`3.4/\sqrt\epsilon`.

    Raises
    ------
    ValueError
        If ``n`` is odd or ``epsilon`` is outside the range that is proved.

    Notes
    -----
    *Derived* here: convexity, then Chernoff.

    Examples
    --------
    >>> from topk.lower_bounds import theorem_3_success
    >>> round(theorem_3_success(10_000, 0.001), 6)
    5.1e-05
    """
    return math.exp(-n / 2 * math.sqrt(epsilon) / 16)


@checked(epsilon=between(0, 1))
def pair_sprt(epsilon):
    r"""What a sequential test on every pair pays for an expected regret of at most epsilon.

    It stops a pair when the evidence for one order leads by a pulls. Its error is
    :math:`1/(1+3^a)`, half of which is the expected regret, and its expected pulls are
    :math:`2a\frac{3^a-1}{3^a+1}`.

    Parameters
    ----------
    epsilon : float
        Expected average regret allowed, in (0, 1).

    Returns
    -------
    lead : int
        a, the smallest that is enough.
    pulls : float
        Expected pulls per pair, to be compared with `theorem_3_pulls` / k.

    Raises
    ------
    ValueError
        If ``epsilon`` is outside (0, 1).

    Notes
    -----
    *Derived*: the gambler's ruin of a walk that goes the right way with probability 3/4.

    Examples
    --------
    >>> from topk.lower_bounds import pair_sprt
    >>> lead, pulls = pair_sprt(0.001)
    >>> lead, round(pulls, 1)
    (6, 12.0)
    """
    lead = next(a for a in count() if 0.5 / (1 + 3**a) <= epsilon)
    return lead, 2 * lead * (3**lead - 1) / (3**lead + 1)


@checked(k=half, epsilon=between(0, 0.01))
def theorem_7_1_pulls(n, k, epsilon):
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
        :math:`Q_0`. With it, and n / k above 6,000, the failure probability is at least .05.

    Raises
    ------
    ValueError
        If an argument is outside its range.

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


@checked(k=half, epsilon=up_to(1 / 8), pulls=integer(1))
def uniform_failure(n, k, epsilon, pulls):
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
        The probability when ties of the means are broken for the good arms, and when they
        are broken for the bad ones. Any other rule lies between.

    Raises
    ------
    ValueError
        If an argument is outside its range.

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


# Groups: section 5.2 of Zhou et al. (2014)


SMALL = up_to(0.01)  # the range of epsilon, and mostly of delta


@checked(k=half, epsilon=up_to(1 / 16))
def group_family(n, k, epsilon):
    r"""The hypotheses :math:`H_1,\dots,H_t`, one row of means each.

    The arms form :math:`t=\lfloor n/k\rfloor` groups of k.  Under :math:`H_1` group 1 has
    mean :math:`\frac12+4\epsilon` and everything else 1/2; under :math:`H_j` group j has
    :math:`\frac12+8\epsilon` besides.

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
        Row j - 1 holds the means under :math:`H_j`; group g is arms (g - 1) k to g k - 1.

    Raises
    ------
    ValueError
        If an argument is outside its range.

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


@checked(epsilon=up_to(0.5))
def mannor_tsitsiklis_family(n, epsilon):
    r"""The original family for one best arm.

    Under :math:`H_0` arm 0 has mean :math:`\frac{1+\epsilon}2` and the others 1/2; under
    :math:`H_l` arm l has :math:`\frac12+\epsilon` besides.

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

    Raises
    ------
    ValueError
        If an argument is outside its range.

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


@checked(epsilon=between(0, 1 / 16))
def group_log_ratio(pulls, ones, epsilon):
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
        If there are more ones than pulls, or an argument is outside its range.

    Notes
    -----
    Supplement of Zhou et al. (2014), proof of Lemma 5.4.

    Examples
    --------
    >>> from topk.lower_bounds import group_log_ratio
    >>> round(group_log_ratio(10, 5, 0.01), 5)
    -0.12967
    """
    pulls, ones = np.asarray(pulls, dtype=float), np.asarray(ones, dtype=float)
    if pulls.shape != ones.shape or not ((ones >= 0) & (ones <= pulls)).all():
        refuse("ones", ones, "of the shape of pulls and between 0 and the pulls")
    value = ones * math.log1p(16 * epsilon) + (pulls - ones) * math.log1p(-16 * epsilon)
    return float(value) if value.ndim == 0 else value


_GROUP_FIELDS = "pulls cap deviation log_ratio log_needed good_event wrong contradiction"


class GroupArgument(namedtuple("GroupArgument", _GROUP_FIELDS)):
    r"""The proof of Lemma 5.4, or of Theorem 5.5, in numbers: an algorithm with few pulls.

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
        :math:`\frac12-\delta`: probability at least, under :math:`H_1`, of success, cap and
        deviation together; with fixed bits :math:`\frac12-4\delta`.
    wrong : float
        ``good_event`` times the ratio: under :math:`H_{j_0}` at least this probability of
        an answer that is right under :math:`H_1`, hence wrong.
    contradiction : bool
        Whether ``wrong`` exceeds delta, with fixed bits 4 delta: no such algorithm exists.
    """


@checked(k=half, epsilon=SMALL, delta=up_to(0.02))
def group_argument(n, k, epsilon, delta, constant=LEMMA_5_4):
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
        Failure probability of the algorithm, in (0, 0.02]; the lemma has at most 0.01.
    constant : float
        C in the assumed pulls; published 20000.

    Returns
    -------
    GroupArgument
        With ``contradiction`` true, every deterministic algorithm that is right with
        probability 1 - delta needs more than ``pulls`` pulls in expectation.

    Raises
    ------
    ValueError
        If an argument is outside its range.

    Notes
    -----
    Zhou et al. (2014), Lemma 5.4, and its proof in the supplement.  The supplement's last
    chain (see `printed_split`) fails for most delta; the exact ratio used here satisfies
    :math:`\ge\sqrt\delta` on the whole range.

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


@checked(epsilon=SMALL, delta=SMALL)
def printed_split(epsilon, delta):
    r"""The two factors into which the supplement splits the likelihood ratio, and their goal.

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
        First factor, second factor, and :math:`\delta^{1/4}`, which the print claims both
        to exceed.

    Raises
    ------
    ValueError
        If an argument is outside its range.

    Notes
    -----
    A slip in the supplement of Zhou et al. (2014), p. 13: the second factor exceeds
    :math:`\delta^{1/4}` only if :math:`\sqrt{\ln\frac1\delta}>
    \frac{2}{15\epsilon}\ln\frac1{1-32\epsilon}`, that is, for delta below 3.3e-12 at
    epsilon = .01 and below 1.2e-8 however small epsilon is.  The lemma survives, see
    `group_argument`.

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


@checked(k=half, epsilon=SMALL, delta=SMALL)
def randomised_argument(n, k, epsilon, delta, constant=THEOREM_5_5):
    r"""Theorem 5.5's step from randomised to deterministic algorithms, in numbers.

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
        As for `group_argument`.
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

    Raises
    ------
    ValueError
        If an argument is outside its range.

    Notes
    -----
    Zhou et al. (2014), Theorem 5.5.  The printed proof fixes bits that are good for one instance
    and applies Lemma 5.4, whose assumption is about all instances; the group is chosen before the
    bits here (*repaired*), and the printed constant stands.

    Examples
    --------
    >>> from topk.lower_bounds import randomised_argument
    >>> randomised_argument(1000, 10, 0.01, 0.01).contradiction
    True
    >>> randomised_argument(1000, 10, 0.01, 0.01, constant=20_000).contradiction
    False
    """
    return _contradiction(n, k, epsilon, delta, constant, cap=20, failure=4 * delta)


@checked(k=half, epsilon=SMALL, delta=SMALL)
def theorem_5_5_pulls(n, k, epsilon, delta):
    r"""Expected pulls that every algorithm needs: :math:`\frac{n\ln(1/\delta)}{C\epsilon^2K}`.

    Parameters
    ----------
    n, k, epsilon, delta
        As for `randomised_argument`.

    Returns
    -------
    float
        Pulls, on the worst of the instances of `group_family`.

    Raises
    ------
    ValueError
        If an argument is outside its range.

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


@checked(epsilon=between(0, math.inf))
def complement_epsilon(n, k, epsilon):
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

    Raises
    ------
    ValueError
        If an argument is outside its range.

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


@checked()
def theorem_5_6_pulls(n, k, epsilon, delta):
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
        Pulls. For n - k < 10, where Theorem 5.1 is silent, Theorem 5.5's alone.

    Raises
    ------
    ValueError
        If an argument is outside its range.

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
    turned = min(complement_epsilon(n, k, epsilon), 0.01)  # rounding must not push it out
    bound = theorem_5_5_pulls(n, n - k, turned, delta)
    return max(bound, theorem_5_1_pulls(n, n - k, turned)) if n - k >= 10 else bound


# Explore-m: section 4 of Kalyanakrishnan et al. (2012)


@checked(m=half)
def explore_m_families(n, m, size):
    r"""The index sets of a family of instances: subsets of the arms 1, ..., n - 1.

    Parameters
    ----------
    n : int
        Number of arms; they are 0, ..., n - 1.
    m : int
        Arms to select, 1 to n / 2.
    size : int
        m - 1 or m: which of the families :math:`\mathcal I_{m-1}`, :math:`\mathcal I_m`.

    Returns
    -------
    iterator of tuple of int
        Its :math:`\binom{n-1}{size}` members, each increasing.

    Raises
    ------
    ValueError
        If an argument is outside its range.

    Notes
    -----
    Kalyanakrishnan et al. (2012), section 4.1.

    Examples
    --------
    >>> from topk.lower_bounds import explore_m_families
    >>> list(explore_m_families(4, 2, 1))
    [(1,), (2,), (3,)]
    """
    check_choice(size, "size", (m - 1, m))
    return combinations(range(1, n), size)


@checked(epsilon=EXPLORE_M_EPSILON)
def explore_m_means(n, members, epsilon):
    r"""Means of the instance :math:`B_I`.

    Arm 0 has mean 1/2, arms of I have :math:`\frac12+2\epsilon`, all others
    :math:`\frac12-2\epsilon`.

    Parameters
    ----------
    n : int
        Number of arms.
    members : iterable of int
        I, different arms from 1 to n - 1.
    epsilon : float
        Tolerance per arm, in (0, sqrt(1/32)].

    Returns
    -------
    ndarray, shape (n,)
        The means.

    Raises
    ------
    ValueError
        If an argument is outside its range.

    Notes
    -----
    Kalyanakrishnan et al. (2012), section 4.1; the display is lost in our copy and restored.

    Examples
    --------
    >>> from topk.lower_bounds import explore_m_means
    >>> explore_m_means(4, (2,), 0.125)
    array([0.5 , 0.25, 0.75, 0.25])
    """
    arms = [check_integer(arm, "members", 1, n - 1) for arm in members]
    if len(set(arms)) != len(arms):
        refuse("members", tuple(arms), "different arms")
    means = np.full(n, 0.5 - 2 * epsilon)
    means[0], means[arms] = 0.5, 0.5 + 2 * epsilon
    return means


@checked(m=integer(1))
def explore_m_optimal(members, m):
    r"""The only correct answer on :math:`B_I`: the m arms within epsilon of the m-th best.

    Parameters
    ----------
    members : iterable of int
        I, with m - 1 or m arms.
    m : int
        Arms to select, at least 1.

    Returns
    -------
    frozenset of int
        :math:`I\cup\{0\}` if :math:`|I|=m-1`, and I if :math:`|I|=m`.

    Raises
    ------
    ValueError
        If I has another size.

    Notes
    -----
    Kalyanakrishnan et al. (2012), section 4.1: arm 0 belongs to the answer in one family and
    not in the other, which an algorithm can tell only by sampling the rest.

    Examples
    --------
    >>> from topk.lower_bounds import explore_m_optimal
    >>> sorted(explore_m_optimal((2, 5), 3)), sorted(explore_m_optimal((2, 5), 2))
    ([0, 2, 5], [2, 5])
    """
    members = frozenset(members)
    if len(members) not in (m - 1, m):
        refuse("members", sorted(members), f"a set of {m - 1} or {m} arms")
    return members | {0} if len(members) == m - 1 else members


class CountingStep(namedtuple("CountingStep", "pairs larger per_member disjoint")):
    """What section 4.2.2 counts.

    Attributes
    ----------
    pairs : int
        Pairs (I, j) with I of m - 1 arms and j outside, arm 0 aside.
    larger : int
        Members of the family of size m.
    per_member : tuple of int
        Smallest and largest number of pairs with I united with {j} equal to a given J;
        both are m.
    disjoint : bool
        Whether the answers I united with {0} that these pairs stand for are different
        from each other and from J, so that their probabilities add up to an error.
    """


def count_pairs(n, m):
    r"""Check the counting step of Theorem 8's proof by listing everything.

    .. math:: \sum_{J\in\mathcal I_m}P_J\{S\ne J\}\ \ge\
              \sum_{I\in\mathcal I_{m-1}}\sum_{j\notin I}P_{I\cup\{j\}}\{S=I\cup\{0\}\}

    holds because each J arises from exactly m pairs, whose answers are all wrong and all
    different.  If half of the j of every I satisfy (13), the right-hand side exceeds
    :math:`\binom{n-1}{m-1}\frac{n-m}2\frac{2\delta}m=\delta\binom{n-1}m`.

    Parameters
    ----------
    n : int
        Number of arms; the list has :math:`m\binom{n-1}m` entries, so keep n small.
    m : int
        Arms to select, 1 to n / 2.

    Returns
    -------
    CountingStep
        ``pairs`` = m times ``larger``.

    Raises
    ------
    ValueError
        If an argument is outside its range.

    Notes
    -----
    Kalyanakrishnan et al. (2012), section 4.2.2.

    Examples
    --------
    >>> from topk.lower_bounds import count_pairs
    >>> count_pairs(6, 2)
    CountingStep(pairs=20, larger=10, per_member=(2, 2), disjoint=True)
    """
    answers = {}
    for members in explore_m_families(n, m, m - 1):
        right = explore_m_optimal(members, m)
        for j in {*range(1, n)} - {*members}:
            answers.setdefault(explore_m_optimal({*members, j}, m), []).append(right)
    counts = [len(found) for found in answers.values()]
    # as many different sets of m arms: J itself and the answers, which are wrong under J
    disjoint = all(len({joined, *found}) == len(found) + 1 and {len(each) for each in found} == {m}
                   for joined, found in answers.items())
    larger = sum(1 for _ in explore_m_families(n, m, m))
    return CountingStep(sum(counts), larger, (min(counts), max(counts)), disjoint)


_EXPLORE_M_FIELDS = "log_term horizon deviation exact_log_ratio stated_log_ratio factor holds"


class ExploreMArgument(namedtuple("ExploreMArgument", _EXPLORE_M_FIELDS)):
    r"""The quantities of Lemmas 10 to 12 for one choice of the constant C.

    Attributes
    ----------
    log_term : float
        :math:`L=\ln\frac m{8\delta}`.
    horizon : float
        :math:`T^*=\frac{16C}{\epsilon^2}L`: an arm j with few expected pulls stays below it
        with probability 3/4.
    deviation : float
        :math:`\Delta^*=2\epsilon T^*+\sqrt{T^*}`, the shortfall of ones of Lemma 10.
    exact_log_ratio : float
        :math:`-4\Delta^*\,\mathrm{artanh}(4\epsilon)`, the smallest log likelihood ratio of
        a run within horizon and deviation when arm j becomes good.
    stated_log_ratio : float
        :math:`-32\epsilon\Delta^*`, Lemma 11's.
    factor : float
        :math:`\frac{8\delta}m=e^{-L}`: Lemma 12 turns probability P into more than
        (P - 1/2) times this.
    holds : bool
        Whether :math:`32\epsilon\Delta^*<L`, which Lemma 12 needs.
    """


@checked(m=integer(6), epsilon=EXPLORE_M_EPSILON, delta=up_to(0.25))
def explore_m_argument(m, epsilon, delta, constant=PUBLISHED_CONSTANT):
    r"""Evaluate Lemmas 10 to 12 of the proof of Theorem 8.

    Parameters
    ----------
    m : int
        Arms to select, at least 6.
    epsilon : float
        Tolerance per arm, in (0, sqrt(1/32)].
    delta : float
        In (0, 1/4].
    constant : float
        C in the assumed sample complexity :math:`C\frac n{\epsilon^2}\ln\frac m{8\delta}`.

    Returns
    -------
    ExploreMArgument
        The contradiction goes through exactly when ``holds``.

    Raises
    ------
    ValueError
        If an argument is outside its range.

    Notes
    -----
    Kalyanakrishnan et al. (2012), Assumption 9, (12), Lemmas 10 to 12.  The displays are
    lost in our copy; these constants are *derived* and pinned by 1/18375.

    Examples
    --------
    >>> from topk.lower_bounds import explore_m_argument
    >>> argument = explore_m_argument(6, 0.1, 0.25)
    >>> argument.holds, round(argument.log_term, 3)
    (True, 1.099)
    """
    log_term = math.log(m / (8 * delta))
    horizon = 16 * constant / epsilon**2 * log_term
    deviation = 2 * epsilon * horizon + math.sqrt(horizon)
    stated = -32 * epsilon * deviation
    exact = -4 * deviation * math.atanh(4 * epsilon)
    factor = math.exp(-log_term)
    return ExploreMArgument(log_term, horizon, deviation, exact, stated, factor, -stated < log_term)


@checked()
def theorem_8_constant(log_term=1.0):
    r"""The largest C for which Lemma 12 goes through.

    The root of :math:`32\epsilon\Delta^*=L`, from which epsilon cancels:

    .. math:: 1024\,C+128\sqrt{C/L}=1,\qquad
              C=\frac L{1024\,(2+\sqrt{4+L})^2},\qquad L=\ln\frac m{8\delta}.

    Parameters
    ----------
    log_term : float
        L, positive; at least ln 3 on the range of the theorem.

    Returns
    -------
    float
        For L = 1, 1 / 18374.93: the published constant 1 / 18375.

    Raises
    ------
    ValueError
        If ``log_term`` is not positive.

    Notes
    -----
    Kalyanakrishnan et al. (2012), Theorem 8.  For L = ln 3, the smallest on its range, the
    same proof gives about 1 / 16900.

    Examples
    --------
    >>> from topk.lower_bounds import theorem_8_constant
    >>> round(1 / theorem_8_constant(), 2)
    18374.93
    """
    return log_term / (1024 * (2 + math.sqrt(4 + log_term)) ** 2)


@checked(m=half)
def theorem_8_pulls(n, m, epsilon, delta, constant=PUBLISHED_CONSTANT):
    r"""Worst-case sample complexity that no Explore-m algorithm can beat everywhere.

    .. math:: C\,\frac n{\epsilon^2}\ln\frac m{8\delta}.

    Parameters
    ----------
    n : int
        Number of arms, at least 2 m.
    m, epsilon, delta
        As for `explore_m_argument`.
    constant : float
        C; published 1 / 18375.

    Returns
    -------
    float
        Pulls.

    Raises
    ------
    ValueError
        If an argument is outside its range.

    Notes
    -----
    Constant published: Kalyanakrishnan et al. (2012), Theorem 8.

    Examples
    --------
    >>> from topk.lower_bounds import theorem_8_pulls
    >>> round(theorem_8_pulls(1000, 100, 0.1, 0.1), 1)
    26.3
    """
    log_term = explore_m_argument(m, epsilon, delta, constant).log_term
    return constant * n / epsilon**2 * log_term


@checked(horizon=integer(1), epsilon=EXPLORE_M_EPSILON)
def lemma_10_probability(horizon, epsilon):
    r"""Exact probability that an arm's ones fall short within the horizon.

    .. math:: \Pr\Bigl\{\min_{t\le T^*}\bigl(K(t)-t(\tfrac12-2\epsilon)\bigr)
              \le-\sqrt{T^*}\Bigr\}\le\tfrac14,

    where K(t) counts the ones in t pulls of an arm of mean :math:`\frac12-2\epsilon`.  The
    event of Lemma 10 is contained in it, since there
    :math:`K\le\frac T2-\Delta^*\le T(\frac12-2\epsilon)-\sqrt{T^*}`.

    Parameters
    ----------
    horizon : int
        :math:`T^*`, at least 1.
    epsilon : float
        Tolerance per arm, in (0, sqrt(1/32)].

    Returns
    -------
    float
        Kolmogorov's inequality bounds it by the variance :math:`T^*/4` over :math:`T^*`.

    Raises
    ------
    ValueError
        If an argument is outside its range.

    Notes
    -----
    Kalyanakrishnan et al. (2012), Lemma 10; the exact value, by following the law of K(t)
    with an absorbing barrier, is ours.

    Examples
    --------
    >>> from topk.lower_bounds import lemma_10_probability
    >>> round(lemma_10_probability(100, 0.05), 4)
    0.0378
    """
    mean = 0.5 - 2 * epsilon
    law, hit = np.ones(1), 0.0
    for t in range(1, horizon + 1):
        law = np.convolve(law, [1 - mean, mean])
        short = np.arange(law.size) - t * mean <= -math.sqrt(horizon)
        hit += law[short].sum()
        law[short] = 0.0
    return float(hit)
