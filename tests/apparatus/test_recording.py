"""Recorded plays."""

import json
import re

import numpy as np
import pytest

import topk
from topk.book.recording import Recording, record, side_by_side

BANDIT = topk.BernoulliBandit([0.9, 0.7, 0.5, 0.3])
STRATEGIES = [
    topk.Uniform(2, budget=100),
    topk.SAR(2, budget=300),
    topk.OptMAI(2, budget=300),
    topk.LUCB1(2, epsilon=0.1, delta=0.1, budget=500),
    topk.UGapEc(2, epsilon=0.1, delta=0.1, budget=500),
    topk.Racing(2, epsilon=0.1, delta=0.1, budget=500),
]


@pytest.mark.parametrize("strategy", STRATEGIES, ids=lambda s: type(s).__name__)
def test_a_recording_is_the_play_that_a_session_makes(strategy):
    play = record(strategy, BANDIT, seed=3, frames=20)
    session, rng = strategy.start(BANDIT.n), np.random.default_rng(3)
    seen = {}
    while not session.done:
        arms, counts = session.ask()
        session.tell(arms, BANDIT.pull(arms, counts, rng).sums, counts=counts)
        seen[int(session.pulls.sum())] = np.round(session.means, 3)
    pulls = [frame.pulls for frame in play.frames]
    assert pulls == sorted(set(pulls)) and pulls[-1] == max(seen) and len(pulls) <= 20
    for frame in play.frames:
        np.testing.assert_array_equal(frame.means, seen[frame.pulls])
        assert all(low <= high for low, high in zip(frame.low, frame.high, strict=True))
        assert sum(letter in "ac" for letter in frame.state) == strategy.k
    chosen = [i for i, letter in enumerate(play.frames[-1].state) if letter in "ac"]
    assert chosen == session.selected.tolist()


def test_the_page_gets_a_still_picture_and_the_data():
    plays = [record(strategy, BANDIT, seed=3) for strategy in STRATEGIES[1:4:2]]
    page = side_by_side(*plays)._repr_html_()
    assert page == side_by_side(*plays)._repr_html_()  # the same bytes
    data = json.loads(re.search(r"<script[^>]*>(.*)</script>", page).group(1))
    assert [one["name"] for one in data] == ["SAR", "LUCB1"]
    assert data[0]["frames"][-1][0] == plays[0].frames[-1].pulls
    assert page.count("<circle") == 2 * BANDIT.n and page.count("<svg") == 2


@pytest.mark.parametrize(
    ("call", "name"),
    [
        (lambda: record(STRATEGIES[0], [0.5, 0.4]), "bandit"),
        (lambda: record(STRATEGIES[0], BANDIT, seed=-1), "seed"),
        (lambda: record(STRATEGIES[0], BANDIT, frames=1), "frames"),
        (lambda: side_by_side(), "recordings"),
        (lambda: side_by_side("SAR"), "recordings"),
    ],
)
def test_bad_arguments_are_refused_by_name(call, name):
    with pytest.raises(ValueError, match=f"^{name}"):
        call()


def test_a_name_cannot_leave_its_attribute():
    (frame,) = record(STRATEGIES[0], BANDIT, frames=2).frames[-1:]
    name = 'x" onclick="alert(1)'
    page = side_by_side(Recording(name, tuple(BANDIT.means), (frame,)))._repr_html_()
    assert name not in re.sub("<script.*?</script>", "", page)
    assert page.count("x&quot; onclick=&quot;alert(1)") == 3  # both labels and the title


def test_rewards_that_are_not_0_or_1_are_recorded():
    strategy = topk.UGapEb(1, budget=60, epsilon=0.1, variance=True)
    play = record(strategy, topk.BetaBandit([4.0, 2.0, 1.0], [1.0, 2.0, 4.0]), frames=5)
    assert play.frames[-1].pulls == 60


def test_several_bandits_are_recorded_one_after_the_other():
    bandit = topk.MultiBandit([[0.9, 0.5, 0.1], [0.2, 0.3, 0.8]])
    play = record(topk.MultiBanditSAR(budget=3000), bandit, seed=1, frames=12)
    assert play.truth == (0.9, 0.5, 0.1, 0.2, 0.3, 0.8)
    assert play.frames[-1].state == "arrrra"
    assert all(len(frame.means) == 6 and (frame.pulls <= 3000) for frame in play.frames)
