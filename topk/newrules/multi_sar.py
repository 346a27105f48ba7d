from dataclasses import dataclass
from topk.engine.composing import rule
from topk.engine.loop import keep_active
from topk.engine.rounds import accept, reject
from topk.newrules.sar import Phases, phase_length


@dataclass(frozen=True)
class MultiBanditSAR(Phases):
    budget: int
    k = 1
    several = True

    @rule
    def decide(s):
        while s.now.live > 0 and phase_length(s, s.now.live) == s.pulls[s.active[0]]:
            settle_one(s)
            keep_active(s)


def settle_one(s):
    """Accept the only active arm of a bandit, or reject the arm with the largest gap.

    All active arms have as many pulls: sums compare as means do.
    """
    n, gap, size, worst_of_all, j = s.n // s.bandits, -1.0, 0, 0, 0
    while j < s.now.live:  # the active arms of one bandit after the other
        first, best, worst = j, s.active[j], s.active[j]
        end = best // n * n + n
        while j < s.now.live and s.active[j] < end:
            arm = s.active[j]
            if s.sums[arm] > s.sums[best]:
                best = arm
            if s.sums[arm] <= s.sums[worst]:
                worst = arm
            j += 1
        if j == first + 1:
            accept(s, best)
            return
        own = s.sums[best] - s.sums[worst]
        if own > gap or (own == gap and j - first >= size):
            gap, size, worst_of_all = own, j - first, worst
    reject(s, worst_of_all)
