"""The first lines of a new user, in new processes with an empty cache: what compiling costs.

``python benchmarks/first.py`` runs them as they are, and with ``NUMBA_DISABLE_JIT=1``.  It prints
the seconds of a processor of both, their ratio, and whether the results are the same.
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


def cpu(**more):
    """Run the lines in a new process; return its seconds of a processor and its output."""
    with tempfile.TemporaryDirectory() as cache:
        kept = {k: v for k, v in os.environ.items() if not k.startswith(("NUMBA_", "TOPK_"))}
        before = resource.getrusage(resource.RUSAGE_CHILDREN)
        found = subprocess.run(
            [sys.executable, "-c", LINES], env=kept | {"XDG_CACHE_HOME": cache} | more,
            check=True, capture_output=True, text=True,
        )
        after = resource.getrusage(resource.RUSAGE_CHILDREN)
    seconds = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    return seconds, found.stdout


def main():
    """Print what both ways take."""
    cpu(NUMBA_DISABLE_JIT="1")  # reads all files once
    plain, expected = cpu(NUMBA_DISABLE_JIT="1")
    seconds, found = cpu()
    found = {"plain": plain, "auto": seconds, "ratio": seconds / plain, "same": found == expected}
    print(json.dumps({k: round(v, 2) for k, v in found.items()}))


if __name__ == "__main__":
    main()
