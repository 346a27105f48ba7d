from dataclasses import dataclass
import math
import numpy as np
from topk._checks import check_choice, check_flag, check_real
from topk.engine.composing import allocates, rule
from topk.engine.loop import ACCEPTED, BY_BUDGET
from topk.engine.ranking import ranked_by
from topk.engine.rounds import (
    EVERYTHING, accept, fresh_sums, first_leaves, rank_fresh, reject,
)
from topk.engine.ruled import Rounds

FINALS = ("accept-reject", "uniform")


@dataclass(frozen=True)
class OptMAI(Rounds):
    k: int
    budget: int
    beta: float = 0.8
    reuse: bool = True
    final: str = "accept-reject"
    checks = Rounds.checks | {
        "beta": lambda x, name: check_real(x, name, 0.75, 1, low_open=True, high_open=True),
        "reuse": check_flag,
        "final": lambda x, name: check_choice(x, name, FINALS),
    }
    memory = {"carried": 0.0}  # pulls left over by rounding down

    @property
    def fresh(self):
        return not self.reuse

    def most_k(self, n):
        return n

    def target(self, n):
        return self.k if 2 * self.k < n else n - self.k

    def constants(self, n):
        return {
            "sign": 1.0 if 2 * self.k < n else -1.0,
            "uniform": self.final == "uniform",
            "target": self.target(n),
            "inflated": self.budget / (1 - self.beta ** (math.log(n) / math.log(4 / 3))),
        }

    @rule
    def share(s):
        size, left = s.now.live, s.budget - s.now.total
        if s.now.wanted == 0:  # as many arms as there are are wanted
            s.now.ended = BY_BUDGET
            return 0
        if s.uniform and size < 4 * s.target:
            return EVERYTHING
        due = s.beta ** (s.now.rounds - 1) * (1 - s.beta) * s.inflated + s.now.carried
        pulls = int(due / size + 1e-9)  # rounding errors must not cost a whole pull
        if s.now.rounds == 1 and pulls == 0:
            pulls = 1
        # the first round may have borrowed from later ones, so that nothing or less is due
        pulls = max(0, min(pulls, left // size))
        s.now.carried = due - pulls * size
        return pulls

    @rule
    def decide(s):
        sums, ranked = look_at_round(s)
        first, last = 0, ranked.size - 1
        if s.now.each == EVERYTHING:
            while s.now.wanted > 0:
                take(s, ranked[first])
                first += 1
        while s.now.wanted > 0 and 4 * (last - first + 1) > 3 * ranked.size:
            if ranked.size < 4 * s.target and first_leaves(s, sums, ranked, first, last):
                take(s, ranked[first])
                first += 1
            else:
                drop(s, ranked[last])
                last -= 1
        if s.now.wanted == 0:
            s.now.ended = BY_BUDGET

    @rule
    def recommend(s, chosen):
        """The arms taken and the best-ranked active ones, or all but those, if K >= n/2."""
        inside = s.status == ACCEPTED
        ranked = ranked_by(s.sums, s.pulls, s.active[: s.now.live], s.sign)
        for place in range(s.now.wanted, ranked.size) if s.sign < 0 else range(s.now.wanted):
            inside[ranked[place]] = True
        chosen[:] = np.flatnonzero(inside)

    @rule
    def left(s, arm):
        """Where the worst arms are looked for, one that is withdrawn counts as one of them."""
        if s.sign < 0:
            s.now.wanted -= 1


def take(s, arm):
    """An arm of the side that is looked for is found."""
    if s.sign > 0:
        accept(s, arm)
    else:
        reject(s, arm)
        s.now.wanted -= 1


def drop(s, arm):
    """An arm is none of the side that is looked for."""
    if s.sign > 0:
        reject(s, arm)
    else:
        s.status[arm] = ACCEPTED


@allocates
def look_at_round(s):
    """Return what the round's decision looks at: sums times sign, and the ranked arms.

    They are of all pulls, or (``reuse=False``) of the round's own; of all pulls as well if the
    budget did not give every arm a pull in this round.
    """
    arms, own = s.active[: s.now.live], not s.reuse
    if own:
        own = (s.pulls[arms] > s.earlier_pulls[arms]).all()
    if own:
        return s.sign * fresh_sums(s), rank_fresh(s, s.sign)
    return s.sign * s.sums, ranked_by(s.sums, s.pulls, arms, s.sign)
