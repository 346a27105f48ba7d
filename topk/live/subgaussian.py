r"""Whether rewards can have the sigma that a session was told: a test that holds at all times.

Let rewards be sigma-sub-Gaussian: given what was counted before, a reward with mean :math:`\mu` has
:math:`E\,e^{\lambda(x-\mu)} \leq e^{\lambda^2\sigma^2/2}` for all :math:`\lambda`.  Then

.. math:: E\,e^{(x-\mu)^2/(4\sigma^2)} \leq \sqrt2. \tag{1}

*Proof.*  For a standard normal g and every a, :math:`E\,e^{ga} = e^{a^2/2}`.  With
:math:`a = (x-\mu)/(\sqrt2\,\sigma)`, and g independent of x, the left side of (1) is
:math:`E\,e^{g(x-\mu)/(\sqrt2\,\sigma)}`; the mean over x first is, with
:math:`\lambda = g/(\sqrt2\,\sigma)`, at most :math:`e^{g^2/4}`, whose mean is
:math:`(1-\frac12)^{-1/2} = \sqrt2`.  For normal rewards both are equalities.

So after u rewards of an arm, with the sum of squares :math:`\mathrm{SS}_\mu` about its mean,

.. math:: M_u = e^{\mathrm{SS}_\mu/(4\sigma^2)}\,2^{-u/2}

is a non-negative supermartingale that begins at 1.  The sum of squares SS about the rewards' own
mean is at most :math:`\mathrm{SS}_\mu = \mathrm{SS} + u(\bar x-\mu)^2`.  By Ville's inequality

.. math:: e^{\mathrm{SS}/(4\sigma^2)}\,2^{-u/2} > 10^6\,n \tag{2}

ever holds for an arm with probability at most :math:`10^{-6}/n`, for some arm of n with at most
:math:`10^{-6}`: whichever arms are pulled, and however often one looks.  Where it does, sigma is
too small, or the rewards of the arm do not have one mean.

*What it finds.*  With variance :math:`v\sigma^2` the exponent grows by about
:math:`(v - 2\ln2)/4` a reward: a standard deviation below :math:`\sqrt{2\ln2} = 1.18` sigma is not
found, one of 1.5 sigma after some 70 rewards, and a single reward far away at once.  A sample in
which nothing unusual has come yet refutes nothing.
"""

import math
from fractions import Fraction

import numpy as np

ODDS = 1e6  # times n; one over the probability of a false alarm
ROUNDED = Fraction(1, 2**52)  # of a sum of squares, for each of its terms: what rounding may do


class SigmaTest:
    """The rewards of a session that count for the test, and whether they refute its sigma.

    Parameters
    ----------
    n : int
        Number of arms.
    sigma : float
        In the units of the rewards.

    Attributes
    ----------
    counts, untested : ndarray of int64, shape (n,)
        Rewards of each arm whose squares are known, and those of sums without squares.
    sums : dict
        arm -> exact sum, and sum of squares, of the first ones.
    refuted : list of int
        Arms whose rewards have refuted sigma, in that order.
    """

    def __init__(self, n, sigma):
        self.sigma, self.sums, self.refuted = sigma, {}, []
        self.counts, self.untested = np.zeros((2, n), dtype=np.int64)

    def take(self, arm, count, total, squares=None):
        """Count rewards by their sum and, if it is known, their sum of squares; test the arm."""
        if count == 1:
            squares = Fraction(total) ** 2
        elif squares is not None:  # rounded down: a large mean leaves little of a square
            squares = Fraction(squares) * (1 - min(1, count * ROUNDED))
            squares = max(squares, Fraction(total) ** 2 / count) if count else 0
        if squares is None:
            self.untested[arm] += count
            return
        sums = zip(self.sums.get(arm, (0, 0)), (Fraction(total), squares), strict=True)
        self.sums[arm] = [exact + more for exact, more in sums]
        self.counts[arm] += count
        if arm not in self.refuted and self.deviations(arm) > self.most(arm):
            self.refuted.append(arm)

    def deviations(self, arm):
        """Return the sum of squares about the mean of an arm's rewards, a fraction."""
        total, squares = self.sums.get(arm, (Fraction(0), Fraction(0)))
        return squares - total**2 / max(1, int(self.counts[arm]))

    def most(self, arm):
        """Return the largest sum of squares that does not refute sigma, a fraction."""
        level = math.log(ODDS * self.counts.size) + int(self.counts[arm]) * math.log(2) / 2
        return 4 * Fraction(self.sigma) ** 2 * Fraction(level)

    def __str__(self):
        known, rest = int(self.counts.sum()), int(self.untested.sum())
        told = f"{known:,} of {known + rest:,} rewards were tested"
        if rest:
            told += "; sums of several rewards without squares cannot be"
        return f"{'refuted' if self.refuted else 'not refuted'}: {told}"

    def dump(self):
        """Return everything as JSON values."""
        return {
            "counts": self.counts.tolist(),
            "untested": self.untested.tolist(),
            "sums": [[arm, *map(str, exact)] for arm, exact in sorted(self.sums.items())],
            "refuted": list(self.refuted),
        }

    def load(self, stored):
        """Put stored values in place of the present ones."""
        self.counts[:], self.untested[:] = stored["counts"], stored["untested"]
        self.sums = {arm: [*map(Fraction, exact)] for arm, *exact in stored["sums"]}
        self.refuted = list(stored["refuted"])
