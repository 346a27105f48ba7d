"""Accepting and rejecting arms in rounds: what the round-based strategies share."""

import numpy as np

from topk.kernels.compiling import inlined, kernel, maker
from topk.kernels.ranking import rank_arms
from topk.kernels.tally import Tally

ACTIVE, ACCEPTED, REJECTED = 0, 1, -1  # values of a state's ``status`` (n,)


@maker
def spread_evenly(pulls, m, counts):
    """Fill ``counts[:m]`` with ``pulls // m`` each; the remainder goes to the first entries."""
    for j in range(m):
        counts[j] = pulls // m + (1 if j < pulls % m else 0)


@maker
def ask_round(alive, size, share, left, arms, counts):
    """Ask for ``share`` pulls of every active arm; return the batch's length.

    If that is more than the ``left`` pulls of the budget, those are spread evenly and
    the remainder goes to the arms of lower index.  A negative ``left`` means no budget.
    """
    arms[:size] = alive[:size]
    if left < 0 or share <= left // size:
        counts[:size] = share
        return size
    spread_evenly(left, size, counts)
    return min(size, left)


@maker
def keep_active(alive, size, status):
    """Drop from ``alive[:size]`` the arms whose ``status`` is not 0; return how many stay."""
    kept = 0
    for j in range(size):
        if status[alive[j]] == ACTIVE:
            alive[kept] = alive[j]
            kept += 1
    return kept


@maker
def accepts_first(first_gap, last_gap, wanted, size):
    """Tell whether the first of ``size`` ranked arms is filed next, rather than the last.

    ``first_gap`` is the gap of rank 0 to rank ``wanted``, ``last_gap`` that of rank
    ``wanted - 1`` to the last; where one side of the boundary is empty the other decides.
    Of equal gaps the larger rank distance from the boundary counts; if that is equal too,
    the last rank is filed.
    """
    if wanted == 0 or wanted == size:
        return wanted == size
    if first_gap != last_gap:
        return first_gap > last_gap
    return wanted > size - wanted


@maker
def fill_chosen(tally, alive, size, status, chosen):
    """Fill ``chosen`` with the accepted arms and then with the best-ranked active ones."""
    have = 0
    for arm in range(status.size):
        if status[arm] == ACCEPTED:
            chosen[have] = arm
            have += 1
    ranked = rank_arms(tally, alive, size, 1.0)
    chosen[have:] = ranked[: chosen.size - have]
    chosen.sort()


@kernel
def ask_active(status, arms, counts):
    """Ask for one pull of every active arm; return how many there are."""
    m = 0
    for arm in range(status.size):
        if status[arm] == ACTIVE:
            arms[m], counts[m] = arm, 1
            m += 1
    return m


@inlined
def ask_next(state, arms, counts):
    """Ask for every arm once, then for the arm ``state.next`` alone; nothing once finished.

    Before all arms have been pulled ``state.next`` holds a negative number, nobody's.
    """
    if state.finished[0]:
        return 0
    if state.next[0] < 0:
        return ask_active(state.status, arms, counts)
    arms[0], counts[0] = state.next[0], 1
    return 1


@maker
def best_active(tally, status, chosen):
    """Fill ``chosen`` with the best-ranked active arms, in increasing order."""
    alive = np.flatnonzero(status == ACTIVE)
    chosen[:] = np.sort(rank_arms(tally, alive, alive.size, 1.0)[: chosen.size])


@maker
def remember(tally, earlier, alive, size):
    """Copy the active arms' tally into ``earlier``, before a round's pulls."""
    for j in range(size):
        arm = alive[j]
        earlier.pulls[arm] = tally.pulls[arm]
        earlier.sums[arm] = tally.sums[arm]


@maker
def since(tally, earlier):
    """Return the tally of what came after ``earlier``: the round's own rewards."""
    return Tally(tally.pulls - earlier.pulls, tally.sums - earlier.sums, tally.squares, tally.total)


@maker
def left_of(budget, tally):
    """Return the pulls that are left of a budget, -1 (no budget) staying -1."""
    if budget < 0:
        return np.int64(-1)
    return budget - tally.total[0]


def withdraw_active(state, arm, k, bandits=1):
    """Take an arm out of the active ones; refuse one that has been accepted.

    An arm that was rejected is out already.  From here on the strategy looks only at the
    other active arms, as if it had been started without this one.  With several bandits,
    k arms have to be left in each.
    """
    if state.status[arm] == ACCEPTED:
        raise ValueError(
            f"arm: {arm} has been accepted for good, and arms that might replace it have been "
            "rejected; a set without it cannot be promised"
        )
    if state.status[arm] == REJECTED:
        return
    own = state.status.reshape(bandits, -1)[arm // (state.status.size // bandits)]
    if (own != REJECTED).sum() <= k:
        raise ValueError(f"arm: without {arm} fewer than k = {k} arms are left to choose from")
    state.status[arm] = REJECTED
    state.size[0] = keep_active(state.alive, state.size[0], state.status)


def withdraw_status(status, arm, k, bandits=1):
    """Take an arm out of a play that settles no arm before its end."""
    if (status.reshape(bandits, -1)[arm // (status.size // bandits)] == ACTIVE).sum() <= k:
        raise ValueError(f"arm: without {arm} fewer than k = {k} arms are left to choose from")
    status[arm] = REJECTED
