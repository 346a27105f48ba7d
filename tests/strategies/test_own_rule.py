"""Rules written by a user, one of each form: they can do the same as the library's rules."""

import contextlib
import functools
import json
import math
import random
import re
import sys
from dataclasses import dataclass, field
from types import FunctionType

import cloudpickle
import numpy as np
import pytest
from interrupts import interrupted, lines_of
from strategies.plain import Coin, Settled

import topk
from topk.engine import jit, loop
from topk.engine.streams import RULE, stream
from topk.rules import NO_ARM, Stored, lowest
from topk.rules.base import BY_BUDGET
from topk.rules.ranking import rank
from topk.rules.rounds import accept, end_with

BANDIT = topk.BernoulliBandit([0.2, 0.8, 0.5, 0.45, 0.7, 0.1, 0.3])
needs_compiler = pytest.mark.skipif(not jit.COMPILES, reason="loops are not compiled")


def compiled_only(test):
    """Run a test with compiled loops."""
    return needs_compiler(pytest.mark.usefixtures("compiled")(test))


def loop_of(strategy):
    """Return the compiled loop of a strategy in rounds, for seven arms."""
    return jit.compiled_for(strategy.begin(7), loop.run_batches)


@dataclass(frozen=True)
class Wrong(topk.Indices):
    """Pick the two arms set by a test."""

    k: int
    budget: int
    one: int
    other: int

    @topk.rule
    def pick(s):
        print("picks", s.one)
        return s.one, s.other


@pytest.mark.parametrize("picks", [(99, -1), (-1, 1), (-1, -1), (1, 1), (0, 99), (-2, 0)])
def test_invalid_picks_are_refused_in_a_simulation_and_live(picks):
    """Nobody (-1), as the one at risk outside when all others have left, is no arm either."""
    strategy, got = Wrong(1, 12, *picks), re.escape(str([*picks[: 1 + (picks[1] != NO_ARM)]]))
    allowed = f"the arms that Wrong picks must be one or two .* got {got}"
    with pytest.raises(ValueError, match=allowed):
        topk.run(strategy, topk.BernoulliBandit([0.5] * 4), rng=0)
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
        topk.run(Idle(1, 60, busy, idle), topk.BernoulliBandit([0.5] * 4), max_pulls=50, rng=0)
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
        topk.run(Greedy(1, 60, 2, many), topk.BernoulliBandit([0.5] * 4), rng=0)
    session = Greedy(1, 60, 2, many).start(4)
    with pytest.raises(ValueError, match=refused):
        session.tell(*session.ask())


def test_a_withdrawn_arm_is_not_requested_again():
    with pytest.raises(ValueError, match="the arms that Wrong picks"):
        Wrong(1, 12, 0, -1).start(3).withdraw(0).tell([1, 2], [1, 0])


@dataclass(frozen=True)
class OverAll(topk.Indices):
    """The best mean and the least pulled of the others, of all n arms, and an end at a gap."""

    k: int
    budget: int
    searches = ()
    certifies = anytime = True

    def state(self, arms):
        return {"bonus": np.arange(arms.n) / 1000, "table": np.array([0.5, 0.25, 0.125, 0.0, 2.0])}

    @topk.rule
    def pick(s):
        best, least = 0, -1
        if s.table.size != 5 or s.table[4] != 2.0:
            return NO_ARM, NO_ARM  # a table with n entries is no array of arms
        for arm in range(s.n):
            if s.sums[arm] / s.pulls[arm] > s.sums[best] / s.pulls[best]:
                best = arm
        for arm in range(s.n):
            if arm != best and (least < 0 or s.pulls[arm] - s.bonus[arm] < s.pulls[least]):
                least = arm
        return best, least

    @topk.rule
    def done(s):
        return np.sort(s.sums / s.pulls)[-2:].sum() > 1.2 and s.pulls.min() > 8


@dataclass(frozen=True)
class Remembers(OverAll):
    """It may keep an arm's number, and has to look at ``s.active`` itself."""

    def state(self, arms):
        return super().state(arms) | {"now": {"leader": -1}}


@dataclass(frozen=True)
class Beyond(OverAll):
    """Pick the number after that of the last arm."""

    @topk.rule
    def pick(s):
        return s.n, NO_ARM


def test_after_a_withdrawal_a_number_beyond_the_last_arm_is_refused():
    with pytest.raises(ValueError, match="the arms that Beyond picks"):
        Beyond(1, 60).start(4).withdraw(0).tell([1, 2, 3], [0.0, 1.0, 0.0])


def test_a_rule_that_looks_at_all_arms_skips_those_that_have_left():
    """Otherwise it would pick the best arm forever, or certify a set with a withdrawn arm."""
    means, leaves = np.array([0.9, 0.75, 0.2, 0.8, 0.1]), {10: 0, 12: 3}

    def studied(strategy, stored=False):
        world, session, asked = np.random.default_rng(2), strategy.start(5), []
        for step in range(200):
            if session.done:
                break
            if step in leaves:
                session.withdraw(leaves[step])
            if stored:
                session = topk.resume(json.dumps(session.state()))
            ahead = session.ask()[0].tolist()
            assert not {*ahead} & {*session.withdrawn}
            asked.append(ahead)
            session.tell(ahead, (world.random(len(ahead)) < means[ahead]).astype(float))
        return session, asked

    session, asked = studied(OverAll(1, budget=150))
    assert session.withdrawn == [0, 3] and session.selected.tolist() == [1]
    assert not session.certified and session.pulls.sum() == 150  # .75 and .2 add up to no 1.2
    assert studied(OverAll(1, budget=150), stored=True)[1] == asked
    with pytest.raises(ValueError, match="the arms that Remembers picks"):
        studied(Remembers(1, budget=150))


def test_after_a_withdrawal_such_a_rule_ignores_the_arm():
    means = np.array([0.7, 0.4, 0.6, 0.1])
    sessions = OverAll(2, 90).start(4).withdraw(1), OverAll(2, 90).start(3)
    while not sessions[0].done:
        (arms, counts), (others, same) = (session.ask() for session in sessions)
        assert np.array([0, 2, 3])[others].tolist() == arms.tolist()
        assert counts.tolist() == same.tolist()
        for session, asked in zip(sessions, (arms, others), strict=True):
            session.tell(asked, means[arms])
    assert sessions[1].done and sessions[0].pulls[[0, 2, 3]].tolist() == sessions[1].pulls.tolist()
    left = OverAll(1, 60).start(3).tell([0, 1, 2], [0.5, 0.2, 0.1]).withdraw(0).withdraw(1)
    assert {*left.ask(5)[0].tolist()} == {2}


def test_values_that_cannot_be_stored_are_refused_by_name():
    session = Settled(1, budget=60, patience=2).start(3)
    session.engine.s.sums[1] = -math.inf
    with pytest.raises(ValueError, match="sums must be a list of 3 numbers from -1e.300"):
        session.state()
    for rng in (np.random.Generator(np.random.MT19937(1)), -1, "seed", 0.5):
        with pytest.raises(ValueError, match="rng must be an integer or a generator made by"):
            Coin(1, budget=60, a=0.5).start(3, rng=rng)


def test_reserved_names_are_refused():
    @dataclass(frozen=True)
    class Own(Wrong):
        pulls: int = 3

    @dataclass(frozen=True)
    class Kept(Wrong):
        def state(self, arms):
            return {"now": {"rounds": 1}}

    @dataclass(frozen=True)
    class Fixed(Wrong):
        def state(self, arms):
            return {"active": arms.n}

    @dataclass(frozen=True)
    class Searched(Wrong):
        def state(self, arms):
            return {"near": Stored("real", arms.n)}

    @dataclass(frozen=True)
    class Unkind(Wrong):
        def state(self, arms):
            return {"mine": Stored("float", arms.n)}

    @dataclass(frozen=True)
    class Lost(Wrong):
        checks = topk.Indices.checks | {"one": lambda value, name: None}

    for cls, name in ((Own, "pulls"), (Kept, "rounds"), (Fixed, "active"), (Searched, "near")):
        with pytest.raises(ValueError, match=f"names in {cls.__name__} must be .*'{name}'"):
            topk.run(cls(1, 12, 0, -1), BANDIT, rng=0)
    with pytest.raises(ValueError, match="the kind of mine must be .*got 'float'"):
        Unkind(1, 12, 0, -1).start(3)
    with pytest.raises(TypeError, match="the check of one must return the value"):
        Lost(1, 12, 0, -1)


@pytest.mark.parametrize("kind", ["float | None", None | float], ids=str)
def test_a_number_that_may_be_left_out_is_there_when_it_is_given(kind):
    @dataclass(frozen=True)
    class Maybe(topk.Indices):
        k: int
        budget: int
        a: kind = None

        @topk.rule
        def pick(s):
            return int(s.a), NO_ARM

    assert Maybe(1, 9, a=2).start(4).tell([0, 1, 2, 3], [1] * 4).ask()[0].tolist() == [2]
    with pytest.raises(AttributeError, match="'a'"):
        Maybe(1, 9).start(4).tell([0, 1, 2, 3], [1] * 4)


def test_a_function_that_is_not_marked_is_refused():
    @dataclass(frozen=True)
    class Unmarked(Coin):
        def done(s):
            return s.now.rounds > 3

    with pytest.raises(TypeError, match="done of Unmarked must be a function, marked"):
        Unmarked(2, budget=100, a=1.0).start(7)


@pytest.mark.slow  # messages of compiled code: test_tiering.py and test_jit.py have one each
@compiled_only
def test_the_error_for_a_rule_without_rng_names_the_declaration():
    @dataclass(frozen=True)
    class Undeclared(Wrong):
        @topk.rule
        def pick(s):
            return int(s.rng.random() * s.n), NO_ARM

    with pytest.raises(AttributeError, match="'rng'") as live:
        Undeclared(1, 12, 0, -1).start(3).tell([0, 1, 2], [1] * 3)
    with pytest.raises(TypeError, match="random = True") as simulated:
        topk.run(Undeclared(1, 12, 0, -1), topk.BernoulliBandit([0.5] * 3), rng=0)
    assert live.value.__notes__[0] in str(simulated.value)


@pytest.mark.parametrize("name", ["np.random", "random", "shared", "drawn"])
def test_random_numbers_that_no_seed_sets_are_refused(name):
    """Compiled, such a generator is not seeded: equal seeds would give different runs."""

    def from_numpy():
        return np.random.random()  # noqa: NPY002

    def from_python():
        return random.random()

    def from_alias():
        return shared.random()

    def by_name():
        return drawn()

    shared, drawn = np.random, random.random
    draw = {"np.random": from_numpy, "random": from_python, "shared": from_alias}.get(name, by_name)

    @dataclass(frozen=True)
    class Unseeded(Wrong):
        @topk.rule
        def pick(s):
            return int(draw() * s.n), NO_ARM

    strategy = Unseeded(1, 12, 0, -1)
    with pytest.raises(TypeError, match=f"draws from {name}, .* random = True"):
        topk.run(strategy, topk.BernoulliBandit([0.5] * 3), rng=0)
    with pytest.raises(TypeError, match=f"draws from {name}, .* random = True"):
        strategy.start(3).tell([0, 1, 2], [1] * 3)


def test_a_rule_that_sorts_ties_by_chance_is_refused_in_a_simulation_and_live():
    @dataclass(frozen=True)
    class Sorts(Wrong):
        @topk.rule
        def pick(s):
            return np.argsort(s.sums)[0], NO_ARM

    with pytest.raises(TypeError, match='pick sorts places, .*kind="mergesort"'):
        topk.run(Sorts(1, 12, 0, -1), topk.BernoulliBandit([0.5] * 3), rng=0)
    with pytest.raises(TypeError, match='pick sorts places, .*kind="mergesort"'):
        Sorts(1, 12, 0, -1).start(3)


def test_a_local_name_is_not_taken_for_the_module():
    @dataclass(frozen=True)
    class Local(Wrong):
        random = True

        @topk.rule
        def pick(s):
            random = s.rng.random()
            return int(random * s.n), NO_ARM

    assert topk.run(Local(1, 12, 0, -1), topk.BernoulliBandit([0.5] * 3), rng=0).total_pulls == 12


@dataclass(frozen=True)
class Thompson(topk.Indices):
    """Draw a mean of every arm from a normal posterior; pull the k-th or the next of the draws."""

    k: int
    budget: int
    searches = ()
    random = anytime = True

    def state(self, arms):
        return {"draws": Stored("real", arms.n)}

    @topk.rule
    def pick(s):
        for arm in range(s.n):
            u = s.pulls[arm]
            s.draws[arm] = s.sums[arm] / u + 0.5 * s.rng.standard_normal() / math.sqrt(u)
        heads = s.rng.random() < 0.5
        ranked = np.argsort(-s.draws[: s.n], kind="mergesort")
        return ranked[s.k - heads if s.n > s.k else 0], NO_ARM


HUNDREDS = topk.GaussianBandit(100 * BANDIT.means, 30)


@pytest.mark.parametrize("bandit, given", [(BANDIT, {}), (HUNDREDS, {"sigma": 30})])
def test_a_live_session_repeats_a_simulation_from_the_same_streams(bandit, given):
    """A simulation puts the arms in a random order, and its rule sees rescaled rewards."""
    strategy, n = Thompson(2, 400), BANDIT.n
    simulated = topk.run(strategy, bandit, rng=7)
    order, world = topk.streams(seed=7, play=0, n=n)
    session = strategy.start(n, rng=stream(7, 0, RULE), **given)
    while not session.done:
        arms, counts = session.ask()
        sums = bandit.pull(order[arms], counts, world).sums
        session.tell(arms, sums=sums, counts=counts)
    assert session.pulls.tolist() == simulated.pulls[order].tolist()
    assert sorted(order[session.selected]) == simulated.selected.tolist()


def test_a_rule_in_plain_python_sees_rescaled_rewards():
    seen = []

    @dataclass(frozen=True)
    class Even(topk.Strategy):
        k: int

        def ask(self, view):
            if view.total:
                seen.append(view.means.tolist())
                return [], []
            return range(view.n), [5] * view.n

    for given in ({"bounds": (100, 200)}, {"sigma": 25}):
        session = Even(1).start(2, **given)
        session.tell([0, 1], sums=[500, 750], counts=[5, 5])
        assert session.done
    assert seen == [[0, 0.5], [2, 3]]


@compiled_only
def test_errors_name_undeclared_state_and_a_missing_return():
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

    with pytest.raises(TypeError, match="Is everything that it reads from s declared"):
        topk.run(Unkept(1, 60, 2), BANDIT, rng=0)
    with pytest.raises(TypeError) as mute:
        Mute(1, 60).start(3)
    assert "`share` returns how many pulls" in mute.value.__notes__[0]


def test_functions_that_arrive_anew_are_not_compiled_again(monkeypatch):
    """As those of a script's class do in another process, with every portion of plays."""
    first = loop_of(Settled(2, budget=2000, patience=4))
    for name in ("share", "decide"):
        function = getattr(Settled, name)
        copied = FunctionType(function.__code__, function.__globals__, name)
        monkeypatch.setattr(Settled, name, topk.rule(copied))
    assert loop_of(Settled(2, budget=2000, patience=4)) is first


EACH, TABLE = 2, np.array([1])
half = lambda x: x // 2  # noqa: E731  as a user may write it


def helper():
    return EACH + TABLE[0] + half(2)


def twice(function):
    @functools.wraps(function)
    def doubled():
        return 2 * function()

    return doubled


@twice
def decorated():
    return helper()


@dataclass(frozen=True)
class Reads(topk.Rounds):
    """A rule that reads values and calls functions outside its class."""

    k: int
    budget: int
    times: int = field(default=1, compare=False)

    @topk.rule
    def share(s):
        return s.times * decorated()

    @topk.rule
    def decide(s):
        end_with(s, rank(s), BY_BUDGET)


@pytest.mark.parametrize("setting", ["never", pytest.param("always", marks=needs_compiler)])
def test_a_rule_sees_what_it_reads_as_it_is_when_a_run_begins(setting, monkeypatch):
    """Constants, arrays, helpers and parameters that are not compared are never stale."""
    monkeypatch.setenv("TOPK_COMPILE", setting)
    bandit, here = topk.BernoulliBandit([0.2, 0.8]), sys.modules[__name__]

    def each(times=1):
        pulls = topk.run(Reads(1, 900, times), bandit, rng=0).pulls.tolist()
        assert pulls == Reads(1, 900, times).start(2).ask()[1].tolist()
        return pulls[0]

    assert each() == 2 * (2 + 1 + 1)
    monkeypatch.setattr(here, "EACH", 5)
    assert each() == 2 * (5 + 1 + 1)
    if setting == "never":  # each change costs a compilation
        TABLE[0] = 4
        assert each() == 2 * (5 + 4 + 1)
        TABLE[0] = 1
        monkeypatch.setattr(here, "half", lambda x: 10 * x)
        assert each() == 2 * (5 + 1 + 20) and each(3) == 6 * (5 + 1 + 20)


def test_equal_numbers_of_other_types_make_other_states():
    @dataclass(frozen=True)
    class Grows(Reads):
        x: float | int = 1

        def state(self, arms):
            return {"now": {"x": self.x}}

        @topk.rule
        def share(s):
            s.now.x += 0.6
            return int(s.now.x * 10)

    assert Grows(1, 900, x=1).start(2).ask()[1][0] == 10
    assert Grows(1, 900, x=1.0).start(2).ask()[1][0] == 16


@pytest.mark.parametrize("setting", ["never", pytest.param("always", marks=needs_compiler)])
def test_arms_that_do_not_exist_are_refused(setting, monkeypatch):
    """Compiled code would write elsewhere in memory."""
    monkeypatch.setenv("TOPK_COMPILE", setting)

    @dataclass(frozen=True)
    class Wild(topk.Rounds):
        k: int
        budget: int
        arm: int

        @topk.rule
        def share(s):
            return 1

        @topk.rule
        def decide(s):
            if s.arm < 0:
                s.pulls[s.n - s.arm] = 1
            accept(s, s.arm)

    for arm in (9999, -1):
        with pytest.raises(IndexError):
            topk.run(Wild(1, 60, arm), topk.BernoulliBandit([0.5] * 4), rng=0)


@needs_compiler
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

    loops = [loop_of(rule_for(each)) for each in (1, 2)]
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
            session.tell(arms, sums=counts, counts=counts)
        return found

    own = np.random.default_rng(8)
    assert asked(resumed=True) == asked(resumed=False) == [own.integers(7) for _ in range(20)]
    assert not hasattr(topk.View(strategy.begin(3).seen), "rng")


@pytest.mark.slow  # test_jit.py prints, too
@compiled_only
def test_a_compiled_rule_can_print(capfd):
    assert topk.run(Wrong(1, 5, 0, -1), topk.BernoulliBandit([0.5] * 4), rng=0).total_pulls == 5
    assert capfd.readouterr().out == "picks 0\n"


def test_an_unused_interval_is_refused():
    @dataclass(frozen=True)
    class Bent(topk.CLUCB):
        @topk.rule
        def interval(s, arm):
            return 0.0, 1.0

    with pytest.raises(TypeError, match="Bent has `interval`, which its search, clucb_trees"):
        Bent(1, 0.1).start(3)


def test_a_rule_of_a_notebook_can_be_sent_to_other_processes():
    """A class of `__main__` is pickled by value, with the marks of its functions."""
    sent = cloudpickle.loads(cloudpickle.dumps(topk.rule(lambda s: s + 1)))
    assert isinstance(sent, topk.rule) and sent.__func__(1) == 2


@dataclass(frozen=True)
class Counting(topk.Indices):
    """Numbers of NumPy's types in the state; pull the arm with the lowest bound."""

    k: int
    delta: float
    budget: int
    joins_by = "intervals"

    def state(self, arms):
        level = np.log(arms.n / np.float64(self.delta))
        return {"level": level, "shared": np.int64(arms.n), "now": {"seen": np.float64(0.0)}}

    @topk.rule
    def interval(s, arm):
        radius = math.sqrt(s.level / s.pulls[arm])
        return s.sums[arm] / s.pulls[arm] - radius, s.sums[arm] / s.pulls[arm] + radius

    @topk.rule
    def pick(s):
        s.now.seen += 0.5
        return lowest(s), NO_ARM


def test_numbers_of_numpys_types_are_declared_like_pythons_own():
    """Real ones that change stay real, and with arms to join all are those of the later number."""
    session = Counting(1, 0.1, 20).start(3).tell([0, 1, 2], [1, 0, 0])
    assert session.engine.s.now.seen == 0.5 and session.engine.s.shared == 3
    grown = Counting(1, 0.1, 20).start(3, most_arms=7).engine.s
    assert grown.shared == 7 and grown.level == np.log(7 / 0.1)


# Arithmetic, integers, parameters


EDGES = ["a logarithm", "a root", "an exponential", "a division", "a remainder", "a rounding"]


@dataclass(frozen=True)
class Edge(topk.Indices):
    """Compute what has no value, in one of the ways of `EDGES`; -1 computes nothing."""

    k: int
    budget: int
    way: int
    searches = ()
    anytime = True

    @topk.rule
    def pick(s):
        zero, found = s.pulls[0] - s.pulls[0], 0.0
        if s.way == 0:
            found = math.log(zero)
        elif s.way == 1:
            found = math.sqrt(zero - 1.0)
        elif s.way == 2:
            found = math.exp(1000.0 + zero)
        elif s.way == 3:
            found = 1.0 / zero
        elif s.way == 4:
            found = 7.0 * (s.pulls[0] % zero)
        elif s.way == 5:
            found = 1.0 * math.floor(math.inf)
        return (0 if found < 1.0 else 1), NO_ARM


NO_VALUE = "the rule of Edge computes what has no value"


@pytest.mark.parametrize("way", range(len(EDGES)), ids=EDGES)
def test_what_has_no_value_is_an_error_in_plain_python(way, monkeypatch):
    monkeypatch.setenv("TOPK_COMPILE", "never")
    with pytest.raises(ArithmeticError, match=NO_VALUE):
        topk.run(Edge(1, 60, way), BANDIT, rng=0)
    session = Edge(1, 60, way).start(2)
    with pytest.raises(ArithmeticError, match=NO_VALUE):
        session.tell([0, 1], [1, 0])
    assert np.geterr()["divide"] == "warn"


def test_an_interrupt_at_any_line_leaves_numpy_as_it_was(monkeypatch):
    """Also within numpy's own functions, and where a rule has raised an error."""
    monkeypatch.setenv("TOPK_COMPILE", "never")
    places = topk.__path__[0], np.__path__[0]
    before = np.geterr()
    for way in -1, 3:

        def act(way=way):
            session = Edge(1, 60, way).start(2)
            with contextlib.suppress(ArithmeticError):
                session.tell([0, 1], [1, 0])

        reached = lines_of(act, *places)
        assert len(reached) > 100
        for line, times in reached.items():
            interrupted(act, line, times, *places)
            assert np.geterr() == before, line


@compiled_only
def test_what_has_no_value_is_the_same_error_compiled():
    assert topk.run(Edge(1, 60, -1), BANDIT, rng=0).total_pulls == 60
    for way in range(len(EDGES)):
        with pytest.raises(ArithmeticError, match=NO_VALUE):
            topk.run(Edge(1, 60, way), BANDIT, rng=0)


def test_integers_that_overflow_and_negative_powers_are_errors_in_plain_python():
    """Compiled they are not, as `topk.Rounds` says."""

    @dataclass(frozen=True)
    class Grows(Wrong):
        @topk.rule
        def pick(s):
            return (s.now.total + s.one) * s.one * s.one * s.one, NO_ARM

    @dataclass(frozen=True)
    class Inverts(Wrong):
        @topk.rule
        def pick(s):
            return s.pulls[0] ** s.one, NO_ARM

    for strategy in (Grows(1, 12, 2**22, 0), Inverts(1, 12, -1, 0)):
        with pytest.raises(ArithmeticError, match="computes what has no value"):
            strategy.start(3).tell([0, 1, 2], [1, 0, 0])


WRITTEN = [
    'kind="mergesort"',
    "float(t) ** 1.5",
    "x ** 3.0",
    "math.pow(x, 3.0)",
    "x * x",
    "1 / x",
    "math.sqrt(x)",
    "math.exp(x)",
    "sum(a)",
    "int(min(x, 2.0**53))",
    "float(np.float32(x)) * 1e7",
    "a // np.maximum(b, 1)",
    "1 << min(t, 62)",
    "float(t) ** 3.0",
]


def of_last_bits(x, n):
    """Return an arm that depends on the last bits of a number."""
    digits = math.frexp(x)[0] * 2.0**53, math.frexp(x / 3.0)[0] * 2.0**53
    return (int(digits[0]) + int(digits[1])) % n


@dataclass(frozen=True)
class Written(topk.Indices):
    """Pick by the last bits of what is computed in one of the ways of `WRITTEN`."""

    k: int
    budget: int
    way: int
    searches = ()
    anytime = True

    def state(self, arms):
        return {"fractions": np.linspace(0.1, 2.3, 77)}

    @topk.rule
    def pick(s):
        t = s.now.rounds
        x = (s.sums[0] + t) / 7.0
        a, b = s.fractions * x, s.pulls - s.pulls
        found = 1.0
        if s.way == 0:
            return np.argsort(s.sums, kind="mergesort")[0], NO_ARM
        elif s.way == 1:
            found = float(t) ** 1.5
        elif s.way == 2:
            found = x ** 3.0
        elif s.way == 3:
            found = math.pow(x, 3.0)
        elif s.way == 4:
            found = x * x
        elif s.way == 5:
            found = 1 / x
        elif s.way == 6:
            found = math.sqrt(x)
        elif s.way == 7:
            found = math.exp(x)
        elif s.way == 8:
            found = sum(a)
        elif s.way == 9:
            large = int(min(x * 1e19, 2.0**53)) + math.floor(min(x * 1e25, 2.0**53))
            large += math.ceil(min(x * 1e25, 2.0**53)) + round(min(x * 1e25, 2.0**53))
            found = x * float(large % 1001)
        elif s.way == 10:
            found = float(np.float32(x)) * 1e7
        elif s.way == 11:
            found = x * float((s.pulls // np.maximum(b, 1))[0])
        elif s.way == 12:
            found = float((1 << min(t, 62)) % 3 + (s.pulls[0] >> min(t, 62)))
        elif s.way == 13:
            found = float(t) ** 3.0
        return of_last_bits(found, s.n), NO_ARM


@compiled_only
@pytest.mark.parametrize("way", range(len(WRITTEN)), ids=WRITTEN)
def test_both_forms_agree_on_what_is_written_as_topk_rule_says(way, monkeypatch):
    """The notes of `topk.rule` name each of these ways."""
    assert f"{WRITTEN[way]}``" in topk.rule.__doc__
    bandit, strategy = topk.BernoulliBandit([0.5, 0.4, 0.3, 0.2]), Written(1, 400, way)
    compiled = topk.run(strategy, bandit, rng=3).pulls.tolist()
    monkeypatch.setenv("TOPK_COMPILE", "never")
    assert compiled == topk.run(strategy, bandit, rng=3).pulls.tolist()


@pytest.mark.parametrize("value", [2.7, "2", True, 2**70, math.nan, None, 1j])
def test_own_parameters_are_of_the_type_that_is_declared(value):
    with pytest.raises(ValueError, match="one must be an integer"):
        Wrong(1, 12, value, -1)

    @dataclass(frozen=True)
    class Declared(topk.Indices):
        k: int
        real: "float"
        flag: bool = False
        maybe: int | None = None

    for given, name in ({"real": "0.5"}, "real"), ({"real": True}, "real"), (
            {"real": 0.5, "flag": 1}, "flag"), ({"real": 0.5, "maybe": 1.5}, "maybe"):
        with pytest.raises(ValueError, match=f"{name} must be"):
            Declared(1, **given)
    assert Declared(1, np.float32(0.5), np.True_, np.int64(3)).maybe == 3


def test_a_recommendation_that_is_not_filled_is_refused(monkeypatch):
    monkeypatch.setenv("TOPK_COMPILE", "never")

    @dataclass(frozen=True)
    class Half(Edge):
        @topk.rule
        def recommend(s, chosen):
            chosen[0] = 1

    with pytest.raises(ValueError, match="what `recommend` of Half fills must be 2 different arms"):
        topk.run(Half(2, 30, -1), BANDIT, rng=0)
