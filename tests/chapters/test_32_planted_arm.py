"""The checks of notebooks/32-planted-arm.md pass, and would notice a mistake."""

import pytest
from chapters import cells

NAME = "32-planted-arm"
BREAKS = [
    ("lemma-5-2", "for arm in chosen) <= k / 4 + 1", "for arm in chosen) <= k / 4"),
    ("lemma-5-2", "for arm in chosen) >= 3 * k / 4", "for arm in chosen) >= k / 2"),
    ("lemma-5-2", "0.8 * (k / 4 + 1) / (n - k + 1)", "0.8 * (k / 2 + 1) / (n - k + 1)"),
    ("lemma-5-2", "result.cap == 200 * budget / n", "result.cap == 100 * budget / n"),
    ("theorem-5-1", "1.24e-7 * n", "2.5e-7 * n"),
    ("theorem-5-1", "5000 * published", "6000 * published"),
    ("theorem-5-1", "coin <= budget / (n - k + 1)", "coin <= budget / (2 * n)"),
]


@pytest.mark.parametrize("check", cells.checks(NAME))
def test_checks_pass(check):
    cells.run(NAME, check)


@pytest.mark.parametrize(("check", "old", "new"), BREAKS)
def test_broken_checks_fail(check, old, new):
    with pytest.raises(AssertionError):
        cells.run(NAME, check, old, new)


def test_every_check_is_broken_once():
    assert {check for check, _, _ in BREAKS} == set(cells.checks(NAME))
