"""``start(..., withdrawals=)``: what is gained if no arm can leave, and the cost if arms can."""

import copy
import functools
import itertools
import math
import pickle
from collections import Counter
from fractions import Fraction

import numpy as np
import pytest

import topk
from topk.confidence.confidence import pair_multiplier
from topk.confidence.paired import BETS, WEIGHTS, set_count
from topk.rules.base import BY_RULE


def played(session, means, rng):
    """Play a session with 0/1 rewards to its end; evidence may not contradict a certificate."""
    while not session.done:
        arms, counts = session.ask()
        session.tell(arms, sums=rng.binomial(counts, means[arms]), counts=counts)
    assert session.certified and session.evidence() <= session.strategy.delta
    return session


# The mathematics


def names_wrong(false, left):
    """Return whether a set is named that does not consist of the best of the arms that are left.

    All true claims have reached the level, and some false ones.  The ranking is that of the
    numbers; a claim (a, b) says that a comes first.
    """
    named = [
        chosen for k in range(1, len(left)) for chosen in itertools.combinations(left, k)
        if all(a < b or (a, b) in false for a in chosen for b in left if b not in chosen)
    ]
    return any(chosen != tuple(left[: len(chosen)]) for chosen in named)


@pytest.mark.parametrize("n", [2, 3, 4, 5])
def test_the_count_of_neighbours_suffices_and_is_needed_while_all_arms_stay(n):
    """Each false claim reaches C/delta with probability delta/C, on some disjoint events."""
    arms, delta = [*range(n)], Fraction(1, 5)
    each = delta / set_count(n, 1, 0)
    false = [(b, a) for a, b in itertools.combinations(arms, 2)]
    assert sum(each * names_wrong({claim}, arms) for claim in false) == delta
    for events in itertools.combinations(false, 2):  # two claims reach it together
        alone = [{claim} for claim in false if claim not in events]
        wrong = each * sum(names_wrong(claims, arms) for claims in [{*events}, *alone])
        assert wrong <= delta
    for gone in arms[1:-1]:  # withdrawn by looking: others become neighbours, and C is too small
        left = [arm for arm in arms if arm != gone]
        claims = {(gone + 1, gone - 1)}
        assert not names_wrong(claims, arms) and names_wrong(claims, left)


def test_exact_probability_that_paired_bets_name_a_wrong_set():
    """Three equal models, one of which is right on each item: the ranking is that of labels.

    All sequences of 16 items are summed up by their counts and by the claims that have reached the
    level at some time.
    """
    delta, pairs = 0.5, [*itertools.permutations(range(3), 2)]
    table = topk.PairedBetting(1, 0, delta).start(3, items=16, withdrawals=0).engine.table
    assert table.count == 2 and table.level == pytest.approx(2 / delta)

    @functools.cache
    def reached(won, lost):
        return WEIGHTS @ ((1 + BETS) ** won * (1 - BETS) ** lost) >= table.level

    @functools.cache
    def is_wrong(claims):
        return any(
            all((a, b) in claims for a in chosen for b in range(3) if b not in chosen)
            for chosen in [(1,), (2,), (0, 2), (1, 2)]
        )

    now, wrong = {((0, 0, 0), frozenset()): 1.0}, 0.0
    for _ in range(16):
        later = Counter()
        for (counts, claims), probability in now.items():
            for model in range(3):
                more = tuple(x + (i == model) for i, x in enumerate(counts))
                found = claims | {(a, b) for a, b in pairs if reached(more[a], more[b])}
                later[more, found] += probability / 3
        wrong += sum(x for (_, claims), x in later.items() if is_wrong(claims))
        now = {key: x for key, x in later.items() if not is_wrong(key[1])}
    assert 0.01 < wrong <= delta


# Sessions of pairs


def test_the_multiplier_without_withdrawals():
    assert pair_multiplier(10, 3, 0.0, None) == 9 < pair_multiplier(10, 3, 0.0, 0) == 10
    assert pair_multiplier(10, 3, 0.1, None) == 21 < pair_multiplier(10, 3, 0.1, 0)


@pytest.mark.parametrize("epsilon", [0.0, 0.1])
def test_toptwo_certifies_earlier(epsilon):
    strategy, means = topk.TopTwo(2, epsilon, 0.1), np.array([0.9, 0.8, 0.2, 0.1])
    for seed in range(5):
        free, fixed = (
            played(strategy.start(4, rng=seed, **more), means, np.random.default_rng(seed))
            for more in ({}, {"withdrawals": 0})
        )
        assert fixed.pulls.sum() <= free.pulls.sum()
        again = strategy.start(4, withdrawals=0)
        again.observe(range(4), sums=free.means * free.pulls, counts=free.pulls)
        other = strategy.start(4).observe(range(4), sums=free.means * free.pulls, counts=free.pulls)
        assert again.evidence() <= other.evidence()


def test_evidence_is_nine_tenths_of_that_with_a_reserve():
    for method in (None, "pairs"):
        strategy = topk.TopTwo(1, 0, 0.05) if method is None else topk.Uniform(1, 10**6)
        found = []
        for withdrawals in (None, 0):
            session = strategy.start(3, method=method, withdrawals=withdrawals)
            session.observe([0, 1, 2], sums=[60, 30, 20], counts=[100, 100, 100])
            found.append(session.evidence())
        assert found[1] == pytest.approx(0.9 * found[0]) and found[0] < 0.5


def test_the_half_prior_is_for_counts_alone():
    """Pairs that use squares have bets in their capital, for which the half is not proved."""
    session = topk.Uniform(1, 10**6).start(3, method="pairs", withdrawals=0)
    session.observe([0, 1, 2], sums=[60, 30, 20], counts=[100, 100, 100])
    given = [100] * 3, [60, 30, 20], [0]
    plain = topk.confidence.evidence(*given, squares=[60, 30, 20])  # which counts three pairs
    assert session.evidence() == pytest.approx(plain * 2 / 3)


def test_pairedbetting_gives_all_of_delta_to_neighbours():
    strategy = topk.PairedBetting(2, 0, 0.05)
    free, fixed = (strategy.start(4, items=9, **x).engine.table for x in ({}, {"withdrawals": 0}))
    assert (free.count, fixed.count) == (3 / 0.9, 3)


SEALED = [
    topk.TopTwo(1, 0, 0.1).start(["a", "b", "c"], withdrawals=0, rng=1),
    topk.KLLUCB(1, 0, 0.1).start(["a", "b", "c"], withdrawals=0, method="pairs"),
    topk.PairedBetting(1, 0, 0.1).start(["a", "b", "c"], items=5, withdrawals=0),
    topk.BettingLUCB(1, 0, 0.1).start(["a", "b", "c"], items=5, withdrawals=0, rng=1),
]
names = [type(session.strategy).__name__ for session in SEALED]


@pytest.mark.parametrize("session", SEALED, ids=names)
def test_no_arm_leaves_or_joins_and_copies_know_it(session, tmp_path):
    session.save(tmp_path / "study.json", overwrite=True)
    for twin in (session, topk.load(tmp_path / "study.json"), topk.resume(session.state()),
                 pickle.loads(pickle.dumps(session)), copy.deepcopy(session)):
        before = twin.state()
        with pytest.raises(ValueError, match="^arm: .*withdrawals=0"):
            twin.withdraw("b")
        with pytest.raises(ValueError, match="^names: .*withdrawals=0"):
            twin.with_arms(["d"])
        assert twin.state() == before == session.state() and twin.withdrawals == 0
        assert twin.engine.strategy.withdrawals == 0


@pytest.mark.parametrize("start", [
    lambda: topk.TopTwo(1, 0, 0.1).start(3, withdrawals=1),
    lambda: topk.TopTwo(1, 0, 0.1).start(3, withdrawals=-1),
    lambda: topk.TopTwo(1, 0, 0.1).start(3, withdrawals=False),
    lambda: topk.TopTwo(1, 0, 0.1).start(3, withdrawals=0, most_arms=5),
    lambda: topk.KLLUCB(1, 0, 0.1).start(3, withdrawals=0),
    lambda: topk.KLLUCB(1, 0, 0.1).start(3, withdrawals=1, items=9),
    lambda: topk.Uniform(1, 30).start(3, withdrawals=0),
    lambda: topk.SAR(1, 30).start(3, withdrawals=2),
    lambda: topk.BettingLUCB(1, 0, 0.1).start(3, withdrawals=0),
    lambda: topk.BettingLUCB(1, 0, 0.1).start(3, withdrawals=1.5, items=9),
])
def test_refused_where_delta_does_not_depend_on_it(start):
    with pytest.raises(ValueError, match="^withdrawals must be "):
        start()


# Rows of a finite test set


def rows(rng, n, size):
    """Return nearly equal rows of grades."""
    return np.clip(rng.choice([0, 0.25, 1], (n, size)) + rng.normal(0, 0.02, (n, 1)), 0, 1)


def test_graded_rows_use_both_sides_if_arms_may_leave(tmp_path):
    strategy = topk.BettingLUCB(2, 0, 0.1)
    one, two = (strategy.start(4, items=60, rng=2, withdrawals=x) for x in (None, 3))
    levels = [session.engine.table.rows[0][0].level for session in (one, two)]
    assert levels == pytest.approx([math.log(4 / 0.1), math.log(8 / 0.1)])
    cells = rows(np.random.default_rng(0), 4, 60)
    for session in (one, two):
        arms, items = session.ask_cells(100)
        session.tell_cells(arms, items, cells[arms, items])
    assert two.evidence() == pytest.approx(min(2 * one.evidence(), 1))
    table = two.engine.table
    low, high = table.intervals(0.1)  # at the same level, from the cells that are known now
    assert (low <= table.ends[0] + 1e-4).all() and (table.ends[1] <= high + 1e-4).all()
    with pytest.raises(ValueError, match="withdrawals="):
        one.withdraw(0)
    two.withdraw(1)
    two.save(tmp_path / "study.json")
    again = topk.load(tmp_path / "study.json")
    assert again.withdrawals == 3 and again.withdrawn == [1]
    assert again.state() == two.state() and again.evidence() == two.evidence()
    with pytest.raises(ValueError, match="^names: .*withdrawals=3"):
        two.with_arms(1)
    assert again.withdraw(2).certified and again.selected.tolist() == [0, 3]  # all that are left
    assert again.evidence() == 0 and again.summary() and not again.report().undecided_with.any()
    with pytest.raises(ValueError, match="^arm: "):
        again.withdraw(0)
    with pytest.raises(ValueError, match="fewer than k = 2"):
        strategy.start(3, items=9, withdrawals=3).withdraw(0).withdraw(1)
    with pytest.raises(ValueError, match="^arm: .*withdrawals=1"):
        strategy.start(5, items=9, withdrawals=1).withdraw(0).withdraw(1)


def test_withdrawals_by_looking_keep_delta():
    """The leader leaves now and then; of 100 plays at delta = 1/2 at most 75 may be wrong.

    More have a probability below 3e-7.
    """
    wrong = left = 0
    strategy = topk.BettingLUCB(1, 0, 0.5)
    for seed in range(100):
        rng = np.random.default_rng(seed)
        cells = rng.permuted(rows(rng, 4, 12), axis=1)
        state = strategy.start(4, items=12, withdrawals=2).engine
        arms, counts = np.empty((2, 4), dtype=np.int64)
        while m := state.ask(arms, counts):
            asked = arms[:m].tolist()
            state.extend([(a, cells[a, [state.table.size[a]]]) for a in asked])
            if not state.ended and state.active.sum() > 2 and rng.random() < 0.2:
                state.withdraw(int(state.table.chosen()[0]))
                left += 1
        assert state.ended == BY_RULE and state.table.evidence(0.0) <= 0.5
        means = cells.mean(axis=1)
        wrong += means[state.table.chosen()[0]] < means[state.active].max() - 1e-9
    assert wrong <= 75 and left > 50


def test_a_pair_that_is_left_with_k_models_is_certified():
    session = topk.PairedBetting(1, 0, 0.1).start(2, items=5)
    session.tell_cells([0, 1], [0, 0], [1, 0])
    session.withdraw(0)
    assert session.certified and session.selected.tolist() == [1] and session.evidence() == 0
