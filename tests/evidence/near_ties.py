"""Small runs near ties at large delta, and adversaries who look, that count wrong certificates.

Run ``python -m evidence.near_ties`` in the folder tests (some minutes).  ``near_ties.json`` in this
folder stores the counts; the tests repeat the first runs.
"""

import math
import warnings
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from evidence.plays import certified_errors, in_lines

import topk
import topk_eval
from topk.confidence.sides import mixture_bound, share_above
from topk.rules.marks import rule

RESULT = Path(__file__).with_name("near_ties.json")
SEED, REPLAYED = 52, 5

# Runs near ties

RUNS, BUDGET, ITEMS = 1250, 400, 100
DELTAS = (0.3, 0.5, 0.7, 0.9)
INSTANCES = {  # name -> means, k and epsilon, which gaps exceed by .01
    "two": ([0.5, 0.49], 1, 0.0),
    "rare": ([0.25, 0.04, 0.04], 1, 0.2),
    "nearly always": ([0.96, 0.96, 0.75], 2, 0.2),
    "halves": ([0.6, 0.6, 0.39, 0.39], 2, 0.2),
    "one of five": ([0.6, 0.39, 0.39, 0.39, 0.39], 1, 0.2),
}
STRATEGIES = {"KLLUCB": topk.KLLUCB, "BettingLUCB": topk.BettingLUCB, "TopTwo": topk.TopTwo,
              "FiniteKLLUCB": topk.KLLUCB}  # fmt: skip


def bandit_of(name, means):
    """Return the bandit for a strategy: scores, a test set, or 0/1 rewards."""
    means = np.array(means)
    if name == "BettingLUCB":
        return topk.BetaBandit(means, 1 - means)
    if name == "FiniteKLLUCB":
        return topk_eval.TestSet(np.arange(ITEMS) < np.rint(ITEMS * means)[:, None])
    return topk.BernoulliBandit(means)


def tie_row(name, title, delta, runs=RUNS):
    """Return the row of a strategy on an instance; runs end after `BUDGET` pulls at most."""
    means, k, epsilon = INSTANCES[title]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", topk.TopkWarning)  # of a large delta
        strategy = STRATEGIES[name](k, epsilon, delta, BUDGET)
    wrong, reps = certified_errors(strategy, bandit_of(name, means), runs)
    counts = np.array([reps.certified, wrong, reps.total_pulls], dtype=int)
    certified, errors = counts[:2].sum(axis=1).tolist()
    return {
        "strategy": name, "instance": title, "delta": delta,
        "certified": certified, "wrong": errors,
        "first": counts[:, :REPLAYED].sum(axis=1).tolist(),
    }  # fmt: skip


def tie_rows():
    """Return the triples of strategy, instance and delta."""
    return [(name, title, delta) for name in STRATEGIES for title in INSTANCES for delta in DELTAS]


# Adversaries who look at the results

# Arm 0 has a mean of 1/2 and enough rewards to bring its bounds close to it; all others are better
# by multiples of 0.002.  An adversary chooses all pulls, which give 0 or 1, and lets arms leave or
# join.  A rule that kept its levels would then be wrong in more than delta of all sessions.
SESSIONS, FOLLOWED, DELTA = 1000, 2, 0.5
PATIENCE, KNOWN = 60, 10**8  # most pulls of an arm before the adversary acts; of an arm like arm 0
OTHERS, JOINS = 5, 8
MEANS = 0.5 + 0.002 * np.arange(JOINS + 2)


@dataclass(frozen=True)
class Unreserved(topk.KLLUCB):
    """KLLUCB with the levels of the start, which neither withdrawals nor joins change."""

    @rule
    def interval(s, arm):
        counts, c = (s.pulls[arm], s.sums[arm]), share_above(s.first, s.k)
        below = s.log_level + math.log((s.first - s.k) / (1 - c))
        above = s.log_level + math.log(s.k / c)
        return mixture_bound(*counts, below, True), mixture_bound(*counts, above, False)


def make_known(session, arm):
    """Observe enough rewards, all equal to the arm's mean, to bring its bounds close to it."""
    mean = MEANS[arm]
    session.observe([arm], sums=[KNOWN * mean], counts=[KNOWN], squares=[KNOWN * mean**2])


def pull(session, arm, rng):
    """Observe one 0/1 reward of an arm."""
    session.observe([arm], [float(rng.random() < MEANS[arm])])


def hopeless(session, arm):
    """Return whether an arm looks so good, or was pulled so often, that it will not be rejected."""
    u = session.pulls[arm]
    return u >= PATIENCE or u * (2 * session.means[arm] - 1) >= 2


def rejected(session, arm):
    """Return whether the rule's upper bound of an arm is below its lower bound of arm 0."""
    ends, s = session.strategy.interval, session.engine.s
    return ends(s, arm)[1] < ends(s, 0)[0]


def withdraws_what_looks_good(session, rng):
    """Pull one arm after the other, and withdraw those that are not rejected soon, but the last.

    What remains are arms of which the results make arm 0 look better.
    """
    make_known(session, 0)
    present = [*range(1, OTHERS + 1)]
    for arm in present:  # the rule looks at none before all have a reward
        pull(session, arm, rng)
    while not session.done:
        arm = next((arm for arm in present if not rejected(session, arm)), 0)
        if arm == 0:  # the rule stops at the next reward
            session.observe([0], [MEANS[0]])
        elif not hopeless(session, arm):
            pull(session, arm, rng)
        elif len(present) > 1:
            session.withdraw(arm)
            present.remove(arm)
        else:
            break
    return session, session.certified and session.selected[0] == 0


def joins_once_none_is_rejected(session, rng):
    """Pull the newest arm; unless it is rejected soon, make it known, and let a better one join."""
    make_known(session, 0)
    pull(session, 1, rng)
    for last in range(1, JOINS + 2):
        while not (session.done or hopeless(session, last)):
            pull(session, last, rng)
        if session.done or last > JOINS:
            break
        session = session.with_arms(1)
        make_known(session, last)
        pull(session, last + 1, rng)
    return session, session.certified and session.selected[0] != last


WAYS = {withdraws_what_looks_good: OTHERS + 1, joins_once_none_is_rejected: 2}  # arms at the start
WAYS = {way.__name__: (way, n) for way, n in WAYS.items()}
MADE = {"KLLUCB": topk.KLLUCB, "BettingLUCB": topk.BettingLUCB, "no reserve": Unreserved}


def adversary_row(name, way, runs=SESSIONS):
    """Return the row of an adversary against a strategy; all certificates count that are wrong."""
    counts, (play, n) = np.zeros((runs, 3), dtype=int), WAYS[way]
    for x in range(runs):
        session = MADE[name](1, 0.0, DELTA).start(n, rng=0)
        session, wrong = play(session, np.random.default_rng([SEED, x]))
        counts[x] = session.certified, wrong, session.pulls.sum() % KNOWN
    certified, errors, _ = counts.sum(axis=0).tolist()
    return {"strategy": name, "way": way, "certified": certified, "wrong": errors,
            "first": counts[:FOLLOWED].sum(axis=0).tolist()}  # fmt: skip


def adversary_rows():
    """Return the pairs of strategy and way."""
    return [(name, way) for name in MADE for way in WAYS]


def main():
    """Make all runs and write the file."""
    found = {"seed": SEED, "runs": RUNS, "sessions": SESSIONS, "delta": DELTA}
    found["ties"] = [tie_row(*given) for given in tie_rows()]
    found["adversaries"] = [adversary_row(*given) for given in adversary_rows()]
    text = ",\n".join(f'"{key}": {in_lines(value)}' for key, value in found.items())
    RESULT.write_text("{\n" + text + "\n}\n", encoding="utf-8")


if __name__ == "__main__":
    main()
