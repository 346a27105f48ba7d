"""Top-K arm identification: strategies, bandits, simulation and live sessions.

Nothing below is imported before it is asked for, so that ``import topk`` costs little more than
NumPy.  What is public, and where it lives, stands here and nowhere else.
"""

import sys
from importlib import import_module
from importlib.machinery import ModuleSpec
from importlib.util import module_from_spec

from topk.streams import streams as streams  # the one public name that is also a module's

__version__ = "0.1.0"

MODULES = "data instances metrics store streams".split()
ROOMS = "book engine experiments stats strategies theory".split()  # found too, but not listed
NAMES = {
    "topk.bandits": "Bandit BernoulliBandit BetaBandit MultiBandit ReplayBandit "
    "TruncatedNormalBandit",
    "topk.engine.composing": "rule",
    "topk.engine.deciding": "View",
    "topk.engine.strategy": "Indices Rounds Strategy",
    "topk.experiments": "KthArm kth_arm",
    "topk.results": "Outcome Replications Summary",
    "topk.session": "Session resume",
    "topk.simulate": "replicate run",
}
STRATEGIES = {  # in the order of their reference
    "topk.strategies.uniform": "Uniform",
    "topk.strategies.sar": "SuccessiveRejects SAR MultiBanditSAR",
    "topk.strategies.optmai": "OptMAI",
    "topk.strategies.gape": "GapE MultiBanditGapE",
    "topk.strategies.ugape": "UGapEb UGapEc MultiBanditUGapEb MultiBanditUGapEc",
    "topk.strategies.racing": "Racing",
    "topk.strategies.halving": "Halving",
    "topk.strategies.lucb": "LUCB1",
    "topk.strategies.clucb": "CLUCB CLUCBPAC",
    "topk.strategies.adaptive": "AdaptiveTopK ImprovedTopK",
}
FRONTS = {
    "hardness": {
        "topk.theory.characteristic": "CharacteristicTime characteristic_time",
        "topk.theory.hardness": "SpreadBounds gaps h1 h2 h_multibandit lucb_complexity psi "
        "spread_bounds spread_constant tolerance topk_complexity ugape_complexity",
        "topk.theory.likelihood": "bernoulli_kl",
    },
    "guarantees": {
        "topk.theory": "plan",
        "topk.theory.average_regret": "adaptive_topk_pulls ar_regret clucb_pac_pulls "
        "improved_topk_order improved_topk_pulls optmai_arm_pulls optmai_pulls optmai_regret "
        "qe_regret uniform_pulls",
        "topk.theory.lucb": "direct_pulls halving_pulls lucb1_coverage lucb1_crossing "
        "lucb1_expected_pulls lucb1_likely_pulls lucb1_needy lucb1_overrun lucb1_rounds",
        "topk.theory.sar": "average_off log_bar multibandit_sar_error sar_budget sar_error "
        "sar_exponent sar_windows",
        "topk.theory.ugape": "UGapEStep ugape_ceiling ugape_step ugapeb_budget ugapeb_error "
        "ugapec_pulls",
    },
    "lower_bounds": {
        "topk.experiments": "AlgorithmB ChangeOfMeasure GroupPlays SmallestBudget algorithm_b "
        "change_of_measure group_plays smallest_budget",
        "topk.theory.explore_m": "CountingStep ExploreMArgument count_pairs explore_m_argument "
        "explore_m_families explore_m_means explore_m_optimal lemma_10_probability "
        "theorem_8_constant theorem_8_pulls",
        "topk.theory.groups": "GroupArgument complement_epsilon group_argument group_family "
        "group_log_ratio mannor_tsitsiklis_family printed_split randomised_argument "
        "theorem_5_5_pulls theorem_5_6_pulls",
        "topk.theory.likelihood": "Sprt expected_samples_bound fixed_test_error fixed_test_samples "
        "information log_likelihood_ratio sprt sprt_with_error theorem_5_1_pulls totals",
        "topk.theory.pairs": "PairCounts pair_counts pair_error pair_log_odds pair_sprt "
        "paired_means theorem_3_pulls theorem_3_success theorem_7_1_pulls uniform_failure",
    },
    "claims": {
        "topk.book.claims": "Claim Verdict Ledger",
        "topk.stats": "Interval mean_interval paired_difference proportion_interval Tally compare",
    },
    "plots": {
        "topk.book.plots": "WIDTH BLUE RED BLACK GREY Style STYLES use_style style panels "
        "curve_with_band pulls_histogram arms_strip",
    },
}


def _lazily(module, names, modules=()):
    """Return ``__getattr__``, ``__dir__`` and ``__all__`` (PEP 562) of a module."""
    homes = {name: home for home, listed in names.items() for name in listed.split()}
    public = [*homes, *modules]

    def fetch(name):
        if name in modules:
            return import_module(f"{module}.{name}")
        if name not in homes:
            raise AttributeError(f"module {module!r} has no attribute {name!r}")
        return getattr(import_module(homes[name]), name)

    return fetch, lambda: public, public


def _front(name, names):
    """Make ``topk.name``, a module without a file whose names live elsewhere."""
    front = module_from_spec(ModuleSpec(f"{__name__}.{name}", None))
    front.__doc__ = f"Names that live in {', '.join(names)}."
    front.__getattr__, front.__dir__, front.__all__ = _lazily(front.__name__, names)
    sys.modules[front.__name__] = front
    return front


globals().update({name: _front(name, names) for name, names in FRONTS.items()})
__getattr__, __dir__, __all__ = _lazily(__name__, NAMES | STRATEGIES, [*FRONTS, *MODULES, *ROOMS])
__all__ = [name for name in __all__ if name not in ROOMS]
