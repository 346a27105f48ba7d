"""The loops of `topk.PairedBetting` on independent arms, which can be compiled.

The i-th rewards of arms are paired, as drawn.  Rewards of an arm are drawn ahead, in blocks; a loop
makes pulls, one at a time, until an arm has none left.
"""

import math

import numpy as np

from topk._marks import in_loops
from topk.confidence.paired import BETS, MOST, WEIGHTS

FLOOR = 0.25  # of the longest prefix; shorter ones of undecided arms come first
GOES_ON, DECIDED, REACHED = -1, -2, -3  # what a loop returns, or the arm that needs rewards


def place(order, totals, size, at):
    """Move the arm at a place of the order, whose mean has changed, to where it belongs.

    Larger means come first, and of equal ones the lower index.
    """
    arm, n = order[at], order.size
    mean = totals[arm] / size[arm]
    while at > 0:
        other = order[at - 1]
        found = totals[other] / size[other]
        if found > mean or (found == mean and other < arm):
            break
        order[at] = other
        at -= 1
    while at < n - 1:
        other = order[at + 1]
        found = totals[other] / size[other]
        if found < mean or (found == mean and other > arm):
            break
        order[at] = other
        at += 1
    order[at] = arm


def bet_on_reward_in_loops(cells, size, capitals, largest, arm, epsilon):
    """Do what `bet_on_reward` does."""
    at = size[arm] - 1
    for other in range(size.size):
        if other == arm or size[other] <= at:
            continue
        d = cells[arm, at] - cells[other, at]
        if d == 0.0 and epsilon == 0.0:
            continue
        gain, loss = d + epsilon, epsilon - d
        up, down = 0.0, 0.0
        for j in range(BETS.size):
            capitals[arm, other, j] *= 1.0 + gain * BETS[j]
            capitals[other, arm, j] *= 1.0 + loss * BETS[j]
            capitals[arm, other, j] = min(capitals[arm, other, j], MOST)
            capitals[other, arm, j] = min(capitals[other, arm, j], MOST)
            up += capitals[arm, other, j] * WEIGHTS[j]
            down += capitals[other, arm, j] * WEIGHTS[j]
        largest[arm, other] = max(largest[arm, other], up)
        largest[other, arm] = max(largest[other, arm], down)


@in_loops(bet_on_reward_in_loops)
def bet_on_reward(cells, size, capitals, largest, arm, epsilon):
    """Bet on an arm's last counted reward, in the pairs whose other arm has one of that number."""
    at = size[arm] - 1
    others = np.flatnonzero(size > at)
    others = others[others != arm]
    d = cells[arm, at] - cells[others, at]
    if epsilon == 0.0:
        others, d = others[d != 0.0], d[d != 0.0]
    for pair, gains in (((arm, others), d + epsilon), ((others, arm), epsilon - d)):
        found = capitals[pair] * (1.0 + np.multiply.outer(gains, BETS))
        found = np.minimum(found, MOST)
        capitals[pair] = found
        e = np.add.accumulate(found * WEIGHTS, axis=1)[:, -1]  # in the order of the other form
        largest[pair] = np.maximum(largest[pair], e)


def play_pairs(
    cells, known, size, totals, capitals, largest, order, k, epsilon, level, until, steps, made
):
    """Pull arms of the weakest pairs; see `topk.strategies.paired.ArmTable.play`.

    ``order`` (n,) holds the arms by their means, once each has a reward.
    """
    n, total = size.size, size.sum()
    for step in range(steps):
        arm = -1
        for a in range(n):  # first each arm once
            if size[a] == 0:
                arm = a
                break
        if arm < 0:
            arm = next_of_pairs(size, largest, order, k, level, total)
            if arm < 0:
                return DECIDED
        if total >= until:
            return REACHED
        if size[arm] == known[arm]:
            return arm
        totals[arm] += cells[arm, size[arm]]
        size[arm] += 1
        total += 1
        if step < made.size:
            made[step] = arm
        bet_on_reward(cells, size, capitals, largest, arm, epsilon)
        if total < n:
            continue
        if total == n:
            for a in range(1, n):  # those before are in order
                place(order[: a + 1], totals, size, a)
        else:
            at = 0
            while order[at] != arm:
                at += 1
            place(order, totals, size, at)
    return GOES_ON


def next_of_pairs_in_loops(size, largest, order, k, level, total):
    """Return what `next_of_pairs` does."""
    n, least, first = size.size, 0, -1
    longest = 0
    for a in range(n):
        if size[a] < size[least]:
            least = a
        longest = max(longest, size[a])
    weakest, one, other = level, -1, -1
    floor = FLOOR * longest
    for i in range(k):
        a = order[i]
        for j in range(k, n):
            b = order[j]
            e = largest[a, b]
            if e >= level:
                continue
            if e < weakest:
                weakest, one, other = e, a, b
            if size[a] < floor and (first < 0 or a < first):
                first = a
            if size[b] < floor and (first < 0 or b < first):
                first = b
    if one < 0:
        return -1
    if size[least] < math.sqrt(total / n) / 2:
        return least
    if first >= 0:
        return first
    return one if size[one] <= size[other] else other


@in_loops(next_of_pairs_in_loops)
def next_of_pairs(size, largest, order, k, level, total):
    """Return the arm of the next pull, -1 if all claims across the boundary are decided.

    It is an arm below half the root of the mean number of pulls; or an undecided one with less than
    a quarter of the longest prefix; or, of the weakest pair, the arm with the shorter one.
    """
    inside, outside = order[:k], order[k:]
    found = largest[inside[:, None], outside]
    open_ = found < level
    if not open_.any():
        return -1
    least = int(size.argmin())
    if size[least] < math.sqrt(total / size.size) / 2:
        return least
    undecided = np.concatenate([inside[open_.any(axis=1)], outside[open_.any(axis=0)]])
    late = undecided[size[undecided] < FLOOR * size.max()]
    if late.size:
        return int(late.min())
    i, j = divmod(int(np.where(open_, found, np.inf).argmin()), outside.size)
    one, other = int(inside[i]), int(outside[j])
    return one if size[one] <= size[other] else other


def play_race(
    cells, known, size, totals, used, sums, capitals, largest, left, left_at, now, worst, level,
    until, steps, made,
):
    """Play rounds of a race; see `topk.strategies.paired.ArmTable.play`.

    The arrays are those of a `topk.confidence.race.Race`, and ``now`` (1,) its number of rounds.
    """
    n, total, at = size.size, size.sum(), 0
    for _ in range(steps):
        first, second, most, next_most, count = -1, -1, -2.0, -2.0, 0
        for a in range(n):
            if left[a]:
                count += 1
                mean = sums[1, a] / used[a] if used[a] > 0 else -1.0
                if mean > most:
                    second, next_most, first, most = first, most, a, mean
                elif mean > next_most:
                    second, next_most = a, mean
        if count == 1:
            return DECIDED
        reads = int(math.floor(math.sqrt(count - 1) + 0.5))
        for a in range(n):
            while left[a] and size[a] < used[a] + (reads if a == first else 1):
                if total >= until:
                    return REACHED
                if size[a] == known[a]:
                    return a
                totals[a] += cells[a, size[a]]
                size[a] += 1
                total += 1
                if at < made.size:
                    made[at] = a
                at += 1
        own = 0.0
        for i in range(reads):
            own += cells[first, used[first] + i]
        own = own / reads
        own, rival = (1.0 - own if worst else own), cells[second, used[second]]
        rival = 1.0 - rival if worst else rival
        leaving = 0
        for a in range(n):
            if not left[a]:
                continue
            x = cells[a, used[a]]
            x = 1.0 - x if worst else x
            gain = rival - own if a == first else own - x
            if gain != 0.0:
                e = 0.0
                for j in range(BETS.size):
                    capitals[a, j] = min(capitals[a, j] * (1.0 + gain * BETS[j]), MOST)
                    e += capitals[a, j] * WEIGHTS[j]
                largest[a] = max(largest[a], e)
            leaving += largest[a] >= level
            added = own * reads if a == first else x
            for i in range(3):
                sums[i, a] += added
            used[a] += reads if a == first else 1
        now[0] += 1
        stays = -1
        if leaving == count:  # an error, which is rare: the first one stays
            for a in range(n):
                if left[a] and (stays < 0 or sums[1, a] / used[a] > sums[1, stays] / used[stays]):
                    stays = a
        for a in range(n):
            if left[a] and largest[a] >= level and a != stays:
                left[a] = False
                left_at[a] = now[0]
    return GOES_ON
