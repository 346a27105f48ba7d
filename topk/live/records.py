"""What a session remembers besides counts: batches of results, cumulative totals, corrections."""

import hashlib
import json
from fractions import Fraction

from topk._checks import in_words, refuse, shortened


class Records:
    """Batches by their id, totals of arms as they were told last, and corrections.

    Attributes
    ----------
    batches : dict
        id -> digest of the results told with it.
    totals : dict
        arm -> [number of rewards, their exact sum, that of their squares or None], in the user's
        units, of all results of the arm; only of arms whose totals were told.
    corrections : list
        ``[arm, count, sum, new count, new sum]`` of each correction, sums on the strategy's scale.
    """

    def __init__(self):
        self.batches, self.totals, self.corrections = {}, {}, []

    def copy(self):
        """Return a copy, which may change."""
        other = Records()
        other.batches, other.totals = self.batches.copy(), self.totals.copy()
        other.corrections = self.corrections.copy()
        return other

    def is_new(self, batch, told):
        """Return whether a batch has not been told; refuse other results with a known id.

        Parameters
        ----------
        batch : str or int
            The id.
        told : list
            The results, as JSON values.
        """
        if isinstance(batch, bool) or not isinstance(batch, str | int) or batch == "":
            refuse("batch", batch, "a text or an integer that names these results")
        name = str(batch)
        found = hashlib.sha256(json.dumps(told).encode()).hexdigest()
        before = self.batches.setdefault(name, found)
        if before != found:
            raise ValueError(
                f"batch: {shortened(in_words(batch), 80)} was told before with other results; give "
                "further results an id of their own, or see Session.correct"
            )
        return before is found

    def add(self, arms, counts, sums, squares):
        """Add results to the totals of the arms whose totals are known."""
        if not self.totals:
            return
        squares = [None] * len(arms) if squares is None else squares
        for arm, count, total, square in zip(arms, counts, sums, squares, strict=True):
            if arm in self.totals:
                had_count, had_total, had_square = self.totals[arm]
                known = had_square is not None and square is not None
                both = had_square + Fraction(square) if known else None
                self.totals[arm] = [had_count + count, had_total + Fraction(total), both]

    def dump(self):
        """Return the records as JSON values."""
        totals = [
            [arm, *(None if x is None else str(x) for x in total)]
            for arm, total in sorted(self.totals.items())
        ]
        return {"batches": self.batches, "totals": totals, "corrections": self.corrections}

    def load(self, stored):
        """Restore stored records."""
        self.batches = dict(stored["batches"])
        for arm, count, *sums in stored["totals"]:
            exact = (None if x is None else Fraction(x) for x in sums)
            self.totals[arm] = [int(count), *exact]
        self.corrections = [list(correction) for correction in stored["corrections"]]
