"""Rewards with other ranges than [0, 1]."""

import numpy as np
import pandas as pd
import pytest

import topk
from topk.bandits import UNIT_RANGE, RewardRange, reward_range_of

RNG = np.random.default_rng


def test_there_and_back():
    scale = reward_range_of(bounds=(-3, 12))
    x = RNG(0).uniform(-3, 12, 50)
    sums, squares = scale.to_unit(50, x.sum(), (x * x).sum())
    unit = (x + 3) / 15
    assert sums == pytest.approx(unit.sum()) and squares == pytest.approx((unit**2).sum())
    assert scale.from_unit(50, sums) == pytest.approx(x.sum())
    assert reward_range_of() is UNIT_RANGE and UNIT_RANGE.to_unit(3, 2.5, 1.0) == (2.5, 1.0)
    assert reward_range_of(sigma=2.0) == RewardRange(0.0, 4.0, bounded=False)


@pytest.mark.parametrize("bounds", [(-0.6, 1.2), (-0.7, 0.3), (0.1, 0.7), (-1e-9, 3.3)])
def test_rewards_at_the_bounds_are_possible(bounds):
    low, high = bounds
    scale = reward_range_of(bounds)
    assert (scale.low, scale.high) == bounds and scale.unit(5, 5 * high) == 5
    session = topk.BettingLUCB(1, 0, 0.1).start(2, bounds=bounds)
    session.observe([0, 1], sums=[5 * high, 5 * low], counts=[5, 5])  # squares follow
    assert session.means.tolist() == pytest.approx([high, low])


@pytest.mark.parametrize("bad", [1.5, -0.1, np.nan])
def test_a_reward_out_of_bounds_is_named_with_its_arm(bad):
    """A regression test: most of such runs were certified and wrong."""
    class Odd(topk.Bandit):
        def sample(self, arm, count, rng):
            return np.full(count, bad if arm == 1 else 0.5)

    arms = Odd([0.5, 0.5, 0.5])
    for act in (lambda: arms.pull([0, 1], [2, 2], RNG(0)),
                lambda: topk.run(topk.LUCB1(1, 0.3, 0.1), arms, rng=0),
                lambda: topk.run(topk.Racing(1, 0.3, 0.1), arms, rng=0)):
        with pytest.raises(ValueError, match=r"^a reward of arm 1 must be in \[0, 1\]"):
            act()


@pytest.mark.parametrize("strategy", [topk.SAR(1, 60), topk.LUCB1(1, 0.1, 0.1, budget=60)])
def test_a_users_pull_method_is_used_and_checked(strategy):
    class Paying(topk.BernoulliBandit):
        def pull(self, arms, counts, rng):
            sums = self.paid * np.array(counts)
            return topk.bandits.Rewards(sums, sums)

    bandit = Paying([0.2, 0.4])
    bandit.paid = 1.0
    for trace in (False, True):
        assert topk.run(strategy, bandit, trace=trace, rng=0).means.tolist() == [1.0, 1.0]
    bandit.paid = 1.5
    with pytest.raises(ValueError, match=r"^rewards of arm \d must be each in \[0, 1\]"):
        topk.run(strategy, bandit, rng=0)


def test_normal_rewards_have_their_distribution():
    bandit = topk.GaussianBandit([100.0, -5.0], 3.0)
    sums, squares = bandit.pull([0, 1], [20_000, 20_000], RNG(1))
    assert np.allclose(sums / 20_000, [100, -5], atol=5 * 3 / np.sqrt(20_000))  # 6e-7 each
    spread = squares / 20_000 - (sums / 20_000) ** 2
    assert np.allclose(spread, 9, rtol=5 * np.sqrt(2 / 20_000))


def test_a_table_becomes_a_bandit():
    """And so do records of any length, with or without names."""
    frame = pd.DataFrame({"variant": ["b", "a", "b", "c"], "score": [-2.0, 5.0, 0.0, 12.0]})
    indexed = frame.set_index("variant", drop=False)
    sorts = pd.Categorical(frame.variant, categories=["none", "c", "b", "a"])
    for given in (indexed, frame.assign(variant=sorts), frame):
        bandit = topk.ReplayBandit.from_frame(given, "variant", "score", bounds=(-3, 12))
        assert bandit.names == ["b", "a", "c"] and bandit.means.tolist() == [-1.0, 5.0, 12.0]
    assert sorted(set(bandit.sample(0, 50, RNG(0)))) == [-2.0, 0.0]
    records = {"b": pd.Series([1, 0], index=[0, 2]), "a": [0]}
    for answers, names in ((list(records.values()), None), (records, ["b", "a"])):
        bandit = topk.ReplayBandit(answers)
        assert bandit.means.tolist() == [0.5, 0.0] and bandit.names == names


@pytest.mark.parametrize("values, text", [
    (pd.DataFrame({"a": [0.1, 0.2]}), "a pandas DataFrame"),
    ([[0.1, 0.2], [0.3]], "lists of different lengths"),
])
def test_errors_name_tables_and_ragged_lists(values, text):
    session = topk.Uniform(1, 100).start(3)
    acts = {"means": topk.BernoulliBandit, "arms": lambda x: session.tell(x, [1]),
            "rewards": lambda x: session.tell([0, 1], x)}
    for name, act in acts.items():
        with pytest.raises(ValueError, match=f"^{name} must .* got '{text}'"):
            act(values)
    assert topk.BernoulliBandit(pd.Series([0.1, 0.2])).means.tolist() == [0.1, 0.2]
    frame = pd.DataFrame({"a": [0, 1], "b": [1, 0]})
    for answers in (frame, frame.a, frame.groupby("a").b):
        with pytest.raises(ValueError, match="^answers must .*from_frame.*got 'a pandas"):
            topk.ReplayBandit(answers)


class Wide(topk.Bandit):
    """Beta rewards with a range set by the test."""

    def __init__(self, bounds):
        self.bounds, self.low, self.width = bounds, bounds[0], bounds[1] - bounds[0]
        self.a = np.array([6.0, 4.0, 3.0, 2.0])
        super().__init__(self.low + self.width * self.a / 8)

    def sample(self, arm, count, rng):
        return self.low + self.width * rng.beta(self.a[arm], 8 - self.a[arm], size=count)


SCALED = {
    "SAR": lambda width: topk.SAR(2, 200),
    "LUCB1": lambda width: topk.LUCB1(2, 0.1 * width, 0.1, budget=3000),
    "KLLUCB": lambda width: topk.KLLUCB(2, 0.1 * width, 0.1, budget=3000),
    "TopTwo": lambda width: topk.TopTwo(2, 0.1 * width, 0.1, budget=500),
    "AdaptiveTopK": lambda width: topk.AdaptiveTopK(2, 0.1 * width, 0.1, budget=3000),
    "UGapEb": lambda width: topk.UGapEb(2, 300, 0.1 * width, complexity=50 / width**2),
    "variance": lambda width: topk.UGapEc(2, 0.1 * width, 0.1, budget=3000, variance=True),
    "GapE": lambda width: topk.GapE(2, 300, 50 / width**2),
    "CLUCB": lambda width: topk.CLUCB(2, 0.1, budget=500),
}


@pytest.mark.parametrize("name", SCALED)
def test_a_run_does_not_depend_on_the_units(name):
    """Epsilon and the complexity are in the user's; powers of two scale without rounding."""
    strategy, unit, wide = SCALED[name], Wide((0.0, 1.0)), Wide((0.0, 4.0))
    for seed in range(3):
        one, other = topk.run(strategy(1), unit, seed), topk.run(strategy(4), wide, seed)
        assert one.pulls.tolist() == other.pulls.tolist()
        assert one.selected.tolist() == other.selected.tolist()
        assert (4 * one.sums).tolist() == other.sums.tolist()
        assert one.evidence(0.05) == pytest.approx(other.evidence(0.2))
    marks = [40, 77] if strategy(1).anytime else None
    one, other = (topk.replicate(strategy(width), bandit, 6, 3, marks)
                  for width, bandit in ((1, unit), (4, wide)))
    assert (one.selected == other.selected).all()
    regrets = 4 * one.frame().aggregate_regret
    assert other.frame().aggregate_regret.tolist() == regrets.tolist()


@pytest.mark.parametrize("levels", ["sides", "arms"])
def test_kl_lucb_of_normal_rewards_has_the_bounds_of_the_normal_mixture(levels):
    """A simulated play, held to a live one that is given its rewards, and to the intervals."""
    strategy = topk.KLLUCB(2, 0.5, 0.1, levels=levels)
    bandit = topk.GaussianBandit([3.0, 2.0, 0.0, 4.0], 1.5)
    pulled, rewards = topk.run(strategy, bandit, rng=4, trace=True).trace
    session = strategy.start(4, sigma=1.5).tell(pulled[:4], rewards[:4])
    for at in range(4, pulled.size + 2, 2):
        sums, best = session.pulls * session.means, np.argsort(-session.means)
        joint = topk.confidence.interval(session.pulls, sums, 0.1 / 4, sigma=1.5)
        low, high = joint
        if levels == "sides":  # half-normal mixtures, at 0.9 delta / 4 on each side
            level = np.log((1 + 80 / 0.9 / 2) / 2)
            u, mean = session.pulls, sums / session.pulls
            radius = 1.5 / u * np.sqrt((u + 1) * (2 * level + np.log1p(u)))
            low, high = mean - radius, mean + radius
        h, l = min(best[:2], key=low.__getitem__), max(best[2:], key=high.__getitem__)  # noqa: E741
        if session.done:
            break
        assert {*pulled[at : at + 2]} == {*session.ask()[0]} == {h, l} and high[l] - low[h] >= 0.5
        session.tell(pulled[at : at + 2], rewards[at : at + 2])
    assert session.certified and high[l] - low[h] < 0.5 and session.pulls.sum() == pulled.size
    assert session.selected.tolist() == [0, 3] and np.allclose(session.intervals(), joint)
    table = session.report().sort_values("name")
    assert np.allclose(table.low, joint[0]) and np.allclose(table.high, joint[1])
    assert topk.resume(session.state()).certified
    assert session.evidence(table.attrs["epsilon"]) <= 0.1


def test_top_two_of_normal_rewards_stops_with_the_evidence_of_the_normal_mixture():
    """Held, pull by pull, to the formulas of `topk.confidence.evidence` with sigma."""
    rng, truth, delta = RNG(6), np.array([3.0, 2.0, 0.0, 4.0]), 0.1
    for epsilon in (0.0, 0.5):
        session = topk.TopTwo(2, epsilon, delta).start(4, sigma=1.5, rng=0)
        while not session.done:
            p, (arms, _) = session.evidence(), session.ask()
            pulls, means, inside = session.pulls, session.means, session.selected
            if pulls.all():
                outside = np.setdiff1d(range(4), inside)
                lead = means[inside][:, None] - means[outside] + epsilon
                cost, lack = (pulls + 1) / pulls**2, np.log1p(pulls) / 2
                z = lead**2 / (cost[inside][:, None] + cost[outside]) / (2 * 1.5**2)
                half_logs = np.log(pulls) / 2
                key = z + half_logs[inside][:, None] + half_logs[outside]
                z -= lack[inside][:, None] + lack[outside]
                count = (4 if epsilon else 3) / 0.9
                assert p == pytest.approx(min(1, count * np.exp(-z.min()))) and p >= delta
                a, b = np.unravel_index(key.argmin(), key.shape)
                least = pulls.min() < np.sqrt(pulls.sum()) - 2
                assert arms[0] in (inside[a], outside[b]) or least
            session.tell(arms, rng.normal(truth[arms], 1.5))
        assert session.selected.tolist() == [0, 3] and session.evidence() < delta
    for bad in (-0.1, np.nan):
        with pytest.raises(ValueError, match="^epsilon"):
            topk.confidence.evidence([3, 3], [1, -2], [0], bad, sigma=1.0)


@pytest.mark.parametrize("published", [True, False])
def test_strategies_that_need_bounded_rewards_raise(published):
    strategy = topk.UGapEc(1, 0.1, 0.1, variance=True)
    if published:
        strategy = topk.KLLUCB(1, 0.1, 0.1, rate="published")
    with pytest.raises(ValueError, match="^sigma"):
        topk.run(strategy, topk.GaussianBandit([1, 0], 1.0), rng=0)


SUITED = [  # strategies with a guarantee without bounds, at sigma 3
    topk.LUCB1(1, 3.5, 0.1), topk.Racing(1, 3.5, 0.1), topk.Halving(1, 3.5, 0.1),
    topk.KLLUCB(1, 3.5, 0.1), topk.TopTwo(1, 3.5, 0.1), topk.UGapEc(1, 3.5, 0.1),
    topk.CLUCBPAC(1, 3.5, 0.1), topk.AdaptiveTopK(1, 3.5, 0.1), topk.ImprovedTopK(1, 3.5, 0.1),
    topk.UGapEb(1, 200, 3.5, complexity=2.0),
]  # fmt: skip


class Normal(topk.GaussianBandit):
    """One that is asked for every reward; test_laws.py has them drawn in compiled code."""


@pytest.mark.parametrize("strategy", SUITED, ids=repr)
def test_epsilon_is_in_the_units_of_the_rewards(strategy):
    """Far above 1 where the range is 15, and above 2 sigma; where the range is 1 it is refused."""
    wide = Wide((-3.0, 12.0))
    for bandit in (wide, Normal([9.0, 1.0, 0.0], sigma=1.5)):
        outcome = topk.run(strategy, bandit, rng=0)
        assert outcome.certified or strategy.budget
        assert bandit.means[outcome.selected[0]] > bandit.means.max() - 3.5
    with pytest.raises(ValueError, match=r"^epsilon must be a number in \[0, 1"):
        strategy.start(3)
    for study in (topk.run, lambda *given: topk.replicate(*given, runs=2, seed=0)):
        with pytest.raises(ValueError, match="^epsilon"):
            study(strategy, topk.BernoulliBandit([0.9, 0.1]))
    with pytest.raises(ValueError, match=r"^epsilon .* \[0, 3"):
        strategy.start(3, bounds=(-1, 2))
    session = topk.SAR(1, 40).start(2, bounds=(-3, 12)).tell([0, 1], [12.0, -3.0])
    assert session.evidence(14.9) <= session.evidence(3.5)
    with pytest.raises(ValueError, match=r"^epsilon .* \[0, 15"):
        session.evidence(15.0)


def played_live(session, bandit):
    """Tell a session what a bandit pays, from the same stream every time."""
    rng = RNG(5)
    for _ in range(40):
        arms, counts = session.ask()
        if not session.done:
            sums, squares = bandit.pull(arms, counts, rng)
            session.tell(arms, sums, counts, squares)
    return session


@pytest.mark.parametrize("name", SCALED)
def test_a_live_study_does_not_depend_on_the_units(name):
    rng = {"rng": 0} if name == "TopTwo" else {}
    unit = played_live(SCALED[name](1).start(4, **rng), Wide((0.0, 1.0)))
    wide = played_live(SCALED[name](8).start(4, bounds=(-2, 6), **rng), Wide((-2.0, 6.0)))
    if name != "TopTwo":  # whose coin may fall otherwise by the last bit
        assert unit.pulls.tolist() == wide.pulls.tolist()
        assert wide.means == pytest.approx(8 * unit.means - 2)
        assert np.array(wide.intervals()) == pytest.approx(8 * np.array(unit.intervals()) - 2)
        assert wide.evidence(0.8) == pytest.approx(unit.evidence(0.1))
        one, other = unit.report(), wide.report()
        assert other.name.tolist() == one.name.tolist() and other.high.max() <= 6
        assert other.low.to_numpy() == pytest.approx(8 * one.low.to_numpy() - 2)
        assert other.attrs["epsilon"] == pytest.approx(8 * one.attrs["epsilon"])
    again = topk.resume(wide.state())
    assert again.state() == wide.state() and again.means.tolist() == wide.means.tolist()


@pytest.mark.parametrize("bad", [-2.1, 6.1, np.nan])
def test_a_live_reward_out_of_bounds_is_refused_and_nothing_changes(bad):
    session = topk.SAR(1, 40).start(3, bounds=(-2, 6))
    with pytest.raises(ValueError, match=r"^rewards .*\[-2, 6\]"):
        session.tell([0, 1], [3.0, bad])
    assert session.pulls.sum() == 0
    assert session.tell([0, 1], [-2.0, 6.0]).means[:2].tolist() == [-2.0, 6.0]
