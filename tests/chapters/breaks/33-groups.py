"""Breaks: the check, what stands in its cell or the setup, what is put there."""

BREAKS = [
    ("lemma-5-4", "cap = 12 * log", "cap = 24 * log"),
    ("lemma-5-4", "for arm in chosen) >= 3 * k / 4", "for arm in chosen) >= k / 2"),
    ("lemma-5-4", "first > goal > 3 * second", "first > goal > 6 * second"),
    ("lemma-5-4", "** (-lead / 2)", "** (lead / 2)"),
    ("theorem-5-5", "constant=40_000", "constant=50_000"),
    ("theorem-5-5", "0.0390 * math.log", "0.0350 * math.log"),
    ("theorem-5-5", "(0.5 - 4 * delta)", "(0.2 - 4 * delta)"),
    ("bits", "ones[ignored] = -1", "ones[ignored] += 0"),
    ("better", "(n // k - 1) * told", "(n // k) * told"),
    ("better", "bernoulli_kl(0.5, 0.5 + 8 * epsilon)", "bernoulli_kl(0.5, 0.5 + 12 * epsilon)"),
    ("theorem-5-6", "max(bounds) >= form / 3200", "max(bounds) >= form / 1000"),
    ("theorem-5-6", "assert worst <= epsilon + 1e-12", "assert worst <= epsilon / 2"),
    ("theorem-5-6", "max(often) <= n * eta", "max(often) <= (n - 2) * eta"),
]
