"""The streams of scores on which every rule of the audit is run, by seed and run alone."""

import hashlib

import numpy as np

SEED, LOOKS = 2028, 100
# Those of page 28: means, scores of an arm between looks, deviation if not 0/1, tolerance.
INSTANCES = {
    "two click rates": ((0.04, 0.025), 100, None, 0.0),
    "five click rates": ((0.055, 0.035, 0.025, 0.02, 0.01), 100, None, 0.0),
    "two accuracies": ((0.95, 0.92), 50, None, 0.0),
    "five accuracies": ((0.98, 0.95, 0.94, 0.92, 0.90), 50, None, 0.0),
    "two nearly equal": ((0.5, 0.499), 100, None, 0.0),
    "small spread": ((0.80, 0.79), 5, 0.02, 0.0),
    "tie of click rates": ((0.05, 0.045, 0.01), 10, None, 0.03),
    "tie of accuracies": ((0.99, 0.98, 0.92), 10, None, 0.03),
    "tie, documentation's": ((0.85, 0.80, 0.60), 10, None, 0.05),
}
# Ties and near ties, in fixed places, the control first. Of equal arms no winner is right.
NEAR = {
    "equal: .5": ((0.5, 0.5), 100, None, 0.0),
    "equal: .05": ((0.05, 0.05), 100, None, 0.0),
    "equal: .01": ((0.01, 0.01), 100, None, 0.0),
    "equal: .002": ((0.002, 0.002), 100, None, 0.0),
    "control .010, treatment .0108": ((0.010, 0.0108), 100, None, 0.0),
    "control .0108, treatment .010": ((0.0108, 0.010), 100, None, 0.0),
    "control .002, treatment .0022": ((0.002, 0.0022), 100, None, 0.0),
    "control .0022, treatment .002": ((0.0022, 0.002), 100, None, 0.0),
}
TWENTY = "20 equal: .5"  # systems with 500 scores each
PRIOR = "drawn from Beta(1/2, 1/2)"  # two means of the prior in place of an instance


def stream(place: str, run: int) -> tuple[np.ndarray, np.ndarray]:
    """Return the means, those of `INSTANCES` in random places, and a run's scores, arms by time.

    Scores are uniform numbers below the mean, or Beta quantities, so that versions of NumPy agree.
    """
    if place == PRIOR:
        random = np.random.default_rng([SEED, len(INSTANCES), run])
        means, count, spread = random.beta(0.5, 0.5, 2), 500, None
    elif place == TWENTY:
        random = np.random.default_rng([SEED, len(INSTANCES) + 1, run])
        means, count, spread = np.full(20, 0.5), 500, None
    elif place in NEAR:
        random = np.random.default_rng([SEED, len(INSTANCES) + 2 + list(NEAR).index(place), run])
        values, daily, spread, _ = NEAR[place]
        means, count = np.array(values), daily * LOOKS
    else:
        random = np.random.default_rng([SEED, list(INSTANCES).index(place), run])
        values, daily, spread, _ = INSTANCES[place]
        means, count = random.permutation(values), daily * LOOKS
    if spread is None:
        return means, (random.random((means.size, count)) < means[:, None]).astype(np.uint8)
    size = (means * (1 - means) / spread**2 - 1)[:, None]
    means_ = means[:, None]
    return means, random.beta(size * means_, size * (1 - means_), (means.size, count))


def daily_of(place: str) -> int:
    """Return the number of rewards of an arm between two looks."""
    return (INSTANCES | NEAR).get(place, ((), 50))[1]


def is_wrong(place: str, means: np.ndarray, arm: int) -> bool:
    """Tell whether naming this arm is an error: it is worse than another one, or none is better."""
    epsilon = INSTANCES[place][3] if place in INSTANCES else 0.0
    return bool(means[arm] < means.max() - epsilon - 1e-9 or means.min() == means.max())


def digest(place: str, runs: int = 200) -> str:
    """Hash the scores of the first runs, rounded where they are not 0 or 1."""
    found = hashlib.sha256()
    for run in range(runs):
        found.update(np.round(stream(place, run)[1] * 1e4).astype(np.int32).tobytes())
    return found.hexdigest()[:16]
