"""When a loop is compiled: the one place that decides.

A run begins as plain Python, which needs no compiler.  Compiled code makes the same pulls, bit for
bit, a hundred times as fast, but compiling a loop takes `COMPILING` seconds and loading a stored
one takes `LOADING`.  This is the ski rental problem: to compile as soon as plain Python has taken
as long as compiling takes is never slower than twice the best choice.  What is known of the future
helps: a budget that will be spent, and the number of runs that follow, see
`topk.simulate.play.Play`.

The environment variable ``TOPK_COMPILE`` is ``auto`` for this rule (the default), ``always`` or
``never``.  No result depends on it.
"""

import os
from functools import lru_cache

from topk._checks import check_choice

SETTINGS = AUTO, ALWAYS, NEVER = "auto", "always", "never"
LOADING = 1.0  # seconds of a processor: numba is imported and a stored loop is read
COMPILING = 5.0  # ... and a loop is compiled, unless this process knows better: benchmarks/first.py


def setting():
    """Return what ``TOPK_COMPILE`` says."""
    return check_choice(os.environ.get("TOPK_COMPILE") or AUTO, "TOPK_COMPILE", SETTINGS)


class Tier:
    """How a loop is run in this process, and how long it has taken as plain Python.

    Attributes
    ----------
    seconds : float
        Seconds of a processor that it has run as plain Python.
    compiled : bool
        Whether it is compiled, or stored, so that it is used at once.
    refused : bool
        Whether it cannot be compiled.
    """

    costs = [COMPILING]  # the last compilation of this process, once there is one

    def __init__(self):
        self.seconds, self.compiled, self.refused = 0.0, False, False
        self._look = LOADING  # after how many seconds to look for a stored loop again

    def begins_compiled(self):
        """Return whether a run uses the compiled loop from its beginning."""
        chosen = setting()
        return chosen == ALWAYS or (chosen == AUTO and self.compiled)

    def compiles(self, expected, claim):
        """Return whether to go on with the compiled loop.

        Parameters
        ----------
        expected : float
            Seconds that what is left will take at least as plain Python, as far as is known.
        claim : function
            ``claim(compiles)`` returns whether the loop is stored or, if ``compiles``, is to be
            compiled by this process, because no other one is compiling it.
        """
        worth = max(self.seconds, expected)
        if self.refused or worth < self._look or setting() != AUTO:
            return False
        self.compiled = claim(worth >= self.costs[0])
        self._look = 2 * max(self._look, self.seconds)  # the others run as plain Python meanwhile
        return self.compiled


tier_of = lru_cache(maxsize=1024)(lambda *key: Tier())
