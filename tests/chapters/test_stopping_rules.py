"""The transcriptions of chapter 28, on cases computed by hand from the sources of the rules."""

import contextlib
import io
import math
import re

import numpy as np
import pytest
from chapters import cells
from scipy.optimize import minimize
from scipy.stats import beta, norm, wilcoxon

from topk import confidence

PAGE = "28-stopping-rules"


@pytest.fixture(scope="module")
def page():
    space = {"__name__": "__main__"}
    for tags, source in cells.read(PAGE)[0]:
        if "setup" in tags:
            exec(compile(source, PAGE, "exec"), space)
    return space


def counts(pulls, means, variances):
    """Return arrays of pulls, sums and squares with the given means and sample variances."""
    pulls, means, variances = (np.atleast_2d(np.array(x, float)) for x in (pulls, means, variances))
    return pulls, pulls * means, (pulls - 1) * variances + pulls * means**2


def test_the_interval_is_that_of_two_proportions(page):
    pulls, sums = np.array([[100.0, 100.0]]), np.array([[60.0, 45.0]])
    p, leader = page["interval_look"](pulls, sums, sums)
    z = 0.15 / math.sqrt((0.6 * 0.4 + 0.45 * 0.55) / 99)
    assert leader == [0] and p == pytest.approx([2 * norm.sf(z)])
    assert page["interval_look"](pulls, sums, sums, 7)[0] == pytest.approx(7 * p)
    assert page["chance_to_win"](pulls, sums, sums)[0] == pytest.approx(p / 2)


def test_track_and_stop_decides_as_the_tests_of_its_source(page):
    stops = lambda *of, epsilon=0.0, delta=0.05: (  # noqa: E731
        page["track_and_stop"](*counts(*of), epsilon)[0][0] < delta)
    assert stops([1000] * 3, [0.3, 0.9, 0.5], [0.1] * 3)
    assert not stops([50] * 3, [0.50, 0.52, 0.51], [0.2] * 3)
    borderline = [150] * 3, [0.45, 0.65, 0.50], [0.15] * 3
    assert not stops(*borderline, delta=0.01) and stops(*borderline, delta=0.2)


def test_track_and_stop_by_hand(page):
    look = counts([100, 100], [0.7, 0.3], [0.1, 0.1])
    value, leader = page["track_and_stop"](*look)
    assert leader == [0]  # the ratio is .4^2 / (2 (.001 + .001)) = 40
    assert value == pytest.approx([(1 + math.log(200)) * math.exp(-40)])
    ten = counts([10, 10], [0.0, 0.1], [0.0, 0.1])
    assert page["track_and_stop"](*ten)[0][0] > 0.05  # .1^2 / (2 * .01) = .5
    empty = counts([10, 10], [0.0, 0.0], [0.0, 0.0])
    assert page["track_and_stop"](*empty)[0][0] > 0.05
    assert page["track_and_stop"](*empty, epsilon=0.03)[0][0] < 1e-300
    assert page["track_and_stop"](*empty, epsilon=0.03, extra=1)[0][0] > 0.05


def test_track_and_stop_breaks_ties_by_variance(page):
    leader = page["contrast"](*counts([100] * 3, [0.7, 0.7, 0.5], [0.3, 0.1, 0.2]))[0]
    assert leader == [1]


@pytest.mark.parametrize("epsilon", [0.0, 0.1])
@pytest.mark.parametrize("variances", [(0.2, 0.1, 0.05), (0.01, 0.3, 0.3)])
def test_the_weights_solve_the_problem_of_the_source(page, variances, epsilon):
    means = np.array([0.6, 0.5, 0.3])
    weights = page["own_allocation"](*counts([50] * 3, means, variances), epsilon)[0]

    def cost(w):
        w = np.abs(w) / np.abs(w).sum()
        return max(2 * (variances[0] / w[0] + variances[i] / w[i])
                   / (means[0] - means[i] + epsilon) ** 2 for i in (1, 2))

    best = min((minimize(cost, start, method="Nelder-Mead", options={
        "xatol": 1e-9, "fatol": 1e-9, "maxiter": 5000}) for start in (weights, [1, 1, 1])),
        key=lambda found: found.fun)
    assert cost(weights) <= best.fun * (1 + 1e-5)


def test_a_variant_of_variance_zero_is_not_sampled(page):
    weights = page["own_allocation"](*counts([10, 10], [0.0, 0.1], [0.0, 0.1]))[0]
    assert weights[0] < 1e-5 and weights.sum() == pytest.approx(1)
    even = page["own_allocation"](*counts([10, 10], [0.0, 0.0], [0.0, 0.0]))[0]
    assert even == pytest.approx([0.5, 0.5])


def test_the_mixture_test_is_the_formula_of_its_package(page):
    pulls, sums = np.array([[200.0, 200.0]]), np.array([[120.0, 90.0]])
    v, tau, n = 0.6 * 0.4 + 0.45 * 0.55, 0.38, 200
    ratio = math.sqrt(v / (v + n * tau**2)) * math.exp(
        n**2 * tau**2 * 0.15**2 / (2 * v * (v + n * tau**2)))
    value, leader = page["mixture_test"](pulls, sums)
    assert value == pytest.approx([1 / ratio]) and leader == [0]
    assert page["mixture_test"](pulls / 2, sums / 2)[0] == [1.0]  # not within 100 pairs
    b = 2 * math.log(20) / math.sqrt(200 * 0.25)
    spread = 0.25 * norm.cdf(-b) / (norm.pdf(b) / b - norm.cdf(-b))
    assert round(spread, 2) == tau


def test_expected_loss_is_that_of_beta_posteriors(page):
    a, b = (70 + 60, 7000 + 4940), (70 + 45, 7000 + 4955)  # 60 and 45 of 5,000
    value, leader = page["expected_loss"](
        np.array([[5000.0, 5000.0]]), np.array([[60.0, 45.0]]), (70, 7000))
    grid = np.linspace(0, 0.05, 20_001)
    below = np.cumsum(beta.cdf(grid, *a)) * (grid[1] - grid[0])  # E max(x - p_a, 0)
    exact = (below * beta.pdf(grid, *b)).sum() * (grid[1] - grid[0])
    assert leader == [0] and value == pytest.approx([exact], rel=0.03)


def test_elimination_by_hand(page):
    scores = np.zeros((1, 3, 50), np.int8)
    scores[0, 0] = 1  # always right: no spread
    scores[0, 1, :3] = 1  # .6 + sqrt(.3) / sqrt(5) = .845 < 1: out after the first five
    scores[0, 2] = 1
    scores[0, 2, [9, 14]] = 0  # 13/15 + .352 / sqrt(15) = .958 < 1: out after 15
    best, active, used = page["eliminate"](scores)
    assert best[0] == pytest.approx([1, 0.6, 13 / 15])
    assert active[0].tolist() == [True, False, False]
    assert used == [5 + 15 + 15]
    wide = page["eliminate"](scores, confidence=2.0, extra=1)[1][0]
    assert wide.tolist() == [True, False, True]


@pytest.mark.parametrize("size", [5, 13, 14, 40])
def test_pruning_has_scipys_levels(page, size):
    scores = np.random.default_rng(size).binomial(1, 0.7, (1, 2, size))
    lead = scores[0, 1] - scores[0, 0]
    expected = wilcoxon(lead, alternative="less", zero_method="zsplit").pvalue
    assert page["pruning_levels"](scores)[0, -1] == pytest.approx(expected)


def test_pruning_by_hand(page):
    scores = np.zeros((2, 2, 20), np.int8)
    scores[0, 0] = 1  # the second arm is always wrong: 1/4, 1/8 and 1/16 after 2, 3 and 4
    arm, pruned, used = page["prune"](scores)
    assert arm.tolist() == [0, 0] and pruned.tolist() == [True, False] and used.tolist() == [24, 40]


def test_halving_by_hand(page):
    scores = np.ones((1, 4, 101), np.int8)  # rungs after steps 1, 4, 16 and 64
    scores[0, 2, :2] = 0  # 0 < 1 of the second arm: out after its second example
    scores[0, 3, 3:] = 0  # equal at step 1; 3/5 < 1 at step 4
    order, used = page["halve"](scores, k=4)
    assert used == [101 + 101 + 2 + 5] and set(order[0, :2]) == {0, 1}
    assert order[0, 2:].tolist() == [3, 2]


def test_ucb_e_by_hand(page):
    scores = np.zeros((1, 2, 100), np.int8)
    scores[0, 1] = 1
    arm, used = page["explore"](scores, 0.5, batch=10)
    assert arm == [1] and used == [100]  # ten batches: one of arm 0, nine of arm 1
    assert page["explore"](scores, 0.65, batch=10)[1] == [130]  # then arm 1 is full


def test_evidence_of_many_looks_is_the_librarys(page):
    rng = np.random.default_rng(0)
    sums = rng.binomial(50, [0.9, 0.6, 0.5], (5, 3)).astype(float)
    for epsilon in (0.0, 0.1):
        value, leader = page["evidence_stop"](np.array([50.0]), sums, epsilon)
        for p, arm, row in zip(value, leader, sums, strict=True):
            expected = confidence.evidence([50] * 3, row, [arm], epsilon)
            assert p == pytest.approx(expected, rel=1e-9)


def test_the_reproductions_run_by_themselves():
    printed = []
    for tags, source in cells.read(PAGE)[0]:
        if "reproduction" in tags:
            assert len(source.splitlines()) <= 30
            with contextlib.redirect_stdout(io.StringIO()) as out:
                exec(compile(source, PAGE, "exec"), {"__name__": "__main__"})
            printed.append([float(x) for x in re.findall(r"([\d.]+) %", out.getvalue())])
    (stops, bad, stops_mended, bad_mended), (first, first_mended, second, second_mended) = printed
    assert bad > 20 and bad_mended < 1 and stops > stops_mended
    assert min(first, second) > 5 and max(first_mended, second_mended) < 1
