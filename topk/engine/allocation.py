"""Pulls shared out among arms, as evenly as their limits allow."""

import numpy as np


def spread(have, most, pulls):
    """Share out pulls so that those who have the fewest catch up.

    The plain form hands out one at a time to who has the fewest, of equal ones to the first.

    Parameters
    ----------
    have, most : ndarray of int, shape (n,)
        What each has, and how many it may be given.
    pulls : int
        How many there are, at least 0; those for which nobody has room are not handed out.

    Returns
    -------
    ndarray of int, shape (n,)

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


def water_fill(counts, pulls):
    """Spread ``pulls`` evenly over entries that take at most ``counts`` each.

    The plain form hands out one pull at a time, going round and round over the entries
    that still have room, in order.

    Examples
    --------
    >>> water_fill(np.array([5, 1, 5]), 8).tolist()
    [4, 1, 3]
    """
    level, more = divmod(pulls, counts.size)
    if level < counts.min():  # there is room everywhere
        shares = np.full_like(counts, level)
        shares[:more] += 1
        return shares
    return spread(np.zeros_like(counts), counts, pulls)
