"""Claims and numbered results: verdicts, displayed text, and data for the build."""

import dataclasses
import json

import numpy as np
import pytest

from book import records, tables
from topk_book import claims, verdicts

CLAIM = claims.Claim("zhou2014/figure-2e", "zhou2014", "Section 6.2, Figure 2(e)",
                     "Under SAR a worker receives up to 143 tasks.", "143")
FIELDS = {"type", "id", "paper", "where", "statement", "published", "observed", "verdict", "note",
          "anchor", "why", "judged", "vague", "readings"}


@pytest.fixture(autouse=True)
def full_scale(monkeypatch):
    monkeypatch.delenv("TOPK_PREVIEW", raising=False)


def bundle(display):
    return display._repr_mimebundle_()


@pytest.mark.parametrize("holds, word", [
    (True, "holds"), (False, "fails"),
    (np.bool_(True), "holds"), (np.bool_(False), "fails")])
def test_the_verdict_follows_from_the_truth_value(holds, word):
    verdict = CLAIM.judge(holds, "143 in every run", note="why")
    assert verdict.verdict == bundle(verdict)[claims.MIME]["verdict"] == word


def test_a_verdict_cannot_be_typed():
    verdict = CLAIM.judge(False, "97")
    with pytest.raises(dataclasses.FrozenInstanceError):
        verdict.outcome = "holds"
    with pytest.raises(AttributeError):
        verdict.verdict = "holds"
    for typed in ("holds", "fails", 1, 0, 1.0, None, np.array([True])):
        with pytest.raises(ValueError, match="^readings must be True or False"):
            CLAIM.judge(typed, "97")


def test_a_judgement_brings_its_words():
    run = np.arange(100)[:, np.newaxis]
    points = verdicts.paired(run >= 95, run < 12)
    verdict = CLAIM.judge(points, "12 against 5", note="Ours.")
    said = verdicts.judge(CLAIM.statement, points).text
    assert verdict.verdict == "undecided"
    assert verdict.observed == f"12 against 5 {said}" and "runs" in said


def test_a_second_stage_decides_alone_what_the_first_leaves_open(tmp_path):
    run = np.arange(100)[:, np.newaxis]
    open_ = {"as drawn": verdicts.paired(run >= 95, run < 12)}
    record = {"rows": {"x": {"runs": 300, "readings": {
        "as drawn": {"sign": [[-1]], "p": [[1e-5]], "visible": [True]}}}}}
    (tmp_path / "stage.json").write_text(json.dumps(record), encoding="utf-8")
    second = verdicts.recorded(tmp_path / "stage.json", "x")
    verdict = CLAIM.judge(open_, "12 against 5.", second=second)
    assert verdict.verdict == "fails" and verdict.readings == (("as drawn", "fails", 0, 1, 0),)
    assert verdict.observed == (
        "12 against 5. First stage. As drawn: open at the one point. Second stage, 300 runs a "
        "point. As drawn: against it at the one point.")

    surely = {"as drawn": verdicts.paired(run >= 99, run < 60)}  # the first stage decides
    assert CLAIM.judge(surely, second=second).observed == CLAIM.judge(surely).observed
    assert CLAIM.judge(surely, second=second).verdict == "holds"
    for other in ({"by lot": second["as drawn"]}, {"as drawn": verdicts.exact([1.0, 1.0])}):
        verdict = CLAIM.judge(open_, second=other)
        assert verdict.verdict == "undecided" and "other points" in verdict.observed


def test_a_row_cannot_choose_its_quantifier():
    points = verdicts.exact([1.0, 1.0, -1.0])
    claim = dataclasses.replace(CLAIM, statement="SAR is better than uniform sampling.")
    verdict = claim.judge(points)
    assert verdict.verdict == "not comparable"
    assert verdict.why == "The readings disagree: it holds mostly, and fails everywhere."
    for chosen in (verdicts.always(points), verdicts.most(points),
                   verdicts.always({"a": points}), verdicts.fact(True)):
        with pytest.raises(ValueError, match="^seen must be Points, truth values, or made by "):
            claim.judge(chosen, "seen")
    with pytest.raises(ValueError, match="^published, for a truth value"):
        dataclasses.replace(claim, published="").judge(True, "seen")


def test_not_comparable_needs_a_reason_and_shows_it():
    judgement = verdicts.unprinted("No radius is printed.", "None can be named.")
    verdict = CLAIM.judge(judgement, "12 against 5.", "Ours.")
    entry = bundle(verdict)[claims.MIME]
    assert (entry["verdict"], entry["note"]) == ("not comparable", "Ours.")
    assert entry["why"] == "No radius is printed. None can be named."
    assert entry["observed"] == "12 against 5."
    assert "Why: No radius is printed. None can be named." in bundle(verdict)["text/plain"]
    apart = CLAIM.judge({"in order": True, "by lot": False})
    assert apart.why == "The readings disagree: it holds in order, and fails by lot."
    with pytest.raises(ValueError, match="^seen must be "):
        CLAIM.judge(judgement._replace(why=""), "seen")


def test_a_direction_says_that_the_size_is_not_stated():
    for gap, verdict, said in ((1.0, "holds", "confirmed"), (-1.0, "fails", "contradicted"),
                               (0.0, "undecided", "open")):
        entry = bundle(CLAIM.judge(verdicts.exact([gap]), vague="slightly"))
        assert entry[claims.MIME]["judged"] == "direction"
        assert entry[claims.MIME]["vague"] == "slightly"
        assert entry[claims.MIME]["verdict"] == verdict
        assert f"direction {said}, size not stated" in tables.badge(verdict, direction=True)
        assert "direction" not in tables.badge(verdict)
    entry = bundle(CLAIM.judge(verdicts.exact([1.0])))
    assert entry[claims.MIME]["judged"] == ""
    with pytest.raises(ValueError, match="^vague must be "):
        CLAIM.judge(verdicts.exact([1.0]), vague=None)


def test_proved_statements_are_entered_in_the_register():
    verdict = CLAIM.proved("thm-loads")
    payload = bundle(verdict)[claims.MIME]
    assert payload["type"] == payload["verdict"] == "proved" and payload["anchor"] == "thm-loads"
    assert set(payload) == FIELDS
    assert "[proved] " in bundle(claims.Ledger([verdict]))["text/plain"]
    assert "topk-proved" in tables.badge("proved")
    with pytest.raises(ValueError, match="^anchor must be "):
        CLAIM.proved("")
    for true, word in ((False, "refuted"), ({"a": True, "b": False}, "not comparable")):
        payload = bundle(CLAIM.theorem(true, "thm-loads", "Shown."))[claims.MIME]
        assert (payload["type"], payload["verdict"]) == ("proved", word)
        assert set(payload) == FIELDS and bool(payload["why"]) == (word == "not comparable")
    assert "topk-refuted" in tables.badge("refuted")


def test_the_payload_is_the_contract_and_survives_json():
    verdict = CLAIM.judge(True, "143 (every run)", note="a note", anchor="fig-tasks")
    payload = json.loads(json.dumps(bundle(verdict)[claims.MIME]))
    assert set(payload) == FIELDS and payload == {
        "type": "claim", "id": "zhou2014/figure-2e", "paper": "zhou2014",
        "where": "Section 6.2, Figure 2(e)", "published": "143",
        "statement": "Under SAR a worker receives up to 143 tasks.",
        "observed": "143 (every run)", "verdict": "holds", "note": "a note", "anchor": "fig-tasks",
        "why": "", "judged": "", "vague": "", "readings": [["", "holds"]]}


def test_a_ledger_carries_its_verdicts_in_order():
    second = dataclasses.replace(CLAIM, id="zhou2014/figure-2f")
    ledger = claims.Ledger(claim.judge(True, "x") for claim in (second, CLAIM))
    payload = bundle(ledger)[claims.MIME]
    assert [entry["id"] for entry in payload] == ["zhou2014/figure-2f", "zhou2014/figure-2e"]
    assert all(set(entry) == FIELDS for entry in payload)
    assert [each.claim for each in ledger] == [second, CLAIM]


def test_a_preview_judges_nothing_and_emits_nothing(monkeypatch):
    verdict = CLAIM.judge(True, "143")
    monkeypatch.setenv("TOPK_PREVIEW", "1")
    assert verdict.verdict == "not judged"
    for display in (verdict, claims.Ledger([verdict])):
        assert claims.MIME not in bundle(display)
        assert "not judged" in bundle(display)["text/plain"]
        assert "holds" not in bundle(display)["text/plain"]
    monkeypatch.setenv("TOPK_PREVIEW", "0")
    assert verdict.verdict == "holds"


def test_the_text_has_every_field_that_is_not_empty():
    verdict = CLAIM.judge(False, "97", note="One reading.")
    assert bundle(verdict) == {claims.MIME: verdict.as_dict(), "text/plain": (
        "[fails] Under SAR a worker receives up to 143 tasks. (Section 6.2, Figure 2(e))\n"
        "    Published: 143\n    Observed: 97\n    Note: One reading.")}


def test_the_table_escapes_and_links():
    claim = claims.Claim("a/b.1", "p", "Table <1> & 2", 'K < 10 "most"', "<5")
    entry = claim.judge(False, "6 > 5", note="<script>", anchor="fig-a").as_dict()
    text = tables.claims([records.complete(entry, "notebooks/02-x.html")])
    assert "<script>" not in text
    for part in (r"Table \<1\>", 'href="#fig-a"', 'id="claim-a-b-1"', "fails"):
        assert part in text
    entry = claim.judge(False, "6").as_dict()
    assert 'href="#' not in tables.claims([records.complete(entry, "notebooks/02-x.html")])


@pytest.mark.parametrize("change, name", [
    ({"id": ""}, "id"), ({"id": "has space"}, "id"), ({"id": "/first"}, "id"),
    ({"paper": " "}, "paper"), ({"where": ""}, "where"), ({"statement": None}, "statement"),
    ({"published": 143}, "published")])
def test_an_incomplete_claim_is_refused(change, name):
    with pytest.raises(ValueError, match=f"^{name} must be "):
        dataclasses.replace(CLAIM, **change)


def test_an_incomplete_verdict_is_refused():
    with pytest.raises(ValueError, match="^observed must be a string that is not blank"):
        CLAIM.judge(True, "")
    for wrong in ([], ["holds"]):
        with pytest.raises(ValueError, match="^verdicts must be "):
            claims.Ledger(wrong)
    with pytest.raises(ValueError, match="distinct claim ids"):
        claims.Ledger([CLAIM.judge(True, "a"), CLAIM.judge(False, "b")])


# Numbered results

GOOD = {"function": "topk.guarantees.sar_error",
        "test": "tests/theory/test_guarantees.py::test_bubeck_theorem_1_on_plays",
        "anchor": "thm-sar"}


def test_the_papers_have_53_numbered_results():
    counts = {paper: len(names) for paper, names in claims.RESULTS.items()}
    assert counts == {"chen2017": 15, "zhou2014": 17, "bubeck2013": 3, "kalyanakrishnan2012": 11,
                      "gabillon2012": 7}


def test_a_result_has_a_payload_for_the_build(monkeypatch):
    entry = claims.checked("bubeck2013/theorem-1", "It errs\n  rarely.", **GOOD)
    payload = entry._repr_mimebundle_()[claims.MIME]
    assert payload["kind"] == "theorem" and payload["number"] == "1"
    assert payload["statement"] == "It errs rarely." and payload["role"] == "func"
    assert claims.checked("zhou2014/lemma-4.1", "x", **GOOD | {"function": "topk.OptMAI"})
    monkeypatch.setenv("TOPK_PREVIEW", "1")
    assert claims.MIME not in entry._repr_mimebundle_()
