"""Bounds not of the form mean -+ s / sqrt(pulls): tournaments against scans, and KL bounds."""

import math
from dataclasses import dataclass

import numpy as np
import pytest
from engine.searching import call

import topk
from topk.confidence.kl import kl_log_ratio_scalar
from topk.rules.indices import highest, inside, kth, lowest
from topk.rules.search.top_k_scan import TOP_K_SCAN
from topk.rules.search.top_k_trees import TOP_K_TREES
from topk.simulate.play import Play


@dataclass(frozen=True)
class Odd(topk.Indices):
    """Bounds so coarse that they tie all the time, or that grow from elsewhere than the mean."""

    k: int
    budget: int
    coarse: bool = True

    @topk.rule
    def scale(s):
        return 0.0 if s.coarse else math.sqrt(1 + math.log(s.now.rounds))

    @topk.rule
    def line(s, arm):
        u, ones = s.pulls[arm], s.sums[arm]
        if s.coarse:
            return math.floor(3 * ones / u - 9 / u), math.ceil(3 * ones / u + 9 / u), 0.0
        return ones / u - 1 / u, ones / u + 2 / u, 1 / math.sqrt(u)

    @topk.rule
    def pick(s):
        return lowest(s), highest(s)


PLAYED = [
    (n, make(k))
    for n, k in ((2, 1), (5, 4), (9, 3), (64, 20), (300, 7))
    for make in (
        lambda k: topk.LUCB1(k, 0.0, 0.1, budget=3000),
        lambda k: topk.GapE(k, budget=3000, complexity=300.0),
        lambda k: topk.KLLUCB(k, 0.0, 0.1, budget=3000),
        lambda k: Odd(k, budget=3000),
        lambda k: Odd(k, budget=3000, coarse=False),
    )
]


@pytest.mark.parametrize(("n", "strategy"), [
    pytest.param(n, strategy, id=f"{n}-{strategy!r}", marks=[pytest.mark.slow] if n > 9 else [])
    for n, strategy in PLAYED])
def test_the_pulls_are_those_of_a_look_at_all_arms(n, strategy):
    """With ties, and with real rewards."""
    means = np.round(np.linspace(0.9, 0.1, n), 1)
    for bandit in topk.BernoulliBandit(means), topk.BetaBandit(4 * means, 4 - 4 * means):
        found = []
        for search in (TOP_K_SCAN, TOP_K_TREES):
            play = Play(strategy, bandit, 5, 0, search=search)
            play.advance()
            found.append((play.outcome().pulls.tolist(), play.outcome().selected.tolist()))
        assert found[0] == found[1] and sum(found[0][0]) > n


@pytest.mark.parametrize("coarse", [True, False])
def test_the_winners_have_the_best_bounds(coarse):
    rng = np.random.default_rng(1)
    session = Odd(4, budget=2000, coarse=coarse).start(11)
    while not session.done:
        arms, _ = session.ask()
        session.tell(arms, (rng.random(arms.size) < 0.5).astype(float))
        if rng.random() < 0.01 and session.n - len(session.withdrawn) > 5 and not session.done:
            session.withdraw(int(rng.integers(11)))
        play, s = session.engine, session.engine.s
        here = sorted({*range(11)} - {*session.withdrawn})
        ranked = sorted(here, key=lambda arm: (-s.sums[arm] / s.pulls[arm], arm))
        chosen, rest = sorted(ranked[:4]), sorted(ranked[4:])
        assert [arm for arm in range(11) if call(play, inside, arm)] == chosen
        low, high = {}, {}
        for arm in here:
            below, above, weight = Odd.line(s, arm)
            low[arm], high[arm] = below - s.now.scale * weight, above + s.now.scale * weight
        assert call(play, kth) == s.sums[ranked[3]] / s.pulls[ranked[3]]
        assert call(play, lowest) == min(chosen, key=lambda arm: (low[arm], arm))
        assert call(play, highest) == min(rest, key=lambda arm: (-high[arm], arm))
        for shown, own in zip(session.intervals(), (low, high), strict=True):
            assert shown[here].tolist() == np.clip([own[arm] for arm in here], 0, 1).tolist()
    assert session.withdrawn


def test_a_fall_has_its_divergence():
    """kl(m, m exp(-x)) is the level to ten places or what floats can tell, up to 10**9 pulls."""
    rng = np.random.default_rng(2)
    for _ in range(3000):
        u = math.floor(10 ** rng.uniform(0, 9))
        ones = rng.choice([math.floor(u * rng.random() ** 4), u * rng.random(), u - 1])
        mean, other, level = ones / u, (u - ones) / u, rng.uniform(0.5, 700) / u
        x = kl_log_ratio_scalar(mean, other, level)
        if 0 < mean < 1:
            down = -mean * math.expm1(-x)
            there = mean * x - other * math.log1p(down / other)
            assert there == pytest.approx(level, rel=1e-10 + 4e-16 * mean * x / level)
    assert kl_log_ratio_scalar(1.0, 0.0, 0.3) == 0.3


def test_kl_bounds_hold_more_than_those_of_the_mixture_itself():
    """The rate is at most 0.468 nats above the mixture, so that its bounds are a bit wider."""
    session, rng = topk.KLLUCB(2, 0.0, 0.1).start(4), np.random.default_rng(3)
    means = np.array([0.02, 0.5, 0.5, 0.9])
    for _ in range(300):
        arms, _ = session.ask()
        session.tell(arms, (rng.random(arms.size) < means[arms]).astype(float))
    low, high = session.intervals()
    sums = session.means * session.pulls
    inner_low, inner_high = topk.confidence.interval(session.pulls, sums, 0.1 / 4)
    delta = 0.1 / 4 * math.exp(-0.468)
    outer_low, outer_high = topk.confidence.interval(session.pulls, sums, delta)
    assert (low <= inner_low + 1e-12).all() and (inner_high <= high + 1e-12).all()
    assert (outer_low <= low + 1e-12).all() and (high <= outer_high + 1e-12).all()


def test_a_rule_with_a_line_is_scanned_for_few_arms_only():
    strategy = topk.KLLUCB(1, 0.0, 0.1)
    assert strategy.search_for(strategy.scan_up_to) == TOP_K_SCAN
    assert strategy.search_for(strategy.scan_up_to + 1) == TOP_K_TREES
    assert strategy.search_for(math.inf) == TOP_K_TREES
