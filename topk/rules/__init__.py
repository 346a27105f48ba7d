"""The language in which strategies are written: forms of rules, their words, and searches.

A strategy imports all that it needs from here.
"""

from topk.rules.base import (
    ACCEPTED,
    ACTIVE,
    BY_BUDGET,
    BY_RULE,
    NOBODY,
    REJECTED,
    WITHDRAWN,
    keep_active,
)
from topk.rules.indices import following, highest, inside, kth, lower, lowest, moved, upper
from topk.rules.marks import allocates, apart, larger, open_function, rule, shared
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
from topk.rules.strategy import Indices, Rounds, Strategy, clipped_bounds, positive
from topk.rules.view import View

__all__ = [
    "ACCEPTED",
    "ACTIVE",
    "BY_BUDGET",
    "BY_RULE",
    "EVERYTHING",
    "NOBODY",
    "REJECTED",
    "WITHDRAWN",
    "Indices",
    "Rounds",
    "Strategy",
    "View",
    "accept",
    "allocates",
    "apart",
    "batch",
    "clipped_bounds",
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
    "lower",
    "lowest",
    "moved",
    "open_function",
    "order",
    "positive",
    "rank",
    "rank_fresh",
    "ranked_by",
    "reject",
    "rule",
    "shared",
    "upper",
    "whole_pulls",
]
