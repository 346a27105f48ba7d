"""The checks of notebooks/31-two-coins.md pass, and would notice a mistake."""

import pytest
from chapters import cells

NAME = "31-two-coins"
BREAKS = [
    ("ratio", "math.exp(ratio) * event", "math.exp(-ratio) * event"),
    ("ratio", "zeros = np.log((1 - q) / (1 - p))", "zeros = np.log((1 - p) / (1 - q))"),
    ("wald", "math.isclose(drift, -carried)", "math.isclose(drift, -carried / 2)"),
    ("wald", "balance = ratios + lower.information(", "balance = ratios + 2 * lower.information("),
    ("information", "lower.information(counts, p, q)", "lower.information(counts, p, q) / 2"),
    ("lemma-5-3", "1 / 40200", "1 / 20000"),
    (
        "lemma-5-3",
        "lower.expected_samples_bound(p, q, error)",
        "lower.expected_samples_bound(p, q, error / 10)",
    ),
    ("lemma-5-3", "0.25, 0.75, test.errors[0])", "0.25, 0.75, test.errors[0] / 2)"),
    ("tests", "math.exp(-samples * rate)", "math.exp(-2 * samples * rate)"),
    ("tests", "sum(test.errors) <= 2 * error", "sum(test.errors) <= error"),
    ("tests", "(8 * epsilon**2)", "(32 * epsilon**2)"),
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
