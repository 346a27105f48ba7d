"""Rewards of bandits whose `sample` is Python code, drawn ahead in blocks for compiled loops.

A call of `topk.Bandit.sample` takes as long as a hundred pulls in compiled code.  Therefore an
arm's rewards are drawn in blocks: first `FIRST_BLOCK` of them, then each time as many as have been
drawn before, at most `LARGEST_BLOCK`.  Each arm has its own random stream, and blocks depend on
nothing else: the t-th reward of an arm in a run is the same whatever else is pulled, requested or
recorded.
"""

import numpy as np

from topk.bandits import Bandit, BernoulliBandit, is_coin
from topk.engine.loop import BUFFERED, new_law
from topk.simulate.seeding import generators

FIRST_BLOCK, LARGEST_BLOCK = 16, 2**16  # rewards in a block
ARM_REWARDS = 6  # purpose of the streams of the arms, after those of `topk.engine.streams`


def needs_buffer(bandit):
    """Return whether rewards are drawn in blocks by calling the bandit's `sample`.

    False if ``pull`` is the user's own as well, and for the distributions whose rewards come from
    one stream for all arms, on which recorded runs rely.
    """
    own = getattr(bandit.pull, "__func__", None) not in (Bandit.pull, BernoulliBandit.pull)
    ahead = vars(type(bandit)).get("drawn_ahead", True)  # a derived class has its own `sample`
    return ahead and not (own or is_coin(bandit))


class BufferedBandit(Bandit):
    """The arms of one run, with rewards drawn ahead.

    Parameters
    ----------
    bandit : Bandit
        The arms.
    seed, number : int
        Seed of the study, and number of the run in it.
    """

    def __init__(self, bandit, seed, number):
        super().__init__(bandit.means)
        self.bandit, self.seed, self.number, n = bandit, seed, number, bandit.n
        self.rngs = {}  # arm -> its stream, once the arm has been pulled
        self.drawn, self.start, self.end = np.zeros((3, n), dtype=np.int64)
        self.buffer, self.used = np.empty(4 * FIRST_BLOCK), 0  # arm i: buffer[start[i] : end[i]]

    @property
    def reward_range(self):
        """The `topk.bandits.RewardRange` of the rewards."""
        return self.bandit.reward_range

    def sample(self, arm, count, rng=None):
        """Return an arm's next rewards; ``rng`` is ignored."""
        return self.rewards(arm, count)

    def pull(self, arms, counts, rng):
        """Pull a batch as `topk.Bandit.pull` does, from the arms' next rewards."""
        self._open(np.asarray(arms).tolist())
        return super().pull(arms, counts, rng)

    def rewards(self, arm, count, rng=None):
        """Return an arm's next rewards; ``rng`` is ignored."""
        self._open([arm])
        held = self.buffer[self.start[arm] : self.end[arm]]
        parts, missing = [held[:count].copy()], count - held.size
        if missing <= 0:
            self.start[arm] += count
            return parts[0]
        while missing > 0:
            block = self._block(arm)
            parts.append(block[:missing])
            missing -= block.size
        self._keep(arm, block[block.size + missing :])
        return np.concatenate(parts)

    def fill(self, arms, counts):
        """Draw a block of each arm that has fewer than ``counts`` rewards left.

        ``counts`` are at most `FIRST_BLOCK`, so one block is enough.
        """
        self._open(arms.tolist())
        for arm in arms[self.end[arms] - self.start[arms] < counts].tolist():
            held = self.buffer[self.start[arm] : self.end[arm]].copy()
            self._keep(arm, np.concatenate([held, self._block(arm)]))

    def law(self, order):
        """Return the `topk.engine.loop.Law` that draws from the buffer."""
        parts = {"values": self.buffer, "start": self.start, "end": self.end}
        return new_law(BUFFERED, self, order, **parts)

    def _open(self, arms):
        """Create the streams of arms that are pulled for the first time."""
        new = [arm for arm in arms if arm not in self.rngs]
        if new:
            made = generators(self.seed, self.number, ARM_REWARDS, np.array(new))
            self.rngs.update(zip(new, made, strict=True))

    def _block(self, arm):
        """Draw an arm's next block, whose rewards are checked."""
        size = int(min(max(FIRST_BLOCK, self.drawn[arm]), LARGEST_BLOCK))
        self.drawn[arm] += size
        return np.asarray(self.bandit.rewards(arm, size, self.rngs[arm]), dtype=np.float64)

    def _keep(self, arm, rewards):
        """Replace the rewards that the buffer holds for an arm."""
        self.end[arm] = self.start[arm]
        if self.used + rewards.size > self.buffer.size:
            self._compact(rewards.size)
        self.start[arm], self.end[arm] = self.used, self.used + rewards.size
        self.buffer[self.used : self.end[arm]] = rewards
        self.used += rewards.size

    def _compact(self, more):
        """Move the remaining rewards into a buffer twice as large as they and ``more`` need."""
        sizes = self.end - self.start
        ends = sizes.cumsum()
        starts, size = ends - sizes, int(ends[-1])
        buffer = np.empty(2 * (size + more))
        buffer[:size] = self.buffer[np.arange(size) + np.repeat(self.start - starts, sizes)]
        self.start[:], self.end[:], self.buffer, self.used = starts, ends, buffer, size
