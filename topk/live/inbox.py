"""Results on their way from the world to a rule: in flight, new, or waiting to be asked for."""

import math
from fractions import Fraction

import numpy as np

from topk._checks import check_arms
from topk._json import plain, put_back

COUNTS = {"wanted": "count", "new": "count", "flight": "count"}  # of each arm, and stored
MOST = 2**53  # pulls of an arm: up to there sums of 0/1 rewards are exact as floats
SPLIT = 10**9  # rewards; of more a random part is not drawn


class Arrivals:
    """What a play's batch wants of each arm, what has come in, and what is still to come.

    Parameters
    ----------
    n : int
        Number of arms.
    bounded : bool
        Whether a sum may be cut in two, see `divided`.
    rng : numpy.random.Generator, optional
        For that; one is made if need be.

    Attributes
    ----------
    arms : ndarray of int64, shape (m,)
        The batch.
    wanted, new, flight : ndarray of int64, shape (n,)
        How many rewards the batch is about, how many have been told since it was opened and go to
        the rule with it, and how many pulls have been handed out and not come back.
    sums : dict
        arm -> the exact sums of its new rewards and of their squares.
    kept : dict
        arm -> results that wait until the rule asks for them, in the order in which they came.
    """

    def __init__(self, n, bounded, rng=None):
        self.arms, (self.wanted, self.new, self.flight) = None, np.zeros((3, n), dtype=np.int64)
        self.sums, self.kept, self.bounded, self.rng = {}, {}, bounded, rng

    def open(self, arms, counts, room):
        """Open a batch; of it nothing but what was kept has been told."""
        self.arms, self.wanted[:] = arms.copy(), 0
        self.wanted[arms] = counts
        for arm in sorted(self.kept.keys() & {*arms.tolist()}):  # the same after a restart
            waiting = self.kept.pop(arm)
            while waiting and room(arm):
                self.take(arm, waiting.pop(0), room(arm))
            if waiting:  # after what `take` has put back
                self.kept.setdefault(arm, []).extend(waiting)

    @property
    def left(self):
        """What is still wanted of the batch, (n,)."""
        return np.maximum(self.wanted - self.new, 0)

    @property
    def surplus(self):
        """The number of results that are kept of each arm, (n,)."""
        counts = np.zeros_like(self.new)
        for arm, results in self.kept.items():
            counts[arm] = sum(result[0] for result in results)
        return counts

    @property
    def touched(self):
        """The arms of the batch, and then others that have new results."""
        others = self.new > 0
        others[self.arms] = False
        return np.append(self.arms, np.flatnonzero(others))

    def take(self, arm, result, room):
        """Add up to ``room`` rewards of a result to what is new, and keep the rest."""
        part, rest = divided(result, room, self._draws if self.bounded else None)
        if part:
            self.new[arm] += part[0]
            sums = zip(self.sums.get(arm, (0, 0)), part[1:], strict=True)
            self.sums[arm] = [exact + Fraction(more) for exact, more in sums]
        if rest:
            self.kept.setdefault(arm, []).append(rest)

    def _draws(self):
        """Return the generator that draws which part of a sum is taken."""
        self.rng = self.rng or np.random.default_rng()
        return self.rng

    def told(self):
        """Return counts, sums, and sums of squares of what is new, (n,) each."""
        sums = np.zeros((2, self.new.size))
        for arm, exact in self.sums.items():
            sums[:, arm] = [float(x) for x in exact]
        return self.new.copy(), *sums

    def settle(self, arms):
        """Return the same of some arms, for whom nothing is new from now on."""
        told = [values[arms] for values in self.told()]
        self.new[arms] = 0
        for arm in arms.tolist():
            self.sums.pop(arm, None)
        return told

    def drop(self, arm):
        """Take an arm out of the batch."""
        self.arms, self.wanted[arm] = self.arms[self.arms != arm], 0

    def dump(self):
        """Return everything as JSON values."""
        return {name: plain(getattr(self, name)) for name in COUNTS} | {
            "batch": self.arms.tolist(),
            "sums": [[arm, *map(str, exact)] for arm, exact in sorted(self.sums.items())],
            "kept": [[arm, [*results]] for arm, results in sorted(self.kept.items())],
            "splits": self.rng and self.rng.bit_generator.state,
        }

    def load(self, stored):
        """Put stored values in place of the present ones."""
        put_back(self, COUNTS, stored)
        self.arms = check_arms(stored["batch"], self.new.size, "batch")
        for arm, rewards, squares in stored["sums"]:
            self.sums[arm] = [Fraction(rewards), Fraction(squares)]
        for arm, results in stored["kept"]:
            self.kept[arm] = [[count, *map(float, sums)] for count, *sums in results]
        if stored["splits"]:
            self._draws().bit_generator.state = stored["splits"]


def divided(result, most, rng):
    """Cut a result in two: at most ``most`` of its rewards, and the others.

    Parameters
    ----------
    result : list
        The number of rewards, their sum, and that of their squares.
    most : int
        At least 0.
    rng : callable or None
        Returns a `numpy.random.Generator`; None if rewards have no bounds.

    Returns
    -------
    part, rest : list or None
        Of a sum a part is drawn at random, as if it were that of ones, zeros, and one reward in
        between.  Where squares tell otherwise, or there are no bounds, a result is not cut.

    Notes
    -----
    What Hoeffding's inequality promises of independent rewards in [0, 1] it promises of the part,
    H of M of N rewards with the sum S.  For whole S, E[exp(x H) | S] is the sum over j of
    C(M, j) C(S, j) (e^x - 1)^j / C(N, j), convex in S for x > 0, and for x < 0 as well (turn ones
    into zeros); a reward between 0 and 1 only lowers it below the line between its neighbours.  S
    has the mean of a binomial sum and is less spread out, for every convex function (replace one
    reward at a time by a coin): so E exp(x H) is at most that of M coins, on which his proof rests.
    """
    count, total, squares = result
    if count <= most:
        return result, None
    if most == 0 or rng is None or squares != total or count > SPLIT:
        return None, result
    ones, rng = math.floor(total), rng()
    found = float(rng.hypergeometric(ones, count - ones, most))
    if total > ones and rng.random() * (count - ones) < most - found:
        found += total - ones
    return [most, found, found], [count - most, total - found, total - found]


