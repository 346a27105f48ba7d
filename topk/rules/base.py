"""What both forms of rules share: status codes, open functions, and the counting of rewards."""

import numpy as np

from topk._marks import in_loops
from topk.rules.marks import open_function, replaceable

RUNNING, BY_RULE, BY_BUDGET, WRONG = 0, 1, 2, 3  # s.now.ended; WRONG: the rule is invalid
OPEN = 4  # no further cell can decide
ACTIVE, ACCEPTED, REJECTED, WITHDRAWN = 0, 1, -1, -2  # s.status
NO_ARM = -1


@open_function
def ask(s, arms, counts):
    """Write the next batch into ``arms`` and ``counts`` (n,), and return its length."""


@open_function
def update(s, m, arms):
    """Process a complete batch, after its rewards have been counted."""


@replaceable
def open_play(s):
    """Determine the first batch of a run."""


@open_function
def recommend(s, chosen):
    """Fill ``chosen`` with the set that would be returned now."""


@open_function
def restore(s):
    """Rebuild the parts of the state that follow from the counts and are not stored."""


@replaceable
def on_withdraw(s, arm):
    """Process the withdrawal of an arm."""


@replaceable
def rewarded(s, m, arms, counts, sums, squares):
    """Process the rewards of a batch of ``m`` entries, after they have been counted."""


def add_batch_in_loops(s, m, arms, counts, sums, squares):
    """Do what `add_batch` does."""
    for j in range(m):
        arm = arms[j]
        s.pulls[arm] += counts[j]
        s.sums[arm] += sums[j]
        if s.squares.size > 0:
            s.squares[arm] += squares[j]
        s.now.total += counts[j]


@in_loops(add_batch_in_loops)
def add_batch(s, m, arms, counts, sums, squares):
    """Add a batch of ``m`` entries to the counts; `numpy.add.at` adds one after the other."""
    np.add.at(s.pulls, arms[:m], counts[:m])
    np.add.at(s.sums, arms[:m], sums[:m])
    if s.squares.size > 0:
        np.add.at(s.squares, arms[:m], squares[:m])
    s.now.total += counts[:m].sum()


def count(s, m, arms, counts, sums, squares):
    """Add a batch of ``m`` entries to the counts, and let the rule process its rewards."""
    add_batch(s, m, arms, counts, sums, squares)
    rewarded(s, m, arms, counts, sums, squares)


def keep_active_in_loops(s):
    """Return or do what `keep_active` does."""
    kept = 0
    for j in range(s.now.n_active):
        if s.status[s.active[j]] == ACTIVE:
            s.active[kept] = s.active[j]
            kept += 1
    s.now.n_active = kept


@in_loops(keep_active_in_loops)
def keep_active(s):
    """Remove arms that are not active from ``active``, which stays in increasing order."""
    kept = s.active[: s.now.n_active]
    kept = kept[s.status[kept] == ACTIVE]
    s.active[: kept.size], s.now.n_active = kept, kept.size


def least_pulled_in_loops(s):
    """Return what `least_pulled` does."""
    arm = s.active[0]
    for j in range(s.now.n_active):
        if s.pulls[s.active[j]] < s.pulls[arm]:
            arm = s.active[j]
    return arm


@in_loops(least_pulled_in_loops)
def least_pulled(s):
    """Return the active arm with the fewest pulls, the first one in case of a tie."""
    active = s.active[: s.now.n_active]
    return active[s.pulls[active].argmin()]


def withdraw(s, arm, k):
    """Withdraw an arm from the run (plain Python only).

    A rejected arm needs no change.  From now on the strategy uses only the other active arms, as
    if it had been started without this one.

    Raises
    ------
    ValueError
        If the arm has been accepted, or if fewer than k arms (of its bandit) would be left.
    """
    if s.status[arm] == ACCEPTED:
        raise ValueError(
            "arm: it has been accepted for good, and arms that might replace it have been "
            "rejected; a set without it would have no guarantee"
        )
    if s.status[arm] == REJECTED:
        return
    own = s.status.reshape(s.bandits, -1)[arm // (s.n // s.bandits)]
    if (own >= ACTIVE).sum() <= k:
        raise ValueError(f"arm: without it fewer than k = {k} arms are left to choose from")
    s.status[arm] = WITHDRAWN
    keep_active(s)
    on_withdraw(s, arm)


def equal_shares(pulls, size, counts):
    """Divide ``pulls`` evenly among ``counts[:size]``; the first entries get the remainder."""
    for j in range(size):
        counts[j] = pulls // size + (1 if j < pulls % size else 0)
