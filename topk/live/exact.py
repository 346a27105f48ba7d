"""Exact sums of floats, which do not depend on the order in which numbers are added."""

from fractions import Fraction

import numpy as np

FEW = 8  # numbers; up to this many are added one by one
WHOLE = 2.0**52  # floats add whole numbers exactly if their absolute values add up to at most this


class ExactSums:
    """The exact sum of the numbers of each arm.

    Most sums are floats: those of one number, or of whole numbers.  Only the others are stored as
    fractions, which are slow.

    Parameters
    ----------
    n : int
        Number of arms.

    Attributes
    ----------
    floats : ndarray of float, shape (n,)
        Each sum; nan if it is not a float.
    fractions : dict
        arm -> sum, for the sums that are not floats.
    """

    def __init__(self, n):
        self.floats, self.fractions = np.zeros(n), {}

    def copy(self):
        """Return a copy, which may change."""
        other = object.__new__(type(self))
        other.floats, other.fractions = self.floats.copy(), self.fractions.copy()
        return other

    def add(self, arms, numbers):
        """Add a number to the sum of each of some arms; an arm may occur several times.

        The plain form is ``self.put(arm, self.exact(arm) + Fraction(number))`` for each entry.
        """
        if arms.size > FEW:
            arms, numbers = self._add_many(arms, numbers)
        others = {}  # arm -> sum of the numbers that are added as fractions
        for arm, number in zip(arms.tolist(), numbers.tolist(), strict=True):
            after, is_exact = add_exactly(self.floats[arm].item(), number)
            if is_exact and arm not in others:
                self.floats[arm] = after
            else:
                others[arm] = others.get(arm, 0) + Fraction(number)
        for arm, number in others.items():
            self.put(arm, self.exact(arm) + number)

    def _add_many(self, arms, numbers):
        """Add numbers at once if the sums are floats; return the arms and numbers that are left."""
        if (arms[1:] > arms[:-1]).all():  # as a session asks for them
            distinct = arms
        else:
            distinct, places = np.unique(arms, return_inverse=True)
        if distinct.size < arms.size:
            if (numbers != np.floor(numbers)).any() or abs(numbers).sum() > WHOLE:
                return arms, numbers
            arms, numbers = distinct, np.bincount(places, numbers)
        with np.errstate(all="ignore"):  # overflow is not exact
            after, is_exact = add_exactly(self.floats[arms], numbers)
        self.floats[arms[is_exact]] = after[is_exact]
        return arms[~is_exact], numbers[~is_exact]

    def put(self, arm, number):
        """Replace the sum of an arm by a fraction."""
        self.fractions.pop(arm, None)
        try:
            self.floats[arm] = number
        except OverflowError:
            self.floats[arm] = np.nan
        if self.floats[arm] != number:
            self.floats[arm], self.fractions[arm] = np.nan, number

    def exact(self, arm):
        """Return the sum of an arm as a fraction."""
        return self.fractions[arm] if arm in self.fractions else Fraction(self.floats[arm].item())

    def clear(self, arms):
        """Set the sums of some arms to 0."""
        self.floats[arms] = 0.0
        for arm in arms.tolist() if self.fractions else ():
            self.fractions.pop(arm, None)

    def rounded(self):
        """Return the sums as floats, each rounded once, (n,)."""
        sums = self.floats.copy()
        for arm, exact in self.fractions.items():
            sums[arm] = float(exact)
        return sums

    def texts(self, arms):
        """Return the sums of some arms as text, such as ``"3"`` or ``"1/2"``."""
        return [
            str(int(number) if number.is_integer() else self.exact(arm))
            for arm, number in zip(arms.tolist(), self.floats[arms].tolist(), strict=True)
        ]

    def go_on(self, earlier):
        """Take over the sums of a session with fewer arms."""
        self.floats[: earlier.floats.size] = earlier.floats
        self.fractions = {**earlier.fractions}


def add_exactly(a, b):
    """Return the float sum of two floats, and whether it is exact; also for arrays.

    The rounding error of a sum is a float and is computed exactly (Knuth's two-sum); if a sum
    overflows or an argument is nan, the error is nan.
    """
    total = a + b
    part = total - a
    return total, (a - (total - part)) + (b - part) == 0.0
