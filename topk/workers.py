"""Who plays: this process, threads, other processes, or the machines of a cluster.

The plays are cut into portions of about a second, and what is asked for next depends on
how long the last ones took.  That a play is the same whoever plays it, and in whatever
portion, is the business of `topk.study`.
"""

import atexit
import math
import os
import threading
import time
from collections import deque
from concurrent.futures import FIRST_COMPLETED, ThreadPoolExecutor, wait
from contextlib import contextmanager, suppress
from typing import NamedTuple

from topk._checks import check_integer, refuse
from topk.identity import module_code, versions

TARGET = 1.0  # seconds that a portion should take
LEAST = 0.05  # seconds below which a portion is not cut smaller, to keep all workers busy
GROWTH = 8  # a portion has at most so many times as many plays as the largest one before
TRIAL = 0.02  # seconds of play in this process before it is decided who plays the rest
STARTUP = {"threads": 0.1, "processes": 1.5}  # of work that must be left to call for help
LOCKED = 0.1  # share of a play, times jobs, outside compiled code up to which threads do


class Portion(NamedTuple):
    """Some plays that have been played."""

    begin: int
    end: int
    rows: dict
    seconds: float
    unlocked: float  # of these seconds, those in which other threads can work as well


def played(study, begin, end, stop=None):
    """Play plays ``begin`` to ``end - 1`` of a study and take the time."""
    start = time.perf_counter()
    rows, unlocked = study.play(begin, end, stop)
    return Portion(begin, end, rows, time.perf_counter() - start, unlocked)


def portions(study, missing, jobs, chunk=None):
    """Play what is missing of a study.

    Parameters
    ----------
    study : Study
        What is played.
    missing : list of (int, int)
        The ranges of plays that are wanted.
    jobs : int or distributed.Client
        How many portions are played at a time on this machine, or a cluster.
    chunk : int, optional
        Plays in a portion, in place of as many as take about a second.

    Yields
    ------
    Portion
        In no particular order.
    """
    if not isinstance(jobs, int):
        yield from _together(Pacer(missing, chunk), _cluster(study, jobs))
        return
    pacer = Pacer(missing, chunk)
    if pacer.left:
        study.warm()
    while pacer.left and (kind := helpers(pacer, jobs)) is None:
        portion = played(study, *pacer.take())
        pacer.note(portion)
        yield portion
    if pacer.left:
        team = _threads(study, jobs) if kind == "threads" else _processes(study, jobs)
        yield from _together(pacer, team)


def helpers(pacer, jobs):
    """Return who should play the rest: ``"threads"``, ``"processes"`` or None, nobody else.

    Threads start at once and share memory, but only one of them at a time can be outside
    compiled code.  Processes have no such limit; their start takes a second or two.
    """
    if jobs == 1 or pacer.spent < TRIAL:
        return None
    locked = 1 - pacer.unlocked / pacer.spent
    kind = "threads" if locked * jobs <= LOCKED else "processes"
    return kind if pacer.left * pacer.rate >= STARTUP[kind] else None


class Pacer:
    """Cuts ranges of plays into portions of about ``TARGET`` seconds.

    Parameters
    ----------
    missing : list of (int, int)
        The ranges.
    chunk : int, optional
        A fixed number of plays for every portion.
    """

    def __init__(self, missing, chunk=None):
        self.missing, self.chunk, self.lanes = deque(missing), chunk, 1
        self.left = sum(end - begin for begin, end in missing)
        self.largest, self.rate = 0, math.nan  # rate: seconds a play, of late
        self.spent = self.unlocked = 0.0

    def take(self):
        """Return the next ``(begin, end)``."""
        begin, end = self.missing.popleft()
        middle = min(end, begin + (self.chunk or self._size()))
        if middle < end:
            self.missing.appendleft((middle, end))
        self.left -= middle - begin
        return begin, middle

    def _size(self):
        if math.isnan(self.rate):
            return 1
        rate = max(self.rate, 1e-7)
        size = min(TARGET / rate, GROWTH * self.largest)
        if self.lanes > 1:  # near the end smaller, so that all finish together
            size = min(size, max(self.left / (2 * self.lanes), LEAST / rate))
        return max(1, int(size))

    def note(self, portion):
        """Take note of how long a portion took."""
        plays = portion.end - portion.begin
        rate = portion.seconds / plays
        self.rate = rate if math.isnan(self.rate) else (self.rate + rate) / 2
        self.largest = max(self.largest, plays)
        self.spent += portion.seconds
        self.unlocked += portion.unlocked


class Team(NamedTuple):
    """Somebody who plays portions.

    Attributes
    ----------
    submit : callable
        ``submit(begin, end)`` returns a `concurrent.futures.Future` of a `Portion`.
    lanes : callable
        ``lanes()`` returns how many portions are played at a time.
    """

    submit: object
    lanes: object


def _together(pacer, team):
    """Keep a team busy; yield the portions as they come."""
    running = set()
    with team as (submit, lanes):
        try:
            while pacer.left or running:
                pacer.lanes = lanes()
                while pacer.left and len(running) < 2 * pacer.lanes:
                    running.add(submit(*pacer.take()))
                done, running = wait(running, return_when=FIRST_COMPLETED)
                for future in done:
                    portion = future.result()
                    pacer.note(portion)
                    yield portion
        finally:
            for future in running:
                future.cancel()


@contextmanager
def _threads(study, jobs):
    stop, pool = threading.Event(), ThreadPoolExecutor(jobs)
    try:
        yield Team(lambda *span: pool.submit(played, study, *span, stop), lambda: jobs)
    finally:
        stop.set()
        pool.shutdown(cancel_futures=True)


@contextmanager
def _processes(study, jobs):
    pool = _pool(jobs)
    try:
        yield Team(lambda *span: pool.submit(played, study.part(*span), *span), lambda: jobs)
    except BaseException:
        _close_pools()
        raise


_pools = {}  # number of processes: the pool; at most one


def _pool(jobs):
    """Return joblib's kind of processes, kept for the next study until idle for 5 minutes.

    The pool is our own: joblib's `Parallel` does not work with one that others made.
    """
    from joblib.externals.loky import ProcessPoolExecutor

    if not _pools:
        atexit.register(_close_pools)
    pool = _pools.get(jobs)
    if pool is None or pool._flags.broken or pool._flags.shutdown:
        _close_pools()
        options = {"timeout": 300, "initializer": _end_with, "initargs": (os.getpid(),)}
        pool = _pools[jobs] = ProcessPoolExecutor(jobs, **options)
    return pool


def _end_with(parent):
    """Let this process end as soon as its parent has, even if that was killed."""

    def watch():
        while os.getppid() == parent:
            time.sleep(0.5)
        os._exit(1)

    threading.Thread(target=watch, daemon=True).start()


def _close_pools():
    while _pools:
        with suppress(RuntimeError):  # interrupted before its own thread had begun
            _pools.popitem()[1].shutdown(kill_workers=True)


# A cluster


@contextmanager
def _cluster(study, client):
    """The workers of a dask cluster.

    The study goes out once, as the result of a task, so that the scheduler can make it
    again if the worker that holds it is lost.
    """
    pool = client.get_executor(pure=False)
    held = client.submit(_held, study, pure=False)
    code = own_code()
    try:
        yield Team(
            lambda *span: pool.submit(_played_elsewhere, held, *span, code),
            lambda: max(1, sum(client.nthreads().values())),
        )
    finally:
        held.release()


def _held(study):
    return study


def own_code():
    """Describe the code that plays here; see `topk.identity`."""
    return versions() | {"topk": module_code("topk")}


def _played_elsewhere(study, begin, end, code):
    """Play on a worker, provided that it has the driver's code."""
    for name, own in own_code().items():
        if own != code[name]:
            raise RuntimeError(
                f"a worker has another version of {name} than the driver ({own}, not "
                f"{code[name]}); install the same everywhere"
            )
    return played(study, begin, end)


def check_jobs(jobs):
    """Return ``jobs`` as an int or a client; ``TOPK_JOBS``, or 1, stands in for None."""
    allowed = "an integer of at least 1, a dask Client or the address of a dask scheduler"
    if jobs is None:
        jobs = os.environ.get("TOPK_JOBS") or 1
        jobs = int(jobs) if isinstance(jobs, str) and jobs.isdecimal() else jobs
    if isinstance(jobs, str):
        if "://" not in jobs:
            refuse("jobs", jobs, allowed)
        return _client(jobs)
    if hasattr(jobs, "get_executor") and hasattr(jobs, "nthreads"):
        return jobs
    return check_integer(jobs, "jobs", 1)


_clients = {}  # address: client


def _client(address):
    """Return this process's client of the scheduler at ``address``."""
    from distributed import Client

    if address not in _clients or _clients[address].status != "running":
        _clients[address] = Client(address, set_as_default=False)
    return _clients[address]


def each(task, items):
    """Run a task for every item, one item at a time on each core.

    For many studies that are too short to be shared by cores one by one.

    Parameters
    ----------
    task : callable
        Called as ``task(*item)``, in other processes if there are several cores; a
        `topk.replicate` inside plays on one core.
    items : iterable of tuple
        The arguments.  Put what takes longest first.

    Returns
    -------
    list
        What the task returned, in the order of the items.

    Raises
    ------
    ValueError
        If ``task`` cannot be called.

    Notes
    -----
    The environment variable ``TOPK_JOBS`` says how many cores, 1 by default.

    Examples
    --------
    >>> from topk.workers import each
    >>> each(pow, [(2, 3), (3, 2)])
    [8, 9]
    """
    if not callable(task):
        refuse("task", task, "something to call")
    jobs = check_jobs(None)
    if not isinstance(jobs, int) or jobs == 1:
        return [task(*item) for item in items]
    from joblib import Parallel, delayed

    return Parallel(n_jobs=jobs)(delayed(_alone)(task, item) for item in items)


def _alone(task, item):
    """Run a task in a process of its own, in which studies do not ask for more of them."""
    os.environ["TOPK_JOBS"] = "1"
    return task(*item)
