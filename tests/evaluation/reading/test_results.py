"""What `read_results` finds in tables and in recorded logs, and what it says of them."""

import json
from pathlib import Path

import numpy as np
import pandas
import pytest

import topk_eval

LOGS = Path(__file__).parent / "logs"


def write(path, text):
    path.write_text(text, encoding="utf-8")
    return path


def cells(results):
    """Return model, item and score of each cell that was asked, None where it failed."""
    return [(model, item, None if score != score else score)
            for model, item, score in results.frame().itertuples(index=False, name=None)]


def test_columns_are_found_by_their_usual_names_and_said(tmp_path):
    path = write(tmp_path / "a.csv", "Model Name,date,question-id,Correct\nm,1,7,True\nn,1,7,no\n")
    told = r"a\.csv, line 3, column 'Correct': is 'no', not a number"
    with pytest.raises(ValueError, match=told):
        topk_eval.read_results(path)
    path = write(tmp_path / "a.csv", "Model Name,date,question-id,Correct\nm,1,7,True\nn,1,7,\n")
    results = topk_eval.read_results(path)
    assert isinstance(results, topk_eval.Results)
    assert cells(results) == [("m", "7", 1.0), ("n", "7", None)]
    assert results.notes == [
        f"{path}: CSV, 2 results; model from column 'Model Name', item from column 'question-id', "
        "score from column 'Correct'", "1 cell failed"]


def test_ambiguity_is_refused_with_the_candidates(tmp_path):
    path = write(tmp_path / "a.csv", "model,task,question,acc\nm,1,7,1\n")
    with pytest.raises(ValueError, match="the item may be any of the columns 'task', 'question'; "):
        topk_eval.read_results(path)
    assert cells(topk_eval.read_results(path, item="question")) == [("m", "7", 1.0)]
    with pytest.raises(ValueError, match="no column 'line' for the item; choose one of 'model'"):
        topk_eval.read_results(path, item="line")
    with pytest.raises(ValueError, match="item must be the name of a column, got 3"):
        topk_eval.read_results(path, item=3)
    path = write(tmp_path / "a.csv", "model,item,accuracy,score\nm,1,7,1\n")
    assert cells(topk_eval.read_results(path)) == [("m", "1", 1.0)]  # the name itself wins


def test_a_column_has_one_role(tmp_path):
    """A regression test: the column that was named as the score was the item as well."""
    path = write(tmp_path / "a.csv", "model,item,run,score\nm,1,7,0\nm,2,7,1\n")
    with pytest.raises(ValueError, match="no column has a usual name of the item; "):
        topk_eval.read_results(path, score="item")
    with pytest.raises(ValueError, match="must be the name of a column of its own, got 'run'"):
        topk_eval.read_results(path, item="run", trial="run")
    found = topk_eval.read_results(path, model="run")
    assert cells(found) == [("7", "1", 0.0), ("7", "2", 1.0)]


def test_an_empty_cell_stands_in_another_file(tmp_path):
    """What became of the cells of `topk next` goes into a file of its own, beside a wide table."""
    wide = write(tmp_path / "wide.csv", "model,q1,q2,q3,q4\nm,1,,,\nn,0,,1,\no,1,1,1,0\n")
    more = write(tmp_path / "more.csv", "model,item,score\nm,q3,1\nn,q4,\nn,q2,1\n")
    for files in ([wide, more], [more, wide]):
        found = topk_eval.read_results(files, order="columns")
        assert found.items == ["q1", "q2", "q3", "q4"]
        found = found.with_models(["m", "n", "o"])
        np.testing.assert_equal(found.scores, [[1, np.nan, 1, np.nan], [0, 1, 1, np.nan],
                                               [1, 1, 1, 0]])
        # m's q2 has no later score in the wide table itself, so that it can still be run
        assert found.absent.tolist() == [[False, True, False, True], [False] * 4, [False] * 4]
        assert found.failed.tolist() == [[False] * 4, [False, False, False, True], [False] * 4]
        assert "3 empty cells stand in another file, which counts" in " ".join(found.notes)
    other = write(tmp_path / "other.csv", "model,q1,q2,q3,q4\nm,,0,,\n")
    found = topk_eval.read_results([wide, other], order="names")
    assert found.items == ["q1", "q2", "q3", "q4"] and found.scores[0, :2].tolist() == [1.0, 0.0]
    assert found.absent[0].tolist() == [False, False, True, True]


def test_what_is_told_twice_is_refused_beside_empty_cells(tmp_path):
    wide = write(tmp_path / "wide.csv", "model,q1,q2\nm,1,\nn,0,1\n")
    more = write(tmp_path / "more.csv", "model,item,score\nm,q2,1\nn,q2,1\n")
    with pytest.raises(ValueError, match=r"more.csv, line 3: model 'n', item 'q2' is already in "):
        topk_eval.read_results([wide, more])
    twice = write(tmp_path / "twice.csv", "model,q1,q2\nm,1,\nn,0,1\nm,1,1\n")
    with pytest.raises(ValueError, match="model 'm', item 'q1' is already in "):
        topk_eval.read_results([twice])


def test_what_failed_has_no_score_in_another_file(tmp_path):
    """Who says that all empty cells failed does not fill them later: a race would change."""
    wide = write(tmp_path / "wide.csv", "model,q1,q2\nm,1,\nn,0,1\n")
    more = write(tmp_path / "more.csv", "model,item,score\nm,q2,1\n")
    with pytest.raises(ValueError, match=r"more.csv, line 2: model 'm', item 'q2' has a score"):
        topk_eval.read_results([wide, more], empty="failed")
    more = write(tmp_path / "more.csv", "model,item,score\nm,q2,\n")
    assert topk_eval.read_results([wide, more], empty="failed").failed.sum() == 1
    wide = write(tmp_path / "wide.csv", "model,q1,q2\nm,1,NA\nn,0,1\n")
    more = write(tmp_path / "more.csv", "model,item,score\nm,q2,1\n")
    with pytest.raises(ValueError, match="empty that cell, or remove the row here"):
        topk_eval.read_results([wide, more])


def test_a_table_that_has_only_a_header_is_noted_beside_others(tmp_path):
    path = write(tmp_path / "x;y.csv", "model,item,score\n")
    with pytest.raises(ValueError, match="has a header and no rows; write a row"):
        topk_eval.read_results(path)
    other = write(tmp_path / "r.csv", "model,item,score\nm,1,1\n")
    assert f"{path} has a header and no rows" in topk_eval.read_results([path, other]).notes


def test_empty_cells_of_trials_are_what_is_said(tmp_path):
    """A regression test: all of them had failed, whatever was said."""
    text = "model,trial,q1,q2,q3\nm,1,1,,\nm,2,0,1,\nn,1,1,1,1\nn,2,,1,1\n"
    path = write(tmp_path / "wide.csv", text)
    found = topk_eval.read_results(path)
    assert found.absent.tolist() == [[False, False, True], [False] * 3]
    assert found.unfinished.tolist() == [[False, True, False], [False] * 3]
    assert found.failed.tolist() == [[False, True, False], [True, False, False]]
    assert topk_eval.read_results(path, empty="failed").absent.sum() == 0
    assert topk_eval.read_results(path, empty="absent").failed.tolist() == found.failed.tolist()
    assert topk_eval.read_results(path, empty="absent").unfinished.sum() == 2


def test_columns_are_an_order_beside_answers_to_them_alone(tmp_path):
    wide = write(tmp_path / "wide.csv", "model,q1,q2\nm,1,\nn,0,1\n")
    more = write(tmp_path / "more.csv", "model,item,score\nm,q2,1\nn,q3,1\n")
    with pytest.raises(ValueError, match=r"more.csv, line 3: item 'q3' stands in no wide table"):
        topk_eval.read_results([wide, more], order="columns")
    assert topk_eval.read_results([wide, more], order=["q1", "q2", "q3"]).order == "given"


def test_an_empty_cell_failed_if_a_later_one_in_the_order_has_a_score(tmp_path):
    """A regression test: the order of the columns decided, whatever order was given."""
    wide = write(tmp_path / "wide.csv", "model,q1,q2,q3\nm,,1,\nn,0,1,1\n")
    assert topk_eval.read_results(wide, order="columns").failed[0].tolist() == [True, False, False]
    found = topk_eval.read_results(wide, order=["q3", "q2", "q1"])
    assert found.failed[0].tolist() == [True, False, False]
    assert found.absent[0].tolist() == [False, False, True]
    frame = pandas.DataFrame({"q1": [np.nan, 0], "q2": [1, 1]}, index=["m", "n"])
    assert topk_eval.Results(frame, order=["q2", "q1"]).absent[0].tolist() == [False, True]
    assert topk_eval.Results(frame, order=["q1", "q2"]).failed[0].tolist() == [True, False]


def test_trials_and_cells_told_twice(tmp_path):
    path = write(tmp_path / "a.csv", "model,item,score\nm,1,1\nn,1,1\nm,1,0\n")
    told = r"a\.csv, line 4: model 'm', item '1' is already in .*a\.csv, line 2; remove one of the "
    with pytest.raises(ValueError, match=told + "rows; if both are results, number them"):
        topk_eval.read_results(path)
    for name in ("epoch", "seed"):
        path = write(tmp_path / "a.csv", f"model,item,{name},score\nm,1,1,1\nm,1,2,0\nn,1,1,1\n")
        results = topk_eval.read_results(path)
        assert cells(results) == [("m", "1", .5), ("n", "1", None)] and results.trials == 2
        assert results.low.tolist() == [[.5], [.5]] and results.high.tolist() == [[.5], [1]]


def test_files_are_joined_and_different_items_counted(tmp_path):
    write(tmp_path / "a.csv", "model,item,score\nm,1,1\nm,2,1\n")
    write(tmp_path / "b.jsonl", '{"system": "n", "id": 1, "reward": 0.5}\n')
    results = topk_eval.read_results(tmp_path)
    assert cells(results) == [("m", "1", 1.0), ("n", "1", .5), ("m", "2", 1.0)]
    assert results.notes[-2:] == ["1 cell absent",
        "1 of 2 models have results on less than all 2 items, the least 1: 'n'"]
    twice = [tmp_path / "b.jsonl", tmp_path, tmp_path / ".." / tmp_path.name / "b.jsonl"]
    assert sorted(cells(topk_eval.read_results(twice))) == sorted(cells(results))


def test_wide_tables_of_either_direction(tmp_path):
    want = [("m", "q1", 1.0), ("n", "q1", 0.0), ("m", "q2", .5)]
    across = write(tmp_path / "a.csv", "model,q1,q2\nm,1,.5\nn,0,\n")
    results = topk_eval.read_results(across)
    assert cells(results) == want and results.absent.sum() == 1
    assert "item from the names of the columns 'q1', 'q2'" in results.notes[1]
    down = write(tmp_path / "b.csv", "question,m,n\nq1,1,0\nq2,.5,\n")
    assert cells(topk_eval.read_results(down)) == want
    text = write(tmp_path / "c.csv", "model,q1,comment\nm,1,good\n")
    with pytest.raises(ValueError, match=r"line 2, column 'comment': is 'good', not a number; .*"
                       r"'q1', 'comment' are taken for items: .*--drop comment.*--columns"):
        topk_eval.read_results(text)
    assert cells(topk_eval.read_results(text, drop=["comment"])) == [("m", "q1", 1.0)]
    assert cells(topk_eval.read_results(text, columns=["q1"])) == [("m", "q1", 1.0)]


CELLS = {"": "empty", " ": "empty", "NA": "failed", "nan": "failed", "null": "failed",
         "None": "failed", "failed": "failed", "n/a": "failed"}


@pytest.mark.parametrize("text", CELLS)
@pytest.mark.parametrize("down", [False, True])
def test_cells_of_a_wide_table_without_a_score(tmp_path, text, down):
    """An empty one has failed if its model has a later score; others have failed anyhow."""
    rows = [["model", "a", "b", "c"], ["m", "1", text, "1"], ["n", "0", "1", text]]
    if down:
        rows = [["item", "m", "n"], *map(list, zip(*[row[1:] for row in rows], strict=True))]
        rows[1:] = [[item, *row[1:]] for item, row in zip("abc", rows[1:], strict=True)]
    path = write(tmp_path / "a.csv", "".join(",".join(row) + "\n" for row in rows))
    is_empty = CELLS[text] == "empty"
    for empty, failed in (("auto", [["m", "b"]]), ("failed", [["m", "b"], ["n", "c"]]),
                          ("absent", [])):
        results = topk_eval.read_results(path, empty=empty)
        missing = [["m", "b"], ["n", "c"]]
        failed = failed if is_empty else missing
        for model, item in missing:
            cell = results.models.index(model), results.items.index(item)
            assert bool(results.failed[cell]) == ([model, item] in failed)
            assert bool(results.absent[cell]) == ([model, item] not in failed)


def test_missing_entries_of_json_and_parquet(tmp_path):
    """What is not there and a null of Parquet are empty cells; a null of JSON has failed."""
    path = write(tmp_path / "a.json", json.dumps(
        [{"model": "m", "a": 1, "b": None}, {"model": "n", "a": 1}, {"model": "o", "b": 0}]))
    results = topk_eval.read_results(path)
    assert results.failed.tolist() == [[False, True], [False, False], [True, False]]
    assert results.absent.tolist() == [[False, False], [False, True], [False, False]]
    pyarrow = pytest.importorskip("pyarrow")
    from pyarrow import parquet
    nan = float("nan")
    parquet.write_table(pyarrow.table({"model": ["m", "n"], "a": [1., nan], "b": [None, 1.],
                                       "c": [nan, None]}), tmp_path / "a.parquet")
    results = topk_eval.read_results(tmp_path / "a.parquet", empty="absent")
    assert results.failed.tolist() == [[False, False, True], [True, False, False]]
    assert results.absent.tolist() == [[False, True, False], [False, False, True]]


def test_a_json_list_and_parquet(tmp_path):
    rows = [{"model": "m", "item": 1, "score": True}, {"model": "n", "item": 1, "score": None}]
    path = write(tmp_path / "a.json", json.dumps(rows))
    want = [("m", "1", 1.0), ("n", "1", None)]
    assert cells(topk_eval.read_results(path)) == want
    pytest.importorskip("pyarrow")
    topk_eval.read_results(path).frame().to_parquet(tmp_path / "a.parquet")
    assert cells(topk_eval.read_results(tmp_path / "a.parquet")) == want


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
    results = topk_eval.read_results(paths)
    assert results.trials == 2 and results.models == ["mockllm/good", "mockllm/poor"]
    assert results.items == ["word-0", "word-1", "word-2"]
    assert results.scores.tolist() == [[1, 1, 1], [1, 0, 0]]
    plain = topk_eval.read_results([path.with_suffix(".json") for path in paths])
    assert sorted(cells(plain)) == sorted(cells(results))
    ordered = topk_eval.read_results(paths, order="columns")  # as the header has it
    assert ordered.order == "given" and ordered.items == results.items


def test_a_log_of_inspect_with_two_scorers():
    pytest.importorskip("pyarrow")
    path = LOGS / "inspect" / "scored_twice_poor.eval"
    with pytest.raises(ValueError, match="any of the columns 'score_includes', 'score_exact'"):
        topk_eval.read_results(path)
    for name in ("score_exact", "exact"):
        assert topk_eval.read_results(path, score=name).scores.tolist() == [[1, 0, 0]]


def test_recorded_logs_of_lm_evaluation_harness():
    results = topk_eval.read_results(LOGS.glob("lm_eval/*/samples_even_*.jsonl"))
    sums = dict(zip(results.models, results.scores.sum(axis=1).tolist(), strict=True))
    assert sums == {"toy__left": 3, "toy__right": 4}
    both = sorted(LOGS.glob("lm_eval/toy__left/*.jsonl"))
    with pytest.raises(ValueError, match="'exact_match,strict', 'exact_match,loose'"):
        topk_eval.read_results(both)
    loose = topk_eval.read_results(both[:1], score="exact_match,loose")
    strict = topk_eval.read_results(both[:1], score="exact_match,strict")
    assert loose.scores.tolist() == [[1] * 5] and strict.scores.sum() < 5
