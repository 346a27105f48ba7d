"""The loops of a run: draw a batch of pulls, count its rewards, update the rule."""

from collections import namedtuple

import numpy as np

from topk._marks import allocates, apart
from topk.bandits import (
    BernoulliBandit,
    BetaBandit,
    GaussianBandit,
    ReplayBandit,
    draw_bernoulli,
    is_coin,
    unit_sums,
)
from topk.rules.base import WRONG, ask, count, update

DONE, CROSSING, PAUSED = 0, 1, 2  # why `run_batches` returned
SHORT, BY_HAND = 3, 4  # ... rewards must be drawn first; an arm is pulled more than twice


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


# How rewards are drawn:
#   first (n,), the probabilities of 0/1 rewards, or the first parameters of other distributions;
#   sums, None if every entry of a batch is one pull, otherwise True;
#   other, None for 0/1 rewards.
# A loop compiles faster if it draws nothing but single 0/1 rewards.
Law = namedtuple("Law", "first sums other")
# ... and all other laws, of one type, so that a rule has a single loop for them:
#   kind, one of the numbers below; second (n,), the second parameters of the distributions;
#   values (v,), recorded rewards; start, end (n,) int64, each arm's part of them;
#   results (n, N), rewards that were dealt beforehand; order (n,) int64, the bandit's numbers of
#   arms; numbers, those of the bandit's `RewardRange`.
Other = namedtuple("Other", "kind second values start end results order numbers")
BETA, NORMAL, RECORDED, DEALT, BUFFERED = range(5)
NOTHING = {"second": np.zeros(0), "values": np.zeros(0)}
NOTHING |= {"start": np.zeros(0, np.int64), "end": np.zeros(0, np.int64)}
NOTHING |= {"results": np.zeros((0, 0), np.int8)}


def new_law(kind, bandit, order, first=NOTHING["values"], **more):
    """Return a `Law` of rewards that are not drawn as 0 and 1, for arms in an order."""
    numbers = *map(float, bandit.reward_range.numbers[:4]), bool(bandit.reward_range.numbers[4])
    other = Other(**NOTHING | {"kind": kind, "order": order, "numbers": numbers} | more)
    return Law(first, True, other)


def law_of(bandit, order, singly=False):
    """Return the `Law` of a bandit's arms, in an order of the arms.

    ``singly`` says that every entry of a batch is one pull.  The law is None where rewards come
    from methods of the user's own, of a class or of this bandit.
    """
    kind = type(bandit)
    if not vars(bandit).keys().isdisjoint(("pull", "sample", "rewards")):
        return None
    if is_coin(bandit):
        if kind.pull is not BernoulliBandit.pull:
            return None
        return Law(bandit.means.ravel()[order], None if singly else True, None)
    if "dealt" in vars(kind):  # a derived class has its own `sample`
        results, taken = bandit.dealt
        return new_law(DEALT, bandit, order, results=results, start=taken)
    if kind is BetaBandit:
        return new_law(BETA, bandit, order, first=bandit.a[order], second=bandit.b[order])
    if kind is GaussianBandit:
        sigmas = np.full(bandit.n, float(bandit.sigma))
        return new_law(NORMAL, bandit, order, first=bandit.means[order], second=sigmas)
    if kind is ReplayBandit:
        sizes = np.array([record.size for record in bandit.answers])
        records, starts = np.concatenate(bandit.answers), (sizes.cumsum() - sizes)[order]
        return new_law(
            RECORDED, bandit, order, values=records, start=starts, end=starts + sizes[order]
        )
    return None


def name_of(law):
    """Return the end of the name of a loop that draws by a `Law`: each kind has one of its own."""
    return "_laws" if law.other is not None else "_sums" if law.sums else ""


def run_batches(s, chain, law, rng, arms, counts, rewards, until, steps):
    """Make whole batches of pulls, and continue with the next run if there is one.

    Parameters
    ----------
    s : named tuple
        The state of a run; changed in place.
    chain : Chain
        What belongs to the state.
    law : Law
        How rewards are drawn, for the arms in the order of the run.
    rng : numpy.random.Generator
        The generator of the rewards.
    arms, counts : ndarray, shape (n,)
        Buffers for a batch of pulls.
    rewards : ndarray of float, shape (2, n)
        Buffer for the sums of rewards and of their squares.
    until : int
        Stop before a batch that would take the total above this; -1 for no limit.
    steps : int
        Return after this many batches, so that Ctrl-C and progress bars work.

    Returns
    -------
    status : int
        ``DONE``, ``PAUSED``, ``CROSSING`` (the next batch, not yet drawn, passes ``until``, or a
        mark whose counts `record_checkpoint` cannot recover), or what `draw_batch` returns.
    m : int
        Number of entries of the batch that is not yet drawn, 0 if there is none.
    """
    history, sums = chain.history, rewards[0]
    for _ in range(steps):
        m = ask(s, arms, counts)
        if m == 0:
            if s.now.ended == WRONG or not next_run(chain):
                return DONE, 0
            continue
        if crosses(s.now.total, m, counts, until, history):
            return CROSSING, m
        status = draw_batch(law.first, law.sums, law.other, arms, counts, m, rng, rewards)
        if status != PAUSED:
            return status, m
        count(s, m, arms, counts, sums, rewards[1])
        if history.arms.size > 0:
            record_pulls(history, m, arms, sums)
        while checkpoint_due(history, s.now.total - 1):  # a mark inside the batch
            record_checkpoint(history, s.now.total, s.pulls, s.sums, s.status, m, arms, sums)
        update(s, m, arms)
        while checkpoint_due(history, s.now.total):  # or at its end
            record_checkpoint(history, s.now.total, s.pulls, s.sums, s.status, m, arms, sums)
    return PAUSED, 0


def draw_batch(first, sums, other, arms, counts, m, rng, rewards):
    """Draw a batch by a `Law`: each arm's sum of rewards, and of their squares.

    The law comes in its parts: of the branches that ask whether one is None numba compiles one.
    """
    if other is None:
        if sums is None:
            for j in range(m):  # as `draw_bernoulli` draws a single pull
                rewards[0, j] = 1.0 if rng.random() < first[arms[j]] else 0.0
        else:
            draw_bernoulli(first, arms, counts, m, rng, rewards[0])
        for j in range(m):  # 0 and 1 are their own squares
            rewards[1, j] = rewards[0, j]
        return PAUSED
    return draw_other(first, other, arms, counts, m, rng, rewards)


@apart
def draw_other(first, law, arms, counts, m, rng, rewards):
    """Draw a batch of at most two pulls of an arm; the sum of two rewards is correctly rounded.

    Return ``BY_HAND`` if an arm is pulled more than twice, ``SHORT`` if the buffer has too few
    rewards, otherwise ``PAUSED``.
    """
    for j in range(m):
        if counts[j] > 2:
            return BY_HAND
        if law.kind == BUFFERED:
            own = law.order[arms[j]]
            if law.end[own] - law.start[own] < counts[j]:
                return SHORT
    for j in range(m):
        total, squares = 0.0, 0.0
        for _ in range(counts[j]):
            # centred before it is squared, see topk.bandits.RewardRange.centred
            reward = (draw(first, law, arms[j], rng) - law.numbers[0]) * law.numbers[1]
            total, squares = total + reward, squares + reward * reward
        rewards[0, j], rewards[1, j] = unit_sums(law.numbers, counts[j], total, squares)
    return PAUSED


def draw(first, law, arm, rng):
    """Return one reward of an arm, drawn as the bandit's `sample` draws it from the same stream."""
    if law.kind == BETA:
        return rng.beta(first[arm], law.second[arm])
    if law.kind == NORMAL:
        return rng.normal(first[arm], law.second[arm])
    if law.kind == RECORDED:
        return draw_recorded(law, arm, rng)
    own = law.order[arm]
    place = law.start[own]
    law.start[own] = place + 1
    return float(law.results[own, place]) if law.kind == DEALT else law.values[place]


@allocates
def draw_recorded(law, arm, rng):
    """Return one of an arm's recorded rewards."""
    return law.values[law.start[arm] + rng.integers(0, law.end[arm] - law.start[arm])]


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


def step(s, m, arms, counts, sums, squares):
    """Count a batch with its rewards; write the next batch and return its length."""
    count(s, m, arms, counts, sums, squares)
    update(s, m, arms)
    return ask(s, arms, counts)


