"""The data of an evaluation at one moment, with intervals and evidence about its items."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from topk._types import Floats, Integers
from topk.confidence import confidence, sides
from topk.confidence.finite import tolerated_items
from topk.live.snapshot import Snapshot
from topk.rules.numbered import RewardTable
from topk.strategies.paired import PairTable


@dataclass(frozen=True, eq=False, kw_only=True)
class ItemSnapshot(Snapshot):
    """A copy of an evaluation's data at one moment; see `topk.live.snapshot.Snapshot`.

    Attributes
    ----------
    items
        Number N of items; None for arms.
    waiting
        Results of each model that wait for earlier cells, shape (n,).
    told, failed
        Results told of each model, failed ones included, and failed ones, shape (n,) each.
    lower_is_better
        Whether smaller scores are better; then ``means``, sums and intervals are those of the
        scores mirrored within their bounds, and the report shows the scores as they were told.
    """

    items: Any  # int or None, which spares checks
    waiting: Integers
    told: Integers
    failed: Integers
    lower_is_better: bool = False
    give_back: ClassVar[str] = "study.lost(*study.in_flight())"
    words: ClassVar[tuple[str, str]] = ("model", "result")

    @property
    def size_in_words(self) -> str:
        """How many models, items and results there are, in words."""
        failed, flying = int(self.failed.sum()), int(self.in_flight.sum())
        size = "" if self.items is None else f", {self.items:,} items"
        found = [f"{self.n} {self.words[0]}s{size}",
                 f"{int(self.told.sum()) - failed:,} results told", f"{failed:,} failed",
                 f"{flying:,} in flight"]
        return ", ".join(found)

    def more_columns(self) -> dict[str, Any]:
        """Return further columns of a report: name -> values."""
        found: dict[str, Any] = {"waiting": self.waiting}
        if self.lower_is_better:
            scale, pulls = self.reward_range, self.pulls
            both = scale.low + scale.high
            low, high = (both - scale.from_unit(1, end) for end in self.intervals())
            squares = both * (pulls * both - 2 * self.reward_sums) + self.reward_squares
            found |= {"mean": both - self.means, "low": high, "high": low,
                      "sum": pulls * both - self.reward_sums, "squares": squares}
        return found


@dataclass(frozen=True, eq=False, kw_only=True)
class CountSnapshot(ItemSnapshot):
    """The data of an evaluation by counts of 0/1 results, drawn without replacement."""

    @property
    def by_intervals(self) -> bool:
        """Whether evidence compares intervals and not one-sided bounds."""
        return not self.by_sides

    @property
    def margin(self) -> float:
        """Tolerance of the rule: half an item is added to the whole ones that epsilon allows."""
        return (tolerated_items(super().margin, self.items) + 0.5) / self.items

    def intervals(self, delta: float | None = None) -> Floats:
        """Return lower and upper confidence bounds of the means, shape (2, n)."""
        level = (delta or self.delta) / self.shared
        ends = confidence.interval(self.pulls, self.sums, level, items=self.items)
        return np.array(ends) / self.items

    @property
    def side_ends(self) -> sides.Ends:
        """The one-sided bounds as a function of their levels, in whole items."""
        return confidence.side_ends(self.pulls.astype(float), self.sums, items=self.items)

    def deciding_ends(self, delta: float | None = None) -> Floats:
        """Return the lower and upper bounds that decide whether models are separated, (2, n)."""
        return super().deciding_ends(delta) / (self.items if self.by_sides else 1)

    def evidence(self, epsilon: float | None = None) -> float:
        """Return a p-value for the hypothesis that ``chosen`` is wrong by epsilon."""
        if self.by_sides or self.chosen is None:
            return super().evidence(epsilon)
        allowed = self.strategy.tolerance if epsilon is None else epsilon
        return min(1.0, confidence.found_evidence(
            self.pulls, self.sums, self.chosen, self.reward_range.unit_epsilon(allowed),
            [*self.withdrawn], items=self.items, method="intervals",
        ))  # fmt: skip

    def evidence_by_sides(self, epsilon: float) -> float:
        """Return `evidence` from one-sided bounds, for epsilon rounded down to whole items."""
        return super().evidence_by_sides(tolerated_items(epsilon, self.items))


@dataclass(frozen=True, eq=False, kw_only=True)
class TableSnapshot(ItemSnapshot):
    """The data of an evaluation whose rule keeps a table of single results.

    Attributes
    ----------
    table
        The counted cells, which say everything.
    first_block
        Number of the items of known results without an order, which count as a whole.
    """

    table: RewardTable
    first_block: int = 0
    order_of: ClassVar[str] = "items"

    def intervals(self, delta: float | None = None) -> Floats:
        """Return lower and upper confidence bounds of the means, shape (2, n)."""
        return np.array(self.table.intervals(delta or self.delta))

    def evidence(self, epsilon: float | None = None) -> float:
        """Return a p-value for the hypothesis that ``chosen`` is wrong by epsilon."""
        allowed = self.strategy.tolerance if epsilon is None else epsilon
        epsilon = self.reward_range.unit_epsilon(allowed)
        return 1.0 if self.chosen is None else self.table.evidence(epsilon)

    def lacking(self) -> Floats:
        """Return what each pair lacks to be separated, (n, n)."""
        return self.table.lacking()

    def least_epsilon(self) -> float:
        """Return the smallest epsilon that is reached, in units of score."""
        width = self.reward_range.width
        return width if self.chosen is None else width * self.table.least_epsilon()

    def more_columns(self) -> dict[str, Any]:
        """Return further columns of a report: name -> values."""
        return super().more_columns() | {"failed": self.table.missing}

    def notes(self) -> list[str]:
        """Return further lines of a summary."""
        failed = int(self.table.missing.sum())
        found = []
        if failed:
            found.append(f"failed: {failed:,} cell(s), each counted as the worst for every "
                         "statement")
            if isinstance(self.table, PairTable) and self.table.deciding is not None:
                found.append("in a race this holds if whether a cell fails does not depend on "
                             f"results of later {self.order_of}")
        if self.first_block:
            found.append(f"no order of the first {self.first_block:,} items: this holds if they "
                         "are all that any model was asked before")
        return found


class ArmSnapshot(TableSnapshot):
    """The data of an evaluation of independent arms."""

    words = "arm", "result"
    order_of = "pulls"


def largest_squares(pulls: Integers, sums: Floats) -> Floats:
    """Return the largest possible sums of squares of results in [0, 1], (n,)."""
    return np.maximum(sums, sums * sums / np.maximum(pulls, 1))
