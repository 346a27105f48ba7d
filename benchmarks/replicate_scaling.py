"""Measure the speed and overhead of `topk.replicate`, and write results/replicate_scaling.json.

    python benchmarks/replicate_scaling.py [part ...]

Every time is the shortest of several on an idle machine: the program waits until no other program
runs, and discards measurements during which other programs used more than a twentieth of a core.
After ``BENCH_PATIENCE`` seconds (default 600) it accepts all measurements, and the result says that
the part was disturbed.  On an idle machine all parts take about ten minutes.
"""

import datetime
import json
import os
import platform
import subprocess
import sys
import tempfile
import time
from pathlib import Path

os.environ["TOPK_STORE"] = "off"

import numba  # noqa: E402
import numpy as np  # noqa: E402

import topk  # noqa: E402
from topk.simulate import run as simulate  # noqa: E402
from topk.simulate.play import Play  # noqa: E402

RESULT = Path(__file__).parent / "results" / "replicate_scaling.json"
ROOT = Path(__file__).resolve().parents[1]
DISTURBED = 0.05  # cores that others may use during a measurement
PATIENCE = float(os.environ.get("BENCH_PATIENCE", 600))  # seconds for one comparison
disturbed = []  # comparisons without an undisturbed measurement

RTE = topk.instances.rte_workers()
STRATEGIES = {
    "Uniform": topk.Uniform(20, budget=10 * RTE.n),
    "SAR": topk.SAR(20, budget=10 * RTE.n),
    "LUCB1": topk.LUCB1(20, epsilon=0.0, delta=0.1, budget=10 * RTE.n),
    "OptMAI": topk.OptMAI(20, budget=10 * RTE.n),
}


# Measuring


def cpu_seconds():
    """Return the CPU seconds of all cores so far, and those of this process tree."""
    fields = Path("/proc/stat").read_text().split("\n")[0].split()[1:]
    ticks = np.array(fields[:8], dtype=float)
    return (ticks.sum() - ticks[3] - ticks[4]) / os.sysconf("SC_CLK_TCK"), tree_seconds()


def tree_seconds():
    """Return the CPU seconds of this process and of all its descendants."""
    parents, seconds = {}, {}
    for entry in Path("/proc").iterdir():
        if entry.name.isdecimal():
            try:
                fields = (entry / "stat").read_text().rsplit(")", 1)[1].split()
            except OSError:
                continue
            parents[int(entry.name)] = int(fields[1])
            ticks = sum(map(int, fields[11:15]))  # of the process and its reaped children
            seconds[int(entry.name)] = ticks / os.sysconf("SC_CLK_TCK")
    mine, total = {os.getpid()}, 0.0
    while mine:
        total += sum(seconds.get(pid, 0.0) for pid in mine)
        mine = {pid for pid, parent in parents.items() if parent in mine}
    return total


def timed(work):
    """Return the seconds that ``work()`` takes, and the cores that others used meanwhile."""
    before, start = cpu_seconds(), time.perf_counter()
    work()
    seconds, after = time.perf_counter() - start, cpu_seconds()
    others = (after[0] - before[0]) - (after[1] - before[1])
    return seconds, others / seconds


def wait_for_quiet(deadline):
    """Wait until the machine is idle for half a second."""
    while time.monotonic() < deadline and timed(lambda: time.sleep(0.5))[1] > DISTURBED:
        pass


def shortest_times(*works, repeats=3):
    """Return the shortest undisturbed time of each function, measured in turn."""
    times, deadline = [[] for _ in works], time.monotonic() + PATIENCE
    while True:
        for work, taken in zip(works, times, strict=True):
            if sum(others <= DISTURBED for _, others in taken) < repeats:
                wait_for_quiet(deadline)
                taken.append(timed(work))
        quiet = [[t for t, others in taken if others <= DISTURBED] for taken in times]
        if all(len(taken) >= repeats for taken in quiet) or time.monotonic() >= deadline:
            break
    if not all(quiet):
        disturbed.append(works)
    return [min(best or [t for t, _ in taken]) for best, taken in zip(quiet, times, strict=True)]


class ForcedWorkers:
    """Context in which runs are made by one kind of worker."""

    def __init__(self, kind):
        self.kind, self.before = kind, simulate.choose_workers

    def __enter__(self):
        simulate.choose_workers = lambda *_: self.kind

    def __exit__(self, *_):
        simulate.choose_workers = self.before


def play_all(runs, jobs, kind=None, names=tuple(STRATEGIES), **options):
    """Run the crowd study; with ``kind``, all but the first chunk on such workers."""
    for name in names:
        if kind is None:
            topk.replicate(STRATEGIES[name], RTE, runs[name], seed=1, jobs=jobs, **options)
        else:
            with ForcedWorkers(kind):
                topk.replicate(STRATEGIES[name], RTE, runs[name], seed=1, jobs=jobs, **options)


# What is measured


def runs_for(seconds):
    """Return the number of runs of each strategy that take about that long on one core."""
    runs = {}
    for name, strategy in STRATEGIES.items():
        topk.replicate(strategy, RTE, 5, seed=1)
        took = shortest_times(lambda s=strategy: topk.replicate(s, RTE, 50, seed=1))[0]
        runs[name] = max(50, int(seconds * 50 / took))
    return runs


def crowd_study():
    """Measure runs per second of the study, and of each strategy with each kind of worker."""
    runs = runs_for(2.0)
    play_all(dict.fromkeys(STRATEGIES, 50), 2, "processes")  # starts the processes
    one, two = shortest_times(lambda: play_all(runs, 1), lambda: play_all(runs, 2))
    study = {"plays": sum(runs.values()), "seconds_one": one, "seconds_two": two}
    rows = []
    for name in STRATEGIES:
        kinds = ("alone", "threads", "processes")
        calls = [
            lambda k=kind, n=name: play_all(
                runs, 1 if k == "alone" else 2, None if k == "alone" else k, (n,)
            )
            for kind in kinds
        ]
        seconds = dict(zip(kinds, shortest_times(*calls), strict=True))
        rates = {kind: round(runs[name] / took, 1) for kind, took in seconds.items()}
        rows.append({"strategy": name, "plays": runs[name], "plays_a_second": rates})
        print(rows[-1], flush=True)
    return study | {"efficiency": one / two, "strategies": rows}


def bare_overhead():
    """Measure the overhead of replicate over the compiled loop, for runs of 10 ms or more."""
    rows = []
    for budget in (20_000, 50_000, 200_000, 1_000_000):
        strategy = topk.LUCB1(20, epsilon=0.0, delta=0.1, budget=budget)
        runs, kernel = max(4, 2_000_000 // budget), []

        def bare(strategy=strategy, runs=runs, kernel=kernel):
            total = 0.0
            for number in range(runs):
                play = Play(strategy, RTE, 1, number)
                start = time.perf_counter()
                play._run_slice(until=-1, steps=10**9)
                total += time.perf_counter() - start
            kernel.append(total)

        whole = shortest_times(
            bare, lambda s=strategy, r=runs: topk.replicate(s, RTE, r, seed=1), repeats=5
        )[1]
        rows.append(
            {
                "play_ms": round(1000 * min(kernel) / runs, 3),
                "runs": runs,
                "overhead": round(whole / min(kernel) - 1, 5),
            }
        )
        print(rows[-1], flush=True)
    return rows


def portion_overhead():
    """Measure the overhead of a chunk in seconds, with chunks of one very short run.

    It is the additional time for twice as many chunks, so that starting workers does not count.
    """
    bandit, strategy, count = topk.BernoulliBandit([0.2, 0.8]), topk.Uniform(1, budget=2), 2000
    topk.replicate(strategy, bandit, 50, jobs=1, seed=0)
    many = shortest_times(
        lambda: topk.replicate(strategy, bandit, count, jobs=1, chunk=count, seed=0)
    )[0]
    rows = {"play": round(many / count, 7)}
    for kind in ("alone", "threads", "processes"):
        jobs = 1 if kind == "alone" else 2
        with ForcedWorkers(None if kind == "alone" else kind):
            topk.replicate(strategy, bandit, 50, jobs=jobs, seed=0)
            once, twice = shortest_times(
                lambda j=jobs: topk.replicate(strategy, bandit, count, jobs=j, chunk=1, seed=0),
                lambda j=jobs: topk.replicate(strategy, bandit, 2 * count, jobs=j, chunk=1, seed=0),
            )
        rows[kind] = round((twice - once - many / jobs) / count, 7)
    print(rows, flush=True)
    return rows


def sizes():
    """Measure seconds of one run against the number of arms, with ten pulls per arm."""
    rows = []
    for n in (100, 1000, 10_000, 100_000, 1_000_000):
        bandit = topk.BernoulliBandit(1 - np.arange(1, n + 1) / n)
        strategies = {
            "Uniform": topk.Uniform(n // 10, budget=10 * n),
            "SAR": topk.SAR(n // 10, budget=10 * n),
            "OptMAI": topk.OptMAI(n // 10, budget=10 * n),
            "LUCB1": topk.LUCB1(n // 10, epsilon=0.0, delta=0.1, budget=10 * n),
        }
        if n > 100_000:
            del strategies["LUCB1"]  # minutes; the book extrapolates
        for name, strategy in strategies.items():
            topk.run(strategy, bandit, rng=0)
            runs = max(1, 20_000 // n)
            took = shortest_times(
                lambda s=strategy, b=bandit, r=runs: topk.replicate(s, b, r, seed=0)
            )[0]
            rows.append({"strategy": name, "n": n, "seconds": round(took / runs, 7)})
            print(rows[-1], flush=True)
    return rows


def summary_memory():
    """Measure the peak memory of a process that keeps all runs, or their summary."""
    code = (
        "import sys, numpy as np, topk\n"
        "runs, keep = int(sys.argv[1]), sys.argv[2]\n"
        "bandit = topk.BernoulliBandit(np.linspace(0.9, 0.1, 100))\n"
        "topk.replicate(topk.SAR(10, budget=200), bandit, runs, keep=keep)\n"
        "status = open('/proc/self/status').read()\n"
        "print(status.split('VmHWM:')[1].split()[0])"
    )
    rows = []
    counts = (1000, 3000, 10_000, 30_000, 100_000)
    for keep, more in (("plays", ()), ("summary", (300_000, 1_000_000, 3_000_000))):
        for runs in (*counts, *more):
            command = [sys.executable, "-c", code, str(runs), keep]
            environment = os.environ | {"PYTHONPATH": str(ROOT)}
            found = subprocess.run(command, env=environment, capture_output=True, check=True)
            megabytes = round(int(found.stdout) / 1000, 1)
            rows.append({"keep": keep, "runs": runs, "megabytes": megabytes})
            print(rows[-1], flush=True)
    return rows


def kept_plays():
    """Measure reading stored runs against making them, and the disk space that they take."""
    with tempfile.TemporaryDirectory() as place:
        runs = 20_000
        topk.replicate(STRATEGIES["SAR"], RTE, runs, seed=1, store=place)
        took = shortest_times(
            lambda: topk.replicate(STRATEGIES["SAR"], RTE, runs, seed=1, store=place)
        )[0]
        found = topk.store.info(place)
    row = {
        "plays": runs,
        "arms": RTE.n,
        "plays_a_second": round(runs / took),
        "bytes_a_play": round(found.bytes / runs, 1),
        "files": found.files,
    }
    print(row, flush=True)
    return row


def cluster():
    """Measure runs per second on a cluster of one and of two workers on this machine."""
    from distributed import Client

    runs, rows = dict.fromkeys(STRATEGIES, 0) | {"SAR": 40_000}, []
    environment = os.environ | {"PYTHONPATH": str(ROOT)}
    with tempfile.TemporaryDirectory() as place:
        file = str(Path(place) / "scheduler.json")

        def start(*command):
            return subprocess.Popen(
                [
                    sys.executable,
                    "-m",
                    "dask",
                    *command,
                    "--host",
                    "127.0.0.1",
                    "--dashboard-address",
                    "127.0.0.1:0",
                    "--scheduler-file",
                    file,
                ],
                env=environment,
                cwd=place,
                stdout=subprocess.DEVNULL,
                stderr=subprocess.DEVNULL,
            )

        processes = [start("scheduler", "--port", "0")]
        with Client(scheduler_file=file, set_as_default=False) as client:
            for count in (1, 2):
                processes.append(start("worker", "--nthreads", "1", "--no-nanny"))
                client.wait_for_workers(count)
                play_all({"SAR": 2000}, client, names=("SAR",))
                took = shortest_times(lambda c=client: play_all(runs, c, names=("SAR",)))[0]
                rows.append({"workers": count, "plays_a_second": round(runs["SAR"] / took, 1)})
                print(rows[-1], flush=True)
            bandit = topk.BernoulliBandit([0.2, 0.8])
            least = topk.Uniform(1, budget=2)
            took = shortest_times(
                lambda: topk.replicate(least, bandit, 500, seed=0, jobs=client, chunk=1)
            )[0]
        for process in processes:
            process.kill()
    return {"strategy": "SAR", "rates": rows, "seconds_a_portion": round(took / 500, 6)}


def machine():
    """Return processor, cores and versions."""
    models = [
        line.split(":")[1].strip()
        for line in Path("/proc/cpuinfo").read_text().split("\n")
        if line.startswith("model name")
    ]
    return {
        "processor": models[0] if models else platform.machine(),
        "cores": os.cpu_count(),
        "python": platform.python_version(),
        "numpy": np.__version__,
        "numba": numba.__version__,
        "topk": topk.__version__,
    }


def main():
    parts = (
        summary_memory,
        crowd_study,
        portion_overhead,
        bare_overhead,
        kept_plays,
        cluster,
        sizes,
    )
    wanted = sys.argv[1:]
    found = json.loads(RESULT.read_text()) if wanted and RESULT.exists() else {}
    for part in parts:
        if not wanted or part.__name__ in wanted:
            print(part.__name__, flush=True)
            disturbed.clear()
            rows = {"result": part(), "undisturbed": not disturbed}
            found[part.__name__] = rows | {"date": datetime.date.today().isoformat()}
            found["machine"] = machine()
            RESULT.parent.mkdir(exist_ok=True)
            RESULT.write_text(json.dumps(found, indent=1) + "\n")


if __name__ == "__main__":
    main()
