"""Labels at every door: joined as names are, or refused; only rows of a table are by position."""

import itertools
import re

import numpy as np
import pandas as pd
import pytest

import topk
from topk._tables import joined_to
from topk_eval import Evaluation, Gate, Results, TestSet

NAMES = ["red", "Green", "7"]
VALUES = [1, 0, 1]
KL, PAIRED = topk.KLLUCB(1, 0, 0.1), topk.PairedBetting(1, 0, 0.1)


def observed(values):
    return KL.start(NAMES).observe(NAMES, values).means.tolist()


def sums(values):
    return KL.start(NAMES).observe(NAMES, sums=values, counts=[1] * 3).means.tolist()


def totals(values):
    return KL.start(NAMES).observe_totals(NAMES, values, [1] * 3).means.tolist()


def lost(values):
    session = KL.start(NAMES)
    session.ask(9)
    before = session.in_flight
    return (before - session.lost(NAMES, values).in_flight).tolist()


def models(values):
    study = Evaluation(PAIRED, NAMES, items=["p", "q"])
    return study.tell(NAMES, ["p"] * 3, values).means.tolist()


def items(values):
    study = Evaluation(PAIRED, ["a", "b", "c"], items=NAMES)
    return study.tell(["a", "b", "c"], NAMES, values).means.tolist()


def counts(values):
    study = Evaluation(PAIRED, NAMES)
    asked, _ = study.ask(3)
    assert sorted(asked) == sorted(NAMES)
    return study.tell_counts(NAMES, values, [1] * 3).means.tolist()


def pool(values):
    trial = Gate(rng=0).offer("new", items=NAMES, champion_results=values)
    its = trial._state.held
    found = dict(zip(its.names, its.results[0].tolist(), strict=True))
    return [found[name] for name in NAMES]


def trial(values):
    """Return the candidate's results, told with the champion's."""
    trial = Gate(rng=0).offer("new", items=["x", *NAMES, "y", "z"])
    assert {*trial.start(6)} > {*NAMES}
    trial.tell([0, 0, 0], values, items=NAMES)
    its = trial._state.held
    found = dict(zip(its.names, its.results[1].tolist(), strict=True))
    return [found[name] for name in NAMES]




DOORS = {door.__name__: door for door in (
    observed, sums, totals, lost, models, items, counts, pool, trial)}
ORDER = [2, 0, 1]
OTHER = [NAMES[x] for x in ORDER]
TURNED = [VALUES[x] for x in ORDER]


def xarray(values, labels):
    """Return a vector of xarray, or, without it, what has the same attributes."""
    try:
        import xarray
    except ImportError:
        vector = np.asarray(values).view(Vector)
        vector.indexes = {"arm": pd.Index(labels)}
        return vector
    return xarray.DataArray(values, coords={"arm": labels}, dims=["arm"])


class Vector(np.ndarray):
    dims = ("arm",)


JOINED = {
    "names in order": lambda: pd.Series(VALUES, NAMES),
    "names in another order": lambda: pd.Series(TURNED, OTHER),
    "a dict": lambda: dict(zip(OTHER, TURNED, strict=True)),
    "a named index": lambda: pd.Series(TURNED, pd.Index(OTHER, name="arm")),
    "categories": lambda: pd.Series(TURNED, pd.CategoricalIndex(OTHER)),
    "coordinates of xarray": lambda: xarray(TURNED, OTHER),
    "the numbers of rows": lambda: pd.Series(VALUES),
    "no labels": lambda: list(VALUES),
}
REFUSED = {
    "other text": (["red", "Green", "8"], "labelled '7'"),
    "another case": (["7", "red", "green"], "'green', which reads alike"),
    "blanks": (["7", "red ", "Green"], "'red ', which reads alike"),
    "composed letters": (["７", "red", "Green"], "'７', which reads alike"),
    "integers": ([7, 9, 11], "another order, or others"),
    "rows in another order": ([2, 0, 1], "another order, or others"),
    "a name twice": (["7", "red", "Green", "red"], "twice"),
    "tuples": (pd.MultiIndex.from_tuples([(name, 1) for name in OTHER]), "no entry labelled"),
    "the numbers of a named index": (pd.RangeIndex(3, name="arm"), "no entry labelled"),
}


@pytest.mark.parametrize(("door", "kind"), [*itertools.product(DOORS, JOINED)])
def test_labels_are_joined_at_every_door(door, kind):
    assert DOORS[door](JOINED[kind]()) == VALUES


@pytest.mark.parametrize(("door", "kind"), [*itertools.product(DOORS, REFUSED)])
def test_other_labels_are_refused_at_every_door(door, kind):
    labels, told = REFUSED[kind]
    with pytest.raises(ValueError, match=told):
        DOORS[door](pd.Series([*TURNED, 0][:len(labels)], labels))


@pytest.mark.parametrize("other", [["x", "y", "z"], [*range(3)]])
def test_other_coordinates_are_refused(other):
    for door in DOORS.values():
        with pytest.raises(ValueError, match="no entry labelled"):
            door(xarray(TURNED, other))


@pytest.mark.parametrize("order", [*itertools.permutations(range(3))])
def test_pairs_may_begin_with_the_model_or_the_item(order):
    pairs = [*zip(["a", "b", "c"], NAMES, strict=True)]
    for cells in (pairs, [pair[::-1] for pair in pairs]):
        index = pd.MultiIndex.from_tuples(cells)
        assert items(pd.Series(VALUES, index).iloc[[*order]]) == VALUES
    with pytest.raises(ValueError, match="no entry labelled"):
        items(pd.Series(VALUES, pd.MultiIndex.from_tuples([(a, "no") for a, _ in pairs])))


def test_names_that_are_integers():
    for index in ([20, 30], [30, 10], ["20", "10"], pd.Index([20, 30], name="arm")):
        with pytest.raises(ValueError, match="^sums must be"):
            KL.start([10, 20, 30]).observe([10, 20], sums=pd.Series([5, 0], index), counts=[5, 5])
    told = KL.start([10, 20, 30]).observe(
        [10, 20], sums=pd.Series([5, 0], pd.Index([20, 10], name="arm")), counts=[5, 5])
    assert told.means[:2].tolist() == [0, 1]


def means_of(names, cells=((0, 0), (1, 0), (0, 1), (1, 1))):
    """Return means of two numbered models from labelled results; the right ones are .1 and .2."""
    study = Evaluation(PAIRED, 2, 3, rng=0)
    index = pd.MultiIndex.from_tuples(cells, names=names)
    scores = pd.Series([0.1 * item + 0.2 * model for model, item in cells], index)
    return study.tell([0, 0, 1, 1], [0, 1, 0, 1], scores).means.tolist()


def test_the_names_of_an_index_say_what_its_labels_are():
    """Numbers of models and items look the same, so that pairs in either order would fit."""
    for names in (["model", "item"], ["Models", "items"]):
        assert means_of(names) == pytest.approx([0.05, 0.25])
    assert means_of(["item", "model"]) == pytest.approx([0.1, 0.2])
    assert means_of([None, None], ((0, 0), (0, 1), (1, 0), (1, 1))) == pytest.approx([0.05, 0.25])
    told = "^scores must .* labels that may be those of models and items or of items and models$"
    with pytest.raises(ValueError, match=told):
        means_of([None, None])


def test_clusters_and_names_with_labels_are_joined():
    frame = pd.DataFrame([[1, 0, 1], [0, 1, 1]], index=["a", "b"], columns=["x", "y", "z"])
    known = {"x": "c2", "y": "c2", "z": "c1", "of none": "c1"}
    for cluster in (known, pd.Series(known), pd.Series(known).iloc[::-1]):
        assert Results(frame, cluster=cluster).clusters == ["c2", "c2", "c1"]
    assert Results(frame, cluster=["c1", "c2", "c2"]).clusters == ["c1", "c2", "c2"]
    for cluster, told in ((pd.Series(known).iloc[1:], "none of item 'x'"),
                          (pd.Series(["c", "d"], ["x", "x"]), "two clusters of one item")):
        with pytest.raises(ValueError, match=told):
            Results(frame, cluster=cluster)
    assert TestSet(frame, names=["c", "d"]).names == ["c", "d"]
    with pytest.raises(ValueError, match="^names must be in the order of the rows"):
        TestSet(frame, names=["b", "a"])


TWINS = {"case": ("a", "A"), "a blank": ("a", "a "), "a fraction of zeros": ("7", "7.0"),
         "zeros before": ("7", "07"), "composed letters": ("\u00e9", "e\u0301"),
         "a dash": ("x-1", "x\u20111"), "what is not seen": ("a", "a\u200b")}
STARTS = {
    "a session": KL.start,
    "models of an evaluation": lambda names: Evaluation(PAIRED, names, 5),
    "items of an evaluation": lambda names: Evaluation(PAIRED, 2, names),
    "a test set": lambda names: TestSet([[1, 0], [0, 1]], names=names),
    "a pool of a gate": lambda names: Gate().offer("new", items=names),
}


@pytest.mark.parametrize("names", TWINS.values(), ids=[*TWINS])
@pytest.mark.parametrize("start", STARTS.values(), ids=[*STARTS])
def test_different_names_that_read_alike_are_named_where_they_begin(start, names):
    told = re.escape(f"{names[0]!r} and {names[1]!r} read alike and are different")
    with pytest.warns(topk.TopkWarning, match=told) as seen:
        start([*names])
    assert seen[0].filename == __file__


@pytest.mark.parametrize("names", TWINS.values(), ids=[*TWINS])
def test_a_table_notes_names_that_read_alike(names):
    frame = pd.DataFrame([[1, 0], [0, 1]], index=["p", "q"], columns=[*names])
    for table, noun in ((frame, "items"), (frame.T, "models")):
        [note] = Results(table).notes
        assert f"read alike and are different {noun}" in note
    assert Results(pd.DataFrame([[1, 0], [0, 1]], ["a", "b"], ["7.1", "7.10"])).notes == []


def test_long_lists_are_read_in_one_step_for_each_entry():
    """Twenty thousand items took minutes where each was looked for in a new set of all."""
    names = [f"item {i}" for i in range(20_000)]
    table = Results(pd.DataFrame(np.ones((2, 20_000)), ["a", "b"], names), order=names[::-1])
    assert table.items == names[::-1]
    values = pd.Series(range(20_000), names)
    assert joined_to(names[::-1], "names", values=values)[0].tolist() == [*range(20_000)][::-1]


def test_an_integer_column_with_missing_values_is_read_as_a_list_is():
    column = pd.array([1, None, 0], dtype="Int64")
    trial = Gate(rng=0).offer("new")
    trial.tell([0.1, 0.2, 0.3], column, items=["a", "b", "c"])
    assert trial.items == 3


@pytest.mark.parametrize("make", [topk.ReplayBandit, Results])
def test_half_of_a_letter_is_no_name(make):
    with pytest.raises(ValueError, match="text that UTF-8 can encode"):
        make({"\udc80": [1, 0], "b": [0, 1]})


def test_a_number_in_an_array_is_no_list_of_names():
    with pytest.raises(ValueError, match="^items must be"):
        Gate().offer("new", items=np.array(5))
    with pytest.raises(ValueError, match="^selected must be a list of labels"):
        topk.metrics.simple_regret({"a"}, pd.Series([1, 2.0], ["a", "b"]))


@pytest.mark.parametrize(("dim", "means"), [("model", [0, 1]), ("item", [1, 0]), ("arm", None)])
def test_the_name_of_a_dimension_says_what_its_labels_are(dim, means):
    """Where models and items have the same names; without that name, they are refused."""
    values = np.asarray([1, 0]).view(Vector)
    values.dims, values.indexes = (dim,), {dim: pd.Index(["q", "p"])}
    study = Evaluation(PAIRED, ["p", "q"], ["q", "p"])
    if means is not None:
        assert study.tell(["p", "q"], ["q", "p"], values).means.tolist() == means
        return
    with pytest.raises(ValueError, match="labels that may be those of items or of models"):
        study.tell(["p", "q"], ["q", "p"], values)
