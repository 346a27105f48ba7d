"""One play in progress: its random streams, a strategy's state, and what came of it."""

import itertools
import time
from functools import cached_property

import numpy as np

from topk._checks import refuse
from topk.bandits import BernoulliBandit, exact_sum
from topk.engine import loop
from topk.engine.allocation import water_fill
from topk.engine.known import check_cells, limit_batch
from topk.engine.loop import ALONE, CROSSING, DONE, PAUSED, notes_for
from topk.engine.state import HINT, STOPPED, begin_run, by_bandit, peek
from topk.engine.streams import DEAL, ORDER, REWARDS, RULE, SPLIT, order_from, stream
from topk.rules import base, indices
from topk.rules.base import BY_RULE
from topk.rules.ranking import best_of, recommend_best
from topk.rules.strategy import Indices, Ruled
from topk.simulate.results import Outcome
from topk.testset import TestSet

# what a play's functions may hold: an arm is pulled once at a time; means alone decide on the set
ONE_BY_ONE, BY_MEANS = (base.ask, indices.ask), (base.recommend, recommend_best)

SLICE = 0.1  # seconds after which a compiled loop should come back to Python
FIRST = 100_000  # arms times batches after which it comes back first: some milliseconds at most
TOLD = 2**20  # arms times checkpoints; of more nothing is kept for looking back


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
    most : int
        How many pulls end the play, as a budget does; see `finish`.  -1 for no limit.
    search : str, optional
        The search for winners, the fastest unless given; see `topk.rules.strategy.Ruled`.
    """

    def __init__(
        self, strategy, bandit, seed, number, record=False, stop=None, most=-1, search=None
    ):
        if isinstance(bandit, TestSet):
            bandit = bandit.deal(stream(seed, number, DEAL))
        self.strategy, self.bandit, self.stop, self.most = strategy, bandit, stop, most
        self.seed, self.number = seed, number
        self.order = order_from(stream(seed, number, ORDER), bandit.layout)
        self.rng = stream(seed, number, REWARDS)
        self.ruled, self.zero_one = isinstance(strategy, Ruled), isinstance(bandit, BernoulliBandit)
        self.units = bandit.units
        strategy = strategy.on(self.units)
        own = stream(seed, number, RULE) if strategy.random else None
        searched = {"search": search or strategy.search_for(bandit.n)} if self.ruled else {}
        self.state = begin_run(strategy, bandit.layout, own, **searched)
        self.arms, self.counts = np.zeros((2, bandit.n), dtype=np.int64)
        self.record, self.last = [] if record else None, False  # pairs: arms, their rewards
        self.one_by_one = self.ruled and strategy.first == 1 and ONE_BY_ONE in self.state.given
        known = type(bandit).pull is BernoulliBandit.pull  # not one of the user's own
        self.fused = self.ruled and known and (self.one_by_one or not record)
        self.batch = ALONE
        self.means, self.rewards = bandit.means.ravel()[self.order], np.zeros((2, bandit.n))
        self.law, items = None, self.units.items
        self.limited = None if strategy.skips_known else items
        if self.limited:
            check_cells(strategy, bandit.n, items)
        singly = isinstance(strategy, Indices) and strategy.first <= 2
        if singly and not record and not self.limited:
            self.law = loop.law_of(bandit, self.order)
        if self.law:
            self.fused = True
            self.state.given += (loop.draw, self.law[0]), (loop.turn, loop.turn_singly)
        self.wanted = 0 if self.fused else self._limit(self.state.ask(self.arms, self.counts))

    def _limit(self, m):
        """Leave out of a batch of m entries what a finite test set has no items for."""
        if not self.limited:
            return m
        return limit_batch(self.state, self.limited, self.arms, self.counts, m)

    @cached_property
    def split(self):
        """The stream that orders rewards inside a batch; made when first needed."""
        return stream(self.seed, self.number, SPLIT)

    @property
    def total(self):
        """Pulls so far."""
        return self.state.total

    def advance(self, until=-1):
        """Play whole batches up to ``until`` pulls; return ``DONE`` or ``CROSSING``."""
        if self.fused:
            return self._advance_fused(until)
        while self.wanted:
            self._check_stop()
            if 0 <= until < self._after_batch():
                return CROSSING
            self._absorb(*self._drawn_batch())
        return DONE

    def _drawn_batch(self):
        """Draw the batch that is wanted, and write it down if there is a record."""
        batch, rewards = self._draw(singly=self.record is not None)
        if self.record is not None:
            arms = self.order[self.arms[: self.wanted]]
            each = zip(arms, rewards or self._unfold(*batch), strict=True)
            self.record += [(np.full(own.size, arm), own) for arm, own in each]
        return batch

    def finish(self):
        """Play to the end, or to ``most`` pulls.

        Of a batch that would pass the limit as much as fits is pulled, spread evenly over it; the
        strategy is asked for its set, but decides nothing any more.
        """
        if self.advance(until=self.most) == CROSSING:
            self._cut()
            self._absorb(*self._drawn_batch())

    def _cut(self):
        """Make the batch that is wanted the last one if it would pass the limit."""
        self.last = 0 <= self.most < self._after_batch()
        if self.last:
            counts = self.counts[: self.wanted]
            counts[:] = water_fill(counts, self.most - self.total)

    def _after_batch(self):
        """Return how many pulls there will be once the batch that is wanted has been made."""
        return self.total + self.counts[: self.wanted].sum()

    def _advance_fused(self, until):
        """The same in compiled code, in slices of about ``SLICE`` seconds."""
        steps, status = max(16, FIRST // self.counts.size), PAUSED
        while status == PAUSED:
            self._check_stop()
            begin = time.perf_counter()
            status, self.wanted = self._slice(until, steps)
            if time.perf_counter() - begin < SLICE / 4:  # the next ones may be slower
                steps *= 2
        return status

    def _slice(self, until, steps):
        s, room = self.state.s, (self.rng, self.arms, self.counts)
        if self.law:
            given = s, ALONE, self.law[1], *room, self.rewards, until, steps
            return self._compiled(loop.play, *given)
        if self.record is not None:
            # an arm or two in each step but the first
            notes = notes_for(0, most=self.counts.size + 2 * steps)
            self.batch = ALONE._replace(notes=notes)
        came_back = self._compiled(
            loop.play, s, self.batch, self.means, *room, self.rewards[0], until, steps
        )
        if self.record is not None:
            made = slice(notes.made[0])
            self.record.append((self.order[notes.arms[made]], notes.rewards[made].copy()))
        return came_back

    def _compiled(self, function, *given):
        """Call a loop in its compiled form; say of a rule that cannot be compiled what to do."""
        try:
            return self.state.compiled(function)(*given)
        except Exception as error:
            unknown = isinstance(error, KeyError)  # numba's, of a name that ``s.now`` has not
            if not (unknown or type(error).__module__.startswith("numba.")):
                raise
            kind = type(self.strategy).__name__
            text = (
                f"the rule of {kind} cannot be compiled: see above where. It has to keep to what "
                f"numba knows; a live session runs it as plain Python. {HINT.format(kind)}"
            )
            raise TypeError(text) from error.with_traceback(None)

    def warm(self):
        """Get the compiled loop ready: without a pull, or with those of the first batch."""
        if self.fused:
            self._slice(until=-1, steps=0)
        elif self.ruled:
            self._absorb(*self._drawn_batch())

    def _check_stop(self):
        if self.stop is not None and self.stop.is_set():
            raise Interrupted

    def _draw(self, singly):
        """Draw the batch that is wanted.

        Returns
        -------
        batch : tuple of ndarray, shape (m,) each
            Counts, sums and sums of squares, as the strategy sees them.
        rewards : list of ndarray or None
            Each arm's rewards in order, if wanted ``singly`` and not 0 or 1;
            `topk.Bandit.pull` adds up the same numbers.
        """
        arms, counts = self.order[self.arms[: self.wanted]], self.counts[: self.wanted].copy()
        rewards = None
        if singly and not self.zero_one:
            drawn = zip(arms, counts, strict=True)
            rewards = [self.bandit.rewards(arm, count, self.rng) for arm, count in drawn]
            sums, squares = exact_sums(rewards), exact_sums([x * x for x in rewards])
        else:
            sums, squares = self.bandit.pull(arms, counts, self.rng)
            if (bad := self.units.refused(sums, counts)).any():  # a `pull` of the user's own
                allowed = f"each {self.bandit.allowed}"
                refuse(f"rewards of arm {arms[bad][0]}", float(sums[bad][0]), allowed)
        return (counts, *self.units.to_unit(counts, sums, squares)), rewards

    def _unfold(self, counts, sums, squares):
        """Put the ones among each arm's rewards in a random order."""
        for count, ones in zip(counts, sums.astype(np.int64), strict=True):
            rewards = np.zeros(count)
            rewards[:ones] = 1.0
            if 0 < ones < count:
                self.split.shuffle(rewards)
            yield rewards

    def _absorb(self, counts, sums, squares):
        """Hand a complete batch to the strategy, and take the next one from it."""
        m = counts.size
        if self.last:
            self.state.count(self.arms[:m], counts, sums, squares)
            self.wanted = 0
        elif self.ruled:
            batch = m, self.arms, self.counts, sums, squares
            self.wanted = self._limit(self._compiled(loop.step, self.state.s, *batch))
        else:
            self.state.count(self.arms[:m], counts, sums, squares)
            self.state.update(self.arms[:m])
            self.wanted = self._limit(self.state.ask(self.arms, self.counts))

    def in_the_bandit(self, chosen):
        """Return chosen sets in the bandit's numbers: (..., k), or (..., M, k) of several."""
        return by_bandit(np.sort(self.order[chosen]), self.bandit.layout)

    def at_checkpoints(self, checkpoints):
        """Play to the end; return the sets recommended at each checkpoint, or in the end."""
        marks, sets = [mark for mark in checkpoints if self.most < 0 or mark < self.most], []
        by_loop = self.fused and not self.law and BY_MEANS in self.state.given
        by_loop = by_loop and len(marks) * self.bandit.n <= TOLD
        if marks:
            notes = notes_for(self.bandit.n, marks if by_loop else ())
            self.batch = ALONE._replace(notes=notes)
        while len(sets) < len(marks):
            ended = self.advance(until=self.most if by_loop else marks[len(sets)]) == DONE
            sets += self._looked_back(len(sets))
            if ended or len(sets) == len(marks):
                break
            if self.total == marks[len(sets)]:
                sets.append(self.in_the_bandit(self.state.recommend()))
            else:
                self._cut()
                for seen in self._inside_batch(marks[len(sets) :]):
                    sets.append(self.in_the_bandit(peek(self.state, *seen)))
            notes.at[0] = len(sets)
        self.finish()
        last = self.in_the_bandit(self.state.recommend())
        return np.array(sets + [last] * (max(1, len(checkpoints)) - len(sets)))

    def _looked_back(self, first):
        """Return the sets at the marks from ``first`` on that the compiled loop has noted."""
        notes = self.batch.notes
        new = slice(first, notes.at[0])
        if new.start == new.stop:
            return []
        seen = notes.status[new], notes.sums[new], notes.pulls[new]
        return [*self.in_the_bandit(best_of(*seen, self.state.bandits, self.strategy.k))]

    def _inside_batch(self, marks):
        """Draw the next batch; yield for each mark in it the pulls and sums that a part leads to.

        A part is spread evenly over the batch (`water_fill`).  Which of an arm's Bernoulli
        rewards fall in it is a hypergeometric draw; other rewards are taken in their order.
        """
        end = self._after_batch()
        batch, rewards = self._draw(singly=True)
        arms, (counts, sums, _), seen = self.arms[: self.wanted].copy(), batch, self.state.seen
        had, had_ones = np.zeros((2, self.wanted), dtype=np.int64)
        for mark in itertools.takewhile(lambda mark: mark < end, marks):
            part = water_fill(counts, mark - self.total)
            if rewards:
                gained = exact_sums([x[:c] for x, c in zip(rewards, part, strict=True)])
                gained, _ = self.units.to_unit(part, gained, gained)
            else:
                left = sums.astype(np.int64) - had_ones
                more = self.split.hypergeometric(left, counts - had - left, part - had)
                had, had_ones = part, had_ones + more
                gained = had_ones
            pulls, found = seen.pulls.copy(), seen.sums.copy()
            pulls[arms] += part
            found[arms] += gained
            yield pulls, found
        self._absorb(*batch)

    def totals(self):
        """Return what a finished play has counted, in the bandit's numbers, as in `Outcome`."""
        seen, shape = self.state.seen, self.bandit.means.shape
        pulls, sums = np.empty_like(seen.pulls), np.empty_like(seen.sums)
        pulls[self.order], sums[self.order] = seen.pulls, seen.sums
        pulls, sums = pulls.reshape(shape), sums.reshape(shape)
        found = {"pulls": pulls, "sums": self.units.from_unit(pulls, sums)}
        return found | {"total_pulls": self.total, "certified": self.state.ended == BY_RULE}

    def outcome(self):
        """Return the outcome of a finished play, in the bandit's numbers."""
        selected, trace = self.in_the_bandit(self.state.recommend()), None
        if self.record is not None:
            arms, rewards = (np.concatenate(x) for x in zip(([], []), *self.record, strict=True))
            trace = arms.astype(np.int64), rewards
        stopped = STOPPED[self.state.ended] or "budget"  # by `most`
        about = {"epsilon": self.strategy.tolerance, "units": self.units}
        about["method"], squares = self.strategy.stops_by or "pairs", self.state.seen.squares
        if squares.size:
            about["unit_squares"] = np.empty_like(squares)
            about["unit_squares"][self.order] = squares
            about["unit_squares"] = about["unit_squares"].reshape(self.bandit.means.shape)
        return Outcome(selected, **self.totals(), stopped=stopped, trace=trace, **about)


def exact_sums(rewards):
    """Return the correctly rounded sum of each array of a list."""
    return np.array([exact_sum(x) for x in rewards], dtype=np.float64)


