"""Breaks: the check, what stands in its cell or the setup, what is put there."""

BREAKS = [
    ("definition-1", "(size <= c * steps + slack)", "(size <= c * steps / 2 + slack)"),
    ("lemma-1", "<= 4 * c * n / max(edge, tol) <=", "<= c * n / max(edge, tol) <="),
    ("lemma-1", "low = root if", "low = 3 * root if"),
    ("definition-2", "bandit.means)[S] < 0.5**r", "bandit.means)[S] < 0.4**r"),
    ("claim-1", "log(2 * n * r * r / delta))", "log(2 * n * r * r / delta) / 2)"),
    ("lemma-2", "y[i] >= mu[i + M] - shift", "y[i] >= mu[i] - shift"),
    ("lemma-2", "(np.abs(y - mu) <= 1)", "(np.abs(y - mu) < 1)"),
    ("lemma-3", "limit = strategy.k - len(A), 2 *", "limit = strategy.k - len(A), 1 *"),
    ("lemma-3", "all(i < want for i in now.accepted)", "all(i < want - 1 for i in now.accepted)"),
    ("lemma-4", "all(i >= want for i in now.rejected)", "all(i > want for i in now.rejected)"),
    ("lemma-4", "== now.want", "== now.want - 1"),
    ("lemma-5", "near = 2 * 0.5**now.r", "near = 0.5**now.r"),
    ("lemma-6", "assert 8 * 0.5 ** len(record)", "assert 1 * 0.5 ** len(record)"),
    ("lemma-7", "assert (8 * 0.5**leaves", "assert (4 * 0.5**leaves"),
    ("theorem-4", "adaptive_topk_pulls(theta, want, tol, delta)",
     "adaptive_topk_pulls(theta, want, tol, delta) / 50"),
    ("theorem-4", "loss <= tol)", "loss < 0)"),
    ("theorem-1", "max(ratio) <= 256", "max(ratio) <= 16"),
    ("clucb", "assert 4 * rad[p] >= gap", "assert 2 * rad[p] >= gap"),
    ("clucb", "assert 2 * want * rad[p]", "assert want * rad[p]"),
]  # fmt: skip
