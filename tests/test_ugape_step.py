"""UGapE's step in its plain form: against the strategy, and Gabillon et al.'s lemmas on it."""

import itertools

import numpy as np
import pytest

import topk
from topk.guarantees import ugape_ceiling, ugape_step


def configurations(seed, count, coarse=False):
    """Means, radii and k at random; with ``coarse`` many bounds are tied."""
    rng = np.random.default_rng(seed)
    for _ in range(count):
        n = int(rng.integers(2, 9))
        means, radii = rng.random(n), rng.uniform(0.01, 0.7, n)
        if coarse:
            means, radii = np.ceil(means * 4) / 4, np.ceil(radii * 4) / 8
        yield means, radii, int(rng.integers(1, n))


def test_index_is_what_its_definition_says():
    for means, radii, k in configurations(1, 300, coarse=True):
        step = ugape_step(means, radii, k)
        for i in range(means.size):
            others = np.sort(np.delete(means + radii, i))[::-1]
            assert step.index[i] == others[k - 1] - (means[i] - radii[i])


def test_the_strategy_pulls_what_the_plain_form_pulls():
    bandit = topk.BernoulliBandit([0.9, 0.7, 0.65, 0.6, 0.2])
    session = topk.UGapEb(2, budget=300, epsilon=0.0, a=1.5).start(5)
    rng = np.random.default_rng(2)
    followed = 0
    while not session.done:
        arms, counts = session.ask()
        if (session.pulls > 0).all():
            step = ugape_step(session.means, np.sqrt(1.5 / session.pulls), 2)
            gaps = np.abs(np.subtract.outer(step.index, step.index))[np.triu_indices(5, 1)]
            if gaps.min() > 1e-9:  # rounding settles no tie
                assert arms.tolist() == [step.pulled]
                followed += 1
        session.tell(arms, bandit.pull(arms, counts, rng).sums, counts=counts)
    assert followed > 50


@pytest.mark.parametrize("coarse", [False, True])
def test_lemma_3_lemma_4_and_corollary_1(coarse):
    pulled_outside = 0
    for means, radii, k in configurations(3, 4000, coarse):
        step = ugape_step(means, radii, k)
        upper, lower = means + radii, means - radii
        assert step.index_of_set <= step.between + 1e-12
        if step.pulled == step.best_outside:
            pulled_outside += 1
            assert lower[step.best_outside] <= lower[step.worst_inside] + 1e-12
        else:
            assert upper[step.best_outside] <= upper[step.worst_inside] + 1e-12
        assert step.between <= 2 * radii[step.pulled] + 1e-12
    assert 400 < pulled_outside < 3600


def test_lemma_1_and_lemma_2_where_all_intervals_hold():
    rng = np.random.default_rng(4)
    for means, radii, k in configurations(5, 1500):
        truth = means + radii * rng.uniform(-1, 1, means.size)
        order = np.argsort(-truth)
        best, kth, after = set(order[:k].tolist()), truth[order[k - 1]], truth[order[k]]
        step = ugape_step(means, radii, k)
        for chosen in itertools.combinations(range(means.size), k):
            if set(chosen) != best:
                assert step.index[list(chosen)].max() >= kth - truth[list(chosen)].min() - 1e-12
        arm = step.pulled
        gap = truth[arm] - after if arm in best else kth - truth[arm]
        assert step.index_of_set <= ugape_ceiling(gap, radii[arm]) + 1e-12


@pytest.mark.parametrize(
    ("call", "name"),
    [
        (lambda: ugape_step([0.5, np.nan], [0.1, 0.1], 1), "means"),
        (lambda: ugape_step([[0.5, 0.4]], [[0.1, 0.1]], 1), "means"),
        (lambda: ugape_step([0.5, 0.4], [0.1], 1), "radii"),
        (lambda: ugape_step([0.5, 0.4], [0.1, 0.0], 1), "radii"),
        (lambda: ugape_step([0.5, 0.4], [0.1, 0.1], 2), "k"),
        (lambda: ugape_ceiling(-0.1, 0.1), "gap"),
        (lambda: ugape_ceiling(0.1, 0.0), "radius"),
    ],
)
def test_bad_arguments_are_refused_by_name(call, name):
    with pytest.raises(ValueError, match=f"^{name}"):
        call()
