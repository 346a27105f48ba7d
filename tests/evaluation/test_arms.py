"""Live studies of independent arms: numbers of pulls, in any order, and counts of 0/1 rewards."""

import copy
import itertools
import json
import pickle
from fractions import Fraction
from math import comb

import numpy as np
import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule
from scipy.stats import binom

import topk
import topk_eval
from topk.engine.streams import ORDER, order_from, stream
from topk.simulate.buffer import BufferedBandit
from topk_eval import Evaluation
from topk_eval.cells import NumberedCells
from topk_eval.pairs import Told

pytestmark = pytest.mark.filterwarnings("ignore::topk.TopkWarning")
ARMS = [*"abcdefg"]


def pairs(k=1, delta=0.05, **more):
    return topk.PairedBetting(k, 0, delta, **more)


def read_in_order(study, cells):
    """Return a rule that was told cells, ``{(arm, number): reward}``, by their numbers."""
    run = study.engine.strategy.begin(study.n, withdrawals=study.withdrawals)
    for (arm, number), reward in sorted(cells.items(), key=lambda x: (x[0][1], x[0][0])):
        fills = (np.nan_to_num([reward], nan=x) for x in (0.0, 1.0))
        run.table.put([Told(arm, np.array([number]), *fills)])
    return run.table


class Study(RuleBasedStateMachine):
    """An evaluation of arms against its rewards, read in the order of their numbers.

    ``rewards`` is the table, nan where a pull fails; ``known`` the cells told before the run ended,
    ``flying`` those out.
    """

    @initialize(data=st.data())
    def begin(self, data):
        self.n = data.draw(st.integers(2, 7))
        k = data.draw(st.sampled_from(sorted({1, max(1, self.n // 2), self.n - 1})))
        rng = np.random.default_rng(data.draw(st.integers(0, 10**6)))
        means = np.linspace(0.9, data.draw(st.sampled_from([0.1, 0.8])), self.n)
        self.rewards = (rng.random((400, self.n)) < means).T.astype(float)
        if data.draw(st.booleans()):
            self.rewards[rng.random(self.rewards.shape) < 0.2] = 0.25
        self.rewards[rng.random(self.rewards.shape) < data.draw(st.sampled_from([0, 0.1]))] = np.nan
        self.delta = data.draw(st.sampled_from([0.01, 0.5]))
        self.study = Evaluation(pairs(k, self.delta), ARMS[: self.n], rng=0)
        self.known, self.flying, self.void = {}, [], False

    def tell(self, cells):
        if not self.study.done:
            self.known |= {(arm, i): self.rewards[arm, i] for arm, i in cells}
        self.study.tell([ARMS[arm] for arm, _ in cells], [i for _, i in cells],
                        [self.rewards[cell] for cell in cells])

    @rule(size=st.sampled_from([1, 2, 7, 60]))
    def ask(self, size):
        arms, numbers = self.study.ask(size, plain=True)
        cells = [(ARMS.index(arm), i) for arm, i in zip(arms, numbers, strict=True)]
        assert len({*cells}) == len(cells) <= size and not {*cells} & {*self.known, *self.flying}
        assert cells or self.flying or self.study.done
        self.flying += cells

    @precondition(lambda self: self.flying)
    @rule(data=st.data())
    def tell_some(self, data):
        order = data.draw(st.permutations(range(len(self.flying))))
        some = [self.flying[i] for i in order[: data.draw(st.integers(1, len(order)))]]
        self.flying = [cell for cell in self.flying if cell not in some]
        self.tell(some)

    @rule(data=st.data(), number=st.integers(0, 90))
    def tell_any(self, data, number):
        cell = data.draw(st.integers(0, self.n - 1)), number
        self.flying = [x for x in self.flying if x != cell]
        self.tell([cell])

    @precondition(lambda self: self.flying)
    @rule()
    def lose_all(self):
        self.study.lose_all()
        self.flying = []

    @rule(data=st.data())
    def withdraw(self, data):
        arm = data.draw(st.integers(0, self.n - 1))
        left = self.n - len(self.study.withdrawn)
        if self.study.done or ARMS[arm] in self.study.withdrawn or left <= self.study.strategy.k:
            return
        race = self.reference().deciding
        self.void |= race is not None and bool(race.left[arm])
        self.study.withdraw(ARMS[arm])

    @rule(how=st.sampled_from(["state", "pickle", "copy"]))
    def store(self, how):
        before = self.study
        self.study = {
            "state": lambda x: Evaluation.from_state(json.dumps(x.state())), "copy": copy.deepcopy,
            "pickle": lambda x: pickle.loads(pickle.dumps(x))}[how](before)
        assert self.study.state() == before.state()
        assert self.study.engine.table == before.engine.table
        assert self.study.evidence() == before.evidence()

    def reference(self):
        table = read_in_order(self.study, self.known)
        gone = [ARMS.index(arm) for arm in self.study.withdrawn]
        table.restore_withdrawals(gone, [int(self.void)] * (table.race is not None))
        return table

    @invariant()
    def evidence_is_that_of_the_table_read_in_order(self):
        if not hasattr(self, "study"):
            return
        table, study = self.reference(), self.study
        assert table == study.engine.table and study.in_flight()[0].size == len(self.flying)
        counted = np.array([sum(arm == a for a, _ in self.known) for arm in range(self.n)])
        assert table.size.tolist() == counted.tolist()
        if study.engine.table.evidence(0.0) < 1:
            assert table.evidence(0.0) == study.engine.table.evidence(0.0)
            assert table.chosen().tolist() == study.engine.table.chosen().tolist()
        if study.certified:
            assert table.decided() and study.evidence() <= self.delta


TestStudy = Study.TestCase
TestStudy.settings = settings(max_examples=30, stateful_step_count=15, deadline=None)


@pytest.mark.parametrize(("n", "k"), [(2, 1), (5, 1), (5, 2), (5, 4)])
def test_a_loop_of_single_pulls_makes_the_run_of_a_simulation(n, k):
    """On the same table both pull each arm equally often and end with the same evidence."""
    bandit = topk.BernoulliBandit(np.linspace(0.9, 0.1, n))
    for seed in range(2):
        outcome = topk.run(pairs(k), bandit, rng=seed)
        order = order_from(stream(seed, 0, ORDER), bandit.layout)
        drawn = BufferedBandit(bandit, seed, 0)
        rewards = [drawn.rewards(arm, 2000) for arm in order.tolist()]
        study = Evaluation(pairs(k), order.tolist(), rng=0)  # in the run's order, for ties
        while not study.done:
            arms, numbers = study.ask(1)
            study.tell(arms, numbers, [rewards[order.tolist().index(arms[0])][numbers[0]]])
        assert study.certified and sorted(study.selected.tolist()) == outcome.selected.tolist()
        assert study.evidence() == pytest.approx(outcome.evidence(), rel=1e-12)
        assert study.pulls.tolist() == outcome.pulls[order].tolist()


# Counts


def test_counts_of_an_ask_are_placed_once_and_kept():
    study = Evaluation(pairs(2, 1e-6), ["a", "b", "c"], rng=7)
    arms, numbers = study.ask(30)
    assert np.bincount(numbers).tolist() == [3] * 10
    study.tell_counts(["a", "c", "a"], [2, 4, 3], [4, 10, 3])  # 3 of a's are still out
    assert study.pulls.tolist() == [7, 0, 10] and study.means[[0, 2]].tolist() == [5 / 7, 0.4]
    again = Evaluation.from_state(json.dumps(study.state()))
    for one in (study, again):
        one.tell_counts(["a", "b"], [3, 5], [3, 10])
        assert one.pulls.tolist() == [10] * 3 and one.in_flight()[0].size == 0
        assert one.means.tolist() == [0.8, 0.5, 0.4]
    table = study.engine.table
    assert table == again.engine.table and table.told[:, :10].all() and not table.told[:, 10:].any()
    assert study.state() == again.state()
    cells = {(arm, i): table.low[arm, i] for arm in range(3) for i in range(10)}
    assert read_in_order(study, cells) == table


def test_places_of_ones_are_uniform_whatever_comes_first():
    """Zeros come first, told in two parts: each of 6 sets of two places has probability 1/6."""
    found = []
    for seed in range(1200):
        cells = NumberedCells(2, seed, (0, 1))
        cells.hand_out(np.array([4, 0]))
        rng = np.random.default_rng(seed)
        for ones in (0, 1):
            (places,) = cells.places_for(np.array([0]), np.array([2]), rng)
            cells.take(np.zeros(2, dtype=int), places, np.full(2, float(ones)), None)
        found.append(tuple(np.flatnonzero(cells.values[0, :4])))
    counts = [found.count(x) for x in itertools.combinations(range(4), 2)]
    assert sum(counts) == 1200
    low, high = binom.ppf([5e-8, 1 - 5e-8], 1200, 1 / 6)  # 6 counts: below 1e-6 together
    assert low <= min(counts) and max(counts) <= high


def test_counts_that_do_not_fit_are_refused_before_any_change():
    study = Evaluation(pairs(2), ["a", "b", "c"], rng=0)
    study.ask(9)
    state = study.state()
    for told, words in [
        ((["a", "b"], [1, 1], [2, 4]), r"counts must be at most 3.*got 4 \(entry 1, arm 'b'\)"),
        ((["a", "a"], [1, 1], [2, 2]), r"counts must be at most 1.*got 2 \(entry 1, arm 'a'\)"),
        ((["a"], [3], [2]), r"sums must be .*got 3 of 2 reward.*\(entry 0, arm 'a'\)"),
        ((["a"], [-1], [2]), r"sums must be .*arm 'a'"),
        ((["a", "c"], [1, 0.5], [2, 2]), r"sums must be .*whole.*got 0.5 \(entry 1, arm 'c'\)"),
        ((["a"], [1], None), "counts must be given with sums"),
        ((["d"], [1], [1]), "arms are fixed at the start, got 'd'"),
    ]:
        with pytest.raises(ValueError, match=words):
            study.tell_counts(*told)
        assert study.state() == state
    study.ask(3)  # of the last one nothing says which ask it belongs to
    with pytest.raises(ValueError, match="arm 'a' has pulls of several asks in flight"):
        study.tell_counts(["a"], [1], [1])
    study.lose_all().ask(3)
    assert study.tell_counts(["a", "b"], [0, 1], [1, 1]).pulls.tolist() == [1, 1, 0]


def test_a_reward_is_not_told_by_number_after_counts_of_its_ask():
    """It may be among those that were counted; also after loading, and when it comes after all."""
    study = Evaluation(pairs(2, 1e-6), ["a", "b", "c"], rng=7)
    study.ask(9)
    study.tell_counts(["a"], [1], [1])
    for one in (study, Evaluation.from_state(study.state())):
        arms, numbers = one.in_flight()
        (left, *_) = numbers[arms == "a"]
        state = one.state()
        with pytest.raises(ValueError, match=f"arm 'a' and number {left} belongs"):
            one.tell(["a"], [left], [1])
        assert one.state() == state
        one.tell(["a", "b"], [left, 0], [np.nan, 1]).tell(["a"], [50], [0])  # failed; not asked
        assert one.tell_counts(["a"], [0], [1]).in_flight()[0].tolist().count("a") == 0
        arms, numbers = one.ask(9)
        assert one.tell(arms, numbers, np.ones(9)).pulls.sum() > 9  # another ask


def test_counts_are_for_arms_with_rewards_of_0_and_1():
    on_items = Evaluation(pairs(), 2, items=9)
    scaled = Evaluation(pairs(), 2, bounds=(0, 2))
    graded = Evaluation(pairs(), 2).tell([0], [3], [0.5])
    for study, words in ((on_items, "has items"), (scaled, "not all 0 or 1"),
                         (graded, "not all 0 or 1")):
        study.ask(4)
        state = study.state()
        with pytest.raises(ValueError, match=words):
            study.tell_counts([0], [1], [1])
        assert study.state() == state
    falls = Evaluation(pairs(), 2, lower_is_better=True)
    falls.ask(4)
    falls.tell_counts([0, 1], [0, 2], [2, 2]).tell([0], [9], [np.nan])
    assert falls.means.tolist() == [0, 1] and falls.engine.table.low[0, :2].tolist() == [1, 1]
    falls.ask(2)
    assert falls.tell_counts([0, 1], [0, 1], [1, 1]).report().failed.sum() == 1


def test_counts_of_arms_that_depend_on_each_other_prove_too_much():
    """Of two equal arms exactly one is right at each number.  Bet: all, 1 + d."""

    class Given:
        """A generator that returns the permutations it was given."""

        def __init__(self, orders):
            self.orders = iter(orders)

        def permutation(self, values):
            return values[[*next(self.orders)]]

    expected = {2: Fraction(5, 4), 3: Fraction(3, 2), 4: Fraction(29, 16)}
    for size, mean in expected.items():
        orders = [*itertools.permutations(range(size))]
        dependent = independent = Fraction(0)
        for both in itertools.product(orders, repeat=2):
            cells = NumberedCells(2, 0, (0, 1))
            cells.hand_out(np.array([size, size]))
            places = cells.places_for(np.arange(2), np.full(2, size), Given(both))
            for s, t in itertools.product(range(size + 1), repeat=2):
                a, b = np.zeros((2, size), dtype=int)
                a[places[0][:s]], b[places[1][:t]] = 1, 1
                e = int(np.prod(1 + a - b))
                dependent += e * comb(size, s) * (s + t == size)
                independent += Fraction(e * comb(size, s) * comb(size, t), 2**size)
        assert dependent / (2**size * len(orders) ** 2) == mean
        assert independent / (2**size * len(orders) ** 2) == 1


def test_the_order_of_arrival_proves_nothing():
    """Equal arms, 20 pulls each; a's ones come back first, and b's zeros."""
    ways = np.array([comb(20, i) for i in range(21)]) / 2**20
    capital, above = np.zeros((21, 21)), np.zeros((21, 21))
    for ones, zeros in itertools.product(range(21), repeat=2):
        a, b = np.arange(20) < ones, np.arange(20) >= zeros
        capital[ones, zeros] = np.cumprod(1.0 + a - b).max()
        table = topk_eval.pairs.PairsOfPulls(1, 0, 0.05).table(2, None)
        table.extend([(0, a.astype(float)), (1, b.astype(float))])
        above[ones, zeros] = table.largest[0, 1] >= table.level
    assert ways @ (capital >= 128) @ ways == pytest.approx(0.888, abs=5e-4)  # 1/128 is allowed
    assert ways @ above @ ways > 0.5  # .05 is allowed
    rng, wrong = np.random.default_rng(1), 0
    for seed in range(200):
        study = Evaluation(pairs(1, 0.2), 2, rng=seed)
        assert np.bincount(study.ask(40)[0]).tolist() == [20, 20]
        ones, zeros = rng.binomial(20, 0.5, 2).tolist()
        study.tell_counts([0, 1], [ones, 0], [ones, zeros])
        study.tell_counts([0, 1], [0, 20 - zeros], [20 - ones, 20 - zeros])
        wrong += study.certified
    assert wrong <= binom.ppf(1 - 1e-7, 200, 0.2)


# What the study takes, and how it is stored


def test_what_does_not_fit_is_refused_and_names_what_does():
    for call, words in [
        (lambda: Evaluation(topk.KLLUCB(1, 0, 0.1), 3), r"items .*Session, strategy.start\(arms\)"),
        (lambda: Evaluation(topk.BettingLUCB(1, 0, 0.1), 3), "items .*PairedBetting does here"),
        (lambda: Evaluation(pairs(), 3, trials=2), "trials must be 1 without items"),
        (lambda: Evaluation(pairs(), 201), "at most 200 arms.*KLLUCB"),
        (lambda: Evaluation(pairs(), ["a", "b"]).tell(["a"], [10**6], [1]), "items .*from 0 to"),
        (lambda: Evaluation(pairs(), ["a", "b"]).tell(["a"], [3], [2]),
         r"scores .*got 2.0 \(entry 0, arm 'a', number 3\)"),
        (lambda: Evaluation(pairs(), ["a", "b"]).tell(["a"] * 2, [3, 3], [1, 0]),
         "arm 'a' and number 3 was told with a different"),
        (lambda: Evaluation(pairs(), ["a", "b"]).lost(["a"], [3]), "arm 'a' and number 3 is not"),
        (lambda: Evaluation(pairs(), 3).withdraw(3), "arm must be"),
        (lambda: Evaluation(pairs(), 3).with_models(1), "no arm can join PairedBetting"),
        (lambda: pairs().start(3), r"topk_eval.Evaluation\(strategy, arms\)"),
    ]:
        with pytest.raises(ValueError, match=words):
            call()


def test_a_study_of_arms_speaks_of_arms_and_is_loaded_from_its_file(tmp_path):
    study = Evaluation(pairs(2, budget=30), ["a", "b", "c"], rng=0)
    arms, numbers = study.ask(7)
    study.tell(arms[:4], numbers[:4], [1, np.nan, 0, 1])
    assert study.items is None and "3 arms, 3 results, running" in repr(study)
    assert ": 3 arms, 3 results told, 1 failed, 3 in flight; running" in study.summary()
    assert "model" not in study.summary() and "item" not in study.summary()
    study.save(tmp_path / "arms.json")
    again = topk_eval.load(tmp_path / "arms.json", lost=True)
    assert [*zip(*again.ask(3, plain=True), strict=True)] == [*zip(*study.in_flight(), strict=True)]
    again.lose_all()
    while not again.done:
        arms, numbers = again.ask(9)
        again.tell(arms, numbers, numbers % 2)
    assert again.stopped == "budget" and again.engine.table.size.sum() == 30


def test_memory_grows_with_the_numbers_that_are_told():
    study = Evaluation(pairs(2, 1e-9), 4, rng=0)
    widths = []
    for number in (0, 63, 64, 1000):
        study.tell([1], [number], [1])
        found = {x.shape for x in (study._cells.status, study._cells.values,
                                   study.engine.table.low, study.engine.table.told)}
        widths.append(found)
    assert widths == [{(4, 64)}, {(4, 64)}, {(4, 128)}, {(4, 1024)}]
    arms, numbers = study.ask(2000)
    told = zip(arms.tolist(), numbers.tolist(), strict=True)
    assert not {*told} & {(1, 0), (1, 63), (1, 64), (1, 1000)} and arms.size == 2000
