"""216 recorded plays of 18 strategies come out the same, compiled and as plain Python."""

import hashlib
import json
from pathlib import Path

import numpy as np
import pytest

import topk
from topk.play import Play

RECORDED = json.loads((Path(__file__).parent / "plays.json").read_text(encoding="utf-8"))
NAMES = sorted({play["strategy"] for play in RECORDED})


def bandit_of(play):
    """Return the arms; Beta laws have a + b = 4."""
    means = np.array(play["means"])
    if play["law"] == "beta":
        return topk.BetaBandit(4 * means, 4 - 4 * means)
    return topk.MultiBandit(means) if play["law"] == "multi" else topk.BernoulliBandit(means)


def digest(array):
    return hashlib.sha256(array.tobytes()).hexdigest()[:16]


def summed_up(selected, pulls, sums):
    """Return a study's record, as it stands in the file."""
    return {
        "selected": np.array(selected).tolist(),
        "total_pulls": [int(row.sum()) for row in pulls],
        "pulls": digest(np.array(pulls, dtype=np.int64)),
        "sums": digest(np.round(np.array(sums), 9)),
    }


def of(name):
    plays = [play for play in RECORDED if play["strategy"] == name]
    assert len(plays) == 12
    return [(getattr(topk, name)(**play["parameters"]), bandit_of(play), play) for play in plays]


@pytest.mark.parametrize("name", NAMES)
def test_in_simulation(name):
    for strategy, bandit, play in of(name):
        found = topk.replicate(strategy, bandit, runs=play["runs"], seed=play["seed"])
        record = summed_up(found.selected, found.pulls, found.sums)
        assert record == {part: play[part] for part in record}, play


@pytest.mark.parametrize("name", NAMES)
def test_live(name):
    for strategy, bandit, play in of(name):
        selected, pulls, sums = [], [], []
        for number in range(play["runs"]):
            streams = Play(strategy, bandit, play["seed"], number)  # for its order and rewards
            session = strategy.start(bandit.layout)
            while not session.done:
                arms, counts = session.ask()
                rewards = bandit.pull(streams.order[arms], counts, streams.rng)
                session.tell(arms, rewards.sums, counts=counts, squares=rewards.squares)
            selected.append([streams.in_the_bandit(session._play.recommend())])
            pulls.append(streams.undone(session.pulls.ravel()))
            sums.append(streams.undone(session._play.seen.sums))
        record = summed_up(selected, pulls, sums)
        assert record == {part: play[part] for part in record}, play


@pytest.mark.parametrize("name", ["LUCB1", "GapE"])
def test_by_the_other_search(name):
    """By that which is not the fastest with as many arms; real rewards by that of GapE."""
    for strategy, bandit, play in of(name):
        search = {"topk_scan": "topk_trees", "topk_trees": "topk_scan"}[
            strategy.search_for(bandit.n)]
        pulls = []
        for number in range(play["runs"] if name == "GapE" or play["law"] == "bernoulli" else 0):
            one = Play(strategy, bandit, play["seed"], number, search=search)
            one.advance()
            pulls.append(one.outcome().pulls)
        assert not pulls or digest(np.array(pulls, dtype=np.int64)) == play["pulls"], play
