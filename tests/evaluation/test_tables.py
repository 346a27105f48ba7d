"""Tables of any kind as test sets, pools and rankings take them."""

import numpy as np
import pandas as pd
import pytest
from test_tables import FORMS

import topk_eval


@pytest.mark.parametrize("form", ["numpy", "polars", "pyarrow"])
def test_a_column_named_model_names_the_models_in_all_kinds_of_tables(form):
    for names in ([0, 1], ["a", "b"]):  # 0 and 1 could be results
        table = FORMS[form](pd.DataFrame({"p": [1, 0], "model": names, "q": [0, 0]}))
        found = topk_eval.tiers(table).frame()
        assert found["model"].tolist() == names and found["mean"].tolist() == [0.5, 0]
        assert topk_eval.TestSet(table).names == names


def test_rows_with_labels_are_joined():
    """A regression test: they were put together in whatever orders they had."""
    one, two = pd.Series([1, 0, 1], list("xyz")), pd.Series([0, 1, 1], list("yxz"))
    for rows in ([one, two], (one, dict(two)), {"a": one, "b": two}, {"a": [1, 0, 1], "b": one}):
        names = ["a", "b"] if isinstance(rows, dict) else None
        for make in (topk_eval.TestSet, topk_eval.ItemPool):
            assert make(rows).matrix.tolist() == [[1, 0, 1]] * 2 and make(rows).names == names
        assert topk_eval.tiers(rows).names == (names or [0, 1])
    for rows in ([one, two[:2]], {"a": one, "b": two.rename({"x": "w"})}):
        with pytest.raises(ValueError, match="^matrix of model .* must be labelled as matrix of"):
            topk_eval.TestSet(rows)


@pytest.mark.parametrize("form", ["numpy", "objects", "arrow", "polars", "pyarrow"])
def test_a_missing_name_is_refused(form):
    names = pd.Series(["a", None, "b"], dtype=object)
    table = FORMS[form](pd.DataFrame({"model": names, "p": [1, 0, 1]}))
    for read in (topk_eval.tiers, topk_eval.TestSet):
        with pytest.raises(ValueError, match=r"whose models have names, got .*\(model 1, counted"):
            read(table)
    with pytest.raises(ValueError, match=r"whose items have names, got nan \(item 1, counted"):
        topk_eval.tiers(pd.DataFrame([[1, 0], [0, 1]], columns=["p", np.nan]))


@pytest.mark.parametrize("form", ["numpy", "polars", "pyarrow"])
def test_numbers_of_rows_are_no_item(form, tmp_path):
    """A regression test: a written index was an item, on which later models are better."""
    path = tmp_path / "table.csv"
    pd.DataFrame({"p": [1, 9, 4], "q": [3, 4, 5]}).to_csv(path)
    name = "Unnamed: 0" if form == "numpy" else ""
    frame = FORMS[form](pd.read_csv(path).rename(columns={"Unnamed: 0": name}))
    for read in (topk_eval.Results, topk_eval.TestSet, topk_eval.ItemPool):
        with pytest.raises(ValueError, match=f"a column '{name}', which may number the rows"):
            read(frame, bounds=(0, 10))


@pytest.mark.parametrize("form", ["pandas", "pyarrow"])
def test_an_item_that_occurs_twice_is_refused(form):
    """A regression test: it counted twice."""
    frame = pd.DataFrame([[1, 0, 1], [0, 0, 1]], columns=["q1", "q2", "q1"])
    if form == "pyarrow":
        pa = pytest.importorskip("pyarrow")
        frame = pa.table([pa.array(column) for column in frame.to_numpy().T], [*frame.columns])
    for function, name in ((topk_eval.tiers, "results"), (topk_eval.TestSet, "matrix"),
                           (topk_eval.ItemPool, "matrix")):
        with pytest.raises(ValueError, match=f"^{name} must be .*different columns, got .*two col"):
            function(frame)


def test_names_that_differ_in_their_type_only_are_refused():
    """A regression test: 1 and "1" were two models, as of a file that pandas reads in parts."""
    table = pd.DataFrame({"model": [1, "a", "1", "a"], "item": [0, 0, 1, 1], "score": [1, 0, 1, 0]})
    for call in (topk_eval.tiers, lambda x: topk_eval.TestSet(topk_eval.Results(x))):
        with pytest.raises(ValueError, match="differ in more than their type .*got '1' .row 2"):
            call(table)
    wide = pd.DataFrame([[1, 0], [0, 1]], ["a", "b"], [7, "7"])
    for table, kind in ((wide, "item"), (wide.T, "model")):
        with pytest.raises(ValueError, match=f"differ in more than their type, got '7' .{kind} 1"):
            topk_eval.tiers(table)
    wide.columns = [7, "8"]
    assert len(topk_eval.tiers(wide.T).names) == 2
