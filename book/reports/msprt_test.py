"""The mixture test of msprt, looked at after every `daily` pairs. pip install msprt==0.1.2"""

import numpy as np
from msprt import msprt


def decide(scores, daily):
    """Return the arm that the first look decides for, or None, and the scores that were used."""
    x, y = np.pad(scores[:2].astype(float), ((0, 0), (0, 1)))  # the ratio leaves out the last pair
    with np.errstate(invalid="ignore", divide="ignore"):
        ratio = msprt(x=x, y=y, sigma=0.5, distribution="bernoulli").sequential_probability_ratio
    for n in range(daily, scores.shape[1] + 1, daily):
        if ratio[n] > 20:
            return int(scores[1, :n].sum() > scores[0, :n].sum()), 2 * n
    return None, 2 * scores.shape[1]


if __name__ == "__main__":
    random = np.random.default_rng(0)
    runs = [decide(random.binomial(1, [[0.5], [0.499]], (2, 5000)), 100)[0] for _ in range(50)]
    print("worse arm, of 50 runs:", sum(arm == 1 for arm in runs))
