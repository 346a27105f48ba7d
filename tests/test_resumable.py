"""Kernels of the index strategies come back to Python, and stand very long plays."""

import math
import os
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pytest

import topk
from topk.kernels import rules
from topk.kernels.boundary import HIGHEST, LOWEST
from topk.kernels.rules import CROSSING, DONE
from topk.kernels.tally import credit
from topk.kernels.winners import best, key
from topk.play import Play
from topk.strategies import clucb, lucb, ugape

PATIENCE = 1.0  # seconds of a processor that a slice may take on a busy machine; 0.2 on an idle one
T = 10**8  # pulls of the longest plays that are looked at


def linear(n, tied=False):
    means = 1 - np.arange(1, n + 1) / n
    if tied:
        means[n // 10] = means[n // 10 - 1]
    return topk.BernoulliBandit(means)


def long_play(n, total, seed):
    """Return pulls and sums of ``n`` arms after ``total`` pulls, most of them of a few arms."""
    rng = np.random.default_rng(seed)
    share = rng.dirichlet(np.full(n, 0.3))
    pulls = np.maximum(1, np.floor(share * (total - 2 * n)).astype(np.int64))
    pulls[pulls.argmax()] += total - pulls.sum()
    return pulls, rng.binomial(pulls, np.linspace(0.6, 0.4, n)).astype(np.float64)


def put(state, total, seed=1):
    """Make ``total`` pulls the past of a state."""
    pulls, sums = long_play(state.status.size, total, seed)
    state.tally.pulls[:], state.tally.sums[:] = pulls, sums
    state.tally.total[0] = total


def step(state, rng, arms, counts):
    """Play one batch of fair coins; return the arms that were pulled, () at the end."""
    m = rules.ask(state, arms, counts)
    sums = rng.binomial(counts[:m], 0.5).astype(np.float64)
    credit(state.tally, m, arms, counts, sums, sums)
    rules.update(state, m, arms, counts)
    return tuple(arms[:m].tolist())


def means_of(state):
    return state.tally.sums / state.tally.pulls


def best_means(state):
    """Return whether each arm is among the k best-ranked."""
    inside = np.zeros(state.status.size, dtype=bool)
    inside[np.argsort(-means_of(state), kind="stable")[: state.k]] = True
    return inside


def lucb1_wants(state, strategy, n):
    """The pair by the published formula, with a radius in exact integers."""
    t = int(state.rounds[0])
    factor = math.log(5 * n * t**4) - math.log(4 * strategy.delta)
    radius = np.sqrt(factor / (2 * state.tally.pulls))
    inside = best_means(state)
    low = np.where(inside, means_of(state) - radius, np.inf)
    high = np.where(inside, -np.inf, means_of(state) + radius)
    return int(low.argmin()), int(high.argmax())


def ugape_wants(state, strategy, n):
    """The wider of u and l; t - 1 pulls have been made."""
    pulled = int(state.tally.total[0])
    factor = math.log(4 * n * pulled**3) - math.log(strategy.delta)
    radius = np.sqrt(strategy.c * factor / state.tally.pulls)
    upper, lower = means_of(state) + radius, means_of(state) - radius
    rival = np.array([np.sort(np.delete(upper, arm))[-strategy.k] for arm in range(n)])
    inside = np.zeros(n, dtype=bool)
    inside[np.argsort(rival - lower, kind="stable")[: strategy.k]] = True
    low = int(np.where(inside, lower, np.inf).argmin())
    high = int(np.where(inside, -np.inf, upper).argmax())
    return (low if radius[low] > radius[high] else high,)


def clucb_wants(state, strategy, n):
    """The widest arm of the symmetric difference of two sets of k arms."""
    pulled = int(state.tally.total[0])
    factor = math.log(4 * n * pulled**3) - math.log(strategy.delta)
    radius = strategy.R * np.sqrt(2 * factor / state.tally.pulls)
    inside = best_means(state)
    bound = np.where(inside, means_of(state) - radius, means_of(state) + radius)
    other = np.zeros(n, dtype=bool)
    other[np.argsort(-bound, kind="stable")[: strategy.k]] = True
    return (int(np.where(inside != other, radius, -1).argmax()),)


def gape_wants(state, strategy, n):
    """The largest of minus the gap plus the radius."""
    inside, means = best_means(state), means_of(state)
    gap = np.where(inside, means - means[~inside].max(), means[inside].min() - means)
    exploration = strategy.budget / strategy.complexity
    return (int((strategy.c * np.sqrt(exploration / state.tally.pulls) - gap).argmax()),)


LONG = [
    (topk.LUCB1(7, epsilon=0.0, delta=1e-9), lucb1_wants),
    (topk.UGapEc(7, epsilon=0.0, delta=1e-9), ugape_wants),
    (topk.CLUCB(7, delta=1e-9), clucb_wants),
    (topk.CLUCBPAC(7, epsilon=0.0, delta=1e-9), clucb_wants),
    (topk.GapE(7, budget=T + 10**6, complexity=1e4), gape_wants),
]


@pytest.mark.parametrize(("strategy", "wants"), LONG, ids=lambda v: type(v).__name__)
@pytest.mark.parametrize("total", [10**5, 10**7, T])
def test_long_plays_follow_the_published_formula(strategy, wants, total):
    """t^4 and 4 n t^3 do not fit into 64 bits there; nothing may overflow or become nan."""
    n = 40
    state = strategy.begin(n)
    put(state, total)
    if isinstance(strategy, topk.LUCB1):
        state.rounds[0] = total  # more than a play of so many pulls can have
    elif isinstance(strategy, (topk.CLUCB, topk.CLUCBPAC)):
        state.begun[0] = 1
    else:
        state.next[0] = 0
    rules.rule_of(state).rebuild(state)
    rng, (arms, counts) = np.random.default_rng(2), np.zeros((2, n), dtype=np.int64)
    rules.update(state, 0, arms, counts)  # forms what is asked for
    for number in range(300):
        assert not state.finished[0]
        wanted = wants(state, strategy, n)
        assert step(state, rng, arms, counts) == wanted, number
        assert np.isfinite(state.trees.line).all() and math.isfinite(state.trees.s[0])
        assert 0 <= best(state.trees, 0) < n
    if not isinstance(strategy, topk.GapE):
        low, high = strategy.bounds(state)
        assert ((0 <= low) & (low <= high) & (high <= 1)).all()


def test_s_is_the_literal_radius_up_to_the_last_digits():
    """The factored logarithm against one logarithm of an integer, from t = 1 to 10^8."""
    n, delta = 10**6, 0.05
    for t in [1, 2, 3, 10, 1000, 55_109, 10**6, 2**31, T]:
        first = topk.LUCB1(1, epsilon=0.0, delta=delta).begin(n)
        first.rounds[0] = t
        literal = math.log(5 * n * t**4) - math.log(4 * delta)
        assert lucb.log_term(first) == pytest.approx(literal, rel=1e-14)
        literal = math.log(4 * n * t**3) - math.log(delta)
        ugap = topk.UGapEc(1, epsilon=0.0, delta=delta).begin(n)
        pac = topk.CLUCBPAC(1, epsilon=0.0, delta=delta).begin(n)
        ugap.tally.total[0] = pac.tally.total[0] = t
        assert ugape.scale(ugap) == pytest.approx(math.sqrt(literal / 2), rel=1e-14)
        assert clucb.scale(pac) == pytest.approx(0.5 * math.sqrt(2 * literal), rel=1e-14)


def test_a_certificate_near_its_threshold_is_the_literal_one():
    """At t = 10^8 the difference of bounds that is compared with epsilon is the published one."""
    strategy = topk.LUCB1(7, epsilon=0.0, delta=0.1)
    state = strategy.begin(40)
    put(state, T)
    state.rounds[0] = T
    rules.rule_of(state).rebuild(state)
    low, high = best(state.trees, LOWEST), best(state.trees, HIGHEST)
    radius = np.sqrt((math.log(5 * 40 * T**4) - math.log(0.4)) / (2 * state.tally.pulls))
    literal = means_of(state)[high] + radius[high] - means_of(state)[low] + radius[low]
    found = key(state.trees, HIGHEST, high) + key(state.trees, LOWEST, low)
    assert found == pytest.approx(literal, abs=1e-14)


INDEX = [
    topk.LUCB1(5, epsilon=0.0, delta=0.1, budget=4000),
    topk.UGapEc(5, epsilon=0.0, delta=0.1, budget=4000),
    topk.UGapEb(5, budget=4000, epsilon=0.0, a=20.0),
    topk.UGapEb(5, budget=700, epsilon=0.0),
    topk.CLUCB(5, delta=0.1, budget=4000),
    topk.CLUCBPAC(5, epsilon=0.0, delta=0.1, budget=4000),
    topk.GapE(5, budget=4000, complexity=1e4),
]


@pytest.mark.parametrize("strategy", INDEX, ids=repr)
def test_slices_do_not_change_a_play(strategy):
    """One call to the end, a call a step, and calls that end before or at certain totals."""
    bandit = linear(50, tied=True)
    whole = topk.run(strategy, bandit, rng=3)
    single, marked = (Play(strategy, bandit, 3, 0) for _ in range(2))
    status = None
    while status != DONE:
        before = single.total
        status = single._slice(-1, 1)
        assert status == DONE or single.total > before
    rng, until = np.random.default_rng(4), 0
    while marked.advance(until) == CROSSING:
        assert marked.total <= until
        until += int(rng.integers(1, 300))
    for play in (single, marked):
        outcome = play.outcome()
        assert outcome.pulls.tolist() == whole.pulls.tolist()
        assert outcome.sums.tolist() == whole.sums.tolist()
        assert outcome.selected.tolist() == whole.selected.tolist()
        assert outcome.stopped == whole.stopped


@pytest.mark.slow
@pytest.mark.parametrize("strategy", [
    topk.LUCB1(10**5, epsilon=0.0, delta=0.1, budget=1_150_000),
    topk.GapE(10**5, budget=1_150_000, complexity=1e8),
    topk.UGapEc(10**5, epsilon=0.0, delta=0.1, budget=1_050_000),
    topk.CLUCBPAC(10**5, epsilon=0.0, delta=0.1, budget=1_050_000),
], ids=lambda strategy: type(strategy).__name__)
def test_a_million_arms_come_back_to_python_in_time(strategy, monkeypatch):
    """The first batch, with its sort and its trees, is one step; later steps are short."""
    play, slices = Play(strategy, linear(10**6), 1, 0), []
    play.warm()
    plain = play._slice

    def measured(until, steps):
        start = time.thread_time()
        status = plain(until, steps)
        slices.append(time.thread_time() - start)
        return status

    monkeypatch.setattr(play, "_slice", measured)
    assert play.advance() == DONE
    assert play.total == strategy.budget
    assert max(slices) < PATIENCE


@pytest.mark.slow
@pytest.mark.skipif(sys.platform != "linux", reason="reads /proc")
def test_memory_grows_with_the_arms_only():
    """The trees of 10^6 arms, and twice as many pulls; the benchmark plays 10^7."""
    code = (
        "from pathlib import Path\n"
        "import numpy as np\n"
        "import topk\n"
        "bandit = topk.BernoulliBandit(1 - np.arange(1, 10**6 + 1) / 10**6)\n"
        "topk.run(topk.LUCB1(10**5, epsilon=0.0, delta=0.1, budget=2 * 10**6), bandit)\n"
        "print(Path('/proc/self/status').read_text().split('VmHWM:')[1].split()[0])\n"
    )
    environment = os.environ | {"PYTHONPATH": str(Path(topk.__file__).parents[1])}
    output = subprocess.run(
        [sys.executable, "-c", code], env=environment, capture_output=True, text=True, check=True
    ).stdout
    assert int(output) < 1e6  # kilobytes; ru_maxrss would not forget the process that forked
