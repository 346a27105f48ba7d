"""What all shapes share: the state's scalars, counting, and the loops that play."""

from collections import namedtuple

import numpy as np

from topk import bandits
from topk.bandits import BetaBandit, GaussianBandit, ReplayBandit, unit_sums
from topk.engine.composing import allocates, open_function, shared

RUNNING, BY_RULE, BY_BUDGET, WRONG = 0, 1, 2, 3  # s.now.ended; the last: no arm is pulled
DONE, CROSSING, PAUSED = 0, 1, 2  # why `play` came back
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


draw_bernoulli = shared(bandits.draw_bernoulli)


def total_of(m, counts):
    """Return the pulls of a batch of ``m`` entries."""
    total = 0
    for j in range(m):
        total += counts[j]
    return total


# Every pull, of batches of one pull an arm, in order: arms (c,) int64, their rewards (c,); at (1,)
# int64, how many there are.
Trace = namedtuple("Trace", "arms rewards at")
UNTRACED = Trace(np.zeros(0, np.int64), np.zeros(0), np.zeros(1, np.int64))

# Plays of one strategy with as many arms, which are made one after the other in one state:
# memory (w,) int64, where the state's arrays are; states (plays, w) int64, what is there before a
# play's first pull, and in the end; rewards and lots, the generators of rewards and of the rule's
# own numbers; orders (plays, n) int64 of the arms; thetas, the bandit's means, (plays, n) or (1,
# n); at (1,) int64, which play goes on; trace, of a play alone.
Batch = namedtuple("Batch", "memory states rewards lots orders thetas at trace")
# A generator's memory, bits (4,) and kept (1,) uint64, and what is there as each play begins,
# beginnings (plays, 4): see `topk.engine.seeding`; all empty if there is none.
Stream = namedtuple("Stream", "bits kept beginnings")
NO_ARMS, NO_BITS = (np.zeros((1, 0), dtype) for dtype in (np.int64, np.uint64))
NO_STREAM = Stream(NO_BITS[0], NO_BITS[0], NO_BITS)
ALONE = Batch(
    NO_ARMS[0], NO_ARMS[:0], NO_STREAM, NO_STREAM, NO_ARMS, np.zeros((1, 0)), np.zeros(1, np.int64),
    UNTRACED,
)  # fmt: skip


def play(s, batch, law, rng, arms, counts, rewards, until, steps):
    """Play whole batches of pulls, and then the next play if there is one.

    Parameters
    ----------
    s : named tuple
        A play's state; changed in place.
    batch : Batch
        The plays that are made; without any the state's alone is.
    law : ndarray of float, shape (n,), or tuple
        Bernoulli arms' reward probabilities, in the play's order; of other arms see `law_of`.
    rng : numpy.random.Generator
        Where rewards come from.
    arms, counts : ndarray, shape (n,)
        Room for a batch of pulls.
    rewards : ndarray of float, shape (n,) or (2, n)
        Room for its sums of rewards, and of their squares if there are others than 0 and 1.
    until : int
        Stop before a batch that would take the total above this; -1 for no limit.
    steps : int
        Come back after this many batches, so that Ctrl-C and progress work.

    Returns
    -------
    status : int
        ``DONE``, ``CROSSING`` (the next batch, not yet drawn, passes ``until``) or ``PAUSED``.
    m : int
        The size of the batch that is not yet drawn, 0 if there is none.
    """
    for _ in range(steps):
        status, m = turn(s, batch, law, rng, arms, counts, rewards, until)
        if status != PAUSED:
            return status, m
    return PAUSED, 0


def turn(s, batch, means, rng, arms, counts, sums, until):
    """Play a batch of pulls of Bernoulli arms, or begin the next play; see `play`."""
    m = ask(s, arms, counts)
    if m == 0:
        goes_on = s.now.ended != WRONG and has_next(batch, means)
        return (PAUSED if goes_on else DONE), 0
    if 0 <= until < s.now.total + total_of(m, counts):
        return CROSSING, m
    draw_bernoulli(means, arms, counts, m, rng, sums)
    count(s, m, arms, counts, sums, sums)
    if batch.trace.arms.size > 0:
        write_down(batch.trace, m, arms, sums)
    update(s, m, arms)
    return PAUSED, 0


@shared
def write_down(trace, m, arms, rewards):
    """Keep the pulls of a batch of one pull an arm."""
    for j in range(m):
        trace.arms[trace.at[0]], trace.rewards[trace.at[0]] = arms[j], rewards[j]
        trace.at[0] += 1


@shared
def has_next(batch, means):
    """Keep the state of a finished play, and put everything to where the next one begins."""
    at = batch.at[0]
    if at == batch.states.shape[0]:
        return False
    for place in range(batch.memory.size):
        left = batch.memory[place]
        batch.memory[place], batch.states[at, place] = batch.states[at, place], left
    at += 1
    batch.at[0] = at
    if at == batch.states.shape[0]:
        return False
    rewind(batch.rewards, at)
    rewind(batch.lots, at)
    for arm in range(means.size):
        means[arm] = batch.thetas[at % batch.thetas.shape[0], batch.orders[at, arm]]
    return True


@shared
def rewind(stream, at):
    """Put a generator to where the stream of a play begins."""
    for place in range(stream.bits.size):
        stream.bits[place], stream.kept[0] = stream.beginnings[at, place], 0


# Plays that pull an arm or two at a time, against arms that are not Bernoulli: a reward is drawn as
# the bandit's `sample` draws it, from the same stream


@open_function
def draw(law, arm, rng):
    """Return one reward of an arm."""


def draw_beta(law, arm, rng):
    """Return a reward of a `BetaBandit`."""
    return rng.beta(law[0][arm], law[1][arm])


def draw_normal(law, arm, rng):
    """Return a reward of a `GaussianBandit`."""
    return rng.normal(law[0][arm], law[1][arm])


@allocates
def draw_recorded(law, arm, rng):
    """Return a reward of a `ReplayBandit`."""
    return law[2][law[0][arm] + rng.integers(0, law[1][arm])]


def law_of(bandit, order):
    """Return how a bandit's arms, in some order, are drawn from; None if that is not known.

    Returns
    -------
    draw : function
        See `draw`.
    law : tuple
        What it looks at, and of the rewards' `topk.bandits.Scale` the ``numbers``.
    """
    kind = type(bandit)  # a subclass may sample in another way
    if kind is BetaBandit:
        found = draw_beta, (bandit.a[order], bandit.b[order])
    elif kind is GaussianBandit:
        found = draw_normal, (bandit.means[order], np.full(bandit.n, bandit.sigma))
    elif kind is ReplayBandit:
        sizes = np.array([record.size for record in bandit.answers])
        records = np.concatenate(bandit.answers)
        found = draw_recorded, ((sizes.cumsum() - sizes)[order], sizes[order], records)
    else:
        return None
    return found[0], (found[1], bandit.units.numbers)


def turn_singly(s, batch, law, rng, arms, counts, rewards, until):
    """Play a batch of at most two pulls an arm; the sum of two rewards is correctly rounded."""
    m = ask(s, arms, counts)
    if m == 0:
        return DONE, 0
    if 0 <= until < s.now.total + total_of(m, counts):
        return CROSSING, m
    for j in range(m):
        total, squares = 0.0, 0.0
        for _ in range(counts[j]):
            reward = draw(law[0], arms[j], rng)
            total, squares = total + reward, squares + reward * reward
        rewards[0, j], rewards[1, j] = unit_sums(law[1], counts[j], total, squares)
    count(s, m, arms, counts, rewards[0], rewards[1])
    update(s, m, arms)
    return PAUSED, 0


def step(s, m, arms, counts, sums, squares):
    """Take note of a batch with its rewards; write the next one and return its length."""
    count(s, m, arms, counts, sums, squares)
    update(s, m, arms)
    return ask(s, arms, counts)


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
