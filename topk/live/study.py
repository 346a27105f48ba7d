"""`Study`: what live runs have in common, whether their rewards are those of arms or of cells."""

from __future__ import annotations

from abc import abstractmethod
from typing import TYPE_CHECKING, Any, overload

import numpy as np
from numpy.typing import NDArray

from topk._checks import as_generator, check_flag, refuse
from topk._types import Floats, Integers, Seed
from topk.live import report
from topk.live.drafts import locked
from topk.live.membership import Membership
from topk.live.stored import Stored
from topk.live.told import named
from topk.rules.base import ACTIVE
from topk.rules.ranking import means_of
from topk.rules.state import STOPPED, by_bandit, recommend_with

if TYPE_CHECKING:
    import pandas
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    from topk.live.snapshot import Snapshot

DELTA = 0.05  # failure probability of the intervals if the strategy has no delta


class Study(Membership, Stored):
    """A live run, and what it says at any time; derived classes say what a result is."""

    @property
    def stopped(self) -> str | None:  # with Literal, Jedi completes nothing on a session
        """What ended the run, or None while it continues."""
        return STOPPED[self.engine.ended]

    @property
    def certified(self) -> bool:
        """Whether the strategy's own rule ended the run, so that its guarantee holds.

        False from the moment at which rewards, even late ones, refute sigma, or are corrected.
        """
        return self.stopped == "rule"

    @property
    @locked
    def pulls(self) -> Integers:
        """Number of results told of each arm, int (n,) or (M, n)."""
        return self._told()[0].reshape(self.layout)

    @property
    @locked
    def means(self) -> Floats:
        """Mean of the results told of each arm, float (n,) or (M, n); nan without results."""
        return self._reward_range.from_unit(1, means_of(*self._told())).reshape(self.layout)

    @property
    def withdrawn(self) -> list[Any]:
        """Withdrawn arms, in the order of their withdrawal."""
        return self._named(np.array(self._withdrawn, dtype=np.int64)).tolist()

    @property
    @locked
    def selected(self) -> NDArray[Any] | Any:  # Any spares callers a check for None
        """The set that would be returned now, int or str (k,), in the order of the arms.

        None while the run continues and some remaining arm has no pull.  With several bandits the
        shape is (M, k).
        """
        chosen = self._chosen()
        return None if chosen is None else self._named(chosen)

    def _named(self, arms):
        """Return the names of arms, or their numbers if arms have no names."""
        return named(self.names, arms)

    def _chosen(self):
        """Return the numbers of the arms in the set that would be returned now, or None."""
        pulls, sums = self._counted()
        seen = pulls > 0
        seen[self._withdrawn] = True
        return self._recommended(pulls, sums) if self.done or seen.all() else None

    def _recommended(self, pulls, sums):
        """Return the set that would be returned with these numbers and sums of results."""
        return by_bandit(recommend_with(self.engine, pulls, sums), self.layout)

    def evidence(self, epsilon: float | None = None) -> float:
        """Return an anytime-valid p-value for the hypothesis that `selected` is wrong by epsilon.

        Parameters
        ----------
        epsilon : float, optional
            Tolerance in units of reward: at least 0, and less than the range of bounded rewards.
            The default is the strategy's epsilon if its guarantee is about every arm, and 0 for a
            fixed budget or a guarantee on average.

        Returns
        -------
        float
            The p-value.  It is 1.0 until every remaining arm has a result.

        Raises
        ------
        ValueError
            If epsilon is out of range.
        """
        return self.snapshot().evidence(epsilon)

    @abstractmethod
    def snapshot(self) -> Snapshot:
        """Return a copy of the study's data, from which reports and evidence are computed."""

    def _seen(self) -> dict[str, Any]:
        """Return what every snapshot holds."""
        pulls, sums = self._told()
        status = getattr(self.engine.seen, "status", None)
        settled = np.zeros(self.n, dtype=bool) if status is None else status != ACTIVE
        when = getattr(self.engine.seen, "settled", np.zeros(0))
        return {
            "strategy": self.strategy, "names": self.names, "layout": self.layout,
            "reward_range": self._reward_range, "delta": getattr(self.strategy, "delta", DELTA),
            "pulls": pulls, "sums": sums, "counted": self._counted()[0], "settled": settled,
            "surplus": self._arrivals.surplus, "withdrawn": (*self._withdrawn,),
            "chosen": self._chosen(), "stopped": self.stopped, "joined": (*self._joined,),
            "withdrawals": self.withdrawals, "stops_by": self.engine.strategy.stops_by,
            "when_settled": {a: float(when[a]) for a in self._withdrawn if when.size},
        }  # fmt: skip

    def report(self, full: bool = False) -> pandas.DataFrame:
        """Return the current results as a table; see `topk.live.report.report`."""
        return report.report(self.snapshot(), check_flag(full, "full"))

    def summary(self) -> str:
        """Return the current results in a few lines of text; see `topk.live.report.summary`."""
        return report.summary(self.snapshot(), self._waits())

    def _repr_html_(self):
        return report.html(self.snapshot(), self._waits())

    @abstractmethod
    def _waits(self) -> bool:
        """Return whether results are out, and nothing can be handed out before they are in."""

    @overload
    def plot(self, ax: None = None) -> Figure: ...

    @overload
    def plot(self, ax: Axes) -> Axes: ...

    def plot(self, ax: Axes | None = None) -> Figure | Axes:
        """Plot the current intervals; see `topk.live.report.plot`."""
        return report.plot(self.snapshot(), ax)

    def _state_in_words(self, wanted: str, flying: int) -> str:
        """Return how the run stands, for a repr."""
        try:
            now = f"stopped by its {self.stopped}" if self.done else wanted
        except ValueError as reason:  # the rule has asked for an impossible batch
            now = f"broken: {reason}"
        return now + (f", {flying} in flight" if flying else "")


def checked_generator(rng: Seed | None) -> np.random.Generator | None:
    """Return a generator whose state can be stored, or None; see `topk.Strategy.start`."""
    allowed = "an integer or a generator made by numpy.random.default_rng"
    generator = None if rng is None else as_generator(rng, allowed)
    if generator and not isinstance(generator.bit_generator, np.random.PCG64):
        refuse("rng", rng, allowed)
    return generator
