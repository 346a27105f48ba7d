"""The register of numbered results."""


from topk.book.numbered_results import MIME, RESULTS, checked

GOOD = {"function": "topk.guarantees.sar_error",
        "test": "tests/theory/test_guarantees.py::test_bubeck_theorem_1_on_plays",
        "anchor": "thm-sar"}


def test_the_papers_have_53_numbered_results():
    counts = {paper: len(names) for paper, names in RESULTS.items()}
    assert counts == {"chen2017": 15, "zhou2014": 17, "bubeck2013": 3, "kalyanakrishnan2012": 11,
                      "gabillon2012": 7}


def test_a_payload_for_the_build(monkeypatch):
    monkeypatch.delenv("TOPK_PREVIEW", raising=False)
    entry = checked("bubeck2013/theorem-1", "It errs\n  rarely.", **GOOD)
    payload = entry._repr_mimebundle_()[MIME]
    assert payload["sort"] == "theorem" and payload["number"] == "1"
    assert payload["statement"] == "It errs rarely." and payload["role"] == "func"
    assert checked("zhou2014/lemma-4.1", "x", **GOOD | {"function": "topk.OptMAI"})
    monkeypatch.setenv("TOPK_PREVIEW", "1")
    assert MIME not in entry._repr_mimebundle_()
