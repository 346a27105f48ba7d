"""The language in which strategies are written: forms of rules, their functions, and searches.

A strategy imports all that it needs from here.
"""

from topk._marks import allocates, apart
from topk.rules.base import (
    ACCEPTED,
    ACTIVE,
    BY_BUDGET,
    BY_RULE,
    NO_ARM,
    REJECTED,
    WITHDRAWN,
    keep_active,
    least_pulled,
)
from topk.rules.declaration import Arms, Stored
from topk.rules.forms import Indices, Rounds
from topk.rules.indices import (
    arm_pulled,
    clock,
    following,
    highest,
    inside,
    kth,
    lower,
    lowest,
    upper,
)
from topk.rules.marks import larger, open_function, rule
from topk.rules.ranking import order, rank, ranked_by
from topk.rules.rounds import (
    EVERYTHING,
    accept,
    batch,
    end_with,
    first_leaves,
    fresh_sums,
    gaps,
    rank_fresh,
    reject,
    whole_pulls,
)
from topk.rules.strategy import Strategy, clipped_intervals, positive
from topk.rules.view import View

__all__ = [
    "ACCEPTED",
    "ACTIVE",
    "BY_BUDGET",
    "BY_RULE",
    "EVERYTHING",
    "NO_ARM",
    "REJECTED",
    "WITHDRAWN",
    "Arms",
    "Indices",
    "Rounds",
    "Stored",
    "Strategy",
    "View",
    "accept",
    "allocates",
    "apart",
    "batch",
    "clipped_intervals",
    "clock",
    "end_with",
    "first_leaves",
    "following",
    "fresh_sums",
    "gaps",
    "highest",
    "inside",
    "keep_active",
    "kth",
    "larger",
    "least_pulled",
    "lower",
    "lowest",
    "arm_pulled",
    "open_function",
    "order",
    "positive",
    "rank",
    "rank_fresh",
    "ranked_by",
    "reject",
    "rule",
    "upper",
    "whole_pulls",
]


def __dir__() -> list[str]:
    return __all__
