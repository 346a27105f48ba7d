from dataclasses import dataclass
import math
import numpy as np
from topk._checks import check_real, refuse
from topk.engine.composing import rule
from topk.engine.loop import BY_RULE
from topk.engine.rounds import accept, end_with, fresh_sums, rank_fresh, reject
from topk.engine.ruled import Rounds


@dataclass(frozen=True)
class AdaptiveTopK(Rounds):
    k: int
    epsilon: float
    delta: float
    pull_scale: float = 1.0
    budget: int | None = None
    certifies = anytime = fresh = True
    checks = Rounds.checks | {"pull_scale": lambda x, name: check_real(x, name, 0, 1e6, low_open=True)}

    def __post_init__(self):
        super().__post_init__()
        if self.budget is None and self.epsilon == 0:
            refuse("epsilon", self.epsilon, "in (0, 1) when there is no budget")

    def constants(self, n):
        """Return ln(2 n / delta) and epsilon k."""
        return {"log_ratio": math.log(2 * n / self.delta), "allowed": float(self.epsilon) * self.k}

    @rule
    def share(s):
        r = s.now.rounds
        pulls = s.pull_scale * 4.0**r * (s.log_ratio + 2 * math.log(r))
        return np.int64(math.ceil(min(pulls, 2.0**53)))  # that no budget reaches

    @rule
    def decide(s):
        """Lines 6 to 14 of Algorithm 1 in one pass.

        Accepting the first rank or rejecting the last leaves both boundary arms in place, so
        that the loop of the paper, which takes one arm at a time, compares every arm with the
        same two means.  All arms have as many fresh pulls: sums are compared in place of means.
        """
        sums, ranked, wanted = fresh_sums(s), rank_fresh(s, 1.0), s.now.wanted
        beyond, first, last = 2 * 0.5**s.now.rounds * s.now.each, 0, ranked.size
        while first < wanted and (
            ranked.size == wanted or sums[ranked[first]] - sums[ranked[wanted]] > beyond
        ):
            accept(s, ranked[first])
            first += 1
        while last > wanted and sums[ranked[wanted - 1]] - sums[ranked[last - 1]] > beyond:
            last -= 1
            reject(s, ranked[last])
        one_side = last - first == s.now.wanted
        if one_side or 2 * 0.5**s.now.rounds * s.now.wanted <= s.allowed:
            end_with(s, ranked[first:last], BY_RULE)
