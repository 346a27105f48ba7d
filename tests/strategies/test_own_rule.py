"""Rules that a user writes, one of each shape: what the library's own can do, they can as well."""

import json
import math
import re
from dataclasses import dataclass
from types import FunctionType

import numpy as np
import pytest
from strategies.plain import Coin, Settled

import topk
from topk.engine import loop
from topk.engine.state import begin_run
from topk.engine.streams import RULE, stream
from topk.rules.base import BY_BUDGET
from topk.rules.ranking import rank
from topk.rules.rounds import accept, end_with

BANDIT = topk.BernoulliBandit([0.2, 0.8, 0.5, 0.45, 0.7, 0.1, 0.3])


@dataclass(frozen=True)
class Wrong(topk.Indices):
    """Pick what a test says: a number of arms, and the first two."""

    k: int
    budget: int
    many: int
    one: int
    other: int

    @topk.rule
    def pick(s, arms):
        print("picks", s.many)
        arms[0], arms[1] = s.one, s.other
        return s.many


@pytest.mark.parametrize("picks", [(1, 99, 0), (2, 1, -1), (0, 0, 0), (2, 1, 1), (3, 0, 1)])
def test_what_cannot_be_picked_is_refused_in_a_simulation_and_live(picks):
    """Nobody (-1), as the one at risk outside when all others have left, is no arm either."""
    strategy, got = Wrong(1, 12, *picks), re.escape(str([*picks[1:][: picks[0]]]))
    allowed = f"the arms that Wrong picks must be one or two .* got {got}"
    with pytest.raises(ValueError, match=allowed):
        topk.run(strategy, topk.BernoulliBandit([0.5] * 4))
    with pytest.raises(ValueError, match=allowed):
        strategy.start(4).tell([0, 1, 2, 3], [1, 0, 1, 0])


@dataclass(frozen=True)
class Idle(topk.Rounds):
    """Pull nothing from some round on, or fewer, and settle nothing."""

    k: int
    budget: int
    busy: int = 0
    idle: int = 0

    @topk.rule
    def share(s):
        return 1 if s.now.rounds <= s.busy else s.idle

    @topk.rule
    def decide(s):
        s.now.wanted = s.k


@pytest.mark.parametrize(("busy", "idle"), [(0, 0), (2, 0), (0, -2), (2, -3)])
def test_rounds_that_never_pull_again_are_refused_in_a_simulation_and_live(busy, idle):
    refused = f"what `share` of Idle returns must be a positive number of pulls .* got {idle}"
    with pytest.raises(ValueError, match=refused):
        topk.run(Idle(1, 60, busy, idle), topk.BernoulliBandit([0.5] * 4), max_pulls=50)
    with pytest.raises(ValueError, match=refused):
        session = Idle(1, 60, busy, idle).start(4)
        for _ in range(busy):
            session.tell(*session.ask())


@dataclass(frozen=True)
class Greedy(Idle):
    """Accept an arm, or all of them, too often."""

    @topk.rule
    def decide(s):
        for arm in s.active[: s.idle]:
            accept(s, arm)
            accept(s, arm)


@pytest.mark.parametrize("many", [1, 4])
def test_rounds_that_accept_too_many_are_refused_in_a_simulation_and_live(many):
    refused = f"what `decide` of Greedy accepts must be .* each once, got '{2 * many - 1} too many"
    with pytest.raises(ValueError, match=refused):
        topk.run(Greedy(1, 60, 2, many), topk.BernoulliBandit([0.5] * 4))
    session = Greedy(1, 60, 2, many).start(4)
    with pytest.raises(ValueError, match=refused):
        session.tell(*session.ask())


def test_an_arm_that_has_left_is_not_asked_for_again():
    with pytest.raises(ValueError, match="the arms that Wrong picks"):
        Wrong(1, 12, 1, 0, 0).start(3).withdraw(0).tell([1, 2], [1, 0])


def test_what_cannot_be_stored_is_refused_by_name():
    session = Settled(1, budget=60, patience=2).start(3)
    session._play.s.sums[1] = -math.inf
    with pytest.raises(ValueError, match="sums must be a list of 3 numbers from -1e.300"):
        session.state()
    for rng in (np.random.Generator(np.random.MT19937(1)), -1, "seed", 0.5):
        with pytest.raises(ValueError, match="rng must be an integer or a generator made by"):
            Coin(1, budget=60, a=0.5).start(3, rng=rng)


def test_names_that_every_play_has_are_refused():
    @dataclass(frozen=True)
    class Own(Wrong):
        pulls: int = 3

    @dataclass(frozen=True)
    class Kept(Wrong):
        memory = {"rounds": 1}

    @dataclass(frozen=True)
    class Fixed(Wrong):
        def constants(self, n):
            return {"active": n}

    @dataclass(frozen=True)
    class Searched(Wrong):
        def arrays(self, bandits, n):
            return super().arrays(bandits, n) | {"edge": ("real", n)}

    @dataclass(frozen=True)
    class Unkind(Wrong):
        def arrays(self, bandits, n):
            return super().arrays(bandits, n) | {"mine": ("float", n)}

    @dataclass(frozen=True)
    class Lost(Wrong):
        checks = topk.Indices.checks | {"one": lambda value, name: None}

    for cls, name in ((Own, "pulls"), (Kept, "rounds"), (Fixed, "active"), (Searched, "edge")):
        with pytest.raises(ValueError, match=f"names in {cls.__name__} must be .*'{name}'"):
            topk.run(cls(1, 12, 1, 0, 0), BANDIT)
    with pytest.raises(ValueError, match="the kind of mine must be .*got 'float'"):
        Unkind(1, 12, 1, 0, 0).start(3)
    with pytest.raises(TypeError, match="the check of one has to return its value"):
        Lost(1, 12, 1, 0, 0)


@pytest.mark.parametrize("kind", ["float | None", None | float], ids=str)
def test_a_number_that_may_be_left_out_is_there_when_it_is_given(kind):
    @dataclass(frozen=True)
    class Maybe(topk.Indices):
        k: int
        budget: int
        a: kind = None

        @topk.rule
        def pick(s, arms):
            arms[0] = int(s.a)
            return 1

    assert Maybe(1, 9, a=2).start(4).tell([0, 1, 2, 3], [1] * 4).ask()[0].tolist() == [2]
    with pytest.raises(AttributeError, match="'a'"):
        Maybe(1, 9).start(4).tell([0, 1, 2, 3], [1] * 4)


def test_a_function_that_is_not_marked_is_refused():
    @dataclass(frozen=True)
    class Unmarked(Coin):
        def done(s):
            return s.now.rounds > 3

    with pytest.raises(TypeError, match="done of Unmarked is to be a function, marked"):
        Unmarked(2, budget=100, a=1.0).start(7)


def test_a_rule_without_its_random_numbers_is_told_what_to_declare():
    @dataclass(frozen=True)
    class Undeclared(Wrong):
        @topk.rule
        def pick(s, arms):
            arms[0] = int(s.rng.random() * s.n)
            return 1

    with pytest.raises(AttributeError, match="'rng'") as live:
        Undeclared(1, 12, 1, 0, 0).start(3).tell([0, 1, 2], [1] * 3)
    with pytest.raises(TypeError, match="random = True") as simulated:
        topk.run(Undeclared(1, 12, 1, 0, 0), topk.BernoulliBandit([0.5] * 3))
    assert live.value.__notes__[0] in str(simulated.value)


def test_a_rule_is_told_of_a_name_that_it_has_not_declared_and_of_a_return_that_is_missing():
    @dataclass(frozen=True)
    class Unkept(Idle):
        @topk.rule
        def decide(s):
            s.now.mine = 1

    @dataclass(frozen=True)
    class Mute(Idle):
        @topk.rule
        def share(s):
            s.now.rounds + 1

    with pytest.raises(TypeError, match="Is all that it looks up in s declared"):
        topk.run(Unkept(1, 60, 2), BANDIT)
    with pytest.raises(TypeError) as mute:
        Mute(1, 60).start(3)
    assert "`share` returns how many pulls" in mute.value.__notes__[0]


def test_functions_that_arrive_anew_are_not_compiled_again(monkeypatch):
    """As those of a script's class do in another process, with every portion of plays."""
    first = begin_run(Settled(2, budget=2000, patience=4), 7).compiled(loop.play)
    for name in ("share", "decide"):
        function = getattr(Settled, name)
        copied = FunctionType(function.__code__, function.__globals__, name)
        monkeypatch.setattr(Settled, name, topk.rule(copied))
    assert begin_run(Settled(2, budget=2000, patience=4), 7).compiled(loop.play) is first


def test_functions_that_differ_in_what_they_close_over_are_not_mixed_up():
    def rule_for(each):
        @dataclass(frozen=True)
        class Fixed(topk.Rounds):
            k: int
            budget: int

            @topk.rule
            def share(s):
                return each

            @topk.rule
            def decide(s):
                end_with(s, rank(s), BY_BUDGET)

        return Fixed(2, budget=100)

    loops = [begin_run(rule_for(each), 7).compiled(loop.play) for each in (1, 2)]
    assert loops[0] is not loops[1]


@dataclass(frozen=True)
class Tossed(topk.Strategy):
    """Plain Python with randomness: in every batch an arm that a coin of its own picks."""

    k: int
    budget: int
    random = True

    def ask(self, view):
        if view.total == self.budget:
            return [], []
        return [int(view.rng.integers(view.n))], [min(2, self.budget - view.total)]


def test_a_plain_rule_draws_from_a_stream_of_its_own_that_is_stored():
    strategy = Tossed(1, budget=40)
    reps = topk.replicate(strategy, BANDIT, 3, seed=4)
    assert len({tuple(row) for row in reps.pulls}) == 3  # not the same arms in every play
    one = topk.run(strategy, BANDIT, rng=4)
    order, rng = topk.streams(4, 0, BANDIT.n)
    own, pulls = stream(4, 0, RULE), np.zeros(BANDIT.n, dtype=int)
    for _ in range(20):
        pulls[own.integers(BANDIT.n)] += 2
    assert one.pulls[order].tolist() == pulls.tolist() == reps.pulls[0][order].tolist()

    def asked(resumed):
        session, found = strategy.start(7, rng=np.random.default_rng(8)), []
        while not session.done:
            if resumed:
                session = topk.resume(json.dumps(session.state()))
            arms, counts = session.ask()
            assert session.ask()[0].tolist() == arms.tolist()
            found += arms.tolist()
            session.tell(arms, counts, counts=counts)
        return found

    own = np.random.default_rng(8)
    assert asked(resumed=True) == asked(resumed=False) == [own.integers(7) for _ in range(20)]
    assert not hasattr(topk.View(begin_run(strategy, 3).seen), "rng")


def test_a_compiled_rule_can_print(capfd):
    assert topk.run(Wrong(1, 5, 1, 0, 0), topk.BernoulliBandit([0.5] * 4)).total_pulls == 5
    assert capfd.readouterr().out == "picks 1\n"


def test_a_line_that_nobody_would_look_at_is_refused():
    @dataclass(frozen=True)
    class Bent(topk.CLUCB):
        @topk.rule
        def line(s, arm):
            return 0.0, 1.0, 0.0

    with pytest.raises(TypeError, match="Bent has a `line`"):
        Bent(1, 0.1).start(3)
