"""Distribution of pulls among arms, as evenly as their limits allow."""

import numpy as np


def spread(have, most, pulls):
    """Distribute pulls so that the arms with the fewest pulls catch up.

    The plain form adds one pull at a time to the arm with the fewest pulls among the arms below
    their limits; ties go to the first arm.

    Parameters
    ----------
    have, most : ndarray of int, shape (n,)
        The pulls of each arm, and the limit of its additional pulls.
    pulls : int
        Number of pulls to distribute, at least 0; pulls beyond all limits are dropped.

    Returns
    -------
    ndarray of int, shape (n,)
        Additional pulls of each arm.

    Examples
    --------
    >>> spread(np.array([5, 1, 3]), np.array([9, 9, 9]), 4).tolist()
    [0, 3, 1]
    """
    pulls = min(pulls, most.sum())
    low, high = have.min(), have.max() + pulls
    while low < high:  # bisect: the highest level to which every arm can be raised
        middle = (low + high + 1) // 2
        enough = np.clip(middle - have, 0, most).sum() <= pulls
        low, high = (middle, high) if enough else (low, middle - 1)
    shares = np.clip(low - have, 0, most)
    # the remainder: one more pull for each of the first arms that are at the level, below the limit
    shares[np.flatnonzero((have + shares == low) & (shares < most))[: pulls - shares.sum()]] += 1
    return shares


def water_fill(counts, pulls):
    """Spread ``pulls`` evenly over entries with the limits ``counts``.

    The plain form adds one pull at a time, cycling in order over the entries below their limits.

    Examples
    --------
    >>> water_fill(np.array([5, 1, 5]), 8).tolist()
    [4, 1, 3]
    """
    level, more = divmod(pulls, counts.size)
    if level < counts.min():  # no limit is reached
        shares = np.full_like(counts, level)
        shares[:more] += 1
        return shares
    return spread(np.zeros_like(counts), counts, pulls)
