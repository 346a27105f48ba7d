"""Phase lengths of SAR, and what every strategy does with its budget."""

import dataclasses
from fractions import Fraction
from math import lcm

import numpy as np
import pytest
from strategies.registry import ENTRIES, GUARDED, cases, start
from strategies.tapes import Tapes
from strategies.transcriptions import sar_lengths

import topk
from topk.play import water_fill

CUT_SHORT = [
    entry
    for entry in [*ENTRIES, GUARDED]
    if entry.strategy.anytime and "budget" in entry.strategy.__dataclass_fields__
]


def sar_pulls(n, budget, k=1, seed=0):
    """Return SAR's pulls of the arms in the order in which they left."""
    means = np.random.default_rng(seed).random(n)
    return sorted(topk.run(topk.SAR(k, budget), topk.BernoulliBandit(means), rng=seed).pulls)


# worked out by hand: log_bar(2) = 1, log_bar(3) = 4/3, log_bar(4) = 19/12
HAND = {
    (2, 3): [1],
    (3, 4): [1, 1],  # 1/4, 3/8
    (3, 11): [2, 3],  # 8 * 3/4 = 6: 6/3 and 6/2, both whole
    (3, 12): [3, 4],  # 9 * 3/4 = 6.75: 2.25 and 3.375
    (4, 100): [16, 21, 31],  # 96 * 12/19 = 60.63: 15.2, 20.2, 30.3
    (4, 23): [3, 4, 6],  # 19 * 12/19 = 12: 3, 4 and 6, all whole
}


@pytest.mark.parametrize(("n", "budget"), HAND, ids=str)
def test_phase_lengths_worked_out_by_hand(n, budget):
    lengths = HAND[n, budget]
    assert sar_pulls(n, budget) == [*lengths, lengths[-1]]
    assert sar_lengths(n, budget) == [0, *lengths]  # the transcription as well


def test_the_largest_count_of_a_worker_in_the_rte_study_is_143():
    assert max(sar_pulls(164, 1640, k=10)) == 143


def test_phase_lengths_for_up_to_40_arms_against_exact_fractions():
    for n in range(2, 41):
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


@pytest.mark.parametrize("beta", [0.8, 0.9])
@pytest.mark.parametrize("final", ["accept-reject", "uniform"])
def test_optmai_spends_nearly_the_whole_budget_at_the_papers_scale(beta, final):
    # Section 6: "roughly equals to (but no greater than) Q"
    n, budget = 1000, 20_000
    bandit = topk.BernoulliBandit(np.random.default_rng(n).random(n))
    for k in (10, 100, 400):
        total = topk.run(topk.OptMAI(k, budget, beta=beta, final=final), bandit).total_pulls
        assert (1 if final == "uniform" else 0.9) * budget <= total <= budget


@pytest.mark.parametrize("entry", CUT_SHORT, ids=lambda entry: entry.name)
def test_a_budget_ends_a_play_where_a_checkpoint_would_look_at_it(entry):
    """With the same rewards: what is chosen with budget b is what is selected after b pulls."""
    cut, largest = 0, 1
    for strategy, bandit, rng in cases(entry, 60, seed=14, sizes=(2, 3, 5, 8)):
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
