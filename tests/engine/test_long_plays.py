"""Very long runs of index strategies, and the return of compiled loops to Python."""

import math
import sys
import time

import numpy as np
import pytest
from engine.searching import call
from processes import python
from strategies import transcriptions

import topk
from topk.engine.loop import CROSSING, DONE
from topk.rules import base
from topk.rules.search.clucb_trees import CLUCB_TREES
from topk.rules.search.top_k_scan import TOP_K_SCAN
from topk.rules.search.top_k_trees import TOP_K_TREES
from topk.rules.search.ugape_scan import UGAPE_SCAN
from topk.rules.search.ugape_trees import UGAPE_TREES
from topk.simulate.play import Play

PATIENCE = 1.0  # seconds of a processor that a slice may take on a busy machine; 0.2 on an idle one
T = 10**8  # pulls of the longest runs tested


def linear(n, tied=False):
    means = 1 - np.arange(1, n + 1) / n
    if tied:
        means[n // 10] = means[n // 10 - 1]
    return topk.BernoulliBandit(means)


def after(strategy, n, search, total, seed=1):
    """Return a run after ``total`` pulls, most of them of a few arms, and as many rounds."""
    play = strategy.begin(n, search=search)
    rng = np.random.default_rng(seed)
    share = rng.dirichlet(np.full(n, 0.3))
    pulls = np.maximum(1, np.floor(share * (total - 2 * n)).astype(np.int64))
    pulls[pulls.argmax()] += total - pulls.sum()
    play.s.pulls[:], play.s.sums[:] = pulls, rng.binomial(pulls, np.linspace(0.6, 0.4, n))
    play.s.now.total = play.s.now.rounds = total  # LUCB1 can have half as many at most
    call(play, base.restore)
    return play


LUCB1, UGAPE = topk.LUCB1(7, epsilon=0.0, delta=1e-9), topk.UGapEc(7, epsilon=0.0, delta=1e-9)
GAPE = topk.GapE(7, budget=T + 10**6, complexity=1e4)
LONG = [
    (LUCB1, TOP_K_SCAN, transcriptions.lucb1),
    (LUCB1, TOP_K_TREES, transcriptions.lucb1),
    (GAPE, TOP_K_SCAN, transcriptions.gap_e),
    (GAPE, TOP_K_TREES, transcriptions.gap_e),
    (UGAPE, UGAPE_SCAN, transcriptions.ugape),
    (UGAPE, UGAPE_TREES, transcriptions.ugape),
    (topk.CLUCB(7, delta=1e-9), CLUCB_TREES, transcriptions.clucb_pac),
]


@pytest.mark.parametrize(("strategy", "search", "transcription"), LONG)
@pytest.mark.parametrize("total", [10**5, 10**7, T])
def test_long_runs_follow_the_published_formula(strategy, search, transcription, total):
    """t^4 and 4 n t^3 do not fit into 64 bits there; nothing may overflow or become nan."""
    n = 40
    play = after(strategy, n, search, total)
    play.update([])  # finds who is pulled next
    rng, (arms, counts) = np.random.default_rng(2), np.zeros((2, n), dtype=np.int64)
    for number in range(100):
        m, seen = play.ask(arms, counts), transcriptions.Seen(n)
        seen.t, seen.kept = int(play.s.now.rounds), []
        seen.pulls, seen.sums = play.s.pulls.tolist(), [int(x) for x in play.s.sums]
        assert arms[:m].tolist() == transcription.decide(strategy, seen)[1], number
        assert counts[:m].tolist() == [1] * m and math.isfinite(play.s.now.scale)
        play.count(arms[:m], counts[:m], rng.integers(0, 2, m).astype(float), np.zeros(m))
        play.update(arms[:m])
    low, high = strategy.intervals(play.s)
    assert ((0 <= low) & (low <= high) & (high <= 1)).all()


INDEX = [
    topk.LUCB1(5, epsilon=0.0, delta=0.1, budget=4000),
    topk.UGapEc(5, epsilon=0.0, delta=0.1, budget=4000),
    topk.UGapEb(5, budget=4000, epsilon=0.0, a=20.0),
    topk.UGapEb(5, budget=700, epsilon=0.0),
    topk.CLUCB(5, delta=0.1, budget=4000),
    topk.GapE(5, budget=4000, complexity=1e4),
    topk.SAR(5, budget=4000),
]


@pytest.mark.slow
@pytest.mark.parametrize("strategy", INDEX, ids=repr)
def test_slices_do_not_change_a_run(strategy, compiled):
    """One call to the end, and calls that end before or at certain totals after a step each."""
    bandit, rng, until, status = linear(50, tied=True), np.random.default_rng(4), 0, None
    play = Play(strategy, bandit, 3, 0)
    while status != DONE:
        before, (status, _) = play.total, play._run_slice(until, 1)
        if status == CROSSING:
            assert play.total == before <= until
            until += int(rng.integers(1, 300))
        assert status == DONE or play.total > before or status == CROSSING
    assert play.outcome() == topk.run(strategy, bandit, rng=3)


@pytest.mark.slow
@pytest.mark.parametrize("strategy", [
    topk.LUCB1(10**5, epsilon=0.0, delta=0.1, budget=1_150_000),
    topk.GapE(10**5, budget=1_150_000, complexity=1e8),
    topk.UGapEc(10**5, epsilon=0.0, delta=0.1, budget=1_050_000),
    topk.CLUCBPAC(10**5, epsilon=0.0, delta=0.1, budget=1_050_000),
], ids=lambda strategy: type(strategy).__name__)
def test_a_million_arms_come_back_to_python_in_time(strategy, monkeypatch, compiled):
    """The first batch, with its sort and its trees, is one step; later steps are short."""
    play, slices = Play(strategy, linear(10**6), 1, 0), []
    play.warm()
    plain = play._run_slice

    def measured(until, steps):
        start = time.thread_time()
        status = plain(until, steps)
        slices.append(time.thread_time() - start)
        return status

    monkeypatch.setattr(play, "_run_slice", measured)
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
    assert int(python(code)) < 1e6  # kilobytes; ru_maxrss would not forget the process that forked
