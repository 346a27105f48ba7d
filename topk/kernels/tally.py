"""What has been seen so far: per arm, the pulls and the sums of rewards."""

from typing import NamedTuple

import numpy as np

from topk.kernels.compiling import inlined


class Tally(NamedTuple):
    """Sufficient statistics of a play; no reward is stored.

    Attributes
    ----------
    pulls : ndarray of int64, shape (n,)
        How often each arm was pulled.
    sums : ndarray of float, shape (n,)
        The sum of each arm's rewards.
    squares : ndarray of float, shape (n,) or (0,)
        The sum of each arm's squared rewards; empty for strategies that do not ask for it.
    total : ndarray of int64, shape (1,)
        Pulls of all arms together.
    """

    pulls: np.ndarray
    sums: np.ndarray
    squares: np.ndarray
    total: np.ndarray


def new_tally(n, squares=False):
    """Return the empty tally of ``n`` arms."""
    return Tally(
        np.zeros(n, dtype=np.int64),
        np.zeros(n),
        np.zeros(n if squares else 0),
        np.zeros(1, dtype=np.int64),
    )


@inlined
def credit(tally, m, arms, counts, sums, squares):
    """Add a batch of ``m`` entries to the tally."""
    for j in range(m):
        arm = arms[j]
        tally.pulls[arm] += counts[j]
        tally.sums[arm] += sums[j]
        if tally.squares.size > 0:
            tally.squares[arm] += squares[j]
        tally.total[0] += counts[j]
