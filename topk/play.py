"""One play in progress: a strategy's state, the arms' rewards, and what came of it."""

import math
import time

import numpy as np

from topk.bandits import BernoulliBandit
from topk.engine import loop
from topk.engine.loop import CROSSING, DONE, PAUSED
from topk.engine.strategy import Ruled
from topk.results import Outcome
from topk.session import STOPPED, by_bandit, peek
from topk.streams import RULE, SPLIT, stream, streams

SLICE = 0.1  # seconds after which a compiled loop should come back to Python
FIRST = 100_000  # arms times batches after which it comes back first: some milliseconds at most


class Interrupted(Exception):
    """A play was given up because its result is no longer wanted."""


class Play:
    """One play in progress: its streams, its state and, if wanted, its record.

    Parameters
    ----------
    strategy : Strategy
        What is played.
    bandit : Bandit
        Against which arms.
    seed, number : int
        Play ``number`` of the study with that seed.
    record : bool
        Whether to keep every single reward.
    stop : threading.Event, optional
        When it is set the play is given up with `Interrupted`, within about ``SLICE``.
    search : str, optional
        The search for winners, the fastest unless given; see `topk.engine.strategy.Ruled`.
    """

    def __init__(self, strategy, bandit, seed, number, record=False, stop=None, search=None):
        self.strategy, self.bandit, self.stop = strategy, bandit, stop
        self.order, self.rng = streams(seed, number, bandit.layout)
        self.split_seed = seed, number
        own = stream(seed, number, RULE) if strategy.random else None
        if isinstance(strategy, Ruled):
            search = search or strategy.search_for(bandit.n)
            self.state = strategy.begin(bandit.layout, own, search)
        else:
            self.state = strategy.begin(bandit.layout, own)
        self.arms, self.counts = np.zeros((2, bandit.n), dtype=np.int64)
        self.record = [] if record else None
        self.fused = (
            not record and isinstance(strategy, Ruled) and isinstance(bandit, BernoulliBandit)
        )
        if self.fused:
            self.means, self.sums = bandit.means.ravel()[self.order], np.zeros(bandit.n)
        self.wanted = 0 if self.fused else self.state.ask(self.arms, self.counts)
        self._split = None

    @property
    def split(self):
        """The stream that orders rewards inside a batch; made when first needed."""
        if self._split is None:
            self._split = stream(*self.split_seed, SPLIT)
        return self._split

    @property
    def total(self):
        """Pulls so far."""
        return self.state.total

    def advance(self, until=-1):
        """Play whole batches up to ``until`` pulls; return ``DONE`` or ``CROSSING``."""
        if self.fused:
            return self._advance_fused(until)
        while True:
            self._check_stop()
            m = self.wanted
            if m == 0:
                return DONE
            if until >= 0 and self.total + self.counts[:m].sum() > until:
                return CROSSING
            self.absorb(*self.draw(m))

    def _advance_fused(self, until):
        """The same in compiled code, in slices of about ``SLICE`` seconds."""
        steps, status = max(16, FIRST // self.counts.size), PAUSED
        while status == PAUSED:
            self._check_stop()
            begin = time.perf_counter()
            status = self._slice(until, steps)
            if time.perf_counter() - begin < SLICE / 2:
                steps *= 2
        self.wanted = self.state.ask(self.arms, self.counts) if status == CROSSING else 0
        return status

    def _slice(self, until, steps):
        play = self.state.compiled(loop.play)
        return play(
            self.state.s, self.means, self.rng, self.arms, self.counts, self.sums, until, steps
        )

    def warm(self):
        """Get the compiled loop ready, without a pull."""
        if self.fused:
            self._slice(until=-1, steps=0)

    def _check_stop(self):
        if self.stop is not None and self.stop.is_set():
            raise Interrupted

    def draw(self, m):
        """Draw the batch that is wanted; return its counts, sums and squares."""
        arms, counts = self.order[self.arms[:m]], self.counts[:m].copy()
        if self.record is None or isinstance(self.bandit, BernoulliBandit):
            sums, squares = self.bandit.pull(arms, counts, self.rng)
            if self.record is not None:
                self.record += self._unfold(arms, counts, sums)
        else:
            singles = self.singles(arms, counts)
            sums, squares = fsums(singles), fsums([x * x for x in singles])
            self.record += zip(arms, singles, strict=True)
        return counts, sums, squares

    def singles(self, arms, counts):
        """Draw each arm's rewards one by one; `Bandit.pull` adds up the same numbers."""
        return [self.bandit.sample(a, c, self.rng) for a, c in zip(arms, counts, strict=True)]

    def _unfold(self, arms, counts, sums):
        """Put the ones among each arm's rewards in a random order."""
        for arm, count, ones in zip(arms, counts, sums.astype(np.int64), strict=True):
            rewards = np.zeros(count)
            rewards[:ones] = 1.0
            if 0 < ones < count:
                self.split.shuffle(rewards)
            yield arm, rewards

    def absorb(self, counts, sums, squares):
        """Hand a complete batch to the strategy, and take the next one from it."""
        m = counts.size
        if isinstance(self.strategy, Ruled):
            step = self.state.compiled(loop.step)
            self.wanted = step(self.state.s, m, self.arms, self.counts, sums, squares)
        else:
            self.state.count(self.arms[:m], counts, sums, squares)
            self.state.update(self.arms[:m])
            self.wanted = self.state.ask(self.arms, self.counts)

    def recommended(self):
        """Return the set that the strategy would return now, in the bandit's numbers."""
        return self.in_the_bandit(self.state.recommend())

    def in_the_bandit(self, chosen):
        """Return a chosen set in the bandit's numbers: (k,), or (M, k) of several bandits."""
        return by_bandit(np.sort(self.order[chosen]), self.bandit.layout)

    def at_checkpoints(self, checkpoints):
        """Play to the end; return the recommended sets, one for each checkpoint."""
        sets, remaining = [], list(checkpoints)
        while remaining:
            status = self.advance(until=remaining[0])
            if status == DONE or self.total == remaining[0]:
                sets.append(self.recommended())
                remaining.pop(0)
                continue
            size = self.total + self.counts[: self.wanted].sum()
            inside = [mark for mark in remaining if mark < size]
            sets += self._inside_batch(inside)
            remaining = remaining[len(inside) :]
        self.advance()
        return np.array(sets)

    def _inside_batch(self, marks):
        """Draw the next batch and report what parts of it, one for each mark, lead to.

        A part is spread evenly over the batch (`water_fill`).  Which of an arm's Bernoulli
        rewards fall in it is a hypergeometric draw; other rewards are taken in their order.
        """
        m = self.wanted
        arms, counts = self.arms[:m].copy(), self.counts[:m].copy()
        split = self._splitter(m)
        sets = []
        for mark in marks:
            part = water_fill(counts, mark - self.total)
            sums = self.state.seen.sums[arms] + split(part)
            sets.append(self.in_the_bandit(peek(self.state, arms, part, sums)))
        self.absorb(*self._drawn)
        return sets

    def _splitter(self, m):
        """Draw the batch; return the function that gives the sums of a growing part of it."""
        if not isinstance(self.bandit, BernoulliBandit):
            counts = self.counts[:m].copy()
            singles = self.singles(self.order[self.arms[:m]], counts)
            self._drawn = counts, fsums(singles), fsums([x * x for x in singles])
            return lambda part: fsums([x[:c] for x, c in zip(singles, part, strict=True)])
        self._drawn = counts, sums, _ = self.draw(m)
        ones = sums.astype(np.int64)
        had, had_ones = np.zeros_like(counts), np.zeros_like(ones)

        def split(part):
            left_ones = ones - had_ones
            left_zeros = counts - had - left_ones
            had_ones[:] += self.split.hypergeometric(left_ones, left_zeros, part - had)
            had[:] = part
            return had_ones.astype(np.float64)

        return split

    def outcome(self):
        """Return the outcome of a finished play, in the bandit's numbers."""
        stopped = STOPPED[self.state.ended]
        pulls, sums = self.undone(self.state.seen.pulls), self.undone(self.state.seen.sums)
        trace = None
        if self.record is not None:
            arms = np.repeat([a for a, _ in self.record], [len(r) for _, r in self.record])
            trace = arms.astype(np.int64), np.concatenate([r for _, r in self.record] or [[]])
        certified = stopped == "rule"
        return Outcome(self.recommended(), pulls, sums, self.total, certified, stopped, trace)

    def undone(self, values):
        """Return per-arm values in the bandit's order, in the shape of its means."""
        out = np.empty_like(values)
        out[self.order] = values
        return out.reshape(self.bandit.means.shape)


def fsums(rewards):
    """Return the correctly rounded sum of each array of a list."""
    return np.array([math.fsum(x) for x in rewards], dtype=np.float64)


def water_fill(counts, pulls):
    """Spread ``pulls`` evenly over entries that take at most ``counts`` each.

    The plain form hands out one pull at a time, going round and round over the entries
    that still have room, in order.

    Examples
    --------
    >>> water_fill(np.array([5, 1, 5]), 8).tolist()
    [4, 1, 3]
    """
    low, high = 0, int(counts.max(initial=0))
    while low < high:  # the highest level at which everything fits
        middle = (low + high + 1) // 2
        if np.minimum(counts, middle).sum() <= pulls:
            low = middle
        else:
            high = middle - 1
    part = np.minimum(counts, low)
    part[np.flatnonzero(counts > low)[: pulls - part.sum()]] += 1
    return part
