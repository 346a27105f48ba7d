"""Instances that make every algorithm pay, and the arguments that show it, executed.

Likelihood ratios and changes of measure; Algorithm B and the two tests of one arm behind
it; the families of Mannor and Tsitsiklis, of Zhou et al. and of Kalyanakrishnan et al.;
the paired instance for Chen et al.'s Theorem 3; uniform sampling's own hard instance.
"""

from topk.lower_bounds.algorithm_b import (
    AlgorithmB,
    SmallestBudget,
    algorithm_b,
    smallest_budget,
    theorem_5_1_pulls,
)
from topk.lower_bounds.change_of_measure import ChangeOfMeasure, change_of_measure
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
    GroupPlays,
    complement_epsilon,
    group_argument,
    group_family,
    group_log_ratio,
    group_plays,
    mannor_tsitsiklis_family,
    printed_split,
    randomised_argument,
    theorem_5_5_pulls,
    theorem_5_6_pulls,
)
from topk.lower_bounds.likelihood import information, log_likelihood_ratio, totals
from topk.lower_bounds.one_arm import (
    Sprt,
    expected_samples_bound,
    fixed_test_error,
    fixed_test_samples,
    sprt,
    sprt_with_error,
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
)
from topk.lower_bounds.uniform import theorem_7_1_pulls, uniform_failure

__all__ = [
    "AlgorithmB",
    "ChangeOfMeasure",
    "CountingStep",
    "ExploreMArgument",
    "GroupArgument",
    "GroupPlays",
    "PairCounts",
    "SmallestBudget",
    "Sprt",
    "algorithm_b",
    "change_of_measure",
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
    "group_plays",
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
    "smallest_budget",
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
