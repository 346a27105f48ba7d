from dataclasses import dataclass
import numpy as np
from topk.engine.composing import rule
from topk.engine.loop import BY_BUDGET
from topk.engine.ranking import rank
from topk.engine.rounds import accept, end_with, first_leaves, reject
from topk.engine.ruled import Rounds
from topk.strategies.sar import phase_lengths


class Phases(Rounds):
    spare = 1
    survivors = 1

    def constants(self, n):
        return {"lengths": np.array(phase_lengths(n, self.budget, self.survivors))}

    @rule
    def share(s):
        return phase_length(s, s.now.live) - s.pulls[s.active[0]]


def phase_length(s, size):
    return s.lengths[min(s.n - size, s.lengths.size - 1)]


@dataclass(frozen=True)
class SAR(Phases):
    k: int
    budget: int

    @rule
    def decide(s):
        ranked = rank(s)
        first, last = 0, ranked.size - 1
        while first <= last and phase_length(s, last - first + 1) == s.pulls[ranked[0]]:
            if first_leaves(s, s.sums, ranked, first, last):
                accept(s, ranked[first])
                first += 1
            else:
                reject(s, ranked[last])
                last -= 1


@dataclass(frozen=True)
class SuccessiveRejects(Phases):
    k: int
    budget: int

    @property
    def survivors(self):
        return self.k

    @rule
    def decide(s):
        ranked = rank(s)
        size = ranked.size
        while size > s.k and phase_length(s, size) == s.pulls[ranked[0]]:
            size -= 1
            reject(s, ranked[size])
        if size == s.k:
            end_with(s, ranked[:size], BY_BUDGET)
