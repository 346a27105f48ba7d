"""Regression tests: values that hung, crashed, or raised errors without the argument's name."""

import math
import os

import numpy as np
import pytest

import topk
from topk import guarantees as g
from topk import lower_bounds as lb
from topk import store
from topk.simulate.algorithm_b import algorithm_b
from topk_book import experiments
from topk_book.replay import replay_phases

COINS, RNG = topk.BernoulliBandit([0.9, 0.1]), np.random.default_rng
REPLAY, SUMMARY = topk.ReplayBandit([[0, 1], [1]]), topk.replicate(
    topk.Uniform(1, 4), COINS, 2, seed=0, keep="summary")
WILD = {
    "sprt, endless": ("threshold", lambda: lb.sprt(0.25, 0.75, 1e300)),
    "sprt of two near means, endless": ("threshold", lambda: lb.sprt(0.5, 0.5 + 1e-9, 3.0)),
    "sprt_with_error, endless": ("error", lambda: lb.sprt_with_error(0.5, 0.5 + 1e-7, 1e-300)),
    "lemma 10, endless": ("horizon", lambda: lb.lemma_10_probability(2**53, 0.05)),
    "rewards, endless": ("count", lambda: COINS.rewards(0, 2**53, RNG(0))),
    "rewards, 2^63": ("count", lambda: REPLAY.rewards(0, 2**63, RNG(0))),
    "pairs, endless": ("n", lambda: lb.count_pairs(200, 90)),
    "pairs, no m": ("m", lambda: lb.count_pairs(6, None)),
    "arms, memory": ("n", lambda: topk.instances.two_group(2**53, 2)),
    "arms drawn, memory": ("n", lambda: topk.instances.unif01(2**53, 0)),
    "underflow": ("epsilon", lambda: g.optmai_pulls(12, 2, 5e-324, 0.1)),
    "underflow of a bound": ("epsilon", lambda: lb.group_log_ratio(1, 1, 10**400)),
    "arm -1": ("arm", lambda: COINS.sample(-1, 3, RNG(0))),
    "arm True": ("arm", lambda: topk.BetaBandit([1, 2], [1, 2]).sample(True, 3, RNG(0))),
    "arm 2": ("arm", lambda: topk.GaussianBandit([1, 2], 1.0).rewards(2, 3, RNG(0))),
    "count -1": ("count", lambda: REPLAY.sample(0, -1, RNG(0))),
    "no array": ("answers", lambda: topk.ReplayBandit(np.array(3))),
    "no strategy": ("strategy", lambda: algorithm_b(None, 6, 0.01, 10)),
    "no number of plays": ("plays", lambda: algorithm_b(topk.Uniform(2, 60), 6, 0.01, plays="x")),
    "no strategy of groups": ("strategy", lambda: experiments.group_plays(7, 6, 0.01, 4)),
    "no function": ("make", lambda: experiments.smallest_budget(3, 6, 2, 0.1)),
    "no strategy made": ("what make returns", lambda: experiments.smallest_budget(
        lambda budget: budget, 6, 2, 0.1)),
    "another k": ("make", lambda: experiments.smallest_budget(
        lambda budget: topk.Uniform(3, budget), 6, 2, 0.1)),
    "no number of arms": ("n", lambda: replay_phases(topk.SAR(1, 12), "3", [[1, 2, 0]])),
    "no members": ("members", lambda: lb.explore_m_means(4, 2, 0.1)),
    "members of text": ("members", lambda: lb.explore_m_optimal("ab", 2)),
    "quantiles of text": ("quantiles", lambda: SUMMARY.frame(["a"])),
    "no quantiles": ("quantiles", lambda: SUMMARY.frame(None)),
    "a gap in words": ("gap", lambda: g.ugape_ceiling("1", 0.5)),
    "a radius without end": ("radius", lambda: g.ugape_ceiling(1.0, math.inf)),
    "a date": ("gap", lambda: g.ugape_ceiling(np.datetime64(1, "s"), 0.5)),
    "pulls in bytes": ("pulls", lambda: lb.group_log_ratio(b"1", 1, 0.01)),
    "masked pulls": ("pulls", lambda: lb.group_log_ratio(np.ma.masked_array([1, 2], [0, 1]),
                                                         [1, 1], 0.01)),
    "endless pulls": ("pulls", lambda: lb.group_log_ratio(math.inf, 1, 0.01)),
    "a time for a number": ("sigma", lambda: topk.GaussianBandit([1, 2], np.timedelta64(1))),
    "a store without end": ("store", lambda: store.info("a" * 300)),
    "a store with NUL": ("store", lambda: topk.replicate(topk.Uniform(1, 4), COINS, 2, 0,
                                                         store="a\0b")),
}


@pytest.mark.parametrize("case", WILD)
def test_a_wild_value_is_refused_by_name(case):
    name, act = WILD[case]
    with pytest.raises(ValueError, match=rf"^([a-z]+ and )*{name}\b.* must be "):
        act()


def test_extreme_but_feasible_values_are_allowed():
    assert lb.lemma_10_probability(500, 0.05) < 0.25
    assert max(lb.sprt_with_error(0.5, 0.6, 1e-3).errors) <= 1e-3
    assert topk.LUCB1(1, 0.5, 1e-300).delta == 1e-300


@pytest.mark.filterwarnings("ignore:the matrix subclass")
def test_a_seed_that_crashes_numpy_is_refused():
    """`numpy.random.default_rng` of a matrix ends the process."""
    with pytest.raises(ValueError, match="^rng must be"):
        topk.instances.unif01(4, rng=np.asmatrix([[0.5, 1]]))


def test_bounds_of_recorded_rewards_do_not_change_with_the_callers_list():
    bounds = [0.0, 1.0]
    bandit = topk.ReplayBandit([[0, 1], [1]], bounds=bounds)
    bounds[1] = 100.0
    assert bandit.reward_range.width == 1.0


def test_a_store_in_the_home_folder_is_there(tmp_path, monkeypatch):
    """It was a folder named ~ in the present one."""
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv("USERPROFILE", str(tmp_path))
    assert store.folder_of("~/plays") == tmp_path / "plays"


@pytest.mark.parametrize("pid", [1, 4711])
def test_part_files_of_two_machines_differ_and_none_is_left_on_a_full_disk(
    tmp_path, monkeypatch, pid
):
    """Two containers may have equal pids; a disk may be full as a file is written or moved."""
    monkeypatch.setattr(os, "getpid", lambda: pid)
    parts = []
    real = os.replace
    monkeypatch.setattr(os, "replace", lambda a, b: (parts.append(a), real(a, b)))
    for _ in range(2):
        store.write_file(tmp_path / "0-1.npz", b"x")
    assert len({*parts}) == 2 and os.listdir(tmp_path) == ["0-1.npz"]

    def full(*_):
        raise OSError(28, "No space left on device")

    for where in ("fsync", "replace"):
        with monkeypatch.context() as patch:
            patch.setattr(os, where, full)
            with pytest.raises(OSError, match="No space"):
                store.write_file(tmp_path / "1-2.npz", b"x")
        assert os.listdir(tmp_path) == ["0-1.npz"]


def test_evidence_handles_underflow():
    with np.errstate(all="raise"):
        p = topk.confidence.evidence([10**6, 10**6], [990_000, 10_000], chosen=[0])
        topk.confidence.interval([10**6], [1e-200], 1e-12)
    assert p < 1e-300


def test_names_with_two_dollar_signs_are_drawn_as_they_are():
    pair = {"$5-$10": topk.SAR(1, 20), "$\\bad$": topk.Uniform(1, 20)}
    figure = topk.compare(pair, COINS, 2, 0).plot("misidentified")
    figure.canvas.draw()  # where a formula that is none was a ParseFatalException
