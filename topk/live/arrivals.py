"""Results on their way to the rule: those in flight, new ones, and those for later batches."""

import copy
import math
from fractions import Fraction

import numpy as np

from topk._checks import check_arms
from topk._json import from_json_list, restore_arrays, to_json_list
from topk.live.exact import ExactSums

COUNTS = {"wanted": "count", "flight": "count"}  # stored arrays (n,)
SPLIT = 10**9  # larger numbers of rewards are not split at random


class Fresh:
    """Rewards that were received and that the rule has not counted yet.

    Parameters
    ----------
    n : int
        Number of arms.
    products : topk.confidence.capital.Products, optional
        The products of these rewards, if the rule uses them.

    Attributes
    ----------
    counts : ndarray of int64, shape (n,)
        Number of these rewards of each arm.
    sums, squares : ExactSums
        Their sums, and the sums of their squares.
    """

    def __init__(self, n, products=None):
        self.counts = np.zeros(n, dtype=np.int64)
        self.sums, self.squares, self.products = ExactSums(n), ExactSums(n), products

    def copy(self):
        """Return a copy, which may change."""
        other = object.__new__(type(self))
        other.counts, other.sums = self.counts.copy(), self.sums.copy()
        other.squares, other.products = self.squares.copy(), self.products and self.products.copy()
        return other

    def add(self, arms, counts, sums, squares):
        """Add rewards, with an entry for each of some arms."""
        np.add.at(self.counts, arms, counts)
        self.sums.add(arms, sums)
        self.squares.add(arms, squares)
        if self.products:
            self.products.add(arms, counts, sums, squares)

    def told(self):
        """Return the counts, sums, and sums of squares, (n,) each."""
        return self.counts.copy(), self.sums.rounded(), self.squares.rounded()

    def settle(self, arms):
        """Return and clear the counts, sums, and sums of squares of some arms."""
        told = [values[arms] for values in self.told()]
        self.counts[arms] = 0
        self.sums.clear(arms)
        self.squares.clear(arms)
        return told

    def settle_products(self, arms):
        """Return and clear the products of some arms; None without products."""
        return self.products and self.products.taken(arms)

    def go_on(self, earlier):
        """Take over the rewards of a session with fewer arms."""
        self.counts[: earlier.counts.size] = earlier.counts
        self.sums.go_on(earlier.sums)
        self.squares.go_on(earlier.squares)
        if self.products:
            self.products = earlier.products.copy()

    def dump(self):
        """Return the state as JSON values."""
        arms = np.flatnonzero(self.counts)
        sums = zip(arms.tolist(), self.sums.texts(arms), self.squares.texts(arms), strict=True)
        stored = {"products": self.products.dump()} if self.products else {}
        return stored | {"new": to_json_list(self.counts), "sums": [*map(list, sums)]}

    def load(self, stored):
        """Restore a stored state."""
        self.counts.flat = from_json_list(stored.get("new"), "new", "count", self.counts.size)
        for arm, rewards, squares in stored["sums"]:
            self.sums.put(arm, Fraction(rewards))
            self.squares.put(arm, Fraction(squares))
        if self.products:
            self.products.load(stored["products"])


class Arrivals:
    """The rewards of each arm that a batch needs, that were received, and that are in flight.

    Parameters
    ----------
    n : int
        Number of arms.
    bounded : bool
        Whether rewards are bounded, so that sums can be split, see `divided`.
    rng : numpy.random.Generator, optional
        Source of randomness for splitting sums; created on first use if not given.

    Attributes
    ----------
    arms : ndarray of int64, shape (m,)
        The arms of the batch.
    wanted, flight : ndarray of int64, shape (n,)
        For each arm the number of rewards that the batch needs, and of pulls that were handed out
        and not answered yet.
    fresh : Fresh
        The rewards received for the batch so far.
    kept : dict
        arm -> results for later batches, in order of arrival.
    """

    def __init__(self, n, bounded, rng=None, products=None):
        self.arms, (self.wanted, self.flight) = None, np.zeros((2, n), dtype=np.int64)
        self.fresh = Fresh(n, products)
        self.kept, self.bounded, self.rng, self.is_copy = {}, bounded, rng, False

    def copy(self):
        """Return a copy, which may change."""
        other = object.__new__(type(self))
        other.arms, other.bounded, other.rng = self.arms, self.bounded, self.rng
        other.wanted, other.flight = self.wanted.copy(), self.flight.copy()
        other.fresh, other.is_copy = self.fresh.copy(), True
        other.kept = {arm: results.copy() for arm, results in self.kept.items()}
        return other

    @property
    def new(self):
        """Number of rewards received for the batch so far, (n,)."""
        return self.fresh.counts

    def open(self, arms, counts, capacity):
        """Start a batch, and count results that were kept for it."""
        self.arms, self.wanted[:] = arms.copy(), 0
        self.wanted[arms] = counts
        self.take_kept(arms, capacity)

    def take_kept(self, arms, capacity):
        """Count the kept results of some arms, up to ``capacity(arm)`` rewards of each."""
        for arm in sorted(self.kept.keys() & {*arms.tolist()}):  # a resumed run has the same order
            waiting = self.kept.pop(arm)
            while waiting and capacity(arm):
                self.take(arm, waiting.pop(0), capacity(arm))
            if waiting:  # after the remainder of a result that `take` may have kept
                self.kept.setdefault(arm, []).extend(waiting)

    @property
    def left(self):
        """Number of rewards that the batch still needs from each arm, (n,)."""
        return np.maximum(self.wanted - self.new, 0)

    @property
    def surplus(self):
        """Number of rewards of each arm that are kept for later batches, (n,)."""
        counts = np.zeros_like(self.new)
        for arm, results in self.kept.items():
            counts[arm] = sum(result[0] for result in results)
        return counts

    @property
    def touched(self):
        """The arms of the batch, followed by other arms with new results."""
        others = self.new > 0
        others[self.arms] = False
        return np.append(self.arms, np.flatnonzero(others))

    def take_all(self, arms, counts, sums, squares, capacity):
        """Count and keep results as `take` does, in their order.

        Parameters
        ----------
        arms, counts, sums, squares : ndarray, shape (m,) each
            The results; an arm may occur several times.
        capacity : callable
            Function of arms that returns how many rewards of each can count now.
        """
        per_arm = np.zeros_like(self.new)
        np.add.at(per_arm, arms, counts)
        self.flight -= np.minimum(per_arm, self.flight)
        fits, some = per_arm[arms] <= capacity(arms), counts > 0
        results = arms, counts, sums, squares
        self.fresh.add(*(values[fits & some] for values in results))
        others = (values[~fits & some].tolist() for values in results)
        for arm, *result in zip(*others, strict=True):
            self.take(arm, result, capacity(arm))

    def take(self, arm, result, capacity):
        """Count up to ``capacity`` rewards of a result as new, and keep the rest for later."""
        part, rest = divided(result, int(capacity), self.draws if self.bounded else None)
        if part:
            self.fresh.add(np.array([arm]), *(np.array([value]) for value in part))
        if rest:
            self.kept.setdefault(arm, []).append(rest)

    def draws(self):
        """Return the generator for splitting sums, and for placing them."""
        if self.is_copy:  # made here, because copying a generator takes long
            self.rng, self.is_copy = copy.deepcopy(self.rng), False
        self.rng = self.rng or np.random.default_rng()
        return self.rng

    def drop(self, arm):
        """Remove an arm from the batch."""
        self.arms, self.wanted[arm] = self.arms[self.arms != arm], 0

    def go_on(self, earlier):
        """Take over the batch, the pulls in flight and the results of a session with fewer arms."""
        n = earlier.wanted.size
        self.arms = earlier.arms.copy()
        for name in COUNTS:
            getattr(self, name)[:n] = getattr(earlier, name)
            getattr(self, name)[n:] = 0
        self.fresh.go_on(earlier.fresh)
        self.kept = {arm: [[*result] for result in kept] for arm, kept in earlier.kept.items()}
        self.rng = copy.deepcopy(earlier.rng)

    def dump(self):
        """Return the state as JSON values."""
        return self.fresh.dump() | {x: to_json_list(getattr(self, x)) for x in COUNTS} | {
            "batch": self.arms.tolist(),
            "kept": [[arm, [*results]] for arm, results in sorted(self.kept.items())],
            "splits": self.rng and self.rng.bit_generator.state,
        }

    def load(self, stored):
        """Restore a stored state."""
        restore_arrays(self, COUNTS, stored)
        self.arms = check_arms(stored["batch"], self.wanted.size, "batch")
        self.fresh.load(stored)
        for arm, results in stored["kept"]:
            self.kept[arm] = [[count, *map(float, sums)] for count, *sums in results]
        if stored["splits"]:
            self.draws().bit_generator.state = stored["splits"]


def divided(result, most, rng):
    """Split a result in two: at most ``most`` of its rewards, and the others.

    Parameters
    ----------
    result : list
        Number of rewards, their sum, and their sum of squares.
    most : int
        Maximum number of rewards of the first part, at least 0.
    rng : callable or None
        Function that returns a `numpy.random.Generator`; None if rewards are unbounded.

    Returns
    -------
    part, rest : list or None
        The two results.  The sum of the first part is drawn at random, as if the sum consisted of
        ones, zeros, and one reward in between.  A result is not split if its squares contradict
        this, or if rewards are unbounded.

    Notes
    -----
    Hoeffding's inequality for independent rewards in [0, 1] also applies to the part: let H be the
    sum assigned to M of N rewards with sum S.  For integral S, E[exp(x H) | S] is the sum over j of
    C(M, j) C(S, j) (e^x - 1)^j / C(N, j), which is convex in S for x > 0, and also for x < 0
    (exchange ones and zeros); for non-integral S it is at most the linear interpolation.  S has the
    mean of a binomial sum and is smaller in convex order (replace one reward at a time by a
    Bernoulli variable).  Hence E exp(x H) is at most that of the sum of M Bernoulli variables,
    which is all that Hoeffding's proof uses.
    """
    count, total, squares = result
    if count <= most:
        return result, None
    if most == 0 or rng is None or squares != total or count > SPLIT:
        return None, result
    ones, rng = math.floor(total), rng()
    drawn = float(rng.hypergeometric(ones, count - ones, most))
    if total > ones and rng.random() * (count - ones) < most - drawn:
        drawn += total - ones
    return [most, drawn, drawn], [count - most, total - drawn, total - drawn]


