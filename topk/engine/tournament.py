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

from typing import NamedTuple

import numpy as np

from topk.engine.indices import line
from topk.engine.loop import NOBODY

OUT = 31  # the group of arms that belong to no tree
EARLY = 1e-14  # in units of the keys; 45 times the spacing of floats at 1

# columns of the float arrays below
MEAN, WEIGHT, GROUP, LOW, HIGH = 0, 1, 2, 3, 4
UNTIL, WINNER = 0, 1
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
    node : ndarray of float, shape (trees, 2 * leaves, 2)
        Each node's ``WINNER`` and the s ``UNTIL`` which the matches below it stand; node 1
        is the root, the children of j are 2j and 2j + 1, node ``leaves + a`` is arm a.
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
    leaves = 1 << max(0, n - 1).bit_length()
    line = np.zeros((n, 5 if any(tree.of for tree in trees) else 3))
    line[:, GROUP] = OUT
    node = np.empty((len(trees), 2 * leaves, 2))
    node[:, :, WINNER], node[:, :, UNTIL] = NOBODY, np.inf
    todo = np.zeros(leaves, dtype=np.int64)
    return Tournament(line, node, specify(trees), np.zeros(1), todo)


def specify(trees):
    """Return trees as numbers, see `Tournament`, shape (trees, 5)."""
    masks = [sum(1 << group for group in tree.groups) for tree in trees]
    rows = [(t.sign, t.slope, t.late, mask, t.of) for t, mask in zip(trees, masks, strict=True)]
    return np.array(rows, dtype=np.float64)


def form(spec, tree):
    """Return how a tree compares two arms: sign, slope, whether late, and of which column."""
    return spec[tree, SIGN], spec[tree, SLOPE], spec[tree, LATE], int(spec[tree, OF])


def match(line, first, second, s, how):
    """Compare two arms, the first of which has the lower index; see `form`.

    Returns
    -------
    first_wins : bool
        Whether the first has the larger key, or the larger weight if they are equal, or,
        if those are equal too, the index that ``late`` prefers.
    stands : float
        The largest s, at least the current one, up to which that surely stays so.  The
        lead is ``gap - s * closing``; near the crossing, where rounding could decide, the
        match is played again at every new s.
    """
    sign, slope, late, of = how
    mean_1, weight_1 = line[first, of], line[first, WEIGHT]
    mean_2, weight_2 = line[second, of], line[second, WEIGHT]
    key_1, key_2 = sign * mean_1 + slope * s * weight_1, sign * mean_2 + slope * s * weight_2
    first_wins = key_1 > key_2
    if key_1 == key_2:
        heavier = (weight_1 - weight_2) * abs(slope)
        first_wins = heavier > 0.0 or (heavier == 0.0 and late == 0.0)
    if slope == 0.0:  # keys that do not move
        return first_wins, np.inf
    gap, closing = sign * (mean_1 - mean_2), slope * (weight_2 - weight_1)
    if not first_wins:
        gap, closing = -gap, -closing
    # the lead, less what rounding may amount to, is gap - s * closing
    gap -= EARLY
    closing += EARLY * (weight_1 + weight_2)
    if gap - s * closing > 0.0:
        return first_wins, gap / closing if closing > 0.0 else np.inf
    same = sign * mean_1 == sign * mean_2 and weight_1 == weight_2
    return first_wins, np.inf if same else s


def play_node(line, node, tree, place, s, how):
    """Compare the winners of a node's children at the current s."""
    left = int(node[tree, 2 * place, WINNER])
    right = int(node[tree, 2 * place + 1, WINNER])
    stands = min(node[tree, 2 * place, UNTIL], node[tree, 2 * place + 1, UNTIL])
    if left == NOBODY or right == NOBODY:
        node[tree, place, WINNER] = max(left, right)
    else:
        left_wins, sure = match(line, left, right, s, how)
        node[tree, place, WINNER] = left if left_wins else right
        stands = min(stands, sure)
    node[tree, place, UNTIL] = stands


def takes_part(spec, tree, group):
    """Tell whether a group takes part in a tree."""
    return (int(spec[tree, MASK]) >> int(group)) & 1 == 1


def build(trees):
    """Play all matches of all trees; the lines, their groups and ``s`` are set."""
    line, node, spec, s, leaves = trees.line, trees.node, trees.spec, trees.s[0], trees.todo.size
    for tree in range(spec.shape[0]):
        how = form(spec, tree)
        for arm in range(line.shape[0]):
            member = takes_part(spec, tree, line[arm, GROUP])
            node[tree, leaves + arm, WINNER] = arm if member else NOBODY
        for place in range(leaves - 1, 0, -1):
            play_node(line, node, tree, place, s, how)


def advance(trees, s):
    """Let s grow to ``s`` and play again the matches whose time has come."""
    trees.s[0] = s
    for tree in range(trees.spec.shape[0]):
        if trees.node[tree, 1, UNTIL] < s:
            play_overdue(trees.line, trees.node, trees.spec, trees.todo, tree, s)


def play_overdue(line, node, spec, todo, tree, s):
    """Play again the matches of one tree whose time has come, children before parents."""
    how = form(spec, tree)
    todo[0], found, looked = 1, 1, 0
    while looked < found:
        place = todo[looked]
        looked += 1
        for child in range(2 * place, 2 * place + 2):
            if child < todo.size and node[tree, child, UNTIL] < s:
                todo[found] = child
                found += 1
    for j in range(found - 1, -1, -1):
        play_node(line, node, tree, todo[j], s, how)


def touch(trees, arm, before):
    """Play again the matches above an arm that has a new line, or was in group ``before``."""
    line, node, spec, s, leaves = trees.line, trees.node, trees.spec, trees.s[0], trees.todo.size
    for tree in range(spec.shape[0]):
        member = takes_part(spec, tree, line[arm, GROUP])
        if not member and not takes_part(spec, tree, before):
            continue
        how, place, stands = form(spec, tree), leaves + arm, np.inf
        winner = arm if member else NOBODY
        node[tree, place, WINNER] = winner
        while place > 1:
            other, until = int(node[tree, place ^ 1, WINNER]), node[tree, place ^ 1, UNTIL]
            stands = min(stands, until)
            if winner == NOBODY or other == NOBODY:
                winner = max(winner, other)
            elif place & 1 == 0:
                ahead, sure = match(line, winner, other, s, how)
                winner, stands = winner if ahead else other, min(stands, sure)
            else:
                ahead, sure = match(line, other, winner, s, how)
                winner, stands = other if ahead else winner, min(stands, sure)
            place >>= 1
            known = int(node[tree, place, WINNER])
            if known != arm and known == winner and node[tree, place, UNTIL] == stands:
                break  # nothing that the matches above look at has changed
            node[tree, place, WINNER], node[tree, place, UNTIL] = winner, stands


def best(trees, tree):
    """Return the winner of a tree, `NOBODY` if it has no members."""
    return int(trees.node[tree, 1, WINNER])


def key(trees, tree, arm):
    """Return an arm's key in a tree at the current s."""
    sign, slope, _, of = form(trees.spec, tree)
    return sign * trees.line[arm, of] + slope * trees.s[0] * trees.line[arm, WEIGHT]


def change(trees, arm, mean, weight, group):
    """Give an arm a new line and a group."""
    trees.line[arm, MEAN], trees.line[arm, WEIGHT] = mean, weight
    regroup(trees, arm, group)


def regroup(trees, arm, group):
    """Move an arm to another group; its line stays as it is."""
    before = trees.line[arm, GROUP]
    trees.line[arm, GROUP] = group
    touch(trees, arm, before)


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
    touch(s.trees, arm, s.trees.line[arm, GROUP])
