"""UGapE's sets and arms, kept up to date, against their definitions over all arms."""

import math
import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import topk
from topk.kernels.duel import (
    BOTH,
    HIGHEST_REST,
    J_ONLY,
    LOWEST_J,
    NEITHER,
    TIE,
    TOP_ONLY,
    draw_duel,
    forget,
    largest_inside,
    move_duel,
    new_duel,
    wider,
)
from topk.kernels.filing import ACTIVE, REJECTED
from topk.kernels.tally import Tally
from topk.kernels.tournament import GROUP, NOBODY, OUT, advance, best

UNCLEAR = 1e-15, 1e-10  # differences of indices between these are neither ties nor gaps


def new_tally(pulls, ones):
    pulls, ones = np.array(pulls, dtype=np.int64), np.array(ones, dtype=np.float64)
    return Tally(pulls, ones, np.zeros(0), np.array([pulls.sum()]))


def definitions(tally, status, k, s):
    """Return J, Top's smallest U, l, u, the largest B in J and whether all ties are clear.

    Extended precision tells equal indices, which differ by less than 1e-17 in it, from
    different ones.
    """
    active = np.flatnonzero(status == ACTIVE).tolist()
    pulls = tally.pulls.astype(np.longdouble)
    mean, radius = tally.sums / pulls, s / np.sqrt(pulls)
    upper, lower = mean + radius, mean - radius
    index = {}
    for arm in active:
        others = sorted((upper[other] for other in active if other != arm), reverse=True)
        index[arm] = others[k - 1] - lower[arm] if len(others) >= k else -np.inf
    values = np.sort(list(index.values())) if len(active) > k else np.zeros(1)
    steps = np.diff(values)
    clear = not ((steps > UNCLEAR[0]) & (steps < UNCLEAR[1])).any()
    level = {arm: np.searchsorted(values + TIE, index[arm]) for arm in active}  # ties share one
    if len(active) == k:
        level = dict.fromkeys(active, 0)
    inside = sorted(active, key=lambda arm: (level[arm], arm))[:k]
    outside = [arm for arm in active if arm not in inside]

    def tied(value):
        return round(float(value), 13)

    low = min(inside, key=lambda arm: (tied(lower[arm]), tally.pulls[arm], arm))
    high = min(outside, key=lambda arm: (tied(-upper[arm]), tally.pulls[arm], arm), default=NOBODY)
    top = sorted((upper[arm] for arm in active), reverse=True)[:k]
    return inside, top, low, high, max(index[arm] for arm in inside), clear


def check(trees, tally, status, k, s):
    """Compare with the definitions; return whether the case was clear."""
    inside, top, low, high, largest, clear = definitions(tally, status, k, s)
    if not clear:
        return False
    group = trees.line[:, GROUP]
    assert np.flatnonzero((group == BOTH) | (group == J_ONLY)).tolist() == sorted(inside)
    assert np.flatnonzero(group == OUT).tolist() == np.flatnonzero(status != ACTIVE).tolist()
    in_top = np.flatnonzero((group == BOTH) | (group == TOP_ONLY))
    upper = (tally.sums + s * np.sqrt(tally.pulls)) / tally.pulls
    assert sorted(upper[in_top], reverse=True) == pytest.approx([float(u) for u in top], abs=1e-12)
    assert best(trees, LOWEST_J) == low
    assert best(trees, HIGHEST_REST) == high
    _, index = largest_inside(trees)
    assert index == pytest.approx(float(largest), abs=1e-12)
    narrow = high == NOBODY or (tally.pulls[low], low) < (tally.pulls[high], high)
    assert wider(trees) == (low if narrow else high)
    assert (group == NEITHER).sum() == status.size - (status != ACTIVE).sum() - len(
        set(inside) | set(in_top.tolist())
    )
    return True


def members(trees):
    group = trees.line[:, GROUP]
    return set(np.flatnonzero((group == BOTH) | (group == J_ONLY)).tolist())


def new_journal(n):
    return np.zeros((2, n + 1), dtype=np.int64)


batches = st.lists(
    st.lists(st.tuples(st.integers(0, 11), st.integers(1, 3), st.integers(0, 3)),
             min_size=1, max_size=3, unique_by=lambda entry: entry[0]),
    max_size=25,
)


@given(st.integers(2, 12), st.data(), batches)
def test_sets_and_arms_are_those_of_the_definitions(n, data, batches):
    k = data.draw(st.integers(1, n - 1))
    pulls = data.draw(st.lists(st.integers(1, 3), min_size=n, max_size=n))
    tally = new_tally(pulls, [data.draw(st.integers(0, count)) for count in pulls])
    status = np.full(n, ACTIVE)
    trees, journal = new_duel(n), new_journal(n)
    s = data.draw(st.sampled_from([0.0, 0.4, 1.3]))
    draw_duel(trees, tally, status, k, s)
    check(trees, tally, status, k, s)
    remembered = members(trees)
    for batch in batches:
        arms = []
        for arm, count, ones in batch:
            if arm < n and status[arm] == ACTIVE:
                tally.pulls[arm] += count
                tally.sums[arm] += min(ones, count)
                arms.append(arm)
        s += data.draw(st.sampled_from([0.0, 0.013, 0.31]))
        advance(trees, s)
        move_duel(trees, tally, len(arms), np.array(arms, dtype=np.int64), journal)
        check(trees, tally, status, k, s)
        changed = set(np.flatnonzero(journal[0, :n] == 1).tolist())
        assert members(trees) ^ changed == remembered
        if data.draw(st.integers(0, 4)) == 0:
            forget(journal)
            remembered = members(trees)
            assert not journal.any() or journal[1, n] == 0 and not journal[0].any()
        if (status == ACTIVE).sum() > k and data.draw(st.integers(0, 9)) == 0:
            status[data.draw(st.sampled_from(np.flatnonzero(status == ACTIVE).tolist()))] = REJECTED
            draw_duel(trees, tally, status, k, s)  # as a withdrawal does
            forget(journal)
            remembered = members(trees)
            check(trees, tally, status, k, s)


@pytest.mark.parametrize(("n", "k", "steps", "every"), [
    (2, 1, 500, 1), (30, 4, 3000, 3), (30, 27, 3000, 3), (120, 60, 6000, 60),
])
def test_long_plays(n, k, steps, every):
    """As the strategies use it: the wider of two arms is pulled, and s grows."""
    rng = np.random.default_rng(n + k)
    means = rng.choice([0.1, 0.5, 0.55, 0.9], n)
    status, trees, journal = np.full(n, ACTIVE), new_duel(n), new_journal(n)
    tally = new_tally(np.ones(n), rng.random(n) < means)
    draw_duel(trees, tally, status, k, 1.0)
    checked = clear = 0
    for t in range(1, steps):
        s = max(1.0, math.sqrt(0.5 * (1 + 3 * math.log(t))))
        arm = wider(trees) if t % 7 else rng.integers(n)
        tally.pulls[arm] += 1
        tally.sums[arm] += rng.random() < means[arm]
        advance(trees, s)
        move_duel(trees, tally, 1, np.array([arm]), journal)
        if t % every == 0:
            clear += check(trees, tally, status, k, s)
            checked += 1
    assert clear > 0.98 * checked


def test_equal_arms_are_ordered_by_index():
    """All lines the same: J are the first k, and the first of each side speaks."""
    n, k = 9, 4
    trees, status = new_duel(n), np.full(n, ACTIVE)
    draw_duel(trees, new_tally([3] * n, [1] * n), status, k, 1.5)
    assert members(trees) == set(range(k))
    assert best(trees, LOWEST_J) == 0 and best(trees, HIGHEST_REST) == k
    assert wider(trees) == 0


def test_indices_closer_than_a_rounding_count_as_equal():
    """Means that differ by less than TIE; the lower index is in J although it is worse."""
    trees, status = new_duel(3), np.full(3, ACTIVE)
    tally = new_tally([4, 4, 4], [2.0, 2.0 + TIE, 0.0])
    draw_duel(trees, tally, status, 1, 0.0)
    assert members(trees) == {0}
    tally.sums[1] = 2.0 + 40 * TIE
    move_duel(trees, tally, 1, np.array([1]), new_journal(3))
    assert members(trees) == {1}


def indices(tally, k, s):
    """Return every arm's B in the floats of the kernel."""
    mean, radius = tally.sums / tally.pulls, s * (1 / np.sqrt(tally.pulls))
    n = mean.size
    rivals = [np.sort(np.delete(mean + radius, arm))[n - 1 - k] for arm in range(n)]
    return np.array(rivals) - (mean - radius)


def test_rewards_that_nearly_tie_do_not_go_round_in_circles():
    """In another process, because a compiled loop that does not end cannot be interrupted."""
    path = os.pathsep.join([str(Path(topk.__file__).parents[1]), str(Path(__file__).parent)])
    command = [sys.executable, "-P", "-c", "import test_duel; test_duel.exchange_near_ties()"]
    done = subprocess.run(command, env=os.environ | {"PYTHONPATH": path}, timeout=180,
                          capture_output=True, text=True)
    assert done.returncode == 0, done.stderr


def exchange_near_ties():
    """Rewards about a TIE apart: the exchanges end, and no J is worse than that."""
    session = topk.UGapEc(1, epsilon=0.1, delta=0.1).start(2)
    session.tell([0, 1], [0.25 + 2e-15, 0.25 + 2e-15 + TIE / 2])
    rng = np.random.default_rng(8)
    for _ in range(3000):
        n = int(rng.integers(2, 9))
        k = int(rng.integers(1, n))
        pulls = np.full(n, 2) if rng.random() < 0.5 else rng.integers(1, 3, n)
        step = rng.choice([0.3, 0.5, 0.9, 1.0])
        tally = new_tally(pulls, pulls * (0.25 + rng.integers(0, 7, n) * step * TIE))
        trees, status, s = new_duel(n), np.full(n, ACTIVE), float(rng.integers(0, 3))
        draw_duel(trees, tally, status, k, s)
        for _ in range(3):
            inside = sorted(members(trees))
            outside = sorted(set(range(n)) - set(inside))
            index = indices(tally, k, s)
            assert len(inside) == k
            assert index[inside].max() <= index[outside].min() + 3 * TIE
            arm = rng.integers(n)
            tally.sums[arm] = pulls[arm] * (0.25 + rng.integers(0, 7) * step * TIE)
            move_duel(trees, tally, 1, np.array([arm]), new_journal(n))
