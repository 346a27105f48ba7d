"""The intake of a session: told results are checked, converted and recorded in this one place.

A result has one name on its way: it is told in the user's units (`topk.live.told.Told`), converted
to the strategy's scale (`Intake.accept`), and goes on to `topk.live.arrivals.Arrivals`, which says
whether the rule can count it now.  The intake remembers what does not follow from counts: squares,
the test of sigma, batches by their names, cumulative totals, and corrections.
"""

from __future__ import annotations

import math
import warnings
from typing import Any, NamedTuple

import numpy as np

from topk._checks import refuse
from topk._types import Floats, Integers
from topk._warnings import TopkWarning
from topk.bandits import RewardRange
from topk.live import told as forms
from topk.live.records import Corrections, Named, Squares, Totals
from topk.live.subgaussian import ODDS, SigmaTest
from topk.live.told import Arms, Told


class Accepted(NamedTuple):
    """Told results on the strategy's scale; arrays of shape (m,)."""

    arms: Integers
    counts: Integers
    sums: Floats
    squares: Floats


class Intake:
    """What stands between the results that a session is told and the rule.

    Parameters
    ----------
    arms : topk.live.told.Arms
        The arms, by number or by name.
    reward_range : topk.bandits.RewardRange
        Range of the rewards.
    sigma : float or None
        The declared sigma, in units of reward.
    needs_squares : bool
        Whether the strategy uses the squares of bounded rewards.

    Attributes
    ----------
    squares, batches, totals, corrections
        See `topk.live.records`.
    sigma_test : topk.live.subgaussian.SigmaTest or None
        The test of sigma, if it was declared.
    """

    def __init__(
        self, arms: Arms, reward_range: RewardRange, sigma: float | None, needs_squares: bool,
    ) -> None:
        self.arms, self.reward_range, self.needs_squares = arms, reward_range, needs_squares
        self.sigma_test = None if sigma is None else SigmaTest(arms.n, sigma)
        self.squares, self.batches, self.totals = Squares(arms.n), Named({}), Totals(reward_range)
        self.corrections = Corrections(reward_range)

    def copy(self) -> Intake:
        """Return a copy, which may change."""
        other = object.__new__(type(self))
        vars(other).update(vars(self))
        other.sigma_test = self.sigma_test and self.sigma_test.copy()
        other.squares, other.totals = self.squares.copy(), self.totals.copy()
        other.batches, other.corrections = Named(self.batches.digests), self.corrections.copy()
        return other

    @property
    def refuted(self) -> bool:
        """Whether sigma was declared and has been refuted."""
        return bool(self.sigma_test and self.sigma_test.refuted)

    def read(
        self, arms: Any, rewards: Any = None, counts: Any = None, squares: Any = None,
        sums: Any = None, means: Any = None,
    ) -> Told:
        """Return results in canonical form, in the user's units; refuse what is impossible."""
        alternatives = {"rewards": rewards, "sums": sums, "means": means}
        return forms.read(arms, alternatives, counts, squares, self.arms, self.reward_range)

    def accept(self, told: Told) -> Accepted:
        """Record results; return them on the strategy's scale.

        Squares are the largest that are possible where they are not known and not needed.
        """
        arms, counts = told.arms, told.counts
        sums = self.reward_range.unit(counts, told.sums)
        squares = self._unit_squares(told, sums)
        self.totals.add(told)
        if not self.sigma_test:
            self.squares.add(arms, sums, squares)
        return Accepted(arms, counts, sums, squares if self.needs_squares else sums)

    def _unit_squares(self, told, sums):
        """Return sums of squares on the strategy's scale; refuse to guess those that it needs."""
        if told.squares is not None:
            if not self.reward_range.bounded:
                return told.squares
            return self.reward_range.unit_squares(told.counts, told.sums, told.squares, sums)
        squares, known = forms.known_squares(told.counts, sums)
        if self.needs_squares and not known.all():
            allowed = "given with sums of several rewards (of zeros and ones they are the sums)"
            refuse("squares", None, allowed, told.where(int(np.flatnonzero(~known)[0])))
        return squares

    def test_sigma(self, told: Told) -> None:
        """Test sigma, if it was declared, by accepted results; a warning says that it is refuted.

        A sum of several rewards without squares cannot be tested.
        """
        if not self.sigma_test:
            return
        squares = [None] * told.arms.size if told.squares is None else told.squares.tolist()
        columns = told.arms.tolist(), told.counts.tolist(), told.sums.tolist(), squares
        for arm, count, total, square in zip(*columns, strict=True):
            before = self.refuted
            self.sigma_test.take(arm, count, total, square)
            if self.refuted and not before:
                name, sigma = self.arms.name(arm), self.sigma_test.sigma
                said = f"sigma = {sigma:g} is refuted by the rewards of arm {name}: with this "
                said += f"sigma they occur in at most one of {ODDS:,.0f} studies; nothing is "
                warnings.warn(f"{said}certified", TopkWarning, stacklevel=5)

    def increase(self, told: Told, pulls: Integers, sums: Floats) -> Told:
        """Return what new totals add to ``pulls`` and ``sums`` (n,) on the strategy's scale."""
        if np.unique(told.arms).size < told.arms.size:
            twice = next(i for i, x in enumerate(told.arms) if x in told.arms[:i])
            refuse("arms", self.arms.name(int(told.arms[twice])), "different", told.where(twice))
        scaled = self.reward_range.from_unit(pulls, sums)
        squares = self.reward_squares(pulls, sums)
        squares[[correction[0] for correction in self.corrections.made]] = np.nan

        def before(arm):
            square = float(squares[arm])
            return int(pulls[arm]), float(scaled[arm]), square if math.isfinite(square) else None

        return self.totals.increase(told, before)

    def reward_squares(self, pulls: Integers, sums: Floats) -> Floats:
        """Return sums of squares (n,) in the user's units; see `topk.live.snapshot.Snapshot`."""
        if self.sigma_test:
            squares = np.zeros(self.arms.n)
            for arm, (_, exact) in self.sigma_test.sums.items():
                squares[arm] = float(exact)
            return np.where(self.sigma_test.untested == 0, squares, np.nan)
        return in_reward_units(self.reward_range, pulls, sums, self.squares.largest(pulls, sums))

    def go_on(self, earlier: Intake) -> None:
        """Take over what a session with fewer arms remembers."""
        self.squares.go_on(earlier.squares)
        if self.sigma_test:
            self.sigma_test.go_on(earlier.sigma_test)
        self.batches, self.totals = Named(earlier.batches.digests), earlier.totals.copy()
        self.corrections = earlier.corrections.copy()

    def dump(self) -> dict[str, Any]:
        """Return the state as JSON values."""
        return {
            "short": self.squares.dump(),
            "sigma_test": self.sigma_test and self.sigma_test.dump(),
            "records": {
                "batches": self.batches.digests, "totals": self.totals.dump(),
                "corrections": self.corrections.made,
                "losses": [],  # a field of the format that sessions do not use
            },
        }  # fmt: skip

    def load(self, stored: dict[str, Any]) -> None:
        """Restore a stored state."""
        self.squares.load(stored["short"])
        if self.sigma_test:
            self.sigma_test.load(stored["sigma_test"])
        records = stored["records"]
        self.batches = Named(records["batches"])
        self.totals.load(records["totals"])
        self.corrections.made = [list(correction) for correction in records["corrections"]]


def in_reward_units(
    reward_range: RewardRange, pulls: Integers, sums: Floats, squares: Floats,
) -> Floats:
    """Return sums of squares (n,) of bounded rewards in the user's units."""
    low, width = reward_range.low, reward_range.width
    with np.errstate(over="ignore", invalid="ignore"):  # squares may be beyond the floats
        return low * low * pulls + 2 * low * width * sums + width * width * squares
