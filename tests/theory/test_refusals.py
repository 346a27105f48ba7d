"""Every formula refuses what is outside its range, by name, whichever argument it is.

One right call of each function; then every argument in turn takes values that are wrong
wherever an argument of that name stands, and those that only this function refuses.
"""

import math

import pytest

import topk
from topk import guarantees as g
from topk import hardness as h
from topk import lower_bounds as lb

MEANS, ROWS = [0.9, 0.6, 0.3, 0.1], [[0.9, 0.1], [0.2, 0.8]]
NOT_REAL = [-0.1, math.nan, math.inf, "x", None, True]
EVERYWHERE = {
    "means": [[0.5], [0.5, 1.2], [0.5, math.nan], [], "no", [0.1, None]],
    "k": [0, 1.0, True, "2"],
    "n": [0, 2.5, True, "4"],
    "budget": [3, 100.0, True, 2**54],
    "ties": ["nearest", None],
    "sides": ["left"],
    "published": ["yes", 1],
} | dict.fromkeys("epsilon delta constant b R c error slack threshold".split(), NOT_REAL)
INSTANCE, SIZES = {"means": MEANS, "k": 2}, {"n": 9, "k": 3}
PROMISE, SMALL = {"epsilon": 0.1, "delta": 0.1}, {"epsilon": 0.01, "delta": 0.01}
SQUARE = {"means": [[[0.1, 0.2], [0.3, 0.4]]]}
CALLS = [
    (h.gaps, INSTANCE | {"ties": "distinct"}, {"k": [4], **SQUARE}),
    (h.h1, INSTANCE, {}),
    (h.h2, INSTANCE, {}),
    (h.h_multibandit, {"means": ROWS}, {"means": [[0.1, 0.2], [[0.1], [0.2]]]}),
    (h.lucb_complexity, INSTANCE | {"epsilon": 0.1}, {"epsilon": [1.0]}),
    (h.ugape_complexity, INSTANCE | {"epsilon": 0.1, "b": 1.0, "variances": [0.1] * 4},
     {"epsilon": [1.0], "b": [0], "variances": [[0.1], [0.1, 0.1, 0.1, 2.0], ROWS]}),
    (h.tolerance, INSTANCE | {"epsilon": 0.1, "sides": "both"}, {"epsilon": [1.0]}),
    (h.psi, INSTANCE | {"epsilon": 0.1, "t": 1, "sides": "both"}, {"t": [2, -1, 0.5]}),
    (h.topk_complexity, INSTANCE | {"epsilon": 0.1, "t": 1, "sides": "both"}, {"t": [2, -1]}),
    (h.spread_constant, {"means": MEANS}, SQUARE),
    (h.spread_bounds, SIZES | {"epsilon": 0.1, "c": 1}, {"k": [5], "epsilon": [0], "c": [0.5]}),
    (h.characteristic_time, INSTANCE, {"k": [4], **SQUARE}),
    (h.bernoulli_kl, {"p": 0.5, "q": [0.2, 0.3]},
     {"p": [1.5, -0.1, "x", None], "q": [-0.2, [0.1, math.nan]]}),
    (g.plan, {"n": 4, "k": 2, **PROMISE, "means": MEANS},
     {"k": [4], "epsilon": [0.0, 1.0], "delta": [0, 1.0], "means": [[0.1, 0.2]]}),
    (g.log_bar, {"n": 1}, {}),
    (g.sar_error, INSTANCE | {"budget": 9}, {"k": [4]}),
    (g.sar_budget, INSTANCE | {"delta": 0.1}, {"delta": [0, 1.0]}),
    (g.sar_exponent, INSTANCE | {"budget": 9}, {"k": [4], "means": ["ab"]}),
    (g.sar_exponent, {"means": ROWS, "k": 1, "budget": 9},
     {"k": [2], "means": [[[0.1], [0.2]], [[[0.1, 0.2]]]]}),
    (g.sar_windows, INSTANCE | {"part": 0.25}, {"part": [0, 1.1], "means": [[[0.1, 0.2], [0.3]]]}),
    (g.multibandit_sar_error, {"means": ROWS, "budget": 9}, {"means": [[0.1, 0.2]]}),
    (g.average_off, {"mean": 0.5, "pulls": 3, "off": 0.1, "slack": 0},
     {"mean": [1.1, [0.1, 2]], "pulls": [0, 2.0], "off": [-0.1, [0.1, 2.0]], "slack": [2]}),
    (g.average_off, {"mean": [0.5, 0.1], "pulls": 3, "off": [0.1, 0.2]}, {"off": [[0.1] * 3]}),
    (g.ugapeb_error, INSTANCE | {"budget": 100, "epsilon": 0.1, "a": 0.1}, {"a": [1e9, 0]}),
    (g.ugapeb_error, INSTANCE | {"budget": 100, "epsilon": 0.1, "variances": [0.1] * 4},
     {"a": [1.0], "budget": [8]}),
    (g.ugapeb_budget, INSTANCE | PROMISE, {"epsilon": [1.0]}),
    (g.ugapec_pulls, INSTANCE | PROMISE, {"k": [4], "b": [0]}),
    (g.ugape_ceiling, {"gap": 0.1, "radius": 0.1}, {"gap": [-0.1], "radius": [0.0]}),
    (g.lucb1_coverage, {"n": 9, "delta": 0.1, "horizon": 3}, {"n": [1], "horizon": [-1, 0.5]}),
    (g.lucb1_crossing, {"t": 1, "delta": 0.1}, {"t": [0, 1.0]}),
    (g.lucb1_needy, INSTANCE | PROMISE | {"t": 1}, {"t": [0], "epsilon": [1.0]}),
    (g.lucb1_rounds, INSTANCE | PROMISE, {"k": [4]}),
    (g.lucb1_overrun, INSTANCE | PROMISE | {"rounds": 10**9}, {"rounds": [10, math.inf]}),
    (g.lucb1_expected_pulls, INSTANCE | PROMISE, {}),
    (g.lucb1_likely_pulls, INSTANCE | PROMISE, {}),
    (g.halving_pulls, SIZES | PROMISE, {"n": [1], "k": [10], "epsilon": [0], "delta": [0, 1.0]}),
    (g.direct_pulls, {"n": 9, **PROMISE}, {"n": [1], "epsilon": [0], "delta": [0, 1.0]}),
    (g.qe_regret, {"size": 40, "k": 10, "pulls": 40, "delta": 0.1},
     {"size": [39], "pulls": [39], "delta": [0]}),
    (g.ar_regret, {"size": 40, "k": 10, "pulls": 40, "delta": 0.1, "published": True},
     {"size": [41, 0], "pulls": [39], "delta": [0]}),
    (g.optmai_regret, SIZES | {"budget": 100, "delta": 0.1, "beta": 0.8},
     {"k": [9], "budget": [8], "beta": [0.75, 1]}),
    (g.optmai_pulls, SIZES | PROMISE | {"beta": 0.8}, {"k": [9], "epsilon": [0], "beta": [0.75]}),
    (g.optmai_arm_pulls, {"n": 9, "budget": 100, "beta": 0.8}, {"n": [1], "beta": [1]}),
    (g.uniform_pulls, SIZES | PROMISE, {"k": [9], "epsilon": [0, 1.0], "delta": [0, 1.0]}),
    (g.clucb_pac_pulls, INSTANCE | PROMISE | {"R": 1}, {"R": [0]}),
    (g.adaptive_topk_pulls, INSTANCE | PROMISE, {"delta": [0], "epsilon": [1.0]}),
    (g.improved_topk_order, INSTANCE | PROMISE | {"constant": 1},
     {"epsilon": [0], "constant": [0]}),
    (g.improved_topk_pulls, INSTANCE | PROMISE, {"epsilon": [0], "delta": [1.0], "k": [4]}),
    (lb.paired_means, {"signs": [True]}, {"signs": [[0.5], [], True]}),
    (lb.pair_log_odds, {"arms": [0], "rewards": [1], "k": 2}, {"arms": [[4]], "rewards": [[0.5]]}),
    (lb.pair_error, {"pulls": 3}, {"pulls": [-1, 0.5]}),
    (lb.pair_counts, {"selected": [0, 1], "signs": [True, True]},
     {"selected": [[0, 0], [0, 4], [0], [0.0, 1.0]], "signs": [[]]}),
    (lb.theorem_3_pulls, {"n": 4, "epsilon": 0.001}, {"n": [5], "epsilon": [0.01, 0]}),
    (lb.theorem_3_success, {"n": 4, "epsilon": 0.001}, {"n": [5], "epsilon": [0.01, 0]}),
    (lb.pair_sprt, {"epsilon": 0.001}, {"epsilon": [1.0, 0]}),
    (lb.theorem_7_1_pulls, SIZES | {"epsilon": 0.005}, {"k": [5], "epsilon": [0.01, 0]}),
    (lb.uniform_failure, SIZES | {"epsilon": 0.1, "pulls": 3},
     {"k": [5], "epsilon": [0.2], "pulls": [0, 0.5]}),
    (lb.group_family, SIZES | {"epsilon": 0.01}, {"k": [5], "epsilon": [0.07, 0]}),
    (lb.mannor_tsitsiklis_family, {"n": 4, "epsilon": 0.1}, {"n": [1], "epsilon": [0.6]}),
    (lb.group_log_ratio, {"pulls": 3, "ones": 2, "epsilon": 0.01}, {"ones": [4, [1, 1], -1]}),
    (lb.group_argument, SIZES | SMALL | {"constant": 9},
     {"k": [5], "epsilon": [0.02], "delta": [0.03, 0], "constant": [0]}),
    (lb.printed_split, SMALL, {"epsilon": [0.02], "delta": [0.02, 0]}),
    (lb.randomised_argument, SIZES | SMALL, {"epsilon": [0.02], "delta": [0.02]}),
    (lb.theorem_5_5_pulls, SIZES | SMALL, {"k": [5], "delta": [0.02]}),
    (lb.complement_epsilon, SIZES | {"epsilon": 0.1}, {"k": [9], "epsilon": [0]}),
    (lb.theorem_5_6_pulls, {"n": 9, "k": 6, "epsilon": 0.001, "delta": 0.01},
     {"k": [4, 9], "epsilon": [0.01]}),
    (lb.explore_m_families, {"n": 6, "m": 3, "size": 2}, {"m": [4, 0], "size": [1, 4]}),
    (lb.explore_m_means, {"n": 5, "members": (1, 2), "epsilon": 0.1},
     {"members": [(0, 1), (1, 1), (5,)], "epsilon": [0.2]}),
    (lb.explore_m_optimal, {"members": (1, 2), "m": 3}, {"members": [(1,)]}),
    (lb.count_pairs, {"n": 4, "m": 2}, {"m": [3]}),
    (lb.explore_m_argument, {"m": 6, "epsilon": 0.1, "delta": 0.1, "constant": 1},
     {"m": [5], "delta": [0.3], "constant": [0]}),
    (lb.theorem_8_constant, {"log_term": 1}, {"log_term": [0, math.inf]}),
    (lb.theorem_8_pulls, {"n": 12, "m": 6, **PROMISE}, {"n": [2.5], "m": [5, 7], "epsilon": [0.2]}),
    (lb.lemma_10_probability, {"horizon": 3, "epsilon": 0.1}, {"horizon": [0]}),
    (lb.totals, {"arms": [0, 1], "rewards": [0, 1], "n": 2},
     {"arms": [[0, 2]], "rewards": [[0], [0, 0.5]]}),
    (lb.log_likelihood_ratio,
     {"pulls": [1, 1], "sums": [1, 0], "means": [0.5, 0.5], "other": [0.5, 0.5]},
     {"sums": [[2, 0], [0.5, 0]], "pulls": [[1]], "other": [[0.5] * 3]}),
    (lb.information, {"pulls": [1, 1], "means": [0.5, 0.5], "other": [0.5, 0.6]},
     {"pulls": [[1, -1], [1]]}),
    (lb.fixed_test_error, {"samples": 1, "p": 0.4, "q": 0.5},
     {"samples": [-1, 0.5], "p": [0.0, *NOT_REAL], "q": [0.4, 1, *NOT_REAL]}),
    (lb.fixed_test_samples, {"p": 0.4, "q": 0.5, "error": 0.1}, {"error": [0.5], "q": [0.4]}),
    (lb.expected_samples_bound, {"p": 0.4, "q": 0.5, "error": 0.1}, {"error": [0.0]}),
    (lb.sprt, {"p": 0.4, "q": 0.5, "threshold": 1}, {"threshold": [0.0]}),
    (lb.sprt_with_error, {"p": 0.4, "q": 0.5, "error": 0.1}, {"q": [0.4], "error": [0.5]}),
    (lb.theorem_5_1_pulls, {"n": 40, "k": 10, "epsilon": 0.01}, {"k": [9], "epsilon": [0.02]}),
]  # fmt: skip


@pytest.mark.parametrize(
    ("function", "right", "wrong"), CALLS, ids=[function.__name__ for function, *_ in CALLS]
)
def test_a_wrong_argument_is_refused_by_name(function, right, wrong):
    function(**right)
    for name in {*right, *wrong}:
        for value in [*EVERYWHERE.get(name, ()), *wrong.get(name, ())]:
            with pytest.raises(ValueError, match=f"^{name} must be "):
                function(**right | {name: value})


@pytest.mark.parametrize(
    ("means", "radii", "k", "name"),
    [([0.5, math.nan], [0.1, 0.1], 1, "means"), ([[0.5, 0.4]], [[0.1, 0.1]], 1, "means"),
     ("ab", [0.1, 0.1], 1, "means"), ([0.5, 0.4], [0.1], 1, "radii"),
     ([0.5, 0.4], [0.1, 0.0], 1, "radii"), ([0.5, 0.4], [0.1, 0.1], 2, "k")],
)  # fmt: skip
def test_ugapes_step_takes_finite_means_of_any_size(means, radii, k, name):
    with pytest.raises(ValueError, match=f"^{name} must be "):
        g.ugape_step(means, radii, k)


def test_no_formula_is_left_out():
    tested = {function.__name__ for function, *_ in CALLS}
    played = {"algorithm_b", "change_of_measure", "group_plays", "smallest_budget"}
    fronts = (topk.hardness, topk.guarantees, topk.lower_bounds)
    public = {name for front in fronts for name in front.__all__ if name[0].islower()}
    assert public - played == tested | {"ugape_step"}
