"""Breaks: the check, what stands in its cell or the setup, what is put there."""

BREAKS = [
    ("exponent", "(math.log(2) - x / 4)", "(math.log(2) - x / 16)"),
    ("lemma-42", "== (not published)", "== published"),
    ("lemma-54", "second < goal", "first < goal"),
    ("theorem-55", "constant=100_000", "constant=200_000"),
    ("theorem-56", "(n - k) / k)\nn, k", "(n - k) / n)\nn, k"),
    ("theorem-56", "n, k, epsilon, delta = 101, 100", "n, k, epsilon, delta = 102, 100"),
    ("direction", "step.index_of_set <= step.between", "step.index_of_set >= step.between"),
    ("gabillon", "not allowed(most + 1, 4)", "allowed(most + 1, 4)"),
    ("phases", "levels.size == arms - m", "levels.size == arms - m - 1"),
    ("ties", "[1, 2, 4, 6]", "[1, 2, 4, 5, 6]"),
    ("order", "h < 10 * n", "h > 10 * n"),
    ("literal", "2 * 2.0**-2 > 0.4", "2 * 2.0**-3 > 0.4"),
    ("line-5", "2 * n * r**2 / delta)  #", "2 * n * r / delta)  #"),
    ("lemma-4", "level / (2 * gap**2)", "level / (3 * gap**2)"),
    ("condition-4", "1.25 * n * t**4", "1.0 * n * t**4"),
]
