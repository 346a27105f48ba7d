"""Breaks: the check, what stands in its cell or the setup, what is put there."""

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
