"""What comes in out of turn: sums that are kept exactly, results that wait, and who is next."""

import math

import numpy as np

MOST = 2**53  # pulls of an arm: up to there sums of 0/1 rewards are exact as floats
SPLIT = 10**9  # rewards; of more a random part is not drawn


def add_exactly(parts, x):
    """Add ``x`` to a sum that is kept exactly, as a short list of floats.

    The plain form is ``parts.append(x)``: ``math.fsum(parts)`` is the same either way.
    Two floats are replaced by their rounded sum and its rounding error, which is a float
    as well (Shewchuk 1997), so that the list stays short.
    """
    kept = 0
    for y in parts:
        if abs(x) < abs(y):
            x, y = y, x
        high = x + y
        low = y - (high - x)
        if low:
            parts[kept] = low
            kept += 1
        x = high
    parts[kept:] = [x]


def divided(result, most, rng):
    """Cut a result in two: at most ``most`` of its rewards, and the others.

    Parameters
    ----------
    result : list
        The number of rewards, their sum and, if anybody looks at them, that of their squares.
    most : int
    rng : callable
        Returns a `numpy.random.Generator`; None if rewards have no bounds.

    Returns
    -------
    part, rest : list or None
        Of a sum a part is drawn at random, as if it were that of ones, zeros, and one reward in
        between.  Of rewards in [0, 1] nothing has a wider spread: whatever is promised about
        their means by Hoeffding's inequality stays.  Where squares tell otherwise, or there are
        no bounds, a result is not cut.
    """
    count, total, *squares = result
    if count <= most:
        return result, None
    if most == 0 or rng is None or squares not in ([], [total]) or count > SPLIT:
        return None, result
    ones, rng = math.floor(total), rng()
    found = float(rng.hypergeometric(ones, count - ones, most))
    if total > ones and rng.random() * (count - ones) < most - found:
        found += total - ones
    squares = [[found], [total - found]] if squares else [[], []]
    return [most, found, *squares[0]], [count - most, total - found, *squares[1]]


def spread(have, most, pulls):
    """Share out ``pulls`` so that those who have the fewest catch up, each at most ``most``.

    The plain form hands out one at a time to who has the fewest, of equal ones to the first.

    Examples
    --------
    >>> spread(np.array([5, 1, 3]), np.array([9, 9, 9]), 4).tolist()
    [0, 3, 1]
    """
    pulls = min(pulls, most.sum())
    low, high = have.min(), have.max() + pulls
    while low < high:  # the highest level to which all can be filled
        middle = (low + high + 1) // 2
        enough = np.clip(middle - have, 0, most).sum() <= pulls
        low, high = (middle, high) if enough else (low, middle - 1)
    shares = np.clip(low - have, 0, most)
    shares[np.flatnonzero((have + shares == low) & (shares < most))[: pulls - shares.sum()]] += 1
    return shares
