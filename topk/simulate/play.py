"""One run in progress: its random streams, the strategy's state, and the outcome."""

import itertools
import math
import time
import warnings
from functools import cached_property

import numpy as np

from topk._checks import as_numbers, refuse
from topk._warnings import SlowWarning
from topk.bandits import UNIT_RANGE, Bandit, BernoulliBandit, exact_sum, is_coin, unit_sums
from topk.confidence.capital import has_products, log_products
from topk.engine import loop, tiering
from topk.engine.loop import (
    BY_HAND,
    CROSSING,
    DONE,
    NO_CHAIN,
    PAUSED,
    SHORT,
    history_for,
)
from topk.engine.streams import DEAL, ORDER, REWARDS, RULE, SPLIT, order_from, stream
from topk.rules import base, indices
from topk.rules.allocation import water_fill
from topk.rules.base import BY_RULE, RUNNING
from topk.rules.exhausted import check_values, limit_batch
from topk.rules.forms import Indices, Rounds, Ruled
from topk.rules.numbered_state import MANY, NumberedRunState
from topk.rules.ranking import best_of, recommend_best
from topk.rules.state import (
    HINT,
    STOPPED,
    by_bandit,
    explained,
    recommend_with,
    without_value,
)
from topk.simulate.buffer import FIRST_BLOCK, LARGEST_BLOCK, BufferedBandit, needs_buffer
from topk.simulate.results import Outcome
from topk.strategies.paired_loops import GOES_ON

SLICE_SECONDS = 0.1  # after which a compiled loop should return to Python
FIRST_SLICE = 100_000  # arms times batches before the first return: some milliseconds at most
MAX_RECORDED_COUNTS = 2**20  # arms times checkpoints; the loop records no counts above this number


class Interrupted(Exception):
    """A run was abandoned because its result is no longer wanted."""


class Recompiled(Exception):
    """A run in plain Python was abandoned because it is faster to make it again, compiled."""


class Uncompilable(TypeError):
    """The rule of a strategy cannot be compiled."""


def played(finish, *given, **options):
    """Return ``finish(Play(*given, **options))``.

    A run that begins as plain Python is made again from its beginning, compiled, if
    `topk.engine.tiering` says so.  It is the same run, and in compiled code its pulls so far take
    no time.  A rule that cannot be compiled stays plain Python.
    """
    compiles = None
    while True:
        play = Play(*given, **options, compiles=compiles)
        play.can_begin_again = compiles is None
        try:
            return finish(play)
        except Recompiled:
            compiles = True
        except Uncompilable as reason:
            if tiering.setting() == tiering.ALWAYS:
                raise
            play.tier.refused, play.tier.compiled, compiles = True, False, False
            warnings.warn(f"slow, as plain Python: {reason}", SlowWarning, stacklevel=2)


def compiled_for(state, function, law=None):
    """Return a loop compiled for the state of a run; see `topk.engine.jit.compiled_for`."""
    from topk.engine import jit  # importing numba takes longer than many runs

    return jit.compiled_for(state, function, "" if law is None else loop.name_of(law))


def numbered_loop(function):
    """Return a loop of `topk.strategies.paired_loops`, compiled."""
    from topk.engine import jit

    return jit.compiled(function, None, "PairedBetting", lean=True)


class Play:
    """One run in progress: its streams, its state and, if wanted, its record.

    Parameters
    ----------
    strategy : Strategy
        The strategy.
    bandit : Bandit
        The arms.
    seed, number : int
        Seed of the study, and number of the run in it.
    record : bool
        Whether to record every single reward.
    stop : threading.Event, optional
        When it is set, the run is abandoned with `Interrupted`, within about ``SLICE_SECONDS``.
    max_pulls : int
        Number of pulls that ends the run, as a budget does; see `finish`.  -1 for no limit.
    later : float
        Number of similar runs that follow in this process, as far as is known.
    search : topk.rules.search.interface.Search, optional
        The search for the arms at risk; by default the fastest one.
    compiles : bool, optional
        Whether compiled code is used from the beginning; by default `topk.engine.tiering` decides.
    """

    can_begin_again = False  # see `played`

    def __init__(
        self, strategy, bandit, seed, number, record=False, stop=None, max_pulls=-1, later=0,
        search=None, compiles=None,
    ):
        self.given, self.strategy = (strategy, bandit, seed, number, record), strategy
        self.later, self.seconds = later, 0.0  # of a processor, as plain Python
        strategy = bandit.form(strategy)
        if type(bandit).deal is not Bandit.deal:
            bandit = bandit.deal_to(strategy, stream(seed, number, DEAL))
        self.numbered, self.drawn = strategy.independent, {}  # a table of rewards drawn ahead
        self.buffered = self.numbered or needs_buffer(bandit)
        self.reward_range = bandit.reward_range
        bandit = BufferedBandit(bandit, seed, number) if self.buffered else bandit
        self.bandit, self.stop, self.max_pulls = bandit, stop, max_pulls
        self.seed, self.number = seed, number
        self.order = order_from(stream(seed, number, ORDER), bandit.layout)
        self.rng = stream(seed, number, REWARDS)
        self.ruled, self.zero_one = isinstance(strategy, Ruled), is_coin(bandit)
        kinds = tuple(map(type, vars(strategy.on(self.reward_range)).values()))
        fastest = strategy.search_for(bandit.n) if self.ruled else None
        if self.numbered:
            fastest = strategy.races(bandit.n)
        self.tier = tiering.tier_of(type(strategy), kinds, fastest, type(bandit), record)
        self.compiles = self.tier.begins_compiled() if compiles is None else compiles
        more = {"rng": stream(seed, number, RULE)} if strategy.random else {}
        if self.ruled and (search or self.compiles):
            more["search"] = search or fastest
        self.state = strategy.begin(bandit.layout, self.reward_range, **more)
        strategy = self.state.strategy
        if isinstance(self.state, NumberedRunState) and bandit.sizes is not None:
            self.state.limit(bandit.sizes[self.order])
        self.arms, self.counts = np.zeros((2, bandit.n), dtype=np.int64)
        self.record, self.is_last = [] if record else None, False  # pairs (arms, their rewards)
        one = self.ruled and strategy.initial_pulls == 1
        self.one_by_one = one and self.state.uses(base.ask, indices.ask)
        self.chain, self.rewards, self.law = NO_CHAIN, np.zeros((2, bandit.n)), None
        items = self.reward_range.items
        self.limited = None if strategy.skips_known else items
        if self.limited:
            check_values(strategy, bandit.n, items)
        coins = getattr(bandit.pull, "__func__", None) is BernoulliBandit.pull
        if coins and self.ruled and (self.one_by_one or not record):
            self.law = loop.law_of(bandit, self.order, self.one_by_one)
        elif not (coins or record or self.limited) and self._pulls_singly(strategy):
            self.law = bandit.law(self.order) if self.buffered else loop.law_of(bandit, self.order)
        self.fused = self.law is not None
        asks = not (self.fused or self.numbered)
        self.batch_length = asks and self._limit(self.state.ask(self.arms, self.counts))

    def _pulls_singly(self, strategy):
        """Return whether the strategy pulls an arm at most twice in its first batch."""
        if isinstance(strategy, Rounds):
            return self.state.s.now.each == 1 and not self.state.s.now.cut
        return isinstance(strategy, Indices) and strategy.initial_pulls <= 2

    def recommends_by_means(self):
        """Return whether the means alone decide which set is recommended."""
        return self.state.uses(base.recommend, recommend_best)

    def _limit(self, m):
        """Truncate a batch of m entries to the items that a finite test set has left."""
        if not self.limited:
            return m
        return limit_batch(self.state, self.limited, self.arms, self.counts, m)

    @cached_property
    def split(self):
        """The stream that orders rewards inside a batch; created on first use."""
        return stream(self.seed, self.number, SPLIT)

    @property
    def total(self):
        """Pulls so far."""
        return self.state.total

    def advance(self, until=-1):
        """Make whole batches up to ``until`` pulls; return ``DONE`` or ``CROSSING``."""
        if self.fused:
            return self._advance_fused(until)
        if self.numbered:
            return self._advance_numbered(until)
        while self.batch_length:
            self._check_stop()
            if 0 <= until < self._after_batch():
                return CROSSING
            self._count_batch(*self._draw_batch())
        return DONE

    def _draw_batch(self):
        """Draw the next batch, and record it if there is a record."""
        batch, rewards = self._draw_rewards(singly=self.record is not None)
        if self.record is not None:
            arms = self.order[self.arms[: self.batch_length]]
            each = zip(arms, rewards or self._single_rewards(*batch), strict=True)
            self.record += [(np.full(own.size, arm), own) for arm, own in each]
        return batch

    def finish(self):
        """Continue to the end of the run, or to ``max_pulls`` pulls.

        A batch that would pass the limit is truncated to it, evenly over its arms.  After that the
        strategy makes no further decision; it only recommends a set.
        """
        if self.advance(until=self.max_pulls) == CROSSING and not self.numbered:
            self._truncate_batch()
            self._count_batch(*self._draw_batch())
        if self.fused or self.numbered:  # a short run decides here, for the next ones
            self._compiling_pays(ended=True)

    def _truncate_batch(self):
        """Truncate the next batch, which is then the last one, if it would pass the limit."""
        self.is_last = 0 <= self.max_pulls < self._after_batch()
        if self.is_last:
            counts = self.counts[: self.batch_length]
            counts[:] = water_fill(counts, self.max_pulls - self.total)

    def _after_batch(self):
        """Return the number of pulls after the next batch."""
        return self.total + self.counts[: self.batch_length].sum()

    def _advance_fused(self, until):
        """Do what `advance` does in one loop, in slices of about ``SLICE_SECONDS``."""
        steps, status = max(16, self.compiles * FIRST_SLICE // self.counts.size), PAUSED
        while status == PAUSED:
            self._check_stop()
            begin = time.perf_counter()
            status, self.batch_length = self._run_slice(until, steps)
            if status == PAUSED and time.perf_counter() - begin < SLICE_SECONDS / 4:
                steps *= 2  # later batches may be slower
            if status == PAUSED and self._compiling_pays():
                raise Recompiled
            if status == SHORT:
                batch = slice(self.batch_length)
                self.bandit.fill(self.order[self.arms[batch]], self.counts[batch])
                status = PAUSED
            if status == BY_HAND:
                self._count_batch(*self._draw_batch())
                status = PAUSED
        return status

    def _advance_numbered(self, until):
        """Do what `advance` does for a table whose rewards are drawn ahead, in such slices.

        Within a round of a race, too, every total of pulls is reached.
        """
        state, table, made = self.state, self.state.table, []
        budget = state.strategy.budget
        limit = min(x for x in (until, budget, MANY) if x is not None and x >= 0)
        steps = max(16, self.compiles * FIRST_SLICE // self.counts.size)
        found = GOES_ON
        while found == GOES_ON or found >= 0:
            self._check_stop()
            begin, before = time.perf_counter(), state.total
            some = np.empty(0 if self.record is None else 2 * steps * table.n, dtype=np.int64)
            found = table.play(self._call_numbered, limit, steps, some)
            made.append(some[: state.total - before])
            if found >= 0:
                self._draw_ahead(found)
            elif found == GOES_ON and time.perf_counter() - begin < SLICE_SECONDS / 4:
                steps *= 2
            if self._compiling_pays():
                raise Recompiled
        if self.record is not None:
            self._record_numbered(np.concatenate(made))
        state.settle()
        return CROSSING if state.ended == RUNNING else DONE

    def _call_numbered(self, function, *given):
        """Call a loop for a table."""
        if self.compiles:
            return numbered_loop(function)(*given)
        begin = time.thread_time()
        found = function(*given)
        seconds = time.thread_time() - begin
        self.seconds, self.tier.seconds = self.seconds + seconds, self.tier.seconds + seconds
        return found

    def _draw_ahead(self, arm):
        """Draw a block of an arm's next rewards."""
        table = self.state.table
        count = int(min(max(FIRST_BLOCK, table.known[arm]), LARGEST_BLOCK))
        rewards = self.bandit.rewards(self.order[arm], count)
        if self.record is not None:
            self.drawn.setdefault(arm, []).append(rewards)
        table.draw_ahead(arm, self.reward_range.unit(np.ones(count), rewards))

    def _record_numbered(self, arms):
        """Record the pulls of a run, in this order."""
        rewards = np.empty(arms.size)
        for arm in np.unique(arms).tolist():
            own = arms == arm
            rewards[own] = np.concatenate(self.drawn[arm])[: own.sum()]
        self.record.append((self.order[arms], rewards))

    def _compiling_pays(self, ended=False):
        """Decide, and return, whether what is left of this and later runs is made in compiled code.

        What is left takes at least as long as a rule that does not certify takes to spend its
        budget; each of the later runs takes at least as long as this one.
        """
        if self.compiles or not self.can_begin_again:
            return False
        budget, left = getattr(self.strategy, "budget", None), 0.0
        if not (ended or budget is None or self.strategy.certifies):
            most = budget if self.max_pulls < 0 else min(budget, self.max_pulls)
            left = self.seconds * max(0, most / self.total - 1)
        expected = left + self.later * (self.seconds + left)
        return self.tier.compiles(expected, self._claim)

    def _claim(self, compiles):
        """Return whether the loop is stored, or is to be compiled here; see `Tier.compiles`."""
        if self.numbered:
            compiled = numbered_loop(self.state.table.loop)
        else:
            other = Play(*self.given, compiles=True)
            compiled = compiled_for(other.state, loop.run_batches, other.law)
        if not hasattr(compiled, "claim"):  # there is no compiler
            self.tier.refused = True
            return False
        return compiled.claim(compiles)

    def _run_slice(self, until, steps):
        """Run the loop for ``steps`` batches; return its status and the next m."""
        returned = self._call(loop.run_batches, *self._arguments(until, steps))
        if self.record is not None:
            history = self.chain.history
            made = slice(history.made[0])
            self.record.append((self.order[history.arms[made]], history.rewards[made].copy()))
        return returned

    def _arguments(self, until, steps):
        """Return the arguments of `topk.engine.loop.run_batches`."""
        if self.buffered:
            self.law = self.bandit.law(self.order)  # the buffer may have grown
        if self.record is not None:
            # one or two arms in each step except the first
            history = history_for(0, most=self.counts.size + 2 * steps)
            self.chain = NO_CHAIN._replace(history=history)
        buffers = self.rng, self.arms, self.counts, self.rewards
        return self.state.s, self.chain, self.law, *buffers, until, steps

    def _call(self, function, *given):
        """Call a loop; explain what to do if a rule cannot be compiled."""
        if not self.compiles:
            begin = time.thread_time()
            found = explained(self.strategy, function, *given)
            seconds = time.thread_time() - begin
            self.seconds, self.tier.seconds = self.seconds + seconds, self.tier.seconds + seconds
            return found
        compiled = compiled_for(self.state, function, self.law)
        try:
            return compiled(*given)
        except Exception as error:
            if found := without_value(self.strategy, error):
                raise found from error
            unknown = isinstance(error, KeyError)  # from numba, for an unknown name in ``s.now``
            if not (unknown or type(error).__module__.startswith("numba.")):
                raise
            kind = type(self.strategy).__name__
            text = (
                f"the rule of {kind} cannot be compiled; the error above shows where. A rule may "
                "use only what numba supports; live sessions run it as plain Python. "
                f"{HINT.format(kind)}"
            )
            raise Uncompilable(text) from error.with_traceback(None)

    def warm(self):
        """Compile or load the loop: without a pull, or with those of the first batch."""
        if self.fused:
            self._run_slice(until=-1, steps=0)
        elif self.numbered:
            nothing = np.empty(0, dtype=np.int64)
            self.state.table.play(self._call_numbered, 0, 0, nothing)
        elif self.ruled:
            self._count_batch(*self._draw_batch())

    def _check_stop(self):
        if self.stop is not None and self.stop.is_set():
            raise Interrupted

    def _draw_rewards(self, singly):
        """Draw the next batch.

        Returns
        -------
        batch : tuple of ndarray, shape (m,) each
            Counts, sums and sums of squares, rescaled as for the strategy.
        rewards : list of ndarray or None
            Each arm's rewards in order, if they are drawn ``singly`` and are not 0 or 1;
            `topk.Bandit.pull` adds up the same numbers.
        """
        arms = self.order[self.arms[: self.batch_length]]
        counts = self.counts[: self.batch_length].copy()
        usual = getattr(self.bandit.pull, "__func__", None) is Bandit.pull
        rescaled = self.reward_range != UNIT_RANGE and usual
        if (singly or rescaled) and not self.zero_one:
            drawn = zip(arms.tolist(), counts.tolist(), strict=True)
            rewards = [self.bandit.rewards(arm, count, self.rng) for arm, count in drawn]
            sums, squares = self._unit_sums(counts, rewards)
            return (counts, sums, squares), rewards if singly else None
        sums, squares = self.bandit.pull(arms, counts, self.rng)
        if not usual:  # the user's own
            sums = as_numbers(sums, "sums of Bandit.pull", self.bandit.allowed)
            squares = as_numbers(squares, "squares of Bandit.pull", self.bandit.allowed)
        bad = self.reward_range.impossible(sums, counts)
        if bad.any():  # from the user's own `pull`
            allowed = f"each {self.bandit.allowed}"
            refuse(f"rewards of arm {arms[bad][0]}", float(sums[bad][0]), allowed)
        return (counts, *self.reward_range.to_unit(counts, sums, squares)), None

    def _unit_sums(self, counts, rewards):
        """Return the sums of each arm's rewards, and of their squares, rescaled."""
        centred = [self.reward_range.centred(x) for x in rewards]
        sums, squares = exact_sums(centred), exact_sums([x * x for x in centred])
        return unit_sums(self.reward_range.numbers, counts, sums, squares)

    def _single_rewards(self, counts, sums, squares):
        """Yield each arm's rewards of 0 and 1 in random order."""
        for count, ones in zip(counts, sums.astype(np.int64), strict=True):
            rewards = np.zeros(count)
            rewards[:ones] = 1.0
            if 0 < ones < count:
                self.split.shuffle(rewards)
            yield rewards

    def _count_batch(self, counts, sums, squares):
        """Pass a complete batch to the strategy, and get the next one from it."""
        m = counts.size
        if self.is_last:
            self.state.count(self.arms[:m], counts, sums, squares)
            self.batch_length = 0
        elif self.ruled:
            batch = m, self.arms, self.counts, sums, squares
            self.batch_length = self._limit(self._call(loop.step, self.state.s, *batch))
        else:
            self.state.count(self.arms[:m], counts, sums, squares)
            self.state.update(self.arms[:m])
            self.batch_length = self._limit(self.state.ask(self.arms, self.counts))

    def in_bandit(self, chosen):
        """Return sets of arms in the bandit's numbers: (..., k), or (..., M, k) for M bandits."""
        return by_bandit(np.sort(self.order[chosen]), self.bandit.layout)

    def sets_at_checkpoints(self, checkpoints):
        """Continue to the end of the run; return the sets recommended at each checkpoint.

        Without checkpoints, and at those after the end, it is the final set.  A set is found in one
        of three ways: by the compiled loop, which records the counts at the checkpoints (if means
        alone decide on the set); by stopping at a checkpoint between two batches; or, for one
        inside a batch, from the part of the batch before it.
        """
        limit = self.max_pulls if self.max_pulls >= 0 else math.inf
        marks, sets = [mark for mark in checkpoints if mark < limit], []
        by_loop = self.fused and self.law.other is None and self.recommends_by_means()
        by_loop = by_loop and len(marks) * self.bandit.n <= MAX_RECORDED_COUNTS
        if marks:
            history = history_for(self.bandit.n, marks if by_loop else ())
            self.chain = NO_CHAIN._replace(history=history)
        while len(sets) < len(marks):
            ended = self.advance(until=self.max_pulls if by_loop else marks[len(sets)]) == DONE
            sets += self._recorded_sets(len(sets))
            if ended or len(sets) == len(marks):
                break
            if self.total == marks[len(sets)]:
                sets.append(self.in_bandit(self.state.recommend()))
            else:
                self._truncate_batch()
                for seen in self._counts_inside_batch(marks[len(sets) :]):
                    sets.append(self.in_bandit(recommend_with(self.state, *seen)))
            history.at[0] = len(sets)
        self.finish()
        last = self.in_bandit(self.state.recommend())
        return np.array(sets + [last] * (max(1, len(checkpoints)) - len(sets)))

    def _recorded_sets(self, first):
        """Return the sets at the marks from ``first`` on that the compiled loop has recorded."""
        history = self.chain.history
        new = slice(first, history.at[0])
        if new.start == new.stop:
            return []
        seen = history.status[new], history.sums[new], history.pulls[new]
        return [*self.in_bandit(best_of(*seen, self.state.bandits, self.strategy.k))]

    def _counts_inside_batch(self, marks):
        """Draw the next batch; yield the pulls and sums of all arms at each mark inside it.

        The pulls before a mark are spread evenly over the batch (`water_fill`).  The number of an
        arm's Bernoulli ones among them is a hypergeometric draw, since only the batch's sum is
        known; other rewards are taken in their order.
        """
        end = self._after_batch()
        batch, rewards = self._draw_rewards(singly=True)
        arms, seen = self.arms[: self.batch_length].copy(), self.state.seen
        counts, sums, _ = batch
        counted, counted_ones = np.zeros((2, self.batch_length), dtype=np.int64)
        for mark in itertools.takewhile(lambda mark: mark < end, marks):
            part = water_fill(counts, mark - self.total)
            if rewards:
                some = [x[:c] for x, c in zip(rewards, part, strict=True)]
                gained, _ = self._unit_sums(part, some)
            else:
                left = sums.astype(np.int64) - counted_ones
                more = self.split.hypergeometric(left, counts - counted - left, part - counted)
                counted, counted_ones = part, counted_ones + more
                gained = counted_ones
            pulls, found = seen.pulls.copy(), seen.sums.copy()
            pulls[arms] += part
            found[arms] += gained
            yield pulls, found
        self._count_batch(*batch)

    def totals(self):
        """Return the counts of a finished run, in the bandit's numbers, as in `Outcome`."""
        seen, shape = self.state.seen, self.bandit.means.shape
        pulls, sums = np.empty_like(seen.pulls), np.empty_like(seen.sums)
        pulls[self.order], sums[self.order] = seen.pulls, seen.sums
        pulls, sums = pulls.reshape(shape), sums.reshape(shape)
        found = {"pulls": pulls, "sums": self.reward_range.from_unit(pulls, sums)}
        return found | {"total_pulls": self.total, "certified": self.state.ended == BY_RULE}

    def outcome(self):
        """Return the `Outcome` of a finished run, in the bandit's numbers."""
        selected, trace = self.in_bandit(self.state.recommend()), None
        if self.record is not None:
            arms, rewards = (np.concatenate(x) for x in zip(([], []), *self.record, strict=True))
            trace = arms.astype(np.int64), rewards
        stopped = STOPPED[self.state.ended] or "budget"  # ended by `max_pulls`
        about = {"epsilon": self.strategy.tolerance, "reward_range": self.reward_range}
        about["method"], squares = self.strategy.stops_by or "pairs", self.state.seen.squares
        if squares.size:
            about["unit_squares"] = np.empty_like(squares)
            about["unit_squares"][self.order] = squares
            about["unit_squares"] = about["unit_squares"].reshape(self.bandit.means.shape)
        seen = self.state.seen
        if has_products(seen):
            about["log_products"] = np.empty_like(seen.mantissas)
            found = log_products(seen.mantissas, seen.exponents)
            about["log_products"][self.order] = found
        about["seed"], about["by_pairs"] = self.seed, self.strategy.stops_by == "pairs"
        about["table"] = getattr(self.state, "table", None)
        about["names"] = getattr(self.bandit, "names", None)
        return Outcome(selected, **self.totals(), stopped=stopped, trace=trace, **about)

    def result(self):
        """Finish the run; return its `outcome`."""
        self.finish()
        return self.outcome()

    def rows(self, checkpoints):
        """Finish the run; return its sets and `totals`, as in `topk.Replications`."""
        return {"selected": self.sets_at_checkpoints(checkpoints)} | self.totals()


def exact_sums(rewards):
    """Return the correctly rounded sum of each array of a list."""
    return np.array([exact_sum(x) for x in rewards], dtype=np.float64)


