"""Studies whose process dies again and again: none is stuck, and none loses a result.

The quick set runs some; ``TOPK_STUDIES=1000`` runs a thousand.
"""

import os

import numpy as np
import pytest
from strategies.registry import ENTRIES

import topk

STUDIES = max(1, int(os.environ.get("TOPK_STUDIES", "60")) // 20)  # of each strategy
pytestmark = pytest.mark.filterwarnings("ignore::topk.TopkWarning")
KINDS = [entry for entry in ENTRIES if not entry.several]


def crashes(session, path, rng, lost):
    """Save, and load as another process does after a crash of the workers."""
    session.save(path, overwrite=True)
    again = topk.load(path, lost=lost)
    if not lost:
        again.lost(again.names or range(again.n), again.in_flight)
    return again


@pytest.mark.parametrize("entry", KINDS, ids=lambda entry: entry.draw(
    np.random.default_rng(0), 5, 1).__class__.__name__)
def test_no_study_is_stuck(entry, tmp_path):
    for seed in range(STUDIES):
        rng = np.random.default_rng([seed, 7])
        session = entry.draw(rng, 5, 1).start([f"arm {i}" for i in range(5)], rng=seed)
        means, told = rng.random(5), np.zeros(5, dtype=int)
        for step in range(60):
            if session.done:
                break
            arms, counts = session.ask(int(rng.integers(1, 200)))
            assert arms.size or session.in_flight.any(), "nothing to do, and nothing is out"
            if arms.size:
                some = rng.random(arms.size) < 0.7  # the others die with their worker
                numbers = [session.names.index(arm) for arm in arms[some]]
                sums = rng.binomial(counts[some], means[numbers])
                session.tell(arms[some], sums=sums, counts=counts[some], squares=sums)
                np.add.at(told, numbers, counts[some])
            if step % 3 == 2:
                session = crashes(session, tmp_path / "study.json", rng, bool(rng.integers(2)))
                assert not session.in_flight.any()
                assert session.done or session.ask(1)[0].size
        assert session.pulls.tolist() == told.tolist()
