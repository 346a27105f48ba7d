"""Results of "Optimal pulls in the worst case", in closed form and in small cases."""

import itertools
import math

import numpy as np
import pytest
from scipy.stats import binom

import topk
from topk.guarantees import ar_regret, qe_regret
from topk.hardness import bernoulli_kl


def test_proposition_1_1_in_closed_form():
    # The Kullback-Leibler form is the product as printed, and dominates Hoeffding's.
    for a, t in itertools.product((0.05, 0.4, 0.9), (0.01, 0.04, 0.099)):
        printed = (a / (a + t)) ** (a + t) * ((1 - a) / (1 - a - t)) ** (1 - a - t)
        exponent = float(bernoulli_kl(np.array([a + t]), np.array([a]))[0])
        assert math.exp(-exponent) == pytest.approx(printed)
        assert exponent >= 2 * t**2
        m = 50
        assert binom.sf(math.ceil(m * (a + t) - 1e-9) - 1, m, a) <= printed**m


def test_proposition_1_2_by_simulation():
    # 10^5 draws at a bound of exp(-8): 33.5 expected at most; 100 has probability < 1e-17.
    size, epsilon, t = 8, 0.3, 2 / 0.09
    rng = np.random.default_rng(1)
    harm = np.linspace(0.1, 0.8, size)
    happened = rng.random((100_000, size)) < np.exp(-(harm**2) * t)
    assert ((happened * harm).mean(axis=1) > epsilon).sum() < 100
    # Lemma 4.1 uses it at eps / 2 and t = 2 Q_0: what is left of delta / 2 is not negative.
    for k, delta in itertools.product((1, 9), (0.5, 1e-6)):
        x = qe_regret(4 * k, k, 4 * k, delta) ** 2
        assert math.exp(-x * k / 4) <= delta / 2


@pytest.mark.parametrize(("k", "s"), [(1, 2), (1, 4), (2, 3), (2, 5)])
def test_lemma_4_2_exactly_in_small_cases(k, s):
    # Every outcome of one round of Q_0 Bernoulli pulls an arm, enumerated.
    q0, delta = (6, 0.6) if s < 5 else (4, 0.6)
    published = ar_regret(s, k, s * q0, delta, published=True)
    sharp = math.sqrt((s * math.log(2) + math.log(1 / delta)) / (q0 * k))
    assert sharp < published < ar_regret(s, k, s * q0, delta)
    for level in (sharp, sharp / 2):
        promised = min(1.0, 2**s * math.exp(-(level**2) * q0 * k))
        for theta in ([0.9, 0.1, 0.1, 0.1, 0.1], [0.8, 0.7, 0.3, 0.2, 0.1], [1, 0.5, 0.5, 0.5, 0]):
            theta = np.array(theta[:s])
            failed = 0.0
            for ones in itertools.product(range(q0 + 1), repeat=s):
                chance = binom.pmf(ones, q0, theta).prod()
                if chance > 0 and loss_of_accept_reject(np.array(ones), theta, k) > level * k:
                    failed += chance
            assert failed <= promised + 1e-12


def loss_of_accept_reject(ones, theta, k):
    order = np.argsort(-ones, kind="stable")
    ranked, first, last = ones[order], 0, ones.size
    while first < k and 4 * (last - first) > 3 * ones.size:
        accept, reject = (k - first, 0) if k == ones.size else (0, 0)
        if k < ones.size:
            accept, reject = ranked[first] - ranked[k], ranked[k - 1] - ranked[last - 1]
        if accept > reject or (accept == reject and k - first > last - k):
            first += 1
        else:
            last -= 1
    left = np.sort(theta[order[first:last]])[::-1][: k - first]
    return np.sort(theta)[::-1][:k].sum() - theta[order[:first]].sum() - left.sum()


def test_remark_4_1_final_batch():
    # One batch over fewer than 4 k arms, of all that is left, and then the k best of them.
    n, k, budget = 300, 12, 30_000
    session = topk.OptMAI(k, budget, final="uniform").start(n)
    rng = np.random.default_rng(4)
    means = rng.random(n)
    sizes = []
    while not session.done:
        arms, counts = session.ask()
        sizes.append(arms.size)
        session.tell(arms, rng.binomial(counts, means[arms]), counts=counts)
    assert sizes[-1] < 4 * k <= sizes[-2]
    assert sizes[1:] == [s - math.ceil(s / 4) for s in sizes[:-1]]
    assert session.pulls.sum() == budget and np.ptp(counts) <= 1
    assert np.isin(session.selected, arms).all()
