"""The tournament against a scan: the same winner after every single change."""

import math

import numpy as np
import pytest

from topk.engine import jit
from topk.rules.base import NO_ARM
from topk.rules.search.tournament import (
    GROUP,
    LATE,
    MASK,
    MEAN,
    OUT,
    SIGN,
    SLOPE,
    UNTIL,
    WEIGHT,
    Tree,
    advance,
    best,
    build,
    change,
    new_tournament,
    regroup,
)

TREES = tuple(
    Tree(groups, sign, slope, late)
    for groups, sign, slope in (
        ((0, 1), 1.0, 1.0),
        ((0,), -1.0, 1.0),
        ((1, 2), 1.0, -1.0),
        ((2,), -1.0, -1.0),
        ((0, 2), 1.0, 0.0),
        ((1,), -1.0, 0.0),
        ((0, 1, 2), 0.0, 1.0),
    )
    for late in (False, True)
)
CHANGES = 1_000_000  # checked one by one by `test_a_million_changes`
WALK = 500  # changes before s starts again
MOVE, SHIFT, CROSS, FOLLOW, REGROUP, GROW, DUE = range(7)


def scan(line, spec, s):
    """Return the winner by the plain form: look at every arm.

    Of equal keys the larger weight wins (unless weights do not matter), then the lower
    index; in a late tree the smaller weight, then the higher index.
    """
    winner, best_key, best_weight = NO_ARM, -np.inf, -np.inf
    for arm in range(line.shape[0]):
        if (int(spec[MASK]) >> int(line[arm, GROUP])) & 1 == 0:
            continue
        value = spec[SIGN] * line[arm, MEAN] + spec[SLOPE] * s * line[arm, WEIGHT]
        weight = abs(spec[SLOPE]) * line[arm, WEIGHT] * (1.0 - 2.0 * spec[LATE])
        if winner == NO_ARM or value > best_key or (
            value == best_key
            and (weight > best_weight or (weight == best_weight and spec[LATE] == 1.0))
        ):
            winner, best_key, best_weight = arm, value, weight
    return winner


def wrong(trees):
    """Return the first tree whose winner is not that of the scan, -1 if there is none."""
    for tree in range(trees.spec.shape[0]):
        if best(trees, tree) != scan(trees.line, trees.spec[tree], trees.s[0]):
            return tree
    return -1


def seen(rng):
    """Return the line of an arm with few pulls (many ties), or with up to 10^8."""
    pulls = rng.integers(1, 5) if rng.random() < 0.5 else int(10 ** (8 * rng.random()))
    return rng.integers(0, pulls + 1) / pulls, 1 / math.sqrt(pulls)


def crossing(rng, mean, weight, s):
    """Return a line that meets the line ``(mean, weight)`` within rounding of ``s``.

    Half of the lines are nearly parallel, so that rounding decides over a long stretch.
    """
    pulls = 1 / weight**2
    if rng.random() < 0.5:
        pulls = max(1.0, np.round(pulls) + rng.integers(1, 4))
    else:
        pulls = np.floor(10 ** (8 * rng.random()))
    new_weight = 1 / math.sqrt(pulls)
    direction = 1.0 if rng.random() < 0.5 else -1.0
    new_mean = mean + direction * s * (weight - new_weight)
    for _ in range(rng.integers(0, 3)):
        new_mean = np.nextafter(new_mean, rng.integers(0, 2))
    return min(1.0, max(0.0, new_mean)), new_weight


def alter(trees, rng, kind):
    """Make one random change of a kind; groups may be OUT."""
    n, s = trees.line.shape[0], trees.s[0]
    arm, other = rng.integers(0, n), rng.integers(0, n)
    group = trees.line[arm, GROUP]
    if kind == MOVE:
        mean, weight = seen(rng)
        change(trees, arm, mean, weight, group)
    elif kind == SHIFT:  # equal slopes: the same line, the next float or any other
        mean = trees.line[other, MEAN] if rng.random() < 0.7 else rng.random()
        if rng.random() < 0.4:
            mean = np.nextafter(mean, rng.integers(0, 2))
        change(trees, arm, mean, trees.line[other, WEIGHT], group)
    elif kind == CROSS or kind == FOLLOW:  # crosses another arm now, or a winner a little later
        if kind == FOLLOW:
            winner = best(trees, rng.integers(0, trees.spec.shape[0]))
            other = winner if winner != NO_ARM else other
            s *= 1 + 10 ** rng.uniform(-16, 0)
        mean, weight = crossing(rng, trees.line[other, MEAN], trees.line[other, WEIGHT], s)
        change(trees, arm, mean, weight, group)
    elif kind == REGROUP:
        new_group = rng.integers(0, 4)
        regroup(trees, arm, float(new_group if new_group < 3 else OUT))
    elif kind == GROW:  # by anything between a few floats and a leap
        advance(trees, s + 10 ** rng.uniform(-16, 1))
    else:  # to now, or to the moment at which the next match is due, or by floats past it
        due = trees.node[:, 1, UNTIL].min()
        s = max(s, due) if due < 1e6 and rng.random() < 0.5 else s
        for _ in range(rng.integers(0, 4)):
            s = np.nextafter(s, np.inf)
        advance(trees, s)


def walk(trees, rng, changes, kinds):
    """Alter and check; return how many changes it took to go wrong (or all), and the tree."""
    n = trees.line.shape[0]
    for done in range(changes):
        if done % WALK == 0:
            trees.s[0] = 0.0 if rng.random() < 0.1 else 10 * rng.random()
            for arm in range(n):
                trees.line[arm, MEAN], trees.line[arm, WEIGHT] = seen(rng)
                trees.line[arm, GROUP] = float(rng.integers(0, 3))
            build(trees)
        alter(trees, rng, kinds[rng.integers(0, kinds.size)])
        tree = wrong(trees)
        if tree >= 0:
            return done, tree
    return changes, -1


@pytest.fixture(scope="module")
def compiled_walk():
    return jit.compiled(walk, None, "test", lean=False, store=False)


ALL = np.arange(DUE + 1)
NEAR = np.array([CROSS, FOLLOW, FOLLOW, SHIFT, DUE, DUE, DUE, GROW, REGROUP])


@pytest.mark.slow
@pytest.mark.parametrize(("kinds", "share"), [(ALL, 0.6), (NEAR, 0.4)], ids=["all", "crossings"])
def test_a_million_changes(kinds, share, compiled_walk):
    rng = np.random.default_rng(4)
    sizes = list(range(1, 71)) * 2 + [255, 256, 257, 1500]
    every = math.ceil(share * CHANGES / len(sizes))
    for n in sizes:
        trees = new_tournament(n, TREES)
        done, tree = compiled_walk(trees, rng, every, kinds)
        assert tree == -1, f"n = {n}, change {done}: a wrong winner of {TREES[tree]}"
    assert len(sizes) * every >= share * CHANGES


def test_two_nodes_fill_a_line_of_the_cache():
    nodes = [new_tournament(n, TREES).node for n in range(2, 40)]  # all are held: no place twice
    assert {(node.ctypes.data % 64, node.strides[1]) for node in nodes} == {(0, 32)}


def test_a_growth_of_s_is_mostly_free():
    """What makes the tournament fast: s rarely reaches a moment at which a match is due."""
    rng, n = np.random.default_rng(5), 1000
    trees = new_tournament(n, (Tree((0,), 1.0, 1.0),))
    for arm in range(n):
        trees.line[arm] = rng.random(), 1 / math.sqrt(rng.integers(100, 200)), 0
    build(trees)
    due, times = 0, np.arange(10_000, 30_000)
    for s in np.sqrt(2 * np.log(times)):
        due += trees.node[0, 1, UNTIL] < s
        advance(trees, s)
    assert 0 < due < times.size / 20
    assert best(trees, 0) == scan(trees.line, trees.spec[0], trees.s[0])
