"""Two nearly equal models compared by bayesbench. pip install bayesbench==0.4.0.dev0"""

import numpy as np
from bayesbench import BayesianBenchmark
from bayesbench.posteriors import BetaPosterior, NormalPosterior


def decide(scores, daily, size=500, **options):
    """Return the model declared the winner, or None, and the scores that were used."""
    zero_one = np.isin(scores, (0, 1)).all()
    bench = BayesianBenchmark(
        posterior_factory=BetaPosterior if zero_one else NormalPosterior, **options)
    first, second = (lambda problem, row=row: row[problem] for row in scores)
    score = (lambda problem, answer: bool(answer)) if zero_one else (lambda problem, answer: answer)
    done = bench.compare(first, second, score, range(size))
    arm = {"model_a": 0, "model_b": 1, None: None}[None if done.skipped else done.winner]
    return arm, 2 * done.problems_tested


if __name__ == "__main__":
    random = np.random.default_rng(0)
    for options in ({}, {"min_samples": 500}):
        found = [decide(random.binomial(1, [[0.5], [0.499]], (2, 500)), 0, **options)
                 for _ in range(200)]
        print(options, "worse model declared:", sum(arm == 1 for arm, _ in found), "of 200;",
              "problems on average:", sum(used for _, used in found) / 400)
