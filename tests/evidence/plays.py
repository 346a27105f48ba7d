"""Plays that hold KL-LUCB, top two and the evidence to their promises: ``make evidence``.

A file beside this one, ``recorded.json``, keeps what they came to.  The tests make the first of
them again, and chapter 37 shows the counts.
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
from topk.confidence import pairs
from topk.engine.jit import compiled
from topk.kl import kl_fall_of, mixture_cost_of, pair_minimiser
from topk.rules.base import ACCEPTED, ACTIVE, WITHDRAWN, ask, count, keep_active, left, update
from topk.rules.marks import rule
from topk.simulate.play import Play
from topk.stats import proportion_interval
from topk.store import SOURCES
from topk.strategies.toptwo import divergence

RESULT = Path(__file__).with_name("recorded.json")
SEED, PLAYS, REPLAYED, SHORT = 20, 10_000, 200, 1000
DELTAS = (0.05, 0.2, 0.5)  # at which watched plays are counted
FACTORS = (0.7, 0.5, 0.35, 0.25)  # of the thresholds of `Short` strategies
HORIZON, BATCH, LATE = 2000, 10, 200  # pulls

# How often a promise is broken


def cases():
    """Yield title, bandit, k, epsilon and delta; gaps are just above epsilon, or 0.3 and more."""
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


def broken(strategy, bandit, runs):
    """Return in which plays some arm left out is more than epsilon better than a chosen one."""
    reps = topk.replicate(strategy, bandit, runs, SEED)
    assert reps.certified.all() or strategy.budget
    chosen, means = reps.selected[:, 0], bandit.means
    best_out = np.array([np.delete(means, row).max() for row in chosen])
    bad = best_out > means[chosen].min(axis=1) + strategy.epsilon + 1e-12
    return bad & reps.certified, reps


def failures(name, case, runs=PLAYS):
    """Return the row of a strategy and a case; ``first`` is about the plays that tests repeat."""
    title, bandit, k, epsilon, delta = case
    bad, reps = broken(getattr(topk, name)(k, epsilon, delta), bandit, runs)
    first = [reps.selected[:REPLAYED], reps.total_pulls[:REPLAYED]]
    return {
        "strategy": name, "case": title, "epsilon": epsilon, "delta": delta,
        "failures": int(bad.sum()), "pulls": round(float(reps.total_pulls.mean()), 1),
        "first": [int(bad[:REPLAYED].sum()), digest(first)],
    }  # fmt: skip


def digest(arrays):
    """Return a hash of whole numbers."""
    found = hashlib.sha256()
    for array in arrays:
        found.update(np.ascontiguousarray(array, dtype=np.int64).tobytes())
    return found.hexdigest()[:12]


# What the counts would notice: strategies that ask for too little


@dataclass(frozen=True)
class ShortKLLUCB(topk.KLLUCB):
    shrink: float = 1.0

    @rule
    def line(s, arm):
        u, ones = s.pulls[arm], s.sums[arm]
        mean, other = ones / u, (u - ones) / u
        level = s.shrink * (s.log_ratio + math.log(u) / 2) / u
        low = mean * math.exp(-kl_fall_of(mean, other, level))
        return low, mean - other * math.expm1(-kl_fall_of(other, mean, level)), 0.0


@dataclass(frozen=True)
class ShortTopTwo(topk.TopTwo):
    shrink: float = 1.0

    def constants(self, n):
        found = super().constants(n)
        return found | {"log_ratio": self.shrink * found["log_ratio"]}

    @rule
    def line(s, arm):
        s.lacks[arm] = s.shrink * mixture_cost_of(s.pulls[arm], s.sums[arm])
        return 0.0, 0.0, 0.0


def shrunk(name, factor):
    """Return in how many of 19 cases `SHORT` plays with a smaller threshold show that it is.

    With a budget: one that has dropped an arm too early may have equal ones to tell apart.
    """
    made, zero_one = {"KLLUCB": ShortKLLUCB, "TopTwo": ShortTopTwo}[name], [*cases()][:-2:2]
    least, worst, noticed = significant(SHORT, len(zero_one)), 0.0, 0
    for _, bandit, k, epsilon, delta in zero_one:
        bad, _ = broken(made(k, epsilon, delta, 20_000, shrink=factor), bandit, SHORT)
        worst = max(worst, float(bad.mean()) / delta)
        noticed += int(bad.sum()) >= least(delta)
    return {"strategy": name, "factor": factor, "worst": round(worst, 3), "noticed": noticed}


def significant(plays, comparisons):
    """Return what says from how many failures on a delta is refuted, at 0.1 % of all together."""
    limits = proportion_interval(np.arange(plays + 1), plays, 1 - 2e-3 / comparisons).low
    return lambda delta: int(np.searchsorted(limits, delta, side="right"))


# Evidence, watched at every moment


Seen = namedtuple("Seen", "pulls sums")
INSTANCES = {
    "two alike": ([0.5, 0.49], 1),
    "two of four": ([0.9, 0.5, 0.49, 0.1], 2),
    "three of six, rare": ([0.3, 0.2, 0.055, 0.05, 0.002, 0.001], 3),
}
WATCHED = {
    "KLLUCB": lambda k: topk.KLLUCB(k, 0.0, 1e-6),
    "TopTwo": lambda k: topk.TopTwo(k, 0.0, 1e-6),
    "LUCB1": lambda k: topk.LUCB1(k, 0.0, 0.1),
    "GapE": lambda k: topk.GapE(k, budget=HORIZON, complexity=500.0),
    "SAR": lambda k: topk.SAR(k, budget=HORIZON),
    "Uniform": lambda k: topk.Uniform(k, budget=HORIZON),
}
BATCHED = ("KLLUCB", "TopTwo", "LUCB1")  # the others ask for batches, or do not bear larger ones


def wrong_evidence(u, ones, status, means, k, taken):
    """Return `topk.confidence.evidence` for the set named now, if it is wrong; else 2."""
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
    log_c, most = math.log(pairs(n, k)), -math.inf
    for a in range(n):
        for b in range(n if taken[a] else 0):
            if not taken[b] and status[b] != WITHDRAWN:
                z, p, q = 0.0, ones[a] / u[a], ones[b] / u[b]
                if q < p:
                    x = pair_minimiser(u[a], ones[a], u[b], ones[b], 0.0)
                    z = divergence(seen, a, x) + divergence(seen, b, x)
                if log_c >= z:  # g is at least 1
                    return 1.0
                cost = mixture_cost_of(u[a], ones[a]) + mixture_cost_of(u[b], ones[b])
                most = max(most, log_c + cost - z)
    return math.exp(min(most, 0.0))


def watch(s, means, rng, arms, counts, sums, u, ones, taken, line_up, times, leaves):
    """Play on, and return the least evidence that there is for a wrong set at any time.

    What is asked for is pulled ``times`` as often, and arrives in a random order, one reward
    after the other; after ``leaves`` pulls an arm leaves.
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
                line_up[size] = j
                size += 1
        for place in range(size):
            other = place + int(rng.random() * (size - place))
            j, line_up[other] = line_up[other], line_up[place]
            reward = 1.0 if rng.random() < means[arms[j]] else 0.0
            sums[j] += reward
            ones[arms[j]] += reward
            u[arms[j]] += 1
            least = min(least, wrong_evidence(u, ones, s.status, means, s.k, taken))
        count(s, m, arms, counts, sums, sums)
        update(s, m, arms)


def without_one(s, m, arms, counts, arm):
    """Withdraw an arm, if it may leave; return how many of the arms that are asked for stay."""
    staying = 0
    for i in range(s.n):
        staying += s.status[i] >= ACTIVE
    if s.status[arm] != ACTIVE or staying <= s.k:
        return m
    s.status[arm] = WITHDRAWN
    keep_active(s)
    left(s, arm)
    kept = 0
    for j in range(m):
        if arms[j] != arm:
            arms[kept], counts[kept] = arms[j], counts[j]
            kept += 1
    return kept


def watched(name, title, way, plays):
    """Return the least evidence for a wrong set in each play, and a digest of what was seen."""
    means, k = INSTANCES[title]
    bandit, strategy, n = topk.BernoulliBandit(means), WATCHED[name](k), len(means)
    found, seen = [], []
    for number in range(plays):
        play = Play(strategy, bandit, SEED, number)
        u, ones, taken = np.zeros(n, np.int64), np.zeros(n), np.zeros(n, np.bool_)
        line_up = np.zeros(HORIZON + 1, np.int64)
        room = play.arms, play.counts, play.rewards[0], u, ones, taken, line_up
        leaves = n + number % (HORIZON // 2) if way == "an arm leaves" else HORIZON + 1
        times = BATCH if way == "in batches" else 1
        run = play.state.compiled(watch)
        found.append(run(play.state.s, play.means, play.rng, *room, times, leaves))
        if number < REPLAYED:
            seen += [u, ones]
    return np.array(found), digest(seen)


# Results that are late


# By exponential delays of 200 pulls on average; the zeros of the worse arms 200 pulls late, counted
# as they arrive; the same, counted in the order of each arm's pulls: p(1 + ln(C/p)).
WAYS = ("late at random", "late zeros", "late zeros in order")


def follow(arms, rewards, u, ones, status, taken, means, k):
    """Return the least evidence for a wrong set while rewards are counted one after the other."""
    least = 2.0
    for j in range(arms.size):
        u[arms[j]] += 1
        ones[arms[j]] += rewards[j]
        least = min(least, wrong_evidence(u, ones, status, means, k, taken))
    return least


def late(title, way, plays):
    """Return what `watched` does, of arms that are pulled in turn, with results that are late."""
    means, k = INSTANCES[title]
    means, n, found, seen = np.array(means), len(means), [], []
    run = compiled(follow, (), "late", True, False)
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
            least = min(1.0, least * (1 + math.log(pairs(n, k) / least)))
        found.append(least)
        if number < REPLAYED:
            seen += [u, ones]
    return np.array(found), digest(seen)


def watched_row(name, title, way, plays=PLAYS):
    """Return the row of a strategy, or of arms in turn, on an instance.

    ``too_small`` is the factor by which p could be too small before the counts would show it.
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
    """Return strategy, instance and way of everything that is watched."""
    rows = [(name, title, "alone") for name in WATCHED for title in INSTANCES]
    larger, waiting = [*INSTANCES][1:], [*WATCHED][:-1]  # Uniform asks for all at once
    rows += [(name, title, "an arm leaves") for name in waiting for title in larger]
    rows += [(name, title, "in batches") for name in BATCHED for title in INSTANCES]
    return rows + [("in turn", title, way) for way in WAYS for title in INSTANCES]


# The file


def main():
    """Make all plays, or those of the parts that are named, and write the file after each part."""
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
        found |= {"short": SHORT, f"{name}_with": made, name: rows}
        text = ",\n".join(f'"{key}": {in_lines(value)}' for key, value in found.items())
        RESULT.write_text("{\n" + text + "\n}\n", encoding="utf-8")
        print(f"{name}: {len(rows)} rows", flush=True)


def in_lines(value):
    """Return JSON text, a line for each row."""
    if not (isinstance(value, list) and value and isinstance(value[0], dict)):
        return json.dumps(value)
    return "[\n" + ",\n".join(json.dumps(row) for row in value) + "\n]"
