"""Arms that leave: never chosen, never asked for, and no harm to the rest of the play."""

import copy
import json
import math
import re
from collections import Counter

import numpy as np
import pytest
from strategies.plain import BigBatches, Doubling
from strategies.registry import ENTRIES, cases, numbers

import topk

BUILT_IN = [entry for entry in ENTRIES if entry.strategy not in (Doubling, BigBatches)]
each_strategy = pytest.mark.parametrize("entry", BUILT_IN, ids=lambda e: e.name)


def kept(session):
    """Return a comparable picture of everything a session is."""
    return json.dumps(session.state()), [x.tolist() for x in session.bounds()], repr(session.means)


def refused(session, arm, message):
    """Withdraw an arm in vain: a ValueError that says why, and nothing else."""
    before = kept(session)
    with pytest.raises(ValueError, match=message):
        session.withdraw(arm)
    assert kept(session) == before
    assert session.withdrawn == json.loads(before[0])["withdrawn"]


def tell(session, means, arms=None):
    """Tell each arm's mean as all of its rewards: of ``arms``, or of the whole batch."""
    wanted, counts = session.ask()
    told = np.isin(wanted, wanted if arms is None else arms)
    wanted, counts = wanted[told], counts[told]
    rewards = np.asarray(means, dtype=float).ravel()[wanted]
    session.tell(wanted, counts * rewards, counts=counts, squares=counts * rewards**2)
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


def best(means, k, among):
    """Return the k arms with the largest means, ties to the lower index."""
    return sorted(sorted(among, key=lambda arm: (-means[arm], arm))[:k])


def strategies(n, k):
    """Return strategies of every kind whose plays are short."""
    return with_others([
        topk.Uniform(k, budget=20 * n + 3),
        topk.SuccessiveRejects(k, budget=40 * n),
        topk.SAR(k, budget=40 * n),
        topk.OptMAI(k, budget=40 * n),
        topk.OptMAI(k, budget=40 * n, reuse=False),
        topk.OptMAI(k, budget=40 * n, final="uniform"),
        topk.Racing(k, epsilon=0.3, delta=0.3),
        topk.Racing(k, epsilon=0.0, delta=0.3, budget=50 * n),
        topk.Halving(k, epsilon=0.9, delta=0.5),
        topk.Halving(k, epsilon=0.9, delta=0.5, budget=30 * n),
        topk.AdaptiveTopK(k, epsilon=0.3, delta=0.5),
        topk.AdaptiveTopK(k, epsilon=0.0, delta=0.5, pull_scale=0.1, budget=100 * n),
        topk.ImprovedTopK(k, epsilon=0.3, delta=0.5),
        topk.ImprovedTopK(k, epsilon=0.1, delta=0.5, budget=1000 * n),
        topk.LUCB1(k, epsilon=0.3, delta=0.3),
        topk.LUCB1(k, epsilon=0.0, delta=0.3, budget=20 * n),
        topk.LUCB1(k, epsilon=0.9, delta=0.3, guard=True),
        topk.GapE(k, budget=20 * n, complexity=10.0 * n),
        topk.UGapEb(k, budget=20 * n, epsilon=0.1),
        topk.UGapEb(k, budget=20 * n, epsilon=0.1, a=2.0),
        topk.UGapEc(k, epsilon=0.3, delta=0.3),
        topk.UGapEc(k, epsilon=0.0, delta=0.3, budget=20 * n),
        topk.UGapEb(k, budget=20 * n, epsilon=0.1, variance=True),
        topk.UGapEb(k, budget=20 * n, epsilon=0.1, a=0.5, variance=True),
        topk.UGapEc(k, epsilon=0.9, delta=0.3, variance=True),
        topk.UGapEc(k, epsilon=0.0, delta=0.3, budget=20 * n, variance=True),
        topk.CLUCB(k, delta=0.3, budget=20 * n),
        topk.CLUCBPAC(k, epsilon=0.3, delta=0.3),
    ], n, k)


def with_others(listed, n, k):
    """Return the list and, of every other strategy of the registry, one with drawn parameters."""
    known, rng = {type(strategy) for strategy in listed}, np.random.default_rng([n, k])
    others = [e for e in BUILT_IN if not e.several and e.strategy not in known]
    return listed + [entry.draw(rng, n, k) for entry in others]


def for_several(n, k):
    """Return strategies for two bandits of n arms whose plays are short."""
    for_the_best = [
        topk.MultiBanditSAR(budget=80 * n),
        topk.MultiBanditGapE(budget=40 * n, complexity=20.0 * n),
    ]
    return [
        *(for_the_best if k == 1 else []),
        topk.MultiBanditUGapEb(k, budget=40 * n, epsilon=0.1),
        topk.MultiBanditUGapEb(k, budget=40 * n, epsilon=0.1, a=2.0),
        topk.MultiBanditUGapEc(k, epsilon=0.3, delta=0.3),
        topk.MultiBanditUGapEc(k, epsilon=0.0, delta=0.3, budget=40 * n),
    ]


def test_every_strategy_of_the_library_is_among_those_tested_here():
    found = {type(strategy) for strategy in [*strategies(6, 2), *for_several(3, 1)]}
    assert found >= {entry.strategy for entry in BUILT_IN}


# Random interleavings


def wander(strategy, bandit, rng):
    """Play with portions, withdrawals and resumptions in random order, checking all the way."""
    n, layout = bandit.n, bandit.layout
    k = strategy.k * (layout[0] if strategy.several else 1)  # in all
    most = getattr(strategy, "budget", None)
    session, happened = strategy.start(layout), Counter()
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
        here = [arm for arm in range(n) if arm not in session.withdrawn]
        if chosen is None:
            assert (session.pulls.flat[here] == 0).any(), "all arms that are left have a pull"
        if rng.random() < eager:
            leaves, before = int(rng.integers(n)), kept(session)
            try:
                session.withdraw(leaves)
            except ValueError as error:
                assert kept(session) == before
                assert re.match("arm: ", str(error))
                happened["refused"] += 1
            else:
                happened["left"] += leaves in here
                assert leaves in session.withdrawn
        elif rng.random() < 0.1:
            session = topk.resume(json.loads(json.dumps(session.state())))
        elif rng.random() < 0.5:
            j = int(rng.integers(arms.size))
            part = int(rng.integers(1, counts[j] + 1))
            sums = bandit.pull(arms[j : j + 1], [part], rng).sums
            session.tell(arms[j : j + 1], sums, counts=[part], squares=sums)
        else:
            sums = bandit.pull(arms, counts, rng).sums
            session.tell(arms, sums, counts=counts, squares=sums)
    chosen = numbers(session.selected, layout)
    assert len(set(chosen)) == k and chosen == sorted(chosen)
    assert not set(chosen) & set(session.withdrawn)
    assert len(set(session.withdrawn)) == len(session.withdrawn) <= n - k
    assert most is None or session.pulls.sum() <= most
    assert session.stopped in ("rule", "budget") and session.ask()[0].size == 0
    refused(session, 0, "done")
    return happened


@each_strategy
def test_arms_may_leave_at_any_moment(entry):
    happened = Counter()
    for strategy, bandit, rng in cases(entry, 100, seed=21, sizes=(3, 4, 6, 9)):
        if strategy.k < bandit.means.shape[-1]:
            happened += wander(strategy, bandit, rng)
    assert happened["left"] > 50 and happened["refused"] > 20, happened


# What is refused, and what is nothing


@pytest.mark.parametrize("strategy", strategies(6, 2), ids=repr)
def test_what_is_no_arm_is_refused(strategy):
    session = strategy.start(6)
    for arm in (-1, 6, 2**70, 1.0, 0.5, math.nan, "1", None, True, [1], (), np.array([1, 2])):
        refused(session, arm, "arm")
    session.withdraw(np.int64(5))
    assert session.withdrawn == [5] and type(session.withdrawn[0]) is int
    assert only(json.loads(json.dumps(session.state()))["withdrawn"]) == 5


def only(values):
    """Return the only entry of a list."""
    assert len(values) == 1
    return values[0]


@pytest.mark.parametrize("n, k", [(4, 2), (5, 2), (5, 4), (6, 1), (9, 2), (2, 1)])
def test_fewer_than_k_arms_are_never_left(n, k):
    """All arms but k can leave before the first reward; one more is refused."""
    for strategy in strategies(n, k):
        for order in (range(n), reversed(range(n))):
            session = strategy.start(n)
            *leaving, last = list(order)[: n - k + 1]
            for arm in leaving:
                assert not session.done, strategy
                session.withdraw(arm)
            refused(session, last, f"fewer than k = {k}|settled")
            left = sorted(set(range(n)) - set(leaving))
            assert play(session, np.linspace(0, 1, n)), strategy
            assert session.selected.tolist() == left, strategy


@pytest.mark.parametrize("n, k", [(5, 2), (6, 4), (9, 2), (12, 3)])
def test_an_arm_that_left_before_leaves_no_second_time(n, k):
    for strategy in strategies(n, k):
        session = strategy.start(n).withdraw(1)
        tell(session, np.linspace(0, 1, n), arms=[0, 2])
        before = kept(session)
        assert session.withdraw(1) is session
        assert kept(session) == before


def filed(session):
    """Return the arms that are accepted, undecided and rejected, looking inside."""
    status = session._play.s.status
    return [np.flatnonzero(status == side).tolist() for side in (1, 0, -1)]


@pytest.mark.parametrize("n, k", [(8, 2), (9, 3), (8, 6), (13, 3)])
def test_what_is_settled_stays_settled(n, k):
    """Rejected arms leave without a trace; accepted arms cannot leave."""
    means, seen = np.linspace(0.02, 0.4, n), Counter()
    means[-1] = 0.98  # one arm that is soon accepted
    for strategy in [*strategies(n, k), topk.Racing(k, epsilon=0.02, delta=0.3)]:
        name, session, before = type(strategy).__name__, strategy.start(n), None
        while not session.done and session.pulls.sum() < 8000:
            if filed(session) == before:
                tell(session, means)
                continue
            accepted, undecided, rejected = before = filed(session)
            for arm in accepted:
                refused(session, arm, f"{arm} has been (accepted|settled)")
                seen[name, "accepted"] += 1
            if rejected:
                shadow = copy.deepcopy(session)
                for arm in rejected:
                    shadow.withdraw(arm)
                    seen[name, "rejected"] += 1
                assert shadow.withdrawn == rejected
                assert filed(shadow) == [accepted, undecided, rejected]
                twin = copy.deepcopy(session)
                assert play(shadow, means, batches=99) == play(twin, means, batches=99)
                assert shadow.selected.tolist() == twin.selected.tolist()
                assert shadow.stopped == twin.stopped
            tell(session, means)
    accepting = {"SAR", "OptMAI", "AdaptiveTopK", "ImprovedTopK", "Racing"}
    rejecting = accepting | {"SuccessiveRejects", "Halving"}
    accepted = {name for name, kind in seen if kind == "accepted"}
    rejected = {name for name, kind in seen if kind == "rejected"}
    # halving, with more than 4 times as many arms as are wanted, takes more pulls than this
    late = [{"ImprovedTopK"} if n > 4 * wanted else set() for wanted in (k, k - 1)]
    assert accepting - {"OptMAI"} - late[0] <= accepted <= accepting
    assert rejected <= rejecting and (k > n / 2 or rejecting - late[1] <= rejected)


def test_a_strategy_of_ones_own_must_say_how_to_go_on():
    session = Doubling(2, budget=100).start(5)
    refused(session, 1, "Doubling does not say how to go on without an arm")


# What happens to the batch that is open


@pytest.mark.parametrize("strategy", strategies(6, 2), ids=repr)
def test_the_last_arm_that_is_waited_for_closes_the_batch_by_leaving(strategy):
    means = [0.1, 0.9, 0.2, 0.8, 0.3, 0.4]
    session = strategy.start(6)
    tell(session, means, arms=[0, 1, 2, 3, 4])
    assert session.ask()[0].tolist() == [5]
    session.withdraw(5)
    arms, _ = session.ask()
    assert session.done or (arms.size and 5 not in arms)
    play(session, means)
    assert session.selected.tolist() == [1, 3]


@pytest.mark.parametrize("strategy", strategies(6, 2), ids=repr)
def test_what_is_outstanding_of_an_arm_that_left_is_not_taken(strategy):
    session = strategy.start(6)
    session.withdraw(2)
    arms, counts = session.ask()
    before = kept(session)
    with pytest.raises(ValueError, match="arms: 1 reward.* of arm 2 .*0 are wanted"):
        session.tell([0, 2], [1.0, 1.0])
    assert kept(session) == before
    assert arms.tolist() == [0, 1, 3, 4, 5] and session.ask()[1].tolist() == counts.tolist()


@pytest.mark.parametrize("strategy", strategies(7, 2), ids=repr)
def test_pulls_of_an_arm_that_left_are_counted_but_its_rewards_are_forgotten(strategy):
    """Of two plays that differ in what an arm answered before it left, all else is equal."""
    means, ends = [0.1, 0.9, 0.2, 0.8, 0.3, 0.4, 0.5], []
    for reward in (0.0, 0.5, 1.0):
        session = strategy.start(7)
        tell(session, means, arms=[1, 3, 6])
        session.tell(4, reward)
        session.withdraw(4)
        assert session.pulls[4] == 1 and session.means[4] == reward
        asked = play(session, means)
        ends.append((asked, session.selected.tolist(), session.pulls.tolist(), session.stopped))
    assert ends[0] == ends[1] == ends[2]
    assert ends[0][1] == [1, 3] and ends[0][2][4] == 1


# What the theory says


@pytest.mark.parametrize("n, k", [(5, 1), (6, 2), (6, 4), (9, 2), (12, 3), (12, 7)])
def test_without_noise_the_best_of_those_that_are_left_are_chosen(n, k):
    """Whoever leaves while the first batch is open, told or not, last of all or not."""
    rng = np.random.default_rng([n, k])
    for strategy in strategies(n, k):
        for _ in range(6):
            means, order = rng.permutation(np.linspace(0.05, 0.95, n)), rng.permutation(n)
            session, leaving = strategy.start(n), order[: rng.integers(1, n - k + 1)].tolist()
            for arm in leaving:
                # the last of the order stays and is not told: the batch remains open
                tell(session, means, arms=rng.choice(order[:-1], size=2))
                session.withdraw(arm)
            here = sorted(set(range(n)) - set(leaving))
            play(session, means)
            assert session.selected.tolist() == best(means, k, here), (strategy, means, leaving)


def noisy(session, seed, names):
    """Play with 0/1 rewards of the arms ``names``, the same for the same name; return all."""
    tapes = [np.random.default_rng([seed, name]) for name in names]
    asked = []
    while not session.done and len(asked) < 5000:
        arms, counts = session.ask()
        batch = list(zip(arms.tolist(), counts.tolist(), strict=True))
        asked.append([(names[arm], count) for arm, count in batch])
        sums = [(tapes[a].random(c) < 0.2 + 0.6 * names[a] / 12).sum() for a, c in batch]
        sums = np.array(sums, dtype=float)
        session.tell(arms, sums, counts=counts, squares=sums)
    assert session.done
    selected = [names[arm] for arm in session.selected]
    pulls = {names[arm]: count for arm, count in enumerate(session.pulls.tolist()) if count}
    return asked, selected, pulls, session.stopped


def fewer(strategy, n):
    """Return the strategy that treats n - 1 arms as ``strategy`` treats n: delta is shared."""
    if isinstance(strategy, (topk.Halving, topk.ImprovedTopK, topk.GapE, topk.UGapEb)):
        return strategy  # a union bound over k arms, or none
    parameters = {name: getattr(strategy, name) for name in strategy.__dataclass_fields__}
    return type(strategy)(**parameters | {"delta": strategy.delta * (n - 1) / n})


SHARED_DELTA = [
    topk.LUCB1(3, epsilon=0.2, delta=0.1),
    topk.LUCB1(3, epsilon=0.0, delta=0.1, budget=500),
    topk.Racing(3, epsilon=0.2, delta=0.1),
    topk.Racing(3, epsilon=0.0, delta=0.1, budget=1001),
    topk.Halving(3, epsilon=0.9, delta=0.1),
    topk.AdaptiveTopK(3, epsilon=0.3, delta=0.1),
    topk.AdaptiveTopK(3, epsilon=0.0, delta=0.1, pull_scale=0.01, budget=1001),
    topk.ImprovedTopK(3, epsilon=0.3, delta=0.1),
    topk.ImprovedTopK(2, epsilon=0.5, delta=0.1, budget=40_001),
    topk.GapE(3, budget=500, complexity=100.0),
    topk.UGapEb(3, budget=500, epsilon=0.1, a=2.0),
    topk.UGapEc(3, epsilon=0.2, delta=0.1),
    topk.UGapEb(3, budget=500, epsilon=0.1, a=0.5, variance=True),
    topk.UGapEc(3, epsilon=0.9, delta=0.1, variance=True),
    topk.CLUCB(3, delta=0.1, budget=500),
    topk.CLUCBPAC(3, epsilon=0.3, delta=0.1),
]


@pytest.mark.parametrize("strategy", SHARED_DELTA, ids=repr)
def test_an_arm_that_left_at_once_is_one_arm_less_with_its_share_of_delta_unspent(strategy):
    """n arms one of which leaves are n - 1 arms at (n - 1)/n of delta, pull by pull."""
    n = 10
    for seed in range(5):
        gone = 3 * seed % n
        others = [arm for arm in range(n) if arm != gone]
        session = strategy.start(n).withdraw(gone)
        smaller = fewer(strategy, n).start(n - 1)
        assert noisy(session, seed, list(range(n))) == noisy(smaller, seed, others)


@pytest.mark.parametrize("n, k", [(7, 2), (7, 4), (10, 1), (10, 8)])
@pytest.mark.parametrize("strategy", [topk.SAR, topk.SuccessiveRejects])
@pytest.mark.parametrize("budget", [12, 40, 333])
def test_an_arm_that_left_at_once_is_the_one_that_the_first_phase_rejects(strategy, n, k, budget):
    """The others are pulled as in the play in which it answers so badly that it goes first."""
    for seed in range(10):
        gone = seed % n
        rewards = 0.6 + 0.4 * np.random.default_rng(seed).random(n)
        rewards[gone] = 0.0  # farther from the boundary than any other arm
        without = strategy(k, budget).start(n).withdraw(gone)
        play(without, rewards)
        full = strategy(k, budget).start(n)
        play(full, rewards)
        assert without.selected.tolist() == full.selected.tolist()
        others = np.arange(n) != gone
        assert without.pulls[others].tolist() == full.pulls[others].tolist()
        assert without.pulls[gone] == 0


@pytest.mark.parametrize("n, k", [(5, 1), (9, 1), (9, 2), (13, 3)])
@pytest.mark.parametrize("final", ["accept-reject", "uniform"])
def test_an_arm_that_left_at_once_is_one_of_the_quarter_that_optmai_drops_first(n, k, final):
    """For n = 1 modulo 4 a quarter of n - 1 arms is one arm less than a quarter of n."""
    for seed in range(10):
        gone = seed % n
        rewards = 0.3 + 0.7 * np.random.default_rng(seed).random(n)
        rewards[gone] = 0.0
        without = topk.OptMAI(k, 40 * n, final=final).start(n).withdraw(gone)
        full = topk.OptMAI(k, 40 * n, final=final).start(n)
        first, second = play(without, rewards), play(full, rewards)
        assert [set(batch) for batch in first[1:]] == [set(batch) for batch in second[1:]]
        if final == "accept-reject":  # the last batch of the other kind is all that is left
            assert first[1:] == second[1:]
        assert without.selected.tolist() == full.selected.tolist()


@pytest.mark.parametrize("n, k", [(4, 2), (7, 4), (12, 9)])
def test_where_optmai_looks_for_the_worst_the_arm_that_left_is_one_of_them(n, k):
    session = topk.OptMAI(k, 40 * n).start(n)
    means = np.linspace(0.1, 0.9, n)
    session.withdraw(n - 1)  # the best
    play(session, means)
    assert session.selected.tolist() == best(means, k, range(n - 1))


@pytest.mark.parametrize("n, k, budget", [(5, 2, 23), (6, 1, 6), (7, 3, 700)])
def test_uniform_gives_the_others_what_they_would_have_had(n, k, budget):
    session = topk.Uniform(k, budget).start(n).withdraw(1)
    means = np.linspace(0.9, 0.1, n)
    tell(session, means)
    shares = np.array([budget // n + (arm < budget % n) for arm in range(n)])
    shares[1] = 0
    assert session.done and session.pulls.tolist() == shares.tolist()
    assert session.selected.tolist() == best(means, k, [0, *range(2, n)])


@pytest.mark.parametrize("strategy", [topk.LUCB1, topk.Racing])
def test_the_bounds_of_the_others_stay_what_they_are(strategy):
    """One arm less does not make the others' intervals narrower: delta was spent on n."""
    session = strategy(2, epsilon=0.1, delta=0.1).start(6)
    play(session, [0.1, 0.4, 0.9, 0.5, 0.8, 0.2], batches=3)
    before = session.bounds()
    session.withdraw(1)
    others = [0, 2, 3, 4, 5]
    for old, new in zip(before, session.bounds(), strict=True):
        assert old[others].tolist() == new[others].tolist()


def promise_kept(strategy, means, rng):
    """Play while arms leave at random; tell whether the certificate is true for the rest."""
    session = strategy.start(means.size)
    # told in advance, with no regard to rewards: who leaves, and after how many pulls in all
    plans = {int(arm): int(rng.integers(1, 400)) for arm in rng.permutation(means.size)[:3]}
    here = set(range(means.size))
    while not session.done:
        arms, counts = session.ask()
        session.tell(arms, rng.binomial(counts, means[arms]).astype(float), counts=counts)
        for arm, moment in list(plans.items()):
            if not session.done and session.pulls.sum() >= moment:
                session.withdraw(plans.pop(arm) and arm)
                here.discard(arm)
    assert session.certified
    worst = np.sort(means[list(here)])[-strategy.k]
    return set(session.selected.tolist()) <= here and (
        means[session.selected] >= worst - strategy.epsilon
    ).all()


@pytest.mark.parametrize(
    "strategy",
    [topk.LUCB1(2, epsilon=0.3, delta=0.1), topk.Racing(2, epsilon=0.3, delta=0.1)],
    ids=repr,
)
def test_a_certificate_holds_for_the_arms_that_are_left(strategy):
    means, rng = np.array([0.9, 0.85, 0.8, 0.5, 0.45, 0.1, 0.05]), np.random.default_rng(8)
    broken = sum(not promise_kept(strategy, means, rng) for _ in range(60))
    assert broken <= 6  # delta is 0.1; the bounds are conservative


# Several bandits


@pytest.mark.parametrize("k", [1, 2])
@pytest.mark.parametrize("n", [3, 5])
def test_k_arms_of_every_bandit_are_left(n, k):
    for strategy in for_several(n, k):
        session, leaving = strategy.start((2, n)), list(range(n + k, 2 * n))
        for arm in leaving:
            session.withdraw(arm)
        refused(session, n, f"fewer than k = {k}")
        session.withdraw(0)  # of the other bandit
        assert play(session, np.tile(np.linspace(0.1, 0.9, n), 2)), strategy
        assert session.selected.tolist() == [list(range(n - k, n)), list(range(k))], strategy


@pytest.mark.parametrize("n, k", [(4, 1), (5, 2)])
def test_without_noise_the_best_of_each_bandit_are_chosen_of_those_that_are_left(n, k):
    rng = np.random.default_rng([n, k])
    for strategy in for_several(n, k):
        for _ in range(6):
            means = rng.permutation(np.linspace(0.05, 0.95, 2 * n)).reshape(2, n)
            session, order = strategy.start((2, n)), rng.permutation(2 * n)
            leaving = [arm for arm in order if arm % n in (0, 1)][: rng.integers(1, 5)]
            leaving = leaving[: 2 * (n - k)] if k < n - 1 else leaving[:1]
            for arm in leaving:
                tell(session, means, arms=rng.choice(order[:-1], size=2))
                session.withdraw(arm)
            here = [[i for i in range(n) if m * n + i not in leaving] for m in range(2)]
            play(session, means)
            expected = [best(means[m], k, here[m]) for m in range(2)]
            assert session.selected.tolist() == expected, (strategy, means, leaving)


def test_multi_bandit_sar_keeps_what_it_has_accepted():
    session, means = topk.MultiBanditSAR(200).start((2, 3)), [0.9, 0.1, 0.2, 0.5, 0.51, 0.49]
    while not (session._play.s.status == 1).any():
        tell(session, means)
    refused(session, 0, "0 has been accepted")
    shadow = copy.deepcopy(session)
    shadow.withdraw(1)  # rejected before: nothing happens
    assert play(shadow, means) == play(session, means)
    assert shadow.selected.tolist() == session.selected.tolist() == [[0], [1]]


@pytest.mark.parametrize("budget", [12, 40, 333])
def test_an_arm_that_left_at_once_is_the_one_that_multi_bandit_sar_rejects_first(budget):
    for seed in range(10):
        gone = seed % 8
        rewards = 0.6 + 0.4 * np.random.default_rng(seed).random(8)
        rewards[gone] = 0.0
        without = topk.MultiBanditSAR(budget).start((2, 4)).withdraw(gone)
        play(without, rewards)
        full = topk.MultiBanditSAR(budget).start((2, 4))
        play(full, rewards)
        assert without.selected.tolist() == full.selected.tolist()
        others = np.arange(8) != gone
        assert without.pulls.flat[others].tolist() == full.pulls.flat[others].tolist()
        assert without.pulls.flat[gone] == 0
