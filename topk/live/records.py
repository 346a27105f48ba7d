"""What a session remembers of the results that it was told, besides counts."""

from __future__ import annotations

import hashlib
import json
import math
from collections.abc import Callable
from fractions import Fraction
from typing import Any

import numpy as np

from topk._checks import Words, in_words, refuse, shortened
from topk._types import Floats, Integers
from topk.bandits import RewardRange
from topk.live import told as forms
from topk.live.exact import ExactSums
from topk.live.told import Told, as_name

CORRECT = "if results were taken back see Session.correct"
NEAR = 2.0**-40  # relative rounding error of the difference of two totals


class Squares:
    """Sums of the bounded rewards whose known squares are smaller, and of these squares.

    Both are on the strategy's scale; n is the number of arms.
    """

    def __init__(self, n: int) -> None:
        self.rewards, self.squares = ExactSums(n), ExactSums(n)

    def copy(self) -> Squares:
        """Return a copy, which may change."""
        other = object.__new__(type(self))
        other.rewards, other.squares = self.rewards.copy(), self.squares.copy()
        return other

    def add(self, arms: Integers, sums: Floats, squares: Floats) -> None:
        """Add rewards to the arms where their squares are smaller."""
        short = squares < sums
        if short.any():
            self.rewards.add(arms[short], sums[short])
            self.squares.add(arms[short], squares[short])

    def largest(self, pulls: Integers, sums: Floats) -> Floats:
        """Return the largest possible sums of squares (n,) of rewards with these sums."""
        short = self.rewards.floats - self.squares.floats  # rounded once; nan if one is a fraction
        for arm in np.flatnonzero(np.isnan(short)).tolist():
            short[arm] = float(self.rewards.exact(arm) - self.squares.exact(arm))
        return np.maximum(sums - short, sums * sums / np.maximum(pulls, 1))

    def go_on(self, earlier: Squares) -> None:
        """Take over the sums of a session with fewer arms."""
        self.rewards.go_on(earlier.rewards)
        self.squares.go_on(earlier.squares)

    def dump(self) -> list[list[Any]]:
        """Return each arm's exact sum of x - x**2 over these rewards, as text."""
        arms = np.flatnonzero(self.rewards.floats).tolist()
        return [[arm, str(self.rewards.exact(arm) - self.squares.exact(arm))] for arm in arms]

    def load(self, stored: list[list[Any]]) -> None:
        """Restore stored sums."""
        for arm, exact in stored:
            self.rewards.put(arm, Fraction(exact))


class Named:
    """Batches of results that have names, so that they are counted once.

    Attributes
    ----------
    digests : dict
        Name of a batch -> digest of the results told with it.
    """

    def __init__(self, digests: dict[str, str]) -> None:
        self.digests = dict(digests)

    def is_new(self, batch: str | int, told: Told) -> bool:
        """Return whether a batch has not been told; refuse other results with a known name."""
        plain = as_name(batch)
        if plain is None or plain == "":
            refuse("batch", batch, "a text or an integer that names these results")
        name = json.dumps(plain)  # 1 and "1" are different
        whole = [x if x is None else x.tolist() for x in told[:4]]
        digest = hashlib.sha256(json.dumps(whole).encode()).hexdigest()
        before = self.digests.setdefault(name, digest)
        if before != digest:
            raise ValueError(
                f"batch: {shortened(in_words(batch), 80)} was told before with other results; give "
                "further results an id of their own, or see Session.correct"
            )
        return before is digest


class Totals:
    """Cumulative totals of arms as they were told last, and what they add.

    Parameters
    ----------
    reward_range : topk.bandits.RewardRange
        Range of the rewards.

    Attributes
    ----------
    known : dict
        arm -> [number of rewards, their exact sum, that of their squares or None], in the user's
        units, of all results of the arm; only of arms whose totals were told.
    """

    def __init__(self, reward_range: RewardRange) -> None:
        self.reward_range = reward_range
        self.known: dict[int, list[Any]] = {}

    def copy(self) -> Totals:
        """Return a copy, which may change."""
        other = Totals(self.reward_range)
        other.known = self.known.copy()
        return other

    def increase(
        self, told: Told, before: Callable[[int], tuple[int, float, float | None]],
    ) -> Told:
        """Return what new totals add to what was told before; refuse totals that fall.

        Parameters
        ----------
        told : topk.live.told.Told
            The new totals, of each arm once.
        before : callable
            Function of an arm that returns its number of rewards, their sum and the sum of their
            squares or None, for an arm whose totals are told for the first time.
        """
        first = np.array([arm not in self.known for arm in told.arms.tolist()], dtype=bool)
        counts, more, more_squares = self._differences(told, before)
        gained = self._without_rounding(told, counts, np.array([float(x) for x in more]))
        self._check(told, counts, gained)
        added = self._added_squares(told, counts, gained, more_squares, first)
        return Told(told.arms, counts, gained, added, told.where)

    def _differences(self, told, before):
        """Return counts, exact sums and squares that are new, and remember the new totals."""
        counts, sums, squares = [], [], []
        columns = [told.arms, told.counts, told.sums]
        squares_told = [None] * told.arms.size if told.squares is None else told.squares.tolist()
        entries = zip(*(x.tolist() for x in columns), squares_told, strict=True)
        for place, (arm, count, total, square) in enumerate(entries):
            had = self.known.get(arm) or before(arm)
            known = square is not None and had[2] is not None
            counts.append(count - had[0])
            sums.append(Fraction(total) - Fraction(had[1]))
            squares.append(Fraction(square) - Fraction(had[2]) if known else None)
            if count < had[0]:
                fall = Words(f"{count}, and {had[0]} were told before")
                refuse("counts", fall, f"totals that do not fall; {CORRECT}", told.where(place))
            exact = None if square is None else Fraction(square)
            self.known[arm] = [count, Fraction(total), exact]
        return np.array(counts, dtype=np.int64), sums, squares

    def _without_rounding(self, told, counts, gained):
        """Return gained sums, put inside the bounds where only rounding errors leave them."""
        if not self.reward_range.bounded:
            return gained
        low, high = self.reward_range.low, self.reward_range.high
        near = np.clip(gained, counts * low, counts * high)
        return np.where(np.abs(gained - near) <= np.abs(told.sums) * NEAR, near, gained)

    def _check(self, told, counts, gained):
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

    def add(self, told: Told) -> None:
        """Add results to the totals of the arms whose totals are known."""
        if not self.known:
            return
        squares = [None] * told.arms.size if told.squares is None else told.squares.tolist()
        columns = told.arms.tolist(), told.counts.tolist(), told.sums.tolist(), squares
        for arm, count, total, square in zip(*columns, strict=True):
            if arm in self.known:
                had_count, had_total, had_square = self.known[arm]
                known = had_square is not None and square is not None
                both = had_square + Fraction(square) if known else None
                self.known[arm] = [had_count + count, had_total + Fraction(total), both]

    def dump(self) -> list[list[Any]]:
        """Return the totals as JSON values."""
        return [
            [arm, *(None if x is None else str(x) for x in total)]
            for arm, total in sorted(self.known.items())
        ]

    def load(self, stored: list[list[Any]]) -> None:
        """Restore stored totals."""
        for arm, count, *sums in stored:
            self.known[arm] = [int(count), *(None if x is None else Fraction(x) for x in sums)]


class Corrections:
    """Totals of arms that were replaced, since results were taken back or were wrong.

    Attributes
    ----------
    made : list
        ``[arm, count, sum, new count, new sum]`` of each correction, sums on the strategy's scale.
    """

    def __init__(self, reward_range: RewardRange) -> None:
        self.reward_range = reward_range
        self.made: list[list[Any]] = []

    def __bool__(self) -> bool:
        return bool(self.made)

    def copy(self) -> Corrections:
        """Return a copy, which may change."""
        other = Corrections(self.reward_range)
        other.made = self.made.copy()
        return other

    def add(self, told: Told, pulls: Integers, sums: Floats) -> None:
        """Note the corrected totals of one arm; ``pulls`` and ``sums`` (n,) are those before."""
        arm = int(told.arms[0])
        after = float(self.reward_range.unit(told.counts, told.sums)[0])
        self.made.append([arm, int(pulls[arm]), float(sums[arm]), int(told.counts[0]), after])

    def applied(self, pulls: Integers, sums: Floats) -> tuple[Integers, Floats]:
        """Return numbers and sums of rewards (n,) after all corrections."""
        pulls, sums = pulls.copy(), sums.copy()
        for arm, count, total, after, new_total in self.made:
            pulls[arm] += after - count
            sums[arm] = math.fsum([sums[arm], -total, new_total])
        return pulls, sums
