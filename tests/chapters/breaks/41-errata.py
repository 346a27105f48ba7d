"""Breaks: the check, what stands in its cell or the setup, what is put there."""

BREAKS = [
    ("theorem-56", "(n - k) / k)\nn, k", "(n - k) / n)\nn, k"),
    ("theorem-56", "n, k, epsilon, delta = 101, 100", "n, k, epsilon, delta = 102, 100"),
    ("theorem-55", "constant=40_000", "constant=100_000"),
    ("theorem-55", "ignored == best", "ignored != best"),
    ("lemma-4", "level / (2 * gap**2)", "level / (3 * gap**2)"),
    ("theorem-43", "0.75 / (beta * (1 - beta))", "0.75 / beta"),
    ("theorem-43", "- math.log(1 - math.exp(-0.1))", "+ math.log(1 - math.exp(-0.1))"),
    ("theorem-43", "assert gain <= 1e-12", "assert gain >= 1e-12"),
    ("lemma-42", "== (not published)", "== published"),
    ("lemma-42", "cut + accept - 1e-12", "cut - accept - 1e-12"),
    ("lemma-54", "second < goal", "first < goal"),
    ("exponent", "(math.log(2) - x / 4)", "(math.log(2) - x / 16)"),
    ("explore-k", "np.full(9, 0.5)", "np.full(9, 0.88)"),
    ("spread", "stats.beta.ppf(quantiles, 4, 1)", "quantiles"),
    ("spread", "np.linspace(0.4, 0, n - k + 1)", "np.linspace(0.7, 0, n - k + 1)"),
    ("ranges", "1 / (4 * (2 * k - 1))", "1 / (4 * k ** 0.1)"),
    ("ranges", "h_0 < 1e-3 * n / epsilon", "h_0 > 1e-3 * n / epsilon"),
    ("direction", "step.index_of_set <= step.between", "step.index_of_set >= step.between"),
    ("gabillon", "not allowed(most + 1, 4)", "allowed(most + 1, 4)"),
    ("pigeonhole", "means[0] - means[m]", "means[0] - means[m - 1]"),
]
