"""Guarantees of the papers: right-hand sides of the upper bounds, and a table of them.

All functions raise a ValueError if an argument is outside the range that they document.  Their
notes say whether a constant is published, repaired, recalled or derived here.
"""

from topk.guarantees.adaptive import (
    adaptive_topk_pulls,
    clucb_pac_pulls,
    improved_topk_order,
    improved_topk_pulls,
)
from topk.guarantees.lucb import (
    direct_pulls,
    halving_pulls,
    lucb1_coverage,
    lucb1_crossing,
    lucb1_expected_pulls,
    lucb1_likely_pulls,
    lucb1_needy,
    lucb1_overrun,
    lucb1_rounds,
)
from topk.guarantees.optmai import (
    ar_regret,
    optmai_arm_pulls,
    optmai_pulls,
    optmai_regret,
    qe_regret,
    uniform_pulls,
)
from topk.guarantees.plan import plan
from topk.guarantees.sar import (
    log_bar,
    multibandit_sar_error,
    sar_budget,
    sar_error,
    sar_exponent,
    sar_windows,
)
from topk.guarantees.ugape import (
    UGapEStep,
    average_off,
    ugape_ceiling,
    ugape_step,
    ugapeb_budget,
    ugapeb_error,
    ugapec_pulls,
)

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


def __dir__() -> list[str]:
    return __all__
