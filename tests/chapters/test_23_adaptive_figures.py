"""The checks of the page on Figures 1 to 4 of Chen et al. (2017), and that they can fail."""

import pytest
from chapters import cells

NAME = "23-adaptive-figures"

BREAKS = [
    # the number of pulls of a round, restored as 4^r ln(2 n r^2 / delta)
    ("rounds", "s * 4.0**r", "s * 2.0**r"),
    ("rounds", "2 * np.log(r)", "np.log(r)"),
    # beyond the first round the literal form is not uniform sampling of the same rewards
    ("literal", "20_500, 49_000", "20_500, 120_000"),
    ("literal", 'strategies["literal"](k, budget', 'strategies["scaled"](k, budget'),
]


@pytest.mark.parametrize("check", cells.checks(NAME))
def test_checks_pass(check):
    cells.run(NAME, check)


@pytest.mark.parametrize(("check", "old", "new"), BREAKS)
def test_broken_checks_fail(check, old, new):
    with pytest.raises(AssertionError):
        cells.run(NAME, check, old, new)
