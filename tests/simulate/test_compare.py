"""Comparison of several strategies."""

from types import MappingProxyType

import numpy as np
import pytest

import topk
from topk.stats import mean_interval, paired_difference

BANDIT = topk.BernoulliBandit([0.8, 0.6, 0.4, 0.2])
FIXED = {"SAR": topk.SAR(2, 60), "even": topk.Uniform(2, 60)}
SURE = {"LUCB1": topk.LUCB1(2, 0.1, 0.1), "Racing": topk.Racing(2, 0.1, 0.1)}


def test_every_strategy_runs_as_alone_and_the_table_is_paired():
    found = topk.compare(FIXED, BANDIT, runs=30, seed=3, budgets=[20, 60])
    assert found.points == (20, 60)
    regrets = {}
    for name, strategy in (("SAR", topk.SAR), ("even", topk.Uniform)):
        for budget, reps in zip((20, 60), found.replications[name], strict=True):
            alone = topk.replicate(strategy(2, budget), BANDIT, 30, seed=3)
            assert reps == alone
            regrets[name, budget] = alone.frame().aggregate_regret.to_numpy()
    table = found.table().set_index(["strategy", "pulls"])
    for (name, budget), values in regrets.items():
        row = table.loc[name, budget]
        best = min((regrets[other, budget] for other in FIXED), key=np.mean)
        assert row[["mean", "low", "high"]].tolist() == list(mean_interval(values))
        expected = paired_difference(values, best)  # one rival: no correction
        assert row[["worse_by", "worse_low", "worse_high"]].tolist() == list(expected)
    assert len(found.frame()) == 2 * 2 * 30 and set(found.frame().pulls) == {20, 60}
    assert found.table().pulls.dtype.kind == "i"  # printed as 20 and not 20.0


def test_nothing_is_run_if_a_later_argument_is_invalid(monkeypatch):
    monkeypatch.setattr("topk.simulate.compare.replicate", lambda *_, **__: pytest.fail("it plays"))
    sigma = topk.GaussianBandit([3.0, 2.0, 0.0], sigma=0.5)
    bounded = {"own": topk.UGapEc(2, 0.1, 0.1, variance=True)}
    for name, strategies, bandit, points in (
        ("k", FIXED | {"more": topk.SAR(4, 60)}, BANDIT, {}),
        ("checkpoints", SURE | FIXED, BANDIT, {"checkpoints": [20]}),
        ("budget", {"even": FIXED["even"], "SAR": topk.SAR(2, 60)}, BANDIT, {"budgets": [3, 60]}),
        ("sigma", SURE | bounded, sigma, {}),
    ):
        with pytest.raises(ValueError, match=f"^{name} must be "):
            topk.compare(strategies, bandit, runs=2, **points, seed=1)


def test_a_random_seed_is_the_same_for_all_strategies():
    twins = {"one": topk.SAR(2, 60), "other": topk.SAR(2, 60)}
    one, other = topk.compare(twins, BANDIT, runs=5, seed=None).replications.values()
    assert one == other


def test_checkpoints_use_one_run_and_rivals_share_the_error():
    three = SURE | {"UGapEc": topk.UGapEc(2, 0.3, 0.1)}
    found = topk.compare(three, BANDIT, runs=20, checkpoints=[10, 50], seed=1)
    assert {len(studies) for studies in found.replications.values()} == {1}
    frame, table = found.frame(), found.table("simple_regret")
    at = {name: frame[(frame.strategy == name) & (frame.pulls == 10)].simple_regret.to_numpy()
          for name in three}
    best = min(at.values(), key=np.mean)
    row = table[(table.strategy == "UGapEc") & (table.pulls == 10)].iloc[0]
    assert row.worse_high == paired_difference(at["UGapEc"], best, 0.975).high


def test_without_points_fixed_confidence_strategies_are_compared_by_pulls():
    found = topk.compare(SURE, BANDIT, runs=10, seed=1)
    pulls = {name: reps[0].total_pulls.mean() for name, reps in found.replications.items()}
    assert found.table().set_index("strategy")["mean"].to_dict() == pulls
    wrong = found.table("misidentified").iloc[0]
    assert wrong["mean"] == 0 < wrong.high  # Clopper and Pearson: ten plays prove little


def test_several_bandits_are_misidentified_if_one_of_them_is():
    pair = topk.MultiBandit([[0.6, 0.5], [0.5, 0.45]])
    found = topk.compare({"SAR": topk.MultiBanditSAR(20)}, pair, runs=40, seed=1)
    frame = found.frame()
    missed = frame.groupby("run").misidentified.any()
    assert 0 < missed.sum() < frame.misidentified.sum()  # some runs miss both
    row = found.table("misidentified").iloc[0]
    expected = topk.stats.proportion_interval(int(missed.sum()), 40)
    assert row[["mean", "low", "high"]].tolist() == list(map(float, expected))
    of_runs = frame.groupby("run").aggregate_regret.mean()
    assert found.table("aggregate_regret")["mean"][0] == pytest.approx(of_runs.mean())


def test_the_line_is_that_of_the_arms_and_is_left_out_where_none_is_known():
    """Tied arms, several bandits, several k have none; with an epsilon it would be no bound."""
    normal = topk.GaussianBandit([3.0, 2.0, 0.0], sigma=0.5)
    sure = {"KL-LUCB": topk.KLLUCB(1, 0, 0.1), "LUCB1": topk.LUCB1(1, 0, 0.05)}
    of_normal = topk.hardness.characteristic_time(normal.means, 1, "gaussian", 0.5).value
    of_coins = topk.hardness.characteristic_time(BANDIT.means, 1).value
    for bandit, time in ((normal, of_normal), (BANDIT, of_coins)):
        line = topk.compare(sure, bandit, runs=2, seed=1).plot().axes[0].lines[-1]
        assert line.get_label().startswith("T*")
        assert line.get_xdata()[0] == pytest.approx(time * 0.8 * np.log(9))  # of the larger delta
    pair = topk.MultiBandit([[0.9, 0.1], [0.8, 0.2]])
    several = {"UGapEc": topk.MultiBanditUGapEc(1, 0.3, 0.1)}
    tied, more = topk.BernoulliBandit([0.9, 0.9, 0.1]), {"two": topk.KLLUCB(2, 0.3, 0.1)}
    lax = {name: topk.KLLUCB(1, epsilon, 0.1) for name, epsilon in (("a", 0), ("b", 0.3))}
    given = (several, pair), (more, tied), (sure | more, BANDIT), (lax, BANDIT)
    for strategies, bandit in given:
        axes = topk.compare(strategies, bandit, runs=2, seed=1).plot().axes[0]
        assert [x.get_label() for x in axes.lines] == list(strategies)


def test_forms_of_one_class_differ_in_their_lines():
    forms = {"plain": topk.UGapEc(2, 0.3, 0.1), "own": topk.UGapEc(2, 0.3, 0.1, variance=True)}
    for points in ({}, {"checkpoints": [10, 50]}):
        lines = topk.compare(forms, BANDIT, runs=3, **points, seed=1).plot().axes[0].lines[:2]
        assert len({line.get_linestyle() for line in lines}) == 2


def test_reprs_are_short_and_runs_may_be_limited():
    found = topk.compare(SURE, BANDIT, runs=3, max_pulls=20, seed=1)
    assert repr(found) == "Comparison(['LUCB1', 'Racing'], runs=3)"
    assert (found.frame().pulls_used <= 20).all()
    strange = topk.compare({"<b>": SURE["LUCB1"]}, BANDIT, runs=2, seed=1)._repr_html_()
    assert "&lt;b&gt;" in strange and "<b>" not in strange and "<td>" in strange


def test_curves_begin_and_end_at_the_points():
    axes = topk.compare(FIXED, BANDIT, runs=5, budgets=[20, 60], seed=1).plot().axes[0]
    assert [line.get_label() for line in axes.lines] == list(FIXED)
    assert axes.lines[0].get_xdata().tolist() == [20, 60]


def test_any_mapping_is_taken_for_a_dict():
    instances = {"easy": BANDIT, "hard": topk.BernoulliBandit([0.6, 0.5, 0.5, 0.4])}
    found = [topk.compare(kind(FIXED), kind(instances), runs=3, seed=1).table()
             for kind in (dict, MappingProxyType)]
    assert found[0].equals(found[1]) and {*found[0].instance} == {*instances}
    answers = {"a": [0, 1], "b": [1, 1]}
    assert topk.ReplayBandit(MappingProxyType(answers)).names == ["a", "b"]
