"""Workers that make runs: threads or processes of this machine, or a cluster."""

from __future__ import annotations

import itertools
import os
from collections.abc import Callable, Iterable, Sequence
from typing import TYPE_CHECKING, Any, Literal, TypeVar

from topk._checks import check_integer, refuse

if TYPE_CHECKING:
    from distributed import Client

R = TypeVar("R")
THREAD_SECONDS = 1e-3  # longer compiled runs are efficient in threads
STARTUP = {"threads": 0.1, "processes": 1.5}  # seconds of remaining work that justify workers


def choose_workers(
    fused: bool, seconds: float, remaining: int,
) -> Literal["threads", "processes"] | None:
    """Choose workers for the remaining runs: ``"threads"``, ``"processes"`` or None.

    Threads start at once and share memory, but only one of them at a time can execute code that is
    not compiled.  Processes have no such limit, but take a second or two to start.

    Parameters
    ----------
    fused : bool
        Whether a run is one compiled loop.
    seconds : float
        Duration of a run in seconds.
    remaining : int
        Number of remaining runs.
    """
    kind: Literal["threads", "processes"]
    kind = "threads" if fused and seconds >= THREAD_SECONDS else "processes"
    return kind if remaining * seconds >= STARTUP[kind] else None


def n_workers(jobs: int | Client) -> int:
    """Return the number of workers."""
    return jobs if isinstance(jobs, int) else max(1, sum(jobs.nthreads().values()))


class ParentWatch:
    """Stop event of worker processes, which exits the worker if its parent has died."""

    def __init__(self):
        self.parent = os.getpid()

    def is_set(self):
        if os.getppid() != self.parent:
            os._exit(1)
        return False


def on_machine(jobs, kind, tasks, returned="generator_unordered"):
    """Return the results of tasks, each a function and its arguments, on this machine."""
    from joblib import Parallel, delayed

    backend = "threading" if kind == "threads" else "loky"
    parallel = Parallel(jobs, backend, returned, batch_size=1, max_nbytes=None)
    return parallel(delayed(function)(*arguments) for function, *arguments in tasks)


def on_cluster(client, tasks):
    """Yield the results of tasks, each a function and its arguments, on a cluster, when complete.

    joblib's dask backend is not used: it waits forever for a task that has killed its workers, and
    makes the runs in this process if the cluster has one thread.
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

    Use this for many studies that are too short to be distributed one by one; each task should use
    ``jobs=1``.

    Parameters
    ----------
    task : callable
        Called as ``task(*item)``, in other processes if there are several cores.
    items : iterable of tuple
        The arguments of the tasks.  Put the longest tasks first.
    jobs : int, distributed.Client or str, optional
        As in `replicate`.

    Returns
    -------
    list
        Results of the tasks, in the order of the items.

    Raises
    ------
    ValueError
        If ``task`` is not callable, or ``jobs`` is out of range.

    Examples
    --------
    >>> from topk.simulate.workers import each
    >>> each(pow, [(2, 3), (3, 2)])
    [8, 9]
    """
    if not callable(task):
        refuse("task", task, "a callable")
    jobs = check_jobs(jobs)
    if isinstance(jobs, int):
        return on_machine(jobs, "processes", ((task, *item) for item in items), "list")
    return jobs.gather([jobs.submit(task, *item, pure=False) for item in items])


def check_jobs(jobs: int | Client | str | None) -> int | Client:
    """Return ``jobs`` as an int or a client; None means ``TOPK_JOBS``, or 1 if that is not set.

    -1 means the number of cores that this process may use.
    """
    allowed = "an integer of at least 1, -1 for all cores, a dask Client or a scheduler's address"
    if jobs is None:
        jobs = os.environ.get("TOPK_JOBS") or 1
        if isinstance(jobs, str) and jobs.removeprefix("-").isdecimal():
            jobs = int(jobs)
    if isinstance(jobs, str):
        if "://" not in jobs:
            refuse("jobs", jobs, allowed)
        return _client(jobs)
    if hasattr(jobs, "get_executor") and hasattr(jobs, "nthreads"):
        return jobs
    if type(jobs) is int and jobs == -1:
        from joblib import cpu_count

        return cpu_count()
    try:
        return check_integer(jobs, "jobs", 1)
    except ValueError:
        refuse("jobs", jobs, allowed)


_clients: dict[str, Client] = {}  # address: client


def _client(address):
    """Return this process's client of the scheduler at ``address``."""
    try:
        from distributed import Client
    except ModuleNotFoundError as error:
        hint = "jobs: the address of a scheduler needs dask: pip install dask distributed"
        raise ModuleNotFoundError(hint) from error

    if address not in _clients or _clients[address].status != "running":
        _clients[address] = Client(address, set_as_default=False)
    return _clients[address]
