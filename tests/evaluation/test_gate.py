"""The gate: its budget, its two kinds of items, its files, and what it refuses."""

import itertools
import json
import math
import os

import numpy as np
import pandas
import pytest
from scipy.stats import binom

import topk
import topk_eval
from topk.confidence.paired import BETS, WEIGHTS, bet
from topk_eval.bets import gains_to, grown
from topk_eval.rows import FRACTIONS


def capital(differences, epsilon=0.0):
    """Return the capital after each difference, bet by bet."""
    capitals = np.ones(BETS.size)
    return [bet(capitals, (d - epsilon) / (1 + epsilon)) for d in differences]


class Order(np.random.Generator):
    """A generator whose permutations are a given one."""

    def __init__(self, order):
        super().__init__(np.random.PCG64(0))
        self.order = order

    def permutation(self, size):
        assert size == len(self.order)
        return np.array(self.order)


def run_pool(trial, champion, candidate, size=1):
    """Ask for all cells that the trial wants, a few at a time."""
    rows = {trial.champion: champion, trial.name: candidate}
    while trial.status == "open":
        models, items = trial.ask_cells(size)
        trial.tell_cells(models, items, [rows[a][i] for a, i in zip(models, items, strict=True)])
    return trial


# Fresh items


@pytest.mark.parametrize("epsilon", [0.0, 0.1])
def test_a_candidate_is_accepted_when_its_capital_reaches_the_level(epsilon):
    rng = np.random.default_rng(0)
    champion, candidate = rng.random((2, 400)) ** [[1.0], [0.4]]
    path = capital(candidate - champion, epsilon)
    gate = topk_eval.Gate("old", delta=0.1, epsilon=epsilon)
    trial = gate.offer("new")
    assert trial.level == 0.02 * 0.1 and math.isclose(gate.delta_left, 0.98 * 0.1)
    for item, e in enumerate(path, 1):
        trial.tell(champion[item - 1], candidate[item - 1])
        assert math.isclose(trial.evidence, min(1, 1 / max(path[:item])))
        assert trial.items == item
        if e >= 1 / trial.level:
            break
    assert 20 < item < 400 and trial.status == "accepted"
    assert gate.champion == "new" and gate.trial is None
    assert math.isclose(gate.delta_left, 0.098)


def test_the_size_of_batches_does_not_matter_until_the_level_is_reached():
    rng = np.random.default_rng(1)
    results = rng.random((2, 90))
    budgets = set()
    for size in (1, 7, 90):
        gate = topk_eval.Gate()
        trial = gate.offer("new")
        for start in range(0, 90, size):
            trial.tell(*results[:, start : start + size])
        assert trial.status == "open" and math.isclose(trial.gain, np.diff(results.mean(axis=1))[0])
        trial.abandon()
        budgets.add(round(gate.delta_left, 12))
    e = capital(results[1] - results[0])[-1]
    assert budgets == {round(0.05 - 0.001 * (1 - min(1, e)), 12)} and gate.champion == "baseline"


def test_units_of_score():
    rng = np.random.default_rng(2)
    results = rng.random((2, 30))
    for bounds, values in (((0, 1), results), ((-10, 10), 20 * results - 10)):
        gate = topk_eval.Gate(bounds=bounds, epsilon=0.05 * (bounds[1] - bounds[0]))
        trial = gate.offer("new").tell(*values)
        assert math.isclose(1 / trial.evidence, max(1, *capital(results[1] - results[0], 0.05)))
        assert math.isclose(trial.gain, np.diff(values.mean(axis=1))[0])
        gate = topk_eval.Gate(bounds=bounds, smallest_gain=0.3 * (bounds[1] - bounds[0]))
        worse = gate.offer("new")
        while worse.status == "open":
            worse.tell(values[0, 0], values[0, 0])
        assert worse.gain == 0 and worse.items == next(
            t for t in itertools.count() if WEIGHTS @ (1 + 0.3 * BETS) ** t >= 10)


def test_a_missing_result_counts_as_the_worst_for_the_candidate():
    gates = [topk_eval.Gate(), topk_eval.Gate()]
    one, other = (gate.offer("new") for gate in gates)
    one.tell([0.2, np.nan, 0.4], [np.nan, 0.8, 0.5])
    other.tell([0.2, 1, 0.4], [0, 0.8, 0.5])
    assert one.evidence == other.evidence and one.gain == other.gain


def test_every_way_to_abandon_costs_what_a_false_acceptance_may():
    """An equal candidate, items of +1 or -1, and whoever abandons has seen everything.

    The best way to abandon leaves P(accepted) at most the expected budget spent.  If the capital
    before the last item were used, it would not.
    """
    gates = {}

    def spent(path, forget):
        """Return whether the candidate is accepted, and the budget spent if it is abandoned."""
        if path not in gates:
            gate = topk_eval.Gate(delta=0.9, spend=0.9)
            trial = gate.offer("new")
            for d in path:
                if trial.status == "open":
                    trial.tell((1 - d) / 2, (1 + d) / 2)
            accepted = trial.status == "accepted"
            gates[path] = accepted, 0.9 - (gate if accepted else trial.abandon()._gate).delta_left
        if forget and path and not gates[path][0]:
            return False, spent(path[:-1], False)[1]
        return gates[path]

    def value(path, forget):
        """Return the largest P(accepted) - E(budget spent) from here on."""
        accepted, cost = spent(path, forget)
        if accepted:
            return 1 - cost
        if len(path) == 7:
            return -cost
        return max(-cost, sum(value((*path, d), forget) for d in (-1, 1)) / 2)

    assert value((), False) <= 1e-12 and value((), True) > 0.05


def test_a_futile_trial_ends_and_a_limited_one_too():
    gate = topk_eval.Gate(smallest_gain=0.1, most_items=30)
    trial = gate.offer("worse").tell(np.ones(30), np.zeros(30))
    assert trial.status == "abandoned" and trial.items == 30
    assert gate.offer("same").tell(np.ones(29), np.ones(29)).status == "open"
    assert gate.trial.tell(1, 1).status == "abandoned" and len(gate.history()) == 2
    assert math.isclose(gate.delta_left, 0.05 - 0.001 * (1 - capital([-1] * 30)[-1]))


def test_a_candidate_with_the_smallest_gain_is_seldom_abandoned():
    rng, lost = np.random.default_rng(3), 0
    for _ in range(200):
        trial = topk_eval.Gate(smallest_gain=0.1, delta=1e-6).offer("new")
        u = rng.random(300)
        for part in np.split(u, 20):
            if trial.status == "open":
                trial.tell((part > 0.65).astype(float), (part < 0.45).astype(float))
        lost += trial.status == "abandoned"
    assert lost <= binom.isf(1e-6, 200, 0.1)


# These items


def test_the_capital_without_replacement():
    """Against the factors one by one; where the mean of the rest is 0, a result of 0 costs."""
    y, n, total = np.array([1, 0.5, 0, 0.25]), 6, 2.5
    gains = gains_to(n, total, y, 0)
    for i, x in enumerate(y):
        mean = (total - y[:i].sum()) / (n - i)
        assert np.allclose(gains[i], FRACTIONS.ravel() * (x / mean - 1))
    assert np.allclose(gains_to(n, total, y, 2), gains[2:])
    assert np.allclose(gains_to(4, 1.0, np.array([1.0, 0.0, 0.0, 0.0]), 0)[2], -FRACTIONS.ravel())
    path, end = grown(np.ones(16), gains, np.full(16, 1 / 16))
    assert math.isclose(path[-1], end.mean()) and path.shape == (4,)


@pytest.mark.parametrize("known", [False, True])
@pytest.mark.parametrize(
    ("champion", "candidate"),
    [
        ([1, 0, 1, 0, 0.5], [0, 1, 0, 1, 0.5]),  # ties, also by grades in another order
        ([0.1, 0.2, 0.3, 0.4, 0.5], [0.5, 0.4, 0.3, 0.2, 0.1]),
        ([0, 0, 0, 0, 1], [1, 0, 0, 0, 0]),
        ([1, 1, 1, 0, 0], [1, 0, 1, 1, 0]),
        ([0.5, 0.5, 0.5, 0.5, 0.5], [1, 0.5, 0.5, 0, 0.4]),
    ],
)
def test_no_candidate_that_is_not_better_passes_more_often_than_its_level(
    champion, candidate, known
):
    """All orders; at the level 0.6, each can be wrong by chance, and never by certainty."""
    accepted, orders = 0, [*itertools.permutations(range(5))]
    for order in orders:
        gate = topk_eval.Gate(delta=0.9, spend=0.6 / 0.9)
        rows = {"champion_results": champion} if known else {}
        trial = run_pool(gate.offer("new", items=5, rng=Order(order), **rows), champion, candidate)
        accepted += trial.status == "accepted"
        assert trial.items < 5 or trial.status == "abandoned"
        assert np.array_equal(trial.candidate_results[trial._state.pool.order[: trial.items]],
                              np.array(candidate)[list(order)][: trial.items])
    assert accepted <= 0.6 * len(orders)
    strict = topk_eval.Gate(delta=1e-6)
    assert run_pool(strict.offer("new", items=5, rng=0), champion, candidate).status == "abandoned"


def test_a_better_candidate_passes_at_the_last_item_at_the_latest():
    champion, candidate = np.zeros(20), np.zeros(20)
    candidate[7] = 1
    for seed in range(5):
        trial = topk_eval.Gate(delta=1e-9).offer("new", items=20, rng=seed)
        assert run_pool(trial, champion, candidate, 3).status == "accepted"
        assert trial.evidence == 0
        tolerant = topk_eval.Gate(delta=1e-9, epsilon=0.05)
        trial = tolerant.offer("new", items=20, rng=seed)
        assert run_pool(trial, champion, candidate, 3).status == "abandoned"


def test_a_candidate_with_the_smallest_gain_on_these_items_is_seldom_abandoned():
    champion, candidate, lost = np.repeat([0, 1, 0], [14, 10, 16]), np.repeat([1, 0], [14, 26]), 0
    for seed in range(200):
        gate = topk_eval.Gate(smallest_gain=0.1, delta=1e-9)
        trial = run_pool(gate.offer("new", items=40, rng=seed), champion, candidate)
        lost += trial.status == "abandoned"
    assert lost <= binom.isf(1e-6, 200, 0.1)


def test_a_trial_on_these_items_bets_against_the_smallest_gain_up_to_the_most_items():
    champion, candidate = np.tile([[0, 1, 0, 0.5], [1, 0, 0, 1]], 5)
    gate = topk_eval.Gate(smallest_gain=0.1, most_items=12, delta=1e-9)
    trial = run_pool(gate.offer("new", items=20, rng=3), champion, candidate)
    assert trial.items == 12 and trial.status == "abandoned"
    y, capitals = (1 - (candidate - champion)[trial._state.pool.order[:12]]) / 2, 1.0
    for i, x in enumerate(y):
        mean = (20 * (1 - 0.1) / 2 - y[:i].sum()) / (20 - i)
        capitals = capitals * (1 + FRACTIONS.ravel() * (x / mean - 1))
    assert np.allclose(trial._state.fall, capitals)


def test_cells_of_the_champion_are_asked_only_if_they_are_not_known():
    champion, candidate = np.random.default_rng(4).random((2, 40)) < [[0.5], [0.95]]
    known = np.where(np.arange(40) < 30, champion, np.nan)
    trial = topk_eval.Gate("old").offer("new", items=40, champion_results=known, rng=5)
    asked = []
    while trial.status == "open":
        models, items = trial.ask_cells(3)
        assert not asked or len(models) <= 3
        asked += zip(models, items, strict=True)
        rows = {"old": champion, "new": candidate}
        trial.tell_cells(models, items, [rows[a][i] for a, i in zip(models, items, strict=True)])
    assert len({*asked}) == len(asked) and trial.status == "accepted"
    assert {i for a, i in asked if a == "old"} == {i for a, i in asked if a == "new" and i >= 30}


def test_results_in_any_order_and_cells_in_flight_count_as_the_worst():
    names = [f"q{i}" for i in range(12)]
    gate = topk_eval.Gate("old")
    trial = gate.offer("new", items=names, rng=6)
    models, items = trial.ask_cells(10)
    assert models == ["new", "old"] * 5 and {*items} <= {*names}
    trial.tell_cells(models[:1] + models[4:], items[:1] + items[4:], [1, 1, 0, 1, 0, 1, 0])
    assert trial.items == 0 and trial.cells_in_flight() == (models[1:4], items[1:4])
    trial.tell_cells(["old"], [items[0]], [0])
    assert trial.items == 1
    trial.abandon()
    d = np.array([1, -1, 1, 1, 1.0])  # the second item is in flight: candidate 0, champion 1
    e = grown(np.ones(16), gains_to(12, 6.0, (1 + d) / 2, 0), np.full(16, 1 / 16))[0][-1]
    assert math.isclose(gate.delta_left, 0.05 - 0.001 * (1 - min(1, e)))


def test_a_trial_that_is_over_waits_for_cells_in_flight():
    gate = topk_eval.Gate("old", smallest_gain=0.3)
    trial = gate.offer("new", items=100, rng=7)
    models, items = trial.ask_cells(60)
    told = {"new": 0, "old": 1}
    trial.tell_cells(models[:40], items[:40], [told[x] for x in models[:40]])
    assert trial.status == "open" and trial.ask_cells(5) == ([], [])
    trial.tell_cells(models[40:], items[40:], [told[x] for x in models[40:]])
    assert trial.status == "abandoned" and trial.items == 30


# Files


@pytest.mark.parametrize("pool", [False, True])
def test_a_gate_that_is_loaded_at_any_time_goes_on_exactly(pool, tmp_path):
    rng = np.random.default_rng(8)
    rows = {"a": rng.random(60), "b": rng.random(60) ** 0.5, "c": rng.random(60) ** 0.2}
    path = tmp_path / "gate.json"
    saved, apart = topk_eval.Gate("a", delta=0.3, path=path), topk_eval.Gate("a", delta=0.3)
    for name in ("b", "c", "b"):
        if name == saved.champion:
            continue
        options = {"items": 60, "rng": 9} if pool else {}
        saved.offer(name, **options)
        other = apart.offer(name, **options)
        while other.status == "open" and other.items < 40:
            saved = topk_eval.Gate.load(path)
            if pool:
                cells = saved.trial.ask_cells(5)
                assert cells == other.ask_cells(5)
                saved = topk_eval.Gate.load(path)
                assert saved.trial.cells_in_flight() == cells
                told = [*cells, [rows[a][i] for a, i in zip(*cells, strict=True)]]
                saved.trial.tell_cells(*told)
                other.tell_cells(*told)
            else:
                results = rng.random((2, 3)) ** [[1], [0.2]]
                saved.trial.tell(*results)
                other.tell(*results)
        if other.status == "open":
            other.abandon()
            topk_eval.Gate.load(path).trial.abandon()
        saved = topk_eval.Gate.load(path)
        assert saved.trial is None and apart.trial is None
    assert saved.delta_left == apart.delta_left and saved.champion == apart.champion != "a"
    assert (saved.history().fillna(-1) == apart.history().fillna(-1)).all(axis=None)


def test_items_are_remembered_in_the_file(tmp_path):
    gate = topk_eval.Gate(path=tmp_path / "gate.json")
    gate.offer("new").tell([1, 0], [0, 1], items=["p", 7])
    gate = topk_eval.Gate.load(tmp_path / "gate.json")
    with pytest.raises(ValueError, match="items"):
        gate.trial.tell(1, 1, items=7)
    gate.trial.abandon()
    with pytest.raises(ValueError, match="items"):
        gate.offer("other").tell(pandas.Series([1, 0], ["x", "p"]), [1, 1])


def test_files_that_are_no_gate(tmp_path):
    path = tmp_path / "gate.json"
    gate = topk_eval.Gate(path=path)
    with pytest.raises(ValueError, match="path.*Gate.load"):
        topk_eval.Gate(path=path)
    text = path.read_text()
    for wrong in (text[:-20], text.replace("baseline", "champion"), "{}", "[]", "x"):
        path.write_text(wrong)
        with pytest.raises(ValueError, match="path|version"):
            topk_eval.Gate.load(path)
    topk.LUCB1(1, 0.1, 0.1).start(3).save(tmp_path / "study.json")
    with pytest.raises(ValueError, match="path"):
        topk_eval.Gate.load(tmp_path / "study.json")
    with pytest.raises(ValueError, match="path"):
        gate.save(tmp_path / "study.json")
    gate.save(tmp_path / "study.json", overwrite=True)
    copy = topk_eval.Gate.load(tmp_path / "study.json")
    copy.offer("new")
    assert topk_eval.Gate.load(tmp_path / "study.json").trial.name == "new"
    assert json.loads((tmp_path / "study.json").read_text())["session"]["champion"] == "baseline"


def test_a_crash_while_saving_leaves_the_file_as_it_was(tmp_path, monkeypatch):
    gate = topk_eval.Gate(path=tmp_path / "gate.json")
    trial = gate.offer("new")

    def fail(*arguments):
        raise OSError(28, "No space left on device")

    with monkeypatch.context() as patch:
        patch.setattr(os, "replace", fail)
        with pytest.raises(OSError, match="space"):
            trial.tell(0, 1)
    assert topk_eval.Gate.load(tmp_path / "gate.json").trial.items == trial.items == 0
    trial.tell(0, 1)  # told again, it counts once
    assert topk_eval.Gate.load(tmp_path / "gate.json").trial.items == trial.items == 1
    assert [x.name for x in tmp_path.iterdir()] == ["gate.json"]


@pytest.mark.parametrize("error", [OSError, KeyboardInterrupt])
@pytest.mark.parametrize("items", [None, 3])
def test_a_change_that_is_not_saved_is_taken_back_and_can_be_made_again(
    items, error, tmp_path, monkeypatch
):
    gate = topk_eval.Gate(path=tmp_path / "gate.json", most_items=4)

    def fail(*arguments):
        raise error

    def twice(change):
        before = gate._stored()
        with monkeypatch.context() as patch:
            patch.setattr(os, "replace", fail)
            with pytest.raises(error):
                change()
        assert gate._stored() == before
        found = change()
        assert topk_eval.Gate.load(tmp_path / "gate.json")._stored() == gate._stored()
        return found

    trial = twice(lambda: gate.offer("new", items=items))
    if items is None:
        twice(lambda: trial.tell([0, 1], [1, 1], items=["p", "q"]))
        assert gate._stored()["told"] == ["p", "q"]  # in this order, whatever their hashes
    else:
        models, cells = twice(lambda: trial.ask_cells(3))
        assert (models, cells) == trial.cells_in_flight()
        twice(lambda: trial.tell_cells(models, cells, [1, 0, 1]))
    twice(trial.abandon)
    assert (trial.status, gate.trial, len(gate.history())) == ("abandoned", None, 1)
    trial = twice(lambda: gate.offer("other"))
    twice(lambda: trial.tell([1] * 4, [0] * 4))  # the last one: the trial ends
    assert (trial.status, len(gate.history())) == ("abandoned", 2)


def test_a_gate_stays_in_its_file_when_the_folder_changes(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    gate = topk_eval.Gate(path="gate.json")
    loaded = topk_eval.Gate.load("gate.json")
    (tmp_path / "other").mkdir()
    monkeypatch.chdir(tmp_path / "other")
    gate.offer("new")
    assert topk_eval.Gate.load(tmp_path / "gate.json").trial.name == "new"
    with pytest.raises(ValueError, match="revision"):
        loaded.offer("other")


def test_labels_of_results_are_joined():
    gate = topk_eval.Gate()
    names, known = ["p", "q", "r"], {"r": 1, "p": 0, "q": 0.5}
    for given in (known, pandas.Series(known)):
        trial = gate.offer("new", items=names, champion_results=given, rng=0)
        models, cells = trial.ask_cells(3)
        assert models == ["new"] * 3
        trial.tell_cells(models, cells, pandas.Series({"q": 0, "r": 0.25, "p": 1}))
        assert trial.candidate_results.tolist() == [1, 0, 0.25]
        assert trial.gain == pytest.approx((1 - 0.5 - 0.75) / 3)
    with pytest.raises(ValueError, match="^champion_results must be labelled as items is"):
        gate.offer("new", items=names, champion_results={"p": 1, "q": 1})
    with pytest.raises(ValueError, match="^champion_results must be in the order of items"):
        gate.offer("new", items=12, champion_results=dict.fromkeys(range(11, -1, -1), 1))
    trial = gate.offer("other", items=2)
    with pytest.raises(ValueError, match="^results must be labelled as models is"):
        trial.tell_cells(["other"] * 2, [0, 1], {"other": 1, "baseline": 1})
    trial.abandon()
    trial = gate.offer("last")
    with pytest.raises(ValueError, match="^candidate must be labelled as items is"):
        trial.tell([1, 0], pandas.Series([1, 0], ["p", "r"]), items=["p", "q"])
    trial.tell([1, 0], pandas.Series([0, 1], ["q", "p"]), items=["p", "q"])
    assert trial.gain == 0 and [*gate._told] == ["p", "q"]
    trial.tell({0: 1, 1: 0}, {1: 0, 0: 1})  # a regression test: 0 and 1 were taken for places
    for again in ({0: 1, 1: 0}, pandas.Series([1, 0], pandas.Index([0, 1]))):
        with pytest.raises(ValueError, match="^items must be different items that .* got 0"):
            trial.tell(again, again)
    with pytest.raises(ValueError, match="^champion must be in the order of items"):
        trial.tell({0: 1, 1: 0}, [0, 1], items=[1, 0])
    trial.tell(pandas.Series([1, 0]), pandas.Series([1, 0]))
    assert [*gate._told] == ["p", "q", 0, 1] and trial.items == 6


def test_the_largest_score_is_possible_whatever_the_bounds():
    gate = topk_eval.Gate(bounds=(-0.6, 1.2))  # -0.6 + (1.2 - -0.6) is less than 1.2
    assert gate.offer("new").tell(-0.6, 1.2).gain == pytest.approx(1.8)


# What is refused


def test_history_has_a_row_per_trial():
    gate = topk_eval.Gate("a", delta=0.2)
    gate.offer("b").tell(np.zeros(30), np.ones(30))
    run_pool(gate.offer("c", items=3, rng=0), np.ones(3), np.zeros(3))
    frame = gate.history()
    assert frame.candidate.tolist() == ["b", "c"] and frame.champion.tolist() == ["a", "b"]
    assert frame.status.tolist() == ["accepted", "abandoned"] and frame.gain.tolist() == [1, -1]
    assert frame.pool.isna().tolist() == [True, False]
    assert frame.delta_left.iloc[-1] == gate.delta_left and "2 trials" in repr(gate)
    empty = topk_eval.Gate().history()
    assert empty.empty
    assert empty.delta_left.dtype == frame.delta_left.dtype  # as after loading 1 for 1.0


@pytest.mark.parametrize(
    ("name", "arguments"),
    [
        ("champion", {"champion": None}), ("champion", {"champion": 1.5}), ("delta", {"delta": 1}),
        ("epsilon", {"epsilon": 1}), ("bounds", {"bounds": (1, 1)}), ("spend", {"spend": 0}),
        ("spend", {"spend": 1}), ("smallest_gain", {"smallest_gain": 0.1, "epsilon": 0.1}),
        ("most_items", {"most_items": 0}),
    ],
)  # fmt: skip
def test_wrong_parameters(name, arguments):
    with pytest.raises(ValueError, match=rf"\b{name}\b"):
        topk_eval.Gate(**arguments)


def test_wrong_offers():
    gate = topk_eval.Gate("a")
    for name, arguments in (
        ("candidate", {"candidate": "a"}), ("candidate", {"candidate": 2.5}),
        ("items", {"items": 0}), ("items", {"items": ["p", "p"]}), ("items", {"items": []}),
        ("champion_results", {"champion_results": [1]}), ("rng", {"rng": 1}),
        ("champion_results", {"items": 2, "champion_results": [1]}),
        ("champion_results", {"items": 1, "champion_results": [2]}),
        ("rng", {"items": 2, "rng": "x"}),
    ):  # fmt: skip
        with pytest.raises(ValueError, match=rf"\b{name}\b"):
            gate.offer(**{"candidate": "b"} | arguments)
    assert gate.trial is None and gate.delta_left == 0.05
    gate.offer("b")
    with pytest.raises(ValueError, match="candidate.*'b'"):
        gate.offer("c")


def test_wrong_results_change_nothing():
    gate = topk_eval.Gate("a")
    trial = gate.offer("b").tell([1, 0], [0, 1], items=["p", "q"])
    before = gate._stored()
    for name, arguments in (
        ("champion", ([2], [1])), ("candidate", ([1], [-0.1])), ("candidate", ([1, 0], [1])),
        ("candidate", ([1], ["x"])), ("items", ([1, 0], [1, 0], ["r"])),
        ("items", ([1, 0], [1, 0], ["r", "r"])), ("items", ([1, 0], [1, 0], ["r", "p"])),
        ("items", ([1], [0], [0.5])), ("champion", ([[1]], [[0]])),
    ):  # fmt: skip
        with pytest.raises(ValueError, match=rf"\b{name}\b"):
            trial.tell(*arguments)
    for act in (lambda: trial.ask_cells(1), lambda: trial.tell_cells(["b"], [1], [1])):
        with pytest.raises(ValueError, match="items"):
            act()
    assert gate._stored() == before
    trial.abandon()
    for act in (trial.abandon, lambda: trial.tell(1, 0)):
        with pytest.raises(ValueError, match="ended"):
            act()


def test_wrong_cells_change_nothing():
    trial = topk_eval.Gate("a").offer("b", items=["p", "q", "r"], rng=0)
    models, items = trial.ask_cells(4)
    before = trial._gate._stored()
    for name, arguments in (
        ("items", (["c"], items[:1], [1])), ("items", (["b"], ["s"], [1])),
        ("items", (["b"] * 2, items[:1] * 2, [1, 1])), ("results", (models, items, [1])),
        ("results", (["b"], items[:1], [3])), ("items", (["b"], [[0]], [1])),
        ("models", ([["b"]], items[:1], [1])), ("items", (["b"], [True], [1])),
        ("items", (["b"], [({*"pqr"} - {*items}).pop()], [1])),
    ):  # fmt: skip
        with pytest.raises(ValueError, match=rf"\b{name}\b"):
            trial.tell_cells(*arguments)
    with pytest.raises(ValueError, match="tell_cells"):
        trial.tell(1, 0)
    with pytest.raises(ValueError, match="size"):
        trial.ask_cells(0)
    assert trial._gate._stored() == before
    with pytest.raises(ValueError, match="candidate_results"):
        _ = topk_eval.Gate("a").offer("b").candidate_results


def test_weights_of_the_bets_sum_to_the_capital():
    trial = topk_eval.Gate().offer("b").tell(0, 1)
    assert math.isclose(trial.e_value, 1 + float(BETS @ WEIGHTS))
    assert math.isclose(trial.evidence, 1 / trial.e_value)
