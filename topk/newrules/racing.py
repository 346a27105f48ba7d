from dataclasses import dataclass
import math
import numpy as np
from topk.engine.composing import rule
from topk.engine.loop import BY_RULE
from topk.engine.ranking import rank
from topk.engine.rounds import accept, end_with, first_leaves, gaps, reject
from topk.engine.ruled import Rounds
from topk.engine.strategy import clipped_bounds

ALPHA, K_1 = 1.1, 11.1


@dataclass(frozen=True)
class Racing(Rounds):
    k: int
    epsilon: float
    delta: float
    budget: int | None = None
    certifies = anytime = True

    def constants(self, n):
        """Return ln(k_1 n / delta)."""
        return {"log_ratio": math.log(K_1 * n / self.delta)}

    @rule
    def share(s):
        return 1

    @rule
    def decide(s):
        u, boundary, ranked = s.pulls[s.active[0]], s.now.wanted, rank(s)
        width = math.sqrt(2 * u * (s.log_ratio + ALPHA * math.log(u)))  # 2 u beta(u)
        first, last = 0, ranked.size - 1
        while max(gaps(s, s.sums, ranked, first, last)) > width:
            if first_leaves(s, s.sums, ranked, first, last):
                accept(s, ranked[first])
                first += 1
            else:
                reject(s, ranked[last])
                last -= 1
        one_side = s.now.wanted == 0 or s.now.wanted == last - first + 1
        edge = s.sums[ranked[boundary - 1]] - s.sums[ranked[boundary]] if not one_side else 0.0
        if one_side or edge > width - u * s.epsilon:
            end_with(s, ranked[first : last + 1], BY_RULE)

    def bounds(self, seen):
        """Return the bounds of every arm at its own number of pulls; see `topk.Strategy.bounds`."""
        pulls = np.maximum(seen.pulls, 1)
        radius = np.sqrt((seen.log_ratio + ALPHA * np.log(pulls)) / (2 * pulls))
        return clipped_bounds(seen, radius)
