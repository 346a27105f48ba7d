"""Breaks: the check, what stands in its cell or the setup, what is put there."""

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
