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
from topk.live import files
from topk_eval.bets import SHARES, Bets
from topk_eval.gate import order_of
from topk_eval.rows import FRACTIONS

pytestmark = pytest.mark.filterwarnings("ignore:delta = .* is the probability of failure")

RARE = 1e-6  # probability with which a random test may fail for other seeds


def capital(differences, epsilon=0.0):
    """Return the capital after each difference, bet by bet."""
    capitals = np.ones(BETS.size)
    return [bet(capitals, (d - epsilon) / (1 + epsilon)) for d in differences]


def pool_capital(differences, items, edge=0.0):
    """Return the capital on a pool after each difference, factor by factor."""
    capitals, rest, path = np.ones(16), items * (1 + edge) / 2, []
    for i, y in enumerate((1 + d) / 2 for d in differences):
        ratio = y * (items - i) / rest if rest > 1e-9 else 0
        capitals, rest = capitals * (1 + FRACTIONS.ravel() * (ratio - 1)), rest - y
        path.append(capitals.mean())
    return path


def two(d):
    """Return results of champion and candidate with the differences d."""
    return (1 - np.asarray(d)) / 2, (1 + np.asarray(d)) / 2


def run_pool(trial, champion, candidate, size=1):
    """Run the items that the trial starts, a few at a time."""
    while trial.status == "open":
        items = trial.start(size)
        trial.tell([champion[i] for i in items], [candidate[i] for i in items], items=items)
    return trial


def few(count, runs, chance):
    """Return whether a count of events of at most this chance is credible."""
    return count <= binom.isf(RARE, runs, chance)


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
        assert math.isclose(trial.e_value, e) and trial.items == trial.started == item
        if e >= 1 / trial.level:
            break
    assert 20 < item < 400 and trial.status == "accepted"
    assert gate.champion == "new" and gate.trial is None
    assert math.isclose(gate.delta_left, 0.098)


def test_started_items_count_up_to_any_of_them_and_calls_at_their_end():
    rng = np.random.default_rng(1)
    results = rng.random((2, 90)) ** [[0.6], [1.0]]
    results[1, :12] = 1  # the capital is largest after the first items
    path, left = capital(results[1] - results[0]), set()
    for size, by_start in itertools.product((1, 7, 90), (True, False)):
        gate = topk_eval.Gate()
        trial = gate.offer("new")
        for start in range(0, 90, size):
            part = results[:, start : start + size]
            items = trial.start(part.shape[1]) if by_start else None
            trial.tell(*part, items=items)
        ends = path if by_start else [*path[size - 1 :: size], path[-1]]
        assert math.isclose(1 / trial.evidence, max(1, *ends)) and trial.status == "open"
        assert math.isclose(trial.gain, np.diff(results.mean(axis=1))[0])
        trial.abandon()
        left.add(round(gate.delta_left, 14))
    assert left == {round(0.05 - 0.001 * (1 - min(1, path[-1])), 14)}
    assert max(path) > 1.5 and gate.champion == "baseline"


def test_the_capital_is_the_same_however_results_are_cut_into_calls():
    """Capitals would vanish after the losses and overflow after the wins."""
    d = np.r_[-np.ones(30_000), np.ones(5_000)]
    left = []
    for size in (500, 30_000, 35_000):
        gate = topk_eval.Gate()
        trial = gate.offer("new")
        for part in np.split(d, range(size, d.size, size)):
            trial.tell(*two(part))
        left.append(trial.abandon()._state.log_e())
        assert 0.049 <= gate.delta_left < 0.05
    exact = max(math.log(w) + 30_000 * math.log1p(-x) + 5_000 * math.log1p(x)
                for x, w in zip(BETS, WEIGHTS, strict=True))  # of which the others are no part
    assert left == pytest.approx([exact] * 3, abs=1.0) and np.ptp(left) < 1e-9


def test_units_of_score_in_both_directions():
    rng = np.random.default_rng(2)
    results = rng.random((2, 30))
    for bounds, lower in itertools.product(((0, 1), (-10, 10)), (False, True)):
        width = bounds[1] - bounds[0]
        values = bounds[0] + width * (1 - results if lower else results)
        options = {"bounds": bounds, "lower_is_better": lower}
        gate = topk_eval.Gate(**options, epsilon=0.05 * width)
        trial = gate.offer("new").tell(*values)
        assert math.isclose(1 / trial.evidence,
                            max(1, capital(results[1] - results[0], 0.05)[-1]))
        assert math.isclose(trial.gain, width * np.diff(results.mean(axis=1))[0])
        gate = topk_eval.Gate(**options, smallest_gain=0.3 * width)
        same = gate.offer("new")
        while same.status == "open":
            same.tell(values[0, 0], values[0, 0])
        assert same.gain == 0 and same.items == next(
            t for t in itertools.count() if WEIGHTS @ (1 + 0.3 / 0.7 * BETS) ** t >= 10)
        trial = topk_eval.Gate(**options).offer("new", 30, values[0])
        items = trial.start(30)
        assert trial.tell(None, values[1, items], items=items).candidate_results == pytest.approx(
            values[1])


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
                    trial.tell(*two(d))
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


# Results in any order


def best_of(outcome, draws, most):
    """Return the largest P(accepted) - E(budget spent) of an adversary who sees every result.

    At each moment an item may be started, a result that is under way may arrive, or the trial may
    be abandoned.  ``outcome(path, calls)`` is whether items with these differences, told in these
    calls (numbers of items, a tuple), are accepted, and what is spent otherwise; ``draws(path)``
    are the differences of the next item with their probabilities.
    """
    known = {}

    def value(path, calls):
        if (path, calls) not in known:
            accepted, cost = outcome(path, calls)
            found = [1 - cost if accepted else -cost]
            if not accepted:
                found += [value(path, (*calls, x)) for x in range(len(path)) if x not in calls]
                if len(path) < most:
                    found.append(sum(p * value((*path, d), calls) for d, p in draws(path)))
            known[path, calls] = max(found)
        return known[path, calls]

    return value((), ())


def outcome_with(by_start, offer, budget=0.9):
    """Return the function ``outcome`` of `best_of` for trials of real gates."""
    def outcome(path, calls):
        gate = topk_eval.Gate(delta=budget, spend=0.7)
        trial = offer(gate, path)
        items = [trial.start(1)[0] for _ in path] if by_start else []
        for x in calls:
            if trial.status == "open":
                trial.tell(*two(path[x]), items=items[x] if by_start else None)
        if trial.status == "open":
            trial.abandon()
        return trial.status == "accepted", budget - gate.delta_left

    return outcome


def fair(path):
    """Return the differences of an item on which equal models have different results."""
    return (1, 0.5), (-1, 0.5)


def test_no_order_of_arrival_brings_more_than_delta():
    """Exact; told without `start` in the order of completion, the promise would be broken."""
    def fresh(gate, path):
        return gate.offer("new")

    assert best_of(outcome_with(True, fresh), fair, 4) <= 1e-12
    assert best_of(outcome_with(False, fresh), fair, 4) > 0.05


def test_no_order_of_arrival_brings_more_than_delta_in_a_pool(monkeypatch):
    """All orders of pools in which the candidate is not better, ties included."""
    for pool in ((1, 1, -1, -1), (1, -0.5, -0.5, 0)):
        def left(path, pool=pool):
            rest = [*pool]
            for d in path:
                rest.remove(d)
            return rest

        def draws(path, left=left):
            rest = left(path)
            return [(d, 1 / len(rest)) for d in rest]

        def offer(gate, path):
            with monkeypatch.context() as patch:
                patch.setattr(topk_eval.gate, "order_of", lambda names, source: np.arange(4))
                return gate.offer("new", items=4)

        assert best_of(outcome_with(True, offer), draws, 4) <= 1e-12


def slow(wrong, rng, factor):
    """Return an order of completion in which wrong answers take longer."""
    return np.argsort(rng.exponential(1, wrong.size) * np.where(wrong, factor, 1))


@pytest.mark.parametrize("window", [64, 320])
def test_equal_candidates_told_in_order_of_completion_pass_as_often_as_the_level_says(window):
    """Bad results arrive ten times as late; a false alarm has probability 1e-6.

    Counted in the order of completion nearly all would pass.
    """
    rng, accepted, arrived, level = np.random.default_rng(10), 0, 0, 0.02
    for _ in range(30):
        champion, candidate = rng.random((2, 320)) < 0.6
        trial = topk_eval.Gate(delta=0.2, spend=0.1).offer("new")
        order = np.concatenate([first + slow(~candidate[first : first + window], rng, 10)
                                for first in range(0, 320, window)])
        for number, part in enumerate(np.split(order, 80)):
            if trial.status == "open" and number * 4 % window == 0:
                trial.start(window)
            if trial.status == "open":
                trial.tell(champion[part], candidate[part], items=part)
        accepted += trial.status == "accepted"
        arrived += max(capital((candidate.astype(float) - champion)[order])) >= 1 / level
    assert few(accepted, 30, level) and arrived > 5


def test_a_call_sorted_by_score_passes_as_often_as_the_level_says():
    """Without `start` the order within a call does not matter; a false alarm has chance 1e-6."""
    rng, accepted, largest = np.random.default_rng(11), 0, 0
    for _ in range(200):
        champion, candidate = rng.random((2, 200)) < 0.6
        order = np.argsort(~candidate, kind="stable")
        trial = topk_eval.Gate().offer("new").tell(champion[order], candidate[order])
        accepted += trial.status == "accepted"
        d = candidate[order].astype(float) - champion[order]
        largest += max(capital(d)) >= 1000
    assert few(accepted, 200, 0.001) and largest == 200


def test_items_under_way_and_failed_count_as_the_worst_at_their_places():
    gate = topk_eval.Gate(smallest_gain=0.5)
    trial = gate.offer("new")
    items = trial.start(6)
    assert items == [*range(6)] == trial.in_flight() and trial.started == 6 and trial.items == 0
    trial.tell([0, np.nan, 0], [1, 1, 1], items=[3, 5, 1])  # d = 1 at 1 and 3, and 0 at 5
    assert trial.in_flight() == [0, 2, 4] and trial.items == 3
    assert math.isclose(trial.e_value, capital([-1, 1, -1, 1, -1, 0])[-1])
    trial.tell(0, 1, items=0)
    path = capital([1, 1, -1, 1, -1, 0])
    assert math.isclose(1 / trial.evidence, max(path)) and math.isclose(trial.e_value, path[-1])
    assert trial.gain == 0.75 and "2 under way" in repr(trial)
    trial.abandon()
    assert math.isclose(gate.delta_left, 0.05 - 0.001 * (1 - min(1, path[-1])))
    assert math.isclose(trial.e_value, path[-1])


def test_a_better_candidate_with_many_items_under_way_is_accepted_soon():
    """As soon as e(s) reaches the level for some s: the 50 under way cost 50 items, not 400."""
    rng, used = np.random.default_rng(12), []
    for _ in range(9):
        trial = topk_eval.Gate().offer("new")
        d = (rng.random(900) < 0.8) * 1.0 - (rng.random(900) < 0.6)
        trial.start(50)
        for at in range(850):
            trial.tell(*two(d[at]), items=at)
            if trial.status != "open":
                break
            trial.start(1)
        assert trial.started == at + 50
        assert max(capital(d[:at])) < 1000 <= max(capital(d[: at + 1]))
        used.append(trial.started)
    assert np.median(used) < 330


# Ends of trials


def test_a_futile_trial_ends_and_a_limited_one_too():
    gate = topk_eval.Gate(smallest_gain=0.1, most_items=30)
    trial = gate.offer("worse").tell(np.ones(30), np.zeros(30))
    assert trial.status == "abandoned" and trial.items == 30
    assert gate.offer("same").tell(np.ones(29), np.ones(29)).status == "open"
    assert gate.trial.tell([1, 1], [1, 1]).status == "abandoned" and len(gate.history()) == 2
    assert math.isclose(gate.delta_left, 0.05 - 0.001 * (1 - capital([-1] * 30)[-1]))


def test_no_more_than_the_most_items_are_started_and_the_trial_ends_with_the_last():
    for options in ({}, {"items": 40}):
        gate = topk_eval.Gate(most_items=30)
        trial = gate.offer("same", **options)
        first = trial.start(20)
        rest = trial.start(20)
        assert len(rest) == 10 and trial.start(1) == [] and len({*first, *rest}) == 30
        trial.tell(*two([0] * 10), items=rest)
        trial.tell(*two([0] * 19), items=first[1:])
        assert trial.status == "open" and trial.in_flight() == first[:1]
        assert trial.tell(0.5, 0.5, items=first[:1]).status == "abandoned"
    gate = topk_eval.Gate(most_items=2)
    trial = gate.offer("same")
    assert trial.start(["p", "q", "r"]) == ["p", "q"]
    trial.tell([1, 1], [1, 1], items=["p", "q"])
    assert gate.offer("other").start(["r"]) == ["r"]  # was not shown


def test_futility_takes_what_is_not_known_for_the_best():
    def against(d):
        return WEIGHTS @ np.prod(1 + np.multiply.outer(BETS, (0.3 - np.array(d)) / 0.7), axis=1)

    gate = topk_eval.Gate(smallest_gain=0.3)
    trial = gate.offer("new")
    items = trial.start(60)
    trial.tell(*two([0] * 8), items=items[:8])
    trial.tell([np.nan] * 30, [np.nan] * 30, items=items[30:])  # failed: no word against it
    trial.tell([np.nan] * 2, [0.75] * 2, items=items[8:10])  # at best better by .75
    assert trial.status == "open" and against([0] * 8) < 10 < against([0] * 8 + [-1] * 2)
    trial.tell(*two([-1] * 3), items=items[12:15])
    assert trial.status == "open" and against([0] * 8 + [0.75] * 2 + [1] * 2 + [-1] * 3) < 10
    trial.tell(*two([-1] * 2), items=items[10:12])  # the first 15 of 60 are enough
    assert trial.status == "abandoned" and trial.started == 60
    assert against([0] * 8 + [0.75] * 2 + [-1] * 5) >= 10


def test_a_candidate_with_the_smallest_gain_is_seldom_abandoned():
    """Good results arrive late or fail; looked at after each call."""
    rng, lost, arrived = np.random.default_rng(3), 0, 0
    for _ in range(60):
        trial = topk_eval.Gate(smallest_gain=0.1, delta=1e-6).offer("new")
        u = rng.random(300)
        champion, candidate = (u > 0.65).astype(float), (u < 0.45).astype(float)
        candidate[(rng.random(300) < 0.1) & (candidate == 1)] = np.nan
        trial.start(300)
        order = slow(candidate != 0, rng, 10)
        for part in np.split(order, 12):
            if trial.status == "open":
                trial.tell(champion[part], candidate[part], items=part)
        lost += trial.status == "abandoned"
        d = np.nan_to_num(candidate, nan=1) - champion
        arrived += max(capital(-d[order], -0.1)) >= 10
    assert few(lost, 60, 0.1) and arrived > 50


# These items


def test_the_capital_without_replacement():
    """Against the factors one by one; where the mean of the rest is 0, a result of 0 costs."""
    y, n, edge = np.array([1, 0.5, 0, 0.25]), 6, -1 / 6  # of which all are at most 2.5
    d = 2 * y - 1
    end, log_e = Bets(edge, n).after(d, 4)
    assert np.exp(log_e) == pytest.approx(pool_capital(d, n, edge))
    assert end.sum == 1.75 and math.isclose(end.log_e(), log_e[-1])
    kept, again = Bets(edge, n).after(d, 2)
    assert again.tolist() == log_e.tolist() and kept.count == 2
    assert kept.after(d[2:], 0)[1].tolist() == log_e[2:].tolist()
    lost = Bets(-0.5, 4).after(np.array([1.0, -1, -1]), 3)[0].logs
    assert lost == pytest.approx(np.log(4 * FRACTIONS + 1 - FRACTIONS).ravel()
                                 + 2 * np.log(1 - FRACTIONS).ravel())
    assert SHARES.sum() == 1


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
    champion, candidate, known, monkeypatch
):
    """All orders; at the level 0.6, each can be wrong by chance, and never by certainty."""
    accepted, orders = 0, [*itertools.permutations(range(5))]
    for order in orders:
        monkeypatch.setattr(topk_eval.gate, "order_of", lambda names, source, o=order: np.array(o))
        gate = topk_eval.Gate(delta=0.9, spend=0.6 / 0.9)
        rows = {"champion_results": champion} if known else {}
        trial = run_pool(gate.offer("new", items=5, **rows), champion, candidate)
        accepted += trial.status == "accepted"
        assert trial.items < 5 or trial.status == "abandoned"
        assert trial.candidate_results[[*order[: trial.items]]] == pytest.approx(
            np.array(candidate)[[*order[: trial.items]]])
    assert accepted <= 0.6 * len(orders)
    strict = topk_eval.Gate(delta=1e-6)
    assert run_pool(strict.offer("new", items=5), champion, candidate).status == "abandoned"


def test_a_better_candidate_passes_at_the_last_item_at_the_latest():
    champion, candidate = np.zeros(20), np.zeros(20)
    candidate[7] = 1
    for seed in range(5):
        trial = topk_eval.Gate(delta=1e-9, rng=seed).offer("new", items=20)
        assert run_pool(trial, champion, candidate, 3).status == "accepted"
        assert trial.evidence == 0
        tolerant = topk_eval.Gate(delta=1e-9, epsilon=0.05, rng=seed)
        trial = tolerant.offer("new", items=20)
        assert run_pool(trial, champion, candidate, 3).status == "abandoned"


def test_what_the_other_items_can_bring_is_bounded_by_known_results():
    """The champion is right on all but two items: two results end the trial."""
    champion = np.ones(50)
    champion[:2] = 0
    trial = topk_eval.Gate(rng=0).offer("new", 50, champion)
    items = trial.start(50)
    at = [items.index(0), items.index(1)]
    trial.tell(None, 1, items=items[at[0]])
    assert trial.status == "open"
    assert trial.tell(None, [0], items=[items[at[1]]]).status == "open"  # a better one is possible
    lost = next(x for x in items if x > 1)
    assert trial.tell(None, 0, items=lost).status == "abandoned" and trial.items == 3


def test_a_candidate_with_the_smallest_gain_on_these_items_is_seldom_abandoned():
    champion, candidate, lost = np.repeat([0, 1, 0], [14, 10, 16]), np.repeat([1, 0], [14, 26]), 0
    for seed in range(100):
        gate = topk_eval.Gate(smallest_gain=0.1, delta=1e-9, rng=seed)
        trial = run_pool(gate.offer("new", items=40), champion, candidate, 4)
        lost += trial.status == "abandoned"
    assert few(lost, 100, 0.1)


def test_a_trial_on_these_items_bets_in_the_order_of_the_gate_up_to_the_most_items():
    champion, candidate = np.tile([[0, 1, 0, 0.5], [1, 0, 0, 1]], 5)
    gate = topk_eval.Gate(smallest_gain=0.1, most_items=12, delta=1e-9, rng=3)
    trial = gate.offer("new", items=20)
    items = trial.start(12)
    d = (candidate - champion)[items]
    for x in np.random.default_rng(4).permutation(12).tolist()[:-1]:
        trial.tell(champion[items[x]], candidate[items[x]], items=items[x])
    [rest] = trial.in_flight()
    trial.tell(champion[rest], candidate[rest], items=rest)
    assert trial.items == 12 and trial.status == "abandoned"
    assert math.isclose(trial.e_value, pool_capital(d, 20)[-1])
    assert math.isclose(1 / trial.evidence, max(1, *pool_capital(d, 20)))
    fall = trial._state.fall.log_e()
    assert math.isclose(fall, math.log(pool_capital(-d, 20, -0.1)[-1]))


def test_the_champion_is_run_only_where_its_results_are_not_known():
    champion, candidate = np.random.default_rng(4).random((2, 40)) < [[0.5], [0.95]]
    known = np.where(np.arange(40) < 30, champion, np.nan)
    trial = topk_eval.Gate("old", rng=5).offer("new", items=40, champion_results=known)
    while trial.status == "open":
        for item in trial.start(3):
            if trial.status != "open":
                break
            if item < 30:
                with pytest.raises(ValueError, match=rf"champion .*known result.*\(item {item}"):
                    trial.tell(not champion[item], candidate[item], items=item)
                told = [None, float(champion[item]), [math.nan]][item % 3]
            else:
                with pytest.raises(ValueError, match=rf"champion must be given.*\(item {item}"):
                    trial.tell(None, candidate[item], items=item)
                told = champion[item]
            trial.tell(told, candidate[item], items=item)
    assert trial.status == "accepted" and 10 < trial.items < 40


def test_items_under_way_of_a_pool_count_as_the_worst():
    names = [f"q{i}" for i in range(12)]
    known = dict(zip(names, [0.5] * 6 + [math.nan] * 6, strict=True))
    gate = topk_eval.Gate("old", rng=6)
    trial = gate.offer("new", items=names, champion_results=known)
    items = trial.start(5)
    assert {*items} < {*names} and trial.start(3) != items[:3] and trial.started == 8
    trial.tell([0.5, 0], [1, 1], items=[items[0], items[3]])
    trial.abandon()
    shown = [*items, *trial.in_flight()[-3:]]
    d = [-0.5 if known[name] == 0.5 else -1 for name in shown]
    d[0], d[3] = 0.5, 1 - (0.5 if known[items[3]] == 0.5 else 0)
    e = pool_capital(d, 12)[-1]
    assert math.isclose(gate.delta_left, 0.05 - 0.001 * (1 - min(1, e)))


def test_the_order_of_a_pool_comes_from_the_seed_the_trial_and_the_names():
    names = ["q1", 2, "q3", *range(5, 30)]

    def started(seed, champion="a", candidate="b", items=names, before=0):
        gate = topk_eval.Gate(champion, rng=seed)
        for other in range(before):
            gate.offer(f"other {other}").abandon()
        return gate.offer(candidate, items).start(28)

    first = started(1)
    assert first == started(1) == started(1, items=names[::-1]) == started(np.int64(1))
    others = [started(2), started(1, "c"), started(1, candidate="c"), started(1, before=1),
              started(None), started(None)]
    assert all({*order} == {*names} for order in others)
    assert len({tuple(order) for order in [first, *others]}) == 7
    places = np.argsort([order_of([*range(8)], [seed]) for seed in range(800)])
    assert abs(places.mean(axis=0) - 3.5).max() < 5 * math.sqrt(63 / 12 / 800)


def test_a_candidate_that_was_tuned_to_the_order_shown_passes_as_often_as_the_level_says():
    """It is the champion but for 120 items, with the same sum; a false alarm has chance 1e-6."""
    accepted, tuned = 0, 0
    for seed in range(40):
        rng = np.random.default_rng(seed)
        champion = (rng.random(400) < 0.6).astype(float)
        gate = topk_eval.Gate("old")  # with the default seed
        order = gate.offer("same", 400, champion).start(200)
        gate.trial.abandon()
        late = [x for x in range(400) if x not in {*order} and champion[x]][:60]
        early = [x for x in order if not champion[x]][: len(late)]
        candidate = champion.copy()
        candidate[early], candidate[late] = 1, 0
        d = (candidate - champion)[[*order, *({*range(400)} - {*order})]]
        tuned += max(pool_capital(d, 400)) >= 1000
        accepted += run_pool(gate.offer("new", 400, champion), champion, candidate,
                             20).status == "accepted"
    assert few(accepted, 40, 0.001) and tuned == 40


# Names of items


def test_an_item_is_fresh_once():
    gate = topk_eval.Gate("old")
    trial = gate.offer("new")
    assert trial.start(2) == [0, 1] and trial.start(["p", 4]) == ["p", 4]
    assert trial.start(3) == [2, 3, 5]  # 4 has a name
    for name in (0, 4, "p"):
        with pytest.raises(ValueError, match=r"items .*shown before.*entry 1"):
            trial.start(["q", name])
    trial.abandon()
    trial = gate.offer("pool", ["q", "r", "p", 7, 8, 9], [1, 0] + [math.nan] * 4)  # p again
    shown = {"q", "r", *trial.start(2)}
    trial.abandon()
    trial = gate.offer("other")
    for name in shown:  # its results are known, the champion's at least
        with pytest.raises(ValueError, match=r"items .*shown before"):
            trial.start([name])
        with pytest.raises(ValueError, match=r"items .*shown before"):
            trial.tell(1, 1, items=[name])
    rest = [x for x in (7, 8, 9) if x not in shown]
    assert trial.start(rest) == rest
    free = [x for x in range(6, 20) if x not in {7, 8, 9}]
    assert trial.start(5) == free[:5]


def test_results_of_fresh_items_are_not_known_beforehand():
    """Items that were chosen by the champion's failures would be accepted 200 of 200 times."""
    gate = topk_eval.Gate("old")
    with pytest.raises(ValueError, match="champion_results must be omitted unless items"):
        gate.offer("new", champion_results=[0] * 60)
    trial = gate.offer("new")
    items = trial.start(60)
    with pytest.raises(ValueError, match="champion must be given, or known from champion_results"):
        trial.tell(None, [1] * 60, items=items)
    assert trial.items == 0


# Files


@pytest.mark.parametrize("pool", [False, True])
def test_a_gate_that_is_loaded_at_any_time_goes_on_exactly(pool, tmp_path):
    rng = np.random.default_rng(8)
    rows = {"a": rng.random(60), "b": rng.random(60) ** 0.5, "c": rng.random(60) ** 0.2}
    path = tmp_path / "gate.json"
    options = {"delta": 0.3, "rng": 9, "smallest_gain": 0.01}
    saved, apart = topk_eval.Gate("a", **options, path=path), topk_eval.Gate("a", **options)
    for name in ("b", "c", "b"):
        if name == saved.champion:
            continue
        given = {"items": 60} if pool else {}
        saved.offer(name, **given)
        other = apart.offer(name, **given)
        while other.status == "open" and other.items < 40:
            saved = topk_eval.Gate.load(path)
            items = saved.trial.start(5)
            assert items == other.start(5)
            saved = topk_eval.Gate.load(path)
            assert saved.trial.in_flight() == other.in_flight()
            for name in reversed(saved.trial.in_flight()[:4]):
                told = [rows[x][name % 60] for x in (other.champion, other.name)]
                if other.status == "open":
                    topk_eval.Gate.load(path).trial.tell(*told, items=name)
                    other.tell(*told, items=name)
        if other.status == "open":
            other.abandon()
            topk_eval.Gate.load(path).trial.abandon()
        saved = topk_eval.Gate.load(path)
        assert saved.trial is None and apart.trial is None
    assert saved.delta_left == apart.delta_left and saved.champion == apart.champion != "a"
    assert (saved.history().fillna(-1) == apart.history().fillna(-1)).all(axis=None)
    assert saved._seed == apart._seed == 9


def test_a_file_with_other_fields_is_refused_whatever_its_digest(tmp_path):
    """It is loaded or refused: no error of Python's own."""
    path = tmp_path / "gate.json"
    gate = topk_eval.Gate("a", delta=0.3, rng=9, path=path)
    gate.offer("b", items=20).start(5)
    whole = json.loads(path.read_text())
    fields = [key for key in whole["session"] if key not in ("digest", "revision")]
    assert {"champion", "parameters", "budget", "shown", "trial", "version", "seed"} <= {*fields}
    refused = 0
    for key, value in itertools.product(fields, (None, 7, True, "x", [1], {"no": 1}, [], {})):
        state = {x: y for x, y in whole["session"].items() if x != "digest"} | {key: value}
        if state[key] == whole["session"][key]:
            continue
        stored = whole | {"session": state | {"digest": files.digest(state)}}
        path.write_text(json.dumps(stored))
        try:
            topk_eval.Gate.load(path)
        except ValueError:
            refused += 1
    assert refused > 50


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
    for wrong in (text[:-20], text.replace("baseline", "champion"), "{}", "[]", "x",
                  text.replace('"version": 2', '"version": 3')):
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
    names = twice(lambda: trial.start(3 if items else ["p", "q"]))
    assert names == trial.in_flight() == gate._stored()["shown"]  # in this order
    twice(lambda: trial.tell([0, 1], [1, 1], items=names[:2]))
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
        trial = gate.offer("new", items=names, champion_results=given)
        trial.start(3)
        trial.tell(None, pandas.Series({"q": 0, "r": 0.25, "p": 1}))
        assert trial.candidate_results.tolist() == [1, 0, 0.25]
        assert trial.gain == pytest.approx((1 - 0.5 - 0.75) / 3)
    with pytest.raises(ValueError, match="^champion_results must be labelled as items is"):
        gate.offer("new", items=names, champion_results={"p": 1, "q": 1})
    with pytest.raises(ValueError, match="^champion_results must be in the order of items"):
        gate.offer("new", items=12, champion_results=dict.fromkeys(range(11, -1, -1), 1))
    trial = gate.offer("last")
    with pytest.raises(ValueError, match="^candidate must be labelled as items is"):
        trial.tell([1, 0], pandas.Series([1, 0], ["u", "w"]), items=["u", "v"])
    trial.tell([1, 0], pandas.Series([0, 1], ["v", "u"]), items=["u", "v"])
    assert trial.gain == 0 and [*gate._shown][3:] == ["u", "v"]
    trial.tell({0: 1, 1: 0}, {1: 0, 0: 1})  # a regression test: 0 and 1 were taken for places
    for again in ({0: 1, 1: 0}, pandas.Series([1, 0], pandas.Index([0, 1]))):
        with pytest.raises(ValueError, match="^items must be different items that .* got 0"):
            trial.tell(again, again)
    with pytest.raises(ValueError, match="^champion must be in the order of items"):
        trial.tell({0: 1, 1: 0}, [0, 1], items=[1, 0])
    trial.tell(pandas.Series([1, 0]), pandas.Series([1, 0]))
    assert [*gate._shown][3:] == ["u", "v", 0, 1] and trial.items == 6
    assert gate._numbered == 4  # 0 and 1 had names, 2 and 3 have been numbered


def test_the_largest_score_is_possible_whatever_the_bounds():
    gate = topk_eval.Gate(bounds=(-0.6, 1.2))  # -0.6 + (1.2 - -0.6) is less than 1.2
    assert gate.offer("new").tell(-0.6, 1.2).gain == pytest.approx(1.8)


# What is refused


def test_history_has_a_row_per_trial():
    gate = topk_eval.Gate("a", delta=0.2)
    gate.offer("b").tell(np.zeros(30), np.ones(30))
    run_pool(gate.offer("c", items=3), np.ones(3), np.zeros(3))
    frame = gate.history()
    assert frame.candidate.tolist() == ["b", "c"] and frame.champion.tolist() == ["a", "b"]
    assert frame.status.tolist() == ["accepted", "abandoned"] and frame.gain.tolist() == [1, -1]
    assert frame.pool.isna().tolist() == [True, False]
    assert frame.delta_left.iloc[-1] == gate.delta_left and "2 trials" in repr(gate)
    assert "2 trials" in gate._repr_html_() and "<td>abandoned</td>" in gate._repr_html_()
    empty = topk_eval.Gate().history()
    assert empty.empty
    assert empty.delta_left.dtype == frame.delta_left.dtype  # as after loading 1 for 1.0


@pytest.mark.parametrize(
    ("name", "arguments"),
    [
        ("champion", {"champion": None}), ("champion", {"champion": 1.5}), ("delta", {"delta": 1}),
        ("epsilon", {"epsilon": 1}), ("bounds", {"bounds": (1, 1)}), ("spend", {"spend": 0}),
        ("spend", {"spend": 1}), ("smallest_gain", {"smallest_gain": 0.1, "epsilon": 0.1}),
        ("most_items", {"most_items": 0}), ("lower_is_better", {"lower_is_better": 1}),
        ("rng", {"rng": "x"}),
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
        ("champion_results", {"champion_results": [1]}),
        ("champion_results", {"items": 2, "champion_results": [1]}),
        ("champion_results", {"items": 1, "champion_results": [2]}),
    ):  # fmt: skip
        with pytest.raises(ValueError, match=rf"\b{name}\b"):
            gate.offer(**{"candidate": "b"} | arguments)
    assert gate.trial is None and gate.delta_left == 0.05
    gate.offer("b")
    with pytest.raises(ValueError, match="candidate.*'b'"):
        gate.offer("c")


def test_old_ways_say_what_to_write_instead():
    gate = topk_eval.Gate("a")
    with pytest.raises(TypeError, match=r"Gate\(rng=seed\)"):
        gate.offer("b", items=5, rng=0)
    with pytest.raises(TypeError, match="unexpected keyword argument 'size'$"):
        gate.offer("b", size=0)
    trial = gate.offer("b", items=5)
    for name, instead in (("ask_cells", r"trial\.start\(m\)"), ("cells_in_flight", "in_flight"),
                          ("tell_cells", r"trial\.tell\(champion, candidate, items=items\)")):
        with pytest.raises(AttributeError, match=f"'{name}': use .*{instead}"):
            getattr(trial, name)
    with pytest.raises(AttributeError, match="'wrong'$"):
        _ = trial.wrong


def test_wrong_results_change_nothing():
    gate = topk_eval.Gate("a")
    trial = gate.offer("b").tell([1, 0], [0, 1], items=["p", "q"])
    before = gate._stored()
    for name, arguments in (
        ("champion", ([2], [1])), ("candidate", ([1], [-0.1])), ("candidate", ([1, 0], [1])),
        ("candidate", ([1], ["x"])), ("items", ([1, 0], [1, 0], ["r"])),
        ("items", ([1, 0], [1, 0], ["r", "r"])), ("items", ([1, 0], [1, 0], ["r", "p"])),
        ("items", ([1], [0], [0.5])), ("champion", ([[1]], [[0]])), ("champion", (None, [0])),
    ):  # fmt: skip
        with pytest.raises(ValueError, match=rf"\b{name}\b"):
            trial.tell(*arguments)
    with pytest.raises(ValueError, match="items must be told without start"):
        trial.start(1)
    assert gate._stored() == before
    trial.abandon()
    for act in (trial.abandon, lambda: trial.tell(1, 0), lambda: trial.start(1)):
        with pytest.raises(ValueError, match="ended"):
            act()


@pytest.mark.parametrize("pool", [False, True])
def test_wrong_items_change_nothing(pool):
    trial = topk_eval.Gate("a").offer("b", **({"items": ["p", "q", "r"]} if pool else {}))
    if pool:
        with pytest.raises(ValueError, match=r"items .*trial\.start\(m or names\) first"):
            trial.tell([1], [1], items=["p"])
    items = trial.start(2) if pool else trial.start(["p", "q"])
    trial.tell(1, 1, items=items[1])
    before = trial._gate._stored()
    for name, arguments in (
        ("items", ([1], [1], ["s"])), ("items", ([1], [1], items[1:])),
        ("items", ([1, 1], [1, 1], items[:1] * 2)), ("items", ([1], [1], [[0]])),
        ("items", ([1], [1], [True])), ("items", ([1], [1])), ("candidate", ([1], [3], items[:1])),
        ("items", ([1], [1], [({*"pqr"} - {*items}).pop()])),
    ):  # fmt: skip
        with pytest.raises(ValueError, match=rf"^{name}\b"):
            trial.tell(*arguments)
    for wrong in (0, 1.5, "p", None, [0.5], *([["r"]] if pool else [["p"], ["s", "s"], {"s"}])):
        with pytest.raises(ValueError, match="^items"):
            trial.start(wrong)
    assert trial._gate._stored() == before
    if not pool:
        with pytest.raises(ValueError, match="candidate_results"):
            _ = trial.candidate_results
