"""Breaks: the check, what stands in its cell or the setup, what is put there."""

BREAKS = [
    ("halving", "slack / 2).any()", "slack / 2).all()"),
    ("halving", "over >= keep - want + 1", "over >= keep - want + 2"),
    ("theorem-1", "K1 = 5 / 4", "K1 = 1"),
    ("theorem-1", "(bad & (low > theta))", "(bad & (up < theta))"),
    ("lemma-2", "width >= epsilon / 2", "width > epsilon / 2"),
    ("lemma-2", "np.where(rank < k, mean - width, far)", "np.where(rank < k, mean + width, far)"),
    ("lemma-3", "wide = radius(u, t, n, delta)", "wide = radius(u, t, n, delta) / 2"),
    ("lemma-4", "factor = 16", "factor = 4"),
    ("lemma-4", "assert t - 1 == 4 *", "assert t - 1 == 5 *"),
    ("lemma-5", "rounds > 2 + 32 * shares", "rounds > 2 + 36 * shares"),
    ("lemma-5", "assert g_at(705, 16) > 0", "assert g_at(700, 16) > 0"),
    ("theorem-6", "2 + 2 * (tau - 1)", "2 + 2 * tau"),
    ("theorem-6", "len(theta) - 2 * first  #", "len(theta) - first  #"),
    ("corollary-7", "== len(theta) + 2 * first", "== len(theta) + first"),
    ("corollary-7", "4 * level / first**2 <= level", "4 * level * first**2 <= level"),
    ("guard", "both <= 2 * patience + 1", "both <= 2 * patience - 1"),
    ("guard", "rounds <= latest)", "rounds <= latest / 3)"),
]
