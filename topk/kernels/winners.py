"""One set of names for the two ways of finding winners, `tournament` and `survey`.

Which one is meant follows from the type, so that compiled code contains nothing of the other.
"""

from numba.extending import overload

from topk.kernels import survey, tournament
from topk.kernels.compiling import inlined
from topk.kernels.survey import Survey
from topk.kernels.tournament import GROUP, MEAN, WEIGHT

FEW = 1000  # up to so many arms looking at all of them is the faster way

key = tournament.key


def new_winners(n, trees, looks=None):
    """Return a survey or a tournament of ``n`` arms, all in no tree.

    ``looks`` says whether to look at all arms instead of playing matches; by default up to `FEW`.
    """
    looks = n <= FEW if looks is None else looks
    return survey.new_survey(n, trees) if looks else tournament.new_tournament(n, trees)


def way_of(trees):
    """Return the module whose functions belong to these trees."""
    return survey if isinstance(trees, Survey) else tournament


def build(trees):
    """Set up all trees; the lines, their groups and ``s`` are set."""
    way_of(trees).build(trees)


def advance(trees, s):
    """Let s grow to ``s``."""
    way_of(trees).advance(trees, s)


def touch(trees, arm, before):
    """See what an arm's new line, or its move from group ``before``, changes."""
    way_of(trees).touch(trees, arm, before)


def best(trees, tree):
    """Return the winner of a tree, `tournament.NOBODY` if it has no members."""
    return way_of(trees).best(trees, tree)


def _looks(trees):
    return trees.instance_class is Survey


@overload(build)
def _compiled_build(trees):
    chosen = survey.build if _looks(trees) else tournament.build
    return lambda trees: chosen(trees)


@overload(advance)
def _compiled_advance(trees, s):
    chosen = survey.advance if _looks(trees) else tournament.advance
    return lambda trees, s: chosen(trees, s)


@overload(touch)
def _compiled_touch(trees, arm, before):
    chosen = survey.touch if _looks(trees) else tournament.touch
    return lambda trees, arm, before: chosen(trees, arm, before)


@overload(best)
def _compiled_best(trees, tree):
    chosen = survey.best if _looks(trees) else tournament.best
    return lambda trees, tree: chosen(trees, tree)


@inlined
def change(trees, arm, mean, weight, group):
    """Give an arm a new line or a new group."""
    trees.line[arm, MEAN], trees.line[arm, WEIGHT] = mean, weight
    regroup(trees, arm, group)


@inlined
def regroup(trees, arm, group):
    """Move an arm to another group; its line stays as it is."""
    before = trees.line[arm, GROUP]
    trees.line[arm, GROUP] = group
    touch(trees, arm, before)
