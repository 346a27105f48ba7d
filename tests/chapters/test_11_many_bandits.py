"""The checks of the page on several bandits pass, and fail when something is wrong."""

import numpy as np
import pytest
from chapters import cells

import topk

NAME = "11-many-bandits"
BREAKS = [
    ("share", "assert h2 <= own.sum() * TINY", "assert h2 <= own.max() * TINY"),
    ("share", "h1 <= log_bar(rows.size) * h2", "h1 <= log_bar(rows.size) / 2 * h2"),
    ("share", "assert own.max() <= h2 * TINY", "assert own.sum() <= h2 * TINY"),
    ("budget", "several = topk.MultiBanditSAR(budget)",
     "several = topk.MultiBanditSAR(2 * budget)"),
    ("event", "QUARTER = 1 / 4", "QUARTER = 1 / 5"),
    ("event", "(8 * log_bar(rows.size) * h2)", "(7 * log_bar(rows.size) * h2)"),
    ("no-error", "QUARTER = 1 / 4", "QUARTER = 1 / 2"),
    ("no-error", "_, _, arm, m = max(pairs)", "_, _, arm, m = min(pairs)"),
    ("theorem-2", "pulls = 8 * log_bar(size)", "pulls = 4 * log_bar(size)"),
    ("theorem-2", "topk.MultiBanditSAR(budget), topk.MultiBandit(rows), plays, stream",
     "topk.MultiBanditSAR(rows.size + 1), topk.MultiBandit(rows), plays, stream"),
]  # fmt: skip


@pytest.mark.parametrize("check", cells.checks(NAME))
def test_checks_pass(check):
    cells.run(NAME, check)


@pytest.mark.parametrize(("check", "old", "new"), BREAKS)
def test_broken_checks_fail(check, old, new):
    with pytest.raises(AssertionError):
        cells.run(NAME, check, old, new)


def test_theorem_2_on_plays():
    # 200 plays, each wrong with probability at most 1e-9: false alarm below 2e-7.
    rows = np.array([[0.9, 0.4, 0.3], [0.2, 0.1, 0.7]])
    budget = 100
    while topk.guarantees.multibandit_sar_error(rows, budget) > 1e-9:
        budget += 100
    reps = topk.replicate(topk.MultiBanditSAR(budget), topk.MultiBandit(rows), runs=200, seed=5)
    assert not topk.metrics.misidentified(reps.selected, rows).any()
