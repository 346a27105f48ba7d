"""Rewards that are not Bernoulli: compiled draws and the bandit's draws agree."""

import numpy as np
import pytest

import topk
from topk.simulate.play import Play

MEANS = np.linspace(0.2, 0.8, 7)
RECORDS = [np.arange(arm, 2 * arm + 5) % 13 / 4 - 1 for arm in range(7)]  # of 5 and more rewards


class Ones(topk.BetaBandit):
    """Beta arms with their own sampler."""

    def sample(self, arm, count, rng):
        return np.ones(count)


BANDITS = {
    "beta": topk.BetaBandit(4 * MEANS, 4 - 4 * MEANS),
    "gaussian": topk.GaussianBandit(100 * MEANS, sigma=30.0),
    "replay": topk.ReplayBandit(RECORDS, bounds=(-1, 2.5)),
    "subclass": Ones(4 * MEANS, 4 - 4 * MEANS),
}
STRATEGIES = {
    "pairs": topk.LUCB1(2, epsilon=0.0, delta=0.1, budget=1001),
    "twice first": topk.UGapEc(2, epsilon=0.01, delta=0.1, budget=600, variance=True),
}


@pytest.mark.parametrize("strategy", STRATEGIES.values(), ids=STRATEGIES)
@pytest.mark.parametrize("kind", BANDITS)
def test_a_run_is_the_same_drawn_in_compiled_code(kind, strategy):
    """With a trace the bandit is asked for every reward; so are the checkpoints' last batches."""
    if kind == "gaussian" and strategy.bounded:
        pytest.skip("variances need bounded rewards")
    bandit = BANDITS[kind]
    assert Play(strategy, bandit, 0, 0).fused  # a subclass's own law is drawn ahead
    for seed in range(3):
        asked, drawn = (topk.run(strategy, bandit, rng=seed, trace=x) for x in (True, False))
        for name in ("selected", "pulls", "sums", "stopped"):
            assert np.array_equal(getattr(asked, name), getattr(drawn, name)), name
    found = topk.replicate(strategy, bandit, runs=2, seed=seed, checkpoints=[20, 21, 500])
    assert np.array_equal(found.pulls[0], drawn.pulls)
    assert np.array_equal(found.sums[0], drawn.sums)
