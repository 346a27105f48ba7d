"""Runs whose results are stored: all laws of rewards, many arms, and rules written by a user.

``python tests/engine/recorded.py [file ...]`` makes the runs of all files, or of some, and stores
their results.  The three rules of `RECOMMENDED` have a file of their own, because they change more
often than the others.
"""

import hashlib
import json
import sys
from pathlib import Path

import numpy as np
from strategies.plain import BigBatches, Coin, Doubling, Settled
from strategies.test_own_rule import Counting, OverAll, Thompson

import topk

HERE = Path(__file__).parent
RECOMMENDED = "KLLUCB", "TopTwo", "BettingLUCB"
OTHERS = [name for name in topk.strategies.__all__ if name not in RECOMMENDED]
FILES = {
    "plays_of_recommended_rules.json": RECOMMENDED,
    "plays_of_all_laws.json": (*OTHERS, "own"),
}
FEW, MANY = 9, (200, 1000, 5000)


class Skewed(topk.Bandit):
    """Arms with a sampler that the library does not know."""

    def sample(self, arm, count, rng):
        return rng.random(count) ** (1 / self.means.flat[arm] - 1)


class Paired(topk.BernoulliBandit):
    """Arms with an own `pull`."""

    def pull(self, arms, counts, rng):
        return super().pull(arms, counts, rng)


def means_of(n, seed):
    """Return means with ties."""
    return np.random.default_rng(seed).integers(5, 96, n) / 100


def bandits(n, several):
    """Return arms with each law of rewards: name -> bandit."""
    means = means_of(n, 1)
    if several:
        return {"bernoulli": topk.MultiBandit(means.reshape(3, -1))}
    records = [np.round(means_of(5 + arm % 7, arm) * means[arm], 3) for arm in range(n)]
    return {
        "bernoulli": topk.BernoulliBandit(means),
        "beta": topk.BetaBandit(4 * means, 4 - 4 * means),
        "gaussian": topk.GaussianBandit(100 * means, sigma=30.0),
        "replay": topk.ReplayBandit(records),
        "own sampler": Skewed(means),
        "own pull": Paired(means),
    }


def test_set(n):
    """Return models on items, by their law."""
    import topk_eval  # here: all other runs need the arms alone

    cells = np.random.default_rng(2).random((n, 60)) < means_of(n, 1)[:, None]
    return {"finite": topk_eval.TestSet(cells.astype(float))}


def made(name, n, k, budget):
    """Return strategies with this name: label -> strategy."""
    own = {
        "Thompson": Thompson(k, budget), "OverAll": OverAll(k, budget),
        "Counting": Counting(k, 0.1, budget), "Doubling": Doubling(k, budget),
        "BigBatches": BigBatches(k, 7), "Settled": Settled(k, budget, 3),
        "Coin": Coin(k, budget, 1.5),
    }
    if name == "own":
        return own
    cls = getattr(topk, name)
    some = {"k": k, "budget": budget, "epsilon": 0.05, "delta": 0.1, "complexity": 50.0}
    fields = cls.__dataclass_fields__
    given = {x: some[x] for x in fields if x in some and (x != "complexity" or "a" not in fields)}
    found = {name: cls(**given)}
    if "epsilon" in fields and "rate" in fields:
        found |= {f"{name}-published": cls(**given, rate="published")}
        found |= {f"{name}-exact": cls(**given | {"epsilon": 0.0})}
    if "levels" in fields:
        found |= {f"{name}-arms": cls(**given, levels="arms")}
    if "rate" in fields:
        found |= {f"{name}-exact-arms": cls(**given | {"epsilon": 0.0}, levels="arms")}
    if "variance" in fields:
        found |= {f"{name}-variance": cls(**given, variance=True)}
    if "a" in fields:
        found |= {f"{name}-a": cls(**given, a=2.0)}
    return found


def suits(strategy, bandit):
    """Return whether a strategy allows these rewards."""
    try:
        return bool(bandit.form(strategy).on(bandit.reward_range))
    except ValueError:
        return False


def of_laws(name, laws):
    """Yield ``(label, strategy, bandit, runs)`` of the runs of a strategy on few arms."""
    for law, bandit in laws.items():
        k = 1 if name in ("MultiBanditSAR", "MultiBanditGapE") else 2
        for label, strategy in made(name, FEW, k, 400).items():
            if suits(strategy, bandit):
                yield f"{label} {law}", strategy, bandit, 2


def is_several(name):
    """Return whether a strategy samples several bandits."""
    return name != "own" and getattr(topk, name).several


def on_items(name):
    """Yield the runs of a strategy on a test set, as `plays` does."""
    if not is_several(name):
        yield from of_laws(name, test_set(FEW))


def plays(names):
    """Yield ``(label, strategy, bandit, runs)`` of all runs of these strategies on arms."""
    for name in names:
        several = is_several(name)
        yield from of_laws(name, bandits(FEW, several))
        for n in MANY[: 2 if several else 3]:
            n -= n % 3 if several else 0
            k = 1 if several or name == "TopTwo" or n > 1000 else 7
            slow = name in ("TopTwo", "own") or several
            budget = n + (20 if n > 1000 and slow else 60 if n > 1000 or slow else 500)
            bandit = bandits(n, several)["bernoulli"]
            for label, strategy in made(name, n, k, budget).items():
                if 2 * n <= budget or "variance" not in label:
                    yield f"{label} {n}", strategy, bandit, 1


def result_of(strategy, bandit, runs):
    """Return the numbers of pulls of some runs and a digest of all results."""
    found = topk.replicate(strategy, bandit, runs=runs, seed=5)
    rounded = np.round(found.sums, 9) + 0.0  # no -0.0
    arrays = found.selected, found.pulls, rounded, found.certified
    digest = hashlib.sha256(b"".join(np.ascontiguousarray(x).tobytes() for x in arrays))
    return [*found.total_pulls.tolist(), digest.hexdigest()[:16]]


def main(files):
    """Make the runs of some files and store their results."""
    for file in files or FILES:  # they do not depend on how the rules are run
        each = [*plays(FILES[file]), *(play for name in FILES[file] for play in on_items(name))]
        found = {label: result_of(*play) for label, *play in each}
        lines = ",\n".join(f"{json.dumps(x)}: {json.dumps(y)}" for x, y in found.items())
        (HERE / file).write_text(f"{{\n{lines}\n}}\n", encoding="utf-8")


if __name__ == "__main__":
    main(sys.argv[1:])
