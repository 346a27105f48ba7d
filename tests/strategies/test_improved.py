"""ImprovedTopK where the slack is not 0, its two delicate cases, and the k-th arm's value."""

import math

import numpy as np
import pytest
from strategies.registry import ENTRIES
from strategies.test_transcriptions import disagreement

import topk
from topk.strategies import adaptive as improved
from topk_book.experiments import kth_arm

ENTRY = next(entry for entry in ENTRIES if entry.strategy is topk.ImprovedTopK)
FACE_OFF = [0.74] * 1430 + [0.421] * 10 + [0.419] * 10 + [0.1] * 1430  # K = 1440, s_0 = 1
LEFT_OUT = [0.55] * 1430 + [0.15] * 10 + [0.1] * 1440


def compare(strategy, means, seed):
    """Return the first difference between the run and the transcription, or None."""
    rng = np.random.default_rng(seed)
    return disagreement(ENTRY, strategy, topk.BernoulliBandit(rng.permutation(means)), rng)


SLACK_CASES = {
    "uniform means": (topk.ImprovedTopK(350, 0.5, 0.1), np.linspace(0, 1, 700)),
    "ties": (topk.ImprovedTopK(400, 0.5, 0.1), np.repeat([0.2, 0.5, 0.8], 300)),
    "a face-off": (topk.ImprovedTopK(1440, 0.25, 0.1), FACE_OFF),
    "left out": (topk.ImprovedTopK(1440, 0.25, 0.1), LEFT_OUT),
    "a cut": (topk.ImprovedTopK(1440, 0.25, 0.1, budget=500_001), FACE_OFF),
    "any arms of S will do": (topk.ImprovedTopK(640, 0.5, 0.1), np.linspace(0, 1, 650)),
    "without a pull": (topk.ImprovedTopK(640, 0.5, 0.1), np.linspace(0, 1, 648)),
    "mode R": (topk.ImprovedTopK(320, 0.5, 0.1), np.r_[np.full(300, 0.9), np.linspace(0, 1, 1200)]),
    "quarters": (topk.ImprovedTopK(1, 0.5, 0.1), [0.5] * 40),
    "quarters and slack": (topk.ImprovedTopK(320, 0.5, 0.1), [0.5] * 1500),
}


@pytest.mark.parametrize("case", SLACK_CASES)
def test_runs_with_slack_agree_with_the_pseudo_code(case):
    strategy, means = SLACK_CASES[case]
    assert improved.constants(strategy.k, strategy.epsilon, 0.1)[1] > 0 or case == "quarters"
    assert compare(strategy, means, seed=1) is None


def test_arms_that_left_do_not_fill_the_set():
    """The rejected arms leave while the second batch is open; the next ones take their places."""
    strategy, gone = topk.ImprovedTopK(1440, 0.25, 0.1), list(range(1430, 1440))
    session = strategy.start(2880)
    while not session.done:
        arms, counts = session.ask()
        if session.pulls.sum() and gone:
            for arm in gone:
                session.withdraw(arm)
            gone = []
            continue
        session.tell(arms, sums=np.round(counts * np.asarray(LEFT_OUT)[arms]), counts=counts)
    assert session.selected.tolist() == [*range(1430), *range(1440, 1450)]


@pytest.mark.parametrize("left", [0, 1])
def test_an_abandoned_tournament_rejects_no_arm(left):
    """Rewards below 0, so that a threshold of 0 would reject all; two arms are wanted."""
    session = topk.ImprovedTopK(2, 0.5, 0.1).start(40, sigma=0.5)
    while (stage := session.engine.s.now.stage) != improved.SORTING:
        arms, counts = session.ask()
        if stage == improved.REFERENCE:
            for arm in arms[left:]:
                session.withdraw(arm)
            arms, counts = session.ask()
        if session.engine.s.now.stage != improved.SORTING:
            session.tell(arms, sums=-5.0 * counts, counts=counts)
    arms, counts = session.ask()
    assert arms.size == 35 + left
    session.tell(arms, sums=-5.0 * counts, counts=counts)
    assert not session.done and session.engine.active.sum() == 35 + left


# The k-th arm


@pytest.mark.parametrize(
    ("means", "k", "slack"),
    [
        (np.linspace(0, 1, 500), 20, 0),
        (np.linspace(0, 1, 500), 20, 5),
        (np.repeat([0.9, 0.2], [5, 95]), 5, 0),
        (np.repeat([0.9, 0.2], [5, 95]), 6, 0),
        (np.full(90, 0.5), 3, 1),
        (np.linspace(0.2, 0.8, 30), 10, 0),  # nothing to halve
        (np.linspace(0.2, 0.8, 30), 30, 0),
    ],
)
def test_the_value_of_the_kth_arm_in_simulations(means, k, slack):
    eta, ordered = 0.1, np.sort(means)[::-1]
    low = ordered[k - 1] - 2 * eta
    high = ordered[k - 3 * slack - 1] + eta if k > 3 * slack else math.inf
    bandit = topk.BernoulliBandit(means)
    for seed in range(20):
        found = kth_arm(bandit, k, eta, delta=1e-8, slack=slack, rng=seed)
        assert low < found.estimate < high
        good = means[found.candidates] >= ordered[k - 1] - eta
        assert good.sum() >= k - slack
        assert min(2 * k, means.size) <= found.candidates.size <= max(4 * k, 4)
        assert (found.pulls > 0).all() and (np.diff(found.candidates) > 0).all()
    again = kth_arm(bandit, k, eta, delta=1e-8, slack=slack, rng=19)
    assert again.estimate == found.estimate and np.array_equal(again.pulls, found.pulls)


def test_the_kth_arm_and_the_strategy_make_the_same_pulls():
    """One implementation of halving: the same rule for the same precision and error."""
    n, k, delta = 40, 2, 0.1
    strategy = topk.ImprovedTopK(k, 0.5, delta)
    p = 2 / math.exp(improved.constants(k, 0.5, delta)[2])
    session, asked = strategy.start(n), []
    means = np.linspace(0, 1, n)
    constant = topk.ReplayBandit(means[:, None])  # arms that always give their mean
    while session.engine.s.now.stage <= improved.REFERENCE:
        arms, counts = session.ask()
        asked.append((arms.size, int(counts[0])))
        session.tell(arms, sums=counts * means[arms], counts=counts)
    found = kth_arm(constant, k, 0.5, delta=p * (4 + 5 * k), rng=0)
    assert session.engine.s.now.bar / asked[-1][1] == pytest.approx(found.estimate)
    assert [size for size, _ in asked] == [40, 20, 10, 5]
    assert session.pulls.sum() == found.pulls.sum()
