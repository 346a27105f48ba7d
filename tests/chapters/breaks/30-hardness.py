"""Breaks: the check, what stands in its cell or the setup, what is put there."""

BREAKS = [
    ("chain", "lucb <= 4 * h_0 * one", "lucb <= 2 * h_0 * one"),
    ("chain", "ugape <= 4 * h_0 * one", "ugape <= 2 * h_0 * one"),
    ("chain", "h_t <= h_0 * one", "h_0 <= h_t * one"),
    ("chain", "2 * k / (epsilon * level)", "k / (4 * epsilon * level)"),
    ("chain", "h_1 <= harmonic * h_2 * one", "h_1 <= harmonic * h_2 / 2"),
    ("spread", "h_t <= bounds.upper", "h_t <= bounds.upper / 2"),
    ("spread", "h_0 >= bounds.lower", "h_0 >= 3 * bounds.lower"),
    ("certificate", "shares[a] * means[a] + shares[b]", "shares[b] * means[a] + shares[a]"),
    ("certificate", "chance * bernoulli_kl(mean, point)", "chance * bernoulli_kl(point, mean)"),
    ("floor", "h_kl <= time.upper", "2 * h_kl <= time.upper"),
    ("floor", "time.lower <= h_1", "2 * time.lower <= h_1"),
    ("floor", "eta * (1 - eta) * h_1", "20 * eta * (1 - eta) * h_1"),
]
