"""Live sessions of BettingLUCB and PairedBetting on items: random studies, gaps, trials, files."""

import copy
import pickle

import numpy as np
import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule

import topk
import topk_eval
from topk._json import from_json
from topk_eval import Evaluation
from topk_eval.cells import drawn_orders
from topk_eval.pairs import Told

MODELS = ["a", "b", "c", "d"]


def grades(n=4, items=40, seed=0):
    """Return grades from 0 to 10, the best model first."""
    return (10 * topk_eval.data.graded_models(seed, n, items)).round(1)


class Study(RuleBasedStateMachine):
    """An evaluation against its cells, counted anew by a fresh rule.

    ``results`` has the results told of each cell, nan where they failed; ``flying`` the cells out.
    """

    @initialize(data=st.data())
    def begin(self, data):
        self.n, self.items = data.draw(st.integers(2, 4)), data.draw(st.integers(2, 12))
        self.trials = data.draw(st.sampled_from([1, 1, 3]))
        k, self.kind = data.draw(st.integers(1, self.n - 1)), data.draw(st.sampled_from("PB"))
        make = {"P": topk.PairedBetting, "B": topk.BettingLUCB}[self.kind]
        budget = data.draw(st.sampled_from([None, None, self.n * self.trials + 5]))
        epsilon = data.draw(st.sampled_from([0.0, 0.0, 2.0]))
        self.strategy = make(k, epsilon, data.draw(st.sampled_from([0.01, 0.5])), budget)
        self.names = [f"q{i}" for i in range(self.items)]
        self.named, self.falls = data.draw(st.booleans()), data.draw(st.booleans())
        self.session = Evaluation(
            self.strategy,
            MODELS[: self.n], items=self.names if self.named else self.items, bounds=(0, 10),
            trials=self.trials, lower_is_better=self.falls, rng=data.draw(st.integers(0, 5)),
        )
        seed = from_json(self.session.state())["cells"]["seed"]
        labels = self.names if self.named else self.items
        if self.kind == "B":
            self.order = drawn_orders(seed, [[x] for x in MODELS[: self.n]], labels)
        else:
            one = drawn_orders(seed, [MODELS[: self.n]], labels)[0]
            one = one if self.named else np.arange(self.items)
            self.order = np.tile(one, (self.n, 1))
        self.results, self.flying = {}, []

    def cell(self, data):
        arm, item = data.draw(st.integers(0, self.n - 1)), data.draw(st.integers(0, self.items - 1))
        return MODELS[arm], self.names[item] if self.named else item

    @rule(size=st.integers(1, 20))
    def ask(self, size):
        cells = list(zip(*self.session.ask(size, plain=True), strict=True))
        assert len(cells) <= size and not (cells and self.session.done)
        self.flying += cells
        assert cells or self.flying or self.session.done

    @precondition(lambda self: self.flying)
    @rule(data=st.data())
    def tell(self, data):
        """Some of what is out arrives in one call."""
        some = data.draw(st.lists(st.sampled_from(range(len(self.flying))), unique=True))
        cells = [self.flying[i] for i in some]
        told = [data.draw(st.sampled_from([0, 2.5, 10, np.nan])) for _ in cells]
        self.session.tell(*map(list, zip(*cells, strict=True)), told) if cells else None
        for cell, result in zip(cells, told, strict=True):
            self.results.setdefault(cell, []).append(result)
        self.flying = [x for i, x in enumerate(self.flying) if i not in some]

    @rule(data=st.data(), result=st.sampled_from([7, np.nan]))
    def tell_any(self, data, result):
        cell = self.cell(data)
        known = self.results.setdefault(cell, [])
        if len(known) == self.trials:
            if self.trials == 1 and np.array_equal(known, [result], equal_nan=True):
                self.session.tell([cell[0]], [cell[1]], [result])  # once more
                return
            with pytest.raises(ValueError, match="^scores"):
                self.session.tell([cell[0]], [cell[1]], [result])
            return
        self.session.tell([cell[0]], [cell[1]], [result])
        known.append(result)
        if cell in self.flying and self.session.in_flight()[0].size < len(self.flying):
            self.flying.remove(cell)

    @precondition(lambda self: self.flying)
    @rule()
    def lose_all(self):
        self.session.lost(*self.session.in_flight())
        self.flying = []

    @precondition(lambda self: self.kind == "P" and self.strategy.epsilon == 0)
    @rule(data=st.data())
    def withdraw(self, data):
        if not self.session.done and len(self.session.withdrawn) < self.n - self.strategy.k:
            self.session.withdraw(data.draw(st.sampled_from(MODELS[: self.n])))

    @rule(how=st.sampled_from(["state", "pickle", "copy"]))
    def store(self, how):
        before = self.session
        self.session = {"state": lambda x: Evaluation.from_state(x.state()), "copy": copy.deepcopy,
                        "pickle": lambda x: pickle.loads(pickle.dumps(x))}[how](before)
        assert self.session.state() == before.state()
        assert self.session.engine.table == before.engine.table
        for found, known in zip((self.session.pulls, self.session.means),
                                (before.pulls, before.means), strict=True):
            np.testing.assert_array_equal(found, known)
        assert self.session.stopped == before.stopped
        assert self.session.evidence() == before.evidence()

    @rule()
    def report(self):
        table = self.session.report()
        assert not (table.low > table.high).any()
        if self.session.certified:
            assert table.attrs["evidence"] <= self.strategy.delta
            assert (table.undecided_with == 0).all()
        assert f"{self.n} models, {self.items} items, " in self.session.summary()

    def whole(self):
        """Yield each model's cells that have all trials: their places, and both fills."""
        for arm in range(self.n):
            found = []
            for place, item in enumerate(self.order[arm].tolist()):
                cell = MODELS[arm], self.names[item] if self.named else item
                results = np.sort(self.results.get(cell, []))
                if results.size == self.trials:
                    fills = [np.cumsum(np.nan_to_num(results, nan=x))[-1] / self.trials / 10
                             for x in (0, 10)]
                    fills = [1 - x for x in fills[::-1]] if self.falls else fills
                    found.append((place, *fills))
                elif self.kind == "B":
                    break
            yield arm, *np.array(found).reshape(-1, 3).T

    @invariant()
    def the_table_is_that_of_the_cells(self):
        session = getattr(self, "session", None)
        if session is None:
            return
        assert session.in_flight()[0].size == len(self.flying)
        told = sum(map(len, self.results.values()))
        failed = sum(np.isnan(x).sum() for x in self.results.values())
        out = len(self.flying)
        said = f", {told - failed:,} results told, {failed} failed, {out} in flight; "
        assert said in session.summary()
        if session.done or session.withdrawn:
            return
        fresh = session.engine.strategy.begin(self.n)
        fresh.limit(np.full(self.n, self.items))
        for arm, places, low, high in self.whole():
            if self.kind == "B":
                fresh.table.put(arm, low, high)
            else:
                fresh.table.put([Told(arm, places.astype(int), low, high)])
        assert fresh.table == session.engine.table
        assert fresh.table.evidence(fresh.strategy.epsilon) == session.evidence() or (
            fresh.table.size == 0).any()

    def teardown(self):
        """A study that receives all results ends."""
        if not hasattr(self, "session"):
            return
        self.session.lost(*self.session.in_flight())
        for _ in range(2 * self.n * self.items * self.trials):
            if self.session.done:
                break
            arms, items = self.session.ask(4)
            assert arms.size
            self.session.tell(arms, items, [3.5] * arms.size)
        assert self.session.done
        if self.session.stopped == "open":
            assert self.kind == "P" or self.session.report().failed.sum() > 0


TestStudy = Study.TestCase
TestStudy.settings = settings(max_examples=40, stateful_step_count=20, deadline=None)
pytestmark = pytest.mark.filterwarnings("ignore::topk.TopkWarning")


@pytest.mark.parametrize("make", [topk.BettingLUCB, topk.PairedBetting])
def test_a_study_and_its_restarts_ask_for_the_same_cells(make):
    x, strategy = grades(items=300), make(1, 0, 0.05)
    found = []
    for restarts in (False, True):
        session, cells = Evaluation(strategy, 4, items=300, bounds=(0, 10), rng=1), []
        while not session.done:
            arms, items = session.ask(9)
            cells += zip(arms.tolist(), items.tolist(), strict=True)
            if restarts:
                session = Evaluation.from_state(session.state())
            session.tell(arms[::-1], items[::-1], x[arms, items][::-1])
        found.append((cells, session.selected.tolist(), session.evidence()))
    assert found[0] == found[1] and len(cells) == len(set(cells)) < 1200
    assert session.certified and session.selected.tolist() == [0]


def test_a_table_that_is_half_full_can_be_continued():
    x, rng = grades(items=80), np.random.default_rng(2)
    session = Evaluation(topk.BettingLUCB(1, 0, 0.05), MODELS, items=80, bounds=(0, 10), rng=3)
    arms, items = np.nonzero(rng.random(x.shape) < 0.5)
    session.tell(np.array(MODELS)[arms], items, x[arms, items])
    known, asked = set(zip(arms.tolist(), items.tolist(), strict=True)), 0
    while not session.done:
        names, items = session.ask(10)
        arms = [MODELS.index(name) for name in names]
        assert not known & set(zip(arms, items.tolist(), strict=True))
        asked += names.size
        session.tell(names, items, x[arms, items])
    assert session.certified and asked < 160


def test_cells_told_only_where_another_model_was_wrong_prove_nothing():
    """Equal models; b is run where a is wrong.  Its other cells are holes."""
    rng = np.random.default_rng(4)
    a, b = rng.random((2, 400)) < 0.5
    session = Evaluation(topk.PairedBetting(1, 0, 0.05), ["a", "b"], items=400)
    session.tell(["a"] * 400, range(400), a)
    chosen = np.flatnonzero(~a)
    session.tell(["b"] * chosen.size, chosen, b[chosen])
    assert not session.certified and session.evidence() > 0.5
    assert session.waiting.tolist() == [0, 0]


def test_failed_cells_are_reported_and_leave_the_set_open():
    session = Evaluation(topk.BettingLUCB(1, 0, 0.05), ["a", "b"], items=2, rng=0)
    session.tell(["a", "b"], [0, 0], [1, 1])
    session.tell(["a", "b"], [1, 1], [np.nan, np.nan])
    assert (session.stopped, session.certified, session.evidence()) == ("open", False, 1.0)
    assert session.report().failed.tolist() == [1, 1]
    assert "failed: 2 cell(s)" in session.summary() and "open" in session.summary()
    assert session.report().low.tolist() == [0.5, 0.5]


def test_one_more_trial_is_refused():
    session = Evaluation(topk.BettingLUCB(1, 0, 0.05), 2, items=3, trials=2, rng=0)
    arms, items = session.ask(4)
    assert np.bincount(arms * 3 + items).max() == 2
    session.tell(arms, items, [0, 1, 1, 0])
    assert session.means.tolist() == [0.5, 0.5] and session.pulls.tolist() == [1, 1]
    with pytest.raises(ValueError, match="more than trials = 2 times"):
        session.tell(arms[:1], items[:1], [1])


def test_what_does_not_fit_is_refused_and_names_what_does():
    def of(make, *k, **more):
        return Evaluation(make(*(k or (1, 0, 0.1))), 3, **{"items": 5} | more)

    betting, kl, pairs = topk.BettingLUCB, topk.KLLUCB, topk.PairedBetting
    for call, words in [
        (lambda: of(kl, bounds=(0, 5)), "bounds.*BettingLUCB"),
        (lambda: of(topk.Uniform, 1, 9, bounds=(0, 5)), "bounds.*BettingLUCB"),
        (lambda: of(kl, trials=2), "trials.*BettingLUCB"),
        (lambda: of(kl).tell([0], [0], [0.5]), "Betting"),
        (lambda: of(kl).tell([0], [0], [np.nan]), "BettingLUCB"),
        (lambda: of(betting, items=["x", "x"]), "items"),
        (lambda: of(betting).with_models(1), "no model can join"),
        (lambda: of(betting).withdraw(0), "all models stay"),
        (lambda: of(pairs, 1, 0.1, 0.1).withdraw(0), "epsilon"),
    ]:
        with pytest.raises(ValueError, match=words):
            call()


def test_a_withdrawn_model_is_left_out():
    x = grades(items=400)
    session = Evaluation(topk.PairedBetting(1, 0, 0.05), 4, items=400, bounds=(0, 10))
    session.withdraw(0)
    while not session.done:
        arms, items = session.ask(8)
        assert 0 not in arms.tolist()
        session.tell(arms, items, x[arms, items])
    assert session.certified and session.selected.tolist() == [1]
    again = Evaluation.from_state(session.state())
    assert again.withdrawn == [0] and again.evidence() == session.evidence() <= 0.05


def test_named_items_are_asked_in_one_random_order():
    names = [f"q{i}" for i in range(60)]
    session = Evaluation(topk.PairedBetting(1, 0, 0.05), 3, items=names, rng=0)
    arms, items = session.ask(30)
    orders = [items[arms == arm].tolist() for arm in range(3)]
    assert orders[0] == orders[1] == orders[2] != names[:10]
    session = Evaluation(topk.PairedBetting(1, 0, 0.05), 3, items=60)
    assert session.ask(30)[1][:10].tolist() == [*range(10)]


# Where smaller scores are better


@pytest.mark.parametrize("strategy", [topk.BettingLUCB(1, 0, 0.05), topk.PairedBetting(2, 0, 0.05),
                                      topk.KLLUCB(1, 0, 0.05), topk.SAR(1, 300)],
                         ids=lambda x: type(x).__name__)
def test_smaller_scores_are_better_and_shown_as_they_are(strategy):
    """The same study as of the scores mirrored within their bounds."""
    graded = isinstance(strategy, topk.BettingLUCB | topk.PairedBetting)
    x = grades(items=300)
    bounds, x = ((-2, 8), x - 2) if graded else ((0, 1), (x > 6).astype(float))
    mirrored = sum(bounds) - x
    up, down = (Evaluation(strategy, 4, 300, bounds, lower_is_better=falls, rng=2)
                for falls in (False, True))
    while not up.done:
        models, items = up.ask(9)
        assert [*zip(*down.ask(9), strict=True)] == [*zip(models, items, strict=True)]
        up.tell(models, items, x[models, items])
        down.tell(models, items, mirrored[models, items])
        down = Evaluation.from_state(down.state())
    assert down.done and down.lower_is_better and down.selected.tolist() == up.selected.tolist()
    assert down.evidence() == pytest.approx(up.evidence(), rel=1e-9)
    np.testing.assert_allclose(down.means, sum(bounds) - up.means)
    np.testing.assert_allclose(down.intervals(), sum(bounds) - np.array(up.intervals())[::-1])
    ours, theirs = down.report(), up.report()
    assert ours.name.tolist() == theirs.name.tolist()  # the best first
    for name, other in (("mean", "mean"), ("low", "high"), ("high", "low")):
        np.testing.assert_allclose(ours[name], sum(bounds) - theirs[other])
    told = {model: mirrored[model][down._cells.order[model][: down.pulls[model]]]
            for model in range(4)}
    rows = ours.set_index("name")
    for model, scores in told.items():
        assert rows["sum"][model] == pytest.approx(scores.sum(), abs=1e-6)
        assert rows.squares[model] >= (scores**2).sum() - 1e-6


def test_a_summary_speaks_of_models_and_results():
    study = Evaluation(topk.BettingLUCB(1, 0, 0.05), ["a", "b", "c"], items=20, trials=2, rng=0)
    models, items = study.ask(7)
    study.tell(models[:3], items[:3], [1, np.nan, 0.5])
    first, second = study.summary().splitlines()[:2]
    assert ": 3 models, 20 items, 2 results told, 1 failed, 4 in flight; running" in first
    assert second.startswith("chosen: none yet: ") and second.endswith("no result")
    assert "pull" not in study.summary() and "arm" not in study.summary()


def test_a_failed_trial_is_inside_the_mean_of_its_cell():
    """The cell lies between two means, and not between the bounds."""
    for strategy in (topk.BettingLUCB(1, 0, 0.05), topk.PairedBetting(1, 0, 0.05)):
        study = Evaluation(strategy, 2, items=2, bounds=(0, 3), trials=3, rng=0)
        study.tell([0] * 3, [0] * 3, [3, np.nan, 0]).tell([0] * 3, [1] * 3, [3, 3, 3])
        table = study.engine.table
        assert table.missing.tolist() == [1, 0] and table.size.tolist() == [2, 0]
        if strategy.paired:
            assert (table.low[0, 0], table.high[0, 0]) == (1 / 3, 2 / 3)
        else:
            assert np.allclose(table.ends[:, 0], [2 / 3, 5 / 6])
        with pytest.raises(ValueError, match="more than trials = 3 times"):
            study.tell([0], [0], [np.nan])
