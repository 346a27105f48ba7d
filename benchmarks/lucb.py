"""LUCB1 in ordinary numba, with which the compiled loops of the library are compared.

It makes the same pulls as `topk.LUCB1`, from the same random numbers, and looks at all arms for
every pair.  Kalyanakrishnan et al. (2012), sections 2 and 3.2.
"""

import math

import numba
import numpy as np


@numba.njit
def lucb1(means, k, epsilon, delta, max_pulls, rng):
    """Run LUCB1 on Bernoulli arms until it stops or has made ``max_pulls`` pulls.

    Returns the pulls and the sums of rewards of every arm, and which arms are chosen.
    """
    n = means.size
    pulls, sums = np.zeros(n), np.zeros(n)
    for arm in range(n):
        pull(arm, means, pulls, sums, rng)
    chosen = np.zeros(n, np.bool_)
    chosen[np.argsort(-sums / pulls, kind="mergesort")[:k]] = True
    total, t = n, 1
    while total < max_pulls:
        scale = math.sqrt((math.log(1.25 * n / delta) + 4 * math.log(t)) / 2)
        h, l, difference = boundary_arms(pulls, sums, chosen, scale)  # noqa: E741
        if difference < epsilon:
            break
        pull(h, means, pulls, sums, rng)
        total += 1
        if total < max_pulls:
            pull(l, means, pulls, sums, rng)
            total += 1
        t += 1
    return pulls, sums, chosen


@numba.njit
def pull(arm, means, pulls, sums, rng):
    """Pull one arm."""
    pulls[arm] += 1
    sums[arm] += rng.random() < means[arm]


@numba.njit
def boundary_arms(pulls, sums, chosen, scale):
    """Return the arms h and l, and by how much the upper bound of l exceeds the lower bound of h.

    Arms first change places until those with the largest means are chosen; ties go to the first.
    """
    while True:
        lowest = weakest = np.inf
        highest = strongest = -np.inf
        h = l = last = first = -1  # noqa: E741
        for arm in range(pulls.size):
            mean = sums[arm] / pulls[arm]
            width = scale * (1 / math.sqrt(pulls[arm]))
            if chosen[arm]:
                if mean - width < lowest:
                    lowest, h = mean - width, arm
                if mean <= weakest:
                    weakest, last = mean, arm
            else:
                if mean + width > highest:
                    highest, l = mean + width, arm  # noqa: E741
                if mean > strongest:
                    strongest, first = mean, arm
        if weakest > strongest or weakest == strongest and last < first:
            return h, l, highest - lowest
        chosen[last], chosen[first] = False, True
