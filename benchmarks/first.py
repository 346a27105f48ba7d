"""The first lines and the first study of a new user, in new processes: what compiling costs.

``python benchmarks/first.py`` runs a few lines with an empty cache as they are, and with
``NUMBA_DISABLE_JIT=1``: it prints the seconds of a processor of both, their ratio, and whether the
results are the same.  Then it makes a study of 1,000 runs with each of five strategies twice, with
an empty cache and with the loop that the first study has stored.
"""

import json
import os
import resource
import subprocess
import sys
import tempfile

LINES = """
import topk

bandit = topk.instances.rte_workers()
strategy = topk.OptMAI(k=20, budget=3280)
outcomes = [topk.run(strategy, bandit, rng=0)]
replications = topk.replicate(strategy, bandit, runs=100, seed=1)
frame = replications.frame()
few = topk.BernoulliBandit([0.9, 0.8, 0.1, 0.2])
for own in topk.KLLUCB(2, epsilon=0.1, delta=0.1), topk.LUCB1(2, epsilon=0.1, delta=0.1):
    outcomes.append(topk.run(own, few, rng=0))
print([outcome.pulls.tolist() for outcome in outcomes], replications.pulls.sum(axis=0).tolist())
print(frame.to_csv())
"""


STUDY = """
import numpy as np, topk
bandit = topk.BernoulliBandit(np.linspace(0.9, 0.1, 20))
print(topk.replicate({strategy}, bandit, runs=1000, seed=1, jobs=1).pulls.sum(axis=0).tolist())
"""
STRATEGIES = (
    "topk.LUCB1(4, 0, 0.05, budget=2000)", "topk.KLLUCB(4, 0, 0.05, budget=2000)",
    "topk.CLUCBPAC(4, 0, 0.05, budget=2000)", "topk.UGapEc(4, 0.01, 0.05, budget=2000)",
    "topk.SAR(4, 2000)",
)  # fmt: skip


def cpu(lines, cache, **more):
    """Run some lines in a new process; return its seconds of a processor and its output."""
    kept = {k: v for k, v in os.environ.items() if not k.startswith(("NUMBA_", "TOPK_"))}
    kept |= {"XDG_CACHE_HOME": cache, "TOPK_STORE": "off"}
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    found = subprocess.run(
        [sys.executable, "-c", lines], env=kept | more, check=True, capture_output=True, text=True,
    )
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    seconds = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    return seconds, found.stdout


def main():
    """Print what both ways take, and what each study takes from nothing and stored."""
    with tempfile.TemporaryDirectory() as cache:
        cpu(LINES, cache, NUMBA_DISABLE_JIT="1")  # reads all files once
        plain, expected = cpu(LINES, cache, NUMBA_DISABLE_JIT="1")
        seconds, found = cpu(LINES, cache)
    both = {"plain": plain, "auto": seconds, "ratio": seconds / plain}
    print(json.dumps({k: round(v, 2) for k, v in both.items()} | {"same": found == expected}))
    for strategy in STRATEGIES:
        with tempfile.TemporaryDirectory() as cache:
            lines = STUDY.format(strategy=strategy)
            (nothing, expected), (stored, found) = cpu(lines, cache), cpu(lines, cache)
        row = {"strategy": strategy, "from nothing": round(nothing, 1), "stored": round(stored, 2)}
        print(json.dumps(row | {"same": found == expected}))


if __name__ == "__main__":
    main()
