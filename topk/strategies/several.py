"""What strategies for several bandits share."""

from topk._checks import check_integer, refuse
from topk.strategies.protocol import Strategy


class SeveralBandits(Strategy):
    """A strategy that plays M bandits of n arms each and chooses k arms of every one.

    It is started with the pair ``(M, n)``, and arm i of bandit m is number ``m * n + i``.
    """

    several = True

    def begin(self, n):
        """Return the state of a new play; ``n`` is the pair (M, n)."""
        raise NotImplementedError


def check_several(n):
    """Return the pair (M, n): how many bandits there are, and how many arms each has."""
    allowed = "a pair (M, n) of a number of bandits, at least 1, and of arms each, at least 2"
    if not isinstance(n, (tuple, list)) or len(n) != 2:
        refuse("n", n, allowed)
    try:
        return check_integer(n[0], "n", 1), check_integer(n[1], "n", 2)
    except ValueError:
        refuse("n", n, allowed)
