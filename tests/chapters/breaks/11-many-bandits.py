"""Breaks: the check, what stands in its cell or the setup, what is put there."""

BREAKS = [
    ("share", "assert h2 <= own.sum() * TINY", "assert h2 <= own.max() * TINY"),
    ("share", "h1 <= log_bar(rows.size) * h2", "h1 <= log_bar(rows.size) / 2 * h2"),
    ("share", "assert own.max() <= h2 * TINY", "assert own.sum() <= h2 * TINY"),
    ("budget", "several = topk.MultiBanditSAR(budget)",
     "several = topk.MultiBanditSAR(2 * budget)"),
    ("event", "QUARTER = 1 / 4", "QUARTER = 1 / 5"),
    ("event", "each = 2 * math.exp(-guarantees", "each = 2 * math.exp(-8 / 7 * guarantees"),
    ("no-error", "QUARTER = 1 / 4", "QUARTER = 1 / 2"),
    ("no-error", "_, _, arm, m = max(pairs)", "_, _, arm, m = min(pairs)"),
]  # fmt: skip
