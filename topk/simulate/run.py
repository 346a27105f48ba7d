"""Playing strategies against bandits: once (`run`) or many times (`replicate`).

Play r of a study depends on the study and on r alone, so that plays can be made anywhere, in
any order and in portions of any size.
"""

from __future__ import annotations

import math
import threading
import time
from collections.abc import Callable, Sequence
from concurrent.futures.process import BrokenProcessPool
from dataclasses import MISSING, dataclass, fields, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, overload

import numpy as np

import topk
from topk._checks import (
    check_choice,
    check_epsilon,
    check_flag,
    check_increasing,
    check_integer,
    refuse,
)
from topk._types import Seed
from topk.bandits import Bandit, check_bandit
from topk.engine.known import check_cells
from topk.engine.state import begin_run
from topk.engine.streams import INSTANCE, stream
from topk.rules.strategy import Ruled, Strategy
from topk.simulate.many import play_together
from topk.simulate.play import Play
from topk.simulate.results import SUMMED, VALUES, Outcome, Replications, Summary, summed
from topk.simulate.workers import Orphaned, _on_cluster, _parallel, check_jobs, helpers
from topk.store import Shelf, described, made_by

if TYPE_CHECKING:
    from distributed import Client

HELD = 2**18  # numbers: what the plays that are made at a time leave behind, until it is gathered
TARGET = 1.0  # seconds that a portion should take
GROWTH = 8  # a portion has at most so many times as many plays as the one before
TRIAL = 0.02  # seconds of play in this process before it is decided who plays the rest


def run(
    strategy: Strategy,
    bandit: Bandit,
    rng: Seed | None = 0,
    trace: bool = False,
    max_pulls: int | None = None,
) -> Outcome:
    """Play a strategy against a bandit once.

    The arms are presented in a random order of the play's own, undone in the outcome, so
    that no strategy can profit from how an instance happens to be written down.

    Parameters
    ----------
    strategy : Strategy
        What to play.
    bandit : Bandit
        Against which arms.
    rng : int, numpy.random.Generator or None
        Seed of the play: ``run(..., rng=s)`` is play 0 of ``replicate(..., seed=s)``.  A
        generator is asked for a seed; None stands for another one each time.
    trace : bool
        Whether to record every single pull.  The order of rewards inside a batch of
        Bernoulli pulls is drawn from a stream of its own and does not change the play.
    max_pulls : int, optional
        At least n: so many pulls end the play as a budget does, ``stopped`` by the ``'budget'``
        and not certified, with the set that the strategy would name then.  Of a batch that would
        pass the limit as much as fits is pulled, spread evenly.  A play that ends before is the
        same play.

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
    _check_suits(strategy, check_bandit(bandit))
    most = _check_most(max_pulls, bandit.n)
    play = Play(strategy, bandit, _seed(rng, "rng"), 0, check_flag(trace, "trace"), most=most)
    play.finish()
    return play.outcome()


@overload
def replicate(
    strategy: Strategy,
    bandit: Bandit | Sequence[Bandit] | Callable[[np.random.Generator], Bandit],
    runs: int,
    seed: int | None = 0,
    checkpoints: Sequence[int] | None = None,
    jobs: int | Client | str | None = None,
    progress: bool | None = None,
    keep: Literal["plays"] = "plays",
    epsilon: float | None = None,
    chunk: int | None = None,
    store: str | Path | bool | None = None,
    max_pulls: int | None = None,
) -> Replications: ...


@overload
def replicate(
    strategy: Strategy,
    bandit: Bandit | Sequence[Bandit] | Callable[[np.random.Generator], Bandit],
    runs: int,
    seed: int | None = 0,
    checkpoints: Sequence[int] | None = None,
    jobs: int | Client | str | None = None,
    progress: bool | None = None,
    *,
    keep: Literal["summary"],
    epsilon: float | None = None,
    chunk: int | None = None,
    store: str | Path | bool | None = None,
    max_pulls: int | None = None,
) -> Summary: ...


def replicate(
    strategy: Strategy,
    bandit: Bandit | Sequence[Bandit] | Callable[[np.random.Generator], Bandit],
    runs: int,
    seed: int | None = 0,
    checkpoints: Sequence[int] | None = None,
    jobs: int | Client | str | None = None,
    progress: bool | None = None,
    keep: Literal["plays", "summary"] = "plays",
    epsilon: float | None = None,
    chunk: int | None = None,
    store: str | Path | bool | None = None,
    max_pulls: int | None = None,
) -> Replications | Summary:
    """Play a strategy many times, independently.

    Parameters
    ----------
    strategy : Strategy
        What to play.
    bandit : Bandit, sequence of ``runs`` Bandits, or function
        Against which arms; a function is called with a generator, once a play, and
        returns that play's Bandit.  It must depend on nothing else.
    runs : int
        How many plays, at least 1.
    seed : int or None
        Non-negative.  Play r depends on the seed and on r only.  None stands for another one each
        time.
    checkpoints : sequence of int, optional
        Increasing pull counts, each at least n, at which the recommended set is reported;
        only for strategies whose rule does not depend on a budget.
    jobs : int, distributed.Client or str, optional
        How many plays go on at a time on this machine, or the dask cluster that plays, or
        the address of its scheduler, as ``"tcp://127.0.0.1:8786"``.  The environment
        variable ``TOPK_JOBS``, or 1, unless given.  The result does not depend on it.
    progress : bool, optional
        Whether to show a bar; only on a terminal unless given.
    keep : {"plays", "summary"}
        Whether to return every play, or what a `Summary` has: counts over all plays and, of
        every play and checkpoint, four numbers (32 bytes).
    epsilon : float, optional
        With a summary: tolerance in [0, 1) of the measures that have one, which are left
        out without it.
    chunk : int, optional
        How many plays are handed to a worker at a time; as many as take about a second
        unless given.  The result does not depend on it.
    store : path or bool, optional
        Where finished plays are kept, so that an interrupted study goes on where it stopped,
        and a larger one begins with them: a folder; True for the one in the environment
        variable ``TOPK_STORE``, or in the user's cache; False for none.  Unless given, the
        one in ``TOPK_STORE``, none if that is ``off`` or not set.  A strategy, a bandit or a
        function of your own is stored only if it has an attribute ``version``: change that
        with what it does.
    max_pulls : int, optional
        As in `run`, for every play: a rule that might never stop comes to an end.

    Returns
    -------
    Replications or Summary
        As ``keep`` says.

    Raises
    ------
    ValueError
        If an argument is out of range.
    RuntimeError
        If a process that played was killed, or a machine of the cluster has other code.

    Examples
    --------
    >>> import topk
    >>> bandit = topk.BernoulliBandit([0.2, 0.8, 0.5])
    >>> replicate(topk.SAR(1, budget=90), bandit, runs=10, seed=1).selected.shape
    (10, 1, 1)
    """
    runs = check_integer(runs, "runs", 1)
    chunk = None if chunk is None else check_integer(chunk, "chunk", 1)
    study, first = study_of(strategy, bandit, runs, seed, checkpoints, max_pulls, keep, epsilon)
    jobs, shelf = check_jobs(jobs), Shelf(study, store)
    found = study.gathered(runs, _portions(study, runs, jobs, chunk, progress, shelf))
    if keep == "summary":
        values = {name: found.pop(name) for name in VALUES}
        return Summary(runs, study.checkpoints, study.epsilon, **found, values=values)
    return Replications(**{"means": first.means} | found, checkpoints=study.checkpoints)


def study_of(
    strategy, bandit, runs, seed, checkpoints=None, max_pulls=None, keep="plays", epsilon=None
):
    """Return the study that `replicate` plays, and its first bandit; refuse what cannot be."""
    _check_strategy(strategy)
    seed, epsilon = _seed(seed, "seed"), _check_kept(keep, epsilon)
    study = Study(strategy, _check_bandits(bandit, runs), seed, keep=keep, epsilon=epsilon)
    first = study.bandit_of(0)
    _check_suits(strategy, first)
    fitted = strategy.on(first.units)
    begin_run(fitted, first.layout)  # refuses what does not go with the arms
    if first.units.items and not fitted.skips_known:
        check_cells(strategy, first.n, first.units.items)
    study.shape = first.means.shape
    study.checkpoints = _check_checkpoints(checkpoints, strategy, first.n)
    study.max_pulls = _check_most(max_pulls, first.n)
    return study, first


def warm(
    strategies: Strategy | Sequence[Strategy] | None = None, bandit: Bandit | None = None,
) -> None:
    """Compile ahead what the first play of a strategy would have to wait for.

    A rule is compiled once for few arms and, if that pays, once for many: a few seconds
    each on one core, a fraction of a second in later processes, since the result is kept on disk
    (in ``NUMBA_CACHE_DIR`` or the user's cache) until the rule or the library changes.  All of the
    library's own take some minutes.  Live sessions need none of this.

    Parameters
    ----------
    strategies : Strategy or list of Strategy, optional
        Which; all of the library's own unless given.  Parameters that are None may be left out of
        a rule, and so a strategy that has them is another one.
    bandit : Bandit, optional
        Against which arms; with rewards 0 or 1, both few and many, unless given.

    Raises
    ------
    ValueError
        If ``strategies`` holds something else, or a strategy does not go with the bandit.

    Examples
    --------
    >>> import topk
    >>> topk.warm(topk.Uniform(1, budget=100))
    """
    if strategies is None:
        strategies = [_any_of(getattr(topk, name)) for name in topk.strategies.__all__]
    several: Any = strategies if isinstance(strategies, list | tuple) else [strategies]
    for strategy in several:
        _check_strategy(strategy)
        k = getattr(strategy, "k", 1)
        n = next(n for n in range(max(2, k), 2 * k + 1) if k <= strategy.most_k(n))
        means = np.full((2, n) if strategy.several else n, 0.5)
        coins = topk.MultiBandit if strategy.several else topk.BernoulliBandit
        some = coins(means) if bandit is None else check_bandit(bandit)
        _check_suits(strategy, some)
        sizes = (2, math.inf) if bandit is None else (bandit.n,)
        if isinstance(strategy, Ruled):
            for search in {strategy.search_for(size) for size in sizes}:
                Play(strategy, some, 0, 0, search=search).warm()


def _any_of(cls):
    """Return a strategy of the library's with some parameters."""
    some = {"k": 1, "budget": 100, "epsilon": 0.1, "delta": 0.1, "complexity": 1.0}
    needed = [field.name for field in fields(cls) if field.default is MISSING]
    return cls(**{name: some[name] for name in needed})


def _portions(study, runs, jobs, chunk, progress, shelf):
    """Yield ``(begin, end, rows)`` of all plays: those that are kept, then others, now played."""
    from tqdm import tqdm

    missing, reached = [], 0
    disable = None if progress is None else not progress
    lanes = jobs if isinstance(jobs, int) else max(1, sum(jobs.nthreads().values()))
    with tqdm(total=runs, unit="play", disable=disable) as bar:
        for begin, end, rows in shelf.found(runs):
            missing.append((reached, begin))
            reached = end
            bar.update(end - begin)
            yield begin, end, rows
        cut = Cut([*missing, (reached, runs)], chunk, lanes)
        for begin, end, rows, seconds in _play(study, cut, jobs):
            cut.note(end - begin, seconds)
            shelf.keep(begin, end, rows, seconds)
            bar.update(end - begin)
            yield begin, end, rows


@dataclass
class Study:
    """What is played, against what, and what is kept of each play.

    Attributes
    ----------
    strategy : Strategy
        What is played.
    bandit : Bandit, list of Bandit, or function
        Against what, as in `replicate`; a dict of those of some plays where it has been sent.
    seed : int
        Where every play's streams come from.
    checkpoints : tuple of int
        When the recommended set is reported; empty for the end only.
    keep, epsilon, max_pulls
        As in `replicate`; -1 for no limit.
    shape : tuple of int
        (n,), or (M, n) of several bandits.
    stop : object, optional
        When its ``is_set()`` is true, `topk.simulate.play.Interrupted` is raised.
    """

    strategy: object
    bandit: object
    seed: int
    checkpoints: tuple = ()
    keep: str = "plays"
    epsilon: float | None = None
    max_pulls: int = -1
    shape: tuple | None = None
    stop: object = None

    def bandit_of(self, number):
        """Return the bandit of play ``number``."""
        if isinstance(self.bandit, Bandit):
            return self.bandit
        if isinstance(self.bandit, list | dict):
            return self.bandit[number]
        bandit = check_bandit(self.bandit(stream(self.seed, number, INSTANCE)))
        if bandit.means.shape != (self.shape or bandit.means.shape):
            allowed = f"with {self.shape} arms each time"
            refuse("bandit", f"one with {bandit.means.shape} arms", allowed)
        return bandit

    def part(self, begin, end):
        """Return a study with the same plays from ``begin`` to ``end``, to be sent away."""
        if not isinstance(self.bandit, list):
            return self
        return replace(self, bandit={number: self.bandit[number] for number in range(begin, end)})

    def description(self):
        """Describe everything that decides the plays, as JSON values; see `topk.store`."""
        names = ("strategy", "bandit", "seed", "checkpoints", "keep", "epsilon", "max_pulls")
        return {name: described(getattr(self, name)) for name in names}

    def gathered(self, count, portions):
        """Put portions, ``(begin, end, rows)`` in any order, together to ``count`` plays."""
        found = {}
        for begin, end, rows in portions:
            for name, part in rows.items():
                if self.keep == "summary" and name in SUMMED:
                    found[name] = found.get(name, 0) + part
                    continue
                if name not in found:
                    found[name] = np.empty((count, *part.shape[1:]), part.dtype)
                found[name][begin:end] = part
        return found

    def play(self, begin, end):
        """Make plays ``begin`` to ``end - 1``; return what is kept of them, name -> array."""
        return self.gathered(end - begin, self._pieces(begin, end))

    def _pieces(self, begin, end):
        """Yield ``(begin, end, rows)``, counted from ``begin``, of so many as are made at a time.

        However many plays a portion has, most of what they leave behind goes at once.
        """
        most, first = max(1, HELD // (math.prod(self.shape) * (4 + len(self.checkpoints)))), begin
        while first < end:
            # arms that are drawn are not drawn long before the play begins
            step = most if isinstance(self.bandit, Bandit) else min(most, 1 + first - begin)
            numbers = range(first, min(first + step, end))
            yield first - begin, numbers.stop - begin, self._kept(numbers)
            first = numbers.stop

    def _kept(self, numbers):
        """Return what is kept of some plays that are made at a time."""
        same = isinstance(self.bandit, Bandit)
        bandits = [self.bandit] if same else [self.bandit_of(number) for number in numbers]
        given = self.strategy, bandits, self.seed, numbers, self.stop, self.max_pulls
        rows = None if self.checkpoints else play_together(*given)
        rows = rows or self._one_by_one(bandits, numbers)
        if not same:
            rows["means"] = np.array([bandit.means for bandit in bandits])
        if self.keep == "plays":
            return rows
        return summed(rows, rows.get("means", bandits[0].means), self.checkpoints, self.epsilon)

    def _one_by_one(self, bandits, numbers):
        """Return what `play_together` does, at the checkpoints, of plays each made by itself."""
        rows = []
        for number in numbers:
            bandit, most = bandits[(number - numbers.start) % len(bandits)], self.max_pulls
            play = Play(self.strategy, bandit, self.seed, number, stop=self.stop, most=most)
            rows.append({"selected": play.at_checkpoints(self.checkpoints)} | play.totals())
        return {name: np.array([row[name] for row in rows]) for name in rows[0]}


# Who plays: this process, threads, other processes, or the machines of a cluster


class Cut:
    """Cuts ranges of plays into portions of about ``TARGET`` seconds.

    Parameters
    ----------
    missing : list of (int, int)
        The ranges.
    chunk : int or None
        A fixed number of plays for every portion.
    lanes : int
        How many portions are played at a time.
    """

    def __init__(self, missing, chunk, lanes):
        self.missing, self.chunk, self.lanes, self.size = missing, chunk, lanes, 1
        self.left = sum(end - begin for begin, end in missing)
        self.plays, self.seconds = 0, 0.0  # how long how many took so far

    def __iter__(self):
        for begin, end in self.missing:
            while begin < end:
                # near the end smaller, so that all finish together
                share = -(-self.left // (2 * self.lanes)) if self.lanes > 1 else self.left
                begin, first = min(end, begin + (self.chunk or min(self.size, share))), begin
                self.left -= begin - first
                yield first, begin

    def note(self, plays, seconds):
        """Take note of how long a portion took."""
        self.size = max(1, min(GROWTH * plays, int(plays * TARGET / max(seconds, 1e-9))))
        self.plays, self.seconds = self.plays + plays, self.seconds + seconds


def _play(study, cut, jobs):
    """Yield ``(begin, end, rows, seconds)`` of what is missing, in no particular order.

    The first plays are made in this process, the rest wherever it pays.
    """
    spans, kind = iter(cut), None if isinstance(jobs, int) else "cluster"
    if cut.left and not kind:
        first = Play(study.strategy, study.bandit_of(0), study.seed, 0)
        first.warm()
    while cut.left and not kind:
        yield _portion(study, *next(spans))
        if jobs > 1 and cut.seconds >= TRIAL:
            kind = helpers(first.fused, cut.seconds / cut.plays, cut.left)
    if cut.left:
        yield from _helped(study, spans, jobs, kind)


def _portion(study, begin, end, made=None):
    """Make some plays and take the time; on a cluster, if this is the driver's code."""
    if made is not None and made != made_by():
        raise RuntimeError(
            f"a worker has another version of topk, or of what it computes with, than the "
            f"driver ({made_by()}, not {made}); install the same everywhere"
        )
    start = time.perf_counter()
    rows = study.play(begin, end)
    return begin, end, rows, time.perf_counter() - start


def _helped(study, spans, jobs, kind):
    """Have portions played by threads or processes of this machine, or on a cluster."""
    here = kind != "cluster"
    stop = threading.Event() if kind == "threads" else Orphaned() if here else None
    study, made = replace(study, stop=stop), None if here else made_by()
    tasks = ((_portion, study.part(*span), *span, made) for span in spans)
    try:
        yield from _parallel(jobs, kind, tasks) if here else _on_cluster(jobs, tasks)
    except BrokenProcessPool as error:
        raise RuntimeError(
            "a process that played was killed, by somebody or because the machine ran out of "
            "memory; nothing is wrong with the plays. Ask for fewer jobs, or for "
            "keep='summary'; with a store, what was finished is not played again"
        ) from error
    finally:
        if kind == "threads":
            stop.set()


# Arguments




def _seed(value, name):
    """Return a seed; of a generator the next one, of None one that nobody knows."""
    rng = np.random.default_rng() if value is None else value
    if isinstance(rng, np.random.Generator) and (value is None or name == "rng"):
        return int(rng.integers(2**63))
    return check_integer(value, name, 0)


def _check_most(max_pulls, n):
    return -1 if max_pulls is None else check_integer(max_pulls, "max_pulls", n, 2**53)


def _check_strategy(strategy):
    if not isinstance(strategy, Strategy):
        refuse("strategy", strategy, "a topk.Strategy, with its parameters")


def _check_kept(keep, epsilon):
    """Return epsilon, checked together with ``keep``."""
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
        allowed = f"a Bandit, {runs} Bandits with as many arms each, or a function of a generator"
        refuse("bandit", bandit, allowed)
    return bandits


def _check_suits(strategy, bandit):
    """Refuse several bandits for a strategy of one, and one for a strategy of several."""
    if strategy.several != (bandit.means.ndim > 1):
        wanted = "a topk.MultiBandit" if strategy.several else "a single bandit"
        refuse("bandit", bandit, f"{wanted} for {type(strategy).__name__}")


def _check_checkpoints(checkpoints, strategy, n):
    """Return the checkpoints as a tuple of increasing integers, each at least n."""
    if checkpoints is None:
        return ()
    if not strategy.anytime:
        rule = f"the rule of {type(strategy).__name__}"
        allowed = f"None: {rule} depends on its budget (or has no anytime = True)"
        refuse("checkpoints", checkpoints, allowed)
    return check_increasing(checkpoints, "checkpoints", n)
