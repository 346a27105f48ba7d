"""Breaks: the check, what stands in its cell or the setup, what is put there."""

BREAKS = [
    (
        "lemma-10",
        "deviation = 2 * epsilon * horizon + math.sqrt(horizon)\n    law,",
        "deviation = 2 * epsilon * horizon + math.sqrt(horizon) / 2\n    law,",
    ),
    (
        "lemma-10",
        "mean = 0.5 - 2 * epsilon\n    deviation",
        "mean = 0.5 - 4 * epsilon\n    deviation",
    ),
    ("lemma-11", "exact = 4 * deviation", "exact = 2 * deviation"),
    ("lemma-11", "lost < 32 * epsilon * deviation", "lost < 8 * epsilon * deviation"),
    ("lemma-12", "C = 1 / 18375", "C = 1 / 9000"),
    ("lemma-12", "1.001 * best", "0.999 * best"),
    ("lemma-12", "(p - 1 / 2) * math.exp(-32 * epsilon * deviation)", "(p - 1 / 2) * math.exp(1)"),
    ("theorem-8", "n - m - n / 4 >= (n - m) / 2", "n - m - n / 2 >= (n - m) / 2"),
    ("theorem-8", "root = (-128 +", "root = (-64 +"),
    ("theorem-8", "assert errors >= exchanges", "assert errors >= 2 * exchanges"),
    ("better", "bernoulli_kl(1 - delta, delta / m)", "20 * bernoulli_kl(1 - delta, delta / m)"),
    ("better", "(p @ run_pulls[:, j]) * d >= event", "(p @ run_pulls[:, j]) * d / 5 >= event"),
]
