"""TopTwo with many arms: which arm takes precedence over the weakest pair."""

import math

import numpy as np

import topk
from topk.rules.base import ACTIVE
from topk.strategies.toptwo import is_sure


def expected(s):
    """Return the arm that takes precedence, -1 for none, computing all pairs."""
    n, active = s.n, np.flatnonzero(s.status == ACTIVE)
    pulls = np.where(s.status == ACTIVE, s.pulls, s.pulls.max() + 1)
    least = int(pulls.argmin())
    if pulls[least] < math.sqrt(s.now.total / n) / 2:
        return least
    inside = [a for a in active if s.within[a]]
    pairs = [(a, b) for a in inside for b in active if not s.within[b] and not is_sure(s, a, b)]
    late = {x for pair in pairs for x in pair if 4 * s.pulls[x] < s.pulls[active].max()}
    return min(late, key=lambda x: (s.pulls[x], x), default=-1)


def test_a_late_arm_of_a_pair_that_lacks_evidence_comes_first():
    """Whatever is remembered of earlier steps, and also once arms have been withdrawn."""
    rng, seen = np.random.default_rng(0), set()
    means = np.where(np.arange(24) < 3, 0.8, 0.3)
    state = topk.TopTwo(3, 0, 0.05).begin(24, rng=np.random.default_rng(1))
    arms, counts = np.empty((2, 24), dtype=np.int64)
    for step in range(1500):
        m = state.ask(arms, counts)
        if m == 0:
            break
        picked = arms[:m].copy()
        if step > 0:
            first = expected(state.s)
            weakest = {state.s.now.inside, state.s.now.outside}
            assert picked[0] == first if first >= 0 else picked[0] in weakest
            seen.add(("floor" if first == state.s.pulls.argmin() else "late") if first >= 0
                     else "pair")
        # an unlucky start of one good arm, which has the others confused for a long time
        chance = np.where((picked == 1) & (state.s.pulls[picked] < 2), 0.0, means[picked])
        sums = (rng.random(m) < chance).astype(float)
        state.count(picked, np.ones(m, dtype=np.int64), sums, sums)
        state.update(picked)
        if step in (200, 300):
            state.withdraw(20 + step // 300)
    assert state.ended and seen >= {"pair", "late"}
