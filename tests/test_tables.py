"""The door for tables: frames of all kinds, labels joined or refused, places in refusals."""

import inspect
import itertools
from decimal import Decimal

import numpy as np
import pandas as pd
import pytest

import topk
from topk import (
    TopkWarning,
    _tables,
    confidence,
    guarantees,
    hardness,
    lower_bounds,
    metrics,
    plots,
)
from topk._checks import LONGEST, as_numbers, refuse

LOG = {"m": ["a", "a", "b", "b"], "q": [0, 1, 0, 1], "x": [1, 0, 1, 1]}
WIDE = pd.DataFrame([[1, 0], [0, 1]], index=["a", "b"], columns=["p", "q"])
FORMS = {
    "numpy": lambda frame: frame,
    "nullable": lambda frame: frame.convert_dtypes(),
    "arrow": lambda frame: pytest.importorskip("pyarrow") and frame.convert_dtypes(
        dtype_backend="pyarrow"),
    "objects": lambda frame: frame.astype(object),
    "polars": lambda frame: pytest.importorskip("polars").DataFrame(frame.to_dict("list")),
    "pyarrow": lambda frame: pytest.importorskip("pyarrow").table(frame.to_dict("list")),
}


def tidy(frame, **more):
    return _tables.read_tidy(frame, {"arm": "m", "item": "q"}, {"reward": "x"}, **more)


@pytest.mark.parametrize("form", FORMS)
def test_tidy_and_wide_tables_of_all_kinds(form):
    found = tidy(FORMS[form](pd.DataFrame(LOG)))
    assert (found["arm"], found["item"]) == (LOG["m"], LOG["q"])
    assert found["reward"].tolist() == LOG["x"]
    named = form in ("polars", "pyarrow")  # these have no index
    wide = WIDE.reset_index(names="model") if named else WIDE
    cells, models, items = _tables.read_wide(FORMS[form](wide))
    assert (cells.tolist(), models, items) == ([[1, 0], [0, 1]], ["a", "b"], ["p", "q"])


@pytest.mark.parametrize("values", [[True] * 4, [Decimal(1)] * 4, [np.float32(1)] * 4])
def test_columns_of_objects_that_are_numbers(values):
    assert tidy(pd.DataFrame(LOG).assign(x=pd.Series(values, dtype=object)))["reward"].sum() == 4


@pytest.mark.parametrize("form", ["numpy", "nullable", "objects", "polars", "pyarrow"])
def test_a_missing_number_is_named_or_nan(form):
    frame = FORMS[form](pd.DataFrame(LOG).assign(x=pd.Series([1, 0, None, 1], dtype="Int64")))
    with pytest.raises(ValueError, match=r"^reward must be .*row 2"):
        tidy(frame)
    assert np.isnan(tidy(frame, missing=True)["reward"]).tolist() == [False, False, True, False]


def test_missing_labels_texts_and_unknown_columns_are_refused():
    frame = pd.DataFrame(LOG)
    with pytest.raises(ValueError, match=r"^arm must be .*row 1"):
        tidy(frame.assign(m=["a", None, "b", "b"]), missing=True)
    with pytest.raises(ValueError, match=r"^item must be .*names .*'q'.*got \[2\] \(row 1"):
        tidy(frame.assign(q=[(1,), [2], [3], [1]]))
    with pytest.raises(ValueError, match=r"^reward must be .*'x'.*got 'two' \(row 3"):
        tidy(frame.assign(x=[1, 0, 1, "two"]))
    with pytest.raises(ValueError, match=r"^arm must be the name of one of the columns"):
        tidy(frame.rename(columns={"m": "model"}))
    with pytest.raises(ValueError, match="^frame must be a pandas or polars"):
        tidy([1, 2])
    with pytest.raises(ValueError, match=r"collect\(\)"):
        tidy(pytest.importorskip("polars").DataFrame(LOG).lazy())


def test_a_missing_cell_is_named_by_model_and_item():
    with pytest.raises(ValueError, match=r"^matrix must be .*model 'b', item 'p'"):
        _tables.read_wide(pd.DataFrame([[1, 0], [None, 1]], ["a", "b"], ["p", "q"], dtype=object))


@pytest.mark.parametrize("form", ["numpy", "polars", "pyarrow"])
def test_a_column_named_model_names_the_models_in_all_kinds_of_tables(form):
    for names in ([0, 1], ["a", "b"]):  # 0 and 1 could be results
        table = FORMS[form](pd.DataFrame({"p": [1, 0], "model": names, "q": [0, 0]}))
        cells, models, items = _tables.read_wide(table)
        assert (cells.tolist(), models, items) == ([[1, 0], [0, 0]], names, ["p", "q"])


def test_rows_with_labels_are_joined():
    """A regression test: they were put together in whatever orders they had."""
    one, two = pd.Series([1, 0, 1], list("xyz")), pd.Series([0, 1, 1], list("yxz"))
    want = [[1, 0, 1]] * 2
    for rows in ([one, two], (one, dict(two)), {"a": one, "b": two}, {"a": [1, 0, 1], "b": one}):
        names = ["a", "b"] if isinstance(rows, dict) else None
        cells, models, items = _tables.read_wide(rows)
        assert (cells.tolist(), models, items) == (want, names, ["x", "y", "z"])
    assert _tables.read_wide({"a": [1, 0], "b": [1, 1]})[1:] == (["a", "b"], None)
    assert _tables.read_wide([pd.Series([1, 0]), pd.Series([0, 1])]).items is None
    for rows in ([one, two[:2]], {"a": one, "b": two.rename({"x": "w"})}):
        with pytest.raises(ValueError, match="^matrix of model .* must be labelled as matrix of"):
            _tables.read_wide(rows)


@pytest.mark.parametrize("names", [(0, 1, 2), (2, 0, 1), (True, False, "x"), (1.5, "q", -1)])
def test_columns_may_have_any_names(names):
    frame = pd.DataFrame({name: LOG[x] for name, x in zip(names, "mqx", strict=True)})
    arm, item, reward = names
    found = _tables.read_tidy(frame, {"arm": arm, "item": item}, {"reward": reward})
    assert (found["arm"], found["item"]) == (LOG["m"], LOG["q"])
    assert found["reward"].tolist() == LOG["x"]


def test_a_transposed_table_is_noticed():
    with pytest.warns(TopkWarning, match="transpose"):
        _tables.read_wide(pd.DataFrame(np.zeros((50, 12))))


SUMS = pd.Series({"blue": 90, "red": 10, "green": 20})
COUNTS = pd.Series({"red": 100, "green": 300, "blue": 200})


@pytest.mark.parametrize("order", [*itertools.permutations(range(3))])
def test_labels_are_joined_whatever_their_order(order):
    names, counts = COUNTS.index[[*order]].tolist(), COUNTS.iloc[[*order]]
    for given in ({"sums": SUMS, "counts": counts}, {"sums": dict(SUMS), "counts": counts}):
        sums, found = _tables.joined_to(names, "arms", **given)
        assert sums.tolist() == SUMS[names].tolist()
        assert found.tolist() == counts.tolist()
        sums, found = _tables.joined(**given)
        assert (sums.tolist(), found.tolist()) == (SUMS.tolist(), COUNTS[SUMS.index].tolist())


def test_labels_that_cannot_be_joined_are_refused():
    for other in (COUNTS[:2], pd.concat([COUNTS, COUNTS]), COUNTS.rename({"red": "pink"})):
        with pytest.raises(ValueError, match="^counts must be labelled as sums is"):
            _tables.joined(sums=SUMS, counts=other)
    with pytest.raises(ValueError, match="^sums must be labelled as arms is"):
        _tables.joined_to(["red", "green"], "arms", sums=SUMS)
    turned = pd.Series([1, 2, 3], index=[2, 0, 1])
    with pytest.raises(ValueError, match="another order"):
        _tables.joined_to([0, 1, 2], "arms", sums=turned)
    many = pd.Series(range(12), index=range(11, -1, -1))  # 10 is before 2 as text
    with pytest.raises(ValueError, match="another order"):
        _tables.joined_to(range(12), "arms", sums=many)


def test_labels_have_an_order():
    pa = pytest.importorskip("pyarrow")
    made = ["b", "a"]
    for names in (made, dict.fromkeys(made), dict.fromkeys(made).keys(), iter(made), pa.array(made),
                  np.array(made), pd.Index(made), pytest.importorskip("polars").Series(made)):
        assert _tables.as_labels(names, "arms", "names") == made
    with pytest.raises(ValueError, match="^arms must be names, in an order: a set"):
        _tables.as_labels({*made}, "arms", "names")


@pytest.mark.parametrize("bad", [None, "x", 1j, pd.NA, [1], np.datetime64("2026-01-01")])
def test_a_refusal_names_the_entry_and_is_short(bad):
    values = [True] * 200_000
    values[5000] = bad
    with pytest.raises(ValueError, match=r"^rewards must be numbers, got .*entry 5000") as caught:
        as_numbers(_objects(values), "rewards", "numbers")
    assert len(str(caught.value)) <= LONGEST


def _objects(values):
    array = np.empty(len(values), dtype=object)
    for place, value in enumerate(values):
        array[place] = value
    return array


def test_no_part_makes_a_refusal_long():
    for parts in itertools.product(["x", "x" * 9999], repeat=4):
        with pytest.raises(ValueError, match="x must be x.*got 'x.*x") as caught:
            refuse(*parts)
        assert len(str(caught.value)) <= LONGEST


# Formulas

FIRST = pd.Series({"a": 4, "b": 3, "c": 2})
PAIRS = {  # function -> its labelled arguments, and others
    hardness.bernoulli_kl: ({"p": FIRST / 5, "q": FIRST / 9}, {}),
    hardness.ugape_complexity: ({"means": FIRST / 5, "variances": FIRST / 40},
                                {"k": 1, "epsilon": 0.1}),
    lower_bounds.group_log_ratio: ({"pulls": FIRST * 3, "ones": FIRST}, {"epsilon": 0.05}),
    lower_bounds.log_likelihood_ratio: (
        {"pulls": FIRST * 3, "sums": FIRST, "means": FIRST / 5, "other": FIRST / 9}, {}),
    lower_bounds.information: ({"pulls": FIRST, "means": FIRST / 5, "other": FIRST / 9}, {}),
    lower_bounds.totals: ({"arms": FIRST, "rewards": FIRST % 2}, {"n": 5}),
    lower_bounds.pair_log_odds: ({"arms": FIRST - 2, "rewards": FIRST % 2}, {"k": 2}),
    guarantees.ugape_step: ({"means": FIRST / 5, "radii": FIRST / 9}, {"k": 1}),
    guarantees.average_off: ({"mean": FIRST / 5, "off": FIRST / 40}, {"pulls": 9}),
}


@pytest.mark.parametrize("function", PAIRS, ids=lambda function: function.__name__)
def test_formulas_join_labels(function):
    labelled, others = PAIRS[function]
    expected = function(**{x: y.to_numpy() for x, y in labelled.items()}, **others)
    for name in [*labelled][1:]:
        turned = labelled | {name: labelled[name][::-1]}
        for given in (turned, {x: dict(y) for x, y in turned.items()}):
            assert repr(function(**given, **others)) == repr(expected)
        with pytest.raises(ValueError, match=rf"^{name} must be labelled as"):
            function(**labelled | {name: labelled[name].rename({"c": "d"})}, **others)


def test_shapes_of_beta_arms_join_labels():
    a, b = pd.Series([9, 5, 1], list("xyz")), pd.Series([5, 1, 9], list("yxz"))
    for given in ((a, b), (dict(a), dict(b)), (a, dict(b))):
        assert topk.BetaBandit(*given).means.tolist() == [0.9, 0.5, 0.1]
    with pytest.raises(ValueError, match="^b must be labelled as a is"):
        topk.BetaBandit(a, b.rename({"x": "w"}))


@pytest.mark.parametrize("order", [*itertools.permutations(range(3))])
@pytest.mark.parametrize("labels", [[0, 1, 2], [9, 4, 6], ["a", "b", "c"]])
def test_evidence_looks_up_labels(labels, order):
    """A regression test: chosen arms were places in whatever order the numbers had."""
    pulls, sums = pd.Series([100, 90, 80], labels), pd.Series([80, 30, 32], labels)
    first, out = labels[:1], labels[2:]
    more = {"method": "intervals"}
    expected = [confidence.evidence([100, 90, 80], [80, 30, 32], [0], withdrawn=x, **more)
                for x in ([], [2])]
    assert 0 < expected[1] < expected[0] < 0.1
    turned = pulls.iloc[[*order]]
    for given in ((turned, sums), (turned, sums.iloc[[*order]]), (dict(turned), dict(sums))):
        found = [confidence.evidence(*given, first, withdrawn=x, **more) for x in ([], out)]
        assert found == expected
        with pytest.raises(ValueError, match="^chosen must be"):
            confidence.evidence(*given, [3])


def test_a_strip_looks_up_labels():
    ax = pytest.importorskip("matplotlib.figure").Figure().subplots()
    means = pd.Series([0.2, 0.9, 0.6], ["c", "a", "b"])
    plots.arms_strip(ax, means, 1, selected=["b"])
    [drawn] = [line.get_ydata() for line in ax.lines if line.get_label() == "chosen"]
    assert drawn.tolist() == [0.6]


@pytest.mark.parametrize("name", metrics.__all__)
def test_measures_look_up_labels(name):
    measure = getattr(metrics, name)
    more = {"epsilon": 0.25} if "epsilon" in inspect.signature(measure).parameters else {}
    values = np.array([0.2, 0.9, 0.6, 0.4])
    means = pd.Series(values, index=["d", "a", "c", "b"])
    sets = np.array([[1, 2], [3, 0], [2, 3]])
    names = means.index.to_numpy()[sets]
    for labelled in (means, dict(means)):
        assert np.array_equal(measure(names, labelled, **more), measure(sets, values, **more))
    shuffled = pd.Series(values, index=[2, 0, 3, 1])  # numbers of arms, sorted otherwise
    by_number = measure([[0, 3], [1, 2], [3, 1]], shuffled, **more)
    assert np.array_equal(by_number, measure(sets, values, **more))
    for wrong in (["a", "x"], [0, 1]):
        with pytest.raises(ValueError, match="^selected must be made of labels of means"):
            measure(wrong, means, **more)
    with pytest.raises(ValueError, match="^means must be a Series with different labels"):
        measure(["a", "b"], means.rename({"c": "a"}), **more)
