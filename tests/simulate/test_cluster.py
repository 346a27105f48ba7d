"""A real cluster, with scheduler and workers started by their command lines."""

import os
import signal
import subprocess
import sys
import threading
import time
from contextlib import closing
from functools import partial
from pathlib import Path

import pytest

import topk
from topk import store
from topk.simulate import run as simulate
from topk.simulate import workers

distributed = pytest.importorskip("distributed")
json_load_robust = pytest.importorskip("distributed.utils").json_load_robust

ROOT = Path(__file__).resolve().parents[2]
SAR = topk.SAR(20, budget=1640)
RTE = topk.instances.rte_workers()
pytestmark = pytest.mark.slow


class Cluster:
    """A scheduler and its workers, each in its own process, on the loopback interface."""

    def __init__(self, folder):
        self.folder, self.processes, self.file = folder, [], folder / "scheduler.json"
        self.start("scheduler", "--port", "0")
        # Client(scheduler_file=...) gives a file that is still being written a tenth of a second
        address = json_load_robust(self.file, timeout=100)["address"]
        self.client = distributed.Client(address, set_as_default=False)

    def start(self, *command):
        environment = os.environ | {"PYTHONPATH": str(ROOT)}
        command = [sys.executable, "-m", "dask", *command, "--scheduler-file", str(self.file)]
        command += ["--host", "127.0.0.1", "--dashboard-address", "127.0.0.1:0"]
        with open(self.folder / "log", "ab") as log:
            process = subprocess.Popen(
                command, env=environment, stdout=log, stderr=log, cwd=self.folder
            )
        self.processes.append(process)
        return process

    def add_worker(self):
        before = len(self.client.nthreads())
        worker = self.start("worker", "--nthreads", "1", "--no-nanny")
        self.client.wait_for_workers(before + 1, timeout=100)
        return worker

    def close(self):
        self.client.close()
        for process in reversed(self.processes):
            process.terminate()
        for process in self.processes:
            try:
                process.wait(timeout=3)
            except subprocess.TimeoutExpired:
                process.kill()
                process.wait()  # or it is reported to whatever test comes next


@pytest.fixture(scope="module")
def cluster(tmp_path_factory):
    """A cluster that starts with one worker."""
    with closing(Cluster(tmp_path_factory.mktemp("cluster"))) as cluster:
        cluster.add_worker()
        yield cluster


def same_everywhere(jobs, chunk=None):
    here, there = (topk.replicate(SAR, RTE, 40, 3, jobs=j, chunk=chunk) for j in (1, jobs))
    return here == there


# The tests below build on one another's cluster and stand in the order in which it grows.


def noted(log, rng):
    """Draw an instance, and record the process that did."""
    with open(log, "ab", buffering=0) as file:
        file.write(b"%d\n" % os.getpid())
    return topk.BernoulliBandit(rng.random(8))


def test_one_worker_makes_all_runs_and_two_share_them(cluster, tmp_path):
    assert same_everywhere(cluster.client)
    draw = partial(noted, str(tmp_path / "log"))
    topk.replicate(topk.SAR(2, budget=100), draw, 20, jobs=cluster.client, chunk=5, seed=0)
    notes = (tmp_path / "log").read_text().split()
    assert notes.count(str(os.getpid())) == 1 and len(notes) == 21  # here: how many arms are there?
    cluster.add_worker()
    assert all(same_everywhere(cluster.client, chunk) for chunk in (1, 7, None))


def test_address_in_place_of_a_client(cluster, monkeypatch):
    address = cluster.client.scheduler_info()["address"]
    try:
        assert same_everywhere(address)
        monkeypatch.setenv("TOPK_JOBS", address)
        assert same_everywhere(None, 7)
        assert workers.each(pow, [(2, 3), (3, 2)]) == [8, 9]
        assert len(workers._clients) == 1  # one connection for all
    finally:
        workers._clients.pop(address).close()


def test_own_strategies_instances_and_summaries(cluster):
    def draw(rng):
        return topk.BetaBandit(1 + rng.random(6), 1 + rng.random(6))

    strategy = topk.LUCB1(2, epsilon=0.2, delta=0.1, budget=400)
    options = {"seed": 2, "checkpoints": [50, 300]}
    for keep in ({}, {"keep": "summary", "epsilon": 0.2}):
        there = topk.replicate(strategy, draw, 15, jobs=cluster.client, **options, **keep)
        assert there == topk.replicate(strategy, draw, 15, **options, **keep)


def test_finished_runs_are_stored_by_the_driver(cluster, monkeypatch, tmp_path):
    monkeypatch.setattr(store, "MIN_SECONDS", 0.0)
    first = topk.replicate(SAR, RTE, 20, jobs=cluster.client, chunk=5, store=tmp_path, seed=0)
    assert store.info(tmp_path).files == 4
    monkeypatch.setattr(simulate, "_run_chunk", None)  # nothing is left to be played
    assert topk.replicate(SAR, RTE, 20, jobs=1, store=tmp_path, seed=0) == first


def fragile(log, driver, victim, patience, rng):
    """Leave a note; the victim's fifth play waits to be killed, and the others wait for it."""
    bandit = noted(log, rng)
    if os.getpid() == victim:
        if plays_of(log, victim) == 5:
            time.sleep(1000)
    elif os.getpid() != driver:
        while plays_of(log, victim) < 5 and time.time() < patience:
            time.sleep(0.01)
    return bandit


def plays_of(log, worker):
    return Path(log).read_text().split().count(str(worker))


def test_worker_is_killed_in_the_middle(cluster, tmp_path):
    log, strategy = tmp_path / "log", topk.SAR(2, budget=100)
    log.write_text("")
    victim = cluster.add_worker()
    killed = []

    def kill():
        while plays_of(log, victim.pid) < 5:
            time.sleep(0.001)
        killed.append(len(log.read_text().split()))
        victim.send_signal(signal.SIGKILL)

    killer = threading.Thread(target=kill, daemon=True)
    killer.start()
    draw = partial(fragile, str(log), os.getpid(), victim.pid, time.time() + 300)
    reps = topk.replicate(strategy, draw, 150, jobs=cluster.client, chunk=10, seed=0)
    killer.join(timeout=60)
    assert victim.wait(timeout=60) == -signal.SIGKILL
    assert killed and killed[0] < 150  # it was in the middle
    plays = log.read_text().split()
    assert len(plays) > 151  # what was lost with it was played again, by others
    assert reps == topk.replicate(strategy, draw, 150, seed=0)


def deadly(driver, rng):
    if os.getpid() != driver:
        os._exit(1)
    return topk.BernoulliBandit([0.2, 0.8])


def test_a_run_that_kills_its_worker_ends_with_an_error(tmp_path, monkeypatch):
    monkeypatch.setenv("DASK_DISTRIBUTED__SCHEDULER__ALLOWED_FAILURES", "0")
    with closing(Cluster(tmp_path)) as cluster:
        cluster.add_worker()
        with pytest.raises(distributed.KilledWorker, match="all those workers died"):
            draw = partial(deadly, os.getpid())
            topk.replicate(topk.Uniform(1, budget=9), draw, 4, jobs=cluster.client, seed=0)


def test_errors_of_workers_reach_the_caller(cluster):
    def broken(rng):
        if rng.random() < 0.2:
            raise ArithmeticError("this instance cannot be made")
        return topk.BernoulliBandit([0.2, 0.8])

    with pytest.raises(ArithmeticError, match="cannot be made"):
        topk.replicate(topk.Uniform(1, budget=9), broken, 50, jobs=cluster.client, chunk=2, seed=0)
    assert same_everywhere(cluster.client, 7)


def test_worker_with_other_code_is_refused(cluster, monkeypatch):
    own = store.versions()
    for name in ("topk", "numpy"):
        monkeypatch.setattr(simulate, "versions", lambda name=name: own | {name: "other"})
        with pytest.raises(RuntimeError, match="different version"):
            topk.replicate(SAR, RTE, 5, jobs=cluster.client, seed=0)
