"""What `read_results` finds in tables and in recorded logs, and what it says of them."""

import json
from pathlib import Path

import pytest

import topk_eval

LOGS = Path(__file__).parent / "logs"


def write(path, text):
    path.write_text(text, encoding="utf-8")
    return path


def cells(frame):
    return list(frame.itertuples(index=False, name=None))


def test_columns_are_found_by_their_usual_names_and_said(tmp_path):
    path = write(tmp_path / "a.csv", "Model Name,date,question-id,Correct\nm,1,7,True\nn,1,7,no\n")
    told = r"a\.csv, line 3, column 'Correct': is 'no', not a number"
    with pytest.raises(ValueError, match=told):
        topk_eval.read_results(path)
    path = write(tmp_path / "a.csv", "Model Name,date,question-id,Correct\nm,1,7,True\nn,1,7,\n")
    frame = topk_eval.read_results(path)
    assert cells(frame)[0] == ("m", "7", 1.0, "1") and frame.score.isna().tolist() == [False, True]
    assert list(frame.columns) == ["model", "item", "score", "trial"]
    assert frame.attrs["notes"] == [
        f"{path}: CSV, 2 results; model from column 'Model Name', item from column 'question-id', "
        "score from column 'Correct'", "1 of 2 scores are missing"]


def test_ambiguity_is_refused_with_the_candidates(tmp_path):
    path = write(tmp_path / "a.csv", "model,task,question,acc\nm,1,7,1\n")
    with pytest.raises(ValueError, match="the item may be any of the columns 'task', 'question'; "):
        topk_eval.read_results(path)
    assert cells(topk_eval.read_results(path, item="question")) == [("m", "7", 1.0, "1")]
    with pytest.raises(ValueError, match="no column 'line' for the item; choose one of 'model'"):
        topk_eval.read_results(path, item="line")
    with pytest.raises(ValueError, match="item must be the name of a column, got 3"):
        topk_eval.read_results(path, item=3)
    path = write(tmp_path / "a.csv", "model,item,accuracy,score\nm,1,7,1\n")
    assert cells(topk_eval.read_results(path)) == [("m", "1", 1.0, "1")]  # the name itself wins


def test_a_column_has_one_role(tmp_path):
    """A regression test: the column that was named as the score was the item as well."""
    path = write(tmp_path / "a.csv", "model,item,run,score\nm,1,7,0\nm,2,7,1\n")
    with pytest.raises(ValueError, match="no column has a usual name of the item; "):
        topk_eval.read_results(path, score="item")
    with pytest.raises(ValueError, match="must be the name of a column of its own, got 'run'"):
        topk_eval.read_results(path, item="run", trial="run")
    found = topk_eval.read_results(path, model="run")
    assert cells(found) == [("7", "1", 0.0, "1"), ("7", "2", 1.0, "1")]


def test_trials_and_cells_told_twice(tmp_path):
    path = write(tmp_path / "a.csv", "model,item,score\nm,1,1\nn,1,1\nm,1,0\n")
    told = r"a\.csv, line 4: model 'm', item '1' is already in .*a\.csv, line 2; remove one of the "
    with pytest.raises(ValueError, match=told + "rows, or number them in a column 'trial'"):
        topk_eval.read_results(path)
    path = write(tmp_path / "a.csv", "model,item,epoch,score\nm,1,1,1\nm,1,2,0\n")
    assert cells(topk_eval.read_results(path)) == [("m", "1", 1.0, "1"), ("m", "1", 0.0, "2")]


def test_files_are_joined_and_different_items_counted(tmp_path):
    write(tmp_path / "a.csv", "model,item,score\nm,1,1\nm,2,1\n")
    write(tmp_path / "b.jsonl", '{"system": "n", "id": 1, "reward": 0.5}\n')
    frame = topk_eval.read_results(tmp_path)
    assert cells(frame)[2] == ("n", "1", .5, "1")
    assert frame.attrs["notes"][-1] == (
        "1 of 2 models have results on less than all 2 items, the least 1: 'n'")
    assert cells(topk_eval.read_results([tmp_path / "b.jsonl"])) == [("n", "1", .5, "1")]


def test_wide_tables_of_either_direction(tmp_path):
    want = [("m", "q1", 1.0, "1"), ("m", "q2", .5, "1"), ("n", "q1", 0.0, "1")]
    across = write(tmp_path / "a.csv", "model,q1,q2\nm,1,.5\nn,0,\n")
    assert cells(topk_eval.read_results(across))[:3] == want
    (note, _) = topk_eval.read_results(across).attrs["notes"]
    assert "item from the names of the 2 other columns" in note
    down = write(tmp_path / "b.csv", "question,m,n\nq1,1,0\nq2,.5,\n")
    assert sorted(cells(topk_eval.read_results(down))[:3]) == sorted([want[0], want[2], want[1]])
    text = write(tmp_path / "c.csv", "model,q1,comment\nm,1,good\n")
    with pytest.raises(ValueError, match="line 2, column 'comment': is 'good', not a number"):
        topk_eval.read_results(text)


def test_a_json_list_and_parquet(tmp_path):
    rows = [{"model": "m", "item": 1, "score": True}, {"model": "n", "item": 1, "score": None}]
    path = write(tmp_path / "a.json", json.dumps(rows))
    assert cells(topk_eval.read_results(path))[0] == ("m", "1", 1.0, "1")
    pytest.importorskip("pyarrow")
    topk_eval.read_results(path).to_parquet(tmp_path / "a.parquet")
    assert cells(topk_eval.read_results(tmp_path / "a.parquet"))[0] == ("m", "1", 1.0, "1")


def test_files_that_are_none(tmp_path):
    for path, told in (
        (tmp_path / "none.csv", "No such file"), (tmp_path, "without files in .csv"),
        (write(tmp_path / "a.txt", "b"), "the ending '.txt' is not known; use .csv"),
    ):
        with pytest.raises(ValueError, match=told):
            topk_eval.read_results(path)
    for paths in (None, 3, b"a.csv", [3]):
        with pytest.raises(ValueError, match="paths must be a path, or a sequence of paths, got "):
            topk_eval.read_results(paths)
    with pytest.raises(ValueError, match="paths must be at least one file"):
        topk_eval.read_results([])


def test_recorded_logs_of_inspect():
    pytest.importorskip("pyarrow")  # inspect_ai packs with Zstandard
    paths = [LOGS / "inspect" / f"words_{name}.eval" for name in ("good", "poor")]
    frame = topk_eval.read_results(paths)
    wide = frame.pivot(index=["item", "trial"], columns="model", values="score")
    assert len(frame) == 12 and wide["mockllm/good"].tolist() == [1] * 6
    assert wide["mockllm/poor"].to_dict() == {
        (f"word-{item}", trial): float(item < 1) for item in range(3) for trial in "12"}
    plain = topk_eval.read_results([path.with_suffix(".json") for path in paths])
    assert sorted(cells(plain)) == sorted(cells(frame))


def test_a_log_of_inspect_with_two_scorers():
    pytest.importorskip("pyarrow")
    path = LOGS / "inspect" / "scored_twice_poor.eval"
    with pytest.raises(ValueError, match="any of the columns 'score_includes', 'score_exact'"):
        topk_eval.read_results(path)
    assert topk_eval.read_results(path, score="score_exact").score.tolist() == [1, 0, 0]


def test_recorded_logs_of_lm_evaluation_harness():
    frame = topk_eval.read_results(LOGS.glob("lm_eval/*/samples_even_*.jsonl"))
    assert frame.groupby("model").score.sum().to_dict() == {"toy__left": 3, "toy__right": 4}
    both = sorted(LOGS.glob("lm_eval/toy__left/*.jsonl"))
    with pytest.raises(ValueError, match="'exact_match,strict', 'exact_match,loose'"):
        topk_eval.read_results(both)
    loose = topk_eval.read_results(both[:1], score="exact_match,loose")
    strict = topk_eval.read_results(both[:1], score="exact_match,strict")
    assert loose.score.tolist() == [1] * 5 and strict.score.sum() < 5
