r"""An anytime-valid test of the sigma that was declared for the rewards of a session.

Let rewards be sigma-sub-Gaussian: given the past, a reward x with mean :math:`\mu` satisfies
:math:`E\,e^{\lambda(x-\mu)} \leq e^{\lambda^2\sigma^2/2}` for all :math:`\lambda`.  Then

.. math:: E\,e^{(x-\mu)^2/(4\sigma^2)} \leq \sqrt2. \tag{1}

*Proof.*  For a standard normal g and every a, :math:`E\,e^{ga} = e^{a^2/2}`.  With
:math:`a = (x-\mu)/(\sqrt2\,\sigma)`, and g independent of x, the left side of (1) is
:math:`E\,e^{g(x-\mu)/(\sqrt2\,\sigma)}`; the expectation over x, with
:math:`\lambda = g/(\sqrt2\,\sigma)`, is at most :math:`e^{g^2/4}`, whose expectation over g is
:math:`(1-\frac12)^{-1/2} = \sqrt2`.  Equality holds for normal rewards.

Hence, after u rewards of an arm, with the sum of squares :math:`\mathrm{SS}_\mu` about its mean,

.. math:: M_u = e^{\mathrm{SS}_\mu/(4\sigma^2)}\,2^{-u/2}

is a non-negative supermartingale that starts at 1.  The sum of squares SS about the rewards' own
mean is at most :math:`\mathrm{SS}_\mu = \mathrm{SS} + u(\bar x-\mu)^2`.  By Ville's inequality

.. math:: e^{\mathrm{SS}/(4\sigma^2)}\,2^{-u/2} > 10^6\,n \tag{2}

ever holds for a given arm with probability at most :math:`10^{-6}/n`, and for any of n arms with
probability at most :math:`10^{-6}`, for every sampling rule and at all times.  If it holds, sigma
is too small, or the mean of the arm's rewards is not constant.

*Power.*  With variance :math:`v\sigma^2` the exponent grows by about :math:`(v - 2\ln2)/4` per
reward: a standard deviation below :math:`\sqrt{2\ln2} = 1.18` sigma is not detected, one of 1.5
sigma is detected after about 70 rewards, and a single extreme reward at once.  That sigma is not
refuted does not show that it is large enough.
"""

import math
from fractions import Fraction

import numpy as np

ODDS = 1e6  # 1 / (n times this) bounds the false-alarm probability of an arm
ROUNDED = Fraction(1, 2**52)  # relative rounding error of a sum of squares, per term


class SigmaTest:
    """The test of a session's sigma, with the sums of the rewards that it uses.

    Parameters
    ----------
    n : int
        Number of arms.
    sigma : float
        Declared sub-Gaussian parameter, in units of reward.

    Attributes
    ----------
    counts, untested : ndarray of int64, shape (n,)
        Number of rewards of each arm with known squares, and of those in sums without squares.
    sums : dict
        arm -> exact sum, and sum of squares, of the rewards with known squares.
    refuted : list of int
        Arms whose rewards refute sigma, in the order of detection.
    """

    def __init__(self, n, sigma):
        self.sigma, self.sums, self.refuted = sigma, {}, []
        self.counts, self.untested = np.zeros((2, n), dtype=np.int64)

    def copy(self):
        """Return a copy, which may change."""
        other = object.__new__(type(self))
        other.sigma, other.sums, other.refuted = self.sigma, self.sums.copy(), [*self.refuted]
        other.counts, other.untested = self.counts.copy(), self.untested.copy()
        return other

    def take(self, arm, count, total, squares=None):
        """Add rewards, given by their sum and, if known, sum of squares; test the arm."""
        if count == 1:
            squares = Fraction(total) ** 2
        elif squares is not None:  # rounded down, because a large mean causes cancellation
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
        """Return the sum of squares about the mean of an arm's known rewards, as a fraction."""
        total, squares = self.sums[arm]
        return squares - total**2 / max(1, int(self.counts[arm]))

    def most(self, arm):
        """Return the largest sum of squares that does not refute sigma, as a fraction."""
        level = math.log(ODDS * self.counts.size) + int(self.counts[arm]) * math.log(2) / 2
        return 4 * Fraction(self.sigma) ** 2 * Fraction(level)

    def __str__(self):
        known, rest = int(self.counts.sum()), int(self.untested.sum())
        tested = f"{known:,} of {known + rest:,} rewards were tested"
        if rest:
            tested += "; sums of several rewards without squares cannot be tested"
        return f"{'refuted' if self.refuted else 'not refuted'}: {tested}"

    def go_on(self, earlier):
        """Take over the test of a session with fewer arms, and its refutations."""
        n = earlier.counts.size
        self.counts[:n], self.untested[:n] = earlier.counts, earlier.untested
        self.sums = {arm: [*exact] for arm, exact in earlier.sums.items()}
        self.refuted = [*earlier.refuted]

    def dump(self):
        """Return the state as JSON values."""
        return {
            "counts": self.counts.tolist(),
            "untested": self.untested.tolist(),
            "sums": [[arm, *map(str, exact)] for arm, exact in sorted(self.sums.items())],
            "refuted": list(self.refuted),
        }

    def load(self, stored):
        """Restore a stored state."""
        self.counts[:], self.untested[:] = stored["counts"], stored["untested"]
        self.sums = {arm: [*map(Fraction, exact)] for arm, *exact in stored["sums"]}
        self.refuted = list(stored["refuted"])
