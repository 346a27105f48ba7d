"""Tiers: what is stated follows from the evidence, and is wrong in at most delta of all tables."""

import itertools
import math

import numpy as np
import pandas
import pytest
from scipy.stats import binom

import topk
import topk_eval
from topk.confidence.paired import BETS, WEIGHTS
from topk.strategies.paired import SLACK
from topk_eval.pairs import PairsOfItems, Told, log_e_values
from topk_eval.ranks import closure, components, levels, member_count

pytestmark = pytest.mark.filterwarnings("ignore:delta = .* is the probability of failure")


def ranks(found):
    """Return model -> (rank_low, rank_high)."""
    frame = found.frame()
    return dict(zip(frame.model, zip(frame.rank_low, frame.rank_high, strict=True), strict=True))


def graded(n=6, items=400, seed=0, spread=0.1):
    """Return correlated grades of n models, the first the best."""
    rng = np.random.default_rng(seed)
    hard = rng.normal(0, 0.25, items)
    means = 0.7 - spread * np.arange(n)[:, None]
    return (means - hard + rng.normal(0, 0.1, (n, items))).clip(0, 1)


def falsely(found, values):
    """Return whether a statement contradicts the true values; ranks of ties by place."""
    order = sorted(range(len(values)), key=lambda a: (-values[a], a))
    rank = {a: place + 1 for place, a in enumerate(order)}
    for k in range(1, len(values)) if found.k is None else [found.k]:
        inside, outside = ([values[a] for a in x] for x in (found.names[:k], found.names[k:]))
        if found.decided(k) and max(outside) > min(inside) + found.epsilon:
            return True
    if found.k is None:
        return not all(low <= rank[a] <= high for a, (low, high) in ranks(found).items())
    right = {"in": lambda r: r <= found.k, "out": lambda r: r > found.k}
    frame = found.frame()
    return not all(right.get(t, bool)(rank[a])
                   for a, t in zip(frame.model, frame.tier, strict=True))


def in_drawn_order(table):
    """Return results whose columns stand in an order that was drawn at random."""
    return topk_eval.Results(table, order="columns", drawn=True)


def logs_of(table):
    """Return ln e of all pairs of a complete table, over all items."""
    return log_e_values(table, table, np.full(len(table), table.shape[1]))


# What is stated


def test_ranks_and_sets_have_half_of_delta_each():
    table, delta = graded(), 0.05
    logs = logs_of(table)
    n, found = len(table), topk_eval.tiers(table, delta)
    claims = logs >= math.log(n * (n - 1) / delta * SLACK)
    for k in range(1, n):
        p = min(1, 2 * (n - 1) * math.exp(-logs[:k, k:].min()))
        assert math.isclose(found.evidence(k), p) and found.decided(k) == (p <= delta)
        claims[:k, k:] |= found.decided(k)
    over = closure(claims)
    expected = {a: (1 + over[:, a].sum(), n - over[a].sum()) for a in range(n)}
    assert ranks(found) == expected and found.frame().tier.tolist() == components(over)
    assert 1 < len({*expected.values()})


@pytest.mark.parametrize("k", [1, 3])
def test_all_of_delta_is_for_one_k(k):
    table, delta = graded(seed=1, spread=0.035), 0.05
    logs = logs_of(table)
    found, n = topk_eval.tiers(table, delta, k=k), len(table)
    single, of_set = levels(n, k, 0)
    frame, claims = found.frame(), logs >= math.log(single / delta * SLACK)
    assert frame.rank_low.isna().all() and frame.rank_high.isna().all()
    p = min(1, of_set * math.exp(-logs[:k, k:].min()))
    assert math.isclose(found.evidence(k), p) and found.decided(k) == (p <= delta)
    for a, tier in zip(frame.model, frame.tier, strict=True):
        wins, losses = claims[a].sum(), claims[:, a].sum()
        expected = "in" if wins >= n - k else "out" if losses >= k else "open"
        assert tier == (("in" if a < k else "out") if found.decided(k) else expected)
    with pytest.raises(ValueError, match=r"\bk\b"):
        found.evidence(k + 1)


def test_the_number_of_claims_that_can_be_wrong_for_one_k():
    """Against the sum of all weights, and the sizes of the guarantee's three regimes."""
    for n, k in ((2, 1), (6, 3), (21, 5), (43, 20), (10, 7)):
        weights = [max(1 / (k - y + 1) if y <= k else 0, 1 / (x - k) if x > k else 0)
                   for y in range(1, n + 1) for x in range(y + 1, n + 1)]
        assert math.isclose(member_count(n, k), min(k * (n - k), math.fsum(weights)))
        single, of_set = levels(n, k, 0)
        of_members = 0 if k in (1, n - 1) else member_count(n, k) / single  # of delta
        assert (n - 1) / of_set + of_members <= 1 + 1e-9 and of_set <= single
    assert levels(30, 1, 0) == (29 / 0.9, 29 / 0.9) == levels(30, 29, 0)
    assert levels(30, 5, 0) == pytest.approx((10 * member_count(30, 5), 29 / 0.9))
    assert levels(30, None, 0) == (870, 58) and levels(30, 5, 0.1) == (125, 125)
    assert levels(30, 5, 0, 64) == levels(30, None, 0, 64) == (2016, 2016)
    assert levels(2, 1, 0) == (1, 1)


def test_tolerance_lets_a_tie_be_settled():
    rng = np.random.default_rng(2)
    table = (np.array([0.8, 0.7, 0.7, 0.5])[:, None] + rng.normal(0, 0.1, (4, 1500))).clip(0, 1)
    assert not topk_eval.tiers(table, k=2).decided(2)
    found = topk_eval.tiers(table, k=2, epsilon=0.05)
    assert found.decided(2) and found.frame().tier.tolist() == ["in", "open", "open", "out"]
    assert "no other model is more than 0.05 better" in found.summary()
    scaled = topk_eval.tiers(topk_eval.Results(20 * table - 10, bounds=(-10, 10)), k=2, epsilon=1)
    assert math.isclose(scaled.evidence(2), found.evidence(2), rel_tol=1e-6)


def test_a_complete_table_ranks_exactly_these_items():
    table = np.random.default_rng(3).random((5, 30))
    found = topk_eval.tiers(table, about="these")
    order = np.argsort(-table.sum(axis=1)).tolist()
    assert ranks(found) == {a: (r, r) for r, a in enumerate(order, 1)}
    assert found.evidence(2) == 0


def test_equal_rows_of_a_complete_table_are_equal():
    """Sums of equal grades in different orders differ in the last bit, quotients do not."""
    rng, grades = np.random.default_rng(4), np.random.default_rng(5).random(50)
    rows = np.array([rng.permutation(grades) for _ in range(6)])
    assert len({*np.cumsum(rows, axis=1)[:, -1].tolist()}) > 1
    found = topk_eval.tiers(rows, about="these")
    assert ranks(found) == dict.fromkeys(range(6), (1, 6)) and {*found.frame().tier} == {1}
    assert all(found.decided(k) and found.evidence(k) <= 0.05 for k in range(1, 6))
    two = topk_eval.tiers([[1, 0, 1, 1], [1, 1, 0, 1], [0, 0, 0, 1]], k=1, about="these")
    assert two.decided(1) and two.frame().tier.tolist() == ["tied", "tied", "out"]
    assert "0 and 1 are exactly equal" in two.summary()
    unfinished = topk_eval.tiers(in_drawn_order(rows), about="these", n_items=60)
    assert ranks(unfinished) == dict.fromkeys(range(6), (1, 6))


def test_these_items_need_fewer_results_than_new_ones_if_most_are_known():
    table = graded(4, 300, 6, 0.02)
    new = topk_eval.tiers(table)
    these = topk_eval.tiers(in_drawn_order(table), about="these", n_items=301)
    assert sum(map(new.decided, (1, 2, 3))) < sum(map(these.decided, (1, 2, 3)))
    first, others = new.names[0], new.names[1:]
    open_pairs = new.undecided(1)
    assert open_pairs and {*open_pairs} <= set(itertools.product([first], others))
    frame = new.frame().set_index("model")["mean"]
    assert open_pairs[0][1] == max(others, key=frame.get)  # the weakest


@pytest.mark.parametrize("k", [None, 1, 3])
@pytest.mark.parametrize("known", [100, 260, 299])
def test_evidence_about_these_items_decides_at_delta(k, known):
    table = graded(5, 300, 7, 0.04)[:, np.random.default_rng(8).permutation(300)[:known]]
    table = in_drawn_order(table)
    found = topk_eval.tiers(table, k=k, about="these", n_items=300)
    for size in [k] if k else range(1, 5):
        p = found.evidence(size)
        assert (p <= 0.05) == found.decided(size)
        if 1e-12 < p < 1:  # at any other delta, the same evidence
            for delta in (p * 0.99, min(p * 1.01, 0.999)):
                again = topk_eval.tiers(table, delta, k=k, about="these", n_items=300)
                assert again.decided(size) == (delta > p)


def test_one_model_has_rank_one_and_nothing_is_known_without_results():
    assert ranks(topk_eval.tiers([[1, 0]])) == {0: (1, 1)}
    nothing = topk_eval.tiers([[np.nan, np.nan], [1, 0]])
    assert ranks(nothing) == {0: (1, 2), 1: (1, 2)} and np.isnan(nothing.frame()["mean"][1])


# Which cells count


def test_holes_are_filled_by_the_worst():
    table = graded(3, 100)
    table[1, 40], table[2, 70:] = np.nan, np.nan
    found = topk_eval.tiers(topk_eval.Results(table, order="columns"))
    frame = found.frame().set_index("model")
    assert frame.cells.to_dict() == {0: 100, 1: 99, 2: 70} and frame.failed.sum() == 1
    assert "1 cell failed, 30 absent" in found.summary()
    low, high = table.copy(), table.copy()
    low[1, 40], high[1, 40], low[2, 70:], high[2, 70:] = 0, 1, 0, 1
    for a, b in itertools.permutations(range(3), 2):
        end = 70 if 2 in (a, b) else 100
        e = [(1 + np.multiply.outer(low[a, :s] - high[b, :s], BETS)).prod(axis=0) @ WEIGHTS
             for s in range(1, end + 1)]
        assert math.isclose(found.pair(a, b), 1 / max(1, *e), rel_tol=1e-9)
    fixed = topk_eval.tiers(topk_eval.Results(table, order="columns"), missing="fixed")
    assert fixed.pair(0, 2) == found.pair(0, 2) and fixed.pair(0, 1) == found.pair(0, 1)


def test_without_an_order_only_all_items_count_however_they_are_sorted():
    table = graded(3, 90)
    table[2, 50:60] = np.nan
    frame = pandas.DataFrame(table, columns=[f"q{i}" for i in range(90)])
    tidy = frame.melt(ignore_index=False, var_name="item", value_name="score")
    tidy = tidy.rename_axis("model").reset_index()
    expected = topk_eval.tiers(frame)
    e = (1 + np.multiply.outer(np.nan_to_num(table[0]) - np.nan_to_num(table[2], nan=1), BETS))
    assert math.isclose(expected.pair(0, 2), 1 / (e.prod(axis=0) @ WEIGHTS), rel_tol=1e-9)
    for seed in range(3):
        other = tidy.sample(frac=1, random_state=seed)
        mixed = frame[frame.columns[np.random.default_rng(seed).permutation(90)]]
        for found in (topk_eval.tiers(other), topk_eval.tiers(mixed)):
            assert all(math.isclose(found.pair(a, b), expected.pair(a, b), rel_tol=1e-12)
                       for a, b in itertools.permutations(range(3), 2))
    assert "every item that any model was asked" in expected.summary()


def test_results_that_are_late_because_they_are_bad():
    """Equal models are declared different in a third of the tables if what exists is a pattern."""
    rng, false = np.random.default_rng(9), {"fixed": 0, "worst": 0}
    for _ in range(60):
        table = (rng.random((2, 400)) < 0.5).astype(float)
        table[1, (table[1] == 0) & (rng.random(400) < 0.3)] = np.nan
        results = topk_eval.Results(table, order="columns", empty="absent")
        for missing in false:
            false[missing] += topk_eval.tiers(results, 0.05, k=1, missing=missing).decided(1)
    assert false["fixed"] > 6 and false["worst"] <= binom.isf(1e-6, 60, 0.05)


def test_a_table_in_order_of_completion_decides_nothing_about_equal_models():
    """Rows of the slower model come first, with 30 % of its wrong answers not yet there."""
    rng, false = np.random.default_rng(29), 0
    for _ in range(40):
        right = (rng.random((2, 800)) < 0.5).astype(float)
        late = (right[1] == 0) & (rng.random(800) < 0.3)
        rows = [("b", i, right[1, i]) for i in np.flatnonzero(~late)]
        rows += [("a", i, right[0, i]) for i in range(800)]
        frame = pandas.DataFrame(rows, columns=["model", "item", "score"])
        false += topk_eval.tiers(frame, k=1).decided(1)
    assert false <= binom.isf(1e-6, 40, 0.05)


def evidence_of(low, high, told):
    """Return the largest e-values of the pairs of a table with holes."""
    n, items = low.shape
    table = PairsOfItems(1, 0, 0.05, race=False).table(n, np.full(n, items))
    table.put([Told(arm, places := np.flatnonzero(its), low[arm, places], high[arm, places])
               for arm, its in enumerate(told)])
    return table.largest


def test_every_pattern_of_holes_is_at_most_the_table_without():
    """Exactly: two fair coins, all tables of four items, an adversary who places the holes."""
    level, reached = 2.5, 0.0
    for bits in itertools.product((0.0, 1.0), repeat=8):
        table = np.array(bits).reshape(2, 4)
        whole = evidence_of(table, table, np.ones((2, 4), dtype=bool))
        for mask in itertools.product((False, True), repeat=4):
            for model, failed in itertools.product((0, 1), repeat=2):
                holes = np.zeros((2, 4), dtype=bool)
                holes[model] = mask
                low, high = np.where(holes, 0.0, table), np.where(holes, 1.0, table)
                found = evidence_of(low, high, ~holes | bool(failed))
                assert (found <= whole).all()
        reached += (whole[0, 1] >= level) / 256
    assert 0 < reached <= 1 / level


def test_an_order_is_given_and_not_taken_from_what_has_arrived():
    """Two models with 100 of 200 right each; of one only 120 have arrived, the right ones first."""
    right = np.repeat([1.0, 0.0], 100)
    rows = [("a", f"q{i}", right[i]) for i in range(1, 121)]
    rows += [("b", f"q{i}", right[(i + 50) % 200]) for i in range(200)]
    frame = pandas.DataFrame(rows, columns=["model", "item", "score"])
    for results in (frame, topk_eval.Results(frame, order=[f"q{i}" for i in range(200)])):
        found = topk_eval.tiers(results, k=1, about="these")
        assert not found.decided(1) and found.evidence(1) == 1
        assert "drawn at random" in found.summary()
    for order in ("columns", "names"):
        with pytest.raises(ValueError, match="order.*list or file"):
            topk_eval.Results(frame, order=order)
    with pytest.raises(ValueError, match="order.*'q7'"):
        topk_eval.Results(frame, order=[f"q{i}" for i in range(200) if i != 7])
    with pytest.raises(ValueError, match="drawn"):
        topk_eval.Results(frame, drawn=True)
    longer = topk_eval.Results(frame, order=[f"q{i}" for i in range(230)])
    assert longer.absent.sum() == 80 + 2 * 30 and longer.order == "given"


def test_models_that_were_chosen_by_looking_pay_for_the_whole_list():
    table = graded(4, 200, spread=0.05)
    results = topk_eval.Results(table, order="columns")
    for k in (None, 1, 2):
        paid, free = topk_eval.tiers(results, k=k, most_models=64), topk_eval.tiers(results, k=k)
        assert paid.evidence(k or 1) > free.evidence(k or 1)
        p = 64 * 63 / 2 * max(paid.pair(a, b) for a in paid.names[:1] for b in paid.names[1:])
        assert k == 2 or math.isclose(paid.evidence(1), min(1, p))
        assert "a list of at most 64" in paid.summary()
    with pytest.raises(ValueError, match="most_models.*4"):
        topk_eval.tiers(results, most_models=3)


def test_tables_above_the_limit_look_at_every_128th_item(monkeypatch):
    results = topk_eval.Results(graded(5, 300, spread=0.02), order="columns")
    exact = topk_eval.tiers(results)
    monkeypatch.setattr("topk_eval.ranks.MANY", 0)
    coarse = topk_eval.tiers(results)
    for a, b in itertools.permutations(range(5), 2):
        assert coarse.pair(a, b) >= exact.pair(a, b) * (1 - 1e-9)
        logs = [logs_of(results.low[:, :s])[a, b] for s in (128, 256, 300)]
        assert math.isclose(coarse.pair(a, b), math.exp(-max(0, *logs)), rel_tol=1e-8)


def test_smaller_is_better_where_it_is_said():
    table = graded(4, 80)
    errors = topk_eval.Results(10 * (1 - table), bounds=(0, 10), lower_is_better=True)
    expected, found = topk_eval.tiers(table, k=2), topk_eval.tiers(errors, k=2)
    assert found.names == expected.names and math.isclose(found.evidence(2), expected.evidence(2))
    assert np.allclose(found.frame()["mean"], 10 * (1 - expected.frame()["mean"]))
    with pytest.warns(topk.TopkWarning, match="lower_is_better"):
        rates = pandas.DataFrame({"model": ["a", "b"], "item": [1, 1], "wer": [0.1, 0.2]})
        topk_eval.Results(rates, score="wer")


def test_the_items_of_a_cluster_are_one():
    table, groups = graded(4, 60), np.arange(60) // 3
    whole = topk_eval.tiers(topk_eval.Results(table, cluster=groups.tolist(), order="columns"))
    means = topk_eval.Results(table.reshape(4, 20, 3).mean(axis=2), order="columns")
    expected = topk_eval.tiers(means)
    assert all(math.isclose(whole.pair(a, b), expected.pair(a, b), rel_tol=1e-9)
               for a, b in itertools.permutations(range(4), 2))
    assert "20 clusters" in whole.summary()
    frame = pandas.DataFrame({"model": ["a", "b"] * 2, "item": [1, 1, 2, 2], "score": [1, 0, 1, 0],
                              "document": ["x"] * 4})
    with pytest.warns(topk.TopkWarning, match="cluster='document'"):
        topk_eval.tiers(frame)


def test_cells_that_are_wanted_next():
    table = graded(4, 60, spread=0.02)
    table[:, 30:] = np.nan
    table[3] = np.where(np.isnan(table[3]), np.nan, 0)  # certainly last
    found = topk_eval.tiers(topk_eval.Results(table, order="columns"), k=3, delta=0.3)
    assert found.decided(3) and found.next_cells(5) == ([], [])
    open_ = topk_eval.tiers(topk_eval.Results(table, order="columns"), k=1, delta=0.3)
    models, items = open_.next_cells(6)
    assert len(models) == 6 and 3 not in models and min(items) == 30


def test_pairs_are_compared_on_common_items():
    """The model with the hard items is not behind: means over own items would say so."""
    rng = np.random.default_rng(10)
    hard = np.sort(rng.random(600))
    table = (np.array([[0.75], [0.65]]) - 0.6 * hard + rng.normal(0, 0.05, (2, 600))).clip(0, 1)
    table[1, 150:] = np.nan
    found = topk_eval.tiers(topk_eval.Results(table, order="columns"))
    assert found.names == [0, 1] and found.decided(1)
    means = found.frame().set_index("model")["mean"]
    assert means[0] < means[1]


# Forms of tables


def test_all_forms_of_a_table_agree():
    cells = graded(4, 50)
    names, items = ["a", "b", "c", "d"], [f"q{i}" for i in range(50)]
    wide = pandas.DataFrame(cells, names, items)
    tidy = wide.rename_axis("model").melt(ignore_index=False, var_name="item",
                                          value_name="score").reset_index()
    expected = topk_eval.tiers(cells).frame().assign(model=names)
    as_read = wide.rename_axis("model").reset_index()
    indexed = tidy.set_index(["model", "item"]), tidy.set_index("model")
    for table in (wide, tidy, tidy.astype({"score": object}), as_read, *indexed):
        assert (topk_eval.tiers(table).frame() == expected).all(axis=None)
    twice = pandas.concat([tidy.assign(score=tidy.score - 0.1, trial=1),
                           tidy.assign(score=tidy.score + 0.1, trial=2)])
    found = topk_eval.tiers(topk_eval.Results(twice, bounds=(-1, 2)))
    assert np.allclose(found.frame()["mean"].astype(float), expected["mean"])
    with pytest.raises(ValueError, match="table.*1 row per cell.*'a'"):
        topk_eval.Results(twice.drop(columns="trial"), bounds=(-1, 2))
    fewer = topk_eval.Results(twice.iloc[:-1], bounds=(-1, 2))
    assert np.argwhere(fewer.failed).tolist() == [[3, 49]]
    assert "less than 2 trials" in fewer.notes[0]
    half = (cells[3, 49] - 0.1) / 2
    assert np.allclose([fewer.low[3, 49], fewer.high[3, 49]], [half - 0.5, half + 1])
    again = pandas.concat([twice, twice.iloc[[7]]])
    place = f"row {len(twice)}, counted from 0, model 'd', item 'q1'"
    with pytest.raises(ValueError, match=f"table.*different trials.*, got 1 .{place}"):
        topk_eval.Results(again, bounds=(-1, 2))


def test_a_mean_of_trials_at_a_bound_is_within_the_bounds():
    for high in (0.1, 0.7, 1.1):  # 3 * 0.1 / 3 is more than 0.1
        tidy = {"model": ["a", "b"] * 3, "item": ["x"] * 6, "score": [high, -high] * 3,
                "trial": [1, 1, 2, 2, 3, 3]}
        found = topk_eval.tiers(topk_eval.Results(pandas.DataFrame(tidy), bounds=(-high, high)))
        assert found.frame()["mean"].tolist() == pytest.approx([high, -high])


@pytest.mark.parametrize("name", ["polars", "pyarrow"])
def test_other_data_frames(name):
    library = pytest.importorskip(name)
    make = library.DataFrame if name == "polars" else library.table
    tidy = {"model": ["a", "b"] * 9, "item": np.arange(9).repeat(2).tolist(), "score": [1, 0] * 9}
    assert topk_eval.tiers(make(tidy)).names == ["a", "b"]


TABLE = [[1, 0, 1], [0, 0, 1]]


@pytest.mark.parametrize(
    ("name", "arguments"),
    [
        ("delta", {"delta": 0}), ("delta", {"delta": 1}), ("k", {"k": 2}), ("k", {"k": 0}),
        ("epsilon", {"epsilon": 1, "k": 1}), ("k", {"epsilon": 0.1}), ("about", {"about": "old"}),
        ("missing", {"missing": "none"}), ("n_items", {"n_items": 3}),
        ("n_items", {"about": "these", "n_items": 2}),
    ],
)  # fmt: skip
def test_wrong_arguments(name, arguments):
    with pytest.raises(ValueError, match=rf"\b{name}\b"):
        topk_eval.tiers(TABLE, **arguments)


def test_wrong_tables():
    for table in ([], [[]], [1, 0], "ab", [["a", "b"]], None, [[1, 2], [0, 0]], [[np.inf, 0]]):
        with pytest.raises(ValueError, match="^results"):
            topk_eval.tiers(table)
    with pytest.raises(ValueError, match="results.*got 5.*model 'b'.*item 'q2'"):
        topk_eval.tiers(pandas.DataFrame({"q1": [1, 0], "q2": [1, 5]}, ["a", "b"]))
    with pytest.raises(ValueError, match="results.*different models"):
        topk_eval.tiers(pandas.DataFrame({"q1": [1, 0]}, ["a", "a"]))


def test_what_is_shown():
    found = topk_eval.tiers(pandas.DataFrame(graded(3), ["<a>", "b", "c $x$"]))
    assert "&lt;a&gt;" in found._repr_html_() and "<a>" not in found._repr_html_()
    assert "settled: the sets of the best 1, 2" in found.summary()
    assert repr(found).startswith("Tiers(3 models")
    figure = found.plot()
    assert [x.get_text() for x in figure.axes[0].get_yticklabels()] == ["<a>", "b", r"c \$x\$"]
    for other in (topk_eval.tiers(graded(3), k=1), topk_eval.tiers(np.zeros((90, 3)))):
        ax = figure.add_subplot()
        assert other.plot(ax) is ax and len(other.summary().splitlines()) >= 3
    with pytest.raises(ValueError, match=r"\bax\b"):
        found.plot(3)


# How often it is wrong


@pytest.mark.parametrize(("n", "most", "k"), [(2, 9, None), (2, 9, 1), (3, 6, None), (3, 6, 2)])
def test_new_items_all_tables_looked_at_after_every_item(n, most, k):
    """On every item exactly one of n equal models is right; delta = 0.9, every look counts."""
    delta, wrong, seen = 0.9, 0.0, 0

    def follow(columns):
        nonlocal wrong, seen
        seen += 1
        found = topk_eval.tiers(topk_eval.Results(np.array(columns).T, order="columns"), delta,
                                k=k)
        if falsely(found, [1 / n] * n):
            wrong += n ** -len(columns)
        elif len(columns) < most:
            for right in range(n):
                follow([*columns, np.eye(n)[right]])

    for right in range(n):
        follow([np.eye(n)[right]])
    assert 0 < wrong <= delta and seen > 300


ROWS = [
    [[1, 0, 0.5, 0, 1], [0, 0.5, 1, 1, 0]],  # a tie
    [[1, 1, 0, 0, 0], [0, 0, 1, 1, 1]],
    [[0.5, 0.5, 0.5, 0.5, 0.5], [0.4, 0.5, 0.5, 0.5, 0.55]],
    [[0, 0, 0, 0, 1], [0, 0, 0, 1, 0]],
]


@pytest.mark.parametrize("k", [None, 1])
@pytest.mark.parametrize("rows", ROWS)
def test_these_items_in_every_order_looked_at_after_every_item(rows, k):
    table, wrong = np.array(rows, dtype=float), 0
    values = [math.fsum(row) for row in table.tolist()]
    orders = [*itertools.permutations(range(5))]
    for order in orders:
        wrong += any(
            falsely(topk_eval.tiers(in_drawn_order(table[:, order[:t]]), 0.5, k=k, about="these",
                                    n_items=5),
            values) for t in range(1, 6)
        )
    assert wrong <= 0.5 * len(orders)


def test_the_tiers_of_the_digits():
    """As in the chapter: mean width of the rank intervals, and the sets that are settled."""
    found = topk_eval.tiers(topk_eval.data.digits())
    frame = found.frame()
    assert [k for k in range(1, 43) if found.decided(k)] == [41, 42]
    assert math.isclose((frame.rank_high - frame.rank_low).mean(), 17.4, abs_tol=0.05)
