"""Breaks: the check, what stands in its cell or the setup, what is put there."""

BREAKS = [
    ("lemma-3", "step.index_of_set <= step.between + SLACK", "step.index_of_set >= step.between"),
    ("lemma-4", "if step.pulled == u:", "if step.pulled == ell:"),
    ("corollary-1", "<= 2 * radii[step.pulled]", "<= 1.9 * radii[step.pulled]"),
    ("lemma-1", "if set(chosen) != best:", "if True:"),
    ("lemma-1", "means + radii * rng.uniform", "means + 1.5 * radii * rng.uniform"),
    ("lemma-2", "ugape_ceiling(gaps[arm], radii[arm])", "ugape_ceiling(gaps[arm], radii[arm] / 2)"),
    ("lemma-2", "len(cases) == 8", "len(cases) == 7"),
    ("pair", "radii[rival] > radii[h] else h", "radii[rival] < radii[h] else h"),
    ("pair", "left_over(651) > 0", "left_over(650) > 0"),
    ("theorem-1", "np.sqrt(a / s)", "np.sqrt(4 * a / s)"),
    ("theorem-2", "row[5] < row[6]", "25 * row[5] < row[6]"),
    ("variance", "13 / 3 * m", "7 / 3 * m"),
    ("variance", "7 * x / (3 * (t - 1))", "0 * x"),
    ("several", "guarantees.ugapec_pulls(means, 1, 0.05, 0.1)", "250"),
]
