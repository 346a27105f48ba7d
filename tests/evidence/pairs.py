"""Runs of PairedBetting on independent arms near ties, at a large delta, that count errors.

Run ``python -m evidence.pairs`` in the folder tests (some minutes).  ``pairs.json`` in this folder
stores the counts; the tests repeat the beginnings of the first runs.
"""

from dataclasses import replace
from pathlib import Path

import numpy as np
from evidence.plays import digest, in_lines

import topk
from topk.simulate.play import played

RESULT = Path(__file__).with_name("pairs.json")
SEED, RUNS, DELTA = 64, 1000, 0.3
REPLAYED, BEGINNING = 5, 1500  # runs that the tests repeat, and the pulls of each
PAIRS_BUDGET, RACE_BUDGET = 15_000, 20_000
CLOSE = [0.505, 0.5, 0.495]
KINDS = {  # name -> means, standard deviation (0: coins), k, whether arms race
    "pairs, three close": (CLOSE, 0.0, 1, False),
    "pairs, two tied": ([0.51, 0.5, 0.5, 0.49], 0.0, 1, False),
    "pairs, rare": ([0.05, 0.047], 0.0, 1, False),
    "pairs, scores": (CLOSE, 0.2, 2, False),
    "race, three close": (CLOSE, 0.0, 1, True),
    "race, two tied": ([0.51, 0.5, 0.5, 0.49], 0.0, 1, True),
    "race, rare": ([0.05, 0.047], 0.0, 1, True),
}


def bandit_of(means, sd):
    """Return arms with these means: coins, or Beta arms of one standard deviation."""
    means = np.array(means)
    if sd == 0:
        return topk.BernoulliBandit(means)
    size = means * (1 - means) / sd**2 - 1
    return topk.BetaBandit(means * size, (1 - means) * size)


def strategy_of(kind):
    """Return the strategy of a kind."""
    _, _, k, races = KINDS[kind]
    return topk.PairedBetting(k, 0, DELTA, RACE_BUDGET if races else PAIRS_BUDGET, race=races)


def finished(play):
    """Finish a run; return it."""
    play.finish()
    return play


def runs_of(strategy, kind, runs):
    """Yield finished runs on the arms of a kind."""
    bandit = bandit_of(*KINDS[kind][:2])
    for number in range(runs):
        yield played(finished, strategy, bandit, SEED, number, later=runs - 1 - number)


def begun(kind):
    """Return a hash of the pulls and the evidence of the first runs, each cut short."""
    strategy = replace(strategy_of(kind), budget=BEGINNING)
    ended = [play.outcome() for play in runs_of(strategy, kind, REPLAYED)]
    return digest([*(x.pulls for x in ended), [round(1e6 * x.evidence()) for x in ended]])


def count(kind, runs=RUNS):
    """Return the row of a kind: runs with a certificate, with a wrong one, with the best arm gone.

    The best arm leaves a race in at most 0.9 delta of the runs, with or without a certificate.
    """
    found = np.zeros(3, dtype=int)
    _, _, k, races = KINDS[kind]
    for play in runs_of(strategy_of(kind), kind, runs):
        outcome, best = play.outcome(), np.flatnonzero(play.order == 0)[0]
        wrong = outcome.certified and outcome.selected.tolist() != [*range(k)]
        found += outcome.certified, wrong, races and not play.state.table.race.left[best]
    certified, wrong, gone = found.tolist()
    return {"kind": kind, "certified": certified, "wrong": wrong, "gone": gone,
            "first": begun(kind)}


def main():
    """Make all runs and write the file."""
    rows = [count(kind) for kind in KINDS]
    text = f'{{\n"seed": {SEED},\n"runs": {RUNS},\n"delta": {DELTA},\n'
    text += f'"budgets": [{PAIRS_BUDGET}, {RACE_BUDGET}],\n"rows": {in_lines(rows)}\n}}\n'
    RESULT.write_text(text, encoding="utf-8")


if __name__ == "__main__":
    main()
