"""The checks of the page on Figure 1 of Zhou, Chen and Li (2014), and that they can fail."""

import pytest
from chapters import cells

NAME = "13-optimal-pulls-figures"

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


@pytest.mark.parametrize("check", cells.checks(NAME))
def test_checks_pass(check):
    cells.run(NAME, check)


@pytest.mark.parametrize(("check", "old", "new"), BREAKS)
def test_broken_checks_fail(check, old, new):
    with pytest.raises(AssertionError):
        cells.run(NAME, check, old, new)
