"""The characteristic time of exact top-k identification, with a certificate.

The problem is a concave max-min.  It is solved as the convex programme

    minimise sum_i w_i   subject to   G_ab(w) >= 1 for every arm a in the top k and b below,

by a primal-dual interior-point method whose multipliers *are* the certificate.
"""

from typing import Literal, NamedTuple

import numpy as np
from numpy.typing import ArrayLike
from scipy.sparse import csc_matrix, identity
from scipy.sparse.linalg import splu

from topk._checks import as_vector, check_means, check_real, refuse
from topk._ranges import below_means, one_of, validated
from topk._types import Floats
from topk.confidence.kl import kl_of_step

_RELATIVE_GAP = 1e-9  # relative duality gap at which the method stops
_MAX_STEPS = 200  # interior-point steps; 10 to 40 are used in practice


class CharacteristicTime(NamedTuple):
    r"""A characteristic time with its certificate, as returned by `characteristic_time`.

    Attributes
    ----------
    value : float
        :math:`T^*`, up to the certificate; equal to ``upper``.
    weights : ndarray, shape (n,)
        Optimal proportions of the pulls, in the order of the means; they sum to one.
    lower, upper : float
        Bounds on :math:`T^*`.  ``upper`` is attained by ``weights``; ``lower`` follows from
        ``alternatives``.
    alternatives : ndarray, shape (m, 4)
        The adversary's mixture.  A row (u, v, x, p) means: with probability p choose a top arm of
        mean u and another arm of mean v, each uniformly among arms of equal mean, and change both
        means to x.  For all weights the expected information
        :math:`\sum_iw_i\,\mathbb E[\mathrm{kl}(\mu_i,\lambda_i)]` is at most its largest
        coefficient, whose inverse is ``lower``.
    """

    value: float
    weights: Floats
    lower: float
    upper: float
    alternatives: Floats


def _is_gaussian(arguments):
    family = arguments["family"]  # not checked yet
    return isinstance(family, str) and family == "gaussian"


def _means(value, name, arguments):
    """Range of the means: in [0, 1], or any finite numbers for normal arms."""
    return as_vector(value, name) if _is_gaussian(arguments) else check_means(value)


def _sigma(value, name, arguments):
    """Range of sigma: positive for normal arms, None for others."""
    if _is_gaussian(arguments):
        return check_real(value, name, 0, 1e100, low_open=True)
    if value is not None:
        refuse(name, value, "omitted for Bernoulli arms")
    return value


@validated(means=_means, k=below_means, family=one_of("bernoulli", "gaussian"), sigma=_sigma)
def characteristic_time(
    means: ArrayLike,
    k: int,
    family: Literal["bernoulli", "gaussian"] = "bernoulli",
    sigma: float | None = None,
) -> CharacteristicTime:
    r"""Sampling cost, per unit of confidence, of finding exactly the k best arms.

    .. math:: \frac1{T^*}=\max_{w}\ \min_{a\in\mathrm{top},\,b\notin\mathrm{top}}\
              \inf_x\ w_a\,\mathrm{kl}(\mu_a,x)+w_b\,\mathrm{kl}(\mu_b,x),

    over weights w that sum to one; the infimum is attained at
    :math:`x=(w_a\mu_a+w_b\mu_b)/(w_a+w_b)`.  Every algorithm that returns the k best arms with
    probability at least :math:`1-\delta` on every instance needs
    :math:`T^*\,\mathrm{kl}(\delta,1-\delta)` pulls in expectation.

    Parameters
    ----------
    means : array_like, shape (n,)
        True means, in any order; for Bernoulli arms in [0, 1], including 0 and 1.
    k : int
        Arms to select, 1 to n - 1.
    family : {"bernoulli", "gaussian"}
        The distribution of the rewards.  For normal rewards kl is the divergence of two normal
        distributions, :math:`(\mu-x)^2/(2\sigma^2)`.
    sigma : float, optional
        Standard deviation of normal rewards, positive; not allowed otherwise.

    Returns
    -------
    CharacteristicTime
        With ``value``, ``weights``, ``lower``, ``upper`` and ``alternatives``.  If the boundary is
        tied (or so close to a tie that the time overflows), the value and both bounds are ``inf``,
        all weights are equally good, ``weights`` is uniform over the arms at the boundary values,
        and ``alternatives`` is empty.

    Raises
    ------
    ValueError
        If ``means`` has fewer than two arms or an impossible entry, if ``k`` is not an integer from
        1 to n - 1, or if ``family`` and ``sigma`` do not fit together.

    See Also
    --------
    topk_complexity : the hardness of an average regret.
    lucb_complexity : the hardness of LUCB.

    Notes
    -----
    The max-min is that of Garivier and Kaufmann (2016) for the alternatives in which one top arm
    and one other arm are exchanged; it is in none of the five papers.  The relative gap (upper -
    lower) / lower is normally below 1e-9; both bounds remain valid if the method has to stop
    earlier.

    Arms of equal mean on one side get equal weights (the problem is concave and symmetric), so each
    group of equal arms is one variable.  Few pairs are active, nearly always only those that
    contain arm k or arm k + 1: the method starts with these and adds pairs that the solution
    violates until there are none.  For large n the check of all k (n - k) pairs dominates.

    Examples
    --------
    >>> from topk.hardness import characteristic_time
    >>> time = characteristic_time([0.75, 0.25], 1)
    >>> round(time.value, 4), time.weights.round(4).tolist()
    (7.6446, [0.5, 0.5])
    >>> characteristic_time([0.5, 0.5, 0.25], 1).value
    inf
    """
    if family == "gaussian" and sigma is None:
        refuse("sigma", sigma, "given for normal arms")
    order = np.argsort(-means, kind="stable")
    top, bottom = means[order[:k]], means[order[k:]]
    problem = _Problem(top, bottom, sigma)
    if not np.isfinite(problem.start).all():
        at_boundary = np.isin(means, (top[-1], bottom[0]))
        shares = at_boundary / at_boundary.sum()
        return CharacteristicTime(np.inf, shares, np.inf, np.inf, np.empty((0, 4)))
    point = _solve(problem)
    lower, upper = float(problem.unit * point.lower), float(problem.unit * point.upper)
    shares = point.w / (problem.count @ point.w)
    weights = np.empty(means.size)
    weights[order] = shares[problem.group]
    weights /= weights.sum()
    return CharacteristicTime(upper, weights, lower, upper, problem.mixture(point))


class _Problem:
    """The programme for distinct means: first the top groups, then the others, descending."""

    def __init__(self, top, bottom, sigma=None):
        self.sigma = sigma  # None for Bernoulli arms
        high, high_of, high_count = np.unique(-top, return_inverse=True, return_counts=True)
        low, low_of, low_count = np.unique(-bottom, return_inverse=True, return_counts=True)
        self.high, self.low = -high, -low
        self.group = np.concatenate([high_of, high.size + low_of])
        self.count = np.concatenate([high_count, low_count]).astype(float)
        self.mean = np.concatenate([self.high, self.low])
        # A feasible start up to scale: the cost of separating each arm from the middle.
        half_gap = (self.high[-1] - self.low[0]) / 2
        above = self.high[-1] - self.high - half_gap
        step = np.concatenate([above, self.low[0] - self.low + half_gap])
        middle, rest = self.low[0] + half_gap, (1.0 - self.high[-1]) + half_gap
        with np.errstate(divide="ignore", over="ignore"):
            self.start = 1.0 / self.kl(self.mean, middle, rest, step)
        # Times are measured in this unit, so that powers of the weights cannot overflow.
        self.unit = self.start[self.high.size - 1]
        self.start = self.start / self.unit if np.isfinite(self.unit) else self.start

    def kl(self, mean, x, rest, step):
        """Return kl(mean, x), where step = x - mean and rest = 1 - x."""
        if self.sigma is not None:
            return (step / self.sigma) ** 2 / 2
        return kl_of_step(mean, x, rest, step)

    def pairs(self):
        """Return the pairs that contain the last top group or the first one below."""
        size = self.high.size
        a = np.concatenate([np.arange(size), np.full(self.low.size - 1, size - 1)])
        b = size + np.concatenate([np.zeros(size, int), np.arange(1, self.low.size)])
        return a, b

    def information(self, w, a, b):
        """Return G_ab(w), its two partial derivatives, the minimiser x and 1 - x.

        In this unit G is ``unit`` times sum_i w_i kl(mu_i, x), and dG/dw_i = unit kl(mu_i, x).  x
        and 1 - x are averages of positive numbers and the steps are products with mu_a - mu_b, so
        nothing cancels.
        """
        total = w[a] + w[b]
        share_a, share_b = w[a] / total, w[b] / total
        high, low = self.mean[a], self.mean[b]
        x = share_a * high + share_b * low
        rest = share_a * (1.0 - high) + share_b * (1.0 - low)
        slope_a = self.unit * self.kl(high, x, rest, -share_b * (high - low))
        slope_b = self.unit * self.kl(low, x, rest, share_a * (high - low))
        return w[a] * slope_a + w[b] * slope_b, slope_a, slope_b, x, rest

    def weakest(self, w):
        """Return the smallest G over all pairs, and the weakest partner of every group."""
        size, others = self.high.size, self.low.size
        columns, of_high = size + np.arange(others), []
        smallest, of_low = np.full(others, np.inf), np.zeros(others, int)
        for row in range(size):  # all pairs at once would not fit into memory
            value = self.information(w, row, columns)[0]
            of_high.append(size + value.argmin())
            of_low[value < smallest] = row
            smallest = np.minimum(smallest, value)
        a, b = np.concatenate([np.arange(size), of_low]), np.concatenate([of_high, columns])
        return smallest.min(), (a, b)

    def mixture(self, point):
        """Return the certificate's rows (top mean, other mean, x, probability)."""
        x = self.information(point.w, point.a, point.b)[3]
        share = point.q / point.q.sum()
        return np.column_stack([self.mean[point.a], self.mean[point.b], x, share])


def _solve(problem):
    """Solve for a few pairs, and add the pairs that the solution violates until there are none."""
    a, b = problem.pairs()
    size = problem.mean.size
    while True:
        point = _interior_point(problem, a, b)
        smallest, (more_a, more_b) = problem.weakest(point.w)
        # The lower bound remains valid: the adversary may ignore alternatives.
        point.upper = float(problem.count @ point.w / smallest)
        known = np.unique(np.concatenate([a, more_a]) * size + np.concatenate([b, more_b]))
        if point.upper - point.lower <= 2 * _RELATIVE_GAP * point.lower or known.size == a.size:
            return point
        a, b = np.divmod(known, size)


def _interior_point(problem, a, b):
    """Minimise count @ w subject to G_ab(w) >= 1 for the given pairs; Newton on the KKT system.

    The multipliers q give the certificate: every w' has
    min_e G_e(w') <= sum_e q_e G_e(w') / sum(q) <= sum_i c_i w'_i / sum(q), where
    c_i = sum_e q_e kl(mu_i, x_e), so that T* >= sum(q) / max_i (c_i / count_i).
    """
    count = problem.count
    w = problem.start * 2.0 / problem.information(problem.start, a, b)[0].min()
    # The target product q * slack of each constraint is proportional to the contribution of its
    # smaller arm to the time.  With equal products an arm that needs a share of 1e-8 would start
    # with far too much, and Newton's method would not converge.
    part = np.minimum((count * problem.start)[a], (count * problem.start)[b])
    part /= part.sum()
    q = count @ w / 2.0 * part / (problem.information(w, a, b)[0] - 1.0)
    best = state = _State(problem, a, b, w, q)
    for _ in range(_MAX_STEPS):
        if state.upper - state.lower <= _RELATIVE_GAP * state.lower:
            break
        # On the central path q @ slack equals the gap.  Elsewhere the gap is larger, and using it
        # as the target keeps the constraints from closing before the multipliers are accurate.
        gap = min(max(state.q @ state.slack, state.upper - state.lower), count @ state.w)
        state = _damped_step(state, 0.1 * gap * part)
        if state is None:
            break
        best = min(best, state, key=lambda each: each.upper - each.lower)
    return best


class _State:
    """The variables w and q, and all quantities computed from them."""

    def __init__(self, problem, a, b, w, q):
        self.problem, self.a, self.b, self.w, self.q = problem, a, b, w, q
        value, self.slope_a, self.slope_b, self.x, self.rest = problem.information(w, a, b)
        self.slack = value - 1.0
        self.c = self.sum_by_group(q * self.slope_a, q * self.slope_b)
        self.lower = float(q.sum() / (self.c / problem.count).max())
        self.upper = float(problem.count @ w / value.min())

    def sum_by_group(self, of_a, of_b):
        """Sum the contributions of all pairs to each group, as their a or their b."""
        size = self.w.size
        return np.bincount(self.a, of_a, size) + np.bincount(self.b, of_b, size)

    def residual(self, scale, target):
        """Return the norm of the KKT residual, both parts in units of time."""
        dual = scale * (self.problem.count - self.c)
        return np.sqrt(dual @ dual + np.square(self.q * self.slack - target).sum())


def _damped_step(state, target):
    """Make a damped Newton step towards q * slack = target; None at the limit of precision."""
    step = _newton(state, target)
    if step is None:
        return None
    w, q, (step_w, step_q) = state.w, state.q, step
    length = min(_largest_length(w, step_w), _largest_length(q, step_q))
    before = state.residual(state.w, target)
    while length > 1e-10:
        w_ahead, q_ahead = w + length * step_w, q + length * step_q
        candidate = _State(state.problem, state.a, state.b, w_ahead, q_ahead)
        inside = (candidate.slack > 0.01 * state.slack).all()
        if inside and candidate.residual(state.w, target) <= (1 - 0.01 * length) * before:
            return candidate
        length *= 0.6
    return None


def _newton(state, target):
    """Return the Newton step for q_e * (G_e(w) - 1) = target_e, or None if it breaks down.

    Eliminating the multipliers leaves (H + J' diag(q/slack) J) step_w = -count + J'(target/slack),
    where J holds the slopes and H = -sum_e q_e G_e''; G_e'' is minus
    h (w_b, -w_a)(w_b, -w_a)' with h = unit (mu_a - mu_b)^2 / ((w_a + w_b)^3 x (1 - x)), where
    the variance x (1 - x) is sigma^2 for normal arms.
    """
    problem, a, b, size = state.problem, state.a, state.b, state.w.size
    w_a, w_b, slope_a, slope_b = state.w[a], state.w[b], state.slope_a, state.slope_b
    gap = problem.mean[a] - problem.mean[b]
    one, other = (state.rest, state.x) if problem.sigma is None else (problem.sigma, problem.sigma)
    h = state.q * problem.unit * gap / one * (gap / other) / (w_a + w_b) ** 3
    ratio, aim = state.q / state.slack, target / state.slack
    diagonal = state.sum_by_group(h * w_b**2 + ratio * slope_a**2, h * w_a**2 + ratio * slope_b**2)
    # Weights differ by many orders of magnitude: scale the diagonal to one.
    scale = 1.0 / np.sqrt(diagonal)
    off_diagonal = (ratio * slope_a * slope_b - h * w_a * w_b) * scale[a] * scale[b]
    pairs = csc_matrix((off_diagonal, (a, b)), shape=(size, size))
    try:
        factor = splu(pairs + pairs.T + identity(size, format="csc"), permc_spec="MMD_AT_PLUS_A",
                      options={"SymmetricMode": True})
    except RuntimeError:  # exactly singular: the end of double precision
        return None
    rhs = state.sum_by_group(aim * slope_a, aim * slope_b) - problem.count
    step_w = scale * factor.solve(scale * rhs)
    if not np.isfinite(step_w).all():
        return None
    return step_w, aim - state.q - ratio * (slope_a * step_w[a] + slope_b * step_w[b])


def _largest_length(x, step):
    """Return the largest length, at most 1, for which x + length * step stays well above 0."""
    decreasing = step < 0
    return min(1.0, 0.99 * np.min(-x[decreasing] / step[decreasing])) if decreasing.any() else 1.0
