"""No column is guessed: what is no score is refused, with the option that names the right one."""

import json
import warnings

import numpy as np
import pytest

import topk
import topk_eval
from topk_eval.reading.names import names_in


def write(path, text):
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, encoding="utf-8")
    return path


def read(tmp_path, text, name="r.csv", **options):
    return topk_eval.read_results(write(tmp_path / name, text), **options)


def test_the_first_column_may_be_named_pk(tmp_path):
    results = read(tmp_path, "PK,model,item,score\n1,a,x,1\n2,b,x,0\n")
    assert results.scores.tolist() == [[1], [0]]


WORKERS = "question,worker,answer\nq1,1,1\nq2,0,0\nq3,1,1\nq4,0,1\n"
REFUSED = {  # table: what is said
    WORKERS: r"'worker', 'answer' of the columns 'worker', 'answer' can be no model; name columns "
             r"with --model and --score, .*--drop worker,answer.*--columns",
    "question,gpt-4,claude,difficulty\n1,1,0,.9\n2,1,1,.95\n":
        "'difficulty' of the columns 'gpt-4', 'claude', 'difficulty' can be no model",
    "question,truth\n1,1\n2,0\n": "'truth' of the columns 'truth' can be no model",
    "model,win_rate,std_err\na,.5,.1\nb,.4,.1\n": "'win_rate', 'std_err' of .* can be no item",
    "instance,seed,1,2,3\ni1,42,.1,.2,.3\ni2,17,.1,.2,.3\n": "'seed' of the columns",
    "question,rater,response\n1,1,1\n1,2,0\n": "'rater', 'response' of the columns",
    "question,user,vote\n1,1,1\n1,2,0\n": "'user', 'vote' of the columns",
    "item,annotator_id,judgement\n1,1,1\n1,2,0\n": "'annotator_id', 'judgement' of the columns",
    "Unnamed: 0,model,q1,q2\n0,a,1,1\n1,b,0,0\n": "'Unnamed: 0' of the columns",
    ",model,q1,q2\n0,a,1,1\n1,b,0,0\n": "'' of the columns",
    "item,document,a,b\n1,1,1,0\n2,1,1,0\n": "'document' of the columns",
    "variant,visitors,conversions\nA,1200,30\nB,1000,45\nC,900,20\n":
        r"columns 'visitors', 'conversions' are counts and no scores on items; name them "
        "with --arm, --count and --sum of topk rank",
    "question_id,model_a,model_b,winner\n1,x,y,model_a\n":
        "compare two models in each row, .* give a table with a score for each model and item",
    "generator,annotator,item,preference\nm1,judge1,1,1\nm2,judge2,2,0\n":
        "the model may be any of the columns 'generator', 'annotator'; name one with model=",
    "generator_1,generator_2,annotator,instruction,preference\na,b,c,x,1\n":
        "the model may be any of the columns 'generator_1', 'generator_2', 'annotator'",
}


@pytest.mark.parametrize("text", REFUSED)
def test_what_is_no_score_is_refused(tmp_path, text):
    with pytest.raises(ValueError, match=REFUSED[text]):
        read(tmp_path, text)


def test_columns_that_are_named_are_taken(tmp_path):
    results = read(tmp_path, WORKERS, model="worker", score="answer")
    assert results.models == ["1", "0"]
    text = "question,gpt-4,claude,difficulty\n1,1,0,.9\n2,1,1,.95\n"
    for options in ({"drop": ["difficulty"]}, {"columns": ["gpt-4", "claude"]}):
        results = read(tmp_path, text, **options)
        assert results.models == ["gpt-4", "claude"]
        assert results.scores.tolist() == [[1, 1], [0, 1]]
    results = read(tmp_path, text, columns=["difficulty"])  # if it is meant
    assert results.models == ["difficulty"]
    with pytest.raises(ValueError, match="no column 'gpt-5' of --columns; choose among 'question'"):
        read(tmp_path, text, columns=["gpt-5"])
    with pytest.raises(ValueError, match="drop must be made of names of columns, got 'cost'"):
        read(tmp_path, text, drop=["cost"])
    with pytest.raises(ValueError, match="columns must be a sequence of names"):
        read(tmp_path, text, columns="gpt-4")
    with pytest.raises(ValueError, match="columns must be at least one name"):
        read(tmp_path, text, columns=[])
    with pytest.raises(ValueError, match="name the column of the other with --model or --item"):
        read(tmp_path, "a,b\n1,0\n", columns=["a"])


def test_models_may_be_named_a_and_b(tmp_path):
    results = read(tmp_path, "question,Model A,Model B\n1,1,0\n2,1,\n")
    assert results.models == ["Model A", "Model B"]


def test_an_annotator_is_a_model_where_nothing_else_can_be(tmp_path):
    text = "annotator,item,score\nx,1,1\ny,1,0\n"
    assert read(tmp_path, text).models == ["x", "y"]
    text = "system,annotator,item,score\na,x,1,1\nb,x,1,0\n"
    assert read(tmp_path, text).models == ["a", "b"]


def test_scores_outside_the_bounds_name_the_option_and_the_range(tmp_path):
    told = "are from 0 to 10: give the bounds of the scale, not of the results at hand, as --bou"
    wide, tidy = "model,q1,q2\na,3,10\nb,0,7\n", "model,item,score\na,1,0\na,2,3\nb,1,10\n"
    with pytest.raises(ValueError, match=r"line 2, column 'q1': is 3, and scores are in \[0, 1\].*"
                       + told + "nds 0 10$"):
        read(tmp_path, wide)
    one = "model,q1,q2,q3\na,1,0,10\nb,0,1,1\n"  # most columns have scores within the bounds
    with pytest.raises(ValueError, match=told + ".*'q1', 'q2', 'q3' are taken for items: .*--dr"):
        read(tmp_path, one)
    with pytest.raises(ValueError, match=r"line 3, column 'score': is 3, .*" + told):
        read(tmp_path, tidy)
    for text in (wide, tidy):
        results = read(tmp_path, text, bounds=(0, 10), lower_is_better=True)
        assert results.bounds == (0, 10) and results.lower_is_better


def test_scores_named_like_errors_and_unused_clusters_are_told(tmp_path):
    text = "model,item,document,wer\na,1,x,.1\na,2,x,.3\na,3,y,.2\nb,1,x,.2\nb,2,x,.2\nb,3,y,0\n"
    with pytest.warns(topk.TopkWarning) as told:
        read(tmp_path, text, score="wer")
    said = " ".join(str(each.message) for each in told)
    assert "lower_is_better=True (--lower-is-better)" in said and "--cluster document" in said
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        results = read(tmp_path, text, score="wer", cluster="document", lower_is_better=True)
    assert results.clusters == ["x", "x", "y"]
    low = results.fills().low
    assert low.shape == (2, 2) and low[0].tolist() == pytest.approx([.8, .8])
    wide = "question,document,a,b\n1,x,1,0\n2,x,1,1\n3,y,0,1\n"
    results = read(tmp_path, wide, cluster="document")
    assert results.models == ["a", "b"] and results.clusters == ["x", "x", "y"]
    with pytest.raises(ValueError, match="has a cluster for each model; clusters are of items"):
        read(tmp_path, "model,document,q1\na,x,1\nb,y,0\n", cluster="document")
    with pytest.raises(ValueError, match="cluster must be that of item '1' in earlier rows"):
        read(tmp_path, "model,item,document,score\na,1,x,1\nb,1,y,1\n", cluster="document")


def test_names_that_read_alike_and_models_that_share_no_item_are_told(tmp_path):
    write(tmp_path / "a.csv", "model,item,score\n" + "".join(f"a,{i},1\n" for i in range(40)))
    write(tmp_path / "b.csv", "model,item,score\n" + "".join(f"b,{i}.0,0\n" for i in range(40)))
    notes = topk_eval.read_results(tmp_path).notes
    assert notes[0].startswith("no two models share an item, so that nothing can be compared")
    assert ("'0' and '0.0' read alike and are different items (40 such pairs); write one name if "
            "they are one") in notes
    for one, other in (("GPT 4", "gpt 4"), ("\u00e9", "e\u0301"), ("a b", "a  b")):
        notes = read(tmp_path / one, f"model,item,score\n{one},1,1\n{other},1,0\n").notes
        assert any(f"{one!r} and {other!r} read alike" in note for note in notes)
    notes = read(tmp_path / "c", "model,item,score\na,1,1\nb,1,0\nc,1.1,1\nc,1.10,1\n").notes
    assert notes[0] == "'c' shares no item with any other model, and cannot be compared"
    assert not any("read alike and are" in note for note in notes)


def test_prompts_of_several_lines_are_items_in_json(tmp_path):
    rows = [{"generator": model, "instruction": f"question {i}:\nA or B?", "score": score}
            for model, score in (("a", 1), ("b", 0)) for i in range(40)]
    results = read(tmp_path, json.dumps(rows), "ann.json", model="generator", item="instruction")
    assert results.items[0] == "question 0:\nA or B?" and len(results.items) == 40


def test_long_fields_are_read(tmp_path):
    text = "model,item,score,response\n" + "".join(
        f'{model},{i},{int(model == "a")},"{"x" * (140_000 if i == 1 else 5)}"\n'
        for model in "ab" for i in range(3))
    assert read(tmp_path, text).scores.tolist() == [[1] * 3, [0] * 3]


def test_many_models_in_rows_are_no_cause_of_alarm(tmp_path):
    """They were called transposed, although a column names them."""
    text = "model," + ",".join(f"task{j}" for j in range(17)) + "\n" + "".join(
        f"m{i}," + ",".join(f".{(i + j) % 10}" for j in range(17)) + "\n" for i in range(73))
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert len(read(tmp_path, text).models) == 73


def test_folders_with_an_ending_and_hidden_copies_are_no_files(tmp_path):
    write(tmp_path / "a.csv", "model,item,score\na,1,1\nb,1,0\n")
    write(tmp_path / "results.parquet" / "_SUCCESS", "")
    write(tmp_path / "._a.csv", "not a table")
    write(tmp_path / ".ipynb_checkpoints" / "a.csv", "model,item,score\na,1,1\nb,1,0\n")
    assert topk_eval.read_results(tmp_path).scores.tolist() == [[1], [0]]


def test_entries_of_objects_are_named_with_dots(tmp_path):
    rows = [{"model": {"id": model, "maker": "x"}, "item": {"no": {"of": i}},
             "evaluation": {"score": i % 2, "other.name": 1}} for model in "ab" for i in range(3)]
    text = "".join(json.dumps(row) + "\n" for row in rows)
    results = read(tmp_path, text, "r.jsonl", model="model.id", item="item.no.of",
                   score="evaluation.score")
    assert results.models == ["a", "b"] and results.scores.tolist() == [[0, 1, 0]] * 2
    with pytest.raises(ValueError, match="column 'model': is an object; name what is meant in it"):
        read(tmp_path, text, "r.jsonl", item="item.no.of", score="evaluation.score")
    with pytest.raises(ValueError, match=r"no column 'evaluation.grade' for the score"):
        read(tmp_path, text, "r.jsonl", model="model.id", item="item.no.of",
             score="evaluation.grade")


def test_models_that_end_early_are_told_of_the_order_of_columns(tmp_path):
    """A file as people have it: grades from 0 to 10, some refused, and two models stopped."""
    rng = np.random.default_rng(5)
    grades = rng.integers(0, 11, (12, 400)).astype(str)
    grades[rng.random((12, 400)) < .03] = "NA"
    grades[10:, 150:] = ""
    text = ",".join(["model", *(f"q{i}" for i in range(400))]) + "\n" + "".join(
        ",".join([f"m{a}", *row]) + "\n" for a, row in enumerate(grades.tolist()))
    results = read(tmp_path, text, bounds=(0, 10))
    assert results.absent.sum() == 2 * 250
    assert results.failed.sum() == (grades == "NA").sum()
    assert results.notes[0].startswith("'m10', 'm11' end before the last item; if the items have")
    assert "(--order columns)" in results.notes[0]
    notes = read(tmp_path, text, bounds=(0, 10), order="columns").notes
    assert not any("before the last item" in note for note in notes)


def test_orders_of_files(tmp_path):
    wide, tidy = "model,b,a\nm,1,0\nn,,1\n", "model,item,score\nm,b,1\nn,a,0\n"
    assert read(tmp_path, wide, order="columns").items == ["b", "a"]
    assert read(tmp_path, wide, order="names").items == ["a", "b"]
    for order in ("columns", "names"):
        with pytest.raises(ValueError, match="has a row for each result; .*give a list of all it"):
            read(tmp_path, tidy, order=order)
    results = read(tmp_path, tidy, order=["c", "a", "b"], drawn=True)
    assert results.items == ["c", "a", "b"] and results.order == "drawn"
    listed = write(tmp_path / "items.txt", "c\na\nb\n")
    assert read(tmp_path, tidy, order=listed).items == ["c", "a", "b"]
    with pytest.raises(ValueError, match="order must be a list of all items"):
        read(tmp_path, tidy, order=["a"])


@pytest.mark.parametrize("ending", ["json", "jsonl", "ndjson"])
def test_a_list_of_names_in_json_is_refused(tmp_path, ending):
    """Its lines would be taken for names."""
    path = tmp_path / f"items.{ending}"
    path.write_text('["q1", "q2"]\n')
    with pytest.raises(ValueError, match=r"is JSON; write a file with a name on each line, or a "):
        names_in(path, "")
