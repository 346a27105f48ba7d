"""Several bandits at once, by looking at the arms of those that have changed.

M bandits of n arms each are one row of M n arms: arm i of bandit m is number ``m * n + i``.
One bandit is the case M = 1.  What is decided within a bandit looks at its own arms only,
and changes only when one of them is pulled, or when a radius that all arms share does.
"""

import numpy as np

from topk.engine.loop import NOBODY

TIE = 1e-12  # indices closer than this are equal: sums of the same numbers, rounded in two orders


def new_looks(bandits, n):
    """Return what was last seen of M bandits of n arms; it follows from the counts.

    ``means`` and ``radii`` (M n,) are every arm's mean and half the width of its bounds;
    ``index`` (M,) is how much speaks for pulling in this bandit, minus infinity if nothing does,
    ``favourite`` (M,) the arm of it that would be pulled.
    """
    return {
        "means": np.zeros(bandits * n),
        "radii": np.zeros(bandits * n),
        "index": np.zeros(bandits),
        "favourite": np.full(bandits, NOBODY),
    }


def see(s, arm, radius):
    """Take over an arm's mean and radius."""
    s.means[arm] = s.sums[arm] / s.pulls[arm]
    s.radii[arm] = radius


def strongest(s):
    """Return the bandit with the largest index; of equal ones the lowest number."""
    largest = -np.inf
    for bandit in range(s.bandits):
        largest = max(largest, s.index[bandit])
    for bandit in range(s.bandits):
        if s.index[bandit] >= largest - TIE:
            return bandit
    return 0
