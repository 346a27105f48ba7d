"""Breaks: the check, what stands in its cell or the setup, what is put there."""

BREAKS = [
    # the instances differ
    ("common", '"unif", k), 3, seed', '"unif", k), 3, seed + k'),
    # SAR's last phase has one arm, not two
    ("load", "(q - n) / (2 * log_bar)", "(q - n) / log_bar"),
    ("load", "log_bar = 0.5", "log_bar = 1.0"),
    # the rounding is not the library's
    ("rounding", "quarter = -(-size // 4)", "quarter = -(-size // 3)"),
    ("rounding", "rest = due - share * size", "rest = 0 * size"),
    ("rounding", "accepts = left > right or (", "accepts = left < right or ("),
    ("rounding", "inflated = self.budget / (1 - self.beta**rounds)", "inflated = self.budget"),
]
