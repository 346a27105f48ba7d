"""Logs as harnesses leave them: beside manifests, with errors, filters, repetitions and parts."""

import gzip
import json
import tracemalloc
import zipfile

import pytest

import topk_eval
from topk_eval.reading.results import _not_shared


def write(path, value):
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(value if isinstance(value, str) else json.dumps(value), encoding="utf-8")
    return path


def log(path, model, samples, status="success", created="2026-01-01", **spec):
    """Write a log of inspect_ai; samples are values, or objects without one."""
    rows = [{"id": i, "epoch": 1} | (value if isinstance(value, dict) else
                                     {"scores": {"match": {"value": value}}})
            for i, value in enumerate(samples)]
    return write(path, {"version": 2, "status": status, "samples": rows,
                        "eval": {"model": model, "task": "t", "created": created} | spec})


ERROR = {"scores": None, "error": {"message": "auth"}}


def test_a_folder_may_hold_manifests(tmp_path):
    log(tmp_path / "a.json", "m/a", "CCCCCC")
    log(tmp_path / "b.json", "m/b", "IIIIII")
    log(tmp_path / "c.json", "m/c", [], status="started")
    write(tmp_path / "logs.json", {"a.json": {"version": 2, "status": "success"}})
    write(tmp_path / "eval-set.json", {"eval_set_id": "x", "tasks": []})
    results = topk_eval.read_results(tmp_path)
    assert results.scores.tolist() == [[1] * 6, [0] * 6]
    assert results.notes[-1] == ("3 files of folders without results: 'c.json', 'eval-set.json', "
                                 "'logs.json'")
    with pytest.raises(ValueError, match=r"eval-set\.json is neither a list of objects nor a log"):
        topk_eval.read_results(tmp_path / "eval-set.json")
    with pytest.raises(ValueError, match=r"c\.json has no samples \(status 'started'\)"):
        topk_eval.read_results(tmp_path / "c.json")
    write(tmp_path / "d.json", '{"eval": ')  # a damaged file is no manifest
    with pytest.raises(ValueError, match=r"d\.json.* is no complete JSON"):
        topk_eval.read_results(tmp_path)


def test_a_log_in_which_all_samples_errored_has_failed(tmp_path):
    log(tmp_path / "a.json", "m/a", "CCCCCC")
    log(tmp_path / "b.json", "m/b", ["I", "I", ERROR, "I", "C", float("nan")])
    path = log(tmp_path / "c.json", "m/c", [ERROR] * 6, status="error")
    for options in ({}, {"score": "score_match"}, {"score": "match"}):
        results = topk_eval.read_results(tmp_path, **options)
        assert results.failed.sum(axis=1).tolist() == [0, 2, 6] and not results.absent.any()
    assert f"{path}: no sample has a score, so that all have failed" in results.notes
    assert any("has the status 'error'" in note for note in results.notes)
    with pytest.raises(ValueError, match="no sample has a score; run it again, or leave it out"):
        topk_eval.read_results(path)


def test_words_and_parts_of_scores(tmp_path):
    log(tmp_path / "a.json", "m/a", ["yes", "Yes", "TRUE", "C", "P", ".25"])
    log(tmp_path / "b.json", "m/b", ["no", "No", "False", "I", "N", True])
    results = topk_eval.read_results(tmp_path)
    assert results.scores.tolist() == [[1, 1, 1, 1, .5, .25], [0, 0, 0, 0, 0, 1]]
    path = log(tmp_path / "c.json", "m/c", [{"right": 1, "form": "C"}])
    path.write_text(path.read_text().replace('{"id": 0, "epoch": 1, "right": 1, "form": "C"}',
        '{"id": 0, "epoch": 1, "scores": {"parts": {"value": {"right": 0, "form": "C"}}}}'))
    with pytest.raises(ValueError, match="'score_parts/right', 'score_parts/form'; name one"):
        topk_eval.read_results(path)
    for name, value in (("parts/right", 0), ("parts/form", 1), ("score_parts/form", 1)):
        assert topk_eval.read_results(path, score=name).scores.tolist() == [[value]]
    log(tmp_path / "d.json", "m/d", ["maybe"])
    with pytest.raises(ValueError, match="column 'score_match': is 'maybe', not a number"):
        topk_eval.read_results(tmp_path / "d.json")


def test_samples_and_runs_that_were_repeated(tmp_path):
    path = log(tmp_path / "a.json", "m/a", ["C", "I"])
    text = json.loads(path.read_text())
    text["samples"] = [text["samples"][0] | ERROR, *text["samples"]]
    write(path, text)
    results = topk_eval.read_results(path)
    assert results.scores.tolist() == [[1, 0]]
    assert f"{path}: 1 sample was run again, and the last run counts" in results.notes
    first = log(tmp_path / "b1.json", "m/b", ["C"], status="cancelled", task_id="x")
    log(tmp_path / "b2.json", "m/b", ["C", "C"], created="2026-01-02", task_id="x")
    results = topk_eval.read_results(tmp_path)
    assert results.scores.tolist() == [[1, 0], [1, 1]]
    assert f"{first}: the run broke off and was repeated; it is not read" in results.notes
    log(tmp_path / "b3.json", "m/b", ["C", "C"], task_id="y")  # another run is no repetition
    with pytest.raises(ValueError, match="is already in .*; remove one of the logs, or tell them"):
        topk_eval.read_results(tmp_path)
    assert len(topk_eval.read_results(tmp_path, model="log").models) == 3


def test_invalidated_samples_have_failed(tmp_path):
    bad = {"scores": {"match": {"value": "C"}}, "invalidation": {"author": "x"}}
    path = log(tmp_path / "a.json", "m/a", ["C", bad, "I"])
    results = topk_eval.read_results(path)
    assert results.failed.tolist() == [[False, True, False]]
    assert f"{path}: 1 sample was invalidated, and failed" in results.notes


def test_the_list_of_items_is_that_of_the_headers(tmp_path):
    ids = {"sample_ids": [3, 2, 1, 0]}
    log(tmp_path / "a.json", "m/a", ["C", "C"], dataset=ids)
    log(tmp_path / "b.json", "m/b", ["C"], dataset={"sample_ids": [3, 2, 1]})
    results = topk_eval.read_results(tmp_path, order="columns")
    assert results.items == ["3", "2", "1", "0"] and results.absent.sum() == 5
    assert topk_eval.read_results(tmp_path).items == ["0", "1"]  # without an order: what was asked
    assert topk_eval.read_results(tmp_path, order="names").items == ["0", "1", "2", "3"]
    log(tmp_path / "c.json", "m/c", ["I"], task="u", dataset={"sample_ids": [0, 5]})
    results = topk_eval.read_results(tmp_path, order="columns")
    assert results.items == ["t/3", "u/0", "t/2", "u/5", "t/1", "t/0"]
    path = log(tmp_path / "d.json", "m/d", ["I"], dataset={"sample_ids": [0, 7]})
    with pytest.raises(ValueError, match="'columns' is no order"):
        topk_eval.read_results(tmp_path, order="columns")
    assert f"{path}: its header lists other items than those of other logs, so that they give no " \
           "order" in topk_eval.read_results(tmp_path).notes


def samples(folder, task, filters, value, metrics=("exact_match",), time="2024-05-01T10-00-00.0"):
    """Write samples of lm-evaluation-harness."""
    return write(folder / f"samples_{task}_{time}.jsonl", "".join(
        json.dumps({"doc_id": i, "metrics": [*metrics], "filter": name}
                   | dict.fromkeys(metrics, value)) + "\n" for name in filters for i in range(8)))


def test_a_filter_has_one_name(tmp_path):
    """One model was run with two filters, the other with one of them."""
    samples(tmp_path / "A", "gsm8k", ["strict-match", "flexible-extract"], 1.)
    samples(tmp_path / "B", "gsm8k", ["strict-match"], 0.)
    results = topk_eval.read_results(tmp_path, score="exact_match,strict-match")
    assert results.scores.tolist() == [[1] * 8, [0] * 8]
    with pytest.raises(ValueError, match="'exact_match,strict-match', 'exact_match,flexible-ext"):
        topk_eval.read_results(tmp_path, score="exact_match")
    assert topk_eval.read_results(tmp_path / "B", score="exact_match").scores.sum() == 0


def test_the_model_is_that_of_the_results_beside(tmp_path):
    """Two models in one folder are told apart by the times of their runs."""
    for name, value in (("org/one", 1.), ("org/two", 0.)):
        time = f"2024-05-01T10-00-0{value:.0f}.5"
        samples(tmp_path, "arc", ["none"], value, ("acc", "acc_norm"), time)
        write(tmp_path / f"results_{time}.json", {"model_name": name, "results": {}})
    results = topk_eval.read_results(tmp_path, score="acc")
    found = dict(zip(results.models, results.scores.mean(axis=1).tolist(), strict=True))
    assert found == {"org/one": 1, "org/two": 0}
    samples(tmp_path / "out" / "m", "arc", ["none"], 1.)
    samples(tmp_path / "out" / "m", "arc", ["none"], 0., time="2024-05-02T10-00-00.0")
    with pytest.raises(ValueError, match="; remove one of the logs, or tell them apart with --mo"):
        topk_eval.read_results(tmp_path / "out")
    assert len(topk_eval.read_results(tmp_path / "out", model="log").models) == 2
    for time in ("2024-05-01T10-00-00.0", "2024-05-02T10-00-00.0"):  # the same names once more
        samples(tmp_path / "out" / "n", "arc", ["none"], 1., time=time)
    with pytest.raises(ValueError, match="; remove one of the logs( .and|$)"):
        topk_eval.read_results(tmp_path / "out")


def call(provider, test, score=1, prompt="plain", **more):
    return {"provider": {"id": provider, "label": ""}, "testIdx": test, "promptIdx": 0,
            "prompt": {"raw": f"question {test}", "label": prompt}, "score": score,
            "success": score == 1, "failureReason": int(score != 1), "namedScores": {"style": .5},
            "vars": {"x": 1}, "response": {"output": "x"}} | more


def promptfoo(path, calls):
    return write(path, {"evalId": "eval-1", "results": {"version": 3, "results": calls,
                                                        "prompts": [], "stats": {}}, "config": {}})


def test_results_of_promptfoo(tmp_path):
    calls = [call("openai:one", 0), call("openai:two", 0, .5), call("openai:one", 1, 0),
             call("openai:two", 1, 0, failureReason=2, error="429")]
    path = promptfoo(tmp_path / "output.json", calls)
    results = topk_eval.read_results(path)
    assert results.models == ["openai:one", "openai:two"] and results.items == ["0", "1"]
    assert results.failed.tolist() == [[False, False], [False, True]]
    assert results.low.tolist() == [[1, 0], [.5, 0]] and results.high[1, 1] == 1
    assert f"{path}: 1 call ended with an error and failed; promptfoo counts each as 0" in \
        results.notes
    assert topk_eval.read_results(path, score="namedScores.style").scores[0].tolist() == [.5, .5]
    assert topk_eval.read_results(path, score="success").scores[1, 0] == 0
    path = promptfoo(path, [*calls, *(each | {"prompt": {"label": "brief"}} for each in calls)])
    results = topk_eval.read_results(path)
    assert results.models == ["openai:one, plain", "openai:two, plain", "openai:one, brief",
                              "openai:two, brief"]
    for bad, told in (([], "has no results"), ([3], "result 1: has no provider and testIdx"),
                      ([{}], "result 1: has no provider"), ([call({}, 0)], "result 1"),
                      ([call("x", 0), call("x", 0)], "result 2: .* is already in"),
                      ([call("x", 0, "high")], "result 1, column 'score': is 'high'")):
        with pytest.raises(ValueError, match=told):
            topk_eval.read_results(promptfoo(path, bad))


LISTS = {
    "task": ({"model": "a", "task": ["t"], "task_id": "x"}, r"the task in its header is \['t'\]"),
    "model": ({"model": {"name": "a"}, "task": "t"}, r"the model in its header is \{'name': 'a'\}"),
}


@pytest.mark.parametrize("ending", ["json", "eval"])
@pytest.mark.parametrize("name", LISTS)
def test_a_header_whose_names_are_none_is_refused(tmp_path, name, ending):
    spec, told = LISTS[name]
    samples = [{"id": 1, "epoch": 1, "scores": {"s": {"value": 1}}}]
    path = tmp_path / f"log.{ending}"
    if ending == "json":
        write(path, {"eval": spec, "status": "error", "samples": samples})
    else:
        with zipfile.ZipFile(path, "w") as archive:
            archive.writestr("header.json", json.dumps({"eval": spec, "status": "error"}))
            archive.writestr("summaries.json", json.dumps(samples))
    with pytest.raises(ValueError, match=rf"log\.{ending}: {told}, not a name; write the log"):
        topk_eval.read_results(path)


def test_the_name_of_a_run_may_be_anything(tmp_path):
    for number, created in enumerate(("2026-01-01", "2026-01-02")):
        log(tmp_path / f"{number}.json", "m/a", "CC", status="error" if number == 0 else "success",
            created=created, task_id=["x"])
    assert topk_eval.read_results(tmp_path).scores.tolist() == [[1, 1]]


def test_a_column_of_a_log_may_be_left_out(tmp_path):
    path = log(tmp_path / "a.json", "m/a", "CC", dataset={"sample_ids": [0, 1]})
    results = topk_eval.read_results(path, drop=["task", "log"], order="columns")
    assert results.items == ["0", "1"]


def test_metrics_and_prompts_that_are_no_texts(tmp_path):
    path = write(tmp_path / "samples_y.jsonl", {"doc_id": 1, "metrics": [["acc"]], "acc": 1})
    with pytest.raises(ValueError, match=r"line 1: the metric \['acc'\] is no text"):
        topk_eval.read_results(path)
    rows = [{"provider": "a", "testIdx": i, "prompt": [1], "score": 1} for i in range(2)]
    path = write(tmp_path / "p.json", {"results": {"results": rows}})
    assert topk_eval.read_results(path).models == ["a"]


def test_a_number_that_is_too_long_has_a_line(tmp_path):
    text = '[{"model": "a", "item": 1, "score": 1},\n{"model": "b", "item": ' + "1" * 5000 + "}]"
    with pytest.raises(ValueError, match=r"n\.json, line 2: is no JSON that can be .*digits"):
        topk_eval.read_results(write(tmp_path / "n.json", text))
    with pytest.raises(ValueError, match=r"d\.json: is no JSON that can be .*nested too deeply"):
        topk_eval.read_results(write(tmp_path / "d.json", "[" * 100_000))


def test_gzip_in_gzip_is_told(tmp_path):
    path = tmp_path / "r.csv.gz"
    path.write_bytes(gzip.compress(gzip.compress(b"model,item,score\na,1,1\nb,1,0\n")))
    with pytest.raises(ValueError, match=r"r\.csv\.gz is compressed with gzip twice; unpack"):
        topk_eval.read_results(path)


def test_models_without_common_items_are_found_in_little_memory(tmp_path):
    size = 4000  # the square of it takes 64 MB
    rows = "".join(f"m{number},{number // 2},1\n" for number in range(size))
    path = write(tmp_path / "m.csv", f"model,item,score\n{rows}x,x,1\n")
    results = topk_eval.read_results(path, order=None)
    assert results.notes[0].startswith("'x' shares no item with any other model")
    results.absent = results.absent[:, :50].copy()
    tracemalloc.start()
    notes = _not_shared(results)
    assert tracemalloc.get_traced_memory()[1] < 2**22 and "and 3,893 more share no" in notes[0]
    tracemalloc.stop()
