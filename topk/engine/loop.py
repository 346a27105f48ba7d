"""The loops that play: batches of pulls are drawn, counted, and handed to the rule."""

from collections import namedtuple

import numpy as np

from topk import bandits
from topk.bandits import BetaBandit, GaussianBandit, ReplayBandit, unit_sums
from topk.rules.base import WRONG, ask, count, update
from topk.rules.marks import allocates, open_function, shared
from topk.testset import Deal

DONE, CROSSING, PAUSED = 0, 1, 2  # why `play` came back


draw_bernoulli = shared(bandits.draw_bernoulli)


def total_of(m, counts):
    """Return the pulls of a batch of ``m`` entries."""
    total = 0
    for j in range(m):
        total += counts[j]
    return total


# What the loop writes down.  At some numbers of pulls, marks (c,) int64, increasing, what had been
# seen: pulls (c, n) int64, sums (c, n) and status (c, n) int64 of each arm; at (1,) int64, which
# mark is next.  And every pull, of batches of one pull an arm, in order: arms (p,) int64, their
# rewards (p,); made (1,) int64, how many there are.
Notes = namedtuple("Notes", "marks pulls sums status at arms rewards made")


def notes_for(n, marks=(), most=0):
    """Return `Notes` with room for n arms at some marks, and for so many single pulls."""
    whole, shape = np.int64, (len(marks), n)
    seen = np.empty(shape, whole), np.empty(shape), np.empty(shape, whole), np.zeros(1, whole)
    made = np.empty(most, whole), np.empty(most), np.zeros(1, whole)
    return Notes(np.array(marks, whole), *seen, *made)


# What goes with a state.  Plays of one strategy may be made one after the other in one place:
# memory (w,) uint64 has all that a play changes, the content of its generator first; plays (p, w),
# what is there as each play begins, and then what is there when it has ended; at (1,) int64, which
# play goes on; bits (4,) uint64, the memory of the generator itself.  And notes, of a play alone.
Batch = namedtuple("Batch", "memory plays at bits notes")
NOTHING = np.zeros((0, 1), np.uint64)
ALONE = Batch(NOTHING[:, 0], NOTHING, np.zeros(1, np.int64), NOTHING[:, 0], notes_for(0))


def play(s, batch, law, rng, arms, counts, rewards, until, steps):
    """Play whole batches of pulls, and then the next play if there is one.

    Parameters
    ----------
    s : named tuple
        A play's state; changed in place.
    batch : Batch
        What goes with the state.
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
        ``DONE``, ``CROSSING`` (the next batch, not yet drawn, passes ``until``, or a mark that
        `look_back` cannot look back to) or ``PAUSED``.
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
    notes, m = batch.notes, ask(s, arms, counts)
    if m == 0:
        goes_on = s.now.ended != WRONG and has_next(batch)
        return (PAUSED if goes_on else DONE), 0
    if crosses(s.now.total, m, counts, until, notes):
        return CROSSING, m
    draw_bernoulli(means, arms, counts, m, rng, sums)
    count(s, m, arms, counts, sums, sums)
    if notes.arms.size > 0:
        write_down(notes, m, arms, sums)
    while is_due(notes, s.now.total - 1):  # a mark inside the batch
        look_back(notes, s.now.total, s.pulls, s.sums, s.status, m, arms, sums)
    update(s, m, arms)
    while is_due(notes, s.now.total):  # or at its end
        look_back(notes, s.now.total, s.pulls, s.sums, s.status, m, arms, sums)
    return PAUSED, 0


def crosses(total, m, counts, until, notes):
    """Tell whether a batch after ``total`` pulls passes ``until``, or has a mark inside it that
    `look_back` cannot look back to, as it pulls an arm more than once."""
    if until < 0 and notes.at[0] == notes.marks.size:
        return False
    after = total + total_of(m, counts)
    return 0 <= until < after or (after - total > m and is_due(notes, after - 1))


@shared
def write_down(notes, m, arms, rewards):
    """Keep the pulls of a batch of one pull an arm."""
    for j in range(m):
        notes.arms[notes.made[0]], notes.rewards[notes.made[0]] = arms[j], rewards[j]
        notes.made[0] += 1


def is_due(notes, total):
    """Tell whether the next mark is at no more pulls than there have been."""
    at = notes.at[0]
    return at < notes.marks.size and notes.marks[at] <= total


@shared
def look_back(notes, total, pulls, sums, status, m, arms, rewards):
    """Write down what had been seen at a mark, inside or at the end of a batch of one pull an arm.

    At the end of it any other batch will do.
    """
    at = notes.at[0]
    for arm in range(pulls.size):
        notes.pulls[at, arm], notes.sums[at, arm] = pulls[arm], sums[arm]
        notes.status[at, arm] = status[arm]
    for j in range(m - (total - notes.marks[at]), m):
        notes.pulls[at, arms[j]] -= 1
        notes.sums[at, arms[j]] -= rewards[j]
    notes.at[0] += 1


@shared
def has_next(batch):
    """Keep what a play has left, and put everything to where the next one begins."""
    at, words = batch.at[0], batch.memory.size
    for place in range(words):
        batch.plays[at, place] = batch.memory[place]
    at += 1
    if at >= batch.plays.shape[0]:
        return False
    batch.at[0] = at
    for place in range(words):
        batch.memory[place] = batch.plays[at, place]
    for place in range(batch.bits.size):
        batch.bits[place] = batch.memory[place]
    return True


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


def draw_dealt(law, arm, rng):
    """Return the next result in an arm's order of a `topk.testset.Deal`, which takes note."""
    own = law[2][arm]
    place = law[1][own]
    law[1][own] = place + 1
    return float(law[0][own, place])


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
    if kind is Deal:
        found = draw_dealt, (bandit.results, bandit.taken, order)
    elif kind is BetaBandit:
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


