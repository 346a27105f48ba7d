"""Check that the evidence of certified runs is at most delta, in 1,000 runs of each strategy.

Run ``python -m evidence.agreement`` in the folder tests; the tests repeat the first runs.
"""

import sys

import numpy as np

import topk
from topk.confidence.confidence import interval, overlap

RUNS, FIRST = 1000, 40
CLICKS, LADDER = [0.3, 0.28, 0.1, 0.05, 0.01, 0.01], [0.9, 0.8, 0.7, 0.55, 0.4, 0.3, 0.2, 0.1]
BETA = np.array([0.6, 0.57, 0.54, 0.5, 0.47, 0.44])
BANDITS = {  # name -> bandit, k, epsilon, delta
    "two": (topk.BernoulliBandit([0.7, 0.4]), 1, 0.0, 0.05),
    "clicks": (topk.BernoulliBandit(CLICKS), 2, 0.05, 0.05),
    "ladder": (topk.BernoulliBandit(LADDER), 3, 0.1, 0.2),
    "far apart": (topk.BernoulliBandit([0.95, 0.9, 0.1, 0.05]), 2, 0.3, 0.4),
    "scores": (topk.BetaBandit(20 * BETA, 20 * (1 - BETA)), 2, 0.02, 0.05),
    "normal": (topk.GaussianBandit([120.0, 118.0, 100.0, 95.0], 8.0), 2, 3.0, 0.05),
}
STRATEGIES = {
    "KLLUCB": topk.KLLUCB,
    "KLLUCB, arms": lambda *given: topk.KLLUCB(*given, levels="arms"),
    "KLLUCB, published": lambda *given: topk.KLLUCB(*given, rate="published"),
    "BettingLUCB": topk.BettingLUCB,
    "BettingLUCB, arms": lambda *given: topk.BettingLUCB(*given, levels="arms"),
    "TopTwo": topk.TopTwo,
    "LUCB1": topk.LUCB1,
    "UGapEc": topk.UGapEc,
    "CLUCB": lambda k, epsilon, delta: topk.CLUCB(k, delta),
    "LUCBPlusPlus": lambda k, epsilon, delta: topk.LUCBPlusPlus(k, delta),
}
EXACT = ("CLUCB", "LUCBPlusPlus")


def cases():
    """Yield the pairs of strategy and instance."""
    for name in STRATEGIES:
        for title, (bandit, *_) in BANDITS.items():
            bounded = name in ("KLLUCB, published", "BettingLUCB", "BettingLUCB, arms")
            if not (bounded and bandit.sigma):
                yield name, title


def count_doubtful(name, title, runs):
    """Return the number of certified runs, and how many of these have evidence above delta."""
    bandit, *parameters = BANDITS[title]
    delta, epsilon = parameters[-1], 0.0 if name in EXACT else parameters[1]
    strategy = STRATEGIES[name](*parameters)
    if strategy.stops_by in ("sides", "pairs"):
        outcomes = [topk.run(strategy, bandit, np.random.default_rng([1, x])) for x in range(runs)]
        values = np.array([outcome.evidence() for outcome in outcomes if outcome.certified])
        return values.size, int((values > delta).sum())
    if strategy.uses_squares:  # Replications has no squares
        outcomes = [topk.run(strategy, bandit, np.random.default_rng([1, x])) for x in range(runs)]
        chosen, pulls, sums, squares = (
            np.array([getattr(outcome, x) for outcome in outcomes])
            for x in ("selected", "pulls", "sums", "unit_squares")
        )
        certified = np.array([outcome.certified for outcome in outcomes])
    else:
        reps = topk.replicate(strategy, bandit, runs, seed=1)
        chosen, pulls, sums, squares = reps.selected[:, 0], reps.pulls, reps.sums, None
        certified = reps.certified
    inside = np.zeros(pulls.shape, dtype=bool)
    np.put_along_axis(inside, chosen, True, axis=1)
    n, error = bandit.n, delta * (1 + 1e-6)
    low, high = interval(pulls, sums, error / n, bandit.sigma, squares=squares)
    bad = overlap(low, high, inside, ~inside) > epsilon
    return int(certified.sum()), int((bad & certified).sum())


def main():
    """Print a row for each strategy and instance."""
    for name, title in cases():
        if name in (sys.argv[1:] or STRATEGIES):
            ended, above = count_doubtful(name, title, RUNS)
            print(f"{name}, {title}: {ended} stopped by the rule, {above} above delta", flush=True)


if __name__ == "__main__":
    main()
