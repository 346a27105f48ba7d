"""The checks of notebooks/33-groups.md pass, and would notice a mistake."""

import pytest
from chapters import cells

NAME = "33-groups"
BREAKS = [
    ("lemma-5-4", "cap = 12 * log", "cap = 24 * log"),
    ("lemma-5-4", "for arm in chosen) >= 3 * k / 4", "for arm in chosen) >= k / 2"),
    ("lemma-5-4", "first > goal > 3 * second", "first > goal > 6 * second"),
    ("lemma-5-4", "** (-lead / 2)", "** (lead / 2)"),
    ("theorem-5-5", "covered == (delta <= 0.005)", "covered == (delta <= 0.01)"),
    ("theorem-5-5", "5 / 2 * assumed", "2 * assumed"),
    ("bits", "ones[ignored] = -1", "ones[ignored] += 0"),
    ("better", "(n // k - 1) * told", "(n // k) * told"),
    ("better", "bernoulli_kl(0.5, 0.5 + 8 * epsilon)", "bernoulli_kl(0.5, 0.5 + 12 * epsilon)"),
    ("theorem-5-6", "max(bounds) >= form / 3200", "max(bounds) >= form / 1000"),
    ("theorem-5-6", "assert worst <= epsilon + 1e-12", "assert worst <= epsilon / 2"),
    ("theorem-5-6", "max(often) <= n * eta", "max(often) <= (n - 2) * eta"),
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
