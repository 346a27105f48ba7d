"""What both forms of a rule share: the names of states, the open functions, counting arms."""

from topk.rules.marks import open_function

RUNNING, BY_RULE, BY_BUDGET, WRONG = 0, 1, 2, 3  # s.now.ended; the last: no arm is pulled
ACTIVE, ACCEPTED, REJECTED, WITHDRAWN = 0, 1, -1, -2  # s.status
NOBODY = -1  # no arm


@open_function
def ask(s, arms, counts):
    """Write the next batch into ``arms`` and ``counts`` (n,), return its length."""


@open_function
def update(s, m, arms):
    """Take note of a whole batch that has been counted."""


def open_play(s):
    """Settle the first batch of a play."""


@open_function
def recommend(s, chosen):
    """Fill ``chosen`` with the set to be returned now."""


@open_function
def restore(s):
    """Set up what follows from the counts, which is not stored with a play."""


def left(s, arm):
    """Take note that an arm has been withdrawn."""


def count(s, m, arms, counts, sums, squares):
    """Add a batch of ``m`` entries to what has been seen."""
    for j in range(m):
        arm = arms[j]
        s.pulls[arm] += counts[j]
        s.sums[arm] += sums[j]
        if s.squares.size > 0:
            s.squares[arm] += squares[j]
        s.now.total += counts[j]


def keep_active(s):
    """Drop from ``active`` the arms that are settled; what stays is in increasing order."""
    kept = 0
    for j in range(s.now.live):
        if s.status[s.active[j]] == ACTIVE:
            s.active[kept] = s.active[j]
            kept += 1
    s.now.live = kept


def withdraw(s, arm, k):
    """Take an arm out of the play (plain Python only).

    An arm that was rejected is out already.  From here on the strategy looks only at the
    other active arms, as if it had been started without this one.

    Raises
    ------
    ValueError
        If the arm has been accepted, or if fewer than k arms (of its bandit) would be left.
    """
    if s.status[arm] == ACCEPTED:
        raise ValueError(
            "arm: it has been accepted for good, and arms that might replace it have been "
            "rejected; a set without it cannot be promised"
        )
    if s.status[arm] == REJECTED:
        return
    own = s.status.reshape(s.bandits, -1)[arm // (s.n // s.bandits)]
    if (own >= ACTIVE).sum() <= k:
        raise ValueError(f"arm: without it fewer than k = {k} arms are left to choose from")
    s.status[arm] = WITHDRAWN
    keep_active(s)
    left(s, arm)


def equal_shares(pulls, size, counts):
    """Fill ``counts[:size]`` with ``pulls`` spread evenly; the first entries get one more."""
    for j in range(size):
        counts[j] = pulls // size + (1 if j < pulls % size else 0)
