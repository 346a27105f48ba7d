"""The checks of the page on Halving and LUCB pass, and fail when they are broken."""

import math

import numpy as np
import pytest
from chapters import cells

import topk

NAME = "20-lucb"
BREAKS = [
    ("halving", "slack / 2).any()", "slack / 2).all()"),
    ("halving", "over >= keep - want + 1", "over >= keep - want + 2"),
    ("theorem-1", "K1 = 5 / 4", "K1 = 1"),
    ("theorem-1", "(bad & (low > theta))", "(bad & (up < theta))"),
    ("lemma-2", "width >= epsilon / 2", "width > epsilon / 2"),
    ("lemma-2", "np.where(rank < k, mean - width, far)", "np.where(rank < k, mean + width, far)"),
    ("lemma-3", "wide = radius(u, t, n, delta)", "wide = radius(u, t, n, delta) / 2"),
    ("lemma-4", "factor = 16", "factor = 4"),
    ("lemma-4", "assert t - 1 == 4 *", "assert t - 1 == 5 *"),
    ("lemma-5", "rounds > 2 + 32 * shares", "rounds > 2 + 36 * shares"),
    ("lemma-5", "assert g_at(705, 16) > 0", "assert g_at(700, 16) > 0"),
    ("theorem-6", "2 + 2 * (tau - 1)", "2 + 2 * tau"),
    ("theorem-6", "assert measured.high <= bound", "assert measured.high > bound"),
    ("corollary-7", "== len(theta) + 2 * first", "== len(theta) + first"),
    ("corollary-7", "reps.total_pulls > likely", "reps.total_pulls > likely / 1000"),
    ("guard", "both <= 2 * patience + 1", "both <= 2 * patience - 1"),
    ("guard", "rounds <= latest)", "rounds <= latest / 3)"),
]


@pytest.mark.parametrize("check", cells.checks(NAME))
def test_checks_pass(check):
    cells.run(NAME, check)


@pytest.mark.parametrize(("check", "old", "new"), BREAKS)
def test_broken_checks_fail(check, old, new):
    with pytest.raises(AssertionError):
        cells.run(NAME, check, old, new)


@pytest.mark.parametrize("epsilon", [0.0, 0.1])
def test_lemma_2_on_every_round_of_plays(epsilon):
    """A live play: without CROSS, one of the two arms that are asked for is needy."""
    theta, k, delta = [0.9, 0.8, 0.5, 0.4, 0.1], 2, 0.2
    n, c = len(theta), 0.65
    for seed in range(3):
        rng = np.random.default_rng(seed)
        session = topk.LUCB1(k, epsilon, delta).start(n)
        session.tell(np.arange(n), rng.random(n) < theta)
        t = 1
        while not session.done:
            log = math.log(1.25 * n * t**4 / delta)
            needy, crossed = set(), False
            for arm, (u, mean) in enumerate(zip(session.pulls, session.means, strict=True)):
                beta = math.sqrt(log / (2 * u))
                crossed |= mean + beta < c if arm < k else mean - beta > c
                if mean - beta <= c <= mean + beta and beta >= epsilon / 2:
                    needy.add(arm)
            arms, _ = session.ask()
            assert crossed or needy & set(arms.tolist())
            session.tell(arms, rng.random(len(arms)) < np.array(theta)[arms])
            t += 1
        assert t > 50
