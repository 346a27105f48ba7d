"""Breaks: the check, what stands in its cell or the setup, what is put there."""

BREAKS = [
    ("delicate", "reject = ~accept & (mean < b - 2 * eta)", "reject = mean < b - 2 * eta"),
    ("good-event", "p = delta * epsilon / (2000 * R**3)", "p = delta * epsilon / (1000 * R**3)"),
    ("good-event", "4 * s0 * r <= k / 10", "17 * s0 * r <= k / 10"),
    ("halving", "keep = np.argsort(-mean", "keep = np.argsort(mean"),
    ("halving", "if quarter:\n        assert (theta[V] >= theta[k - 1] - eta)",
     "if quarter:\n        assert (theta[V] >= theta[k - 1])"),
    ("halving", "high = bandit.means[k - 1 - 3 * slack] + 0.2",
     "high = bandit.means[k - 1 - 3 * slack] - 0.2"),
    ("slack", "r + 1, 4 * s0 * (r + 1), 0.5", "r + 1, 0 * s0 * (r + 1), 0.5"),
    ("slack", "theta[K - 1] - 2 * now.eta", "theta[K - 1] + 2 * now.eta"),
    ("slack", "after == x - y", "after == y - x"),
    ("slack", "(gap > 5 * now.eta)", "(gap > now.eta)"),
    ("regret", "(chosen >= K).sum() == max(x, y)", "(chosen >= K).sum() == x"),
    ("regret", "assert len(missing) <= y", "assert len(missing) < 0"),
    ("theorem-2", "assert M <= 2200 * H", "assert M <= 22 * H"),
    ("theorem-2", "h = 360 * L", "h = 36 * L"),
    ("theorem-2", "reps.total_pulls.max() <= limit", "reps.total_pulls.max() > limit"),
    ("remark-1", "np.isclose(H, 4 * n)", "np.isclose(H, n)"),
    ("remark-1", "order = guarantees.improved_topk_order(theta, n // 2, epsilon, delta)",
     "order = H * math.log(n)"),
]  # fmt: skip
