"""A kinetic tournament: the best of n moving keys, in O(log n) a change.

Index strategies look for the arm with the largest ``sign * mean + slope * s * weight``,
where ``weight`` is one over the square root of the arm's pulls and s is one number, the
same for all arms, that never falls.  Seen over s every key is a straight line.  In place of
the mean a tree may look at the fixed part of the arm's lower or upper bound.

A tournament is a binary tree over the arms in which each node keeps the winner of its two
children, and the largest s up to which all comparisons below it are known to stand.  A
change of one arm plays again the matches on its way to the root.  A growth of s plays
again only the matches whose time has come: two lines cross at most once, and that moment
is computed when they meet.  It is taken slightly early, by more than rounding can matter,
and then the keys themselves are compared again at each new s until the moment has passed;
so the winner is always that of the plain form,

    max(members, key=lambda a: (sign * mean[a] + slope * s * weight[a], weight[a], -a)).

Arms belong to groups 0, 1, 2, ...; each tree takes the arms of the groups in its mask and
treats the others as if their keys were minus infinity.
"""

import math
from typing import NamedTuple

import numpy as np

from topk.rules.base import NOBODY
from topk.rules.indices import line

OUT = 31  # the group of arms that belong to no tree
EARLY = 1e-14  # in units of the keys; 45 times the spacing of floats at 1
LEAST = -1e290  # below the fixed part of every key
CACHE_LINE = 64  # bytes

# columns of the float arrays below
MEAN, WEIGHT, GROUP, LOW, HIGH = 0, 1, 2, 3, 4
UNTIL, WINNER, FIXED, SPEED = 0, 1, 2, 3
SIGN, SLOPE, LATE, MASK, OF = 0, 1, 2, 3, 4


class Tree(NamedTuple):
    """What one tree looks for.

    Attributes
    ----------
    groups : tuple of int
        The groups whose arms take part.
    sign : float
        Factor of the means, 1.0 or -1.0.
    slope : float
        Factor of ``s * weight``: 1.0, -1.0, or 0.0 for keys that do not move.
    late : bool
        Whether, of arms that are equal in key and weight, the one of higher index wins.
    of : int
        The column that stands in for the mean: ``MEAN``, ``LOW`` or ``HIGH``.
    """

    groups: tuple
    sign: float
    slope: float
    late: bool = False
    of: int = MEAN


class Tournament(NamedTuple):
    """Several trees over the same arms.

    Few arrays with columns, so that what belongs to an arm lies together.  Whole numbers
    among the floats are small and exact.

    Attributes
    ----------
    line : ndarray of float, shape (n, 3) or (n, 5)
        Each arm's ``MEAN``, ``WEIGHT`` and ``GROUP``; ``LOW`` and ``HIGH`` if a tree looks at them.
    node : ndarray of float, shape (trees, leaves, 4)
        Each node's ``WINNER``, whose key is ``FIXED + s * SPEED``, and the s ``UNTIL`` which the
        matches below it stand; node 1 is the root, the children of j are 2j and 2j + 1, and in
        the place of node ``leaves + a`` stands the line of arm a.
    spec : ndarray of float, shape (trees, 5)
        Each tree's ``SIGN``, ``SLOPE``, ``LATE`` (0 or 1), ``MASK``, the sum of 2**g over its
        groups g, and ``OF``.
    s : ndarray of float, shape (1,)
    todo : ndarray of int64, shape (leaves,)
        Room for nodes to be played again.
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
        What to look for.

    Returns
    -------
    Tournament
    """
    leaves = max(2, 1 << (n - 1).bit_length())
    line = np.zeros((n, 5 if any(tree.of for tree in trees) else 3))
    line[:, GROUP] = OUT
    node = aligned((len(trees), leaves, 4))
    node[:] = np.inf, NOBODY, LEAST, 0.0
    todo = np.zeros(leaves, dtype=np.int64)
    return Tournament(line, node, specify(trees), np.zeros(1), todo)


def aligned(shape):
    """Return an empty array that begins where a line of the cache does, as two nodes fill one."""
    room = np.empty(math.prod(shape) + CACHE_LINE // 8)
    begin = -room.ctypes.data % CACHE_LINE // 8
    return room[begin : begin + math.prod(shape)].reshape(shape)


def specify(trees):
    """Return trees as numbers, see `Tournament`, shape (trees, 5)."""
    masks = [sum(1 << group for group in tree.groups) for tree in trees]
    rows = [(t.sign, t.slope, t.late, mask, t.of) for t, mask in zip(trees, masks, strict=True)]
    return np.array(rows, dtype=np.float64)


def form(spec, tree):
    """Return how a tree compares arms: sign, slope, whether late, of which column, and its mask."""
    how = spec[tree]
    return how[SIGN], how[SLOPE], how[LATE], int(how[OF]), int(how[MASK])


def match(one, other, s, how):
    """Compare two contenders; see `contender` and `form`.

    Returns
    -------
    wins : bool
        Whether the one has the larger key, or the larger weight if they are equal, or,
        if those are equal too, the index that ``late`` prefers.
    stands : float
        The largest s, at least the current one, up to which that surely stays so.  The
        lead is ``gap - s * closing``; near the crossing, where rounding could decide, the
        match is played again at every new s.
    """
    _, slope, late, _, _ = how
    arm, fixed, speed, key = one
    other_arm, other_fixed, other_speed, other_key = other
    wins = key > other_key
    if key == other_key:
        heavier = slope * (speed - other_speed)
        wins = heavier > 0.0 or (heavier == 0.0 and (arm < other_arm) == (late == 0.0))
    if slope == 0.0:  # keys that do not move
        return wins, np.inf
    gap, closing = fixed - other_fixed, other_speed - speed
    if not wins:
        gap, closing = -gap, -closing
    # the lead, less what rounding may amount to, is gap - s * closing
    gap -= EARLY
    closing += EARLY * (abs(speed) + abs(other_speed))
    if gap - s * closing > 0.0:
        return wins, gap / closing if closing > 0.0 else np.inf
    return wins, np.inf if fixed == other_fixed and speed == other_speed else s


def contender(trees, tree, place, how):
    """Return who comes from a place, and the s until which that stands.

    The first is a tuple of floats: an arm or `NOBODY`, the fixed part and the speed of its key,
    and the key; so a match waits for no look at another arm's line.
    """
    if place >= trees.todo.size:
        return entrant(trees.line, trees.s[0], place - trees.todo.size, how), np.inf
    return winner_at(trees.node[tree, place], trees.s[0])


def winner_at(node, s):
    """Return a node's winner as a contender, and the s until which that stands."""
    key = node[FIXED] + s * node[SPEED]
    return (node[WINNER], node[FIXED], node[SPEED], key), node[UNTIL]


def entrant(line, s, arm, how):
    """Return an arm as a contender, nobody if it does not take part."""
    sign, slope, _, of, mask = how
    if arm >= line.shape[0] or mask >> int(line[arm, GROUP]) & 1 == 0:
        return float(NOBODY), LEAST, 0.0, LEAST
    fixed, speed = sign * line[arm, of], slope * line[arm, WEIGHT]
    return float(arm), fixed, speed, fixed + s * speed


def play_node(trees, tree, place):
    """Compare the winners of a node's children at the current s."""
    how = form(trees.spec, tree)
    left, until = contender(trees, tree, 2 * place, how)
    right, stands = contender(trees, tree, 2 * place + 1, how)
    wins, sure = match(left, right, trees.s[0], how)
    write(trees, tree, place, left if wins else right, min(until, stands, sure))


def write(trees, tree, place, winner, until):
    """Write down who wins at a node."""
    node = trees.node[tree, place]
    node[WINNER], node[FIXED], node[SPEED], _ = winner
    node[UNTIL] = until


def build(trees):
    """Play all matches of all trees; the lines, their groups and ``s`` are set."""
    for tree in range(trees.spec.shape[0]):
        for place in range(trees.todo.size - 1, 0, -1):
            play_node(trees, tree, place)


def advance(trees, s):
    """Let s grow to ``s`` and play again the matches whose time has come."""
    trees.s[0] = s
    for tree in range(trees.spec.shape[0]):
        if trees.node[tree, 1, UNTIL] < s:
            play_overdue(trees, tree)


def play_overdue(trees, tree):
    """Play again the matches of one tree whose time has come, children before parents."""
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
    """Play again the matches above an arm that has a new line."""
    own = 1 << int(trees.line[arm, GROUP])
    for tree in range(trees.spec.shape[0]):
        if int(trees.spec[tree, MASK]) & own:
            climb(trees, tree, arm)


def regroup(trees, arm, group):
    """Move an arm to another group: play again the matches of the trees that it enters or leaves.

    Its line stays as it is.
    """
    before, after = int(trees.line[arm, GROUP]), int(group)
    trees.line[arm, GROUP] = group
    for tree in range(trees.spec.shape[0]):
        mask = int(trees.spec[tree, MASK])
        if (mask >> before ^ mask >> after) & 1:
            climb(trees, tree, arm)


def climb(trees, tree, arm):
    """Play again the matches of one tree above an arm."""
    s, how, place = trees.s[0], form(trees.spec, tree), trees.todo.size + arm
    winner, other = entrant(trees.line, s, arm, how), entrant(trees.line, s, arm ^ 1, how)
    stands, until = np.inf, np.inf
    while place > 1:
        wins, sure = match(winner, other, s, how)
        winner = winner if wins else other
        place, stands = place >> 1, min(stands, until, sure)
        known = trees.node[tree, place, WINNER]
        if known != arm and known == winner[0] and trees.node[tree, place, UNTIL] == stands:
            break  # nothing that the matches above look at has changed
        write(trees, tree, place, winner, stands)
        if place > 1:
            other, until = winner_at(trees.node[tree, place ^ 1], s)


def best(trees, tree):
    """Return the winner of a tree, `NOBODY` if it has no members."""
    return int(trees.node[tree, 1, WINNER])


def key(trees, tree, arm):
    """Return an arm's key in a tree at the current s."""
    sign, slope, _, of, _ = form(trees.spec, tree)
    return sign * trees.line[arm, of] + slope * trees.s[0] * trees.line[arm, WEIGHT]


def change(trees, arm, mean, weight, group):
    """Give an arm a new line and a group."""
    trees.line[arm, MEAN], trees.line[arm, WEIGHT] = mean, weight
    touch(trees, arm)
    regroup(trees, arm, group)


# What searches by tournaments share, of a play whose trees are ``s.trees``


def grow(s, scale):
    """Let s grow."""
    advance(s.trees, scale)


def enter(s, arm):
    """Set an arm's columns."""
    lines = s.trees.line
    low, high, lines[arm, WEIGHT] = line(s, arm)
    lines[arm, MEAN] = s.sums[arm] / s.pulls[arm]
    if lines.shape[1] > HIGH:
        lines[arm, LOW], lines[arm, HIGH] = low, high


def moved(s, arm):
    """Take over an arm's new line."""
    enter(s, arm)
    touch(s.trees, arm)
