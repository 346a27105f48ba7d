"""Recorded runs of all strategies, laws of rewards and numbers of arms are reproduced.

They are simulated; strategies/test_agreement.py has a live session, which is plain Python, make the
same play as a simulation.
"""

import hashlib
import json
from pathlib import Path

import numpy as np
import pytest
from engine import recorded

import topk

FILES = "plays.json", "plays_of_later_strategies.json"
RECORDED = [play for name in FILES
            for play in json.loads((Path(__file__).parent / name).read_text(encoding="utf-8"))]
NAMES = sorted({play["strategy"] for play in RECORDED})


def bandit_of(play):
    """Return the arms; Beta distributions have a + b = 4."""
    means = np.array(play["means"])
    if play["law"] == "beta":
        return topk.BetaBandit(4 * means, 4 - 4 * means)
    return topk.MultiBandit(means) if play["law"] == "multi" else topk.BernoulliBandit(means)


def digest(array):
    return hashlib.sha256(array.tobytes()).hexdigest()[:16]


@pytest.mark.parametrize("name", NAMES)
def test_runs_agree_with_the_file(name):
    plays = [play for play in RECORDED if play["strategy"] == name]
    assert len(plays) == 12
    for play in plays:
        strategy = getattr(topk, name)(**play["parameters"])
        found = topk.replicate(strategy, bandit_of(play), runs=play["runs"], seed=play["seed"])
        record = {
            "selected": found.selected.tolist(),
            "total_pulls": found.total_pulls.tolist(),
            "pulls": digest(found.pulls),
            "sums": digest(np.round(found.sums, 9)),
        }
        assert record == {part: play[part] for part in record}, play


@pytest.mark.parametrize(("file", "name"), [(x, y) for x, names in recorded.FILES.items()
                                            for y in names])
def test_runs_agree_with_the_files_of_all_laws(file, name):
    """``python tests/engine/recorded.py`` writes these files."""
    known = json.loads((recorded.HERE / file).read_text(encoding="utf-8"))
    found = {label: recorded.result_of(*play) for label, *play in recorded.plays([name])}
    assert found == {label: known[label] for label in found}
