"""The intake of a session: told results are checked, converted and recorded in this one place.

A result has one name on its way: it is told in the user's units (`topk.live.told.Told`), converted
to the strategy's scale (`Intake.accept`), and goes on to `topk.live.arrivals.Arrivals`, which says
whether the rule can count it now.  The intake remembers what does not follow from counts: squares,
the test of sigma, batches by their names, cumulative totals, and corrections.
"""

from __future__ import annotations

import hashlib
import json
import math
import warnings
from fractions import Fraction
from typing import Any, NamedTuple

import numpy as np

from topk._checks import Words, in_words, refuse, shortened
from topk._types import Floats, Integers
from topk._warnings import TopkWarning
from topk.bandits import RewardRange
from topk.live import told as forms
from topk.live.exact import ExactSums
from topk.live.subgaussian import ODDS, SigmaTest
from topk.live.told import Arms, Told, as_name

CORRECT = "if results were taken back see Session.correct"
NEAR = 2.0**-40  # relative rounding error of the difference of two totals


class Accepted(NamedTuple):
    """Told results on the strategy's scale; arrays of shape (m,)."""

    arms: Integers
    counts: Integers
    sums: Floats
    squares: Floats


class Intake:
    """What a session remembers of the results that it was told, besides counts.

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
    short_rewards, short_squares : ExactSums
        Of each arm, the sum of the bounded rewards x whose known squares are smaller than x, and
        the sum of these squares, on the strategy's scale.
    sigma_test : topk.live.subgaussian.SigmaTest or None
        The test of sigma, if it was declared.
    batches : dict
        Name of a batch -> digest of the results told with it.
    totals : dict
        arm -> [number of rewards, their exact sum, that of their squares or None], in the user's
        units, of all results of the arm; only of arms whose totals were told.
    corrections : list
        ``[arm, count, sum, new count, new sum]`` of each correction, sums on the strategy's scale.
    """

    def __init__(
        self, arms: Arms, reward_range: RewardRange, sigma: float | None, needs_squares: bool,
    ) -> None:
        self.arms, self.reward_range, self.needs_squares = arms, reward_range, needs_squares
        self.short_rewards, self.short_squares = ExactSums(arms.n), ExactSums(arms.n)
        self.sigma_test = None if sigma is None else SigmaTest(arms.n, sigma)
        self.batches: dict[str, str] = {}
        self.totals: dict[int, list[Any]] = {}
        self.corrections: list[list[Any]] = []

    def copy(self) -> Intake:
        """Return a copy, which may change."""
        other = object.__new__(type(self))
        vars(other).update(vars(self))
        other.short_rewards = self.short_rewards.copy()
        other.short_squares = self.short_squares.copy()
        other.sigma_test = self.sigma_test and self.sigma_test.copy()
        other.batches, other.totals = self.batches.copy(), self.totals.copy()
        other.corrections = self.corrections.copy()
        return other

    @property
    def refuted(self) -> bool:
        """Whether sigma was declared and has been refuted."""
        return bool(self.sigma_test and self.sigma_test.refuted)

    # Checked

    def read(
        self, arms: Any, rewards: Any = None, counts: Any = None, squares: Any = None,
        sums: Any = None, means: Any = None,
    ) -> Told:
        """Return results in canonical form, in the user's units; refuse what is impossible."""
        given = {"rewards": rewards, "sums": sums, "means": means}
        return forms.read(arms, given, counts, squares, self.arms, self.reward_range)

    def warn_of_means(self, rewards: Any, told: Told, bounds: tuple[float, float]) -> None:
        """Warn if ``rewards`` of several pulls each could be means instead of sums."""
        number, values = told.counts, told.sums
        if rewards is None or not self.reward_range.bounded or not (number > 1).any():
            return
        low, high = bounds
        inside = ((low <= values) & (values <= high) & (values != 0)).all()
        if inside and number.sum() > 20:
            said = "rewards with counts are taken as sums, and each of these could be a mean"
            warnings.warn(f"{said}: say sums= or means= to be sure", TopkWarning, stacklevel=5)

    # Converted and recorded

    def accept(self, told: Told) -> Accepted:
        """Record results; return them on the strategy's scale.

        Squares are the largest that are possible where they are not known and not needed.  If the
        results refute sigma, a warning says so.
        """
        arms, counts = told.arms, told.counts
        sums = self.reward_range.unit(counts, told.sums)
        squares = self._unit_squares(told, sums)
        self._add_to_totals(told)
        if self.sigma_test:
            self._test_sigma(told)
        elif (short := squares < sums).any():
            self.short_rewards.add(arms[short], sums[short])
            self.short_squares.add(arms[short], squares[short])
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

    def _test_sigma(self, told):
        """Test sigma by results; a sum of several rewards without squares cannot be tested."""
        squares = [None] * told.arms.size if told.squares is None else told.squares.tolist()
        columns = told.arms.tolist(), told.counts.tolist(), told.sums.tolist(), squares
        for arm, count, total, square in zip(*columns, strict=True):
            before = self.refuted
            self.sigma_test.take(arm, count, total, square)
            if self.refuted and not before:
                name, sigma = self.arms.name(arm), self.sigma_test.sigma
                said = f"sigma = {sigma:g} is refuted by the rewards of arm {name}: with this "
                said += f"sigma they occur in at most one of {ODDS:,.0f} studies; nothing is "
                warnings.warn(f"{said}certified", TopkWarning, stacklevel=6)

    # Batches, totals and corrections

    def is_new(self, batch: str | int, told: Told) -> bool:
        """Return whether a batch has not been told; refuse other results with a known name."""
        plain = as_name(batch)
        if plain is None or plain == "":
            refuse("batch", batch, "a text or an integer that names these results")
        name = json.dumps(plain)  # 1 and "1" are different
        whole = [x if x is None else x.tolist() for x in told[:4]]
        digest = hashlib.sha256(json.dumps(whole).encode()).hexdigest()
        before = self.batches.setdefault(name, digest)
        if before != digest:
            raise ValueError(
                f"batch: {shortened(in_words(batch), 80)} was told before with other results; give "
                "further results an id of their own, or see Session.correct"
            )
        return before is digest

    def increase(self, told: Told, pulls: Integers, sums: Floats) -> Told:
        """Return what new totals add to what was told before; refuse totals that fall.

        Parameters
        ----------
        told : topk.live.told.Told
            The new totals, of each arm once.
        pulls, sums : ndarray, shape (n,)
            Numbers and sums of all rewards told so far, on the strategy's scale.
        """
        if np.unique(told.arms).size < told.arms.size:
            twice = next(i for i, x in enumerate(told.arms) if x in told.arms[:i])
            refuse("arms", self.arms.name(int(told.arms[twice])), "different", told.where(twice))
        scaled = self.reward_range.from_unit(pulls, sums)
        squares = self.reward_squares(pulls, sums)
        squares[[correction[0] for correction in self.corrections]] = np.nan

        def before(arm):
            square = float(squares[arm])
            return int(pulls[arm]), float(scaled[arm]), square if math.isfinite(square) else None

        first = np.array([arm not in self.totals for arm in told.arms.tolist()], dtype=bool)
        counts, more, more_squares = self._differences(told, before)
        gained = self._without_rounding(told, counts, np.array([float(x) for x in more]))
        self._check_increase(told, counts, gained)
        added = self._added_squares(told, counts, gained, more_squares, first)
        return Told(told.arms, counts, gained, added, told.where)

    def _differences(self, told, before):
        """Return counts, exact sums and squares that are new, and remember the new totals.

        ``before`` is a function of an arm that returns its number of rewards, their sum and the sum
        of their squares or None, for an arm whose totals are told for the first time.
        """
        counts, sums, squares = [], [], []
        columns = [told.arms, told.counts, told.sums]
        squares_told = [None] * told.arms.size if told.squares is None else told.squares.tolist()
        entries = zip(*(x.tolist() for x in columns), squares_told, strict=True)
        for place, (arm, count, total, square) in enumerate(entries):
            had = self.totals.get(arm) or before(arm)
            known = square is not None and had[2] is not None
            counts.append(count - had[0])
            sums.append(Fraction(total) - Fraction(had[1]))
            squares.append(Fraction(square) - Fraction(had[2]) if known else None)
            if count < had[0]:
                fall = Words(f"{count}, and {had[0]} were told before")
                refuse("counts", fall, f"totals that do not fall; {CORRECT}", told.where(place))
            exact = None if square is None else Fraction(square)
            self.totals[arm] = [count, Fraction(total), exact]
        return np.array(counts, dtype=np.int64), sums, squares

    def _without_rounding(self, told, counts, gained):
        """Return gained sums, put inside the bounds where only rounding errors leave them."""
        if not self.reward_range.bounded:
            return gained
        low, high = self.reward_range.low, self.reward_range.high
        near = np.clip(gained, counts * low, counts * high)
        return np.where(np.abs(gained - near) <= np.abs(told.sums) * NEAR, near, gained)

    def _check_increase(self, told, counts, gained):
        """Refuse the first total whose difference to the one before is impossible."""
        bad = np.flatnonzero(self.reward_range.impossible(gained, counts))
        if bad.size:
            place = bad[0]
            more = f"{gained[place]:.17g} for {counts[place]} more reward(s)"
            words = Words(f"{told.sums[place]:.17g}, which is {more}")
            allowed = f"totals of rewards {self.reward_range}, those before included"
            refuse("sums", words, allowed, told.where(place))

    def _added_squares(self, told, counts, gained, more_squares, first):
        """Return the sums of squares that are new; None if they are not known."""
        bounded = self.reward_range.bounded
        if told.squares is None or not (bounded or None not in more_squares):
            return None
        added = np.array([math.nan if x is None else float(x) for x in more_squares])
        added[counts == 0] = 0.0
        if bounded:
            low, high = self.reward_range.low, self.reward_range.high
            unknown = np.isnan(added)  # taken for the largest that are possible
            added[unknown] = (low + high) * gained[unknown] - low * high * counts[unknown]
            # so were squares before an arm's first total: the difference may be too small
            least = gained * gained / np.maximum(counts, 1)
            added[first] = np.maximum(added, least)[first]
        forms.check_squares(added, gained, counts, self.reward_range, told.where)
        return added

    def _add_to_totals(self, told):
        """Add results to the totals of the arms whose totals are known."""
        if not self.totals:
            return
        squares = [None] * told.arms.size if told.squares is None else told.squares.tolist()
        columns = told.arms.tolist(), told.counts.tolist(), told.sums.tolist(), squares
        for arm, count, total, square in zip(*columns, strict=True):
            if arm in self.totals:
                had_count, had_total, had_square = self.totals[arm]
                known = had_square is not None and square is not None
                both = had_square + Fraction(square) if known else None
                self.totals[arm] = [had_count + count, had_total + Fraction(total), both]

    def correct(self, told: Told, pulls: Integers, sums: Floats) -> None:
        """Note the corrected totals of one arm; ``pulls`` and ``sums`` (n,) are those before."""
        arm = int(told.arms[0])
        after = float(self.reward_range.unit(told.counts, told.sums)[0])
        change = [int(pulls[arm]), float(sums[arm]), int(told.counts[0]), after]
        self.corrections.append([arm, *change])
        self.totals.pop(arm, None)

    def corrected(self, pulls: Integers, sums: Floats) -> tuple[Integers, Floats]:
        """Return numbers and sums of rewards after all corrections."""
        pulls, sums = pulls.copy(), sums.copy()
        for arm, count, total, after, new_total in self.corrections:
            pulls[arm] += after - count
            sums[arm] = math.fsum([sums[arm], -total, new_total])
        return pulls, sums

    # Squares

    def largest_squares(self, pulls: Integers, sums: Floats) -> Floats:
        """Return the largest possible sums of squares (n,) on the strategy's scale."""
        rewards, squares = self.short_rewards, self.short_squares
        short = rewards.floats - squares.floats  # rounded once; nan if one of the two is a fraction
        for arm in np.flatnonzero(np.isnan(short)).tolist():
            short[arm] = float(rewards.exact(arm) - squares.exact(arm))
        return np.maximum(sums - short, sums * sums / np.maximum(pulls, 1))

    def reward_squares(self, pulls: Integers, sums: Floats) -> Floats:
        """Return sums of squares (n,) in the user's units; see `topk.live.snapshot.Snapshot`."""
        if self.sigma_test:
            squares = np.zeros(self.arms.n)
            for arm, (_, exact) in self.sigma_test.sums.items():
                squares[arm] = float(exact)
            return np.where(self.sigma_test.untested == 0, squares, np.nan)
        return in_reward_units(self.reward_range, pulls, sums, self.largest_squares(pulls, sums))

    # Stored, and taken over

    def go_on(self, earlier: Intake) -> None:
        """Take over what a session with fewer arms remembers."""
        self.short_rewards.go_on(earlier.short_rewards)
        self.short_squares.go_on(earlier.short_squares)
        if self.sigma_test:
            self.sigma_test.go_on(earlier.sigma_test)
        self.batches, self.totals = earlier.batches.copy(), earlier.totals.copy()
        self.corrections = earlier.corrections.copy()

    def dump(self) -> dict[str, Any]:
        """Return the state as JSON values."""
        arms = np.flatnonzero(self.short_rewards.floats).tolist()
        exact = [self.short_rewards.exact(arm) - self.short_squares.exact(arm) for arm in arms]
        totals = [
            [arm, *(None if x is None else str(x) for x in total)]
            for arm, total in sorted(self.totals.items())
        ]
        records = {"batches": self.batches, "totals": totals, "corrections": self.corrections}
        return {
            "short": [[arm, str(x)] for arm, x in zip(arms, exact, strict=True)],
            "sigma_test": self.sigma_test and self.sigma_test.dump(),
            "records": records | {"losses": []},  # a field of the format that sessions do not use
        }

    def load(self, stored: dict[str, Any]) -> None:
        """Restore a stored state."""
        for arm, exact in stored["short"]:
            self.short_rewards.put(arm, Fraction(exact))
        if self.sigma_test:
            self.sigma_test.load(stored["sigma_test"])
        records = stored["records"]
        self.batches = dict(records["batches"])
        for arm, count, *sums in records["totals"]:
            self.totals[arm] = [int(count), *(None if x is None else Fraction(x) for x in sums)]
        self.corrections = [list(correction) for correction in records["corrections"]]


def in_reward_units(
    reward_range: RewardRange, pulls: Integers, sums: Floats, squares: Floats,
) -> Floats:
    """Return sums of squares (n,) of bounded rewards in the user's units."""
    low, width = reward_range.low, reward_range.width
    with np.errstate(over="ignore", invalid="ignore"):  # squares may be beyond the floats
        return low * low * pulls + 2 * low * width * sums + width * width * squares
