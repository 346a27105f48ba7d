"""`Totalling`: cumulative totals of arms, and corrections."""

from __future__ import annotations

from typing import Any, Self

from numpy.typing import ArrayLike

from topk._checks import refuse
from topk.live.drafts import changes, locked
from topk.live.telling import FEW, Telling
from topk.live.told import MOST


class Totalling(Telling):
    """A session whose results may come as totals so far, and may turn out to be wrong."""

    @changes
    def observe_totals(
        self,
        arms: ArrayLike,
        sums: ArrayLike,
        counts: ArrayLike,
        squares: ArrayLike | None = None,
    ) -> Self:
        """Record cumulative totals, such as a daily export of visitors and sales so far.

        What is new is the difference to what was told before of the arm, by any method; it is
        recorded as by `observe`.  The same totals again change nothing.

        Parameters
        ----------
        arms : array_like of int, or of str if the arms have names, shape (m,)
            Different arms.
        sums : array_like of float, shape (m,)
            Sum of all rewards of each of them so far.
        counts : array_like of int, shape (m,)
            Number of these rewards.
        squares : array_like of float, shape (m,), optional
            Sum of their squares, for strategies that use variances; of 0/1 rewards the sums.

        Returns
        -------
        Session
            The session itself.

        Raises
        ------
        ValueError
            If a total falls, if a sum grew by more than its new rewards allow, or if an arm
            occurs twice; the session is then unchanged.

        Notes
        -----
        If sales come days after their visitors, count visitors only when their time to buy is over,
        with the sales of exactly these visitors; otherwise the difference between two exports mixes
        the sales of earlier visitors with later visitors, and `evidence` is not valid.  Totals that
        fall because results were taken back, of robots for example, are corrections: see `correct`.
        """
        if sums is None:
            refuse("sums", None, "given")
        intake = self._own("_intake")
        told = intake.read(arms, counts=counts, squares=squares, sums=sums)
        pulls, before = self._told()
        more = intake.increase(told, pulls, before)
        known, intake.totals.known = intake.totals.known, {}  # which `accept` would add to
        self._sort_in(more, MOST - pulls, FEW)
        intake.totals.known = known
        return self

    @changes
    def correct(self, arm: int | str, sums: float, counts: int) -> Self:
        """Replace the totals of an arm, of which results were taken back or were wrong.

        A guarantee is about results in the order in which they were told, and which of them are
        taken back may depend on their values: the run ends, `stopped` is ``'corrected'``, and
        `certified` is False for ever, `evidence` is 1, and nothing bounds the means.  The session
        and its files keep both totals.  To go on with a guarantee, start a new session and pass it
        all results that are right by `observe`.

        Parameters
        ----------
        arm : int, or str if the arms have names
            The arm.
        sums : float
            The sum of all its rewards, corrected.
        counts : int
            The number of these rewards.

        Returns
        -------
        Session
            The session itself.

        Raises
        ------
        ValueError
            If the arm does not exist, or this number of rewards cannot have this sum; the session
            is then unchanged.
        """
        if sums is None:
            refuse("sums", None, "given")
        self._arms.read([arm], "arm")
        intake = self._own("_intake")
        told = intake.read([arm], counts=counts, sums=sums)
        intake.corrections.add(told, *self._told())
        intake.totals.known.pop(int(told.arms[0]), None)
        return self

    @property
    @locked
    def corrections(self) -> list[tuple[Any, int, float, int, float]]:
        """Corrections: arm, number and sum of its rewards before, and after, in order."""
        listed = []
        for arm, count, total, after, corrected in self._intake.corrections.made:
            sums = (float(self._reward_range.from_unit(*x)) for x in ((count, total),
                                                                      (after, corrected)))
            listed.append((self._arms.name(arm), count, next(sums), after, next(sums)))
        return listed
