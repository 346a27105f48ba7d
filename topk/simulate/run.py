"""Simulation of strategies on bandits: one run (`run`) or many replications (`replicate`).

Replication r of a study depends only on the study and on r, so that replications can be made
anywhere, in any order and in chunks of any size.
"""

from __future__ import annotations

import math
import threading
import time
import warnings
from collections.abc import Callable, Sequence
from concurrent.futures.process import BrokenProcessPool
from dataclasses import MISSING, dataclass, fields, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, overload

import numpy as np

import topk
from topk._checks import (
    check_budget,
    check_choice,
    check_epsilon,
    check_flag,
    check_increasing,
    check_integer,
    check_seed,
    refuse,
)
from topk._types import Seed
from topk._warnings import TopkWarning
from topk.bandits import Bandit, check_bandit
from topk.engine import tiering
from topk.engine.streams import INSTANCE, stream
from topk.rules.exhausted import check_values
from topk.rules.forms import Ruled
from topk.rules.strategy import Strategy
from topk.simulate.many import run_together
from topk.simulate.play import Play, played
from topk.simulate.results import SUMMED, VALUES, Outcome, Replications, Summary, summary_part
from topk.simulate.workers import (
    ParentWatch,
    check_jobs,
    choose_workers,
    n_workers,
    on_cluster,
    on_machine,
)
from topk.store import StudyFiles, description_of, versions

if TYPE_CHECKING:
    from distributed import Client

MAX_HELD_VALUES = 2**18  # maximum number of values held for replications made together
CHUNK_SECONDS = 1.0  # target duration of a chunk
MAX_GROWTH = 8  # maximum growth factor from one chunk to the next
TRIAL_SECONDS = 0.02  # simulation in this process before workers are chosen


def run(
    strategy: Strategy,
    bandit: Bandit,
    rng: Seed | None = None,
    trace: bool = False,
    max_pulls: float | None = None,
) -> Outcome:
    """Run a strategy on a bandit once.

    The arms are presented in a random order, which is undone in the outcome, so that no strategy
    can profit from the order of the arms in an instance.

    Parameters
    ----------
    strategy : Strategy
        The strategy to run.
    bandit : Bandit
        The arms.
    rng : int, numpy.random.SeedSequence or numpy.random.Generator, optional
        Seed of the run: ``run(..., rng=s)`` equals replication 0 of ``replicate(..., seed=s)``.  A
        seed is drawn from a generator; by default a fresh one is drawn each time.  The outcome
        stores it as ``seed``.
    trace : bool
        Whether to record every single pull.  The order of rewards inside a batch of Bernoulli pulls
        is drawn from a separate stream and does not change the run.
    max_pulls : int, optional
        Limit on the number of pulls, at least n.  A run that reaches it ends as with a budget:
        ``stopped`` is ``'budget'``, and the set that the strategy recommends then is returned
        without a certificate.  A batch that would exceed the limit is reduced evenly to the pulls
        that remain.  The limit does not change a run that ends earlier.

    Returns
    -------
    Outcome
        The selected arms, the pulls and sums of all arms, and whether the set is certified.

    Raises
    ------
    ValueError
        If an argument is out of range, or the strategy's parameters do not fit the bandit.

    See Also
    --------
    replicate : many independent runs.
    compare : several strategies on the same arms.

    Examples
    --------
    >>> import topk
    >>> topk.run(topk.Uniform(1, budget=200), topk.BernoulliBandit([0.1, 0.9]), rng=0).selected
    array([1])
    """
    check_strategy(strategy)
    _check_suits(strategy, check_bandit(bandit))
    limit, seed = _check_max_pulls(max_pulls, bandit.n), check_seed(rng, "rng")
    _warn_of_no_end(strategy, bandit, limit)
    record = check_flag(trace, "trace")
    return played(Play.result, strategy, bandit, seed, 0, record, max_pulls=limit)


@overload
def replicate(
    strategy: Strategy,
    bandit: Bandit | Sequence[Bandit] | Callable[[np.random.Generator], Bandit],
    runs: int,
    seed: Seed | None = None,
    checkpoints: Sequence[float] | None = None,
    jobs: int | Client | str | None = None,
    progress: bool | None = None,
    keep: Literal["plays"] = "plays",
    epsilon: float | None = None,
    chunk: int | None = None,
    store: str | Path | bool | None = None,
    max_pulls: float | None = None,
) -> Replications: ...


@overload
def replicate(
    strategy: Strategy,
    bandit: Bandit | Sequence[Bandit] | Callable[[np.random.Generator], Bandit],
    runs: int,
    seed: Seed | None = None,
    checkpoints: Sequence[float] | None = None,
    jobs: int | Client | str | None = None,
    progress: bool | None = None,
    *,
    keep: Literal["summary"],
    epsilon: float | None = None,
    chunk: int | None = None,
    store: str | Path | bool | None = None,
    max_pulls: float | None = None,
) -> Summary: ...


def replicate(
    strategy: Strategy,
    bandit: Bandit | Sequence[Bandit] | Callable[[np.random.Generator], Bandit],
    runs: int,
    seed: Seed | None = None,
    checkpoints: Sequence[float] | None = None,
    jobs: int | Client | str | None = None,
    progress: bool | None = None,
    keep: Literal["plays", "summary"] = "plays",
    epsilon: float | None = None,
    chunk: int | None = None,
    store: str | Path | bool | None = None,
    max_pulls: float | None = None,
) -> Replications | Summary:
    """Run a strategy many times, independently.

    Parameters
    ----------
    strategy : Strategy
        The strategy to run.
    bandit : Bandit, sequence of ``runs`` Bandits, or function
        The arms.  A function is called once per replication with a random generator; the Bandit
        that it returns must depend only on this generator.
    runs : int
        Number of replications, at least 1.
    seed : int, numpy.random.SeedSequence or numpy.random.Generator, optional
        Non-negative seed; replication r depends only on the seed and on r.  A seed is drawn from a
        generator; by default a fresh one is drawn each time.  The result stores it as ``seed``.
    checkpoints : sequence of int, optional
        Increasing pull counts, each at least n, at which the recommended set is recorded; only for
        strategies that do not depend on a budget.
    jobs : int, distributed.Client or str, optional
        Number of parallel workers on this machine, with -1 for one per core; or a dask cluster,
        given by its client or by the address of its scheduler, such as
        ``"tcp://127.0.0.1:8786"``.  The default is the environment variable ``TOPK_JOBS``, or 1
        if that is not set.  The result does not depend on it.
    progress : bool, optional
        Whether to show a progress bar; by default only on a terminal.
    keep : {"plays", "summary"}
        Whether to return all replications, or a `Summary`: counts over all replications, and four
        numbers (32 bytes) for each replication and checkpoint.
    epsilon : float, optional
        Tolerance in [0, 1) of those measures of a summary that need one; they are omitted if it is
        not given.
    chunk : int, optional
        Number of replications that a worker gets at a time; by default as many as take about a
        second.  The result does not depend on it.
    store : path or bool, optional
        Folder in which finished replications are stored, so that an interrupted study can be
        continued and a larger one can reuse them.  True means the folder in the environment
        variable ``TOPK_STORE``, or one in the user's cache; False means none.  The default is the
        folder in ``TOPK_STORE``, or none if that is ``off`` or not set.  A strategy, bandit or
        function that is not the library's is stored only if it has an attribute ``version``, which
        must change with its behaviour.  A `topk.store.StoreWarning` is issued if it has none, or if
        there is no seed: later studies could not reuse the results.  A folder in which other users
        could replace results is refused, see `topk.store`.
    max_pulls : int, optional
        Limit on the pulls of every replication, as in `run`; useful if a rule might never stop.

    Returns
    -------
    Replications or Summary
        The latter with ``keep="summary"``.

    Raises
    ------
    ValueError
        If an argument is out of range, the strategy's parameters do not fit the bandit, or other
        users can write to the store.
    RuntimeError
        If a worker process was killed, or a machine of the cluster has a different version.

    See Also
    --------
    run : one run.
    compare : several strategies on the same arms.

    Examples
    --------
    >>> import topk
    >>> bandit = topk.BernoulliBandit([0.2, 0.8, 0.5])
    >>> replicate(topk.SAR(1, budget=90), bandit, runs=10, seed=1).selected.shape
    (10, 1, 1)
    """
    runs = check_integer(runs, "runs", 1, floats=True)
    chunk = None if chunk is None else check_integer(chunk, "chunk", 1)
    study, first = study_of(strategy, bandit, runs, seed, checkpoints, max_pulls, keep, epsilon)
    jobs, files = check_jobs(jobs), StudyFiles(study, store, reusable=seed is not None)
    study.runs, study.workers = runs, n_workers(jobs)
    found = study.combined(runs, _stored_and_new(study, runs, jobs, chunk, progress, files))
    if keep == "summary":
        values = {name: found.pop(name) for name in VALUES}
        return Summary(
            runs, study.checkpoints, study.epsilon, **found, values=values, seed=study.seed
        )
    found = {"means": first.means} | found
    names = getattr(bandit, "names", None) if isinstance(bandit, Bandit) else None
    return Replications(**found, checkpoints=study.checkpoints, seed=study.seed, names=names)


def study_of(
    strategy, bandit, runs, seed, checkpoints=None, max_pulls=None, keep="plays", epsilon=None
):
    """Return the study that `replicate` runs, and its first bandit, after all checks."""
    check_strategy(strategy)
    seed, epsilon = check_seed(seed, "seed"), _check_kept(keep, epsilon)
    study = Study(strategy, _check_bandits(bandit, runs), seed, keep=keep, epsilon=epsilon)
    first = study.bandit_of(0)
    _check_suits(strategy, first)
    # checks that the parameters fit the arms; the first run begins with a copy of this state
    fitted = first.form(strategy).begin(first.layout, first.reward_range).strategy
    if first.reward_range.items and not fitted.skips_known:
        check_values(strategy, first.n, first.reward_range.items)
    study.shape = first.means.shape
    study.checkpoints = _check_checkpoints(checkpoints, strategy, first.n)
    study.max_pulls = _check_max_pulls(max_pulls, first.n)
    _warn_of_no_end(strategy, first, study.max_pulls)
    return study, first


def warm(
    strategies: Strategy | Sequence[Strategy] | None = None, bandit: Bandit | None = None,
) -> None:
    """Compile strategies ahead of their first run.

    Otherwise a run begins as plain Python and is compiled when that pays, see
    `topk.engine.tiering`.  A rule is compiled once for few arms and, if that pays, once more for
    many arms.  Each takes about ten seconds on one core, and a fraction of a second in later
    processes, since the result is cached on disk (in ``NUMBA_CACHE_DIR`` or the user's cache) until
    the rule or the library changes.  All strategies of the library take some minutes.  Live
    sessions compile nothing, and with ``TOPK_COMPILE=never`` nothing does.

    Parameters
    ----------
    strategies : Strategy or list of Strategy, optional
        The strategies to compile; by default all of the library.  A parameter that is None may be
        absent from a rule, which is then compiled separately.
    bandit : Bandit, optional
        The arms; by default both few and many arms with 0/1 rewards.

    Raises
    ------
    ValueError
        If ``strategies`` contains anything else, or a strategy does not fit the bandit.

    Examples
    --------
    >>> import topk
    >>> topk.warm(topk.Uniform(1, budget=100))
    """
    if tiering.setting() == tiering.NEVER:
        return
    if strategies is None:
        strategies = [_any_of(getattr(topk, name)) for name in topk.strategies.__all__]
    several: Any = strategies if isinstance(strategies, list | tuple) else [strategies]
    for strategy in several:
        check_strategy(strategy)
        k = getattr(strategy, "k", 1)
        n = next(n for n in range(max(2, k), 2 * k + 1) if k <= strategy.most_k(n))
        means = np.full((2, n) if strategy.several else n, 0.5)
        coins = topk.MultiBandit if strategy.several else topk.BernoulliBandit
        some = coins(means) if bandit is None else check_bandit(bandit)
        _check_suits(strategy, some)
        sizes = (2, math.inf) if bandit is None else (bandit.n,)
        if isinstance(strategy, Ruled):
            for search in {strategy.search_for(size) for size in sizes}:
                play = Play(strategy, some, 0, 0, search=search, compiles=True)
                play.warm()
                play.tier.compiled = True
        elif some.form(strategy).independent:
            usual = topk.BernoulliBandit(np.full(2 * k + 2, 0.5)) if bandit is None else some
            play = Play(strategy, usual, 0, 0, compiles=True)
            play.warm()
            play.tier.compiled = True


def _any_of(cls):
    """Return a strategy of a given class with arbitrary parameters."""
    some = {"k": 1, "budget": 100, "epsilon": 0.1, "delta": 0.1, "complexity": 1.0}
    needed = [field.name for field in fields(cls) if field.default is MISSING]
    return cls(**{name: some[name] for name in needed})


def _stored_and_new(study, runs, jobs, chunk, progress, files):
    """Yield ``(begin, end, rows)`` of all replications, first stored ones, then new ones."""
    if progress:
        from tqdm.auto import tqdm  # in a notebook a widget, which only who asks for it gets
    else:
        from tqdm import tqdm

    missing, reached = [], 0
    disable = None if progress is None else not progress
    with tqdm(total=runs, unit="play", disable=disable) as bar:
        for begin, end, rows in files.stored(runs):
            missing.append((reached, begin))
            reached = end
            bar.update(end - begin)
            yield begin, end, rows
        chunks = Chunks([*missing, (reached, runs)], chunk, study.workers)
        for begin, end, rows, seconds in _run_missing(study, chunks, jobs):
            chunks.adapt(end - begin, seconds)
            files.add(begin, end, rows, seconds)
            bar.update(end - begin)
            yield begin, end, rows


@dataclass
class Study:
    """The replications to make, and the results to keep of each.

    Attributes
    ----------
    strategy : Strategy
        The strategy to run.
    bandit : Bandit, list of Bandit, or function
        The arms, as in `replicate`; in a worker a dict of bandits by number of replication.
    seed : int
        Seed of the random streams of all replications.
    checkpoints : tuple of int
        Pull counts at which the recommended set is recorded; empty for the end only.
    keep, epsilon, max_pulls
        As in `replicate`; -1 for no limit.
    shape : tuple of int
        (n,), or (M, n) of several bandits.
    runs, workers : int
        Number of replications, and of the workers that share them.
    stop : object, optional
        An event; while its ``is_set()`` is true, `topk.simulate.play.Interrupted` is raised.
    """

    strategy: object
    bandit: object
    seed: int
    checkpoints: tuple = ()
    keep: str = "plays"
    epsilon: float | None = None
    max_pulls: int = -1
    shape: tuple | None = None
    runs: int = 1
    workers: int = 1
    stop: object = None

    def bandit_of(self, number):
        """Return the bandit of replication ``number``."""
        if isinstance(self.bandit, Bandit):
            return self.bandit
        if isinstance(self.bandit, list | dict):
            return self.bandit[number]
        bandit = check_bandit(self.bandit(stream(self.seed, number, INSTANCE)))
        if bandit.means.shape != (self.shape or bandit.means.shape):
            allowed = f"with {self.shape} arms each time"
            refuse("bandit", f"one with {bandit.means.shape} arms", allowed)
        return bandit

    def later(self, number):
        """Return how many runs a worker makes after replication ``number``, about."""
        return max(0, self.runs - 1 - number) / self.workers

    def for_chunk(self, begin, end):
        """Return the study for a worker that makes replications ``begin`` to ``end - 1``."""
        if not isinstance(self.bandit, list):
            return self
        return replace(self, bandit={number: self.bandit[number] for number in range(begin, end)})

    def description(self):
        """Describe all that determines the replications, as JSON values; see `topk.store`."""
        names = ("strategy", "bandit", "seed", "checkpoints", "keep", "epsilon", "max_pulls")
        return {name: description_of(getattr(self, name)) for name in names}

    def combined(self, count, chunks):
        """Combine chunks ``(begin, end, rows)``, in any order, into ``count`` replications."""
        found = {}
        for begin, end, rows in chunks:
            for name, part in rows.items():
                if self.keep == "summary" and name in SUMMED:
                    found[name] = found.get(name, 0) + part
                    continue
                if name not in found:
                    found[name] = np.empty((count, *part.shape[1:]), part.dtype)
                found[name][begin:end] = part
        return found

    def make(self, begin, end):
        """Make replications ``begin`` to ``end - 1``; return their results, name -> array."""
        return self.combined(end - begin, self._groups(begin, end))

    def _groups(self, begin, end):
        """Yield ``(begin, end, rows)``, counted from ``begin``, of replications made together.

        This bounds the memory of a chunk: a summary discards most of each piece at once.
        """
        values = math.prod(self.shape) * (4 + len(self.checkpoints))  # of one replication
        largest, first = max(1, MAX_HELD_VALUES // values), begin
        while first < end:
            # draw random bandits only shortly before they are used
            step = largest if isinstance(self.bandit, Bandit) else min(largest, 1 + first - begin)
            numbers = range(first, min(first + step, end))
            yield first - begin, numbers.stop - begin, self._results(numbers)
            first = numbers.stop

    def _results(self, numbers):
        """Return the results to keep of some replications made together."""
        same = isinstance(self.bandit, Bandit)
        bandits = [self.bandit] if same else [self.bandit_of(number) for number in numbers]
        given = self.strategy, bandits, self.seed, numbers, self.stop, self.max_pulls
        rows = None if self.checkpoints else run_together(*given)
        rows = rows or self._one_by_one(bandits, numbers)
        if not same:
            rows["means"] = np.array([bandit.means for bandit in bandits])
        if self.keep == "plays":
            return rows
        means = rows.get("means", bandits[0].means)
        return summary_part(rows, means, self.checkpoints, self.epsilon)

    def _one_by_one(self, bandits, numbers):
        """Return the result of `run_together`, but at all checkpoints and one by one."""
        rows = []
        for number in numbers:
            bandit, limit = bandits[(number - numbers.start) % len(bandits)], self.max_pulls
            options = {"stop": self.stop, "max_pulls": limit, "later": self.later(number)}
            given = self.strategy, bandit, self.seed, number
            rows.append(played(lambda play: play.rows(self.checkpoints), *given, **options))
        return {name: np.array([row[name] for row in rows]) for name in rows[0]}


# Workers: this process, threads, other processes, or the machines of a cluster


class Chunks:
    """Cut ranges of replications into chunks of about ``CHUNK_SECONDS``.

    Parameters
    ----------
    missing : list of (int, int)
        The ranges.
    chunk : int or None
        A fixed number of replications for every chunk.
    workers : int
        Number of parallel workers.
    """

    def __init__(self, missing, chunk, workers):
        self.missing, self.chunk, self.workers, self.size = missing, chunk, workers, 1
        self.remaining = sum(end - begin for begin, end in missing)
        self.plays, self.seconds = 0, 0.0  # replications so far, and their duration

    def __iter__(self):
        for begin, end in self.missing:
            while begin < end:
                # smaller chunks near the end, so that all workers finish together
                share = self.remaining
                if self.workers > 1:
                    share = -(-share // (2 * self.workers))
                begin, first = min(end, begin + (self.chunk or min(self.size, share))), begin
                self.remaining -= begin - first
                yield first, begin

    def adapt(self, plays, seconds):
        """Record the duration of a chunk, and adapt the size of the next ones."""
        on_target = int(plays * CHUNK_SECONDS / max(seconds, 1e-9))
        self.size = max(1, min(MAX_GROWTH * plays, on_target))
        self.plays, self.seconds = self.plays + plays, self.seconds + seconds


def _run_missing(study, chunks, jobs):
    """Yield ``(begin, end, rows, seconds)`` of the missing chunks, in no particular order.

    The first replications are made in this process, the rest by workers if that pays.
    """
    spans, kind = iter(chunks), None if isinstance(jobs, int) else "cluster"
    if chunks.remaining and not kind:
        first = Play(study.strategy, study.bandit_of(0), study.seed, 0)
        first.warm()
    while chunks.remaining and not kind:
        compiles = first.tier.begins_compiled()
        yield _run_chunk(study, *next(spans))
        if compiles != first.tier.begins_compiled():  # the last chunk tells nothing of the others
            chunks.plays, chunks.seconds = 0, 0.0
        elif jobs > 1 and chunks.seconds >= TRIAL_SECONDS:
            fused, seconds = first.fused and not first.buffered, chunks.seconds / chunks.plays
            kind = choose_workers(fused and compiles, seconds, chunks.remaining)
    if chunks.remaining:
        yield from _run_by_workers(study, spans, jobs, kind)


def _run_chunk(study, begin, end, made=None):
    """Make some replications and time them; on a cluster, check the worker's version first."""
    if made is not None and made != versions():
        raise RuntimeError(
            f"a worker has a different version of topk or of its dependencies than the "
            f"driver ({versions()}, not {made}); install the same versions everywhere"
        )
    start = time.perf_counter()
    rows = study.make(begin, end)
    return begin, end, rows, time.perf_counter() - start


def _run_by_workers(study, spans, jobs, kind):
    """Run chunks in threads or processes of this machine, or on a cluster."""
    here = kind != "cluster"
    stop = threading.Event() if kind == "threads" else ParentWatch() if here else None
    study, made = replace(study, stop=stop), None if here else versions()
    tasks = ((_run_chunk, study.for_chunk(*span), *span, made) for span in spans)
    try:
        yield from on_machine(jobs, kind, tasks) if here else on_cluster(jobs, tasks)
    except BrokenProcessPool as error:
        raise RuntimeError(
            "a worker process was killed, for example because the machine ran out of memory; "
            "the finished replications are correct. Use fewer jobs or keep='summary'; "
            "with a store, finished replications are not repeated"
        ) from error
    finally:
        if kind == "threads":
            stop.set()


# Arguments


def _check_max_pulls(max_pulls, n):
    return -1 if max_pulls is None else check_budget(max_pulls, "max_pulls", n)


def check_strategy(strategy: Any, name: str = "strategy") -> Strategy:
    """Return ``strategy`` if it is a `Strategy`."""
    if not isinstance(strategy, Strategy):
        refuse(name, strategy, "a topk.Strategy, with its parameters")
    return strategy


def _check_kept(keep, epsilon):
    """Return epsilon, after checking it together with ``keep``."""
    check_choice(keep, "keep", ("plays", "summary"))
    if keep == "plays" and epsilon is not None:
        refuse("epsilon", epsilon, "given to Replications.frame, unless keep is 'summary'")
    return None if epsilon is None else check_epsilon(epsilon)


def _check_bandits(bandit, runs):
    """Return ``bandit`` as a Bandit, a list of them or a function."""
    if isinstance(bandit, Bandit) or callable(bandit):
        return bandit
    try:
        bandits = list(bandit)
    except TypeError:
        bandits = []
    if len(bandits) != runs or len({check_bandit(b).layout for b in bandits}) != 1:
        allowed = f"a Bandit, {runs} Bandits of the same shape, or a function of a generator"
        refuse("bandit", bandit, allowed)
    return bandits


def _check_suits(strategy, bandit):
    """Refuse arms of another kind than those that the strategy is for."""
    if strategy.several != (bandit.means.ndim > 1):
        wanted = "a topk.MultiBandit" if strategy.several else "a single bandit"
        refuse("bandit", bandit, f"{wanted} for {type(strategy).__name__}")
    form = bandit.form(strategy)  # refuses what is not valid on these arms
    if strategy.paired and not (bandit.aligned or form.independent):
        wanted = f"a topk_eval.ItemPool for {type(strategy).__name__}, which is about new items"
        refuse("bandit", bandit, wanted)
    form.check_shape(bandit.layout)


def _warn_of_no_end(strategy, bandit, limit):
    """Warn of a run that ends only by an error: an exact certificate where the k-th best arms tie.

    Of results that are drawn without replacement ties can be certified.
    """
    sure = strategy.certifies and hasattr(strategy, "delta")  # others may end as they like
    exact = sure and getattr(strategy, "epsilon", 0.0) == 0
    ends = limit >= 0 or getattr(strategy, "budget", None) is not None or bandit.reward_range.items
    if not exact or ends:
        return
    ranked = -np.sort(-bandit.means, axis=-1)
    if (ranked[..., strategy.k - 1 : strategy.k] == ranked[..., strategy.k : strategy.k + 1]).any():
        text = (
            "the means at the boundary are equal and epsilon is 0, so that a run has no end, or a "
            "wrong one: give it max_pulls=, a budget or an epsilon"
        )
        warnings.warn(text, TopkWarning, stacklevel=3)


def _check_checkpoints(checkpoints, strategy, n):
    """Return the checkpoints as a tuple of increasing integers, each at least n."""
    if checkpoints is None:
        return ()
    if not strategy.anytime:
        rule = f"the rule of {type(strategy).__name__}"
        allowed = f"None: {rule} depends on its budget (or has no anytime = True)"
        refuse("checkpoints", checkpoints, allowed)
    return check_increasing(checkpoints, "checkpoints", n)
