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
from topk_eval.cells import Cells

MODELS = ["a", "b", "c", "d"]


def grades(n=4, items=40, seed=0):
    """Return grades from 0 to 10, the best model first."""
    return (10 * topk_eval.data.graded_models(seed, n, items)).round(1)


class Study(RuleBasedStateMachine):
    """A session against its cells, counted anew in their order by a fresh table."""

    @initialize(data=st.data())
    def begin(self, data):
        self.n, self.items = data.draw(st.integers(2, 4)), data.draw(st.integers(2, 12))
        self.trials = data.draw(st.sampled_from([1, 1, 3]))
        k, kind = data.draw(st.integers(1, self.n - 1)), data.draw(st.sampled_from("PB"))
        make = {"P": topk.PairedBetting, "B": topk.BettingLUCB}[kind]
        budget = data.draw(st.sampled_from([None, None, self.n * self.trials + 5]))
        epsilon = data.draw(st.sampled_from([0.0, 0.0, 2.0]))
        self.strategy = make(k, epsilon, data.draw(st.sampled_from([0.01, 0.5])), budget)
        self.names = [f"q{i}" for i in range(self.items)]
        named = data.draw(st.booleans())
        self.session = Evaluation(
            self.strategy,
            MODELS[: self.n], items=self.names if named else self.items, bounds=(0, 10),
            trials=self.trials, rng=data.draw(st.integers(0, 5)),
        )
        self.named = named
        orders = "own" if kind == "B" else "drawn" if named else "given"
        seed = from_json(self.session.state())["cells"]["seed"]
        self.order = Cells(self.n, self.items, seed, order=orders).order
        self.results, self.failed, self.flying, self.later = {}, set(), [], 0

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
        some = data.draw(st.lists(st.sampled_from(range(len(self.flying))), unique=True))
        for cell in [self.flying[i] for i in some]:
            if cell not in self.failed:
                self.told(cell, data.draw(st.sampled_from([0, 2.5, 10])))
        self.flying = [x for i, x in enumerate(self.flying)
                       if i not in some and x not in self.failed]

    def told(self, cell, result):
        known = self.results.setdefault(cell, [])
        result = known[0] if self.trials == 1 and known else result
        self.session.tell([cell[0]], [cell[1]], [result])
        if not (self.trials == 1 and known):
            known.append(result)

    @rule(data=st.data())
    def tell_any(self, data):
        cell = self.cell(data)
        full = len(self.results.get(cell, [])) == self.trials
        if cell in self.failed or (full and self.trials > 1):
            with pytest.raises(ValueError, match="^scores"):
                self.session.tell([cell[0]], [cell[1]], [1])
            return
        self.told(cell, 7)
        if cell in self.flying and self.session.in_flight()[0].size < len(self.flying):
            self.flying.remove(cell)

    @rule(data=st.data())
    def make_failed(self, data):
        cell = self.cell(data)
        if len(self.results.get(cell, [])) == self.trials and cell not in self.failed:
            with pytest.raises(ValueError, match="has a result"):
                self.session.tell([cell[0]], [cell[1]], [np.nan])
            return
        self.session.tell([cell[0]], [cell[1]], [np.nan])
        self.failed.add(cell)
        self.flying = [x for x in self.flying if x != cell]

    @precondition(lambda self: self.flying)
    @rule()
    def lose_all(self):
        self.session.lost(*self.session.in_flight())
        self.flying = []

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

    @rule()
    def report(self):
        table = self.session.report()
        assert not (table.low > table.high).any()
        if self.session.certified:
            assert table.attrs["evidence"] <= self.strategy.delta
            assert (table.undecided_with == 0).all()
        assert self.session.summary()

    @invariant()
    def the_table_is_that_of_the_prefixes(self):
        session = getattr(self, "session", None)
        if session is None:
            return
        assert session.in_flight()[0].size == len(self.flying)
        if session.done:
            return
        fresh = session.engine.strategy.begin(self.n)
        fresh.limit(np.full(self.n, self.items))
        for arm in range(self.n):
            for item in self.order[arm].tolist():
                cell = MODELS[arm], self.names[item] if self.named else item
                results = self.results.get(cell, [])
                if cell in self.failed:
                    value = np.nan
                elif len(results) == self.trials:
                    value = np.mean(results) / 10
                else:
                    break
                fresh.table.extend([(arm, np.array([value]))])
        assert fresh.table == session.engine.table

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
            paired = isinstance(self.strategy, topk.PairedBetting)
            assert paired or self.session.report().failed.sum() > 0


TestStudy = Study.TestCase
TestStudy.settings = settings(max_examples=15, stateful_step_count=20, deadline=None)
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


def test_cells_told_only_where_another_model_failed_do_not_count():
    """Equal models; b is run where a fails.  Its prefix ends at the first gap."""
    rng = np.random.default_rng(4)
    a, b = rng.random((2, 400)) < 0.5
    session = Evaluation(topk.PairedBetting(1, 0, 0.05), ["a", "b"], items=400)
    session.tell(["a"] * 400, range(400), a)
    chosen = np.flatnonzero(~a)
    session.tell(["b"] * chosen.size, chosen, b[chosen])
    assert not session.certified and session.evidence() > 0.5
    assert session.waiting.tolist() == [0, chosen.size - session.pulls[1]]


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
