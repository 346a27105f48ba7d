"""Arms that join a live study: what is taken over, what the guarantee becomes, who refuses."""

import copy
import dataclasses
import json
import math
import pickle
from fractions import Fraction
from itertools import pairwise

import numpy as np
import pytest
from scipy.special import betaln
from strategies.plain import Doubling
from strategies.registry import ENTRIES, shown

import topk
from topk.confidence.confidence import interval, pair_count, pair_multiplier
from topk.strategies.by_sides import level_above, level_below

RNG = np.random.default_rng
JOINING = {
    "KLLUCB": topk.KLLUCB(2, 0.1, 0.05, levels="arms"),
    "KLLUCB, epsilon 0": topk.KLLUCB(2, 0.0, 0.05, levels="arms"),
    "KLLUCB, sides": topk.KLLUCB(2, 0.1, 0.05),
    "KLLUCB, sides, epsilon 0": topk.KLLUCB(2, 0.0, 0.05),
    "KLLUCB, published": topk.KLLUCB(2, 0.1, 0.05, rate="published"),
    "BettingLUCB": topk.BettingLUCB(2, 0.1, 0.05, levels="arms"),
    "BettingLUCB, sides": topk.BettingLUCB(2, 0.1, 0.05),
    "LUCB1": topk.LUCB1(2, 0.1, 0.05),
    "LUCBPlusPlus": topk.LUCBPlusPlus(2, 0.05),
    "UGapEc": topk.UGapEc(2, 0.1, 0.05),
    "UGapEc, variance": topk.UGapEc(2, 0.1, 0.05, variance=True),
    "CLUCB": topk.CLUCB(2, 0.05),
    "CLUCBPAC": topk.CLUCBPAC(2, 0.1, 0.05),
    "TopTwo": topk.TopTwo(2, 0.1, 0.05),
    "Racing": topk.Racing(2, 0.1, 0.05),
}
each = pytest.mark.parametrize("strategy", JOINING.values(), ids=JOINING.keys())
DIVIDED = {name: strategy for name, strategy in JOINING.items() if strategy.stops_by != "sides"}
each_divided = pytest.mark.parametrize("strategy", DIVIDED.values(), ids=DIVIDED.keys())
MEANS = np.array([0.97, 0.3, 0.1, 0.1, 0.4, 0.99, *[0.1] * 10])


def answer(session, rng, rounds):
    """Answer whole batches of 0/1 rewards, one by one."""
    while rounds and not session.done:
        arms, rounds = np.repeat(*session.ask()), rounds - 1
        session.tell(arms, (rng.random(arms.size) < MEANS[arms]).astype(float))
    return session


def known(session):
    """Return what is known of each arm: what a join has to leave as it is."""
    snapshot = session.snapshot()
    return {
        "pulls": snapshot.pulls, "sums": snapshot.sums, "squares": snapshot.reward_squares,
        "in flight": snapshot.in_flight, "surplus": snapshot.surplus,
    }  # fmt: skip


# What is taken over


@each
def test_all_that_is_known_is_taken_over(strategy):
    """Also while first pulls of those that joined before are missing."""
    rng = RNG(1)
    session = answer(strategy.start(4, rng=7), rng, 12)
    session.ask(6)
    session.lost([int(session.in_flight.argmax())])
    session.withdraw(3).observe([3, 0, 1], [1.0, 0.25, 0.5])
    assert session.in_flight.sum() > 0
    for more in (1, 1):
        before, old = known(session), shown(session)
        other = session.with_arms(more)
        assert shown(session) == old
        n = session.n
        for name, values in known(other).items():
            assert values[:n].tolist() == before[name].tolist(), name
            assert not values[n:].any(), name
        assert other.withdrawn == [3] and other.n == n + more and not other.done
        assert {*range(n, other.n)} <= {*other.ask()[0]}
        assert other.selected is None
        for again in (topk.resume(json.dumps(other.state())), pickle.loads(pickle.dumps(other)),
                      copy.deepcopy(other)):  # fmt: skip
            assert shown(again) == shown(other)
            ends = [answer(x, RNG(5), 30) for x in (again, copy.deepcopy(other))]
            assert shown(ends[0]) == shown(ends[1])
        answer(copy.copy(other), RNG(6), 3)
        answer(session.with_arms(more), RNG(6), 3)  # which shares nothing with this one
        assert shown(session) == old
        session = other
    answer(session, rng, 10**6)
    assert session.certified and session.selected.tolist() == [0, 5]
    summary = session.summary()
    assert "2 arm(s) joined after the start" in summary
    assert session.report().attrs["joined"] in summary


@each_divided
def test_a_session_with_more_arms_goes_on_as_one_that_observes_the_log(strategy):
    """From the first pull of the new arms on; a clock of rounds is only ever later."""
    session = answer(strategy.start(4, rng=3), RNG(2), 15)
    joined = answer(session.with_arms(2), RNG(4), 1)
    anew, rng = strategy.start(6, rng=3), RNG(4)
    anew.observe(np.arange(4), sums=session.pulls * session.means, counts=session.pulls,
                 squares=session.pulls * session.means)  # fmt: skip
    arms = np.repeat(*session.with_arms(2).ask())
    anew.observe(arms, (rng.random(arms.size) < MEANS[arms]).astype(float))
    assert anew.pulls.tolist() == joined.pulls.tolist()
    clocks = joined.engine.s.now.rounds, anew.engine.s.now.rounds
    if isinstance(strategy, topk.Racing):
        clocks = 0, 0
    assert clocks[0] >= clocks[1]
    if hasattr(anew.engine.s, "rng"):
        anew.engine.s.rng.bit_generator.state = joined.engine.s.rng.bit_generator.state
    if not isinstance(strategy, topk.LUCB1) and getattr(strategy, "rate", "") != "published":
        assert joined.snapshot().evidence() == anew.snapshot().evidence()
        ends = [answer(x, RNG(9), 10**6) for x in (joined, anew)]
        if not isinstance(strategy, topk.TopTwo):  # whose first draws differ
            assert ends[0].pulls.tolist() == ends[1].pulls.tolist()
        assert ends[0].selected.tolist() == ends[1].selected.tolist() == [0, 5]


def test_the_clock_and_the_budget_go_on():
    strategy = topk.LUCB1(1, 0.05, 0.1, budget=60)
    session = answer(strategy.start(3), RNG(0), 20)
    rounds, pulls = session.engine.s.now.rounds, session.pulls.sum()
    joined = answer(session.with_arms(1), RNG(1), 1)
    assert joined.engine.s.now.rounds == rounds + 1
    radius = math.sqrt(math.log(1.25 * 4 * (rounds + 1) ** 4 / 0.1) / 2)
    assert joined.engine.s.now.scale == pytest.approx(radius)
    answer(joined, RNG(2), 10**6)
    assert joined.stopped == "budget" and joined.pulls.sum() == 60 > pulls


def test_a_study_that_was_certified_goes_on():
    session = answer(topk.KLLUCB(1, 0.2, 0.1).start(["a", "b"]).observe("a", [1.0]), RNG(0), 0)
    session.observe(["a", "b"], sums=[50, 1], counts=[50, 50])
    assert session.certified and session.selected.tolist() == ["a"]
    session.observe("b", [0.0])  # after the end, so that no rule has used it
    joined = session.with_arms("c")
    assert not joined.done and joined.surplus.sum() == 0 and joined.pulls.tolist() == [51, 51, 0]
    joined.observe("c", sums=[0], counts=[60])
    assert joined.certified and joined.snapshot().counted.tolist() == [51, 51, 60]


def test_racing_decides_anew_about_an_arm_that_it_had_accepted():
    strategy = topk.Racing(1, 0.0, 0.1)
    session = strategy.start(3)
    session.observe([0, 1, 2], sums=[300, 0, 150], counts=[300, 300, 300])
    assert session.certified
    session = session.with_arms(1)
    assert (session.engine.active).all()
    session = strategy.start(3).observe([0, 1, 2], sums=[160, 0, 150], counts=[300, 300, 300])
    assert session.engine.active.tolist() == [True, False, True]
    joined = session.with_arms(1)
    assert joined.engine.active.all() and joined.surplus.sum() == 0


def test_squares_are_taken_over_and_asked_for():
    strategy = topk.BettingLUCB(1, 0.5, 0.05)
    session = strategy.start(["a", "b"], bounds=(0, 10))
    session.observe(["a", "b"], sums=[70, 50], counts=[10, 10], squares=[492, 252])
    session.observe(["a"], [7.5])
    joined = session.with_arms(["c"])
    table = [x.report().set_index("name").loc[["a", "b"], "squares"] for x in (session, joined)]
    assert table[0].tolist() == table[1].tolist() == pytest.approx([492 + 7.5**2, 252])
    with pytest.raises(ValueError, match="squares must be given with sums of several rewards"):
        joined.observe("c", sums=[33], counts=[5])


def test_a_sigma_that_was_refuted_stays_so():
    session = topk.KLLUCB(1, 0.1, 0.05).start(3, sigma=1)
    session.observe([0, 1], sums=[5.0, 4.0], counts=[2, 1], squares=[13.0, 16.0])
    joined = session.with_arms(1)
    assert joined.snapshot().sigma_test == session.snapshot().sigma_test
    assert joined.report().squares.tolist() == pytest.approx([16, 13, 0, 0])
    with pytest.warns(UserWarning, match="sigma = 1 is refuted"):
        joined.observe([2, 2], [0.0, 1000.0])
    again = joined.with_arms(2)
    assert again.stopped == "sigma" and again.done and not again.certified
    assert topk.resume(again.state()).stopped == "sigma"


# What it does to the guarantee


@pytest.mark.parametrize("name", [x for x in JOINING if x not in DIVIDED])
def test_by_sides_most_arms_is_not_needed(name):
    """The levels are those of the start, and the reserve pays for all joins."""
    plain, reserved = (JOINING[name].start(3, most_arms=most, rng=1) for most in (None, 6))
    for session in (plain, reserved):
        session.observe(np.repeat([0, 1, 2], 5), [*[1] * 4, 0, *[1] * 3, 0, 0, 1, 1, 0, 0, 0])
    assert plain.evidence() == reserved.evidence()
    joined = plain.with_arms(2).observe([3, 4, 3, 4], [1, 0, 0, 1])
    assert joined.snapshot().error == 0.05 and joined.strategy.cost_of_joining(3, 5) == 0
    assert "hold at delta = 0.05, whatever the reason" in joined.summary()
    assert f"intervals is at most {0.05 * (1 + 2 / 5):.3g}" in joined.summary()
    assert reserved.with_arms(2).snapshot().interval_error == 0.05
    s, before, c = joined.engine.s, plain.engine.s, 1 / (1 + math.sqrt(2))
    assert s.first == 3 and s.now.above == before.now.above
    # q_2(2) is 1/4: for two arms that joined and k = 2
    assert math.exp(1e-6 - s.below) == pytest.approx(0.05 * (1 - c) * 0.05 / 4)
    assert math.exp(1e-6 - before.below) == pytest.approx(0.9 * (1 - c) * 0.05)
    for arm, j in ((3, 1), (4, 2)):
        assert math.exp(1e-6 - level_above(s, arm)) == pytest.approx(0.05 * c * 0.05 / j / (j + 1))
        low = 0.05 * (1 - c) * 0.05 / j / (j + 1)
        assert math.exp(1e-6 - level_below(s, arm)) == pytest.approx(low)
    with pytest.raises(ValueError, match="names must be at most 1 more arms, by most_arms = 6"):
        reserved.with_arms(2).with_arms(2)


def miss(level, pulls):
    """Probability that the interval of a fair coin misses 1/2 within the first pulls, exactly."""
    alive, missed = np.ones(1), 0.0  # by the number of ones
    for u in range(1, pulls + 1):
        alive = (np.append(alive, 0) + np.append(0, alive)) / 2
        ones = np.arange(u + 1)
        mixture = betaln(ones + 0.5, u - ones + 0.5) - math.log(math.pi)
        out = mixture + u * math.log(2) > -math.log(level)
        if u == 100:
            low, high = interval(u, ones, level)
            assert (out == ((low > 0.5) | (high < 0.5))).all()
        missed, alive = missed + alive[out].sum(), np.where(out, 0, alive)
    return missed


def test_joint_intervals_after_joins_by_looking():
    """An arm joins as soon as all intervals have stood 400 pulls: more than delta, by exact sums.

    Two arms at the start, then one after the other; whoever looks stops at the first miss.
    """
    delta, session = 0.3, topk.KLLUCB(1, 0.0, 0.3).start(2)
    stood = (1 - miss(delta / 2, 400)) ** 2
    for n in (3, 4, 5):
        session = session.with_arms(1)
        stood *= 1 - miss(delta / n, 400)
    assert delta < 0.337 < 1 - stood < 0.338 < session.snapshot().interval_error
    assert session.snapshot().interval_error == pytest.approx(delta * (1 + 1 / 3 + 1 / 4 + 1 / 5))
    assert "joint intervals is at most 0.535" in session.report().attrs["joined"]


@each
def test_the_bound_of_the_certificate_covers_the_intervals(strategy):
    """Where a summary names one failure probability after joins, it is that of both."""
    snapshot = strategy.start(4).with_arms(1).with_arms(3).snapshot()
    if not snapshot.by_sides:
        assert snapshot.interval_error <= snapshot.error * (1 + 1e-12)


@each_divided
def test_most_arms_reserves_the_levels(strategy):
    """Intervals are at delta / N from the start, and a join does not change them."""
    plain, reserved = (strategy.start(3, most_arms=most, rng=1) for most in (None, 6))
    for session in (plain, reserved):
        session.observe(np.repeat([0, 1, 2], 5), [*[1] * 4, 0, *[1] * 3, 0, 0, 1, 1, 0, 0, 0])
    squares = np.array([4.0, 3, 2]) if reserved.snapshot().squares is not None else None
    expected = np.array(interval([5] * 3, [4, 3, 2], 0.05 / 6, squares=squares))
    assert (reserved.snapshot().intervals() == expected).all()
    assert (plain.snapshot().intervals()[0] > expected[0]).all()
    level = reserved.evidence(), plain.evidence()
    if strategy.stops_by == "pairs":  # whose results were not asked for, so that p is not linear
        assert level[0] >= level[1]
    else:
        assert level[1] == 1 or level[0] == pytest.approx(min(1.0, 2 * level[1]))
    own = [np.array(x.intervals()) for x in (reserved, plain)]
    assert (own[0][0] <= own[1][0]).all() and (own[0][1] >= own[1][1]).all()
    joined = reserved.with_arms(2).observe([3, 4, 3, 4], [1, 0, 0, 1])
    assert (joined.snapshot().intervals()[:, :3] == expected).all()
    assert joined.snapshot().error == 0.05 and "most_arms = 6" in joined.summary()
    assert joined.evidence() == 1.0 or joined.evidence() >= reserved.evidence()
    stored = topk.resume(json.dumps(joined.state()))
    assert stored.most_arms == 6 and shown(stored) == shown(joined)
    for name, value in joined.engine.s._asdict().items():
        if isinstance(value, float):  # the levels
            assert getattr(stored.engine.s, name) == value == getattr(reserved.engine.s, name)
    with pytest.raises(ValueError, match="names must be at most 1 more arms, by most_arms = 6"):
        joined.with_arms(2)


def test_evidence_falls_below_delta_when_the_rule_stops_whatever_is_reserved():
    for name in ("KLLUCB", "KLLUCB, sides", "BettingLUCB, sides", "TopTwo", "LUCB1"):
        session = JOINING[name].start(4, most_arms=9, rng=0)
        session = answer(session, RNG(0), 10).with_arms(2)
        answer(session, RNG(1), 10**6)
        table = session.report()
        assert session.certified and session.evidence() <= 0.05
        assert table.undecided_with.sum() == 0 and table.attrs["epsilon"] <= 0.1


SHARED = {
    "KLLUCB": lambda n, k: {"interval": Fraction(1, n)},
    "LUCB1": lambda n, k: {"low": Fraction(1, n), "high": Fraction(1, n)},
    "LUCBPlusPlus": lambda n, k: {"low": Fraction(1, 2 * (n - k)), "high": Fraction(1, 2 * k)},
    "TopTwo": lambda n, k: {"pair": Fraction(9, 10 * k * (n - k))},
}


def needed(name, ranked, k):
    """Return the statements that the proof needs about arms in the order of their means."""
    if name == "KLLUCB":
        return {("interval", arm) for arm in ranked}
    if name == "TopTwo":
        return {("pair", i, j) for i in ranked[:k] for j in ranked[k:]}
    return {("high" if place < k else "low", arm) for place, arm in enumerate(ranked)}


@pytest.mark.parametrize("name", SHARED)
def test_the_error_is_that_of_all_statements_that_are_ever_needed(name):
    """In units of delta, exactly, on random joins: each at the level of the first stage it is in.

    A statement's level only falls, so that afterwards it fails only where it would have at first.
    """
    rng, largest = RNG(11), 0
    for _ in range(300):
        k = int(rng.integers(1, 5))
        sizes = k + np.cumsum(rng.integers(1, 5, size=int(rng.integers(2, 5))))
        order = rng.permutation(int(sizes[-1]))  # places of arms by mean
        if rng.random() < 0.3:  # who comes later is better: every join replaces arms
            order = np.arange(sizes[-1])[::-1]
        first, reserved = {}, {}
        changes = {"k": k} if name == "LUCBPlusPlus" else {"k": k, "epsilon": 0.1}
        strategy = dataclasses.replace(JOINING[name], **changes)
        n, most = int(sizes[0]), int(sizes[-1])
        for size in sizes.tolist():
            ranked = sorted(range(size), key=lambda arm: order[arm])
            levels = SHARED[name](size, k)
            for statement in needed(name, ranked, k):
                first.setdefault(statement, levels[statement[0]])
                reserved[statement] = level_reserved(name, statement[0], k, n, most)
            assert sum(levels[x[0]] for x in needed(name, ranked, k)) <= 1  # each stage by itself
        costs = [strategy.cost_of_joining(a, b) for a, b in pairwise(sizes.tolist())]
        total = float(sum(first.values()))
        assert total <= 1 + sum(costs) + 1e-12
        largest = max(largest, total - sum(costs))
        assert sum(reserved.values()) <= 1
    assert largest == pytest.approx(1) or name == "TopTwo"  # it is no more than is needed


def test_without_a_tolerance_new_neighbours_are_what_a_join_costs():
    """The same for TopTwo with epsilon 0: neighbours share 0.9 delta, all other pairs the rest."""
    rng, strategy = RNG(7), topk.TopTwo(1, 0.0, 0.05)
    for _ in range(200):
        sizes = np.cumsum(rng.integers(1, 4, int(rng.integers(2, 6)))) + 1
        order, first = rng.permutation(sizes[-1]), {}
        for n in sizes.tolist():
            ranked = sorted(range(n), key=lambda arm: order[arm])
            assert n < 3 or pair_multiplier(n, 1, 0.0, 1) == 5 * (n - 1) * (n - 2)
            assert pair_multiplier(n, 1, 0.0, 0) == pytest.approx((n - 1) / 0.9)
            for i, arm in enumerate(ranked):
                for j in range(i + 1, n):
                    level = 0.9 / (n - 1) if j == i + 1 else 0.2 / ((n - 1) * (n - 2))
                    first.setdefault((arm, ranked[j]), level)
                    assert level <= first[arm, ranked[j]] + 1e-12  # levels only fall
        costs = [strategy.cost_of_joining(a, b) for a, b in pairwise(sizes.tolist())]
        assert sum(first.values()) <= 1 + sum(costs) + 1e-12


def level_reserved(name, kind, k, n, most):
    """Return the level of a statement where ``most`` arms are reserved for."""
    if name == "LUCB1":
        return Fraction(1, most + (most - n))
    if name == "LUCBPlusPlus":
        return Fraction(1, 2 * (most - k) if kind == "low" else 2 * (k + most - n))
    return Fraction(1, pair_count(most, k)) if name == "TopTwo" else SHARED[name](most, k)[kind]


def test_the_rules_have_the_reserved_levels():
    """Of the tests above, read off the constants of the rules."""
    for name, parts in {"KLLUCB": 2, "LUCB1": 1.25, "TopTwo": 1}.items():
        session = JOINING[name].start(4, most_arms=9)
        kind = {"KLLUCB": "interval", "LUCB1": "low", "TopTwo": "pair"}[name]
        level = 0.05 * float(level_reserved(name, kind, 2, 4, 9))
        later = session.observe(range(4), [1, 1, 0, 0]).with_arms(3)
        for s in (session.engine.s, later.engine.s):
            found = s.now.log_ratio if name == "TopTwo" else s.log_ratio
            assert found == pytest.approx(math.log(parts / level))
    from topk.strategies.lucb_plus_plus import log_part

    s = JOINING["LUCBPlusPlus"].start(4, most_arms=9).engine.s
    assert s.log_below == log_part(0.05 * float(level_reserved("LUCBPlusPlus", "low", 2, 4, 9)))
    assert s.log_above == log_part(0.05 * float(level_reserved("LUCBPlusPlus", "high", 2, 4, 9)))


def test_a_study_that_its_first_certificate_ends_may_need_the_larger_error():
    """Two stages, exactly: intervals whose failures exclude each other, which no bound can forbid.

    The certificate of the first stage is wrong where an interval of the first n arms fails, and
    otherwise the study goes on to the second: each stage errs with at most delta, both together
    with delta (1 + m/n').  A point u of [0, 1) stands for a course of the world.
    """
    delta, n, m = Fraction(1, 10), 3, 2
    share, later = delta / n, delta / (n + m)
    own = [(i * share, (i + 1) * share) for i in range(n)]  # where interval i fails, at its level
    own += [(delta + i * later, delta + (i + 1) * later) for i in range(m)]
    second = [(low, low + later) for low, _ in own]  # at the level of the second stage
    assert all(c >= a and d <= b for (a, b), (c, d) in zip(own, second, strict=True))
    stage_1 = sum(b - a for a, b in own[:n])
    stage_2 = sum(b - a for a, b in second)
    both = stage_1 + sum(b - a for a, b in second[n:])  # the events exclude each other
    strategy = topk.KLLUCB(1, 0.1, 0.1, levels="arms")
    cost = Fraction(strategy.cost_of_joining(n, n + m)).limit_denominator(1000)
    assert stage_1 == stage_2 == delta
    assert both == delta * (1 + cost) > delta
    assert n * (delta / (n + m)) + m * (delta / (n + m)) == delta  # with most_arms = n + m


# What is refused


def refused(session, names, message):
    """Add arms in vain: a ValueError that says why, and the session as it was."""
    before = shown(session)
    with pytest.raises(ValueError, match=message):
        session.with_arms(names)
    assert shown(session) == before


FIXED = [e for e in ENTRIES if e.strategy not in {type(x) for x in JOINING.values()}]


@pytest.mark.parametrize("entry", FIXED, ids=lambda e: e.name)
def test_others_refuse_and_say_why(entry):
    layout = (2, 3) if entry.several else 5
    strategy = entry.draw(RNG(3), layout, 2)
    why = "divides a budget among the initial arms"
    if not hasattr(strategy, "budget"):
        why = r"does not say how \(see joins_by of topk.Strategy\)"
    elif strategy.certifies:
        why = "needs fresh rewards in each round"
    if entry.several:
        why = "samples several bandits"
    told = f"names: no arm can join {entry.strategy.__name__}, which {why}; start a new session"
    refused(strategy.start(layout), 1, told)
    with pytest.raises(ValueError, match=f"most_arms must be left out: .*{why}"):
        strategy.start(layout, most_arms=9)


def test_a_rule_of_ones_own_refuses():
    refused(Doubling(1, 50).start(3), 1, "Doubling, which divides a budget")
    with pytest.raises(ValueError, match="most_arms must be left out"):
        topk.Uniform(1, 50).start(3, most_arms=5)


def test_names_are_checked():
    session = topk.KLLUCB(1, 0.1, 0.1).start(["a", "b"])
    for names in ("a", ["c", "c"], ["c", "b"], [], [3], 3, None, [None], ["c", 3]):
        refused(session, names, "names must be one new str or several, each once, none of the")
    session.observe(["a", "b"], [1, 0]).with_arms(["c"]).withdraw("c")
    gone = session.with_arms(["c"]).withdraw("c")
    refused(gone, "c", "names must be one new str")  # who left stays away
    assert session.with_arms(("c", "d")).names == ["a", "b", "c", "d"]
    assert topk.KLLUCB(1, 0.1, 0.1).start([7, 9]).with_arms(np.array([8])).names == [7, 9, 8]
    numbered = topk.KLLUCB(1, 0.1, 0.1).start(3)
    for names in (0, -1, "a", ["a"], True, 1.5, None):
        refused(numbered, names, "names must be the number of new arms")
    for most in (2, 0, "9", 3.5, True):
        with pytest.raises(ValueError, match="most_arms must be an integer of at least 3"):
            topk.KLLUCB(1, 0.1, 0.1).start(3, most_arms=most)


@pytest.mark.parametrize("name", ["KLLUCB", "UGapEc, variance", "Racing"])
def test_a_budget_must_have_first_pulls_left(name):
    strategy = type(JOINING[name])(**{**vars(JOINING[name]), "budget": 20})
    session = answer(strategy.start(4), RNG(0), 2)
    left = 20 - session.pulls.sum() - session.ask()[1].sum()
    first = strategy.initial_pulls
    most = left // first if name != "Racing" else left - 4
    assert session.with_arms(int(most)).n == 4 + most
    refused(session, int(most) + 1, r"more arm\(s\) need \d+ pulls first, and budget = 20 has")
    joined = answer(session.with_arms(int(most)), RNG(1), 10**6)
    assert joined.done and joined.pulls.sum() <= 20 and joined.selected.size == 2
    refused(joined, 1, "has 0 left") if joined.stopped == "budget" else None


@pytest.mark.parametrize(("strategy", "before", "after", "match"), [
    (topk.LUCB1(1, 0.1, 0.05), 4, 3, "after must be an integer of at least 4"),
    (topk.TopTwo(1, 0, 0.05), 0, 0, "before must be an integer of at least 2"),
    (topk.LUCB1(3, 0.1, 0.05), 3, 5, "before must be an integer of at least 4"),
    (topk.LUCBPlusPlus(1, 0.05), 3, 2.5, "after must be an integer"),
    (topk.SAR(1, 40), 2, 4, "must be one that arms can join"),
])
def test_the_cost_of_a_join_that_cannot_be_is_refused(strategy, before, after, match):
    with pytest.raises(ValueError, match=match):
        strategy.cost_of_joining(before, after)
