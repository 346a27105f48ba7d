"""Runs on a finite test set: against a plain transcription, with each cell used at most once."""

import math

import numpy as np
import pandas as pd
import pytest

import topk
import topk_eval
from topk import confidence
from topk.bandits import RewardRange
from topk.simulate.play import Play
from topk_eval.forms import shares_items


def matrix(shape, seed=0, low=0.3, high=0.95):
    """Return a matrix of models between poor and good, the best first."""
    shares = np.linspace(high, low, shape[0])[:, None]
    return (np.random.default_rng(seed).random(shape) < shares).astype(int)


def with_rows(counts, items, rng):
    """Return a matrix with given numbers of ones in its rows, in random places."""
    return np.array([rng.permutation(np.arange(items) < count) for count in counts]).astype(int)


def upper_end(t, ones, items, most):
    """The largest k that is not too large, from the definition: KT / P_k by prior and posterior."""
    k = np.arange(ones, items - t + ones + 1)
    lgamma = np.vectorize(math.lgamma)
    prior = np.exp(lgamma(np.arange(items + 1) + 0.5) - lgamma(np.arange(items + 1) + 1.0))
    prior = prior * prior[::-1] / math.pi

    def falling(x, j):
        return lgamma(x + 1.0) - lgamma(x - j + 1.0)

    log_p = falling(k, ones) + falling(items - k, t - ones) - falling(np.array([items]), t)
    log_kt = math.log(np.dot(np.exp(log_p), prior[k]))
    end, share, mode = k[-1], 1.0, k[log_p.argmax()]
    for _ in range(3):
        near = (log_kt - log_p < np.log1p(share * (most - 1))) | (k == mode)
        end = k[near & (k >= mode)].max()
        share = prior[:end].sum()
    return end


def transcribed(results, k, epsilon, delta, by_sides):
    """KL-LUCB on a finite set from its description; return the pulls of each arm and the set."""
    n, items = results.shape
    pulls = np.ones(n, dtype=int)
    c = math.sqrt(n - k) / (math.sqrt(k) + math.sqrt(n - k))
    above, below = k / (0.9 * c * delta), (n - k) / (0.9 * (1 - c) * delta)
    while True:
        sums = np.array([results[arm, :t].sum() for arm, t in enumerate(pulls)])
        low, high = confidence.interval(pulls, sums, delta / n, items=items)
        if by_sides:
            ends = [upper_end(t, s, items, above) for t, s in zip(pulls, sums, strict=True)]
            high = np.array(ends)
            ends = [upper_end(t, t - s, items, below) for t, s in zip(pulls, sums, strict=True)]
            low = items - np.array(ends)
        ranked = np.argsort(-(sums / pulls), kind="stable")
        inside, outside = np.sort(ranked[:k]), np.sort(ranked[k:])
        h, el = inside[low[inside].argmin()], outside[high[outside].argmax()]
        if high[el] <= low[h] + math.floor(epsilon * items + 1e-9):
            return pulls, inside
        for arm in (h, el):
            pulls[arm] += pulls[arm] < items


@pytest.mark.parametrize("levels", ["sides", "arms"])
@pytest.mark.parametrize(
    ("k", "epsilon", "delta", "shared"),
    [(1, 0, 0.05, False), (2, 0, 0.3, True), (3, 0.05, 0.1, False), (5, 0, 0.05, True)],
)
def test_a_run_is_that_of_a_plain_transcription(k, epsilon, delta, shared, levels):
    models = topk_eval.TestSet(matrix((6, 60)), shared=shared)
    strategy = topk.KLLUCB(k, epsilon, delta, levels=levels)
    reps = topk.replicate(strategy, models, 3, seed=3)
    for number in range(3):
        play = Play(strategy, models, 3, number)
        order, dealt = play.order, play.bandit
        pulls, chosen = transcribed(dealt.results[order], k, epsilon, delta, levels == "sides")
        assert reps.pulls[number][order].tolist() == pulls.tolist()
        assert sorted(order[chosen]) == reps.selected[number, 0].tolist()
        assert reps.certified[number]


def test_a_traced_run_and_one_in_compiled_code_are_the_same():
    models, strategy = topk_eval.TestSet(matrix((5, 80))), topk.KLLUCB(2, 0, 0.1)
    for seed in range(5):
        plain, traced = (topk.run(strategy, models, seed, trace=x) for x in (False, True))
        assert plain.selected.tolist() == traced.selected.tolist()
        assert plain.pulls.tolist() == traced.pulls.tolist()
        arms, rewards = traced.trace
        assert np.bincount(arms, weights=rewards, minlength=5).tolist() == plain.sums.tolist()


def test_runs_do_not_depend_on_jobs_chunks_and_how_many_there_are():
    models, strategy = topk_eval.TestSet(matrix((5, 80))), topk.KLLUCB(2, 0, 0.1)
    whole = topk.replicate(strategy, models, 30, seed=5)
    assert topk.replicate(strategy, models, 30, seed=5, chunk=7) == whole
    assert topk.replicate(strategy, models, 30, seed=5, jobs=2, chunk=4) == whole
    assert (topk.replicate(strategy, models, 12, seed=5).pulls == whole.pulls[:12]).all()
    first = topk.run(strategy, models, 5)
    assert first.pulls.tolist() == whole.pulls[0].tolist()


def test_a_checkpoint_has_the_set_of_a_run_with_that_many_pulls():
    models, marks = topk_eval.TestSet(matrix((6, 60))), [7, 30, 101]
    strategy = topk.KLLUCB(2, 0, 0.1)
    reps = topk.replicate(strategy, models, 4, seed=1, checkpoints=marks)
    for mark, chosen in zip(marks, reps.selected.swapaxes(0, 1), strict=True):
        cut = topk.replicate(strategy, models, 4, seed=1, max_pulls=mark)
        assert (cut.selected[:, 0] == chosen).all()
        assert (cut.total_pulls <= mark).all()


def deals(models, runs):
    """Return the orders of some runs (runs, n, N)."""
    return np.array([models.deal(np.random.default_rng(r)).order for r in range(runs)])


def test_every_order_is_a_permutation_and_each_item_is_as_likely_first():
    own = deals(topk_eval.TestSet(matrix((3, 5))), 4000)
    shared = deals(topk_eval.TestSet(matrix((3, 5)), shared=True), 4000)
    for orders in (own, shared):
        assert (np.sort(orders) == np.arange(5)).all()
        first = np.array([np.bincount(x, minlength=5) for x in orders[:, :, 0].T]) / 4000
        assert abs(first - 0.2).max() < 0.05  # off with probability below 30 exp(-20), Hoeffding
    assert (shared == shared[:, :1]).all() and not (own == own[:, :1]).all()


def test_near_ties_and_ties_are_wrong_less_often_than_delta():
    """Of 800 runs with delta = .3 at most 264; were .25 wrong, 1e-6 would be above that."""
    rng, wrong, runs = np.random.default_rng(5), 0, 0
    near = [33, 31, 30, 29, 27], [30, 30, 30, 29, 29], [6, 5, 4, 3, 3], [57, 57, 56, 56, 50]
    for counts in near:
        for shared in (False, True):
            models = topk_eval.TestSet(with_rows(counts, 60, rng), shared=shared)
            reps = topk.replicate(topk.KLLUCB(2, 0, 0.3), models, 100, seed=runs)
            chosen, rest = reps.selected[:, 0], np.ones((100, 5), dtype=bool)
            np.put_along_axis(rest, chosen, False, axis=1)
            worst = np.array(counts)[chosen].min(axis=1)
            best = (rest * np.array(counts)).max(axis=1)
            wrong, runs = wrong + (best > worst).sum(), runs + 100
            assert reps.certified.all() and reps.pulls.max() <= 60
    assert runs == 800 and wrong <= 264


def test_exact_ties_are_certified_and_everything_known_ends_a_run():
    rng = np.random.default_rng(1)
    for counts in ([20, 20, 20], [0, 0, 0], [25, 25, 24], [1, 0, 0]):
        models = topk_eval.TestSet(with_rows(counts, 25, rng))
        reps = topk.replicate(topk.KLLUCB(1, 0, 1e-9), models, 20, seed=1)
        assert reps.certified.all() and reps.total_pulls.max() <= 75
        assert (np.array(counts)[reps.selected[:, 0, 0]] == max(counts)).all()


def test_epsilon_is_in_items_and_a_bound_that_touches_is_enough():
    """With epsilon N = 1 item, a set worse by one item may be returned, and by two may not."""
    models = topk_eval.TestSet(with_rows([20, 19, 18], 30, np.random.default_rng(0)))
    reps = topk.replicate(topk.KLLUCB(1, 1 / 30, 1e-9), models, 60, seed=2)
    assert set(reps.selected.ravel().tolist()) <= {0, 1} and reps.certified.all()
    exact = topk.replicate(topk.KLLUCB(1, 0, 1e-9), models, 60, seed=2)
    assert reps.total_pulls.mean() < exact.total_pulls.mean()


FIXED = [topk.Uniform(2, 200), topk.Uniform(2, 250), topk.SAR(2, 250), topk.SAR(2, 100),
         topk.SuccessiveRejects(2, 240), topk.OptMAI(2, 250), topk.OptMAI(2, 230, reuse=False),
         topk.GapE(2, 250, complexity=50), topk.UGapEb(2, 240, 0, complexity=50)]


@pytest.mark.parametrize("strategy", FIXED, ids=str)
def test_fixed_budgets_ask_each_cell_at_most_once(strategy):
    models = topk_eval.TestSet(matrix((5, 50)))
    reps = topk.replicate(strategy, models, 20, seed=1)
    assert reps.pulls.max() <= 50 and not reps.certified.any()
    assert reps.total_pulls.max() <= strategy.budget
    known = (reps.pulls == 50).all(axis=1)
    best = np.sort(models.means)[-2]
    assert (models.means[reps.selected[known, 0]] >= best).all()
    for row in np.argwhere(reps.pulls == 50):
        assert reps.sums[tuple(row)] == models.matrix[row[1]].sum()
    session = topk_eval.Evaluation(strategy, 5, items=50, rng=1)
    while not session.done:
        arms, items = session.ask(9)
        session.tell(arms, items, models.matrix[arms, items])
    assert session.pulls.max() <= 50 and session.stopped == "budget"


def certifying():
    """Return a strategy of each kind that does not go with a finite test set."""
    return [topk.LUCB1(1, 0.1, 0.1), topk.KLLUCB(1, 0.1, 0.1, rate="published"),
            topk.TopTwo(1, 0.1, 0.1), topk.UGapEc(1, 0.1, 0.1), topk.CLUCB(1, 0.1),
            topk.Racing(1, 0.1, 0.1), topk.Halving(1, 0.1, 0.1), topk.AdaptiveTopK(1, 0.1, 0.1),
            topk.ImprovedTopK(1, 0.1, 0.1)]


@pytest.mark.parametrize("strategy", certifying(), ids=lambda x: type(x).__name__)
def test_strategies_that_certify_draws_with_replacement_refuse_by_name(strategy):
    models = topk_eval.TestSet(matrix((4, 30)))
    for attempt in (lambda: topk.run(strategy, models, rng=0),
                    lambda: topk_eval.Evaluation(strategy, 4, items=30),
                    lambda: topk.replicate(strategy, models, 2, seed=0)):
        with pytest.raises(ValueError, match=f"items .*{type(strategy).__name__}"):
            attempt()


def test_budgets_beyond_all_cells_and_several_bandits_are_refused():
    models = topk_eval.TestSet(matrix((4, 30)))
    for attempt in (lambda: topk.run(topk.Uniform(1, 121), models, rng=0),
                    lambda: topk.replicate(topk.SAR(1, 121), models, 2, seed=0),
                    lambda: topk_eval.Evaluation(topk.Uniform(1, 121), 4, items=30)):
        with pytest.raises(ValueError, match="budget .* from 1 to 120"):
            attempt()
    with pytest.raises(ValueError, match="items .*several bandits"):
        topk_eval.Evaluation(topk.MultiBanditSAR(100), 3, items=30)
    with pytest.raises(ValueError, match="bounds must be left out for KLLUCB.*BettingLUCB takes"):
        topk_eval.Evaluation(topk.KLLUCB(1, 0, 0.1), 3, items=30, bounds=(0, 10))
    with pytest.raises(ValueError, match="items"):
        topk_eval.Evaluation(topk.UGapEb(1, 6, 0, variance=True), 3, items=1)


def test_a_test_set_is_made_of_arrays_and_tables():
    cells = matrix((3, 4))
    table = pd.DataFrame(cells, index=["x", "y", "z"], columns=[10, 11, 12, 13])
    found = topk_eval.TestSet(table)
    assert found.names == ["x", "y", "z"] and found.item_names == [10, 11, 12, 13]
    assert (found.matrix == cells).all() and found.items == 4
    assert found.reward_range == RewardRange(items=4)
    assert topk_eval.TestSet(table.astype(bool), names=["c", "b", "a"]).names == ["c", "b", "a"]
    assert topk_eval.TestSet(pd.DataFrame(cells)).names is None
    tall = table.stack().rename("right").rename_axis(["model", "item"]).reset_index()
    mixed = tall.sample(frac=1, random_state=0)
    again = topk_eval.TestSet(topk_eval.Results(mixed, score="right"))
    assert again.names == list(dict.fromkeys(mixed["model"]))
    assert (again.matrix == table.loc[again.names, again.item_names].to_numpy()).all()
    with pytest.raises(ValueError, match="read-only"):
        found.matrix[0, 0] = 1


@pytest.mark.parametrize("kind", [topk_eval.TestSet, topk_eval.ItemPool])
def test_names_of_models_are_joined_with_the_rows(kind):
    """A regression test: with rows a and b, the names of b and a were given to them."""
    table = pd.DataFrame([[1, 1], [0, 1]], ["a", "b"], ["x", "y"])
    shown = pd.Series({"b": "Model B", "a": "Model A"})
    for names in (shown, ["Model A", "Model B"], pd.Series(["Model A", "Model B"])):
        assert kind(table, names=names).names == ["Model A", "Model B"]
    assert kind(table, names={"a": 1, "b": 2}).names == ["a", "b"]  # the keys
    with pytest.raises(ValueError, match="^names must be in the order of the rows"):
        kind(table, names=dict(shown))
    with pytest.raises(ValueError, match="^names must be labelled as matrix is"):
        kind(table, names=shown.rename({"b": "c"}))
    with pytest.raises(ValueError, match="^names must be 2 different names, got 'c' twice"):
        kind(table, names=["c", "c"])
    with pytest.raises(ValueError, match="got \"no result of model 'b'\"|without missing cells"):
        kind(table.mul([1, np.nan], axis=0))


def test_an_invalid_test_set_is_refused():
    for wrong in ([[1, 0]], [1, 0], [[1.5, 1], [0, 1]], [[np.nan, np.nan], [0, 1]], [["a"], ["b"]],
                  None, [[], []], np.zeros((2, 3, 1)), [[2, 0], [0, 1]]):
        with pytest.raises(ValueError, match="matrix"):
            topk_eval.TestSet(wrong)
    for names in (["a"], ["a", "a"], "ab", 3):
        with pytest.raises(ValueError, match="names"):
            topk_eval.TestSet([[0, 1], [1, 0]], names=names)
    with pytest.raises(ValueError, match="shared"):
        topk_eval.TestSet([[0, 1], [1, 0]], shared=1)
    with pytest.raises(ValueError, match="missing"):
        topk_eval.TestSet([[0, 1], [1, 0]], missing="best")
    with pytest.raises(ValueError, match="bounds"):
        topk_eval.TestSet([[0, 1], [1, 0]], bounds=(1, 0))
    with pytest.raises(ValueError, match="^bounds must be left out for results"):
        topk_eval.TestSet(topk_eval.Results([[0, 1], [1, 0]]), bounds=(0, 2))


def test_results_say_direction_clusters_and_what_is_missing():
    table = pd.DataFrame({"model": list("aabbb"), "item": [7, 9, 7, 8, 9],
                          "score": [4, 1, 3, np.nan, 2]})
    options = {"bounds": (0, 4), "lower_is_better": True}
    found = topk_eval.TestSet(topk_eval.Results(table, **options))
    assert found.names == ["a", "b"] and found.item_names == [7, 9, 8] and found.bounds == [0, 4]
    np.testing.assert_array_equal(found.matrix, [[0, 3, np.nan], [1, 2, np.nan]])
    whole = table.dropna()
    pool = topk_eval.ItemPool(topk_eval.Results(whole[whole["item"] != 8], **options))
    assert pool.matrix.tolist() == [[0, 3], [1, 2]] and pool.names == ["a", "b"]
    clusters = topk_eval.Results(table, cluster={7: "x", 9: "x", 8: "y"}, **options)
    both = topk_eval.TestSet(clusters)
    np.testing.assert_array_equal(both.matrix, [[1.5, np.nan], [1.5, np.nan]])
    assert both.item_names == ["x", "y"]
    with pytest.warns(topk.TopkWarning, match="different items"):
        fixed = topk_eval.TestSet(topk_eval.Results(table, **options), missing="fixed")
    assert fixed.left_out.tolist() == [[False, False, True], [False] * 3]  # b has failed there
    assert fixed.deal(np.random.default_rng(0)).sizes.tolist() == [2, 3]
    numbered = topk_eval.TestSet(topk_eval.Results([[1, 0], [0, 1]]))
    assert numbered.names is None and numbered.item_names is None


@pytest.mark.parametrize(("strategy", "same"), [
    (topk.KLLUCB(1, 0, 0.1), False), (topk.BettingLUCB(1, 0, 0.1), False), (topk.SAR(1, 60), True),
    (topk.Uniform(1, 60), True),
])
def test_items_are_shared_as_the_strategy_wants_it(strategy, same):
    def one_order(shared):
        order = Play(strategy, topk_eval.TestSet(matrix((3, 40)), shared=shared), 1, 0).bandit.order
        return bool((order == order[0]).all())

    assert one_order(None) == shares_items(strategy) == same
    assert one_order(True) and not one_order(False)


def test_a_test_set_is_dealt_before_it_is_pulled_and_has_no_more_than_its_items():
    models, rng = topk_eval.TestSet(matrix((2, 3))), np.random.default_rng(0)
    with pytest.raises(ValueError, match="deal"):
        models.pull([0], [1], rng)
    with pytest.raises(ValueError, match="rng"):
        models.deal(0)
    dealt = models.deal(rng)
    assert dealt.pull([0, 1], [2, 3], rng).sums[1] == models.matrix[1].sum()
    arms, items = dealt.cells()
    assert arms.tolist() == [0, 0, 1, 1, 1] and sorted(items[2:].tolist()) == [0, 1, 2]
    with pytest.raises(ValueError, match="at most the 1 remaining items"):
        dealt.pull([0], [2], rng)
    assert dealt.taken.tolist() == [2, 3]


def test_evidence_of_an_outcome_is_that_of_a_finite_set():
    outcome = topk.run(topk.KLLUCB(2, 0, 0.05), topk_eval.TestSet(matrix((6, 100))), rng=0)
    assert outcome.certified and outcome.evidence() <= 0.05
    known = topk.run(topk.Uniform(2, 600), topk_eval.TestSet(matrix((6, 100))), rng=0)
    assert known.evidence() == 0


def test_names_of_a_test_set_survive_its_dealing():
    right = np.random.default_rng(0).random((3, 60)) < [[0.9], [0.5], [0.2]]
    cells = topk_eval.TestSet(right, names=["a", ("b", 1), 3])
    outcome = topk.run(topk.KLLUCB(1, epsilon=0, delta=0.05), cells, rng=0)
    assert outcome.selected_names.tolist() == ["a"]
