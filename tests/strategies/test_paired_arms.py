"""PairedBetting on independent arms: against plain transcriptions, in all forms and with holes."""

import math

import numpy as np
import pytest

import topk
from topk.confidence.paired import BETS, SLACK, WEIGHTS
from topk.confidence.race import Race
from topk.engine.streams import ORDER, order_from, stream
from topk.rules.base import RUNNING
from topk.simulate.buffer import BufferedBandit
from topk.simulate.play import Play
from topk.strategies.paired import PairedBetting

COINS = topk.BernoulliBandit([0.8, 0.65, 0.5, 0.35, 0.2])
SCORES = topk.BetaBandit([6, 5, 4, 3, 2], [4, 5, 6, 7, 8])


def rewards_of(bandit, seed, size):
    """Return the rewards that a run gets, (n, size), by the places of the arms in it."""
    order = order_from(stream(seed, 0, ORDER), bandit.layout)
    drawn = BufferedBandit(bandit, seed, 0)
    return order, np.array([drawn.rewards(arm, size) for arm in order.tolist()])


def e_of(gains):
    """Return the e-value of a claim after each of its gains, added up in the order of the bets."""
    capitals = np.cumprod(1 + np.multiply.outer(gains, BETS), axis=0)
    return np.add.accumulate(capitals * WEIGHTS, axis=1)[:, -1]


def transcribed_pairs(cells, k, epsilon, delta):
    """Return the arms that the rule pulls, one after the other."""
    n = len(cells)
    level = (k * (n - k) if epsilon else (n - 1) / 0.9) / delta * SLACK
    gains = cells[:, None] - cells + epsilon
    largest = np.array([[np.maximum.accumulate(np.append(1, e_of(g))) for g in row]
                        for row in gains])
    size, made = np.ones(n, dtype=int), [*range(n)]
    while True:
        means = [cells[a, : size[a]].sum() / size[a] for a in range(n)]
        order = sorted(range(n), key=lambda a: (-means[a], a))
        pairs = [(largest[a, b, min(size[a], size[b])], a, b)
                 for a in order[:k] for b in order[k:]]
        pairs = [pair for pair in pairs if pair[0] < level]
        if not pairs:
            return made, sorted(order[:k])
        least = int(size.argmin())
        late = sorted(x for _, a, b in pairs for x in (a, b) if size[x] < size.max() / 4)
        _, a, b = min(pairs, key=lambda pair: pair[0])
        arm = a if size[a] <= size[b] else b
        if size[least] < math.sqrt(size.sum() / n) / 2:
            arm = least
        elif late:
            arm = late[0]
        size[arm] += 1
        made.append(arm)


@pytest.mark.parametrize(("bandit", "k", "epsilon"), [
    (COINS, 2, 0.0), (COINS, 2, 0.05), (COINS, 1, 0.05), (SCORES, 3, 0.0)])
def test_a_run_of_pairs_is_that_of_a_plain_transcription(bandit, k, epsilon):
    for seed in range(3):
        order, cells = rewards_of(bandit, seed, 1500)
        made, chosen = transcribed_pairs(cells, k, epsilon, 0.3)
        outcome = topk.run(PairedBetting(k, epsilon, 0.3), bandit, rng=seed, trace=True)
        assert outcome.trace[0].tolist() == order[made].tolist()
        assert outcome.selected.tolist() == np.sort(order[chosen]).tolist()
        assert outcome.certified and outcome.evidence() * SLACK <= 0.3 * (1 + 1e-12)


@pytest.mark.parametrize(("bandit", "k"), [(COINS, 1), (SCORES, 1), (COINS, 4), (SCORES, 4)])
def test_a_run_of_a_race_is_the_race_of_its_rewards(bandit, k):
    for seed in range(4):
        order, cells = rewards_of(bandit, seed, 1500)
        outcome = topk.run(PairedBetting(k, 0, 0.1), bandit, rng=seed, trace=True)
        race = Race(5, 0.1, 0.9, worst=k == 4, ahead=True)
        race.count(cells, cells, np.full(5, 1500))
        left = int(order[race.leaders()[0]])
        chosen = [left] if k == 1 else [a for a in range(5) if a != left]
        assert outcome.certified and race.over and outcome.selected.tolist() == chosen
        assert outcome.pulls[order].tolist() == race.used.tolist()
        assert (outcome.table.race.left_at == race.left_at).all()
        assert outcome.table.race.largest == pytest.approx(race.largest, rel=1e-13)
        assert outcome.evidence() == pytest.approx(race.evidence(), rel=1e-13)
        assert outcome.evidence() * SLACK <= 0.1 * (1 + 1e-12)
        assert np.bincount(outcome.trace[0]).tolist() == outcome.pulls.tolist()
        assert np.bincount(*outcome.trace) == pytest.approx(outcome.sums)


@pytest.mark.parametrize("k", [1, 2, 4])
@pytest.mark.parametrize("bandit", [COINS, SCORES], ids=["coins", "scores"])
def test_compiled_and_plain_runs_make_the_same_pulls(bandit, k):
    for seed in range(3):
        found = []
        for compiles in (False, True):
            play = Play(PairedBetting(k, 0, 0.1), bandit, seed, 0, record=True, compiles=compiles)
            play.finish()
            found.append(play)
        plain, compiled = (play.outcome() for play in found)
        assert plain.trace[0].tolist() == compiled.trace[0].tolist()
        assert plain.evidence() == compiled.evidence()
        one, two = (play.state.table for play in found)
        assert one == two and (one.race is None or np.array_equal(
            one.race.capitals, two.race.capitals))


@pytest.mark.parametrize("k", [1, 2])
def test_a_table_that_is_told_rewards_in_any_order_is_that_of_the_run(k):
    rng = np.random.default_rng(5)
    for seed in range(3):
        _, cells = rewards_of(COINS, seed, 1500)
        play = Play(PairedBetting(k, 0, 0.1), COINS, seed, 0)
        play.finish()
        run, told = play.state.table, PairedBetting(k, 0, 0.1).on_arms().table(5, None)
        for arm in rng.permutation(np.repeat(np.arange(5), run.size)).tolist():
            told.extend([(arm, cells[arm, [told.size[arm]]])])
        assert told.chosen().tolist() == run.chosen().tolist() and told.decided()
        assert told.evidence(0.0) == pytest.approx(run.evidence(0.0), rel=1e-12)
        if k == 2:
            assert told.largest == pytest.approx(run.largest, rel=1e-12)


@pytest.mark.parametrize("k", [1, 2])
def test_budgets_limits_and_checkpoints_are_reached_to_the_pull(k):
    whole = topk.run(PairedBetting(k, 0, 0.05), COINS, rng=3, trace=True)
    for most in (5, 6, 7, 50, 51):
        cut = topk.run(PairedBetting(k, 0, 0.05, most), COINS, rng=3, trace=True)
        assert cut.total_pulls == most and cut.stopped == "budget" and not cut.certified
        assert cut.trace[0].tolist() == whole.trace[0][:most].tolist()
        limited = topk.run(PairedBetting(k, 0, 0.05), COINS, rng=3, max_pulls=most)
        assert limited.pulls.tolist() == cut.pulls.tolist() and limited.stopped == "budget"
    marks = [5, 6, 40, 41, 10**6]
    found = topk.replicate(PairedBetting(k, 0, 0.05), COINS, 3, seed=3, checkpoints=marks)
    assert found.total_pulls[0] == whole.total_pulls
    assert found.selected[0, -1].tolist() == whole.selected.tolist()
    for j, most in enumerate(marks[:-1]):
        cut = topk.run(PairedBetting(k, 0, 0.05), COINS, rng=3, max_pulls=most)
        assert found.selected[0, j].tolist() == cut.selected.tolist()


def test_rewards_on_another_scale_make_the_same_run():
    class Scaled(topk.Bandit):
        bounds = (-5.0, 15.0)

        def sample(self, arm, count, rng):
            return 20.0 * (rng.random(count) < self.means[arm] / 20 + 0.25) - 5.0

    class Coins(topk.Bandit):
        def sample(self, arm, count, rng):
            return (rng.random(count) < self.means[arm]).astype(float)

    means = np.array([0.75, 0.5, 0.25])
    for k in (1, 2):
        one = topk.run(PairedBetting(k, 0.0, 0.1), Coins(means), rng=1)
        two = topk.run(PairedBetting(k, 0.0, 0.1), Scaled(20 * means - 5), rng=1)
        assert one.pulls.tolist() == two.pulls.tolist()
        assert two.sums == pytest.approx(20 * one.sums - 5 * one.pulls)


def test_a_race_can_be_left_out_and_a_pair_needs_none():
    paired = topk.replicate(PairedBetting(1, 0, 0.05, race=False), COINS, 20, seed=0)
    raced = topk.replicate(PairedBetting(1, 0, 0.05), COINS, 20, seed=0)
    assert paired.total_pulls.mean() > 1.1 * raced.total_pulls.mean()
    assert [PairedBetting(k, e, 0.1).races(4) for k, e in ((1, 0), (2, 0), (3, 0), (1, 0.1))] == [
        True, False, True, False]
    table = PairedBetting(1, 0, 0.05).on_arms().table(2, None)
    assert table.race.level == SLACK / 0.05  # of two nothing is left to withdraw


def test_a_race_that_loses_an_arm_that_was_left_is_decided_by_pairs():
    _, cells = rewards_of(COINS, 1, 200)

    def table():
        made = PairedBetting(1, 0, 0.05).on_arms().table(5, None)
        made.extend([(arm, cells[arm, :60]) for arm in range(5)])
        return made

    before = table()
    gone, left = np.flatnonzero(~before.race.left)[0], np.flatnonzero(before.race.left)
    assert left.size > 1 and before.race.level == pytest.approx(SLACK / 0.045)
    free = table()
    free.withdraw(gone)
    assert free.deciding is free.race and free.kept() == [0]
    paid = table()
    paid.withdraw(left[-1])
    assert paid.deciding is None and paid.kept() == [1] and paid.count == 5 * 5 * 4
    assert paid.decided() == bool((paid.largest[np.ix_(*paid._sides())] >= 100 / 0.05).all())
    for one in (free, paid):
        again = PairedBetting(1, 0, 0.05).on_arms().table(5, None)
        again.withdraw(np.flatnonzero(~one.active)[0])
        again.restore([(arm, cells[arm, :60]) for arm in range(5)], one.kept())
        assert (again.deciding is None) == (one.deciding is None)
        assert again.evidence(0.0) == one.evidence(0.0)
        assert again == one


def test_the_next_cells_complete_rounds():
    """Of 17 arms the leader reads 4 rewards a round, the others one; those in flight count."""
    table = PairedBetting(1, 0, 0.05).on_arms().table(17, None)
    none, left = np.zeros(17, dtype=np.int64), np.full(17, 1000)
    table.extend([(arm, np.ones(1)) for arm in range(17)])
    assert table.wanted(none, left, 3, 1).tolist() == [3] + [0] * 16 and table.step == 3
    table.extend([(0, np.ones(3))])
    assert table.race.rounds == 1 and table.step == 20
    assert table.wanted(none, left, 20, 1).tolist() == [4] + [1] * 16
    assert table.wanted(none, left, 40, 1).tolist() == [8] + [2] * 16
    flight = np.array([4] + [1] * 15 + [0])
    assert table.wanted(flight, left, 1, 1).tolist() == [0] * 16 + [1]
    assert table.wanted(none, np.full(17, 0), 20, 1).sum() == 0


def test_all_arms_stay_above_the_floor():
    """Without it an arm whose claims were decided falsely would never be pulled again."""
    table = PairedBetting(2, 0, 0.05).table(4, None)
    table.extend([(a, np.full(size, x)) for a, (size, x) in enumerate(
        [(400, 1.0), (400, 1.0), (8, 0.0), (400, 0.5)])])
    table.largest[[0, 1], 2] = 1e9  # decided long ago
    pairs, short = next(iter(table.stages(np.zeros(4, dtype=np.int64), np.full(4, 10))))
    assert pairs.tolist() == [[2, -1]]
    assert short[2] == math.ceil(math.sqrt(1208 / 4) / 2) - 8 == 1


@pytest.mark.parametrize("n", [8, 20])
def test_runs_are_short(n):
    """Means of 100 runs at delta .05, within three standard errors of both."""
    expected = {8: {1: (546, 6), 3: (1699, 17)}, 20: {1: (3155, 80), 5: (10365, 436)}}[n]
    for k, (mean, error) in expected.items():
        means = np.linspace(0.9, 0.2 if k == 3 else 0.1, n)
        found = topk.replicate(PairedBetting(k, 0, 0.05), topk.BernoulliBandit(means), 100, seed=1)
        own = found.total_pulls.std() / 10
        assert abs(found.total_pulls.mean() - mean) < 3 * math.hypot(own, error)
        right = (found.selected[:, -1] == np.arange(k)).all(axis=1)
        assert found.certified.all() and right.sum() > 80  # 100 times .95: below 1e-6


def test_what_it_does_not_take_is_refused():
    many = topk.BernoulliBandit(np.linspace(0, 1, 201))
    with pytest.raises(ValueError, match="at most 200 arms for PairedBetting; KLLUCB"):
        topk.run(PairedBetting(2, 0, 0.1), many, rng=0)
    with pytest.raises(ValueError, match="sigma"):
        topk.run(PairedBetting(1, 0, 0.1), topk.GaussianBandit([0, 1], 1), rng=0)
    with pytest.raises(ValueError, match="single bandit"):
        topk.run(PairedBetting(1, 0, 0.1), topk.MultiBandit(np.full((2, 3), 0.5)), rng=0)
    with pytest.raises(ValueError, match=r"topk_eval.Evaluation\(strategy, arms\)"):
        PairedBetting(1, 0, 0.1).start(3)


def test_a_state_for_shared_rewards_takes_whole_rows_of_a_race():
    state = PairedBetting(1, 0, 0.05).begin(3)
    arms, counts = np.empty((2, 3), dtype=np.int64)
    rows, sizes = np.tile([[1.0], [0.6], [0.2]], 40), []
    while m := state.ask(arms, counts):
        sizes.append(m)
        state.extend([(a, rows[a, [state.table.size[a]]]) for a in arms[:m].tolist()])
    assert state.ended != RUNNING and state.recommend().tolist() == [0]
    assert set(sizes) == {3, 2} and sizes == sorted(sizes)[::-1]
