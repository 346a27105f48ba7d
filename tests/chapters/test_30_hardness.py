"""The checks of the page on hardness pass, and each of them can fail."""

import pytest
from chapters import cells

NAME = "30-hardness"

BREAKS = [
    ("chain", "lucb <= 4 * h_0 * one", "lucb <= 2 * h_0 * one"),
    ("chain", "ugape <= 4 * h_0 * one", "ugape <= 2 * h_0 * one"),
    ("chain", "h_t <= h_0 * one", "h_0 <= h_t * one"),
    ("chain", "2 * k / (epsilon * level)", "k / (4 * epsilon * level)"),
    ("chain", "h_1 <= harmonic * h_2 * one", "h_1 <= harmonic * h_2 / 2"),
    ("spread", "h_t <= bounds.upper", "h_t <= bounds.upper / 2"),
    ("spread", "h_0 >= bounds.lower", "h_0 >= 3 * bounds.lower"),
    ("certificate", "shares[a] * means[a] + shares[b]", "shares[b] * means[a] + shares[a]"),
    ("certificate", "chance * bernoulli_kl(mean, point)", "chance * bernoulli_kl(point, mean)"),
    ("floor", "h_kl <= time.upper", "2 * h_kl <= time.upper"),
    ("floor", "time.lower <= h_1", "2 * time.lower <= h_1"),
    ("floor", "eta * (1 - eta) * h_1", "20 * eta * (1 - eta) * h_1"),
]


@pytest.mark.parametrize("check", cells.checks(NAME))
def test_checks_pass(check):
    cells.run(NAME, check)


@pytest.mark.parametrize(("check", "old", "new"), BREAKS)
def test_broken_checks_fail(check, old, new):
    with pytest.raises(AssertionError):
        cells.run(NAME, check, old, new)


def test_every_check_has_a_break_and_every_break_a_place():
    assert {check for check, _, _ in BREAKS} == set(cells.checks(NAME))
    for check, old, _ in BREAKS:
        used = {"parameters", "setup", f"check-{check}"}
        assert sum(s.count(old) for tags, s in cells.read(NAME)[0] if used & set(tags)) == 1
