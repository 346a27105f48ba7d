"""Verdicts follow from truth values, and show as a table and as data; so do numbered results."""

import dataclasses
import json

import numpy as np
import pytest

from topk.book import claims, verdicts

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
    assert verdict.verdict == bundle(verdict)[claims.MIME]["verdict"] == word


def test_a_verdict_cannot_be_typed():
    verdict = CLAIM.judge(False, "97")
    with pytest.raises(dataclasses.FrozenInstanceError):
        verdict.outcome = "holds"
    with pytest.raises(AttributeError):
        verdict.verdict = "holds"
    for typed in ("holds", "fails", 1, 0, 1.0, np.array([True])):
        with pytest.raises(ValueError, match="judgement must be a Judgement, True, False or None"):
            CLAIM.judge(typed, "97")


def test_a_judgement_brings_its_words():
    judgement = verdicts.always(verdicts.counts([12], [5], 100))
    verdict = CLAIM.judge(judgement, "12 against 5", note="Ours.")
    assert verdict.verdict == "undecided"
    assert verdict.observed == f"12 against 5 {judgement.text}" and "plays would" in judgement.text
    verdict = CLAIM.judge(judgement.not_comparable("No radius is printed."), note="Ours.")
    assert (verdict.verdict, verdict.note) == ("not comparable", "No radius is printed. Ours.")
    assert verdict.observed == judgement.counts


def test_what_is_proved_goes_to_the_register():
    verdict = CLAIM.proved("thm-loads")
    payload = bundle(verdict)[claims.MIME]
    assert payload["kind"] == payload["verdict"] == "proved" and payload["anchor"] == "thm-loads"
    assert set(payload) == FIELDS
    assert "topk-proved" in bundle(claims.Ledger([verdict]))["text/html"]
    with pytest.raises(ValueError, match="^anchor must be "):
        CLAIM.proved("")


def test_the_payload_is_the_contract_and_survives_json():
    verdict = CLAIM.judge(True, "143 (every play)", note="a note", anchor="fig-tasks")
    payload = json.loads(json.dumps(bundle(verdict)[claims.MIME]))
    assert set(payload) == FIELDS and payload == {
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
    assert [each.claim for each in ledger] == [second, CLAIM]


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
    for text in ("Table &lt;1&gt; &amp; 2", 'href="#fig-a"', 'id="claim-a-b-1"', "fails"):
        assert text in html
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
    assert payload["sort"] == "theorem" and payload["number"] == "1"
    assert payload["statement"] == "It errs rarely." and payload["role"] == "func"
    assert claims.checked("zhou2014/lemma-4.1", "x", **GOOD | {"function": "topk.OptMAI"})
    monkeypatch.setenv("TOPK_PREVIEW", "1")
    assert claims.MIME not in entry._repr_mimebundle_()
