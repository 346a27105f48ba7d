"""LUCB1 in ordinary numba, which the page on speed compares with the library's: the same pulls."""

import numpy as np
import pytest

import topk
from benchmarks.lucb import lucb1


def of_the_library(means, k, epsilon, delta, most, rng):
    """Return pulls, sums and chosen arms of a live session that takes rewards from ``rng``."""
    strategy = topk.LUCB1(k, epsilon, delta, budget=most)
    session = strategy.start(means.size)
    while not session.done:
        arms, counts = session.ask()
        assert (counts == 1).all()
        sums = [float(rng.random() < means[arm]) for arm in arms]
        session.tell(arms, sums=sums, counts=counts)
    chosen = np.isin(np.arange(means.size), session.selected)
    return session.pulls, session.means * session.pulls, chosen


@pytest.mark.parametrize(("n", "k", "epsilon", "most"), [
    (2, 1, 0.0, 500), (6, 2, 0.0, 1_001), (20, 5, 0.1, 1_000), (60, 59, 0.0, 1_000),
    (7, 3, 0.9, 1_000), (300, 30, 0.0, 1_000),
])
@pytest.mark.parametrize("seed", range(3))
def test_ordinary_numba_makes_the_pulls_of_the_library(n, k, epsilon, most, seed):
    means = np.random.default_rng([seed, n]).random(n).round(1)  # with ties
    found = lucb1(means, k, epsilon, 0.1, most, np.random.default_rng(seed))
    expected = of_the_library(means, k, epsilon, 0.1, most, np.random.default_rng(seed))
    for ours, theirs in zip(found, expected, strict=True):
        np.testing.assert_allclose(ours, theirs, rtol=1e-12)
    if epsilon == 0.9:
        assert found[0].sum() < most  # it stopped by its own rule
