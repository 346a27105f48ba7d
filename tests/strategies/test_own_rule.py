"""Rules that a user writes, one of each shape: what the library's own can do, they can as well."""

import json
import math
from dataclasses import dataclass
from types import FunctionType

import numpy as np
import pytest

import topk
from topk._checks import check_integer
from topk.engine import loop
from topk.engine.indices import highest, lower, lowest, upper
from topk.engine.loop import BY_BUDGET, NOBODY
from topk.engine.ranking import rank
from topk.engine.rounds import end_with
from topk.engine.strategy import positive
from topk.play import RULE, stream, streams

BANDIT = topk.BernoulliBandit([0.2, 0.8, 0.5, 0.45, 0.7, 0.1, 0.3])
SEED = 4


@dataclass(frozen=True)
class Settled(topk.Rounds):
    """Pull all arms alike until the same k have led for some rounds."""

    k: int
    budget: int
    patience: int
    checks = topk.Rounds.checks | {"patience": lambda value, name: check_integer(value, name, 1)}
    memory = {"same": 0}

    def constants(self, n):
        return {"each": 3 + n // 4}

    def arrays(self, bandits, n):
        return super().arrays(bandits, n) | {"leading": ("flag", n)}

    @topk.rule
    def share(s):
        return s.each

    @topk.rule
    def decide(s):
        ranked = rank(s)
        s.now.same += 1
        for arm in ranked[: s.k]:
            if s.leading[arm] == 0:
                s.now.same = 0
        s.leading[:] = 0
        s.leading[ranked[: s.k]] = 1
        if s.now.same == s.patience:
            end_with(s, ranked, BY_BUDGET)


@dataclass(frozen=True)
class Coin(topk.Indices):
    """Toss a coin for the side of the boundary on which to pull."""

    k: int
    budget: int
    a: float
    checks = topk.Indices.checks | {"a": positive}
    random = True

    @topk.rule
    def scale(s):
        return math.sqrt(s.a)

    @topk.rule
    def pick(s, arms):
        heads = s.rng.random() < 0.5
        arms[0] = highest(s) if heads and highest(s) != NOBODY else lowest(s)
        return 1


@dataclass(frozen=True)
class OwnClocks(topk.Indices):
    """LUCB whose radius follows each arm's own pulls."""

    k: int
    epsilon: float
    delta: float
    budget: int | None = None
    certifies = anytime = True
    few = 0

    @topk.rule
    def line(s, arm):
        u, mean = s.pulls[arm], s.sums[arm] / s.pulls[arm]
        radius = own_radius(s.n, u, s.delta)
        return mean - radius, mean + radius, 0.0

    @topk.rule
    def pick(s, arms):
        arms[0], arms[1] = lowest(s), highest(s)
        return 2

    @topk.rule
    def done(s):
        return upper(s, highest(s)) - lower(s, lowest(s)) < s.epsilon


def own_radius(n, u, delta):
    return math.sqrt(math.log(math.pi**2 * n * u**2 / (3 * delta)) / (2 * u))


OWN = [Settled(2, budget=2000, patience=4), Coin(3, budget=300, a=0.5)]


def live(strategy, number=0, interrupted=False):
    """Play by hand what `replicate` plays as ``number``; return the pulls and the set."""
    order, rng = streams(SEED, number, BANDIT.n)
    session = strategy.start(BANDIT.n, rng=stream(SEED, number, RULE))
    while not session.done:
        arms, counts = session.ask()
        sums = BANDIT.pull(order[arms], counts, rng).sums
        half = arms.size // 2
        session.tell(arms[:half], sums[:half], counts=counts[:half])
        if interrupted:
            session = topk.resume(json.loads(json.dumps(session.state())))
        session.tell(arms[half:], sums[half:], counts=counts[half:])
    pulls = np.zeros(BANDIT.n, dtype=int)
    pulls[order] = session.pulls
    return pulls.tolist(), sorted(order[session.selected].tolist())


each_own = pytest.mark.parametrize("strategy", OWN, ids=lambda strategy: type(strategy).__name__)


@each_own
def test_it_plays_alike_once_many_times_on_two_cores_live_and_stored(strategy):
    many = topk.replicate(strategy, BANDIT, runs=20, seed=SEED, jobs=1)
    once = topk.run(strategy, BANDIT, rng=SEED)
    assert once.pulls.tolist() == many.pulls[0].tolist()
    assert once.selected.tolist() == many.selected[0, 0].tolist()
    assert topk.replicate(strategy, BANDIT, runs=20, seed=SEED, jobs=2) == many
    ends = set(many.total_pulls.tolist())
    assert ends == {300} if strategy.random else len(ends) > 4
    named = topk.metrics.precision(many.selected[:, 0], BANDIT.means)
    assert named.mean() > 0.7  # by chance it would be less than half
    for number in range(5):
        played = many.pulls[number].tolist(), many.selected[number, 0].tolist()
        assert live(strategy, number) == live(strategy, number, interrupted=True) == played


@each_own
def test_an_arm_is_withdrawn_without_a_word_in_the_rule(strategy):
    session, rng = strategy.start(BANDIT.n, rng=1), np.random.default_rng(1)
    for _ in range(3):
        arms, counts = session.ask()
        session.tell(arms, BANDIT.pull(arms, counts, rng).sums, counts=counts)
    for arm in (1, 5, 0):  # the best one among them
        session.withdraw(arm)
    before = session.pulls[[1, 5, 0]].tolist()
    while not session.done:
        arms, counts = session.ask()
        assert not {0, 1, 5} & set(arms.tolist())
        session.tell(arms, BANDIT.pull(arms, counts, rng).sums, counts=counts)
    assert session.pulls[[1, 5, 0]].tolist() == before
    assert set(session.selected.tolist()) <= {2, 3, 4, 6} and len(session.selected) == strategy.k


def test_picking_nobody_is_refused():
    """Of a pair of which one is missing no other arm is pulled in its place."""

    @dataclass(frozen=True)
    class Stubborn(OwnClocks):
        @topk.rule
        def done(s):
            return False

    session = Stubborn(1, epsilon=0.1, delta=0.1).start(2).withdraw(0)
    with pytest.raises(ValueError, match=r"the arms that Stubborn picks must .* got \[1, -1\]"):
        session.tell([1], [1])


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
        arms[0], arms[1] = s.one, s.other
        return s.many


@pytest.mark.parametrize("picks", [(1, 99, 0), (2, 1, -1), (0, 0, 0), (2, 1, 1), (3, 0, 1)])
def test_what_cannot_be_picked_is_refused_in_a_simulation_and_live(picks):
    strategy, allowed = Wrong(1, 12, *picks), "the arms that Wrong picks must be one or two"
    with pytest.raises(ValueError, match=allowed):
        topk.run(strategy, topk.BernoulliBandit([0.5] * 4))
    with pytest.raises(ValueError, match=allowed):
        strategy.start(4).tell([0, 1, 2, 3], [1, 0, 1, 0])


def test_an_arm_that_has_left_is_not_asked_for_again():
    with pytest.raises(ValueError, match="the arms that Wrong picks"):
        Wrong(1, 12, 1, 0, 0).start(3).withdraw(0).tell([1, 2], [1, 0])


def test_what_cannot_be_stored_is_refused_by_name():
    session = Settled(1, budget=60, patience=2).start(3)
    session._play.s.sums[1] = -math.inf
    with pytest.raises(ValueError, match="sums must be a list of 3 numbers from -1e.300"):
        session.state()
    with pytest.raises(ValueError, match="rng must be an integer or a generator made by"):
        Coin(1, budget=60, a=0.5).start(3, rng=np.random.Generator(np.random.MT19937(1)))


def test_names_that_every_play_has_are_refused():
    @dataclass(frozen=True)
    class Own(Wrong):
        pulls: int = 3

    @dataclass(frozen=True)
    class Kept(Wrong):
        memory = {"rounds": 1}

    @dataclass(frozen=True)
    class Lost(Wrong):
        checks = topk.Indices.checks | {"one": lambda value, name: None}

    for cls, name in ((Own, "pulls"), (Kept, "rounds")):
        with pytest.raises(ValueError, match=f"names in {cls.__name__} must be .*'{name}'"):
            cls(1, 12, 1, 0, 0).start(3)
    with pytest.raises(TypeError, match="the check of one has to return its value"):
        Lost(1, 12, 1, 0, 0)


def test_withdrawn_down_to_k_it_goes_on():
    session = Coin(3, budget=60, a=0.5).start(4, rng=1).tell([0, 1, 2, 3], [1, 0, 1, 0])
    session.withdraw(1)
    while not session.done:
        session.tell(session.ask()[0], [1])
    assert session.selected.tolist() == [0, 2, 3] and session.pulls.sum() == 60
    with pytest.raises(ValueError, match="fewer than k = 3"):
        Coin(3, budget=60, a=0.5).start(4).withdraw(0).withdraw(1)


@pytest.mark.parametrize(
    ("wrong", "name"),
    [
        (lambda: Settled(7, budget=100, patience=2).start(7), "k"),
        (lambda: Settled(2, budget=6, patience=2).start(7), "budget"),
        (lambda: Settled(2, budget=100, patience=0), "patience"),
        (lambda: Coin(2, budget=100, a=-1.0), "a"),
        (lambda: OwnClocks(2, epsilon=1.0, delta=0.1), "epsilon"),
    ],
)
def test_bad_parameters_are_refused_by_name(wrong, name):
    with pytest.raises(ValueError, match=rf"\b{name} must be"):
        wrong()


def test_bounds_of_its_own_are_followed_exactly():
    """With a line of its own the arms at risk are those of plain Python, however many there are."""
    strategy, rng = OwnClocks(2, epsilon=0.3, delta=0.2), np.random.default_rng(3)
    session = strategy.start(BANDIT.n)
    arms, counts = session.ask()
    while True:
        session.tell(arms, BANDIT.pull(arms, counts, rng).sums, counts=counts)
        means = session.means
        radii = np.array([own_radius(7, u, 0.2) for u in session.pulls.tolist()])
        lows, highs = session.bounds()
        assert lows.tolist() == np.clip(means - radii, 0, 1).tolist()
        assert highs.tolist() == np.clip(means + radii, 0, 1).tolist()
        ranked = sorted(range(7), key=lambda arm: (-means[arm], arm))
        inside, outside = sorted(ranked[:2]), sorted(ranked[2:])
        low = min(inside, key=lambda arm: means[arm] - radii[arm])
        high = max(outside, key=lambda arm: means[arm] + radii[arm])
        assert session.done == (means[high] + radii[high] - (means[low] - radii[low]) < 0.3)
        if session.done:
            break
        arms, counts = session.ask()
        assert arms.tolist() == [low, high]
    assert session.certified and session.selected.tolist() == [1, 4] and session.pulls.sum() > 100


def test_a_function_that_is_not_marked_is_refused():
    @dataclass(frozen=True)
    class Unmarked(Coin):
        def done(s):
            return s.now.rounds > 3

    with pytest.raises(TypeError, match="done of Unmarked is to be marked with topk.rule"):
        Unmarked(2, budget=100, a=1.0).start(7)


def test_functions_that_arrive_anew_are_not_compiled_again(monkeypatch):
    """As those of a script's class do in another process, with every portion of plays."""
    first = OWN[0].begin(7).compiled(loop.play)
    for name in ("share", "decide"):
        function = getattr(Settled, name)
        copied = FunctionType(function.__code__, function.__globals__, name)
        monkeypatch.setattr(Settled, name, staticmethod(copied))
    assert OWN[0].begin(7).compiled(loop.play) is first


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

    loops = [rule_for(each).begin(7).compiled(loop.play) for each in (1, 2)]
    assert loops[0] is not loops[1]
