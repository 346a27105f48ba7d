"""Many short studies, side by side."""

import os

import numpy as np
import pytest

import topk
from topk.workers import each


def play(k, seed):
    reps = topk.replicate(topk.SAR(k, 60), topk.BernoulliBandit([0.8, 0.5, 0.4, 0.2]), 50, seed)
    return os.environ["TOPK_JOBS"], reps.pulls


@pytest.mark.parametrize("jobs", ["1", "2"])
def test_every_item_in_its_place_whoever_runs_it(jobs, monkeypatch):
    monkeypatch.setenv("TOPK_JOBS", jobs)
    items = [(k, seed) for seed in range(4) for k in (1, 2)]
    found = each(play, items)
    assert os.environ["TOPK_JOBS"] == jobs
    for item, (inside, pulls) in zip(items, found, strict=True):
        assert inside == "1"  # nobody asks for more cores from inside
        np.testing.assert_array_equal(pulls, play(*item)[1])


def test_a_task_is_something_to_call():
    with pytest.raises(ValueError, match="^task"):
        each("play", [(1,)])
