"""Live sessions: any order, any portions, anything wrong in between; always the same play."""

import copy
import math
import re
import threading
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from decimal import Decimal
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from strategies.plain import BigBatches
from strategies.registry import ENTRIES, cases, real_bandit
from strategies.tapes import Tapes

import topk
from topk.session import add_exactly

each_strategy = pytest.mark.parametrize("entry", ENTRIES, ids=lambda e: e.name)


def frozen(thing):
    """Return a deep, comparable picture of an object, bit by bit where there are numbers."""
    if isinstance(thing, np.ndarray):
        return "array", thing.dtype.str, thing.shape, thing.tobytes()
    if isinstance(thing, dict):
        return "dict", sorted((repr(key), frozen(value)) for key, value in thing.items())
    if isinstance(thing, (list, tuple)):
        return type(thing).__name__, tuple(frozen(item) for item in thing)
    if isinstance(thing, float):
        return "float", thing.hex()
    if isinstance(thing, (int, str, bool, bytes, type(None), np.generic)):
        return type(thing).__name__, repr(thing)
    if hasattr(thing, "__dict__"):
        return type(thing).__name__, frozen(vars(thing))
    return type(thing).__name__, repr(thing)


def shown(session):
    """Return all that a session shows."""
    public = session.done, session.certified, session.stopped, session.selected, session.pulls
    return frozen([*public, session.means, session.ask(), session.bounds(), session.n])


def straight(strategy, bandit, tapes):
    """Tell whole batches by their sums."""
    session = strategy.start(bandit.layout)
    while not session.done:
        tapes.tell(session, *session.ask())
    return session


def portions(arms, counts, rng):
    """Cut a batch into single rewards and groups, in random order: pairs (arm, count)."""
    parts = []
    for arm, count in zip(arms.tolist(), counts.tolist(), strict=True):
        while count > 0:
            size = int(rng.integers(1, count + 1)) if rng.random() < 0.7 else 1
            parts.append((arm, size))
            count -= size
            if len(parts) > 60 and count:
                parts.append((arm, count))
                count = 0
    rng.shuffle(parts)
    return parts


def told_in_portions(strategy, bandit, tapes, rng, disturb=lambda session, rng: None):
    """Tell the same rewards in portions; several entries at once, arms repeated."""
    session = strategy.start(bandit.layout)
    while not session.done:
        arms, counts = session.ask()
        parts = portions(arms, counts, rng)
        while parts:
            disturb(session, rng)
            group, parts = parts[: (size := int(rng.integers(1, 5)))], parts[size:]
            rewards = [tapes.take(arm, count) for arm, count in group]
            if all(count == 1 for _, count in group) and rng.random() < 0.7:
                session.tell([arm for arm, _ in group], [float(x[0]) for x in rewards])
            else:
                session.tell(
                    np.array([arm for arm, _ in group]),
                    [x.sum() for x in rewards],
                    counts=[count for _, count in group],
                    squares=[(x * x).sum() for x in rewards],
                )
    disturb(session, rng)
    return session


def wrong_tells(session, rng):
    """Yield things that a session must refuse: (name of the parameter, arguments)."""
    n, (arms, counts) = session.n, session.ask()
    if session.done:
        yield "arms", ([0], [1.0])
        yield "arms", ([0], [1.0], [1])
        return
    arm, count = int(arms[0]), int(counts[0])
    last, most = int(arms[-1]), int(counts[-1])
    for unknown in ([n], [-1], [0.0], [0.5], ["0"], [None], [[0]], [True], [2**40], [np.nan]):
        yield "arms", (unknown, [1.0])
    yield "arms", ([arm, n], [1.0, 1.0])  # the first is fine: nothing of it may stay
    yield "arms", ([[arm], [arm, arm]], [1.0])
    for other in sorted(set(range(n)) - set(arms.tolist()))[:1]:
        yield "arms", ([arm, other], [0.0, 1.0])
    wrong = np.nan, 1.5, -0.1, np.inf, -np.inf, 1 + 1e-9, -1e-300, None, "x", [0.5, 0.5], 1j, "1"
    for bad in (*wrong, b"1", np.datetime64("2020-01-01")):
        yield "rewards", ([arm], [bad])
        yield "rewards", ([last, arm], [1.0, bad]) if arm != last else ([arm], [bad])
    for bad in ([], [1.0, 1.0], [[1.0]], None, np.ma.array([1.0], mask=[True])):
        yield "rewards", ([arm], bad)
    yield "arms", ([arm], [count + 1.0], [count + 1])  # more than was asked for
    yield "arms", ([arm] * (count + 1), [1.0] * (count + 1)) if count < 50 else ([n], [1.0])
    if arm != last:
        yield "arms", ([last, arm, arm], [0.0, 0.0, 1.0], [most, count, 1])
    yield "arms", ([arm] * 1024, [1.0] * 1024, [2**53] * 1024)  # adds up to -2**63 in 64 bits
    for bad in ([-1], [1.0], [0.5], ["1"], [1, 1], [], [[1]], [True], [np.nan], [[1], [1, 1]]):
        yield "counts", ([arm], [0.0], bad)
    yield "arms|counts", ([arm], [0.0], [2**62])
    for bad, of in ((1.5, 1), (count + 0.5, count), (-0.5, count), (np.nan, count), (0.5, 0)):
        yield "sums|rewards", ([arm], [bad], [of])
    yield "sums|rewards", ([arm, arm], [0.5], [1, 1])
    yield "squares", ([arm], [0.5], [1], [0.6])  # above the sum
    yield "squares", ([arm], [0.5], [1], [0.1])  # below the square of the only reward
    for bad in ([-1.0], [np.nan], [1.0, 1.0], ["x"]):
        yield "squares", ([arm], [1.0], [1], bad)


def refused(session, name, arguments):
    """Tell something wrong: a ValueError that names the parameter, and nothing else."""
    before = frozen(session), shown(session)
    try:
        session.tell(*arguments)
    except ValueError as error:
        named = re.search(rf"\b({name})\b", str(error))
        assert named, f"tell{arguments} is refused, but not by the name of {name}: {error}"
    else:
        pytest.fail(f"tell{arguments} must be refused by the name of {name}")
    assert (frozen(session), shown(session)) == before, arguments


def test_everything_wrong_is_refused_by_name_and_changes_nothing():
    rng = np.random.default_rng(0)
    for strategy in (topk.LUCB1(2, epsilon=0.5, delta=0.1, budget=9), topk.SAR(1, 12)):
        session, done = strategy.start(4), False
        while not done:
            done = session.done
            for name, arguments in wrong_tells(session, rng):
                refused(session, name, arguments)
            if not done:
                session.tell(session.ask()[0][-1:], [float(rng.integers(2))])  # the last entry's
    session = topk.Racing(1, epsilon=0.1, delta=0.1).start(3)
    with pytest.raises(ValueError, match=r"1000 reward\(s\) of arm 1 were told, but 1 are wanted"):
        session.tell([1], [400], counts=[1000])


@each_strategy
def test_200_interleavings_end_like_the_straight_run(entry):
    done = 0
    for strategy, bandit, rng in cases(entry, 2000, seed=11, sizes=(2, 3, 5)):
        pulls = [topk.run(strategy, bandit, rng=seed).pulls for seed in range(2)]
        if pulls[0].sum() > (3000 if done % 10 == 0 else 200):
            continue
        if (done := done + 1) > 200:
            break
        length = 3 * int(np.max(pulls)) + 5000

        def disturb(session, rng):
            shot = rng.random()
            if shot < 0.15:  # asking twice asks the same thing, and changes nothing
                before = frozen(session)
                assert frozen(session.ask()) == frozen(session.ask())
                shown(session)
                assert frozen(session) == before
            elif shot < 0.3:
                wrong = list(wrong_tells(session, rng))
                refused(session, *wrong[rng.integers(len(wrong))])

        seed = int(rng.integers(2**32))
        tapes = [Tapes(bandit, np.random.default_rng(seed), length) for _ in range(2)]
        plain = straight(strategy, bandit, tapes[0])
        mixed = told_in_portions(strategy, bandit, tapes[1], rng, disturb)
        assert tapes[0].used == tapes[1].used, strategy
        assert shown(plain) == shown(mixed), strategy
        assert frozen(plain) == frozen(mixed), strategy
    assert done > 200


@each_strategy
def test_the_order_of_tells_cannot_matter_for_real_rewards(entry):
    """Single rewards told in any order give the same sums, to the last bit."""
    done = 0
    for strategy, bandit, rng in cases(entry, 150, seed=12, sizes=(2, 3, 4)):
        budget = getattr(strategy, "budget", None)
        if budget is not None and budget > 300 or budget is None and not isinstance(
            strategy, BigBatches
        ):
            continue
        done += 1
        bandit = real_bandit(bandit.layout, rng, low=0.01, scale=1)
        tapes = Tapes(bandit, rng, 2000)
        sessions = [strategy.start(bandit.layout) for _ in range(3)]
        while not sessions[0].done:
            arms, counts = sessions[0].ask()
            singles = [
                (arm, float(x))
                for arm, count in zip(arms, counts, strict=True)
                for x in tapes.take(arm, count)
            ]
            for session in sessions:
                rng.shuffle(singles)
                cut = int(rng.integers(len(singles) + 1))
                for part in filter(None, (singles[:cut], singles[cut:])):
                    session.tell([int(arm) for arm, _ in part], [x for _, x in part])
            first, *others = (shown(x) + frozen(x._play.seen.squares) for x in sessions)
            assert others == [first, first]
        assert sessions[0].selected.tolist() == sessions[2].selected.tolist()
    assert done >= 20


def test_sums_are_correctly_rounded_whatever_the_order():
    """1 + 2**-53 + 2**-106 is just above the middle of two floats; adding up gives 1."""
    rewards = [1.0, 2.0**-53, 2.0**-106]
    session = topk.Uniform(1, budget=7).start(2)
    session.tell([0, 0, 0], rewards)
    session.tell([1, 1, 1], rewards[::-1])
    assert sum(rewards) == 1.0
    assert session.means.tolist() == [(1 + 2.0**-52) / 3] * 2
    session.tell(0, 0.0)
    assert session.done and session.means.tolist() == [(1 + 2.0**-52) / 4, (1 + 2.0**-52) / 3]


@given(st.lists(st.floats(0, 1), max_size=60))
def test_exact_sums_are_those_of_fsum(rewards):
    parts = []
    for x in rewards:
        add_exactly(parts, x)
    assert sum(map(Fraction, parts)) == sum(map(Fraction, rewards))
    assert math.fsum(parts) == math.fsum(rewards)
    assert len(parts) <= 40  # a double has 1074 bits below 1, 53 at a time


@each_strategy
def test_a_session_shows_what_it_was_told(entry):
    """pulls, means, selected and bounds after every single reward of a play."""
    shots = 0
    for strategy, bandit, rng in cases(entry, 60, seed=13, sizes=(3, 4)):
        budget = getattr(strategy, "budget", None) or strategy.k * 10**6
        if budget > 150:
            continue
        session, shape = strategy.start(bandit.layout), bandit.means.shape
        assert session.selected is None or session.done or bandit.n == strategy.k
        pulls, sums = np.zeros(bandit.n, dtype=int), np.zeros(bandit.n)
        while not session.done:
            arms, counts = session.ask()
            assert (counts > 0).all() and np.unique(arms).size == arms.size
            arm = int(rng.choice(arms))
            reward = float(rng.random() < bandit.means.flat[arm])
            session.tell(arm, reward)  # scalars are fine
            pulls[arm] += 1
            sums[arm] += reward
            assert session.pulls.shape == session.means.shape == shape
            assert session.pulls.ravel().tolist() == pulls.tolist()
            seen, means = pulls > 0, session.means.ravel()
            assert np.array_equal(means[seen], sums[seen] / pulls[seen])
            assert np.isnan(means[~seen]).all()
            lower, upper = session.bounds()
            assert lower.shape == upper.shape == shape
            assert ((lower >= 0) & (lower <= upper) & (upper <= 1)).all()
            if seen.all() or session.done:
                chosen = session.selected
                assert chosen.shape == (*shape[:-1], strategy.k) and (np.diff(chosen) > 0).all()
            else:
                assert session.selected is None
            shots += 1
        assert session.stopped in ("rule", "budget")
        assert session.certified == (session.stopped == "rule")
        arms, counts = session.ask()
        assert arms.size == counts.size == 0
    assert shots > 100 or isinstance(strategy, BigBatches)


def test_what_a_session_hands_out_or_is_told_is_not_its_own_memory():
    for told in ([], [0], [0, 1], [0, 1, 2]):
        session = topk.LUCB1(1, epsilon=0.5, delta=0.1).start(3)
        told, rewards, counts = np.array(told, int), np.ones(len(told)), np.ones(len(told), int)
        session.tell(told, rewards, counts)
        before = frozen(session)
        for array in (*session.ask(), session.pulls, session.means, *session.bounds()):
            array[:] = 7
        if len(told) == 3:
            session.selected[:] = 0
        told[:], rewards[:], counts[:] = 0, 0.5, 0
        assert frozen(session) == before
        session.tell([0, 1, 2], [0.0, 0.0, 0.0], counts=[0, 0, 0])  # allowed, and does nothing
        session.tell([], [])
        assert frozen(session) == before


def test_sessions_of_one_strategy_and_copies_of_a_session_share_nothing():
    strategy = topk.OptMAI(1, budget=60)
    one, other = strategy.start(5), strategy.start(5)
    twin, before = copy.deepcopy(one), frozen(other)
    while not one.done:
        arms, counts = one.ask()
        one.tell(arms, counts * 0.5, counts=counts)
    assert frozen(other) == frozen(twin) == before


def test_a_strategy_that_needs_squares_asks_for_them_with_sums():
    session = BigBatches(1, size=10).start(2)
    session.tell([0, 1], [0.5, 1.0])  # one reward each: their squares are known
    arms, counts = session.ask()
    before = frozen(session)
    with pytest.raises(ValueError, match="squares"):
        session.tell(arms, counts / 2, counts=counts)
    assert frozen(session) == before
    session.tell(arms, counts, counts=counts)  # all ones are their own squares
    plain = topk.LUCB1(1, epsilon=0.5, delta=0.1).start(2)
    plain.tell([0], [0.5], counts=[1])  # the others do not look


def test_a_live_session_never_permutes():
    session = topk.SAR(2, budget=200).start(4)
    while not session.done:
        arms, counts = session.ask()
        assert (np.diff(arms) > 0).all()
        session.tell(arms, counts * (arms % 2), counts=counts)  # the odd ones are good
    assert session.selected.tolist() == [1, 3]


def test_a_recommendation_that_raises_leaves_the_tally_as_it_was():
    class Broken(topk.Strategy):
        k = 1

        def ask(self, view):
            return [0, 1], [2, 2]

        def recommend(self, view):
            raise RuntimeError("no idea")

    session = Broken().start(2).tell([0, 1], [1, 0])
    before = session.pulls.tolist()
    with pytest.raises(RuntimeError, match="no idea"):
        _ = session.selected
    assert session.pulls.tolist() == before


BOTTOMLESS = []
BOTTOMLESS.append(BOTTOMLESS)


@dataclass(frozen=True)
class Greedy(topk.Strategy):
    """Wants ``each`` pulls of both arms again and again, whatever the budget."""

    k: int = 1
    budget: int = 10
    each: int = 2

    def ask(self, view):
        return [0, 1], [self.each, self.each]


def test_nobody_asks_for_more_than_the_budget():
    with pytest.raises(ValueError, match=r"^counts of Strategy.ask must be at most the 10 pulls"):
        Greedy(each=6).start(2)
    session = Greedy().start(2).tell([0, 1], [1, 1], [2, 2])
    with pytest.raises(ValueError, match=r"at most the 2 pulls that are left of budget = 10"):
        session.tell([0, 1], [1, 1], [2, 2])
    assert Greedy(budget=4).start(2).ask()[1].tolist() == [2, 2]
    for budget in ("10", [], math.nan, 0):
        with pytest.raises(ValueError, match="^budget must be an integer"):
            Greedy(budget=budget).start(2)


@pytest.mark.parametrize("name", ["pulls", "sums", "squares"])
def test_a_strategy_cannot_change_what_it_is_shown(name):
    class Forger(Greedy):
        def update(self, view):
            getattr(view, name)[...] = 0

    with pytest.raises(ValueError, match="read-only"):
        Forger().start(2).tell([0, 1], [1, 1], [2, 2])


@pytest.mark.parametrize(
    "memory",
    [{0: 1}, {"a": (1,)}, {"a": {1}}, {"a": np.zeros(2)}, {"a": math.nan}, [1], {"a": BOTTOMLESS}],
    ids=str,
)
def test_a_memory_that_json_would_change_is_refused_when_it_is_stored(memory):
    session = Greedy().start(2)
    session._play.view.memory = memory
    with pytest.raises(ValueError, match="^memory must be a dict of plain JSON values"):
        session.state()


def test_a_memory_of_plain_values_is_stored_and_stays_apart():
    session = Greedy().start(2)
    session._play.view.memory["seen"] = [1, {"a": None, "b": 0.5}]
    stored = session.state()
    session._play.view.memory["seen"].append(2)
    assert stored["play"]["memory"] == {"seen": [1, {"a": None, "b": 0.5}]}
    assert topk.resume(stored)._play.view.memory == {"seen": [1, {"a": None, "b": 0.5}]}


def test_four_threads_tell_one_session():
    """Every reward counts once, whoever brings it."""
    n, each = 40, 50
    session = topk.Uniform(3, budget=n * each).start(n)

    def tell(mine):
        for _ in range(each):
            for arm in range(mine, n, 4):
                session.tell([arm], [arm % 2])
                assert len(session.ask()[0]) <= n and session.pulls.shape == (n,)

    with ThreadPoolExecutor(4) as pool:
        assert list(pool.map(tell, range(4))) == [None] * 4
    assert session.done and (session.pulls == each).all()
    assert session.means.tolist() == [arm % 2 for arm in range(n)]


def test_nobody_looks_at_a_session_that_is_moving_on():
    """Others wait until a batch has been taken note of; without the lock they would not."""
    waited = []

    class Watched(Greedy):
        def update(self, view):
            looks = session.ask, session.state, session.bounds, lambda: session.tell([], [])
            for look in (*looks, lambda: session.pulls, lambda: session.selected):
                other = threading.Thread(target=look, daemon=True)
                other.start()
                other.join(0.1)
                waited.append(other.is_alive())

    session = Watched().start(2)
    session.tell([0, 1], [1, 1], [2, 2])
    assert waited == [True] * 6


def test_a_session_says_where_it_stands():
    session = topk.Uniform(1, budget=6).start(3).tell([0], [1])
    assert repr(session) == "<Session of Uniform(k=1, budget=6): 3 arms, 1 pulls, wants 5 more>"


QUARTERS = [Fraction(1, 4), Decimal("0.25"), np.longdouble(0.25), np.array(0.25)]


@pytest.mark.parametrize("value", QUARTERS, ids=repr)
def test_numbers_of_all_kinds_are_plain_parameters(value):
    strategy = topk.LUCB1(np.array(1), epsilon=value, delta=value)
    assert type(strategy.k) is int and type(strategy.epsilon) is float
    assert topk.resume(strategy.start(3).state()).strategy == topk.LUCB1(1, 0.25, 0.25)
    with pytest.raises(ValueError, match="delta"):
        topk.LUCB1(1, 0.1, 1e-301)
