"""Lemma 2 of Kalyanakrishnan et al. (2012) in every round of plays."""

import math

import numpy as np
import pytest

import topk


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
