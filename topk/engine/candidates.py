"""What UGapE asks of a search for its candidate sets.

With the upper bounds U and the lower bounds L of a bandit's arms, an arm's index B is the k-th
largest U of the other arms minus its own L.  The k arms with the smallest B form the candidate
set J, ties to the lower number; the largest B in J is the index of J.  Two arms speak against
it: l, of those in J the one with the lowest L, and u, of the others the one with the highest U,
ties to the wider; the wider of the two is pulled next, of equally wide ones the lower number.
With several bandits every one has its J, and the next pull goes to the one of largest index.
"""

from topk.engine.composing import open_function


@open_function
def radius(s, arm):
    """Return half the width of an arm's bounds at the level ``s.now.level``."""


@open_function
def largest_index(s):
    """Return the largest index of a candidate set."""


@open_function
def wider(s):
    """Return the arm to be pulled."""


@open_function
def members(s):
    """Return whether each arm is in its bandit's candidate set, (n,)."""


@open_function
def keep_smallest(s):
    """Keep in ``s.kept`` each J whose index is smaller than those of its bandit's before."""


@open_function
def keep(s, bandit):
    """Keep the present J of a bandit, and its index in ``s.smallest``."""
