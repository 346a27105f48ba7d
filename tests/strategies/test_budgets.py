"""Phase lengths of SAR, and the use of the budget by all strategies."""

import dataclasses
from fractions import Fraction
from math import lcm

import numpy as np
from scale import amount
from strategies.registry import ENTRIES, cases, start, sweep
from strategies.tapes import Tapes
from strategies.transcriptions import sar_lengths

import topk
from topk.rules.allocation import water_fill

CUT_SHORT = [
    entry
    for entry in ENTRIES
    if entry.strategy.anytime and "budget" in entry.strategy.__dataclass_fields__
]


def test_phase_lengths_against_exact_fractions():
    for n in [*range(2, 41), 164]:
        rng = np.random.default_rng(n)
        budgets = {n + 1, n + 2, 2 * n, 100 * n, *rng.integers(n + 1, 50 * n, 12).tolist()}
        whole = whole_quotient(n)  # budgets at which phases are whole numbers, and around them
        budgets |= {whole - 1, whole, whole + 1, 2 * whole - n, 7 * whole - 6 * n + 1}
        for budget in budgets:
            if not n < budget < 2**40:
                continue
            lengths = topk.strategies.sar.phase_lengths(n, budget)
            assert list(lengths) == sar_lengths(n, budget)[1:], (n, budget)


def whole_quotient(n):
    """Return a budget for which every (Q - n) / log_bar(n) / j, j <= n, is a whole number."""
    log_bar = Fraction(1, 2) + sum(Fraction(1, i) for i in range(2, n + 1))
    scale = lcm(*range(1, n + 1))
    return n + (log_bar * scale * log_bar.denominator).numerator


@sweep(CUT_SHORT)
def test_a_budget_may_end_a_run_at_a_checkpoint(entry):
    """With the same rewards, the set under budget b is the set selected after b pulls."""
    cut, largest = 0, 1
    for strategy, bandit, rng in cases(entry, amount(30, 60), seed=14, sizes=(2, 3, 5, 8)):
        endless = dataclasses.replace(strategy, budget=2**40)
        budget = int(rng.integers(entry.starts * bandit.n, 20 * bandit.n))
        tapes = Tapes(bandit, rng, budget)
        session, told = start(endless, bandit.layout), 0
        while not session.done and told < budget:
            arms, counts = session.ask()
            part = water_fill(counts, min(budget - told, counts.sum()))
            tapes.tell(session, arms[part > 0], part[part > 0])
            told += part.sum()
            cut += 0 < part.sum() < counts.sum()
            largest = max(largest, counts.sum() if told > entry.starts * bandit.n else 1)
        tapes.rewind()
        limited = start(dataclasses.replace(strategy, budget=budget), bandit.layout)
        while not limited.done:
            tapes.tell(limited, *limited.ask())
        assert limited.pulls.tolist() == session.pulls.tolist(), (strategy, budget)
        assert limited.selected.tolist() == session.selected.tolist(), (strategy, budget)
    assert cut > 5 or largest == 1  # budgets ended inside batches
