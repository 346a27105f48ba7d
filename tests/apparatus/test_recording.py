"""Recorded runs."""

import json
import re

import numpy as np
import pytest

import topk
from topk.rules.allocation import water_fill
from topk_book.recording import Recording, record, side_by_side

BANDIT = topk.BernoulliBandit([0.9, 0.7, 0.5, 0.3])
STRATEGIES = [topk.Uniform(2, budget=100), topk.SAR(2, budget=300), topk.OptMAI(2, budget=300),
              topk.LUCB1(2, epsilon=0.1, delta=0.1, budget=500),
              topk.UGapEc(2, epsilon=0.1, delta=0.1, budget=500),
              topk.Racing(2, epsilon=0.1, delta=0.1, budget=500)]


def batches(session, seed):
    """Run a session; yield pulls and sums of all arms before the first and after each batch."""
    rng = np.random.default_rng(seed)
    pulls, sums = np.zeros((2, BANDIT.n), dtype=int)
    yield pulls.copy(), sums.copy()
    while not session.done:
        arms, counts = session.ask()
        drawn = BANDIT.pull(arms, counts, rng).sums.astype(int)
        session.tell(arms, sums=drawn, counts=counts)
        pulls[arms] += counts
        sums[arms] += drawn
        yield pulls.copy(), sums.copy()


@pytest.mark.parametrize("strategy", STRATEGIES, ids=lambda s: type(s).__name__)
def test_a_recording_agrees_with_the_run_of_a_session(strategy):
    """At the end of a batch they agree exactly; within it, up to the batch's rewards."""
    play = record(strategy, BANDIT, seed=3, frames=20)
    session, frames, had, had_ones = strategy.start(BANDIT.n), list(play.frames), 0, 0
    for pulls, sums in batches(session, 3):
        for frame in [frame for frame in frames if frame.pulls <= pulls.sum()]:
            part = had + water_fill(pulls - had, frame.pulls - had.sum())
            ones = np.round(np.array(frame.means) * part)
            np.testing.assert_allclose(ones / part, frame.means, atol=6e-4)
            assert (had_ones <= ones).all() and (ones <= sums).all()
            assert (ones - had_ones <= part - had).all()
            if frame.pulls == pulls.sum():
                assert ones.tolist() == sums.tolist()
            assert sum(letter in "ac" for letter in frame.state) == strategy.k
            frames.remove(frame)
        had, had_ones = pulls, sums
    assert not frames and play.frames[-1].pulls == pulls.sum()
    chosen = [i for i, letter in enumerate(play.frames[-1].state) if letter in "ac"]
    assert chosen == session.selected.tolist()
    assert ("its rule" in play.ended) == strategy.certifies
    assert (play.ended == "stopped by its rule") == session.certified


@pytest.mark.parametrize("strategy", STRATEGIES, ids=lambda s: type(s).__name__)
def test_moments_begin_when_every_arm_has_a_pull_and_are_evenly_spread(strategy):
    """Two runs with the same number of pulls then show the same moments."""
    pulls = [frame.pulls for frame in record(strategy, BANDIT, seed=3, frames=20).frames]
    steps = np.diff(pulls)
    assert pulls[0] == BANDIT.n and len(pulls) <= 20
    assert (steps[:-1] == steps[0]).all() and 0 < steps[-1] <= steps[0]


def test_bounds_are_those_of_the_rule_and_a_rule_without_has_none():
    budget, confidence = (record(strategy, BANDIT, seed=3).frames for strategy in STRATEGIES[1:4:2])
    assert all(frame.low == frame.means == frame.high for frame in budget)
    assert all(low < high for low, high in zip(confidence[0].low, confidence[0].high, strict=True))


@pytest.mark.parametrize("name", ["KLLUCB", "LUCBPlusPlus"])
def test_bounds_given_as_an_interval_are_those_of_the_rule(name):
    strategy = getattr(topk, name)(2, delta=0.1, **{"epsilon": 0.3} if name == "KLLUCB" else {})
    for frame in record(strategy, BANDIT, seed=3, frames=3).frames:
        assert all(low < high for low, high in zip(frame.low, frame.high, strict=True))


def test_the_boundary_separates_the_set_from_the_other_arms():
    frames = record(STRATEGIES[3], BANDIT, seed=3).frames
    for frame in frames:
        inside, outside = ([], [])
        for mean, letter in zip(frame.means, frame.state, strict=True):
            (inside if letter == "c" else outside).append(mean)
        assert max(outside) <= frame.boundary <= min(inside)
    assert record(STRATEGIES[1], BANDIT, seed=3).frames[-1].boundary is None  # all are settled


def test_the_lesson_is_above_the_runs():
    plays = [record(strategy, BANDIT, seed=3, frames=3) for strategy in STRATEGIES[1:4:2]]
    page = side_by_side(*plays, lesson="a < b")._repr_html_()
    assert page.index("a &lt; b") < page.index("<svg")
    assert "topk-player-lesson" not in side_by_side(*plays)._repr_html_()


def test_the_page_gets_a_still_picture_and_the_data():
    plays = [record(strategy, BANDIT, seed=3) for strategy in STRATEGIES[1:4:2]]
    page = side_by_side(*plays)._repr_html_()
    assert page == side_by_side(*plays)._repr_html_()  # the same bytes
    data = json.loads(re.search(r"<script[^>]*>(.*)</script>", page).group(1))
    assert [one["name"] for one in data] == ["SAR", "LUCB1"]
    assert data[0]["frames"][-1][0] == plays[0].frames[-1].pulls
    assert page.count("<circle") == 2 * BANDIT.n and page.count("<svg") == 2


def test_a_name_cannot_leave_its_attribute():
    (frame,) = record(STRATEGIES[0], BANDIT, frames=2, seed=0).frames[-1:]
    name = 'x" onclick="alert(1)'
    page = side_by_side(Recording(name, "", tuple(BANDIT.means), (frame,), ""))._repr_html_()
    assert name not in re.sub("<script.*?</script>", "", page)
    assert page.count("x&quot; onclick=&quot;alert(1)") == 3  # both labels and the title


def test_rewards_that_are_not_0_or_1_are_recorded():
    strategy = topk.UGapEb(1, budget=60, epsilon=0.1, variance=True)
    play = record(strategy, topk.BetaBandit([4.0, 2.0, 1.0], [1.0, 2.0, 4.0]), frames=5, seed=0)
    assert play.frames[-1].pulls == 60


def test_several_bandits_are_recorded_one_after_the_other():
    bandit = topk.MultiBandit([[0.9, 0.5, 0.1], [0.2, 0.3, 0.8]])
    play = record(topk.MultiBanditSAR(budget=3000), bandit, seed=1, frames=12)
    assert play.truth == (0.9, 0.5, 0.1, 0.2, 0.3, 0.8)
    assert play.frames[-1].state == "arrrra"
    assert "the best 1 of 3 in each of 2 bandits" in side_by_side(play)._repr_html_()
    assert all(len(frame.means) == 6 and (frame.pulls <= 3000) for frame in play.frames)
