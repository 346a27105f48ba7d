"""Random sessions of gates, cells and arms, each compared with a simple model after every step.

Run ``python -m evidence.sessions`` in the folder tests (some minutes).  ``sessions.json`` in this
folder stores how many sessions and steps there were; the tests repeat the first ones.  The models
are written from the documentation: a gate's capital is multiplied item by item from the first one,
cells and rewards are kept in dicts and lists.  Between two steps a study may be saved and loaded,
pickled or copied, and what it refuses must not change it.
"""

import copy
import json
import math
import pickle
import tempfile
import warnings
from collections import Counter
from fractions import Fraction
from pathlib import Path

import numpy as np
from evidence.plays import in_lines

import topk
import topk_eval
from topk.confidence.paired import BETS, WEIGHTS
from topk_eval import Evaluation
from topk_eval.rows import FRACTIONS

RESULT = Path(__file__).with_name("sessions.json")
SEED, STEPS = 56, 25
REPEATED = 10  # sessions of each kind that the tests make again
GRADES = (0.0, 0.25, 0.5, 0.75, 1.0)  # sums and differences are exact as floats
NAN = math.nan


class Machine:
    """A random session: what is tried, and what it is compared with."""

    def __init__(self, number):
        self.rng = np.random.default_rng([SEED, [*KINDS].index(self.kind), number])
        self.begin()

    def one(self, values):
        """Return one of some values."""
        return values[int(self.rng.integers(len(values)))]

    def chance(self, probability):
        """Return whether something happens."""
        return bool(self.rng.random() < probability)

    def some(self, values, least=1):
        """Return some of the values, in random order."""
        count = int(self.rng.integers(least, len(values) + 1)) if values else 0
        return [values[i] for i in self.rng.permutation(len(values))[:count].tolist()]

    def refused(self, *calls):
        """Make one of some calls, all of which have to be refused and to change nothing."""
        before = self.known()
        try:
            self.one(calls)()
        except (ValueError, TypeError):
            assert self.known() == before
            return
        raise AssertionError("what is wrong was taken")

    def play(self):
        """Make the steps; return how many there were.  A difference is an `AssertionError`."""
        for step in range(STEPS):
            acts = [act for act, possible in self.acts() if possible]
            if not acts:
                return step
            self.one(acts)()
            if self.chance(0.2):
                self.study = self.through(self.study)
            self.compare()
        return STEPS

    def through(self, study):
        """Return a study that has been stored in one of several ways."""
        way = self.one(("pickle", "copy", "file", "file"))
        if way == "pickle":
            return pickle.loads(pickle.dumps(study))
        if way == "copy":
            return copy.deepcopy(study)
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder) / "study.json"
            study.save(path)
            return self.load(path)


# Gates


def close(a, b):
    """Return whether two numbers are equal but for rounding; nan equals nan."""
    return (a != a and b != b) or math.isclose(a, b, rel_tol=1e-9, abs_tol=1e-12)


FEW = FRACTIONS.ravel().tolist()
RATES = {True: (BETS.tolist(), WEIGHTS.tolist()), False: (FEW, [1 / len(FEW)] * len(FEW))}


class Gates(Machine):
    """A gate against capitals that are multiplied item by item.

    ``left``, ``champion`` and ``rows`` are what is left of delta, the champion and the ended
    trials; ``shown`` the items that no trial can start any more.  Of the open trial ``started`` are
    its items in their order, and ``results`` the pairs of results that were told, on [0, 1].
    """

    kind = "gates"

    def begin(self):
        self.low, self.width = self.one(((0, 1), (-10, 20), (0, 0.5)))
        self.lower, self.epsilon = self.chance(0.3), self.one((0.0, 0.0, 0.125))
        self.gain, self.most = self.one((None, 0.25, 0.5)), self.one((None, None, 6, 15))
        self.spend, self.left = self.one((0.02, 0.5, 0.9)), self.one((0.05, 0.3, 0.9))
        gain = self.gain and self.gain * self.width
        self.study = topk_eval.Gate(
            0, self.left, self.epsilon * self.width, (self.low, self.low + self.width), self.lower,
            self.spend, gain, self.most, rng=int(self.rng.integers(99)))  # fmt: skip
        self.champion, self.rows, self.shown, self.numbered = 0, [], set(), 0
        self.candidates, self.name = 0, None

    load = staticmethod(topk_eval.Gate.load)

    @property
    def trial(self):
        return self.study.trial

    def known(self):
        return json.dumps(self.study._stored())

    def acts(self):
        open_, fresh = self.name is not None, self.name is not None and self.pool is None
        return [
            (self.offer, not open_), (self.start, open_ and self.way != "tell"),
            (self.start, open_ and self.way != "tell"), (self.tell, open_ and self.flying()),
            (self.tell, open_ and self.flying()), (self.tell, open_ and self.flying()),
            (self.tell_alone, fresh and self.way != "start"),
            (self.tell_alone, fresh and self.way == "tell"),
            (self.abandon, open_ and self.chance(0.2)), (self.wrong, True),
        ]  # fmt: skip

    # What is done

    def score(self, x):
        """Return a result in [0, 1] in units of score."""
        return self.low + self.width * (1 - x if self.lower else x)

    def draw(self, name):
        """Draw what is told of an item: the results of champion and candidate, or nan."""
        better = self.candidates % 3 == 1  # of some trials the candidate is much better
        champion, candidate = self.one(GRADES[: 2 if better else 5]), self.one(GRADES[3 * better :])
        known = self.held.get(name, NAN)
        champion = known if known == known else NAN if self.chance(0.05) else champion
        told = NAN if known == known and self.chance(0.5) else champion
        return told, champion, NAN if self.chance(0.05) else candidate

    def offer(self):
        self.candidates += 1
        self.level = self.spend * self.left
        self.left -= self.level
        self.name, self.way, self.largest = self.candidates, None, 1.0
        self.pool, self.held, self.started, self.results = None, {}, [], {}
        given = {}
        if self.chance(0.5):
            count = int(self.rng.integers(1, 16))
            self.pool = self.one(([*range(count)], [f"p{i}" for i in range(count)]))
            given["items"] = count if isinstance(self.pool[0], int) else self.pool
            if self.chance(0.5):
                known = [self.one((*GRADES, NAN)) for _ in self.pool]
                given["champion_results"] = [self.score(x) for x in known]
                self.held = {i: x for i, x in zip(self.pool, known, strict=True) if x == x}
                self.shown |= {*self.held}
        self.study.offer(self.name, **given)

    def take(self, wanted):
        """Return the names that fresh items have, and note them."""
        if isinstance(wanted, list):
            self.shown |= {*wanted}
            return wanted
        names = []
        while len(names) < wanted:
            if self.numbered not in self.shown:
                names.append(self.numbered)
            self.numbered += 1
        return names

    def start(self):
        self.way = "start"
        size = int(self.rng.integers(1, 6))
        room = min(self.most or 99, 99 if self.pool is None else len(self.pool)) - len(self.started)
        if self.pool is None:
            given = size
            if self.chance(0.5):
                given = [f"n{len(self.shown)}-{i}" for i in range(size)]
            cut = given[:room] if isinstance(given, list) else min(given, room)
            assert self.trial.start(given) == (names := self.take(cut))
        else:
            names = self.trial.start(size)
            assert len(names) == min(size, room) and {*names} <= {*self.pool} - {*self.started}
            self.shown |= {*names}
        self.started += names

    def flying(self):
        return [name for name in self.started if name not in self.results]

    def tell(self):
        if self.way == "tell":
            return
        self.told(self.some(self.flying()), named=True)

    def tell_alone(self):
        """Tell new items by the call itself."""
        self.way, size = "tell", int(self.rng.integers(1, 5))
        named = self.chance(0.5)
        names = [f"t{len(self.shown)}-{i}" for i in range(size)] if named else size
        self.started += (names := self.take(names))
        self.told(names, named)

    def told(self, names, named):
        drawn = [self.draw(name) for name in names]
        told, champion, candidate = zip(*drawn, strict=True)
        self.results |= dict(zip(names, zip(champion, candidate, strict=True), strict=True))
        first = [self.score(x) for x in told]
        if self.held and {*names} <= {*self.held} and self.chance(0.5):
            first = None
        trial = self.trial
        trial.tell(first, [self.score(x) for x in candidate], items=names if named else None)
        self.settle()
        self.check_trial(trial)

    def abandon(self):
        trial = self.trial
        trial.abandon()
        self.end("abandoned")
        self.check_trial(trial)

    def wrong(self):
        study, trial = self.study, self.trial
        if trial is None:
            self.refused(
                lambda: study.offer(self.champion), lambda: study.offer("x", items=0),
                lambda: study.offer("x", items=["a", "a"]), lambda: study.offer("x", items=3,
                champion_results=[self.low] * 2), lambda: study.offer("x", champion_results=[0]),
                lambda: study.offer("x", rng=1), lambda: study.offer(1.5),
            )  # fmt: skip
            return
        x, out = self.score(0.5), self.low - 1
        calls = [
            lambda: study.offer("x"), lambda: trial.start(0), lambda: trial.start(2.5),
            lambda: trial.tell([x], [x, x], items=["?"]), lambda: trial.tell([out], [x]),
            lambda: trial.tell([x], ["x"]), lambda: trial.tell([None], [x], items=["?", "!"]),
        ]
        if self.way == "start":
            calls += [lambda: trial.tell([x], [x]), lambda: trial.tell([x], [x], items=["none"])]
        if self.way == "tell":
            calls += [lambda: trial.start(1)]
        if self.pool is None and self.shown:
            old = sorted(self.shown, key=str)[0]
            calls += [lambda: trial.start(["new", old]), lambda: trial.start(["new", "new"])]
        self.refused(*calls)

    # The model

    def worst(self, name, best=False):
        """Return candidate - champion, the worst (or the best) where a result is not known."""
        first, second = self.results.get(name, (self.held.get(name, NAN), NAN))
        first = first if first == first else float(not best)
        return (second if second == second else float(best)) - first

    def path(self, differences, edge):
        """Return the capital after each item."""
        fresh, found = self.pool is None, []
        rates, weights = RATES[fresh]
        capitals, size = [1.0] * len(rates), 0 if fresh else len(self.pool)
        rest = size * (1 + edge) / 2
        for place, d in enumerate(differences):
            y = (1 + d) / 2
            ratio = y / ((1 + edge) / 2) if fresh else y * (size - place) / rest if rest > 0 else 0
            rest -= y
            capitals = [c * (1 + r * (ratio - 1)) for c, r in zip(capitals, rates, strict=True)]
            found.append(math.fsum(c * w for c, w in zip(capitals, weights, strict=True)))
        return found or [1.0]

    def capital(self):
        """Return the capital after all items that were started."""
        return self.path([self.worst(name) for name in self.started], self.epsilon)[-1]

    def settle(self):
        """Draw the conclusions after results."""
        last = slice(-1 if self.way == "tell" else 0, None)
        rise = self.path([self.worst(name) for name in self.started], self.epsilon)
        self.largest = max(self.largest, *rise[last])
        futile = False
        if self.gain is not None:
            fall = self.path([-self.worst(name, True) for name in self.started], -self.gain)
            futile = max(fall[last]) >= 10
        hopeless, limit = False, self.most or math.inf
        if self.pool is not None:
            limit, edge = min(limit, len(self.pool)), len(self.pool) * (self.epsilon + 1e-9)
            if sum(self.worst(name) for name in self.pool) > edge:
                self.largest = math.inf
            hopeless = edge >= sum(self.worst(x, x not in self.results) for x in self.pool)
        if self.largest >= 1 / self.level:
            self.end("accepted")
        elif futile or hopeless or len(self.results) == len(self.started) >= limit:
            self.end("abandoned")

    def end(self, status):
        if status == "abandoned":
            self.left += self.level * min(1.0, self.capital())
        else:
            self.champion = self.name
        self.rows.append((self.name, status, len(self.results), self.left))
        self.name = None

    def check_trial(self, trial):
        """Compare what a trial shows, also after its end."""
        told = [self.worst(name) for name in self.started if name in self.results]
        gain = math.fsum(told) / len(told) * self.width if told else NAN
        assert (trial.items, trial.started) == (len(told), len(self.started))
        assert trial.in_flight() == self.flying()
        assert close(trial.gain, gain) and close(trial.e_value, self.capital())
        assert close(trial.evidence, 1 / self.largest)
        assert trial.status == ("open" if self.name is not None else self.rows[-1][1])

    def compare(self):
        gate = self.study
        assert gate.champion == self.champion and close(gate.delta_left, self.left)
        assert [x["status"] for x in gate._rows] == [x[1] for x in self.rows]
        assert [x["items"] for x in gate._rows] == [x[2] for x in self.rows]
        assert all(close(x["budget"], y[3]) for x, y in zip(gate._rows, self.rows, strict=True))
        assert {*gate._shown} == self.shown and (gate.trial is None) == (self.name is None)
        if self.name is not None:
            assert gate.trial.name == self.name and close(gate.trial.level, self.level)
            self.check_trial(gate.trial)


# Arms


RULES = {
    "LUCB1": lambda: topk.LUCB1(1, 0.3, 0.2),
    "KLLUCB": lambda: topk.KLLUCB(2, 0.2, 0.1),
    "KLLUCB with a budget": lambda: topk.KLLUCB(1, 0.0, 0.1, budget=60),
    "BettingLUCB": lambda: topk.BettingLUCB(1, 0.3, 0.2),
    "TopTwo": lambda: topk.TopTwo(1, 0.2, 0.2),
    "Racing": lambda: topk.Racing(2, 0.3, 0.2),
    "SAR": lambda: topk.SAR(2, 60),
    "Uniform": lambda: topk.Uniform(1, 30),
}
BY_MEANS = ("LUCB1", "KLLUCB", "KLLUCB with a budget", "BettingLUCB", "TopTwo")


class Arms(Machine):
    """A session against lists of rewards, and against a session that is never stored.

    ``told`` are the rewards of each arm, ``flight`` its pulls under way.
    """

    kind = "arms"

    def begin(self):
        self.rule, n = self.one([*RULES]), int(self.rng.integers(3, 6))
        strategy, seed = RULES[self.rule](), int(self.rng.integers(99))
        self.joins = strategy.joins_by is not None and not getattr(strategy, "budget", None)
        self.names = [f"arm {i}" for i in range(n)] if self.chance(0.5) else [*range(n)]
        given = self.names if isinstance(self.names[0], str) else n
        self.study, self.twin = (strategy.start(given, rng=seed) for _ in range(2))
        self.told, self.flight, self.gone = {x: [] for x in self.names}, Counter(), []

    load = staticmethod(topk.load)

    def known(self):
        return json.dumps(self.study.state())

    def both(self, act):
        """Do the same with the session and its twin; return what the session returns."""
        found = act(self.study)
        other = act(self.twin)
        if isinstance(found, tuple):
            assert [x.tolist() for x in found] == [x.tolist() for x in other]
        return found, other

    def acts(self):
        running = not self.study.done
        return [
            (self.ask, running), (self.ask, running), (self.tell, running), (self.tell, running),
            (self.tell_counts, running), (self.observe, True), (self.lose, bool(+self.flight)),
            (self.withdraw, running and len(self.here()) > self.study.strategy.k),
            (self.join, running and self.joins and len(self.names) < 8), (self.wrong, True),
        ]  # fmt: skip

    def here(self):
        return [arm for arm in self.names if arm not in self.gone]

    def wanted(self):
        """Return how many rewards of each arm can be told."""
        arms, counts = self.study.ask()
        return Counter(dict(zip(arms.tolist(), counts.tolist(), strict=True))) | +self.flight

    def note(self, arm, rewards):
        self.told[arm] += rewards
        self.flight[arm] = max(0, self.flight[arm] - len(rewards))

    def draw(self, count):
        return [self.one(GRADES) for _ in range(count)]

    def ask(self):
        size = int(self.rng.integers(1, 13))
        (arms, counts), _ = self.both(lambda study: study.ask(size))
        assert counts.sum() <= size and not {*arms.tolist()} & {*self.gone}
        self.flight.update(dict(zip(arms.tolist(), counts.tolist(), strict=True)))

    def tell(self):
        """Tell single rewards of what is wanted or under way, in any order."""
        wanted = self.wanted()
        arms = [arm for arm in wanted for _ in range(min(wanted[arm], 6))]
        arms = self.some(arms) if arms else []
        rewards = self.draw(len(arms))
        if arms:
            self.both(lambda study: study.tell(arms, rewards))
        for arm, reward in zip(arms, rewards, strict=True):
            self.note(arm, [reward])

    def tell_counts(self):
        """Tell sums with squares."""
        rewards = {arm: self.draw(min(count, 50)) for arm, count in self.wanted().items()}
        if not rewards:
            return
        sums, squares = ([sum(x**p for x in row) for row in rewards.values()] for p in (1, 2))
        counts = [len(row) for row in rewards.values()]
        self.both(lambda study: study.tell([*rewards], sums=sums, counts=counts, squares=squares))
        for arm, row in rewards.items():
            self.note(arm, row)

    def observe(self):
        """Tell results that were not asked for, also of arms that have left."""
        arm, rewards = self.one(self.names), self.draw(int(self.rng.integers(1, 8)))
        self.both(lambda study: study.observe([arm] * len(rewards), rewards))
        self.note(arm, rewards)

    def lose(self):
        arm = self.one([*+self.flight])
        count = int(self.rng.integers(1, self.flight[arm] + 1))
        self.both(lambda study: study.lost([arm], [count]))
        self.flight[arm] -= count

    def withdraw(self):
        arm = self.one(self.here())
        try:
            self.both(lambda study: study.withdraw(arm))
        except ValueError:  # one that the rule has accepted
            return
        self.gone.append(arm)

    def join(self):
        n = len(self.names)
        new = f"arm {n}" if isinstance(self.names[0], str) else n
        given = [new] if isinstance(new, str) else 1
        self.study, self.twin = self.both(lambda study: study.with_arms(given))
        self.names, self.told[new] = [*self.names, new], []

    def wrong(self):
        study, arm = self.study, self.one(self.here())
        calls = [
            lambda: study.ask(0), lambda: study.ask(2.5), lambda: study.tell([arm], [1.5]),
            lambda: study.tell(["other"], [1]), lambda: study.observe([arm], [math.nan]),
            lambda: study.observe([arm, arm], [1]),
            lambda: study.observe([arm], sums=[3], counts=[2]),
            lambda: study.lost([arm], [self.flight[arm] + 1]), lambda: study.withdraw("other"),
            lambda: study.observe([arm], [-1]), lambda: study.observe([arm], sums=[1], counts=[2],
                                                                     squares=[9]),
            lambda: type(study).from_state(self.known().replace('"n"', '"m"', 1)),
        ]  # fmt: skip
        if not study.done:
            most = self.wanted()[arm] + 1
            calls.append(lambda: study.tell([arm], sums=[0], counts=[most], squares=[0]))
        self.refused(*calls)

    def compare(self):
        study = self.study
        rows = [self.told[arm] for arm in self.names]
        assert study.pulls.tolist() == [len(row) for row in rows]
        assert study.in_flight.tolist() == [self.flight[arm] for arm in self.names]
        assert study.withdrawn == self.gone and study.done == (study.stopped is not None)
        means = [sum(row) / len(row) if row else NAN for row in rows]
        assert all(map(close, study.means.tolist(), means))
        assert self.chance(0.8) or study.state() == self.twin.state()
        seen = all(self.told[arm] for arm in self.here())
        if self.rule in BY_MEANS and not study.done:
            assert (study.selected is not None) == seen
        if self.rule in BY_MEANS and study.selected is not None and seen:
            if not study.done:  # later results do not change what was decided
                ranked = sorted(self.here(), key=lambda arm: -Fraction(sum(self.told[arm]))
                                / len(self.told[arm]))  # fmt: skip
                best = {*ranked[: study.strategy.k]}
                assert {*study.selected.tolist()} == best


# Cells


EVALUATED = {
    "KLLUCB": (lambda: topk.KLLUCB(1, 0, 0.2), (0.0, 1.0)),
    "BettingLUCB": (lambda: topk.BettingLUCB(1, 0, 0.2), (*GRADES, NAN)),
    "PairedBetting": (lambda: topk.PairedBetting(1, 0, 0.2), (*GRADES, NAN)),
    "PairedBetting of two": (lambda: topk.PairedBetting(2, 0, 0.2), (*GRADES, NAN)),
}


class Cells(Machine):
    """An evaluation against dicts of cells, and against one that is told all of them at once.

    ``told`` are the scores of the cells told, ``out`` the cells that are handed out.
    """

    kind = "cells"

    def begin(self):
        self.rule = self.one([*EVALUATED])
        make, self.scores = EVALUATED[self.rule]
        self.models, self.strategy = [*"abcd"][: int(self.rng.integers(3, 5))], make()
        count = int(self.rng.integers(2, 13))
        self.items = [f"q{i}" for i in range(count)] if self.chance(0.5) else [*range(count)]
        most = 1 if self.rule == "BettingLUCB" else None
        self.left = len(self.models) - self.strategy.k - 1 if most is None else most
        given = self.items if isinstance(self.items[0], str) else count
        seed = int(self.rng.integers(99))
        self.new = lambda: Evaluation(self.strategy, self.models, items=given, rng=seed,
                                      withdrawals=most)  # fmt: skip
        self.study, self.told, self.out, self.gone = self.new(), {}, [], []

    load = staticmethod(topk_eval.load)

    def known(self):
        return json.dumps(self.study.state())

    def acts(self):
        running = not self.study.done
        return [
            (self.ask, running), (self.ask, running), (self.tell, running and bool(self.out)),
            (self.tell, running and bool(self.out)), (self.tell_any, running),
            (self.lose, bool(self.out)), (self.lose_all, bool(self.out)),
            (self.withdraw, running and self.left > 0 and self.chance(0.3)), (self.wrong, True),
        ]  # fmt: skip

    def ask(self):
        size = int(self.rng.integers(1, 12))
        models, items = self.study.ask(size, plain=True)
        cells = [*zip(models, items, strict=True)]
        assert len({*cells}) == len(cells) <= size and not {*cells} & {*self.told, *self.out}
        assert not {*models} & {*self.gone}
        assert cells or self.out or self.study.done
        self.out += cells

    def take(self, cells):
        given = {cell: self.one(self.scores) for cell in cells}
        self.out = [cell for cell in self.out if cell not in given]
        self.told |= given
        self.study.tell([m for m, _ in given], [i for _, i in given], [*given.values()])

    def tell(self):
        self.take(self.some(self.out))

    def tell_any(self):
        """Tell a cell that was not asked for."""
        cell = self.one(self.models), self.one(self.items)
        if cell not in self.told and cell[0] not in self.gone:
            self.take([cell])

    def lose(self):
        cells = self.some(self.out)
        self.study.lost([m for m, _ in cells], [i for _, i in cells])
        self.out = [cell for cell in self.out if cell not in cells]

    def lose_all(self):
        self.study.lose_all()
        self.out = []

    def withdraw(self):
        model = self.one([x for x in self.models if x not in self.gone])
        try:
            self.study.withdraw(model)
        except ValueError:  # one that the rule has accepted
            return
        self.gone, self.left = [*self.gone, model], self.left - 1

    def wrong(self):
        study, model, item = self.study, self.models[0], self.items[0]
        calls = [
            lambda: study.ask(0), lambda: study.tell([model], [item], [1.5]),
            lambda: study.tell(["other"], [item], [1]), lambda: study.tell([model], ["none"], [1]),
            lambda: study.tell([model], [item], ["x"]), lambda: study.tell([model], [item], [1, 0]),
            lambda: study.lost([model] * 20, [item] * 20), lambda: study.withdraw("other"),
            lambda: Evaluation.from_state(self.known().replace('"n"', '"m"', 1)),
        ]  # fmt: skip
        if self.told:
            (model, item), score = self.one([*self.told.items()])
            other = 1.0 if score != 1 else 0.0
            calls.append(lambda: study.tell([model], [item], [other]))
        self.refused(*calls)

    def compare(self):
        study = self.study
        out = [*zip(*(x.tolist() for x in study.in_flight()), strict=True)]
        assert Counter(out) == Counter(self.out) and study.withdrawn == self.gone
        of, scored = (Counter(model for (model, _), x in self.told.items() if x == x or failed)
                      for failed in (True, False))  # fmt: skip
        counted = dict(zip(self.models, (study.pulls + study.waiting).tolist(), strict=True))
        assert study.done or all(scored[m] <= counted[m] <= of[m] for m in self.models)
        if self.chance(0.3) and not (self.gone or study.done):
            whole = self.new()
            if self.told:
                models, items = zip(*self.told, strict=True)
                whole.tell(models, items, [*self.told.values()])
            assert whole.pulls.tolist() == study.pulls.tolist()
            assert all(map(close, whole.means.tolist(), study.means.tolist()))
            assert whole.evidence() == study.evidence()
            if whole.done != study.done:  # it waits for cells of its batch, and ends with them
                assert whole.done and self.out
                models, items = zip(*self.out, strict=True)
                for score in (0, 1):
                    assert copy.deepcopy(study).tell(models, items, [score] * len(items)).done


KINDS = {"gates": (Gates, 8000), "cells": (Cells, 1000), "arms": (Arms, 1000)}


def row(kind, sessions=None):
    """Return the row of a kind: the number of sessions, and of their steps."""
    machine, most = KINDS[kind]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", topk.TopkWarning)
        steps = [machine(number).play() for number in range(sessions or most)]
    return {"kind": kind, "sessions": len(steps), "steps": sum(steps),
            "first": steps[:REPEATED]}  # fmt: skip


def main():
    """Make all sessions and write the file; a difference ends it with an error."""
    rows = [row(kind) for kind in KINDS]
    text = f'{{\n"seed": {SEED},\n"sessions": {in_lines(rows)}\n}}\n'
    RESULT.write_text(text, encoding="utf-8")


if __name__ == "__main__":
    main()
