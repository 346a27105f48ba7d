"""Every function raises a ValueError that names the argument out of range.

One right call of each function; then every argument in turn takes values that are wrong
wherever an argument of that name stands, and those that only this function refuses.  What is
right is mostly the same for arguments of one name, too.
"""

import inspect
import math
from decimal import Decimal
from fractions import Fraction

import numpy as np
import pandas as pd
import pytest

import topk
from topk import confidence, instances, stats
from topk import guarantees as g
from topk import hardness as h
from topk import lower_bounds as lb
from topk.bandits import reward_range_of
from topk.simulate.algorithm_b import algorithm_b
from topk_book import claims, experiments, glue_all, recording, verdicts
from topk_book.replay import replay_phases

MEANS, ROWS, NU = [0.9, 0.6, 0.3, 0.1], [[0.9, 0.1], [0.2, 0.8]], [0.7, 0.5, 0.3]
RIGHT = {
    "means": MEANS, "n": 12, "k": 2, "m": 6, "epsilon": 0.001, "delta": 0.01, "budget": 100,
    "c": 1, "t": 1, "mean": 0.5, "pulls": 40, "off": 0.1, "gap": 0.1, "radius": 0.1, "horizon": 3,
    "rounds": 10**9, "size": 8, "signs": [True, True], "ones": 2, "selected": [0, 1],
    "arms": [0, 1], "rewards": [0, 1], "members": (1, 2, 3, 4, 5), "sums": [1, 0],
    "other": [0.5, 0.6, 0.5, 0.5], "samples": 1, "p": 0.4, "q": 0.5, "error": 0.1, "threshold": 1,
    "number": 1, "rng": 0, "values": [0.1, 0.2], "successes": 1, "trials": 2, "plays": 2, "runs": 2,
    "strategy": topk.Uniform(2, 100), "nu": NU, "nu_prime": NU, "prefix": "crowd",
    "make": lambda budget: topk.Uniform(2, budget), "bandit": topk.BernoulliBandit(NU),
    "id": "bubeck2013/theorem-1", "statement": "It errs rarely.", "anchor": "thm-sar",
    "function": "topk.guarantees.sar_error", "test": "tests/test_x.py::test_y",
}  # fmt: skip
NOT_REAL = [-0.1, math.nan, math.inf, -math.inf, -1e-300, 10**400, Decimal("nan"), Fraction(-1, 3),
            "x", b"2", None, True, np.True_, [], {}, 1j, len, np.array([1, 2, 3])]
NO_COUNT = [0, -1, -(10**30), 1.0, 2.5, math.nan, math.inf, "", "2", "two", b"2", [], [1], (2,),
            {}, {1}, object(), 1j, np.array([1, 2]), len, True, np.True_, Fraction(1), np.int64(0)]
NO_SEED = [np.random, *NO_COUNT[1:-1]]
NO_FLAG = [None, 0, 1, 0.0, "True", "", [], np.int64(1), math.nan]
WRONG = {
    "means": [[0.5], [0.5, 1.2], [0.5, math.nan], [], "no", [0.1, None], [[[0.1, 0.2]] * 2]],
    "k": [0, 1.0, True, "2"], "n": [0, 1, 2.5, True, "4"], "m": [0], "t": [-1, 0.5], "seed": [-1],
    "budget": [3, 100.5, True, 2**54], "ties": ["nearest", None], "sides": ["left"],
    "published": ["yes", 1], "number": [0, 7, True, [1], 1.0], "rng": [-1, "seed", 0.5],
    "level": [1, "x"], "beta": [0.75, 1], "horizon": [-1, 0.5], "epsilon": [*NOT_REAL, 1.0],
    "delta": [*NOT_REAL, 0, 1.0], "error": [*NOT_REAL, 0.0, 0.5], "slack": [*NOT_REAL, 2],
    "runs": [0, -1, 2.5, True, "4", None], "trace": NO_FLAG,
    "max_pulls": [2, 0, -3, 2.5, "9", True, 2**53 + 1],
} | dict.fromkeys("constant b R c threshold log_term".split(), [*NOT_REAL, 0])
LOWER = {"epsilon": [0], "p": [*NOT_REAL, 0.0], "q": [*NOT_REAL, 0.4, 1]}  # of all lower bounds
ZERO, HALF = {"epsilon": [0]}, {"k": [7]}

# Objects that are not a bandit, strategy, batch or number of checkpoints

SAR, SURE, COINS = topk.SAR(1, 60), topk.LUCB1(1, 0.9, 0.9), topk.BernoulliBandit(NU)
PAIR = topk.MultiBandit(ROWS)
NO_STRATEGY = [None, topk.SAR, "SAR", 3, object(), [SAR], COINS, lambda: SAR]
NO_BANDIT = [None, 3, "rte", object(), [0.1, 0.9], np.array([0.1, 0.9]), SAR, PAIR]
NO_BANDITS = [[], [COINS] * 3, (COINS,), [COINS, None], [COINS, topk.BernoulliBandit(MEANS)], {},
              [[0.1, 0.2]] * 2, "ab", [PAIR] * 2]
NO_BANDITS += [lambda rng, drawn=drawn: drawn for drawn in
               (None, 0.5, "bandit", [0.1], topk.BernoulliBandit, PAIR)]
NO_MARKS = [[2], [0], [-5], [9, 9], [9, 8], [5, 7, 6], [], [2.0], [9.5], ["9"], [None], [True],
            "9", [[9, 10]], [math.nan], [[9], [10, 11]], [2**63], [10**30], 9.5]
NO_MEAN = [math.nan, math.inf, -math.inf, -1e-12, 1 + 1e-12, 2, -1, None, "x", 1j]
ONE_WRONG = [row for x in NO_MEAN for row in ([0.5, x], [x, 0.5, 0.5])]
NO_MEANS = [*ONE_WRONG, 0.5, None, "abc", [[0.5, 0.5]], [[0.1], [0.2, 0.3]], object(), {},
            np.zeros((2, 2)), np.array([0.5 + 1j, 0.5]), {"a": 0.1}, ["a", "b"]]
NO_SCALE = [0, -1, math.nan, math.inf, -math.inf, None, "x", 1j, 10**400]
NO_SHAPES = [[], [1.0], 1.0, None, [[1.0, 1.0]], "ab", {}, [[1], [1, 2]],
             *([1, x] for x in NO_SCALE)]
NO_ANSWERS = [[], [[1.0]], [[], []], [[1.0], []], [1.0, 0.0], None, 5, 0.5, [[0.5], None],
              {(0,), (1,)}, [[[0.5]], [[0.5]]],
              [["x"], [0.5]], "ab", object(), *([[0.5], x] for x in ONE_WRONG)]
NO_BATCH = {
    "arms": [[12], [-1], [0.0], ["0"], [None], [[0]], 0, None, "0", [True], [2**63], [math.nan]],
    "counts": [[-1], [1.0], ["1"], [[1]], [], [1, 1], 1, None, "1", [True], [2**64], [math.nan]],
    "rng": [None, 0, np.random, np.random.RandomState(0)],  # noqa: NPY002
}  # fmt: skip
TABLE = pd.DataFrame({"arm": [1, 2], "reward": [2.0, 1.0]})
NO_TABLES = [pd.DataFrame({"arm": arm, "reward": reward}) for arm, reward in
             (([1, 2], [math.nan, 1]), ([1, 2], ["a", "b"]), ([1, None], [0, 1]))]
NO_TABLES.append(pd.concat([TABLE, TABLE], axis=1))


SPECIAL = {  # what is right for this function alone, and what else is wrong
    topk.run: ({}, {"strategy": NO_STRATEGY, "rng": NO_SEED,
                    "bandit": [*NO_BANDIT, [COINS], lambda rng: COINS, topk.BernoulliBandit]}),
    topk.replicate: (
        {"strategy": SURE, "keep": "summary"},
        {"strategy": NO_STRATEGY, "bandit": [*NO_BANDIT, *NO_BANDITS], "seed": NO_SEED,
         "checkpoints": NO_MARKS, "jobs": [0, -2, *NO_COUNT[2:]], "chunk": [0, 1.5],
         "keep": ["nothing"], "store": ["", " ", 3, b"x"]}),
    topk.compare: ({"strategies": {"SAR": SAR}},
                   {"strategies": [{}, {"x": "SAR"}], "runs": [1],
                    "budgets": [[], [60, 60], [80, 60], "60", iter([60]), [60.5], [[60]]]}),
    topk.BernoulliBandit: ({}, {"means": NO_MEANS}),
    topk.TruncatedNormalBandit: ({"loc": [0.5, 0.5], "scale": 0.2},
                                 {"loc": NO_MEANS, "scale": [*NO_SCALE, [0.1, 0.2]]}),
    topk.BetaBandit: ({"a": [1, 1], "b": [1, 1]}, {"a": NO_SHAPES, "b": [*NO_SHAPES, [1, 1, 1]]}),
    topk.GaussianBandit: ({"sigma": 1.0}, {"sigma": [0, -1, math.inf, math.nan, "x", None]}),
    topk.ReplayBandit: ({"answers": [[0, 1], [0.5]]}, {"answers": NO_ANSWERS}),
    topk.MultiBandit: ({"means": ROWS}, {"means": [
        [0.5, 0.5], [[0.5], [0.5]], [[]], 0.5, [[0.1, 0.2], [0.3]], [[0.5, math.nan]],
        [[0.5, 1.1]], None, "ab"]}),
    topk.ReplayBandit.from_frame: (
        {"frame": TABLE, "arm": "arm", "reward": "reward", "bounds": (0, 2)},
        {"frame": [[[1, 2]]], "arm": ["x", ["arm"], TABLE.arm], "reward": ["x", None]}),
    **{bandit.pull: ({"arms": [0], "counts": [1], "rng": np.random.default_rng(0)}, NO_BATCH)
       for bandit in (topk.BernoulliBandit(MEANS), topk.BetaBandit([1, 1], [1, 1]), PAIR)},
    topk.Uniform(2, 100).start(4).tell: (
        {"arms": [0, 1], "rewards": [1, 0], "counts": [1, 1], "squares": [1, 0],
         "sums": None, "means": None},
        {"arms": [[0, 4]], "counts": [[1, -1]], "squares": [[2, 0]]}),
    reward_range_of: ({"bounds": (0, 1)}, {"bounds": [
        (1, 0), (0, 0), (0, math.inf), (math.nan, 1), (-2e300, 1), 3, (0, 1, 2), "ab"]}),
    confidence.interval: ({"sums": 3}, {
        "pulls": [-1, 1.5, math.nan, "3", 2**54], "delta": [[0.1]], "sigma": [0.0, math.nan],
        "sums": [40.1, -0.1, math.nan, math.inf]}),
    confidence.evidence: (
        {"pulls": [3, 3, 3], "sums": [3, 0, 0], "chosen": [0]},
        {"pulls": [[3, -1, 1]], "sums": [[4, 0, 0]], "chosen": [[3], [], [0, 0]],
         "withdrawn": [[3], [-1], [1.0]], "sigma": [0.0, -0.5, math.nan]}),
    instances.synthetic: ({"p": 1}, {"p": [0, -1, math.nan]}),
    stats.mean_interval: ({}, {"values": [0.1, [0.1, math.nan], ["a", "b"]]}),
    stats.paired_difference: ({"a": np.ones((2, 2)), "b": np.ones((2, 2))},
                              {"b": [[0.1, 0.2, 0.3], np.ones((2, 3))]}),
    stats.proportion_interval: ({}, {"trials": [0], "successes": [0.5, 3, -1]}),
    algorithm_b: ({}, {"epsilon": [0.125], "pulls": [0]}),
    experiments.change_of_measure: (
        {"strategy": topk.Uniform(1, 9)},
        {"nu": [[0.5, 1.5, 0.1]], "nu_prime": [[0.5, 0.5]], "runs": [1], "false_alarm": [0],
         "event": [lambda reps: reps.sums]}),
    experiments.smallest_budget: ({"n": 6, "epsilon": 0.1}, {"k": [4], "ratio": [1.0]}),
    experiments.group_plays: ({"n": 6}, {"epsilon": [1 / 16], "hypothesis": [4]}),
    experiments.kth_arm: (
        {"eta": 0.2},
        {"bandit": [[0.1, 0.2]], "k": [4], "eta": [*NOT_REAL, 0, 1], "slack": [-1, 1, 0.5]},
    ),
    replay_phases: (
        {"strategy": topk.SAR(1, 12), "n": 3, "sums": [[1, 2, 0]] * 2},
        {"strategy": [topk.Uniform(1, 12)],
         "sums": [[[1, 2, 0]], [[4, 2, 0]] * 2,  # four ones among three rewards
                  [[1, 2, 0], [0, 2, 0]], [[1.0, 2.0, 0.0]] * 2, [["1", "2", "0"]] * 2]}),
    recording.record: ({}, {"bandit": [[0.5, 0.4]], "frames": [1]}),
    claims.checked: ({}, {
        "id": ["bubeck2013/theorem-3", "theorem-1"], "statement": [" "], "anchor": ["#thm"],
        "function": ["topk.guarantees.sar_mistake", "numpy.sum", "topk.guarantees"],
        "test": ["tests/test_x.py"]}),
    glue_all: ({}, {"prefix": ["", "two words", "1st", None]}),
    **dict.fromkeys((h.gaps, h.spread_constant), ({}, {"means": [ROWS]})),
    h.bernoulli_kl: ({}, {"p": [1.5, -0.1, "x", None], "q": [-0.2, [0.1, math.nan]]}),
    h.characteristic_time: ({}, {"means": [ROWS], "family": ["normal", None], "sigma": [1.0]}),
    h.h_multibandit: ({"means": ROWS}, {"means": [[0.1, 0.2], [[0.1], [0.2]]]}),
    h.ugape_complexity: ({"variances": [0.1] * 4},
                         {"variances": [[0.1], [0.1, 0.1, 0.1, 2.0], ROWS]}),
    **dict.fromkeys((h.psi, h.topk_complexity), ({}, {"t": [2]})),
    h.spread_bounds: ({}, HALF | ZERO | {"c": [0.5]}),
    g.plan: ({"n": 4}, ZERO | {"means": [[0.1, 0.2]]}),
    g.sar_exponent: ({}, {"means": ["ab"]}),
    g.sar_windows: ({}, {"part": [0, 1.1], "means": [[[0.1, 0.2], [0.3]]]}),
    g.multibandit_sar_error: ({"means": ROWS}, {"means": [[0.1, 0.2]]}),
    g.average_off: ({}, {"mean": [1.1, [0.1, 2]], "pulls": [0, 2.0], "off": [-0.1, [0.1, 2.0]]}),
    g.ugapeb_error: ({"a": 0.1}, {"a": [1e9, 0]}),
    g.ugape_ceiling: ({}, {"gap": [-0.1], "radius": [0.0]}),
    g.lucb1_crossing: ({}, {"t": [0, 1.0]}),
    g.lucb1_needy: ({}, {"t": [0]}),
    g.lucb1_overrun: ({}, {"rounds": [10, math.inf]}),
    g.halving_pulls: ({}, ZERO | {"k": [13]}),
    **dict.fromkeys((g.direct_pulls, g.optmai_pulls, g.uniform_pulls, g.improved_topk_order,
                     g.improved_topk_pulls), ({}, ZERO)),
    g.qe_regret: ({}, {"size": [7], "pulls": [7]}),
    g.ar_regret: ({}, {"size": [9, 0], "pulls": [7]}),
    g.optmai_regret: ({}, {"budget": [11]}),
    lb.paired_means: ({}, {"signs": [[0.5], [], True]}),
    lb.pair_log_odds: ({}, {"arms": [[4, 0]], "rewards": [[0.5, 1]]}),
    lb.pair_error: ({}, {"pulls": [-1, 0.5]}),
    lb.pair_counts: ({}, {"selected": [[0, 0], [0, 4], [0], [0.0, 1.0]], "signs": [[]]}),
    **dict.fromkeys((lb.theorem_3_pulls, lb.theorem_3_success),
                    ({}, {"n": [5], "epsilon": [0.01]})),
    lb.theorem_7_1_pulls: ({}, HALF | {"epsilon": [0.01]}),
    lb.uniform_failure: ({}, HALF | {"epsilon": [0.2], "pulls": [0, 0.5]}),
    lb.group_family: ({}, HALF | {"epsilon": [0.07]}),
    lb.mannor_tsitsiklis_family: ({}, {"epsilon": [0.6]}),
    lb.group_log_ratio: ({}, {"ones": [41, [1, 1], -1]}),
    lb.group_argument: ({}, HALF | {"epsilon": [0.02], "delta": [0.03]}),
    lb.printed_split: ({}, {"epsilon": [0.02], "delta": [0.02]}),
    lb.randomised_argument: ({}, HALF | {"epsilon": [0.02], "delta": [0.02]}),
    lb.theorem_5_5_pulls: ({}, HALF | {"delta": [0.02]}),
    lb.theorem_5_6_pulls: ({"k": 8}, {"k": [5], "epsilon": [0.01]}),
    lb.explore_m_families: ({"size": 5}, {"m": [7], "size": [1, 4, 7]}),
    lb.explore_m_means: ({}, {"members": [(0, 1), (1, 1), (12,)], "epsilon": [0.2]}),
    lb.explore_m_optimal: ({}, {"members": [(1,)]}),
    lb.count_pairs: ({}, {"m": [7]}),
    lb.explore_m_argument: ({}, {"m": [5], "delta": [0.3], "epsilon": [0.2]}),
    lb.theorem_8_constant: ({}, {"log_term": [math.inf]}),
    lb.theorem_8_pulls: ({}, {"m": [5, 7], "epsilon": [0.2]}),
    lb.lemma_10_probability: ({}, {"horizon": [0]}),
    lb.totals: ({"n": 2}, {"arms": [[0, 2]], "rewards": [[0], [0, 0.5]]}),
    lb.log_likelihood_ratio: (
        {"pulls": [1, 1], "means": [0.5, 0.5], "other": [0.5, 0.6]},
        {"sums": [[2, 0], [0.5, 0]], "pulls": [[1]], "other": [[0.5] * 3]}),
    lb.information: ({"pulls": [1, 1, 0, 0]}, {"pulls": [[1, -1, 0, 0], [1]]}),
    lb.fixed_test_error: ({}, {"samples": [-1, 0.5]}),
    lb.theorem_5_1_pulls: ({"n": 40, "k": 10}, {"k": [9], "epsilon": [0.02]}),
}  # fmt: skip
ANY_MEANS = {h.gaps, h.h1, h.h2, topk.GaussianBandit}  # finite ones
ALL_ARMS = {g.halving_pulls, g.optmai_pulls}  # k may be n
OTHERWISE = {g.log_bar, g.ugape_step, lb.complement_epsilon}  # see REFUSED
FORMULAS = {getattr(front, name) for front in (h, g, lb) for name in front.__all__
            if name[0].islower()}
FORMULAS |= {each for name, each in vars(instances).items()
             if getattr(each, "__module__", "") == "topk.instances" and name[0] != "_"}
FORMULAS = sorted(FORMULAS - OTHERWISE, key=lambda function: function.__name__)
CALLS = dict.fromkeys([*SPECIAL, *FORMULAS])


@pytest.mark.parametrize("function", CALLS, ids=lambda function: function.__name__)
def test_a_wrong_argument_is_refused_by_name(function):
    alone, wrong = SPECIAL.get(function, ({}, {}))
    parameters = inspect.signature(function).parameters
    right = {name: RIGHT[name] for name in parameters if name in RIGHT}
    function(**(right := right | alone))
    for name in parameters.keys() & {*WRONG, *LOWER, *wrong}:
        values = [*WRONG.get(name, ()), *wrong.get(name, ())]
        if name == "means" and function in ANY_MEANS:
            values.remove([0.5, 1.2])
        values += LOWER.get(name, ()) if hasattr(lb, function.__name__) else ()
        if name == "k" and {"n", "means"} & {*right} and function not in ALL_ARMS:
            values.append(right.get("n") or len(right["means"]))
        for value in values:
            if value is None and parameters[name].default is None:
                continue  # not given
            with pytest.raises(ValueError, match=rf"^{name}( of arm \d+)? must be "):
                function(**right | {name: value})
                pytest.fail(f"{name} = {value!r} is not refused")


REFUSED = [
    *((lambda x=x: topk.streams(x, 0, 5), "seed") for x in [*NO_SEED, None]),
    *((lambda x=x: topk.streams(0, x, 5), "play") for x in [*NO_SEED, None]),
    *((lambda x=x: topk.streams(0, 0, x), "n") for x in NO_COUNT),
    (lambda: topk.replicate(SURE, COINS, 1, epsilon=0.1, seed=0), "epsilon"),
    (lambda: topk.run(topk.MultiBanditSAR(60), COINS, rng=0), "bandit"),
    *((lambda x=x: topk.warm(SAR, x), "bandit") for x in (TABLE, [])),
    *((lambda x=x: topk.replicate(topk.MultiBanditSAR(60), x, 2, seed=0), "bandit")
      for x in (COINS, [COINS] * 2, [PAIR, topk.MultiBandit([[0.9, 0.1]])])),
    (lambda: topk.replicate(SAR, lambda rng: topk.instances.unif01(rng.integers(2, 9), rng), 9, 0),
     "bandit"),
    (lambda: topk.compare({"a": SAR, "b": SURE}, COINS, 2, budgets=[2], seed=1), "budget"),
    (lambda: topk.compare({"a": SURE}, COINS, 2, 1, budgets=[20], checkpoints=[20]), "checkpoints"),
    (lambda: topk.compare({"a": SAR}, COINS, 2, seed=1).table("precision"), "measure"),
    (lambda: topk.ReplayBandit.from_frame(TABLE, bounds=(0, 1)), "answers of arm 1"),
    *((lambda x=x: topk.ReplayBandit.from_frame(x), name)
      for x, name in zip(NO_TABLES, ("reward", "reward", "arm", "arm"), strict=True)),
    (lambda: reward_range_of((0, 1), 1.0), "bounds"),
    *((lambda x=x: topk.Uniform(1, 9).start(2).evidence(x), "epsilon") for x in (1, "0.1")),
    (lambda: confidence.evidence([[1] * 3] * 2, [[1] * 3] * 2, [0]), "chosen"),
    (lambda: SAR.start(3, bounds=(-3, 12)).tell([0, 1], [0, 0], squares=[0]), "squares"),
    (lambda: confidence.interval([1, 2], [1, 1, 1], 0.1), "sums"),
    (lambda: confidence.interval(3, math.inf, 0.1, 1.0), "sums"),
    *((lambda x=x: g.ugape_step(x, [0.1, 0.1], 1), "means")
      for x in ([0.5, math.nan], "ab", [[0.5, 0.4]])),
    *((lambda x=x: g.ugape_step([0.5, 0.4], x, 1), "radii") for x in ([0.1], [0.1, 0.0])),
    (lambda: g.ugape_step([0.5, 0.4], [0.1, 0.1], 2), "k"),
    (lambda: algorithm_b(topk.Uniform(4, 100), 6, 0.01, 10, seed=0), "k"),
    (lambda: algorithm_b(topk.Uniform(2, 100), 6, 0.01, 0, seed=0), "plays"),
    (lambda: experiments.group_plays(topk.Uniform(4, 100), 6, 0.01, 4, seed=0), "k"),
    (lambda: replay_phases(topk.SAR(1, budget=3), 3, [[0, 0, 0]] * 2), "budget"),
    (lambda: stats.mean_interval([0.1]), "the number of runs in values"),
    (lambda: verdicts.paired([1.0, 2.0], [1.0, 2.0, 3.0]), "b|a"),
    (lambda: verdicts.paired([1.0], [1.0]), "the number of runs in (a|b)"),
    (lambda: verdicts.paired([math.nan, 1.0], [1.0, 2.0]), "a|b"),
    (lambda: g.sar_exponent(ROWS, 2, 9), "k"),
    (lambda: g.sar_exponent([[[0.1], [0.2]]], 1, 9), "means"),
    (lambda: g.average_off([0.5, 0.1], 3, [0.1] * 3), "mean|off"),
    *((lambda x=x: recording.side_by_side(*x), "recordings") for x in ([], ["SAR"])),
    *((lambda x=x: h.characteristic_time([1, 0], 1, "gaussian", x), "sigma") for x in (None, 0)),
    (lambda: h.characteristic_time([1, math.nan], 1, "gaussian", 1), "means"),
    *((lambda n=n: g.log_bar(n), "n") for n in (0, 2.5, True, "4")),
    *((lambda x=x: lb.complement_epsilon(9, 3, x), "epsilon") for x in [0, *NOT_REAL]),
    *((lambda k=k: lb.complement_epsilon(9, k, 0.1), "k") for k in [9, *WRONG["k"]]),
    *((lambda n=n: lb.complement_epsilon(n, 3, 0.1), "n") for n in WRONG["n"]),
    *((lambda judge=judge, x=x: judge(x), "readings")
      for judge in (verdicts.always, verdicts.most, verdicts.fact) for x in ({}, 1))]


@pytest.mark.parametrize(("call", "name"), REFUSED)
def test_and_so_are_these(call, name):
    with pytest.raises(ValueError, match=f"^({name}) must be "):
        call()
