"""Playing strategies against bandits: once (`run`) or many times (`replicate`)."""

import math
import os
import time
from dataclasses import dataclass
from functools import partial

import numpy as np

from topk._checks import check_flag, check_integer, refuse
from topk.bandits import Bandit, BernoulliBandit
from topk.kernels import rules
from topk.kernels.rules import CROSSING, DONE, PAUSED
from topk.kernels.tally import credit
from topk.session import STOPPED, peek
from topk.strategies.protocol import Strategy
from topk.streams import INSTANCE, SPLIT, stream, streams

SLICE = 0.1  # seconds after which a compiled loop should come back to Python


@dataclass(frozen=True)
class Outcome:
    """What one play came to.

    Attributes
    ----------
    selected : ndarray of int64, shape (k,)
        The chosen arms, sorted.
    pulls : ndarray of int64, shape (n,)
        Pulls of each arm.
    sums : ndarray of float, shape (n,)
        Each arm's sum of rewards.
    total_pulls : int
        Pulls of all arms.
    certified : bool
        Whether the strategy's own rule ended the play, so that its promise holds.
    stopped : {'rule', 'budget'}
        What ended it.
    trace : tuple of ndarray or None
        ``(arms, rewards)``, both (total_pulls,), in order, if asked for.
    """

    selected: np.ndarray
    pulls: np.ndarray
    sums: np.ndarray
    total_pulls: int
    certified: bool
    stopped: str
    trace: tuple | None = None


@dataclass(frozen=True)
class Replications:
    """What many plays came to; play r is row r.

    Attributes
    ----------
    selected : ndarray of int64, shape (runs, number of checkpoints or 1, k)
        The set that was recommended at each checkpoint, or in the end.
    pulls : ndarray of int64, shape (runs, n)
        Pulls of each arm in the whole play.
    sums : ndarray of float, shape (runs, n)
        Each arm's sum of rewards.
    total_pulls : ndarray of int64, shape (runs,)
        Pulls of all arms.
    certified : ndarray of bool, shape (runs,)
        Whether the strategy's own rule ended the play.
    means : ndarray of float, shape (n,) or (runs, n)
        The arms' means; a row a play if every play had a bandit of its own.
    checkpoints : tuple of int
        The pull counts that were asked for; empty if none.
    """

    selected: np.ndarray
    pulls: np.ndarray
    sums: np.ndarray
    total_pulls: np.ndarray
    certified: np.ndarray
    means: np.ndarray
    checkpoints: tuple = ()

    def frame(self, epsilon=None):
        """Return a tidy data frame: a row per play and checkpoint, with every metric.

        Parameters
        ----------
        epsilon : float, optional
            Tolerance in [0, 1) of the metrics that have one; without it they are left out.

        Returns
        -------
        pandas.DataFrame
            Columns ``run``, ``checkpoint`` (nan if none was asked for), ``pulls_used``,
            ``certified`` (at that checkpoint), ``aggregate_regret``, ``simple_regret``,
            ``precision``, ``misidentified`` and, with ``epsilon``, ``explore_m`` and
            ``elementwise_optimal``.
        """
        import pandas

        from topk import metrics

        runs, points, _ = self.selected.shape
        marks = np.array(self.checkpoints or (np.nan,), dtype=np.float64)
        used = np.minimum(self.total_pulls[:, None], np.where(np.isnan(marks), np.inf, marks))
        ended = used == self.total_pulls[:, None]
        columns = {
            "run": np.repeat(np.arange(runs), points),
            "checkpoint": np.tile(marks, runs),
            "pulls_used": used.astype(np.int64).ravel(),
            "certified": (self.certified[:, None] & ended).ravel(),
        }
        means = self.means if self.means.ndim == 1 else self.means[:, None, :]
        for name in ("aggregate_regret", "simple_regret", "precision", "misidentified"):
            columns[name] = getattr(metrics, name)(self.selected, means).ravel()
        if epsilon is not None:
            for name in ("explore_m", "elementwise_optimal"):
                columns[name] = getattr(metrics, name)(self.selected, means, epsilon).ravel()
        return pandas.DataFrame(columns)


def run(strategy, bandit, rng=0, trace=False):
    """Play a strategy against a bandit once.

    The arms are presented in a random order of the play's own, undone in the outcome, so
    that no strategy can profit from how an instance happens to be written down.

    Parameters
    ----------
    strategy : Strategy
        What to play.
    bandit : Bandit
        Against which arms.
    rng : int or numpy.random.Generator
        Seed of the play: ``run(..., rng=s)`` is play 0 of ``replicate(..., seed=s)``.  A
        generator is asked for a seed.
    trace : bool
        Whether to record every single pull.  The order of rewards inside a batch of
        Bernoulli pulls is drawn from a stream of its own and does not change the play.

    Returns
    -------
    Outcome

    Raises
    ------
    ValueError
        If an argument is out of range, the strategy's parameters included.

    Examples
    --------
    >>> import topk
    >>> topk.run(topk.Uniform(1, budget=200), topk.BernoulliBandit([0.1, 0.9])).selected
    array([1])
    """
    _check_strategy(strategy)
    _check_bandit(bandit)
    if isinstance(rng, np.random.Generator):
        rng = int(rng.integers(2**63))
    seed = check_integer(rng, "rng", 0)
    play = _Play(strategy, bandit, seed, 0, record=check_flag(trace, "trace"))
    play.advance()
    return play.outcome()


def replicate(strategy, bandit, runs, seed=0, checkpoints=None, jobs=None, progress=None):
    """Play a strategy many times, independently.

    Parameters
    ----------
    strategy : Strategy
        What to play.
    bandit : Bandit, sequence of ``runs`` Bandits, or function
        Against which arms; a function is called with a generator, once a play, and
        returns that play's Bandit.
    runs : int
        How many plays, at least 1.
    seed : int
        Non-negative.  Play r depends on the seed and on r only.
    checkpoints : sequence of int, optional
        Increasing pull counts, each at least n, at which the recommended set is reported;
        only for strategies whose rule does not depend on a budget.
    jobs : int, optional
        How many plays go on at a time; the environment variable ``TOPK_JOBS``, or 1,
        unless given.  The result does not depend on it.
    progress : bool, optional
        Whether to show a bar; only on a terminal unless given.

    Returns
    -------
    Replications

    Raises
    ------
    ValueError
        If an argument is out of range.

    Examples
    --------
    >>> import topk
    >>> bandit = topk.BernoulliBandit([0.2, 0.8, 0.5])
    >>> replicate(topk.SAR(1, budget=90), bandit, runs=10, seed=1).selected.shape
    (10, 1, 1)
    """
    _check_strategy(strategy)
    runs = check_integer(runs, "runs", 1)
    seed = check_integer(seed, "seed", 0)
    jobs = check_integer(os.environ.get("TOPK_JOBS", 1) if jobs is None else jobs, "jobs", 1)
    bandit_of = _bandit_chooser(bandit, runs, seed)
    first = bandit_of(0)
    state = strategy.begin(first.n)
    checkpoints = _check_checkpoints(checkpoints, strategy, first.n)
    chunk = partial(_play_chunk, strategy, bandit_of, seed, checkpoints)
    threads = rules.is_compiled(state) and isinstance(first, BernoulliBandit)
    parts = list(_in_chunks(chunk, runs, jobs, threads, progress))
    columns = {name: np.concatenate([part[name] for part in parts]) for name in parts[0]}
    if isinstance(bandit, Bandit):
        columns["means"] = bandit.means
    return Replications(**columns, checkpoints=checkpoints)


class _Play:
    """One play in progress: its streams, its state and, if wanted, its record."""

    def __init__(self, strategy, bandit, seed, number, record=False):
        self.strategy, self.bandit = strategy, bandit
        self.order, self.rng = streams(seed, number, bandit.n)
        self.split_seed = seed, number
        self.state = strategy.begin(bandit.n)
        self.arms, self.counts = np.zeros((2, bandit.n), dtype=np.int64)
        self.record = [] if record else None
        self.fused = (
            not record and rules.is_compiled(self.state) and isinstance(bandit, BernoulliBandit)
        )
        if self.fused:
            self.means, self.sums = bandit.means[self.order], np.zeros(bandit.n)
        self._split = None

    @property
    def split(self):
        """The stream that orders rewards inside a batch; made when first needed."""
        if self._split is None:
            self._split = stream(*self.split_seed, SPLIT)
        return self._split

    @property
    def total(self):
        return int(self.state.tally.total[0])

    def advance(self, until=-1):
        """Play whole batches up to ``until`` pulls; return ``DONE`` or ``CROSSING``."""
        if self.fused:
            return self._advance_fused(until)
        while True:
            m = rules.ask(self.state, self.arms, self.counts)
            if m == 0:
                return DONE
            if until >= 0 and self.total + self.counts[:m].sum() > until:
                return CROSSING
            self.absorb(*self.draw(m))

    def _advance_fused(self, until):
        """The same in compiled code, in slices of about ``SLICE`` seconds."""
        steps, status = 16, PAUSED
        while status == PAUSED:
            begin = time.perf_counter()
            status = rules.play(
                self.state, self.means, self.rng, self.arms, self.counts, self.sums, until, steps
            )
            if time.perf_counter() - begin < SLICE / 2:
                steps *= 2
        return status

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
        """Hand a complete batch to the strategy."""
        m = counts.size
        credit(self.state.tally, m, self.arms, counts, sums, squares)
        rules.update(self.state, m, self.arms, counts)

    def recommended(self):
        """Return the set that the strategy would return now, in the bandit's numbers."""
        chosen = np.empty(self.strategy.k, dtype=np.int64)
        rules.recommend(self.state, chosen)
        return np.sort(self.order[chosen])

    def at_checkpoints(self, checkpoints):
        """Play to the end; return the recommended sets, shape (number of checkpoints, k)."""
        sets, remaining = [], list(checkpoints)
        while remaining:
            status = self.advance(until=remaining[0])
            if status == DONE or self.total == remaining[0]:
                sets.append(self.recommended())
                remaining.pop(0)
                continue
            size = self.total + self.counts[: rules.ask(self.state, self.arms, self.counts)].sum()
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
        m = rules.ask(self.state, self.arms, self.counts)
        arms, counts = self.arms[:m].copy(), self.counts[:m].copy()
        split = self._splitter(m)
        sets = []
        for mark in marks:
            part = water_fill(counts, mark - self.total)
            sums = self.state.tally.sums[arms] + split(part)
            sets.append(np.sort(self.order[peek(self.state, self.strategy.k, arms, part, sums)]))
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
        stopped = STOPPED[int(self.state.finished[0])]
        pulls, sums = self.undone(self.state.tally.pulls), self.undone(self.state.tally.sums)
        trace = None
        if self.record is not None:
            arms = np.repeat([a for a, _ in self.record], [len(r) for _, r in self.record])
            trace = arms.astype(np.int64), np.concatenate([r for _, r in self.record] or [[]])
        certified = stopped == "rule"
        return Outcome(self.recommended(), pulls, sums, self.total, certified, stopped, trace)

    def undone(self, values):
        """Return per-arm values in the bandit's order."""
        out = np.empty_like(values)
        out[self.order] = values
        return out


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


def _play_chunk(strategy, bandit_of, seed, checkpoints, numbers):
    """Play some plays; return their rows."""
    rows = {name: [] for name in ("selected", "pulls", "sums", "total_pulls", "certified", "means")}
    for number in numbers:
        bandit = bandit_of(number)
        play = _Play(strategy, bandit, seed, number)
        if checkpoints:
            rows["selected"].append(play.at_checkpoints(checkpoints))
        else:
            play.advance()
            rows["selected"].append(play.recommended()[None, :])
        rows["pulls"].append(play.undone(play.state.tally.pulls))
        rows["sums"].append(play.undone(play.state.tally.sums))
        rows["total_pulls"].append(play.total)
        rows["certified"].append(STOPPED[int(play.state.finished[0])] == "rule")
        rows["means"].append(bandit.means)
    return {name: np.array(values) for name, values in rows.items()}


def _in_chunks(chunk, runs, jobs, threads, progress):
    """Yield the rows of all plays, in order, computed ``jobs`` chunks at a time."""
    from joblib import Parallel, delayed
    from tqdm.auto import tqdm

    size = max(1, min(64, -(-runs // (4 * jobs))))
    pieces = [range(begin, min(begin + size, runs)) for begin in range(0, runs, size)]
    backend = "threading" if threads else "loky"
    parallel = Parallel(n_jobs=min(jobs, len(pieces)), backend=backend, return_as="generator")
    disable = None if progress is None else not progress
    with tqdm(total=runs, unit="play", disable=disable) as bar:
        for piece, rows in zip(pieces, parallel(delayed(chunk)(p) for p in pieces), strict=True):
            bar.update(len(piece))
            yield rows


class _One:
    """The same bandit in every play."""

    def __init__(self, bandit):
        self.bandit = bandit

    def __call__(self, number):
        return self.bandit


class _Many:
    """A bandit for each play."""

    def __init__(self, bandits):
        self.bandits = bandits

    def __call__(self, number):
        return self.bandits[number]


class _Drawn:
    """A fresh bandit for each play, drawn from the play's own stream."""

    def __init__(self, draw, seed):
        self.draw, self.seed = draw, seed

    def __call__(self, number):
        return _check_bandit(self.draw(stream(self.seed, number, INSTANCE)))


def _bandit_chooser(bandit, runs, seed):
    if isinstance(bandit, Bandit):
        return _One(bandit)
    if callable(bandit):
        return _Drawn(bandit, seed)
    try:
        bandits = list(bandit)
    except TypeError:
        bandits = []
    if len(bandits) != runs or len({_check_bandit(b).n for b in bandits}) != 1:
        allowed = f"a Bandit, {runs} Bandits with as many arms each, or a function of a generator"
        refuse("bandit", bandit, allowed)
    return _Many(bandits)


def _check_bandit(bandit):
    if not isinstance(bandit, Bandit):
        refuse("bandit", bandit, "a topk.Bandit")
    return bandit


def _check_strategy(strategy):
    if not isinstance(strategy, Strategy):
        refuse("strategy", strategy, "a topk.Strategy")
    return strategy


def _check_checkpoints(checkpoints, strategy, n):
    if checkpoints is None:
        return ()
    if not strategy.anytime:
        refuse("checkpoints", checkpoints, "None for a strategy whose rule depends on its budget")
    marks = tuple(check_integer(mark, "checkpoints", n) for mark in np.atleast_1d(checkpoints))
    if not marks or any(b <= a for a, b in zip(marks, marks[1:], strict=False)):
        refuse("checkpoints", checkpoints, "a sequence of increasing pull counts")
    return marks
