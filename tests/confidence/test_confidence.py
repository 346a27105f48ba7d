"""Anytime intervals and evidence: against integrals, exact numbers and random walks."""

import math
from decimal import Decimal, localcontext
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import topk
from topk.confidence.confidence import (
    PairForm,
    evidence,
    interval,
    pair_multiplier,
    pair_statistic,
    prior_share,
)
from topk.confidence.kl import mixture_cost

# Large ones, too: exact statements hold for all.
pytestmark = pytest.mark.filterwarnings("ignore:delta = .* is the probability of failure")


def grid():
    """Return pulls and sums, whole and fractional ones, ends included."""
    rng = np.random.default_rng(1)
    pairs = [(u, s) for u in range(1, 8) for s in np.arange(0, u + 0.25, 0.25)]
    for u in (10, 29, 30, 31, 59, 60, 61, 200):
        pairs += [(u, s) for s in [0, 0.3, 1, 29.7, 30.3, u / 3, u - 1, u, *rng.uniform(0, u, 5)]]
    pairs = [(u, s) for u, s in pairs if 0 <= s <= u]
    pulls, sums = zip(*pairs, strict=True)
    return np.array(pulls), np.array(sums, dtype=float)


def ln_likelihood(pulls, sums, p):
    """ln L(p), with 0 ln 0 = 0."""
    with np.errstate(divide="ignore", invalid="ignore"):
        ones, zeros = sums * np.log(p), (pulls - sums) * np.log1p(-p)
    return np.where(sums > 0, ones, 0) + np.where(pulls > sums, zeros, 0)


def ln_mixture(pulls, sums):
    """ln KT by integration: p = sin(angle)**2 makes Beta(1/2, 1/2) uniform."""
    angle = math.pi / 2 * (np.arange(4000) + 0.5) / 4000
    logs = ln_likelihood(pulls[:, None], sums[:, None], np.sin(angle) ** 2)
    most = logs.max(axis=1)
    return most + np.log(np.exp(logs - most[:, None]).mean(axis=1))


def test_the_mixture_is_behind_the_best_p_by_at_most_two_roots():
    pulls, sums = grid()
    most = np.where((sums > 0) & (sums < pulls), sums / pulls, np.where(sums > 0, 1, 0))
    with np.errstate(divide="ignore"):
        best = ln_likelihood(pulls, sums, most)
    tolerance = np.where(sums == np.floor(sums), 1e-10, 1e-4)
    assert (abs(mixture_cost(pulls, sums) - best + ln_mixture(pulls, sums)) < tolerance).all()
    for u in [*range(1, 400), 10**4, 10**7, 10**12]:
        share = np.linspace(0, 1, 401)
        cost = mixture_cost(np.full(401, float(u)), u * share)
        assert (cost <= math.log(2 * math.sqrt(u)) + 1e-13).all()
        assert cost.argmax() in (0, 400) and cost.min() > 0.4
        assert u == 1 or cost.max() < math.log(2 * math.sqrt(u)) - 1e-3


def test_the_mixture_of_one_more_pull():
    """KT after a reward 1 is KT times (S + 1/2)/(u + 1): holds from 1 to 10**12 pulls."""
    rng = np.random.default_rng(2)
    u = np.floor(10 ** rng.uniform(0, 12, 10**4))
    s = np.floor(u * rng.random(10**4) ** 3)

    def ln_best(u, s):  # in units of the old one, without cancellation
        share = np.where(s > 0, s, 1)
        return s * np.log1p(1 / share) + np.log(s + 1) - u * np.log1p(1 / u) - np.log(u + 1)

    more = mixture_cost(u + 1, s + 1) - mixture_cost(u, s)
    near = abs(more - ln_best(u, s) + np.log((s + 0.5) / (u + 1)))
    assert near.max() < 1e-13 * 30


def exactly(share, bound, pulls):
    """u kl(S/u, bound) of a fraction and a float, with 60 digits."""
    with localcontext(prec=60):
        p, q, total = share, Decimal(bound), Decimal(0)
        if p > 0:
            total += p * (p / q).ln()
        if p < 1:
            total += (1 - p) * ((1 - p) / (1 - q)).ln()
        return float(pulls * total)


@pytest.mark.parametrize("delta", [0.9, 0.05, 1e-300])
@pytest.mark.parametrize("pulls", [1, 7, 10**3, 10**6, 10**9, 10**12])
def test_bounds_are_outside_by_rounding_only(pulls, delta):
    for sums in {0, 0.3, 1, min(3, pulls), pulls // 10**4, pulls / 3, pulls - 1, pulls}:
        low, high = (float(x) for x in interval(pulls, sums, delta))
        level = mixture_cost(np.array([pulls]), np.array([sums]))[0] - math.log(delta)
        with localcontext(prec=60):
            share = Decimal(sums) / Decimal(pulls)
        assert 0 <= low <= share <= high <= 1
        if sums == 0:
            assert low == 0 and high == pytest.approx(-math.expm1(-level / pulls), rel=1e-11)
        if sums == pulls:
            assert high == 1 and low == pytest.approx(math.exp(-level / pulls), rel=1e-11)
        for bound in [x for x in (low, high) if 1e-307 < x < 1]:
            # a float can be no closer than that to the mean, or to 1
            spacing, exact = 8 * np.spacing(bound), Decimal(bound)
            close = float(min(abs(exact - share), 1 - exact))
            found = exactly(share, bound, pulls)
            assert level <= found <= level * (1 + 1e-11 + 9 * spacing / close), (sums, bound)


def test_intervals_grow_with_confidence():
    pulls, sums = grid()
    pulls, sums = np.append(pulls, [10**12] * 3), np.append(sums, [3, 5e11, 1e12 - 2])
    for sigma in (None, 2.0):
        lows, highs = zip(
            *(interval(pulls, sums, x, sigma) for x in np.geomspace(0.999, 1e-300, 300)),
            strict=True,
        )
        assert (np.diff(lows, axis=0) <= 0).all() and (np.diff(highs, axis=0) >= 0).all()


@pytest.mark.parametrize(("pulls", "sums"), [(3, 1.0), (7, -1e9), (10**9, 0.1), (3, 1e300)])
def test_the_exact_mean_is_inside_however_small_sigma_is(pulls, sums):
    low, high = interval(pulls, sums, 0.9, sigma=1e-300)
    assert Fraction(float(low)) <= Fraction(sums) / pulls <= Fraction(float(high))


@pytest.mark.parametrize(("sigma", "allowed"), [(None, "numbers, each from 0 to the number of "
                                                 "pulls"), (1.0, "finite numbers")])
def test_what_sums_may_be_is_said(sigma, allowed):
    with pytest.raises(ValueError, match=f"^sums must be {allowed}, got"):
        interval(3, "ab", 0.1, sigma)


def test_shapes_and_arms_without_pulls():
    low, high = interval([[0], [10]], [0.0, 0.0, 0.0], 0.1)
    assert low.shape == high.shape == (2, 3)
    assert low.tolist() == [[0] * 3] * 2 and high[0].tolist() == [1] * 3
    low, high = interval(4, 2, 0.1)
    assert low.shape == () and low < 0.5 < high and low == pytest.approx(1 - high)
    low, high = interval([0, 3], [0, -5.0], 0.1, sigma=2.0)
    assert (low[0], high[0]) == (-math.inf, math.inf) and low[1] < -5 / 3 < high[1]
    low, high = interval([3, 3], [0.0, 1e-320], 0.1)
    assert low.tolist() == [0, 0] and high[0] == high[1]
    assert interval([], [], 0.1)[0].shape == (0,)


@pytest.mark.parametrize(
    ("mean", "steps", "sigma"), [(0.5, 500, None), (0.02, 1000, None), (-1.0, 200, 3.0)]
)
def test_walks_leave_their_intervals_with_probability_at_most_delta(mean, steps, sigma):
    """10**5 walks: exp(-2 * 10**5 x**2) < 1e-7 for x = 0.009, by Hoeffding's inequality.

    So many leave that intervals of far too high a level would be noticed.
    """

    for delta in (0.5, 0.1):
        rng = np.random.default_rng(4)
        sums, missed = np.zeros(10**5), np.zeros(10**5, dtype=bool)
        for u in range(1, steps + 1):
            if sigma is None:  # whole sums: a table
                sums += rng.random(sums.size) < mean
                bounds = interval(u, np.arange(sums.max() + 1), delta)
                low, high = (bound[sums.astype(int)] for bound in bounds)
            else:
                sums += rng.normal(mean, sigma, sums.size)
                low, high = interval(u, sums, delta, sigma)
            missed |= (low > mean) | (high < mean)
        assert delta / 4 < missed.mean() < delta + 0.009


# Evidence


def plain_evidence(pulls, sums, chosen, epsilon, gone=()):
    """By integrals, and by looking at many x."""
    n, k, found = len(pulls), len(chosen), 0.0
    pulls, sums = np.array(pulls, dtype=float), np.array(sums, dtype=float)
    best = ln_likelihood(pulls, sums, np.clip(sums / pulls, 1e-300, 1 - 1e-16))
    lack = best - ln_mixture(pulls, sums)
    for a in chosen:
        for b in {*range(n)} - {*chosen} - {*gone}:
            low, high = max(sums[b] / pulls[b] - epsilon, 0), min(sums[a] / pulls[a], 1 - epsilon)
            x = np.linspace(low, max(low, high), 10**5 + 1)
            ln = ln_likelihood(pulls[a], sums[a], x) + ln_likelihood(pulls[b], sums[b], x + epsilon)
            apart = sums[b] / pulls[b] < sums[a] / pulls[a] + epsilon
            z = best[a] + best[b] - np.max(ln) if apart else 0.0
            found = max(found, math.exp(lack[a] + lack[b] - z))
    return min(1.0, found * (n - k) * (n + k - 1) / 2)


@pytest.mark.parametrize("epsilon", [0.0, 0.02, 0.3, 0.9])
def test_evidence_is_that_of_its_definition(epsilon):
    rng, below_one = np.random.default_rng(5), 0
    for _ in range(40):
        n = int(rng.integers(2, 6))
        pulls = rng.integers(1, 60, n)
        sums = rng.binomial(pulls, np.sort(rng.random(n))[::-1] ** [1, 0.2][int(rng.integers(2))])
        chosen = np.arange(int(rng.integers(1, n)))
        gone = [n - 1] if n - chosen.size > 1 and rng.random() < 0.3 else []
        found = evidence(pulls, sums, chosen, epsilon, gone)
        assert found == pytest.approx(plain_evidence(pulls, sums, chosen, epsilon, gone), rel=1e-6)
        below_one += found < 1
    assert below_one >= [0, 20][epsilon > 0.1]


@pytest.mark.parametrize("epsilon", [0.0, 0.1])
def test_top_two_stops_when_the_evidence_does(epsilon):
    """The scalar evidence of the rule equals the array form in `evidence`."""
    rng, means = np.random.default_rng(6), np.array([0.9, 0.7, 0.5, 0.2])
    for k in (1, 2, 3):
        session = topk.TopTwo(k, epsilon, 0.1).start(4, rng=k)
        for arm in ([], [3])[k == 1]:
            session.withdraw(arm)
        while not session.done:
            before = session.evidence()
            arms, _ = session.ask()
            session.tell(arms, (rng.random(arms.size) < means[arms]).astype(float))
        assert session.evidence() < 0.1 <= before
        assert session.evidence(epsilon=0.5) <= session.evidence() <= session.evidence(0.0)


@pytest.mark.parametrize("epsilon", [0.0, 0.4])
def test_evidence_of_unbounded_rewards_is_that_of_its_formula(epsilon):
    """The largest of g_a g_b exp(-Z_ab) over the pairs, arm by arm."""
    pulls, sums, sigma = [30, 40, 300, 50], [75.0, 30.0, 10.0, 100.0], 1.7
    means = [x / u for x, u in zip(sums, pulls, strict=True)]
    worst = 0.0
    for a in (0, 3):
        for b in (1, 2):
            w, v = (pulls[i] ** 2 / (pulls[i] + 1) for i in (a, b))
            z = max(0.0, means[a] - means[b] + epsilon) ** 2 * w * v / (2 * sigma**2 * (w + v))
            worst = max(worst, math.sqrt((1 + pulls[a]) * (1 + pulls[b])) * math.exp(-z))
    found = evidence(pulls, sums, [0, 3], epsilon, sigma=sigma)
    assert found == pytest.approx(5 * worst, rel=1e-9) and 0 < found < 1  # 5 pairs can be wrong


def test_evidence_by_intervals_is_the_least_delta_at_which_they_are_apart():
    rng = np.random.default_rng(7)
    for trial in range(60):
        size, n = [(1, 4), (2, 3)][trial % 2]
        pulls = rng.integers(20, 400, (size, n))
        scores = trial % 3 == 0
        sums = np.floor(pulls * rng.random((size, n)) ** 2) * (0.9 if scores else 1)
        squares = sums * rng.uniform(sums / pulls, 1) if scores else None
        sigma, epsilon = (2.0 if trial % 3 == 1 else None), rng.choice([0.0, 0.1, 0.3])
        chosen = np.argsort(-sums / pulls, axis=1)[:, :2]
        gone = [int(chosen.size and np.setdiff1d(range(n), chosen[0])[0])] if trial % 4 == 0 else []
        form = {"sigma": sigma, "squares": squares}
        p = evidence(pulls, sums, chosen, epsilon, gone, method="intervals", **form)
        assert 0 < p <= 1

        def worst(delta):
            low, high = interval(pulls, sums, delta / pulls.size, **form)  # noqa: B023
            found = []
            for m in range(size):  # noqa: B023
                out = [i for i in range(n) if i not in chosen[m] and m * n + i not in gone]  # noqa: B023
                found += [high[m, b] - low[m, a] for a in chosen[m] for b in out]  # noqa: B023
            return max(found, default=-1.0)

        if p > 1e-290:
            assert p == 1 or worst(p) <= epsilon
            assert worst(min(p, 0.9999) * (1 - 1e-5)) > epsilon
    assert evidence([3, 0], [3, 0], [0], withdrawn=[1], method="intervals") == 0
    assert evidence([3, 0], [3, 0], [0], method="intervals") == 1
    assert 0 < evidence([10**6] * 2, [10**6, 0], [0], method="intervals") < 1e-280
    assert 1e-280 < evidence([880] * 2, [880, 0], [0], method="intervals") < 1e-230
    with pytest.raises(ValueError, match="^method"):
        evidence([3, 3], [3, 0], [0], method="both")
    for method in ("pairs", "intervals"):
        with pytest.raises(ValueError, match="^squares"):
            evidence([3, 3], [3, 0], [0], squares=[3.5, 0], method=method)


def log_c(u, ones, squares, m, side):
    """ln(KT/(2 L) + Up/4) at m, term by term from the definition; the mirror for the other side."""
    if side < 0:
        squares, ones, m = u - 2 * ones + squares, u - ones, 1 - m
    best, alike = squares / ones, ones**2 / squares
    p = ones / u
    kl = p * np.log(p / m) + (1 - p) * np.log((1 - p) / (1 - m))
    terms = [u * kl - mixture_cost(np.array([u]), np.array([ones]))[0] + math.log(0.5)]
    for j in range(40):
        odds, weight = 2.0 ** (9 - j), 0.045 if j < 20 else 0.1 / ((j - 19) * (j - 18))
        capital = alike * np.log1p(odds * best / m) - u * np.log1p(odds)
        terms.append(capital + math.log(weight / 4))
    return np.logaddexp.reduce(terms, axis=0)


@pytest.mark.parametrize("epsilon", [0.0, 0.05])
def test_evidence_by_pairs_with_squares_is_that_of_its_definition(epsilon):
    """Against the least value over a grid, which is at or above the one that counts."""
    rng, x = np.random.default_rng(8), np.linspace(1e-4, 1 - epsilon - 1e-4, 20_001)
    small = 0
    for _ in range(20):
        u = rng.integers(20, 300, 3).astype(float)
        mean, spread = np.array([0.62, 0.5, 0.45]), rng.uniform(0.02, 0.3)
        ones = u * mean
        squares = u * (mean**2 + spread**2)
        least = []
        for b in (1, 2):
            of_a = log_c(u[0], ones[0], squares[0], x, 1)
            of_b = log_c(u[b], ones[b], squares[b], x + epsilon, -1)
            least.append((of_a + of_b).min())
        wanted = min(1.0, 3 * math.exp(-min(least)))  # (n - k)(n + k - 1)/2 = 3 pairs
        found = evidence(u.astype(int), ones, [0], epsilon, squares=squares)
        assert found >= wanted * (1 - 1e-9)
        assert found == pytest.approx(wanted, rel=1e-3)
        small += found < 0.05
    assert 3 < small < 20


def test_evidence_of_a_run_and_of_several_bandits():
    bandit = topk.BernoulliBandit([0.9, 0.8, 0.1, 0.2])
    outcome = topk.run(topk.LUCB1(2, 0.05, 0.1), bandit, rng=0)
    assert outcome.epsilon == 0.05 and outcome.evidence() <= outcome.evidence(0.0) < 0.01
    assert topk.run(topk.CLUCBPAC(2, 0.05, 0.1), bandit, rng=0).epsilon == 0
    assert topk.run(topk.UGapEb(2, 90, complexity=9.0, epsilon=0.2), bandit, rng=0).epsilon == 0
    pulls, sums = np.full((2, 3), 40), np.array([[30.0, 10, 9], [5, 35, 10]])
    both = evidence(pulls, sums, [[0], [1]])
    single = [evidence(pulls[m], sums[m], [m]) for m in (0, 1)]
    assert both == pytest.approx(2 * max(single)) and both < 1
    assert evidence(pulls, sums, [[1], [1]]) == 1
    session = topk.MultiBanditGapE(budget=60, complexity=5.0).start((2, 3))
    assert session.evidence() == 1.0  # no pull yet
    assert evidence([3, 0], [3, 0], [0]) == 1.0
    assert evidence([3, 0], [3, 0], [0], withdrawn=[1]) == 0  # nobody else is left
    assert evidence([0, 0, 0, 0], [0, 0, 0, 0], [0], 0.5, [3]) == 1.0
    many = evidence(np.full(3000, 10**12), np.linspace(9e11, 1e11, 3000), np.arange(1500))
    assert many < 1e-300


@pytest.mark.parametrize("epsilon", [0.0, 0.1])
@given(
    rewards=st.lists(
        st.tuples(st.booleans(), st.sampled_from([0.0, 1.0, 0.3, 1 - 1e-9])), max_size=60
    )
)
def test_what_two_arms_weigh_never_falls_but_for_their_heights(epsilon, rewards):
    """So TopTwo passes over pairs; the one with the larger mean is the one inside."""
    play = topk.TopTwo(1, epsilon, 0.1).begin(2, rng=np.random.default_rng(0))
    s, before = play.s, {}
    s.pulls[:], s.sums[:] = 1, 0.5
    for second, reward in rewards:
        s.pulls[int(second)] += 1
        s.sums[int(second)] += reward
        for arm in (0, 1):
            topk.TopTwo.pulled(s, arm)
        a = int(s.sums[1] / s.pulls[1] > s.sums[0] / s.pulls[0])
        left = topk.TopTwo.weight(s, a, 1 - a) - s.height[0] - s.height[1]
        assert left >= before.get(a, 0.0) - 1e-9
        before[a] = left


# The pairs of TopTwo


def test_the_prior_share_is_the_probability_that_one_arcsine_variable_leads_another():
    assert prior_share(0.0) == pytest.approx(0.5, abs=2e-6) and prior_share(0.0) >= 0.5
    p = np.sin(np.random.default_rng(0).random((2, 200_000)) * np.pi / 2) ** 2
    for epsilon in (0.1, 0.3, 0.95):
        assert prior_share(epsilon) == pytest.approx((p[1] < p[0] + epsilon).mean(), abs=0.006)


@pytest.mark.parametrize("epsilon", [0.0, 0.2])
def test_half_of_the_prior_is_crossed_no_more_often_than_its_level_says(epsilon):
    """Exactly, for two arms that differ by epsilon, pulled in turn up to 30 times."""
    for low in (0.05, 0.4):
        for d in (0.05, 0.3, 0.9):
            weights, crossed = np.ones((1, 1)), 0.0
            for u in range(1, 31):
                more = np.zeros((u + 1, u + 1))
                for i, p in ((0, 1 - low), (1, low)):
                    for j, q in ((0, 1 - low - epsilon), (1, low + epsilon)):
                        more[i : u + i, j : u + j] += p * q * weights
                a, b = np.meshgrid(np.arange(u + 1.0), np.arange(u + 1.0), indexing="ij")
                pulls = np.full(a.shape, float(u))
                v = pair_statistic(pulls, a, pulls, b, epsilon)
                v = v - mixture_cost(pulls, a) - mixture_cost(pulls, b)
                reached = PairForm(1.0, prior_share(epsilon)).log_p(v) <= np.log(d)
                assert not (reached & (PairForm(1.0, late=True).log_p(v) > 0) & (v <= 0)).any()
                crossed += more[reached].sum()
                weights = np.where(reached, 0, more)
            assert crossed <= d


def test_the_multiplier_of_pairs_shares_out_delta():
    """Levels of all pairs that are ever needed sum to at most delta."""
    for n, k in [(2, 1), (5, 2), (12, 11), (40, 7)]:
        assert (n - 1) / pair_multiplier(n, k, 0.0, 0) == pytest.approx(0.9)
        if n > 2:
            others = (n - 1) * (n - 2) / 2
            assert 0.9 + others / pair_multiplier(n, k, 0.0, 1) <= 1 + 1e-12
        total = k * (n - k) / pair_multiplier(n, k, 0.1, 0)
        for s in range(1, n - k):
            total += (n - k - s) / pair_multiplier(n, k, 0.1, s)
        assert total <= 1 + 1e-12
        levels = [pair_multiplier(n, k, 0.1, s) for s in range(n)]
        assert levels == sorted(levels)
