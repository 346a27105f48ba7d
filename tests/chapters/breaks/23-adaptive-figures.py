"""Breaks: the check, what stands in its cell or the setup, what is put there."""

BREAKS = [
    # the number of pulls of a round, restored as 4^r ln(2 n r^2 / delta)
    ("rounds", "s * 4.0**r", "s * 2.0**r"),
    ("rounds", "2 * np.log(r)", "np.log(r)"),
    # beyond the first round the literal form is not uniform sampling of the same rewards
    ("literal", "20_500, 49_000", "20_500, 120_000"),
    ("literal", 'strategies["literal"](k, budget', 'strategies["scaled"](k, budget'),
]
