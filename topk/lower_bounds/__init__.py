"""The instances and arguments behind the lower bounds.

All functions raise a ValueError if an argument is outside the range that they document.
"""

from topk.lower_bounds.explore_m import (
    CountingStep,
    ExploreMArgument,
    count_pairs,
    explore_m_argument,
    explore_m_families,
    explore_m_means,
    explore_m_optimal,
    lemma_10_probability,
    theorem_8_constant,
    theorem_8_pulls,
)
from topk.lower_bounds.groups import (
    GroupArgument,
    complement_epsilon,
    group_argument,
    group_family,
    group_log_ratio,
    mannor_tsitsiklis_family,
    printed_split,
    randomised_argument,
    theorem_5_5_pulls,
    theorem_5_6_pulls,
)
from topk.lower_bounds.pairs import (
    PairCounts,
    pair_counts,
    pair_error,
    pair_log_odds,
    pair_sprt,
    paired_means,
    theorem_3_pulls,
    theorem_3_success,
    theorem_7_1_pulls,
    uniform_failure,
)
from topk.lower_bounds.two_coins import (
    Sprt,
    expected_samples_bound,
    fixed_test_error,
    fixed_test_samples,
    information,
    log_likelihood_ratio,
    sprt,
    sprt_with_error,
    theorem_5_1_pulls,
    totals,
)

__all__ = [
    "CountingStep",
    "ExploreMArgument",
    "GroupArgument",
    "PairCounts",
    "Sprt",
    "complement_epsilon",
    "count_pairs",
    "expected_samples_bound",
    "explore_m_argument",
    "explore_m_families",
    "explore_m_means",
    "explore_m_optimal",
    "fixed_test_error",
    "fixed_test_samples",
    "group_argument",
    "group_family",
    "group_log_ratio",
    "information",
    "lemma_10_probability",
    "log_likelihood_ratio",
    "mannor_tsitsiklis_family",
    "pair_counts",
    "pair_error",
    "pair_log_odds",
    "pair_sprt",
    "paired_means",
    "printed_split",
    "randomised_argument",
    "sprt",
    "sprt_with_error",
    "theorem_3_pulls",
    "theorem_3_success",
    "theorem_5_1_pulls",
    "theorem_5_5_pulls",
    "theorem_5_6_pulls",
    "theorem_7_1_pulls",
    "theorem_8_constant",
    "theorem_8_pulls",
    "totals",
    "uniform_failure",
]


def __dir__() -> list[str]:
    return __all__
