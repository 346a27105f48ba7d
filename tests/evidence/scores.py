"""Simulations that check the betting interval, and the strategies that stop by it.

Run ``python -m evidence.scores`` in the folder tests (some minutes).  ``scores.json`` in this
folder stores the counts; the tests repeat the first runs.
"""

import math
from pathlib import Path

import numpy as np
from evidence.plays import certified_errors, digest, in_lines

import topk
from topk.confidence.betting import betting_bounds
from topk.engine.jit import compiled

RESULT = Path(__file__).with_name("scores.json")
SEED, WALKS, PULLS, DELTAS = 26, 4000, 400, (0.3, 0.05)
ARMS, HORIZON, ADVERSARIES = 4, 1200, 2000
RUNS, REPLAYED = 2000, 15
FOLLOWED = 200  # walks, and adversaries, that the tests repeat


def points(values, shares):
    """Return a sampler of a distribution on some points, and its mean."""
    values, edges = np.array(values), np.cumsum(shares)[:-1]
    mean = float(values @ np.array(shares))
    return (lambda rng, size: values[np.searchsorted(edges, rng.random(size), "right")]), mean


def beta(a, b):
    """Return a sampler of a Beta distribution, and its mean."""
    return (lambda rng, size: rng.beta(a, b, size)), a / (a + b)


REWARDS = {
    "0/1 at .5": points([0.0, 1.0], [0.5, 0.5]),
    "0/1 at .03": points([0.0, 1.0], [0.97, 0.03]),
    "0/1 at .001": points([0.0, 1.0], [0.999, 0.001]),
    "Beta, sd .05": beta(49.5, 49.5),
    "Beta(.1, .9)": beta(0.1, 0.9),
    "uniform": beta(1, 1),
    "0, .5 or 1": points([0.0, 0.5, 1.0], [0.3, 0.4, 0.3]),
    "0 or .2": points([0.0, 0.2], [0.5, 0.5]),
    "1 of 100 is 1, the others .3": points([0.3, 1.0], [0.99, 0.01]),
    "1 of 100 is 0, the others .3": points([0.3, 0.0], [0.99, 0.01]),
}


def misses_mean(rewards, mean, level):
    """Return for each row of rewards whether the interval ever misses the mean."""
    found = np.zeros(rewards.shape[0], dtype=np.bool_)
    for row in range(rewards.shape[0]):
        ones, squares = 0.0, 0.0
        for j in range(rewards.shape[1]):
            ones += rewards[row, j]
            squares += rewards[row, j] ** 2
            low, high = betting_bounds(float(j + 1), ones, squares, level)
            if mean < low or high < mean:
                found[row] = True
                break
    return found


def adversary_succeeds(rewards, mean, level):
    """Return whether an adversary finds an interval that misses the mean; rewards are (n, pulls).

    The adversary knows the mean, and pulls the arm with the smallest distance between the mean and
    an end of its interval, relative to the interval's length.
    """
    n, size = rewards.shape
    u, ones, squares, slack = np.zeros(n), np.zeros(n), np.zeros(n), np.full(n, 0.5)
    for t in range(size):
        arm = t if t < n else np.argmin(slack)
        x = rewards[arm, int(u[arm])]
        u[arm] += 1
        ones[arm] += x
        squares[arm] += x * x
        low, high = betting_bounds(u[arm], ones[arm], squares[arm], level)
        slack[arm] = min(mean - low, high - mean) / (high - low)
        if slack[arm] < 0:
            return True
    return False


def in_loop(function):
    """Return a function of this file, compiled together with the bounds."""
    return compiled(function, None, function.__name__, False, False)


def walks(title, count=WALKS):
    """Return the row of a distribution: how many reward sequences leave their interval.

    A sequence that leaves the interval at one delta also leaves those at larger delta.
    """
    draw, mean = REWARDS[title]
    rewards, run = draw(np.random.default_rng(SEED), (WALKS, PULLS))[:count], in_loop(misses_mean)
    left, counts, first = np.arange(count), [], []
    for delta in DELTAS:
        left = left[run(rewards[left], mean, -math.log(delta))]
        counts.append(left.size)
        first.append(int((left < FOLLOWED).sum()))
    return {"rewards": title, "left": counts, "first": first}


def chased(title, count=ADVERSARIES):
    """Return the row of a distribution: how often the adversary succeeds."""
    draw, mean = REWARDS[title]
    run, found = in_loop(adversary_succeeds), np.zeros((len(DELTAS), count), dtype=bool)
    for number in range(count):
        rewards = draw(np.random.default_rng([SEED, number]), (ARMS, HORIZON))
        for row, delta in enumerate(DELTAS):
            found[row, number] = run(rewards, mean, math.log(ARMS / delta))
            if not found[row, number]:
                break
    first = found[:, :FOLLOWED].sum(axis=1).tolist()
    return {"rewards": title, "missed": found.sum(axis=1).tolist(), "first": first}


def cases():
    """Return title -> bandit, k, epsilon; gaps are just above epsilon, and delta is 0.1."""
    good = topk.BetaBandit(*(np.array([55.0] * 2 + [52.9] * 3), np.array([45.0] * 2 + [47.1] * 3)))
    three = topk.ReplayBandit([[0.0] * 2 + [0.5] * 4 + [1.0] * 4] * 2
                              + [[0.0] * 312 + [0.5] * 382 + [1.0] * 306] * 2)
    rare = topk.ReplayBandit([[0.3] * 9 + [1.0]] * 2 + [[0.3] * 1000] * 2)
    return {
        "Beta, sd .05, .55 and .529": (good, 2, 0.0205),
        "0, .5 or 1, .6 and .497": (three, 2, 0.1),
        "1 of 10 is 1, the others .3; and all .3": (rare, 2, 0.068),
        "0/1, .995 and .984": (topk.BernoulliBandit([0.995] * 2 + [0.984] * 3), 2, 0.0105),
        "0/1, .03 and .009": (topk.BernoulliBandit([0.03] * 2 + [0.009] * 3), 2, 0.02),
    }


def certificates(name, title, runs=RUNS):
    """Return the row of a strategy and an instance: the number of wrong certified sets."""
    bandit, k, epsilon = cases()[title]
    bad, reps = certified_errors(getattr(topk, name)(k, epsilon, 0.1), bandit, runs)
    first = digest([reps.selected[:REPLAYED], reps.total_pulls[:REPLAYED]])
    return {
        "strategy": name, "case": title, "wrong": int(bad.sum()),
        "pulls": round(float(reps.total_pulls.mean()), 1),
        "first": [int(bad[:REPLAYED].sum()), first],
    }  # fmt: skip


CHASED = ("0/1 at .03", "Beta(.1, .9)", "1 of 100 is 1, the others .3")
CERTIFIED = ("BettingLUCB", "KLLUCB", "TopTwo")


def main():
    """Make all runs and write the file."""
    found = {"seed": SEED, "deltas": DELTAS, "count": WALKS, "plays": ADVERSARIES, "runs": RUNS}
    found["walks"] = [walks(title) for title in REWARDS]
    found["chased"] = [chased(title) for title in CHASED]
    found["certificates"] = [certificates(x, title) for x in CERTIFIED for title in cases()]
    text = ",\n".join(f'"{key}": {in_lines(value)}' for key, value in found.items())
    RESULT.write_text("{\n" + text + "\n}\n", encoding="utf-8")


if __name__ == "__main__":
    main()
