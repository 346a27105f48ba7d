"""Cells of a live finite test set: requested once, results in any order, prefixes counted."""

import json

import numpy as np
import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule

import topk
import topk_eval
from topk import confidence
from topk._json import from_json
from topk_eval import Evaluation
from topk_eval.cells import Cells, drawn_orders


def stored(session):
    """Return the state of a session after a round trip through JSON."""
    return json.loads(json.dumps(session.state(), allow_nan=False))


pytestmark = pytest.mark.filterwarnings("ignore:.*lost again and again:topk.TopkWarning")


class Harness(RuleBasedStateMachine):
    """A session with random calls, beside an independent record of the cells.

    ``orders`` has each arm's items in the order in which they were first handed out, ``known`` the
    results told, ``flying`` and ``gone`` the cells in flight and lost.
    """

    @initialize(data=st.data())
    def begin(self, data):
        n, self.items = data.draw(st.integers(2, 5)), data.draw(st.integers(1, 12))
        k, budget = data.draw(st.integers(1, n - 1)), data.draw(st.integers(n, n * self.items))
        fixed = [topk.Uniform(k, budget), topk.GapE(k, budget, complexity=5.0)]
        fixed += [topk.SAR(k, budget)] if budget > n else []
        sure = [topk.KLLUCB(k, data.draw(st.sampled_from([0.0, 0.1])), 1e-9)]
        self.strategy = data.draw(st.sampled_from(3 * sure + fixed))
        self.names = list("abcde"[:n]) if data.draw(st.booleans()) else list(range(n))
        rate = data.draw(st.sampled_from([0.1, 0.5, 0.9]))
        rng = np.random.default_rng(data.draw(st.integers(0, 99)))
        self.right = (rng.random((n, self.items)) < rate).astype(int)
        named = self.names if isinstance(self.names[0], str) else n
        seed = data.draw(st.integers(0, 9))
        self.session = Evaluation(self.strategy, named, items=self.items, rng=seed)
        self.orders = {arm: [] for arm in self.names}
        seed = from_json(stored(self.session))["cells"]["seed"]
        self.in_order = drawn_orders(seed, [[name] for name in self.names], self.items)
        self.known, self.flying, self.gone, self.left = {}, set(), set(), []

    def result(self, cell):
        """Return the true result of a cell."""
        return int(self.right[self.names.index(cell[0]), cell[1]])

    def tell(self, cells, results=None):
        """Tell the results of some cells."""
        results = [self.result(cell) for cell in cells] if results is None else results
        arms, items = [arm for arm, _ in cells], [item for _, item in cells]
        return self.session.tell(arms, items, results)

    @rule(size=st.integers(1, 15))
    def ask(self, size):
        lost_before = set(self.gone)
        arms, items = self.session.ask(size)
        cells = list(zip(arms.tolist(), items.tolist(), strict=True))
        assert len(cells) == len(set(cells)) <= size and not (self.session.done and cells)
        for arm, item in cells:
            cell = (arm, item)
            assert cell not in self.flying and cell not in self.known and arm not in self.left
            if item in self.orders[arm]:
                assert cell in lost_before
            else:  # new cells of an arm come after its lost ones
                assert not {c for c in self.gone if c[0] == arm} - set(cells)
                self.orders[arm].append(item)
        self.gone -= set(cells)
        self.flying |= set(cells)
        assert cells or self.flying or self.session.done  # a study never waits for nothing

    @precondition(lambda self: self.flying)
    @rule(data=st.data())
    def tell_some(self, data):
        cells = data.draw(st.lists(st.sampled_from(sorted(self.flying, key=str)), unique=True))
        self.tell(cells)
        self.flying -= set(cells)
        self.known |= {cell: self.result(cell) for cell in cells}

    @precondition(lambda self: self.flying)
    @rule()
    def tell_all(self):
        cells = sorted(self.flying, key=str)
        self.tell(cells[::-1])
        self.flying = set()
        self.known |= {cell: self.result(cell) for cell in cells}

    @precondition(lambda self: self.flying)
    @rule(data=st.data())
    def lose_some(self, data):
        cells = data.draw(st.lists(st.sampled_from(sorted(self.flying, key=str)), unique=True))
        self.session.lost([arm for arm, _ in cells], [item for _, item in cells])
        self.flying -= set(cells)
        self.gone |= set(cells)

    @precondition(lambda self: self.gone)
    @rule(data=st.data())
    def tell_what_was_lost(self, data):
        cell = data.draw(st.sampled_from(sorted(self.gone, key=str)))
        self.tell([cell])
        self.gone.remove(cell)
        self.known[cell] = self.result(cell)

    @precondition(lambda self: self.known)
    @rule(data=st.data())
    def tell_again(self, data):
        cell = data.draw(st.sampled_from(sorted(self.known, key=str)))
        before = stored(self.session)
        self.tell([cell, cell])
        assert stored(self.session) == before
        self.refused([cell], [1 - self.known[cell]], "a different result")
        self.refused(lost=cell)

    @precondition(lambda self: self.flying)
    @rule()
    def tell_twice_and_differently(self):
        cell = sorted(self.flying, key=str)[0]
        self.refused([cell, cell], [0, 1], "a different result")
        self.refused([cell], [0.5], "scores")

    @rule(data=st.data())
    def tell_what_was_not_handed_out(self, data):
        """It counts when the arm's order, which was drawn before, reaches it."""
        arm = data.draw(st.sampled_from(self.names))
        item = data.draw(st.integers(0, self.items - 1))
        if item not in self.orders[arm] and (arm, item) not in self.known:
            self.refused(lost=(arm, item))
            self.tell([(arm, item)])
            self.known[arm, item] = self.result((arm, item))

    def refused(self, cells=(), results=(), words="not in flight", lost=None):
        """The call raises a ValueError with these words, and changes nothing."""
        before = stored(self.session)
        with pytest.raises(ValueError, match=words):
            if lost:
                self.session.lost([lost[0]], [lost[1]])
            else:
                self.tell(cells, results)
        assert stored(self.session) == before

    @precondition(lambda self: not self.session.done)
    @rule(data=st.data())
    def withdraw(self, data):
        arm = data.draw(st.sampled_from(self.names))
        here = len(self.names) - len(self.left)
        try:
            self.session.withdraw(arm)
        except ValueError as reason:  # too few are left, or it has been accepted
            assert here == self.strategy.k or "accepted" in str(reason) or "fewer" in str(reason)
        else:
            self.left += [arm] if arm not in self.left else []

    @rule()
    def store(self):
        state = stored(self.session)
        again = Evaluation.from_state(state)
        assert stored(again) == state
        self.session = again

    @rule()
    def report(self):
        table = self.session.report()
        assert table.waiting.sum() == self.session.waiting.sum()
        assert (table.low <= table.high).all()

    def prefixes(self):
        """Return the results of each arm up to the first gap of its order."""
        found = []
        for number, arm in enumerate(self.names):
            order = self.in_order[number].tolist()
            results = [self.known.get((arm, item)) for item in order]
            found.append(results[: results.index(None)] if None in results else results)
        return found

    @invariant()
    def the_account_agrees(self):
        if not hasattr(self, "session"):
            return
        counted = self.prefixes()
        pulls = np.array([len(results) for results in counted])
        told = np.bincount([self.names.index(arm) for arm, _ in self.known],
                           minlength=len(self.names))
        flying = np.bincount([self.names.index(arm) for arm, _ in self.flying],
                             minlength=len(self.names))
        session = self.session
        assert session.pulls.tolist() == pulls.tolist()
        assert session.waiting.tolist() == (told - pulls).tolist()
        numbers = [self.names.index(model) for model in session.in_flight()[0].tolist()]
        assert np.bincount(numbers, minlength=len(self.names)).tolist() == flying.tolist()
        sums = np.nan_to_num(session.means) * pulls
        assert np.allclose(sums, [sum(results) for results in counted])
        assert pulls.max() <= self.items

    def teardown(self):
        """A study that receives all results ends, and certified sets are correct."""
        if not hasattr(self, "session"):
            return
        self.tell(sorted(self.flying, key=str))
        for _ in range(2 * self.right.size):
            if self.session.done:
                break
            arms, items = self.session.ask(4)
            assert arms.size  # nothing is in flight: there is something to ask
            self.tell(list(zip(arms.tolist(), items.tolist(), strict=True)))
        assert self.session.done
        if isinstance(self.strategy, topk.KLLUCB):  # delta is 1e-9
            assert self.session.certified and self.session.evidence() <= 1e-9
            true = dict(zip(self.names, self.right.sum(axis=1).tolist(), strict=True))
            chosen = self.session.selected.tolist()
            rest = [true[arm] for arm in self.names if arm not in chosen and arm not in self.left]
            spare = int(self.strategy.epsilon * self.items + 1e-9)
            assert max(rest, default=0) <= min(true[arm] for arm in chosen) + spare


TestHarness = Harness.TestCase
TestHarness.settings = settings(max_examples=60, stateful_step_count=40, deadline=None)


ORDERS = ([[0, 4, 5, 1, 2, 3], [0, 4, 5, 2, 3, 1], [3, 2, 0, 5, 1, 4]], [[0, 1, 2], [1, 0, 2]])


def grid(n, items):
    """Return a matrix of models, the best first."""
    shares = np.linspace(0.95, 0.3, n)[:, None]
    return (np.random.default_rng(0).random((n, items)) < shares).astype(int)


def played(session, right, size, backwards=False):
    """Return the results of all requests until the study ends; return the cells in order."""
    cells = []
    while not session.done:
        arms, items = session.ask(size)
        cells += zip(arms.tolist(), items.tolist(), strict=True)
        if backwards:
            arms, items = arms[::-1], items[::-1]
        session.tell(arms, items, right[arms, items])
    return cells


def test_the_order_is_a_function_of_the_seed_and_goes_on_after_a_restart():
    right, strategy = grid(4, 60), topk.KLLUCB(2, 0, 0.05)
    cells = played(Evaluation(strategy, 4, items=60, rng=7), right, 5)
    assert cells == played(Evaluation(strategy, 4, items=60, rng=7), right, 5)
    assert cells != played(Evaluation(strategy, 4, items=60, rng=8), right, 5)
    session, seen = Evaluation(strategy, 4, items=60, rng=7), []
    while not session.done:
        arms, items = session.ask(5)
        seen += zip(arms.tolist(), items.tolist(), strict=True)
        session = Evaluation.from_state(stored(session))
        session.tell(arms, items, right[arms, items])
    assert cells == seen


def test_the_orders_of_a_seed_are_these_for_ever():
    """The orders are recorded here, because stored evaluations depend on them."""
    assert drawn_orders(1, [[0], [1], [0, 1]], 6).tolist() == ORDERS[0]
    assert drawn_orders(1, [["b", "a"], ["a"]], ["z", "x", "y"]).tolist() == ORDERS[1]


def test_an_order_does_not_depend_on_how_models_and_items_are_listed():
    rng = np.random.default_rng(3)
    for items in ([f"q{i}" for i in range(30)], [*range(7, 40)]):
        found = []
        for _ in range(5):
            models, listed = (rng.permutation(x).tolist() for x in (list("abcd"), items))
            orders = drawn_orders(5, [[model] for model in models] + [models], listed)
            one = dict(zip([*models, "all"], orders.tolist(), strict=True))
            found.append({name: [listed[i] for i in one[name]] for name in one})
        assert all(other == found[0] for other in found)
        assert len({tuple(order) for order in found[0].values()}) == 5
    study = [Evaluation(topk.PairedBetting(1, 0, 0.1), models, items=items, rng=4).ask(200)
             for models, items in ((["a", "b"], ["x", "y", "z"]), (["b", "a"], ["z", "x", "y"]))]
    orders = [{m: items[models == m].tolist() for m in "ab"} for models, items in study]
    assert orders[0] == orders[1] and orders[0]["a"] == orders[0]["b"]


def test_other_names_have_another_order():
    """A candidate cannot be made for the order of a seed that was used before."""
    many = [f"q{i}" for i in range(50)]
    listed = [drawn_orders(5, [["a", x]], many)[0].tolist() for x in "bc"]
    listed += [drawn_orders(5, [["a", "b"]], [*many, "r"])[0].tolist(),
               drawn_orders(6, [["a", "b"]], many)[0].tolist()]
    assert all(x != y for i, x in enumerate(listed) for y in listed[:i])


def test_orders_are_uniform():
    orders = np.array([drawn_orders(seed, [["a"], ["b"]], list("wxyz")) for seed in range(6000)])
    places = (orders[:, :, :, None] == np.arange(4)).mean(axis=0)
    assert abs(places - 0.25).max() < 0.04  # off with probability below 64 exp(-19), Hoeffding
    same = (orders[:, 0] == orders[:, 1]).all(axis=1).mean()
    assert abs(same - 1 / 24) < 0.04


def test_easy_items_first_do_not_choose_what_counts():
    """Right answers are told at once, wrong ones late: what counts is as if all came in order."""
    right, strategy = grid(3, 40), topk.KLLUCB(1, 0, 0.1)
    session = Evaluation(strategy, 3, items=40, rng=1)
    arms, items = session.ask(60)
    easy = right[arms, items] == 1
    session.tell(arms[easy], items[easy], np.ones(easy.sum()))
    for arm in range(3):
        own = right[arm, items[arms == arm]]
        assert session.pulls[arm] == (own.argmin() if (own == 0).any() else own.size)
        assert session.pulls[arm] + session.waiting[arm] == own.sum()
    table = session.report().sort_values("name")
    low, high = confidence.interval(session.pulls, session.pulls, 0.1 / 3, items=40)
    assert table.low.tolist() == (low / 40).tolist()
    assert table.high.tolist() == (high / 40).tolist()
    session.tell(arms[~easy], items[~easy], np.zeros((~easy).sum()))
    assert session.waiting.sum() == 0 and session.pulls.sum() == 60


def test_a_study_of_one_cell_at_a_time_makes_the_same_requests_as_a_run():
    """The share of cells is about that of simulated runs: batches of 1, orders told backwards."""
    right, strategy = grid(6, 80), topk.KLLUCB(2, 0, 0.05)
    live = [len(played(Evaluation(strategy, 6, items=80, rng=r), right, 1)) for r in range(20)]
    runs = topk.replicate(strategy, topk_eval.TestSet(right), 200, seed=1).total_pulls
    assert abs(np.mean(live) - runs.mean()) < 6 * runs.std() / 20**0.5 + 2
    studies = [Evaluation(strategy, 6, items=80, rng=r) for r in range(20)]
    batches = [len(played(study, right, 20, True)) for study in studies]
    assert np.mean(batches) < np.mean(live) + 30


@pytest.mark.parametrize("size", [1, 7, 100, 10**6])
def test_a_request_never_exceeds_the_number_of_cells(size):
    right = grid(3, 9)
    cells = played(Evaluation(topk.KLLUCB(1, 0, 1e-9), 3, items=9, rng=0), right, size)
    assert len(cells) == len(set(cells)) <= 27


def test_cells_are_plain_values_on_request():
    """What json.dumps takes; the same cells as without, handed out once."""
    for models in (["a", "b"], 2):
        sessions = [Evaluation(topk.KLLUCB(1, 0.1, 0.1), models, items=20, rng=1) for _ in range(2)]
        arms, items = sessions[0].ask(5)
        asked = sessions[1].ask(5, plain=True)
        assert asked == (arms.tolist(), items.tolist()) and len(arms) == 5
        assert json.loads(json.dumps(asked)) == [arms.tolist(), items.tolist()]
        assert sessions[1].tell(*asked, [1] * 5).pulls.sum() == 5
        with pytest.raises(ValueError, match="plain must be True or False, got 1"):
            sessions[1].ask(5, plain=1)
        assert sessions[1].in_flight()[0].size == 0
        assert sessions[1].ask(5, plain=True)[0]


def test_impossible_values_are_refused_by_name():
    session = Evaluation(topk.KLLUCB(1, 0, 0.1), 3, items=5, rng=0)
    arms, items = session.ask(3)
    before = stored(session)
    wrong = {"models": [[0, 1, 3], ["a", 1, 2], [0.5, 1, 2]],
             "items": [[0, 1, 5], [0, 1], [-1, 1, 2]],
             "scores": [[0, 1], [0, 1, 2], [0, 1, np.nan], ["a", 0, 1]]}
    right = {"models": arms, "items": items, "scores": [1, 0, 1]}
    for name, values in wrong.items():
        for value in values:
            with pytest.raises(ValueError, match=f"^{name} must "):
                session.tell(**right | {name: value})
    for value in (np.nan, "a", 2, None):  # with its place and its cell
        place = rf"got .*{value}.* \(entry 2, model {arms[2]}, item {items[2]}\)"
        with pytest.raises(ValueError, match=place):
            session.tell(**right | {"scores": [1, 0, value]})
    for size in (0, -1, 2.5, None, "3", True):
        with pytest.raises(ValueError, match="size"):
            session.ask(size)
    with pytest.raises(ValueError, match="not in flight"):
        session.lost([0, 0], [items[0], items[0]])
    for value in (0, -1, 2.0, "5", True):
        with pytest.raises(ValueError, match="items"):
            Evaluation(topk.KLLUCB(1, 0, 0.1), 3, items=value)
    assert stored(session) == before
    state = session.state()
    state["cells"]["known"][0] = "x"
    with pytest.raises(ValueError, match="digest"):
        Evaluation.from_state(state)


def test_a_stored_session_keeps_about_a_byte_a_cell():
    session, right = Evaluation(topk.KLLUCB(5, 0, 0.05), 57, items=797, rng=0), grid(57, 797)
    cells = played(session, right, 500)
    assert len(cells) > 5000 and len(json.dumps(stored(session))) < len(cells) + 200 * 57


@pytest.mark.parametrize("strategy", [topk.KLLUCB(2, 0, 0.1), topk.SAR(2, 15), topk.Uniform(2, 16)],
                         ids=lambda x: type(x).__name__)
def test_a_lost_cell_does_not_block_a_study(strategy):
    """The first cell of each arm is lost repeatedly, and all later cells are told."""
    right = grid(4, 4)
    session, first = Evaluation(strategy, 4, items=4, rng=3), {}
    for _ in range(6):
        arms, items = session.ask(16)
        for arm, item in zip(arms.tolist(), items.tolist(), strict=True):
            first.setdefault(arm, item)
        lost = items == [first[arm] for arm in arms.tolist()]
        assert arms.size
        session.lost(arms[lost], items[lost])
        session.tell(arms[~lost], items[~lost], right[arms, items][~lost])
    assert session.pulls.sum() == 0 and session.waiting.sum() > 0 and not session.done
    session.tell([0], [first[0]], [right[0, first[0]]])  # late, and taken all the same
    assert session.pulls[0] > 0 == session.waiting[0]
    played(session, right, 3)
    assert session.pulls.max() <= 4


def called(arm, item):
    """Return how a cell is called in messages."""
    return str(arm), str(item)


@pytest.mark.parametrize("result", [0, 1])
def test_a_cell_keeps_its_first_result(result):
    cells = Cells(2, 3, seed=0)
    arms, items = cells.hand_out(np.array([2, 1]))
    cells.take(arms, items, np.full(3, float(result)), called)
    with pytest.raises(ValueError, match="told with a different result"):
        cells.take(arms[1:], items[1:], np.array([result, 1.0 - result]), called)
    with pytest.raises(ValueError, match="has a result"):
        cells.take(arms[1:], items[1:], np.array([result, np.nan]), called)
    assert cells.take(arms, items, np.full(3, float(result)), called) == []


def test_of_several_refused_results_the_first_is_named():
    cells = Cells(2, 3, seed=0)
    cells.take(np.array([0, 1, 1]), np.array([2, 0, 1]), np.array([1.0, 0, 1]), called)
    with pytest.raises(ValueError, match="the cell of model 1 and item 0 was told with a"):
        cells.take(np.array([0, 1, 1]), np.array([2, 0, 1]), np.array([1.0, 1, 0]), called)


@pytest.mark.parametrize("prefix", [True, False])
def test_stored_cells_are_the_same_cells(prefix):
    more = {"trials": 2, "order": "shared", "lead": 1, "prefix": prefix, "bounds": (0, 4)}
    cells, other = Cells(2, 5, 0, **more), Cells(2, 5, 5, **more)
    cells.hand_out(np.array([1, 3]))
    told = cells.take(np.array([0, 0, 1, 1, 1]), np.array([2, 2, 0, 0, 1]),
                      np.array([1, 0, 0.25, np.nan, 3]), called)
    assert cells.order[:, 0].tolist() == [0, 0] and not np.array_equal(cells.order, other.order)
    again = other.load(cells.dump())
    for name in "order", "status", "values", "fresh", "out", "counted":
        assert getattr(other, name).tolist() == getattr(cells, name).tolist(), name
    for x, y in zip(told, again, strict=True):
        assert [*map(np.ndarray.tolist, x[1:])] == [*map(np.ndarray.tolist, y[1:])]
    fills = {x.arm: (x.low.tolist(), x.high.tolist()) for x in told}
    assert fills[1] == ([0.125], [2.125])  # half of .25, and of .25 and 4
    assert (0 in fills) == (not prefix)  # it is not the first item of its order


@pytest.mark.parametrize("known", [["01"], ["01", "1", ""], ["01", "0110"], ["01", "!"]])
def test_stored_cells_of_other_arms_or_items_are_refused(known):
    with pytest.raises(ValueError, match="^known"):
        Cells(2, 3, seed=0).load({"seed": 0, "known": known, "values": [[], []]})
    with pytest.raises(ValueError, match="^values"):
        Cells(2, 3, seed=0).load({"seed": 0, "known": ["=", "0"], "values": [[], []]})
