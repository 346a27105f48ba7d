"""A kinetic tournament: the largest of n moving keys, in O(log n) per change.

Index strategies need the arm with the largest ``sign * mean + slope * s * weight``, where
``weight`` is one over the square root of the arm's pulls, and s, the scale of all radii, is one
number that never decreases.  As a function of s every key is a straight line.  A tree can use the
fixed part of the arm's lower or upper bound in place of the mean.

A tournament is a binary tree over the arms.  Each node stores the winner of its two children, and
the largest s up to which all comparisons below it are known to hold.  After a change of one arm
the matches on its way to the root are replayed.  After an increase of s only the matches that no
longer hold for certain are replayed: two lines cross at most once, and the crossing is computed
when they meet.  It is taken slightly early, by more than rounding errors; from then on the keys
themselves are compared at each new s until the crossing has passed.  So the winner is always that
of the plain form,

    max(members, key=lambda a: (sign * mean[a] + slope * s * weight[a], weight[a], -a)).

Arms belong to groups 0, 1, 2, ...; each tree includes the arms of the groups in its mask, and
treats the keys of the others as minus infinity.
"""

import math
from typing import NamedTuple

import numpy as np

from topk.rules.base import NO_ARM
from topk.rules.indices import line

OUT = 31  # the group of arms that belong to no tree
EARLY = 2.0**-33  # in units of the keys; more than the rounding of keys, and of UGapE's indices
LEAST = -1e290  # below the fixed part of every key
CACHE_LINE = 64  # bytes

# columns of the float arrays below
MEAN, WEIGHT, GROUP, LOW, HIGH = 0, 1, 2, 3, 4
UNTIL, WINNER, FIXED, SPEED = 0, 1, 2, 3
SIGN, SLOPE, LATE, MASK, OF = 0, 1, 2, 3, 4


class Tree(NamedTuple):
    """The keys and the members of one tree.

    Attributes
    ----------
    groups : tuple of int
        The groups whose arms are members.
    sign : float
        Factor of the fixed part: 1.0, -1.0, or 0.0 for keys without one.
    slope : float
        Factor of ``s * weight``: 1.0, -1.0, or 0.0 for keys that do not move.
    late : bool
        Whether, of arms that are equal in key, the one of smaller weight wins, and of those that
        are equal in both, the one of higher index.
    of : int
        The column of the fixed part: ``MEAN``, ``LOW`` or ``HIGH``.
    """

    groups: tuple
    sign: float
    slope: float
    late: bool = False
    of: int = MEAN


class Tournament(NamedTuple):
    """Several trees over the same arms.

    There are few arrays, with columns, so that an arm's numbers are adjacent in memory.  The
    integers among the floats are small and exact.

    Attributes
    ----------
    line : ndarray of float, shape (n, 3) or (n, 5)
        Each arm's ``MEAN``, ``WEIGHT`` and ``GROUP``; ``LOW`` and ``HIGH`` if a tree uses them.
    node : ndarray of float, shape (trees, leaves, 4)
        Each node's ``WINNER``, whose key is ``FIXED + s * SPEED``, and ``UNTIL``, the largest s for
        which its match and those below it hold.  Node 1 is the root, the children of node j are
        2j and 2j + 1, and the line of arm a takes the place of node ``leaves + a``.
    spec : ndarray of float, shape (trees, 5)
        Each tree's ``SIGN``, ``SLOPE``, ``LATE`` (0 or 1), ``MASK``, the sum of 2**g over its
        groups g, and ``OF``.
    s : ndarray of float, shape (1,)
        The present scale.
    todo : ndarray of int64, shape (leaves,)
        Buffer for the nodes to be replayed.
    """

    line: np.ndarray
    node: np.ndarray
    spec: np.ndarray
    s: np.ndarray
    todo: np.ndarray


def new_tournament(n, trees):
    """Return a tournament of ``n`` arms, all in group `OUT`.

    Parameters
    ----------
    n : int
        Number of arms.
    trees : sequence of Tree
        The trees.

    Returns
    -------
    Tournament
    """
    leaves = max(2, 1 << (n - 1).bit_length())
    line = np.zeros((n, 5 if any(tree.of for tree in trees) else 3))
    line[:, GROUP] = OUT
    node = aligned((len(trees), leaves, 4))
    node[:] = np.inf, NO_ARM, LEAST, 0.0
    todo = np.zeros(leaves, dtype=np.int64)
    return Tournament(line, node, specify(trees), np.zeros(1), todo)


def aligned(shape):
    """Return an empty array aligned with the cache lines, each of which holds two nodes."""
    padded = np.empty(math.prod(shape) + CACHE_LINE // 8)
    begin = -padded.ctypes.data % CACHE_LINE // 8
    return padded[begin : begin + math.prod(shape)].reshape(shape)


def specify(trees):
    """Return trees as an array of numbers, (trees, 5); see `Tournament`."""
    masks = [sum(1 << group for group in tree.groups) for tree in trees]
    rows = [(t.sign, t.slope, t.late, mask, t.of) for t, mask in zip(trees, masks, strict=True)]
    return np.array(rows, dtype=np.float64)


def comparison(spec, tree):
    """Return how a tree compares arms: sign, slope, late (0.0 or 1.0), column and mask."""
    how = spec[tree]
    return how[SIGN], how[SLOPE], how[LATE], int(how[OF]), int(how[MASK])


def match(one, other, s, how):
    """Compare two contenders; see `contender` for these tuples, and `comparison` for ``how``.

    Returns
    -------
    wins : bool
        Whether ``one`` wins: by the larger key; if the keys are equal, by the larger weight; if
        these are equal too, by the smaller index.  Of equal keys ``late`` reverses both.  Weights
        do not count in trees of slope 0.
    stands : float
        The largest s, at least the present one, up to which the result holds for certain.

    Notes
    -----
    The winner leads by ``gap - s * closing``, less a bound on the rounding errors.  While this is
    positive, the match holds until the lead is used up, or forever if it does not decrease.
    Otherwise rounding could decide: the match holds for the present s only, and is replayed at
    every new s.  Equal lines stay equal.
    """
    _, slope, late, _, _ = how
    arm, fixed, speed, key = one
    other_arm, other_fixed, other_speed, other_key = other
    wins = key > other_key
    if key == other_key:
        heavier = slope * (speed - other_speed)  # the difference of the weights: slope is 1 or -1
        heavier = heavier if late == 0.0 else -heavier
        wins = heavier > 0.0 or (heavier == 0.0 and (arm < other_arm) == (late == 0.0))
    if slope == 0.0:  # the keys do not move
        return wins, np.inf
    gap, closing = fixed - other_fixed, other_speed - speed
    if not wins:
        gap, closing = -gap, -closing
    # the lead, less a bound on the rounding errors, is gap - s * closing
    gap -= EARLY
    closing += EARLY * (abs(speed) + abs(other_speed))
    if gap - s * closing > 0.0:
        return wins, gap / closing if closing > 0.0 else np.inf
    return wins, np.inf if fixed == other_fixed and speed == other_speed else s


def contender(trees, tree, place, how):
    """Return the contender at a place, and the largest s for which it is known to be the winner.

    A contender is a tuple of floats: an arm or `NO_ARM`, the fixed part and the speed of its key,
    and the key.  With these numbers a match does not have to read the arm's line.
    """
    if place >= trees.todo.size:
        return entrant(trees.line, trees.s[0], place - trees.todo.size, how), np.inf
    return winner_at(trees.node[tree, place], trees.s[0])


def winner_at(node, s):
    """Return a node's winner as a contender, and the largest s for which it is known to win."""
    key = node[FIXED] + s * node[SPEED]
    return (node[WINNER], node[FIXED], node[SPEED], key), node[UNTIL]


def entrant(line, s, arm, how):
    """Return an arm as a contender; `NO_ARM`, with the least key, if it is not a member."""
    sign, slope, _, of, mask = how
    if arm >= line.shape[0] or mask >> int(line[arm, GROUP]) & 1 == 0:
        return float(NO_ARM), LEAST, 0.0, LEAST
    fixed, speed = sign * line[arm, of], slope * line[arm, WEIGHT]
    return float(arm), fixed, speed, fixed + s * speed


def play_node(trees, tree, place):
    """Play the match of a node: compare the winners of its children at the present s."""
    how = comparison(trees.spec, tree)
    left, until = contender(trees, tree, 2 * place, how)
    right, stands = contender(trees, tree, 2 * place + 1, how)
    wins, sure = match(left, right, trees.s[0], how)
    write(trees, tree, place, left if wins else right, min(until, stands, sure))


def write(trees, tree, place, winner, until):
    """Store the winner of a node."""
    node = trees.node[tree, place]
    node[WINNER], node[FIXED], node[SPEED], _ = winner
    node[UNTIL] = until


def build(trees):
    """Play all matches of all trees, once the lines, their groups and ``s`` have been set."""
    for tree in range(trees.spec.shape[0]):
        for place in range(trees.todo.size - 1, 0, -1):
            play_node(trees, tree, place)


def advance(trees, s):
    """Increase the scale to ``s``, and replay the matches that no longer hold for certain."""
    trees.s[0] = s
    for tree in range(trees.spec.shape[0]):
        if trees.node[tree, 1, UNTIL] < s:
            play_overdue(trees, tree)


def play_overdue(trees, tree):
    """Replay the matches of one tree that no longer hold for certain, children before parents.

    ``UNTIL`` of a node is at most that of its children, so these matches are found from the root
    downwards; ``todo[:found]`` lists them, parents first.
    """
    todo = trees.todo
    todo[0], found, looked = 1, 1, 0
    while looked < found:
        place = todo[looked]
        looked += 1
        for child in range(2 * place, 2 * place + 2):
            if child < todo.size and trees.node[tree, child, UNTIL] < trees.s[0]:
                todo[found] = child
                found += 1
    for j in range(found - 1, -1, -1):
        play_node(trees, tree, todo[j])


def touch(trees, arm):
    """Replay the matches above an arm that has a new line."""
    own = 1 << int(trees.line[arm, GROUP])
    for tree in range(trees.spec.shape[0]):
        if int(trees.spec[tree, MASK]) & own:
            climb(trees, tree, arm)


def regroup(trees, arm, group):
    """Move an arm to another group: replay its matches in the trees that it enters or leaves.

    Its line does not change.
    """
    before, after = int(trees.line[arm, GROUP]), int(group)
    trees.line[arm, GROUP] = group
    for tree in range(trees.spec.shape[0]):
        mask = int(trees.spec[tree, MASK])
        if (mask >> before ^ mask >> after) & 1:
            climb(trees, tree, arm)


def climb(trees, tree, arm):
    """Replay the matches of one tree above an arm, from its leaf to the root."""
    s, how, place = trees.s[0], comparison(trees.spec, tree), trees.todo.size + arm
    winner, other = entrant(trees.line, s, arm, how), entrant(trees.line, s, arm ^ 1, how)
    stands, until = np.inf, np.inf
    while place > 1:
        wins, sure = match(winner, other, s, how)
        winner = winner if wins else other
        place, stands = place >> 1, min(stands, until, sure)
        known = trees.node[tree, place, WINNER]
        if known != arm and known == winner[0] and trees.node[tree, place, UNTIL] == stands:
            break  # the same winner, and not the changed arm: all matches above are as before
        write(trees, tree, place, winner, stands)
        if place > 1:
            other, until = winner_at(trees.node[tree, place ^ 1], s)


def best(trees, tree):
    """Return the winner of a tree, `NO_ARM` if it has no members."""
    return int(trees.node[tree, 1, WINNER])


def key(trees, tree, arm):
    """Return an arm's key in a tree at the present s."""
    sign, slope, _, of, _ = comparison(trees.spec, tree)
    return sign * trees.line[arm, of] + slope * trees.s[0] * trees.line[arm, WEIGHT]


def change(trees, arm, mean, weight, group):
    """Give an arm a new line and a group."""
    trees.line[arm, MEAN], trees.line[arm, WEIGHT] = mean, weight
    touch(trees, arm)
    regroup(trees, arm, group)


# Shared by the searches with tournaments; here s is the state of a run, with the trees ``s.trees``


def scale_grew(s, scale):
    """Increase the scale."""
    advance(s.trees, scale)


def enter(s, arm):
    """Set the line of an arm."""
    lines = s.trees.line
    low, high, lines[arm, WEIGHT] = line(s, arm)
    lines[arm, MEAN] = s.sums[arm] / s.pulls[arm]
    if lines.shape[1] > HIGH:
        lines[arm, LOW], lines[arm, HIGH] = low, high


def enter_all(s, arms):
    """Set the lines of some arms."""
    for j in range(arms.size):
        enter(s, arms[j])


def arm_pulled(s, arm):
    """Process the new bounds of an arm."""
    enter(s, arm)
    touch(s.trees, arm)
