"""Simulations that check the guarantees of KL-LUCB, TopTwo and the evidence: ``make evidence``.

The results are stored in ``recorded.json`` in this folder.  The tests repeat the first runs, and
the chapter "Pairs of arms: evidence and TopTwo" shows the counts.
"""

import datetime
import hashlib
import json
import math
import sys
from collections import namedtuple
from dataclasses import dataclass
from pathlib import Path

import numpy as np

import topk
from topk.confidence.confidence import pair_count
from topk.confidence.kl import kl_log_ratio_scalar, mixture_cost_scalar, pair_minimiser
from topk.engine.jit import compiled, compiled_for
from topk.rules.base import (
    ACCEPTED,
    ACTIVE,
    WITHDRAWN,
    ask,
    count,
    keep_active,
    on_withdraw,
    update,
)
from topk.rules.marks import rule
from topk.simulate.play import Play
from topk.stats import proportion_interval
from topk.store import SOURCES
from topk.strategies.toptwo import divergence

RESULT = Path(__file__).with_name("recorded.json")
SEED, PLAYS, REPLAYED, SHORT = 20, 10_000, 200, 1000
FAILED = 10_000  # runs of which failures of a guarantee are counted
DELTAS = (0.05, 0.2, 0.5)  # levels at which small evidence is counted
FACTORS = (0.7, 0.5, 0.35, 0.25)  # of the thresholds of `Short` strategies
HORIZON, BATCH, LATE = 2000, 10, 200  # pulls

# How often a guarantee fails


def cases():
    """Yield title, bandit, k, epsilon and delta; gaps are just above epsilon, or at least 0.3."""
    shapes = {"pair": (2, 1), "one good": (5, 1), "one bad": (5, 4), "halves": (6, 3),
              "twelve": (12, 2)}  # fmt: skip
    for epsilon, delta, tops, gap in (
        (0.2, 0.1, (0.95, 0.6, 0.3), 0.206),
        (0.1, 0.1, (0.95, 0.25), 0.103),
        (0.0, 0.05, (0.95, 0.65, 0.45), 0.3),
    ):
        for shape, (n, k) in shapes.items():
            if n == 12 and epsilon == 0.1:
                continue  # too many pulls
            for top in tops:
                low = top - gap - 0.1 * (n == 12 and epsilon == 0)
                bandit = topk.BernoulliBandit([top] * k + [low] * (n - k))
                yield f"{shape}, {top} and {low:.3f}", bandit, k, epsilon, delta
    means = np.array([0.8, 0.28, 0.28])
    yield "Beta laws, 0.8 and 0.28", topk.BetaBandit(means, 1 - means), 1, 0.5, 0.2
    yield "normal laws, 1.55 and 0", topk.GaussianBandit([1.55, 0, 0], 1.0), 1, 1.5, 0.2


def certified_errors(strategy, bandit, runs):
    """Return which certified runs chose a set that is not epsilon-correct, and all runs."""
    reps = topk.replicate(strategy, bandit, runs, SEED)
    assert reps.certified.all() or strategy.budget
    chosen, means = reps.selected[:, 0], bandit.means
    best_out = np.array([np.delete(means, row).max() for row in chosen])
    bad = best_out > means[chosen].min(axis=1) + strategy.epsilon + 1e-12
    return bad & reps.certified, reps


def failures(name, case, runs=FAILED):
    """Return the row of a strategy and a case; ``first`` covers the runs that the tests repeat."""
    title, bandit, k, epsilon, delta = case
    bad, reps = certified_errors(getattr(topk, name)(k, epsilon, delta), bandit, runs)
    first = [reps.selected[:REPLAYED], reps.total_pulls[:REPLAYED]]
    return {
        "strategy": name, "case": title, "epsilon": epsilon, "delta": delta,
        "failures": int(bad.sum()), "pulls": round(float(reps.total_pulls.mean()), 1),
        "first": [int(bad[:REPLAYED].sum()), digest(first)],
    }  # fmt: skip


def digest(arrays):
    """Return a hash of integer arrays."""
    found = hashlib.sha256()
    for array in arrays:
        found.update(np.ascontiguousarray(array, dtype=np.int64).tobytes())
    return found.hexdigest()[:12]


# Strategies with thresholds that are too small, which the counts should detect


@dataclass(frozen=True)
class ShortKLLUCB(topk.KLLUCB):
    shrink: float = 1.0

    @rule
    def interval(s, arm):
        u, ones = s.pulls[arm], s.sums[arm]
        mean, other = ones / u, (u - ones) / u
        level = s.shrink * (s.log_ratio + math.log(u) / 2) / u
        low = mean * math.exp(-kl_log_ratio_scalar(mean, other, level))
        return low, mean - other * math.expm1(-kl_log_ratio_scalar(other, mean, level))


@dataclass(frozen=True)
class ShortTopTwo(topk.TopTwo):
    shrink: float = 1.0

    def state(self, arms):
        found = super().state(arms)
        ratio = self.shrink * found["now"]["log_ratio"]
        return found | {"share": 1.0, "now": found["now"] | {"log_ratio": ratio}}

    @rule
    def pulled(s, arm):
        s.costs[arm] = s.shrink * mixture_cost_scalar(s.pulls[arm], s.sums[arm])


def shrunk(name, factor):
    """Return the row of a strategy with its threshold multiplied by ``factor``.

    ``noticed`` is the number of cases in which `SHORT` runs refute the error probability delta.
    There is a budget, because a run that has dropped an arm too early may have to separate equal
    arms.
    """
    made, zero_one = {"KLLUCB": ShortKLLUCB, "TopTwo": ShortTopTwo}[name], [*cases()][:-2:2]
    least, worst, noticed = significant(SHORT, len(zero_one)), 0.0, 0
    for _, bandit, k, epsilon, delta in zero_one:
        given = {"shrink": factor} | ({"levels": "arms"} if name == "KLLUCB" else {})
        bad, _ = certified_errors(made(k, epsilon, delta, 20_000, **given), bandit, SHORT)
        worst = max(worst, float(bad.mean()) / delta)
        noticed += int(bad.sum()) >= least(delta)
    return {"strategy": name, "factor": factor, "worst": round(worst, 3), "noticed": noticed}


def significant(plays, comparisons):
    """Return the function from delta to the failures that refute it, at level 0.1 % overall."""
    limits = proportion_interval(np.arange(plays + 1), plays, 1 - 2e-3 / comparisons).low
    return lambda delta: int(np.searchsorted(limits, delta, side="right"))


# The evidence after every reward


Seen = namedtuple("Seen", "pulls sums")
INSTANCES = {
    "two alike": ([0.5, 0.49], 1),
    "two of four": ([0.9, 0.5, 0.49, 0.1], 2),
    "three of six, rare": ([0.3, 0.2, 0.055, 0.05, 0.002, 0.001], 3),
}
WATCHED = {
    "KLLUCB": lambda k: topk.KLLUCB(k, 0.0, 1e-6, levels="arms"),
    "TopTwo": lambda k: topk.TopTwo(k, 0.0, 1e-6),
    "LUCB1": lambda k: topk.LUCB1(k, 0.0, 0.1),
    "GapE": lambda k: topk.GapE(k, budget=HORIZON, complexity=500.0),
    "SAR": lambda k: topk.SAR(k, budget=HORIZON),
    "Uniform": lambda k: topk.Uniform(k, budget=HORIZON),
}
BATCHED = ("KLLUCB", "TopTwo", "LUCB1")  # the others use batches already, or allow no larger ones


def wrong_evidence(u, ones, status, means, k, taken):
    """Return `topk.confidence.evidence` for the current set if the set is wrong, else 2."""
    seen, n = Seen(u, ones), u.size
    for i in range(n):
        taken[i] = status[i] == ACCEPTED
        if u[i] == 0 and status[i] != WITHDRAWN:
            return 2.0
    for _ in range(k - taken.sum()):
        best = -1
        for i in range(n):
            if status[i] == ACTIVE and not taken[i]:
                if best < 0 or ones[i] / u[i] > ones[best] / u[best]:
                    best = i
        taken[best] = True
    wrong = False
    for a in range(n):
        for b in range(n if taken[a] else 0):
            wrong |= not taken[b] and status[b] != WITHDRAWN and means[b] > means[a]
    if not wrong:
        return 2.0
    log_c, worst = math.log(pair_count(n, k)), -math.inf
    for a in range(n):
        for b in range(n if taken[a] else 0):
            if not taken[b] and status[b] != WITHDRAWN:
                z, p, q = 0.0, ones[a] / u[a], ones[b] / u[b]
                if q < p:
                    x = pair_minimiser(u[a], ones[a], u[b], ones[b], 0.0)
                    z = divergence(seen, a, x) + divergence(seen, b, x)
                if log_c >= z:  # g is at least 1
                    return 1.0
                cost = mixture_cost_scalar(u[a], ones[a]) + mixture_cost_scalar(u[b], ones[b])
                worst = max(worst, log_c + cost - z)
    return math.exp(min(worst, 0.0))


def watch(s, means, rng, arms, counts, sums, u, ones, taken, queue, times, leaves):
    """Continue a run, and return the smallest evidence for a wrong set at any time.

    Every requested pull is made ``times`` times.  The rewards of a batch arrive one by one in
    random order.  After ``leaves`` pulls an arm is withdrawn.
    """
    least = 2.0
    while True:
        m = ask(s, arms, counts)
        if m > 0 and s.now.total >= leaves:
            leaves, m = HORIZON + 1, without_one(s, m, arms, counts, int(rng.random() * s.n))
            if m == 0:
                update(s, 0, arms)
                continue
        size = 0
        for j in range(m):
            counts[j] *= times if s.now.total > 0 else 1
            sums[j] = 0.0
            size += counts[j]
        if m == 0 or s.now.total + size > HORIZON:
            return least
        size = 0
        for j in range(m):
            for _ in range(counts[j]):
                queue[size] = j
                size += 1
        for place in range(size):
            other = place + int(rng.random() * (size - place))
            j, queue[other] = queue[other], queue[place]
            reward = 1.0 if rng.random() < means[arms[j]] else 0.0
            sums[j] += reward
            ones[arms[j]] += reward
            u[arms[j]] += 1
            least = min(least, wrong_evidence(u, ones, s.status, means, s.k, taken))
        count(s, m, arms, counts, sums, sums)
        update(s, m, arms)


def without_one(s, m, arms, counts, arm):
    """Withdraw an arm if that is allowed; return the number of requested arms that remain."""
    staying = 0
    for i in range(s.n):
        staying += s.status[i] >= ACTIVE
    if s.status[arm] != ACTIVE or staying <= s.k:
        return m
    s.status[arm] = WITHDRAWN
    keep_active(s)
    on_withdraw(s, arm)
    kept = 0
    for j in range(m):
        if arms[j] != arm:
            arms[kept], counts[kept] = arms[j], counts[j]
            kept += 1
    return kept


def watched(name, title, way, plays):
    """Return the smallest evidence for a wrong set in each run, and a digest of the rewards."""
    means, k = INSTANCES[title]
    bandit, strategy, n = topk.BernoulliBandit(means), WATCHED[name](k), len(means)
    found, seen = [], []
    for number in range(plays):
        play = Play(strategy, bandit, SEED, number, compiles=True)
        u, ones, taken = np.zeros(n, np.int64), np.zeros(n), np.zeros(n, np.bool_)
        queue = np.zeros(HORIZON + 1, np.int64)
        buffers = play.arms, play.counts, play.rewards[0], u, ones, taken, queue
        leaves = n + number % (HORIZON // 2) if way == "an arm leaves" else HORIZON + 1
        times = BATCH if way == "in batches" else 1
        run = compiled_for(play.state, watch)
        found.append(run(play.state.s, play.law.first, play.rng, *buffers, times, leaves))
        if number < REPLAYED:
            seen += [u, ones]
    return np.array(found), digest(seen)


# Delayed results


# Exponential delays with mean 200 pulls; zeros of the worse arms delayed by 200 pulls, counted as
# they arrive; the same, counted in the order of each arm's pulls, with p(1 + ln(C/p)).
WAYS = ("late at random", "late zeros", "late zeros in order")


def follow(arms, rewards, u, ones, status, taken, means, k):
    """Return the smallest evidence for a wrong set while rewards are counted one by one."""
    least = 2.0
    for j in range(arms.size):
        u[arms[j]] += 1
        ones[arms[j]] += rewards[j]
        least = min(least, wrong_evidence(u, ones, status, means, k, taken))
    return least


def late(title, way, plays):
    """Return the same as `watched` for arms pulled in turn, with delayed results."""
    means, k = INSTANCES[title]
    means, n, found, seen = np.array(means), len(means), [], []
    run = compiled(follow, None, "late", True, False)
    for number in range(plays):
        rng = np.random.default_rng([SEED, number])
        time, arms = np.arange(HORIZON), np.arange(HORIZON) % n
        rewards = (rng.random(HORIZON) < means[arms]).astype(float)
        if way == "late at random":
            arrival = time + rng.exponential(LATE, HORIZON)
        else:
            arrival = time + LATE * ((rewards == 0) & (arms >= k))
        if way == "late zeros in order":
            for arm in range(n):
                arrival[arm::n] = np.maximum.accumulate(arrival[arm::n])
        order = np.lexsort((time, arrival))
        order = order[arrival[order] < HORIZON]
        u, ones, taken = np.zeros(n, np.int64), np.zeros(n), np.zeros(n, np.bool_)
        least = run(arms[order], rewards[order], u, ones, np.zeros(n, np.int64), taken, means, k)
        if way == "late zeros in order" and least <= 1:
            least = min(1.0, least * (1 + math.log(pair_count(n, k) / least)))
        found.append(least)
        if number < REPLAYED:
            seen += [u, ones]
    return np.array(found), digest(seen)


def watched_row(name, title, way, plays=PLAYS):
    """Return the row of a strategy, or of arms in turn, on an instance.

    ``too_small`` is the factor by which p could be too small without the counts detecting it.
    """
    least, first = (late(title, way, plays) if way in WAYS else watched(name, title, way, plays))
    enough = np.sort(least)[significant(plays, 1)(DELTAS[0]) - 1]
    return {
        "strategy": name, "instance": title, "way": way,
        "counts": [int((least <= delta).sum()) for delta in DELTAS],
        "too_small": round(float(enough) / DELTAS[0], 2),
        "first": [*(int((least[:REPLAYED] <= delta).sum()) for delta in DELTAS), first],
    }  # fmt: skip


def watched_rows():
    """Return the triples of strategy, instance and way."""
    rows = [(name, title, "alone") for name in WATCHED for title in INSTANCES]
    larger, waiting = [*INSTANCES][1:], [*WATCHED][:-1]  # Uniform makes a single batch
    rows += [(name, title, "an arm leaves") for name in waiting for title in larger]
    rows += [(name, title, "in batches") for name in BATCHED for title in INSTANCES]
    return rows + [("in turn", title, way) for way in WAYS for title in INSTANCES]


# The file


def main():
    """Make the runs of all parts, or of those named, and write the file after each part."""
    both = ("KLLUCB", "TopTwo")
    parts = {
        "watched": (watched_row, watched_rows()),
        "failures": (failures, [(name, case) for name in both for case in cases()]),
        "shrunk": (shrunk, [(name, factor) for name in both for factor in FACTORS]),
    }
    found = json.loads(RESULT.read_text(encoding="utf-8")) if RESULT.exists() else {}
    for name in sys.argv[1:] or parts:
        task, given = parts[name]
        rows = [task(*arguments) for arguments in given]
        found |= {"seed": SEED, "plays": PLAYS, "replayed": REPLAYED, "deltas": DELTAS}
        made = {"library": SOURCES[:16], "date": datetime.date.today().isoformat()}
        found |= {"short": SHORT, "failure_plays": FAILED, f"{name}_with": made, name: rows}
        text = ",\n".join(f'"{key}": {in_lines(value)}' for key, value in found.items())
        RESULT.write_text("{\n" + text + "\n}\n", encoding="utf-8")
        print(f"{name}: {len(rows)} rows", flush=True)


def in_lines(value):
    """Return a value as JSON, with one line for each row of a table."""
    if not (isinstance(value, list) and value and isinstance(value[0], dict)):
        return json.dumps(value)
    return "[\n" + ",\n".join(json.dumps(row) for row in value) + "\n]"
