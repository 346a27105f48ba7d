"""Small runs on cells at delta = .3, in six kinds of tables, that count wrong sets.

Run ``python -m evidence.cells`` in the folder tests (some minutes).  ``cells.json`` in this folder
stores the counts; the tests repeat the first runs.  Runs on graded test sets count the sets that
are certified and wrong, and the runs in which a bound was ever wrong; runs on new items count the
wrong sets at the end of at most 150 items, and the runs in which ever a wrong set was certified
or had evidence of at most delta.
"""

from pathlib import Path

import numpy as np
from evidence.plays import in_lines

from topk.strategies.paired import PairedBetting
from topk_eval.graded import FiniteBettingLUCB

RESULT = Path(__file__).with_name("cells.json")
SEED, DELTA, REPLAYED, ITEMS = 53, 0.3, 3, 150
RUNS = {"these items": 1700, "new items": 100, "new items, epsilon": 100}
RULES = [*RUNS]


def near_ties(rng, n, items):
    """Return grades of models that differ by noise."""
    hard = rng.random(items)
    return np.clip(hard * 0.6 + 0.2 + rng.normal(0, 0.1, (n, items)), 0, 1)


def exact_ties(rng, n, items):
    """Return the same grades in different orders."""
    grades = rng.random(items).round(1)
    return np.array([rng.permutation(grades) for _ in range(n)])


def skewed(rng, n, items):
    """Return grades that are mostly 0."""
    return np.where(rng.random((n, items)) < 0.12, rng.random((n, items)), 0.0)


def identical(rng, n, items):
    """Return equal rows but for one item."""
    rows = np.tile(rng.random(items), (n, 1))
    rows[0, 0] = max(0.0, rows[0, 0] - 0.3)
    return rows


def worse_on_hard(rng, n, items):
    """Return models that differ on hard items only."""
    hard = rng.random(items)
    factors = np.where(hard < 0.4, 1 - 0.15 * np.arange(n)[:, None], 1.0)
    return np.tile(hard, (n, 1)) * factors


def two_values(rng, n, items):
    """Return two grades, at random."""
    return np.where(rng.random((n, items)) < 0.5, 0.45, 0.55)


KINDS = near_ties, exact_ties, skewed, identical, worse_on_hard, two_values
KINDS = {function.__name__: function for function in KINDS}


def table_of(kind, rng):
    """Return a random small table of a kind, (n, N), and k."""
    n, items = int(rng.integers(2, 6)), int(rng.integers(4, 22))
    return KINDS[kind](rng, n, items), int(rng.integers(1, n))


def on_these_items(cells, k, rng):
    """Run on a graded test set.

    Returns whether a wrong set is certified, whether a bound was ever wrong, and the cells asked.
    """
    n, items = cells.shape
    shared = rng.random() < 0.5
    order = np.tile(rng.permutation(items), (n, 1))
    order = order if shared else rng.permuted(order, axis=1)
    state = FiniteBettingLUCB(k, 0, DELTA, items).begin(n)
    means, missed = cells.mean(axis=1), False
    arms, counts = np.empty((2, n), dtype=np.int64)
    while m := state.ask(arms, counts):
        grown = [(a, cells[a, order[a, [state.table.size[a]]]]) for a in arms[:m].tolist()]
        state.extend(grown)
        low, high = state.table.ends
        missed |= bool((low > means + 1e-9).any() or (high < means - 1e-9).any())
    chosen = state.recommend()
    rest = np.setdiff1d(np.arange(n), chosen)
    assert state.ended == 1
    return means[rest].max() > means[chosen].min() + 1e-12, missed, state.table.size.sum()


def on_new_items(cells, k, rng, epsilon=0.0):
    """Run on a pool.

    Returns whether the last certified set is wrong, whether any ever was, and the cells asked.
    """
    n, size = cells.shape
    drawn = cells[:, rng.integers(size, size=ITEMS)]
    state = PairedBetting(k, epsilon, DELTA, race=False).begin(n)
    state.limit(np.full(n, ITEMS))
    means, ever, wrong = cells.mean(axis=1), False, False
    arms, counts = np.empty((2, n), dtype=np.int64)
    while m := state.ask(arms, counts):
        state.extend([(a, drawn[a, [state.table.size[a]]]) for a in arms[:m].tolist()])
        if (state.table.size > 0).all() and state.table.evidence(epsilon) <= DELTA:
            chosen = state.recommend()
            rest = np.setdiff1d(np.arange(n), chosen)
            wrong = bool(means[rest].max() > means[chosen].min() + epsilon + 1e-12)
            ever |= wrong
    return state.ended == 1 and wrong, ever, state.table.size.sum()


def count(rule, kind, runs=None):
    """Return the row of a rule and a kind of tables."""
    runs, found = runs or RUNS[rule], []
    for number in range(runs):
        rng = np.random.default_rng([SEED, RULES.index(rule), [*KINDS].index(kind), number])
        cells, k = table_of(kind, rng)
        if rule == "these items":
            found.append(on_these_items(cells, k, rng))
        else:
            found.append(on_new_items(cells, k, rng, 0.05 if "epsilon" in rule else 0.0))
    wrong, ever, asked = np.array(found, dtype=int).T
    row = {"rule": rule, "kind": kind, "runs": runs}
    row |= {"wrong": int(wrong.sum()), "ever": int(ever.sum())}
    return row | {"first": [int(x[:REPLAYED].sum()) for x in (wrong, ever, asked)]}


def main():
    """Make all runs and write the file."""
    rows = [count(rule, kind) for rule in RULES for kind in KINDS]
    text = f'{{\n"seed": {SEED},\n"delta": {DELTA},\n"rows": {in_lines(rows)}\n}}\n'
    RESULT.write_text(text, encoding="utf-8")


if __name__ == "__main__":
    main()
