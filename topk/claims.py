"""Claims about papers with their verdicts, and the statistics behind them."""

from topk.book.claims import Checked, Claim, Ledger, Verdict, checked
from topk.stats import (
    Interval,
    Tally,
    compare,
    mean_interval,
    paired_difference,
    proportion_interval,
)

__all__ = [
    "Checked",
    "Claim",
    "Interval",
    "Ledger",
    "Tally",
    "Verdict",
    "checked",
    "compare",
    "mean_interval",
    "paired_difference",
    "proportion_interval",
]
