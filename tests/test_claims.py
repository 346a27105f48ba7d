"""Verdicts follow from data; the statistics behind them against SciPy and by simulation."""

import dataclasses
import json
import subprocess
import sys

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from topk import claims

CLAIM = claims.Claim("zhou2014/figure-2e", "zhou2014", "Section 6.2, Figure 2(e)",
                     "Under SAR a worker receives up to 143 tasks.", "143")
FIELDS = {"kind", "id", "paper", "where", "statement", "published", "observed", "verdict", "note",
          "anchor"}


@pytest.fixture(autouse=True)
def full_scale(monkeypatch):
    monkeypatch.delenv("TOPK_PREVIEW", raising=False)


def bundle(display):
    return display._repr_mimebundle_()


@pytest.mark.parametrize("holds, word", [
    (True, "holds"), (False, "fails"), (None, "not comparable"),
    (np.bool_(True), "holds"), (np.bool_(False), "fails")])
def test_the_verdict_follows_from_the_truth_value(holds, word):
    verdict = CLAIM.judge(holds, "143 in every play", note="why")
    assert verdict.verdict == word
    assert bundle(verdict)[claims.MIME]["verdict"] == word


def test_a_verdict_cannot_be_typed():
    verdict = CLAIM.judge(False, "97")
    with pytest.raises(dataclasses.FrozenInstanceError):
        verdict.holds = True
    with pytest.raises(AttributeError):
        verdict.verdict = "holds"
    for typed in ("holds", "fails", 1, 0, 1.0, np.array([True])):
        with pytest.raises(ValueError, match="holds must be True, False or None"):
            CLAIM.judge(typed, "97")


def test_the_payload_is_the_contract_and_survives_json():
    verdict = CLAIM.judge(True, "143 (every play)", note="a note", anchor="fig-tasks")
    payload = json.loads(json.dumps(bundle(verdict)[claims.MIME]))
    assert set(payload) == FIELDS
    assert payload == {
        "kind": "claim", "id": "zhou2014/figure-2e", "paper": "zhou2014",
        "where": "Section 6.2, Figure 2(e)", "published": "143",
        "statement": "Under SAR a worker receives up to 143 tasks.",
        "observed": "143 (every play)", "verdict": "holds", "note": "a note", "anchor": "fig-tasks"}


def test_a_ledger_carries_its_verdicts_in_order():
    second = dataclasses.replace(CLAIM, id="zhou2014/figure-2f")
    ledger = claims.Ledger(claim.judge(True, "x") for claim in (second, CLAIM))
    payload = bundle(ledger)[claims.MIME]
    assert [entry["id"] for entry in payload] == ["zhou2014/figure-2f", "zhou2014/figure-2e"]
    assert all(set(entry) == FIELDS for entry in payload)
    assert len(ledger) == 2


def test_a_preview_judges_nothing_and_emits_nothing(monkeypatch):
    verdict = CLAIM.judge(True, "143")
    monkeypatch.setenv("TOPK_PREVIEW", "1")
    assert verdict.verdict == "not judged"
    for display in (verdict, claims.Ledger([verdict])):
        assert claims.MIME not in bundle(display)
        assert "not judged" in bundle(display)["text/html"]
        assert "holds" not in bundle(display)["text/html"]
    monkeypatch.setenv("TOPK_PREVIEW", "0")
    assert verdict.verdict == "holds"


def test_the_table_escapes_and_links():
    claim = claims.Claim("a/b.1", "p", "Table <1> & 2", 'K < 10 "most"', "<5")
    html = bundle(claim.judge(False, "6 > 5", note="<script>", anchor="fig-a"))["text/html"]
    assert "<script>" not in html
    assert "Table &lt;1&gt; &amp; 2" in html
    assert 'href="#fig-a"' in html
    assert 'id="claim-a-b-1"' in html
    assert "fails" in html
    assert 'href="#"' not in bundle(claim.judge(False, "6"))["text/html"]


@pytest.mark.parametrize("change, name", [
    ({"id": ""}, "id"), ({"id": "has space"}, "id"), ({"id": "/first"}, "id"),
    ({"paper": " "}, "paper"), ({"where": ""}, "where"), ({"statement": None}, "statement"),
    ({"published": 143}, "published")])
def test_an_incomplete_claim_is_refused(change, name):
    with pytest.raises(ValueError, match=f"^{name} must be "):
        dataclasses.replace(CLAIM, **change)


def test_an_incomplete_verdict_is_refused():
    with pytest.raises(ValueError, match="^observed must be a text that is not empty"):
        CLAIM.judge(True, "")
    with pytest.raises(ValueError, match="^note must be a text that is not empty"):
        CLAIM.judge(None, "nothing")
    with pytest.raises(ValueError, match="^verdicts must be "):
        claims.Ledger([])
    with pytest.raises(ValueError, match="^verdicts must be "):
        claims.Ledger(["holds"])
    with pytest.raises(ValueError, match="distinct claim ids"):
        claims.Ledger([CLAIM.judge(True, "a"), CLAIM.judge(False, "b")])


def test_mean_interval_is_students():
    values = np.random.default_rng(0).random((30, 4))
    found = claims.mean_interval(values, level=0.9)
    for point in range(4):
        column = values[:, point]
        expected = stats.ttest_1samp(column, 0).confidence_interval(0.9)
        assert found.low[point] == pytest.approx(expected.low)
        assert found.high[point] == pytest.approx(expected.high)
        assert found.estimate[point] == pytest.approx(column.mean())


def test_paired_difference_is_the_interval_of_differences():
    rng = np.random.default_rng(1)
    a, b = rng.random(40), rng.random(40)
    expected = stats.ttest_rel(a, b).confidence_interval(0.95)
    found = claims.paired_difference(a, b)
    assert (found.low, found.high) == (pytest.approx(expected.low), pytest.approx(expected.high))


@given(st.integers(1, 400).flatmap(lambda m: st.tuples(st.integers(0, m), st.just(m))),
       st.sampled_from([0.8, 0.95, 0.999]))
def test_proportion_interval_is_clopper_and_pearsons(counts, level):
    successes, trials = counts
    expected = stats.binomtest(successes, trials).proportion_ci(level, method="exact")
    found = claims.proportion_interval(successes, trials, level)
    assert found.low == pytest.approx(expected.low, rel=1e-9, abs=1e-12)
    assert found.high == pytest.approx(expected.high, rel=1e-9, abs=1e-12)
    assert 0 <= found.low <= found.estimate <= found.high <= 1


def test_proportion_interval_covers_at_every_success_probability():
    successes = np.arange(31)
    interval = claims.proportion_interval(successes, 30)
    for p in np.linspace(0.01, 0.99, 99):
        inside = (interval.low <= p) & (p <= interval.high)
        assert stats.binom.pmf(successes, 30, p)[inside].sum() >= 0.95


def test_compare_counts_points():
    noise = np.random.default_rng(2).normal(0, 0.01, size=(50, 6))
    a = np.array([0.1, 0.1, 0.1, 0.1, 0.5, 0.3]) + noise
    b = np.array([0.3, 0.3, 0.3, 0.3, 0.3, 0.3]) + noise[::-1]
    regret, precision = claims.compare(a, b), claims.compare(a, b, smaller_is_better=False)
    assert (regret.wins, regret.losses, regret.undecided, regret.points) == (4, 1, 1, 6)
    assert (precision.wins, precision.losses, precision.undecided) == (1, 4, 1)
    assert regret.most()
    assert not precision.most()
    assert not regret.every()
    assert not regret.never_worse()
    assert str(regret) == "better at 4, worse at 1, undecided at 1 of 6"


def test_compare_holds_one_against_several_rivals():
    a = np.array([[0.1], [0.11], [0.12]])
    rivals = np.array([[0.5, 0.6], [0.5, 0.7], [0.52, 0.6]])
    assert claims.compare(a, rivals) == (2, 0, 0)
    assert claims.compare(a, rivals).every()
    assert claims.compare(a[:, 0], rivals[:, 0]) == (1, 0, 0)


def test_equal_plays_are_undecided_and_do_not_make_a_majority():
    same = np.full((10, 4), 0.2)
    tally = claims.compare(same, same)
    assert tally == (0, 0, 4)
    assert not tally.most()
    assert tally.never_worse()
    assert not claims.Tally(2, 0, 2).most()
    assert claims.Tally(3, 0, 2).most()


def test_of_points_where_nothing_differs_about_one_in_twenty_is_decided():
    rng = np.random.default_rng(3)
    tally = claims.compare(rng.random((100, 4000)), rng.random((100, 4000)))
    share = (tally.wins + tally.losses) / tally.points
    assert abs(share - 0.05) < 0.015


@pytest.mark.parametrize("call, name", [
    (lambda: claims.mean_interval([0.1]), "the number of runs in values"),
    (lambda: claims.mean_interval(0.1), "values"),
    (lambda: claims.mean_interval([0.1, np.nan]), "values"),
    (lambda: claims.mean_interval(["a", "b"]), "values"),
    (lambda: claims.mean_interval([0.1, 0.2], level=1), "level"),
    (lambda: claims.mean_interval([0.1, 0.2], level="x"), "level"),
    (lambda: claims.paired_difference([0.1, 0.2], [0.1, 0.2, 0.3]), "b"),
    (lambda: claims.paired_difference(np.ones((2, 2)), np.ones((2, 3))), "b"),
    (lambda: claims.proportion_interval(1, 0), "trials"),
    (lambda: claims.proportion_interval(0.5, 2), "successes"),
    (lambda: claims.proportion_interval(3, 2), "successes"),
    (lambda: claims.proportion_interval(-1, 2), "successes")])
def test_bad_statistics_are_refused_by_name(call, name):
    with pytest.raises(ValueError, match=f"^{name} must be "):
        call()


def test_importing_the_library_draws_in_no_plotting():
    code = ("import sys, topk.claims, topk.plots, topk.metrics, topk.instances\n"
            "heavy = {'matplotlib', 'pandas', 'tqdm', 'seaborn'} & set(sys.modules)\n"
            "assert not heavy, heavy")
    subprocess.run([sys.executable, "-c", code], check=True)
