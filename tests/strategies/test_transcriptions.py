"""Every strategy makes the same pulls as the paper's pseudo-code."""

import numpy as np
import pytest
from scale import amount, some
from strategies.registry import ENTRIES, cases, numbers, start

import topk
from topk.engine.streams import RULE, stream

LITERAL = [entry for entry in ENTRIES if entry.transcription]


def test_every_strategy_has_a_transcription():
    assert {entry.strategy.__name__ for entry in LITERAL} == {*topk.strategies.__all__}


def disagreement(entry, strategy, bandit, rng):
    """Give both the same rewards; return the first difference, or None."""
    session = start(strategy, bandit.layout, rng=0)
    own = [np.random.default_rng(0)] if strategy.random else []
    paper = entry.transcription(strategy, bandit.layout, *own)
    sums, batch = None, 0
    while True:
        try:
            wanted, ended = paper.send(sums), None
        except StopIteration as end:
            wanted, ended = [], end.value
        arms, counts = session.ask()
        asked = list(zip(arms.tolist(), counts.tolist(), strict=True))
        if asked != wanted:
            return f"batch {batch}: asked {asked}, the paper asks {wanted}"
        if ended:
            found = set(numbers(session.selected, bandit.layout)), session.stopped
            if found != ended or not session.done or session.certified != (ended[1] == "rule"):
                return f"after {batch} batches: {found}, the paper returns {ended}"
            return None
        sums = bandit.pull(arms, counts, rng).sums
        session.tell(arms, sums=sums, counts=counts, squares=sums)
        batch += 1


@pytest.mark.parametrize("entry", LITERAL, ids=lambda entry: entry.name)
def test_the_pulls_and_the_set_are_those_of_the_papers_pseudo_code(entry):
    wrong, many = {}, entry.instances // amount(3, 1)
    for strategy, bandit, rng in cases(entry, many, seed=1):
        where = disagreement(entry, strategy, bandit, rng)
        if where:
            wrong[f"{strategy} on {bandit.means.tolist()}"] = where
    first = next(iter(wrong.items()), None)
    assert not wrong, f"{len(wrong)} of {many} instances differ, the first: {first}"


def of_the_paper(entry, strategy, bandit, seed):
    """Return pulls, sums, the set and why it ended, with the streams of a simulated run."""
    order, rng = topk.streams(seed, 0, bandit.layout)
    own = [stream(seed, 0, RULE)] if strategy.random else []
    paper = entry.transcription(strategy, bandit.layout, *own)
    rewards, (pulls, sums) = None, np.zeros((2, bandit.n))
    while True:
        try:
            arms, counts = np.array(paper.send(rewards)).T
        except StopIteration as end:
            chosen, why = end.value
            return pulls.tolist(), sums.tolist(), sorted(order[[*chosen]].tolist()), why
        rewards = bandit.pull(order[arms], counts, rng).sums
        pulls[order[arms]] += counts
        sums[order[arms]] += rewards


@pytest.mark.parametrize("setting", some(["never", "always"], lambda x: x == "never"))
@pytest.mark.parametrize("entry", LITERAL, ids=lambda entry: entry.name)
def test_a_simulation_makes_these_pulls_compiled_or_not(entry, setting, monkeypatch):
    monkeypatch.setenv("TOPK_COMPILE", setting)
    for strategy, bandit, rng in cases(entry, amount(6, 40), seed=31):
        seed = int(rng.integers(2**32))
        made = topk.run(strategy, bandit, rng=seed)
        found = made.pulls.ravel().tolist(), made.sums.ravel().tolist()
        found += numbers(made.selected, bandit.layout), made.stopped
        assert found == of_the_paper(entry, strategy, bandit, seed), strategy
