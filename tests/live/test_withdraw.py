"""Withdrawn arms: never chosen, never requested, and without effect on the rest of the run."""

import copy
import dataclasses
import json
import math
import re
from collections import Counter

import numpy as np
import pytest
from strategies.plain import Doubling
from strategies.registry import ENTRIES, cases, numbers, shown, start, sweep

import topk
from topk.rules.base import ACCEPTED, ACTIVE, REJECTED

RULED = [e for e in ENTRIES if issubclass(e.strategy, (topk.Rounds, topk.Indices))]
each_strategy = sweep(RULED)


def drawn(entry, n, k, number=3):
    """Return the layout of n arms (in each of two bandits) and strategies of drawn parameters."""
    layout = entry.layout(n)
    rng = np.random.default_rng([n, k])
    return layout, [entry.draw(rng, layout, k) for _ in range(number * (k <= entry.most_k(n)))]


def refused(session, arm, message):
    """Withdrawing the arm raises a ValueError with the reason, and changes nothing."""
    before = shown(session)
    with pytest.raises(ValueError, match=message):
        session.withdraw(arm)
    assert shown(session) == before


def tell(session, means, arms=None):
    """Tell each arm's mean as all of its rewards: of ``arms``, or of the whole batch."""
    wanted, counts = session.ask()
    told = np.isin(wanted, wanted if arms is None else arms)
    wanted, counts = wanted[told], counts[told]
    rewards = np.asarray(means, dtype=float).ravel()[wanted]
    session.tell(wanted, sums=counts * rewards, counts=counts, squares=counts * rewards**2)
    return session


def play(session, means, batches=10**6):
    """Tell whole batches of constant rewards to the end; return the batches' counts."""
    asked = []
    while not session.done and len(asked) < batches:
        arms, counts = session.ask()
        assert arms.size and (counts > 0).all(), "a session that is not done asks for something"
        asked.append(dict(zip(arms.tolist(), counts.tolist(), strict=True)))
        tell(session, means)
    return asked


def best(means, k, gone=()):
    """Return the k arms (of each bandit) with the largest means but for those that are gone."""
    means = np.array(means, dtype=float)
    means.flat[list(gone)] = -1
    return np.sort(np.argsort(-means, axis=-1, kind="stable")[..., :k]).tolist()


# Random interleavings


def wander(strategy, bandit, rng, worth):
    """Play with portions, withdrawals and resumptions in random order, checking all the way.

    A reward is 0 or ``worth``.  A twin is never stored and resumed, and is always shown the same.
    """
    n, layout = bandit.n, bandit.layout
    k = strategy.k * (layout[0] if strategy.several else 1)  # in all
    most = getattr(strategy, "budget", None)
    session, twin, happened = start(strategy, layout), start(strategy, layout), Counter()
    eager = rng.choice([0.1, 0.3, 0.6])
    while not session.done:
        arms, counts = session.ask()
        assert arms.size and (counts > 0).all(), "a session that is not done asks for something"
        assert not set(arms.tolist()) & set(session.withdrawn), "asks for an arm that left"
        assert most is None or session.pulls.sum() + counts.sum() <= most
        chosen = session.selected
        if chosen is not None:
            assert len(set(numbers(chosen, layout))) == k
            assert not set(numbers(chosen, layout)) & set(session.withdrawn)
            if not strategy.several and session.pulls.sum() % 7 == 0:
                sums = np.nan_to_num(session.means) * session.pulls
                given, form = (session.pulls, sums, chosen, 0, session.withdrawn), {}
                if strategy.stops_by:
                    form["method"] = strategy.stops_by
                if strategy.uses_squares or not strategy.stops_by:
                    form["squares"] = sums * worth
                least = topk.confidence.evidence(*given, **form)
                if strategy.stops_by == "sides":  # the session knows who was settled
                    assert session.evidence(0.0) <= least * (1 + 1e-6)
                elif strategy.stops_by != "pairs":  # whose multiplier is smaller
                    assert session.evidence(0.0) == pytest.approx(least)
        here = [arm for arm in range(n) if arm not in session.withdrawn]
        if chosen is None:
            assert (session.pulls.flat[here] == 0).any(), "all arms that are left have a pull"
        if rng.random() < eager:
            leaves, before = int(rng.integers(n)), shown(session)
            try:
                assert session.withdraw(leaves) is session
            except ValueError as error:
                assert shown(session) == before
                assert re.match("arm: ", str(error))
                happened["refused"] += 1
            else:
                happened["left"] += leaves in here
                assert leaves in session.withdrawn
                assert leaves in here or shown(session) == before
                twin.withdraw(leaves)
        elif rng.random() < 0.1:
            session = topk.resume(json.loads(json.dumps(session.state())))
            assert shown(session) == shown(twin)
            happened["resumed"] += 1
        else:
            part = counts
            if rng.random() < 0.5:
                j = int(rng.integers(arms.size))
                arms, part = arms[j : j + 1], rng.integers(1, counts[j : j + 1] + 1)
            sums = worth * bandit.pull(arms, part, rng).sums
            for one in (session, twin):
                one.tell(arms, sums=sums, counts=part, squares=worth * sums)
    assert shown(session) == shown(twin) == shown(topk.resume(session.state()))
    chosen = numbers(session.selected, layout)
    assert len(set(chosen)) == k and chosen == sorted(chosen)
    assert not set(chosen) & set(session.withdrawn)
    assert len(set(session.withdrawn)) == len(session.withdrawn) <= n - k
    assert most is None or session.pulls.sum() <= most
    assert session.stopped in ("rule", "budget") and session.ask()[0].size == 0
    refused(session, 0, "done")
    return happened


@sweep(ENTRIES)
def test_sessions_are_stored_and_arms_leave_at_any_moment(entry):
    happened = Counter()
    for number, (strategy, bandit, rng) in enumerate(cases(entry, 60, 21, sizes=(3, 4, 6))):
        if strategy.k < bandit.means.shape[-1]:
            happened += wander(strategy, bandit, rng, worth=[1.0, 0.3][number % 2])
    assert happened["left"] > 20 or entry not in RULED, happened
    assert happened["refused"] > 5 and happened["resumed"] > 5, happened


# Refused calls, and calls without effect


@pytest.mark.parametrize("entry", [RULED[0], RULED[-1]], ids=lambda e: e.name)
def test_invalid_arms_are_refused_and_late_rewards_of_withdrawn_arms_are_counted(entry):
    session = start(entry.draw(np.random.default_rng(0), 6, 2), 6)
    for arm in (-1, 6, 2**70, 1.0, 0.5, math.nan, "1", None, True, [1], (), np.array([1, 2])):
        refused(session, arm, "arm")
    session.withdraw(np.int64(5))
    assert session.withdrawn == [5] and type(session.withdrawn[0]) is int
    before, twin = shown(session), copy.deepcopy(session).tell([0], [1.0])
    with pytest.raises(ValueError, match="rewards"):
        session.tell([0, 5], [1.0, 1.5])
    assert shown(session) == before
    session.tell([0, 5, 5], [1.0, 1.0, 0.0])  # late ones are counted, and nothing to the rule
    assert session.pulls[5] == session.surplus[5] == 2 and session.means[5] == 0.5
    assert [x.tolist() for x in session.ask()] == [x.tolist() for x in twin.ask()]
    assert shown(topk.resume(session.state())) == shown(session)


@each_strategy
def test_fewer_than_k_arms_are_never_left(entry):
    """All arms but k (of a bandit) can leave before the first reward; one more is refused."""
    for n, k in [(4, 2), (5, 4), (6, 1), (9, 2), (2, 1)]:
        layout, strategies = drawn(entry, n, k)
        for strategy in strategies:
            for backwards in (False, True):
                session = start(strategy, layout)
                order = range(session.means.size)[:: -1 if backwards else 1]  # from the last bandit
                *leaving, last = order[: n - k + 1]
                for arm in leaving:
                    assert not session.done, strategy
                    session.withdraw(arm)
                refused(session, last, f"fewer than k = {k}")
                means = np.resize(np.linspace(0.1, 0.9, n), session.means.shape)
                assert play(session, means), strategy
                assert session.selected.tolist() == best(means, k, leaving), strategy


def filed(session):
    """Return the arms that are accepted, undecided and rejected, looking inside."""
    status = session.engine.s.status
    return [np.flatnonzero(status == side).tolist() for side in (ACCEPTED, ACTIVE, REJECTED)]


@each_strategy
def test_settled_arms_stay_settled(entry):
    """Withdrawing a rejected arm has no effect; accepted arms cannot be withdrawn."""
    seen = Counter()
    for n, k in [(8, 2), (9, 3), (8, 6), (6, 1), (8, 4)]:
        layout, strategies = drawn(entry, n, k, number=6)
        for strategy in strategies:
            session, before = start(strategy, layout), None
            means = np.resize([*np.linspace(0.02, 0.4, n - 1), 0.98], session.means.shape)
            while not session.done and session.pulls.sum() < 8000:
                if filed(session) == before:
                    tell(session, means)
                    continue
                accepted, undecided, rejected = before = filed(session)
                seen["accepted"] += len(accepted)
                seen["rejected"] += len(rejected)
                for arm in accepted:
                    refused(session, arm, "it has been accepted")
                if rejected:
                    shadow, twin = copy.deepcopy(session), copy.deepcopy(session)
                    for arm in rejected:
                        shadow.withdraw(arm)
                    assert shadow.withdrawn == rejected and filed(shadow) == before
                    assert play(shadow, means, batches=99) == play(twin, means, batches=99)
                    assert shadow.selected.tolist() == twin.selected.tolist()
                    assert shadow.stopped == twin.stopped
                tell(session, means)
    assert {kind for kind in ("accepted", "rejected") if seen[kind]} == {*entry.settles}


@pytest.mark.parametrize("kind", [topk.LUCB1, topk.KLLUCB])
def test_the_other_of_a_pair_is_handed_out_alone(kind):
    session = kind(1, epsilon=0.1, delta=0.1).start(3).tell([0, 1, 2], [0.6, 0.5, 0.1])
    gone, _ = session.ask()[0].tolist()
    assert gone not in session.withdraw(gone).ask(5)[0]


def test_a_strategy_of_ones_own_must_say_how_to_go_on():
    session = Doubling(2, budget=100).start(5)
    refused(session, 1, "Doubling does not say how to go on without an arm")


@each_strategy
def test_pulls_of_an_arm_that_left_are_counted_but_its_rewards_are_forgotten(entry):
    """Of two plays that differ in what an arm answered before it left, all else is equal."""
    layout, strategies = drawn(entry, 7, 1 if entry.several else 2)
    for strategy in strategies:
        ends = []
        for reward in (0.0, 0.5, 1.0):
            session = start(strategy, layout)
            means = np.resize([0.1, 0.9, 0.2, 0.8, 0.3, 0.4, 0.5], session.means.shape)
            tell(session, means, arms=[1, 3, 6])
            session.tell(4, reward)
            session.withdraw(4).withdraw(2)  # the second has not been told
            assert session.pulls.flat[4] == 1 and session.means.flat[4] == reward
            asked = play(session, means)
            ends.append((asked, session.selected.tolist(), session.pulls.tolist(), session.stopped))
        assert ends[0] == ends[1] == ends[2]
        assert ends[0][1] == best(means, strategy.k) and session.pulls.flat[4] == 1


# What the theory says


def fewer(strategy, n):
    """Return the strategy that treats n - 1 arms as ``strategy`` treats n: delta is shared."""
    if isinstance(strategy, (topk.Halving, topk.ImprovedTopK)) or not hasattr(strategy, "delta"):
        return strategy  # a union bound over k arms, or none
    return dataclasses.replace(strategy, delta=strategy.delta * (n - 1) / n)


def by_number(strategy):
    """Return whether decisions depend on n: round strategies with only a budget."""
    return issubclass(strategy, topk.Rounds) and "delta" not in strategy.__dataclass_fields__


# LUCBPlusPlus and rules by sides have levels that are shares of k and of n - k, TopTwo a reserve
SHARED = [e for e in RULED if not (e.several or by_number(e.strategy))
          and e.name not in ("LUCBPlusPlus", "KLLUCB", "BettingLUCB", "TopTwo")]


@sweep(SHARED)
def test_an_arm_that_left_at_once_is_one_arm_less_with_its_share_of_delta_unspent(entry):
    """n arms one of which leaves are n - 1 arms at (n - 1)/n of delta, pull by pull."""
    n, compared = 10, 0
    for seed, strategy in enumerate(drawn(entry, n, 3, number=10)[1]):
        if isinstance(strategy, topk.UGapEb) and strategy.a is None:
            continue  # a depends on n
        if isinstance(strategy, (topk.KLLUCB, topk.BettingLUCB)) and strategy.epsilon == 0:
            continue  # the floor counts the arms of the start
        if start(strategy, n).ask()[1].sum() == strategy.budget:
            continue  # a budget that cuts the first batch is spread over those who are in it
        gone = 3 * seed % n
        means, others = np.random.default_rng(seed).random(n), [*range(gone), *range(gone + 1, n)]
        session, smaller = start(strategy, n).withdraw(gone), start(fewer(strategy, n), n - 1)
        batches = [{others[arm]: count for arm, count in batch.items()}
                   for batch in play(smaller, means[others])]
        assert play(session, means) == batches
        assert session.selected.tolist() == [others[arm] for arm in smaller.selected]
        assert session.stopped == smaller.stopped
        compared += 1
    assert compared > 1


LEAST = [(kind(k, budget), n) for n, k in [(7, 2), (7, 4), (10, 1), (10, 8)]
         for kind in (topk.SAR, topk.SuccessiveRejects) for budget in (12, 40, 333)]
LEAST += [(topk.MultiBanditSAR(budget), (2, 4)) for budget in (12, 40, 333)]
LEAST += [(topk.Uniform(2, 23), 5), (topk.Uniform(1, 6), 6), (topk.Uniform(3, 700), 7)]
LEAST += [(topk.OptMAI(k, 40 * n, final=final), n) for n, k in [(5, 1), (9, 1), (9, 2), (13, 3)]
          for final in ("accept-reject", "uniform")]


@pytest.mark.parametrize("strategy, layout", LEAST, ids=str)
def test_an_arm_that_left_at_once_is_the_one_that_the_first_phase_rejects(strategy, layout):
    """The others are pulled as in the play in which it answers so badly that it goes first.

    OptMAI drops a quarter: for n = 1 modulo 4 one arm less of n - 1 arms than of n.
    """
    for seed in range(10):
        without, full = strategy.start(layout), strategy.start(layout)
        gone, rewards = seed % full.n, 0.6 + 0.4 * np.random.default_rng(seed).random(full.n)
        rewards[gone] = 0.0  # farther from the boundary than any other arm
        first, second = play(without.withdraw(gone), rewards), play(full, rewards)
        assert without.selected.tolist() == full.selected.tolist()
        del second[0][gone]
        if not isinstance(strategy, topk.OptMAI):
            assert first == second
        elif strategy.final == "accept-reject":
            assert first[1:] == second[1:]
        else:  # the last batch of this kind is all that is left
            assert [set(batch) for batch in first] == [set(batch) for batch in second]
