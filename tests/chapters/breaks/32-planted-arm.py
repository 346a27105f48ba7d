"""Breaks: the check, what stands in its cell or the setup, what is put there."""

BREAKS = [
    ("lemma-5-2", "for arm in chosen) <= k / 4 + 1", "for arm in chosen) <= k / 4"),
    ("lemma-5-2", "for arm in chosen) >= 3 * k / 4", "for arm in chosen) >= k / 2"),
    ("lemma-5-2", "0.8 * (k / 4 + 1) / (n - k + 1)", "0.8 * (k / 2 + 1) / (n - k + 1)"),
    ("lemma-5-2", "result.cap == 200 * budget / n", "result.cap == 100 * budget / n"),
    ("theorem-5-1", "1.24e-7 * n", "2.5e-7 * n"),
    ("theorem-5-1", "5000 * published", "6000 * published"),
    ("theorem-5-1", "coin <= budget / (n - k + 1)", "coin <= budget / (2 * n)"),
]
