"""What a session remembers besides counts: batches of results, cumulative totals, corrections."""

import hashlib
import json
from fractions import Fraction

from topk._checks import Words, in_words, refuse, shortened
from topk.live.results import as_name

AGAIN = 3  # losses of a cell from which it may be one that can never be had
CORRECT = "if results were taken back see Session.correct"


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
    losses : dict
        (arm, item) -> how often this cell of a finite test set was lost.
    """

    def __init__(self):
        self.batches, self.totals, self.corrections, self.losses = {}, {}, [], {}

    def copy(self):
        """Return a copy, which may change."""
        other = Records()
        other.batches, other.totals = self.batches.copy(), self.totals.copy()
        other.corrections, other.losses = self.corrections.copy(), self.losses.copy()
        return other

    def lose(self, arms, items):
        """Count lost cells; yield those lost again and again, as (arm, item, times).

        Several trials of a cell that are lost together are one loss.
        """
        for cell in dict.fromkeys(zip(arms.tolist(), items.tolist(), strict=True)):
            self.losses[cell] = self.losses.get(cell, 0) + 1
            if self.losses[cell] >= AGAIN:
                yield (*cell, self.losses[cell])

    def is_new(self, batch, told):
        """Return whether a batch has not been told; refuse other results with a known id.

        Parameters
        ----------
        batch : str or int
            The id.
        told : list
            The results, as JSON values.
        """
        plain = as_name(batch)
        if plain is None or plain == "":
            refuse("batch", batch, "a text or an integer that names these results")
        name = json.dumps(plain)  # 1 and "1" are different
        found = hashlib.sha256(json.dumps(told).encode()).hexdigest()
        before = self.batches.setdefault(name, found)
        if before != found:
            raise ValueError(
                f"batch: {shortened(in_words(batch), 80)} was told before with other results; give "
                "further results an id of their own, or see Session.correct"
            )
        return before is found

    def increase(self, told, before):
        """Return what new totals add to what was told before; refuse totals that fall.

        Parameters
        ----------
        told : topk.live.results.Told
            The new totals, of each arm once.
        before : callable
            Function of an arm that returns its number of rewards, their sum and the sum of their
            squares or None, for an arm whose totals are told for the first time.

        Returns
        -------
        tuple of list
            The counts, sums and squares that are new; squares are None where they are not known.
        """
        found, squares = [], [None] * told.arms.size
        if told.squares is not None:
            squares = told.squares.tolist()
        entries = zip(told.arms.tolist(), told.counts.tolist(), told.sums.tolist(), squares,
                      strict=True)
        for place, (arm, count, total, square) in enumerate(entries):
            had = self.totals.get(arm) or before(arm)
            more = count - had[0], Fraction(total) - Fraction(had[1])
            told_squares = square is not None and had[2] is not None
            found.append((*more, Fraction(square) - Fraction(had[2]) if told_squares else None))
            if more[0] < 0:
                fall = Words(f"{count}, and {had[0]} were told before")
                refuse("counts", fall, f"totals that do not fall; {CORRECT}", told.where(place))
            exact = None if square is None else Fraction(square)
            self.totals[arm] = [count, Fraction(total), exact]
        return tuple([*column] for column in zip(*found, strict=True)) if found else ([], [], [])

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
        return {
            "batches": self.batches, "totals": totals, "corrections": self.corrections,
            "losses": [[*cell, times] for cell, times in sorted(self.losses.items())],
        }  # fmt: skip

    def load(self, stored):
        """Restore stored records."""
        self.batches = dict(stored["batches"])
        for arm, count, *sums in stored["totals"]:
            exact = (None if x is None else Fraction(x) for x in sums)
            self.totals[arm] = [int(count), *exact]
        self.corrections = [list(correction) for correction in stored["corrections"]]
        self.losses = {(arm, item): times for arm, item, times in stored["losses"]}
