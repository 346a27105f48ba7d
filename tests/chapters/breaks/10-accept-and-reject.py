"""Breaks: the check, what stands in its cell or the setup, what is put there."""

BREAKS = [
    ("equation-1", "assert h1 <= log_bar(n) * h2", "assert h1 <= 0.9 * log_bar(n) * h2"),
    ("equation-1", "assert h2 <= h1 * (1 + TINY)", "assert 1.01 * h2 <= h1 * (1 + TINY)"),
    ("equation-1", "assert log_bar(n) <= math.log(2 * n)", "assert log_bar(n) <= math.log(n)"),
    ("equation-1", "[True] * 4 + [False] * 5", "[True] * 3 + [False] * 6"),
    ("budget", "(n + 1 - j)) for j", "(n + 2 - j)) for j"),
    ("budget", "+ lengths[-1] <= budget", "+ 2 * lengths[-1] <= budget"),
    ("one-arm", "wanted = 1\n", "wanted = 2\n"),
    ("one-arm", "budget / n) - 1,)", "budget / n),)"),
    ("event", "hoeffding = 2 * np.exp(-2 * lengths", "hoeffding = 2 * np.exp(-4 * lengths"),
    ("event", "(8 * log_bar(n)", "(4 * log_bar(n)"),
    ("event", "probability *= law.sum()", "probability *= law.sum() ** 20"),
    ("event", "gaps(means, k))[::-1]", "gaps(means, k))"),
    ("no-error", "QUARTER = 1 / 4", "QUARTER = 0.3"),
    ("no-error", "gaps(means, k))[::-1]", "gaps(means, k))"),
    ("no-error", "row[ranked[0]] - row[ranked[wanted]]", "row[ranked[0]] - row[ranked[-1]]"),
    ("no-error", "wanted = k - len(accepted)", "wanted = k"),
    ("theorem-1", "bound = 18 * math.exp", "bound = 9 * math.exp"),
    ("theorem-1", "(8 * log_bar(n)", "(16 * log_bar(n)"),
    ("theorem-1", "cumsum(lead) - lead / 2", "cumsum(lead) + lead / 2"),
    ("theorem-1", "topk.SAR(k, budget), bandit", "topk.SAR(k, means.size + 1), bandit"),
]
