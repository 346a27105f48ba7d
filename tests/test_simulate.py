"""Many plays: each its own, whoever plays it, whatever else is asked for."""

import math
import signal
import time
from collections import Counter
from dataclasses import dataclass
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from strategies.plain import BigBatches, Doubling
from strategies.registry import ENTRIES, cases, random_bandit, real_bandit, zero_one_bandit

import topk
from topk import metrics, workers
from topk.play import water_fill

each_strategy = pytest.mark.parametrize("entry", ENTRIES, ids=lambda e: e.name)
ARRAYS = "selected", "pulls", "sums", "total_pulls", "certified", "means"


def same(one, other):
    for name in ARRAYS:
        first, second = getattr(one, name), getattr(other, name)
        assert first.dtype == second.dtype and np.array_equal(first, second), name


def short(entry, seed, sizes=(3, 6)):
    """Return a strategy, a bandit and a generator, for a play of at most 20,000 pulls."""
    for strategy, bandit, rng in cases(entry, 1000, seed=seed, sizes=sizes):
        least = 2 * entry.starts * bandit.n
        if least < topk.run(strategy, bandit).total_pulls < 20_000:
            return strategy, bandit, rng
    raise AssertionError("no short play")


# Shapes, independence of plays


@each_strategy
def test_the_arrays_of_replications(entry):
    strategy, bandit, _ = short(entry, 31)
    reps = topk.replicate(strategy, bandit, runs=6, seed=3)
    shape, k = bandit.means.shape, strategy.k
    assert reps.selected.shape == (6, 1, *shape[:-1], k) and reps.selected.dtype.kind == "i"
    assert reps.pulls.shape == reps.sums.shape == (6, *shape) and reps.pulls.dtype.kind == "i"
    assert reps.total_pulls.shape == reps.certified.shape == (6,)
    assert reps.certified.dtype == bool
    assert reps.total_pulls.tolist() == reps.pulls.reshape(6, -1).sum(axis=1).tolist()
    assert (np.diff(reps.selected) > 0).all()
    assert reps.means.tolist() == bandit.means.tolist()
    assert reps.checkpoints == ()


@each_strategy
def test_play_r_does_not_depend_on_how_many_there_are_nor_on_portions(entry):
    strategy, bandit, _ = short(entry, 32)
    many = topk.replicate(strategy, bandit, runs=13, seed=5)
    for runs, chunk in [(1, None), (4, 1), (7, 3), (12, 100)]:
        few = topk.replicate(strategy, bandit, runs=runs, seed=5, chunk=chunk)
        for name in ARRAYS[:-1]:
            assert np.array_equal(getattr(few, name), getattr(many, name)[:runs])
    other = topk.replicate(strategy, bandit, runs=13, seed=6)
    assert not np.array_equal(many.sums, other.sums) or set(bandit.means.flat) <= {0.0, 1.0}


@each_strategy
def test_play_0_is_run_and_plays_differ(entry):
    strategy, bandit, _ = short(entry, 33)
    bandit = zero_one_bandit(np.full((*bandit.means.shape[:-1], 6), 0.5))
    reps = topk.replicate(strategy, bandit, runs=5, seed=2**63)
    outcome = topk.run(strategy, bandit, rng=2**63)
    assert outcome.sums.tolist() == reps.sums[0].tolist()
    assert outcome.selected.tolist() == reps.selected[0, 0].tolist()
    assert len({row.tobytes() for row in reps.sums}) == 5


@pytest.mark.parametrize("helpers", ["as they come", "threads", "processes"])
@each_strategy
def test_the_number_of_jobs_does_not_matter(entry, helpers, monkeypatch):
    if helpers == "processes" and entry.strategy not in (topk.LUCB1, topk.SAR, Doubling):
        return  # one of each kind: a process takes its time to load a strategy
    strategy, bandit, rng = short(entry, 34)
    if helpers != "as they come":  # small studies are played in this process: insist on help
        monkeypatch.setattr(workers, "helpers", lambda pacer, jobs: helpers)
    for arms in (bandit, real_bandit(bandit.layout, rng, low=0.2, scale=1)):
        alone = topk.replicate(strategy, arms, runs=9, seed=7, jobs=1)
        same(alone, topk.replicate(strategy, arms, runs=9, seed=7, jobs=2, chunk=2))
        if helpers != "processes":  # another number would start all of them anew
            same(alone, topk.replicate(strategy, arms, runs=9, seed=7, jobs=3))


def test_helping_processes_leave_joblib_to_its_user(monkeypatch):
    from joblib import Parallel, delayed

    monkeypatch.setattr(workers, "helpers", lambda pacer, jobs: "processes")
    bandit, strategy = topk.BernoulliBandit([0.3, 0.6]), Doubling(1, budget=100)
    plays = [topk.replicate(strategy, bandit, runs=4, jobs=2, chunk=1)]
    assert Parallel(n_jobs=2)(delayed(abs)(-x) for x in range(4)) == [0, 1, 2, 3]
    plays.append(topk.replicate(strategy, bandit, runs=4, jobs=2, chunk=1))
    same(*plays)


def test_topk_jobs_stands_in_for_jobs(monkeypatch):
    bandit, strategy = topk.BernoulliBandit([0.3, 0.6]), topk.Uniform(1, budget=100)
    one = topk.replicate(strategy, bandit, runs=3)
    monkeypatch.setenv("TOPK_JOBS", "2")
    same(one, topk.replicate(strategy, bandit, runs=3))
    for wrong in ("0", "-1", "many", "1.5"):
        monkeypatch.setenv("TOPK_JOBS", wrong)
        with pytest.raises(ValueError, match=r"\bjobs\b"):
            topk.replicate(strategy, bandit, runs=3)
    same(one, topk.replicate(strategy, bandit, runs=3, jobs=1))  # an argument counts more


def test_a_bar_changes_nothing(capsys):
    bandit, strategy = topk.BernoulliBandit([0.3, 0.6]), topk.Uniform(1, budget=100)
    silent = topk.replicate(strategy, bandit, runs=5, progress=False)
    assert capsys.readouterr().err == ""
    same(silent, topk.replicate(strategy, bandit, runs=5, progress=True))
    assert "5/5" in capsys.readouterr().err
    topk.replicate(strategy, bandit, runs=5)
    assert capsys.readouterr().err == ""  # no terminal, no bar


# A bandit for each play


def three_arms(rng):
    return topk.BernoulliBandit(rng.random(3))


@each_strategy
def test_a_sequence_of_bandits_is_one_for_each_play(entry):
    strategy, bandit, rng = short(entry, 35)
    bandits = [random_bandit(bandit.layout, rng) for _ in range(4)]
    reps = topk.replicate(strategy, bandits, runs=4, seed=8)
    assert reps.means.tolist() == [b.means.tolist() for b in bandits]
    for play, own in enumerate(bandits):
        row = topk.replicate(strategy, own, runs=play + 1, seed=8)
        assert row.pulls[play].tolist() == reps.pulls[play].tolist()
        assert row.sums[play].tolist() == reps.sums[play].tolist()
        assert row.selected[play].tolist() == reps.selected[play].tolist()
    same(reps, topk.replicate(strategy, tuple(bandits), runs=4, seed=8, jobs=2, chunk=1))


@pytest.mark.parametrize("helpers", [None, "threads", "processes"])
def test_a_function_draws_a_fresh_bandit_for_each_play(helpers, monkeypatch):
    strategy = topk.SAR(1, budget=60)
    reps = topk.replicate(strategy, three_arms, runs=6, seed=9)
    assert reps.means.shape == (6, 3) and len(np.unique(reps.means)) == 18
    more = topk.replicate(strategy, three_arms, runs=8, seed=9)
    assert more.means[:6].tolist() == reps.means.tolist()
    assert more.sums[:6].tolist() == reps.sums.tolist()
    given = [topk.BernoulliBandit(means) for means in reps.means]
    same(reps, topk.replicate(strategy, given, runs=6, seed=9))  # rewards do not depend on it
    monkeypatch.setattr(workers, "helpers", lambda pacer, jobs: helpers)
    same(reps, topk.replicate(strategy, three_arms, runs=6, seed=9, jobs=2, chunk=2))
    same(reps, topk.replicate(strategy, lambda rng: three_arms(rng), runs=6, seed=9, jobs=2))


def test_instances_with_drawn_means_go_straight_in():
    reps = topk.replicate(
        topk.Uniform(2, budget=50), lambda rng: topk.instances.unif01(5, rng), runs=3
    )
    assert reps.means.shape == (3, 5)


# Checkpoints

ANYTIME = [entry for entry in ENTRIES if entry.strategy.anytime]


@pytest.mark.parametrize("entry", ANYTIME, ids=lambda e: e.name)
def test_checkpoints_never_change_a_play(entry):
    done = 0
    for strategy, bandit, rng in cases(entry, 60, seed=36, sizes=(2, 3, 6)):
        if done % 3 == 2:
            bandit = real_bandit(bandit.layout, rng, low=0.2, scale=1)
        seed = int(rng.integers(2**32))
        plain = topk.replicate(strategy, bandit, runs=2, seed=seed)
        if plain.total_pulls.max() > 50_000:
            continue
        done += 1
        marks = rng.integers(bandit.n, plain.total_pulls.max() + 20, rng.integers(1, 6))
        marks = sorted({bandit.n, *marks.tolist()})
        reps = topk.replicate(strategy, bandit, runs=2, seed=seed, checkpoints=marks)
        assert reps.selected.shape == (2, len(marks), *bandit.means.shape[:-1], strategy.k)
        assert reps.checkpoints == tuple(marks)
        for name in ARRAYS[1:]:
            assert np.array_equal(getattr(reps, name), getattr(plain, name))
        for play, total in enumerate(plain.total_pulls):
            for j, mark in enumerate(marks):
                if mark >= total:  # after the end the final set is repeated
                    assert reps.selected[play, j].tolist() == plain.selected[play, 0].tolist()
        one = topk.replicate(strategy, bandit, runs=2, seed=seed, checkpoints=marks[-1:])
        if not isinstance(bandit, topk.BernoulliBandit) or reps.total_pulls.max() <= marks[-1]:
            # other marks draw nothing that this one needs
            assert one.selected[:, 0].tolist() == reps.selected[:, -1].tolist()
    assert done >= 30


def best(k, pulls, sums, order):
    """The k largest means; ties to the lower index in the strategy's own order."""
    place = np.argsort(order)  # arm order[j] of the bandit is the strategy's arm j
    keys = {a: (-Fraction(int(sums[a]), int(pulls[a])), place[a]) for a in range(pulls.size)}
    return sorted(sorted(keys, key=keys.get)[:k])


def test_sets_at_checkpoints_are_those_of_a_literal_replay():
    """LUCB1: rewards one by one from the trace, up to the checkpoint; then the k best."""
    entry = next(entry for entry in ENTRIES if entry.strategy is topk.LUCB1)
    compared = 0
    for strategy, bandit, rng in cases(entry, 60, seed=37, sizes=(2, 3, 6)):
        seed, n = int(rng.integers(2**32)), bandit.n
        arms, rewards = topk.run(strategy, bandit, rng=seed, trace=True).trace
        marks = list(range(n, min(arms.size, n + 150) + 1))
        reps = topk.replicate(strategy, bandit, runs=1, seed=seed, checkpoints=marks)
        order, _ = topk.streams(seed, 0, n)
        for j, mark in enumerate(marks):
            pulls = np.bincount(arms[:mark], minlength=n)
            sums = np.bincount(arms[:mark], rewards[:mark], minlength=n)
            assert reps.selected[0, j].tolist() == best(strategy.k, pulls, sums, order), mark
            compared += 1
    assert compared > 1000


@given(st.lists(st.integers(0, 9), min_size=1, max_size=8), st.data())
def test_water_fill_hands_out_one_pull_at_a_time(counts, data):
    pulls = data.draw(st.integers(0, sum(counts)))
    part, left = [0] * len(counts), pulls
    while left:  # the plain form: round and round, in order
        for j, room in enumerate(counts):
            if left and part[j] < room:
                part[j] += 1
                left -= 1
    assert water_fill(np.array(counts), pulls).tolist() == part


@given(st.lists(st.integers(0, 2**40), min_size=1, max_size=8), st.data())
def test_water_fill_of_large_batches_is_even(counts, data):
    counts = np.array(counts)
    pulls = data.draw(st.integers(0, int(counts.sum())))
    before = counts.copy()
    part = water_fill(counts, pulls)
    assert part.sum() == pulls and (part >= 0).all() and (part <= counts).all()
    assert np.array_equal(counts, before)
    short = part < counts  # an entry that got less than its count is at the water level
    if short.any():
        assert part.max(initial=0) <= part[short].min() + 1


LOOKED = []


@dataclass(frozen=True)
class Looking(BigBatches):
    """Writes down what it is shown whenever a set is asked for."""

    def recommend(self, view):
        LOOKED.append((view.total, view.pulls.copy(), view.sums.copy()))
        return super().recommend(view)


@pytest.mark.parametrize("law", ["bernoulli", "beta"])
def test_a_checkpoint_inside_a_batch_shows_an_even_part_of_it(law):
    for seed in range(12):
        rng = np.random.default_rng(seed)
        n = int(rng.integers(2, 7))
        bandit = topk.BernoulliBandit(rng.random(n))
        if law == "beta":
            bandit = topk.BetaBandit(0.2 + rng.random(n), 0.2 + rng.random(n))
        strategy = Looking(1, size=int(rng.integers(5, 60)), batches=3)
        LOOKED.clear()
        plain = topk.replicate(strategy, bandit, runs=1, seed=seed, jobs=1)
        marks = sorted({*rng.integers(n, plain.total_pulls[0] + 1, 8).tolist()})
        LOOKED.clear()
        reps = topk.replicate(strategy, bandit, runs=1, seed=seed, checkpoints=marks, jobs=1)
        same_but_sets = [name for name in ARRAYS if name != "selected"]
        assert all(
            np.array_equal(getattr(reps, x), getattr(plain, x)) for x in same_but_sets
        )
        order, stream = topk.streams(seed, 0, n)
        seen = {total: (pulls, sums) for total, pulls, sums in LOOKED}
        assert set(marks) <= set(seen)
        # the same play by hand, batch by batch, keeping single rewards where there are any
        session = strategy.start(n)
        pulls, sums = np.zeros(n, int), np.zeros(n)
        while not session.done:
            arms, counts = session.ask()
            state = stream.bit_generator.state
            rewards = bandit.pull(order[arms], counts, stream)
            inside = [m for m in marks if pulls.sum() < m < pulls.sum() + counts.sum()]
            previous = np.zeros(arms.size, int), np.zeros(arms.size)
            for mark in inside:
                part = water_fill(counts, mark - pulls.sum())
                shown_pulls, shown_sums = seen[mark]
                assert (shown_pulls[arms] - pulls[arms]).tolist() == part.tolist()
                gained = shown_sums[arms] - sums[arms]
                more = part - previous[0]
                if law == "bernoulli":
                    # parts grow: no reward is taken back, none counted twice
                    assert ((gained >= previous[1]) & (gained <= previous[1] + more)).all()
                    assert (gained <= rewards.sums).all()
                    assert (part - gained <= counts - rewards.sums).all()
                else:
                    twin = np.random.Generator(np.random.PCG64())
                    twin.bit_generator.state = state
                    singles = [
                        bandit.sample(order[a], c, twin)
                        for a, c in zip(arms, counts, strict=True)
                    ]
                    first = [math.fsum(x[:c]) for x, c in zip(singles, part, strict=True)]
                    assert shown_sums[arms].tolist() == (sums[arms] + first).tolist()
                previous = part, gained
            session.tell(arms, rewards.sums, counts=counts, squares=rewards.squares)
            pulls[arms] += counts
            sums[arms] += rewards.sums


def test_the_part_of_a_batch_that_a_checkpoint_shows_is_a_random_one():
    """Sums of parts are hypergeometric given those of the batch.

    400 plays; the part's successes less their expectation are a sum of 400 independent
    terms in [-10, 10]: it passes the limit with probability 1e-9 (Hoeffding).
    """
    runs, size, part = 400, 30, 10
    strategy, bandit = Looking(1, size=size - 1, batches=2), topk.BernoulliBandit([0.5, 0.5])
    total = Counter()
    for seed in range(runs):
        LOOKED.clear()
        # the second batch: 30 pulls of arm 1, then 15 of arm 0, of which 2 * 10 are shown
        topk.replicate(strategy, bandit, runs=1, seed=seed, checkpoints=[2 + 2 * part], jobs=1)
        shown = next(sums for mark, _, sums in LOOKED if mark == 2 + 2 * part)
        order, stream = topk.streams(seed, 0, 2)
        first = bandit.pull(order, [1, 1], stream).sums
        session = strategy.start(2).tell([0, 1], first)
        arms, counts = session.ask()
        batch = bandit.pull(order[arms], counts, stream).sums
        for arm, count, ones in zip(arms, counts, batch, strict=True):
            gained = shown[arm] - first[arm]
            total[int(arm)] += gained - part * ones / count
            total["spread"] += (gained - part * ones / count) ** 2
    limit = math.sqrt(2 * runs * 100 * math.log(2 / 1e-9))
    assert max(abs(total[0]), abs(total[1])) < limit
    # taking the ones first, or the zeros first, would shift every play by about 3
    assert total["spread"] / (2 * runs) < 4


@pytest.mark.parametrize(
    "checkpoints",
    [[3], [0], [-5], [9, 9], [9, 8], [5, 7, 6], [], [9.0], [9.5], ["9"], [None], [True],
     "9", [[9, 10]], [np.nan], [[9], [10, 11]], [2**63], [10**30], 9.5],
    ids=str,
)  # fmt: skip
def test_wrong_checkpoints_are_refused_before_any_work(checkpoints):
    strategy = topk.LUCB1(1, epsilon=0.9, delta=0.9)
    bandit = topk.BernoulliBandit([0.9, 0.1, 0.5, 0.4])
    with pytest.raises(ValueError, match=r"\bcheckpoints\b"):
        topk.replicate(strategy, bandit, runs=2, checkpoints=checkpoints)


@each_strategy
def test_checkpoints_need_a_strategy_that_does_not_depend_on_its_budget(entry):
    strategy, bandit, _ = short(entry, 38)
    if strategy.anytime:
        topk.replicate(strategy, bandit, runs=1, checkpoints=[bandit.n])
    else:
        with pytest.raises(ValueError, match=r"\bcheckpoints\b"):
            topk.replicate(strategy, bandit, runs=1, checkpoints=[bandit.n])


def test_checkpoints_may_be_any_integers():
    strategy, bandit = topk.LUCB1(1, 0.9, 0.9), topk.BernoulliBandit([0.9, 0.1])
    plain = topk.replicate(strategy, bandit, runs=2, checkpoints=[4, 6])
    for marks in ((4, 6), np.array([4, 6]), np.array([4, 6], dtype=np.uint8), range(4, 7, 2)):
        same(plain, topk.replicate(strategy, bandit, runs=2, checkpoints=marks))


# Frames


@pytest.mark.parametrize("form", ["one", "many"])
@pytest.mark.parametrize("epsilon", [None, 0.0, 0.1])
def test_a_frame_has_a_row_for_each_play_and_checkpoint(form, epsilon):
    strategy = topk.LUCB1(2, epsilon=0.3, delta=0.2)
    bandit = topk.BernoulliBandit([0.9, 0.5, 0.1, 0.7, 0.6])
    arms = bandit if form == "one" else lambda rng: topk.BernoulliBandit(rng.random(5))
    marks = [5, 20, 41, 10_000]
    reps = topk.replicate(strategy, arms, runs=7, seed=1, checkpoints=marks)
    frame = reps.frame() if epsilon is None else reps.frame(epsilon=epsilon)
    plain = ["aggregate_regret", "simple_regret", "precision", "misidentified"]
    tolerant = [] if epsilon is None else ["explore_m", "elementwise_optimal"]
    names = ["run", "checkpoint", "pulls_used", "certified", *plain, *tolerant]
    assert frame.columns.tolist() == names and len(frame) == 28
    assert frame["certified"].dtype == bool
    for row in frame.itertuples():
        play, point = divmod(row.Index, 4)
        means = reps.means if form == "one" else reps.means[play]
        selected, total = reps.selected[play, point], reps.total_pulls[play]
        assert row.run == play and row.checkpoint == marks[point]
        assert row.pulls_used == min(marks[point], total)
        assert row.certified == (reps.certified[play] and total <= marks[point])
        for name in plain:
            assert getattr(row, name) == getattr(metrics, name)(selected, means)
        for name in tolerant:
            assert getattr(row, name) == getattr(metrics, name)(selected, means, epsilon)
    assert frame["certified"].any() and not frame["certified"].all()


def test_a_frame_of_several_bandits_has_a_row_for_each_of_them():
    means = np.array([[0.9, 0.5, 0.1], [0.3, 0.8, 0.7]])
    strategy = topk.MultiBanditUGapEc(2, epsilon=0.3, delta=0.2)
    marks = [6, 20, 10_000]
    for arms in (topk.MultiBandit(means), lambda rng: topk.MultiBandit(rng.random((2, 3)))):
        reps = topk.replicate(strategy, arms, runs=5, seed=1, checkpoints=marks)
        assert reps.selected.shape == (5, 3, 2, 2) and reps.pulls.shape == (5, 2, 3)
        frame = reps.frame(epsilon=0.1)
        assert len(frame) == 5 * 3 * 2
        assert frame["bandit"].tolist() == [0, 1] * 15
        for row in frame.itertuples():
            play, point = row.Index // 6, row.Index // 2 % 3
            own = (reps.means if reps.means.ndim == 2 else reps.means[play])[row.bandit]
            selected, total = reps.selected[play, point, row.bandit], reps.total_pulls[play]
            assert (row.run, row.checkpoint) == (play, marks[point])
            assert row.pulls_used == min(marks[point], total)
            assert row.certified == (reps.certified[play] and total <= marks[point])
            assert row.simple_regret == metrics.simple_regret(selected, own)
            assert row.misidentified == metrics.misidentified(selected, own)
            assert row.explore_m == metrics.explore_m(selected, own, 0.1)


def test_a_summary_of_several_bandits_counts_plays():
    """A play goes wrong if one of its bandits does; regrets are means over the bandits."""
    strategy = topk.MultiBanditUGapEc(2, epsilon=0.3, delta=0.2)
    marks, draw = [6, 20, 10_000], lambda rng: topk.MultiBandit(rng.random((2, 3)))
    given = {"runs": 40, "seed": 1, "checkpoints": marks}
    frame = topk.replicate(strategy, draw, **given).frame(epsilon=0.1)
    reps = topk.replicate(strategy, draw, **given)
    found = topk.replicate(strategy, draw, keep="summary", epsilon=0.1, chunk=7, **given)
    plays = frame.groupby(["checkpoint", "run"])
    regret = plays.aggregate_regret.mean().groupby("checkpoint").mean()
    np.testing.assert_allclose(found.mean("aggregate_regret"), regret)
    failures = found.failures().set_index(["failure", "checkpoint"])["count"]
    wrong = plays.misidentified.any().groupby("checkpoint").sum()
    assert failures["misidentified"].tolist() == wrong.tolist()
    missed = (~plays.explore_m.all()).groupby("checkpoint").sum()
    assert failures["not explore_m"].tolist() == missed.tolist()
    assert found.pulls.tolist() == reps.pulls.sum(axis=0).tolist()
    for point in range(3):
        for bandit in range(2):
            counts = np.bincount(reps.selected[:, point, bandit].ravel(), minlength=3)
            assert found.chosen[point, bandit].tolist() == counts.tolist()


def test_several_bandits_are_put_in_a_random_order_and_so_are_their_arms():
    orders = np.array([topk.streams(3, play, (3, 4))[0] for play in range(600)]).reshape(-1, 3, 4)
    assert (orders // 4 == orders[:, :, :1] // 4).all()  # bandits stay together
    assert (np.sort(orders.reshape(600, -1)) == np.arange(12)).all()
    # each of 57 shares is off by 0.12 with probability below 2 exp(-17), Hoeffding
    for bandit in range(3):
        first = np.bincount(orders[:, bandit, 0] // 4, minlength=3) / 600
        assert np.abs(first - 1 / 3).max() < 0.12
        for place in range(4):
            share = np.bincount(orders[:, bandit, place] % 4, minlength=4) / 600
            assert np.abs(share - 1 / 4).max() < 0.12


def test_strategies_and_bandits_must_suit_each_other():
    one, two = topk.BernoulliBandit([0.9, 0.1]), topk.MultiBandit([[0.9, 0.1], [0.2, 0.3]])
    for strategy, wrong in ((topk.SAR(1, 60), two), (topk.MultiBanditSAR(60), one)):
        for play in (
            lambda s=strategy, b=wrong: topk.run(s, b),
            lambda s=strategy, b=wrong: topk.replicate(s, b, runs=2),
            lambda s=strategy, b=wrong: topk.replicate(s, [b] * 2, runs=2),
        ):
            with pytest.raises(ValueError, match=r"\bbandit\b"):
                play()
    with pytest.raises(ValueError, match=r"\bbandit\b"):
        topk.replicate(topk.MultiBanditSAR(60), [two, topk.MultiBandit([[0.9, 0.1]])], runs=2)


def test_a_frame_without_checkpoints_has_a_row_for_each_play():
    reps = topk.replicate(topk.SAR(1, 60), topk.BernoulliBandit([0.9, 0.5, 0.1]), runs=5)
    frame = reps.frame()
    assert len(frame) == 5 and frame["checkpoint"].isna().all()
    assert frame["pulls_used"].tolist() == reps.total_pulls.tolist()
    assert frame["run"].tolist() == list(range(5)) and not frame["certified"].any()


@pytest.mark.parametrize("epsilon", [-0.1, 1.0, np.nan, "0.1", [0.1], True])
def test_a_frame_refuses_a_wrong_epsilon(epsilon):
    reps = topk.replicate(topk.SAR(1, 60), topk.BernoulliBandit([0.9, 0.5, 0.1]), runs=2)
    with pytest.raises(ValueError, match=r"\bepsilon\b"):
        reps.frame(epsilon=epsilon)


# Strategies in plain Python


def test_a_plain_python_strategy_runs_everywhere():
    bandit, strategy = topk.BernoulliBandit([0.1, 0.9, 0.2, 0.8]), Doubling(2, budget=2000)
    assert topk.run(strategy, bandit).selected.tolist() == [1, 3]
    reps = topk.replicate(strategy, bandit, runs=3, jobs=2)
    assert reps.selected[:, 0].tolist() == [[1, 3]] * 3
    session = strategy.start(4)
    while not session.done:
        arms, counts = session.ask()
        session.tell(arms, counts * (arms % 2), counts=counts)
    assert session.selected.tolist() == [1, 3]


@dataclass(frozen=True)
class Answers(topk.Strategy):
    """Asks and recommends what it was told to."""

    k: int
    wanted: tuple
    chosen: tuple = (0,)

    def ask(self, view):
        return self.wanted

    def recommend(self, view):
        return list(self.chosen)


@pytest.mark.parametrize(
    "wanted",
    [([0, 0], [1, 1]), ([3], [1]), ([-1], [1]), ([0], [-1]), ([0], [0]), ([0], [1, 1]),
     ([0.5], [1]), ([0], [1.5]), ([0, 1], [1]), (["a"], [1]), ([[0]], [[1]])],
    ids=str,
)  # fmt: skip
def test_a_plain_python_strategy_that_asks_nonsense_is_told_so(wanted):
    bandit = topk.BernoulliBandit([0.5, 0.5, 0.5])
    for play in (
        lambda: topk.run(Answers(1, wanted), bandit),
        lambda: topk.replicate(Answers(1, wanted), bandit, runs=1),
        lambda: Answers(1, wanted).start(3),
    ):
        with pytest.raises(ValueError, match=r"Strategy\.ask"):
            play()


@pytest.mark.parametrize("chosen", [(), (0, 1), (3,), (-1,), (0.5,)], ids=str)
def test_a_plain_python_strategy_that_recommends_nonsense_is_told_so(chosen):
    with pytest.raises(ValueError, match=r"Strategy\.recommend"):
        topk.run(Answers(1, ((), ()), chosen), topk.BernoulliBandit([0.5, 0.5, 0.5]))


def test_what_a_plain_python_strategy_remembers_stays_in_its_play():
    bandit, strategy = topk.BernoulliBandit([0.1, 0.9, 0.2, 0.8]), Doubling(1, budget=200)
    first = topk.replicate(strategy, bandit, runs=4, seed=3)
    same(first, topk.replicate(strategy, bandit, runs=4, seed=3))
    assert (first.total_pulls > 4).all()


# Ctrl-C


class Interrupt(Exception):
    pass


@pytest.mark.parametrize("form", ["run", "replicate"])
def test_an_endless_play_can_be_interrupted(form):
    """epsilon = 0 and a tie at the boundary: no end; compiled code has to come back.

    Signal handlers run when it does.  Times are the process's own, so that other work on
    the machine does not count.
    """
    strategy, bandit = topk.LUCB1(1, epsilon=0, delta=0.1), topk.BernoulliBandit([0.5] * 40)
    topk.run(topk.LUCB1(1, epsilon=0, delta=0.1, budget=100), bandit)  # compile
    begin, back = time.process_time(), []

    def interrupt(number, frame):
        back.append(time.process_time() - begin)
        if back[-1] > 1.2:
            raise Interrupt

    old = signal.signal(signal.SIGALRM, interrupt)
    try:
        signal.setitimer(signal.ITIMER_REAL, 0.01, 0.01)
        with pytest.raises(Interrupt):
            if form == "run":
                topk.run(strategy, bandit)
            else:
                topk.replicate(strategy, bandit, runs=2)
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, old)
    # 0.2 s are promised; the first entry is the first time that the clock is looked at
    assert max(np.diff(back)) < 0.3
