from dataclasses import dataclass
import math
import numpy as np
from topk.engine.composing import rule
from topk.engine.loop import BY_RULE
from topk.engine.rounds import rank_fresh, reject
from topk.engine.ruled import Rounds
from topk.engine.strategy import positive_epsilon


@dataclass(frozen=True)
class Halving(Rounds):
    k: int
    epsilon: float
    delta: float
    budget: int | None = None
    certifies = anytime = fresh = True
    checks = Rounds.checks | {"epsilon": positive_epsilon}

    def constants(self, n):
        """Return ln(3 k / delta)."""
        return {"log_halving": math.log(3 * self.k / self.delta)}

    @rule
    def share(s):
        return halving_share(s.epsilon, s.log_halving, s.now.rounds)

    @rule
    def decide(s):
        ranked = rank_fresh(s, 1.0)
        for place in range(max((ranked.size + 1) // 2, s.k), ranked.size):
            reject(s, ranked[place])
        if ranked.size <= 2 * s.k:
            s.now.ended = BY_RULE


def halving_share(epsilon, log_ratio, level):
    """Return the pulls of each arm in round l, cut to what stays a whole number."""
    precision = max(epsilon / 4 * 0.75 ** (level - 1), 1e-100)
    share = 2 / precision**2 * (log_ratio + level * math.log(2.0))
    return np.int64(math.ceil(min(share, 2.0**53)))


def total_pulls(n, k, epsilon, delta):
    """Return the pulls that Halving makes in all; they do not depend on the rewards."""
    total, level, log_ratio = 0, 1, math.log(3 * k / delta)
    while n > k:
        total += int(n * halving_share(epsilon, log_ratio, level))
        n, level = max((n + 1) // 2, k), level + 1
    return total
