"""The best of up to a thousand moving keys, by looking at all of them, many at a time.

With very many arms a tree of matches is the faster way.  With fewer it is faster to look at
every arm, in loops so plain that the compiler turns them into instructions for several arms
at once.  For that each tree keeps its arms' ``sign * mean`` in a row of its own, with minus
infinity for the arms that take no part.

A winner is looked for when somebody asks for it, and known until something changes.
"""

from typing import NamedTuple

import numpy as np
from numba.core import types
from numba.extending import intrinsic, overload

from topk.kernels.compiling import inlined, kernel
from topk.kernels.tournament import (
    GROUP,
    LATE,
    MEAN,
    NOBODY,
    OUT,
    SIGN,
    SLOPE,
    WEIGHT,
    specify,
    takes_part,
)

WIDTH = 32  # rows are filled up to a multiple of this, so that no arm has to be looked at alone
BLOCK = 128  # arms; only blocks with the largest key are looked at a second time
WINNER, UNTIL = 0, 1  # columns


class Survey(NamedTuple):
    """What a `topk.kernels.tournament.Tournament` is, with rows in the place of matches.

    Attributes
    ----------
    line : ndarray of float, shape (n, 3)
        Each arm's ``MEAN``, ``WEIGHT`` and ``GROUP``.
    spec : ndarray of float, shape (trees, 4)
        Each tree's ``SIGN``, ``SLOPE``, ``LATE`` and ``MASK``.
    s : ndarray of float, shape (1,)
    base : ndarray of float, shape (trees, at least n)
        Each tree's ``sign * mean`` of its arms, minus infinity for the others.
    weight : ndarray of float, shape (at least n,)
        The column ``WEIGHT`` in one piece.
    known : ndarray of float, shape (trees, 2)
        Each tree's ``WINNER``, and the s ``UNTIL`` which it is known to be that.
    """

    line: np.ndarray
    spec: np.ndarray
    s: np.ndarray
    base: np.ndarray
    weight: np.ndarray
    known: np.ndarray


def new_survey(n, trees):
    """Return a survey of ``n`` arms, all in group `OUT`, for a sequence of trees."""
    line, width = np.zeros((n, 3)), -(-n // WIDTH) * WIDTH
    line[:, GROUP] = OUT
    base, weight = np.full((len(trees), width), -np.inf), np.zeros(width)
    known = np.array([(NOBODY, np.inf)] * len(trees))
    return Survey(line, specify(trees), np.zeros(1), base, weight, known)


@kernel
def build(trees):
    """Enter every arm in the rows of the trees in which it takes part; no winner is known."""
    for tree in range(trees.spec.shape[0]):
        trees.known[tree, UNTIL] = -np.inf
        for arm in range(trees.line.shape[0]):
            enter(trees, tree, arm)


@inlined
def enter(trees, tree, arm):
    """Enter an arm in one tree's row."""
    member = takes_part(trees.spec, tree, trees.line[arm, GROUP])
    key = trees.spec[tree, SIGN] * trees.line[arm, MEAN]
    trees.base[tree, arm] = key if member else -np.inf
    trees.weight[arm] = trees.line[arm, WEIGHT]


@inlined
def advance(trees, s):
    """Let s grow to ``s``: winners known until less are looked for when somebody asks."""
    trees.s[0] = s


@kernel
def touch(trees, arm, before):
    """Enter an arm's new line, or its move from group ``before``, and see what that changes.

    The winner's own key has mostly fallen, so that everybody has to be looked at again; any
    other arm has only the winner to beat.
    """
    spec, base, weight, known, s = trees.spec, trees.base, trees.weight, trees.known, trees.s[0]
    for tree in range(spec.shape[0]):
        member = takes_part(spec, tree, trees.line[arm, GROUP])
        if not member and not takes_part(spec, tree, before):
            continue
        old, slope = base[tree, arm], spec[tree, SLOPE]
        enter(trees, tree, arm)
        if known[tree, UNTIL] < s:
            continue
        winner = int(known[tree, WINNER])
        if winner == NOBODY:
            known[tree, UNTIL] = -np.inf
        elif winner == arm:
            if slope != 0.0 or base[tree, arm] <= old:
                known[tree, UNTIL] = -np.inf
        elif member:
            q = slope * s
            key, rival = base[tree, arm] + q * weight[arm], base[tree, winner] + q * weight[winner]
            lead = abs(slope) * (weight[arm] - weight[winner])
            earlier = (arm > winner) == (spec[tree, LATE] == 1.0)
            if key > rival or (key == rival and (lead > 0.0 or (lead == 0.0 and earlier))):
                known[tree, WINNER] = arm


@inlined
def best(trees, tree):
    """Return the winner of a tree, `NOBODY` if it has no members."""
    if trees.known[tree, UNTIL] < trees.s[0]:
        look(trees, tree)
    return int(trees.known[tree, WINNER])


@kernel
def look(trees, tree):
    """Look for the winner of a tree."""
    slope, s, late = trees.spec[tree, SLOPE], trees.s[0], trees.spec[tree, LATE]
    moves = slope != 0.0
    trees.known[tree, WINNER] = survey(trees.base[tree], trees.weight, slope * s, moves, late)
    trees.known[tree, UNTIL] = s if moves else np.inf


@kernel
def survey(base, weight, q, moves, late):
    """Return the place of the largest ``base + q * weight``, `NOBODY` if all are minus infinity.

    Of equal keys the larger weight wins if the keys move, then the first, or the last if
    ``late`` is 1.  The plain form:

        max(members, key=lambda i: (base[i] + q * weight[i], moves * weight[i], -i))
    """
    top, low, high = -np.inf, 0, 0
    for start in range(0, base.size, BLOCK):
        end = min(base.size, start + BLOCK)
        key = largest_key(base[start:end], weight[start:end], q)
        if key > top:
            top, low, high = key, start, end
        elif key == top:
            high = end
    if top == -np.inf:
        return NOBODY
    base, weight = base[low:high], weight[low:high]
    heaviest = largest_weight(base, weight, q, top) if moves else -1.0
    if late == 1.0:
        return low + last_place(base, weight, q, top, heaviest)
    return low + first_place(base, weight, q, top, heaviest)


@kernel
def largest_key(base, weight, q):
    """Return the largest ``base + q * weight``."""
    top = -np.inf
    for i in range(base.size):
        top = larger(base[i] + q * weight[i], top)
    return top


@kernel
def largest_weight(base, weight, q, top):
    """Return the largest weight where ``base + q * weight`` is ``top``."""
    heaviest = -1.0
    for i in range(base.size):
        heaviest = larger(weight[i] if base[i] + q * weight[i] == top else -1.0, heaviest)
    return heaviest


@kernel
def first_place(base, weight, q, top, heaviest):
    """Return the first place where the key is ``top`` and the weight at least ``heaviest``."""
    first = base.size
    for i in range(base.size):
        hit = (base[i] + q * weight[i] == top) & (weight[i] >= heaviest)
        first = min(first, i if hit else base.size)
    return first


@kernel
def last_place(base, weight, q, top, heaviest):
    """Return the last place where the key is ``top`` and the weight at least ``heaviest``."""
    last = -1
    for i in range(base.size):
        hit = (base[i] + q * weight[i] == top) & (weight[i] >= heaviest)
        last = max(last, i if hit else -1)
    return last


def larger(a, b):
    """Return the larger of two floats, neither of which is a nan."""
    return a if a > b else b


@overload(larger, inline="always")
def _compiled_larger(a, b):
    return lambda a, b: larger_number(a, b)


@intrinsic
def larger_number(typing_context, a, b):
    """Compare and choose as `larger`, with the leave that the compiler needs for many at once."""

    def code(context, builder, signature, arguments):
        flags = ("nnan", "nsz")  # no nan, and either zero will do: keys are only compared
        is_larger = builder.fcmp_ordered(">", *arguments, flags=flags)
        return builder.select(is_larger, *arguments, flags=flags)

    return types.float64(types.float64, types.float64), code
