"""Where runs are made: threads or processes of this machine, or a cluster."""

from __future__ import annotations

import itertools
import os
from collections.abc import Callable, Iterable, Sequence
from typing import TYPE_CHECKING, Any, Literal, TypeVar

from topk._checks import check_integer, refuse

if TYPE_CHECKING:
    from distributed import Client

R = TypeVar("R")
LONG = 1e-3  # seconds of a compiled play beside which what comes before and after is little
STARTUP = {"threads": 0.1, "processes": 1.5}  # of work that must be left to call for help


def helpers(fused: bool, seconds: float, left: int) -> Literal["threads", "processes"] | None:
    """Return who should play the rest: ``"threads"``, ``"processes"`` or None, nobody else.

    Threads start at once and share memory, but only one of them at a time can be outside
    compiled code.  Processes have no such limit; their start takes a second or two.

    Parameters
    ----------
    fused : bool
        Whether a play is one compiled loop.
    seconds : float
        How long a play takes.
    left : int
        How many there are.
    """
    kind: Literal["threads", "processes"]
    kind = "threads" if fused and seconds >= LONG else "processes"
    return kind if left * seconds >= STARTUP[kind] else None


class Orphaned:
    """Ends a helping process, when it next asks, once the process that it helps is gone."""

    def __init__(self):
        self.parent = os.getpid()

    def is_set(self):
        if os.getppid() != self.parent:
            os._exit(1)
        return False


def _parallel(jobs, kind, tasks, returned="generator_unordered"):
    """Return what calls, each a function and its arguments, come to on this machine."""
    from joblib import Parallel, delayed

    backend = "threading" if kind == "threads" else "loky"
    parallel = Parallel(jobs, backend, returned, batch_size=1, max_nbytes=None)
    return parallel(delayed(function)(*arguments) for function, *arguments in tasks)


def _on_cluster(client, tasks):
    """Yield what calls, each a function and its arguments, come to on a cluster, as they end.

    joblib's way to dask waits for ever for a task that has killed its workers, and plays here
    what a cluster of one thread should.
    """
    from distributed import as_completed

    running = as_completed(loop=client.loop, with_results=True)
    while True:
        free = max(2, 2 * sum(client.nthreads().values())) - running.count()
        for task in itertools.islice(tasks, max(0, free)):
            running.add(client.submit(*task, pure=False))
        if running.is_empty():
            return
        yield next(running)[1]


def each(
    task: Callable[..., R], items: Iterable[Sequence[Any]], jobs: int | Client | str | None = None,
) -> list[R]:
    """Run a task for every item, one item at a time on each core.

    For many studies that are too short to be shared by cores one by one: let each task play
    with ``jobs=1``.

    Parameters
    ----------
    task : callable
        Called as ``task(*item)``, in other processes if there are several cores.
    items : iterable of tuple
        The arguments.  Put what takes longest first.
    jobs : int, distributed.Client or str, optional
        As for `replicate`.

    Returns
    -------
    list
        What the task returned, in the order of the items.

    Raises
    ------
    ValueError
        If ``task`` cannot be called, or ``jobs`` is out of range.

    Examples
    --------
    >>> from topk.simulate.workers import each
    >>> each(pow, [(2, 3), (3, 2)])
    [8, 9]
    """
    if not callable(task):
        refuse("task", task, "something to call")
    jobs = check_jobs(jobs)
    if isinstance(jobs, int):
        return _parallel(jobs, "processes", ((task, *item) for item in items), "list")
    return jobs.gather([jobs.submit(task, *item, pure=False) for item in items])


def check_jobs(jobs: int | Client | str | None) -> int | Client:
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


_clients: dict[str, Client] = {}  # address: client


def _client(address):
    """Return this process's client of the scheduler at ``address``."""
    from distributed import Client

    if address not in _clients or _clients[address].status != "running":
        _clients[address] = Client(address, set_as_default=False)
    return _clients[address]
