"""How many pulls a certificate takes, strategy by strategy: writes results/pulls.json.

    python -m benchmarks.pulls                        measure everything
    python -m benchmarks.pulls --strategy FILE        print the row of the strategy in a file
    python -m benchmarks.pulls --strategy FILE --add  and put it into results/pulls.json

Every strategy is run until it certifies the K best arms, exactly (epsilon = 0), with a failure
probability of at most ``DELTA``, on 0/1 rewards, on scores and on finite test sets; three of them
also on groups and ladders of 2 to 100 arms.  No number depends on the clock: the same code writes
the same file.  All of it takes about twenty minutes on one core.

CONTRIBUTING.md says what a file with a strategy must contain;
``benchmarks/strategies/even.py`` is an example.
"""

import argparse
import importlib.util
import json
import sys
from dataclasses import dataclass
from pathlib import Path

import numpy as np

import topk
import topk_eval
from topk import metrics
from topk._checks import check_integer, refuse
from topk.hardness import bernoulli_kl, characteristic_time

RESULT = Path(__file__).parent / "results" / "pulls.json"
SUBMITTED = Path(__file__).parent / "strategies"
DELTA, RUNS, SEED = 0.05, 100, 1
MOST = 20_000_000  # pulls of a run: one that takes as many ends without a certificate
SETTINGS = ("0/1", "few good", "scores", "test set", "by size")


# What is measured


@dataclass(frozen=True)
class Instance:
    """A bandit, the number of arms wanted, and the kind of its rewards, one of `SETTINGS`.

    ``runs`` limits the number of runs where each takes long.
    """

    name: str
    setting: str
    bandit: topk.Bandit
    k: int
    runs: int = RUNS

    def bound(self):
        r"""Return the number of pulls that every strategy needs on average, or None.

        Known for 0/1 rewards (also ``few good`` arms, and ``by size``), drawn with replacement:
        :math:`T^*\,\mathrm{kl}(\delta, 1-\delta)` bounds the expected pulls of every strategy that
        returns the K best arms with probability at least :math:`1-\delta` on every Bernoulli
        instance without a tie at the boundary, see `topk.hardness.characteristic_time`.
        Its certified lower end is taken.  Among these strategies are those that allow any reward
        in [0, 1].
        """
        if self.setting not in ("0/1", "few good", "by size"):
            return None
        time = characteristic_time(self.bandit.means, self.k)
        return time.lower * float(bernoulli_kl(DELTA, 1 - DELTA))


def evenly_spread_arms(low, high):
    """Return ten 0/1 arms with means evenly spread between two."""
    return topk.BernoulliBandit(np.linspace(low, high, 10))


def first_better(k, n, high, low):
    """Return n 0/1 arms: k with the mean ``high``, then n - k with ``low``."""
    return topk.BernoulliBandit([high] * k + [low] * (n - k))


def groups(n, k):
    """Return n 0/1 arms: k with the mean .6, the others with .4."""
    return first_better(k, n, 0.6, 0.4)


def spread(n, k):
    """Return n 0/1 arms: k with means evenly from .8 to .6, the others from .5 to .2."""
    high = [0.6] if k == 1 else np.linspace(0.8, 0.6, k)
    return topk.BernoulliBandit(np.concatenate([high, np.linspace(0.5, 0.2, n - k)]))


def ladder(n, k):
    """Return n 0/1 arms with means evenly from .9 to .1, or, for 3 of 8, in steps of a tenth."""
    return topk.BernoulliBandit(np.linspace(0.9, 0.2 if (n, k) == (8, 3) else 0.1, n))


ALL = groups, spread, ladder
SIZES = {  # number of arms -> number of runs, and K -> kinds
    2: (100, {1: (groups, spread)}),
    8: (100, {1: ALL, 2: (ladder,), 3: (ladder,), 4: ALL}),
    20: (40, {1: ALL, 2: ALL, 4: ALL, 5: (ladder,), 10: ALL}),
    50: (16, {1: ALL, 2: (groups, spread), 5: ALL, 10: ALL, 25: ALL}),
    100: (40, {1: (groups, spread)}),
}


def by_size():
    """Yield the instances of 2 to 100 arms."""
    for n, (runs, found) in SIZES.items():
        for k, kinds in found.items():
            for kind in kinds:
                yield Instance(f"{k} of {n}, {kind.__name__}", "by size", kind(n, k), k, runs)


def beta_arms(sd):
    """Return six Beta arms with one standard deviation."""
    means = np.array([0.60, 0.57, 0.54, 0.50, 0.47, 0.44])
    size = means * (1 - means) / sd**2 - 1
    return topk.BetaBandit(means * size, (1 - means) * size)


def test_set_of(counts, items):
    """Return a test set on which model a is right on ``counts[a]`` items.

    Which items these are does not matter, since every model gets them in its own random order.
    """
    return topk_eval.TestSet(np.arange(items) < np.asarray(counts)[:, None])


INSTANCES = [
    Instance("rates .01 to .10", "0/1", evenly_spread_arms(0.01, 0.10), 3),
    Instance("rates .32 to .68", "0/1", evenly_spread_arms(0.32, 0.68), 3),
    Instance("rates .90 to .99", "0/1", evenly_spread_arms(0.90, 0.99), 3),
    Instance("100 arms, .7 and .3", "0/1", topk.instances.two_group(100, 10), 10),
    Instance("1 of 1,000, .5 and .3", "few good", first_better(1, 1000, 0.5, 0.3), 1, runs=10),
    Instance("1 of 200, .7 and .4", "few good", first_better(1, 200, 0.7, 0.4), 1),
    Instance("5 of 20, .7 and .5", "few good", first_better(5, 20, 0.7, 0.5), 5),
    Instance("10 of 20, .6 and .4", "few good", first_better(10, 20, 0.6, 0.4), 10),
    *(Instance(f"scores, sd {sd:g}".replace("0.", "."), "scores", beta_arms(sd), 2)
      for sd in (0.02, 0.05, 0.1, 0.2, 0.3)),
    Instance("10 models, 400 items", "test set", test_set_of(range(360, 160, -20), 400), 3),
    Instance("43 models, 899 items", "test set", topk_eval.TestSet(topk_eval.data.digits()), 5),
    *by_size(),
]


@dataclass(frozen=True)
class Entry:
    """A strategy that is measured.

    Attributes
    ----------
    name : str
        Name of its row.
    make : function
        ``make(k, delta)`` returns the strategy.
    settings : tuple of str
        The kinds of rewards that it can handle, among `SETTINGS`.
    file : str or None
        Where it was submitted, relative to the folder `SUBMITTED`; None for the library's own.
    """

    name: str
    make: object
    settings: tuple
    file: str | None = None


def with_zero_epsilon(strategy, **options):
    """Return ``make(k, delta)`` of a strategy that takes a tolerance, which is 0 here."""
    return lambda k, delta: strategy(k, epsilon=0.0, delta=delta, **options)


DRAWN = ("0/1", "scores")
LIBRARY = [
    Entry("PairedBetting", with_zero_epsilon(topk.PairedBetting), (*DRAWN, "by size")),
    Entry("KLLUCB", with_zero_epsilon(topk.KLLUCB), SETTINGS),
    Entry("BettingLUCB", with_zero_epsilon(topk.BettingLUCB), (*DRAWN, "few good")),
    Entry("TopTwo", with_zero_epsilon(topk.TopTwo), (*DRAWN, "by size")),
    Entry("LUCBPlusPlus", topk.LUCBPlusPlus, DRAWN),
    Entry("Racing", with_zero_epsilon(topk.Racing), DRAWN),
    Entry("UGapEc, variance", with_zero_epsilon(topk.UGapEc, variance=True), DRAWN),
    Entry("UGapEc", with_zero_epsilon(topk.UGapEc), DRAWN),
    Entry("CLUCB", topk.CLUCB, DRAWN),
    Entry("LUCB1", with_zero_epsilon(topk.LUCB1), DRAWN),
]


# A strategy in a file


def entry_of(path):
    """Read the strategy of a file.

    Parameters
    ----------
    path : str or Path
        A Python file with ``NAME``, ``make(k, delta)`` and, if the strategy does not handle 0/1
        rewards and scores or handles test sets as well, ``SETTINGS``.

    Returns
    -------
    Entry

    Raises
    ------
    ValueError
        If there is no such file, it does not run, something is missing in it, or its strategy does
        not certify or does not fit one of the instances.
    """
    path = Path(path).resolve()
    if not path.is_file() or path.suffix != ".py":
        refuse("--strategy", str(path), "a Python file that exists")
    module = _executed(path)
    name, make = (getattr(module, word, None) for word in ("NAME", "make"))
    if not isinstance(name, str) or not name:
        refuse(f"NAME in {path.name}", name, "a string: the name of the row")
    if name in {entry.name for entry in LIBRARY}:
        refuse(f"NAME in {path.name}", name, "different from those of the library")
    if not callable(make):
        refuse(f"make in {path.name}", make, "a function make(k, delta) that returns the strategy")
    settings = getattr(module, "SETTINGS", DRAWN)
    if not isinstance(settings, tuple) or not settings or not {*settings} <= {*SETTINGS}:
        refuse(f"SETTINGS in {path.name}", settings, f"a tuple of some of {SETTINGS}")
    inside = path.is_relative_to(SUBMITTED)
    entry = Entry(name, make, settings, str(path.relative_to(SUBMITTED)) if inside else path.name)
    for instance in INSTANCES:
        if instance.setting in settings:
            _check_entry(entry, instance)
    return entry


def _executed(path):
    """Return a file's module; it is found by its name, as numba and dataclasses require."""
    name = f"submitted_{path.stem}"
    spec = importlib.util.spec_from_file_location(name, path)
    module = sys.modules[name] = importlib.util.module_from_spec(spec)
    try:
        spec.loader.exec_module(module)
    except Exception as error:
        del sys.modules[name]
        raise ValueError(f"{path.name} does not run: {type(error).__name__}: {error}") from error
    return module


def _check_entry(entry, instance):
    """Make the strategy for an instance, and refuse one that cannot be measured on it."""
    where = f"make({instance.k}, {DELTA}) in {entry.file}"
    try:
        strategy = entry.make(instance.k, DELTA)
    except Exception as error:
        raise ValueError(f"{where} fails: {type(error).__name__}: {error}") from error
    if not isinstance(strategy, topk.Strategy) or strategy.k != instance.k:
        refuse(where, strategy, f"a topk.Strategy with k = {instance.k}")
    if not strategy.certifies:
        refuse(where, strategy, "a strategy that stops with a certificate (certifies = True)")
    try:
        instance.bandit.form(strategy).begin(instance.bandit.n, instance.bandit.reward_range)
    except ValueError as error:
        raise ValueError(f"{entry.file} does not go with {instance.name!r}, "
                         f"which SETTINGS names: {error}") from error


# Measuring


def cell(entry, instance, runs=RUNS):
    """Run a strategy on an instance; return the entry of the result.

    Returns
    -------
    dict
        Mean number of pulls, its 95 % interval, the mean as a multiple of the lower bound and as a
        share of all results of a test set (None where there is none), and how many runs
        ended with a wrong certificate and without one.  A run without a certificate counts with
        `MOST` pulls: then the mean is too small.
    """
    strategy = entry.make(instance.k, DELTA)
    limit = None if instance.setting == "test set" else MOST
    runs = min(runs, instance.runs)
    reps = topk.replicate(
        strategy, instance.bandit, runs, SEED, max_pulls=limit, progress=False, store=False
    )
    interval = topk.stats.mean_interval(reps.total_pulls)
    wrong = metrics.misidentified(reps.selected[:, -1], reps.means) & reps.certified
    bound, items = instance.bound(), instance.bandit.reward_range.items
    return {
        "mean": round(float(interval.estimate), 1),
        "low": round(float(interval.low), 1),
        "high": round(float(interval.high), 1),
        "times_bound": bound and round(float(interval.estimate) / bound, 2),
        "share": items and round(float(interval.estimate) / (items * instance.bandit.n), 4),
        "wrong": int(wrong.sum()),
        "uncertified": int((~reps.certified).sum()),
    }


def row(entry, instances=INSTANCES, runs=RUNS):
    """Measure a strategy on the instances that it can handle; print each, return the row."""
    cells = {}
    print(entry.name)
    for instance in instances:
        if instance.setting in entry.settings:
            found = cells[instance.name] = cell(entry, instance, runs)
            print("  " + line(instance.name, found, min(runs, instance.runs)), flush=True)
    return {"strategy": entry.name, "file": entry.file, "cells": cells}


def line(name, found, runs):
    """Return a cell in words."""
    span = f"{found['mean']:,.0f} pulls ({found['low']:,.0f} to {found['high']:,.0f})"
    parts = [f"{name:22}", f"{span:38}"]
    if found["times_bound"]:
        parts.append(f"{found['times_bound']:.1f} times the bound,")
    if found["share"]:
        parts.append(f"{100 * found['share']:.1f} % of all results,")
    parts.append(f"{found['wrong']} of {runs} wrong")
    if found["uncertified"]:
        parts.append(f", {found['uncertified']} without a certificate")
    return " ".join(parts)


def head():
    """Return the part of the result that all rows share."""
    instances = [
        {"name": instance.name, "setting": instance.setting, "n": instance.bandit.n,
         "k": instance.k, "runs": instance.runs, "bound": (b := instance.bound()) and round(b, 1)}
        for instance in INSTANCES
    ]
    return {"delta": DELTA, "epsilon": 0.0, "runs": RUNS, "seed": SEED, "most_pulls": MOST,
            "instances": instances}


def write(rows):
    """Write the result, with the rows in the order given."""
    RESULT.parent.mkdir(exist_ok=True)
    RESULT.write_text(json.dumps(head() | {"rows": rows}, indent=1) + "\n", encoding="utf-8")


def add(new):
    """Put a row into the result, in place of one of the same name."""
    rows = json.loads(RESULT.read_text(encoding="utf-8"))["rows"]
    names = [old["strategy"] for old in rows]
    place = names.index(new["strategy"]) if new["strategy"] in names else len(rows)
    rows[place : place + 1] = [new]
    write(rows)


def main(words=None):
    parser = argparse.ArgumentParser(prog="python -m benchmarks.pulls",
                                     description=__doc__.split("\n")[0])
    parser.add_argument("--strategy", metavar="FILE", help="measure the strategy in this file only")
    parser.add_argument("--add", action="store_true", help="write its row into results/pulls.json")
    parser.add_argument("--instance", metavar="NAME", action="append",
                        help="on this instance only; may be repeated")
    parser.add_argument("--runs", type=int, default=RUNS, help=f"number of runs, by default {RUNS}")
    given = parser.parse_args(words)
    try:
        entries, instances = _wanted(given)
    except ValueError as error:
        parser.error(str(error))
    rows = [row(entry, instances, given.runs) for entry in entries]
    if given.strategy is None:
        write(rows)
    elif given.add:
        add(rows[0])


def _wanted(given):
    """Return the strategies and instances of the command line; refuse invalid options."""
    names = [instance.name for instance in INSTANCES]
    for name in given.instance or ():
        if name not in names:
            refuse("--instance", name, f"one of {names}")
    check_integer(given.runs, "--runs", 2)
    part = given.instance is not None or given.runs != RUNS
    if given.strategy is None and (part or given.add):
        refuse("--strategy", None, "given with --instance, --runs and --add")
    if given.add and part:
        refuse("--add", True, "left out with --instance or --runs: a row has all of its cells")
    instances = [each for each in INSTANCES if each.name in (given.instance or names)]
    if given.strategy is None:
        return LIBRARY + [entry_of(path) for path in sorted(SUBMITTED.glob("*.py"))], instances
    entry = entry_of(given.strategy)
    if given.add and not Path(given.strategy).resolve().is_relative_to(SUBMITTED):
        refuse("--add", given.strategy, "left out, or the file in benchmarks/strategies")
    if not any(instance.setting in entry.settings for instance in instances):
        refuse("--instance", given.instance, f"one with rewards of {entry.settings}")
    return [entry], instances


if __name__ == "__main__":
    main()
