"""Kullback-Leibler divergences, without cancellation."""

import numpy as np

# Below this size r - log(1 + r) loses more than three digits; the series keeps them all.
_SERIES_BELOW = 0.05


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
