"""A study: everything that decides what a number of plays come to.

Play r of a study depends on the study and on r alone, so that plays can be computed
anywhere, in any order and in portions of any size.  A portion is a dict of arrays with a
row a play.
"""

import math

import numpy as np

from topk._checks import check_integer, refuse
from topk.bandits import Bandit
from topk.identity import describe, digest, module_code, versions
from topk.play import Play
from topk.session import STOPPED
from topk.streams import INSTANCE, stream

MOST_PULLS = 2**53  # as for budgets: up to there sums of 0/1 rewards are exact
MEASURED_AT_ONCE = 2**18  # numbers: what plays leave behind until they have been measured


class Study:
    """What is played, against what, and what is kept of each play.

    Parameters
    ----------
    strategy : Strategy
        What is played.
    bandits : SameBandit, GivenBandits or DrawnBandits
        Against what.
    seed : int
        Where every play's streams come from.
    checkpoints : tuple of int
        When the recommended set is reported; empty for the end only.
    measures : Measures or None
        What becomes of the chosen sets: None keeps all arrays.
    """

    def __init__(self, strategy, bandits, seed, checkpoints=(), measures=None):
        self.strategy, self.bandits, self.seed = strategy, bandits, seed
        self.checkpoints, self.measures = checkpoints, measures
        self.shape = bandits.of(0).means.shape

    @property
    def points(self):
        """How many sets a play reports."""
        return max(1, len(self.checkpoints))

    def part(self, begin, end):
        """Return a study with the same plays from ``begin`` to ``end``, to be sent away."""
        bandits = self.bandits.part(begin, end)
        if bandits is self.bandits:
            return self
        part = object.__new__(type(self))
        part.__dict__.update(self.__dict__, bandits=bandits)
        return part

    def warm(self):
        """Load or compile what the plays need, without playing."""
        Play(self.strategy, self.bandits.of(0), self.seed, 0).warm()

    def play(self, begin, end, stop=None):
        """Play some plays.

        Parameters
        ----------
        begin, end : int
            Plays ``begin`` to ``end - 1``.
        stop : threading.Event, optional
            When it is set, `topk.play.Interrupted` is raised.

        Returns
        -------
        rows : dict of ndarray
            As `layout` says.
        unlocked : float
            Seconds spent where other threads can work as well.
        """
        if self.measures is None:
            return self._play(begin, end, stop)
        # A portion may be as long as it likes: most of what its plays leave behind goes at once.
        sets = self.points * math.prod(self.shape[:-1]) * self.strategy.k
        at_once = max(1, MEASURED_AT_ONCE // (sets + 2 * math.prod(self.shape)))
        parts, unlocked = [], 0.0
        for first in range(begin, end, at_once):
            rows, more = self._play(first, min(first + at_once, end), stop)
            means = rows.get("means", self.bandits.means)
            parts.append(self.measures.of(rows, means, self.checkpoints))
            unlocked += more
        return self.measures.joined(parts), unlocked

    def _play(self, begin, end, stop):
        """Play some plays and keep all of them."""
        rows, unlocked = {name: [] for name in self.columns()}, 0.0
        for number in range(begin, end):
            bandit = self.bandits.of(number)
            play = Play(self.strategy, bandit, self.seed, number, stop=stop)
            if self.checkpoints:
                rows["selected"].append(play.at_checkpoints(self.checkpoints))
            else:
                play.advance()
                rows["selected"].append(play.recommended()[None, :])
            rows["pulls"].append(play.undone(play.state.tally.pulls))
            rows["sums"].append(play.undone(play.state.tally.sums))
            rows["total_pulls"].append(play.total)
            rows["certified"].append(STOPPED[int(play.state.finished[0])] == "rule")
            if "means" in rows:
                rows["means"].append(bandit.means)
            unlocked += play.unlocked
        return {name: np.array(values) for name, values in rows.items()}, unlocked

    def columns(self):
        """Return the names of the arrays that hold the plays."""
        columns = ["selected", "pulls", "sums", "total_pulls", "certified"]
        return columns if self.bandits.means is not None else [*columns, "means"]

    def layout(self, count):
        """Return what `play` returns for ``count`` plays: ``{name: (dtype, shape)}``."""
        if self.measures is not None:
            return self.measures.layout(count, self.points, self.shape)
        each = (count, *self.shape)
        layout = {
            "selected": ("<i8", (count, self.points, *self.shape[:-1], self.strategy.k)),
            "pulls": ("<i8", each),
            "sums": ("<f8", each),
            "total_pulls": ("<i8", (count,)),
            "certified": ("|b1", (count,)),
            "means": ("<f8", each),
        }
        return {name: layout[name] for name in self.columns()}

    def description(self):
        """Describe everything that decides the numbers, as JSON values; see `topk.identity`.

        Raises
        ------
        Unnamed
            If it is not known what some part of it does.
        """
        return {
            "versions": versions(),
            "code": module_code(__name__),
            "strategy": describe(self.strategy),
            "bandits": self.bandits.description(),
            "seed": self.seed,
            "checkpoints": list(self.checkpoints),
            "kept": "plays" if self.measures is None else describe(self.measures),
        }


class SameBandit:
    """One bandit in every play."""

    def __init__(self, bandit):
        self.bandit = bandit
        self.means = bandit.means

    def of(self, number):
        return self.bandit

    def part(self, begin, end):
        return self

    def description(self):
        return {"same": describe(self.bandit)}


class GivenBandits:
    """A list with a bandit for each play."""

    means = None  # there is one row a play

    def __init__(self, bandits, first=0):
        self.bandits, self.first = bandits, first

    def of(self, number):
        return self.bandits[number - self.first]

    def part(self, begin, end):
        return GivenBandits(self.bandits[begin - self.first : end - self.first], begin)

    def description(self):
        return {"given": digest([describe(bandit) for bandit in self.bandits])}


class DrawnBandits:
    """A fresh bandit for each play, drawn from the play's own stream."""

    means = None

    def __init__(self, draw, seed):
        self.draw, self.seed = draw, seed
        self.layout = check_bandit(draw(stream(seed, 0, INSTANCE))).layout

    def of(self, number):
        bandit = check_bandit(self.draw(stream(self.seed, number, INSTANCE)))
        if bandit.layout != self.layout:
            refuse("bandit", f"one with {bandit.layout} arms", f"with {self.layout} arms each time")
        return bandit

    def part(self, begin, end):
        return self

    def description(self):
        return {"drawn": describe(self.draw)}


def choose_bandits(bandit, runs, seed):
    """Return the bandits that ``replicate`` was given, checked."""
    if isinstance(bandit, Bandit):
        return SameBandit(bandit)
    if callable(bandit):
        return DrawnBandits(bandit, seed)
    try:
        bandits = list(bandit)
    except TypeError:
        bandits = []
    if len(bandits) != runs or len({check_bandit(b).layout for b in bandits}) != 1:
        allowed = f"a Bandit, {runs} Bandits with as many arms each, or a function of a generator"
        refuse("bandit", bandit, allowed)
    return GivenBandits(bandits)


def check_bandit(bandit):
    """Return ``bandit`` if it is one."""
    if not isinstance(bandit, Bandit):
        refuse("bandit", bandit, "a topk.Bandit")
    return bandit


def check_suits(strategy, bandit):
    """Refuse several bandits for a strategy of one, and one for a strategy of several."""
    if strategy.several and bandit.means.ndim == 1:
        refuse("bandit", bandit, f"a topk.MultiBandit for {type(strategy).__name__}")
    if not strategy.several and bandit.means.ndim > 1:
        refuse("bandit", bandit, f"a single bandit for {type(strategy).__name__}")


def check_checkpoints(checkpoints, strategy, n):
    """Return the checkpoints as a tuple of increasing integers, each at least n."""
    if checkpoints is None:
        return ()
    if not strategy.anytime:
        refuse("checkpoints", checkpoints, "None for a strategy whose rule depends on its budget")
    try:
        marks = np.atleast_1d(checkpoints)
    except ValueError:  # ragged
        refuse("checkpoints", checkpoints, "a sequence of increasing pull counts")
    marks = tuple(check_integer(mark, "checkpoints", n, MOST_PULLS) for mark in marks)
    if not marks or any(b <= a for a, b in zip(marks, marks[1:], strict=False)):
        refuse("checkpoints", checkpoints, "a sequence of increasing pull counts")
    return marks
