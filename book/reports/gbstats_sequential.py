"""GrowthBook's sequential test, and its chance to win. pip install gbstats==0.8.0 (Python 3.11)"""

import numpy as np
from gbstats.bayesian.tests import EffectBayesianABTest, EffectBayesianConfig
from gbstats.frequentist.tests import SequentialTwoSidedTTest
from gbstats.models.statistics import ProportionStatistic, SampleMeanStatistic


def decide(scores, daily, chance=False):
    """Return the arm that the first look decides for, or None, and the scores that were used."""
    sums, squares = scores.cumsum(1, dtype=float), (scores.astype(float) ** 2).cumsum(1)
    for n in range(daily, scores.shape[1] + 1, daily):
        if chance or not np.isin(scores, (0, 1)).all():
            a, b = (SampleMeanStatistic(n, sums[i, n - 1], squares[i, n - 1]) for i in (0, 1))
        else:
            a, b = (ProportionStatistic(n, sums[i, n - 1]) for i in (0, 1))
        if chance:  # of the absolute difference, with the flat prior
            config = EffectBayesianConfig(difference_type="absolute")
            win = EffectBayesianABTest(a, b, config).compute_result().chance_to_win
            over = max(win, 1 - win) > 0.95
        else:
            over = SequentialTwoSidedTTest(a, b).compute_result().p_value < 0.05
        if over:
            return int(b.mean > a.mean), 2 * n
    return None, 2 * scores.shape[1]


if __name__ == "__main__":
    runs = [np.random.default_rng(i).binomial(1, [[0.5], [0.499]], (2, 10_000)) for i in range(200)]
    print("worse arm, of 200 runs:", sum(decide(run, 100)[0] == 1 for run in runs))
