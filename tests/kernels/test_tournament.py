"""Tournament and survey against a scan: the same winner after every single change."""

import math

import numpy as np
import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule
from numba import njit
from numba.extending import overload

from topk.kernels.survey import Survey, larger, survey
from topk.kernels.tournament import (
    GROUP,
    LATE,
    MASK,
    MEAN,
    NOBODY,
    OUT,
    SIGN,
    SLOPE,
    UNTIL,
    WEIGHT,
    Tree,
    new_tournament,
)
from topk.kernels.winners import advance, best, build, change, key, new_winners, regroup

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
MOVE, COPY, SHIFT, CROSS, FOLLOW, REGROUP, SWAP, STEP, NUDGE, CREEP, DUE, LEAP = range(12)


@njit(cache=True)
def scan(line, spec, s):
    """Return the winner by the plain form: look at every arm.

    Of equal keys the larger weight wins (unless weights do not matter), then the lower
    index, or the higher one in a late tree.
    """
    winner, best_key, best_weight = NOBODY, -np.inf, -np.inf
    for arm in range(line.shape[0]):
        if (int(spec[MASK]) >> int(line[arm, GROUP])) & 1 == 0:
            continue
        value = spec[SIGN] * line[arm, MEAN] + spec[SLOPE] * s * line[arm, WEIGHT]
        weight = abs(spec[SLOPE]) * line[arm, WEIGHT]
        if winner == NOBODY or value > best_key or (
            value == best_key
            and (weight > best_weight or (weight == best_weight and spec[LATE] == 1.0))
        ):
            winner, best_key, best_weight = arm, value, weight
    return winner


@njit(cache=True)
def wrong(trees):
    """Return the first tree whose winner is not that of the scan, -1 if there is none."""
    for tree in range(trees.spec.shape[0]):
        if best(trees, tree) != scan(trees.line, trees.spec[tree], trees.s[0]):
            return tree
    return -1


@njit(cache=True)
def seen(rng):
    """Return the line of an arm with few pulls (many ties), or with up to 10^8."""
    pulls = rng.integers(1, 5) if rng.random() < 0.5 else int(10 ** (8 * rng.random()))
    return rng.integers(0, pulls + 1) / pulls, 1 / math.sqrt(pulls)


@njit(cache=True)
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


def next_match(trees):
    """Return when the next match is due; in a survey there are none."""


@overload(next_match)
def _compiled_next_match(trees):
    if trees.instance_class is Survey:
        return lambda trees: np.inf
    return lambda trees: trees.node[:, 1, UNTIL].min()


@njit(cache=True)
def alter(trees, rng, kind):
    """Make one random change of a kind; groups may be OUT."""
    n, s = trees.line.shape[0], trees.s[0]
    arm, other = rng.integers(0, n), rng.integers(0, n)
    group, mean, weight = trees.line[arm, GROUP], trees.line[arm, MEAN], trees.line[arm, WEIGHT]
    new_group = float(rng.integers(0, 4))
    if new_group == 3.0:
        new_group = float(OUT)
    if kind == MOVE:
        mean, weight = seen(rng)
        change(trees, arm, mean, weight, group if rng.random() < 0.7 else new_group)
    elif kind == COPY:  # the same line
        change(trees, arm, trees.line[other, MEAN], trees.line[other, WEIGHT], group)
    elif kind == SHIFT:  # equal slopes, the next float or any other
        near = np.nextafter(trees.line[other, MEAN], rng.integers(0, 2))
        mean = near if rng.random() < 0.5 else rng.random()
        change(trees, arm, mean, trees.line[other, WEIGHT], group)
    elif kind == CROSS:
        mean, weight = crossing(rng, trees.line[other, MEAN], trees.line[other, WEIGHT], s)
        change(trees, arm, mean, weight, group)
    elif kind == FOLLOW:  # crosses a winner now, or a little later
        winner = best(trees, rng.integers(0, trees.spec.shape[0]))
        if winner != NOBODY:
            later = s * (1 + 10 ** rng.uniform(-16, 0))
            mean, weight = trees.line[winner, MEAN], trees.line[winner, WEIGHT]
            mean, weight = crossing(rng, mean, weight, later)
            change(trees, arm, mean, weight, group)
    elif kind == REGROUP:
        regroup(trees, arm, new_group)
    elif kind == SWAP:
        regroup(trees, arm, trees.line[other, GROUP])
        regroup(trees, other, group)
    elif kind == STEP:
        advance(trees, s + 10 ** rng.uniform(-3, -1))
    elif kind == NUDGE:  # by so many floats, or not at all
        for _ in range(rng.integers(0, 4)):
            s = np.nextafter(s, np.inf)
        advance(trees, s)
    elif kind == CREEP:
        advance(trees, s * (1 + 10 ** rng.uniform(-16, -6)))
    elif kind == DUE:  # to the moment at which the next match is due, or just past it
        due = next_match(trees)
        if due < 1e6:
            due = max(s, due)
            for _ in range(rng.integers(0, 3)):
                due = np.nextafter(due, np.inf)
            advance(trees, due)
    else:
        advance(trees, 2 * s + rng.random())


@njit(cache=True)
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


ALL = np.array(list(range(LEAP)) * 4 + [LEAP])
NEAR = np.array([CROSS, FOLLOW, FOLLOW, COPY, NUDGE, NUDGE, CREEP, CREEP, DUE, SWAP])


@pytest.mark.parametrize("looks", [False, True], ids=["matches", "looks"])
@pytest.mark.parametrize(("kinds", "share"), [(ALL, 0.6), (NEAR, 0.4)], ids=["all", "crossings"])
def test_a_million_changes(kinds, share, looks):
    rng = np.random.default_rng(4)
    sizes = list(range(1, 71)) * 2 + [255, 256, 257, 1500]
    every = math.ceil(share * CHANGES / len(sizes))
    for n in sizes:
        trees = new_winners(n, TREES, looks)
        done, tree = walk(trees, rng, every, kinds)
        assert tree == -1, f"n = {n}, change {done}: {story(trees, tree)}"
    assert len(sizes) * every >= share * CHANGES


def story(trees, tree):
    """Say what is wrong with a tree."""
    found, right = best(trees, tree), scan(trees.line, trees.spec[tree], trees.s[0])
    lines = trees.line[[found, right]].tolist()
    return f"{TREES[tree]} at s = {trees.s[0]!r} chose {found} for {right}, lines {lines}"


@pytest.mark.parametrize("looks", [False, True])
@pytest.mark.parametrize("pulls", [10, 1000, 10**6, 10**8])
@pytest.mark.parametrize("tree", [Tree((0,), 1.0, 1.0), Tree((0,), -1.0, 1.0),
                                  Tree((0,), 1.0, -1.0), Tree((0,), -1.0, -1.0)])
def test_two_lines_that_rounding_cannot_tell_apart(tree, pulls, looks):
    """Where two lines cross their rounded keys change places to and fro; so must the winner."""
    rng, flips = np.random.default_rng(pulls), 0
    for _ in range(100):
        trees = new_winners(2, (tree,), looks)
        weight = 1 / np.sqrt(pulls + np.array([0, rng.integers(1, 4)]))
        s, mean = rng.uniform(1, 8), rng.uniform(0.3, 0.6)
        shift = tree.sign * tree.slope * s * (weight[0] - weight[1])
        trees.line[:, MEAN], trees.line[:, WEIGHT] = (mean, mean + shift), weight
        trees.line[:, GROUP] = 0
        width = 1e-16 / (weight[0] - weight[1])  # in which the keys differ by rounding only
        visits = np.sort(s + min(width, 0.05) * rng.uniform(-8, 8, 60))
        trees.s[0] = visits[0]
        build(trees)
        winners = [best(trees, 0)]
        for visit in visits[1:]:
            advance(trees, visit)
            winners.append(best(trees, 0))
            assert winners[-1] == scan(trees.line, trees.spec[0], visit), story(trees, 0)
        flips += np.count_nonzero(np.diff(winners))
    assert flips > 100  # the case is real: on average more than once a pair


@pytest.mark.parametrize("looks", [False, True])
def test_means_an_ulp_apart_under_equal_weights(looks):
    """A large s rounds the difference away, and the tie goes to the lower index; not before."""
    trees = new_winners(2, (Tree((0,), 1.0, 1.0), Tree((0,), -1.0, 1.0)), looks)
    trees.line[:] = [[0.25, 1.0, 0], [math.nextafter(0.25, 1), 1.0, 0]]
    for s in (0.0, 0.25, 0.5, 0.75, 1.0, 3.0, 1e3, 1e8):
        if s == 0:
            build(trees)
        advance(trees, s)
        assert wrong(trees) == -1, s
    trees.s[0] = 1.0  # and from a state in which they tie
    build(trees)
    for s in (1.2, 1.9, 2.3, 4.1, 5.2, 9.7):
        advance(trees, s)
        assert wrong(trees) == -1, s


@pytest.mark.parametrize("looks", [False, True])
@pytest.mark.parametrize("n", [1, 2, 3, 64, 65])
def test_nobody_wins_without_members(n, looks):
    trees = new_winners(n, TREES, looks)
    assert all(best(trees, tree) == NOBODY for tree in range(len(TREES)))
    build(trees)
    advance(trees, 5.0)
    assert all(best(trees, tree) == NOBODY for tree in range(len(TREES)))
    change(trees, n - 1, 0.5, 0.5, 1.0)
    members = [1 in tree.groups for tree in TREES]
    assert [best(trees, tree) == n - 1 for tree in range(len(TREES))] == members
    regroup(trees, n - 1, float(OUT))
    assert all(best(trees, tree) == NOBODY for tree in range(len(TREES)))


@pytest.mark.parametrize("looks", [False, True])
def test_keys_and_ties_by_hand(looks):
    """Equal keys: the heavier; equal lines: the lower index, the higher in a late tree."""
    wanted = (Tree((0,), 1.0, 1.0), Tree((0,), 1.0, 1.0, late=True), Tree((0,), 1.0, 0.0),
              Tree((0,), -1.0, 1.0))
    trees = new_winners(3, wanted, looks)
    trees.line[:] = [[0.5, 0.25, 0], [0.25, 0.5, 0], [0.25, 0.5, 0]]
    build(trees)
    assert [best(trees, tree) for tree in range(4)] == [0, 0, 0, 1]
    advance(trees, 1.0)  # all three keys are 0.75
    assert [key(trees, 0, arm) for arm in range(3)] == [0.75] * 3
    assert [key(trees, 3, arm) for arm in range(3)] == [-0.25, 0.25, 0.25]
    assert [best(trees, tree) for tree in range(4)] == [1, 2, 0, 1]


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


@pytest.mark.parametrize("n", [32, 128, 160, 1024])
@pytest.mark.parametrize("late", [0.0, 1.0])
@pytest.mark.parametrize("q", [-2.0, 0.0, 2.0])
def test_a_survey_of_many_equals_is_the_plain_form(n, late, q):
    """Few different means and weights, so that winners tie in and between blocks."""
    rng = np.random.default_rng(n)
    for _ in range(300):
        base = rng.choice([0.25, 0.5, 0.75, -np.inf], n, p=[0.2, 0.2, 0.01, 0.59])
        weight = rng.choice([0.125, 0.25], n)
        members = np.flatnonzero(base > -np.inf).tolist()
        expected = max(members, default=NOBODY, key=lambda i: (
            base[i] + q * weight[i], (q != 0) * weight[i], i if late else -i,
        ))
        assert survey(base, weight, q, q != 0, late) == expected
    assert larger(0.5, 0.25) == larger(0.25, 0.5) == 0.5


def plain(lines, tree, s):
    """The plain form of the module, in plain Python."""
    members = [arm for arm, (_, _, group) in enumerate(lines) if group in tree.groups]
    if not members:
        return NOBODY
    return max(members, key=lambda a: (
        tree.sign * lines[a][0] + tree.slope * s * lines[a][1],
        abs(tree.slope) * lines[a][1],
        a if tree.late else -a,
    ))


pulls = st.one_of(st.integers(1, 4), st.integers(1, 10**8))
groups = st.sampled_from([0, 1, 2, OUT])
places = st.integers(0, 10**6)


class Moves(RuleBasedStateMachine):
    """Hypothesis looks for a sequence of changes after which a winner is wrong."""

    @initialize(n=st.integers(1, 70), s=st.sampled_from([0.0, 1.0, 2.5]), looks=st.booleans(),
                data=st.data())
    def start(self, n, s, looks, data):
        self.s, self.trees = s, new_winners(n, TREES, looks)
        few = data.draw(st.lists(st.tuples(st.integers(0, 4), groups), min_size=1, max_size=8))
        self.lines = [[few[a % len(few)][0] / 4, 0.5, few[a % len(few)][1]] for a in range(n)]
        self.trees.line[:] = self.lines
        self.trees.s[0] = s
        build(self.trees)

    def put(self, arm, mean, weight, group):
        self.lines[arm] = [mean, weight, group]
        change(self.trees, arm, mean, weight, group)

    @rule(arm=places, u=pulls, share=st.floats(0, 1), group=groups)
    def move(self, arm, u, share, group):
        self.put(arm % len(self.lines), int(share * u) / u, 1 / math.sqrt(u), group)

    @rule(arm=places, other=places, more=st.integers(0, 3), up=st.booleans(),
          ulps=st.integers(-2, 2), ahead=st.sampled_from([0.0, 1e-15, 1e-9, 0.01]))
    def cross(self, arm, other, more, up, ulps, ahead):
        """A line that meets another one here, or soon; with ``more`` 0 a parallel one."""
        arm, other = arm % len(self.lines), other % len(self.lines)
        mean, weight, group = self.lines[other]
        new_weight = weight if more == 0 else 1 / math.sqrt(round(1 / weight**2) + more)
        mean += (1 if up else -1) * self.s * (1 + ahead) * (weight - new_weight)
        for _ in range(abs(ulps)):
            mean = math.nextafter(mean, 2 if ulps > 0 else -1)
        self.put(arm, min(1.0, max(0.0, mean)), new_weight, group)

    @rule(arm=places, other=places)
    def swap(self, arm, other):
        arm, other = arm % len(self.lines), other % len(self.lines)
        pair = self.lines[other][2], self.lines[arm][2]
        for each, group in zip((arm, other), pair, strict=True):
            self.lines[each][2] = group
            regroup(self.trees, each, group)

    @rule(by=st.sampled_from([0.0, 1e-16, 1e-12, 1e-6, 1e-3, 0.3]), ulps=st.integers(0, 2))
    def grow(self, by, ulps):
        self.s += by * (1 + self.s)
        for _ in range(ulps):
            self.s = math.nextafter(self.s, math.inf)
        advance(self.trees, self.s)

    @rule()
    @precondition(lambda self: self.s < 1e4)
    def leap(self):
        self.s = 2 * self.s + 1
        advance(self.trees, self.s)

    @invariant()
    def winners_are_the_plain_ones(self):
        found = [best(self.trees, number) for number in range(len(TREES))]
        assert found == [plain(self.lines, tree, self.s) for tree in TREES]


TestMoves = Moves.TestCase
TestMoves.settings = settings(max_examples=60, stateful_step_count=40)
