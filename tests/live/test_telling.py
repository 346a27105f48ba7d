"""What is told: labels, refusals in the user's units, totals, batches, corrections."""

import itertools
import unicodedata
from decimal import Decimal
from fractions import Fraction

import numpy as np
import pandas as pd
import pytest

import topk
from topk._checks import LONGEST

KL = topk.KLLUCB(1, 0.1, 0.05)
NAMES = ["red", "green", "blue"]
RED = KL.start(NAMES)


def refusal(call, *arguments, **named):
    """Return the message of a refusal, which is short."""
    with pytest.raises(ValueError) as caught:
        call(*arguments, **named)
    assert len(str(caught.value)) <= LONGEST
    return str(caught.value)


# Labels


@pytest.mark.parametrize("orders", [*itertools.product(itertools.permutations(range(3)), repeat=2)])
def test_labelled_results_reach_their_arms_in_any_order(orders):
    sums = pd.Series({"red": 10, "green": 20, "blue": 90}).iloc[[*orders[0]]]
    counts = pd.Series({"red": 100, "green": 200, "blue": 300}).iloc[[*orders[1]]]
    for arms in (counts.index, NAMES, counts.index.tolist(), pd.Series(counts.index, counts.index)):
        session = KL.start(NAMES).observe(arms, sums=sums, counts=counts)
        assert session.pulls.tolist() == [100, 200, 300]
        assert session.means.tolist() == [0.1, 0.1, 0.3]
    told = KL.start(NAMES).observe(counts.index, sums=sums.to_dict(), counts=dict(counts))
    assert told.means.tolist() == [0.1, 0.1, 0.3]
    means = KL.start(NAMES).observe(NAMES, means=sums / counts, counts=counts)
    assert means.pulls.tolist() == [100, 200, 300]
    totals = KL.start(NAMES).observe_totals(counts.index, sums, counts)
    assert totals.means.tolist() == [0.1, 0.1, 0.3]


def test_labels_that_differ_are_refused():
    sums, counts = pd.Series({"red": 1, "blue": 1}), pd.Series({"red": 2, "green": 2})
    assert "labelled" in refusal(KL.start(NAMES).observe, counts.index, sums=sums, counts=counts)
    assert "labelled" in refusal(KL.start(NAMES).observe, ["red", "green"], [1, 1], squares=sums)
    plain = pd.Series([1, 0, 1], index=[2, 0, 1])
    assert "another order" in refusal(KL.start(3).observe, [0, 1, 2], plain)


@pytest.mark.parametrize("labelled", [dict, lambda x: pd.Series([*x.values()], [*x])])
def test_labels_from_0_to_n_are_arms_and_not_places(labelled):
    """A regression test: keys 0, 1, 2 were taken for the numbers of rows, whatever the arms."""
    sums = labelled({0: 1, 1: 2, 2: 3})
    told = KL.start(3).observe([0, 1, 2], sums=sums, counts=[10] * 3)
    assert told.means.tolist() == [0.1, 0.2, 0.3]
    assert "another order" in refusal(KL.start(3).observe, [2, 0, 1], sums=sums, counts=[10] * 3)
    rows = pd.Series([1, 2, 3])  # the index of a table says nothing about arms
    assert KL.start(3).observe([2, 0, 1], sums=rows, counts=[10] * 3).means.tolist() == [
        0.2, 0.3, 0.1]
    assert KL.start(["a", "b"]).observe(["b", "a"], {0: 1, 1: 0}).means.tolist() == [0, 1]


def test_a_dict_of_other_arms_is_refused():
    assert "or others" in refusal(KL.start(3).observe, [2, 0], {0: 1, 1: 0})


def test_a_text_in_a_dict_is_named_with_its_arm():
    told = refusal(KL.start(NAMES).observe, NAMES, {"red": 1, "blue": "x", "green": 0})
    assert told.endswith("got 'x' (entry 2, arm 'blue')")
    assert refusal(topk.BernoulliBandit, {"a": 0.5, "b": "x"}).endswith("got 'x' (entry 1)")


def test_masked_counts_and_arms_are_refused():
    """A regression test: what was hidden by a mask was counted."""
    hidden = np.ma.array([1, 2], mask=[False, True])
    pulls = KL.start(3)
    pulls.ask(6)
    for name, call in {
        "counts": lambda x: KL.start(3).observe([0, 1], sums=[0, 0], counts=x), "arms": lambda x:
        KL.start(3).observe(x, [0, 0]),
        "pulls": lambda x: topk.confidence.interval(x, [1, 1], 0.1),
        "selected": lambda x: topk.metrics.precision(x, [0.1, 0.2, 0.3]),
    }.items():
        assert refusal(call, hidden).startswith(f"{name} must be")
        if name != "arms":
            assert refusal(call, hidden.astype(float)).startswith(f"{name} must be")
        call(np.ma.array([1, 2]))
    assert refusal(pulls.lost, [0, 1], hidden).startswith("counts must be")


def test_the_first_count_that_is_no_integer_is_named():
    for bad in (2.5, np.nan, np.inf):
        told = refusal(KL.start(3).observe, [0, 1], sums=[0, 0], counts=[1e3, bad])
        assert told.endswith(f"got {bad} (entry 1, arm 1)")


def test_dicts_keys_and_columns_of_all_kinds():
    told = {"red": 1, "green": 0, "blue": 1}
    for arms in (told, told.keys(), (x for x in NAMES), np.array(NAMES), pd.Index(NAMES)):
        assert KL.start(arms).names == NAMES
    assert KL.start(NAMES).observe(told.keys(), told.values()).pulls.sum() == 3
    table = pd.DataFrame({x: {"n": 10, "sold": 3, "note": "x"} for x in NAMES}).T  # objects
    session = KL.start(NAMES).observe(table.index, sums=table["sold"], counts=table["n"])
    assert session.pulls.sum() == 30
    for values in ([Decimal(1), Fraction(1, 2), True], [np.float32(1), np.int8(0), 1],
                   pd.Series([1, 0, 1], NAMES, dtype="Int64"), pd.array([1.0, 0.0, 1.0])):
        assert KL.start(NAMES).observe(NAMES, values).pulls.sum() == 3
    for values in (pytest.importorskip("polars").Series([1, 0, 1]),
                   pytest.importorskip("pyarrow").array([1, 0, 1])):
        assert KL.start(NAMES).observe(NAMES, values, counts=[Decimal(1)] * 3).pulls.sum() == 3


@pytest.mark.parametrize("order", [*itertools.permutations(range(3))])
def test_lost_pulls_are_joined_by_their_labels(order):
    session = KL.start(NAMES)
    session.ask(12)
    flying = pd.Series(session.in_flight, NAMES).iloc[[*order]]
    assert not session.lost(NAMES, flying).in_flight.any()


@pytest.mark.parametrize("order", [*itertools.permutations(range(3))])
def test_functions_of_two_columns_join_their_labels(order):
    a, b = pd.Series([1, 2, 9], NAMES), pd.Series([10, 20, 30], NAMES)
    other, stats, confidence = b.iloc[[*order]], topk.stats, topk.confidence
    for call in (lambda x: confidence.interval(x, a, 0.1)[0],
                 lambda x: confidence.evidence(x, a, [NAMES[2]]),
                 lambda x: stats.proportion_interval(a, x).estimate,
                 lambda x: stats.paired_difference(a, x).low):
        one, same = call(b), call(other)
        if np.ndim(one):
            one, same = np.sort(one), np.sort(same)  # in the order of the first column
        assert np.allclose(one, same)
    for x in (a[:2], pd.concat([a, a])):
        assert "labelled" in refusal(confidence.interval, b, x, 0.1)
        assert "labelled" in refusal(stats.proportion_interval, x, b)


# Refusals


def test_a_bulk_of_results_names_the_row_and_what_was_given():
    names = [f"page {i}" for i in range(40)]
    session, before = KL.start(names), KL.start(names).pulls
    sums, counts = [30] * 40, [1000] * 40
    sums[17] = 1030
    message = refusal(session.observe, names, sums=sums, counts=counts)
    assert "sums" in message and "1030 of 1000" in message and "entry 17, arm 'page 17'" in message
    arms = [names[i % 40] for i in range(8000)]
    for bad in (None, "x", 7, float("nan"), pd.NA):
        rewards = [True] * 8000
        rewards[5000] = bad
        message = refusal(session.observe, arms, rewards)
        assert message.startswith("rewards must be") and "entry 5000, arm 'page 0'" in message
    counts[3] = 2.5
    assert "entry 3" in refusal(session.observe, names, sums=[1] * 40, counts=counts)
    assert (session.pulls == before).all()


def test_refusals_are_in_the_units_and_names_of_the_call():
    session = topk.BettingLUCB(1, 0.5, 0.05).start(["a", "b"], bounds=(0, 10))
    message = refusal(session.observe, ["a"], sums=[60], counts=[10], squares=[300])
    assert message.startswith("squares must be from 360 to 600") and "got 300.0" in message
    message = refusal(session.observe, ["a"], means=[32.0], counts=[1024])
    assert message.startswith("means must be") and "got 32.0" in message and "sums" not in message


def test_an_unknown_name_is_told_from_its_neighbour():
    session = KL.start(["caf\u00e9", "bar"])
    decomposed = unicodedata.normalize("NFD", "caf\u00e9")
    assert "Unicode" in refusal(session.observe, [decomposed], [1])
    assert "blanks" in refusal(session.observe, ["bar "], [1])
    assert "with_arms" in refusal(session.observe, ["new page"], [1])
    assert "text" in refusal(KL.start([0, 1]).observe, ["0"], [1])
    assert "number" in refusal(KL.start(["0", "1"]).observe, [0], [1])


@pytest.mark.parametrize("names", [[2**63, 2**63 + 1, 5], [2**63 + 1, 2**53 + 1, -1]])
def test_integers_beyond_those_of_numpy_stay_names(names):
    """A regression test: numpy rounded them to floats, and results went to another arm."""
    session = topk.LUCB1(1, 0.1, 0.1).start(names)
    arms, _ = session.ask()
    assert arms.tolist() == names and session.tell(arms, [1, 0, 1]).means.tolist() == [1, 0, 1]
    assert session.report()["name"].tolist()[-1] == names[1]
    assert topk.resume(session.state()).ask()[0].tolist() == session.ask()[0].tolist()
    assert "entry 0" in refusal(session.observe, [float(names[1])], [1])  # of another arm, perhaps


def test_names_of_arms_are_refused_by_their_parameter():
    for arms in ({"a", "b"}, ["red"], ["a", None], ["a", 1], ["a\0", "a"], ["a", "b", "a"]):
        assert refusal(KL.start, arms).startswith("arms must be")


def test_a_total_beyond_all_counts_is_refused_and_changes_nothing():
    session = topk.KLLUCB(1, 0, 0.1).start(1100)
    before = session.state()
    arms = np.arange(1100)
    message = refusal(session.observe, arms, counts=[2**53] * 1100, sums=[2.0**52] * 1100)
    assert message.startswith("counts must be at most")
    assert session.state() == before


# Totals, batches, corrections


def test_cumulative_totals():
    session = topk.KLLUCB(1, 0.01, 0.05).start(["a", "b"])
    session.observe_totals(["a", "b"], [12, 15], [400, 410])
    session.observe_totals(["a", "b"], [12, 15], [400, 410])  # the same file again
    assert session.pulls.tolist() == [400, 410]
    message = refusal(session.observe_totals, ["a", "b"], [20, 40], [420, 430])
    assert "got 40, which is 25 for 20 more" in message and "entry 1, arm 'b'" in message
    message = refusal(session.observe_totals, ["a", "b"], [12, 15], [399, 411])
    assert message.startswith("counts") and "399" in message and "entry 0, arm 'a'" in message
    assert "different" in refusal(session.observe_totals, ["a", "a"], [12, 12], [400, 400])
    assert session.pulls.tolist() == [400, 410]
    session.observe(["a"], sums=[1], counts=[10])
    session = topk.resume(session.state()).observe_totals(["a"], [14], [411])
    assert session.pulls.tolist() == [411, 410] and session.means[0] == 14 / 411


@pytest.mark.parametrize("bounds", [(0, 1), (-3, 7.5), (1e6, 1e6 + 1)])
def test_totals_add_up_whatever_was_told_before(bounds):
    rng = np.random.default_rng(1)
    low, width = bounds[0], bounds[1] - bounds[0]
    for _ in range(20):
        session = topk.BettingLUCB(1, 0.2, 0.1).start(2, bounds=bounds)
        rewards = low + width * rng.random(30)
        session.observe([0] * 10, rewards[:10])
        for stop in (20, 20, 30):
            told = rewards[:stop]
            session.observe_totals([0], [told.sum()], [stop], squares=[(told * told).sum()])
        assert session.pulls[0] == 30
        assert session.means[0] == pytest.approx(rewards.mean(), rel=1e-12)


def test_totals_with_squares_go_on_from_results_without():
    """A regression test: squares of earlier rewards were taken for those of the new ones."""
    session = topk.TopTwo(1, 0.1, 0.1).start(["a", "b"], sigma=1)
    session.observe(["a", "b"], sums=[5000, 100], counts=[1000, 1000])  # squares are not known
    session.observe_totals(["a", "b"], [5010, 101], [1002, 1002], squares=[26_051, 1000])
    assert session.stopped != "sigma"
    session.observe_totals(["a", "b"], [5020, 102], [1004, 1004], squares=[26_101, 1001])
    assert session.stopped != "sigma"
    session = topk.KLLUCB(1, 0.1, 0.1).start(["a", "b"])
    session.observe(["a", "b"], sums=[10, 10], counts=[30, 30])  # taken for zeros and ones
    session.observe_totals(["a", "b"], [11, 11], [32, 32], squares=[6, 6])
    assert session.pulls.tolist() == [32, 32] and (session.report(True)["squares"] > 6).all()
    betting = topk.BettingLUCB(1, 1, 0.1).start(["a", "b"], bounds=(-5, 10))
    betting.observe(["a", "b"], sums=[90, 10], counts=[30, 30], squares=[800, 100])
    for corrected, squares in ((session, 6.5), (betting, 101)):
        corrected.correct("a", sums=5, counts=20)
        corrected.observe_totals(["a", "b"], [6, 12], [22, 34], squares=[2, squares])
        assert corrected.pulls.tolist() == [22, 34]


def test_a_batch_is_told_once():
    session = KL.start(NAMES)
    for _ in range(2):
        session.observe(NAMES, [1, 0, 1], batch="2026-11-26")
        session = topk.resume(session.state())
    assert session.pulls.sum() == 3
    assert "other results" in refusal(session.observe, NAMES, [1, 1, 1], batch="2026-11-26")
    for name in ("", True, 1.0, ["x"]):
        assert refusal(session.observe, NAMES, [1, 0, 1], batch=name).startswith("batch must")
    session.observe(NAMES, [1, 0, 1], batch=1).observe(NAMES, [1, 1, 1], batch="1")
    session.observe(NAMES, [1, 0, 1], batch=np.int64(1))  # as in a column
    assert session.pulls.sum() == 9


def test_a_correction_ends_the_study_and_keeps_both_totals():
    session = topk.KLLUCB(1, 0.3, 0.1).start(["a", "b"], bounds=(0, 10))
    session.observe(["a", "b"], sums=[900, 100], counts=[100, 100])
    assert session.certified
    session.correct("a", sums=40, counts=80)
    for one in (session, topk.resume(session.state())):
        assert (one.done, one.certified, one.stopped) == (True, False, "corrected")
        assert one.evidence() == 1.0 and one.pulls.tolist() == [80, 100]
        assert one.means.tolist() == [0.5, 1.0] and one.selected.tolist() == ["b"]
        assert one.corrections == [("a", 100, 900.0, 80, 40.0)]
        assert "'a' from 900 of 100 to 40 of 80" in one.summary()
        one.observe(["a"], [10])
        assert one.pulls.tolist() == [81, 100] and not one.certified
    table = session.report()
    assert (table.low == 0).all() and (table.high == 10).all() and not table.attrs["certified"]
    assert refusal(session.correct, "a", sums=900, counts=80).startswith("sums")
    assert refusal(session.correct, "c", sums=9, counts=80).startswith("arm must be ")


# What the report says


def test_no_arm_looks_decided_while_there_is_no_set():
    names = [f"v{i}" for i in range(12)]
    session = topk.KLLUCB(2, 0.01, 0.05).start(names)
    told = [name for name in names if name != "v7"]
    session.observe(told, sums=[30 + i for i in range(11)], counts=[1000] * 11)
    table = session.report(full=True)
    assert (table.undecided_with == 11).all() and not table.chosen.any()
    assert all(len(x) == 11 for x in table.rivals)
    assert "none yet: 'v7' has no pull" in session.summary()
    assert "have no pull" in topk.KLLUCB(2, 0.01, 0.05).start(names).summary()


@pytest.mark.parametrize("strategy", [topk.KLLUCB(1, 0.3, 0.1), topk.TopTwo(1, 0.3, 0.1)],
                         ids=["intervals", "pairs"])
def test_results_that_contradict_a_certificate_are_named(strategy):
    session = strategy.start(["a", "b"])
    session.observe(["a", "b"], sums=[90, 10], counts=[100, 100])
    session.observe(["a", "b"], sums=[0, 2000], counts=[2000, 2000])
    assert "contradicted by the 4,000 result(s)" in session.summary()
    assert "'b' is above 'a' by at least 0.8" in session.summary()
    assert "less information" not in session.summary()


@pytest.mark.parametrize("method", ["pairs", "sides", "intervals"])
@pytest.mark.parametrize("strategy", [topk.KLLUCB(1, 0.005, 0.05), topk.TopTwo(1, 0.005, 0.05)],
                         ids=["KLLUCB", "TopTwo"])
def test_the_form_of_evidence_is_chosen_at_the_start(strategy, method):
    names, sums, counts = ["gate_30", "gate_40"], [8502, 8279], [44700, 45489]
    session = strategy.start(names, method=method).observe(names, sums=sums, counts=counts)
    expected = topk.confidence.evidence(counts, sums, [0], 0.005, method=method)
    for one in (session, topk.resume(session.state())):
        if method == "pairs":  # results that were told ahead of the rule cost a factor
            assert expected <= one.evidence() <= 4 * expected
        else:
            assert one.evidence() == pytest.approx(expected, rel=1e-9)
    assert refusal(strategy.start, names, method="best").startswith("method must be")
