"""Every bound against its formula and its inverse, except for what pages check."""

import itertools
import math

import numpy as np
import pytest

import topk
from topk import guarantees as g
from topk import hardness
from topk._ranges import improved_topk_constants
from topk.guarantees.adaptive import BETA


def random_instance(rng, largest=20):
    n = int(rng.integers(2, largest))
    return rng.random(n), int(rng.integers(1, n))


# Bubeck et al. (2013)


def test_bubeck_theorems_1_and_2_and_the_inverse():
    rng = np.random.default_rng(1)
    assert g.log_bar(9) == pytest.approx(0.5 + sum(1 / i for i in range(2, 10)))
    for _ in range(200):
        means, k = random_instance(rng)
        n, budget = means.size, means.size + int(rng.integers(0, 10_000))
        exponent = (budget - n) / (8 * g.log_bar(n) * hardness.h2(means, k))
        assert g.sar_exponent(means, k, budget) == pytest.approx(exponent)
        assert g.sar_error(means, k, budget) == pytest.approx(2 * n**2 * math.exp(-exponent))
        rows = [means, rng.random(n)]
        several = (budget + n - 2 * n) / (8 * g.log_bar(2 * n) * hardness.h_multibandit(rows)[1])
        assert g.sar_exponent(rows, 1, budget + n) == pytest.approx(several)
        error = 2 * (2 * n) ** 2 * math.exp(-several)
        assert g.multibandit_sar_error(rows, budget + n) == pytest.approx(error)
        needed = g.sar_budget(means, k, 0.05)
        assert g.sar_error(means, k, needed) <= 0.05 * (1 + 1e-9)
        assert g.sar_error(means, k, max(n, needed - 2)) > 0.05 * (1 - 1e-9) or needed <= n + 2


def test_windows_shrink_with_the_gaps():
    means = [0.2, 0.9, 0.5, 0.3]  # gaps for k = 2: .3, .6, .2, .2
    assert g.sar_windows(means, 2) == pytest.approx([0.15, 0.075, 0.05])
    assert g.sar_windows(means, 2, part=1) == pytest.approx([0.6, 0.3, 0.2])
    for k in (1, 2, 3):
        brute = sorted(hardness.gaps(means, k), reverse=True)[:-1]
        assert g.sar_windows(means, k) == pytest.approx(np.array(brute) / 4)
    assert g.sar_windows([means], 1) == pytest.approx(g.sar_windows(means, 1))
    rows = [[0.9, 0.4, 0.3], [0.2, 0.1, 0.7]]  # gaps .5 .5 .6 and .5 .6 .5
    assert g.sar_windows(rows, 1) == pytest.approx(np.array([0.6, 0.6, 0.5, 0.5, 0.5]) / 4)


def test_an_average_off_by_counting():
    for mean, pulls, off in ((0.3, 7, 0.2), (0.5, 4, 0.25), (0.9, 10, 0.1), (0.0, 3, 0.0)):
        law = [math.comb(pulls, s) * mean**s * (1 - mean) ** (pulls - s) for s in range(pulls + 1)
               if abs(s / pulls - mean) > off + 1e-9]
        exact = g.average_off(mean, pulls, off)
        assert exact == pytest.approx(sum(law), abs=1e-15)
        assert exact <= 2 * math.exp(-2 * pulls * off**2)
    table = g.average_off([[0.2], [0.6]], [5, 9], [0.3, 0.1])
    assert table.shape == (2, 2)
    assert table[1, 0] == pytest.approx(g.average_off(0.6, 5, 0.3))


# Zhou et al. (2014)


def test_losses_of_lemmas_4_1_and_4_2():
    for size, k, delta in itertools.product((1, 39, 40), (10, 13), (1e-6, 0.1, 0.9)):
        each, log = size / 39_000, math.log(2 / delta) / k
        assert g.qe_regret(40 * k, k, 39_000, delta) ** 2 == pytest.approx(
            40 * k / 39_000 * (10 + 4 * log))
        assert g.ar_regret(size, k, 39_000, delta) ** 2 == pytest.approx(8 * each * (4 + log))
        printed = g.ar_regret(size, k, 39_000, delta, published=True)
        assert printed**2 == pytest.approx(each * (4 + log))


@pytest.mark.parametrize(("n", "k"), [(1000, 1), (1000, 500), (1000, 900), (50, 49)])
def test_optmais_regret_and_pulls_are_inverse(n, k):
    pulls = g.optmai_pulls(n, k, 0.1, 0.1)
    assert g.optmai_regret(n, k, pulls, 0.1) == pytest.approx(0.1, rel=1e-4)


def test_theorem_4_3_largest_load():
    for n, beta in [(1000, 0.8), (1000, 0.9), (164, 0.9)]:
        budget = 50 * n
        bandit = topk.instances.two_point(n, 20)
        reps = topk.replicate(topk.OptMAI(20, budget, beta=beta), bandit, runs=10, seed=1)
        inflated = budget / (1 - beta ** (math.log(n) / math.log(4 / 3)))
        rounds = math.ceil(math.log(n) / math.log(4 / 3)) + 1
        assert reps.pulls.max() <= g.optmai_arm_pulls(n, math.ceil(inflated), beta) + rounds
    # O(Q / n^0.3) for the theorem's beta
    loads = [g.optmai_arm_pulls(n, n, BETA) * n**0.3 / n for n in (10**3, 10**6)]
    assert max(loads) < 10


# Kalyanakrishnan et al. (2012)


def log_t4(n, delta, t):
    return math.log(1.25 * n * t**4 / delta)


def test_kalyanakrishnan_lemma_3_bound():
    n, delta, t = 5, 0.3, 9
    brute = n * sum(math.exp(-2 * u * log_t4(n, delta, t) / (2 * u)) for u in range(1, t + 1))
    assert g.lucb1_crossing(t, delta) == pytest.approx(brute)


def test_lemma_5_tail_of_the_two_events():
    # Between T/2 and T: some CROSS, or some arm needy beyond 16 u*: below 2 delta / T^2.
    means, k, epsilon, delta = [1.0, 0.1, 0.0], 1, 0.05, 0.9
    first = g.lucb1_rounds(means, k, epsilon, delta)
    for rounds in (first, 3 * first):
        total = sum(g.lucb1_crossing(t, delta) + g.lucb1_needy(means, k, epsilon, delta, t)
                    for t in range(math.ceil(rounds / 2), rounds))
        assert total < 2 * delta / rounds**2
        overrun = g.lucb1_overrun(means, k, epsilon, delta, rounds)
        assert overrun == pytest.approx(4 * delta / rounds**2, rel=1e-15)


def test_theorem_6_sums_lemma_5():
    means, k, epsilon, delta = [0.9, 0.1], 1, 0.0, 0.5
    first = g.lucb1_rounds(means, k, epsilon, delta)
    tail = sum(4 * delta / t**2 for t in range(first, 10**6))
    expected = g.lucb1_expected_pulls(means, k, epsilon, delta)
    assert expected == pytest.approx(2 + 2 * (first + tail), abs=1e-5)
    assert g.lucb1_likely_pulls(means, k, epsilon, delta) == 2 + 2 * first
    assert 4 * delta / first**2 <= delta
    assert first == math.ceil(705 * 3.125 * math.log(3.125 / 0.5))
    gap = math.sqrt(2 / 363.6)  # the reference's example
    published = g.lucb1_rounds([0.5 + gap, 0.5], 1, 0.0, 0.1, published=True)
    assert published == pytest.approx(435_233, rel=1e-3)


def test_halving_pulls_agrees_with_runs_and_is_below_the_closed_form():
    for n, k, epsilon in [(8, 2, 0.5), (20, 3, 0.5), (21, 10, 0.5), (1000, 100, 0.1)]:
        bandit = topk.BernoulliBandit(np.linspace(0.1, 0.9, n))
        made = topk.run(topk.Halving(k, epsilon=epsilon, delta=0.1), bandit, rng=0).total_pulls
        assert made == g.halving_pulls(n, k, epsilon, 0.1)
        assert made <= n / epsilon**2 * (288 * math.log(6 * k / 0.1) + 1598) + 2 * n
    assert g.halving_pulls(37, 37, 0.3, 0.2) == 0
    assert g.direct_pulls(10, 0.2, 0.1) == 10 * math.ceil(50 * math.log(100))


# Gabillon et al. (2012)


def test_gabillon_theorem_1_and_its_inverse():
    rng = np.random.default_rng(4)
    for _ in range(100):
        means, k = random_instance(rng)
        n, epsilon = means.size, float(rng.uniform(0.02, 0.4))
        h = hardness.ugape_complexity(means, k, epsilon)
        budget = n + int(rng.integers(1, 10_000))
        best = 2 * n * budget * math.exp(-(budget - n) / (2 * h))
        assert g.ugapeb_error(means, k, budget, epsilon) == pytest.approx(best)
        rows = [means, rng.random(n)]
        several = (budget - n) / (2 * hardness.ugape_complexity(rows, k, epsilon))
        error = 4 * n * (budget + n) * math.exp(-several)
        assert g.ugapeb_error(rows, k, budget + n, epsilon) == pytest.approx(error)
        a = (budget - n) / (4 * h) / 3
        at_a = g.ugapeb_error(means, k, budget, epsilon, a)
        assert at_a == pytest.approx(2 * n * budget * math.exp(-2 * a)) and at_a >= best
        needed = g.ugapeb_budget(means, k, epsilon, 0.05)
        assert g.ugapeb_error(means, k, needed, epsilon) <= 0.05 * (1 + 1e-9)
        assert g.ugapeb_error(means, k, needed - 1, epsilon) > 0.05 * (1 - 1e-9)


def ugapec_may_need(pulls, means, k, epsilon, delta):
    """The right side of Theorem 2 of Gabillon et al. (2012), which the pulls do not exceed."""
    log_term = math.log(4 * means.size * (pulls - 1) ** 3 / delta)
    return 2 * hardness.ugape_complexity(means, k, epsilon) * log_term + means.size


def clucb_may_need(pulls, means, k, epsilon, delta, R=0.5):
    total = sum(min(d**-2, 0.25 / epsilon**2) for d in hardness.gaps(means, k))
    return means.size + 32 * R**2 * math.log(4 * means.size * pulls**3 / delta) * total


@pytest.mark.parametrize(("bound", "may_need", "given"), [
    (g.ugapec_pulls, ugapec_may_need, {}), (g.clucb_pac_pulls, clucb_may_need, {}),
    (g.clucb_pac_pulls, clucb_may_need, {"R": 1.0}),
])
def test_implicit_bounds_are_solved(bound, may_need, given):
    rng = np.random.default_rng(5)
    for _ in range(200):
        case = *random_instance(rng), rng.uniform(0.02, 0.4), 10 ** rng.uniform(-9, -0.1)
        last = bound(*case, **given)
        assert may_need(last, *case, **given) >= last
        assert all(may_need(x, *case, **given) < x for x in (last + 10**j for j in range(12)))


# Chen et al.


def test_theorem_4_sum_is_at_most_the_closed_form():
    rng = np.random.default_rng(7)
    for _ in range(300):
        means, k = random_instance(rng, 40)
        epsilon, delta = float(10 ** rng.uniform(-3, -0.1)), float(10 ** rng.uniform(-9, -0.1))
        n = means.size
        pulls = g.adaptive_topk_pulls(means, k, epsilon, delta)
        t = hardness.tolerance(means, k, epsilon, sides="top")
        boundary = hardness.psi(means, k, 0.0, t=t, sides="top")
        rounds = [
            max(r for r in range(40) if 4**r <= 64 / max(d, boundary) ** 2 and 2**r * epsilon < 4)
            for d in hardness.gaps(means, k)]
        brute = sum(math.ceil(4**j * math.log(2 * n * j * j / delta)) for r in rounds
                    for j in range(1, r + 1))
        assert pulls == brute
        complexity = hardness.topk_complexity(means, k, epsilon, sides="top")
        closed = 256 / 3 * math.log(2 * n * max(rounds) ** 2 / delta) * complexity
        assert pulls <= closed + sum(rounds)


def test_theorem_2_order():
    means = [0.9, 0.5, 0.1]
    h = hardness.topk_complexity(means, 1, 0.1)
    got = g.improved_topk_order(means, 1, 0.1, 0.05, constant=3.0)
    assert got == pytest.approx(3 * h * (math.log(10) + math.log(20)))
    assert g.improved_topk_order(means, 1, 0.9, 0.05) == g.improved_topk_order(means, 1, 0.5, 0.05)


def test_theorem_2_with_every_constant():
    """Against the sums of the proof, arm by arm; its order, and plays, are its page's."""
    rng = np.random.default_rng(12)
    for _ in range(60):
        n = int(rng.integers(2, 60))
        k, epsilon = int(rng.integers(1, n)), float(rng.uniform(0.005, 0.9))
        means, delta = rng.random(n), float(rng.uniform(0.01, 0.9))
        eps = min(epsilon, 0.5)
        R = math.ceil(math.log2(2 / eps))
        boundary = hardness.psi(means, k, 0.0, t=hardness.tolerance(means, k, eps))
        M, largest = 0, 0
        for r in (r for r in range(1, R + 1) if 2**r * boundary < 40):
            here = sum(r == 1 or 5 * 2.0 ** (1 - r) >= gap for gap in hardness.gaps(means, k))
            M, largest = M + 4**r * here, max(largest, 4**r * here)
        L = math.log(4000 * R**3 / (delta * eps))
        assert improved_topk_constants(eps, delta) == pytest.approx((R, L))
        bound = g.improved_topk_pulls(means, k, epsilon, delta)
        rounds = (1.5 * (360 * L + 2880 * math.log(2) + 0.625) + 33 * (L / 2 + 0.25)) * M
        assert 1.01 * rounds < bound < 1.5 * rounds + 3e7 * largest * (1 + math.log(1 / delta))


# The table


def test_plan_is_sorted_and_worst_without_means():
    worst = g.plan(30, 5, 0.1, 0.05)
    known = g.plan(30, 5, 0.1, 0.05, means=np.linspace(0.1, 0.9, 30))
    for table in (worst, known):
        explicit = table[table["constant"] != "order only"]
        assert explicit["pulls"].is_monotonic_increasing
        assert (table["constant"].iloc[len(explicit) :] == "order only").all()
    both = worst.merge(known, on=["strategy", "theorem"])
    assert (both["pulls_y"] <= both["pulls_x"]).all() and len(both) == len(worst)
    assert "SAR" not in set(worst["strategy"]) and "SAR" in set(known["strategy"])


def test_a_plan_in_the_units_of_the_rewards():
    """A regression test: grades from 1 to 9 were treated as rewards in [0, 1]."""
    means = np.linspace(0.25, 0.875, 12)
    unit, grades = g.plan(12, 3, 0.125, 0.05), g.plan(12, 3, 1.0, 0.05, bounds=(1, 9))
    assert grades.equals(unit) and g.plan(12, 3, 0.125, 0.05, bounds=(0, 1)).equals(unit)
    known = g.plan(12, 3, 0.125, 0.05, means)
    assert g.plan(12, 3, 1.0, 0.05, 1 + 8 * means, bounds=(1, 9)).equals(known)
    for name, wrong in {"epsilon": {"epsilon": 8.0}, "means": {"means": [0.5] * 12},
                        "bounds": {"bounds": (9, 1)}, "n": {"n": 1}}.items():
        given = {"n": 12, "k": 3, "epsilon": 1.0, "delta": 0.05, "bounds": (1, 9)} | wrong
        with pytest.raises(ValueError, match=f"^{name} must be"):
            g.plan(**given)


def test_tied_boundary_without_tolerance_gives_inf():
    tied = [0.5, 0.5, 0.1]
    for bound in (g.sar_budget(tied, 1, 0.1), g.ugapeb_budget(tied, 1, 0.0, 0.1),
                  g.ugapec_pulls(tied, 1, 0.0, 0.1), g.clucb_pac_pulls(tied, 1, 0.0, 0.1),
                  g.adaptive_topk_pulls(tied, 1, 0.0, 0.1), g.lucb1_rounds(tied, 1, 0.0, 0.1),
                  g.lucb1_expected_pulls(tied, 1, 0.0, 0.1),
                  g.lucb1_likely_pulls(tied, 1, 0.0, 0.1), g.lucb1_needy(tied, 1, 0.0, 0.1, 5)):
        assert bound == math.inf
    assert g.sar_error(tied, 1, 100) == 2 * 9


def configurations(seed, count, coarse=False):
    """Means, radii and k at random; with ``coarse`` many bounds are tied."""
    rng = np.random.default_rng(seed)
    for _ in range(count):
        n = int(rng.integers(2, 9))
        means, radii = rng.random(n), rng.uniform(0.01, 0.7, n)
        if coarse:
            means, radii = np.ceil(means * 4) / 4, np.ceil(radii * 4) / 8
        yield means, radii, int(rng.integers(1, n))


@pytest.mark.parametrize("coarse", [False, True])
def test_ugapes_step_by_its_definitions(coarse):
    for means, radii, k in configurations(3, 4000, coarse):
        step = g.ugape_step(means, radii, k)
        upper, lower = means + radii, means - radii
        for i in range(means.size):  # the index by its definition
            assert step.index[i] == np.sort(np.delete(upper, i))[-k] - lower[i]
        assert step.candidates.tolist() == sorted(np.argsort(step.index, kind="stable")[:k])
        rest = np.setdiff1d(np.arange(means.size), step.candidates)
        for arm, among, bound in ((step.best_outside, rest, -upper),
                                  (step.worst_inside, step.candidates, lower)):
            best = among[bound[among] == bound[among].min()]  # of equal ones the widest, the first
            assert arm == best[radii[best] == radii[best].max()][0]
        pair = sorted((step.best_outside, step.worst_inside))
        assert step.pulled == max(pair, key=lambda arm: radii[arm])
        assert step.index_of_set == step.index[step.candidates].max()
        assert step.between == upper[step.best_outside] - lower[step.worst_inside]


def test_to_choose_all_arms_takes_no_pulls():
    assert g.optmai_pulls(10, 10, 0.1, 0.1) == 0
    with pytest.raises(ValueError, match="^k must be an integer from 1 to 10, got 11"):
        g.optmai_pulls(10, 11, 0.1, 0.1)
