"""Measure the cost of a pull for each strategy, and write results/speed.json.

Times are CPU times of the measuring thread.  Just before each measurement of a strategy, the
generator's draw is measured in the same process; medians of the times and of the ratios are
stored.  Other programs slow both down through shared caches and cores, so run this on an idle
machine; it takes a quarter of an hour.
"""

import argparse
import datetime
import json
import os
import platform
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

os.environ["TOPK_STORE"] = "off"
os.environ["TOPK_COMPILE"] = "always"  # but in the new processes of `fresh`
for library in ("OMP", "OPENBLAS", "MKL", "NUMBA"):
    os.environ.setdefault(f"{library}_NUM_THREADS", "1")

import numba  # noqa: E402
import numpy as np  # noqa: E402

import topk  # noqa: E402
import topk.hardness  # noqa: E402
from topk.engine.loop import DONE  # noqa: E402
from topk.simulate.play import Play  # noqa: E402

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT))

from benchmarks.lucb import lucb1  # noqa: E402

RESULT = ROOT / "benchmarks" / "results" / "speed.json"
SIZES = (20, 1000, 10_000, 100_000, 1_000_000)
SEARCHED = (20, 300, 1000, 3000, 10_000)
C_SIZES = (20, 60, 300, 1000, 10_000, 100_000, 1_000_000)
PULLS = 1_000_000  # measured in each run, after the first pull of every arm
REPEATS = 5
DELTA, EPSILON = 0.1, 0.05


def clock(work):
    """Return the CPU seconds of this thread that ``work()`` takes, and its result."""
    start = time.thread_time()
    found = work()
    return time.thread_time() - start, found


# The draw


@numba.njit
def add_draws(rng, count):
    """Add up uniform random numbers."""
    total = 0.0
    for _ in range(count):
        total += rng.random()
    return total


def draw_ns():
    """Return the nanoseconds of one uniform PCG64 draw inside compiled code."""
    rng, count = np.random.default_rng(0), 4_000_000
    add_draws(rng, 1)
    return min(clock(lambda: add_draws(rng, count))[0] for _ in range(3)) / count * 1e9


# Strategies that pull one or two arms per step


def index_strategies(n, means, pulls):
    """Return the strategies, with parameters such that they do not stop early."""
    k, budget = max(1, n // 10), n + pulls
    hardness = topk.hardness.h1(means, k)
    return {
        "LUCB1": topk.LUCB1(k, epsilon=0.0, delta=DELTA),
        "GapE": topk.GapE(k, budget=budget, complexity=hardness),
        "UGapEb": topk.UGapEb(k, budget=budget, epsilon=0.0, complexity=hardness),
        "UGapEc": topk.UGapEc(k, epsilon=0.0, delta=DELTA),
        "CLUCB": topk.CLUCB(k, delta=DELTA),
        "CLUCBPAC": topk.CLUCBPAC(k, epsilon=0.0, delta=DELTA),
    }


def pull_ns(strategy, bandit, pulls, seed, search=None):
    """Return the nanoseconds per pull, over ``pulls`` pulls in one or more runs, of a search.

    The first pull of every arm, and the sorting that follows it, are not counted.
    """
    seconds = made = number = 0
    status = DONE
    while status == DONE and made < pulls:
        play = Play(strategy, bandit, seed, number, search=search)
        play.warm()
        play._run_slice(-1, 1)
        number, before = number + 1, play.total
        took, status = clock(lambda p=play, u=before + pulls - made: p._run_slice(u, 10**9))
        seconds, made = seconds + took, made + play.total - before
    return seconds / made * 1e9


def pulls():
    """Measure nanoseconds and draws per pull against the number of arms, also with numpy."""
    rows = []
    for n in SIZES:
        bandit = topk.instances.uniform(n)
        for name, strategy in index_strategies(n, bandit.means, PULLS).items():
            rows.append(row(name, n, lambda seed, s=strategy, b=bandit: pull_ns(s, b, PULLS, seed)))
        rows.append(row("numpy", n, lambda seed, b=bandit: numpy_ns(b.means, seed)))
    return rows


def searches():
    """Measure each search of a rule, which says up to how many arms a scan is the faster one."""
    rows = []
    for n in SEARCHED:
        bandit = topk.instances.uniform(n)
        for name, strategy in index_strategies(n, bandit.means, PULLS // 4).items():
            for search in strategy.searches if len(strategy.searches) > 1 else ():
                def measure(seed, given=(strategy, bandit, PULLS // 4), search=search):
                    return pull_ns(*given, seed, search)

                rows.append({"search": search.name} | row(name, n, measure))
    return rows


def row(name, n, measure):
    """Measure ``REPEATS`` times, each time after a draw; return medians."""
    draws, times = [], []
    for seed in range(REPEATS):
        draws.append(draw_ns())
        times.append(measure(seed))
    ratios = [taken / draw for taken, draw in zip(times, draws, strict=True)]
    found = {
        "strategy": name,
        "n": n,
        "ns_a_pull": round(statistics.median(times), 1),
        "fastest_ns_a_pull": round(min(times), 1),
        "draws_a_pull": round(statistics.median(ratios), 1),
        "draw_ns": round(statistics.median(draws), 2),
    }
    print(found, flush=True)
    return found


def numpy_ns(means, seed):
    """Return the nanoseconds per pull of `numpy_lucb`, from about a tenth of a second."""
    n = means.size
    rounds = max(3, 20_000_000 // (100 * n + 20_000))
    return clock(lambda: numpy_lucb(means, n // 10, rounds, seed))[0] / (2 * rounds) * 1e9


def numpy_lucb(means, k, rounds, seed):
    """Run LUCB1 in plain numpy, with vector operations over all arms in every round."""
    n, rng = means.size, np.random.default_rng(seed)
    u, sums = np.ones(n), (rng.random(n) < means).astype(float)
    for t in range(1, rounds + 1):
        mean = sums / u
        radius = np.sqrt(np.log(1.25 * n * float(t) ** 4 / DELTA) / (2 * u))
        inside = np.zeros(n, dtype=bool)
        inside[np.argpartition(-mean, k - 1)[:k]] = True
        low = np.where(inside, mean - radius, np.inf).argmin()
        high = np.where(inside, -np.inf, mean + radius).argmax()
        for arm in (low, high):
            u[arm] += 1
            sums[arm] += rng.random() < means[arm]
    return sums


# C


def against_c():
    """Measure LUCB1 in C (``lucb.c``) and in the library, and the ratio to the faster C form.

    Return an empty list without a C compiler.
    """
    compiler, rows = shutil.which("cc"), []
    if compiler is None:
        return rows
    with tempfile.TemporaryDirectory() as folder:
        program = f"{folder}/lucb"
        flags = ["-O3", "-march=native", "-ffast-math"]
        source = str(Path(__file__).with_name("lucb.c"))
        subprocess.run([compiler, *flags, "-o", program, source, "-lm"], check=True)
        for n in C_SIZES:
            rows.append(beside_c(program, n))
            print(rows[-1], flush=True)
    return rows


def beside_c(program, n):
    """Measure both C forms and LUCB1 on ``n`` arms in turn; return medians.

    C makes runs as long as those of the library, since the first pulls of a run take longer.
    """
    bandit, ours, forms = topk.instances.uniform(n), [], {"scan": [], "tournament": []}
    strategy = index_strategies(n, bandit.means, PULLS)["LUCB1"]
    length = topk.run(strategy, bandit, rng=0, max_pulls=n + PULLS).total_pulls - n
    for seed in range(REPEATS):
        for form, found in forms.items():
            pulls = PULLS // 10 if form == "scan" and n > 1000 else length
            words = [program, form, str(n), str(n // 10), str(pulls)]
            if form == "tournament" or n <= 10_000:
                run = subprocess.run(words, capture_output=True, text=True, check=True)
                found.append(float(run.stdout.split()[0]))
        ours.append(pull_ns(strategy, bandit, PULLS, seed))
    medians = {form: round(statistics.median(found), 1) for form, found in forms.items() if found}
    ns = statistics.median(ours)
    return {"n": n, **medians, "LUCB1": round(ns, 1), "ratio": round(ns / min(medians.values()), 2)}


# Ordinary numba


ORDINARY_SIZES = {20: PULLS, 60: PULLS, 1000: PULLS // 4, 100_000: PULLS // 50}  # arms: pulls


def ordinary():
    """Measure LUCB1 in ordinary numba (``lucb.py``) and in the library: nanoseconds a pull, ratios.

    Both make the same pulls, after the first of every arm.  ``first_s`` is the time of the first
    run in a fresh process with an empty cache, most of it compilation.
    """
    rows = []
    lucb1(np.array([0.9, 0.1]), 1, 0.0, DELTA, 10, np.random.default_rng(0))
    for n, pulls in ORDINARY_SIZES.items():
        bandit, plain, ours = topk.instances.uniform(n), [], []
        strategy = index_strategies(n, bandit.means, PULLS)["LUCB1"]
        for seed in range(REPEATS):
            plain.append(ordinary_ns(bandit.means, pulls, seed))
            ours.append(pull_ns(strategy, bandit, pulls, seed))
        ratios = [one / other for one, other in zip(plain, ours, strict=True)]
        rows.append({"n": n, "pulls": pulls, "numba": round(statistics.median(plain), 1),
                     "LUCB1": round(statistics.median(ours), 1),
                     "ratio": round(statistics.median(ratios), 2)})
        print(rows[-1], flush=True)
    first = first_plays()
    print(first, flush=True)
    return {"rows": rows, "first_s": first}


def ordinary_ns(means, pulls, seed):
    """Return the nanoseconds per pull of ``lucb1``, over ``pulls`` pulls in one or more runs.

    The first pull of every arm is not counted: the time of a run without others is subtracted.
    """
    n, made, took, number = means.size, 0, 0.0, 0
    while made < pulls:
        rngs = [np.random.default_rng([seed, number]) for _ in range(2)]
        took -= clock(lambda r=rngs[0]: lucb1(means, n // 10, 0.0, DELTA, n, r))[0]
        most = n + pulls - made
        spent, found = clock(lambda r=rngs[1], m=most: lucb1(means, n // 10, 0.0, DELTA, m, r))
        took, made, number = took + spent, made + int(found[0].sum()) - n, number + 1
    return took / made * 1e9


def first_plays():
    """Return the processor seconds of the first run with an empty cache, for both."""
    start = "import time, numpy as np, topk\n"
    codes = {
        "numba": start + "from benchmarks.lucb import lucb1\ns = time.process_time()\n"
        "lucb1(np.array([0.9, 0.1]), 1, 0.0, 0.1, 100, np.random.default_rng(0))\n",
        "LUCB1": start + "bandit = topk.BernoulliBandit([0.9, 0.1])\ns = time.process_time()\n"
        "topk.run(topk.LUCB1(1, epsilon=0.0, delta=0.1, budget=100), bandit, rng=0)\n",
    }
    found = {}
    for name, code in codes.items():
        times = []
        for _ in range(3):
            with tempfile.TemporaryDirectory() as cache:
                code_and_end = code + "print(time.process_time() - s)"
                folder = {"NUMBA_CACHE_DIR": cache, "TOPK_COMPILE": "always"}
                times.append(fresh(code_and_end, **folder)[0])
        found[name] = round(statistics.median(times), 1)
    return found


# Strategies that pull in rounds


def runs():
    """Measure milliseconds and pulls of a run on 1,000 arms."""
    n, k, budget = 1000, 100, 100_000
    bandit = topk.instances.uniform(n)
    strategies = {
        "Uniform": topk.Uniform(k, budget=budget),
        "SuccessiveRejects": topk.SuccessiveRejects(k, budget=budget),
        "SAR": topk.SAR(k, budget=budget),
        "OptMAI": topk.OptMAI(k, budget=budget),
        "Racing": topk.Racing(k, epsilon=EPSILON, delta=DELTA),
        "Halving": topk.Halving(k, epsilon=EPSILON, delta=DELTA),
        "AdaptiveTopK": topk.AdaptiveTopK(k, epsilon=EPSILON, delta=DELTA),
    }
    rows = []
    for name, strategy in strategies.items():
        topk.run(strategy, bandit, rng=0)
        times, totals = [], []
        for seed in range(3 * REPEATS):
            took, outcome = clock(lambda s=strategy, r=seed: topk.run(s, bandit, rng=r))
            times.append(took)
            totals.append(outcome.total_pulls)
        rows.append({
            "strategy": name, "n": n, "k": k,
            "ms_a_run": round(1000 * statistics.median(times), 3),
            "pulls": int(statistics.median(totals)),
        })
        print(rows[-1], flush=True)
    return rows


# The longest call of compiled code


def slices():
    """Measure the longest calls of compiled code in a run with a million arms."""
    n, rows = 1_000_000, []
    bandit = topk.instances.uniform(n)
    for name, strategy in index_strategies(n, bandit.means, PULLS).items():
        play, stays = Play(strategy, bandit, 0, 0), []
        play.warm()
        plain = play._run_slice

        def measured(until, steps, plain=plain, stays=stays):
            took, status = clock(lambda: plain(until, steps))
            stays.append(took)
            return status

        play._run_slice = measured
        play.advance(until=n + PULLS)
        rows.append({"strategy": name, "n": n, "first_s": round(stays[0], 3),
                     "longest_later_s": round(max(stays[1:]), 3)})
        print(rows[-1], flush=True)
    return rows


# New processes


PEAK = "int(pathlib.Path('/proc/self/status').read_text().split('VmHWM:')[1].split()[0]) / 1000"


def fresh(code, **variables):
    """Run code in a new process, compiled where that pays; return the numbers that it prints."""
    environment = os.environ | {"PYTHONPATH": str(ROOT), "TOPK_COMPILE": "auto"} | variables
    found = subprocess.run([sys.executable, "-c", code], env=environment, cwd=ROOT,
                           capture_output=True, text=True, check=True)
    return [float(word) for word in found.stdout.split()]


def starting():
    """Measure `import topk`, and the first call of each strategy with a warm cache."""
    imports = [fresh("import time; s = time.process_time(); import topk\n"
                     "print(time.process_time() - s)")[0] for _ in range(2 * REPEATS)]
    found, first = {"import_s": round(statistics.median(imports), 3)}, {}
    strategies = index_strategies(20, topk.instances.uniform(20).means, 200) | {
        "Uniform": topk.Uniform(2, budget=200),
        "SuccessiveRejects": topk.SuccessiveRejects(2, budget=200),
        "SAR": topk.SAR(2, budget=200),
        "OptMAI": topk.OptMAI(2, budget=200),
        "Racing": topk.Racing(2, epsilon=0.5, delta=DELTA),
        "Halving": topk.Halving(2, epsilon=0.5, delta=DELTA),
        "AdaptiveTopK": topk.AdaptiveTopK(2, epsilon=0.5, delta=DELTA),
    }
    for name, strategy in strategies.items():
        if hasattr(strategy, "budget") and strategy.budget is None:
            strategy = type(strategy)(**(vars(strategy) | {"budget": 200}))
        code = ("import time, topk\nfrom topk import *\n"
                "bandit = topk.instances.uniform(20)\ns = time.process_time()\n"
                f"topk.run(topk.{strategy!r}, bandit)\nprint(time.process_time() - s)")
        times = [fresh(code)[0] for _ in range(REPEATS)]
        first[name] = round(statistics.median(times[1:]), 3)  # the first call filled the cache
    found["first_call_s"] = first
    print(found, flush=True)
    return found


def memory():
    """Measure the peak memory of a process that runs LUCB1 on 10^6 arms for 10^7 pulls."""
    megabytes, seconds = fresh(
        "import pathlib, time, numpy as np, topk\n"
        "bandit = topk.instances.uniform(10**6)\ns = time.process_time()\n"
        f"topk.run(topk.LUCB1(10**5, epsilon=0.0, delta={DELTA}, budget=10**7), bandit)\n"
        f"print({PEAK}, time.process_time() - s)"
    )
    found = {"strategy": "LUCB1", "n": 10**6, "pulls": 10**7, "megabytes": round(megabytes),
             "seconds": round(seconds, 1)}
    print(found, flush=True)
    return found


def machine():
    """Return processor, cores and versions."""
    models = [line.split(":")[1].strip() for line in Path("/proc/cpuinfo").read_text().split("\n")
              if line.startswith("model name")]
    return {"processor": models[0] if models else platform.machine(), "cores": os.cpu_count(),
            "python": platform.python_version(), "numpy": np.__version__,
            "numba": numba.__version__, "topk": topk.__version__}


PARTS = {part.__name__: part
         for part in (pulls, searches, against_c, ordinary, runs, slices, starting, memory)}


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("part", nargs="*", choices=[*PARTS, []], help="parts to measure")
    wanted = parser.parse_args().part or list(PARTS)
    found = json.loads(RESULT.read_text()) if RESULT.exists() and len(wanted) < len(PARTS) else {}
    before = os.getloadavg()[0]
    for name in wanted:
        print(name, flush=True)
        found[name] = PARTS[name]()
    found["machine"], found["date"] = machine(), datetime.date.today().isoformat()
    found["load"] = {"before": round(before, 1), "after": round(os.getloadavg()[0], 1)}
    RESULT.parent.mkdir(exist_ok=True)
    RESULT.write_text(json.dumps(found, indent=1) + "\n")


if __name__ == "__main__":
    main()
