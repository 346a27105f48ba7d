"""Measures of hardness: definitions, relations from the papers, and certificates."""

import math
import warnings
from fractions import Fraction

import numpy as np
import pytest
from scale import amount

from topk import hardness
from topk.hardness import characteristic_time
from topk.instances import sar_budget, sar_experiment


@pytest.fixture(autouse=True)
def warnings_are_errors():
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        # what other tests left to the garbage collector, which comes when it likes
        warnings.simplefilter("ignore", ResourceWarning)
        yield


def exact_gaps(means, k):
    """Equation (2) of Chen et al. (2017), rank by rank, in rationals; input order."""
    ranked = sorted(range(len(means)), key=lambda i: -means[i])
    kth, following = means[ranked[k - 1]], means[ranked[k]]
    delta = {arm: means[arm] - following for arm in ranked[:k]}
    delta.update({arm: kth - means[arm] for arm in ranked[k:]})
    return [delta[arm] for arm in range(len(means))]


def exact_t(sorted_gaps, k, epsilon, sides="both"):
    """Equation (3), scanned upwards; ``sorted_gaps[r]`` belongs to rank r + 1."""
    n, t = len(sorted_gaps), 0
    last = k - 1 if sides == "top" else min(k, n - k) - 1
    for candidate in range(1, last + 1):
        fits = sorted_gaps[k - candidate - 1] * candidate <= k * epsilon
        if sides == "both":
            fits = fits and sorted_gaps[k + candidate] * candidate <= k * epsilon
        if not fits:
            break
        t = candidate
    return t


def total(terms):
    """Sum of rationals; a term None stands for 1/0."""
    terms = list(terms)
    return math.inf if None in terms else float(sum(terms))


def inverse_square(x):
    return None if x == 0 else 1 / x**2


def random_instance(rng):
    """Means and epsilon as decimals with few digits, so that ties and equalities occur."""
    n = int(rng.integers(2, 10))
    steps = int(rng.choice([4, 20, 1000]))
    means = [Fraction(int(v), steps) for v in rng.integers(0, steps + 1, n)]
    return means, int(rng.integers(1, n)), Fraction(int(rng.integers(0, 60)), 100)


def test_measures_equal_their_definitions_on_1000_exact_instances():
    rng = np.random.default_rng(11)
    for _ in range(1000):
        exact, k, epsilon = random_instance(rng)
        means, eps, n = [float(v) for v in exact], float(epsilon), len(exact)
        delta = exact_gaps(exact, k)
        ranked = exact_gaps(sorted(exact, reverse=True), k)
        assert hardness.gaps(means, k) == pytest.approx([float(d) for d in delta], abs=1e-15)
        close = {"rel": 1e-11}
        assert hardness.h1(means, k) == pytest.approx(total(map(inverse_square, delta)), **close)
        ordered = [inverse_square(d) for d in sorted(delta)]
        brute = math.inf if None in ordered else max((i + 1) * v for i, v in enumerate(ordered))
        assert hardness.h2(means, k) == pytest.approx(float(brute), **close)
        brute = total(inverse_square(max(d, epsilon / 2)) for d in delta)
        assert hardness.lucb_complexity(means, k, eps) == pytest.approx(brute, **close)
        brute = total(inverse_square(max((d + epsilon) / 2, epsilon)) for d in delta)
        assert hardness.ugape_complexity(means, k, eps) == pytest.approx(brute, **close)
        assert hardness.ugape_complexity(means, k, eps, b=3.0) == pytest.approx(9 * brute, **close)
        for sides in ("both", "top"):
            t = exact_t(ranked, k, epsilon, sides)
            assert hardness.tolerance(means, k, eps, sides=sides) == t
            level = ranked[k - t - 1]
            if sides == "both":
                level = min(level, ranked[k + t])
            level = max(level, epsilon)
            assert hardness.psi(means, k, eps, sides=sides) == pytest.approx(float(level))
            brute = total(inverse_square(max(d, level)) for d in delta)
            ours = hardness.topk_complexity(means, k, eps, sides=sides)
            assert ours == pytest.approx(brute, **close)
        for t in range(min(k, n - k)):
            level = max(min(ranked[k - t - 1], ranked[k + t]), epsilon)
            assert hardness.psi(means, k, eps, t=t) == pytest.approx(float(level))
        brute = total(inverse_square(max(d, epsilon)) for d in delta)
        assert hardness.topk_complexity(means, k, eps, t=0) == pytest.approx(brute, **close)
        assert n <= brute * (1 + 1e-12)


@pytest.mark.parametrize(
    ("number", "largest", "m"),
    [(1, 2_000, 1), (2, 11_944, 6), (3, 6_137, 1), (4, 8_008, 2), (5, 4_857, 8), (6, 49_745, 6)])
def test_bubeck_budgets_are_about_the_largest_h1(number, largest, m):
    means, budget = sar_experiment(number).means, sar_budget(number)
    every = np.array([hardness.h1(means, j) for j in range(1, means.size)])
    finite = np.where(np.isfinite(every), every, 0)
    assert finite[m - 1] == pytest.approx(finite.max())
    assert finite.max() == pytest.approx(largest, abs=1)
    assert abs(finite.max() / budget - 1) < 0.22


def test_tie_convention_of_experiments_1_and_2():
    one = [0.5] + [0.4] * 19
    for m in range(1, 20):
        assert hardness.h1(one, m, ties="distinct") == pytest.approx(2000)
    two = [0.5] + [0.42] * 5 + [0.38] * 14
    for m in (2, 3, 4, 5):
        assert hardness.h1(two, m) == math.inf
        assert round(hardness.h1(two, m, ties="distinct")) == 12031
    for m in (1, 6):
        assert hardness.h1(two, m) == hardness.h1(two, m, ties="distinct")
    assert hardness.h1([0.5] * 4, 2, ties="distinct") == math.inf


def test_several_bandits_are_measured_like_one_with_all_gaps():
    rng = np.random.default_rng(16)
    rows = rng.random((4, 7))
    everything = np.sort(np.concatenate([hardness.gaps(row, 1) for row in rows]))
    h2 = max((i + 1) / d**2 for i, d in enumerate(everything))
    assert hardness.h_multibandit(rows) == pytest.approx((sum(everything**-2.0), h2))
    assert hardness.h_multibandit([[0.5, 0.5], [0.1, 0.9]]) == (math.inf, math.inf)


def test_ugape_complexity_variance_form_and_several_bandits():
    rng = np.random.default_rng(17)
    rows, k, epsilon, b = rng.random((3, 6)), 2, 0.1, 2.0
    variances = rows * (1 - rows)
    brute = plain = 0.0
    for row, variance in zip(rows, variances, strict=True):
        for delta, v in zip(hardness.gaps(row, k), variance, strict=True):
            m = max((delta + epsilon) / 2, epsilon)
            brute += (math.sqrt(v) + math.sqrt(v + 13 / 3 * b * m)) ** 2 / m**2
            plain += b**2 / m**2
    got = hardness.ugape_complexity(rows, k, epsilon, b, variances=variances)
    assert got == pytest.approx(brute)
    assert hardness.ugape_complexity(rows, k, epsilon, b) == pytest.approx(plain)
    tied = hardness.ugape_complexity([0.5, 0.5], 1, 0.0, variances=[0.25, 0.25])
    assert tied == math.inf


def test_lemma_1_bounds_hold_on_c_spread_arms():
    rng = np.random.default_rng(19)
    for _ in range(500):
        n = int(rng.integers(4, 300))
        steps = rng.uniform(1 / rng.uniform(1, 3), 1, n)  # spread by construction
        means = 1 - np.cumsum(steps) / n
        c = hardness.spread_constant(means)
        k = int(rng.integers(1, n // 2 + 1))
        epsilon = float(10 ** rng.uniform(-4, -0.31))
        bounds = hardness.spread_bounds(n, k, epsilon, c)
        t = hardness.tolerance(means, k, epsilon)
        assert bounds.tolerance <= t
        assert max(bounds.psi, epsilon) <= hardness.psi(means, k, epsilon, t=t) * (1 + 1e-12)
        assert hardness.topk_complexity(means, k, epsilon) <= bounds.upper
        assert bounds.lower <= hardness.topk_complexity(means, k, epsilon, t=0) * (1 + 1e-12)


def test_bernoulli_kl_keeps_its_digits_for_close_and_extreme_means():
    assert hardness.bernoulli_kl(0.5, 0.25) == pytest.approx(math.log(2) - math.log(3) / 2)
    gap = 2.0**-40  # kl(1/2, 1/2 + g) = 2 g^2 + 4 g^4 + ...
    assert hardness.bernoulli_kl(0.5, 0.5 + gap) == pytest.approx(2 * gap**2, rel=1e-12)
    for p, q in [(0.3, 0.31), (0.3, 0.9), (0.999, 1e-9), (1e-12, 0.5), (0.2, 0.1999)]:
        direct = kl(Fraction(p), Fraction(q))
        assert hardness.bernoulli_kl(p, q) == pytest.approx(direct, rel=1e-9)
    assert hardness.bernoulli_kl(0.0, 0.25) == pytest.approx(-math.log(0.75))
    assert hardness.bernoulli_kl([0.0, 1.0, 0.5], [1.0, 1.0, 0.5]).tolist() == [math.inf, 0.0, 0.0]


def kl(p, q):
    """The textbook formula, for the checks below."""
    return sum(a * math.log(a / b) for a, b in ((p, q), (1 - p, 1 - q)) if a > 0)


def attained(means, k, weights, kl=kl):
    """1 / min over pairs of the information that the weights give: an upper bound on T*."""
    ranked = np.argsort(-np.asarray(means), kind="stable")
    worst = math.inf
    for a in ranked[:k]:
        for b in ranked[k:]:
            w, v = weights[a], weights[b]
            x = (w * means[a] + v * means[b]) / (w + v)
            worst = min(worst, w * kl(means[a], x) + v * kl(means[b], x))
    return 1 / worst


def certified(means, k, alternatives, kl=kl):
    """1 / the largest coefficient of the adversary's mixture: a lower bound on T*."""
    ranked = np.sort(means)[::-1]
    top, bottom = ranked[:k], ranked[k:]
    coefficients = dict.fromkeys([("top", v) for v in top] + [("bottom", v) for v in bottom], 0.0)
    for high, low, x, probability in alternatives:
        coefficients["top", high] += probability * kl(high, x) / np.sum(top == high)
        coefficients["bottom", low] += probability * kl(low, x) / np.sum(bottom == low)
    assert math.isclose(alternatives[:, 3].sum(), 1.0) and alternatives[:, 3].min() >= 0
    return 1 / max(coefficients.values())


def draw_means(rng, number):
    """Return uniform means, also with ties and some at 0 and 1, and then hostile ones."""
    n = int(rng.integers(2, 51))
    u = rng.random(n)
    return [
        u, u, np.round(u * 12) / 12, rng.beta(4, 1, n), u ** rng.integers(1, 30),
        1 - u ** rng.integers(1, 30),
        np.clip(0.5 + (u - 0.5) * 10.0 ** -rng.integers(1, 14), 0, 1),
        rng.choice([0, 1, 0.3, 0.6, 0.300001], n),
        np.where(u < 0.5, u * 1e-8, 1 - u * 10.0 ** -rng.integers(3, 12)),
        rng.beta(4, 1, 30 * n),
    ][number % 10]  # fmt: skip


def test_characteristic_time_certificate_on_random_instances():
    """Both bounds are recomputed from the object, in plain Python, where n is not large."""
    rng = np.random.default_rng(22)
    for number in range(amount(200, 700)):
        means = draw_means(rng, number)
        k = int(rng.integers(1, means.size))
        found = characteristic_time(means, k)
        assert found.weights.sum() == pytest.approx(1, abs=1e-12) and found.weights.min() >= 0
        assert found.lower <= found.value <= found.upper
        if math.isfinite(found.value):
            assert found.upper - found.lower < 1e-6 * found.lower
            top = means >= np.sort(means)[-k]
            order = np.argsort(means)
            tied = np.diff(means[order]) == 0
            for values in (found.weights, top):
                assert not np.diff(values[order])[tied].any()
            if number % 10 in (0, 1, 2):
                assert attained(means, k, found.weights) == pytest.approx(found.upper, rel=1e-7)
                lower = certified(means, k, found.alternatives)
                assert lower == pytest.approx(found.lower, rel=1e-7)


def test_characteristic_time_of_normal_arms():
    """Two arms: w (1 - w) gap² / (2 sigma²), so 8 sigma² / gap²; more by the certificate."""
    found = characteristic_time([103.0, 100.0], 1, family="gaussian", sigma=2.0)
    assert found.value == pytest.approx(8 * 4 / 9) and found.weights == pytest.approx([0.5, 0.5])
    rng = np.random.default_rng(4)
    for _ in range(40):
        n = int(rng.integers(2, 9))
        means, k, sigma = rng.normal(0, 10, n), int(rng.integers(1, n)), rng.uniform(0.1, 5)

        def normal_kl(p, q, sigma=sigma):
            return (p - q) ** 2 / (2 * sigma**2)

        time = characteristic_time(means, k, family="gaussian", sigma=sigma)
        assert time.lower <= time.upper * (1 + 1e-12) and time.upper < time.lower * (1 + 1e-7)
        assert attained(means, k, time.weights, normal_kl) == pytest.approx(time.value)
        assert certified(means, k, time.alternatives, normal_kl) == pytest.approx(time.lower)
        shifted = characteristic_time(3 * means + 7, k, family="gaussian", sigma=3 * sigma)
        assert shifted.value == pytest.approx(time.value)


def test_characteristic_time_at_the_ends_of_the_unit_interval():
    # G = min_x -w ln x - (1 - w) ln(1 - x) is the entropy of w: at w = 1/2, ln 2.
    assert characteristic_time([1, 0], 1).value == pytest.approx(1 / math.log(2))
    assert characteristic_time([1, 1, 0, 0], 2).value == pytest.approx(2 / math.log(2))
    assert characteristic_time([1e-200, 0], 1).value == pytest.approx(math.e * 1e200)


def test_tied_boundary_gives_inf_everywhere_and_uniform_boundary_weights():
    means = [0.9, 0.5, 0.5, 0.1]
    found = characteristic_time(means, 2)
    assert (found.value, found.lower, found.upper) == (math.inf,) * 3
    assert found.weights.tolist() == [0, 0.5, 0.5, 0]
    assert found.alternatives.shape == (0, 4)
    assert hardness.h1([5e-324, 0.0], 1) == math.inf  # 1 / gap^2 overflows: still no warning


def test_ugape_complexity_does_not_change_with_the_unit_of_the_rewards():
    means, variances = np.array([0.9, 0.5, 0.2, 0.1]), np.array([0.05, 0.2, 0.1, 0.0])
    for b in (0.5, 3.0, 100.0):
        for spread in (None, variances):
            scaled = None if spread is None else spread * b**2
            found = hardness.ugape_complexity(means * b, 2, 0.3 * b, b, variances=scaled)
            plain = hardness.ugape_complexity(means, 2, 0.3, variances=spread)
            assert found == pytest.approx(plain, rel=1e-12)
    with pytest.raises(ValueError, match=r"^means must be made of means in \[0, 3\], got 3.1"):
        hardness.ugape_complexity([3.1, 1.0], 1, 0.1, 3)
    with pytest.raises(ValueError, match=r"^epsilon must be"):
        hardness.ugape_complexity([2.5, 1.0], 1, 3.0, 3)
