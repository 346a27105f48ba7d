"""Strategies whose rule has one of the two shapes, rounds or indices."""

import math
from importlib import import_module
from inspect import getattr_static

import numpy as np

from topk.engine import indices, loop, ranking, rounds
from topk.engine.composing import rule
from topk.engine.strategy import Strategy, clipped_bounds


class Ruled(Strategy):
    """A strategy whose rule runs as plain Python in a session and compiled in simulations.

    Attributes
    ----------
    shape : module
        `topk.engine.rounds` or `topk.engine.indices`.
    interfaces : tuple of module
        Where the open functions are, ``shape`` the first.
    roles : tuple of str
        The functions of which the rule may consist.
    memory : dict
        Numbers of the rule's own that change, kept in ``s.now``: name -> 0 or 0.0.
    lean : bool
        Whether the loop is worth compiling without counting references.
    """

    shape = None
    interfaces = ()
    roles = ()
    memory = {}
    lean = False

    def constants(self, n):
        """Return what the rule looks up in ``s`` besides the parameters: name -> number or array.

        ``n`` is the number of all arms.
        """
        return {}

    def arrays(self, bandits, n):
        """Return the rule's own arrays: name -> (kind, size), see `topk.engine.deciding.KINDS`."""
        return {}

    def target(self, n):
        """Return how many arms are to be accepted: ``s.now.wanted`` at first."""
        return self.k

    def search_for(self, n):
        """Return the name of the search for winners that is the fastest with n arms, or None."""
        return None

    def searching(self, search):
        """Return the functions that a search for winners gives: open one -> its own."""
        return {}

    def room(self, search, bandits, n):
        """Return what a search for winners needs: name -> array or named tuple."""
        return {}

    def given(self, search):
        """Return which function takes the place of which open one."""
        shape = self.shape
        found = {loop.recommend: ranking.recommend_best}
        common = ("open_play", "ask", "update", "restore", "left")
        found |= {getattr(loop, x): getattr(shape, x) for x in common if hasattr(shape, x)}
        found |= self.searching(search)
        for role in self.roles:
            function = getattr_static(self, role, None)
            if isinstance(function, rule):
                home = next(module for module in self.interfaces if hasattr(module, role))
                found[getattr(home, role)] = function.__func__
        return found

    def begin(self, shape, rng=None, search=None):
        """Return a new play; see `topk.engine.deciding.RuledPlay`."""
        from topk.engine.deciding import RuledPlay

        return RuledPlay(self, shape, rng, search or self.search_for(math.inf))


class Rounds(Ruled):
    """A strategy in rounds: its rule are `share` and `decide`.

    ``share(s)`` returns the pulls that each active arm gets now, ``decide(s)`` accepts and
    rejects arms, or ends the play.

    Attributes
    ----------
    fresh : bool
        Whether the rule looks at the rewards of a round by themselves.
    """

    shape, interfaces = rounds, (rounds, loop)
    roles = ("share", "decide", "batch", "recommend", "left")
    fresh = False

    def arrays(self, bandits, n):
        """Return the counts before the round, if the rule looks at them."""
        size = bandits * n if self.fresh else 0
        return {"earlier_pulls": ("count", size), "earlier_sums": ("real", size)}


class Indices(Ruled):
    """A strategy by bounds: its rule are `pick`, `done` and, where needed, `scale` or `line`.

    ``pick(s, arms)`` writes the arms to be pulled next and returns how many, ``done(s)`` tells
    whether the promise holds, ``scale(s)`` returns the factor of all radii, which never falls,
    and ``line(s, arm)`` an arm's low, high and weight.

    Attributes
    ----------
    partition : str or None
        The groups of arms that the rule looks at, "topk" for the k largest means and the
        others; None if it looks at all arms itself.
    few : int
        Up to so many arms looking at all of them is faster than a tournament.
    """

    shape, interfaces, lean = indices, (indices, loop), True
    roles = ("pick", "done", "scale", "line", "setup", "moved", "mend", "leave")
    roles += ("recommend", "left")
    partition = "topk"
    few = 200

    def arrays(self, bandits, n):
        """Return room for the arms that are picked."""
        return {"picked": ("arm", 2)}

    def search_for(self, n):
        """Return the name of the search for winners that is the fastest with n arms."""
        if self.partition is None:
            return None
        return f"{self.partition}_{'scan' if n <= self.few else 'trees'}"

    def searching(self, search):
        """Return the functions that a search for winners gives."""
        own = vars(_module(search)) if search else {}
        found = {}
        for module in self.interfaces:
            names = [x for x in own if hasattr(module, x) and callable(own[x])]
            found |= {getattr(module, x): own[x] for x in names}
        return {f: g for f, g in found.items() if f is not g}

    def room(self, search, bandits, n):
        """Return what a search for winners needs."""
        return _module(search).room(bandits, n) if search else {}

    def bounds(self, seen):
        """Return the current round's bounds, (0, 1) before the first; see `Strategy.bounds`."""
        scale = seen.now.scale if seen.now.rounds else np.inf
        return clipped_bounds(seen, scale / np.sqrt(np.maximum(seen.pulls, 1)))


def _module(search):
    return import_module(f"topk.engine.{search}")
