"""Seeds, numbers of pulls and numbers of jobs, in all accepted types."""

import inspect
import os
import warnings

import matplotlib.pyplot as plt
import numpy as np
import pytest

import topk
from topk import store
from topk.simulate import workers
from topk.simulate.algorithm_b import algorithm_b
from topk_book import experiments

plt.switch_backend("Agg")
BANDIT = topk.BernoulliBandit([0.2, 0.8, 0.5, 0.4])
FIXED, SURE = topk.SAR(2, 200), topk.LUCB1(2, 0.2, 0.1)
DRAWS = {  # what draws, and the name of its seed
    topk.run: "rng", topk.replicate: "seed", topk.compare: "seed", experiments.kth_arm: "rng",
    algorithm_b: "seed", experiments.smallest_budget: "seed",
    experiments.change_of_measure: "seed", experiments.group_plays: "seed",
}  # fmt: skip
CALLS = {
    topk.run: (FIXED, BANDIT), topk.replicate: (FIXED, BANDIT, 3),
    topk.compare: ({"a": FIXED}, BANDIT, 3), experiments.kth_arm: (BANDIT, 1, 0.5, 0.1),
    algorithm_b: (topk.Uniform(2, 60), 6, 0.05, 20),
    experiments.smallest_budget: (lambda budget: topk.Uniform(2, budget), 6, 2, 0.1),
    experiments.change_of_measure: (topk.Uniform(1, 60), [0.7, 0.3], [0.4, 0.6]),
    experiments.group_plays: (topk.Uniform(2, 60), 6, 0.05, 4),
}  # fmt: skip


def told(result):
    """Return what a result says, as text."""
    if hasattr(result, "frame"):
        return repr(result.frame().to_dict())
    return repr(tuple(result) if isinstance(result, tuple) else vars(result))


def called(function, *given, **options):
    if isinstance(function, type):
        return function(*given, **options)
    small = {"plays": 30} if function is experiments.smallest_budget else {}
    small |= {"runs": 50} if function is experiments.change_of_measure else {}
    result = function(*given, **small | options)
    return result


@pytest.mark.parametrize("function", DRAWS, ids=lambda f: f.__name__)
def test_a_fresh_seed_is_drawn_unless_one_is_given_and_repeats_the_result(function):
    """A regression test: seeds had fixed defaults, so that two calls gave the same run."""
    name, given = DRAWS[function], CALLS[function]
    assert inspect.signature(function).parameters[name].default is None
    one, other = called(function, *given), called(function, *given)
    assert one.seed != other.seed  # two of 2**63 are equal with probability 1e-19
    again = called(function, *given, **{name: one.seed})
    assert told(again) == told(one) and again.seed == one.seed


@pytest.mark.parametrize("function", DRAWS, ids=lambda f: f.__name__)
def test_generators_and_seed_sequences_are_taken_wherever_a_seed_is(function):
    name, given = DRAWS[function], CALLS[function]
    seven = 7, np.random.SeedSequence(7)
    whole, sequence = (called(function, *given, **{name: x}) for x in seven)
    assert told(whole) == told(sequence)
    spawned = [called(function, *given, **{name: np.random.SeedSequence(7).spawn(2)[1]})
               for _ in range(2)]
    assert told(spawned[0]) == told(spawned[1]) and spawned[0].seed != whole.seed
    rng = np.random.default_rng(3)
    first, second = (called(function, *given, **{name: rng}) for _ in range(2))
    same = called(function, *given, **{name: np.random.default_rng(3)})
    assert told(same) == told(first)
    assert function is experiments.kth_arm or first.seed == same.seed != second.seed
    for bad in (-1, 0.5, "a", True, [1], np.random.RandomState(0), np.float64(2)):
        with pytest.raises(ValueError, match=f"^{name} must be an integer of at least 0, a numpy"):
            called(function, *given, **{name: bad})


def test_a_summary_says_its_seed_as_well():
    found = topk.replicate(FIXED, BANDIT, 3, keep="summary")
    assert topk.replicate(FIXED, BANDIT, 3, found.seed, keep="summary") == found


def test_1e5_is_a_number_of_pulls():
    assert topk.SAR(2, 1e5) == topk.SAR(2, 100_000) and type(topk.SAR(2, 1e5).budget) is int
    assert topk.KLLUCB(2, 0, 0.1, budget=np.float64(2e3)).budget == 2000
    found = topk.compare({"a": FIXED}, BANDIT, 2, 0, budgets=[1e2, 2e2])
    assert found.points == (100, 200)
    some = topk.replicate(SURE, BANDIT, 2, 0, checkpoints=[1e2, 1e3], max_pulls=1e4)
    assert some.checkpoints == (100, 1000)
    for bad in (100.5, np.nan, np.inf, 1e300, "1e5", True):
        with pytest.raises(ValueError, match="^budget must be an integer from"):
            topk.SAR(2, bad).start(4)
    for bad in ([100.5], [np.nan], [np.inf], [1e300], [1e3, 1e2]):
        with pytest.raises(ValueError, match="^checkpoints"):
            topk.replicate(SURE, BANDIT, 2, 0, checkpoints=bad)


def test_minus_one_job_is_one_on_each_core(monkeypatch):
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count()
    assert 1 <= workers.check_jobs(-1) <= cores
    monkeypatch.setenv("TOPK_JOBS", "-1")
    assert workers.check_jobs(None) == workers.check_jobs(-1)
    for bad in (0, -2, 1.0, True, "-1"):
        with pytest.raises(ValueError, match="^jobs must be an integer of at least 1, -1 for all"):
            workers.check_jobs(bad)
    assert topk.replicate(FIXED, BANDIT, 5, 1, jobs=-1) == topk.replicate(FIXED, BANDIT, 5, 1)


def test_a_store_that_is_not_used_says_so_once(tmp_path, monkeypatch):
    """A regression test: runs of 8.5 s were discarded silently."""
    monkeypatch.setattr(store, "_warned", set())
    monkeypatch.setattr(store, "MIN_SECONDS", 0.0)

    def draw(rng):
        return topk.BernoulliBandit(rng.random(4))

    with pytest.warns(store.StoreWarning, match=r"^store= is not used: .*draw is not part"):
        topk.replicate(FIXED, draw, 3, 0, store=tmp_path)
    with pytest.warns(store.StoreWarning, match="^store= is useless without seed="):
        topk.replicate(FIXED, BANDIT, 3, store=tmp_path)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        topk.replicate(FIXED, draw, 3, 0, store=tmp_path)
        topk.compare({"a": FIXED}, BANDIT, 3, store=tmp_path)
        draw.version = "1"
        topk.replicate(FIXED, draw, 3, 0, store=tmp_path)
        store._warned.clear()
        topk.replicate(FIXED, BANDIT, 3)
        topk.replicate(FIXED, BANDIT, 3, store=False)
        monkeypatch.setenv("TOPK_STORE", str(tmp_path))
        topk.replicate(FIXED, lambda rng: draw(rng), 3, 0)
    monkeypatch.setenv("TOPK_STORE", "off")
    with pytest.warns(store.StoreWarning, match="^store= is useless without seed="):
        topk.compare({"a": FIXED}, BANDIT, 3, store=tmp_path)


SIZES = {5: topk.BernoulliBandit(np.linspace(0.1, 0.9, 5)), 9: topk.instances.uniform(9)}


def test_several_bandits_are_compared_in_one_frame_and_stored_point_by_point(tmp_path, monkeypatch):
    """A loop over n in user code agrees."""
    monkeypatch.setattr(store, "MIN_SECONDS", 0.0)
    both = {"SAR": FIXED, "LUCB1": SURE}
    found = topk.compare(both, SIZES, runs=4, seed=6, store=tmp_path)
    frame = found.frame(epsilon=0.1)
    assert list(frame.columns[:3]) == ["instance", "strategy", "pulls"] and list(found) == [5, 9]
    for n, bandit in SIZES.items():
        alone = topk.compare(both, bandit, runs=4, seed=6)
        rows = frame[frame["instance"] == n].drop(columns="instance").reset_index(drop=True)
        assert rows.equals(alone.frame(epsilon=0.1)) and found[n].seed == found.seed == 6
        table = found.table("pulls_used")
        own = table[table["instance"] == n].drop(columns="instance").reset_index(drop=True)
        assert own.equals(alone.table("pulls_used"))
    assert topk.store.info(tmp_path).studies == 4 and "Comparisons([5, 9]" in repr(found)
    played = []
    monkeypatch.setattr(topk.simulate.run, "_run_chunk", lambda *a: played.append(a))
    assert topk.compare(both, SIZES, 4, 6, store=tmp_path).frame(0.1).equals(frame) and not played


def test_several_bandits_are_all_checked_before_any_is_played(monkeypatch):
    monkeypatch.setattr(topk.simulate.compare, "replicate", None)  # would be a TypeError
    for bad in ({}, {"a": BANDIT, "b": topk.BernoulliBandit([0.1, 0.2])}, {"a": BANDIT, "b": 3}):
        with pytest.raises(ValueError, match="^(bandit|k) must be"):
            topk.compare({"a": FIXED}, bad, 2, 0)


@pytest.mark.parametrize("bandit, points", [
    (BANDIT, {}), (BANDIT, {"budgets": [50, 100]}), (SIZES, {}), (SIZES, {"budgets": [50, 100]}),
    ({"$a": BANDIT, "b$": BANDIT}, {}),
])
def test_plots_take_axes(bandit, points):
    found = topk.compare({"one": FIXED, "two": topk.Uniform(2, 90)}, bandit, 3, 0, **points)
    figure, (left, right) = plt.subplots(1, 2)
    before = plt.get_fignums()
    assert found.plot("misidentified", ax=right) is right and plt.get_fignums() == before
    assert right.get_legend() and not left.has_data() and right.has_data()
    alone = found.plot("misidentified")
    alone.canvas.draw()
    assert [x.get_text() for x in alone.axes[0].get_legend().get_texts()] == ["one", "two"]
    with pytest.raises(ValueError, match="^ax must be a matplotlib Axes"):
        found.plot(ax=figure)
    plt.close("all")
