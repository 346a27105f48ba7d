"""What the theorems promise: the right-hand side of every upper bound, with its constants.

Each function says in its notes whether its constant is *published*, *repaired* (the
published proof needs another one), *derived* here, or *recalled* from general knowledge.
`plan` lines the sample sizes up.
"""

from topk.guarantees.fixed_budget import (
    ar_regret,
    average_off,
    log_bar,
    multibandit_sar_error,
    optmai_arm_pulls,
    optmai_pulls,
    optmai_regret,
    qe_regret,
    sar_budget,
    sar_error,
    sar_exponent,
    sar_windows,
    ugapeb_budget,
    ugapeb_error,
    uniform_pulls,
)
from topk.guarantees.fixed_confidence import (
    adaptive_topk_pulls,
    clucb_pac_pulls,
    direct_pulls,
    halving_pulls,
    improved_topk_order,
    improved_topk_pulls,
    ugapec_pulls,
)
from topk.guarantees.lucb import (
    lucb1_coverage,
    lucb1_crossing,
    lucb1_expected_pulls,
    lucb1_likely_pulls,
    lucb1_needy,
    lucb1_overrun,
    lucb1_rounds,
)
from topk.guarantees.planning import plan
from topk.guarantees.ugape import UGapEStep, ugape_ceiling, ugape_step

__all__ = [
    "UGapEStep",
    "adaptive_topk_pulls",
    "ar_regret",
    "average_off",
    "clucb_pac_pulls",
    "direct_pulls",
    "halving_pulls",
    "improved_topk_order",
    "improved_topk_pulls",
    "log_bar",
    "lucb1_coverage",
    "lucb1_crossing",
    "lucb1_expected_pulls",
    "lucb1_likely_pulls",
    "lucb1_needy",
    "lucb1_overrun",
    "lucb1_rounds",
    "multibandit_sar_error",
    "optmai_arm_pulls",
    "optmai_pulls",
    "optmai_regret",
    "plan",
    "qe_regret",
    "sar_budget",
    "sar_error",
    "sar_exponent",
    "sar_windows",
    "ugape_ceiling",
    "ugape_step",
    "ugapeb_budget",
    "ugapeb_error",
    "ugapec_pulls",
    "uniform_pulls",
]
