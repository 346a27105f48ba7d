"""Labels at every door: joined as names are, or refused; only rows of a table are by position."""

import itertools

import numpy as np
import pandas as pd
import pytest

import topk
from topk_eval import Evaluation, Gate

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
