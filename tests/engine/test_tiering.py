"""Runs as plain Python, compiled runs, and the change from one to the other."""

import time
from dataclasses import dataclass

import numpy as np
import pytest
from strategies.registry import ENTRIES, cases

import topk
from topk.engine import jit, loop, tiering
from topk.simulate.play import Play

BANDIT = topk.BernoulliBandit(np.linspace(0.3, 0.7, 8))
LUCB1 = topk.LUCB1(3, epsilon=0.0, delta=0.1, budget=2000)
needs_compiler = pytest.mark.skipif(not jit.COMPILES, reason="loops are not compiled")


@pytest.fixture
def eager(monkeypatch):
    """Compile as soon as a run has taken a moment; begin with no experience of any loop."""
    monkeypatch.setattr(tiering.Tier, "costs", [0.0])
    monkeypatch.setattr(tiering, "LOADING", 0.0)
    monkeypatch.setattr(jit, "BUSY", 0.0)  # whatever another process compiles
    tiering.tier_of.cache_clear()
    yield
    tiering.tier_of.cache_clear()


def outcome(monkeypatch, setting, *given, **options):
    monkeypatch.setenv("TOPK_COMPILE", setting)
    return topk.run(*given, **options)


@needs_compiler
def test_a_run_that_changes_to_compiled_code_stays_the_same(eager, monkeypatch):
    never = outcome(monkeypatch, "never", LUCB1, BANDIT, rng=1)
    begun, plays = Play.__init__, []

    def noted(self, *given, **options):
        begun(self, *given, **options)
        plays.append(self.compiles)

    monkeypatch.setattr(Play, "__init__", noted)
    assert outcome(monkeypatch, "auto", LUCB1, BANDIT, rng=1) == never
    assert plays == [False, True, True]  # the second one only looks for a stored loop
    assert outcome(monkeypatch, "auto", LUCB1, BANDIT, rng=1) == never
    assert outcome(monkeypatch, "always", LUCB1, BANDIT, rng=1) == never
    assert plays[3:] == [True, True]
    traced = [outcome(monkeypatch, x, LUCB1, BANDIT, rng=1, trace=True) for x in ("auto", "never")]
    assert np.array_equal(traced[0].trace[0], traced[1].trace[0])
    assert np.array_equal(traced[0].trace[1], traced[1].trace[1])


@needs_compiler
def test_a_study_that_changes_to_compiled_code_stays_the_same(eager, monkeypatch):
    given = {"runs": 30, "seed": 2, "checkpoints": [8, 9, 100, 501, 3000]}
    monkeypatch.setenv("TOPK_COMPILE", "never")
    never = topk.replicate(LUCB1, BANDIT, **given)
    monkeypatch.setenv("TOPK_COMPILE", "auto")
    auto = topk.replicate(LUCB1, BANDIT, **given)
    for name in ("selected", "pulls", "sums", "total_pulls", "certified"):
        assert np.array_equal(getattr(auto, name), getattr(never, name)), name
    assert Play(LUCB1, BANDIT, 0, 0).compiles


@needs_compiler
@pytest.mark.parametrize("options", [{}, {"max_pulls": 20}])
def test_runs_that_end_within_their_first_slice_count_too(options, eager, monkeypatch):
    """A regression test: a study of such runs stayed plain Python, however many they were."""
    monkeypatch.setenv("TOPK_COMPILE", "auto")
    monkeypatch.setattr(Play, "_claim", lambda self, compiles: compiles)
    strategy = topk.Uniform(3, 100)
    assert not Play(strategy, BANDIT, 0, 0).compiles
    topk.run(strategy, BANDIT, rng=0, **options)
    assert Play(strategy, BANDIT, 0, 0).compiles


def test_what_is_known_of_the_rest_of_a_run_counts(eager, monkeypatch):
    """A budget that will be spent; at the end of a run nothing of it is left."""
    monkeypatch.setenv("TOPK_COMPILE", "auto")
    left = []
    monkeypatch.setattr(tiering.Tier, "compiles", lambda tier, seconds, claim: left.append(seconds))
    topk.run(topk.GapE(3, budget=3000, complexity=50.0), BANDIT, rng=1)
    assert len(left) > 2 and min(left[:-1]) > 0 and left[-1] == 0
    left.clear()
    topk.run(topk.LUCB1(3, epsilon=0.0, delta=0.1, budget=2000), BANDIT, rng=1)  # may end earlier
    assert len(left) > 2 and not any(left)


@pytest.mark.parametrize("entry", ENTRIES, ids=lambda entry: entry.name)
def test_plain_runs_are_silent(entry, monkeypatch):
    """Warnings are errors in all tests."""
    monkeypatch.setenv("TOPK_COMPILE", "never")
    for strategy, bandit, rng in cases(entry, 2, seed=3, sizes=(2, 150)):
        topk.run(strategy, bandit, rng=rng, max_pulls=bandit.n + 300)


def test_a_misspelt_setting_is_refused(monkeypatch):
    monkeypatch.setenv("TOPK_COMPILE", "sometimes")
    with pytest.raises(ValueError, match="TOPK_COMPILE must be one of 'auto', 'always', 'never'"):
        topk.run(LUCB1, BANDIT, rng=0)


@pytest.mark.parametrize(("setting", "begins"), [
    ("auto", [False, True]), ("always", [True, True]), ("never", [False, False])])
def test_how_a_run_begins(setting, begins, monkeypatch):
    """Also after runs of this process that were compiled under another setting."""
    monkeypatch.setenv("TOPK_COMPILE", setting)
    tier = tiering.Tier()
    assert tier.seconds == 0
    found = [tier.begins_compiled()]
    tier.compiled = True
    assert [*found, tier.begins_compiled()] == begins


def test_the_decision_waits_as_long_as_it_costs(monkeypatch):
    """Ski rental: compile after ``costs``, or at once if more is known to be left."""
    monkeypatch.setattr(tiering.Tier, "costs", [cost := 10.0])  # whatever this process compiled
    asked, tier = [], tiering.Tier()

    def claim(compiles):
        asked.append(compiles)
        return compiles

    tier.seconds = tiering.LOADING / 2
    assert not tier.compiles(0.0, claim) and asked == []
    tier.seconds = tiering.LOADING
    assert not tier.compiles(0.0, claim) and asked == [False]  # is it stored?
    tier.seconds *= 1.5
    assert not tier.compiles(0.0, claim) and asked == [False]
    assert tier.compiles(cost, claim) and tier.compiled and asked == [False, True]
    tier = tiering.Tier()
    tier.seconds = cost
    assert tier.compiles(0.0, claim)
    tier.refused = True
    assert not tier.compiles(10 * cost, claim)


@needs_compiler
def test_a_loop_that_another_process_compiles_is_not_compiled_twice(monkeypatch, tmp_path):
    """The run goes on as plain Python, until the other one has ended or is thought to have."""
    play = Play(LUCB1, BANDIT, 0, 0, compiles=True)
    compiled = jit.compiled_for(play.state, loop.run_batches)
    monkeypatch.setattr(compiled, "_called", False)
    monkeypatch.setattr(compiled, "_stored", lambda: [])
    monkeypatch.setattr(compiled, "path", tmp_path / "loop.py")
    assert not compiled.claim(False)
    assert compiled.claim(True) and not compiled.claim(True)
    monkeypatch.setattr(jit, "BUSY", 0.0)
    time.sleep(0.01)
    assert compiled.claim(True)
    monkeypatch.setattr(compiled, "path", tmp_path / "removed meanwhile" / "loop.py")
    assert compiled.claim(True)


@needs_compiler
def test_a_rule_that_cannot_be_compiled_stays_plain_python(eager, monkeypatch):
    @dataclass(frozen=True)
    class Fancy(topk.Indices):
        k: int
        budget: int

        @topk.rule
        def pick(s):
            return int(str(s.pulls.argmin())), topk.rules.NO_ARM

    strategy = Fancy(1, 3000)
    with pytest.warns(RuntimeWarning, match="the rule of Fancy cannot be compiled"):
        found = outcome(monkeypatch, "auto", strategy, BANDIT, rng=0)
    assert found == outcome(monkeypatch, "never", strategy, BANDIT, rng=0)
    assert found == outcome(monkeypatch, "auto", strategy, BANDIT, rng=0)  # asked only once
    with pytest.raises(TypeError, match="the rule of Fancy cannot be compiled.* `pick`"):
        outcome(monkeypatch, "always", strategy, BANDIT, rng=0)
