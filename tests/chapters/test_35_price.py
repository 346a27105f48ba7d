"""The checks of the page on the price of adaptivity pass, and each of them can fail."""

import pytest
from chapters import cells

NAME = "35-price"

BREAKS = [
    ("sprt", "error = 1 / (1 + 3**lead)", "error = 1 / (2 + 3**lead)"),
    ("sprt", "np.abs(evidence[running]) < lead", "np.abs(evidence[running]) < lead + 1"),
    ("counting", "<= 2 * counts.missing", "<= counts.missing"),
    ("counting", "wrong - 4 * regret * k", "wrong - regret * k"),
    ("posterior", "steps = odds / math.log(3)", "steps = odds / math.log(2)"),
    ("posterior", "least >= 1 / (1 + 3.0**pulls)", "least >= 1 / (1 + 2.0**pulls)"),
    ("posterior", "means[arm] if reward else 1 - means[arm]", "means[arm]"),
    ("failure", "mu >= 3 / 2 * 3 **", "mu >= 3 * 3 **"),
    ("failure", "lower_tail <= math.exp(-mu / 8)", "lower_tail <= math.exp(-mu / 2)"),
    ("failure", "4 * epsilon * k <= mu / 2", "8 * epsilon * k <= mu / 2"),
    ("theorem-3", "== 4 * 2 * k", "== 2 * 2 * k"),
    ("theorem-3", "(k, q0, plays", "(k, 12 * q0, plays"),
    ("theorem-3", "assert cost > lower", "assert cost > 8 * lower"),
    ("range", "k / 2 + 2 * math.sqrt(k)", "k / 2"),
    ("range", "math.floor(2 * epsilon * k)", "math.floor(epsilon * k)"),
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
