"""``start(..., withdrawals=)``: what is gained if no arm can leave, and the cost if arms can."""

import copy
import itertools
import pickle
from fractions import Fraction

import numpy as np
import pytest

import topk
from topk.confidence.confidence import pair_multiplier
from topk.confidence.paired import set_count


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


SEALED = [
    topk.TopTwo(1, 0, 0.1).start(["a", "b", "c"], withdrawals=0, rng=1),
    topk.KLLUCB(1, 0, 0.1).start(["a", "b", "c"], withdrawals=0, method="pairs"),
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
        assert twin.engine.arms.withdrawals == 0


@pytest.mark.parametrize("start", [
    lambda: topk.TopTwo(1, 0, 0.1).start(3, withdrawals=1),
    lambda: topk.TopTwo(1, 0, 0.1).start(3, withdrawals=-1),
    lambda: topk.TopTwo(1, 0, 0.1).start(3, withdrawals=False),
    lambda: topk.TopTwo(1, 0, 0.1).start(3, withdrawals=0, most_arms=5),
    lambda: topk.KLLUCB(1, 0, 0.1).start(3, withdrawals=0),
    lambda: topk.Uniform(1, 30).start(3, withdrawals=0),
    lambda: topk.SAR(1, 30).start(3, withdrawals=2),
    lambda: topk.BettingLUCB(1, 0, 0.1).start(3, withdrawals=0),
])
def test_refused_where_delta_does_not_depend_on_it(start):
    with pytest.raises(ValueError, match="^withdrawals must be "):
        start()


