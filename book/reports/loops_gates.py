"""Gates of improvement loops, on 500 scores of champion and candidate in 1, 2 or 3 runs.

"p95" is rigor.py of trevin-creator/autoresearch-mlx (766a25f), which goes beside this file.
"""

import numpy as np


def decide(scores, daily, gate="better", size=500):
    """Return the last candidate that is kept in place of the first arm, or None, and the scores."""
    parts = {"better": 1, "agree": 2, "p95": 3}[gate]
    runs = scores[:, :size // parts * parts].reshape(len(scores), parts, -1).mean(2)
    champion = 0
    for arm in range(1, len(scores)):
        better = runs[arm] > runs[champion]
        if gate == "p95":
            from rigor import prob_improvement
            better = runs[arm][0] > runs[champion].mean() and prob_improvement(
                (-runs[champion]).tolist(), (-runs[arm]).tolist()) >= 0.95
        if np.all(better):
            champion = arm
    return champion or None, scores.shape[0] * size


if __name__ == "__main__":
    random = np.random.default_rng(0)
    runs = random.binomial(1, [[0.5], [0.499]], (1000, 2, 500))
    for gate in ("better", "agree"):
        kept = sum(decide(scores, 0, gate)[0] == 1 for scores in runs)
        print(gate, "- worse candidate kept, of 1,000:", kept)
