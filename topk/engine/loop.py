"""The loops of a run: draw a batch of pulls, count its rewards, update the rule."""

from collections import namedtuple

import numpy as np

from topk import bandits
from topk.bandits import BetaBandit, GaussianBandit, ReplayBandit, unit_sums
from topk.rules.base import WRONG, ask, count, update
from topk.rules.marks import allocates, apart, open_function
from topk.testset import Deal

DONE, CROSSING, PAUSED = 0, 1, 2  # why `run_batches` returned
SHORT, BY_HAND = 3, 4  # ... rewards must be drawn first; an arm is pulled more than twice


draw_bernoulli = apart(bandits.draw_bernoulli)


def total_of(m, counts):
    """Return the number of pulls of a batch of ``m`` entries."""
    total = 0
    for j in range(m):
        total += counts[j]
    return total


# What the loop records.
# The counts at given totals of pulls:
#   marks (c,) int64, the totals, increasing;
#   pulls (c, n) int64, sums (c, n), status (c, n) int64, each arm's counts and status at each mark;
#   at (1,) int64, the index of the next mark.
# All pulls in order, if each entry of a batch is one pull:
#   arms (p,) int64, rewards (p,); made (1,) int64, their number so far.
History = namedtuple("History", "marks pulls sums status at arms rewards made")


def history_for(n, marks=(), most=0):
    """Return a `History` for n arms, of counts at ``marks`` and ``most`` single pulls."""
    whole, shape = np.int64, (len(marks), n)
    seen = np.empty(shape, whole), np.empty(shape), np.empty(shape, whole), np.zeros(1, whole)
    made = np.empty(most, whole), np.empty(most), np.zeros(1, whole)
    return History(np.array(marks, whole), *seen, *made)


# What belongs to a state.  Several runs of a strategy can be made in turn in the same memory:
#   memory (w,) uint64, all that a run changes, beginning with a copy of its generator's state;
#   runs (p, w) uint64, the initial content of that memory for each run, then the final content;
#   at (1,) int64, the index of the present run;
#   bits (4,) uint64, the generator's own memory;
#   history, the `History` of a single run.
Chain = namedtuple("Chain", "memory runs at bits history")
NO_MEMORY = np.zeros((0, 1), np.uint64)
NO_CHAIN = Chain(
    NO_MEMORY[:, 0], NO_MEMORY, np.zeros(1, np.int64), NO_MEMORY[:, 0], history_for(0)
)


def run_batches(s, chain, law, rng, arms, counts, rewards, until, steps):
    """Make whole batches of pulls, and continue with the next run if there is one.

    Parameters
    ----------
    s : named tuple
        The state of a run; changed in place.
    chain : Chain
        What belongs to the state.
    law : ndarray of float, shape (n,), or tuple
        The reward probabilities of Bernoulli arms, in the order of the run; see `law_of` for other
        arms.
    rng : numpy.random.Generator
        The generator of the rewards.
    arms, counts : ndarray, shape (n,)
        Buffers for a batch of pulls.
    rewards : ndarray of float, shape (n,) or (2, n)
        Buffer for the sums of rewards and, unless all rewards are 0 or 1, of their squares.
    until : int
        Stop before a batch that would take the total above this; -1 for no limit.
    steps : int
        Return after this many batches, so that Ctrl-C and progress bars work.

    Returns
    -------
    status : int
        ``DONE``, ``PAUSED``, ``CROSSING`` (the next batch, not yet drawn, passes ``until``, or a
        mark whose counts `record_checkpoint` cannot recover), or what `halts` returns.
    m : int
        Number of entries of the batch that is not yet drawn, 0 if there is none.
    """
    for _ in range(steps):
        status, m = bernoulli_batch(s, chain, law, rng, arms, counts, rewards, until)
        if status != PAUSED:
            return status, m
    return PAUSED, 0


def bernoulli_batch(s, chain, means, rng, arms, counts, sums, until):
    """Make a batch of pulls of Bernoulli arms, or begin the next run; see `run_batches`."""
    history, m = chain.history, ask(s, arms, counts)
    if m == 0:
        goes_on = s.now.ended != WRONG and next_run(chain)
        return (PAUSED if goes_on else DONE), 0
    if crosses(s.now.total, m, counts, until, history):
        return CROSSING, m
    draw_bernoulli(means, arms, counts, m, rng, sums)
    count(s, m, arms, counts, sums, sums)
    if history.arms.size > 0:
        record_pulls(history, m, arms, sums)
    while checkpoint_due(history, s.now.total - 1):  # a mark inside the batch
        record_checkpoint(history, s.now.total, s.pulls, s.sums, s.status, m, arms, sums)
    update(s, m, arms)
    while checkpoint_due(history, s.now.total):  # or at its end
        record_checkpoint(history, s.now.total, s.pulls, s.sums, s.status, m, arms, sums)
    return PAUSED, 0


def crosses(total, m, counts, until, history):
    """Return whether a batch after ``total`` pulls passes ``until`` or an unrecoverable mark.

    `record_checkpoint` cannot recover the counts at a mark inside a batch that pulls an arm more
    than once.
    """
    if until < 0 and history.at[0] == history.marks.size:
        return False
    after = total + total_of(m, counts)
    return 0 <= until < after or (after - total > m and checkpoint_due(history, after - 1))


@apart
def record_pulls(history, m, arms, rewards):
    """Record the pulls of a batch in which each entry is one pull."""
    for j in range(m):
        at = history.made[0]
        history.arms[at], history.rewards[at] = arms[j], rewards[j]
        history.made[0] += 1


def checkpoint_due(history, total):
    """Return whether the next mark is at most ``total`` pulls."""
    at = history.at[0]
    return at < history.marks.size and history.marks[at] <= total


@apart
def record_checkpoint(history, total, pulls, sums, status, m, arms, rewards):
    """Record the counts at the next mark, which is inside or at the end of the last batch.

    The pulls after the mark are subtracted from the present counts, so inside a batch each entry
    must be one pull.  At its end nothing is subtracted, and any batch is allowed.
    """
    at = history.at[0]
    for arm in range(pulls.size):
        history.pulls[at, arm], history.sums[at, arm] = pulls[arm], sums[arm]
        history.status[at, arm] = status[arm]
    for j in range(m - (total - history.marks[at]), m):
        history.pulls[at, arms[j]] -= 1
        history.sums[at, arms[j]] -= rewards[j]
    history.at[0] += 1


@apart
def next_run(chain):
    """Store the final state of a run and load the next run; return whether there is one."""
    at, words = chain.at[0], chain.memory.size
    for place in range(words):
        chain.runs[at, place] = chain.memory[place]
    at += 1
    if at >= chain.runs.shape[0]:
        return False
    chain.at[0] = at
    for place in range(words):
        chain.memory[place] = chain.runs[at, place]
    for place in range(chain.bits.size):
        chain.bits[place] = chain.memory[place]
    return True


# Runs on arms that are not Bernoulli, with at most two pulls of an arm in a batch: a reward is
# drawn as the bandit's `sample` draws it, from the same stream


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
    """Return an arm's next result in the order of a `topk.testset.Deal`; advance its position."""
    own = law[2][arm]
    place = law[1][own]
    law[1][own] = place + 1
    return float(law[0][own, place])


def law_of(bandit, order):
    """Return how rewards of a bandit's arms are drawn, in an order of the arms; None if unknown.

    Returns
    -------
    draw : function
        See `draw`.
    law : tuple
        The first argument of `draw`, and the ``numbers`` of the bandit's `reward_range`.
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
    return found[0], (found[1], bandit.reward_range.numbers)


@open_function
def halts(law, arm, count):
    """Return `SHORT` or `BY_HAND` if the loop cannot draw an entry of a batch, otherwise 0."""


def general_batch(s, chain, law, rng, arms, counts, rewards, until):
    """Make a batch of at most two pulls of an arm; the sum of two rewards is correctly rounded."""
    m = ask(s, arms, counts)
    if m == 0:
        return DONE, 0
    if 0 <= until < s.now.total + total_of(m, counts):
        return CROSSING, m
    for j in range(m):
        status = halts(law[0], arms[j], counts[j])
        if status:
            return status, m
    for j in range(m):
        total, squares = 0.0, 0.0
        for _ in range(counts[j]):
            # centred before it is squared, see topk.bandits.RewardRange.centred
            reward = (draw(law[0], arms[j], rng) - law[1][0]) * law[1][1]
            total, squares = total + reward, squares + reward * reward
        rewards[0, j], rewards[1, j] = unit_sums(law[1], counts[j], total, squares)
    count(s, m, arms, counts, rewards[0], rewards[1])
    update(s, m, arms)
    return PAUSED, 0


def step(s, m, arms, counts, sums, squares):
    """Count a batch with its rewards; write the next batch and return its length."""
    count(s, m, arms, counts, sums, squares)
    update(s, m, arms)
    return ask(s, arms, counts)


